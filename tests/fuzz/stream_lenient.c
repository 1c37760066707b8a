// The decoder of streams without the check that a stream ends where it should. A fuzzer hardly ever writes streams that
// do; somebody who means harm does easily. What is behind the check has to hold for any symbols.
#include "protocol/code_tables.h"

#include <stddef.h>

#define tarn_ans_is_whole(reader) ((reader) != NULL)
#include "protocol/stream_decode.c"
