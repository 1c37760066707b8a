// Messages are handed to the tank that they are for; what needs the device waits for its next job (places.c). Start at
// tarn_places_message.
#include "server/worker/place_inside.h"
#include "server/worker/worker_replay.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/// Opens a place for one more tank. @return NULL: there is none, which is said
static tarn_place *open_place(tarn_places *places, uint32_t id, uint32_t viewer_id, uint32_t sequence)
{
    tarn_text why;
    tarn_place *place = find_free(places);
    if (place != NULL && tarn_job_open(&place->job, &places->jobs) == TARN_OK) {
        place->tank.id = id;
        tarn_place_note(place);
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

void tarn_place_refuse_state(tarn_place *place, const char *why)
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
        tarn_place_refuse_state(place, why);
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
        tarn_place_note(place);
    }
    return status;
}
