// The matrices of the transforms in waves.tile.c. By multiplications and divisions only: the same bits on every
// machine, which sin doesn't promise; and of mirror images exactly the same numbers.
#include "kernels/vortons/waves.h"
#include "kernels/tank/tank_internal.h"
#include "protocol/assert.h"

#include <math.h>
#include <stdlib.h>

/// sin(x), 0 <= x <= pi / 2, to a double's last digit or two.
static double sine(double x)
{
    double sum = 1.0;
    for (int n = 22; n >= 2; n -= 2) {
        sum = 1.0 - x * x / (double)(n * (n + 1)) * sum;
    }
    return x * sum;
}

enum { ROWS_AT_ONCE = 64 }; ///< between two yields

/// Sines of the n-ths of a right angle, all 4 n of a turn: no other ones are in an axis's matrices.
static void fill_turn(uint64_t n, double *turn)
{
    const double right = 1.57079632679489661923;
    for (uint64_t at = 0; at < 4 * n; at++) {
        const uint64_t half = at % (2 * n), part = half > n ? 2 * n - half : half;
        const double value = sine(right * (double)part / (double)n);
        turn[at] = at >= 2 * n ? -value : value;
    }
}

/// Orthogonal, so that each is the inverse of its transposed; [from][to], with zeros beyond n.
static void fill_matrices(tarn_queue *queue, const double *turn, uint32_t n, uint32_t wide, float *const *matrix)
{
    const double size = sqrt(2.0 / (double)n);
    for (uint64_t k = 0; k < n; k++) {
        if (k % ROWS_AT_ONCE == 0) {
            tarn_queue_yield(queue);
        }
        for (uint64_t i = 0; i < n; i++) {
            const double cosine = (k > 0 ? size : sqrt(1.0 / (double)n)) * turn[(k * (2 * i + 1) + n) % (4 * n)];
            matrix[WAVE_SINE][k * wide + i] = (float)(size * turn[2 * k * i % (4 * n)]);
            matrix[WAVE_COSINE][i * wide + k] = (float)cosine;
            matrix[WAVE_COSINE_BACK][k * wide + i] = (float)cosine;
        }
    }
}

static void fill_eigenvalues(const double *turn, uint32_t n, float *value)
{
    for (uint32_t k = 0; k < n; k++) {
        const double half = turn[k]; // sin(pi k / 2n)
        value[k] = (float)(4.0 * half * half);
    }
}

static tarn_status upload_axis(const tarn_tank *tank, const vorton_memory *m, int axis)
{
    const uint32_t n = (uint32_t)tank->grid.desc.cells[axis], wide = vorton_wave_cells(&tank->args->grid.shape, axis);
    const size_t cells = (size_t)wide * wide;
    TARN_ASSERT(n > 0 && n <= wide);
    float *matrices = calloc(WAVE_COUNT * cells + wide, sizeof *matrices), *matrix[WAVE_COUNT];
    double *turn = malloc(4 * (size_t)n * sizeof *turn);
    tarn_status status = matrices == NULL || turn == NULL ? TARN_E_MEMORY : TARN_OK;
    if (status == TARN_OK) {
        float *eigenvalue = matrices + WAVE_COUNT * cells;
        for (int kind = 0; kind < WAVE_COUNT; kind++) {
            matrix[kind] = matrices + (size_t)kind * cells;
        }
        fill_turn(n, turn);
        fill_matrices(tank->grid.queue, turn, n, wide, matrix);
        fill_eigenvalues(turn, n, eigenvalue);
        status = tarn_queue_upload(tank->grid.queue, m->eigenvalue[axis], eigenvalue, wide * sizeof(float));
    }
    for (int kind = 0; kind < WAVE_COUNT && status == TARN_OK; kind++) {
        status = tarn_queue_upload(tank->grid.queue, m->wave[axis][kind], matrix[kind], cells * sizeof(float));
    }
    free(turn);
    free(matrices);
    return status;
}

tarn_status vorton_waves_upload(const tarn_tank *tank, const vorton_memory *m)
{
    tarn_status status = TARN_OK;
    for (int axis = 0; axis < 3 && status == TARN_OK; axis++) {
        status = upload_axis(tank, m, axis);
    }
    return status;
}

void vorton_waves_carve(grid_carver *t, const grid_shape *shape, vorton_memory *m)
{
    t->group = GROUP_TANK;
    for (int axis = 0; axis < 3; axis++) {
        const uint64_t wide = vorton_wave_cells(shape, axis);
        for (int kind = 0; kind < WAVE_COUNT; kind++) {
            grid_carve(t, &m->wave[axis][kind], wide * wide * sizeof(float));
        }
        grid_carve(t, &m->eigenvalue[axis], wide * sizeof(float));
    }
}

void vorton_waves_launch(tarn_tank *tank, const vorton_args *from)
{
    enum { PASSES = 6 };
    static const uint32_t axes[PASSES] = {2, 0, 1, 1, 0, 2}; // the last one fills all of a flat tank's tiles
    vorton_args args = *from;
    const grid_memory *m = &args.tank.grid.m;
    float *const spare[3] = {m->residual, m->direction, m->product}; // the pressure's solver comes later
    for (int p = 0; p < PASSES; p++) {
        args.pass = (wave_pass){
            .axis = axes[p], .inverse = p >= PASSES / 2, .divides = p == PASSES / 2 - 1, .ends = p == PASSES - 1};
        for (int c = 0; c < 3; c++) {
            args.pass.from[c] = p == 0 ? args.m.vorticity[c] : p % 2 == 0 ? args.m.potential[c] : spare[c];
            args.pass.to[c] = p % 2 == 0 ? spare[c] : args.m.potential[c];
        }
        grid_launch(&tank->grid, &args, VORTON_KERNEL(waves), NULL, 3 * args.tank.grid.shape.tile_total[0]);
    }
}
