// Files that a scene names: found in its folder and nowhere else, and what they hold becomes a distance field.
#include "server/scene/ply.h"
#include "tests/scene/scene_expect.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
// cmocka.h needs the headers above it.
#include <cmocka.h>

static char folder[64], elsewhere[64]; // with paths of one length

static const char tetrahedron[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";

static void path_of(char path[256], const char *name)
{
    snprintf(path, 256, "%s/%s", folder, name);
}

static void write_file(const char *name, const char *bytes, size_t byte_count)
{
    char path[256];
    path_of(path, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, byte_count, file), byte_count);
    assert_int_equal(fclose(file), 0);
}

static int make_folder(void **state)
{
    (void)state;
    char sub[256];
    snprintf(folder, sizeof folder, P_tmpdir "/tarn-assets-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    path_of(sub, "sub");
    if (mkdir(sub, 0700) != 0) {
        return -1;
    }
    snprintf(elsewhere, sizeof elsewhere, P_tmpdir "/tarn-others-XXXXXX");
    if (mkdtemp(elsewhere) == NULL) {
        return -1;
    }
    write_file("solid.obj", tetrahedron, strlen(tetrahedron));
    write_file("sub/solid.obj", tetrahedron, strlen(tetrahedron));
    write_file("open.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", 33);
    const char *small = "v 0 0 0\nv 1e-4 0 0\nv 0 1e-4 0\nv 0 0 1e-4\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
    write_file("small.obj", small, strlen(small));
    write_file("words.obj", "v one two three\n", 16);
    write_file("ground.pgm", "P2\n3 2\n10\n0 5 10\n0 5 10\n", 24);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"solid.obj", "sub/solid.obj", "open.obj",   "words.obj", "ground.pgm",
                                        "link.obj",  "other.obj",     "inside.obj", "large.obj", "a.json",
                                        "pipe.obj",  "liquid.ply",    "small.obj"};
    char path[256];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        path_of(path, names[i]);
        unlink(path);
    }
    path_of(path, "sub");
    return rmdir(elsewhere) == 0 && rmdir(path) == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static tarn_status read_solid(const char *shape, tarn_scene *scene, char *why)
{
    char more[512];
    snprintf(more, sizeof more, "'solids':[{'shape':{%s},'position_m':[0.25,0,0.25]}]", shape);
    const char *text = scene_with(more);
    return tarn_scene_read_text("a.json", folder, "a", text, strlen(text), scene, why, TARN_SCENE_WHY_BYTES);
}

static void expect_refusal(const char *shape, tarn_status status, const char *where, const char *what)
{
    static tarn_scene scene;
    char why[TARN_SCENE_WHY_BYTES];
    tarn_status found = read_solid(shape, &scene, why);
    if (found != status || strstr(why, where) == NULL || strstr(why, what) == NULL) {
        fail_msg("%s was answered with %d: %s", shape, found, why);
    }
}

static double distance_m(const tarn_scene *scene, double x, double y, double z)
{
    return tarn_distance_field_at_m(&scene->tank.fields[0], (const double[]){x, y, z});
}

static void test_a_mesh_becomes_a_distance_field(void **state)
{
    (void)state;
    static tarn_scene scene;
    char why[TARN_SCENE_WHY_BYTES];
    assert_int_equal(read_solid("'mesh':{'file':'sub/solid.obj','scale':0.5}", &scene, why), TARN_OK);
    assert_int_equal(scene.tank.field_count, 1);
    assert_int_equal(scene.tank.solids[0].shape.kind, TARN_SHAPE_FIELD);
    assert_true(scene.tank.solids[0].shape.half_m[0] == 1.0f);
    // The slanted face is half a metre from each axis' origin, so 0.5 / sqrt(3) from the corner.
    assert_float_equal(distance_m(&scene, 0.3, 0.3, 0.3), (0.9 - 0.5) / sqrt(3), 0.01);
    assert_float_equal(distance_m(&scene, 0.15, 0.15, -0.02), 0.02, 0.01);
    assert_true(distance_m(&scene, 0.1, 0.1, 0.1) < -0.05);
    tarn_scene_free(&scene);
}

static void test_a_picture_becomes_ground(void **state)
{
    (void)state;
    static tarn_scene scene;
    char why[TARN_SCENE_WHY_BYTES];
    assert_int_equal(read_solid("'heightfield':{'file':'ground.pgm','spacing_m':0.5,'height_m':0.4}", &scene, why),
                     TARN_OK);
    assert_float_equal(distance_m(&scene, 0.5, 0.4, 0), 0, 0.02);
    assert_float_equal(distance_m(&scene, 0, 0.2, 0), 0, 0.02);
    assert_true(distance_m(&scene, -0.4, 0.1, 0) > 0);
    tarn_scene_free(&scene);
}

/// Makes a good mesh there and a link to it in the folder, and takes both away.
static void expect_link_refused(const char *target)
{
    char link[256];
    path_of(link, "other.obj");
    FILE *file = fopen(target, "w");
    assert_non_null(file);
    assert_true(fputs(tetrahedron, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(symlink(target, link), 0);
    expect_refusal("'mesh':{'file':'other.obj'}", TARN_E_LIMIT, "solids[0].shape.mesh.file: ", "leads out of");
    assert_int_equal(unlink(link), 0);
    assert_int_equal(unlink(target), 0);
}

static void test_files_stay_in_the_folder(void **state)
{
    (void)state;
    char link[256], inside[256];
    path_of(link, "link.obj");
    path_of(inside, "inside.obj");
    assert_int_equal(symlink("/etc/passwd", link), 0);
    assert_int_equal(symlink("sub/solid.obj", inside), 0);
    static const char *const names[] = {
        "../solid.obj", "/etc/passwd.obj", "sub/../solid.obj", "./solid.obj", "sub//solid.obj", ".hidden.obj",
        "solid.txt",    "solid.obj/",      "sub\\\\solid.obj", "so lid.obj",  ".obj",           ""};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char shape[128];
        snprintf(shape, sizeof shape, "'mesh':{'file':'%s'}", names[i]);
        expect_refusal(shape, TARN_E_MALFORMED, "a.json: solids[0].shape.mesh.file: ", "in the scene's folder");
    }
    expect_refusal("'mesh':{'file':'link.obj'}", TARN_E_LIMIT, "solids[0].shape.mesh.file: ", "leads out of");
    // A folder whose path is as long, and a file whose path begins as the folder's.
    char target[256];
    snprintf(target, sizeof target, "%s/solid.obj", elsewhere);
    expect_link_refused(target);
    snprintf(target, sizeof target, "%s2.obj", folder);
    expect_link_refused(target);
    static tarn_scene scene;
    char why[TARN_SCENE_WHY_BYTES];
    assert_int_equal(read_solid("'mesh':{'file':'inside.obj'}", &scene, why), TARN_OK);
    tarn_scene_free(&scene);
}

static void test_files_that_cannot_be_used_are_named(void **state)
{
    (void)state;
    char pipe[256], large[256];
    path_of(pipe, "pipe.obj");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    write_file("large.obj", "#", 1);
    path_of(large, "large.obj");
    assert_int_equal(truncate(large, TARN_SCENE_FILE_BYTES_MAX + 1), 0);
    const char *where = "a.json: solids[0].shape.mesh.file: ";
    expect_refusal("'mesh':{'file':'none.obj'}", TARN_E_LIMIT, where, "No such file");
    expect_refusal("'mesh':{'file':'sub/none.stl'}", TARN_E_LIMIT, where, "found \"sub/none.stl\"");
    expect_refusal("'mesh':{'file':'pipe.obj'}", TARN_E_LIMIT, where, "isn't a file");
    expect_refusal("'mesh':{'file':'large.obj'}", TARN_E_LIMIT, where, "of 8388609 bytes, allowed are 8388608");
    expect_refusal("'mesh':{'file':'words.obj'}", TARN_E_LIMIT, where, "words.obj");
    expect_refusal("'mesh':{'file':'open.obj'}", TARN_E_LIMIT, where, "");
    expect_refusal("'mesh':{'file':'small.obj'}", TARN_E_LIMIT, where,
                   "small.obj: found a mesh of 0.0001 m with its scale, allowed are 0.00019 m or more");
    expect_refusal("'heightfield':{'file':'ground.pgm','spacing_m':0.5}", TARN_E_LIMIT,
                   "solids[0].shape.heightfield.height_m: ", "how high white is");
    expect_refusal("'heightfield':{'file':'solid.obj','spacing_m':0.5}", TARN_E_MALFORMED,
                   "solids[0].shape.heightfield.file: ", ".pgm");
    expect_refusal("'heightfield':{'spacing_m':0.5}", TARN_E_MALFORMED,
                   "solids[0].shape.heightfield: ", "found none of file and heights_m");
}

static void test_files_are_sought_beside_the_scene(void **state)
{
    (void)state;
    const char *text = scene_with("'solids':[{'shape':{'mesh':{'file':'solid.obj'}},'position_m':[0,0,0]},"
                                  "{'shape':{'mesh':{'file':'solid.obj'}},'position_m':[0.5,0,0]},"
                                  "{'shape':{'mesh':{'file':'solid.obj','scale':0.5}},'position_m':[0.5,0,0]}]");
    write_file("a.json", text, strlen(text));
    char path[256], why[TARN_SCENE_WHY_BYTES], before[4096];
    static tarn_scene scene;
    path_of(path, "a.json");
    assert_int_equal(tarn_scene_read_file(path, &scene, why, sizeof why), TARN_OK);
    // The same file at the same scale is one field.
    assert_int_equal(scene.tank.field_count, 2);
    tarn_scene_free(&scene);
    // A path without a folder means the present one.
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(tarn_scene_read_file("a.json", &scene, why, sizeof why), TARN_OK);
    assert_int_equal(chdir(before), 0);
    tarn_scene_free(&scene);
}

#define PLY(count, more)                                                                                               \
    "ply\nformat ascii 1.0\nelement vertex " count "\nproperty float x\nproperty float y\n"                            \
    "property float z\n" more "end_header\n"
#define PLY_COLOURS "property uchar red\nproperty uchar green\nproperty uchar blue\n"

static tarn_status read_particles(const char *ply, const char *more, tarn_scene *scene, char *why)
{
    char text[512];
    snprintf(text, sizeof text, "{\"size_m\": [1, 1, 1], \"cell_m\": 0.125, \"particles\": [\"liquid.ply\"]%s}", more);
    write_file("liquid.ply", ply, strlen(ply));
    return tarn_scene_read_text("a.json", folder, "a", text, strlen(text), scene, why, TARN_SCENE_WHY_BYTES);
}

static void test_liquid_may_come_particle_by_particle(void **state)
{
    (void)state;
    static tarn_scene scene;
    char why[TARN_SCENE_WHY_BYTES] = "";
    if (read_particles(PLY("2", "property float vy\n" PLY_COLOURS
                                "property uchar liquid\n") "0.5 0.25 1 -3 1 2 3 1\n0 0 0 0 255 0 0 0\n",
                       ", \"liquids\": [{}, {}]", &scene, why) != TARN_OK) {
        fail_msg("%s", why);
    }
    const tarn_seed_particle *first = &scene.tank.particles[0];
    assert_int_equal(scene.tank.particle_count, 2);
    assert_int_equal(scene.tank.particles_have_colours, 1);
    assert_true(first->position_m[0] == 0.5f && first->position_m[1] == 0.25f && first->position_m[2] == 1.0f);
    assert_true(first->velocity_m_s[0] == 0.0f && first->velocity_m_s[1] == -3.0f);
    assert_int_equal(first->liquid, 1);
    assert_int_equal(first->colour[2], 3);
    tarn_scene_free(&scene);
    assert_null(scene.tank.particles);
}

/// Three shades that are 255, 0 and 128, as programs write them: the same colour, however it is called and held.
static void test_colours_are_read_as_others_write_them(void **state)
{
    (void)state;
    static const struct {
        const char *type, *names[3], *values;
    } written[] = {
        {"uchar", {"red", "green", "blue"}, "255 0 128"},
        {"uint8", {"r", "g", "b"}, "255 0 128"},
        {"int", {"red", "green", "blue"}, "255 0 128"},
        {"float", {"red", "green", "blue"}, "1 0 0.5019608"}, // three's PLYExporter
        {"double", {"diffuse_red", "diffuse_green", "diffuse_blue"}, "1.0000001 -1e-9 0.502"},
        {"float32", {"r", "g", "b"}, "1 0 0.5"},
        {"ushort", {"red", "green", "blue"}, "65535 0 32896"},
        {"uint16", {"diffuse_red", "diffuse_green", "diffuse_blue"}, "65500 100 32900"},
    };
    for (size_t i = 0; i < sizeof written / sizeof written[0]; i++) {
        static tarn_scene scene;
        char why[TARN_SCENE_WHY_BYTES] = "", ply[512];
        int at = snprintf(ply, sizeof ply,
                          "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\n"
                          "property float y\nproperty float z\n");
        for (int c = 0; c < 3; c++) {
            at += snprintf(ply + at, sizeof ply - (size_t)at, "property %s %s\n", written[i].type, written[i].names[c]);
        }
        snprintf(ply + at, sizeof ply - (size_t)at, "end_header\n0.5 0.5 0.5 %s\n", written[i].values);
        if (read_particles(ply, "", &scene, why) != TARN_OK) {
            fail_msg("%zu: %s", i, why);
        }
        const uint8_t *colour = scene.tank.particles[0].colour;
        if (colour[0] != 255 || colour[1] != 0 || colour[2] != 128 || !scene.tank.particles_have_colours) {
            fail_msg("%zu: %s became %d %d %d", i, written[i].values, colour[0], colour[1], colour[2]);
        }
        tarn_scene_free(&scene);
    }
}

/// The same in bytes, as most of them write: big-endian floats, 16 bits in either order.
static void test_colours_are_read_from_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *format, *type;
        size_t size;
        uint8_t place[12], colour[12];
    } written[] = {
        {"big", "float", 4, {0x3f, 0, 0, 0, 0x3f, 0, 0, 0, 0x3f}, {0x3f, 0x80, 0, 0, 0, 0, 0, 0, 0x3f, 0, 0x80, 0x81}},
        {"big", "ushort", 2, {0x3f, 0, 0, 0, 0x3f, 0, 0, 0, 0x3f}, {0xff, 0xff, 0, 0, 0x80, 0x80}},
        {"little", "uint16", 2, {0, 0, 0, 0x3f, 0, 0, 0, 0x3f, 0, 0, 0, 0x3f}, {0xff, 0xff, 0, 0, 0x80, 0x80}},
        {"little", "uint8", 1, {0, 0, 0, 0x3f, 0, 0, 0, 0x3f, 0, 0, 0, 0x3f}, {255, 0, 128}},
    };
    for (size_t i = 0; i < sizeof written / sizeof written[0]; i++) {
        uint8_t bytes[1024];
        tarn_particles particles = {0};
        char why[256] = "";
        const char *type = written[i].type;
        size_t at = (size_t)snprintf((char *)bytes, sizeof bytes,
                                     "ply\nformat binary_%s_endian 1.0\nelement vertex 1\nproperty float x\n"
                                     "property float y\nproperty float z\nproperty %s red\nproperty %s green\n"
                                     "property %s blue\nend_header\n",
                                     written[i].format, type, type, type);
        memcpy(bytes + at, written[i].place, 12);
        memcpy(bytes + at + 12, written[i].colour, 3 * written[i].size);
        at += 12 + 3 * written[i].size;
        if (tarn_particles_ply_read("bytes", bytes, at, &particles, why, sizeof why) != TARN_OK) {
            fail_msg("%zu: %s", i, why);
        }
        const tarn_seed_particle *p = &particles.of[0];
        assert_true(p->position_m[0] == 0.5f && p->position_m[2] == 0.5f);
        if (p->colour[0] != 255 || p->colour[1] != 0 || p->colour[2] != 128) {
            fail_msg("%zu: became %d %d %d", i, p->colour[0], p->colour[1], p->colour[2]);
        }
        free(particles.of);
    }
}

static void test_particles_that_fit_no_tank_are_refused(void **state)
{
    (void)state;
    static char crowd[8192] = PLY("600", "");
    static const struct {
        const char *ply, *more, *says;
    } wrong[] = {
        {PLY("1", "") "0.5 1.25 0.5\n", "",
         "particles[0]: liquid.ply: found particle 0 at 0.5, 1.25, 0.5 m, which lies"},
        {PLY("1", "") "-0.1 0 0\n", "", "which lies outside"},
        {PLY("1", "") "1e40 0 0\n", "", "none of a particle's"},
        {PLY("1", "") "nan 0 0\n", "", "allowed is a number"},
        {PLY("1", "property float vx\n") "0 0 0 2000\n", "", "faster than the 1000 m/s"},
        {PLY("1", "property uchar liquid\n") "0 0 0 1\n", "", "of a liquid that the scene hasn't"},
        {PLY("1", "property uchar liquid\n") "0 0 0 9\n", "", "liquids from 0 to 3"},
        {PLY("1", "property int red\nproperty int green\nproperty int blue\n") "0 0 0 1 2 300\n", "",
         "found 300 for blue, which is int; allowed are 0 to 255"},
        {PLY("1", "property float red\nproperty float green\nproperty float blue\n") "0 0 0 1 200 0\n", "",
         "found 200 for green, which is float; allowed are 0 to 1, or 0 to 255 as uchar"},
        {PLY("1", "property char red\nproperty char green\nproperty char blue\n") "0 0 0 -1 0 0\n", "",
         "found -1 for red, which is char"},
        {PLY("1", "property ushort red\nproperty ushort green\nproperty ushort blue\n") "0 0 0 255 9 0\n", "",
         "of which none is above 255; allowed are 0 to 65535"},
        {PLY("1", PLY_COLOURS "property float r\n") "0 0 0 1 2 3 0\n", "", "twice: \"r\", or another name of it"},
        {PLY("1", "property uchar red\n") "0 0 0 1\n", "", "found some of red, green and blue"},
        {PLY("2", "") "0 0 0\n", "", "found the end of the file"},
        {PLY("1000000000", "") "0 0 0\n", "", "elements \"vertex\", allowed are at most"},
        {PLY("3000000", "") "0 0 0\n", "", "found the end of the file"},
        {PLY("1", "") "0 0 0\n", ", \"blocks\": [{\"min_m\": [0, 0, 0], \"max_m\": [1, 1, 1]}]", "allowed are either"},
        {PLY("1", "") "0 0 0\n", ", \"model\": \"smoke\"", "which the model \"smoke\" doesn't have"},
        {crowd, "", "more than 512 particles in the cell at 0.1, 0.1, 0.1 m"},
    };
    for (int i = 0; i < 600; i++) {
        strcat(crowd, ".1 .1 .1\n");
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        static tarn_scene scene;
        char why[TARN_SCENE_WHY_BYTES] = "";
        if (read_particles(wrong[i].ply, wrong[i].more, &scene, why) == TARN_OK || strstr(why, wrong[i].says) == NULL) {
            fail_msg("%zu: \"%s\" isn't in: %s", i, wrong[i].says, why);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_mesh_becomes_a_distance_field),
        cmocka_unit_test(test_a_picture_becomes_ground),
        cmocka_unit_test(test_files_stay_in_the_folder),
        cmocka_unit_test(test_files_that_cannot_be_used_are_named),
        cmocka_unit_test(test_files_are_sought_beside_the_scene),
        cmocka_unit_test(test_liquid_may_come_particle_by_particle),
        cmocka_unit_test(test_colours_are_read_as_others_write_them),
        cmocka_unit_test(test_colours_are_read_from_bytes),
        cmocka_unit_test(test_particles_that_fit_no_tank_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
