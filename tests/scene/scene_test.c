// Scenes are read whole or refused with a sentence that names the file, the field, what was found and what is allowed.
#include "kernels/liquid_parameters.h"
#include "tests/scene/scene_expect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
// cmocka.h needs the four headers above it.
#include <cmocka.h>

static void test_reads_every_field(void **state)
{
    (void)state;
    tarn_scene scene;
    char why[TARN_SCENE_WHY_BYTES];
    const char *text =
        "{\"title\":\"Hi\",\"description\":\"d\",\"$schema\":\"s\",\"size_m\":[2,1,0.5],\"cell_m\":0.125,"
        "\"dt_s\":0.02,\"gravity_m_s2\":1.5,\"particles_per_axis\":3,\"jitter\":0.25,\"seed\":9,"
        "\"particles_max\":5000,\"blocks\":[{\"min_m\":[0,0,0],\"max_m\":[0.5,0.5,0.5],"
        "\"velocity_m_s\":[1,-2,3]}],\"solver\":{\"flip_ratio\":0.5,\"pressure_tolerance\":0.001,"
        "\"pressure_iterations\":7,\"cfl\":1,\"substeps_max\":2,\"density_correction\":0}}";
    assert_int_equal(scene_read_probe(text, &scene, why), TARN_OK);
    assert_string_equal(scene.name, "a");
    assert_string_equal(scene.title, "Hi");
    assert_string_equal(scene.description, "d");
    const tarn_tank_desc *tank = &scene.tank;
    assert_int_equal(tank->cells[0], 16);
    assert_int_equal(tank->cells[1], 8);
    assert_int_equal(tank->cells[2], 4);
    assert_true(tank->cell_m == 0.125f && tank->dt_s == 0.02f && tank->jitter == 0.25f);
    assert_int_equal(tank->particles_per_axis, 3);
    assert_int_equal(tank->seed, 9);
    assert_int_equal(tank->particles_max, 5000);
    assert_int_equal(tank->block_count, 1);
    assert_true(tank->blocks[0].max_m[0] == 0.5f && tank->blocks[0].velocity_m_s[1] == -2.0f);
    assert_true(tank->parameters[TARN_PARAMETER_GRAVITY] == 1.5f);
    assert_true(tank->parameters[TARN_PARAMETER_FLIP] == 0.5f);
    assert_true(tank->parameters[TARN_PARAMETER_TOLERANCE] == 0.001f);
    assert_true(tank->parameters[TARN_PARAMETER_ITERATIONS] == 7.0f);
    assert_true(tank->parameters[TARN_PARAMETER_CFL] == 1.0f);
    assert_true(tank->parameters[TARN_PARAMETER_SUBSTEPS] == 2.0f);
    assert_true(tank->parameters[TARN_PARAMETER_DENSITY] == 0.0f);
    tarn_scene_free(&scene);
}

static void test_missing_fields_take_the_tanks_defaults(void **state)
{
    (void)state;
    tarn_scene scene;
    char why[TARN_SCENE_WHY_BYTES];
    assert_int_equal(scene_read_probe("{" GOOD_SIZE "," GOOD_BLOCKS "}", &scene, why), TARN_OK);
    tarn_tank_desc usual;
    tarn_tank_desc_default(&usual);
    assert_true(scene.tank.dt_s == usual.dt_s && scene.tank.jitter == usual.jitter);
    assert_int_equal(scene.tank.seed, usual.seed);
    assert_memory_equal(scene.tank.parameters, usual.parameters, sizeof usual.parameters);
    assert_string_equal(scene.title, "a");
    tarn_scene_free(&scene);
}

static void test_refusals_name_file_path_found_and_allowed(void **state)
{
    (void)state;
    REFUSES("{\"size_m\":[1,-2,1],\"cell_m\":0.125," GOOD_BLOCKS "}", TARN_E_MALFORMED,
            "a.json: size_m[1]: ", "found -2", "above 0", "10240 m");
    REFUSES("{" GOOD_SIZE
            ",\"blocks\":[{\"min_m\":[0,0,0],\"max_m\":[1,1,1]},{\"min_m\":[0,0,0],\"max_m\":[\"x\",1,1]}]}",
            TARN_E_MALFORMED, "a.json: blocks[1].max_m[0]: ", "found \"x\"", "a number from 0 to 10240 m");
    REFUSES("{" GOOD_SIZE "," GOOD_BLOCKS ",\"grvity\":1}", TARN_E_MALFORMED, "unknown field \"grvity\"",
            "gravity_m_s2");
    REFUSES("{" GOOD_SIZE "," GOOD_BLOCKS ",\"solver\":{\"flip\":1}}", TARN_E_MALFORMED, "solver: ", "\"flip\"",
            "flip_ratio");
    REFUSES("{" GOOD_SIZE "}", TARN_E_LIMIT, "blocks: ", "no liquid", "fluids, particles and emitters");
    REFUSES("{\"size_m\":[1,1,1]," GOOD_BLOCKS "}", TARN_E_MALFORMED, "cell_m: ", "missing");
    REFUSES("{" GOOD_SIZE ",\"blocks\":[]}", TARN_E_MALFORMED, "blocks: ", "an array of 0", "1 to 64");
    REFUSES("{" GOOD_SIZE "," GOOD_BLOCKS ",\"particles_per_axis\":2.5}", TARN_E_MALFORMED,
            "particles_per_axis: ", "found 2.5", "whole number from 1 to 4");
    REFUSES("{" GOOD_SIZE "," GOOD_BLOCKS ",\"solver\":{\"cfl\":9}}", TARN_E_MALFORMED, "solver.cfl: ", "found 9",
            "0.5 to 4");
    REFUSES("[]", TARN_E_MALFORMED, "a.json: found an array of 0, allowed is an object");
}

static void test_refuses_what_is_not_json(void **state)
{
    (void)state;
    REFUSES("{\"size_m\":[1,1,1],\n\"cell_m\":}", TARN_E_MALFORMED, "a.json: line 2", "JSON");
    REFUSES("", TARN_E_MALFORMED, "a.json: the file is empty");
    REFUSES(" \n", TARN_E_MALFORMED, "a.json: the file is empty");
    REFUSES("{" GOOD_SIZE ",\"cell_m\":0.125," GOOD_BLOCKS "}", TARN_E_MALFORMED, "duplicate", "cell_m");
    REFUSES("{" GOOD_SIZE "," GOOD_BLOCKS "} x", TARN_E_MALFORMED, "a.json");
    REFUSES("{" GOOD_SIZE "," GOOD_BLOCKS ",\"jitter\":1e999}", TARN_E_MALFORMED, "a.json");
    REFUSES("{" GOOD_SIZE "," GOOD_BLOCKS ",\"jitter\":NaN}", TARN_E_MALFORMED, "a.json");
    char *deep = malloc(200001);
    memset(deep, '[', 200000);
    deep[200000] = '\0';
    REFUSES(deep, TARN_E_MALFORMED, "a.json");
    free(deep);
}

static void test_a_size_between_cells_tells_the_nearest(void **state)
{
    (void)state;
    REFUSES("{\"size_m\":[1,1.01,1],\"cell_m\":0.125," GOOD_BLOCKS "}", TARN_E_LIMIT, "size_m[1]: ", "found 1.01 m",
            "nearest is 1 m (8 cells)");
    REFUSES("{\"size_m\":[1,0.25,1],\"cell_m\":0.125," GOOD_BLOCKS "}", TARN_E_LIMIT,
            "size_m[1]: ", "nearest is 0.5 m (4 cells)");
    REFUSES("{\"size_m\":[200,1,1],\"cell_m\":0.125," GOOD_BLOCKS "}", TARN_E_LIMIT, "size_m[0]: ", "1600 cells",
            "nearest is 128 m (1024 cells)");
    REFUSES("{\"size_m\":[1,1,1],\"cell_m\":0.001," GOOD_BLOCKS "}", TARN_E_LIMIT, "cell_m: ", "1000000000 cells",
            "134217728");
    tarn_scene scene;
    char why[TARN_SCENE_WHY_BYTES];
    // Decimal fractions aren't exact in binary; people write them all the same.
    assert_int_equal(
        scene_read_probe("{\"size_m\":[0.7,0.6,0.3],\"cell_m\":0.1,\"blocks\":[{\"min_m\":[0,0,0],\"max_m\":"
                         "[0.7,0.6,0.3]}]}",
                         &scene, why),
        TARN_E_LIMIT);
    assert_int_equal(
        scene_read_probe("{\"size_m\":[0.7,0.6,0.4],\"cell_m\":0.1,\"blocks\":[{\"min_m\":[0,0,0],\"max_m\":"
                         "[0.7,0.6,0.4]}]}",
                         &scene, why),
        TARN_OK);
    assert_int_equal(scene.tank.cells[0], 7);
    assert_true(scene.tank.blocks[0].max_m[0] <= 7.0f * scene.tank.cell_m);
    tarn_scene_free(&scene);
}

static void test_blocks_must_fit_the_tank_and_the_particles(void **state)
{
    (void)state;
    REFUSES("{" GOOD_SIZE ",\"blocks\":[{\"min_m\":[0,0,0],\"max_m\":[1,1.5,1]}]}", TARN_E_LIMIT,
            "blocks[0].max_m[1]: ", "found 1.5 m", "size, 1 m");
    REFUSES("{" GOOD_SIZE ",\"blocks\":[{\"min_m\":[0,0.5,0],\"max_m\":[1,0.5,1]}]}", TARN_E_LIMIT,
            "blocks[0].max_m[1]: ", "more than min_m[1], 0.5 m");
    REFUSES("{" GOOD_SIZE ",\"particles_max\":100," GOOD_BLOCKS "}", TARN_E_LIMIT,
            "particles_max: ", "needs 1024 particles", "allowed are 100");
    REFUSES("{" GOOD_SIZE ",\"blocks\":[{\"min_m\":[0,0,0],\"max_m\":[0.00001,1,1]}]}", TARN_E_LIMIT,
            "blocks: ", "too thin");
    REFUSES("{\"size_m\":[32,16,16],\"cell_m\":0.0625,\"blocks\":[{\"min_m\":[0,0,0],\"max_m\":[32,16,16]}]}",
            TARN_E_LIMIT, "blocks: ", "allowed are 16777216");
}

static void test_sentences_carry_no_control_characters(void **state)
{
    (void)state;
    tarn_scene scene;
    char why[TARN_SCENE_WHY_BYTES];
    scene_read_probe("{" GOOD_SIZE "," GOOD_BLOCKS ",\"\\u001b[31mred\\u0007\":1}", &scene, why);
    assert_null(strpbrk(why, "\033\a\n"));
    // A key cut in the middle of a character must not leave half of it.
    char long_key[256] = "{\"abc";
    for (int i = 0; i < 40; i++) {
        strcat(long_key, "\xc3\xbc");
    }
    strcat(long_key, "\":1}");
    scene_read_probe(long_key, &scene, why);
    const char *cut = strstr(why, "?\"");
    assert_non_null(cut);
    // Other texts lose what they can't keep.
    assert_int_equal(scene_read_probe("{" GOOD_SIZE "," GOOD_BLOCKS
                                      ",\"lesson\":{\"text\":\"t\",\"task\":\"a\\u001bb\",\"answer\":\"c\"}}",
                                      &scene, why),
                     TARN_OK);
    assert_string_equal(scene.lesson.task, "a?b");
    assert_int_equal(
        scene_read_probe("{" GOOD_SIZE "," GOOD_BLOCKS ",\"lesson\":{\"text\":\"t\",\"answer\":\"c\"}}", &scene, why),
        TARN_E_MALFORMED);
    assert_non_null(strstr(why, "lesson.task"));
    assert_int_equal(scene_read_probe("{" GOOD_SIZE "," GOOD_BLOCKS ",\"description\":\"a\\u001bb\\nc\"}", &scene, why),
                     TARN_OK);
    assert_string_equal(scene.description, "a?b?c");
    tarn_scene_free(&scene);
}

static void test_titles_have_no_control_characters(void **state)
{
    (void)state;
    static const char *const wrong[] = {"\\u001b[31m", "\\n",     "\\u0007", "\\u007f", "\\u009b", "\\u2028",
                                        "\\u202e",     "\\u2066", "\\u200b", "\\u061c", "\\ufeff", "\\u00ad"};
    tarn_scene scene;
    char text[256], why[TARN_SCENE_WHY_BYTES];
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        snprintf(text, sizeof text, "{" GOOD_SIZE "," GOOD_BLOCKS ",\"title\":\"a%sb\"}", wrong[i]);
        assert_int_equal(scene_read_probe(text, &scene, why), TARN_E_MALFORMED);
        assert_non_null(strstr(why, "a.json: title: found \"a"));
        assert_non_null(strstr(why, "in one line, none that steers a terminal"));
    }
    assert_int_equal(scene_read_probe("{" GOOD_SIZE "," GOOD_BLOCKS
                                      ",\"title\":\"\\u00a0\\u00fc\\u6c34\\u2027\\u2030\"}",
                                      &scene, why),
                     TARN_OK);
    assert_string_equal(scene.title, "\xc2\xa0\xc3\xbc\xe6\xb0\xb4\xe2\x80\xa7\xe2\x80\xb0");
    tarn_scene_free(&scene);
}

static void test_every_truncation_is_refused(void **state)
{
    (void)state;
    const char *text = "{\"title\":\"Hi\"," GOOD_SIZE "," GOOD_BLOCKS ",\"solver\":{\"cfl\":1}}";
    for (size_t bytes = 0; bytes < strlen(text); bytes++) {
        // An exact copy, so that a sanitizer sees a read past the end.
        char *copy = malloc(bytes + 1);
        memcpy(copy, text, bytes);
        tarn_scene scene;
        char why[TARN_SCENE_WHY_BYTES];
        assert_int_equal(tarn_scene_read_text("a.json", NULL, "a", copy, bytes, &scene, why, sizeof why),
                         TARN_E_MALFORMED);
        free(copy);
    }
}

static void test_small_sentence_buffers_stay_inside(void **state)
{
    (void)state;
    tarn_scene scene;
    for (size_t bytes = 0; bytes < 80; bytes++) {
        char *why = malloc(bytes + 1);
        why[bytes] = 'x';
        const char *text = "{" GOOD_SIZE "," GOOD_BLOCKS ",\"unknown\":1}";
        assert_int_equal(tarn_scene_read_text("a.json", NULL, "a", text, strlen(text), &scene, why, bytes),
                         TARN_E_MALFORMED);
        assert_int_equal(why[bytes], 'x');
        free(why);
    }
}

static void write_file(const char *path, const char *bytes, size_t byte_count)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, byte_count, file), byte_count);
    assert_int_equal(fclose(file), 0);
}

static void test_files_are_named_in_their_refusals(void **state)
{
    (void)state;
    char directory[] = P_tmpdir "/tarn-scene-XXXXXX";
    assert_non_null(mkdtemp(directory));
    char path[128], why[TARN_SCENE_WHY_BYTES];
    tarn_scene scene;

    snprintf(path, sizeof path, "%s/none.json", directory);
    assert_int_equal(tarn_scene_read_file(path, &scene, why, sizeof why), TARN_E_NOT_FOUND);
    assert_non_null(strstr(why, "none.json: No such file"));

    snprintf(path, sizeof path, "%s/Bad Name.json", directory);
    write_file(path, "{}", 2);
    assert_int_equal(tarn_scene_read_file(path, &scene, why, sizeof why), TARN_E_MALFORMED);
    assert_non_null(strstr(why, "\"Bad Name\", allowed are 1 to 63"));
    unlink(path);

    snprintf(path, sizeof path, "%s/large.json", directory);
    char *large = malloc(TARN_SCENE_BYTES_MAX + 10);
    memset(large, ' ', TARN_SCENE_BYTES_MAX + 10);
    write_file(path, large, TARN_SCENE_BYTES_MAX + 10);
    free(large);
    assert_int_equal(tarn_scene_read_file(path, &scene, why, sizeof why), TARN_E_LIMIT);
    assert_non_null(strstr(why, "allowed are 1048576"));
    unlink(path);

    // Opening a pipe without a writer must not block for ever.
    snprintf(path, sizeof path, "%s/pipe.json", directory);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(tarn_scene_read_file(path, &scene, why, sizeof why), TARN_E_IO);
    unlink(path);
    assert_int_equal(tarn_scene_read_file(directory, &scene, why, sizeof why), TARN_E_MALFORMED);
    rmdir(directory);
}

/// What people who look at a shipped scene may expect: it says what it is, runs on two cores, and nothing that floats
/// begins inside a wall.
static void expect_pleasant(const tarn_scene *scene)
{
    const tarn_tank_desc *tank = &scene->tank;
    assert_string_not_equal(scene->title, scene->name);
    assert_true(strlen(scene->description) > 20);
    if (tank->block_count + tank->fluid_count > 0) {
        assert_in_range(tarn_tank_desc_particles(tank), 30000, 110000);
    }
    assert_in_range(tank->particles_max, 0, 110000);
    for (uint32_t i = 0; i < tank->solid_count; i++) {
        const tarn_solid *solid = &tank->solids[i];
        double low_m[3], high_m[3];
        tarn_shape_bounds_m(&solid->shape, &solid->pose, tank->fields, low_m, high_m);
        for (int axis = 0; axis < 3 && solid->motion == TARN_MOTION_FREE; axis++) {
            assert_true(low_m[axis] > 0 && high_m[axis] < (double)((float)tank->cells[axis] * tank->cell_m));
        }
    }
}

static void test_shipped_scenes_are_valid_and_found_by_name(void **state)
{
    (void)state;
    char directory[4096], path[4200], why[TARN_SCENE_WHY_BYTES];
    assert_int_equal(tarn_scene_directory(NULL, directory, sizeof directory, NULL, 0), TARN_OK);
    static tarn_name names[TARN_SCENES_MAX];
    uint32_t count = 0;
    assert_int_equal(tarn_scene_list(directory, names, TARN_SCENES_MAX, &count), TARN_OK);
    assert_in_range(count, 13, TARN_SCENES_MAX);
    for (uint32_t i = 0; i < count; i++) {
        tarn_scene scene;
        assert_true(i == 0 || strcmp(names[i - 1], names[i]) < 0);
        assert_int_equal(tarn_scene_resolve(names[i], NULL, path, sizeof path, why, sizeof why), TARN_OK);
        if (tarn_scene_read_file(path, &scene, why, sizeof why) != TARN_OK) {
            fail_msg("%s", why);
        }
        assert_string_equal(scene.name, names[i]);
        expect_pleasant(&scene);
        tarn_scene_free(&scene);
    }
    tarn_scene scene;
    assert_int_equal(tarn_scene_resolve("dam-break.json", NULL, path, sizeof path, why, sizeof why), TARN_OK);
    assert_int_equal(tarn_scene_read_file(path, &scene, why, sizeof why), TARN_OK);
    assert_int_equal(tarn_tank_desc_particles(&scene.tank), 102400);
    assert_true(scene.tank.dt_s == 1.0f / 60.0f);
    tarn_scene_free(&scene);
    assert_int_equal(tarn_scene_resolve("no-such-scene", NULL, path, sizeof path, why, sizeof why), TARN_E_NOT_FOUND);
    assert_non_null(strstr(why, "no-such-scene"));
    assert_non_null(strstr(why, "dam-break"));
    // Few places: the first by name.
    assert_int_equal(tarn_scene_list(directory, names, 2, &count), TARN_OK);
    assert_int_equal(count, 2);
    assert_string_equal(names[0], "candles");
    assert_string_equal(names[1], "chimney");
}

static void test_scene_names_cannot_leave_the_directory(void **state)
{
    (void)state;
    assert_true(tarn_scene_name_valid("dam-break"));
    const char *wrong[] = {"",    "..",       "../x",
                           "a/b", "A",        "a.json",
                           "a b", "\xc3\xbc", "0123456789012345678901234567890123456789012345678901234567890123"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(tarn_scene_name_valid(wrong[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_every_field),
        cmocka_unit_test(test_missing_fields_take_the_tanks_defaults),
        cmocka_unit_test(test_refusals_name_file_path_found_and_allowed),
        cmocka_unit_test(test_refuses_what_is_not_json),
        cmocka_unit_test(test_a_size_between_cells_tells_the_nearest),
        cmocka_unit_test(test_blocks_must_fit_the_tank_and_the_particles),
        cmocka_unit_test(test_sentences_carry_no_control_characters),
        cmocka_unit_test(test_titles_have_no_control_characters),
        cmocka_unit_test(test_every_truncation_is_refused),
        cmocka_unit_test(test_small_sentence_buffers_stay_inside),
        cmocka_unit_test(test_files_are_named_in_their_refusals),
        cmocka_unit_test(test_shipped_scenes_are_valid_and_found_by_name),
        cmocka_unit_test(test_scene_names_cannot_leave_the_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
