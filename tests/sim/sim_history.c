// Chooses what the server is started with, then acts at random, then lets everything come to rest and looks. Begin at
// sim_history.
#include "tests/sim/sim_history.h"
#include "server/gateway/gateway.h"
#include "tests/sim/sim_checks.h"
#include "tests/sim/sim_ledger.h"
#include "tests/sim/sim_request.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum {
    COME_S = 4, // until owners come who set right what stands
    REST_S = 8, // until all must be well again then
    CALL_S = 4, // for callers to see something
    VIEWERS_MAX = 24,
    CHECK_MS = 100,
    KILL_MS = 1500, // at most between two that somebody ends
    STARTS_MAX = 24,
    ACTIONS = 600, // in a history, if the server is there all the time
};

typedef enum history_phase { HISTORY_ACTS, HISTORY_RESTS, HISTORY_CALLS, HISTORY_ENDS } history_phase;

static history_phase phase;
static uint64_t ends_ns;
static bool is_told_to_end;
static char store[512];

static void kill_gateway(bool is_cut)
{
    sim_trace("the gateway is killed%s", is_cut ? " by a power cut" : "");
    sim_model_killed(is_cut);
    sim_ledger_excuse(NULL);
    sim_gateway_kill();
    if (is_cut) {
        sim_disk_cut();
    } else {
        sim_disk_kill();
    }
    sim_told->restarts++;
}

// --------------------------------------------------------------------------------------------------------------
// actions

static const sim_session *any_session(void)
{
    return sim_session_count == 0 ? NULL : &sim_sessions[sim_chance(40) ? 0 : sim_below(sim_session_count)];
}

/// One of those who are there, rather one who may do so much.
static sim_viewer *any_viewer(tarn_role role)
{
    sim_viewer *chosen = NULL;
    uint32_t seen = 0;
    const tarn_role least = sim_chance(85) ? role : TARN_ROLE_WATCH;
    for (sim_viewer *at = sim_viewers(); at != NULL; at = at->next) {
        if (at->phase == SIM_VIEWER_JOINED && at->net.is_open && at->role >= least && sim_below(++seen) == 0) {
            chosen = at;
        }
    }
    return chosen;
}

static uint32_t open_viewers(void)
{
    uint32_t count = 0;
    for (const sim_viewer *at = sim_viewers(); at != NULL; at = at->next) {
        count += at->phase != SIM_VIEWER_GONE;
    }
    return count;
}

static sim_pass any_pass(void)
{
    return sim_chance(75) ? (sim_pass)sim_below(3) : (sim_pass)(SIM_PASS_NONE + sim_below(3));
}

static void disk_heals(void *of, uint64_t number)
{
    (void)of;
    (void)number;
    sim_disk_fail(false);
    sim_disk_full(false);
    sim_disk_slow(SIM_MS);
}

static void befall_disk(void)
{
    switch (sim_below(3)) {
    case 0:
        sim_disk_fail(true);
        break;
    case 1:
        sim_disk_full(true);
        break;
    default:
        sim_disk_slow(sim_between(20 * SIM_MS, SIM_S));
        break;
    }
    sim_trace("the disk is bad");
    sim_at(sim_now() + sim_between(10 * SIM_MS, 3 * SIM_S), disk_heals, NULL, 0);
}

static void befall_network(sim_viewer *viewer)
{
    switch (sim_below(4)) {
    case 0:
        sim_trace("viewer %u is half-open", viewer->index);
        viewer->net.is_half_open = true;
        sim_ledger_leave(viewer->person);
        break;
    case 1:
    case 2:
        sim_trace("viewer %u stalls", viewer->index);
        sim_net_stall(&viewer->net, sim_between(50 * SIM_MS, 4 * SIM_S));
        break;
    default:
        sim_trace("viewer %u's connection breaks", viewer->index);
        sim_viewer_leave(viewer, true);
        break;
    }
}

static void control(sim_viewer *viewer)
{
    const uint32_t which = sim_below(20);
    const tarn_control_action action = which < 5    ? TARN_CONTROL_PAUSE
                                       : which < 11 ? TARN_CONTROL_RESUME
                                       : which < 14 ? TARN_CONTROL_STEP
                                       : which < 17 ? TARN_CONTROL_RESET
                                                    : TARN_CONTROL_LOAD;
    sim_viewer_control(viewer, action, action == TARN_CONTROL_LOAD ? sim_scenes[sim_below(SIM_SCENES)] : "");
}

/// What an owner does about one of the others. Whoever is removed comes from elsewhere than those who look at the end.
static void moderate(sim_viewer *owner)
{
    sim_viewer *about = any_viewer(TARN_ROLE_WATCH);
    if (owner == NULL || owner->role != TARN_ROLE_OWN) {
        return;
    }
    if (sim_chance(15)) {
        sim_viewer_lock(owner, sim_chance(50) ? 0 : 1u << sim_below(3), sim_chance(30));
        return;
    }
    const tarn_moderation action = (tarn_moderation)sim_below(sim_chance(50) ? 2 : TARN_MODERATE_COUNT);
    const bool stays = action != TARN_MODERATE_REMOVE || about->net.address != 0x7f000001;
    if (about != owner && strcmp(about->session, owner->session) == 0 && stays) {
        sim_viewer_moderate(owner, about, action);
    }
}

static void act_server(uint32_t draw)
{
    const sim_session *session = any_session();
    if (draw < 8) {
        sim_request_make();
    } else if (draw < 12) {
        sim_request_end(session->name, sim_chance(50) ? SIM_PASS_OWN : any_pass());
    } else if (draw < 20) {
        sim_request_move(session->name, sim_chance(70) ? SIM_PASS_OWN : any_pass(),
                         sim_chance(50) ? -1 : (int)sim_below(sim_planned.workers));
    } else if (draw < 24) {
        sim_request_read();
    } else if (draw < 44) {
        sim_worker_do(sim_below(sim_planned.workers),
                      sim_chance(50) ? SIM_WORKER_KILL : (sim_worker_fault)sim_below(SIM_WORKER_FAULT_COUNT));
    } else if (draw < 50) {
        befall_disk();
    } else if (draw < 52) {
        sim_wall_jump((long)sim_between(0, 7200) - 3600);
    } else if (draw < 54) {
        sim_trace("descriptors run out");
        sim_system_fail_descriptors(1 + sim_below(3));
    } else if (draw < 57) {
        kill_gateway(sim_chance(50));
    } else if (draw < 58) {
        sim_trace("the gateway is told to end");
        is_told_to_end = true;
        sim_loop_signal(SIGTERM);
    } else if (draw < 66) {
        sim_request_back(session->name, sim_chance(80) ? SIM_PASS_OWN : any_pass());
    } else if (draw < 69) {
        sim_request_fork(session->name, sim_chance(80) ? SIM_PASS_OWN : any_pass());
    } else if (draw < 72) {
        sim_request_time(session->name, sim_chance(80) ? SIM_PASS_OWN : any_pass());
    } else if (draw < 74) {
        const uint64_t ns = sim_between(50 * SIM_MS, sim_chance(50) ? SIM_S : 15 * SIM_S);
        const uint64_t left_ns = ends_ns - sim_now();
        sim_trace("the gateway stands for %.1f s", 1e-9 * (double)ns);
        sim_loop_stand(ns < left_ns ? ns : left_ns);
    }
}

static void act(void)
{
    const sim_session *session = any_session();
    const uint32_t draw = sim_below(1000);
    sim_viewer *viewer = any_viewer(draw < 700 ? TARN_ROLE_PLAY : draw < 760 ? TARN_ROLE_OWN : TARN_ROLE_WATCH);
    if (session == NULL || draw < 40 || (viewer == NULL && draw < 300)) {
        if (open_viewers() < VIEWERS_MAX && session != NULL) {
            sim_viewer_connect(session->name, any_pass(), sim_chance(8));
        }
    } else if (viewer == NULL) {
        return;
    } else if (draw < 700) {
        sim_viewer_act(viewer);
    } else if (draw < 760) {
        control(viewer);
    } else if (draw < 800) {
        sim_viewer_look(viewer, sim_chance(50));
    } else if (draw < 850) {
        sim_viewer_say(viewer);
    } else if (draw < 858) {
        sim_viewer_misbehave(viewer);
    } else if (draw < 866) {
        moderate(any_viewer(TARN_ROLE_OWN));
    } else if (draw < 880) {
        sim_viewer_leave(viewer, sim_chance(30));
    } else if (draw < 900) {
        befall_network(viewer);
    } else if (sim_chance(74)) {
        act_server(sim_below(74));
    }
}

// ---------------------------------------------------------------------------------------------------------------
// phases

static bool is_serving(void)
{
    return sim_gateway() != NULL && sim_gateway()->serving && !sim_gateway()->draining && !sim_gateway()->ending;
}

/// The first tank's keys, which its owner's link has.
static void learn_main(void)
{
    const tarn_session *first = &sim_gateway()->sessions.sessions[0];
    const sim_session *known = sim_model_find(first->name);
    if (known != NULL && !known->may_be_gone) {
        SIM_CHECK(REACHABLE, memcmp(known->keys, first->keys.keys, sizeof known->keys) == 0,
                  "the first tank has other keys after a restart");
    }
    if (known == NULL || known->may_be_gone) {
        sim_model_made(first->name, first->keys.keys);
    }
}

static void next_action(void *of, uint64_t number)
{
    (void)of;
    (void)number;
    if (phase != HISTORY_ACTS) {
        return;
    }
    if (is_serving()) {
        learn_main();
        act();
    }
    sim_at(sim_now() + sim_between(0, 2 * sim_planned.length_ns / ACTIONS), next_action, NULL, 0);
}

static void look(void *of, uint64_t number)
{
    (void)of;
    (void)number;
    sim_check_queues();
    sim_at(sim_now() + CHECK_MS * SIM_MS, look, NULL, 0);
}

static const tarn_session *session_named(const char *name)
{
    const tarn_session *sessions = sim_gateway()->sessions.sessions;
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        if (sessions[i].id != 0 && strcmp(sessions[i].name, name) == 0) {
            return &sessions[i];
        }
    }
    return NULL;
}

/// Whoever owns a tank sees that it stands, or is given up, and has it go on.
static void set_right(void *of, uint64_t number)
{
    (void)of;
    (void)number;
    if (phase == HISTORY_ENDS || !is_serving()) {
        return;
    }
    for (sim_viewer *at = sim_viewers(); at != NULL; at = at->next) {
        if (at->phase != SIM_VIEWER_JOINED || !at->net.is_open || at->role != TARN_ROLE_OWN || at->is_preview) {
            continue;
        }
        const tarn_session *session = session_named(at->session);
        if (session != NULL && session->worker != NULL && session->worker->phase == TARN_WORKER_GIVEN_UP) {
            sim_viewer_control(at, TARN_CONTROL_RESET, "");
        } else if (at->state.paused) {
            sim_viewer_control(at, TARN_CONTROL_RESUME, "");
        }
    }
    sim_at(sim_now() + 2 * SIM_S, set_right, NULL, 0);
}

static void owners_come(void)
{
    for (uint32_t i = 0; i < sim_session_count; i++) {
        sim_viewer *made = sim_viewer_connect(sim_sessions[i].name, SIM_PASS_OWN, false);
        made->net.address = 0x7f000001;
        made->net.bytes_per_s = 20000000;
        made->acks = true;
    }
}

static void next_phase(void *of, uint64_t number)
{
    (void)of;
    (void)number;
    if (phase == HISTORY_ACTS) {
        sim_trace("all is let come to rest");
        phase = HISTORY_RESTS;
        disk_heals(NULL, 0);
        sim_workers_quiet();
        sim_system_fail_descriptors(0);
        sim_at(sim_now() + COME_S * SIM_S, next_phase, NULL, 1);
    } else if (number == 1) { // the server may just have been started
        owners_come();
        sim_at(sim_now() + SIM_S, set_right, NULL, 0);
        sim_at(sim_now() + REST_S * SIM_S, next_phase, NULL, 2);
    } else if (number == 2) {
        SIM_CHECK(ALIVE, is_serving(), "the gateway doesn't serve when all is quiet");
        phase = HISTORY_CALLS;
        sim_check_taken();
        sim_check_call();
        sim_at(sim_now() + CALL_S * SIM_S, next_phase, NULL, 3);
    } else {
        sim_check_answers();
        phase = HISTORY_ENDS;
        is_told_to_end = true;
        sim_loop_signal(SIGTERM);
    }
}

static bool never(void)
{
    return false;
}

/// Somebody ends workers, one after the other, before the next ones have got anywhere.
static void kill_worker(void *of, uint64_t number)
{
    (void)of;
    (void)number;
    if (phase != HISTORY_ACTS) {
        return;
    }
    if (is_serving()) {
        sim_worker_do(sim_below(sim_planned.workers), SIM_WORKER_KILL);
    }
    sim_at(sim_now() + sim_between(0, sim_chance(30) ? 100 * SIM_MS : KILL_MS * SIM_MS), kill_worker, NULL, 0);
}

static void draw_plan(void)
{
    static const uint32_t durabilities[] = {50, 100, 100, 400, 1000};
    sim_planned = (sim_plan){.workers = 1 + sim_below(3),
                             .durability_ms = durabilities[sim_below(5)],
                             .sessions_max = 2 + sim_below(5),
                             .keep_empty_s = 3600,
                             .is_stored = sim_chance(75),
                             .is_owned = sim_chance(30),
                             .guests = (tarn_role)sim_below(3),
                             .length_ns = sim_between(2 * SIM_S, 14 * SIM_S)};
}

static int run_once(void)
{
    static const char *const roles[] = {"watch", "play", "own"};
    char durability[16], sessions[16], keep[16];
    static char arguments[32][512];
    char *list[33];
    int count = 0;
    snprintf(durability, sizeof durability, "%u", sim_planned.durability_ms);
    snprintf(sessions, sizeof sessions, "%u", sim_planned.sessions_max);
    snprintf(keep, sizeof keep, "%u", sim_planned.keep_empty_s);
    const char *devices = sim_planned.workers == 1 ? "cpu" : sim_planned.workers == 2 ? "cpu,cpu" : "cpu,cpu,cpu";
    const char *wanted[] = {"tarnd",
                            "--devices",
                            devices,
                            "--scenes",
                            SIM_SCENES_DIR,
                            "--worker",
                            "/nonexistent",
                            "--guests",
                            roles[sim_planned.guests],
                            "--create",
                            sim_planned.is_owned ? "owners" : "everyone",
                            "--sessions-max",
                            sessions,
                            "--keep-empty",
                            keep,
                            "--scene",
                            sim_scenes[0],
                            "--log",
                            sim_traces ? "info" : "error"};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        snprintf(arguments[count++], sizeof arguments[0], "%s", wanted[i]);
    }
    if (sim_planned.is_stored) {
        snprintf(arguments[count++], sizeof arguments[0], "--store");
        snprintf(arguments[count++], sizeof arguments[0], "%s", store);
        snprintf(arguments[count++], sizeof arguments[0], "--durability");
        snprintf(arguments[count++], sizeof arguments[0], "%s", durability);
    }
    for (int i = 0; i < count; i++) {
        list[i] = arguments[i];
    }
    list[count] = NULL;
    sim_model_begins();
    sim_trace("the gateway starts");
    return sim_gateway_run(count, list);
}

void sim_history(uint64_t seed, const char *dir)
{
    uint32_t starts = 0;
    sim_seed(seed);
    snprintf(store, sizeof store, "%s/store", dir);
    sim_disk_begin(dir);
    draw_plan();
    ends_ns = sim_now() + sim_planned.length_ns;
    sim_at(sim_now() + 200 * SIM_MS, next_action, NULL, 0);
    if (seed >= SIM_SEEDS_OF_KILLS && seed % 2 == 0) {
        sim_at(sim_now() + sim_between(0, SIM_S), kill_worker, NULL, 0);
    }
    sim_at(sim_now() + CHECK_MS * SIM_MS, look, NULL, 0);
    sim_at(ends_ns, next_phase, NULL, 0);
    while (phase != HISTORY_ENDS) {
        const int status = run_once();
        if (!sim_gateway_is_dead() && (is_told_to_end || status != 0)) {
            sim_trace("the gateway has ended with status %d", status);
            if (is_told_to_end) {
                sim_check_released(status);
            }
            sim_system_drop();
            sim_loop_drop();
            sim_web_drop();
            sim_model_ended();
            sim_ledger_excuse(NULL);
            sim_disk_kill();
            is_told_to_end = false;
        }
        SIM_CHECK(ALIVE, ++starts < STARTS_MAX, "the gateway ends again and again");
        if (phase != HISTORY_ENDS) {
            sim_run(never, sim_now() + sim_between(0, SIM_S));
        }
    }
    sim_told->simulated_ms = (sim_now() - 1000 * SIM_S) / SIM_MS;
}
