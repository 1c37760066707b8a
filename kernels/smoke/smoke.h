/// The smoke's own memory and constants. Private to kernels; included by kernels, so it is C17 and C++17 at once.
///
/// Air fills the tank; its velocity lives on the grid and is carried along by itself (store_memory.kept). Particles are
/// parcels of warm or smoky air that go with it. Each stands for 1 / rest_density cell.
#ifndef TARN_KERNELS_SMOKE_H
#define TARN_KERNELS_SMOKE_H

#include "kernels/smoke_parameters.h"
#include "kernels/tank/store.h"

/// Lift of a cell's particles at most, in fixed point, which leaves room for those of the eight cells around a node.
#define LIFT_CELL_MAX 134217728.0f // 2^27

#define REACH_CELLS 2.96875f ///< per axis: what air comes from farther away in a substep comes from there
#define FAINT_HEAT_K 1.0f    ///< particles with less heat and smoke are taken away
#define FAINT_SMOKE 0.02f
#define CARRIED_HEAT_MAX 2000.0f ///< as the tables say
#define CARRIED_SMOKE_MAX 10.0f

enum { VISCOSITY_ROUNDS_MAX = 32 };
#define VISCOSITY_ROUND_MAX 0.125f ///< nu dt / dx^2 of a round

/// What the host sets before a step; the tank's part comes first. Of a substep.
typedef struct smoke_control {
    tank_control tank;
    float expansion, weight; ///< lift = expansion heat - weight smoke, of gravity
    float lift_max;          ///< magnitude, of a particle: more counts as this
    float lift_unit;         ///< fixed point
    float viscosity;         ///< nu dt / dx^2 of one round
    float confinement;       ///< cells
    float mixing;            ///< share of the way to its cell's mean that a particle goes
    float cooled, faded;     ///< what is left of heat and smoke
    float sleep_speed;       ///< cells per step; 0: nothing sleeps
    float calm_speed;        ///< cells per step; of what is faster along an axis,
    float kept;              ///< this share of the excess is kept in a substep
    float suction;           ///< of drains at their rim, cells per step
    uint32_t open;           ///< 1: the top, 2: the sides too
} smoke_control;

/// Device memory of the smoke alone.
typedef struct smoke_memory {
    smoke_control *control;
    // active
    float *lift;    ///< [s][512] of cells, of gravity, upwards
    uint8_t *stirs; ///< [s] whether air in the tile moves or carries something
    // occupied
    int32_t *sum; ///< [o][NODE_COUNT] lift of particles around cells' centres; of tiles without particles undefined
} smoke_memory;

/// The argument of every kernel of the smoke; the tank's comes first.
typedef struct smoke_args {
    tank_args tank;
    smoke_memory m;
    const float *from[3];      ///< of a round of viscosity
    float *to[3];              ///< the same
    uint32_t is_semi_lagrange; ///< 1: velocities as they are carried are final
    float *value;              ///< [particle] of a channel
    float value_scale;
} smoke_args;

/// Kernels, in the order of a step.
#define SMOKE_KERNEL_LIST(K)                                                                                           \
    K(smoke_carry)                                                                                                     \
    K(smoke_correct)                                                                                                   \
    K(smoke_deposit)                                                                                                   \
    K(smoke_cells)                                                                                                     \
    K(smoke_forces)                                                                                                    \
    K(smoke_viscosity)                                                                                                 \
    K(smoke_curl)                                                                                                      \
    K(smoke_confine)                                                                                                   \
    K(smoke_fade)                                                                                                      \
    K(smoke_draw)                                                                                                      \
    K(smoke_stir)                                                                                                      \
    K(smoke_wake)                                                                                                      \
    K(smoke_show_pressure)

/// Whether a cell is where air leaves the tank, whose pressure is that outside.
TILE_FN int is_outlet(const grid_shape *shape, uint32_t open, int x, int y, int z)
{
    const int *n = shape->cells;
    const int side = x == 0 || x == n[0] - 1 || (n[2] > 1 && (z == 0 || z == n[2] - 1));
    return open > 0 && (y == n[1] - 1 || (open > 1 && side));
}

#endif
