// One request each, its answer, and what the model learns of it. Begin at done.
#include "tests/sim/sim_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum request_kind {
    REQUEST_MAKE,
    REQUEST_END,
    REQUEST_MOVE,
    REQUEST_TIME,
    REQUEST_FORK,
    REQUEST_READ
} request_kind;

typedef struct request {
    sim_client net;
    request_kind kind;
    bool may, is_local; ///< by its key; from this machine
    uint32_t run;       ///< of the gateway
    tarn_name session, scene;
    size_t text_bytes;
    char text[16384];
    bool is_done;
} request;

/// A string's value in JSON. @return false: there is none
static bool value_of(const char *text, const char *name, char *to, size_t room)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *at = strstr(text, key);
    if (at == NULL || (at = strchr(at + strlen(key), '"')) == NULL) {
        return false;
    }
    snprintf(to, room, "%.*s", (int)strcspn(at + 1, "\""), at + 1);
    return true;
}

/// Where the gateway has been killed since it answered, the answer says less than it seems to.
static bool is_of_now(const request *asked)
{
    return sim_gateway() != NULL && asked->run == sim_model_run();
}

static void learn_made(const request *asked)
{
    tarn_name name;
    tarn_key keys[TARN_ROLE_COUNT];
    SIM_CHECK(ALIVE,
              value_of(asked->text, "session", name, sizeof name) &&
                  value_of(asked->text, "watch", keys[0], sizeof keys[0]) &&
                  value_of(asked->text, "play", keys[1], sizeof keys[1]) &&
                  value_of(asked->text, "own", keys[2], sizeof keys[2]),
              "an answer of 201 doesn't say which session was made");
    sim_session *made = sim_model_made(name, (const tarn_key *)keys);
    made->may_be_gone =
        strcmp(asked->scene, SIM_SCENE_BROKEN) == 0 || sim_gateway() == NULL || asked->run != sim_model_run();
    if (asked->kind == REQUEST_FORK) {
        memcpy(made->forked_from, asked->session, sizeof made->forked_from);
        made->may_be_gone = true; // until there is a tank
        made->awaits = is_of_now(asked);
    }
    sim_trace("session %s is made of %s", name, asked->kind == REQUEST_FORK ? asked->session : asked->scene);
}

static void done(request *asked)
{
    unsigned status = 0;
    sim_session *session = sim_model_find(asked->session);
    asked->is_done = true;
    SIM_CHECK(ALIVE, sscanf(asked->text, "HTTP/1.1 %u", &status) == 1, "an answer has no status");
    sim_trace("request %d about %s is answered with %u", (int)asked->kind, asked->session, status);
    if (asked->kind == REQUEST_MAKE) {
        SIM_CHECK(ROLE, status != 201 || asked->may, "a tank is made without the key that this needs");
        if (status == 201) {
            learn_made(asked);
        }
    } else if (asked->kind == REQUEST_END) {
        SIM_CHECK(ROLE, status != 200 || asked->may, "%s is ended without its owners' key", asked->session);
        if (status == 200 && session != NULL && is_of_now(asked)) {
            session->is_there = false;
            session->may_be_gone = false;
            session->since_ns = sim_now();
        }
    } else if (asked->kind == REQUEST_FORK) {
        SIM_CHECK(ROLE, status != 201 || asked->may, "%s is forked without its owners' key", asked->session);
        if (status == 201) {
            learn_made(asked);
        }
    } else if (asked->kind == REQUEST_TIME) {
        SIM_CHECK(ROLE, status >= 300 || asked->may, "%s is gone back with without its owners' key", asked->session);
    } else if (asked->kind == REQUEST_MOVE) {
        SIM_CHECK(ROLE, status != 202 || asked->may || asked->is_local, "%s is moved without its owners' key",
                  asked->session);
    }
}

static void received(sim_client *client, sim_net_kind kind, const uint8_t *bytes, size_t byte_count)
{
    request *asked = client->owner;
    if (kind != SIM_NET_RAW || asked->is_done) {
        return;
    }
    const size_t room = sizeof asked->text - 1 - asked->text_bytes, kept = byte_count < room ? byte_count : room;
    memcpy(asked->text + asked->text_bytes, bytes, kept);
    asked->text_bytes += kept;
    asked->text[asked->text_bytes] = 0;
    const char *end = strstr(asked->text, "\r\n\r\n"), *length = strstr(asked->text, "content-length:");
    if (end != NULL && length != NULL &&
        (strlen(end + 4) >= strtoul(length + strlen("content-length:"), NULL, 10) || room == kept)) {
        done(asked);
        if (sim_chance(70)) {
            sim_net_close(client, false);
        }
    }
}

static request *begin(request_kind kind, const char *session, sim_pass pass, const char *method, const char *path,
                      const char *body)
{
    char text[2048], authorization[128] = "";
    request *made = sim_make(sizeof *made);
    const sim_session *known = sim_model_find(session), *other = known;
    for (uint32_t i = 0; i < sim_session_count; i++) {
        other = &sim_sessions[i] != known ? &sim_sessions[i] : other;
    }
    const char *key = pass <= SIM_PASS_OWN && known != NULL                       ? known->keys[pass]
                      : pass == SIM_PASS_OTHER && other != known && other != NULL ? other->keys[TARN_ROLE_OWN]
                      : pass == SIM_PASS_NONE                                     ? ""
                                                                                  : "00000000000000000000000000000000";
    if (key[0] != 0) {
        snprintf(authorization, sizeof authorization, "Authorization: Bearer %s\r\n", key);
    }
    made->kind = kind;
    snprintf(made->session, sizeof made->session, "%s", session);
    made->may = pass == SIM_PASS_OWN;
    made->run = sim_model_run();
    made->net.owner = made;
    made->net.received = received;
    made->is_local = sim_chance(50);
    made->net.address = made->is_local ? 0x7f000001 : 0x0a000000 + sim_below(3);
    made->net.latency_ns = sim_between(50000, 20 * SIM_MS);
    made->net.bytes_per_s = 1000000;
    made->net.room = 65536;
    if (!sim_net_connect(&made->net)) {
        return made;
    }
    const int bytes = snprintf(
        text, sizeof text, "%s %s HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n%s%sContent-Length: %zu\r\n\r\n%s", method, path,
        authorization, body[0] != 0 ? "Content-Type: application/json\r\n" : "", strlen(body), body);
    sim_net_put(&made->net, text, (size_t)bytes);
    return made;
}

void sim_request_make(void)
{
    char body[256];
    const char *scene = sim_scenes[sim_chance(10) ? 2 : sim_below(2)];
    const sim_pass pass = sim_chance(60) ? SIM_PASS_OWN : (sim_pass)sim_below(SIM_PASS_OTHER + 1);
    snprintf(body, sizeof body, "{\"scene\": \"%s\", \"name\": \"t\", \"listed\": %s}", scene,
             sim_chance(50) ? "true" : "false");
    request *made = begin(REQUEST_MAKE, "main", pass, "POST", "/sessions", body);
    snprintf(made->scene, sizeof made->scene, "%s", scene);
    // By another session's owner, too.
    made->may = !sim_planned.is_owned || pass == SIM_PASS_OWN || pass == SIM_PASS_OTHER;
}

void sim_request_end(const char *session, sim_pass pass)
{
    char path[128];
    snprintf(path, sizeof path, "/sessions/%s", session);
    sim_session *known = sim_model_find(session);
    if (known != NULL && pass == SIM_PASS_OWN && strcmp(session, "main") != 0) {
        known->may_be_gone = true; // the answer may not arrive
        known->since_ns = sim_now();
    }
    begin(REQUEST_END, session, pass, "DELETE", path, "");
}

void sim_request_move(const char *session, sim_pass pass, int worker)
{
    char path[128], body[64] = "";
    snprintf(path, sizeof path, "/sessions/%s/move", session);
    if (worker >= 0) {
        snprintf(body, sizeof body, "{\"worker\": %d}", worker);
    }
    begin(REQUEST_MOVE, session, pass, "POST", path, body);
}

/// A moment that is kept, or nearly so.
static double any_moment_s(const char *session)
{
    const sim_session *known = sim_model_find(session);
    return known != NULL ? 0.04 * (double)sim_between(0, known->steps + known->steps / 8) : 0;
}

void sim_request_back(const char *session, sim_pass pass)
{
    char path[128], body[64];
    sim_session *known = sim_model_find(session);
    snprintf(path, sizeof path, "/sessions/%s/rewind", session);
    const double t_s = any_moment_s(session);
    const bool replays = (uint64_t)(t_s / 0.04 + 0.5) % 2 == 0; // which the worker leaves out
    snprintf(body, sizeof body, "{\"t\": %.3f, \"replay\": %s}", t_s, replays ? "true" : "false");
    if (known != NULL && pass == SIM_PASS_OWN) {
        known->afresh_asked = true;
    }
    begin(REQUEST_TIME, session, pass, "POST", path, body);
}

void sim_request_fork(const char *session, sim_pass pass)
{
    char path[128], body[64];
    snprintf(path, sizeof path, "/sessions/%s/fork", session);
    snprintf(body, sizeof body, "{\"t\": %.3f}", any_moment_s(session));
    begin(REQUEST_FORK, session, pass, "POST", path, body);
}

void sim_request_time(const char *session, sim_pass pass)
{
    char path[128], body[64] = "";
    const uint32_t which = sim_below(3);
    snprintf(path, sizeof path, "/sessions/%s/%s", session, which == 0 ? "history" : which == 1 ? "marks" : "speed");
    if (which == 1 && sim_chance(30)) {
        snprintf(body, sizeof body, "{\"remove\": %u}", 1 + sim_below(4));
    } else if (which == 1) {
        snprintf(body, sizeof body, "{\"t\": %.3f, \"name\": \"here\"}", any_moment_s(session));
    } else if (which == 2) {
        snprintf(body, sizeof body, "{\"speed\": %s}", sim_chance(50) ? "1" : "0.5");
    }
    begin(REQUEST_TIME, session, pass, which == 0 ? "GET" : "POST", path, body);
}

void sim_request_read(void)
{
    static const char *const paths[] = {"/healthz", "/readyz", "/sessions", "/", "/nothing", "/sessions/main"};
    begin(REQUEST_READ, "main", SIM_PASS_NONE, "GET", paths[sim_below(sizeof paths / sizeof paths[0])], "");
}
