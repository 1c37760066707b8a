// One viewer's frames at a time go through the decoder on another thread: start at load_checks_frame.
#include "server/tool/load/load_check.h"

#include <stdlib.h>

void load_checks_init(load_checks *checks)
{
    checks->work.data = checks;
}

void load_checks_free(load_checks *checks)
{
    for (int i = 0; i < LOAD_CHECK_FRAMES_MAX; i++) {
        free(checks->frames[i].bytes);
    }
    load_decoder_free(&checks->decoder);
}

static void work(uv_work_t *request)
{
    load_checks *checks = request->data;
    const load_kept_frame *frame = &checks->frames[checks->first];
    checks->status = load_decoder_decode(&checks->decoder, frame->bytes, frame->byte_count);
}

static void decode_next(load_checks *checks);

/// What a wrong frame was to be followed by cannot be decoded either.
static void give_up(load_checks *checks)
{
    const uint32_t waiting = checks->count - checks->receiving;
    checks->first = (checks->first + waiting) % LOAD_CHECK_FRAMES_MAX;
    checks->count -= waiting;
    checks->following = false;
}

static void after_work(uv_work_t *request, int status)
{
    load_checks *checks = request->data;
    checks->working = false;
    checks->first = (checks->first + 1) % LOAD_CHECK_FRAMES_MAX;
    checks->count--;
    if (status == 0) {
        checks->done(checks->user, checks->status);
    }
    if (checks->status != TARN_OK) {
        give_up(checks);
    }
    decode_next(checks);
}

static void decode_next(load_checks *checks)
{
    const uint32_t waiting = checks->count - checks->receiving;
    if (!checks->working && waiting > 0) {
        checks->working = uv_queue_work(checks->loop, &checks->work, work, after_work) == 0;
    }
}

static void let_go(load_checks *checks)
{
    checks->whose = NULL;
    checks->following = false;
    checks->count -= checks->receiving;
    checks->receiving = false;
}

/// Where the next frame goes; NULL where there is no room for it.
static uint8_t *keep(load_checks *checks, size_t byte_count)
{
    load_kept_frame *frame = &checks->frames[(checks->first + checks->count) % LOAD_CHECK_FRAMES_MAX];
    if (checks->count == LOAD_CHECK_FRAMES_MAX) {
        return NULL;
    }
    if (frame->room_bytes < byte_count) {
        free(frame->bytes);
        frame->bytes = malloc(byte_count);
        frame->room_bytes = frame->bytes != NULL ? byte_count : 0;
    }
    if (frame->bytes == NULL) {
        return NULL;
    }
    frame->byte_count = byte_count;
    checks->count++;
    checks->receiving = true;
    return frame->bytes;
}

static void choose(load_checks *checks, uint64_t now_ns)
{
    const bool late =
        !checks->following && !checks->receiving && now_ns - checks->chosen_ns > LOAD_CHECK_WAIT_MS * (uint64_t)1000000;
    if (checks->whose != NULL && late) {
        let_go(checks);
    }
    if (checks->whose == NULL && checks->taken * checks->every <= checks->seen) {
        checks->whose = checks->choose(checks->user);
        checks->chosen_ns = now_ns;
    }
}

uint8_t *load_checks_frame(load_checks *checks, const void *viewer, tarn_stream_kind kind, size_t byte_count,
                           uint64_t now_ns)
{
    if (checks->every == 0) {
        return NULL;
    }
    checks->seen++;
    if (checks->whose == viewer && checks->following &&
        (kind == TARN_STREAM_KEY || checks->followed >= LOAD_CHECK_FOLLOW_MAX)) {
        let_go(checks);
    }
    choose(checks, now_ns);
    if (checks->whose != viewer || (!checks->following && kind != TARN_STREAM_KEY)) {
        return NULL;
    }
    uint8_t *bytes = keep(checks, byte_count);
    checks->followed = checks->following ? checks->followed + 1 : 1;
    checks->following = true;
    checks->taken += bytes != NULL;
    checks->left_out += bytes == NULL;
    if (bytes == NULL && kind != TARN_STREAM_EXTRA) {
        let_go(checks); // what follows could not be decoded
    }
    return bytes;
}

bool load_checks_wants_key(const load_checks *checks, const void *viewer)
{
    return checks->every != 0 && checks->whose == viewer && !checks->following;
}

void load_checks_frame_end(load_checks *checks, const void *viewer)
{
    if (checks->whose != viewer || !checks->receiving) {
        return;
    }
    checks->receiving = false;
    checks->count -= !checks->following;
    decode_next(checks);
}

void load_checks_leave(load_checks *checks, const void *viewer)
{
    if (checks->whose == viewer) {
        let_go(checks);
    }
}
