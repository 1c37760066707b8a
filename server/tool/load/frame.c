// Heads for the chain of references, whole frames for the decoder: start at load_frame_head_read and
// load_decoder_decode. What is counted of them is a log and histograms.
#include "server/tool/load/frame.h"
#include "protocol/stream_layout.h"

#include <math.h>
#include <stdlib.h>

// ---- heads, chains, decoders ----

bool load_frame_begins(const uint8_t *bytes)
{
    return get_u32(bytes) == TARN_FRAME_MAGIC;
}

/// How many layers a frame has kept that was cut to so many bytes; -1 where it was cut elsewhere than behind one.
static int count_layers(const uint8_t *table, uint32_t layer_count, uint64_t whole_bytes, uint64_t sent_bytes)
{
    uint32_t layers = layer_count;
    while (whole_bytes > sent_bytes && layers > 0) {
        const uint32_t bytes = get_u32(table + (size_t)--layers * TARN_STREAM_LAYER_BYTES + LAYER_AT_BYTES);
        if (bytes > whole_bytes - sent_bytes) {
            return -1;
        }
        whole_bytes -= bytes;
    }
    return whole_bytes == sent_bytes ? (int)layers : -1;
}

tarn_status load_frame_head_read(const uint8_t *bytes, size_t byte_count, uint64_t frame_bytes, load_frame_head *head)
{
    if (byte_count < TARN_FRAME_HEADER_BYTES) {
        return TARN_E_TRUNCATED;
    }
    const uint16_t version = get_u16(bytes + STREAM_AT_VERSION);
    if (version < TARN_FRAME_VERSION_MIN || version > TARN_FRAME_VERSION || bytes[STREAM_AT_KIND] > TARN_STREAM_EXTRA) {
        return TARN_E_VERSION;
    }
    const size_t header_bytes = get_u16(bytes + STREAM_AT_HEADER_BYTES);
    const uint32_t layer_count = bytes[STREAM_AT_LAYER_COUNT];
    head->input_count = get_u16(bytes + STREAM_AT_INPUT_COUNT);
    if (header_bytes < TARN_FRAME_HEADER_BYTES) {
        return TARN_E_MALFORMED;
    }
    if (header_bytes > TARN_FRAME_HEADER_BYTES_MAX || head->input_count > TARN_FRAME_INPUTS_MAX ||
        layer_count > TARN_STREAM_LAYERS_MAX) {
        return TARN_E_LIMIT;
    }
    const size_t inputs_bytes = (size_t)head->input_count * TARN_FRAME_INPUT_BYTES;
    const size_t layers_bytes = (size_t)layer_count * TARN_STREAM_LAYER_BYTES;
    const size_t field_bytes = version > TARN_FRAME_VERSION_CHANNEL ? TARN_STREAM_FIELD_BYTES : 0;
    if (byte_count < header_bytes + inputs_bytes + layers_bytes + field_bytes) {
        return TARN_E_TRUNCATED;
    }
    head->inputs = bytes + header_bytes;
    const uint8_t *table = head->inputs + inputs_bytes;
    uint64_t whole_bytes = get_u32(bytes + STREAM_AT_FRAME_BYTES);
    if (field_bytes > 0 && frame_bytes < whole_bytes) { // a field's cells are cut before all layers
        const uint32_t fine_bytes = get_u32(table + layers_bytes + FIELD_AT_FINE_BYTES);
        if (fine_bytes > whole_bytes) {
            return TARN_E_MALFORMED;
        }
        whole_bytes -= fine_bytes;
    }
    const int layers = count_layers(table, layer_count, whole_bytes, frame_bytes);
    if (layers < 0) {
        return TARN_E_MALFORMED;
    }
    head->layers = (uint32_t)layers;
    head->kind = (tarn_stream_kind)bytes[STREAM_AT_KIND];
    head->epoch = get_u32(bytes + STREAM_AT_EPOCH);
    head->step = get_u64(bytes + STREAM_AT_STEP);
    head->number = get_u32(bytes + STREAM_AT_NUMBER);
    head->reference = get_u32(bytes + STREAM_AT_REFERENCE);
    return TARN_OK;
}

uint32_t load_frame_input_of(const load_frame_head *head, uint32_t viewer_id)
{
    for (uint32_t i = 0; i < head->input_count; i++) {
        const uint8_t *entry = head->inputs + (size_t)i * TARN_FRAME_INPUT_BYTES;
        if (get_u32(entry + INPUT_AT_VIEWER_ID) == viewer_id) {
            return get_u32(entry + INPUT_AT_SEQUENCE);
        }
    }
    return 0;
}

const char *load_chain_follow(load_chain *chain, const load_frame_head *head)
{
    const bool is_key = head->kind == TARN_STREAM_KEY, continues = chain->begun && chain->epoch == head->epoch;
    const bool repeats = is_key && head->number == chain->number; // with more layers, while the tank is paused
    const char *wrong = NULL;
    if (!is_key && (!continues || head->reference != chain->reference)) {
        wrong = "a viewer was sent a frame whose reference it doesn't have";
    } else if (continues && (int32_t)(head->number - chain->number) <= 0 && !repeats) {
        wrong = "a viewer was sent a frame behind a newer one";
    } else if (continues && head->step < chain->step) {
        wrong = "a viewer was sent a frame of an earlier step than the one before";
    }
    // What cannot be decoded is no reference either.
    chain->begun = is_key || (chain->begun && wrong == NULL);
    chain->epoch = head->epoch;
    chain->number = head->number;
    chain->step = head->step;
    chain->reference = head->kind == TARN_STREAM_EXTRA ? chain->reference : head->number;
    return wrong;
}

void load_decoder_free(load_decoder *decoder)
{
    free(decoder->memory);
    free(decoder->particles.positions);
    free(decoder->particles.velocities);
    *decoder = (load_decoder){0};
}

/// Makes a decoder for what a key frame promises.
static tarn_status make_room(load_decoder *decoder, const tarn_stream_frame *key)
{
    const tarn_stream_size size = tarn_stream_size_of(key);
    const size_t bytes = tarn_stream_bytes(&size), slots = size.slots > 0 ? size.slots : 1;
    tarn_stream_particles *particles = &decoder->particles;
    load_decoder_free(decoder);
    if (bytes > LOAD_DECODER_BYTES_MAX) {
        return TARN_E_LIMIT;
    }
    decoder->memory = malloc(bytes);
    particles->positions = malloc(slots * 4 * sizeof *particles->positions);
    particles->velocities = malloc(slots * 4 * sizeof *particles->velocities);
    if (decoder->memory == NULL || particles->positions == NULL || particles->velocities == NULL) {
        load_decoder_free(decoder);
        return TARN_E_MEMORY;
    }
    decoder->stream = tarn_stream_make(decoder->memory, &size);
    particles->particles_max = size.slots;
    return TARN_OK;
}

static tarn_status decode(load_decoder *decoder, const tarn_stream_frame *frame)
{
    const bool is_key = frame->head.kind == TARN_STREAM_KEY;
    if (decoder->stream == NULL && !is_key) {
        return TARN_E_STATE;
    }
    tarn_status status =
        decoder->stream != NULL ? tarn_stream_decode(decoder->stream, frame, &decoder->particles) : TARN_E_SPACE;
    if (status == TARN_E_SPACE && is_key) {
        status = make_room(decoder, frame);
        if (status == TARN_OK) {
            status = tarn_stream_decode(decoder->stream, frame, &decoder->particles);
        }
    }
    return status;
}

/// Whether the layers that are there could all be decoded: none may be sent whose chain the viewer has lost.
static bool all_there(const tarn_stream_frame *frame, const tarn_stream_particles *particles)
{
    uint64_t count = 0;
    for (uint32_t layer = 0; layer < frame->layers_present; layer++) {
        count += frame->head.layers[layer].particles;
    }
    return count == particles->count;
}

static bool all_inside(const tarn_stream_head *head, const tarn_stream_particles *particles)
{
    for (size_t i = 0; i < particles->count; i++) {
        for (size_t axis = 0; axis < 3; axis++) {
            if (particles->positions[4 * i + axis] >= (uint32_t)head->cells[axis] << particles->unit_bits) {
                return false;
            }
        }
    }
    return true;
}

tarn_status load_decoder_decode(load_decoder *decoder, const uint8_t *bytes, size_t byte_count)
{
    tarn_stream_frame frame;
    tarn_status status = tarn_stream_open(bytes, byte_count, &frame);
    if (status == TARN_OK) {
        status = decode(decoder, &frame);
    }
    if (status == TARN_OK &&
        !(all_there(&frame, &decoder->particles) && all_inside(&frame.head, &decoder->particles))) {
        status = TARN_E_MALFORMED;
    }
    return status;
}

// ---- frames decoded aside ----
// One viewer's frames at a time go through the decoder on another thread: start at load_checks_frame.

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

// ---- the log of frames ----
// A ring in the order of epochs and steps; what is late is looked for backwards.

/// How a frame stands to an entry: above 0 where the entry is newer, 0 where it is the same frame.
static int compare(const load_frame_log *log, uint64_t serial, uint32_t epoch, uint64_t step)
{
    uint32_t known_epoch = log->entries[serial % LOAD_FRAME_LOG_ENTRIES].epoch;
    uint64_t known_step = log->entries[serial % LOAD_FRAME_LOG_ENTRIES].step;
    if (known_epoch != epoch) {
        return (int32_t)(known_epoch - epoch) > 0 ? 1 : -1; // epochs wrap around
    }
    return known_step > step ? 1 : known_step < step ? -1 : 0;
}

uint64_t load_frame_log_note(load_frame_log *log, uint32_t epoch, uint64_t step)
{
    uint64_t oldest = log->count > LOAD_FRAME_LOG_ENTRIES ? log->count - LOAD_FRAME_LOG_ENTRIES : 0;
    uint64_t serial = log->count;
    while (serial > oldest && compare(log, serial, epoch, step) > 0) {
        serial--;
    }
    if (serial > oldest && compare(log, serial, epoch, step) == 0) {
        return serial;
    }
    if (serial < log->count) {
        return serial + 1;
    }
    log->count++;
    log->entries[log->count % LOAD_FRAME_LOG_ENTRIES].epoch = epoch;
    log->entries[log->count % LOAD_FRAME_LOG_ENTRIES].step = step;
    return log->count;
}

// ---- histograms ----
// Buckets by power of two and equal parts of it: start at bucket_of.

enum { PARTS = 1 << LOAD_HISTOGRAM_PARTS_LOG2 };

/// Times below PARTS have a bucket each; above, each power of two has PARTS.
static uint32_t bucket_of(uint64_t ns)
{
    if (ns < PARTS) {
        return (uint32_t)ns;
    }
    uint32_t power = 63 - (uint32_t)__builtin_clzll(ns), shift = power - LOAD_HISTOGRAM_PARTS_LOG2;
    return ((shift + 1) << LOAD_HISTOGRAM_PARTS_LOG2) + (uint32_t)((ns >> shift) - PARTS);
}

static uint64_t middle_of(uint32_t bucket)
{
    if (bucket < PARTS) {
        return bucket;
    }
    uint32_t shift = (bucket >> LOAD_HISTOGRAM_PARTS_LOG2) - 1;
    uint64_t first = (uint64_t)(PARTS + (bucket & (PARTS - 1))) << shift;
    return first + (((uint64_t)1 << shift) >> 1);
}

void load_histogram_add(load_histogram *histogram, uint64_t ns)
{
    histogram->count++;
    histogram->sum_ns += ns;
    if (ns > histogram->max_ns) {
        histogram->max_ns = ns;
    }
    histogram->buckets[bucket_of(ns)]++;
}

uint64_t load_histogram_at(const load_histogram *histogram, double share)
{
    uint64_t rank = (uint64_t)ceil(share * (double)histogram->count), seen = 0;
    for (uint32_t i = 0; i < LOAD_HISTOGRAM_BUCKETS && histogram->count > 0; i++) {
        seen += histogram->buckets[i];
        if (seen >= rank && seen > 0) {
            uint64_t ns = middle_of(i);
            return ns < histogram->max_ns ? ns : histogram->max_ns;
        }
    }
    return histogram->max_ns;
}
