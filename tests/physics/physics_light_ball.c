// V16: a ball of light liquid in a tank full of a heavy one. However it is deformed on its way, the impulse of its
// vortices grows by its buoyancy,
//
//     d/dt 1/2 integral x x curl(rho u) dV = (rho - rho_b) V g
//
// (Saffman, Vortex Dynamics, section 3.2), until it nears a wall. Around it the liquid is without vortices, so that the
// integral over the box half a cell within the walls is
//
//     integral rho u dV + 1/2 integral (n (x . rho u) - rho u (x . n)) dS,
//
// both of which are sums over particles: those inside, and those in the outermost cells.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <stdlib.h>

enum { WIDTH = 32, HEIGHT = 40, STEPS = 20 };

static const double g = 9.81, heavy_kg_m3 = 1000.0, light_kg_m3 = 500.0;

static tarn_tank_desc light_ball_desc(void)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    const float c = desc.cell_m;
    desc.cells[0] = desc.cells[2] = WIDTH;
    desc.cells[1] = HEIGHT;
    desc.liquid_count = 2;
    desc.liquids[0].density_kg_m3 = (float)light_kg_m3;
    desc.liquids[1] = desc.liquids[0];
    desc.liquids[1].density_kg_m3 = (float)heavy_kg_m3;
    desc.fluid_count = 2;
    desc.fluids[0] = (tarn_fluid_shape){
        .shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {5.0f * c}},
        .pose = {.position_m = {0.5f * WIDTH * c, 14.0f * c, 0.5f * WIDTH * c}, .rotation = {0.0f, 0.0f, 0.0f, 1.0f}}};
    desc.fluids[1] = (tarn_fluid_shape){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {WIDTH * c, HEIGHT * c, WIDTH * c}},
                                        .pose = desc.fluids[0].pose,
                                        .liquid = 1};
    return desc;
}

/// What a particle adds to the integral over the surface of a box, upwards, with the box's lengths in cells: those
/// within half a cell of a side stand for it.
static double surface_share(const double *half, const double *x, const double *u)
{
    double sum = 0.0;
    for (int a = 0; a < 3; a++) {
        const int b = (a + 1) % 3, c = (a + 2) % 3;
        if (fabs(fabs(x[a]) - half[a]) < 0.5 && fabs(x[b]) < half[b] && fabs(x[c]) < half[c]) {
            const double n = x[a] > 0.0 ? 1.0 : -1.0, x_u = n * half[a] * u[a] + x[b] * u[b] + x[c] * u[c];
            sum += (a == 1 ? n * x_u : 0.0) - u[1] * half[a];
        }
    }
    return sum;
}

/// Impulse upwards over the volume of a particle; *light: particles of the light liquid.
static double impulse(physics_tank *t, physics_particles *p, uint8_t *liquids, uint32_t *light)
{
    const tarn_tank_desc *desc = tarn_tank_desc_of(t->tank);
    uint32_t count;
    double sum = 0.0;
    physics_particles_read(t, p);
    assert_int_equal(tarn_tank_particle_colours(t->tank, liquids, NULL, p->count, &count), TARN_OK);
    *light = 0;
    for (size_t i = 0; i < p->count; i++) {
        double half[3], x[3], u[3], outside = -1.0;
        for (size_t a = 0; a < 3; a++) {
            half[a] = 0.5 * desc->cells[a] - 0.5;
            x[a] = (double)(p->position_m[3 * i + a] / desc->cell_m) - 0.5 * desc->cells[a];
            u[a] = (double)p->velocity_m_s[3 * i + a];
            outside = fmax(outside, fabs(x[a]) - half[a]);
        }
        const double density = liquids[i] == 0 ? light_kg_m3 : heavy_kg_m3;
        *light += liquids[i] == 0;
        sum += (outside < 0.0 ? density * u[1] : 0.0) + 0.5 * density * surface_share(half, x, u);
    }
    return sum;
}

void physics_light_ball(void)
{
    const tarn_tank_desc desc = light_ball_desc();
    physics_tank t = physics_open(&desc);
    physics_particles p = physics_particles_open(&t);
    uint8_t *liquids = malloc(p.count);
    assert_non_null(liquids);
    double time[STEPS], now[STEPS];
    uint32_t light = 0;
    for (int i = 0; i < STEPS; i++) {
        physics_steps(&t, 1);
        time[i] = (i + 1) * (double)desc.dt_s;
        now[i] = impulse(&t, &p, liquids, &light);
    }
    physics_within_percent(PHYSICS_REQUIRED, "V16 light ball: growth of its impulse, over its buoyancy",
                           physics_slope(time, now, STEPS) / ((heavy_kg_m3 - light_kg_m3) * g * light), 1.0, 3.0, "");
    free(liquids);
    physics_particles_close(&p);
    physics_close(&t);
}
