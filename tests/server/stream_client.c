#include "tests/server/stream_client.h"
#include "server/base/clock.h"
#include "tests/server/test_cmocka.h"

#include <string.h>

void stream_client_enter(stream_client *client, uint16_t port)
{
    memset(client, 0, sizeof *client);
    ws_client_enter(&client->ws, port);
}

void stream_client_close(stream_client *client)
{
    ws_client_close(&client->ws);
}

void stream_client_ack(stream_client *client)
{
    const tarn_message message = {
        .kind = TARN_MESSAGE_ACK,
        .ack = {client->frame.head.epoch, client->frame.head.step, client->frame.head.number, client->wants_key}};
    ws_client_tell(&client->ws, &message);
}

bool stream_client_next(stream_client *client, int wait_ms)
{
    const uint64_t until_ns = tarn_clock_monotonic_ns() + (uint64_t)wait_ms * 1000000;
    for (;;) {
        ws_message raw;
        const uint64_t now_ns = tarn_clock_monotonic_ns();
        if (ws_client_next(&client->ws, &raw, now_ns < until_ns ? (int)((until_ns - now_ns) / 1000000) : 0) != 1) {
            return false;
        }
        if (raw.opcode != WS_BINARY || raw.byte_count < 4 || memcmp(raw.bytes, "TRNF", 4) != 0) {
            continue;
        }
        client->bytes = raw.bytes;
        client->byte_count = raw.byte_count;
        assert_int_equal(tarn_stream_open(raw.bytes, raw.byte_count, &client->frame), TARN_OK);
        client->particles = client->ws.decoder.particles;
        client->status = client->ws.decoder.status;
        if (client->ws.auto_ack) {
            stream_client_ack(client);
        }
        return true;
    }
}

void stream_client_see(stream_client *client)
{
    if (!stream_client_next(client, WS_CLIENT_WAIT_MS)) {
        if (client->ws.close_code != 0) {
            fail_msg("no frame came: the connection ended with %u: %s", client->ws.close_code, client->ws.close_reason);
        }
        fail_msg("no frame came in %d ms", WS_CLIENT_WAIT_MS);
    }
    if (client->status != TARN_OK) {
        fail_msg("frame %u of kind %u: %s", client->frame.head.number, client->frame.head.kind,
                 tarn_status_text(client->status));
    }
}
