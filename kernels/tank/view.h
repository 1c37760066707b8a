/// What a tank shows of itself to who encodes, draws or measures it: its particles on the device, and the moment they
/// belong to. Whoever reads views knows nothing of the memory behind them, nor of models.
#ifndef TARN_KERNELS_TANK_VIEW_H
#define TARN_KERNELS_TANK_VIEW_H

#include "kernels/device/device_work.h"
#include "kernels/tank.h"
#include "protocol/frame.h"

#include <stdbool.h>

/// The same for as long as the tank lives. Arrays are device memory.
typedef struct tank_view {
    tarn_device *device;
    tarn_queue *queue; ///< the tank's
    uint16_t cells[3];
    float cell_m, dt_s;
    uint32_t tiles[3], tile_total; ///< of 8^3 cells
    uint32_t occupied_max;         ///< tiles that may hold particles at once
    uint32_t particles_max;
    uint32_t field_tiles_max; ///< tiles that a field may have
    uint32_t *position[3];    ///< 2^-20 cell, of the tank; particles are sorted by tile
    float *velocity[3];       ///< cells per step
    uint32_t *id;
    uint32_t *tile, *tile_index;       ///< [o] tiles that hold particles, ascending; [dense] o, or TILE_NONE
    uint32_t *tile_first, *tile_count; ///< [dense] particles
} tank_view;

/// The tank as the last step left it.
typedef struct tank_moment {
    uint64_t step;
    double sim_time_s;
    uint32_t generation; ///< of the particles: changes when all of them were replaced
    uint32_t occupied;   ///< tiles that hold particles
    bool had_births;     ///< since the start particles may have come into being
    uint32_t *attribute; ///< device: liquid | red << 8 | green << 16 | blue << 24; NULL while particles have no colours
    float gravity_m_s2[3], orientation[4];
    uint32_t body_count;
    tarn_frame_body bodies[TARN_FRAME_BODIES_MAX];
} tank_moment;

/// What a channel that frames carry says of particles.
typedef struct tank_channel {
    const float *value; ///< device: [particle], in the channel's unit
    float low, high;    ///< what it ranges over, low <= high: fixed by the tank, so that it hardly ever changes
} tank_channel;

/// A field of the model: a value for each cell of some tiles.
typedef struct tank_field {
    const float *value;   ///< device: [i][512], in the field's unit; of kinds their numbers
    const uint32_t *tile; ///< device: [i] dense, ascending
    uint32_t count;       ///< of the tiles, at most view.field_tiles_max; all other cells have 0
    float low, high;      ///< what it ranges over, low <= 0 <= high: fixed by the tank
    bool is_kinds;        ///< whole numbers 0..255, low is 0 and high 255
} tank_field;

void tank_view_open(tarn_tank *tank, tank_view *view);
void tank_view_now(const tarn_tank *tank, tank_moment *moment);

/// A carried channel of the tank's model, as the last step left it: tank_model's channel.
void tank_view_channel(tarn_tank *tank, uint32_t number, float *room, tank_channel *channel);

/// A field of the tank's model, as the last step left it: tank_model's field.
/// @param room  device memory for 512 numbers of each of view.field_tiles_max tiles
void tank_view_field(tarn_tank *tank, uint32_t number, float *room, tank_field *field);

/// Lets particles carry numbers through every step: what who encodes them knows them by; TILE_NONE: born since.
/// Arrays of device memory for view.particles_max; NULL: no longer. @return TARN_OK or TARN_E_STATE: they carry others
tarn_status tank_view_seat(tarn_tank *tank, uint32_t *seat, uint32_t *moved_seat);

/// Books what comes between the two under "encode", while the tank is profiled.
void tank_view_encode_begins(tarn_tank *tank);
void tank_view_encode_ends(tarn_tank *tank);

#endif
