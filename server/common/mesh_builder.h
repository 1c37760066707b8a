/// A mesh that grows while its file is read; for the readers of mesh_formats.h.
#ifndef TARN_SERVER_COMMON_MESH_BUILDER_H
#define TARN_SERVER_COMMON_MESH_BUILDER_H

#include "server/common/mesh_file.h"
#include "server/common/text_cursor.h"

typedef struct tarn_mesh_builder {
    tarn_text_cursor *cursor; // for sentences
    tarn_mesh mesh;
    uint32_t vertices_room, triangles_room;
    uint32_t *corners; // of the polygon that is being read
    uint32_t corner_count, corners_room;
    uint32_t polygon_count; // so far, and what they took
    uint64_t polygon_visits;
} tarn_mesh_builder;

/// @return TARN_OK, TARN_E_LIMIT or TARN_E_MEMORY, with the sentence
tarn_status tarn_mesh_builder_vertex(tarn_mesh_builder *builder, const float at_m[3]);
tarn_status tarn_mesh_builder_triangle(tarn_mesh_builder *builder, const uint32_t corners[3]);

/// One more corner of a polygon, among the vertices that are there.
tarn_status tarn_mesh_builder_corner(tarn_mesh_builder *builder, uint32_t vertex);

/// The polygon of the corners since the last one, as triangles (mesh_polygon.c).
/// @return as above, or TARN_E_MALFORMED: fewer than three corners, or edges that cross each other
tarn_status tarn_mesh_builder_polygon(tarn_mesh_builder *builder);

/// A vertex whose coordinates are still to be looked at. @return as above, or TARN_E_MALFORMED
tarn_status tarn_mesh_builder_place(tarn_mesh_builder *builder, const double at_m[3]);

/// Reads three coordinates from the cursor's line, or from all lines.
tarn_status tarn_mesh_builder_read_point(tarn_text_cursor *cursor, tarn_text_word (*next)(tarn_text_cursor *cursor),
                                         float at_m[3]);

/// What the builder holds beside its mesh.
void tarn_mesh_builder_done(tarn_mesh_builder *builder);

#endif
