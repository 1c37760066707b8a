/// The frames that are on their way to one viewer: sent and not acknowledged, oldest first. Pure.
#ifndef TARN_SERVER_GATEWAY_VIEWER_FLIGHT_H
#define TARN_SERVER_GATEWAY_VIEWER_FLIGHT_H

#include "protocol/message.h"
#include "server/gateway/viewer_rate.h"

#include <stdbool.h>

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

#endif
