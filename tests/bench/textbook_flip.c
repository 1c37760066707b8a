// Lengths are in cells, times in seconds, so that a face's velocity over one cell is a divergence in 1/s.
//
//     p2g ─ gravity ─ matrix ─ pressure ─ extrapolate ─ g2p + advect                      plain
//     p2g ─ gravity ─ fringe ─ matrix ─ pressure ─ volume ─ extrapolate ─ g2p + advect    full
//
// Grids are dense and have a border of one solid cell. Cell (x, y, z) of the tank lies at (x + 1, y + 1, z + 1); a face
// has the index of the cell above it. Beyond a wall, velocities along it are those before it: free slip.
//
//     border │ 0 │ 1 │ ... │ n-1 │ border
//            u0  u1              un
#include "kernels/liquid_parameters.h"
#include "tests/bench/textbook_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// -------------------------------------------------------------------------------------------------------------- timing

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void mark(textbook_flip *f, textbook_stage stage)
{
    const double now = now_s();
    f->stage_s[stage] += now - f->mark_s;
    f->mark_s = now;
}

// ------------------------------------------------------------------------------------------------------- interpolation

/// The first of the two nodes around a coordinate, and the weight of the second.
typedef struct axis_nodes {
    ptrdiff_t at;
    float w;
} axis_nodes;

static inline axis_nodes nodes_at(float x)
{
    axis_nodes n;
    n.at = (ptrdiff_t)x; // never negative
    n.w = x - (float)n.at;
    return n;
}

/// Nodes of a point, in the coordinates of the bordered grid: on faces and at centres.
typedef struct point_nodes {
    axis_nodes face[3], center[3];
} point_nodes;

static inline point_nodes nodes_of(const float *at)
{
    point_nodes n;
    for (int a = 0; a < 3; a++) {
        n.face[a] = nodes_at(at[a] + 1.0f);
        n.center[a] = nodes_at(at[a] + 0.5f);
    }
    return n;
}

/// Index of the first of the eight nodes of velocity component c, and their weights, x fastest.
static inline size_t corner_weights(const textbook_flip *f, const point_nodes *n, int c, float *w)
{
    const axis_nodes x = c == 0 ? n->face[0] : n->center[0];
    const axis_nodes y = c == 1 ? n->face[1] : n->center[1];
    const axis_nodes z = c == 2 ? n->face[2] : n->center[2];
    const float w00 = (1.0f - y.w) * (1.0f - z.w), w10 = y.w * (1.0f - z.w), w01 = (1.0f - y.w) * z.w, w11 = y.w * z.w;
    w[0] = (1.0f - x.w) * w00;
    w[1] = x.w * w00;
    w[2] = (1.0f - x.w) * w10;
    w[3] = x.w * w10;
    w[4] = (1.0f - x.w) * w01;
    w[5] = x.w * w01;
    w[6] = (1.0f - x.w) * w11;
    w[7] = x.w * w11;
    return (size_t)(x.at + y.at * f->stride[1] + z.at * f->stride[2]);
}

/// The same of a field at centres.
static inline size_t center_weights(const textbook_flip *f, const point_nodes *n, float *w)
{
    point_nodes centers = *n;
    memcpy(centers.face, centers.center, sizeof centers.face);
    return corner_weights(f, &centers, 0, w);
}

static inline float sample(const textbook_flip *f, const float *field, size_t at, const float *w)
{
    const float *a = field + at, *b = a + f->stride[1], *c = a + f->stride[2], *d = c + f->stride[1];
    return w[0] * a[0] + w[1] * a[1] + w[2] * b[0] + w[3] * b[1] + w[4] * c[0] + w[5] * c[1] + w[6] * d[0] +
           w[7] * d[1];
}

// --------------------------------------------------------------------------------------------------- particles to grid

/// From the first of eight nodes to another of them.
static inline size_t corner_step(const textbook_flip *f, int corner)
{
    return (size_t)((corner & 1) + (corner >> 1 & 1) * f->stride[1] + (corner >> 2) * f->stride[2]);
}

static inline void splat(const textbook_flip *f, int c, size_t at, const float *w, float velocity)
{
    for (int n = 0; n < 8; n++) {
        const size_t node = at + corner_step(f, n);
        f->u[c][node] += w[n] * velocity;
        f->weight[c][node] += w[n];
    }
}

/// Copies plane `from` of a field onto plane `to`, or zeroes that where `from` is negative.
static void set_plane(const textbook_flip *f, float *field, int axis, int to, int from)
{
    const int a = axis == 0 ? 1 : 0, b = axis == 2 ? 1 : 2;
    for (int j = 0; j < f->size[b]; j++) {
        for (int i = 0; i < f->size[a]; i++) {
            float *at = field + i * f->stride[a] + j * f->stride[b];
            at[to * f->stride[axis]] = from < 0 ? 0.0f : at[from * f->stride[axis]];
        }
    }
}

/// Moves plane `from` of a field, added, onto plane `to`.
static void fold_plane(const textbook_flip *f, float *field, int axis, int from, int to)
{
    const int a = axis == 0 ? 1 : 0, b = axis == 2 ? 1 : 2;
    for (int j = 0; j < f->size[b]; j++) {
        for (int i = 0; i < f->size[a]; i++) {
            float *at = field + i * f->stride[a] + j * f->stride[b];
            at[to * f->stride[axis]] += at[from * f->stride[axis]];
            at[from * f->stride[axis]] = 0.0f;
        }
    }
}

/// Nothing flows through a wall, and along it everything slips.
static void apply_walls(const textbook_flip *f, float *const *u)
{
    for (int c = 0; c < 3; c++) {
        for (int axis = 0; axis < 3; axis++) {
            const int last = f->size[axis] - 1;
            set_plane(f, u[c], axis, axis == c ? 1 : 0, axis == c ? -1 : 1);
            set_plane(f, u[c], axis, last, axis == c ? -1 : last - 1);
        }
    }
}

/// Density at the centres. What fell beyond a wall counts before it.
static void particles_to_density(textbook_flip *f)
{
    memset(f->density, 0, f->cells * sizeof *f->density);
    const float share = 1.0f / f->rest_density;
    for (uint32_t i = 0; i < f->particle_count; i++) {
        const point_nodes n = nodes_of(f->particles[i].at);
        float w[8];
        const size_t at = center_weights(f, &n, w);
        for (int corner = 0; corner < 8; corner++) {
            f->density[at + corner_step(f, corner)] += w[corner] * share;
        }
    }
    for (int axis = 0; axis < 3; axis++) {
        fold_plane(f, f->density, axis, 0, 1);
        fold_plane(f, f->density, axis, f->size[axis] - 1, f->size[axis] - 2);
    }
}

static void particles_to_grid(textbook_flip *f)
{
    memcpy(f->type, f->empty, f->cells);
    for (int c = 0; c < 3; c++) {
        memset(f->u[c], 0, f->cells * sizeof *f->u[c]);
        memset(f->weight[c], 0, f->cells * sizeof *f->weight[c]);
    }
    for (uint32_t i = 0; i < f->particle_count; i++) {
        const flip_particle *particle = &f->particles[i];
        const point_nodes n = nodes_of(particle->at);
        float w[8];
        for (int c = 0; c < 3; c++) {
            const size_t at = corner_weights(f, &n, c, w);
            splat(f, c, at, w, particle->velocity[c]);
        }
        f->type[n.face[0].at + n.face[1].at * f->stride[1] + n.face[2].at * f->stride[2]] = LIQUID;
    }
    for (int c = 0; c < 3; c++) {
        float *u = f->u[c];
        const float *weight = f->weight[c];
        for (size_t i = 0; i < f->cells; i++) {
            u[i] = weight[i] > 0.0f ? u[i] / weight[i] : 0.0f;
        }
    }
    apply_walls(f, f->u);
    for (int c = 0; c < 3; c++) {
        memcpy(f->u_old[c], f->u[c], f->cells * sizeof *f->u[c]);
    }
}

static void add_gravity(textbook_flip *f, float dt_s)
{
    const float change = -f->gravity_s2 * dt_s;
    float *u = f->u[1];
    const float *weight = f->weight[1];
    for (size_t i = 0; i < f->cells; i++) {
        u[i] += weight[i] > 0.0f ? change : 0.0f;
    }
    apply_walls(f, f->u);
}

// ------------------------------------------------------------------------------------------------------- extrapolation

static void mark_known(textbook_flip *f, int c)
{
    memset(f->layer, LAYER_BORDER, f->cells);
    for (int z = 1; z < f->size[2] - 1; z++) {
        for (int y = 1; y < f->size[1] - 1; y++) {
            for (int x = 1; x < f->size[0] - 1; x++) {
                const size_t i = (size_t)(x + y * f->stride[1] + z * f->stride[2]);
                f->layer[i] = is_open(f, i, i - (size_t)f->stride[c]) ? LAYER_KNOWN : LAYER_UNKNOWN;
            }
        }
    }
}

/// Puts the unknown neighbours of a face into a layer; returns how long the front's list is then.
static uint32_t spread(textbook_flip *f, size_t from, uint8_t layer, uint32_t count)
{
    for (int a = 0; a < 3; a++) {
        for (int side = -1; side <= 1; side += 2) {
            const size_t i = from + (size_t)(side * f->stride[a]);
            if (f->layer[i] == LAYER_UNKNOWN) {
                f->layer[i] = layer;
                f->front[count++] = (uint32_t)i;
            }
        }
    }
    return count;
}

/// The mean of the neighbours in earlier layers.
static float mean_of_earlier(const textbook_flip *f, const float *u, size_t at)
{
    float sum = 0.0f, count = 0.0f;
    for (int a = 0; a < 3; a++) {
        for (int side = -1; side <= 1; side += 2) {
            const size_t i = at + (size_t)(side * f->stride[a]);
            if (f->layer[i] < f->layer[at]) {
                sum += u[i];
                count += 1.0f;
            }
        }
    }
    return sum / count;
}

/// Velocities of the faces that touch no liquid, up to LAYERS away.
static void extrapolate(textbook_flip *f)
{
    for (int c = 0; c < 3; c++) {
        mark_known(f, c);
        uint32_t begin = 0, end = 0;
        for (size_t i = 0; i < f->cells; i++) {
            if (f->layer[i] == LAYER_KNOWN) {
                end = spread(f, i, 1, end);
            }
        }
        for (int layer = 1; layer <= LAYERS; layer++) {
            for (uint32_t i = begin; i < end; i++) {
                f->u[c][f->front[i]] = mean_of_earlier(f, f->u[c], f->front[i]);
            }
            const uint32_t last = end;
            for (uint32_t i = begin; i < last && layer < LAYERS; i++) {
                end = spread(f, f->front[i], (uint8_t)(layer + 1), end);
            }
            begin = last;
        }
    }
    apply_walls(f, f->u);
}

// ------------------------------------------------------------------------------------------ grid to particles,
// advection

static inline void stay_inside(const textbook_flip *f, float *at)
{
    for (int a = 0; a < 3; a++) {
        at[a] = min_of(max_of(at[a], WALL_MARGIN), (float)(f->size[a] - 2) - WALL_MARGIN);
    }
}

/// FLIP with a share of PIC, then the midpoint rule (RK2) through the new velocities. Returns how fast it moved.
static inline float advect_plain(const textbook_flip *f, flip_particle *particle, float dt_s, float ratio)
{
    float velocity[3], middle[3], w[8], fastest = 0.0f;
    const point_nodes n = nodes_of(particle->at);
    for (int c = 0; c < 3; c++) {
        const size_t at = corner_weights(f, &n, c, w);
        velocity[c] = sample(f, f->u[c], at, w);
        const float change = velocity[c] - sample(f, f->u_old[c], at, w);
        particle->velocity[c] = ratio * (particle->velocity[c] + change) + (1.0f - ratio) * velocity[c];
        middle[c] = particle->at[c] + 0.5f * dt_s * velocity[c];
    }
    stay_inside(f, middle);
    const point_nodes m = nodes_of(middle);
    for (int c = 0; c < 3; c++) {
        const size_t at = corner_weights(f, &m, c, w);
        const float carrier = sample(f, f->u[c], at, w);
        particle->at[c] += dt_s * carrier;
        fastest = max_of(fastest, fabsf(carrier));
    }
    stay_inside(f, particle->at);
    return fastest;
}

/// The new velocity at a place reached from a particle.
static inline void carrier_at(const textbook_flip *f, const flip_particle *particle, const float *along, float dt_s,
                              float *carrier)
{
    float at[3], w[8];
    for (int c = 0; c < 3; c++) {
        at[c] = particle->at[c] + dt_s * along[c];
    }
    stay_inside(f, at);
    const point_nodes n = nodes_of(at);
    for (int c = 0; c < 3; c++) {
        const size_t node = corner_weights(f, &n, c, w);
        carrier[c] = sample(f, f->u[c], node, w);
    }
}

/// The same by Ralston's third-order rule. The correction of the volume is all in the first stage, which is where the
/// particle's density is: that stage carries two ninths of the way.
static inline float advect_full(const textbook_flip *f, flip_particle *particle, float dt_s, float ratio)
{
    float first[3], second[3], third[3], w[8], fastest = 0.0f;
    const point_nodes n = nodes_of(particle->at);
    for (int c = 0; c < 3; c++) {
        const size_t at = corner_weights(f, &n, c, w);
        const float velocity = sample(f, f->u[c], at, w);
        const float change = velocity - sample(f, f->u_old[c], at, w);
        particle->velocity[c] = ratio * (particle->velocity[c] + change) + (1.0f - ratio) * velocity;
        first[c] = velocity + 4.5f / dt_s * sample(f, f->shift[c], at, w);
    }
    carrier_at(f, particle, first, 0.5f * dt_s, second);
    carrier_at(f, particle, second, 0.75f * dt_s, third);
    for (int c = 0; c < 3; c++) {
        const float carrier = (2.0f * first[c] + 3.0f * second[c] + 4.0f * third[c]) * (1.0f / 9.0f);
        particle->at[c] += dt_s * carrier;
        fastest = max_of(fastest, fabsf(carrier));
    }
    stay_inside(f, particle->at);
    return fastest;
}

static void grid_to_particles(textbook_flip *f, float dt_s, float ratio)
{
    float fastest = 0.0f;
    if (f->accuracy == TEXTBOOK_FULL) {
        for (uint32_t i = 0; i < f->particle_count; i++) {
            fastest = max_of(fastest, advect_full(f, &f->particles[i], dt_s, ratio));
        }
    } else {
        for (uint32_t i = 0; i < f->particle_count; i++) {
            fastest = max_of(fastest, advect_plain(f, &f->particles[i], dt_s, ratio));
        }
    }
    f->speed_max = fastest;
}

// ---------------------------------------------------------------------------------------------------------------- step

static void substep(textbook_flip *f, float dt_s, float ratio)
{
    f->mark_s = now_s();
    const bool is_full = f->accuracy == TEXTBOOK_FULL;
    particles_to_grid(f);
    add_gravity(f, dt_s);
    if (is_full) {
        particles_to_density(f);
    }
    mark(f, TEXTBOOK_P2G);
    if (is_full) {
        textbook_mark_fringe(f);
    }
    textbook_build_system(f);
    mark(f, TEXTBOOK_MATRIX);
    textbook_project(f, dt_s);
    mark(f, TEXTBOOK_PRESSURE);
    if (is_full) {
        textbook_correct_volume(f);
        apply_walls(f, f->shift);
    }
    mark(f, TEXTBOOK_VOLUME);
    extrapolate(f);
    mark(f, TEXTBOOK_EXTRAPOLATE);
    grid_to_particles(f, dt_s, ratio);
    mark(f, TEXTBOOK_ADVECT);
}

void textbook_flip_step(textbook_flip *f)
{
    const float cells = (f->speed_max + f->gravity_s2 * f->dt_s) * f->dt_s; // that the fastest may cross in the step
    const float wanted = min_of(max_of(ceilf(cells / f->cfl), 1.0f), (float)f->substeps_max);
    f->report.substeps = (uint32_t)wanted;
    const float ratio = powf(f->flip_ratio, 1.0f / wanted);
    for (uint32_t i = 0; i < f->report.substeps; i++) {
        substep(f, f->dt_s / wanted, ratio);
    }
}

// ---------------------------------------------------------------------------------------------------------------- life

static void *take(textbook_flip *f, size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    f->grids[f->grid_count++] = memory;
    f->report.bytes += (uint64_t)count * size;
    return memory;
}

static bool take_all(textbook_flip *f)
{
    float **const fields[] = {&f->diagonal, &f->precon, &f->p, &f->r, &f->z, &f->s};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        *fields[i] = take(f, f->cells, sizeof(float));
    }
    for (int a = 0; a < 3; a++) {
        f->u[a] = take(f, f->cells, sizeof(float));
        f->u_old[a] = take(f, f->cells, sizeof(float));
        f->weight[a] = take(f, f->cells, sizeof(float));
        f->plus[a] = take(f, f->cells, sizeof(float));
    }
    if (f->accuracy == TEXTBOOK_FULL) {
        f->density = take(f, f->cells, sizeof(float));
        for (int a = 0; a < 3; a++) {
            f->shift[a] = take(f, f->cells, sizeof(float));
        }
    }
    f->type = take(f, f->cells, 1);
    f->empty = take(f, f->cells, 1);
    f->layer = take(f, f->cells, 1);
    f->front = take(f, f->cells, sizeof *f->front);
    f->rows = take(f, (size_t)f->size[1] * (size_t)f->size[2], sizeof *f->rows);
    f->particles = take(f, f->particle_count, sizeof *f->particles);
    bool taken = true;
    for (uint32_t i = 0; i < f->grid_count; i++) {
        taken = taken && f->grids[i] != NULL;
    }
    f->start = calloc((size_t)f->particle_count + 1, sizeof *f->start);
    return taken && f->start != NULL;
}

static void fill_empty(textbook_flip *f)
{
    memset(f->empty, SOLID, f->cells);
    for (int z = 1; z < f->size[2] - 1; z++) {
        for (int y = 1; y < f->size[1] - 1; y++) {
            memset(f->empty + 1 + y * f->stride[1] + z * f->stride[2], AIR, (size_t)f->size[0] - 2);
        }
    }
}

static void take_parameters(textbook_flip *f, const tarn_tank_desc *desc)
{
    f->cells = 1;
    for (int a = 0; a < 3; a++) {
        f->size[a] = desc->cells[a] + 2;
        f->stride[a] = (ptrdiff_t)f->cells;
        f->cells *= (size_t)f->size[a];
    }
    f->cell_m = desc->cell_m;
    f->dt_s = desc->dt_s;
    f->gravity_s2 = desc->parameters[TARN_PARAMETER_GRAVITY] / desc->cell_m;
    f->flip_ratio = desc->parameters[TARN_PARAMETER_FLIP];
    f->tolerance = desc->parameters[TARN_PARAMETER_TOLERANCE];
    f->cfl = desc->parameters[TARN_PARAMETER_CFL];
    f->density_gain = desc->parameters[TARN_PARAMETER_DENSITY];
    f->rest_density = (float)(desc->particles_per_axis * desc->particles_per_axis * desc->particles_per_axis);
    f->substeps_max = (uint32_t)desc->parameters[TARN_PARAMETER_SUBSTEPS];
}

tarn_status textbook_flip_create(const tarn_tank_desc *desc, textbook_accuracy accuracy, const float *positions_m,
                                 const float *velocities_m_s, uint32_t particle_count, textbook_flip **out)
{
    *out = NULL;
    textbook_flip *f = calloc(1, sizeof *f);
    if (f == NULL) {
        return TARN_E_MEMORY;
    }
    f->accuracy = accuracy;
    take_parameters(f, desc);
    f->particle_count = particle_count;
    if (!take_all(f)) {
        textbook_flip_destroy(f);
        return TARN_E_MEMORY;
    }
    fill_empty(f);
    for (uint32_t i = 0; i < particle_count; i++) {
        for (int a = 0; a < 3; a++) {
            f->start[i].at[a] = positions_m[3 * (size_t)i + (size_t)a] / f->cell_m;
            f->start[i].velocity[a] = velocities_m_s[3 * (size_t)i + (size_t)a] / f->cell_m;
        }
        stay_inside(f, f->start[i].at);
    }
    textbook_flip_reset(f);
    *out = f;
    return TARN_OK;
}

void textbook_flip_destroy(textbook_flip *f)
{
    if (f == NULL) {
        return;
    }
    for (uint32_t i = 0; i < f->grid_count; i++) {
        free(f->grids[i]);
    }
    free(f->start);
    free(f);
}

void textbook_flip_reset(textbook_flip *f)
{
    memcpy(f->particles, f->start, f->particle_count * sizeof *f->particles);
    f->speed_max = 0.0f;
    for (uint32_t i = 0; i < f->particle_count; i++) {
        for (int a = 0; a < 3; a++) {
            f->speed_max = max_of(f->speed_max, fabsf(f->particles[i].velocity[a]));
        }
    }
}

void textbook_flip_report(const textbook_flip *f, textbook_report *report)
{
    *report = f->report;
}

void textbook_flip_particles(const textbook_flip *f, float *positions_m)
{
    for (uint32_t i = 0; i < f->particle_count; i++) {
        for (int a = 0; a < 3; a++) {
            positions_m[3 * (size_t)i + (size_t)a] = f->particles[i].at[a] * f->cell_m;
        }
    }
}

void textbook_flip_profile(textbook_flip *f, double *seconds)
{
    memcpy(seconds, f->stage_s, sizeof f->stage_s);
    memset(f->stage_s, 0, sizeof f->stage_s);
}

const char *textbook_stage_name(textbook_stage stage)
{
    static const char *const names[TEXTBOOK_STAGE_COUNT] = {
#define TEXTBOOK_STAGE_NAME(id, name) name,
        TEXTBOOK_STAGE_LIST(TEXTBOOK_STAGE_NAME)
#undef TEXTBOOK_STAGE_NAME
    };
    return names[stage];
}
