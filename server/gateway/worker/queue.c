// An array of encoded messages and their order, with rules for what makes way: start at tarn_worker_queue_push. What
// goes from amid them moves no message: where viewers say more than a worker takes, one goes for each that comes. Then
// a ring of what was sent lately.
#include "server/gateway/worker/queue.h"
#include "protocol/assert.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum { INPUT_BYTES_SMALL = 1024 };

_Static_assert(INPUT_BYTES_SMALL + 256 <= (int)TARN_WORKER_QUEUE_BYTES_MAX, "with its header it fits");

static void set_place(tarn_worker_queue *queue, uint32_t index, uint32_t place)
{
    const uint32_t at = (queue->first + index) % TARN_GATEWAY_WORKER_QUEUE_MAX;
    queue->shifts[at] = (uint16_t)((place + TARN_GATEWAY_WORKER_QUEUE_MAX - at) % TARN_GATEWAY_WORKER_QUEUE_MAX);
}

static tarn_worker_queue_entry *entry_at(tarn_worker_queue *queue, uint32_t index)
{
    return &queue->entries[tarn_worker_queue_place(queue, index)];
}

static bool same_key(const tarn_worker_queue_key *a, const tarn_worker_queue_key *b)
{
    return a->viewer_id == b->viewer_id && a->kind == b->kind && a->index == b->index;
}

static void drop_fd(tarn_worker_queue_entry *entry)
{
    if (entry->fd > 0) {
        close(entry->fd);
    }
    entry->fd = 0;
}

void tarn_worker_queue_clear(tarn_worker_queue *queue)
{
    for (uint32_t i = 0; i < queue->count; i++) {
        drop_fd(entry_at(queue, i));
    }
    queue->first = queue->count = queue->sent = 0;
    memset(queue->large_taken, 0, sizeof queue->large_taken);
}

static const uint8_t *bytes_of(const tarn_worker_queue *queue, const tarn_worker_queue_entry *entry)
{
    TARN_ASSERT(entry->large <= TARN_GATEWAY_WORKER_QUEUE_LARGE);
    return entry->large > 0 ? queue->large[entry->large] : entry->bytes;
}

/// Where a new entry's go.
static uint8_t *room_of(tarn_worker_queue *queue, tarn_worker_queue_entry *entry)
{
    return entry->large > 0 ? queue->large[entry->large] : entry->bytes;
}

/// The first entry that may still be changed: one that was begun must be finished.
static uint32_t first_whole(const tarn_worker_queue *queue)
{
    return queue->sent > 0 ? 1 : 0;
}

static void remove_at(tarn_worker_queue *queue, uint32_t index)
{
    TARN_ASSERT(index < queue->count && index >= first_whole(queue)); // one that was begun must be finished
    queue->large_taken[entry_at(queue, index)->large] = false;
    drop_fd(entry_at(queue, index));
    const uint32_t place = tarn_worker_queue_place(queue, index);
    queue->count--;
    for (uint32_t i = index; i < queue->count; i++) {
        set_place(queue, i, tarn_worker_queue_place(queue, i + 1));
    }
    set_place(queue, queue->count, place);
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

/// Whether it is one that another of the same kind follows anyway. What the gateway itself says with one it says once,
/// and takes it as told.
static bool gives_way(bool is_move, const tarn_worker_queue_key *key)
{
    return is_move && key->viewer_id != 0;
}

/// Only one whose bytes have a large place, where that is what lacks.
static bool remove_oldest_move(tarn_worker_queue *queue, bool is_large)
{
    for (uint32_t i = first_whole(queue); i < queue->count; i++) {
        const tarn_worker_queue_entry *entry = entry_at(queue, i);
        if (!gives_way(entry->is_move, &entry->key) || (is_large && entry->large == 0)) {
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

static uint32_t free_large_place(const tarn_worker_queue *queue)
{
    uint32_t place = 1;
    while (place <= TARN_GATEWAY_WORKER_QUEUE_LARGE && queue->large_taken[place]) {
        place++;
    }
    return place <= TARN_GATEWAY_WORKER_QUEUE_LARGE ? place : 0;
}

/// Gives a new entry the place that its bytes need. @return false: it is large, and gives way itself
static bool take_place(tarn_worker_queue *queue, tarn_worker_queue_entry *entry, bool is_large)
{
    entry->large = 0;
    if (!is_large) {
        return true;
    }
    entry->large = free_large_place(queue);
    queue->large_taken[entry->large] = entry->large > 0;
    return entry->large > 0;
}

/// Makes room for a message at the end. @return TARN_OK, TARN_E_LIMIT (no place for one that doesn't give way) or
/// TARN_E_SPACE: the message gives way itself
static tarn_status make_room(tarn_worker_queue *queue, const tarn_worker_queue_key *key, bool is_move, bool is_large)
{
    TARN_ASSERT(queue->count <= TARN_GATEWAY_WORKER_QUEUE_MAX);
    if (is_move) {
        remove_older_move(queue, key);
    } else if (!has_room(queue, key->viewer_id)) {
        return TARN_E_LIMIT;
    }
    if (is_large && free_large_place(queue) == 0 && !remove_oldest_move(queue, true)) {
        queue->coalesced++;
        return TARN_E_SPACE;
    }
    if (queue->count < TARN_GATEWAY_WORKER_QUEUE_MAX || remove_oldest_move(queue, false)) {
        return TARN_OK;
    }
    queue->coalesced += gives_way(is_move, key);
    return gives_way(is_move, key) ? TARN_E_SPACE : TARN_E_LIMIT;
}

/// Where a message has its descriptor; a zero, where none goes along with its kind.
static int *box_of(tarn_ipc_message *message)
{
    static int none;
    return message->kind == TARN_IPC_LOAD           ? &message->load.box
           : message->kind == TARN_IPC_RESTORE      ? &message->restore.box
           : message->kind == TARN_IPC_REPLAY       ? &message->replay.box
           : message->kind == TARN_IPC_SCENE_WANTED ? &message->scene_wanted.box
                                                    : &none;
}

/// Writes a message with a copy of the descriptor that goes along; without one where there are no more.
static tarn_status write_entry(tarn_worker_queue *queue, tarn_worker_queue_entry *entry,
                               const tarn_ipc_message *message, size_t bytes_max, size_t *byte_count)
{
    entry->fd = 0;
    if (*box_of((tarn_ipc_message *)message) <= 0) { // which is only read
        return tarn_ipc_write(message, room_of(queue, entry), bytes_max, byte_count);
    }
    tarn_ipc_message own = *message;
    int *box = box_of(&own);
    const int copy = fcntl(*box, F_DUPFD_CLOEXEC, 1);
    *box = entry->fd = copy > 0 ? copy : 0;
    const tarn_status status = tarn_ipc_write(&own, room_of(queue, entry), bytes_max, byte_count);
    if (status != TARN_OK) {
        drop_fd(entry);
    }
    return status;
}

tarn_status tarn_worker_queue_push(tarn_worker_queue *queue, const tarn_ipc_message *message, tarn_worker_queue_key key,
                                   bool is_move)
{
    const bool is_large = message->kind == TARN_IPC_INPUT && is_move && message->input.byte_count > INPUT_BYTES_SMALL;
    tarn_status status = make_room(queue, &key, is_move, is_large);
    if (status != TARN_OK) {
        return status == TARN_E_SPACE ? TARN_OK : status;
    }
    TARN_ASSERT(queue->count < TARN_GATEWAY_WORKER_QUEUE_MAX);
    tarn_worker_queue_entry *entry = entry_at(queue, queue->count);
    size_t bytes;
    const size_t bytes_max = is_large ? TARN_WORKER_QUEUE_LARGE_BYTES_MAX : TARN_WORKER_QUEUE_BYTES_MAX;
    const bool has_place = take_place(queue, entry, is_large);
    TARN_ASSERT(has_place); // as was made
    status = write_entry(queue, entry, message, bytes_max, &bytes);
    if (status != TARN_OK) {
        queue->large_taken[entry->large] = false;
        return status;
    }
    TARN_ASSERT(bytes > 0 && bytes <= bytes_max);
    entry->key = key;
    entry->tank = message->tank;
    entry->kind = message->kind;
    entry->is_move = is_move;
    entry->times = 0;
    entry->byte_count = (uint32_t)bytes;
    queue->count++;
    return TARN_OK;
}

tarn_status tarn_worker_queue_put(tarn_worker_queue *queue, tarn_worker_queue_entry *entry, const uint8_t *bytes)
{
    const tarn_status status = make_room(queue, &entry->key, entry->is_move, entry->large > 0);
    if (status != TARN_OK) {
        return status == TARN_E_SPACE ? TARN_OK : status;
    }
    tarn_worker_queue_entry *to = entry_at(queue, queue->count++);
    *to = *entry;
    entry->fd = 0; // it goes along
    const bool has_place = take_place(queue, to, entry->large > 0);
    TARN_ASSERT(has_place); // as was made
    memcpy(room_of(queue, to), bytes, entry->byte_count);
    return TARN_OK;
}

bool tarn_worker_queue_append(tarn_worker_queue *queue, tarn_worker_queue *from, uint32_t tank)
{
    TARN_ASSERT(from->sent == 0);
    for (uint32_t i = 0; i < from->count;) {
        tarn_worker_queue_entry *entry = entry_at(from, i);
        if (tank != 0 && entry->tank != tank) {
            i++;
        } else if (tarn_worker_queue_put(queue, entry, bytes_of(from, entry)) == TARN_OK) {
            remove_at(from, i);
        } else {
            return false;
        }
    }
    return true;
}

bool tarn_worker_queue_holds(const tarn_worker_queue *queue, uint32_t tank)
{
    for (uint32_t i = 0; i < queue->count; i++) {
        if (tarn_worker_queue_at(queue, i)->tank == tank) {
            return true;
        }
    }
    return false;
}

const tarn_worker_queue_entry *tarn_worker_queue_first(const tarn_worker_queue *queue)
{
    return queue->count > 0 ? tarn_worker_queue_at(queue, 0) : NULL;
}

const uint8_t *tarn_worker_queue_head(const tarn_worker_queue *queue, size_t *byte_count)
{
    if (queue->count == 0) {
        return NULL;
    }
    const tarn_worker_queue_entry *entry = tarn_worker_queue_at(queue, 0);
    TARN_ASSERT(queue->sent < entry->byte_count);
    *byte_count = entry->byte_count - queue->sent;
    return bytes_of(queue, entry) + queue->sent;
}

int tarn_worker_queue_head_fd(const tarn_worker_queue *queue)
{
    return queue->count > 0 && queue->sent == 0 ? tarn_worker_queue_at(queue, 0)->fd : 0;
}

void tarn_worker_queue_sent(tarn_worker_queue *queue, size_t byte_count)
{
    tarn_worker_queue_entry *entry = entry_at(queue, 0);
    TARN_ASSERT(queue->count > 0 && byte_count <= entry->byte_count - queue->sent);
    queue->sent += (uint32_t)byte_count;
    if (queue->sent < entry->byte_count) {
        return;
    }
    queue->sent = 0;
    queue->large_taken[entry->large] = false;
    drop_fd(entry);
    queue->first = (queue->first + 1) % TARN_GATEWAY_WORKER_QUEUE_MAX;
    queue->count--;
}

uint32_t tarn_worker_queue_inputs(const tarn_worker_queue *queue, uint32_t tank)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < queue->count; i++) {
        const tarn_worker_queue_entry *entry = tarn_worker_queue_at(queue, i);
        count += entry->kind == TARN_IPC_INPUT && entry->tank == tank;
    }
    return count;
}

// ---- what was sent lately ----
// Records of any length in a ring, each a head and a message: start at tarn_worker_sent_note.

typedef struct sent_head {
    uint32_t tank; ///< 0: forgotten
    uint32_t byte_count;
    tarn_worker_queue_key key;
    uint16_t kind;
    uint8_t is_move, times;
} sent_head;

enum { SENT_BYTES = sizeof((tarn_worker_sent *)0)->bytes };

_Static_assert(sizeof(sent_head) + TARN_WORKER_QUEUE_BYTES_MAX <= SENT_BYTES / 2, "any message fits");

static void put(tarn_worker_sent *sent, uint64_t at, const void *bytes, size_t byte_count)
{
    const size_t place = at % SENT_BYTES, to_end = SENT_BYTES - place,
                 first = byte_count < to_end ? byte_count : to_end;
    memcpy(sent->bytes + place, bytes, first);
    memcpy(sent->bytes, (const uint8_t *)bytes + first, byte_count - first);
}

static void get(const tarn_worker_sent *sent, uint64_t at, void *bytes, size_t byte_count)
{
    const size_t place = at % SENT_BYTES, to_end = SENT_BYTES - place,
                 first = byte_count < to_end ? byte_count : to_end;
    TARN_ASSERT(at >= sent->first && at + byte_count <= sent->end);
    memcpy(bytes, sent->bytes + place, first);
    memcpy((uint8_t *)bytes + first, sent->bytes, byte_count - first);
}

static sent_head head_at(const tarn_worker_sent *sent, uint64_t at)
{
    sent_head head;
    get(sent, at, &head, sizeof head);
    return head;
}

static uint64_t behind(uint64_t at, const sent_head *head)
{
    return at + sizeof *head + head->byte_count;
}

bool tarn_worker_sent_keeps(tarn_ipc_kind kind)
{
    return kind == TARN_IPC_INPUT || kind == TARN_IPC_CONTROL || kind == TARN_IPC_RESET || kind == TARN_IPC_VIEWER_GONE;
}

void tarn_worker_sent_note(tarn_worker_sent *sent, const tarn_worker_queue_entry *entry)
{
    if (!tarn_worker_sent_keeps(entry->kind) || entry->large > 0) {
        return;
    }
    const sent_head head = {.tank = entry->tank,
                            .byte_count = entry->byte_count,
                            .key = entry->key,
                            .kind = (uint16_t)entry->kind,
                            .is_move = entry->is_move,
                            .times = (uint8_t)(entry->times + 1)};
    const uint64_t end = behind(sent->end, &head);
    while (end - sent->first > SENT_BYTES) {
        const sent_head oldest = head_at(sent, sent->first);
        sent->first = behind(sent->first, &oldest);
    }
    put(sent, sent->end, &head, sizeof head);
    put(sent, sent->end + sizeof head, entry->bytes, entry->byte_count);
    sent->end = end;
}

void tarn_worker_sent_excuse(tarn_worker_sent *sent)
{
    for (uint64_t at = sent->first; at < sent->end;) {
        sent_head head = head_at(sent, at);
        const uint64_t next = behind(at, &head);
        head.times -= head.times > 0;
        put(sent, at, &head, sizeof head);
        at = next;
    }
}

bool tarn_worker_sent_next(const tarn_worker_sent *sent, uint64_t *at, uint64_t until, uint32_t tank,
                           tarn_worker_queue_entry *entry)
{
    TARN_ASSERT(tank != 0);
    *at = *at > sent->first ? *at : sent->first;
    while (*at < until) {
        const sent_head head = head_at(sent, *at);
        if (head.tank == tank) {
            entry->key = head.key;
            entry->tank = head.tank;
            entry->kind = (tarn_ipc_kind)head.kind;
            entry->is_move = head.is_move != 0;
            entry->times = head.times;
            entry->byte_count = head.byte_count;
            entry->fd = 0;
            entry->large = 0;
            get(sent, *at + sizeof head, entry->bytes, head.byte_count);
            return true;
        }
        *at = behind(*at, &head);
    }
    return false;
}

void tarn_worker_sent_drop(tarn_worker_sent *sent, uint64_t at)
{
    if (at >= sent->first) { // else it has given way
        sent_head head = head_at(sent, at);
        head.tank = 0;
        put(sent, at, &head, sizeof head);
    }
}

void tarn_worker_sent_forget(tarn_worker_sent *sent, uint32_t tank)
{
    for (uint64_t at = sent->first; at < sent->end;) {
        const sent_head head = head_at(sent, at);
        if (tank == 0 || head.tank == tank) {
            tarn_worker_sent_drop(sent, at);
        }
        at = behind(at, &head);
    }
}
