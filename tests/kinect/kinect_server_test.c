// `tarn kinect` as a process, with made recordings, against a real server: what moves before the camera moves in the
// tank, also through the real libfreenect with fakenect in the camera's place; what goes away comes back; what is wrong
// is said.
#include "server/base/clock.h"
#include "server/base/options.h"
#include "tests/kinect/bridge_process.h"
#include "tests/server/pool_server.h"
#include "tests/server/stream_client.h"
#include "tests/server/test_cmocka.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_S = 60 };

static char *const folder = bridge_folder, *const recording = bridge_recording;

/// The liquid's middle along x, as a share of the tank.
static double middle_x(const stream_client *viewer)
{
    const tarn_stream_particles *p = &viewer->particles;
    double sum = 0;
    assert_true(p->count > 0);
    for (size_t i = 0; i < p->count; i++) {
        sum += p->positions[4 * i];
    }
    return sum / (double)p->count / ((double)viewer->frame.head.cells[0] * (double)(1u << p->unit_bits));
}

/// Watches until the liquid's middle has moved, or for some seconds. @return how far at most
static double watch_liquid(stream_client *viewer, double enough, int seconds)
{
    const uint64_t until_ns = tarn_clock_monotonic_ns() + (uint64_t)seconds * 1000000000;
    stream_client_see(viewer);
    const double before = middle_x(viewer);
    double most = 0;
    while (most < enough && tarn_clock_monotonic_ns() < until_ns) {
        if (stream_client_next(viewer, 200)) {
            most = fmax(most, fabs(middle_x(viewer) - before));
        }
    }
    return most;
}

static void the_tank_moves_where_the_body_moves(void **state)
{
    (void)state;
    static stream_client viewer;
    bridge_process b;
    char options[512];
    stream_client_enter(&viewer, pool_server.port);
    const double before = watch_liquid(&viewer, 1, 2);
    snprintf(options, sizeof options, "--frames %s --loop --strength 1 --url ws://127.0.0.1:%u/ws", recording,
             pool_server.port);
    bridge_start(&b, folder, options, NULL, NULL);
    const double during = watch_liquid(&viewer, 0.02, WAIT_S);
    nanosleep(&(struct timespec){1, 0}, NULL); // the water may have moved after a few messages
    stream_client_close(&viewer);
    assert_int_equal(bridge_finish(&b, SIGINT), 0);
    print_message("the liquid's middle: %.4f of the tank before, %.4f while somebody moves; %s", before, during,
                  b.text);
    assert_true(before < 0.005);
    assert_true(during >= 0.02);
    assert_true(bridge_summary(&b, " messages") > 10);
    assert_true(bridge_summary(&b, " wrong") == 0);
    assert_true(bridge_summary(&b, " Mbit/s") < 1);
    assert_non_null(strstr(b.text, "in a frame after"));
}

/// Nobody has to have a camera to see that the tank would follow one.
static void the_demonstration_moves_the_tank(void **state)
{
    (void)state;
    static stream_client viewer;
    static server_process server; // whose water rests
    bridge_process b;
    char options[128];
    server_start(&server, (const char *[]){"--scene", "small-pool", "--scenes", TARN_TEST_SCENES, NULL});
    stream_client_enter(&viewer, server.port);
    const double before = watch_liquid(&viewer, 1, 2);
    snprintf(options, sizeof options, "--demo --strength 1 --url 127.0.0.1:%u", server.port);
    bridge_start(&b, folder, options, NULL, NULL);
    const double during = watch_liquid(&viewer, 0.02, WAIT_S);
    stream_client_close(&viewer);
    assert_int_equal(bridge_finish(&b, SIGINT), 0);
    print_message("the liquid's middle: %.4f of the tank before, %.4f by the demonstration; %s", before, during,
                  b.text);
    assert_true(before < 0.005);
    assert_true(during >= 0.02);
    assert_true(bridge_summary(&b, " messages") > 0);
    assert_true(bridge_summary(&b, " wrong") == 0);
    server_stop(&server);
}

/// An end of a recording ends the bridge, whatever plays it: fakenect does at its end what an unplugged camera does.
static void the_real_library_plays_the_same(void **state)
{
    (void)state;
    bridge_process b;
    char options[512];
    if (TARN_TEST_FAKENECT[0] == '\0') {
        print_message("skipped: libfreenect or fakenect (Debian: libfreenect-dev, libfreenect-bin) isn't installed\n");
        skip();
    }
    snprintf(options, sizeof options, "--freenect 0 --url 127.0.0.1:%u", pool_server.port);
    bridge_start(&b, folder, options, TARN_TEST_FAKENECT, recording);
    assert_int_equal(bridge_finish(&b, 0), 0);
    assert_int_equal(bridge_count_said(&b, "the Kinect 0 is at its end"), 1);
    assert_int_equal(bridge_count_said(&b, "is lost"), 0);
    assert_true(bridge_summary(&b, " frames in") >= BRIDGE_FRAMES - 2);
    assert_true(bridge_summary(&b, " messages") > 10);

    snprintf(options, sizeof options, "--frames %s --url 127.0.0.1:%u", recording, pool_server.port);
    bridge_process folder_bridge;
    bridge_start(&folder_bridge, folder, options, NULL, NULL);
    assert_int_equal(bridge_finish(&folder_bridge, 0), 0);
    assert_true(bridge_summary(&folder_bridge, " frames in") == BRIDGE_FRAMES);
    assert_int_equal(bridge_count_said(&folder_bridge, "is at its end"), 1);
}

static void a_server_that_goes_away_is_waited_for(void **state)
{
    (void)state;
    static server_process server;
    bridge_process b;
    char options[512], port[32];
    const char *const first[] = {"--scene", "small-pool", "--scenes", TARN_TEST_SCENES, "--threads", "1", NULL};
    server_start(&server, first);
    const uint16_t number = server.port;
    snprintf(options, sizeof options, "--frames %s --loop --url 127.0.0.1:%u", recording, number);
    bridge_start(&b, folder, options, NULL, NULL);
    nanosleep(&(struct timespec){2, 0}, NULL);
    server_stop(&server);
    bridge_wait_said(&b, "trying again");
    nanosleep(&(struct timespec){3, 0}, NULL); // it tries, and says nothing
    snprintf(port, sizeof port, "--port=%u", number);
    const char *const again[] = {port, "--scene", "small-pool", "--scenes", TARN_TEST_SCENES, "--threads", "1", NULL};
    server_spawn(&server, again);
    bridge_wait_said(&b, "again\n");
    bridge_wait_said(&b, "connected to");
    nanosleep(&(struct timespec){2, 0}, NULL);
    assert_true(server_metric(number, "tarn_inputs_total") > 0);
    assert_int_equal(bridge_finish(&b, SIGTERM), 0);
    assert_int_equal(bridge_count_said(&b, "trying again"), 1);
    assert_int_equal(bridge_count_said(&b, "connected to"), 1);
    kill(server.pid, SIGTERM);
    server_wait(&server);
}

/// Who stands still carries nothing along, unless they are in the way.
static void who_rests_is_told_of_less_often(void **state)
{
    (void)state;
    char command[512], options[512];
    double messages[2], taken_s = 0;
    snprintf(command, sizeof command, "%s %s/still still 100 1 2.4 0", TARN_TEST_MAKE_DEPTH, folder);
    assert_int_equal(system(command), 0);
    for (int solid = 0; solid < 2; solid++) {
        bridge_process b;
        snprintf(options, sizeof options, "--frames %s/still --url 127.0.0.1:%u%s", folder, pool_server.port,
                 solid ? " --solid" : "");
        const uint64_t begun_ns = tarn_clock_monotonic_ns();
        bridge_start(&b, folder, options, NULL, NULL);
        assert_int_equal(bridge_finish(&b, 0), 0);
        taken_s = solid ? taken_s : (double)(tarn_clock_monotonic_ns() - begun_ns) * 1e-9;
        messages[solid] = bridge_summary(&b, " messages");
    }
    print_message("%.0f messages about somebody who rests, %.0f about one in the way\n", messages[0], messages[1]);
    assert_true(messages[0] >= 3);
    assert_true(messages[0] < 5 + 5 * taken_s); // a busy machine plays the recording slowly
    assert_true(messages[1] > 40);
}

static void damaged_frames_are_named_once(void **state)
{
    (void)state;
    bridge_process b;
    char options[512], command[1024];
    snprintf(command, sizeof command,
             "cp -r %s %s/damaged && cd %s/damaged && for f in $(ls d-*.pgm | head -50 | tail -20); do "
             "truncate -s 1000 $f; done && for f in $(ls d-*.pgm | tail -50); do truncate -s 17 $f; truncate -s 614417 "
             "$f; done",
             recording, folder, folder);
    assert_int_equal(system(command), 0);
    snprintf(options, sizeof options, "--frames %s/damaged --url 127.0.0.1:%u", folder, pool_server.port);
    bridge_start(&b, folder, options, NULL, NULL);
    assert_int_equal(bridge_finish(&b, 0), 0);
    assert_int_equal(bridge_count_said(&b, "left out a frame"), 1);
    assert_int_equal(bridge_count_said(&b, "measures nothing"), 1);
    assert_true(bridge_summary(&b, " wrong") == 20);
    assert_true(server_runs(&pool_server));
}

static void a_server_with_tls_hears_it_too(void **state)
{
    (void)state;
    static server_process server;
    bridge_process b;
    char options[512];
    server_start(&server, (const char *[]){"--scene", "small-pool", "--scenes", TARN_TEST_SCENES, "--tls-self-signed",
                                           "--tls-dir", folder, NULL});
    snprintf(options, sizeof options, "--frames %s --url wss://127.0.0.1:%u/ws", recording, server.port);
    bridge_start(&b, folder, options, NULL, NULL);
    assert_int_equal(bridge_finish(&b, 0), 0);
    assert_true(bridge_summary(&b, " messages") > 10);
    assert_true(bridge_summary(&b, " wrong") == 0);
    assert_non_null(strstr(b.text, "in a frame after"));
    server_stop(&server);
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
#define K16 "0123456789abcdef"
#define K64 K16 K16 K16 K16
#define K256 K64 K64 K64 K64
    static const struct {
        const char *options, *says;
        int status;
    } wrong[] = {
        {"--help", "--demo                 No camera: somebody", 0},
        {"", "found 0 sources of depth, allowed is one of", TARN_EXIT_USAGE},
        {"--frames x --v4l2 y", "found 2 sources", TARN_EXIT_USAGE},
        {"--frames x --far 0.3 --near 2", "allowed is a near limit below the far one", TARN_EXIT_USAGE},
        {"--frames x --strength 2", "--strength: found \"2\", allowed is a number from 0 to 1", TARN_EXIT_USAGE},
        {"--frames x --dead-zone nan", "--dead-zone: found \"nan\"", TARN_EXIT_USAGE},
        {"--frames x --region 1,2,3", "--region: found \"1,2,3\"", TARN_EXIT_USAGE},
        {"--frames x --region 1,2,-3,4", "--region: found", TARN_EXIT_USAGE},
        {"--frames x --grid 161x10", "allowed are 1x1 to 160x120", TARN_EXIT_USAGE},
        {"--frames x --rotate 45", "allowed are 0, 90, 180 and 270", TARN_EXIT_USAGE},
        {"--frames x --corners 1,2", "--corners: found \"1,2\"", TARN_EXIT_USAGE},
        {"--frames x --url ftp://localhost/", "--url: found the scheme", TARN_EXIT_USAGE},
        {"--demo --frames x", "found 2 sources", TARN_EXIT_USAGE},
        {"--v4l2 /dev/null --loop", "found --loop, allowed with --frames and with a recording", TARN_EXIT_USAGE},
        {"--demo --loop", "found --loop, allowed with", TARN_EXIT_USAGE},
        {"--demo --pixels mm", "found --pixels, allowed with --frames only", TARN_EXIT_USAGE},
        {"--frames x --pixels cm", "--pixels: found \"cm\", allowed are raw, raw-be, mm and mm-be", TARN_EXIT_USAGE},
        {"--frames x --key " K256 K256 "k", "allowed are 1 to 512 bytes", TARN_EXIT_USAGE},
        {"--frames /nowhere/x", "the recording \"/nowhere/x\" can't be played: /nowhere/x/INDEX.txt: No such file", 1},
    };
    bridge_process b;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        bridge_start(&b, folder, wrong[i].options, NULL, NULL);
        const int status = bridge_finish(&b, 0);
        if (status != wrong[i].status || strstr(b.text, wrong[i].says) == NULL) {
            fail_msg("\"%s\" ended with %d: %s", wrong[i].options, status, b.text);
        }
    }
    char options[512];
    snprintf(options, sizeof options, "--frames %s --url 127.0.0.1:%u --key 0123", recording, pool_server.port);
    bridge_start(&b, folder, options, NULL, NULL);
    assert_int_equal(bridge_finish(&b, 0), 1);
    assert_int_equal(bridge_count_said(&b, "the server said:"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tank_moves_where_the_body_moves), cmocka_unit_test(the_demonstration_moves_the_tank),
        cmocka_unit_test(the_real_library_plays_the_same),     cmocka_unit_test(a_server_that_goes_away_is_waited_for),
        cmocka_unit_test(who_rests_is_told_of_less_often),     cmocka_unit_test(damaged_frames_are_named_once),
        cmocka_unit_test(a_server_with_tls_hears_it_too),      cmocka_unit_test(what_is_wrong_is_said),
    };
    return cmocka_run_group_tests(tests, bridge_record, bridge_forget);
}
