// Records of any length in a ring, each a head and a message: start at tarn_worker_sent_note.
#include "server/gateway/worker_sent.h"
#include "protocol/assert.h"

#include <stddef.h>
#include <string.h>

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
