// Bodies as the spheres around them: start at tarn_body_map_ray.
#include "server/worker/input_bodies.h"

#include <math.h>
#include <string.h>

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

static float dot(const float a[3], const float b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
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
