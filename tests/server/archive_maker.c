// POSIX ustar, by the book.
#include "tests/server/archive_maker.h"
#include "tests/server/test_cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 512 };

static uint8_t *grow(archive *made, size_t byte_count)
{
    made->bytes = realloc(made->bytes, made->byte_count + byte_count);
    assert_non_null(made->bytes);
    uint8_t *at = made->bytes + made->byte_count;
    memset(at, 0, byte_count);
    made->byte_count += byte_count;
    return at;
}

void archive_sum(uint8_t *head)
{
    unsigned sum = 0;
    memset(head + 148, ' ', 8);
    for (int i = 0; i < BLOCK; i++) {
        sum += head[i];
    }
    snprintf((char *)head + 148, 8, "%06o", sum);
    head[155] = ' ';
}

void archive_add(archive *made, const char *name, char type, const void *bytes, size_t byte_count)
{
    uint8_t *head = grow(made, BLOCK);
    strncpy((char *)head, name, 100);
    memcpy(head + 100, "0000644\0000001000\0000001000", 24);
    snprintf((char *)head + 124, 12, "%011zo", byte_count);
    memcpy(head + 136, "14000000000", 12);
    head[156] = (uint8_t)type;
    memcpy(head + 257, "ustar\00000", 8); // NOLINT(bugprone-not-null-terminated-result): fields of zeros
    memcpy(head + 265, "somebody", 8);    // NOLINT(bugprone-not-null-terminated-result)
    archive_sum(head);
    if (byte_count > 0) {
        memcpy(grow(made, (byte_count + BLOCK - 1) / BLOCK * BLOCK), bytes, byte_count);
    }
}

void archive_add_text(archive *made, const char *name, const char *text)
{
    archive_add(made, name, '0', text, strlen(text));
}

void archive_add_file(archive *made, const char *name, const char *path)
{
    static uint8_t bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail_msg("%s can't be opened", path);
    }
    const size_t count = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    archive_add(made, name, '0', bytes, count);
}

void archive_end(archive *made)
{
    grow(made, 2 * (size_t)BLOCK);
}

void archive_free(archive *made)
{
    free(made->bytes);
    *made = (archive){0};
}
