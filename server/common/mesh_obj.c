// OBJ: corners and faces as lines of text. What else a line says is passed over.
#include "server/common/mesh_formats.h"

/// Whether what follows a corner's first index is "/T", "//N" or "/T/N".
static bool rest_of_corner_is_sound(tarn_text_word rest)
{
    int64_t unused;
    if (rest.bytes == 0) {
        return true;
    }
    tarn_text_word part = {rest.text + 1, rest.bytes - 1};
    if (rest.text[0] != '/') {
        return false;
    }
    if (part.bytes == 0 || (part.text[0] != '/' && !tarn_text_integer(part, &unused, &part))) {
        return false;
    }
    if (part.bytes == 0) {
        return true;
    }
    const tarn_text_word normal = {part.text + 1, part.bytes - 1};
    return part.text[0] == '/' && tarn_text_integer(normal, &unused, &part) && part.bytes == 0;
}

static tarn_status read_corner(tarn_mesh_builder *builder, tarn_text_word word, uint32_t *vertex)
{
    const int64_t count = builder->mesh.vertex_count;
    int64_t index;
    tarn_text_word rest;
    if (!tarn_text_integer(word, &index, &rest) || !rest_of_corner_is_sound(rest)) {
        return tarn_text_refuse(builder->cursor, TARN_E_MALFORMED,
                                "found %s in a face, allowed are V, V/T, V//N and V/T/N with whole numbers",
                                tarn_text_show(word).text);
    }
    if (index == 0 || index > count || index < -count) {
        return tarn_text_refuse(builder->cursor, TARN_E_MALFORMED,
                                "found the vertex %lld in a face, allowed are 1 to %lld, the vertices above, and -1 to "
                                "-%lld, counted back from here",
                                (long long)index, (long long)count, (long long)count);
    }
    *vertex = (uint32_t)(index > 0 ? index - 1 : count + index);
    return TARN_OK;
}

static tarn_status read_face(tarn_mesh_builder *builder)
{
    uint32_t corners[3] = {0, 0, 0}, corner_count = 0;
    for (tarn_text_word word = tarn_text_next(builder->cursor); word.bytes > 0;
         word = tarn_text_next(builder->cursor)) {
        uint32_t vertex = 0;
        tarn_status status = read_corner(builder, word, &vertex);
        if (status != TARN_OK) {
            return status;
        }
        corners[corner_count < 3 ? corner_count : 2] = vertex;
        if (corner_count < 3) {
            corner_count++;
        }
        if (corner_count < 3) {
            continue;
        }
        status = tarn_mesh_builder_triangle(builder, corners);
        if (status != TARN_OK) {
            return status;
        }
        corners[1] = vertex;
    }
    if (corner_count < 3) {
        return tarn_text_refuse(builder->cursor, TARN_E_MALFORMED,
                                "found a face with %u corners, allowed are 3 or more", corner_count);
    }
    return TARN_OK;
}

tarn_status tarn_mesh_obj_read(tarn_mesh_builder *builder)
{
    tarn_text_cursor *cursor = builder->cursor;
    cursor->line = 1;
    cursor->comment = '#';
    do {
        const tarn_text_word word = tarn_text_next(cursor);
        tarn_status status = TARN_OK;
        if (tarn_text_is(word, "v")) {
            float at_m[3];
            status = tarn_mesh_builder_read_point(cursor, tarn_text_next, at_m);
            if (status == TARN_OK) {
                status = tarn_mesh_builder_vertex(builder, at_m);
            }
        } else if (tarn_text_is(word, "f")) {
            status = read_face(builder);
        }
        if (status != TARN_OK) {
            return status;
        }
    } while (tarn_text_next_line(cursor));
    cursor->line = 0;
    return TARN_OK;
}
