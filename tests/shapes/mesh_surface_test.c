// Polygons become triangles that cover them once, and triangles that face every which way are turned back; what can't
// be is named.
#include "server/scene/mesh.h"
#include "tests/shapes/mesh_expect.h"
#include "tests/shapes/shape_meshes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka.h needs the four headers above it.
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static void measure(const tarn_mesh *mesh, double *area, double *volume)
{
    *area = *volume = 0.0;
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        double c[3][3], normal[3], square = 0.0;
        for (size_t i = 0; i < 3; i++) {
            for (size_t k = 0; k < 3; k++) {
                c[i][k] = (double)mesh->vertices_m[3 * (size_t)mesh->triangles[3 * (size_t)t + i] + k];
            }
        }
        for (int k = 0; k < 3; k++) {
            const int u = (k + 1) % 3, v = (k + 2) % 3;
            normal[k] = (c[1][u] - c[0][u]) * (c[2][v] - c[0][v]) - (c[1][v] - c[0][v]) * (c[2][u] - c[0][u]);
            square += normal[k] * normal[k];
            *volume += normal[k] * c[0][k] / 6.0;
        }
        *area += 0.5 * sqrt(square);
    }
}

static void expect_measures(const tarn_mesh *mesh, const char *name, double area, double volume)
{
    double found_area, found_volume;
    measure(mesh, &found_area, &found_volume);
    if (!(fabs(found_area - area) <= 1e-5 * area) || !(fabs(found_volume - volume) <= 1e-5 * fabs(volume) + 1e-9)) {
        fail_msg("%s has the area %.9g and the volume %.9g instead of %.9g and %.9g", name, found_area, found_volume,
                 area, volume);
    }
}

// ---- files ----

static void files_are_read_as_their_table_says(void **state)
{
    (void)state;
    char line[256], path[512], name[64], why[TARN_MESH_FILE_WHY_BYTES];
    int count = 0;
    FILE *cases = fopen(TARN_MESHES_FOLDER "/cases.txt", "r");
    assert_non_null(cases);
    while (fgets(line, sizeof line, cases) != NULL) {
        unsigned triangles;
        double area, volume;
        tarn_mesh mesh;
        tarn_mesh_surface found;
        if (sscanf(line, "%63s %u %lf %lf", name, &triangles, &area, &volume) != 4) {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", TARN_MESHES_FOLDER, name);
        if (tarn_mesh_file_read(path, &mesh, why, sizeof why) != TARN_OK) {
            fail_msg("%s", why);
        }
        assert_int_equal(tarn_mesh_face_one_way(&mesh, &found), TARN_OK);
        assert_int_equal(mesh.triangle_count, triangles);
        assert_int_equal(found.open_edges + found.crowded_edges + found.one_sided, 0);
        assert_int_equal(found.turned, strcmp(name, "turned.obj") == 0 ? 11 : 0);
        expect_measures(&mesh, name, area, volume);
        tarn_mesh_free(&mesh);
        count++;
    }
    fclose(cases);
    assert_int_equal(count, 7);
}

// ---- polygons ----

/// A flat OBJ of one face, whose corners are `count` pairs, at z = x / 2.
static char *write_face(const double *pairs, uint32_t count)
{
    char *text = malloc(64 * (size_t)count + 64), *at = text;
    assert_non_null(text);
    for (uint32_t i = 0; i < count; i++) {
        at +=
            sprintf(at, "v %.9g %.9g %.9g\n", pairs[2 * (size_t)i], pairs[2 * (size_t)i + 1], pairs[2 * (size_t)i] / 2);
    }
    at = stpcpy(at, "f");
    for (uint32_t i = 1; i <= count; i++) {
        at += sprintf(at, " %u", i);
    }
    return text;
}

static double pairs_area(const double *pairs, uint32_t count)
{
    double twice = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        const double *a = pairs + 2 * (size_t)i, *b = pairs + 2 * (size_t)((i + 1) % count);
        twice += a[0] * b[1] - a[1] * b[0];
    }
    return 0.5 * fabs(twice);
}

static void expect_covered(const double *pairs, uint32_t count)
{
    char *text = write_face(pairs, count);
    tarn_mesh mesh = mesh_expect_read(TARN_MESH_FORMAT_OBJ, text, strlen(text));
    const double area = pairs_area(pairs, count) * sqrt(1.25), *first = pairs;
    double found, unused;
    measure(&mesh, &found, &unused);
    assert_int_equal(mesh.triangle_count, count - 2);
    if (!(fabs(found - area) <= 1e-5 * area)) {
        fail_msg("%u corners from %g, %g cover %.9g instead of %.9g", count, first[0], first[1], found, area);
    }
    tarn_mesh_free(&mesh);
    free(text);
}

/// Both ways round, from each of their corners.
static void polygons_are_covered_once(void **state)
{
    (void)state;
    static const double arrow[] = {0, 0, 4, 0, 1, 1, 0, 4}, dart[] = {0, 0, 2, 1, 4, 0, 2, 3},
                        flats[] = {0, 0, 1, 0, 2, 0, 3, 0, 3, 3, 2, 3, 1, 3, 0, 3, 0, 1},
                        spike[] = {0, 0, 4, 0, 4, 2, 2, 2, 2, 5, 2, 2, 0, 2}, // out and back on one line
        twice[] = {0, 0, 4, 0, 4, 0, 1, 1, 1, 1, 0, 4, 0, 0},                 // corners that are there twice
        keyhole[] = {0, 0, 6, 0, 6, 6, 0, 6, 0, 0, 1, 1, 1, 2, 2, 2, 2, 1, 1, 1};
    static const struct {
        const double *pairs;
        uint32_t count;
    } cases[] = {{arrow, 4}, {dart, 4}, {flats, 9}, {spike, 7}, {keyhole, 10}};
    double turned[2 * 16];
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const uint32_t count = cases[i].count;
        for (uint32_t from = 0; from < 2 * count; from++) {
            for (uint32_t k = 0; k < count; k++) {
                const uint32_t at = from < count ? (from + k) % count : (from - k) % count;
                memcpy(turned + 2 * (size_t)k, cases[i].pairs + 2 * (size_t)at, 2 * sizeof *turned);
            }
            expect_covered(turned, count);
        }
    }
    char *text = write_face(twice, 7);
    tarn_mesh mesh = mesh_expect_read(TARN_MESH_FORMAT_OBJ, text, strlen(text));
    assert_int_equal(mesh.triangle_count, 2);
    tarn_mesh_free(&mesh);
    free(text);
}

/// Stars of random rays, and spirals, which have no fan.
static void large_polygons_are_covered_once(void **state)
{
    (void)state;
    enum { CORNERS = 400 };
    static double pairs[2 * CORNERS];
    uint64_t random = 7;
    for (int round = 0; round < 40; round++) {
        for (uint32_t i = 0; i < CORNERS; i++) {
            random = random * 6364136223846793005ull + 1442695040888963407ull;
            const double radius = round % 2 == 0 ? 0.05 + (double)(random >> 40) / (1 << 24) : i % 2 == 0 ? 1.0 : 0.9;
            const double turn = 2.0 * acos(-1.0) * i / CORNERS;
            pairs[2 * (size_t)i] = radius * cos(turn);
            pairs[2 * (size_t)i + 1] = radius * sin(turn);
        }
        expect_covered(pairs, CORNERS);
    }
    for (uint32_t i = 0; i < CORNERS; i++) { // in along one wall and out along the other
        const uint32_t k = i < CORNERS / 2 ? i : CORNERS - 1 - i;
        const double turn = 0.1 * k, radius = (i < CORNERS / 2 ? 1.0 : 0.97) * (1.0 + 0.02 * k);
        pairs[2 * (size_t)i] = radius * cos(turn);
        pairs[2 * (size_t)i + 1] = radius * sin(turn);
    }
    expect_covered(pairs, CORNERS);
}

static void polygons_that_cannot_be_cut_are_refused(void **state)
{
    (void)state;
    static const double bow[] = {0, 0, 2, 2, 2, 0, 0, 2}, uneven[] = {0, 0, 3, 3, 3, 0, 0, 2},
                        pentagram[] = {0, 3, 2, -2, -3, 1, 3, 1, -2, -2},
                        round_twice[] = {0, 0, 3, 0, 1, 3, 0, 0.1, 3.1, 0, 1, 3.1};
    static const struct {
        const double *pairs;
        uint32_t count;
    } cases[] = {{bow, 4}, {uneven, 4}, {pentagram, 5}, {round_twice, 6}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        char *text = write_face(cases[i].pairs, cases[i].count);
        mesh_expect_refusal(TARN_MESH_FORMAT_OBJ, text, strlen(text), TARN_E_MALFORMED, "face 1 of the file: found ");
        free(text);
    }
    // A line has no inside, and does no harm.
    static const double line[] = {0, 0, 1, 1, 3, 3, 2, 2};
    char *text = write_face(line, 4);
    tarn_mesh mesh = mesh_expect_read(TARN_MESH_FORMAT_OBJ, text, strlen(text));
    assert_int_equal(mesh.triangle_count, 2);
    tarn_mesh_free(&mesh);
    free(text);
}

/// A comb has as many corners that turn inwards as others, and as many ears that are none.
static double *make_comb(uint32_t teeth)
{
    double *pairs = malloc(8 * (size_t)teeth * sizeof *pairs), *at = pairs;
    assert_non_null(pairs);
    for (uint32_t i = 0; i < teeth; i++) {
        const double corners[] = {3.0 * i, 0.0, 3.0 * i + 1.0, 5.0, 3.0 * i + 2.0, 0.0};
        memcpy(at, corners, sizeof corners);
        at += 6;
    }
    const double end[] = {3.0 * teeth, -1.0, 0.0, -1.0};
    memcpy(at, end, sizeof end);
    return pairs;
}

static void polygons_have_limits(void **state)
{
    (void)state;
    const uint32_t teeth = TARN_MESH_CORNERS_MAX / 3;
    double *pairs = make_comb(teeth);
    expect_covered(pairs, 3 * teeth + 1);
    char *text = write_face(pairs, 3 * teeth + 2), *many, *at;
    mesh_expect_refusal(TARN_MESH_FORMAT_OBJ, text, strlen(text), TARN_E_LIMIT,
                        "found more than 16384 corners of a face, allowed are 16384");
    free(text);
    // Sixty such are more than what all together may take.
    text = write_face(pairs, 3 * teeth + 1);
    const char *face = strstr(text, "\nf");
    at = many = malloc(strlen(text) + 60 * strlen(face) + 1);
    assert_non_null(many);
    at = stpcpy(at, text);
    for (int i = 0; i < 60; i++) {
        at = stpcpy(at, face);
    }
    mesh_expect_refusal(TARN_MESH_FORMAT_OBJ, many, strlen(many), TARN_E_LIMIT,
                        "found too many faces with too many corners that turn inwards");
    free(many);
    free(text);
    free(pairs);
}

// ---- which way triangles face ----

static void turn_some(tarn_mesh *mesh, uint32_t one_in, uint64_t random)
{
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        random = random * 6364136223846793005ull + 1442695040888963407ull;
        if ((random >> 33) % one_in == 0) {
            flip_triangles(mesh, t, t + 1);
        }
    }
}

/// Two balls and a box, a third of whose triangles are turned.
static void triangles_are_turned_back_by_their_edges(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 5; seed++) {
        tarn_mesh mesh = {.vertex_count = 0}, right = {.vertex_count = 0};
        tarn_mesh_surface found;
        for (int i = 0; i < 2; i++) {
            add_ball(i == 0 ? &mesh : &right, (const double[]){0, 0, 0}, 1.0, 12);
            add_ball(i == 0 ? &mesh : &right, (const double[]){5, 0, 0}, 1.0, 9);
            add_box(i == 0 ? &mesh : &right, (const float[3]){1, 1, 1},
                    &(tarn_pose){.position_m = {9, 0, 0}, .rotation = {0, 0, 0, 1}});
        }
        double area, volume;
        measure(&right, &area, &volume);
        turn_some(&mesh, 3, seed);
        assert_int_equal(tarn_mesh_face_one_way(&mesh, &found), TARN_OK);
        assert_int_equal(found.pieces, 3);
        assert_true(found.turned > mesh.triangle_count / 4 && found.turned < mesh.triangle_count / 2);
        expect_measures(&mesh, "balls", area, volume);
        assert_int_equal(tarn_mesh_face_one_way(&mesh, &found), TARN_OK);
        assert_int_equal(found.turned, 0);
        free_mesh(&mesh);
        free_mesh(&right);
    }
}

/// A ball as add_ball makes it, or inside out.
static void add_ball_facing(tarn_mesh *mesh, double x, double radius_m, bool inwards)
{
    const uint32_t first = mesh->triangle_count;
    add_ball(mesh, (const double[]){x, 0, 0}, radius_m, 8);
    flip_triangles(mesh, first, inwards ? mesh->triangle_count : first);
}

static void whole_pieces_face_outwards_but_cavities_stay(void **state)
{
    (void)state;
    static const struct {
        struct {
            double x, radius_m;
            bool inwards, turned;
        } balls[4];
        const char *what;
    } cases[] = {
        {{{0, 3, false, false}, {0, 1, true, false}}, "a hollow ball"},
        {{{0, 3, true, false}, {0, 1, true, false}}, "all inwards, which is as good"},
        {{{0, 3, true, true}, {0, 1, false, true}, {9, 1, false, false}}, "a hollow ball inside out"},
        {{{0, 3, false, false}, {4, 3, true, true}}, "two that overlap"},
        {{{0, 3, false, false}, {9, 1, true, true}}, "one beside another"},
        {{{0, 4, false, false}, {0, 3, true, false}, {0, 2, false, false}, {0, 1, true, false}}, "shells in shells"},
        {{{0, 4, true, true}, {0, 3, false, true}, {0, 2, true, true}, {9, 1, false, false}}, "shells inside out"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        tarn_mesh mesh = {.vertex_count = 0}, wanted = {.vertex_count = 0};
        tarn_mesh_surface found;
        for (size_t k = 0; k < 4 && cases[i].balls[k].radius_m > 0.0; k++) {
            const bool inwards = cases[i].balls[k].inwards;
            add_ball_facing(&mesh, cases[i].balls[k].x, cases[i].balls[k].radius_m, inwards);
            add_ball_facing(&wanted, cases[i].balls[k].x, cases[i].balls[k].radius_m,
                            inwards != cases[i].balls[k].turned);
        }
        assert_int_equal(tarn_mesh_face_one_way(&mesh, &found), TARN_OK);
        if (memcmp(mesh.triangles, wanted.triangles, 3 * sizeof(uint32_t) * mesh.triangle_count) != 0) {
            fail_msg("%s: %u triangles were turned", cases[i].what, found.turned);
        }
        free_mesh(&mesh);
        free_mesh(&wanted);
    }
}

/// Open pieces are in nobody's way, however many there are: a small file would keep whoever reads it for minutes.
static void open_pieces_cost_nothing(void **state)
{
    (void)state;
    enum { LOOSE = 1000 };
    tarn_mesh mesh = {.vertex_count = 0};
    tarn_mesh_surface without, with;
    add_ball_facing(&mesh, 0, 1, true);
    add_ball_facing(&mesh, 9, 1, false);
    const uint32_t first = mesh.triangle_count;
    assert_int_equal(tarn_mesh_face_one_way(&mesh, &without), TARN_OK);
    assert_true(without.turned == first / 2 && without.visits > 0);
    flip_triangles(&mesh, 0, first / 2);
    for (int i = 0; i < LOOSE; i++) {
        const double at = 100.0 + 2 * i;
        const uint32_t corner = mesh.vertex_count;
        add_vertex(&mesh, at, 0, 0);
        add_vertex(&mesh, at + 1, 0, 0);
        add_vertex(&mesh, at, 1, 0);
        add_triangle(&mesh, corner, corner + 1, corner + 2);
    }
    assert_int_equal(tarn_mesh_face_one_way(&mesh, &with), TARN_OK);
    assert_int_equal(with.pieces, 2 + LOOSE);
    assert_int_equal(with.turned, without.turned);
    assert_int_equal(with.visits, without.visits);
    free_mesh(&mesh);
}

/// A cavity whose first triangle is turned, so that all others face against it.
static void most_of_a_piece_say_which_way_it_faces(void **state)
{
    (void)state;
    tarn_mesh mesh = {.vertex_count = 0}, wanted = {.vertex_count = 0};
    tarn_mesh_surface found;
    for (int i = 0; i < 2; i++) {
        add_ball_facing(i == 0 ? &mesh : &wanted, 0, 3, false);
        add_ball_facing(i == 0 ? &mesh : &wanted, 0, 1, true);
    }
    flip_triangles(&mesh, mesh.triangle_count / 2, mesh.triangle_count / 2 + 1);
    assert_int_equal(tarn_mesh_face_one_way(&mesh, &found), TARN_OK);
    assert_int_equal(found.turned, 1);
    assert_memory_equal(mesh.triangles, wanted.triangles, 3 * sizeof(uint32_t) * mesh.triangle_count);
    free_mesh(&mesh);
    free_mesh(&wanted);
}

/// Two boxes with an edge in common, triangle by triangle in turn, so that those of one edge come in no order.
static void pieces_end_where_four_triangles_meet(void **state)
{
    (void)state;
    tarn_mesh boxes = {.vertex_count = 0}, mixed = {.vertex_count = 0};
    tarn_mesh_surface found;
    add_box(&boxes, (const float[3]){1, 1, 1}, &(tarn_pose){.rotation = {0, 0, 0, 1}});
    add_box(&boxes, (const float[3]){1, 1, 1}, &(tarn_pose){.position_m = {2, 2, 0}, .rotation = {0, 0, 0, 1}});
    for (uint32_t i = 0; i < boxes.vertex_count; i++) {
        const float *at_m = boxes.vertices_m + 3 * (size_t)i;
        add_vertex(&mixed, at_m[0], at_m[1], at_m[2]);
    }
    for (uint32_t i = 0; i < boxes.triangle_count; i++) {
        const uint32_t *corners = boxes.triangles + 3 * (size_t)(i % 2 * 12 + i / 2);
        add_triangle(&mixed, corners[0], corners[1], corners[2]);
    }
    flip_triangles(&mixed, 4, 5);
    assert_int_equal(tarn_mesh_face_one_way(&mixed, &found), TARN_OK);
    assert_int_equal(found.pieces, 2);
    assert_int_equal(found.turned, 1);
    assert_int_equal(found.crowded_edges, 1);
    assert_int_equal(found.uneven_edges + found.one_sided + found.open_edges, 0);
    free_mesh(&boxes);
    free_mesh(&mixed);
}

static void what_has_no_inside_is_named(void **state)
{
    (void)state;
    char text[TARN_MESH_FILE_WHY_BYTES];
    tarn_mesh_surface found;
    tarn_mesh strip = {.vertex_count = 0};
    enum { PARTS = 12 };
    for (uint32_t i = 0; i < PARTS; i++) { // half a turn on the way round
        const double round = 2.0 * acos(-1.0) * i / PARTS;
        for (int side = -1; side <= 1; side += 2) {
            const double radius = 2.0 + 0.5 * side * cos(round / 2.0);
            add_vertex(&strip, radius * cos(round), 0.5 * side * sin(round / 2.0), radius * sin(round));
        }
    }
    for (uint32_t i = 0; i < PARTS; i++) {
        const bool last = i + 1 == PARTS;
        const uint32_t a = 2 * i, b = a + 1, c = last ? 1 : a + 2, d = last ? 0 : a + 3;
        add_triangle(&strip, a, b, c);
        add_triangle(&strip, b, d, c);
    }
    uint32_t before[6 * PARTS];
    memcpy(before, strip.triangles, sizeof before);
    assert_int_equal(tarn_mesh_face_one_way(&strip, &found), TARN_OK);
    assert_int_equal(found.one_sided, 2 * PARTS);
    assert_memory_equal(before, strip.triangles, sizeof before);
    assert_true(tarn_mesh_surface_tell(&found, text, sizeof text));
    assert_non_null(strstr(text, "one side"));
    free_mesh(&strip);

    tarn_mesh box = {.vertex_count = 0};
    const tarn_pose here = {.rotation = {0, 0, 0, 1}};
    add_box(&box, (const float[3]){1, 1, 1}, &here);
    assert_int_equal(tarn_mesh_face_one_way(&box, &found), TARN_OK);
    assert_false(tarn_mesh_surface_tell(&found, text, sizeof text));
    // A wall within: its edges have three triangles each, and the box's own edges two.
    add_triangle(&box, 0, 3, 7);
    add_triangle(&box, 0, 7, 4);
    assert_int_equal(tarn_mesh_face_one_way(&box, &found), TARN_OK);
    assert_int_equal(found.crowded_edges, 4);
    assert_true(tarn_mesh_surface_tell(&found, text, sizeof text));
    assert_non_null(strstr(text, "isn't a manifold: 4 of its edges"));
    box.triangle_count = 11;
    assert_int_equal(tarn_mesh_face_one_way(&box, &found), TARN_OK);
    assert_int_equal(found.open_edges, 3);
    assert_true(tarn_mesh_surface_tell(&found, text, sizeof text));
    assert_non_null(strstr(text, "isn't closed: 3 of its edges"));
    free_mesh(&box);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_read_as_their_table_says),
        cmocka_unit_test(polygons_are_covered_once),
        cmocka_unit_test(large_polygons_are_covered_once),
        cmocka_unit_test(polygons_that_cannot_be_cut_are_refused),
        cmocka_unit_test(polygons_have_limits),
        cmocka_unit_test(triangles_are_turned_back_by_their_edges),
        cmocka_unit_test(whole_pieces_face_outwards_but_cavities_stay),
        cmocka_unit_test(open_pieces_cost_nothing),
        cmocka_unit_test(most_of_a_piece_say_which_way_it_faces),
        cmocka_unit_test(pieces_end_where_four_triangles_meet),
        cmocka_unit_test(what_has_no_inside_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
