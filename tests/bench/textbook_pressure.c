// The pressure and the volume: two Poisson equations over the liquid cells with one matrix.
//
//     pressure            A p = -div u           then  u -= grad p
//     volume correction   A q = density error    then  particles move by -grad q   (Kugelstadt et al. 2019)
#include "tests/bench/textbook_internal.h"

#include <math.h>

// The numbers of Tarn's correction and of its surface.
#define DENSITY_TOLERANCE 0.02f ///< largest error that is left over
#define DENSITY_STEP_MAX 0.25f  ///< largest that is corrected in one substep
#define SURFACE_DENSITY 0.5f    ///< of a cell whose centre the surface passes
#define THETA_MIN 0.05f         ///< the surface is no nearer to a liquid cell's centre, cells

// ------------------------------------------------------------------------------------------------------------- surface

/// Distance from a cell's centre to a plane surface, cells, positive in the liquid: the smoothed density is the
/// integral of the hat function up to there.
static float surface_distance(float density)
{
    return density < 0.5f ? sqrtf(2.0f * max_of(density, 0.0f)) - 1.0f
                          : 1.0f - sqrtf(2.0f * max_of(1.0f - density, 0.0f));
}

/// By what the difference of pressures across an open face is to be multiplied for the gradient there: at the surface
/// the pressure is zero where the surface is, not at the air cell's centre (ghost fluid method, Gibou et al. 2002).
static float steepness(const textbook_flip *f, size_t cell, size_t before)
{
    if (f->accuracy == TEXTBOOK_PLAIN || f->type[cell] == f->type[before]) {
        return 1.0f;
    }
    const size_t liquid = f->type[cell] == LIQUID ? cell : before, air = f->type[cell] == LIQUID ? before : cell;
    const float inside = max_of(surface_distance(f->density[liquid]), 1e-3f);
    return min_of(max_of(1.0f - surface_distance(f->density[air]) / inside, 1.0f), 1.0f / THETA_MIN);
}

static bool is_fringe(const textbook_flip *f, size_t i)
{
    bool beside_air = false, beside_full = false;
    for (int a = 0; a < 3; a++) {
        for (int side = -1; side <= 1; side += 2) {
            const size_t other = i + (size_t)(side * f->stride[a]);
            beside_air |= f->type[other] == AIR;
            beside_full |= f->density[other] > SURFACE_DENSITY;
        }
    }
    return f->type[i] == LIQUID && f->density[i] < SURFACE_DENSITY && beside_air && beside_full;
}

void textbook_mark_fringe(textbook_flip *f)
{
    for (int z = 1; z < f->size[2] - 1; z++) {
        for (int y = 1; y < f->size[1] - 1; y++) {
            for (int x = 1; x < f->size[0] - 1; x++) {
                const size_t i = (size_t)(x + y * f->stride[1] + z * f->stride[2]);
                if (is_fringe(f, i)) {
                    f->type[i] = FRINGE;
                }
            }
        }
    }
}

// -------------------------------------------------------------------------------------------------------------- matrix

/// One row of the matrix for each liquid cell.
static void build_cell(textbook_flip *f, size_t i)
{
    const bool liquid = f->type[i] == LIQUID;
    float sum = 0.0f;
    for (int a = 0; a < 3; a++) {
        const size_t next = i + (size_t)f->stride[a], before = i - (size_t)f->stride[a];
        if (liquid && f->type[next] != SOLID) {
            sum += steepness(f, next, i);
        }
        if (liquid && f->type[before] != SOLID) {
            sum += steepness(f, i, before);
        }
        f->plus[a][i] = liquid && f->type[next] == LIQUID ? 1.0f : 0.0f;
    }
    f->diagonal[i] = sum;
    f->p[i] = f->r[i] = f->precon[i] = 0.0f;
}

static void build_matrix(textbook_flip *f)
{
    f->row_count = 0;
    for (int z = 1; z < f->size[2] - 1; z++) {
        for (int y = 1; y < f->size[1] - 1; y++) {
            for (int x = 1; x < f->size[0] - 1; x++) {
                build_cell(f, (size_t)(x + y * f->stride[1] + z * f->stride[2]));
            }
        }
    }
    for (int z = 1; z < f->size[2] - 1; z++) {
        for (int y = 1; y < f->size[1] - 1; y++) {
            size_t first = (size_t)(1 + y * f->stride[1] + z * f->stride[2]), end = first + (size_t)f->size[0] - 2;
            while (first < end && f->type[first] != LIQUID) {
                first++;
            }
            while (end > first && f->type[end - 1] != LIQUID) {
                end--;
            }
            if (first < end) {
                f->rows[f->row_count++] = (flip_row){first, end};
            }
        }
    }
}

/// The modified incomplete Cholesky factor MIC(0), as the inverse of its diagonal.
static void build_precon(textbook_flip *f)
{
    const float tau = 0.97f, sigma = 0.25f;
    const size_t sy = (size_t)f->stride[1], sz = (size_t)f->stride[2];
    const float *px = f->plus[0], *py = f->plus[1], *pz = f->plus[2];
    float *precon = f->precon;
    for (uint32_t row = 0; row < f->row_count; row++) {
        for (size_t i = f->rows[row].first; i < f->rows[row].end; i++) {
            if (f->diagonal[i] <= 0.0f) {
                continue;
            }
            const float ex = px[i - 1] * precon[i - 1], ey = py[i - sy] * precon[i - sy],
                        ez = pz[i - sz] * precon[i - sz];
            const float filled = ex * precon[i - 1] * (py[i - 1] + pz[i - 1]) +
                                 ey * precon[i - sy] * (px[i - sy] + pz[i - sy]) +
                                 ez * precon[i - sz] * (px[i - sz] + py[i - sz]);
            const float e = f->diagonal[i] - (ex * ex + ey * ey + ez * ez) - tau * filled;
            precon[i] = 1.0f / sqrtf(e < sigma * f->diagonal[i] ? f->diagonal[i] : e);
        }
    }
}

void textbook_build_system(textbook_flip *f)
{
    build_matrix(f);
    build_precon(f);
}

// -------------------------------------------------------------------------------------------------- conjugate
// gradients

/// z = M r: a forward substitution and a backward one. Cells without liquid have precon = 0 and so stay zero.
static void apply_precon(textbook_flip *f)
{
    const size_t sy = (size_t)f->stride[1], sz = (size_t)f->stride[2];
    const float *px = f->plus[0], *py = f->plus[1], *pz = f->plus[2], *precon = f->precon, *r = f->r;
    float *z = f->z;
    for (uint32_t row = 0; row < f->row_count; row++) {
        float before = 0.0f;
        for (size_t i = f->rows[row].first; i < f->rows[row].end; i++) {
            const float across =
                r[i] + py[i - sy] * precon[i - sy] * z[i - sy] + pz[i - sz] * precon[i - sz] * z[i - sz];
            before = (across + px[i - 1] * precon[i - 1] * before) * precon[i];
            z[i] = before;
        }
    }
    for (uint32_t row = f->row_count; row-- > 0;) {
        float after = 0.0f;
        for (size_t i = f->rows[row].end; i-- > f->rows[row].first;) {
            const float across = z[i] + (py[i] * z[i + sy] + pz[i] * z[i + sz]) * precon[i];
            after = (across + px[i] * precon[i] * after) * precon[i];
            z[i] = after;
        }
    }
}

/// z = A s; returns (s, z).
static double apply_matrix(textbook_flip *f)
{
    const size_t sy = (size_t)f->stride[1], sz = (size_t)f->stride[2];
    const float *px = f->plus[0], *py = f->plus[1], *pz = f->plus[2], *diagonal = f->diagonal, *s = f->s;
    float *z = f->z;
    double sum = 0.0;
    for (uint32_t row = 0; row < f->row_count; row++) {
        float part = 0.0f;
        for (size_t i = f->rows[row].first; i < f->rows[row].end; i++) {
            const float value = diagonal[i] * s[i] - px[i] * s[i + 1] - px[i - 1] * s[i - 1] - py[i] * s[i + sy] -
                                py[i - sy] * s[i - sy] - pz[i] * s[i + sz] - pz[i - sz] * s[i - sz];
            z[i] = value;
            part += value * s[i];
        }
        sum += (double)part;
    }
    return sum;
}

/// (z, r)
static double dot_zr(const textbook_flip *f)
{
    double sum = 0.0;
    for (uint32_t row = 0; row < f->row_count; row++) {
        float part = 0.0f;
        for (size_t i = f->rows[row].first; i < f->rows[row].end; i++) {
            part += f->z[i] * f->r[i];
        }
        sum += (double)part;
    }
    return sum;
}

/// p += alpha s, r -= alpha z; returns the largest residual.
static float update(textbook_flip *f, float alpha)
{
    float largest = 0.0f;
    float *p = f->p, *r = f->r;
    const float *s = f->s, *z = f->z;
    for (uint32_t row = 0; row < f->row_count; row++) {
        for (size_t i = f->rows[row].first; i < f->rows[row].end; i++) {
            p[i] += alpha * s[i];
            r[i] -= alpha * z[i];
            largest = max_of(largest, fabsf(r[i]));
        }
    }
    return largest;
}

/// s = z + beta s
static void turn(textbook_flip *f, float beta)
{
    float *s = f->s;
    const float *z = f->z;
    for (uint32_t row = 0; row < f->row_count; row++) {
        for (size_t i = f->rows[row].first; i < f->rows[row].end; i++) {
            s[i] = z[i] + beta * s[i];
        }
    }
}

/// What a solve did.
typedef struct flip_solve {
    uint32_t iterations;
    float residual;
} flip_solve;

/// Solves A p = r by conjugate gradients until the residual is within the tolerance everywhere.
static flip_solve solve(textbook_flip *f, float tolerance)
{
    flip_solve done = {0, update(f, 0.0f)};
    if (done.residual > tolerance) {
        apply_precon(f);
        turn(f, 0.0f);
    }
    double sigma = dot_zr(f);
    while (done.residual > tolerance && done.iterations < TEXTBOOK_ITERATIONS_MAX) {
        done.residual = update(f, (float)(sigma / apply_matrix(f)));
        done.iterations++;
        if (done.residual <= tolerance) {
            break;
        }
        apply_precon(f);
        const double next = dot_zr(f);
        turn(f, (float)(next / sigma));
        sigma = next;
    }
    return done;
}

// ------------------------------------------------------------------------------------------------------------ pressure

/// The negative divergence, 1/s.
static float inflow(const textbook_flip *f, size_t i)
{
    float divergence = 0.0f;
    for (int a = 0; a < 3; a++) {
        divergence += f->u[a][i + (size_t)f->stride[a]] - f->u[a][i];
    }
    return -divergence;
}

/// The negative gradient of the solution on the face between a cell and the one before it.
static float push(const textbook_flip *f, size_t cell, size_t before)
{
    return is_open(f, cell, before) ? steepness(f, cell, before) * (f->p[before] - f->p[cell]) : 0.0f;
}

void textbook_project(textbook_flip *f, float dt_s)
{
    for (uint32_t row = 0; row < f->row_count; row++) {
        for (size_t i = f->rows[row].first; i < f->rows[row].end; i++) {
            f->r[i] = f->type[i] == LIQUID ? inflow(f, i) : 0.0f;
        }
    }
    const flip_solve done = solve(f, f->tolerance / dt_s);
    f->report.pressure_iterations = done.iterations;
    f->report.residual = done.residual * dt_s;
    for (int c = 0; c < 3; c++) {
        for (int z = 1; z < f->size[2] - 1; z++) {
            for (int y = 1; y < f->size[1] - 1; y++) {
                for (int x = 1; x < f->size[0] - 1; x++) {
                    const size_t i = (size_t)(x + y * f->stride[1] + z * f->stride[2]);
                    f->u[c][i] += push(f, i, i - (size_t)f->stride[c]);
                }
            }
        }
    }
}

// -------------------------------------------------------------------------------------------------------------- volume

/// At the surface a cell is not full by nature: only crowding counts there.
static float density_error(const textbook_flip *f, size_t i)
{
    bool beside_air = false;
    for (int a = 0; a < 3; a++) {
        for (int side = -1; side <= 1; side += 2) {
            const uint8_t other = f->type[i + (size_t)(side * f->stride[a])];
            beside_air |= other == AIR || other == FRINGE;
        }
    }
    const float error = min_of(max_of(f->density[i] - 1.0f, -DENSITY_STEP_MAX), DENSITY_STEP_MAX);
    return f->density_gain * (beside_air ? max_of(error, 0.0f) : error);
}

void textbook_correct_volume(textbook_flip *f)
{
    for (uint32_t row = 0; row < f->row_count; row++) {
        for (size_t i = f->rows[row].first; i < f->rows[row].end; i++) {
            f->r[i] = f->type[i] == LIQUID ? density_error(f, i) : 0.0f;
            f->p[i] = 0.0f;
        }
    }
    f->report.volume_iterations = solve(f, DENSITY_TOLERANCE).iterations;
    for (int c = 0; c < 3; c++) {
        for (int z = 1; z < f->size[2] - 1; z++) {
            for (int y = 1; y < f->size[1] - 1; y++) {
                for (int x = 1; x < f->size[0] - 1; x++) {
                    const size_t i = (size_t)(x + y * f->stride[1] + z * f->stride[2]);
                    const float way = push(f, i, i - (size_t)f->stride[c]);
                    f->shift[c][i] = min_of(max_of(way, -0.5f * DENSITY_STEP_MAX), 0.5f * DENSITY_STEP_MAX);
                }
            }
        }
    }
}
