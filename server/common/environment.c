// The names come from deploy/tarnd.schema.json, which a test keeps as tarnd's table of options is; so the other
// programs needn't have that table.
#include "server/common/environment.h"
#include "server/common/near_name.h"
#include "server/common/printable.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SAID_MAX = 8, NAME_BYTES = 64 };

static const char *const options[] = {"config", TARN_ENVIRONMENT_OPTIONS}; // the second by CMake
enum { OPTION_COUNT = sizeof options / sizeof options[0] };

extern char **environ;

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
