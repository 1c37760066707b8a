// Vortons: V11, the speed of a vortex ring; what of rings is kept; two that leapfrog, and two that meet; V16 again, a
// heavy drop in a filled tank; and V9, a lock exchange.
//
// Rings are set as particles on a lattice of half a cell, which is what a block is seeded with, each with the vorticity
// of its place: a Gaussian around a circle. No public function takes such particles: these cases place them themselves.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/tank/tank_internal.h"
#include "kernels/vortons/vorton_model.h"
#include "kernels/vortons/vortons.h"
#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/// A ring about the y axis through the tank's middle, which goes up if its circulation is positive. Cells, seconds.
typedef struct ring {
    double radius, core, circulation; ///< the latter cells^2 / s
    double height;
} ring;

static void set_parameter(tarn_tank_desc *desc, const char *name, float value)
{
    desc->parameters[tarn_model_parameter_find(tarn_model_find("vortons"), name)] = value;
}

static tarn_tank_desc vorton_desc(int width, int height)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default_of(&desc, tarn_model_find("vortons"));
    desc.cells[0] = desc.cells[2] = width;
    desc.cells[1] = height;
    set_parameter(&desc, "viscosity_m2_s", 0.0f);
    set_parameter(&desc, "vortons_max", 1e6f);
    desc.particles_max = 900000;
    return desc;
}

/// Vorticity of a ring at a place, 1/s.
static void ring_vorticity(const ring *r, const double *middle, const double *at, double *vorticity)
{
    const double x = at[0] - middle[0], z = at[2] - middle[2], across = sqrt(x * x + z * z);
    const double y = at[1] - r->height, out = across - r->radius, far2 = (out * out + y * y) / (r->core * r->core);
    const double size = far2 < 12.0 ? r->circulation / (pi * r->core * r->core) * exp(-far2) : 0.0;
    vorticity[0] += across > 0.0 ? size * z / across : 0.0;
    vorticity[2] -= across > 0.0 ? size * x / across : 0.0;
}

static void put_rings(const tarn_tank *tank, const ring *rings, int count, const int *point, tank_arrays *to)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    const double middle[3] = {0.5 * desc->cells[0], 0.5 * desc->cells[1], 0.5 * desc->cells[2]};
    const double at[3] = {(point[0] + 0.5) * 0.5, (point[1] + 0.5) * 0.5, (point[2] + 0.5) * 0.5};
    double vorticity[3] = {0.0, 0.0, 0.0};
    for (int i = 0; i < count; i++) {
        ring_vorticity(&rings[i], middle, at, vorticity);
    }
    if (vorticity[0] == 0.0 && vorticity[2] == 0.0) {
        return;
    }
    assert_true(to->count < desc->particles_max);
    for (int a = 0; a < 3; a++) {
        to->position[a][to->count] = (uint32_t)(at[a] * (1 << POSITION_BITS));
        to->velocity[a][to->count] = 0.0f;
        to->carried[CARRIED_VORTICITY + a][to->count] = (float)vorticity[a];
    }
    to->carried[CARRIED_DEVIATION][to->count] = 0.0f;
    to->attribute[to->count] = KIND_VORTON;
    to->id[to->count] = to->count;
    to->count++;
}

/// A tank with rings and nothing else, on all processors if it runs alone.
static physics_tank rings_open(const tarn_tank_desc *desc, const ring *rings, int count)
{
    physics_tank t = physics_open(desc);
    tarn_tank *tank = t.tank;
    const int32_t *tiles = tank->args->grid.shape.tiles[0];
    tank_arrays arrays;
    assert_int_equal(tank_arrays_alloc(tank, desc->particles_max, &arrays), TARN_OK);
    arrays.count = 0;
    memset(arrays.awake, 1, tank->args->grid.shape.tile_total[0]);
    for (int tile = 0; tile < tiles[0] * tiles[1] * tiles[2]; tile++) {
        const int first[3] = {tile % tiles[0], tile / tiles[0] % tiles[1], tile / (tiles[0] * tiles[1])};
        for (int p = 0; p < 16 * 16 * 16; p++) {
            const int point[3] = {first[0] * 16 + p % 16, first[1] * 16 + p / 16 % 16, first[2] * 16 + p / 256};
            if (point[0] < 2 * desc->cells[0] && point[1] < 2 * desc->cells[1] && point[2] < 2 * desc->cells[2]) {
                put_rings(tank, rings, count, point, &arrays);
            }
        }
    }
    assert_int_equal(tank_place(tank, &arrays, arrays.count), TARN_OK);
    tank_arrays_free(&arrays);
    return t;
}

/// Sums over all particles: cells and seconds.
typedef struct ring_sums {
    double strength[3]; ///< of vorticity times volume: cells^3 / s
    double impulse[3];  ///< 1/2 x cross strength, from the tank's middle: cells^4 / s
    double height;      ///< of the mean by the strength's size: cells
    double circulation; ///< through the half plane z = middle, x > middle: cells^2 / s
    double mass;        ///< of deviation times volume: cells^3
    double sizes;       ///< sum of the strengths' sizes
} ring_sums;

static ring_sums sums_of(const tarn_tank *tank)
{
    const store_memory *store = &tank->args->store;
    const double volume = 1.0 / (double)tank->args->scale.rest_density;
    ring_sums sums = {0};
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        double x[3], w[3];
        for (int a = 0; a < 3; a++) {
            x[a] = ((double)store->position[a][i] + 0.5) / (1 << POSITION_BITS) - 0.5 * tank->grid.desc.cells[a];
            w[a] = (double)store->carried[CARRIED_VORTICITY + a][i] * volume;
            sums.strength[a] += w[a];
        }
        for (int a = 0; a < 3; a++) {
            const int b = (a + 1) % 3, c = (a + 2) % 3;
            sums.impulse[a] += 0.5 * (x[b] * w[c] - x[c] * w[b]);
        }
        const double size = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]), across = sqrt(x[0] * x[0] + x[2] * x[2]);
        sums.height += size * (x[1] + 0.5 * tank->grid.desc.cells[1]);
        sums.sizes += size;
        sums.circulation += across > 0.0 ? (w[0] * x[2] - w[2] * x[0]) / (across * across) / (2.0 * pi) : 0.0;
        sums.mass += (double)store->carried[CARRIED_DEVIATION][i] * volume;
    }
    sums.height /= sums.sizes;
    return sums;
}

/// Adds the velocity of a thin ring about an axis along y at a point, by Biot and Savart. Places from its middle.
static void add_ring_flow(double radius, double circulation, const double *at, double *velocity)
{
    enum { SECTIONS = 64 };
    for (int i = 0; i < SECTIONS; i++) {
        const double angle = 2.0 * pi * (i + 0.5) / SECTIONS, length = 2.0 * pi * radius / SECTIONS;
        const double d[3] = {at[0] - radius * cos(angle), at[1], at[2] - radius * sin(angle)};
        const double dl[3] = {length * sin(angle), 0.0, -length * cos(angle)};
        const double far2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        for (int c = 0; c < 3; c++) {
            const int e = (c + 1) % 3, f = (c + 2) % 3;
            velocity[c] += circulation / (4.0 * pi * far2 * sqrt(far2)) * (dl[e] * d[f] - dl[f] * d[e]);
        }
    }
}

/// Adds what the walls of a box do at a point, from the ring's middle: its mirror images.
static void add_walls_flow(const tarn_tank_desc *desc, const ring *r, const double *at, double *velocity)
{
    enum { IMAGES = 4, SPAN = 2 * IMAGES + 1 };
    for (int n = 0; n < SPAN * SPAN * SPAN; n++) {
        const int i = n % SPAN - IMAGES, j = n / SPAN % SPAN - IMAGES, k = n / SPAN / SPAN - IMAGES;
        const double y = j % 2 == 0 ? j * desc->cells[1] : (j + 1) * desc->cells[1] - 2.0 * r->height;
        // The sum over a growing box of images swings: with half of its surface it is the mean of two.
        const int ends = (abs(i) == IMAGES) + (abs(j) == IMAGES) + (abs(k) == IMAGES);
        const double from[3] = {at[0] - i * desc->cells[0], at[1] - y, at[2] - k * desc->cells[2]};
        if (i != 0 || j != 0 || k != 0) {
            add_ring_flow(r->radius, (j % 2 == 0 ? r->circulation : -r->circulation) / (1 << ends), from, velocity);
        }
    }
}

/// What walls do to the speed of a ring, upwards and outwards.
static void walls_speed(const tarn_tank_desc *desc, const ring *r, double *speed)
{
    enum { POINTS = 8 };
    speed[0] = speed[1] = 0.0;
    for (int p = 0; p < POINTS; p++) {
        const double angle = 2.0 * pi * p / POINTS, at[3] = {r->radius * cos(angle), 0.0, r->radius * sin(angle)};
        double u[3] = {0.0, 0.0, 0.0};
        add_walls_flow(desc, r, at, u);
        speed[0] += u[1] / POINTS;
        speed[1] += (u[0] * cos(angle) + u[2] * sin(angle)) / POINTS;
    }
}

/// Speed of a ring with a Gaussian core exp(-s^2 / a^2) without walls (Saffman 1970, and Fukumoto & Moffatt 2000 for
/// what is left of second order).
static double ring_speed(double radius, double core, double circulation)
{
    const double nu_t = 0.25 * core * core / (radius * radius);
    return circulation / (4.0 * pi * radius) * (log(8.0 * radius / core) - 0.558 - 3.6716 * nu_t);
}

/// A ring that rises by itself for so many steps.
typedef struct rise {
    double way, expected;         ///< cells, without the first sixth of the time, when the core finds its shape
    double circulation, strength; ///< over those of the start; sizes sum over the sum of sizes
    double impulse;               ///< over that of a ring whose radius the walls change as they should
} rise;

static rise watch_rise(const tarn_tank_desc *desc, const ring *from, int steps, double viscosity)
{
    enum { PARTS = 24 };
    physics_tank t = rings_open(desc, from, 1);
    const ring_sums first = sums_of(t.tank);
    const double part_s = steps / PARTS * (double)desc->dt_s;
    ring r = *from;
    rise found = {0};
    ring_sums now = first;
    for (int i = 0; i < PARTS; i++) {
        double walls[2];
        physics_steps(&t, (uint32_t)(steps / PARTS));
        const ring_sums after = sums_of(t.tank);
        r.height = 0.5 * (now.height + after.height);
        walls_speed(desc, &r, walls);
        r.radius += walls[1] * part_s;
        r.core = sqrt(r.core * r.core + 4.0 * viscosity * part_s);
        if (6 * i >= PARTS) {
            found.way += after.height - now.height;
            found.expected += (ring_speed(r.radius, r.core, r.circulation) + walls[0]) * part_s;
        }
        for (int a = 0; a < 3; a++) {
            found.strength = fmax(found.strength, fabs(after.strength[a] - first.strength[a]) / first.sizes);
        }
        now = after;
    }
    found.circulation = now.circulation / first.circulation;
    found.impulse = now.impulse[1] / first.impulse[1] * (from->radius * from->radius) / (r.radius * r.radius);
    physics_close(&t);
    return found;
}

/// Largest difference of the grid's velocity after a step from the sum over all particles, each a Gaussian of half a
/// cell, around the core of a ring; over the largest velocity there.
static double compare_with_sum(const tarn_tank_desc *desc, const ring *r)
{
    enum { POINTS = 12 };
    physics_tank t = rings_open(desc, r, 1);
    const store_memory *store = &t.tank->args->store;
    const grid_memory *grid = &t.tank->args->grid.m;
    const grid_shape *shape = &t.tank->args->grid.shape;
    const double blob = 0.5, middle[3] = {0.5 * desc->cells[0], r->height, 0.5 * desc->cells[2]};
    double u[POINTS][3], worst = 0.0, largest = 0.0;
    int face[POINTS][3];
    for (int p = 0; p < POINTS; p++) { // points on upper faces
        const double angle = 2.0 * pi * p / POINTS, x = middle[0] + r->radius + 2.0 * r->core * cos(angle),
                     y = r->height + 2.0 * r->core * sin(angle);
        face[p][0] = (int)floor(x);
        face[p][1] = (int)floor(y + 0.5);
        face[p][2] = (int)middle[2];
        const double at[3] = {face[p][0] + 0.5, face[p][1], face[p][2] + 0.5};
        const double from[3] = {at[0] - middle[0], at[1] - middle[1], at[2] - middle[2]};
        memset(u[p], 0, sizeof u[p]);
        add_walls_flow(desc, r, from, u[p]);
        for (uint32_t i = 0; i < t.tank->particle_count; i++) {
            double d[3], w[3];
            for (int a = 0; a < 3; a++) {
                d[a] = at[a] - ((double)store->position[a][i] + 0.5) / (1 << POSITION_BITS);
                w[a] = (double)store->carried[CARRIED_VORTICITY + a][i] / (double)t.tank->args->scale.rest_density;
            }
            const double far2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2], s = sqrt(far2) / (blob * sqrt(2.0));
            const double share = erf(s) - 2.0 * s / sqrt(pi) * exp(-s * s); // of a Gaussian's vorticity within s
            u[p][1] += far2 > 0.0 ? share * (w[2] * d[0] - w[0] * d[2]) / (4.0 * pi * far2 * sqrt(far2)) : 0.0;
        }
    }
    physics_steps(&t, 1);
    for (int p = 0; p < POINTS; p++) {
        const int *f = face[p];
        const uint32_t dense = tile_dense_of(shape, 0, f[0] >> TILE_LOG2, f[1] >> TILE_LOG2, f[2] >> TILE_LOG2);
        const double found =
            (double)grid->u[1][grid->slot[dense] * TILE_CELLS + cell_index(f[0] & 7, f[1] & 7, f[2] & 7)] /
            (double)desc->dt_s;
        worst = fmax(worst, fabs(found - u[p][1]));
        largest = fmax(largest, fabs(u[p][1]));
    }
    physics_close(&t);
    return worst / largest;
}

void physics_vortex_ring(void)
{
    const ring r = {.radius = 10.0, .core = 2.0, .circulation = 100.0, .height = 16.0};
    const ring wide = {.radius = 12.0, .core = 3.0, .circulation = 100.0, .height = 20.0};
    const double viscosity = 0.05; // cells^2 / s
    tarn_tank_desc desc = vorton_desc(48, 48);
    physics_at_most(PHYSICS_REQUIRED, "V11 vortex ring: velocity around its core, off a direct sum",
                    compare_with_sum(&desc, &wide), 0.01, "");
    const rise thin = watch_rise(&desc, &r, 144, 0.0);
    physics_within(PHYSICS_REQUIRED, "V11 vortex ring: its way in the box, over Saffman's", thin.way / thin.expected,
                   1.0, 0.01, "");
    set_parameter(&desc, "viscosity_m2_s", (float)viscosity * desc.cell_m * desc.cell_m);
    const rise thick = watch_rise(&desc, &r, 144, viscosity);
    physics_within(PHYSICS_REQUIRED, "V11 viscous vortex ring: its way in the box, over Saffman's",
                   thick.way / thick.expected, 1.0, 0.05, "");
    set_parameter(&desc, "viscosity_m2_s", 0.0f);
    const ring slow = {.radius = 10.0, .core = 2.0, .circulation = 20.0, .height = 16.0};
    const rise kept = watch_rise(&desc, &slow, 600, 0.0);
    physics_within(PHYSICS_REQUIRED, "V11 slow ring, 10 s: circulation, over that before", kept.circulation, 1.0, 0.001,
                   "");
    physics_within(PHYSICS_REQUIRED, "V11 slow ring, 10 s: impulse, over what walls leave of it", kept.impulse, 1.0,
                   0.001, "");
    physics_at_most(PHYSICS_REQUIRED, "V11 slow ring, 10 s: total strength, over the sum of sizes", kept.strength,
                    0.001, "");
}

void physics_heavy_drop(void)
{
    enum { STEPS = 20 };
    const double g = 9.81;
    tarn_tank_desc desc = vorton_desc(48, 48);
    const float c = desc.cell_m;
    desc.particles_per_axis = 3;
    desc.fluid_count = 1;
    desc.fluids[0] = (tarn_fluid_shape){
        .shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {7.0f * c}},
        .pose = {.position_m = {24.0f * c, 26.0f * c, 24.0f * c}, .rotation = {0.0f, 0.0f, 0.0f, 1.0f}}};
    desc.fluids[0].carried[CARRIED_DEVIATION] = 0.05f;
    physics_tank t = physics_open(&desc);
    const ring_sums first = sums_of(t.tank);
    double time[STEPS], now[STEPS];
    for (int i = 0; i < STEPS; i++) {
        physics_steps(&t, 1);
        time[i] = (i + 1) * (double)desc.dt_s;
        now[i] = sums_of(t.tank).impulse[1];
    }
    physics_within_percent(PHYSICS_REQUIRED, "V16 heavy drop of vortons: growth of its impulse, over its weight",
                           physics_slope(time, now, STEPS) / (-first.mass * g / (double)c), 1.0, 2.0, "");
    physics_close(&t);
}

// ------------------------------------------------------------------------------------------------------- two rings

/// Means of some vortons by their strength's size: cells.
typedef struct part_means {
    double height, radius;
    double sizes;
} part_means;

static void add_to_part(const tarn_tank *tank, uint32_t i, part_means *part)
{
    const store_memory *store = &tank->args->store;
    const double x = (double)store->position[0][i] / (1 << POSITION_BITS) - 0.5 * tank->grid.desc.cells[0];
    const double z = (double)store->position[2][i] / (1 << POSITION_BITS) - 0.5 * tank->grid.desc.cells[2];
    const double wx = (double)store->carried[CARRIED_VORTICITY][i],
                 wz = (double)store->carried[CARRIED_VORTICITY + 2][i], size = sqrt(wx * wx + wz * wz);
    part->height += size * (double)store->position[1][i] / (1 << POSITION_BITS);
    part->radius += size * sqrt(x * x + z * z);
    part->sizes += size;
}

static part_means means_of(const part_means *part)
{
    return (part_means){part->height / part->sizes, part->radius / part->sizes, part->sizes};
}

/// Colours the vortons above a height.
static void colour_above(const tarn_tank *tank, double height)
{
    const store_memory *store = &tank->args->store;
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        store->attribute[i] |= (double)store->position[1][i] >= height * (1 << POSITION_BITS) ? 0x100u : 0u;
    }
}

/// Two rings go up one behind the other; the one behind shrinks and slips through the one before, again and again.
void physics_leapfrog(void)
{
    enum { STEPS = 160, EVERY = 4 };
    const ring two[2] = {{.radius = 12.0, .core = 1.2, .circulation = 200.0, .height = 8.0},
                         {.radius = 12.0, .core = 1.2, .circulation = 200.0, .height = 14.5}};
    const tarn_tank_desc desc = vorton_desc(48, 56);
    physics_tank t = rings_open(&desc, two, 2);
    const double before = sums_of(t.tank).circulation;
    colour_above(t.tank, 11.25);
    int passes = 0, before_other = 1;
    for (int i = 0; i < STEPS / EVERY; i++) {
        part_means part[2] = {{0}};
        physics_steps(&t, EVERY);
        for (uint32_t v = 0; v < t.tank->particle_count; v++) {
            add_to_part(t.tank, v, &part[t.tank->args->store.attribute[v] >> 8 & 1]);
        }
        const part_means behind = means_of(&part[1 - before_other]), ahead = means_of(&part[before_other]);
        if (behind.height > ahead.height && behind.radius < ahead.radius - 1.0) { // through it, not around it
            before_other = 1 - before_other;
            passes++;
        }
    }
    physics_within(PHYSICS_REQUIRED, "leapfrogging rings: passes of one through the other, of the first two",
                   fmin(passes, 2.0), 2.0, 0.0, "");
    physics_figure("leapfrogging rings: circulation, over that before", sums_of(t.tank).circulation / before, "");
    physics_close(&t);
}

/// Circulation of what is below a height, and its means.
static double below(const tarn_tank *tank, double height, part_means *means)
{
    const store_memory *store = &tank->args->store;
    part_means part = {0};
    double sum = 0.0;
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        const double x = (double)store->position[0][i] / (1 << POSITION_BITS) - 0.5 * tank->grid.desc.cells[0];
        const double z = (double)store->position[2][i] / (1 << POSITION_BITS) - 0.5 * tank->grid.desc.cells[2];
        if ((double)store->position[1][i] < height * (1 << POSITION_BITS)) {
            add_to_part(tank, i, &part);
            sum += ((double)store->carried[CARRIED_VORTICITY][i] * z -
                    (double)store->carried[CARRIED_VORTICITY + 2][i] * x) /
                   (x * x + z * z);
        }
    }
    *means = means_of(&part);
    return sum;
}

/// Two rings meet head on, and spread (Lim & Nickels 1992). Each meets its mirror image, as at a wall half way: it
/// widens by what the images in a box of half the height do to it.
void physics_head_on(void)
{
    enum { STEPS = 168, PARTS = 42, HALF = 20 };
    const ring two[2] = {{.radius = 8.0, .core = 1.6, .circulation = 100.0, .height = 14.0},
                         {.radius = 8.0, .core = 1.6, .circulation = -100.0, .height = 2.0 * HALF - 14.0}};
    const tarn_tank_desc desc = vorton_desc(64, 2 * HALF);
    tarn_tank_desc half = desc;
    half.cells[1] = HALF;
    physics_tank t = rings_open(&desc, two, 2);
    ring r = two[0];
    part_means before, after;
    const double circulation = below(t.tank, HALF, &before), part_s = STEPS / PARTS * (double)desc.dt_s;
    for (int i = 0; i < PARTS; i++) {
        double walls[2];
        physics_steps(&t, STEPS / PARTS);
        walls_speed(&half, &r, walls);
        r.height += (ring_speed(r.radius, r.core, r.circulation) + walls[0]) * part_s;
        r.core *= sqrt(r.radius / (r.radius + walls[1] * part_s)); // keeps its volume
        r.radius += walls[1] * part_s;
    }
    const double kept = below(t.tank, HALF, &after) / circulation;
    physics_figure("head-on rings: radius, over that before", after.radius / before.radius, "");
    physics_within_percent(PHYSICS_REQUIRED, "head-on rings: radius, over that of thin rings", after.radius / r.radius,
                           1.0, 5.0, "");
    physics_within_percent(PHYSICS_REQUIRED, "head-on rings: circulation of one, over that before", kept, 1.0, 1.0, "");
    physics_close(&t);
}

// -------------------------------------------------------------------------------------------------------------- V9

enum { LOCK_STEPS_MAX = 600, LOCK_PARTICLES_MAX = 192 * 24 * 8 };

/// Where the heavy liquid has got to: the 99.5th percentile of x among its particles in the lowest tenth of the box.
static double heavy_front_m(const tarn_tank *tank, float *places)
{
    const store_memory *store = &tank->args->store;
    uint32_t low = 0;
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        if (store->carried[CARRIED_DEVIATION][i] > 0.0f &&
            store->position[1][i] < (uint32_t)(2.4 * (1 << POSITION_BITS))) {
            places[low++] = (float)store->position[0][i] * tank->grid.desc.cell_m / (float)(1 << POSITION_BITS);
        }
    }
    return physics_percentile_of(places, low, 99.5);
}

void physics_vorton_lock_exchange(void)
{
    static float places[LOCK_PARTICLES_MAX];
    tarn_tank_desc desc = vorton_desc(192, 24);
    desc.cells[2] = 1;
    desc.cell_m = 0.8f / 192;
    desc.dt_s = 1.0f / 20.0f;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {0.4f, 0.1f, desc.cell_m}};
    desc.blocks[1] = (tarn_fluid_block){.min_m = {0.4f, 0.0f, 0.0f}, .max_m = {0.8f, 0.1f, desc.cell_m}};
    desc.blocks[0].carried[CARRIED_DEVIATION] = (float)(0.005 / 9.81);
    desc.blocks[1].carried[CARRIED_DEVIATION] = (float)(-0.005 / 9.81);
    desc.block_count = 2;
    physics_tank t = physics_open(&desc);
    assert_true(t.tank->particle_count <= LOCK_PARTICLES_MAX);
    double time_s[LOCK_STEPS_MAX], front[LOCK_STEPS_MAX], now = 0.0;
    int seen = 0;
    for (int step = 1; step <= LOCK_STEPS_MAX && now < 0.7; step++) {
        physics_steps(&t, 1);
        now = heavy_front_m(t.tank, places);
        if (now >= 0.5) {
            time_s[seen] = step * (double)desc.dt_s;
            front[seen++] = now;
        }
    }
    physics_within_percent(PHYSICS_REQUIRED, "V9 vortons, lock exchange by density: speed of the front",
                           physics_slope(time_s, front, seen), 0.0151, 15.0, "m/s");
    physics_close(&t);
}
