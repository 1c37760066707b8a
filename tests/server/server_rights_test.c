// Who gets in: what a link gives away, and where the key in it may be found.
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    char link[64];
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_owners_link_is_printed_on_a_terminal_alone, make_store, remove_store),
        cmocka_unit_test_setup_teardown(test_a_session_that_is_not_listed_has_no_name_in_logs, make_store,
                                        remove_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
