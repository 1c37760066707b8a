// How far off a viewer's picture is between two frames: each particle goes on from a frame with its velocity, and is
// compared with where it is. README.md says how the figures are meant.
#include "kernels/step_input.h"
#include "tests/bench/stream_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AGES = 6, BINS = 4096 }; // steps after a frame; bins of 1/256 cell

/// What is sent: a frame every so many steps, some of them base frames.
typedef struct sent_frames {
    uint32_t every, base_every;
} sent_frames;

/// Errors in cells of one age.
typedef struct error_sum {
    double squares, still_squares, count;
    uint32_t bins[BINS];
} error_sum;

/// What a viewer holds of the newest base frame.
typedef struct held_frame {
    uint16_t *positions;
    int8_t *velocities;
    uint32_t count;
    float cells_per_step; ///< of a velocity of 1
    float unit;           ///< of positions, in cells
} held_frame;

static void hold(held_frame *held, const tarn_stream_particles *p, const tarn_tank_desc *desc)
{
    held->count = p->count;
    held->positions = realloc(held->positions, 8 * (size_t)p->count);
    held->velocities = realloc(held->velocities, 4 * (size_t)p->count);
    memcpy(held->positions, p->positions, 8 * (size_t)p->count);
    memcpy(held->velocities, p->velocities, 4 * (size_t)p->count);
    held->cells_per_step = p->velocity_scale_m_s * desc->dt_s / desc->cell_m;
    held->unit = ldexpf(1.0f, -(int)p->unit_bits);
}

/// Extra frames have the particles of the base frame that they refer to, in the same order.
static void compare(const held_frame *held, const tarn_stream_particles *now, uint32_t age, error_sum *sum)
{
    for (size_t i = 0; i < now->count; i++) {
        float squares = 0.0f, still = 0.0f;
        for (size_t a = 0; a < 3; a++) {
            const float moved = held->unit * (float)((int)now->positions[4 * i + a] - held->positions[4 * i + a]);
            const float off = moved - held->cells_per_step * (float)age * (float)held->velocities[4 * i + a];
            squares += off * off;
            still += moved * moved;
        }
        const uint32_t bin = (uint32_t)(256.0f * sqrtf(squares));
        sum->bins[bin < BINS ? bin : BINS - 1]++;
        sum->squares += squares;
        sum->still_squares += still;
    }
    sum->count += now->count;
}

static double percentile(const error_sum *sum, double share)
{
    double below = 0.0;
    uint32_t bin = 0;
    while (bin < BINS - 1 && (below += sum->bins[bin]) < share * sum->count) {
        bin++;
    }
    return (bin + 1) / 256.0;
}

static void print(const sent_frames *sent, const error_sum *sums, float dt_s)
{
    for (uint32_t age = 1; age <= AGES; age++) {
        const error_sum *sum = &sums[age];
        if (sum->count > 0.0) {
            printf("  %8.0f   %6.1f   %7.3f  %5.3f  %5.3f   %7.3f\n", 1.0 / ((double)dt_s * sent->every),
                   1e3 * (double)dt_s * age, sqrt(sum->squares / sum->count), percentile(sum, 0.5),
                   percentile(sum, 0.99), sqrt(sum->still_squares / sum->count));
        }
    }
}

static tarn_stream_kind kind_of(const sent_frames *sent, uint32_t frame)
{
    return frame % 60 == 0 ? TARN_STREAM_KEY : frame % sent->base_every == 0 ? TARN_STREAM_BASE : TARN_STREAM_EXTRA;
}

/// A frame of every step, of which only some are held: extra frames change nothing, and the others say where particles
/// were in the meantime.
static bool run(bench_tank *bench, const sent_frames *sent, uint32_t steps, error_sum *sums)
{
    tarn_encoder_desc desc;
    tarn_encoder *encoder;
    tarn_encoder_desc_default(&desc);
    if (tarn_encoder_create(bench->tank, &desc, &encoder) != TARN_OK) {
        return false;
    }
    uint8_t *bytes = malloc(BENCH_FRAME_BYTES_MAX);
    bench_decoder decoder = {0};
    held_frame held = {0};
    uint32_t age = 0;
    bool is_well = true;
    for (uint32_t step = 0; is_well && step < steps; step++) {
        is_well = tarn_tank_step(bench->tank, NULL) == TARN_OK;
        if (step < BENCH_STEPS_FIRST) {
            continue;
        }
        const uint32_t frame = step - BENCH_STEPS_FIRST;
        const tarn_tank_frame_info info = {.epoch = 1, .realtime_factor = 1.0f};
        tarn_stream_head head;
        is_well =
            is_well &&
            tarn_encoder_encode(encoder, kind_of(sent, frame), &info, bytes, BENCH_FRAME_BYTES_MAX, &head) == TARN_OK &&
            bench_decode(&decoder, bytes, head.frame_bytes, NULL);
        age++;
        if (is_well && head.kind == TARN_STREAM_EXTRA && age <= AGES && decoder.out.count == held.count) {
            compare(&held, &decoder.out, age, &sums[age]);
        }
        if (is_well && frame % sent->every == 0) {
            hold(&held, &decoder.out, &bench->scene.tank);
            age = 0;
        }
    }
    bench_decoder_free(&decoder);
    free(held.positions);
    free(held.velocities);
    free(bytes);
    tarn_encoder_destroy(encoder);
    return is_well;
}

static bool run_scene(const char *scene, uint32_t steps)
{
    static const sent_frames rates[] = {{1, 4}, {2, 4}, {6, 6}}; // base frames at most 15 a second, as served
    static error_sum sums[AGES + 1];
    bench_tank bench;
    if (!bench_tank_open(&bench, scene)) {
        return false;
    }
    bool is_well = true;
    printf("%s\n  frames/s   ms old   RMS off   half   99 %%   RMS if it stood still   (cells)\n", scene);
    for (int r = 0; is_well && r < 3; r++) {
        memset(sums, 0, sizeof sums);
        is_well = tarn_tank_reset(bench.tank) == TARN_OK && run(&bench, &rates[r], steps, sums);
        if (is_well) {
            print(&rates[r], sums, bench.scene.tank.dt_s);
        }
    }
    bench_tank_close(&bench);
    return is_well;
}

int main(int argc, char **argv)
{
    static const char *const usual[] = {"dam-break", "drop-into-pool", "waterfall"};
    uint32_t steps = 270;
    int first = 1, is_well = 1;
    if (argc > 2 && strcmp(argv[1], "--steps") == 0 && sscanf(argv[2], "%u", &steps) == 1) {
        first = 3;
    } else if (argc > 1 && argv[1][0] == '-') {
        fprintf(stderr, "usage: bench_extrapolate [--steps N] [SCENE...]\n");
        return 2;
    }
    const int named = argc - first;
    for (int i = 0; i < (named > 0 ? named : 3); i++) {
        is_well &= run_scene(named > 0 ? argv[first + i] : usual[i], steps);
    }
    return is_well ? 0 : 1;
}
