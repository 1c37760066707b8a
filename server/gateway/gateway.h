/// What the parts of the gateway share: one thread, one loop, one of each of these. A session has one of the workers.
///
///     listener --sockets--> web (libwebsockets) --> http: pages, health, metrics
///                                               --> viewer: one WebSocket --> session: a tank and who watches it
///                                                                               |  fanout: its newest frame
///     workers: a process for each device <-- inputs, controls; frames, states ---------+
#ifndef TARN_SERVER_GATEWAY_GATEWAY_H
#define TARN_SERVER_GATEWAY_GATEWAY_H

#include "server/gateway/listener.h"
#include "server/gateway/metrics.h"
#include "server/gateway/options.h"
#include "server/gateway/pages/files.h"
#include "server/gateway/pages/scenes.h"
#include "server/gateway/pages/sessions.h"
#include "server/gateway/reach.h"
#include "server/gateway/rights/passes.h"
#include "server/gateway/service_manager.h"
#include "server/gateway/session/session.h"
#include "server/gateway/session/uploads.h"
#include "server/gateway/tls.h"
#include "server/gateway/viewer/viewer.h"
#include "server/gateway/worker/move.h"
#include "server/gateway/worker/process.h"

#include <libwebsockets.h>
#include <stdbool.h>
#include <uv.h>

typedef struct tarn_gateway {
    tarn_gateway_options options;
    uv_loop_t loop;
    uv_timer_t tick;
    tarn_standstill_watch standstills;
    uv_signal_t signals[3];
    bool outlives_terminal; ///< it was started under nohup, or from no terminal
    struct lws_context *web;
    struct lws_vhost *vhost;
    tarn_listener listener;
    tarn_listener redirects; ///< without TLS, beside the one that has it
    tarn_tls tls;
    tarn_pages pages;
    char scenes_dir[4096];
    tarn_scene_pages scene_pages;
    tarn_metrics metrics;
    tarn_workers workers;
    tarn_sessions sessions;
    tarn_move move;
    tarn_passes passes;
    tarn_client_turns makers;  ///< who made tanks of late
    tarn_client_turns readers; ///< and who had files of scenes read, in pieces of TARN_GATEWAY_SCENE_PIECE_BYTES
    tarn_uploads uploads;
    tarn_viewer_list viewers;
    tarn_reach reach;
    tarn_refused_origins refused_origins, refused_hosts;
    tarn_service_manager manager;
    bool serving;  ///< the first tank was made
    bool draining; ///< newcomers are refused, and it ends in a while
    uint64_t draining_since_ns;
    bool ending;
    uint64_t ending_since_ns;
    bool has_closed; ///< everything, and the loop is about to end
    int exit_code;
    tarn_text failure; ///< why the start failed
} tarn_gateway;

#endif
