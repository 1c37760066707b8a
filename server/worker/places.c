// Where a worker's tanks come together: jobs are begun when they are due, and turns.h says who goes on. Start at
// tarn_places_turn.
#include "server/common/clock.h"
#include "server/common/log.h"
#include "server/worker/place_inside.h"

#include <stdio.h>
#include <string.h>

static bool is_taken(const tarn_place *place)
{
    return place->tank.id != 0;
}

static int number_of(const tarn_place *place)
{
    return (int)(place - place->places->of);
}

/// When a tank without a job next has something to do.
static uint64_t due_ns(const tarn_place *place)
{
    const bool is_asked = place->is_ending || place->load_asked || place->reset_asked || place->save_asked ||
                          tarn_worker_move_is_whole(&place->tank) || tarn_worker_telling_is_due(&place->tank);
    return is_asked ? 0 : tarn_worker_tank_due_ns(&place->tank);
}

void tarn_place_note(tarn_place *place)
{
    tarn_places *places = place->places;
    const int number = number_of(place);
    tarn_place_brief *brief = &places->briefs[number];
    const bool is_idle = is_taken(place) && !place->job.in_progress;
    brief->id = place->tank.id;
    brief->is_moving = place->tank.handover.phase != TARN_HANDOVER_NONE;
    brief->due_ns = is_idle ? due_ns(place) : UINT64_MAX;
    brief->tell_ns = !is_idle ? UINT64_MAX : place->is_ending ? 0 : tarn_worker_tank_tell_ns(&place->tank);
    brief->late_ns = is_taken(place) ? tarn_worker_tank_late_ns(&place->tank) : UINT64_MAX;
    if (is_taken(place) && number >= places->count) {
        places->count = number + 1;
    }
    while (places->count > 0 && places->briefs[places->count - 1].id == 0) {
        places->count--;
    }
}

/// The tank is gone: its place is anybody's.
static void empty(tarn_place *place)
{
    tarn_places *places = place->places;
    const uint32_t slot = place->tank.slot;
    tarn_worker_link_frame_drop(places->link, slot);
    tarn_worker_tank_free(&place->tank);
    tarn_job_close(&place->job);
    tarn_turns_forget(&places->turns, number_of(place));
    memset(place, 0, sizeof *place);
    place->places = places;
    place->tank.slot = slot;
    tarn_place_note(place);
}

static tarn_lane_next next_in_lane;

tarn_status tarn_places_open(tarn_places *places, tarn_device *device, tarn_worker_link *link,
                             const tarn_worker_options *options, const char *scenes_dir, bool (*is_wanted)(void *user),
                             void *user)
{
    const tarn_status status = tarn_jobs_open(&places->jobs, is_wanted, user);
    if (status != TARN_OK) {
        return status;
    }
    places->device = device;
    places->link = link;
    places->options = options;
    places->scenes_dir = scenes_dir;
    places->tanks_max = TARN_WORKER_TANKS_MAX;
    places->alone_ns_max = TARN_WORKER_ALONE_US * (uint64_t)1000;
    places->lane_count = tarn_device_lanes(device);
    if (places->lane_count > 1 &&
        tarn_jobs_open_lanes(&places->jobs, device, places->lane_count, next_in_lane, places) != TARN_OK) {
        tarn_jobs_close(&places->jobs);
        return TARN_E_MEMORY;
    }
    const tarn_yield yield = tarn_jobs_yield(&places->jobs);
    tarn_device_set_yield(device, &yield);
    return TARN_OK;
}

bool tarn_places_close(tarn_places *places)
{
    bool all = true;
    for (int i = places->count - 1; i >= 0; i--) {
        tarn_place *place = &places->of[i];
        if (place->job.in_progress) {
            all = false;
        } else if (is_taken(place)) {
            empty(place);
        }
    }
    if (all) {
        tarn_device_set_yield(places->device, NULL);
        tarn_jobs_close(&places->jobs);
    }
    return all;
}

// ---------------------------------------------------------------------------------------------------------------- jobs

static void run_load(void *context)
{
    tarn_place *place = context;
    tarn_places *places = place->places;
    place->why[0] = 0;
    place->status = tarn_worker_tank_load(&place->tank, places->device, places->scenes_dir, places->options,
                                          &place->loading, &places->jobs, place->why);
}

static void run_reset(void *context)
{
    tarn_place *place = context;
    place->status = tarn_worker_tank_reset(&place->tank, &place->reset);
}

static void run_save(void *context)
{
    tarn_place *place = context;
    place->status = tarn_worker_move_save(&place->tank, place->save.save);
}

static void run_restore(void *context)
{
    tarn_place *place = context;
    place->status = tarn_worker_move_load(&place->tank, place->why);
}

static void run_tell(void *context)
{
    tarn_place *place = context;
    place->status = tarn_worker_telling_make(&place->tank, &place->places->jobs, &place->job);
}

static void run_step(void *context)
{
    tarn_place *place = context;
    place->status = tarn_worker_tank_run(&place->tank, place->places->link, &place->places->jobs);
}

/// Whether another tank is late.
static bool is_crowded(const tarn_place *place, uint64_t now_ns)
{
    const tarn_places *places = place->places;
    for (int i = 0; i < places->count; i++) {
        if (i != number_of(place) && places->briefs[i].late_ns < now_ns) {
            return true;
        }
    }
    return false;
}

/// What a step may take, by the tank's particles: of one core, or of the GPU.
static uint64_t guess_ns(const tarn_place *place)
{
    tarn_tank_report report;
    tarn_tank_report_light(place->tank.tank, &report);
    return (uint64_t)report.particle_count *
           (place->places->lane_count > 0 ? TARN_WORKER_PARTICLE_NS : TARN_WORKER_PARTICLE_GPU_NS);
}

/// The same of all of the device.
static uint64_t guess_cost_ns(const tarn_place *place)
{
    const uint64_t lanes = place->places->lane_count;
    return guess_ns(place) / (lanes > 0 ? lanes : 1);
}

/// Whether a job that begins is so short that it does best by itself, and is in nobody's way until its end.
static bool is_short(const tarn_place *place)
{
    const tarn_places *places = place->places;
    const uint64_t most_ns =
        tarn_turns_is_shared(&places->turns) ? places->alone_ns_max : TARN_WORKER_ALONE_ONLY_US * (uint64_t)1000;
    return place->task == TARN_PLACE_RUNS && places->lane_count > 1 && place->alone_ns <= most_ns &&
           guess_ns(place) <= most_ns;
}

/// What a step takes alone is the most of late; while it isn't alone that is forgotten, and tried again.
static void note_alone(tarn_place *place, uint64_t used_ns)
{
    place->alone_ns = used_ns >= place->alone_ns ? used_ns : place->alone_ns - (place->alone_ns - used_ns) / 8;
}

/// Begins what is due. The newest of each kind counts, and a tank that is made anew needs no reset.
static void begin(tarn_place *place, uint64_t now_ns)
{
    tarn_places *places = place->places;
    void (*run)(void *) = run_step;
    uint64_t since_ns = now_ns;
    place->task = TARN_PLACE_RUNS;
    if (place->load_asked) {
        place->task = TARN_PLACE_LOADS;
        place->loading = place->load;
        place->load_asked = false;
        run = run_load;
    } else if (place->reset_asked) {
        place->task = TARN_PLACE_RESETS;
        place->reset_asked = false;
        run = run_reset;
        tarn_worker_link_frame_drop(places->link, place->tank.slot);
    } else if (place->save_asked) {
        place->task = TARN_PLACE_SAVES;
        place->save_asked = false;
        run = run_save;
    } else if (tarn_worker_move_is_whole(&place->tank)) {
        place->task = TARN_PLACE_RESTORES;
        run = run_restore;
    } else if (tarn_worker_telling_is_due(&place->tank)) {
        place->task = TARN_PLACE_TELLS;
        run = run_tell;
    } else {
        since_ns = tarn_worker_tank_due_ns(&place->tank);
        place->tank.is_crowded = is_crowded(place, now_ns);
    }
    tarn_turns_begin(&places->turns, number_of(place), since_ns, place->task == TARN_PLACE_RUNS, now_ns);
    tarn_job_start(&place->job, run, place);
    place->goes_alone = is_short(place);
    tarn_place_note(place);
}

/// What comes of a job that has ended. @return TARN_OK or TARN_E_DEVICE
static tarn_status settle(tarn_place *place)
{
    tarn_places *places = place->places;
    tarn_worker_tank *tank = &place->tank;
    // The first step is the first that touches the tank's memory, and not like the others.
    tarn_turns_end(&places->turns, number_of(place), place->task == TARN_PLACE_RUNS && !place->is_new);
    place->is_new = place->is_new && place->task != TARN_PLACE_RUNS;
    if (place->go_on_asked) {
        place->go_on_asked = false;
        tarn_worker_move_end(tank);
    }
    if (place->status == TARN_E_MEMORY && tarn_device_error(places->device)[0] != '\0') {
        place->status = TARN_E_DEVICE; // one that failed gives no memory either
    }
    if (place->task == TARN_PLACE_RESTORES && place->status != TARN_OK && place->status != TARN_E_DEVICE) {
        tarn_place_refuse_state(place, place->why);
        return TARN_OK;
    }
    if (place->task != TARN_PLACE_LOADS || place->status == TARN_E_DEVICE) {
        return place->status;
    }
    if (place->status == TARN_OK) {
        if (place->is_restored) {
            place->is_restored = false;
            tarn_worker_move_wait(tank, place->restore_save);
            return TARN_OK;
        }
        tarn_turns_expect(&places->turns, number_of(place), guess_cost_ns(place));
        tank->cost_s = (float)((double)guess_cost_ns(place) * 1e-9);
        place->alone_ns = 0;
        place->is_new = true;
        tarn_worker_move_end(tank); // which was another tank's
        tarn_worker_link_frame_drop(places->link, tank->slot);
        tarn_log_of(TARN_LOG_INFO, (tarn_log_subject){.tank = tank->id}, "tank %u: scene %s, epoch %u", tank->id,
                    tank->scene.name, tank->epoch);
        return TARN_OK;
    }
    const bool is_gone = tank->tank == NULL && !place->load_asked;
    tarn_worker_link_refuse(places->link, tank->id, place->loading.viewer_id, place->loading.sequence,
                            is_gone ? TARN_ERROR_SESSION : TARN_ERROR_SCENE, place->why);
    if (is_gone) {
        empty(place);
    }
    return TARN_OK;
}

/// A job has ended. @return TARN_OK or TARN_E_DEVICE
static tarn_status end(tarn_place *place)
{
    const tarn_status status = settle(place);
    tarn_place_note(place);
    return status;
}

void tarn_places_tell(tarn_places *places, uint64_t now_ns)
{
    for (int i = 0; i < places->count; i++) {
        tarn_place *place = &places->of[i];
        if (places->briefs[i].tell_ns > now_ns) {
            continue;
        }
        if (place->is_ending) {
            tarn_log_of(TARN_LOG_DEBUG, (tarn_log_subject){.tank = place->tank.id}, "tank %u: its place is free",
                        place->tank.id);
            empty(place);
        } else if (place->tank.tank != NULL) {
            const tarn_handover_phase phase = place->tank.handover.phase;
            if (phase == TARN_HANDOVER_NONE || phase == TARN_HANDOVER_GIVES) {
                tarn_worker_tank_settle(&place->tank, now_ns);
                tarn_worker_tank_tell(&place->tank, places->link, now_ns);
            }
            tarn_worker_move_tell(&place->tank, places->link);
        }
        tarn_place_note(place);
    }
}

bool tarn_places_are_moving(const tarn_places *places)
{
    bool are_moving = false;
    for (int i = 0; i < places->count; i++) {
        are_moving |= places->briefs[i].is_moving;
    }
    return are_moving;
}

uint64_t tarn_places_due_ns(const tarn_places *places, uint64_t now_ns)
{
    uint64_t first_ns = UINT64_MAX;
    for (int i = 0; i < places->count; i++) {
        const tarn_turn *turn = &places->turns.of[i];
        uint64_t due = places->briefs[i].due_ns;
        if (turn->is_begun && turn->is_waiting) {
            const uint64_t poll_us = tarn_job_is_away(&places->of[i].job) ? TARN_WORKER_AWAY_US : TARN_WORKER_POLL_US;
            due = now_ns + poll_us * 1000;
        } else if (turn->is_begun) {
            due = turn->is_alone ? UINT64_MAX : 0;
        } else if (places->briefs[i].is_moving && tarn_worker_move_is_due(&places->of[i].tank, places->link)) {
            return 0;
        }
        first_ns = due < first_ns ? due : first_ns;
    }
    return places->awaits_lane ? UINT64_MAX : first_ns;
}

/// Whether a job is in progress that goes on only while nobody is in a lane.
static bool is_large_begun(const tarn_places *places)
{
    for (int i = 0; i < places->count; i++) {
        const tarn_turn *turn = &places->turns.of[i];
        if (turn->is_begun && !turn->is_waiting && !places->of[i].goes_alone) {
            return true;
        }
    }
    return false;
}

/// Begins the jobs that are due. Beside one that needs all of the device the others begin together now and then: each
/// change from it to lanes and back leaves threads with nothing to do. @return when the next one will be
static uint64_t begin_due(tarn_places *places, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    const bool are_together = places->lane_count > 1 && is_large_begun(places);
    const uint64_t from_ns = are_together ? places->together_ns : 0;
    for (int i = 0; i < places->count; i++) {
        uint64_t due = places->briefs[i].due_ns;
        if (places->turns.of[i].is_begun || (due == 0 && places->of[i].is_ending)) {
            continue;
        }
        tarn_turns_set_work(&places->turns, i, due != UINT64_MAX);
        due = due < from_ns ? from_ns : due;
        if (due <= now_ns) {
            begin(&places->of[i], now_ns);
            places->together_ns = now_ns + tarn_turns_together_ns(&places->turns);
        } else if (due < next_ns) {
            next_ns = due;
        }
    }
    return next_ns;
}

/// Is to run by itself, in a lane that is free.
static void take_lane(tarn_place *place, uint32_t lane)
{
    tarn_places *places = place->places;
    place->lane = lane;
    places->lanes[lane] = true;
    places->lanes_taken++;
    tarn_turns_leave_alone(&places->turns, number_of(place));
}

static uint32_t free_lane(const tarn_places *places)
{
    uint32_t lane = 0;
    while (places->lanes[lane]) {
        lane++;
    }
    return lane;
}

/// Of those that run by themselves, those that have come to their end. @return TARN_OK or TARN_E_DEVICE
static tarn_status end_alone(tarn_places *places, uint64_t now_ns)
{
    tarn_status status = TARN_OK;
    for (int i = 0; i < places->count && places->lanes_taken > 0; i++) {
        uint64_t used_ns;
        tarn_place *place = &places->of[i];
        if (!places->turns.of[i].is_alone || !tarn_job_is_done(&place->job, &used_ns)) {
            continue;
        }
        places->lanes[place->lane] = false;
        places->lanes_taken--;
        note_alone(place, place->is_new ? 0 : used_ns);
        used_ns /= places->lane_count; // of the worker's time, of which it had one lane
        place->tank.cost_ns += used_ns;
        tarn_turns_use(&places->turns, i, used_ns, false, now_ns);
        const tarn_status ended = end(place);
        status = ended != TARN_OK ? ended : status;
    }
    return status;
}

/// Whose turn it is. @return -1: nobody's
static int pick(tarn_places *places, uint64_t now_ns)
{
    int picked = tarn_turns_pick(&places->turns);
    // Those that wait are asked when nobody else has anything to do, and now and then beside those that have.
    if (picked < 0 || now_ns >= places->wake_ns) {
        tarn_turns_wake(&places->turns);
        places->wake_ns = now_ns + TARN_WORKER_SLICE_MS * (uint64_t)1000000;
        picked = tarn_turns_pick(&places->turns);
    }
    // Who is away needs no lane to become free.
    while (picked >= 0 && places->lanes_taken > 0 && tarn_job_is_away(&places->of[picked].job)) {
        tarn_turns_use(&places->turns, picked, 0, true, now_ns);
        picked = tarn_turns_pick(&places->turns);
    }
    return picked;
}

/// What goes on in a lane whose job has ended: what the scheduler would do, in the lane's thread.
static tarn_job *next_in_lane(void *user, uint32_t lane, bool *tells)
{
    tarn_places *places = user;
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    const tarn_status status = end_alone(places, now_ns);
    if (status != TARN_OK) {
        places->failed = status;
    }
    if (places->failed != TARN_OK) {
        return NULL;
    }
    tarn_places_tell(places, now_ns);
    begin_due(places, now_ns);
    const int picked = pick(places, now_ns);
    if (picked < 0 || !places->of[picked].goes_alone) {
        return NULL;
    }
    take_lane(&places->of[picked], lane);
    // Who finds a free lane, and when, the scheduler says.
    *tells = places->lanes_taken < places->lane_count || tarn_worker_link_waiting(places->link);
    return &places->of[picked].job;
}

tarn_status tarn_places_turn(tarn_places *places)
{
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    const tarn_status status = places->failed != TARN_OK ? places->failed : end_alone(places, now_ns);
    if (status != TARN_OK) {
        return status;
    }
    const uint64_t next_ns = begin_due(places, now_ns);
    int picked = pick(places, now_ns);
    places->awaits_lane = false;
    for (; picked >= 0 && places->of[picked].goes_alone; picked = pick(places, now_ns)) {
        if (places->lanes_taken == places->lane_count) {
            places->awaits_lane = true;
            return TARN_OK;
        }
        take_lane(&places->of[picked], free_lane(places));
        tarn_job_go_alone(&places->of[picked].job, places->of[picked].lane);
    }
    if (picked < 0) {
        return TARN_OK;
    }
    if (places->lanes_taken > 0) { // it needs all of the device
        places->awaits_lane = true;
        return TARN_OK;
    }
    tarn_place *place = &places->of[picked];
    const uint64_t slice_ns = tarn_turns_slice_ns(&places->turns, picked);
    const bool is_alone = slice_ns == UINT64_MAX;
    const uint64_t until_ns = is_alone || next_ns < now_ns + slice_ns ? next_ns : now_ns + slice_ns;
    tarn_black_box_stand(&place->tank.snapshot.box, false);
    const uint64_t used_ns = tarn_job_resume(&place->job, until_ns, !is_alone);
    // A GPU goes on with what it was given, and fails by it in whoever's turn.
    tarn_black_box_stand(&place->tank.snapshot.box, place->job.in_progress && places->lane_count > 0);
    place->tank.cost_ns += place->task == TARN_PLACE_RUNS ? used_ns : 0;
    tarn_turns_use(&places->turns, picked, used_ns, place->job.in_progress && place->job.is_waiting,
                   tarn_clock_monotonic_ns());
    if (place->job.in_progress) {
        return TARN_OK;
    }
    note_alone(place, 0);
    return end(place);
}
