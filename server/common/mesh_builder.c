// Arrays that double as a mesh's file is read, up to the limits of voxelize.h.
#include "server/common/mesh_builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_FIRST = 1024 };

/// Makes room for one more of `count` elements of `bytes` each, of which there may be `max`.
static tarn_status make_room(const tarn_text_cursor *cursor, const char *what, uint32_t count, uint32_t max,
                             size_t bytes, uint32_t *room, void **array)
{
    if (count < *room) {
        return TARN_OK;
    }
    if (count >= max) {
        return tarn_text_refuse(cursor, TARN_E_LIMIT, "found more than %u %s, allowed are %u", max, what, max);
    }
    const uint32_t wanted = *room == 0 ? ROOM_FIRST : *room > max / 2 ? max : 2 * *room;
    void *larger = realloc(*array, wanted * bytes);
    if (larger == NULL) {
        return tarn_text_refuse(cursor, TARN_E_MEMORY, "out of memory for %u %s", wanted, what);
    }
    *array = larger;
    *room = wanted;
    return TARN_OK;
}

tarn_status tarn_mesh_builder_vertex(tarn_mesh_builder *builder, const float at_m[3])
{
    tarn_mesh *mesh = &builder->mesh;
    void *array = mesh->vertices_m;
    const tarn_status status = make_room(builder->cursor, "vertices", mesh->vertex_count, TARN_MESH_VERTICES_MAX,
                                         3 * sizeof(float), &builder->vertices_room, &array);
    mesh->vertices_m = array;
    if (status == TARN_OK) {
        memcpy(mesh->vertices_m + 3 * (size_t)mesh->vertex_count++, at_m, 3 * sizeof(float));
    }
    return status;
}

tarn_status tarn_mesh_builder_place(tarn_mesh_builder *builder, const double at_m[3])
{
    float rounded_m[3];
    for (int a = 0; a < 3; a++) {
        if (!(fabs(at_m[a]) <= (double)TARN_MESH_COORDINATE_M_MAX)) {
            return tarn_text_refuse(builder->cursor, TARN_E_MALFORMED,
                                    "vertex %u: found %g for %c, allowed is a number from -%g to %g",
                                    builder->mesh.vertex_count, at_m[a], "xyz"[a], (double)TARN_MESH_COORDINATE_M_MAX,
                                    (double)TARN_MESH_COORDINATE_M_MAX);
        }
        rounded_m[a] = (float)at_m[a] + 0.0f; // no -0: equal places have equal bytes
    }
    return tarn_mesh_builder_vertex(builder, rounded_m);
}

tarn_status tarn_mesh_builder_triangle(tarn_mesh_builder *builder, const uint32_t corners[3])
{
    tarn_mesh *mesh = &builder->mesh;
    void *array = mesh->triangles;
    const tarn_status status = make_room(builder->cursor, "triangles", mesh->triangle_count, TARN_MESH_TRIANGLES_MAX,
                                         3 * sizeof(uint32_t), &builder->triangles_room, &array);
    mesh->triangles = array;
    if (status == TARN_OK) {
        memcpy(mesh->triangles + 3 * (size_t)mesh->triangle_count++, corners, 3 * sizeof(uint32_t));
    }
    return status;
}

tarn_status tarn_mesh_builder_corner(tarn_mesh_builder *builder, uint32_t vertex)
{
    void *array = builder->corners;
    const tarn_status status = make_room(builder->cursor, "corners of a face", builder->corner_count,
                                         TARN_MESH_CORNERS_MAX, sizeof vertex, &builder->corners_room, &array);
    builder->corners = array;
    if (status == TARN_OK) {
        builder->corners[builder->corner_count++] = vertex;
    }
    return status;
}

void tarn_mesh_builder_done(tarn_mesh_builder *builder)
{
    free(builder->corners);
    builder->corners = NULL;
}

tarn_status tarn_mesh_builder_read_point(tarn_text_cursor *cursor, tarn_text_word (*next)(tarn_text_cursor *cursor),
                                         float at_m[3])
{
    for (int a = 0; a < 3; a++) {
        const tarn_text_word word = next(cursor);
        double number;
        if (!tarn_text_number(word, &number) || !(fabs(number) <= (double)TARN_MESH_COORDINATE_M_MAX)) {
            return tarn_text_refuse(cursor, TARN_E_MALFORMED, "found %s for %c, allowed is a number from -%g to %g",
                                    tarn_text_show(word).text, "xyz"[a], (double)TARN_MESH_COORDINATE_M_MAX,
                                    (double)TARN_MESH_COORDINATE_M_MAX);
        }
        at_m[a] = (float)number + 0.0f; // no -0: equal places have equal bytes
    }
    return TARN_OK;
}

void tarn_mesh_free(tarn_mesh *mesh)
{
    free(mesh->vertices_m);
    free(mesh->triangles);
    *mesh = (tarn_mesh){.vertex_count = 0};
}
