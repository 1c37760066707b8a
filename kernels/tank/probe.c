// Probes on the host: what they are in cells, and what their sums mean. Begin at tarn_probes_create and
// tarn_probes_read.
//
//     one launch ─ one download ─ SI units
//                               └ sums to zero, for the next time
//
// The device adds integers and copies values of the grid; all other arithmetic is here, in doubles, so that figures
// are the same whatever the device is.
#include "kernels/probe.h"
#include "kernels/grid/grid_host.h"
#include "kernels/grid/solids.h"
#include "kernels/tank/probe.h"
#include "kernels/tank/tank_internal.h"
#include "protocol/assert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- surfaces that stand still ----
// In cells: a face's cover is what the grid makes of distances at its corners (solids.h), a cell's share that of its
// eight parts, as for bodies.

static void probe_surface_free(probe_surface *surface)
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

// ---- surfaces: tiles ----

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

// ---- surfaces: walls ----

/// How many of a probe's points its kind has.
static int tank_probe_points(tarn_probe_kind kind)
{
    static const int points[TARN_PROBE_KIND_COUNT] = {1, 2, 3, 3, 0};
    return points[kind];
}

/// Which wall of the tank a rectangle lies in: 2 axis, and one more at the far end; -1: in none.
static int probe_wall_of(const tarn_tank_desc *desc, const tarn_probe *probe)
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

/// Adds the cells of a part of a wall, that a checked probe is.
/// @param center  receives the middle of the part of the wall, cells
/// @return TARN_OK, TARN_E_LIMIT or TARN_E_MEMORY
static tarn_status probe_surface_wall(probe_surface *to, const tarn_tank_desc *desc, const tarn_probe *probe,
                                      uint32_t number, float center[3])
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

// ---- surfaces: solids ----

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

/// Adds the cells of a solid that stands still, as the grid has it.
/// @param kept    of the tank; takes what is found of a solid
/// @param center  receives the solid's centre of mass, cells; of one that has none the middle of the box around it
/// @return TARN_OK, TARN_E_LIMIT or TARN_E_MEMORY
static tarn_status probe_surface_solid(probe_surface *to, const tarn_tank_desc *desc,
                                       probe_solid kept[TARN_TANK_SOLIDS_MAX], uint32_t solid, uint32_t number,
                                       float center[3])
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

// ---- whether probes can be in a tank ----

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static tarn_status check_place(const grid_complaint *why, const tarn_tank_desc *desc, const float *at_m)
{
    for (int a = 0; a < 3; a++) {
        const double size = (double)desc->cells[a] * (double)desc->cell_m, slack = 1e-4 * (double)desc->cell_m;
        if (!((double)at_m[a] >= 0 && (double)at_m[a] <= size + slack)) { // true of NaN, too
            return grid_refuse(why, TARN_E_ARGUMENT, "%c is %g m; allowed is 0 to %g, which is in the tank", "xyz"[a],
                               (double)at_m[a], size);
        }
    }
    return TARN_OK;
}

static tarn_status check_shape(const grid_complaint *why, const tarn_tank_desc *desc, const tarn_probe *probe)
{
    double first[3], second[3];
    const double shortest = 0.01 * (double)desc->cell_m;
    for (int a = 0; a < 3; a++) {
        first[a] = (double)probe->points_m[1][a] - (double)probe->points_m[0][a];
        second[a] = (double)probe->points_m[2][a] - (double)probe->points_m[0][a];
    }
    const double along = sqrt(dot(first, first)), side = sqrt(dot(second, second));
    if (probe->kind == TARN_PROBE_GAUGE && along < shortest) {
        return grid_refuse(why, TARN_E_ARGUMENT, "the gauge is %g m long; allowed is from %g m on", along, shortest);
    }
    const bool is_rectangle = probe->kind == TARN_PROBE_FLUX || probe->kind == TARN_PROBE_WALL;
    if (is_rectangle && (along < shortest || side < shortest)) {
        return grid_refuse(why, TARN_E_ARGUMENT, "the rectangle's sides are %g and %g m; allowed is from %g m on",
                           along, side, shortest);
    }
    if (is_rectangle && fabs(dot(first, second)) > 1e-3 * along * side) {
        return grid_refuse(why, TARN_E_ARGUMENT, "the corners beside the first make no right angle");
    }
    return TARN_OK;
}

tarn_status tarn_probe_check(const tarn_tank_desc *desc, const tarn_probe *probe, char *why, size_t why_bytes)
{
    const grid_complaint complaint = {why, why_bytes};
    const tank_model *model = tank_model_of(desc);
    if ((unsigned)probe->kind >= TARN_PROBE_KIND_COUNT) {
        return grid_refuse(&complaint, TARN_E_ARGUMENT, "the kind is %u; allowed is 0 to %d", (unsigned)probe->kind,
                           TARN_PROBE_KIND_COUNT - 1);
    }
    if (model->fills && probe->kind != TARN_PROBE_POINT) {
        return grid_refuse(&complaint, TARN_E_ARGUMENT, "%s fills its tank and has no surface; allowed are points",
                           model->shown.name);
    }
    if (probe->kind == TARN_PROBE_FORCE) {
        return probe->solid < desc->solid_count
                   ? TARN_OK
                   : grid_refuse(&complaint, TARN_E_ARGUMENT, "the solid is %u; the tank has %u, counted from 0",
                                 probe->solid, desc->solid_count);
    }
    tarn_status status = TARN_OK;
    for (int i = 0; i < tank_probe_points(probe->kind) && status == TARN_OK; i++) {
        status = check_place(&complaint, desc, probe->points_m[i]);
    }
    status = status == TARN_OK ? check_shape(&complaint, desc, probe) : status;
    if (status == TARN_OK && probe->kind == TARN_PROBE_WALL && probe_wall_of(desc, probe) < 0) {
        return grid_refuse(&complaint, TARN_E_ARGUMENT, "the rectangle lies in none of the tank's walls");
    }
    return status;
}

// ---- probes ----

// Not in the tank's list: no step launches it.
TARN_KERNEL_DECLARE(tank_probe_all)
static const tarn_kernel probe_kernel = TARN_KERNEL_DEFINE(tank_probe_all);

_Static_assert((int)TARN_PROBE_POINT == (int)PROBE_POINT && (int)TARN_PROBE_GAUGE == (int)PROBE_GAUGE &&
                   (int)TARN_PROBE_FLUX == (int)PROBE_FLUX && (int)TARN_PROBE_WALL == (int)PROBE_WALL &&
                   (int)TARN_PROBE_FORCE == (int)PROBE_FORCE,
               "kernels name kinds as the interface does");
_Static_assert((int)TARN_MODEL_CARRIED_MAX == (int)CARRIED_MAX, "a reading has all that particles carry");

struct tarn_probes {
    tarn_tank *tank;
    uint32_t count;
    uint32_t sum_count, cell_count;
    tank_probe probe[TARN_PROBES_MAX];
    uint32_t point[TARN_PROBES_MAX], mover[TARN_PROBES_MAX];
    tank_probe_tile *tiles; ///< host, while they are made
    probe_surface surface;  ///< the same
    tank_probe_args args;
    void *given, *found; ///< device: what kernels read; sums, and behind them cells
    uint8_t *host;       ///< what was found
    size_t found_bytes;
};

// ---- probes: what they are in cells ----

/// A unit vector from a to b. @return its length, cells
static float direction(const tarn_tank_desc *desc, const float *a_m, const float *b_m, float *unit)
{
    double way[3], length = 0.0;
    for (int a = 0; a < 3; a++) {
        way[a] = ((double)b_m[a] - (double)a_m[a]) / (double)desc->cell_m;
        length += way[a] * way[a];
    }
    length = sqrt(length);
    for (int a = 0; a < 3; a++) {
        unit[a] = (float)(way[a] / length);
    }
    return (float)length;
}

/// The box in which particles count for a probe, and the tiles that it meets.
static void find_box(const tarn_tank_desc *desc, const tarn_probe *from, tank_probe *probe, int first[3], int last[3])
{
    for (int a = 0; a < 3; a++) {
        double low = (double)from->points_m[0][a], high = low, corner = low;
        for (int i = 1; i < tank_probe_points(from->kind); i++) {
            low = fmin(low, (double)from->points_m[i][a]);
            high = fmax(high, (double)from->points_m[i][a]);
            corner += (double)from->points_m[i][a] - (double)from->points_m[0][a];
        }
        if (from->kind == TARN_PROBE_FLUX) { // the fourth corner
            low = fmin(low, corner);
            high = fmax(high, corner);
        }
        // A point's weights end after a cell, exactly as it lies; the others' places are rounded once more.
        const bool is_point = from->kind == TARN_PROBE_POINT;
        const double cells = (double)desc->cells[a], slack = is_point ? 0.0 : 0.001;
        const double reach = desc->cells[a] == 1 ? 2.0 : 1.0 + slack;
        low = is_point ? (double)probe->at[a] : low / (double)desc->cell_m;
        high = is_point ? low : high / (double)desc->cell_m;
        low = fmin(fmax(low - reach, 0.0), cells);
        high = fmin(fmax(high + reach, 0.0), cells);
        probe->low[a] = (uint32_t)(low * (1 << POSITION_BITS));
        probe->extent[a] = (uint32_t)ceil(high * (1 << POSITION_BITS)) - 1 - probe->low[a];
        const int tiles = ((int)desc->cells[a] + TILE_EDGE - 1) / TILE_EDGE;
        first[a] = tile_min_i32((int)low / TILE_EDGE, tiles - 1);
        last[a] = tile_min_i32((int)((probe->low[a] + probe->extent[a]) >> TILE_POSITION_BITS), tiles - 1);
    }
}

/// Whether particles of a tile may count for a probe, of those in its box: what a slanted one passes by is left out.
static bool meets_tile(const tank_probe *probe, int x, int y, int z)
{
    const double reach = 1.001 * sqrt(3.0) * (0.5 * TILE_EDGE + 1.0); // to a corner, and a cell beyond
    const double off[3] = {(x + 0.5) * TILE_EDGE - (double)probe->at[0], (y + 0.5) * TILE_EDGE - (double)probe->at[1],
                           (z + 0.5) * TILE_EDGE - (double)probe->at[2]};
    double square = 0.0, along = 0.0, up = 0.0;
    for (int a = 0; a < 3; a++) {
        square += off[a] * off[a];
        along += off[a] * (double)probe->along[a];
        up += off[a] * (double)probe->up[a];
    }
    return probe->kind == PROBE_POINT || (probe->kind == PROBE_FLUX && fabs(up) <= reach) ||
           (probe->kind == PROBE_GAUGE && square - along * along <= reach * reach);
}

static tarn_status list_tiles(tarn_probes *p, uint32_t probe, const int first[3], const int last[3])
{
    const int32_t *tiles = p->tank->args->grid.shape.tiles[0];
    const uint32_t more = (uint32_t)((last[0] - first[0] + 1) * (last[1] - first[1] + 1) * (last[2] - first[2] + 1));
    tank_probe_tile *list = realloc(p->tiles, ((size_t)p->args.tile_count + more) * sizeof *list);
    if (list == NULL) {
        return TARN_E_MEMORY;
    }
    p->tiles = list;
    for (int z = first[2]; z <= last[2]; z++) {
        for (int y = first[1]; y <= last[1]; y++) {
            for (int x = first[0]; x <= last[0]; x++) {
                if (meets_tile(&p->probe[probe], x, y, z)) {
                    list[p->args.tile_count++] =
                        (tank_probe_tile){probe, (uint32_t)((z * tiles[1] + y) * tiles[0] + x)};
                }
            }
        }
    }
    return TARN_OK;
}

/// A force's: the cells of what stands still, or whose body it is on.
static tarn_status place_force(tarn_probes *p, const tarn_probe *from, tank_probe *probe)
{
    const grid_host *grid = &p->tank->grid;
    const uint32_t number = p->count++;
    p->sum_count += PROBE_FORCE_SUMS;
    if (from->kind == TARN_PROBE_WALL) {
        return probe_surface_wall(&p->surface, &grid->desc, from, number, probe->at);
    }
    if (grid->desc.solids[from->solid].motion == TARN_MOTION_STATIC) {
        probe_solid **kept = &p->tank->probed;
        *kept = *kept != NULL ? *kept : calloc(TARN_TANK_SOLIDS_MAX, sizeof **kept);
        return *kept == NULL ? TARN_E_MEMORY
                             : probe_surface_solid(&p->surface, &grid->desc, *kept, from->solid, number, probe->at);
    }
    while (probe->body < grid->own_body_count && grid->body_solid[probe->body] != from->solid) {
        probe->body++;
    }
    TARN_ASSERT(probe->body < grid->own_body_count);
    p->mover[p->args.mover_count++] = number;
    return TARN_OK;
}

/// The vector product.
static void cross(const float *a, const float *b, float *to)
{
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        to[i] = a[j] * b[k] - a[k] * b[j];
    }
}

/// @return whether a unit vector lies along an axis
static bool find_axis(const float *unit, uint32_t *axis)
{
    int others = 0;
    for (uint32_t a = 0; a < 3; a++) {
        *axis = unit[a] != 0.0f ? a : *axis;
        others += unit[a] == 0.0f;
    }
    return others == 2;
}

static tarn_status place(tarn_probes *p, const tarn_probe *from)
{
    const tarn_tank_desc *desc = &p->tank->grid.desc;
    tank_probe *probe = &p->probe[p->count];
    int first[3], last[3];
    memset(probe, 0, sizeof *probe);
    probe->kind = (uint32_t)from->kind;
    probe->first = p->sum_count;
    if (from->kind >= TARN_PROBE_WALL) {
        return place_force(p, from, probe);
    }
    for (int a = 0; a < 3; a++) {
        probe->at[a] = tile_clamp_f32(from->points_m[0][a] / desc->cell_m, 0.0f, (float)desc->cells[a]);
    }
    if (from->kind == TARN_PROBE_POINT) {
        p->sum_count += PROBE_POINT_SUMS;
        probe->cells = p->cell_count;
        p->cell_count += PROBE_CELLS;
        p->point[p->args.point_count++] = p->count;
    } else {
        probe->length[0] = direction(desc, from->points_m[0], from->points_m[1], probe->along);
        probe->samples = 1;
        if (from->kind == TARN_PROBE_FLUX) {
            probe->length[1] = direction(desc, from->points_m[0], from->points_m[2], probe->side);
            cross(probe->along, probe->side, probe->up);
            probe->is_along_axes = find_axis(probe->along, &probe->axis[0]) &&
                                   find_axis(probe->side, &probe->axis[1]) && find_axis(probe->up, &probe->axis[2]);
        } else {
            probe->samples += (uint32_t)(probe->length[0] * (float)PROBE_SAMPLES_PER_CELL);
        }
        probe->part = probe->length[0] / (float)probe->samples;
        probe->per_part = 1.0f / probe->part;
        for (int a = 0; a < 3; a++) {
            probe->per_along[a] = fabsf(probe->along[a]) > 1e-6f ? 1.0f / probe->along[a] : 0.0f;
        }
        p->sum_count += probe->samples;
    }
    find_box(desc, from, probe, first, last);
    return list_tiles(p, p->count++, first, last);
}

// ---- probes: memory ----

static size_t aligned(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/// What goes to the device once.
typedef struct upload {
    const void *from;
    size_t bytes;
} upload;

static tarn_status take_memory(tarn_probes *p)
{
    const upload parts[] = {
        {p->probe, sizeof p->probe},
        {p->point, sizeof p->point},
        {p->mover, sizeof p->mover},
        {p->tiles, (size_t)p->args.tile_count * sizeof *p->tiles},
        {p->surface.patch, (size_t)p->surface.patch_count * sizeof *p->surface.patch},
        {p->surface.cell, (size_t)p->surface.cell_count * sizeof *p->surface.cell},
    };
    enum { PARTS = sizeof parts / sizeof parts[0] };
    const void *at[PARTS];
    const size_t sums = (size_t)p->sum_count * sizeof(uint64_t);
    size_t given_bytes = 0;
    for (int i = 0; i < PARTS; i++) {
        given_bytes += aligned(parts[i].bytes);
    }
    tarn_device *device = p->tank->grid.device;
    tarn_queue *queue = p->tank->grid.queue;
    p->found_bytes = sums + ((size_t)p->cell_count + 1) * sizeof(float);
    p->host = calloc(1, p->found_bytes);
    p->given = tarn_device_alloc(device, given_bytes);
    p->found = tarn_device_alloc(device, p->found_bytes);
    if (p->host == NULL || p->given == NULL || p->found == NULL) {
        return TARN_E_MEMORY;
    }
    unsigned char *given = p->given, *found = p->found;
    tarn_status status = TARN_OK;
    for (int i = 0; i < PARTS; i++) {
        at[i] = given;
        if (status == TARN_OK && parts[i].bytes > 0) {
            status = tarn_queue_upload(queue, given, parts[i].from, parts[i].bytes);
        }
        given += aligned(parts[i].bytes);
    }
    p->args.probe = at[0];
    p->args.point = at[1];
    p->args.mover = at[2];
    p->args.tile = at[3];
    p->args.patch = at[4];
    p->args.surface = at[5];
    p->args.patch_count = p->surface.patch_count;
    p->args.sum = (uint64_t *)found;
    p->args.cell = (float *)(found + sums);
    if (status == TARN_OK) {
        status = tarn_queue_zero(queue, p->found, sums);
    }
    free(p->tiles);
    p->tiles = NULL;
    probe_surface_free(&p->surface);
    return status;
}

tarn_status tarn_probes_create(tarn_tank *tank, const tarn_probe *probes, uint32_t count, tarn_probes **made)
{
    if (count == 0) {
        return TARN_E_ARGUMENT;
    }
    if (count > TARN_PROBES_MAX) {
        return TARN_E_LIMIT;
    }
    tarn_probes *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return TARN_E_MEMORY;
    }
    p->tank = tank;
    tarn_status status = TARN_OK;
    for (uint32_t i = 0; i < count && status == TARN_OK; i++) {
        status = tarn_probe_check(&tank->grid.desc, &probes[i], NULL, 0);
        status = status == TARN_OK ? place(p, &probes[i]) : status;
    }
    status = status == TARN_OK ? take_memory(p) : status;
    if (status != TARN_OK) {
        tarn_probes_destroy(p);
        return status;
    }
    *made = p;
    return TARN_OK;
}

void tarn_probes_destroy(tarn_probes *probes)
{
    if (probes == NULL) {
        return;
    }
    (void)tarn_queue_wait(probes->tank->grid.queue);
    tarn_device_free(probes->tank->grid.device, probes->given);
    tarn_device_free(probes->tank->grid.device, probes->found);
    free(probes->tiles);
    probe_surface_free(&probes->surface);
    free(probes->host);
    free(probes);
}

// ---- probes: readings ----

static double sum_at(const tarn_probes *p, uint32_t at)
{
    int64_t sum;
    memcpy(&sum, p->host + (size_t)at * sizeof sum, sizeof sum);
    return (double)sum / (1 << PROBE_UNIT_BITS);
}

/// Where a point is between the middles of cells: from that of its own cell, -1..1.
static void off_middle(const tarn_probes *p, const tank_probe *probe, double off[3])
{
    const int32_t *cells = p->tank->args->grid.shape.cells;
    for (int a = 0; a < 3; a++) {
        const double cell = fmin(floor((double)probe->at[a]), cells[a] - 1.0);
        off[a] = cells[a] == 1 ? 0.0 : (double)probe->at[a] - cell - 0.5;
    }
}

static double mixed(double a, double b, double share)
{
    return a + (b - a) * share;
}

/// Between the middles of cells that have a pressure by linear weights. Beside a wall or the surface, where some have
/// none, along each axis as it grows from the other side: at rest that is exact, too.
static double pressure_of(const tarn_probes *p, const tank_probe *probe, const float *cells)
{
    static const int step[3] = {1, 3, 9};
    const int own = PROBE_PRESSURES / 2;
    double off[3], along[8], sloped = (double)cells[own];
    bool is_whole = true, meets_air = false;
    off_middle(p, probe, off);
    for (int corner = 0; corner < 8; corner++) {
        int at = own;
        for (int a = 0; a < 3; a++) {
            at += (corner >> a & 1) && off[a] != 0.0 ? (off[a] > 0.0 ? step[a] : -step[a]) : 0;
        }
        along[corner] = (double)cells[at];
        is_whole &= cells[at] != 0.0f;
    }
    if (is_whole) {
        for (int a = 2, count = 4; a >= 0; a--, count /= 2) {
            for (int i = 0; i < count; i++) {
                along[i] = mixed(along[i], along[i + count], fabs(off[a]));
            }
        }
        return along[0];
    }
    if (cells[own] == 0.0f) {
        return 0.0;
    }
    for (int a = 0; a < 3; a++) {
        const int towards = off[a] > 0.0 ? step[a] : -step[a];
        const double next = (double)cells[own + towards], before = (double)cells[own - towards];
        meets_air |= next == 0.0;
        if (next != 0.0) {
            sloped += (next - (double)cells[own]) * fabs(off[a]);
        } else if (before != 0.0) {
            sloped += ((double)cells[own] - before) * fabs(off[a]);
        }
    }
    return meets_air && cells[own] > 0.0f ? fmax(sloped, 0.0) : sloped;
}

/// A component of what fills the tank, cells per step.
static double flow_of(const tank_probe *probe, const float *faces, int c)
{
    double value[8];
    for (int corner = 0; corner < 8; corner++) {
        value[corner] = (double)faces[8 * c + corner];
    }
    for (int a = 2, count = 4; a >= 0; a--, count /= 2) {
        const double at = (double)(probe->at[a] - (a == c ? 0.0f : 0.5f)); // as probe_face has it
        for (int i = 0; i < count; i++) {
            value[i] = mixed(value[i], value[i + count], at - floor(at));
        }
    }
    return value[0];
}

/// What a pressure of 1 on the grid stands for.
static double pressure_unit_pa(const tarn_tank *tank)
{
    return (double)tank_pressure_m2_s2(tank) * (double)tank->model->pressure_density(tank);
}

static void read_point(const tarn_probes *p, const tank_probe *probe, tarn_probe_reading *to)
{
    const tarn_tank *tank = p->tank;
    const tarn_tank_desc *desc = &tank->grid.desc;
    const double m_s = (double)desc->cell_m / (double)desc->dt_s, rest = (double)tank->args->scale.rest_density;
    const double weight = sum_at(p, probe->first + PROBE_WEIGHT);
    float cells[PROBE_CELLS];
    memcpy(cells, p->host + (size_t)p->sum_count * sizeof(uint64_t) + probe->cells * sizeof *cells, sizeof cells);
    for (int a = 0; a < 3; a++) {
        const double mean = weight > 0.0 ? sum_at(p, probe->first + PROBE_MOMENTUM + (uint32_t)a) / weight : 0.0;
        const double flow = p->args.has_flow ? flow_of(probe, cells + PROBE_PRESSURES, a) : mean;
        to->velocity_m_s[a] = (float)(flow * m_s);
    }
    if (p->args.has_pressure) {
        to->pressure_pa = (float)(pressure_of(p, probe, cells) * pressure_unit_pa(tank));
    }
    to->share = tank->model->fills ? 1.0f : (float)fmin(weight / rest, 1.0);
    if (!tank->model->fills && weight > 0.0) {
        double heaviest = 0.0;
        for (uint32_t i = 0; i < desc->liquid_count; i++) {
            heaviest = fmax(heaviest, (double)desc->liquids[i].density_kg_m3);
        }
        to->density_kg_m3 = (float)(sum_at(p, probe->first + PROBE_MASS) / weight * heaviest);
    }
    for (uint32_t k = 0; k < p->args.carried_count; k++) {
        to->carried[k] = (float)(sum_at(p, probe->first + PROBE_CARRIED + k) / rest);
    }
}

/// What counts as filled: particles' shares are uneven within the liquid, and grow evenly across its surface, at which
/// they are a half.
static double filled(double share)
{
    return fmin(fmax(2.0 * share - 0.5, 0.0), 1.0);
}

static void read_gauge(const tarn_probes *p, const tank_probe *probe, tarn_probe_reading *to)
{
    const double cell_m = (double)p->tank->grid.desc.cell_m, rest = (double)p->tank->args->scale.rest_density;
    const double part = (double)probe->part;
    double depth = 0.0, surface = 0.0, before = 0.0;
    for (uint32_t k = 0; k < probe->samples; k++) {
        const double share = sum_at(p, probe->first + k) / rest;
        depth += filled(share) * part;
        if (share >= 0.5) {
            surface = k + 1 == probe->samples ? (double)probe->length[0] : (k + 0.5) * part;
        } else if (before >= 0.5) {
            surface += part * (before - 0.5) / (before - share);
        }
        before = share;
    }
    to->depth_m = (float)(depth * cell_m);
    to->surface_m = (float)(surface * cell_m);
}

static void read_flux(const tarn_probes *p, const tank_probe *probe, tarn_probe_reading *to)
{
    const tarn_tank_desc *desc = &p->tank->grid.desc;
    const double cell_m = (double)desc->cell_m, rest = (double)p->tank->args->scale.rest_density;
    to->flux_m3_s = (float)(sum_at(p, probe->first) / rest * cell_m * cell_m * cell_m / (double)desc->dt_s);
}

static void read_force(const tarn_probes *p, const tank_probe *probe, tarn_probe_reading *to)
{
    const double cell_m = (double)p->tank->grid.desc.cell_m;
    if (p->args.has_pressure) {
        const double unit = pressure_unit_pa(p->tank) * cell_m * cell_m;
        for (uint32_t a = 0; a < 3; a++) {
            to->force_n[a] = (float)(sum_at(p, probe->first + a) * unit);
            to->torque_n_m[a] = (float)(sum_at(p, probe->first + 3 + a) * unit * cell_m);
        }
    }
}

tarn_status tarn_probes_read(tarn_probes *probes, tarn_probe_reading *readings)
{
    tarn_tank *tank = probes->tank;
    tarn_queue *queue = tank->grid.queue;
    tank_probe_args *args = &probes->args;
    args->tank = *tank->args;
    args->carried_count = tank->model->fills ? tank->model->shown.carried_count : 0;
    args->has_flow = tank->model->keeps_velocity;
    args->has_pressure = tank->model->pressure_density != NULL && tank_pressure_m2_s2(tank) > 0.0f;
    args->solved = args->has_pressure ? tank->counters.grid.solved : 0;
    args->kick = tank_pressure_kick(tank);
    const uint32_t count = args->point_count + args->tile_count + args->patch_count + args->mover_count * args->solved;
    if (count > 0) {
        grid_launch(&tank->grid, args, &probe_kernel, NULL, count);
    }
    tarn_status status = tarn_queue_download(queue, probes->host, probes->found, probes->found_bytes);
    if (status == TARN_OK) {
        status = tarn_queue_zero(queue, args->sum, (size_t)probes->sum_count * sizeof(uint64_t));
    }
    for (uint32_t i = 0; i < probes->count && status == TARN_OK; i++) {
        const tank_probe *probe = &probes->probe[i];
        memset(&readings[i], 0, sizeof readings[i]);
        if (probe->kind == PROBE_POINT) {
            read_point(probes, probe, &readings[i]);
        } else if (probe->kind == PROBE_GAUGE) {
            read_gauge(probes, probe, &readings[i]);
        } else if (probe->kind == PROBE_FLUX) {
            read_flux(probes, probe, &readings[i]);
        } else {
            read_force(probes, probe, &readings[i]);
        }
    }
    return status;
}
