// The liquid's carried channels.
#include "kernels/liquid/liquid_host.h"

/// The pressure ranges over that of the heaviest liquid at rest, as deep as the tank is high: what an impact adds is
/// beyond.
static float pressure_top_pa(const tarn_tank *tank, float heaviest)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    const float gravity = tile_max2_f32(tank_role(tank, TARN_PLAYS_GRAVITY, 0.0f), 1.0f);
    return heaviest * gravity * (float)desc->cells[1] * desc->cell_m;
}

static void find_densities(const tarn_tank *tank, float *lightest, float *heaviest)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    *lightest = *heaviest = desc->liquids[0].density_kg_m3;
    for (uint32_t i = 1; i < desc->liquid_count; i++) {
        *heaviest = tile_max2_f32(*heaviest, desc->liquids[i].density_kg_m3);
        *lightest = tile_min_f32(*lightest, desc->liquids[i].density_kg_m3);
    }
}

float liquid_pressure_density(const tarn_tank *tank)
{
    float lightest, heaviest;
    find_densities(tank, &lightest, &heaviest);
    return lightest; // as grid_memory's beta
}

void liquid_channel(tarn_tank *tank, uint32_t number, float *room, tank_channel *channel)
{
    liquid_args args = liquid_of(tank)->args;
    float heaviest, lightest;
    find_densities(tank, &lightest, &heaviest);
    args.value = room;
    if (number == LIQUID_CHANNEL_PRESSURE) {
        args.value_scale = tank_pressure_m2_s2(tank) * liquid_pressure_density(tank);
        (void)tarn_queue_zero(tank->grid.queue, room, (size_t)tank->particle_count * sizeof *room);
        grid_launch(&tank->grid, &args, LIQUID_KERNEL(show_pressure), NULL, tank->counters.grid.solved);
        *channel = (tank_channel){room, 0.0f, pressure_top_pa(tank, heaviest)};
    } else {
        args.value_scale = heaviest;
        grid_launch(&tank->grid, &args, LIQUID_KERNEL(show_density), NULL, tank->counters.grid.occupied);
        *channel = (tank_channel){room, args.scale.lightest * heaviest, heaviest};
    }
}

void liquid_field(tarn_tank *tank, uint32_t number, float *room, tank_field *field)
{
    float lightest, heaviest;
    if (number == LIQUID_FIELD_PRESSURE) {
        find_densities(tank, &lightest, &heaviest);
        tank_field_pressure(tank, liquid_pressure_density(tank), room, field);
        field->high = pressure_top_pa(tank, heaviest);
    } else if (number == LIQUID_FIELD_CELLS) {
        tank_field_kinds(tank, room, field);
    } else {
        tank_field_speed(tank, room, field);
    }
}
