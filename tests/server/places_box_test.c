// A worker ends, or a server with its workers: the next goes on with its tanks at the very step.
#include "server/log/black_box.h"
#include "server/log/follow.h"
#include "server/worker/presses.h"
#include "tests/server/places_kit.h"
#include "tests/server/test_cmocka.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool lacks_memory_for_states; ///< that are loaded

tarn_status __real_tarn_tank_load(tarn_tank *tank, const uint8_t *bytes, size_t byte_count);
tarn_status __wrap_tarn_tank_load(tarn_tank *tank, const uint8_t *bytes, size_t byte_count);

tarn_status __wrap_tarn_tank_load(tarn_tank *tank, const uint8_t *bytes, size_t byte_count)
{
    return lacks_memory_for_states ? TARN_E_MEMORY : __real_tarn_tank_load(tank, bytes, byte_count);
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

/// A tank that has made 20 steps or more. @return its box, which is the caller's
static int run_with_box(void)
{
    const int box_fd = tarn_black_box_make();
    load_with_box(1, box_fd, false);
    run_until_step(20);
    return box_fd;
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

/// A worker that ends between two turns ends by none of the tanks that have work begun: it isn't theirs to do then.
static void test_whose_work_stands_is_not_to_blame(void **state)
{
    (void)state;
    int stood = 0;
    const int box_fd = tarn_black_box_make();
    const tarn_place *place = &worker->places.of[0];
    load_with_box(1, box_fd, false);
    say((tarn_ipc_message){
        .kind = TARN_IPC_LOAD, .tank = 2, .load = {.epoch = FIRST_EPOCH, .scene = "small-pool", .box = 0}});
    for (uint32_t tank = 1; tank <= 2; tank++) {
        say((tarn_ipc_message){.kind = TARN_IPC_AUDIENCE, .tank = tank, .audience = {.viewer_count = 1}});
    }
    for (int i = 0; i < TURNS_MAX && (stood < 20 || worker->frames[1] < 20); i++) {
        turn();
        const tarn_black_box *box = &place->tank.snapshot.box;
        stood += place->job.in_progress && box->is_busy;
        assert_true(box->head == NULL || box->head->is_busy == 0);
    }
    assert_true(stood >= 20);
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
    const int box_fd = run_with_box();
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

/// Keeps what the only tank is now. @return its step
static uint64_t keep(uint8_t *bytes, size_t bytes_max, size_t *byte_count)
{
    assert_int_equal(tarn_tank_save(only_tank()->tank, bytes, bytes_max, byte_count), TARN_OK);
    return only_tank()->step;
}

/// The worker doesn't have the tank, and is to go on from a box. Turns until it does, or has refused.
static void load_filled(int fd, uint8_t resumes)
{
    const tarn_place *place = &worker->places.of[0];
    say((tarn_ipc_message){.kind = TARN_IPC_UNLOAD, .tank = 1});
    for (int i = 0; i < TURNS_MAX && place->tank.id != 0; i++) {
        turn();
    }
    worker->refused = (tarn_ipc_refused){0};
    worker->link.fds[worker->link.fd_count++] = dup(fd);
    say((tarn_ipc_message){.kind = TARN_IPC_LOAD,
                           .tank = 1,
                           .load = {.epoch = NEXT_EPOCH, .scene = "small-pool", .box = 1, .resumes = resumes}});
    for (int i = 0; i < TURNS_MAX && (place->load_asked || place->job.in_progress); i++) {
        turn();
    }
}

static void expect_fresh_start(void)
{
    assert_int_equal(only_tank()->epoch, NEXT_EPOCH);
    assert_int_equal(only_tank()->step, 0);
    assert_non_null(strstr(only_tank()->notice, "is of no use"));
    assert_int_equal(worker->refused.code, 0);
    run_until_step(3);
}

/// Of a tank that a server kept, where what it kept is no state of this tank, or another build's.
static void test_a_kept_state_that_doesnt_load_means_a_fresh_start(void **state)
{
    (void)state;
    static const uint8_t noise[100] = {1, 2, 3};
    static uint8_t kept[1 << 22];
    size_t byte_count;
    const int box_fd = run_with_box();
    const uint64_t step = keep(kept, sizeof kept, &byte_count);
    const int noise_fd = filled_box(noise, sizeof noise, step), other_fd = filled_box(kept, byte_count, step);
    const uint64_t other_bytes_max = only_tank()->snapshot.box.state_bytes_max - 1;
    const off_t at = offsetof(tarn_black_box_head, state_bytes_max);
    assert_int_equal(pwrite(other_fd, &other_bytes_max, sizeof other_bytes_max, at), sizeof other_bytes_max);
    load_filled(noise_fd, TARN_IPC_RESUMES_BOX);
    expect_fresh_start();
    load_filled(other_fd, TARN_IPC_RESUMES_BOX);
    expect_fresh_start();
    replace_worker(other_fd); // which is the tank's own since
    assert_int_equal(only_tank()->epoch, NEXT_EPOCH);
    assert_true(only_tank()->step >= 3);
    close(noise_fd);
    close(other_fd);
    close(box_fd);
}

static void expect_gone(const char *says)
{
    for (int i = 0; i < TURNS_MAX && worker->refused.code == 0; i++) {
        turn();
    }
    assert_int_equal(worker->refused.code, TARN_ERROR_SESSION);
    assert_non_null(strstr(worker->refused.text, says));
    assert_int_equal(worker->places.of[0].tank.id, 0);
}

/// What can be tried again is: nothing is lost for want of memory, nor what a tank was before it was to go back.
static void test_a_kept_state_stays_for_another_try(void **state)
{
    (void)state;
    static const uint8_t noise[100] = {1, 2, 3};
    static uint8_t kept[1 << 22];
    size_t byte_count;
    const int box_fd = run_with_box();
    const uint64_t step = keep(kept, sizeof kept, &byte_count);
    const int kept_fd = filled_box(kept, byte_count, step), noise_fd = filled_box(noise, sizeof noise, step);
    lacks_memory_for_states = true;
    load_filled(kept_fd, TARN_IPC_RESUMES_BOX);
    lacks_memory_for_states = false;
    expect_gone(tarn_status_text(TARN_E_MEMORY));
    load_filled(noise_fd, TARN_IPC_GOES_BACK);
    expect_gone("can't go on");
    load_filled(kept_fd, TARN_IPC_RESUMES_BOX);
    assert_int_equal(only_tank()->step, step);
    assert_int_equal(only_tank()->epoch, NEXT_EPOCH);
    assert_string_equal(only_tank()->notice, "");
    close(noise_fd);
    close(kept_fd);
    close(box_fd);
}

/// Steps in which nobody does anything, as a log has them. @return a descriptor of so many bytes
static int piece_of(uint32_t steps, uint32_t *byte_count)
{
    static uint8_t bytes[TARN_STEP_INPUT_BYTES_MAX];
    static const tarn_step_input nothing;
    const int fd = tarn_black_box_make();
    const tarn_black_box_record_head head = {(uint32_t)tarn_step_input_write(&nothing, bytes, sizeof bytes), 0};
    *byte_count = 0;
    for (uint32_t i = 0; i < steps; i++) {
        assert_int_equal(pwrite(fd, &head, sizeof head, *byte_count), sizeof head);
        assert_int_equal(pwrite(fd, bytes, head.input_bytes, *byte_count + (off_t)sizeof head), head.input_bytes);
        *byte_count = (uint32_t)tarn_black_box_record_end(*byte_count, &head);
    }
    assert_int_equal(ftruncate(fd, *byte_count), 0);
    return fd;
}

/// What is played back waits for no report, neither when it is asked for nor when it comes.
static void test_a_piece_that_is_played_back_is_taken_at_once(void **state)
{
    enum { PIECE_STEPS = 10, PIECES = 3 };
    (void)state;
    static uint8_t kept[1 << 22];
    size_t byte_count;
    const int box_fd = run_with_box();
    const uint64_t step = keep(kept, sizeof kept, &byte_count);
    const int fd = filled_box(kept, byte_count, step);
    assert_int_equal(tarn_box_set_replay(fd, step + PIECES * PIECE_STEPS), TARN_OK);
    go_back(fd);
    const tarn_replay_feed *feed = &only_tank()->replay.feed;
    for (uint32_t piece = 0; piece < PIECES; piece++) {
        tarn_ipc_message message = {.kind = TARN_IPC_REPLAY, .tank = 1, .replay = {.box = 1}};
        only_tank()->report_due_ns = UINT64_MAX;
        for (int i = 0; i < TURNS_MAX && worker->wanted.from != step + piece * PIECE_STEPS; i++) {
            turn();
        }
        assert_int_equal(worker->wanted.from, step + piece * PIECE_STEPS);
        assert_int_equal(worker->wanted.epoch, NEXT_EPOCH);
        const uint64_t from = feed->from;
        message.replay.at = worker->wanted;
        worker->link.fds[worker->link.fd_count++] = piece_of(PIECE_STEPS, &message.replay.byte_count);
        say(message);
        if (piece == 0) {
            turn();
            assert_true(feed->ready > 0);
        }
        for (int i = 0; i < TURNS_MAX && feed->from == from; i++) {
            turn();
        }
        assert_int_equal(feed->from, from + PIECE_STEPS);
    }
    for (int i = 0; i < TURNS_MAX && feed->until > 0; i++) {
        turn();
    }
    assert_int_equal(feed->until, 0);
    assert_int_equal(only_tank()->step, step + PIECES * PIECE_STEPS);
    close(box_fd);
}

/// Nor does the end of its patience.
static void test_a_tank_stands_no_longer_than_it_should_for_a_piece(void **state)
{
    (void)state;
    static uint8_t kept[1 << 22];
    size_t byte_count;
    const int box_fd = run_with_box();
    const uint64_t step = keep(kept, sizeof kept, &byte_count);
    const int fd = filled_box(kept, byte_count, step);
    assert_int_equal(tarn_box_set_replay(fd, step + 10), TARN_OK);
    go_back(fd);
    for (int i = 0; i < TURNS_MAX && worker->wanted.from != step; i++) {
        turn();
    }
    only_tank()->report_due_ns = UINT64_MAX;
    const uint64_t live_ns = only_tank()->replay.asked_ns + TARN_WORKER_REPLAY_MS_MAX * (uint64_t)1000000;
    assert_int_equal(tarn_worker_tank_tell_ns(only_tank()), live_ns);
    tarn_places_tell(&worker->places, live_ns);
    assert_int_equal(only_tank()->replay.feed.until, 0);
    close(box_fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_another_worker_goes_on_at_the_very_step, begin, end),
        cmocka_unit_test_setup_teardown(test_whose_work_stands_is_not_to_blame, begin, end),
        cmocka_unit_test_setup_teardown(test_presses_of_those_who_left_are_let_go, begin, end),
        cmocka_unit_test_setup_teardown(test_another_worker_knows_of_a_reset, begin, end),
        cmocka_unit_test_setup_teardown(test_a_tank_goes_back_or_stays, begin, end),
        cmocka_unit_test_setup_teardown(test_who_goes_back_does_nothing_twice, begin, end),
        cmocka_unit_test_setup_teardown(test_a_press_amid_a_way_back_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_held_outlives_a_move, begin, end),
        cmocka_unit_test_setup_teardown(test_a_damaged_state_means_a_fresh_start, begin, end),
        cmocka_unit_test_setup_teardown(test_a_kept_state_that_doesnt_load_means_a_fresh_start, begin, end),
        cmocka_unit_test_setup_teardown(test_a_kept_state_stays_for_another_try, begin, end),
        cmocka_unit_test_setup_teardown(test_a_piece_that_is_played_back_is_taken_at_once, begin, end),
        cmocka_unit_test_setup_teardown(test_a_tank_stands_no_longer_than_it_should_for_a_piece, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
