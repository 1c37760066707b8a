// Solids that come while the tank runs: bodies that are thrown in, and walls. Where there are none, the tank is what
// its description makes it, to the last bit: what they need is not part of it then.
#include "kernels/grid/grid_host.h"
#include "protocol/assert.h"

#include <math.h>
#include <string.h>

_Static_assert((int)TARN_TANK_BODIES_MAX == (int)BODIES_MAX, "thrown bodies fit");

#define THROWN_SPEED_MAX_M_S TARN_TANK_PUSH_SPEED_MAX_M_S

// ------------------------------------------------------------------------------------------------------ what is in use

void grid_show_solids(grid_host *grid)
{
    grid_memory *m = &grid->args->m;
    const bool stands = grid->added.wall_count > 0, own = grid->desc.solid_count > 0;
    grid->body_count = grid->own_body_count + grid->added.thrown_count;
    TARN_ASSERT(grid->body_count <= BODIES_MAX);
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
    grid_forget_launches(grid); // which know what was there before
}

void grid_added_forget(grid_host *grid)
{
    grid->walls.is_current = false;
    memset(&grid->added, 0, sizeof grid->added);
    grid->added_changes++;
    grid_show_solids(grid);
}

/// Memory for what is to come. A tank that has walls, or no solids of its own, has tables besides the description's.
static tarn_status carve_memory(grid_host *grid, bool has_walls, bool has_thrown)
{
    const bool needs_tables = has_walls || (has_thrown && grid->desc.solid_count == 0);
    const tarn_status status = needs_tables && !grid->walls.is_current ? grid_walls_renew(grid) : TARN_OK;
    return status == TARN_OK && has_thrown ? grid_carve_more_bodies(grid) : status;
}

// -------------------------------------------------------------------------------------------------------------- bodies

static bool is_finite3(const float *v)
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

/// Throws a body in. @param body  its number among the bodies, which was the gone one's
static tarn_status throw_in(grid_host *grid, const tarn_solid *solid, uint32_t *body)
{
    grid_added *added = &grid->added;
    const uint32_t place = place_of_next(grid);
    TARN_ASSERT(place <= added->thrown_count && place < TARN_TANK_THROWN_MAX);
    TARN_ASSERT(grid->own_body_count + place < BODIES_MAX);
    TARN_ASSERT(added->thrown_total < UINT32_MAX); // or the next one would count as the oldest
    clean(solid, TARN_MOTION_FREE, &added->thrown[place]);
    fit_thrown(grid, &added->thrown[place]);
    added->thrown_at[place] = added->thrown_total++;
    if (place == added->thrown_count) {
        added->thrown_count++;
        grid_show_solids(grid);
    }
    *body = grid->own_body_count + place;
    return grid_bodies_put(grid, *body);
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

static bool is_erased(const grid_host *grid, const tarn_solid *wall, const tarn_step_input *input)
{
    for (uint32_t i = 0; i < input->erase_count; i++) {
        const float *center_m = input->erases[i].center_m;
        const double at_m[3] = {(double)center_m[0], (double)center_m[1], (double)center_m[2]};
        if (grid_wall_distance(grid, wall, at_m) * (double)grid->desc.cell_m < (double)input->erases[i].radius_m) {
            return true;
        }
    }
    return false;
}

/// Lets walls come and go.
static tarn_status change_walls(grid_host *grid, const tarn_step_input *input)
{
    grid_added *added = &grid->added;
    tarn_solid changed[TARN_TANK_WALLS_MAX + TARN_STEP_WALLS_MAX];
    uint32_t changed_count = 0, kept = 0;
    TARN_ASSERT(input->wall_count <= TARN_TANK_WALLS_MAX - added->wall_count);
    TARN_ASSERT(added->wall_count + input->wall_count == 0 || grid->walls.is_current);
    for (uint32_t i = 0; i < input->wall_count; i++) {
        clean(&input->walls[i], TARN_MOTION_STATIC, &added->walls[added->wall_count++]);
        changed[changed_count++] = added->walls[added->wall_count - 1];
    }
    const uint32_t old = added->wall_count - input->wall_count;
    for (uint32_t w = 0; w < added->wall_count; w++) {
        const tarn_solid wall = added->walls[w];
        if (!is_erased(grid, &wall, input)) {
            added->walls[kept++] = wall;
        } else if (w < old) {
            changed[changed_count++] = wall;
        }
    }
    TARN_ASSERT(kept <= added->wall_count);
    TARN_ASSERT(changed_count <= sizeof changed / sizeof changed[0]);
    memset(added->walls + kept, 0, (added->wall_count - kept) * sizeof added->walls[0]);
    added->wall_count = kept;
    if (changed_count == 0) {
        return TARN_OK;
    }
    grid->added_changes++;
    const tarn_status status = grid_walls_change(grid, changed, changed_count);
    grid_show_solids(grid);
    return status;
}

// ---------------------------------------------------------------------------------------------------------- admission

static void leave_out(tarn_step_refusals *refusals, bool is_wall, uint32_t index, const char *why)
{
    TARN_ASSERT(refusals->count < sizeof refusals->of / sizeof refusals->of[0]);
    refusals->of[refusals->count++] = (tarn_step_refusal){is_wall, index, why};
}

static tarn_status check_added(const grid_host *grid, const tarn_step_input *input, const grid_complaint *why)
{
    tarn_status status = TARN_OK;
    if (input->throw_count > TARN_STEP_THROWS_MAX || input->wall_count > TARN_STEP_WALLS_MAX ||
        input->erase_count > TARN_STEP_ERASES_MAX) {
        return grid_refuse(why, TARN_E_ARGUMENT,
                           "there are %u throws, %u walls and %u erasures; allowed are %d, %d, %d", input->throw_count,
                           input->wall_count, input->erase_count, TARN_STEP_THROWS_MAX, TARN_STEP_WALLS_MAX,
                           TARN_STEP_ERASES_MAX);
    }
    for (uint32_t i = 0; i < input->throw_count && status == TARN_OK; i++) {
        status = check_thrown(grid, &input->throws[i], why);
    }
    for (uint32_t i = 0; i < input->wall_count && status == TARN_OK; i++) {
        status = check_wall(grid, &input->walls[i], why);
    }
    for (uint32_t i = 0; i < input->erase_count && status == TARN_OK; i++) {
        if (!is_finite3(input->erases[i].center_m) || !isfinite(input->erases[i].radius_m)) {
            status = grid_refuse(why, TARN_E_ARGUMENT, "erases[%u] is not finite", i);
        }
    }
    return status;
}

/// Why no body can be thrown in. @return NULL: one can
static const char *throws_refused(grid_host *grid, uint32_t count, tarn_status *status)
{
    if (grid->own_body_count >= TARN_TANK_BODIES_MAX) {
        return "the scene itself has as many solids that move as fit";
    }
    if (grid->added.thrown_total > UINT32_MAX - count) {
        return "as many bodies were thrown in as are counted";
    }
    *status = carve_memory(grid, false, true);
    return *status == TARN_OK ? NULL : "there is no memory for a floating body";
}

/// Takes out the walls that there is no room for, from the last one back.
static void fit_walls(grid_host *grid, tarn_step_input *input, tarn_step_refusals *refusals)
{
    TARN_ASSERT(grid->added.wall_count <= TARN_TANK_WALLS_MAX);
    const uint32_t room = TARN_TANK_WALLS_MAX - grid->added.wall_count;
    while (input->wall_count > room) {
        leave_out(refusals, true, --input->wall_count, "as many walls stand in this tank as fit; erase some");
    }
    while (input->wall_count > 0 && !grid_walls_fit(grid, input->walls, input->wall_count)) {
        leave_out(refusals, true, --input->wall_count,
                  "this piece of wall and those there are lie in more of the tank than walls may");
    }
}

static bool is_lost(tarn_status status)
{
    return status == TARN_E_DEVICE;
}

tarn_status grid_admit(grid_host *grid, tarn_step_input *input, tarn_step_refusals *refusals)
{
    const grid_complaint complaint = {refusals->why, sizeof refusals->why};
    tarn_status status = check_added(grid, input, &complaint);
    if (status != TARN_OK) {
        return status;
    }
    const char *why = input->throw_count > 0 ? throws_refused(grid, input->throw_count, &status) : NULL;
    for (uint32_t i = 0; why != NULL && i < input->throw_count; i++) {
        leave_out(refusals, false, i, why);
    }
    input->throw_count = why != NULL ? 0 : input->throw_count;
    if (is_lost(status)) {
        return status;
    }
    status = input->wall_count > 0 ? carve_memory(grid, true, false) : TARN_OK;
    while (status != TARN_OK && input->wall_count > 0) {
        leave_out(refusals, true, --input->wall_count, "there is no memory for walls");
    }
    if (is_lost(status)) {
        return status;
    }
    fit_walls(grid, input, refusals);
    return TARN_OK;
}

tarn_status grid_add(grid_host *grid, const tarn_step_input *input, uint32_t thrown[TARN_STEP_THROWS_MAX])
{
    TARN_ASSERT(input->throw_count <= TARN_STEP_THROWS_MAX);
    TARN_ASSERT(input->wall_count <= TARN_STEP_WALLS_MAX && input->erase_count <= TARN_STEP_ERASES_MAX);
    tarn_status status = TARN_OK;
    for (uint32_t i = 0; i < input->throw_count && status == TARN_OK; i++) {
        status = throw_in(grid, &input->throws[i], &thrown[i]);
    }
    grid->added_changes += input->throw_count;
    return status == TARN_OK ? change_walls(grid, input) : status;
}

// --------------------------------------------------------------------------------------------------------------- state

bool grid_added_fits(const grid_host *grid, const grid_added *added)
{
    const grid_complaint silent = {NULL, 0};
    const uint32_t most = tile_min_u32(TARN_TANK_THROWN_MAX, TARN_TANK_BODIES_MAX - grid->own_body_count);
    if (added->thrown_count > most || added->wall_count > TARN_TANK_WALLS_MAX ||
        added->thrown_total < added->thrown_count) {
        return false;
    }
    for (uint32_t i = 0; i < added->thrown_count; i++) {
        if (added->thrown_at[i] >= added->thrown_total || added->thrown_total - added->thrown_at[i] > most ||
            check_thrown(grid, &added->thrown[i], &silent) != TARN_OK) {
            return false;
        }
        for (uint32_t k = 0; k < i; k++) {
            if (added->thrown_at[k] == added->thrown_at[i]) {
                return false;
            }
        }
    }
    for (uint32_t w = 0; w < added->wall_count; w++) {
        if (check_wall(grid, &added->walls[w], &silent) != TARN_OK) {
            return false;
        }
    }
    return true;
}

tarn_status grid_added_apply(grid_host *grid, const grid_added *added)
{
    TARN_ASSERT(grid_added_fits(grid, added));
    grid->added = *added;
    grid->added_changes++;
    grid->walls.is_current = false;
    tarn_status status = carve_memory(grid, added->wall_count > 0, added->thrown_count > 0);
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
