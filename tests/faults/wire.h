/// A wire between two network namespaces of this program's own, on which packets come late, one after another, or not
/// at all, as a test wishes: what netem does where a kernel has it, and the same on all kernels that have TUN devices.
///
///     near: lo, WIRE_NEAR  <-- tun -- a process that holds packets back -- tun -->  far: WIRE_FAR
///
/// The kernel's own TCP is at both ends: it measures the round trips, and sends again what was lost.
#ifndef TARN_TESTS_FAULTS_WIRE_H
#define TARN_TESTS_FAULTS_WIRE_H

#include "protocol/message.h"

#include <stdbool.h>
#include <stdint.h>

#define WIRE_NEAR "198.18.0.1" ///< addresses for benchmarks (RFC 2544)
#define WIRE_FAR "198.18.0.2"

/// How packets fare, in each direction. All zero: like on a good network.
typedef struct wire_weather {
    uint32_t delay_ms;     ///< at most 1000
    uint32_t kbit_per_s;   ///< 0: as fast as they come
    uint32_t lost_per_100; ///< drawn for each packet
    bool is_cut;           ///< all are lost
} wire_weather;

/// Takes this process into a namespace of its own, and makes the wire to another one. Once; what there is ends with the
/// process. @return TARN_OK, or TARN_E_IO and a sentence: it can't be had here
tarn_status wire_open(tarn_text why);

/// From now on.
void wire_set(const wire_weather *weather);

/// A connection over the wire, from its far end to a port of the near one; for ws_connect_by. @return a socket or -1
int wire_connect(uint16_t port);

#endif
