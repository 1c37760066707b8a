// What was done to a storm's tank, as a log of inputs in a file without a name, and the same done again elsewhere:
//
//     log -> tank on 2 threads, another instruction set -> half of the steps -> save -> load into a fresh tank
//         -> the other half -> the hash that the storm's tank has
#include "tests/storm/storm.h"

#include <stdlib.h>
#include <string.h>

typedef struct again {
    tarn_device *device;
    tarn_tank *tank;
    tarn_input_replay replay;
} again;

bool storm_record(storm_tank *storm)
{
    tarn_input_log_head head;
    storm->file = tmpfile();
    storm->log = malloc(sizeof *storm->log);
    if (storm->file == NULL || storm->log == NULL) {
        return storm_wrong(storm, "no file for the log");
    }
    tarn_status status = tarn_input_log_head_of(storm->tank, &storm->scene->tank, storm->scene->name, &head);
    if (status == TARN_OK) {
        status = tarn_input_log_begin(storm->log, storm->file, &head);
    }
    return status == TARN_OK || storm_wrong(storm, "the log: %s", tarn_status_text(status));
}

/// The lowest instruction set there is, which the storm doesn't run on where the processor has a higher one.
static tarn_status open_device(tarn_device **device)
{
    tarn_device_desc on = {.kind = TARN_DEVICE_CPU, .threads = 2, .isa = "v2"};
    tarn_status status = tarn_device_create(&on, device);
    if (status == TARN_E_UNAVAILABLE) { // a build for another one alone
        on.isa = NULL;
        status = tarn_device_create(&on, device);
    }
    return status;
}

/// Goes on in a fresh tank, which is brought there by the state alone.
static tarn_status move(storm_tank *storm, again *to)
{
    size_t bytes = 0;
    tarn_status status = tarn_tank_save(to->tank, storm->state, storm->state_bytes_max, &bytes);
    if (status == TARN_OK) {
        tarn_tank_destroy(to->tank);
        to->tank = NULL;
        status = tarn_tank_create(to->device, &storm->scene->tank, &to->tank, NULL, 0);
    }
    return status == TARN_OK ? tarn_tank_load(to->tank, storm->state, bytes) : status;
}

static bool go_again(storm_tank *storm, again *to, tarn_tank_hash wanted)
{
    tarn_input_replay *replay = &to->replay;
    tarn_tank_hash found;
    tarn_input_log_head head;
    tarn_status status = tarn_input_log_head_of(to->tank, &storm->scene->tank, storm->scene->name, &head);
    if (status == TARN_OK && tarn_input_replay_fits(replay, &head) != TARN_OK) {
        return storm_wrong(storm, "%s", replay->why);
    }
    while (status == TARN_OK && replay->at.steps < replay->steps) {
        status = replay->at.steps == replay->steps / 2 ? move(storm, to) : TARN_OK;
        if (status == TARN_OK && tarn_input_replay_step(replay, to->tank) != TARN_OK) {
            return storm_wrong(storm, "%s", replay->why);
        }
    }
    if (status == TARN_OK && tarn_input_replay_finish(replay, to->tank) != TARN_OK) {
        return storm_wrong(storm, "%s", replay->why);
    }
    if (status == TARN_OK) {
        status = tarn_tank_hash_get(to->tank, &found);
    }
    storm->result->steps_replayed = replay->at.steps;
    storm->result->log_kib = (double)replay->bytes / 1024.0;
    if (status != TARN_OK) {
        return storm_wrong(storm, "the replay: %s", tarn_status_text(status));
    }
    return (found.lo == wanted.lo && found.hi == wanted.hi) ||
           storm_wrong(storm, "after %llu steps the replay on %s is in another state",
                       (unsigned long long)replay->steps, tarn_device_name(to->device));
}

bool storm_replay(storm_tank *storm)
{
    again *to = calloc(1, sizeof *to);
    tarn_tank_hash wanted;
    bool goes = false;
    tarn_status status = to == NULL ? TARN_E_MEMORY : tarn_tank_hash_get(storm->tank, &wanted);
    if (status == TARN_OK) {
        status = tarn_input_log_end(storm->log, &wanted);
    }
    if (status == TARN_OK) {
        status = open_device(&to->device);
    }
    if (status == TARN_OK) {
        status = tarn_tank_create(to->device, &storm->scene->tank, &to->tank, NULL, 0);
    }
    if (status != TARN_OK) {
        (void)storm_wrong(storm, "the replay: %s", tarn_status_text(status));
    } else {
        FILE *file = storm->file;
        storm->file = NULL; // the replay closes it
        goes = tarn_input_replay_open(&to->replay, "the log", file) == TARN_OK && go_again(storm, to, wanted);
        goes = goes || storm_wrong(storm, "%s", to->replay.why);
        tarn_input_replay_close(&to->replay);
    }
    if (to != NULL) {
        tarn_tank_destroy(to->tank);
        tarn_device_destroy(to->device);
    }
    free(to);
    return goes;
}
