// Triangles that face every which way to triangles that face one way.
//
//     vertices -> places -> edges, sorted -> across each edge of two the other triangle -> pieces, flooded
//              -> the way of most of a piece -> closed pieces outwards, with all that is within them
//
// Where three or more triangles share an edge nothing says which go together, so pieces end there. Begin at
// tarn_mesh_face_one_way.
#include "server/common/mesh_surface.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

// ---- the mesh ----

static bool make_room(surface *s)
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
    const bool has_room = make_room(&s);
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
