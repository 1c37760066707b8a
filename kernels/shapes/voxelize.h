/// Closed triangle meshes and heightfields to sampled signed distances. Any thread; reads nothing but its arguments.
/// The same input gives the same bits on every machine: doubles, no operation of libm but the square root.
#ifndef TARN_KERNELS_SHAPES_VOXELIZE_H
#define TARN_KERNELS_SHAPES_VOXELIZE_H

#include "kernels/shapes/shape.h"
#include "protocol/status.h"

#include <stddef.h>
#include <stdint.h>

#define TARN_MESH_COORDINATE_M_MAX 1e5f ///< of a vertex, either side of 0
#define TARN_VOXELIZE_SPACING_M_MIN 1e-5f
#define TARN_VOXELIZE_SPACING_M_MAX 1e4f

enum {
    TARN_MESH_TRIANGLES_MAX = 1 << 20,
    TARN_MESH_VERTICES_MAX = 3 << 20,
    TARN_HEIGHTS_PER_SIDE_MIN = 2, ///< heights of a heightfield, per side
    TARN_HEIGHTS_PER_SIDE_MAX = 512,
    TARN_VOXELIZE_MARGIN_MAX = 64, ///< cells
    TARN_VOXELIZE_WHY_BYTES = 320, ///< enough for every sentence of this module
};

/// Nodes that all triangles together may be compared with: some seconds. Fine meshes take 2^27, and a scene may have
/// several; many triangles as large as the grid would take hours.
#define TARN_VOXELIZE_VISITS_MAX (1ull << 29)

/// Three coordinates in metres for each vertex, three indices for each triangle. Either order of a triangle's corners
/// is right when it's the same for all.
typedef struct tarn_mesh {
    uint32_t vertex_count, triangle_count;
    float *vertices_m;
    uint32_t *triangles;
} tarn_mesh;

/// Heights over a rectangle: heights_m[row * columns + column] lies at x = (column - (columns - 1) / 2) * spacing_m,
/// z = (row - (rows - 1) / 2) * spacing_m; solid is what lies below.
typedef struct tarn_height_map {
    uint32_t columns, rows; ///< TARN_HEIGHTS_PER_SIDE_MIN..TARN_HEIGHTS_PER_SIDE_MAX
    float spacing_m;
    float *heights_m;
} tarn_height_map;

#ifdef __cplusplus
extern "C" {
#endif

/// The spacing at which a mesh's longest side with its margins has `nodes` nodes. 0 where that can't be: a mesh without
/// extent, or no more nodes than the margins need.
float tarn_voxelize_spacing_m(const tarn_mesh *mesh, uint32_t nodes, uint32_t margin_cells);

/// Samples a mesh on a grid that is centred on the mesh's bounds.
///
/// Within TARN_VOXELIZE_BAND cells of the surface the distance is the exact one to the nearest triangle, rounded to
/// float. Beyond it is the exact distance to a triangle that a neighbouring node is nearest to, found by sweeps over
/// the grid (in the manner of H. Zhao's fast sweeping, Math. Comp. 74, 2005): never less than the true one.
///
/// A node is inside when most of six lines from it, along the axes to both sides, cross the surface an uneven way (a
/// count with the triangles' orientation that isn't 0). So parts may overlap, an inner surface of opposite orientation
/// makes a cavity, and small holes or flipped triangles do no harm; a mesh for which the lines disagree for a
/// quarter of the inner nodes is refused as open. Triangles without area count as the segments that they are.
///
/// @param spacing_m     TARN_VOXELIZE_SPACING_M_MIN..TARN_VOXELIZE_SPACING_M_MAX
/// @param margin_cells  cells between the mesh's bounds and the grid's: 1..TARN_VOXELIZE_MARGIN_MAX
/// @param field         written on success only; free it with tarn_distance_field_free
/// @param why           where not NULL: what was wrong, what was found and what is allowed
/// @return TARN_OK; TARN_E_ARGUMENT: spacing or margin; TARN_E_MALFORMED: a vertex that is no number or too far away,
///         an index without vertex, an open mesh, one without an inner node; TARN_E_LIMIT: too many triangles,
///         vertices, nodes or visits; TARN_E_MEMORY
tarn_status tarn_voxelize_mesh(const tarn_mesh *mesh, float spacing_m, uint32_t margin_cells,
                               tarn_distance_field *field, char *why, size_t why_bytes);

/// Samples a heightfield: exact near its surface as above, two triangles for four heights. The grid covers the
/// rectangle (and less than a cell more) and goes from `bottom_m` to a margin above the highest point. Beside the
/// rectangle the ground goes on level for some cells; far beside and below the grid the solid ends, as fields do.
/// @param bottom_m  less than the lowest height; what lies below is of no interest (the tank's floor)
/// @return as tarn_voxelize_mesh
tarn_status tarn_voxelize_heights(const tarn_height_map *heights, float bottom_m, float spacing_m,
                                  uint32_t margin_cells, tarn_distance_field *field, char *why, size_t why_bytes);

/// Cells around the surface in which distances are exact.
enum { TARN_VOXELIZE_BAND = 2 };

#ifdef __cplusplus
}
#endif

#endif
