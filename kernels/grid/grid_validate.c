// The grid's invariants, element by element, for validating builds: begin at grid_validate. Lists are ascending, tables
// are their inverses, whatever is reached is active, and the walls' tables on the host fit together. Where memory isn't
// the host's, only the walls are looked at.
#include "kernels/grid/grid_host.h"
#include "protocol/assert.h"

#include <math.h>

/// A list of tiles is ascending, and its table says where each is and nothing of other tiles.
static void validate_list(const uint32_t *list, const uint32_t *table, uint32_t count, uint32_t tile_total)
{
    uint32_t listed = 0;
    TARN_ASSERT(count <= tile_total);
    for (uint32_t i = 0; i < count; i++) {
        TARN_ASSERT(list[i] < tile_total);
        TARN_ASSERT(i == 0 || list[i - 1] < list[i]);
        TARN_ASSERT(table[list[i]] == i);
    }
    for (uint32_t dense = 0; dense < tile_total; dense++) {
        listed += table[dense] != TILE_NONE;
    }
    TARN_ASSERT(listed == count);
}

/// What the next list is made from is empty between steps.
static void validate_bits(const uint32_t *bits, uint32_t tile_total)
{
    for (uint32_t word = 0; word < (tile_total + 31) / 32; word++) {
        TARN_ASSERT(bits[word] == 0);
    }
}

/// Particles reach no tile that isn't active, and the multigrid has every tile's parents.
static void validate_reach(const grid_args *args, const grid_counters *counters)
{
    const grid_shape *shape = &args->shape;
    for (uint32_t o = 0; o < counters->occupied; o++) {
        const tile_place place = tile_place_of(shape, 0, args->m.level[0].tile[o]);
        for (uint32_t n = 0; n < 27; n++) {
            const uint32_t beside = tile_neighbour(shape, 0, place, n);
            TARN_ASSERT(beside == TILE_NONE || args->m.slot[beside] != TILE_NONE);
        }
    }
    for (uint32_t l = 0; l + 1 < shape->level_count; l++) {
        for (uint32_t i = 0; i < counters->level_tiles[l]; i++) {
            const tile_place place = tile_place_of(shape, l, args->m.level[l].tile[i]);
            const uint32_t parent = tile_dense_of(shape, l + 1, place.x >> 1, place.y >> 1, place.z >> 1);
            TARN_ASSERT(args->m.level[l + 1].index[parent] != TILE_NONE);
        }
    }
}

void grid_validate_tiles(const grid_host *grid, const grid_counters *counters)
{
    const grid_shape *shape = &grid->args->shape;
    const grid_memory *m = &grid->args->m;
    if (!tarn_device_is_host(grid->device)) {
        return;
    }
    validate_list(m->active_tile, m->slot, counters->active, shape->tile_total[0]);
    validate_bits(m->active_bits, shape->tile_total[0]);
    for (uint32_t l = 0; l < shape->level_count; l++) {
        validate_list(m->level[l].tile, m->level[l].index, counters->level_tiles[l], shape->tile_total[l]);
        validate_bits(m->level[l].bits, shape->tile_total[l]);
    }
    validate_reach(grid->args, counters);
}

/// Every tile near walls has an index of its own, and every index that was given is a tile's or free again.
static void validate_walls(const wall_tiles *walls, uint32_t tile_total)
{
    uint32_t used = 0;
    for (uint32_t dense = 0; dense < tile_total; dense++) {
        const uint32_t i = walls->tile[dense];
        if (i == TILE_NONE || i == TILE_FULL) {
            continue;
        }
        TARN_ASSERT(i < walls->count);
        TARN_ASSERT(walls->dense[i] == dense);
        used++;
    }
    for (uint32_t i = 0; i < walls->still.count; i++) {
        TARN_ASSERT(walls->tile[walls->still.dense[i]] == i); // grid_memory.solid_rough goes by that
    }
    TARN_ASSERT(used + walls->spare_count == walls->count);
    TARN_ASSERT(walls->count <= walls->count_max);
    for (uint32_t s = 0; s < walls->spare_count; s++) {
        TARN_ASSERT(walls->spare[s] < walls->count);
        TARN_ASSERT(walls->tile[walls->dense[walls->spare[s]]] != walls->spare[s]);
    }
}

static void validate_body(const grid_body_state *state)
{
    const float *q = state->rotation;
    const float norm = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    TARN_ASSERT(fabsf(norm - 1.0f) <= 1e-4f); // what a stored state has to fulfil, too
    for (int a = 0; a < 3; a++) {
        TARN_ASSERT(isfinite(state->position[a]));
        TARN_ASSERT(fabsf(state->velocity[a]) <= BODY_SPEED_MAX);
        TARN_ASSERT(fabsf(state->spin[a]) <= BODY_SPIN_MAX);
    }
}

void grid_validate(const grid_host *grid, const grid_counters *counters)
{
    const grid_added *added = &grid->added;
    grid_validate_tiles(grid, counters);
    if (grid->walls.is_current) {
        validate_walls(&grid->walls, grid->args->shape.tile_total[0]);
    }
    TARN_ASSERT(grid_added_fits(grid, added));
    TARN_ASSERT(grid->body_count == grid->own_body_count + added->thrown_count);
    for (uint32_t b = 0; b < grid->body_count; b++) {
        validate_body(&grid->body_state[b]);
    }
}
