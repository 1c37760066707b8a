#include "tests/protocol/golden_messages.h"

#include <string.h>

static const tarn_viewer_info viewers[] = {{1, "Ada", 0x4fc3f7, TARN_ROLE_OWN, 0, 0},
                                           {4294967295u, "Łukasz 🌊", TARN_COLOUR_MAX, TARN_ROLE_WATCH, 0, 0}};
static const tarn_presence_point points[] = {
    {.viewer_id = 1, .part = TARN_PART_CURSOR, .position_m = {0.5f, 0.25f, 0.125f}},
    {.viewer_id = 4294967295u,
     .part = TARN_PART_HAND_RIGHT,
     .position_m = {-1000.0f, 0.0f, 1000.0f},
     .orientation = {0.0f, 0.6f, 0.0f, -0.8f},
     .pressed = 1,
     .tool = TARN_TOOL_VORTEX},
};

static void hello(tarn_message *m)
{
    m->hello = (tarn_hello){.version_count = 2, .versions = {1, 2}, .client = "golden 1.0"};
}

static void join(tarn_message *m)
{
    m->join = (tarn_join){
        .session = "", .viewer = "Zoë", .colour = 0xff8000, .key = "0123456789abcdef0123456789abcdef", .preview = 1};
}

static void join_with_token(tarn_message *m)
{
    m->join = (tarn_join){.session = "main",
                          .key = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6IjAifQ."
                                 "eyJqdGkiOiJhYmMiLCJzZXNzaW9uIjoibWFpbiIsInJvbGUiOiJwbGF5In0."
                                 "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"};
}

static void pointer(tarn_message *m)
{
    m->input.sequence = 1;
    m->input.kind = TARN_INPUT_POINTER;
    m->input.pointer = (tarn_input_pointer){
        .pointer_id = 15,
        .phase = TARN_PHASE_MOVE,
        .tool = TARN_TOOL_VORTEX,
        .origin_m = {-1000.0f, 0.1f, 1000.0f},
        .direction = {0.6f, 0.0f, -0.8f},
        .radius_m = 0.001f,
        .strength = 1.0f,
    };
}

static void pointer_with_dye(tarn_message *m)
{
    pointer(m);
    m->input.sequence = 2;
    m->input.pointer.phase = TARN_PHASE_DOWN;
    m->input.pointer.tool = TARN_TOOL_DYE;
    m->input.pointer.colour = TARN_COLOUR_GIVEN | 0xff8001;
}

static void controller(tarn_message *m)
{
    m->input.sequence = 65536;
    m->input.kind = TARN_INPUT_CONTROLLER;
    m->input.controller = (tarn_input_controller){
        .side = TARN_SIDE_RIGHT,
        .tracked = 1,
        .tool = TARN_TOOL_PULL,
        .position_m = {0.5f, 1.25f, -0.5f},
        .orientation = {0.0f, 0.6f, 0.0f, 0.8f},
        .velocity_m_s = {-1.5f, 0.0f, 100.0f},
        .angular_velocity_rad_s = {0.0f, -100.0f, 3.14159f},
        .grip = 0.25f,
        .trigger = 1.0f,
        .thumbstick = {-1.0f, 0.5f},
        .buttons = 0x80000001,
        .radius_m = 0.1f,
        .strength = 0.5f,
    };
}

static void hand(tarn_message *m)
{
    m->input.sequence = 4294967295u;
    m->input.kind = TARN_INPUT_HAND;
    m->input.hand = (tarn_input_hand){
        .side = TARN_SIDE_LEFT,
        .tracked = 1,
        .tool = TARN_TOOL_POUR,
        .position_m = {0.25f, 0.75f, 0.125f},
        .orientation = {1.0f, 0.0f, 0.0f, 0.0f},
        .velocity_m_s = {0.0f, -0.5f, 0.0f},
        .pinch = 0.5f,
        .grip = 0.0f,
        .joint_count = TARN_HAND_JOINTS,
        .radius_m = 10.0f,
        .strength = 0.0f,
    };
    for (int i = 0; i < TARN_HAND_JOINTS; i++) {
        m->input.hand.joints_m[i][0] = 0.25f + 0.015625f * (float)i;
        m->input.hand.joints_m[i][1] = 0.75f;
        m->input.hand.joints_m[i][2] = -0.03125f * (float)i;
    }
}

static void hand_without_joints(tarn_message *m)
{
    hand(m);
    m->input.hand.tracked = 0;
    m->input.hand.joint_count = 0;
    memset(m->input.hand.joints_m, 0, sizeof m->input.hand.joints_m);
}

static void orientation(tarn_message *m)
{
    m->input.sequence = 9;
    m->input.kind = TARN_INPUT_ORIENTATION;
    m->input.orientation = (tarn_input_orientation){.orientation = {0.5f, 0.5f, -0.5f, 0.5f},
                                                    .angular_velocity_rad_s = {0.0f, 1.0f, 0.0f}};
}

static void parameter(tarn_message *m)
{
    m->input.sequence = 10;
    m->input.kind = TARN_INPUT_PARAMETER;
    m->input.parameter = (tarn_input_parameter){.name = "gravity_m_s2", .value = 1.62f};
}

static void motion(tarn_message *m)
{
    // 3 x 2 cells: one of them goes to the right and up.
    static const uint8_t cells[] = {253, 0, 1, 200, 100, 253, 0, 0, 127, 252, 0, 0, 64, 252, 0, 1, 129, 0};
    m->input.sequence = 11;
    m->input.kind = TARN_INPUT_MOTION;
    m->input.motion = (tarn_input_motion){.source = 3,
                                          .columns = 3,
                                          .rows = 2,
                                          .corner_m = {0.0f, 0.25f, 1.0f},
                                          .across_m = {2.0f, 0.0f, 0.0f},
                                          .up_m = {0.0f, 1.5f, 0.0f},
                                          .depth_m = 0.5f,
                                          .speed_m_s = 2.0f,
                                          .strength = 0.75f,
                                          .solid = 1,
                                          .cell_bytes = sizeof cells,
                                          .cells = cells};
}

static void motion_gone(tarn_message *m)
{
    motion(m);
    m->input.motion.solid = 0;
    m->input.motion.cell_bytes = 0;
    m->input.motion.cells = NULL;
}

static void control_pause(tarn_message *m)
{
    m->control = (tarn_control){.sequence = 11, .action = TARN_CONTROL_PAUSE};
}

static void control_load(tarn_message *m)
{
    m->control = (tarn_control){.sequence = 12, .action = TARN_CONTROL_LOAD, .scene = "dam-break"};
}

static void control_speed(tarn_message *m)
{
    m->control = (tarn_control){.sequence = 13, .action = TARN_CONTROL_SPEED, .speed = 0.25f};
}

static void ack(tarn_message *m)
{
    m->ack = (tarn_ack){.epoch = 3, .step = 9007199254740991, .number = 4294967295u};
}

static void ack_key(tarn_message *m)
{
    m->ack = (tarn_ack){.epoch = 3, .step = 12, .number = 7, .key = 1};
}

static void ping(tarn_message *m)
{
    m->ping = (tarn_ping){.id = 0, .client_time_ms = 1767225600123.456};
}

static void view(tarn_message *m)
{
    m->view = (tarn_view){.hidden = 1, .mbit_per_s = 4.5f, .frames_per_s = 30, .particles = 50000};
}

static void view_with_field(tarn_message *m)
{
    view(m);
    m->view.hidden = 0;
    memcpy(m->view.field, "pressure", sizeof "pressure");
}

static void presence(tarn_message *m)
{
    m->presence.point_count = 3;
    for (int i = 0; i < 3; i++) {
        m->presence.points[i] = (tarn_presence_point){
            .part = (tarn_part)(TARN_PART_HEAD + i),
            .position_m = {0.5f * (float)i, 1.5f, -0.25f},
            .orientation = {0.0f, 0.0f, 0.0f, 1.0f},
            .pressed = i == 1,
            .tool = TARN_TOOL_POUR,
        };
    }
}

static void presence_none(tarn_message *m)
{
    m->presence.point_count = 0;
}

static void profile(tarn_message *m)
{
    m->profile = (tarn_profile){.name = "Zoë 🐟", .colour = 0x33aa77};
}

static void join_with_browser(tarn_message *m)
{
    m->join = (tarn_join){.session = "main", .browser = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"};
}

static void moderate(tarn_message *m)
{
    m->moderate = (tarn_moderate){.viewer_id = 4294967295u, .action = TARN_MODERATE_REMOVE};
}

static void lock(tarn_message *m)
{
    m->lock = (tarn_lock){.locked = TARN_TOOL_BIT(DYE) | TARN_TOOL_BIT(WALL) | TARN_LOCK_TILT | TARN_LOCK_CAMERA,
                          .open_parameters = 1};
}

static void lock_probe(tarn_message *m)
{
    m->lock = (tarn_lock){.locked = TARN_LOCK_PROBE};
}

static void lock_nothing(tarn_message *m)
{
    m->lock = (tarn_lock){.locked = 0};
}

static void view_with_probes(tarn_message *m)
{
    m->view = (tarn_view){.frames_per_s = 30.0f, .probes = 1};
}

static void probe_place(tarn_message *m)
{
    m->probe = (tarn_probe_wish){.action = TARN_PROBE_ACT_PLACE,
                                 .shows = TARN_SHOWS_GAUGE,
                                 .at_m = {0.5f, 0.0f, 0.25f},
                                 .to_m = {0.5f, 1.5f, 0.25f},
                                 .label = "Wehr \u00fcber"};
}

static void probe_force(tarn_message *m)
{
    m->probe = (tarn_probe_wish){
        .action = TARN_PROBE_ACT_PLACE, .shows = TARN_SHOWS_FORCE, .at_m = {0.5f, 0.25f, 1.0f}, .solid = 63};
}

static void probe_move(tarn_message *m)
{
    m->probe = (tarn_probe_wish){.action = TARN_PROBE_ACT_MOVE,
                                 .id = 4294967295u,
                                 .at_m = {-1000.0f, 0.1f, 1000.0f},
                                 .to_m = {0.0f, 0.0f, 0.0f}};
}

static void probe_remove(tarn_message *m)
{
    m->probe = (tarn_probe_wish){.action = TARN_PROBE_ACT_REMOVE, .id = 3};
}

static void probes(tarn_message *m)
{
    m->probes = (tarn_probe_list){
        .list = 7,
        .probe_count = 3,
        .probes = {{.id = 1,
                    .scene = 1,
                    .shows = TARN_SHOWS_PRESSURE,
                    .at_m = {3.2f, 0.1f, 0.1f},
                    .to_m = {3.2f, 0.1f, 0.1f},
                    .label = "wall",
                    .column_count = 1,
                    .columns = {"pressure_pa"}},
                   {.id = 4294967295u,
                    .viewer_id = 12,
                    .shows = TARN_SHOWS_GAUGE,
                    .at_m = {1.0f, 0.0f, 0.5f},
                    .to_m = {1.0f, 20480.0f, 0.5f},
                    .column_count = 2,
                    .columns = {"depth_m", "surface_m"}},
                   {.id = 9, .shows = TARN_SHOWS_FLUX, .to_m = {0.0f, 1.0f, 1.0f}}},
    };
}

static void probes_of_forces(tarn_message *m)
{
    m->probes = (tarn_probe_list){
        .list = 9,
        .probe_count = 2,
        .probes = {{.id = 1, .shows = TARN_SHOWS_FORCE, .solid = 2, .column_count = 1, .columns = {"force_x_n"}},
                   {.id = 2, .shows = TARN_SHOWS_WALL, .to_m = {1.0f, 0.0f, 1.0f}}},
    };
}

static void probes_none(tarn_message *m)
{
    m->probes = (tarn_probe_list){.list = 8};
}

static void readings(tarn_message *m)
{
    static const uint8_t values[] = {0, 0, 128, 63, 0, 0, 0, 191, 0, 64, 28, 70, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 128};
    m->readings = (tarn_readings){.list = 7,
                                  .epoch = 2,
                                  .step = 9007199254740991u,
                                  .dt_s = 0.0625f,
                                  .row_count = 2,
                                  .byte_count = sizeof values,
                                  .values = values};
}

static void presences(tarn_message *m)
{
    m->presences = (tarn_presences){.point_count = 2, .points = points};
}

static void welcome(tarn_message *m)
{
    m->welcome = (tarn_welcome){.version = 1,
                                .server = "tarnd 0.1.0",
                                .device = "CPU, 2 threads, x86-64-v3",
                                .scene_count = 2,
                                .scenes = {"dam-break", "still-pool"}};
}

static const tarn_session_state session_state = {
    .scene = "dam-break",
    .worker_ready = 1,
    .size_m = {2.0f, 1.0f, 1.0f},
    .cell_m = 0.03125f,
    .dt_s = 0.0166666675f,
    .parameter_count = 2,
    .parameters = {{"gravity_m_s2", 9.81f, 0.0f, 50.0f}, {"flip_ratio", 0.97f, 0.0f, 1.0f}},
};

static void joined(tarn_message *m)
{
    m->joined = (tarn_joined){.session = "lobby",
                              .title = "Zoë's tank",
                              .viewer_id = 42,
                              .viewer = "Zoë",
                              .role = TARN_ROLE_PLAY,
                              .watch_key = "00112233445566778899aabbccddeeff",
                              .play_key = "ffeeddccbbaa99887766554433221100",
                              .state = session_state};
}

static void state(tarn_message *m)
{
    m->state = session_state;
    m->state.paused = 1;
    m->state.worker_ready = 0;
}

/// A ball that floats, one like a solid of the scene, and a piece of wall.
static void state_with_locks(tarn_message *m)
{
    m->state = session_state;
    m->state.lock = (tarn_lock){.locked = TARN_TOOL_BIT(PUSH) | TARN_LOCK_CAMERA, .open_parameters = 1};
}

static void moderated_list(tarn_message *m)
{
    static const tarn_viewer_info moderated[] = {
        {.viewer_id = 1, .name = "Ada", .colour = 0x4fc3f7, .role = TARN_ROLE_OWN, .given = 1},
        {.viewer_id = 2, .name = "Bob", .colour = 0x4fc3f7, .role = TARN_ROLE_PLAY, .muted = 1}};
    m->viewers = (tarn_viewers){.viewer_count = 2, .viewers = moderated};
}

static void state_with_solids(tarn_message *m)
{
    m->state = session_state;
    m->state.added_count = 3;
    m->state.added[0] = (tarn_added_info){.number = 64,
                                          .shape = TARN_ADDED_SPHERE,
                                          .half_m = {0.125f},
                                          .position_m = {1.0f, 0.75f, 0.5f},
                                          .rotation = {0, 0, 0, 1},
                                          .colour = 0xffcc00};
    m->state.added[1] = (tarn_added_info){.number = 65535,
                                          .shape = TARN_ADDED_LIKE,
                                          .like = 3,
                                          .half_m = {1.0f},
                                          .position_m = {0.25f, 0.5f, 0.5f},
                                          .rotation = {0, 0.6f, 0, 0.8f},
                                          .colour = 1};
    m->state.added[2] = (tarn_added_info){.half_m = {0.5f, 0.25f, 0.0625f},
                                          .position_m = {-1.0f, 0.25f, 0.5f},
                                          .rotation = {0, 0, 0, 1},
                                          .colour = 0xffffff};
}

/// With what the model's table says.
static void joined_with_model(tarn_message *m)
{
    static const tarn_channel_info channels[] = {{"colour", "Own colour", "", ""}, {"speed", "Speed", "m/s", ""}};
    joined(m);
    tarn_session_state *described = &m->joined.state;
    memcpy(described->parameters[0].label, "Gravity", sizeof "Gravity");
    memcpy(described->parameters[0].unit, "m/s²", sizeof "m/s²");
    memcpy(described->parameters[0].note, "acts as 9.2", sizeof "acts as 9.2");
    described->parameters[1].whole = described->parameters[1].magnitudes = 1;
    memcpy(described->model, "liquid", sizeof "liquid");
    described->tools = TARN_TOOLS_ALL;
    described->channel_count = 2;
    memcpy(described->channels, channels, sizeof channels);
}

/// And with fields.
static void joined_with_fields(tarn_message *m)
{
    static const tarn_channel_info fields[] = {{"pressure", "Pressure", "Pa", ""},
                                               {"cells", "Cells", "", "air,liquid,solid"}};
    joined_with_model(m);
    m->joined.state.field_count = 2;
    memcpy(m->joined.state.fields, fields, sizeof fields);
}

/// Of a tank that is played back, at half its speed.
static void state_with_replay(tarn_message *m)
{
    m->state = session_state;
    m->state.speed = 0.5f;
    m->state.replay_until = 1ull << 40;
}

/// Of a tank in which not all acts as it was asked for.
static void state_with_remarks(tarn_message *m)
{
    static const char drain[] = "drains[0] is 0.008 m thin: it drains as if it were as thick as a cell of 0.02 m";
    m->state = session_state;
    m->state.remark_count = 2;
    memcpy(m->state.remarks[0], drain, sizeof drain);
    memset(m->state.remarks[1], 'r', TARN_REMARK_BYTES_MAX);
}

/// Of a model that people only look at.
static void state_without_tools(tarn_message *m)
{
    m->state = session_state;
    memcpy(m->state.model, "whirl", sizeof "whirl");
}

static void viewer_list(tarn_message *m)
{
    m->viewers = (tarn_viewers){.viewer_count = 2, .viewers = viewers};
}

static void pong(tarn_message *m)
{
    m->pong = (tarn_pong){.id = 4294967295u,
                          .client_time_ms = 0.5,
                          .server_time_us = 1767225600123456,
                          .stages_ms = {2.5f, 4, 1, 0.25f, 0.125f},
                          .unconverged = 70000};
}

static void error(tarn_message *m)
{
    m->error = (tarn_error){.code = TARN_ERROR_VERSION, .text = "The server speaks version 1; the client offered 2."};
}

static const struct {
    const char *name;
    tarn_message_kind kind;
    void (*fill)(tarn_message *message);
} messages[] = {
    {"message-hello", TARN_MESSAGE_HELLO, hello},
    {"message-join", TARN_MESSAGE_JOIN, join},
    {"message-join-token", TARN_MESSAGE_JOIN, join_with_token},
    {"message-input-pointer", TARN_MESSAGE_INPUT, pointer},
    {"message-input-pointer-dye", TARN_MESSAGE_INPUT, pointer_with_dye},
    {"message-input-controller", TARN_MESSAGE_INPUT, controller},
    {"message-input-hand", TARN_MESSAGE_INPUT, hand},
    {"message-input-hand-lost", TARN_MESSAGE_INPUT, hand_without_joints},
    {"message-input-orientation", TARN_MESSAGE_INPUT, orientation},
    {"message-input-parameter", TARN_MESSAGE_INPUT, parameter},
    {"message-input-motion", TARN_MESSAGE_INPUT, motion},
    {"message-input-motion-gone", TARN_MESSAGE_INPUT, motion_gone},
    {"message-control-pause", TARN_MESSAGE_CONTROL, control_pause},
    {"message-control-load", TARN_MESSAGE_CONTROL, control_load},
    {"message-control-speed", TARN_MESSAGE_CONTROL, control_speed},
    {"message-ack", TARN_MESSAGE_ACK, ack},
    {"message-ack-key", TARN_MESSAGE_ACK, ack_key},
    {"message-ping", TARN_MESSAGE_PING, ping},
    {"message-view", TARN_MESSAGE_VIEW, view},
    {"message-view-field", TARN_MESSAGE_VIEW, view_with_field},
    {"message-presence", TARN_MESSAGE_PRESENCE, presence},
    {"message-presence-none", TARN_MESSAGE_PRESENCE, presence_none},
    {"message-profile", TARN_MESSAGE_PROFILE, profile},
    {"message-welcome", TARN_MESSAGE_WELCOME, welcome},
    {"message-joined", TARN_MESSAGE_JOINED, joined},
    {"message-joined-model", TARN_MESSAGE_JOINED, joined_with_model},
    {"message-joined-fields", TARN_MESSAGE_JOINED, joined_with_fields},
    {"message-viewers", TARN_MESSAGE_VIEWERS, viewer_list},
    {"message-presences", TARN_MESSAGE_PRESENCES, presences},
    {"message-join-browser", TARN_MESSAGE_JOIN, join_with_browser},
    {"message-moderate", TARN_MESSAGE_MODERATE, moderate},
    {"message-lock", TARN_MESSAGE_LOCK, lock},
    {"message-lock-nothing", TARN_MESSAGE_LOCK, lock_nothing},
    {"message-lock-probe", TARN_MESSAGE_LOCK, lock_probe},
    {"message-view-probes", TARN_MESSAGE_VIEW, view_with_probes},
    {"message-probe-place", TARN_MESSAGE_PROBE, probe_place},
    {"message-probe-force", TARN_MESSAGE_PROBE, probe_force},
    {"message-probe-move", TARN_MESSAGE_PROBE, probe_move},
    {"message-probe-remove", TARN_MESSAGE_PROBE, probe_remove},
    {"message-probes", TARN_MESSAGE_PROBES, probes},
    {"message-probes-of-forces", TARN_MESSAGE_PROBES, probes_of_forces},
    {"message-probes-none", TARN_MESSAGE_PROBES, probes_none},
    {"message-readings", TARN_MESSAGE_READINGS, readings},
    {"message-viewers-moderated", TARN_MESSAGE_VIEWERS, moderated_list},
    {"message-state-locked", TARN_MESSAGE_STATE, state_with_locks},
    {"message-pong", TARN_MESSAGE_PONG, pong},
    {"message-error", TARN_MESSAGE_ERROR, error},
    {"message-state", TARN_MESSAGE_STATE, state},
    {"message-state-added", TARN_MESSAGE_STATE, state_with_solids},
    {"message-state-no-tools", TARN_MESSAGE_STATE, state_without_tools},
    {"message-state-replay", TARN_MESSAGE_STATE, state_with_replay},
    {"message-state-remarks", TARN_MESSAGE_STATE, state_with_remarks},
};

int golden_message_count(void)
{
    return (int)(sizeof messages / sizeof messages[0]);
}

const char *golden_message(int index, tarn_message *message)
{
    memset(message, 0, sizeof *message);
    message->kind = messages[index].kind;
    messages[index].fill(message);
    return messages[index].name;
}
