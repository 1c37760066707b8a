/// The worker's end of the socketpair: messages out through a bounded buffer, frames out through two buffers per tank
/// of which the newest wins, messages in through the reader. The socket never blocks; a gateway that does not read
/// costs frames, never steps; what it says isn't read then, so that there is room for every answer.
///
/// A tank's frame is encoded into the buffer that is not being sent; what waits there gives way, unless others refer to
/// it: then there is no room until it is on its way. Messages go before frames, and a frame that was
/// begun is finished first.
#ifndef TARN_SERVER_WORKER_LINK_H
#define TARN_SERVER_WORKER_LINK_H

#include "protocol/status.h"
#include "server/base/ipc.h"
#include "server/worker/limits.h"

#include <stdbool.h>

/// The frames of one tank. A buffer is TARN_IPC_FRAME_BYTES_MAX of address space; memory is used as frames need it.
typedef struct tarn_frame_slot {
    uint8_t *buffers[2]; ///< its stamps' message, the header of its own, then the frame
    size_t bytes[2];
    int filled;        ///< the buffer that waits to be sent, or -1
    int sending;       ///< the buffer that is being sent, or -1
    int given;         ///< the buffer that was given out last: sending the other one may end while this one is filled
    bool is_kept;      ///< what waits doesn't give way to newer ones
    uint32_t replaced; ///< frames that gave way to newer ones
} tarn_frame_slot;

typedef struct tarn_worker_link {
    int fd;
    tarn_ipc_reader reader;
    tarn_frame_slot slots[TARN_WORKER_PLACES_MAX];
    uint32_t slot_count; ///< up to the last that had a frame
    int slot_sending;    ///< or -1
    int slot_last;       ///< whose frame was sent last, so that all get their turn
    size_t slot_sent;
    uint32_t fd_count; ///< descriptors that came along with messages, and whose message was not read yet
    int fds[TARN_WORKER_FDS_MAX];
    size_t out_bytes;
    uint8_t out[TARN_WORKER_OUT_BYTES_MAX];
} tarn_worker_link;

/// Takes the descriptor as it is, nonblocking. `sink` gets what arrives.
tarn_status tarn_worker_link_open(tarn_worker_link *link, int fd, const tarn_ipc_sink *sink);
void tarn_worker_link_close(tarn_worker_link *link);

/// Queues a message. @return TARN_OK, or TARN_E_SPACE: the gateway does not read; try again later or let it be
tarn_status tarn_worker_link_put(tarn_worker_link *link, const tarn_ipc_message *message);

/// Queues a refusal, to one viewer of a tank or to all of them (viewer_id 0). @return as tarn_worker_link_put
tarn_status tarn_worker_link_refuse(tarn_worker_link *link, uint32_t tank, uint32_t viewer_id, uint32_t sequence,
                                    uint32_t code, const char *why);

/// Where to encode the next frame of the tank in this slot: TARN_IPC_FRAME_BYTES_MAX bytes; NULL without memory. Others
/// may be sent meanwhile.
uint8_t *tarn_worker_link_frame_space(tarn_worker_link *link, uint32_t slot);

/// Queues what was encoded there, in place of an older frame that still waits.
/// @param is_kept  newer frames refer to it
void tarn_worker_link_frame_put(tarn_worker_link *link, uint32_t slot, uint32_t tank, uint32_t frame_bytes,
                                const tarn_ipc_stamps *stamps, bool is_kept);

/// Whether a frame waits that may not give way: none may be encoded.
bool tarn_worker_link_frame_waits(const tarn_worker_link *link, uint32_t slot);

/// Forgets a frame that waits; one that is being sent is finished.
void tarn_worker_link_frame_drop(tarn_worker_link *link, uint32_t slot);

/// Whether something waits to be sent.
bool tarn_worker_link_waiting(const tarn_worker_link *link);

/// Sends what the socket takes. @return TARN_OK or TARN_E_IO: the gateway is gone
tarn_status tarn_worker_link_flush(tarn_worker_link *link);

/// Whether there is room for what answers the next messages.
bool tarn_worker_link_reads(const tarn_worker_link *link);

/// Reads what is there, at most TARN_WORKER_READ_BYTES_MAX, and nothing while there is no room for answers.
/// @return TARN_OK, TARN_E_IO (the gateway is gone), or what the reader or the sink returned
tarn_status tarn_worker_link_read(tarn_worker_link *link);

/// Hands out the descriptor that came along with the message that is being read; the caller's. @return -1: none did
int tarn_worker_link_take_fd(tarn_worker_link *link);

#endif
