// Any bytes as a tank's saved state. What its reader accepts is the same when it is written and read again; a tank
// takes it, or is as it was; what a tank took is stepped, encoded, saved and loaded. Begin at LLVMFuzzerTestOneInput.
//
// With TARN_FUZZ_SEEDS=FOLDER states to begin with are written there.
#include "kernels/encoder.h"
#include "kernels/tank/state.h"
#include "tests/fuzz/tiny_tank.h"

#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count);

static tarn_tank *tank;
static tarn_encoder *encoder;
static uint8_t start[TINY_TANK_STATE_BYTES], saved[TINY_TANK_STATE_BYTES], again[TINY_TANK_STATE_BYTES],
    frame[TINY_TANK_STATE_BYTES];
static size_t start_bytes;

static void step(const tarn_step_input *input)
{
    const tarn_status status = tarn_tank_step(tank, input);
    tiny_tank_must(status == TARN_OK, "a step", status);
}

static void load(const uint8_t *bytes, size_t byte_count, const char *what)
{
    const tarn_status status = tarn_tank_load(tank, bytes, byte_count);
    tiny_tank_must(status == TARN_OK, what, status);
}

static size_t save(uint8_t *bytes)
{
    size_t count = 0;
    const tarn_status status = tarn_tank_save(tank, bytes, TINY_TANK_STATE_BYTES, &count);
    tiny_tank_must(status == TARN_OK, "saving", status);
    return count;
}

static void encode(tarn_stream_kind kind)
{
    const tarn_tank_frame_info info = {.epoch = 1};
    tarn_stream_head head;
    const tarn_status status = tarn_encoder_encode(encoder, kind, &info, frame, sizeof frame, &head);
    tiny_tank_must(status == TARN_OK, "encoding", status);
}

// --------------------------------------------------------------------------------------------------------------- seeds

static void write_seeds(void)
{
    static tarn_step_input input;
    tiny_tank_write_seed("start", start, start_bytes);
    tiny_tank_input(tank, &input);
    step(&input);
    for (int i = 0; i < 20; i++) {
        step(NULL);
    }
    tiny_tank_write_seed("added", again, save(again));
    load(start, start_bytes, "loading the start");
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    tarn_encoder_desc desc;
    tank = tiny_tank(NULL);
    tarn_encoder_desc_default(&desc);
    tiny_tank_must(tarn_encoder_create(tank, &desc, &encoder) == TARN_OK, "the encoder", TARN_E_MEMORY);
    step(NULL);
    start_bytes = save(start);
    write_seeds();
    return 0;
}

// --------------------------------------------------------------------------------------------------------------
// reading

/// Reads into what is zero, so that states can be compared.
static bool read_state(const uint8_t *bytes, size_t byte_count, tank_state *state)
{
    memset(state, 0, sizeof *state);
    state->parameter_count = tank->model->shown.parameter_count;
    return tank_state_read(bytes, byte_count, state) == TARN_OK;
}

/// Whether the reader accepts it; if so, writes it and reads that.
static bool read_twice(const uint8_t *bytes, size_t byte_count)
{
    static tank_state found, other;
    if (!read_state(bytes, byte_count, &found)) {
        return false;
    }
    const size_t arrays = (size_t)found.particle_count * 4 * found.array_count, at = found.particles_at;
    tiny_tank_must(at <= byte_count && arrays <= byte_count - at, "arrays beyond the end", TARN_E_MALFORMED);
    const size_t head = tank_state_write(&found, again, STATE_BYTES_MAX);
    tiny_tank_must(head > 0 && head <= sizeof again && arrays <= sizeof again - head, "writing", TARN_E_SPACE);
    memcpy(again + head, bytes + at, arrays);
    tiny_tank_must(read_state(again, head + arrays, &other), "reading what was written", TARN_E_MALFORMED);
    other.particles_at = found.particles_at; // of the bytes, no part of what is saved
    tiny_tank_must(memcmp(&found, &other, sizeof found) == 0, "another state", TARN_E_MALFORMED);
    return true;
}

/// Whether the tank is in a state.
static void expect(const uint8_t *state, size_t byte_count, const char *what)
{
    tiny_tank_must(save(again) == byte_count && memcmp(state, again, byte_count) == 0, what, TARN_E_MALFORMED);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count)
{
    if (byte_count > TINY_TANK_STATE_BYTES - STATE_BYTES_MAX) {
        return 0;
    }
    const bool is_read = read_twice(bytes, byte_count);
    const tarn_status status = tarn_tank_load(tank, bytes, byte_count);
    tiny_tank_must(status == TARN_OK || status == TARN_E_MALFORMED, "loading", status);
    if (status == TARN_OK) {
        tiny_tank_must(is_read, "what the reader refuses was loaded", TARN_OK);
        encode(TARN_STREAM_KEY);
        step(NULL);
        encode(TARN_STREAM_BASE);
        const size_t saved_bytes = save(saved);
        load(saved, saved_bytes, "loading what was saved");
        expect(saved, saved_bytes, "a state that is loaded is another one");
        load(start, start_bytes, "loading the start");
    } else if (is_read) {
        expect(start, start_bytes, "a refused state left traces");
    }
    return 0;
}
