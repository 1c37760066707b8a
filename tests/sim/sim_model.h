/// What a user of the server may rely on: which sessions there are, by which keys they open, and what of them a kill
/// may cost.
#ifndef TARN_TESTS_SIM_SIM_MODEL_H
#define TARN_TESTS_SIM_SIM_MODEL_H

#include "protocol/message.h"
#include "tests/sim/sim.h"

enum { SIM_SCENES = 3, SIM_SESSIONS_MAX = 64, SIM_ANEW_MAX = 3 };
#define SIM_SCENE_BROKEN "broken"
extern const char *const sim_scenes[SIM_SCENES];

/// A history's own choices.
typedef struct sim_plan {
    uint32_t workers, durability_ms, sessions_max, keep_empty_s;
    bool is_stored, is_owned; ///< tanks are kept; only owners make more
    tarn_role guests;
    uint64_t length_ns;
} sim_plan;
extern sim_plan sim_planned;

/// A session that was made, as whoever made it knows.
typedef struct sim_session {
    tarn_name name;
    tarn_key keys[TARN_ROLE_COUNT];
    bool is_there;                  ///< it must be
    bool may_be_gone;               ///< it may have ended: by itself, or with a gateway that was killed just then
    uint64_t since_ns;              ///< when it was made, or ended
    uint32_t loaded_in;             ///< which run of the gateway had its tank made last
    uint64_t seen_ns;               ///< when the gateway saw it go on in that run, where the tank was brought back
    uint64_t bound_ns;              ///< what was logged before this is there still
    bool afresh_asked;              ///< somebody asked for a fresh start in this run
    uint64_t anew_ns[SIM_ANEW_MAX]; ///< when its tank began anew, or elsewhere, lately
    uint32_t anew_count;
    tarn_name forked_from;      ///< empty: its tank began with a scene
    bool awaits;                ///< a fork's tank, which may come to nothing
    bool is_meddled, is_opened; ///< owners have muted or locked something; players may set parameters
    uint64_t steps;             ///< that its tanks made, those that were lost too
} sim_session;

extern sim_session sim_sessions[SIM_SESSIONS_MAX];
extern uint32_t sim_session_count;

sim_session *sim_model_find(const char *name);
sim_session *sim_model_made(const char *name, const tarn_key keys[TARN_ROLE_COUNT]);

/// The gateway begins, or is no more.
void sim_model_begins(void);
uint32_t sim_model_run(void); ///< how often it has begun
void sim_model_killed(bool is_cut);
void sim_model_ended(void);

/// Whether the tank of a session is made for the first time in this run.
bool sim_model_is_first_load(const char *session);
uint64_t sim_model_bound_ns(const char *session);

/// The tank of a session has begun anew, or elsewhere: the store puts a state of it, but not again and again
/// (TARN_GATEWAY_STORE_ANEW_MAX).
void sim_model_anew(const char *session);

/// It has begun as what a tank once was. It is its own from then on.
void sim_model_branched(const char *session);
const char *sim_model_forked_from(const char *session); ///< NULL: it isn't
void sim_model_stepped(const char *session);

/// Tells the contents of inputs from each other.
uint32_t sim_model_mark(const tarn_input *input);
void sim_model_fill(tarn_input *input, uint32_t mark);

#endif
