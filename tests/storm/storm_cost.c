// What a step costs while somebody does as much as they may with one tool, over what the scene costs by itself, and
// five seconds after they have let go. Work is counted, substeps times awake tiles, so that a row is the same on any
// machine; the milliseconds beside it are this machine's.
#include "protocol/motion_code.h"
#include "tests/storm/storm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COLUMNS = 64, ROWS = 48, OWN_S = 15, ACT_S = 4, REST_S = 5, FIELD_STEPS = 2 };

typedef struct second {
    double work, iterations, ms; ///< a step's, mean
} second;

typedef struct cost_run {
    const tarn_scene *scene;
    tarn_tank *tank;
    uint64_t step;
    uint32_t per_second, filled;
    double work[256], iterations[256], ms[256]; ///< of the last second's steps
    second worst, last;
    char *what;
} cost_run;

/// What somebody does in a step of it; `step` is counted from the beginning of the tool's use.
typedef void (*cost_tool)(const cost_run *run, storm_random *random, uint32_t step, tarn_step_input *input);

static float size_m(const cost_run *run, int axis)
{
    return (float)run->scene->tank.cells[axis] * run->scene->tank.cell_m;
}

/// A crowd before a camera: each of its parts moves at 1 to 5 m/s for a while, then another way.
static void act_motion(const cost_run *run, storm_random *random, uint32_t step, tarn_step_input *input)
{
    static uint8_t planes[TARN_MOTION_PLANES * COLUMNS * ROWS], coded[TARN_MOTION_CODE_BYTES_MAX];
    static size_t bytes;
    if (step % FIELD_STEPS == 0) {
        for (uint32_t i = 0; i < COLUMNS * ROWS; i++) {
            const double angle =
                0.37 * (double)(step / 15) + 2.4 * (double)(i / COLUMNS / 12) + 1.7 * (double)(i % COLUMNS / 16);
            const double speed = storm_between(random, 25.0, 127.0);
            planes[i] = 255;
            planes[COLUMNS * ROWS + i] = (uint8_t)(int8_t)(speed * cos(angle));
            planes[2 * COLUMNS * ROWS + i] = (uint8_t)(int8_t)(speed * sin(angle));
            for (uint32_t p = 3; p < TARN_MOTION_PLANES; p++) {
                planes[p * COLUMNS * ROWS + i] = 0;
            }
        }
        bytes = tarn_motion_encode(planes, sizeof planes, coded, sizeof coded);
    }
    input->motion_field_count = 1;
    input->motion_fields[0] = (tarn_motion_field){.across_m = {size_m(run, 0)},
                                                  .up_m = {0.0f, size_m(run, 1)},
                                                  .speed_m_s = 5.0f,
                                                  .strength = 1.0f,
                                                  .columns = COLUMNS,
                                                  .rows = ROWS,
                                                  .cell_bytes = (uint32_t)bytes,
                                                  .cells = coded};
}

static void push_everywhere(const cost_run *run, storm_random *random, uint32_t step, tarn_step_input *input)
{
    input->push_count = 8;
    for (uint32_t i = 0; i < input->push_count; i++) {
        tarn_push *push = &input->pushes[i];
        storm_random place = {.state = step / 20 * 8 + i};
        for (int a = 0; a < 3; a++) {
            push->center_m[a] = size_m(run, a) * (float)storm_between(&place, 0.0, 1.0);
        }
        push->radius_m = 0.3f * size_m(run, 1);
        push->strength = 1.0f;
    }
    (void)random;
}

static void act_push(const cost_run *run, storm_random *random, uint32_t step, tarn_step_input *input)
{
    push_everywhere(run, random, step, input);
    for (uint32_t i = 0; i < input->push_count; i++) {
        storm_random way = {.state = step / 20 * 8 + i + 1000000};
        for (int a = 0; a < 3; a++) {
            input->pushes[i].velocity_m_s[a] = (float)storm_between(&way, -6.0, 6.0);
        }
    }
}

static void act_pull(const cost_run *run, storm_random *random, uint32_t step, tarn_step_input *input)
{
    push_everywhere(run, random, step, input);
    for (uint32_t i = 0; i < input->push_count; i++) {
        input->pushes[i].inward_m_s = 5.0f;
    }
}

static void act_vortex(const cost_run *run, storm_random *random, uint32_t step, tarn_step_input *input)
{
    push_everywhere(run, random, step, input);
    for (uint32_t i = 0; i < input->push_count; i++) {
        input->pushes[i].spin_rad_s[2] = 5.0f / input->pushes[i].radius_m;
    }
}

static void act_pour(const cost_run *run, storm_random *random, uint32_t step, tarn_step_input *input)
{
    input->tools.pour_count = 4;
    for (uint32_t i = 0; i < input->tools.pour_count; i++) {
        tarn_pour *pour = &input->tools.pours[i];
        storm_random place = {.state = step / 60 * 4 + i};
        for (int a = 0; a < 3; a++) {
            pour->center_m[a] = size_m(run, a) * (float)storm_between(&place, 0.1, 0.9);
            pour->velocity_m_s[a] = (float)storm_between(&place, -4.0, 4.0);
        }
        pour->radius_m = 0.08f * size_m(run, 1);
    }
    (void)random;
}

static void act_drain(const cost_run *run, storm_random *random, uint32_t step, tarn_step_input *input)
{
    input->tools.sink_count = 3;
    for (uint32_t i = 0; i < input->tools.sink_count; i++) {
        storm_random place = {.state = step / 60 * 3 + i};
        for (int a = 0; a < 3; a++) {
            input->tools.sinks[i].center_m[a] = size_m(run, a) * (float)storm_between(&place, 0.0, 1.0);
        }
        input->tools.sinks[i].radius_m = 0.1f * size_m(run, 1);
    }
    (void)random;
}

static void act_shake(const cost_run *run, storm_random *random, uint32_t step, tarn_step_input *input)
{
    input->poser = TARN_STEP_POSER_HAND;
    const double half = 0.5 * sin(0.08 * (double)step);
    input->pose = (tarn_pose){.rotation = {0.0f, 0.0f, (float)sin(half), (float)cos(half)},
                              .position_m = {(float)(0.3 * sin(0.2 * (double)step))}};
    (void)run;
    (void)random;
}

static void act_rest(const cost_run *run, storm_random *random, uint32_t step, tarn_step_input *input)
{
    (void)run;
    (void)random;
    (void)step;
    (void)input;
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

/// The mean of the last second's steps, once there is a second of them.
static void book(cost_run *run, double work, double iterations, double ms)
{
    run->work[run->filled % run->per_second] = work;
    run->iterations[run->filled % run->per_second] = iterations;
    run->ms[run->filled % run->per_second] = ms;
    if (++run->filled < run->per_second) {
        return;
    }
    run->last = (second){0};
    for (uint32_t i = 0; i < run->per_second; i++) {
        run->last.work += run->work[i] / run->per_second;
        run->last.iterations += run->iterations[i] / run->per_second;
        run->last.ms += run->ms[i] / run->per_second;
    }
    if (run->last.work > run->worst.work) {
        run->worst = run->last;
    }
}

static bool act(cost_run *run, cost_tool tool, uint32_t seconds)
{
    storm_random random = {.state = 7};
    run->filled = 0;
    run->worst = (second){0};
    for (uint32_t i = 0; i < seconds * run->per_second; i++) {
        static tarn_step_input input;
        tarn_tank_report report;
        memset(&input, 0, sizeof input);
        tool(run, &random, i, &input);
        tarn_scene_drive(run->scene, run->step++, &input);
        const double start_ms = now_ms();
        const tarn_status status = tarn_tank_step(run->tank, &input);
        const double took_ms = now_ms() - start_ms;
        if (status != TARN_OK) {
            snprintf(run->what, STORM_WHAT_BYTES, "the step: %s", tarn_status_text(status));
            return false;
        }
        tarn_tank_report_light(run->tank, &report);
        book(run, (double)report.substeps * (double)report.active_tiles, (double)report.pressure_iterations, took_ms);
    }
    return true;
}

static bool make_rows(cost_run *run, uint8_t *state, size_t state_bytes_max, uint32_t *over)
{
    static const struct {
        const char *name;
        cost_tool act;
    } tools[] = {{"motion", act_motion}, {"push", act_push},   {"pull", act_pull},  {"vortex", act_vortex},
                 {"pour", act_pour},     {"drain", act_drain}, {"shake", act_shake}};
    size_t bytes = 0;
    if (!act(run, act_rest, OWN_S)) {
        return false;
    }
    const second own = run->worst;
    const uint64_t step = run->step;
    if (tarn_tank_save(run->tank, state, state_bytes_max, &bytes) != TARN_OK) {
        return false;
    }
    printf("%-18s %-7s %8.0f %4.1f iterations %6.1f ms\n", run->scene->name, "itself", own.work, own.iterations,
           own.ms);
    for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++) {
        run->step = step;
        if (tarn_tank_load(run->tank, state, bytes) != TARN_OK || !act(run, tools[i].act, ACT_S)) {
            return false;
        }
        const second acted = run->worst;
        if (!act(run, act_rest, REST_S)) {
            return false;
        }
        const double during = acted.work / own.work, after = run->last.work / own.work;
        const bool is_over = during > 2.0 || after > 1.0;
        *over += is_over;
        printf("%-18s %-7s %8.0f %4.1f iterations %6.1f ms, x %.2f; then %8.0f %4.1f %6.1f ms, x %.2f%s\n",
               run->scene->name, tools[i].name, acted.work, acted.iterations, acted.ms, during, run->last.work,
               run->last.iterations, run->last.ms, after, is_over ? "  OVER" : "");
        fflush(stdout);
    }
    return true;
}

uint32_t storm_cost(const tarn_scene *scene, char what[STORM_WHAT_BYTES])
{
    const tarn_device_desc on = {.kind = TARN_DEVICE_CPU, .threads = 1};
    cost_run run = {.scene = scene, .what = what, .per_second = (uint32_t)fmin(256.0, 1.0 / (double)scene->tank.dt_s)};
    tarn_device *device = NULL;
    uint32_t over = 0;
    uint8_t *state = NULL;
    what[0] = '\0';
    if (tarn_device_create(&on, &device) == TARN_OK &&
        tarn_tank_create(device, &scene->tank, &run.tank, what, STORM_WHAT_BYTES) == TARN_OK) {
        const size_t most = tarn_tank_save_bytes_max(run.tank);
        state = malloc(most);
        if ((state == NULL || !make_rows(&run, state, most, &over)) && what[0] == '\0') {
            snprintf(what, STORM_WHAT_BYTES, "no memory, or a state that can't be taken");
        }
    }
    free(state);
    tarn_tank_destroy(run.tank);
    tarn_device_destroy(device);
    return over;
}
