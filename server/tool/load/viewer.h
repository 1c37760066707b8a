/// One connection: speaks tarn.v1, behaves as its kind does and notes what it sees. Private to `tarn load`.
#ifndef TARN_SERVER_TOOL_LOAD_VIEWER_H
#define TARN_SERVER_TOOL_LOAD_VIEWER_H

#include "server/tool/load/frame.h"
#include "server/tool/load/run.h"
#include "server/tool/load/socket.h"

#include <uv.h>

/// What all viewers share.
typedef struct load_crowd {
    const load_options *options;
    load_results *results;
    uv_loop_t loop;
    uint32_t viewer_count;
    struct load_viewer *viewers;
    uint32_t turn; ///< index of the viewer whose frames are checked next
    load_frame_log frames;
    load_checks checks;
    uint32_t opening;
    bool measuring;
    bool ending; ///< nobody comes back, and nothing is a failure any more
} load_crowd;

typedef enum load_phase {
    LOAD_IDLE = 0,     ///< not connected; comes at `due_ns`
    LOAD_OPENING = 1,  ///< connecting, upgrading
    LOAD_GREETING = 2, ///< hello was sent
    LOAD_JOINING = 3,  ///< join was sent
    LOAD_JOINED = 4,   ///< waits for its first frame
    LOAD_WATCHING = 5,
    LOAD_CLOSING = 6, ///< until the loop has let go of it
    LOAD_GONE = 7,    ///< for good
} load_phase;

typedef struct load_viewer {
    load_crowd *crowd;
    load_kind kind;
    load_phase phase;
    bool deaf;     ///< reads nothing
    bool gone;     ///< after closing: for good
    uint64_t seed; ///< of its random numbers
    uint32_t index;
    uv_poll_t poll;
    int polled;      ///< events asked for
    uint64_t due_ns; ///< idle: to connect; reconnecting: to leave; stalled: to ping; pusher: to push
    uint64_t opened_ns, last_frame_ns;
    uint64_t last_serial;  ///< of the newest frame; 0: none yet
    uint64_t bytes_before; ///< of `socket`, when the measurement began or since it is counted
    uint64_t bytes;        ///< measured, of earlier connections and this one
    uint32_t id;
    uint32_t frame_count; ///< of this connection
    load_frame_head head; ///< of the frame that is coming in; its inputs are gone
    uint64_t frame_bytes;
    load_chain chain;
    double read_tokens; ///< bytes that a slow viewer may read
    uint64_t ticked_ns;

    float size_m[3]; ///< of the tank
    uint32_t sequence, drag;
    uint32_t open_first, open_count; ///< inputs whose frame hasn't come
    struct {
        uint32_t sequence;
        bool measured, head_seen;
        uint64_t sent_ns;
    } open[LOAD_INPUTS_OPEN_MAX];

    load_socket socket;
} load_viewer;

void load_viewer_init(load_viewer *viewer, load_crowd *crowd, load_kind kind, uint32_t index);

/// Does what is due; every LOAD_TICK_MS.
void load_viewer_tick(load_viewer *viewer, uint64_t now_ns);

/// The measurement begins or ends.
void load_viewer_measure(load_viewer *viewer);

/// Whether frames are on their way to it.
bool load_viewer_listens(const load_viewer *viewer);

/// Measured inputs sent more than LOAD_INPUT_MS_MAX ago whose frame hasn't come.
uint32_t load_viewer_inputs_unseen(const load_viewer *viewer, uint64_t now_ns);

/// Closes it for good.
void load_viewer_leave(load_viewer *viewer);

/// Whether it has had its first frame, or will not come.
bool load_viewer_settled(const load_viewer *viewer);

#endif
