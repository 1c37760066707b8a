/// `tarn top`: what a server told of itself at one moment, its /metrics and /sessions, read; and the table of that.
/// Pure; for top.c, and for tests.
#ifndef TARN_SERVER_TOOL_TOP_H
#define TARN_SERVER_TOOL_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOP_TANKS_MAX = 64, TOP_BUCKETS_MAX = 32, TOP_NAME_BYTES = 136 };

/// How many inputs took how long at most, since the tank began.
typedef struct top_latency {
    uint32_t bucket_count;
    double bound_s[TOP_BUCKETS_MAX]; ///< rising; the last one is infinite
    double below[TOP_BUCKETS_MAX];   ///< so many took that long or less
} top_latency;

typedef struct top_tank {
    char name[TOP_NAME_BYTES], scene[TOP_NAME_BYTES]; ///< printable; the latter may be empty
    int worker;                                       ///< -1: none
    double viewers, step_s, realtime_factor;
    double bytes_sent, frames_skipped, worker_losses; ///< since the tank began
    top_latency latency;
} top_tank;

typedef struct top_sample {
    uint64_t when_ns; ///< monotonic
    char version[64]; ///< printable
    double viewers, bytes_sent, open_fds, max_fds, resident_bytes;
    uint32_t workers, workers_ready;
    uint32_t tank_count;
    uint32_t tanks_left_out; ///< for which there was no place
    top_tank tanks[TOP_TANKS_MAX];
} top_sample;

/// Reads the text of /metrics, which it cuts into pieces. Lines that it can't read are left out.
/// @return false: there is nothing of tarnd's in it
bool top_sample_read_metrics(top_sample *sample, char *text);

/// Adds the tanks' scenes, by /sessions. What can't be read changes nothing.
void top_sample_read_sessions(top_sample *sample, const char *text, size_t text_bytes);

/// The time below which a share of the inputs stayed that came between two moments, by interpolation in its bucket.
/// @param before  NULL: since the tank began  @param share  0..1
/// @return seconds; infinite: it is above the last bound; -1: no inputs came
double top_latency_quantile(const top_latency *before, const top_latency *now, double share);

// ---- the table ----
// Of tanks as lines of text, 80 columns at most.

enum { TOP_COLUMNS = 80, TOP_TABLE_BYTES = (TOP_TANKS_MAX + 8) * 4 * TOP_COLUMNS };

/// Writes the table: each line ends with '\n'.
/// @param before   the sample that rates are counted from; NULL: there is none, and no rate
/// @param long_ago the one that latencies are counted from; NULL: since each tank began
/// @param rows     lines that there is room for, at least 6; tanks that find none are counted in the last one
void top_table_write(const char *authority, const top_sample *before, const top_sample *long_ago, const top_sample *now,
                     uint32_t rows, char text[TOP_TABLE_BYTES]);

#endif
