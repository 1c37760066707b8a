// The inputs of `tarn run`: from the scene or from a file, and into a file.
#include "server/tool/tool_inputs.h"

#include "server/tool/export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool say(const tool_inputs *inputs, const char *why)
{
    fprintf(stderr, "%s: %s\n", inputs->command, why);
    return false;
}

/// Gives the log up where it couldn't be written.
static bool look_at_log(tool_inputs *inputs, tarn_status status)
{
    char why[EXPORT_WHY_BYTES];
    if (status == TARN_OK) {
        return true;
    }
    if (status == TARN_E_IO) {
        (void)part_file_fail(&inputs->file, why);
    } else {
        snprintf(why, sizeof why, "%s: more inputs than the file may hold, allowed are %" PRId64 " bytes and %d steps",
                 inputs->file.path, TARN_INPUT_LOG_BYTES_MAX, (int)TARN_INPUT_LOG_STEPS_MAX);
        part_file_drop(&inputs->file);
    }
    inputs->records = false;
    inputs->failed = true;
    return say(inputs, why);
}

bool tool_inputs_open(tool_inputs *inputs, const char *command, const char *replay, const char *record, tool_tank *tank)
{
    char why[EXPORT_WHY_BYTES];
    tarn_input_log_head head;
    inputs->command = command;
    inputs->replays = inputs->records = inputs->failed = inputs->is_same = false;
    if (replay == NULL && record == NULL) {
        return true;
    }
    const tarn_status status = tarn_input_log_head_of(tank->tank, &tank->scene.tank, tank->scene.name, &head);
    if (status != TARN_OK) {
        return say(inputs, tarn_status_text(status));
    }
    if (replay != NULL) {
        inputs->replays = tarn_input_replay_open(&inputs->replay, replay, NULL) == TARN_OK;
        if (!inputs->replays) {
            return say(inputs, inputs->replay.why);
        }
        if (tarn_input_replay_fits(&inputs->replay, &head) != TARN_OK) {
            tarn_input_replay_close(&inputs->replay);
            return say(inputs, inputs->replay.why);
        }
        return true;
    }
    if (part_file_open(&inputs->file, record, why) != TARN_OK) {
        return say(inputs, why);
    }
    inputs->records = true;
    const tarn_status begun = tarn_input_log_begin(&inputs->log, inputs->file.file, &head);
    // A full disk is found now, not when the first buffer is full.
    return look_at_log(inputs, begun == TARN_OK && fflush(inputs->file.file) != 0 ? TARN_E_IO : begun);
}

bool tool_inputs_skip(tool_inputs *inputs, uint32_t steps)
{
    return !inputs->replays || tarn_input_replay_skip(&inputs->replay, steps) == TARN_OK ||
           say(inputs, inputs->replay.why);
}

bool tool_inputs_step(tool_inputs *inputs, tool_tank *tank, uint32_t step, progress *bar)
{
    tarn_step_input input = {0};
    if (inputs->replays) {
        if (tarn_input_replay_step(&inputs->replay, tank->tank) == TARN_OK) {
            return true;
        }
        progress_end(bar);
        return say(inputs, inputs->replay.why);
    }
    tarn_scene_drive(&tank->scene, step, &input);
    if (inputs->records) {
        const tarn_status kept = tarn_input_log_step(&inputs->log, &input);
        if (kept != TARN_OK) {
            progress_end(bar);
            (void)look_at_log(inputs, kept);
        }
    }
    const tarn_status status = tarn_tank_step(tank->tank, &input);
    if (status != TARN_OK) {
        progress_end(bar);
        fprintf(stderr, "%s: step %u: %s\n", inputs->command, step + 1, tarn_status_text(status));
    }
    return status == TARN_OK;
}

static bool end_replay(tool_inputs *inputs, tool_tank *tank)
{
    tarn_input_replay *replay = &inputs->replay;
    const tarn_tank_hash end = replay->end;
    tarn_tank_hash hash;
    if (tarn_input_replay_finish(replay, tank->tank) != TARN_OK) {
        return say(inputs, replay->why);
    }
    const tarn_status status = tarn_tank_hash_get(tank->tank, &hash);
    if (status != TARN_OK) {
        return say(inputs, tarn_status_text(status));
    }
    if ((end.lo != 0 || end.hi != 0) && (end.lo != hash.lo || end.hi != hash.hi)) {
        fprintf(stderr,
                "%s: %s: found the hash %016" PRIx64 "%016" PRIx64 " at the end, recorded is %016" PRIx64 "%016" PRIx64
                "\n",
                inputs->command, replay->path, hash.hi, hash.lo, end.hi, end.lo);
        return false;
    }
    inputs->is_same = end.lo != 0 || end.hi != 0;
    return true;
}

void tool_inputs_print(const tool_inputs *inputs, FILE *file)
{
    if (inputs->replays) {
        fprintf(file, "%s: %s\n", inputs->replay.path,
                inputs->is_same ? "the hash at the end is the recorded one"
                                : "not replayed to a recorded hash: nothing was compared");
    } else if (inputs->records) {
        fprintf(file, "inputs of %" PRIu64 " steps in %s\n", inputs->log.at.steps, inputs->file.path);
    }
}

bool tool_inputs_close(tool_inputs *inputs, tool_tank *tank, bool stepped)
{
    char why[EXPORT_WHY_BYTES];
    bool succeeded = true;
    if (inputs->replays) {
        succeeded = !stepped || inputs->replay.at.steps < inputs->replay.steps || end_replay(inputs, tank);
        tarn_input_replay_close(&inputs->replay);
    }
    if (inputs->records) {
        tarn_tank_hash hash;
        const bool has_hash = stepped && tarn_tank_hash_get(tank->tank, &hash) == TARN_OK;
        if (look_at_log(inputs, tarn_input_log_end(&inputs->log, has_hash ? &hash : NULL)) &&
            part_file_close(&inputs->file, why) != TARN_OK) {
            succeeded = say(inputs, why);
        }
    }
    return succeeded && !inputs->failed;
}

void tool_inputs_drop(tool_inputs *inputs)
{
    if (inputs->replays) {
        tarn_input_replay_close(&inputs->replay);
    }
    if (inputs->records) {
        part_file_drop(&inputs->file);
    }
}
