/// The messages of tarn.v1 other than frames: msgpack maps, bounded and validated before anything is believed.
/// SPEC.md is the authority; this header is the C interface.
///
/// Reading never allocates outside the caller's tarn_message and never follows a declared size that the buffer cannot
/// hold. Unknown fields are skipped; an unknown kind gives TARN_E_UNKNOWN_KIND. All numbers are checked to be finite
/// and inside their range, so that what comes out of tarn_message_read can be used as it is.
///
/// Coordinates are tank coordinates: metres, y up, origin at the tank's lowest corner.
#ifndef TARN_PROTOCOL_MESSAGE_H
#define TARN_PROTOCOL_MESSAGE_H

#include "protocol/status.h"
#include "protocol/tool_list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TARN_PROTOCOL_SUBPROTOCOL "tarn.v1"

enum {
    TARN_PROTOCOL_VERSION = 1,
    TARN_MESSAGE_BYTES_MAX = 16384,        ///< of one message from a client
    TARN_MESSAGE_SERVER_BYTES_MAX = 32768, ///< of one message from the server; a buffer of this size fits every message
    TARN_MESSAGE_DEPTH_MAX = 4,            ///< nesting of maps and arrays
    TARN_MESSAGE_OBJECTS_MAX = 4096,       ///< msgpack objects in one message, keys included
    TARN_NAME_BYTES_MAX = 63,              ///< names of viewers, sessions, scenes, parameters; UTF-8, without the NUL
    TARN_TEXT_BYTES_MAX = 511,             ///< sentences
    TARN_VERSIONS_MAX = 8,
    TARN_VIEWERS_MAX = 256,       ///< of one session
    TARN_PRESENCE_POINTS_MAX = 4, ///< of one viewer: a cursor, or a head and two hands
    TARN_PRESENCES_MAX = 192,     ///< points in one `presences`
    TARN_COLOUR_MAX = 0xffffff,   ///< sRGB, red in the highest of three bytes
    TARN_KEY_BYTES = 32,          ///< of a role's key: 128 bits in hexadecimal digits
    TARN_PASS_BYTES_MAX = 512,    ///< of what a viewer joins with: a role's key or a token
    TARN_SCENES_MAX = 64,
    TARN_PARAMETERS_MAX = 32,
    TARN_TOOLS_MAX = 16,                ///< of a session, those of newer servers included
    TARN_CHANNELS_MAX = 8,              ///< that particles can be coloured by
    TARN_FIELDS_MAX = 8,                ///< of cells
    TARN_LOCKS_MAX = 18,                ///< in a list of what is locked, those of newer ends included
    TARN_LIVE_PROBES_MAX = 16,          ///< of a session, its scene's included
    TARN_PROBE_VALUES_MAX = 14,         ///< that one probe measures
    TARN_READINGS_ROWS_MAX = 256,       ///< in one message
    TARN_READINGS_BYTES_MAX = 28672,    ///< the same, of values
    TARN_BROWSER_BYTES_MAX = 32,        ///< of what a page calls its browser
    TARN_ADDED_MAX = 72,                ///< solids that people put into a tank
    TARN_ADDED_VALUES = 14,             ///< numbers of one on the wire
    TARN_REMARKS_MAX = 8,               ///< on what acts otherwise than it was asked for
    TARN_REMARK_BYTES_MAX = 191,        ///< of one, without the NUL
    TARN_HAND_JOINTS = 25,              ///< of WebXR's hand model
    TARN_MOTION_SOURCES_MAX = 4,        ///< cameras of one viewer
    TARN_FRAMES_UNACKNOWLEDGED_MAX = 2, ///< in flight per viewer; the server sends no more until an ack comes
};

typedef enum tarn_message_kind {
    TARN_MESSAGE_NONE = 0,
    // client to server
    TARN_MESSAGE_HELLO = 1,
    TARN_MESSAGE_JOIN = 2,
    TARN_MESSAGE_INPUT = 3,
    TARN_MESSAGE_CONTROL = 4,
    TARN_MESSAGE_ACK = 5,
    TARN_MESSAGE_PING = 6,
    TARN_MESSAGE_VIEW = 7,
    TARN_MESSAGE_PRESENCE = 8,
    TARN_MESSAGE_PROFILE = 9,
    TARN_MESSAGE_PROBE = 10,
    TARN_MESSAGE_MODERATE = 20,
    TARN_MESSAGE_LOCK = 21,
    // server to client
    TARN_MESSAGE_WELCOME = 32,
    TARN_MESSAGE_JOINED = 33,
    TARN_MESSAGE_VIEWERS = 34,
    TARN_MESSAGE_PONG = 35,
    TARN_MESSAGE_ERROR = 36,
    TARN_MESSAGE_STATE = 37, ///< the session changed: scene, paused, parameters, worker lost or back
    TARN_MESSAGE_PRESENCES = 38,
    TARN_MESSAGE_PROBES = 39,
    TARN_MESSAGE_READINGS = 40,
} tarn_message_kind;

typedef char tarn_name[TARN_NAME_BYTES_MAX + 1]; ///< NUL-terminated UTF-8
typedef char tarn_text[TARN_TEXT_BYTES_MAX + 1];
typedef char tarn_key[TARN_KEY_BYTES + 1];       ///< empty: none
typedef char tarn_pass[TARN_PASS_BYTES_MAX + 1]; ///< a key or a token; empty: none

/// What a viewer may do; each may what the ones before it may.
typedef enum tarn_role {
    TARN_ROLE_WATCH = 0, ///< look
    TARN_ROLE_PLAY = 1,  ///< and push: inputs but parameters
    TARN_ROLE_OWN = 2,   ///< and pause, start afresh, load, set parameters, end the tank
    TARN_ROLE_COUNT
} tarn_role;

// ---- client to server ----

typedef struct tarn_hello {
    uint32_t version_count;
    uint32_t versions[TARN_VERSIONS_MAX]; ///< that the client speaks
    tarn_name client;                     ///< program and version, for logs
} tarn_hello;

typedef struct tarn_join {
    tarn_name session;                        ///< empty: the server's default session
    tarn_name viewer;                         ///< display name; empty: the server picks one
    uint32_t colour;                          ///< 0..TARN_COLOUR_MAX; 0: the server picks one
    tarn_pass key;                            ///< a role's, or a token; empty: a guest
    uint8_t preview;                          ///< only a glimpse: it isn't one of those who are there, and watches
    char browser[TARN_BROWSER_BYTES_MAX + 1]; ///< the same each time that it comes, and random; empty: not said
} tarn_join;

/// Colours are red << 16 | green << 8 | blue, sRGB. The reader sets this bit too, the writer wants it; 0: none was
/// given.
#define TARN_COLOUR_GIVEN 0x1000000u

typedef enum tarn_phase { TARN_PHASE_DOWN = 0, TARN_PHASE_MOVE = 1, TARN_PHASE_UP = 2, TARN_PHASE_COUNT } tarn_phase;
typedef enum tarn_side { TARN_SIDE_LEFT = 0, TARN_SIDE_RIGHT = 1, TARN_SIDE_COUNT } tarn_side;

/// Mouse, finger or pen: a ray into the tank.
typedef struct tarn_input_pointer {
    uint32_t pointer_id; ///< 0..15, distinguishes fingers
    tarn_phase phase;
    tarn_tool tool;
    float origin_m[3];  ///< each |x| <= 1000
    float direction[3]; ///< unit length; normalised by the reader, refused when shorter than 1e-3
    float radius_m;     ///< 0.001..10
    float strength;     ///< 0..1
    uint32_t colour;    ///< TARN_COLOUR_GIVEN
} tarn_input_pointer;

/// A tracked controller of a headset.
typedef struct tarn_input_controller {
    tarn_side side;
    uint8_t tracked; ///< 0: the pose is meaningless
    tarn_tool tool;
    float position_m[3];
    float orientation[4];            ///< unit quaternion x y z w
    float velocity_m_s[3];           ///< each |x| <= 100
    float angular_velocity_rad_s[3]; ///< each |x| <= 100
    float grip;                      ///< 0..1
    float trigger;                   ///< 0..1
    float thumbstick[2];             ///< -1..1
    uint32_t buttons;                ///< bit set
    float radius_m;
    float strength;
    uint32_t colour; ///< TARN_COLOUR_GIVEN
} tarn_input_controller;

/// A tracked hand: the palm as a pose, and optionally WebXR's 25 joints.
typedef struct tarn_input_hand {
    tarn_side side;
    uint8_t tracked;
    tarn_tool tool;
    float position_m[3]; ///< palm
    float orientation[4];
    float velocity_m_s[3];
    float pinch;          ///< 0..1
    float grip;           ///< 0..1
    uint32_t joint_count; ///< 0 or TARN_HAND_JOINTS
    float joints_m[TARN_HAND_JOINTS][3];
    float radius_m;
    float strength;
    uint32_t colour; ///< TARN_COLOUR_GIVEN
} tarn_input_hand;

typedef struct tarn_input_orientation {
    float orientation[4]; ///< of the tank in the room, unit quaternion
    float angular_velocity_rad_s[3];
} tarn_input_orientation;

typedef struct tarn_input_parameter {
    tarn_name name;
    float value; ///< finite; its range is checked against the session's parameter list by the server
} tarn_input_parameter;

/// How what a camera sees moves: a grid over a rectangle in the tank (motion_code.h).
typedef struct tarn_input_motion {
    uint32_t source;                         ///< 0..TARN_MOTION_SOURCES_MAX - 1
    uint32_t columns;                        ///< 1..TARN_MOTION_COLUMNS_MAX
    uint32_t rows;                           ///< 1..TARN_MOTION_ROWS_MAX
    float corner_m[3], across_m[3], up_m[3]; ///< each |x| <= 1000; the edges from the corner span an area
    float depth_m;                           ///< 0..1000; to either side of the rectangle; 0: all of the tank
    float speed_m_s;                         ///< 0.001..100; what 127 stands for
    float strength;                          ///< 0..1
    uint8_t solid;                           ///< who rests is in the way, too
    uint32_t cell_bytes;                     ///< 0..TARN_MOTION_CODE_BYTES_MAX; 0: the source is gone
    const uint8_t *cells; ///< coded; read: in the message's bytes, and they give all of the grid's planes
} tarn_input_motion;

typedef enum tarn_input_kind {
    TARN_INPUT_POINTER = 0,
    TARN_INPUT_CONTROLLER = 1,
    TARN_INPUT_HAND = 2,
    TARN_INPUT_ORIENTATION = 3,
    TARN_INPUT_PARAMETER = 4,
    TARN_INPUT_MOTION = 5,
    TARN_INPUT_COUNT
} tarn_input_kind;

typedef struct tarn_input {
    uint32_t sequence; ///< 1, 2, 3... per connection; never falls
    tarn_input_kind kind;
    union {
        tarn_input_pointer pointer;
        tarn_input_controller controller;
        tarn_input_hand hand;
        tarn_input_orientation orientation;
        tarn_input_parameter parameter;
        tarn_input_motion motion;
    };
} tarn_input;

/// How fast a tank's clock may go: seconds of its time in a second.
#define TARN_SPEED_MIN 0.05f
#define TARN_SPEED_MAX 4.0f

typedef enum tarn_control_action {
    TARN_CONTROL_PAUSE = 0,
    TARN_CONTROL_RESUME = 1,
    TARN_CONTROL_STEP = 2, ///< one step, while paused
    TARN_CONTROL_RESET = 3,
    TARN_CONTROL_LOAD = 4,  ///< another scene
    TARN_CONTROL_SPEED = 5, ///< of the tank's clock
    TARN_CONTROL_COUNT
} tarn_control_action;

typedef struct tarn_control {
    uint32_t sequence; ///< shares the numbering of inputs
    tarn_control_action action;
    tarn_name scene; ///< for TARN_CONTROL_LOAD
    float speed;     ///< for TARN_CONTROL_SPEED: TARN_SPEED_MIN..TARN_SPEED_MAX
} tarn_control;

/// The newest frame that the client has decoded.
typedef struct tarn_ack {
    uint32_t epoch;
    uint64_t step;
    uint32_t number; ///< the frame's; 0: not said, which leaves two frames of a paused tank's step alike
    uint8_t key;     ///< the client needs a key frame
} tarn_ack;

/// What of the stream a viewer can use. The newest counts; before the first there are no ceilings.
typedef struct tarn_view {
    uint8_t hidden;     ///< nobody looks: no frames at all
    float mbit_per_s;   ///< at most, in the long run; 0: no ceiling
    float frames_per_s; ///< the same
    uint32_t particles; ///< the same; what there is least of comes all the same
    tarn_name channel;  ///< that frames are to carry; empty: none
    tarn_name field;    ///< the same
    uint8_t probes;     ///< `readings` come, of what is measured
} tarn_view;

typedef enum tarn_part {
    TARN_PART_CURSOR = 0,
    TARN_PART_HEAD = 1,
    TARN_PART_HAND_LEFT = 2,
    TARN_PART_HAND_RIGHT = 3,
    TARN_PART_COUNT
} tarn_part;

/// Where something of a viewer is, for the others to see.
typedef struct tarn_presence_point {
    uint32_t viewer_id; ///< only in `presences`
    tarn_part part;
    float position_m[3];  ///< each |x| <= 1000
    float orientation[4]; ///< quaternion x y z w, each |x| <= 1; zeros: not known
    uint8_t pressed;      ///< the tool acts
    tarn_tool tool;
} tarn_presence_point;

/// All that the others may see of a viewer; replaces what was there.
typedef struct tarn_presence {
    uint32_t point_count;
    tarn_presence_point points[TARN_PRESENCE_POINTS_MAX];
} tarn_presence;

/// How a viewer is called and shown.
typedef struct tarn_profile {
    tarn_name name;  ///< empty: stays as it is
    uint32_t colour; ///< 0: stays as it is
} tarn_profile;

/// What an owner does about another viewer, for as long as that is connected unless something else is said.
typedef enum tarn_moderation {
    TARN_MODERATE_MUTE = 0, ///< its inputs do nothing; also when it comes again
    TARN_MODERATE_UNMUTE = 1,
    TARN_MODERATE_REMOVE = 2, ///< it is closed, and kept out for a while
    TARN_MODERATE_OWN = 3,    ///< it has this role from now on
    TARN_MODERATE_PLAY = 4,
    TARN_MODERATE_WATCH = 5,
    TARN_MODERATE_COUNT
} tarn_moderation;

typedef struct tarn_moderate {
    uint32_t viewer_id; ///< as `viewers` has it; one's own: an owner steps back
    tarn_moderation action;
} tarn_moderate;

/// What may be locked: tools (TARN_TOOL_BIT), and these.
enum {
    TARN_LOCK_TILT = 1 << 16,   ///< inputs of orientation
    TARN_LOCK_CAMERA = 1 << 17, ///< those of motion
    TARN_LOCK_PROBE = 1 << 18,  ///< probes
    TARN_LOCK_BITS = 19,
    TARN_LOCKS_ALL = (int)TARN_TOOLS_ALL | TARN_LOCK_TILT | TARN_LOCK_CAMERA | TARN_LOCK_PROBE,
};

/// What players may not do, and what they may, for now; replaces what was locked.
typedef struct tarn_lock {
    uint32_t locked;         ///< of these
    uint8_t open_parameters; ///< they may set parameters, which else only owners do
} tarn_lock;

/// What a probe measures.
typedef enum tarn_probe_shows {
    TARN_SHOWS_POINT,    ///< all that there is at a place
    TARN_SHOWS_PRESSURE, ///< of that the pressure alone, and so on
    TARN_SHOWS_VELOCITY,
    TARN_SHOWS_LIQUID, ///< share and density
    TARN_SHOWS_GAUGE,  ///< a rod: how much of it is in liquid
    TARN_SHOWS_FLUX,   ///< through the rectangle between two corners, which lies across an axis; forward along that
    TARN_SHOWS_FORCE,  ///< the liquid's on a solid of the scene
    TARN_SHOWS_WALL,   ///< the same on the rectangle between two corners, which lies in a wall of the tank
    TARN_SHOWS_COUNT
} tarn_probe_shows;

/// Their words, by tarn_probe_shows; behind them NULL.
extern const char *const tarn_probe_shows_names[TARN_SHOWS_COUNT + 1];

typedef enum tarn_probe_action {
    TARN_PROBE_ACT_PLACE = 0,
    TARN_PROBE_ACT_MOVE = 1,
    TARN_PROBE_ACT_REMOVE = 2,
    TARN_PROBE_ACT_COUNT
} tarn_probe_action;

/// What somebody wants of a probe.
typedef struct tarn_probe_wish {
    tarn_probe_action action;
    uint32_t id;            ///< of the probe that it is about; unused to place one
    tarn_probe_shows shows; ///< to place one
    float at_m[3], to_m[3]; ///< each |x| <= 1000: where to place it, or to move it; see tarn_probe_info
    uint32_t solid;         ///< to place a force; see tarn_probe_info
    tarn_name label;        ///< to place one; empty: none
} tarn_probe_wish;

typedef struct tarn_ping {
    uint32_t id;
    double client_time_ms; ///< echoed
} tarn_ping;

// ---- server to client ----

typedef struct tarn_welcome {
    uint32_t version;
    tarn_name server; ///< program and version
    tarn_name device; ///< what simulates, for people
    uint32_t scene_count;
    tarn_name scenes[TARN_SCENES_MAX];
} tarn_welcome;

typedef struct tarn_parameter_info {
    tarn_name name;
    float value, min, max;
    tarn_name label, unit; ///< for people; empty: none
    uint8_t whole;         ///< it has whole values only
    uint8_t magnitudes;    ///< of its values the magnitude counts: people choose among powers of ten
    tarn_name note;        ///< for people: what of the value acts, where that is less; empty: all
} tarn_parameter_info;

/// What particles can be coloured by, or what cells have.
typedef struct tarn_channel_info {
    tarn_name name;
    tarn_name label, unit; ///< for people; empty: none
    tarn_name kinds;       ///< the same, of a field of kinds: their names, with commas between them
} tarn_channel_info;

typedef enum tarn_added_shape {
    TARN_ADDED_BOX = 0,
    TARN_ADDED_SPHERE = 1,
    TARN_ADDED_CAPSULE = 2,
    TARN_ADDED_CYLINDER = 3,
    TARN_ADDED_LIKE = 4, ///< as one of the scene's solids
    TARN_ADDED_SHAPE_COUNT
} tarn_added_shape;

enum { TARN_ADDED_NUMBER_MIN = 64 }; ///< solids of a scene are numbered below

/// A solid that somebody put into the tank.
typedef struct tarn_added_info {
    uint32_t number; ///< of one that moves: as frames name it, TARN_ADDED_NUMBER_MIN..65535; 0: it stands still
    tarn_added_shape shape;
    uint32_t like;       ///< of TARN_ADDED_LIKE: 0..63, the scene's solid
    float half_m[3];     ///< 0..20480 each. Box: half extents; others: radius, half of the straight part, unused
    float position_m[3]; ///< |x| <= 20480; where it stands, or began
    float rotation[4];   ///< unit quaternion x y z w, |x| <= 1.01
    uint32_t colour;     ///< 0..TARN_COLOUR_MAX
} tarn_added_info;

/// State of the session. Sent as part of `joined`, and as `state` whenever it changes.
typedef struct tarn_session_state {
    tarn_name scene;
    uint8_t paused;
    uint8_t worker_ready; ///< 0 while the worker is being started again
    float size_m[3];      ///< of the tank
    float cell_m;
    float dt_s;
    float speed;           ///< TARN_SPEED_MIN..TARN_SPEED_MAX, that owners want of the tank's clock; 0: 1
    uint64_t replay_until; ///< the last step of what is played back; 0: nothing is
    uint32_t parameter_count;
    tarn_parameter_info parameters[TARN_PARAMETERS_MAX];
    tarn_name model; ///< what the tank holds; empty: not known, and neither are tools and channels
    uint32_t tools;  ///< that apply to it: TARN_TOOL_BIT
    uint32_t channel_count;
    tarn_channel_info channels[TARN_CHANNELS_MAX];
    uint32_t field_count;
    tarn_channel_info fields[TARN_FIELDS_MAX];
    uint32_t added_count;
    tarn_added_info added[TARN_ADDED_MAX];
    uint32_t remark_count;
    char remarks[TARN_REMARKS_MAX][TARN_REMARK_BYTES_MAX + 1]; ///< sentences on what acts otherwise than asked for
    tarn_lock lock;                                            ///< the gateway's; workers know nothing of it
} tarn_session_state;

typedef struct tarn_joined {
    tarn_name session;
    tarn_name title;    ///< of the session, for people; empty: it has none
    uint32_t viewer_id; ///< of this connection; frames name it in their input table
    tarn_name viewer;
    tarn_role role;
    tarn_key watch_key, play_key, own_key; ///< that this viewer may pass on; empty: none
    tarn_key visit_key;                    ///< by which this connection's page asks for the tank's past; empty: none
    uint8_t past;                          ///< the server keeps the tank's past, and this viewer may go back to it
    tarn_session_state state;
} tarn_joined;

typedef struct tarn_viewer_info {
    uint32_t viewer_id;
    tarn_name name;
    uint32_t colour;
    tarn_role role;
    uint8_t muted; ///< its inputs do nothing
    uint8_t given; ///< an owner gave it the role that it has
} tarn_viewer_info;

typedef struct tarn_viewers {
    uint32_t viewer_count;
    const tarn_viewer_info *viewers; ///< writing: the caller's array; NULL after tarn_message_read
} tarn_viewers;

typedef struct tarn_presences {
    uint32_t point_count;
    const tarn_presence_point *points; ///< writing: the caller's array; NULL after tarn_message_read
} tarn_presences;

typedef struct tarn_probe_info {
    uint32_t id;        ///< in its session, from 1; none comes twice
    uint32_t viewer_id; ///< whose it is; 0: nobody's, of those who are there
    uint8_t scene;      ///< the scene has it: only owners move and remove it
    tarn_probe_shows shows;
    float at_m[3];   ///< the place, a rod's beginning or a corner
    float to_m[3];   ///< a rod's end, or the other corner; of the rest the same place
    uint32_t solid;  ///< of a force: index among the scene's solids
    tarn_name label; ///< empty: none
    uint32_t column_count;
    tarn_name columns[TARN_PROBE_VALUES_MAX]; ///< what it measures, in order: names that end with their units
} tarn_probe_info;

/// All that measure in a session's tank.
typedef struct tarn_probe_list {
    uint32_t list; ///< number of this one, by which readings name it
    uint32_t probe_count;
    tarn_probe_info probes[TARN_LIVE_PROBES_MAX];
} tarn_probe_list;

/// What they measured behind some steps, one after the other: a row for each.
typedef struct tarn_readings {
    uint32_t list;
    uint32_t epoch;
    uint64_t step; ///< behind which the first row was measured
    float dt_s;    ///< of a step
    uint32_t row_count;
    uint32_t byte_count;   ///< 0..TARN_READINGS_BYTES_MAX, a multiple of 4 row_count
    const uint8_t *values; ///< finite float32, little-endian, row by row, as the list has columns; read: in the
                           ///< message's bytes
} tarn_readings;

enum { TARN_PONG_STAGES = 5 };

typedef struct tarn_pong {
    uint32_t id;
    double client_time_ms;
    uint64_t server_time_us;
    float stages_ms[TARN_PONG_STAGES]; ///< of late: wait, step, encode, pass, write; zeros where nothing is known
    uint64_t unconverged; ///< the tank's substeps since it started whose pressure ended short of its tolerance
} tarn_pong;

/// Error codes on the wire: X(name, code, whether the connection ends with it). The close code of the WebSocket is
/// TARN_CLOSE_BASE + code.
#define TARN_ERRORS(X)                                                                                                 \
    X(MALFORMED, 1, true)                                                                                              \
    X(VERSION, 2, true)                                                                                                \
    X(LIMIT, 3, true)     /* too large, too many, too fast */                                                          \
    X(ORDER, 4, true)     /* hello and join come first */                                                              \
    X(SESSION, 5, true)   /* no such session */                                                                        \
    X(FULL, 6, true)      /* the session or server is full */                                                          \
    X(INPUT, 7, false)    /* this input was refused */                                                                 \
    X(SCENE, 8, false)    /* no such scene, or it is wrong */                                                          \
    X(WORKER, 9, false)   /* the simulation failed and is being started again */                                       \
    X(SHUTDOWN, 10, true) /* the server is ending */                                                                   \
    X(ROLE, 11, false)    /* the viewer's role may not do this */                                                      \
    X(KEY, 12, true)      /* the key opens nothing here */                                                             \
    X(REMOVED, 13, true)  /* an owner removed the viewer */                                                            \
    X(AWAY, 14, true)     /* nobody looked, and somebody else got its place */

#define TARN_ERROR_ENTRY(name, code, closes) TARN_ERROR_##name = code,
typedef enum tarn_error_code { TARN_ERRORS(TARN_ERROR_ENTRY) } tarn_error_code;
#undef TARN_ERROR_ENTRY
enum { TARN_CLOSE_BASE = 4000 };

typedef struct tarn_error {
    uint32_t code; ///< tarn_error_code; unknown codes are shown by their text
    tarn_text text;
} tarn_error;

typedef struct tarn_message {
    tarn_message_kind kind;
    union {
        tarn_hello hello;
        tarn_join join;
        tarn_input input;
        tarn_control control;
        tarn_ack ack;
        tarn_ping ping;
        tarn_view view;
        tarn_presence presence;
        tarn_profile profile;
        tarn_moderate moderate;
        tarn_lock lock;
        tarn_probe_wish probe;
        tarn_welcome welcome;
        tarn_joined joined;
        tarn_session_state state;
        tarn_viewers viewers;
        tarn_presences presences;
        tarn_probe_list probes;
        tarn_readings readings;
        tarn_pong pong;
        tarn_error error;
    };
} tarn_message;

#ifdef __cplusplus
extern "C" {
#endif

/// The word that stands for a kind on the wire ("hello"); NULL for TARN_MESSAGE_NONE and unknown values.
const char *tarn_message_kind_name(tarn_message_kind kind);

/// The word of a tool on the wire.
const char *tarn_tool_name(tarn_tool tool);

/// Whether a probe has a second place: a rod's end, or a rectangle's other corner.
bool tarn_probe_shows_has_to(tarn_probe_shows shows);

/// Whether a kind goes from the client to the server. A receiver treats a kind of the wrong direction as malformed.
bool tarn_message_from_client(tarn_message_kind kind);

/// Reads one message of either direction.
/// A direction and an orientation of an input come out with unit length. Optional fields that are absent come out as
/// zero. Of `viewers` and `presences` only the count comes out: see tarn_message_read_viewers,
/// tarn_message_read_presences.
/// @param message  written only on TARN_OK
/// @param why      where not NULL, receives a sentence that names the field, what was found and what is allowed,
///                 whenever the result is not TARN_OK; printable ASCII
/// @return TARN_OK;
///         TARN_E_UNKNOWN_KIND: well formed, but of a kind, input kind or word (tool, action...) that a newer end may
///         know: ignore it;
///         TARN_E_TRUNCATED: ends too early; TARN_E_LIMIT: too large, too deep, too long, or a number outside its
///         range; TARN_E_MALFORMED: anything else
tarn_status tarn_message_read(const uint8_t *bytes, size_t byte_count, tarn_message *message, tarn_text *why);

/// The list in a `viewers` message.
/// @param viewers_max   what the array holds; TARN_VIEWERS_MAX is always enough
/// @param viewer_count  receives how many were written
/// @return as tarn_message_read; TARN_E_SPACE where the array is too small, TARN_E_ARGUMENT for another kind
tarn_status tarn_message_read_viewers(const uint8_t *bytes, size_t byte_count, tarn_viewer_info *viewers,
                                      uint32_t viewers_max, uint32_t *viewer_count, tarn_text *why);

/// The same for the list in a `presences` message, of which TARN_PRESENCES_MAX is always enough.
tarn_status tarn_message_read_presences(const uint8_t *bytes, size_t byte_count, tarn_presence_point *points,
                                        uint32_t points_max, uint32_t *point_count, tarn_text *why);

/// Writes any message, client's or server's. Allocates nothing. What was written is one that tarn_message_read takes;
/// the same message always gives the same bytes.
/// @param bytes_max  TARN_MESSAGE_SERVER_BYTES_MAX is always enough
/// @return TARN_OK, TARN_E_SPACE, or TARN_E_ARGUMENT (a value outside its range); `bytes` may be overwritten on failure
tarn_status tarn_message_write(const tarn_message *message, uint8_t *bytes, size_t bytes_max, size_t *byte_count);

#ifdef __cplusplus
}
#endif
#endif
