/// The table of tanks as lines of text, 80 columns at most.
#ifndef TARN_SERVER_TOOL_TOP_TABLE_H
#define TARN_SERVER_TOOL_TOP_TABLE_H

#include "server/tool/top/top_sample.h"

enum { TOP_COLUMNS = 80, TOP_TABLE_BYTES = (TOP_TANKS_MAX + 8) * 4 * TOP_COLUMNS };

/// Writes the table: each line ends with '\n'.
/// @param before   the sample that rates are counted from; NULL: there is none, and no rate
/// @param long_ago the one that latencies are counted from; NULL: since each tank began
/// @param rows     lines that there is room for, at least 6; tanks that find none are counted in the last one
void top_table_write(const char *authority, const top_sample *before, const top_sample *long_ago, const top_sample *now,
                     uint32_t rows, char text[TOP_TABLE_BYTES]);

#endif
