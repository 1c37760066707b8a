/// The floating bodies of a tank as hands find them: which one a ray or a point meets, and where on it.
///
/// A body is met where a ray or a point comes into the sphere around it: thin and small bodies are then as easy to take
/// hold of as large ones. No allocation after init; no clock, no I/O.
#ifndef TARN_SERVER_WORKER_INPUT_BODIES_H
#define TARN_SERVER_WORKER_INPUT_BODIES_H

#include "kernels/tank.h"
#include "server/worker/input_ray.h"

typedef struct tarn_body_grip {
    uint32_t body;     ///< its number in the tank
    float center_m[3]; ///< of the sphere around it, in the body's frame
    float radius_m;
    tarn_pose pose; ///< as the last step left it
} tarn_body_grip;

typedef struct tarn_body_map {
    uint32_t count;
    tarn_body_grip grips[TARN_TANK_BODIES_MAX]; ///< of the bodies that float
} tarn_body_map;

/// Takes the shapes of the bodies and where they begin. The fields of the description must be there.
void tarn_body_map_init(tarn_body_map *map, const tarn_tank_desc *desc);

/// Takes the shapes of what was thrown in.
/// @param bodies  as tarn_tank_bodies fills them
/// @param added   as tarn_tank_added fills them
void tarn_body_map_add(tarn_body_map *map, const tarn_tank_desc *desc, const tarn_body_state *bodies,
                       uint32_t body_count, const tarn_added_solid *added, uint32_t added_count);

/// Takes where the bodies are.
/// @param bodies  as tarn_tank_bodies fills them
void tarn_body_map_update(tarn_body_map *map, const tarn_body_state *bodies, uint32_t body_count);

/// The body that a ray meets first, and the point nearest to its middle on the ray.
/// @return NULL where it meets none; from inside of a sphere it is met, behind the origin it isn't
const tarn_body_grip *tarn_body_map_ray(const tarn_body_map *map, const tarn_ray *ray, float hit_m[3]);

/// The body whose sphere is nearest to a point.
/// @param reach_m  how far from the sphere the point may be
/// @return NULL where it is farther from all
const tarn_body_grip *tarn_body_map_point(const tarn_body_map *map, const float point_m[3], float reach_m);

#endif
