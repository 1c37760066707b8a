/// The triangles of a mesh as a surface: which share edges, whether they face one way, what keeps it from being closed.
/// Corners at one place are one corner, whatever their index. Any thread; the same input gives the same bits
/// everywhere.
#ifndef TARN_SERVER_COMMON_MESH_SURFACE_H
#define TARN_SERVER_COMMON_MESH_SURFACE_H

#include "kernels/shapes/voxelize.h"

#include <stdbool.h>

/// What was found of a mesh. Pieces are triangles that hang together by edges of two.
typedef struct tarn_mesh_surface {
    uint32_t pieces;
    uint32_t turned;        ///< triangles that faced against the others of their piece, or with it inwards
    uint32_t open_edges;    ///< with one triangle
    uint32_t crowded_edges; ///< with three or more
    uint32_t uneven_edges;  ///< of these, with an uneven number: what is inside isn't known there
    uint32_t one_sided;     ///< triangles of pieces that have one side, as a Moebius strip has
    uint64_t visits;        ///< comparisons of closed pieces, and of their triangles, that it took
    float open_at_m[3];     ///< an end of an open edge, where there is one
    float crowded_at_m[3];  ///< likewise
} tarn_mesh_surface;

/// Makes the triangles of a mesh face one way. Those of a piece that face against most others of it are turned round.
/// Then closed pieces that aren't within another one are turned outwards, and what is within them with them, so that a
/// cavity stays one. A mesh whose triangles agree stays as it is; so do pieces with one side.
/// @param found  may be NULL
/// @return TARN_OK or TARN_E_MEMORY: the mesh is as it was
tarn_status tarn_mesh_face_one_way(tarn_mesh *mesh, tarn_mesh_surface *found);

/// Writes what keeps a mesh from having an inside, as the end of a sentence. @return false: nothing does
bool tarn_mesh_surface_tell(const tarn_mesh_surface *found, char *text, size_t text_bytes);

/// Which vertex is the first at each vertex's place.
/// @param first   as many as the mesh has vertices; written
/// @param spare   of the same size
void tarn_mesh_first_at(const tarn_mesh *mesh, uint32_t *first, uint32_t *spare);

#endif
