/// Decodes frames on libuv's threads, those of one viewer at a time: whoever is chosen asks for a key frame and is
/// followed from there on, since frames refer to what came before. A few frames may wait for the decoder; one that
/// finds no room is left out, and that is counted.
#ifndef TARN_SERVER_TOOL_LOAD_CHECK_H
#define TARN_SERVER_TOOL_LOAD_CHECK_H

#include "server/tool/load/load_frame.h"

#include <uv.h>

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

#endif
