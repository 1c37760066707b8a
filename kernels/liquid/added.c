// Solids that come while the tank runs: bodies that are thrown in, and walls. Where there are none, the tank is what
// its description makes it, to the last bit: what they need is not part of it then.
#include "kernels/liquid/tank_internal.h"

#include <math.h>
#include <string.h>

_Static_assert((int)TARN_TANK_BODIES_MAX == (int)BODIES_MAX, "thrown bodies fit");

#define THROWN_SPEED_MAX_M_S TARN_TANK_PUSH_SPEED_MAX_M_S
enum { NUMBERS = 65536 - TARN_TANK_THROWN_FIRST }; // of thrown bodies, before they begin again

uint32_t tank_body_number(const tarn_tank *tank, uint32_t body)
{
    return body < tank->own_body_count
               ? tank->body_solid[body]
               : TARN_TANK_THROWN_FIRST + tank->added.thrown_at[body - tank->own_body_count] % NUMBERS;
}

// ------------------------------------------------------------------------------------------------------ what is in use

void tank_show_solids(tarn_tank *tank)
{
    liquid_memory *m = &tank->args.m;
    const int stands = tank->added.wall_count > 0, own = tank->desc.solid_count > 0;
    tank->body_count = tank->own_body_count + tank->added.thrown_count;
    tank->has_solids = own || stands || tank->added.thrown_count > 0;
    const liquid_memory none = {0};
    const liquid_memory *covers = own ? &tank->own : tank->has_solids ? &tank->more : &none;
    const liquid_memory *still = own && !stands ? &tank->own : tank->has_solids ? &tank->more : &none;
    const liquid_memory *bodies = tank->own_body_count > 0 ? &tank->own : tank->body_count > 0 ? &tank->more : &none;
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
    tarn_queue_replay_destroy(tank->queue, tank->substep); // which knows what was there before
    tank->substep = NULL;
}

void tank_added_forget(tarn_tank *tank)
{
    tank->walls.is_current = 0;
    memset(&tank->added, 0, sizeof tank->added);
    tank_show_solids(tank);
}

/// Memory for what is to come. A tank that has walls, or no solids of its own, has tables besides the description's.
static tarn_status take_memory(tarn_tank *tank, int has_walls, int has_thrown)
{
    const int needs_tables = has_walls || (has_thrown && tank->desc.solid_count == 0);
    const tarn_status status = needs_tables && !tank->walls.is_current ? tank_walls_renew(tank) : TARN_OK;
    return status == TARN_OK && has_thrown ? tank_take_more_bodies(tank) : status;
}

// -------------------------------------------------------------------------------------------------------------- bodies

static int is_finite3(const float *v)
{
    return isfinite(v[0]) && isfinite(v[1]) && isfinite(v[2]);
}

/// A field's size is its scale.
static tarn_status check_size(const tarn_tank *tank, const tarn_shape *shape, const tank_complaint *why)
{
    const float most_m = shape->kind == TARN_SHAPE_FIELD ? 1e3f : TARN_TANK_WALL_CELLS_MAX * tank->desc.cell_m;
    for (int a = 0; a < 3; a++) {
        if (!(fabsf(shape->half_m[a]) <= most_m)) {
            return tank_refuse(why, TARN_E_ARGUMENT, "shape.half_m[%d] is %g; allowed is up to %g", a,
                               (double)shape->half_m[a], (double)most_m);
        }
    }
    return TARN_OK;
}

static tarn_status check_thrown(const tarn_tank *tank, const tarn_solid *solid, const tank_complaint *why)
{
    if (solid->motion != TARN_MOTION_FREE) {
        return tank_refuse(why, TARN_E_ARGUMENT, "motion is %d; what is thrown floats: %d", (int)solid->motion,
                           TARN_MOTION_FREE);
    }
    if (solid->shape.kind == TARN_SHAPE_FIELD && tank->own_body_count == 0) {
        return tank_refuse(why, TARN_E_ARGUMENT,
                           "shape is a field; without bodies of its own a tank has none to throw");
    }
    if (tank->own_body_count >= TARN_TANK_BODIES_MAX) {
        return tank_refuse(why, TARN_E_LIMIT, "the scene itself has %d solids that move; no more fit",
                           TARN_TANK_BODIES_MAX);
    }
    const tarn_status status = check_size(tank, &solid->shape, why);
    return status == TARN_OK ? tank_solid_check(&tank->desc, solid, why) : status;
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

/// Moves the middle of what is thrown into the tank, and limits its speed.
static void fit_thrown(const tarn_tank *tank, tarn_solid *solid)
{
    float square = 0.0f;
    for (int a = 0; a < 3; a++) {
        const float size_m = (float)tank->desc.cells[a] * tank->desc.cell_m;
        solid->pose.position_m[a] = tile_clamp_f32(solid->pose.position_m[a], 0.0f, size_m);
        square += solid->velocity_m_s[a] * solid->velocity_m_s[a];
    }
    const float speed = sqrtf(square), limit = speed > THROWN_SPEED_MAX_M_S ? THROWN_SPEED_MAX_M_S / speed : 1.0f;
    for (int a = 0; a < 3; a++) {
        solid->velocity_m_s[a] *= limit;
    }
}

/// The place of the next one: behind the others, or that of the oldest.
static uint32_t place_of_next(const tarn_tank *tank)
{
    const tank_added *added = &tank->added;
    const uint32_t most = tile_min_u32(TARN_TANK_THROWN_MAX, TARN_TANK_BODIES_MAX - tank->own_body_count);
    if (added->thrown_count < most) {
        return added->thrown_count;
    }
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < added->thrown_count; i++) {
        oldest = added->thrown_at[i] < added->thrown_at[oldest] ? i : oldest;
    }
    return oldest;
}

tarn_status tarn_tank_throw(tarn_tank *tank, const tarn_solid *solid, uint32_t *body, char *why, size_t why_bytes)
{
    const tank_complaint complaint = {why, why_bytes};
    tank_added *added = &tank->added;
    tarn_status status = check_thrown(tank, solid, &complaint);
    if (status == TARN_OK && added->thrown_total == UINT32_MAX) {
        status = tank_refuse(&complaint, TARN_E_LIMIT, "%u were thrown in; no more are counted", UINT32_MAX);
    }
    if (status != TARN_OK) {
        return status;
    }
    status = take_memory(tank, 0, 1);
    if (status != TARN_OK) {
        return tank_refuse(&complaint, status, "there is no memory for a floating body");
    }
    const uint32_t place = place_of_next(tank);
    clean(solid, TARN_MOTION_FREE, &added->thrown[place]);
    fit_thrown(tank, &added->thrown[place]);
    added->thrown_at[place] = added->thrown_total++;
    if (place == added->thrown_count) {
        added->thrown_count++;
        tank_show_solids(tank);
    }
    if (body != NULL) {
        *body = tank->own_body_count + place;
    }
    return tank_bodies_put(tank, tank->own_body_count + place);
}

// --------------------------------------------------------------------------------------------------------------- walls

static tarn_status check_wall(const tarn_tank *tank, const tarn_solid *solid, const tank_complaint *why)
{
    if (solid->motion != TARN_MOTION_STATIC || (unsigned)solid->shape.kind >= TARN_SHAPE_FIELD ||
        solid->shape.inverted) {
        return tank_refuse(why, TARN_E_ARGUMENT, "a wall is a box, ball, capsule or cylinder that stands still");
    }
    const tarn_status status = check_size(tank, &solid->shape, why);
    return status == TARN_OK ? tank_solid_check(&tank->desc, solid, why) : status;
}

tarn_status tarn_tank_add_wall(tarn_tank *tank, const tarn_solid *solid, char *why, size_t why_bytes)
{
    const tank_complaint complaint = {why, why_bytes};
    tank_added *added = &tank->added;
    tarn_status status = check_wall(tank, solid, &complaint);
    if (status == TARN_OK && added->wall_count == TARN_TANK_WALLS_MAX) {
        status = tank_refuse(&complaint, TARN_E_LIMIT, "there are %d pieces of wall already; no more fit",
                             TARN_TANK_WALLS_MAX);
    }
    if (status == TARN_OK) {
        status = take_memory(tank, 1, 0);
        if (status != TARN_OK) {
            tank_refuse(&complaint, status, "there is no memory for walls");
        }
    }
    if (status != TARN_OK) {
        return status;
    }
    tarn_solid *wall = &added->walls[added->wall_count++];
    clean(solid, TARN_MOTION_STATIC, wall);
    status = tank_walls_change(tank, wall, 1);
    if (status == TARN_E_LIMIT) {
        added->wall_count--;
        const tarn_status back = tank_walls_change(tank, wall, 1);
        tank_refuse(&complaint, status, "this piece of wall and those there are in more of the tank than walls may be");
        return back == TARN_OK ? status : back;
    }
    tank_show_solids(tank);
    return status;
}

tarn_status tarn_tank_erase_walls(tarn_tank *tank, const float center_m[3], float radius_m, uint32_t *count)
{
    tank_added *added = &tank->added;
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
        if (tank_wall_distance(tank, &wall, at_m) * (double)tank->desc.cell_m < (double)radius_m) {
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
    const tarn_status status = tank_walls_change(tank, gone, gone_count);
    tank_show_solids(tank);
    return status;
}

// --------------------------------------------------------------------------------------------------------------- state

int tank_added_fits(const tarn_tank *tank, const tank_added *added)
{
    const tank_complaint silent = {NULL, 0};
    const uint32_t most = tile_min_u32(TARN_TANK_THROWN_MAX, TARN_TANK_BODIES_MAX - tank->own_body_count);
    if (added->thrown_count > most || added->wall_count > TARN_TANK_WALLS_MAX ||
        added->thrown_total < added->thrown_count) {
        return 0;
    }
    for (uint32_t i = 0; i < added->thrown_count; i++) {
        if (added->thrown_at[i] >= added->thrown_total || added->thrown_total - added->thrown_at[i] > most ||
            check_thrown(tank, &added->thrown[i], &silent) != TARN_OK) {
            return 0;
        }
        for (uint32_t k = 0; k < i; k++) {
            if (added->thrown_at[k] == added->thrown_at[i]) {
                return 0;
            }
        }
    }
    for (uint32_t w = 0; w < added->wall_count; w++) {
        if (check_wall(tank, &added->walls[w], &silent) != TARN_OK) {
            return 0;
        }
    }
    return 1;
}

tarn_status tank_added_take(tarn_tank *tank, const tank_added *added)
{
    tank->added = *added;
    tank->walls.is_current = 0;
    tarn_status status = take_memory(tank, added->wall_count > 0, added->thrown_count > 0);
    if (status != TARN_OK) {
        tank_added_forget(tank);
        return status == TARN_E_LIMIT ? TARN_E_MEMORY : status;
    }
    tank_show_solids(tank);
    for (uint32_t b = tank->own_body_count; b < tank->body_count && status == TARN_OK; b++) {
        status = tank_bodies_put(tank, b);
    }
    if (status == TARN_OK && tank->body_count == tank->own_body_count && tank->body_count > 0) {
        status =
            tarn_queue_upload(tank->queue, &tank->args.m.bodies->count, &tank->body_count, sizeof tank->body_count);
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

uint64_t tank_added_hash(const tarn_tank *tank, uint64_t hash)
{
    const tank_added *added = &tank->added;
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

uint32_t tarn_tank_added(const tarn_tank *tank, tarn_added_solid *list)
{
    const tank_added *added = &tank->added;
    uint32_t count = 0;
    for (uint32_t i = 0; i < added->thrown_count; i++) {
        uint32_t at = count++;
        const uint32_t number = tank_body_number(tank, tank->own_body_count + i);
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
