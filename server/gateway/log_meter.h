/// Keeps what many may cause at once from filling the log: so many lines a second, and how many were left out.
#ifndef TARN_SERVER_GATEWAY_LOG_METER_H
#define TARN_SERVER_GATEWAY_LOG_METER_H

#include <stdbool.h>
#include <stdint.h>

/// Zeros at first.
typedef struct tarn_log_meter {
    uint64_t due_ns;   ///< up to when lines are used up
    uint64_t told_ns;  ///< when it was told how many were left out
    uint32_t left_out; ///< since then
} tarn_log_meter;

/// @return whether a line may be written now; else it counts as left out
bool tarn_log_meter_allow(tarn_log_meter *meter);

/// How many were left out, at most once a second. @return 0: none, or not now
uint32_t tarn_log_meter_left_out(tarn_log_meter *meter, uint64_t now_ns);

#endif
