// Binary glTF 2.0: JSON that tells of scenes, nodes, meshes and accessors, then the bytes that these are of.
//
//     scene -> nodes, each placed in the one above -> meshes -> primitives -> accessors -> views of the bytes
//
// The triangles that a node puts there, and nothing of how they look; with whole numbers for coordinates
// (KHR_mesh_quantization), and where a node puts many of one mesh (EXT_mesh_gpu_instancing). What would make them other
// triangles than those that lie in the file is refused: compression, skins, morph targets, sparse accessors. The
// format: Khronos Group, "glTF 2.0 Specification" (ISO/IEC 12113:2022). Begin at tarn_mesh_glb_read.
#include "server/scene/mesh.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEAD_BYTES = 12,
    CHUNK_HEAD_BYTES = 8,
    JSON_BYTES_MAX = 1 << 20, // a tree of the smallest objects takes some eighty times as much memory
    NODES_DEEP_MAX = 64,
    STRIDE_MAX = 252,
    MODE_TRIANGLES = 4,
    MODE_STRIP = 5,
    MODE_FAN = 6,
    WHERE_BYTES = 64,
};
static const uint32_t MAGIC = 0x46546c67, CHUNK_JSON = 0x4e4f534a, CHUNK_BIN = 0x004e4942;

typedef enum glb_component {
    INT8 = 5120,
    UINT8 = 5121,
    INT16 = 5122,
    UINT16 = 5123,
    UINT32 = 5125,
    FLOAT32 = 5126
} glb_component;

/// From a node's coordinates to the scene's: rows of a matrix, the last column moves.
typedef struct glb_place {
    double rows[3][4];
} glb_place;

typedef struct glb {
    tarn_mesh_builder *builder;
    const json_t *nodes, *meshes, *accessors, *views, *buffers; // NULL: none
    const uint8_t *bytes;                                       // NULL: the file has none
    size_t byte_count;
    bool *was_there; // of nodes: the tree has them once
} glb;

/// What an accessor gives: `count` items that begin `stride` bytes behind each other.
typedef struct glb_items {
    const uint8_t *bytes;
    uint32_t count, stride;
    glb_component component;
    bool is_share; // whole numbers stand for shares of the greatest
} glb_items;

#define REFUSE(g, ...) tarn_text_refuse((g)->builder->cursor, TARN_E_MALFORMED, __VA_ARGS__)

// ---- members of the JSON ----

/// A whole number from 0 to max. @param otherwise  where there is no member; below 0: there has to be one
static tarn_status read_whole(glb *g, const char *where, const char *name, const json_t *member, int64_t otherwise,
                              int64_t max, uint32_t *whole)
{
    const int64_t number = member == NULL ? otherwise : json_is_integer(member) ? json_integer_value(member) : -1;
    char found[24];
    if (number >= 0 && number <= max) {
        *whole = (uint32_t)number;
        return TARN_OK;
    }
    snprintf(found, sizeof found, "%lld", (long long)json_integer_value(member));
    return REFUSE(g, "%s.%s: found %s, allowed is a whole number from 0 to %lld", where, name,
                  member == NULL            ? "nothing"
                  : json_is_integer(member) ? found
                                            : "something else",
                  (long long)max);
}

/// Which item of a list an object names. @return TARN_OK with NULL where it names none
static tarn_status find_named(glb *g, const char *where, const char *name, const json_t *object, const char *list_name,
                              const json_t *list, uint32_t *number, const json_t **item)
{
    const json_t *member = json_object_get(object, name);
    const size_t count = json_array_size(list);
    *item = NULL;
    *number = 0;
    if (member == NULL) {
        return TARN_OK;
    }
    if (count == 0 || !json_is_integer(member) || json_integer_value(member) < 0 ||
        json_integer_value(member) >= (json_int_t)count) {
        return REFUSE(g, "%s.%s: found none of the %zu %s, allowed is the number of one", where, name, count,
                      list_name);
    }
    *number = (uint32_t)json_integer_value(member);
    *item = json_array_get(list, *number);
    return TARN_OK;
}

static tarn_status read_numbers(glb *g, const char *where, const char *name, const json_t *object, size_t count,
                                double *numbers)
{
    const json_t *list = json_object_get(object, name);
    bool is_right = list == NULL || json_array_size(list) == count;
    for (size_t i = 0; i < json_array_size(list) && is_right; i++) {
        const json_t *number = json_array_get(list, i);
        is_right = json_is_number(number);
        numbers[i] = json_number_value(number);
    }
    return is_right ? TARN_OK : REFUSE(g, "%s.%s: found something else, allowed are %zu numbers", where, name, count);
}

/// The compression that an object of the file says it has. @return NULL: none
static const char *squeezed_by(const json_t *object)
{
    static const char *const names[] = {"KHR_draco_mesh_compression", "EXT_meshopt_compression",
                                        "KHR_meshopt_compression"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (json_object_get(json_object_get(object, "extensions"), names[i]) != NULL) {
            return names[i];
        }
    }
    return NULL;
}

#define SAVE_PLAIN "save the mesh without compression"

// ---- accessors ----

static uint32_t component_bytes(glb_component component)
{
    return component == INT8 || component == UINT8 ? 1 : component == INT16 || component == UINT16 ? 2 : 4;
}

/// The bytes of a view. @param view  of the list
static tarn_status open_view(glb *g, const json_t *view, uint32_t number, const uint8_t **bytes, uint32_t *byte_count,
                             uint32_t *stride)
{
    char where[WHERE_BYTES];
    const json_t *buffer;
    uint32_t which = 0, offset = 0;
    snprintf(where, sizeof where, "bufferViews[%u]", number);
    tarn_status status = find_named(g, where, "buffer", view, "buffers", g->buffers, &which, &buffer);
    if (status == TARN_OK &&
        (buffer == NULL || which != 0 || json_object_get(buffer, "uri") != NULL || g->bytes == NULL)) {
        if (squeezed_by(view) != NULL) {
            return REFUSE(g, "%s: found %s, allowed are bytes as they are: " SAVE_PLAIN, where, squeezed_by(view));
        }
        return REFUSE(g, "%s.buffer: found another file's bytes, allowed are this one's own", where);
    }
    if (status == TARN_OK) {
        status =
            read_whole(g, where, "byteOffset", json_object_get(view, "byteOffset"), 0, (int64_t)g->byte_count, &offset);
    }
    if (status == TARN_OK) {
        status = read_whole(g, where, "byteLength", json_object_get(view, "byteLength"), -1,
                            (int64_t)(g->byte_count - offset), byte_count);
    }
    if (status == TARN_OK) {
        status = read_whole(g, where, "byteStride", json_object_get(view, "byteStride"), 0, STRIDE_MAX, stride);
        *bytes = g->bytes + offset;
    }
    return status;
}

/// Whether all items lie within the view.
static tarn_status check_extent(glb *g, const char *where, const glb_items *items, uint32_t item_bytes, uint32_t offset,
                                uint32_t byte_count)
{
    const uint64_t wanted = (uint64_t)offset + (uint64_t)items->stride * (items->count - 1) + item_bytes;
    return wanted <= byte_count
               ? TARN_OK
               : REFUSE(g, "%s: found %llu bytes of a view that has %u", where, (unsigned long long)wanted, byte_count);
}

/// What an accessor says of its items, but for where they are.
static tarn_status read_accessor(glb *g, const char *where, const json_t *accessor, uint32_t components,
                                 glb_items *items)
{
    const char *type = json_string_value(json_object_get(accessor, "type"));
    const bool is_number = components > 1; // an index otherwise
    uint32_t component = 0;
    if (json_object_get(accessor, "sparse") != NULL) {
        return REFUSE(g, "%s: found a sparse one, allowed are values that lie one behind the other", where);
    }
    tarn_status status =
        read_whole(g, where, "componentType", json_object_get(accessor, "componentType"), -1, INT32_MAX, &component);
    static const char *const types[] = {"none", "SCALAR", "VEC2", "VEC3", "VEC4"};
    const bool is_whole = component == UINT8 || component == UINT16;
    const bool is_right = component == UINT32 ? !is_number
                          : is_number ? is_whole || component == INT8 || component == INT16 || component == FLOAT32
                                      : is_whole;
    if (status == TARN_OK && (type == NULL || strcmp(type, types[components]) != 0 || !is_right)) {
        return REFUSE(g, "%s: found %.20s of component type %u, allowed are %s of %s", where,
                      type != NULL ? type : "no type", component, types[components],
                      is_number ? "5126, 5120, 5121, 5122 and 5123" : "5121, 5123 and 5125");
    }
    items->is_share = json_is_true(json_object_get(accessor, "normalized"));
    items->component = (glb_component)component;
    if (status == TARN_OK) {
        status = read_whole(g, where, "count", json_object_get(accessor, "count"), -1, INT32_MAX, &items->count);
    }
    if (status == TARN_OK && items->count == 0) {
        return REFUSE(g, "%s.count: found 0, allowed is 1 or more", where);
    }
    return status;
}

/// @param components  of an item: 1 is an index, 3 a point, 4 a turn  @param items  their count is 0 where the object
/// names no accessor
static tarn_status open_accessor(glb *g, const char *from, const char *name, const json_t *object, uint32_t components,
                                 glb_items *items)
{
    char where[WHERE_BYTES];
    const json_t *accessor, *view = NULL;
    uint32_t number, view_number, offset = 0, byte_count = 0;
    tarn_status status = find_named(g, from, name, object, "accessors", g->accessors, &number, &accessor);
    items->count = 0;
    if (status != TARN_OK || accessor == NULL) {
        return status;
    }
    snprintf(where, sizeof where, "accessors[%u]", number);
    status = read_accessor(g, where, accessor, components, items);
    if (status == TARN_OK) {
        status = find_named(g, where, "bufferView", accessor, "bufferViews", g->views, &view_number, &view);
    }
    if (status == TARN_OK && view == NULL) {
        return REFUSE(g, "%s: found no bufferView, allowed is one; compressed meshes aren't read", where);
    }
    if (status == TARN_OK) {
        status = open_view(g, view, view_number, &items->bytes, &byte_count, &items->stride);
    }
    if (status == TARN_OK) {
        status = read_whole(g, where, "byteOffset", json_object_get(accessor, "byteOffset"), 0, byte_count, &offset);
    }
    if (status != TARN_OK) {
        return status;
    }
    const uint32_t item_bytes = components * component_bytes(items->component);
    if (items->stride == 0) {
        items->stride = item_bytes;
    } else if (items->stride < item_bytes) {
        return REFUSE(g, "bufferViews[%u].byteStride: found %u, allowed are %u to %d", view_number, items->stride,
                      item_bytes, STRIDE_MAX);
    }
    items->bytes += offset;
    return check_extent(g, where, items, item_bytes, offset, byte_count);
}

static uint32_t index_of(const glb_items *items, uint32_t number)
{
    const uint8_t *bytes = items->bytes + (size_t)number * items->stride;
    uint32_t index = 0;
    for (uint32_t i = component_bytes(items->component); i-- > 0;) {
        index = index << 8 | bytes[i];
    }
    return index;
}

static double number_at(const uint8_t *bytes, const glb_items *items)
{
    uint32_t bits = 0;
    float number;
    for (uint32_t i = component_bytes(items->component); i-- > 0;) {
        bits = bits << 8 | bytes[i];
    }
    switch (items->component) {
    case INT8:
        return items->is_share ? fmax((int8_t)bits / 127.0, -1.0) : (int8_t)bits;
    case INT16:
        return items->is_share ? fmax((int16_t)bits / 32767.0, -1.0) : (int16_t)bits;
    case UINT8:
        return items->is_share ? bits / 255.0 : bits;
    case UINT16:
        return items->is_share ? bits / 65535.0 : bits;
    default:
        memcpy(&number, &bits, sizeof number);
        return (double)number;
    }
}

static void numbers_of(const glb_items *items, uint32_t number, int count, double *numbers)
{
    const uint8_t *bytes = items->bytes + (size_t)number * items->stride;
    for (int i = 0; i < count; i++, bytes += component_bytes(items->component)) {
        numbers[i] = number_at(bytes, items);
    }
}

// ---- where nodes put things ----

static glb_place place_within(const glb_place *outer, const glb_place *inner)
{
    glb_place both;
    for (int row = 0; row < 3; row++) {
        for (int column = 0; column < 4; column++) {
            double sum = column == 3 ? outer->rows[row][3] : 0.0;
            for (int k = 0; k < 3; k++) {
                sum += outer->rows[row][k] * inner->rows[k][column];
            }
            both.rows[row][column] = sum;
        }
    }
    return both;
}

/// Below 0 where the place mirrors.
static double determinant(const glb_place *place)
{
    const double(*m)[4] = place->rows;
    return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
           m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

/// First scaled, then turned, then moved.
static tarn_status make_place(glb *g, const char *where, const double move[3], const double q[4], const double scale[3],
                              glb_place *place)
{
    const double x = q[0], y = q[1], z = q[2], w = q[3], square = x * x + y * y + z * z + w * w;
    if (!(square > 1e-6 && square < 1e6)) {
        return REFUSE(g, "%s.rotation: found a quaternion of length %g squared, allowed is 1", where, square);
    }
    const double s = 2.0 / square; // of any length the same turn
    const double turn[3][3] = {{1 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)},
                               {s * (x * y + z * w), 1 - s * (x * x + z * z), s * (y * z - x * w)},
                               {s * (x * z - y * w), s * (y * z + x * w), 1 - s * (x * x + y * y)}};
    for (int row = 0; row < 3; row++) {
        for (int column = 0; column < 3; column++) {
            place->rows[row][column] = turn[row][column] * scale[column];
        }
        place->rows[row][3] = move[row];
    }
    return TARN_OK;
}

/// Where a node is in the one above: of three parts, or a matrix of 4x4, column by column.
static tarn_status read_place(glb *g, const char *where, const json_t *node, glb_place *place)
{
    double matrix[16], move[3] = {0, 0, 0}, q[4] = {0, 0, 0, 1}, scale[3] = {1, 1, 1};
    if (json_object_get(node, "matrix") != NULL) {
        const tarn_status status = read_numbers(g, where, "matrix", node, 16, matrix);
        for (int i = 0; i < 12 && status == TARN_OK; i++) {
            place->rows[i % 3][i / 3] = matrix[i / 3 * 4 + i % 3];
        }
        return status;
    }
    tarn_status status = read_numbers(g, where, "translation", node, 3, move);
    status = status == TARN_OK ? read_numbers(g, where, "rotation", node, 4, q) : status;
    status = status == TARN_OK ? read_numbers(g, where, "scale", node, 3, scale) : status;
    return status == TARN_OK ? make_place(g, where, move, q, scale, place) : status;
}

// ---- triangles ----

static tarn_status add_vertices(glb *g, const glb_place *place, const glb_items *points)
{
    tarn_status status = TARN_OK;
    for (uint32_t i = 0; i < points->count && status == TARN_OK; i++) {
        double at[3], to[3];
        numbers_of(points, i, 3, at);
        for (int row = 0; row < 3; row++) {
            const double *m = place->rows[row];
            to[row] = m[0] * at[0] + m[1] * at[1] + m[2] * at[2] + m[3];
        }
        status = tarn_mesh_builder_place(g->builder, to);
    }
    return status;
}

/// @param corners  their count 0: the points follow each other
static tarn_status add_triangles(glb *g, const char *where, const glb_items *corners, uint32_t mode, uint32_t first,
                                 uint32_t point_count, bool is_mirrored)
{
    const uint32_t corner_count = corners->count > 0 ? corners->count : point_count;
    const uint32_t count = mode == MODE_TRIANGLES ? corner_count / 3 : corner_count > 2 ? corner_count - 2 : 0;
    tarn_status status = TARN_OK;
    if (mode == MODE_TRIANGLES && corner_count % 3 != 0) {
        return REFUSE(g, "%s: found %u corners, allowed are three for each triangle", where, corner_count);
    }
    for (uint32_t i = 0; i < count && status == TARN_OK; i++) {
        uint32_t at[3] = {3 * i, 3 * i + 1, 3 * i + 2}, triangle[3];
        if (mode == MODE_STRIP) { // every second one is walked the other way
            at[0] = i;
            at[1] = i + 1 + i % 2;
            at[2] = i + 2 - i % 2;
        } else if (mode == MODE_FAN) {
            at[0] = i + 1;
            at[1] = i + 2;
            at[2] = 0;
        }
        for (uint32_t c = 0; c < 3; c++) {
            const uint32_t place = at[is_mirrored ? 2 - c : c];
            const uint32_t index = corners->count > 0 ? index_of(corners, place) : place;
            if (index >= point_count) {
                return REFUSE(g, "%s.indices: found the vertex %u, allowed are 0 to %u", where, index, point_count - 1);
            }
            triangle[c] = first + index;
        }
        status = tarn_mesh_builder_triangle(g->builder, triangle);
    }
    return status;
}

/// A compressed primitive may lie in the file as it is, too; or not.
static tarn_status check_squeezed(glb *g, const char *where, const json_t *primitive)
{
    const json_t *position = json_object_get(json_object_get(primitive, "attributes"), "POSITION");
    const json_int_t number = json_is_integer(position) ? json_integer_value(position) : -1;
    const json_t *accessor = number >= 0 ? json_array_get(g->accessors, (size_t)number) : NULL;
    return squeezed_by(primitive) == NULL || json_object_get(accessor, "bufferView") != NULL
               ? TARN_OK
               : REFUSE(g, "%s: found %s, allowed are triangles as they are: " SAVE_PLAIN, where,
                        squeezed_by(primitive));
}

static tarn_status add_primitive(glb *g, const char *where, const json_t *primitive, const glb_place *place)
{
    glb_items points, corners;
    uint32_t mode = 0;
    char attributes[WHERE_BYTES + 16];
    snprintf(attributes, sizeof attributes, "%s.attributes", where);
    tarn_status status =
        read_whole(g, where, "mode", json_object_get(primitive, "mode"), MODE_TRIANGLES, MODE_FAN, &mode);
    if (status == TARN_OK && mode < MODE_TRIANGLES) {
        return REFUSE(g, "%s.mode: found %u, allowed are %d to %d, triangles", where, mode, MODE_TRIANGLES, MODE_FAN);
    }
    status = status == TARN_OK ? check_squeezed(g, where, primitive) : status;
    if (status == TARN_OK && json_object_get(primitive, "targets") != NULL) {
        return REFUSE(g, "%s.targets: found morph targets, allowed are meshes of one form", where);
    }
    if (status == TARN_OK) {
        status = open_accessor(g, attributes, "POSITION", json_object_get(primitive, "attributes"), 3, &points);
    }
    if (status == TARN_OK && points.count == 0) {
        return REFUSE(g, "%s: found no POSITION, allowed is an accessor's number", attributes);
    }
    if (status == TARN_OK) {
        status = open_accessor(g, where, "indices", primitive, 1, &corners);
    }
    const uint32_t first = g->builder->mesh.vertex_count;
    if (status == TARN_OK) {
        status = add_vertices(g, place, &points);
    }
    return status == TARN_OK ? add_triangles(g, where, &corners, mode, first, points.count, determinant(place) < 0.0)
                             : status;
}

static tarn_status add_mesh(glb *g, const json_t *mesh, uint32_t number, const glb_place *place)
{
    const json_t *primitives = json_object_get(mesh, "primitives");
    tarn_status status = TARN_OK;
    for (size_t i = 0; i < json_array_size(primitives) && status == TARN_OK; i++) {
        char where[WHERE_BYTES];
        snprintf(where, sizeof where, "meshes[%u].primitives[%zu]", number, i);
        status = add_primitive(g, where, json_array_get(primitives, i), place);
    }
    return status;
}

/// EXT_mesh_gpu_instancing: a mesh at many places within its node's, each of what attributes say of it.
static tarn_status add_instances(glb *g, const char *node, const json_t *mesh, uint32_t number, const json_t *extension,
                                 const glb_place *outer)
{
    static const char *const names[3] = {"TRANSLATION", "ROTATION", "SCALE"};
    const json_t *attributes = json_object_get(extension, "attributes");
    char where[WHERE_BYTES + 64];
    glb_items items[3];
    uint32_t count = 0;
    tarn_status status = TARN_OK;
    snprintf(where, sizeof where, "%.40s.extensions.EXT_mesh_gpu_instancing.attributes", node);
    for (int i = 0; i < 3 && status == TARN_OK; i++) {
        status = open_accessor(g, where, names[i], attributes, i == 1 ? 4 : 3, &items[i]);
        if (status == TARN_OK && count > 0 && items[i].count > 0 && items[i].count != count) {
            return REFUSE(g, "%s: found %u and %u items, allowed are as many of each", where, count, items[i].count);
        }
        count = status == TARN_OK && items[i].count > 0 ? items[i].count : count;
    }
    if (status == TARN_OK && count == 0) {
        return REFUSE(g, "%s: found none of TRANSLATION, ROTATION and SCALE", where);
    }
    for (uint32_t i = 0; i < count && status == TARN_OK; i++) {
        double parts[3][4] = {{0, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}};
        glb_place own, place;
        for (int k = 0; k < 3; k++) {
            if (items[k].count > 0) {
                numbers_of(&items[k], i, k == 1 ? 4 : 3, parts[k]);
            }
        }
        status = make_place(g, where, parts[0], parts[1], parts[2], &own);
        if (status == TARN_OK) {
            place = place_within(outer, &own);
            status = add_mesh(g, mesh, number, &place);
        }
    }
    return status;
}

// ---- nodes ----

static tarn_status add_nodes(glb *g, const char *from, const json_t *list, const glb_place *outer, int depth);

static tarn_status add_node(glb *g, uint32_t number, const glb_place *outer, int depth)
{
    char where[WHERE_BYTES];
    const json_t *node = json_array_get(g->nodes, number), *mesh, *extensions = json_object_get(node, "extensions");
    const json_t *instances = json_object_get(extensions, "EXT_mesh_gpu_instancing");
    uint32_t mesh_number;
    glb_place own;
    snprintf(where, sizeof where, "nodes[%u]", number);
    if (g->was_there[number]) {
        return REFUSE(g, "%s: found it in the tree twice, allowed is once", where);
    }
    g->was_there[number] = true;
    if (json_is_false(json_object_get(json_object_get(extensions, "KHR_node_visibility"), "visible"))) {
        return TARN_OK;
    }
    tarn_status status = find_named(g, where, "mesh", node, "meshes", g->meshes, &mesh_number, &mesh);
    if (status == TARN_OK && mesh != NULL && json_object_get(node, "skin") != NULL) {
        return REFUSE(g, "%s.skin: found a mesh that bones bend, allowed are rigid ones", where);
    }
    if (status == TARN_OK) {
        status = read_place(g, where, node, &own);
    }
    if (status != TARN_OK) {
        return status;
    }
    const glb_place place = place_within(outer, &own);
    if (mesh != NULL) {
        status = instances != NULL ? add_instances(g, where, mesh, mesh_number, instances, &place)
                                   : add_mesh(g, mesh, mesh_number, &place);
    }
    return status == TARN_OK ? add_nodes(g, where, json_object_get(node, "children"), &place, depth + 1) : status;
}

static tarn_status add_nodes(glb *g, const char *from, const json_t *list, const glb_place *outer, int depth)
{
    const size_t node_count = json_array_size(g->nodes);
    tarn_status status = TARN_OK;
    if (depth > NODES_DEEP_MAX) {
        return tarn_text_refuse(g->builder->cursor, TARN_E_LIMIT, "%s: found nodes in nodes %d deep, allowed are %d",
                                from, depth, NODES_DEEP_MAX);
    }
    if (node_count == 0 && json_array_size(list) > 0) {
        return REFUSE(g, "%s: found nodes' numbers, and there are no nodes", from);
    }
    for (size_t i = 0; i < json_array_size(list) && status == TARN_OK; i++) {
        uint32_t number = 0;
        status = read_whole(g, from, "nodes", json_array_get(list, i), -1, (int64_t)node_count - 1, &number);
        if (status == TARN_OK) {
            status = add_node(g, number, outer, depth);
        }
    }
    return status;
}

/// The nodes that are in no other: a file need not say which belong to a scene.
static tarn_status add_roots(glb *g, const glb_place *place)
{
    const size_t count = json_array_size(g->nodes);
    bool *is_child = calloc(count > 0 ? count : 1, sizeof *is_child);
    tarn_status status = TARN_OK;
    if (is_child == NULL) {
        return tarn_text_refuse(g->builder->cursor, TARN_E_MEMORY, "out of memory for %zu nodes", count);
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *children = json_object_get(json_array_get(g->nodes, i), "children");
        for (size_t k = 0; k < json_array_size(children); k++) {
            const json_int_t child = json_integer_value(json_array_get(children, k));
            if (child >= 0 && (size_t)child < count) {
                is_child[child] = true;
            }
        }
    }
    for (size_t i = 0; i < count && status == TARN_OK; i++) {
        status = is_child[i] ? TARN_OK : add_node(g, (uint32_t)i, place, 1);
    }
    free(is_child);
    return status;
}

// ---- the file ----

/// Extensions without which the file can't be read as it is meant; those that change how things look are no matter.
static tarn_status check_extensions(glb *g, const json_t *root)
{
    static const char *const read[] = {
        "_materials_",        "_texture_", "_lights_", "KHR_mesh_quantization", "EXT_mesh_gpu_instancing",
        "KHR_node_visibility"};
    const json_t *list = json_object_get(root, "extensionsRequired");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        bool is_read = false;
        for (size_t k = 0; k < sizeof read / sizeof read[0] && name != NULL; k++) {
            is_read |= strstr(name, read[k]) != NULL;
        }
        if (!is_read) {
            return REFUSE(
                g,
                "extensionsRequired[%zu]: found %.60s, allowed are KHR_mesh_quantization, "
                "EXT_mesh_gpu_instancing, KHR_node_visibility and those of materials, textures and lights: " SAVE_PLAIN,
                i, name != NULL ? name : "something else");
        }
    }
    return TARN_OK;
}

static tarn_status read_tree(glb *g, const json_t *root)
{
    static const glb_place here = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
    const json_t *scenes = json_object_get(root, "scenes"), *scene;
    uint32_t number;
    g->nodes = json_object_get(root, "nodes");
    g->meshes = json_object_get(root, "meshes");
    g->accessors = json_object_get(root, "accessors");
    g->views = json_object_get(root, "bufferViews");
    g->buffers = json_object_get(root, "buffers");
    tarn_status status = check_extensions(g, root);
    if (status == TARN_OK) {
        status = find_named(g, "the file", "scene", root, "scenes", scenes, &number, &scene);
    }
    const size_t node_count = json_array_size(g->nodes);
    g->was_there = status == TARN_OK ? calloc(node_count > 0 ? node_count : 1, sizeof *g->was_there) : NULL;
    if (status == TARN_OK && g->was_there == NULL) {
        return tarn_text_refuse(g->builder->cursor, TARN_E_MEMORY, "out of memory for %zu nodes", node_count);
    }
    if (status == TARN_OK) {
        scene = scene != NULL ? scene : json_array_get(scenes, 0);
        status =
            scene != NULL ? add_nodes(g, "the scene", json_object_get(scene, "nodes"), &here, 1) : add_roots(g, &here);
    }
    free(g->was_there);
    return status;
}

static uint32_t word_at(const char *bytes)
{
    const uint8_t *b = (const uint8_t *)bytes;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/// The chunk at the cursor, which goes behind it.
static tarn_status next_chunk(glb *g, uint32_t *kind, const char **content, uint32_t *content_bytes)
{
    tarn_text_cursor *cursor = g->builder->cursor;
    const size_t left = (size_t)(cursor->end - cursor->at);
    *content_bytes = left >= CHUNK_HEAD_BYTES ? word_at(cursor->at) : 0;
    if (left < CHUNK_HEAD_BYTES || left - CHUNK_HEAD_BYTES < *content_bytes) {
        return REFUSE(g, "found %zu bytes for a chunk of %u, allowed are %d more than that", left, *content_bytes,
                      CHUNK_HEAD_BYTES);
    }
    *kind = word_at(cursor->at + 4);
    *content = cursor->at + CHUNK_HEAD_BYTES;
    cursor->at += CHUNK_HEAD_BYTES + *content_bytes;
    return TARN_OK;
}

static tarn_status read_chunks(glb *g, const char **text, uint32_t *text_bytes)
{
    tarn_text_cursor *cursor = g->builder->cursor;
    uint32_t kind = 0, byte_count = 0;
    const char *content;
    cursor->at += HEAD_BYTES;
    tarn_status status = next_chunk(g, &kind, text, text_bytes);
    if (status == TARN_OK && kind != CHUNK_JSON) {
        return REFUSE(g, "found a first chunk of kind %08x, allowed is %08x, JSON", kind, CHUNK_JSON);
    }
    if (status == TARN_OK && *text_bytes > JSON_BYTES_MAX) {
        return tarn_text_refuse(cursor, TARN_E_LIMIT, "found %u bytes of JSON, allowed are %d", *text_bytes,
                                JSON_BYTES_MAX);
    }
    while (status == TARN_OK && cursor->at < cursor->end) {
        status = next_chunk(g, &kind, &content, &byte_count);
        if (status == TARN_OK && kind == CHUNK_BIN && g->bytes == NULL) {
            g->bytes = (const uint8_t *)content;
            g->byte_count = byte_count;
        }
    }
    return status;
}

tarn_status tarn_mesh_glb_read(tarn_mesh_builder *builder)
{
    tarn_text_cursor *cursor = builder->cursor;
    glb g = {.builder = builder};
    const size_t file_bytes = (size_t)(cursor->end - cursor->at);
    const char *text = NULL;
    uint32_t text_bytes = 0;
    if (file_bytes < HEAD_BYTES || word_at(cursor->at) != MAGIC) {
        return REFUSE(&g, "found something else than \"glTF\", with which such files begin");
    }
    if (word_at(cursor->at + 4) != 2 || word_at(cursor->at + 8) != file_bytes) {
        return REFUSE(&g, "found version %u and %zu bytes of %u, allowed is version 2 of all its bytes",
                      word_at(cursor->at + 4), file_bytes, word_at(cursor->at + 8));
    }
    tarn_status status = read_chunks(&g, &text, &text_bytes);
    if (status != TARN_OK) {
        return status;
    }
    json_error_t error;
    json_t *root = json_loadb(text, text_bytes, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL && error.text[0] == '\0') { // jansson says nothing of what it had no memory for
        return tarn_text_refuse(cursor, TARN_E_MEMORY, "out of memory for %u bytes of JSON", text_bytes);
    }
    status = root == NULL ? REFUSE(&g, "the JSON in it, byte %d: %s", error.position, error.text) : read_tree(&g, root);
    json_decref(root);
    return status;
}
