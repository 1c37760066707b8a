// What of a tank acts otherwise than it was asked for, in sentences: parameters and speeds that are limited, regions
// and solids that the grid can't see as they are, and, while it runs, taps that find no room and bodies that leap over
// liquid. One list, from which `tarn check`, `tarn run`, the server's answers and the page all tell.
#include "kernels/tank/tank_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTICED 0.005f ///< of a value: less of a difference nobody notices
#define LATELY_S 1.0   ///< so long what happened in a step is said

void tank_remark(tank_remarks *to, const char *format, ...)
{
    if (to->count < to->max) {
        va_list list;
        va_start(list, format);
        vsnprintf(to->of[to->count], sizeof to->of[to->count], format, list);
        va_end(list);
    }
    to->count++;
}

static void remark_limit(tank_remarks *to, const char *what, double asked, double acts, const char *remedy)
{
    if (fabs(acts) < fabs(asked) - (double)NOTICED * fabs(asked)) {
        tank_remark(to, "%s: asked for is %g, but %.4g is what acts%s%s", what, asked, acts, remedy[0] ? ": " : "",
                    remedy);
    }
}

static const char *const more_substeps = "more substeps_max or larger cells take more";

static void remark_parameters(const tarn_tank *tank, tank_remarks *to)
{
    for (uint32_t id = 0; id < tank->model->shown.parameter_count; id++) {
        const tarn_parameter_spec *spec = &tank->model->shown.parameters[id];
        remark_limit(to, spec->name, (double)tarn_tank_parameter(tank, id), (double)tarn_tank_parameter_used(tank, id),
                     (spec->traits & TARN_PARAMETER_IS_SOLVER) != 0 ? "" : more_substeps);
    }
}

// -------------------------------------------------------------------------------------------------------------- speeds

/// Metres per second in a cell per step.
static float cell_speed_m_s(const tarn_tank *tank)
{
    return tank->grid.desc.cell_m / tank->grid.desc.dt_s;
}

static void remark_speed(const tarn_tank *tank, tank_remarks *to, const char *list, uint32_t number,
                         const float velocity_m_s[3], float limit)
{
    const float most_m_s = limit * cell_speed_m_s(tank);
    float fastest_m_s = 0.0f;
    char what[48];
    for (int a = 0; a < 3; a++) {
        fastest_m_s = fmaxf(fastest_m_s, fabsf(velocity_m_s[a]));
    }
    snprintf(what, sizeof what, "%s[%u].velocity_m_s along an axis", list, number);
    remark_limit(to, what, (double)fastest_m_s, (double)fminf(fastest_m_s, most_m_s), more_substeps);
}

static void remark_speeds(const tarn_tank *tank, tank_remarks *to)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    const float limit = fminf(SPEED_MAX, MOVE_CELLS_MAX * tank_role(tank, TARN_PLAYS_SUBSTEPS, 4.0f));
    for (uint32_t i = 0; i < desc->block_count; i++) {
        remark_speed(tank, to, "blocks", i, desc->blocks[i].velocity_m_s, limit);
    }
    for (uint32_t i = 0; i < desc->fluid_count; i++) {
        remark_speed(tank, to, "fluids", i, desc->fluids[i].velocity_m_s, limit);
    }
    for (uint32_t i = 0; i < desc->emitter_count; i++) {
        remark_speed(tank, to, "emitters", i, desc->emitters[i].velocity_m_s, limit);
    }
    for (uint32_t i = 0; i < desc->solid_count; i++) {
        if (desc->solids[i].motion == TARN_MOTION_FREE) {
            remark_speed(tank, to, "solids", i, desc->solids[i].velocity_m_s, BODY_SPEED_MAX);
        }
    }
}

/// A tank has no time to change its speed where two key frames meet, and is behind from there on. Who wouldn't see it
/// in the liquid isn't told. @param reach_m  what is farthest off goes so far where the tank goes by 1 of its unit
static void remark_jump(const tarn_tank_desc *desc, tank_remarks *to, const char *what, const char *unit, double jump,
                        double most, double reach_m)
{
    const double takes_s = jump / most, lag = 0.5 * jump * (takes_s - (double)desc->dt_s);
    if (lag * reach_m > 0.5 * (double)desc->cell_m) {
        tank_remark(to,
                    "tank_motion changes its %s by %.3g %s/s at once, but a tank takes %.2g s for that (at most %g "
                    "%s/s²), and lags up to %.2g %s behind its key frames",
                    what, jump, unit, takes_s, most, unit, lag, unit);
    }
}

/// Of the tank itself, where key frames lead it.
static void remark_led(const tarn_tank_desc *desc, tank_remarks *to)
{
    const char *const remedy = "a tank follows its key frames no faster, and lags behind";
    remark_limit(to, "tank_motion in rad/s", (double)desc->led_turn_rad_s,
                 fmin((double)desc->led_turn_rad_s, (double)TARN_TANK_TURN_MAX_RAD_S), remedy);
    remark_limit(to, "tank_motion in m/s", (double)desc->led_speed_m_s,
                 fmin((double)desc->led_speed_m_s, (double)TARN_TANK_SPEED_MAX_M_S), remedy);
    const double cell_m = (double)desc->cell_m;
    // What is asked for beyond the limits above is no jump of the tank's.
    const double turn_jump = fmin((double)desc->led_turn_jump_rad_s, 2.0 * (double)TARN_TANK_TURN_MAX_RAD_S),
                 speed_jump = fmin((double)desc->led_speed_jump_m_s, 2.0 * (double)TARN_TANK_SPEED_MAX_M_S);
    remark_jump(desc, to, "turning", "rad", turn_jump, (double)TARN_TANK_TURN_MAX_RAD_S2,
                0.5 * cell_m * sqrt(pow(desc->cells[0], 2) + pow(desc->cells[1], 2) + pow(desc->cells[2], 2)));
    remark_jump(desc, to, "speed", "m", speed_jump, (double)TARN_TANK_SHAKE_MAX_M_S2, 1.0);
}

// ------------------------------------------------------------------------------------------------------------- regions

static bool is_in_tank(const tarn_tank_desc *desc, const tarn_shape *shape, const tarn_pose *pose)
{
    double low[3], high[3];
    tarn_shape_bounds_m(shape, pose, desc->fields, low, high);
    bool is_in = true;
    for (int a = 0; a < 3; a++) {
        is_in &= high[a] > 0.0 && low[a] < desc->cells[a] * (double)desc->cell_m;
    }
    return is_in;
}

/// The least way through a shape that isn't a field.
static double plain_thickness_m(const tarn_shape *shape)
{
    const float *half = shape->half_m;
    return 2.0 * (double)(shape->kind == TARN_SHAPE_BOX        ? fminf(fminf(half[0], half[1]), half[2])
                          : shape->kind == TARN_SHAPE_CYLINDER ? fminf(half[0], half[1])
                                                               : half[0]);
}

/// Twice the depth of what lies deepest inside.
static double field_thickness_m(const tarn_distance_field *field)
{
    const size_t count = (size_t)field->nodes[0] * field->nodes[1] * field->nodes[2];
    float least = 0.0f;
    for (size_t i = 0; i < count; i++) {
        least = fminf(least, field->distance_m[i]);
    }
    return -2.0 * (double)least;
}

/// Of a shape, where it is thin.
static float thickness_m(const tarn_tank_desc *desc, const tarn_shape *shape)
{
    if (shape->kind == TARN_SHAPE_FIELD) {
        const tarn_distance_field *field = &desc->fields[shape->field];
        return shape->half_m[0] * (field->thin_m > 0.0f ? field->thin_m : (float)field_thickness_m(field));
    }
    tarn_shape seen = *shape;
    if (desc->cells[2] == 1 && shape->kind == TARN_SHAPE_BOX) {
        seen.half_m[2] = seen.half_m[0]; // across a flat tank what is thin is as thick as the tank
    }
    return (float)plain_thickness_m(&seen);
}

static void remark_drains(const tarn_tank *tank, tank_remarks *to)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    for (uint32_t i = 0; i < desc->drain_count; i++) {
        const tarn_drain *drain = &desc->drains[i];
        const double thick_m = plain_thickness_m(&drain->shape);
        if (!is_in_tank(desc, &drain->shape, &drain->pose)) {
            tank_remark(to, "drains[%u] takes nothing: it lies outside the tank", i);
        } else if (drain->shape.kind != TARN_SHAPE_FIELD && thick_m < (1.0 - (double)NOTICED) * (double)desc->cell_m) {
            tank_remark(to, "drains[%u] is %.4g m thin: it drains as if it were as thick as a cell of %g m", i, thick_m,
                        (double)desc->cell_m);
        }
    }
}

/// How many particles a description begins with of one block, or fluid shape, alone; without solids.
static uint64_t particles_of(tarn_tank_desc *alone, const tarn_fluid_block *block, const tarn_fluid_shape *fluid)
{
    alone->block_count = block != NULL;
    alone->fluid_count = fluid != NULL;
    if (block != NULL) {
        alone->blocks[0] = *block;
    } else {
        alone->fluids[0] = *fluid;
    }
    return tarn_tank_desc_particles(alone);
}

/// Whether a region is so thin that there may be no particle in it.
static bool is_sliver(const tarn_tank_desc *desc, double thick_m)
{
    return thick_m < 2.0 * (double)desc->cell_m / desc->particles_per_axis;
}

/// Which blocks and fluid shapes hold no particle.
static void judge_fluids(tarn_tank *tank)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    tarn_tank_desc *alone = malloc(sizeof *alone);
    if (alone == NULL || (tank->model->shown.can & TARN_MODEL_LIQUIDS) == 0) {
        free(alone);
        return;
    }
    *alone = *desc;
    alone->solid_count = alone->particle_count = 0;
    for (uint32_t i = 0; i < desc->block_count; i++) {
        const tarn_fluid_block *block = &desc->blocks[i];
        double thick_m = INFINITY;
        for (int a = 0; a < 3; a++) {
            thick_m = fmin(thick_m, fmin((double)block->max_m[a], desc->cells[a] * (double)desc->cell_m) -
                                        fmax((double)block->min_m[a], 0.0));
        }
        const bool is_empty = is_sliver(desc, thick_m) && particles_of(alone, block, NULL) == 0;
        tank->empty_blocks |= (uint64_t)is_empty << i;
    }
    for (uint32_t i = 0; i < desc->fluid_count; i++) {
        const tarn_fluid_shape *fluid = &desc->fluids[i];
        const bool may_be = fluid->shape.inverted == 0 && (is_sliver(desc, (double)thickness_m(desc, &fluid->shape)) ||
                                                           !is_in_tank(desc, &fluid->shape, &fluid->pose));
        const bool is_empty = may_be && particles_of(alone, NULL, fluid) == 0;
        tank->empty_fluids |= (uint64_t)is_empty << i;
    }
    free(alone);
}

static void remark_fluids(const tarn_tank *tank, tank_remarks *to)
{
    const char *const why = "begins with no particle: it is too thin, or lies outside the tank";
    for (uint32_t i = 0; i < TARN_TANK_BLOCKS_MAX; i++) {
        if ((tank->empty_blocks >> i & 1) != 0) {
            tank_remark(to, "blocks[%u] %s", i, why);
        }
    }
    for (uint32_t i = 0; i < TARN_TANK_FLUIDS_MAX; i++) {
        if ((tank->empty_fluids >> i & 1) != 0) {
            tank_remark(to, "fluids[%u] %s", i, why);
        }
    }
}

/// A tank that was set back knows of nothing that is to come.
static bool was_lately(const tarn_tank *tank, double time_s)
{
    return time_s >= 0.0 && time_s <= tank->sim_time_s && tank->sim_time_s - time_s <= LATELY_S;
}

static void remark_taps(const tarn_tank *tank, tank_remarks *to)
{
    for (uint32_t i = 0; i < tank->grid.desc.emitter_count && tank->args != NULL; i++) {
        if (was_lately(tank, tank->tap_shut_s[i])) {
            tank_remark(to, "emitters[%u] has stopped: what it pours into is full", i);
        }
    }
    if (tank->args != NULL && was_lately(tank, tank->capped_s)) {
        tank_remark(to,
                    "particles_max is reached, %u particles: taps bring no more than leaves, or than the oldest spray "
                    "makes way for",
                    tank->args->scale.particles_max);
    }
}

// -------------------------------------------------------------------------------------------------------------- solids

static bool ever_in_tank(const tarn_tank_desc *desc, const tarn_solid *solid)
{
    bool is_in = is_in_tank(desc, &solid->shape, &solid->pose);
    for (uint32_t i = 0; i < solid->keyframe_count && solid->motion == TARN_MOTION_KEYFRAMES; i++) {
        is_in |= is_in_tank(desc, &solid->shape, &desc->keyframes[solid->keyframe_first + i].pose);
    }
    return is_in;
}

void tank_judge(tarn_tank *tank)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    for (uint32_t i = 0; i < desc->solid_count; i++) {
        const tarn_solid *solid = &desc->solids[i];
        tank->seen[i] = (tank_solid_seen){.thick_m = INFINITY};
        if (solid->shape.inverted == 0) {
            tank->seen[i].thick_m = thickness_m(desc, &solid->shape);
            tank->seen[i].is_outside = !ever_in_tank(desc, solid);
        }
    }
    judge_fluids(tank);
    tank->capped_s = -1.0;
    for (uint32_t i = 0; i < TARN_TANK_EMITTERS_MAX; i++) {
        tank->tap_shut_s[i] = -1.0;
    }
    for (uint32_t b = 0; b < BODIES_MAX; b++) {
        tank->leapt_s[b] = -1.0;
    }
}

/// The longest way along a direction (of unit length, in the shape's frame) through a shape; of a field the least.
static double way_through(const tarn_shape *shape, double thick, const double along[3], double per_cell)
{
    const double h[3] = {(double)shape->half_m[0] * per_cell, (double)shape->half_m[1] * per_cell,
                         (double)shape->half_m[2] * per_cell};
    const double across = sqrt(along[0] * along[0] + along[2] * along[2]), least = 1e-9;
    double way = INFINITY;
    switch (shape->kind) {
    case TARN_SHAPE_BOX:
        for (int a = 0; a < 3; a++) {
            way = fmin(way, 2.0 * h[a] / fmax(fabs(along[a]), least));
        }
        return way;
    case TARN_SHAPE_SPHERE:
        return 2.0 * h[0];
    case TARN_SHAPE_CAPSULE:
        return fmin(2.0 * h[0] / fmax(across, least), 2.0 * (h[0] + h[1]));
    case TARN_SHAPE_CYLINDER:
        return fmin(2.0 * h[0] / fmax(across, least), 2.0 * h[1] / fmax(fabs(along[1]), least));
    default:
        return thick;
    }
}

/// How a body moves: cells and radians per step, in its shape's frame; it turns about `center`.
typedef struct body_motion {
    double velocity[3], spin[3], center[3];
} body_motion;

/// How far a body goes in a step, over the way through it along its motion: the most of its middle and the corners of
/// the box around it. @param fastest  receives cells per step
static double leap_of(const tarn_tank_desc *desc, const tarn_shape *shape, double thick_m, const body_motion *motion,
                      double *fastest)
{
    const tarn_pose still = {.rotation = {0.0f, 0.0f, 0.0f, 1.0f}};
    const double per_cell = 1.0 / (double)desc->cell_m;
    double low[3], high[3], leap = 0.0;
    tarn_shape_bounds_m(shape, &still, desc->fields, low, high);
    *fastest = 0.0;
    for (int corner = 0; corner < 9; corner++) {
        double arm[3], v[3], speed = 0.0;
        for (int a = 0; a < 3; a++) {
            const double at = corner == 8 ? 0.5 * (low[a] + high[a]) : (corner >> a & 1) != 0 ? high[a] : low[a];
            arm[a] = at * per_cell - motion->center[a];
        }
        for (int a = 0; a < 3; a++) {
            const int n = (a + 1) % 3, l = (a + 2) % 3;
            v[a] = motion->velocity[a] + (motion->spin[n] * arm[l] - motion->spin[l] * arm[n]);
            speed += v[a] * v[a];
        }
        speed = sqrt(speed);
        *fastest = fmax(*fastest, speed);
        if (speed > 0.0) {
            const double along[3] = {v[0] / speed, v[1] / speed, v[2] / speed};
            leap = fmax(leap, speed / fmax(way_through(shape, thick_m * per_cell, along, per_cell), 1e-9));
        }
    }
    return leap;
}

/// From the tank's frame to a pose's.
static void turn_back(const tarn_pose *pose, const double from[3], double to[3])
{
    double matrix[3][3];
    tarn_pose_matrix(pose, matrix);
    for (int a = 0; a < 3; a++) {
        to[a] = matrix[0][a] * from[0] + matrix[1][a] * from[1] + matrix[2][a] * from[2];
    }
}

/// What a body does between two key frames, with the first one's pose.
static body_motion keyed_motion(const tarn_tank_desc *desc, const tarn_keyframe *from, const tarn_keyframe *to)
{
    const double steps = fmax(((double)to->time_s - (double)from->time_s) / (double)desc->dt_s, 1.0);
    const float *p = from->pose.rotation, *q = to->pose.rotation;
    double move[3], norm = 0.0, cosine = 0.0;
    body_motion motion = {{0}, {0}, {0}};
    for (int a = 0; a < 3; a++) {
        move[a] = ((double)to->pose.position_m[a] - (double)from->pose.position_m[a]) / (double)desc->cell_m / steps;
    }
    turn_back(&from->pose, move, motion.velocity);
    for (int i = 0; i < 4; i++) {
        norm += (double)p[i] * (double)p[i];
        cosine += (double)p[i] * (double)q[i];
    }
    const double sign = cosine < 0.0 ? -2.0 : 2.0;
    for (int a = 0; a < 3 && norm > 0.0; a++) { // of conj(p) q the vector part, twice: the turn, where it is small
        const int n = (a + 1) % 3, l = (a + 2) % 3;
        const double part = (double)p[3] * (double)q[a] - (double)q[3] * (double)p[a] -
                            ((double)p[n] * (double)q[l] - (double)p[l] * (double)q[n]);
        motion.spin[a] = sign * part / norm / steps;
    }
    return motion;
}

/// Whether a solid that key frames move leaps over liquid, with as many substeps as its motion asks for and may have.
static void remark_keyed(const tarn_tank *tank, tank_remarks *to, uint32_t number)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    const tarn_solid *solid = &desc->solids[number];
    const double most = (double)tank_role(tank, TARN_PLAYS_SUBSTEPS, 4.0f),
                 cfl = (double)tank_role(tank, TARN_PLAYS_CFL, 2.0f), thick_m = (double)tank->seen[number].thick_m;
    double worst = 0.0, way_m = 0.0;
    for (uint32_t i = 0; i + 1 < solid->keyframe_count; i++) {
        const tarn_keyframe *from = &desc->keyframes[solid->keyframe_first + i];
        const body_motion motion = keyed_motion(desc, from, from + 1);
        double fastest;
        const double leap = leap_of(desc, &solid->shape, thick_m, &motion, &fastest);
        const double substeps = fmin(fmax(ceil(fastest / cfl), 1.0), most);
        if (leap / substeps > worst) {
            worst = leap / substeps;
            way_m = fastest / substeps * (double)desc->cell_m;
        }
    }
    if (worst > 1.0 + (double)NOTICED) {
        tank_remark(to,
                    "solids[%u] moves %.3g m in a substep, %.3g times as far as it is thick there: it leaps over "
                    "liquid; more substeps_max (%g) or a shorter dt_s help",
                    number, way_m, worst, most);
    }
}

static void remark_thin(const tarn_tank_desc *desc, tank_remarks *to, const char *what, const tarn_shape *shape,
                        double thick_m)
{
    if (thick_m < (double)desc->cell_m) {
        tank_remark(to, "%s is %.4g m thin%s: less than a cell of %g m doesn't keep liquid apart", what, thick_m,
                    shape->kind == TARN_SHAPE_FIELD ? " in places" : "", (double)desc->cell_m);
    }
}

static void remark_solids(const tarn_tank *tank, tank_remarks *to)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    for (uint32_t i = 0; i < desc->solid_count; i++) {
        const tarn_solid *solid = &desc->solids[i];
        char what[32];
        snprintf(what, sizeof what, "solids[%u]", i);
        if (tank->seen[i].is_outside) {
            tank_remark(to, "%s is never in the tank, which goes from 0 to %g, %g, %g m", what,
                        (double)desc->cells[0] * (double)desc->cell_m, (double)desc->cells[1] * (double)desc->cell_m,
                        (double)desc->cells[2] * (double)desc->cell_m);
        }
        remark_thin(desc, to, what, &solid->shape, (double)tank->seen[i].thick_m);
        if (solid->motion == TARN_MOTION_KEYFRAMES && solid->shape.inverted == 0) {
            remark_keyed(tank, to, i);
        }
    }
}

/// Solids that people put in.
static void remark_added(const tarn_tank *tank, tank_remarks *to)
{
    tarn_added_solid added[TARN_TANK_ADDED_MAX];
    const uint32_t count = tank->args != NULL ? tarn_tank_added(tank, added) : 0;
    for (uint32_t i = 0; i < count; i++) {
        const tarn_shape *shape = &added[i].solid.shape;
        char what[48] = "a piece of wall that was put in";
        if (added[i].number != 0) {
            snprintf(what, sizeof what, "body %u, which was thrown in,", added[i].number);
        }
        if (shape->kind != TARN_SHAPE_FIELD) { // one that is like the scene's is judged there
            remark_thin(&tank->grid.desc, to, what, shape, (double)thickness_m(&tank->grid.desc, shape));
        }
    }
}

static void remark_bodies(const tarn_tank *tank, tank_remarks *to)
{
    for (uint32_t b = 0; b < tank->grid.body_count && tank->args != NULL; b++) {
        if (was_lately(tank, tank->leapt_s[b])) {
            const bool is_own = b < tank->grid.own_body_count;
            tank_remark(to, "%s%u%s moves farther in a substep than it is thick: it leaps over liquid",
                        is_own ? "solids[" : "body ",
                        is_own ? tank->grid.body_solid[b] : grid_body_number(&tank->grid, b),
                        is_own ? "]" : ", which was thrown in,");
        }
    }
}

void tank_bodies_watch(tarn_tank *tank)
{
    for (uint32_t b = 0; b < tank->grid.body_count; b++) {
        const tarn_solid *solid = grid_body_solid(&tank->grid, b);
        if (solid->motion != TARN_MOTION_FREE) {
            continue; // remark_keyed knows before
        }
        const grid_body_state *state = &tank->grid.body_state[b];
        body_motion motion;
        double fastest;
        for (int a = 0; a < 3; a++) {
            motion.velocity[a] = motion.spin[a] = 0.0;
            motion.center[a] = (double)tank->grid.body_center[b][a];
            for (int c = 0; c < 3; c++) {
                motion.velocity[a] += (double)state->turn[3 * c + a] * (double)state->velocity[c];
                motion.spin[a] += (double)state->turn[3 * c + a] * (double)state->spin[c];
            }
        }
        const bool is_own = b < tank->grid.own_body_count;
        const double thick_m = is_own ? (double)tank->seen[tank->grid.body_solid[b]].thick_m : INFINITY;
        if (leap_of(&tank->grid.desc, &solid->shape, thick_m, &motion, &fastest) >
            (1.0 + (double)NOTICED) * tank->grid.substeps) {
            tank->leapt_s[b] = tank->sim_time_s;
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------- list

uint32_t tarn_tank_remarks(const tarn_tank *tank, tarn_remark *remarks, uint32_t remarks_max)
{
    tank_remarks to = {remarks, remarks_max, 0};
    remark_parameters(tank, &to);
    if (tank->model->remark != NULL) {
        tank->model->remark(tank, &to);
    }
    remark_speeds(tank, &to);
    remark_led(&tank->grid.desc, &to);
    remark_drains(tank, &to);
    remark_fluids(tank, &to);
    remark_taps(tank, &to);
    remark_solids(tank, &to);
    remark_added(tank, &to);
    remark_bodies(tank, &to);
    return to.count;
}

uint32_t tarn_tank_desc_remarks(const tarn_tank_desc *desc, tarn_remark *remarks, uint32_t remarks_max)
{
    tarn_tank *tank = calloc(1, sizeof *tank); // of which only what these ask for is there
    if (tank == NULL) {
        return 0;
    }
    tank->grid.desc = *desc;
    tank_describe(tank);
    tank_judge(tank);
    const uint32_t count = tarn_tank_remarks(tank, remarks, remarks_max);
    free(tank);
    return count;
}
