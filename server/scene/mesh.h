/// Triangle meshes and heights from files: OBJ, STL and PLY (binary and text), binary glTF, PGM; and what makes a mesh
/// a surface that is closed and faces one way. A file is read whole or not at all: on failure nothing is written but
/// the sentence, which names the file, the line where there are lines, what was found and what is allowed. Nothing in a
/// file reaches an assert, and memory follows the file's size.
#ifndef TARN_SERVER_SCENE_MESH_H
#define TARN_SERVER_SCENE_MESH_H

#include "kernels/shapes/voxelize.h"
#include "protocol/status.h"
#include "server/base/text.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    TARN_MESH_FILE_BYTES_MAX = 256 << 20,
    TARN_HEIGHT_FILE_BYTES_MAX = 4 << 20,
    TARN_MESH_CORNERS_MAX = 1 << 14, ///< of a polygon
    TARN_MESH_FILE_WHY_BYTES = 512,  ///< enough for every sentence of this module
};

/// Corners that all polygons of a file may be compared with to cut them into triangles: some seconds.
#define TARN_MESH_POLYGON_VISITS_MAX (1ull << 29)

typedef enum tarn_mesh_format {
    TARN_MESH_FORMAT_OBJ,
    TARN_MESH_FORMAT_STL,
    TARN_MESH_FORMAT_PLY,
    TARN_MESH_FORMAT_GLB,
    TARN_MESH_FORMAT_COUNT,
} tarn_mesh_format;

#define TARN_MESH_FILE_ENDINGS ".obj, .stl, .ply or .glb" ///< for sentences

/// The format of a file by the ending of its name, in small letters. @return false: it is no mesh's
bool tarn_mesh_format_of(const char *name, tarn_mesh_format *format);

/// Reads a mesh. Its limits are those of shapes/voxelize.h (triangles, vertices, coordinates) and those above.
///
/// OBJ: of `v` the first three numbers, of `f` each corner's first index, counted from 1, or from the last vertex back
/// where negative, and always among the vertices above. All other statements are passed over. STL: bytes where a zero
/// byte ends their number of triangles, whatever comes behind these; else text, in capitals or not, whose last solid
/// may end with the file; corners at the very same place become one vertex, and normals are passed over. PLY (as text,
/// little-endian and big-endian): of the element `vertex` the properties x, y, z, of `face` the list vertex_indices or
/// vertex_index; other elements and properties are passed over. glTF 2.0 as one .glb: the triangles of all meshes of
/// its scene where their nodes put them, once or, by EXT_mesh_gpu_instancing, many times, whatever they look like; not
/// compressed, skinned, morphed or sparse ones. Its coordinates are metres, y up, as the tank's; those of the others
/// are taken so.
///
/// A polygon covers the same area as triangles, concave or not; one whose edges cross each other is refused. Texts may
/// begin with the byte-order mark of UTF-8. Which way triangles face stays as it is: tarn_mesh_face_one_way is for
/// that.
///
/// @param path  ends in TARN_MESH_FILE_ENDINGS
/// @param mesh  written on success; free it with tarn_mesh_free
/// @return TARN_OK, TARN_E_NOT_FOUND, TARN_E_IO, TARN_E_MALFORMED, TARN_E_LIMIT or TARN_E_MEMORY
tarn_status tarn_mesh_file_read(const char *path, tarn_mesh *mesh, char *why, size_t why_bytes);

/// The same from memory; `origin` stands for the file's name in sentences.
tarn_status tarn_mesh_bytes_read(const char *origin, tarn_mesh_format format, const void *bytes, size_t byte_count,
                                 tarn_mesh *mesh, char *why, size_t why_bytes);

/// Takes a mesh that holds nothing. Leaves one that holds nothing.
void tarn_mesh_free(tarn_mesh *mesh);

/// Reads heights from a PGM picture (P2 or P5, 1 to 65535 shades): black is 0, white is white_m. The picture's columns
/// run along x, its rows along z.
/// @param spacing_m  between pixels; becomes map->spacing_m as it is
/// @param map        written on success; free it with tarn_height_map_free
tarn_status tarn_height_file_read(const char *path, float spacing_m, float white_m, tarn_height_map *map, char *why,
                                  size_t why_bytes);
tarn_status tarn_height_bytes_read(const char *origin, float spacing_m, float white_m, const void *bytes,
                                   size_t byte_count, tarn_height_map *map, char *why, size_t why_bytes);
void tarn_height_map_free(tarn_height_map *map);

// ---- surfaces ----
// The triangles of a mesh as a surface: which share edges, whether they face one way, what keeps it from being closed.
// Corners at one place are one corner, whatever their index. Any thread; the same input gives the same bits
// everywhere.

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

// ---- the builder ----
// A mesh that grows while its file is read; for the readers of single formats.

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

/// The polygon of the corners since the last one, as triangles.
/// @return as above, or TARN_E_MALFORMED: fewer than three corners, or edges that cross each other
tarn_status tarn_mesh_builder_polygon(tarn_mesh_builder *builder);

/// A vertex whose coordinates are still to be looked at. @return as above, or TARN_E_MALFORMED
tarn_status tarn_mesh_builder_place(tarn_mesh_builder *builder, const double at_m[3]);

/// Reads three coordinates from the cursor's line, or from all lines.
tarn_status tarn_mesh_builder_read_point(tarn_text_cursor *cursor, tarn_text_word (*next)(tarn_text_cursor *cursor),
                                         float at_m[3]);

// ---- readers of single formats ----
// tarn_mesh_bytes_read chooses among them.

/// Each reads what lies between its cursor's ends into an empty builder.
/// @return TARN_OK, also where there are no triangles; or why not, with the sentence
tarn_status tarn_mesh_obj_read(tarn_mesh_builder *builder);
tarn_status tarn_mesh_stl_read(tarn_mesh_builder *builder);
tarn_status tarn_mesh_ply_read(tarn_mesh_builder *builder);
tarn_status tarn_mesh_glb_read(tarn_mesh_builder *builder);

#endif
