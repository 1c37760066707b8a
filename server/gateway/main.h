/// The text around the options of `tarnd --help`.
#ifndef TARN_SERVER_GATEWAY_MAIN_H
#define TARN_SERVER_GATEWAY_MAIN_H

#include "server/base/limits.h"
#include "server/base/token.h"
#include "server/gateway/viewer/rate.h"

static const char tarn_gateway_help[] =
    "Serves live tanks of fluid to browsers.\v"
    "Limits: 512 connections, or as many as the limit of open files leaves beside what workers need, 32 from one "
    "address (this machine excepted), 256 viewers in a session; a message from a "
    "viewer 16384 bytes, 1000 messages a second; 2 frames sent and not acknowledged, 4 to 8 where later ones refer "
    "to them. One address may have a quarter of the viewers' places and of the tanks (this machine excepted), and make "
    "10 tanks a minute; 256 of its viewers may join at once, then 20 a second. A tank that nobody watches rests after "
    "3 seconds. A new tank "
    "goes to the worker whose tanks take the least of its time. A worker takes 16 tanks whatever they cost, and up to "
    "256 within --load-max. A worker that "
    "fails is started again at once, then after 0.1 s and "
    "ever more slowly, after 8 times in a row once in 10 s and at last once a minute; its tanks go on where they were, "
    "the others' aren't touched.\n\n"
    "/healthz answers 200 while a worker is ready and tanks that are watched make frames, /readyz while newcomers are "
    "welcome besides, /metrics is for "
    "Prometheus. SIGINT and SIGHUP end the program within 2 seconds; a second one ends it at once. SIGTERM lets "
    "viewers "
    "go first, which takes 2.5 seconds and those of --drain at most. Where there is a file of options, TLS, or keys "
    "for "
    "tokens (--store has one), SIGHUP reads these and the certificate again instead, and viewers stay; options that "
    "need a new "
    "start are named in the log. A file of options has at most 65536 bytes. "
    "Of uploaded scenes (--uploads) each has at most 32 MiB and 17 files of 8 MiB, one owner 16 of them and 10 a "
    "minute, all "
    "together 256; two come at once. "
    "A certificate's file has at most 1 MiB and 8 certificates behind the first; the port of --redirect-port takes 64 "
    "connections. Exit status: 0 it was ended, 1 it failed, 2 wrong "
    "options.";

_Static_assert(TARN_GATEWAY_CONNECTIONS_MAX == 512 && TARN_GATEWAY_CONNECTIONS_PER_IP_MAX == 32 &&
                   TARN_VIEWERS_MAX == 256 && TARN_MESSAGE_BYTES_MAX == 16384 &&
                   TARN_GATEWAY_MESSAGES_PER_S_MAX == 1000 && TARN_FRAMES_UNACKNOWLEDGED_MAX == 2 &&
                   TARN_VIEWER_RATE_IN_FLIGHT_MIN == 4 && TARN_VIEWER_RATE_IN_FLIGHT_MAX == 8 &&
                   TARN_GATEWAY_CREATE_PER_MINUTE == 10 && TARN_GATEWAY_JOIN_ADDRESS_BURST == 256 &&
                   TARN_GATEWAY_JOIN_ADDRESS_MS == 50 && TARN_GATEWAY_SHARE == 4 && TARN_GATEWAY_SESSIONS_MAX == 512 &&
                   TARN_GATEWAY_SESSIONS == 8 && TARN_GATEWAY_LOAD == 90 && TARN_GATEWAY_LOAD_MAX == 1000 &&
                   TARN_GATEWAY_WORKER_TANKS_ANYHOW == 16 && TARN_GATEWAY_KEEP_EMPTY_S == 600 &&
                   TARN_GATEWAY_IDLE_MS == 3000 && TARN_GATEWAY_WORKER_BACKOFF_MS == 100 &&
                   TARN_GATEWAY_WORKER_FAILURES_MAX == 8 && TARN_GATEWAY_WORKER_REST_MS == 10000 &&
                   TARN_GATEWAY_WORKER_REST_MS_MAX == 60000 && TARN_GATEWAY_WORKERS_MAX == 16 &&
                   TARN_GATEWAY_DRAIN_VIEWERS_MS_MAX == 2500 && TARN_GATEWAY_DRAIN_S_MAX == 20 &&
                   TARN_GATEWAY_TLS_FILE_BYTES_MAX == 1 << 20 && TARN_GATEWAY_TLS_CHAIN_MAX == 8 &&
                   TARN_GATEWAY_REDIRECTS_MAX == 64 && TARN_GATEWAY_NAMES_MAX == 16 && TARN_TOKEN_KEYS_MAX == 16 &&
                   TARN_PASS_BYTES_MAX == 512 && TARN_GATEWAY_HISTORY_MINUTES == 60 &&
                   TARN_GATEWAY_HISTORY_MINUTES_MAX == 1440 && TARN_GATEWAY_HISTORY_SHARE == 80 &&
                   TARN_GATEWAY_STORE_MAX_MB == 2000 && TARN_GATEWAY_STORE_AGE_S == 30 * 86400 &&
                   TARN_GATEWAY_STORE_AGE_S_MIN == 3600 && TARN_GATEWAY_CONFIG_BYTES_MAX == 65536,
               "the help text states these limits");
_Static_assert(TARN_GATEWAY_UPLOAD_BYTES_MAX == 32 << 20 && TARN_GATEWAY_UPLOADS_OWN_MAX == 16 &&
                   TARN_GATEWAY_UPLOADS_PER_MINUTE == 10 && TARN_GATEWAY_UPLOADS_MAX == 256 &&
                   TARN_GATEWAY_UPLOADING_MAX == 2,
               "the help text states these, too");
_Static_assert(1000 * TARN_GATEWAY_DRAIN_S_MAX + TARN_GATEWAY_DRAIN_VIEWERS_MS_MAX + TARN_GATEWAY_END_MS_MAX +
                       TARN_GATEWAY_STORE_END_MS_MAX <
                   30000,
               "deploy/tarnd.service leaves 30 seconds");

#endif
