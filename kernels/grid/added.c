// Solids that come while the tank runs: bodies that are thrown in, and walls. Where there are none, the tank is what
// its description makes it, to the last bit: what they need is not part of it then.
#include "kernels/grid/grid_host.h"

#include <math.h>
#include <string.h>

_Static_assert((int)TARN_TANK_BODIES_MAX == (int)BODIES_MAX, "thrown bodies fit");

#define THROWN_SPEED_MAX_M_S TARN_TANK_PUSH_SPEED_MAX_M_S
enum { NUMBERS = 65536 - TARN_TANK_THROWN_FIRST }; // of thrown bodies, before they begin again

uint32_t grid_body_number(const grid_host *grid, uint32_t body)
{
    return body < grid->own_body_count
               ? grid->body_solid[body]
               : TARN_TANK_THROWN_FIRST + grid->added.thrown_at[body - grid->own_body_count] % NUMBERS;
}

// ------------------------------------------------------------------------------------------------------ what is in use

void grid_show_solids(grid_host *grid)
{
    grid_memory *m = &grid->args->m;
    const int stands = grid->added.wall_count > 0, own = grid->desc.solid_count > 0;
    grid->body_count = grid->own_body_count + grid->added.thrown_count;
    grid->has_solids = own || stands || grid->added.thrown_count > 0;
    const grid_memory none = {0};
    const grid_memory *covers = own ? &grid->own : grid->has_solids ? &grid->more : &none;
    const grid_memory *still = own && !stands ? &grid->own : grid->has_solids ? &grid->more : &none;
    const grid_memory *bodies = grid->own_body_count > 0 ? &grid->own : grid->body_count > 0 ? &grid->more : &none;
    for (int a = 0; a < 3; a++) {
        m->open[a] = covers->open[a];
        m->solid_open[a] = still->solid_open[a];
        m->cover[a] = bodies->cover[a];
        m->lack[a] = bodies->lack[a];
    }
    m->room = covers->room;
    m->sides = covers->sides;
    m->solid_flux = covers->solid_flux;
    m->solid_tile = still->solid_tile;
    m->solid_dense = still->solid_dense;
    m->solid_node = still->solid_node;
    m->solid_room = still->solid_room;
    m->solid_sides = still->solid_sides;
    m->bodies = bodies->bodies;
    m->body_control = bodies->body_control;
    m->cover_owner = bodies->cover_owner;
    m->body_tile = bodies->body_tile;
    m->body_partial = bodies->body_partial;
    tarn_queue_replay_destroy(grid->queue, grid->substep); // which knows what was there before
    grid->substep = NULL;
}

void grid_added_forget(grid_host *grid)
{
    grid->walls.is_current = 0;
    memset(&grid->added, 0, sizeof grid->added);
    grid_show_solids(grid);
}

/// Memory for what is to come. A tank that has walls, or no solids of its own, has tables besides the description's.
static tarn_status take_memory(grid_host *grid, int has_walls, int has_thrown)
{
    const int needs_tables = has_walls || (has_thrown && grid->desc.solid_count == 0);
    const tarn_status status = needs_tables && !grid->walls.is_current ? grid_walls_renew(grid) : TARN_OK;
    return status == TARN_OK && has_thrown ? grid_take_more_bodies(grid) : status;
}

// -------------------------------------------------------------------------------------------------------------- bodies

static int is_finite3(const float *v)
{
    return isfinite(v[0]) && isfinite(v[1]) && isfinite(v[2]);
}

/// A field's size is its scale.
static tarn_status check_size(const grid_host *grid, const tarn_shape *shape, const grid_complaint *why)
{
    const float most_m = shape->kind == TARN_SHAPE_FIELD ? 1e3f : TARN_TANK_WALL_CELLS_MAX * grid->desc.cell_m;
    for (int a = 0; a < 3; a++) {
        if (!(fabsf(shape->half_m[a]) <= most_m)) {
            return grid_refuse(why, TARN_E_ARGUMENT, "shape.half_m[%d] is %g; allowed is up to %g", a,
                               (double)shape->half_m[a], (double)most_m);
        }
    }
    return TARN_OK;
}

static tarn_status check_thrown(const grid_host *grid, const tarn_solid *solid, const grid_complaint *why)
{
    if (solid->motion != TARN_MOTION_FREE) {
        return grid_refuse(why, TARN_E_ARGUMENT, "motion is %d; what is thrown floats: %d", (int)solid->motion,
                           TARN_MOTION_FREE);
    }
    if (solid->shape.kind == TARN_SHAPE_FIELD && grid->own_body_count == 0) {
        return grid_refuse(why, TARN_E_ARGUMENT,
                           "shape is a field; without bodies of its own a tank has none to throw");
    }
    if (grid->own_body_count >= TARN_TANK_BODIES_MAX) {
        return grid_refuse(why, TARN_E_LIMIT, "the scene itself has %d solids that move; no more fit",
                           TARN_TANK_BODIES_MAX);
    }
    const tarn_status status = check_size(grid, &solid->shape, why);
    return status == TARN_OK ? grid_solid_check(&grid->desc, solid, why) : status;
}

static void clean(const tarn_solid *from, tarn_motion motion, tarn_solid *to)
{
    memset(to, 0, sizeof *to);
    to->shape = from->shape;
    to->pose = from->pose;
    to->motion = motion;
    to->density_kg_m3 = from->density_kg_m3;
    memcpy(to->velocity_m_s, from->velocity_m_s, sizeof to->velocity_m_s);
    memcpy(to->colour, from->colour, sizeof to->colour);
}

/// Moves the middle of what is thrown into the grid, and limits its speed.
static void fit_thrown(const grid_host *grid, tarn_solid *solid)
{
    float square = 0.0f;
    for (int a = 0; a < 3; a++) {
        const float size_m = (float)grid->desc.cells[a] * grid->desc.cell_m;
        solid->pose.position_m[a] = tile_clamp_f32(solid->pose.position_m[a], 0.0f, size_m);
        square += solid->velocity_m_s[a] * solid->velocity_m_s[a];
    }
    const float speed = sqrtf(square), limit = speed > THROWN_SPEED_MAX_M_S ? THROWN_SPEED_MAX_M_S / speed : 1.0f;
    for (int a = 0; a < 3; a++) {
        solid->velocity_m_s[a] *= limit;
    }
}

/// The place of the next one: behind the others, or that of the oldest.
static uint32_t place_of_next(const grid_host *grid)
{
    const grid_added *added = &grid->added;
    const uint32_t most = tile_min_u32(TARN_TANK_THROWN_MAX, TARN_TANK_BODIES_MAX - grid->own_body_count);
    if (added->thrown_count < most) {
        return added->thrown_count;
    }
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < added->thrown_count; i++) {
        oldest = added->thrown_at[i] < added->thrown_at[oldest] ? i : oldest;
    }
    return oldest;
}

tarn_status grid_throw(grid_host *grid, const tarn_solid *solid, uint32_t *body, char *why, size_t why_bytes)
{
    const grid_complaint complaint = {why, why_bytes};
    grid_added *added = &grid->added;
    tarn_status status = check_thrown(grid, solid, &complaint);
    if (status == TARN_OK && added->thrown_total == UINT32_MAX) {
        status = grid_refuse(&complaint, TARN_E_LIMIT, "%u were thrown in; no more are counted", UINT32_MAX);
    }
    if (status != TARN_OK) {
        return status;
    }
    status = take_memory(grid, 0, 1);
    if (status != TARN_OK) {
        return grid_refuse(&complaint, status, "there is no memory for a floating body");
    }
    const uint32_t place = place_of_next(grid);
    clean(solid, TARN_MOTION_FREE, &added->thrown[place]);
    fit_thrown(grid, &added->thrown[place]);
    added->thrown_at[place] = added->thrown_total++;
    if (place == added->thrown_count) {
        added->thrown_count++;
        grid_show_solids(grid);
    }
    if (body != NULL) {
        *body = grid->own_body_count + place;
    }
    return grid_bodies_put(grid, grid->own_body_count + place);
}

// --------------------------------------------------------------------------------------------------------------- walls

static tarn_status check_wall(const grid_host *grid, const tarn_solid *solid, const grid_complaint *why)
{
    if (solid->motion != TARN_MOTION_STATIC || (unsigned)solid->shape.kind >= TARN_SHAPE_FIELD ||
        solid->shape.inverted) {
        return grid_refuse(why, TARN_E_ARGUMENT, "a wall is a box, ball, capsule or cylinder that stands still");
    }
    const tarn_status status = check_size(grid, &solid->shape, why);
    return status == TARN_OK ? grid_solid_check(&grid->desc, solid, why) : status;
}

tarn_status grid_add_wall(grid_host *grid, const tarn_solid *solid, char *why, size_t why_bytes)
{
    const grid_complaint complaint = {why, why_bytes};
    grid_added *added = &grid->added;
    tarn_status status = check_wall(grid, solid, &complaint);
    if (status == TARN_OK && added->wall_count == TARN_TANK_WALLS_MAX) {
        status = grid_refuse(&complaint, TARN_E_LIMIT, "there are %d pieces of wall already; no more fit",
                             TARN_TANK_WALLS_MAX);
    }
    if (status == TARN_OK) {
        status = take_memory(grid, 1, 0);
        if (status != TARN_OK) {
            grid_refuse(&complaint, status, "there is no memory for walls");
        }
    }
    if (status != TARN_OK) {
        return status;
    }
    tarn_solid *wall = &added->walls[added->wall_count++];
    clean(solid, TARN_MOTION_STATIC, wall);
    status = grid_walls_change(grid, wall, 1);
    if (status == TARN_E_LIMIT) {
        added->wall_count--;
        const tarn_status back = grid_walls_change(grid, wall, 1);
        grid_refuse(&complaint, status, "this piece of wall and those there are in more of the tank than walls may be");
        return back == TARN_OK ? status : back;
    }
    grid_show_solids(grid);
    return status;
}

tarn_status grid_erase_walls(grid_host *grid, const float center_m[3], float radius_m, uint32_t *count)
{
    grid_added *added = &grid->added;
    tarn_solid gone[TARN_TANK_WALLS_MAX];
    uint32_t gone_count = 0, kept = 0;
    if (count != NULL) {
        *count = 0;
    }
    if (!is_finite3(center_m) || !isfinite(radius_m)) {
        return TARN_E_ARGUMENT;
    }
    const double at_m[3] = {(double)center_m[0], (double)center_m[1], (double)center_m[2]};
    for (uint32_t w = 0; w < added->wall_count; w++) {
        const tarn_solid wall = added->walls[w];
        if (grid_wall_distance(grid, &wall, at_m) * (double)grid->desc.cell_m < (double)radius_m) {
            gone[gone_count++] = wall;
        } else {
            added->walls[kept++] = wall;
        }
    }
    added->wall_count = kept;
    memset(added->walls + kept, 0, gone_count * sizeof *gone);
    if (gone_count == 0) {
        return TARN_OK;
    }
    if (count != NULL) {
        *count = gone_count;
    }
    const tarn_status status = grid_walls_change(grid, gone, gone_count);
    grid_show_solids(grid);
    return status;
}

// --------------------------------------------------------------------------------------------------------------- state

int grid_added_fits(const grid_host *grid, const grid_added *added)
{
    const grid_complaint silent = {NULL, 0};
    const uint32_t most = tile_min_u32(TARN_TANK_THROWN_MAX, TARN_TANK_BODIES_MAX - grid->own_body_count);
    if (added->thrown_count > most || added->wall_count > TARN_TANK_WALLS_MAX ||
        added->thrown_total < added->thrown_count) {
        return 0;
    }
    for (uint32_t i = 0; i < added->thrown_count; i++) {
        if (added->thrown_at[i] >= added->thrown_total || added->thrown_total - added->thrown_at[i] > most ||
            check_thrown(grid, &added->thrown[i], &silent) != TARN_OK) {
            return 0;
        }
        for (uint32_t k = 0; k < i; k++) {
            if (added->thrown_at[k] == added->thrown_at[i]) {
                return 0;
            }
        }
    }
    for (uint32_t w = 0; w < added->wall_count; w++) {
        if (check_wall(grid, &added->walls[w], &silent) != TARN_OK) {
            return 0;
        }
    }
    return 1;
}

tarn_status grid_added_take(grid_host *grid, const grid_added *added)
{
    grid->added = *added;
    grid->walls.is_current = 0;
    tarn_status status = take_memory(grid, added->wall_count > 0, added->thrown_count > 0);
    if (status != TARN_OK) {
        grid_added_forget(grid);
        return status == TARN_E_LIMIT ? TARN_E_MEMORY : status;
    }
    grid_show_solids(grid);
    for (uint32_t b = grid->own_body_count; b < grid->body_count && status == TARN_OK; b++) {
        status = grid_bodies_put(grid, b);
    }
    if (status == TARN_OK && grid->body_count == grid->own_body_count && grid->body_count > 0) {
        status =
            tarn_queue_upload(grid->queue, &grid->args->m.bodies->count, &grid->body_count, sizeof grid->body_count);
    }
    return status;
}

static uint64_t mix_floats(uint64_t hash, const float *values, int count)
{
    for (int i = 0; i < count; i++) {
        hash = tile_mix_u64(hash ^ tile_bits_f32(values[i]));
    }
    return hash;
}

static uint64_t mix_solid(uint64_t hash, const tarn_solid *solid)
{
    hash = tile_mix_u64(hash ^ ((uint64_t)solid->shape.kind << 32 | solid->shape.field));
    hash = mix_floats(hash, solid->shape.half_m, 3);
    hash = mix_floats(hash, solid->pose.position_m, 3);
    hash = mix_floats(hash, solid->pose.rotation, 4);
    return mix_floats(hash, &solid->density_kg_m3, 1);
}

uint64_t grid_added_hash(const grid_host *grid, uint64_t hash)
{
    const grid_added *added = &grid->added;
    if (added->thrown_total == 0 && added->wall_count == 0) {
        return hash;
    }
    hash = tile_mix_u64(hash ^ ((uint64_t)added->thrown_total << 32 | added->wall_count));
    for (uint32_t i = 0; i < added->thrown_count; i++) {
        hash = mix_solid(tile_mix_u64(hash ^ added->thrown_at[i]), &added->thrown[i]);
    }
    for (uint32_t w = 0; w < added->wall_count; w++) {
        hash = mix_solid(hash, &added->walls[w]);
    }
    return hash;
}

// ------------------------------------------------------------------------------------------------------------- outside

uint32_t grid_added_list(const grid_host *grid, tarn_added_solid *list)
{
    const grid_added *added = &grid->added;
    uint32_t count = 0;
    for (uint32_t i = 0; i < added->thrown_count; i++) {
        uint32_t at = count++;
        const uint32_t number = grid_body_number(grid, grid->own_body_count + i);
        for (; at > 0 && list[at - 1].number > number; at--) {
            list[at] = list[at - 1];
        }
        list[at] = (tarn_added_solid){number, added->thrown[i]};
    }
    for (uint32_t w = 0; w < added->wall_count; w++) {
        list[count++] = (tarn_added_solid){0, added->walls[w]};
    }
    return count;
}
