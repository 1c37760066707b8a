// Parts that read the options each time (requests, sessions, the page's origins) need nothing here; the others are told
// in tell_parts. A plan of descriptors that fails refuses the file as a whole, before anything has changed.
#include "server/gateway/reload.h"
#include "server/common/log.h"
#include "server/gateway/descriptors.h"
#include "server/gateway/gateway.h"
#include "server/gateway/moderation.h"
#include "server/gateway/option_value.h"
#include "server/gateway/tank_store.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

bool tarn_reload_has_something(const tarn_gateway *gateway)
{
    return tarn_gateway_options_have_file(&gateway->options) || gateway->options.token_keys != NULL ||
           gateway->options.store != NULL || tarn_tls_is_on(&gateway->tls);
}

/// The options' names with commas between them. @return how many there are
static uint32_t list_names(const bool *which, tarn_text text)
{
    uint32_t count = 0;
    size_t at = 0;
    for (uint32_t i = 0; i < tarn_option_count; i++) {
        if (which[i]) {
            const int length =
                snprintf(text + at, sizeof(tarn_text) - at, "%s%s", count++ > 0 ? ", " : "", tarn_option_table[i].name);
            at += at + (size_t)length < sizeof(tarn_text) ? (size_t)length : 0;
        }
    }
    return count;
}

/// What keeps a copy of an option. The options are those that hold now.
static void tell_parts(tarn_gateway *gateway)
{
    const tarn_gateway_options *options = &gateway->options;
    tarn_log_open("tarnd", options->log_level);
    gateway->sessions.per_address_max = tarn_listener_share(options->sessions_max);
    gateway->viewers.per_address_max = tarn_listener_share(gateway->listener.connections_max);
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        tarn_moderation_guests(&gateway->sessions.sessions[i], options->guests);
    }
    if (gateway->sessions.store != NULL) {
        tarn_store_set(gateway->sessions.store, options->durability_ms, &options->store_limit);
    }
    tarn_workers_configure(&gateway->workers, options->worker_timeout_s, tarn_log_level_name(options->log_level));
}

static void reload_options(tarn_gateway *gateway)
{
    tarn_gateway_options fresh;
    bool stays[TARN_OPTIONS_MAX] = {false}, changed[TARN_OPTIONS_MAX] = {false};
    tarn_text why, names;
    uint32_t connections_max = gateway->listener.connections_max;
    tarn_status status = tarn_gateway_options_reload(&gateway->options, &fresh, stays, why);
    if (status == TARN_OK && fresh.sessions_max != gateway->options.sessions_max) {
        status =
            tarn_descriptors_plan(fresh.devices.count, fresh.sessions_max, fresh.store != NULL, &connections_max, why);
        if (status != TARN_OK) {
            json_decref(fresh.file_text);
        }
    }
    if (status != TARN_OK) {
        tarn_log_error("all options stay as they were: %s", why);
        return;
    }
    for (uint32_t i = 0; i < tarn_option_count; i++) {
        changed[i] = !tarn_option_same(&tarn_option_table[i], &fresh, &gateway->options);
    }
    tarn_gateway_options_adopt(&gateway->options, &fresh);
    gateway->listener.connections_max = connections_max;
    tell_parts(gateway);
    tarn_log_info("%s was read again; changed: %s", gateway->options.config,
                  list_names(changed, names) > 0 ? names : "nothing");
    if (list_names(stays, names) > 0) {
        tarn_log_warn("%s: another value for %s holds only once tarnd is started again", gateway->options.config,
                      names);
    }
}

void tarn_reload(tarn_gateway *gateway)
{
    tarn_text why;
    if (tarn_gateway_options_have_file(&gateway->options)) {
        reload_options(gateway);
    }
    if (tarn_passes_reload(&gateway->passes, &gateway->options, why) != TARN_OK) {
        tarn_log_error("the keys of tokens stay as they were: %s", why);
    }
    if (tarn_tls_is_on(&gateway->tls)) {
        tarn_tls_reload(&gateway->tls);
    }
}
