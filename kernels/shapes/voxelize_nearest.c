// How far each node is from the nearest triangle. Nodes close to a triangle are compared with it; the others take over
// their neighbours' triangles, in sweeps to all eight corners of the grid.
#include "kernels/shapes/voxelize_internal.h"

#include <math.h>

static void subtract(const double a[3], const double b[3], double difference[3])
{
    for (int i = 0; i < 3; i++) {
        difference[i] = a[i] - b[i];
    }
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/// What doesn't depend on the point.
typedef struct nearest_triangle {
    double corner[3], b[3], c[3]; // b and c: from the first corner to the others
    double normal[3];             // of length |b x c|
    double bb, bc, cc, nn;
} nearest_triangle;

static nearest_triangle prepare(const tarn_mesh *mesh, uint32_t triangle)
{
    double corners[3][3];
    nearest_triangle t;
    voxel_triangle(mesh, triangle, corners);
    subtract(corners[1], corners[0], t.b);
    subtract(corners[2], corners[0], t.c);
    for (int a = 0; a < 3; a++) {
        const int u = (a + 1) % 3, v = (a + 2) % 3;
        t.corner[a] = corners[0][a];
        t.normal[a] = t.b[u] * t.c[v] - t.b[v] * t.c[u];
    }
    t.bb = dot(t.b, t.b);
    t.bc = dot(t.b, t.c);
    t.cc = dot(t.c, t.c);
    t.nn = dot(t.normal, t.normal);
    return t;
}

/// Squared distance from p, counted from the segment's start, to a segment.
static double segment_square(const double p[3], const double along[3], double length2)
{
    const double wanted = dot(p, along);
    const double share = wanted <= 0.0 ? 0.0 : wanted >= length2 ? 1.0 : wanted / length2;
    double rest[3];
    for (int a = 0; a < 3; a++) {
        rest[a] = p[a] - share * along[a];
    }
    return dot(rest, rest);
}

/// Squared distance from p, counted from the first corner. Over the triangle it is that to the plane, elsewhere that to
/// the nearest edge; of a triangle too thin for a normal only the edges count.
static double triangle_square(const nearest_triangle *t, const double p[3])
{
    const double pb = dot(p, t->b), pc = dot(p, t->c);
    const double to_b = t->cc * pb - t->bc * pc, to_c = t->bb * pc - t->bc * pb;
    if (t->nn > 1e-24 * t->bb * t->cc && to_b >= 0.0 && to_c >= 0.0 && to_b + to_c <= t->nn) {
        const double height = dot(p, t->normal);
        return height * height / t->nn;
    }
    double from_b[3], edge[3];
    subtract(p, t->b, from_b);
    subtract(t->c, t->b, edge);
    const double ab = segment_square(p, t->b, t->bb), ac = segment_square(p, t->c, t->cc);
    const double bc = segment_square(from_b, edge, dot(edge, edge)), a = ab < ac ? ab : ac;
    return a < bc ? a : bc;
}

static void node_point(const voxel_grid *grid, int x, int y, int z, double point_m[3])
{
    const int node[3] = {x, y, z};
    for (int a = 0; a < 3; a++) {
        point_m[a] = grid->min_m[a] + grid->spacing_m * node[a];
    }
}

/// Compares the nodes around a triangle with it. distance_m holds squares until the end.
static void compare_band(const voxel_grid *grid, const nearest_triangle *t, const int first[3], const int last[3],
                         int32_t name, voxel_work *work)
{
    const double band = TARN_VOXELIZE_BAND * grid->spacing_m;
    for (int z = first[2]; z <= last[2]; z++) {
        for (int y = first[1]; y <= last[1]; y++) {
            size_t node = (size_t)z * grid->stride[2] + (size_t)y * grid->stride[1] + (size_t)first[0];
            for (int x = first[0]; x <= last[0]; x++, node++) {
                double p[3];
                node_point(grid, x, y, z, p);
                subtract(p, t->corner, p);
                const double height = dot(p, t->normal);
                if (height * height > band * band * 1.01 * t->nn) {
                    continue; // its plane is too far already
                }
                const double square = triangle_square(t, p);
                if ((float)square < work->distance_m[node]) {
                    work->distance_m[node] = (float)square;
                    work->words[node] = name;
                }
            }
        }
    }
}

/// One node of a sweep: tries the triangles of the seven neighbours behind it
static void compare_neighbours(const tarn_mesh *mesh, const voxel_grid *grid, const int at[3], const int step[3],
                               voxel_work *work)
{
    const size_t node = (size_t)at[2] * grid->stride[2] + (size_t)at[1] * grid->stride[1] + (size_t)at[0];
    const float band = (float)(TARN_VOXELIZE_BAND * grid->spacing_m);
    int32_t tried = work->words[node];
    if (work->distance_m[node] <= band * band) {
        return;
    }
    for (int which = 1; which < 8; which++) {
        size_t neighbour = 0;
        bool exists = true;
        for (int a = 0; a < 3; a++) {
            const int k = which >> a & 1 ? at[a] - step[a] : at[a];
            exists = exists && k >= 0 && k < grid->nodes[a];
            neighbour += (size_t)k * grid->stride[a];
        }
        // Only what is nearer to the surface can lie on the way to it.
        if (!exists || work->distance_m[neighbour] >= work->distance_m[node] || work->words[neighbour] == tried) {
            continue;
        }
        tried = work->words[neighbour];
        const nearest_triangle t = prepare(mesh, (uint32_t)tried);
        double p[3];
        node_point(grid, at[0], at[1], at[2], p);
        subtract(p, t.corner, p);
        const float square = (float)triangle_square(&t, p);
        if (square < work->distance_m[node]) {
            work->distance_m[node] = square;
            work->words[node] = tried;
        }
    }
}

static void sweep(const tarn_mesh *mesh, const voxel_grid *grid, int direction, voxel_work *work)
{
    int step[3], start[3];
    for (int a = 0; a < 3; a++) {
        step[a] = direction >> a & 1 ? -1 : 1;
        start[a] = step[a] > 0 ? 0 : grid->nodes[a] - 1;
    }
    for (int z = 0; z < grid->nodes[2]; z++) {
        for (int y = 0; y < grid->nodes[1]; y++) {
            for (int x = 0; x < grid->nodes[0]; x++) {
                const int at[3] = {start[0] + x * step[0], start[1] + y * step[1], start[2] + z * step[2]};
                compare_neighbours(mesh, grid, at, step, work);
            }
        }
    }
}

void voxel_find_nearest(const tarn_mesh *mesh, const voxel_grid *grid, voxel_work *work)
{
    for (size_t i = 0; i < grid->node_count; i++) {
        work->distance_m[i] = INFINITY;
        work->words[i] = -1;
    }
    for (uint32_t name = 0; name < mesh->triangle_count; name++) {
        double corners[3][3];
        int first[3], last[3];
        bool concerns = true;
        voxel_triangle(mesh, name, corners);
        for (int a = 0; a < 3 && concerns; a++) {
            concerns = voxel_range(grid, corners, a, TARN_VOXELIZE_BAND, &first[a], &last[a]);
        }
        if (!concerns) {
            continue;
        }
        const nearest_triangle t = prepare(mesh, name);
        compare_band(grid, &t, first, last, (int32_t)name, work);
    }
    for (int direction = 0; direction < 8; direction++) {
        sweep(mesh, grid, direction, work);
    }
    for (size_t i = 0; i < grid->node_count; i++) {
        work->distance_m[i] = sqrtf(work->distance_m[i]);
    }
}
