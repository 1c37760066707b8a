// Forces on the air, its viscosity, the confinement of its vortices; and where it is awake.
#include "kernels/smoke/box.h"
#include "kernels/tank/push.h"

// -------------------------------------------------------------------------------------------------------------- forces

typedef struct forces_box {
    float lift[BOX_CELLS(1)];
    uint32_t neighbour[27];
} forces_box;

/// What people and emitters do.
TILE_FN void push_faces(const smoke_args *args, tile_place place, int axis, float *u)
{
    const float at_x = axis == 0 ? 0.0f : 0.5f, at_y = axis == 1 ? 0.0f : 0.5f, at_z = axis == 2 ? 0.0f : 0.5f;
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, planes_of(&args->tank.grid.shape, place, 2)) {
        const float at[3] = {(float)(place.x * TILE_EDGE + x) + at_x, (float)(place.y * TILE_EDGE + y) + at_y,
                             (float)(place.z * TILE_EDGE + z) + at_z};
        if (open_faces(&args->tank.grid.shape, place, axis, y, z) >> x & 1) {
            float *face = u + cell_index(x, y, z);
            *face = apply_hands(&args->tank, at, axis, *face);
        }
    }
}

/// Warm air is lifted against gravity (Boussinesq), what people left too fast calms; nothing moves at walls. One tile
/// per active tile.
TILE_KERNEL(smoke_forces, CELL_LANES, smoke_args, forces_box)
{
    const grid_memory *grid = &args->tank.grid.m;
    const grid_shape *shape = &args->tank.grid.shape;
    const tile_place place = tile_place_of(shape, 0, grid->active_tile[tile]);
    const box_shape b = box_shape_of(shape, 1);
    const int stride[3] = {1, b.edge, b.plane}, pushed = in_reach(&args->tank, place);
    halo_neighbours(&args->tank.grid, place, s->neighbour);
    TILE_BARRIER();
    load_box(b, s->neighbour, args->m.lift, s->lift);
    for (int axis = 0; axis < 3; axis++) {
        float *u = grid->u[axis] + (uint64_t)tile * TILE_CELLS;
        const float force = -0.5f * grid->control->gravity[axis] * grid->control->frac;
        const float calm = args->m.control->calm_speed, lost = 1.0f - args->m.control->kept;
        FOR_ROWS (x, row, 0, (uint32_t)(planes_of(shape, place, 2) * TILE_EDGE)) {
            const int y = (int)row & 7, z = (int)row >> 3;
            const float *lift = s->lift + box_index(b, (int)x, y, z);
            const row_f32 lifted = row_load(u + row * 8 + x) + force * (row_load(lift) + row_load(lift - stride[axis]));
            const row_f32 calmed = lifted - lost * (lifted - row_clamp(lifted, -calm, calm));
            row_store(u + row * 8 + x, row_keep(row_bits_mask(open_faces(shape, place, axis, y, z) >> x), calmed));
        }
        if (pushed) {
            push_faces(args, place, axis, u);
        }
    }
}

// ----------------------------------------------------------------------------------------------------------- viscosity

typedef struct viscosity_box {
    float u[BOX_CELLS(1)];
    uint32_t neighbour[27];
} viscosity_box;

/// Sum of the six around each of a row of a box.
TILE_FN row_f32 sum_around(const float *at, box_shape b)
{
    const row_f32 sum = (row_load(at - 1) + row_load(at + 1)) + (row_load(at - b.edge) + row_load(at + b.edge));
    return b.plane != 0 ? sum + (row_load(at - b.plane) + row_load(at + b.plane)) : sum;
}

/// A round of explicit diffusion, args->from to args->to. One tile per active tile.
TILE_KERNEL(smoke_viscosity, CELL_LANES, smoke_args, viscosity_box)
{
    const grid_args *grid = &args->tank.grid;
    const tile_place place = tile_place_of(&grid->shape, 0, grid->m.active_tile[tile]);
    const box_shape b = box_shape_of(&grid->shape, 1);
    const float k = args->m.control->viscosity, links = b.plane != 0 ? 6.0f : 4.0f;
    halo_neighbours(grid, place, s->neighbour);
    TILE_BARRIER();
    for (int axis = 0; axis < 3; axis++) {
        float *to = args->to[axis] + (uint64_t)tile * TILE_CELLS;
        load_velocity(grid, b, place, s->neighbour, args->from[axis], s->u, axis);
        FOR_ROWS (x, row, 0, (uint32_t)(planes_of(&grid->shape, place, 2) * TILE_EDGE)) {
            const int y = (int)row & 7, z = (int)row >> 3;
            const float *at = s->u + box_index(b, (int)x, y, z);
            const row_f32 own = row_load(at), mixed = own + k * (sum_around(at, b) - links * own);
            row_store(to + row * 8 + x,
                      row_keep(row_bits_mask(open_faces(&grid->shape, place, axis, y, z) >> x), mixed));
        }
        TILE_BARRIER();
    }
}

// --------------------------------------------------------------------------------------------------------- confinement

typedef struct curl_box {
    float u[3][BOX_CELLS(1)];
    uint32_t neighbour[27];
} curl_box;

/// How fast component c at the lower faces changes along axis a, at the cells' centres: `at` is the box's place of
/// these cells.
TILE_FN row_f32 slope_at(box_shape b, const float *u, int c, int a)
{
    const int stride[3] = {1, b.edge, b.plane};
    return 0.25f * ((row_load(u + stride[a]) - row_load(u - stride[a])) +
                    (row_load(u + stride[c] + stride[a]) - row_load(u + stride[c] - stride[a])));
}

/// The curl of u at the cells' centres, to u_ext. One tile per active tile.
TILE_KERNEL(smoke_curl, CELL_LANES, smoke_args, curl_box)
{
    const grid_args *grid = &args->tank.grid;
    const tile_place place = tile_place_of(&grid->shape, 0, grid->m.active_tile[tile]);
    const box_shape b = box_shape_of(&grid->shape, 1);
    halo_neighbours(grid, place, s->neighbour);
    TILE_BARRIER();
    for (int c = 0; c < 3; c++) {
        load_velocity(grid, b, place, s->neighbour, grid->m.u[c], s->u[c], c);
    }
    for (int a = b.plane != 0 ? 0 : 2; a < 3; a++) {
        const int c = (a + 1) % 3, d = (a + 2) % 3;
        float *to = grid->m.u_ext[a] + (uint64_t)tile * TILE_CELLS;
        FOR_ROWS (x, row, 0, (uint32_t)(planes_of(&grid->shape, place, 2) * TILE_EDGE)) {
            const int at = box_index(b, (int)x, (int)row & 7, (int)row >> 3);
            row_store(to + row * 8 + x, slope_at(b, s->u[d] + at, d, c) - slope_at(b, s->u[c] + at, c, d));
        }
    }
}

enum { CONFINE_BORDER = 2 };

typedef struct confine_box {
    float curl[3][BOX_CELLS(CONFINE_BORDER)];
    float size[BOX_CELLS(CONFINE_BORDER)];
    uint32_t neighbour[27];
} confine_box;

/// The force on a row of cells along an axis: towards where it turns faster, crossed with how it turns.
TILE_FN row_f32 confining(const confine_box *s, box_shape b, int axis, int at)
{
    const int stride[3] = {1, b.edge, b.plane}, c = (axis + 1) % 3, d = (axis + 2) % 3;
    row_f32 slope[3], square = row_all(1e-12f);
    TILE_UNROLL for (int a = 0; a < 3; a++)
    {
        slope[a] = row_load(s->size + at + stride[a]) - row_load(s->size + at - stride[a]);
        square = square + slope[a] * slope[a];
    }
    return (slope[c] * row_load(s->curl[d] + at) - slope[d] * row_load(s->curl[c] + at)) / row_sqrt(square);
}

/// Vorticity confinement (Steinhoff & Underhill 1994; Fedkiw, Stam & Jensen 2001, "Visual simulation of smoke"). One
/// tile per active tile.
TILE_KERNEL(smoke_confine, CELL_LANES, smoke_args, confine_box)
{
    const grid_args *grid = &args->tank.grid;
    const tile_place place = tile_place_of(&grid->shape, 0, grid->m.active_tile[tile]);
    const box_shape b = box_shape_of(&grid->shape, CONFINE_BORDER);
    const float strength = 0.5f * args->m.control->confinement * grid->m.control->frac;
    const int stride[3] = {1, b.edge, b.plane}, components = b.plane != 0 ? 3 : 2;
    halo_neighbours(grid, place, s->neighbour);
    TILE_BARRIER();
    for (int a = 0; a < 3; a++) {
        if (b.plane != 0 || a == 2) {
            const float mirrored[3] = {1.0f, 1.0f, 1.0f};
            load_box(b, s->neighbour, grid->m.u_ext[a], s->curl[a]);
            wall_box(b, &grid->shape, place, mirrored, s->curl[a], 3);
        } else {
            FOR_RANGE (i, 0, BOX_CELLS(CONFINE_BORDER)) {
                s->curl[a][i] = 0.0f;
            }
        }
    }
    FOR_RANGE (i, 0, (uint32_t)(b.edge * b.edge * b.depth)) {
        const float x = s->curl[0][i], y = s->curl[1][i], z = s->curl[2][i];
        s->size[i] = tile_sqrt_f32(x * x + (y * y + z * z));
    }
    TILE_BARRIER();
    for (int axis = 0; axis < components; axis++) {
        float *u = grid->m.u[axis] + (uint64_t)tile * TILE_CELLS;
        FOR_ROWS (x, row, 0, (uint32_t)(planes_of(&grid->shape, place, 2) * TILE_EDGE)) {
            const int y = (int)row & 7, z = (int)row >> 3, at = box_index(b, (int)x, y, z);
            const row_f32 force = confining(s, b, axis, at) + confining(s, b, axis, at - stride[axis]);
            row_store(u + row * 8 + x,
                      row_load(u + row * 8 + x) +
                          row_keep(row_bits_mask(open_faces(&grid->shape, place, axis, y, z) >> x), strength * force));
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------- draw

/// How far a drain draws, over its own reach.
#define DRAW_REACH 4.0f

/// What a pull adds to the velocity at a distance from its centre in each substep anew, over that distance.
TILE_FN float pull_at(const tank_push *push, float distance)
{
    const float fade = tile_clamp_f32(2.0f * (1.0f - distance / push->radius), 0.0f, 1.0f);
    return -push->step_strength * fade * push->inward / tile_max2_f32(distance, 1.0f);
}

/// What a drain does, over the distance: as into a point, but inside, where it falls to nothing at the centre.
TILE_FN float suction_at(float suction, float reach, int is_flat, float distance)
{
    if (distance >= DRAW_REACH * reach) {
        return 0.0f;
    }
    const float share = reach / tile_max2_f32(distance, reach);
    const float fade = tile_min_f32(1.0f, 2.0f * (1.0f - distance / (DRAW_REACH * reach)));
    return -suction * fade * (is_flat ? share : share * share) / tile_max2_f32(distance, reach);
}

/// What all pulls and drains together add to an axis' velocity at a place: no faster than air can be carried in a
/// substep. The direction stays, as what turns is not taken away by the next projection.
TILE_FN float drawn_at(const smoke_args *args, const float *at, int axis)
{
    const tank_control *control = &args->m.control->tank;
    float drawn[3] = {0.0f, 0.0f, 0.0f};
    for (uint32_t i = 0; i < control->push_count + control->drain_count; i++) {
        const int is_pull = i < control->push_count;
        const tank_push *push = &control->pushes[is_pull ? i : 0];
        const tank_region *drain = &control->drains[is_pull ? 0 : i - control->push_count];
        if (is_pull && push->inward == 0.0f) {
            continue;
        }
        const float *center = is_pull ? push->center : drain->center;
        const float d[3] = {at[0] - center[0], at[1] - center[1], at[2] - center[2]};
        const float distance = tile_sqrt_f32(d[0] * d[0] + (d[1] * d[1] + d[2] * d[2]));
        const float speed =
            is_pull ? pull_at(push, distance)
                    : suction_at(args->m.control->suction, drain->reach, is_flat(&args->tank.grid.shape), distance);
        for (int a = 0; a < 3; a++) {
            drawn[a] += speed * d[a];
        }
    }
    const float most = REACH_CELLS / control->grid.frac;
    const float square = drawn[0] * drawn[0] + (drawn[1] * drawn[1] + drawn[2] * drawn[2]);
    return square > most * most ? drawn[axis] * (most / tile_sqrt_f32(square)) : drawn[axis];
}

/// Air can't be pressed together: the projection takes away what pulls and drains ask of it. So they draw on what
/// carries the particles, after it; the next projection takes that away again. One tile per active tile.
TILE_KERNEL(smoke_draw, CELL_LANES, smoke_args, tile_no_scratch)
{
    const grid_args *grid = &args->tank.grid;
    const tank_control *control = &args->m.control->tank;
    const tile_place place = tile_place_of(&grid->shape, 0, grid->m.active_tile[tile]);
    uint32_t pulls = 0;
    for (uint32_t i = 0; i < control->push_count; i++) {
        pulls += control->pushes[i].inward != 0.0f;
    }
    if (pulls + control->drain_count == 0) {
        return;
    }
    for (int axis = 0; axis < (is_flat(&grid->shape) ? 2 : 3); axis++) {
        const uint64_t own = (uint64_t)tile * TILE_CELLS;
        FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, planes_of(&grid->shape, place, 2)) {
            const uint64_t face = own + cell_index(x, y, z);
            const int is_open = open_faces(&grid->shape, place, axis, y, z) >> x & 1;
            const float at[3] = {(float)(place.x * TILE_EDGE + x) + (axis == 0 ? 0.0f : 0.5f),
                                 (float)(place.y * TILE_EDGE + y) + (axis == 1 ? 0.0f : 0.5f),
                                 (float)(place.z * TILE_EDGE + z) + (axis == 2 ? 0.0f : 0.5f)};
            if (is_open && (grid->m.open[axis] == NULL || grid->m.open[axis][face] > 0)) {
                grid->m.u_ext[axis][face] += drawn_at(args, at, axis);
            }
        }
    }
}

// --------------------------------------------------------------------------------------------------------------- sleep

typedef struct stir_scratch {
    float most[TILE_CELLS];
} stir_scratch;

/// How fast a tile's air is, and whether it stirs. One tile per active tile.
TILE_KERNEL(smoke_stir, CELL_LANES, smoke_args, stir_scratch)
{
    const grid_memory *grid = &args->tank.grid.m;
    const uint32_t dense = grid->active_tile[tile];
    const tile_place place = tile_place_of(&args->tank.grid.shape, 0, dense);
    const uint32_t rows = (uint32_t)planes_of(&args->tank.grid.shape, place, 2) * TILE_EDGE;
    const uint64_t own = (uint64_t)tile * TILE_CELLS;
    const float limit = grid->control->speed_max;
    FOR_ROWS (x, row, 0, tile_rows(&args->tank.grid.shape)) {
        const uint32_t at = row * TILE_EDGE + x;
        row_f32 most = row_all(0.0f);
        for (int c = 0; c < 3 && row < rows; c++) {
            // What is kept is what a state may have: the projection itself knows no limit.
            const row_f32 kept = row_clamp(row_load(grid->u_ext[c] + own + at), -limit, limit);
            row_store(grid->u_ext[c] + own + at, kept);
            most = row_max(row_magnitude(kept), most);
        }
        row_store(s->most + at, most);
    }
    TILE_BARRIER();
    tile_max_f32(s->most, tile_rows(&args->tank.grid.shape) * TILE_EDGE);
    if (TILE_SINGLE()) {
        const int holds = grid->level[0].index[dense] != TILE_NONE && args->tank.store.tile_count[dense] > 0;
        args->m.stirs[tile] = holds || s->most[0] >= args->m.control->sleep_speed;
        const uint32_t bits = tile_bits_f32(tile_min_f32(s->most[0], grid->control->speed_max));
        global_max_u32(&grid->counters->speed_max_bits, bits);
        global_max_u32(&grid->counters->liquid_speed_bits, bits);
    }
}

typedef struct wake_scratch {
    uint32_t neighbour[27];
    uint32_t any;
} wake_scratch;

/// Tiles are awake where air stirs in them or beside them. One tile per active tile.
TILE_KERNEL(smoke_wake, 32, smoke_args, wake_scratch)
{
    const grid_args *grid = &args->tank.grid;
    const uint32_t dense = grid->m.active_tile[tile];
    halo_neighbours(grid, tile_place_of(&grid->shape, 0, dense), s->neighbour);
    if (TILE_SINGLE()) {
        s->any = 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (n, 0, 27) {
        tile_or_u32(&s->any, s->neighbour[n] != TILE_NONE && args->m.stirs[s->neighbour[n]] != 0);
    }
    TILE_BARRIER();
    if (TILE_SINGLE()) {
        args->tank.store.awake[dense] = (uint8_t)s->any;
    }
}
