// Particles come into being and leave.
//
// A substep's births: an emitter gives birth all over its region, at the rate at which liquid of its velocity leaves
// the region; at the end where it leaves it then has the liquid's density. Cells inside the liquid that have thinned
// out get particles. Each active tile counts its births; the sum is cut to the room there is; the move makes places for
// them behind the tile's own particles, and they are written there with the velocity of the grid or the emitter.
//
// Where there is no room, spray makes way, the oldest first: particles alone in their surroundings are counted by
// classes of age, and in the next substep the oldest classes go.
#include "kernels/grid/halo.h"
#include "kernels/tank/region.h"
#include "kernels/tank/store.h"

enum {
    RESEED_SHARE = 4, ///< a cell inside the liquid with less than 1/4 of its particles gets some
    JAMMED_SHARE = 2, ///< an emitter's cell with more than twice its particles gets none
};
#define CROWDED 3.0f         ///< a cell with more than so many times its particles loses some
#define CROWDED_IN_DEBT 1.5f ///< the same, while reseeding has to make up for births

TILE_FN float random_share(uint64_t key)
{
    return (float)(tile_mix_u64(key) >> 40) * (1.0f / (1 << 24));
}

/// Names a cell, a substep and a number.
TILE_FN uint64_t random_key(const tank_args *args, uint32_t dense, uint32_t cell, uint32_t number)
{
    const uint64_t place = (uint64_t)dense * TILE_CELLS + cell;
    return (tile_mix_u64(place) ^ args->store.control->seed) + (uint64_t)number * 0x9e3779b97f4a7c15ull +
           ((uint64_t)args->store.counters->next_id << 32);
}

// ------------------------------------------------------------------------------------------------------------- births

typedef struct births_scratch {
    uint8_t type[RIM_CELLS];
    uint32_t count[TILE_CELLS];
    uint32_t total;
} births_scratch;

/// Which emitter a cell belongs to, or TANK_REGIONS_MAX.
TILE_FN uint32_t emitter_at(const tank_control *control, tile_place place, int x, int y, int z)
{
    for (uint32_t e = 0; e < control->emitter_count; e++) {
        if (region_holds(&control->emitters[e], (float)(place.x * TILE_EDGE + x) + 0.5f,
                         (float)(place.y * TILE_EDGE + y) + 0.5f, (float)(place.z * TILE_EDGE + z) + 0.5f)) {
            return e;
        }
    }
    return TANK_REGIONS_MAX;
}

/// Whether a cell's centre is in the liquid and no neighbour is empty. One of the fringe has liquid (CELL_FRINGE): a
/// cell below it is enclosed, itself it is not.
TILE_FN int is_enclosed(const uint8_t *type, int at)
{
    return type[at] == CELL_LIQUID && type[at - 1] != CELL_AIR && type[at + 1] != CELL_AIR &&
           type[at - RIM_EDGE] != CELL_AIR && type[at + RIM_EDGE] != CELL_AIR &&
           type[at - RIM_EDGE * RIM_EDGE] != CELL_AIR && type[at + RIM_EDGE * RIM_EDGE] != CELL_AIR;
}

/// Beside a solid a cell has fewer particles by nature.
TILE_FN int is_roomy(const tank_args *args, uint32_t dense, uint32_t cell)
{
    const grid_memory *grid = &args->grid.m;
    return grid->room == NULL || grid->room[(uint64_t)grid->slot[dense] * TILE_CELLS + cell] == 255;
}

/// Particles that are born in a cell which has `has`.
TILE_FN uint32_t cell_births(const tank_args *args, const births_scratch *s, uint32_t dense, tile_place place,
                             uint32_t has, int x, int y, int z)
{
    const tank_control *control = args->store.control;
    const uint32_t rest = (uint32_t)args->scale.rest_density;
    const int at = rim_index(x, y, z);
    const uint32_t e = emitter_at(control, place, x, y, z);
    if (e < TANK_REGIONS_MAX) {
        const float expected = control->emitters[e].births * args->grid.m.control->frac;
        const uint32_t births =
            (uint32_t)(expected + random_share(random_key(args, dense, cell_index(x, y, z), 0x10000)));
        if (s->type[at] == CELL_SOLID || has >= JAMMED_SHARE * rest ||
            (args->grid.m.counters->watched_closed >> e & 1) != 0) { // no surface gives way: it is full
            return 0;
        }
        return control->emitters[e].keeps_off && !is_roomy(args, dense, cell_index(x, y, z)) ? 0 : births;
    }
    const uint32_t wants = args->reseed && is_enclosed(s->type, at) ? rest / RESEED_SHARE : 0;
    return wants > has && is_roomy(args, dense, cell_index(x, y, z)) ? wants - has : 0;
}

/// Births in each cell of a tile into s->count.
TILE_FN void count_births(const tank_args *args, births_scratch *s, uint32_t tile, tile_place place)
{
    const grid_memory *grid = &args->grid.m;
    const uint32_t dense = grid->active_tile[tile], o = grid->level[0].index[dense];
    load_types(&args->grid, place, tile, s->type);
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, tile_planes(&args->grid.shape)) {
        const uint32_t cell = cell_index(x, y, z);
        const uint32_t has = o != TILE_NONE ? grid->cell_count[(uint64_t)o * TILE_CELLS + cell] : 0;
        s->count[cell] = cell_births(args, s, dense, place, has, x, y, z);
    }
}

TILE_FN int has_births(const tank_args *args, uint32_t tile, tile_place place)
{
    const tank_control *control = args->store.control;
    if (args->reseed && args->grid.m.level[0].index[args->grid.m.active_tile[tile]] != TILE_NONE) {
        return 1;
    }
    for (uint32_t e = 0; e < control->emitter_count; e++) {
        if (region_meets(&control->emitters[e], place)) {
            return 1;
        }
    }
    return 0;
}

/// How many particles a tile wants to be born. One tile per active tile.
TILE_KERNEL(tank_births, CELL_LANES, tank_args, births_scratch)
{
    const grid_memory *grid = &args->grid.m;
    const store_memory *store = &args->store;
    const tile_place place = tile_place_of(&args->grid.shape, 0, grid->active_tile[tile]);
    if (!has_births(args, tile, place)) {
        if (TILE_SINGLE()) {
            store->births[tile] = 0;
        }
        return;
    }
    count_births(args, s, tile, place);
    tile_scan_u32(s->count, tile_rows(&args->grid.shape) * TILE_EDGE, &s->total);
    if (TILE_SINGLE()) {
        store->births[tile] = s->total;
    }
}

enum { LIMIT_LANES = 256 };

typedef struct limit_scratch {
    uint32_t count[LIMIT_LANES];
    uint32_t total, base;
} limit_scratch;

/// Cuts the births to the room there is, tile by tile, and gives each tile its first identity. One tile.
TILE_KERNEL(tank_births_limit, LIMIT_LANES, tank_args, limit_scratch)
{
    const grid_memory *grid = &args->grid.m;
    const store_memory *store = &args->store;
    tank_counters *counters = store->counters;
    const uint32_t most = store->control->emitter_count > 0 ? args->scale.filled : args->scale.particles_max;
    const uint32_t room = most - tile_min_u32(counters->particles, most), tiles = grid->counters->active;
    if (TILE_SINGLE()) {
        s->base = 0;
    }
    for (uint32_t first = 0; first < tiles; first += LIMIT_LANES) {
        FOR_RANGE (i, 0, LIMIT_LANES) {
            s->count[i] = first + i < tiles ? store->births[first + i] : 0;
        }
        tile_scan_u32(s->count, LIMIT_LANES, &s->total);
        FOR_RANGE (i, 0, LIMIT_LANES) {
            if (first + i < tiles) {
                const uint32_t before = s->base + s->count[i], left = before < room ? room - before : 0;
                store->births_first[first + i] = before;
                store->births[first + i] = tile_min_u32(store->births[first + i], left);
            }
        }
        TILE_BARRIER();
        if (TILE_SINGLE()) {
            s->base += s->total;
        }
    }
    if (TILE_SINGLE()) {
        counters->births = tile_min_u32(s->base, room);
        counters->births_refused = s->base - counters->births;
    }
}

typedef struct spawn_scratch {
    births_scratch births;
    uint32_t residents; ///< particles that were there before or moved here
} spawn_scratch;

/// One value of the extrapolated velocity at a point of the tank, cells, by the nearest face.
TILE_FN float velocity_near(const tank_args *args, int c, float x, float y, float z)
{
    const float p[3] = {x, y, z};
    int at[3];
    for (int a = 0; a < 3; a++) {
        at[a] = tile_clamp_i32((int)tile_floor_f32(a == c ? p[a] + 0.5f : p[a]), 0, args->grid.shape.cells[a] - 1);
    }
    const uint32_t slot =
        args->grid.m
            .slot[tile_dense_of(&args->grid.shape, 0, at[0] >> TILE_LOG2, at[1] >> TILE_LOG2, at[2] >> TILE_LOG2)];
    return slot != TILE_NONE
               ? args->grid.m.u_ext[c][(uint64_t)slot * TILE_CELLS + cell_index(at[0] & 7, at[1] & 7, at[2] & 7)]
               : 0.0f;
}

/// Dye and liquid of a reseeded particle: those of the tile's particle that is nearest to it, of those that were there
/// before the move; the arrays after it are being written.
TILE_FN uint32_t nearest_attribute(const tank_args *args, uint32_t dense, const uint32_t *position)
{
    const store_memory *store = &args->store;
    const uint32_t first = store->tile_first[dense], end = first + store->tile_count[dense];
    uint64_t least = ~0ull;
    uint32_t nearest = first;
    for (uint32_t i = first; i < end; i++) {
        uint64_t distance = 0;
        for (int a = 0; a < 3; a++) {
            const int64_t d = ((int64_t)store->moved_position[a][i] - (int64_t)position[a]) >> 8;
            distance += (uint64_t)(d * d);
        }
        nearest = distance < least ? i : nearest;
        least = distance < least ? distance : least;
    }
    return store->moved_attribute[nearest];
}

TILE_FN void spawn_one(const tank_args *args, uint32_t dense, tile_place place, uint32_t cell, uint32_t number,
                       uint32_t to, uint32_t id)
{
    const grid_memory *grid = &args->grid.m;
    const store_memory *store = &args->store;
    const int at[3] = {(int)cell & 7, (int)cell >> 3 & 7, (int)cell >> 6};
    const int tile_at[3] = {place.x, place.y, place.z};
    const uint32_t e = emitter_at(store->control, place, at[0], at[1], at[2]);
    float p[3];
    uint32_t position[3];
    for (uint32_t a = 0; a < 3; a++) {
        const float share = random_share(random_key(args, dense, cell, 3 * number + a));
        const int32_t first = (tile_at[a] * TILE_EDGE + at[a]) << POSITION_BITS;
        position[a] = (uint32_t)(first + tile_clamp_i32((int)(share * (1 << POSITION_BITS)), 1 << 14,
                                                        (1 << POSITION_BITS) - 1 - (1 << 14)));
        p[a] = (float)(tile_at[a] * TILE_EDGE + at[a]) + share;
    }
    const float limit = grid->control->speed_max;
    for (int c = 0; c < 3; c++) {
        const float v =
            e < TANK_REGIONS_MAX ? store->control->emitters[e].velocity[c] : velocity_near(args, c, p[0], p[1], p[2]);
        store->position[c][to] = position[c];
        store->velocity[c][to] = tile_clamp_f32(v, -limit, limit);
    }
    store->id[to] = id;
    if (e == TANK_REGIONS_MAX) {
        global_add_u32(&store->counters->reseed_debt, 1);
    }
    if (store->attribute != NULL) {
        store->attribute[to] =
            e < TANK_REGIONS_MAX ? store->control->emitters[e].attribute : nearest_attribute(args, dense, position);
    }
    if (store->seat != NULL) {
        store->seat[to] = TILE_NONE;
    }
    for (int k = 0; k < CARRIED_MAX && store->carried[k] != NULL; k++) {
        store->carried[k][to] = e < TANK_REGIONS_MAX ? store->control->emitters[e].carried[k] : 0.0f;
    }
    for (int i = 0; i < 9 && store->affine[0] != NULL; i++) {
        store->affine[i][to] = 0.0f;
    }
}

/// Writes a tile's births behind the particles that will move there; the present lists still hold. One tile per active
/// tile.
TILE_KERNEL(tank_spawn, CELL_LANES, tank_args, spawn_scratch)
{
    const grid_memory *grid = &args->grid.m;
    const store_memory *store = &args->store;
    const uint32_t births = store->births[tile];
    if (births == 0) {
        return;
    }
    const uint32_t dense = grid->active_tile[tile];
    const tile_place place = tile_place_of(&args->grid.shape, 0, dense);
    count_births(args, &s->births, tile, place);
    const uint32_t cells = tile_rows(&args->grid.shape) * TILE_EDGE;
    tile_scan_u32(s->births.count, cells, &s->births.total);
    const uint32_t to = store->tile_first_next[dense] + store->tile_count_next[dense] - births;
    const uint32_t id = store->counters->next_id + store->births_first[tile];
    FOR_RANGE (cell, 0, cells) {
        const uint32_t first = s->births.count[cell];
        const uint32_t end = cell + 1 < cells ? s->births.count[cell + 1] : s->births.total;
        for (uint32_t i = first; i < end && i < births && to + i < args->scale.particles_max; i++) {
            spawn_one(args, dense, place, cell, i - first, to + i, id + i);
        }
    }
}

// ------------------------------------------------------------------------------------------------------ spray makes
// way

/// Class of an age: eight to a doubling, so that 256 cover all ages.
TILE_FN uint32_t age_class(uint32_t age)
{
    if (age < 8) {
        return age;
    }
    const uint32_t top = 31 - tile_leading_zeros_u32(age);
    return (top - 2) * 8 + (age >> (top - 3) & 7);
}

/// `slot` is the active index of the particle's tile.
TILE_FN int is_spray(const tank_args *args, uint32_t slot, uint32_t particle)
{
    const grid_memory *grid = &args->grid.m;
    const store_memory *store = &args->store;
    const uint32_t cell = particle_cell(store, particle);
    return args->scale.makes_way || grid->density_error[(uint64_t)slot * TILE_CELLS + cell] < SPRAY_DENSITY - 1.0f;
}

/// Counts spray by age, when the last substep had no room for births. One tile per occupied tile.
TILE_KERNEL(tank_spray, PARTICLE_LANES, tank_args, tile_no_scratch)
{
    const grid_memory *grid = &args->grid.m;
    const store_memory *store = &args->store;
    if (store->counters->births_refused == 0) {
        return;
    }
    const uint32_t dense = grid->level[0].tile[tile];
    const uint32_t first = store->tile_first[dense], end = first + store->tile_count[dense], slot = grid->slot[dense];
    FOR_RANGE_ATOMIC (i, first, end) {
        if (is_spray(args, slot, i)) {
            global_add_u32(&store->counters->spray_age[age_class(store->counters->next_id - store->id[i])], 1);
        }
    }
}

typedef struct choose_scratch {
    uint32_t older[AGE_CLASSES]; ///< spray of older classes, the oldest class first
    uint32_t total, going;
} choose_scratch;

/// Which ages of spray go: the oldest, as many as wanted to be born, in whole classes. One tile.
TILE_KERNEL(tank_spray_choose, AGE_CLASSES, tank_args, choose_scratch)
{
    tank_counters *counters = args->store.counters;
    const uint32_t refused = counters->births_refused;
    FOR_RANGE (i, 0, AGE_CLASSES) {
        s->older[i] = counters->spray_age[AGE_CLASSES - 1 - i];
        counters->spray_age[AGE_CLASSES - 1 - i] = 0;
    }
    if (TILE_SINGLE()) {
        s->going = 0;
    }
    tile_scan_u32(s->older, AGE_CLASSES, &s->total);
    FOR_RANGE_ATOMIC (i, 0, AGE_CLASSES) {
        tile_add_u32(&s->going, s->older[i] < refused);
    }
    TILE_BARRIER();
    if (TILE_SINGLE()) {
        counters->reseed_pays = (int32_t)counters->reseed_debt > 0;
        counters->spray_age_max = AGE_CLASSES - s->going;
    }
}

// -------------------------------------------------------------------------------------------------------------- events

typedef struct events_scratch {
    uint32_t move_count[MOVED_GONE + 1];
    uint32_t meets_drain;
} events_scratch;

/// Whether a drain takes what went from one point (cells) to another in a substep. One that was thinner than a cell is
/// at least a cell thick now, so that steps of half a cell find it on the way; where they end, it takes whole cells:
/// the grid has no liquid to press into a part of one.
TILE_FN int drain_takes(const tank_region *drain, const float *from, const float *to)
{
    if (region_holds(drain, to[0], to[1], to[2])) {
        return 1;
    }
    if (!drain->takes_cells) {
        return 0;
    }
    if (region_holds(drain, tile_floor_f32(to[0]) + 0.5f, tile_floor_f32(to[1]) + 0.5f, tile_floor_f32(to[2]) + 0.5f)) {
        return 1;
    }
    float farthest = 0.0f;
    for (int a = 0; a < 3; a++) {
        farthest = tile_max2_f32(farthest, tile_abs_f32(to[a] - from[a]));
    }
    const int steps = (int)tile_min_f32(4.0f * farthest, 4.0f * FLIGHT_CELLS_MAX) + 1; // a diagonal is twice an axis
    for (int i = 1; i < steps; i++) {
        const float share = (float)i / (float)steps;
        if (region_holds(drain, from[0] + share * (to[0] - from[0]), from[1] + share * (to[1] - from[1]),
                         from[2] + share * (to[2] - from[2]))) {
            return 1;
        }
    }
    return 0;
}

TILE_FN int leaves(const tank_args *args, uint32_t tile, uint32_t particle, int meets_drain)
{
    const grid_memory *grid = &args->grid.m;
    const store_memory *store = &args->store;
    const float unit = 1.0f / (1 << POSITION_BITS);
    if (meets_drain) {
        float from[3], to[3];
        for (int a = 0; a < 3; a++) {
            from[a] = (float)store->position[a][particle] * unit;
            to[a] = (float)store->moved_position[a][particle] * unit;
        }
        for (uint32_t d = 0; d < store->control->drain_count; d++) {
            if (drain_takes(&store->control->drains[d], from, to)) {
                return 1;
            }
        }
    }
    if (!store->control->has_births) {
        return 0;
    }
    if (store->counters->spray_age_max < AGE_CLASSES &&
        is_spray(args, grid->slot[grid->level[0].tile[tile]], particle) &&
        age_class(store->counters->next_id - store->id[particle]) >= store->counters->spray_age_max) {
        return 1;
    }
    if (!args->reseed) {
        return 0;
    }
    const uint32_t cell = particle_cell(store, particle);
    // Where more were born than have gone, moderate crowds lose some, too, so that the volume stays.
    const float count = (float)grid->cell_count[(uint64_t)tile * TILE_CELLS + cell];
    const float most = (store->counters->reseed_pays ? CROWDED_IN_DEBT : CROWDED) * args->scale.rest_density;
    if (count <= most || random_share(random_key(args, store->id[particle], cell, 1)) * count <= most) {
        return 0;
    }
    global_add_u32(&store->counters->reseed_debt, 0xffffffffu);
    return 1;
}

/// Slopes leave room for a velocity that has changed: |v| + node_reach sum |C| <= SPEED_MAX.
TILE_FN void fit_slopes(const tank_args *args, uint32_t particle, int c, float velocity)
{
    const store_memory *store = &args->store;
    float sum = 0.0f;
    for (int a = 0; a < 3; a++) {
        sum += tile_abs_f32(store->moved_affine[3 * c + a][particle]);
    }
    const float room = SPEED_MAX - tile_abs_f32(velocity), reach = args->scale.node_reach * sum;
    for (int a = 0; a < 3 && reach > room; a++) {
        store->moved_affine[3 * c + a][particle] *= room / reach;
    }
}

/// What happens to particles after they moved: drains and crowds take them away, a turning tank turns their
/// velocities. One tile per occupied tile.
TILE_KERNEL(tank_events, PARTICLE_LANES, tank_args, events_scratch)
{
    const grid_memory *grid = &args->grid.m;
    const store_memory *store = &args->store;
    const grid_control *control = grid->control;
    const uint32_t dense = grid->level[0].tile[tile];
    const uint32_t first = store->tile_first[dense], end = first + store->tile_count[dense];
    const tile_place place = tile_place_of(&args->grid.shape, 0, dense);
    int meets = 0;
    for (uint32_t d = 0; d < store->control->drain_count; d++) {
        meets |= region_meets(&store->control->drains[d], place);
    }
    FOR_RANGE (n, 0, MOVED_GONE + 1) {
        s->move_count[n] = 0;
    }
    FOR_RANGE (i, first, end) {
        if (leaves(args, tile, i, meets)) {
            store->moved_to[i] = MOVED_GONE;
        }
    }
    if (control->is_turning) {
        FOR_RANGE (i, first, end) {
            const float v[3] = {store->moved_velocity[0][i], store->moved_velocity[1][i], store->moved_velocity[2][i]};
            for (int c = 0; c < 3; c++) {
                const float *row = control->coriolis[c];
                const float turned = row[0] * v[0] + row[1] * v[1] + row[2] * v[2];
                const float kept = tile_clamp_f32(turned, -control->speed_max, control->speed_max);
                store->moved_velocity[c][i] = kept;
                if (store->affine[0] != NULL) {
                    fit_slopes(args, i, c, kept);
                }
            }
        }
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, first, end) {
        tile_add_u32(&s->move_count[store->moved_to[i]], 1);
    }
    TILE_BARRIER();
    FOR_RANGE (n, 0, 27) {
        store->move_count[tile * 27 + n] = s->move_count[n];
    }
}
