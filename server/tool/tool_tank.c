// From a command line to a tank: device options, scene, and the signals and clock of the loops that step it.
#include "server/common/device_open.h"
#include "server/common/option_number.h"
#include "server/common/printable.h"
#include "server/tool/tool.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static error_t parse_device(int key, char *argument, struct argp_state *state)
{
    tool_device *device = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        device->word.choice = TARN_DEVICE_CHOOSE_CPU;
        return 0;
    case 't':
        device->cpu.threads = (uint32_t)tarn_option_number(state, "threads", argument, 1, TARN_DEVICE_THREADS_MAX);
        return 0;
    case 'd':
        if (!tarn_device_word_read(argument, strlen(argument), &device->word)) {
            argp_error(state, "--device: found \"%s\", allowed are cpu, cuda, cuda:0 to cuda:%d and auto", argument,
                       TARN_DEVICE_GPUS_MAX - 1);
        }
        return 0;
    case 'i':
        if (strcmp(argument, "v2") != 0 && strcmp(argument, "v3") != 0 && strcmp(argument, "v4") != 0) {
            argp_error(state, "--isa: found \"%s\", allowed are v2, v3 and v4", argument);
        }
        device->cpu.isa = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option device_options[] = {
    {"device", 'd', "cpu|cuda[:N]|auto", 0, "cpu (the default), a GPU, or one where there is one", 0},
    {"threads", 't', "N", 0, "threads of the CPU device, 1 to 256; default: one per processor", 0},
    {"isa", 'i', "LEVEL", 0, "x86-64 level of the CPU device: v2, v3, v4; default: the best this processor has", 0},
    {0},
};
const struct argp tool_device_argp = {device_options, parse_device, NULL, NULL, NULL, NULL, NULL};
_Static_assert(TARN_DEVICE_THREADS_MAX == 256, "the help text above names the limit");

enum { KEY_SET = 512 };

static error_t parse_setting(int key, char *argument, struct argp_state *state)
{
    tarn_scene_settings *settings = state->input;
    if (key != KEY_SET) {
        return ARGP_ERR_UNKNOWN;
    }
    if (settings->count == TARN_SCENE_SETTINGS_MAX) {
        argp_error(state, "--set: found more than %d", TARN_SCENE_SETTINGS_MAX);
    }
    if (!tarn_scene_setting_is_well_formed(argument)) {
        argp_error(state, "--set: found the setting \"%.100s\", allowed are %s", argument, TARN_SCENE_SETTING_FORM);
    }
    settings->text[settings->count++] = argument;
    return 0;
}

static const struct argp_option setting_options[] = {
    {"set", KEY_SET, "FIELD=VALUE", 0,
     "set a field of the scene otherwise, as solver.cfl=2 or blocks[0].max_m=[1,0.5,1]; may be given 32 times", 0},
    {0},
};
const struct argp tool_settings_argp = {setting_options, parse_setting, NULL, NULL, NULL, NULL, NULL};
_Static_assert(TARN_SCENE_SETTINGS_MAX == 32, "the help text above names the limit");

/// Says why, where it isn't what was asked for.
static tarn_status open_device(const char *command, const tool_device *device, tarn_device **out)
{
    char why[TARN_DEVICE_WHY_BYTES];
    const tarn_status status = tarn_device_open(&device->word, &device->cpu, "", out, why);
    if (why[0] != '\0') {
        fprintf(stderr, "%s: %s\n", command, why);
    }
    return status;
}

bool tool_tank_open(tool_tank *tank, const char *command, const char *scene, const tarn_scene_settings *settings,
                    const tool_device *device)
{
    tarn_scene read = {0};
    char path[PATH_MAX], why[TARN_SCENE_WHY_BYTES] = "";
    *tank = (tool_tank){0};
    if (tarn_scene_resolve(scene, NULL, path, sizeof path, why, sizeof why) != TARN_OK ||
        tarn_scene_read_file_set(path, settings, &read, why, sizeof why) != TARN_OK) {
        fprintf(stderr, "%s: %s\n", command, why);
        return false;
    }
    return tool_tank_open_read(tank, command, path, &read, device);
}

bool tool_tank_open_read(tool_tank *tank, const char *command, const char *origin, const tarn_scene *scene,
                         const tool_device *device)
{
    char path[PATH_MAX], why[TARN_SCENE_WHY_BYTES] = "";
    *tank = (tool_tank){.scene = *scene};
    snprintf(path, sizeof path, "%s", origin);
    tarn_status status = open_device(command, device, &tank->device);
    if (status != TARN_OK) {
        tarn_scene_free(&tank->scene);
        return false;
    }
    status = tarn_tank_create(tank->device, &tank->scene.tank, &tank->tank, why, sizeof why);
    if (status != TARN_OK) {
        tarn_make_printable(path);
        fprintf(stderr, "%s: %s: %s\n", command, path, why[0] != '\0' ? why : tarn_status_text(status));
        tarn_device_destroy(tank->device);
        tarn_scene_free(&tank->scene);
        return false;
    }
    return true;
}

void tool_tank_close(tool_tank *tank)
{
    tarn_tank_destroy(tank->tank);
    tarn_device_destroy(tank->device);
    tarn_scene_free(&tank->scene);
}

static bool is_noted(const tool_remarks *remarks, const char *remark)
{
    bool is_noted = false;
    for (uint32_t i = 0; i < remarks->count; i++) {
        is_noted |= strcmp(remarks->of[i], remark) == 0;
    }
    return is_noted;
}

void tool_remarks_note(tool_remarks *remarks, const tarn_tank *tank)
{
    enum { MOST = sizeof remarks->of / sizeof remarks->of[0] };
    tarn_remark now[MOST];
    const uint32_t count = tarn_tank_remarks(tank, now, MOST);
    for (uint32_t i = 0; i < count && i < MOST; i++) {
        if (remarks->count < MOST && !is_noted(remarks, now[i])) {
            memcpy(remarks->of[remarks->count++], now[i], sizeof now[i]);
        }
    }
    remarks->more = count > MOST ? count - MOST : remarks->more;
}

void tool_remarks_print(const tool_remarks *remarks, FILE *file, const char *before)
{
    for (uint32_t i = 0; i < remarks->count; i++) {
        fprintf(file, "%s%s\n", before, remarks->of[i]);
    }
    if (remarks->more > 0) {
        fprintf(file, "%sand %u more of this kind\n", before, remarks->more);
    }
}

double tool_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

void tool_catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    // A closed terminal as well, except under nohup, which has the signal ignored.
    struct sigaction found;
    if (sigaction(SIGHUP, NULL, &found) == 0 && found.sa_handler != SIG_IGN) {
        sigaction(SIGHUP, &action, NULL);
    }
}

bool tool_output_is_open(const char *command)
{
    const bool is_open = write(STDOUT_FILENO, "", 0) == 0; // which a full disk and a closed descriptor refuse
    if (!is_open) {
        fprintf(stderr, "%s: standard output: %s\n", command, strerror(errno));
    }
    return is_open;
}

bool tool_interrupted(void)
{
    return interrupted != 0;
}
