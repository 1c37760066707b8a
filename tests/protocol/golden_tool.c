// Writes the golden vectors: golden_tool DIRECTORY. Only for a change of the protocol that is meant; the tests compare
// what is committed with what this writes.
#include "tests/protocol/golden_vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool write_file(const char *directory, const char *name, const char *suffix, const void *bytes,
                       size_t byte_count)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s%s", directory, name, suffix);
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        perror(path);
        return false;
    }
    bool good = fwrite(bytes, 1, byte_count, file) == byte_count;
    if (fclose(file) || !good) {
        perror(path);
        return false;
    }
    return true;
}

int main(int argument_count, char **arguments)
{
    static golden_vector vector;
    if (argument_count != 2) {
        fprintf(stderr, "usage: %s DIRECTORY\n", arguments[0]);
        return 2;
    }
    for (int i = 0; i < golden_count(); i++) {
        char *text = golden_make(i, &vector) ? golden_describe(&vector) : NULL;
        if (text == NULL) {
            fprintf(stderr, "vector %d (%s) cannot be encoded\n", i, vector.name);
            return 1;
        }
        bool good = write_file(arguments[1], vector.name, ".bin", vector.bytes, vector.byte_count) &&
                    write_file(arguments[1], vector.name, ".json", text, strlen(text));
        free(text);
        if (!good) {
            return 1;
        }
    }
    return 0;
}
