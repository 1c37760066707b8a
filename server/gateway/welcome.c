// Greetings, and whether messages can be written with what a worker said.
#include "server/gateway/welcome.h"

#include <stdio.h>
#include <string.h>

static bool can_be_written(const tarn_message *message)
{
    static uint8_t scratch[TARN_MESSAGE_SERVER_BYTES_MAX];
    size_t bytes;
    return tarn_message_write(message, scratch, sizeof scratch, &bytes) == TARN_OK;
}

void tarn_welcome_fill(const tarn_ipc_worker_hello *told, tarn_welcome *welcome)
{
    welcome->version = TARN_PROTOCOL_VERSION;
    snprintf(welcome->server, sizeof welcome->server, "tarnd %s", TARN_VERSION);
    memcpy(welcome->device, told->device, sizeof welcome->device);
    welcome->scene_count = told->scenes.count;
    memcpy(welcome->scenes, told->scenes.names, sizeof welcome->scenes);
}

bool tarn_welcome_can_tell_hello(const tarn_ipc_worker_hello *told)
{
    static tarn_message message;
    message.kind = TARN_MESSAGE_WELCOME;
    tarn_welcome_fill(told, &message.welcome);
    return can_be_written(&message);
}

bool tarn_welcome_can_tell_state(const tarn_session_state *state)
{
    static tarn_message message;
    message.kind = TARN_MESSAGE_STATE;
    message.state = *state;
    return can_be_written(&message);
}
