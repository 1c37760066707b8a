// What meshes from files have in common, whatever their format: surfaces that face one way, the builder that readers
// fill, polygons, and which format a file has; heights from pictures. Begin at tarn_mesh_bytes_read.
#include "server/scene/mesh.h"
#include "server/base/files.h"
#include "server/base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- surfaces ----
// Triangles that face every which way to triangles that face one way.
//
//     vertices -> places -> edges, sorted -> across each edge of two the other triangle -> pieces, flooded
//              -> the way of most of a piece -> closed pieces outwards, with all that is within them
//
// Where three or more triangles share an edge nothing says which go together, so pieces end there. Begin at
// tarn_mesh_face_one_way.

/// Comparisons of pieces with pieces, and with each other's triangles: beyond these pieces stay as they are.
static const uint64_t VISITS_MAX = 1ull << 27;

static const uint32_t NONE = UINT32_MAX;

typedef struct edge_use {
    uint32_t low, high; ///< its ends, by their places' first vertices
    uint32_t side;      ///< 3 * triangle + corner that it begins at
} edge_use;

typedef struct piece {
    uint32_t first, count; ///< among the triangles in their order
    bool is_open, has_one_side, turn;
    double volume;
    double low[3], high[3];
} piece;

typedef struct surface {
    tarn_mesh *mesh;
    tarn_mesh_surface *found;
    uint32_t *place;  ///< of each vertex
    uint32_t *across; ///< of each side the side of the other triangle, or NONE
    uint32_t *order;  ///< triangles, piece by piece
    uint32_t *number; ///< of each triangle's piece, or NONE
    uint8_t *turned;  ///< of each triangle
    edge_use *uses;
    piece *pieces;
} surface;

// ---- places ----

static int compare_places(const void *a, const void *b, void *context)
{
    const float *vertices_m = context;
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    for (size_t axis = 0; axis < 3; axis++) {
        const float at = vertices_m[3 * (size_t)i + axis], other = vertices_m[3 * (size_t)j + axis];
        if (at != other) {
            return at < other ? -1 : 1;
        }
    }
    return i < j ? -1 : i > j;
}

void tarn_mesh_first_at(const tarn_mesh *mesh, uint32_t *first, uint32_t *spare)
{
    const float *at_m = mesh->vertices_m;
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        spare[i] = i;
    }
    qsort_r(spare, mesh->vertex_count, sizeof *spare, compare_places, mesh->vertices_m);
    for (uint32_t k = 0; k < mesh->vertex_count; k++) {
        const float *here = at_m + 3 * (size_t)spare[k], *last = k > 0 ? at_m + 3 * (size_t)spare[k - 1] : here;
        const bool is_same = k > 0 && here[0] == last[0] && here[1] == last[1] && here[2] == last[2];
        first[spare[k]] = is_same ? first[spare[k - 1]] : spare[k];
    }
}

// ---- edges ----

static uint32_t next_side(uint32_t side)
{
    return side % 3 == 2 ? side - 2 : side + 1;
}

static uint32_t start_of(const surface *s, uint32_t side)
{
    return s->place[s->mesh->triangles[side]];
}

static int compare_uses(const void *a, const void *b)
{
    const edge_use *i = a, *j = b;
    return i->low != j->low     ? (i->low < j->low ? -1 : 1)
           : i->high != j->high ? (i->high < j->high ? -1 : 1)
                                : (i->side < j->side ? -1 : i->side > j->side);
}

static void count_edge(surface *s, uint32_t uses, const edge_use *use)
{
    const float *at_m = s->mesh->vertices_m + 3 * (size_t)use->low;
    tarn_mesh_surface *found = s->found;
    if (uses == 1 && found->open_edges++ == 0) {
        memcpy(found->open_at_m, at_m, sizeof found->open_at_m);
    }
    if (uses > 2 && found->crowded_edges++ == 0) {
        memcpy(found->crowded_at_m, at_m, sizeof found->crowded_at_m);
    }
    found->uneven_edges += uses > 2 && uses % 2 == 1;
}

/// Triangles with two corners at one place have no part in it.
static void join_sides(surface *s)
{
    const uint32_t sides = 3 * s->mesh->triangle_count;
    uint32_t count = 0;
    for (uint32_t side = 0; side < sides; side++) {
        const uint32_t a = start_of(s, side), b = start_of(s, next_side(side));
        const uint32_t c = start_of(s, next_side(next_side(side)));
        s->across[side] = NONE;
        if (a != b && b != c && c != a) {
            s->uses[count++] = (edge_use){a < b ? a : b, a < b ? b : a, side};
        }
    }
    qsort(s->uses, count, sizeof *s->uses, compare_uses);
    for (uint32_t i = 0, next; i < count; i = next) {
        const edge_use *use = &s->uses[i];
        for (next = i + 1; next < count && s->uses[next].low == use->low && s->uses[next].high == use->high; next++) {
        }
        count_edge(s, next - i, use);
        if (next - i == 2) {
            s->across[use[0].side] = use[1].side;
            s->across[use[1].side] = use[0].side;
        }
    }
}

// ---- pieces ----

/// Six times what lies between a triangle and a point, as it faces now.
static double volume_of(const surface *s, uint32_t triangle, const float from_m[3])
{
    double c[3][3];
    for (int i = 0; i < 3; i++) {
        const float *at_m = s->mesh->vertices_m + 3 * (size_t)s->mesh->triangles[3 * (size_t)triangle + (size_t)i];
        for (int k = 0; k < 3; k++) {
            c[i][k] = (double)at_m[k] - (double)from_m[k];
        }
    }
    const double volume = c[0][0] * (c[1][1] * c[2][2] - c[1][2] * c[2][1]) +
                          c[0][1] * (c[1][2] * c[2][0] - c[1][0] * c[2][2]) +
                          c[0][2] * (c[1][0] * c[2][1] - c[1][1] * c[2][0]);
    return s->turned[triangle] != 0 ? -volume : volume;
}

/// Takes in all triangles that hang together with one, and finds which of them face against it.
static void flood(surface *s, piece *to, uint32_t number)
{
    for (uint32_t i = to->first; i < to->first + to->count; i++) {
        const uint32_t triangle = s->order[i];
        for (uint32_t side = 3 * triangle; side < 3 * triangle + 3; side++) {
            const uint32_t other_side = s->across[side], other = other_side / 3;
            if (other_side == NONE) {
                to->is_open = true;
                continue;
            }
            // Triangles that face one way walk their edge in opposite directions.
            const bool is_against = start_of(s, side) == start_of(s, other_side);
            const uint8_t turned = s->turned[triangle] ^ (is_against ? 1 : 0);
            if (s->number[other] == NONE) {
                s->number[other] = number;
                s->turned[other] = turned;
                s->order[to->first + to->count++] = other;
            } else if (s->turned[other] != turned) {
                to->has_one_side = true;
            }
        }
    }
}

/// Its bounds, its volume, and the way of most of its triangles.
static void measure(surface *s, piece *of)
{
    uint32_t against = 0;
    for (uint32_t i = of->first; i < of->first + of->count; i++) {
        against += s->turned[s->order[i]];
    }
    const uint8_t most = against > of->count - against;
    const float *from_m = s->mesh->vertices_m + 3 * (size_t)s->mesh->triangles[3 * (size_t)s->order[of->first]];
    for (int k = 0; k < 3; k++) {
        of->low[k] = INFINITY;
        of->high[k] = -INFINITY;
    }
    for (uint32_t i = of->first; i < of->first + of->count; i++) {
        const uint32_t triangle = s->order[i];
        s->turned[triangle] = of->has_one_side ? 0 : s->turned[triangle] ^ most;
        of->volume += volume_of(s, triangle, from_m);
        for (uint32_t c = 0; c < 3; c++) {
            const float *at_m = s->mesh->vertices_m + 3 * (size_t)s->mesh->triangles[3 * (size_t)triangle + c];
            for (int k = 0; k < 3; k++) {
                of->low[k] = fmin(of->low[k], (double)at_m[k]);
                of->high[k] = fmax(of->high[k], (double)at_m[k]);
            }
        }
    }
    s->found->one_sided += of->has_one_side ? of->count : 0;
}

static void find_pieces(surface *s)
{
    uint32_t taken = 0;
    memset(s->number, 0xff, s->mesh->triangle_count * sizeof *s->number);
    for (uint32_t triangle = 0; triangle < s->mesh->triangle_count; triangle++) {
        if (s->number[triangle] != NONE) {
            continue;
        }
        const uint32_t number = s->found->pieces++;
        piece *made = &s->pieces[number];
        *made = (piece){.first = taken, .count = 1};
        s->order[taken] = triangle;
        s->number[triangle] = number;
        flood(s, made, number);
        measure(s, made);
        taken += made->count;
    }
}

// ---- pieces in pieces ----

/// How often a triangle goes round the line from a point along x, where it lies in front of the point: 1, 0 or -1.
static int goes_round(const surface *s, uint32_t triangle, const double point[3])
{
    double c[3][3], sum = 0.0, at = 0.0;
    int round = 0;
    for (int i = 0; i < 3; i++) {
        const float *at_m = s->mesh->vertices_m + 3 * (size_t)s->mesh->triangles[3 * (size_t)triangle + (size_t)i];
        for (int k = 0; k < 3; k++) {
            c[i][k] = (double)at_m[k] - point[k];
        }
    }
    for (int i = 0; i < 3; i++) {
        const double *a = c[i], *b = c[(i + 1) % 3], *other = c[(i + 2) % 3];
        const double left = a[1] * b[2] - a[2] * b[1];
        round += a[2] <= 0.0 && b[2] > 0.0 && left > 0.0;
        round -= a[2] > 0.0 && b[2] <= 0.0 && left < 0.0;
        sum += left;
        at += left * other[0];
    }
    const bool is_before = sum != 0.0 && at / sum > 0.0;
    return !is_before ? 0 : s->turned[triangle] != 0 ? -round : round;
}

/// Whether all of `inner` is in `outer`: it would be a cavity there, or a part of it.
static bool is_within(surface *s, const piece *inner, const piece *outer)
{
    bool fits = inner != outer;
    s->found->visits++;
    for (int k = 0; k < 3; k++) {
        fits = fits && inner->low[k] >= outer->low[k] && inner->high[k] <= outer->high[k];
    }
    if (!fits) {
        return false;
    }
    double point[3] = {0.0, 0.0, 0.0}; // the middle of a triangle: corners may touch
    for (uint32_t c = 0; c < 3; c++) {
        const uint32_t vertex = s->mesh->triangles[3 * (size_t)s->order[inner->first] + c];
        for (uint32_t k = 0; k < 3; k++) {
            point[k] += (double)s->mesh->vertices_m[3 * (size_t)vertex + k] / 3.0;
        }
    }
    int rounds = 0;
    for (uint32_t i = outer->first; i < outer->first + outer->count; i++) {
        rounds += goes_round(s, s->order[i], point);
    }
    s->found->visits += outer->count;
    return rounds != 0;
}

static bool is_closed(const piece *one)
{
    return !one->is_open && !one->has_one_side && one->volume != 0.0;
}

/// Closed pieces that face inwards, and are in no other, are turned with all that is in them.
static void turn_outwards(surface *s)
{
    uint32_t *closed = s->across; // which isn't needed any more; others may be many, and cost nothing
    uint32_t count = 0, inwards = 0;
    for (uint32_t i = 0; i < s->found->pieces; i++) {
        if (is_closed(&s->pieces[i])) {
            inwards += s->pieces[i].volume < 0.0;
            closed[count++] = i;
        }
    }
    if (inwards == 0 || inwards == count) {
        return; // either way is right when it's the same for all
    }
    const uint64_t *visits = &s->found->visits;
    for (uint32_t i = 0; i < count && *visits <= VISITS_MAX; i++) {
        const piece *outer = &s->pieces[closed[i]];
        bool is_outermost = outer->volume < 0.0;
        for (uint32_t k = 0; k < count && is_outermost && *visits <= VISITS_MAX; k++) {
            is_outermost = !is_within(s, outer, &s->pieces[closed[k]]);
        }
        for (uint32_t k = 0; k < count && is_outermost && *visits <= VISITS_MAX; k++) {
            s->pieces[closed[k]].turn |= k == i || is_within(s, &s->pieces[closed[k]], outer);
        }
    }
    for (uint32_t i = 0; i < count && *visits <= VISITS_MAX; i++) {
        const piece *one = &s->pieces[closed[i]];
        for (uint32_t k = one->first; k < one->first + one->count && one->turn; k++) {
            s->turned[s->order[k]] ^= 1;
        }
    }
}

// ---- the whole surface ----

static bool take_memory(surface *s)
{
    const size_t triangles = s->mesh->triangle_count, vertices = s->mesh->vertex_count;
    s->place = malloc((vertices > 0 ? vertices : 1) * sizeof *s->place);
    s->across = malloc((3 * triangles + vertices) * sizeof *s->across);
    s->order = malloc(2 * triangles * sizeof *s->order);
    s->turned = calloc(triangles, sizeof *s->turned);
    s->uses = malloc(3 * triangles * sizeof *s->uses);
    s->pieces = malloc(triangles * sizeof *s->pieces);
    s->number = s->order != NULL ? s->order + triangles : NULL;
    return s->place != NULL && s->across != NULL && s->order != NULL && s->turned != NULL && s->uses != NULL &&
           s->pieces != NULL;
}

tarn_status tarn_mesh_face_one_way(tarn_mesh *mesh, tarn_mesh_surface *found)
{
    tarn_mesh_surface own;
    surface s = {.mesh = mesh, .found = found != NULL ? found : &own};
    *s.found = (tarn_mesh_surface){.pieces = 0};
    if (mesh->triangle_count == 0) {
        return TARN_OK;
    }
    const bool has_room = take_memory(&s);
    if (has_room) {
        tarn_mesh_first_at(mesh, s.place, s.across); // which isn't needed yet
        join_sides(&s);
        find_pieces(&s);
        turn_outwards(&s);
        for (uint32_t i = 0; i < mesh->triangle_count; i++) {
            uint32_t *corners = mesh->triangles + 3 * (size_t)i;
            if (s.turned[i] != 0) {
                const uint32_t second = corners[1];
                corners[1] = corners[2];
                corners[2] = second;
                s.found->turned++;
            }
        }
    }
    free(s.place);
    free(s.across);
    free(s.order);
    free(s.turned);
    free(s.uses);
    free(s.pieces);
    return has_room ? TARN_OK : TARN_E_MEMORY;
}

bool tarn_mesh_surface_tell(const tarn_mesh_surface *found, char *text, size_t text_bytes)
{
    if (found->one_sided > 0) {
        snprintf(text, text_bytes,
                 "has a surface with one side, as a Moebius strip or a Klein bottle has: %u of its triangles can't all "
                 "face one way",
                 found->one_sided);
    } else if (found->open_edges > 0) {
        const float *at_m = found->open_at_m;
        snprintf(text, text_bytes, "isn't closed: %u of its edges have no second triangle, one of them at %g, %g, %g",
                 found->open_edges, (double)at_m[0], (double)at_m[1], (double)at_m[2]);
    } else if (found->crowded_edges > 0) {
        const float *at_m = found->crowded_at_m;
        snprintf(text, text_bytes,
                 "isn't a manifold: %u of its edges are shared by three triangles or more, one of them at %g, %g, %g",
                 found->crowded_edges, (double)at_m[0], (double)at_m[1], (double)at_m[2]);
    } else {
        return false;
    }
    return true;
}

// ---- the builder ----
// Arrays that double as a mesh's file is read, up to the limits of shapes/voxelize.h.

enum { ROOM_FIRST = 1024 };

/// Makes room for one more of `count` elements of `bytes` each, of which there may be `max`.
static tarn_status grow(const tarn_text_cursor *cursor, const char *what, uint32_t count, uint32_t max, size_t bytes,
                        uint32_t *room, void **array)
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
    const tarn_status status = grow(builder->cursor, "vertices", mesh->vertex_count, TARN_MESH_VERTICES_MAX,
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
    const tarn_status status = grow(builder->cursor, "triangles", mesh->triangle_count, TARN_MESH_TRIANGLES_MAX,
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
    const tarn_status status = grow(builder->cursor, "corners of a face", builder->corner_count, TARN_MESH_CORNERS_MAX,
                                    sizeof vertex, &builder->corners_room, &array);
    builder->corners = array;
    if (status == TARN_OK) {
        builder->corners[builder->corner_count++] = vertex;
    }
    return status;
}

/// What the builder holds beside its mesh.
static void mesh_builder_done(tarn_mesh_builder *builder)
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

// ---- polygons ----
// Polygons to triangles: convex ones as a fan from their first corner, others ear by ear.
//
//     corners -> the plane that they lie in -> two coordinates each -> ears, cut off until three corners are left
//
// An ear is a corner whose triangle with its two neighbours holds no other corner. Only the neighbours of one that is
// cut off can become ears or cease to be, so that n corners, r of them turning inwards, take n r comparisons. The idea:
// G. H. Meisters, "Polygons have ears", Am. Math. Monthly 82, 1975. Begin at tarn_mesh_builder_polygon.

enum { ROUNDS_MAX = 4 }; ///< through all corners, where no ear is left that was one before

/// A polygon of which all triangles have less area than this of its extent's square is a line.
static const double AREA_LEAST = 1e-6;

typedef struct polygon_corner {
    double at[2];
    uint32_t vertex, before, after;
    bool is_convex, is_ear;
} polygon_corner;

typedef struct polygon {
    tarn_mesh_builder *builder;
    polygon_corner *corners;
    uint32_t *inward; ///< those that aren't convex, at first: others never come to lie in an ear
    uint32_t inward_count, left;
    bool is_lenient; ///< whatever touches an ear's edge lets it be
} polygon;

static const float *place_of(const polygon *p, uint32_t vertex)
{
    return p->builder->mesh.vertices_m + 3 * (size_t)vertex;
}

static bool same_place(const double a[2], const double b[2])
{
    return a[0] == b[0] && a[1] == b[1];
}

/// Twice the area of the triangle (a, b, c), positive where it is walked to the left.
static double area2(const double a[2], const double b[2], const double c[2])
{
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

// ---- a polygon's plane ----

/// Twice the area of the polygon as seen along each axis (M. E. Newell), of all triangles of its fan, and its extent's
/// square.
static void measure_polygon(const polygon *p, double normal[3], double *fan, double *square)
{
    const uint32_t *vertices = p->builder->corners, count = p->builder->corner_count;
    const float *first = place_of(p, vertices[0]);
    normal[0] = normal[1] = normal[2] = *fan = *square = 0.0;
    for (uint32_t i = 1; i < count; i++) {
        const float *here = place_of(p, vertices[i]), *next = place_of(p, vertices[i + 1 < count ? i + 1 : 0]);
        double a[3], b[3], part[3], distance = 0.0, area = 0.0;
        for (int k = 0; k < 3; k++) {
            a[k] = (double)here[k] - (double)first[k];
            b[k] = (double)next[k] - (double)first[k];
            distance += a[k] * a[k];
        }
        for (int k = 0; k < 3; k++) {
            part[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
            normal[k] += part[k];
            area += part[k] * part[k];
        }
        *fan += sqrt(area);
        *square = distance > *square ? distance : *square;
    }
}

/// Two coordinates for each corner, so that the polygon is walked to the left. Corners at the place of the one before
/// are left out.
static void flatten(polygon *p, const double normal[3])
{
    const tarn_mesh_builder *builder = p->builder;
    int axis = fabs(normal[1]) > fabs(normal[0]) ? 1 : 0;
    axis = fabs(normal[2]) > fabs(normal[axis]) ? 2 : axis;
    const int u = (axis + (normal[axis] > 0.0 ? 1 : 2)) % 3, v = 3 - axis - u;
    p->left = 0;
    for (uint32_t i = 0; i < builder->corner_count; i++) {
        const float *at_m = place_of(p, builder->corners[i]);
        const double at[2] = {(double)at_m[u], (double)at_m[v]};
        if (p->left == 0 || !same_place(at, p->corners[p->left - 1].at)) {
            p->corners[p->left++] = (polygon_corner){.at = {at[0], at[1]}, .vertex = builder->corners[i]};
        }
    }
    while (p->left > 1 && same_place(p->corners[0].at, p->corners[p->left - 1].at)) {
        p->left--;
    }
    for (uint32_t i = 0; i < p->left; i++) {
        p->corners[i].before = (i > 0 ? i : p->left) - 1;
        p->corners[i].after = i + 1 < p->left ? i + 1 : 0;
    }
}

// ---- a polygon's ears ----

static double turn_at(const polygon *p, uint32_t i)
{
    const polygon_corner *corner = &p->corners[i];
    return area2(p->corners[corner->before].at, corner->at, p->corners[corner->after].at);
}

/// Whether the polygon goes back the way that it came, or stands still: nothing is between its edges there.
static bool is_spike(const polygon *p, uint32_t i)
{
    const polygon_corner *corner = &p->corners[i];
    const double *a = p->corners[corner->before].at, *b = corner->at, *c = p->corners[corner->after].at;
    return area2(a, b, c) == 0.0 && (b[0] - a[0]) * (c[0] - b[0]) + (b[1] - a[1]) * (c[1] - b[1]) <= 0.0;
}

static void find_ear(polygon *p, uint32_t i)
{
    polygon_corner *corner = &p->corners[i];
    const double *a = p->corners[corner->before].at, *b = corner->at, *c = p->corners[corner->after].at;
    const double turn = area2(a, b, c);
    corner->is_convex = turn > 0.0;
    corner->is_ear = turn > 0.0 || (p->is_lenient && turn == 0.0);
    for (uint32_t k = 0; k < p->inward_count && corner->is_convex && corner->is_ear; k++) {
        const polygon_corner *other = &p->corners[p->inward[k]];
        const double *at = other->at, ab = area2(a, b, at), bc = area2(b, c, at), ca = area2(c, a, at);
        const bool is_within = p->is_lenient ? ab > 0.0 && bc > 0.0 && ca > 0.0 : ab >= 0.0 && bc >= 0.0 && ca >= 0.0;
        // A corner that was cut off is in nobody's way, and the way into a hole is walked twice.
        corner->is_ear = !is_within || other->before == other->after || other->is_convex || same_place(at, a) ||
                         same_place(at, b) || same_place(at, c);
    }
    p->builder->polygon_visits += corner->is_convex ? p->inward_count : 1;
}

static void find_ears(polygon *p, uint32_t from)
{
    p->inward_count = 0;
    uint32_t i = from;
    for (uint32_t k = 0; k < p->left; k++, i = p->corners[i].after) {
        p->corners[i].is_convex = turn_at(p, i) > 0.0;
        if (!p->corners[i].is_convex) {
            p->inward[p->inward_count++] = i;
        }
    }
    for (uint32_t k = 0; k < p->left; k++, i = p->corners[i].after) {
        find_ear(p, i);
    }
}

static tarn_status add_triangle(polygon *p, uint32_t a, uint32_t b, uint32_t c)
{
    const uint32_t corners[3] = {p->corners[a].vertex, p->corners[b].vertex, p->corners[c].vertex};
    return tarn_mesh_builder_triangle(p->builder, corners);
}

/// Whether the polygon turns left everywhere, and once round: its edges change between up and down twice.
static bool is_convex(const polygon *p)
{
    uint32_t changes = 0;
    int direction = 0, first = 0;
    for (uint32_t i = 0; i < p->left; i++) {
        const double up = p->corners[p->corners[i].after].at[1] - p->corners[i].at[1];
        const int sign = up > 0.0 ? 1 : up < 0.0 ? -1 : direction;
        if (!(turn_at(p, i) > 0.0)) {
            return false;
        }
        changes += direction != 0 && sign != direction;
        first = first == 0 ? sign : first;
        direction = sign;
    }
    return changes + (direction != first) == 2;
}

/// How often the polygon goes round: once, where it doesn't cross itself. Where it turns back on itself the way that it
/// turns isn't known, and once is assumed.
static bool goes_round_once(const polygon *p)
{
    int rounds = 0;
    for (uint32_t i = 0; i < p->left; i++) {
        const polygon_corner *corner = &p->corners[i];
        const double *a = p->corners[corner->before].at, *b = corner->at, *c = p->corners[corner->after].at;
        const double turn = area2(a, b, c);
        if (turn == 0.0 && (b[0] - a[0]) * (c[0] - b[0]) + (b[1] - a[1]) * (c[1] - b[1]) < 0.0) {
            return true;
        }
        rounds += turn > 0.0 && b[1] < a[1] && c[1] >= b[1];
        rounds -= turn < 0.0 && b[1] >= a[1] && c[1] < b[1];
    }
    return rounds == 1;
}

/// Whether what is left has no area to speak of, whichever way it is cut.
static bool is_line(const polygon *p, uint32_t from, double square)
{
    double sum = 0.0;
    uint32_t i = p->corners[from].after;
    for (uint32_t k = 2; k < p->left; k++, i = p->corners[i].after) {
        sum += fabs(area2(p->corners[from].at, p->corners[i].at, p->corners[p->corners[i].after].at));
    }
    return sum <= AREA_LEAST * square;
}

static tarn_status add_fan(polygon *p, uint32_t from)
{
    tarn_status status = TARN_OK;
    uint32_t i = p->corners[from].after;
    for (uint32_t k = 2; k < p->left && status == TARN_OK; k++, i = p->corners[i].after) {
        status = add_triangle(p, from, i, p->corners[i].after);
    }
    return status;
}

static tarn_status refuse_crossing(const polygon *p)
{
    return tarn_text_refuse(p->builder->cursor, TARN_E_MALFORMED,
                            "face %u of the file: found %u corners whose edges cross each other, allowed are faces "
                            "with one inside",
                            p->builder->polygon_count, p->builder->corner_count);
}

static tarn_status cut_off(polygon *p, uint32_t i)
{
    polygon_corner *corner = &p->corners[i];
    const uint32_t before = corner->before, after = corner->after;
    p->corners[before].after = after;
    p->corners[after].before = before;
    corner->before = corner->after = i;
    p->left--;
    find_ear(p, before);
    find_ear(p, after);
    return add_triangle(p, before, i, after);
}

/// Cuts off what is a spike, or becomes one by that. @param at  where to begin; so many corners on, where to go on
static tarn_status cut_spikes(polygon *p, uint32_t *at, uint32_t corners)
{
    tarn_status status = TARN_OK;
    for (uint32_t seen = 0; seen < corners && p->left > 3 && status == TARN_OK;) {
        const uint32_t before = p->corners[*at].before, after = p->corners[*at].after;
        const bool is_one = is_spike(p, *at);
        status = is_one ? cut_off(p, *at) : status;
        seen = is_one ? 0 : seen + 1;
        *at = is_one ? before : after;
    }
    return status;
}

static tarn_status cut_ears(polygon *p, double square)
{
    uint32_t at = 0, seen = 0, rounds = 0;
    tarn_status status = cut_spikes(p, &at, p->left);
    find_ears(p, at);
    while (p->left > 3 && status == TARN_OK) {
        const polygon_corner *corner = &p->corners[at];
        if (corner->is_ear) {
            const uint32_t before = corner->before;
            status = cut_off(p, at);
            at = before;
            status =
                status == TARN_OK ? cut_spikes(p, &at, 2) : status; // and on: not beside it, or slender ones follow
            seen = 0;
        } else if (++seen <= p->left) {
            at = corner->after;
            p->builder->polygon_visits++;
        } else if (is_line(p, at, square)) {
            break;
        } else if (++rounds > ROUNDS_MAX) {
            return refuse_crossing(p);
        } else {
            p->is_lenient = true;
            find_ears(p, at);
            seen = 0;
        }
        if (p->builder->polygon_visits > TARN_MESH_POLYGON_VISITS_MAX) {
            return tarn_text_refuse(p->builder->cursor, TARN_E_LIMIT,
                                    "found too many faces with too many corners that turn inwards, allowed are %llu "
                                    "comparisons to cut them into triangles",
                                    TARN_MESH_POLYGON_VISITS_MAX);
        }
    }
    return status == TARN_OK ? add_fan(p, at) : status;
}

static tarn_status cut(polygon *p)
{
    double normal[3], fan, square;
    measure_polygon(p, normal, &fan, &square);
    const double area = sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
    flatten(p, normal);
    if (fan <= AREA_LEAST * square) {
        return add_fan(p, 0);
    }
    if (is_convex(p)) {
        return add_fan(p, 0);
    }
    return area <= AREA_LEAST * fan || !goes_round_once(p) ? refuse_crossing(p) : cut_ears(p, square);
}

tarn_status tarn_mesh_builder_polygon(tarn_mesh_builder *builder)
{
    const uint32_t count = builder->corner_count;
    polygon p = {.builder = builder};
    tarn_status status;
    builder->polygon_count++;
    if (count < 3) {
        return tarn_text_refuse(builder->cursor, TARN_E_MALFORMED,
                                "found a face with %u corners, allowed are 3 or more", count);
    }
    if (count == 3) {
        builder->corner_count = 0;
        return tarn_mesh_builder_triangle(builder, builder->corners);
    }
    p.corners = malloc(count * (sizeof *p.corners + sizeof *p.inward));
    if (p.corners == NULL) {
        return tarn_text_refuse(builder->cursor, TARN_E_MEMORY, "out of memory for %u corners", count);
    }
    p.inward = (uint32_t *)(p.corners + count);
    status = cut(&p);
    free(p.corners);
    builder->corner_count = 0;
    return status;
}

// ---- heights from PGM pictures ----

enum { SHADES_MAX = 65535 };

typedef struct picture {
    bool binary;
    uint32_t columns, rows, shade_max;
} picture;

static tarn_status read_header_number(tarn_text_cursor *cursor, const char *what, uint32_t min, uint32_t max,
                                      uint32_t *number)
{
    const tarn_text_word word = tarn_text_next_of_all(cursor);
    tarn_text_word rest;
    int64_t value;
    if (!tarn_text_integer(word, &value, &rest) || rest.bytes > 0 || value < min || value > max) {
        return tarn_text_refuse(cursor, TARN_E_MALFORMED, "found %s for %s, allowed is a whole number from %u to %u",
                                word.bytes > 0 ? tarn_text_show(word).text : "the end of the file", what, min, max);
    }
    *number = (uint32_t)value;
    return TARN_OK;
}

static tarn_status read_header(tarn_text_cursor *cursor, picture *p)
{
    tarn_status status = tarn_text_begin(cursor);
    if (status != TARN_OK) {
        return status;
    }
    const tarn_text_word magic = tarn_text_next_of_all(cursor);
    if (!tarn_text_is(magic, "P2") && !tarn_text_is(magic, "P5")) {
        return tarn_text_refuse(cursor, TARN_E_MALFORMED, "found %s, allowed are \"P2\" and \"P5\"",
                                tarn_text_show(magic).text);
    }
    p->binary = magic.text[1] == '5';
    const uint32_t min = TARN_HEIGHTS_PER_SIDE_MIN, max = TARN_HEIGHTS_PER_SIDE_MAX;
    status = read_header_number(cursor, "the width", min, max, &p->columns);
    if (status == TARN_OK) {
        status = read_header_number(cursor, "the height", min, max, &p->rows);
    }
    if (status == TARN_OK) {
        status = read_header_number(cursor, "the brightest shade", 1, SHADES_MAX, &p->shade_max);
    }
    return status;
}

/// One byte after the header, then one or two for each pixel, the high one first.
static tarn_status read_binary(tarn_text_cursor *cursor, const picture *p, float white_m, float *heights_m)
{
    const size_t count = (size_t)p->columns * p->rows, pixel_bytes = p->shade_max > 255 ? 2 : 1;
    cursor->line = 0;
    const size_t left = (size_t)(cursor->end - cursor->at);
    if (left < 1 || (left - 1) / pixel_bytes < count) {
        return tarn_text_refuse(cursor, TARN_E_MALFORMED,
                                "found %zu bytes after the header, allowed are %zu for %u x %u pixels",
                                left < 1 ? 0 : left - 1, count * pixel_bytes, p->columns, p->rows);
    }
    const unsigned char *pixel = (const unsigned char *)cursor->at + 1;
    for (size_t i = 0; i < count; i++, pixel += pixel_bytes) {
        const uint32_t shade = pixel_bytes == 2 ? (uint32_t)pixel[0] << 8 | pixel[1] : pixel[0];
        if (shade > p->shade_max) {
            return tarn_text_refuse(cursor, TARN_E_MALFORMED, "pixel %zu: found the shade %u, allowed are 0 to %u", i,
                                    shade, p->shade_max);
        }
        heights_m[i] = (float)((double)shade / p->shade_max * (double)white_m);
    }
    return TARN_OK;
}

static tarn_status read_text(tarn_text_cursor *cursor, const picture *p, float white_m, float *heights_m)
{
    for (size_t i = 0; i < (size_t)p->columns * p->rows; i++) {
        uint32_t shade = 0;
        const tarn_status status = read_header_number(cursor, "a pixel", 0, p->shade_max, &shade);
        if (status != TARN_OK) {
            return status;
        }
        heights_m[i] = (float)((double)shade / p->shade_max * (double)white_m);
    }
    return TARN_OK;
}

tarn_status tarn_height_bytes_read(const char *origin, float spacing_m, float white_m, const void *bytes,
                                   size_t byte_count, tarn_height_map *map, char *why, size_t why_bytes)
{
    tarn_text_cursor cursor = {.origin = origin, .comment = '#', .why = why, .why_bytes = why_bytes};
    picture p = {.binary = false};
    if (!(fabsf(white_m) <= TARN_MESH_COORDINATE_M_MAX)) {
        return tarn_text_refuse(&cursor, TARN_E_MALFORMED, "found %g m for white, allowed are -%g to %g m",
                                (double)white_m, (double)TARN_MESH_COORDINATE_M_MAX,
                                (double)TARN_MESH_COORDINATE_M_MAX);
    }
    cursor.at = bytes;
    cursor.end = cursor.at + byte_count;
    cursor.line = 1;
    tarn_status status = read_header(&cursor, &p);
    if (status != TARN_OK) {
        return status;
    }
    float *heights_m = malloc((size_t)p.columns * p.rows * sizeof *heights_m);
    if (heights_m == NULL) {
        return tarn_text_refuse(&cursor, TARN_E_MEMORY, "out of memory for %u x %u heights", p.columns, p.rows);
    }
    status = p.binary ? read_binary(&cursor, &p, white_m, heights_m) : read_text(&cursor, &p, white_m, heights_m);
    if (status == TARN_OK) {
        *map = (tarn_height_map){p.columns, p.rows, spacing_m, heights_m};
    } else {
        free(heights_m);
    }
    return status;
}

tarn_status tarn_height_file_read(const char *path, float spacing_m, float white_m, tarn_height_map *map, char *why,
                                  size_t why_bytes)
{
    char *bytes = NULL;
    size_t byte_count;
    tarn_status status =
        tarn_file_bytes_read(path, TARN_HEIGHT_FILE_BYTES_MAX, "a PGM picture", &bytes, &byte_count, why, why_bytes);
    if (status != TARN_OK) {
        return status;
    }
    status = tarn_height_bytes_read(path, spacing_m, white_m, bytes, byte_count, map, why, why_bytes);
    free(bytes);
    return status;
}

void tarn_height_map_free(tarn_height_map *map)
{
    free(map->heights_m);
    *map = (tarn_height_map){.heights_m = NULL};
}

// ---- formats ----

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
    mesh_builder_done(&builder);
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
