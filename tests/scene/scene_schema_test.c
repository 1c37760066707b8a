// Holds scene.schema.json and the reader to each other: a small validator of the schema's keywords and the reader are
// given the same probes, made from the schema itself and by seeded mutation, and must agree.
//
//     the schema refuses  <=>  TARN_E_MALFORMED
//     the schema accepts  <=>  TARN_OK, or TARN_E_LIMIT: right one by one, but they don't fit together
#include "kernels/liquid_parameters.h"
#include "server/scene/scene.h"

#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
// cmocka.h needs the four headers above it.
#include <cmocka.h>

enum { MUTANTS = 6000 };

static json_t *schema;
static json_t *scenes[TARN_SCENES_MAX];
static uint32_t scene_count;

// ---- the keywords of JSON Schema that ours uses ----

/// What a rule refers to, or the rule itself.
static const json_t *resolve(const json_t *rule)
{
    const char *name = json_string_value(json_object_get(rule, "$ref"));
    if (name == NULL) {
        return rule;
    }
    assert_int_equal(strncmp(name, "#/$defs/", 8), 0);
    const json_t *found = json_object_get(json_object_get(schema, "$defs"), name + 8);
    assert_non_null(found);
    return found;
}

static bool type_matches(const json_t *types, const json_t *value);

static bool one_type_matches(const char *type, const json_t *value)
{
    double number = json_number_value(value);
    return (strcmp(type, "object") == 0 && json_is_object(value)) ||
           (strcmp(type, "array") == 0 && json_is_array(value)) ||
           (strcmp(type, "string") == 0 && json_is_string(value)) ||
           (strcmp(type, "boolean") == 0 && json_is_boolean(value)) ||
           (strcmp(type, "number") == 0 && json_is_number(value)) ||
           (strcmp(type, "integer") == 0 && json_is_number(value) && number == floor(number));
}

static bool type_matches(const json_t *types, const json_t *value)
{
    if (json_is_string(types)) {
        return one_type_matches(json_string_value(types), value);
    }
    size_t i;
    json_t *type;
    json_array_foreach(types, i, type)
    {
        if (one_type_matches(json_string_value(type), value)) {
            return true;
        }
    }
    return false;
}

/// Writes the ranges beyond ASCII out in full, which regcomp doesn't take.
static void expand_ranges(const char *pattern, char *expanded, size_t expanded_bytes)
{
    wchar_t from[256], to[1024];
    const size_t count = mbstowcs(from, pattern, sizeof from / sizeof from[0]);
    size_t used = 0;
    assert_in_range(count, 1, sizeof from / sizeof from[0] - 1);
    for (size_t i = 0; i < count; i++) {
        assert_in_range(used, 0, sizeof to / sizeof to[0] - 2);
        to[used++] = from[i];
        if (i + 2 < count && from[i + 1] == L'-' && from[i + 2] > 127) {
            for (wchar_t c = from[i] + 1; c < from[i + 2] && used < sizeof to / sizeof to[0] - 2; c++) {
                to[used++] = c;
            }
            i++;
        }
    }
    to[used] = L'\0';
    assert_in_range(wcstombs(expanded, to, expanded_bytes), 1, expanded_bytes - 1);
}

static bool pattern_matches(const char *pattern, const char *text)
{
    static struct {
        const char *pattern; // the schema's
        regex_t expression;
    } compiled[16];
    size_t i = 0;
    while (compiled[i].pattern != NULL && compiled[i].pattern != pattern) {
        i++;
        assert_in_range(i, 0, sizeof compiled / sizeof compiled[0] - 1);
    }
    if (compiled[i].pattern == NULL) {
        char expanded[4096];
        expand_ranges(pattern, expanded, sizeof expanded);
        assert_int_equal(regcomp(&compiled[i].expression, expanded, REG_EXTENDED | REG_NOSUB), 0);
        compiled[i].pattern = pattern;
    }
    return regexec(&compiled[i].expression, text, 0, NULL, 0) == 0;
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
static bool has_required(const json_t *names, const json_t *value);

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
    return true;
}

static bool has_required(const json_t *names, const json_t *value)
{
    size_t i;
    json_t *name;
    json_array_foreach(names, i, name)
    {
        if (json_object_get(value, json_string_value(name)) == NULL) {
            return false;
        }
    }
    return true;
}

/// Of a list of rules or values: how many hold.
static size_t count_matches(const json_t *list, const json_t *value, bool are_rules)
{
    size_t i, count = 0;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        count += are_rules ? validates(item, value) : json_equal(item, value);
    }
    return count;
}

/// A keyword that this validator doesn't know fails the test, so that none is passed over.
static bool keyword_validates(const json_t *rule, const char *keyword, const json_t *limit, const json_t *value)
{
    double number = json_number_value(value), bound = json_number_value(limit);
    if (strcmp(keyword, "type") == 0) {
        return type_matches(limit, value);
    } else if (strcmp(keyword, "$ref") == 0) {
        return validates(resolve(rule), value);
    } else if (strcmp(keyword, "enum") == 0) {
        return count_matches(limit, value, false) == 1;
    } else if (strcmp(keyword, "oneOf") == 0) {
        return count_matches(limit, value, true) == 1;
    } else if (strcmp(keyword, "not") == 0) {
        return !validates(limit, value);
    } else if (strcmp(keyword, "required") == 0) {
        return !json_is_object(value) || has_required(limit, value);
    } else if (strcmp(keyword, "pattern") == 0) {
        return !json_is_string(value) || pattern_matches(json_string_value(limit), json_string_value(value));
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
    const char *others[] = {"$schema", "$id", "title", "description", "default", "$defs", "additionalProperties"};
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

/// What a scene says that its model has no use for is the reader's alone to see: the schema knows all models' fields.
static bool is_of_other_model(const char *why)
{
    return strstr(why, "which the model \"") != NULL || strstr(why, "don't carry") != NULL ||
           strstr(why, "carries: found the unknown field") != NULL;
}

/// Gives one scene to both and compares.
static bool agrees(const json_t *scene)
{
    char *text = json_dumps(scene, JSON_ENCODE_ANY | JSON_COMPACT);
    assert_non_null(text);
    static tarn_scene read;
    char why[TARN_SCENE_WHY_BYTES] = "";
    // Without a folder, so that meshes aren't sampled thousands of times; a file is then what doesn't fit.
    tarn_status status = tarn_scene_read_text("probe.json", NULL, "probe", text, strlen(text), &read, why, sizeof why);
    if (status == TARN_OK) {
        tarn_scene_free(&read);
    }
    bool accepted = validates(schema, scene);
    bool same =
        accepted ? status == TARN_OK || status == TARN_E_LIMIT || is_of_other_model(why) : status == TARN_E_MALFORMED;
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

/// The rules that were probed; the whole schema must be among them at the end.
static const json_t *probed[512];
static size_t probed_count;

static bool is_probed(const json_t *rule)
{
    for (size_t i = 0; i < probed_count; i++) {
        if (probed[i] == rule) {
            return true;
        }
    }
    return false;
}

static void note_probed(const json_t *rule)
{
    if (!is_probed(rule)) {
        assert_in_range(probed_count, 0, sizeof probed / sizeof probed[0] - 1);
        probed[probed_count++] = rule;
    }
}

static bool has_type(const json_t *rule, const char *name)
{
    const json_t *types = json_object_get(rule, "type");
    json_t *wanted = json_string(name);
    bool found = json_equal(types, wanted) || count_matches(types, wanted, false) > 0;
    json_decref(wanted);
    return found;
}

static void probe_strings(json_t *root, json_t *object, const char *key, json_t *array, size_t index,
                          const json_t *rule)
{
    static const char *const strings[] = {"",
                                          "a",
                                          "A",
                                          "oil",
                                          "#00ff7F",
                                          "#00ff7",
                                          "#00ff7g",
                                          "00ff7f7",
                                          "#00ff7f0",
                                          "#00ff7fg",
                                          "duck.obj",
                                          "../duck.obj",
                                          "/duck.obj",
                                          "a//b.obj",
                                          "a/.b.obj",
                                          ".obj",
                                          "a/.obj",
                                          "duck.OBJ",
                                          "a/b-_c.stl",
                                          "scan.ply",
                                          "scan.Ply",
                                          "a/fish.glb",
                                          "fish.gltf",
                                          "a.b.pgm",
                                          "a/../b.pgm",
                                          "b .pgm",
                                          "\xc3\xbc.pgm",
                                          "a\\b.obj",
                                          "ab.obj/",
                                          "multigrid",
                                          "apic",
                                          "quadratic",
                                          "free",
                                          "Free",
                                          "a\nb",
                                          "\033[31m",
                                          "\x7f",
                                          "\xc2\x9b",
                                          "\xc2\xa0",
                                          "\xe2\x80\xa7",
                                          "\xe2\x80\xa8",
                                          "\xe2\x80\xae",
                                          "\xe2\x80\xaf",
                                          "\xe2\x81\xa6",
                                          "\xe2\x81\xaa"};
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++) {
        probe_slot(root, object, key, array, index, json_string(strings[i]));
    }
    // Lengths around those of names and file names.
    static const size_t lengths[] = {63, 64, 120, 121};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char text[256];
        memset(text, 'a', lengths[i]);
        text[lengths[i]] = '\0';
        probe_slot(root, object, key, array, index, json_string(text));
        memcpy(text + lengths[i] - 4, ".obj", 4);
        probe_slot(root, object, key, array, index, json_string(text));
        memcpy(text + lengths[i] - 4, ".pgm", 4);
        probe_slot(root, object, key, array, index, json_string(text));
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

static void probe_rule(json_t *root, json_t *object, const char *key, json_t *array, size_t index, const json_t *rule)
{
    note_probed(rule);
    for (unsigned i = 0; i < STRANGE_VALUES; i++) {
        probe_slot(root, object, key, array, index, strange_value(i));
    }
    const char *bounds[] = {"minimum", "maximum", "exclusiveMinimum"};
    for (size_t i = 0; i < 3; i++) {
        const json_t *bound = json_object_get(rule, bounds[i]);
        double step = has_type(rule, "integer") ? 1 : fmax(fabs(json_number_value(bound)) * 1e-3, 1e-9);
        for (int side = -1; side <= 1 && bound != NULL; side++) {
            probe_slot(root, object, key, array, index, json_real(json_number_value(bound) + side * step));
        }
    }
    if (has_type(rule, "string")) {
        probe_strings(root, object, key, array, index, rule);
    }
}

static void probe_members(json_t *root, json_t *object, const json_t *rule);
static void probe_array(json_t *root, json_t *object, const char *key, json_t *outer, size_t index, const json_t *rule);

/// A value and what is in it.
static void probe_value(json_t *root, json_t *object, const char *key, json_t *array, size_t index, const json_t *rule)
{
    rule = resolve(rule);
    probe_rule(root, object, key, array, index, rule);
    json_t *value = object != NULL ? json_object_get(object, key) : json_array_get(array, index);
    if (json_is_array(value)) {
        probe_array(root, object, key, array, index, rule);
    } else if (json_is_object(value)) {
        probe_members(root, value, rule);
    }
}

/// Arrays: every length up to one too many, and the items' own rule.
static void probe_array(json_t *root, json_t *object, const char *key, json_t *outer, size_t index, const json_t *rule)
{
    json_t *array = json_incref(object != NULL ? json_object_get(object, key) : json_array_get(outer, index));
    json_int_t most = json_integer_value(json_object_get(rule, "maxItems"));
    json_t *longer = json_array();
    for (json_int_t count = 0; count <= most + 1; count++) {
        probe_slot(root, object, key, outer, index, json_deep_copy(longer));
        json_array_append(longer, json_array_get(array, 0));
    }
    json_decref(longer);
    for (size_t i = 0; i < json_array_size(array); i++) {
        probe_value(root, NULL, NULL, array, i, json_object_get(rule, "items"));
    }
    json_decref(array);
}

static void probe_members(json_t *root, json_t *object, const json_t *rule)
{
    const char *key;
    json_t *inner;
    note_probed(rule);
    probe_slot(root, object, "surprise", NULL, 0, json_integer(1));
    json_object_foreach(json_object_get(rule, "properties"), key, inner)
    {
        json_t *old = json_incref(json_object_get(object, key));
        if (old == NULL) {
            probe_rule(root, object, key, NULL, 0, resolve(inner));
            continue;
        }
        probe_value(root, object, key, NULL, 0, inner);
        json_object_del(object, key);
        assert_true(agrees(root));
        json_object_set_new(object, key, old);
    }
}

/// Every rule below this one was probed and says what it is about.
static void expect_probed(const char *name, const json_t *rule)
{
    const json_t *target = resolve(rule);
    if (!is_probed(target)) {
        fail_msg("no probe reached the rule of \"%s\": the example lacks it", name);
    }
    const char *key;
    json_t *inner;
    json_object_foreach(json_object_get(target, "properties"), key, inner)
    {
        expect_probed(key, inner);
    }
    inner = json_object_get(target, "items");
    if (inner != NULL) {
        expect_probed(name, inner);
    }
}

/// A scene that has every field somewhere.
static const char example[] =
    "{\"$schema\":\"s\",\"title\":\"t\",\"description\":\"d\",\"lesson\":{\"text\":\"a\",\"task\":\"b\",\"answer\":"
    "\"c\"},"
    "\"size_m\":[1,1,1],\"cell_m\":0.125,\"dt_s\":0.01,"
    "\"gravity_m_s2\":[1,-9,0],\"surface_tension_n_m\":0.07,\"dye_mixing\":0.5,\"wall_friction\":0.5,"
    "\"particles_per_axis\":1,\"jitter\":0.1,"
    "\"seed\":3,\"particles_max\":4000,"
    "\"liquids\":[{\"name\":\"water\",\"density_kg_m3\":1000,\"viscosity_m2_s\":0,\"colour\":\"#102030\"},"
    "{\"name\":\"oil\",\"density_kg_m3\":900}],"
    "\"blocks\":[{\"min_m\":[0,0,0],\"max_m\":[0.5,0.5,0.5],\"velocity_m_s\":[1,1,1],\"liquid\":\"oil\","
    "\"colour\":\"#ffffff\",\"carries\":{\"$comment\":\"c\"}}],"
    "\"fluids\":[{\"shape\":{\"sphere\":{\"radius_m\":0.2}},\"position_m\":[0.5,0.7,0.5],"
    "\"rotation\":[0,0,0,1],\"velocity_m_s\":[0,1,0],\"liquid\":1,\"colour\":\"#ffffff\"}],"
    "\"solids\":[{\"shape\":{\"box\":{\"size_m\":[0.1,0.1,0.1]},\"inverted\":false},\"position_m\":[0.5,0,0],"
    "\"rotation_deg\":[1,2,3],\"motion\":\"free\",\"density_kg_m3\":300,\"velocity_m_s\":[0,1,0],"
    "\"angular_velocity_rad_s\":[0,1,0],"
    "\"colour\":\"#aabbcc\"},"
    "{\"shape\":{\"capsule\":{\"radius_m\":0.1,\"length_m\":0.1}},\"motion\":\"keyframes\",\"loop\":true,"
    "\"keyframes\":[{\"time_s\":0,\"position_m\":[0.5,0.5,0.5],\"rotation_deg\":[0,0,0]},"
    "{\"time_s\":1,\"position_m\":[0.5,0.5,0.5],\"rotation\":[0,0,0,1]}],\"friction\":0.5},"
    "{\"shape\":{\"heightfield\":{\"heights_m\":[[0,0.001],[0.001,0]],\"spacing_m\":0.001}},\"position_m\":[0,0,0]}],"
    "\"emitters\":[{\"shape\":{\"cylinder\":{\"radius_m\":0.1,\"height_m\":0.1}},\"position_m\":[0.5,0.5,0.5],"
    "\"rotation_deg\":[0,0,90],\"velocity_m_s\":[0,-1,0],\"liquid\":0,\"colour\":\"#ffffff\",\"start_s\":1,"
    "\"end_s\":2}],"
    "\"drains\":[{\"shape\":{\"box\":{\"size_m\":[1,1,1]}},\"position_m\":[0.5,0.5,0.5],\"rotation_deg\":[0,0,0]}],"
    "\"probes\":[{\"name\":\"rod\",\"kind\":\"gauge\",\"at_m\":[0.5,0,0.5],\"to_m\":[0.5,1,0.5]}],"
    "\"tank_motion\":{\"loop\":true,\"keyframes\":[{\"time_s\":0,\"position_m\":[0,0,0],\"rotation_deg\":[0,0,0]},"
    "{\"time_s\":2,\"rotation_deg\":[0,360,0]}]},"
    "\"solver\":{\"kind\":\"multigrid\",\"transfer\":\"apic\",\"weights\":\"quadratic\",\"p2g_weights\":\"cubic\","
    "\"g2p_weights\":\"linear\",\"flip_ratio\":0.9,"
    "\"pressure_tolerance\":0.001,\"pressure_iterations\":5,\"relaxation\":0.5,\"cfl\":1,\"substeps_max\":2,"
    "\"density_correction\":0.5,\"reseed\":true}}";

/// The same with files, which don't fit where there is no folder.
static const char example_of_files[] =
    "{\"size_m\":[1,1,1],\"cell_m\":0.125,\"blocks\":[{\"min_m\":[0,0,0],\"max_m\":[0.5,0.5,0.5]}],"
    "\"particles\":[\"liquid.ply\"],"
    "\"solids\":[{\"shape\":{\"mesh\":{\"file\":\"duck.obj\",\"scale\":2}},\"position_m\":[0,0,0]},"
    "{\"shape\":{\"heightfield\":{\"file\":\"ground.pgm\",\"height_m\":1,\"spacing_m\":1}},\"position_m\":[0,0,0]}]}";

static void test_reader_and_schema_agree_at_every_bound(void **state)
{
    (void)state;
    const char *examples[] = {example, example_of_files};
    for (int i = 0; i < 2; i++) {
        json_t *scene = json_loads(examples[i], 0, NULL);
        assert_non_null(scene);
        static tarn_scene read;
        char why[TARN_SCENE_WHY_BYTES] = "";
        tarn_status status =
            tarn_scene_read_text("a.json", NULL, "a", examples[i], strlen(examples[i]), &read, why, sizeof why);
        if (status != (i == 0 ? TARN_OK : TARN_E_LIMIT)) {
            fail_msg("%s", why);
        }
        if (status == TARN_OK) {
            tarn_scene_free(&read);
        }
        assert_true(agrees(scene));
        probe_members(scene, scene, schema);
        json_decref(scene);
    }
    expect_probed("the scene", schema);
}

static void expect_described(const char *name, const json_t *rule)
{
    const json_t *target = resolve(rule);
    const char *key;
    json_t *inner;
    json_object_foreach(json_object_get(target, "properties"), key, inner)
    {
        // What a field means stands with the field, or with what it refers to; kinds of shapes name themselves.
        bool is_said = json_object_get(inner, "description") != NULL ||
                       json_object_get(resolve(inner), "description") != NULL || has_type(inner, "object");
        if (!is_said) {
            fail_msg("\"%s\" of %s has no description", key, name);
        }
        expect_described(key, inner);
    }
    inner = json_object_get(target, "items");
    if (inner != NULL) {
        expect_described(name, inner);
    }
}

static void test_every_field_is_described(void **state)
{
    (void)state;
    expect_described("the scene", schema);
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

static const json_t *default_of(const char *const *path)
{
    const json_t *rule = schema;
    for (; *path != NULL; path++) {
        rule = resolve(json_object_get(json_object_get(rule, "properties"), *path));
        const json_t *items = path[1] != NULL ? json_object_get(rule, "items") : NULL;
        rule = items != NULL ? resolve(items) : rule;
    }
    const json_t *found = json_object_get(rule, "default");
    assert_non_null(found);
    return found;
}

#define DEFAULT_OF(...) default_of((const char *const[]){__VA_ARGS__, NULL})
#define NUMBER_OF(...) json_number_value(DEFAULT_OF(__VA_ARGS__))
#define STRING_OF(...) json_string_value(DEFAULT_OF(__VA_ARGS__))

static void test_schema_states_the_tanks_defaults(void **state)
{
    (void)state;
    tarn_tank_desc tank;
    tarn_tank_desc_default(&tank);
    assert_string_equal(STRING_OF("model"), tarn_model_at(tank.model)->name);
    for (uint32_t id = 0; id < tarn_model_at(0)->parameter_count; id++) {
        const char *name = tarn_model_parameter(tarn_model_at(0), id)->name;
        bool at_top = json_object_get(json_object_get(schema, "properties"), name) != NULL;
        double stated = at_top ? NUMBER_OF(name) : NUMBER_OF("solver", name);
        assert_true((float)stated == tank.parameters[id]);
    }
    assert_true((float)NUMBER_OF("dt_s") == tank.dt_s);
    assert_true(NUMBER_OF("particles_per_axis") == tank.particles_per_axis);
    assert_true((float)NUMBER_OF("jitter") == tank.jitter);
    assert_true(NUMBER_OF("seed") == tank.seed);
    assert_true(NUMBER_OF("wall_friction") == 0.0 && tank.wall_friction == 0.0f);
    assert_true(NUMBER_OF("solids", "friction") == 0.0);
    assert_true((float)NUMBER_OF("liquids", "density_kg_m3") == tank.liquids[0].density_kg_m3);
    assert_true((float)NUMBER_OF("liquids", "viscosity_m2_s") == tank.liquids[0].viscosity_m2_s);
    assert_int_equal(tank.solver, TARN_SOLVER_MULTIGRID);
    assert_string_equal(STRING_OF("solver", "kind"), "multigrid");
    assert_int_equal(tank.transfer, TARN_TRANSFER_FLIP);
    assert_string_equal(STRING_OF("solver", "transfer"), "flip");
    assert_true(tank.p2g_weights == TARN_WEIGHTS_LINEAR && tank.g2p_weights == TARN_WEIGHTS_LINEAR);
    assert_string_equal(STRING_OF("solver", "weights"), "linear");
    assert_true(json_is_false(DEFAULT_OF("solver", "reseed")) && tank.reseed == 0);
}

static int load_all(void **state)
{
    (void)state;
    char directory[4096], path[4300];
    static tarn_name names[TARN_SCENES_MAX];
    assert_int_equal(tarn_scene_directory(NULL, directory, sizeof directory, NULL, 0), TARN_OK);
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
    // Patterns are about characters, not bytes.
    if (setlocale(LC_ALL, "C.UTF-8") == NULL) {
        print_error("there is no locale C.UTF-8\n");
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reader_and_schema_agree_at_every_bound),
        cmocka_unit_test(test_reader_and_schema_agree_on_mutants),
        cmocka_unit_test(test_every_field_is_described),
        cmocka_unit_test(test_schema_states_the_tanks_defaults),
    };
    return cmocka_run_group_tests(tests, load_all, free_all);
}
