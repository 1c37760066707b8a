/// What the host code and the kernels of the vortons share besides grid and particles. Private to kernels/vortons;
/// included by kernels, so it is C17 and C++17 at once.
///
/// A particle carries a vorticity (1/s) and by how much its liquid is denser than the tank's (a share of that), both of
/// its own volume, which is that of a particle at rest: 1 / rest_density cells. Vorticity times volume is its strength,
/// in cells^3 per step here. On the grid vorticity lies on the cells' lower edges, component c on edges along c, beside
/// the vector potential: the edge (i + 1/2, j, k) lies in cell (i, j, k). Density and what is generated lie in
/// the cells' centres.
///
/// All of the tank is filled and occupied: active and occupied indices of a tile are its dense number.
#ifndef TARN_KERNELS_VORTONS_H
#define TARN_KERNELS_VORTONS_H

#include "kernels/tank/store.h"

enum {
    CARRIED_VORTICITY = 0, ///< and the next two
    CARRIED_DEVIATION = 3,
    KIND_TRACER = 0, ///< dye: stays whatever becomes of its strength
    KIND_VORTON = 1, ///< born to hold strength where there was no particle
    HOLDS_STRENGTH = 1,
    HOLDS_MASS = 2,
};

#define VORTON_COLOUR 0xdcd8d200u ///< of those that are born: pale, as they show where no dye is
#define STRENGTH_MAX 8.0f         ///< cells^3 per step, of a particle's components

/// Fixed point of the sums. A node gets at most 8 cells' worth of particles (liquid.h), a cell counts for at most
/// cell_particles_max, each with STRENGTH_MAX, or with its volume of at most one cell and a deviation of at most 1:
/// |sum| <= 2^30 plus half a unit per contribution.
#define STRENGTH_SUM_MAX 16777216.0f ///< 2^24: strength_unit times cell_particles_max
#define MASS_SUM_MAX 134217728.0f    ///< 2^27: mass_unit times cell_particles_max

/// Cells that nobody is in get a vorton where more is generated than this share of what is anywhere, and than this
/// share of the largest vorticity: rounding in the transforms leaves 2.6e-6 of it anywhere in the tank, from which
/// nothing is to be born.
#define BIRTH_SHARE (1.0f / 128.0f)
#define BIRTH_ROUNDING 1e-5f

/// Vortons stronger than this, in cells^3 per second, split in two: what stretching makes of one is a longer piece of a
/// vortex, and where it is carried by itself its ends part. The parts lie half a cell from each other.
#define SPLIT_STRENGTH 15.0f
#define SPLIT_WAY (float)(1 << (POSITION_BITS - 2))

/// Constant after creation.
typedef struct vorton_scale {
    float strength; ///< of a particle with a vorticity of 1/s
    float volume;   ///< of a particle, cells
    float split;    ///< SPLIT_STRENGTH, cells^3 per step
    float strength_unit, mass_unit;
} vorton_scale;

/// What the host sets before a step; the tank's part comes first.
typedef struct vorton_control {
    tank_control tank;
    uint32_t starts;      ///< particles' velocities, as they were seeded, become vorticity; the device makes it 0
    float viscosity;      ///< nu dt / dx^2 of a substep
    uint32_t vortons_max; ///< none are born, or split, beyond that
} vorton_control;

typedef struct vorton_counters {
    uint32_t gain_bits;         ///< largest component of what the substep generates in a cell, as bits
    uint32_t vortons;           ///< particles that hold strength
    uint32_t vorticity_bits[3]; ///< largest of each component on the edges, as bits; 0: there is none
} vorton_counters;

/// The matrices of an axis's waves.
enum { WAVE_SINE, WAVE_COSINE, WAVE_COSINE_BACK, WAVE_COUNT };

enum { WAVE_LANES = 64 };

/// A transform along an axis.
typedef struct wave_pass {
    uint32_t axis, inverse;
    uint32_t divides; ///< the result by the eigenvalues
    uint32_t ends;    ///< the last one: what it writes is the potential
    const float *from[3];
    float *to[3];
} wave_pass;

/// Device memory of the vortons alone.
typedef struct vorton_memory {
    vorton_control *control;
    vorton_counters *counters;
    uint32_t *holds;     ///< [o] whether a tile's particles have anything to spread: HOLDS_*
    float *vorticity[3]; ///< [s][512] on lower edges, 1 / step
    float *deviation;    ///< [s][512] of density, in centres
    float *gain[3];      ///< [s][512] strength that a substep generates in a cell, cells^3 / step
    float *potential[3]; ///< [s][512] on lower edges, cells^2 / step
    float *wave[3][WAVE_COUNT], *eigenvalue[3];           ///< [n][n] and [n], n as vorton_wave_cells
    uint32_t *others;                                     ///< [s] births besides those of vortons
    uint32_t *born, *split;                               ///< [s] vortons that are, at first as many as want to be
    int32_t *strength_sum[3], *mass_sum, *impulse_sum[3]; ///< [o][NODE_COUNT]
} vorton_memory;

/// The argument of every kernel of the vortons; the tank's comes first.
typedef struct vorton_args {
    tank_args tank;
    vorton_scale scale;
    vorton_memory m;
    wave_pass pass;
    float *value; ///< [particle] of a channel
} vorton_args;

enum {
    VORTON_EDGE = TILE_EDGE + 4, ///< a tile with two cells around it
    VORTON_CELLS = VORTON_EDGE * VORTON_EDGE * VORTON_EDGE,
};

TILE_FN int vorton_index(int x, int y, int z)
{
    return ((z + 2) * VORTON_EDGE + (y + 2)) * VORTON_EDGE + (x + 2);
}

TILE_FN int vorton_stride(int axis)
{
    return axis == 0 ? 1 : axis == 1 ? VORTON_EDGE : VORTON_EDGE * VORTON_EDGE;
}

/// Whether particles in one of the 27 tiles have such things to spread. Outside lane loops, after a barrier.
TILE_FN int vorton_holds(const vorton_args *args, const uint32_t *neighbour, uint32_t what)
{
    uint32_t holds = 0;
    for (int n = 0; n < 27; n++) {
        holds |= neighbour[n] != TILE_NONE ? args->m.holds[neighbour[n]] & what : 0;
    }
    return holds != 0;
}

/// Cells of the tiles along an axis.
TILE_FN uint32_t vorton_wave_cells(const grid_shape *shape, int axis)
{
    return (uint32_t)shape->tiles[0][axis] * TILE_EDGE;
}

/// Kernels, in the order of a step.
#define VORTON_KERNEL_LIST(K)                                                                                          \
    K(vorton_spread)                                                                                                   \
    K(vorton_gather)                                                                                                   \
    K(vorton_spread_mass)                                                                                              \
    K(vorton_gather_mass)                                                                                              \
    K(vorton_diffuse)                                                                                                  \
    K(vorton_spread_impulse)                                                                                           \
    K(vorton_gather_impulse)                                                                                           \
    K(vorton_generate)                                                                                                 \
    K(vorton_start)                                                                                                    \
    K(vorton_waves)                                                                                                    \
    K(vorton_velocity)                                                                                                 \
    K(vorton_push)                                                                                                     \
    K(vorton_settle)                                                                                                   \
    K(vorton_stretch)                                                                                                  \
    K(vorton_share)                                                                                                    \
    K(vorton_cells)                                                                                                    \
    K(vorton_keep)                                                                                                     \
    K(vorton_births)                                                                                                   \
    K(vorton_births_limit)                                                                                             \
    K(vorton_spawn)                                                                                                    \
    K(vorton_show_spin)

#endif
