// A state, then every step that is in the log behind it.
#include "server/worker/worker_resume.h"
#include "server/common/log.h"
#include "server/worker/tank_presses.h"

#include <stdio.h>

static tarn_status load(tarn_worker_tank *tank, const tarn_black_box_rest *rest)
{
    return tarn_tank_load(tank->tank, rest->state, (size_t)rest->state_bytes);
}

/// Takes all steps of the log. @param step  of the state; goes on
static tarn_status replay(tarn_worker_tank *tank, uint64_t *step)
{
    size_t at = 0;
    for (;;) {
        tarn_status status = tarn_black_box_read(&tank->snapshot.box, &at, &tank->latched);
        if (status != TARN_OK) {
            return status == TARN_E_NOT_FOUND ? TARN_OK : status;
        }
        tarn_black_box_set_replayed(&tank->snapshot.box, at);
        status = tarn_tank_step(tank->tank, &tank->latched);
        if (status != TARN_OK) {
            return status;
        }
        *step += !tank->latched.holds;
        tank->snapshot.steps_since += !tank->latched.holds;
    }
}

/// What viewers held goes on; what comes from them from now on comes on top.
static void take_presses(tarn_worker_tank *tank)
{
    uint32_t byte_count;
    const uint8_t *presses = tarn_black_box_presses(&tank->snapshot.box, &byte_count);
    if (byte_count > 0 && tarn_tank_presses_read(tank, presses, byte_count) != TARN_OK) {
        tarn_log_of(TARN_LOG_WARN, (tarn_log_subject){.tank = tank->id}, "tank %u: what its viewers held is lost",
                    tank->id);
    }
}

/// What people are told where the tank isn't as they saw it.
static void give_notice(tarn_worker_tank *tank, const tarn_black_box_rest *rest)
{
    const char *what = rest->is_log_left_out ? "ended its process again and again" : "failed when its process ended";
    snprintf(tank->notice, sizeof tank->notice, "the simulation of \"%s\" %s; the tank was set back to %.2f s",
             tank->scene.name, what, (double)rest->step * (double)tank->scene.tank.dt_s);
    tarn_log_of(TARN_LOG_WARN, (tarn_log_subject){.tank = tank->id}, "tank %u: %s", tank->id, tank->notice);
}

tarn_status tarn_worker_resume(tarn_worker_tank *tank, const tarn_black_box_rest *rest)
{
    tarn_black_box *box = &tank->snapshot.box;
    uint64_t step = rest->step;
    bool is_set_back = rest->is_log_left_out;
    tarn_black_box_set_busy(box, true);
    tarn_black_box_settle(box, rest);
    take_presses(tank);
    tarn_status status = load(tank, rest);
    if (status == TARN_OK) {
        status = replay(tank, &step);
        if (status != TARN_OK && status != TARN_E_DEVICE && status != TARN_E_MEMORY) {
            // it ended as it was to be set back, or another build logged
            is_set_back = true;
            step = rest->step;
            tarn_black_box_back(box);
            tarn_input_state_release(&tank->inputs);
            tank->snapshot.steps_since = 0;
            status = load(tank, rest);
        }
    }
    if (status == TARN_OK && tarn_input_state_awaits_bodies(&tank->inputs)) { // it ended amid the last step
        uint32_t thrown[TARN_STEP_THROWS_MAX];
        (void)tarn_input_state_thrown(&tank->inputs, thrown, tarn_tank_thrown(tank->tank, thrown));
    }
    tarn_black_box_set_busy(box, false);
    if (status != TARN_OK) {
        return status;
    }
    if (is_set_back) {
        tarn_black_box_set_replay(box, 0); // what was played back may be why
        give_notice(tank, rest);
    }
    return tarn_worker_tank_go_on(tank, rest->epoch + is_set_back, step, rest->number);
}

tarn_status tarn_worker_redo(tarn_worker_tank *tank)
{
    tarn_snapshot *snapshot = &tank->snapshot;
    const uint64_t steps_since = snapshot->steps_since; // counts steps that viewers have seen, too
    uint64_t state_bytes, step = 0;
    const uint8_t *state = tarn_black_box_state(&snapshot->box, &state_bytes, &step);
    if (state == NULL) {
        return TARN_E_STATE;
    }
    tarn_status status = tarn_tank_load(tank->tank, state, (size_t)state_bytes);
    if (status == TARN_OK) {
        status = replay(tank, &step);
    }
    snapshot->steps_since = steps_since;
    return status;
}
