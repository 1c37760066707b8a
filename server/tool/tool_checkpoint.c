// The file is what tarn_tank_save gives and tarn_tank_load checks, and nothing else.
#include "server/tool/tool_checkpoint.h"
#include "server/common/file_bytes.h"
#include "server/common/option_number.h"
#include "server/tool/export/export.h"
#include "server/tool/export/part_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_CHECKPOINT = 768, KEY_CHECKPOINT_EVERY, KEY_RESUME };

static error_t parse(int key, char *argument, struct argp_state *state)
{
    tool_checkpoint_options *options = state->input;
    switch (key) {
    case KEY_CHECKPOINT:
        options->write = argument;
        return 0;
    case KEY_CHECKPOINT_EVERY:
        options->every = (uint32_t)tarn_option_number(state, "checkpoint-every", argument, 1, TOOL_STEPS_MAX);
        return 0;
    case KEY_RESUME:
        options->read = argument;
        return 0;
    case ARGP_KEY_END:
        if (options->every > 0 && options->write == NULL) {
            argp_error(state, "--checkpoint-every needs --checkpoint, the file to write to");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"checkpoint", KEY_CHECKPOINT, "FILE", 0,
     "write the tank's state to FILE at the end, and where the run is interrupted", 0},
    {"checkpoint-every", KEY_CHECKPOINT_EVERY, "K", 0, "also every K steps", 0},
    {"resume", KEY_RESUME, "FILE", 0, "go on from such a file of the same scene; --steps counts from the scene's start",
     0},
    {0},
};
const struct argp tool_checkpoint_argp = {options, parse, NULL, NULL, NULL, NULL, NULL};

static bool say(const char *command, const char *path, const char *why)
{
    fprintf(stderr, "%s: %s: %s\n", command, path, why);
    return false;
}

static bool write_bytes(const char *command, const char *path, const uint8_t *bytes, size_t byte_count)
{
    part_file file;
    char why[EXPORT_WHY_BYTES];
    tarn_status status = part_file_open(&file, path, why);
    if (status == TARN_OK && fwrite(bytes, 1, byte_count, file.file) != byte_count) {
        status = part_file_fail(&file, why);
    } else if (status == TARN_OK) {
        status = part_file_close(&file, why);
    }
    if (status != TARN_OK) {
        fprintf(stderr, "%s: %s\n", command, why);
    }
    return status == TARN_OK;
}

bool tool_checkpoint_write(const char *command, const char *path, tool_tank *tank)
{
    const size_t most = tarn_tank_save_bytes_max(tank->tank);
    size_t byte_count = 0;
    uint8_t *bytes = malloc(most);
    const tarn_status status = bytes != NULL ? tarn_tank_save(tank->tank, bytes, most, &byte_count) : TARN_E_MEMORY;
    const bool done = status == TARN_OK ? write_bytes(command, path, bytes, byte_count)
                                        : say(command, path, tarn_status_text(status));
    free(bytes);
    return done;
}

bool tool_checkpoint_read(const char *command, const char *path, tool_tank *tank, uint32_t *step)
{
    char why[EXPORT_WHY_BYTES], *bytes = NULL;
    size_t byte_count = 0;
    if (tarn_file_bytes_read(path, tarn_tank_save_bytes_max(tank->tank), "a checkpoint of this scene", &bytes,
                             &byte_count, why, sizeof why) != TARN_OK) {
        fprintf(stderr, "%s: %s\n", command, why);
        return false;
    }
    const tarn_status status = tarn_tank_load(tank->tank, (const uint8_t *)bytes, byte_count);
    free(bytes);
    if (status == TARN_E_MALFORMED) {
        return say(command, path,
                   "found no state of this scene's tank, allowed is a file that --checkpoint wrote of the same scene, "
                   "unchanged");
    }
    tarn_tank_report report;
    tarn_tank_report_light(tank->tank, &report);
    if (status == TARN_OK && report.step > TOOL_STEPS_MAX) {
        return say(command, path, "found a state of more steps than a run has");
    }
    *step = (uint32_t)report.step;
    return status == TARN_OK || say(command, path, tarn_status_text(status));
}
