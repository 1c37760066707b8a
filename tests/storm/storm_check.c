// What must hold of a tank whatever was done to it.
#include "tests/storm/storm.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SPEED_MAX_CELLS 32.0f       ///< per step; kernels/liquid/liquid.h
#define SUBSTEP_CELLS 4.0f          ///< per substep
#define BODY_SPEED_MAX_CELLS 16.0f  ///< per step and axis
#define SOLID_DEPTH_MAX_CELLS 0.125 ///< of a particle, in solids as the grid sees them
#define EDGE_DEPTH_MAX_CELLS 0.75   ///< in the solids themselves, whose sharp edges the grid rounds
#define ROUNDING 1.0001f

bool storm_wrong(storm_tank *storm, const char *format, ...)
{
    if (storm->result->what[0] != '\0') {
        return false;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(storm->result->what, sizeof storm->result->what, format, arguments);
    va_end(arguments);
    tarn_tank_report report;
    tarn_tank_report_light(storm->tank, &report);
    storm->result->failed_step = report.step;
    return false;
}

/// A parameter that every model has.
static float value_of(const storm_tank *storm, const storm_input *input, const char *name)
{
    return input->value[tarn_model_parameter_find(storm_model(storm), name)];
}

bool storm_check_report(storm_tank *storm, const storm_input *input)
{
    const tarn_tank_desc *desc = &storm->scene->tank;
    storm_result *result = storm->result;
    tarn_tank_report report;
    tarn_tank_report_light(storm->tank, &report);
    const float cell_m_s = desc->cell_m / desc->dt_s;
    const float most = fminf(SPEED_MAX_CELLS, SUBSTEP_CELLS * value_of(storm, input, "substeps_max")) * cell_m_s;
    if (!(report.speed_max_m_s <= most * ROUNDING)) {
        return storm_wrong(storm, "the fastest particle has %g m/s, at most %g are possible",
                           (double)report.speed_max_m_s, (double)most);
    }
    if (report.particle_count > storm->particles_max ||
        report.particle_count != storm->seeded + report.born - report.gone) {
        return storm_wrong(storm, "%u particles, of %u at the start, %llu born and %llu gone", report.particle_count,
                           storm->seeded, (unsigned long long)report.born, (unsigned long long)report.gone);
    }
    const bool pours = storm->plan->tools || desc->reseed;
    const bool carries = storm_model(storm)->carried_count > 0; // such models have particles come and go by themselves
    if ((report.born != 0 && desc->emitter_count == 0 && !pours && !carries) ||
        (report.gone != 0 && desc->drain_count == 0 && !pours && !carries)) {
        return storm_wrong(storm, "%llu particles were born and %llu are gone in a tank where none can be",
                           (unsigned long long)report.born, (unsigned long long)report.gone);
    }
    if (!(report.residual >= 0.0f && isfinite(report.residual))) {
        return storm_wrong(storm, "the residual is %g", (double)report.residual);
    }
    result->speed_max_m_s = fmax(result->speed_max_m_s, (double)report.speed_max_m_s);
    result->bytes_max = report.bytes > result->bytes_max ? report.bytes : result->bytes_max;
    result->tiles_max = report.active_tiles > result->tiles_max ? report.active_tiles : result->tiles_max;
    const float iterations = value_of(storm, input, "pressure_iterations");
    result->steps_capped +=
        storm_input_has_own_parameters(storm, input) && (float)report.pressure_iterations >= iterations;
    result->steps++;
    return true;
}

typedef struct static_solids {
    tarn_shape shapes[TARN_TANK_SOLIDS_MAX];
    tarn_pose poses[TARN_TANK_SOLIDS_MAX];
    uint32_t count;
} static_solids;

static void list_static(const tarn_tank_desc *desc, static_solids *solids)
{
    solids->count = 0;
    for (uint32_t i = 0; i < desc->solid_count; i++) {
        if (desc->solids[i].motion != TARN_MOTION_STATIC) {
            continue;
        }
        solids->shapes[solids->count] = desc->solids[i].shape;
        solids->poses[solids->count++] = desc->solids[i].pose;
    }
}

/// Depth in the solids as the grid sees them: distances at a cell's corners, and trilinear between them.
static double sampled_depth_cells(const tarn_tank_desc *desc, const static_solids *solids, const double *point_m)
{
    const double cell_m = (double)desc->cell_m;
    double sum = 0.0;
    for (int k = 0; k < 8; k++) {
        double corner_m[3], weight = 1.0;
        for (int a = 0; a < 3; a++) {
            const double at = point_m[a] / cell_m, share = at - floor(at);
            corner_m[a] = cell_m * (floor(at) + (k >> a & 1));
            weight *= k >> a & 1 ? share : 1.0 - share;
        }
        sum +=
            weight * tarn_shapes_distance_m(solids->shapes, solids->poses, solids->count, desc->fields, corner_m, NULL);
    }
    return -sum / cell_m;
}

static bool check_depth(storm_tank *storm, const static_solids *solids, const float *at_m, uint32_t id)
{
    const tarn_tank_desc *desc = &storm->scene->tank;
    const double point_m[3] = {(double)at_m[0], (double)at_m[1], (double)at_m[2]};
    uint32_t nearest = 0;
    const double depth =
        -tarn_shapes_distance_m(solids->shapes, solids->poses, solids->count, desc->fields, point_m, &nearest) /
        (double)desc->cell_m;
    storm->result->deepest_cells = fmax(storm->result->deepest_cells, depth);
    if (depth <= SOLID_DEPTH_MAX_CELLS) {
        return true;
    }
    const double sampled = sampled_depth_cells(desc, solids, point_m);
    if (depth <= EDGE_DEPTH_MAX_CELLS && sampled <= SOLID_DEPTH_MAX_CELLS) {
        return true;
    }
    return storm_wrong(storm, "particle %u at %.9g %.9g %.9g m is %.3f cells deep in static solid %u, as sampled %.3f",
                       id, point_m[0], point_m[1], point_m[2], depth, nearest, sampled);
}

static bool check_particle(storm_tank *storm, const static_solids *solids, uint32_t i)
{
    const tarn_tank_desc *desc = &storm->scene->tank;
    const float *at_m = &storm->positions_m[(size_t)i * 3], *velocity_m_s = &storm->velocities_m_s[(size_t)i * 3];
    const float most_m_s = SPEED_MAX_CELLS * desc->cell_m / desc->dt_s * ROUNDING;
    for (int a = 0; a < 3; a++) {
        const float size_m = (float)desc->cells[a] * desc->cell_m;
        if (!(at_m[a] >= 0.0f && at_m[a] <= size_m) || !(fabsf(velocity_m_s[a]) <= most_m_s)) {
            return storm_wrong(storm, "particle %u is at %g %g %g m with %g %g %g m/s", storm->ids[i], (double)at_m[0],
                               (double)at_m[1], (double)at_m[2], (double)velocity_m_s[0], (double)velocity_m_s[1],
                               (double)velocity_m_s[2]);
        }
    }
    if (i > 0 && storm->ids[i] <= storm->ids[i - 1]) {
        return storm_wrong(storm, "particle %u comes after particle %u", storm->ids[i], storm->ids[i - 1]);
    }
    return solids->count == 0 || check_depth(storm, solids, at_m, storm->ids[i]);
}

/// What a body is: the scene's, or one that was thrown in.
static const tarn_solid *solid_of(const tarn_tank_desc *desc, const tarn_added_solid *added, uint32_t number)
{
    if (number < TARN_TANK_THROWN_FIRST) {
        return &desc->solids[number];
    }
    while (added->number != number) {
        added++;
    }
    return &added->solid;
}

static bool check_bodies(storm_tank *storm)
{
    const tarn_tank_desc *desc = &storm->scene->tank;
    tarn_body_state bodies[TARN_TANK_BODIES_MAX];
    tarn_added_solid added[TARN_TANK_ADDED_MAX];
    const uint32_t count = tarn_tank_bodies(storm->tank, bodies);
    (void)tarn_tank_added(storm->tank, added);
    for (uint32_t b = 0; b < count; b++) {
        const tarn_body_state *body = &bodies[b];
        const float *q = body->pose.rotation;
        if (!(fabsf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1.0f) < 1e-3f)) {
            return storm_wrong(storm, "body %u is turned by %g %g %g %g", b, (double)q[0], (double)q[1], (double)q[2],
                               (double)q[3]);
        }
        const tarn_solid *solid = solid_of(desc, added, body->solid);
        if (solid->motion != TARN_MOTION_FREE) {
            continue;
        }
        // The pose is the shape's frame's; where that lies is at most its own size off the centre of mass.
        tarn_shape_mass mass;
        double center_m[3];
        if (tarn_shape_mass_get(&solid->shape, desc->fields, &mass) != TARN_OK) {
            return storm_wrong(storm, "body %u has no mass", b);
        }
        tarn_pose_from_shape(&body->pose, mass.center_m, center_m);
        // The velocity is that of the pose's point, which the turning moves about the centre.
        const float *spin = body->angular_velocity_rad_s;
        const double arm_m = sqrt(mass.center_m[0] * mass.center_m[0] + mass.center_m[1] * mass.center_m[1] +
                                  mass.center_m[2] * mass.center_m[2]);
        const double turning_m_s = arm_m * sqrt((double)(spin[0] * spin[0] + spin[1] * spin[1] + spin[2] * spin[2]));
        const double most_m_s = (double)(BODY_SPEED_MAX_CELLS * desc->cell_m / desc->dt_s * ROUNDING) + turning_m_s;
        for (int a = 0; a < 3; a++) {
            const double size_m = (double)desc->cells[a] * (double)desc->cell_m, slack_m = 1e-3 * (double)desc->cell_m;
            if (!(center_m[a] >= -slack_m && center_m[a] <= size_m + slack_m) ||
                !(fabs((double)body->velocity_m_s[a]) <= most_m_s) || !isfinite(spin[a])) {
                return storm_wrong(storm, "body %u has its centre at %g %g %g m, %g %g %g m/s, %g %g %g rad/s", b,
                                   center_m[0], center_m[1], center_m[2], (double)body->velocity_m_s[0],
                                   (double)body->velocity_m_s[1], (double)body->velocity_m_s[2],
                                   (double)body->angular_velocity_rad_s[0], (double)body->angular_velocity_rad_s[1],
                                   (double)body->angular_velocity_rad_s[2]);
            }
        }
    }
    return true;
}

static bool check_frame(storm_tank *storm, uint32_t particles)
{
    const tarn_tank_frame_info info = {.epoch = 1, .realtime_factor = 1.0f};
    tarn_stream_head head;
    tarn_stream_frame frame;
    uint32_t count = 0;
    tarn_status status =
        tarn_encoder_encode(storm->encoder, TARN_STREAM_KEY, &info, storm->frame, STORM_FRAME_BYTES_MAX, &head);
    if (status == TARN_OK) {
        status = tarn_stream_open(storm->frame, head.frame_bytes, &frame);
    }
    if (status != TARN_OK) {
        return storm_wrong(storm, "the frame: %s", tarn_status_text(status));
    }
    for (uint32_t layer = 0; layer < frame.head.layer_count; layer++) {
        count += frame.head.layers[layer].particles;
    }
    if (count != particles) {
        return storm_wrong(storm, "the frame has %u particles of %u", count, particles);
    }
    return true;
}

bool storm_check_all(storm_tank *storm)
{
    static_solids solids;
    uint32_t count = 0;
    tarn_tank_report report;
    tarn_tank_report_light(storm->tank, &report);
    const tarn_status status = tarn_tank_particles(storm->tank, storm->positions_m, storm->velocities_m_s, storm->ids,
                                                   storm->particles_max, &count);
    if (status != TARN_OK) {
        return storm_wrong(storm, "the particles: %s", tarn_status_text(status));
    }
    if (count != report.particle_count) {
        return storm_wrong(storm, "%u particles, %u in the report", count, report.particle_count);
    }
    list_static(&storm->scene->tank, &solids);
    for (uint32_t i = 0; i < count; i++) {
        if (!check_particle(storm, &solids, i)) {
            return false;
        }
    }
    return check_bodies(storm) && check_frame(storm, count);
}
