// Whose place a viewer gets, by itself: with a clock of its own, and doubles for the connections and the session.
#include "server/gateway/listener.h"
#include "server/gateway/session/session.h"
#include "server/gateway/viewer/room.h"
#include "server/gateway/viewer/viewer.h"
#include "tests/server/test_cmocka.h"

#include <libwebsockets.h>
#include <string.h>
#include <time.h>

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

enum { VIEWERS = 5, NEWCOMER = 0 };

static uint64_t now_ms;
static tarn_viewer_list all;
static tarn_viewer viewers[VIEWERS];
static tarn_connection connections[VIEWERS];
static tarn_session sessions[2];

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = (struct timespec){.tv_sec = (time_t)(now_ms / 1000), .tv_nsec = (long)(now_ms % 1000) * 1000000};
    return 0;
}

void *lws_get_opaque_user_data(const struct lws *wsi)
{
    return (void *)(uintptr_t)wsi;
}

void tarn_viewer_fail(tarn_viewer *viewer, tarn_error_code code, const char *sentence)
{
    assert_int_equal(code, TARN_ERROR_AWAY);
    assert_non_null(strstr(sentence, viewer->view.hidden ? "hidden" : "a minute"));
    viewer->phase = TARN_VIEWER_CLOSING;
}

void tarn_session_leave(tarn_session *session, tarn_viewer *viewer)
{
    assert_ptr_equal(viewer->session, session);
    viewer->session = NULL;
}

/// One that comes, and others that are there and have just spoken, in a session each by turns.
static int set_up(void **state)
{
    (void)state;
    now_ms = 1000000;
    memset(viewers, 0, sizeof viewers);
    memset(connections, 0, sizeof connections);
    all = (tarn_viewer_list){.first = &viewers[0]};
    for (int i = 0; i < VIEWERS; i++) {
        viewers[i].all = &all;
        viewers[i].next = i + 1 < VIEWERS ? &viewers[i + 1] : NULL;
        viewers[i].phase = i == NEWCOMER ? TARN_VIEWER_GREETED : TARN_VIEWER_JOINED;
        viewers[i].session = i == NEWCOMER ? NULL : &sessions[i % 2];
        viewers[i].spoke_ns = now_ms * 1000000;
        viewers[i].wsi = (struct lws *)(void *)&connections[i];
        connections[i].client.s6_addr[7] = (uint8_t)(i / 3); // the last byte of an IPv6 network
        connections[i].client.s6_addr[15] = (uint8_t)i;
    }
    return 0;
}

static void hide(int viewer)
{
    viewers[viewer].view.hidden = 1;
    viewers[viewer].hidden_since_ns = now_ms * 1000000;
}

/// Somebody comes. @return who went; 0: nobody
static int come(const tarn_session *session, const struct in6_addr *client)
{
    int before = 0, gone = 0;
    for (int i = 1; i < VIEWERS; i++) {
        before += viewers[i].phase == TARN_VIEWER_JOINED;
    }
    const bool was_made = tarn_viewer_room_make(&viewers[NEWCOMER], session, client);
    for (int i = 1; i < VIEWERS; i++) {
        before -= viewers[i].phase == TARN_VIEWER_JOINED;
        if (viewers[i].phase == TARN_VIEWER_CLOSING && viewers[i].close_code == 0) {
            viewers[i].close_code = 4014;
            gone = i;
        }
    }
    assert_int_equal(before, was_made);
    assert_int_equal(was_made, gone != 0);
    return gone;
}

static void test_who_has_been_hidden_for_longest_goes(void **state)
{
    (void)state;
    hide(2);
    now_ms += 1000;
    hide(4);
    now_ms += TARN_GATEWAY_AWAY_HIDDEN_MS - 1001;
    assert_int_equal(come(NULL, NULL), 0);
    now_ms += 1;
    assert_int_equal(come(NULL, NULL), 2);
    assert_int_equal(come(NULL, NULL), 0);
    now_ms += 1000;
    assert_int_equal(come(NULL, NULL), 4);
    assert_int_equal(come(NULL, NULL), 0);
}

static void test_the_silent_go_after_the_hidden(void **state)
{
    (void)state;
    now_ms += TARN_GATEWAY_AWAY_SILENT_MS - 1;
    viewers[3].spoke_ns = now_ms * 1000000;
    assert_int_equal(come(NULL, NULL), 0);
    now_ms += 1;
    viewers[1].spoke_ns -= 1000000;
    hide(4);
    now_ms += TARN_GATEWAY_AWAY_HIDDEN_MS;
    assert_int_equal(come(NULL, NULL), 4);
    assert_int_equal(come(NULL, NULL), 1);
    assert_int_equal(come(NULL, NULL), 2);
    assert_int_equal(come(NULL, NULL), 0);
}

static void test_room_is_made_where_it_is_needed(void **state)
{
    (void)state;
    for (int i = 1; i < VIEWERS; i++) {
        hide(i);
    }
    now_ms += TARN_GATEWAY_AWAY_HIDDEN_MS;
    assert_int_equal(come(&sessions[1], &connections[4].client), 3);
    assert_int_equal(come(&sessions[1], &connections[4].client), 0);
    assert_int_equal(come(&sessions[0], NULL), 2);
    assert_int_equal(come(NULL, &connections[4].client), 4);
}

static void test_who_is_not_looking_gets_no_place_of_others(void **state)
{
    (void)state;
    hide(1);
    now_ms += TARN_GATEWAY_AWAY_HIDDEN_MS;
    viewers[NEWCOMER].is_preview = true;
    assert_int_equal(come(NULL, NULL), 0);
    viewers[NEWCOMER].is_preview = false;
    hide(NEWCOMER);
    assert_int_equal(come(NULL, NULL), 0);
}

static void test_no_more_go_than_places_are_wanted(void **state)
{
    (void)state;
    for (int i = 1; i < VIEWERS; i++) {
        hide(i);
    }
    now_ms += TARN_GATEWAY_AWAY_HIDDEN_MS;
    for (int i = 0; i < 2; i++) { // those that are about to go count
        int leaving = 0;
        tarn_viewer_room_make_soon(&all, 2);
        for (int v = 1; v < VIEWERS; v++) {
            leaving += viewers[v].phase == TARN_VIEWER_CLOSING;
        }
        assert_int_equal(leaving, 2);
    }
    tarn_viewer_room_make_soon(&all, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_who_has_been_hidden_for_longest_goes, set_up),
        cmocka_unit_test_setup(test_the_silent_go_after_the_hidden, set_up),
        cmocka_unit_test_setup(test_room_is_made_where_it_is_needed, set_up),
        cmocka_unit_test_setup(test_who_is_not_looking_gets_no_place_of_others, set_up),
        cmocka_unit_test_setup(test_no_more_go_than_places_are_wanted, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
