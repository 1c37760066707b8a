// Where a worker's tanks come together: jobs are begun when they are due, and turns.h says who goes on. Start at
// tarn_places_turn.
#include "server/worker/places.h"
#include "server/base/clock.h"
#include "server/base/log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

// ---- a place ----

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

/// Brings the brief of a place in which something has changed up to date.
static void place_note(tarn_place *place)
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
    place_note(place);
}

/// The place of a tank that isn't ending.
static tarn_place *find(tarn_places *places, uint32_t id)
{
    for (int i = 0; i < places->count; i++) {
        if (places->briefs[i].id == id && id != 0 && !places->of[i].is_ending) {
            return &places->of[i];
        }
    }
    return NULL;
}

/// A place for one more tank. @return NULL: as many are there as fit, or end
static tarn_place *find_free(tarn_places *places)
{
    int free = -1;
    uint32_t count = 0;
    for (int i = 0; i < places->count; i++) {
        const bool is_free = places->briefs[i].id == 0;
        count += !is_free && !places->of[i].is_ending;
        if (free < 0 && is_free) {
            free = i;
        }
    }
    free = free < 0 ? places->count : free;
    if (free == TARN_WORKER_PLACES_MAX || count >= places->tanks_max) {
        return NULL;
    }
    places->of[free].places = places; // nobody had it yet, where it is the last
    places->of[free].tank.slot = (uint32_t)free;
    return &places->of[free];
}

// ---- messages ----
// Messages are handed to the tank that they are for; what needs the device waits for its next job. Start at
// tarn_places_message.

/// Opens a place for one more tank. @return NULL: there is none, which is said
static tarn_place *open_place(tarn_places *places, uint32_t id, uint32_t viewer_id, uint32_t sequence)
{
    tarn_text why;
    tarn_place *place = find_free(places);
    if (place != NULL && tarn_job_open(&place->job, &places->jobs) == TARN_OK) {
        place->tank.id = id;
        place_note(place);
        return place;
    }
    if (place == NULL) {
        snprintf(why, sizeof why, "this worker has %u tanks already; no more fit", places->tanks_max);
    } else {
        snprintf(why, sizeof why, "out of memory: there is no thread for another tank");
    }
    tarn_worker_link_refuse(places->link, id, viewer_id, sequence, TARN_ERROR_SESSION, why);
    return NULL;
}

/// Takes the black box that came along with a message. A tank keeps the one that it has. @param place  NULL: nobody's
static void take_box(tarn_places *places, tarn_place *place, int box)
{
    const int fd = box > 0 ? tarn_worker_link_take_fd(places->link) : -1;
    if (fd >= 0 && place != NULL && place->tank.box_fd <= 0) {
        place->tank.box_fd = fd;
    } else if (fd >= 0) {
        close(fd);
    }
}

static void load(tarn_places *places, uint32_t id, const tarn_ipc_load *message)
{
    tarn_place *place = find(places, id);
    if (place == NULL) {
        place = open_place(places, id, message->viewer_id, message->sequence);
    }
    if (place != NULL && place->tank.next_box_fd > 0) { // which this load takes the place of
        close(place->tank.next_box_fd);
        place->tank.next_box_fd = 0;
    }
    if (place != NULL && message->resumes >= TARN_IPC_RESUMES_BOX && message->box > 0) {
        const int fd = tarn_worker_link_take_fd(places->link);
        place->tank.next_box_fd = fd > 0 ? fd : 0;
    } else {
        take_box(places, place, message->box);
    }
    if (place == NULL) {
        return;
    }
    if (place->load_asked) { // which this one takes the place of
        tarn_input_state_note(&place->tank.inputs, place->load.viewer_id, place->load.sequence);
    }
    place->load = *message;
    place->load_asked = true;
    place->reset_asked = place->is_restored = false;
}

/// Makes a tank for a state that will come.
static void restore(tarn_places *places, uint32_t id, const tarn_ipc_restore *message)
{
    if (id == 0 || find(places, id) != NULL) {
        take_box(places, NULL, message->box);
        tarn_worker_link_refuse(places->link, id, 0, 0, TARN_ERROR_SCENE, "this worker has the tank already");
        return;
    }
    tarn_place *place = open_place(places, id, 0, 0);
    take_box(places, place, message->box);
    if (place != NULL) {
        _Static_assert(sizeof place->load.scene == sizeof message->scene, "a scene is a scene");
        memcpy(place->load.scene, message->scene, sizeof message->scene);
        place->load_asked = place->is_restored = true;
        place->restore_save = message->save;
    }
}

/// The tank is to tell itself. @param place  NULL: nobody's
static void tell_scene(tarn_places *places, tarn_place *place, const tarn_ipc_scene_wanted *wanted)
{
    const int fd = wanted->box > 0 ? tarn_worker_link_take_fd(places->link) : 0;
    if (place != NULL) {
        tarn_worker_telling_ask(&place->tank, wanted, fd > 0 ? fd : 0);
    } else if (fd > 0) {
        close(fd);
    }
}

/// A piece of what is played back. @param place  NULL: nobody's
static void replay(tarn_places *places, tarn_place *place, const tarn_ipc_replay *piece)
{
    const int fd = piece->box > 0 ? tarn_worker_link_take_fd(places->link) : 0;
    if (place != NULL) {
        tarn_worker_replay_piece(&place->tank, piece, fd > 0 ? fd : 0);
    } else if (fd > 0) {
        close(fd);
    }
}

/// Says why a state that came can't be taken: its tank ends, which is of no use without it.
static void place_refuse_state(tarn_place *place, const char *why)
{
    tarn_worker_link_refuse(place->places->link, place->tank.id, 0, 0, TARN_ERROR_SCENE, why);
    place->is_ending = true;
}

/// A piece of a state that is to come. While a job is in progress none is.
static void on_piece(tarn_place *place, const tarn_ipc_message *message)
{
    tarn_text why = "the tank waits for no state";
    tarn_status status = TARN_E_STATE;
    if (!place->job.in_progress && place->tank.tank != NULL) {
        status = message->kind == TARN_IPC_STATE_HEAD
                     ? tarn_worker_move_head(&place->tank, &message->state_head, why)
                     : tarn_worker_move_chunk(&place->tank, &message->state_chunk, why);
    }
    if (status != TARN_OK) {
        place_refuse_state(place, why);
    }
}

/// Nothing came of its move.
static void go_on(tarn_place *place)
{
    place->save_asked = false;
    place->go_on_asked = place->job.in_progress;
    if (!place->job.in_progress) {
        tarn_worker_move_end(&place->tank);
    }
}

static void reset(tarn_place *place, const tarn_ipc_reset *message)
{
    if (tarn_input_state_has(&place->tank.inputs, message->viewer_id, message->sequence)) {
        return;
    }
    place->reset = *message;
    place->reset_asked = true;
    // What is pressed from now on is pressed in the tank as it will be, and so is a step made.
    tarn_input_state_release(&place->tank.inputs);
    place->tank.steps_asked = 0;
    tarn_input_state_note(&place->tank.inputs, message->viewer_id, message->sequence);
}

static void control(tarn_place *place, const tarn_ipc_control *message, uint64_t now_ns)
{
    if (tarn_input_state_has(&place->tank.inputs, message->viewer_id, message->sequence)) {
        return;
    }
    if (message->action == TARN_CONTROL_PAUSE || message->action == TARN_CONTROL_RESUME) { // also of one being made
        place->load.paused = place->loading.paused = message->action == TARN_CONTROL_PAUSE;
    }
    tarn_text why;
    const tarn_status status = tarn_worker_tank_control(&place->tank, message, now_ns, why);
    if (status != TARN_OK) {
        tarn_worker_link_refuse(place->places->link, place->tank.id, message->viewer_id, message->sequence,
                                status == TARN_E_LIMIT ? TARN_ERROR_LIMIT : TARN_ERROR_INPUT, why);
    }
}

/// Whether an input would be lost: what is done to a tank that another is about to take the place of. Moves may be.
static bool comes_too_late(const tarn_place *place, const tarn_input *input)
{
    const bool is_made = place->load_asked || (place->job.in_progress && place->task == TARN_PLACE_LOADS);
    const bool is_act = (input->kind == TARN_INPUT_POINTER && input->pointer.phase == TARN_PHASE_DOWN) ||
                        input->kind == TARN_INPUT_PARAMETER;
    return is_made && is_act;
}

static void input(tarn_place *place, const tarn_ipc_input *forwarded)
{
    tarn_worker_link *link = place->places->link;
    tarn_message message;
    tarn_text why = "";
    uint32_t sequence = 0;
    tarn_status status = tarn_message_read(forwarded->bytes, forwarded->byte_count, &message, &why);
    if (status == TARN_OK && message.kind != TARN_MESSAGE_INPUT) {
        return;
    }
    if (status == TARN_OK) {
        sequence = message.input.sequence;
        if (tarn_input_state_has(&place->tank.inputs, forwarded->viewer_id, sequence)) {
            return;
        }
    }
    const bool is_there = place->tank.tank != NULL;
    if (!is_there && place->load.resumes) {
        return; // its viewers have been told that it comes back
    }
    if (status == TARN_OK && !is_there) {
        snprintf(why, sizeof why, "the tank is being made; there is nothing to touch yet");
        status = TARN_E_STATE;
    } else if (status == TARN_OK && comes_too_late(place, &message.input)) {
        tarn_input_state_note(&place->tank.inputs, forwarded->viewer_id, sequence);
        snprintf(why, sizeof why, "the tank is being made anew; there is nothing to touch until it is there");
        status = TARN_E_STATE;
    } else if (status == TARN_OK) {
        status = tarn_worker_tank_input(&place->tank, forwarded->viewer_id, &message.input, why);
    }
    if (status != TARN_OK || tarn_worker_tank_size_remark(&place->tank, forwarded->viewer_id, &message.input, why)) {
        tarn_worker_link_refuse(link, place->tank.id, forwarded->viewer_id, sequence, TARN_ERROR_INPUT, why);
    }
}

static bool is_present(const tarn_ipc_present *message, uint32_t viewer_id)
{
    for (uint32_t i = 0; i < message->viewer_count; i++) {
        if (message->viewer_ids[i] == viewer_id) {
            return true;
        }
    }
    return false;
}

/// Whoever left while there was no worker holds nothing any more.
static void present(tarn_place *place, const tarn_ipc_present *message)
{
    tarn_input_state *inputs = &place->tank.inputs;
    for (int i = 0; i < TARN_INPUT_SOURCES_MAX; i++) {
        const uint32_t viewer_id = inputs->sources[i].viewer_id;
        if (viewer_id != 0 && !is_present(message, viewer_id)) {
            tarn_input_state_viewer_gone(inputs, viewer_id);
        }
    }
    for (int i = 0; i < TARN_INPUT_VIEWERS_MAX; i++) {
        const uint32_t viewer_id = inputs->viewers[i].viewer_id;
        if (viewer_id != 0 && !is_present(message, viewer_id)) {
            tarn_input_state_viewer_gone(inputs, viewer_id);
        }
    }
}

static void viewer_gone(tarn_worker_tank *tank, const tarn_ipc_viewer_gone *message)
{
    if (message->sequence == 0) {
        tarn_input_state_viewer_gone(&tank->inputs, message->viewer_id);
    } else if (!tarn_input_state_let_go(&tank->inputs, message->viewer_id, message->sequence)) {
        return; // it came again
    }
    tarn_input_motion_viewer_gone(&tank->motion, message->viewer_id);
}

/// Of a tank that is there, or being made.
static tarn_status tank_message(tarn_place *place, const tarn_ipc_message *message, uint64_t now_ns)
{
    switch (message->kind) {
    case TARN_IPC_RESET:
        reset(place, &message->reset);
        return TARN_OK;
    case TARN_IPC_SAVE:
        place->save = message->save;
        place->save_asked = true;
        return TARN_OK;
    case TARN_IPC_STATE_WANTED:
        tarn_worker_move_want(&place->tank, message->state_wanted.until);
        return TARN_OK;
    case TARN_IPC_GO_ON:
        go_on(place);
        return TARN_OK;
    case TARN_IPC_STATE_HEAD:
    case TARN_IPC_STATE_CHUNK:
        on_piece(place, message);
        return TARN_OK;
    case TARN_IPC_KEY_WANTED:
        tarn_frame_plan_ask(&place->tank.plan);
        return TARN_OK;
    case TARN_IPC_UNLOAD:
        place->is_ending = true;
        return TARN_OK;
    case TARN_IPC_CONTROL:
        control(place, &message->control, now_ns);
        return TARN_OK;
    case TARN_IPC_AUDIENCE:
        tarn_worker_tank_audience(&place->tank, &message->audience, now_ns);
        return TARN_OK;
    case TARN_IPC_INPUT:
        input(place, &message->input);
        return TARN_OK;
    case TARN_IPC_SPEED:
        tarn_worker_tank_set_speed(&place->tank, message->speed.speed, now_ns);
        return TARN_OK;
    case TARN_IPC_PROBES:
        tarn_worker_probes_ask(&place->tank, &message->probes);
        return TARN_OK;
    case TARN_IPC_PRESENT:
        present(place, &message->present);
        return TARN_OK;
    case TARN_IPC_VIEWER_GONE:
        viewer_gone(&place->tank, &message->viewer_gone);
        return TARN_OK;
    default:
        return TARN_E_UNKNOWN_KIND;
    }
}

tarn_status tarn_places_message(tarn_places *places, const tarn_ipc_message *message, uint64_t now_ns)
{
    tarn_status status = TARN_OK;
    if (message->kind == TARN_IPC_LOAD) {
        load(places, message->tank, &message->load);
    } else if (message->kind == TARN_IPC_RESTORE) {
        restore(places, message->tank, &message->restore);
    }
    // Messages for a tank whose scene was refused are not an error.
    tarn_place *place = find(places, message->tank);
    if (message->kind == TARN_IPC_REPLAY) {
        replay(places, place, &message->replay);
    } else if (message->kind == TARN_IPC_SCENE_WANTED) {
        tell_scene(places, place, &message->scene_wanted);
    } else if (place != NULL && message->kind != TARN_IPC_LOAD && message->kind != TARN_IPC_RESTORE) {
        status = tank_message(place, message, now_ns);
    }
    if (place != NULL) {
        place_note(place);
    }
    return status;
}

// ---- all of them ----

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

// ---- jobs ----

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
    place_note(place);
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
        place_refuse_state(place, place->why);
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
    place_note(place);
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
        place_note(place);
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
