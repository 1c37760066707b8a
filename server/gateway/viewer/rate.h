/// What one viewer is sent of each frame, so that frames don't queue on their way to it: how many layers, and whether
/// extra frames. Pure, but for what the kernel is asked; the caller brings the monotonic time.
///
///     0   1    2     layers - 1        layers                       layers + 1
///     1   2 .. layers, no extra ones   all, extra ones up to 30/s   everything
///
/// Of extra frames, on which no other depends, any may be left out: those that come sooner than they are to are.
///
/// The sign of a queue is the time from a frame's sending to its acknowledgement above the least such time: what of it
/// stays during all of TARN_VIEWER_RATE_LOOK_MS. A single large frame, whose bytes take their time, is none; nor is an
/// acknowledgement that is late without a queue on the way. Above TARN_VIEWER_RATE_DELAY_MS_MAX something is left out,
/// above four times as much two things are; then only what is sent from now on tells more. What was left out comes back
/// one by one after a calm time, which doubles when that was too much and is halved when there was room for more than
/// one (Nichols and Jacobson, "Controlling Queue Delay", is where the standing minimum comes from). A viewer that loses
/// the chain although it isn't just far away is too slow for it: it does without one thing more.
///
/// The least time falls with every shorter one. It rises only by a frame that was alone on its way, which no queue of
/// ours can have held up: where no time has come near the least for TARN_VIEWER_RATE_LEAST_MS, either the way is longer
/// now or a queue stands, and the next frame waits until nothing is on its way.
#ifndef TARN_SERVER_GATEWAY_VIEWER_RATE_H
#define TARN_SERVER_GATEWAY_VIEWER_RATE_H

#include "protocol/message.h"
#include "protocol/stream.h"
#include "server/gateway/viewer/fanout.h"

#include <stdbool.h>
#include <stdint.h>

// ---- what a stream takes ----
// Of a session, and so what of it fits below a viewer's ceilings.

enum { TARN_STREAM_TRAFFIC_MS = 2000, TARN_STREAM_TRAFFIC_MS_MIN = 500 }; ///< measured over, at most twice as long

#define TARN_STREAM_TRAFFIC_EXTRAS_MIN 0.1 ///< share of the extra frames below which there are none

typedef struct tarn_stream_traffic_span {
    uint64_t start_ns;
    uint32_t chain_frames, extra_frames;                ///< chain: key and base frames
    uint64_t key_bytes[TARN_STREAM_LAYERS_MAX];         ///< with so many layers and one more
    uint64_t chain_bytes[TARN_STREAM_LAYERS_MAX];       ///< the same
    uint64_t extra_bytes;                               ///< with all layers: nobody gets fewer of these
    uint64_t key_details, chain_details, extra_details; ///< of a field, for who asks for one and gets all layers
} tarn_stream_traffic_span;

typedef struct tarn_stream_traffic {
    uint32_t layer_count;                       ///< 0: nothing has come yet
    uint32_t particles[TARN_STREAM_LAYERS_MAX]; ///< of the newest frame, with so many layers and one more
    tarn_stream_traffic_span spans[2];          ///< the one before, and this one
} tarn_stream_traffic;

/// The most that a viewer's ceilings leave it.
typedef struct tarn_stream_share {
    uint32_t level;      ///< as above; UINT32_MAX: everything
    int keys_only;       ///< even the chain with one layer is too much
    uint64_t spacing_ns; ///< of extra frames to what was sent before; 0: any
} tarn_stream_share;

/// Forgets everything: another stream begins.
void tarn_stream_traffic_init(tarn_stream_traffic *traffic);

/// A frame came.
void tarn_stream_traffic_note(tarn_stream_traffic *traffic, const tarn_fanout_frame *frame, uint64_t now_ns);

/// What fits below ceilings. Where the stream is too young to tell, the ceilings of bytes and frames don't count yet.
tarn_stream_share tarn_stream_traffic_share(const tarn_stream_traffic *traffic, const tarn_view *view, uint64_t now_ns);

// ---- what of a frame is sent ----

enum {
    TARN_VIEWER_RATE_DELAY_MS_MAX = 50, ///< that a queue may stand
    TARN_VIEWER_RATE_CALM_MS_MAX = 25,  ///< mean delay of a calm time
    TARN_VIEWER_RATE_LOOK_MS = 500,     ///< longer than a key frame takes on a way that is fast enough
    TARN_VIEWER_RATE_LOOK_MIN = 3,      ///< acknowledgements to tell by
    TARN_VIEWER_RATE_LEAST_MS = 10000,  ///< without a time near the least before that is measured anew
    TARN_VIEWER_RATE_NEAR_MS = 5,       ///< above the least that counts as near it
    TARN_VIEWER_RATE_RAISE_MS = 2000,   ///< of calm, at first
    TARN_VIEWER_RATE_RAISE_MS_MAX = 32000,
    TARN_VIEWER_RATE_BASE_MS = 66,     ///< between frames that others refer to, about
    TARN_VIEWER_RATE_CALM_US = 33333,  ///< between the frames of a level that doesn't get all extra ones
    TARN_VIEWER_RATE_DENSE_US = 25000, ///< frames that are sent closer than this are more than those
    TARN_VIEWER_RATE_IN_FLIGHT_MIN = 4,
    TARN_VIEWER_RATE_IN_FLIGHT_MAX = 8,
};

typedef struct tarn_viewer_rate {
    uint32_t layer_count; ///< of the stream; 0: it has not begun
    uint32_t level;       ///< 0..layer_count + 1, as above
    uint32_t layers;      ///< sent since the last key frame; 0: none was sent
    uint32_t level_max;   ///< that the viewer wants
    bool keys_only;       ///< it wants no other frames
    uint64_t spacing_ns;  ///< that it wants extra frames to keep; 0: none
    uint64_t due_ns;      ///< when the next frame would keep its spacing (the generic cell rate algorithm)
    uint64_t sent_ns;     ///< when the newest frame was sent
    uint64_t dense_ns;    ///< when one was last sent close to another
    uint64_t least_ns;    ///< from sending to acknowledgement; UINT64_MAX: not known
    uint64_t near_ns;     ///< when the newest time near it came
    bool drains;          ///< it is being measured anew
    uint64_t look_ns;     ///< when this look began
    uint32_t look_count;
    uint64_t delay_min_ns, delay_sum_ns; ///< in this look
    uint64_t late_min_ns;                ///< the same of acknowledgements, whether or not there was a queue
    uint64_t late_ns;                    ///< that in the look before
    uint64_t calm_ns;                    ///< since when it is calm
    uint64_t raise_ms;                   ///< of calm before more is sent
    uint64_t lowered_ns;                 ///< when less was sent last; 0: never
    bool was_raised;                     ///< since then
} tarn_viewer_rate;

/// A viewer gets everything at first.
void tarn_viewer_rate_init(tarn_viewer_rate *rate);

/// How many layers of a frame to send. Between key frames they only get fewer.
/// @param layer_count  of the frame
uint32_t tarn_viewer_rate_layers(tarn_viewer_rate *rate, tarn_stream_kind kind, uint32_t layer_count);

/// The viewer wants no more than this, however much its network takes.
void tarn_viewer_rate_bound(tarn_viewer_rate *rate, const tarn_stream_share *share);

/// Whether it does without extra frames.
bool tarn_viewer_rate_skips_extras(const tarn_viewer_rate *rate);

/// Whether an extra frame may be sent to it now.
bool tarn_viewer_rate_takes_extra(const tarn_viewer_rate *rate, uint64_t now_ns);

/// A frame was sent.
void tarn_viewer_rate_sent(tarn_viewer_rate *rate, uint64_t now_ns);

/// How much later than in the least time an acknowledgement comes.
/// @param is_alone  nothing else was on its way when the frame was sent
uint64_t tarn_viewer_rate_lateness(tarn_viewer_rate *rate, uint64_t sent_ns, uint64_t now_ns, bool is_alone);

/// A frame was acknowledged.
/// @param late_ns   its lateness
/// @param queue_ns  that bytes wait on the way to it, as far as is known: no delay is more; UINT64_MAX: it isn't known.
///                  Not asked for where the lateness is at most TARN_VIEWER_RATE_CALM_MS_MAX
void tarn_viewer_rate_acknowledged(tarn_viewer_rate *rate, uint64_t sent_ns, uint64_t now_ns, uint64_t late_ns,
                                   uint64_t queue_ns);

/// Key and base frames that may be on their way at once: more where the way is long, one while that is measured.
uint32_t tarn_viewer_rate_in_flight_max(const tarn_viewer_rate *rate);

/// Nothing is on its way to it, and no frame comes that would tell more, as of a paused tank: what was left out comes
/// back as after any calm time. @return whether the same key frame would bring more than it did
bool tarn_viewer_rate_idle(tarn_viewer_rate *rate, uint64_t now_ns);

/// It can go on with nothing but a key frame.
void tarn_viewer_rate_lost(tarn_viewer_rate *rate, uint64_t now_ns);

// ---- what is on its way ----

/// Frames that were sent and not acknowledged, oldest first.
typedef struct tarn_viewer_flight {
    uint32_t count;
    struct {
        uint32_t epoch, number;
        uint64_t step, sent_ns;
        bool is_alone; ///< nothing else was on its way when it was sent
    } frames[TARN_VIEWER_RATE_IN_FLIGHT_MAX];
} tarn_viewer_flight;

/// What is known of a frame that has arrived.
typedef struct tarn_viewer_landing {
    uint64_t sent_ns;
    bool is_alone;
} tarn_viewer_landing;

/// A frame goes. There is room for TARN_VIEWER_RATE_IN_FLIGHT_MAX.
void tarn_viewer_flight_put(tarn_viewer_flight *flight, uint32_t epoch, uint32_t number, uint64_t step,
                            uint64_t sent_ns);

/// An acknowledgement has come: for the frame that it names and all before it.
/// @return false: it names none that is on its way, and changes nothing
bool tarn_viewer_flight_land(tarn_viewer_flight *flight, const tarn_ack *ack, tarn_viewer_landing *landing);

// ---- what the kernel knows of the way ----
// An acknowledgement comes late for many reasons, a busy processor at either end among them, and only one of them gets
// better by sending less.

#define TARN_VIEWER_PATH_UNKNOWN UINT64_MAX

/// How long bytes that are sent now would wait behind others (tcp(7), TCP_INFO): in the socket, at the rate at which
/// bytes are delivered, and on the way, by what a round trip takes beyond the shortest one.
/// @param fd  a TCP socket
/// @return TARN_VIEWER_PATH_UNKNOWN where the kernel can't tell
uint64_t tarn_viewer_path_queue_ns(int fd);

#endif
