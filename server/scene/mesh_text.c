// The readers of STL and OBJ. Begin at tarn_mesh_stl_read and tarn_mesh_obj_read.
#include "server/scene/mesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- STL ----
// Triangles without shared corners, as text or in 50 bytes each. Equal corners become one vertex afterwards.
//
// Many binary files begin with "solid", as texts do, and some have more bytes behind their last triangle. But the
// highest byte of a number of triangles that is allowed is zero, and a text has no such byte.

enum {
    HEADER_BYTES = 84, // 80 of anything, then the number of triangles
    FACET_BYTES = 50,  // normal, three corners, two bytes of anything
    NORMAL_BYTES = 12,
    NUMBER_MAX = (1 << 24) - 1, // that leaves the highest byte zero
};

_Static_assert((int)TARN_MESH_TRIANGLES_MAX <= (int)NUMBER_MAX,
               "an allowed number of triangles has a byte that no text has");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "binary STL is read as it lies in memory");

/// Makes one vertex of all at the same place, in the order in which the places come first.
static tarn_status weld(tarn_mesh_builder *builder)
{
    tarn_mesh *mesh = &builder->mesh;
    const uint32_t count = mesh->vertex_count;
    uint32_t *number = malloc(2 * (size_t)count * sizeof *number), *first = number + count, kept = 0;
    if (number == NULL) {
        return tarn_text_refuse(builder->cursor, TARN_E_MEMORY, "out of memory for %u vertices", count);
    }
    tarn_mesh_first_at(mesh, first, number);
    for (uint32_t i = 0; i < count; i++) {
        if (first[i] == i) {
            memmove(mesh->vertices_m + 3 * (size_t)kept, mesh->vertices_m + 3 * (size_t)i, 3 * sizeof(float));
            number[i] = kept++;
        }
        mesh->triangles[i] = number[first[i]];
    }
    mesh->vertex_count = kept;
    free(number);
    return TARN_OK;
}

static tarn_status add_facet(tarn_mesh_builder *builder, float corners_m[3][3])
{
    const uint32_t first = builder->mesh.vertex_count, names[3] = {first, first + 1, first + 2};
    tarn_status status = tarn_mesh_builder_triangle(builder, names);
    for (int c = 0; c < 3 && status == TARN_OK; c++) {
        status = tarn_mesh_builder_vertex(builder, corners_m[c]);
    }
    return status;
}

// ---- STL in bytes ----

static tarn_status read_binary(tarn_mesh_builder *builder, uint32_t facet_count)
{
    const char *facet = builder->cursor->at + HEADER_BYTES;
    for (uint32_t i = 0; i < facet_count; i++, facet += FACET_BYTES) {
        float corners_m[3][3];
        memcpy(corners_m, facet + NORMAL_BYTES, sizeof corners_m);
        for (int k = 0; k < 9; k++) {
            float *at_m = &corners_m[k / 3][k % 3];
            if (!(fabsf(*at_m) <= TARN_MESH_COORDINATE_M_MAX)) {
                return tarn_text_refuse(builder->cursor, TARN_E_MALFORMED,
                                        "triangle %u: found %g for %c, allowed is a number from -%g to %g", i + 1,
                                        (double)*at_m, "xyz"[k % 3], (double)TARN_MESH_COORDINATE_M_MAX,
                                        (double)TARN_MESH_COORDINATE_M_MAX);
            }
            *at_m += 0.0f; // no -0: equal places have equal bytes
        }
        const tarn_status status = add_facet(builder, corners_m);
        if (status != TARN_OK) {
            return status;
        }
    }
    return TARN_OK;
}

// ---- STL as text ----

static tarn_status expect_words(tarn_text_cursor *cursor, const char *const *words)
{
    for (; *words != NULL; words++) {
        const tarn_text_word word = tarn_text_next_of_all(cursor);
        if (!tarn_text_is_in_any_case(word, *words)) {
            return tarn_text_refuse(cursor, TARN_E_MALFORMED, "found %s, allowed is \"%s\"",
                                    word.bytes > 0 ? tarn_text_show(word).text : "the end of the file", *words);
        }
    }
    return TARN_OK;
}

#define EXPECT_WORDS(cursor, ...) expect_words(cursor, (const char *const[]){__VA_ARGS__, NULL})

/// What follows the word "facet". The normal may be any three words: some programs write "nan" there.
static tarn_status read_facet(tarn_mesh_builder *builder)
{
    tarn_text_cursor *cursor = builder->cursor;
    float corners_m[3][3];
    tarn_status status = EXPECT_WORDS(cursor, "normal");
    for (int i = 0; i < 3; i++) {
        tarn_text_next_of_all(cursor);
    }
    if (status == TARN_OK) {
        status = EXPECT_WORDS(cursor, "outer", "loop");
    }
    for (int c = 0; c < 3 && status == TARN_OK; c++) {
        status = EXPECT_WORDS(cursor, "vertex");
        if (status == TARN_OK) {
            status = tarn_mesh_builder_read_point(cursor, tarn_text_next_of_all, corners_m[c]);
        }
    }
    if (status == TARN_OK) {
        status = EXPECT_WORDS(cursor, "endloop", "endfacet");
    }
    return status == TARN_OK ? add_facet(builder, corners_m) : status;
}

/// Solids follow each other; the name behind "solid" and "endsolid" is the rest of the line. The last one may end with
/// the file.
static tarn_status read_text(tarn_mesh_builder *builder)
{
    tarn_text_cursor *cursor = builder->cursor;
    bool within = false;
    cursor->line = 1;
    for (;;) {
        const tarn_text_word word = tarn_text_next_of_all(cursor);
        if (word.bytes == 0) {
            break;
        }
        if (tarn_text_is_in_any_case(word, within ? "endsolid" : "solid")) {
            within = !within;
            if (!tarn_text_next_line(cursor)) {
                continue; // the next word is none, and ends this
            }
        } else if (within && tarn_text_is_in_any_case(word, "facet")) {
            const tarn_status status = read_facet(builder);
            if (status != TARN_OK) {
                return status;
            }
        } else {
            return tarn_text_refuse(cursor, TARN_E_MALFORMED, "found %s, allowed is %s", tarn_text_show(word).text,
                                    within ? "\"facet\" or \"endsolid\"" : "\"solid\"");
        }
    }
    cursor->line = 0;
    return TARN_OK;
}

/// To the first word, if this is a text; its sentence otherwise is about its bytes.
static bool begin_as_text(tarn_text_cursor *cursor)
{
    tarn_text_cursor look = *cursor;
    const size_t byte_count = (size_t)(look.end - look.at);
    look.why = NULL;
    const bool is_text = tarn_text_begin(&look) == TARN_OK &&
                         memchr(cursor->at, 0, byte_count < HEADER_BYTES ? byte_count : HEADER_BYTES) == NULL;
    cursor->at = is_text ? look.at : cursor->at;
    return is_text && tarn_text_is_in_any_case(tarn_text_next_of_all(&look), "solid");
}

tarn_status tarn_mesh_stl_read(tarn_mesh_builder *builder)
{
    tarn_text_cursor *cursor = builder->cursor;
    const size_t byte_count = (size_t)(cursor->end - cursor->at);
    uint32_t declared = 0;
    tarn_status status;
    if (byte_count >= HEADER_BYTES) {
        memcpy(&declared, cursor->at + HEADER_BYTES - sizeof declared, sizeof declared);
    }
    const bool has_number = byte_count >= HEADER_BYTES && declared <= NUMBER_MAX;
    if (has_number && (byte_count - HEADER_BYTES) / FACET_BYTES >= declared) {
        status = read_binary(builder, declared);
    } else if (byte_count > 2 && (memcmp(cursor->at, "\xff\xfe", 2) == 0 || memcmp(cursor->at, "\xfe\xff", 2) == 0)) {
        status = tarn_text_refuse(cursor, TARN_E_MALFORMED, TARN_TEXT_WIDE);
    } else if (!has_number && begin_as_text(cursor)) {
        status = read_text(builder);
    } else if (byte_count < HEADER_BYTES) {
        status = tarn_text_refuse(cursor, TARN_E_MALFORMED,
                                  "found %zu bytes that don't begin with \"solid\", allowed are %d at least",
                                  byte_count, HEADER_BYTES);
    } else {
        status = tarn_text_refuse(
            cursor, TARN_E_MALFORMED,
            "found %zu bytes and a declared number of %u triangles, allowed are %llu bytes for so many", byte_count,
            declared, (unsigned long long)HEADER_BYTES + (unsigned long long)FACET_BYTES * declared);
    }
    return status == TARN_OK && builder->mesh.triangle_count > 0 ? weld(builder) : status;
}

// ---- OBJ ----
// Corners and faces as lines of text. What else a line says is passed over.

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
