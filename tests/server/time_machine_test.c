// When a tank may be gone back with, with doubles for everything around it.
#include "server/gateway/session/box.h"
#include "server/gateway/session/making.h"
#include "server/gateway/session/post.h"
#include "server/gateway/session/time_machine.h"
#include "server/gateway/store/store.h"
#include "server/gateway/viewer/viewer.h"
#include "tests/server/test_cmocka.h"

#include <string.h>

static tarn_worker_process worker;
static tarn_sessions sessions;
static bool waits, has_reply;
static uint32_t wishes, loads, speeds;

// ------------------------------------------------------------------------------------------------------------- doubles

bool tarn_session_waits(const tarn_session *session)
{
    (void)session;
    return waits;
}

bool tarn_worker_process_is_ready(const tarn_worker_process *of)
{
    return of->phase == TARN_WORKER_READY;
}

tarn_status tarn_worker_process_send(tarn_worker_process *to, const tarn_ipc_message *message,
                                     tarn_worker_queue_key key, bool is_move)
{
    (void)to;
    (void)key;
    (void)is_move;
    speeds += message->kind == TARN_IPC_SPEED;
    return TARN_OK;
}

bool tarn_store_past(tarn_store *store, uint32_t place, tarn_session_span *span)
{
    (void)store;
    (void)place;
    *span = (tarn_session_span){.state_count = 2, .from_ns = 0, .until_ns = 5000000000};
    return true;
}

bool tarn_store_wish_for(tarn_store *store, uint32_t place, const tarn_store_wish *wish)
{
    (void)store;
    (void)place;
    (void)wish;
    wishes++;
    return true;
}

bool tarn_store_take_reply(tarn_store *store, uint32_t place, tarn_store_reply *reply)
{
    (void)store;
    (void)place;
    if (has_reply) {
        memset(reply, 0, sizeof *reply);
    }
    return has_reply;
}

tarn_status tarn_session_send_load(tarn_session *session, const tarn_ipc_load *load)
{
    (void)session;
    (void)load;
    loads++;
    return TARN_OK;
}

bool tarn_session_box_can_go(int box_fd)
{
    (void)box_fd;
    return true;
}

void tarn_session_box_close(int *box_fd)
{
    *box_fd = 0;
}

tarn_status tarn_box_set_epoch(int fd, uint32_t epoch)
{
    (void)fd;
    (void)epoch;
    return TARN_OK;
}

bool tarn_session_place(tarn_session *session)
{
    (void)session;
    return false;
}

void tarn_session_make_tank(tarn_session *session)
{
    (void)session;
}

void tarn_session_replay_tick(tarn_session *session)
{
    (void)session;
}

void tarn_viewer_error(tarn_viewer *viewer, tarn_error_code code, const char *sentence)
{
    (void)viewer;
    (void)code;
    (void)sentence;
}

// --------------------------------------------------------------------------------------------------------------- tests

static tarn_session *begin(void)
{
    tarn_session *session = &sessions.sessions[0];
    memset(&sessions, 0, sizeof sessions);
    worker.phase = TARN_WORKER_READY;
    sessions.store = (tarn_store *)&sessions; // which nobody looks into
    session->all = &sessions;
    session->id = 0x100;
    session->worker = &worker;
    session->was_made = true;
    session->state.speed = 1;
    waits = has_reply = false;
    wishes = loads = speeds = 0;
    return session;
}

/// A tank that is back, and for which something that was done to it still waits, isn't taken elsewhere.
static void test_a_tank_that_something_waits_for_is_not_free(void **state)
{
    (void)state;
    tarn_text why;
    tarn_session *session = begin();
    waits = true;
    assert_int_equal(tarn_time_machine_go_back(session, 1.0, false, why), TARN_E_STATE);
    assert_non_null(strstr(why, "try again in a moment"));
    assert_int_equal(wishes, 0);
    waits = false;
    assert_int_equal(tarn_time_machine_go_back(session, 1.0, false, why), TARN_OK);
    assert_int_equal(wishes, 1);
    // Nor when its box has been found.
    has_reply = waits = true;
    tarn_time_machine_tick(&sessions, 1);
    assert_int_equal(loads, 0);
    assert_int_equal(session->past.box_fd, 0);
    waits = false;
    assert_int_equal(tarn_time_machine_go_back(session, 1.0, false, why), TARN_OK);
    tarn_time_machine_tick(&sessions, 1);
    assert_int_equal(loads, 1);
}

/// Nor is one told of another speed before that.
static void test_a_speed_waits_too(void **state)
{
    (void)state;
    tarn_session *session = begin();
    session->past.speed = 2;
    waits = true;
    tarn_time_machine_tick(&sessions, 1);
    assert_int_equal(speeds, 0);
    waits = false;
    tarn_time_machine_tick(&sessions, 1);
    assert_int_equal(speeds, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_tank_that_something_waits_for_is_not_free),
        cmocka_unit_test(test_a_speed_waits_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
