// What one viewer asks for against what the others do.
#include "server/gateway/session_carried.h"
#include "protocol/channel.h"
#include "server/gateway/viewer.h"

#include <string.h>

static bool has_channel(const tarn_session_state *state, const tarn_view *view)
{
    for (uint32_t i = 0; i < state->channel_count; i++) {
        if (strcmp(state->channels[i].name, view->channel) == 0) {
            return tarn_channel_is_carried(view->channel);
        }
    }
    return false;
}

static bool has_field(const tarn_session_state *state, const tarn_view *view)
{
    for (uint32_t i = 0; i < state->field_count; i++) {
        if (strcmp(state->fields[i].name, view->field) == 0) {
            return true;
        }
    }
    return false;
}

void tarn_session_carried(const tarn_session *session, tarn_ipc_audience *wanted)
{
    wanted->channel[0] = wanted->field[0] = 0;
    wanted->readings = tarn_session_probes_are_watched(session);
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        const tarn_view *view = &session->viewers[i]->view;
        const bool looks = !view->hidden;
        if (looks && has_channel(&session->state, view) &&
            (wanted->channel[0] == 0 || strcmp(view->channel, session->carried_told.channel) == 0)) {
            memcpy(wanted->channel, view->channel, sizeof wanted->channel);
        }
        if (looks && has_field(&session->state, view) &&
            (wanted->field[0] == 0 || strcmp(view->field, session->carried_told.field) == 0)) {
            memcpy(wanted->field, view->field, sizeof wanted->field);
        }
    }
}
