// A state says little of its scene: its solids, its liquids and how its steps are computed come from the file that is
// run. So the scene's fingerprint stands before it.
//
//     "TRNC" - u32 version = 1 - u64 fingerprint of the scene | what tarn_tank_save gives and tarn_tank_load checks
#include "server/tool/tool_checkpoint.h"
#include "server/common/byte_codec.h"
#include "server/common/file_bytes.h"
#include "server/common/option_number.h"
#include "server/tool/export/export.h"
#include "server/tool/export/part_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_CHECKPOINT = 768, KEY_CHECKPOINT_EVERY, KEY_RESUME };

enum { HEAD_BYTES = 16, MAGIC = 0x434e5254, VERSION = 1 };

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
    {"resume", KEY_RESUME, "FILE", 0,
     "go on from such a file of the same scene and --set; --steps counts from the scene's start", 0},
    {0},
};
const struct argp tool_checkpoint_argp = {options, parse, NULL, NULL, NULL, NULL, NULL};

static bool say(const char *command, const char *path, const char *why)
{
    fprintf(stderr, "%s: %s: %s\n", command, path, why);
    return false;
}

bool tool_checkpoint_prepare(const char *command, const char *path)
{
    char why[EXPORT_WHY_BYTES];
    if (!part_file_make_folder(path, false)) {
        return say(command, path, strerror(errno));
    }
    if (part_file_try(path, why) != TARN_OK) {
        fprintf(stderr, "%s: %s\n", command, why);
        return false;
    }
    return true;
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

/// Writes the head, or reads one. @return whether it is one of this version
static bool head_pass(uint8_t *bytes, bool writing, uint64_t *fingerprint)
{
    uint32_t magic = MAGIC, version = VERSION;
    byte_codec codec = {.at = bytes, .end = bytes + HEAD_BYTES, .writing = writing, .status = TARN_OK};
    integer(&codec, &magic, sizeof magic);
    integer(&codec, &version, sizeof version);
    integer(&codec, fingerprint, sizeof *fingerprint);
    return codec.status == TARN_OK && magic == MAGIC && version == VERSION;
}

bool tool_checkpoint_write(const char *command, const char *path, tool_tank *tank)
{
    const size_t most = tarn_tank_save_bytes_max(tank->tank);
    size_t byte_count = 0;
    uint8_t *bytes = malloc(HEAD_BYTES + most);
    const tarn_status status =
        bytes != NULL ? tarn_tank_save(tank->tank, bytes + HEAD_BYTES, most, &byte_count) : TARN_E_MEMORY;
    const bool done = status == TARN_OK && head_pass(bytes, true, &tank->scene.fingerprint)
                          ? write_bytes(command, path, bytes, HEAD_BYTES + byte_count)
                          : say(command, path, tarn_status_text(status));
    free(bytes);
    return done;
}

/// Of bytes that were read. @return a sentence, or NULL
static const char *load(tool_tank *tank, uint8_t *bytes, size_t byte_count)
{
    uint64_t fingerprint = 0;
    if (byte_count < HEAD_BYTES || !head_pass(bytes, false, &fingerprint)) {
        return "found something else, allowed is a file that --checkpoint of this version wrote";
    }
    if (fingerprint != tank->scene.fingerprint) {
        return "found the state of another scene, or of this one before it was changed; allowed is one of this scene "
               "and --set; texts and probes may differ";
    }
    const tarn_status status = tarn_tank_load(tank->tank, bytes + HEAD_BYTES, byte_count - HEAD_BYTES);
    return status == TARN_E_MALFORMED ? "found a damaged state" : status == TARN_OK ? NULL : tarn_status_text(status);
}

bool tool_checkpoint_read(const char *command, const char *path, tool_tank *tank, uint32_t *step)
{
    char why[EXPORT_WHY_BYTES], *bytes = NULL;
    size_t byte_count = 0;
    const size_t most = HEAD_BYTES + tarn_tank_save_bytes_max(tank->tank);
    const tarn_status status =
        tarn_file_bytes_read(path, most, "a checkpoint of this scene", &bytes, &byte_count, why, sizeof why);
    if (status == TARN_E_LIMIT) {
        return say(command, path, "found more bytes than a state of this scene has, allowed is one of the same scene");
    }
    if (status != TARN_OK) {
        fprintf(stderr, "%s: %s\n", command, why);
        return false;
    }
    const char *wrong = load(tank, (uint8_t *)bytes, byte_count);
    free(bytes);
    if (wrong != NULL) {
        return say(command, path, wrong);
    }
    tarn_tank_report report;
    tarn_tank_report_light(tank->tank, &report);
    *step = (uint32_t)report.step;
    return report.step <= TOOL_STEPS_MAX || say(command, path, "found a state of more steps than a run has");
}
