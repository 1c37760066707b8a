// Several people in a tank, and several tanks in a server: who sees whom, who may do what, how tanks come and go.
#include "server/base/clock.h"
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_BYTES = 16384, TANKS_MAX = 4, KEEP_EMPTY_S = 1, MADE_PER_MINUTE = 10 };

static server_process server;
static char answer[ANSWER_BYTES];
static char store[] = "/tmp/tarn-together-XXXXXX";

static int start(void **state)
{
    (void)state;
    const char *const arguments[] = {
        "--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--guests", "watch", "--keep-empty",
        "1",        "--sessions-max", "4",       "--store",    store,      NULL};
    assert_non_null(mkdtemp(store));
    server_start(&server, arguments);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    server_stop(&server);
    return server_remove_store(store);
}

static void own_key(tarn_key key)
{
    server_owners_key(store, key, sizeof(tarn_key));
    assert_int_equal(strlen(key), TARN_KEY_BYTES);
}

static uint8_t joins_as_preview;
static const char *joins_browser = "";

/// Opens, says hello and joins. @return what the server answered: joined, or an error
static tarn_message join(ws_client *client, const char *session, const char *name, const char *key)
{
    tarn_message message = {.kind = TARN_MESSAGE_JOIN};
    assert_int_equal(ws_client_open(client, server.port, "/ws", "tarn.v1", NULL), 101);
    ws_client_hello(client);
    snprintf(message.join.session, sizeof message.join.session, "%s", session);
    snprintf(message.join.viewer, sizeof message.join.viewer, "%s", name);
    snprintf(message.join.key, sizeof message.join.key, "%s", key);
    message.join.preview = joins_as_preview;
    snprintf(message.join.browser, sizeof message.join.browser, "%s", joins_browser);
    assert_int_equal(ws_client_tell(client, &message), 0);
    for (;;) {
        ws_message raw;
        assert_int_equal(ws_client_next(client, &raw, WS_CLIENT_WAIT_MS), 1);
        if (raw.opcode == WS_BINARY && tarn_message_read(raw.bytes, raw.byte_count, &message, NULL) == TARN_OK &&
            (message.kind == TARN_MESSAGE_JOINED || message.kind == TARN_MESSAGE_ERROR)) {
            return message;
        }
    }
}

/// The next message of a kind, as it came.
static ws_message next_raw(ws_client *client, tarn_message_kind kind)
{
    for (;;) {
        ws_message raw;
        tarn_message message;
        assert_int_equal(ws_client_next(client, &raw, WS_CLIENT_WAIT_MS), 1);
        if (raw.opcode == WS_BINARY && tarn_message_read(raw.bytes, raw.byte_count, &message, NULL) == TARN_OK &&
            message.kind == kind) {
            return raw;
        }
    }
}

static uint32_t next_points(ws_client *client, tarn_presence_point points[TARN_PRESENCES_MAX])
{
    uint32_t count = 0;
    const ws_message raw = next_raw(client, TARN_MESSAGE_PRESENCES);
    assert_int_equal(tarn_message_read_presences(raw.bytes, raw.byte_count, points, TARN_PRESENCES_MAX, &count, NULL),
                     TARN_OK);
    return count;
}

/// Waits until a viewer is in the list under a name. @return what the list says of it
static tarn_viewer_info find_viewer(ws_client *client, uint32_t viewer_id, const char *name)
{
    static tarn_viewer_info viewers[TARN_VIEWERS_MAX];
    for (;;) {
        uint32_t count;
        const ws_message raw = next_raw(client, TARN_MESSAGE_VIEWERS);
        assert_int_equal(tarn_message_read_viewers(raw.bytes, raw.byte_count, viewers, TARN_VIEWERS_MAX, &count, NULL),
                         TARN_OK);
        for (uint32_t i = 0; i < count; i++) {
            if (viewers[i].viewer_id == viewer_id && strcmp(viewers[i].name, name) == 0) {
                return viewers[i];
            }
        }
    }
}

static void show(ws_client *client, float x)
{
    tarn_message message = {.kind = TARN_MESSAGE_PRESENCE};
    message.presence.point_count = 1;
    message.presence.points[0] =
        (tarn_presence_point){.part = TARN_PART_HAND_LEFT, .position_m = {x, 0.5f, 0.25f}, .pressed = 1};
    assert_int_equal(ws_client_tell(client, &message), 0);
}

static int request(const char *method, const char *path, const char *headers, const char *body)
{
    const int status = server_request(server.port, method, path, headers, body, answer, sizeof answer);
    if (strncmp(answer + sizeof "HTTP/1.1 200" - 1, " \r", 2) == 0) {
        fail_msg("%s %s is answered with %d, for no reason", method, path, status);
    }
    return status;
}

static const char json[] = "Content-Type: application/json\r\n";

/// A text of the newest answer.
static void take_text(const char *field, char *text, size_t bytes)
{
    char form[64];
    snprintf(form, sizeof form, "\"%s\":\"", field);
    const char *found = strstr(answer, form);
    assert_non_null(found);
    found += strlen(form);
    snprintf(text, bytes, "%.*s", (int)strcspn(found, "\""), found);
}

static void test_viewers_see_each_other(void **state)
{
    (void)state;
    tarn_presence_point points[TARN_PRESENCES_MAX];
    ws_client one, two;
    const tarn_message first = join(&one, "main", "Ada", ""), second = join(&two, "main", "Bo", "");
    show(&one, 0.125f);
    uint32_t count;
    do {
        count = next_points(&two, points);
    } while (count == 0);
    assert_int_equal(count, 1);
    assert_int_equal(points[0].viewer_id, first.joined.viewer_id);
    assert_int_equal(points[0].part, TARN_PART_HAND_LEFT);
    assert_true(points[0].position_m[0] == 0.125f && points[0].pressed);
    show(&two, 0.5f);
    do {
        count = next_points(&one, points);
    } while (count < 2);
    assert_true(points[0].viewer_id == second.joined.viewer_id); // the one who moved last comes first
    ws_client_close(&two);
    do { // whoever is gone is no longer seen by a third
        count = (join(&two, "main", "Cy", ""), next_points(&two, points));
    } while (count != 1 && (ws_client_close(&two), 1));
    assert_int_equal(points[0].viewer_id, first.joined.viewer_id);
    ws_client_close(&one);
    ws_client_close(&two);
}

static void test_many_moves_come_as_few_messages(void **state)
{
    (void)state;
    tarn_presence_point points[TARN_PRESENCES_MAX];
    ws_client one, two;
    join(&one, "main", "", "");
    join(&two, "main", "", "");
    for (int i = 1; i <= 400; i++) {
        show(&one, (float)i / 400);
    }
    int messages = 0;
    do {
        assert_true(next_points(&two, points) <= 1);
        messages++;
    } while (points[0].position_m[0] < 1.0f);
    // 400 moves take a few beats; without them each would come by itself.
    assert_true(messages < 100);
    ws_client_close(&one);
    ws_client_close(&two);
}

static void test_profiles_are_heard_and_bounded(void **state)
{
    (void)state;
    ws_client one, two;
    const tarn_message first = join(&one, "main", "  Ada  ", "");
    assert_string_equal(first.joined.viewer, "Ada");
    const tarn_message second = join(&two, "main", "Bo", "");
    const tarn_viewer_info ada = find_viewer(&two, first.joined.viewer_id, "Ada");
    const tarn_viewer_info bo = find_viewer(&one, second.joined.viewer_id, "Bo");
    assert_true(ada.colour != 0 && bo.colour != 0 && ada.colour != bo.colour);
    assert_int_equal(ada.role, TARN_ROLE_WATCH);
    tarn_message message = {.kind = TARN_MESSAGE_PROFILE, .profile = {"Zo\xc3\xab", 0x123456}};
    ws_client_tell(&one, &message);
    assert_int_equal(find_viewer(&two, first.joined.viewer_id, "Zo\xc3\xab").colour, 0x123456);
    message.profile = (tarn_profile){"   ", 0x654321}; // nothing but spaces is no name
    ws_client_tell(&one, &message);
    assert_int_equal(find_viewer(&two, first.joined.viewer_id, "Zo\xc3\xab").colour, 0x654321);
    for (int i = 0; i < 20; i++) {
        ws_client_tell(&one, &message);
    }
    assert_true(ws_client_wait(&one, TARN_MESSAGE_ERROR, &message));
    assert_int_equal(message.error.code, TARN_ERROR_INPUT);
    ws_client_close(&one);
    ws_client_close(&two);
}

/// Two words and no number: one that can be said aloud.
static bool is_friendly(const char *name)
{
    const size_t first = strspn(name, "abcdefghijklmnopqrstuvwxyz");
    return first > 2 && name[first] == ' ' &&
           strspn(name + first + 1, "abcdefghijklmnopqrstuvwxyz") == strlen(name + first + 1) &&
           strlen(name + first + 1) > 2;
}

static void test_whoever_has_no_name_gets_one_that_nobody_has(void **state)
{
    (void)state;
    enum { COUNT = 8 };
    static const char browser[] = "0123456789abcdef0123456789abcdef";
    ws_client clients[COUNT];
    char names[COUNT][64];
    for (int i = 0; i < COUNT; i++) {
        // All of one browser, as tabs are: their names would be the same.
        joins_browser = browser;
        const tarn_message joined = join(&clients[i], "main", i == 0 ? "  " : "", "");
        snprintf(names[i], sizeof names[i], "%s", joined.joined.viewer);
        assert_true(is_friendly(names[i]));
        find_viewer(&clients[0], joined.joined.viewer_id, names[i]); // all see the same
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(names[i], names[j]);
        }
    }
    ws_client_close(&clients[0]);
    ws_client again;
    for (bool is_same = false; !is_same;) { // once the other is gone
        is_same = strcmp(join(&again, "main", "", "").joined.viewer, names[0]) == 0;
        ws_client_close(&again);
    }
    joins_browser = "";
    for (int i = 1; i < COUNT; i++) {
        ws_client_close(&clients[i]);
    }
}

static void push(ws_client *client)
{
    const float origin_m[3] = {0.5f, 0.2f, 2}, direction[3] = {0, 0, -1};
    ws_client_pointer(client, TARN_PHASE_DOWN, origin_m, direction, 0.1f);
}

static void expect_refusal(ws_client *client)
{
    tarn_message message;
    assert_true(ws_client_wait(client, TARN_MESSAGE_ERROR, &message));
    assert_int_equal(message.error.code, TARN_ERROR_ROLE);
    assert_true(strlen(message.error.text) > 20);
}

/// Waits for a frame that contains a viewer's input; none of what came before was refused.
static void expect_acted(ws_client *client)
{
    for (;;) {
        ws_frame frame;
        assert_true(ws_client_wait_frame(client, &frame));
        for (uint32_t i = 0; i < frame.input_count; i++) {
            if (frame.inputs[i].viewer_id == client->viewer_id && frame.inputs[i].sequence == client->sequence) {
                return;
            }
        }
    }
}

static void test_roles_bound_what_viewers_may_do(void **state)
{
    (void)state;
    ws_client owner, player, watcher;
    tarn_key key;
    own_key(key);
    tarn_message owned = join(&owner, "main", "", key);
    assert_int_equal(owned.joined.role, TARN_ROLE_OWN);
    assert_string_equal(owned.joined.own_key, key);
    const tarn_message played = join(&player, "main", "", owned.joined.play_key);
    assert_int_equal(played.joined.role, TARN_ROLE_PLAY);
    assert_string_equal(played.joined.own_key, "");
    assert_string_equal(played.joined.watch_key, owned.joined.watch_key);
    const tarn_message watched = join(&watcher, "main", "", "");
    assert_int_equal(watched.joined.role, TARN_ROLE_WATCH);
    assert_string_equal(watched.joined.watch_key, "");

    player.viewer_id = played.joined.viewer_id;
    push(&watcher);
    expect_refusal(&watcher);
    ws_client_control(&watcher, TARN_CONTROL_PAUSE, "");
    expect_refusal(&watcher);
    push(&player);
    expect_acted(&player);
    ws_client_control(&player, TARN_CONTROL_RESET, "");
    expect_refusal(&player);
    ws_client_parameter(&player, "gravity_m_s2", 1);
    expect_refusal(&player);
    ws_client_control(&owner, TARN_CONTROL_PAUSE, "");
    do {
        assert_true(ws_client_wait(&owner, TARN_MESSAGE_STATE, &owned));
    } while (!owned.state.paused);
    ws_client_control(&owner, TARN_CONTROL_RESUME, "");
    ws_client_close(&owner);
    ws_client_close(&player);
    ws_client_close(&watcher);
}

static void test_no_part_of_a_key_opens(void **state)
{
    (void)state;
    tarn_key key, wrong;
    own_key(key);
    for (int cut = 1; cut <= TARN_KEY_BYTES; cut += 10) {
        ws_client client;
        snprintf(wrong, sizeof wrong, "%s", key);
        if (cut < TARN_KEY_BYTES) {
            wrong[cut] = 0;
        }
        wrong[0] = (char)(cut < TARN_KEY_BYTES ? wrong[0] : wrong[0] ^ 1);
        const tarn_message refused = join(&client, "main", "", wrong);
        assert_int_equal(refused.kind, TARN_MESSAGE_ERROR);
        assert_int_equal(refused.error.code, TARN_ERROR_KEY);
        assert_int_equal(ws_client_wait_close(&client), 4012);
        ws_client_close(&client);
    }
}

static void test_tanks_come_and_go(void **state)
{
    (void)state;
    ws_client one, other;
    tarn_presence_point points[TARN_PRESENCES_MAX];
    char session[64], path[96], headers[128];
    tarn_key own;
    assert_int_equal(request("POST", "/sessions", json, "{\"scene\":\"small-dam\",\"name\":\"Ada's\"}"), 201);
    take_text("session", session, sizeof session);
    take_text("own", own, sizeof own);
    assert_int_equal(request("GET", "/sessions", "", NULL), 200);
    assert_non_null(strstr(answer, "\"title\":\"Ada's\""));
    assert_non_null(strstr(answer, "\"session\":\"main\""));
    assert_null(strstr(answer, own));

    const tarn_message joined = join(&one, session, "", own);
    assert_int_equal(joined.kind, TARN_MESSAGE_JOINED);
    assert_string_equal(joined.joined.title, "Ada's");
    ws_frame frame;
    assert_true(ws_client_wait_frame(&one, &frame));
    // What happens in one tank is no business of another's viewers.
    join(&other, "main", "", "");
    show(&one, 0.75f);
    show(&other, 0.25f);
    ws_client second;
    join(&second, "main", "", "");
    while (next_points(&second, points) == 0)
        ;
    assert_true(points[0].position_m[0] == 0.25f);
    ws_client_close(&second);
    ws_client_close(&other);

    snprintf(path, sizeof path, "/sessions/%s", session);
    snprintf(headers, sizeof headers, "Authorization: Bearer %.31s\r\n", own);
    assert_int_equal(request("DELETE", path, headers, NULL), 403);
    snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", own);
    assert_int_equal(request("DELETE", path, headers, NULL), 200);
    assert_int_equal(ws_client_wait_close(&one), 4005);
    ws_client_close(&one);
    assert_int_equal(request("DELETE", path, headers, NULL), 404);
    // The first tank goes on.
    join(&other, "main", "", "");
    assert_true(ws_client_wait_frame(&other, &frame));
    ws_client_close(&other);
}

static void test_a_tank_that_nobody_is_in_ends(void **state)
{
    (void)state;
    char session[64], form[160];
    ws_client glimpse, viewer;
    ws_frame frame;
    assert_int_equal(request("POST", "/sessions", json, "{\"scene\":\"small-pool\",\"listed\":true}"), 201);
    take_text("session", session, sizeof session);
    assert_int_equal(join(&viewer, session, "", "").joined.role, TARN_ROLE_WATCH);
    // A glimpse shows the water, but keeps no tank and counts for nobody.
    joins_as_preview = 1;
    assert_int_equal(join(&glimpse, session, "", "").joined.role, TARN_ROLE_WATCH);
    joins_as_preview = 0;
    assert_true(ws_client_wait_frame(&glimpse, &frame));
    snprintf(form, sizeof form,
             "\"session\":\"%s\",\"title\":\"\",\"scene\":\"small-pool\",\"scene_is_own\":false,\"viewers\":1",
             session);
    assert_int_equal(request("GET", "/sessions", "", NULL), 200);
    if (strstr(answer, form) == NULL) {
        fail_msg("%s isn't in %s", form, answer);
    }
    ws_client_close(&viewer);
    assert_int_equal(ws_client_wait_close(&glimpse), 4005);
    ws_client_close(&glimpse);
    for (int i = 0;; i++) {
        assert_int_equal(request("GET", "/sessions", "", NULL), 200);
        assert_non_null(strstr(answer, "\"session\":\"main\"")); // which stays
        if (strstr(answer, session) == NULL) {
            return;
        }
        assert_true(i < 600);
        usleep(100000);
    }
}

/// Frames that a client gets within some time.
static int count_frames(ws_client *client, int wait_ms)
{
    ws_message raw;
    ws_frame frame;
    int count = 0;
    const uint64_t until_ns = tarn_clock_monotonic_ns() + (uint64_t)wait_ms * 1000000;
    while (tarn_clock_monotonic_ns() < until_ns) {
        if (ws_client_next(client, &raw, 50) == 1 && ws_frame_open(raw.bytes, raw.byte_count, &frame) == TARN_OK) {
            count++;
            ws_client_tell(
                client, &(tarn_message){.kind = TARN_MESSAGE_ACK, .ack = {.epoch = frame.epoch, .step = frame.step}});
        }
    }
    return count;
}

static void test_a_glimpse_lets_a_tank_rest(void **state)
{
    (void)state;
    ws_client glimpse, viewer;
    ws_frame frame;
    joins_as_preview = 1;
    join(&glimpse, "main", "", "");
    joins_as_preview = 0;
    assert_true(ws_client_wait_frame(&glimpse, &frame)); // a resting tank wakes for it
    bool quiet = false;
    for (int i = 0; i < 60 && !quiet; i++) {
        quiet = count_frames(&glimpse, 1000) == 0;
    }
    assert_true(quiet);
    join(&viewer, "main", "", "");
    assert_true(ws_client_wait_frame(&viewer, &frame));
    assert_true(ws_client_wait_frame(&glimpse, &frame)); // it goes on for both
    ws_client_close(&glimpse);
    ws_client_close(&viewer);
}

enum { JOINS_AT_ONCE = 100, JOINS_MAX = 6000, JOINS_FREE = 400 };

static const char entrance_upgrade[] = "GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
                                       "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                                       "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: tarn.v1\r\n\r\n";

/// Hello and join in one piece, for many to come at the same time.
static size_t write_entrance(uint8_t *bytes, size_t bytes_max)
{
    tarn_message messages[2] = {{.kind = TARN_MESSAGE_HELLO, .hello = {.version_count = 1, .versions = {1}}},
                                {.kind = TARN_MESSAGE_JOIN}};
    size_t used = 0;
    for (int i = 0; i < 2; i++) {
        static const uint8_t mask[4]; // of zeros
        size_t count;
        assert_int_equal(tarn_message_write(&messages[i], bytes + used + 6, bytes_max - used - 6, &count), TARN_OK);
        assert_true(count < 126);
        bytes[used] = 0x80 | WS_BINARY;
        bytes[used + 1] = (uint8_t)(0x80 | count);
        memcpy(bytes + used + 2, mask, sizeof mask);
        used += 6 + count;
    }
    return used;
}

/// Waits for the answer to an entrance. @return 1: it joined, 0: too many did
static int has_joined(int fd)
{
    static char got[65536];
    size_t have = 0;
    for (;;) {
        const ssize_t count = recv(fd, got + have, sizeof got - have, 0);
        assert_true(count > 0);
        have += (size_t)count;
        if (memmem(got, have, "joined", 6) != NULL) {
            return 1;
        }
        if (memmem(got, have, "too many join at once", 21) != NULL) {
            return 0;
        }
    }
}

static void test_joins_are_bounded(void **state)
{
    (void)state;
    static uint8_t entrance[1024];
    const size_t bytes = write_entrance(entrance, sizeof entrance);
    int fds[JOINS_AT_ONCE], joined = 0, refused = 0, before = 0;
    bool is_said = false; // where a machine is slow, one time refuses too few for that
    while (!is_said && joined + refused < JOINS_MAX) {
        for (int i = 0; i < JOINS_AT_ONCE; i++) {
            fds[i] = ws_connect(server.port);
            assert_true(fds[i] >= 0);
            assert_int_equal(ws_send_raw(fds[i], entrance_upgrade, sizeof entrance_upgrade - 1), 0);
        }
        for (int i = 0; i < JOINS_AT_ONCE; i++) {
            char upgraded[512];
            assert_true(recv(fds[i], upgraded, sizeof upgraded, 0) > 0);
        }
        for (int i = 0; i < JOINS_AT_ONCE; i++) {
            assert_int_equal(ws_send_raw(fds[i], entrance, bytes), 0);
        }
        for (int i = 0; i < JOINS_AT_ONCE; i++) {
            const int is_in = has_joined(fds[i]);
            joined += is_in;
            refused += !is_in;
            close(fds[i]);
        }
        // Whoever was refused isn't in the log one by one, where it was more than a few.
        const int looks = refused > before + JOINS_AT_ONCE / 4 ? 200 : 1;
        for (int i = 0; i < looks && refused > 0 && !is_said; i++) {
            is_said = strstr(server_said(&server), "more viewers were closed") != NULL;
            usleep(is_said ? 0 : 10000);
        }
        before = refused;
    }
    assert_true(refused > 0);
    assert_true(joined >= JOINS_FREE / 2); // others may have come before
    assert_true(is_said);
    // It is over in a moment.
    ws_client client;
    for (int i = 0; i < WS_CLIENT_WAIT_MS / 20; i++) {
        const tarn_message message = join(&client, "main", "", "");
        if (message.kind == TARN_MESSAGE_JOINED) {
            break;
        }
        assert_int_equal(message.error.code, TARN_ERROR_FULL);
        assert_int_equal(ws_client_wait_close(&client), 4006);
        ws_client_close(&client);
        assert_true(i < WS_CLIENT_WAIT_MS / 20 - 1);
        usleep(20000);
    }
    ws_client_close(&client);
}

static void test_requests_for_tanks_are_bounded(void **state)
{
    (void)state;
    static const struct {
        const char *headers, *body;
        int status;
    } wrong[] = {
        {"", "{\"scene\":\"small-pool\"}", 415},
        {"Content-Type: application/jsonp\r\n", "{\"scene\":\"small-pool\"}", 415},
        {"Content-Type: application/json\r\nOrigin: http://elsewhere.example\r\n", "{\"scene\":\"small-pool\"}", 403},
        {json, "{\"scene\":\"none\"}", 400},
        {json, "{\"scene\":\"../small-pool\"}", 400},
        {json, "{}", 400},
        {json, "{\"scene\":5}", 400},
        {json, "{\"scene\":\"small-pool\",\"name\":\"a\\u0007\"}", 400},
        {json, "{\"scene\":\"small-pool\",\"listed\":1}", 400},
        {json, "{\"scene\":\"small-pool\",\"keys\":{}}", 400},
        {json, "[\"small-pool\"]", 400},
        {json, "{\"scene\":", 400},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const int status = request("POST", "/sessions", wrong[i].headers, wrong[i].body);
        if (status != wrong[i].status || strstr(answer, "{\"error\":\"") == NULL) {
            fail_msg("%s gives %d: %s", wrong[i].body, status, answer);
        }
    }
    assert_int_equal(request("POST", "/sessions", "Content-Type: application/json\r\nContent-Length: 99999\r\n", NULL),
                     413);
    assert_int_equal(request("POST", "/sessions", json, NULL), 411);
    int made = 0, full = 0, too_often = 0;
    for (int i = 0; i < 3 * MADE_PER_MINUTE && !too_often; i++) {
        const int status = request("POST", "/sessions", json, "{\"scene\":\"small-pool\"}");
        made += status == 201;
        full += status == 503;
        too_often += status == 429;
        assert_true(status == 201 || status == 503 || status == 429);
        if (status == 503) {
            usleep(300000); // until tanks without anybody end
        }
    }
    assert_true(made > 0 && full > 0 && too_often && made < MADE_PER_MINUTE);
}

static uint64_t next_step(ws_client *client)
{
    ws_frame frame;
    if (!ws_client_wait_frame(client, &frame)) {
        fail_msg("no frame; closed with %u: %s", client->close_code, client->close_reason);
    }
    return frame.step;
}

/// What has come of a tank by now. @return the newest step in it, or `newest` where nothing has come
static uint64_t drain_steps(ws_client *client, uint64_t newest)
{
    ws_message raw;
    while (ws_client_next(client, &raw, 0) == 1) {
        ws_frame frame;
        if (raw.opcode == WS_BINARY && ws_frame_open(raw.bytes, raw.byte_count, &frame) == TARN_OK) {
            newest = frame.step;
            const tarn_message ack = {.kind = TARN_MESSAGE_ACK, .ack = {.epoch = frame.epoch, .step = frame.step}};
            ws_client_tell(client, &ack);
        }
    }
    return newest;
}

/// Counted in steps: a machine on which the large tank runs in real time has nothing to share.
static void test_a_large_tank_slows_itself_alone(void **state)
{
    (void)state;
    static server_process large;
    enum { STEPS = 6, TIMES = 4 };
    char session[64];
    ws_client big, small;
    tarn_message join_small = {.kind = TARN_MESSAGE_JOIN}, joined;
    static const char scene[] = TARN_TEST_SCENES "/../large/large-pool.json";
    server_start(&large, (const char *[]){"--scenes", TARN_TEST_SCENES, "--scene", scene, NULL});
    assert_int_equal(
        server_request(large.port, "POST", "/sessions", json, "{\"scene\":\"small-pool\"}", answer, sizeof answer),
        201);
    take_text("session", session, sizeof session);
    ws_client_enter(&big, large.port);
    assert_int_equal(ws_client_open(&small, large.port, "/ws", "tarn.v1", NULL), 101);
    ws_client_hello(&small);
    snprintf(join_small.join.session, sizeof join_small.join.session, "%s", session);
    assert_int_equal(ws_client_tell(&small, &join_small), 0);
    assert_true(ws_client_wait(&small, TARN_MESSAGE_JOINED, &joined));
    const uint64_t big_first = next_step(&big);
    uint64_t big_now = big_first, small_first = next_step(&small), small_now = small_first;
    while (big_now < big_first + STEPS) {
        big_now = next_step(&big);
        small_now = drain_steps(&small, small_now);
    }
    const uint64_t big_steps = big_now - big_first, small_steps = small_now - small_first;
    print_message("%u steps of the small tank in %u of the large one\n", (unsigned)small_steps, (unsigned)big_steps);
    static const char metric[] = "tarn_session_realtime_factor{session=\"main\",worker=\"0\"}";
    double factor;
    while ((factor = server_metric(large.port, metric)) == 0.0) { // until the first report
        next_step(&big);
    }
    assert_true(factor > 0.0);
    if (factor < 0.2) {
        assert_true(small_steps >= TIMES * big_steps);
    }
    ws_client_close(&big);
    ws_client_close(&small);
    server_stop(&large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_viewers_see_each_other),
        cmocka_unit_test(test_many_moves_come_as_few_messages),
        cmocka_unit_test(test_whoever_has_no_name_gets_one_that_nobody_has),
        cmocka_unit_test(test_profiles_are_heard_and_bounded),
        cmocka_unit_test(test_roles_bound_what_viewers_may_do),
        cmocka_unit_test(test_no_part_of_a_key_opens),
        cmocka_unit_test(test_tanks_come_and_go),
        cmocka_unit_test(test_a_tank_that_nobody_is_in_ends),
        cmocka_unit_test(test_requests_for_tanks_are_bounded),
        cmocka_unit_test(test_a_glimpse_lets_a_tank_rest),
        cmocka_unit_test(test_joins_are_bounded),
        cmocka_unit_test(test_a_large_tank_slows_itself_alone),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
