// A tank's way to another worker, by itself: with doubles for the workers and the session. Messages come late, and
// moves are asked for that can't be.
#include "server/gateway/session/box.h"
#include "server/gateway/session/making.h"
#include "server/gateway/session/post.h"
#include "server/gateway/worker/move.h"
#include "tests/server/test_cmocka.h"

#include <string.h>
#include <sys/stat.h>

enum { WORKERS = 2, SENT_MAX = 64 };

static tarn_workers workers = {.count = WORKERS};
static tarn_metrics metrics;
static tarn_sessions sessions;
static tarn_move move;
static struct {
    uint32_t worker;
    tarn_ipc_kind kind;
} sent[SENT_MAX];
static uint32_t sent_count;

// ------------------------------------------------------------------------------------------------------------- doubles

tarn_status tarn_worker_process_send(tarn_worker_process *worker, const tarn_ipc_message *message,
                                     tarn_worker_queue_key key, bool is_move)
{
    (void)key;
    (void)is_move;
    assert_true(sent_count < SENT_MAX);
    sent[sent_count].worker = worker->index;
    sent[sent_count++].kind = message->kind;
    return TARN_OK;
}

bool tarn_worker_process_send_all(tarn_worker_process *worker, tarn_worker_queue *from, uint32_t tank)
{
    (void)worker;
    (void)tank;
    tarn_worker_queue_clear(from);
    return true;
}

bool tarn_worker_process_is_ready(const tarn_worker_process *worker)
{
    return worker->phase == TARN_WORKER_READY;
}

void tarn_worker_process_divert(tarn_worker_process *worker, uint32_t tank, uint8_t *space)
{
    (void)worker;
    (void)tank;
    (void)space;
}

int tarn_session_other_worker(const tarn_session *session, int wanted)
{
    return wanted >= 0 ? wanted : 1 - (int)session->worker->index;
}

static bool waits;

bool tarn_session_waits(const tarn_session *session)
{
    return waits && session == &sessions.sessions[0];
}

void tarn_session_moved(tarn_session *session, tarn_worker_process *worker, int box_fd)
{
    session->worker = worker;
    session->box_fd = box_fd;
}

tarn_status tarn_session_worker_message(tarn_sessions *all, const tarn_worker_process *worker,
                                        const tarn_ipc_message *message)
{
    (void)all;
    (void)worker;
    (void)message;
    return TARN_OK;
}

// --------------------------------------------------------------------------------------------------------------- moves

static int set_up(void **state)
{
    (void)state;
    memset(&move, 0, sizeof move);
    memset(&sessions, 0, sizeof sessions);
    memset(&metrics, 0, sizeof metrics);
    sessions.workers = &workers;
    sessions.metrics = &metrics;
    move.sessions = &sessions;
    for (uint32_t i = 0; i < WORKERS; i++) {

        workers.workers[i].index = i;
        workers.workers[i].phase = TARN_WORKER_READY;
    }
    for (uint32_t i = 0; i < 2; i++) {
        tarn_session *session = &sessions.sessions[i];
        session->all = &sessions;
        session->id = 0x100 + i;
        session->worker = &workers.workers[0];
        session->was_made = true;
        session->epoch = session->epoch_served = 5;
    }
    sent_count = 0;
    waits = false;
    return 0;
}

static tarn_session *main_tank(void)
{
    return &sessions.sessions[0];
}

static void begin(int to)
{
    tarn_text why;
    assert_int_equal(tarn_move_begin(&move, main_tank(), to, why), TARN_OK);
    assert_int_equal(move.phase, TARN_MOVE_MAKES);
}

/// @return whether the move took it
static bool hear(int from, tarn_ipc_message message)
{
    tarn_status status;
    message.tank = message.tank != 0 ? message.tank : main_tank()->id;
    const bool is_taken = tarn_move_worker_message(&move, &workers.workers[from], &message, &status);
    assert_int_equal(status, TARN_OK);
    return is_taken;
}

static void hear_refusal(int from, uint32_t viewer_id, uint32_t code)
{
    tarn_ipc_message message = {.kind = TARN_IPC_REFUSED, .refused = {.viewer_id = viewer_id, .code = code}};
    (void)hear(from, message);
}

static bool was_told(uint32_t worker, tarn_ipc_kind kind)
{
    bool was = false;
    for (uint32_t i = 0; i < sent_count; i++) {
        was |= sent[i].worker == worker && sent[i].kind == kind;
    }
    return was;
}

static void hear_made(int from)
{
    (void)hear(from, (tarn_ipc_message){.kind = TARN_IPC_MADE, .save = {.save = move.save}});
}

static void hear_state(int from, uint32_t epoch)
{
    (void)hear(from, (tarn_ipc_message){.kind = TARN_IPC_STATE, .state = {.epoch = epoch}});
}

/// From the state's head to the other worker's word that it has the tank.
static void pass(int from, int to)
{
    static const uint8_t bytes[TARN_IPC_CHUNK_BYTES_MAX];
    enum { STATE_BYTES = 1000, PRESSES_BYTES = 100 };
    const tarn_ipc_state_head head = {
        .save = move.save, .epoch = 5, .step = 12, .state_bytes = STATE_BYTES, .presses_bytes = PRESSES_BYTES};
    (void)hear(from, (tarn_ipc_message){.kind = TARN_IPC_STATE_HEAD, .state_head = head});
    assert_int_equal(move.phase, TARN_MOVE_PASSES);
    (void)hear(from, (tarn_ipc_message){.kind = TARN_IPC_STATE_CHUNK, .state_chunk = {0, STATE_BYTES, bytes}});
    (void)hear(from,
               (tarn_ipc_message){.kind = TARN_IPC_STATE_CHUNK, .state_chunk = {STATE_BYTES, PRESSES_BYTES, bytes}});
    hear_state(to, 5);
    assert_ptr_equal(main_tank()->worker, &workers.workers[to]);
}

static void move_whole(int from, int to)
{
    begin(to);
    hear_made(to);
    assert_int_equal(move.phase, TARN_MOVE_SAVES);
    pass(from, to);
    assert_int_equal(move.phase, TARN_MOVE_NONE);
    assert_null(main_tank()->held);
}

static int tear_down(void **state)
{
    (void)state;
    if (move.phase != TARN_MOVE_NONE) {
        move.session->id = 0; // it ends
        tarn_move_tick(&move, 0);
    }
    tarn_session_box_close(&main_tank()->box_fd);
    return 0;
}

// --------------------------------------------------------------------------------------------------------------- tests

/// A number may be another file's by now. @return 0: it is closed
static ino_t file_of(int fd)
{
    struct stat found;
    return fstat(fd, &found) == 0 ? found.st_ino : 0;
}

/// The box is on its way to the other worker, which its tank is going to be in.
static void test_a_move_that_is_refused_leaves_the_other_ones_box(void **state)
{
    (void)state;
    tarn_text why;
    begin(1);
    const ino_t box = file_of(move.box_fd);
    assert_true(move.box_fd > 0 && box != 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tarn_move_begin(&move, &sessions.sessions[i], 1, why), TARN_E_STATE);
        assert_int_equal(file_of(move.box_fd), box);
    }
    hear_made(1);
    pass(0, 1);
    assert_int_equal(file_of(main_tank()->box_fd), box);
}

/// What viewers did while its worker was away, and hasn't reached the tank yet, mustn't come behind its state.
static void test_a_tank_that_was_just_brought_back_isnt_moved_yet(void **state)
{
    (void)state;
    tarn_text why;
    waits = true;
    assert_int_equal(tarn_move_begin(&move, main_tank(), 1, why), TARN_E_STATE);
    assert_non_null(strstr(why, "is being made"));
    assert_int_equal(sent_count, 0);
    waits = false;
    move_whole(0, 1);
}

/// Of the time when a worker had the tank, words may still be on their way when it is to come back there.
static void test_old_words_of_a_worker_are_no_answer_to_a_tanks_return(void **state)
{
    (void)state;
    move_whole(0, 1);
    tarn_session_box_close(&main_tank()->box_fd);
    begin(0);
    hear_refusal(0, 7, TARN_ERROR_INPUT);  // of what a viewer did
    hear_refusal(0, 7, TARN_ERROR_SCENE);  // of a scene that a viewer asked for
    hear_refusal(0, 0, TARN_ERROR_WORKER); // that it was set back
    hear_refusal(0, 0, TARN_ERROR_LIMIT);  // that its frames don't fit
    hear_state(0, 5);
    (void)hear(0, (tarn_ipc_message){.kind = TARN_IPC_MADE, .save = {.save = move.save - 1}});
    (void)hear(0, (tarn_ipc_message){.kind = TARN_IPC_STATE_HEAD, .state_head = {.save = move.save, .epoch = 5}});
    (void)hear(0, (tarn_ipc_message){.kind = TARN_IPC_STATE_CHUNK, .state_chunk = {.byte_count = 8}});
    assert_int_equal(move.phase, TARN_MOVE_MAKES);
    assert_ptr_equal(main_tank()->worker, &workers.workers[1]);
    hear_made(0);
    pass(1, 0);
    assert_int_equal(metrics.moves_total, 2);
    assert_int_equal(metrics.moves_failed_total, 0);
}

/// What is an answer to it ends the move, and the tank goes on where it is.
static void test_a_worker_that_refuses_the_tank_leaves_it_where_it_is(void **state)
{
    (void)state;
    const uint32_t codes[] = {TARN_ERROR_SCENE, TARN_ERROR_SESSION};
    for (int i = 0; i < 2; i++) {
        sent_count = 0;
        begin(1);
        if (i == 1) {
            hear_made(1);
        }
        hear_refusal(1, 0, codes[i]);
        assert_int_equal(move.phase, TARN_MOVE_NONE);
        assert_int_equal(metrics.moves_failed_total, i + 1);
        assert_ptr_equal(main_tank()->worker, &workers.workers[0]);
        assert_true(was_told(1, TARN_IPC_UNLOAD));
        assert_int_equal(was_told(0, TARN_IPC_GO_ON), i == 1);
        assert_null(main_tank()->held);
    }
}

/// A worker that died amid the move, and the words of the other one that come behind that.
static void test_a_tank_whose_worker_ended_isnt_taken_elsewhere(void **state)
{
    (void)state;
    begin(1);
    hear_made(1);
    const tarn_ipc_state_head head = {
        .save = move.save, .epoch = 5, .step = 11, .state_bytes = 1000, .presses_bytes = 0};
    static const uint8_t bytes[1000];
    (void)hear(0, (tarn_ipc_message){.kind = TARN_IPC_STATE_HEAD, .state_head = head});
    (void)hear(0, (tarn_ipc_message){.kind = TARN_IPC_STATE_CHUNK, .state_chunk = {0, sizeof bytes, bytes}});
    tarn_move_worker_lost(&move, &workers.workers[0], "it ended");
    assert_int_equal(move.phase, TARN_MOVE_NONE);
    assert_true(was_told(1, TARN_IPC_UNLOAD));
    hear_state(1, 5); // of step 11, while the next worker may have come to 12
    assert_ptr_equal(main_tank()->worker, &workers.workers[0]);
    begin(1);
    hear_state(1, 5);
    assert_int_equal(move.phase, TARN_MOVE_MAKES);
    assert_ptr_equal(main_tank()->worker, &workers.workers[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_move_that_is_refused_leaves_the_other_ones_box, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_tank_that_was_just_brought_back_isnt_moved_yet, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_old_words_of_a_worker_are_no_answer_to_a_tanks_return, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_worker_that_refuses_the_tank_leaves_it_where_it_is, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_tank_whose_worker_ended_isnt_taken_elsewhere, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
