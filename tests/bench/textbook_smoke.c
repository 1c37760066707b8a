// Arrays have one layout: a cell of walls around the box, so that cells and their lower faces share an index. Nothing
// is read from the outermost faces of the array.
#include "tests/bench/textbook_smoke.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS_MAX = 5000, SWEEPS_BETWEEN_LOOKS = 4 };

struct textbook_smoke {
    int n[3], components;
    ptrdiff_t stride[3];
    size_t total;
    textbook_smoke_solver solver;
    float *u[3], *u_next[3], *heat, *smoke, *next, *p, *r, *s, *z;
    float *memory;
};

enum { ARRAYS = 13 };

tarn_status textbook_smoke_create(const int *cells, textbook_smoke_solver solver, textbook_smoke **smoke)
{
    textbook_smoke *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return TARN_E_MEMORY;
    }
    s->solver = solver;
    s->components = cells[2] > 1 ? 3 : 2;
    s->total = 1;
    for (int a = 0; a < 3; a++) {
        s->n[a] = cells[a];
        s->stride[a] = (ptrdiff_t)s->total;
        s->total *= (size_t)cells[a] + 2;
    }
    s->memory = calloc(ARRAYS * s->total, sizeof *s->memory);
    if (s->memory == NULL) {
        free(s);
        return TARN_E_MEMORY;
    }
    float **const arrays[ARRAYS] = {&s->u[0],      &s->u[1], &s->u[2],  &s->u_next[0], &s->u_next[1],
                                    &s->u_next[2], &s->heat, &s->smoke, &s->next,      &s->p,
                                    &s->r,         &s->s,    &s->z};
    for (int i = 0; i < ARRAYS; i++) {
        *arrays[i] = s->memory + (size_t)i * s->total;
    }
    *smoke = s;
    return TARN_OK;
}

void textbook_smoke_destroy(textbook_smoke *s)
{
    if (s != NULL) {
        free(s->memory);
        free(s);
    }
}

void textbook_smoke_reset(textbook_smoke *s)
{
    memset(s->memory, 0, ARRAYS * s->total * sizeof *s->memory);
}

static ptrdiff_t index_of(const textbook_smoke *s, int x, int y, int z)
{
    return (x + 1) + (y + 1) * s->stride[1] + (z + 1) * s->stride[2];
}

float *textbook_smoke_face(textbook_smoke *s, int axis, int x, int y, int z)
{
    return s->u[axis] + index_of(s, x, y, z);
}

float *textbook_smoke_heat(textbook_smoke *s, int x, int y, int z)
{
    return s->heat + index_of(s, x, y, z);
}

float *textbook_smoke_smoke(textbook_smoke *s, int x, int y, int z)
{
    return s->smoke + index_of(s, x, y, z);
}

// --------------------------------------------------------------------------------------------------------------- carry

static inline float within(float x, float low, float high)
{
    return x < low ? low : x > high ? high : x;
}

/// A field at a place in cells; its nodes lie at the cells' centres, or on the lower faces across `axis`. Beyond the
/// outermost nodes it goes on as there.
static inline float sample(const textbook_smoke *s, const float *q, int axis, float x, float y, float z)
{
    const float *n = (const float[3]){(float)s->n[0], (float)s->n[1], (float)s->n[2]};
    x = axis == 0 ? within(x, 0.0f, n[0]) : within(x - 0.5f, 0.0f, n[0] - 1.0f);
    y = axis == 1 ? within(y, 0.0f, n[1]) : within(y - 0.5f, 0.0f, n[1] - 1.0f);
    const int ix = (int)x, iy = (int)y;
    const float fx = x - (float)ix, fy = y - (float)iy;
    const ptrdiff_t sy = s->stride[1], sz = s->stride[2];
    if (s->components == 2) {
        const float *at = q + index_of(s, ix, iy, 0);
        return (1.0f - fy) * ((1.0f - fx) * at[0] + fx * at[1]) + fy * ((1.0f - fx) * at[sy] + fx * at[sy + 1]);
    }
    z = axis == 2 ? within(z, 0.0f, n[2]) : within(z - 0.5f, 0.0f, n[2] - 1.0f);
    const int iz = (int)z;
    const float fz = z - (float)iz;
    const float *at = q + index_of(s, ix, iy, iz);
    const float near = (1.0f - fy) * ((1.0f - fx) * at[0] + fx * at[1]) + fy * ((1.0f - fx) * at[sy] + fx * at[sy + 1]);
    at += sz;
    const float far = (1.0f - fy) * ((1.0f - fx) * at[0] + fx * at[1]) + fy * ((1.0f - fx) * at[sy] + fx * at[sy + 1]);
    return (1.0f - fz) * near + fz * far;
}

/// Nodes beyond the outermost, which have no weight but are read.
static void close_ends(const textbook_smoke *s, float *q, int axis)
{
    for (int a = 0; a < s->components; a++) {
        if (a == axis) {
            continue;
        }
        const int b = (a + 1) % 3, c = (a + 2) % 3;
        for (int j = 0; j < s->n[c] + 2; j++) {
            for (int i = 0; i < s->n[b] + 2; i++) {
                float *row = q + i * s->stride[b] + j * s->stride[c];
                row[0] = row[s->stride[a]];
                row[(s->n[a] + 1) * s->stride[a]] = row[s->n[a] * s->stride[a]];
            }
        }
    }
}

/// Where something comes from: a walk back along the velocity, by the midpoint rule.
static inline void walk_back(const textbook_smoke *s, const float *from, float *to)
{
    float middle[3] = {from[0], from[1], from[2]};
    for (int a = 0; a < s->components; a++) {
        middle[a] -= 0.5f * sample(s, s->u[a], a, from[0], from[1], from[2]);
    }
    to[2] = from[2];
    for (int a = 0; a < s->components; a++) {
        to[a] = from[a] - sample(s, s->u[a], a, middle[0], middle[1], middle[2]);
    }
}

/// @param axis  3: at the cells' centres
static inline void carry(const textbook_smoke *s, const float *q, float *next, int axis, float times)
{
    for (int z = axis == 2; z < s->n[2]; z++) {
        for (int y = axis == 1; y < s->n[1]; y++) {
            for (int x = axis == 0; x < s->n[0]; x++) {
                const float from[3] = {(float)x + (axis == 0 ? 0.0f : 0.5f), (float)y + (axis == 1 ? 0.0f : 0.5f),
                                       (float)z + (axis == 2 ? 0.0f : 0.5f)};
                float to[3];
                walk_back(s, from, to);
                next[index_of(s, x, y, z)] = times * sample(s, q, axis, to[0], to[1], to[2]);
            }
        }
    }
}

/// Heat and smoke take the same way.
static void carry_both(textbook_smoke *s, float cooled, float faded)
{
    float *heat = s->next, *smoke = s->z;
    for (int z = 0; z < s->n[2]; z++) {
        for (int y = 0; y < s->n[1]; y++) {
            for (int x = 0; x < s->n[0]; x++) {
                const float from[3] = {(float)x + 0.5f, (float)y + 0.5f, (float)z + 0.5f};
                float to[3];
                walk_back(s, from, to);
                heat[index_of(s, x, y, z)] = cooled * sample(s, s->heat, 3, to[0], to[1], to[2]);
                smoke[index_of(s, x, y, z)] = faded * sample(s, s->smoke, 3, to[0], to[1], to[2]);
            }
        }
    }
    s->next = s->heat;
    s->heat = heat;
    s->z = s->smoke;
    s->smoke = smoke;
}

// ------------------------------------------------------------------------------------------------------------ pressure

/// Runs over the box's rows along x: `i` is the first cell's index, `count` the number of cells.
#define EACH_ROW(s, i, count)                                                                                          \
    for (int z_##i = 0, count = (s)->n[0]; z_##i < (s)->n[2]; z_##i++)                                                 \
        for (int y_##i = 0; y_##i < (s)->n[1]; y_##i++)                                                                \
            for (ptrdiff_t i = index_of(s, 0, y_##i, z_##i), once_##i = 1; once_##i; once_##i = 0)

/// Sum over the neighbours; those in walls, which close_ends sets, count as the cell itself.
static inline float around(const textbook_smoke *s, const float *q, ptrdiff_t i)
{
    const ptrdiff_t sy = s->stride[1], sz = s->stride[2];
    const float flat = (q[i - 1] + q[i + 1]) + (q[i - sy] + q[i + sy]);
    return s->components == 3 ? flat + (q[i - sz] + q[i + sz]) : flat;
}

/// fmaxf would be a call.
static inline float larger(float most, float x)
{
    const float size = fabsf(x);
    return size > most ? size : most;
}

static float largest(const textbook_smoke *s, const float *q)
{
    float most = 0.0f;
    EACH_ROW(s, i, count)
    {
        for (int x = 0; x < count; x++) {
            most = larger(most, q[i + x]);
        }
    }
    return most;
}

/// r = -div u.
static void find_inflow(textbook_smoke *s)
{
    EACH_ROW(s, i, count)
    {
        for (ptrdiff_t c = i; c < i + count; c++) {
            float out = s->u[0][c + 1] - s->u[0][c] + (s->u[1][c + s->stride[1]] - s->u[1][c]);
            if (s->components == 3) {
                out += s->u[2][c + s->stride[2]] - s->u[2][c];
            }
            s->r[c] = -out;
        }
    }
}

static textbook_smoke_report relax(textbook_smoke *s, float tolerance)
{
    const float links = 2.0f * (float)s->components;
    int longest = s->n[0];
    for (int a = 1; a < s->components; a++) {
        longest = s->n[a] > longest ? s->n[a] : longest;
    }
    const double radius = 1.0 - (1.0 - cos(3.14159265358979 / longest)) / s->components; // of Jacobi's iteration
    const float over = (float)(2.0 / (1.0 + sqrt(1.0 - radius * radius)));
    textbook_smoke_report done = {0, largest(s, s->r)};
    while (done.residual > tolerance && done.iterations < ITERATIONS_MAX) {
        for (int sweep = 0; sweep < SWEEPS_BETWEEN_LOOKS; sweep++) {
            for (int colour = 0; colour < 2; colour++) {
                close_ends(s, s->p, 3);
                for (int z = 0; z < s->n[2]; z++) {
                    for (int y = 0; y < s->n[1]; y++) {
                        const ptrdiff_t i = index_of(s, 0, y, z);
                        for (int x = (y + z + colour) & 1; x < s->n[0]; x += 2) {
                            const float wanted = s->r[i + x] + around(s, s->p, i + x) - links * s->p[i + x];
                            s->p[i + x] += over / links * wanted;
                        }
                    }
                }
            }
        }
        done.iterations += SWEEPS_BETWEEN_LOOKS;
        close_ends(s, s->p, 3);
        EACH_ROW(s, i, count)
        {
            for (ptrdiff_t c = i; c < i + count; c++) {
                s->s[c] = s->r[c] + around(s, s->p, c) - links * s->p[c];
            }
        }
        done.residual = largest(s, s->s);
    }
    return done;
}

static double dot(const textbook_smoke *s, const float *a, const float *b)
{
    double sum = 0.0;
    EACH_ROW(s, i, count)
    {
        float part = 0.0f;
        for (int x = 0; x < count; x++) {
            part += a[i + x] * b[i + x];
        }
        sum += (double)part;
    }
    return sum;
}

static textbook_smoke_report descend(textbook_smoke *s, float tolerance)
{
    const float links = 2.0f * (float)s->components;
    textbook_smoke_report done = {0, largest(s, s->r)};
    memcpy(s->s, s->r, s->total * sizeof *s->s);
    double sigma = dot(s, s->r, s->r);
    while (done.residual > tolerance && done.iterations < ITERATIONS_MAX) {
        close_ends(s, s->s, 3);
        EACH_ROW(s, i, count)
        {
            for (ptrdiff_t c = i; c < i + count; c++) {
                s->z[c] = links * s->s[c] - around(s, s->s, c);
            }
        }
        const float alpha = (float)(sigma / dot(s, s->s, s->z));
        float most = 0.0f;
        EACH_ROW(s, i, count)
        {
            for (ptrdiff_t c = i; c < i + count; c++) {
                s->p[c] += alpha * s->s[c];
                s->r[c] -= alpha * s->z[c];
                most = larger(most, s->r[c]);
            }
        }
        done.residual = most;
        done.iterations++;
        const double next = dot(s, s->r, s->r);
        const float beta = (float)(next / sigma);
        sigma = next;
        EACH_ROW(s, i, count)
        {
            for (ptrdiff_t c = i; c < i + count; c++) {
                s->s[c] = s->r[c] + beta * s->s[c];
            }
        }
    }
    return done;
}

static textbook_smoke_report project(textbook_smoke *s, float tolerance)
{
    memset(s->p, 0, s->total * sizeof *s->p);
    memset(s->r, 0, s->total * sizeof *s->r);
    find_inflow(s);
    const textbook_smoke_report done =
        s->solver == TEXTBOOK_SMOKE_GRADIENTS ? descend(s, tolerance) : relax(s, tolerance);
    for (int a = 0; a < s->components; a++) {
        for (int z = a == 2; z < s->n[2]; z++) {
            for (int y = a == 1; y < s->n[1]; y++) {
                const ptrdiff_t i = index_of(s, 0, y, z);
                for (ptrdiff_t c = i + (a == 0); c < i + s->n[0]; c++) {
                    s->u[a][c] -= s->p[c] - s->p[c - s->stride[a]];
                }
            }
        }
    }
    return done;
}

// ---------------------------------------------------------------------------------------------------------------- step

textbook_smoke_report textbook_smoke_step(textbook_smoke *s, const textbook_smoke_way *way)
{
    for (int a = 0; a < s->components; a++) {
        close_ends(s, s->u[a], a);
    }
    close_ends(s, s->heat, 3);
    close_ends(s, s->smoke, 3);
    carry_both(s, way->cooled, way->faded);
    for (int a = 0; a < s->components; a++) {
        carry(s, s->u[a], s->u_next[a], a, 1.0f);
    }
    for (int a = 0; a < s->components; a++) {
        float *swap = s->u[a];
        s->u[a] = s->u_next[a];
        s->u_next[a] = swap;
    }
    for (int z = 0; z < s->n[2]; z++) {
        for (int y = 1; y < s->n[1]; y++) {
            const ptrdiff_t i = index_of(s, 0, y, z);
            for (ptrdiff_t c = i; c < i + s->n[0]; c++) {
                s->u[1][c] += 0.5f * way->lift * (s->heat[c] + s->heat[c - s->stride[1]]);
            }
        }
    }
    return project(s, way->tolerance);
}
