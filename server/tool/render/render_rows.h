/// Work on the rows of a picture, by several threads.
#ifndef TARN_SERVER_TOOL_RENDER_RENDER_ROWS_H
#define TARN_SERVER_TOOL_RENDER_RENDER_ROWS_H

#include <stdint.h>

/// Handles begin <= i < end. Writes nothing that another range reads or writes, so that the result does not depend on
/// who handles what.
typedef void (*render_rows_fn)(void *context, uint32_t begin, uint32_t end);

/// Handles 0 <= i < count in ranges of at most `range` and waits for them all. Where a thread can't be had, the others
/// do its work.
void render_rows(uint32_t threads, uint32_t count, uint32_t range, render_rows_fn fn, void *context);

/// Processors that there are, at most RENDER_THREADS_MAX.
uint32_t render_rows_threads(void);

enum { RENDER_THREADS_MAX = 64 };

#endif
