/// A tank that is nothing but a hash: each step mixes the inputs that it takes into the one before. It keeps a black
/// box as the real one does, with the worker's own code, and goes on from one.
#ifndef TARN_TESTS_SIM_SIM_TANK_H
#define TARN_TESTS_SIM_SIM_TANK_H

#include "server/base/ipc.h"
#include "server/log/black_box.h"
#include "tests/sim/sim_ledger.h"

enum {
    SIM_TANK_STATE_BYTES_MAX = 200000,
    SIM_TANK_SEEN_MAX = 256,
    SIM_TANK_PENDING_MAX = 1024,
    SIM_TANK_FRAME_BYTES_MAX = 16384,
};

typedef struct sim_note {
    uint32_t viewer_id, sequence;
} sim_note;

typedef struct sim_pending {
    uint32_t viewer_id, sequence, mark, is_parameter;
} sim_pending;

typedef enum sim_handover {
    SIM_HANDOVER_NONE,
    SIM_HANDOVER_GIVES, ///< stands, and sends its state as far as that is wanted
    SIM_HANDOVER_WAITS, ///< for a state
    SIM_HANDOVER_GETS,
} sim_handover;

typedef struct sim_tank {
    uint32_t id; ///< 0: the place is free
    tarn_name session;
    tarn_black_box box;
    int box_fd, next_box_fd; ///< next: that the load goes on from
    bool is_made, paused, state_changed, key_wanted, frame_wanted;
    sim_life *life;
    uint64_t step, hash, kept_step, due_ns, dt_ns;
    uint32_t epoch, number, reference, since_key, viewers, steps_asked, state_every;
    char scene[TARN_IPC_SCENE_BYTES_MAX + 1];
    uint32_t seen_count, latched_count, pending_count;
    sim_note seen[SIM_TANK_SEEN_MAX], latched[SIM_TANK_SEEN_MAX];
    sim_pending pending[SIM_TANK_PENDING_MAX];
    bool load_asked, reset_asked, save_asked, is_restored, comes_back;
    uint64_t load_due_ns;
    tarn_ipc_load load;
    tarn_ipc_reset reset;
    uint32_t save;
    sim_handover handover;
    bool head_told;
    tarn_ipc_state_head head;
    uint64_t at, until;
    uint8_t *presses; ///< of the handover
    uint64_t report_ns;
    float speed; ///< as tarn_session_state has it
} sim_tank;

/// Whether an input or a control was seen before; else notes it.
bool sim_tank_has_seen(sim_tank *tank, uint32_t viewer_id, uint32_t sequence);
void sim_tank_viewer_gone(sim_tank *tank, uint32_t viewer_id);

/// Its worker ends by what isn't its tanks' doing.
void sim_tank_is_idle(sim_tank *tank);

/// Makes it, or goes on from its box, as the load says.
/// @param is_whole, bound_ns  as sim_ledger_go_on
void sim_tank_make(sim_tank *tank, bool is_whole, uint64_t bound_ns);
void sim_tank_start_afresh(sim_tank *tank, uint32_t epoch, bool is_paused);
void sim_tank_pause(sim_tank *tank, bool is_paused);
void sim_tank_step(sim_tank *tank);
bool sim_tank_is_stepping(const sim_tank *tank);
void sim_tank_free(sim_tank *tank);

/// Writes the next frame. @return bytes
uint32_t sim_tank_frame(sim_tank *tank, uint8_t bytes[SIM_TANK_FRAME_BYTES_MAX]);

/// What a frame that arrives must be. @param session  receives whose it is @return NULL: no worker made it
const sim_frame *sim_tank_frame_made(const uint8_t *bytes, size_t byte_count, const char **session, bool *is_intact);

// The way to another worker.
void sim_tank_give(sim_tank *tank);
bool sim_tank_take_chunk(sim_tank *tank, const tarn_ipc_state_chunk *chunk);
bool sim_tank_take_head(sim_tank *tank, const tarn_ipc_state_head *head);

#endif
