#include "tests/bench/contestant.h"
#include "kernels/liquid_parameters.h"
#include "kernels/step_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double clock_s(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// ---------------------------------------------------------------------------------------------------------------- life

/// The textbook's solver starts with the particles that a tank is seeded with.
static tarn_status open_textbook(contestant *c, const tarn_tank_desc *desc)
{
    const uint32_t n = c->particle_count;
    float *positions_m = malloc(3 * sizeof(float) * ((size_t)n + 1));
    float *velocities_m_s = malloc(3 * sizeof(float) * ((size_t)n + 1));
    const textbook_accuracy accuracy = c->kind == CONTESTANT_TEXTBOOK_FULL ? TEXTBOOK_FULL : TEXTBOOK_PLAIN;
    uint32_t count = 0;
    tarn_status status = positions_m != NULL && velocities_m_s != NULL ? TARN_OK : TARN_E_MEMORY;
    if (status == TARN_OK) {
        status = tarn_tank_particles(c->tank, positions_m, velocities_m_s, NULL, n, &count);
    }
    if (status == TARN_OK) {
        status = textbook_flip_create(desc, accuracy, positions_m, velocities_m_s, count, &c->flip);
    }
    free(positions_m);
    free(velocities_m_s);
    tarn_tank_destroy(c->tank);
    tarn_device_destroy(c->device);
    c->tank = NULL;
    c->device = NULL;
    return status;
}

bool contestant_open(contestant *c, contestant_kind kind, const tarn_tank_desc *desc, uint32_t threads, const char *isa,
                     uint32_t steps, char *why, size_t why_bytes)
{
    *c = (contestant){.kind = kind, .threads = threads, .steps = steps};
    tarn_tank_desc own = *desc;
    const bool corrects = kind == CONTESTANT_TARN || kind == CONTESTANT_TEXTBOOK_FULL;
    const bool is_textbook = kind == CONTESTANT_TEXTBOOK || kind == CONTESTANT_TEXTBOOK_FULL;
    own.parameters[TARN_PARAMETER_DENSITY] = corrects ? 1.0f : 0.0f;
    const tarn_device_desc device = {.kind = TARN_DEVICE_CPU, .threads = threads, .isa = isa};
    tarn_status status = tarn_device_create(&device, &c->device);
    snprintf(why, why_bytes, "the device: %s", tarn_status_text(status));
    if (status == TARN_OK) {
        status = tarn_tank_create(c->device, &own, &c->tank, why, why_bytes);
    }
    if (status == TARN_OK) {
        tarn_tank_report report;
        tarn_tank_report_light(c->tank, &report);
        c->particle_count = report.particle_count;
        c->step_s = calloc(steps, sizeof *c->step_s);
        c->step_cpu_s = calloc(steps, sizeof *c->step_cpu_s);
        status = c->step_s != NULL && c->step_cpu_s != NULL ? TARN_OK : TARN_E_MEMORY;
        snprintf(why, why_bytes, "%s", tarn_status_text(TARN_E_MEMORY));
    }
    if (status == TARN_OK && is_textbook) {
        status = open_textbook(c, &own);
    }
    if (status == TARN_OK && c->tank != NULL) {
        tarn_tank_profile(c->tank, TARN_PROFILE_WAITS);
    }
    if (status != TARN_OK) {
        contestant_close(c);
    }
    return status == TARN_OK;
}

void contestant_close(contestant *c)
{
    tarn_tank_destroy(c->tank);
    tarn_device_destroy(c->device);
    textbook_flip_destroy(c->flip);
    free(c->step_s);
    free(c->step_cpu_s);
    *c = (contestant){0};
}

// -------------------------------------------------------------------------------------------------------------- timing

uint32_t contestant_stages(const contestant *c, const char **names)
{
    double seconds[CONTESTANT_STAGES_MAX];
    if (c->tank != NULL) {
        return tarn_tank_profile_get(c->tank, names, seconds, false);
    }
    for (uint32_t i = 0; i < TEXTBOOK_STAGE_COUNT; i++) {
        names[i] = textbook_stage_name((textbook_stage)i);
    }
    return TEXTBOOK_STAGE_COUNT;
}

static void take_stages(contestant *c)
{
    const char *names[CONTESTANT_STAGES_MAX];
    if (c->tank != NULL) {
        tarn_tank_profile_get(c->tank, names, c->round_stage_s, true);
    } else {
        textbook_flip_profile(c->flip, c->round_stage_s);
    }
}

tarn_status contestant_begin(contestant *c)
{
    c->step = 0;
    c->substeps = c->iterations = c->volume_iterations = 0;
    c->residual_max = 0.0f;
    take_stages(c);
    if (c->tank != NULL) {
        return tarn_tank_reset(c->tank);
    }
    textbook_flip_reset(c->flip);
    return TARN_OK;
}

static void count_step(contestant *c)
{
    textbook_report done = {0};
    if (c->tank != NULL) {
        tarn_tank_report report;
        tarn_tank_report_light(c->tank, &report);
        done = (textbook_report){.substeps = report.substeps,
                                 .pressure_iterations = report.pressure_iterations,
                                 .residual = report.residual};
    } else {
        textbook_flip_report(c->flip, &done);
    }
    c->substeps += done.substeps;
    c->iterations += done.pressure_iterations;
    c->volume_iterations += done.volume_iterations;
    c->residual_max = done.residual > c->residual_max ? done.residual : c->residual_max;
}

static void keep_least(double *least, double value)
{
    *least = *least <= 0.0 || value < *least ? value : *least;
}

tarn_status contestant_steps(contestant *c, uint32_t count)
{
    const clockid_t cpu = c->threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID;
    tarn_status status = TARN_OK;
    for (; count > 0 && c->step < c->steps && status == TARN_OK; count--, c->step++) {
        const double start_s = clock_s(CLOCK_MONOTONIC), start_cpu_s = clock_s(cpu);
        if (c->tank != NULL) {
            status = tarn_tank_step(c->tank, NULL);
        } else {
            textbook_flip_step(c->flip);
        }
        keep_least(&c->step_cpu_s[c->step], clock_s(cpu) - start_cpu_s);
        keep_least(&c->step_s[c->step], clock_s(CLOCK_MONOTONIC) - start_s);
        count_step(c);
    }
    return status;
}

void contestant_end(contestant *c)
{
    double sum_s = 0.0;
    take_stages(c);
    for (int i = 0; i < CONTESTANT_STAGES_MAX; i++) {
        sum_s += c->round_stage_s[i];
    }
    if (c->stages_s > 0.0 && sum_s >= c->stages_s) {
        return;
    }
    c->stages_s = sum_s;
    memcpy(c->stage_s, c->round_stage_s, sizeof c->stage_s);
}

static double sum_of(const double *values, uint32_t count)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        sum += values[i];
    }
    return sum;
}

double contestant_seconds(const contestant *c)
{
    return sum_of(c->step_s, c->steps);
}

double contestant_cpu_seconds(const contestant *c)
{
    return sum_of(c->step_cpu_s, c->steps);
}

// ------------------------------------------------------------------------------------------------------------- physics

static int compare_floats(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/// @param positions_m  is overwritten
static void place_of(float *positions_m, uint32_t count, float low_m, contestant_place *place)
{
    *place = (contestant_place){0};
    uint32_t low = 0;
    for (uint32_t i = 0; i < count; i++) {
        const float *at = positions_m + 3 * (size_t)i;
        for (int a = 0; a < 3; a++) {
            place->center_m[a] += (double)at[a] / count;
        }
        if (at[1] < low_m) {
            positions_m[low++] = at[0];
        }
    }
    qsort(positions_m, low, sizeof *positions_m, compare_floats);
    place->front_m = low > 0 ? (double)positions_m[(uint64_t)low * 995 / 1000] : 0.0;
}

tarn_status contestant_where(contestant *c, float low_m, contestant_place *place)
{
    uint32_t count = c->particle_count;
    float *positions_m = malloc(3 * sizeof(float) * ((size_t)count + 1));
    if (positions_m == NULL) {
        return TARN_E_MEMORY;
    }
    tarn_status status = TARN_OK;
    if (c->tank != NULL) {
        status = tarn_tank_particles(c->tank, positions_m, NULL, NULL, count, &count);
    } else {
        textbook_flip_particles(c->flip, positions_m);
    }
    if (status == TARN_OK) {
        place_of(positions_m, count, low_m, place);
    }
    free(positions_m);
    return status;
}
