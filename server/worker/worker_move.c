// Both ends of a tank's way to another worker. Start at tarn_worker_move_save for the one that has it, at
// tarn_worker_move_wait for the one that gets it.
#include "server/worker/worker_move.h"
#include "protocol/assert.h"
#include "server/common/log.h"
#include "server/worker/tank_presses.h"
#include "server/worker/tank_start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t all_bytes(const tarn_handover *handover)
{
    return handover->head.state_bytes + handover->head.presses_bytes;
}

void tarn_worker_move_end(tarn_worker_tank *tank)
{
    free(tank->handover.presses);
    tank->handover = (tarn_handover){0};
}

// ------------------------------------------------------------------------------------------------------------- giving

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

// ------------------------------------------------------------------------------------------------------------- taking

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
