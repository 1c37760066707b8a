// Walls: solids that don't move and come while the tank runs. Distances near them are taken at the cells' corners like
// those of the description's, and the lesser of both counts.
//
//     which tiles may be near ─ nodes of these anew ─ to the device ─ shares of these and of the tiles beside them
//
// They have tables of their own on the device: a tank without walls has the description's, untouched.
#include "kernels/grid/grid_host.h"
#include "protocol/assert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MORE_TILES_MAX = 4096 }; // near walls and not near the description's solids

/// How much farther a wall's one side is than its other, per cell: particles in its middle are to know where out is.
#define TIP (1.0 / 128.0)

void grid_walls_free(grid_host *grid)
{
    wall_tiles *walls = &grid->walls;
    grid_solids_drop(&walls->still);
    free(walls->tile);
    free(walls->dense);
    free(walls->spare);
    free(walls->listed);
    free(walls->touched);
    memset(walls, 0, sizeof *walls);
}

double grid_wall_distance(const grid_host *grid, const tarn_solid *wall, const double at_m[3])
{
    double local_m[3];
    tarn_pose_to_shape(&wall->pose, at_m, local_m);
    return tarn_shape_distance_m(&wall->shape, NULL, local_m) / (double)grid->desc.cell_m;
}

/// A little less on one side of the thinnest way through, and more on the other.
static double tipped_distance(const grid_host *grid, const tarn_solid *wall, const double at_m[3])
{
    const float *half_m = wall->shape.half_m;
    const double cell_m = (double)grid->desc.cell_m;
    double local_m[3], across_m;
    tarn_pose_to_shape(&wall->pose, at_m, local_m);
    const double cells = tarn_shape_distance_m(&wall->shape, NULL, local_m) / cell_m;
    if (wall->shape.kind == TARN_SHAPE_BOX) {
        const int xz = half_m[0] <= half_m[2] ? 0 : 2;
        across_m = local_m[half_m[1] < half_m[xz] ? 1 : xz];
    } else {
        across_m = local_m[0] + 0.5 * local_m[2];
    }
    return cells + TIP * fmin(fmax(across_m / cell_m, -1.0), 1.0);
}

static int16_t node_of(double cells)
{
    return (int16_t)lrint(fmin(fmax(cells, -31.0), 31.0) * SOLID_NODE_UNIT);
}

static void tile_corner(const grid_host *grid, uint32_t dense, int first[3])
{
    const tile_place place = tile_place_of(&grid->args->shape, 0, dense);
    first[0] = place.x * TILE_EDGE;
    first[1] = place.y * TILE_EDGE;
    first[2] = place.z * TILE_EDGE;
}

/// Whether a wall may be near somewhere in a tile.
static bool may_be_near(const grid_host *grid, const tarn_solid *wall, const int first[3])
{
    const double radius = 0.5 * TILE_EDGE * sqrt(3.0);
    double center_m[3];
    for (int a = 0; a < 3; a++) {
        center_m[a] = (first[a] + 0.5 * TILE_EDGE) * (double)grid->desc.cell_m;
    }
    return grid_wall_distance(grid, wall, center_m) <= radius + SOLID_NEAR_CELLS + 1.0;
}

/// Joins a wall to a tile's nodes. @return whether it is near or around any
static bool join_wall(const grid_host *grid, const tarn_solid *wall, const int first[3], int16_t *node)
{
    bool near = false;
    for (uint32_t i = 0; i < SOLID_NODES; i++) {
        double at_m[3];
        grid_node_place(&grid->desc, first, i, at_m);
        const double cells = tipped_distance(grid, wall, at_m);
        const int16_t value = node_of(cells);
        near |= cells <= SOLID_NEAR_CELLS;
        node[i] = value < node[i] ? value : node[i];
    }
    return near;
}

/// What the description's solids and all walls are in a tile. @return whether its nodes are needed
static bool fill_nodes(const grid_host *grid, uint32_t dense, int16_t *node)
{
    const solid_samples *still = &grid->walls.still;
    const uint32_t i = still->tile[dense];
    bool near = i != TILE_NONE;
    int first[3];
    TARN_ASSERT(i == TILE_NONE || i < still->count);
    if (i != TILE_NONE) {
        memcpy(node, still->node + (size_t)i * SOLID_NODES, SOLID_NODES * sizeof *node);
    } else {
        for (uint32_t k = 0; k < SOLID_NODES; k++) {
            node[k] = SOLID_NEAR_CELLS * SOLID_NODE_UNIT; // no more is known there
        }
    }
    tile_corner(grid, dense, first);
    for (uint32_t w = 0; w < grid->added.wall_count; w++) {
        if (may_be_near(grid, &grid->added.walls[w], first)) {
            near |= join_wall(grid, &grid->added.walls[w], first, node);
        }
    }
    return near;
}

/// An index for a tile whose nodes are needed. @return false where there is none
static bool give_index(wall_tiles *walls, uint32_t dense)
{
    if (walls->tile[dense] != TILE_NONE) {
        return true;
    }
    if (walls->spare_count == 0 && walls->count == walls->count_max) {
        return false;
    }
    const uint32_t i = walls->spare_count > 0 ? walls->spare[--walls->spare_count] : walls->count++;
    TARN_ASSERT(i < walls->count && walls->count <= walls->count_max);
    walls->tile[dense] = i;
    walls->dense[i] = dense;
    return true;
}

static void add_index(wall_tiles *walls, uint32_t dense)
{
    if (walls->tile[dense] == TILE_NONE) {
        return;
    }
    TARN_ASSERT(walls->spare_count < walls->count);
    TARN_ASSERT(walls->tile[dense] < walls->count && walls->dense[walls->tile[dense]] == dense);
    walls->spare[walls->spare_count++] = walls->tile[dense];
    walls->tile[dense] = TILE_NONE;
}

/// A tile's nodes anew. What lies deep in the description's solids stays so.
static tarn_status renew_tile(grid_host *grid, uint32_t dense)
{
    wall_tiles *walls = &grid->walls;
    int16_t node[SOLID_NODES];
    if (walls->still.tile[dense] == TILE_FULL) {
        return TARN_OK;
    }
    if (!fill_nodes(grid, dense, node)) {
        add_index(walls, dense);
        return TARN_OK;
    }
    if (!give_index(walls, dense)) {
        return TARN_E_LIMIT;
    }
    return tarn_queue_upload(grid->queue, grid->more.solid_node + (size_t)walls->tile[dense] * SOLID_NODES, node,
                             sizeof node);
}

/// Touches the tiles that a wall may be near.
static void touch(grid_host *grid, const tarn_solid *wall)
{
    const grid_shape *shape = &grid->args->shape;
    const double tile_m = TILE_EDGE * (double)grid->desc.cell_m, margin_m = 0.75 * tile_m;
    double min_m[3], max_m[3];
    int from[3], to[3], first[3];
    tarn_shape_bounds_m(&wall->shape, &wall->pose, NULL, min_m, max_m);
    for (int a = 0; a < 3; a++) {
        const double last = shape->tiles[0][a] - 1;
        from[a] = (int)fmin(fmax(floor((min_m[a] - margin_m) / tile_m), 0.0), last + 1.0);
        to[a] = (int)fmin(fmax(floor((max_m[a] + margin_m) / tile_m), -1.0), last);
    }
    for (int z = from[2]; z <= to[2]; z++) {
        for (int y = from[1]; y <= to[1]; y++) {
            for (int x = from[0]; x <= to[0]; x++) {
                const uint32_t dense = tile_dense_of(shape, 0, x, y, z);
                tile_corner(grid, dense, first);
                grid->walls.touched[dense] |= (uint8_t)may_be_near(grid, wall, first);
            }
        }
    }
}

/// The touched tiles and those beside them, whose shares follow from their nodes. @return how many have any
static uint32_t list_touched(grid_host *grid)
{
    wall_tiles *walls = &grid->walls;
    const grid_shape *shape = &grid->args->shape;
    uint32_t count = 0;
    for (uint32_t t = 0; t < shape->tile_total[0]; t++) {
        if (walls->tile[t] == TILE_NONE || walls->tile[t] == TILE_FULL) {
            continue;
        }
        const tile_place place = tile_place_of(shape, 0, t);
        bool touched = false;
        for (uint32_t n = 0; n < 27; n++) {
            const uint32_t beside = tile_neighbour(shape, 0, place, n);
            touched |= beside != TILE_NONE && walls->touched[beside];
        }
        if (touched) {
            TARN_ASSERT(count < walls->count_max);
            walls->listed[count++] = walls->tile[t];
        }
    }
    return count;
}

/// Brings the tables to the device, and computes what is left open near the touched tiles.
static tarn_status finish(grid_host *grid)
{
    wall_tiles *walls = &grid->walls;
    const size_t table = (size_t)grid->args->shape.tile_total[0] * 4;
    const uint32_t listed = list_touched(grid);
    TARN_ASSERT(listed <= walls->count - walls->spare_count);
    TARN_ASSERT(grid->more.solid_tile != NULL && grid->more.solid_node != NULL);
    tarn_status status = tarn_queue_upload(grid->queue, grid->more.solid_tile, walls->tile, table);
    if (status == TARN_OK && walls->count > 0) {
        status =
            tarn_queue_upload(grid->queue, grid->more.solid_dense, walls->dense, walls->count * sizeof *walls->dense);
    }
    if (status == TARN_OK && listed > 0) {
        status = tarn_queue_upload(grid->queue, grid->more.solid_listed, walls->listed, listed * sizeof *walls->listed);
    }
    if (status != TARN_OK || listed == 0) {
        return status;
    }
    grid_args args = *grid->args;
    args.m.solid_tile = grid->more.solid_tile;
    args.m.solid_dense = grid->more.solid_dense;
    args.m.solid_node = grid->more.solid_node;
    args.m.solid_listed = grid->more.solid_listed;
    for (int a = 0; a < 3; a++) {
        args.m.solid_open[a] = grid->more.solid_open[a];
    }
    args.m.solid_room = grid->more.solid_room;
    args.m.solid_sides = grid->more.solid_sides;
    grid_launch(grid, &args, GRID_KERNEL(solid_shares), NULL, listed);
    return TARN_OK;
}

static tarn_status renew_touched(grid_host *grid)
{
    tarn_status status = TARN_OK;
    for (uint32_t t = 0; t < grid->args->shape.tile_total[0] && status == TARN_OK; t++) {
        if (grid->walls.touched[t]) {
            status = renew_tile(grid, t);
            tarn_queue_yield(grid->queue);
        }
    }
    return status == TARN_OK ? finish(grid) : status;
}

bool grid_walls_fit(grid_host *grid, const tarn_solid *some, uint32_t count)
{
    wall_tiles *walls = &grid->walls;
    grid_added *added = &grid->added;
    const uint32_t total = grid->args->shape.tile_total[0], room = walls->count_max - walls->count + walls->spare_count;
    int16_t node[SOLID_NODES];
    uint32_t needed = 0;
    TARN_ASSERT(walls->is_current);
    TARN_ASSERT(walls->count <= walls->count_max && walls->spare_count <= walls->count);
    TARN_ASSERT(count <= TARN_TANK_WALLS_MAX - added->wall_count);
    memset(walls->touched, 0, total);
    memcpy(added->walls + added->wall_count, some, count * sizeof *some); // as if they stood
    added->wall_count += count;
    for (uint32_t i = 0; i < count; i++) {
        touch(grid, &some[i]);
    }
    for (uint32_t t = 0; t < total && needed <= room; t++) {
        if (walls->touched[t] && walls->tile[t] == TILE_NONE && walls->still.tile[t] != TILE_FULL) {
            needed += fill_nodes(grid, t, node);
            tarn_queue_yield(grid->queue);
        }
    }
    added->wall_count -= count;
    memset(added->walls + added->wall_count, 0, count * sizeof *some);
    return needed <= room;
}

tarn_status grid_walls_change(grid_host *grid, const tarn_solid *some, uint32_t count)
{
    TARN_ASSERT(grid->walls.is_current);
    memset(grid->walls.touched, 0, grid->args->shape.tile_total[0]);
    for (uint32_t i = 0; i < count; i++) {
        touch(grid, &some[i]);
    }
    return renew_touched(grid);
}

/// The host's tables and the device's, once.
static tarn_status open_walls(grid_host *grid)
{
    wall_tiles *walls = &grid->walls;
    const uint32_t total = grid->args->shape.tile_total[0];
    if (walls->tile != NULL) {
        return TARN_OK;
    }
    tarn_status status = grid_solids_sample(grid, &walls->still);
    walls->count_max = tile_min_u32(total, walls->still.count + MORE_TILES_MAX);
    walls->dense = malloc(walls->count_max * sizeof *walls->dense);
    walls->spare = malloc(walls->count_max * sizeof *walls->spare);
    walls->listed = malloc(walls->count_max * sizeof *walls->listed);
    walls->touched = malloc(total);
    walls->tile = malloc(total * sizeof *walls->tile);
    if (walls->dense == NULL || walls->spare == NULL || walls->listed == NULL || walls->touched == NULL ||
        walls->tile == NULL) {
        status = TARN_E_MEMORY;
    }
    if (status == TARN_OK) {
        status = grid_carve_more_solids(grid, walls->count_max);
    }
    if (status != TARN_OK) {
        grid_walls_free(grid);
    }
    return status;
}

tarn_status grid_walls_renew(grid_host *grid)
{
    wall_tiles *walls = &grid->walls;
    tarn_status status = open_walls(grid);
    if (status != TARN_OK) {
        return status;
    }
    const solid_samples *still = &walls->still;
    const uint32_t total = grid->args->shape.tile_total[0];
    TARN_ASSERT(still->count <= walls->count_max);
    memcpy(walls->tile, still->tile, total * sizeof *walls->tile);
    if (still->count > 0) {
        memcpy(walls->dense, still->dense, still->count * sizeof *walls->dense);
    }
    walls->count = still->count;
    walls->spare_count = 0;
    for (uint32_t t = 0; t < total; t++) {
        walls->touched[t] = still->tile[t] != TILE_NONE;
    }
    for (uint32_t w = 0; w < grid->added.wall_count; w++) {
        touch(grid, &grid->added.walls[w]);
    }
    status = renew_touched(grid);
    walls->is_current = status == TARN_OK;
    return status;
}
