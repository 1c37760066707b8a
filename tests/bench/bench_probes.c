// What probes cost beside the step that they measure behind, in one run: the dam break, 16 of them of all kinds, and 16
// points. A figure is the sum of each step's least time over the rounds. Prints a table; asserts
// nothing.
#include "kernels/probe.h"
#include "kernels/step_input.h"
#include "server/base/clock.h"

#include <stdio.h>
#include <string.h>

enum { PROBES = 16, STEPS = 60, ROUNDS = 3 };

static void fill(tarn_probe *probes, const tarn_tank_desc *desc, bool are_points)
{
    float size[3];
    for (int a = 0; a < 3; a++) {
        size[a] = (float)desc->cells[a] * desc->cell_m;
    }
    for (int i = 0; i < PROBES; i++) {
        const float x = size[0] * (0.5f + (float)i) / (float)PROBES, z = 0.5f * size[2];
        probes[i] = (tarn_probe){.kind = TARN_PROBE_POINT, .points_m = {{x, 0.1f * size[1], z}}};
        if (!are_points && i % 4 == 1) {
            probes[i] = (tarn_probe){.kind = TARN_PROBE_GAUGE, .points_m = {{x, 0.0f, z}, {x, size[1], z}}};
        } else if (!are_points && i % 4 == 3) {
            probes[i] = (tarn_probe){.kind = TARN_PROBE_FLUX,
                                     .points_m = {{x, 0.0f, 0.0f}, {x, size[1], 0.0f}, {x, 0.0f, size[2]}}};
        }
    }
}

static void note(uint64_t *least_ns, uint64_t ns)
{
    *least_ns = ns < *least_ns ? ns : *least_ns;
}

static tarn_status take_times(tarn_tank *tank, tarn_probes *sets[2], uint64_t least_ns[3][STEPS], int step)
{
    const tarn_step_input input = {.holds = false};
    tarn_probe_reading readings[PROBES];
    uint64_t before_ns = tarn_clock_monotonic_ns();
    tarn_status status = tarn_tank_step(tank, &input);
    uint64_t now_ns = tarn_clock_monotonic_ns();
    note(&least_ns[0][step], now_ns - before_ns);
    for (int set = 0; set < 2 && status == TARN_OK; set++) {
        before_ns = now_ns;
        status = tarn_probes_read(sets[set], readings);
        now_ns = tarn_clock_monotonic_ns();
        note(&least_ns[1 + set][step], now_ns - before_ns);
    }
    return status;
}

static int measure(uint32_t threads, int cells)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = (uint32_t)(2 * cells);
    desc.cells[1] = desc.cells[2] = (uint32_t)cells;
    desc.cell_m = 1.0f / (float)cells;
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {0.8f, 0.8f, 1.0f}};
    const tarn_device_desc on = {.kind = TARN_DEVICE_CPU, .threads = threads};
    char why[256];
    tarn_device *device = NULL;
    tarn_tank *tank = NULL;
    tarn_probes *sets[2] = {NULL, NULL};
    tarn_status status = tarn_device_create(&on, &device);
    status = status == TARN_OK ? tarn_tank_create(device, &desc, &tank, why, sizeof why) : status;
    for (int set = 0; set < 2 && status == TARN_OK; set++) {
        tarn_probe probes[PROBES];
        fill(probes, &desc, set == 1);
        status = tarn_probes_create(tank, probes, PROBES, &sets[set]);
    }
    static uint64_t least_ns[3][STEPS]; // of a step, and of both sets
    memset(least_ns, 0xff, sizeof least_ns);
    for (int round = 0; round < ROUNDS && status == TARN_OK; round++) {
        status = tarn_tank_reset(tank);
        for (int step = 0; step < STEPS && status == TARN_OK; step++) {
            status = take_times(tank, sets, least_ns, step);
        }
    }
    uint64_t step_ns = 0, read_ns[2] = {0, 0};
    for (int step = 0; step < STEPS; step++) {
        step_ns += least_ns[0][step];
        read_ns[0] += least_ns[1][step];
        read_ns[1] += least_ns[2][step];
    }
    if (status != TARN_OK) {
        fprintf(stderr, "bench_probes: %s\n", tarn_status_text(status));
    } else {
        tarn_tank_report report;
        tarn_tank_report_light(tank, &report);
        printf("| %u | %u | %.2f | %.3f | %.2f %% | %.3f | %.2f %% |\n", threads, report.particle_count,
               1e-6 * (double)step_ns / STEPS, 1e-6 * (double)read_ns[0] / STEPS,
               100.0 * (double)read_ns[0] / (double)step_ns, 1e-6 * (double)read_ns[1] / STEPS,
               100.0 * (double)read_ns[1] / (double)step_ns);
    }
    for (int set = 0; set < 2; set++) {
        tarn_probes_destroy(sets[set]);
    }
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
    return status == TARN_OK ? 0 : 1;
}

int main(void)
{
    static const int cells[] = {16, 32, 48};
    printf("| threads | particles | step, ms | 16 of all kinds, ms | of a step | 16 points, ms | of a step |\n"
           "|---|---|---|---|---|---|---|\n");
    for (uint32_t threads = 1; threads <= 2; threads++) {
        for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
            if (measure(threads, cells[i]) != 0) {
                return 1;
            }
        }
    }
    return 0;
}
