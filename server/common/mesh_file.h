/// Triangle meshes and heights from files: OBJ, STL and PLY (binary and text), binary glTF, PGM. A file is read whole
/// or not at all: on failure nothing is written but the sentence, which names the file, the line where there are lines,
/// what was found and what is allowed. Nothing in a file reaches an assert, and memory follows the file's size.
#ifndef TARN_SERVER_COMMON_MESH_FILE_H
#define TARN_SERVER_COMMON_MESH_FILE_H

#include "kernels/shapes/voxelize.h"
#include "protocol/status.h"

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

/// Reads a mesh. Its limits are those of voxelize.h (triangles, vertices, coordinates) and those above.
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
/// begin with the byte-order mark of UTF-8. Which way triangles face stays as it is: mesh_surface.h is for that.
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

#endif
