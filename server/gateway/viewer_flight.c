// A short array of frames, oldest first: an acknowledgement lands its frame and all before it.
#include "server/gateway/viewer_flight.h"
#include "protocol/assert.h"

#include <string.h>

void tarn_viewer_flight_put(tarn_viewer_flight *flight, uint32_t epoch, uint32_t number, uint64_t step,
                            uint64_t sent_ns)
{
    TARN_ASSERT(flight->count < sizeof flight->frames / sizeof flight->frames[0]);
    TARN_ASSERT(flight->count == 0 || flight->frames[flight->count - 1].sent_ns <= sent_ns);
    const uint32_t i = flight->count++;
    flight->frames[i].epoch = epoch;
    flight->frames[i].number = number;
    flight->frames[i].step = step;
    flight->frames[i].sent_ns = sent_ns;
    flight->frames[i].is_alone = i == 0;
}

/// By its number, or by its step where that isn't said.
static bool names_frame(const tarn_viewer_flight *flight, uint32_t i, const tarn_ack *ack)
{
    return flight->frames[i].epoch == ack->epoch &&
           (ack->number ? flight->frames[i].number == ack->number : flight->frames[i].step == ack->step);
}

bool tarn_viewer_flight_land(tarn_viewer_flight *flight, const tarn_ack *ack, tarn_viewer_landing *landing)
{
    for (uint32_t i = flight->count; i > 0; i--) {
        if (!names_frame(flight, i - 1, ack)) {
            continue;
        }
        landing->sent_ns = flight->frames[i - 1].sent_ns;
        landing->is_alone = flight->frames[i - 1].is_alone;
        memmove(flight->frames, flight->frames + i, (flight->count - i) * sizeof flight->frames[0]);
        TARN_ASSERT(flight->count >= i);
        flight->count -= i;
        return true;
    }
    return false;
}
