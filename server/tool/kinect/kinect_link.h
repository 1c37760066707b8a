/// The bridge's connection to a server: joins a session as any viewer does, sends inputs, reads of frames only the
/// head, and comes back by itself after a time that doubles. Everything on the loop's thread.
#ifndef TARN_SERVER_TOOL_KINECT_KINECT_LINK_H
#define TARN_SERVER_TOOL_KINECT_KINECT_LINK_H

#include "server/tool/load/load_frame.h"
#include "server/tool/load/load_socket.h"

#include <uv.h>

enum {
    KINECT_SENT_MAX = 256,
    KINECT_MESSAGE_BYTES = 256, ///< of a motion's message besides its cells, with all headers, at most
};

typedef enum kinect_link_phase {
    KINECT_LINK_WAITING = 0, ///< until the next try
    KINECT_LINK_OPENING = 1,
    KINECT_LINK_JOINING = 2,
    KINECT_LINK_JOINED = 3,
    KINECT_LINK_CLOSING = 4,
    KINECT_LINK_REFUSED = 5, ///< for good: trying again would end the same way
} kinect_link_phase;

typedef struct kinect_link {
    // set by the owner
    const char *command; ///< begins what is said
    load_target target;
    tarn_name session;
    tarn_pass key;
    tarn_name viewer;

    uv_loop_t *loop;
    uv_poll_t poll;
    uv_timer_t timer;
    load_socket socket;
    load_frame_head head;
    kinect_link_phase phase;
    int polled;
    bool said_lost, said_role, ending;
    tarn_text said_error; ///< the server's last complaint that was said, and when
    uint64_t said_error_ns;
    uint32_t unsaid_errors; ///< since then, so many that saying them would fill a log
    uint32_t wait_ms;
    uint32_t viewer_id, sequence;
    float size_m[3]; ///< of the tank; zeros: not known
    tarn_role role;

    struct {
        uint32_t sequence;
        uint64_t from_ns;    ///< when what it tells of arrived from the camera
    } sent[KINECT_SENT_MAX]; ///< not yet in a frame
    uint32_t sent_first, sent_count;
    uint64_t latency_ns, latency_max_ns; ///< from the camera to the head of a frame that has it: sum, largest
    uint32_t latency_count;
    uint64_t bytes_sent;
} kinect_link;

/// Begins to connect. The fields above are set, the rest is zero.
void kinect_link_start(kinect_link *link, uv_loop_t *loop);

/// Whether an input may be sent now: joined, the tank's size known, nothing waits.
bool kinect_link_ready(const kinect_link *link);

/// Sends a motion. @param from_ns  see `sent`. @return whether it went
bool kinect_link_send(kinect_link *link, const tarn_input_motion *motion, uint64_t from_ns);

/// Says goodbye and closes everything; the loop then ends by itself.
void kinect_link_end(kinect_link *link);

#endif
