/// One tank on the worker: its scene, simulation, inputs, clock and frames, and what the gateway may ask of it.
///
///     messages --> inputs, parameters, pause ... latched at the next step
///     due? --> latch --> step --> (frame due?) encode --> frame slot of the link --> look at what inputs will meet
///
/// On a GPU a frame is coded while the tank is looked at and steps on; frame.h.
///
/// What is made, started afresh, stepped or encoded is so by a job (jobs.h), in which messages arrive while it yields:
/// they find the tank as the last job left it (map, bodies, added, what is up), and what they ask for waits (inputs,
/// next, pause_asked) until a job latches it or has ended. Everything else belongs to the job while there is one.
///
/// What is done to the tank goes into its black box before it is done: the next worker goes on from there
/// (resume.h). A step that fails sets the tank back to its last snapshot, or, where that doesn't help, starts it
/// afresh; the viewers are told, and the epoch changes.
///
/// A tank that nobody watches rests: it makes no steps until somebody does.
#ifndef TARN_SERVER_WORKER_TANK_H
#define TARN_SERVER_WORKER_TANK_H

#include "kernels/encoder.h"
#include "kernels/step_input.h"
#include "server/base/ipc.h"
#include "server/scene/scene.h"
#include "server/worker/input/bodies.h"
#include "server/worker/input/motion.h"
#include "server/worker/input/state.h"
#include "server/worker/jobs.h"
#include "server/worker/link.h"
#include "server/worker/options.h"
#include "server/worker/probes.h"
#include "server/worker/snapshot.h"
#include "server/worker/telling.h"
#include "server/worker/turns.h"

#include <stdbool.h>

/// What is played back (resume.h); zero: nothing is.
typedef struct tarn_worker_replay {
    tarn_replay_feed feed;
    tarn_ipc_replay piece; ///< that came while a job was in progress
    int fd;                ///< owned, its memory; 0: none
    bool has_piece;
    bool is_asked; ///< for a piece that hasn't come
    uint64_t asked_ns;
    bool is_other; ///< the water isn't what it was then, which was said
} tarn_worker_replay;

/// A frame from its beginning until the gateway gets it.
typedef struct tarn_worker_frame {
    tarn_ipc_stamps stamps; ///< of its step
    uint64_t step, now_ns;  ///< when it was planned
    uint64_t takes_ns;      ///< of the job's time so far
} tarn_worker_frame;

typedef struct tarn_worker_tank {
    uint32_t id;   ///< the gateway's; 0: this place is free
    uint32_t slot; ///< of the link
    uint32_t epoch;
    tarn_scene scene;
    tarn_tank *tank;
    tarn_tile_map map;
    tarn_encoder *encoder;
    tarn_frame_plan plan;
    tarn_body_map bodies;
    tarn_added_solid added[TARN_TANK_ADDED_MAX];
    uint32_t added_count;
    tarn_input_state inputs;
    tarn_input_motion_state motion;
    tarn_step_input next;    ///< what the next step has been told besides
    tarn_step_input latched; ///< all that the present one was told
    int box_fd;              ///< owned, of the snapshot's memory; 0: none yet
    int next_box_fd;         ///< owned: of the load that is asked for, where it goes on from that; 0: none
    tarn_snapshot snapshot;
    tarn_text notice; ///< for all viewers, until the gateway has it
    struct {
        uint32_t viewer_id, count;         ///< 0: all; nothing
        tarn_text why;                     ///< of the last
    } untold;                              ///< refusals of tools that found no room
    tarn_remark remarks[TARN_REMARKS_MAX]; ///< as they were last told; those behind the last are empty
    tarn_step_pause pause_asked;
    bool paused;          ///< as the tank says
    uint32_t steps_asked; ///< single steps, while paused
    uint32_t viewer_count;
    tarn_name channel; ///< that frames are to carry, where the tank has it; empty: none
    tarn_name field;   ///< the same
    uint64_t step;     ///< since the tank started afresh
    tarn_pace pace;
    float speed; ///< that its clock is to have; 0: 1
    tarn_frame_rates rates;
    bool is_crowded;    ///< another tank of the worker is late
    bool frame_wanted;  ///< although no step is made: the tank was reset, paused, or got its first viewer
    bool state_changed; ///< and the gateway doesn't know it yet
    bool too_large_told;
    bool added_changed;    ///< what was put into the tank, since the last state
    uint64_t added_due_ns; ///< when viewers may be told of that again
    uint64_t report_due_ns;
    uint64_t step_ns, encode_ns; ///< spent since the last report
    uint64_t cost_ns;            ///< of the device's time, since then
    float cost_s;                ///< of a step, in the last report that had one
    tarn_ipc_stamps stamps;      ///< of the newest step
    tarn_worker_frame frame;     ///< that is being made
    uint32_t step_count, encode_count;
    tarn_worker_replay replay;
    tarn_worker_probes probes;
    tarn_worker_telling telling;
    tarn_handover handover; ///< while there is one, the tank stands
} tarn_worker_tank;

/// Makes the tank from a scene, or makes it anew; a tank that is there stays as it is on failure. Where load->resumes,
/// it goes on from what is in its black box, or in next_box_fd, which becomes its box. Job.
/// @param scenes_dir  where names of scenes are looked up; load->scene with a '/' or ".json" is a path
/// @param why  on failure a sentence
tarn_status tarn_worker_tank_load(tarn_worker_tank *tank, tarn_device *device, const char *scenes_dir,
                                  const tarn_worker_options *options, const tarn_ipc_load *load, tarn_jobs *jobs,
                                  tarn_text why);

void tarn_worker_tank_free(tarn_worker_tank *tank);

/// Starts afresh from the same scene. Job. @return TARN_OK or TARN_E_DEVICE
tarn_status tarn_worker_tank_reset(tarn_worker_tank *tank, const tarn_ipc_reset *reset);

/// Goes on from a state and presses that were loaded, as if it had been here all the time. Job.
/// @param number  of the frame before the next one  @return TARN_OK or TARN_E_DEVICE
tarn_status tarn_worker_tank_go_on(tarn_worker_tank *tank, uint32_t epoch, uint64_t step, uint32_t number);

/// @return TARN_OK; TARN_E_STATE or TARN_E_LIMIT with a sentence for the viewer in why: a single step that isn't made
tarn_status tarn_worker_tank_control(tarn_worker_tank *tank, const tarn_ipc_control *control, uint64_t now_ns,
                                     tarn_text why);

/// Lets the tank's clock go at another speed. @param speed  TARN_SPEED_MIN..TARN_SPEED_MAX
void tarn_worker_tank_set_speed(tarn_worker_tank *tank, float speed, uint64_t now_ns);

void tarn_worker_tank_audience(tarn_worker_tank *tank, const tarn_ipc_audience *audience, uint64_t now_ns);

/// Takes one input of a viewer. @param why  on failure a sentence for the viewer
tarn_status tarn_worker_tank_input(tarn_worker_tank *tank, uint32_t viewer_id, const tarn_input *input, tarn_text why);

/// Whether the viewer is to hear that the tool it presses acts with another radius than it asks for: once, until it
/// asks for one that does. @param why  receives the sentence
bool tarn_worker_tank_size_remark(tarn_worker_tank *tank, uint32_t viewer_id, const tarn_input *input, tarn_text why);

/// Lets what was asked for come to pass that needs no step: between jobs.
void tarn_worker_tank_settle(tarn_worker_tank *tank, uint64_t now_ns);

/// When the tank next has something to do; UINT64_MAX: not before a message arrives.
uint64_t tarn_worker_tank_due_ns(const tarn_worker_tank *tank);

/// From when on it is late with a step by more than a step; UINT64_MAX: it makes none.
uint64_t tarn_worker_tank_late_ns(const tarn_worker_tank *tank);

/// Makes one step if it is due, and a frame if one is. A step that fails for another reason than the device's end sets
/// the tank back. Job. @return TARN_OK or TARN_E_DEVICE
tarn_status tarn_worker_tank_run(tarn_worker_tank *tank, tarn_worker_link *link, const tarn_jobs *jobs);

/// When there is something to settle or tell, if nothing changes before; UINT64_MAX: nothing.
uint64_t tarn_worker_tank_tell_ns(const tarn_worker_tank *tank);

/// Between jobs: puts the state, a notice and the report into the link where they are due. What finds no room is tried
/// again.
void tarn_worker_tank_tell(tarn_worker_tank *tank, tarn_worker_link *link, uint64_t now_ns);

/// Puts what viewers hold into the black box, behind a start, whichever way the tank was made: what came before it
/// isn't done again, nor is what they hold from then on lost. There must be room.
void tarn_worker_tank_log_presses(tarn_worker_tank *tank);

#endif
