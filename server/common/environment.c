// The names come from deploy/tarnd.schema.json, which a test keeps as tarnd's table of options is; so the other
// programs needn't have that table.
#include "server/common/environment.h"
#include "server/common/printable.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SAID_MAX = 8, NAME_BYTES = 64 };

static const char *const options[] = {"config", TARN_ENVIRONMENT_OPTIONS}; // the second by CMake
enum { OPTION_COUNT = sizeof options / sizeof options[0] };

extern char **environ;

/// How many letters must be put in, taken out or changed to get from one word to another.
static uint32_t distance(const char *from, const char *to)
{
    enum { WORD_BYTES = 32 };
    uint32_t row[WORD_BYTES + 1];
    const size_t length = strlen(to);
    if (length > WORD_BYTES || strlen(from) > WORD_BYTES) {
        return WORD_BYTES;
    }
    for (size_t i = 0; i <= length; i++) {
        row[i] = (uint32_t)i;
    }
    for (size_t f = 0; from[f] != 0; f++) {
        uint32_t before = row[0]++;
        for (size_t i = 1; i <= length; i++) {
            const uint32_t changed = before + (from[f] != to[i - 1]);
            const uint32_t least = row[i] < row[i - 1] ? row[i] + 1 : row[i - 1] + 1;
            before = row[i];
            row[i] = changed < least ? changed : least;
        }
    }
    return row[length];
}

const char *tarn_nearest_name(const char *word, const char *const *names, uint32_t count)
{
    uint32_t least = 3;
    const char *near = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t found = distance(word, names[i]);
        if (found < least) {
            least = found;
            near = names[i];
        }
    }
    return near;
}

/// "SESSIONS_MAX" and "sessions-max": each from the other.
static void turn(const char *from, char to[NAME_BYTES], bool is_variable)
{
    size_t at = 0;
    for (; from[at] != 0 && at < NAME_BYTES - 1; at++) {
        const unsigned char letter = (unsigned char)from[at];
        to[at] =
            is_variable ? (letter == '-' ? '_' : (char)toupper(letter)) : (letter == '_' ? '-' : (char)tolower(letter));
    }
    to[at] = 0;
}

void tarn_environment_check(void (*say)(const char *sentence))
{
    static const char prefix[] = "TARN_", of_tests[] = "TARN_TEST_";
    int said = 0;
    for (char **variable = environ; variable != NULL && *variable != NULL && said < SAID_MAX; variable++) {
        char name[NAME_BYTES], option[NAME_BYTES], meant[NAME_BYTES], sentence[4 * NAME_BYTES];
        const size_t bytes = strcspn(*variable, "=");
        if (strncmp(*variable, prefix, sizeof prefix - 1) != 0 ||
            strncmp(*variable, of_tests, sizeof of_tests - 1) == 0) {
            continue;
        }
        snprintf(name, sizeof name, "%.*s", (int)(bytes < NAME_BYTES ? bytes : NAME_BYTES - 1), *variable);
        turn(name + sizeof prefix - 1, option, false);
        const char *near = tarn_nearest_name(option, options, OPTION_COUNT);
        turn(near != NULL ? near : "", meant, true);
        if (near != NULL && strcmp(meant, name + sizeof prefix - 1) == 0) {
            continue;
        }
        tarn_make_printable(name);
        if (near != NULL) {
            snprintf(sentence, sizeof sentence,
                     "found the variable %s in the environment, which nothing reads; did you mean TARN_%s?", name,
                     meant);
        } else {
            snprintf(
                sentence, sizeof sentence,
                "found the variable %s in the environment, which nothing reads; `tarnd --help` lists the options, of "
                "which each has one",
                name);
        }
        say(sentence);
        said++;
    }
}
