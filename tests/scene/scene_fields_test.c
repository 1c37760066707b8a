// What a tank may hold besides blocks of water: every field is read to its place, and each way in which it can be wrong
// is refused with a sentence that names the place.
#include "kernels/liquid_parameters.h"
#include "tests/scene/scene_expect.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka.h needs the headers above it.
#include <cmocka.h>

#define BOX "'shape':{'box':{'size_m':[0.2,0.4,0.6]}}"
#define AT "'position_m':[0.5,0.25,0.75]"
#define SOLID(more) "'solids':[{" BOX "," more "}]"

static tarn_scene scene;

static void read_with(const char *more)
{
    char why[TARN_SCENE_WHY_BYTES];
    const char *text = scene_with(more);
    if (scene_read_probe(text, &scene, why) != TARN_OK) {
        fail_msg("%s\n%s", text, why);
    }
}

static void expect_colour(const uint8_t *colour, int red, int green, int blue)
{
    assert_int_equal(colour[0], red);
    assert_int_equal(colour[1], green);
    assert_int_equal(colour[2], blue);
}

static void expect_near(const float *found, const double *wanted, int count)
{
    for (int i = 0; i < count; i++) {
        assert_float_equal(found[i], wanted[i], 1e-6);
    }
}

#define EXPECT_NEAR(found, ...)                                                                                        \
    expect_near(found, (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

// ---- what is right ----

static void test_reads_liquids_by_name_and_place(void **state)
{
    (void)state;
    read_with("'liquids':[{'name':'water','colour':'#0A0b0c'},{'density_kg_m3':800,'viscosity_m2_s':0.01},"
              "{'name':'honey'}],'fluids':["
              "{'shape':{'sphere':{'radius_m':0.2}}," AT ",'liquid':'honey','colour':'#ff8000',"
              "'velocity_m_s':[1,-2,3]},{'shape':{'sphere':{'radius_m':0.1}}," AT ",'liquid':1}]");
    const tarn_tank_desc *tank = &scene.tank;
    assert_int_equal(tank->liquid_count, 3);
    assert_string_equal(scene.liquid_names[0], "water");
    assert_string_equal(scene.liquid_names[1], "");
    expect_colour(tank->liquids[0].colour, 10, 11, 12);
    assert_true(tank->liquids[1].density_kg_m3 == 800.0f && tank->liquids[1].viscosity_m2_s == 0.01f);
    assert_true(tank->liquids[2].density_kg_m3 == 1000.0f && tank->liquids[2].viscosity_m2_s == 0.0f);
    assert_memory_not_equal(tank->liquids[1].colour, tank->liquids[2].colour, 3);
    assert_int_equal(tank->fluid_count, 2);
    assert_int_equal(tank->fluids[0].liquid, 2);
    expect_colour(tank->fluids[0].colour, 255, 128, 0);
    assert_int_equal(tank->fluids[0].colour[3], 255);
    EXPECT_NEAR(tank->fluids[0].velocity_m_s, 1, -2, 3);
    assert_int_equal(tank->fluids[1].liquid, 1);
    assert_int_equal(tank->fluids[1].colour[3], 0);
    assert_int_equal(tank->blocks[0].liquid, 0);
    assert_int_equal(tank->blocks[0].colour[3], 0);
    tarn_scene_free(&scene);
}

static void test_reads_every_shape(void **state)
{
    (void)state;
    read_with("'solids':[{'shape':{'box':{'size_m':[0.2,0.4,0.6]},'inverted':true}," AT "},"
              "{'shape':{'sphere':{'radius_m':0.3}}," AT "},"
              "{'shape':{'capsule':{'radius_m':0.1,'length_m':0.5}}," AT "},"
              "{'shape':{'cylinder':{'radius_m':0.1,'height_m':0.5}}," AT "},"
              "{'shape':{'heightfield':{'spacing_m':0.5,'heights_m':[[0,0.2],[0,0.2],[0,0.2]]}}," AT "}]");
    const tarn_solid *solids = scene.tank.solids;
    assert_int_equal(scene.tank.solid_count, 5);
    assert_int_equal(solids[0].shape.kind, TARN_SHAPE_BOX);
    EXPECT_NEAR(solids[0].shape.half_m, 0.1, 0.2, 0.3);
    assert_int_equal(solids[0].shape.inverted, 1);
    EXPECT_NEAR(solids[0].pose.position_m, 0.5, 0.25, 0.75);
    EXPECT_NEAR(solids[0].pose.rotation, 0, 0, 0, 1);
    assert_int_equal(solids[1].shape.kind, TARN_SHAPE_SPHERE);
    EXPECT_NEAR(solids[1].shape.half_m, 0.3);
    assert_int_equal(solids[1].shape.inverted, 0);
    assert_int_equal(solids[2].shape.kind, TARN_SHAPE_CAPSULE);
    EXPECT_NEAR(solids[2].shape.half_m, 0.1, 0.25);
    assert_int_equal(solids[3].shape.kind, TARN_SHAPE_CYLINDER);
    EXPECT_NEAR(solids[3].shape.half_m, 0.1, 0.25);
    assert_int_equal(solids[4].shape.kind, TARN_SHAPE_FIELD);
    assert_int_equal(scene.tank.field_count, 1);
    // Half a metre from its middle in x and none in z the ground is as high as it was given; above it is air.
    const tarn_distance_field *field = &scene.tank.fields[solids[4].shape.field];
    assert_float_equal(tarn_distance_field_at_m(field, (const double[]){0.25, 0.2, 0}), 0, 0.02);
    assert_true(tarn_distance_field_at_m(field, (const double[]){-0.2, 0.1, 0}) > 0);
    assert_true(tarn_distance_field_at_m(field, (const double[]){0.2, 0.1, 0}) < 0);
    tarn_scene_free(&scene);
    assert_null(scene.tank.fields[0].distance_m);
    tarn_scene_free(&scene);
}

static void test_equal_heights_share_a_field(void **state)
{
    (void)state;
#define GROUND(height) "{'shape':{'heightfield':{'spacing_m':0.5,'heights_m':[[0,0.2],[0," height "]]}}," AT "}"
    read_with("'solids':[" GROUND("0.2") "," GROUND("0.2") "," GROUND("0.1") "]");
    assert_int_equal(scene.tank.field_count, 2);
    assert_int_equal(scene.tank.solids[1].shape.field, 0);
    assert_int_equal(scene.tank.solids[2].shape.field, 1);
    tarn_scene_free(&scene);
}

static void test_reads_rotations(void **state)
{
    (void)state;
    const double half = sqrt(0.5);
    read_with("'solids':[{" BOX "," AT ",'rotation_deg':[90,0,0]},{" BOX "," AT ",'rotation_deg':[0,90,90]},"
              "{" BOX "," AT ",'rotation':[0,0.6,0,0.803]}]");
    const tarn_solid *solids = scene.tank.solids;
    EXPECT_NEAR(solids[0].pose.rotation, half, 0, 0, half);
    // First about y, then about z: x goes to -z and stays there.
    double x[3];
    tarn_pose_from_shape(&solids[1].pose, (const double[]){1, 0, 0}, x);
    assert_float_equal(x[2], 0.75 - 1, 1e-6);
    // Nearly of length 1 is meant as 1.
    EXPECT_NEAR(solids[2].pose.rotation, 0, 0.6 / hypot(0.6, 0.803), 0, 0.803 / hypot(0.6, 0.803));
    tarn_scene_free(&scene);
}

static void test_reads_solids_that_move(void **state)
{
    (void)state;
    read_with("'wall_friction':0.25,'solids':[{" BOX ",'motion':'keyframes','loop':true,'friction':0.5,'keyframes':["
              "{'time_s':0,'position_m':[0.1,0.2,0.3]},{'time_s':1.5,'position_m':[0.4,0.2,0.3]},"
              "{'time_s':3,'position_m':[0.1,0.2,0.3]}]},"
              "{" BOX "," AT ",'motion':'free','density_kg_m3':250,'velocity_m_s':[0,2,0],'colour':'#010203'},"
              "{" BOX "," AT ",'motion':'free'},"
              "{" BOX ",'motion':'keyframes','keyframes':[{'time_s':2,'position_m':[0,0,0],'rotation_deg':[0,0,90]},"
              "{'time_s':5,'position_m':[0.3,0,0],'rotation_deg':[0,0,180]}]}]");
    const tarn_tank_desc *tank = &scene.tank;
    assert_int_equal(tank->solids[0].motion, TARN_MOTION_KEYFRAMES);
    assert_int_equal(tank->solids[0].keyframe_first, 0);
    assert_int_equal(tank->solids[0].keyframe_count, 3);
    assert_int_equal(tank->solids[0].keyframes_loop, 1);
    assert_true(tank->wall_friction == 0.25f && tank->solids[0].friction == 0.5f && tank->solids[1].friction == 0.0f);
    EXPECT_NEAR(tank->solids[0].pose.position_m, 0.1, 0.2, 0.3);
    assert_true(tank->keyframes[1].time_s == 1.5f && tank->keyframes[1].pose.position_m[0] == 0.4f);
    assert_int_equal(tank->solids[1].motion, TARN_MOTION_FREE);
    assert_true(tank->solids[1].density_kg_m3 == 250.0f && tank->solids[1].velocity_m_s[1] == 2.0f);
    expect_colour(tank->solids[1].colour, 1, 2, 3);
    assert_true(tank->solids[2].density_kg_m3 == 500.0f);
    // A quarter of a turn is three pieces of 30 degrees.
    assert_int_equal(tank->solids[3].keyframe_first, 3);
    assert_int_equal(tank->solids[3].keyframe_count, 4);
    assert_int_equal(tank->solids[3].keyframes_loop, 0);
    assert_int_equal(tank->keyframe_count, 7);
    const tarn_keyframe *second = &tank->keyframes[4];
    assert_true(second->time_s == 3.0f);
    EXPECT_NEAR(second->pose.position_m, 0.1, 0, 0);
    EXPECT_NEAR(second->pose.rotation, 0, 0, sqrt(0.75), 0.5);
    tarn_scene_free(&scene);
}

static void test_reads_gravity(void **state)
{
    (void)state;
    read_with("'gravity_m_s2':[3,-4,0]");
    assert_true(scene.tank.parameters[TARN_PARAMETER_GRAVITY] == 5.0f);
    EXPECT_NEAR(scene.tank.gravity_direction, 0.6, -0.8, 0);
    tarn_scene_free(&scene);
    read_with("'gravity_m_s2':[3e-162,-4e-162,0]"); // whose squares are subnormal
    EXPECT_NEAR(scene.tank.gravity_direction, 0.6, -0.8, 0);
    read_with("'gravity_m_s2':[0,0,0]");
    assert_true(scene.tank.parameters[TARN_PARAMETER_GRAVITY] == 0.0f);
    EXPECT_NEAR(scene.tank.gravity_direction, 0, -1, 0);
    tarn_scene_free(&scene);
    read_with("'gravity_m_s2':7");
    assert_true(scene.tank.parameters[TARN_PARAMETER_GRAVITY] == 7.0f);
    EXPECT_NEAR(scene.tank.gravity_direction, 0, -1, 0);
    tarn_scene_free(&scene);
}

static void test_reads_taps_and_drains(void **state)
{
    (void)state;
    read_with("'particles_max':9000,'emitters':[{'shape':{'cylinder':{'radius_m':0.1,'height_m':0.1}}," AT ","
              "'velocity_m_s':[0,-1,0.5],'start_s':1,'end_s':4,'liquid':0,'colour':'#112233'},"
              "{" BOX "," AT ",'velocity_m_s':[0,0,0]}],'drains':[{" BOX "," AT ",'rotation_deg':[0,45,0]}]");
    const tarn_tank_desc *tank = &scene.tank;
    assert_int_equal(tank->emitter_count, 2);
    assert_int_equal(tank->emitters[0].shape.kind, TARN_SHAPE_CYLINDER);
    EXPECT_NEAR(tank->emitters[0].velocity_m_s, 0, -1, 0.5);
    assert_true(tank->emitters[0].start_s == 1.0f && tank->emitters[0].end_s == 4.0f);
    expect_colour(tank->emitters[0].colour, 17, 34, 51);
    assert_true(tank->emitters[1].start_s == 0.0f && tank->emitters[1].end_s == 0.0f);
    assert_int_equal(tank->drain_count, 1);
    EXPECT_NEAR(tank->drains[0].pose.position_m, 0.5, 0.25, 0.75);
    assert_true(tank->drains[0].pose.rotation[1] > 0.38f);
    tarn_scene_free(&scene);
}

static void test_reads_the_solver(void **state)
{
    (void)state;
    read_with("'surface_tension_n_m':0.07,'dye_mixing':0.25,'solver':{'kind':'gauss-seidel','relaxation':1.5,"
              "'transfer':'apic','weights':'quadratic','reseed':true}");
    const tarn_tank_desc *tank = &scene.tank;
    assert_int_equal(tank->solver, TARN_SOLVER_GAUSS_SEIDEL);
    assert_int_equal(tank->transfer, TARN_TRANSFER_APIC);
    assert_true(tank->p2g_weights == TARN_WEIGHTS_QUADRATIC && tank->g2p_weights == TARN_WEIGHTS_QUADRATIC);
    assert_int_equal(tank->reseed, 1);
    assert_true(tank->parameters[TARN_PARAMETER_RELAXATION] == 1.5f);
    assert_true(tank->parameters[TARN_PARAMETER_SURFACE_TENSION] == 0.07f);
    assert_true(tank->parameters[TARN_PARAMETER_DYE_MIXING] == 0.25f);
    tarn_scene_free(&scene);
    read_with("'solver':{'weights':'quadratic','g2p_weights':'cubic'}");
    assert_true(scene.tank.p2g_weights == TARN_WEIGHTS_QUADRATIC && scene.tank.g2p_weights == TARN_WEIGHTS_CUBIC);
    tarn_scene_free(&scene);
    read_with("'solver':{'p2g_weights':'cubic'}");
    assert_true(scene.tank.p2g_weights == TARN_WEIGHTS_CUBIC && scene.tank.g2p_weights == TARN_WEIGHTS_LINEAR);
    tarn_scene_free(&scene);
}

static void test_one_layer_of_cells_makes_a_flat_tank(void **state)
{
    (void)state;
    char why[TARN_SCENE_WHY_BYTES];
    assert_int_equal(scene_read_probe("{\"size_m\":[1,1,0.125],\"cell_m\":0.125,\"blocks\":[{\"min_m\":[0,0,0],"
                                      "\"max_m\":[0.5,0.5,0.125]}]}",
                                      &scene, why),
                     TARN_OK);
    assert_int_equal(scene.tank.cells[2], 1);
    tarn_scene_free(&scene);
    REFUSES("{\"size_m\":[1,1,0.25],\"cell_m\":0.125," GOOD_BLOCKS "}", TARN_E_LIMIT, "size_m[2]: ", "2 cells",
            "one in a two-dimensional tank", "nearest is 0.125 m (1 cell)");
    REFUSES("{\"size_m\":[1,1,0.375],\"cell_m\":0.125," GOOD_BLOCKS "}", TARN_E_LIMIT, "size_m[2]: ", "(4 cells)");
    REFUSES("{\"size_m\":[0.125,1,1],\"cell_m\":0.125," GOOD_BLOCKS "}", TARN_E_LIMIT, "size_m[0]: ", "(4 cells)");
}

// ---- what is wrong ----

typedef struct refusal {
    const char *more;
    tarn_status status;
    const char *where, *what;
} refusal;

static void expect_refusals(const refusal *refusals, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char where[128];
        snprintf(where, sizeof where, "a.json: %s: ", refusals[i].where);
        REFUSES_WITH(refusals[i].more, refusals[i].status, where, refusals[i].what);
    }
}

#define EXPECT_REFUSALS(table) expect_refusals(table, sizeof(table) / sizeof((table)[0]))

static void test_wrong_values_are_refused_with_their_place(void **state)
{
    (void)state;
    static const refusal table[] = {
        {"'liquids':[]", TARN_E_MALFORMED, "liquids", "1 to 4 liquids"},
        {"'liquids':[{},{},{},{},{}]", TARN_E_MALFORMED, "liquids", "an array of 5"},
        {"'liquids':[{},{'density_kg_m3':0}]", TARN_E_MALFORMED, "liquids[1].density_kg_m3", "0.01 to 20000 kg/m3"},
        {"'liquids':[{'viscosity_m2_s':-1}]", TARN_E_MALFORMED, "liquids[0].viscosity_m2_s", "0 to 100 m2/s"},
        {"'liquids':[{'name':'Oil'}]", TARN_E_MALFORMED, "liquids[0].name", "a-z, 0-9 and '-'"},
        {"'liquids':[{'name':''}]", TARN_E_MALFORMED, "liquids[0].name", "1 to 63"},
        {"'liquids':[{'colour':'red'}]", TARN_E_MALFORMED, "liquids[0].colour", "#rrggbb"},
        {"'liquids':[{'colour':'#12345g'}]", TARN_E_MALFORMED, "liquids[0].colour", "found \"#12345g\""},
        {"'fluids':[{" BOX "}]", TARN_E_MALFORMED, "fluids[0].position_m", "missing"},
        {"'fluids':[{" AT "}]", TARN_E_MALFORMED, "fluids[0].shape", "missing"},
        {"'fluids':[{" BOX "," AT ",'liquid':4}]", TARN_E_MALFORMED, "fluids[0].liquid", "0 to 3"},
        {"'fluids':[{" BOX "," AT ",'liquid':true}]", TARN_E_MALFORMED, "fluids[0].liquid", "a liquid's name"},
        {"'fluids':[{" BOX "," AT ",'velocity_m_s':[0,21,0]}]", TARN_E_MALFORMED, "fluids[0].velocity_m_s[1]",
         "-20 to 20 m/s"},
        {"'solids':[{'shape':{}," AT "}]", TARN_E_MALFORMED, "solids[0].shape", "found none, allowed is exactly one"},
        {"'solids':[{'shape':{'sphere':{'radius_m':1},'box':{'size_m':[1,1,1]}}," AT "}]", TARN_E_MALFORMED,
         "solids[0].shape", "found box and sphere"},
        {"'solids':[{'shape':{'ball':{}}," AT "}]", TARN_E_MALFORMED, "solids[0].shape",
         "\"ball\", allowed are box, sphere"},
        {"'solids':[{'shape':{'sphere':{'radius_m':0}}," AT "}]", TARN_E_MALFORMED, "solids[0].shape.sphere.radius_m",
         "0.0002 to 10000 m"},
        {"'solids':[{'shape':{'box':{'size_m':[1,2]}}," AT "}]", TARN_E_MALFORMED, "solids[0].shape.box.size_m",
         "an array of 3 numbers"},
        {"'solids':[{'shape':{'capsule':{'radius_m':1}}," AT "}]", TARN_E_MALFORMED, "solids[0].shape.capsule.length_m",
         "missing"},
        {"'solids':[{'shape':{'sphere':{'radius_m':1},'inverted':1}," AT "}]", TARN_E_MALFORMED,
         "solids[0].shape.inverted", "true or false"},
        {SOLID(AT ",'motion':'fixed'"), TARN_E_MALFORMED, "solids[0].motion", "\"static\", \"keyframes\", \"free\""},
        {SOLID(AT ",'rotation_deg':[0,0,40000]"), TARN_E_MALFORMED, "solids[0].rotation_deg[2]",
         "-36000 to 36000 degrees"},
        {SOLID(AT ",'rotation':[0,0,1]"), TARN_E_MALFORMED, "solids[0].rotation", "a unit quaternion x, y, z, w"},
        {SOLID(AT ",'rotation':[0,0,0,2]"), TARN_E_MALFORMED, "solids[0].rotation[3]", "-1 to 1"},
        {SOLID(AT ",'rotation':[0,0,0,1],'rotation_deg':[0,0,0]"), TARN_E_MALFORMED, "solids[0]", "at most one"},
        {SOLID("'motion':'keyframes','keyframes':[{'position_m':[0,0,0]}]"), TARN_E_MALFORMED,
         "solids[0].keyframes[0].time_s", "missing"},
        {SOLID("'motion':'keyframes','keyframes':[{'time_s':-1,'position_m':[0,0,0]}]"), TARN_E_MALFORMED,
         "solids[0].keyframes[0].time_s", "0 to 100000 s"},
        {"'emitters':[{" BOX "," AT "}]", TARN_E_MALFORMED, "emitters[0].velocity_m_s", "missing"},
        {"'drains':[{" BOX "," AT ",'liquid':0}]", TARN_E_MALFORMED, "drains[0]", "unknown field \"liquid\""},
        {"'tank_motion':{'keyframes':[{'time_s':0,'rotation':[0,0,0,1]}]}", TARN_E_MALFORMED,
         "tank_motion.keyframes[0]", "unknown field \"rotation\""},
        {"'tank_motion':{}", TARN_E_MALFORMED, "tank_motion.keyframes", "missing"},
        {"'solver':{'kind':'sor'}", TARN_E_MALFORMED, "solver.kind", "\"multigrid\", \"jacobi\", \"gauss-seidel\""},
        {"'solver':{'transfer':'pic'}", TARN_E_MALFORMED, "solver.transfer", "\"flip\", \"apic\""},
        {"'solver':{'weights':'quartic'}", TARN_E_MALFORMED, "solver.weights", "\"linear\", \"quadratic\", \"cubic\""},
        {"'solver':{'relaxation':2}", TARN_E_MALFORMED, "solver.relaxation", "0.1 to 1.95"},
        {"'solver':{'reseed':1}", TARN_E_MALFORMED, "solver.reseed", "true or false"},
        {"'solver':{'substeps_max':1.5}", TARN_E_MALFORMED, "solver.substeps_max", "a whole number from 1 to 8"},
        {"'dye_mixing':2", TARN_E_MALFORMED, "dye_mixing", "0 to 1"},
        {"'surface_tension_n_m':-1", TARN_E_MALFORMED, "surface_tension_n_m", "0 to 10"},
    };
    EXPECT_REFUSALS(table);
}

static void test_fields_that_do_not_fit_are_refused_with_their_place(void **state)
{
    (void)state;
    static const refusal table[] = {
        {"'liquids':[{'name':'a'},{'name':'a'}]", TARN_E_LIMIT, "liquids[1].name", "the name of liquids[0] already"},
        {"'liquids':[{'density_kg_m3':1},{'density_kg_m3':1001}]", TARN_E_LIMIT, "liquids", "1000 times the lightest"},
        {"'fluids':[{" BOX "," AT ",'liquid':1}]", TARN_E_LIMIT, "fluids[0].liquid", "allowed is 0 to 0"},
        {"'liquids':[{'name':'a'},{'name':'b'}],'fluids':[{" BOX "," AT ",'liquid':'c'}]", TARN_E_LIMIT,
         "fluids[0].liquid", "found \"c\", allowed are the names in liquids: a, b"},
        {"'fluids':[{" BOX "," AT ",'liquid':'c'}]", TARN_E_LIMIT, "fluids[0].liquid", "there are none"},
        {"'fluids':[{" BOX ",'position_m':[0.5,1.3,0.5]}]", TARN_E_LIMIT, "fluids[0].position_m[1]",
         "reaches from 1.1 to 1.5 m"},
        {"'drains':[{" BOX ",'position_m':[-0.2,0,0]}]", TARN_E_LIMIT, "drains[0].position_m[0]", "0 to 1 m"},
        {"'particles_max':9000,'emitters':[{" BOX "," AT ",'velocity_m_s':[0,0,0],'start_s':2,'end_s':2}]",
         TARN_E_LIMIT, "emitters[0].end_s", "more than start_s, 2 s"},
        {"'emitters':[{" BOX "," AT ",'velocity_m_s':[0,0,0]}]", TARN_E_LIMIT, "particles_max",
         "a scene with emitters needs it"},
        {SOLID(AT ",'rotation':[0,0,0,0.5]"), TARN_E_LIMIT, "solids[0]", "a quaternion of length 0.5"},
        {SOLID("'motion':'static'"), TARN_E_LIMIT, "solids[0].position_m", "missing"},
        {SOLID(AT ",'density_kg_m3':500"), TARN_E_LIMIT, "solids[0].density_kg_m3", "only with \"motion\": \"free\""},
        {SOLID(AT ",'motion':'free','friction':0"), TARN_E_LIMIT, "solids[0].friction", "no effect"},
        {"'model':'smoke'," SOLID(AT ",'friction':0.5"), TARN_E_LIMIT, "solids[0].friction", "with this model"},
        {"'model':'vortons'," SOLID(AT ",'friction':0.5"), TARN_E_LIMIT, "solids[0].friction", "with this model"},
        {"'gravity_m_s2':[40,0,-40]", TARN_E_LIMIT, "gravity_m_s2", "of the length 56.5685425 m/s²"},
        {SOLID(AT ",'velocity_m_s':[0,0,0]"), TARN_E_LIMIT, "solids[0].velocity_m_s", "only with"},
        {SOLID(AT ",'loop':false"), TARN_E_LIMIT, "solids[0].loop", "only with \"motion\": \"keyframes\""},
        {SOLID(AT ",'keyframes':[{'time_s':0,'position_m':[0,0,0]}]"), TARN_E_LIMIT, "solids[0].keyframes",
         "only with"},
        {SOLID("'motion':'keyframes'"), TARN_E_LIMIT, "solids[0].keyframes", "needs it"},
        {SOLID(AT ",'motion':'keyframes','keyframes':[{'time_s':0,'position_m':[0,0,0]}]"), TARN_E_LIMIT,
         "solids[0].position_m", "leave it out"},
        {SOLID("'motion':'keyframes','keyframes':[{'time_s':1,'position_m':[0,0,0]},"
               "{'time_s':1,'position_m':[0,0,0]}]"),
         TARN_E_LIMIT, "solids[0].keyframes[1].time_s", "more than the one before, 1 s"},
        {SOLID("'motion':'keyframes','keyframes':[{'time_s':100,'position_m':[0,0,0],'rotation_deg':[0,0,0]},"
               "{'time_s':100.00001,'position_m':[0,0,0],'rotation_deg':[0,720,0]}]"),
         TARN_E_LIMIT, "solids[0].keyframes[1].time_s", "too short a time for the turn"},
        {SOLID("'motion':'keyframes','loop':true,'keyframes':[{'time_s':0,'position_m':[0,0,0]},"
               "{'time_s':1,'position_m':[0,0.1,0]}]"),
         TARN_E_LIMIT, "solids[0].loop", "isn't where the first is"},
        {SOLID("'motion':'keyframes','loop':true,'keyframes':[{'time_s':0,'position_m':[0,0,0]},"
               "{'time_s':1,'position_m':[0,0,0],'rotation_deg':[0,0,90]}]"),
         TARN_E_LIMIT, "solids[0].loop", "isn't where the first is"},
        {SOLID("'motion':'keyframes','loop':true,'keyframes':[{'time_s':1,'position_m':[0,0,0]},"
               "{'time_s':2,'position_m':[0,0,0]}]"),
         TARN_E_LIMIT, "solids[0].loop", "the first at 0 s"},
        {SOLID("'motion':'keyframes','keyframes':[{'time_s':0,'position_m':[0,0,0]},"
               "{'time_s':1,'position_m':[0,0,0],'rotation_deg':[0,0,9000]}]"),
         TARN_E_LIMIT, "solids[0].keyframes[0]", "more than 256 key frames"},
        {"'solver':{'kind':'jacobi'},'solids':[{" BOX "," AT ",'motion':'free'}]", TARN_E_LIMIT, "solids[0].motion",
         "\"multigrid\""},
        {"'solids':[{'shape':{'sphere':{'radius_m':0.1},'inverted':true}," AT ",'motion':'free'}]", TARN_E_LIMIT,
         "solids[0].shape.inverted", "allowed is false"},
        {"'solids':[{'shape':{'heightfield':{'spacing_m':1,'heights_m':[[0,0],[0,0,0]]}}," AT "}]", TARN_E_LIMIT,
         "solids[0].shape.heightfield.heights_m[1]", "found 3 heights, allowed are as many as in the first row, 2"},
        {"'solids':[{'shape':{'heightfield':{'spacing_m':1,'height_m':1,'heights_m':[[0,0],[0,0]]}}," AT "}]",
         TARN_E_LIMIT, "solids[0].shape.heightfield.height_m", "only with file"},
        {"'solids':[{'shape':{'mesh':{'file':'duck.obj'}}," AT "}]", TARN_E_LIMIT, "solids[0].shape.mesh.file",
         "wasn't read from a folder"},
        {"'tank_motion':{'keyframes':[{'time_s':1},{'time_s':0.5}]}", TARN_E_LIMIT, "tank_motion.keyframes[1].time_s",
         "more than the one before"},
        {"'tank_motion':{'loop':true,'keyframes':[{'time_s':0}]}", TARN_E_LIMIT, "tank_motion.loop",
         "with 1 key frame,"},
        {"'tank_motion':{'loop':true,'keyframes':[{'time_s':0},{'time_s':2,'rotation_deg':[0,350,0]}]}", TARN_E_LIMIT,
         "tank_motion.loop", "so that nothing jumps"},
        {"'solver':{'kind':'jacobi','relaxation':1.5}", TARN_E_LIMIT, "solver.relaxation", "at most 1"},
    };
    EXPECT_REFUSALS(table);
}

static void test_there_may_be_so_many_of_each_and_no_more(void **state)
{
    (void)state;
    static const struct {
        const char *list, *item, *where;
        int max;
        tarn_status status;
    } cases[] = {
        {"fluids", "{" BOX "," AT "}", "fluids: ", TARN_TANK_FLUIDS_MAX, TARN_E_MALFORMED},
        {"solids", "{" BOX "," AT "}", "solids: ", TARN_TANK_SOLIDS_MAX, TARN_E_MALFORMED},
        {"emitters", "{" BOX "," AT ",'velocity_m_s':[0,0,0]}", "emitters: ", TARN_TANK_EMITTERS_MAX, TARN_E_MALFORMED},
        {"drains", "{" BOX "," AT "}", "drains: ", TARN_TANK_DRAINS_MAX, TARN_E_MALFORMED},
        {"probes", "{'kind':'point','at_m':[0,0,0]}", "probes: ", TARN_PROBES_MAX, TARN_E_MALFORMED},
        {"solids", "{" BOX "," AT ",'motion':'free'}", "solids[16].motion: ", TARN_TANK_BODIES_MAX, TARN_E_LIMIT},
    };
    static char more[32768];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int extra = 0; extra <= 1; extra++) {
            size_t used = (size_t)snprintf(more, sizeof more, "'particles_max':9000,'%s':[", cases[i].list);
            for (int item = 0; item < cases[i].max + extra; item++) {
                used += (size_t)snprintf(more + used, sizeof more - used, "%s%s", item == 0 ? "" : ",", cases[i].item);
            }
            snprintf(more + used, sizeof more - used, "]");
            if (extra == 0) {
                read_with(more);
                tarn_scene_free(&scene);
            } else {
                REFUSES_WITH(more, cases[i].status, cases[i].where);
            }
        }
    }
}

static void test_reads_probes(void **state)
{
    (void)state;
    read_with("'probes':[{'name':'rod','kind':'gauge','at_m':[0.5,0.25,0.75]},{'kind':'flux','at_m':[0.5,0,0],"
              "'to_m':[0.5,0.5,1]},{'kind':'point','at_m':[0,0,0]}]");
    assert_int_equal(scene.probe_count, 3);
    assert_string_equal(scene.probes[0].name, "rod");
    assert_int_equal(scene.probes[0].shows, TARN_SHOWS_GAUGE);
    assert_false(scene.probes[0].has_to);
    assert_float_equal(scene.probes[0].at_m[2], 0.75, 0.0);
    assert_string_equal(scene.probes[1].name, "flux2");
    assert_true(scene.probes[1].has_to);
    assert_float_equal(scene.probes[1].to_m[1], 0.5, 0.0);
    assert_string_equal(scene.probes[2].name, "point3");
    read_with("'solids':[{'shape':{'sphere':{'radius_m':0.1}},'position_m':[0.5,0.5,0.5]}],"
              "'probes':[{'kind':'force','solid':0},{'kind':'wall','at_m':[0,0,0],'to_m':[0.5,0,0.5]}]");
    assert_int_equal(scene.probes[0].shows, TARN_SHOWS_FORCE);
    assert_true(scene.probes[0].has_solid);
    assert_string_equal(scene.probes[1].name, "wall2");
    REFUSES_WITH("'probes':[{'kind':'force','solid':0}]", TARN_E_LIMIT, "probes[0]", "the tank has 0, counted from 0");
    REFUSES_WITH("'probes':[{'kind':'force'}]", TARN_E_LIMIT, "probes[0]", "found no solid");
    REFUSES_WITH("'probes':[{'kind':'force','solid':0.5}]", TARN_E_MALFORMED, "probes[0].solid", "");
    REFUSES_WITH("'probes':[{'kind':'force','solid':0,'at_m':[0,0,0]}]", TARN_E_MALFORMED, "probes[0].at_m",
                 "a force has");
    REFUSES_WITH("'probes':[{'kind':'point','solid':0,'at_m':[0,0,0]}]", TARN_E_LIMIT, "probes[0]", "of a force alone");
    REFUSES_WITH("'probes':[{'kind':'wall','at_m':[0,0.1,0],'to_m':[0.5,0.1,0.5]}]", TARN_E_LIMIT, "probes[0]",
                 "none of the tank's walls");
    REFUSES_WITH("'probes':[{'kind':'rod','at_m':[0,0,0]}]", TARN_E_MALFORMED, "probes[0].kind",
                 "allowed is one of \"point\", \"pressure\"");
    REFUSES_WITH("'probes':[{'kind':'gauge'}]", TARN_E_MALFORMED, "probes[0].at_m", "missing");
    REFUSES_WITH("'probes':[{'kind':'gauge','at_m':[0,0,0],'name':'A b'}]", TARN_E_MALFORMED, "probes[0].name", "a-z");
    REFUSES_WITH("'probes':[{'kind':'point','at_m':[0,7,0]}]", TARN_E_LIMIT, "probes[0]", "y is 7 m; allowed is 0 to");
    REFUSES_WITH("'probes':[{'kind':'point','at_m':[0,0,0],'to_m':[1,1,1]}]", TARN_E_LIMIT, "probes[0]", "one of a");
    REFUSES_WITH("'probes':[{'kind':'flux','at_m':[0,0,0],'to_m':[0.5,0.5,0.5]}]", TARN_E_LIMIT, "probes[0]",
                 "0 coordinates in common");
    REFUSES_WITH("'probes':[{'name':'a','kind':'point','at_m':[0,0,0]},{'name':'a','kind':'point','at_m':[0,0,0]}]",
                 TARN_E_LIMIT, "probes[1]", "\"a\", which probes[0] has");
    REFUSES_WITH("'model':'smoke','probes':[{'kind':'gauge','at_m':[0,0,0]}]", TARN_E_LIMIT, "probes[0]",
                 "has no surface");
}

static void test_different_fields_are_counted(void **state)
{
    (void)state;
    static char more[32768];
    size_t used = (size_t)snprintf(more, sizeof more, "'solids':[");
    for (int i = 0; i <= TARN_TANK_FIELDS_MAX; i++) {
        used += (size_t)snprintf(more + used, sizeof more - used,
                                 "%s{'shape':{'heightfield':{'spacing_m':0.5,'heights_m':[[0,0],[0,0.0%d]]}}," AT "}",
                                 i == 0 ? "" : ",", i + 10);
    }
    snprintf(more + used, sizeof more - used, "]");
    REFUSES_WITH(more, TARN_E_LIMIT, "solids[16].shape: ", "allowed are 16");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_liquids_by_name_and_place),
        cmocka_unit_test(test_reads_every_shape),
        cmocka_unit_test(test_equal_heights_share_a_field),
        cmocka_unit_test(test_reads_rotations),
        cmocka_unit_test(test_reads_solids_that_move),
        cmocka_unit_test(test_reads_gravity),
        cmocka_unit_test(test_reads_taps_and_drains),
        cmocka_unit_test(test_reads_the_solver),
        cmocka_unit_test(test_one_layer_of_cells_makes_a_flat_tank),
        cmocka_unit_test(test_wrong_values_are_refused_with_their_place),
        cmocka_unit_test(test_fields_that_do_not_fit_are_refused_with_their_place),
        cmocka_unit_test(test_there_may_be_so_many_of_each_and_no_more),
        cmocka_unit_test(test_different_fields_are_counted),
        cmocka_unit_test(test_reads_probes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
