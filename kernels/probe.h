/// Probes: what a tank has at given places, in SI units, measured on its device. They read the tank as the last step
/// left it and change nothing of it: a tank has the same bits with and without. What they measure is the same to the
/// last bit on all devices.
///
/// What moves is measured by its particles, each spread over a cube of two cells an edge by trilinear weights and
/// mirrored at the tank's walls, so that liquid along a wall counts in full. Beside solids it counts for less, down to
/// half at their faces. Pressure and the velocity of what fills a tank are the grid's. All of it is in the tank's
/// frame.
///
/// Functions run on the tank's thread.
#ifndef TARN_KERNELS_PROBE_H
#define TARN_KERNELS_PROBE_H

#include "kernels/tank.h"

enum {
    TARN_PROBES_MAX = 64,                   ///< of a tank
    TARN_PROBE_SURFACE_CELLS_MAX = 1 << 20, ///< of all walls, and solids that stand still, that forces are measured on
};

typedef enum tarn_probe_kind {
    TARN_PROBE_POINT, ///< pressure, velocity and what is there, at points_m[0]
    TARN_PROBE_GAUGE, ///< a rod from points_m[0] to points_m[1]: how much of it is in liquid. Not in filled tanks
    TARN_PROBE_FLUX,  ///< through the rectangle of points_m[0] and the corners beside it, [1] and [2]. Not in filled
                      ///< tanks
    TARN_PROBE_WALL,  ///< the liquid's force on a part of a wall of the tank, a rectangle as a flux's, along the axes.
                      ///< Not in filled tanks
    TARN_PROBE_FORCE, ///< the same on a solid of the description, whether it moves or not
    TARN_PROBE_KIND_COUNT
} tarn_probe_kind;

typedef struct tarn_probe {
    tarn_probe_kind kind;
    float points_m[3][3]; ///< in the tank; of a force none
    uint32_t solid;       ///< of a force: index in the description
} tarn_probe;

/// What a probe says; what its kind doesn't have is 0.
typedef struct tarn_probe_reading {
    /// Of a point, over the free surface's, or over air at rest; 0 where there is no liquid, and until the first step
    /// after the start, a reset or a load. In a cell that is less than half full it may be 0, too. In liquid that no
    /// free surface touches only differences mean something.
    float pressure_pa;
    float velocity_m_s[3]; ///< of a point; 0 where there is no liquid
    float share;           ///< of a point: of the place that is liquid, 0..1; 1 in a filled tank
    float density_kg_m3;   ///< of a point: of the liquid that is there; 0 where there is none, and in filled tanks
    float carried[TARN_MODEL_CARRIED_MAX]; ///< of a point, by the model's table: what its particles have there
    float depth_m; ///< of a gauge: length of it that is in liquid, air left out; of films that are thinner than a third
                   ///< of a cell it sees little
    float surface_m; ///< of a gauge: from its start to where the share last falls below a half; 0: nowhere
    float flux_m3_s; ///< of a rectangle: above 0 the way that ([1] - [0]) x ([2] - [0]) points. It is that of a layer
                     ///< of two cells, which may not reach beyond a wall that it is parallel to
    /// Of a force or a wall: that of the last solve's pressure over the free surface's, which is what moves bodies;
    /// what viscosity does is left out. 0 until the first step after the start, a reset or a load. In a tank of one
    /// cell's depth it is that on one cell's.
    float force_n[3];
    float torque_n_m[3]; ///< about the solid's centre of mass, or the middle of the rectangle
} tarn_probe_reading;

typedef struct tarn_probes tarn_probes;

#ifdef __cplusplus
extern "C" {
#endif

/// Whether a probe can be in such a tank: points in it, a gauge of a length, a rectangle with sides and right angles.
/// @param why  where not NULL: what was wrong, what was found and what is allowed
/// @return TARN_OK or TARN_E_ARGUMENT
tarn_status tarn_probe_check(const tarn_tank_desc *desc, const tarn_probe *probe, char *why, size_t why_bytes);

/// Puts probes into a tank, which outlives them. Takes device memory.
/// @param count  1..TARN_PROBES_MAX
/// @return TARN_OK, TARN_E_ARGUMENT, TARN_E_LIMIT (too many of them, or of their surfaces' cells), TARN_E_MEMORY or
///         TARN_E_DEVICE
tarn_status tarn_probes_create(tarn_tank *tank, const tarn_probe *probes, uint32_t count, tarn_probes **made);

/// Takes NULL. Waits for the device.
void tarn_probes_destroy(tarn_probes *probes);

/// Measures. Waits for the device; takes no memory.
/// @param readings  as many as there are probes
/// @return TARN_OK or TARN_E_DEVICE
tarn_status tarn_probes_read(tarn_probes *probes, tarn_probe_reading *readings);

#ifdef __cplusplus
}
#endif
#endif
