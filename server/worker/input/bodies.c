// Rays through a map of tiles with liquid: start at tarn_ray_depth. Bodies as the spheres around them: start at
// tarn_body_map_ray.
#include "server/worker/input/bodies.h"
#include "server/worker/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- rays, the tank and its liquid ----

enum { SAMPLES_PER_TILE = 8, SAMPLES_MAX = 16384 };

static float dot(const float a[3], const float b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void ray_at(const tarn_ray *ray, float distance_m, float point_m[3])
{
    for (int axis = 0; axis < 3; axis++) {
        point_m[axis] = ray->origin_m[axis] + distance_m * ray->direction[axis];
    }
}

tarn_status tarn_tile_map_init(tarn_tile_map *map, const uint16_t cells[3], float cell_m)
{
    size_t count = 1;
    memset(map, 0, sizeof *map);
    map->tile_m = cell_m * (float)(1 << TARN_FRAME_TILE_CELLS_LOG2);
    for (int axis = 0; axis < 3; axis++) {
        map->size_m[axis] = cell_m * (float)cells[axis];
        map->tiles[axis] = (cells[axis] + (1u << TARN_FRAME_TILE_CELLS_LOG2) - 1) >> TARN_FRAME_TILE_CELLS_LOG2;
        count *= map->tiles[axis];
    }
    map->bits_bytes = (count + 7) / 8;
    map->bits = calloc(1, map->bits_bytes);
    return map->bits != NULL ? TARN_OK : TARN_E_MEMORY;
}

void tarn_tile_map_free(tarn_tile_map *map)
{
    free(map->bits);
    memset(map, 0, sizeof *map);
}

static size_t tile_index(const tarn_tile_map *map, const uint32_t tile[3])
{
    return ((size_t)tile[2] * map->tiles[1] + tile[1]) * map->tiles[0] + tile[0];
}

static bool tile_has_liquid(const tarn_tile_map *map, const float point_m[3])
{
    uint32_t tile[3];
    for (int axis = 0; axis < 3; axis++) {
        float at = point_m[axis] / map->tile_m;
        if (!(at >= 0.0f) || at >= (float)map->tiles[axis]) {
            return false;
        }
        tile[axis] = (uint32_t)at;
    }
    size_t index = tile_index(map, tile);
    return (map->bits[index / 8] >> (index % 8) & 1) != 0;
}

bool tarn_ray_box(const tarn_ray *ray, const float size_m[3], float *enter_m, float *leave_m)
{
    float enter = 0.0f, leave = INFINITY;
    for (int axis = 0; axis < 3; axis++) {
        float origin = ray->origin_m[axis], direction = ray->direction[axis];
        if (fabsf(direction) < 1e-12f) {
            if (origin < 0.0f || origin > size_m[axis]) {
                return false;
            }
            continue;
        }
        float a = (0.0f - origin) / direction, b = (size_m[axis] - origin) / direction;
        enter = fmaxf(enter, fminf(a, b));
        leave = fminf(leave, fmaxf(a, b));
    }
    if (!(enter <= leave)) {
        return false;
    }
    *enter_m = enter;
    *leave_m = leave;
    return true;
}

/// Distance between points at which the map is asked on a way through the tank.
static float spacing_of(const tarn_tile_map *map, float way_m)
{
    return fmaxf(map->tile_m / SAMPLES_PER_TILE, way_m / SAMPLES_MAX);
}

static bool is_inside(const tarn_tile_map *map, const float point_m[3])
{
    bool inside = true;
    for (int axis = 0; axis < 3; axis++) {
        inside &= point_m[axis] >= 0.0f && point_m[axis] <= map->size_m[axis];
    }
    return inside;
}

/// How far up from a point there is liquid without a gap, and margin_m more as far as that is in the tank.
static float liquid_above(const tarn_tile_map *map, const float point_m[3], const float up[3], float margin_m)
{
    const tarn_ray way = {{point_m[0], point_m[1], point_m[2]}, {up[0], up[1], up[2]}};
    const float spacing = spacing_of(map, map->size_m[0] + map->size_m[1] + map->size_m[2]);
    float height = 0.0f, at[3];
    for (ray_at(&way, spacing, at); tile_has_liquid(map, at); ray_at(&way, height + spacing, at)) {
        height += spacing;
    }
    for (int tries = 0; tries < SAMPLES_PER_TILE; tries++) {
        ray_at(&way, height + margin_m, at);
        if (is_inside(map, at)) {
            return height + margin_m;
        }
        margin_m *= 0.5f;
    }
    return height;
}

float tarn_ray_pour(const tarn_ray *ray, const tarn_tile_map *map, const float up[3], float radius_m, float lift[3])
{
    float enter, leave, point[3];
    const float depth = tarn_ray_depth(ray, map);
    lift[0] = lift[1] = lift[2] = 0.0f;
    ray_at(ray, depth, point);
    if (!tarn_ray_box(ray, map->size_m, &enter, &leave) || !tile_has_liquid(map, point)) {
        return depth;
    }
    const float spacing = spacing_of(map, leave - enter);
    float first = depth;
    for (float before = depth; before > enter && tile_has_liquid(map, point); before -= spacing) {
        first = before;
        ray_at(ray, before - spacing, point);
    }
    if (first - spacing > enter) {
        return fmaxf(first - radius_m, 0.5f * (enter + first));
    }
    ray_at(ray, depth, point);
    const float height = liquid_above(map, point, up, radius_m);
    for (int axis = 0; axis < 3; axis++) {
        lift[axis] = height * up[axis];
    }
    return depth;
}

float tarn_ray_depth(const tarn_ray *ray, const tarn_tile_map *map)
{
    float enter, leave;
    if (!tarn_ray_box(ray, map->size_m, &enter, &leave)) {
        float to_center[3];
        for (int axis = 0; axis < 3; axis++) {
            to_center[axis] = 0.5f * map->size_m[axis] - ray->origin_m[axis];
        }
        return fmaxf(0.0f, dot(to_center, ray->direction));
    }
    float spacing = spacing_of(map, leave - enter);
    float first = -1.0f;
    for (float depth = enter + 0.5f * spacing; depth < leave; depth += spacing) {
        float point[3];
        ray_at(ray, depth, point);
        bool liquid = tile_has_liquid(map, point);
        if (first < 0.0f && liquid) {
            first = depth;
        }
        if (first >= 0.0f && (!liquid || depth - first >= map->tile_m)) {
            return 0.5f * (first + depth);
        }
    }
    return 0.5f * ((first >= 0.0f ? first : enter) + leave);
}

bool tarn_ray_plane(const tarn_ray *ray, const float point_m[3], const float normal[3], float hit_m[3])
{
    float along = dot(ray->direction, normal);
    if (fabsf(along) < TARN_INPUT_GRAZE_MIN) {
        return false;
    }
    float offset[3] = {point_m[0] - ray->origin_m[0], point_m[1] - ray->origin_m[1], point_m[2] - ray->origin_m[2]};
    float distance = dot(offset, normal) / along;
    if (distance < 0.0f) {
        return false;
    }
    ray_at(ray, distance, hit_m);
    return true;
}

// ---- floating bodies ----

static void add_grip(tarn_body_map *map, const tarn_tank_desc *desc, const tarn_solid *solid, uint32_t body)
{
    static const tarn_pose unmoved = {{0, 0, 0}, {0, 0, 0, 1}};
    double center_m[3], radius_m;
    if (map->count == TARN_TANK_BODIES_MAX) {
        return;
    }
    tarn_body_grip *grip = &map->grips[map->count++];
    tarn_shape_bounding_sphere_m(&solid->shape, &unmoved, desc->fields, center_m, &radius_m);
    for (int axis = 0; axis < 3; axis++) {
        grip->center_m[axis] = (float)center_m[axis];
    }
    grip->radius_m = (float)radius_m;
    grip->body = body;
    grip->pose = solid->pose;
}

void tarn_body_map_init(tarn_body_map *map, const tarn_tank_desc *desc)
{
    uint32_t body = 0;
    memset(map, 0, sizeof *map);
    for (uint32_t i = 0; i < desc->solid_count; i++) {
        const tarn_solid *solid = &desc->solids[i];
        if (solid->motion == TARN_MOTION_STATIC) {
            continue;
        }
        if (solid->motion == TARN_MOTION_FREE) {
            add_grip(map, desc, solid, body);
        }
        body++;
    }
}

void tarn_body_map_add(tarn_body_map *map, const tarn_tank_desc *desc, const tarn_body_state *bodies,
                       uint32_t body_count, const tarn_added_solid *added, uint32_t added_count)
{
    for (uint32_t body = 0; body < body_count; body++) {
        for (uint32_t i = 0; i < added_count; i++) {
            if (added[i].number >= TARN_TANK_THROWN_FIRST && added[i].number == bodies[body].solid) {
                add_grip(map, desc, &added[i].solid, body);
            }
        }
    }
}

void tarn_body_map_update(tarn_body_map *map, const tarn_body_state *bodies, uint32_t body_count)
{
    for (uint32_t i = 0; i < map->count; i++) {
        if (map->grips[i].body < body_count) {
            map->grips[i].pose = bodies[map->grips[i].body].pose;
        }
    }
}

/// From a point to the middle of a body.
static void way_to(const tarn_body_grip *grip, const float point_m[3], float way_m[3])
{
    const double local_m[3] = {(double)grip->center_m[0], (double)grip->center_m[1], (double)grip->center_m[2]};
    double center_m[3];
    tarn_pose_from_shape(&grip->pose, local_m, center_m);
    for (int axis = 0; axis < 3; axis++) {
        way_m[axis] = (float)center_m[axis] - point_m[axis];
    }
}

const tarn_body_grip *tarn_body_map_ray(const tarn_body_map *map, const tarn_ray *ray, float hit_m[3])
{
    const tarn_body_grip *first = NULL;
    float first_m = INFINITY;
    for (uint32_t i = 0; i < map->count; i++) {
        const tarn_body_grip *grip = &map->grips[i];
        float way_m[3];
        way_to(grip, ray->origin_m, way_m);
        const float along_m = dot(way_m, ray->direction);
        const float chord2 = grip->radius_m * grip->radius_m - (dot(way_m, way_m) - along_m * along_m);
        if (chord2 < 0.0f || along_m + sqrtf(chord2) < 0.0f) {
            continue;
        }
        const float enter_m = fmaxf(along_m - sqrtf(chord2), 0.0f);
        if (enter_m >= first_m) {
            continue;
        }
        first = grip;
        first_m = enter_m;
        for (int axis = 0; axis < 3; axis++) {
            hit_m[axis] = ray->origin_m[axis] + fmaxf(along_m, 0.0f) * ray->direction[axis];
        }
    }
    return first;
}

const tarn_body_grip *tarn_body_map_point(const tarn_body_map *map, const float point_m[3], float reach_m)
{
    const tarn_body_grip *nearest = NULL;
    float nearest_m = reach_m;
    for (uint32_t i = 0; i < map->count; i++) {
        float way_m[3];
        way_to(&map->grips[i], point_m, way_m);
        const float distance_m = sqrtf(dot(way_m, way_m)) - map->grips[i].radius_m;
        if (distance_m <= nearest_m) {
            nearest = &map->grips[i];
            nearest_m = distance_m;
        }
    }
    return nearest;
}
