// Distances, poses, bounds, volume and inertia of shapes against answers that are known otherwise.
#include "kernels/shapes/shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka.h needs the four headers above it.
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROOT_HALF 0.70710678f

static const tarn_shape box = {TARN_SHAPE_BOX, {0.5f, 0.25f, 1.0f}, 0, 0};
static const tarn_shape sphere = {TARN_SHAPE_SPHERE, {0.5f, 0.0f, 0.0f}, 0, 0};
static const tarn_shape capsule = {TARN_SHAPE_CAPSULE, {0.25f, 0.5f, 0.0f}, 0, 0};
static const tarn_shape cylinder = {TARN_SHAPE_CYLINDER, {0.25f, 0.5f, 0.0f}, 0, 0};
/// x becomes y, then moved.
static const tarn_pose turned = {{1.0f, 2.0f, 3.0f}, {0.0f, 0.0f, ROOT_HALF, ROOT_HALF}};
static const tarn_pose oblique = {{0.25f, -0.5f, 0.125f}, {0.1f, 0.7f, -0.3f, 0.6f}};

/// The same numbers in every run.
static double random_share(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(*state >> 11) * 0x1p-53;
}

static void assert_near(double found, double wanted, double tolerance)
{
    if (!(fabs(found - wanted) <= tolerance)) {
        fail_msg("found %.12g, wanted %.12g within %g", found, wanted, tolerance);
    }
}

/// Samples a shape on n^3 nodes, from -half to half per axis.
static tarn_distance_field sample(const tarn_shape *shape, uint32_t n, double half)
{
    tarn_distance_field field = {
        {n, n, n}, (float)(2.0 * half / (n - 1)), {(float)-half, (float)-half, (float)-half}, NULL, 0.0f};
    field.distance_m = malloc((size_t)n * n * n * sizeof(float));
    assert_non_null(field.distance_m);
    for (uint32_t i = 0; i < n * n * n; i++) {
        const uint32_t node[3] = {i % n, i / n % n, i / (n * n)};
        double p[3];
        for (int a = 0; a < 3; a++) {
            p[a] = (double)field.min_m[a] + (double)field.spacing_m * node[a];
        }
        field.distance_m[i] = (float)tarn_shape_distance_m(shape, NULL, p);
    }
    return field;
}

static void primitives_have_their_distances(void **state)
{
    (void)state;
    static const struct {
        const tarn_shape *shape;
        double point[3], distance;
    } cases[] = {
        {&box, {0, 0, 0}, -0.25},
        {&box, {0.75, 0, 0}, 0.25},
        {&box, {0.5 + 0.3, -0.25 - 0.4, 0}, 0.5},
        {&box, {-0.5 - 0.2, 0.25 + 0.3, 1.0 + 0.6}, 0.7},
        {&box, {0.45, 0, 0.5}, -0.05},
        {&sphere, {0, 0, 0}, -0.5},
        {&sphere, {0.3, -0.4, 1.2}, 0.8},
        {&capsule, {0, 0.5, 0}, -0.25},
        {&capsule, {0.15, 0.3, 0.2}, 0.0},
        {&capsule, {0.3, 0.9, 0}, 0.25},
        {&capsule, {0, -1, 0}, 0.25},
        {&cylinder, {0, 0.5, 0}, 0.0},
        {&cylinder, {0, 0, 0}, -0.25},
        {&cylinder, {0, 0.4, 0}, -0.1},
        {&cylinder, {0.3, 0, 0.4}, 0.25},
        {&cylinder, {0.25 + 0.3, -0.5 - 0.4, 0}, 0.5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tarn_shape inverted = *cases[i].shape;
        inverted.inverted = 1;
        assert_near(tarn_shape_distance_m(cases[i].shape, NULL, cases[i].point), cases[i].distance, 1e-7);
        assert_near(tarn_shape_distance_m(&inverted, NULL, cases[i].point), -cases[i].distance, 1e-7);
    }
}

/// A step along the gradient by the distance ends on the surface, and the gradient has length 1, wherever it exists.
static void distances_lead_to_the_surface(void **state)
{
    (void)state;
    const tarn_shape *shapes[] = {&box, &sphere, &capsule, &cylinder};
    uint64_t random = 1;
    for (int i = 0; i < 4000; i++) {
        const tarn_shape *shape = shapes[i % 4];
        double p[3], gradient[3], length2 = 0.0;
        for (int a = 0; a < 3; a++) {
            p[a] = 4.0 * random_share(&random) - 2.0;
        }
        const double distance = tarn_shape_distance_m(shape, NULL, p);
        for (int a = 0; a < 3; a++) {
            double ahead[3] = {p[0], p[1], p[2]}, behind[3] = {p[0], p[1], p[2]};
            ahead[a] += 1e-6;
            behind[a] -= 1e-6;
            gradient[a] =
                (tarn_shape_distance_m(shape, NULL, ahead) - tarn_shape_distance_m(shape, NULL, behind)) / 2e-6;
            length2 += gradient[a] * gradient[a];
        }
        if (distance < 0.0 && fabs(length2 - 1.0) > 1e-4) {
            continue; // between two surfaces, at a ridge
        }
        assert_near(length2, 1.0, 1e-4);
        for (int a = 0; a < 3; a++) {
            p[a] -= distance * gradient[a];
        }
        assert_near(tarn_shape_distance_m(shape, NULL, p), 0.0, 1e-4);
    }
}

static void poses_turn_then_move(void **state)
{
    (void)state;
    double p[3] = {0.5, 0.0, 0.25};
    tarn_pose_from_shape(&turned, p, p);
    assert_near(p[0], 1.0, 1e-6);
    assert_near(p[1], 2.5, 1e-6);
    assert_near(p[2], 3.25, 1e-6);
    tarn_pose_to_shape(&turned, p, p);
    assert_near(p[0], 0.5, 1e-6);
    assert_near(p[1], 0.0, 1e-6);
    const double before[3] = {0.3, -0.2, 0.9};
    double after[3];
    tarn_pose_from_shape(&oblique, before, after);
    tarn_pose_to_shape(&oblique, after, after);
    for (int a = 0; a < 3; a++) {
        assert_near(after[a], before[a], 1e-12);
    }
    const tarn_pose unset = {{1.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 0.0f}};
    tarn_pose_from_shape(&unset, before, after);
    assert_near(after[0], 1.3, 1e-12);
    assert_near(after[1], -0.2, 1e-12);
}

static void union_is_the_nearest_shape(void **state)
{
    (void)state;
    const tarn_shape shapes[3] = {sphere, box, sphere};
    const tarn_pose poses[3] = {{{-2.0f, 0.0f, 0.0f}, {0, 0, 0, 1}}, turned, {{-2.0f, 0.0f, 0.0f}, {0, 0, 0, 1}}};
    const double near_sphere[3] = {-1.0, 0.0, 0.0}, in_box[3] = {1.0, 2.4, 3.0};
    uint32_t nearest = 7;
    assert_near(tarn_shapes_distance_m(shapes, poses, 3, NULL, near_sphere, &nearest), 0.5, 1e-6);
    assert_int_equal(nearest, 0);
    assert_near(tarn_shapes_distance_m(shapes, poses, 3, NULL, in_box, &nearest), -0.1, 1e-6);
    assert_int_equal(nearest, 1);
    assert_true(isinf(tarn_shapes_distance_m(shapes, poses, 0, NULL, in_box, NULL)));
}

static void fields_are_trilinear_and_go_on_outside(void **state)
{
    (void)state;
    // x + 2y + 4z, which trilinear interpolation keeps.
    float values[3 * 4 * 5];
    for (int i = 0; i < 60; i++) {
        values[i] = (float)(i % 3) * 0.5f + 2.0f * 0.5f * (float)(i / 3 % 4) + 4.0f * 0.5f * (float)(i / 12);
    }
    const tarn_distance_field field = {{3, 4, 5}, 0.5f, {0.0f, 0.0f, 0.0f}, values, 0.0f};
    const double inside[3] = {0.3, 0.7, 1.9}, corner[3] = {1.0, 1.5, 2.0}, beyond[3] = {1.0 + 0.3, 1.5 + 0.4, 1.0};
    assert_near(tarn_distance_field_at_m(&field, inside), 0.3 + 1.4 + 7.6, 1e-6);
    assert_near(tarn_distance_field_at_m(&field, corner), 12.0, 1e-6);
    assert_near(tarn_distance_field_at_m(&field, beyond), 8.0 + 0.5, 1e-6);
    const tarn_shape twice = {TARN_SHAPE_FIELD, {2.0f, 0.0f, 0.0f}, 0, 0};
    const double doubled[3] = {0.6, 1.4, 3.8};
    assert_near(tarn_shape_distance_m(&twice, &field, doubled), 2.0 * 9.3, 1e-6);
    const double nowhere[3] = {NAN, INFINITY, -INFINITY};
    (void)tarn_distance_field_at_m(&field, nowhere); // reads nothing outside the grid: the sanitizers look
}

/// 0..1
static double random_of(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(*state >> 11) * 0x1p-53;
}

static void no_field_is_steeper_than_its_slope(void **state)
{
    (void)state;
    float values[3 * 4 * 5];
    tarn_distance_field field = {{3, 4, 5}, 0.5f, {0.0f, 0.0f, 0.0f}, values, 0.0f};
    uint64_t random = 5;
    double nearest = 0.0;
    for (int i = 0; i < 40000; i++) {
        if (i % 100 == 0) { // new values, every other time so that only the outside is steep
            for (int n = 0; n < 60; n++) {
                values[n] = (float)((i % 200 ? 3.0 : 0.1) * random_of(&random));
            }
        }
        double p[3], q[3], square = 0.0;
        for (int a = 0; a < 3; a++) {
            p[a] = 4.0 * random_of(&random) - 1.0;
            q[a] = p[a] + 0.3 * (random_of(&random) - 0.5);
            square += (p[a] - q[a]) * (p[a] - q[a]);
        }
        const double change = tarn_distance_field_at_m(&field, p) - tarn_distance_field_at_m(&field, q);
        const double share = fabs(change) / (sqrt(square) * tarn_distance_field_slope(&field));
        assert_true(share <= 1.0);
        nearest = fmax(nearest, share);
    }
    assert_true(nearest > 0.5); // it isn't just large
}

/// Bounds hold every solid point; and there are solid points close to each of their six sides.
static void bounds_are_tight(void **state)
{
    (void)state;
    tarn_distance_field field = sample(&capsule, 41, 1.0);
    const tarn_shape sampled = {TARN_SHAPE_FIELD, {1.0f, 0.0f, 0.0f}, 0, 0};
    const tarn_shape *shapes[] = {&box, &sphere, &capsule, &cylinder, &sampled};
    const tarn_pose poses[] = {turned, oblique};
    for (int s = 0; s < 5; s++) {
        for (int q = 0; q < 2; q++) {
            double min[3], max[3], center[3], radius, low[3] = {9, 9, 9}, high[3] = {-9, -9, -9}, farthest = 0.0;
            tarn_shape_bounds_m(shapes[s], &poses[q], &field, min, max);
            tarn_shape_bounding_sphere_m(shapes[s], &poses[q], &field, center, &radius);
            uint64_t random = 5;
            for (int i = 0; i < 400000; i++) {
                double p[3], local[3], square = 0.0;
                for (int a = 0; a < 3; a++) {
                    p[a] = (double)poses[q].position_m[a] + 2.6 * random_share(&random) - 1.3;
                }
                tarn_pose_to_shape(&poses[q], p, local);
                if (tarn_shape_distance_m(shapes[s], &field, local) > 0.0) {
                    continue;
                }
                for (int a = 0; a < 3; a++) {
                    low[a] = fmin(low[a], p[a]);
                    high[a] = fmax(high[a], p[a]);
                    square += (p[a] - center[a]) * (p[a] - center[a]);
                }
                farthest = fmax(farthest, sqrt(square));
            }
            // A field's box is turned as a box and a cell larger; chance leaves a gap at corners too.
            const double gap = s == 4 ? 0.45 : 0.12;
            for (int a = 0; a < 3; a++) {
                assert_true(low[a] >= min[a] && high[a] <= max[a]);
                assert_true(low[a] - min[a] < gap && max[a] - high[a] < gap);
            }
            assert_true(farthest <= radius && radius - farthest < gap);
        }
    }
    tarn_distance_field_free(&field);
    assert_null(field.distance_m);
}

static void bounds_of_turned_primitives_are_exact(void **state)
{
    (void)state;
    double min[3], max[3];
    tarn_shape_bounds_m(&cylinder, &turned, NULL, min, max); // its axis lies along x now
    assert_near(min[0], 1.0 - 0.5, 1e-6);
    assert_near(max[1], 2.0 + 0.25, 1e-6);
    const tarn_pose eighth = {{0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.38268343f, 0.92387953f}};
    tarn_shape_bounds_m(&cylinder, &eighth, NULL, min, max);
    assert_near(max[0], (0.5 + 0.25) * sqrt(0.5), 1e-6);
    assert_near(max[2], 0.25, 1e-6);
    tarn_shape_bounds_m(&box, &eighth, NULL, min, max);
    assert_near(max[1], (0.5 + 0.25) * sqrt(0.5), 1e-6);
}

/// Sums over a fine lattice in one octant; all four shapes are the same in the other seven.
static void masses_match_sums_over_a_lattice(void **state)
{
    (void)state;
    const tarn_shape *shapes[] = {&box, &sphere, &capsule, &cylinder};
    const double cell = 0.01;
    for (int s = 0; s < 4; s++) {
        tarn_shape_mass mass;
        double volume = 0.0, second[3] = {0, 0, 0};
        assert_int_equal(tarn_shape_mass_get(shapes[s], NULL, &mass), TARN_OK);
        for (int i = 0; i < 110 * 110 * 110; i++) {
            const double p[3] = {(i % 110 + 0.5) * cell, (i / 110 % 110 + 0.5) * cell, (i / 12100 + 0.5) * cell};
            const double share = 0.5 - tarn_shape_distance_m(shapes[s], NULL, p) / cell;
            const double part = 8.0 * (share < 0.0 ? 0.0 : share > 1.0 ? 1.0 : share) * cell * cell * cell;
            volume += part;
            for (int a = 0; a < 3; a++) {
                second[a] += part * p[a] * p[a];
            }
        }
        assert_near(mass.volume_m3 / volume, 1.0, 5e-4);
        for (int a = 0; a < 3; a++) {
            const double wanted = second[(a + 1) % 3] + second[(a + 2) % 3];
            assert_near(mass.inertia_m5[a][a] / wanted, 1.0, 1e-3);
            assert_near(mass.center_m[a], 0.0, 1e-12);
        }
    }
}

/// A box, turned and off centre, sampled: its moments are those of the box, turned.
static void sampled_masses_match_analytic_ones(void **state)
{
    (void)state;
    const tarn_shape brick = {TARN_SHAPE_BOX, {0.4f, 0.25f, 0.6f}, 0, 0};
    const tarn_pose place = {{0.1f, -0.05f, 0.08f}, {0.1f, 0.7f, -0.3f, 0.6f}};
    const uint32_t n = 49;
    tarn_distance_field field = sample(&sphere, n, 1.0);
    for (uint32_t i = 0; i < n * n * n; i++) {
        double p[3] = {i % n * (2.0 / (n - 1)) - 1.0, i / n % n * (2.0 / (n - 1)) - 1.0,
                       i / (n * n) * (2.0 / (n - 1)) - 1.0};
        tarn_pose_to_shape(&place, p, p);
        field.distance_m[i] = (float)tarn_shape_distance_m(&brick, NULL, p);
    }
    tarn_shape_mass wanted, found;
    const tarn_shape sampled = {TARN_SHAPE_FIELD, {0.5f, 0.0f, 0.0f}, 0, 0}; // at half its size
    assert_int_equal(tarn_shape_mass_get(&brick, NULL, &wanted), TARN_OK);
    assert_int_equal(tarn_shape_mass_get(&sampled, &field, &found), TARN_OK);
    assert_near(8.0 * found.volume_m3 / wanted.volume_m3, 1.0, 0.01);
    for (int a = 0; a < 3; a++) {
        assert_near(2.0 * found.center_m[a], (double)place.position_m[a], 1e-3);
    }
    double m[3][3];
    tarn_pose_matrix(&place, m);
    const double unit = wanted.inertia_m5[0][0] / 32.0;
    for (int a = 0; a < 3; a++) {
        for (int b = 0; b < 3; b++) {
            double rotated = 0.0; // into the field's frame, from which a point is turned to the box's
            for (int k = 0; k < 3; k++) {
                rotated += m[a][k] * wanted.inertia_m5[k][k] * m[b][k] / 32.0;
            }
            assert_near(found.inertia_m5[a][b], rotated, 0.015 * unit);
        }
    }
    tarn_distance_field_free(&field);
}

static void masses_that_nothing_has_are_refused(void **state)
{
    (void)state;
    tarn_shape_mass mass;
    tarn_shape container = box;
    container.inverted = 1;
    assert_int_equal(tarn_shape_mass_get(&container, NULL, &mass), TARN_E_ARGUMENT);
    tarn_distance_field cut = sample(&sphere, 9, 0.4); // the sphere leaves the grid
    const tarn_shape sampled = {TARN_SHAPE_FIELD, {1.0f, 0.0f, 0.0f}, 0, 0};
    assert_int_equal(tarn_shape_mass_get(&sampled, &cut, &mass), TARN_E_ARGUMENT);
    for (int i = 0; i < 9 * 9 * 9; i++) {
        cut.distance_m[i] = 1.0f;
    }
    assert_int_equal(tarn_shape_mass_get(&sampled, &cut, &mass), TARN_E_ARGUMENT);
    tarn_distance_field_free(&cut);
}

static void wrong_shapes_are_refused_with_a_sentence(void **state)
{
    (void)state;
    float value[8] = {0};
    tarn_distance_field fields[2] = {{{2, 2, 2}, 1.0f, {0, 0, 0}, value, 0.0f},
                                     {{2, 1, 2}, 1.0f, {0, 0, 0}, value, 0.0f}};
    const struct {
        tarn_shape shape;
        const char *part;
    } cases[] = {
        {{TARN_SHAPE_COUNT, {1, 1, 1}, 0, 0}, "kind: found 5"},
        {{(tarn_shape_kind)-1, {1, 1, 1}, 0, 0}, "kind"},
        {{TARN_SHAPE_BOX, {1, 1, NAN}, 0, 0}, "half extent z of a box: found nan, allowed are 0.0001 to 10000"},
        {{TARN_SHAPE_BOX, {1, -1, 1}, 0, 0}, "half extent y of a box: found -1"},
        {{TARN_SHAPE_SPHERE, {0, 0, 0}, 0, 0}, "radius of a sphere: found 0"},
        {{TARN_SHAPE_CAPSULE, {1, INFINITY, 0}, 0, 0}, "half height of a capsule: found inf"},
        {{TARN_SHAPE_CYLINDER, {1e9f, 1, 0}, 0, 0}, "radius of a cylinder"},
        {{TARN_SHAPE_FIELD, {0, 0, 0}, 0, 0}, "scale of a field"},
        {{TARN_SHAPE_FIELD, {1, 0, 0}, 2, 0}, "field: found 2, allowed is less than 2"},
        {{TARN_SHAPE_FIELD, {1, 0, 0}, 1, 0}, "field 1: found no distances"},
        {{TARN_SHAPE_SPHERE, {1, 0, 0}, 0, 2}, "inverted: found 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char why[160] = "";
        assert_int_equal(tarn_shape_check(&cases[i].shape, fields, 2, why, sizeof why), TARN_E_ARGUMENT);
        if (strstr(why, cases[i].part) == NULL) {
            fail_msg("\"%s\" isn't in: %s", cases[i].part, why);
        }
        assert_int_equal(tarn_shape_check(&cases[i].shape, fields, 2, NULL, 0), TARN_E_ARGUMENT);
    }
    const tarn_shape sampled = {TARN_SHAPE_FIELD, {1.0f, 0.0f, 0.0f}, 0, 1};
    assert_int_equal(tarn_shape_check(&sampled, fields, 2, NULL, 0), TARN_OK);
    assert_int_equal(tarn_shape_check(&capsule, NULL, 0, NULL, 0), TARN_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(primitives_have_their_distances),
        cmocka_unit_test(distances_lead_to_the_surface),
        cmocka_unit_test(poses_turn_then_move),
        cmocka_unit_test(union_is_the_nearest_shape),
        cmocka_unit_test(fields_are_trilinear_and_go_on_outside),
        cmocka_unit_test(no_field_is_steeper_than_its_slope),
        cmocka_unit_test(bounds_are_tight),
        cmocka_unit_test(bounds_of_turned_primitives_are_exact),
        cmocka_unit_test(masses_match_sums_over_a_lattice),
        cmocka_unit_test(sampled_masses_match_analytic_ones),
        cmocka_unit_test(masses_that_nothing_has_are_refused),
        cmocka_unit_test(wrong_shapes_are_refused_with_a_sentence),
    };
    return cmocka_run_group_tests_name("shape", tests, NULL, NULL);
}
