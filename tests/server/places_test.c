// A worker that is full: tanks come while others end, and each still has its frames. And one that ends: the next goes
// on with its tanks at the very step.
#include "server/common/box_follow.h"
#include "server/common/clock.h"
#include "server/worker/places.h"
#include "server/worker/tank_presses.h"
#include "tests/server/test_cmocka.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TURNS_MAX = 200000, TANK_IDS_MAX = 64, TANKS_MAX = 16, MANY = 12 };

typedef struct full_worker {
    tarn_device *device;
    tarn_worker_link link;  ///< the worker's end
    tarn_worker_link other; ///< the gateway's
    tarn_worker_options options;
    tarn_places places;
    uint32_t frames[TANK_IDS_MAX]; ///< seen, by tank
    uint8_t *frame;
    tarn_ipc_refused refused; ///< the newest
} full_worker;

static full_worker *worker;
static bool lacks_memory; ///< for what is as large as a frame may be

void *__real_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t from);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t from);

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t from)
{
    const bool is_lacking = lacks_memory && bytes >= TARN_IPC_FRAME_BYTES_MAX;
    return is_lacking ? MAP_FAILED : __real_mmap(at, bytes, protection, flags, fd, from);
}

static tarn_status on_message(void *user, const tarn_ipc_message *message)
{
    (void)user;
    if (message->kind == TARN_IPC_REFUSED) {
        worker->refused = message->refused;
    }
    return TARN_OK;
}

static uint8_t *frame_space(void *user, uint32_t tank, uint32_t frame_bytes)
{
    (void)user;
    (void)tank;
    worker->frame = realloc(worker->frame, frame_bytes);
    return worker->frame;
}

static tarn_status on_frame(void *user, uint32_t tank, uint32_t frame_bytes)
{
    (void)user;
    assert_true(tank < TANK_IDS_MAX && frame_bytes > 0);
    worker->frames[tank]++;
    return TARN_OK;
}

static bool nobody_wants(void *user)
{
    (void)user;
    return false;
}

/// @param threads  of the device, and so its lanes
static int begin_with(uint32_t threads)
{
    int ends[2];
    const tarn_device_desc desc = {.kind = TARN_DEVICE_CPU, .threads = threads};
    const tarn_ipc_sink sink = {.message = on_message, .frame_space = frame_space, .frame = on_frame};
    worker = calloc(1, sizeof *worker);
    assert_non_null(worker);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(tarn_device_create(&desc, &worker->device), TARN_OK);
    assert_int_equal(tarn_worker_link_open(&worker->link, ends[0], &sink), TARN_OK);
    assert_int_equal(tarn_worker_link_open(&worker->other, ends[1], &sink), TARN_OK);
    worker->options.fps = 30;
    assert_int_equal(tarn_places_open(&worker->places, worker->device, &worker->link, &worker->options,
                                      TARN_TEST_SCENES, nobody_wants, NULL),
                     TARN_OK);
    return 0;
}

static int begin(void **state)
{
    (void)state;
    return begin_with(1);
}

static int begin_with_lanes(void **state)
{
    (void)state;
    return begin_with(2);
}

static void say(tarn_ipc_message message)
{
    assert_int_equal(tarn_places_message(&worker->places, &message, tarn_clock_monotonic_ns()), TARN_OK);
}

/// What the worker does in one round of its loop.
static void turn(void)
{
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    tarn_places_tell(&worker->places, now_ns);
    assert_int_equal(tarn_worker_link_flush(&worker->link), TARN_OK);
    assert_int_equal(tarn_worker_link_read(&worker->other), TARN_OK);
    if (tarn_places_due_ns(&worker->places, now_ns) > now_ns) {
        tarn_jobs_give(&worker->places.jobs);
        usleep(100);
        tarn_jobs_take(&worker->places.jobs);
    }
    assert_int_equal(tarn_places_turn(&worker->places), TARN_OK);
}

static int end(void **state)
{
    (void)state;
    for (uint32_t tank = 1; tank < TANK_IDS_MAX; tank++) {
        say((tarn_ipc_message){.kind = TARN_IPC_UNLOAD, .tank = tank});
    }
    while (worker->places.lanes_taken > 0 ||
           tarn_places_due_ns(&worker->places, tarn_clock_monotonic_ns()) != UINT64_MAX) {
        turn();
    }
    assert_true(tarn_places_close(&worker->places));
    tarn_worker_link_close(&worker->link);
    tarn_worker_link_close(&worker->other);
    tarn_device_destroy(worker->device);
    free(worker->frame);
    free(worker);
    return 0;
}

static void load(uint32_t tank)
{
    tarn_ipc_message message = {.kind = TARN_IPC_LOAD, .tank = tank, .load = {.epoch = 1, .scene = "small-pool"}};
    say(message);
    say((tarn_ipc_message){.kind = TARN_IPC_AUDIENCE, .tank = tank, .audience = {.viewer_count = 1}});
}

/// Lets the worker work until a tank has so many frames.
static void run_until(uint32_t tank, uint32_t frames)
{
    for (int i = 0; i < TURNS_MAX && worker->frames[tank] < frames; i++) {
        turn();
    }
    assert_true(worker->frames[tank] >= frames);
}

static void test_a_tank_comes_while_another_of_a_full_worker_ends(void **state)
{
    (void)state;
    worker->places.tanks_max = TANKS_MAX;
    for (uint32_t tank = 1; tank <= TANKS_MAX; tank++) {
        load(tank);
    }
    for (uint32_t tank = 1; tank <= TANKS_MAX; tank++) {
        run_until(tank, 2);
    }
    for (uint32_t k = 1; k <= 4; k++) { // in one go, so that the place of the old one isn't free yet
        say((tarn_ipc_message){.kind = TARN_IPC_UNLOAD, .tank = k});
        load(TANKS_MAX + k);
    }
    for (uint32_t k = 1; k <= 4; k++) {
        run_until(TANKS_MAX + k, 2);
    }
}

/// A load that is refused has its answer, also where nobody reads all the refusals of inputs that are in front of it.
static void test_a_refused_load_is_answered_behind_refused_inputs(void **state)
{
    (void)state;
    tarn_status status = TARN_OK;
    for (int i = 0; i < TURNS_MAX && status == TARN_OK; i++) {
        status = tarn_worker_link_refuse(&worker->link, 1, 7, 1, TARN_ERROR_INPUT, "this tank has no such tool");
    }
    assert_int_equal(status, TARN_E_SPACE);
    say((tarn_ipc_message){.kind = TARN_IPC_LOAD, .tank = 2, .load = {.epoch = 1, .scene = "nowhere"}});
    for (int i = 0; i < TURNS_MAX && worker->places.of[0].tank.id != 0; i++) {
        assert_int_equal(tarn_places_turn(&worker->places), TARN_OK);
    }
    for (int i = 0; i < TURNS_MAX && worker->refused.code != TARN_ERROR_SESSION; i++) {
        turn();
    }
    assert_int_equal(worker->refused.code, TARN_ERROR_SESSION);
}

/// That frames don't fit is no answer to a scene that somebody loads meanwhile.
static void test_frames_that_dont_fit_are_no_refused_load(void **state)
{
    (void)state;
    lacks_memory = true;
    load(1);
    for (int i = 0; i < TURNS_MAX && worker->refused.code == 0; i++) {
        turn();
    }
    lacks_memory = false;
    assert_int_equal(worker->refused.code, TARN_ERROR_LIMIT);
    assert_int_equal(worker->refused.viewer_id, 0);
    assert_non_null(strstr(worker->refused.text, "a frame of it"));
    run_until(1, 2);
}

/// Those that are short have lanes of their own. They end, come and are watched anew meanwhile.
static void test_many_tanks_run_beside_each_other(void **state)
{
    (void)state;
    uint32_t in_lanes_max = 0;
    worker->places.alone_ns_max = UINT64_MAX; // however slow a sanitizer makes them
    for (uint32_t tank = 1; tank <= MANY; tank++) {
        load(tank);
    }
    for (uint32_t tank = 1; tank <= MANY; tank++) {
        run_until(tank, 2);
    }
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t tank = 1; tank <= MANY; tank++) {
            if (tank % 2 == round) {
                say((tarn_ipc_message){.kind = TARN_IPC_UNLOAD, .tank = tank});
                worker->frames[tank] = 0;
                load(tank);
            }
            turn();
            in_lanes_max = worker->places.lanes_taken > in_lanes_max ? worker->places.lanes_taken : in_lanes_max;
        }
        for (uint32_t tank = 1; tank <= MANY; tank++) {
            run_until(tank, worker->frames[tank] + 2);
        }
    }
    for (int i = 0; i < TURNS_MAX && in_lanes_max < 2; i++) { // which a fast step leaves before it is looked at
        turn();
        in_lanes_max = worker->places.lanes_taken > in_lanes_max ? worker->places.lanes_taken : in_lanes_max;
    }
    assert_int_equal(in_lanes_max, 2);
}

/// Of a viewer, as it comes through the socketpair.
static void act(uint32_t tank, const tarn_input *input)
{
    static uint8_t bytes[TARN_IPC_INPUT_BYTES_MAX];
    const tarn_message message = {.kind = TARN_MESSAGE_INPUT, .input = *input};
    size_t byte_count;
    assert_int_equal(tarn_message_write(&message, bytes, sizeof bytes, &byte_count), TARN_OK);
    say((tarn_ipc_message){.kind = TARN_IPC_INPUT,
                           .tank = tank,
                           .input = {.viewer_id = 1, .byte_count = (uint32_t)byte_count, .bytes = bytes}});
}

/// A pointer that goes round and round above the tank, pressed now and then with one tool or another, and gravity.
static void act_somehow(uint32_t tank, uint32_t sequence)
{
    const float angle = 0.3f * (float)sequence;
    tarn_input input = {.sequence = sequence, .kind = TARN_INPUT_POINTER};
    input.pointer = (tarn_input_pointer){
        .phase = sequence % 9 == 1   ? TARN_PHASE_DOWN
                 : sequence % 9 == 0 ? TARN_PHASE_UP
                                     : TARN_PHASE_MOVE,
        .tool = sequence / 9 % 3 == 0   ? TARN_TOOL_WALL
                : sequence / 9 % 3 == 1 ? TARN_TOOL_POUR
                                        : TARN_TOOL_PUSH,
        .origin_m = {0.5f + 0.3f * cosf(angle), 3, 0.5f + 0.3f * sinf(angle)},
        .direction = {0, -1, 0},
        .radius_m = 0.15f,
        .strength = 1,
    };
    act(tank, &input);
    if (sequence % 7 == 0) {
        const tarn_input gravity = {.sequence = sequence,
                                    .kind = TARN_INPUT_PARAMETER,
                                    .parameter = {.name = "gravity_m_s2", .value = 5.0f + (float)(sequence % 5)}};
        act(tank, &gravity);
    }
}

enum { FIRST_EPOCH = 5, NEXT_EPOCH = 50 };

/// Where a tank's box came along.
static void load_with_box(uint32_t tank, int box_fd, bool resumes)
{
    assert_int_equal(worker->link.fd_count, 0);
    worker->link.fds[worker->link.fd_count++] = dup(box_fd);
    say((tarn_ipc_message){
        .kind = TARN_IPC_LOAD,
        .tank = tank,
        .load = {.epoch = resumes ? NEXT_EPOCH : FIRST_EPOCH, .scene = "small-pool", .box = 1, .resumes = resumes}});
}

static tarn_worker_tank *only_tank(void)
{
    tarn_worker_tank *tank = &worker->places.of[0].tank;
    assert_int_equal(tank->id, 1);
    return tank;
}

/// Nobody acts in the last steps: what is held then, still is.
static void run_until_step(uint64_t step)
{
    uint32_t sequence = 0;
    say((tarn_ipc_message){.kind = TARN_IPC_AUDIENCE, .tank = 1, .audience = {.viewer_count = 1}});
    for (int i = 0; i < TURNS_MAX && (only_tank()->tank == NULL || only_tank()->step < step); i++) {
        if (only_tank()->tank != NULL && only_tank()->step + 2 < step && sequence < only_tank()->step + 1) {
            sequence = (uint32_t)only_tank()->step + 1;
            act_somehow(1, sequence);
        }
        turn();
    }
    while (worker->places.of[0].job.in_progress) {
        turn();
    }
}

/// Another worker takes the box, until its tank rests.
static void replace_worker(int box_fd)
{
    end(NULL);
    begin(NULL);
    load_with_box(1, box_fd, true);
    for (int i = 0; i < TURNS_MAX && (only_tank()->tank == NULL || worker->places.of[0].job.in_progress); i++) {
        turn();
    }
}

/// Whenever a worker ends, before the first state is kept or long after: its tank goes on with the same bits.
static void test_another_worker_goes_on_at_the_very_step(void **state)
{
    (void)state;
    const uint64_t steps[] = {1, 17, 59, 60, 61, 100, 119, 121, 150};
    const int box_fd = tarn_black_box_make();
    assert_true(box_fd > 0);
    load_with_box(1, box_fd, false);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        static uint8_t held[2][TARN_IPC_PRESSES_BYTES_MAX];
        tarn_tank_hash before, after;
        run_until_step(steps[i]);
        const uint32_t held_bytes = tarn_tank_presses_write(only_tank(), held[0]);
        const uint64_t step = only_tank()->step;
        const uint32_t number = tarn_encoder_number(only_tank()->encoder);
        assert_true(step >= steps[i]);
        assert_int_equal(tarn_tank_hash_get(only_tank()->tank, &before), TARN_OK);
        replace_worker(box_fd);
        assert_int_equal(only_tank()->step, step);
        assert_int_equal(only_tank()->epoch, FIRST_EPOCH);
        assert_true(tarn_encoder_number(only_tank()->encoder) >= number);
        assert_int_equal(tarn_tank_hash_get(only_tank()->tank, &after), TARN_OK);
        assert_memory_equal(&after, &before, sizeof before);
        assert_int_equal(tarn_tank_presses_write(only_tank(), held[1]), held_bytes);
        assert_memory_equal(held[1], held[0], held_bytes);
        assert_string_equal(only_tank()->notice, "");
    }
    close(box_fd);
}

static uint32_t count_presses(void)
{
    uint32_t count = 0;
    for (int i = 0; i < TARN_INPUT_SOURCES_MAX; i++) {
        count += only_tank()->inputs.sources[i].viewer_id != 0;
    }
    return count;
}

/// Who left while there was no worker holds nothing.
static void test_presses_of_those_who_left_are_let_go(void **state)
{
    (void)state;
    const int box_fd = tarn_black_box_make();
    load_with_box(1, box_fd, false);
    run_until_step(14); // a press of viewer 1 began with step 10
    for (int gone = 0; gone < 2; gone++) {
        replace_worker(box_fd);
        say((tarn_ipc_message){
            .kind = TARN_IPC_PRESENT, .tank = 1, .present = {.viewer_count = 1, .viewer_ids = {gone ? 2 : 1}}});
        run_until_step(15 + (uint64_t)gone);
        assert_int_equal(count_presses(), gone ? 0 : 1);
    }
    close(box_fd);
}

/// A reset is no less than a step: the next worker doesn't bring back what was before it.
static void test_another_worker_knows_of_a_reset(void **state)
{
    (void)state;
    const int box_fd = tarn_black_box_make();
    load_with_box(1, box_fd, false);
    run_until_step(130);
    say((tarn_ipc_message){.kind = TARN_IPC_RESET, .tank = 1, .reset = {.epoch = 9}});
    run_until(1, worker->frames[1] + 1);
    while (only_tank()->epoch != 9) {
        turn();
    }
    run_until_step(3);
    const uint64_t step = only_tank()->step;
    tarn_tank_hash before, after;
    assert_true(step < 60);
    assert_int_equal(tarn_tank_hash_get(only_tank()->tank, &before), TARN_OK);
    replace_worker(box_fd);
    assert_int_equal(only_tank()->step, step);
    assert_int_equal(only_tank()->epoch, 9);
    assert_int_equal(tarn_tank_hash_get(only_tank()->tank, &after), TARN_OK);
    assert_memory_equal(&after, &before, sizeof before);
    close(box_fd);
}

static int filled_box(const uint8_t *bytes, size_t byte_count, uint64_t step)
{
    tarn_box_state state = {
        .state_bytes_max = only_tank()->snapshot.box.state_bytes_max,
        .step = step,
        .bytes = {(uint8_t *)bytes, byte_count, byte_count},
    };
    const int fd = tarn_black_box_make();
    assert_true(fd > 0);
    snprintf(state.scene, sizeof state.scene, "small-pool");
    assert_int_equal(tarn_box_fill(fd, &state, NEXT_EPOCH, 7, NULL, 0, false), TARN_OK);
    return fd;
}

/// Its box goes along.
static void begin_to_go_back(int fd)
{
    assert_int_equal(worker->link.fd_count, 0);
    worker->link.fds[worker->link.fd_count++] = fd;
    say((tarn_ipc_message){
        .kind = TARN_IPC_LOAD,
        .tank = 1,
        .load = {.epoch = NEXT_EPOCH, .scene = "small-pool", .box = 1, .resumes = TARN_IPC_GOES_BACK}});
}

/// Turns until that was loaded, or refused.
static void go_back(int fd)
{
    tarn_place *place = &worker->places.of[0];
    begin_to_go_back(fd);
    for (int i = 0; i < TURNS_MAX && (place->load_asked || place->job.in_progress); i++) {
        turn();
    }
    assert_int_equal(only_tank()->epoch, NEXT_EPOCH);
    assert_int_equal(only_tank()->next_box_fd, 0);
}

/// A tank goes on from another box than its own; where that is of no use it stays what it is.
static void test_a_tank_goes_back_or_stays(void **state)
{
    (void)state;
    const int box_fd = tarn_black_box_make();
    tarn_tank_hash earlier, before, after;
    load_with_box(1, box_fd, false);
    run_until_step(40);
    static uint8_t kept[1 << 22];
    size_t byte_count;
    const uint64_t step = only_tank()->step;
    assert_int_equal(tarn_tank_save(only_tank()->tank, kept, sizeof kept, &byte_count), TARN_OK);
    assert_int_equal(tarn_tank_hash_get(only_tank()->tank, &earlier), TARN_OK);
    run_until_step(90);
    const uint64_t now = only_tank()->step;
    const int own_fd = only_tank()->box_fd;
    assert_int_equal(tarn_tank_hash_get(only_tank()->tank, &before), TARN_OK);
    static const uint8_t noise[100] = {1, 2, 3};
    go_back(filled_box(noise, sizeof noise, 5));
    assert_int_equal(only_tank()->step, now);
    assert_int_equal(only_tank()->box_fd, own_fd);
    assert_int_equal(tarn_tank_hash_get(only_tank()->tank, &after), TARN_OK);
    assert_memory_equal(&after, &before, sizeof before);
    assert_non_null(strstr(worker->places.of[0].why, "can't be what it was then"));

    only_tank()->epoch = FIRST_EPOCH;
    go_back(filled_box(kept, byte_count, step));
    assert_int_equal(only_tank()->step, step);
    assert_int_equal(tarn_tank_hash_get(only_tank()->tank, &after), TARN_OK);
    assert_memory_equal(&after, &earlier, sizeof earlier);
    // From then on that one is its box.
    const int new_fd = dup(only_tank()->box_fd);
    run_until_step(step + 20);
    assert_int_equal(tarn_tank_hash_get(only_tank()->tank, &before), TARN_OK);
    const uint64_t end_step = only_tank()->step;
    replace_worker(new_fd);
    assert_int_equal(only_tank()->step, end_step);
    assert_int_equal(tarn_tank_hash_get(only_tank()->tank, &after), TARN_OK);
    assert_memory_equal(&after, &before, sizeof before);
    close(new_fd);
    close(box_fd);
}

/// What viewers did before a tank was gone back with isn't done again, even where its worker ends at once.
static void test_who_goes_back_does_nothing_twice(void **state)
{
    (void)state;
    static uint8_t kept[1 << 22];
    size_t byte_count;
    const int box_fd = tarn_black_box_make();
    load_with_box(1, box_fd, false);
    run_until_step(20);
    const uint32_t last = (uint32_t)only_tank()->step - 2; // somebody did something until then
    assert_true(tarn_input_state_has(&only_tank()->inputs, 1, last));
    assert_int_equal(tarn_tank_save(only_tank()->tank, kept, sizeof kept, &byte_count), TARN_OK);
    go_back(filled_box(kept, byte_count, only_tank()->step));
    const int new_fd = dup(only_tank()->box_fd);
    replace_worker(new_fd);
    assert_int_equal(only_tank()->epoch, NEXT_EPOCH);
    assert_true(tarn_input_state_has(&only_tank()->inputs, 1, last));
    assert_int_equal(count_presses(), 0);
    close(new_fd);
    close(box_fd);
}

static void press(uint32_t sequence, tarn_phase phase)
{
    const tarn_input input = {.sequence = sequence,
                              .kind = TARN_INPUT_POINTER,
                              .pointer = {.phase = phase,
                                          .tool = TARN_TOOL_PUSH,
                                          .origin_m = {0.5f, 3, 0.5f},
                                          .direction = {0, -1, 0},
                                          .radius_m = 0.15f,
                                          .strength = 1}};
    act(1, &input);
}

/// Whoever presses while a tank is gone back with is told that nothing comes of it, and so is who moves a slider.
static void test_a_press_amid_a_way_back_is_refused(void **state)
{
    (void)state;
    static uint8_t kept[1 << 22];
    size_t byte_count;
    const int box_fd = tarn_black_box_make();
    const tarn_place *place = &worker->places.of[0];
    load_with_box(1, box_fd, false);
    run_until_step(20);
    assert_int_equal(tarn_tank_save(only_tank()->tank, kept, sizeof kept, &byte_count), TARN_OK);
    for (uint32_t late = 0; late < 3; late++) {
        const uint32_t sequence = 1000 + 10 * late;
        tarn_input gravity = {
            .sequence = sequence + 3, .kind = TARN_INPUT_PARAMETER, .parameter = {.name = "gravity_m_s2", .value = 3}};
        begin_to_go_back(filled_box(kept, byte_count, only_tank()->step));
        for (int i = 0; i < TURNS_MAX && late > 0 && !place->job.in_progress; i++) { // until it is being made
            turn();
        }
        worker->refused = (tarn_ipc_refused){0};
        if (late < 2) {
            press(sequence + 1, TARN_PHASE_DOWN);
        } else {
            act(1, &gravity);
        }
        press(sequence + 4, TARN_PHASE_MOVE); // of which nothing is said; by the next turn the tank may be there
        for (int i = 0; i < TURNS_MAX && (place->load_asked || place->job.in_progress); i++) {
            turn();
        }
        turn();
        assert_int_equal(worker->refused.viewer_id, 1);
        assert_int_equal(worker->refused.code, TARN_ERROR_INPUT);
        assert_int_equal(worker->refused.sequence, sequence + (late < 2 ? 1 : 3));
        assert_non_null(strstr(worker->refused.text, "made anew"));
        assert_int_equal(count_presses(), 0);
        assert_true(tarn_input_state_has(&only_tank()->inputs, 1, sequence + 1)); // no later worker takes it either
    }
    press(2000, TARN_PHASE_DOWN);
    assert_int_equal(count_presses(), 1);
    close(box_fd);
}

static void say_pieces(const uint8_t *bytes, size_t byte_count, uint64_t at)
{
    for (size_t said = 0; said < byte_count;) {
        const size_t left = byte_count - said;
        const tarn_ipc_state_chunk chunk = {
            .at = at + said,
            .byte_count = (uint32_t)(left < TARN_IPC_CHUNK_BYTES_MAX ? left : TARN_IPC_CHUNK_BYTES_MAX),
            .bytes = bytes + said};
        say((tarn_ipc_message){.kind = TARN_IPC_STATE_CHUNK, .tank = 1, .state_chunk = chunk});
        said += chunk.byte_count;
    }
}

/// What came along when a tank was moved stays, even where its new worker ends before it has made a step.
static void test_what_is_held_outlives_a_move(void **state)
{
    (void)state;
    static uint8_t kept[1 << 22], held[2][TARN_IPC_PRESSES_BYTES_MAX];
    size_t byte_count;
    const int box_fd = tarn_black_box_make(), next_fd = tarn_black_box_make();
    load_with_box(1, box_fd, false);
    run_until_step(14); // a press of viewer 1 began with step 10
    const tarn_input gravity = {
        .sequence = 15, .kind = TARN_INPUT_PARAMETER, .parameter = {.name = "gravity_m_s2", .value = 3}};
    act(1, &gravity); // for the next step
    assert_int_equal(count_presses(), 1);
    tarn_ipc_state_head head = {.save = 7, .epoch = FIRST_EPOCH, .step = only_tank()->step, .number = 40};
    assert_int_equal(tarn_tank_save(only_tank()->tank, kept, sizeof kept, &byte_count), TARN_OK);
    head.state_bytes = byte_count;
    head.presses_bytes = tarn_tank_presses_write(only_tank(), held[0]);
    end(NULL);
    begin(NULL);
    const tarn_place *place = &worker->places.of[0];
    worker->link.fds[worker->link.fd_count++] = dup(next_fd);
    say((tarn_ipc_message){
        .kind = TARN_IPC_RESTORE, .tank = 1, .restore = {.save = head.save, .scene = "small-pool", .box = 1}});
    for (int i = 0; i < TURNS_MAX && place->tank.handover.phase != TARN_HANDOVER_WAITS; i++) {
        turn();
    }
    say((tarn_ipc_message){.kind = TARN_IPC_STATE_HEAD, .tank = 1, .state_head = head});
    say_pieces(kept, byte_count, 0);
    say_pieces(held[0], head.presses_bytes, byte_count);
    for (int i = 0; i < TURNS_MAX && place->tank.handover.phase != TARN_HANDOVER_NONE; i++) {
        turn();
    }
    assert_int_equal(only_tank()->step, head.step);
    replace_worker(next_fd);
    assert_int_equal(only_tank()->step, head.step);
    assert_int_equal(tarn_tank_presses_write(only_tank(), held[1]), head.presses_bytes);
    assert_memory_equal(held[1], held[0], head.presses_bytes);
    close(next_fd);
    close(box_fd);
}

/// A state that can't be loaded costs the water, not the tank.
static void test_a_damaged_state_means_a_fresh_start(void **state)
{
    (void)state;
    const int box_fd = tarn_black_box_make();
    load_with_box(1, box_fd, false);
    run_until_step(70);
    uint64_t state_bytes, step;
    uint8_t *kept = (uint8_t *)tarn_black_box_state(&only_tank()->snapshot.box, &state_bytes, &step);
    assert_non_null(kept);
    memset(kept, 0xaa, state_bytes);
    assert_int_equal(count_presses(), 1);
    replace_worker(box_fd);
    assert_int_equal(count_presses(), 0);
    assert_int_equal(only_tank()->step, 0);
    assert_int_equal(only_tank()->epoch, NEXT_EPOCH);
    assert_non_null(strstr(only_tank()->notice, "the tank starts afresh"));
    run_until_step(3);
    close(box_fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_tank_comes_while_another_of_a_full_worker_ends, begin_with_lanes, end),
        cmocka_unit_test_setup_teardown(test_a_refused_load_is_answered_behind_refused_inputs, begin, end),
        cmocka_unit_test_setup_teardown(test_frames_that_dont_fit_are_no_refused_load, begin, end),
        cmocka_unit_test_setup_teardown(test_many_tanks_run_beside_each_other, begin_with_lanes, end),
        cmocka_unit_test_setup_teardown(test_another_worker_goes_on_at_the_very_step, begin, end),
        cmocka_unit_test_setup_teardown(test_presses_of_those_who_left_are_let_go, begin, end),
        cmocka_unit_test_setup_teardown(test_another_worker_knows_of_a_reset, begin, end),
        cmocka_unit_test_setup_teardown(test_a_tank_goes_back_or_stays, begin, end),
        cmocka_unit_test_setup_teardown(test_who_goes_back_does_nothing_twice, begin, end),
        cmocka_unit_test_setup_teardown(test_a_press_amid_a_way_back_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_held_outlives_a_move, begin, end),
        cmocka_unit_test_setup_teardown(test_a_damaged_state_means_a_fresh_start, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
