// A few addresses, each with the time up to which its turns are used.
#include "server/gateway/viewer_joins.h"
#include "server/gateway/barred.h"
#include "server/gateway/turn_taking.h"

bool tarn_viewer_joins_allow(tarn_viewer_joins *joins, const struct in6_addr *address)
{
    uint32_t place = 0;
    for (uint32_t i = 0; i < TARN_GATEWAY_JOIN_ADDRESSES; i++) {
        if (joins->of[i].due_ns != 0 && tarn_barred_is_one_place(&joins->of[i].address, address)) {
            return tarn_turn_allow(&joins->of[i].due_ns, TARN_GATEWAY_JOIN_ADDRESS_MS, TARN_GATEWAY_JOIN_ADDRESS_BURST);
        }
        place = joins->of[i].due_ns < joins->of[place].due_ns ? i : place;
    }
    joins->of[place].address = *address;
    joins->of[place].due_ns = 0;
    return tarn_turn_allow(&joins->of[place].due_ns, TARN_GATEWAY_JOIN_ADDRESS_MS, TARN_GATEWAY_JOIN_ADDRESS_BURST);
}
