/// The tanks of a worker: which place is whose, what each is to do next, and whose turn it is.
///
///     messages ─▶ a tank's inputs and wishes ┐
///     time ─────▶ steps that are due ────────┴▶ one job per tank ─▶ turns ─▶ a slice of the device
///
/// For who has the baton (jobs.h): the scheduler, and a lane whose job has ended. While a tank's job is in progress
/// messages change nothing that the job works on (tank.h): making it anew, resetting and ending it wait for the
/// job's end, the newest of each kind.
#ifndef TARN_SERVER_WORKER_PLACES_H
#define TARN_SERVER_WORKER_PLACES_H

#include "server/worker/jobs.h"
#include "server/worker/resume.h"
#include "server/worker/turns.h"

/// What a place's job does.
typedef enum tarn_place_task {
    TARN_PLACE_LOADS,
    TARN_PLACE_RESETS,
    TARN_PLACE_SAVES,
    TARN_PLACE_RESTORES, ///< a state that has come
    TARN_PLACE_TELLS,    ///< itself, as a scene
    TARN_PLACE_RUNS
} tarn_place_task;

typedef struct tarn_places tarn_places;

typedef struct tarn_place {
    tarn_places *places;
    tarn_worker_tank tank; ///< id 0: nobody's place
    tarn_job job;
    bool is_ending; ///< the tank is no more once its job is done
    bool load_asked, reset_asked, save_asked;
    bool go_on_asked;      ///< it need stand no longer, once the job in progress is done
    bool is_restored;      ///< what is made waits for its state
    uint32_t restore_save; ///< which one
    tarn_ipc_load load;    ///< that was asked for
    tarn_ipc_reset reset;
    tarn_ipc_save save;
    bool is_new;       ///< its tank has made no step here
    uint64_t alone_ns; ///< that a step of it took alone, the most of late
    // of the job in progress
    bool goes_alone; ///< in a lane of the device, beside others
    uint32_t lane;   ///< that it has from its beginning on
    tarn_place_task task;
    tarn_ipc_load loading;
    tarn_status status; ///< how it ended
    tarn_text why;
} tarn_place;

/// What of a place is looked at in every turn, close together: a place is as large as a tank's inputs are.
typedef struct tarn_place_brief {
    uint32_t id;      ///< the tank's; 0: nobody's place
    bool is_moving;   ///< it goes to another worker, or comes from one
    uint64_t due_ns;  ///< when there is something to do; UINT64_MAX: nothing, or a job is in progress
    uint64_t tell_ns; ///< when the gateway is to be told something, or told again
    uint64_t late_ns; ///< from when on it is late
} tarn_place_brief;

struct tarn_places {
    tarn_place of[TARN_WORKER_PLACES_MAX];
    tarn_place_brief briefs[TARN_WORKER_PLACES_MAX];
    int count;                           ///< places up to the last that is taken
    uint32_t tanks_max;                  ///< that may be here at once, those that are ending not counted
    bool lanes[TARN_DEVICE_THREADS_MAX]; ///< that somebody is in
    uint32_t lane_count, lanes_taken;
    uint64_t alone_ns_max; ///< that a job beside others takes in a lane
    uint64_t together_ns;  ///< before which none begin beside one that needs all of the device
    tarn_status failed;    ///< of a job that ended in a lane, until the scheduler hears of it
    bool awaits_lane;      ///< whose turn it is waits until those who are in lanes have come out
    tarn_turns turns;
    uint64_t wake_ns; ///< when those that wait are asked next
    tarn_jobs jobs;
    tarn_device *device;
    tarn_worker_link *link;
    const tarn_worker_options *options;
    const char *scenes_dir;
};

/// Takes zeroed memory. What it is given stays whose it was, and must live as long.
/// @param is_wanted  whether there is something to do for who calls the functions here: asked by jobs
/// @return TARN_OK or TARN_E_MEMORY
tarn_status tarn_places_open(tarn_places *places, tarn_device *device, tarn_worker_link *link,
                             const tarn_worker_options *options, const char *scenes_dir, bool (*is_wanted)(void *user),
                             void *user);

/// Frees what isn't in the middle of a job. @return whether that was all
bool tarn_places_close(tarn_places *places);

/// Takes a message about a tank. @return TARN_OK or TARN_E_UNKNOWN_KIND
tarn_status tarn_places_message(tarn_places *places, const tarn_ipc_message *message, uint64_t now_ns);

/// Brings tanks that are between two jobs up to date, and says what is to be said of them.
void tarn_places_tell(tarn_places *places, uint64_t now_ns);

/// Whether a tank is on its way from or to another worker, so that pieces of it may come at any time.
bool tarn_places_are_moving(const tarn_places *places);

/// When there is something to do: 0: now; UINT64_MAX: not before a message comes.
uint64_t tarn_places_due_ns(const tarn_places *places, uint64_t now_ns);

/// Gives one tank its turn, if one has something to do. @return TARN_OK or TARN_E_DEVICE
tarn_status tarn_places_turn(tarn_places *places);

#endif
