// Any bytes from a socket through the gate to libwebsockets: the first byte says in what pieces. Of what is passed on,
// a request reads the same again, and frames are those that came.
#include "server/net/gate.h"
#include "tests/fuzz/fuzz_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/// As a socket that stays open.
static ssize_t read_source(void *from, void *bytes, size_t byte_count)
{
    const ssize_t got = byte_source_read(from, bytes, byte_count);
    if (got == 0) {
        errno = EAGAIN;
        return -1;
    }
    return got;
}

static void on_fault(void *user, const tarn_ws_fault *fault)
{
    (void)user;
    require(fault->close_code >= 1002 && fault->close_code <= 1009 && strlen(fault->why) <= 123);
}

static bool same(tarn_http_value a, tarn_http_value b)
{
    return a.bytes == b.bytes && (a.bytes == 0 || memcmp(a.at, b.at, a.bytes) == 0);
}

/// What is passed on has one reading, and it is the one that the gate had.
static void check_request(const tarn_gate *gate, const char *bytes, size_t byte_count)
{
    static tarn_http_head again;
    size_t end = 0;
    tarn_text why;
    require(byte_count <= TARN_GATEWAY_READ_BYTES);
    require(tarn_http_head_find_end(bytes, byte_count, &end, why) == TARN_HTTP_WHOLE);
    tarn_http_head_read(bytes, end, &again);
    if (gate->head.status != 0) {
        require(end == byte_count && strnlen(gate->head.why, sizeof gate->head.why) > 0 && again.closes);
        return;
    }
    const size_t body_bytes = gate->head.method == TARN_HTTP_POST ? gate->head.body_bytes : 0;
    require(again.status == 0 && again.method == gate->head.method && again.is_upgrade == gate->head.is_upgrade &&
            again.is_upload == gate->head.is_upload);
    require(again.body_bytes == body_bytes);
    require(gate->head.is_upload ? byte_count - end == gate->upload_bytes && gate->upload_bytes <= body_bytes
                                 : byte_count - end == body_bytes);
    require(same(again.path, gate->head.path) && same(again.host, gate->head.host) &&
            same(again.origin, gate->head.origin) && same(again.authorization, gate->head.authorization));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count)
{
    static tarn_gate gate;
    static char passed[TARN_GATEWAY_READ_BYTES];
    if (byte_count == 0) {
        return 0;
    }
    byte_source from = {bytes + 1, byte_count - 1, (size_t)bytes[0] + 1};
    tarn_gate_open(&gate, 3, 0, on_fault, NULL);
    for (int i = 0; i < 1000; i++) {
        const bool is_frames = gate.phase == TARN_GATE_FRAMES || gate.phase == TARN_GATE_UPLOAD; // as they come
        const uint8_t *at = from.bytes;
        const ssize_t got = tarn_gate_read(&gate, read_source, &from, passed, sizeof passed);
        if (got <= 0) {
            break;
        }
        if (is_frames) {
            require(memcmp(passed, at, (size_t)got) == 0);
            if (gate.phase == TARN_GATE_ANSWERING) {
                require(gate.upload_bytes == gate.head.body_bytes);
                tarn_gate_answered(&gate, 0);
            }
            continue;
        }
        check_request(&gate, passed, (size_t)got);
        if (gate.phase == TARN_GATE_ANSWERING) {
            tarn_gate_answered(&gate, 0);
        }
    }
    tarn_gate_close(&gate);
    return 0;
}
