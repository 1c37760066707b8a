// What isn't a number, or out of range, is refused with what is allowed; what nobody knows, with what was meant.
#include "server/base/options.h"
#include "server/base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- numbers and amounts ----

typedef struct unit {
    char letter; // 0: none
    uint64_t times;
} unit;

bool tarn_number_read(const char *text, uint64_t min, uint64_t max, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoul(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == 0 && errno == 0 && *number >= min && *number <= max;
}

long tarn_option_number(struct argp_state *state, const char *option, const char *text, long min, long max)
{
    uint64_t value;
    if (!tarn_number_read(text, (uint64_t)min, (uint64_t)max, &value)) {
        argp_error(state, "--%s: found \"%s\", allowed is a whole number from %ld to %ld", option, text, min, max);
    }
    return (long)value;
}

/// @return 0: it is none
static uint64_t amount(const char *text, const unit *units, int unit_count)
{
    char *end;
    errno = 0;
    const unsigned long value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || errno != 0 || value < 1 || value > 1000000) {
        return 0;
    }
    for (int i = 0; i < unit_count; i++) {
        if (*end == units[i].letter && (*end == 0 || end[1] == 0)) {
            return value * units[i].times;
        }
    }
    return 0;
}

uint64_t tarn_number_bytes(const char *text)
{
    static const unit units[] = {{0, 1}, {'k', 1000}, {'M', 1000000}, {'G', 1000000000}};
    return amount(text, units, 4);
}

uint64_t tarn_number_age_s(const char *text)
{
    static const unit units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    return amount(text, units, 4);
}

uint64_t tarn_option_bytes(struct argp_state *state, const char *option, const char *text)
{
    const uint64_t bytes = tarn_number_bytes(text);
    if (bytes == 0) {
        argp_error(state, "--%s: found \"%s\", allowed is a whole number from 1 to 1000000 and nothing, k, M or G",
                   option, text);
    }
    return bytes;
}

uint64_t tarn_option_age_s(struct argp_state *state, const char *option, const char *text)
{
    const uint64_t age_s = tarn_number_age_s(text);
    if (age_s == 0) {
        argp_error(state, "--%s: found \"%s\", allowed is a whole number from 1 to 1000000 and s, m, h or d", option,
                   text);
    }
    return age_s;
}

// ---- options that aren't there ----
// getopt says of an unknown option only that it is one: the names are looked at before it. Start at tarn_options_check.

enum { NAMES_MAX = 256 };

typedef struct option_names {
    uint32_t count;
    const char *of[NAMES_MAX];
    bool takes_value[NAMES_MAX]; ///< in a word of its own, where there is no '='
} option_names;

static void add_name(option_names *names, const char *name, bool takes_value)
{
    if (name != NULL && names->count < NAMES_MAX) {
        names->of[names->count] = name;
        names->takes_value[names->count++] = takes_value;
    }
}

static void add_all(option_names *names, const struct argp *argp)
{
    bool takes_value = false; // an alias does as the option in front of it
    const struct argp_option *option = argp->options;
    for (; option != NULL && (option->name != NULL || option->key != 0 || option->doc != NULL); option++) {
        if ((option->flags & OPTION_ALIAS) == 0) {
            takes_value = option->arg != NULL && (option->flags & OPTION_ARG_OPTIONAL) == 0;
        }
        add_name(names, option->name, takes_value);
    }
    for (const struct argp_child *child = argp->children; child != NULL && child->argp != NULL; child++) {
        add_all(names, child->argp);
    }
}

/// @param name  of `bytes` bytes; getopt takes the beginnings of names, too  @return its place; -1: there is none
static int find(const option_names *names, const char *name, size_t bytes)
{
    int found = -1;
    for (uint32_t i = 0; i < names->count; i++) {
        if (strncmp(names->of[i], name, bytes) == 0) {
            if (names->of[i][bytes] == 0) {
                return (int)i; // it may begin others, which take no value, or do
            }
            found = found < 0 ? (int)i : found;
        }
    }
    return found;
}

static void refuse(const char *program, const option_names *names, const char *name, size_t bytes)
{
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(bytes < sizeof word ? bytes : sizeof word - 1), name);
    const char *near = tarn_nearest_name(word, names->of, names->count);
    tarn_make_printable(word);
    fprintf(stderr, "%s: found \"--%s\", which is no option%s%s%s\n", program, word,
            near != NULL ? "; did you mean --" : "", near != NULL ? near : "", near != NULL ? "?" : "");
    fprintf(stderr, "Try `%s --help' for more information.\n", program);
    exit(argp_err_exit_status);
}

void tarn_options_check(const struct argp *argp, int argc, char **argv, unsigned flags, const char *program,
                        const char *const *beside)
{
    option_names names = {.count = 3, .of = {"help", "usage", "version"}};
    add_all(&names, argp);
    const uint32_t own = names.count;
    for (; *beside != NULL; beside++) {
        add_name(&names, *beside, false);
    }
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const bool is_option = strncmp(argv[i], "--", 2) == 0;
        if (!is_option && (flags & ARGP_IN_ORDER) != 0 && argv[i][0] != '-') {
            break; // what is behind it isn't read here
        }
        const size_t bytes = is_option ? strcspn(argv[i] + 2, "=") : 0;
        const int found = is_option ? find(&names, argv[i] + 2, bytes) : 0;
        if (found < 0 || (uint32_t)found >= own) {
            refuse(program, &names, argv[i] + 2, bytes);
        }
        i += is_option && names.takes_value[found] && argv[i][2 + bytes] == 0;
    }
}

void tarn_options_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
    static const char *const none[] = {NULL};
    const char *slash = strrchr(argv[0], '/');
    tarn_options_check(argp, argc, argv, flags, slash != NULL ? slash + 1 : argv[0], none);
    argp_parse(argp, argc, argv, flags, NULL, input);
}

// ---- variables that aren't there ----
// The names come from deploy/tarnd.schema.json, which a test keeps as tarnd's table of options is; so the other
// programs needn't have that table.

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
