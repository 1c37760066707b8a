// How many kernels a step launches, one after the other, and with `bench_bytes` how many bytes of device memory they
// touch: what a step takes at least on a GPU, where each launch waits for the one before it. Then the same of frames,
// and how often the host waits for them. Prints tables; asserts nothing.
#include "kernels/device/chain_record.h"
#include "kernels/device/device_internal.h"
#include "kernels/encoder.h"
#include "kernels/step_input.h"
#include "kernels/tank/tank_internal.h"
#include "server/base/options.h"
#ifndef TARN_WATCHED
#define TARN_WATCHED 0
#endif
#if TARN_WATCHED
#include "tests/kernels/races.h"
#endif

#include <argp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KERNELS_MAX = 256, PARTICLES = 102400, MANY_PARTICLES = 2073600, WARM_UP_STEPS = 3 };
enum { AT_ONCE = 264 };                            ///< two blocks on each of 132 multiprocessors
enum { FRAME_BYTES_MAX = 64 << 20, PRESSURE = 5 }; ///< the liquid's channel as frames number it

#define LAUNCH_US 2.5      ///< that a launch takes which waits for the one before it
#define PHASE_US 1.5       ///< the same of one within a chain, which waits for all blocks of the one before it
#define BYTES_PER_US 3.0e6 ///< of a device with 3 TB/s

typedef struct counted {
    const tarn_kernel *kernel;
    uint64_t launches, phases, tiles, most_tiles; ///< phases: launches within a chain
} counted;

static counted kernels[KERNELS_MAX];
static uint32_t kernel_count;
static uint64_t rounds, fills, chains, turns; ///< turns: launches that say whether a loop of launches goes on
static uint64_t downloads, downloaded_bytes, uploads, uploaded_bytes, waits;
static bool in_chain;
static chain_record *recording; ///< of a chain that is looked at: nothing is launched
static const char *refused;     ///< why a chain can't be one launch; NULL: all can
static const tarn_device_ops *real;

// ------------------------------------------------------------------------------------------------------------ counting

static void count_launch(tarn_queue *queue, const tarn_kernel *kernel, const void *args, const uint32_t *count,
                         uint32_t count_max)
{
    uint32_t i = 0;
    if (recording != NULL) {
        chain_record_launch(recording, kernel, args, count, count_max);
        return;
    }
    while (i < kernel_count && kernels[i].kernel != kernel) {
        i++;
    }
    if (i == kernel_count && kernel_count < KERNELS_MAX) {
        kernels[kernel_count++].kernel = kernel;
    }
    if (i < KERNELS_MAX && count_max > 0) {
        const uint64_t tiles = count != NULL && *count < count_max ? *count : count_max;
        *(in_chain ? &kernels[i].phases : &kernels[i].launches) += 1;
        kernels[i].tiles += tiles;
        kernels[i].most_tiles = tiles > kernels[i].most_tiles ? tiles : kernels[i].most_tiles;
    }
    real->launch(queue, kernel, args, count, count_max);
}

static tarn_status count_zero(tarn_queue *queue, void *to, size_t bytes)
{
    if (recording != NULL) {
        chain_record_refuse(recording, "it fills memory");
        return TARN_OK;
    }
    fills++;
    return real->zero(queue, to, bytes);
}

static tarn_status count_download(tarn_queue *queue, void *to, const void *from, size_t bytes)
{
    downloads++;
    downloaded_bytes += bytes;
    return real->download(queue, to, from, bytes);
}

static tarn_status count_upload(tarn_queue *queue, void *to, const void *from, size_t bytes)
{
    uploads++;
    uploaded_bytes += bytes;
    return real->upload(queue, to, from, bytes);
}

static tarn_status count_wait(tarn_queue *queue)
{
    waits++;
    return real->wait(queue);
}

/// As the CPU device does, so that every round is counted.
static void count_repeat(tarn_queue *queue, const uint32_t *go, uint32_t times, void (*body)(void *), void *context)
{
    (void)queue;
    if (recording != NULL) {
        chain_record_loop(recording, go, times);
        body(context);
        chain_record_loop_end(recording);
        return;
    }
    turns += !in_chain; // before the first round
    for (uint32_t round = 0; round < times && *go != 0; round++) {
        rounds++;
        turns += !in_chain;
        body(context);
    }
}

/// Whether it can be one launch, as far as this build knows.
static bool is_one_launch(const tarn_chain *chain, void (*body)(void *), void *context)
{
    static chain_record record;
    if (!chain_record_begin(&record, chain)) {
        return true;
    }
    recording = &record;
    body(context);
    recording = NULL;
    const bool is_one = chain_record_end(&record);
    refused = is_one ? refused : record.why;
    chain_record_free(&record);
    return is_one;
}

/// Where a chain is one launch, what it does one after the other is counted.
static void count_chain(tarn_queue *queue, const tarn_chain *chain, uint32_t blocks_max, void (*body)(void *),
                        void *context)
{
    (void)queue;
    (void)blocks_max;
    in_chain = is_one_launch(chain, body, context);
    chains += in_chain;
    body(context);
    in_chain = false;
}

static uint32_t blocks_at_once;

static uint32_t count_chain_tiles(tarn_queue *queue, const tarn_chain *chain)
{
    (void)queue;
    (void)chain;
    return blocks_at_once;
}

/// Nothing is replayed: what a step launches is launched by it.
static void count_run(tarn_queue *queue, tarn_replay **replay, void (*body)(void *), void *context)
{
    (void)queue;
    (void)replay;
    body(context);
}

static void count_from_now(void)
{
    memset(kernels, 0, sizeof kernels);
    kernel_count = 0;
    rounds = fills = chains = turns = 0;
    downloads = downloaded_bytes = uploads = uploaded_bytes = waits = 0;
#if TARN_WATCHED
    races_count_bytes_anew();
#endif
}

static void watch_device(tarn_device *device)
{
    static tarn_device_ops counting;
    real = device->ops;
    counting = *real;
    counting.launch = count_launch;
    counting.zero = count_zero;
    counting.download = count_download;
    counting.upload = count_upload;
    counting.wait = count_wait;
    counting.repeat = count_repeat;
    counting.chain = count_chain;
    counting.chain_tiles = count_chain_tiles;
    counting.run = count_run;
    device->ops = &counting;
}

// -------------------------------------------------------------------------------------------------------------- tables

static int by_launches(const void *a, const void *b)
{
    const counted *x = a, *y = b;
    const uint64_t first = x->launches + x->phases, second = y->launches + y->phases;
    return (first < second) - (first > second);
}

static void bytes_of(const char *kernel, uint64_t *read, uint64_t *written)
{
    *read = *written = 0;
#if TARN_WATCHED
    races_bytes(kernel, read, written);
#else
    (void)kernel;
#endif
}

/// What tests/gpu/gpu_bytes.inc is.
static void print_bytes(double particles)
{
    for (uint32_t i = 0; i < kernel_count; i++) {
        uint64_t read, written;
        bytes_of(kernels[i].kernel->name, &read, &written);
        if (kernels[i].launches + kernels[i].phases > 0) {
            printf("{\"%s\", %.3ff, %.3ff},\n", kernels[i].kernel->name, (double)read / particles,
                   (double)written / particles);
        }
    }
}

/// @param substeps  of all steps
static void print_table(uint32_t particles, uint32_t steps, uint64_t substeps)
{
    uint64_t launches = chains, phases = 0, read_all = 0, written_all = 0;
    const double per_step = 1.0 / steps;
    qsort(kernels, kernel_count, sizeof kernels[0], by_launches);
    printf("\n%u particles, %u steps of %.2f substeps, %.1f rounds of loops a step\n\n", particles, steps,
           (double)substeps * per_step, (double)rounds * per_step);
    printf("| kernel | launches a step | in chains | tiles a launch | at most | MB a step: read | written "
           "|\n|---|---|---|---|---|---|---|\n");
    for (uint32_t i = 0; i < kernel_count; i++) {
        const counted *k = &kernels[i];
        if (k->launches + k->phases == 0) { // over no tiles
            continue;
        }
        uint64_t read, written;
        bytes_of(k->kernel->name, &read, &written);
        launches += k->launches;
        phases += k->phases;
        read_all += read;
        written_all += written;
        printf("| %s | %.2f | %.2f | %.0f | %llu | %.3f | %.3f |\n", k->kernel->name, (double)k->launches * per_step,
               (double)k->phases * per_step, (double)k->tiles / (double)(k->launches + k->phases),
               (unsigned long long)k->most_tiles, (double)read * per_step * 1e-6, (double)written * per_step * 1e-6);
    }
    const double bytes = (double)(read_all + written_all) * per_step;
    launches += turns;
    const double launch_us = ((double)launches + (double)fills) * per_step * LAUNCH_US,
                 phase_us = (double)phases * per_step * PHASE_US, memory_us = bytes / BYTES_PER_US;
    printf("\n%.1f launches and %.1f fills a step, one after the other: %.3f ms at %.1f us each\n",
           (double)launches * per_step, (double)fills * per_step, 1e-3 * launch_us, LAUNCH_US);
    printf("of them %.1f loops' own, %.1f chains, in which %.1f kernels follow each other: %.3f ms at %.1f us each; ",
           (double)turns * per_step, (double)chains * per_step, (double)phases * per_step, 1e-3 * phase_us, PHASE_US);
    printf("%.3f ms in all\n", 1e-3 * (launch_us + phase_us));
    if (refused != NULL) {
        printf("not all chains are one launch: %s\n", refused);
    }
    if (bytes > 0) {
        printf("%.1f bytes a particle and substep: %.3f ms a step at 3 TB/s, %.3f ms in all\n",
               bytes * steps / ((double)particles * (double)substeps), 1e-3 * memory_us,
               1e-3 * (launch_us + phase_us + memory_us));
    }
}

static void print_frame(const char *name, uint32_t frame_bytes)
{
    uint64_t launches = 0, read_all = 0, written_all = 0;
    for (uint32_t i = 0; i < kernel_count; i++) {
        uint64_t read, written;
        bytes_of(kernels[i].kernel->name, &read, &written);
        launches += kernels[i].launches;
        read_all += read;
        written_all += written;
    }
    printf("| %s | %llu | %llu | %llu | %llu | %llu | %.1f | %.1f | %.0f | %.0f | %.1f |\n", name,
           (unsigned long long)launches, (unsigned long long)fills, (unsigned long long)downloads,
           (unsigned long long)waits, (unsigned long long)uploads, (double)downloaded_bytes * 1e-3,
           (double)uploaded_bytes * 1e-3, (double)read_all * 1e-3, (double)written_all * 1e-3,
           (double)frame_bytes * 1e-3);
}

// ---------------------------------------------------------------------------------------------------------- the
// program

/// A tank of 1 m with a block of water at one end, eight particles to a cell; and at the other one as high of a liquid
/// that is a thousandth as dense.
static void describe(tarn_tank_desc *desc, uint32_t particles, bool has_contrast)
{
    const float share[3] = {0.4f, 0.8f, 1.0f};
    tarn_tank_desc_default(desc);
    const double n = round(cbrt((double)particles / (8.0 * (has_contrast ? 1.0 : 0.4) * 0.8)));
    desc->cell_m = 1.0f / (float)n;
    desc->block_count = 1;
    for (int a = 0; a < 3; a++) {
        desc->cells[a] = (uint16_t)n;
        desc->blocks[0].max_m[a] = share[a] * (float)n * desc->cell_m;
    }
    if (has_contrast) {
        desc->block_count = desc->liquid_count = 2;
        desc->liquids[0].density_kg_m3 = 1000.0f;
        desc->liquids[1] = desc->liquids[0];
        desc->liquids[1].density_kg_m3 = 1.0f;
        desc->blocks[1] = desc->blocks[0];
        desc->blocks[1].liquid = 1;
        desc->blocks[1].min_m[0] = desc->blocks[0].max_m[0];
        desc->blocks[1].max_m[0] = 1.0f;
    }
}

/// Frames of each kind, a step before each, of a tank that has been stepped.
static tarn_status count_frames(tarn_tank *tank)
{
    static const struct {
        const char *name;
        tarn_stream_kind kind;
        uint32_t channel; ///< 1 more than its number; 0: none
    } frames[] = {{"key", TARN_STREAM_KEY, 0},
                  {"extra", TARN_STREAM_EXTRA, 0},
                  {"base", TARN_STREAM_BASE, 0},
                  {"base, with the pressure", TARN_STREAM_BASE, PRESSURE}};
    const tarn_tank_frame_info info = {.epoch = 1, .realtime_factor = 1.0f};
    tarn_encoder_desc how;
    tarn_encoder *encoder = NULL;
    tarn_stream_head head;
    uint8_t *bytes = malloc(FRAME_BYTES_MAX);
    tarn_encoder_desc_default(&how);
    tarn_status status = bytes != NULL ? tarn_encoder_create(tank, &how, &encoder) : TARN_E_MEMORY;
    printf(
        "\n| frame | launches | fills | downloads | other waits | uploads | kB down | kB up | kB of device memory read "
        "| written | kB of the frame |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof frames / sizeof frames[0] && status == TARN_OK; i++) {
        status = tarn_tank_step(tank, NULL);
        status = status == TARN_OK ? tarn_encoder_carry(encoder, frames[i].channel) : status;
        count_from_now();
        if (status == TARN_OK) {
            status = tarn_encoder_encode(encoder, frames[i].kind, &info, bytes, FRAME_BYTES_MAX, &head);
        }
        if (status == TARN_OK) {
            print_frame(frames[i].name, head.frame_bytes);
        }
    }
    tarn_encoder_destroy(encoder);
    free(bytes);
    return status;
}

typedef struct launch_options {
    uint32_t particles, steps, at_once;
    bool per_particle, has_contrast;
} launch_options;

static int run(uint32_t particles, uint32_t steps, const launch_options *options)
{
    const tarn_device_desc on = {.kind = TARN_WATCHED ? TARN_DEVICE_CUDA : TARN_DEVICE_CPU};
    tarn_device *device;
    tarn_tank *tank;
    tarn_tank_desc desc;
    tarn_tank_report report;
    uint64_t substeps = 0;
    char why[256] = "";
    describe(&desc, particles, options->has_contrast);
    blocks_at_once = options->at_once;
    tarn_status status = tarn_device_create(&on, &device);
    if (status != TARN_OK) {
        fprintf(stderr, "bench_launches: the device: %s\n", tarn_status_text(status));
        return EXIT_FAILURE;
    }
    watch_device(device);
    status = tarn_tank_create(device, &desc, &tank, why, sizeof why);
    if (status == TARN_OK && tank->args->cuts == 0) {
        tank->args->cuts = 1; // pieces as on a GPU, and seeded as such
        status = tarn_tank_reset(tank);
    }
    for (uint32_t i = 0; i < WARM_UP_STEPS + steps && status == TARN_OK; i++) {
        if (i == WARM_UP_STEPS) {
            count_from_now();
        }
        status = tarn_tank_step(tank, NULL);
        tarn_tank_report_light(tank, &report);
        substeps += i >= WARM_UP_STEPS ? report.substeps : 0;
    }
    if (status == TARN_OK) {
        if (options->per_particle) {
            print_bytes((double)report.particle_count * (double)substeps);
        } else {
            print_table(report.particle_count, steps, substeps);
            status = count_frames(tank);
        }
        tarn_tank_destroy(tank);
    }
    if (status != TARN_OK) {
        fprintf(stderr, "bench_launches: %s: %s\n", tarn_status_text(status), why);
    }
    device->ops = real;
    tarn_device_destroy(device);
    return status == TARN_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    launch_options *options = state->input;
    switch (key) {
    case 'p':
        options->particles = (uint32_t)tarn_option_number(state, "--particles", text, 1000, 16000000);
        return 0;
    case 's':
        options->steps = (uint32_t)tarn_option_number(state, "--steps", text, 1, 100000);
        return 0;
    case 'o':
        options->at_once = (uint32_t)tarn_option_number(state, "--at-once", text, 0, 1000000);
        return 0;
    case 'b':
        options->per_particle = true;
        return 0;
    case 'c':
        options->has_contrast = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp_option known[] = {
        {"particles", 'p', "N", 0, "of the dam break; default: 102400, and 2073600", 0},
        {"steps", 's', "N", 0, "counted, after three others; default: 60, of the larger one 5", 0},
        {"at-once", 'o', "N", 0, "blocks of a chain that the device runs side by side; default: 264, of an H200", 0},
        {"contrast", 'c', NULL, 0, "with a liquid beside the water that is a thousandth as dense", 0},
        {"per-particle", 'b', NULL, 0, "bytes a particle and substep, as tests/gpu/gpu_bytes.inc has them", 0},
        {0}};
    static const struct argp argp = {
        .options = known, .parser = parse, .doc = "Counts what a step of a dam break launches."};
    launch_options options = {.at_once = AT_ONCE};
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    if (options.particles != 0) {
        return run(options.particles, options.steps != 0 ? options.steps : 60, &options);
    }
    const int first = run(PARTICLES, options.steps != 0 ? options.steps : 60, &options);
    return first != EXIT_SUCCESS ? first : run(MANY_PARTICLES, options.steps != 0 ? options.steps : 5, &options);
}
