/// The surface of a liquid as a closed mesh, from its particles.
///
/// The level set is Zhu and Bridson's ("Animating sand as a fluid", 2005): how far a point is from the weighted mean of
/// the particles around it, less a radius. With the weights (1 - s^2)^3 over two spacings the surface of an evenly
/// filled half space then lies where its particles end, half a spacing beyond the last of them. Where particles are
/// few, the radius is that of a ball of a lone particle's volume; amid many it grows, so that gaps between them don't
/// become bubbles; and where their weights are less than half of one, all is outside, so that sheets that come near
/// each other stay apart. The tank's walls are mirrors and cut what is beyond them: faces along them are flat.
///
/// Only tiles at the surface are computed. Time and memory go with their number, and little of them with the number of
/// particles and of the tank's cells.
#ifndef TARN_SERVER_TOOL_FILM_LIQUID_H
#define TARN_SERVER_TOOL_FILM_LIQUID_H

#include "server/tool/film/export.h"
#include "server/tool/film/surface.h"

enum { MESH_DETAIL_MIN = 1, MESH_DETAIL_MAX = 4, MESH_DETAIL = 2 };

typedef struct mesh_liquid mesh_liquid;

/// @param info    what is used of it: size_m, spacing_m, threads
/// @param detail  of the grid: nodes between two particles at rest, MESH_DETAIL_MIN..MESH_DETAIL_MAX
/// @return TARN_OK or TARN_E_MEMORY
tarn_status mesh_liquid_create(const export_info *info, uint32_t detail, mesh_liquid **out);

/// Takes NULL.
void mesh_liquid_destroy(mesh_liquid *l);

/// The same bits for any number of threads. Velocities always, colours and channel where the frame has them, as means
/// over the particles around a vertex.
/// @param out  to be freed with mesh_free; holds nothing after a failure
/// @return TARN_OK, TARN_E_MEMORY or TARN_E_LIMIT: more than MESH_VERTICES_MAX or MESH_NODES_MAX
tarn_status mesh_liquid_make(mesh_liquid *l, const export_frame *frame, mesh *out);

/// A sentence for a failure of this, as an export_format gives it. @return status
tarn_status mesh_liquid_why(tarn_status status, const char *path, char *why);

#endif
