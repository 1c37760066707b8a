// `tarn`: the tool for people. Picks the subcommand; each parses its own options.
#include "server/base/options.h"
#include "server/base/text.h"
#include "server/tool/tool.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {{"run", tool_run},     {"bench", tool_bench},     {"check", tool_check},
                {"load", tool_load},   {"kinect", tool_kinect},   {"top", tool_top},
                {"token", tool_token}, {"session", tool_session}, {"replay", tool_replay}};

typedef struct tool_arguments {
    int (*run)(int argc, char **argv);
    const char *name;
    int first; // index of the subcommand's name in argv
} tool_arguments;

static const char *nearest_command(const char *word)
{
    const char *names[sizeof commands / sizeof commands[0]];
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        names[i] = commands[i].name;
    }
    return tarn_nearest_name(word, names, sizeof commands / sizeof commands[0]);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    tool_arguments *arguments = state->input;
    if (key == ARGP_KEY_ARG) {
        for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
            if (strcmp(argument, commands[i].name) == 0) {
                arguments->run = commands[i].run;
                arguments->name = commands[i].name;
                arguments->first = state->next - 1;
                state->next = state->argc;
                return 0;
            }
        }
        const char *near = nearest_command(argument);
        argp_error(
            state,
            "found the command \"%s\"%s%s%s, allowed are run, bench, check, load, kinect, top, token, session and "
            "replay",
            argument, near != NULL ? " (did you mean " : "", near != NULL ? near : "", near != NULL ? "?)" : "");
        return 0;
    }
    if (key == ARGP_KEY_NO_ARGS) {
        argp_error(state,
                   "a command is missing, allowed are run, bench, check, load, kinect, top, token, session and replay");
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static void print_version(FILE *stream, struct argp_state *state)
{
    (void)state;
    fprintf(stream, "tarn %s (CUDA device: %s)\n", TARN_VERSION, tarn_device_has_cuda() ? "built in" : "not built in");
}

static void say_variable(const char *sentence)
{
    fprintf(stderr, "tarn: %s\n", sentence);
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = parse,
        .args_doc = "COMMAND [OPTION...]",
        .doc = "Runs, measures and checks tanks of liquid, loads servers of them, and brings a camera to them.\n"
               "\v"
               "Commands:\n"
               "  run      simulate a scene; state hash, exports, pictures\n"
               "  bench    measure a scene, stage by stage\n"
               "  check    validate scene files\n"
               "  load     open viewers to a running server, measure what they receive\n"
               "  kinect   let people before a depth camera move a server's fluid\n"
               "  top      show the tanks of a running server, anew each second\n"
               "  token    mint, list and revoke tokens, which open a tank for a time\n"
               "  session  list, show, verify, export, copy, delete sessions that a server keeps\n"
               "  replay   make the steps of a kept session again, and compare them\n"
               "\n"
               "`tarn COMMAND --help` describes a command. A SCENE is a path to a .json file or the name of a scene "
               "that came with Tarn, such as dam-break.",
    };
    // A file that is written must not get the number of a closed standard error, and what is said there with it.
    tarn_standard_files_open();
    argp_program_version_hook = print_version;
    argp_err_exit_status = TARN_EXIT_USAGE;
    // A file-size limit is then a write error, which is reported with the file's name.
    signal(SIGXFSZ, SIG_IGN);

    tool_arguments arguments = {0};
    tarn_options_parse(&argp, argc, argv, ARGP_IN_ORDER, &arguments);
    char name[32];
    snprintf(name, sizeof name, "tarn %s", arguments.name);
    argv[arguments.first] = name;
    tarn_environment_check(say_variable);
    int status = arguments.run(argc - arguments.first, argv + arguments.first);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("tarn: standard output");
        return status != 0 ? status : EXIT_FAILURE;
    }
    return status;
}
