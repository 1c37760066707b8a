// What validating builds check at a stage's end can fail: each invariant is broken once, in a child, which ends with
// the sentence of the assertion that is for it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> // needs those above

#include "kernels/stream/encoder.h"
#include "kernels/tank/tank_internal.h"
#include "tests/kernels/tank_fixtures.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FRAME_BYTES_MAX = 8 << 20 };

typedef struct stage {
    tarn_device *device;
    tarn_tank *tank;
    tarn_encoder *encoder;
} stage;

static stage stepped; // and encoded; children break their copy

static void move_a_particle(void)
{
    stepped.tank->args->store.position[0][0] ^= 1u << TILE_POSITION_BITS;
}

static void let_a_velocity_be_none(void)
{
    stepped.tank->args->store.velocity[1][0] = tile_f32_bits(0x7fc00000u);
}

static void shift_a_tile(void)
{
    const tank_args *args = stepped.tank->args;
    args->store.tile_first[args->grid.m.level[0].tile[1]]++;
}

static void swap_two_tiles(void)
{
    const grid_level *level = &stepped.tank->args->grid.m.level[0];
    const uint32_t first = level->tile[0];
    level->tile[0] = level->tile[1];
    level->tile[1] = first;
    level->index[level->tile[0]] = 0;
    level->index[level->tile[1]] = 1;
}

static void forget_a_slot(void)
{
    const grid_memory *m = &stepped.tank->args->grid.m;
    m->slot[m->active_tile[0]] = TILE_NONE;
}

static void leave_an_index(void)
{
    const grid_level *level = &stepped.tank->args->grid.m.level[0];
    for (uint32_t dense = 0;; dense++) {
        if (level->index[dense] == TILE_NONE) {
            level->index[dense] = 0;
            return;
        }
    }
}

static void leave_a_bit(void)
{
    stepped.tank->args->grid.m.active_bits[0] |= 1;
}

static void seat_two_at_a_place(void)
{
    stepped.encoder->args.seat[1] = stepped.encoder->args.seat[0];
}

static void seat_one_nowhere(void)
{
    stepped.encoder->args.seat[0] = stepped.tank->particle_count;
}

static void give_a_slot_twice(void)
{
    stepped.encoder->args.w.place_slot[1] = stepped.encoder->args.w.place_slot[0];
}

static void shift_a_tile_of_the_reference(void)
{
    stepped.encoder->args.w.tile[1].first++;
}

static void keep_all(void)
{
}

static const struct {
    void (*breaks)(void);
    const char *sentence; ///< NULL: none
} invariants[] = {
    {keep_all, NULL},
    {move_a_particle, "== dense"},
    {let_a_velocity_be_none, "fabsf(store->velocity[a][i]) <= SPEED_MAX"},
    {shift_a_tile, "first == particles"},
    {swap_two_tiles, "list[i - 1] < list[i]"},
    {forget_a_slot, "table[list[i]] == i"},
    {leave_an_index, "listed == count"},
    {leave_a_bit, "bits[word] == 0"},
    {seat_two_at_a_place, "s->bits[number / 8]"},
    {seat_one_nowhere, "number < s->count"},
    {give_a_slot_twice, "s->bits[number / 8]"},
    {shift_a_tile_of_the_reference, "tile->first == places"},
};

/// @return how the child ended; text is what it said
static int validate_in_child(void (*breaks)(void), char *text, size_t text_bytes)
{
    int ends[2], status = 0;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit none = {0, 0};
        (void)setrlimit(RLIMIT_CORE, &none);
        (void)signal(SIGABRT, SIG_DFL); // not cmocka's
        (void)dup2(ends[1], STDERR_FILENO);
        breaks();
        tank_validate(stepped.tank);
        encoder_validate(stepped.encoder);
        _exit(0);
    }
    close(ends[1]);
    const ssize_t bytes = read(ends[0], text, text_bytes - 1);
    text[bytes > 0 ? bytes : 0] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void each_broken_invariant_stops_with_its_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof invariants / sizeof invariants[0]; i++) {
        char text[4096];
        const int status = validate_in_child(invariants[i].breaks, text, sizeof text);
        if (invariants[i].sentence == NULL) {
            assert_string_equal(text, "");
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        } else if (!WIFSIGNALED(status) || strstr(text, invariants[i].sentence) == NULL) {
            fail_msg("%zu: found \"%s\", wanted \"%s\"", i, text, invariants[i].sentence);
        }
    }
}

static int open_stage(void **state)
{
    (void)state;
    const tarn_device_desc one_thread = {.kind = TARN_DEVICE_CPU, .threads = 1}; // none is left behind in a child
    const tarn_tank_frame_info info = {.epoch = 1, .realtime_factor = 1.0f};
    uint8_t *bytes = malloc(FRAME_BYTES_MAX);
    tarn_encoder_desc desc;
    tarn_tank_desc tank;
    tarn_stream_head head;
    char why[256];
    tarn_encoder_desc_default(&desc);
    tarn_tank_desc_default(&tank);
    tank_fixtures[0].describe(&tank);
    assert_int_equal(tarn_device_create(&one_thread, &stepped.device), TARN_OK);
    assert_int_equal(tarn_tank_create(stepped.device, &tank, &stepped.tank, why, sizeof why), TARN_OK);
    assert_int_equal(tarn_encoder_create(stepped.tank, &desc, &stepped.encoder), TARN_OK);
    for (int step = 0; step < 4; step++) {
        assert_int_equal(tarn_tank_step(stepped.tank, NULL), TARN_OK);
        const tarn_stream_kind kind = step == 0 ? TARN_STREAM_KEY : TARN_STREAM_BASE;
        assert_int_equal(tarn_encoder_encode(stepped.encoder, kind, &info, bytes, FRAME_BYTES_MAX, &head), TARN_OK);
    }
    free(bytes);
    return 0;
}

static int close_stage(void **state)
{
    (void)state;
    tarn_encoder_destroy(stepped.encoder);
    tarn_tank_destroy(stepped.tank);
    tarn_device_destroy(stepped.device);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_broken_invariant_stops_with_its_sentence)};
    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
