/// A tank's host side, shared by the files of kernels/liquid.
#ifndef TARN_KERNELS_LIQUID_TANK_INTERNAL_H
#define TARN_KERNELS_LIQUID_TANK_INTERNAL_H

#include "kernels/liquid/kernels.h"
#include "kernels/tank.h"

/// X(id, name): the stages of a profile.
#define TANK_STAGE_LIST(X)                                                                                             \
    X(STAGE_P2G, "p2g")                                                                                                \
    X(STAGE_GRID, "grid")                                                                                              \
    X(STAGE_MATRIX, "matrix")                                                                                          \
    X(STAGE_PRESSURE, "pressure")                                                                                      \
    X(STAGE_DENSITY, "density")                                                                                        \
    X(STAGE_EXTRAPOLATE, "extrapolate")                                                                                \
    X(STAGE_ADVECT, "g2p+advect")                                                                                      \
    X(STAGE_SORT, "sort")                                                                                              \
    X(STAGE_ENCODE, "encode")

typedef enum tank_stage {
#define TANK_STAGE_ENUM(id, name) id,
    TANK_STAGE_LIST(TANK_STAGE_ENUM)
#undef TANK_STAGE_ENUM
        STAGE_COUNT
} tank_stage;

/// Distances that the host sampled.
typedef struct solid_samples {
    uint32_t *tile, *dense; ///< [dense] and [i] as solid_tile and solid_dense
    int16_t *node;          ///< [i][SOLID_NODES]
    uint32_t count, count_max;
} solid_samples;

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
    uint32_t body_count;
    uint32_t body_solid[BODIES_MAX];          ///< index in the description
    liquid_body_state body_state[BODIES_MAX]; ///< as the last step left them
    float body_center[BODIES_MAX][3];         ///< of mass, in the shape's frame
    float body_reach[BODIES_MAX];
    float *field_distance[FIELDS_MAX]; ///< device
    liquid_body_control body_control;  ///< of the next step
    uint32_t solid_tiles;              ///< near solids that don't move
    solid_samples *samples;            ///< of these, while the tank is being made
    int profiling;
    double stage_s[STAGE_COUNT], stage_mark_s;
};

/// Launches one kernel with the tank's arguments over *count (device memory) or `most` tiles.
void tank_launch(tarn_tank *tank, const liquid_args *args, liquid_kernel_id kernel, const uint32_t *count,
                 uint32_t most);

/// Books the time since the last mark under a stage, while profiling.
void tank_mark(tarn_tank *tank, tank_stage stage);

/// Whether solids, fields, key frames and fluid shapes are sound. @return TARN_OK, TARN_E_ARGUMENT or TARN_E_LIMIT
tarn_status tank_solids_check(const tarn_tank_desc *desc, char *why, size_t why_bytes);

/// Makes the tank's description own its fields' distances; tarn_tank_destroy frees them.
tarn_status tank_fields_copy(tarn_tank *tank);

/// Samples the solids that don't move into tank->samples: before the memory is taken, which follows from them.
tarn_status tank_solids_sample(tarn_tank *tank);

/// Brings the samples to the device and computes what they leave open.
tarn_status tank_solids_upload(tarn_tank *tank);
void tank_solids_free_samples(tarn_tank *tank);

/// Puts the bodies where the description has them.
tarn_status tank_bodies_reset(tarn_tank *tank);

/// Tells the device of the key frames and grabs of the next step, and reads back where the last one left the bodies.
tarn_status tank_bodies_before_step(tarn_tank *tank);
tarn_status tank_bodies_after_step(tarn_tank *tank);

/// Fastest point of a body in the next step as far as is known, cells per step.
float tank_bodies_speed(const tarn_tank *tank);

/// Mixes the bodies into a hash.
uint64_t tank_bodies_hash(const tarn_tank *tank, uint64_t hash);

/// Which of the first 64 shapes may come within margin_m of a box: a bit each.
uint64_t tank_shapes_near(const tarn_tank_desc *desc, const double min_m[3], const double max_m[3], double margin_m);

/// Distance of a point, metres, to the solids of a mask as they stand at the start.
double tank_solids_distance_m(const tarn_tank_desc *desc, uint64_t solids, const double point_m[3]);

/// Puts the description's particles into the tank, and lists the tiles.
tarn_status tank_seed(tarn_tank *tank);

#endif
