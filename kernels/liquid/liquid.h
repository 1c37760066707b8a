/// What the host code and the kernels of the liquid share besides grid and particles. Private to kernels/liquid;
/// included by kernels, so it is C17 and C++17 at once.
#ifndef TARN_KERNELS_LIQUID_H
#define TARN_KERNELS_LIQUID_H

#include "kernels/tank/store.h"

enum { VISCOSITY_ITERATIONS_MAX = 96 };

/// Fixed point of the P2G. A face's weight is at most 8 cells' worth of particles: along its normal two cells reach it
/// with weights up to 1, across it one with weights up to 1 and two with weights up to 1/2, so 2 * 2 * 2 = 8. A cell
/// counts for at most cell_particles_max particles: those of a fuller cell are scaled down together. That is several
/// times the density at rest, or a resting tank would count as thinned out and be pulled together. Speeds are at most
/// SPEED_MAX, and weight_scale is 2^27 over cell_particles_max. Hence |sum| <= 8 * 2^27 = 2^30 plus half a unit per
/// contribution (under 2^24 * 0.5 even if every particle of the largest tank were in reach), which fits 31 bits.
///
/// Quadratic B-splines weigh less: along an axis a cell's particles reach a face with weights up to 3/4 from the two
/// cells beside it and up to 1/8 from the two behind those, and a centre with up to 3/4 from its own cell and up to 1/2
/// from the two beside it: 7/4 in both cases, (7/4)^3 < 8. Mirror images of cells, which walls fold back, count as
/// cells. Cubic ones weigh less again: up to 2/3 from the two cells beside a face and 1/6 from those behind; and on a
/// centre up to 2/3 from its own cell, 23/48 from the two beside it and 1/48 from those behind: 5/3 in both cases.
///
/// Affine particles bring v + C (node - particle) with |node - particle| <= node_reach along each axis. The gathering
/// keeps |v_c| + node_reach (|C_cx| + |C_cy| + |C_cz|) <= SPEED_MAX but for rounding, so that no contribution is
/// faster.
///
/// Liquids of different density weigh momentum by q = rho / rho of the heaviest <= 1, which keeps it within the same
/// bounds, and divide it by the sum of q. Where a liquid is over 64 times lighter than the heaviest, its velocity would
/// drown in rounding: there q = a + (1 - a) rho / rho of the heaviest, with an `a` that gives the lightest 1/64. At a
/// face between the two the heavy one still has 98 % of the say, and as q is linear, the mean density follows from the
/// mean q. A particle of the lightest has at least 2^22 / 64 units in a tank of 8 particles a cell: a face with eight
/// of them knows its velocity to 1/1000 cell per step.
#define CELL_WEIGHT_MAX 134217728.0f  ///< 2^27: a cell's particles in fixed point
#define WEIGHT_MIN_SHARE 1024         ///< a face with less than a particle over this has no velocity of its own
#define MASS_MIN 1024                 ///< nor one with less mass, in fixed point: rounding would be its velocity
#define MASS_SHARE_MIN (1.0f / 64.0f) ///< of the lightest liquid: least q
#define VISCOSITY_MAX 50.0f           // nu dt / dx^2: thicker liquids are taken for liquids of this

/// Scales of the P2G and of the liquids. Constant after creation.
typedef struct liquid_scale {
    float weight_scale; ///< of one particle in fixed point
    int32_t weight_min; ///< fixed point
    uint32_t node_edge; ///< of a tile's nodes: node_edge_of the P2G's weights
    uint32_t node_count;
    float liquid_mass[LIQUIDS_MAX]; ///< q
    float mass_base;                ///< a
    float lightest;                 ///< density of the lightest liquid over that of the heaviest
    float heavy[LIQUIDS_MAX];       ///< 1: the heaviest, 0: the lightest, others between
    float buoyancy;                 ///< of drops, of gravity: twice Atwood's number
    float drop_viscosity;           ///< 18 nu / d^2 of the thinnest liquid, 1 / step
} liquid_scale;

/// Shares of their velocity along a surface that faces beside it lose in a substep.
typedef struct liquid_friction {
    float walls, solid[SOLIDS_MAX], body[BODIES_MAX]; ///< solid: by solid_rough
} liquid_friction;

/// What the host sets before a step; the tank's part comes first.
typedef struct liquid_control {
    tank_control tank;
    float viscosity[LIQUIDS_MAX]; ///< nu dt / dx^2 of a substep, at most VISCOSITY_MAX
    float viscosity_alpha[VISCOSITY_ITERATIONS_MAX], viscosity_gamma[VISCOSITY_ITERATIONS_MAX];
    float tension; ///< pressure of a step at a surface of curvature 1, in the solver's units
    liquid_friction friction;
} liquid_control;

/// Device memory of the liquid alone.
typedef struct liquid_memory {
    liquid_control *control;
    // active
    float *viscosity;   ///< [s][512] mean of the cell's particles, of a substep; NULL in a tank of one liquid
    uint8_t *face_kind; ///< [s][512] of viscosity, bits per axis
    // occupied
    int32_t *momentum[3], *weight[3], *density; ///< [o][node_count]
    int32_t *mass[3];                           ///< [o][node_count]; NULL in a tank whose liquids are equally heavy
} liquid_memory;

/// The argument of every kernel of the liquid; the tank's comes first.
typedef struct liquid_args {
    tank_args tank;
    liquid_scale scale;
    liquid_memory m;
    uint32_t iteration, iteration_count; ///< of viscosity
    float *value;                        ///< [particle] of a channel
    float value_scale;
} liquid_args;

/// Kernels, in the order of a step.
#define LIQUID_KERNEL_LIST(K)                                                                                          \
    K(liquid_p2g)                                                                                                      \
    K(liquid_p2g_mixed)                                                                                                \
    K(liquid_p2g_apic)                                                                                                 \
    K(liquid_p2g_quadratic)                                                                                            \
    K(liquid_p2g_apic_quadratic)                                                                                       \
    K(liquid_p2g_cubic)                                                                                                \
    K(liquid_p2g_apic_cubic)                                                                                           \
    K(liquid_grid)                                                                                                     \
    K(liquid_grid_any)                                                                                                 \
    K(liquid_forces)                                                                                                   \
    K(liquid_fill)                                                                                                     \
    K(liquid_beta)                                                                                                     \
    K(liquid_balance)                                                                                                  \
    K(liquid_friction)                                                                                                 \
    K(liquid_viscous_faces)                                                                                            \
    K(liquid_viscous_cells)                                                                                            \
    K(liquid_viscosity)                                                                                                \
    K(liquid_viscosity_mixed)                                                                                          \
    K(liquid_body_drag)                                                                                                \
    K(liquid_unbalance)                                                                                                \
    K(liquid_keep_balance)                                                                                             \
    K(liquid_tension_smooth)                                                                                           \
    K(liquid_tension)                                                                                                  \
    K(liquid_drift)                                                                                                    \
    K(liquid_show_pressure)                                                                                            \
    K(liquid_show_density)

#endif
