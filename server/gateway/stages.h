/// Where the time between an input and its picture goes, as far as the server sees it:
///
///     arrived -- wait --> latched -- step --> stepped -- encode --> encoded -- pass --> taken -- write --> written
///
/// `wait` begins with an input and is known of frames that contain one; the others of every frame, `write` for every
/// viewer that it is sent to.
#ifndef TARN_SERVER_GATEWAY_STAGES_H
#define TARN_SERVER_GATEWAY_STAGES_H

#include "server/common/ipc.h"

typedef enum tarn_stage {
    TARN_STAGE_WAIT = 0,   ///< for the step that it acts in, the way to the worker included
    TARN_STAGE_STEP = 1,   ///< the step
    TARN_STAGE_ENCODE = 2, ///< the frame's encoding
    TARN_STAGE_PASS = 3,   ///< from the worker to the gateway
    TARN_STAGE_WRITE = 4,  ///< until a viewer's socket takes it
    TARN_STAGE_COUNT
} tarn_stage;

typedef struct tarn_stages {
    uint64_t count[TARN_STAGE_COUNT];
    double sum_s[TARN_STAGE_COUNT];
    double recent_s[TARN_STAGE_COUNT]; ///< a mean in which the newest 16 count most
} tarn_stages;

/// The stage's name in metrics: "wait", "step"...
const char *tarn_stage_name(tarn_stage stage);

/// One took this long. What isn't from 0 to TARN_STAGE_S_MAX isn't believed.
void tarn_stages_note(tarn_stages *stages, tarn_stage stage, double seconds);

/// A frame came from the worker: notes step, encode and pass, where the stamps are in order.
void tarn_stages_frame(tarn_stages *stages, const tarn_ipc_stamps *stamps, uint64_t now_ns);

#define TARN_STAGE_S_MAX 60.0

#endif
