// What people do to the liquid: pulls, vortices, pours, sinks and dyes act as tank.h says, and leave states and replays
// what they are.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> // needs those above

#include "kernels/liquid_parameters.h"
#include "tests/kernels/tank_acts.h"
#include "tests/sanitized.h"
#include "tests/tank/plain_tank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Particles as copied out.
typedef struct particles {
    float *at_m, *velocity_m_s;
    uint8_t *liquid, *colour;
    uint32_t count;
} particles;

/// A pool of 1 m x 1 m, 0.4 m deep, in cells of 1/20 m.
static void pool_desc(tarn_tank_desc *desc)
{
    tarn_tank_desc_default(desc);
    desc->cells[0] = desc->cells[1] = desc->cells[2] = 20;
    desc->cell_m = 0.05f;
    desc->block_count = 1;
    desc->blocks[0] = (tarn_fluid_block){.max_m = {1.0f, 0.4f, 1.0f}};
}

static void make_step(tarn_tank *tank, const tarn_push *push, const tarn_tank_tools *tools)
{
    if (tools != NULL) {
        assert_int_equal(act_set_tools(tank, tools), TARN_OK);
    }
    assert_int_equal(act_step(tank, push, push != NULL), TARN_OK);
}

static particles copy_particles(tarn_tank *tank)
{
    const uint32_t most = tarn_tank_particles_max(tank);
    particles p = {malloc((size_t)most * 12), malloc((size_t)most * 12), malloc(most), malloc((size_t)most * 3), 0};
    assert_int_equal(tarn_tank_particles(tank, p.at_m, p.velocity_m_s, NULL, most, &p.count), TARN_OK);
    assert_int_equal(tarn_tank_particle_colours(tank, p.liquid, p.colour, most, &p.count), TARN_OK);
    return p;
}

static void free_particles(particles *p)
{
    free(p->at_m);
    free(p->velocity_m_s);
    free(p->liquid);
    free(p->colour);
}

static double distance_of(const particles *p, uint32_t i, const float *center_m)
{
    double square = 0.0;
    for (int a = 0; a < 3; a++) {
        const double d = (double)p->at_m[3 * (size_t)i + (size_t)a] - (double)center_m[a];
        square += d * d;
    }
    return sqrt(square);
}

static uint32_t count_within(tarn_tank *tank, const float *center_m, double radius_m)
{
    particles p = copy_particles(tank);
    uint32_t count = 0;
    for (uint32_t i = 0; i < p.count; i++) {
        count += distance_of(&p, i, center_m) < radius_m;
    }
    free_particles(&p);
    return count;
}

// ------------------------------------------------------------------------------------------------------ pull and
// vortex

/// Above the surface, where there was nothing: as full as liquid is, and no fuller.
static void pull_gathers_liquid_at_its_centre(void **state)
{
    (void)state;
    if (TEST_IS_SANITIZED) {
        skip(); // eleven seconds of water
    }
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    pool_desc(&desc);
    tarn_tank *tank = plain_tank_open(device, &desc);
    const tarn_push pull = {.center_m = {0.5f, 0.5f, 0.5f}, .radius_m = 0.3f, .strength = 0.5f, .inward_m_s = 2.0f};
    assert_int_equal(count_within(tank, pull.center_m, 0.08), 0);
    for (int i = 0; i < 60; i++) {
        make_step(tank, &pull, NULL);
    }
    const double full = 8.0 * 20 * 20 * 20 * 4.18879 * 0.08 * 0.08 * 0.08;
    double most = 0.0;
    for (int i = 0; i < 600; i++) { // held on
        make_step(tank, &pull, NULL);
        if (i % 60 == 0) {
            most = fmax(most, (double)count_within(tank, pull.center_m, 0.08));
        }
    }
    const double found = (double)count_within(tank, pull.center_m, 0.08);
    if (found < 0.6 * full || most > 1.8 * full) {
        fail_msg("%g particles at the centre, at most %g; liquid has %g", found, most, full);
    }
    const tarn_tank_report report = plain_tank_report(tank);
    assert_true(report.kinetic_j_kg < 0.5);
    assert_true(report.residual < 0.01f);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// Per particle, about the upright line through the middle, and the heights of the surface there and farther out.
typedef struct turning {
    double momentum, middle_m, around_m;
} turning;

static turning turning_of(tarn_tank *tank)
{
    particles p = copy_particles(tank);
    turning t = {0.0, 0.0, 0.0};
    for (uint32_t i = 0; i < p.count; i++) {
        const float *at = &p.at_m[3 * (size_t)i], *v = &p.velocity_m_s[3 * (size_t)i];
        const double x = (double)at[0] - 0.5, y = (double)at[1], z = (double)at[2] - 0.5, off = sqrt(x * x + z * z);
        t.momentum += (z * (double)v[0] - x * (double)v[2]) / p.count;
        if (off < 0.06) {
            t.middle_m = fmax(t.middle_m, y);
        } else if (off > 0.3 && off < 0.4) {
            t.around_m = fmax(t.around_m, y);
        }
    }
    free_particles(&p);
    return t;
}

static void vortex_turns_liquid_its_way_and_makes_a_funnel(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    for (int sign = -1; sign <= 1; sign += 2) {
        tarn_tank_desc desc;
        pool_desc(&desc);
        tarn_tank *tank = plain_tank_open(device, &desc);
        const tarn_push vortex = {.center_m = {0.5f, 0.25f, 0.5f},
                                  .radius_m = 0.35f,
                                  .strength = 0.5f,
                                  .inward_m_s = 0.2f,
                                  .spin_rad_s = {0.0f, 8.0f * (float)sign, 0.0f}};
        for (int i = 0; i < 150; i++) {
            make_step(tank, &vortex, NULL);
        }
        const turning t = turning_of(tank);
        if (t.momentum * sign < 0.05 || t.middle_m > t.around_m - 0.05) {
            fail_msg("momentum %g, surface at %g m in the middle and %g m around", t.momentum, t.middle_m, t.around_m);
        }
        tarn_tank_destroy(tank);
    }
    tarn_device_destroy(device);
}

/// What the fields of a swirl ask for is bounded as the speed of a push is.
static void no_push_asks_for_more_speed_than_there_may_be(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    pool_desc(&desc);
    tarn_tank *tank = plain_tank_open(device, &desc);
    const tarn_push wild[3] = {
        {.center_m = {0.5f, 0.3f, 0.5f}, .radius_m = 1e6f, .strength = 1.0f, .spin_rad_s = {1e6f, -1e6f, 1e6f}},
        {.center_m = {0.5f, 0.3f, 0.5f}, .radius_m = 0.4f, .strength = 1.0f, .inward_m_s = -1e30f},
        {.center_m = {0.5f, 0.3f, 0.5f}, .radius_m = 0.0f, .strength = 1.0f, .spin_rad_s = {3e38f, 3e38f, 3e38f}}};
    for (int i = 0; i < 40; i++) {
        make_step(tank, &wild[i % 3], NULL);
    }
    assert_true(isfinite(plain_tank_report(tank).kinetic_j_kg));
    tarn_push wrong = wild[0];
    wrong.inward_m_s = NAN;
    assert_int_equal(act_step(tank, &wrong, 1), TARN_E_ARGUMENT);
    wrong = wild[0];
    wrong.spin_rad_s[1] = INFINITY;
    assert_int_equal(act_step(tank, &wrong, 1), TARN_E_ARGUMENT);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

// ----------------------------------------------------------------------------------------------------- pours and sinks

static void pour_brings_liquid_at_its_rate_in_its_direction(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    pool_desc(&desc);
    tarn_tank *tank = plain_tank_open(device, &desc);
    const uint32_t before = plain_tank_report(tank).particle_count;
    const tarn_tank_tools tools = {
        .pour_count = 1,
        .pours = {{.center_m = {0.5f, 0.85f, 0.5f}, .radius_m = 0.1f, .velocity_m_s = {0.5f, -1.0f, 0.0f}}}};
    make_step(tank, NULL, &tools);
    make_step(tank, NULL, &tools);
    particles p = copy_particles(tank);
    uint32_t fresh = 0;
    for (uint32_t i = before; i < p.count; i++) { // ids ascend
        fresh += distance_of(&p, i, tools.pours[0].center_m) < 0.2 && p.velocity_m_s[3 * (size_t)i] > 0.3f &&
                 p.velocity_m_s[3 * (size_t)i + 1] < -0.8f;
    }
    assert_true(fresh > 0);
    assert_int_equal(fresh, p.count - before);
    free_particles(&p);
    for (int i = 2; i < 30; i++) {
        make_step(tank, NULL, &tools);
    }
    const double wanted = 8.0 * 20 * 20 * 20 * 3.14159 * 0.01 * sqrt(1.25) * 0.5; // in half a second
    const tarn_tank_report after = plain_tank_report(tank);
    const double found = (double)(after.particle_count - before);
    if (fabs(found / wanted - 1.0) > 0.15) {
        fail_msg("%g particles in half a second, expected %g", found, wanted);
    }
    assert_int_equal(after.born, after.particle_count - before);
    assert_false(tarn_tank_has_colours(tank)); // none was given
    make_step(tank, NULL, NULL);               // the next step has forgotten it
    make_step(tank, NULL, NULL);
    assert_int_equal(plain_tank_report(tank).particle_count, after.particle_count);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// As many as may pour at once, of all sizes, also in a flat tank and beyond its walls: up to the room there is, of
/// memory or in the tank.
static void pours_end_at_the_room_there_is(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    for (int flat = 0; flat < 2; flat++) {
        tarn_tank_desc desc;
        pool_desc(&desc);
        if (flat) {
            desc.cells[2] = 1;
            desc.blocks[0].max_m[2] = 0.05f;
        }
        tarn_tank *tank = plain_tank_open(device, &desc);
        const uint32_t memory = tarn_tank_particles_max(tank), before = plain_tank_report(tank).particle_count;
        const uint32_t full = 8u * desc.cells[0] * desc.cells[1] * desc.cells[2], room = memory < full ? memory : full;
        assert_true(room >= before + before / 4 && (room == full) == (flat == 1));
        tarn_tank_tools tools = {.pour_count = TARN_TANK_POURS_MAX};
        for (uint32_t i = 0; i < TARN_TANK_POURS_MAX; i++) {
            const float at = (float)i / TARN_TANK_POURS_MAX;
            tools.pours[i] = (tarn_pour){.center_m = {1.4f * at - 0.2f, 1.2f - at, at},
                                         .radius_m = i % 3 == 0   ? 1e-3f
                                                     : i % 3 == 1 ? 10.0f
                                                                  : 0.1f,
                                         .velocity_m_s = {i % 2 == 0 ? 0.0f : 50.0f, -2.0f, 0.0f}};
        }
        for (int i = 0; i < 40; i++) {
            make_step(tank, NULL, &tools);
        }
        const uint32_t after = plain_tank_report(tank).particle_count;
        assert_true(after > before + (room - before) / 2 && after <= room);
        tarn_tank_destroy(tank);
    }
    tarn_device_destroy(device);
}

static void sink_takes_what_is_in_it_and_nothing_else(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    pool_desc(&desc);
    tarn_tank *tank = plain_tank_open(device, &desc);
    const tarn_tank_tools tools = {.sink_count = 1, .sinks = {{.center_m = {0.5f, 0.2f, 0.5f}, .radius_m = 0.15f}}};
    const uint32_t before = plain_tank_report(tank).particle_count,
                   within = count_within(tank, tools.sinks[0].center_m, 0.15);
    make_step(tank, NULL, &tools);
    const tarn_tank_report after = plain_tank_report(tank);
    assert_int_equal(count_within(tank, tools.sinks[0].center_m, 0.149), 0);
    assert_int_equal(after.gone, before - after.particle_count);
    assert_true(after.gone >= within - within / 10 && after.gone <= within + within / 10);
    make_step(tank, NULL, NULL);
    assert_int_equal(plain_tank_report(tank).particle_count, after.particle_count);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

// ---------------------------------------------------------------------------------------------------------------- dyes

static void dye_colours_those_inside_and_none_outside(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    for (uint32_t liquids = 1; liquids <= 2; liquids++) {
        tarn_tank_desc desc;
        pool_desc(&desc);
        desc.liquid_count = liquids;
        desc.liquids[1] = (tarn_liquid){.density_kg_m3 = 900.0f, .colour = {1, 2, 3}};
        desc.blocks[0].liquid = liquids - 1;
        tarn_tank *tank = plain_tank_open(device, &desc);
        const tarn_tank_hash first = plain_tank_hash(tank);
        const tarn_tank_tools tools = {
            .dye_count = 1,
            .dyes = {{.center_m = {0.52f, 0.31f, 0.47f}, .radius_m = 0.2f, .colour = {250, 30, 7}, .share = 1.0f}}};
        assert_int_equal(tarn_tank_has_colours(tank), liquids > 1);
        make_step(tank, NULL, &tools);
        assert_true(tarn_tank_has_colours(tank));
        particles p = copy_particles(tank);
        uint32_t dyed = 0;
        for (uint32_t i = 0; i < p.count; i++) {
            const double off = distance_of(&p, i, tools.dyes[0].center_m) - 0.2;
            const uint8_t *wanted = off < 0.0 ? tools.dyes[0].colour : desc.liquids[liquids - 1].colour;
            if (fabs(off) > 1e-6) {
                assert_memory_equal(&p.colour[3 * (size_t)i], wanted, 3);
            }
            assert_int_equal(p.liquid[i], liquids - 1);
            dyed += off < 0.0;
        }
        assert_true(dyed > 500);
        free_particles(&p);
        assert_int_equal(tarn_tank_reset(tank), TARN_OK);
        assert_int_equal(tarn_tank_has_colours(tank), liquids > 1);
        const tarn_tank_hash again = plain_tank_hash(tank);
        assert_memory_equal(&first, &again, sizeof first);
        tarn_tank_destroy(tank);
    }
    tarn_device_destroy(device);
}

/// A part of the way in each step, and no more than the way in the end; then it mixes.
static void dye_comes_by_shares_and_mixes(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    pool_desc(&desc);
    desc.liquids[0].colour[0] = 0;
    desc.parameters[TARN_PARAMETER_DYE_MIXING] = 0.5f;
    tarn_tank *tank = plain_tank_open(device, &desc);
    const tarn_tank_tools tools = {
        .dye_count = 1,
        .dyes = {{.center_m = {0.5f, 0.2f, 0.5f}, .radius_m = 2.0f, .colour = {200, 110, 190}, .share = 0.25f}}};
    make_step(tank, NULL, &tools);
    particles p = copy_particles(tank);
    double mean = 0.0;
    for (uint32_t i = 0; i < p.count; i++) {
        mean += (double)p.colour[3 * (size_t)i] / p.count;
    }
    free_particles(&p);
    assert_true(fabs(mean - 50.0) < 1.0);
    for (int i = 0; i < 60; i++) {
        make_step(tank, NULL, &tools);
    }
    p = copy_particles(tank);
    for (uint32_t i = 0; i < p.count; i++) {
        assert_in_range(p.colour[3 * (size_t)i], 197, 200);
    }
    free_particles(&p);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void pour_brings_its_colour(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    pool_desc(&desc);
    tarn_tank *tank = plain_tank_open(device, &desc);
    const uint32_t before = plain_tank_report(tank).particle_count;
    const tarn_tank_tools tools = {.pour_count = 1,
                                   .pours = {{.center_m = {0.5f, 0.85f, 0.5f},
                                              .radius_m = 0.1f,
                                              .velocity_m_s = {0.0f, -1.0f, 0.0f},
                                              .colour = {9, 8, 7, 255}}}};
    for (int i = 0; i < 5; i++) {
        make_step(tank, NULL, &tools);
    }
    particles p = copy_particles(tank);
    assert_true(p.count > before);
    for (uint32_t i = 0; i < p.count; i++) {
        assert_memory_equal(&p.colour[3 * (size_t)i], i < before ? desc.liquids[0].colour : tools.pours[0].colour, 3);
    }
    free_particles(&p);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

// ------------------------------------------------------------------------------------------------- replays and states

/// All tools, in and out of turn, as a list of inputs would have them.
static void do_something(tarn_tank *tank, int step)
{
    const float t = (float)(step % 17) / 17.0f;
    const tarn_push push = {.center_m = {0.3f + 0.4f * t, 0.4f, 0.5f},
                            .radius_m = 0.2f,
                            .velocity_m_s = {1.0f, 0.0f, 0.0f},
                            .strength = 0.5f,
                            .inward_m_s = step % 3 == 0 ? 1.5f : 0.0f,
                            .spin_rad_s = {0.0f, step % 5 == 0 ? 6.0f : 0.0f, 1.0f}};
    tarn_tank_tools tools = {
        .pour_count = step % 12 < 5 ? 2 : 0, .sink_count = step % 7 == 6, .dye_count = step % 9 > 6};
    for (uint32_t i = 0; i < 2; i++) {
        tools.pours[i] = (tarn_pour){.center_m = {0.2f + 0.5f * (float)i, 0.9f, 0.2f + 0.6f * t},
                                     .radius_m = 0.06f,
                                     .velocity_m_s = {0.0f, -1.5f, 0.3f},
                                     .colour = {(uint8_t)(20 * i), 200, 10, step > 20 ? 255 : 0}};
    }
    tools.sinks[0] = (tarn_sink){.center_m = {0.8f, 0.1f, t}, .radius_m = 0.1f};
    tools.dyes[0] =
        (tarn_dye){.center_m = {t, 0.3f, 0.5f}, .radius_m = 0.15f, .colour = {255, 0, 90}, .share = 0.3f + 0.5f * t};
    make_step(tank, step % 2 == 0 ? &push : NULL, &tools);
}

static void busy_desc(tarn_tank_desc *desc)
{
    pool_desc(desc);
    desc->parameters[TARN_PARAMETER_DYE_MIXING] = 0.1f;
    desc->solid_count = 1;
    desc->solids[0] = (tarn_solid){.shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {0.15f}},
                                   .pose = {{0.3f, 0.8f, 0.4f}, {0, 0, 0, 1}}};
}

static void replays_have_the_same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    tarn_tank_hash hash[3];
    const uint32_t threads[3] = {1, 2, TEST_IS_SANITIZED ? 3 : 8};
    for (int i = 0; i < 3; i++) {
        tarn_device *device = plain_tank_device(threads[i], NULL);
        tarn_tank_desc desc;
        busy_desc(&desc);
        tarn_tank *tank = plain_tank_open(device, &desc);
        for (int step = 0; step < 45; step++) {
            do_something(tank, step);
        }
        assert_true(tarn_tank_has_colours(tank) && plain_tank_report(tank).born > 100 &&
                    plain_tank_report(tank).gone > 10);
        hash[i] = plain_tank_hash(tank);
        tarn_tank_destroy(tank);
        tarn_device_destroy(device);
    }
    assert_memory_equal(&hash[0], &hash[1], sizeof hash[0]);
    assert_memory_equal(&hash[0], &hash[2], sizeof hash[0]);
}

/// States from before the first pour, in the middle of one, and with colours; into the same tank, and into a fresh one.
static void restored_states_continue_bit_for_bit(void **state)
{
    (void)state;
    enum { SAVES = 3, END = 40 };
    static const int at[SAVES] = {0, 1, 27};
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    busy_desc(&desc);
    tarn_tank *tank = plain_tank_open(device, &desc), *other = plain_tank_open(device, &desc);
    const size_t most = tarn_tank_save_bytes_max(tank);
    uint8_t *bytes[SAVES];
    size_t count[SAVES];
    tarn_tank_hash saved[SAVES];
    for (int step = 0, s = 0; step < END; step++) {
        if (s < SAVES && step == at[s]) {
            bytes[s] = malloc(most);
            assert_int_equal(tarn_tank_save(tank, bytes[s], most, &count[s]), TARN_OK);
            saved[s++] = plain_tank_hash(tank);
        }
        do_something(tank, step);
    }
    const tarn_tank_hash wanted = plain_tank_hash(tank);
    tarn_tank *const into[2] = {tank, other};
    for (int i = 0; i < 2 * SAVES; i++) {
        const int s = i / 2;
        assert_int_equal(tarn_tank_load(into[i % 2], bytes[s], count[s]), TARN_OK);
        tarn_tank_hash found = plain_tank_hash(into[i % 2]);
        assert_memory_equal(&found, &saved[s], sizeof found);
        assert_int_equal(tarn_tank_has_colours(into[i % 2]), s == 2);
        for (int step = at[s]; step < END; step++) {
            do_something(into[i % 2], step);
        }
        found = plain_tank_hash(into[i % 2]);
        assert_memory_equal(&found, &wanted, sizeof found);
    }
    // One that isn't a state leaves the tank with the colours it has.
    assert_int_equal(tarn_tank_load(tank, bytes[0], count[0] - 4), TARN_E_MALFORMED);
    memset(bytes[0] + count[0] / 2, 0xff, 64);
    assert_int_equal(tarn_tank_load(tank, bytes[0], count[0]), TARN_E_MALFORMED);
    const tarn_tank_hash found = plain_tank_hash(tank);
    assert_memory_equal(&found, &wanted, sizeof found);
    for (int s = 0; s < SAVES; s++) {
        free(bytes[s]);
    }
    tarn_tank_destroy(other);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void wrong_tools_are_refused(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    pool_desc(&desc);
    tarn_tank *tank = plain_tank_open(device, &desc);
    const tarn_tank_tools good = {.pour_count = 1, .sink_count = 1, .dye_count = 1};
    assert_int_equal(act_set_tools(tank, &good), TARN_OK);
    tarn_tank_tools bad[10];
    for (int i = 0; i < 10; i++) {
        bad[i] = good;
    }
    bad[0].pour_count = TARN_TANK_POURS_MAX + 1;
    bad[1].sink_count = TARN_TANK_SINKS_MAX + 1;
    bad[2].dye_count = TARN_TANK_DYES_MAX + 1;
    bad[3].pours[0].center_m[1] = NAN;
    bad[4].pours[0].velocity_m_s[2] = INFINITY;
    bad[5].pours[0].liquid = 1;
    bad[6].sinks[0].center_m[0] = NAN;
    bad[7].sinks[0].radius_m = NAN;
    bad[8].dyes[0].share = NAN;
    bad[9].dyes[0].center_m[2] = INFINITY;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(act_set_tools(tank, &bad[i]), TARN_E_ARGUMENT);
    }
    // Wild ones act as far as they can.
    const uint32_t before = plain_tank_report(tank).particle_count;
    const tarn_tank_tools wild = {
        .pour_count = 1,
        .pours = {{.center_m = {1e38f, -1e38f, 3e38f}, .radius_m = -1.0f, .velocity_m_s = {1e38f, 3e38f, 1e38f}}},
        .dye_count = 1,
        .dyes = {{.center_m = {3e38f, 0.0f, 0.0f}, .radius_m = 3e38f, .share = 1e9f}}};
    make_step(tank, NULL, &wild);
    assert_true(plain_tank_report(tank).particle_count >= before);
    const tarn_tank_tools all = {.sink_count = 1, .sinks = {{.center_m = {0.5f, 0.5f, 0.5f}, .radius_m = 1e9f}}};
    make_step(tank, NULL, &all);
    assert_int_equal(plain_tank_report(tank).particle_count, 0);
    make_step(tank, NULL, &good); // an empty tank takes them, too
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pull_gathers_liquid_at_its_centre),
        cmocka_unit_test(vortex_turns_liquid_its_way_and_makes_a_funnel),
        cmocka_unit_test(no_push_asks_for_more_speed_than_there_may_be),
        cmocka_unit_test(pour_brings_liquid_at_its_rate_in_its_direction),
        cmocka_unit_test(pours_end_at_the_room_there_is),
        cmocka_unit_test(sink_takes_what_is_in_it_and_nothing_else),
        cmocka_unit_test(dye_colours_those_inside_and_none_outside),
        cmocka_unit_test(dye_comes_by_shares_and_mixes),
        cmocka_unit_test(pour_brings_its_colour),
        cmocka_unit_test(replays_have_the_same_bits_for_any_number_of_threads),
        cmocka_unit_test(restored_states_continue_bit_for_bit),
        cmocka_unit_test(wrong_tools_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
