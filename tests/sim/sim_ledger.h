/// What happened, as somebody who sees everything would write it down: which inputs clients sent, which tanks took them
/// in which step, and the hash that each tank had then. It is what the gateway is judged by.
///
/// A life is what happens to a tank between two fresh starts, whichever workers and gateways it goes through. Its hash
/// after a step is made of the one before and of the inputs that the step took.
#ifndef TARN_TESTS_SIM_SIM_LEDGER_H
#define TARN_TESTS_SIM_SIM_LEDGER_H

#include "protocol/message.h"
#include "tests/sim/sim.h"

enum { SIM_FRAMES_KEPT = 64, SIM_SENT_MAX = 4096 };

/// An input or a control of a viewer.
typedef struct sim_sent {
    uint32_t sequence, mark; ///< mark: tells its content from others'
    bool is_edge;            ///< neither a move nor a control
    bool is_control;
    bool is_excused; ///< may be lost: its tank started afresh, or its worker was given up
    bool is_void;    ///< its viewer knew that it was muted
    uint8_t deaths;  ///< of its worker, while it wasn't taken
    uint32_t life;   ///< that took it; 0: none has
    uint64_t step;
} sim_sent;

/// A connection that joined, as the ledger knows it.
typedef struct sim_person {
    struct sim_person *next;
    uint32_t viewer_id;
    tarn_name session;
    tarn_role role, role_most; ///< by its key; that an owner may have given it
    bool is_there, is_preview;
    bool is_meddled; ///< an owner may have muted it, or locked something: nothing that it does need have an effect
    uint32_t sent_count;
    sim_sent *sent; ///< SIM_SENT_MAX
} sim_person;

/// What a worker's frame was.
typedef struct sim_frame {
    uint32_t life, epoch, number, byte_count;
    uint64_t hash;
} sim_frame;

typedef struct sim_life {
    struct sim_life *next;
    uint32_t id;
    tarn_name session;
    uint64_t step, *hashes, *logged_ns; ///< by step; hashes[0]: at the start
    size_t room;
} sim_life;

sim_person *sim_ledger_join(uint32_t viewer_id, const char *session, tarn_role role, bool is_preview);
sim_person *sim_ledger_person(uint32_t viewer_id);
sim_person *sim_ledger_people(void);
void sim_ledger_leave(sim_person *person);
void sim_ledger_sent(sim_person *person, uint32_t sequence, uint32_t mark, bool is_edge, bool is_control);

/// A tank of a session starts afresh: what is on its way to it may be lost.
sim_life *sim_ledger_begin(const char *session);
sim_life *sim_ledger_life(uint32_t id);

/// A tank takes an input in the step that it makes. @return the hash with it
uint64_t sim_ledger_take(sim_life *life, uint32_t viewer_id, uint32_t sequence, uint32_t mark, bool is_parameter,
                         uint64_t hash);
void sim_ledger_step(sim_life *life, uint64_t step, uint64_t hash);

/// A tank goes on. What came behind the step is no more.
/// @param is_whole  nothing may be lost @param bound_ns  what was logged before this may not
void sim_ledger_go_on(sim_life *life, const char *session, uint64_t step, uint64_t hash, bool is_whole,
                      uint64_t bound_ns);

/// A tank goes on from an earlier step of a life, which stays as it is, or another session's from there: a life of its
/// own. @param before  NULL: there is none @return it
sim_life *sim_ledger_branch(const sim_life *before, const char *before_session, const char *session, uint64_t step,
                            uint64_t hash);

/// An owner does something about a viewer.
/// @param is_freed  what it does may have an effect from now on, even what it sent while it was muted
void sim_ledger_meddle(sim_person *person, tarn_role role_most, bool is_freed);

/// What viewers of a session sent and hasn't been taken may be lost. @param session  NULL: of all
void sim_ledger_excuse(const char *session);
void sim_ledger_worker_died(void);
void sim_ledger_tank_died(const char *session);

#endif
