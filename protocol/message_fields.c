// One table of fields per message; message_read.c and message_write.c walk them to read and to write. Start at
// tarn_message_shapes.
#include "protocol/message_fields.h"
#include "protocol/motion_code.h"

#define U32_MAX 4294967295.0
#define INTEGER_MAX 9007199254740991.0 // 2^53 - 1: exact in a float64
#define COLOUR_MAX 16777215.0
#define COORDINATE TARN_MESSAGE_COORDINATE_M_MAX
#define SPEED TARN_MESSAGE_SPEED_MAX
#define TANK_M_MAX 20480.0 // a tank's edge

#define REQUIRED TARN_FIELD_REQUIRED
#define OPTIONAL TARN_FIELD_OPTIONAL
#define SPARSE TARN_FIELD_SPARSE

// A field of tarn_message: key, type, optional, count, member, min, max.
#define FIELD(key, type, optional, count, member, min, max)                                                            \
    {                                                                                                                  \
        key, TARN_FIELD_##type, optional, count, offsetof(tarn_message, member), min, max, NULL                        \
    }
#define WORD(key, optional, member, words)                                                                             \
    {                                                                                                                  \
        key, TARN_FIELD_WORD, optional, 1, offsetof(tarn_message, member), 0, 0, words                                 \
    }
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SHAPE(word, value, fields)                                                                                     \
    {                                                                                                                  \
        word, value, COUNT(fields), fields                                                                             \
    }

#define TOOL_WORD(name, word) word,
static const char *const tool_words[] = {TARN_TOOLS(TOOL_WORD) NULL};
static const char *const phase_words[] = {"down", "move", "up", NULL};
static const char *const side_words[] = {"left", "right", NULL};
static const char *const action_words[] = {"pause", "resume", "step", "reset", "load", "speed", NULL};

static const char *const moderation_words[] = {"mute", "unmute", "remove", "own", "play", "watch", NULL};
static const char *const role_words[] = {"watch", "play", "own", NULL};
static const char *const probe_action_words[] = {"place", "move", "remove", NULL};
const char *const tarn_probe_shows_names[TARN_SHOWS_COUNT + 1] = {"point", "pressure", "velocity", "liquid", "gauge",
                                                                  "flux",  "force",    "wall",     NULL};
static const char *const part_words[] = {"cursor", "head", "hand_left", "hand_right", NULL};

_Static_assert((int)TARN_TOOL_COUNT <= (int)TARN_TOOLS_MAX, "a session may have all tools");
_Static_assert(COUNT(phase_words) == TARN_PHASE_COUNT + 1, "a word per phase");
_Static_assert(COUNT(side_words) == TARN_SIDE_COUNT + 1, "a word per side");
_Static_assert(COUNT(action_words) == TARN_CONTROL_COUNT + 1, "a word per action");
_Static_assert(COUNT(moderation_words) == TARN_MODERATE_COUNT + 1, "a word per action of an owner");
_Static_assert(COUNT(probe_action_words) == TARN_PROBE_ACT_COUNT + 1, "a word per action with a probe");
_Static_assert(COUNT(role_words) == TARN_ROLE_COUNT + 1, "a word per role");
_Static_assert(COUNT(part_words) == TARN_PART_COUNT + 1, "a word per part");

// ---- client to server ----

static const tarn_field hello_fields[] = {
    FIELD("versions", VERSIONS, REQUIRED, TARN_VERSIONS_MAX, hello, 1, U32_MAX),
    FIELD("client", STRING, OPTIONAL, 1, hello.client, 0, TARN_NAME_BYTES_MAX),
};

static const tarn_field join_fields[] = {
    FIELD("session", STRING, OPTIONAL, 1, join.session, 0, TARN_NAME_BYTES_MAX),
    FIELD("viewer", STRING, OPTIONAL, 1, join.viewer, 0, TARN_NAME_BYTES_MAX),
    FIELD("colour", U32, OPTIONAL, 1, join.colour, 0, TARN_COLOUR_MAX),
    FIELD("key", STRING, OPTIONAL, 1, join.key, 0, TARN_PASS_BYTES_MAX),
    FIELD("preview", BOOL, OPTIONAL, 1, join.preview, 0, 1),
    FIELD("browser", STRING, SPARSE, 1, join.browser, 0, TARN_BROWSER_BYTES_MAX),
};

static const tarn_field input_fields[] = {
    FIELD("seq", U32, REQUIRED, 1, input.sequence, 1, U32_MAX),
};

static const tarn_field control_fields[] = {
    FIELD("seq", U32, REQUIRED, 1, control.sequence, 1, U32_MAX),
    WORD("action", REQUIRED, control.action, action_words),
    FIELD("scene", STRING, OPTIONAL, 1, control.scene, 0, TARN_NAME_BYTES_MAX),
    FIELD("speed", F32, SPARSE, 1, control.speed, 0, 4),
};

static const tarn_field ack_fields[] = {
    FIELD("epoch", U32, REQUIRED, 1, ack.epoch, 0, U32_MAX),
    FIELD("step", U64, REQUIRED, 1, ack.step, 0, INTEGER_MAX),
    FIELD("number", U32, OPTIONAL, 1, ack.number, 0, U32_MAX),
    FIELD("key", BOOL, SPARSE, 1, ack.key, 0, 1),
};

static const tarn_field ping_fields[] = {
    FIELD("id", U32, REQUIRED, 1, ping.id, 0, U32_MAX),
    FIELD("client_time_ms", F64, REQUIRED, 1, ping.client_time_ms, -INTEGER_MAX, INTEGER_MAX),
};

static const tarn_field view_fields[] = {
    FIELD("hidden", BOOL, OPTIONAL, 1, view.hidden, 0, 1),
    FIELD("mbit_per_s", F32, OPTIONAL, 1, view.mbit_per_s, 0, 100000),
    FIELD("frames_per_s", F32, OPTIONAL, 1, view.frames_per_s, 0, 1000),
    FIELD("particles", U32, OPTIONAL, 1, view.particles, 0, U32_MAX),
    FIELD("channel", STRING, SPARSE, 1, view.channel, 0, TARN_NAME_BYTES_MAX),
    FIELD("field", STRING, SPARSE, 1, view.field, 0, TARN_NAME_BYTES_MAX),
    FIELD("probes", BOOL, SPARSE, 1, view.probes, 0, 1),
};

static const tarn_field presence_fields[] = {
    FIELD("points", POINTS, REQUIRED, TARN_PRESENCE_POINTS_MAX, presence, 0, 0),
};

static const tarn_field profile_fields[] = {
    FIELD("name", STRING, OPTIONAL, 1, profile.name, 0, TARN_NAME_BYTES_MAX),
    FIELD("colour", U32, OPTIONAL, 1, profile.colour, 0, TARN_COLOUR_MAX),
};

static const tarn_field moderate_fields[] = {
    FIELD("viewer_id", U32, REQUIRED, 1, moderate.viewer_id, 1, U32_MAX),
    WORD("action", REQUIRED, moderate.action, moderation_words),
};

static const tarn_field lock_fields[] = {
    FIELD("locked", LOCKED, REQUIRED, TARN_LOCKS_MAX, lock.locked, 1, TARN_NAME_BYTES_MAX),
    FIELD("open_parameters", BOOL, OPTIONAL, 1, lock.open_parameters, 0, 1),
};

static const tarn_field probe_fields[] = {
    WORD("action", REQUIRED, probe.action, probe_action_words),
    FIELD("id", U32, OPTIONAL, 1, probe.id, 0, U32_MAX),
    WORD("kind", OPTIONAL, probe.shows, tarn_probe_shows_names),
    FIELD("at_m", VECTOR, OPTIONAL, 3, probe.at_m, -COORDINATE, COORDINATE),
    FIELD("to_m", VECTOR, OPTIONAL, 3, probe.to_m, -COORDINATE, COORDINATE),
    FIELD("solid", U32, SPARSE, 1, probe.solid, 0, TARN_ADDED_NUMBER_MIN - 1),
    FIELD("label", STRING, SPARSE, 1, probe.label, 0, TARN_NAME_BYTES_MAX),
};

static const tarn_field pointer_fields[] = {
    FIELD("id", U32, REQUIRED, 1, input.pointer.pointer_id, 0, 15),
    WORD("phase", REQUIRED, input.pointer.phase, phase_words),
    WORD("tool", REQUIRED, input.pointer.tool, tool_words),
    FIELD("origin_m", VECTOR, REQUIRED, 3, input.pointer.origin_m, -COORDINATE, COORDINATE),
    FIELD("direction", DIRECTION, REQUIRED, 3, input.pointer.direction, -COORDINATE, COORDINATE),
    FIELD("radius_m", F32, REQUIRED, 1, input.pointer.radius_m, 0.001, 10),
    FIELD("strength", F32, REQUIRED, 1, input.pointer.strength, 0, 1),
    FIELD("colour", COLOUR, SPARSE, 1, input.pointer.colour, 0, COLOUR_MAX),
};

static const tarn_field controller_fields[] = {
    WORD("side", REQUIRED, input.controller.side, side_words),
    FIELD("tracked", BOOL, REQUIRED, 1, input.controller.tracked, 0, 1),
    WORD("tool", REQUIRED, input.controller.tool, tool_words),
    FIELD("position_m", VECTOR, REQUIRED, 3, input.controller.position_m, -COORDINATE, COORDINATE),
    FIELD("orientation", QUATERNION, REQUIRED, 4, input.controller.orientation, -COORDINATE, COORDINATE),
    FIELD("velocity_m_s", VECTOR, OPTIONAL, 3, input.controller.velocity_m_s, -SPEED, SPEED),
    FIELD("angular_velocity_rad_s", VECTOR, OPTIONAL, 3, input.controller.angular_velocity_rad_s, -SPEED, SPEED),
    FIELD("grip", F32, OPTIONAL, 1, input.controller.grip, 0, 1),
    FIELD("trigger", F32, OPTIONAL, 1, input.controller.trigger, 0, 1),
    FIELD("thumbstick", VECTOR, OPTIONAL, 2, input.controller.thumbstick, -1, 1),
    FIELD("buttons", U32, OPTIONAL, 1, input.controller.buttons, 0, U32_MAX),
    FIELD("radius_m", F32, REQUIRED, 1, input.controller.radius_m, 0.001, 10),
    FIELD("strength", F32, REQUIRED, 1, input.controller.strength, 0, 1),
    FIELD("colour", COLOUR, SPARSE, 1, input.controller.colour, 0, COLOUR_MAX),
};

static const tarn_field hand_fields[] = {
    WORD("side", REQUIRED, input.hand.side, side_words),
    FIELD("tracked", BOOL, REQUIRED, 1, input.hand.tracked, 0, 1),
    WORD("tool", REQUIRED, input.hand.tool, tool_words),
    FIELD("position_m", VECTOR, REQUIRED, 3, input.hand.position_m, -COORDINATE, COORDINATE),
    FIELD("orientation", QUATERNION, REQUIRED, 4, input.hand.orientation, -COORDINATE, COORDINATE),
    FIELD("velocity_m_s", VECTOR, OPTIONAL, 3, input.hand.velocity_m_s, -SPEED, SPEED),
    FIELD("pinch", F32, OPTIONAL, 1, input.hand.pinch, 0, 1),
    FIELD("grip", F32, OPTIONAL, 1, input.hand.grip, 0, 1),
    FIELD("joints_m", JOINTS, OPTIONAL, 3 * TARN_HAND_JOINTS, input.hand, -COORDINATE, COORDINATE),
    FIELD("radius_m", F32, REQUIRED, 1, input.hand.radius_m, 0.001, 10),
    FIELD("strength", F32, REQUIRED, 1, input.hand.strength, 0, 1),
    FIELD("colour", COLOUR, SPARSE, 1, input.hand.colour, 0, COLOUR_MAX),
};

static const tarn_field orientation_fields[] = {
    FIELD("orientation", QUATERNION, REQUIRED, 4, input.orientation.orientation, -COORDINATE, COORDINATE),
    FIELD("angular_velocity_rad_s", VECTOR, OPTIONAL, 3, input.orientation.angular_velocity_rad_s, -SPEED, SPEED),
};

static const tarn_field parameter_fields[] = {
    FIELD("name", STRING, REQUIRED, 1, input.parameter.name, 1, TARN_NAME_BYTES_MAX),
    FIELD("value", F32, REQUIRED, 1, input.parameter.value, -3.40282347e38, 3.40282347e38),
};

static const tarn_field motion_fields[] = {
    FIELD("source", U32, REQUIRED, 1, input.motion.source, 0, TARN_MOTION_SOURCES_MAX - 1),
    FIELD("columns", U32, REQUIRED, 1, input.motion.columns, 1, TARN_MOTION_COLUMNS_MAX),
    FIELD("rows", U32, REQUIRED, 1, input.motion.rows, 1, TARN_MOTION_ROWS_MAX),
    FIELD("corner_m", VECTOR, REQUIRED, 3, input.motion.corner_m, -COORDINATE, COORDINATE),
    FIELD("across_m", VECTOR, REQUIRED, 3, input.motion.across_m, -COORDINATE, COORDINATE),
    FIELD("up_m", VECTOR, REQUIRED, 3, input.motion.up_m, -COORDINATE, COORDINATE),
    FIELD("depth_m", F32, REQUIRED, 1, input.motion.depth_m, 0, COORDINATE),
    FIELD("speed_m_s", F32, REQUIRED, 1, input.motion.speed_m_s, 0.001, SPEED),
    FIELD("strength", F32, REQUIRED, 1, input.motion.strength, 0, 1),
    FIELD("solid", BOOL, SPARSE, 1, input.motion.solid, 0, 1),
    FIELD("cells", CELLS, REQUIRED, 1, input.motion, 0, TARN_MOTION_CODE_BYTES_MAX),
};

const tarn_shape tarn_input_shapes[TARN_INPUT_COUNT] = {
    SHAPE("pointer", TARN_INPUT_POINTER, pointer_fields),
    SHAPE("controller", TARN_INPUT_CONTROLLER, controller_fields),
    SHAPE("hand", TARN_INPUT_HAND, hand_fields),
    SHAPE("orientation", TARN_INPUT_ORIENTATION, orientation_fields),
    SHAPE("parameter", TARN_INPUT_PARAMETER, parameter_fields),
    SHAPE("motion", TARN_INPUT_MOTION, motion_fields),
};

// ---- server to client ----

static const tarn_field welcome_fields[] = {
    FIELD("version", U32, REQUIRED, 1, welcome.version, 1, U32_MAX),
    FIELD("server", STRING, REQUIRED, 1, welcome.server, 0, TARN_NAME_BYTES_MAX),
    FIELD("device", STRING, REQUIRED, 1, welcome.device, 0, TARN_NAME_BYTES_MAX),
    FIELD("scenes", SCENES, REQUIRED, TARN_SCENES_MAX, welcome, 1, TARN_NAME_BYTES_MAX),
};

static const tarn_field joined_fields[] = {
    FIELD("session", STRING, REQUIRED, 1, joined.session, 1, TARN_NAME_BYTES_MAX),
    FIELD("title", STRING, OPTIONAL, 1, joined.title, 0, TARN_NAME_BYTES_MAX),
    FIELD("viewer_id", U32, REQUIRED, 1, joined.viewer_id, 1, U32_MAX),
    FIELD("viewer", STRING, REQUIRED, 1, joined.viewer, 0, TARN_NAME_BYTES_MAX),
    WORD("role", OPTIONAL, joined.role, role_words),
    FIELD("watch_key", STRING, OPTIONAL, 1, joined.watch_key, 0, TARN_KEY_BYTES),
    FIELD("play_key", STRING, OPTIONAL, 1, joined.play_key, 0, TARN_KEY_BYTES),
    FIELD("own_key", STRING, OPTIONAL, 1, joined.own_key, 0, TARN_KEY_BYTES),
    FIELD("visit_key", STRING, SPARSE, 1, joined.visit_key, 0, TARN_KEY_BYTES),
    FIELD("past", BOOL, SPARSE, 1, joined.past, 0, 1),
    FIELD("state", STATE, REQUIRED, 1, joined.state, 0, 0),
};

static const tarn_field viewers_fields[] = {
    FIELD("viewers", VIEWERS, REQUIRED, TARN_VIEWERS_MAX, viewers, 0, 0),
};

static const tarn_field presences_fields[] = {
    FIELD("points", PRESENCES, REQUIRED, TARN_PRESENCES_MAX, presences, 0, 0),
};

static const tarn_field probes_fields[] = {
    FIELD("list", U32, REQUIRED, 1, probes.list, 0, U32_MAX),
    FIELD("probes", PROBES, REQUIRED, TARN_LIVE_PROBES_MAX, probes, 0, 0),
};

static const tarn_field readings_fields[] = {
    FIELD("list", U32, REQUIRED, 1, readings.list, 0, U32_MAX),
    FIELD("epoch", U32, REQUIRED, 1, readings.epoch, 0, U32_MAX),
    FIELD("step", U64, REQUIRED, 1, readings.step, 0, INTEGER_MAX),
    FIELD("dt_s", F32, REQUIRED, 1, readings.dt_s, 0, 1),
    FIELD("rows", U32, REQUIRED, 1, readings.row_count, 1, TARN_READINGS_ROWS_MAX),
    FIELD("values", VALUES, REQUIRED, 1, readings, 0, TARN_READINGS_BYTES_MAX),
};

static const tarn_field pong_fields[] = {
    FIELD("id", U32, REQUIRED, 1, pong.id, 0, U32_MAX),
    FIELD("client_time_ms", F64, REQUIRED, 1, pong.client_time_ms, -INTEGER_MAX, INTEGER_MAX),
    FIELD("server_time_us", U64, REQUIRED, 1, pong.server_time_us, 0, INTEGER_MAX),
    FIELD("stages_ms", VECTOR, OPTIONAL, TARN_PONG_STAGES, pong.stages_ms, 0, 60000),
    FIELD("unconverged", U64, OPTIONAL, 1, pong.unconverged, 0, INTEGER_MAX),
};

static const tarn_field error_fields[] = {
    FIELD("code", U32, REQUIRED, 1, error.code, 1, 999),
    FIELD("text", STRING, REQUIRED, 1, error.text, 0, TARN_TEXT_BYTES_MAX),
};

static const tarn_field state_message_fields[] = {
    FIELD("state", STATE, REQUIRED, 1, state, 0, 0),
};

#undef FIELD
#define FIELD(key, type, need, count, member, min, max)                                                                \
    {                                                                                                                  \
        key, TARN_FIELD_##type, need, count, offsetof(tarn_session_state, member), min, max, NULL                      \
    }
/// With its array and count, or its bits.
#define PART(key, type, need, count, min, max)                                                                         \
    {                                                                                                                  \
        key, TARN_FIELD_##type, need, count, 0, min, max, NULL                                                         \
    }

static const tarn_field state_fields[] = {
    FIELD("scene", STRING, REQUIRED, 1, scene, 0, TARN_NAME_BYTES_MAX),
    FIELD("paused", BOOL, REQUIRED, 1, paused, 0, 1),
    FIELD("worker_ready", BOOL, REQUIRED, 1, worker_ready, 0, 1),
    FIELD("size_m", VECTOR, REQUIRED, 3, size_m, 0, 20480),
    FIELD("cell_m", F32, REQUIRED, 1, cell_m, 0, 10),
    FIELD("dt_s", F32, REQUIRED, 1, dt_s, 0, 1),
    FIELD("speed", F32, SPARSE, 1, speed, 0, 4),
    FIELD("replay_until", U64, SPARSE, 1, replay_until, 0, INTEGER_MAX),
    PART("parameters", PARAMETERS, REQUIRED, TARN_PARAMETERS_MAX, 0, 0),
    FIELD("model", STRING, SPARSE, 1, model, 0, TARN_NAME_BYTES_MAX),
    PART("tools", TOOLS, SPARSE, TARN_TOOLS_MAX, 1, TARN_NAME_BYTES_MAX),
    PART("channels", CHANNELS, SPARSE, TARN_CHANNELS_MAX, 0, 0),
    PART("fields", FIELDS, SPARSE, TARN_FIELDS_MAX, 0, 0),
    PART("added", ADDED, SPARSE, TARN_ADDED_MAX, 0, 0),
    PART("remarks", REMARKS, SPARSE, TARN_REMARKS_MAX, 1, TARN_REMARK_BYTES_MAX),
    FIELD("locked", LOCKED, SPARSE, TARN_LOCKS_MAX, lock.locked, 1, TARN_NAME_BYTES_MAX),
    FIELD("open_parameters", BOOL, SPARSE, 1, lock.open_parameters, 0, 1),
};

#undef FIELD
#define FIELD(key, type, need, member, min, max)                                                                       \
    {                                                                                                                  \
        key, TARN_FIELD_##type, need, 1, offsetof(tarn_parameter_info, member), min, max, NULL                         \
    }

static const tarn_field parameter_info_fields[] = {
    FIELD("name", STRING, REQUIRED, name, 1, TARN_NAME_BYTES_MAX),
    FIELD("value", F32, REQUIRED, value, -3.40282347e38, 3.40282347e38),
    FIELD("min", F32, REQUIRED, min, -3.40282347e38, 3.40282347e38),
    FIELD("max", F32, REQUIRED, max, -3.40282347e38, 3.40282347e38),
    FIELD("label", STRING, SPARSE, label, 0, TARN_NAME_BYTES_MAX),
    FIELD("unit", STRING, SPARSE, unit, 0, TARN_NAME_BYTES_MAX),
    FIELD("whole", BOOL, SPARSE, whole, 0, 1),
    FIELD("magnitudes", BOOL, SPARSE, magnitudes, 0, 1),
    FIELD("note", STRING, SPARSE, note, 0, TARN_NAME_BYTES_MAX),
};

static const tarn_field channel_fields[] = {
    {"name", TARN_FIELD_STRING, REQUIRED, 1, offsetof(tarn_channel_info, name), 1, TARN_NAME_BYTES_MAX, NULL},
    {"label", TARN_FIELD_STRING, SPARSE, 1, offsetof(tarn_channel_info, label), 0, TARN_NAME_BYTES_MAX, NULL},
    {"unit", TARN_FIELD_STRING, SPARSE, 1, offsetof(tarn_channel_info, unit), 0, TARN_NAME_BYTES_MAX, NULL},
    {"kinds", TARN_FIELD_STRING, SPARSE, 1, offsetof(tarn_channel_info, kinds), 0, TARN_NAME_BYTES_MAX, NULL},
};

static const tarn_field viewer_info_fields[] = {
    {"viewer_id", TARN_FIELD_U32, REQUIRED, 1, offsetof(tarn_viewer_info, viewer_id), 1, U32_MAX, NULL},
    {"name", TARN_FIELD_STRING, REQUIRED, 1, offsetof(tarn_viewer_info, name), 0, TARN_NAME_BYTES_MAX, NULL},
    {"colour", TARN_FIELD_U32, OPTIONAL, 1, offsetof(tarn_viewer_info, colour), 0, TARN_COLOUR_MAX, NULL},
    {"role", TARN_FIELD_WORD, OPTIONAL, 1, offsetof(tarn_viewer_info, role), 0, 0, role_words},
    {"muted", TARN_FIELD_BOOL, SPARSE, 1, offsetof(tarn_viewer_info, muted), 0, 1, NULL},
    {"given", TARN_FIELD_BOOL, SPARSE, 1, offsetof(tarn_viewer_info, given), 0, 1, NULL},
};

// Whose a point is comes first; who says it of itself begins behind that.
static const tarn_field presence_point_fields[] = {
    {"viewer_id", TARN_FIELD_U32, REQUIRED, 1, offsetof(tarn_presence_point, viewer_id), 1, U32_MAX, NULL},
    {"part", TARN_FIELD_WORD, REQUIRED, 1, offsetof(tarn_presence_point, part), 0, 0, part_words},
    {"position_m", TARN_FIELD_VECTOR, REQUIRED, 3, offsetof(tarn_presence_point, position_m), -COORDINATE, COORDINATE,
     NULL},
    {"orientation", TARN_FIELD_VECTOR, OPTIONAL, 4, offsetof(tarn_presence_point, orientation), -1, 1, NULL},
    {"pressed", TARN_FIELD_BOOL, OPTIONAL, 1, offsetof(tarn_presence_point, pressed), 0, 1, NULL},
    {"tool", TARN_FIELD_WORD, OPTIONAL, 1, offsetof(tarn_presence_point, tool), 0, 0, tool_words},
};

const tarn_shape tarn_point_shape = {"point", 0, COUNT(presence_point_fields) - 1, presence_point_fields + 1};
const tarn_shape tarn_presence_shape = SHAPE("presence", 0, presence_point_fields);

static const tarn_field probe_info_fields[] = {
    {"id", TARN_FIELD_U32, REQUIRED, 1, offsetof(tarn_probe_info, id), 1, U32_MAX, NULL},
    {"viewer_id", TARN_FIELD_U32, OPTIONAL, 1, offsetof(tarn_probe_info, viewer_id), 0, U32_MAX, NULL},
    {"scene", TARN_FIELD_BOOL, SPARSE, 1, offsetof(tarn_probe_info, scene), 0, 1, NULL},
    {"kind", TARN_FIELD_WORD, REQUIRED, 1, offsetof(tarn_probe_info, shows), 0, 0, tarn_probe_shows_names},
    {"at_m", TARN_FIELD_VECTOR, REQUIRED, 3, offsetof(tarn_probe_info, at_m), 0, TANK_M_MAX, NULL},
    {"to_m", TARN_FIELD_VECTOR, REQUIRED, 3, offsetof(tarn_probe_info, to_m), 0, TANK_M_MAX, NULL},
    {"solid", TARN_FIELD_U32, SPARSE, 1, offsetof(tarn_probe_info, solid), 0, TARN_ADDED_NUMBER_MIN - 1, NULL},
    {"label", TARN_FIELD_STRING, SPARSE, 1, offsetof(tarn_probe_info, label), 0, TARN_NAME_BYTES_MAX, NULL},
    {"columns", TARN_FIELD_COLUMNS, REQUIRED, TARN_PROBE_VALUES_MAX, 0, 1, TARN_NAME_BYTES_MAX, NULL},
};

const tarn_shape tarn_probe_shape = SHAPE("probe", 0, probe_info_fields);
const tarn_shape tarn_viewer_shape = SHAPE("viewer", 0, viewer_info_fields);
const tarn_shape tarn_state_shape = SHAPE("state", 0, state_fields);
const tarn_shape tarn_parameter_shape = SHAPE("parameter", 0, parameter_info_fields);
const tarn_shape tarn_channel_shape = SHAPE("channel", 0, channel_fields);

const tarn_shape tarn_message_shapes[] = {
    SHAPE("hello", TARN_MESSAGE_HELLO, hello_fields),
    SHAPE("join", TARN_MESSAGE_JOIN, join_fields),
    SHAPE("input", TARN_MESSAGE_INPUT, input_fields),
    SHAPE("control", TARN_MESSAGE_CONTROL, control_fields),
    SHAPE("ack", TARN_MESSAGE_ACK, ack_fields),
    SHAPE("ping", TARN_MESSAGE_PING, ping_fields),
    SHAPE("view", TARN_MESSAGE_VIEW, view_fields),
    SHAPE("presence", TARN_MESSAGE_PRESENCE, presence_fields),
    SHAPE("profile", TARN_MESSAGE_PROFILE, profile_fields),
    SHAPE("moderate", TARN_MESSAGE_MODERATE, moderate_fields),
    SHAPE("lock", TARN_MESSAGE_LOCK, lock_fields),
    SHAPE("probe", TARN_MESSAGE_PROBE, probe_fields),
    SHAPE("welcome", TARN_MESSAGE_WELCOME, welcome_fields),
    SHAPE("joined", TARN_MESSAGE_JOINED, joined_fields),
    SHAPE("viewers", TARN_MESSAGE_VIEWERS, viewers_fields),
    SHAPE("presences", TARN_MESSAGE_PRESENCES, presences_fields),
    SHAPE("probes", TARN_MESSAGE_PROBES, probes_fields),
    SHAPE("readings", TARN_MESSAGE_READINGS, readings_fields),
    SHAPE("pong", TARN_MESSAGE_PONG, pong_fields),
    SHAPE("error", TARN_MESSAGE_ERROR, error_fields),
    SHAPE("state", TARN_MESSAGE_STATE, state_message_fields),
};
const uint32_t tarn_message_shape_count = COUNT(tarn_message_shapes);

const char *tarn_message_kind_name(tarn_message_kind kind)
{
    for (uint32_t i = 0; i < tarn_message_shape_count; i++) {
        if (tarn_message_shapes[i].value == (int)kind) {
            return tarn_message_shapes[i].word;
        }
    }
    return NULL;
}

const char *tarn_tool_name(tarn_tool tool)
{
    return tool_words[tool];
}

bool tarn_probe_shows_has_to(tarn_probe_shows shows)
{
    return shows == TARN_SHOWS_GAUGE || shows == TARN_SHOWS_FLUX || shows == TARN_SHOWS_WALL;
}

const char *tarn_lock_word(int bit)
{
    if (1 << bit == TARN_LOCK_TILT) {
        return "tilt";
    }
    if (1 << bit == TARN_LOCK_CAMERA) {
        return "camera";
    }
    if (1 << bit == TARN_LOCK_PROBE) {
        return "probe";
    }
    return bit < TARN_TOOL_COUNT ? tool_words[bit] : NULL;
}

bool tarn_message_from_client(tarn_message_kind kind)
{
    return kind >= TARN_MESSAGE_HELLO && kind < TARN_MESSAGE_WELCOME;
}
