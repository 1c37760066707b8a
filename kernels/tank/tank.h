/// What a model is to the tank's shell: a table of functions, and a part of the tank's memory that is its own.
/// kernels/models.c lists the models; no code besides outside a model's folder knows it.
///
/// A model's part of the host's memory begins with its kernels' arguments, which begin with tank_args; so does what it
/// sets before a step with tank_control. A step is
///
///     begin ── substep × tank->grid.substeps ── what is common to all models
///
/// and of a substep's launches those that don't change from step to step are recorded once.
#ifndef TARN_KERNELS_TANK_TANK_H
#define TARN_KERNELS_TANK_TANK_H

#include "kernels/grid/grid_host.h"
#include "kernels/tank/store.h"
#include "kernels/tank/view.h"

#include <stdbool.h>

/// Particles on the host, sorted by tile.
typedef struct tank_arrays {
    uint32_t *position[3], *id, *attribute;
    float *velocity[3], *affine[9], *carried[CARRIED_MAX];
    uint32_t count;
    uint8_t *awake; ///< [dense] of a tank that is filled: tiles that are occupied though they hold none; else NULL
} tank_arrays;

/// A list of remarks that is being made (tarn_tank_remarks).
typedef struct tank_remarks {
    tarn_remark *of;
    uint32_t max, count; ///< the latter: also of those that found no room
} tank_remarks;

__attribute__((format(printf, 2, 3))) void tank_remark(tank_remarks *to, const char *format, ...);

typedef struct tank_model {
    tarn_model shown;          ///< what the world knows of it
    size_t part_bytes;         ///< of its part on the host
    size_t control_bytes;      ///< of what it sets before a step
    const char *const *stages; ///< of its substeps, for profiles
    uint32_t stage_count;
    bool fills;          ///< tiles may be occupied without particles: store_memory.awake, set over active tiles in each
                         ///< substep before the sort; all are at first, unless `seed` says otherwise
    bool stays_full;     ///< of a tank that is filled: all of its tiles are occupied, at all times
    bool keeps_velocity; ///< of a tank that is filled: the grid's velocity is state (store_memory.kept)
    uint32_t kinds;      ///< of particles, in the place of liquids, and then they always have attributes; 0: liquids
    uint32_t room;       ///< for so many particles more than are seeded, where a description names no number

    /// Whether its fields of a description are sound. @return TARN_OK, TARN_E_ARGUMENT or TARN_E_LIMIT
    tarn_status (*check)(const tarn_tank_desc *desc, const grid_complaint *why);
    /// Fills its part's constants, the store's scale included, before memory is taken.
    void (*scale)(tarn_tank *tank);
    /// Takes its device memory; and what it is done with when the solver begins.
    void (*carve)(grid_carver *t, tarn_tank *tank);
    void (*carve_in_turn)(grid_carver *t, tarn_tank *tank);
    /// Brings constants to the memory that was taken; NULL: it has none.
    tarn_status (*prepare)(tarn_tank *tank);
    /// Particles that a sound description is seeded with.
    uint64_t (*particles)(const tarn_tank_desc *desc);
    /// Fills arrays that are large enough, sorted by tile, ids ascending from 0.
    /// @param fastest  cells per step along an axis
    void (*seed)(const tarn_tank *tank, tank_arrays *arrays, float *fastest);
    /// Whether a change of a parameter changes a substep's launches.
    bool (*changes_launches)(uint32_t id, float before, float after);
    /// Substeps that it needs whatever moves; 0: none.
    float (*substeps)(const tarn_tank *tank);
    /// Of a parameter what acts, where limits leave less than is asked; NULL: none has such limits.
    float (*used)(const tarn_tank *tank, uint32_t id);
    /// Remarks on what else of a description acts less than it asks for; NULL: nothing does.
    void (*remark)(const tarn_tank *tank, tank_remarks *to);
    /// Sets what its kernels need in the step; `control` is zero but for the shell's part, which is done.
    void (*begin)(tarn_tank *tank, tank_control *control);
    /// Launches a substep: from particles to particles.
    void (*substep)(tarn_tank *tank);
    /// Finds a channel's values, of those that are carried: an array that particles have, or what it launches kernels
    /// to put into `room`. Between steps. NULL: it has no such channel.
    /// @param room  device memory for as many numbers as there may be particles
    void (*channel)(tarn_tank *tank, uint32_t number, float *room, tank_channel *channel);
    /// Finds a field's values, by kernels that it launches (tank_field_*). Between steps. NULL: it has none.
    /// @param room  as tank_view_field
    void (*field)(tarn_tank *tank, uint32_t number, float *room, tank_field *field);
    /// kg/m^3 of what the solver's pressure over a density is of; NULL: its pressure is nobody's.
    float (*pressure_density)(const tarn_tank *tank);
    /// Whether a tank keeps something else than velocities of its faces between substeps, for which it has taken
    /// store_memory.keeping: then that is state. NULL: none does.
    bool (*keeps)(const tarn_tank_desc *desc);
    /// NULL: particles come into being as for all models. Else it launches what adds others to store_memory.births of
    /// the active tiles; and what writes them behind the tile's other births, as tank_spawn does those.
    void (*bear)(tarn_tank *tank);
    void (*spawn)(tarn_tank *tank);
} tank_model;

extern const tank_model *const tank_models[];
extern const uint32_t tank_model_count;

/// The model of a description.
const tank_model *tank_model_of(const tarn_tank_desc *desc);

#endif
