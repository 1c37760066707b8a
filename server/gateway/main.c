// tarnd: the order of things, from `main` at the end of this file to `end`.
//
//     options -> ports bound -> certificate and page read -> workers spawned -> first tank made -> connections accepted
//     -> ... -> signal
//             -> viewers told -> workers ended -> libwebsockets gone -> exit
//
// SIGTERM lets viewers go before it stops listening: who comes meanwhile is told to come back (drain).
//
// What a person can get wrong (port, certificate, directory, scene) is found before anything is served, and ends the
// program with one sentence and exit status 1.
#include "protocol/message.h"
#include "server/base/clock.h"
#include "server/base/files.h"
#include "server/base/limits.h"
#include "server/base/log.h"
#include "server/base/options.h"
#include "server/base/text.h"
#include "server/gateway/gateway.h"
#include "server/gateway/option_table.h"
#include "server/gateway/pages/scenes.h"
#include "server/gateway/pages/uploads.h"
#include "server/gateway/rights/moderation.h"
#include "server/gateway/session/box.h"
#include "server/gateway/session/kept.h"
#include "server/gateway/session/making.h"
#include "server/gateway/session/time_machine.h"
#include "server/gateway/store/store.h"
#include "server/gateway/viewer/room.h"
#include "server/gateway/viewer/viewer.h"
#include "server/gateway/web.h"
#include "server/net/proxies.h"
#include "server/scene/scene.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <libgen.h>
#include <libwebsockets.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

// ---- what is said when it begins to serve ----
// On standard output: where it serves, what for, and the owners' link. Start at announce.

static const char LINK_FILE[] = "owner-link";

enum {
    LWS_MENDED_SINCE = 4003005, // Debian 13's
    LINK_BYTES = 512,
    LINK_PATH_BYTES = 4200,
    ADDRESSES_SAID_MAX = 4,
};

/// @return false: the disk fails
static bool keep_link(tarn_store *store, const char *path, const char *link)
{
    char line[LINK_BYTES + 1];
    const size_t bytes = (size_t)snprintf(line, sizeof line, "%s\n", link);
    if (tarn_file_bytes_put(path, 0600, line, bytes) != TARN_OK) {
        tarn_log_warn("%s: the owners' link can't be kept there: %s", path, strerror(errno));
        return false;
    }
    tarn_store_hold(store, LINK_FILE, line, bytes);
    return true;
}

static void say_link(const tarn_gateway *gateway, const char *first, const char *key)
{
    char link[LINK_BYTES], path[LINK_PATH_BYTES] = "";
    snprintf(link, sizeof link, "%s#key=%s", first, key);
    bool is_kept = false;
    if (gateway->options.store != NULL) {
        snprintf(path, sizeof path, "%s/%s", gateway->options.store, LINK_FILE);
        is_kept = keep_link(gateway->sessions.store, path, link);
    }
    if (gateway->options.guests == TARN_ROLE_OWN) {
        return; // who comes owns it
    }
    if (isatty(STDOUT_FILENO)) {
        printf("who opens %s owns that tank\n", link);
    } else if (is_kept) {
        printf("the link by which that tank is owned is in %s\n", path);
    } else {
        printf("the link by which that tank is owned is printed on terminals only; with --store DIR it is in "
               "DIR/%s\n",
               LINK_FILE);
    }
}

/// One line that says what is open, and to whom.
static void say_rights(const tarn_gateway_options *options)
{
    static const char *const guests[TARN_ROLE_COUNT] = {"may watch; links let play and own",
                                                        "may watch and play; links let own", "may watch, play and own"};
    static const char *const creators[] = {"nobody makes", "owners make", "everybody makes"};
    printf("whoever reaches it%s %s; %s further tanks\n", options->is_local ? ", from this machine," : "",
           guests[options->guests], creators[options->creators]);
}

/// By which addresses other machines open the first tank: those that people type, or make a code of.
static void say_addresses(const tarn_gateway *gateway, const char *session)
{
    static tarn_own_names names; // large
    const char *scheme = tarn_tls_is_on(&gateway->tls) ? "https" : "http";
    tarn_own_names_find(gateway->options.host, &names);
    for (uint32_t i = 0, said = 0; i < names.address_count && said < ADDRESSES_SAID_MAX; i++) {
        const struct in6_addr *address = &names.addresses[i];
        char text[INET_ADDRSTRLEN];
        if (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] != 127 &&
            inet_ntop(AF_INET, address->s6_addr + 12, text, sizeof text) != NULL) {
            printf("other machines open it at %s://%s:%u/?session=%s\n", scheme, text, gateway->listener.port, session);
            said++;
        }
    }
}

/// Debian 12's libwebsockets is mended no more; what others reach shouldn't stand on it.
static void warn_of_library(const tarn_gateway_options *options)
{
    if (!options->is_local && LWS_LIBRARY_VERSION_NUMBER < LWS_MENDED_SINCE) {
        tarn_log_warn(
            "this machine's libwebsockets, %d.%d.%d, gets no security fixes, as Debian 12 has it: where others "
            "reach the server, run it on Debian 13, or on 127.0.0.1 behind a proxy (deploy/README.md, TLS)",
            LWS_LIBRARY_VERSION_MAJOR, LWS_LIBRARY_VERSION_MINOR, LWS_LIBRARY_VERSION_PATCH);
    }
}

/// Says where it serves. The link by which the first tank is owned is kept beside the tanks that are kept, in a file
/// that nobody else may read, and printed on a terminal alone: what is printed elsewhere ends up in a log.
static void announce(tarn_gateway *gateway)
{
    const tarn_session *session = tarn_session_find(&gateway->sessions, "");
    const char *host = gateway->options.host;
    bool is_any = strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
    if (is_any) {
        host = "localhost"; // nobody can open the address that means all
    }
    bool is_v6 = strchr(host, ':') != NULL;
    char address[300], first[400];
    snprintf(address, sizeof address, "http%s://%s%s%s:%u/", tarn_tls_is_on(&gateway->tls) ? "s" : "", is_v6 ? "[" : "",
             host, is_v6 ? "]" : "", gateway->listener.port);
    snprintf(first, sizeof first, "%s?session=%s", address, session->name);
    printf("tarnd is serving on %s%s\n", address, is_any ? " and on every address of this machine" : "");
    printf("its first tank is at %s\n", first);
    if (is_any) {
        say_addresses(gateway, session->name);
    }
    say_rights(&gateway->options);
    warn_of_library(&gateway->options);
    say_link(gateway, first, session->keys.keys[TARN_ROLE_OWN]);
    if (gateway->options.redirect_port >= 0) {
        printf("who comes to port %u without TLS is sent there\n", gateway->redirects.port);
    }
    if (tarn_tls_is_on(&gateway->tls)) {
        printf("its certificate's SHA-256 fingerprint is %s\n", gateway->tls.pair.fingerprint);
    }
    fflush(stdout);
}

// ---- how many connections there may be ----
// The limit of connections follows from the limit of descriptors, not the other way round: at the end of a day it is
// the kernel that says no.

/// Raises the process's soft limit as far as it is needed and allowed. To be called once, before workers are spawned.
/// @param are_kept  the tanks, in files
/// @param connections_max  on success 1..TARN_GATEWAY_CONNECTIONS_MAX
/// @param why  on failure a sentence  @return TARN_OK, or TARN_E_LIMIT: there are too few to serve anybody
static tarn_status plan_descriptors(uint32_t worker_count, uint32_t sessions_max, bool are_kept,
                                    uint32_t *connections_max, tarn_text why)
{
    const rlim_t kept =
        TARN_GATEWAY_DESCRIPTORS_KEPT + worker_count * TARN_GATEWAY_DESCRIPTORS_WORKER +
        sessions_max * (TARN_GATEWAY_DESCRIPTORS_SESSION + (are_kept ? TARN_GATEWAY_DESCRIPTORS_STORE : 0));
    const rlim_t wanted = kept + TARN_GATEWAY_CONNECTIONS_MAX;
    struct rlimit limit;
    *connections_max = TARN_GATEWAY_CONNECTIONS_MAX;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return TARN_OK;
    }
    if (limit.rlim_cur < wanted && limit.rlim_cur < limit.rlim_max) {
        const struct rlimit more = {limit.rlim_max < wanted ? limit.rlim_max : wanted, limit.rlim_max};
        limit = setrlimit(RLIMIT_NOFILE, &more) == 0 ? more : limit;
    }
    if (limit.rlim_cur >= wanted) {
        return TARN_OK;
    }
    if (limit.rlim_cur < kept + TARN_GATEWAY_CONNECTIONS_MIN) {
        snprintf(why, sizeof(tarn_text),
                 "the limit of open files is %llu, allowed are %llu or more with this many workers and tanks "
                 "(ulimit -n)",
                 (unsigned long long)limit.rlim_cur, (unsigned long long)kept + TARN_GATEWAY_CONNECTIONS_MIN);
        return TARN_E_LIMIT;
    }
    *connections_max = (uint32_t)(limit.rlim_cur - kept);
    tarn_log_warn("connections are limited to %u, not %d: the limit of open files is %llu, of which %llu are kept for "
                  "workers and tanks",
                  *connections_max, TARN_GATEWAY_CONNECTIONS_MAX, (unsigned long long)limit.rlim_cur,
                  (unsigned long long)kept);
    return TARN_OK;
}

/// What one address may have of so many places.
static uint32_t share_of_address(uint32_t places)
{
    const uint32_t share = (places + TARN_GATEWAY_SHARE / 2) / TARN_GATEWAY_SHARE;
    return share > 0 ? share : 1;
}

// ---- SIGHUP ----
// What is read again: the file of --config, the keys of tokens, the certificate. Each by itself: one that is faulty is
// said in the log and stays as it was. Viewers stay.
//
// Parts that read the options each time (requests, sessions, the page's origins) need nothing here; the others are told
// in tell_parts. A plan of descriptors that fails refuses the file as a whole, before anything has changed.

/// Whether there is anything to be read again.
static bool has_something_to_reload(const tarn_gateway *gateway)
{
    return gateway->options.config != NULL || gateway->options.token_keys != NULL || gateway->options.store != NULL ||
           tarn_tls_is_on(&gateway->tls);
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
    gateway->sessions.per_address_max = share_of_address(options->sessions_max);
    gateway->viewers.per_address_max = share_of_address(gateway->listener.connections_max);
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
        status = plan_descriptors(fresh.devices.count, fresh.sessions_max, fresh.store != NULL, &connections_max, why);
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

static void reload(tarn_gateway *gateway)
{
    tarn_text why;
    if (gateway->options.config != NULL) {
        reload_options(gateway);
    }
    if (tarn_passes_reload(&gateway->passes, &gateway->options, why) != TARN_OK) {
        tarn_log_error("the keys of tokens stay as they were: %s", why);
    }
    if (tarn_tls_is_on(&gateway->tls)) {
        tarn_tls_reload(&gateway->tls);
    }
}

// ---- the end ----

enum { SIGNAL_COUNT = sizeof((tarn_gateway *)0)->signals / sizeof(uv_signal_t) };

static tarn_gateway gateway;

static void tell_the_end(void)
{
    gateway.viewers.is_ending = true;
    tarn_service_manager_stopping(&gateway.manager);
    for (tarn_viewer *viewer = gateway.viewers.first; viewer != NULL; viewer = viewer->next) {
        tarn_viewer_fail(viewer, TARN_ERROR_SHUTDOWN, "the server is ending; reconnect later");
    }
}

static bool has_terminal(void)
{
    const int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

static void end(int exit_code)
{
    if (gateway.ending) {
        return;
    }
    gateway.ending = true;
    gateway.ending_since_ns = tarn_clock_monotonic_ns();
    gateway.exit_code = exit_code;
    tarn_listener_stop(&gateway.listener);
    tarn_listener_stop(&gateway.redirects);
    tell_the_end();
    tarn_workers_end(&gateway.workers);
}

static void drain(void)
{
    gateway.draining = true;
    gateway.draining_since_ns = tarn_clock_monotonic_ns();
    tell_the_end();
}

/// Whoever balances servers has had the time to notice, and those who were there have gone.
static bool is_drained(uint64_t now_ns)
{
    const uint64_t least_ns = gateway.options.drain_s * (uint64_t)1000000000;
    const uint64_t most_ns = least_ns + TARN_GATEWAY_DRAIN_VIEWERS_MS_MAX * (uint64_t)1000000;
    const uint64_t since_ns = now_ns - gateway.draining_since_ns;
    return since_ns >= most_ns || (since_ns >= least_ns && gateway.viewers.first == NULL);
}

/// Whether the terminal that the program was started from has been closed since.
static bool terminal_has_gone(void)
{
    return !gateway.outlives_terminal && !has_terminal();
}

static void on_signal(uv_signal_t *handle, int signal_number)
{
    (void)handle;
    if (signal_number == SIGHUP && has_something_to_reload(&gateway) && !gateway.ending && !terminal_has_gone()) {
        reload(&gateway);
        return;
    }
    if (gateway.ending) {
        // Somebody is in a hurry. The workers end with their parent.
        _exit(1);
    }
    tarn_log_info("ending: %s", strsignal(signal_number));
    if (signal_number == SIGTERM && gateway.serving && !gateway.draining) {
        drain();
    } else {
        end(0);
    }
}

/// Goes through the stages of the end, each with a deadline.
static void tick_ending(uint64_t now_ns)
{
    uint64_t since_ms = (now_ns - gateway.ending_since_ns) / 1000000;
    if (gateway.has_closed) {
        if (since_ms > TARN_GATEWAY_END_MS_MAX) {
            _exit(gateway.exit_code);
        }
        return;
    }
    bool viewers_told = gateway.viewers.first == NULL || since_ms > TARN_GATEWAY_END_VIEWERS_MS_MAX;
    const bool workers_gone = tarn_workers_are_gone(&gateway.workers) || since_ms > TARN_GATEWAY_END_MS_MAX;
    if (workers_gone && gateway.sessions.store != NULL && !tarn_store_has_ended(gateway.sessions.store)) {
        tarn_store_end(gateway.sessions.store); // with all that the workers did
        if (since_ms > TARN_GATEWAY_END_MS_MAX + TARN_GATEWAY_STORE_END_MS_MAX) {
            tarn_log_error("%s: the disk hangs; what happened last is not kept", gateway.options.store);
            _exit(1);
        }
    } else if (viewers_told && tarn_workers_are_gone(&gateway.workers)) {
        uv_unref((uv_handle_t *)&gateway.tick); // it goes on: where libwebsockets lost a handle, the loop doesn't end
        gateway.has_closed = true;
        for (int i = 0; i < SIGNAL_COUNT; i++) {
            if (gateway.signals[i].loop != NULL && !uv_is_closing((uv_handle_t *)&gateway.signals[i])) {
                uv_close((uv_handle_t *)&gateway.signals[i], NULL);
            }
        }
        tarn_web_close(&gateway);
    } else if (since_ms > TARN_GATEWAY_END_MS_MAX) {
        _exit(gateway.exit_code);
    }
}

static void fail_start(const char *sentence)
{
    snprintf(gateway.failure, sizeof gateway.failure, "%s", sentence);
    end(1);
}

// ---- what workers say ----

/// The first tank is there: from now on viewers may come.
static void serve(void)
{
    tarn_text why;
    gateway.serving = true;
    tarn_status status =
        tarn_listener_start(&gateway.listener, &gateway.loop, tarn_web_adopt, tarn_web_drop, &gateway, why);
    if (status == TARN_OK && gateway.options.redirect_port >= 0) {
        status =
            tarn_listener_start(&gateway.redirects, &gateway.loop, tarn_web_adopt_plain, tarn_web_drop, &gateway, why);
    }
    if (status == TARN_OK) {
        tarn_service_manager_ready(&gateway.manager);
        announce(&gateway);
        tarn_session_place_all(&gateway.sessions);
    } else {
        fail_start(why);
    }
}

/// Until the first tank is there, every worker that was asked for must come up.
static tarn_status on_worker_ready(void *user, tarn_worker_process *worker)
{
    tarn_gateway *self = user;
    tarn_ipc_worker_hello *told = &self->workers.told;
    if (!tarn_welcome_can_tell_hello(&worker->hello)) {
        return TARN_E_MALFORMED;
    }
    *told = worker->hello;
    tarn_own_scene_list(self->options.scene, &told->scenes);
    tarn_workers_device(&self->workers, told->device);
    tarn_log_of(TARN_LOG_INFO, (tarn_log_subject){.worker = (int)worker->index + 1}, "worker %u ready: %s, %s",
                worker->index, worker->hello.program, worker->hello.device);
    if (self->serving) {
        tarn_session_worker_ready(&self->sessions, worker);
    } else if (tarn_workers_ready(&self->workers) == self->options.devices.count) {
        tarn_session *first = tarn_session_find(&self->sessions, "");
        if (first->worker != NULL || tarn_session_place(first)) {
            tarn_session_make_tank(first);
        } else {
            fail_start("no worker takes a tank");
        }
    }
    return TARN_OK;
}

static void on_worker_lost(void *user, tarn_worker_process *worker, const char *sentence, bool given_up)
{
    tarn_gateway *self = user;
    const bool is_tried_again =
        worker->last_end != TARN_WORKER_END_OWN && worker->kills < TARN_GATEWAY_WORKER_FAILURES_MAX;
    if (!self->serving && !is_tried_again && (given_up || !tarn_session_begins_again(&self->sessions))) {
        fail_start(sentence);
        return;
    }
    tarn_move_worker_lost(&self->move, worker, sentence);
    char rest[64] = "";
    if (given_up) {
        snprintf(rest, sizeof rest, "; it failed too often, and is tried again in %.0f s",
                 1e-3 * (double)tarn_worker_process_retry_ms(worker, tarn_clock_monotonic_ns()));
    }
    tarn_log_of(TARN_LOG_ERROR, (tarn_log_subject){.worker = (int)worker->index + 1}, "worker %u: %s%s", worker->index,
                sentence, rest);
    tarn_session_worker_lost(&self->sessions, worker, sentence, given_up);
}

/// Who comes from now on may choose from these.
static tarn_status take_scenes(tarn_gateway *self, const tarn_ipc_scenes *scenes)
{
    tarn_ipc_worker_hello *told = &self->workers.told;
    const tarn_ipc_scenes before = told->scenes;
    told->scenes = *scenes;
    if (!tarn_welcome_can_tell_hello(told)) {
        told->scenes = before;
        return TARN_E_MALFORMED;
    }
    tarn_own_scene_list(self->options.scene, &told->scenes);
    return TARN_OK;
}

static tarn_status on_worker_message(void *user, tarn_worker_process *worker, const tarn_ipc_message *message)
{
    tarn_gateway *self = user;
    tarn_status status;
    if (message->kind == TARN_IPC_SCENES) {
        return take_scenes(self, &message->scenes);
    }
    if (message->kind == TARN_IPC_SCENE_FAULTS) {
        tarn_scene_faults_take(&self->workers, tarn_session_find(&self->sessions, ""), &message->scene_faults);
        return TARN_OK;
    }
    if (tarn_move_worker_message(&self->move, worker, message, &status)) {
        return status;
    }
    status = tarn_session_worker_message(&self->sessions, worker, message);
    if (status == TARN_OK && !self->serving && !self->ending) {
        if (message->kind == TARN_IPC_STATE) {
            serve();
        } else if (message->kind == TARN_IPC_REFUSED && !tarn_session_begin_anew(&self->sessions)) {
            fail_start(message->refused.text);
        }
    }
    return status;
}

static void on_worker_chunk_sent(void *user, tarn_worker_process *worker)
{
    tarn_move_chunk_sent(&((tarn_gateway *)user)->move, worker);
}

static uint8_t *on_worker_frame_space(void *user, tarn_worker_process *worker, uint32_t tank, uint32_t frame_bytes)
{
    tarn_gateway *self = user;
    return tarn_session_frame_space(&self->sessions, worker, tank, frame_bytes);
}

static tarn_status on_worker_frame(void *user, tarn_worker_process *worker, uint32_t tank, uint32_t frame_bytes)
{
    tarn_gateway *self = user;
    return tarn_session_frame(&self->sessions, worker, tank, frame_bytes);
}

// ---- what is looked at again and again ----

static void tell_manager(uint64_t now_ns)
{
    char status[160];
    if (gateway.draining || gateway.ending || !tarn_service_manager_wants_status(&gateway.manager, now_ns)) {
        tarn_service_manager_tick(&gateway.manager, now_ns, NULL);
        return;
    }
    snprintf(status, sizeof status, "%u of %u workers ready; %u tanks; %llu viewers",
             tarn_workers_ready(&gateway.workers), gateway.workers.count, tarn_session_count(&gateway.sessions),
             (unsigned long long)gateway.metrics.viewers);
    tarn_service_manager_tick(&gateway.manager, now_ns, status);
}

/// Everything that has a deadline gets its time again.
static void on_stood(void *user, const tarn_standstill *stood)
{
    tarn_gateway *self = user;
    tarn_standstill_clocks clocks;
    tarn_standstill_read(&clocks);
    // A busy machine has short ones all the time.
    tarn_log(stood->ns >= TARN_GATEWAY_STOOD_TOLD_MS * (uint64_t)1000000 ? TARN_LOG_INFO : TARN_LOG_DEBUG,
             "this program got no time for %.1f s (%s); whoever had a deadline has as much more",
             1e-9 * (double)stood->ns, tarn_standstill_cause(&self->standstills.clocks, &clocks, stood->ns));
    tarn_workers_stood(&self->workers, stood);
    tarn_listener_stood(&self->listener, stood);
    tarn_listener_stood(&self->redirects, stood);
    tarn_viewer_stood(&self->viewers, stood);
    tarn_session_pulse_stood(&self->sessions, stood);
    tarn_move_stood(&self->move, stood);
    tarn_store_stood(self->sessions.store, stood);
    tarn_standstill_move(stood, &self->draining_since_ns);
    tarn_standstill_move(stood, &self->ending_since_ns);
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
    uint64_t now_ns = tarn_clock_monotonic_ns();
    tarn_standstill_look(&gateway.standstills, now_ns);
    const uint64_t suspended_ns = tarn_standstill_tick(&gateway.standstills);
    if (suspended_ns > 0) { // which no deadline counts
        tarn_log_info("this machine was suspended for %.1f s", 1e-9 * (double)suspended_ns);
    }
    tarn_workers_tick(&gateway.workers, now_ns);
    tarn_listener_tick(&gateway.listener, now_ns);
    tarn_listener_tick(&gateway.redirects, now_ns);
    tarn_passes_tick(&gateway.passes, now_ns);
    tarn_viewer_tick(&gateway.viewers, now_ns);
    tarn_session_tick(&gateway.sessions, now_ns);
    tarn_session_retry_tick(&gateway.sessions, now_ns);
    tarn_session_pulse_tick(&gateway.sessions, now_ns);
    tarn_move_tick(&gateway.move, now_ns);
    tarn_session_store_tick(&gateway.sessions, now_ns);
    tarn_time_machine_tick(&gateway.sessions, now_ns);
    tarn_session_sweep(&gateway.sessions);
    tarn_upload_pages_tick(&gateway.sessions);
    tell_manager(now_ns);
    if (gateway.ending) {
        tick_ending(now_ns);
    } else if (gateway.draining && is_drained(now_ns)) {
        end(0);
    }
}

// ---- the start ----

static const char FIRST_SESSION[] = "main";

/// A path next to the program: its directory, then `relative`.
static tarn_status beside_program(const char *relative, char *path, size_t path_bytes)
{
    ssize_t length = readlink("/proc/self/exe", path, path_bytes - 1);
    if (length <= 0) {
        return TARN_E_IO;
    }
    path[length] = 0;
    char *slash = strrchr(path, '/');
    size_t room = path_bytes - (size_t)(slash + 1 - path);
    return (size_t)snprintf(slash + 1, room, "%s", relative) < room ? TARN_OK : TARN_E_LIMIT;
}

/// A page that was named must be there; the default one may not be built yet, and other clients need none.
static tarn_status load_pages(tarn_text why)
{
    char path[4096];
    const char *folder = gateway.options.client;
    tarn_status status = TARN_OK;
    if (folder == NULL) {
        status = beside_program("../share/tarn/client", path, sizeof path);
        folder = path;
    }
    if (status == TARN_OK) {
        status = tarn_pages_load(&gateway.pages, folder, why);
    }
    if (gateway.pages.stray_count > 0) {
        tarn_log_warn("client directory %s: %u compressed files belong to other files than those that are there, and "
                      "are left out; build the page anew",
                      folder, gateway.pages.stray_count);
    }
    if (status != TARN_OK && gateway.options.client == NULL) {
        tarn_log_warn("there is no page to serve: %s", why);
        return TARN_OK;
    }
    return status;
}

/// Threads of each CPU worker; several share the processors.
static uint32_t threads_each(const tarn_gateway_options *options)
{
    const uint32_t cpus = tarn_device_list_cpus(&options->devices);
    if (options->threads > 0 || cpus < 2) {
        return options->threads;
    }
    const uint32_t share = uv_available_parallelism() / cpus;
    return share > 0 ? share : 1;
}

static tarn_status start_workers(tarn_text why)
{
    static char program[4096], own_scene[TARN_OPTION_TEXT_BYTES_MAX + 1];
    const tarn_gateway_options *options = &gateway.options;
    snprintf(own_scene, sizeof own_scene, "%s", options->scene);
    if (options->worker != NULL) {
        snprintf(program, sizeof program, "%s", options->worker);
    } else if (beside_program("tarn-worker", program, sizeof program) != TARN_OK) {
        return TARN_E_IO;
    }
    tarn_worker_config config = {
        .program = program,
        .scenes = options->scenes,
        .reads = {tarn_scene_name_valid(options->scene) ? NULL : dirname(own_scene),
                  gateway.uploads.folder[0] != 0 ? gateway.uploads.folder : NULL},
        .threads = threads_each(options),
        .fps = options->fps,
        .timeout_s = options->worker_timeout_s,
        .log_level = tarn_log_level_name(options->log_level),
        .log_format = options->log_format,
    };
    tarn_worker_events events = {&gateway,          on_worker_ready,      on_worker_lost,
                                 on_worker_message, on_worker_chunk_sent, on_worker_frame_space,
                                 on_worker_frame};
    gateway.uploads.program = program;
    return tarn_workers_start(&gateway.workers, &gateway.loop, &options->devices, &config, &events, why);
}

/// A closed terminal ends the program like Ctrl-C, except under nohup, which has the signal ignored. Where there is
/// something to be read again the signal means that, unless it comes because the terminal was closed.
static void catch_signals(void)
{
    static const int numbers[SIGNAL_COUNT] = {SIGTERM, SIGINT, SIGHUP};
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        struct sigaction found;
        if (numbers[i] == SIGHUP && sigaction(SIGHUP, NULL, &found) == 0 && found.sa_handler == SIG_IGN) {
            if (!has_something_to_reload(&gateway)) {
                continue;
            }
            gateway.outlives_terminal = true;
        }
        uv_signal_init(&gateway.loop, &gateway.signals[i]);
        uv_signal_start(&gateway.signals[i], on_signal, numbers[i]);
    }
}

/// Gives the parts what they need of each other.
static void connect_parts(void)
{
    tarn_sessions *sessions = &gateway.sessions;
    tarn_reach_find(&gateway.reach, &gateway.options);
    sessions->options = &gateway.options;
    sessions->workers = &gateway.workers;
    sessions->metrics = &gateway.metrics;
    sessions->per_address_max = share_of_address(gateway.options.sessions_max);
    sessions->passes = &gateway.passes;
    sessions->show = tarn_web_show;
    sessions->uploads = &gateway.uploads;
    gateway.uploads.loop = &gateway.loop;
    gateway.move.sessions = sessions;
    gateway.viewers.sessions = sessions;
    gateway.viewers.workers = &gateway.workers;
    gateway.viewers.metrics = &gateway.metrics;
    // Other than those of a program before this one, whose inputs are in the tanks that come back.
    (void)!getrandom(&gateway.viewers.id_last, sizeof gateway.viewers.id_last, 0);
}

/// Sessions that are kept, and the secret that their keys are made from; or a secret for this time.
static tarn_status open_store(tarn_text why)
{
    char path[4096];
    const tarn_gateway_options *options = &gateway.options;
    if (options->store == NULL) {
        snprintf(why, sizeof(tarn_text), "there are no random numbers");
        return tarn_secret_draw(&gateway.sessions.secret);
    }
    tarn_status status = tarn_store_open(&gateway.sessions.store, options->store, options->durability_ms,
                                         &options->store_limit, options->history_minutes, why);
    snprintf(path, sizeof path, "%s/secret", options->store);
    if (status == TARN_OK) {
        status = tarn_secret_keep(&gateway.sessions.secret, path, why);
    }
    if (status == TARN_OK) { // without it all links would end
        tarn_store_hold(gateway.sessions.store, "secret", gateway.sessions.secret.bytes, TARN_SECRET_BYTES);
    }
    return status;
}

static tarn_status bind_ports(tarn_text why)
{
    const tarn_gateway_options *options = &gateway.options;
    tarn_status status = tarn_listener_bind(&gateway.listener, options->host, (uint16_t)options->port, "--port", why);
    gateway.listener.is_encrypted = options->tls_certificate != NULL || options->tls_self_signed;
    gateway.redirects.fd = gateway.redirects.spare_fd = -1;
    if (status == TARN_OK && options->redirect_port >= 0) {
        status = tarn_listener_bind(&gateway.redirects, options->host, (uint16_t)options->redirect_port,
                                    "--redirect-port", why);
        gateway.redirects.connections_max = TARN_GATEWAY_REDIRECTS_MAX;
    }
    return status;
}

static void make_room(uint32_t wanted)
{
    tarn_viewer_room_make_soon(&gateway.viewers, wanted);
}

static tarn_status start(tarn_text why)
{
    tarn_status status = bind_ports(why);
    if (status == TARN_OK) {
        status = tarn_tls_open(&gateway.tls, &gateway.options, why);
    }
    if (status == TARN_OK) {
        status = plan_descriptors(gateway.options.devices.count, gateway.options.sessions_max,
                                  gateway.options.store != NULL, &gateway.listener.connections_max, why);
    }
    gateway.listener.proxies = &gateway.options.proxies;
    gateway.listener.make_room = make_room;
    gateway.viewers.per_address_max = share_of_address(gateway.listener.connections_max);
    if (status == TARN_OK) {
        status = load_pages(why);
    }
    // The worker finds them in the same place.
    if (status == TARN_OK) {
        status = tarn_scene_directory(gateway.options.scenes, gateway.scenes_dir, sizeof gateway.scenes_dir, why,
                                      sizeof(tarn_text));
    }
    if (status == TARN_OK) {
        status = tarn_web_open(&gateway, why);
    }
    if (status != TARN_OK) {
        return status;
    }
    // After libwebsockets, which would take the signals for itself.
    gateway.outlives_terminal = !has_terminal();
    catch_signals();
    uv_timer_init(&gateway.loop, &gateway.tick);
    uv_timer_start(&gateway.tick, on_tick, TARN_GATEWAY_TICK_MS, TARN_GATEWAY_TICK_MS);
    tarn_standstill_open(&gateway.standstills, &gateway.loop, on_stood, &gateway);
    const tarn_session_plan plan = {.name = FIRST_SESSION,
                                    .title = "",
                                    .scene = gateway.options.scene,
                                    .guests = gateway.options.guests,
                                    .is_kept = true,
                                    .is_listed = true};
    if (tarn_fanout_space(&gateway.sessions.nowhere, TARN_IPC_FRAME_BYTES_MAX) == NULL) {
        snprintf(why, sizeof(tarn_text), "there is no memory for the largest frame, %d MiB of addresses (ulimit -v)",
                 TARN_IPC_FRAME_BYTES_MAX >> 20);
        return TARN_E_MEMORY;
    }
    status = open_store(why);
    if (status == TARN_OK) { // after the store, of which only one program has the folder
        status = tarn_uploads_open(&gateway.uploads, gateway.options.store, gateway.options.uploads_bytes, why);
    }
    if (status == TARN_OK) {
        status = tarn_passes_open(&gateway.passes, &gateway.options, why);
    }
    if (status == TARN_OK) {
        status = tarn_session_open_all(&gateway.sessions, &plan, why);
    }
    return status == TARN_OK ? start_workers(why) : status;
}

/// Why it ends, which may quote an option, a file or the worker.
static void say_failure(char *sentence)
{
    if (gateway.options.log_format == TARN_LOG_JSON) {
        tarn_log_error("%s", sentence);
        return;
    }
    tarn_make_printable(sentence);
    fprintf(stderr, "tarnd: %s\n", sentence);
}

static void say_variable(const char *sentence)
{
    tarn_log_warn("%s", sentence);
}

int main(int argc, char **argv)
{
    tarn_standard_files_open();
    tarn_gateway_options_parse(argc, argv, &gateway.options);
    tarn_log_open("tarnd", gateway.options.log_level);
    tarn_log_set_format(gateway.options.log_format, -1);
    tarn_environment_check(say_variable);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); // a file that may grow no more is a disk that is full
    uv_loop_init(&gateway.loop);
    connect_parts();
    tarn_text why = "it cannot be started";
    if (tarn_service_manager_open(&gateway.manager, why) != TARN_OK) {
        tarn_log_warn("%s", why);
    }
    if (start(why) != TARN_OK) {
        tarn_store_close(gateway.sessions.store);
        tarn_uploads_close(&gateway.uploads);
        say_failure(why);
        return 1;
    }
    uv_run(&gateway.loop, UV_RUN_DEFAULT);
    tarn_store_close(gateway.sessions.store);
    tarn_web_close(&gateway);
    tarn_uploads_close(&gateway.uploads);
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        tarn_session_close(&gateway.sessions.sessions[i]);
    }
    tarn_fanout_free(&gateway.sessions.nowhere);
    tarn_session_box_close(&gateway.move.box_fd);
    tarn_pages_free(&gateway.pages);
    tarn_service_manager_close(&gateway.manager);
    tarn_tls_close(&gateway.tls);
    uv_loop_close(&gateway.loop);
    tarn_gateway_options_forget();
    if (gateway.exit_code) {
        say_failure(gateway.failure);
    }
    return gateway.exit_code;
}
