/// What crosses the socketpair between tarnd and a tarn-worker: length-framed messages, written and read field by
/// field, little-endian. Neither end trusts the other: every size is bounded before anything is stored, every text is
/// terminated, every number checked to be finite.
///
///     message = magic u32 | kind u16 | zero u16 | tank u32 | payload bytes u32 | payload
///
/// Client inputs cross as the msgpack bytes that the client sent; the worker validates them once more with the
/// protocol's reader. Frames are received straight into the buffer that viewers are served from.
///
/// A tank's state crosses in pieces, from the worker that has it (SAVE, answered with STATE_HEAD; then as many
/// STATE_CHUNKs as STATE_WANTED lets it send) and to the worker that is to have it (RESTORE, answered with MADE; then
/// STATE_HEAD and STATE_CHUNKs, answered with STATE). Its bytes are those of tarn_tank_save, behind them what viewers
/// hold (server/worker/presses.h), which may be missing.
///
/// Nothing here does I/O: the owner of the socket receives into what tarn_ipc_reader_space offers and commits it.
#ifndef TARN_SERVER_BASE_IPC_H
#define TARN_SERVER_BASE_IPC_H

#include "protocol/message.h"
#include "protocol/message_text.h"
#include "protocol/status.h"
#include "server/base/bytes.h"

#include <stddef.h>
#include <stdint.h>

enum {
    TARN_IPC_VERSION = 21, ///< gateway and worker must agree on it exactly
    TARN_IPC_MAGIC = 0x43504954,
    TARN_IPC_HEADER_BYTES = 16,
    TARN_IPC_STAMPS_BYTES = TARN_IPC_HEADER_BYTES + 24,
    TARN_IPC_PAYLOAD_BYTES_MAX = 32768,                ///< of every kind but frames
    TARN_IPC_FRAME_BYTES_MAX = 64 << 20,               ///< of a frame
    TARN_IPC_STAGING_BYTES = 65536,                    ///< what a reader buffers
    TARN_IPC_TANKS_MAX = 512,                          ///< of one worker
    TARN_IPC_SCENE_BYTES_MAX = 1023,                   ///< a scene's name, or on behalf of the operator its path
    TARN_IPC_INPUT_BYTES_MAX = TARN_MESSAGE_BYTES_MAX, ///< a written tarn_input; all but motion is much smaller
    TARN_IPC_STATE_BYTES_MAX = 1280 << 20,             ///< of a tank's state; the largest tank's takes 1.1 GiB
    TARN_IPC_PRESSES_BYTES_MAX = 64 << 10,             ///< of what viewers do to it
    TARN_IPC_CHUNK_BYTES_MAX = 24 << 10,               ///< of both in one message
    TARN_IPC_CHUNK_MESSAGE_BYTES_MAX = TARN_IPC_HEADER_BYTES + 12 + TARN_IPC_CHUNK_BYTES_MAX,
    TARN_IPC_CHUNKS_MAX = 8,                  ///< on their way from one end
    TARN_IPC_SCENE_TOLD_BYTES_MAX = 32 << 20, ///< of an archive
    TARN_IPC_REPLAY_BYTES = 192 << 10,        ///< of what is played back, behind which a piece gets no further record
    TARN_IPC_REPLAY_BYTES_MAX = 384 << 10,    ///< of a piece
};

typedef enum tarn_ipc_kind {
    // gateway to worker
    TARN_IPC_GATEWAY_HELLO = 1, ///< first
    TARN_IPC_LOAD = 2,          ///< make the tank, or make it anew from another scene
    TARN_IPC_RESET = 3,
    TARN_IPC_CONTROL = 4,  ///< pause, resume, single step, speed
    TARN_IPC_AUDIENCE = 5, ///< how many watch, and what they ask for; with none the tank rests
    TARN_IPC_INPUT = 6,
    TARN_IPC_VIEWER_GONE = 7,
    TARN_IPC_PING = 8,
    TARN_IPC_SHUTDOWN = 9,
    TARN_IPC_KEY_WANTED = 10,   ///< somebody can't decode what comes: the tank's next frame is to be a key frame
    TARN_IPC_UNLOAD = 11,       ///< the tank is no more
    TARN_IPC_RESTORE = 12,      ///< make a tank whose state will come
    TARN_IPC_SAVE = 13,         ///< at its next step boundary the tank stands, and offers its state
    TARN_IPC_STATE_WANTED = 14, ///< up to where its bytes may be sent
    TARN_IPC_GO_ON = 15,        ///< it need stand no longer: nothing came of it
    TARN_IPC_PRESENT = 16,      ///< who is there still, of those whose presses a tank was brought back with
    TARN_IPC_SPEED = 17,        ///< how fast the tank's clock goes
    TARN_IPC_REPLAY = 18,       ///< a piece of what is played back
    TARN_IPC_PROBES = 19,       ///< what is measured in the tank from now on; answered with PROBED
    TARN_IPC_SCENE_WANTED = 20, ///< the tank as it stands, told as a scene; answered with SCENE_TOLD
    // worker to gateway
    TARN_IPC_WORKER_HELLO = 32, ///< first
    TARN_IPC_STATE = 33,        ///< the tank was made or changed
    TARN_IPC_REFUSED = 34,      ///< of one viewer's input, control or load: why
    TARN_IPC_REPORT = 35,       ///< about once a second
    TARN_IPC_FRAME = 36,
    TARN_IPC_PONG = 37,
    TARN_IPC_FAULT = 38,         ///< the worker ends after this
    TARN_IPC_STAMPS = 39,        ///< of the tank's frame that comes right behind
    TARN_IPC_MADE = 40,          ///< the tank waits for its state
    TARN_IPC_REPLAY_WANTED = 41, ///< a piece is to come
    TARN_IPC_SCENES = 42,        ///< other scenes than it said are in its folder
    TARN_IPC_SCENE_FAULTS = 43,  ///< other ones than it said can't be read
    TARN_IPC_SCENE_PROBES = 44,  ///< those of the scene that the tank was made from
    TARN_IPC_PROBED = 45,        ///< which of the newest PROBES measure; again where the tank is another one
    TARN_IPC_READINGS = 46,      ///< what they measured behind some steps
    TARN_IPC_SCENE_TOLD = 47,    ///< it is in the memory that came along, or why it isn't
    // both ways
    TARN_IPC_STATE_HEAD = 64,
    TARN_IPC_STATE_CHUNK = 65,
} tarn_ipc_kind;

typedef struct tarn_ipc_gateway_hello {
    uint32_t version;
    tarn_name program;
} tarn_ipc_gateway_hello;

/// That a tank can be made from, sorted.
typedef struct tarn_ipc_scenes {
    uint32_t count;
    tarn_name names[TARN_SCENES_MAX];
} tarn_ipc_scenes;

/// Of a folder's scenes that no tank can be made from.
typedef struct tarn_ipc_scene_faults {
    uint32_t count;   ///< 0..TARN_SCENES_MAX
    tarn_name newest; ///< of them; empty: none
    tarn_text why;    ///< what is wrong with it, where and what is allowed
} tarn_ipc_scene_faults;

typedef struct tarn_ipc_worker_hello {
    uint32_t version;
    tarn_name program;
    tarn_name device;
    uint32_t tanks_max; ///< that it takes at once, up to TARN_IPC_TANKS_MAX
    tarn_ipc_scenes scenes;
} tarn_ipc_worker_hello;

/// What a tank that is to be made begins with.
enum tarn_ipc_resumes {
    TARN_IPC_RESUMES_NOT = 0, ///< it starts afresh
    TARN_IPC_RESUMES = 1,     ///< it was there: it goes on from what is in its box
    TARN_IPC_RESUMES_BOX = 2, ///< the same of the box that goes along, which was filled (tarn_box_fill) and is its own
                              ///< from then on; where that can't be, it goes on as it was, under the new epoch
    TARN_IPC_GOES_BACK = 3,   ///< the same, and it is paused as `paused` says, however it was then
};

typedef struct tarn_ipc_load {
    uint32_t epoch;               ///< of the tank when it is made
    uint32_t viewer_id, sequence; ///< who asked; 0: the gateway
    uint8_t paused;
    uint8_t resumes; ///< tarn_ipc_resumes
    int box;         ///< written: a descriptor that goes along, of the tank's black box (server/log/black_box.h); 0:
                     ///< none. Read: 1 where one does
    char scene[TARN_IPC_SCENE_BYTES_MAX + 1];
} tarn_ipc_load;

typedef struct tarn_ipc_reset {
    uint32_t epoch;
    uint32_t viewer_id, sequence;
} tarn_ipc_reset;

typedef struct tarn_ipc_control {
    uint32_t viewer_id, sequence;
    uint8_t action; ///< tarn_control_action: PAUSE, RESUME, STEP or SPEED
    float speed;    ///< of SPEED, as there; else 0
} tarn_ipc_control;

typedef struct tarn_ipc_audience {
    uint32_t viewer_count;
    tarn_name channel; ///< that frames are to carry; empty: none
    tarn_name field;   ///< the same
    uint8_t readings;  ///< somebody asks for them
} tarn_ipc_audience;

typedef struct tarn_ipc_input {
    uint32_t viewer_id;
    uint32_t byte_count;  ///< 1..TARN_IPC_INPUT_BYTES_MAX
    const uint8_t *bytes; ///< read: into the reader's buffer, valid during the callback
} tarn_ipc_input;

typedef struct tarn_ipc_viewer_gone {
    uint32_t viewer_id;
    uint32_t sequence; ///< 0: it has left; else it is there still, but lets go of what it held up to this input
} tarn_ipc_viewer_gone;

typedef struct tarn_ipc_present {
    uint32_t viewer_count;
    uint32_t viewer_ids[TARN_VIEWERS_MAX];
} tarn_ipc_present;

typedef struct tarn_ipc_speed {
    float speed; ///< TARN_SPEED_MIN..TARN_SPEED_MAX
} tarn_ipc_speed;

/// As people place them; of a gauge, a flux and a wall to_m counts.
typedef struct tarn_ipc_probe {
    uint32_t id;    ///< the gateway's; of a scene's own 0
    uint32_t shows; ///< tarn_probe_shows
    float at_m[3], to_m[3];
    uint32_t solid;  ///< of a force, below TARN_ADDED_NUMBER_MIN
    tarn_name label; ///< of a scene's own
} tarn_ipc_probe;

typedef struct tarn_ipc_probes {
    uint32_t revision; ///< told again by PROBED and READINGS; SCENE_PROBES: 0
    uint32_t count;
    tarn_ipc_probe probes[TARN_LIVE_PROBES_MAX];
} tarn_ipc_probes;

typedef struct tarn_ipc_scene_probes {
    tarn_name scene; ///< as the state names it
    tarn_ipc_probes of;
} tarn_ipc_scene_probes;

enum { TARN_IPC_PROBE_WHY_BYTES = 256 };

typedef struct tarn_ipc_probed {
    uint32_t revision;
    uint32_t count; ///< as many as there were in PROBES, in the same order
    struct {
        uint32_t column_count;
        tarn_name columns[TARN_PROBE_VALUES_MAX];
        char why[TARN_IPC_PROBE_WHY_BYTES]; ///< it can't be in this tank; empty: it measures
    } of[TARN_LIVE_PROBES_MAX];
} tarn_ipc_probed;

/// As tarn_readings.
typedef struct tarn_ipc_readings {
    uint32_t revision; ///< of the PROBED that came last
    uint32_t epoch;
    uint64_t step;
    float dt_s;
    uint32_t row_count;    ///< 1..TARN_READINGS_ROWS_MAX
    uint32_t byte_count;   ///< 4 row_count..TARN_READINGS_BYTES_MAX
    const uint8_t *values; ///< float32, finite; read: as in tarn_ipc_input
} tarn_ipc_readings;

/// Where a piece of what is played back begins.
typedef struct tarn_ipc_replay_wanted {
    uint32_t epoch; ///< of the tank
    uint64_t from;  ///< step that its records are behind
    uint32_t held;  ///< records behind that step that have come, of those that make none
} tarn_ipc_replay_wanted;

/// Whole records of a log (log/black_box.h), in memory whose descriptor goes along.
typedef struct tarn_ipc_replay {
    tarn_ipc_replay_wanted at; ///< as was wanted
    uint32_t byte_count;       ///< 0..TARN_IPC_REPLAY_BYTES_MAX
    uint8_t is_last;           ///< no more comes
    int box;                   ///< as in tarn_ipc_load, where there are bytes
} tarn_ipc_replay;

/// The tank as it stands, as an archive (scene/archive.h). What was wanted before isn't any more.
typedef struct tarn_ipc_scene_wanted {
    uint32_t ask; ///< which one it is; told again by SCENE_TOLD
    int box;      ///< as in tarn_ipc_load: memory that it is put into
} tarn_ipc_scene_wanted;

/// Why there is none.
typedef enum tarn_ipc_scene_lack {
    TARN_IPC_SCENE_LACKS_NOT,   ///< there is one
    TARN_IPC_SCENE_LACKS_WORDS, ///< no scene can tell this tank
    TARN_IPC_SCENE_LACKS_ROOM,  ///< not now: memory, or the device
    TARN_IPC_SCENE_LACK_COUNT
} tarn_ipc_scene_lack;

typedef struct tarn_ipc_scene_told {
    uint32_t ask;
    uint32_t lack;       ///< tarn_ipc_scene_lack
    uint32_t byte_count; ///< in the memory, up to TARN_IPC_SCENE_TOLD_BYTES_MAX
    tarn_text why;       ///< where one lacks
} tarn_ipc_scene_told;

typedef struct tarn_ipc_ping {
    uint32_t id;
} tarn_ipc_ping;

/// A tank that a state is for. It rests until that has come.
typedef struct tarn_ipc_restore {
    uint32_t save; ///< which one it is; told again by MADE
    int box;       ///< as in tarn_ipc_load
    char scene[TARN_IPC_SCENE_BYTES_MAX + 1];
} tarn_ipc_restore;

typedef struct tarn_ipc_save {
    uint32_t save; ///< as above; told again by STATE_HEAD
} tarn_ipc_save;

typedef struct tarn_ipc_state_wanted {
    uint64_t until; ///< bytes
} tarn_ipc_state_wanted;

/// What the chunks that follow are. No frame of the tank comes behind it.
typedef struct tarn_ipc_state_head {
    uint32_t save;
    uint32_t epoch;
    uint64_t step;
    uint32_t number;        ///< of the newest frame
    uint64_t state_bytes;   ///< 1..TARN_IPC_STATE_BYTES_MAX
    uint32_t presses_bytes; ///< behind these; 0: nobody does anything
    uint64_t replay_until;  ///< the last step of what is played back; 0: nothing is
} tarn_ipc_state_head;

typedef struct tarn_ipc_state_chunk {
    uint64_t at;          ///< where they begin; none lie on both sides of the state's end
    uint32_t byte_count;  ///< 1..TARN_IPC_CHUNK_BYTES_MAX
    const uint8_t *bytes; ///< read: as in tarn_ipc_input
} tarn_ipc_state_chunk;

typedef struct tarn_ipc_state {
    uint32_t epoch;
    tarn_session_state session; ///< worker_ready is not carried: what sends this is ready
} tarn_ipc_state;

typedef struct tarn_ipc_refused {
    uint32_t viewer_id, sequence; ///< 0: the gateway's own load
    /// tarn_error_code. TARN_ERROR_SCENE answers a load or a move; so does TARN_ERROR_SESSION, and the worker has no
    /// such tank now. TARN_ERROR_WORKER and TARN_ERROR_LIMIT: what people are told of the tank; else an input's.
    uint32_t code;
    tarn_text text;
} tarn_ipc_refused;

/// Numbers of 64 bits are at most TARN_FRAME_INTEGER_MAX, which viewers can be told.
typedef struct tarn_ipc_report {
    uint64_t step;
    double sim_time_s;
    float realtime_factor;
    float step_s;             ///< mean time of a step over the last second
    float encode_s;           ///< mean time to encode a frame
    uint32_t particle_count;  ///< at most TARN_FRAME_PARTICLES_MAX
    uint64_t encoder_bytes;   ///< of device memory, that the frames' encoder takes
    uint32_t frames_replaced; ///< since the start: newer ones took their place before they were sent
    uint64_t unconverged;     ///< as tarn_tank_report's
    float cost_s;             ///< of the device's time, that a step took of late with what is due behind it: where the
                              ///< tank had one of n lanes the n-th part counts
} tarn_ipc_report;

/// When a frame's step took its inputs, when the step and when the frame was made: the monotonic clock, which both ends
/// share.
typedef struct tarn_ipc_stamps {
    uint64_t latched_ns, stepped_ns, encoded_ns;
} tarn_ipc_stamps;

typedef struct tarn_ipc_fault {
    tarn_text text;
} tarn_ipc_fault;

typedef struct tarn_ipc_message {
    tarn_ipc_kind kind;
    uint32_t tank; ///< 0 where the message is about no tank
    union {
        tarn_ipc_gateway_hello gateway_hello;
        tarn_ipc_worker_hello worker_hello;
        tarn_ipc_scenes scenes;
        tarn_ipc_scene_faults scene_faults;
        tarn_ipc_load load;
        tarn_ipc_reset reset;
        tarn_ipc_control control;
        tarn_ipc_audience audience;
        tarn_ipc_input input;
        tarn_ipc_viewer_gone viewer_gone;
        tarn_ipc_present present;
        tarn_ipc_speed speed;
        tarn_ipc_probes probes;
        tarn_ipc_scene_probes scene_probes;
        tarn_ipc_probed probed;
        tarn_ipc_readings readings;
        tarn_ipc_replay replay;
        tarn_ipc_replay_wanted replay_wanted;
        tarn_ipc_scene_wanted scene_wanted;
        tarn_ipc_scene_told scene_told;
        tarn_ipc_ping ping; ///< and pong
        tarn_ipc_restore restore;
        tarn_ipc_save save; ///< and made
        tarn_ipc_state_wanted state_wanted;
        tarn_ipc_state_head state_head;
        tarn_ipc_state_chunk state_chunk;
        tarn_ipc_state state;
        tarn_ipc_refused refused;
        tarn_ipc_report report;
        tarn_ipc_fault fault;
        tarn_ipc_stamps stamps;
    };
} tarn_ipc_message;

/// Writes a message with its header. Frames are written with tarn_ipc_frame_header instead.
/// @return TARN_OK, TARN_E_SPACE or TARN_E_ARGUMENT
tarn_status tarn_ipc_write(const tarn_ipc_message *message, uint8_t *bytes, size_t bytes_max, size_t *byte_count);

/// Writes the TARN_IPC_HEADER_BYTES in front of a frame of so many bytes.
void tarn_ipc_frame_header(uint32_t tank, uint32_t frame_bytes, uint8_t *bytes);

/// Reads the payload of one message of any kind but a frame.
/// @return TARN_OK, TARN_E_TRUNCATED, TARN_E_MALFORMED or TARN_E_UNKNOWN_KIND; *message is set only on TARN_OK
tarn_status tarn_ipc_read(uint32_t kind, uint32_t tank, const uint8_t *payload, size_t payload_bytes,
                          tarn_ipc_message *message);

/// What a reader calls. Anything but TARN_OK from it ends the reading and is returned by the commit.
typedef struct tarn_ipc_sink {
    void *user;
    tarn_status (*message)(void *user, const tarn_ipc_message *message);
    /// Where to put a frame; NULL refuses it. The memory must last until `frame` is called or the reader is dropped.
    uint8_t *(*frame_space)(void *user, uint32_t tank, uint32_t frame_bytes);
    tarn_status (*frame)(void *user, uint32_t tank, uint32_t frame_bytes);
} tarn_ipc_sink;

typedef struct tarn_ipc_reader {
    tarn_ipc_sink sink;
    uint8_t *frame; ///< where the frame being received goes; NULL between frames
    uint32_t frame_tank, frame_bytes, frame_have;
    size_t staged;
    uint8_t staging[TARN_IPC_STAGING_BYTES];
} tarn_ipc_reader;

/// A sink without frame_space refuses frames.
void tarn_ipc_reader_init(tarn_ipc_reader *reader, const tarn_ipc_sink *sink);

/// Where the next bytes from the socket go, and how many fit; never 0.
uint8_t *tarn_ipc_reader_space(tarn_ipc_reader *reader, size_t *bytes_max);

/// Lets the rest of a tank's frame, where one is on its way, go to other memory: what it went to is written no more.
/// @param space  TARN_IPC_FRAME_BYTES_MAX, which must last as that of frame_space
void tarn_ipc_reader_divert(tarn_ipc_reader *reader, uint32_t tank, uint8_t *space);

/// Takes the bytes that were put there; calls the sink for every complete message.
/// @return TARN_OK, or why the stream cannot be continued
tarn_status tarn_ipc_reader_commit(tarn_ipc_reader *reader, size_t byte_count);

// ---- what of a probe is bytes ----
// Over a socket and in a session's file alike.

/// What a probe shows, a tarn_probe_shows.
static inline void probe_shows(byte_codec *codec, uint32_t *shows)
{
    count_up_to(codec, shows, TARN_SHOWS_COUNT - 1);
}

static inline void probe_place(byte_codec *codec, float at_m[3], float to_m[3])
{
    for (int axis = 0; axis < 3; axis++) {
        f32(codec, &at_m[axis]);
    }
    for (int axis = 0; axis < 3; axis++) {
        f32(codec, &to_m[axis]);
    }
}

/// A scene's solid, by its number.
static inline void probe_solid(byte_codec *codec, uint32_t *solid)
{
    count_up_to(codec, solid, TARN_ADDED_NUMBER_MIN - 1);
}

/// Refuses a label that people couldn't be shown.
static inline void probe_label_check(byte_codec *codec, const char *label)
{
    refuse_when(codec, tarn_text_fault((const uint8_t *)label, strlen(label)) != NULL);
}

#endif
