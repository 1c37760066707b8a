// Between viewers and tanks: who is there, what they ask for, what their worker says and shows. Begin at
// tarn_session_join for viewers, at tarn_session_worker_message for workers.
#include "server/gateway/session/session.h"
#include "protocol/assert.h"
#include "protocol/channel.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/gateway/session/box.h"
#include "server/gateway/session/making.h"
#include "server/gateway/session/post.h"
#include "server/gateway/session/probes.h"
#include "server/gateway/session/uploads.h"
#include "server/gateway/store/store.h"
#include "server/gateway/viewer/viewer.h"
#include "server/gateway/worker/placement.h"
#include "server/gateway/worker/queue.h"
#include "server/log/black_box.h"
#include "server/log/follow.h"
#include "server/net/addresses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

// ---- key frames ----
// When a session's viewers need one, which all of them get.

/// Whether a viewer that gets only some of the stream is due a key frame: what it goes on with, or what draws its
/// layers anew and lets it have more.
static bool is_due_key(const tarn_session *session, const tarn_viewer *viewer, uint64_t age_ns)
{
    const tarn_viewer_rate *rate = &viewer->rate;
    const uint64_t due_ms = viewer->is_preview ? TARN_GATEWAY_KEY_GLIMPSE_MS : TARN_GATEWAY_KEY_PART_MS;
    return viewer->reference > 0 && (rate->keys_only || rate->layers < rate->layer_count) &&
           viewer->flight.count < tarn_viewer_rate_in_flight_max(rate) && age_ns >= due_ms * 1000000 &&
           session->fanout.serial - viewer->key_serial >= TARN_GATEWAY_KEY_PART_FRAMES;
}

/// Whether a key frame is to be asked for on behalf of a viewer: at once for whoever has just come; for whoever fell
/// behind, looks again or can't decode what it gets once it takes frames, and not so often that the others notice.
static bool needs_key(const tarn_session *session, const tarn_viewer *viewer, uint64_t now_ns)
{
    if (viewer->phase != TARN_VIEWER_JOINED || viewer->view.hidden) {
        return false;
    }
    const uint64_t age_ns = now_ns - session->key_ns;
    if (is_due_key(session, viewer, age_ns)) {
        return true;
    }
    if (viewer->wants_key) {
        return age_ns >= TARN_GATEWAY_KEY_AGE_MS_MIN * (uint64_t)1000000;
    }
    if ((viewer->rate.keys_only && viewer->reference > 0) ||
        !tarn_fanout_is_lost(&session->fanout, viewer->reference, viewer->frame_serial)) {
        return false;
    }
    return viewer->frame_serial == 0 ||
           (viewer->flight.count == 0 && age_ns >= TARN_GATEWAY_KEY_AGE_MS_MIN * (uint64_t)1000000);
}

void tarn_session_ask_for_key(tarn_session *session)
{
    const uint64_t now_ns = tarn_clock_monotonic_ns(), again_ns = TARN_GATEWAY_KEY_ASK_MS * (uint64_t)1000000;
    bool is_needed = false;
    if (session->key_asked_ns && now_ns - session->key_asked_ns < again_ns) {
        return;
    }
    for (uint32_t i = 0; i < session->viewer_count && !is_needed; i++) {
        is_needed = needs_key(session, session->viewers[i], now_ns);
    }
    if (!is_needed) {
        return;
    }
    const tarn_ipc_message message = {.kind = TARN_IPC_KEY_WANTED, .tank = session->id};
    const tarn_worker_queue_key key = {.kind = TARN_IPC_KEY_WANTED, .index = session->id & TARN_SESSION_PLACE_MASK};
    if (tarn_session_post(session, &message, key, true) != TARN_OK) {
        return; // the next tick asks again
    }
    session->key_asked_ns = now_ns;
    session->all->metrics->keys_asked_total++;
}

// ---- what frames carry ----
// What one viewer asks for against what the others do.

static bool has_channel(const tarn_session_state *state, const tarn_view *view)
{
    for (uint32_t i = 0; i < state->channel_count; i++) {
        if (strcmp(state->channels[i].name, view->channel) == 0) {
            return tarn_channel_is_carried(view->channel);
        }
    }
    return false;
}

static bool has_field(const tarn_session_state *state, const tarn_view *view)
{
    for (uint32_t i = 0; i < state->field_count; i++) {
        if (strcmp(state->fields[i].name, view->field) == 0) {
            return true;
        }
    }
    return false;
}

/// As now while anybody asks for it, else what whoever joined first asks for.
/// @param wanted  receives their names; empty: none
static void fill_carried(const tarn_session *session, tarn_ipc_audience *wanted)
{
    wanted->channel[0] = wanted->field[0] = 0;
    wanted->readings = tarn_session_probes_are_watched(session);
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        const tarn_view *view = &session->viewers[i]->view;
        const bool looks = !view->hidden;
        if (looks && has_channel(&session->state, view) &&
            (wanted->channel[0] == 0 || strcmp(view->channel, session->carried_told.channel) == 0)) {
            memcpy(wanted->channel, view->channel, sizeof wanted->channel);
        }
        if (looks && has_field(&session->state, view) &&
            (wanted->field[0] == 0 || strcmp(view->field, session->carried_told.field) == 0)) {
            memcpy(wanted->field, view->field, sizeof wanted->field);
        }
    }
}

// ---- one box in the place of another ----

/// The worker has gone on from the box that was on its way, which is the session's from now on, or from the session's
/// own: the store gets it.
static void past_arrives(tarn_session *session)
{
    tarn_session_past *past = &session->past;
    if (past->box_fd > 0) {
        tarn_session_box_close(&session->box_fd);
        session->box_fd = past->box_fd;
        session->kept_fd = 0; // its number may be the old one's
        past->box_fd = 0;
        past->replay = (tarn_session_replay){.stretch = past->replay.next};
    }
    past->is_filled = false;
    tarn_session_keep(session);
}

/// The worker hasn't: the tank stays with the box that it has.
static void past_stays(tarn_session *session)
{
    tarn_session_box_close(&session->past.box_fd);
}

// ---- the time between an input and its frame ----
// When an input came is noted where it is received (viewer/receive.c), when it acted in the frame itself.

void tarn_session_stage(tarn_session *session, tarn_stage stage, double seconds)
{
    tarn_stages_note(&session->stages, stage, seconds);
    tarn_stages_note(&session->all->metrics->stages, stage, seconds);
}

/// A frame contains a viewer's inputs up to a number.
static void note_input(tarn_session *session, tarn_viewer *viewer, uint32_t sequence)
{
    for (int i = 0; i < TARN_GATEWAY_INPUTS_TIMED_MAX; i++) {
        if (viewer->timed[i].sequence == 0 || viewer->timed[i].sequence > sequence) {
            continue;
        }
        const uint64_t arrived_ns = viewer->timed[i].arrived_ns;
        tarn_latency_note(&session->counts.latency, (double)(session->taken_ns - arrived_ns) * 1e-9);
        tarn_latency_note(&session->all->metrics->latency, (double)(session->taken_ns - arrived_ns) * 1e-9);
        tarn_session_stage(session, TARN_STAGE_WAIT, (double)(int64_t)(session->stamps.latched_ns - arrived_ns) * 1e-9);
        viewer->timed[i].sequence = 0;
    }
}

/// A frame has come, which contains these inputs.
static void note_latency(tarn_session *session, const tarn_fanout_inputs *inputs)
{
    const uint64_t now_ns = session->taken_ns;
    tarn_stages_frame(&session->stages, &session->stamps, now_ns);
    tarn_stages_frame(&session->all->metrics->stages, &session->stamps, now_ns);
    for (uint32_t i = 0; i < inputs->count; i++) {
        const tarn_frame_input input = inputs->inputs[i];
        for (uint32_t v = 0; v < session->viewer_count; v++) {
            if (session->viewers[v]->id == input.viewer_id) {
                note_input(session, session->viewers[v], input.sequence);
            }
        }
    }
}

// ---- what its worker and its viewers are told ----

/// The session that a worker has the tank of; NULL: there is none, or another worker has it.
static tarn_session *session_of_tank(tarn_sessions *all, const tarn_worker_process *worker, uint32_t tank)
{
    uint32_t place = tank & TARN_SESSION_PLACE_MASK;
    if (tank == 0 || place >= TARN_GATEWAY_SESSIONS_MAX) {
        return NULL;
    }
    tarn_session *session = &all->sessions[place];
    return session->id == tank && session->worker == worker ? session : NULL;
}

static bool is_served(const tarn_session *session)
{
    return session->worker != NULL && tarn_worker_process_is_ready(session->worker);
}

/// Where the gateway's own messages find no place the worker hangs, which its pings will show.
static tarn_status tell_worker(const tarn_session *session, const tarn_ipc_message *message, uint32_t viewer_id)
{
    tarn_worker_queue_key key = {.viewer_id = viewer_id, .kind = (uint16_t)message->kind};
    return tarn_session_post(session, message, key, false);
}

static void too_fast(tarn_viewer *viewer)
{
    tarn_viewer_fail(viewer, TARN_ERROR_LIMIT, "inputs come faster than the simulation takes them");
}

static void tell_error(tarn_session *session, tarn_error_code code, const char *sentence)
{
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        tarn_viewer_error(session->viewers[i], code, sentence);
    }
}

/// Whether something need move for a viewer: it looks, and if only for a glimpse, it has seen nothing yet.
static bool is_audience(const tarn_viewer *viewer)
{
    return !viewer->view.hidden && (!viewer->is_preview || viewer->frame_serial == 0);
}

static uint32_t audience(const tarn_session *session)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        count += is_audience(session->viewers[i]);
    }
    return count;
}

static void note_audience(tarn_session *session)
{
    if (audience(session) == 0) {
        session->empty_since_ns = tarn_clock_monotonic_ns();
    }
}

static bool wants_others(const tarn_session *session)
{
    tarn_ipc_audience wanted;
    fill_carried(session, &wanted);
    return strcmp(session->carried_told.channel, wanted.channel) != 0 ||
           strcmp(session->carried_told.field, wanted.field) != 0 || session->carried_told.readings != wanted.readings;
}

static void send_audience(tarn_session *session, uint32_t count)
{
    tarn_ipc_message message = {.kind = TARN_IPC_AUDIENCE, .tank = session->id};
    TARN_ASSERT(session->id != 0 && count <= session->viewer_count);
    message.audience.viewer_count = count;
    fill_carried(session, &message.audience);
    const tarn_worker_queue_key key = {.kind = TARN_IPC_AUDIENCE, .index = session->id & TARN_SESSION_PLACE_MASK};
    const bool is_told = tarn_session_post(session, &message, key, true) == TARN_OK;
    session->audience_told = is_told ? count : UINT32_MAX; // what the tank has is nobody's guess: the tick tries again
    if (is_told) {
        session->carried_told = message.audience;
    }
}

tarn_status tarn_session_send_load(tarn_session *session, const tarn_ipc_load *load)
{
    tarn_ipc_message message = {.kind = TARN_IPC_LOAD, .tank = session->id, .load = *load};
    TARN_ASSERT(session->id != 0);
    message.load.epoch = session->epoch + 1;
    tarn_status status = tell_worker(session, &message, load->viewer_id);
    if (status == TARN_OK) {
        session->epoch++;
        session->pending = true;
        session->resumes = load->resumes == TARN_IPC_RESUMES || load->resumes == TARN_IPC_RESUMES_BOX;
    }
    return status;
}

// ---- viewers come and go ----

void tarn_session_view_changed(tarn_session *session)
{
    note_audience(session);
    if ((session->audience_told == 0 && audience(session) > 0) || wants_others(session)) {
        send_audience(session, audience(session));
    }
    tarn_session_ask_for_key(session);
}

tarn_session *tarn_session_find(tarn_sessions *all, const char *name)
{
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        tarn_session *session = &all->sessions[i];
        if (session->id && (name[0] == 0 || strcmp(session->name, name) == 0)) {
            return session;
        }
    }
    return NULL;
}

uint32_t tarn_session_people(const tarn_session *session)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        count += !session->viewers[i]->is_preview;
    }
    return count;
}

tarn_status tarn_session_join(tarn_session *session, tarn_viewer *viewer)
{
    if (session->viewer_count >= session->all->options->viewers_max) {
        return TARN_E_LIMIT;
    }
    if (!tarn_turn_allow(&session->join_due_ns, TARN_GATEWAY_JOIN_MS, TARN_GATEWAY_JOIN_BURST)) {
        return TARN_E_STATE;
    }
    TARN_ASSERT(viewer->session == NULL && viewer->id != 0); // in one session at most
    session->viewers[session->viewer_count++] = viewer;
    viewer->session = session;
    viewer->fanout = &session->fanout;
    session->viewers_changed = true;
    session->board.changed = true; // for the one who has just come
    session->all->metrics->viewers++;
    if (session->audience_told == 0 && audience(session) > 0) {
        send_audience(session, audience(session));
    }
    return TARN_OK;
}

/// @return 0: it has left
static uint32_t sequence_of(const tarn_session *session, uint32_t viewer_id)
{
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        if (session->viewers[i]->id == viewer_id) {
            return session->viewers[i]->sequence;
        }
    }
    return 0;
}

/// Those that find no place in the queue are told later: the worker keeps what a viewer holds until then.
static void tell_gone(tarn_session *session)
{
    while (session->gone_count > 0 && !tarn_session_comes_back(session)) {
        tarn_ipc_message message = {.kind = TARN_IPC_VIEWER_GONE, .tank = session->id};
        TARN_ASSERT(session->gone_count <= TARN_VIEWERS_MAX);
        message.viewer_gone.viewer_id = session->gone[session->gone_count - 1];
        // Of one who is there still, and was muted, the worker must know what it has.
        message.viewer_gone.sequence = sequence_of(session, message.viewer_gone.viewer_id);
        if (tell_worker(session, &message, 0) != TARN_OK) {
            return;
        }
        session->gone_count--;
    }
}

void tarn_session_leave(tarn_session *session, tarn_viewer *viewer)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        if (session->viewers[i] != viewer) {
            session->viewers[kept++] = session->viewers[i];
        }
    }
    if (kept == session->viewer_count) {
        return;
    }
    TARN_ASSERT(viewer->session == session && kept + 1 == session->viewer_count); // it was listed once
    tarn_presence_forget(session, viewer);
    session->viewer_count = kept;
    session->viewers_changed = true;
    if (!viewer->is_preview) {
        session->left_since_ns = tarn_clock_monotonic_ns();
    }
    TARN_ASSERT(session->all->metrics->viewers > 0);
    session->all->metrics->viewers--;
    if (session->gone_count < TARN_VIEWERS_MAX) {
        session->gone[session->gone_count++] = viewer->id;
    }
    tell_gone(session);
    note_audience(session);
    if (viewer->rate.layers > 0) {
        TARN_ASSERT(viewer->rate.layers <= TARN_STREAM_LAYERS_MAX);
        TARN_ASSERT(session->all->metrics->viewers_by_layers[viewer->rate.layers - 1] > 0);
        session->all->metrics->viewers_by_layers[viewer->rate.layers - 1]--;
    }
    viewer->rate.layers = 0;
    viewer->session = NULL;
    viewer->fanout = NULL;
    tarn_session_probes_left(session, viewer->id);
}

// ---- what viewers do ----

/// Fresh starts cost everybody their frames.
static bool fresh_start_is_due(tarn_session *session, tarn_viewer *viewer)
{
    if (tarn_turn_allow(&session->fresh_due_ns, TARN_GATEWAY_FRESH_MS, TARN_GATEWAY_FRESH_BURST)) {
        return true;
    }
    tarn_viewer_error(viewer, TARN_ERROR_INPUT, "the tank was started afresh just now; try again in a moment");
    return false;
}

/// Of a session whose worker was given up somebody wants the tank all the same: another worker makes it, or, where
/// none takes it, its own is tried once more. @return whether it is being made now
static bool seek_worker(tarn_session *session)
{
    if (session->worker != NULL && session->worker->phase != TARN_WORKER_GIVEN_UP) {
        return false; // it comes back by itself
    }
    session->is_afresh_asked = true;
    if (tarn_session_place(session)) {
        tarn_session_make_tank(session);
        return true;
    }
    if (session->worker != NULL) {
        tarn_worker_process_retry(session->worker);
    }
    return false;
}

static void control_load(tarn_session *session, tarn_viewer *viewer, const tarn_control *control)
{
    tarn_text why;
    const char *scene = tarn_uploads_choose(session->all->uploads, &session->all->workers->told.scenes,
                                            session->all->options->scene, control->scene);
    if (scene == NULL) {
        snprintf(why, sizeof why, "control.scene: found \"%s\", allowed are those that welcome lists", control->scene);
        tarn_viewer_error(viewer, TARN_ERROR_SCENE, why);
        return;
    }
    if (!fresh_start_is_due(session, viewer)) {
        return;
    }
    if (is_served(session)) {
        if (session->pending || session->moves_to != NULL) {
            tarn_viewer_error(viewer, TARN_ERROR_SCENE,
                              session->pending ? "the tank is being made already; try again in a moment"
                                               : "the tank is being moved to another worker; try again in a moment");
            return;
        }
        tarn_ipc_load load = {.viewer_id = viewer->id, .sequence = control->sequence};
        snprintf(load.scene, sizeof load.scene, "%s", scene);
        if (tarn_session_send_load(session, &load) == TARN_OK) {
            snprintf(session->scene_asked, sizeof session->scene_asked, "%s", scene);
        } else {
            too_fast(viewer);
        }
        return;
    }
    // The tank is made from this scene as soon as there is a worker again.
    snprintf(session->scene_asked, sizeof session->scene_asked, "%s", scene);
    session->state.paused = 0;
    session->is_afresh_asked = true;
    seek_worker(session);
}

void tarn_session_control(tarn_session *session, tarn_viewer *viewer, const tarn_control *control)
{
    tarn_ipc_message message = {.tank = session->id};
    if (control->action == TARN_CONTROL_LOAD) {
        control_load(session, viewer, control);
        return;
    }
    if (!is_served(session) && !tarn_session_comes_back(session)) {
        if (control->action == TARN_CONTROL_RESET && seek_worker(session)) {
            return;
        }
        tarn_viewer_error(viewer, TARN_ERROR_WORKER, "the simulation is being started again; try again in a moment");
        return;
    }
    if (control->action == TARN_CONTROL_RESET) {
        if (!fresh_start_is_due(session, viewer) || session->pending) {
            return; // it has just started afresh, or is about to
        }
        if (!session->state.worker_ready && is_served(session)) { // it couldn't be made: there is nothing to set back
            session->is_afresh_asked = true;
            tarn_session_make_tank(session);
            return;
        }
        message.kind = TARN_IPC_RESET;
        message.reset.epoch = session->epoch + 1;
        message.reset.viewer_id = viewer->id;
        message.reset.sequence = control->sequence;
    } else {
        message.kind = TARN_IPC_CONTROL;
        message.control.viewer_id = viewer->id;
        message.control.sequence = control->sequence;
        message.control.action = (uint8_t)control->action;
        message.control.speed = control->action == TARN_CONTROL_SPEED ? control->speed : 0.0f;
    }
    if (tell_worker(session, &message, viewer->id) != TARN_OK) {
        too_fast(viewer);
    } else if (control->action == TARN_CONTROL_RESET) {
        session->epoch++;
        session->pending = true;
    } else if (control->action == TARN_CONTROL_SPEED) {
        tarn_session_keep_speed(session, control->speed); // for the next worker, and the next server
    }
}

/// Whether an input says where something is now, so that a newer one replaces it: one of each pointer, side and camera.
/// @param key  receives which of a viewer's inputs replace each other
static bool is_move(const tarn_input *input, tarn_worker_queue_key *key)
{
    key->kind = (uint16_t)(input->kind + 1);
    switch (input->kind) {
    case TARN_INPUT_POINTER:
        key->index = (uint16_t)input->pointer.pointer_id;
        return input->pointer.phase == TARN_PHASE_MOVE;
    case TARN_INPUT_CONTROLLER:
        key->index = (uint16_t)input->controller.side;
        return true;
    case TARN_INPUT_HAND:
        key->index = (uint16_t)input->hand.side;
        return true;
    case TARN_INPUT_ORIENTATION:
        return true;
    case TARN_INPUT_MOTION:
        key->index = (uint16_t)input->motion.source;
        return input->motion.cell_bytes > 0; // that a source is gone is said once
    default:
        return false;
    }
}

void tarn_session_input(tarn_session *session, tarn_viewer *viewer, const tarn_input *input, const uint8_t *bytes,
                        size_t byte_count)
{
    tarn_ipc_message message = {.kind = TARN_IPC_INPUT, .tank = session->id};
    TARN_ASSERT(viewer->session == session && byte_count > 0 && byte_count <= TARN_IPC_INPUT_BYTES_MAX);
    message.input.viewer_id = viewer->id;
    message.input.bytes = bytes;
    message.input.byte_count = (uint32_t)byte_count;
    tarn_worker_queue_key key = {.viewer_id = viewer->id};
    const bool may_be_replaced = is_move(input, &key);
    session->all->metrics->inputs_total++;
    if (tarn_session_post(session, &message, key, may_be_replaced) == TARN_E_LIMIT) {
        too_fast(viewer);
    }
}

// ---- the tank and its worker ----

/// The tick makes the tank: now something lacks for it.
static void owe_tank(tarn_session *session, bool resumes)
{
    session->is_owed = session->pending = true;
    session->resumes = resumes;
}

void tarn_session_make_tank(tarn_session *session)
{
    if (tarn_session_awaits_older(session)) {
        return;
    }
    tarn_session_box_open(&session->box_fd);
    const bool resumes = session->was_made && !session->is_afresh_asked;
    session->is_owed = false;
    if (!tarn_session_box_can_go(session->box_fd)) { // without it, what is in it would be taken for the newest later
        owe_tank(session, resumes);
        return;
    }
    tarn_ipc_load load = {.paused = session->state.paused, .resumes = resumes, .box = session->box_fd};
    load.resumes += resumes && session->past.is_filled; // TARN_IPC_RESUMES_BOX
    snprintf(load.scene, sizeof load.scene, "%s", session->scene_asked[0] ? session->scene_asked : session->scene);
    if (!resumes) {
        session->gone_count = 0; // the worker doesn't know them
        tarn_worker_sent_forget(&session->worker->sent, session->id);
    }
    if (tarn_session_send_load(session, &load) == TARN_E_LIMIT) { // so many others are made
        owe_tank(session, resumes);
        return;
    }
    send_audience(session, audience(session));
    tarn_session_probes_again(session);
    tarn_session_keep(session);
}

void tarn_session_moved(tarn_session *session, tarn_worker_process *worker, int box_fd)
{
    TARN_ASSERT(session->id != 0 && session->worker != worker);
    tarn_worker_sent_forget(&session->worker->sent, session->id); // it may come back there as another tank
    session->worker = worker;
    tarn_fanout_forget_begun(&session->fanout);
    tarn_session_box_close(&session->box_fd);
    session->box_fd = box_fd;
    session->kept_fd = 0; // its number may be the old one's
    tarn_session_keep(session);
    session->key_asked_ns = 0;
    send_audience(session, audience(session));
    tarn_session_probes_again(session);
}

void tarn_session_place_all(tarn_sessions *all)
{
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        tarn_session *session = &all->sessions[i];
        if (session->id != 0 && session->worker == NULL && !session->past.awaits && tarn_session_place(session)) {
            tarn_session_make_tank(session);
        }
    }
}

/// What its worker's end says of a tank.
static void judge_box(int fd, tarn_worker_end end)
{
    switch (end) {
    case TARN_WORKER_END_OWN: // the box counts by itself
        break;
    case TARN_WORKER_END_OUTSIDE:
        tarn_box_excuse(fd);
        break;
    case TARN_WORKER_END_KILLED:
        tarn_box_killed(fd, 1);
        break;
    case TARN_WORKER_END_NO_MEMORY:
        tarn_box_killed(fd, TARN_BLACK_BOX_KILL_BY_KERNEL);
        break;
    }
}

void tarn_session_worker_ready(tarn_sessions *all, tarn_worker_process *worker)
{
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        tarn_session *session = &all->sessions[i];
        if (session->id != 0 && session->worker == worker) {
            if (session->box_fd > 0) { // the process that was at work on it is gone by now
                judge_box(session->box_fd, worker->work_end);
            }
            tarn_session_make_tank(session);
        }
    }
    worker->work_end = TARN_WORKER_END_OWN;
    tarn_session_place_all(all);
}

void tarn_session_worker_lost(tarn_sessions *all, tarn_worker_process *worker, const char *sentence, bool given_up)
{
    tarn_text text;
    if (given_up) {
        snprintf(
            text, sizeof text,
            "%.400s; it failed too often, and is tried again in %.0f s, or once somebody resets the tank or loads a "
            "scene",
            sentence, 1e-3 * (double)tarn_worker_process_retry_ms(worker, tarn_clock_monotonic_ns()));
    } else {
        snprintf(text, sizeof text, "%.400s; it is being started again and the tank goes on", sentence);
    }
    if (given_up) {
        tarn_worker_queue_clear(&worker->waiting);
        tarn_worker_sent_forget(&worker->sent, 0);
    }
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        tarn_session *session = &all->sessions[i];
        if (session->id == 0 || session->worker != worker) {
            continue;
        }
        session->counts.worker_losses++;
        session->state.worker_ready = 0;
        session->pending = session->resumes = false;
        session->audience_told = 0;
        session->key_asked_ns = 0;
        if (!session->is_afresh_asked) { // else it was asked for while there was no worker
            session->scene_asked[0] = 0;
        }
        past_stays(session);
        session->report = (tarn_ipc_report){0};
        session->report_ns = 0;
        session->share = 0;
        const bool leaves = given_up && tarn_session_leaves(session);
        tarn_viewer_tell_all(session, TARN_VIEWER_TELL_STATE);
        tell_error(session, TARN_ERROR_WORKER,
                   leaves ? "the worker failed too often; the tank goes on on another one" : text);
        if (leaves) {
            tarn_session_make_tank(session);
        }
    }
}

static void on_state(tarn_session *session, const tarn_ipc_state *state)
{
    const bool is_as_it_was = session->epoch_served == state->epoch;
    if (!is_as_it_was) {
        tarn_fanout_clear(&session->fanout);
        tarn_stream_traffic_init(&session->traffic);
        session->key_asked_ns = 0;
    }
    if (state->epoch > session->epoch) {
        session->epoch = state->epoch; // the worker set the tank back
        session->counts.set_backs += session->was_made && !session->resumes;
    }
    session->epoch_served = state->epoch;
    if (session->pending && (state->epoch == session->epoch || session->resumes)) {
        if (session->resumes) {
            tarn_session_is_back(session, is_as_it_was);
        }
        session->pending = session->is_afresh_asked = false;
        if (session->scene_asked[0]) {
            memcpy(session->scene, session->scene_asked, sizeof session->scene_asked);
            session->probes.is_scene_due = true;
        }
        session->scene_asked[0] = 0;
        past_arrives(session);
    }
    const tarn_lock lock = session->state.lock; // of which no worker knows
    session->state = state->session;
    session->state.lock = lock;
    session->state.worker_ready = 1;
    session->was_made = true;
    tarn_viewer_tell_all(session, TARN_VIEWER_TELL_STATE);
}

static void on_refused(tarn_session *session, const tarn_ipc_refused *refused)
{
    const tarn_log_subject subject = {
        .session = session->label, .tank = session->id, .worker = (int)session->worker->index + 1};
    if (refused->code == TARN_ERROR_WORKER) {
        tarn_log_of(TARN_LOG_WARN, subject, "%s", refused->text);
        tell_error(session, TARN_ERROR_WORKER, refused->text);
        return;
    }
    const bool is_gone = refused->code == TARN_ERROR_SESSION;
    tarn_error_code code = is_gone || refused->code == TARN_ERROR_SCENE ? TARN_ERROR_SCENE
                           : refused->code == TARN_ERROR_LIMIT          ? TARN_ERROR_LIMIT
                                                                        : TARN_ERROR_INPUT;
    const bool was_asked = code == TARN_ERROR_SCENE && session->scene_asked[0] != 0;
    if (is_gone) {
        tarn_session_is_refused(session);
    }
    if (code == TARN_ERROR_SCENE) {
        past_stays(session);
        session->pending = session->resumes = session->is_afresh_asked = false;
        session->scene_asked[0] = 0;
    }
    if (refused->viewer_id == 0) {
        // A scene that somebody asked for is in the way of nothing: the session's own comes next, or what is in its
        // box.
        if (was_asked) {
            tarn_session_make_tank(session);
        } else if (!session->was_made && !session->is_kept) {
            snprintf(session->ends_because, sizeof session->ends_because, "%s", refused->text);
        }
        if (session->was_made || !session->is_kept) { // else the server ends with the sentence
            tarn_log_of(TARN_LOG_ERROR, subject, "%s", refused->text);
        }
        tell_error(session, TARN_ERROR_SCENE, refused->text);
        return;
    }
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        if (session->viewers[i]->id == refused->viewer_id) {
            tarn_viewer_error(session->viewers[i], code, refused->text);
        }
    }
}

/// Counts the steps between two reports of the same worker, which come each second. Where the tank was set back in
/// between, those of that second are left out.
static void count_steps(tarn_session_counts *counts, const tarn_ipc_report *before, const tarn_ipc_report *now)
{
    const double step_s = (double)now->step_s;
    if (now->step > before->step && step_s >= 0 && step_s <= TARN_STAGE_S_MAX) {
        counts->steps += now->step - before->step;
        counts->steps_s += step_s * (double)(now->step - before->step);
    }
}

static void on_report(tarn_session *session, const tarn_ipc_report *report)
{
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    if (session->report_ns != 0) {
        session->share = tarn_placement_share(&session->report, report, 1e-9 * (double)(now_ns - session->report_ns));
        count_steps(&session->counts, &session->report, report);
    }
    session->report = *report;
    session->report_ns = now_ns;
}

tarn_status tarn_session_worker_message(tarn_sessions *all, const tarn_worker_process *worker,
                                        const tarn_ipc_message *message)
{
    tarn_session *session = session_of_tank(all, worker, message->tank);
    if (session == NULL) {
        return TARN_OK; // closed in the meantime
    }
    switch (message->kind) {
    case TARN_IPC_STATE:
        if (!tarn_welcome_can_tell_state(&message->state.session)) {
            return TARN_E_MALFORMED;
        }
        on_state(session, &message->state);
        tarn_session_send_waiting(all, session->worker);
        return TARN_OK;
    case TARN_IPC_REFUSED:
        on_refused(session, &message->refused);
        return TARN_OK;
    case TARN_IPC_REPORT:
        on_report(session, &message->report);
        return TARN_OK;
    case TARN_IPC_STAMPS:
        session->stamps = message->stamps;
        return TARN_OK;
    case TARN_IPC_SCENE_PROBES:
        tarn_session_probes_of_scene(session, &message->scene_probes);
        return TARN_OK;
    case TARN_IPC_PROBED:
        return tarn_session_probes_answered(session, &message->probed);
    case TARN_IPC_READINGS:
        return tarn_session_probes_read(session, &message->readings);
    case TARN_IPC_SCENE_TOLD:
        tarn_session_telling_told(session, &message->scene_told);
        return TARN_OK;
    case TARN_IPC_REPLAY_WANTED:
        tarn_session_replay_wanted(session, &message->replay_wanted);
        return TARN_OK;
    default:
        return TARN_E_MALFORMED;
    }
}

// ---- frames ----

/// Notes whether there was memory for a frame, and says it once.
static void note_memory(tarn_session *session, bool is_there, uint32_t frame_bytes)
{
    if (is_there != session->lacks_memory) {
        return;
    }
    session->lacks_memory = !is_there;
    tarn_log_of(TARN_LOG_WARN, (tarn_log_subject){.session = session->label, .tank = session->id},
                is_there ? "there is memory for a frame of %u bytes of \"%s\" again"
                         : "there is no memory for a frame of %u bytes of \"%s\"; frames are left out",
                frame_bytes, session->label);
}

uint8_t *tarn_session_frame_space(tarn_sessions *all, const tarn_worker_process *worker, uint32_t tank,
                                  uint32_t frame_bytes)
{
    tarn_session *session = session_of_tank(all, worker, tank);
    uint8_t *space = session != NULL ? tarn_fanout_space(&session->fanout, frame_bytes) : NULL;
    if (session != NULL) {
        note_memory(session, space != NULL, frame_bytes);
    }
    return space != NULL ? space : tarn_fanout_space(&all->nowhere, TARN_IPC_FRAME_BYTES_MAX); // which is there
}

static bool contains_input_of(const tarn_fanout_inputs *inputs, const tarn_viewer *viewer)
{
    for (uint32_t i = 0; i < inputs->count; i++) {
        if (inputs->inputs[i].viewer_id == viewer->id) {
            return true;
        }
    }
    return false;
}

/// To those first who wait to see what they did: the last of many gets a frame milliseconds after the first.
static void show_frame(const tarn_session *session, const tarn_fanout_inputs *inputs)
{
    tarn_viewer *acting[TARN_VIEWERS_MAX], *watching[TARN_VIEWERS_MAX];
    uint32_t acting_count = 0, watching_count = 0;
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        tarn_viewer *viewer = session->viewers[i];
        if (!tarn_viewer_frame_is_due(viewer)) {
            continue;
        }
        if (contains_input_of(inputs, viewer)) {
            acting[acting_count++] = viewer;
        } else {
            watching[watching_count++] = viewer;
        }
    }
    TARN_ASSERT(acting_count + watching_count <= session->viewer_count);
    session->all->show(acting, acting_count);
    session->all->show(watching, watching_count);
}

tarn_status tarn_session_frame(tarn_sessions *all, const tarn_worker_process *worker, uint32_t tank,
                               uint32_t frame_bytes)
{
    tarn_session *session = session_of_tank(all, worker, tank);
    if (session == NULL) {
        return TARN_OK;
    }
    tarn_fanout_inputs inputs;
    tarn_status status = tarn_fanout_put(&session->fanout, frame_bytes, session->epoch_served, &inputs);
    if (status == TARN_E_STATE) {
        return TARN_OK; // of a tank that is no more
    }
    if (status != TARN_OK) {
        return status;
    }
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    all->metrics->frames_received_total++;
    session->counts.frames_received++;
    if (tarn_fanout_newest_is_key(&session->fanout)) {
        session->key_ns = now_ns;
        session->key_asked_ns = 0;
    }
    session->taken_ns = now_ns;
    tarn_stream_traffic_note(&session->traffic, tarn_fanout_newest(&session->fanout), now_ns);
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        tarn_viewer_check_chain(session->viewers[i], now_ns);
    }
    note_latency(session, &inputs);
    show_frame(session, &inputs);
    tarn_session_ask_for_key(session);
    return TARN_OK;
}

// ---- again and again ----

/// A paused tank makes no more frames: its last key frame goes once more to those who got it with fewer layers than
/// their network now takes.
static void complete_picture(tarn_session *session, uint64_t now_ns)
{
    if (!tarn_fanout_newest_is_key(&session->fanout) ||
        now_ns - session->key_ns < TARN_GATEWAY_KEY_ASK_MS * (uint64_t)1000000) {
        return;
    }
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        tarn_viewer *viewer = session->viewers[i];
        if (viewer->flight.count > 0 || viewer->reference == 0 || !tarn_viewer_rate_idle(&viewer->rate, now_ns)) {
            continue;
        }
        viewer->reference = 0;
        tarn_viewer_frame_ready(viewer);
    }
}

/// What ceilings leave changes with what the tank's stream takes.
static void bound_viewers(tarn_session *session, uint64_t now_ns)
{
    if (now_ns < session->bound_due_ns) {
        return;
    }
    session->bound_due_ns = now_ns + TARN_GATEWAY_BOUND_MS * (uint64_t)1000000;
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        tarn_viewer_bound(session->viewers[i], &session->traffic, now_ns);
    }
}

/// Who is there, and the frames that waited for their turn.
static void tell_viewers(tarn_session *session)
{
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        if (session->viewers_changed) {
            tarn_viewer_tell(session->viewers[i], TARN_VIEWER_TELL_VIEWERS);
        }
        if (tarn_viewer_frame_is_due(session->viewers[i])) {
            tarn_viewer_frame_ready(session->viewers[i]);
        }
    }
    session->viewers_changed = false;
}

void tarn_session_tick(tarn_sessions *all, uint64_t now_ns)
{
    for (uint32_t i = 0; i < all->workers->count; i++) {
        tarn_session_send_waiting(all, &all->workers->workers[i]);
    }
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        tarn_session *session = &all->sessions[i];
        if (!session->id) {
            continue;
        }
        if (session->is_owed && is_served(session)) {
            tarn_session_make_tank(session);
        }
        const uint32_t count = audience(session);
        if (count > 0) {
            session->empty_since_ns = now_ns;
        }
        if ((session->audience_told != count || wants_others(session)) &&
            (count > 0 || now_ns - session->empty_since_ns >= TARN_GATEWAY_IDLE_MS * (uint64_t)1000000)) {
            send_audience(session, count);
        }
        tell_gone(session);
        tarn_session_probes_send(session);
        tarn_session_telling_tick(session, now_ns);
        bound_viewers(session, now_ns);
        tell_viewers(session);
        tarn_presence_beat(session, now_ns);
        tarn_session_ask_for_key(session);
        complete_picture(session, now_ns);
        if (!session->is_kept && tarn_session_people(session) == 0 &&
            now_ns - session->left_since_ns >= all->options->keep_empty_s * (uint64_t)1000000000) {
            snprintf(session->ends_because, sizeof session->ends_because, "nobody was there");
        }
    }
}

// ---- beginning and end ----

static tarn_status begin(tarn_sessions *all, const tarn_session_plan *plan, uint32_t place, tarn_session *session)
{
    const tarn_fanout fanout = session->fanout; // its buffers serve every session of this place
    tarn_probes_shown *shown = session->probes.shown;
    memset(session, 0, sizeof *session);
    session->fanout = fanout;
    tarn_session_probes_begin(session, shown);
    session->all = all;
    tarn_status status = TARN_OK;
    if (plan->salt != NULL) {
        memcpy(session->salt, plan->salt, sizeof session->salt);
    } else if (getrandom(session->salt, sizeof session->salt, 0) != (ssize_t)sizeof session->salt) {
        status = TARN_E_IO;
    }
    if (status == TARN_OK) {
        status = tarn_role_keys_make(&session->keys, &all->secret, session->salt, sizeof session->salt);
    }
    if (status == TARN_OK && plan->name != NULL) {
        snprintf(session->name, sizeof session->name, "%s", plan->name);
    } else if (status == TARN_OK) {
        status = tarn_draw_letters(session->name, TARN_GATEWAY_SESSION_NAME_LETTERS) ? TARN_OK : TARN_E_IO;
    }
    if (status != TARN_OK) {
        return status;
    }
    snprintf(session->title, sizeof session->title, "%s", plan->title);
    snprintf(session->scene, sizeof session->scene, "%s", plan->scene);
    snprintf(session->begun_as, sizeof session->begun_as, "%s", plan->begun_as != NULL ? plan->begun_as : plan->scene);
    session->guests = plan->guests;
    session->maker = plan->maker;
    session->is_kept = plan->is_kept;
    session->is_listed = plan->is_listed;
    // Epochs go on from the time of day, so that a tank of a restarted gateway is not taken for an older one.
    session->epoch = (uint32_t)time(NULL);
    session->left_since_ns = session->empty_since_ns = tarn_clock_monotonic_ns();
    TARN_ASSERT(place < TARN_GATEWAY_SESSIONS_MAX);
    session->id = ++all->generation << TARN_SESSION_PLACE_BITS | place;
    if (session->is_listed) {
        snprintf(session->label, sizeof session->label, "%s", session->name);
    } else {
        snprintf(session->label, sizeof session->label, "unlisted-%u", all->generation);
    }
    return TARN_OK;
}

tarn_status tarn_session_open(tarn_sessions *all, const tarn_session_plan *plan, tarn_session **session)
{
    for (uint32_t place = 0; place < all->options->sessions_max; place++) {
        *session = &all->sessions[place];
        if ((*session)->id) {
            continue;
        }
        TARN_ASSERT((*session)->viewer_count == 0);
        return begin(all, plan, place, *session);
    }
    *session = NULL;
    return TARN_E_LIMIT;
}

void tarn_session_close(tarn_session *session)
{
    tarn_session_box_close(&session->box_fd);
    tarn_session_box_close(&session->past.box_fd);
    tarn_fanout_free(&session->fanout);
    free(session->probes.shown);
    session->probes.shown = NULL;
    session->id = 0;
}

static void note_end(tarn_sessions *all, const tarn_session *session, const char *sentence)
{
    const uint32_t place = all->ended_count++ % TARN_GATEWAY_ENDED_MAX;
    memcpy(all->ended[place].name, session->name, sizeof session->name);
    snprintf(all->ended[place].sentence, sizeof all->ended[place].sentence, "%s", sentence);
}

const char *tarn_session_ended_because(const tarn_sessions *all, const char *name)
{
    for (uint32_t i = 0; i < TARN_GATEWAY_ENDED_MAX; i++) {
        if (name[0] != '\0' && strcmp(all->ended[i].name, name) == 0) {
            return all->ended[i].sentence;
        }
    }
    return NULL;
}

void tarn_session_end(tarn_session *session, const char *sentence)
{
    const tarn_ipc_message message = {.kind = TARN_IPC_UNLOAD, .tank = session->id};
    const tarn_worker_queue_key key = {.kind = TARN_IPC_UNLOAD};
    TARN_ASSERT(session->id != 0);
    tarn_log_of(TARN_LOG_INFO, (tarn_log_subject){.session = session->label, .tank = session->id},
                "the session \"%s\" ends: %s", session->label, sentence);
    note_end(session->all, session, sentence);
    while (session->viewer_count > 0) {
        tarn_viewer *viewer = session->viewers[0];
        tarn_session_leave(session, viewer);
        tarn_viewer_fail(viewer, TARN_ERROR_SESSION, sentence);
    }
    if (session->worker != NULL) {
        tarn_worker_process_send(session->worker, &message, key, false);
        // A frame that is on its way is nobody's; the next session here may have another worker.
        tarn_worker_process_divert(session->worker, session->id,
                                   tarn_fanout_space(&session->all->nowhere, TARN_IPC_FRAME_BYTES_MAX));
    }
    if (session->moves_to != NULL) {
        tarn_worker_process_send(session->moves_to, &message, key, false);
    }
    TARN_ASSERT(session->viewer_count == 0);
    tarn_fanout_rest(&session->fanout);
    session->all->has_ended = true;
    session->moves_to = NULL;
    session->held = NULL;
    tarn_session_box_close(&session->past.box_fd);
    tarn_session_box_close(&session->box_fd);
    if (session->all->store != NULL) {
        tarn_store_drop(session->all->store, tarn_session_place_of(session), session->name);
    }
    tarn_uploads_end_session(session->all->uploads, session->name);
    tarn_session_telling_end(session);
    session->id = 0;
}

void tarn_session_sweep(tarn_sessions *all)
{
    bool has_ended = all->has_ended;
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        tarn_session *session = &all->sessions[i];
        if (session->id != 0 && session->ends_because[0] != '\0') {
            tarn_session_end(session, session->ends_because);
            has_ended = true;
        }
    }
    all->has_ended = false;
    if (has_ended) { // one that found no worker when it came back may have its place
        tarn_session_place_all(all);
    }
}

uint32_t tarn_session_count(const tarn_sessions *all)
{
    uint32_t count = 0;
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        count += all->sessions[i].id != 0;
    }
    return count;
}
