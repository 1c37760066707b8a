/// Closed surfaces as triangles: of a level set, sampled where its surface is.
///
///     particles -> liquid.h --grid of distances--> mesh_extract -> mesh_smooth -> mesh_normals
///     a solid's sampled distance ------^
///
/// Marching cubes (Lorensen and Cline 1987). The cases aren't a table but made from their faces, each of which keeps
/// the corners inside apart, so that both cells beside it agree: every edge is of two triangles, which walk it in
/// opposite directions.
#ifndef TARN_SERVER_TOOL_FILM_SURFACE_H
#define TARN_SERVER_TOOL_FILM_SURFACE_H

#include "protocol/status.h"

#include <stdint.h>

enum {
    MESH_VERTICES_MAX = 1 << 26,
    MESH_NODES_MAX = 1 << 30, ///< of a grid's slots: 4 GiB
    MESH_TILE_OUTSIDE = -1,
    MESH_TILE_INSIDE = -2,
    MESH_TILE_NODES_MAX = 16, ///< along an edge
};

/// Counter-clockwise seen from outside. Arrays are NULL where nobody asked for them.
typedef struct mesh {
    uint32_t vertex_count, triangle_count;
    float *positions_m;  ///< x y z
    float *normals;      ///< x y z, unit vectors, outwards
    uint32_t *triangles; ///< three vertices each
    float *velocities_m_s;
    uint8_t *colours; ///< red green blue, sRGB
    float *channel;   ///< values of the channel that was asked for
} mesh;

/// Nodes of a grid in tiles of nodes^3. Where a tile has no slot, all its nodes are outside, or all inside. An edge
/// between nodes, and a cell, are of the tile of their lowest node: where the surface crosses them, that has a slot.
typedef struct mesh_grid {
    float origin_m[3], spacing_m; ///< of node (0, 0, 0), and between nodes
    uint32_t tile_nodes;          ///< along an edge, at most MESH_TILE_NODES_MAX
    uint32_t tiles[3];
    int32_t *slots; ///< of each tile, [z][y][x], or MESH_TILE_OUTSIDE or MESH_TILE_INSIDE
    uint32_t slot_count;
    uint32_t *tile_of; ///< of each slot
    float *values;     ///< of each slot's nodes, [z][y][x]: negative inside
} mesh_grid;

/// Makes positions and triangles, the same for any number of threads. Outside the grid all is outside.
/// @param out  to be freed with mesh_free; holds nothing after a failure
/// @return TARN_OK, TARN_E_MEMORY or TARN_E_LIMIT: more than MESH_VERTICES_MAX
tarn_status mesh_extract(const mesh_grid *grid, uint32_t threads, mesh *out);

/// Fills hollows that are smaller than `hollow_m3`: inner surfaces around air. Takes away parts that are smaller than
/// `speck_m3`. @return TARN_OK or TARN_E_MEMORY
tarn_status mesh_drop_small(mesh *m, double hollow_m3, double speck_m3);

/// Evens out what is smaller than a few edges and keeps the volume: Taubin, "A signal processing approach to fair
/// surface design", 1995. Parts of less than `small_m3`, which that shrinks, are scaled back to theirs.
/// @param shares  of each vertex: how much of it is done to it, 0..1; NULL: all
/// @return TARN_OK or TARN_E_MEMORY
tarn_status mesh_smooth(mesh *m, uint32_t passes, const float *shares, double small_m3, uint32_t threads);

/// Means of the triangles' normals by their areas. @return TARN_OK or TARN_E_MEMORY
tarn_status mesh_normals(mesh *m);

/// Leaves a mesh that holds nothing.
void mesh_free(mesh *m);

#endif
