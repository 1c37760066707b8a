// How many particles a description has, against every point of its lattice asked of every shape; and that large
// descriptions are counted, and emitters of any size measured, in no time.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> // needs those above

#include "kernels/tank/tank_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIELD_NODES = 12, TANKS = 60 };

/// 0..1
static double random_of(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(*state >> 11) * 0x1p-53;
}

static tarn_pose random_pose(uint64_t *state)
{
    tarn_pose pose;
    float square = 0.0f;
    for (int a = 0; a < 3; a++) {
        pose.position_m[a] = (float)(1.6 * random_of(state) - 0.3);
    }
    for (int i = 0; i < 4; i++) {
        pose.rotation[i] = (float)(random_of(state) - 0.5);
        square += pose.rotation[i] * pose.rotation[i];
    }
    for (int i = 0; i < 4; i++) {
        pose.rotation[i] /= sqrtf(square);
    }
    return pose;
}

static tarn_shape random_shape(uint64_t *state, int kinds)
{
    tarn_shape shape = {.kind = (tarn_shape_kind)(random_of(state) * kinds), .inverted = random_of(state) < 0.15};
    for (int a = 0; a < 3; a++) {
        shape.half_m[a] = (float)(0.01 + 0.5 * random_of(state) * random_of(state));
    }
    return shape;
}

/// A ball of 0.4 m as a field.
static void fill_field(tarn_distance_field *field, float *distance_m)
{
    const float spacing_m = 0.1f;
    field->spacing_m = spacing_m;
    field->distance_m = distance_m;
    for (int a = 0; a < 3; a++) {
        field->nodes[a] = FIELD_NODES;
        field->min_m[a] = -0.5f * spacing_m * (FIELD_NODES - 1);
    }
    for (int i = 0; i < FIELD_NODES * FIELD_NODES * FIELD_NODES; i++) {
        const int node[3] = {i % FIELD_NODES, i / FIELD_NODES % FIELD_NODES, i / (FIELD_NODES * FIELD_NODES)};
        float square = 0.0f;
        for (int a = 0; a < 3; a++) {
            const float at = field->min_m[a] + spacing_m * (float)node[a];
            square += at * at;
        }
        distance_m[i] = sqrtf(square) - 0.4f;
    }
}

/// Makes distances of a field that are none: they change by more than the way.
static void roughen_field(uint64_t *state, float *distance_m)
{
    const double noise_m = random_of(state), steepness = 1.0 + 4.0 * random_of(state);
    for (int i = 0; i < FIELD_NODES * FIELD_NODES * FIELD_NODES; i++) {
        distance_m[i] = (float)(steepness * (double)distance_m[i] + noise_m * (random_of(state) - 0.5));
    }
}

static void random_desc(uint64_t *state, float *distance_m, tarn_tank_desc *desc)
{
    tarn_tank_desc_default(desc);
    for (int a = 0; a < 3; a++) {
        desc->cells[a] = (uint16_t)(6 + 14 * random_of(state));
    }
    desc->cell_m = 0.0625f;
    desc->jitter = 0.0f;
    desc->particles_per_axis = 1 + (uint32_t)(3 * random_of(state));
    desc->field_count = 1;
    fill_field(&desc->fields[0], distance_m);
    desc->block_count = (uint32_t)(3 * random_of(state));
    for (uint32_t b = 0; b < desc->block_count; b++) {
        for (int a = 0; a < 3; a++) {
            const float size = desc->cell_m * desc->cells[a];
            desc->blocks[b].min_m[a] = (float)(random_of(state) * 0.5 * (double)size);
            desc->blocks[b].max_m[a] = (float)((0.6 + 0.4 * random_of(state)) * (double)size);
        }
    }
    desc->fluid_count = 1 + (uint32_t)(4 * random_of(state));
    for (uint32_t f = 0; f < desc->fluid_count; f++) {
        desc->fluids[f].shape = random_shape(state, TARN_SHAPE_COUNT);
        desc->fluids[f].pose = random_pose(state);
    }
    desc->solid_count = (uint32_t)(4 * random_of(state));
    for (uint32_t i = 0; i < desc->solid_count; i++) {
        desc->solids[i].shape = random_shape(state, TARN_SHAPE_FIELD);
        desc->solids[i].shape.inverted = 0;
        desc->solids[i].pose = random_pose(state);
    }
}

static double distance_m(const tarn_tank_desc *desc, const tarn_shape *shape, const tarn_pose *pose,
                         const double *point_m)
{
    double local_m[3];
    tarn_pose_to_shape(pose, point_m, local_m);
    return tarn_shape_distance_m(shape, desc->fields, local_m);
}

/// @param sample_m  of the point's cube, asked for liquid; the point itself for solids
static bool is_liquid(const tarn_tank_desc *desc, const double *sample_m, const double *point_m)
{
    bool held = false;
    for (uint32_t b = 0; b < desc->block_count; b++) {
        bool inside = true;
        for (int a = 0; a < 3; a++) {
            inside &= sample_m[a] >= (double)desc->blocks[b].min_m[a] && sample_m[a] < (double)desc->blocks[b].max_m[a];
        }
        held |= inside;
    }
    for (uint32_t f = 0; f < desc->fluid_count; f++) {
        held |= distance_m(desc, &desc->fluids[f].shape, &desc->fluids[f].pose, sample_m) < 0.0;
    }
    for (uint32_t i = 0; i < desc->solid_count; i++) { // a 32nd of a cell stays free
        held &= distance_m(desc, &desc->solids[i].shape, &desc->solids[i].pose, point_m) >= 0.03125 * 0.0625;
    }
    return held;
}

static uint64_t count_points(const tarn_tank_desc *desc)
{
    const int n = (int)desc->particles_per_axis;
    uint64_t count = 0;
    for (int z = 0; z < n * desc->cells[2]; z++) {
        for (int y = 0; y < n * desc->cells[1]; y++) {
            for (int x = 0; x < n * desc->cells[0]; x++) {
                const int cell[3] = {x / n, y / n, z / n}, point[3] = {x % n, y % n, z % n};
                double sample_m[3], at_m[3];
                for (int a = 0; a < 3; a++) {
                    const double sample = tank_seed_sample(desc, cell, point, a);
                    sample_m[a] = (cell[a] + (point[a] + sample) / n) * (double)desc->cell_m;
                    at_m[a] = (cell[a] + (point[a] + 0.5) / n) * (double)desc->cell_m;
                }
                count += (uint64_t)is_liquid(desc, sample_m, at_m);
            }
        }
    }
    return count;
}

static void every_point_is_counted(void **state)
{
    (void)state;
    static float field_m[FIELD_NODES * FIELD_NODES * FIELD_NODES];
    tarn_device_desc kind = {.kind = TARN_DEVICE_CPU, .threads = 1};
    tarn_device *device = NULL;
    assert_int_equal(tarn_device_create(&kind, &device), TARN_OK);
    uint64_t random = 1, rough = 2, most = 0;
    for (int i = 0; i < TANKS; i++) {
        static tarn_tank_desc desc;
        random_desc(&random, field_m, &desc);
        if (i % 2) {
            roughen_field(&rough, field_m);
        }
        const uint64_t count = tarn_tank_desc_particles(&desc);
        assert_int_equal(count, count_points(&desc));
        most = count > most ? count : most;
        tarn_tank *tank = NULL;
        tarn_tank_report report;
        assert_int_equal(tarn_tank_create(device, &desc, &tank, NULL, 0), TARN_OK);
        assert_int_equal(tarn_tank_report_get(tank, &report), TARN_OK);
        assert_int_equal(report.particle_count, count);
        tarn_tank_destroy(tank);
    }
    assert_true(most > 10000);
    tarn_device_destroy(device);
}

/// Blocks and shapes whose surfaces lie anywhere between the lattice's points have their volume all the same.
static void volume_is_what_is_asked_for(void **state)
{
    (void)state;
    static tarn_tank_desc desc;
    const float cell_m = 0.0375f;
    uint64_t random = 7;
    double worst = 0.0;
    for (int i = 0; i < 3 * TANKS; i++) {
        tarn_tank_desc_default(&desc);
        desc.cell_m = cell_m;
        double cells = 1.0;
        for (int a = 0; a < 3; a++) {
            desc.cells[a] = 64;
        }
        if (i % 3 == 0) {
            desc.block_count = 1;
            for (int a = 0; a < 3; a++) {
                desc.blocks[0].min_m[a] = (float)(0.3 * random_of(&random));
                desc.blocks[0].max_m[a] = (float)(1.5 + 0.5 * random_of(&random));
                cells *= (double)(desc.blocks[0].max_m[a] - desc.blocks[0].min_m[a]) / (double)cell_m;
            }
        } else {
            desc.fluid_count = 1;
            desc.fluids[0].pose = random_pose(&random);
            for (int a = 0; a < 3; a++) {
                desc.fluids[0].pose.position_m[a] = (float)(1.2 + 0.1 * (random_of(&random) - 0.5));
            }
            tarn_shape *shape = &desc.fluids[0].shape;
            *shape = (tarn_shape){.kind = i % 3 == 1 ? TARN_SHAPE_SPHERE : TARN_SHAPE_BOX};
            for (int a = 0; a < 3; a++) {
                shape->half_m[a] = (float)(0.5 + 0.1 * random_of(&random));
                cells *= 2.0 * (double)shape->half_m[a] / (double)cell_m;
            }
            if (shape->kind == TARN_SHAPE_SPHERE) {
                shape->half_m[0] = 0.9f;
                cells = 4.0 / 3.0 * 3.14159265358979 * pow(0.9 / (double)cell_m, 3.0);
            }
        }
        worst = fmax(worst, fabs((double)tarn_tank_desc_particles(&desc) / 8.0 / cells - 1.0));
    }
    print_message("volumes are off by at most %.3f %%\n", 100.0 * worst);
    assert_true(worst < 0.001);
}

/// 2^27 cells of 64 points each: asking all of them would take minutes.
static void large_tanks_are_counted_soon(void **state)
{
    (void)state;
    static tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    for (int a = 0; a < 3; a++) {
        desc.cells[a] = 512;
    }
    desc.cell_m = 0.01f;
    desc.particles_per_axis = 4;
    desc.fluid_count = 1;
    desc.fluids[0].shape = (tarn_shape){.kind = TARN_SHAPE_SPHERE, .half_m = {9.0f}, .inverted = 1};
    desc.fluids[0].pose = (tarn_pose){.position_m = {2.5f, 2.5f, 2.5f}, .rotation = {0, 0, 0, 1}};
    assert_int_equal(tarn_tank_desc_particles(&desc), 0);
    desc.fluids[0].shape.inverted = 0;
    assert_int_equal(tarn_tank_desc_particles(&desc), 1ull << 33);
    static float field_m[FIELD_NODES * FIELD_NODES * FIELD_NODES];
    desc.field_count = 1;
    fill_field(&desc.fields[0], field_m);
    desc.fluids[0].shape = (tarn_shape){.kind = TARN_SHAPE_FIELD, .half_m = {12.0f}}; // a ball of 4.8 m
    assert_int_equal(tarn_tank_desc_particles(&desc), 1ull << 33);
    desc.fluids[0].shape.inverted = 1;
    assert_int_equal(tarn_tank_desc_particles(&desc), 0);
    desc.fluid_count = 0;
    desc.block_count = 1;
    for (int a = 0; a < 3; a++) {
        desc.blocks[0].max_m[a] = 512 * desc.cell_m;
    }
    assert_int_equal(tarn_tank_desc_particles(&desc), 1ull << 33);
    desc.particles_per_axis = 1;
    desc.solid_count = 1;
    desc.solids[0].shape = (tarn_shape){.kind = TARN_SHAPE_BOX, .half_m = {5.0f, 5.0f, 5.0f}};
    assert_int_equal(tarn_tank_desc_particles(&desc), (1ull << 27) - 500ull * 500 * 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_point_is_counted),
        cmocka_unit_test(volume_is_what_is_asked_for),
        cmocka_unit_test(large_tanks_are_counted_soon),
    };
    return cmocka_run_group_tests_name("seed", tests, NULL, NULL);
}
