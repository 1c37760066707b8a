// Copies of the state for exports, tests and diagnostics.
#include "kernels/tank/tank_internal.h"
#include "protocol/assert.h"
#include "protocol/channel.h"

#include <stdlib.h>
#include <string.h>

/// Identity and place of a particle, for sorting.
typedef struct particle_name {
    uint32_t id, at;
} particle_name;

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, PASSES = 3 };

/// Sorts by id, digit by digit from the lowest on, and yields between two: there may be millions, and others wait.
/// @param other  room for as many  @return where they are then: one of the two
static particle_name *sort_names(tarn_queue *queue, particle_name *names, particle_name *other, uint32_t count)
{
    for (uint32_t pass = 0; pass < PASSES; pass++) {
        uint32_t first[DIGITS + 1] = {0};
        for (uint32_t i = 0; i < count; i++) {
            first[(names[i].id >> (pass * DIGIT_BITS) & (DIGITS - 1)) + 1]++;
        }
        for (uint32_t digit = 0; digit < DIGITS; digit++) {
            first[digit + 1] += first[digit];
        }
        for (uint32_t i = 0; i < count; i++) {
            other[first[names[i].id >> (pass * DIGIT_BITS) & (DIGITS - 1)]++] = names[i];
        }
        particle_name *sorted = other;
        other = names;
        names = sorted;
        tarn_queue_yield(queue);
    }
    return names;
}

/// What copies of particles need: their order by id, and room for one array.
typedef struct copier {
    tarn_tank *tank;
    particle_name *name;     ///< ascending by id
    particle_name *names[2]; ///< owned; one of them is that
    uint32_t *field;
    uint32_t count;
} copier;

static tarn_status copier_open(copier *c, tarn_tank *tank)
{
    c->tank = tank;
    c->count = tank->particle_count;
    for (int i = 0; i < 2; i++) {
        c->names[i] = malloc(((size_t)c->count + 1) * sizeof *c->names[i]);
    }
    c->field = malloc(((size_t)c->count + 1) * sizeof *c->field);
    if (c->names[0] == NULL || c->names[1] == NULL || c->field == NULL) {
        return TARN_E_MEMORY;
    }
    tarn_status status = tarn_queue_download(tank->grid.queue, c->field, tank->args->store.id, (size_t)c->count * 4);
    for (uint32_t i = 0; i < c->count; i++) {
        c->names[0][i] = (particle_name){c->field[i], i};
    }
    tarn_queue_yield(tank->grid.queue);
    c->name = sort_names(tank->grid.queue, c->names[0], c->names[1], c->count);
    return status;
}

static void copier_close(copier *c)
{
    free(c->names[0]);
    free(c->names[1]);
    free(c->field);
}

static tarn_status copier_load(copier *c, const void *from)
{
    tarn_queue_yield(c->tank->grid.queue);
    return tarn_queue_download(c->tank->grid.queue, c->field, from, (size_t)c->count * 4);
}

tarn_status tarn_tank_particles(tarn_tank *tank, float *positions_m, float *velocities_m_s, uint32_t *ids,
                                uint32_t particles_max, uint32_t *particle_count)
{
    *particle_count = tank->particle_count;
    if (tank->particle_count > particles_max) {
        return TARN_E_SPACE;
    }
    const store_memory *m = &tank->args->store;
    copier c;
    tarn_status status = copier_open(&c, tank);
    const float speed = tank->grid.desc.cell_m / tank->grid.desc.dt_s;
    for (int a = 0; a < 3 && status == TARN_OK && positions_m != NULL; a++) {
        status = copier_load(&c, m->position[a]);
        for (uint32_t i = 0; i < c.count && status == TARN_OK; i++) {
            positions_m[3 * (size_t)i + (size_t)a] =
                (float)(((double)c.field[c.name[i].at] + 0.5) / (1 << POSITION_BITS) * (double)tank->grid.desc.cell_m);
        }
    }
    for (int a = 0; a < 3 && status == TARN_OK && velocities_m_s != NULL; a++) {
        status = copier_load(&c, m->velocity[a]);
        for (uint32_t i = 0; i < c.count && status == TARN_OK; i++) {
            velocities_m_s[3 * (size_t)i + (size_t)a] = tile_f32_bits(c.field[c.name[i].at]) * speed;
        }
    }
    for (uint32_t i = 0; i < c.count && status == TARN_OK && ids != NULL; i++) {
        ids[i] = c.name[i].id;
    }
    copier_close(&c);
    return status;
}

tarn_status tarn_tank_channel(tarn_tank *tank, uint32_t number, float *values, uint32_t particles_max,
                              uint32_t *particle_count, float range[2])
{
    const tarn_model *model = &tank->model->shown;
    *particle_count = tank->particle_count;
    if (number >= model->channel_count || !tarn_channel_is_carried(model->channels[number].name)) {
        return TARN_E_ARGUMENT;
    }
    if (tank->particle_count > particles_max) {
        return TARN_E_SPACE;
    }
    float *room = tarn_device_alloc(tank->grid.device, (size_t)tank->args->scale.particles_max * sizeof *room);
    if (room == NULL) {
        return TARN_E_MEMORY;
    }
    tank_channel channel;
    copier c;
    tarn_status status = copier_open(&c, tank);
    if (status == TARN_OK) {
        tank_view_channel(tank, number, room, &channel);
        status = copier_load(&c, channel.value);
        if (range != NULL) {
            range[0] = channel.low;
            range[1] = channel.high;
        }
    }
    for (uint32_t i = 0; i < c.count && status == TARN_OK; i++) {
        values[i] = tile_f32_bits(c.field[c.name[i].at]);
    }
    copier_close(&c);
    tarn_device_free(tank->grid.device, room);
    return status;
}

bool tarn_tank_has_colours(const tarn_tank *tank)
{
    return tank->args->store.attribute != NULL;
}

tarn_status tarn_tank_particle_colours(tarn_tank *tank, uint8_t *liquids, uint8_t *colours, uint32_t particles_max,
                                       uint32_t *particle_count)
{
    *particle_count = tank->particle_count;
    if (tank->particle_count > particles_max) {
        return TARN_E_SPACE;
    }
    copier c;
    tarn_status status = copier_open(&c, tank);
    if (status == TARN_OK && tank->args->store.attribute != NULL) {
        status = copier_load(&c, tank->args->store.attribute);
    }
    for (uint32_t i = 0; i < c.count && status == TARN_OK; i++) {
        const uint32_t attribute =
            tank->args->store.attribute != NULL ? c.field[c.name[i].at] : tank_attribute(&tank->grid.desc, 0, NULL);
        if (liquids != NULL) {
            liquids[i] = (uint8_t)attribute;
        }
        for (int k = 0; k < 3 && colours != NULL; k++) {
            colours[3 * (size_t)i + (size_t)k] = (uint8_t)(attribute >> (8 * (k + 1)));
        }
    }
    copier_close(&c);
    return status;
}

static void place_tile(const tarn_tank *tank, uint32_t dense, const float *from, float scale, float *to)
{
    const grid_shape *shape = &tank->args->grid.shape;
    TARN_ASSERT(dense < shape->tile_total[0]);
    const tile_place place = tile_place_of(shape, 0, dense);
    for (int cell = 0; cell < TILE_CELLS; cell++) {
        const int x = place.x * TILE_EDGE + (cell & 7), y = place.y * TILE_EDGE + (cell >> 3 & 7),
                  z = place.z * TILE_EDGE + (cell >> 6);
        if (x < shape->cells[0] && y < shape->cells[1] && z < shape->cells[2]) {
            to[((size_t)z * (size_t)shape->cells[1] + (size_t)y) * (size_t)shape->cells[0] + (size_t)x] =
                from[cell] * scale;
        }
    }
}

float tank_pressure_kick(const tarn_tank *tank)
{
    const grid_control *control = &tank->control->grid;
    // A velocity that the grid keeps is pushed all the substep long, particles' from the middle of one to that of the
    // next.
    return tank->model->keeps_velocity || tank->grid.substeps > 1 ? control->frac : control->kick;
}

float tank_pressure_m2_s2(const tarn_tank *tank)
{
    const float kick = tank_pressure_kick(tank);
    if (tank->counters.grid.solved == 0 || !(kick > 0.0f)) {
        return 0.0f; // as in a tank that was just restored
    }
    // u -= grad p in cells per step: p is in cells^2 per step and that time of the last substep.
    return tank->grid.desc.cell_m * tank->grid.desc.cell_m / (kick * tank->grid.desc.dt_s * tank->grid.desc.dt_s);
}

float tarn_tank_pressure_density(const tarn_tank *tank)
{
    return tank->model->pressure_density != NULL ? tank->model->pressure_density(tank) : 0.0f;
}

tarn_status tarn_tank_pressure(tarn_tank *tank, float *pressure_m2_s2, size_t cells_max)
{
    const uint16_t *cells = tank->grid.desc.cells;
    const size_t cell_count = (size_t)cells[0] * cells[1] * cells[2];
    const uint32_t tiles = tank->counters.grid.solved;
    if (cells_max < cell_count) {
        return TARN_E_SPACE;
    }
    if (tank->grid.step == 0) {
        return TARN_E_STATE;
    }
    TARN_ASSERT(tiles <= tank->args->grid.shape.occupied_max);
    memset(pressure_m2_s2, 0, cell_count * sizeof *pressure_m2_s2);
    uint32_t *dense = malloc(((size_t)tiles + 1) * sizeof *dense);
    float *pressure = malloc(((size_t)tiles * TILE_CELLS + 1) * sizeof *pressure);
    tarn_status status = dense != NULL && pressure != NULL ? TARN_OK : TARN_E_MEMORY;
    if (status == TARN_OK) {
        status =
            tarn_queue_download(tank->grid.queue, dense, tank->args->grid.m.solved_tile, (size_t)tiles * sizeof *dense);
    }
    if (status == TARN_OK) {
        status = tarn_queue_download(tank->grid.queue, pressure, tank->args->grid.m.pressure,
                                     (size_t)tiles * TILE_CELLS * sizeof *pressure);
    }
    const float scale = tank_pressure_m2_s2(tank);
    for (uint32_t i = 0; i < tiles && status == TARN_OK; i++) {
        place_tile(tank, dense[i], pressure + (size_t)i * TILE_CELLS, scale, pressure_m2_s2);
    }
    free(dense);
    free(pressure);
    return status;
}
