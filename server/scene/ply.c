// PLY: a head that declares elements and their properties, then the elements, as text or as bytes in either order.
// Meshes are read, begin at tarn_mesh_ply_read; particles at tarn_particles_ply_read, and they are written, too. The
// format: G. Turk, "The PLY Polygon File Format", Stanford University, 1994.
#include "server/scene/ply.h"
#include "server/scene/mesh.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- particles, written ----

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are written as they lie in memory");
_Static_assert(offsetof(tarn_seed_particle, velocity_m_s) == 12 && offsetof(tarn_seed_particle, liquid) == 24 &&
                   offsetof(tarn_seed_particle, colour) == 25 && sizeof(tarn_seed_particle) == 28,
               "a particle is written as it lies in memory, or its beginning");

static size_t particle_bytes(bool have_colours)
{
    return have_colours ? sizeof(tarn_seed_particle) : offsetof(tarn_seed_particle, colour);
}

static int write_head(uint32_t count, bool have_colours, char head[TARN_PARTICLES_PLY_HEAD_MAX])
{
    return snprintf(head, TARN_PARTICLES_PLY_HEAD_MAX,
                    "ply\nformat binary_little_endian 1.0\ncomment metres, metres per second, y up\n"
                    "element vertex %u\nproperty float x\nproperty float y\nproperty float z\n"
                    "property float vx\nproperty float vy\nproperty float vz\nproperty uint8 liquid\n%send_header\n",
                    count, have_colours ? "property uint8 red\nproperty uint8 green\nproperty uint8 blue\n" : "");
}

size_t tarn_particles_ply_bytes(uint32_t count, bool have_colours)
{
    char head[TARN_PARTICLES_PLY_HEAD_MAX];
    return (size_t)write_head(count, have_colours, head) + count * particle_bytes(have_colours);
}

size_t tarn_particles_ply_write(const tarn_seed_particle *particles, uint32_t count, bool have_colours, uint8_t *bytes)
{
    char head[TARN_PARTICLES_PLY_HEAD_MAX];
    const size_t each = particle_bytes(have_colours);
    size_t used = (size_t)write_head(count, have_colours, head);
    memcpy(bytes, head, used);
    for (uint32_t i = 0; i < count; i++, used += each) {
        memcpy(bytes + used, &particles[i], each);
    }
    return used;
}

// ---- what a file declares ----

enum { ELEMENTS_MAX = 16, PROPERTIES_MAX = 64 };

typedef enum ply_form { FORM_TEXT, FORM_LITTLE_ENDIAN, FORM_BIG_ENDIAN, FORM_COUNT } ply_form;
static const char *const form_names[FORM_COUNT] = {"ascii", "binary_little_endian", "binary_big_endian"};

typedef enum ply_type { INT8, UINT8, INT16, UINT16, INT32, UINT32, FLOAT32, FLOAT64, TYPE_COUNT } ply_type;
static const struct {
    const char *name, *other_name;
    size_t bytes;
} types[TYPE_COUNT] = {
    [INT8] = {"char", "int8", 1},        [UINT8] = {"uchar", "uint8", 1},      [INT16] = {"short", "int16", 2},
    [UINT16] = {"ushort", "uint16", 2},  [INT32] = {"int", "int32", 4},        [UINT32] = {"uint", "uint32", 4},
    [FLOAT32] = {"float", "float32", 4}, [FLOAT64] = {"double", "float64", 8},
};

/// What is wanted of a property. Those in front of the corners are numbers of a vertex; of a mesh's, the first three.
typedef enum ply_role {
    ROLE_X,
    ROLE_Y,
    ROLE_Z,
    ROLE_VX,
    ROLE_VY,
    ROLE_VZ,
    ROLE_LIQUID,
    ROLE_RED,
    ROLE_GREEN,
    ROLE_BLUE,
    ROLE_CORNERS,
    ROLE_NONE
} ply_role;

/// What writers call a vertex's numbers.
enum { ROLE_NAMES_MAX = 3 };
static const char *const role_names[ROLE_CORNERS][ROLE_NAMES_MAX] = {
    [ROLE_X] = {"x"},
    [ROLE_Y] = {"y"},
    [ROLE_Z] = {"z"},
    [ROLE_VX] = {"vx"},
    [ROLE_VY] = {"vy"},
    [ROLE_VZ] = {"vz"},
    [ROLE_LIQUID] = {"liquid"},
    [ROLE_RED] = {"red", "r", "diffuse_red"},
    [ROLE_GREEN] = {"green", "g", "diffuse_green"},
    [ROLE_BLUE] = {"blue", "b", "diffuse_blue"},
};

typedef struct ply_property {
    ply_role role;
    bool is_list;
    ply_type count_type, type;
} ply_property;

typedef enum ply_kind { KIND_VERTEX, KIND_FACE, KIND_OTHER } ply_kind;

typedef struct ply_element {
    ply_kind kind;
    tarn_text_shown name;
    uint32_t count, property_count;
    ply_property properties[PROPERTIES_MAX];
} ply_element;

typedef struct ply {
    tarn_mesh_builder *builder; ///< NULL: it is particles that are read
    tarn_particles *particles;
    tarn_text_cursor *cursor;
    ply_form form;
    uint32_t vertex_count;   ///< as declared
    bool wanted[KIND_OTHER]; ///< kinds of elements; others are passed over
    ply_type colour_types[3];
    double brightest; ///< of a colour's values until now
    uint32_t element_count;
    ply_element elements[ELEMENTS_MAX];
} ply;

#define REFUSE(p, ...) tarn_text_refuse((p)->cursor, TARN_E_MALFORMED, __VA_ARGS__)

// ---- the head ----

static tarn_status read_form(ply *p)
{
    const tarn_text_word name = tarn_text_next(p->cursor), version = tarn_text_next(p->cursor);
    p->form = FORM_COUNT;
    for (int i = 0; i < FORM_COUNT; i++) {
        p->form = tarn_text_is(name, form_names[i]) ? (ply_form)i : p->form;
    }
    if (p->form == FORM_COUNT || !tarn_text_is(version, "1.0")) {
        return REFUSE(p, "found the format %s %s, allowed are ascii, binary_little_endian and binary_big_endian 1.0",
                      tarn_text_show(name).text, tarn_text_show(version).text);
    }
    return TARN_OK;
}

static tarn_status check_count(ply *p, const ply_element *element, uint32_t max)
{
    return element->count <= max
               ? TARN_OK
               : tarn_text_refuse(p->cursor, TARN_E_LIMIT, "found %u elements %s, allowed are at most %u",
                                  element->count, element->name.text, max);
}

static tarn_status read_element(ply *p)
{
    const tarn_text_word name = tarn_text_next(p->cursor), number = tarn_text_next(p->cursor);
    tarn_text_word rest;
    int64_t count;
    if (name.bytes == 0 || !tarn_text_integer(number, &count, &rest) || rest.bytes > 0 || count < 0) {
        return REFUSE(p, "found the element %s %s, allowed is a name and a whole number", tarn_text_show(name).text,
                      tarn_text_show(number).text);
    }
    if (p->element_count == ELEMENTS_MAX) {
        return tarn_text_refuse(p->cursor, TARN_E_LIMIT, "found more than %d kinds of elements, allowed are %d",
                                ELEMENTS_MAX, ELEMENTS_MAX);
    }
    if (tarn_text_is(name, "tristrips")) {
        return REFUSE(p, "found triangles as \"tristrips\", allowed are faces");
    }
    ply_element *element = &p->elements[p->element_count++];
    element->kind = tarn_text_is(name, "vertex") ? KIND_VERTEX : tarn_text_is(name, "face") ? KIND_FACE : KIND_OTHER;
    element->name = tarn_text_show(name);
    element->count = (uint32_t)count;
    for (uint32_t i = 0; i + 1 < p->element_count; i++) {
        if (element->kind != KIND_OTHER && p->elements[i].kind == element->kind) {
            return REFUSE(p, "found the element %s twice", element->name.text);
        }
    }
    if (element->kind == KIND_VERTEX) {
        p->vertex_count = element->count;
        return check_count(p, element, TARN_MESH_VERTICES_MAX);
    }
    return element->kind == KIND_FACE ? check_count(p, element, TARN_MESH_TRIANGLES_MAX) : TARN_OK;
}

static tarn_status read_type(ply *p, tarn_text_word word, ply_type *type)
{
    for (int i = 0; i < TYPE_COUNT; i++) {
        if (tarn_text_is(word, types[i].name) || tarn_text_is(word, types[i].other_name)) {
            *type = (ply_type)i;
            return TARN_OK;
        }
    }
    return REFUSE(p, "found the type %s, allowed are char, uchar, short, ushort, int, uint, float and double",
                  tarn_text_show(word).text);
}

static ply_role role_of(const ply *p, ply_kind kind, bool is_list, tarn_text_word name)
{
    const int numbers = p->builder != NULL ? ROLE_VX : ROLE_CORNERS;
    for (int role = 0; role < numbers && kind == KIND_VERTEX && !is_list; role++) {
        for (int i = 0; i < ROLE_NAMES_MAX && role_names[role][i] != NULL; i++) {
            if (tarn_text_is(name, role_names[role][i])) {
                return (ply_role)role;
            }
        }
    }
    if (p->builder == NULL) {
        return ROLE_NONE;
    }
    const bool is_corners = tarn_text_is(name, "vertex_indices") || tarn_text_is(name, "vertex_index");
    return kind == KIND_FACE && is_list && is_corners ? ROLE_CORNERS : ROLE_NONE;
}

static tarn_status read_property(ply *p)
{
    if (p->element_count == 0) {
        return REFUSE(p, "found a property before the first element");
    }
    ply_element *element = &p->elements[p->element_count - 1];
    ply_property property = {.is_list = false};
    if (element->property_count == PROPERTIES_MAX) {
        return tarn_text_refuse(p->cursor, TARN_E_LIMIT, "found more than %d properties of %s, allowed are %d",
                                PROPERTIES_MAX, element->name.text, PROPERTIES_MAX);
    }
    tarn_text_word word = tarn_text_next(p->cursor);
    property.is_list = tarn_text_is(word, "list");
    if (property.is_list) {
        const tarn_status status = read_type(p, tarn_text_next(p->cursor), &property.count_type);
        if (status != TARN_OK) {
            return status;
        }
        word = tarn_text_next(p->cursor);
    }
    const tarn_status status = read_type(p, word, &property.type);
    word = tarn_text_next(p->cursor);
    property.role = role_of(p, element->kind, property.is_list, word);
    for (uint32_t i = 0; i < element->property_count && status == TARN_OK; i++) {
        if (property.role != ROLE_NONE && element->properties[i].role == property.role) {
            return REFUSE(p, "found a property of %s twice: %s, or another name of it, is there before",
                          element->name.text, tarn_text_show(word).text);
        }
    }
    element->properties[element->property_count++] = property;
    return status;
}

/// Whether what was declared can be a mesh.
static tarn_status check_head(ply *p)
{
    if (p->form == FORM_COUNT) {
        return REFUSE(p, "found no format, allowed is a line \"format ascii 1.0\" or of a binary one");
    }
    for (uint32_t i = 0; i < p->element_count; i++) {
        const ply_element *element = &p->elements[i];
        uint32_t roles = 0;
        for (uint32_t k = 0; k < element->property_count; k++) {
            roles |= 1U << element->properties[k].role;
        }
        const uint32_t axes = 1U << ROLE_X | 1U << ROLE_Y | 1U << ROLE_Z;
        if (element->property_count == 0 && element->count > 0) {
            return REFUSE(p, "found no properties of the element %s, allowed are 1 to %d", element->name.text,
                          PROPERTIES_MAX);
        }
        if (element->kind == KIND_VERTEX && element->count > 0 && (roles & axes) != axes) {
            return REFUSE(p, "found vertices without x, y or z, allowed are properties of these names");
        }
        const uint32_t colour = 1U << ROLE_RED | 1U << ROLE_GREEN | 1U << ROLE_BLUE;
        if (element->kind == KIND_VERTEX && (roles & colour) != 0 && (roles & colour) != colour) {
            return REFUSE(p, "found some of red, green and blue, allowed are all of them or none");
        }
        if (p->builder != NULL && element->kind == KIND_FACE && element->count > 0 &&
            (roles & 1U << ROLE_CORNERS) == 0) {
            return REFUSE(p, "found faces without corners, allowed is a property list vertex_indices or vertex_index");
        }
    }
    return TARN_OK;
}

/// To the byte behind its end.
static tarn_status read_head(ply *p)
{
    tarn_text_cursor *cursor = p->cursor;
    cursor->line = 1;
    if (!tarn_text_is(tarn_text_next(cursor), "ply")) {
        return REFUSE(p, "found something else than \"ply\", with which such files begin");
    }
    tarn_status status = TARN_OK;
    while (status == TARN_OK) {
        const bool has_line = tarn_text_next_line(cursor);
        const tarn_text_word word = tarn_text_next(cursor);
        if (!has_line || (word.bytes == 0 && cursor->at == cursor->end)) {
            return REFUSE(p, "found the end of the file, allowed is \"end_header\"");
        }
        if (tarn_text_is(word, "end_header")) {
            break;
        }
        if (tarn_text_is(word, "format")) {
            status = read_form(p);
        } else if (tarn_text_is(word, "element")) {
            status = read_element(p);
        } else if (tarn_text_is(word, "property")) {
            status = read_property(p);
        } else if (!tarn_text_is(word, "comment") && !tarn_text_is(word, "obj_info")) {
            return REFUSE(p, "found %s, allowed are format, element, property, comment, obj_info and end_header",
                          tarn_text_show(word).text);
        }
    }
    if (status == TARN_OK) {
        status = check_head(p);
    }
    (void)tarn_text_next_line(cursor);
    return status;
}

// ---- the elements ----

static tarn_status refuse_end(ply *p, const ply_element *element, uint32_t number)
{
    return REFUSE(p, "found the end of the file in %s %u, allowed are %u as the head says", element->name.text, number,
                  element->count);
}

/// A value of bytes, whose order the file names.
static double value_of(const ply *p, const uint8_t *bytes, ply_type type)
{
    const size_t count = types[type].bytes;
    uint64_t bits = 0;
    for (size_t i = 0; i < count; i++) {
        bits = bits << 8 | bytes[p->form == FORM_BIG_ENDIAN ? i : count - 1 - i];
    }
    const uint32_t half = (uint32_t)bits;
    float single;
    double number;
    switch (type) {
    case INT8:
        return (int8_t)half;
    case INT16:
        return (int16_t)half;
    case INT32:
        return (int32_t)half;
    case FLOAT32:
        memcpy(&single, &half, sizeof single);
        return (double)single;
    case FLOAT64:
        memcpy(&number, &bits, sizeof number);
        return number;
    default:
        return (double)half;
    }
}

/// The next value. @param number  NULL: it is passed over, whatever it is
static tarn_status read_value(ply *p, const ply_element *element, uint32_t index, ply_type type, double *number)
{
    tarn_text_cursor *cursor = p->cursor;
    if (p->form == FORM_TEXT) {
        const tarn_text_word word = tarn_text_next_of_all(cursor);
        if (word.bytes == 0) {
            return refuse_end(p, element, index);
        }
        if (number != NULL && !tarn_text_number(word, number)) {
            return REFUSE(p, "found %s in %s %u, allowed is a number", tarn_text_show(word).text, element->name.text,
                          index);
        }
        return TARN_OK;
    }
    if ((size_t)(cursor->end - cursor->at) < types[type].bytes) {
        return refuse_end(p, element, index);
    }
    if (number != NULL) {
        *number = value_of(p, (const uint8_t *)cursor->at, type);
    }
    cursor->at += types[type].bytes;
    return TARN_OK;
}

/// A whole number from 0 to max.
static tarn_status read_whole(ply *p, const ply_element *element, uint32_t index, ply_type type, uint32_t max,
                              const char *what, uint32_t *whole)
{
    double number = 0.0;
    const tarn_status status = read_value(p, element, index, type, &number);
    if (status == TARN_OK && !(number >= 0.0 && number <= (double)max && number == floor(number))) {
        return REFUSE(p, "%s %u: found %g for %s, allowed is a whole number from 0 to %u", element->name.text, index,
                      number, what, max);
    }
    *whole = (uint32_t)number;
    return status;
}

static tarn_status read_corners(ply *p, const ply_element *element, uint32_t index, const ply_property *property,
                                uint32_t count)
{
    if (count < 3) {
        return REFUSE(p, "%s %u: found %u corners, allowed are 3 or more", element->name.text, index, count);
    }
    if (p->vertex_count == 0) {
        return REFUSE(p, "found faces and no vertices");
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t vertex = 0;
        tarn_status status = read_whole(p, element, index, property->type, p->vertex_count - 1, "a corner", &vertex);
        status = status == TARN_OK ? tarn_mesh_builder_corner(p->builder, vertex) : status;
        if (status != TARN_OK) {
            return status;
        }
    }
    return tarn_mesh_builder_polygon(p->builder);
}

static tarn_status read_list(ply *p, const ply_element *element, uint32_t index, const ply_property *property)
{
    uint32_t count = 0;
    tarn_status status = read_whole(p, element, index, property->count_type, INT32_MAX, "a list's length", &count);
    if (status == TARN_OK && property->role == ROLE_CORNERS && p->wanted[KIND_FACE]) {
        return read_corners(p, element, index, property, count);
    }
    for (uint32_t i = 0; i < count && status == TARN_OK; i++) {
        status = read_value(p, element, index, property->type, NULL);
    }
    return status;
}

/// The value of a colour that is as bright as can be. Writers take floats from 0 to 1, as three's PLYExporter does, the
/// whole range of 16 bits, and else numbers up to 255 of whatever type.
static double full_of(ply_type type)
{
    return type == FLOAT32 || type == FLOAT64 ? 1.0 : type == UINT16 ? 65535.0 : 255.0;
}

/// @param values  red, green and blue; 0 where there are none
static tarn_status take_colour(ply *p, const ply_element *element, uint32_t index, const double *values,
                               uint8_t colour[3])
{
    static const char *const names[3] = {"red", "green", "blue"};
    for (int a = 0; a < 3; a++) {
        const ply_type type = p->colour_types[a];
        const double full = full_of(type), shade = floor(values[a] / full * 255.0 + 0.5);
        if (!(shade >= 0.0 && shade <= 255.0)) { // what rounds to a shade is one
            return REFUSE(p, "%s %u: found %g for %s, which is %s; allowed are 0 to %g%s", element->name.text, index,
                          values[a], names[a], types[type].name, full, full == 1.0 ? ", or 0 to 255 as uchar" : "");
        }
        colour[a] = (uint8_t)shade;
        p->brightest = fmax(p->brightest, values[a]);
    }
    return TARN_OK;
}

/// Whether colours of 16 bits are: some programs put 8 into such a property, and nearly all would be black.
static tarn_status check_brightest(ply *p)
{
    const bool are_wide = p->colour_types[0] == UINT16;
    return !are_wide || p->brightest == 0.0 || p->brightest > 255.0
               ? TARN_OK
               : REFUSE(p,
                        "found colours of the type ushort, of which none is above %g; allowed are 0 to 65535 of it, "
                        "or 0 to 255 as uchar",
                        p->brightest);
}

/// A vertex as a particle. @param values  by role; what isn't there is 0
static tarn_status take_particle(ply *p, const ply_element *element, uint32_t index, const double *values)
{
    tarn_seed_particle *particle = &p->particles->of[p->particles->count];
    bool is_right = true;
    for (int a = 0; a < 3; a++) {
        particle->position_m[a] = (float)values[ROLE_X + a];
        particle->velocity_m_s[a] = (float)values[ROLE_VX + a];
        is_right &= isfinite(particle->position_m[a]) && isfinite(particle->velocity_m_s[a]);
    }
    if (!is_right || !(values[ROLE_LIQUID] >= 0.0 && values[ROLE_LIQUID] < TARN_TANK_LIQUIDS_MAX)) {
        return REFUSE(p,
                      "%s %u: found a number that is none of a particle's; allowed are places and velocities, and "
                      "liquids from 0 to %d",
                      element->name.text, index, TARN_TANK_LIQUIDS_MAX - 1);
    }
    particle->liquid = (uint8_t)values[ROLE_LIQUID];
    const tarn_status status = take_colour(p, element, index, values + ROLE_RED, particle->colour);
    p->particles->count += status == TARN_OK;
    return status;
}

static tarn_status read_one(ply *p, const ply_element *element, uint32_t index)
{
    double values[ROLE_CORNERS] = {0.0};
    tarn_status status = TARN_OK;
    for (uint32_t i = 0; i < element->property_count && status == TARN_OK; i++) {
        const ply_property *property = &element->properties[i];
        const bool is_number = property->role < ROLE_CORNERS;
        status = property->is_list
                     ? read_list(p, element, index, property)
                     : read_value(p, element, index, property->type, is_number ? &values[property->role] : NULL);
    }
    if (status != TARN_OK || element->kind != KIND_VERTEX || !p->wanted[KIND_VERTEX]) {
        return status;
    }
    return p->builder != NULL ? tarn_mesh_builder_place(p->builder, values) : take_particle(p, element, index, values);
}

/// Room for the particles that are declared, where the file can have as many: each has 3 numbers at least.
static tarn_status make_room(ply *p)
{
    const ply_element *vertices = NULL;
    for (uint32_t i = 0; i < p->element_count; i++) {
        vertices = p->elements[i].kind == KIND_VERTEX ? &p->elements[i] : vertices;
    }
    const uint32_t count = vertices != NULL ? vertices->count : 0;
    if (count > (size_t)(p->cursor->end - p->cursor->at) / 3) {
        return refuse_end(p, vertices, 0);
    }
    bool has_colours = false;
    for (uint32_t i = 0; vertices != NULL && i < vertices->property_count; i++) {
        const ply_property *property = &vertices->properties[i];
        if (property->role >= ROLE_RED && property->role <= ROLE_BLUE) {
            p->colour_types[property->role - ROLE_RED] = property->type;
            has_colours = true;
        }
    }
    if (p->particles->count > 0 && has_colours != p->particles->have_colours) {
        return REFUSE(p, "found particles %s, allowed are either in all files",
                      has_colours ? "with colours" : "without");
    }
    p->particles->have_colours = has_colours;
    const size_t all = p->particles->count + (size_t)count;
    if (all > TARN_TANK_PARTICLES_MAX) {
        return tarn_text_refuse(p->cursor, TARN_E_LIMIT, "found %zu particles with those before, allowed are %d", all,
                                TARN_TANK_PARTICLES_MAX);
    }
    tarn_seed_particle *larger = realloc(p->particles->of, (all > 0 ? all : 1) * sizeof *larger);
    if (larger == NULL) {
        return tarn_text_refuse(p->cursor, TARN_E_MEMORY, "out of memory for %zu particles", all);
    }
    p->particles->of = larger;
    return TARN_OK;
}

static tarn_status walk_elements(ply *p)
{
    tarn_status status = TARN_OK;
    for (uint32_t i = 0; i < p->element_count; i++) {
        for (uint32_t k = 0; k < p->elements[i].count && status == TARN_OK; k++) {
            status = read_one(p, &p->elements[i], k);
        }
    }
    return status;
}

/// How a face becomes triangles depends on where its corners are: where faces come first, vertices are read before
/// them.
static tarn_status read_elements(ply *p)
{
    tarn_text_cursor *cursor = p->cursor;
    const tarn_text_cursor start = *cursor;
    uint32_t place[KIND_OTHER + 1] = {0};
    for (uint32_t i = 0; i < p->element_count; i++) {
        place[p->elements[i].kind] = i;
    }
    const bool faces_first = p->builder != NULL && place[KIND_FACE] < place[KIND_VERTEX];
    p->wanted[KIND_VERTEX] = true;
    p->wanted[KIND_FACE] = !faces_first;
    tarn_status status = walk_elements(p);
    if (status == TARN_OK && faces_first) {
        *cursor = start;
        p->wanted[KIND_VERTEX] = false;
        p->wanted[KIND_FACE] = true;
        status = walk_elements(p);
    }
    if (status != TARN_OK) {
        return status;
    }
    const bool is_text = p->form == FORM_TEXT;
    const tarn_text_word rest = is_text ? tarn_text_next_of_all(cursor) : (tarn_text_word){cursor->at, 0};
    if (is_text ? rest.bytes > 0 : cursor->at < cursor->end) {
        return REFUSE(p, "found more behind the last element, allowed is what the head declares");
    }
    return TARN_OK;
}

static tarn_status read_all(tarn_mesh_builder *builder, tarn_particles *particles, tarn_text_cursor *cursor)
{
    ply *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return tarn_text_refuse(cursor, TARN_E_MEMORY, "out of memory for the head");
    }
    p->builder = builder;
    p->particles = particles;
    p->cursor = cursor;
    p->form = FORM_COUNT;
    tarn_status status = tarn_text_begin(cursor);
    status = status == TARN_OK ? read_head(p) : status;
    if (status == TARN_OK && particles != NULL) {
        status = make_room(p);
    }
    if (status == TARN_OK) {
        p->cursor->line = p->form == FORM_TEXT ? p->cursor->line : 0;
        status = read_elements(p);
        p->cursor->line = 0;
    }
    if (status == TARN_OK && particles != NULL) {
        status = check_brightest(p);
    }
    free(p);
    return status;
}

tarn_status tarn_mesh_ply_read(tarn_mesh_builder *builder)
{
    return read_all(builder, NULL, builder->cursor);
}

tarn_status tarn_particles_ply_read(const char *origin, const void *bytes, size_t byte_count, tarn_particles *particles,
                                    char *why, size_t why_bytes)
{
    tarn_text_cursor cursor = {
        .at = bytes, .end = (const char *)bytes + byte_count, .origin = origin, .why = why, .why_bytes = why_bytes};
    return read_all(NULL, particles, &cursor);
}
