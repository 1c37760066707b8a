/// Grids of motion as they travel: how what a camera sees moves, cell by cell. SPEC.md, "Motion cells".
///
/// Four planes of rows x columns bytes one behind the other, rows from the rectangle's corner upwards: presence (0:
/// nobody, 255: all of the cell), then the velocity along the rectangle's two edges and across it, signed, times
/// speed_m_s / 127. All of it is run-length coded.
///
/// Allocates nothing.
#ifndef TARN_PROTOCOL_MOTION_CODE_H
#define TARN_PROTOCOL_MOTION_CODE_H

#include "protocol/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TARN_MOTION_COLUMNS_MAX = 160,
    TARN_MOTION_ROWS_MAX = 120,
    TARN_MOTION_PLANES = 4,
    TARN_MOTION_BYTES_MAX = TARN_MOTION_PLANES * TARN_MOTION_COLUMNS_MAX * TARN_MOTION_ROWS_MAX,
    TARN_MOTION_CODE_BYTES_MAX = 15360, ///< so that a message with them has room for the rest
};

#ifdef __cplusplus
extern "C" {
#endif

/// @param count  of bytes in the planes, 1..TARN_MOTION_BYTES_MAX
/// @return bytes written; 0: they are more than bytes_max
size_t tarn_motion_encode(const uint8_t *planes, size_t count, uint8_t *bytes, size_t bytes_max);

/// @param planes  receives count bytes; NULL: the code is only checked
/// @return TARN_OK; TARN_E_TRUNCATED: there are fewer than count; TARN_E_MALFORMED: there are more, something lies
///         behind them, or a head is 128. *planes is defined only on TARN_OK
tarn_status tarn_motion_decode(const uint8_t *bytes, size_t byte_count, uint8_t *planes, size_t count);

/// Whether any byte from a place on isn't zero: of a code that decodes.
bool tarn_motion_has(const uint8_t *bytes, size_t byte_count, size_t from);

#ifdef __cplusplus
}
#endif
#endif
