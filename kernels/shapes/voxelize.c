// A mesh or heightfield to a signed distance in two stages: which nodes are inside, and how far the surface is. Begin
// at tarn_voxelize_mesh.
#include "kernels/shapes/voxelize.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- what both stages share ----

typedef struct voxel_grid {
    int nodes[3];
    size_t stride[3];
    size_t node_count;
    double min_m[3], spacing_m;
} voxel_grid;

/// Memory of one run: 9 bytes for each node of the grid, and a word for each line.
typedef struct voxel_work {
    int32_t *words;    // per node: first the crossings, then the nearest triangle or -1
    int8_t *votes;     // per node: lines that say inside, less those that say outside
    int32_t *line_sum; // per line along an axis
    float *distance_m; // per node
} voxel_work;

/// Which lines are asked: along all axes to both sides, or up from the node only.
typedef enum voxel_lines { VOXEL_LINES_ALL, VOXEL_LINES_UP } voxel_lines;

static inline void voxel_triangle(const tarn_mesh *mesh, uint32_t triangle, double corners_m[3][3])
{
    for (int c = 0; c < 3; c++) {
        for (int a = 0; a < 3; a++) {
            corners_m[c][a] = mesh->vertices_m[3 * (size_t)mesh->triangles[3 * (size_t)triangle + c] + a];
        }
    }
}

/// The first and last node along an axis that a triangle may concern, within the grid: those in its bounds and
/// `beyond` cells more. @return false where there is none
static inline bool voxel_range(const voxel_grid *grid, double corners_m[3][3], int axis, double beyond, int *first,
                               int *last)
{
    double min = corners_m[0][axis], max = min;
    for (int c = 1; c < 3; c++) {
        min = corners_m[c][axis] < min ? corners_m[c][axis] : min;
        max = corners_m[c][axis] > max ? corners_m[c][axis] : max;
    }
    const double end = grid->nodes[axis] - 1.0;
    double low = (min - grid->min_m[axis]) / grid->spacing_m - beyond;
    double high = (max - grid->min_m[axis]) / grid->spacing_m + beyond;
    if (!(low <= end && high >= 0.0)) {
        return false;
    }
    low = low > 0.0 ? low : 0.0;
    high = high < end ? high : end;
    *first = (int)low;
    *last = (int)high + (high > (int)high);
    return true;
}

// ---- the first stage: which nodes are inside ----
// Counts where the grid's lines cross the surface.
//
//     triangles -> crossings between the nodes of each line -> running sums from either end -> votes
//
// A line that meets an edge or a corner must cross exactly one of the triangles there, or the count is wrong for all
// nodes behind. Each line is therefore taken to lie a little beside itself, by an infinitely small step along one axis
// and a still smaller one along the other, and the side of an edge that it's on is computed from the edge's ends in one
// order, whichever triangle asks.

/// Twice the area of the triangle (a, b, p), positive where p is to the left of the way from a to b.
static double area2(const double a[2], const double b[2], const double p[2])
{
    return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]);
}

/// 1: p is to the left of the way from a to b, -1: to the right. 0 only where a and b are the same point.
static int side_of(const double a[2], const double b[2], const double p[2])
{
    const bool swapped = b[0] < a[0] || (b[0] == a[0] && b[1] < a[1]);
    const double *from = swapped ? b : a, *to = swapped ? a : b;
    const double area = area2(from, to, p);
    int side = area > 0.0 ? 1 : area < 0.0 ? -1 : 0;
    if (side == 0) { // the step beside: first along axis 0, then along axis 1
        side = from[1] != to[1] ? (to[1] < from[1] ? 1 : -1) : to[0] > from[0] ? 1 : to[0] < from[0] ? -1 : 0;
    }
    return swapped ? -side : side;
}

/// Where the line through p crosses the plane of a triangle whose corners lie at flat[] and, along the line, at
/// along[]: never outside the triangle's own bounds.
static double crossing_at(double flat[3][2], const double along[3], const double p[2])
{
    double sum = 0.0, weighted = 0.0, min = along[0], max = along[0];
    for (int c = 0; c < 3; c++) {
        const double weight = area2(flat[(c + 1) % 3], flat[(c + 2) % 3], p);
        sum += weight;
        weighted += weight * along[c];
        min = along[c] < min ? along[c] : min;
        max = along[c] > max ? along[c] : max;
    }
    const double at = weighted / sum;
    return at > min ? at < max ? at : max : min; // min also where all weights are 0
}

/// Adds a triangle's crossings with the lines along an axis to the node behind each.
static void add_crossings(const voxel_grid *grid, double corners_m[3][3], int axis, voxel_work *work)
{
    const int u = (axis + 1) % 3, v = (axis + 2) % 3;
    int first[2], last[2];
    if (!voxel_range(grid, corners_m, u, 0.5, &first[0], &last[0]) ||
        !voxel_range(grid, corners_m, v, 0.5, &first[1], &last[1])) {
        return;
    }
    double flat[3][2], along[3];
    for (int c = 0; c < 3; c++) {
        flat[c][0] = corners_m[c][u];
        flat[c][1] = corners_m[c][v];
        along[c] = corners_m[c][axis];
    }
    for (int j = first[1]; j <= last[1]; j++) {
        for (int i = first[0]; i <= last[0]; i++) {
            const double p[2] = {grid->min_m[u] + grid->spacing_m * i, grid->min_m[v] + grid->spacing_m * j};
            const int side = side_of(flat[0], flat[1], p);
            if (side == 0 || side != side_of(flat[1], flat[2], p) || side != side_of(flat[2], flat[0], p)) {
                continue;
            }
            const double at = (crossing_at(flat, along, p) - grid->min_m[axis]) / grid->spacing_m;
            const int behind = at < 0.0 ? 0 : at < grid->nodes[axis] ? (int)at + 1 : grid->nodes[axis];
            if (behind < grid->nodes[axis]) {
                work->words[(size_t)behind * grid->stride[axis] + (size_t)i * grid->stride[u] +
                            (size_t)j * grid->stride[v]] += side;
            }
            work->line_sum[(size_t)j * (size_t)grid->nodes[u] + (size_t)i] += side;
        }
    }
}

static void vote_along(const voxel_grid *grid, int axis, voxel_lines lines, voxel_work *work)
{
    const int u = (axis + 1) % 3, v = (axis + 2) % 3;
    for (int j = 0; j < grid->nodes[v]; j++) {
        for (int i = 0; i < grid->nodes[u]; i++) {
            const int32_t all = work->line_sum[(size_t)j * (size_t)grid->nodes[u] + (size_t)i];
            size_t node = (size_t)i * grid->stride[u] + (size_t)j * grid->stride[v];
            int32_t before = 0;
            for (int k = 0; k < grid->nodes[axis]; k++, node += grid->stride[axis]) {
                before += work->words[node];
                if (lines == VOXEL_LINES_ALL) {
                    work->votes[node] = (int8_t)(work->votes[node] + (before != 0 ? 1 : -1));
                }
                work->votes[node] = (int8_t)(work->votes[node] + (before != all ? 1 : -1));
            }
        }
    }
}

/// Fills work->votes. A node is inside when its votes are above 0.
static void voxel_find_inside(const tarn_mesh *mesh, const voxel_grid *grid, voxel_lines lines, voxel_work *work)
{
    memset(work->votes, 0, grid->node_count);
    for (int axis = 0; axis < 3; axis++) {
        if (lines == VOXEL_LINES_UP && axis != 1) {
            continue;
        }
        const size_t line_count = grid->node_count / (size_t)grid->nodes[axis];
        memset(work->words, 0, grid->node_count * sizeof *work->words);
        memset(work->line_sum, 0, line_count * sizeof *work->line_sum);
        for (uint32_t t = 0; t < mesh->triangle_count; t++) {
            double corners_m[3][3];
            voxel_triangle(mesh, t, corners_m);
            add_crossings(grid, corners_m, axis, work);
        }
        vote_along(grid, axis, lines, work);
    }
}

// ---- the second stage: how far the surface is ----
// Nodes close to a triangle are compared with it; the others take over their neighbours' triangles, in sweeps to all
// eight corners of the grid.

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

/// Fills work->distance_m with distances, all 0 or above.
static void voxel_find_nearest(const tarn_mesh *mesh, const voxel_grid *grid, voxel_work *work)
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

// ---- checks ----

/// The lines may disagree for one inner node in so many before a mesh is called open.
enum { CONTESTED_ONE_IN = 4 };

typedef struct sentence {
    char *why; // may be NULL
    size_t bytes;
} sentence;

__attribute__((format(printf, 3, 4))) static tarn_status refuse(const sentence *to, tarn_status status,
                                                                const char *format, ...)
{
    if (to->why != NULL && to->bytes > 0) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(to->why, to->bytes, format, arguments);
        va_end(arguments);
    }
    return status;
}

static tarn_status check_grid_arguments(float spacing_m, uint32_t margin_cells, const sentence *why)
{
    if (!(spacing_m >= TARN_VOXELIZE_SPACING_M_MIN && spacing_m <= TARN_VOXELIZE_SPACING_M_MAX)) {
        return refuse(why, TARN_E_ARGUMENT, "spacing: found %g m, allowed are %g to %g m", (double)spacing_m,
                      (double)TARN_VOXELIZE_SPACING_M_MIN, (double)TARN_VOXELIZE_SPACING_M_MAX);
    }
    if (margin_cells < 1 || margin_cells > TARN_VOXELIZE_MARGIN_MAX) {
        return refuse(why, TARN_E_ARGUMENT, "margin: found %u cells, allowed are 1 to %d", margin_cells,
                      TARN_VOXELIZE_MARGIN_MAX);
    }
    return TARN_OK;
}

static tarn_status check_mesh(const tarn_mesh *mesh, const sentence *why)
{
    if (mesh->triangle_count == 0 || mesh->triangle_count > TARN_MESH_TRIANGLES_MAX) {
        return refuse(why, TARN_E_LIMIT, "found %u triangles, allowed are 1 to %d", mesh->triangle_count,
                      TARN_MESH_TRIANGLES_MAX);
    }
    if (mesh->vertex_count > TARN_MESH_VERTICES_MAX) {
        return refuse(why, TARN_E_LIMIT, "found %u vertices, allowed are up to %d", mesh->vertex_count,
                      TARN_MESH_VERTICES_MAX);
    }
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++) {
        if (mesh->triangles[i] >= mesh->vertex_count) {
            return refuse(why, TARN_E_MALFORMED, "triangle %zu: found vertex %u, allowed are 0 to %u", i / 3,
                          mesh->triangles[i], mesh->vertex_count - 1);
        }
    }
    for (size_t i = 0; i < 3 * (size_t)mesh->vertex_count; i++) {
        if (!(fabsf(mesh->vertices_m[i]) <= TARN_MESH_COORDINATE_M_MAX)) {
            return refuse(why, TARN_E_MALFORMED, "vertex %zu: found %g for %c, allowed are -%g to %g m", i / 3,
                          (double)mesh->vertices_m[i], "xyz"[i % 3], (double)TARN_MESH_COORDINATE_M_MAX,
                          (double)TARN_MESH_COORDINATE_M_MAX);
        }
    }
    return TARN_OK;
}

static tarn_status check_heights(const tarn_height_map *map, float bottom_m, const sentence *why)
{
    const uint32_t min = TARN_HEIGHTS_PER_SIDE_MIN, max = TARN_HEIGHTS_PER_SIDE_MAX;
    if (map->columns < min || map->columns > max || map->rows < min || map->rows > max) {
        return refuse(why, TARN_E_LIMIT, "found %u x %u heights, allowed are %u to %u per side", map->columns,
                      map->rows, min, max);
    }
    if (!(map->spacing_m >= TARN_VOXELIZE_SPACING_M_MIN && map->spacing_m <= TARN_VOXELIZE_SPACING_M_MAX)) {
        return refuse(why, TARN_E_ARGUMENT, "spacing of the heights: found %g m, allowed are %g to %g m",
                      (double)map->spacing_m, (double)TARN_VOXELIZE_SPACING_M_MIN, (double)TARN_VOXELIZE_SPACING_M_MAX);
    }
    if (!(fabsf(bottom_m) <= TARN_MESH_COORDINATE_M_MAX)) {
        return refuse(why, TARN_E_ARGUMENT, "bottom: found %g m, allowed are -%g to %g m", (double)bottom_m,
                      (double)TARN_MESH_COORDINATE_M_MAX, (double)TARN_MESH_COORDINATE_M_MAX);
    }
    for (size_t i = 0; i < (size_t)map->columns * map->rows; i++) {
        if (!(map->heights_m[i] > bottom_m && map->heights_m[i] <= TARN_MESH_COORDINATE_M_MAX)) {
            return refuse(why, TARN_E_MALFORMED,
                          "height in row %zu, column %zu: found %g m, allowed are more than the bottom, %g, up to %g m",
                          i / map->columns, i % map->columns, (double)map->heights_m[i], (double)bottom_m,
                          (double)TARN_MESH_COORDINATE_M_MAX);
        }
    }
    return TARN_OK;
}

/// How many comparisons voxel_find_nearest starts with is known before it does.
static tarn_status check_visits(const tarn_mesh *mesh, const voxel_grid *grid, const sentence *why)
{
    uint64_t visits = 0;
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        double corners[3][3];
        uint64_t product = 1;
        voxel_triangle(mesh, t, corners);
        for (int a = 0; a < 3; a++) {
            int first, last;
            product *=
                voxel_range(grid, corners, a, TARN_VOXELIZE_BAND, &first, &last) ? (uint64_t)(last - first + 1) : 0;
        }
        visits += product;
    }
    if (visits > TARN_VOXELIZE_VISITS_MAX) {
        return refuse(why, TARN_E_LIMIT,
                      "the triangles' bounds hold %llu nodes together, allowed are %llu: there are too many large "
                      "triangles for so fine a grid",
                      (unsigned long long)visits, (unsigned long long)TARN_VOXELIZE_VISITS_MAX);
    }
    return TARN_OK;
}

// ---- the grid ----

static void mesh_bounds(const tarn_mesh *mesh, double min_m[3], double max_m[3])
{
    for (int a = 0; a < 3; a++) {
        min_m[a] = INFINITY;
        max_m[a] = -INFINITY;
    }
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++) {
        for (int a = 0; a < 3; a++) {
            const double at = mesh->vertices_m[3 * (size_t)mesh->triangles[i] + a];
            min_m[a] = at < min_m[a] ? at : min_m[a];
            max_m[a] = at > max_m[a] ? at : max_m[a];
        }
    }
}

float tarn_voxelize_spacing_m(const tarn_mesh *mesh, uint32_t nodes, uint32_t margin_cells)
{
    double min[3], max[3], longest = 0.0;
    if (margin_cells > TARN_VOXELIZE_MARGIN_MAX || nodes < 2 + 2 * margin_cells || mesh->triangle_count == 0) {
        return 0.0f;
    }
    mesh_bounds(mesh, min, max);
    for (int a = 0; a < 3; a++) {
        longest = max[a] - min[a] > longest ? max[a] - min[a] : longest;
    }
    // A little more than needed: rounding must not cost a further node.
    return (float)(longest / (nodes - 1 - 2 * margin_cells) * (1.0 + 1e-6));
}

/// A grid centred on a box, that reaches margins[a] cells beyond it at either end. @return as tarn_voxelize_mesh
static tarn_status lay_grid(const double min_m[3], const double max_m[3], float spacing_m, const uint32_t margins[3],
                            voxel_grid *grid, tarn_distance_field *field, const sentence *why)
{
    double nodes[3];
    grid->node_count = 1;
    grid->spacing_m = spacing_m;
    for (int a = 0; a < 3; a++) {
        nodes[a] = ceil((max_m[a] - min_m[a]) / grid->spacing_m) + 1.0 + 2.0 * margins[a];
        nodes[a] = nodes[a] < TARN_FIELD_NODES_MIN ? TARN_FIELD_NODES_MIN : nodes[a];
    }
    if (!(nodes[0] <= TARN_FIELD_NODES_MAX && nodes[1] <= TARN_FIELD_NODES_MAX && nodes[2] <= TARN_FIELD_NODES_MAX)) {
        return refuse(
            why, TARN_E_LIMIT,
            "found a grid of %.0f x %.0f x %.0f nodes with a spacing of %g m, allowed are %d per axis: take a "
            "larger spacing",
            nodes[0], nodes[1], nodes[2], grid->spacing_m, TARN_FIELD_NODES_MAX);
    }
    field->spacing_m = spacing_m;
    for (int a = 0; a < 3; a++) {
        field->nodes[a] = (uint32_t)nodes[a];
        field->min_m[a] = (float)(0.5 * (min_m[a] + max_m[a]) - 0.5 * grid->spacing_m * (nodes[a] - 1.0));
        grid->nodes[a] = (int)nodes[a];
        grid->min_m[a] = field->min_m[a]; // as the field's readers see it
        grid->stride[a] = grid->node_count;
        grid->node_count *= field->nodes[a];
    }
    return TARN_OK;
}

static bool allocate(const voxel_grid *grid, voxel_work *work)
{
    size_t lines = 0;
    for (int axis = 0; axis < 3; axis++) {
        const size_t count = grid->node_count / (size_t)grid->nodes[axis];
        lines = count > lines ? count : lines;
    }
    work->words = malloc(grid->node_count * sizeof *work->words);
    work->votes = malloc(grid->node_count);
    work->line_sum = malloc(lines * sizeof *work->line_sum);
    work->distance_m = malloc(grid->node_count * sizeof *work->distance_m);
    return work->words != NULL && work->votes != NULL && work->line_sum != NULL && work->distance_m != NULL;
}

/// Frees all but the distances.
static void free_work(voxel_work *work)
{
    free(work->words);
    free(work->votes);
    free(work->line_sum);
}

// ---- both stages ----

/// Nodes in the surface itself are neither inside nor outside; the lines along it say what they like.
static tarn_status check_votes(const voxel_grid *grid, const voxel_work *work, const sentence *why)
{
    const double surface_m = 1e-3 * grid->spacing_m;
    size_t inside = 0, contested = 0;
    for (size_t i = 0; i < grid->node_count; i++) {
        if ((double)work->distance_m[i] < surface_m) {
            continue;
        }
        inside += work->votes[i] > 0;
        contested += work->votes[i] > -6 && work->votes[i] < 6;
    }
    if (contested * CONTESTED_ONE_IN > inside + contested) {
        return refuse(why, TARN_E_MALFORMED,
                      "the mesh isn't closed: of %zu nodes that may be inside, %zu have lines out of the mesh that say "
                      "otherwise; allowed is one in %d",
                      inside + contested, contested, CONTESTED_ONE_IN);
    }
    if (inside == 0) {
        return refuse(why, TARN_E_MALFORMED,
                      "the mesh holds no node of a grid with a spacing of %g m: it is open, or thinner than that",
                      grid->spacing_m);
    }
    return TARN_OK;
}

/// Both stages on a checked mesh. @param field  has its grid; gets its distances
static tarn_status sample(const tarn_mesh *mesh, const voxel_grid *grid, voxel_lines lines, tarn_distance_field *field,
                          const sentence *why)
{
    voxel_work work = {.words = NULL};
    tarn_status status = check_visits(mesh, grid, why);
    if (status != TARN_OK) {
        return status;
    }
    status = TARN_E_MEMORY;
    if (!allocate(grid, &work)) {
        refuse(why, status, "out of memory for %zu nodes", grid->node_count);
        goto fail;
    }
    voxel_find_inside(mesh, grid, lines, &work);
    voxel_find_nearest(mesh, grid, &work);
    status = lines == VOXEL_LINES_ALL ? check_votes(grid, &work, why) : TARN_OK;
    if (status != TARN_OK) {
        goto fail;
    }
    for (size_t i = 0; i < grid->node_count; i++) {
        if (work.votes[i] > 0) {
            work.distance_m[i] = -work.distance_m[i];
        }
    }
    field->distance_m = work.distance_m;
    free_work(&work);
    return TARN_OK;

fail:
    free(work.distance_m);
    free_work(&work);
    return status;
}

// ---- how thin a mesh is ----

/// Points of the surface that are asked how thick the mesh is below them: as many as make so many comparisons with
/// triangles.
enum { THIN_POINTS_MAX = 400, THIN_POINTS_MIN = 40, THIN_VISITS = 1 << 23, THIN_ONE_IN = 10 };

static void mesh_corner(const tarn_mesh *mesh, uint32_t triangle, int corner, double at[3])
{
    const float *vertex = mesh->vertices_m + 3 * (size_t)mesh->triangles[3 * (size_t)triangle + (size_t)corner];
    for (int a = 0; a < 3; a++) {
        at[a] = (double)vertex[a];
    }
}

static void cross(const double *a, const double *b, double *to)
{
    for (int i = 0; i < 3; i++) {
        const int n = (i + 1) % 3, l = (i + 2) % 3;
        to[i] = a[n] * b[l] - a[l] * b[n];
    }
}

/// Edges of a triangle from its first corner.
static void triangle_edges(const tarn_mesh *mesh, uint32_t triangle, double first[3], double edge[2][3])
{
    mesh_corner(mesh, triangle, 0, first);
    for (int e = 0; e < 2; e++) {
        mesh_corner(mesh, triangle, e + 1, edge[e]);
        for (int a = 0; a < 3; a++) {
            edge[e][a] -= first[a];
        }
    }
}

/// And their product: twice the area along the normal.
static double triangle_frame(const tarn_mesh *mesh, uint32_t triangle, double first[3], double edge[2][3],
                             double normal[3])
{
    triangle_edges(mesh, triangle, first, edge);
    cross(edge[0], edge[1], normal);
    return sqrt(dot(normal, normal));
}

/// Where a line meets a triangle, in units of its direction; NAN: nowhere (Moeller & Trumbore 1997).
static double line_meets(const tarn_mesh *mesh, uint32_t triangle, const double from[3], const double along[3])
{
    double first[3], edge[2][3], side[3], way[3], turned[3];
    triangle_edges(mesh, triangle, first, edge);
    cross(along, edge[1], side);
    const double determinant = dot(edge[0], side);
    for (int a = 0; a < 3; a++) {
        way[a] = from[a] - first[a];
    }
    cross(way, edge[0], turned);
    const double u = dot(way, side) / determinant, v = dot(along, turned) / determinant;
    return determinant != 0.0 && u >= 0.0 && v >= 0.0 && u + v <= 1.0 ? dot(edge[1], turned) / determinant : NAN;
}

/// How thick a mesh is below a point of a triangle: along the normal, to where the surface is met first on the side
/// that an uneven number of crossings tells to be inside. @return infinity where no side is
static double thickness_below(const tarn_mesh *mesh, uint32_t triangle)
{
    double first[3], edge[2][3], normal[3], from[3], nearest[2] = {INFINITY, INFINITY};
    const double size = triangle_frame(mesh, triangle, first, edge, normal);
    uint32_t met[2] = {0, 0};
    for (int a = 0; a < 3; a++) {
        normal[a] /= size;
        from[a] = first[a] + 0.31 * edge[0][a] + 0.27 * edge[1][a]; // not on a line that regular meshes have edges on
    }
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        const double at = t != triangle ? line_meets(mesh, t, from, normal) : NAN;
        if (at > 0.0 || at < 0.0) {
            met[at < 0.0]++;
            nearest[at < 0.0] = fmin(nearest[at < 0.0], fabs(at));
        }
    }
    return met[0] % 2 == 1 ? nearest[0] : met[1] % 2 == 1 ? nearest[1] : INFINITY;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/// How thick a mesh is at most where it is thinnest, over a tenth of its surface: that of points spread evenly over
/// it. A mesh may have walls that no node of its field lies in. @return 0: not known
static float mesh_thin_m(const tarn_mesh *mesh)
{
    double found[THIN_POINTS_MAX], area = 0.0, before = 0.0;
    double first[3], edge[2][3], normal[3];
    const uint32_t wanted = (uint32_t)(THIN_VISITS / mesh->triangle_count);
    const uint32_t points = wanted < THIN_POINTS_MIN   ? THIN_POINTS_MIN
                            : wanted > THIN_POINTS_MAX ? THIN_POINTS_MAX
                                                       : wanted;
    uint32_t next = 0;
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        area += triangle_frame(mesh, t, first, edge, normal);
    }
    for (uint32_t t = 0; t < mesh->triangle_count && area > 0.0; t++) {
        before += triangle_frame(mesh, t, first, edge, normal);
        double thick_m = -1.0;
        while (next < points && (next + 0.5) / points * area < before) {
            thick_m = thick_m < 0.0 ? thickness_below(mesh, t) : thick_m;
            found[next++] = thick_m;
        }
    }
    if (next == 0) {
        return 0.0F;
    }
    qsort(found, next, sizeof *found, compare_doubles);
    const double thin_m = found[next / THIN_ONE_IN];
    return thin_m < INFINITY ? (float)thin_m : 0.0F;
}

tarn_status tarn_voxelize_mesh(const tarn_mesh *mesh, float spacing_m, uint32_t margin_cells,
                               tarn_distance_field *field, char *why, size_t why_bytes)
{
    const sentence to = {why, why_bytes};
    tarn_distance_field made = {.distance_m = NULL};
    voxel_grid grid;
    double min_m[3], max_m[3];
    tarn_status status = check_grid_arguments(spacing_m, margin_cells, &to);
    if (status == TARN_OK) {
        status = check_mesh(mesh, &to);
    }
    if (status != TARN_OK) {
        return status;
    }
    mesh_bounds(mesh, min_m, max_m);
    const uint32_t margins[3] = {margin_cells, margin_cells, margin_cells};
    status = lay_grid(min_m, max_m, spacing_m, margins, &grid, &made, &to);
    if (status == TARN_OK) {
        status = sample(mesh, &grid, VOXEL_LINES_ALL, &made, &to);
    }
    if (status == TARN_OK) {
        made.thin_m = mesh_thin_m(mesh);
        *field = made;
    }
    return status;
}

// ---- heightfields ----

/// Two triangles for four heights. A ring of heights like those at the border, `apron_m` outside, lets the ground go
/// on.
static bool make_ground(const tarn_height_map *map, double apron_m, tarn_mesh *mesh)
{
    const uint32_t columns = map->columns + 2, rows = map->rows + 2;
    const double spacing = map->spacing_m;
    mesh->vertex_count = columns * rows;
    mesh->triangle_count = 2 * (columns - 1) * (rows - 1);
    mesh->vertices_m = malloc(3 * (size_t)mesh->vertex_count * sizeof *mesh->vertices_m);
    mesh->triangles = malloc(3 * (size_t)mesh->triangle_count * sizeof *mesh->triangles);
    if (mesh->vertices_m == NULL || mesh->triangles == NULL) {
        return false;
    }
    float *vertex = mesh->vertices_m;
    uint32_t *triangle = mesh->triangles;
    for (uint32_t r = 0; r < rows; r++) {
        for (uint32_t c = 0; c < columns; c++) {
            // Ring and border share a height: the index is that of the border, the place further out.
            const uint32_t column = c == 0 ? 0 : c == columns - 1 ? map->columns - 1 : c - 1;
            const uint32_t row = r == 0 ? 0 : r == rows - 1 ? map->rows - 1 : r - 1;
            const double beside_x = c == 0 ? -apron_m : c == columns - 1 ? apron_m : 0.0;
            const double beside_z = r == 0 ? -apron_m : r == rows - 1 ? apron_m : 0.0;
            *vertex++ = (float)((column - 0.5 * (map->columns - 1)) * spacing + beside_x);
            *vertex++ = map->heights_m[(size_t)row * map->columns + column];
            *vertex++ = (float)((row - 0.5 * (map->rows - 1)) * spacing + beside_z);
            if (r + 1 == rows || c + 1 == columns) {
                continue;
            }
            const uint32_t at = r * columns + c;
            const uint32_t corners[6] = {at, at + columns, at + 1, at + 1, at + columns, at + columns + 1};
            for (int i = 0; i < 6; i++) {
                *triangle++ = corners[i];
            }
        }
    }
    return true;
}

tarn_status tarn_voxelize_heights(const tarn_height_map *heights, float bottom_m, float spacing_m,
                                  uint32_t margin_cells, tarn_distance_field *field, char *why, size_t why_bytes)
{
    const sentence to = {why, why_bytes};
    tarn_distance_field made = {.distance_m = NULL};
    tarn_mesh ground = {.vertex_count = 0};
    voxel_grid grid;
    tarn_status status = check_grid_arguments(spacing_m, margin_cells, &to);
    if (status == TARN_OK) {
        status = check_heights(heights, bottom_m, &to);
    }
    if (status != TARN_OK) {
        return status;
    }
    double highest = bottom_m;
    for (size_t i = 0; i < (size_t)heights->columns * heights->rows; i++) {
        highest = (double)heights->heights_m[i] > highest ? (double)heights->heights_m[i] : highest;
    }
    const double half_x = 0.5 * (heights->columns - 1) * (double)heights->spacing_m;
    const double half_z = 0.5 * (heights->rows - 1) * (double)heights->spacing_m;
    const double min_m[3] = {-half_x, bottom_m, -half_z};
    const double max_m[3] = {half_x, highest + margin_cells * (double)spacing_m, half_z};
    status = lay_grid(min_m, max_m, spacing_m, (const uint32_t[3]){0, 0, 0}, &grid, &made, &to);
    if (status != TARN_OK) {
        return status;
    }
    if (make_ground(heights, 2.0 * TARN_VOXELIZE_BAND * (double)spacing_m, &ground)) {
        status = sample(&ground, &grid, VOXEL_LINES_UP, &made, &to);
    } else {
        status = refuse(&to, TARN_E_MEMORY, "out of memory for %u triangles", ground.triangle_count);
    }
    free(ground.vertices_m);
    free(ground.triangles);
    if (status == TARN_OK) {
        *field = made;
    }
    return status;
}
