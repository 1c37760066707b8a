/// A viewer: connects, joins, looks, acts, acknowledges, and checks everything that it is sent.
#ifndef TARN_TESTS_SIM_SIM_VIEWER_H
#define TARN_TESTS_SIM_SIM_VIEWER_H

#include "protocol/message.h"
#include "tests/sim/sim_ledger.h"
#include "tests/sim/sim_model.h"
#include "tests/sim/sim_net.h"

typedef enum sim_pass {
    SIM_PASS_WATCH,
    SIM_PASS_PLAY,
    SIM_PASS_OWN,
    SIM_PASS_NONE,
    SIM_PASS_WRONG,
    SIM_PASS_OTHER
} sim_pass;

typedef enum sim_viewer_phase {
    SIM_VIEWER_CONNECTS,
    SIM_VIEWER_GREETS,
    SIM_VIEWER_JOINED,
    SIM_VIEWER_GONE
} sim_viewer_phase;

typedef struct sim_viewer {
    struct sim_viewer *next;
    uint32_t index;
    sim_client net;
    sim_viewer_phase phase;
    tarn_name session;
    sim_pass pass;
    tarn_role role; ///< that it must get
    bool is_admitted, is_preview, acks, hidden, is_slow, was_closed;
    sim_person *person;
    uint32_t sequence;
    bool presses;
    bool is_muted, was_freed; ///< as it was told last; an owner has undone it, or may have
    tarn_session_state state;
    uint32_t epoch, number, reference;
    uint64_t since_ns, frames, frame_ns, joined_ns;
    uint32_t unacknowledged;
    uint32_t error; ///< the newest
    uint16_t close_code;
    size_t text_bytes;
    char text[2048]; ///< HTTP
} sim_viewer;

sim_viewer *sim_viewer_connect(const char *session, sim_pass pass, bool is_preview);
sim_viewer *sim_viewers(void);

void sim_viewer_act(sim_viewer *viewer);
void sim_viewer_control(sim_viewer *viewer, tarn_control_action action, const char *scene);
void sim_viewer_moderate(sim_viewer *owner, sim_viewer *about, tarn_moderation action);
void sim_viewer_lock(sim_viewer *owner, uint32_t locked, bool opens_parameters);
void sim_viewer_look(sim_viewer *viewer, bool hidden);
void sim_viewer_say(sim_viewer *viewer); ///< presence, profile, ping
void sim_viewer_misbehave(sim_viewer *viewer);
void sim_viewer_leave(sim_viewer *viewer, bool is_reset);
void sim_viewer_acknowledge(sim_viewer *viewer);

#endif
