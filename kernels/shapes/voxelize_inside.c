// Which nodes lie in the solid: counts where the grid's lines cross the surface.
//
//     triangles -> crossings between the nodes of each line -> running sums from either end -> votes
//
// A line that meets an edge or a corner must cross exactly one of the triangles there, or the count is wrong for all
// nodes behind. Each line is therefore taken to lie a little beside itself, by an infinitely small step along one axis
// and a still smaller one along the other, and the side of an edge that it's on is computed from the edge's ends in one
// order, whichever triangle asks.
#include "kernels/shapes/voxelize_internal.h"

#include <string.h>

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

void voxel_find_inside(const tarn_mesh *mesh, const voxel_grid *grid, voxel_lines lines, voxel_work *work)
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
