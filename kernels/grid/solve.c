// The grid's sequences of launches: the Poisson equation's matrix, its solution, and what the free bodies feel of it.
#include "kernels/grid/grid_host.h"
#include "kernels/grid/poisson.h"
#include "kernels/grid/regions.h"
#include "protocol/assert.h"

#include <stdarg.h>
#include <stdio.h>

/// Sweeps of a smoother: so many, which act on a part of the spectrum. Spectra lie in 0..2: of D^-1 A by Gershgorin. A
/// smoother acts on their upper part; more of it on the coarser levels, where it costs little. The coarsest level's
/// acts on nearly all, and is as good as a solution.
static const struct {
    int count;
    float lowest;
} sweeps_with[2][3] = {{{3, 0.4f}, {4, 0.3f}, {16, 1.0f / 30.0f}},
                       {{5, 0.2f}, {31, 0.004f}, {96, 0.0005f}}}; // where contrast is high

enum { CHAIN_BLOCKS_STEP = 8 };

tarn_status grid_refuse(const grid_complaint *why, tarn_status status, const char *format, ...)
{
    if (why->text != NULL && why->bytes > 0) {
        va_list list;
        va_start(list, format);
        vsnprintf(why->text, why->bytes, format, list);
        va_end(list);
    }
    return status;
}

void grid_launch(grid_host *grid, const void *args, const tarn_kernel *kernel, const uint32_t *count, uint32_t most)
{
    TARN_ASSERT(kernel != NULL && args != NULL);
    TARN_ASSERT(count == NULL || most > 0); // who counts on the device says what there is memory for
    tarn_queue_launch(grid->queue, kernel, args, count, most);
}

void grid_launch_occupied(grid_host *grid, const void *args, const tarn_kernel *kernel)
{
    grid_launch(grid, args, kernel, &grid->args->m.counters->occupied, grid->args->shape.occupied_max);
}

void grid_launch_active(grid_host *grid, const void *args, const tarn_kernel *kernel)
{
    grid_launch(grid, args, kernel, &grid->args->m.counters->active, grid->args->shape.active_max);
}

static void launch_level(grid_host *grid, grid_args *args, const tarn_kernel *kernel, uint32_t level)
{
    TARN_ASSERT(level < args->shape.level_count);
    args->level = level;
    const uint32_t most = tile_min_u32(args->shape.tile_total[level], args->shape.occupied_max);
    grid_launch(grid, args, kernel, &args->m.counters->level_tiles[level], most);
}

static void forget(grid_host *grid, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        tarn_queue_replay_destroy(grid->queue, grid->substep[i]);
        grid->substep[i] = NULL;
    }
}

void grid_forget_launches(grid_host *grid)
{
    forget(grid, 0, GRID_SUBSTEPS);
}

// -------------------------------------------------------------------------------------------------------------- bodies

/// M^-1 J^T of a field of pressures: what it does to the free bodies. NULL: of the iteration's direction.
static void bodies_respond(grid_host *grid, grid_args *args, const float *pressure)
{
    TARN_ASSERT(args->m.bodies != NULL);
    args->gathered = pressure;
    grid_launch(grid, args, GRID_KERNEL(body_gather), &args->m.bodies->tile_count, args->shape.tile_total[0]);
    grid_launch(grid, args, GRID_KERNEL(body_respond), NULL, 1);
}

void grid_push_bodies(grid_host *grid, const void *args, const tarn_kernel *force)
{
    grid_args own = *grid->args;
    const uint32_t *tiles = &own.m.bodies->tile_count, most = own.shape.tile_total[0];
    TARN_ASSERT(grid->body_count > 0);
    own.is_first = 1;
    grid_launch(grid, args, force, tiles, most);
    grid_launch(grid, &own, GRID_KERNEL(body_respond), NULL, 1);
    grid_launch(grid, &own, GRID_KERNEL(bodies_kick), NULL, 1);
    grid_launch(grid, &own, GRID_KERNEL(body_flux), tiles, most);
}

void grid_unbalance_bodies(grid_host *grid)
{
    TARN_ASSERT(grid->body_count > 0);
    grid_launch(grid, grid->args, GRID_KERNEL(bodies_unbalance), NULL, 1);
    grid_launch(grid, grid->args, GRID_KERNEL(body_flux), &grid->args->m.bodies->tile_count,
                grid->args->shape.tile_total[0]);
}

// -------------------------------------------------------------------------------------------------------------- solver

void grid_choose_chain(grid_host *grid, const grid_counters *counters)
{
    uint32_t level = 0;
    while (level < grid->args->shape.level_count && counters->level_tiles[level] > grid->chain_tiles) {
        level++;
    }
    grid->chain_level = level;
    if (level == grid->args->shape.level_count) {
        return; // launch by launch
    }
    // More than there are tiles, but not by much: a chain begins when there is room for all of its blocks.
    const uint32_t tiles = counters->level_tiles[level];
    const uint32_t blocks = (tiles + tiles / 4) / CHAIN_BLOCKS_STEP * CHAIN_BLOCKS_STEP + CHAIN_BLOCKS_STEP;
    uint32_t *recorded = &grid->chain_blocks[level];
    if (tiles >= *recorded || 2 * blocks <= *recorded) {
        *recorded = blocks;
        forget(grid, GRID_SUBSTEP_KINDS * level, GRID_SUBSTEP_KINDS * (level + 1));
    }
}

static void launch_as_one(grid_host *grid, bool is_one, void (*body)(void *), void *context)
{
    if (is_one) {
        tarn_queue_chain(grid->queue, &tarn_grid_solver_chain, grid->chain_blocks[grid->chain_level], body, context);
    } else {
        body(context);
    }
}

void grid_launch_chain(grid_host *grid, void (*body)(void *), void *context)
{
    launch_as_one(grid, grid->chain_level == 0, body, context);
}

/// The first of the levels that are a chain in what else goes launch by launch; 0: there is none, or but one launch of
/// it.
static uint32_t first_in_chain(const grid_host *grid)
{
    return grid->chain_level + 1 < grid->args->shape.level_count ? grid->chain_level : 0;
}

typedef struct solve_context {
    grid_host *grid;
    grid_args args;
    uint32_t from; ///< the finest level that a part has to do with
    bool couples;  ///< free bodies feel the solution
} solve_context;

static void coarsen(void *context)
{
    solve_context *c = context;
    for (uint32_t level = c->from; level < c->args.shape.level_count; level++) {
        launch_level(c->grid, &c->args, GRID_KERNEL(coarsen), level);
    }
}

static void launch_coarse_matrices(grid_host *grid)
{
    const uint32_t first = first_in_chain(grid);
    solve_context c = {.grid = grid, .args = *grid->args, .from = 1};
    for (; c.from < first; c.from++) {
        launch_level(grid, &c.args, GRID_KERNEL(coarsen), c.from);
    }
    launch_as_one(grid, first > 0, coarsen, &c);
}

void grid_launch_matrix(grid_host *grid)
{
    grid_args args = *grid->args;
    grid_launch_occupied(grid, &args, GRID_KERNEL(matrix));
    if (grid->desc.solver == TARN_SOLVER_MULTIGRID) {
        launch_coarse_matrices(grid);
    }
    if (grid->has_solids) {
        TARN_ASSERT((uint64_t)args.shape.active_max * TILE_CELLS <=
                    REGION_AFLOAT); // cells' numbers have none of the bits
        grid_launch_occupied(grid, &args, GRID_KERNEL(regions_join));
        grid_launch_occupied(grid, &args, GRID_KERNEL(regions_open));
        grid_launch_occupied(grid, &args, GRID_KERNEL(regions_list));
    }
}

static grid_sweeps sweeps_of(int count, float lowest)
{
    const float center = 0.5f * (2.0f + lowest), radius = 0.5f * (2.0f - lowest);
    grid_sweeps sweeps = {.step = {1.0f / center}, .count = (uint32_t)count};
    TARN_ASSERT(count > 1 && count <= SWEEPS_MAX);
    float rho = radius / center;
    for (int k = 1; k < count; k++) {
        const float next = 1.0f / (2.0f * center / radius - rho);
        sweeps.keep[k] = next * rho;
        sweeps.step[k] = 2.0f * next / radius;
        rho = next;
    }
    return sweeps;
}

tarn_status grid_prepare_solver(grid_host *grid)
{
    grid_sweeps sweeps[3];
    grid->chain_tiles = tarn_queue_chain_tiles(grid->queue, &tarn_grid_solver_chain);
    for (int i = 0; i < 3; i++) {
        sweeps[i] = sweeps_of(sweeps_with[grid->high_contrast][i].count, sweeps_with[grid->high_contrast][i].lowest);
    }
    return tarn_queue_upload(grid->queue, grid->args->m.sweeps, sweeps, sizeof sweeps);
}

/// From zero, or from x and with the result handed on. Of an odd number of sweeps it is x that the restriction and the
/// last one read.
static void sweep_level(grid_host *grid, grid_args *args, uint32_t level, bool is_after)
{
    const uint32_t count = (uint32_t)sweeps_with[1][level > 0].count;
    TARN_ASSERT(args->m.level[level].y != NULL && count % 2 == 1);
    args->is_after = is_after;
    for (args->sweep = 0; args->sweep < count; args->sweep++) {
        launch_level(grid, args, GRID_KERNEL(mg_sweep), level);
    }
    args->sweep = args->is_after = 0;
}

/// Where coefficients differ much, cells beside each other in two tiles can be one stiff pair in all that is around it,
/// which smoothing tile by tile overshoots: the V-cycle would not be positive. So it smooths over tiles' borders, and
/// more on the coarser levels, which see less of the blobs of a light liquid in a heavy one.
static void descend(grid_host *grid, grid_args *args, uint32_t level)
{
    if (grid->high_contrast) {
        sweep_level(grid, args, level, false);
    } else {
        launch_level(grid, args, GRID_KERNEL(mg_smooth), level);
    }
    launch_level(grid, args, GRID_KERNEL(mg_restrict), level);
}

static void ascend(grid_host *grid, grid_args *args, uint32_t level)
{
    if (grid->high_contrast) {
        sweep_level(grid, args, level, true);
    } else {
        launch_level(grid, args, GRID_KERNEL(mg_prolong), level);
    }
}

/// The V-cycle's part from a level on.
static void cycle_from(void *context)
{
    solve_context *c = context;
    const uint32_t top = c->args.shape.level_count - 1;
    for (uint32_t level = c->from; level < top; level++) {
        descend(c->grid, &c->args, level);
    }
    launch_level(c->grid, &c->args, GRID_KERNEL(mg_top), top);
    for (uint32_t level = top; level-- > c->from;) {
        ascend(c->grid, &c->args, level);
    }
}

static void v_cycle(solve_context *c)
{
    const uint32_t first = first_in_chain(c->grid);
    for (uint32_t level = 0; level < first; level++) {
        descend(c->grid, &c->args, level);
    }
    c->from = first;
    launch_as_one(c->grid, first > 0, cycle_from, c);
    for (uint32_t level = first; level-- > 0;) {
        ascend(c->grid, &c->args, level);
    }
}

static void iterate(void *context)
{
    solve_context *c = context;
    grid_args *args = &c->args;
    v_cycle(c);
    args->ends = !c->couples;
    grid_launch_occupied(c->grid, args, GRID_KERNEL(cg_apply));
    if (c->couples) {
        bodies_respond(c->grid, args, NULL);
        grid_launch(c->grid, args, GRID_KERNEL(body_apply), &args->m.bodies->tile_count, args->shape.tile_total[0]);
        grid_launch(c->grid, args, GRID_KERNEL(cg_alpha), NULL, 1);
    }
    args->ends = 1;
    grid_launch_occupied(c->grid, args, GRID_KERNEL(cg_update));
}

/// One iteration of Jacobi or of Gauss-Seidel.
static void relax(void *context)
{
    solve_context *c = context;
    grid_args *args = &c->args;
    const bool is_jacobi = c->grid->desc.solver == TARN_SOLVER_JACOBI;
    const uint32_t colours = is_jacobi ? 1 : 2;
    for (uint32_t colour = 0; colour < colours; colour++) {
        args->colour = is_jacobi ? COLOUR_ALL : colour;
        args->ends = 0; // alpha is the relaxation
        grid_launch_occupied(c->grid, args, GRID_KERNEL(relax));
        grid_launch_occupied(c->grid, args, GRID_KERNEL(cg_apply));
        args->ends = colour + 1 == colours;
        grid_launch_occupied(c->grid, args, GRID_KERNEL(cg_update));
    }
}

void grid_solve(grid_host *grid, bool is_density, uint32_t iterations)
{
    solve_context c = {.grid = grid, .args = *grid->args, .couples = grid->body_count > 0 && !is_density};
    c.args.is_density = (uint32_t)is_density;
    c.args.is_alone = !grid->corrects_density;
    c.args.is_conjugate = grid->desc.solver == TARN_SOLVER_MULTIGRID;
    c.args.solution = is_density ? c.args.m.potential : c.args.m.pressure;
    grid_launch_occupied(grid, &c.args, GRID_KERNEL(solve_start));
    grid_launch_occupied(grid, &c.args, GRID_KERNEL(solve_closed));
    c.args.is_first = 1;
    grid_launch(grid, &c.args, GRID_KERNEL(solve_check), NULL, 1);
    c.args.is_first = 0;
    tarn_queue_repeat(grid->queue, &c.args.m.counters->go, iterations,
                      grid->desc.solver == TARN_SOLVER_MULTIGRID ? iterate : relax, &c);
    if (c.couples) {
        c.args.is_first = 1;
        bodies_respond(grid, &c.args, c.args.solution);
        grid_launch(grid, &c.args, GRID_KERNEL(bodies_kick), NULL, 1);
    }
    grid_launch_active(grid, &c.args, GRID_KERNEL(project));
}
