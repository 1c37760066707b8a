// `tarn session`: picks what is done with kept sessions, and parses its options. What is told is in kept/, what is
// simulated in tool_session_export.c.
#include "server/tool/tool_session.h"
#include "server/common/near_name.h"
#include "server/common/option_names.h"
#include "server/common/option_number.h"
#include "server/tool/kept/kept_prune.h"
#include "server/tool/kept/kept_tell.h"
#include "server/tool/tool.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_SCENES = 256, KEY_OLDER, KEY_LARGER, KEY_DRY, KEY_SHRINK };

typedef struct session_arguments {
    const char *scenes_dir;
    char **paths;
    int path_count;
    kept_prune_plan plan;
} session_arguments;

static error_t parse(int key, char *argument, struct argp_state *state)
{
    session_arguments *arguments = state->input;
    switch (key) {
    case KEY_SCENES:
        arguments->scenes_dir = argument;
        return 0;
    case KEY_OLDER:
        arguments->plan.older_s = tarn_option_age_s(state, "older", argument);
        return 0;
    case KEY_LARGER:
        arguments->plan.larger_bytes = tarn_option_bytes(state, "larger", argument);
        return 0;
    case KEY_DRY:
        arguments->plan.is_dry = true;
        return 0;
    case KEY_SHRINK:
        arguments->plan.shrinks = true;
        return 0;
    case ARGP_KEY_ARGS:
        arguments->paths = state->argv + state->next;
        arguments->path_count = state->argc - state->next;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

#define SCENES_OPTION                                                                                                  \
    {                                                                                                                  \
        "scenes", KEY_SCENES, "DIR", 0,                                                                                \
            "where the server had its scenes, for seconds of simulated time; default: those that came with Tarn", 0    \
    }

static const struct argp_option scenes_options[] = {SCENES_OPTION, {0}};
static const struct argp_option prune_options[] = {
    {"older", KEY_OLDER, "AGE", 0, "those that last changed so long ago: 90s, 15m, 12h, 30d", 0},
    {"larger", KEY_LARGER, "SIZE", 0, "those that take more: bytes, or with k, M or G", 0},
    {"dry-run", KEY_DRY, 0, 0, "only say what would go", 0},
    {"shrink", KEY_SHRINK, 0, 0,
     "delete nothing: write those anew that an earlier version made, which never get smaller", 0},
    {0},
};
static const struct argp list_argp = {
    .options = scenes_options,
    .parser = parse,
    .args_doc = "DIR",
    .doc = "Lists the sessions that a tarnd keeps in DIR (--store), also while it runs.\v"
           "TITLE is what people see: the tank's, or else its scene's. STEP and TIME are where a server goes on; LOG "
           "is how many steps of that lie behind the newest state."};
static const struct argp show_argp = {.options = scenes_options,
                                      .parser = parse,
                                      .args_doc = "FILE...",
                                      .doc = "Shows what is in a kept session's file, but no secret."};
static const struct argp verify_argp = {
    .parser = parse,
    .args_doc = "FILE|DIR...",
    .doc = "Looks whether kept sessions are whole: SQLite's structures, each part's checksum and what is in it.\v"
           "Names what is damaged and what is lost by it. The status is 1 where something is."};
static const struct argp backup_argp = {
    .parser = parse,
    .args_doc = "DIR NAME FILE",
    .doc = "Copies the session NAME that a tarnd keeps in DIR into FILE, also while it runs, and looks whether the "
           "copy is "
           "whole.\v"
           "FILE is new: one file, which lacks nothing, as it was when this began. A server takes it as NAME.tank in a "
           "folder that no tarnd uses."};
static const struct argp prune_argp = {
    .options = prune_options,
    .parser = parse,
    .args_doc = "DIR [NAME...]",
    .doc = "Deletes kept sessions from DIR, which no tarnd may be using, and says which.\v"
           "Those go for which all holds that is given: the names, --older, --larger. With --shrink these, or all, are "
           "written anew where that helps, each with twice its size of the disk for as long as that takes."};

static void usage(const struct argp *argp, char **argv, const char *sentence)
{
    fprintf(stderr, "%s: %s\n", argv[0], sentence);
    argp_help(argp, stderr, ARGP_HELP_SEE, argv[0]);
    exit(argp_err_exit_status);
}

static int run_list(int argc, char **argv)
{
    session_arguments arguments = {0};
    tarn_options_parse(&list_argp, argc, argv, 0, &arguments);
    if (arguments.path_count != 1) {
        usage(&list_argp, argv, "allowed is one folder");
    }
    return kept_list(argv[0], arguments.paths[0], arguments.scenes_dir) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_show(int argc, char **argv)
{
    session_arguments arguments = {0};
    bool is_read = true;
    tarn_options_parse(&show_argp, argc, argv, 0, &arguments);
    if (arguments.path_count == 0) {
        usage(&show_argp, argv, "the file of a kept session is missing");
    }
    for (int i = 0; i < arguments.path_count; i++) {
        is_read = kept_show(argv[0], arguments.paths[i], arguments.scenes_dir) && is_read;
    }
    return is_read ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_verify(int argc, char **argv)
{
    session_arguments arguments = {0};
    bool is_whole = true;
    tarn_options_parse(&verify_argp, argc, argv, 0, &arguments);
    if (arguments.path_count == 0) {
        usage(&verify_argp, argv, "the file or the folder is missing");
    }
    for (int i = 0; i < arguments.path_count; i++) {
        is_whole = kept_verify(argv[0], arguments.paths[i]) && is_whole;
    }
    return is_whole ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_backup(int argc, char **argv)
{
    session_arguments arguments = {0};
    tarn_options_parse(&backup_argp, argc, argv, 0, &arguments);
    if (arguments.path_count != 3) {
        usage(&backup_argp, argv, "allowed are a folder, the name of a session in it and a file that is to be made");
    }
    return kept_backup(argv[0], arguments.paths[0], arguments.paths[1], arguments.paths[2]) ? EXIT_SUCCESS
                                                                                            : EXIT_FAILURE;
}

static int run_prune(int argc, char **argv)
{
    session_arguments arguments = {0};
    kept_prune_plan *plan = &arguments.plan;
    tarn_options_parse(&prune_argp, argc, argv, 0, &arguments);
    if (arguments.path_count == 0) {
        usage(&prune_argp, argv, "the folder is missing");
    }
    plan->dir = arguments.paths[0];
    plan->names = arguments.paths + 1;
    plan->name_count = arguments.path_count - 1;
    if (!plan->shrinks && plan->name_count == 0 && plan->older_s == 0 && plan->larger_bytes == 0) {
        usage(&prune_argp, argv, "nothing says which are to go: --older, --larger or names");
    }
    return kept_prune(argv[0], plan) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} acts[] = {{"list", run_list},     {"show", run_show},  {"verify", run_verify}, {"export", tool_session_export},
            {"backup", run_backup}, {"prune", run_prune}};

typedef struct session_choice {
    int (*run)(int argc, char **argv);
    const char *name;
    int first; // index of the act's name in argv
} session_choice;

static error_t choose(int key, char *argument, struct argp_state *state)
{
    session_choice *choice = state->input;
    if (key == ARGP_KEY_ARG) {
        for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++) {
            if (strcmp(argument, acts[i].name) == 0) {
                *choice = (session_choice){acts[i].run, acts[i].name, state->next - 1};
                state->next = state->argc;
                return 0;
            }
        }
        const char *names[sizeof acts / sizeof acts[0]];
        for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++) {
            names[i] = acts[i].name;
        }
        const char *near = tarn_nearest_name(argument, names, sizeof acts / sizeof acts[0]);
        argp_error(state, "found \"%s\"%s%s%s, allowed are list, show, verify, export, backup and prune", argument,
                   near != NULL ? " (did you mean " : "", near != NULL ? near : "", near != NULL ? "?)" : "");
    }
    if (key == ARGP_KEY_NO_ARGS) {
        argp_error(state, "allowed are list, show, verify, export, backup and prune");
    }
    return ARGP_ERR_UNKNOWN;
}

int tool_session(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = choose,
        .args_doc = "ACT [OPTION...]",
        .doc = "Looks after the sessions that tarnd keeps with --store.\v"
               "Acts:\n"
               "  list   a table of a folder\n"
               "  show   what is in a file\n"
               "  verify whether files are whole\n"
               "  export simulate to the newest step, and write it\n"
               "  backup copy one into a file, also while a server runs\n"
               "  prune  delete old or large ones\n"
               "\n"
               "`tarn session ACT --help` describes one. `tarn replay FILE` makes a file's steps again.",
    };
    session_choice choice = {0};
    char name[64];
    tarn_options_parse(&argp, argc, argv, ARGP_IN_ORDER, &choice);
    snprintf(name, sizeof name, "%s %s", argv[0], choice.name);
    argv[choice.first] = name;
    return choice.run(argc - choice.first, argv + choice.first);
}
