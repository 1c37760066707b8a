// What rests rests.
//
// A pool over a slope and a ball gets still and stays so for a minute: its energy falls, and no particle moves, by its
// own velocity or by the density correction, faster than creep.
//
// Nothing drives a pool at rest, however thick it is and however rough walls and a ball in it are: by FLIP and by APIC,
// in three dimensions and in two, it is still after five seconds, and its energy falls from there. What was splashed
// has no more energy than without friction, and calms no more slowly. --long tries every combination, else a few.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>

static const float cell_m = 0.03125f;

static tarn_solid solid_of(tarn_shape_kind kind, const float *half_cells, const float *at_cells, double turn_z)
{
    tarn_solid solid = {.shape.kind = kind,
                        .pose.rotation = {0.0f, 0.0f, (float)sin(turn_z / 2), (float)cos(turn_z / 2)}};
    for (int a = 0; a < 3; a++) {
        solid.shape.half_m[a] = half_cells[a] * cell_m;
        solid.pose.position_m[a] = at_cells[a] * cell_m;
    }
    return solid;
}

/// Mean kinetic energy over a second, and in *fastest the most that something moved in it.
static double energy_of_second(physics_tank *t, double *fastest)
{
    double sum = 0.0;
    for (int step = 0; step < 60; step++) {
        physics_steps(t, 1);
        const tarn_tank_report report = physics_report(t);
        sum += report.kinetic_j_kg / 60.0;
        *fastest = fmax(*fastest, (double)report.speed_max_m_s);
    }
    return sum;
}

void physics_still(void)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = 32;
    desc.cells[1] = 24;
    desc.cells[2] = 16;
    desc.cell_m = cell_m;
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {32.0f * cell_m, 12.0f * cell_m, 16.0f * cell_m}};
    desc.solid_count = 2;
    desc.solids[0] =
        solid_of(TARN_SHAPE_BOX, (const float[3]){14.0f, 4.0f, 10.0f}, (const float[3]){4.0f, 3.0f, 8.0f}, -0.4);
    desc.solids[1] = solid_of(TARN_SHAPE_SPHERE, (const float[3]){4.3f}, (const float[3]){22.3f, 5.1f, 8.2f}, 0.0);
    physics_tank t = physics_open(&desc);
    double unused = 0.0, fastest = 0.0, energy = 0.0;
    physics_steps(&t, 9 * 60);
    const double early = energy_of_second(&t, &unused);
    physics_steps(&t, 40 * 60);
    for (int second = 0; second < 10; second++) {
        energy = energy_of_second(&t, &fastest);
    }
    physics_close(&t);
    physics_at_most(PHYSICS_REQUIRED, "still: kinetic energy after 60 s, over that after 10 s", energy / early, 1.0,
                    "");
    physics_at_most(PHYSICS_REQUIRED, "still: fastest motion from 50 s to 60 s", fastest, 0.01, "m/s");
}

// ---------------------------------------------------------------------------------------------------------------- calm

static const float viscosities_m2_s[] = {0.0f, 1e-6f, 1e-5f, 1e-4f, 1e-3f, 1e-2f, 1e-1f};
static const float wall_frictions[] = {0.0f, 0.1f, 1.0f};

enum { VISCOSITIES = 7, FRICTIONS = 3, FLAT_CELLS = 40, DEEP_CELLS = 16 };

typedef struct calm_pool {
    int viscosity, friction;
    bool ball, affine, flat, splashes;
    bool halfway; ///< the surface passes the cells' centres
} calm_pool;

/// Part of what --long tries: every viscosity, friction, transfer and shape at least once.
static const calm_pool some[] = {
    {.friction = 2},
    {.viscosity = 2, .ball = true},
    {.viscosity = 5},
    {.viscosity = 4, .friction = 1, .ball = true, .affine = true},
    {.flat = true},
    {.friction = 2, .flat = true},
    {.viscosity = 1, .friction = 1, .affine = true, .flat = true},
    {.viscosity = 3, .ball = true, .flat = true},
    {.viscosity = 6, .friction = 2, .ball = true, .affine = true, .flat = true},
};
enum { SOME = sizeof some / sizeof some[0] };

static physics_tank open_pool(const calm_pool *pool)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    const float c = cell_m, across = (float)(pool->flat ? FLAT_CELLS : DEEP_CELLS);
    const float depth = (pool->flat ? 12.0f : 8.3f) + (pool->halfway ? 0.5f : 0.0f);
    desc.cells[0] = (uint16_t)across;
    desc.cells[1] = 20;
    desc.cells[2] = pool->flat ? 1 : DEEP_CELLS;
    desc.cell_m = c;
    desc.transfer = pool->affine ? TARN_TRANSFER_APIC : TARN_TRANSFER_FLIP;
    desc.liquids[0].viscosity_m2_s = viscosities_m2_s[pool->viscosity];
    desc.wall_friction = wall_frictions[pool->friction];
    const float wide = pool->splashes ? 0.5f : 1.0f, high = pool->splashes ? 16.0f : depth;
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {wide * across * c, high * c, (float)desc.cells[2] * c}};
    if (pool->ball) {
        const float z = 0.5f * (float)desc.cells[2];
        desc.solid_count = 1;
        desc.solids[0] =
            solid_of(TARN_SHAPE_SPHERE, (const float[3]){3.2f}, (const float[3]){0.5f * across, 4.1f, z}, 0.0);
        desc.solids[0].friction = 1.0f;
    }
    return physics_open(&desc);
}

/// Mean speed of the particles.
static double mean_speed(physics_tank *t)
{
    physics_particles p = physics_particles_open(t);
    double sum = 0.0;
    physics_particles_read(t, &p);
    for (uint32_t i = 0; i < p.count; i++) {
        const float *v = p.velocity_m_s + 3 * (size_t)i;
        sum += sqrt((double)(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]));
    }
    const double mean = p.count > 0 ? sum / p.count : 0.0;
    physics_particles_close(&p);
    return mean;
}

#define STILL_J_KG (0.5 * 0.0002 * 0.0002) ///< less than this is rounding

/// The worst of pools that stood.
typedef struct calm_figures {
    double fastest;      ///< mean speed after 5 s
    double late_fastest; ///< the same of flat ones with a ball: the margin that seeding leaves around it starts a slosh
    double ratio;        ///< of the energy 3 s later to that then
} calm_figures;

/// Lets a pool stand.
static void stand(const calm_pool *pool, calm_figures *worst)
{
    physics_tank t = open_pool(pool);
    double unused = 0.0;
    physics_steps(&t, 5 * 60);
    const double speed = mean_speed(&t), early = energy_of_second(&t, &unused);
    physics_steps(&t, 2 * 60);
    const double late = energy_of_second(&t, &unused);
    physics_close(&t);
    if (physics_long()) {
        printf("%s%s, nu %g, walls %g, ball %d, %s: mean %.2g m/s at 5 s, energy %.2g, then %.2g J/kg\n",
               pool->flat ? "2D" : "3D", pool->halfway ? ", halfway" : "", (double)viscosities_m2_s[pool->viscosity],
               (double)wall_frictions[pool->friction], pool->ball, pool->affine ? "APIC" : "FLIP", speed, early, late);
    }
    double *fastest = pool->flat && pool->ball ? &worst->late_fastest : &worst->fastest;
    *fastest = fmax(*fastest, speed);
    worst->ratio = fmax(worst->ratio, late / fmax(early, STILL_J_KG));
}

typedef struct splash {
    double energy; ///< kinetic, three to four seconds after a dam broke in the tank
    double kept;   ///< what share of it is left six seconds later
} splash;

static splash splashed(const calm_pool *pool)
{
    double unused = 0.0;
    physics_tank t = open_pool(pool);
    physics_steps(&t, 3 * 60);
    const double energy = energy_of_second(&t, &unused);
    physics_steps(&t, 5 * 60);
    const double late = energy_of_second(&t, &unused);
    physics_close(&t);
    return (splash){energy, late / energy};
}

static void stand_all(bool flat, calm_figures *worst)
{
    for (int i = 0; i < VISCOSITIES * FRICTIONS * 4; i++) {
        const calm_pool pool = {.viscosity = i / 4 % VISCOSITIES,
                                .friction = i / 4 / VISCOSITIES,
                                .ball = i & 1,
                                .affine = i >> 1 & 1,
                                .flat = flat};
        stand(&pool, worst);
    }
}

void physics_calm(void)
{
    double still_moving = 0.0;
    for (int flat = 0; flat < 2; flat++) {
        calm_figures figures = {0};
        if (physics_long()) {
            stand_all(flat, &figures);
        }
        for (int i = 0; i < SOME && !physics_long(); i++) {
            if (some[i].flat == flat) {
                stand(&some[i], &figures);
            }
        }
        physics_at_most(PHYSICS_REQUIRED,
                        flat ? "V19 pools at rest, 2D: mean speed after 5 s, the fastest's"
                             : "V19 pools at rest, 3D: mean speed after 5 s, the fastest's",
                        figures.fastest, 0.001, "m/s");
        physics_at_most(PHYSICS_REQUIRED,
                        flat ? "V19 pools at rest, 2D: kinetic energy 3 s later, over that then"
                             : "V19 pools at rest, 3D: kinetic energy 3 s later, over that then",
                        figures.ratio, 1.0, "");
        still_moving = fmax(still_moving, figures.late_fastest);
    }
    physics_at_most(PHYSICS_REPORTED, "V19 pools at rest, 2D with a ball: mean speed after 5 s", still_moving, 0.001,
                    "m/s");
    calm_figures between = {0};
    stand(&(calm_pool){.flat = true, .halfway = true}, &between);
    stand(&(calm_pool){.friction = 2, .flat = true, .halfway = true}, &between);
    physics_at_most(PHYSICS_REPORTED, "V19 pools at rest, 2D, surface through cells' centres: mean speed after 5 s",
                    between.fastest, 0.001, "m/s");
    const calm_pool water = {.splashes = true};
    const calm_pool rough[] = {
        {.friction = 2, .splashes = true}, {.ball = true, .splashes = true}, {.viscosity = 4, .splashes = true}};
    const splash smooth = splashed(&water);
    splash most = {0};
    for (size_t i = 0; i < sizeof rough / sizeof rough[0]; i++) {
        const splash it = splashed(&rough[i]);
        most.energy = fmax(most.energy, it.energy / smooth.energy);
        most.kept = fmax(most.kept, it.kept / smooth.kept);
    }
    physics_at_most(PHYSICS_REQUIRED, "V19 after a splash: kinetic energy with friction, over that without",
                    most.energy, 1.0, "");
    physics_at_most(PHYSICS_REQUIRED, "V19 after a splash: what is left of it 6 s later, over that without", most.kept,
                    1.0, "");
}
