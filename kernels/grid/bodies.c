// Bodies on the host: what they are made of, key frames, hands, and where they are.
#include "kernels/grid/grid_host.h"
#include "protocol/assert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ------------------------------------------------------------------------------------------------------------- at
// start

/// The inverse of a symmetric matrix as xx yy zz yz xz xy.
static void invert_inertia(double m[3][3], float *inverse)
{
    double cofactor[3][3], determinant = 0.0;
    for (int r = 0; r < 3; r++) {
        for (int c = 0; c < 3; c++) {
            const int r1 = (r + 1) % 3, r2 = (r + 2) % 3, c1 = (c + 1) % 3, c2 = (c + 2) % 3;
            cofactor[r][c] = m[r1][c1] * m[r2][c2] - m[r1][c2] * m[r2][c1];
        }
    }
    for (int c = 0; c < 3; c++) {
        determinant += m[0][c] * cofactor[0][c];
    }
    for (int i = 0; i < 3; i++) {
        inverse[i] = (float)(cofactor[i][i] / determinant);
    }
    inverse[3] = (float)(cofactor[1][2] / determinant);
    inverse[4] = (float)(cofactor[0][2] / determinant);
    inverse[5] = (float)(cofactor[0][1] / determinant);
}

/// The share of a film beside it that a free body takes along in a substep: all that doesn't throw it back. Films weigh
/// about half a cell on either side, the matter between them its thickness times its density.
static float film_share(const tarn_tank_desc *desc, const tarn_shape *shape, double density)
{
    const tarn_pose still = {.rotation = {0.0f, 0.0f, 0.0f, 1.0f}};
    double min_m[3], max_m[3], thickness_m = INFINITY;
    tarn_shape_bounds_m(shape, &still, desc->fields, min_m, max_m);
    for (int a = 0; a < 3; a++) {
        thickness_m = fmin(thickness_m, max_m[a] - min_m[a]);
    }
    const double hollow = shape->kind == TARN_SHAPE_FIELD ? 0.5 : 1.0;
    return (float)fmin(hollow * thickness_m / (double)desc->cell_m * density / 3.0, 1.0);
}

/// Mass, inertia and centre of a free body in cells of the lightest liquid.
static void fill_mass(const tarn_tank_desc *desc, const tarn_solid *solid, grid_body *body)
{
    tarn_shape_mass mass;
    if (tarn_shape_mass_get(&solid->shape, desc->fields, &mass) != TARN_OK || !(mass.volume_m3 > 0.0)) {
        return; // stays where it is
    }
    const double cell_m = (double)desc->cell_m;
    double liquid = desc->liquid_count > 0 ? (double)desc->liquids[0].density_kg_m3 : 1000.0;
    for (uint32_t i = 1; i < desc->liquid_count; i++) { // pressures are in terms of the lightest
        liquid = fmin(liquid, (double)desc->liquids[i].density_kg_m3);
    }
    const double density = (double)solid->density_kg_m3 / liquid / (cell_m * cell_m * cell_m);
    double inertia[3][3];
    body->is_free = 1;
    body->inverse_mass = (float)(1.0 / (density * mass.volume_m3));
    body->film = film_share(desc, &solid->shape, (double)solid->density_kg_m3 / liquid);
    for (int r = 0; r < 3; r++) {
        body->center[r] = (float)(mass.center_m[r] / cell_m);
        for (int c = 0; c < 3; c++) {
            inertia[r][c] = mass.inertia_m5[r][c] * density / (cell_m * cell_m);
        }
    }
    invert_inertia(inertia, body->inverse_inertia);
}

static void put_point(grid_body *body, const double *at_m, double cell_m)
{
    TARN_ASSERT(body->point_count < BODY_POINTS_MAX);
    for (int a = 0; a < 3; a++) {
        body->point[body->point_count][a] = (float)(at_m[a] / cell_m) - body->center[a];
    }
    body->point_count++;
}

enum { POINTS_EDGE = 4, MARCH_STEPS = 64 };

/// Points on the surface: those of a lattice on the box around the shape, moved inwards until they meet the shape.
static void fill_surface_points(const tarn_tank_desc *desc, const tarn_shape *shape, grid_body *body)
{
    const tarn_pose still = {.rotation = {0.0f, 0.0f, 0.0f, 1.0f}};
    const double cell_m = (double)desc->cell_m;
    double min_m[3], max_m[3];
    tarn_shape_bounds_m(shape, &still, desc->fields, min_m, max_m);
    for (int i = 0; i < POINTS_EDGE * POINTS_EDGE * POINTS_EDGE; i++) {
        const int at[3] = {i % POINTS_EDGE, i / POINTS_EDGE % POINTS_EDGE, i / (POINTS_EDGE * POINTS_EDGE)};
        double point_m[3], way[3], square = 0.0;
        bool on_border = false;
        for (int a = 0; a < 3; a++) {
            on_border |= at[a] == 0 || at[a] == POINTS_EDGE - 1;
            point_m[a] = min_m[a] + (max_m[a] - min_m[a]) * at[a] / (POINTS_EDGE - 1);
            way[a] = (double)body->center[a] * cell_m - point_m[a];
            square += way[a] * way[a];
        }
        if (!on_border || !(square > 0.0)) {
            continue;
        }
        for (int march = 0; march < MARCH_STEPS; march++) {
            const double distance_m = tarn_shape_distance_m(shape, desc->fields, point_m);
            if (distance_m < 1e-4 * cell_m) {
                break;
            }
            for (int a = 0; a < 3; a++) {
                point_m[a] += way[a] * distance_m / sqrt(square);
            }
        }
        put_point(body, point_m, cell_m);
    }
}

#define WIDE_CELLS 3.0f ///< beyond this radius the axis is too far from the surface: below SOLID_NEAR_CELLS

/// A ball and a capsule are balls around points of their axis. Those of a wide one are too far from what it touches to
/// know the distance to a solid that stands still, so that points on its surface are needed too.
static void fill_points(const tarn_tank_desc *desc, const tarn_shape *shape, grid_body *body)
{
    if (body->kind == BODY_ROUND) {
        const uint32_t points = shape->kind == TARN_SHAPE_SPHERE ? 1 : 5;
        for (uint32_t i = 0; i < points; i++) {
            const double share = points > 1 ? 2.0 * i / (points - 1) - 1.0 : 0.0;
            put_point(body, (const double[3]){0.0, share * (double)shape->half_m[1], 0.0}, (double)desc->cell_m);
        }
        body->axis_points = points;
    }
    if (body->kind != BODY_ROUND || body->half[0] > WIDE_CELLS) {
        fill_surface_points(desc, shape, body);
    }
}

/// How much less a field's distances are than those to a box around it, at most; in the shape's frame. What holds at
/// the nodes holds everywhere: the distance to a box, negative inside, is convex, and so no more than what is
/// interpolated between nodes, and beyond the grid it grows no faster than the field's.
static double field_slack_m(const tarn_distance_field *field, double scale, const double min_m[3],
                            const double max_m[3])
{
    const size_t nx = field->nodes[0], ny = field->nodes[1], nz = field->nodes[2];
    double slack_m = 0.0;
    for (size_t i = 0; i < nx * ny * nz; i++) {
        const size_t node[3] = {i % nx, i / nx % ny, i / (nx * ny)};
        double square = 0.0, inside = -INFINITY;
        for (int a = 0; a < 3; a++) {
            const double at = scale * ((double)field->min_m[a] + (double)field->spacing_m * (double)node[a]);
            const double beyond = fmax(min_m[a] - at, at - max_m[a]), out = fmax(beyond, 0.0);
            inside = fmax(inside, beyond);
            square += out * out;
        }
        const double to_box = square > 0.0 ? sqrt(square) : inside;
        slack_m = fmax(slack_m, to_box - scale * (double)field->distance_m[i]);
    }
    return slack_m;
}

#define BOX_ROUNDING_CELLS 0.01
#define BOX_ROUNDING_SHARE 1e-4 ///< of the box's size

/// The box that tells that a body is far without its distance.
static void fill_box(const tarn_tank_desc *desc, const tarn_shape *shape, grid_body *body)
{
    const tarn_pose still = {.rotation = {0.0f, 0.0f, 0.0f, 1.0f}};
    const double cell_m = (double)desc->cell_m;
    double min_m[3], max_m[3], slack = BOX_ROUNDING_CELLS;
    tarn_shape_bounds_m(shape, &still, desc->fields, min_m, max_m);
    for (int a = 0; a < 3; a++) {
        body->box_center[a] = (float)(0.5 * (min_m[a] + max_m[a]) / cell_m);
        body->box_half[a] = (float)(0.5 * (max_m[a] - min_m[a]) / cell_m);
        slack += BOX_ROUNDING_SHARE * (fabs((double)body->box_center[a]) + (double)body->box_half[a]);
    }
    if (shape->kind == TARN_SHAPE_FIELD) {
        slack += field_slack_m(&desc->fields[shape->field], (double)shape->half_m[0], min_m, max_m) / cell_m;
    }
    body->box_slack = (float)slack;
}

static void fill_body(const tarn_tank_desc *desc, const tarn_solid *solid, grid_body *body)
{
    static const uint32_t kinds[TARN_SHAPE_COUNT] = {BODY_BOX, BODY_ROUND, BODY_ROUND, BODY_CYLINDER, BODY_FIELD};
    const tarn_shape *shape = &solid->shape;
    const tarn_pose still = {.rotation = {0.0f, 0.0f, 0.0f, 1.0f}};
    const double cell_m = (double)desc->cell_m;
    double center_m[3], radius_m, square = 0.0;
    TARN_ASSERT((unsigned)shape->kind < TARN_SHAPE_COUNT);
    TARN_ASSERT(shape->kind != TARN_SHAPE_FIELD || shape->field < desc->field_count);
    body->kind = kinds[shape->kind];
    body->field = shape->field;
    for (int a = 0; a < 3; a++) {
        body->half[a] = shape->kind == TARN_SHAPE_FIELD ? shape->half_m[a] : (float)((double)shape->half_m[a] / cell_m);
    }
    if (shape->kind == TARN_SHAPE_SPHERE) {
        body->half[1] = 0.0f;
    }
    body->film = 1.0f;
    if (solid->motion == TARN_MOTION_FREE) {
        fill_mass(desc, solid, body);
    }
    tarn_shape_bounding_sphere_m(shape, &still, desc->fields, center_m, &radius_m);
    for (int a = 0; a < 3; a++) {
        const double away = center_m[a] / cell_m - (double)body->center[a];
        square += away * away;
    }
    body->reach = (float)(radius_m / cell_m + sqrt(square));
    fill_box(desc, shape, body);
    fill_points(desc, shape, body);
}

static void unit_rotation(const float *from, float *to)
{
    double square = 0.0;
    for (int a = 0; a < 4; a++) {
        square += (double)from[a] * (double)from[a];
    }
    for (int a = 0; a < 4; a++) {
        to[a] = square > 0.0 ? (float)((double)from[a] / sqrt(square)) : a == 3 ? 1.0f : 0.0f;
    }
}

/// The state of a body whose shape has a pose.
static void place_body(const tarn_tank_desc *desc, const tarn_pose *pose, const float *center, grid_body_state *state)
{
    double matrix[3][3];
    tarn_pose_matrix(pose, matrix);
    unit_rotation(pose->rotation, state->rotation);
    for (int a = 0; a < 3; a++) {
        double at = (double)pose->position_m[a] / (double)desc->cell_m;
        for (int b = 0; b < 3; b++) {
            at += matrix[a][b] * (double)center[b];
            state->turn[3 * a + b] = (float)matrix[a][b];
        }
        state->position[a] = (float)at;
    }
}

static void fill_field(const grid_host *grid, uint32_t f, grid_field *to)
{
    TARN_ASSERT(f < grid->desc.field_count);
    const tarn_distance_field *from = &grid->desc.fields[f];
    const float cell_m = grid->desc.cell_m;
    for (int a = 0; a < 3; a++) {
        to->nodes[a] = (int32_t)from->nodes[a];
        to->min[a] = from->min_m[a] / cell_m;
    }
    to->per_spacing = cell_m / from->spacing_m;
    to->distance = grid->field_distance[f];
}

/// Fields on the device have cells for their unit.
static tarn_status upload_field(grid_host *grid, uint32_t f)
{
    const tarn_distance_field *from = &grid->desc.fields[f];
    TARN_ASSERT(grid->field_distance[f] != NULL);
    const size_t count = (size_t)from->nodes[0] * from->nodes[1] * from->nodes[2];
    float *cells = malloc(count * sizeof *cells);
    if (cells == NULL) {
        return TARN_E_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        cells[i] = from->distance_m[i] / grid->desc.cell_m;
    }
    const tarn_status status = tarn_queue_upload(grid->queue, grid->field_distance[f], cells, count * sizeof *cells);
    free(cells);
    return status;
}

const tarn_solid *grid_body_solid(const grid_host *grid, uint32_t body)
{
    TARN_ASSERT(body < grid->own_body_count + grid->added.thrown_count);
    return body < grid->own_body_count ? &grid->desc.solids[grid->body_solid[body]]
                                       : &grid->added.thrown[body - grid->own_body_count];
}

/// Turns a body that begins to move: what its description says of the shape's middle holds there, and the centre of
/// mass, which lies beside it, goes round.
static void spin_body(const tarn_tank_desc *desc, const tarn_solid *solid, const float *center, grid_body_state *state)
{
    const float *w = solid->angular_velocity_rad_s;
    if (w[0] == 0.0f && w[1] == 0.0f && w[2] == 0.0f) {
        return;
    }
    float arm[3];
    for (int a = 0; a < 3; a++) {
        arm[a] =
            state->turn[3 * a] * center[0] + state->turn[3 * a + 1] * center[1] + state->turn[3 * a + 2] * center[2];
        state->spin[a] = tile_clamp_f32(w[a] * desc->dt_s, -BODY_SPIN_MAX, BODY_SPIN_MAX);
    }
    for (int a = 0; a < 3; a++) {
        const int n = (a + 1) % 3, l = (a + 2) % 3;
        state->velocity[a] = tile_clamp_f32(state->velocity[a] + (state->spin[n] * arm[l] - state->spin[l] * arm[n]),
                                            -BODY_SPEED_MAX, BODY_SPEED_MAX);
    }
}

/// What a body is, where it begins, and what the host has to know of it.
static void start_body(grid_host *grid, uint32_t b, grid_body *body, grid_body_state *state)
{
    const tarn_tank_desc *desc = &grid->desc;
    const tarn_solid *solid = grid_body_solid(grid, b);
    const bool keyed = solid->motion == TARN_MOTION_KEYFRAMES;
    TARN_ASSERT(solid->motion != TARN_MOTION_STATIC);
    fill_body(desc, solid, body);
    place_body(desc, keyed ? &desc->keyframes[solid->keyframe_first].pose : &solid->pose, body->center, state);
    for (int a = 0; a < 3; a++) {
        state->velocity[a] =
            keyed ? 0.0f
                  : tile_clamp_f32(solid->velocity_m_s[a] * desc->dt_s / desc->cell_m, -BODY_SPEED_MAX, BODY_SPEED_MAX);
        grid->body_center[b][a] = body->center[a];
    }
    if (!keyed) {
        spin_body(desc, solid, body->center, state);
    }
    grid->body_reach[b] = body->reach;
}

tarn_status grid_bodies_put(grid_host *grid, uint32_t b)
{
    grid_bodies *bodies = grid->args->m.bodies;
    grid_body body = {0};
    TARN_ASSERT(b < grid->body_count && bodies != NULL);
    grid_body_state *state = &grid->body_state[b];
    memset(state, 0, sizeof *state);
    start_body(grid, b, &body, state);
    tarn_status status = tarn_queue_upload(grid->queue, &bodies->body[b], &body, sizeof body);
    if (status == TARN_OK) {
        status = tarn_queue_upload(grid->queue, &bodies->state[b], state, sizeof *state);
    }
    return status == TARN_OK
               ? tarn_queue_upload(grid->queue, &bodies->count, &grid->body_count, sizeof grid->body_count)
               : status;
}

tarn_status grid_bodies_reset(grid_host *grid)
{
    const tarn_tank_desc *desc = &grid->desc;
    memset(&grid->body_control, 0, sizeof grid->body_control);
    if (grid->body_count == 0) {
        return TARN_OK;
    }
    TARN_ASSERT(grid->body_count <= BODIES_MAX && grid->args->m.bodies != NULL);
    grid_bodies *bodies = calloc(1, sizeof *bodies);
    tarn_status status = bodies != NULL ? TARN_OK : TARN_E_MEMORY;
    for (uint32_t f = 0; f < desc->field_count && status == TARN_OK; f++) {
        fill_field(grid, f, &bodies->field[f]);
        status = upload_field(grid, f);
    }
    for (uint32_t b = 0; b < grid->body_count && status == TARN_OK; b++) {
        start_body(grid, b, &bodies->body[b], &bodies->state[b]);
    }
    if (status == TARN_OK) {
        bodies->count = grid->body_count;
        memcpy(grid->body_state, bodies->state, sizeof grid->body_state);
        status = tarn_queue_upload(grid->queue, grid->args->m.bodies, bodies, sizeof *bodies);
    }
    free(bodies);
    return status;
}

// ---------------------------------------------------------------------------------------------------------- each step

/// A solid's pose at a time: evenly between key frames, the first one's before them and the last one's after.
static void keyframe_pose(const tarn_tank_desc *desc, const tarn_solid *solid, double time_s, float *pose)
{
    const tarn_keyframe *keys = desc->keyframes + solid->keyframe_first;
    TARN_ASSERT(solid->keyframe_count > 0);
    TARN_ASSERT(solid->keyframe_first + solid->keyframe_count <= desc->keyframe_count);
    const uint32_t last = solid->keyframe_count - 1;
    const double end_s = (double)keys[last].time_s;
    if (solid->keyframes_loop && end_s > 0.0) {
        time_s -= end_s * floor(time_s / end_s);
    }
    uint32_t k = 0;
    while (k < last && time_s >= (double)keys[k + 1].time_s) {
        k++;
    }
    const tarn_keyframe *from = &keys[k], *to = &keys[k < last ? k + 1 : last];
    const double span_s = (double)to->time_s - (double)from->time_s;
    const double share = span_s > 0.0 ? fmin(fmax((time_s - (double)from->time_s) / span_s, 0.0), 1.0) : 0.0;
    float a[4], b[4], mixed[4], cosine = 0.0f;
    unit_rotation(from->pose.rotation, a);
    unit_rotation(to->pose.rotation, b);
    for (int i = 0; i < 4; i++) {
        cosine += a[i] * b[i];
    }
    for (int i = 0; i < 4; i++) { // the shorter way
        mixed[i] = (float)((1.0 - share) * (double)a[i] + share * (double)(cosine < 0.0f ? -b[i] : b[i]));
    }
    unit_rotation(mixed, pose + 3);
    for (int i = 0; i < 3; i++) {
        pose[i] = (float)(((1.0 - share) * (double)from->pose.position_m[i] + share * (double)to->pose.position_m[i]) /
                          (double)desc->cell_m);
    }
}

/// Whether the key frames of a loop start again between two times, somewhere else than they ended.
static bool jumps(const tarn_tank_desc *desc, const tarn_solid *solid, double from_s, double to_s)
{
    const tarn_keyframe *keys = desc->keyframes + solid->keyframe_first, *last = &keys[solid->keyframe_count - 1];
    const double end_s = (double)last->time_s;
    return solid->keyframes_loop && end_s > 0.0 && floor(from_s / end_s) != floor(to_s / end_s) &&
           memcmp(&keys[0].pose, &last->pose, sizeof last->pose) != 0;
}

/// Poses at the ends of a step. A body that jumps is at once where it jumps to, without a velocity.
static void step_poses(const grid_host *grid, uint32_t b, float *from, float *to)
{
    const tarn_tank_desc *desc = &grid->desc;
    const tarn_solid *solid = grid_body_solid(grid, b);
    const double from_s = (double)grid->step * (double)desc->dt_s, to_s = (double)(grid->step + 1) * (double)desc->dt_s;
    float cosine = 0.0f;
    keyframe_pose(desc, solid, to_s, to);
    keyframe_pose(desc, solid, jumps(desc, solid, from_s, to_s) ? to_s : from_s, from);
    for (int i = 3; i < 7; i++) {
        cosine += from[i] * to[i];
    }
    for (int i = 3; i < 7 && cosine < 0.0f; i++) {
        to[i] = -to[i];
    }
}

static bool is_keyed(const grid_host *grid, uint32_t b)
{
    return grid_body_solid(grid, b)->motion == TARN_MOTION_KEYFRAMES;
}

tarn_status grid_bodies_before_step(grid_host *grid)
{
    if (grid->body_count == 0) {
        return TARN_OK;
    }
    grid_body_control *control = &grid->body_control;
    TARN_ASSERT(grid->args->m.bodies != NULL && grid->args->m.body_control != NULL);
    TARN_ASSERT(control->grab_count <= GRABS_MAX);
    control->substep = 0;
    for (uint32_t b = 0; b < grid->body_count; b++) {
        if (is_keyed(grid, b)) {
            step_poses(grid, b, control->from[b], control->to[b]);
        }
    }
    const tarn_status status = tarn_queue_upload(grid->queue, grid->args->m.body_control, control, sizeof *control);
    control->grab_count = 0;
    return status;
}

tarn_status grid_bodies_after_step(grid_host *grid)
{
    return grid->body_count == 0
               ? TARN_OK
               : tarn_queue_download(grid->queue, grid->body_state, grid->args->m.bodies, sizeof grid->body_state);
}

float grid_bodies_speed(const grid_host *grid)
{
    float fastest = 0.0f;
    for (uint32_t b = 0; b < grid->body_count; b++) {
        const grid_body_state *state = &grid->body_state[b];
        float move[3] = {state->velocity[0], state->velocity[1], state->velocity[2]}, spin = 0.0f;
        for (int a = 0; a < 3; a++) {
            spin += state->spin[a] * state->spin[a];
        }
        if (is_keyed(grid, b)) {
            float from[7], to[7];
            step_poses(grid, b, from, to);
            spin = 0.0f;
            for (int a = 0; a < 3; a++) {
                move[a] = to[a] - from[a];
            }
            for (int a = 3; a < 7; a++) {
                spin += 4.0f * (to[a] - from[a]) * (to[a] - from[a]);
            }
        }
        const float speed =
            sqrtf(move[0] * move[0] + move[1] * move[1] + move[2] * move[2]) + sqrtf(spin) * grid->body_reach[b];
        fastest = tile_max2_f32(fastest, speed);
    }
    return fastest;
}

bool grid_body_is_balanced(const grid_body_state *state)
{
    bool is = false;
    for (int i = 0; i < 6; i++) {
        is |= state->balance[i] != 0.0f;
    }
    return is;
}

uint64_t grid_bodies_hash(const grid_host *grid, uint64_t hash)
{
    for (uint32_t b = 0; b < grid->body_count; b++) {
        const grid_body_state *state = &grid->body_state[b];
        const float *const parts[] = {state->position, state->rotation, state->velocity, state->spin, state->contact};
        const int sizes[] = {3, 4, 3, 3, 6};
        for (int i = 0; i < 6 && grid_body_is_balanced(state); i++) {
            hash = tile_mix_u64(hash ^ tile_bits_f32(state->balance[i]));
        }
        for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++) {
            for (int i = 0; i < sizes[p]; i++) {
                hash = tile_mix_u64(hash ^ tile_bits_f32(parts[p][i]));
            }
        }
    }
    return hash;
}

// ------------------------------------------------------------------------------------------------------------- outside

enum { NUMBERS = 65536 - TARN_TANK_THROWN_FIRST }; // of thrown bodies, before they begin again

uint32_t grid_body_number(const grid_host *grid, uint32_t body)
{
    return body < grid->own_body_count
               ? grid->body_solid[body]
               : TARN_TANK_THROWN_FIRST + grid->added.thrown_at[body - grid->own_body_count] % NUMBERS;
}

#define GRAB_ACCELERATION_M_S2 200.0f // that a hand can give a body

bool grid_grab_is_sound(const grid_host *grid, const tarn_grab *grab)
{
    bool sound = grab->body < grid->body_count && !is_keyed(grid, grab->body) && isfinite(grab->strength);
    for (int a = 0; a < 3; a++) {
        sound = sound && isfinite(grab->point_m[a]) && isfinite(grab->target_m[a]);
    }
    return sound;
}

void grid_set_grabs(grid_host *grid, const tarn_grab *grabs, uint32_t grab_count)
{
    grid_body_control *control = &grid->body_control;
    const float cell_m = grid->desc.cell_m, dt_s = grid->desc.dt_s;
    TARN_ASSERT(grab_count <= GRABS_MAX);
    control->grab_count = grab_count;
    control->grab_limit = GRAB_ACCELERATION_M_S2 * dt_s * dt_s / cell_m;
    for (uint32_t i = 0; i < grab_count; i++) {
        grid_grab *to = &control->grab[i];
        const uint32_t body = grabs[i].body;
        TARN_ASSERT(body < grid->body_count && !is_keyed(grid, body));
        const float reach = grid->body_reach[body];
        to->body = body;
        to->strength = tile_clamp_f32(grabs[i].strength, 0.0f, 1.0f);
        for (int a = 0; a < 3; a++) {
            to->point[a] = tile_clamp_f32(grabs[i].point_m[a] / cell_m - grid->body_center[body][a], -reach, reach);
            to->target[a] = tile_clamp_f32(grabs[i].target_m[a] / cell_m, 0.0f, (float)grid->desc.cells[a]);
        }
    }
}

uint32_t grid_bodies_list(const grid_host *grid, tarn_body_state *bodies)
{
    const float cell_m = grid->desc.cell_m, per_s = 1.0f / grid->desc.dt_s;
    for (uint32_t b = 0; b < grid->body_count; b++) {
        const grid_body_state *from = &grid->body_state[b];
        const float *center = grid->body_center[b];
        tarn_body_state *to = &bodies[b];
        to->solid = grid_body_number(grid, b);
        memcpy(to->pose.rotation, from->rotation, sizeof to->pose.rotation);
        float offset[3], arm[3], turning[3];
        for (int a = 0; a < 3; a++) {
            offset[a] =
                from->turn[3 * a] * center[0] + from->turn[3 * a + 1] * center[1] + from->turn[3 * a + 2] * center[2];
            arm[a] = -offset[a];
            to->pose.position_m[a] = (from->position[a] - offset[a]) * cell_m;
            to->angular_velocity_rad_s[a] = from->spin[a] * per_s;
        }
        for (int a = 0; a < 3; a++) {
            const int n = (a + 1) % 3, l = (a + 2) % 3;
            turning[a] = from->spin[n] * arm[l] - from->spin[l] * arm[n];
            to->velocity_m_s[a] = (from->velocity[a] + turning[a]) * cell_m * per_s;
        }
    }
    return grid->body_count;
}
