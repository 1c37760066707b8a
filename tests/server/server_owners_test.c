// What owners do about the others: mute, remove, hand over, lock; on whom, by whom, and what stays of it.
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REMOVED = TARN_CLOSE_BASE + TARN_ERROR_REMOVED, GUEST = TARN_ROLE_COUNT };

static server_process server;
static char store[64];
static tarn_key keys[TARN_ROLE_COUNT + 1]; ///< the last: none

static const char *const arguments[] = {"--scenes",        TARN_TEST_SCENES, "--scene", "small-pool",
                                        "--guests",        "play",           "--store", store,
                                        "--trusted-proxy", "127.0.0.1",      NULL};

/// The next message; a frame is acknowledged, or there would be no more of them. @return as ws_client_next
static int next(ws_client *client, ws_message *raw)
{
    ws_frame frame;
    const int got = ws_client_next(client, raw, WS_CLIENT_WAIT_MS);
    if (got == 1 && raw->opcode == WS_BINARY && ws_frame_open(raw->bytes, raw->byte_count, &frame) == TARN_OK) {
        const tarn_message ack = {.kind = TARN_MESSAGE_ACK, .ack = {.epoch = frame.epoch, .step = frame.step}};
        ws_client_tell(client, &ack);
    }
    return got;
}

/// Joins as somebody. @param browser  ""  @return joined, or an error
static tarn_message come(ws_client *client, const char *pass, const char *browser)
{
    ws_message raw;
    tarn_message message = {.kind = TARN_MESSAGE_JOIN};
    assert_int_equal(ws_client_open(client, server.port, "/ws", "tarn.v1", NULL), 101);
    ws_client_hello(client);
    snprintf(message.join.key, sizeof message.join.key, "%s", pass);
    snprintf(message.join.browser, sizeof message.join.browser, "%s", browser);
    assert_int_equal(ws_client_tell(client, &message), 0);
    do {
        assert_int_equal(next(client, &raw), 1);
    } while (raw.opcode != WS_BINARY || tarn_message_read(raw.bytes, raw.byte_count, &message, NULL) != TARN_OK ||
             (message.kind != TARN_MESSAGE_JOINED && message.kind != TARN_MESSAGE_ERROR));
    client->viewer_id = message.kind == TARN_MESSAGE_JOINED ? message.joined.viewer_id : 0;
    return message;
}

static void come_in(ws_client *client, const char *pass, const char *browser)
{
    assert_int_equal(come(client, pass, browser).kind, TARN_MESSAGE_JOINED);
}

static int start(void **state)
{
    (void)state;
    ws_client client;
    snprintf(store, sizeof store, "/tmp/tarn-owners-XXXXXX");
    assert_non_null(mkdtemp(store));
    server_start(&server, arguments);
    server_owners_key(store, keys[TARN_ROLE_OWN], sizeof(tarn_key));
    const tarn_message joined = come(&client, keys[TARN_ROLE_OWN], "");
    memcpy(keys[TARN_ROLE_WATCH], joined.joined.watch_key, sizeof(tarn_key));
    memcpy(keys[TARN_ROLE_PLAY], joined.joined.play_key, sizeof(tarn_key));
    ws_client_close(&client);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    server_stop(&server);
    return server_remove_store(store);
}

static void act(ws_client *owner, uint32_t viewer_id, tarn_moderation action)
{
    tarn_message message = {.kind = TARN_MESSAGE_MODERATE};
    message.moderate = (tarn_moderate){.viewer_id = viewer_id, .action = action};
    assert_int_equal(ws_client_tell(owner, &message), 0);
}

static void lock(ws_client *owner, uint32_t locked, uint8_t open_parameters)
{
    tarn_message message = {.kind = TARN_MESSAGE_LOCK};
    message.lock = (tarn_lock){.locked = locked, .open_parameters = open_parameters};
    assert_int_equal(ws_client_tell(owner, &message), 0);
}

/// The next error that comes before the answer to a ping.
static tarn_message error_of(ws_client *client)
{
    tarn_message message = {.kind = TARN_MESSAGE_PING}, error = {0};
    ws_message raw;
    int pongs = 0;
    assert_int_equal(ws_client_tell(client, &message), 0);
    while (pongs < 2) { // what was queued before the first has come before the second
        assert_int_equal(next(client, &raw), 1);
        if (raw.opcode != WS_BINARY || tarn_message_read(raw.bytes, raw.byte_count, &message, NULL) != TARN_OK) {
            continue;
        }
        if (message.kind == TARN_MESSAGE_ERROR && error.kind == TARN_MESSAGE_NONE) {
            error = message;
        } else if (message.kind == TARN_MESSAGE_PONG && ++pongs < 2) {
            message = (tarn_message){.kind = TARN_MESSAGE_PING};
            assert_int_equal(ws_client_tell(client, &message), 0);
        }
    }
    return error;
}

static void expect_error(ws_client *client, tarn_error_code code, const char *says)
{
    const tarn_message error = error_of(client);
    if (error.kind != TARN_MESSAGE_ERROR || error.error.code != code || strstr(error.error.text, says) == NULL) {
        fail_msg("expected error %d \"%s\", got %u \"%s\"", code, says, error.error.code, error.error.text);
    }
}

static void expect_none(ws_client *client)
{
    const tarn_message error = error_of(client);
    if (error.kind == TARN_MESSAGE_ERROR) {
        fail_msg("expected no error, got %u \"%s\"", error.error.code, error.error.text);
    }
}

/// Waits until `viewers` says this of somebody.
static void wait_for(ws_client *client, uint32_t viewer_id, tarn_role role, bool muted, bool given)
{
    static tarn_viewer_info viewers[TARN_VIEWERS_MAX];
    ws_message raw;
    for (;;) {
        uint32_t count = 0;
        if (next(client, &raw) != 1) {
            fail_msg("viewer %u never had role %d, muted %d, given %d", viewer_id, role, muted, given);
        }
        if (raw.opcode != WS_BINARY ||
            tarn_message_read_viewers(raw.bytes, raw.byte_count, viewers, TARN_VIEWERS_MAX, &count, NULL) != TARN_OK) {
            continue;
        }
        for (uint32_t i = 0; i < count; i++) {
            if (viewers[i].viewer_id == viewer_id && viewers[i].role == role && (viewers[i].muted != 0) == muted &&
                (viewers[i].given != 0) == given) {
                return;
            }
        }
    }
}

static tarn_message next_state(ws_client *client)
{
    ws_message raw;
    tarn_message message;
    do {
        assert_int_equal(next(client, &raw), 1);
    } while (raw.opcode != WS_BINARY || tarn_message_read(raw.bytes, raw.byte_count, &message, NULL) != TARN_OK ||
             message.kind != TARN_MESSAGE_STATE);
    return message;
}

static void press(ws_client *client, tarn_tool tool, tarn_phase phase)
{
    assert_int_equal(ws_client_point(client, 0, tool, phase, (const float[]){0.25f, 0.25f}, 0.1f), 0);
}

/// Whether frames show the viewer's inputs up to its newest.
static bool arrives(ws_client *client)
{
    ws_frame frame;
    for (int i = 0; i < 40; i++) {
        assert_int_equal(ws_client_wait_frame(client, &frame), 1);
        for (uint32_t n = 0; n < frame.input_count; n++) {
            if (frame.inputs[n].viewer_id == client->viewer_id && frame.inputs[n].sequence >= client->sequence) {
                return true;
            }
        }
    }
    return false;
}

static void test_who_is_muted_changes_nothing_and_comes_back_muted(void **state)
{
    (void)state;
    ws_client owner, player, other;
    come_in(&owner, keys[TARN_ROLE_OWN], "o");
    come_in(&player, keys[TARN_ROLE_PLAY], "p");
    press(&player, TARN_TOOL_PUSH, TARN_PHASE_DOWN);
    assert_true(arrives(&player));
    act(&owner, player.viewer_id, TARN_MODERATE_MUTE);
    wait_for(&player, player.viewer_id, TARN_ROLE_PLAY, true, false);
    press(&player, TARN_TOOL_PUSH, TARN_PHASE_MOVE);
    expect_error(&player, TARN_ERROR_ROLE, "an owner has muted you");
    press(&player, TARN_TOOL_PUSH, TARN_PHASE_MOVE);
    expect_none(&player); // once a second
    assert_false(arrives(&player));
    ws_client_close(&player);
    // The same browser stays muted, another one at this address isn't: the owner is there, too.
    come_in(&other, keys[TARN_ROLE_PLAY], "q");
    come_in(&player, keys[TARN_ROLE_PLAY], "p");
    wait_for(&owner, other.viewer_id, TARN_ROLE_PLAY, false, false);
    wait_for(&player, player.viewer_id, TARN_ROLE_PLAY, true, false);
    act(&owner, player.viewer_id, TARN_MODERATE_UNMUTE);
    wait_for(&player, player.viewer_id, TARN_ROLE_PLAY, false, false);
    press(&player, TARN_TOOL_PUSH, TARN_PHASE_DOWN);
    assert_true(arrives(&player));
    ws_client_close(&player);
    come_in(&player, keys[TARN_ROLE_PLAY], "p");
    wait_for(&player, player.viewer_id, TARN_ROLE_PLAY, false, false);
    ws_client_close(&player);
    ws_client_close(&other);
    ws_client_close(&owner);
}

/// Water goes on being poured in where somebody doesn't let go.
static void expect_nothing_poured(ws_client *client)
{
    ws_frame frame;
    for (int i = 0; i < 20; i++) { // what was on its way
        assert_int_equal(ws_client_wait_frame(client, &frame), 1);
    }
    const uint32_t before = frame.particle_count;
    for (int i = 0; i < 30; i++) {
        assert_int_equal(ws_client_wait_frame(client, &frame), 1);
    }
    assert_int_equal(frame.particle_count, before);
}

static void test_what_a_muted_viewer_holds_is_let_go(void **state)
{
    (void)state;
    ws_client owner, player;
    come_in(&owner, keys[TARN_ROLE_OWN], "o");
    come_in(&player, keys[TARN_ROLE_PLAY], "p");
    ws_client_control(&owner, TARN_CONTROL_RESET, "");
    press(&player, TARN_TOOL_POUR, TARN_PHASE_DOWN);
    assert_true(arrives(&player));
    act(&owner, player.viewer_id, TARN_MODERATE_MUTE);
    wait_for(&player, player.viewer_id, TARN_ROLE_PLAY, true, false);
    expect_nothing_poured(&owner);
    act(&owner, player.viewer_id, TARN_MODERATE_UNMUTE);
    ws_client_close(&player);
    ws_client_close(&owner);
}

/// The same amid a pause, in which nothing tells the tank's box: the next workers go on from what was held before it.
static void test_what_a_muted_viewer_held_does_not_come_back(void **state)
{
    enum { DEATHS = 2 };
    (void)state;
    ws_client owner, player;
    tarn_message message;
    come_in(&owner, keys[TARN_ROLE_OWN], "o");
    come_in(&player, keys[TARN_ROLE_PLAY], "p");
    ws_client_control(&owner, TARN_CONTROL_RESET, "");
    press(&player, TARN_TOOL_POUR, TARN_PHASE_DOWN);
    assert_true(arrives(&player));
    ws_client_control(&owner, TARN_CONTROL_PAUSE, "");
    do {
        message = next_state(&owner);
    } while (!message.state.paused);
    act(&owner, player.viewer_id, TARN_MODERATE_MUTE);
    wait_for(&player, player.viewer_id, TARN_ROLE_PLAY, true, false);
    for (int death = 0; death < DEATHS; death++) {
        usleep(200000); // the worker has heard of it
        assert_int_equal(kill(server_worker(&server), SIGKILL), 0);
        do {
            message = next_state(&owner);
        } while (message.state.worker_ready);
        do {
            message = next_state(&owner);
        } while (!message.state.worker_ready);
    }
    ws_client_control(&owner, TARN_CONTROL_RESUME, "");
    expect_nothing_poured(&owner);
    act(&owner, player.viewer_id, TARN_MODERATE_UNMUTE);
    ws_client_close(&player);
    ws_client_close(&owner);
}

static void test_who_is_removed_is_kept_out_by_what_is_known_of_it(void **state)
{
    (void)state;
    ws_client owner, player, again;
    come_in(&owner, keys[TARN_ROLE_OWN], "o");
    ws_client_headers = "X-Forwarded-For: 192.0.2.1\r\n";
    come_in(&player, keys[TARN_ROLE_PLAY], "p");
    come_in(&again, keys[TARN_ROLE_PLAY], "r"); // somebody else there
    act(&owner, player.viewer_id, TARN_MODERATE_REMOVE);
    assert_int_equal(ws_client_wait_close(&player), REMOVED);
    assert_non_null(strstr(player.close_reason, "an owner has removed you from this tank"));
    ws_client_close(&player);
    // Neither by another key nor as a guest; but others from there may, and the same browser from elsewhere.
    for (int role = TARN_ROLE_WATCH; role <= GUEST; role++) {
        const tarn_message message = come(&player, keys[role], "p");
        if (role == TARN_ROLE_OWN) {
            assert_int_equal(message.kind, TARN_MESSAGE_JOINED); // whom nobody keeps out
        } else {
            assert_int_equal(message.error.code, TARN_ERROR_REMOVED);
            assert_non_null(strstr(message.error.text, "come again in 10 minutes"));
            assert_int_equal(ws_client_wait_close(&player), REMOVED);
        }
        ws_client_close(&player);
    }
    come_in(&player, keys[TARN_ROLE_PLAY], "s");
    ws_client_close(&player);
    ws_client_headers = "X-Forwarded-For: 192.0.2.2\r\n";
    come_in(&player, keys[TARN_ROLE_PLAY], "p");
    // Here nobody else is: all of the address is kept out.
    act(&owner, player.viewer_id, TARN_MODERATE_REMOVE);
    assert_int_equal(ws_client_wait_close(&player), REMOVED);
    ws_client_close(&player);
    assert_int_equal(come(&player, keys[TARN_ROLE_PLAY], "t").error.code, TARN_ERROR_REMOVED);
    ws_client_close(&player);
    ws_client_headers = "";
    ws_client_close(&again);
    ws_client_close(&owner);
}

static void test_an_owner_makes_another_and_steps_back(void **state)
{
    (void)state;
    ws_client owner, player, second;
    come_in(&owner, keys[TARN_ROLE_OWN], "o");
    come_in(&player, keys[TARN_ROLE_PLAY], "p");
    act(&owner, owner.viewer_id, TARN_MODERATE_WATCH);
    expect_error(&owner, TARN_ERROR_INPUT, "you are the only owner here");
    act(&owner, owner.viewer_id, TARN_MODERATE_MUTE);
    expect_error(&owner, TARN_ERROR_INPUT, "about oneself allowed are play and watch");
    ws_client_control(&player, TARN_CONTROL_PAUSE, "");
    expect_error(&player, TARN_ERROR_ROLE, "only its owners");
    act(&owner, player.viewer_id, TARN_MODERATE_OWN);
    wait_for(&player, player.viewer_id, TARN_ROLE_OWN, false, true);
    ws_client_control(&player, TARN_CONTROL_PAUSE, "");
    ws_client_control(&player, TARN_CONTROL_RESUME, "");
    expect_none(&player);
    // Who was made one can't reach who came as one; the other way round it can.
    act(&player, owner.viewer_id, TARN_MODERATE_REMOVE);
    expect_error(&player, TARN_ERROR_INPUT, "out of the other owners' reach");
    act(&player, owner.viewer_id, TARN_MODERATE_WATCH);
    expect_error(&player, TARN_ERROR_INPUT, "out of the other owners' reach");
    come_in(&second, keys[TARN_ROLE_OWN], "o2");
    act(&second, owner.viewer_id, TARN_MODERATE_MUTE);
    expect_error(&second, TARN_ERROR_INPUT, "out of the other owners' reach");
    ws_client_close(&second);
    act(&owner, player.viewer_id, TARN_MODERATE_WATCH);
    wait_for(&player, player.viewer_id, TARN_ROLE_WATCH, false, true);
    press(&player, TARN_TOOL_PUSH, TARN_PHASE_DOWN);
    expect_error(&player, TARN_ERROR_ROLE, "whoever just watches");
    act(&owner, player.viewer_id, TARN_MODERATE_OWN);
    wait_for(&player, player.viewer_id, TARN_ROLE_OWN, false, true);
    act(&owner, owner.viewer_id, TARN_MODERATE_PLAY); // there is another one now
    wait_for(&player, owner.viewer_id, TARN_ROLE_PLAY, false, true);
    ws_client_control(&owner, TARN_CONTROL_PAUSE, "");
    expect_error(&owner, TARN_ERROR_ROLE, "only its owners");
    // What was given ends with the connection.
    ws_client_close(&player);
    come_in(&player, keys[TARN_ROLE_PLAY], "p");
    wait_for(&owner, player.viewer_id, TARN_ROLE_PLAY, false, false);
    ws_client_close(&player);
    ws_client_close(&owner);
}

static void test_what_is_not_there_or_not_allowed_changes_nothing(void **state)
{
    (void)state;
    ws_client owner, player, watcher, glimpse;
    tarn_message message = {.kind = TARN_MESSAGE_JOIN, .join = {.preview = 1}};
    come_in(&owner, keys[TARN_ROLE_OWN], "o");
    come_in(&player, keys[TARN_ROLE_PLAY], "p");
    come_in(&watcher, keys[TARN_ROLE_WATCH], "w");
    assert_int_equal(ws_client_open(&glimpse, server.port, "/ws", "tarn.v1", NULL), 101);
    ws_client_hello(&glimpse);
    assert_int_equal(ws_client_tell(&glimpse, &message), 0);
    assert_true(ws_client_wait(&glimpse, TARN_MESSAGE_JOINED, &message));
    for (int action = 0; action < TARN_MODERATE_COUNT; action++) {
        act(&player, watcher.viewer_id, (tarn_moderation)action);
        expect_error(&player, TARN_ERROR_ROLE, "only its owners may mute");
        act(&watcher, player.viewer_id, (tarn_moderation)action);
        expect_error(&watcher, TARN_ERROR_ROLE, "only its owners may mute");
        act(&owner, 4294967295u, (tarn_moderation)action);
        expect_error(&owner, TARN_ERROR_INPUT, "moderate.viewer_id: nobody here");
        act(&owner, message.joined.viewer_id, (tarn_moderation)action); // a glimpse isn't one of those who are there
        expect_error(&owner, TARN_ERROR_INPUT, "moderate.viewer_id: nobody here");
    }
    lock(&player, 1, 1);
    expect_error(&player, TARN_ERROR_ROLE, "only its owners may mute");
    press(&player, TARN_TOOL_PUSH, TARN_PHASE_DOWN);
    assert_true(arrives(&player));
    ws_client_close(&glimpse);
    ws_client_close(&watcher);
    ws_client_close(&player);
    ws_client_close(&owner);
}

static void test_locks_bind_players_and_are_told_to_all_who_come(void **state)
{
    (void)state;
    ws_client owner, player, late;
    tarn_message message;
    come_in(&owner, keys[TARN_ROLE_OWN], "o");
    come_in(&player, keys[TARN_ROLE_PLAY], "p");
    ws_client_parameter(&player, "gravity_m_s2", 5);
    expect_error(&player, TARN_ERROR_ROLE, "only its owners");
    lock(&owner, TARN_TOOL_BIT(PUSH) | TARN_LOCK_TILT, 1);
    message = next_state(&player);
    assert_int_equal(message.state.lock.locked, TARN_TOOL_BIT(PUSH) | TARN_LOCK_TILT);
    assert_int_equal(message.state.lock.open_parameters, 1);
    press(&player, TARN_TOOL_PUSH, TARN_PHASE_DOWN);
    expect_error(&player, TARN_ERROR_ROLE, "the owners have locked this for now");
    press(&player, TARN_TOOL_PULL, TARN_PHASE_DOWN);
    assert_true(arrives(&player));
    press(&player, TARN_TOOL_PUSH, TARN_PHASE_UP); // what lets go goes through
    assert_true(arrives(&player));
    press(&owner, TARN_TOOL_PUSH, TARN_PHASE_DOWN);
    press(&owner, TARN_TOOL_PUSH, TARN_PHASE_UP);
    expect_none(&owner);
    ws_client_parameter(&player, "gravity_m_s2", 5);
    expect_none(&player);
    ws_client_close(&player);
    const tarn_message joined = come(&late, keys[TARN_ROLE_WATCH], "l");
    assert_int_equal(joined.joined.state.lock.locked, TARN_TOOL_BIT(PUSH) | TARN_LOCK_TILT);
    ws_client_parameter(&late, "gravity_m_s2", 5); // who watches still may not
    expect_error(&late, TARN_ERROR_ROLE, "only its owners");
    ws_client_close(&late);
    ws_client_close(&owner);
}

/// What has been done by now is kept, of a tank that goes on: one commit may have begun before.
static void wait_for_commit(void)
{
    static const char commits[] = "tarn_store_commits_total";
    const double before = server_metric(server.port, commits);
    assert_true(before >= 0);
    for (int i = 0; server_metric(server.port, commits) < before + 2; i++) {
        assert_true(i < WS_CLIENT_WAIT_MS / 20);
        usleep(20000);
    }
}

static void test_locks_outlive_the_worker_a_load_and_the_server(void **state)
{
    (void)state;
    ws_client owner, late;
    tarn_message message;
    come_in(&owner, keys[TARN_ROLE_OWN], "o");
    lock(&owner, TARN_TOOL_BIT(DRAIN), 1);
    message = next_state(&owner);
    assert_int_equal(message.state.lock.locked, TARN_TOOL_BIT(DRAIN));
    assert_int_equal(kill(server_worker(&server), SIGKILL), 0);
    do {
        message = next_state(&owner);
        assert_int_equal(message.state.lock.locked, TARN_TOOL_BIT(DRAIN));
    } while (!message.state.worker_ready);
    ws_client_control(&owner, TARN_CONTROL_LOAD, "small-pool");
    message = next_state(&owner);
    assert_int_equal(message.state.lock.locked, TARN_TOOL_BIT(DRAIN));
    wait_for_commit();
    ws_client_close(&owner);
    kill(server.pid, SIGKILL);
    server_wait(&server);
    server_start(&server, arguments);
    const tarn_message joined = come(&late, keys[TARN_ROLE_PLAY], "l");
    assert_int_equal(joined.joined.state.lock.locked, TARN_TOOL_BIT(DRAIN));
    assert_int_equal(joined.joined.state.lock.open_parameters, 1);
    ws_client_close(&late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_is_muted_changes_nothing_and_comes_back_muted),
        cmocka_unit_test(test_what_a_muted_viewer_holds_is_let_go),
        cmocka_unit_test(test_what_a_muted_viewer_held_does_not_come_back),
        cmocka_unit_test(test_who_is_removed_is_kept_out_by_what_is_known_of_it),
        cmocka_unit_test(test_an_owner_makes_another_and_steps_back),
        cmocka_unit_test(test_what_is_not_there_or_not_allowed_changes_nothing),
        cmocka_unit_test(test_locks_bind_players_and_are_told_to_all_who_come),
        cmocka_unit_test(test_locks_outlive_the_worker_a_load_and_the_server),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
