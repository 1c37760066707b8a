// What people do to the liquid in a step besides pushing it: pours, sinks and dyes.
//
// A pour is an emitter of one step. Where it lies in the air its tiles have to be active when the step begins, in a
// tank that was restored from a state as in one that has poured before: so the lists of tiles are made anew.
#include "kernels/tank/region.h"
#include "kernels/tank/tank_internal.h"
#include "protocol/assert.h"

#include <math.h>
#include <string.h>

#define POUR_MARGIN 1.0f ///< cells from a pour's centre to the tank's walls

_Static_assert((int)TANK_REGIONS_MAX == TARN_TANK_EMITTERS_MAX + TARN_TANK_POURS_MAX &&
                   (int)TANK_REGIONS_MAX == TARN_TANK_DRAINS_MAX + TARN_TANK_SINKS_MAX,
               "the description's and the tools' fit");
_Static_assert((int)TANK_REGIONS_MAX == (int)WATCHED_MAX, "every tap has a cell that is watched");
_Static_assert((int)TANK_POURS_MAX == TARN_TANK_POURS_MAX && (int)TANK_DYES_MAX == TARN_TANK_DYES_MAX,
               "what a step may have fits");

// -------------------------------------------------------------------------------------------------------------- checks

static bool is_finite3(const float *v)
{
    return isfinite(v[0]) && isfinite(v[1]) && isfinite(v[2]);
}

static bool pour_is_sound(const tarn_tank *tank, const tarn_pour *pour)
{
    return is_finite3(pour->center_m) && isfinite(pour->radius_m) && is_finite3(pour->velocity_m_s) &&
           pour->liquid < tank->grid.desc.liquid_count;
}

bool tank_tools_are_sound(const tarn_tank *tank, const tarn_tank_tools *tools)
{
    bool sound = true;
    for (uint32_t i = 0; i < tools->pour_count; i++) {
        sound = sound && pour_is_sound(tank, &tools->pours[i]);
    }
    for (uint32_t i = 0; i < tools->sink_count; i++) {
        sound = sound && is_finite3(tools->sinks[i].center_m) && isfinite(tools->sinks[i].radius_m);
    }
    for (uint32_t i = 0; i < tools->dye_count; i++) {
        const tarn_dye *dye = &tools->dyes[i];
        sound = sound && is_finite3(dye->center_m) && isfinite(dye->radius_m) && isfinite(dye->share);
    }
    return sound;
}

// --------------------------------------------------------------------------------------------------------------- pours

/// Moves a pour's sphere into the tank and its size into bounds.
static void fit_pour(const tarn_tank *tank, const tarn_pour *pour, float *center_m, float *radius_m)
{
    const float cell_m = tank->grid.desc.cell_m;
    *radius_m = tile_clamp_f32(pour->radius_m, cell_m, POUR_RADIUS_MAX * cell_m);
    for (int a = 0; a < 3; a++) {
        const float size_m = (float)tank->grid.desc.cells[a] * cell_m;
        const float margin_m = tile_min_f32(POUR_MARGIN * cell_m, 0.5f * size_m);
        center_m[a] = tile_clamp_f32(pour->center_m[a], margin_m, size_m - margin_m);
    }
}

/// Cells whose centres a sphere holds, in a lattice of which the tank is a part, without end but flat where that is.
static uint32_t cells_of(const tarn_tank *tank, const tank_region *ball)
{
    int first[3], end[3];
    uint32_t count = 0;
    for (int a = 0; a < 3; a++) {
        const bool flat = a == 2 && is_flat(&tank->grid.args->shape);
        first[a] = flat ? 0 : (int)floorf(ball->center[a] - ball->reach) - 1;
        end[a] = flat ? 1 : (int)ceilf(ball->center[a] + ball->reach) + 1;
    }
    for (int z = first[2]; z < end[2]; z++) {
        for (int y = first[1]; y < end[1]; y++) {
            for (int x = first[0]; x < end[0]; x++) {
                count += (uint32_t)region_holds(ball, (float)x + 0.5f, (float)y + 0.5f, (float)z + 0.5f);
            }
        }
    }
    return count;
}

static void list_pour_tiles(const tarn_tank *tank, const tank_region *ball, tank_control *control)
{
    int first[3], last[3];
    for (int a = 0; a < 3; a++) {
        const int most = tank->args->grid.shape.tiles[0][a] - 1;
        first[a] = tile_clamp_i32((int)floorf(ball->center[a] - ball->reach) >> TILE_LOG2, 0, most);
        last[a] = tile_clamp_i32((int)floorf(ball->center[a] + ball->reach) >> TILE_LOG2, 0, most);
    }
    for (int z = first[2]; z <= last[2]; z++) {
        for (int y = first[1]; y <= last[1]; y++) {
            for (int x = first[0]; x <= last[0]; x++) {
                if (control->pour_tile_count < TANK_POUR_TILES_MAX) {
                    control->pour_tiles[control->pour_tile_count++] =
                        tile_dense_of(&tank->args->grid.shape, 0, x, y, z);
                }
            }
        }
    }
}

/// Shortens a velocity to what a person may give. @return its length, m/s
static float limit_speed(const float *from_m_s, float *to_m_s)
{
    const float speed = sqrtf(from_m_s[0] * from_m_s[0] + from_m_s[1] * from_m_s[1] + from_m_s[2] * from_m_s[2]);
    const float limit = speed > TARN_TANK_PUSH_SPEED_MAX_M_S ? TARN_TANK_PUSH_SPEED_MAX_M_S / speed : 1.0f;
    for (int a = 0; a < 3; a++) {
        to_m_s[a] = from_m_s[a] * limit;
    }
    return speed * limit;
}

static void fill_pour(const tarn_tank *tank, const tarn_pour *pour, tank_control *control)
{
    const float per_step = tank->grid.desc.dt_s / tank->grid.desc.cell_m, pi = 3.14159265f;
    float center_m[3], velocity_m_s[3], radius_m;
    fit_pour(tank, pour, center_m, &radius_m);
    const float speed = limit_speed(pour->velocity_m_s, velocity_m_s) * per_step;
    if (!(speed > 0.0f)) {
        return;
    }
    TARN_ASSERT(control->emitter_count < TANK_REGIONS_MAX);
    tank_region *region = &control->emitters[control->emitter_count++];
    tank_ball_fill(tank, center_m, radius_m, region);
    const float radius = region->half[0],
                area = is_flat(&tank->grid.args->shape) ? 2.0f * radius : pi * (radius * radius);
    for (int a = 0; a < 3; a++) {
        region->velocity[a] = tile_clamp_f32(velocity_m_s[a] * per_step, -SPEED_MAX, SPEED_MAX);
    }
    TARN_ASSERT(radius <= POUR_RADIUS_MAX + 1.0f); // the tiles that it reaches are counted on
    region->births = tank->args->scale.rest_density * area * speed / (float)cells_of(tank, region);
    region->attribute = tank_attribute(&tank->grid.desc, pour->liquid, pour->colour);
    region->keeps_off = 1;
    control->tap_of[control->emitter_count - 1] = TARN_TANK_EMITTERS_MAX;
    tank_watch_tap(tank, region->center, control);
    const tarn_model *model = &tank->model->shown;
    for (uint32_t k = 0; k < model->carried_count; k++) {
        region->carried[k] = model->carried[k].initial;
    }
    list_pour_tiles(tank, region, control);
}

// ---------------------------------------------------------------------------------------------------------------- step

static float reach_of(const tarn_tank *tank, float radius_m)
{
    return tile_clamp_f32(radius_m / tank->grid.desc.cell_m, 0.0f, 2.0f * (float)TARN_TANK_CELLS_MAX);
}

void tank_tools_fill(const tarn_tank *tank, const tarn_tank_tools *tools, tank_control *control)
{
    const float per_cell = 1.0f / tank->grid.desc.cell_m;
    control->undyed = tank_attribute(&tank->grid.desc, 0, NULL);
    for (uint32_t i = 0; i < tools->pour_count; i++) {
        fill_pour(tank, &tools->pours[i], control);
    }
    for (uint32_t i = 0; i < tools->sink_count; i++) {
        const float radius_m = reach_of(tank, tools->sinks[i].radius_m) * tank->grid.desc.cell_m;
        TARN_ASSERT(control->drain_count < TANK_REGIONS_MAX);
        tank_sink_fill(tank, tools->sinks[i].center_m, radius_m, &control->drains[control->drain_count++]);
    }
    for (uint32_t i = 0; i < tools->dye_count; i++) {
        const tarn_dye *from = &tools->dyes[i];
        TARN_ASSERT(control->dye_count < TANK_DYES_MAX);
        tank_dye *to = &control->dyes[control->dye_count++];
        for (int a = 0; a < 3; a++) {
            to->center[a] = from->center_m[a] * per_cell;
        }
        to->radius = reach_of(tank, from->radius_m);
        to->share = tile_clamp_f32(from->share, 0.0f, 1.0f);
        to->colour = (uint32_t)from->colour[0] << 8 | (uint32_t)from->colour[1] << 16 | (uint32_t)from->colour[2] << 24;
    }
}

void tank_set_coloured(tarn_tank *tank, bool coloured)
{
    store_memory *m = &tank->args->store;
    const bool has = coloured || tank_has_attributes(&tank->grid.desc);
    if (has != (m->attribute != NULL)) {
        grid_forget_launches(&tank->grid);
    }
    TARN_ASSERT(tank->attributes[0] != NULL && tank->attributes[1] != NULL);
    m->attribute = has ? tank->attributes[0] : NULL;
    m->moved_attribute = has ? tank->attributes[1] : NULL;
}

void tank_keep_pours(tarn_tank *tank, const tank_args *args)
{
    if (tank->has_pours) {
        grid_launch(&tank->grid, args, TANK_KERNEL(keep_pours), NULL, TANK_POUR_TILES_MAX);
    }
}

/// Makes the tiles of the pours active.
static void list_anew(tarn_tank *tank)
{
    const tank_args *args = tank->args;
    const uint32_t *active = &args->grid.m.counters->active;
    grid_launch(&tank->grid, args, TANK_KERNEL(stay), active, args->grid.shape.active_max);
    tank_keep_pours(tank, args);
    if (args->store.kept[0] != NULL) {
        grid_launch_active(&tank->grid, args, TANK_KERNEL(unkeep));
    }
    tank_list_tiles(tank, args);
    grid_launch(&tank->grid, args, TANK_KERNEL(retire), active, args->grid.shape.active_max);
    tank_adopt_tiles(tank, args);
}

static bool puts_colour_in(const tarn_tank_tools *tools)
{
    bool colours = tools->dye_count > 0;
    for (uint32_t i = 0; i < tools->pour_count; i++) {
        colours |= tools->pours[i].colour[3] != 0;
    }
    return colours;
}

void tank_tools_begin(tarn_tank *tank, const tarn_tank_tools *tools, const tank_control *control)
{
    if (tank->args->store.attribute == NULL && puts_colour_in(tools)) {
        tank_set_coloured(tank, true);
        tank_args args = *tank->args;
        args.grid.level = tank->particle_count;
        grid_launch(&tank->grid, &args, TANK_KERNEL(undyed), NULL,
                    (tank->particle_count + PARTICLE_LANES - 1) / PARTICLE_LANES);
    }
    if (control->pour_tile_count > 0) {
        list_anew(tank);
    }
}

void tank_tools_end(tarn_tank *tank, const tank_control *control)
{
    const tank_args *args = tank->args;
    if (control->dye_count > 0) {
        TARN_ASSERT(args->store.attribute != NULL); // the first dye brought it
        grid_launch(&tank->grid, args, TANK_KERNEL(tint), &args->grid.m.counters->occupied,
                    args->grid.shape.occupied_max);
    }
}
