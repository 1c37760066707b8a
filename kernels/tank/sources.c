// Where liquid enters and leaves: emitters and drains as the kernels see them.
#include "kernels/tank/region.h"
#include "kernels/tank/tank_internal.h"
#include "protocol/assert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Rows of the rotation from the room to the shape's frame, from a quaternion.
static void inverse_matrix(const float *q, float m[3][3])
{
    const float x = q[0], y = q[1], z = q[2], w = q[3], square = x * x + y * y + z * z + w * w;
    const float n = square > 0.0f ? 2.0f / square : 0.0f; // all zero: not turned
    const float rows[3][3] = {{1.0f - n * (y * y + z * z), n * (x * y + w * z), n * (x * z - w * y)},
                              {n * (x * y - w * z), 1.0f - n * (x * x + z * z), n * (y * z + w * x)},
                              {n * (x * z + w * y), n * (y * z - w * x), 1.0f - n * (x * x + y * y)}};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            m[i][j] = rows[i][j];
        }
    }
}

/// Half of what a region takes along an axis of the tank; its rotation is there.
static float extent_along(const tank_region *region, int a)
{
    const float across = fabsf(region->to_local[0][a]), along = fabsf(region->to_local[1][a]), *h = region->half;
    switch (region->kind) {
    case REGION_BOX:
        return across * h[0] + along * h[1] + fabsf(region->to_local[2][a]) * h[2];
    case REGION_CYLINDER:
        return sqrtf(fmaxf(1.0f - along * along, 0.0f)) * h[0] + along * h[1];
    default:
        return h[0] + along * h[1];
    }
}

static void fill_extents(tank_region *region)
{
    const float *h = region->half;
    region->reach = region->kind == REGION_BOX ? sqrtf(h[0] * h[0] + h[1] * h[1] + h[2] * h[2]) : h[0] + h[1];
    for (int a = 0; a < 3; a++) {
        region->extent[a] = extent_along(region, a);
    }
}

static void fill_region(const tarn_tank *tank, const tarn_shape *shape, const tarn_pose *pose, tank_region *region)
{
    const float per_cell = 1.0f / tank->grid.desc.cell_m;
    region->kind = shape->kind == TARN_SHAPE_BOX        ? REGION_BOX
                   : shape->kind == TARN_SHAPE_CYLINDER ? REGION_CYLINDER
                                                        : REGION_ROUND;
    for (int a = 0; a < 3; a++) {
        region->center[a] = pose->position_m[a] * per_cell;
        region->half[a] = shape->half_m[a] * per_cell;
    }
    if (shape->kind == TARN_SHAPE_SPHERE) {
        region->half[1] = 0.0f;
    }
    inverse_matrix(pose->rotation, region->to_local);
    fill_extents(region);
}

/// Least half extent of a region, cells.
static float least_half(const tank_region *region)
{
    const float *h = region->half;
    return region->kind == REGION_BOX        ? fminf(fminf(h[0], h[1]), h[2])
           : region->kind == REGION_CYLINDER ? fminf(h[0], h[1])
                                             : h[0];
}

/// The centre of the tank's cell that is nearest to a region's middle.
static bool holds_nearest_centre(const tarn_tank *tank, const tank_region *region)
{
    float centre[3];
    for (int a = 0; a < 3; a++) {
        const float last = (float)tank->grid.desc.cells[a] - 1.0f;
        centre[a] = tile_clamp_f32(floorf(region->center[a]), 0.0f, last) + 0.5f;
    }
    return region_holds(region, centre[0], centre[1], centre[2]) != 0;
}

#define HALF_CELL 0.501f    ///< of a layer of cells one centre at least, however a sum is rounded
#define CELL_DIAGONAL 0.87f ///< half of it: from any point of the tank to the centre of its cell

/// A drain that is thinner than a cell is widened until the grid sees it: to a cell, or where it then holds no cell's
/// centre in its middle, by as much as holds that of every point's cell.
static void widen_drain(const tarn_tank *tank, tank_region *region)
{
    bool reaches_in = true;
    for (int a = 0; a < 3; a++) {
        reaches_in &= region->center[a] + region->extent[a] > 0.0f &&
                      region->center[a] - region->extent[a] < (float)tank->grid.desc.cells[a];
    }
    if (least_half(region) >= 0.5f || !reaches_in) {
        return;
    }
    float *h = region->half, before[3];
    memcpy(before, h, sizeof before);
    const int sizes = region->kind == REGION_BOX ? 3 : region->kind == REGION_CYLINDER ? 2 : 1;
    for (int a = 0; a < sizes; a++) {
        h[a] = fmaxf(h[a], HALF_CELL);
    }
    for (int a = 0; a < sizes && !holds_nearest_centre(tank, region); a++) {
        h[a] = before[a] + CELL_DIAGONAL;
    }
    region->takes_cells = 1;
    fill_extents(region);
    for (int a = 0; a < 3; a++) {
        region->extent[a] += HALF_CELL; // from a centre to what is in its cell
    }
}

uint32_t tank_attribute(const tarn_tank_desc *desc, uint32_t liquid, const uint8_t *colour)
{
    TARN_ASSERT(liquid < desc->liquid_count);
    const uint8_t *c = colour != NULL && colour[3] != 0 ? colour : desc->liquids[liquid].colour;
    return liquid | (uint32_t)c[0] << 8 | (uint32_t)c[1] << 16 | (uint32_t)c[2] << 24;
}

bool tank_has_attributes(const tarn_tank_desc *desc)
{
    bool coloured = desc->liquid_count > 1 || tank_model_of(desc)->kinds > 0 || desc->particles_have_colours != 0;
    for (uint32_t i = 0; i < desc->block_count; i++) {
        coloured |= desc->blocks[i].colour[3] != 0;
    }
    for (uint32_t i = 0; i < desc->fluid_count; i++) {
        coloured |= desc->fluids[i].colour[3] != 0;
    }
    for (uint32_t i = 0; i < desc->emitter_count; i++) {
        coloured |= desc->emitters[i].colour[3] != 0;
    }
    return coloured;
}

float tank_carried_most(const tarn_tank_desc *desc, uint32_t number)
{
    const tarn_model *model = &tank_model_of(desc)->shown;
    TARN_ASSERT(number < model->carried_count);
    float most = fabsf(model->carried[number].initial);
    for (uint32_t i = 0; i < desc->block_count; i++) {
        most = fmaxf(most, fabsf(desc->blocks[i].carried[number]));
    }
    for (uint32_t i = 0; i < desc->fluid_count; i++) {
        most = fmaxf(most, fabsf(desc->fluids[i].carried[number]));
    }
    for (uint32_t i = 0; i < desc->emitter_count; i++) {
        most = fmaxf(most, fabsf(desc->emitters[i].carried[number]));
    }
    return most;
}

bool tank_bears(const tarn_tank_desc *desc)
{
    return desc->reseed || desc->emitter_count > 0 || tank_model_of(desc)->bear != NULL;
}

void tank_ball_fill(const tarn_tank *tank, const float *center_m, float radius_m, tank_region *region)
{
    const tarn_shape ball = {.kind = TARN_SHAPE_SPHERE, .half_m = {radius_m}};
    const tarn_pose pose = {{center_m[0], center_m[1], center_m[2]}, {0.0f, 0.0f, 0.0f, 1.0f}};
    fill_region(tank, &ball, &pose, region);
}

void tank_watch_tap(const tarn_tank *tank, const float at[3], tank_control *control)
{
    grid_control *grid = &control->grid;
    if (!tank->grid.corrects_density) {
        return; // of a model that is full at all times
    }
    int cell[3];
    for (int a = 0; a < 3; a++) {
        cell[a] = (int)tile_clamp_f32(floorf(at[a]), 0.0f, (float)tank->grid.desc.cells[a] - 1.0f);
    }
    TARN_ASSERT(grid->watched_count + 1 == control->emitter_count); // the bit is the emitter's
    grid->watched_tile[grid->watched_count] =
        tile_dense_of(&tank->args->grid.shape, 0, cell[0] >> TILE_LOG2, cell[1] >> TILE_LOG2, cell[2] >> TILE_LOG2);
    grid->watched_cell[grid->watched_count++] = cell_index(cell[0] & 7, cell[1] & 7, cell[2] & 7);
}

void tank_sink_fill(const tarn_tank *tank, const float *center_m, float radius_m, tank_region *region)
{
    tank_ball_fill(tank, center_m, radius_m, region);
    widen_drain(tank, region);
}

void tank_sources_fill(const tarn_tank *tank, tank_control *control)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    const float per_step = desc->dt_s / desc->cell_m;
    for (uint32_t i = 0; i < desc->emitter_count; i++) {
        const tarn_emitter *emitter = &desc->emitters[i];
        const bool on = tank->sim_time_s >= (double)emitter->start_s &&
                        (emitter->end_s == 0.0f || tank->sim_time_s < (double)emitter->end_s);
        if (!on) {
            continue;
        }
        TARN_ASSERT(control->emitter_count < TARN_TANK_EMITTERS_MAX); // pours come behind these
        control->tap_of[control->emitter_count] = i;
        tank_region *region = &control->emitters[control->emitter_count++];
        fill_region(tank, &emitter->shape, &emitter->pose, region);
        tank_watch_tap(tank, tank->emitter_at[i], control);
        region->births = tank->emitter_births[i];
        region->attribute = tank_attribute(desc, emitter->liquid, emitter->colour);
        memcpy(region->carried, emitter->carried, sizeof region->carried);
        for (int a = 0; a < 3; a++) {
            region->velocity[a] = tile_clamp_f32(emitter->velocity_m_s[a] * per_step, -SPEED_MAX, SPEED_MAX);
        }
    }
    for (uint32_t i = 0; i < desc->drain_count; i++) {
        TARN_ASSERT(control->drain_count < TARN_TANK_DRAINS_MAX);
        tank_region *region = &control->drains[control->drain_count++];
        fill_region(tank, &desc->drains[i].shape, &desc->drains[i].pose, region);
        widen_drain(tank, region);
    }
}

/// Area of a region seen along a direction (cells), times the direction's length.
static double projected_area(const tank_region *region, const float *velocity)
{
    const double pi = 3.14159265358979323846;
    double along[3], across = 0.0;
    for (int a = 0; a < 3; a++) {
        along[a] = 0.0;
        for (int b = 0; b < 3; b++) {
            along[a] += (double)region->to_local[a][b] * (double)velocity[b];
        }
        along[a] = fabs(along[a]);
    }
    const double x = (double)region->half[0], y = (double)region->half[1], z = (double)region->half[2];
    if (region->kind == REGION_BOX) {
        return 4.0 * (along[0] * y * z + along[1] * x * z + along[2] * x * y);
    }
    across = sqrt(along[0] * along[0] + along[2] * along[2]);
    const double end = region->kind == REGION_CYLINDER
                           ? along[1]
                           : sqrt(along[0] * along[0] + along[1] * along[1] + along[2] * along[2]);
    return pi * x * x * end + 4.0 * x * y * across;
}

enum {
    REACH_CELLS_MAX = 4 * TARN_TANK_CELLS_MAX,
    HELD_CELL_COUNT_MAX = 1 << 29, // that may be looked at for a description's emitters: a few seconds
    BOX_MARGIN_CELLS = 2,          // for the rounding of floats
};

/// A range of cells that have to be looked at.
typedef struct cell_box {
    int first[3], end[3];
} cell_box;

/// Around a region, in the tank, or in a lattice without end of which the tank is a part. @return the number of cells
static uint64_t box_of(const tarn_tank *tank, const tarn_emitter *emitter, bool anywhere, cell_box *box)
{
    const double per_cell = 1.0 / (double)tank->grid.desc.cell_m;
    double min_m[3], max_m[3];
    uint64_t count = 1;
    tarn_shape_bounds_m(&emitter->shape, &emitter->pose, tank->grid.desc.fields, min_m, max_m);
    for (int a = 0; a < 3; a++) {
        const double low = anywhere ? -REACH_CELLS_MAX : 0.0,
                     high = anywhere ? REACH_CELLS_MAX : tank->grid.desc.cells[a];
        box->first[a] = (int)fmin(fmax(floor(min_m[a] * per_cell) - BOX_MARGIN_CELLS, low), high);
        box->end[a] = (int)fmin(fmax(ceil(max_m[a] * per_cell) + BOX_MARGIN_CELLS, low), high);
        count *= (uint64_t)(box->end[a] > box->first[a] ? box->end[a] - box->first[a] : 0);
    }
    return count;
}

/// A point of an emitter by which it is known whether what it pours into is full: its middle, in the tank, or where a
/// solid stands there one of its cells that no solid that stands still comes near.
static void find_tap(const tarn_tank *tank, const tank_region *region, const cell_box *box, float *at)
{
    enum { TRIED_MAX = 1 << 14 };
    const tarn_tank_desc *desc = &tank->grid.desc;
    tarn_shape shapes[TARN_TANK_SOLIDS_MAX];
    tarn_pose poses[TARN_TANK_SOLIDS_MAX];
    uint32_t count = 0, tried = 0;
    for (uint32_t i = 0; i < desc->solid_count; i++) {
        if (desc->solids[i].motion == TARN_MOTION_STATIC) {
            shapes[count] = desc->solids[i].shape;
            poses[count++] = desc->solids[i].pose;
        }
    }
    double best_m = -INFINITY;
    int cell[3];
    memcpy(at, region->center, 3 * sizeof *at);
    for (cell[2] = box->first[2]; cell[2] < box->end[2] && count > 0; cell[2]++) {
        for (cell[1] = box->first[1]; cell[1] < box->end[1]; cell[1]++) {
            for (cell[0] = box->first[0]; cell[0] < box->end[0] && tried < TRIED_MAX; cell[0]++) {
                const float middle[3] = {(float)cell[0] + 0.5f, (float)cell[1] + 0.5f, (float)cell[2] + 0.5f};
                if (!region_holds(region, middle[0], middle[1], middle[2])) {
                    continue;
                }
                double point_m[3];
                for (int a = 0; a < 3; a++) {
                    point_m[a] = (double)middle[a] * (double)desc->cell_m;
                }
                const double distance_m = tarn_shapes_distance_m(shapes, poses, count, desc->fields, point_m, NULL);
                tried++;
                if (distance_m > best_m) {
                    best_m = distance_m;
                    memcpy(at, middle, sizeof middle);
                }
            }
        }
    }
}

/// Cells of a box whose centres a region holds.
static uint64_t cells_held(const tank_region *region, const cell_box *box)
{
    uint64_t count = 0;
    for (int z = box->first[2]; z < box->end[2]; z++) {
        for (int y = box->first[1]; y < box->end[1]; y++) {
            for (int x = box->first[0]; x < box->end[0]; x++) {
                count += (uint64_t)region_holds(region, (float)x + 0.5f, (float)y + 0.5f, (float)z + 0.5f);
            }
        }
    }
    return count;
}

int tank_emitters_measure(tarn_tank *tank, const char **complaint)
{
    const float per_step = tank->grid.desc.dt_s / tank->grid.desc.cell_m;
    uint64_t looked_at = 0;
    for (uint32_t i = 0; i < tank->grid.desc.emitter_count; i++) {
        const tarn_emitter *emitter = &tank->grid.desc.emitters[i];
        tank_region region;
        float velocity[3];
        cell_box inside, all;
        looked_at += box_of(tank, emitter, false, &inside) + box_of(tank, emitter, true, &all);
        *complaint = "is too large for so small cells; emitters are allowed boxes of 2^29 cells in all";
        if (looked_at > HELD_CELL_COUNT_MAX) {
            return (int)i;
        }
        fill_region(tank, &emitter->shape, &emitter->pose, &region);
        for (int a = 0; a < 3; a++) {
            velocity[a] = emitter->velocity_m_s[a] * per_step;
        }
        *complaint = "lies outside the tank or is too small to hold a cell's centre";
        if (cells_held(&region, &inside) == 0) {
            return (int)i;
        }
        find_tap(tank, &region, &inside, tank->emitter_at[i]);
        // What reaches beyond the tank pours there, too, as it were.
        const uint64_t cells = cells_held(&region, &all);
        tank->emitter_births[i] =
            (float)((double)tank->args->scale.rest_density * projected_area(&region, velocity) / (double)cells);
    }
    return -1;
}

/// Whether the sphere around an emitter meets a tile: air around it is kept awake, too.
static bool emitter_meets(const tarn_tank *tank, tile_place place)
{
    const int at[3] = {place.x, place.y, place.z};
    for (uint32_t i = 0; i < tank->grid.desc.emitter_count; i++) {
        tank_region region;
        fill_region(tank, &tank->grid.desc.emitters[i].shape, &tank->grid.desc.emitters[i].pose, &region);
        bool meets = true;
        for (int a = 0; a < 3; a++) {
            meets &= region.center[a] + region.reach > (float)(at[a] * TILE_EDGE) &&
                     region.center[a] - region.reach < (float)((at[a] + 1) * TILE_EDGE);
        }
        if (meets) {
            return true;
        }
    }
    return false;
}

tarn_status tank_keep_tiles(tarn_tank *tank)
{
    const grid_shape *shape = &tank->args->grid.shape;
    uint32_t *list = malloc((size_t)shape->tile_total[0] * sizeof *list), count = 0;
    if (list == NULL) {
        return TARN_E_MEMORY;
    }
    for (uint32_t dense = 0; tank->grid.desc.emitter_count > 0 && dense < shape->tile_total[0]; dense++) {
        if (emitter_meets(tank, tile_place_of(shape, 0, dense))) {
            TARN_ASSERT(count < shape->tile_total[0]);
            list[count++] = dense;
        }
    }
    tank->kept_count = count;
    const tarn_status status =
        tarn_queue_upload(tank->grid.queue, tank->args->grid.m.kept_tile, list, count * sizeof *list);
    free(list);
    return status;
}
