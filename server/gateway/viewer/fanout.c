// A ring of the newest frames and the chain from a key frame to each of them: start at tarn_fanout_next.
#include "server/gateway/viewer/fanout.h"
#include "protocol/assert.h"
#include "server/base/ipc.h"

#include <libwebsockets.h>
#include <string.h>
#include <sys/mman.h>

enum { ROOM_BYTES = 1 << 16 }; // what buffers are a multiple of

void tarn_fanout_init(tarn_fanout *fanout)
{
    memset(fanout, 0, sizeof *fanout);
    fanout->receiving = -1;
}

void tarn_fanout_free(tarn_fanout *fanout)
{
    for (int i = 0; i < TARN_FANOUT_BUFFERS; i++) {
        if (fanout->buffers[i] != NULL) {
            munmap(fanout->buffers[i], fanout->rooms[i]);
        }
    }
    tarn_fanout_init(fanout);
}

void tarn_fanout_rest(tarn_fanout *fanout)
{
    tarn_fanout_clear(fanout);
    tarn_fanout_forget_begun(fanout);
    for (int i = 0; i < TARN_FANOUT_BUFFERS; i++) {
        if (fanout->buffers[i] != NULL) {
            madvise(fanout->buffers[i], fanout->rooms[i], MADV_DONTNEED);
        }
    }
}

/// A buffer that no frame is in: there is always one.
static int free_buffer(const tarn_fanout *fanout)
{
    uint32_t used = fanout->extra.serial ? 1u << fanout->extra.buffer : 0;
    used |= fanout->still.serial ? 1u << fanout->still.buffer : 0;
    int buffer = 0;
    for (uint32_t i = 0; i < fanout->chain_count; i++) {
        TARN_ASSERT((used >> fanout->chain[i].buffer & 1) == 0); // no two frames lie in one buffer
        used |= 1u << fanout->chain[i].buffer;
    }
    while (used >> buffer & 1) {
        buffer++;
    }
    TARN_ASSERT(buffer < TARN_FANOUT_BUFFERS);
    return buffer;
}

/// Bytes of a buffer for a frame: some more, since the next ones differ a little. Where addresses or what a process may
/// be promised are scarce, eleven of the largest for each session would be too much.
static size_t room_for(uint32_t frame_bytes)
{
    const size_t bytes = (size_t)LWS_PRE + frame_bytes + frame_bytes / 4;
    return (bytes + ROOM_BYTES - 1) / ROOM_BYTES * ROOM_BYTES;
}

uint8_t *tarn_fanout_space(tarn_fanout *fanout, uint32_t frame_bytes)
{
    const int buffer = free_buffer(fanout);
    TARN_ASSERT(frame_bytes > 0 && frame_bytes <= TARN_IPC_FRAME_BYTES_MAX);
    if (fanout->rooms[buffer] < (size_t)LWS_PRE + frame_bytes) {
        const size_t room = room_for(frame_bytes);
        void *memory = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) {
            fanout->receiving = -1;
            return NULL;
        }
        if (fanout->buffers[buffer] != NULL) {
            munmap(fanout->buffers[buffer], fanout->rooms[buffer]);
        }
        fanout->buffers[buffer] = memory;
        fanout->rooms[buffer] = room;
    }
    fanout->receiving = buffer;
    return fanout->buffers[buffer] + LWS_PRE;
}

/// The serial of the frame that a frame moves; 0: that one isn't the newest of the chain.
static uint64_t find_reference(const tarn_fanout *fanout, const tarn_stream_head *head)
{
    if (fanout->chain_count == 0) {
        return 0;
    }
    const tarn_fanout_frame *newest = &fanout->chain[fanout->chain_count - 1];
    return newest->number == head->reference ? newest->serial : 0;
}

static tarn_status open_frame(const tarn_fanout *fanout, const uint8_t *bytes, uint32_t frame_bytes,
                              tarn_fanout_frame *frame, tarn_fanout_inputs *inputs)
{
    tarn_stream_frame opened;
    const tarn_status status = tarn_stream_open(bytes, frame_bytes, &opened);
    if (status != TARN_OK) {
        return status;
    }
    const tarn_stream_head *head = &opened.head;
    if (opened.fine == NULL) { // the last of it
        return TARN_E_TRUNCATED;
    }
    *frame = (tarn_fanout_frame){.kind = (tarn_stream_kind)head->kind, .layer_count = head->layer_count};
    frame->number = head->number;
    frame->epoch = head->epoch;
    frame->step = head->step;
    frame->server_time_us = head->server_time_us;
    frame->refers = head->kind == TARN_STREAM_KEY ? 0 : find_reference(fanout, head);
    for (uint32_t l = 0; l < head->layer_count; l++) {
        frame->cut_bytes[l] = (uint32_t)tarn_stream_cut_bytes(head, l + 1);
        frame->particles[l] = head->layers[l].particles + (l > 0 ? frame->particles[l - 1] : 0);
    }
    frame->plain_bytes = frame->cut_bytes[head->layer_count - 1];
    frame->cut_bytes[head->layer_count - 1] = head->frame_bytes;
    inputs->count = head->input_count;
    for (uint32_t i = 0; i < inputs->count; i++) {
        inputs->inputs[i] = tarn_stream_input_at(&opened, i);
    }
    return TARN_OK;
}

static void append(tarn_fanout *fanout, const tarn_fanout_frame *frame)
{
    TARN_ASSERT(frame->serial == fanout->serial && frame->refers < frame->serial);
    if (frame->kind == TARN_STREAM_EXTRA) {
        fanout->extra = *frame;
        return;
    }
    if (frame->kind == TARN_STREAM_KEY) {
        fanout->chain_count = 0;
        fanout->still.serial = 0;
    }
    if (fanout->chain_count == TARN_FANOUT_CHAIN_MAX) {
        if (fanout->chain[0].kind == TARN_STREAM_KEY) {
            fanout->still = fanout->chain[0];
        }
        memmove(fanout->chain, fanout->chain + 1, --fanout->chain_count * sizeof fanout->chain[0]);
    }
    TARN_ASSERT(fanout->chain_count < TARN_FANOUT_CHAIN_MAX);
    TARN_ASSERT(fanout->chain_count == 0 || frame->refers == fanout->chain[fanout->chain_count - 1].serial);
    fanout->chain[fanout->chain_count++] = *frame;
    fanout->extra.serial = 0;
}

tarn_status tarn_fanout_put(tarn_fanout *fanout, uint32_t frame_bytes, uint32_t epoch, tarn_fanout_inputs *inputs)
{
    const int buffer = fanout->receiving;
    TARN_ASSERT(buffer < TARN_FANOUT_BUFFERS);
    if (buffer < 0) {
        return TARN_E_STATE;
    }
    fanout->receiving = -1;
    TARN_ASSERT((size_t)LWS_PRE + frame_bytes <= fanout->rooms[buffer]);
    const uint8_t *bytes = fanout->buffers[buffer] + LWS_PRE;
    tarn_fanout_frame frame;
    const tarn_status status = open_frame(fanout, bytes, frame_bytes, &frame, inputs);
    if (status != TARN_OK) {
        return status;
    }
    if (frame.epoch != epoch) {
        return TARN_E_STATE;
    }
    if (frame.kind != TARN_STREAM_KEY && frame.refers == 0) {
        tarn_fanout_clear(fanout);
        return TARN_E_STATE;
    }
    frame.serial = ++fanout->serial;
    frame.buffer = buffer;
    append(fanout, &frame);
    return TARN_OK;
}

void tarn_fanout_forget_begun(tarn_fanout *fanout)
{
    fanout->receiving = -1;
}

void tarn_fanout_clear(tarn_fanout *fanout)
{
    fanout->chain_count = 0;
    fanout->extra.serial = fanout->still.serial = 0;
}

/// Whether a key frame goes on from where a viewer is.
static bool key_goes_on(const tarn_fanout *fanout, const tarn_fanout_frame *key, uint64_t reference, uint64_t sent)
{
    return reference < key->serial && (sent < key->serial || tarn_fanout_newest_is_key(fanout));
}

const tarn_fanout_frame *tarn_fanout_next(const tarn_fanout *fanout, uint64_t reference, uint64_t sent,
                                          bool skip_extras)
{
    const tarn_fanout_frame *extra = fanout->extra.serial > sent ? &fanout->extra : NULL;
    for (uint32_t i = 0; i < fanout->chain_count; i++) {
        const tarn_fanout_frame *frame = &fanout->chain[i];
        if (frame->kind == TARN_STREAM_KEY ? key_goes_on(fanout, frame, reference, sent) : reference == frame->refers) {
            return frame;
        }
    }
    return extra != NULL && extra->refers == reference && !skip_extras ? extra : NULL;
}

const tarn_fanout_frame *tarn_fanout_still(const tarn_fanout *fanout)
{
    if (fanout->still.serial == 0 || fanout->chain_count < 2) {
        return NULL;
    }
    const tarn_fanout_frame *newest = &fanout->chain[fanout->chain_count - 1];
    const uint64_t from_us = newest[-1].server_time_us + TARN_FANOUT_STILL_MS * (uint64_t)1000;
    return newest->server_time_us >= from_us ? &fanout->still : NULL;
}

const tarn_fanout_frame *tarn_fanout_newest(const tarn_fanout *fanout)
{
    TARN_ASSERT(fanout->extra.serial != 0 || fanout->chain_count > 0);
    return fanout->extra.serial ? &fanout->extra : &fanout->chain[fanout->chain_count - 1];
}

bool tarn_fanout_newest_is_key(const tarn_fanout *fanout)
{
    return fanout->chain_count == 1 && !fanout->extra.serial && fanout->chain[0].kind == TARN_STREAM_KEY;
}

bool tarn_fanout_is_lost(const tarn_fanout *fanout, uint64_t reference, uint64_t sent)
{
    return (fanout->chain_count == 0 || fanout->chain[fanout->chain_count - 1].serial != reference) &&
           tarn_fanout_next(fanout, reference, sent, true) == NULL;
}

uint8_t *tarn_fanout_bytes(const tarn_fanout *fanout, const tarn_fanout_frame *frame)
{
    TARN_ASSERT(frame->serial != 0 && fanout->buffers[frame->buffer] != NULL);
    return fanout->buffers[frame->buffer] + LWS_PRE;
}
