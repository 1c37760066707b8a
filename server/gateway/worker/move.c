// The way of a tank from one worker to another, step by step. Begin at tarn_move_begin, then tarn_move_worker_message.
#include "server/gateway/worker/move.h"
#include "protocol/assert.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/gateway/session/box.h"
#include "server/gateway/session/making.h"
#include "server/gateway/session/post.h"
#include "server/gateway/session/session.h"

#include <stdio.h>
#include <string.h>

static tarn_status tell(tarn_worker_process *worker, const tarn_ipc_message *message)
{
    const tarn_worker_queue_key key = {.kind = (uint16_t)message->kind};
    return tarn_worker_process_send(worker, message, key, false);
}

static tarn_ipc_message about(const tarn_move *move, tarn_ipc_kind kind)
{
    return (tarn_ipc_message){.kind = kind, .tank = move->id};
}

static void unload(const tarn_move *move, tarn_worker_process *worker)
{
    const tarn_ipc_message message = about(move, TARN_IPC_UNLOAD);
    (void)tell(worker, &message); // where it isn't told, it is gone
}

/// Whether the session that is moved is still there. One that has ended has told the workers so.
static bool is_there(tarn_move *move)
{
    if (move->phase != TARN_MOVE_NONE && move->session->id != move->id) {
        tarn_worker_queue_clear(&move->held);
        tarn_session_box_close(&move->box_fd);
        move->phase = TARN_MOVE_NONE;
    }
    return move->phase != TARN_MOVE_NONE;
}

/// Nothing is held any more.
static void finish(tarn_move *move)
{
    move->session->held = NULL;
    move->session->moves_to = NULL;
    tarn_worker_queue_clear(&move->held);
    tarn_session_box_close(&move->box_fd);
    move->phase = TARN_MOVE_NONE;
}

/// Hands what was held to whoever has the tank; what finds no place waits for the next tick, and what comes behind it.
static void release(tarn_move *move)
{
    if (move->owes_go_on) {
        const tarn_ipc_message message = about(move, TARN_IPC_GO_ON);
        if (tell(move->from, &message) == TARN_E_LIMIT) {
            return;
        }
        move->owes_go_on = false;
    }
    if (tarn_worker_process_send_all(move->session->worker, &move->held, 0)) {
        finish(move);
    }
}

/// The tank stays where it is.
static void fail(tarn_move *move, const char *sentence)
{
    tarn_log_of(
        TARN_LOG_WARN,
        (tarn_log_subject){.session = move->session->label, .tank = move->id, .worker = (int)move->from->index + 1},
        "the tank of \"%s\" stays with worker %u: %s", move->session->label, move->from->index, sentence);
    move->sessions->metrics->moves_failed_total++;
    move->owes_go_on = move->phase != TARN_MOVE_MAKES;
    move->phase = TARN_MOVE_ENDS;
    move->session->moves_to = NULL;
    unload(move, move->to);
    release(move);
}

tarn_status tarn_move_begin(tarn_move *move, tarn_session *session, int wanted, tarn_text why)
{
    const char *refusal = NULL;
    if (is_there(move)) {
        refusal = move->session == session ? "this tank is being moved already"
                                           : "another tank is being moved; try again in a moment";
    } else if (session->worker == NULL || !tarn_worker_process_is_ready(session->worker)) {
        refusal = "nothing simulates this tank just now; try again in a moment";
    } else if (session->pending || !session->was_made || tarn_session_waits(session)) {
        refusal = "this tank is being made; try again in a moment"; // or what viewers did reaches it behind its state
    } else if (wanted == (int)session->worker->index) {
        refusal = "this tank is there already";
    }
    const int index = refusal == NULL ? tarn_session_other_worker(session, wanted) : -1;
    if (refusal == NULL && index < 0) {
        refusal = wanted < 0 ? "no other worker is up that takes one more tank"
                             : "that worker isn't up, or has as many tanks as it takes";
    }
    tarn_ipc_message message = {.kind = TARN_IPC_RESTORE, .tank = session->id};
    message.restore.save = move->save + 1;
    snprintf(message.restore.scene, sizeof message.restore.scene, "%s", session->scene);
    if (refusal == NULL) { // else the box may be that of a move that goes on
        tarn_session_box_close(&move->box_fd);
        tarn_session_box_open(&move->box_fd);
        tarn_session_box_copy_scene(session->box_fd, move->box_fd);
        message.restore.box = move->box_fd;
    }
    if (refusal == NULL && (move->box_fd <= 0 || !tarn_session_box_can_go(move->box_fd))) {
        refusal = "there is no descriptor for it just now; try again in a moment";
    }
    if (refusal == NULL && tell(&session->all->workers->workers[index], &message) != TARN_OK) {
        refusal = "that worker takes no messages just now; try again in a moment";
    }
    if (refusal != NULL) {
        snprintf(why, sizeof(tarn_text), "%s", refusal);
        return TARN_E_STATE;
    }
    move->save++;
    move->session = session;
    move->id = session->id;
    move->from = session->worker;
    move->to = session->moves_to = &session->all->workers->workers[index];
    move->owes_go_on = false;
    move->since_ns = tarn_clock_monotonic_ns();
    move->phase = TARN_MOVE_MAKES;
    return TARN_OK;
}

/// The other worker has made the tank: this one is to stop.
static void ask_for_state(tarn_move *move)
{
    tarn_ipc_message message = about(move, TARN_IPC_SAVE);
    message.save.save = move->save;
    if (tell(move->from, &message) != TARN_OK) {
        fail(move, "its worker takes no messages");
        return;
    }
    TARN_ASSERT(move->held.count == 0 && move->session->held == NULL);
    move->session->held = &move->held;
    move->since_ns = tarn_clock_monotonic_ns();
    move->phase = TARN_MOVE_SAVES;
}

static uint64_t all_bytes(const tarn_move *move)
{
    return move->head.state_bytes + move->head.presses_bytes;
}

/// Where the piece ends that begins there. None has bytes of both the state and the presses.
static uint64_t piece_end(const tarn_move *move, uint64_t at)
{
    const uint64_t end = at < move->head.state_bytes ? move->head.state_bytes : all_bytes(move);
    return end - at < TARN_IPC_CHUNK_BYTES_MAX ? end : at + TARN_IPC_CHUNK_BYTES_MAX;
}

/// Lets as many pieces be sent as there are places for: each takes a whole one, however short it is.
static void want_more(tarn_move *move)
{
    uint64_t wanted = move->passed;
    for (uint32_t places = TARN_IPC_CHUNKS_MAX - move->to->chunks.count; places > 0; places--) {
        wanted = piece_end(move, wanted);
    }
    if (wanted <= move->wanted) {
        return;
    }
    tarn_ipc_message message = about(move, TARN_IPC_STATE_WANTED);
    message.state_wanted.until = wanted;
    const tarn_worker_queue_key key = {.kind = TARN_IPC_STATE_WANTED, .index = move->id & TARN_SESSION_PLACE_MASK};
    if (tarn_worker_process_send(move->from, &message, key, true) == TARN_OK) {
        move->wanted = wanted;
    }
}

static void on_head(tarn_move *move, const tarn_ipc_state_head *head)
{
    if (move->phase != TARN_MOVE_SAVES || head->save != move->save) {
        return;
    }
    tarn_ipc_message message = about(move, TARN_IPC_STATE_HEAD);
    message.state_head = *head;
    if (head->epoch != move->session->epoch_served) {
        fail(move, "its state is of another epoch");
    } else if (tell(move->to, &message) != TARN_OK) {
        fail(move, "the other worker takes no messages");
    } else {
        move->head = *head;
        move->wanted = move->passed = 0;
        move->phase = TARN_MOVE_PASSES;
        want_more(move);
    }
}

/// @return TARN_E_MALFORMED for what wasn't asked for
static tarn_status on_chunk(tarn_move *move, const tarn_ipc_message *message)
{
    const tarn_ipc_state_chunk *chunk = &message->state_chunk;
    if (move->phase != TARN_MOVE_PASSES) {
        return TARN_OK; // of a move that was given up
    }
    if (chunk->at != move->passed || move->passed == move->wanted ||
        chunk->at + chunk->byte_count != piece_end(move, chunk->at)) {
        return TARN_E_MALFORMED;
    }
    move->passed += chunk->byte_count;
    if (tell(move->to, message) != TARN_OK) {
        fail(move, "the other worker takes no messages");
    }
    return TARN_OK;
}

/// The other worker has the tank, as its state says.
static tarn_status on_state(tarn_move *move, const tarn_ipc_message *message)
{
    if (move->phase != TARN_MOVE_PASSES || move->passed < all_bytes(move)) {
        return TARN_OK;
    }
    if (message->state.epoch != move->head.epoch) {
        fail(move, "the other worker has it under another epoch");
        return TARN_OK;
    }
    tarn_log_of(
        TARN_LOG_INFO,
        (tarn_log_subject){.session = move->session->label, .tank = move->id, .worker = (int)move->to->index + 1},
        "the tank of \"%s\" is now with worker %u; it stood for %.0f ms", move->session->label, move->to->index,
        1e-6 * (double)(tarn_clock_monotonic_ns() - move->since_ns));
    move->sessions->metrics->moves_total++;
    unload(move, move->from);
    // What this session's frames are received into is the other worker's from now on.
    tarn_worker_process_divert(move->from, move->id,
                               tarn_fanout_space(&move->sessions->nowhere, TARN_IPC_FRAME_BYTES_MAX));
    move->session->moves_to = NULL;
    tarn_session_moved(move->session, move->to, move->box_fd);
    move->box_fd = 0;
    const tarn_status status = tarn_session_worker_message(move->sessions, move->to, message);
    move->phase = TARN_MOVE_ENDS;
    release(move);
    return status;
}

/// Whether it is the tank itself that a worker refuses. It may have had it before, and what it said of viewers' inputs
/// then may still come.
static bool is_answer(const tarn_ipc_refused *refused)
{
    return refused->viewer_id == 0 && (refused->code == TARN_ERROR_SCENE || refused->code == TARN_ERROR_SESSION);
}

/// From the worker that is to have the tank. @return false: it is about no move
static bool on_other_worker(tarn_move *move, const tarn_ipc_message *message, tarn_status *status)
{
    switch (message->kind) {
    case TARN_IPC_MADE:
        if (move->phase == TARN_MOVE_MAKES && message->save.save == move->save) {
            ask_for_state(move);
        }
        return true;
    case TARN_IPC_REFUSED:
        if (is_answer(&message->refused)) {
            fail(move, message->refused.text);
        }
        return true;
    case TARN_IPC_STATE:
        *status = on_state(move, message);
        return true;
    default:
        return false;
    }
}

bool tarn_move_worker_message(tarn_move *move, tarn_worker_process *worker, const tarn_ipc_message *message,
                              tarn_status *status)
{
    *status = TARN_OK;
    const bool is_ours = is_there(move) && message->tank == move->id;
    if (is_ours && worker == move->to && move->phase != TARN_MOVE_ENDS && on_other_worker(move, message, status)) {
        return true;
    }
    if (is_ours && worker == move->from && message->kind == TARN_IPC_STATE_HEAD) {
        on_head(move, &message->state_head);
    } else if (is_ours && worker == move->from && message->kind == TARN_IPC_STATE_CHUNK) {
        *status = on_chunk(move, message);
    }
    // Of a move that was given up they may come late.
    return message->kind == TARN_IPC_STATE_HEAD || message->kind == TARN_IPC_STATE_CHUNK ||
           message->kind == TARN_IPC_MADE;
}

void tarn_move_chunk_sent(tarn_move *move, const tarn_worker_process *worker)
{
    if (is_there(move) && move->phase == TARN_MOVE_PASSES && worker == move->to) {
        want_more(move);
    }
}

void tarn_move_worker_lost(tarn_move *move, const tarn_worker_process *worker, const char *sentence)
{
    if (!is_there(move)) {
        return;
    }
    if (worker == move->session->worker) { // which brings the tank back, and then gets what was held
        (void)tarn_worker_queue_append(&move->session->worker->waiting, &move->held, 0);
        if (move->phase != TARN_MOVE_ENDS) {
            move->sessions->metrics->moves_failed_total++;
            unload(move, move->to);
        }
        finish(move);
    } else if (worker == move->to && move->phase != TARN_MOVE_ENDS) {
        fail(move, sentence);
    }
}

void tarn_move_stood(tarn_move *move, const tarn_standstill *stood)
{
    tarn_standstill_move(stood, &move->since_ns);
}

void tarn_move_tick(tarn_move *move, uint64_t now_ns)
{
    if (!is_there(move)) {
        return;
    }
    const uint64_t limit_ms =
        move->phase == TARN_MOVE_MAKES ? TARN_GATEWAY_WORKER_LOAD_MS_MAX : TARN_GATEWAY_MOVE_MS_MAX;
    if (move->phase == TARN_MOVE_ENDS) {
        release(move);
    } else if (now_ns > move->since_ns && now_ns - move->since_ns > limit_ms * 1000000) {
        fail(move, "it takes too long");
    }
}
