// getopt tells of an unknown option only that: the names are looked at before it. Start at tarn_options_check.
#include "server/common/option_names.h"
#include "server/common/near_name.h"
#include "server/common/printable.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 256 };

typedef struct option_names {
    uint32_t count;
    const char *of[NAMES_MAX];
    bool takes_value[NAMES_MAX]; ///< in a word of its own, where there is no '='
} option_names;

static void add(option_names *names, const char *name, bool takes_value)
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
        add(names, option->name, takes_value);
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
        add(&names, *beside, false);
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
