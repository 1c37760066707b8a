/// What a pointer or a hand meets: the tank and its liquid by a ray, a floating body by a ray or a point.
///
/// A body is met where a ray or a point comes into the sphere around it: thin and small bodies are then as easy to take
/// hold of as large ones. Pure geometry; no state but the maps that the caller keeps, which allocate nothing after
/// init.
#ifndef TARN_SERVER_WORKER_INPUT_BODIES_H
#define TARN_SERVER_WORKER_INPUT_BODIES_H

#include "kernels/tank.h"
#include "protocol/frame.h"
#include "protocol/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- rays, the tank and its liquid ----

typedef struct tarn_ray {
    float origin_m[3];
    float direction[3]; ///< unit length
} tarn_ray;

/// Which tiles of the tank hold liquid, as tarn_tank_tiles marks them.
typedef struct tarn_tile_map {
    float size_m[3]; ///< of the tank
    float tile_m;
    uint32_t tiles[3];
    uint8_t *bits;
    size_t bits_bytes;
} tarn_tile_map;

/// Makes a map without liquid. @return TARN_OK or TARN_E_MEMORY
tarn_status tarn_tile_map_init(tarn_tile_map *map, const uint16_t cells[3], float cell_m);
void tarn_tile_map_free(tarn_tile_map *map);

/// The part of a ray inside the box from 0 to size_m, as distances from the origin. @return false where it misses
bool tarn_ray_box(const tarn_ray *ray, const float size_m[3], float *enter_m, float *leave_m);

/// The depth at which a press takes hold: in the middle of the first stretch of tiles with liquid, at most one tile
/// deep; without liquid on the ray the middle of the ray's way through the tank; where the ray misses the tank, the
/// point nearest to the tank's centre. Never behind the origin.
float tarn_ray_depth(const tarn_ray *ray, const tarn_tile_map *map);

/// Where something is poured that is held into the ray: a radius before the first liquid that the ray comes to through
/// air. Where the ray enters the tank in liquid, as deep as a press takes hold, with `lift` as far up as the liquid
/// goes there and a radius more, but within the tank; without liquid where a press takes hold.
/// @param up    unit length, in the tank: against gravity
/// @param lift  receives what comes on top of the returned depth's point; zeros in all other cases
float tarn_ray_pour(const tarn_ray *ray, const tarn_tile_map *map, const float up[3], float radius_m, float lift[3]);

/// Where the ray meets the plane through point_m with this normal.
/// @return false where it is too flat to it, or meets it behind the origin
bool tarn_ray_plane(const tarn_ray *ray, const float point_m[3], const float normal[3], float hit_m[3]);

// ---- floating bodies ----

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
