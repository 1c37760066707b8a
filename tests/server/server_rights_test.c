// Who gets in: what a link gives away, and where the key in it may be found.
#include "server/base/clock.h"
#include "server/base/token.h"
#include "tests/sanitized.h"
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ANSWER_BYTES = 8192 };

static const char json[] = "Content-Type: application/json\r\n";

static server_process server;
static char answer[ANSWER_BYTES];
static char store[64];

static int make_store(void **state)
{
    (void)state;
    snprintf(store, sizeof store, "/tmp/tarn-rights-XXXXXX");
    assert_non_null(mkdtemp(store));
    return 0;
}

static int remove_store(void **state)
{
    (void)state;
    return server_remove_store(store);
}

/// The text behind a JSON key in the answer.
static void take_text(const char *key, char *text, size_t text_bytes)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":\"", key);
    const char *found = strstr(answer, quoted);
    assert_non_null(found);
    found += strlen(quoted);
    snprintf(text, text_bytes, "%.*s", (int)strcspn(found, "\""), found);
}

/// Joins and stays. @return the answer: joined, or an error
static tarn_message come(ws_client *client, const char *session, const char *pass)
{
    ws_message raw;
    tarn_message message = {.kind = TARN_MESSAGE_JOIN};
    assert_int_equal(ws_client_open(client, server.port, "/ws", "tarn.v1", NULL), 101);
    ws_client_hello(client);
    snprintf(message.join.session, sizeof message.join.session, "%s", session);
    snprintf(message.join.key, sizeof message.join.key, "%s", pass);
    assert_int_equal(ws_client_tell(client, &message), 0);
    do {
        assert_int_equal(ws_client_next(client, &raw, WS_CLIENT_WAIT_MS), 1);
    } while (raw.opcode != WS_BINARY || tarn_message_read(raw.bytes, raw.byte_count, &message, NULL) != TARN_OK ||
             (message.kind != TARN_MESSAGE_JOINED && message.kind != TARN_MESSAGE_ERROR));
    return message;
}

/// Joins for a moment. @return the role that was given; -1: the server said no
static int role_of(const char *session, const char *pass)
{
    ws_client client;
    const tarn_message message = come(&client, session, pass);
    ws_client_close(&client);
    return message.kind == TARN_MESSAGE_JOINED ? (int)message.joined.role : -1;
}

static const char *bearer(const char *key)
{
    static char header[1200];
    snprintf(header, sizeof header, "%s%s%s%s", json, key[0] ? "Authorization: Bearer " : "", key,
             key[0] ? "\r\n" : "");
    return header;
}

/// @return the status of the answer
static int make_tank(const char *key)
{
    return server_request(server.port, "POST", "/sessions", bearer(key), "{\"scene\":\"small-pool\"}", answer,
                          sizeof answer);
}

static bool may_create(const char *key)
{
    assert_int_equal(server_request(server.port, "GET", "/sessions", bearer(key), NULL, answer, sizeof answer), 200);
    return strstr(answer, "\"create\":true") != NULL;
}

static void test_the_owners_link_is_printed_on_a_terminal_alone(void **state)
{
    (void)state;
    char key[64];
    const char *const arguments[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--guests",
                                     "watch",    "--store",        store,     NULL};
    server_start(&server, arguments);
    server_owners_key(store, key, sizeof key);
    assert_int_equal(strlen(key), 32);
    assert_null(strstr(server.out, key));
    assert_non_null(strstr(server.out, "the link by which that tank is owned is in /tmp/tarn-rights-"));
    server_stop(&server);
    assert_null(strstr(server.out, key));
    assert_null(strstr(server.err, key));

    server_start_on_terminal(&server, arguments);
    char link[128];
    snprintf(link, sizeof link, "?session=main#key=%s owns that tank", key);
    server_stop(&server); // a terminal gets it line by line
    assert_non_null(strstr(server.out, link));

    const char *const without[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--guests", "watch", NULL};
    server_start(&server, without);
    server_stop(&server);
    assert_non_null(strstr(server.out, "with --store DIR it is in DIR/owner-link"));
    assert_null(strstr(server.out, "key="));
}

static void test_a_session_that_is_not_listed_has_no_name_in_logs(void **state)
{
    (void)state;
    char name[64], own[64], path[96], headers[128];
    const char *const arguments[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--log",
                                     "debug",    "--store",        store,     NULL};
    server_start(&server, arguments);
    assert_int_equal(server_request(server.port, "POST", "/sessions", json,
                                    "{\"scene\":\"small-pool\",\"listed\":false}", answer, sizeof answer),
                     201);
    take_text("session", name, sizeof name);
    take_text("own", own, sizeof own);
    ws_client client;
    tarn_message message = {.kind = TARN_MESSAGE_JOIN};
    assert_int_equal(ws_client_open(&client, server.port, "/ws", "tarn.v1", NULL), 101);
    ws_client_hello(&client);
    snprintf(message.join.session, sizeof message.join.session, "%s", name);
    assert_int_equal(ws_client_tell(&client, &message), 0);
    assert_true(ws_client_wait(&client, TARN_MESSAGE_JOINED, &message));
    ws_client_close(&client);
    usleep(300000);
    server_stop(&server);
    assert_non_null(strstr(server.err, "the session \"unlisted-2\" begins: small-pool"));
    assert_null(strstr(server.err, name));

    server_start(&server, arguments);
    snprintf(path, sizeof path, "/sessions/%s", name);
    snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", own);
    assert_int_equal(server_request(server.port, "DELETE", path, headers, NULL, answer, sizeof answer), 200);
    server_stop(&server);
    assert_non_null(strstr(server.err, "the session \"unlisted-2\" is back"));
    assert_non_null(strstr(server.err, "the session \"unlisted-2\" ends: one of its owners ended this tank"));
    assert_null(strstr(server.err, name));
    assert_null(strstr(server.err, own));
}

static void test_what_is_open_beyond_this_machine(void **state)
{
    (void)state;
    const struct {
        const char *arguments[8];
        const char *says;
        tarn_role guest;
        int makes; ///< the status of a request to make a tank that has no key
    } cases[] = {
        {{NULL},
         "whoever reaches it, from this machine, may watch, play and own; everybody makes further tanks",
         TARN_ROLE_OWN,
         201},
        {{"--host", "0.0.0.0", NULL},
         "whoever reaches it may watch and play; links let own; owners make further tanks",
         TARN_ROLE_PLAY,
         403},
        {{"--host", "0.0.0.0", "--open", NULL},
         "whoever reaches it may watch, play and own; everybody makes further tanks",
         TARN_ROLE_OWN,
         201},
        {{"--host", "0.0.0.0", "--open", "--guests", "own", "--create", "nobody", NULL},
         "whoever reaches it may watch, play and own; nobody makes further tanks",
         TARN_ROLE_OWN,
         403},
        {{"--host", "0.0.0.0", "--guests", "watch", "--create", "everyone", NULL},
         "whoever reaches it may watch; links let play and own; everybody makes further tanks",
         TARN_ROLE_WATCH,
         201},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *arguments[16] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--store", store};
        for (int a = 0; cases[i].arguments[a] != NULL; a++) {
            arguments[6 + a] = cases[i].arguments[a];
        }
        server_start(&server, arguments);
        assert_int_equal(role_of("main", ""), cases[i].guest);
        assert_int_equal(make_tank(""), cases[i].makes);
        char key[64];
        server_owners_key(store, key, sizeof key);
        assert_int_equal(role_of("main", key), TARN_ROLE_OWN);
        // Of Debian 12's libwebsockets, to whom it matters.
        assert_int_equal(strstr(server_said(&server), "gets no security fixes, as Debian 12 has it") != NULL,
                         i > 0 && strncmp(TARN_TEST_LWS, "4.1.", 4) == 0);
        server_stop(&server);
        if (strstr(server.out, cases[i].says) == NULL) {
            fail_msg("\"%s\" isn't in: %s", cases[i].says, server.out);
        }
    }
}

static void test_owners_make_tanks(void **state)
{
    (void)state;
    char own[64], play[64], made[64];
    const char *const arguments[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--create", "owners",
                                     "--guests", "watch",          "--store", store,        NULL};
    server_start(&server, arguments);
    server_owners_key(store, own, sizeof own);
    assert_int_equal(make_tank(""), 403);
    assert_non_null(strstr(answer, "only who owns a tank here makes another one"));
    assert_int_equal(make_tank("0123456789abcdef0123456789abcdef"), 403);
    assert_int_equal(make_tank(own), 201);
    take_text("own", made, sizeof made);
    take_text("play", play, sizeof play);
    assert_int_equal(make_tank(play), 403);
    assert_int_equal(make_tank(made), 201);
    assert_false(may_create(""));
    assert_false(may_create(play));
    assert_true(may_create(own));
    server_stop(&server);
}

/// A tank that was made when guests owned is none of everybody's when more people reach it.
static void test_guests_of_earlier_tanks_may_no_more_than_now(void **state)
{
    (void)state;
    char name[64];
    const char *arguments[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--store", store,
                               NULL,       "0.0.0.0",        NULL};
    server_start(&server, arguments);
    assert_int_equal(make_tank(""), 201);
    take_text("session", name, sizeof name);
    assert_int_equal(role_of(name, ""), TARN_ROLE_OWN);
    usleep(300000);
    server_stop(&server);
    arguments[6] = "--host";
    server_start(&server, arguments);
    assert_int_equal(role_of(name, ""), TARN_ROLE_PLAY);
    server_stop(&server);
}

/// Sends a request as it stands. @return the status of the answer
static int ask(const char *request)
{
    const int fd = ws_connect(server.port);
    int status = 0, have = 0;
    assert_true(fd >= 0);
    ws_send_raw(fd, request, strlen(request));
    while (status != 101 && have < ANSWER_BYTES - 1) {
        const ssize_t got = recv(fd, answer + have, (size_t)(ANSWER_BYTES - 1 - have), 0);
        if (got <= 0) {
            break;
        }
        have += (int)got;
        answer[have] = 0;
        sscanf(answer, "HTTP/1.%*d %d", &status);
    }
    close(fd);
    return status;
}

static void test_requests_name_this_machine(void **state)
{
    (void)state;
    char own[256] = "", local[300], text[512];
    gethostname(own, sizeof own - 1);
    snprintf(local, sizeof local, "%s.local", own);
    const char *const arguments[] = {"--scenes", TARN_TEST_SCENES,
                                     "--scene",  "small-pool",
                                     "--name",   "Tank.Example",
                                     "--name",   "2001:db8::7",
                                     "--origin", "https://pages.example:444",
                                     NULL};
    const struct {
        const char *host;
        int status;
    } cases[] = {
        {"127.0.0.1", 200},
        {"127.0.0.1:1", 200},
        {"127.1.2.3", 200},
        {"localhost:80", 200},
        {"LOCALHOST", 200},
        {"localhost.", 200},
        {"a.localhost", 200},
        {"[::1]:8080", 200},
        {"[::ffff:127.0.0.1]", 200},
        {own, 200},
        {"tank.example", 200},
        {"tank.example.:443", 200},
        {"[2001:db8::7]:1", 200},
        {"[2001:DB8:0::7]", 200},
        {"pages.example", 200},
        {"evil.example", 421},
        {"tank.example.evil", 421},
        {"xtank.example", 421},
        {"tank.exampl", 421},
        {"localhost.evil", 421},
        {"127.0.0.1.evil", 421},
        {"192.0.2.9", 421},
        {"[2001:db8::8]", 421},
        {"[::1", 421},
        {"[::1]x", 421},
        {"localhost:80x", 421},
        {"local host", 421},
        {":80", 421},
        {".localhost", 421},
        {"user@localhost", 421},
    };
    server_start(&server, arguments);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(text, sizeof text, "GET /sessions HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", cases[i].host);
        const int status = ask(text);
        if (status != cases[i].status && !(cases[i].status == 421 && status == 400)) { // some are no hosts at all
            fail_msg("the host \"%s\" was answered with %d", cases[i].host, status);
        }
        snprintf(text, sizeof text,
                 "GET /ws HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                 "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                 "Sec-WebSocket-Protocol: tarn.v1\r\n\r\n",
                 cases[i].host);
        assert_int_equal(ask(text), status == 200 ? 101 : status);
    }
    assert_int_equal(
        ask("POST /sessions HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"), 421);
    assert_non_null(strstr(answer, "421 Misdirected Request"));
    assert_non_null(strstr(answer, "may add this one with --name"));
    server_stop(&server);
    assert_non_null(strstr(server.err, "a request for the host evil.example was refused; --name would allow it"));
}

/// @return whether tarnd refused to start with exit status 2 and said this
static bool refuses(const char *const *arguments, const char *says)
{
    server_spawn(&server, arguments);
    return server_wait(&server) == 2 && strstr(server.err, says) != NULL;
}

static void test_rights_that_can_not_be_meant_are_refused(void **state)
{
    (void)state;
    assert_true(refuses((const char *[]){"--host", "0.0.0.0", "--guests", "own", NULL},
                        "allowed are watch and play, or own with --open"));
    assert_true(refuses((const char *[]){"--guests", "own", "--host", "192.0.2.1", NULL}, "with --host 192.0.2.1"));
    assert_true(refuses((const char *[]){"--create", "some", NULL}, "allowed are nobody, owners and everyone"));
    assert_true(refuses((const char *[]){"--name", "a:80", NULL}, "--name: found \"a:80\""));
    assert_true(refuses((const char *[]){"--name", "", NULL}, "--name: found \"\""));
    assert_true(refuses((const char *[]){"--name", "a", "--name=a", "--name=a", "--name=a", "--name=a", "--name=a",
                                         "--name=a", "--name=a", "--name=a", "--name=a", "--name=a", "--name=a",
                                         "--name=a", "--name=a", "--name=a", "--name=a", "--name=a", NULL},
                        "--name: given more than 16 times"));
}

/// Runs `tarn token` in the store's folder. @return its exit status
static int tool(const char *arguments, char *out, size_t out_bytes)
{
    char command[512];
    snprintf(command, sizeof command, "%s token %s --store %s 2>/dev/null", TARN_TEST_TOOL, arguments, store);
    FILE *pipe = popen(command, "re");
    assert_non_null(pipe);
    const size_t got = fread(out, 1, out_bytes - 1, pipe);
    out[got] = 0;
    out[strcspn(out, "\n")] = 0;
    return WEXITSTATUS(pclose(pipe));
}

static void start_with_store(const char *option, const char *value)
{
    const char *const arguments[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--guests", "watch",
                                     "--create", "owners",         "--store", store,        option,     value,
                                     NULL};
    server_start(&server, arguments);
}

static void test_tokens_open_what_keys_open(void **state)
{
    (void)state;
    static const char *const roles[] = {"watch", "play", "own"};
    char pass[1024], words[128], path[96], name[64];
    ws_client client;
    start_with_store(NULL, NULL);
    for (int role = 0; role < TARN_ROLE_COUNT; role++) {
        snprintf(words, sizeof words, "mint --session main --role %s --expires 1h", roles[role]);
        assert_int_equal(tool(words, pass, sizeof pass), 0);
        const tarn_message joined = come(&client, "main", pass);
        assert_int_equal(joined.kind, TARN_MESSAGE_JOINED);
        assert_int_equal(joined.joined.role, role);
        // Keys would outlive it.
        assert_string_equal(joined.joined.watch_key, "");
        assert_string_equal(joined.joined.own_key, "");
        ws_client_close(&client);
        assert_int_equal(make_tank(pass), role == TARN_ROLE_OWN ? 201 : 403);
        assert_int_equal(may_create(pass), role == TARN_ROLE_OWN);
    }
    assert_int_equal(make_tank(pass), 201);
    take_text("session", name, sizeof name);
    snprintf(path, sizeof path, "/sessions/%s", name);
    assert_int_equal(server_request(server.port, "DELETE", path, bearer(pass), NULL, answer, sizeof answer), 403);
    snprintf(words, sizeof words, "mint --session %s --role own", name);
    assert_int_equal(tool(words, pass, sizeof pass), 0);
    assert_int_equal(role_of(name, pass), TARN_ROLE_OWN);
    assert_int_equal(server_request(server.port, "DELETE", path, bearer(pass), NULL, answer, sizeof answer), 200);
    server_stop(&server);
    assert_null(strstr(server.err, strrchr(pass, '.'))); // no signature in a log
}

static void expect_refused(const char *pass, const char *sentence)
{
    ws_client client;
    const tarn_message message = come(&client, "main", pass);
    assert_int_equal(message.kind, TARN_MESSAGE_ERROR);
    assert_int_equal(message.error.code, TARN_ERROR_KEY);
    if (strstr(message.error.text, sentence) == NULL) {
        fail_msg("instead of \"%s\": %s", sentence, message.error.text);
    }
    assert_int_equal(ws_client_wait_close(&client), 4012);
    ws_client_close(&client);
    assert_int_equal(make_tank(pass), 403);
}

/// A token of another issuer, with all claims and an id of its own, as long as they may be: it opens over HTTP what it
/// opens by WebSocket.
static void test_a_long_token_opens_over_http_too(void **state)
{
    (void)state;
    tarn_token_keys keys;
    tarn_text why;
    tarn_pass pass;
    char path[96];
    const int64_t now_s = time(NULL);
    const tarn_token token = {.id = "0123456789abcdef0123456789ABCDEF",
                              .session = "main",
                              .role = TARN_ROLE_OWN,
                              .issued_s = now_s - 60,
                              .from_s = now_s - 60,
                              .until_s = now_s + 3600};
    start_with_store(NULL, NULL);
    snprintf(path, sizeof path, "%s/secret", store);
    assert_int_equal(tarn_token_keys_read(&keys, path, why), TARN_OK);
    assert_int_equal(tarn_token_write(&token, &keys.keys[0], pass), TARN_OK);
    assert_true(strlen(pass) > 255);
    assert_int_equal(role_of("main", pass), TARN_ROLE_OWN);
    assert_int_equal(
        server_request(server.port, "GET", "/sessions/main/history", bearer(pass), NULL, answer, sizeof answer), 200);
    assert_int_equal(make_tank(pass), 201);
    server_stop(&server);
}

static void test_wrong_tokens_open_nothing(void **state)
{
    (void)state;
    char pass[1024], other[1024];
    start_with_store(NULL, NULL);
    assert_int_equal(tool("mint --session main --role own", pass, sizeof pass), 0);
    assert_int_equal(tool("mint --session elsewhere --role own", other, sizeof other), 0);
    expect_refused(other, "the token is for another session");
    snprintf(strrchr(other, '.'), 64, "%s", strrchr(pass, '.'));
    expect_refused(other, "the token's signature is wrong");
    expect_refused("eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.e30.", "the token's alg is \"none\", allowed is HS256");
    expect_refused("a.b.c.d", "the token has 4 parts");
    assert_int_equal(role_of("main", pass), TARN_ROLE_OWN);
    server_stop(&server);
}

/// Waits until a viewer is closed. @return how long that took, ms
static unsigned wait_for_close(ws_client *client)
{
    const uint64_t since_ns = tarn_clock_monotonic_ns();
    assert_int_equal(ws_client_wait_close(client), 4012);
    return (unsigned)((tarn_clock_monotonic_ns() - since_ns) / 1000000);
}

static void test_who_came_by_a_token_goes_with_it(void **state)
{
    (void)state;
    enum { A_SECOND_MS = 1000, LASTS_MS = TEST_IS_SANITIZED ? 20000 : 3000 }; // to be in by
    char revoked[1024], lasting[1024], short_lived[1024], line[4096], id[64], words[128];
    ws_client one, other, third;
    tarn_message message;
    start_with_store(NULL, NULL);
    assert_int_equal(tool("mint --session main --role own --note mine", revoked, sizeof revoked), 0);
    assert_int_equal(tool("mint --session main --role play", lasting, sizeof lasting), 0);
    assert_int_equal(come(&one, "main", revoked).kind, TARN_MESSAGE_JOINED);
    assert_int_equal(come(&other, "main", lasting).kind, TARN_MESSAGE_JOINED);
    snprintf(words, sizeof words, "%s/tokens", store);
    FILE *issued = fopen(words, "re");
    assert_non_null(issued);
    assert_non_null(fgets(line, sizeof line, issued));
    fclose(issued);
    snprintf(id, sizeof id, "%.*s", (int)strcspn(line, "\t"), line);
    snprintf(words, sizeof words, "revoke %s", id);
    assert_int_equal(tool(words, line, sizeof line), 0);
    const unsigned closed_ms = wait_for_close(&one);
    assert_true(TEST_IS_SANITIZED || closed_ms <= A_SECOND_MS);
    ws_client_close(&one);
    expect_refused(revoked, "the token was revoked");

    const uint64_t since_ns = tarn_clock_monotonic_ns();
    snprintf(words, sizeof words, "mint --session main --role play --expires %ds", LASTS_MS / 1000);
    assert_int_equal(tool(words, short_lived, sizeof short_lived), 0);
    assert_int_equal(come(&third, "main", short_lived).kind, TARN_MESSAGE_JOINED);
    wait_for_close(&third);
    const uint64_t lasted_ms = (tarn_clock_monotonic_ns() - since_ns) / 1000000;
    assert_true(lasted_ms > LASTS_MS - A_SECOND_MS);
    assert_true(TEST_IS_SANITIZED || lasted_ms <= LASTS_MS + A_SECOND_MS);
    ws_client_close(&third);
    expect_refused(short_lived, "the token has expired");
    // Another one, and who has it, stay; and it all lasts through a restart.
    message = (tarn_message){.kind = TARN_MESSAGE_PING};
    assert_int_equal(ws_client_tell(&other, &message), 0);
    assert_true(ws_client_wait(&other, TARN_MESSAGE_PONG, &message));
    ws_client_close(&other);
    server_stop(&server);
    assert_non_null(strstr(server.err, "closed with 4012: the token of this link was revoked"));
    assert_non_null(strstr(server.err, "closed with 4012: the token of this link has expired"));
    start_with_store(NULL, NULL);
    expect_refused(revoked, "the token was revoked");
    assert_int_equal(role_of("main", lasting), TARN_ROLE_PLAY);
    server_stop(&server);
}

static void test_what_is_revoked_is_tried_until_it_can_be_read(void **state)
{
    (void)state;
    enum { LOOKS = 3, LOOK_US = 600000 };
    char pass[1024], line[4096], id[64], words[128], revoked[128], aside[128];
    start_with_store(NULL, NULL);
    assert_int_equal(tool("mint --session main --role play", pass, sizeof pass), 0);
    snprintf(words, sizeof words, "%s/tokens", store);
    FILE *issued = fopen(words, "re");
    assert_non_null(issued);
    assert_non_null(fgets(line, sizeof line, issued));
    fclose(issued);
    snprintf(id, sizeof id, "%.*s", (int)strcspn(line, "\t"), line);
    snprintf(revoked, sizeof revoked, "%s/revoked", store);
    snprintf(aside, sizeof aside, "%s/aside", store);
    FILE *ids = fopen(aside, "we");
    assert_non_null(ids);
    assert_true(fprintf(ids, "%s\n", id) > 0);
    assert_int_equal(fclose(ids), 0);
    // A link isn't followed, and the file that takes its place looks the same: as old, as large.
    assert_int_equal(symlink(aside, revoked), 0);
    usleep(LOOKS * LOOK_US);
    assert_int_equal(role_of("main", pass), TARN_ROLE_PLAY);
    assert_int_equal(rename(aside, revoked), 0);
    for (int i = 0; i < WS_CLIENT_WAIT_MS / 100 && role_of("main", pass) == TARN_ROLE_PLAY; i++) {
        usleep(100000);
    }
    expect_refused(pass, "the token was revoked");
    server_stop(&server);
    const char *said = strstr(server.err, revoked);
    assert_non_null(said);
    assert_null(strstr(said + 1, revoked)); // once, though it was tried more often

    // Where nothing is known of what was revoked, nobody is let in.
    assert_int_equal(rename(revoked, aside), 0);
    assert_int_equal(symlink(aside, revoked), 0);
    server_spawn(&server, (const char *[]){"--port", "0", "--store", store, NULL});
    assert_int_equal(server_wait(&server), 1);
    assert_non_null(strstr(server.err, revoked));
}

static void test_keys_of_issuers_take_turns(void **state)
{
    (void)state;
    char file[128], old[1024], new[1024], words[1024];
    snprintf(file, sizeof file, "%s/issuers", store);
    const int fd = open(file, O_WRONLY | O_CREAT, 0600);
    static const char one[] = "2025 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n";
    static const char both[] = "2026 BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA\n"
                               "2025 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n";
    assert_int_equal(write(fd, one, sizeof one - 1), sizeof one - 1);
    snprintf(words, sizeof words, "%s token mint --session main --role own --secret %s 2>/dev/null", TARN_TEST_TOOL,
             file);
    char *const tokens[] = {old, new};
    for (int i = 0; i < 2; i++) {
        FILE *pipe = popen(words, "re");
        assert_non_null(fgets(tokens[i], 1024, pipe));
        tokens[i][strcspn(tokens[i], "\n")] = 0;
        assert_int_equal(pclose(pipe), 0);
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, both, sizeof both - 1, 0), sizeof both - 1);
    }
    start_with_store("--token-keys", file);
    assert_int_equal(role_of("main", old), TARN_ROLE_OWN);
    assert_int_equal(role_of("main", new), TARN_ROLE_OWN);
    assert_int_equal(tool("mint --session main --role own", words, sizeof words), 0);
    expect_refused(words, "the token's kid is \"0\", which is no key of this server");
    server_stop(&server);
    assert_int_equal(fchmod(fd, 0644), 0);
    server_spawn(&server, (const char *[]){"--port", "0", "--token-keys", file, NULL});
    assert_int_equal(server_wait(&server), 1);
    assert_non_null(strstr(server.err, "others may read it (mode 644), allowed is 600"));
    close(fd);
}

/// @return the status of the answer
static int scene_file_by(const char *pass)
{
    return server_http(server.port, "GET", "/sessions/main/scene/small-pool.json", bearer(pass), answer, sizeof answer);
}

/// Whom an owner removed reads no more of the tank by its token; others by theirs do.
static void test_who_was_removed_reads_no_scene(void **state)
{
    (void)state;
    char pass[1024], other[1024], owners[1024];
    ws_client owner, player;
    tarn_message message = {.kind = TARN_MESSAGE_MODERATE, .moderate.action = TARN_MODERATE_REMOVE};
    start_with_store(NULL, NULL);
    assert_int_equal(tool("mint --session main --role play", pass, sizeof pass), 0);
    assert_int_equal(tool("mint --session main --role play", other, sizeof other), 0);
    assert_int_equal(tool("mint --session main --role own", owners, sizeof owners), 0);
    assert_int_equal(come(&owner, "main", owners).kind, TARN_MESSAGE_JOINED);
    const tarn_message joined = come(&player, "main", pass);
    assert_int_equal(joined.kind, TARN_MESSAGE_JOINED);
    assert_int_equal(scene_file_by(pass), 200);
    message.moderate.viewer_id = joined.joined.viewer_id;
    assert_int_equal(ws_client_tell(&owner, &message), 0);
    assert_int_equal(ws_client_wait_close(&player), TARN_CLOSE_BASE + TARN_ERROR_REMOVED);
    assert_int_equal(scene_file_by(pass), 403);
    assert_non_null(strstr(answer, "an owner has removed you from this tank"));
    assert_int_equal(scene_file_by(other), 200);
    assert_int_equal(scene_file_by(owners), 200);
    ws_client_close(&player);
    ws_client_close(&owner);
    server_stop(&server);
}

/// Reads /metrics for somebody elsewhere, whom a proxy passes on.
static int metrics_by(const char *scheme, const char *pass)
{
    static char headers[1200];
    snprintf(headers, sizeof headers, "X-Forwarded-For: 192.0.2.7\r\n%s%s%s%s", pass[0] ? "Authorization: " : "",
             pass[0] ? scheme : "", pass, pass[0] ? "\r\n" : "");
    return server_http(server.port, "GET", "/metrics", headers, answer, sizeof answer);
}

static void test_metrics_may_be_kept_to_owners_or_to_this_machine(void **state)
{
    (void)state;
    char key[64], play[1024], own[1024], wrong[64];
    static const char *const readers[] = {"everyone", "owners", "local"};
    for (int i = 0; i < 3; i++) {
        const char *const arguments[] = {"--scenes", TARN_TEST_SCENES, "--scene",   "small-pool", "--store", store,
                                         "--guests", "play",           "--metrics", readers[i],   NULL};
        server_start(&server, arguments);
        server_owners_key(store, key, sizeof key);
        assert_int_equal(tool("mint --session main --role play", play, sizeof play), 0);
        assert_int_equal(tool("mint --session main --role own", own, sizeof own), 0);
        snprintf(wrong, sizeof wrong, "%s", key);
        wrong[31] = wrong[31] == '0' ? '1' : '0';
        const int guests = i == 0 ? 200 : 403, owners = i < 2 ? 200 : 403;
        assert_int_equal(metrics_by("", ""), guests);
        assert_int_equal(strstr(answer, "tarn_viewers") != NULL, guests == 200);
        if (i > 0) {
            assert_non_null(strstr(answer, i == 1 ? "who owns a tank here, may read this: with Authorization: Bearer"
                                                  : "only this machine may read this"));
        }
        assert_int_equal(metrics_by("Bearer ", play), guests);
        assert_int_equal(metrics_by("Bearer ", wrong), guests);
        assert_int_equal(metrics_by("Basic ", key), guests);
        assert_int_equal(metrics_by("Bearer ", key), owners);
        assert_int_equal(metrics_by("bEARER  ", key), owners);
        assert_int_equal(metrics_by("bearer ", own), owners);
        assert_int_equal(server_http(server.port, "GET", "/metrics", NULL, answer, sizeof answer), 200);
        assert_int_equal(server_http(server.port, "HEAD", "/metrics", NULL, answer, sizeof answer), 200);
        server_stop(&server);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_owners_link_is_printed_on_a_terminal_alone, make_store, remove_store),
        cmocka_unit_test_setup_teardown(test_a_session_that_is_not_listed_has_no_name_in_logs, make_store,
                                        remove_store),
        cmocka_unit_test_setup_teardown(test_what_is_open_beyond_this_machine, make_store, remove_store),
        cmocka_unit_test_setup_teardown(test_owners_make_tanks, make_store, remove_store),
        cmocka_unit_test_setup_teardown(test_guests_of_earlier_tanks_may_no_more_than_now, make_store, remove_store),
        cmocka_unit_test(test_requests_name_this_machine),
        cmocka_unit_test_setup_teardown(test_tokens_open_what_keys_open, make_store, remove_store),
        cmocka_unit_test_setup_teardown(test_a_long_token_opens_over_http_too, make_store, remove_store),
        cmocka_unit_test_setup_teardown(test_wrong_tokens_open_nothing, make_store, remove_store),
        cmocka_unit_test_setup_teardown(test_metrics_may_be_kept_to_owners_or_to_this_machine, make_store,
                                        remove_store),
        cmocka_unit_test_setup_teardown(test_who_was_removed_reads_no_scene, make_store, remove_store),
        cmocka_unit_test_setup_teardown(test_who_came_by_a_token_goes_with_it, make_store, remove_store),
        cmocka_unit_test_setup_teardown(test_what_is_revoked_is_tried_until_it_can_be_read, make_store, remove_store),
        cmocka_unit_test_setup_teardown(test_keys_of_issuers_take_turns, make_store, remove_store),
        cmocka_unit_test(test_rights_that_can_not_be_meant_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
