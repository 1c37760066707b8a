/// Decodes frames on libuv's threads. A few at a time: where all are busy a frame goes unchecked, and that is counted.
#ifndef TARN_SERVER_TOOL_LOAD_CHECK_H
#define TARN_SERVER_TOOL_LOAD_CHECK_H

#include "protocol/status.h"
#include "server/tool/load/load_frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum { LOAD_CHECKS_AT_ONCE = 2 };

struct load_checks;

typedef struct load_check {
    struct load_checks *checks;
    bool used;
    uv_work_t work;
    uint8_t *bytes;
    size_t room_bytes, byte_count;
    load_frame_room room;
    tarn_status status;
} load_check;

/// Loop thread only.
typedef struct load_checks {
    uv_loop_t *loop;
    void (*done)(void *user, tarn_status status);
    void *user;
    load_check checks[LOAD_CHECKS_AT_ONCE];
} load_checks;

/// @param done  is told how each check ended, on the loop's thread
void load_checks_init(load_checks *checks, uv_loop_t *loop, void (*done)(void *user, tarn_status status), void *user);

/// Frees everything; none may be running.
void load_checks_free(load_checks *checks);

/// A check with room for so many bytes at `bytes`; NULL where all are busy or memory is short.
load_check *load_check_take(load_checks *checks, size_t byte_count);

/// The bytes are there: decodes them, calls `done` and gives the check back.
void load_check_run(load_check *check);

/// The bytes will not come.
void load_check_drop(load_check *check);

#endif
