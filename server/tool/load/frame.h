/// The only place where `tarn load` knows what a frame looks like: its head, read while the rest is still on its way,
/// what a viewer's frames have to do with one another, their decoding, and how they and their times are counted.
#ifndef TARN_SERVER_TOOL_LOAD_FRAME_H
#define TARN_SERVER_TOOL_LOAD_FRAME_H

#include "protocol/stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum {
    LOAD_FRAME_MAGIC_BYTES = 4, ///< that tell a frame from a message
    LOAD_FRAME_HEAD_BYTES_MAX = TARN_FRAME_HEADER_BYTES_MAX + TARN_FRAME_INPUTS_MAX * TARN_FRAME_INPUT_BYTES +
                                TARN_STREAM_LAYERS_MAX * TARN_STREAM_LAYER_BYTES + TARN_STREAM_FIELD_BYTES,
    LOAD_FRAME_BYTES_MAX = 64 << 20,
    LOAD_FRAME_KINDS = TARN_STREAM_EXTRA + 1,
};

/// What decoding one viewer's frames may take.
#define LOAD_DECODER_BYTES_MAX ((size_t)2 << 30)

/// What the head says of the frame, and its input table as it came, which points into the reader's bytes.
typedef struct load_frame_head {
    tarn_stream_kind kind;
    uint32_t epoch;
    uint64_t step;
    uint32_t number, reference;
    uint32_t layers; ///< that are there
    uint32_t input_count;
    const uint8_t *inputs;
} load_frame_head;

/// @param bytes  LOAD_FRAME_MAGIC_BYTES or more
bool load_frame_begins(const uint8_t *bytes);

/// Reads the head out of the first bytes of a frame.
/// @param byte_count   what there is: min(frame_bytes, LOAD_FRAME_HEAD_BYTES_MAX) is always enough
/// @param frame_bytes  of the frame as it was sent, as the WebSocket says
/// @return TARN_OK, or why it isn't a frame that this program reads
tarn_status load_frame_head_read(const uint8_t *bytes, size_t byte_count, uint64_t frame_bytes, load_frame_head *head);

/// The newest input of a viewer that the frame contains; 0: the frame doesn't say.
uint32_t load_frame_input_of(const load_frame_head *head, uint32_t viewer_id);

/// What a viewer was sent, as far as the next frame depends on it. All zero: nothing.
typedef struct load_chain {
    bool begun;         ///< with a key frame
    uint32_t epoch;     ///< of all since the last key frame
    uint32_t number;    ///< of the newest frame
    uint32_t reference; ///< number of the newest key or base frame
    uint64_t step;
} load_chain;

/// Notes the next frame that a viewer is sent. @return NULL, or what is wrong with sending that frame to it, for people
const char *load_chain_follow(load_chain *chain, const load_frame_head *head);

/// Decodes one viewer's frames, in their order and from a key frame on. All zero to begin with; its memory grows as
/// key frames ask for it, up to LOAD_DECODER_BYTES_MAX.
typedef struct load_decoder {
    void *memory;
    tarn_stream *stream;
    tarn_stream_particles particles;
} load_decoder;

void load_decoder_free(load_decoder *decoder);

/// Opens and decodes a frame, and looks whether all particles that it announces are there and inside the tank.
/// @return TARN_OK, TARN_E_MEMORY, TARN_E_LIMIT, or what is wrong with the frame
tarn_status load_decoder_decode(load_decoder *decoder, const uint8_t *bytes, size_t byte_count);

// ---- frames decoded aside ----
// Decodes frames on libuv's threads, those of one viewer at a time: whoever is chosen asks for a key frame and is
// followed from there on, since frames refer to what came before. A few frames may wait for the decoder; one that
// finds no room is left out, and that is counted.

enum {
    LOAD_CHECK_FRAMES_MAX = 4,  ///< that are being received, wait or are being decoded
    LOAD_CHECK_FOLLOW_MAX = 40, ///< frames of one viewer, up to its next key frame
    LOAD_CHECK_WAIT_MS = 3000,  ///< for the key frame of the viewer that was chosen, before it is another's turn
};

/// A frame that is being received, waits or is being decoded.
typedef struct load_kept_frame {
    uint8_t *bytes;
    size_t room_bytes, byte_count;
} load_kept_frame;

/// Loop thread only.
typedef struct load_checks {
    uv_loop_t *loop;
    uint32_t every;                               ///< one of so many frames is to be decoded; 0: none
    const void *(*choose)(void *user);            ///< the viewer whose turn it is, or NULL
    void (*done)(void *user, tarn_status status); ///< how a check ended
    void *user;
    uint64_t seen, taken; ///< frames
    uint64_t left_out;    ///< frames of followed viewers that found no room
    const void *whose;    ///< the viewer that is followed, or is to be; NULL: nobody
    uint64_t chosen_ns;
    uint32_t followed; ///< of its frames
    bool following;    ///< its key frame has come
    bool receiving;    ///< the last one of `frames` is on its way
    bool working;      ///< the first one is being decoded
    uint32_t first, count;
    load_kept_frame frames[LOAD_CHECK_FRAMES_MAX]; ///< a ring
    tarn_status status;
    load_decoder decoder;
    uv_work_t work;
} load_checks;

/// The members above `seen` are set by the caller, the others are zero.
void load_checks_init(load_checks *checks);

/// Frees everything; the loop has ended.
void load_checks_free(load_checks *checks);

/// A viewer's next frame is on its way. @return where to put its bytes; NULL: it is not to be checked
uint8_t *load_checks_frame(load_checks *checks, const void *viewer, tarn_stream_kind kind, size_t byte_count,
                           uint64_t now_ns);

/// Whether this viewer's key frame is waited for.
bool load_checks_wants_key(const load_checks *checks, const void *viewer);

/// The frame that this viewer was given room for is there.
void load_checks_frame_end(load_checks *checks, const void *viewer);

/// No more frames of this viewer will come.
void load_checks_leave(load_checks *checks, const void *viewer);

// ---- the log of frames ----
// Numbers the frames that anybody was sent, so that a viewer's gaps can be counted: steps alone don't tell a frame
// that was dropped from one that the server never made.

enum { LOAD_FRAME_LOG_ENTRIES = 1024 };

/// All zero: empty.
typedef struct load_frame_log {
    uint64_t count; ///< different frames so far: the serial of the newest
    struct {
        uint32_t epoch;
        uint64_t step;
    } entries[LOAD_FRAME_LOG_ENTRIES];
} load_frame_log;

/// The serial of a frame, 1 and up; a new one where it is newer than all before. One that is older than the log
/// reaches, or that was overtaken by newer ones before anybody had it, gets the nearest there is.
uint64_t load_frame_log_note(load_frame_log *log, uint32_t epoch, uint64_t step);

// ---- histograms ----
// Times, counted in buckets whose width is a hundredth of where they lie, so that percentiles of a long run cost no
// memory.

enum {
    LOAD_HISTOGRAM_PARTS_LOG2 = 7, ///< buckets of each power of two
    LOAD_HISTOGRAM_BUCKETS = (64 - LOAD_HISTOGRAM_PARTS_LOG2 + 1) << LOAD_HISTOGRAM_PARTS_LOG2,
};

/// All zero: empty.
typedef struct load_histogram {
    uint64_t count, sum_ns, max_ns;
    uint32_t buckets[LOAD_HISTOGRAM_BUCKETS];
} load_histogram;

void load_histogram_add(load_histogram *histogram, uint64_t ns);

/// The time that a share of what was counted doesn't exceed, 0 < share <= 1: the middle of its bucket, and never more
/// than the largest. @return nanoseconds; 0 where nothing was counted
uint64_t load_histogram_at(const load_histogram *histogram, double share);

#endif
