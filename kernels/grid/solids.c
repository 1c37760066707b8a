// Solids on the host: whether a description's are sound, and the distances of those that don't move.
#include "kernels/grid/grid_host.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// -------------------------------------------------------------------------------------------------------------- checks

typedef struct solid_check {
    const tarn_tank_desc *desc;
    const grid_complaint *why;
} solid_check;

/// Names an element of the description: "solids[2]".
typedef struct element {
    const char *list;
    uint32_t index;
} element;

static tarn_status check_number(const solid_check *c, element of, const char *field, float value, float min, float max)
{
    if (value >= min && value <= max) { // false for NaN
        return TARN_OK;
    }
    return grid_refuse(c->why, TARN_E_ARGUMENT, "%s[%u].%s is %g; allowed is %g to %g", of.list, of.index, field,
                       (double)value, (double)min, (double)max);
}

static tarn_status check_count(const solid_check *c, const char *list, uint32_t count, uint32_t most)
{
    if (count <= most) {
        return TARN_OK;
    }
    return grid_refuse(c->why, TARN_E_LIMIT, "there are %u %s; allowed are %u", count, list, most);
}

#define POSITION_M_MAX 1e4f

static tarn_status check_pose(const solid_check *c, element of, const tarn_pose *pose)
{
    tarn_status status = TARN_OK;
    float square = 0.0f;
    for (int a = 0; a < 3 && status == TARN_OK; a++) {
        status = check_number(c, of, "pose.position_m", pose->position_m[a], -POSITION_M_MAX, POSITION_M_MAX);
    }
    for (int a = 0; a < 4; a++) {
        square += pose->rotation[a] * pose->rotation[a];
    }
    if (status == TARN_OK && !(square >= 0.98f && square <= 1.02f) && square != 0.0f) {
        status = grid_refuse(c->why, TARN_E_ARGUMENT,
                             "%s[%u].pose.rotation has the length %g; a rotation is a quaternion of length 1", of.list,
                             of.index, sqrt((double)square));
    }
    return status;
}

static tarn_status check_shape(const solid_check *c, element of, const tarn_shape *shape)
{
    char part[160];
    const tarn_status status = tarn_shape_check(shape, c->desc->fields, c->desc->field_count, part, sizeof part);
    return status == TARN_OK ? status : grid_refuse(c->why, status, "%s[%u].shape: %s", of.list, of.index, part);
}

static tarn_status check_speed(const solid_check *c, element of, const float *velocity_m_s)
{
    tarn_status status = TARN_OK;
    for (int a = 0; a < 3 && status == TARN_OK; a++) {
        status = check_number(c, of, "velocity_m_s", velocity_m_s[a], -1e3f, 1e3f);
    }
    return status;
}

static tarn_status check_keyframes(const solid_check *c, element of, const tarn_solid *solid)
{
    const tarn_tank_desc *desc = c->desc;
    if (solid->keyframe_count == 0 || solid->keyframe_first > desc->keyframe_count ||
        solid->keyframe_count > desc->keyframe_count - solid->keyframe_first) {
        return grid_refuse(c->why, TARN_E_ARGUMENT,
                           "%s[%u] has the keyframes %u to %u; it needs at least one, and the description has %u",
                           of.list, of.index, solid->keyframe_first, solid->keyframe_first + solid->keyframe_count - 1u,
                           desc->keyframe_count);
    }
    tarn_status status = TARN_OK;
    float last_s = -1.0f;
    for (uint32_t k = solid->keyframe_first; k < solid->keyframe_first + solid->keyframe_count && status == TARN_OK;
         k++) {
        const element frame = {"keyframes", k};
        const tarn_keyframe *key = &desc->keyframes[k];
        status = check_number(c, frame, "time_s", key->time_s, 0.0f, 1e6f);
        if (status == TARN_OK && !(key->time_s > last_s)) {
            status = grid_refuse(c->why, TARN_E_ARGUMENT, "keyframes[%u].time_s is %g; it must come after %g", k,
                                 (double)key->time_s, (double)last_s);
        }
        if (status == TARN_OK) {
            status = check_pose(c, frame, &key->pose);
        }
        last_s = key->time_s;
    }
    return status;
}

static tarn_status check_motion(const solid_check *c, element of, const tarn_solid *solid)
{
    if (solid->motion == TARN_MOTION_STATIC) {
        return TARN_OK;
    }
    if ((unsigned)solid->motion >= TARN_MOTION_COUNT) {
        return grid_refuse(c->why, TARN_E_ARGUMENT, "%s[%u].motion is %d; allowed is 0 to %d", of.list, of.index,
                           (int)solid->motion, TARN_MOTION_COUNT - 1);
    }
    if (solid->shape.inverted) {
        return grid_refuse(c->why, TARN_E_ARGUMENT, "%s[%u].shape is inverted; only a static solid may be", of.list,
                           of.index);
    }
    if (solid->motion == TARN_MOTION_KEYFRAMES) {
        return check_keyframes(c, of, solid);
    }
    if (c->desc->solver != TARN_SOLVER_MULTIGRID) {
        return grid_refuse(c->why, TARN_E_ARGUMENT, "%s[%u] floats, which takes the multigrid solver; solver is %d",
                           of.list, of.index, (int)c->desc->solver);
    }
    if (c->desc->cells[2] == 1) {
        return grid_refuse(c->why, TARN_E_ARGUMENT, "%s[%u] floats; a tank one cell deep has no floating bodies",
                           of.list, of.index);
    }
    tarn_status status = check_number(c, of, "density_kg_m3", solid->density_kg_m3, 1.0f, 20000.0f);
    if (status == TARN_OK) {
        status = check_speed(c, of, solid->velocity_m_s);
    }
    for (int a = 0; a < 3 && status == TARN_OK; a++) {
        status = check_number(c, of, "angular_velocity_rad_s", solid->angular_velocity_rad_s[a], -1e3f, 1e3f);
    }
    tarn_shape_mass mass;
    if (status == TARN_OK && tarn_shape_mass_get(&solid->shape, c->desc->fields, &mass) != TARN_OK) {
        status = grid_refuse(c->why, TARN_E_ARGUMENT,
                             "%s[%u].shape is a field that is solid at its border or nowhere; a free one needs an end",
                             of.list, of.index);
    }
    return status;
}

static tarn_status check_solid(const solid_check *c, element of, const tarn_solid *solid)
{
    tarn_status status = check_shape(c, of, &solid->shape);
    if (status == TARN_OK) {
        status = check_pose(c, of, &solid->pose);
    }
    if (status == TARN_OK) {
        status =
            check_number(c, of, "friction", solid->friction, 0.0f, solid->motion == TARN_MOTION_FREE ? 0.0f : 1.0f);
    }
    return status == TARN_OK ? check_motion(c, of, solid) : status;
}

tarn_status grid_solid_check(const tarn_tank_desc *desc, const tarn_solid *solid, const grid_complaint *why)
{
    const solid_check c = {desc, why};
    return check_solid(&c, (element){"added", 0}, solid);
}

static tarn_status check_liquid(const solid_check *c, element of, uint32_t liquid)
{
    return liquid < c->desc->liquid_count
               ? TARN_OK
               : grid_refuse(c->why, TARN_E_ARGUMENT, "%s[%u].liquid is %u; there are %u liquids", of.list, of.index,
                             liquid, c->desc->liquid_count);
}

static tarn_status check_fluids(const solid_check *c)
{
    tarn_status status = check_count(c, "fluids", c->desc->fluid_count, TARN_TANK_FLUIDS_MAX);
    for (uint32_t i = 0; status == TARN_OK && i < c->desc->fluid_count; i++) {
        const element of = {"fluids", i};
        status = check_shape(c, of, &c->desc->fluids[i].shape);
        if (status == TARN_OK) {
            status = check_pose(c, of, &c->desc->fluids[i].pose);
        }
        if (status == TARN_OK) {
            status = check_speed(c, of, c->desc->fluids[i].velocity_m_s);
        }
        if (status == TARN_OK) {
            status = check_liquid(c, of, c->desc->fluids[i].liquid);
        }
    }
    return status;
}

#define REGION_HALF_M_MAX 100.0f

/// A shape that liquid comes from or goes into: a plain one.
static tarn_status check_region(const solid_check *c, element of, const tarn_shape *shape, const tarn_pose *pose)
{
    if ((unsigned)shape->kind >= TARN_SHAPE_FIELD || shape->inverted) {
        return grid_refuse(c->why, TARN_E_ARGUMENT,
                           "%s[%u].shape is a field, inverted or unknown; allowed are boxes, balls, capsules and "
                           "cylinders",
                           of.list, of.index);
    }
    tarn_status status = check_shape(c, of, shape);
    for (int a = 0; a < 3 && status == TARN_OK; a++) {
        status = check_number(c, of, "shape.half_m", shape->half_m[a], 0.0f, REGION_HALF_M_MAX);
    }
    return status == TARN_OK ? check_pose(c, of, pose) : status;
}

static tarn_status check_sources(const solid_check *c)
{
    const tarn_tank_desc *desc = c->desc;
    tarn_status status = check_count(c, "emitters", desc->emitter_count, TARN_TANK_EMITTERS_MAX);
    if (status == TARN_OK) {
        status = check_count(c, "drains", desc->drain_count, TARN_TANK_DRAINS_MAX);
    }
    for (uint32_t i = 0; status == TARN_OK && i < desc->emitter_count; i++) {
        const element of = {"emitters", i};
        const tarn_emitter *emitter = &desc->emitters[i];
        status = check_region(c, of, &emitter->shape, &emitter->pose);
        if (status == TARN_OK) {
            status = check_speed(c, of, emitter->velocity_m_s);
        }
        if (status == TARN_OK) {
            status = check_liquid(c, of, emitter->liquid);
        }
        if (status == TARN_OK) {
            status = check_number(c, of, "start_s", emitter->start_s, 0.0f, 1e9f);
        }
        if (status == TARN_OK) {
            status = check_number(c, of, "end_s", emitter->end_s, 0.0f, 1e9f);
        }
    }
    for (uint32_t i = 0; status == TARN_OK && i < desc->drain_count; i++) {
        status = check_region(c, (element){"drains", i}, &desc->drains[i].shape, &desc->drains[i].pose);
    }
    return status;
}

tarn_status grid_solids_check(const tarn_tank_desc *desc, const grid_complaint *why)
{
    const solid_check c = {desc, why};
    uint32_t bodies = 0;
    tarn_status status = check_count(&c, "solids", desc->solid_count, TARN_TANK_SOLIDS_MAX);
    if (status == TARN_OK) {
        status = check_count(&c, "keyframes", desc->keyframe_count, TARN_TANK_KEYFRAMES_MAX);
    }
    if (status == TARN_OK) {
        status = check_count(&c, "fields", desc->field_count, TARN_TANK_FIELDS_MAX);
    }
    for (uint32_t i = 0; status == TARN_OK && i < desc->field_count; i++) {
        const element of = {"fields", i};
        const tarn_shape user = {.kind = TARN_SHAPE_FIELD, .half_m = {1.0f}, .field = i};
        status = check_shape(&c, of, &user);
    }
    for (uint32_t i = 0; status == TARN_OK && i < desc->solid_count; i++) {
        const element of = {"solids", i};
        bodies += desc->solids[i].motion != TARN_MOTION_STATIC;
        status = check_solid(&c, of, &desc->solids[i]);
    }
    if (status == TARN_OK) {
        status = check_count(&c, "solids that move", bodies, TARN_TANK_BODIES_MAX);
    }
    if (status == TARN_OK) {
        status = check_fluids(&c);
    }
    return status == TARN_OK ? check_sources(&c) : status;
}

// ------------------------------------------------------------------------------------------------------------
// distances

/// Where a solid stands at the start.
static const tarn_pose *start_pose(const tarn_tank_desc *desc, const tarn_solid *solid)
{
    return solid->motion == TARN_MOTION_KEYFRAMES ? &desc->keyframes[solid->keyframe_first].pose : &solid->pose;
}

static double solid_distance_m(const tarn_tank_desc *desc, uint32_t i, const double point_m[3])
{
    const tarn_solid *solid = &desc->solids[i];
    double local_m[3];
    tarn_pose_to_shape(start_pose(desc, solid), point_m, local_m);
    return tarn_shape_distance_m(&solid->shape, desc->fields, local_m);
}

double grid_solids_distance_m(const tarn_tank_desc *desc, uint64_t solids, const double point_m[3])
{
    double least = INFINITY;
    for (uint32_t i = 0; i < desc->solid_count; i++) {
        if (solids >> i & 1) {
            least = fmin(least, solid_distance_m(desc, i, point_m));
        }
    }
    return least;
}

uint64_t grid_shapes_near(const tarn_tank_desc *desc, const double min_m[3], const double max_m[3], double margin_m)
{
    double center_m[3], square = 0.0;
    uint64_t near = 0;
    for (int a = 0; a < 3; a++) {
        center_m[a] = 0.5 * (min_m[a] + max_m[a]);
        square += 0.25 * (max_m[a] - min_m[a]) * (max_m[a] - min_m[a]);
    }
    for (uint32_t i = 0; i < desc->solid_count; i++) {
        near |= (uint64_t)(solid_distance_m(desc, i, center_m) < sqrt(square) + margin_m) << i;
    }
    return near;
}

/// For each axis the static solids that tiles may be near to, by the tiles' place: what has no bit for one of a tile's
/// three places is far from it.
typedef struct solid_ranges {
    uint64_t near[3][TARN_TANK_CELLS_MAX / TILE_EDGE];
} solid_ranges;

/// A box and a depth: a point farther than some way from the box is farther than that, less the depth, from the solid.
static void solid_box(const tarn_tank_desc *desc, const tarn_solid *solid, double min_m[3], double max_m[3],
                      double *depth_m)
{
    *depth_m = 0.0;
    if (solid->shape.kind != TARN_SHAPE_FIELD) {
        tarn_shape_bounds_m(&solid->shape, &solid->pose, desc->fields, min_m, max_m);
        return;
    }
    // Beyond a field's grid its distance grows with the way, from no less than the least there is.
    const tarn_distance_field *field = &desc->fields[solid->shape.field];
    const double scale = (double)solid->shape.half_m[0];
    const size_t node_count = (size_t)field->nodes[0] * field->nodes[1] * field->nodes[2];
    double turned[3][3], center_m[3], half_m[3];
    for (int a = 0; a < 3; a++) {
        half_m[a] = 0.5 * scale * (double)field->spacing_m * (field->nodes[a] - 1.0);
        center_m[a] = scale * (double)field->min_m[a] + half_m[a];
    }
    tarn_pose_matrix(&solid->pose, turned);
    tarn_pose_from_shape(&solid->pose, center_m, center_m);
    for (int a = 0; a < 3; a++) {
        double reach_m = 0.0;
        for (int k = 0; k < 3; k++) {
            reach_m += fabs(turned[a][k]) * half_m[k];
        }
        min_m[a] = center_m[a] - reach_m;
        max_m[a] = center_m[a] + reach_m;
    }
    for (size_t i = 0; i < node_count; i++) {
        *depth_m = fmax(*depth_m, -scale * (double)field->distance_m[i]);
    }
}

/// Notes where a solid may be within far_m of a tile's middle.
static void mark_range(const tarn_tank_desc *desc, uint32_t i, double far_m, const int tiles[3], solid_ranges *ranges)
{
    const tarn_solid *solid = &desc->solids[i];
    const double tile_m = TILE_EDGE * (double)desc->cell_m;
    double min_m[3], max_m[3], depth_m;
    if (solid->motion != TARN_MOTION_STATIC) {
        return;
    }
    solid_box(desc, solid, min_m, max_m, &depth_m);
    for (int a = 0; a < 3; a++) {
        for (int t = 0; t < tiles[a]; t++) {
            const double at_m = (t + 0.5) * tile_m;
            const bool is_far = at_m < min_m[a] - depth_m - far_m || at_m > max_m[a] + depth_m + far_m;
            ranges->near[a][t] |= (uint64_t)(solid->shape.inverted || !is_far) << i;
        }
    }
}

/// Those of some solids that may be the nearest somewhere in a tile; *distance: of its centre.
static uint64_t solids_of_tile(const tarn_tank_desc *desc, uint64_t near, const double center_m[3], double radius_m,
                               double *distance)
{
    double each[TARN_TANK_SOLIDS_MAX];
    uint64_t solids = 0;
    *distance = INFINITY;
    for (uint32_t i = 0; i < desc->solid_count; i++) {
        each[i] = near >> i & 1 ? solid_distance_m(desc, i, center_m) : INFINITY;
        *distance = fmin(*distance, each[i]);
    }
    for (uint32_t i = 0; i < desc->solid_count; i++) {
        solids |= (uint64_t)(each[i] <= *distance + 2.0 * radius_m) << i;
    }
    return solids;
}

/// Samples a tile's nodes. @return whether a surface is near
static bool sample_tile(const tarn_tank_desc *desc, uint64_t solids, const int first[3], int16_t *node)
{
    const double cell_m = (double)desc->cell_m, most = 31.0;
    bool near = false;
    for (uint32_t i = 0; i < SOLID_NODES; i++) {
        double at_m[3];
        grid_node_place(desc, first, i, at_m);
        const double cells = grid_solids_distance_m(desc, solids, at_m) / cell_m;
        near |= fabs(cells) <= SOLID_NEAR_CELLS;
        node[i] = (int16_t)lrint(fmin(fmax(cells, -most), most) * SOLID_NODE_UNIT);
    }
    return near;
}

bool grid_solids_rub(const tarn_tank_desc *desc)
{
    bool rubs = false;
    for (uint32_t i = 0; i < desc->solid_count; i++) {
        rubs |= desc->solids[i].motion == TARN_MOTION_STATIC && desc->solids[i].friction > 0.0f;
    }
    return rubs;
}

/// Which of some solids rubs in each cell of a tile.
static void sample_rough(const tarn_tank_desc *desc, uint64_t solids, const int first[3], uint8_t *rough)
{
    for (int i = 0; i < TILE_CELLS; i++) {
        const int cell[3] = {first[0] + (i & 7), first[1] + (i >> 3 & 7), first[2] + (i >> 6)};
        double middle_m[3], least_m = SOLID_ROUGH_CELLS * (double)desc->cell_m;
        for (int a = 0; a < 3; a++) {
            middle_m[a] = (cell[a] + 0.5) * (double)desc->cell_m;
        }
        rough[i] = SOLID_SMOOTH;
        for (uint32_t s = 0; s < desc->solid_count; s++) {
            const double distance_m = solids >> s & 1 ? solid_distance_m(desc, s, middle_m) : INFINITY;
            if (distance_m < least_m) {
                least_m = distance_m;
                rough[i] = desc->solids[s].friction > 0.0f ? (uint8_t)s : SOLID_SMOOTH;
            }
        }
    }
}

/// Room for one more tile's nodes.
static bool grow_samples(solid_samples *to, bool rubs)
{
    if (to->count < to->count_max) {
        return true;
    }
    const uint32_t most = to->count_max > 0 ? 2 * to->count_max : 64;
    int16_t *node = realloc(to->node, (size_t)most * SOLID_NODES * sizeof *node);
    if (node != NULL) {
        to->node = node;
    }
    uint32_t *dense = realloc(to->dense, (size_t)most * sizeof *dense);
    if (dense != NULL) {
        to->dense = dense;
    }
    uint8_t *rough = rubs ? realloc(to->rough, (size_t)most * TILE_CELLS) : NULL;
    if (rough != NULL) {
        to->rough = rough;
    }
    if (node == NULL || dense == NULL || (rubs && rough == NULL)) {
        return false;
    }
    to->count_max = most;
    return true;
}

tarn_status grid_fields_copy(grid_host *grid)
{
    tarn_tank_desc *desc = &grid->desc;
    tarn_distance_field borrowed[TARN_TANK_FIELDS_MAX];
    memcpy(borrowed, desc->fields, sizeof borrowed);
    for (uint32_t f = 0; f < TARN_TANK_FIELDS_MAX; f++) {
        desc->fields[f].distance_m = NULL;
    }
    for (uint32_t f = 0; f < desc->field_count; f++) {
        const uint32_t *nodes = borrowed[f].nodes;
        const size_t bytes = (size_t)nodes[0] * nodes[1] * nodes[2] * sizeof *borrowed[f].distance_m;
        desc->fields[f].distance_m = malloc(bytes);
        if (desc->fields[f].distance_m == NULL) {
            return TARN_E_MEMORY;
        }
        memcpy(desc->fields[f].distance_m, borrowed[f].distance_m, bytes);
    }
    return TARN_OK;
}

tarn_status grid_solids_sample(const grid_host *grid, solid_samples *to)
{
    const tarn_tank_desc *desc = &grid->desc;
    const grid_shape *shape = &grid->args->shape;
    const double cell_m = (double)desc->cell_m, radius_m = 0.5 * TILE_EDGE * sqrt(3.0) * cell_m;
    const bool rubs = grid_solids_rub(desc);
    memset(to, 0, sizeof *to);
    to->tile = malloc((size_t)shape->tile_total[0] * sizeof *to->tile);
    if (to->tile == NULL) {
        return TARN_E_MEMORY;
    }
    // What is farther from a tile's middle than far_m is neither the nearest in the tile, where a surface is near, nor
    // a surface that is near. A cell more is for rounding.
    const double far_m = 3.0 * radius_m + (SOLID_NEAR_CELLS + 1.0) * cell_m;
    solid_ranges ranges = {0};
    for (uint32_t i = 0; i < desc->solid_count; i++) {
        mark_range(desc, i, far_m, shape->tiles[0], &ranges);
    }
    for (uint32_t t = 0; t < shape->tile_total[0]; t++) {
        const tile_place place = tile_place_of(shape, 0, t);
        const uint64_t near = ranges.near[0][place.x] & ranges.near[1][place.y] & ranges.near[2][place.z];
        to->tile[t] = TILE_NONE;
        if (near == 0) {
            continue;
        }
        const int first[3] = {place.x * TILE_EDGE, place.y * TILE_EDGE, place.z * TILE_EDGE};
        double center_m[3], distance_m;
        for (int a = 0; a < 3; a++) {
            center_m[a] = (first[a] + 0.5 * TILE_EDGE) * cell_m;
        }
        const uint64_t solids = solids_of_tile(desc, near, center_m, radius_m, &distance_m);
        to->tile[t] = distance_m > 0.0 ? TILE_NONE : TILE_FULL;
        if (fabs(distance_m) > radius_m + SOLID_NEAR_CELLS * cell_m) {
            continue;
        }
        if (!grow_samples(to, rubs)) {
            return TARN_E_MEMORY;
        }
        if (sample_tile(desc, solids, first, to->node + (size_t)to->count * SOLID_NODES)) {
            if (rubs) {
                sample_rough(desc, solids, first, to->rough + (size_t)to->count * TILE_CELLS);
            }
            to->dense[to->count] = t;
            to->tile[t] = to->count++;
        }
        tarn_queue_yield(grid->queue);
    }
    return TARN_OK;
}

void grid_solids_drop(solid_samples *samples)
{
    free(samples->tile);
    free(samples->dense);
    free(samples->node);
    free(samples->rough);
    memset(samples, 0, sizeof *samples);
}

tarn_status grid_solids_upload(grid_host *grid)
{
    const grid_memory *m = &grid->args->m;
    const solid_samples *from = &grid->samples;
    if (from->tile == NULL) {
        return TARN_OK;
    }
    const size_t table = (size_t)grid->args->shape.tile_total[0] * 4, count = from->count;
    tarn_status status = tarn_queue_upload(grid->queue, m->solid_tile, from->tile, table);
    if (status == TARN_OK && count > 0) {
        status = tarn_queue_upload(grid->queue, m->solid_dense, from->dense, count * 4);
    }
    if (status == TARN_OK && count > 0) {
        status = tarn_queue_upload(grid->queue, m->solid_node, from->node, count * SOLID_NODES * sizeof *m->solid_node);
    }
    if (status == TARN_OK && count > 0 && from->rough != NULL) {
        status = tarn_queue_upload(grid->queue, m->solid_rough, from->rough, count * TILE_CELLS);
    }
    if (status == TARN_OK && count > 0) {
        grid_launch(grid, grid->args, GRID_KERNEL(solid_shares), NULL, (uint32_t)count);
    }
    grid_solids_drop(&grid->samples);
    return status;
}
