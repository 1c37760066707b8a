// Particles into the tank: uploads them and lists the tiles that they use.
#include "kernels/tank/tank_internal.h"
#include "protocol/assert.h"

#include <stdlib.h>
#include <string.h>

tarn_status tank_arrays_alloc(const tarn_tank *tank, uint32_t count, tank_arrays *arrays)
{
    memset(arrays, 0, sizeof *arrays);
    arrays->count = count;
    const store_memory *m = &tank->args->store;
    const size_t bytes = ((size_t)count + 1) * 4;
    bool failed = (arrays->id = malloc(bytes)) == NULL;
    for (int a = 0; a < 3; a++) {
        failed |= (arrays->position[a] = malloc(bytes)) == NULL;
        failed |= (arrays->velocity[a] = malloc(bytes)) == NULL;
    }
    if (m->attribute != NULL) {
        failed |= (arrays->attribute = malloc(bytes)) == NULL;
    }
    for (int i = 0; i < 9 && m->affine[0] != NULL; i++) {
        failed |= (arrays->affine[i] = calloc(1, bytes)) == NULL;
    }
    for (uint32_t k = 0; k < tank->model->shown.carried_count; k++) {
        failed |= (arrays->carried[k] = calloc(1, bytes)) == NULL;
    }
    if (tank->model->fills) {
        failed |= (arrays->awake = calloc(tank->args->grid.shape.tile_total[0], 1)) == NULL;
    }
    return failed ? TARN_E_MEMORY : TARN_OK;
}

void tank_arrays_free(tank_arrays *arrays)
{
    free(arrays->id);
    free(arrays->attribute);
    free(arrays->awake);
    for (int k = 0; k < CARRIED_MAX; k++) {
        free(arrays->carried[k]);
    }
    for (int a = 0; a < 3; a++) {
        free(arrays->position[a]);
        free(arrays->velocity[a]);
    }
    for (int i = 0; i < 9; i++) {
        free(arrays->affine[i]);
    }
}

/// Dense tile of a particle, or TILE_NONE beyond the tank.
static uint32_t tile_of(const grid_shape *shape, const tank_arrays *arrays, uint32_t particle)
{
    for (int a = 0; a < 3; a++) {
        if (arrays->position[a][particle] >> POSITION_BITS >= (uint32_t)shape->cells[a]) {
            return TILE_NONE;
        }
    }
    return tile_dense_of(shape, 0, (int)(arrays->position[0][particle] >> TILE_POSITION_BITS),
                         (int)(arrays->position[1][particle] >> TILE_POSITION_BITS),
                         (int)(arrays->position[2][particle] >> TILE_POSITION_BITS));
}

/// Tables over all tiles, and the list of those that are occupied.
typedef struct tile_tables {
    uint32_t *first, *count, *list;
    uint32_t listed;
} tile_tables;

static tarn_status fill_tables(const tarn_tank *tank, const tank_arrays *arrays, tile_tables *tables)
{
    const grid_shape *shape = &tank->args->grid.shape;
    uint32_t last = TILE_NONE;
    for (uint32_t i = 0; i < arrays->count; i++) {
        const uint32_t dense = tile_of(shape, arrays, i);
        if (dense == TILE_NONE || (last != TILE_NONE && dense < last)) {
            return TARN_E_MALFORMED;
        }
        if (dense != last) {
            tables->first[dense] = i;
            tarn_queue_yield(tank->grid.queue);
        }
        tables->count[dense]++;
        last = dense;
    }
    for (uint32_t dense = 0; dense < shape->tile_total[0]; dense++) {
        if (tables->count[dense] == 0 && (arrays->awake == NULL || arrays->awake[dense] == 0)) {
            continue;
        }
        if (tables->listed == shape->occupied_max) {
            return TARN_E_MEMORY;
        }
        tables->list[tables->listed++] = dense;
    }
    return TARN_OK;
}

static tarn_status upload(tarn_tank *tank, void *to, const void *from, size_t count)
{
    tarn_queue_yield(tank->grid.queue);
    return to == NULL ? TARN_OK : tarn_queue_upload(tank->grid.queue, to, from, count * 4);
}

static tarn_status upload_awake(const tarn_tank *tank, const tank_arrays *arrays)
{
    const store_memory *m = &tank->args->store;
    TARN_ASSERT((m->awake == NULL) == (arrays->awake == NULL));
    return m->awake == NULL
               ? TARN_OK
               : tarn_queue_upload(tank->grid.queue, m->awake, arrays->awake, tank->args->grid.shape.tile_total[0]);
}

static tarn_status upload_all(tarn_tank *tank, const tank_arrays *arrays, const tile_tables *tables)
{
    const store_memory *m = &tank->args->store;
    TARN_ASSERT(m->attribute == NULL || arrays->attribute != NULL);
    TARN_ASSERT((m->affine[0] == NULL) == (arrays->affine[0] == NULL));
    const uint32_t n = arrays->count, tiles = tank->args->grid.shape.tile_total[0];
    tarn_status status = upload(tank, m->id, arrays->id, n);
    for (int a = 0; a < 3 && status == TARN_OK; a++) {
        status = upload(tank, m->position[a], arrays->position[a], n);
        if (status == TARN_OK) {
            status = upload(tank, m->velocity[a], arrays->velocity[a], n);
        }
    }
    if (status == TARN_OK) {
        status = upload(tank, m->attribute, arrays->attribute, n);
    }
    for (int i = 0; i < 9 && status == TARN_OK; i++) {
        status = upload(tank, m->affine[i], arrays->affine[i], n);
    }
    for (int k = 0; k < CARRIED_MAX && status == TARN_OK; k++) {
        status = upload(tank, m->carried[k], arrays->carried[k], n);
    }
    if (status == TARN_OK) {
        status = upload_awake(tank, arrays);
    }
    if (status == TARN_OK) {
        status = upload(tank, m->tile_first_next, tables->first, tiles);
    }
    if (status == TARN_OK) {
        status = upload(tank, m->tile_count_next, tables->count, tiles);
    }
    if (status == TARN_OK) {
        status = upload(tank, tank->args->grid.m.level[0].tile_next, tables->list, tables->listed);
    }
    return status;
}

void tank_list_tiles(tarn_tank *tank, const tank_args *args)
{
    grid_launch(&tank->grid, args, TANK_KERNEL(keep_active), NULL, tank->kept_count);
    grid_launch(&tank->grid, args, TANK_KERNEL(list), NULL, 1);
    if (args->store.kept[0] != NULL) {
        grid_launch(&tank->grid, args, TANK_KERNEL(keep), &args->grid.m.counters->adopting,
                    args->grid.shape.active_max);
    }
}

void tank_adopt_tiles(tarn_tank *tank, const tank_args *args)
{
    grid_launch(&tank->grid, args, TANK_KERNEL(adopt), &args->grid.m.counters->adopting, args->grid.shape.active_max);
}

static tarn_status list_placed(tarn_tank *tank, const tank_arrays *arrays, uint32_t next_id, uint32_t listed)
{
    const tank_args *args = tank->args;
    const uint32_t tiles = args->grid.shape.tile_total[0];
    memset(&tank->counters, 0, sizeof tank->counters);
    tank->counters.next_id = next_id;
    tank->counters.spray_age_max = AGE_CLASSES;
    tarn_status status =
        tarn_queue_upload(tank->grid.queue, args->store.counters, &tank->counters, sizeof tank->counters);
    if (status != TARN_OK) {
        return status;
    }
    grid_launch(&tank->grid, args, TANK_KERNEL(clear), NULL, (tiles + CLEAR_TILES - 1) / CLEAR_TILES);
    TARN_ASSERT(listed <= args->grid.shape.occupied_max);
    grid_launch(&tank->grid, args, TANK_KERNEL(mark), NULL, listed);
    tank_list_tiles(tank, args);
    tank_adopt_tiles(tank, args);
    status = tarn_queue_download(tank->grid.queue, &tank->counters, args->store.counters, sizeof tank->counters);
    if (status == TARN_OK && tank->counters.grid.overflow) {
        status = TARN_E_MEMORY;
    }
    tank->particle_count = arrays->count;
    TARN_ASSERT(status != TARN_OK || tank->counters.particles == arrays->count);
    TARN_ASSERT(status != TARN_OK || tank->counters.grid.occupied == listed);
    if (TARN_VALIDATE && status == TARN_OK) {
        grid_validate_tiles(&tank->grid, &tank->counters.grid);
        tank_validate_particles(tank);
    }
    return status;
}

tarn_status tank_place(tarn_tank *tank, const tank_arrays *arrays, uint32_t next_id)
{
    const grid_shape *shape = &tank->args->grid.shape;
    const size_t tiles = shape->tile_total[0];
    uint32_t *words = calloc(2 * tiles + shape->occupied_max, sizeof *words);
    if (words == NULL) {
        return TARN_E_MEMORY;
    }
    tank->generation++;
    tile_tables tables = {words, words + tiles, words + 2 * tiles, 0};
    tarn_status status = arrays->count <= tank->args->scale.particles_max ? TARN_OK : TARN_E_LIMIT;
    if (status == TARN_OK) {
        status = fill_tables(tank, arrays, &tables);
    }
    if (status == TARN_OK) {
        status = upload_all(tank, arrays, &tables);
    }
    if (status == TARN_OK) {
        status = list_placed(tank, arrays, next_id, tables.listed);
    }
    free(words);
    return status;
}
