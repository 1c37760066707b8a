/// The yardstick of the benchmark: a FLIP liquid as it is written from the textbook, dense and straightforward, with
/// nothing in it of Tarn's solver. It takes a tank's description and its particles, so that both start from the same
/// state and use the same time steps, CFL rule, FLIP ratio and pressure tolerance.
///
/// Source: Bridson, Fluid Simulation for Computer Graphics, 2nd edition: MAC grid (ch. 2), pressure by conjugate
/// gradients with a modified incomplete Cholesky preconditioner (ch. 5), extrapolation by a wavefront (ch. 4), FLIP
/// (ch. 7, after Zhu & Bridson 2005).
///
/// There are two of it. The plain one is less accurate than Tarn: midpoint rule, a free surface that passes the centres
/// of air cells (first order), no correction of the volume. The full one has Tarn's accuracy, each in the plain way:
/// Ralston's third-order rule, the ghost fluid method (second order), and the volume corrected by a second solve in
/// each substep, with the same surface, tolerances and gain.
///
/// Neither sorts particles, takes pushes or makes frames; their bits depend on the compiler. They run on one thread.
#ifndef TARN_TESTS_TEXTBOOK_FLIP_H
#define TARN_TESTS_TEXTBOOK_FLIP_H

#include "kernels/tank.h"

/// X(id, name): the stages of a profile.
#define TEXTBOOK_STAGE_LIST(X)                                                                                         \
    X(TEXTBOOK_P2G, "p2g")                                                                                             \
    X(TEXTBOOK_MATRIX, "matrix")                                                                                       \
    X(TEXTBOOK_PRESSURE, "pressure")                                                                                   \
    X(TEXTBOOK_VOLUME, "volume")                                                                                       \
    X(TEXTBOOK_EXTRAPOLATE, "extrapolate")                                                                             \
    X(TEXTBOOK_ADVECT, "g2p+advect")

typedef enum textbook_stage {
#define TEXTBOOK_STAGE_ENUM(id, name) id,
    TEXTBOOK_STAGE_LIST(TEXTBOOK_STAGE_ENUM)
#undef TEXTBOOK_STAGE_ENUM
        TEXTBOOK_STAGE_COUNT
} textbook_stage;

typedef enum textbook_accuracy { TEXTBOOK_PLAIN, TEXTBOOK_FULL } textbook_accuracy;

/// What the last step did.
typedef struct textbook_report {
    uint32_t substeps, pressure_iterations; ///< iterations: of the last substep
    float residual;                         ///< max over liquid cells of abs(div u) * dt after projection
    uint32_t volume_iterations;             ///< of the last substep's correction
    uint64_t bytes;                         ///< that the solver holds
} textbook_report;

typedef struct textbook_flip textbook_flip;

/// The cap on iterations is its own, as the preconditioner needs more of them: TEXTBOOK_ITERATIONS_MAX.
enum { TEXTBOOK_ITERATIONS_MAX = 1000 };

/// @param desc            a valid description; blocks and pushes are ignored
/// @param positions_m     3 floats per particle; copied
/// @param velocities_m_s  3 floats per particle; copied
/// @return TARN_OK or TARN_E_MEMORY
tarn_status textbook_flip_create(const tarn_tank_desc *desc, textbook_accuracy accuracy, const float *positions_m,
                                 const float *velocities_m_s, uint32_t particle_count, textbook_flip **flip);

/// Takes NULL.
void textbook_flip_destroy(textbook_flip *flip);

/// Back to the state that textbook_flip_create made.
void textbook_flip_reset(textbook_flip *flip);

/// Advances by one fixed step.
void textbook_flip_step(textbook_flip *flip);

void textbook_flip_report(const textbook_flip *flip, textbook_report *report);

/// @param positions_m  3 floats per particle, in the order of textbook_flip_create
void textbook_flip_particles(const textbook_flip *flip, float *positions_m);

/// Seconds that each stage took since the last call.
/// @param seconds  TEXTBOOK_STAGE_COUNT values
void textbook_flip_profile(textbook_flip *flip, double *seconds);

const char *textbook_stage_name(textbook_stage stage);

#endif
