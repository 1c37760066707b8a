// A filled tank of vortons: what rests stays at rest, what is pushed goes on, sums on the grid are kept, and a saved
// tank goes on with the same bits.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> // needs those above

#include "kernels/tank/state.h"
#include "kernels/tank/tank_internal.h"
#include "kernels/vortons/vortons.h"
#include "tests/kernels/tank_acts.h"
#include "tests/tank/plain_tank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EDGE = 24 };

/// A ball of dye in the middle.
static void ball_desc(tarn_tank_desc *desc, float deviation)
{
    tarn_tank_desc_default_of(desc, tarn_model_find("vortons"));
    desc->cells[0] = desc->cells[1] = EDGE;
    desc->cells[2] = EDGE - 3; // no multiple of a tile's edge
    desc->fluid_count = 1;
    desc->fluids[0].shape = (tarn_shape){.kind = TARN_SHAPE_SPHERE, .half_m = {5.0f * desc->cell_m}};
    desc->fluids[0].pose = (tarn_pose){.rotation = {0.0f, 0.0f, 0.0f, 1.0f}};
    for (int a = 0; a < 3; a++) {
        desc->fluids[0].pose.position_m[a] = 0.5f * (float)desc->cells[a] * desc->cell_m;
    }
    desc->fluids[0].carried[CARRIED_DEVIATION] = deviation;
}

static void what_is_as_heavy_as_water_rests(void **state)
{
    (void)state;
    tarn_tank_desc desc;
    ball_desc(&desc, 0.0f);
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, &desc);
    const tarn_tank_report before = plain_tank_report(tank);
    for (int step = 0; step < 10; step++) {
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    }
    const tarn_tank_report after = plain_tank_report(tank);
    assert_true(after.kinetic_j_kg == 0.0 && after.particle_count == before.particle_count);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// Mean place along x of those of the first so many: what is born later lies where it was pushed, not where dye went.
static double dye_center_x(const tarn_tank *tank, uint32_t count)
{
    const store_memory *store = &tank->args->store;
    double sum = 0.0;
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        sum += store->id[i] < count ? (double)store->position[0][i] / (1 << POSITION_BITS) : 0.0;
    }
    return sum / count;
}

/// What a push gives the water stays with it: vortons are born where no dye is.
static void a_push_goes_on(void **state)
{
    (void)state;
    tarn_tank_desc desc;
    ball_desc(&desc, 0.0f);
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, &desc);
    const uint32_t dye = tank->particle_count;
    const double before = dye_center_x(tank, dye);
    const float c = desc.cell_m;
    const tarn_push push = {.center_m = {5.0f * c, 0.5f * EDGE * c, 0.5f * EDGE * c},
                            .radius_m = 4.0f * c,
                            .velocity_m_s = {1.0f, 0.0f, 0.0f},
                            .strength = 1.0f};
    for (int step = 0; step < 45; step++) {
        assert_int_equal(act_step(tank, &push, step < 10 ? 1 : 0), TARN_OK);
    }
    const tarn_tank_report after = plain_tank_report(tank);
    assert_true(after.born > 0);
    assert_true(after.speed_max_m_s > 0.1f && after.speed_max_m_s < 2.0f);
    assert_true(dye_center_x(tank, dye) > before + 0.2);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// Sums over the grid and over the particles.
static void compare_sums(const tarn_tank *tank)
{
    const vorton_args *args = (const vorton_args *)tank->part;
    const store_memory *store = &args->tank.store;
    const double volume = (double)args->scale.volume;
    double particles = 0.0, cells = 0.0, turning[3] = {0.0, 0.0, 0.0}, size = 0.0;
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        particles += volume * (double)store->carried[CARRIED_DEVIATION][i];
        for (int c = 0; c < 3; c++) {
            turning[c] += (double)store->carried[CARRIED_VORTICITY + c][i];
            size += fabs((double)store->carried[CARRIED_VORTICITY + c][i]);
        }
    }
    for (uint64_t i = 0; i < (uint64_t)tank->counters.grid.active * TILE_CELLS; i++) {
        cells += (double)args->m.deviation[i];
    }
    assert_true(fabs(cells - particles) < 1e-5 * fabs(particles));
    assert_true(size > 0.0);
    for (int c = 0; c < 3; c++) {
        assert_true(fabs(turning[c]) < 1e-3 * size);
    }
}

static void sums_are_kept(void **state)
{
    (void)state;
    tarn_tank_desc desc;
    ball_desc(&desc, 0.05f);
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, &desc);
    for (int step = 0; step < 20; step++) {
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
        compare_sums(tank);
    }
    assert_true(plain_tank_report(tank).momentum_m_s[1] < 0.0); // it sinks
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void a_saved_tank_goes_on_alike(void **state)
{
    (void)state;
    tarn_tank_desc desc;
    ball_desc(&desc, -0.05f);
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, &desc);
    for (int step = 0; step < 8; step++) {
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    }
    const size_t most = tarn_tank_save_bytes_max(tank);
    uint8_t *bytes = malloc(most);
    size_t count = 0;
    assert_non_null(bytes);
    assert_int_equal(tarn_tank_save(tank, bytes, most, &count), TARN_OK);
    tarn_tank_hash hash[2];
    for (int i = 0; i < 2; i++) {
        for (int step = 0; step < 5; step++) {
            assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
        }
        hash[i] = plain_tank_hash(tank);
        assert_int_equal(tarn_tank_load(tank, bytes, count), TARN_OK);
    }
    assert_memory_equal(&hash[0], &hash[1], sizeof hash[0]);
    free(bytes);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// A field's value in a cell.
/// The state without its last tile. @return bytes
static size_t leave_out_tile(const uint8_t *bytes, size_t count, uint8_t *to)
{
    tank_state whole = {.parameter_count = tarn_model_find("vortons")->parameter_count};
    assert_int_equal(tank_state_read(bytes, count, &whole), TARN_OK);
    tank_state less = whole;
    less.tile_count--;
    const size_t arrays = (size_t)whole.particle_count * 4 * whole.array_count, numbers = (size_t)less.tile_count * 4,
                 kept = numbers * 3 * whole.kept_cells;
    const uint8_t *from = bytes + whole.particles_at;
    uint8_t *at = to + tank_state_write(&less, to, count);
    memcpy(at, from, arrays + numbers);
    memcpy(at + arrays + numbers, from + arrays + numbers + 4, kept);
    return (size_t)(at - to) + arrays + numbers + kept;
}

/// A state of a tank that isn't full is none of a tank of vortons: nothing but all of it can be solved.
static void a_state_with_a_hole_is_refused(void **state)
{
    (void)state;
    tarn_tank_desc desc;
    ball_desc(&desc, 0.0f);
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, &desc);
    const size_t most = tarn_tank_save_bytes_max(tank);
    uint8_t *bytes = malloc(most), *other = malloc(most);
    size_t count = 0;
    assert_non_null(bytes);
    assert_non_null(other);
    assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    assert_int_equal(tarn_tank_save(tank, bytes, most, &count), TARN_OK);
    const tarn_tank_hash before = plain_tank_hash(tank);
    assert_int_equal(tarn_tank_load(tank, other, leave_out_tile(bytes, count, other)), TARN_E_MALFORMED);
    const tarn_tank_hash after = plain_tank_hash(tank);
    assert_memory_equal(&before, &after, sizeof before);
    assert_int_equal(tarn_tank_load(tank, bytes, count), TARN_OK);
    free(other);
    free(bytes);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static double value_at(const tarn_tank *tank, const float *field, const int *at)
{
    const grid_shape *shape = &tank->args->grid.shape;
    const uint32_t dense = tile_dense_of(shape, 0, at[0] >> TILE_LOG2, at[1] >> TILE_LOG2, at[2] >> TILE_LOG2);
    const uint64_t first = (uint64_t)tank->args->grid.m.slot[dense] * TILE_CELLS;
    return (double)field[first + cell_index(at[0] & 7, at[1] & 7, at[2] & 7)];
}

/// Component c of the potential beside an edge: what lies behind a wall across its own axis is as before it, along
/// other walls there is nothing.
static double potential_beside(const tarn_tank *tank, int c, const int *edge, int axis, int by)
{
    int at[3] = {edge[0], edge[1], edge[2]};
    const int cells = tank->grid.desc.cells[axis];
    at[axis] += by;
    if (axis == c) {
        at[axis] = at[axis] < 0 ? 0 : at[axis] < cells ? at[axis] : cells - 1;
    }
    const bool is_known = axis != c && (at[axis] <= 0 || at[axis] >= cells);
    return is_known ? 0.0 : value_at(tank, ((const vorton_args *)tank->part)->m.potential[c], at);
}

/// Largest |-lap psi - omega| of a component over the largest omega.
static double potential_error(const tarn_tank *tank, int c)
{
    const int cells[3] = {tank->grid.desc.cells[0], tank->grid.desc.cells[1], tank->grid.desc.cells[2]};
    double error = 0.0, largest = 0.0;
    for (int i = 0; i < cells[0] * cells[1] * cells[2]; i++) {
        const int at[3] = {i % cells[0], i / cells[0] % cells[1], i / (cells[0] * cells[1])};
        const double omega = value_at(tank, ((const vorton_args *)tank->part)->m.vorticity[c], at);
        double left = 0.0;
        if ((c != 0 && at[0] == 0) || (c != 1 && at[1] == 0) || (c != 2 && at[2] == 0)) {
            assert_true(omega == 0.0 && fabs(potential_beside(tank, c, at, c, 0)) == 0.0);
            continue;
        }
        for (int axis = 0; axis < 3; axis++) {
            left += 2.0 * potential_beside(tank, c, at, axis, 0) -
                    (potential_beside(tank, c, at, axis, -1) + potential_beside(tank, c, at, axis, 1));
        }
        error = fmax(error, fabs(left - omega));
        largest = fmax(largest, fabs(omega));
    }
    assert_true(largest > 0.0);
    return error / largest;
}

/// Each component of the vector potential fits its Poisson equation to rounding, whatever the tank's sides are.
static void the_potential_fits_vorticity(void **state)
{
    (void)state;
    static const int sides[3][3] = {{EDGE, EDGE, EDGE - 3}, {16, 33, 24}, {17, 20, 40}};
    tarn_device *device = plain_tank_device(1, NULL);
    for (int s = 0; s < 3; s++) {
        tarn_tank_desc desc;
        ball_desc(&desc, 0.05f);
        for (int a = 0; a < 3; a++) {
            desc.cells[a] = (uint16_t)sides[s][a];
            desc.fluids[0].pose.position_m[a] = 8.5f * desc.cell_m;
            desc.fluids[0].velocity_m_s[a] = 0.1f * (float)(a + 1);
        }
        tarn_tank *tank = plain_tank_open(device, &desc);
        for (int step = 0; step < 5; step++) {
            assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
        }
        for (int c = 0; c < 3; c++) {
            assert_true(potential_error(tank, c) < 1e-5);
        }
        tarn_tank_destroy(tank);
    }
    tarn_device_destroy(device);
}

/// Of a heavy ball on a lattice each half gets what the mirrored one does: no particle of a cell is preferred.
static void a_mirrored_drop_turns_alike(void **state)
{
    (void)state;
    tarn_tank_desc desc;
    ball_desc(&desc, 0.05f);
    desc.jitter = 0.0f;
    desc.fluids[0].shape.half_m[0] = 4.9f * desc.cell_m; // no particle lies just on its surface
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, &desc);
    assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    const store_memory *store = &tank->args->store;
    double left = 0.0, right = 0.0;
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        const double x = ((double)store->position[0][i] + 0.5) / (1 << POSITION_BITS) - 0.5 * EDGE;
        const double turn = (double)store->carried[CARRIED_VORTICITY + 2][i];
        left += x < 0.0 ? turn * -x : 0.0;
        right += x > 0.0 ? turn * x : 0.0;
    }
    assert_true(fabs(left) > 1.0);
    assert_true(fabs(left + right) < 0.01 * fabs(left));
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// Has a tank hold one vorton and nothing else.
static void put_vorton(tarn_tank *tank, const double *at, const float *vorticity_1_s)
{
    tank_arrays arrays;
    assert_int_equal(tank_arrays_alloc(tank, 1, &arrays), TARN_OK);
    memset(arrays.awake, 1, tank->args->grid.shape.tile_total[0]);
    for (int a = 0; a < 3; a++) {
        arrays.position[a][0] = (uint32_t)(at[a] * (1 << POSITION_BITS));
        arrays.velocity[a][0] = 0.0f;
        arrays.carried[CARRIED_VORTICITY + a][0] = vorticity_1_s[a];
    }
    arrays.carried[CARRIED_DEVIATION][0] = 0.0f;
    arrays.attribute[0] = KIND_VORTON;
    arrays.id[0] = 0;
    arrays.count = 1;
    assert_int_equal(tank_place(tank, &arrays, 1), TARN_OK);
    tank_arrays_free(&arrays);
}

/// Of particles as strong as the first one: their number, sum of strengths, mean place, impulse.
typedef struct alike_sums {
    int count;
    double strength[3], place[3], impulse[3];
    double apart_cells; ///< of the last from the first
} alike_sums;

static alike_sums sum_alike(const tarn_tank *tank)
{
    const store_memory *store = &tank->args->store;
    uint32_t first = 0;
    alike_sums sums = {0};
    while (store->id[first] != 0) {
        first++;
    }
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        double x[3], w[3], apart = 0.0;
        bool is_alike = true;
        for (int a = 0; a < 3; a++) {
            const float vorticity = store->carried[CARRIED_VORTICITY + a][i];
            is_alike = is_alike && vorticity == store->carried[CARRIED_VORTICITY + a][first];
            x[a] = (double)store->position[a][i] / (1 << POSITION_BITS);
            w[a] = (double)vorticity;
            apart += pow(x[a] - (double)store->position[a][first] / (1 << POSITION_BITS), 2.0);
        }
        for (int a = 0; a < 3 && is_alike; a++) {
            const int b = (a + 1) % 3, c = (a + 2) % 3;
            sums.strength[a] += w[a];
            sums.place[a] += x[a];
            sums.impulse[a] += 0.5 * (x[b] * w[c] - x[c] * w[b]);
        }
        sums.count += is_alike;
        sums.apart_cells = is_alike ? fmax(sums.apart_cells, sqrt(apart)) : sums.apart_cells;
    }
    for (int a = 0; a < 3; a++) {
        sums.place[a] /= sums.count;
    }
    return sums;
}

/// A vorton by itself.
typedef struct watched {
    float strength;    ///< over that beyond which it splits
    float vortons_max; ///< that there may be
    float solid_cells; ///< how far from it a wall stands; 0: there is none
    float dt_s;        ///< 0: as usual
} watched;

/// What becomes of it in a step.
static alike_sums watch_vorton(watched w)
{
    tarn_tank_desc desc;
    ball_desc(&desc, 0.0f);
    desc.dt_s = w.dt_s > 0.0f ? w.dt_s : desc.dt_s;
    if (w.solid_cells > 0.0f) {
        const float c = desc.cell_m, half_m = 2.0f * c;
        desc.solid_count = 1;
        desc.solids[0] =
            (tarn_solid){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {half_m, 6.0f * c, 6.0f * c}},
                         .pose = {.position_m = {(11.4f + w.solid_cells) * c + half_m, 12.0f * c, 12.0f * c},
                                  .rotation = {0.0f, 0.0f, 0.0f, 1.0f}},
                         .density_kg_m3 = 500.0f};
    }
    desc.parameters[tarn_model_parameter_find(tarn_model_find("vortons"), "vortons_max")] = w.vortons_max;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, &desc);
    const float size = w.strength * SPLIT_STRENGTH / ((const vorton_args *)tank->part)->scale.volume;
    put_vorton(tank, (const double[3]){11.4, 12.3, 12.7}, (const float[3]){0.6f * size, -0.64f * size, 0.48f * size});
    assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    const alike_sums sums = sum_alike(tank);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
    return sums;
}

/// Where nothing turns any more nothing is left of the flow that there was.
static void water_without_strength_stands(void **state)
{
    (void)state;
    tarn_tank_desc desc;
    ball_desc(&desc, 0.0f);
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, &desc);
    const vorton_args *args = (const vorton_args *)tank->part;
    const double at[3] = {11.4, 12.3, 12.7};
    double before = 0.0, after = 0.0;
    put_vorton(tank, at, (const float[3]){3.0f, 4.0f, 5.0f});
    assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    for (uint64_t i = 0; i < (uint64_t)tank->counters.grid.active * TILE_CELLS; i++) {
        before += fabs((double)args->m.potential[2][i]);
    }
    put_vorton(tank, at, (const float[3]){0.0f, 0.0f, 0.0f});
    assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    for (uint64_t i = 0; i < (uint64_t)tank->counters.grid.active * TILE_CELLS; i++) {
        for (int c = 0; c < 3; c++) {
            after += fabs((double)args->m.potential[c][i]) + fabs((double)args->tank.grid.m.u[c][i]);
        }
    }
    assert_true(before > 0.0 && after == 0.0);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// One beside another: with the strength, the place and the impulse of one that is whole, as it stays where there are
/// as many as may be.
static void a_strong_vorton_splits(void **state)
{
    (void)state;
    const alike_sums weak = watch_vorton((watched){0.8f, 1000.0f, 0.0f, 0.0f}),
                     whole = watch_vorton((watched){1.5f, 0.0f, 0.0f, 0.0f}),
                     parts = watch_vorton((watched){1.5f, 1000.0f, 0.0f, 0.0f});
    assert_int_equal(weak.count, 1);
    assert_int_equal(whole.count, 1);
    assert_int_equal(parts.count, 2);
    assert_true(fabs(parts.apart_cells - 0.5) < 0.01);
    for (int a = 0; a < 3; a++) {
        assert_true(fabs(parts.strength[a] - whole.strength[a]) < 1e-6 * fabs(whole.strength[a]));
        assert_true(fabs(parts.place[a] - whole.place[a]) < 1e-6);
        assert_true(fabs(parts.impulse[a] - whole.impulse[a]) < 1e-6 * fabs(whole.impulse[a]));
    }
}

/// No part comes to lie where a solid leaves less than all of the room.
static void beside_a_solid_none_splits(void **state)
{
    (void)state;
    assert_int_equal(watch_vorton((watched){1.5f, 1000.0f, 3.0f, 0.0f}).count, 2);
    assert_int_equal(watch_vorton((watched){1.5f, 1000.0f, 0.8f, 0.0f}).count, 1);
}

/// How often a tank is stepped says nothing of what flows in it.
static void vortons_split_alike_at_any_step(void **state)
{
    (void)state;
    for (float dt_s = 1.0f / 480.0f; dt_s < 0.04f; dt_s *= 4.0f) {
        assert_int_equal(watch_vorton((watched){0.8f, 1000.0f, 0.0f, dt_s}).count, 1);
        assert_int_equal(watch_vorton((watched){1.5f, 1000.0f, 0.0f, dt_s}).count, 2);
    }
}

/// A ring of dye that was thrown turns at its edge, and as fast as is said of it.
static void vortons_tell_how_they_turn(void **state)
{
    (void)state;
    tarn_tank_desc desc;
    ball_desc(&desc, 0.0f);
    desc.fluids[0].velocity_m_s[0] = 0.5f;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, &desc);
    const int number = tarn_model_channel_find(tarn_tank_model(tank), "spin");
    assert_true(number >= 0);
    assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    const uint32_t count = tank->particle_count;
    float *spin = malloc((size_t)count * sizeof *spin);
    uint32_t got = 0;
    assert_non_null(spin);
    assert_int_equal(tarn_tank_channel(tank, (uint32_t)number, spin, count, &got, NULL), TARN_OK);
    double squares = 0.0, wanted = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        squares += (double)spin[i] * (double)spin[i];
        for (int c = 0; c < 3; c++) {
            const double w = (double)tank->args->store.carried[CARRIED_VORTICITY + c][i];
            wanted += w * w;
        }
    }
    assert_true(wanted > 1.0 && fabs(squares / wanted - 1.0) < 1e-5);
    free(spin);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_as_heavy_as_water_rests),
        cmocka_unit_test(a_push_goes_on),
        cmocka_unit_test(sums_are_kept),
        cmocka_unit_test(a_saved_tank_goes_on_alike),
        cmocka_unit_test(a_state_with_a_hole_is_refused),
        cmocka_unit_test(the_potential_fits_vorticity),
        cmocka_unit_test(a_mirrored_drop_turns_alike),
        cmocka_unit_test(water_without_strength_stands),
        cmocka_unit_test(a_strong_vorton_splits),
        cmocka_unit_test(beside_a_solid_none_splits),
        cmocka_unit_test(vortons_split_alike_at_any_step),
        cmocka_unit_test(vortons_tell_how_they_turn),
    };
    return cmocka_run_group_tests_name("vortons", tests, NULL, NULL);
}
