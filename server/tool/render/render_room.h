/// What is around the liquid: a table with a tiled floor in the tank, a bright room, and the liquid's shadow.
#ifndef TARN_SERVER_TOOL_RENDER_RENDER_ROOM_H
#define TARN_SERVER_TOOL_RENDER_RENDER_ROOM_H

#include "server/tool/render/render_math.h"

#include <stdint.h>

enum { ROOM_SHADOW_CELLS = 192 }; ///< per axis, over the tank's floor and a margin around it

typedef struct room {
    vec3 size_m;        ///< of the tank
    vec3 light;         ///< unit vector towards the light
    float tile_m;       ///< edge of a floor tile
    float tile_soft_m;  ///< over which neighbouring tiles blend, so that far ones don't flicker
    float absorb_per_m; ///< of the shadow
    float shadow_min_m[2], shadow_cell_m;
    float *shadow;      ///< metres of liquid that the light went through, ROOM_SHADOW_CELLS squared
    float *shadow_work; ///< as large
} room;

/// @param shadow  2 * ROOM_SHADOW_CELLS * ROOM_SHADOW_CELLS floats, borrowed
room room_make(vec3 size_m, float pixel_m, float *shadow);

/// Casts the shadow of particles, each standing for a volume. Those that are not finite are left out.
void room_cast(room *r, const float *positions_m, uint32_t particle_count, float volume_m3);

/// Light from a direction (unit vector), without the table.
vec3 room_sky(const room *r, vec3 direction);

/// Light along a ray (unit vector) that begins in the room, above the table.
vec3 room_light(const room *r, vec3 origin_m, vec3 direction);

/// The table at a point of it.
vec3 room_floor(const room *r, float x_m, float z_m);

#endif
