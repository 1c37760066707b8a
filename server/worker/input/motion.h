/// Motion that viewers' cameras see: of each source the newest grid, until it falls silent. Apart from the presses of
/// state.h, as it is held by nobody and has no beginning or end.
///
/// A source acts for TARN_MOTION_SILENCE_NS after its newest grid, whether the tank goes or stands. Where all places
/// are taken, a viewer who has none gets one of a viewer who has several.
///
/// Pure state: no clock, no I/O, no allocation. `now_ns` is of a clock that never goes back.
#ifndef TARN_SERVER_WORKER_INPUT_MOTION_H
#define TARN_SERVER_WORKER_INPUT_MOTION_H

#include "kernels/step_input.h"
#include "protocol/message.h"
#include "protocol/motion_code.h"

#include <stdbool.h>

#define TARN_MOTION_SILENCE_NS 500000000u ///< after which a source counts as gone

enum { TARN_MOTION_TOLD_MAX = 32 };

typedef struct tarn_motion_source {
    uint32_t viewer_id; ///< 0: free
    uint32_t source;
    uint64_t heard_ns;
    bool moves;              ///< there is something in its grid that acts
    bool is_new;             ///< since the last step
    tarn_motion_field field; ///< without its cells
    uint8_t cells[TARN_MOTION_CODE_BYTES_MAX];
} tarn_motion_source;

typedef struct tarn_input_motion_state {
    tarn_motion_source sources[TARN_STEP_MOTION_FIELDS_MAX];
    uint32_t told[TARN_MOTION_TOLD_MAX]; ///< the newest viewers that were told that no more fit; 0: none
    uint32_t told_next;
    uint8_t latched[TARN_STEP_MOTION_FIELDS_MAX][TARN_MOTION_CODE_BYTES_MAX]; ///< cells of the step's fields
} tarn_input_motion_state;

/// Takes a grid, or that its source is gone.
/// @param why  on failure a sentence for the viewer
/// @return TARN_OK, also where a viewer that was told goes on sending; or TARN_E_LIMIT: as many sources act as fit
tarn_status tarn_input_motion_put(tarn_input_motion_state *state, uint64_t now_ns, uint32_t viewer_id,
                                  const tarn_input_motion *motion, tarn_text why);

void tarn_input_motion_viewer_gone(tarn_input_motion_state *state, uint32_t viewer_id);

/// Forgets what all sources sent: the tank is another one.
void tarn_input_motion_release(tarn_input_motion_state *state);

/// What acts in the next step, whose cells stay as they are until the next call.
/// @return whether something that moves was heard of since then
bool tarn_input_motion_latch(tarn_input_motion_state *state, uint64_t now_ns, tarn_step_input *input);

#endif
