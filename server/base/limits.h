/// Every limit of tarnd, by name. Those of messages and frames are in protocol/, those of the socketpair in
/// server/base/ipc.h.
#ifndef TARN_SERVER_BASE_LIMITS_H
#define TARN_SERVER_BASE_LIMITS_H

#include "protocol/message.h"
#include "server/base/devices.h"

enum {
    // connections
    TARN_GATEWAY_CONNECTIONS_MAX = 512,       ///< of all kinds; more get an HTTP 503
    TARN_GATEWAY_CONNECTIONS_PER_IP_MAX = 32, ///< except from this machine, where a proxy may run
    TARN_GATEWAY_CONNECTIONS_MIN = 8,         ///< for which there must be file descriptors
    TARN_GATEWAY_CONNECTIONS_SPARE = 16,      ///< of 1 in so many places: with fewer free, idle ones make room
    TARN_GATEWAY_DESCRIPTORS_KEPT = 32,       ///< of files for the program itself
    TARN_GATEWAY_DESCRIPTORS_WORKER = 8,      ///< for each worker, to start it again
    TARN_GATEWAY_DESCRIPTORS_SESSION = 2,     ///< for each tank: its black box, and the next one while it is moved, or
                                              ///< gone back with
    TARN_GATEWAY_DESCRIPTORS_STORE = 5,       ///< and with --store: the store's own of it, its file's three, and a box
                                              ///< that was found in it
    TARN_GATEWAY_CONNECTION_IDLE_S = 30,      ///< without anything happening, unless a viewer has joined by it
    TARN_GATEWAY_BACKLOG = 128,
    TARN_GATEWAY_DESCRIPTORS_MAX = 8192,   ///< above which no connection's descriptor may be
    TARN_GATEWAY_HEAD_MS_MAX = 10000,      ///< to send a request's head, all of it
    TARN_GATEWAY_BODY_MS_MAX = 10000,      ///< to send its body
    TARN_GATEWAY_KEEPALIVE_MS_MAX = 15000, ///< between an answer and the next request
    TARN_GATEWAY_ANSWER_MS_MAX = 30000,    ///< to take an answer, and the time besides that it takes at
    TARN_GATEWAY_ANSWER_BYTES_PER_S_MIN = 16384,
    TARN_GATEWAY_LINGER_MS_MAX = 2000,    ///< to read a refusal before the connection ends
    TARN_GATEWAY_DRAINED_BYTES = 1 << 20, ///< that are thrown away meanwhile, each TARN_GATEWAY_TICK_MS
    TARN_GATEWAY_PARTIAL_MAX = 128,       ///< requests that are on their way at once; the oldest get a 408
    TARN_GATEWAY_LIBRARY_TIMEOUT_S = 60,  ///< libwebsockets' own, which those above come before
    TARN_GATEWAY_READ_BYTES = 8192,       ///< that libwebsockets asks a socket for
    TARN_GATEWAY_THROWN_READS_MAX = 16,   ///< reads of what nobody wants before others get their turn
    TARN_GATEWAY_HTTP_CHUNK_BYTES = 65536,
    TARN_GATEWAY_HTTP_SMALL_BYTES = 4096,       ///< of an answer that is written at once
    TARN_GATEWAY_HTTP_TEXT_BYTES_MAX = 8 << 20, ///< of /metrics and other made-up pages
    TARN_GATEWAY_GZIP_BYTES_MIN = 1024,         ///< of a text that is compressed when it is asked for: a packet, to
    TARN_GATEWAY_GZIP_BYTES_MAX = 1 << 17,      ///< what holds the loop up for a millisecond or two
    TARN_GATEWAY_HEAD_BYTES_MAX = 16384,        ///< of a request, before its body
    TARN_GATEWAY_HEAD_READ_BYTES = 2048,        ///< of it that are read at once
    TARN_GATEWAY_FIELDS_MAX = 100,              ///< lines of a head
    TARN_GATEWAY_TARGET_BYTES_MAX = 2048,       ///< of a request: its path and what follows a '?'
    TARN_GATEWAY_FIELD_BYTES_MAX = 255,         ///< of a field that is used; others count for the head alone
    TARN_GATEWAY_AUTHORIZATION_BYTES_MAX = 7 + TARN_PASS_BYTES_MAX, ///< of `Authorization`: "Bearer " and a pass
    TARN_GATEWAY_FORWARDED_MAX = 8,                                 ///< fields X-Forwarded-For of a request
    TARN_GATEWAY_HEADER_BYTES_MAX = 4608, ///< of the head that libwebsockets is given in its place
    TARN_GATEWAY_ORIGINS_MAX = 16,
    TARN_GATEWAY_PROXIES_MAX = 16,       ///< --trusted-proxy
    TARN_GATEWAY_TURN_ADDRESSES = 64,    ///< of which it is known how often they did something
    TARN_GATEWAY_SHARE = 4,              ///< one address may have 1/4 of viewers' places and of tanks, this machine all
    TARN_GATEWAY_NAMES_MAX = 16,         ///< that --name gives
    TARN_GATEWAY_NOTSENT_BYTES = 131072, ///< stale frame bytes that the kernel may hold for a viewer
    TARN_GATEWAY_TX_BYTES = 2000000,     ///< that one send may take

    TARN_GATEWAY_CONFIG_BYTES_MAX = 65536, ///< of the file of --config

    // TLS
    TARN_GATEWAY_TLS_FILE_BYTES_MAX = 1 << 20, ///< of a certificate's file, and of a key's
    TARN_GATEWAY_TLS_CHAIN_MAX = 8,            ///< certificates that one was issued by
    TARN_GATEWAY_TLS_SOON_S = 14 * 86400,      ///< before a certificate's end that it's warned of
    TARN_GATEWAY_TLS_OWN_S = 800 * 86400, ///< that a self-signed one lasts; Apple's systems take none above 825 days
    TARN_GATEWAY_TLS_OWN_RENEW_S = 86400, ///< left of it, and it is made anew
    TARN_GATEWAY_TLS_NAMES_MAX = 20,      ///< in a self-signed one; 16 of them those of --name
    TARN_GATEWAY_TLS_ADDRESSES_MAX = 48,
    TARN_GATEWAY_TLS_HSTS_S = 180 * 86400,  ///< for which browsers keep to https
    TARN_GATEWAY_REDIRECTS_MAX = 64,        ///< connections to --redirect-port
    TARN_GATEWAY_LOCATION_BYTES_MAX = 2048, ///< of the address that a request without TLS is sent to

    // the page's files, held in memory
    TARN_GATEWAY_PAGES_MAX = 1024,
    TARN_GATEWAY_PAGE_BYTES_MAX = 32 << 20,  ///< of one file
    TARN_GATEWAY_PAGES_BYTES_MAX = 64 << 20, ///< of all
    TARN_GATEWAY_PAGES_DEPTH_MAX = 8,
    TARN_SCENE_PAGES_PATH_BYTES_MAX = 200, ///< of a file below the scenes' directory

    // viewers
    TARN_GATEWAY_HANDSHAKE_MS_MAX = 10000,  ///< from the upgrade to `join`
    TARN_GATEWAY_CLOSE_MS_MAX = 2000,       ///< to take the last message
    TARN_GATEWAY_VALID_PING_S = 10,         ///< without a sign of life before a ping
    TARN_GATEWAY_VALID_HANGUP_S = 25,       ///< without a sign of life before the end
    TARN_GATEWAY_MESSAGES_PER_S_MAX = 1000, ///< of one viewer, sustained
    TARN_GATEWAY_MESSAGES_BURST_MAX = 2000,
    TARN_GATEWAY_CONTROLS_PER_S = 10,    ///< pings and pongs of one viewer, in the long run
    TARN_GATEWAY_CONTROLS_BURST = 50,    ///< of them at once
    TARN_GATEWAY_LOG_LINES_PER_S = 5,    ///< about viewers that were closed, in the long run
    TARN_GATEWAY_LOG_LINES_BURST = 20,   ///< of them at once; then how many were left out
    TARN_GATEWAY_ERRORS_QUEUED_MAX = 8,  ///< of one viewer; of further ones it is told how many
    TARN_GATEWAY_PRESENCE_MS = 50,       ///< between messages about where everybody is
    TARN_GATEWAY_PRESENCE_POINT_MS = 2,  ///< for each point in them, where that is longer
    TARN_GATEWAY_PROFILE_MS = 500,       ///< between changes of a viewer's name or colour, in the long run
    TARN_GATEWAY_PROFILE_BURST = 8,      ///< of them at once
    TARN_GATEWAY_AWAY_HIDDEN_MS = 10000, ///< that a page is hidden before its viewer makes room where there is none
    TARN_GATEWAY_AWAY_SILENT_MS = 60000, ///< the same of one that says nothing
    TARN_GATEWAY_INPUTS_TIMED_MAX = 64,  ///< inputs of a viewer whose way into a frame is timed

    // sessions
    TARN_GATEWAY_SESSIONS_MAX = 512,        ///< --sessions-max allows no more
    TARN_GATEWAY_SESSIONS = 8,              ///< its default
    TARN_GATEWAY_WORKER_TANKS_ANYHOW = 16,  ///< that a worker has room for whatever they cost
    TARN_GATEWAY_LOAD = 90,                 ///< percent of a worker's time that more may cost together; --load-max
    TARN_GATEWAY_LOAD_MAX = 1000,           ///< allowed for it
    TARN_GATEWAY_ENDED_MAX = 8,             ///< sessions of which it is known why they ended
    TARN_GATEWAY_KEEP_EMPTY_S = 600,        ///< that a tank lasts with nobody in it; --keep-empty
    TARN_GATEWAY_CREATE_PER_MINUTE = 10,    ///< tanks made from one address
    TARN_GATEWAY_BODY_BYTES_MAX = 1024,     ///< of a request
    TARN_GATEWAY_SESSION_NAME_LETTERS = 10, ///< of the names that the server draws
    TARN_GATEWAY_FRESH_MS = 250,        ///< between fresh starts (reset, load) that viewers ask for, in the long run
    TARN_GATEWAY_FRESH_BURST = 11,      ///< of them at once
    TARN_GATEWAY_KEY_AGE_MS_MIN = 500,  ///< of the newest key frame before one is asked for whoever fell behind
    TARN_GATEWAY_KEY_ASK_MS = 1000,     ///< before a key frame is asked for again
    TARN_GATEWAY_KEY_PART_MS = 1000,    ///< of the newest before one is asked for a viewer that gets not all layers, or
                                        ///< key frames alone
    TARN_GATEWAY_KEY_PART_FRAMES = 15,  ///< and so many frames, in a tank that is slow
    TARN_GATEWAY_KEY_GLIMPSE_MS = 3000, ///< instead, for one that takes a glimpse
    TARN_GATEWAY_BOUND_MS = 1000,       ///< between two looks at what viewers' ceilings leave them
    TARN_GATEWAY_JOIN_MS = 5,           ///< between viewers that join a session, in the long run
    TARN_GATEWAY_JOIN_BURST = 400,      ///< of them at once
    TARN_GATEWAY_JOIN_ADDRESS_MS = 50,  ///< the same of one address, this machine excepted
    TARN_GATEWAY_JOIN_ADDRESS_BURST = 256, ///< as many as a session has places
    TARN_GATEWAY_FRAME_MS_MAX = 10000,     ///< between frames of a tank that is watched, for /healthz
    TARN_GATEWAY_TRY_MS = 500,             ///< before a tank that didn't fit is brought back again; doubles
    TARN_GATEWAY_TRY_DOUBLINGS = 6,
    TARN_GATEWAY_IDLE_MS = 3000, ///< without viewers before a tank rests

    TARN_GATEWAY_BARRED_MAX = 64,       ///< of a session's viewers whom owners removed or muted, when they come again
    TARN_GATEWAY_REMOVED_S = 600,       ///< that one who was removed is kept out
    TARN_GATEWAY_PROBES_VIEWER_MAX = 4, ///< that one viewer who isn't an owner has placed
    TARN_GATEWAY_PROBES_SEND_MS = 100,  ///< between lists of a session, however many change it
    TARN_GATEWAY_PROBE_MS = 50,         ///< between changes of probes by a viewer, in the long run
    TARN_GATEWAY_PROBE_BURST = 20,      ///< of them at once
    TARN_GATEWAY_REFUSED_MS = 1000,     ///< between two answers to what is locked, or comes from who is muted
    TARN_GATEWAY_MODERATE_MS = 100,     ///< between what an owner does about the others, or locks, in the long run
    TARN_GATEWAY_MODERATE_BURST = 50,   ///< of it at once
    TARN_GATEWAY_REVOKED_LOOK_MS = 500, ///< between two looks at which tokens are revoked

    // a tank as it stands, told as a scene
    TARN_GATEWAY_TELLING_MS_MAX = 25000,        ///< until its worker has done so
    TARN_GATEWAY_TELLING_KEEP_MS = 2000,        ///< in which it is told once, however many want it
    TARN_GATEWAY_TOLD_BYTES_MAX = 128 << 20,    ///< of those that are on their way, however many read them how slowly
    TARN_GATEWAY_TOLD_MS_MIN = 60000,           ///< that one is left to its readers where others need its room
    TARN_GATEWAY_SCENE_PIECE_BYTES = 256 << 10, ///< of scenes' files that one address has read, counted in pieces
    TARN_GATEWAY_SCENE_PIECE_MS = 64,           ///< between these, in the long run: 4 MB a second
    TARN_GATEWAY_SCENE_PIECES_BURST = 2048,     ///< of them at once: 512 MiB
    TARN_GATEWAY_MADE_PER_MINUTE = 30,          ///< archives of the scene that one tank was made from

    // scenes that owners upload
    TARN_GATEWAY_UPLOAD_BYTES_MAX = 32 << 20,      ///< of one, as an archive; --uploads says how many of all
    TARN_GATEWAY_UPLOAD_BYTES_PER_S_MIN = 65536,   ///< that it comes at, beyond TARN_GATEWAY_BODY_MS_MAX
    TARN_GATEWAY_UPLOAD_CREDIT_MS_MAX = 30000,     ///< that what came faster gives
    TARN_GATEWAY_UPLOAD_QUEUE_BYTES = 262144,      ///< of it that wait for the process that reads it
    TARN_GATEWAY_UPLOAD_QUEUE_FULL_BYTES = 131072, ///< above which the client has to wait
    TARN_GATEWAY_UPLOAD_CHECK_MS_MAX = 50000,      ///< from its last byte to what came of it, on a busy machine
    TARN_GATEWAY_UPLOADING_MAX = 2,                ///< at once, each with a process of its own
    TARN_GATEWAY_UPLOADING_OWN_MAX = 1,            ///< of these of a token, or of all that have a session's key
    TARN_GATEWAY_UPLOADS_MAX = 256,                ///< that are kept
    TARN_GATEWAY_UPLOADS_OWN_MAX = 16,             ///< of a token, or of all that have a session's key
    TARN_GATEWAY_UPLOADS_PER_MINUTE = 10,          ///< to one session
    TARN_GATEWAY_UPLOADS_FOLDER_BYTES = 800,       ///< of the path of their folder
    TARN_GATEWAY_UPLOADS_ID_LETTERS = 20,          ///< of what a scene is known by
    TARN_GATEWAY_UPLOADS_LOOK_S = 60,              ///< between looks for scenes whose session is gone

    // the store
    TARN_GATEWAY_STORE_DURABILITY_MS = 100,        ///< of what happens, that a power cut may cost; --durability
    TARN_GATEWAY_STORE_PAUSE_SHARE = 5,            ///< of half of it, that the store waits at least between two rounds
    TARN_GATEWAY_STORE_STATE_MS_MIN = 2000,        ///< between two states of a tank that are put
    TARN_GATEWAY_STORE_STATE_MS_MAX = 10000,       ///< the same, at most, of a tank that is stepped
    TARN_GATEWAY_STORE_REPLAY_MS = 800,            ///< that the steps behind a state take, before the next one is put
    TARN_GATEWAY_STORE_STATE_BYTES_PER_S = 300000, ///< of a tank's states, in the long run: 18 MB a minute
    TARN_GATEWAY_STORE_STATE_SAVED_MS = 5000,      ///< of these bytes that weren't used a tank may use later
    TARN_GATEWAY_HISTORY_MINUTES = 60,             ///< of a tank's past that are kept; --history
    TARN_GATEWAY_HISTORY_MINUTES_MAX = 1440,       ///< allowed for it
    TARN_GATEWAY_HISTORY_SHARE = 80,               ///< percent of --store-max, that all tanks' files may take
    TARN_GATEWAY_STORE_BESIDE_BYTES = 4400 << 10,  ///< that SQLite's log takes beside each: 1000 pages, then a state
    TARN_GATEWAY_SPEED_MS = 1000,                  ///< before a worker is told again how fast a tank's clock is to go
    TARN_GATEWAY_HISTORY_WAIT_MS_MAX = 10000,      ///< for the store to find a moment
    TARN_GATEWAY_STORE_ROOM_BYTES = 64 << 20,      ///< that the store holds on to for the next state
    TARN_GATEWAY_STORE_LARGE_BYTES = 2 << 20,      ///< of a state that has a thread of its own until it is put
    TARN_GATEWAY_STORE_RETRY_MS = 1000,            ///< after the disk failed
    TARN_GATEWAY_STORE_LARGE_MS = 60000,           ///< longer, after a state that is larger than a file takes
    TARN_GATEWAY_STORE_HANGS_MS = 5000,            ///< that a round takes before it counts as failing
    TARN_GATEWAY_STORE_IN_TIME_MS = 10000,         ///< without a late commit before that is said
    TARN_GATEWAY_STORE_LOOK_MS = 1000,             ///< before owners are told that it fails
    TARN_GATEWAY_STORE_THERE_MS = 1000,            ///< between two looks whether the files are there still
    TARN_GATEWAY_STORE_FILES_MAX = 2,              ///< beside the tanks', that are written anew where they vanish
    TARN_GATEWAY_STORE_FILE_BYTES_MAX = 1024,      ///< of one
    TARN_GATEWAY_STORE_CALM_MS = 30000,     ///< after which a tank that killed its workers has older states again
    TARN_GATEWAY_STORE_LOG_BYTES = 3 << 20, ///< of a log behind a state, before the next one is put; half of what
                                            ///< a worker takes
    TARN_GATEWAY_STORE_ANEW_MAX = 3,        ///< states of tanks that start afresh, before they wait for their turn
    TARN_GATEWAY_STORE_END_MS_MAX = 5000,   ///< for the last commit
    TARN_GATEWAY_STORE_TRIM_MS = 1000,      ///< between parts of what a tank that rests keeps no longer
    TARN_GATEWAY_STORE_LIMIT_MS = 60000,    ///< between two looks at what the folder takes
    TARN_GATEWAY_STORE_MAX_MB = 2000,       ///< that the folder may take; --store-max
    TARN_GATEWAY_STORE_AGE_S = 30 * 86400,  ///< of files that no session uses; --store-age
    TARN_GATEWAY_STORE_AGE_S_MIN = 3600,    ///< allowed for it

    // the workers
    TARN_GATEWAY_WORKERS_MAX = TARN_DEVICE_LIST_MAX,
    TARN_GATEWAY_WORKER_QUEUE_MAX = 512,        ///< messages that wait for one
    TARN_GATEWAY_WORKER_QUEUE_OWN = 64,         ///< of them kept for the gateway's own
    TARN_GATEWAY_WORKER_QUEUE_LARGE = 16,       ///< of them large ones, all of which are moves
    TARN_GATEWAY_WORKER_QUEUE_SHARE = 64,       ///< of one viewer's that cannot be dropped
    TARN_GATEWAY_WORKER_SENT_BYTES = 512 << 10, ///< of what viewers do, sent to one lately: more than its socket takes
    TARN_GATEWAY_WORKER_SENT_TIMES_MAX = 3,     ///< that a message is sent where each worker that got it dies
    TARN_GATEWAY_WORKER_LINK_BYTES = 1 << 20,   ///< of frames that the kernel may hold on their way from it
    TARN_GATEWAY_WORKER_READ_BYTES_MAX = 8 << 20, ///< read from it before others get their turn
    TARN_GATEWAY_WORKER_HELLO_MS_MAX = 20000,     ///< from spawn to hello; a GPU takes seconds to open
    TARN_GATEWAY_WORKER_LOAD_MS_MAX = 60000,      ///< to make a tank
    TARN_GATEWAY_MOVE_MS_MAX = 10000,             ///< that a tank stands while it goes from one worker to another
    TARN_GATEWAY_WORKER_PING_MS = 100,
    TARN_GATEWAY_WORKER_TIMEOUT_S = 0,  ///< without an answer before it is killed; --worker-timeout; 0: as follows
    TARN_GATEWAY_WORKER_HANGS_MS = 800, ///< and so many steps of its slowest tank
    TARN_GATEWAY_WORKER_HANGS_STEPS = 8,
    TARN_GATEWAY_WORKER_HANGS_STEP_S_MAX = 2, ///< that one is taken to last, whatever the worker says
    TARN_GATEWAY_WORKER_CLOSED_MS = 2000, ///< from its socket's end to its own, which is told late on a busy machine
    TARN_GATEWAY_WORKER_BACKOFF_MS = 100, ///< before the second restart in a row; doubles. Before the first: none
    TARN_GATEWAY_WORKER_BACKOFF_MS_MAX = 5000,
    TARN_GATEWAY_WORKER_KILLED_MS_MAX = 1000, ///< the same where it was ended from outside
    TARN_GATEWAY_WORKER_FAILURES_MAX = 8,     ///< in a row before it is given up
    TARN_GATEWAY_WORKER_REST_MS = 10000,      ///< before one that was given up is tried again; doubles
    TARN_GATEWAY_WORKER_REST_MS_MAX = 60000,
    TARN_GATEWAY_WORKER_PATIENCE = 4,   ///< times as long may one be silent that gets no processor
    TARN_GATEWAY_WORKER_OOM_PINGS = 10, ///< between two looks at how many processes the kernel ended for want of memory
    TARN_GATEWAY_WORKER_STABLE_MS = 2000, ///< of service that end a row of failures

    // ending
    TARN_GATEWAY_TICK_MS = 50,
    TARN_GATEWAY_STANDSTILL_MS = 300,         ///< without a turn of the loop, which nobody is held to account for
    TARN_GATEWAY_STOOD_TOLD_MS = 2000,        ///< from which on that is told to who reads the log
    TARN_GATEWAY_STANDSTILL_CLOCKS_MS = 100,  ///< between two looks at the clocks that tell why
    TARN_GATEWAY_DRAIN_S_MAX = 20,            ///< that SIGTERM leaves until the end; --drain
    TARN_GATEWAY_DRAIN_VIEWERS_MS_MAX = 2500, ///< longer, where viewers haven't taken their last message
    TARN_GATEWAY_END_VIEWERS_MS_MAX = 500,    ///< to tell viewers
    TARN_GATEWAY_END_WORKER_MS_MAX = 1000,    ///< for the worker to end by itself
    TARN_GATEWAY_END_MS_MAX = 1800,           ///< for everything
};

#endif
