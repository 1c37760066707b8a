#include "tests/tank/solid_tank.h"
#include "kernels/step_input.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <stdlib.h>
#include <string.h>

tarn_tank_desc solid_tank_pool(uint16_t nx, uint16_t ny, uint16_t nz, float cell_m, float height_m)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = nx;
    desc.cells[1] = ny;
    desc.cells[2] = nz;
    desc.cell_m = cell_m;
    if (height_m > 0.0f) {
        desc.block_count = 1;
        for (int a = 0; a < 3; a++) {
            desc.blocks[0].max_m[a] = (float)desc.cells[a] * cell_m;
        }
        desc.blocks[0].max_m[1] = height_m;
    }
    return desc;
}

tarn_solid *solid_tank_add_solid(tarn_tank_desc *desc, tarn_shape_kind kind, const float half_m[3], const float at_m[3])
{
    tarn_solid *solid = &desc->solids[desc->solid_count++];
    memset(solid, 0, sizeof *solid);
    solid->shape.kind = kind;
    memcpy(solid->shape.half_m, half_m, sizeof solid->shape.half_m);
    memcpy(solid->pose.position_m, at_m, sizeof solid->pose.position_m);
    solid->pose.rotation[3] = 1.0f;
    solid->density_kg_m3 = 500.0f;
    return solid;
}

void solid_tank_turn_z(tarn_solid *solid, double angle)
{
    solid->pose.rotation[2] = (float)sin(0.5 * angle);
    solid->pose.rotation[3] = (float)cos(0.5 * angle);
}

cloud solid_tank_particles_of(tarn_tank *tank)
{
    tarn_tank_report report;
    tarn_tank_report_light(tank, &report);
    const size_t n = report.particle_count;
    cloud c = {malloc((3 * n + 1) * sizeof(float)), malloc((3 * n + 1) * sizeof(float)), 0};
    assert_int_equal(tarn_tank_particles(tank, c.position_m, c.velocity_m_s, NULL, report.particle_count, &c.count),
                     TARN_OK);
    return c;
}

void solid_tank_free_cloud(cloud *c)
{
    free(c->position_m);
    free(c->velocity_m_s);
}

double solid_tank_deepest_cells(tarn_tank *tank)
{
    const tarn_tank_desc *desc = tarn_tank_desc_of(tank);
    double least = INFINITY;
    cloud c = solid_tank_particles_of(tank);
    for (uint32_t i = 0; i < c.count; i++) {
        const double at_m[3] = {(double)c.position_m[3 * i], (double)c.position_m[3 * i + 1],
                                (double)c.position_m[3 * i + 2]};
        least = fmin(least, grid_solids_distance_m(desc, ~0ull, at_m));
    }
    solid_tank_free_cloud(&c);
    return least / (double)desc->cell_m;
}

void solid_tank_step(tarn_tank *tank, int steps)
{
    for (int i = 0; i < steps; i++) {
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    }
}

double solid_tank_kinetic_j_kg(tarn_tank *tank)
{
    tarn_tank_report report;
    assert_int_equal(tarn_tank_report_get(tank, &report), TARN_OK);
    return report.kinetic_j_kg;
}

double solid_tank_height_m(tarn_tank *tank)
{
    tarn_tank_report report;
    assert_int_equal(tarn_tank_report_get(tank, &report), TARN_OK);
    return report.center_m[1];
}

tarn_solid *solid_tank_add_keyed(tarn_tank_desc *desc, tarn_shape_kind kind, const float half_m[3],
                                 const float from_m[3], const float to_m[3], float over_s)
{
    tarn_solid *solid = solid_tank_add_solid(desc, kind, half_m, from_m);
    solid->motion = TARN_MOTION_KEYFRAMES;
    solid->keyframe_first = desc->keyframe_count;
    solid->keyframe_count = 2;
    for (int k = 0; k < 2; k++) {
        tarn_keyframe *key = &desc->keyframes[desc->keyframe_count++];
        memset(key, 0, sizeof *key);
        key->time_s = (float)k * over_s;
        key->pose.rotation[3] = 1.0f;
        memcpy(key->pose.position_m, k == 0 ? from_m : to_m, sizeof key->pose.position_m);
    }
    return solid;
}

tarn_solid *solid_tank_add_free(tarn_tank_desc *desc, tarn_shape_kind kind, const float half_m[3], const float at_m[3],
                                float density_kg_m3)
{
    tarn_solid *solid = solid_tank_add_solid(desc, kind, half_m, at_m);
    solid->motion = TARN_MOTION_FREE;
    solid->density_kg_m3 = density_kg_m3;
    return solid;
}

tarn_body_state solid_tank_body_of(tarn_tank *tank, uint32_t b)
{
    tarn_body_state bodies[TARN_TANK_BODIES_MAX];
    assert_true(tarn_tank_bodies(tank, bodies) > b);
    return bodies[b];
}

double solid_tank_length(const float *v)
{
    return sqrt((double)(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]));
}
