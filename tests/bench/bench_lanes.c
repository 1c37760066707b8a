// What it would cost to code each stream of a frame with several interleaved states instead of one: how many streams
// frames have, how long they are, and what share of the frames the further states would be. Prints tables; asserts
// nothing.
//
// A state begins at TARN_ANS_LOW, of which the reader learns nothing: 16 bits each.
#include "kernels/stream/encoder_internal.h"
#include "tests/bench/stream_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 270, KEY_EVERY = 30, STEPS_PER_FRAME = 2, LANE_BITS = 16, LANES_MAX = 32 };

typedef enum lanes_kind { LANES_FLOW, LANES_GROUPS, LANES_SETS, LANES_KINDS } lanes_kind;

typedef struct lanes_sum {
    uint64_t frames, bytes;
    uint64_t streams[LANES_KINDS], stream_bytes[LANES_KINDS];
} lanes_sum;

/// The streams that were brought into the newest frame.
static void add_streams(lanes_sum *sum, const tarn_encoder *e)
{
    for (uint32_t i = 0; i < e->args.w.plan->chunks; i++) {
        const stream_chunk *chunk = &e->args.w.chunk[i];
        if (chunk->source != STREAM_FROM_CODED || chunk->bytes == 0) {
            continue;
        }
        const lanes_kind kind = chunk->from < e->args.groups_at ? LANES_FLOW
                                : e->args.is_key                ? LANES_SETS
                                                                : LANES_GROUPS;
        sum->streams[kind]++;
        sum->stream_bytes[kind] += chunk->bytes;
    }
}

static void print_sum(const char *name, const lanes_sum *sum)
{
    static const char *const kinds[LANES_KINDS] = {"flow", "groups", "sets"};
    for (int k = 0; k < LANES_KINDS; k++) {
        if (sum->streams[k] == 0) {
            continue;
        }
        const double each = (double)sum->stream_bytes[k] / (double)sum->streams[k];
        printf("| %s | %s | %.1f | %.1f |", name, kinds[k], (double)sum->streams[k] / (double)sum->frames, each);
        for (uint32_t lanes = 2; lanes <= LANES_MAX; lanes *= 2) {
            printf(" %.2f |", 100.0 * (lanes - 1) * LANE_BITS / 8.0 * (double)sum->streams[k] / (double)sum->bytes);
        }
        printf("\n");
    }
}

static bool measure(tarn_tank *tank, const char *scene)
{
    static const char *const names[3] = {"key", "base", "extra"};
    const tarn_tank_frame_info info = {.epoch = 1, .realtime_factor = 1.0f};
    lanes_sum sums[3] = {0};
    tarn_encoder_desc desc;
    tarn_encoder *encoder = NULL;
    uint8_t *bytes = malloc(BENCH_FRAME_BYTES_MAX);
    tarn_encoder_desc_default(&desc);
    bool is_well = bytes != NULL && tarn_encoder_create(tank, &desc, &encoder) == TARN_OK;
    for (uint32_t step = 0; is_well && step < STEPS; step++) {
        is_well = tarn_tank_step(tank, NULL) == TARN_OK;
        if (step < BENCH_STEPS_FIRST || step % STEPS_PER_FRAME != 0) {
            continue;
        }
        const uint32_t frame = (step - BENCH_STEPS_FIRST) / STEPS_PER_FRAME;
        const tarn_stream_kind kind = frame % KEY_EVERY == 0 ? TARN_STREAM_KEY
                                      : frame % 2 == 0       ? TARN_STREAM_BASE
                                                             : TARN_STREAM_EXTRA;
        tarn_stream_head head;
        is_well = is_well && tarn_encoder_encode(encoder, kind, &info, bytes, BENCH_FRAME_BYTES_MAX, &head) == TARN_OK;
        if (is_well) {
            add_streams(&sums[head.kind], encoder);
            sums[head.kind].frames++;
            sums[head.kind].bytes += head.frame_bytes;
        }
    }
    printf(
        "\n%s: %% of a frame that further states would be\n\n| frame | streams | a frame | bytes each | 2 lanes | 4 | "
        "8 | 16 | 32 |\n|---|---|---|---|---|---|---|---|---|\n",
        scene);
    for (int k = 0; k < 3 && is_well; k++) {
        print_sum(names[k], &sums[k]);
    }
    tarn_encoder_destroy(encoder);
    free(bytes);
    return is_well;
}

int main(int argc, char **argv)
{
    bool is_well = argc > 1;
    if (!is_well) {
        fprintf(stderr, "usage: bench_lanes SCENE...\n");
    }
    for (int i = 1; i < argc && is_well; i++) {
        bench_tank bench;
        is_well = bench_tank_open(&bench, argv[i]);
        if (is_well) {
            is_well = measure(bench.tank, argv[i]);
            bench_tank_close(&bench);
        }
    }
    return is_well ? EXIT_SUCCESS : EXIT_FAILURE;
}
