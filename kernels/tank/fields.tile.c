// Fields of cells, for who looks at them: all of them magnitudes or kinds. One tile per listed tile.
#include "kernels/tank/fields.h"
#include "kernels/tank/show.h"

typedef struct cell_sums {
    float sum[TILE_CELLS];
    uint32_t count[TILE_CELLS];
} cell_sums;

TILE_FN float field_magnitude(const float *value, uint32_t axes)
{
    return axes == 1 ? value[0] : tile_sqrt_f32(value[0] * value[0] + value[1] * value[1] + value[2] * value[2]);
}

/// What a cell's particles carry. Floats are added in the particles' order, by one lane.
TILE_KERNEL(tank_field_particles, 32, tank_field_args, cell_sums)
{
    const store_memory *store = &args->tank.store;
    const uint32_t dense = args->tile[tile], first = store->tile_first[dense];
    FOR_RANGE (i, 0, TILE_CELLS) {
        s->sum[i] = 0.0f;
        s->count[i] = 0;
    }
    TILE_BARRIER();
    if (TILE_SINGLE()) {
        const uint32_t end = first + particles_in(&args->tank, dense);
        for (uint32_t i = first; i < end; i++) {
            float value[3] = {0.0f, 0.0f, 0.0f};
            const uint32_t cell = particle_cell(store, i);
            for (uint32_t a = 0; a < args->axes; a++) {
                value[a] = args->value[a][i];
            }
            s->sum[cell] += field_magnitude(value, args->axes);
            s->count[cell]++;
        }
    }
    TILE_BARRIER();
    FOR_RANGE (i, 0, TILE_CELLS) {
        const float over = args->is_share ? args->tank.scale.rest_density : (float)(s->count[i] > 0 ? s->count[i] : 1);
        args->to[(uint64_t)tile * TILE_CELLS + i] = s->sum[i] / over * args->scale;
    }
}

/// Air, liquid (the cell has particles) or solid (a solid that stands still covers all of it).
TILE_KERNEL(tank_field_kinds, 256, tank_field_args, cell_sums)
{
    const store_memory *store = &args->tank.store;
    const grid_memory *grid = &args->tank.grid.m;
    const uint32_t dense = args->tile[tile], first = store->tile_first[dense];
    const uint32_t solid = grid->solid_tile != NULL ? grid->solid_tile[dense] : TILE_NONE;
    FOR_RANGE (i, 0, TILE_CELLS) {
        s->count[i] = 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, first, first + particles_in(&args->tank, dense)) {
        tile_add_u32(&s->count[particle_cell(store, i)], 1);
    }
    TILE_BARRIER();
    FOR_RANGE (i, 0, TILE_CELLS) {
        const int is_solid =
            solid == TILE_FULL || (solid < TILE_FULL && grid->solid_sides[(uint64_t)solid * TILE_CELLS + i] == 0);
        const int kind = is_solid ? CELL_SOLID : s->count[i] > 0 ? CELL_LIQUID : CELL_AIR;
        args->to[(uint64_t)tile * TILE_CELLS + i] = (float)kind;
    }
}

/// The pressure of the last solve, whose tiles these are.
TILE_KERNEL(tank_field_pressure, 256, tank_field_args, tile_no_scratch)
{
    FOR_RANGE (i, 0, TILE_CELLS) {
        const uint64_t at = (uint64_t)tile * TILE_CELLS + i;
        args->to[at] = args->value[0][at] * args->scale;
    }
}

/// A component in a cell's middle, cells per step.
TILE_FN float flow_at(const tank_args *args, int c, int x, int y, int z)
{
    return 0.5f * (kept_at(args, c, x, y, z) + kept_at(args, c, x + (c == 0), y + (c == 1), z + (c == 2)));
}

/// How much component c grows along an axis, by central differences; nothing does across one cell.
TILE_FN float growth_at(const tank_args *args, int c, int axis, int x, int y, int z)
{
    const int dx = axis == 0, dy = axis == 1, dz = axis == 2;
    return args->grid.shape.cells[axis] == 1
               ? 0.0f
               : 0.5f * (flow_at(args, c, x + dx, y + dy, z + dz) - flow_at(args, c, x - dx, y - dy, z - dz));
}

/// How fast what fills a tank moves, or turns.
TILE_KERNEL(tank_field_flow, 256, tank_field_args, tile_no_scratch)
{
    const tank_args *of = &args->tank;
    const tile_place place = tile_place_of(&of->grid.shape, 0, args->tile[tile]);
    FOR_BOX (ix, iy, iz, TILE_EDGE, TILE_EDGE, tile_extent(&of->grid.shape, 2, place.z)) {
        const int x = place.x * TILE_EDGE + ix, y = place.y * TILE_EDGE + iy, z = place.z * TILE_EDGE + iz;
        float value[3];
        for (int c = 0; c < 3; c++) {
            const int next = (c + 1) % 3, last = (c + 2) % 3;
            value[c] = args->is_curl ? growth_at(of, last, next, x, y, z) - growth_at(of, next, last, x, y, z)
                                     : flow_at(of, c, x, y, z);
        }
        args->to[(uint64_t)tile * TILE_CELLS + cell_index(ix, iy, iz)] = field_magnitude(value, 3) * args->scale;
    }
}
