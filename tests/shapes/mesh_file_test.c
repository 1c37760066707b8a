// Mesh and height files are read whole or refused with a sentence that says where, what was found and what is allowed.
#include "server/base/text.h"
#include "server/scene/mesh.h"
#include "tests/shapes/mesh_expect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka.h needs the four headers above it.
#include <cmocka.h>

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static tarn_mesh read_obj(const char *text)
{
    return mesh_expect_read(TARN_MESH_FORMAT_OBJ, text, strlen(text));
}

// ---- OBJ ----

#define CORNERS "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n"

static void every_form_of_a_face_is_read(void **state)
{
    (void)state;
    static const char *const texts[] = {
        CORNERS "f 1 2 3\n",
        CORNERS "f 1/9 2/8 3/7\n",
        CORNERS "f 1//9 2//8 3//7\n",
        CORNERS "f 1/2/3 2/3/4 3/4/5",
        CORNERS "f 1/ 2// 3/2/\n",
        CORNERS "f 1//2 2/2 3#of four",
        CORNERS "f 1 2\\ \t\n 3\\\r",
        "\xef\xbb\xbf" CORNERS "f 1 2 3\n",
        CORNERS "f -4 -3 -2\nv 7 7 7\n",
        CORNERS "f\t-4/-1/-1   2//1 \t+3 \r\n",
        "# one\r\nmtllib a.mtl\r\no thing\r\nv 0 0 0 1.0\r\nv 1 0 0 0.5 0.5 0.5\r\nvn 1 0 0\r\nvt 0 0\r\nv 1 1 0\r\n"
        "v 0 1 0\r\ns off\r\nusemtl x\r\nf 1 2 3 # the end\r\n",
        "v 0 0 0\rv 1 0 0\rv 1 1 0\rv 0 1 0\rf 1 2 3",
        CORNERS "f 1 \\\n 2 \\\r\n 3\n\n\n",
        "v +0.0 -0 0e9\nv 10e-1 .0 0.\nv 1 1E0 0\nv 0 1.000000000000000000000000 0\nf 1 2 3\n",
    };
    static const float wanted[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        tarn_mesh mesh = read_obj(texts[i]);
        assert_int_equal(mesh.triangle_count, 1);
        assert_true(mesh.vertex_count >= 4);
        for (uint32_t c = 0; c < 3; c++) {
            assert_int_equal(mesh.triangles[c], c);
        }
        assert_memory_equal(mesh.vertices_m, wanted, sizeof wanted);
        tarn_mesh_free(&mesh);
        assert_null(mesh.triangles);
    }
}

/// Those that have one, from their first corner.
static void convex_polygons_become_fans(void **state)
{
    (void)state;
    static const uint32_t wanted[] = {0, 1, 2, 0, 2, 3, 0, 3, 4, 1, 2, 3};
    tarn_mesh mesh = read_obj(CORNERS "v -1 0.5 0\nf 1 2 3 4 5\nf 2 3 4\n");
    assert_int_equal(mesh.triangle_count, 4);
    assert_memory_equal(mesh.triangles, wanted, sizeof wanted);
    tarn_mesh_free(&mesh);
}

static void malformed_obj_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"", "found an empty file"},
        {"# nothing\n", "found no triangles, allowed are 1 to 1048576"},
        {CORNERS, "found no triangles"},
        {"\x7f\x45\x4c\x46\x01\x02", "found no triangles"},
        {"v 0 0\n", "line 1: found the end of the line for z, allowed is a number from -100000 to 100000"},
        {"\n\nv 0 nan 0\n", "line 3: found \"nan\" for y"},
        {"v inf 0 0\n", "found \"inf\" for x"},
        {"v 1e9 0 0\n", "found \"1e9\" for x"},
        {"v 1e999999999999 0 0\n", "for x"},
        {"v 1e400 0 0\n", "for x"},
        {"v 0x10 0 0\n", "found \"0x10\""},
        {"v 1,5 0 0\n", "found \"1,5\""},
        {"v . 0 0\n", "found \".\""},
        {"v 1e 0 0\n", "found \"1e\""},
        {"v 1.2.3 0 0\n", "found \"1.2.3\""},
        {"v - 0 0\n", "found \"-\""},
        {"v \x1b[2Jxyz 0 0\n", "found \"?[2Jxyz\""},
        {"v 123456789012345678901234567890 0 0\n", "found \"123456789012345678901234...\""},
        {CORNERS "f 1 2\n", "line 5: found a face with 2 corners, allowed are 3 or more"},
        {CORNERS "f\n", "found a face with 0 corners"},
        {CORNERS "f 0 1 2\n", "line 5: found the vertex 0 in a face, allowed are 1 to 4"},
        {CORNERS "f 1 2 5\n", "found the vertex 5 in a face, allowed are 1 to 4"},
        {CORNERS "f 1 2 -5\n", "found the vertex -5 in a face, allowed are 1 to 4, the vertices above, and -1 to -4"},
        {"f 1 2 3\n" CORNERS, "line 1: found the vertex 1"},
        {CORNERS "f 1 2 4294967297\n", "found \"4294967297\" in a face"},
        {CORNERS "f 1 2 99999999999999999999999\n", "in a face"},
        {CORNERS "f 1 2 3.5\n", "found \"3.5\" in a face"},
        {CORNERS "f 1 2 x\n", "found \"x\" in a face, allowed are V, V/T, V//N and V/T/N"},
        {CORNERS "f 1/// 2 3\n", "found \"1///\""},
        {CORNERS "f 1/x 2 3\n", "found \"1/x\""},
        {CORNERS "f 1/2x 2 3\n", "found \"1/2x\""},
        {"\xff\xfev\0", "found text in UTF-16 or UTF-32, allowed is UTF-8"},
        {"\xef\xbb", "found no triangles"},
        {CORNERS "f 1/2/3/4 2 3\n", "found \"1/2/3/4\""},
        {CORNERS "f /1 2 3\n", "found \"/1\""},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        mesh_expect_refusal(TARN_MESH_FORMAT_OBJ, cases[i].text, strlen(cases[i].text), TARN_E_MALFORMED,
                            cases[i].part);
    }
}

static void too_many_triangles_are_refused(void **state)
{
    (void)state;
    const size_t faces = TARN_MESH_TRIANGLES_MAX / 2 + 1;
    char *text = malloc(sizeof CORNERS + 10 * faces + 1), *at = text;
    assert_non_null(text);
    at = stpcpy(at, CORNERS);
    for (size_t i = 0; i < faces; i++) {
        at = stpcpy(at, "f 1 2 3 4\n");
    }
    mesh_expect_refusal(TARN_MESH_FORMAT_OBJ, text, (size_t)(at - text), TARN_E_LIMIT,
                        "line 524293: found more than 1048576 triangles, allowed are 1048576");
    at[-10] = '\0';
    tarn_mesh mesh = read_obj(text);
    assert_int_equal(mesh.triangle_count, TARN_MESH_TRIANGLES_MAX);
    tarn_mesh_free(&mesh);
    free(text);
}

/// The nearest float, or the one beside it.
static void numbers_are_read_as_they_are_written(void **state)
{
    (void)state;
    uint64_t random = 3;
    for (int i = 0; i < 200000; i++) {
        char text[64];
        random = random * 6364136223846793005ull + 1442695040888963407ull;
        const double wanted = ldexp((double)(int64_t)random, (int)(random >> 40 & 63) - 80);
        snprintf(text, sizeof text, i % 3 == 0 ? "%.9g" : i % 3 == 1 ? "%.17g" : "%.20f", wanted);
        const tarn_text_word word = {text, strlen(text)};
        double found;
        assert_true(tarn_text_number(word, &found));
        const double printed = strtod(text, NULL);
        if (!(fabs(found - printed) <= 1e-15 * fabs(printed))) {
            fail_msg("%s was read as %.17g", text, found);
        }
    }
}

// ---- STL ----

#define FACET(a, b, c) "facet normal 0 0 1\nouter loop\nvertex " a "\nvertex " b "\nvertex " c "\nendloop\nendfacet\n"
#define SOLID                                                                                                          \
    "solid a name of words\n" FACET("0 0 0", "1 0 0", "1 1 0") FACET("0 0 0", "1 1 0", "-0 1 0") "endsolid a name\n"

/// @param bytes  84 + 50 * count of them
static size_t write_binary_stl(char *bytes, const char *header, uint32_t count, const float *corners_m)
{
    memset(bytes, 0, 84);
    // NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes, less than 80 of them
    memcpy(bytes, header, strlen(header));
    memcpy(bytes + 80, &count, 4);
    for (uint32_t i = 0; i < count; i++) {
        char *facet = bytes + 84 + 50 * (size_t)i;
        memset(facet, 0xff, 50); // a normal of NaN, and attributes
        memcpy(facet + 12, corners_m + 9 * (size_t)i, 36);
    }
    return 84 + 50 * (size_t)count;
}

static const float square_m[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, -0.0f, 1, 0};

static void both_forms_of_stl_are_read(void **state)
{
    (void)state;
    char bytes[184];
    tarn_mesh mesh = mesh_expect_read(TARN_MESH_FORMAT_STL, SOLID, strlen(SOLID));
    mesh_expect_square(&mesh);
    mesh = mesh_expect_read(TARN_MESH_FORMAT_STL, bytes, write_binary_stl(bytes, "made by hand", 2, square_m));
    mesh_expect_square(&mesh);
    // Programs write this too, and it isn't text.
    mesh = mesh_expect_read(TARN_MESH_FORMAT_STL, bytes, write_binary_stl(bytes, "solid made by hand", 2, square_m));
    mesh_expect_square(&mesh);
    const char *two =
        "solid\n" FACET("0 0 0", "1 0 0", "1 1 0") "endsolid\nsolid b\n" FACET("0 0 0", "1 1 0", "0 1 0") "endsolid";
    mesh = mesh_expect_read(TARN_MESH_FORMAT_STL, two, strlen(two));
    mesh_expect_square(&mesh);
    // Without an end, in capitals, behind blanks and a mark; with Windows' and old Macs' line ends.
    char text[sizeof SOLID + 8] = "\xef\xbb\xbf\r\n \t\f";
    const size_t before = strlen(text);
    for (const char *c = SOLID; strcmp(c, "endsolid a name\n") != 0; c++) {
        text[before + (size_t)(c - SOLID)] = *c == '\n' ? '\r' : (char)toupper(*c);
    }
    mesh = mesh_expect_read(TARN_MESH_FORMAT_STL, text, strlen(text));
    mesh_expect_square(&mesh);
    // As many bytes behind as some programs leave there.
    char longer[184 + 200] = "";
    for (size_t behind = 0; behind <= 200; behind++) {
        const size_t all = write_binary_stl(longer, behind % 2 == 0 ? "solid" : "", 2, square_m) + behind;
        memset(longer + 184, behind % 3 == 0 ? ' ' : -1, behind);
        mesh = mesh_expect_read(TARN_MESH_FORMAT_STL, longer, all);
        mesh_expect_square(&mesh);
    }
}

static void malformed_stl_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"solid\nendsolid\n", "found no triangles"},
        {"solid", "found no triangles"},
        {SOLID "solid b\nfacet", "found the end of the file, allowed is \"normal\""},
        {SOLID "solid b\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\n", "the end of the file, allowed is \"vertex\""},
        {"solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0", "found the end of the line for z"},
        {"solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nendloop\n",
         "line 5: found \"endloop\", allowed is \"vertex\""},
        {"solid a\nfacet 0 0 1\n", "line 2: found \"0\", allowed is \"normal\""},
        {"solid a\nvertex 0 0 0\n", "line 2: found \"vertex\", allowed is \"facet\" or \"endsolid\""},
        {"solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 nan 0\n", "line 4: found \"nan\" for y"},
        {SOLID "rest\n", "found \"rest\", allowed is \"solid\""},
        {"abc", "found 3 bytes that don't begin with \"solid\", allowed are 84 at least"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        mesh_expect_refusal(TARN_MESH_FORMAT_STL, cases[i].text, strlen(cases[i].text), TARN_E_MALFORMED,
                            cases[i].part);
    }
}

static void binary_stl_must_be_as_long_as_it_says(void **state)
{
    (void)state;
    char bytes[184];
    const size_t all = write_binary_stl(bytes, "made by hand", 2, square_m);
    for (size_t cut = 84; cut < all; cut++) {
        mesh_expect_refusal(TARN_MESH_FORMAT_STL, bytes, cut, TARN_E_MALFORMED,
                            "a declared number of 2 triangles, allowed are 184 bytes for so many");
    }
    write_binary_stl(bytes, "solid made by hand", 2, square_m);
    mesh_expect_refusal(TARN_MESH_FORMAT_STL, bytes, all - 1, TARN_E_MALFORMED, "found 183 bytes");
    mesh_expect_refusal(TARN_MESH_FORMAT_STL, "\xff\xfes\0o\0", 6, TARN_E_MALFORMED, "found text in UTF-16");
    memset(bytes + 80, 0xff, 4);
    mesh_expect_refusal(TARN_MESH_FORMAT_STL, bytes, all, TARN_E_MALFORMED,
                        "number of 4294967295 triangles, allowed are 214748364834 bytes");
    memset(bytes + 80, 0, 4);
    mesh_expect_refusal(TARN_MESH_FORMAT_STL, bytes, 84, TARN_E_MALFORMED, "found no triangles");
    float wrong_m[18];
    memcpy(wrong_m, square_m, sizeof wrong_m);
    wrong_m[10] = NAN;
    mesh_expect_refusal(TARN_MESH_FORMAT_STL, bytes, write_binary_stl(bytes, "", 2, wrong_m), TARN_E_MALFORMED,
                        "triangle 2: found nan for y");
}

// ---- heights ----

static tarn_status read_heights(const char *bytes, size_t byte_count, tarn_height_map *map, char *why)
{
    return tarn_height_bytes_read("a.pgm", 0.5f, 2.0f, bytes, byte_count, map, why, TARN_MESH_FILE_WHY_BYTES);
}

static void both_forms_of_pgm_are_read(void **state)
{
    (void)state;
    static const char text[] = "P2 # a\n# comment\n3 2\n4\n0 1 2\n3 4 0\n", bytes[] = "P5 3 2 4\n\0\1\2\3\4\0";
    static const char marked[] = "\xef\xbb\xbfP2 3 2 4 0 1 2 3 4 0";
    static const char words[] = "P5\n3 2\n1024\n\0\0\1\0\2\0\3\0\4\0\0\0";
    static const struct {
        const char *bytes;
        size_t byte_count;
    } cases[] = {
        {text, sizeof text - 1}, {marked, sizeof marked - 1}, {bytes, sizeof bytes - 1}, {words, sizeof words - 1}};
    static const float wanted[] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 0.0f};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        tarn_height_map map;
        char why[TARN_MESH_FILE_WHY_BYTES] = "";
        if (read_heights(cases[i].bytes, cases[i].byte_count, &map, why) != TARN_OK) {
            fail_msg("%s", why);
        }
        assert_int_equal(map.columns, 3);
        assert_int_equal(map.rows, 2);
        assert_true(map.spacing_m == 0.5f);
        assert_memory_equal(map.heights_m, wanted, sizeof wanted);
        tarn_height_map_free(&map);
    }
}

static void malformed_pgm_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"", "found the end of the line, allowed are \"P2\" and \"P5\""},
        {"P6 2 2 255\n0123", "found \"P6\", allowed are \"P2\" and \"P5\""},
        {"P5 1 2 255\n01", "found \"1\" for the width, allowed is a whole number from 2 to 512"},
        {"P5 2 513 255\n01", "found \"513\" for the height"},
        {"P5 2 -2 255\n01", "found \"-2\" for the height"},
        {"P5\n2 2\n0\n0123", "line 3: found \"0\" for the brightest shade, allowed is a whole number from 1 to 65535"},
        {"P5 2 2 65536\n0123", "the brightest shade"},
        {"P5 2 2", "found the end of the file for the brightest shade"},
        {"P5 2 2 255", "found 0 bytes after the header, allowed are 4 for 2 x 2 pixels"},
        {"P5 2 2 255\n123", "found 3 bytes after the header"},
        {"P5 2 2 256\n1234567", "found 7 bytes after the header, allowed are 8"},
        {"P5 2 2 9\n1234", "pixel 0: found the shade 49, allowed are 0 to 9"},
        {"P2 2 2 9\n1 2 3", "found the end of the file for a pixel"},
        {"P2 2 2 9\n1 2\n3 10", "line 3: found \"10\" for a pixel, allowed is a whole number from 0 to 9"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const size_t bytes = strlen(cases[i].text);
        tarn_height_map map = {7, 7, 7.0f, NULL};
        char why[TARN_MESH_FILE_WHY_BYTES] = "", *copy = malloc(bytes + 1);
        assert_non_null(copy);
        memcpy(copy, cases[i].text, bytes);
        char *exact = realloc(copy, bytes + (bytes == 0));
        assert_non_null(exact);
        const tarn_status found = read_heights(exact, bytes, &map, why);
        if (found != TARN_E_MALFORMED || strstr(why, cases[i].part) == NULL) {
            fail_msg("%s\nwas answered with %s: %s", cases[i].text, tarn_status_name(found), why);
        }
        assert_true(map.columns == 7 && map.heights_m == NULL);
        free(exact);
    }
}

// ---- files ----

static char folder[] = "/tmp/tarn-mesh-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"a.obj", "b.stl", "c.pgm", "d.ply", "pipe.obj", "large.stl", "a.txt"};
    for (size_t i = 0; i < LENGTH(names); i++) {
        unlink(path_of(names[i]));
    }
    rmdir(path_of("folder.obj"));
    return rmdir(folder);
}

static void files_are_read_by_their_suffix(void **state)
{
    (void)state;
    tarn_mesh mesh;
    tarn_height_map map;
    char why[TARN_MESH_FILE_WHY_BYTES] = "";
    write_file("a.obj", CORNERS "f 1 2 3 4\n");
    write_file("b.stl", SOLID);
    write_file("d.ply",
               "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
               "element face 1\nproperty list uchar int vertex_indices\nend_header\n"
               "0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n");
    write_file("c.pgm", "P2 2 2 1 0 1 1 0");
    assert_int_equal(tarn_mesh_file_read(path_of("a.obj"), &mesh, why, sizeof why), TARN_OK);
    mesh_expect_square(&mesh);
    assert_int_equal(tarn_mesh_file_read(path_of("b.stl"), &mesh, why, sizeof why), TARN_OK);
    mesh_expect_square(&mesh);
    assert_int_equal(tarn_mesh_file_read(path_of("d.ply"), &mesh, why, sizeof why), TARN_OK);
    mesh_expect_square(&mesh);
    assert_int_equal(tarn_height_file_read(path_of("c.pgm"), 1.0f, 3.0f, &map, why, sizeof why), TARN_OK);
    assert_true(map.heights_m[1] == 3.0f);
    tarn_height_map_free(&map);
}

/// A pipe without a writer would be waited for without end.
static void what_is_no_mesh_file_is_refused(void **state)
{
    (void)state;
    write_file("a.txt", CORNERS "f 1 2 3 4\n");
    assert_int_equal(mkdir(path_of("folder.obj"), 0700), 0);
    assert_int_equal(mkfifo(path_of("pipe.obj"), 0600), 0);
    write_file("large.stl", "");
    assert_int_equal(truncate(path_of("large.stl"), (off_t)TARN_MESH_FILE_BYTES_MAX + 1), 0);
    static const struct {
        const char *name;
        tarn_status status;
        const char *part;
    } cases[] = {
        {"a.txt", TARN_E_MALFORMED, "allowed is one that ends in .obj, .stl, .ply or .glb"},
        {"none.obj", TARN_E_NOT_FOUND, "No such file or directory"},
        {"folder.obj", TARN_E_IO, "found something that isn't a file, allowed is a mesh file"},
        {"pipe.obj", TARN_E_IO, "found something that isn't a file"},
        {"large.stl", TARN_E_LIMIT, "found 268435457 bytes, allowed are 268435456"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        tarn_mesh mesh = {7, 7, NULL, NULL};
        char why[TARN_MESH_FILE_WHY_BYTES] = "";
        const tarn_status found = tarn_mesh_file_read(path_of(cases[i].name), &mesh, why, sizeof why);
        if (found != cases[i].status || strstr(why, cases[i].part) == NULL || strstr(why, cases[i].name) == NULL) {
            fail_msg("%s was answered with %s: %s", cases[i].name, tarn_status_name(found), why);
        }
        assert_int_equal(mesh.vertex_count, 7);
    }
    tarn_mesh mesh;
    assert_int_equal(tarn_mesh_file_read("/dev/zero", &mesh, NULL, 0), TARN_E_MALFORMED);
    tarn_height_map map;
    assert_int_equal(tarn_height_file_read("/dev/zero", 1.0f, 1.0f, &map, NULL, 0), TARN_E_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_of_a_face_is_read),
        cmocka_unit_test(convex_polygons_become_fans),
        cmocka_unit_test(malformed_obj_is_refused),
        cmocka_unit_test(too_many_triangles_are_refused),
        cmocka_unit_test(numbers_are_read_as_they_are_written),
        cmocka_unit_test(both_forms_of_stl_are_read),
        cmocka_unit_test(malformed_stl_is_refused),
        cmocka_unit_test(binary_stl_must_be_as_long_as_it_says),
        cmocka_unit_test(both_forms_of_pgm_are_read),
        cmocka_unit_test(malformed_pgm_is_refused),
        cmocka_unit_test(files_are_read_by_their_suffix),
        cmocka_unit_test(what_is_no_mesh_file_is_refused),
    };
    return cmocka_run_group_tests_name("mesh files", tests, make_folder, remove_folder);
}
