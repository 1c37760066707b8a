// Begin at sim_model_killed.
#include "tests/sim/sim_model.h"

#include <stdio.h>
#include <string.h>

enum {
    SLACK_MS = 60,   // of the bound, for what a commit takes
    CALM_MS = 3000,  // after the disk was bad, or descriptors had run out, before the bound holds again
    ANEW_MS = 10000, // in which a tank that begins anew so often may wait for its turn
};

const char *const sim_scenes[SIM_SCENES] = {"dam-break", "maze", SIM_SCENE_BROKEN};
sim_plan sim_planned;
sim_session sim_sessions[SIM_SESSIONS_MAX];
uint32_t sim_session_count;
static uint32_t run_now;

sim_session *sim_model_find(const char *name)
{
    for (uint32_t i = 0; i < sim_session_count; i++) {
        if (strcmp(sim_sessions[i].name, name) == 0) {
            return &sim_sessions[i];
        }
    }
    return NULL;
}

sim_session *sim_model_made(const char *name, const tarn_key keys[TARN_ROLE_COUNT])
{
    SIM_NEED(sim_session_count < SIM_SESSIONS_MAX && strlen(name) < sizeof(tarn_name));
    sim_session *made = sim_model_find(name);
    if (made == NULL) {
        made = &sim_sessions[sim_session_count++];
        snprintf(made->name, sizeof made->name, "%s", name);
    }
    memcpy(made->keys, keys, sizeof made->keys);
    made->is_there = true;
    made->may_be_gone = false;
    made->since_ns = sim_now();
    made->loaded_in = run_now;
    return made;
}

uint32_t sim_model_run(void)
{
    return run_now;
}

void sim_model_begins(void)
{
    run_now++;
    for (uint32_t i = 0; i < sim_session_count; i++) {
        sim_sessions[i].afresh_asked = false;
    }
}

void sim_model_anew(const char *session)
{
    sim_session *found = sim_model_find(session);
    if (found != NULL) {
        found->anew_ns[found->anew_count++ % SIM_ANEW_MAX] = sim_now();
    }
}

void sim_model_branched(const char *session)
{
    sim_session *found = sim_model_find(session);
    sim_model_anew(session);
    if (found != NULL && found->awaits) {
        found->awaits = found->may_be_gone = false;
        found->since_ns = sim_now();
    }
}

const char *sim_model_forked_from(const char *session)
{
    const sim_session *found = sim_model_find(session);
    return found != NULL && found->forked_from[0] != 0 ? found->forked_from : NULL;
}

void sim_model_stepped(const char *session)
{
    sim_session *found = sim_model_find(session);
    if (found != NULL) {
        found->steps++;
    }
}

static bool begins_too_often(const sim_session *session)
{
    const uint64_t oldest_ns = session->anew_ns[session->anew_count % SIM_ANEW_MAX];
    return session->anew_count >= SIM_ANEW_MAX && sim_now() - oldest_ns < ANEW_MS * SIM_MS;
}

/// What was made a while ago is kept; what was made or ended just now may be there or not.
static void mark(uint64_t bound_ns)
{
    for (uint32_t i = 0; i < sim_session_count; i++) {
        sim_session *at = &sim_sessions[i];
        at->awaits = false;             // it goes on from its scene, if at all
        if (at->loaded_in == run_now) { // else nothing has come since the last time
            at->bound_ns = begins_too_often(at) || bound_ns < at->seen_ns ? 0 : bound_ns;
        }
        if (!sim_planned.is_stored) {
            at->is_there = at->may_be_gone = strcmp(at->name, "main") == 0;
        } else if (at->since_ns >= bound_ns) {
            at->may_be_gone = true;
        }
    }
}

void sim_model_killed(bool is_cut)
{
    const uint64_t lost_ns = (sim_planned.durability_ms + SLACK_MS) * SIM_MS;
    const uint64_t bad_ns = sim_disk_bad_ns();
    const bool is_calm = bad_ns == 0 || sim_now() - bad_ns > CALM_MS * SIM_MS;
    (void)is_cut;
    mark(sim_planned.is_stored && is_calm && sim_now() > 1000 * SIM_S + lost_ns ? sim_now() - lost_ns : 0);
}

void sim_model_ended(void)
{
    const uint64_t bad_ns = sim_disk_bad_ns();
    const bool is_calm = bad_ns == 0 || sim_now() - bad_ns > CALM_MS * SIM_MS;
    mark(sim_planned.is_stored && is_calm ? sim_now() : 0);
}

bool sim_model_is_first_load(const char *session)
{
    sim_session *found = sim_model_find(session);
    if (found == NULL) {
        return false; // just made
    }
    const bool is_first = found->loaded_in != run_now;
    if (is_first) { // a tank that is brought back is kept once the gateway has seen it go on
        const uint64_t stands_until_ns = sim_loop_stands_until();
        found->seen_ns = stands_until_ns > sim_now() ? stands_until_ns : sim_now();
    }
    found->loaded_in = run_now;
    return is_first;
}

uint64_t sim_model_bound_ns(const char *session)
{
    const sim_session *found = sim_model_find(session);
    return found != NULL && !found->afresh_asked ? found->bound_ns : 0;
}

uint32_t sim_model_mark(const tarn_input *input)
{
    return (uint32_t)(input->kind == TARN_INPUT_PARAMETER ? input->parameter.value
                      : input->kind == TARN_INPUT_POINTER ? input->pointer.origin_m[0] * 1024
                                                          : input->controller.position_m[0] * 1024);
}

void sim_model_fill(tarn_input *input, uint32_t number)
{
    const float metres = (float)(number % 65536) / 1024;
    if (input->kind == TARN_INPUT_PARAMETER) {
        input->parameter.value = (float)(number % 65536);
        snprintf(input->parameter.name, sizeof input->parameter.name, "gravity");
    } else if (input->kind == TARN_INPUT_POINTER) {
        input->pointer.origin_m[0] = metres;
        input->pointer.direction[2] = 1;
        input->pointer.radius_m = 0.1f;
        input->pointer.strength = 1;
    } else {
        input->controller.position_m[0] = metres;
        input->controller.tracked = 1;
        input->controller.orientation[3] = 1;
        input->controller.radius_m = 0.1f;
        input->controller.strength = 1;
    }
}
