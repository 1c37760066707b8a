// OBJ: corners and faces as lines of text. What else a line says is passed over.
#include "server/common/mesh_formats.h"

/// Whether what follows a corner's first index is "/T", "//N" or "/T/N", of which any index may be left out.
static bool rest_of_corner_is_sound(tarn_text_word rest)
{
    int64_t unused;
    for (int i = 0; i < 2 && rest.bytes > 0; i++) {
        tarn_text_word part = {rest.text + 1, rest.bytes - 1};
        if (rest.text[0] != '/') {
            return false;
        }
        rest = part.bytes == 0 || part.text[0] == '/' || !tarn_text_integer(part, &unused, &rest) ? part : rest;
    }
    return rest.bytes == 0;
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
    for (tarn_text_word word = tarn_text_next(builder->cursor); word.bytes > 0;
         word = tarn_text_next(builder->cursor)) {
        uint32_t vertex = 0;
        tarn_status status = read_corner(builder, word, &vertex);
        status = status == TARN_OK ? tarn_mesh_builder_corner(builder, vertex) : status;
        if (status != TARN_OK) {
            return status;
        }
    }
    return tarn_mesh_builder_polygon(builder);
}

tarn_status tarn_mesh_obj_read(tarn_mesh_builder *builder)
{
    tarn_text_cursor *cursor = builder->cursor;
    tarn_status status = tarn_text_begin(cursor);
    if (status != TARN_OK) {
        return status;
    }
    cursor->line = 1;
    cursor->comment = '#';
    do {
        const tarn_text_word word = tarn_text_next(cursor);
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
