// One scene: the storm, with saves, loads and resets in it, the rest after it, and all of it again.
#include "kernels/liquid_parameters.h"
#include "tests/storm/storm.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RESET_CHANCES = 1000, SAVE_CHANCES = 200, REPLAY_STEPS = 4 };
#define REST_STILL_J_KG 0.1  ///< of a tank that nothing moves
#define REST_DRIVEN_J_KG 1.5 ///< of one with taps, key frames or motion of its own
#define REST_VOLUME_MIN 0.6
#define REST_VOLUME_MAX 1.4

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static uint64_t step_of(const storm_tank *storm)
{
    tarn_tank_report report;
    tarn_tank_report_light(storm->tank, &report);
    return report.step;
}

/// Does what the tank admits of an input, and keeps that in the log.
static tarn_status do_input(storm_tank *storm, tarn_step_input *input)
{
    tarn_step_refusals refusals;
    const tarn_status status = tarn_tank_admit(storm->tank, input, &refusals);
    if (status == TARN_E_ARGUMENT) {
        (void)storm_wrong(storm, "the step's input: %s", refusals.why);
    }
    if (status == TARN_OK && tarn_input_log_step(storm->log, input) != TARN_OK) {
        (void)storm_wrong(storm, "the log: %s", tarn_status_text(storm->log->status));
    }
    return status == TARN_OK ? tarn_tank_step(storm->tank, input) : status;
}

static bool make_step(storm_tank *storm, const storm_input *input)
{
    tarn_step_input step;
    storm_input_fill(storm, input, step_of(storm), &step);
    const double start_ms = now_ms();
    const tarn_status status = do_input(storm, &step);
    const double took_ms = now_ms() - start_ms;
    storm->result->step_mean_ms += took_ms;
    storm->result->step_max_ms = fmax(storm->result->step_max_ms, took_ms);
    if (status != TARN_OK) {
        return storm_wrong(storm, "the step: %s", tarn_status_text(status));
    }
    return storm->result->what[0] == '\0' && storm_check_report(storm, input);
}

static bool hash_of(storm_tank *storm, tarn_tank_hash *hash)
{
    const tarn_status status = tarn_tank_hash_get(storm->tank, hash);
    return status == TARN_OK || storm_wrong(storm, "the hash: %s", tarn_status_text(status));
}

static bool expect_hash(storm_tank *storm, tarn_tank_hash wanted, const char *when)
{
    tarn_tank_hash found;
    if (!hash_of(storm, &found)) {
        return false;
    }
    return (found.lo == wanted.lo && found.hi == wanted.hi) || storm_wrong(storm, "%s the state is another one", when);
}

/// The tank as it was made, but for its parameters and its place in the room.
static bool reset(storm_tank *storm, tarn_tank_hash first)
{
    storm->result->resets++;
    tarn_step_input input = {.holds = true, .parameter_count = storm_model(storm)->parameter_count};
    for (uint32_t p = 0; p < input.parameter_count; p++) {
        input.parameters[p] = (tarn_parameter_change){p, storm->scene->tank.parameters[p]};
    }
    (void)tarn_input_log_reset(storm->log);
    tarn_status status = tarn_tank_reset(storm->tank);
    status = status == TARN_OK ? do_input(storm, &input) : status;
    if (status != TARN_OK) {
        return storm_wrong(storm, "the reset: %s", tarn_status_text(status));
    }
    return expect_hash(storm, first, "after a reset");
}

/// Goes on for a few steps, comes back, and goes the same way again.
static bool save_and_load(storm_tank *storm, const storm_input *input)
{
    tarn_tank_hash saved, later;
    const tarn_input_log_mark mark = storm->log->at;
    size_t bytes = 0;
    storm->result->saves++;
    tarn_status status = tarn_tank_save(storm->tank, storm->state, storm->state_bytes_max, &bytes);
    if (status != TARN_OK) {
        return storm_wrong(storm, "saving: %s", tarn_status_text(status));
    }
    if (!hash_of(storm, &saved)) {
        return false;
    }
    for (int i = 0; i < REPLAY_STEPS; i++) {
        if (!make_step(storm, input)) {
            return false;
        }
    }
    if (!hash_of(storm, &later)) {
        return false;
    }
    status = tarn_tank_load(storm->tank, storm->state, bytes);
    if (status != TARN_OK) {
        return storm_wrong(storm, "loading: %s", tarn_status_text(status));
    }
    if (tarn_input_log_back(storm->log, &mark) != TARN_OK) {
        return storm_wrong(storm, "the log: %s", tarn_status_text(storm->log->status));
    }
    if (!expect_hash(storm, saved, "after loading")) {
        return false;
    }
    for (int i = 0; i < REPLAY_STEPS; i++) {
        if (!make_step(storm, input)) {
            return false;
        }
    }
    return expect_hash(storm, later, "some steps after loading");
}

static uint64_t steps_in(const storm_tank *storm, double time_s)
{
    return (uint64_t)(time_s / (double)storm->scene->tank.dt_s + 0.5);
}

/// Says after each simulated minute how far a long storm is.
static void tell(const storm_tank *storm, uint64_t step, uint64_t steps)
{
    const uint64_t minute = steps_in(storm, 60.0);
    if (minute > 0 && step % minute == 0 && step < steps) {
        fprintf(stderr, "%s: %llu of %.0f minutes, %.1f ms a step\n", storm->scene->name,
                (unsigned long long)(step / minute), storm->plan->storm_s / 60.0,
                storm->result->step_mean_ms / (double)storm->result->steps);
    }
}

static bool rage(storm_tank *storm, storm_random *random)
{
    storm_input input;
    tarn_tank_hash first;
    storm_input_start(storm, &input);
    if (!hash_of(storm, &first)) {
        return false;
    }
    const uint64_t steps = steps_in(storm, storm->plan->storm_s);
    for (uint64_t i = 1; i <= steps; i++) {
        storm_input_next(storm, random, &input);
        if (!make_step(storm, &input) || (i % storm->plan->check_steps == 0 && !storm_check_all(storm))) {
            return false;
        }
        if (storm_below(random, RESET_CHANCES) == 0 && !reset(storm, first)) {
            return false;
        }
        if ((storm_below(random, SAVE_CHANCES) == 0 || i == steps / 2) && !save_and_load(storm, &input)) {
            return false;
        }
        tell(storm, i, steps);
    }
    return storm_check_all(storm);
}

static bool rest(storm_tank *storm)
{
    storm_input input;
    storm_input_start(storm, &input);
    input.poses = true;
    const uint64_t steps = steps_in(storm, storm->plan->rest_s);
    tarn_step_input erases = {.holds = true, .erase_count = 1, .erases = {{.radius_m = 1e9f}}};
    const tarn_status erased = do_input(storm, &erases);
    if (erased != TARN_OK) {
        return storm_wrong(storm, "erasing walls: %s", tarn_status_text(erased));
    }
    tarn_tank_pose(storm->tank, &input.pose);
    memcpy(input.pose.rotation, (const float[4]){0.0f, 0.0f, 0.0f, 1.0f}, sizeof input.pose.rotation);
    for (uint64_t i = 1; i <= steps; i++) {
        if (!make_step(storm, &input) || (i % storm->plan->check_steps == 0 && !storm_check_all(storm))) {
            return false;
        }
    }
    return true;
}

static bool is_driven(const tarn_tank_desc *desc)
{
    bool driven = desc->emitter_count > 0;
    for (uint32_t i = 0; i < desc->solid_count; i++) {
        driven = driven || desc->solids[i].motion == TARN_MOTION_KEYFRAMES;
    }
    return driven;
}

static bool look(storm_tank *storm, tarn_tank_report *report)
{
    const tarn_status status = tarn_tank_report_get(storm->tank, report);
    return status == TARN_OK || storm_wrong(storm, "the report: %s", tarn_status_text(status));
}

/// What the rest left.
static bool check_rest(storm_tank *storm, const tarn_tank_report *report)
{
    const tarn_tank_desc *desc = &storm->scene->tank;
    storm_result *result = storm->result;
    const double per_axis = (double)desc->particles_per_axis, cell_m = (double)desc->cell_m;
    const double seeded_m3 = report->particle_count * (cell_m * cell_m * cell_m) / (per_axis * per_axis * per_axis);
    result->rest_j_kg = report->kinetic_j_kg;
    result->volume_share =
        report->particle_count > 0 ? report->liquid_cells * (cell_m * cell_m * cell_m) / seeded_m3 : 1.0;
    result->particles = report->particle_count;
    if (storm->plan->rest_s < 10.0) {
        return true; // too short to calm down
    }
    if (!(report->kinetic_j_kg <= (is_driven(desc) ? REST_DRIVEN_J_KG : REST_STILL_J_KG))) {
        return storm_wrong(storm, "%g J/kg after %g s of rest, %g when the input ended", report->kinetic_j_kg,
                           storm->plan->rest_s, result->storm_j_kg);
    }
    const bool has_volume = desc->model == tarn_model_find("liquid")->number; // others fill the tank
    if (has_volume && !(result->volume_share >= REST_VOLUME_MIN && result->volume_share <= REST_VOLUME_MAX)) {
        return storm_wrong(storm, "the liquid has %g times its volume after %g s of rest", result->volume_share,
                           storm->plan->rest_s);
    }
    return true;
}

static bool alloc_memory(storm_tank *storm)
{
    storm->particles_max = tarn_tank_particles_max(storm->tank);
    storm->state_bytes_max = tarn_tank_save_bytes_max(storm->tank);
    storm->positions_m = malloc((size_t)storm->particles_max * 3 * sizeof *storm->positions_m);
    storm->velocities_m_s = malloc((size_t)storm->particles_max * 3 * sizeof *storm->velocities_m_s);
    storm->ids = malloc((size_t)storm->particles_max * sizeof *storm->ids);
    storm->frame = malloc(STORM_FRAME_BYTES_MAX);
    storm->state = malloc(storm->state_bytes_max);
    return (storm->positions_m != NULL && storm->velocities_m_s != NULL && storm->ids != NULL && storm->frame != NULL &&
            storm->state != NULL && storm_record(storm)) ||
           storm_wrong(storm, "out of memory");
}

static bool make_encoder(storm_tank *storm)
{
    tarn_encoder_desc desc;
    tarn_encoder_desc_default(&desc);
    const tarn_status status = tarn_encoder_create(storm->tank, &desc, &storm->encoder);
    return status == TARN_OK || storm_wrong(storm, "the encoder: %s", tarn_status_text(status));
}

static void free_memory(storm_tank *storm)
{
    free(storm->positions_m);
    free(storm->velocities_m_s);
    free(storm->ids);
    free(storm->frame);
    free(storm->state);
    free(storm->log);
    if (storm->file != NULL) {
        fclose(storm->file);
    }
}

static void put_through(storm_tank *storm)
{
    storm_random random = {storm->plan->seed};
    for (const char *c = storm->scene->name; *c != '\0'; c++) {
        random.state ^= (uint64_t)(unsigned char)*c;
        (void)storm_next(&random);
    }
    tarn_tank_report report;
    if (!look(storm, &report)) {
        return;
    }
    storm->seeded = report.particle_count;
    if (!alloc_memory(storm) || !rage(storm, &random) || !look(storm, &report)) {
        return;
    }
    storm->result->storm_j_kg = report.kinetic_j_kg;
    if (rest(storm) && look(storm, &report) && check_rest(storm, &report)) {
        (void)storm_replay(storm);
    }
}

void storm_run(const tarn_scene *scene, const storm_plan *plan, storm_result *result)
{
    memset(result, 0, sizeof *result);
    const tarn_device_desc on = {.kind = TARN_DEVICE_CPU, .threads = 1};
    storm_tank storm = {.scene = scene, .plan = plan, .result = result};
    tarn_device *device = NULL;
    const tarn_status status = tarn_device_create(&on, &device);
    if (status != TARN_OK) {
        strncpy(result->what, tarn_status_text(status), sizeof result->what - 1);
        return;
    }
    if (tarn_tank_create(device, &scene->tank, &storm.tank, result->what, sizeof result->what) == TARN_OK &&
        make_encoder(&storm)) {
        put_through(&storm);
    }
    if (result->steps > 0) {
        result->step_mean_ms /= (double)result->steps;
    }
    free_memory(&storm);
    tarn_encoder_destroy(storm.encoder);
    tarn_tank_destroy(storm.tank);
    tarn_device_destroy(device);
}
