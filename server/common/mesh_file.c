// Meshes from files: what all formats share, and which a file has.
#include "server/common/mesh_file.h"

#include "server/common/file_bytes.h"
#include "server/common/mesh_formats.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *ending;
    tarn_status (*read)(tarn_mesh_builder *builder);
} formats[TARN_MESH_FORMAT_COUNT] = {
    [TARN_MESH_FORMAT_OBJ] = {".obj", tarn_mesh_obj_read},
    [TARN_MESH_FORMAT_STL] = {".stl", tarn_mesh_stl_read},
    [TARN_MESH_FORMAT_PLY] = {".ply", tarn_mesh_ply_read},
    [TARN_MESH_FORMAT_GLB] = {".glb", tarn_mesh_glb_read},
};

tarn_status tarn_mesh_bytes_read(const char *origin, tarn_mesh_format format, const void *bytes, size_t byte_count,
                                 tarn_mesh *mesh, char *why, size_t why_bytes)
{
    tarn_text_cursor cursor = {.origin = origin, .why = why, .why_bytes = why_bytes};
    tarn_mesh_builder builder = {.cursor = &cursor};
    cursor.at = bytes;
    cursor.end = cursor.at + byte_count;
    tarn_status status = TARN_E_LIMIT;
    if (byte_count > TARN_MESH_FILE_BYTES_MAX) {
        tarn_text_refuse(&cursor, status, "found %zu bytes, allowed are %d", byte_count, TARN_MESH_FILE_BYTES_MAX);
    } else if (byte_count == 0) {
        status = tarn_text_refuse(&cursor, TARN_E_MALFORMED, "found an empty file, allowed is a mesh");
    } else {
        status = formats[format].read(&builder);
    }
    if (status == TARN_OK && builder.mesh.triangle_count == 0) {
        status = tarn_text_refuse(&cursor, TARN_E_MALFORMED, "found no triangles, allowed are 1 to %d",
                                  TARN_MESH_TRIANGLES_MAX);
    }
    tarn_mesh_builder_done(&builder);
    if (status == TARN_OK) {
        *mesh = builder.mesh;
    } else {
        tarn_mesh_free(&builder.mesh);
    }
    return status;
}

bool tarn_mesh_format_of(const char *name, tarn_mesh_format *format)
{
    const size_t bytes = strlen(name);
    for (int i = 0; i < TARN_MESH_FORMAT_COUNT; i++) {
        const size_t ending_bytes = strlen(formats[i].ending);
        if (bytes > ending_bytes && strcmp(name + bytes - ending_bytes, formats[i].ending) == 0) {
            *format = (tarn_mesh_format)i;
            return true;
        }
    }
    return false;
}

tarn_status tarn_mesh_file_read(const char *path, tarn_mesh *mesh, char *why, size_t why_bytes)
{
    const tarn_text_cursor to = {.origin = path, .why = why, .why_bytes = why_bytes};
    char *bytes = NULL;
    size_t byte_count;
    tarn_mesh_format format;
    if (!tarn_mesh_format_of(path, &format)) {
        return tarn_text_refuse(&to, TARN_E_MALFORMED,
                                "found another kind of file name, allowed is one that ends in " TARN_MESH_FILE_ENDINGS);
    }
    tarn_status status =
        tarn_file_bytes_read(path, TARN_MESH_FILE_BYTES_MAX, "a mesh file", &bytes, &byte_count, why, why_bytes);
    if (status != TARN_OK) {
        return status;
    }
    status = tarn_mesh_bytes_read(path, format, bytes, byte_count, mesh, why, why_bytes);
    free(bytes);
    return status;
}
