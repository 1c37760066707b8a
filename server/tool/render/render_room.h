/// What is around the liquid: a table, the tank's tiled floor, a bright room, and the shadows of liquid and solids. The
/// tank may be turned in the room; all points and directions here are in the tank's frame.
#ifndef TARN_SERVER_TOOL_RENDER_RENDER_ROOM_H
#define TARN_SERVER_TOOL_RENDER_RENDER_ROOM_H

#include "kernels/shapes/shape.h"
#include "server/tool/render/render_math.h"

#include <stdbool.h>
#include <stdint.h>

enum { ROOM_SHADOW_CELLS = 192 }; ///< per axis, over the tank's floor and a margin around it

typedef struct room {
    vec3 size_m;        ///< of the tank
    bool is_flat;       ///< a plain wall is all there is
    float table_m;      ///< height of the table in the room
    mat3 turn;          ///< from the tank's frame to the room's, about the tank's middle
    vec3 moved_m;       ///< how far its middle has moved
    vec3 light;         ///< unit vector towards the light
    float tile_m;       ///< edge of a floor tile
    float tile_soft_m;  ///< over which neighbouring tiles blend, so that far ones don't flicker
    float absorb_per_m; ///< of the shadow
    vec3 absorbs;       ///< by colour; of water to begin with
    float shadow_min_m[2], shadow_cell_m;
    float *shadow;      ///< metres of liquid that the light went through, ROOM_SHADOW_CELLS squared
    float *shade;       ///< 0..1: share of the light that solids hold back
    float *shadow_work; ///< as large
} room;

enum { ROOM_SHADOW_FLOATS = 3 * ROOM_SHADOW_CELLS * ROOM_SHADOW_CELLS };

/// @param shadow  ROOM_SHADOW_FLOATS, borrowed
room room_make(vec3 size_m, float pixel_m, float *shadow);

/// Turns the tank in the room; the shadows are those of before.
void room_turn(room *r, const tarn_pose *pose);

vec3 room_middle(const room *r);

/// A direction of the tank's frame in the room's.
vec3 room_direction(const room *r, vec3 direction);

/// Casts the shadow of particles, each standing for a volume. Those that are not finite are left out.
void room_cast(room *r, const float *positions_m, uint32_t particle_count, float volume_m3);

/// The middle of a cell of `shade` on the tank's floor; whoever fills the cells then has them softened.
vec3 room_shade_cell(const room *r, uint32_t x, uint32_t z);
void room_soften_shade(room *r);

/// Light from a direction (unit vector), without the table.
vec3 room_sky(const room *r, vec3 direction);

/// Light along a ray (unit vector) that begins in the room, above the table.
vec3 room_light(const room *r, vec3 origin_m, vec3 direction);

/// The tank's floor at a point of it.
vec3 room_floor(const room *r, float x_m, float z_m);

#endif
