/// A tank's host side, shared by the files of kernels/liquid.
#ifndef TARN_KERNELS_LIQUID_TANK_INTERNAL_H
#define TARN_KERNELS_LIQUID_TANK_INTERNAL_H

#include "kernels/liquid/kernels.h"
#include "kernels/tank.h"

/// X(id, name): the stages of a profile.
#define TANK_STAGE_LIST(X)                                                                                             \
    X(STAGE_P2G, "p2g")                                                                                                \
    X(STAGE_GRID, "grid")                                                                                              \
    X(STAGE_VISCOSITY, "viscosity")                                                                                    \
    X(STAGE_MATRIX, "matrix")                                                                                          \
    X(STAGE_PRESSURE, "pressure")                                                                                      \
    X(STAGE_DENSITY, "density")                                                                                        \
    X(STAGE_EXTRAPOLATE, "extrapolate")                                                                                \
    X(STAGE_GATHER, "g2p") /* where it is not part of the next */                                                      \
    X(STAGE_ADVECT, "g2p+advect")                                                                                      \
    X(STAGE_SORT, "sort")                                                                                              \
    X(STAGE_ENCODE, "encode")

typedef enum tank_stage {
#define TANK_STAGE_ENUM(id, name) id,
    TANK_STAGE_LIST(TANK_STAGE_ENUM)
#undef TANK_STAGE_ENUM
        STAGE_COUNT
} tank_stage;

struct tarn_tank {
    tarn_device *device;
    tarn_tank_desc desc;
    float parameters[TARN_PARAMETER_COUNT];
    liquid_args args; ///< shape and memory, the same for every launch
    uint32_t particle_count;
    uint64_t bytes; ///< of device memory
    uint64_t step;
    double sim_time_s;
    uint32_t substeps;        ///< of the last step
    liquid_counters counters; ///< as the last step left them
    tarn_replay *substep;
    uint8_t *payloads;   ///< device; NULL where the device writes into host memory
    uint32_t *tile_info; ///< device: [occupied][2]
    uint32_t *tile_info_host;
    tarn_frame_tile *frame_tiles;
    int profiling;
    double stage_s[STAGE_COUNT], stage_mark_s;
};

/// Launches one kernel with the tank's arguments over *count (device memory) or `most` tiles.
void tank_launch(tarn_tank *tank, const liquid_args *args, liquid_kernel_id kernel, const uint32_t *count,
                 uint32_t most);

/// Particles to grid, with forces: p2g and grid, by what the tank was made for.
void tank_launch_p2g(tarn_tank *tank, const liquid_args *args);

/// Grid to particles: moved_velocity and moved_affine. @return 0 where the advection does that
int tank_launch_gather(tarn_tank *tank, const liquid_args *args);

/// Iterations of the viscosity: 0 where no liquid has any.
uint32_t tank_viscosity_iterations(const tarn_tank *tank);
/// The strengths and coefficients of these for a substep of control->frac.
void tank_fill_viscosity(const tarn_tank *tank, liquid_control *control);
/// Viscosity's launches, between the forces and the pressure.
void tank_launch_viscosity(tarn_tank *tank, const liquid_args *args);

/// Books the time since the last mark under a stage, while profiling.
void tank_mark(tarn_tank *tank, tank_stage stage);

/// Puts the description's particles into the tank, and lists the tiles.
tarn_status tank_seed(tarn_tank *tank);

#endif
