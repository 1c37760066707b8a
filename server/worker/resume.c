// A tank goes on: from another worker, from a log that is played back, from a black box.
#include "server/worker/resume.h"
#include "protocol/assert.h"
#include "server/base/log.h"
#include "server/worker/presses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- from one worker to another ----
// Both ends of a tank's way to another worker. Start at tarn_worker_move_save for the one that has it, at
// tarn_worker_move_wait for the one that gets it.

static uint64_t all_bytes(const tarn_handover *handover)
{
    return handover->head.state_bytes + handover->head.presses_bytes;
}

void tarn_worker_move_end(tarn_worker_tank *tank)
{
    free(tank->handover.presses);
    tank->handover = (tarn_handover){0};
}

// ---- the worker that has it ----

/// What viewers do goes along. Without memory for it they let go.
static void save_presses(const tarn_worker_tank *tank, tarn_handover *handover)
{
    uint8_t *bytes = malloc(TARN_IPC_PRESSES_BYTES_MAX);
    if (bytes != NULL) {
        handover->head.presses_bytes = tarn_tank_presses_write(tank, bytes);
    }
    if (handover->head.presses_bytes == 0) {
        tarn_log_of(TARN_LOG_WARN, (tarn_log_subject){.tank = tank->id}, "tank %u: what its viewers hold stays behind",
                    tank->id);
    }
    handover->presses = bytes;
}

tarn_status tarn_worker_move_save(tarn_worker_tank *tank, uint32_t save)
{
    const tarn_status status = tarn_snapshot_keep(&tank->snapshot, tank->tank, tank->step);
    if (status != TARN_OK) {
        return status;
    }
    tarn_worker_move_end(tank); // a move that was given up
    tarn_handover *handover = &tank->handover;
    handover->phase = TARN_HANDOVER_GIVES;
    handover->head = (tarn_ipc_state_head){.save = save,
                                           .epoch = tank->epoch,
                                           .step = tank->step,
                                           .number = tarn_encoder_number(tank->encoder),
                                           .replay_until = tarn_black_box_replay(&tank->snapshot.box)};
    uint64_t step;
    (void)tarn_black_box_state(&tank->snapshot.box, &handover->head.state_bytes, &step); // which was just kept
    save_presses(tank, handover);
    return TARN_OK;
}

void tarn_worker_move_want(tarn_worker_tank *tank, uint64_t until)
{
    tarn_handover *handover = &tank->handover;
    const uint64_t all = all_bytes(handover);
    if (handover->phase == TARN_HANDOVER_GIVES) {
        handover->until = until < all ? until : all;
    }
}

/// Everything that was said of the tank, and its frames, are on their way before its head is.
static bool may_tell_head(const tarn_worker_tank *tank, const tarn_worker_link *link)
{
    const tarn_frame_slot *slot = &link->slots[tank->slot];
    return slot->filled < 0 && slot->sending < 0 && !tank->state_changed && tank->notice[0] == '\0';
}

bool tarn_worker_move_is_due(const tarn_worker_tank *tank, const tarn_worker_link *link)
{
    const tarn_handover *handover = &tank->handover;
    if (handover->phase == TARN_HANDOVER_NONE || link->out_bytes > TARN_WORKER_CHUNKS_BYTES_MAX) {
        return false;
    }
    if (handover->is_told) {
        return handover->phase == TARN_HANDOVER_GIVES && handover->at < handover->until;
    }
    return handover->phase == TARN_HANDOVER_WAITS || may_tell_head(tank, link);
}

/// The next piece: of the state, or of what is behind it.
static tarn_status put_chunk(const tarn_worker_tank *tank, tarn_worker_link *link, uint32_t *byte_count)
{
    const tarn_handover *handover = &tank->handover;
    const tarn_ipc_state_head *head = &handover->head;
    tarn_ipc_message message = {.kind = TARN_IPC_STATE_CHUNK, .tank = tank->id};
    tarn_ipc_state_chunk *chunk = &message.state_chunk;
    const bool is_state = handover->at < head->state_bytes;
    const uint64_t end = is_state && head->state_bytes < handover->until ? head->state_bytes : handover->until;
    const uint64_t left = end - handover->at;
    uint64_t state_bytes, step;
    const uint8_t *state = tarn_black_box_state(&tank->snapshot.box, &state_bytes, &step); // while it stands, the same
    TARN_ASSERT(handover->at < end && state != NULL && state_bytes == head->state_bytes);
    chunk->at = handover->at;
    chunk->byte_count = (uint32_t)(left < TARN_IPC_CHUNK_BYTES_MAX ? left : TARN_IPC_CHUNK_BYTES_MAX);
    chunk->bytes = is_state ? state + handover->at : handover->presses + (handover->at - head->state_bytes);
    *byte_count = chunk->byte_count;
    return tarn_worker_link_put(link, &message);
}

void tarn_worker_move_tell(tarn_worker_tank *tank, tarn_worker_link *link)
{
    tarn_handover *handover = &tank->handover;
    while (tarn_worker_move_is_due(tank, link)) {
        uint32_t byte_count = 0;
        tarn_status status;
        if (handover->is_told) {
            status = put_chunk(tank, link, &byte_count);
        } else if (handover->phase == TARN_HANDOVER_GIVES) {
            const tarn_ipc_message message = {
                .kind = TARN_IPC_STATE_HEAD, .tank = tank->id, .state_head = handover->head};
            status = tarn_worker_link_put(link, &message);
        } else {
            const tarn_ipc_message message = {
                .kind = TARN_IPC_MADE, .tank = tank->id, .save.save = handover->head.save};
            status = tarn_worker_link_put(link, &message);
        }
        if (status != TARN_OK) {
            return;
        }
        handover->is_told = true;
        handover->at += byte_count;
    }
}

// ---- the worker that gets it ----

void tarn_worker_move_wait(tarn_worker_tank *tank, uint32_t save)
{
    tarn_worker_move_end(tank);
    tank->handover.phase = TARN_HANDOVER_WAITS;
    tank->handover.head.save = save;
}

tarn_status tarn_worker_move_head(tarn_worker_tank *tank, const tarn_ipc_state_head *head, tarn_text why)
{
    tarn_handover *handover = &tank->handover;
    if (handover->phase != TARN_HANDOVER_WAITS || handover->head.save != head->save) {
        snprintf(why, sizeof(tarn_text), "the tank waits for no state");
        return TARN_E_STATE;
    }
    if (head->state_bytes > tank->snapshot.box.state_bytes_max) {
        snprintf(why, sizeof(tarn_text), "a state of %llu bytes is none of this tank, which takes %llu at most",
                 (unsigned long long)head->state_bytes, (unsigned long long)tank->snapshot.box.state_bytes_max);
        return TARN_E_LIMIT;
    }
    handover->presses = malloc(head->presses_bytes > 0 ? head->presses_bytes : 1);
    if (handover->presses == NULL) {
        snprintf(why, sizeof(tarn_text), "out of memory");
        return TARN_E_MEMORY;
    }
    handover->phase = TARN_HANDOVER_GETS;
    handover->head = *head;
    handover->at = 0;
    return TARN_OK;
}

tarn_status tarn_worker_move_chunk(tarn_worker_tank *tank, const tarn_ipc_state_chunk *chunk, tarn_text why)
{
    tarn_handover *handover = &tank->handover;
    const uint64_t state_bytes = handover->head.state_bytes;
    const bool is_state = handover->at < state_bytes;
    const uint64_t end = is_state ? state_bytes : all_bytes(handover);
    if (handover->phase != TARN_HANDOVER_GETS || chunk->at != handover->at || chunk->byte_count > end - handover->at) {
        snprintf(why, sizeof(tarn_text), "a piece of the tank's state is out of place");
        return TARN_E_STATE;
    }
    TARN_ASSERT(state_bytes <= tank->snapshot.box.state_bytes_max);
    uint8_t *to = is_state ? tarn_black_box_space(&tank->snapshot.box) + handover->at
                           : handover->presses + (size_t)(handover->at - state_bytes);
    memcpy(to, chunk->bytes, chunk->byte_count);
    handover->at += chunk->byte_count;
    return TARN_OK;
}

bool tarn_worker_move_is_whole(const tarn_worker_tank *tank)
{
    return tank->handover.phase == TARN_HANDOVER_GETS && tank->handover.at == all_bytes(&tank->handover);
}

tarn_status tarn_worker_move_load(tarn_worker_tank *tank, tarn_text why)
{
    const tarn_ipc_state_head head = tank->handover.head;
    uint64_t step = 0;
    tarn_status status = tarn_snapshot_load(&tank->snapshot, tank->tank, (size_t)head.state_bytes, &step);
    if (status == TARN_OK && step != head.step) {
        status = TARN_E_MALFORMED;
    }
    if (status == TARN_OK && head.presses_bytes > 0) {
        status = tarn_tank_presses_read(tank, tank->handover.presses, head.presses_bytes);
    }
    if (status == TARN_OK) {
        tarn_black_box_set_replay(&tank->snapshot.box, head.replay_until);
        status = tarn_worker_tank_go_on(tank, head.epoch, head.step, head.number);
    }
    if (status != TARN_OK) {
        snprintf(why, sizeof(tarn_text), "the state of \"%s\" cannot be loaded: %s", tank->scene.name,
                 status == TARN_E_MALFORMED ? "it is none of this scene" : tarn_status_text(status));
        return status == TARN_E_DEVICE || status == TARN_E_MEMORY ? status : TARN_E_MALFORMED;
    }
    tarn_worker_tank_log_presses(tank); // which the box has with the next step else, and a resting tank makes none
    tarn_worker_move_end(tank);
    return TARN_OK;
}

// ---- what was done once ----
// Begin at tarn_worker_replay_go_on, then tarn_worker_replay_next.

static tarn_log_subject subject_of(const tarn_worker_tank *tank)
{
    return (tarn_log_subject){.tank = tank->id};
}

static void close_piece(tarn_worker_tank *tank)
{
    if (tank->replay.fd > 0) {
        close(tank->replay.fd);
    }
    tank->replay.fd = 0;
    tank->replay.has_piece = false;
}

void tarn_worker_replay_drop(tarn_worker_tank *tank)
{
    close_piece(tank);
    tarn_replay_feed_end(&tank->replay.feed);
    tank->replay = (tarn_worker_replay){0};
}

void tarn_worker_replay_end(tarn_worker_tank *tank, const char *because)
{
    tarn_black_box_set_replay(&tank->snapshot.box, 0);
    if (!tarn_worker_replay_is_on(tank)) {
        return;
    }
    if (because != NULL) {
        snprintf(tank->notice, sizeof tank->notice, "what was played back has ended: %.400s", because);
        tarn_log_of(TARN_LOG_WARN, subject_of(tank), "tank %u, step %llu: %s", tank->id, (unsigned long long)tank->step,
                    tank->notice);
    } else {
        tarn_log_of(TARN_LOG_INFO, subject_of(tank), "tank %u: played back until step %llu, live from there", tank->id,
                    (unsigned long long)tank->step);
    }
    tarn_worker_replay_drop(tank);
    tank->state_changed = true;
}

tarn_status tarn_worker_replay_go_on(tarn_worker_tank *tank)
{
    const uint64_t until = tarn_black_box_replay(&tank->snapshot.box);
    tarn_worker_replay_drop(tank);
    tank->state_changed = true;
    if (until <= tank->step) {
        tarn_black_box_set_replay(&tank->snapshot.box, 0);
        return TARN_OK;
    }
    const tarn_status status = tarn_replay_feed_begin(&tank->replay.feed, tank->step, until);
    if (status != TARN_OK) {
        tarn_black_box_set_replay(&tank->snapshot.box, 0);
    }
    return status;
}

bool tarn_worker_replay_waits(const tarn_worker_tank *tank)
{
    const tarn_replay_feed *feed = &tank->replay.feed;
    return feed->until > 0 && feed->ready == 0 && !feed->is_last;
}

void tarn_worker_replay_piece(tarn_worker_tank *tank, const tarn_ipc_replay *piece, int fd)
{
    close_piece(tank);
    tank->replay.piece = *piece;
    tank->replay.fd = fd;
    tank->replay.has_piece = true;
}

/// @return TARN_OK, or TARN_E_IO: its memory hasn't as much
static tarn_status read_piece(int fd, uint8_t *to, size_t byte_count)
{
    size_t at = 0;
    while (at < byte_count) {
        const ssize_t got = fd > 0 ? pread(fd, to + at, byte_count - at, (off_t)at) : -1;
        if (got <= 0) {
            return TARN_E_IO;
        }
        at += (size_t)got;
    }
    return TARN_OK;
}

/// Whether it is what was asked for last: another tank, or another place of the log, was asked for before.
static bool is_its(const tarn_worker_tank *tank, const tarn_ipc_replay *piece)
{
    const tarn_replay_feed *feed = &tank->replay.feed;
    return tank->replay.is_asked && piece->at.epoch == tank->epoch && piece->at.from == feed->from &&
           piece->at.held == feed->held;
}

/// From when on it stands no longer for the piece that was asked for.
static uint64_t live_ns(const tarn_worker_replay *replay)
{
    return replay->asked_ns + TARN_WORKER_REPLAY_MS_MAX * (uint64_t)1000000;
}

uint64_t tarn_worker_replay_tell_ns(const tarn_worker_tank *tank)
{
    const tarn_worker_replay *replay = &tank->replay;
    if (replay->has_piece || (!replay->is_asked && tarn_replay_feed_wants(&replay->feed))) {
        return 0;
    }
    return replay->is_asked && tarn_worker_replay_waits(tank) ? live_ns(replay) : UINT64_MAX;
}

bool tarn_worker_replay_settle(tarn_worker_tank *tank, uint64_t now_ns)
{
    tarn_worker_replay *replay = &tank->replay;
    const bool stood = tarn_worker_replay_waits(tank);
    if (replay->has_piece && is_its(tank, &replay->piece)) {
        tarn_status status = read_piece(replay->fd, tarn_replay_feed_space(&replay->feed), replay->piece.byte_count);
        if (status == TARN_OK) {
            status = tarn_replay_feed_put(&replay->feed, replay->piece.byte_count, replay->piece.is_last != 0);
        }
        replay->is_asked = false;
        if (status != TARN_OK) {
            tarn_worker_replay_end(tank, "what was done then can't be read");
        }
    }
    close_piece(tank);
    if (tarn_worker_replay_waits(tank) && replay->is_asked && now_ns >= live_ns(replay)) {
        tarn_worker_replay_end(tank, "what was done then doesn't come");
    }
    return stood && !tarn_worker_replay_waits(tank);
}

void tarn_worker_replay_ask(tarn_worker_tank *tank, tarn_worker_link *link, uint64_t now_ns)
{
    tarn_worker_replay *replay = &tank->replay;
    if (replay->is_asked || tank->state_changed || !tarn_replay_feed_wants(&replay->feed)) {
        return; // the state comes first, whose epoch it is
    }
    const tarn_ipc_message message = {
        .kind = TARN_IPC_REPLAY_WANTED,
        .tank = tank->id,
        .replay_wanted = {.epoch = tank->epoch, .from = replay->feed.from, .held = replay->feed.held}};
    replay->is_asked = tarn_worker_link_put(link, &message) == TARN_OK;
    replay->asked_ns = now_ns;
}

/// Looks whether the tank is as it was then. It is said once where it isn't.
/// @param step, then  of the log  @return TARN_OK or TARN_E_DEVICE
static tarn_status compare(tarn_worker_tank *tank, uint64_t step, tarn_tank_hash then)
{
    tarn_tank_hash now;
    if (tank->replay.is_other) {
        return TARN_OK;
    }
    const tarn_status status = step == tank->step ? tarn_tank_hash_get(tank->tank, &now) : TARN_OK;
    if (step != tank->step || (status == TARN_OK && (now.lo != then.lo || now.hi != then.hi))) {
        tank->replay.is_other = true;
        snprintf(tank->notice, sizeof tank->notice,
                 "by %.2f s what is played back has come to other water than it was then: another build of Tarn, or "
                 "another device, made that",
                 (double)tank->step * (double)tank->scene.tank.dt_s);
        tarn_log_of(TARN_LOG_WARN, subject_of(tank), "tank %u, step %llu: %s", tank->id, (unsigned long long)tank->step,
                    tank->notice);
    }
    return status == TARN_E_DEVICE ? status : TARN_OK; // another hash comes
}

/// Whether an input that takes no time does anything.
static bool does_anything(const tarn_step_input *input)
{
    return input->parameter_count > 0 || input->poser != TARN_STEP_POSER_NOBODY || input->throw_count > 0 ||
           input->wall_count > 0 || input->erase_count > 0;
}

tarn_status tarn_worker_replay_next(tarn_worker_tank *tank, tarn_step_input *input)
{
    static tarn_replay_record record; // large; others may use it while a hash is made
    for (;;) {
        const tarn_status status = tarn_replay_feed_read(&tank->replay.feed, &record);
        if (status != TARN_OK) {
            tarn_worker_replay_end(tank, status == TARN_E_NOT_FOUND ? NULL : "what was done then can't be read");
            return TARN_E_NOT_FOUND;
        }
        if (record.is_hash) {
            const tarn_status compared = compare(tank, record.step, record.hash);
            if (compared != TARN_OK) {
                return compared;
            }
            continue;
        }
        record.input.pause = TARN_STEP_PAUSE_KEEPS; // people pause it now as they like
        if (!record.input.holds || does_anything(&record.input)) {
            *input = record.input;
            return TARN_OK;
        }
    }
}

void tarn_worker_replay_stepped(tarn_worker_tank *tank)
{
    const tarn_replay_feed *feed = &tank->replay.feed;
    if (feed->until > 0 && (tank->step >= feed->until || (feed->ready == 0 && feed->is_last))) {
        tarn_worker_replay_end(tank, NULL);
    }
}

// ---- from a black box ----
// A state, then every step that is in the log behind it. Begin at tarn_worker_resume.

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
