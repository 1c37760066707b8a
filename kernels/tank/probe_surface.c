// Surfaces that stand still, in cells: a face's cover is what the grid makes of distances at its corners (solids.h), a
// cell's share that of its eight parts, as for bodies.
#include "kernels/tank/probe_surface.h"
#include "kernels/grid/grid_host.h"
#include "kernels/grid/solids.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void probe_surface_free(probe_surface *surface)
{
    free(surface->patch);
    free(surface->cell);
    memset(surface, 0, sizeof *surface);
}

/// Room for one more in a list. @return NULL: there is no memory, and the list is as it was
static void *grown(void *list, uint32_t count, uint32_t *room, size_t bytes)
{
    if (count < *room) {
        return list;
    }
    const uint32_t wanted = *room > 0 ? 2 * *room : 64;
    void *larger = realloc(list, wanted * bytes);
    *room = larger != NULL ? wanted : *room;
    return larger;
}

static tarn_status put_cell(probe_surface *to, const tank_probe_cell *cell)
{
    if (to->cell_count >= TARN_PROBE_SURFACE_CELLS_MAX) {
        return TARN_E_LIMIT;
    }
    tank_probe_cell *list = grown(to->cell, to->cell_count, &to->cell_room, sizeof *list);
    if (list == NULL) {
        return TARN_E_MEMORY;
    }
    to->cell = list;
    list[to->cell_count++] = *cell;
    return TARN_OK;
}

/// Ends a tile's part: the cells from `first` on.
static tarn_status put_patch(probe_surface *to, uint32_t number, uint32_t dense, uint32_t first)
{
    if (to->cell_count == first) {
        return TARN_OK;
    }
    tank_probe_patch *list = grown(to->patch, to->patch_count, &to->patch_room, sizeof *list);
    if (list == NULL) {
        return TARN_E_MEMORY;
    }
    to->patch = list;
    list[to->patch_count++] = (tank_probe_patch){number, dense, first, to->cell_count};
    return TARN_OK;
}

// --------------------------------------------------------------------------------------------------------------- tiles

/// Cells of a tile that are in the tank: from its first one on, along each axis.
typedef struct tile_box {
    uint32_t dense;
    int first[3], count[3];
} tile_box;

typedef tarn_status (*tile_visit)(void *context, const tile_box *tile);

/// Visits the tiles that hold cells low..high, ascending.
static tarn_status each_tile(const tarn_tank_desc *desc, const int low[3], const int high[3], tile_visit visit,
                             void *context)
{
    int tiles[3], begin[3], end[3];
    tarn_status status = TARN_OK;
    for (int a = 0; a < 3; a++) {
        tiles[a] = ((int)desc->cells[a] + TILE_EDGE - 1) / TILE_EDGE;
        begin[a] = tile_clamp_i32(low[a] / TILE_EDGE, 0, tiles[a] - 1);
        end[a] = tile_clamp_i32(high[a] / TILE_EDGE, 0, tiles[a] - 1);
    }
    for (int z = begin[2]; z <= end[2]; z++) {
        for (int y = begin[1]; y <= end[1]; y++) {
            for (int x = begin[0]; x <= end[0] && status == TARN_OK; x++) {
                tile_box tile = {.dense = (uint32_t)((z * tiles[1] + y) * tiles[0] + x),
                                 .first = {x * TILE_EDGE, y * TILE_EDGE, z * TILE_EDGE}};
                for (int a = 0; a < 3; a++) {
                    tile.count[a] = tile_min_i32(TILE_EDGE, (int)desc->cells[a] - tile.first[a]);
                }
                status = visit(context, &tile);
            }
        }
    }
    return status;
}

// --------------------------------------------------------------------------------------------------------------- walls

int tank_probe_points(tarn_probe_kind kind)
{
    static const int points[TARN_PROBE_KIND_COUNT] = {1, 2, 3, 3, 0};
    return points[kind];
}

int probe_wall_of(const tarn_tank_desc *desc, const tarn_probe *probe)
{
    for (int a = 0; a < 3; a++) {
        const float size = (float)desc->cells[a] * desc->cell_m, slack = 1e-3f * desc->cell_m;
        bool low = true, high = true;
        for (int i = 0; i < 3; i++) {
            low = low && probe->points_m[i][a] <= slack;
            high = high && probe->points_m[i][a] >= size - slack;
        }
        if (low || high) {
            return 2 * a + (high ? 1 : 0);
        }
    }
    return -1;
}

typedef struct wall_part {
    probe_surface *to;
    uint32_t number;
    int axis, is_far;
    double low[3], high[3]; ///< cells
} wall_part;

static double overlap(const wall_part *part, int axis, int cell)
{
    return fmax(fmin(part->high[axis], cell + 1.0) - fmax(part->low[axis], (double)cell), 0.0);
}

static tarn_status visit_wall(void *context, const tile_box *tile)
{
    const wall_part *part = context;
    const int a = part->axis, u = (a + 1) % 3, v = (a + 2) % 3, first = (int)part->to->cell_count;
    tarn_status status = TARN_OK;
    int at[3];
    at[a] = part->is_far ? tile->count[a] - 1 : 0;
    for (at[v] = 0; at[v] < tile->count[v]; at[v]++) {
        for (at[u] = 0; at[u] < tile->count[u] && status == TARN_OK; at[u]++) {
            const double share = overlap(part, u, tile->first[u] + at[u]) * overlap(part, v, tile->first[v] + at[v]);
            const int area = (int)lrint(share * 255.0);
            tank_probe_cell cell = {.cell = (uint16_t)cell_index(at[0], at[1], at[2])};
            cell.cover[a] = (int16_t)(part->is_far ? area : -area);
            cell.lack[a] = (int16_t)-area;
            status = area > 0 ? put_cell(part->to, &cell) : TARN_OK;
        }
    }
    return status == TARN_OK ? put_patch(part->to, part->number, tile->dense, (uint32_t)first) : status;
}

tarn_status probe_surface_wall(probe_surface *to, const tarn_tank_desc *desc, const tarn_probe *probe, uint32_t number,
                               float center[3])
{
    const int wall = probe_wall_of(desc, probe);
    wall_part part = {.to = to, .number = number, .axis = wall / 2, .is_far = wall % 2};
    int low[3], high[3];
    for (int a = 0; a < 3; a++) {
        double from = INFINITY, end = -INFINITY;
        for (int i = 0; i < 3; i++) { // the fourth corner is no farther out: its sides lie along the axes
            from = fmin(from, (double)probe->points_m[i][a] / (double)desc->cell_m);
            end = fmax(end, (double)probe->points_m[i][a] / (double)desc->cell_m);
        }
        part.low[a] = from;
        part.high[a] = end;
        center[a] = (float)(0.5 * (from + end));
        low[a] = tile_clamp_i32((int)floor(from), 0, (int)desc->cells[a] - 1);
        high[a] = tile_clamp_i32((int)ceil(end) - 1, low[a], (int)desc->cells[a] - 1);
    }
    low[part.axis] = high[part.axis] = part.is_far ? (int)desc->cells[part.axis] - 1 : 0;
    return each_tile(desc, low, high, visit_wall, &part);
}

// -------------------------------------------------------------------------------------------------------------- solids

typedef struct solid_part {
    probe_surface *to;
    const tarn_tank_desc *desc;
    uint64_t solid; ///< a bit
    float node[SOLID_NODES];
} solid_part;

static double distance_at(const solid_part *part, double x, double y, double z)
{
    const double cell_m = (double)part->desc->cell_m, at_m[3] = {x * cell_m, y * cell_m, z * cell_m};
    return grid_solids_distance_m(part->desc, part->solid, at_m) / cell_m;
}

/// What a solid takes of a cell, 0..255: body_share's.
static int share_of(const solid_part *part, const int cell[3])
{
    int sum = 0;
    for (int k = 0; k < 8; k++) {
        const double distance = distance_at(part, cell[0] + 0.25 + 0.5 * (k & 1), cell[1] + 0.25 + 0.5 * (k >> 1 & 1),
                                            cell[2] + 0.25 + 0.5 * (k >> 2 & 1));
        sum += (int)lrint(fmin(fmax(0.5 - 2.0 * distance, 0.0), 1.0) * 255.0);
    }
    return (sum + 4) >> 3;
}

/// What it covers of a cell's face, 0..255.
static int cover_of_face(const solid_part *part, const int local[3], int axis, int is_upper)
{
    const int u = axis == 0 ? 1 : 0, v = axis == 2 ? 1 : 2;
    float corner[4];
    for (int k = 0; k < 4; k++) {
        int node[3] = {local[0], local[1], local[2]};
        node[axis] += is_upper;
        node[u] += k == 1 || k == 2;
        node[v] += k >= 2;
        corner[k] = part->node[node_of_tile(node[0], node[1], node[2])];
    }
    return 255 - square_share(corner[0], corner[1], corner[2], corner[3]);
}

/// Whether the solid's surface passes between a cell's corners.
static bool is_cut(const solid_part *part, const int local[3])
{
    int shut = 0;
    for (int k = 0; k < 8; k++) {
        shut += part->node[node_of_tile(local[0] + (k & 1), local[1] + (k >> 1 & 1), local[2] + (k >> 2 & 1))] <= 0.0f;
    }
    return shut > 0 && shut < 8;
}

static tarn_status visit_cell(const solid_part *part, const tile_box *tile, const int local[3])
{
    if (!is_cut(part, local)) {
        return TARN_OK;
    }
    const int at[3] = {tile->first[0] + local[0], tile->first[1] + local[1], tile->first[2] + local[2]};
    tank_probe_cell cell = {.cell = (uint16_t)cell_index(local[0], local[1], local[2])};
    int both[3], all = 0;
    for (int a = 0; a < 3; a++) {
        const int above = cover_of_face(part, local, a, 1), below = cover_of_face(part, local, a, 0);
        cell.cover[a] = (int16_t)(above - below);
        both[a] = above + below;
        all += both[a];
    }
    if (all == 0 || all == 6 * 255) {
        return TARN_OK; // beside no surface
    }
    const int share = share_of(part, at);
    for (int a = 0; a < 3; a++) {
        cell.lack[a] = (int16_t)(2 * share - both[a]);
    }
    return put_cell(part->to, &cell);
}

static tarn_status visit_solid(void *context, const tile_box *tile)
{
    solid_part *part = context;
    const uint32_t first = part->to->cell_count;
    const double half = 0.5 * TILE_EDGE;
    if (fabs(distance_at(part, tile->first[0] + half, tile->first[1] + half, tile->first[2] + half)) >
        sqrt(3.0) * (half + 1.0)) {
        return TARN_OK;
    }
    for (uint32_t i = 0; i < SOLID_NODES; i++) {
        const uint32_t x = i % SOLID_EDGE, y = i / SOLID_EDGE % SOLID_EDGE, z = i / (SOLID_EDGE * SOLID_EDGE);
        const double cells =
            distance_at(part, tile->first[0] + (double)x, tile->first[1] + (double)y, tile->first[2] + (double)z);
        // As the grid keeps it.
        part->node[i] = (float)(lrint(fmin(fmax(cells, -31.0), 31.0) * SOLID_NODE_UNIT) * (1.0 / SOLID_NODE_UNIT));
    }
    tarn_status status = TARN_OK;
    int local[3];
    for (local[2] = 0; local[2] < tile->count[2]; local[2]++) {
        for (local[1] = 0; local[1] < tile->count[1]; local[1]++) {
            for (local[0] = 0; local[0] < tile->count[0] && status == TARN_OK; local[0]++) {
                status = visit_cell(part, tile, local);
            }
        }
    }
    return status == TARN_OK ? put_patch(part->to, 0, tile->dense, first) : status;
}

/// As probe_surface_solid, of a solid that isn't known.
static tarn_status find_solid(probe_solid *found, const tarn_tank_desc *desc, uint32_t solid)
{
    const tarn_solid *of = &desc->solids[solid];
    solid_part part = {.to = &found->surface, .desc = desc, .solid = UINT64_C(1) << solid};
    const double cell_m = (double)desc->cell_m;
    double min_m[3], max_m[3], at_m[3];
    tarn_shape_mass mass;
    int low[3], high[3];
    tarn_shape_bounds_m(&of->shape, &of->pose, desc->fields, min_m, max_m);
    for (int a = 0; a < 3; a++) {
        at_m[a] = 0.5 * (min_m[a] + max_m[a]);
        low[a] = (int)fmin(fmax(floor(min_m[a] / cell_m) - 1.0, 0.0), desc->cells[a] - 1.0);
        high[a] = (int)fmin(fmax(ceil(max_m[a] / cell_m), 0.0), desc->cells[a] - 1.0);
    }
    if (tarn_shape_mass_get(&of->shape, desc->fields, &mass) == TARN_OK) {
        tarn_pose_from_shape(&of->pose, mass.center_m, at_m);
    }
    for (int a = 0; a < 3; a++) {
        found->center[a] = (float)(at_m[a] / cell_m);
    }
    const tarn_status status = each_tile(desc, low, high, visit_solid, &part);
    found->is_known = status == TARN_OK;
    if (!found->is_known) {
        probe_surface_free(&found->surface);
    }
    return status;
}

void probe_solids_forget(probe_solid kept[TARN_TANK_SOLIDS_MAX])
{
    for (uint32_t i = 0; kept != NULL && i < TARN_TANK_SOLIDS_MAX; i++) {
        probe_surface_free(&kept[i].surface);
        kept[i].is_known = false;
    }
}

/// Adds what was found of a solid.
static tarn_status put_solid(probe_surface *to, const probe_surface *found, uint32_t number)
{
    tarn_status status = TARN_OK;
    for (uint32_t i = 0; i < found->patch_count && status == TARN_OK; i++) {
        const tank_probe_patch *patch = &found->patch[i];
        const uint32_t first = to->cell_count;
        for (uint32_t k = patch->first; k < patch->end && status == TARN_OK; k++) {
            status = put_cell(to, &found->cell[k]);
        }
        status = status == TARN_OK ? put_patch(to, number, patch->dense, first) : status;
    }
    return status;
}

tarn_status probe_surface_solid(probe_surface *to, const tarn_tank_desc *desc, probe_solid kept[TARN_TANK_SOLIDS_MAX],
                                uint32_t solid, uint32_t number, float center[3])
{
    probe_solid *found = &kept[solid];
    uint64_t cells = 0;
    tarn_status status = found->is_known ? TARN_OK : find_solid(found, desc, solid);
    if (status == TARN_OK) {
        memcpy(center, found->center, sizeof found->center);
        status = put_solid(to, &found->surface, number);
    }
    for (uint32_t i = 0; i < desc->solid_count; i++) {
        cells += kept[i].surface.cell_count;
    }
    if (cells > TARN_PROBE_SURFACE_CELLS_MAX) { // more than the probes of any one time have
        probe_solids_forget(kept);
    }
    return status;
}
