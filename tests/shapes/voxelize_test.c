// Sampled meshes and heightfields against the distances that they should have, and what happens to damaged ones.
#include "server/scene/mesh.h"
#include "tests/shapes/shape_meshes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka.h needs the four headers above it.
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const tarn_pose at_origin = {{0, 0, 0}, {0, 0, 0, 1}};
static const double origin[3] = {0, 0, 0};

typedef double (*distance_function)(const void *what, const double point_m[3]);

static double ball_distance(const void *what, const double p[3])
{
    return sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]) - *(const double *)what;
}

/// what: ring, tube
static double torus_distance(const void *what, const double p[3])
{
    const double *size = what, out = sqrt(p[0] * p[0] + p[2] * p[2]) - size[0];
    return sqrt(out * out + p[1] * p[1]) - size[1];
}

typedef struct placed_box {
    tarn_shape shape;
    tarn_pose pose;
} placed_box;

static double placed_box_distance(const void *what, const double p[3])
{
    const placed_box *box = what;
    return tarn_shapes_distance_m(&box->shape, &box->pose, 1, NULL, p, NULL);
}

static tarn_distance_field voxelize(const tarn_mesh *mesh, uint32_t nodes, uint32_t margin)
{
    tarn_distance_field field = {.distance_m = NULL};
    char why[TARN_VOXELIZE_WHY_BYTES] = "";
    const float spacing = tarn_voxelize_spacing_m(mesh, nodes, margin);
    if (tarn_voxelize_mesh(mesh, spacing, margin, &field, why, sizeof why) != TARN_OK) {
        fail_msg("%s", why);
    }
    return field;
}

static void node_place(const tarn_distance_field *field, size_t i, double point_m[3])
{
    const size_t nx = field->nodes[0], ny = field->nodes[1], node[3] = {i % nx, i / nx % ny, i / (nx * ny)};
    for (int a = 0; a < 3; a++) {
        point_m[a] = (double)field->min_m[a] + (double)field->spacing_m * (double)node[a];
    }
}

static size_t node_count(const tarn_distance_field *field)
{
    return (size_t)field->nodes[0] * field->nodes[1] * field->nodes[2];
}

/// A mesh is as thick as it is in the thinner parts of its surface, also where no node of the field lies in a wall.
static void test_a_mesh_is_as_thick_as_its_walls(void **state)
{
    (void)state;
    const float outer[3] = {0.5f, 0.5f, 0.5f}, inner[3] = {0.49f, 0.4f, 0.49f}, slab[3] = {0.5f, 0.02f, 0.5f};
    const tarn_pose still = {{0, 0, 0}, {0, 0, 0, 1}}, turned = {{0, 0, 0}, {0.2f, 0.3f, 0.1f, 0.9f}};
    tarn_mesh mesh = {0};
    add_box(&mesh, outer, &still);
    tarn_distance_field field = voxelize(&mesh, 20, 2);
    assert_float_equal(field.thin_m, 1.0, 1e-5);
    tarn_distance_field_free(&field);
    const uint32_t from = mesh.triangle_count; // a cavity: walls of 0.01, a foot and a lid of 0.1
    add_box(&mesh, inner, &still);
    flip_triangles(&mesh, from, mesh.triangle_count);
    field = voxelize(&mesh, 20, 2);
    assert_float_equal(field.thin_m, 0.01, 1e-5);
    tarn_distance_field_free(&field);
    free_mesh(&mesh);
    mesh = (tarn_mesh){0};
    add_box(&mesh, slab, &turned);
    field = voxelize(&mesh, 40, 2);
    assert_float_equal(field.thin_m, 0.04, 1e-4);
    tarn_distance_field_free(&field);
    free_mesh(&mesh);
    mesh = (tarn_mesh){0};
    add_ball(&mesh, (const double[3]){0, 0, 0}, 0.5, 12);
    field = voxelize(&mesh, 20, 2);
    assert_float_equal(field.thin_m, 0.98, 0.02);
    tarn_distance_field_free(&field);
    free_mesh(&mesh);
}

enum { FLAT, ROUND }; // a mesh that is the solid itself, or one with facets

/// Errors are counted in cells; a wrong sign counts in full. Facets lie up to 0.02 cells too deep, and far from the
/// surface the distance may be to a neighbour of the nearest facet.
static void expect_field(const tarn_distance_field *field, distance_function wanted, const void *what, int surface)
{
    for (size_t i = 0; i < node_count(field); i++) {
        double p[3];
        node_place(field, i, p);
        const double distance = wanted(what, p), spacing = (double)field->spacing_m;
        const double error = fabs((double)field->distance_m[i] - distance) / spacing;
        const double allowed = surface == FLAT ? 1e-4 : fabs(distance) <= TARN_VOXELIZE_BAND * spacing ? 0.03 : 0.1;
        if (!(error <= allowed)) {
            fail_msg("node %zu at %g %g %g: found %g, wanted %g: %g cells off, allowed are %g", i, p[0], p[1], p[2],
                     (double)field->distance_m[i], distance, error, allowed);
        }
    }
}

static void expect_mesh(const tarn_mesh *mesh, uint32_t nodes, distance_function wanted, const void *what)
{
    tarn_distance_field field = voxelize(mesh, nodes, 3);
    expect_field(&field, wanted, what, ROUND);
    tarn_distance_field_free(&field);
}

static void balls_and_tori_have_their_distances(void **state)
{
    (void)state;
    const double radius = 0.3, torus[2] = {0.4, 0.15};
    tarn_mesh mesh = {.vertex_count = 0};
    add_ball(&mesh, origin, radius, 100);
    expect_mesh(&mesh, 48, ball_distance, &radius);
    free_mesh(&mesh);
    add_torus(&mesh, torus[0], torus[1], 100);
    expect_mesh(&mesh, 64, torus_distance, torus);
    free_mesh(&mesh);
}

/// A box has corners and edges, and in a grid along its axes all of the grid's lines meet edges or run in faces.
static void boxes_have_their_distances(void **state)
{
    (void)state;
    const float half[3] = {0.5f, 0.25f, 0.375f};
    const tarn_pose poses[] = {at_origin, {{0.1f, 0.2f, 0.3f}, {0.1f, 0.7f, -0.3f, 0.6f}}};
    for (int q = 0; q < 2; q++) {
        for (int fine = 0; fine < 2; fine++) {
            const placed_box box = {{TARN_SHAPE_BOX, {half[0], half[1], half[2]}, 0, 0}, poses[q]};
            tarn_distance_field field = {.distance_m = NULL};
            tarn_mesh mesh = {.vertex_count = 0};
            add_box(&mesh, half, &poses[q]);
            // 1/16 divides the box: nodes lie on its faces, edges and corners.
            const float spacing = fine ? 0.03f : 0.0625f;
            assert_int_equal(tarn_voxelize_mesh(&mesh, spacing, 4, &field, NULL, 0), TARN_OK);
            expect_field(&field, placed_box_distance, &box, FLAT);
            tarn_distance_field_free(&field);
            free_mesh(&mesh);
        }
    }
}

static void orientation_may_be_either(void **state)
{
    (void)state;
    const double radius = 0.3;
    tarn_mesh mesh = {.vertex_count = 0};
    add_ball(&mesh, origin, radius, 60);
    flip_triangles(&mesh, 0, mesh.triangle_count);
    expect_mesh(&mesh, 32, ball_distance, &radius);
    free_mesh(&mesh);
}

static double two_balls_distance(const void *what, const double p[3])
{
    const double *offset = what;
    double least = INFINITY;
    for (int side = -1; side <= 1; side += 2) {
        const double from[3] = {p[0] - side * *offset, p[1], p[2]};
        const double radius = 0.3, distance = ball_distance(&radius, from);
        least = distance < least ? distance : least;
    }
    return least;
}

/// Within parts that overlap the surface of one lies inside the other: the distance there is to it, but the sign holds.
static void overlapping_parts_are_one_solid(void **state)
{
    (void)state;
    const double offset = 0.12, left[3] = {-offset, 0, 0}, right[3] = {offset, 0, 0};
    tarn_mesh mesh = {.vertex_count = 0};
    add_ball(&mesh, left, 0.3, 60);
    add_ball(&mesh, right, 0.3, 60);
    tarn_distance_field field = voxelize(&mesh, 40, 3);
    for (size_t i = 0; i < node_count(&field); i++) {
        double p[3];
        node_place(&field, i, p);
        const double wanted = two_balls_distance(&offset, p);
        if (fabs(wanted) > 0.002) {
            assert_true((field.distance_m[i] < 0.0f) == (wanted < 0.0));
        }
        if (wanted > 0.0) {
            assert_true(fabs((double)field.distance_m[i] - wanted) < 0.002);
        }
    }
    tarn_distance_field_free(&field);
    free_mesh(&mesh);
}

static double shell_distance(const void *what, const double p[3])
{
    const double *radii = what, outer = ball_distance(&radii[0], p), inner = -ball_distance(&radii[1], p);
    return outer > inner ? outer : inner;
}

static void inner_surfaces_make_cavities(void **state)
{
    (void)state;
    const double radii[2] = {0.3, 0.15};
    tarn_mesh mesh = {.vertex_count = 0};
    add_ball(&mesh, origin, radii[0], 60);
    const uint32_t outer = mesh.triangle_count;
    add_ball(&mesh, origin, radii[1], 60);
    flip_triangles(&mesh, outer, mesh.triangle_count);
    expect_mesh(&mesh, 40, shell_distance, radii);
    free_mesh(&mesh);
}

/// Holes of one triangle, triangles that look the wrong way, and triangles without area: no sign may change.
static void small_defects_do_no_harm(void **state)
{
    (void)state;
    const double radius = 0.3;
    tarn_mesh mesh = {.vertex_count = 0};
    add_ball(&mesh, origin, radius, 60);
    for (uint32_t t = 300; t < mesh.triangle_count; t += 700) {
        flip_triangles(&mesh, t, t + 1);
        memmove(mesh.triangles + 3 * (size_t)(t + 350), mesh.triangles + 3 * (size_t)(t + 351),
                3 * sizeof(uint32_t) * (mesh.triangle_count - (t + 351)));
        mesh.triangle_count--;
    }
    add_triangle(&mesh, 5, 5, 9);
    add_triangle(&mesh, 7, 7, 7);
    add_triangle(&mesh, 100, 101, 100);
    tarn_distance_field field = voxelize(&mesh, 40, 3);
    for (size_t i = 0; i < node_count(&field); i++) {
        double p[3];
        node_place(&field, i, p);
        const double wanted = ball_distance(&radius, p), found = (double)field.distance_m[i];
        assert_true(fabs(fabs(found) - fabs(wanted)) < 0.6 * (double)field.spacing_m); // in a hole its rim is nearest
        if (fabs(wanted) > 0.05 * (double)field.spacing_m) {
            assert_true((found < 0.0) == (wanted < 0.0));
        }
    }
    tarn_distance_field_free(&field);
    free_mesh(&mesh);
}

/// A triangle without area that sticks out of a ball: distances are to it too, but nothing of it is inside.
static void triangles_without_area_are_segments(void **state)
{
    (void)state;
    tarn_mesh mesh = {.vertex_count = 0};
    add_ball(&mesh, origin, 0.3, 30);
    const uint32_t root = mesh.vertex_count;
    add_vertex(&mesh, 0.3, 0.0, 0.0);
    add_vertex(&mesh, 0.5, 0.0, 0.0);
    add_triangle(&mesh, root, root, root + 1);
    tarn_distance_field field = voxelize(&mesh, 48, 3);
    for (size_t i = 0; i < node_count(&field); i++) {
        double p[3];
        node_place(&field, i, p);
        const double side = sqrt(p[1] * p[1] + p[2] * p[2]);
        if (p[0] > 0.42 && p[0] < 0.5 && side < 0.03) {
            assert_true(fabs((double)field.distance_m[i] - side) < 1e-6);
        }
    }
    tarn_distance_field_free(&field);
    free_mesh(&mesh);
}

static void expect_refusal(const tarn_mesh *mesh, float spacing, uint32_t margin, tarn_status status, const char *part)
{
    tarn_distance_field field = {.nodes = {7, 7, 7}};
    char why[TARN_VOXELIZE_WHY_BYTES] = "";
    const tarn_status found = tarn_voxelize_mesh(mesh, spacing, margin, &field, why, sizeof why);
    if (found != status || strstr(why, part) == NULL) {
        fail_msg("answered with %s: \"%s\", wanted %s with \"%s\"", tarn_status_name(found), why,
                 tarn_status_name(status), part);
    }
    assert_int_equal(tarn_voxelize_mesh(mesh, spacing, margin, &field, NULL, 0), status);
    assert_null(field.distance_m);
    assert_int_equal(field.nodes[0], 7);
}

static void open_meshes_are_refused(void **state)
{
    (void)state;
    const float half[3] = {0.5f, 0.25f, 0.375f};
    tarn_mesh mesh = {.vertex_count = 0};
    add_box(&mesh, half, &at_origin);
    mesh.triangle_count -= 2;
    expect_refusal(&mesh, 0.05f, 2, TARN_E_MALFORMED, "the mesh isn't closed");
    mesh.triangle_count = 2;
    expect_refusal(&mesh, 0.05f, 2, TARN_E_MALFORMED, "the mesh");
    mesh.triangle_count = 12;
    expect_refusal(&mesh, 0.9f, 1, TARN_E_MALFORMED, "holds no node");
    free_mesh(&mesh);
}

static void wrong_meshes_and_numbers_are_refused(void **state)
{
    (void)state;
    const float half[3] = {0.5f, 0.25f, 0.375f};
    tarn_mesh mesh = {.vertex_count = 0};
    add_box(&mesh, half, &at_origin);
    expect_refusal(&mesh, NAN, 2, TARN_E_ARGUMENT, "spacing: found nan m, allowed are 1e-05 to 10000 m");
    expect_refusal(&mesh, 0.0f, 2, TARN_E_ARGUMENT, "spacing");
    expect_refusal(&mesh, 0.1f, 0, TARN_E_ARGUMENT, "margin: found 0 cells, allowed are 1 to 64");
    expect_refusal(&mesh, 0.1f, 65, TARN_E_ARGUMENT, "margin");
    expect_refusal(&mesh, 0.001f, 2, TARN_E_LIMIT, "1005 x 505 x 755 nodes");
    mesh.triangles[7] = 8;
    expect_refusal(&mesh, 0.1f, 2, TARN_E_MALFORMED, "triangle 2: found vertex 8, allowed are 0 to 7");
    mesh.triangles[7] = 0;
    mesh.vertices_m[4] = NAN;
    expect_refusal(&mesh, 0.1f, 2, TARN_E_MALFORMED, "vertex 1: found nan for y");
    mesh.vertices_m[4] = 2e5f;
    expect_refusal(&mesh, 0.1f, 2, TARN_E_MALFORMED, "vertex 1: found 200000 for y");
    mesh.vertices_m[4] = 0.0f;
    const tarn_mesh empty = {8, 0, mesh.vertices_m, mesh.triangles};
    expect_refusal(&empty, 0.1f, 2, TARN_E_LIMIT, "found 0 triangles");
    const tarn_mesh large = {8, TARN_MESH_TRIANGLES_MAX + 1, mesh.vertices_m, mesh.triangles};
    expect_refusal(&large, 0.1f, 2, TARN_E_LIMIT, "found 1048577 triangles");
    const tarn_mesh many = {TARN_MESH_VERTICES_MAX + 1, 12, mesh.vertices_m, mesh.triangles};
    expect_refusal(&many, 0.1f, 2, TARN_E_LIMIT, "vertices");
    assert_true(tarn_voxelize_spacing_m(&mesh, 5, 2) == 0.0f);
    assert_true(tarn_voxelize_spacing_m(&empty, 64, 2) == 0.0f);
    // As large as the grid, so many times that it would take more than some seconds.
    mesh.vertex_count = 0;
    mesh.triangle_count = 0;
    add_box(&mesh, half, &at_origin);
    for (int i = 0; i < 400; i++) {
        add_triangle(&mesh, 0, 3, 6);
    }
    expect_refusal(&mesh, 0.0045f, 2, TARN_E_LIMIT, "too many large triangles");
    free_mesh(&mesh);
}

/// The longest side gets the number of nodes that was asked for.
static void spacing_gives_the_nodes_asked_for(void **state)
{
    (void)state;
    const float half[3] = {0.5f, 0.25f, 0.375f};
    tarn_mesh mesh = {.vertex_count = 0};
    add_box(&mesh, half, &at_origin);
    for (uint32_t nodes = 12; nodes <= 100; nodes += 11) {
        tarn_distance_field field = voxelize(&mesh, nodes, 3);
        assert_int_equal(field.nodes[0], nodes);
        assert_true(field.nodes[1] < nodes && field.nodes[2] < nodes);
        for (int a = 0; a < 3; a++) {
            assert_true(field.min_m[a] <= -half[a] - 2.99f * field.spacing_m);
        }
        tarn_distance_field_free(&field);
    }
    free_mesh(&mesh);
}

static tarn_mesh read_duck(void)
{
    tarn_mesh duck = {.vertex_count = 0};
    char why[TARN_MESH_FILE_WHY_BYTES] = "";
    if (tarn_mesh_file_read(TARN_SCENES_FOLDER "/duck.obj", &duck, why, sizeof why) != TARN_OK) {
        fail_msg("%s", why);
    }
    return duck;
}

static void duck_has_its_size_and_volume(void **state)
{
    (void)state;
    tarn_mesh duck = read_duck();
    tarn_distance_field field = voxelize(&duck, 64, 3);
    const tarn_shape shape = {TARN_SHAPE_FIELD, {1.0f, 0.0f, 0.0f}, 0, 0};
    double center[3], min[3], max[3];
    const double volume = mesh_volume_m3(&duck, center);
    tarn_shape_mass mass;
    assert_int_equal(tarn_shape_mass_get(&shape, &field, &mass), TARN_OK);
    assert_true(fabs(mass.volume_m3 / volume - 1.0) < 0.005);
    for (int a = 0; a < 3; a++) {
        assert_true(fabs(mass.center_m[a] - center[a]) < 1e-4);
    }
    tarn_shape_bounds_m(&shape, &at_origin, &field, min, max);
    assert_true(fabs(max[0] - min[0] - 0.2) < 3.0 * (double)field.spacing_m);
    for (int a = 0; a < 3; a++) { // centred at the centre of its bounds
        assert_true(fabs(max[a] + min[a]) < 1.5 * (double)field.spacing_m);
    }
    // It faces +x: the beak and the head are at the upper right, the tail at the left and lower than the head.
    const double head[3] = {0.03, 0.04, 0.0}, no_head[3] = {-0.05, 0.05, 0.0};
    assert_true(tarn_shape_distance_m(&shape, &field, head) < -0.01);
    assert_true(tarn_shape_distance_m(&shape, &field, no_head) > 0.01);
    tarn_distance_field_free(&field);
    free_mesh(&duck);
}

/// A distance changes by a step at most as long as the way; with a wrong sign or a bad sweep it would jump.
static void distances_change_no_faster_than_the_place(void **state)
{
    (void)state;
    tarn_mesh duck = read_duck();
    tarn_distance_field field = voxelize(&duck, 72, 8);
    const size_t nx = field.nodes[0], nxy = nx * field.nodes[1], stride[3] = {1, nx, nxy};
    for (size_t i = 0; i < node_count(&field); i++) {
        const size_t node[3] = {i % nx, i / nx % field.nodes[1], i / nxy};
        for (int a = 0; a < 3; a++) {
            if (node[a] + 1 < field.nodes[a]) {
                assert_true(fabsf(field.distance_m[i + stride[a]] - field.distance_m[i]) <= 1.001f * field.spacing_m);
            }
        }
    }
    tarn_distance_field_free(&field);
    free_mesh(&duck);
}

/// Pinned: the same on every machine and in every build.
static void bits_of_a_field_are_pinned(void **state)
{
    (void)state;
    tarn_mesh duck = read_duck();
    tarn_distance_field field = voxelize(&duck, 40, 3);
    uint64_t hash = 0xcbf29ce484222325ull; // FNV-1a over words
    for (size_t i = 0; i < node_count(&field); i++) {
        uint32_t bits;
        memcpy(&bits, &field.distance_m[i], sizeof bits);
        hash = (hash ^ bits) * 0x100000001b3ull;
    }
    if (hash != 0xd7f176b9a06811c3ull) {
        fail_msg("found %016llx", (unsigned long long)hash);
    }
    tarn_distance_field_free(&field);
    free_mesh(&duck);
}

/// As large as the bunny that everyone measures with. Prints the time; nothing depends on it.
static void large_meshes_work(void **state)
{
    (void)state;
    const double torus[2] = {0.4, 0.15};
    tarn_mesh mesh = {.vertex_count = 0};
    add_torus(&mesh, torus[0], torus[1], 132);
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    tarn_distance_field field = voxelize(&mesh, 64, 3);
    clock_gettime(CLOCK_MONOTONIC, &end);
    print_message("%u triangles on %u x %u x %u nodes: %.2f s\n", mesh.triangle_count, field.nodes[0], field.nodes[1],
                  field.nodes[2], (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec));
    expect_field(&field, torus_distance, torus, ROUND);
    tarn_distance_field_free(&field);
    free_mesh(&mesh);
}

// ---- heightfields ----

static tarn_height_map make_heights(uint32_t columns, uint32_t rows, float spacing_m, float base_m, float slope_x,
                                    float slope_z)
{
    tarn_height_map map = {columns, rows, spacing_m, malloc((size_t)columns * rows * sizeof(float))};
    assert_non_null(map.heights_m);
    for (uint32_t i = 0; i < columns * rows; i++) {
        map.heights_m[i] =
            base_m + slope_x * (float)(i % columns) * spacing_m + slope_z * (float)(i / columns) * spacing_m;
    }
    return map;
}

static double slope_distance(const void *what, const double p[3])
{
    const double *plane = what; // height at the origin, slopes along x and z
    return (p[1] - plane[0] - plane[1] * p[0] - plane[2] * p[2]) /
           sqrt(1.0 + plane[1] * plane[1] + plane[2] * plane[2]);
}

static void level_ground_has_its_distances(void **state)
{
    (void)state;
    const double plane[3] = {0.5, 0.0, 0.0};
    tarn_height_map map = make_heights(21, 11, 0.1f, 0.5f, 0.0f, 0.0f);
    tarn_distance_field field = {.distance_m = NULL};
    assert_int_equal(tarn_voxelize_heights(&map, 0.0f, 0.07f, 4, &field, NULL, 0), TARN_OK);
    // The rectangle is 2 x 1 m, the grid less than a cell more.
    assert_int_equal(field.nodes[0], 30);
    assert_int_equal(field.nodes[2], 16);
    expect_field(&field, slope_distance, plane, FLAT);
    tarn_distance_field_free(&field);
    tarn_height_map_free(&map);
}

/// On a slope all is right but where the level ground beside the rectangle is nearer.
static void sloping_ground_has_its_distances(void **state)
{
    (void)state;
    const double plane[3] = {0.8, 0.25, -0.5};
    tarn_height_map map = make_heights(41, 21, 0.1f, 0.8f - 2.0f * 0.25f + 1.0f * 0.5f, 0.25f, -0.5f);
    tarn_distance_field field = {.distance_m = NULL};
    assert_int_equal(tarn_voxelize_heights(&map, -0.3f, 0.05f, 8, &field, NULL, 0), TARN_OK);
    size_t compared = 0;
    for (size_t i = 0; i < node_count(&field); i++) {
        double p[3];
        node_place(&field, i, p);
        const double wanted = slope_distance(plane, p), found = (double)field.distance_m[i];
        if (fabs(p[0]) < 2.0 && fabs(p[2]) < 1.0) {
            assert_true((found < 0.0) == (wanted < 0.0) || fabs(wanted) < 1e-6);
        }
        if (fabs(p[0]) + 0.25 * fabs(wanted) > 1.99 || fabs(p[2]) + 0.5 * fabs(wanted) > 0.99) {
            continue; // its nearest point lies beside the rectangle
        }
        assert_true(fabs(found - wanted) < (fabs(wanted) < 0.1 ? 1e-4 : 0.1) * 0.05);
        compared++;
    }
    assert_true(compared > node_count(&field) / 4);
    tarn_distance_field_free(&field);
    tarn_height_map_free(&map);
}

static void wrong_heights_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t columns, rows;
        float spacing_m, height_m, bottom_m;
        tarn_status status;
        const char *part;
    } cases[] = {
        {1, 4, 0.1f, 1.0f, 0.0f, TARN_E_LIMIT, "found 1 x 4 heights, allowed are 2 to 512"},
        {4, 513, 0.1f, 1.0f, 0.0f, TARN_E_LIMIT, "found 4 x 513 heights"},
        {4, 4, NAN, 1.0f, 0.0f, TARN_E_ARGUMENT, "spacing of the heights: found nan"},
        {4, 4, 0.1f, NAN, 0.0f, TARN_E_MALFORMED, "height in row 0, column 0: found nan m"},
        {4, 4, 0.1f, 1.0f, 1.0f, TARN_E_MALFORMED, "allowed are more than the bottom, 1, up to"},
        {4, 4, 0.1f, 1.0f, INFINITY, TARN_E_ARGUMENT, "bottom: found inf"},
        {4, 4, 100.0f, 1.0f, 0.0f, TARN_E_LIMIT, "nodes with a spacing of 0.05 m"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tarn_height_map map =
            make_heights(cases[i].columns, cases[i].rows, cases[i].spacing_m, cases[i].height_m, 0.0f, 0.0f);
        map.heights_m[0] = cases[i].height_m;
        tarn_distance_field field = {.distance_m = NULL};
        char why[TARN_VOXELIZE_WHY_BYTES] = "";
        const tarn_status found = tarn_voxelize_heights(&map, cases[i].bottom_m, 0.05f, 2, &field, why, sizeof why);
        if (found != cases[i].status || strstr(why, cases[i].part) == NULL) {
            fail_msg("case %zu: %s: %s", i, tarn_status_name(found), why);
        }
        assert_null(field.distance_m);
        tarn_height_map_free(&map);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_mesh_is_as_thick_as_its_walls),
        cmocka_unit_test(balls_and_tori_have_their_distances),
        cmocka_unit_test(boxes_have_their_distances),
        cmocka_unit_test(orientation_may_be_either),
        cmocka_unit_test(overlapping_parts_are_one_solid),
        cmocka_unit_test(inner_surfaces_make_cavities),
        cmocka_unit_test(small_defects_do_no_harm),
        cmocka_unit_test(triangles_without_area_are_segments),
        cmocka_unit_test(open_meshes_are_refused),
        cmocka_unit_test(wrong_meshes_and_numbers_are_refused),
        cmocka_unit_test(spacing_gives_the_nodes_asked_for),
        cmocka_unit_test(duck_has_its_size_and_volume),
        cmocka_unit_test(distances_change_no_faster_than_the_place),
        cmocka_unit_test(bits_of_a_field_are_pinned),
        cmocka_unit_test(large_meshes_work),
        cmocka_unit_test(level_ground_has_its_distances),
        cmocka_unit_test(sloping_ground_has_its_distances),
        cmocka_unit_test(wrong_heights_are_refused),
    };
    return cmocka_run_group_tests_name("voxelize", tests, NULL, NULL);
}
