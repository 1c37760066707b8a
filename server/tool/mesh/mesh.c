// What is done to triangles once they are there. Each edge is walked once in each direction, so that a walk over all
// triangles meets every neighbour of a vertex once.
#include "server/tool/mesh/mesh.h"

#include "server/tool/render/render_rows.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// ---- parts ----

static uint32_t root_of(uint32_t *parents, uint32_t v)
{
    while (parents[v] != v) {
        parents[v] = parents[parents[v]];
        v = parents[v];
    }
    return v;
}

static void join(uint32_t *parents, uint32_t a, uint32_t b)
{
    const uint32_t x = root_of(parents, a), y = root_of(parents, b);
    parents[x < y ? y : x] = x < y ? x : y;
}

/// Six times what lies between a triangle and a point: by those of a closed surface, six times its volume.
static double six_volumes_m3(const mesh *m, const uint32_t *t, const float *from_m)
{
    double side[3][3];
    for (int k = 0; k < 3; k++) {
        for (int axis = 0; axis < 3; axis++) {
            side[k][axis] = (double)m->positions_m[(size_t)3 * t[k] + (size_t)axis] - (double)from_m[axis];
        }
    }
    return side[0][0] * (side[1][1] * side[2][2] - side[1][2] * side[2][1]) +
           side[0][1] * (side[1][2] * side[2][0] - side[1][0] * side[2][2]) +
           side[0][2] * (side[1][0] * side[2][1] - side[1][1] * side[2][0]);
}

/// Which vertices hang together.
typedef struct mesh_parts {
    uint32_t *roots; // of each vertex: the first one of its part
    double *six_m3;  // of each root: six times its part's volume, negative of a hollow
} mesh_parts;

static void parts_free(mesh_parts *parts)
{
    free(parts->roots);
    free(parts->six_m3);
}

static void measure_parts(const mesh *m, mesh_parts *parts)
{
    memset(parts->six_m3, 0, (size_t)m->vertex_count * sizeof *parts->six_m3);
    for (size_t i = 0; i < m->triangle_count; i++) {
        const uint32_t root = parts->roots[m->triangles[3 * i]];
        parts->six_m3[root] += six_volumes_m3(m, m->triangles + 3 * i, m->positions_m + (size_t)3 * root);
    }
}

static bool find_parts(const mesh *m, mesh_parts *parts)
{
    parts->roots = malloc((size_t)m->vertex_count * sizeof *parts->roots + 1);
    parts->six_m3 = malloc((size_t)m->vertex_count * sizeof *parts->six_m3 + 1);
    if (parts->roots == NULL || parts->six_m3 == NULL) {
        return false;
    }
    for (uint32_t v = 0; v < m->vertex_count; v++) {
        parts->roots[v] = v;
    }
    for (size_t i = 0; i < m->triangle_count; i++) {
        join(parts->roots, m->triangles[3 * i], m->triangles[3 * i + 1]);
        join(parts->roots, m->triangles[3 * i], m->triangles[3 * i + 2]);
    }
    for (uint32_t v = 0; v < m->vertex_count; v++) {
        parts->roots[v] = root_of(parts->roots, v);
    }
    measure_parts(m, parts);
    return true;
}

/// Takes away the parts whose roots are marked by a volume of 0.
static void drop_parts(mesh *m, mesh_parts *parts)
{
    uint32_t triangles = 0, vertices = 0;
    for (size_t i = 0; i < m->triangle_count; i++) {
        if (parts->six_m3[parts->roots[m->triangles[3 * i]]] != 0.0) {
            memmove(m->triangles + (size_t)3 * triangles++, m->triangles + 3 * i, 3 * sizeof *m->triangles);
        }
    }
    for (uint32_t v = 0; v < m->vertex_count; v++) {
        if (parts->six_m3[parts->roots[v]] != 0.0) {
            memmove(m->positions_m + (size_t)3 * vertices++, m->positions_m + (size_t)3 * v, 3 * sizeof(float));
        }
    }
    for (uint32_t v = m->vertex_count, left = vertices; v-- > 0;) { // roots come first, and so are needed longest
        parts->roots[v] = parts->six_m3[parts->roots[v]] != 0.0 ? --left : 0;
    }
    for (size_t i = 0; i < (size_t)3 * triangles; i++) {
        m->triangles[i] = parts->roots[m->triangles[i]];
    }
    m->triangle_count = triangles;
    m->vertex_count = vertices;
}

tarn_status mesh_drop_small(mesh *m, double hollow_m3, double speck_m3)
{
    mesh_parts parts;
    const bool has_room = find_parts(m, &parts);
    for (uint32_t v = 0; v < m->vertex_count && has_room; v++) {
        if (parts.six_m3[v] > -6.0 * hollow_m3 && parts.six_m3[v] < 6.0 * speck_m3) {
            parts.six_m3[v] = 0.0;
        }
    }
    if (has_room) {
        drop_parts(m, &parts);
    }
    parts_free(&parts);
    return has_room ? TARN_OK : TARN_E_MEMORY;
}

// ---- smoothing ----

typedef struct smoothing {
    const mesh *m;
    const float *shares;
    uint32_t *first;      // of each vertex's neighbours; one more than there are vertices
    uint32_t *neighbours; // as many as edges are walked
    float step;           // of the way to the neighbours' mean
    float *to_m;
} smoothing;

static bool find_neighbours(const mesh *m, smoothing *s)
{
    const size_t walks = (size_t)3 * m->triangle_count;
    s->first = calloc((size_t)m->vertex_count + 2, sizeof *s->first);
    s->neighbours = malloc(walks * sizeof *s->neighbours + 1);
    if (s->first == NULL || s->neighbours == NULL) {
        return false;
    }
    for (size_t i = 0; i < walks; i++) {
        s->first[m->triangles[i] + 2]++;
    }
    for (size_t v = 0; v < m->vertex_count; v++) {
        s->first[v + 2] += s->first[v + 1];
    }
    for (size_t i = 0; i < walks; i++) { // which makes each vertex's start the next one's
        s->neighbours[s->first[m->triangles[i] + 1]++] = m->triangles[i % 3 == 2 ? i - 2 : i + 1];
    }
    return true;
}

static void move_to_neighbours(void *context, uint32_t begin, uint32_t end)
{
    const smoothing *s = context;
    const float *from_m = s->m->positions_m;
    for (size_t v = begin; v < end; v++) {
        float sum_m[3] = {0};
        for (uint32_t i = s->first[v]; i < s->first[v + 1]; i++) {
            for (size_t axis = 0; axis < 3; axis++) {
                sum_m[axis] += from_m[(size_t)3 * s->neighbours[i] + axis];
            }
        }
        const float count = (float)(s->first[v + 1] - s->first[v]);
        const float step = count > 0.0f ? s->step * (s->shares != NULL ? s->shares[v] : 1.0f) : 0.0f;
        for (size_t axis = 0; axis < 3; axis++) {
            const float at_m = from_m[3 * v + axis];
            s->to_m[3 * v + axis] = step != 0.0f ? at_m + step * (sum_m[axis] / count - at_m) : at_m;
        }
    }
}

static void move_all(mesh *m, smoothing *s, float step, uint32_t threads)
{
    enum { RANGE = 4096 };
    s->step = step;
    render_rows(threads, m->vertex_count, RANGE, move_to_neighbours, s);
    float *moved_m = s->to_m;
    s->to_m = m->positions_m;
    m->positions_m = moved_m;
}

/// Brings small parts back to the volumes that they had, about their middles.
static bool restore_volumes(mesh *m, mesh_parts *parts, double small_m3)
{
    typedef struct part_middle {
        double sum_m[3], count, share;
    } part_middle;
    part_middle *middles = calloc((size_t)m->vertex_count + 1, sizeof *middles);
    if (middles == NULL) {
        return false;
    }
    for (uint32_t v = 0; v < m->vertex_count; v++) {
        middles[v].share = parts->six_m3[v];
    }
    measure_parts(m, parts);
    for (uint32_t v = 0; v < m->vertex_count; v++) {
        const double before = middles[v].share, after = parts->six_m3[v];
        const bool is_small = before > 0.0 && before < 6.0 * small_m3 && after > 0.0;
        // Of what has become flat hardly anything is left to be scaled.
        middles[v].share = is_small ? fmin(cbrt(before / after), 1.25) : 1.0;
        part_middle *of = &middles[parts->roots[v]];
        of->count += 1.0;
        for (size_t axis = 0; axis < 3; axis++) {
            of->sum_m[axis] += (double)m->positions_m[(size_t)3 * v + axis];
        }
    }
    for (uint32_t v = 0; v < m->vertex_count; v++) {
        const part_middle *of = &middles[parts->roots[v]];
        for (size_t axis = 0; axis < 3 && of->share != 1.0; axis++) {
            float *p = &m->positions_m[(size_t)3 * v + axis];
            const double middle_m = of->sum_m[axis] / of->count;
            *p = (float)(middle_m + of->share * ((double)*p - middle_m));
        }
    }
    free(middles);
    return true;
}

tarn_status mesh_smooth(mesh *m, uint32_t passes, const float *shares, double small_m3, uint32_t threads)
{
    const float in = 0.63f, out = -0.64f; // evens out what is shorter than some thirty edges, bit by bit
    mesh_parts parts;
    smoothing s = {.m = m, .shares = shares, .to_m = malloc((size_t)m->vertex_count * 3 * sizeof(float) + 1)};
    bool has_room = find_parts(m, &parts) && find_neighbours(m, &s) && s.to_m != NULL;
    for (uint32_t pass = 0; pass < passes && has_room; pass++) {
        move_all(m, &s, in, threads);
        move_all(m, &s, out, threads);
    }
    has_room = has_room && restore_volumes(m, &parts, small_m3);
    parts_free(&parts);
    free(s.first);
    free(s.neighbours);
    free(s.to_m);
    return has_room ? TARN_OK : TARN_E_MEMORY;
}

tarn_status mesh_normals(mesh *m)
{
    free(m->normals);
    m->normals = calloc((size_t)m->vertex_count * 3 + 1, sizeof(float));
    if (m->normals == NULL) {
        return TARN_E_MEMORY;
    }
    for (size_t i = 0; i < m->triangle_count; i++) {
        const uint32_t *t = m->triangles + 3 * i;
        const float *a = m->positions_m + (size_t)3 * t[0], *b = m->positions_m + (size_t)3 * t[1],
                    *c = m->positions_m + (size_t)3 * t[2];
        const float u[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]}, v[3] = {c[0] - a[0], c[1] - a[1], c[2] - a[2]};
        const float n[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
        for (size_t k = 0; k < 3; k++) {
            for (size_t axis = 0; axis < 3; axis++) {
                m->normals[(size_t)3 * t[k] + axis] += n[axis];
            }
        }
    }
    for (size_t i = 0; i < m->vertex_count; i++) {
        float *n = m->normals + 3 * i;
        const double length = sqrt((double)n[0] * n[0] + (double)n[1] * n[1] + (double)n[2] * n[2]);
        if (length > 0.0) {
            n[0] = (float)(n[0] / length);
            n[1] = (float)(n[1] / length);
            n[2] = (float)(n[2] / length);
        } else {
            n[1] = 1.0f;
        }
    }
    return TARN_OK;
}

void mesh_free(mesh *m)
{
    free(m->positions_m);
    free(m->normals);
    free(m->triangles);
    free(m->velocities_m_s);
    free(m->colours);
    free(m->channel);
    *m = (mesh){.vertex_count = 0};
}
