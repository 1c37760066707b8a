// Who counts as somebody that owners removed or muted, when it comes again; how often one address joins; what a
// connection's key is worth; locks as they are kept.
#include "server/gateway/listener.h"
#include "server/gateway/rights/barred.h"
#include "server/gateway/rights/visits.h"
#include "server/log/session_frame.h"
#include "server/net/addresses.h"
#include "tests/server/test_cmocka.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static tarn_comer comer(const char *address, const char *browser, const char *token)
{
    tarn_comer made = {0};
    assert_int_equal(inet_pton(AF_INET6, address, &made.address), 1);
    snprintf(made.browser, sizeof made.browser, "%s", browser);
    snprintf(made.token, sizeof made.token, "%s", token);
    return made;
}

static uint64_t out_for(const tarn_barred *barred, const char *address, const char *browser, const char *token)
{
    bool is_muted;
    const tarn_comer made = comer(address, browser, token);
    const uint64_t out_ns = tarn_barred_look(barred, &made, 100, &is_muted);
    assert_false(is_muted);
    return out_ns;
}

static void test_at_a_shared_address_the_browser_counts_alone_the_address(void **state)
{
    (void)state;
    tarn_barred barred = {0};
    const tarn_comer shared = comer("::ffff:192.0.2.1", "p", ""), alone = comer("::ffff:192.0.2.2", "p", "");
    tarn_barred_add(&barred, &shared, false, 150);
    tarn_barred_add(&barred, &alone, true, 160);
    assert_int_equal(out_for(&barred, "::ffff:192.0.2.1", "p", ""), 50);
    assert_int_equal(out_for(&barred, "::ffff:192.0.2.1", "q", ""), 0);
    assert_int_equal(out_for(&barred, "::ffff:192.0.2.1", "", ""), 0);
    assert_int_equal(out_for(&barred, "::ffff:192.0.2.2", "q", ""), 60);
    assert_int_equal(out_for(&barred, "::ffff:192.0.2.3", "p", ""), 0);
    assert_int_equal(out_for(&barred, "::ffff:192.0.2.2", "q", "t"), 0); // a token was meant for its bearer
}

static void test_of_ipv6_the_network_counts(void **state)
{
    (void)state;
    tarn_barred barred = {0};
    const tarn_comer removed = comer("2001:db8:1:2::7", "p", "");
    tarn_barred_add(&barred, &removed, true, 150);
    assert_int_equal(out_for(&barred, "2001:db8:1:2:ffff::8", "", ""), 50);
    assert_int_equal(out_for(&barred, "2001:db8:1:3::7", "p", ""), 0);
    assert_int_equal(out_for(&barred, "::ffff:32.1.13.184", "p", ""), 0);
}

/// Takes places for an address until it gets none. @return how many
static uint32_t fill_places(tarn_listener *listener, const char *text)
{
    const struct in6_addr address = comer(text, "", "").address;
    uint32_t count = 0;
    for (tarn_connection *place; (place = tarn_listener_place(listener, &address)) != NULL; count++) {
        assert_false(place->used);
        place->used = true;
        place->address = address;
    }
    return count;
}

/// A proxy that is trusted is many people, and so may be this machine.
static void test_one_address_has_so_many_connections(void **state)
{
    (void)state;
    static tarn_listener listener;
    tarn_proxies proxies = {0};
    tarn_text why;
    listener.connections_max = TARN_GATEWAY_CONNECTIONS_MAX;
    listener.proxies = &proxies;
    assert_int_equal(tarn_proxies_add(&proxies, "192.0.2.9", why), TARN_OK);
    assert_int_equal(fill_places(&listener, "::ffff:192.0.2.1"), TARN_GATEWAY_CONNECTIONS_PER_IP_MAX);
    assert_int_equal(fill_places(&listener, "2001:db8:1:2::7"), TARN_GATEWAY_CONNECTIONS_PER_IP_MAX);
    assert_int_equal(fill_places(&listener, "2001:db8:1:2:ffff::8"), 0); // which is as near as the other end of a room
    assert_int_equal(fill_places(&listener, "::ffff:192.0.2.2"), TARN_GATEWAY_CONNECTIONS_PER_IP_MAX);
    listener.connections_max = 200;
    assert_int_equal(fill_places(&listener, "::ffff:192.0.2.9"), 200 - 3 * TARN_GATEWAY_CONNECTIONS_PER_IP_MAX);
    listener.connections_max = 300;
    assert_int_equal(fill_places(&listener, "::ffff:127.0.0.1"), 100);
    assert_int_equal(fill_places(&listener, "::ffff:192.0.2.3"), 0);
}

static void test_a_token_is_kept_out_wherever_it_comes_from(void **state)
{
    (void)state;
    tarn_barred barred = {0};
    const tarn_comer removed = comer("::ffff:192.0.2.1", "p", "t1");
    tarn_barred_add(&barred, &removed, true, 150);
    assert_int_equal(out_for(&barred, "::ffff:192.0.2.9", "", "t1"), 50);
    assert_int_equal(out_for(&barred, "::ffff:192.0.2.1", "p", "t2"), 0);
    assert_int_equal(out_for(&barred, "::ffff:192.0.2.9", "p", ""), 0);
}

static void test_leaving_a_token_away_lets_nobody_in(void **state)
{
    (void)state;
    tarn_barred barred = {0};
    const tarn_comer removed = comer("::ffff:192.0.2.1", "p", "t1");
    tarn_barred_add(&barred, &removed, false, 150);
    assert_int_equal(out_for(&barred, "::ffff:192.0.2.1", "p", ""), 50);
    assert_int_equal(out_for(&barred, "::ffff:192.0.2.1", "q", ""), 0);
    assert_int_equal(out_for(&barred, "::ffff:192.0.2.1", "p", "t2"), 0);
}

static void test_muting_lasts_until_it_is_taken_back_and_removing_does_not(void **state)
{
    (void)state;
    tarn_barred barred = {0};
    bool is_muted;
    const tarn_comer one = comer("::ffff:192.0.2.1", "p", "");
    tarn_barred_add(&barred, &one, false, 0);
    tarn_barred_add(&barred, &one, false, 150);
    assert_int_equal(tarn_barred_look(&barred, &one, 149, &is_muted), 1);
    assert_true(is_muted);
    assert_int_equal(tarn_barred_look(&barred, &one, 150, &is_muted), 0);
    assert_true(is_muted);
    tarn_barred_unmute(&barred, &one);
    assert_int_equal(tarn_barred_look(&barred, &one, 149, &is_muted), 1);
    assert_false(is_muted);
}

static void test_where_all_places_are_taken_the_oldest_is_forgotten(void **state)
{
    (void)state;
    tarn_barred barred = {0};
    char browser[16];
    for (int i = 0; i <= TARN_GATEWAY_BARRED_MAX; i++) {
        snprintf(browser, sizeof browser, "%d", i);
        const tarn_comer one = comer("::ffff:192.0.2.1", browser, "");
        tarn_barred_add(&barred, &one, false, 150);
    }
    assert_int_equal(barred.count, TARN_GATEWAY_BARRED_MAX);
    assert_int_equal(out_for(&barred, "::ffff:192.0.2.1", "0", ""), 0);
    assert_int_equal(out_for(&barred, "::ffff:192.0.2.1", "1", ""), 50);
    assert_int_equal(out_for(&barred, "::ffff:192.0.2.1", browser, ""), 50);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

/// Time stands, so that nobody gets a turn back.
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = (struct timespec){.tv_sec = 1000};
    return 0;
}

static bool joins(tarn_client_turns *joins, const char *address)
{
    const tarn_comer made = comer(address, "", "");
    return tarn_client_turn_allow(joins, &made.address, TARN_GATEWAY_JOIN_ADDRESS_MS, TARN_GATEWAY_JOIN_ADDRESS_BURST);
}

static void test_each_address_has_turns_of_its_own_to_join(void **state)
{
    (void)state;
    static tarn_client_turns of;
    char other[32];
    for (int i = 0; i < TARN_GATEWAY_JOIN_ADDRESS_BURST; i++) {
        assert_true(joins(&of, "2001:db8:1:2::7"));
    }
    assert_false(joins(&of, "2001:db8:1:2::8"));
    assert_true(joins(&of, "2001:db8:1:3::7"));
    // Who joins much is remembered, however many others come.
    for (int i = 0; i < 10 * TARN_GATEWAY_TURN_ADDRESSES; i++) {
        snprintf(other, sizeof other, "::ffff:192.0.%d.%d", i / 250, i % 250);
        assert_true(joins(&of, other));
    }
    assert_false(joins(&of, "2001:db8:1:2::9"));
}

/// A connection's key is worth what its viewer may while it takes part: not before, and not while it is being closed.
static void test_a_connections_key_counts_while_its_viewer_takes_part(void **state)
{
    (void)state;
    static tarn_session session;
    static tarn_viewer viewer = {.visit_key = "0123456789abcdef0123456789abcdef", .role = TARN_ROLE_OWN};
    static const char other[] = "0123456789abcdef0123456789abcdee";
    session.viewers[session.viewer_count++] = &viewer;
    for (int phase = TARN_VIEWER_NEW; phase <= TARN_VIEWER_CLOSING; phase++) {
        viewer.phase = (tarn_viewer_phase)phase;
        assert_int_equal(tarn_visit_may(&session, viewer.visit_key, TARN_ACT_HTTP_HISTORY),
                         phase == TARN_VIEWER_JOINED);
        assert_false(tarn_visit_may(&session, other, TARN_ACT_HTTP_HISTORY));
    }
    viewer.phase = TARN_VIEWER_JOINED;
    assert_false(tarn_visit_may(&session, viewer.visit_key, TARN_ACT_HTTP_END));
    viewer.is_muted = true;
    assert_false(tarn_visit_may(&session, viewer.visit_key, TARN_ACT_HTTP_HISTORY));
    viewer.is_muted = false;
    viewer.role = TARN_ROLE_PLAY;
    assert_false(tarn_visit_may(&session, viewer.visit_key, TARN_ACT_HTTP_HISTORY));
}

static void test_what_was_kept_before_there_were_locks_speeds_and_probes_is_read(void **state)
{
    (void)state;
    enum { LOCK_BYTES = 5, SPEED_BYTES = 4, PROBES_BYTES = 4 + 5 + 4 + 4 + 1 + 24 + 4 + 4, SOLIDS_BYTES = 4 };
    uint8_t bytes[TARN_SESSION_ABOUT_BYTES_MAX];
    tarn_session_about about =
                           {.name = "main",
                            .begun_as = "dam-break",
                            .guests = TARN_ROLE_PLAY,
                            .locked = 5,
                            .open_parameters = true,
                            .speed = 0.5f,
                            .probes_scene = "pools",
                            .probe_count = 1,
                            .probes = {{.shows = TARN_SHOWS_FORCE, .solid = 3, .at_m = {1, 2, 3}, .label = "weir"}}},
                       read;
    size_t byte_count = tarn_session_about_write(&about, bytes);
    assert_int_equal(tarn_session_about_read(bytes, byte_count - 1, &read), TARN_E_TRUNCATED);
    assert_int_equal(tarn_session_about_read(bytes, byte_count, &read), TARN_OK);
    assert_int_equal(read.locked, 5);
    assert_true(read.open_parameters);
    assert_true(read.speed == 0.5f);
    assert_int_equal(read.probe_count, 1);
    assert_memory_equal(&read.probes[0], &about.probes[0], sizeof read.probes[0]);
    assert_string_equal(read.probes_scene, "pools");
    byte_count -= SOLIDS_BYTES;
    assert_int_equal(tarn_session_about_read(bytes, byte_count, &read), TARN_OK);
    assert_int_equal(read.probe_count, 1);
    assert_int_equal(read.probes[0].solid, 0);
    assert_int_equal(tarn_session_about_read(bytes, byte_count - PROBES_BYTES, &read), TARN_OK);
    assert_true(read.speed == 0.5f && read.probe_count == 0);
    assert_int_equal(tarn_session_about_read(bytes, byte_count - PROBES_BYTES - SPEED_BYTES, &read), TARN_OK);
    assert_int_equal(read.locked, 5);
    assert_true(read.open_parameters);
    assert_true(read.speed == 0);
    assert_int_equal(tarn_session_about_read(bytes, byte_count - PROBES_BYTES - SPEED_BYTES - LOCK_BYTES, &read),
                     TARN_OK);
    assert_int_equal(read.locked, 0);
    assert_false(read.open_parameters);
    assert_int_equal(read.guests, TARN_ROLE_PLAY);
    assert_int_not_equal(tarn_session_about_read(bytes, byte_count - 1, &read), TARN_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at_a_shared_address_the_browser_counts_alone_the_address),
        cmocka_unit_test(test_of_ipv6_the_network_counts),
        cmocka_unit_test(test_one_address_has_so_many_connections),
        cmocka_unit_test(test_a_token_is_kept_out_wherever_it_comes_from),
        cmocka_unit_test(test_leaving_a_token_away_lets_nobody_in),
        cmocka_unit_test(test_muting_lasts_until_it_is_taken_back_and_removing_does_not),
        cmocka_unit_test(test_a_connections_key_counts_while_its_viewer_takes_part),
        cmocka_unit_test(test_what_was_kept_before_there_were_locks_speeds_and_probes_is_read),
        cmocka_unit_test(test_each_address_has_turns_of_its_own_to_join),
        cmocka_unit_test(test_where_all_places_are_taken_the_oldest_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
