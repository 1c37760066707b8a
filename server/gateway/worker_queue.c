// An array of encoded messages in order, with rules for what makes way: start at tarn_worker_queue_push.
#include "server/gateway/worker_queue.h"
#include "protocol/assert.h"

#include <string.h>

static tarn_worker_queue_entry *entry_at(tarn_worker_queue *queue, uint32_t index)
{
    TARN_ASSERT(index < TARN_GATEWAY_WORKER_QUEUE_MAX && queue->first < TARN_GATEWAY_WORKER_QUEUE_MAX);
    return &queue->entries[(queue->first + index) % TARN_GATEWAY_WORKER_QUEUE_MAX];
}

static bool same_key(const tarn_worker_queue_key *a, const tarn_worker_queue_key *b)
{
    return a->viewer_id == b->viewer_id && a->kind == b->kind && a->index == b->index;
}

void tarn_worker_queue_clear(tarn_worker_queue *queue)
{
    queue->first = queue->count = queue->sent = 0;
}

/// The first entry that may still be changed: one that was begun must be finished.
static uint32_t first_whole(const tarn_worker_queue *queue)
{
    return queue->sent > 0 ? 1 : 0;
}

static void remove_at(tarn_worker_queue *queue, uint32_t index)
{
    TARN_ASSERT(index < queue->count && index >= first_whole(queue)); // one that was begun must be finished
    for (uint32_t i = index; i + 1 < queue->count; i++) {
        *entry_at(queue, i) = *entry_at(queue, i + 1);
    }
    queue->count--;
}

/// Removes the waiting move that a new one with the same key replaces. The new one goes to the end, so that a viewer's
/// sequence numbers still arrive in order.
static void remove_older_move(tarn_worker_queue *queue, const tarn_worker_queue_key *key)
{
    for (uint32_t i = queue->count; i > first_whole(queue); i--) {
        tarn_worker_queue_entry *entry = entry_at(queue, i - 1);
        if (!same_key(&entry->key, key)) {
            continue;
        }
        if (entry->is_move) {
            remove_at(queue, i - 1);
            queue->coalesced++;
        }
        return;
    }
}

static bool remove_oldest_move(tarn_worker_queue *queue)
{
    for (uint32_t i = first_whole(queue); i < queue->count; i++) {
        if (!entry_at(queue, i)->is_move) {
            continue;
        }
        remove_at(queue, i);
        queue->coalesced++;
        return true;
    }
    return false;
}

/// Whether an edge of this viewer finds a place.
static bool has_room(tarn_worker_queue *queue, uint32_t viewer_id)
{
    uint32_t edges = 0, same = 0;
    for (uint32_t i = 0; i < queue->count; i++) {
        const tarn_worker_queue_entry *entry = entry_at(queue, i);
        edges += !entry->is_move;
        same += !entry->is_move && entry->key.viewer_id == viewer_id;
    }
    return viewer_id == 0 || (same < TARN_GATEWAY_WORKER_QUEUE_SHARE &&
                              edges < TARN_GATEWAY_WORKER_QUEUE_MAX - TARN_GATEWAY_WORKER_QUEUE_OWN);
}

/// Makes room for a message at the end. @return TARN_OK, TARN_E_LIMIT (no place for an edge) or TARN_E_SPACE: the
/// message is a move that gives way itself
static tarn_status make_room(tarn_worker_queue *queue, const tarn_worker_queue_key *key, bool is_move)
{
    TARN_ASSERT(queue->count <= TARN_GATEWAY_WORKER_QUEUE_MAX);
    if (is_move) {
        remove_older_move(queue, key);
    } else if (!has_room(queue, key->viewer_id)) {
        return TARN_E_LIMIT;
    }
    if (queue->count < TARN_GATEWAY_WORKER_QUEUE_MAX || remove_oldest_move(queue)) {
        return TARN_OK;
    }
    queue->coalesced += is_move;
    return is_move ? TARN_E_SPACE : TARN_E_LIMIT;
}

tarn_status tarn_worker_queue_push(tarn_worker_queue *queue, const tarn_ipc_message *message, tarn_worker_queue_key key,
                                   bool is_move)
{
    tarn_status status = make_room(queue, &key, is_move);
    if (status != TARN_OK) {
        return status == TARN_E_SPACE ? TARN_OK : status;
    }
    TARN_ASSERT(queue->count < TARN_GATEWAY_WORKER_QUEUE_MAX);
    tarn_worker_queue_entry *entry = entry_at(queue, queue->count);
    size_t bytes;
    status = tarn_ipc_write(message, entry->bytes, sizeof entry->bytes, &bytes);
    if (status != TARN_OK) {
        return status;
    }
    TARN_ASSERT(bytes > 0 && bytes <= sizeof entry->bytes);
    entry->key = key;
    entry->is_move = is_move;
    entry->byte_count = (uint32_t)bytes;
    queue->count++;
    return TARN_OK;
}

bool tarn_worker_queue_append(tarn_worker_queue *queue, tarn_worker_queue *from)
{
    TARN_ASSERT(from->sent == 0);
    while (from->count > 0) {
        const tarn_worker_queue_entry *entry = entry_at(from, 0);
        const tarn_status status = make_room(queue, &entry->key, entry->is_move);
        if (status == TARN_E_LIMIT) {
            return false;
        }
        if (status == TARN_OK) {
            *entry_at(queue, queue->count++) = *entry;
        }
        tarn_worker_queue_sent(from, entry->byte_count);
    }
    return true;
}

const uint8_t *tarn_worker_queue_head(const tarn_worker_queue *queue, size_t *byte_count)
{
    if (queue->count == 0) {
        return NULL;
    }
    const tarn_worker_queue_entry *entry = &queue->entries[queue->first];
    TARN_ASSERT(queue->sent < entry->byte_count);
    *byte_count = entry->byte_count - queue->sent;
    return entry->bytes + queue->sent;
}

void tarn_worker_queue_sent(tarn_worker_queue *queue, size_t byte_count)
{
    TARN_ASSERT(queue->count > 0 && byte_count <= queue->entries[queue->first].byte_count - queue->sent);
    queue->sent += (uint32_t)byte_count;
    if (queue->sent < queue->entries[queue->first].byte_count) {
        return;
    }
    queue->sent = 0;
    queue->first = (queue->first + 1) % TARN_GATEWAY_WORKER_QUEUE_MAX;
    queue->count--;
}
