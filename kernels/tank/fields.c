// Fields that models have in common.
#include "kernels/tank/fields.h"
#include "kernels/tank/tank_internal.h"

#include <math.h>

static tank_field_args field_args(const tarn_tank *tank, float *room, const uint32_t *tile)
{
    return (tank_field_args){.tank = *tank->args, .tile = tile, .to = room, .axes = 1, .scale = 1.0f};
}

static void launch(tarn_tank *tank, const tank_field_args *args, const tarn_kernel *kernel, uint32_t count,
                   tank_field *field)
{
    grid_launch(&tank->grid, args, kernel, NULL, count);
    *field = (tank_field){.value = args->to, .tile = args->tile, .count = count};
}

/// What a fall through all of the tank gives, m/s: what moves by itself is hardly faster.
static float fastest_m_s(const tarn_tank *tank)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    const float gravity = fmaxf(tank_role(tank, TARN_PLAYS_GRAVITY, 0.0f), 1.0f);
    return sqrtf(2.0f * gravity * (float)desc->cells[1] * desc->cell_m);
}

void tank_field_speed(tarn_tank *tank, float *room, tank_field *field)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    const bool fills = tank->model->keeps_velocity;
    tank_field_args args = field_args(tank, room, tank->args->grid.m.level[0].tile);
    args.axes = 3;
    args.scale = desc->cell_m / desc->dt_s;
    for (int a = 0; a < 3; a++) {
        args.value[a] = tank->args->store.velocity[a];
    }
    launch(tank, &args, fills ? TANK_KERNEL(field_flow) : TANK_KERNEL(field_particles), tank->counters.grid.occupied,
           field);
    field->high = fills ? 0.25f * fastest_m_s(tank) : fastest_m_s(tank);
}

void tank_field_vorticity(tarn_tank *tank, float *room, tank_field *field)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    tank_field_args args = field_args(tank, room, tank->args->grid.m.level[0].tile);
    args.is_curl = 1;
    args.scale = 1.0f / desc->dt_s;
    launch(tank, &args, TANK_KERNEL(field_flow), tank->counters.grid.occupied, field);
    field->high = 0.25f * fastest_m_s(tank) / (4.0f * desc->cell_m);
}

void tank_field_carried(tarn_tank *tank, uint32_t number, float *room, tank_field *field)
{
    tank_field_args args = field_args(tank, room, tank->args->grid.m.level[0].tile);
    args.value[0] = tank->args->store.carried[number];
    args.is_share = 1;
    launch(tank, &args, TANK_KERNEL(field_particles), tank->counters.grid.occupied, field);
    field->high = tank_carried_most(&tank->grid.desc, number);
}

void tank_field_kinds(tarn_tank *tank, float *room, tank_field *field)
{
    const tank_field_args args = field_args(tank, room, tank->args->grid.m.active_tile);
    launch(tank, &args, TANK_KERNEL(field_kinds), tank->counters.grid.active, field);
    field->is_kinds = true;
    field->high = 255.0f;
}

void tank_field_pressure(tarn_tank *tank, float density_kg_m3, float *room, tank_field *field)
{
    tank_field_args args = field_args(tank, room, tank->args->grid.m.solved_tile);
    args.value[0] = tank->args->grid.m.pressure;
    args.scale = tank_pressure_m2_s2(tank) * density_kg_m3;
    launch(tank, &args, TANK_KERNEL(field_pressure), tank->counters.grid.solved, field);
}
