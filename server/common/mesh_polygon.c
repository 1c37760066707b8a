// Polygons to triangles: convex ones as a fan from their first corner, others ear by ear.
//
//     corners -> the plane that they lie in -> two coordinates each -> ears, cut off until three corners are left
//
// An ear is a corner whose triangle with its two neighbours holds no other corner. Only the neighbours of one that is
// cut off can become ears or cease to be, so that n corners, r of them turning inwards, take n r comparisons. The idea:
// G. H. Meisters, "Polygons have ears", Am. Math. Monthly 82, 1975. Begin at tarn_mesh_builder_polygon.
#include "server/common/mesh_builder.h"

#include <math.h>
#include <stdlib.h>

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

// ---- the plane ----

/// Twice the area of the polygon as seen along each axis (M. E. Newell), of all triangles of its fan, and its extent's
/// square.
static void measure(const polygon *p, double normal[3], double *fan, double *square)
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

// ---- ears ----

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
    measure(p, normal, &fan, &square);
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
