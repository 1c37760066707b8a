// Smoke: what of the particles comes to the grid, what becomes of them and of the air, and that a tank of it is what
// any tank is: the same on every number of threads, mirrored where it is mirrored, and itself again once it is loaded.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/smoke/smoke_host.h"
#include "kernels/step_input.h"
#include "tests/tank/plain_tank.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <stdlib.h>
#include <string.h>

static tarn_tank_desc smoke_desc(uint16_t x, uint16_t y, uint16_t z)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.model = tarn_model_find("smoke")->number;
    for (uint32_t id = 0; id < TARN_SMOKE_PARAMETER_COUNT; id++) {
        desc.parameters[id] = tarn_smoke_parameters[id].initial;
    }
    desc.cells[0] = x;
    desc.cells[1] = y;
    desc.cells[2] = z;
    desc.jitter = 0.0f;
    return desc;
}

static void put_block(tarn_tank_desc *desc, const float *min, const float *max, float heat_k)
{
    tarn_fluid_block *block = &desc->blocks[desc->block_count++];
    for (int a = 0; a < 3; a++) {
        block->min_m[a] = min[a] * desc->cell_m;
        block->max_m[a] = max[a] * desc->cell_m;
    }
    block->carried[TARN_SMOKE_HEAT] = heat_k;
    block->carried[TARN_SMOKE_SMOKE] = 1.0f;
}

static tarn_tank *open_tank(uint32_t threads, const tarn_tank_desc *desc, tarn_device **device)
{
    *device = plain_tank_device(threads, NULL);
    return plain_tank_open(*device, desc);
}

static void close_tank(tarn_tank *tank, tarn_device *device)
{
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void steps(tarn_tank *tank, int count)
{
    for (int i = 0; i < count; i++) {
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    }
}

/// Sum over the particles of what they carry.
static double carried_sum(const tarn_tank *tank, int k)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        sum += (double)tank->args->store.carried[k][i];
    }
    return sum;
}

/// Sum over a field of active cells.
static double cells_sum(const tarn_tank *tank, const float *field, bool squared)
{
    double sum = 0.0;
    for (size_t i = 0; i < (size_t)tank->counters.grid.active * TILE_CELLS; i++) {
        sum += squared ? (double)field[i] * (double)field[i] : (double)field[i];
    }
    return sum;
}

static double energy(const tarn_tank *tank)
{
    const float *const *kept = (const float *const *)tank->args->store.kept;
    return cells_sum(tank, kept[0], true) + cells_sum(tank, kept[1], true) + cells_sum(tank, kept[2], true);
}

/// Where the velocity at a cell's lower face is kept.
static float *face_of(const tarn_tank *tank, int c, int x, int y, int z)
{
    const uint32_t dense = tile_dense_of(&tank->args->grid.shape, 0, x >> TILE_LOG2, y >> TILE_LOG2, z >> TILE_LOG2);
    const uint32_t slot = tank->args->grid.m.slot[dense];
    return tank->args->store.kept[c] + (size_t)slot * TILE_CELLS + cell_index(x & 7, y & 7, z & 7);
}

/// A block that touches two walls and crosses tiles.
static void all_lift_comes_to_the_grid(void **state)
{
    (void)state;
    for (uint16_t depth = 1; depth <= 20; depth += 19) {
        tarn_device *device;
        tarn_tank_desc desc = smoke_desc(20, 27, depth);
        put_block(&desc, (const float[]){0, 0, 0}, (const float[]){13, 11, depth}, 50.0f);
        tarn_tank *tank = open_tank(2, &desc, &device);
        const double heat = carried_sum(tank, TARN_SMOKE_HEAT);
        steps(tank, 1);
        assert_int_equal(tank->grid.substeps, 1);
        const double lift = cells_sum(tank, smoke_of(tank)->args.m.lift, false),
                     wanted = heat * (double)desc.parameters[TARN_SMOKE_EXPANSION] / 8.0;
        assert_true(wanted > 10.0 && fabs(lift / wanted - 1.0) < 1e-5);
        close_tank(tank, device);
    }
}

static void heat_is_kept_by_mixing_and_lost_by_cooling(void **state)
{
    (void)state;
    tarn_device *device;
    tarn_tank_desc desc = smoke_desc(24, 24, 24);
    desc.parameters[TARN_SMOKE_HEAT_DIFFUSION] = 5.0f;
    desc.parameters[TARN_SMOKE_COOLING] = desc.parameters[TARN_SMOKE_FADING] = 0.0f;
    put_block(&desc, (const float[]){4, 4, 4}, (const float[]){12.3f, 12, 12}, 80.0f);
    put_block(&desc, (const float[]){12.3f, 4, 4}, (const float[]){20, 12, 12}, 20.0f);
    tarn_tank *tank = open_tank(1, &desc, &device);
    const double heat = carried_sum(tank, TARN_SMOKE_HEAT);
    steps(tank, 60);
    assert_true(fabs(carried_sum(tank, TARN_SMOKE_HEAT) / heat - 1.0) < 1e-4);
    float least = 1e9f, most = 0.0f;
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        least = fminf(least, tank->args->store.carried[TARN_SMOKE_HEAT][i]);
        most = fmaxf(most, tank->args->store.carried[TARN_SMOKE_HEAT][i]);
    }
    assert_true(least >= 20.0f - 0.01f && most <= 80.0f + 0.01f);
    const double before = carried_sum(tank, TARN_SMOKE_HEAT);
    const tarn_step_input cools = {.parameter_count = 1, .parameters = {{TARN_SMOKE_COOLING, 2.0f}}};
    assert_int_equal(tarn_tank_step(tank, &cools), TARN_OK);
    steps(tank, 29);
    const double wanted = exp(-2.0 * 30.0 * (double)desc.dt_s);
    assert_true(fabs(carried_sum(tank, TARN_SMOKE_HEAT) / before / wanted - 1.0) < 1e-4);
    close_tank(tank, device);
}

/// Warm and cool particles in each cell of still air: what they carry tends to the cell's mean by exp(-rate t), and
/// smoke fades by exp(-rate t).
static void mixing_and_fading_are_exponential(void **state)
{
    (void)state;
    tarn_device *device;
    tarn_tank_desc desc = smoke_desc(16, 16, 16);
    desc.parameters[TARN_SMOKE_GRAVITY] = desc.parameters[TARN_SMOKE_COOLING] = 0.0f;
    desc.parameters[TARN_SMOKE_HEAT_DIFFUSION] = 1.5f;
    desc.parameters[TARN_SMOKE_FADING] = 0.7f;
    put_block(&desc, (const float[]){4, 4, 4}, (const float[]){12, 12, 12}, 0.0f);
    tarn_tank *tank = open_tank(1, &desc, &device);
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        const uint32_t half = tank->args->store.position[0][i] >> (POSITION_BITS - 1) & 1;
        tank->args->store.carried[TARN_SMOKE_HEAT][i] = half ? 70.0f : 30.0f;
    }
    const uint32_t count = tank->particle_count;
    steps(tank, 40);
    assert_int_equal(tank->particle_count, count);
    const double time_s = 40.0 * (double)desc.dt_s, apart = 20.0 * exp(-1.5 * time_s), smoke = exp(-0.7 * time_s);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t half = tank->args->store.position[0][i] >> (POSITION_BITS - 1) & 1;
        const double heat = (double)tank->args->store.carried[TARN_SMOKE_HEAT][i];
        assert_true(fabs(heat - (half ? 50.0 + apart : 50.0 - apart)) < 0.01);
        assert_true(fabs((double)tank->args->store.carried[TARN_SMOKE_SMOKE][i] / smoke - 1.0) < 1e-4);
    }
    close_tank(tank, device);
}

/// Of the wave sin(k x) cos(l y) between slippery walls, which falls by exp(-nu (k^2 + l^2) t): so slow that it doesn't
/// carry itself. `viscosity` in cells^2 per step.
static double wave_left(double viscosity, int count)
{
    const double pi = 3.14159265358979, k = pi / 48.0, l = pi / 16.0;
    tarn_device *device;
    tarn_tank_desc desc = smoke_desc(48, 16, 1);
    desc.parameters[TARN_SMOKE_GRAVITY] = desc.parameters[TARN_SMOKE_SLEEP_SPEED] = 0.0f;
    desc.parameters[TARN_SMOKE_TOLERANCE] = 1e-6f;
    desc.parameters[TARN_SMOKE_VISCOSITY] = (float)(viscosity * (double)(desc.cell_m * desc.cell_m / desc.dt_s));
    put_block(&desc, (const float[]){0, 0, 0}, (const float[]){1, 1, 1}, 0.0f);
    tarn_tank *tank = open_tank(1, &desc, &device);
    for (int y = 0; y < 16; y++) {
        for (int x = 0; x < 48; x++) {
            *face_of(tank, 0, x, y, 0) = (float)(0.02 * sin(k * x) * cos(l * (y + 0.5)));
            *face_of(tank, 1, x, y, 0) = (float)(-0.02 * k / l * cos(k * (x + 0.5)) * sin(l * y));
        }
    }
    const double before = energy(tank);
    steps(tank, count);
    const double left = sqrt(energy(tank) / before);
    close_tank(tank, device);
    return left;
}

/// In one round of diffusion a step, and in many.
static void viscosity_lets_a_wave_decay(void **state)
{
    (void)state;
    const double pi = 3.14159265358979, k2 = pi * pi / (48.0 * 48.0) + pi * pi / (16.0 * 16.0);
    const double viscosity[] = {0.1, 1.3};
    const int count[] = {100, 12};
    for (int i = 0; i < 2; i++) {
        const double folds = -log(wave_left(viscosity[i], count[i])), wanted = viscosity[i] * k2 * count[i];
        assert_true(fabs(folds / wanted - 1.0) < 0.02);
    }
    assert_true(wave_left(0.0, 100) > 0.99);
}

/// Of a closed tank full of warm air, which rests: dp/dy is its lift. And within what is said of it.
static void pressure_carries_warm_air(void **state)
{
    (void)state;
    tarn_device *device;
    tarn_tank_desc desc = smoke_desc(16, 24, 16);
    put_block(&desc, (const float[]){0, 0, 0}, (const float[]){16, 24, 16}, 10.0f);
    tarn_tank *tank = open_tank(1, &desc, &device);
    const uint32_t count = tank->particle_count;
    const int number = tarn_model_channel_find(tarn_tank_model(tank), "pressure");
    float *at_m = malloc((size_t)count * 3 * sizeof *at_m), *pa = malloc((size_t)count * sizeof *pa);
    float range[2];
    uint32_t got = 0;
    assert_true(number >= 0);
    steps(tank, 1);
    assert_int_equal(tarn_tank_particles(tank, at_m, NULL, NULL, count, &got), TARN_OK);
    assert_int_equal(tarn_tank_channel(tank, (uint32_t)number, pa, count, &got, range), TARN_OK);
    const float slope = 1.2f * 10.0f / 293.0f * 9.81f, cell_m = desc.cell_m;
    const float column_pa = slope * 24.0f * cell_m;
    for (uint32_t i = 0; i < count; i++) {
        const float y = (floorf(at_m[3 * i + 1] / cell_m) + 0.5f) * cell_m;
        const float y0 = (floorf(at_m[1] / cell_m) + 0.5f) * cell_m;
        assert_true(fabsf(pa[i] - pa[0] - slope * (y - y0)) <= 0.02f * column_pa);
        assert_true(pa[i] >= range[0] && pa[i] <= range[1]);
    }
    assert_true(range[1] < 10.0f * column_pa);
    float *cells = malloc((size_t)16 * 24 * 16 * sizeof *cells);
    assert_int_equal(tarn_tank_pressure(tank, cells, (size_t)16 * 24 * 16), TARN_OK);
    for (int y = 0; y < 23; y++) {
        const float *at = &cells[(8 * 24 + y) * 16 + 8];
        assert_true(fabsf(1.2f * (at[16] - at[0]) / (slope * cell_m) - 1.0f) < 0.1f);
    }
    free(cells);
    free(pa);
    free(at_m);
    close_tank(tank, device);
}

/// Air that was stirred, without anything that lifts it.
static void energy_does_not_grow(void **state)
{
    (void)state;
    for (int advection = 0; advection < 2; advection++) {
        tarn_device *device;
        tarn_tank_desc desc = smoke_desc(48, 40, 1);
        desc.parameters[TARN_SMOKE_GRAVITY] = 0.0f;
        desc.parameters[TARN_SMOKE_SLEEP_SPEED] = 0.0f;
        desc.parameters[TARN_SMOKE_ADVECTION] = (float)advection;
        put_block(&desc, (const float[]){20, 20, 0}, (const float[]){30, 30, 1}, 10.0f);
        tarn_tank *tank = open_tank(2, &desc, &device);
        const float c = desc.cell_m;
        const tarn_step_input stir = {.push_count = 2,
                                      .pushes = {{.center_m = {15 * c, 20 * c, 0.5f * c},
                                                  .radius_m = 8 * c,
                                                  .velocity_m_s = {3.0f, 1.0f, 0.0f},
                                                  .strength = 1.0f},
                                                 {.center_m = {32 * c, 22 * c, 0.5f * c},
                                                  .radius_m = 9 * c,
                                                  .strength = 1.0f,
                                                  .spin_rad_s = {0.0f, 0.0f, 9.0f}}}};
        assert_int_equal(tarn_tank_step(tank, &stir), TARN_OK);
        double last = energy(tank);
        assert_true(last > 1.0);
        for (int i = 0; i < 120; i++) {
            steps(tank, 1);
            const double now = energy(tank);
            assert_true(now <= 1.0005 * last);
            last = now;
        }
        close_tank(tank, device);
    }
}

static void what_has_faded_or_risen_out_is_gone(void **state)
{
    (void)state;
    for (int is_open = 0; is_open < 2; is_open++) {
        tarn_device *device;
        tarn_tank_desc desc = smoke_desc(24, 24, 24);
        desc.parameters[TARN_SMOKE_OPEN] = (float)is_open;
        desc.parameters[TARN_SMOKE_COOLING] = desc.parameters[TARN_SMOKE_FADING] = is_open ? 0.0f : 20.0f;
        put_block(&desc, (const float[]){6, 12, 6}, (const float[]){18, 22, 18}, 100.0f);
        tarn_tank *tank = open_tank(1, &desc, &device);
        const uint32_t before = tank->particle_count;
        steps(tank, 10);
        assert_true(is_open || tank->particle_count == before);
        steps(tank, 80);
        assert_true(is_open ? tank->particle_count < before / 2 : tank->particle_count == 0);
        close_tank(tank, device);
    }
}

/// A small cloud in a large tank, which wakes what it comes near to.
static void still_air_sleeps(void **state)
{
    (void)state;
    tarn_device *device;
    tarn_tank_desc desc = smoke_desc(64, 64, 64);
    put_block(&desc, (const float[]){30, 4, 30}, (const float[]){34, 8, 34}, 100.0f);
    tarn_tank *tank = open_tank(2, &desc, &device);
    assert_int_equal(tank->counters.grid.occupied, 512);
    steps(tank, 2);
    assert_true(tank->counters.grid.occupied >= 8 && tank->counters.grid.occupied < 256);
    steps(tank, 60);
    assert_true(tank->counters.grid.occupied < 512);
    const tarn_tank_report report = plain_tank_report(tank);
    assert_true(report.center_m[1] > 12.0f * desc.cell_m);
    close_tank(tank, device);
}

static tarn_tank_desc busy_desc(void)
{
    tarn_tank_desc desc = smoke_desc(40, 44, 28);
    const float c = desc.cell_m;
    desc.parameters[TARN_SMOKE_OPEN] = 1.0f;
    desc.parameters[TARN_SMOKE_CONFINEMENT] = 0.3f;
    desc.parameters[TARN_SMOKE_VISCOSITY] = 1e-3f;
    desc.parameters[TARN_SMOKE_FADING] = 1.0f;
    desc.parameters[TARN_SMOKE_SLEEP_SPEED] = 0.2f;
    desc.particles_max = 6000;
    put_block(&desc, (const float[]){4, 4, 4}, (const float[]){12, 10, 12}, 100.0f);
    desc.solid_count = 1;
    desc.solids[0] = (tarn_solid){.shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {5 * c}},
                                  .pose = {{20 * c, 20 * c, 14 * c}, {0.0f, 0.0f, 0.0f, 1.0f}},
                                  .density_kg_m3 = 500.0f};
    desc.emitter_count = 1;
    desc.emitters[0] = (tarn_emitter){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {3 * c, 2 * c, 3 * c}},
                                      .pose = {{20 * c, 4 * c, 14 * c}, {0.0f, 0.0f, 0.0f, 1.0f}},
                                      .velocity_m_s = {0.0f, 1.0f, 0.0f},
                                      .carried = {150.0f, 1.0f}};
    return desc;
}

static tarn_tank_hash busy_hash(uint32_t threads, const char *isa, int count)
{
    const tarn_tank_desc desc = busy_desc();
    tarn_device *device = plain_tank_device(threads, isa);
    tarn_tank_hash hash = {0};
    if (device != NULL) {
        tarn_tank *tank = plain_tank_open(device, &desc);
        steps(tank, count);
        assert_true(tank->born > 1000);
        hash = plain_tank_hash(tank);
        close_tank(tank, device);
    }
    return hash;
}

static void same_on_all_threads_and_instruction_sets(void **state)
{
    (void)state;
    const tarn_tank_hash wanted = busy_hash(1, NULL, 40);
    const char *const isas[] = {NULL, "v2", "v3", "v4"};
    for (uint32_t i = 0; i < sizeof isas / sizeof isas[0]; i++) {
        const tarn_tank_hash found = busy_hash(2, isas[i], 40), none = {0};
        assert_true(memcmp(&found, &wanted, sizeof found) == 0 || (i > 0 && memcmp(&found, &none, sizeof none) == 0));
    }
}

static void a_loaded_tank_goes_on_as_it_was(void **state)
{
    (void)state;
    const tarn_tank_desc desc = busy_desc();
    tarn_device *device;
    tarn_tank *tank = open_tank(2, &desc, &device), *other = plain_tank_open(device, &desc);
    steps(tank, 45);
    const size_t most = tarn_tank_save_bytes_max(tank);
    uint8_t *bytes = malloc(most);
    size_t count = 0;
    assert_non_null(bytes);
    assert_true(tank->counters.grid.occupied < tank->args->grid.shape.tile_total[0]); // some sleep
    assert_int_equal(tarn_tank_save(tank, bytes, most, &count), TARN_OK);
    steps(other, 3);
    assert_int_equal(tarn_tank_load(other, bytes, count), TARN_OK);
    for (int i = 0; i < 30; i++) {
        const tarn_tank_hash a = plain_tank_hash(tank), b = plain_tank_hash(other);
        assert_memory_equal(&a, &b, sizeof a);
        steps(tank, 1);
        steps(other, 1);
    }
    free(bytes);
    tarn_tank_destroy(other);
    close_tank(tank, device);
}

typedef struct place {
    uint32_t at[3];
} place;

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(place)); // any order will do
}

/// The particles' places after a while, sorted; mirrored along `axis`, or as they are where it is -1.
static place *places_of(const tarn_tank_desc *desc, int axis, uint32_t *count)
{
    tarn_device *device;
    tarn_tank *tank = open_tank(2, desc, &device);
    steps(tank, 60);
    *count = tank->particle_count;
    place *places = malloc(*count * sizeof *places);
    assert_non_null(places);
    for (uint32_t i = 0; i < *count; i++) {
        for (int a = 0; a < 3; a++) {
            const uint32_t last = ((uint32_t)desc->cells[a] << POSITION_BITS) - 1,
                           at = tank->args->store.position[a][i];
            places[i].at[a] = a == axis ? last - at : at;
        }
    }
    qsort(places, *count, sizeof *places, compare);
    close_tank(tank, device);
    return places;
}

static void mirrored_smoke_is_the_mirror_image(void **state)
{
    (void)state;
    for (int axis = 0; axis < 3; axis += 2) {
        uint32_t count, other_count, different = 0;
        tarn_tank_desc desc = smoke_desc(32, 32, 16);
        desc.parameters[TARN_SMOKE_HEAT_DIFFUSION] = 3.0f;
        desc.parameters[TARN_SMOKE_CONFINEMENT] = 0.2f;
        put_block(&desc, (const float[]){3, 2, 2}, (const float[]){15, 9, 7}, 120.0f);
        put_block(&desc, (const float[]){18, 20, 8}, (const float[]){24, 26, 14}, -60.0f);
        place *places = places_of(&desc, -1, &count);
        for (uint32_t i = 0; i < desc.block_count; i++) {
            const float size_m = desc.cells[axis] * desc.cell_m, min_m = desc.blocks[i].min_m[axis];
            desc.blocks[i].min_m[axis] = size_m - desc.blocks[i].max_m[axis];
            desc.blocks[i].max_m[axis] = size_m - min_m;
        }
        place *others = places_of(&desc, axis, &other_count);
        assert_int_equal(count, other_count);
        for (uint32_t i = 0; i < count; i++) {
            different += compare(&places[i], &others[i]) != 0;
        }
        assert_int_equal(different, 0);
        free(places);
        free(others);
    }
}

// ------------------------------------------------------------------------------------- sources, walls, ends of the
// tank

/// Particles whose place along an axis, in cells, is in a range.
static uint32_t count_between(const tarn_tank *tank, int axis, float from, float to)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        const float at = (float)tank->args->store.position[axis][i] / (1 << POSITION_BITS);
        count += at >= from && at < to;
    }
    return count;
}

static void put_source(tarn_tank_desc *desc, float x, float y, float z, float start_s, float end_s)
{
    const float c = desc->cell_m;
    desc->emitters[desc->emitter_count++] = (tarn_emitter){.shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {3.0f * c}},
                                                           .pose = {{x * c, y * c, z * c}, {0.0f, 0.0f, 0.0f, 1.0f}},
                                                           .velocity_m_s = {0.0f, 0.5f, 0.0f},
                                                           .start_s = start_s,
                                                           .end_s = end_s,
                                                           .carried = {80.0f, 1.0f}};
}

static void a_source_keeps_to_its_schedule(void **state)
{
    (void)state;
    tarn_device *device;
    tarn_tank_desc desc = smoke_desc(32, 32, 32);
    desc.particles_max = 20000;
    put_source(&desc, 16, 5, 16, 0.25f, 0.5f);
    tarn_tank *tank = open_tank(1, &desc, &device);
    steps(tank, 14);
    assert_int_equal(tank->born, 0);
    steps(tank, 10);
    const uint64_t born = tank->born;
    assert_true(born > 500);
    steps(tank, 8);
    const uint64_t all = tank->born;
    assert_true(all > born);
    steps(tank, 30);
    assert_int_equal(tank->born, all);
    close_tank(tank, device);
}

/// A stream along the floor, of air without friction of its own: it goes on, or is braked in the lowest cells only.
static void walls_let_slip_or_hold_fast(void **state)
{
    (void)state;
    double low[2], high[2];
    for (int grips = 0; grips < 2; grips++) {
        tarn_device *device;
        tarn_tank_desc desc = smoke_desc(48, 24, 1);
        desc.parameters[TARN_SMOKE_GRAVITY] = desc.parameters[TARN_SMOKE_SLEEP_SPEED] = 0.0f;
        desc.parameters[TARN_SMOKE_VISCOSITY] = 1e-3f;
        desc.parameters[TARN_SMOKE_WALL_GRIP] = (float)grips;
        put_block(&desc, (const float[]){0, 0, 0}, (const float[]){1, 1, 1}, 0.0f);
        tarn_tank *tank = open_tank(1, &desc, &device);
        for (int y = 0; y < 24; y++) {
            for (int x = 1; x < 48; x++) {
                *face_of(tank, 0, x, y, 0) = y < 12 ? 0.2f : -0.2f; // which turns round at the ends
            }
        }
        steps(tank, 20);
        low[grips] = (double)*face_of(tank, 0, 24, 0, 0);
        high[grips] = (double)*face_of(tank, 0, 24, 5, 0);
        close_tank(tank, device);
    }
    assert_true(low[0] > 0.12 && high[0] > 0.1);
    assert_true(low[1] < 0.8 * low[0]);
    assert_true(fabs(high[1] / high[0] - 1.0) < 0.1);
}

/// Smoke that is blown against a side leaves where the sides are open, and the floor and, where only the top is open,
/// the sides hold it.
static void smoke_leaves_at_open_sides_only(void **state)
{
    (void)state;
    for (int open = 0; open <= 2; open++) {
        tarn_device *device;
        tarn_tank_desc desc = smoke_desc(24, 48, 24);
        desc.parameters[TARN_SMOKE_OPEN] = (float)open;
        desc.parameters[TARN_SMOKE_COOLING] = desc.parameters[TARN_SMOKE_FADING] = 0.0f;
        put_block(&desc, (const float[]){12, 6, 8}, (const float[]){22, 14, 16}, 0.0f);
        tarn_tank *tank = open_tank(1, &desc, &device);
        const float c = desc.cell_m;
        const tarn_step_input blow = {.push_count = 1,
                                      .pushes = {{.center_m = {16 * c, 10 * c, 12 * c},
                                                  .radius_m = 9 * c,
                                                  .velocity_m_s = {1.0f, 0.0f, 0.0f},
                                                  .strength = 1.0f}}};
        for (int i = 0; i < 30; i++) {
            assert_int_equal(tarn_tank_step(tank, &blow), TARN_OK);
        }
        const uint64_t gone = plain_tank_report(tank).gone;
        assert_true(open == 2 ? gone > 500 : gone == 0);
        close_tank(tank, device);
    }
}

// ------------------------------------------------------------------------------------------------------- what people
// do

/// A cloud at rest that nothing lifts, in the middle.
static tarn_tank_desc cloud_desc(void)
{
    tarn_tank_desc desc = smoke_desc(40, 40, 40);
    desc.parameters[TARN_SMOKE_GRAVITY] = 0.0f;
    desc.parameters[TARN_SMOKE_COOLING] = desc.parameters[TARN_SMOKE_FADING] = 0.0f;
    desc.particles_max = 40000;
    put_block(&desc, (const float[]){14, 14, 14}, (const float[]){26, 26, 26}, 0.0f);
    return desc;
}

static void act(tarn_tank *tank, const tarn_step_input *input, int count)
{
    for (int i = 0; i < count; i++) {
        assert_int_equal(tarn_tank_step(tank, input), TARN_OK);
    }
}

/// Mean over the cloud of (r x way) about y, and of the way along x, in cells.
static void ways(const tarn_tank *tank, const tarn_tank_desc *desc, double *turn, double *along)
{
    static float at[3 * 40000];
    static float speed[3 * 40000];
    uint32_t count;
    assert_int_equal(tarn_tank_particles((tarn_tank *)tank, at, speed, NULL, 40000, &count), TARN_OK);
    *turn = *along = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        const double middle = 20.0 * (double)desc->cell_m;
        *turn += (((double)at[3 * i + 2] - middle) * (double)speed[3 * i] -
                  ((double)at[3 * i] - middle) * (double)speed[3 * i + 2]) /
                 count;
        *along += (double)speed[3 * i] / count;
    }
}

static void pushes_and_vortices_move_the_air(void **state)
{
    (void)state;
    const tarn_tank_desc desc = cloud_desc();
    const float c = desc.cell_m;
    for (int spins = 0; spins < 2; spins++) {
        tarn_device *device;
        double turn, along;
        tarn_tank *tank = open_tank(1, &desc, &device);
        tarn_step_input input = {
            .push_count = 1, .pushes = {{.center_m = {20 * c, 20 * c, 20 * c}, .radius_m = 8 * c, .strength = 1.0f}}};
        input.pushes[0].velocity_m_s[0] = spins ? 0.0f : 0.5f;
        input.pushes[0].spin_rad_s[1] = spins ? 5.0f : 0.0f;
        act(tank, &input, 6);
        ways(tank, &desc, &turn, &along);
        const double turned = 5.0 * pow(8.0 * (double)c, 2.0);
        assert_true(spins ? turn > 0.05 * turned && fabs(along) < 0.01 : along > 0.1 && fabs(turn) < 0.02 * turned);
        close_tank(tank, device);
    }
}

static void a_pour_is_coloured_smoke_and_dye_colours(void **state)
{
    (void)state;
    tarn_device *device;
    tarn_tank_desc desc = cloud_desc();
    const float c = desc.cell_m;
    tarn_tank *tank = open_tank(1, &desc, &device);
    const uint32_t before = tank->particle_count;
    const tarn_step_input pour = {.tools = {.pour_count = 1,
                                            .pours = {{.center_m = {20 * c, 6 * c, 20 * c},
                                                       .radius_m = 3 * c,
                                                       .velocity_m_s = {0.0f, 1.0f, 0.0f},
                                                       .colour = {250, 10, 20, 255}}}}};
    act(tank, &pour, 20);
    assert_true(tank->particle_count > before + 500);
    const float *heat = tank->args->store.carried[TARN_SMOKE_HEAT],
                *smoke = tank->args->store.carried[TARN_SMOKE_SMOKE];
    uint32_t warm = 0;
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        warm += heat[i] > 1.0f && smoke[i] > 0.5f; // the cloud has none
    }
    assert_int_equal(warm, tank->particle_count - before);
    const tarn_step_input dye = {
        .tools = {
            .dye_count = 1,
            .dyes = {
                {.center_m = {20 * c, 20 * c, 20 * c}, .radius_m = 5 * c, .colour = {10, 240, 30}, .share = 1.0f}}}};
    act(tank, &dye, 2);
    uint8_t *colours = malloc(3u * tank->particle_count);
    uint32_t count, red = 0, green = 0;
    assert_non_null(colours);
    assert_int_equal(tarn_tank_particle_colours(tank, NULL, colours, tank->particle_count, &count), TARN_OK);
    for (uint32_t i = 0; i < count; i++) {
        red += colours[3 * i] > 200 && colours[3 * i + 1] < 60;
        green += colours[3 * i + 1] > 200 && colours[3 * i] < 60;
    }
    assert_true(red > 500 && green > 2000 && green < before);
    free(colours);
    close_tank(tank, device);
}

/// Mean distance of the particles from the middle, cells.
static double mean_distance(const tarn_tank *tank)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        double square = 0.0;
        for (int a = 0; a < 3; a++) {
            const double d = (double)tank->args->store.position[a][i] / (1 << POSITION_BITS) - 20.0;
            square += d * d;
        }
        sum += sqrt(square);
    }
    return sum / tank->particle_count;
}

/// A drain takes what is in it at once, and goes on to draw in what is around it.
static void a_drain_sucks_smoke_in(void **state)
{
    (void)state;
    tarn_device *device;
    const tarn_tank_desc desc = cloud_desc();
    const float c = desc.cell_m;
    tarn_tank *tank = open_tank(1, &desc, &device);
    const uint32_t before = tank->particle_count;
    const tarn_step_input drain = {
        .tools = {.sink_count = 1, .sinks = {{.center_m = {20 * c, 20 * c, 20 * c}, .radius_m = 3 * c}}}};
    act(tank, &drain, 1);
    const double ball = 4.0 / 3.0 * 3.14159 * 27.0 * 8.0;
    assert_true(before - tank->particle_count < 2.0 * ball);
    act(tank, &drain, 29);
    assert_true(before - tank->particle_count > 4.0 * ball);
    close_tank(tank, device);
}

static void a_pull_gathers_smoke(void **state)
{
    (void)state;
    for (int away = 0; away < 2; away++) {
        tarn_device *device;
        const tarn_tank_desc desc = cloud_desc();
        const float c = desc.cell_m;
        tarn_tank *tank = open_tank(1, &desc, &device);
        const double before = mean_distance(tank);
        const tarn_step_input pull = {.push_count = 1,
                                      .pushes = {{.center_m = {20 * c, 20 * c, 20 * c},
                                                  .radius_m = 12 * c,
                                                  .strength = 1.0f,
                                                  .inward_m_s = away ? -0.3f : 0.3f}}};
        act(tank, &pull, 10);
        const double change = mean_distance(tank) - before;
        assert_true(away ? change > 0.5 : change < -0.5);
        close_tank(tank, device);
    }
}

/// One that takes half of the difference in a step, in one substep and in four.
static void a_pull_is_as_strong_in_substeps(void **state)
{
    (void)state;
    double change[2];
    for (int cut = 0; cut < 2; cut++) {
        tarn_device *device;
        tarn_tank_desc desc = cloud_desc();
        desc.parameters[TARN_SMOKE_CFL] = cut ? 0.5f : 2.9f;
        const float c = desc.cell_m;
        tarn_tank *tank = open_tank(1, &desc, &device);
        const tarn_step_input pull = {.push_count = 1,
                                      .pushes = {{.center_m = {20 * c, 20 * c, 20 * c},
                                                  .radius_m = 16 * c,
                                                  .strength = 0.5f,
                                                  .inward_m_s = 3.8f * c / desc.dt_s}}};
        const double before = mean_distance(tank);
        act(tank, &pull, 1);
        assert_int_equal(tank->grid.substeps, cut ? 4 : 1);
        change[cut] = mean_distance(tank) - before;
        close_tank(tank, device);
    }
    assert_true(change[0] < -0.5 && fabs(change[1] / change[0] - 1.0) < 0.1);
}

/// Of the air, along an axis, cells per step.
static double fastest(const tarn_tank *tank)
{
    double most = 0.0;
    for (size_t i = 0; i < 3 * (size_t)tank->counters.grid.active * TILE_CELLS; i++) {
        const size_t cells = (size_t)tank->counters.grid.active * TILE_CELLS;
        most = fmax(most, fabs((double)tank->args->store.kept[i / cells][i % cells]));
    }
    return most;
}

/// As many pulls and sinks in one place as there may be. They draw with more than air can be carried, were they added.
static void pulls_together_stay_in_hand(void **state)
{
    (void)state;
    tarn_device *device;
    tarn_tank_desc desc = cloud_desc();
    const float c = desc.cell_m;
    desc.parameters[TARN_SMOKE_SLEEP_SPEED] = 0.0f;
    tarn_tank *tank = open_tank(1, &desc, &device);
    static tarn_step_input all;
    all.push_count = TARN_TANK_PUSHES_MAX;
    for (int i = 0; i < TARN_TANK_PUSHES_MAX; i++) {
        all.pushes[i] = (tarn_push){.center_m = {20 * c, 20 * c, 20 * c},
                                    .radius_m = 12 * c,
                                    .strength = 1.0f,
                                    .inward_m_s = TARN_TANK_PUSH_SPEED_MAX_M_S};
    }
    all.tools.sink_count = TARN_TANK_SINKS_MAX;
    for (int i = 0; i < TARN_TANK_SINKS_MAX; i++) {
        all.tools.sinks[i] = (tarn_sink){.center_m = {20 * c, 20 * c, 20 * c}, .radius_m = 3 * c};
    }
    double drawn = 0.0;
    for (int i = 0; i < 5; i++) {
        act(tank, &all, 1);
        drawn = (double)REACH_CELLS * tank->grid.substeps;
        assert_true(fastest(tank) > 0.5 * drawn && fastest(tank) < 1.5 * drawn);
    }
    steps(tank, 2);
    assert_true(fastest(tank) < 0.3 * drawn); // most of it was taken away again
    assert_int_equal(plain_tank_report(tank).unconverged, 0);
    close_tank(tank, device);
}

/// A wall in the way of rising smoke, and none.
static void a_wall_keeps_smoke_out(void **state)
{
    (void)state;
    for (int is_there = 0; is_there < 2; is_there++) {
        tarn_device *device;
        tarn_tank_desc desc = smoke_desc(32, 48, 32);
        const float c = desc.cell_m;
        desc.parameters[TARN_SMOKE_COOLING] = desc.parameters[TARN_SMOKE_FADING] = 0.0f;
        put_block(&desc, (const float[]){10, 4, 10}, (const float[]){22, 14, 22}, 200.0f);
        tarn_tank *tank = open_tank(1, &desc, &device);
        tarn_step_input build = {
            .wall_count = (uint32_t)is_there,
            .walls = {{.shape = {.kind = TARN_SHAPE_BOX, .half_m = {15.9f * c, 1.5f * c, 15.9f * c}},
                       .pose = {{16 * c, 24 * c, 16 * c}, {0.0f, 0.0f, 0.0f, 1.0f}}}}};
        tarn_step_refusals refusals;
        assert_int_equal(tarn_tank_admit(tank, &build, &refusals), TARN_OK);
        assert_int_equal(tarn_tank_step(tank, &build), TARN_OK);
        steps(tank, 60);
        const uint32_t above = count_between(tank, 1, 26.0f, 48.0f);
        assert_true(is_there ? above == 0 : above > tank->particle_count / 4);
        close_tank(tank, device);
    }
}

/// A ball that is thrown through still air, and one on rails: the air before and behind it goes along as it does in a
/// potential flow, by (radius / distance)^3 of the ball's speed.
static void bodies_push_the_air(void **state)
{
    (void)state;
    const int radius = 5;
    for (int is_thrown = 0; is_thrown < 2; is_thrown++) {
        tarn_device *device;
        tarn_tank_desc desc = cloud_desc();
        const float c = desc.cell_m, speed = 0.25f * c / desc.dt_s;
        desc.parameters[TARN_SMOKE_SLEEP_SPEED] = 0.0f;
        const tarn_solid ball = {.shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {radius * c}},
                                 .pose = {{20 * c, 20 * c, 20 * c}, {0.0f, 0.0f, 0.0f, 1.0f}},
                                 .motion = is_thrown ? TARN_MOTION_FREE : TARN_MOTION_KEYFRAMES,
                                 .density_kg_m3 = 500.0f,
                                 .velocity_m_s = {is_thrown ? speed : 0.0f, 0.0f, 0.0f},
                                 .keyframe_count = is_thrown ? 0 : 2};
        desc.solids[0] = ball;
        desc.solid_count = !is_thrown;
        desc.keyframe_count = is_thrown ? 0 : 2;
        desc.keyframes[0] = (tarn_keyframe){0.0f, ball.pose};
        desc.keyframes[1] = (tarn_keyframe){1.0f, {{20 * c + speed, 20 * c, 20 * c}, {0.0f, 0.0f, 0.0f, 1.0f}}};
        tarn_tank *tank = open_tank(1, &desc, &device);
        tarn_step_input throws = {.throw_count = (uint32_t)is_thrown, .throws = {ball}};
        tarn_step_refusals refusals;
        assert_int_equal(tarn_tank_admit(tank, &throws, &refusals), TARN_OK);
        assert_int_equal(tarn_tank_step(tank, &throws), TARN_OK);
        for (int side = -1; side <= 1; side += 2) {
            double found = 0.0, wanted = 0.0;
            for (int way = 7; way <= 11; way++) {
                const int x = 20 + side * way;
                for (int around = 0; around < 4; around++) {
                    found += 0.25 * (double)*face_of(tank, 0, x, 19 + (around & 1), 19 + (around >> 1));
                }
                wanted += 0.25 * pow((double)radius / way, 3.0);
            }
            assert_true(fabs(found / wanted - 1.0) < 0.15);
        }
        close_tank(tank, device);
    }
}

/// Stam's and Harris' scheme: a semi-Lagrangian step and fifty rounds of Jacobi's iteration, which leave divergence.
static void the_original_scheme_is_there(void **state)
{
    (void)state;
    double height[2];
    for (int original = 0; original < 2; original++) {
        tarn_device *device;
        tarn_tank_desc desc = smoke_desc(48, 64, 1);
        desc.parameters[TARN_SMOKE_SLEEP_SPEED] = 0.0f;
        put_block(&desc, (const float[]){18, 4, 0}, (const float[]){30, 12, 1}, 60.0f);
        if (original) {
            desc.solver = TARN_SOLVER_JACOBI;
            desc.parameters[TARN_SMOKE_ADVECTION] = 0.0f;
            desc.parameters[TARN_SMOKE_ITERATIONS] = 50.0f;
            desc.parameters[TARN_SMOKE_TOLERANCE] = 1e-6f;
        }
        tarn_tank *tank = open_tank(1, &desc, &device);
        steps(tank, 60);
        const tarn_tank_report report = plain_tank_report(tank);
        assert_true(original ? report.pressure_iterations == 50 && report.residual > 1e-4f
                             : report.pressure_iterations < 10 && report.residual <= 1e-3f);
        assert_true((report.unconverged > 0) == (original != 0)); // what is cut short is counted
        height[original] = report.center_m[1] / (double)desc.cell_m;
        close_tank(tank, device);
    }
    assert_true(height[0] > 12.0 && height[1] > 10.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_lift_comes_to_the_grid),
        cmocka_unit_test(heat_is_kept_by_mixing_and_lost_by_cooling),
        cmocka_unit_test(mixing_and_fading_are_exponential),
        cmocka_unit_test(viscosity_lets_a_wave_decay),
        cmocka_unit_test(pressure_carries_warm_air),
        cmocka_unit_test(energy_does_not_grow),
        cmocka_unit_test(what_has_faded_or_risen_out_is_gone),
        cmocka_unit_test(still_air_sleeps),
        cmocka_unit_test(same_on_all_threads_and_instruction_sets),
        cmocka_unit_test(a_loaded_tank_goes_on_as_it_was),
        cmocka_unit_test(mirrored_smoke_is_the_mirror_image),
        cmocka_unit_test(a_source_keeps_to_its_schedule),
        cmocka_unit_test(walls_let_slip_or_hold_fast),
        cmocka_unit_test(smoke_leaves_at_open_sides_only),
        cmocka_unit_test(pushes_and_vortices_move_the_air),
        cmocka_unit_test(a_pour_is_coloured_smoke_and_dye_colours),
        cmocka_unit_test(a_drain_sucks_smoke_in),
        cmocka_unit_test(a_pull_gathers_smoke),
        cmocka_unit_test(a_pull_is_as_strong_in_substeps),
        cmocka_unit_test(pulls_together_stay_in_hand),
        cmocka_unit_test(a_wall_keeps_smoke_out),
        cmocka_unit_test(bodies_push_the_air),
        cmocka_unit_test(the_original_scheme_is_there),
    };
    return cmocka_run_group_tests_name("smoke", tests, NULL, NULL);
}
