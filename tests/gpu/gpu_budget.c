// Where a substep's time goes. Launches are counted on a CPU, where the same ones are made one by one; times are the
// device's own, by marks in what it replays; bytes come from a table that the emulated device has counted.
//
//     mark ─ p2g ─ mark ─ ... ─ mark ─ chain ─ mark ─ ... ─ sort ─ mark
//
// Both know the same marks but for those inside a chain, which is one launch on a GPU: what lies between two marks that
// both know is a row.
#include "kernels/device/device_internal.h"
#include "kernels/tank/tank_internal.h"
#include "tests/gpu/gpu_large.h"
#include "tests/gpu/gpu_play.h"
#include "tests/gpu/gpu_tanks.h"
#include "tests/gpu/gpu_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 3, KERNELS_MAX = 128, FILL_BYTES = 256 << 20, FILLS = 8 };

/// Between two marks, of all substeps that were counted.
typedef struct part {
    uint64_t launches, phases; ///< phases: kernels within chains
    double bytes;
    uint32_t unknown; ///< launches of kernels that the table doesn't have
    uint32_t stage;   ///< of the tank's profile, or STAGE_NONE
} part;

typedef struct counts {
    part of[TARN_QUEUE_MARKS_MAX];
    uint32_t parts; ///< of a substep
    uint64_t substeps;
    uint32_t particles;
    uint64_t launches_of[KERNELS_MAX]; ///< of each kernel, for what share of its bytes a launch has
} counts;

// What the CPU's operations are told by those that stand before them.
static counts *counting;
static uint32_t at;
static bool in_chain;
static const tarn_device_ops *real;
static const tarn_kernel *kernels[KERNELS_MAX];
static struct {
    uint32_t kernel, part;
    uint64_t launches;
} launched[KERNELS_MAX];
static uint32_t kernel_count, launched_count;

static uint32_t number_of(const tarn_kernel *kernel)
{
    uint32_t i = 0;
    while (i < kernel_count && kernels[i] != kernel) {
        i++;
    }
    if (i == kernel_count && kernel_count < KERNELS_MAX) {
        kernels[kernel_count++] = kernel;
    }
    return i;
}

static void note_kernel(uint32_t kernel)
{
    uint32_t i = 0;
    while (i < launched_count && (launched[i].kernel != kernel || launched[i].part != at)) {
        i++;
    }
    if (i == launched_count && launched_count < KERNELS_MAX) {
        launched[launched_count].kernel = kernel;
        launched[launched_count].part = at;
        launched[launched_count++].launches = 0;
    }
    if (i < KERNELS_MAX) {
        launched[i].launches++;
    }
}

static void count_launch(tarn_queue *queue, const tarn_kernel *kernel, const void *args, const uint32_t *count,
                         uint32_t count_max)
{
    const uint32_t number = number_of(kernel);
    if (counting != NULL && count_max > 0 && number < KERNELS_MAX && at < TARN_QUEUE_MARKS_MAX) {
        *(in_chain ? &counting->of[at].phases : &counting->of[at].launches) += 1;
        counting->launches_of[number]++;
        note_kernel(number);
    }
    real->launch(queue, kernel, args, count, count_max);
}

static tarn_status count_zero(tarn_queue *queue, void *to, size_t bytes)
{
    if (counting != NULL && at < TARN_QUEUE_MARKS_MAX) {
        counting->of[at].launches++;
    }
    return real->zero(queue, to, bytes);
}

static void count_chain(tarn_queue *queue, const tarn_chain *chain, uint32_t blocks_max, void (*body)(void *),
                        void *context)
{
    (void)queue;
    (void)chain;
    (void)blocks_max;
    in_chain = true;
    body(context);
    in_chain = false;
    if (counting != NULL && at < TARN_QUEUE_MARKS_MAX) {
        counting->of[at].launches++; // in the part that the chain ends in
    }
}

static uint32_t blocks_at_once; ///< of a chain, on the device that is asked about

static uint32_t count_chain_tiles(tarn_queue *queue, const tarn_chain *chain)
{
    (void)queue;
    (void)chain;
    return blocks_at_once;
}

static uint32_t blocks_at_once_of(tarn_device *device)
{
    tarn_queue *queue = NULL;
    uint32_t blocks = UINT32_MAX;
    if (tarn_queue_create(device, &queue) == TARN_OK) {
        blocks = tarn_queue_chain_tiles(queue, &tarn_grid_solver_chain);
    }
    tarn_queue_destroy(queue);
    return blocks;
}

/// Everything behind mark `number` belongs to the part with the next number.
static bool count_mark(tarn_queue *queue, uint32_t number)
{
    (void)queue;
    at = number + 1;
    return true;
}

static double count_between_s(tarn_queue *queue, uint32_t from, uint32_t to)
{
    (void)queue;
    return 0.0 * (from + to);
}

/// Gives each part its share of what its kernels touch.
static void add_bytes(counts *c)
{
    for (uint32_t i = 0; i < launched_count; i++) {
        part *p = &c->of[launched[i].part];
        const gpu_kernel_bytes *bytes = gpu_kernel_bytes_of(kernels[launched[i].kernel]->name);
        const double share = (double)launched[i].launches / (double)c->launches_of[launched[i].kernel];
        p->bytes += bytes != NULL ? share * (double)(bytes->read + bytes->written) : 0.0;
        p->unknown += bytes == NULL;
    }
}

/// Steps the fixture on a CPU of its own.
static bool count(const tank_fixture *fixture, uint32_t steps, counts *c)
{
    tarn_device *device = NULL;
    tarn_tank *tank = NULL;
    tarn_tank_desc desc;
    tarn_tank_report report = {0};
    fixture->describe(&desc);
    memset(c, 0, sizeof *c);
    kernel_count = launched_count = 0;
    if (tarn_device_create(&(tarn_device_desc){.kind = TARN_DEVICE_CPU}, &device) != TARN_OK) {
        return false;
    }
    tarn_device_ops ops = *device->ops;
    real = device->ops;
    ops.launch = count_launch;
    ops.zero = count_zero;
    ops.chain = count_chain;
    ops.chain_tiles = count_chain_tiles;
    ops.mark = count_mark;
    ops.between_s = count_between_s;
    device->ops = &ops;
    tarn_status status = tarn_tank_create(device, &desc, &tank, NULL, 0);
    if (status == TARN_OK) {
        tarn_tank_profile(tank, TARN_PROFILE_MARKS);
    }
    for (uint32_t i = 0; i < steps && status == TARN_OK; i++) {
        gpu_watch_note("counting the launches of %s, step %u", fixture->name, i + 1);
        counting = i >= WARM_UP ? c : NULL;
        at = TARN_QUEUE_MARKS_MAX; // until the first mark
        status = tarn_tank_step(tank, NULL);
        tarn_tank_report_light(tank, &report);
        c->substeps += i >= WARM_UP ? report.substeps : 0;
        c->particles = report.particle_count;
    }
    counting = NULL;
    for (uint32_t m = 0; status == TARN_OK && m < tank->mark_count; m++) {
        c->of[m].stage = tank->mark_stage[m];
        c->parts = m + 1;
    }
    add_bytes(c);
    tarn_tank_destroy(tank);
    device->ops = real;
    tarn_device_destroy(device);
    return status == TARN_OK && c->substeps > 0;
}

/// What a stage of tank_mark's is in a profile: a model's own come first there.
static uint32_t place_of(uint32_t stage, uint32_t stages)
{
    return stage >= STAGE_COUNT ? stage - STAGE_COUNT : stages - STAGE_COUNT + stage;
}

static void print_row(const char *name, double ms, const part *p, double substeps, double particles, double rate)
{
    const double mb = 1e-6 * p->bytes * particles;
    printf("    %-36s%10.4f%10.1f%10.1f", name, ms, (double)p->launches / substeps, (double)p->phases / substeps);
    if (p->unknown > 0) {
        printf("%10s%10s%10s%8s\n", "?", "?", "?", "?");
        return;
    }
    printf("%10.2f%10.1f", mb, ms > 0.0 ? mb / ms : 0.0);
    if (rate > 0.0 && ms > 0.0) {
        const double least_ms = 1e9 * mb / rate;
        printf("%10.4f%7.0f%%\n", least_ms, 100.0 * least_ms / ms);
    } else {
        printf("%10s%8s\n", "-", "-"); // a memory that nobody knows the speed of
    }
}

static void add_part(part *to, const part *p)
{
    to->launches += p->launches;
    to->phases += p->phases;
    to->bytes += p->bytes;
    to->unknown += p->unknown;
}

/// @param seconds  of a substep, by the profile's places
static double print_parts(const counts *c, const char *const *names, const double *seconds, uint32_t stages,
                          double rate)
{
    part row = {0}, all = {0};
    char name[80] = "";
    double all_ms = 0.0;
    for (uint32_t m = 1; m < c->parts; m++) {
        const uint32_t place = place_of(c->of[m].stage, stages);
        if (c->of[m].launches + c->of[m].phases == 0) {
            continue; // a stage that this tank doesn't have
        }
        const double ms = 1e3 * seconds[place];
        const size_t used = strlen(name);
        snprintf(name + used, sizeof name - used, "%s%s", used > 0 ? ", " : "", names[place]);
        add_part(&row, &c->of[m]);
        if (ms > 0.0 || m + 1 == c->parts) {
            print_row(name, ms, &row, (double)c->substeps, c->particles, rate);
            add_part(&all, &row);
            all_ms += ms;
            row = (part){0};
            name[0] = '\0';
        }
    }
    print_row("all of a substep", all_ms, &all, (double)c->substeps, c->particles, rate);
    return all_ms;
}

static void print_device(tarn_device *device, const tank_fixture *fixture, const counts *c)
{
    const char *names[TARN_TANK_STAGES_MAX] = {NULL};
    double seconds[TARN_TANK_STAGES_MAX];
    static gpu_outcome plain;
    const double rate = tarn_device_memory_rate(device);
    const gpu_play play = {.fixture = fixture, .steps = fixture->steps, .first = device};
    const uint32_t stages = gpu_play_stages(&play, TARN_PROFILE_MARKS, names, seconds);
    gpu_play_run(&play, &plain);
    if (stages == 0 || !plain.valid) {
        gpu_failure("%s on %s: %s", fixture->name, tarn_device_name(device), plain.why);
        return;
    }
    printf("\nBudget of \"%s\", %u particles, of a substep on %s\n", fixture->name, c->particles,
           tarn_device_name(device));
    printf("    %-36s%10s%10s%10s%10s%10s%10s%8s\n", "stage", "ms", "launches", "in chains", "MB", "GB/s", "floor ms",
           "share");
    const double marked_ms = print_parts(c, names, seconds, stages, rate);
    const double substeps = (double)c->substeps / (fixture->steps - WARM_UP);
    printf("    a step: %.2f substeps, %.3f ms by the host's clock (median %.3f, %u recordings), %.3f ms by marks\n",
           substeps, plain.step_ms, plain.step_median_ms, plain.recorded, substeps * marked_ms);
    if (marked_ms <= 0.0) {
        printf("    its graphs take no events: no times of stages\n");
    }
}

/// What memory moves when it does nothing else.
static void print_fill(tarn_device *device, bool is_quick)
{
    const size_t bytes = is_quick ? FILL_BYTES / 64 : FILL_BYTES;
    tarn_queue *queue = NULL;
    void *memory = tarn_device_alloc(device, bytes);
    if (memory != NULL && tarn_queue_create(device, &queue) == TARN_OK) {
        (void)tarn_queue_mark(queue, 0);
        for (int i = 0; i < FILLS; i++) {
            (void)tarn_queue_zero(queue, memory, bytes);
        }
        (void)tarn_queue_mark(queue, 1);
        const double took_s = tarn_queue_between_s(queue, 0, 1);
        printf("    %-36s%10.0f GB/s by its attributes, %.0f GB/s filling %zu MiB\n", tarn_device_name(device),
               1e-9 * tarn_device_memory_rate(device), took_s > 0.0 ? 1e-9 * FILLS * (double)bytes / took_s : 0.0,
               bytes >> 20);
    }
    tarn_queue_destroy(queue);
    tarn_device_free(device, memory);
}

void gpu_print_budget(const gpu_devices *list)
{
    static counts c;
    const bool is_quick = gpu_tanks_are_quick();
    printf("\nMemory\n");
    for (uint32_t d = 0; d < list->count; d++) {
        print_fill(list->of[d], is_quick);
    }
    for (uint32_t i = is_quick ? GPU_LARGE_QUICK : 0; i < (is_quick ? GPU_LARGE_QUICK + 1 : GPU_LARGE_COUNT); i++) {
        const tank_fixture *fixture = &gpu_large[i];
        if (!gpu_watch_has_time(fixture->name)) {
            continue;
        }
        for (uint32_t d = 0; d < list->count; d++) {
            if (list->is_cuda[d] || (list->cuda_count == 0 && d == 0)) {
                blocks_at_once = blocks_at_once_of(list->of[d]);
                if (count(fixture, fixture->steps, &c)) {
                    print_device(list->of[d], fixture, &c);
                } else {
                    gpu_failure("%s can't be counted on a CPU", fixture->name);
                }
            }
        }
    }
}
