// Holds scene.schema.json and the reader to each other: a small validator of the schema's keywords and the reader are
// given the same probes, made from the schema itself and by seeded mutation, and must agree.
//
//     the schema refuses  <=>  TARN_E_MALFORMED
//     the schema accepts  <=>  TARN_OK, or TARN_E_LIMIT: right one by one, but they don't fit together
#include "server/common/scene.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka.h needs the four headers above it.
#include <cmocka.h>

enum { MUTANTS = 6000 };

static json_t *schema;
static json_t *scenes[TARN_SCENES_MAX];
static uint32_t scene_count;

// ---- the keywords of JSON Schema that ours uses ----

static bool type_matches(const char *type, const json_t *value)
{
    double number = json_number_value(value);
    return (strcmp(type, "object") == 0 && json_is_object(value)) ||
           (strcmp(type, "array") == 0 && json_is_array(value)) ||
           (strcmp(type, "string") == 0 && json_is_string(value)) ||
           (strcmp(type, "number") == 0 && json_is_number(value)) ||
           (strcmp(type, "integer") == 0 && json_is_number(value) && number == floor(number));
}

static size_t characters(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++) {
        count += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return count;
}

static bool validates(const json_t *rule, const json_t *value);

static bool object_validates(const json_t *rule, const json_t *value)
{
    const json_t *properties = json_object_get(rule, "properties");
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)value, key, member)
    {
        const json_t *inner = json_object_get(properties, key);
        if (inner == NULL ? json_is_false(json_object_get(rule, "additionalProperties")) : !validates(inner, member)) {
            return false;
        }
    }
    size_t i;
    json_array_foreach(json_object_get(rule, "required"), i, member)
    {
        if (json_object_get(value, json_string_value(member)) == NULL) {
            return false;
        }
    }
    return true;
}

/// A keyword that this validator doesn't know fails the test, so that none is passed over.
static bool keyword_validates(const json_t *rule, const char *keyword, const json_t *limit, const json_t *value)
{
    double number = json_number_value(value), bound = json_number_value(limit);
    if (strcmp(keyword, "type") == 0) {
        return type_matches(json_string_value(limit), value);
    } else if (strcmp(keyword, "minimum") == 0) {
        return !json_is_number(value) || number >= bound;
    } else if (strcmp(keyword, "maximum") == 0) {
        return !json_is_number(value) || number <= bound;
    } else if (strcmp(keyword, "exclusiveMinimum") == 0) {
        return !json_is_number(value) || number > bound;
    } else if (strcmp(keyword, "minItems") == 0) {
        return !json_is_array(value) || (double)json_array_size(value) >= bound;
    } else if (strcmp(keyword, "maxItems") == 0) {
        return !json_is_array(value) || (double)json_array_size(value) <= bound;
    } else if (strcmp(keyword, "maxLength") == 0) {
        return !json_is_string(value) || (double)characters(json_string_value(value)) <= bound;
    } else if (strcmp(keyword, "items") == 0) {
        size_t i;
        json_t *item;
        json_array_foreach(value, i, item)
        {
            if (!validates(limit, item)) {
                return false;
            }
        }
        return true;
    } else if (strcmp(keyword, "properties") == 0) {
        return !json_is_object(value) || object_validates(rule, value);
    }
    const char *others[] = {"$schema", "$id", "title", "description", "default", "required", "additionalProperties"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strcmp(keyword, others[i]) == 0) {
            return true;
        }
    }
    fail_msg("the schema uses the keyword \"%s\", which this test doesn't know", keyword);
    return false;
}

static bool validates(const json_t *rule, const json_t *value)
{
    const char *keyword;
    json_t *limit;
    json_object_foreach((json_t *)rule, keyword, limit)
    {
        if (!keyword_validates(rule, keyword, limit, value)) {
            return false;
        }
    }
    return true;
}

/// Gives one scene to both and compares.
static bool agrees(const json_t *scene)
{
    char *text = json_dumps(scene, JSON_ENCODE_ANY | JSON_COMPACT);
    assert_non_null(text);
    static tarn_scene read;
    char why[TARN_SCENE_WHY_BYTES] = "";
    tarn_status status = tarn_scene_read_text("probe.json", "probe", text, strlen(text), &read, why, sizeof why);
    bool accepted = validates(schema, scene);
    bool same = accepted ? status == TARN_OK || status == TARN_E_LIMIT : status == TARN_E_MALFORMED;
    if (!same) {
        print_error("the schema %s, the reader says %s %s\n%s\n", accepted ? "accepts" : "refuses",
                    tarn_status_name(status), why, text);
    }
    free(text);
    return same;
}

// ---- probes ----

static json_t *strange_value(unsigned which)
{
    switch (which % 12) {
    case 0:
        return json_null();
    case 1:
        return json_true();
    case 2:
        return json_string("1");
    case 3:
        return json_object();
    case 4:
        return json_array();
    case 5:
        return json_integer(0);
    case 6:
        return json_integer(-1);
    case 7:
        return json_real(0.5);
    case 8:
        return json_real(2.0);
    case 9:
        return json_pack("[i,i,i]", 1, 1, 1);
    case 10:
        return json_real(1e300);
    default:
        return json_integer(INT64_MAX);
    }
}
enum { STRANGE_VALUES = 12 };

/// Puts a value into a slot of `root`, compares, and puts the old value back.
static void probe_slot(json_t *root, json_t *object, const char *key, json_t *array, size_t index, json_t *value)
{
    json_t *old = object != NULL ? json_object_get(object, key) : json_array_get(array, index);
    json_incref(old);
    int done = object != NULL ? json_object_set_new(object, key, value) : json_array_set_new(array, index, value);
    assert_int_equal(done, 0);
    assert_true(agrees(root));
    if (object == NULL) {
        json_array_set_new(array, index, old);
    } else if (old != NULL) {
        json_object_set_new(object, key, old);
    } else {
        json_object_del(object, key);
    }
}

static void probe_rule(json_t *root, json_t *object, const char *key, json_t *array, size_t index, const json_t *rule)
{
    for (unsigned i = 0; i < STRANGE_VALUES; i++) {
        probe_slot(root, object, key, array, index, strange_value(i));
    }
    const char *bounds[] = {"minimum", "maximum", "exclusiveMinimum"};
    bool whole = strcmp(json_string_value(json_object_get(rule, "type")), "integer") == 0;
    for (size_t i = 0; i < 3; i++) {
        const json_t *bound = json_object_get(rule, bounds[i]);
        double step = whole ? 1 : fmax(fabs(json_number_value(bound)) * 1e-3, 1e-9);
        for (int side = -1; side <= 1 && bound != NULL; side++) {
            probe_slot(root, object, key, array, index, json_real(json_number_value(bound) + side * step));
        }
    }
    const json_t *length = json_object_get(rule, "maxLength");
    for (int extra = 0; extra <= 1 && length != NULL; extra++) {
        char text[2048] = "";
        for (json_int_t i = 0; i < json_integer_value(length) + extra; i++) {
            strcat(text, "\xc3\xbc");
        }
        probe_slot(root, object, key, array, index, json_string(text));
    }
}

static void probe_members(json_t *root, json_t *object, const json_t *rule);

/// Arrays: every length up to one too many, and the items' own rule.
static void probe_array(json_t *root, json_t *object, const char *key, const json_t *rule)
{
    json_t *items = json_object_get(rule, "items");
    json_t *array = json_object_get(object, key);
    json_int_t most = json_integer_value(json_object_get(rule, "maxItems"));
    json_t *longer = json_array();
    for (json_int_t count = 0; count <= most + 1; count++) {
        probe_slot(root, object, key, NULL, 0, json_deep_copy(longer));
        json_array_append(longer, json_array_get(array, 0));
    }
    json_decref(longer);
    for (size_t i = 0; i < json_array_size(array); i++) {
        probe_rule(root, NULL, NULL, array, i, items);
        if (json_object_get(items, "properties") != NULL) {
            probe_members(root, json_array_get(array, i), items);
        }
    }
}

static void probe_members(json_t *root, json_t *object, const json_t *rule)
{
    const char *key;
    json_t *inner;
    probe_slot(root, object, "surprise", NULL, 0, json_integer(1));
    json_object_foreach(json_object_get(rule, "properties"), key, inner)
    {
        probe_rule(root, object, key, NULL, 0, inner);
        json_t *old = json_incref(json_object_get(object, key));
        if (old == NULL) {
            continue;
        }
        json_object_del(object, key);
        assert_true(agrees(root));
        json_object_set_new(object, key, old);
        if (json_is_array(old)) {
            probe_array(root, object, key, inner);
        } else if (json_is_object(old)) {
            probe_members(root, old, inner);
        }
    }
}

static void test_reader_and_schema_agree_at_every_bound(void **state)
{
    (void)state;
    json_t *scene =
        json_pack("{s:[f,f,f],s:f,s:[{s:[f,f,f],s:[f,f,f],s:[f,f,f]}],s:{s:f,s:i,s:i,s:f,s:f,s:f}}", "size_m", 1.0, 1.0,
                  1.0, "cell_m", 0.125, "blocks", "min_m", 0.0, 0.0, 0.0, "max_m", 0.5, 0.5, 0.5, "velocity_m_s", 1.0,
                  1.0, 1.0, "solver", "flip_ratio", 0.9, "pressure_iterations", 5, "substeps_max", 2, "cfl", 1.0,
                  "pressure_tolerance", 0.001, "density_correction", 0.5);
    assert_non_null(scene);
    assert_true(agrees(scene));
    probe_members(scene, scene, schema);
    json_decref(scene);
}

static uint32_t random_next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/// Changes, adds or removes something at a random place below `value`.
static void mutate(json_t *value, uint64_t *random)
{
    json_t *inner = NULL;
    const char *key = NULL;
    size_t index = 0;
    if (json_is_object(value) && json_object_size(value) > 0) {
        void *at = json_object_iter(value);
        for (size_t skip = random_next(random) % json_object_size(value); skip > 0; skip--) {
            at = json_object_iter_next(value, at);
        }
        key = json_object_iter_key(at);
        inner = json_object_iter_value(at);
    } else if (json_is_array(value) && json_array_size(value) > 0) {
        index = random_next(random) % json_array_size(value);
        inner = json_array_get(value, index);
    } else {
        return;
    }
    uint32_t choice = random_next(random) % 8;
    if (choice >= 4 && (json_is_object(inner) || json_is_array(inner))) {
        mutate(inner, random);
        return;
    }
    json_t *fresh = strange_value(random_next(random));
    if (choice % 4 == 0 && json_is_number(inner)) {
        json_decref(fresh);
        fresh = json_real(json_number_value(inner) * (random_next(random) % 400 / 100.0 - 1.0));
    }
    if (key == NULL) {
        choice % 4 == 1 ? json_array_append_new(value, fresh) : json_array_set_new(value, index, fresh);
    } else if (choice % 4 == 1) {
        json_object_del(value, key);
        json_decref(fresh);
    } else {
        json_object_set_new(value, choice % 4 == 2 ? "other" : key, fresh);
    }
}

static void test_reader_and_schema_agree_on_mutants(void **state)
{
    (void)state;
    uint64_t random = 20240607;
    unsigned accepted = 0;
    for (int i = 0; i < MUTANTS; i++) {
        json_t *mutant = json_deep_copy(scenes[random_next(&random) % scene_count]);
        uint32_t changes = random_next(&random) % 3 + 1;
        for (uint32_t change = 0; change < changes; change++) {
            mutate(mutant, &random);
        }
        accepted += validates(schema, mutant);
        assert_true(agrees(mutant));
        json_decref(mutant);
    }
    // Both answers must have been exercised.
    assert_in_range(accepted, MUTANTS / 20, MUTANTS - MUTANTS / 20);
}

static double default_of(const char *const *path)
{
    const json_t *rule = schema;
    for (; *path != NULL; path++) {
        rule = json_object_get(json_object_get(rule, "properties"), *path);
    }
    assert_true(json_is_number(json_object_get(rule, "default")));
    return json_number_value(json_object_get(rule, "default"));
}

static void test_schema_states_the_tanks_defaults(void **state)
{
    (void)state;
    tarn_tank_desc tank;
    tarn_tank_desc_default(&tank);
    for (int id = 0; id < TARN_PARAMETER_COUNT; id++) {
        const char *name = tarn_tank_parameter_spec((tarn_parameter)id)->name;
        const char *in_solver[] = {"solver", name, NULL}, *at_top[] = {name, NULL};
        double stated = default_of(id == TARN_PARAMETER_GRAVITY ? at_top : in_solver);
        assert_true((float)stated == tank.parameters[id]);
    }
    const char *dt[] = {"dt_s", NULL}, *per_axis[] = {"particles_per_axis", NULL}, *jitter[] = {"jitter", NULL},
               *seed[] = {"seed", NULL};
    assert_true((float)default_of(dt) == tank.dt_s);
    assert_true(default_of(per_axis) == tank.particles_per_axis);
    assert_true((float)default_of(jitter) == tank.jitter);
    assert_true(default_of(seed) == tank.seed);
}

static int load_all(void **state)
{
    (void)state;
    char directory[4096], path[4300];
    static tarn_name names[TARN_SCENES_MAX];
    assert_int_equal(tarn_scene_directory(directory, sizeof directory), TARN_OK);
    snprintf(path, sizeof path, "%s/scene.schema.json", directory);
    schema = json_load_file(path, 0, NULL);
    assert_non_null(schema);
    assert_int_equal(tarn_scene_list(directory, names, TARN_SCENES_MAX, &scene_count), TARN_OK);
    for (uint32_t i = 0; i < scene_count; i++) {
        snprintf(path, sizeof path, "%s/%s.json", directory, names[i]);
        scenes[i] = json_load_file(path, 0, NULL);
        assert_non_null(scenes[i]);
        assert_true(agrees(scenes[i]));
    }
    return scene_count > 0 ? 0 : -1;
}

static int free_all(void **state)
{
    (void)state;
    json_decref(schema);
    for (uint32_t i = 0; i < scene_count; i++) {
        json_decref(scenes[i]);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reader_and_schema_agree_at_every_bound),
        cmocka_unit_test(test_reader_and_schema_agree_on_mutants),
        cmocka_unit_test(test_schema_states_the_tanks_defaults),
    };
    return cmocka_run_group_tests(tests, load_all, free_all);
}
