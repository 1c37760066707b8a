/// What voxelize.c and its two stages share: voxelize_inside.c finds the nodes in the solid, voxelize_nearest.c the
/// distances without sign.
#ifndef TARN_KERNELS_SHAPES_VOXELIZE_INTERNAL_H
#define TARN_KERNELS_SHAPES_VOXELIZE_INTERNAL_H

#include "kernels/shapes/voxelize.h"

#include <stdbool.h>

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

/// Fills work->votes. A node is inside when its votes are above 0.
void voxel_find_inside(const tarn_mesh *mesh, const voxel_grid *grid, voxel_lines lines, voxel_work *work);

/// Fills work->distance_m with distances, all 0 or above.
void voxel_find_nearest(const tarn_mesh *mesh, const voxel_grid *grid, voxel_work *work);

#endif
