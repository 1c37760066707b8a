// Smoke: what of the particles comes to the grid, what becomes of them and of the air, and that a tank of it is what
// any tank is: the same on every number of threads, mirrored where it is mirrored, and itself again once it is loaded.
#include "tests/tank/smoke_tank.h"

#include <cmocka.h> // needs that above

#include "kernels/step_input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static int transfers;

tarn_status __real_tarn_queue_download(tarn_queue *queue, void *to, const void *from, size_t bytes);
tarn_status __wrap_tarn_queue_download(tarn_queue *queue, void *to, const void *from, size_t bytes);
tarn_status __real_tarn_queue_upload(tarn_queue *queue, void *to, const void *from, size_t bytes);
tarn_status __wrap_tarn_queue_upload(tarn_queue *queue, void *to, const void *from, size_t bytes);

tarn_status __wrap_tarn_queue_download(tarn_queue *queue, void *to, const void *from, size_t bytes)
{
    transfers++;
    return __real_tarn_queue_download(queue, to, from, bytes);
}

tarn_status __wrap_tarn_queue_upload(tarn_queue *queue, void *to, const void *from, size_t bytes)
{
    transfers++;
    return __real_tarn_queue_upload(queue, to, from, bytes);
}

/// A GPU waits for each: a state isn't saved or loaded tile by tile.
static void a_state_takes_few_transfers(void **state)
{
    (void)state;
    enum { TRANSFERS_MAX = 60 };
    tarn_tank_desc desc = smoke_desc(64, 64, 64);
    tarn_device *device;
    desc.parameters[TARN_SMOKE_SLEEP_SPEED] = 0;
    put_block(&desc, (const float[]){20, 4, 20}, (const float[]){44, 20, 44}, 30);
    tarn_tank *tank = open_tank(2, &desc, &device);
    steps(tank, 2);
    const size_t most = tarn_tank_save_bytes_max(tank);
    const uint32_t tiles = tank->counters.grid.occupied;
    uint8_t *bytes = malloc(most);
    size_t count = 0;
    assert_non_null(bytes);
    assert_true(3 * tiles > 10 * TRANSFERS_MAX);
    transfers = 0;
    assert_int_equal(tarn_tank_save(tank, bytes, most, &count), TARN_OK);
    assert_in_range(transfers, 1, TRANSFERS_MAX);
    transfers = 0;
    assert_int_equal(tarn_tank_load(tank, bytes, count), TARN_OK);
    assert_in_range(transfers, 1, TRANSFERS_MAX);
    free(bytes);
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

// --------------------------------------------------------------------------- sources, walls, ends of the tank

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
        cmocka_unit_test(a_state_takes_few_transfers),
        cmocka_unit_test(mirrored_smoke_is_the_mirror_image),
        cmocka_unit_test(a_source_keeps_to_its_schedule),
        cmocka_unit_test(walls_let_slip_or_hold_fast),
        cmocka_unit_test(smoke_leaves_at_open_sides_only),
        cmocka_unit_test(the_original_scheme_is_there),
    };
    return cmocka_run_group_tests_name("smoke", tests, NULL, NULL);
}
