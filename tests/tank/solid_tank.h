/// Helpers of the tests of solids and bodies.
#ifndef TARN_TESTS_SOLID_TANK_H
#define TARN_TESTS_SOLID_TANK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/liquid/liquid_host.h"
#include "tests/tank/plain_tank.h"

typedef struct cloud {
    float *position_m, *velocity_m_s;
    uint32_t count;
} cloud;

/// A tank of n cells a metre, filled to a height.
tarn_tank_desc solid_tank_pool(uint16_t nx, uint16_t ny, uint16_t nz, float cell_m, float height_m);

tarn_solid *solid_tank_add_solid(tarn_tank_desc *desc, tarn_shape_kind kind, const float half_m[3],
                                 const float at_m[3]);

/// Turns a solid about the z axis by the angle with this sine and cosine of its half.
void solid_tank_turn_z(tarn_solid *solid, double angle);

cloud solid_tank_particles_of(tarn_tank *tank);

void solid_tank_free_cloud(cloud *c);

/// The particle deepest in the description's solids as they stood at the start, in cells: negative is inside.
double solid_tank_deepest_cells(tarn_tank *tank);

void solid_tank_step(tarn_tank *tank, int steps);

double solid_tank_kinetic_j_kg(tarn_tank *tank);

double solid_tank_height_m(tarn_tank *tank);

tarn_solid *solid_tank_add_keyed(tarn_tank_desc *desc, tarn_shape_kind kind, const float half_m[3],
                                 const float from_m[3], const float to_m[3], float over_s);

tarn_solid *solid_tank_add_free(tarn_tank_desc *desc, tarn_shape_kind kind, const float half_m[3], const float at_m[3],
                                float density_kg_m3);

tarn_body_state solid_tank_body_of(tarn_tank *tank, uint32_t b);

double solid_tank_length(const float *v);

#endif
