/// What the viewers of one tank are doing to it: pressed pointers, controllers and hands, folded as their messages
/// arrive and turned into what tools do (tools.h) once per step.
///
/// A press of a pointer takes hold of a point in the tank (bodies.h) and of the plane through it that faces the
/// viewer. Moves slide the point along that plane. In each step the tool acts in a sphere at the point, with the
/// hand's own speed however slow the tank is, smoothed over a few steps and never above TARN_TANK_PUSH_SPEED_MAX_M_S. A
/// controller pushes while its trigger or grip is pressed, a hand while it is open; other tools act while the trigger
/// is pressed or the hand pinches. Both have the velocity that their client measured.
///
/// A press of push on a floating body takes hold of the body instead: the drag moves it, by a tarn_grab in each step,
/// and pushes nothing. A pointer does so where its ray meets a body, a controller where its sphere touches one when it
/// is pressed, a hand where its sphere touches one when it closes (a pinch or a fist). With other tools a controller's
/// grip does, and a fist. Release lets it go with the speed it has.
///
/// A press of throw lets a body come into the tank, and holds it: the release throws it.
///
/// Moves coalesce: only the newest before a step counts. A press and a release between two steps still act in the
/// next one. Pure state: no clock, no I/O, no allocation.
#ifndef TARN_SERVER_WORKER_INPUT_STATE_H
#define TARN_SERVER_WORKER_INPUT_STATE_H

#include "kernels/tank.h"
#include "protocol/message.h"
#include "server/worker/input/bodies.h"
#include "server/worker/input/tools.h"
#include "server/worker/limits.h"

#include <stdbool.h>

typedef struct tarn_input_source {
    uint32_t viewer_id; ///< 0: free
    tarn_input_kind kind;
    uint32_t index; ///< pointer id, or side
    uint32_t press; ///< its number
    tarn_tool tool;
    bool released; ///< ends with the next step
    bool closed;   ///< of a hand: it pinches or is a fist
    bool holds;    ///< a body, and at which point of its frame:
    uint32_t body;
    float point_m[3];
    uint32_t silent_steps;
    float hold_m[3], normal[3]; ///< the plane of a pointer
    float lift[3];              ///< from the plane to the sphere
    float axis[3];              ///< of a vortex, unit length
    float target_m[3];          ///< where the newest message puts the sphere
    float center_m[3];          ///< where the last step left it
    float velocity_m_s[3];
    float radius_m, strength;
    uint32_t colour;
    uint32_t throws; ///< which of this step's throws is its, from 1; 0: none, or it is settled
    bool stands;     ///< a wall of this pointer stands on the floor below it
    tarn_tool_trail trail;
    tarn_input_pointer pointer; ///< a pointer's newest message; radius 0 where the press came with a moved tank
} tarn_input_source;

enum { TARN_INPUT_SIZES_SHIFT = 16 };
_Static_assert((int)TARN_TOOL_COUNT <= (int)TARN_INPUT_SIZES_SHIFT, "two bits per tool in a word");

typedef struct tarn_input_viewer {
    uint32_t viewer_id;         ///< 0: free
    uint32_t received, latched; ///< sequence numbers
    uint64_t latched_order;     ///< of the step that latched the newest
    uint32_t tools_told;        ///< bit per tool: this viewer knows that no more of it fit; TARN_INPUT_SIZES_SHIFT
                                ///< higher: that it acts with another radius than it asks for
    uint32_t open_hands;        ///< bit per side: the newest message told a tracked hand that isn't closed
} tarn_input_viewer;

typedef struct tarn_input_state {
    tarn_input_source sources[TARN_INPUT_SOURCES_MAX];
    tarn_input_viewer viewers[TARN_INPUT_VIEWERS_MAX];
    uint64_t order;
    uint32_t presses; ///< so far
    float up[3];      ///< unit length, in the tank: against gravity
    uint32_t tools;   ///< that the tank has: TARN_TOOL_BIT
} tarn_input_state;

/// Lets go of everything; for a new tank, which has all tools until it is said otherwise.
void tarn_input_state_init(tarn_input_state *state);

/// Forgets the presses but not which inputs were seen; for a tank that starts afresh.
void tarn_input_state_release(tarn_input_state *state);

/// Takes how the tank is turned in the room: `rotation` is a unit quaternion x y z w. Before inputs and steps.
/// @param down  unit length, in the room: where gravity pulls
void tarn_input_state_turn(tarn_input_state *state, const float rotation[4], const float down[3]);

/// Takes a pointer, controller or hand.
/// @param bodies  what can be taken hold of
/// @param why  on failure a sentence for the viewer
/// @return TARN_OK, TARN_E_LIMIT (as many act as fit, or the tank doesn't have the tool; controllers and hands are told
///         once per tool) or TARN_E_ARGUMENT (another kind of input)
tarn_status tarn_input_state_put(tarn_input_state *state, uint32_t viewer_id, const tarn_input *input,
                                 const tarn_tile_map *map, const tarn_body_map *bodies, tarn_text why);

/// Notes that an input of this viewer will be part of the next step. Inputs that other modules act on are noted too.
void tarn_input_state_note(tarn_input_state *state, uint32_t viewer_id, uint32_t sequence);

/// Notes whether a viewer's tool acts with another radius than it asks for. @return whether the viewer is to hear of it
bool tarn_input_state_is_news(tarn_input_state *state, uint32_t viewer_id, tarn_tool tool, bool is_so);

/// Whether an input was noted: it is sent again where nobody knows that.
bool tarn_input_state_has(const tarn_input_state *state, uint32_t viewer_id, uint32_t sequence);

/// What a viewer holds since an input, or one before, is released; that it was seen is known still. Where it has done
/// something since, that was before. @return whether it is
bool tarn_input_state_let_go(tarn_input_state *state, uint32_t viewer_id, uint32_t sequence);

/// Removes a viewer; what it holds is released.
void tarn_input_state_viewer_gone(tarn_input_state *state, uint32_t viewer_id);

/// The next step throws these, as they were latched: each is to be held by who threw it in.
void tarn_input_state_throws(tarn_input_state *state, const tarn_tool_throw *throws, uint32_t count);

/// Whether the bodies of a step's throws haven't come yet.
bool tarn_input_state_awaits_bodies(const tarn_input_state *state);

/// Bodies have come into the tank, in the order of the throws: whoever held one whose number they have lets go, and who
/// threw one in holds it as long as that press lasts. @return whether anybody does
bool tarn_input_state_thrown(tarn_input_state *state, const uint32_t *bodies, uint32_t count);

/// The hands on bodies in the next step; before tarn_input_state_latch, which lets go of what was released. Where more
/// hold something than may act in a step, the rest wait. @return how many
uint32_t tarn_input_state_grabs(const tarn_input_state *state, tarn_grab grabs[TARN_TANK_GRABS_MAX]);

/// Presses again what is pressed, where it is now: for a tank that was set back after somebody pressed in it.
void tarn_input_state_press_again(tarn_input_state *state, const tarn_tile_map *map, const tarn_body_map *bodies);

/// Whether something pressed, or a hand or controller that acts, was heard of since the last step.
bool tarn_input_state_is_heard(const tarn_input_state *state);

/// What tools do in the next step, which contains everything noted so far.
/// @param size_m  of the tank
/// @param hand_s  that hands had since the last step: a step's time, or more where the tank is slower than they are
void tarn_input_state_latch(tarn_input_state *state, const float size_m[3], float hand_s, tarn_step_tools *step);

/// Marks what was noted as contained without a step: for controls that act at once.
void tarn_input_state_latch_notes(tarn_input_state *state);

/// Marks what a viewer sent up to a sequence number as contained: the rest belongs to what comes.
void tarn_input_state_latch_note(tarn_input_state *state, uint32_t viewer_id, uint32_t sequence);

/// The newest contained input of each viewer, the most recent first. @return how many, <= TARN_FRAME_INPUTS_MAX
uint32_t tarn_input_state_contained(const tarn_input_state *state, tarn_frame_input inputs[TARN_FRAME_INPUTS_MAX]);

#endif
