// The socketpair's messages: what is written is read back; nothing that is cut off, too long or not finite is believed.
#include "protocol/frame.h"
#include "server/base/ipc.h"
#include "tests/server/test_cmocka.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES_MAX = 40 };

static const uint8_t input_bytes[5] = {1, 2, 3, 4, 5};
static const uint8_t reading_bytes[TARN_READINGS_BYTES_MAX] = {0, 0, 128, 63};
static const uint8_t chunk_bytes[TARN_IPC_CHUNK_BYTES_MAX] = {9, 8, 7};

static tarn_ipc_message sample_of(tarn_ipc_kind kind)
{
    tarn_ipc_message message;
    memset(&message, 0, sizeof message);
    message.kind = kind;
    message.tank = 0x1234;
    return message;
}

static tarn_ipc_message sample_hello(void)
{
    tarn_ipc_message message = sample_of(TARN_IPC_WORKER_HELLO);
    message.worker_hello.version = 7;
    strcpy(message.worker_hello.program, "worker 1");
    strcpy(message.worker_hello.device, "CPU");
    message.worker_hello.tanks_max = TARN_IPC_TANKS_MAX;
    message.worker_hello.scenes.count = 2;
    strcpy(message.worker_hello.scenes.names[0], "a");
    memset(message.worker_hello.scenes.names[1], 'b', TARN_NAME_BYTES_MAX);
    return message;
}

static tarn_ipc_message sample_state(void)
{
    tarn_ipc_message message = sample_of(TARN_IPC_STATE);
    tarn_session_state *session = &message.state.session;
    message.state.epoch = 9;
    strcpy(session->scene, "pool");
    session->paused = 1;
    session->size_m[2] = 2.5f;
    session->cell_m = 0.5f;
    session->dt_s = 0.01f;
    session->parameter_count = TARN_PARAMETERS_MAX;
    for (int i = 0; i < TARN_PARAMETERS_MAX; i++) {
        snprintf(session->parameters[i].name, sizeof session->parameters[i].name, "parameter_%d", i);
        session->parameters[i].max = (float)i;
        snprintf(session->parameters[i].label, sizeof session->parameters[i].label, "Parameter %d", i);
        strcpy(session->parameters[i].unit, "m/s²");
        session->parameters[i].whole = i % 2 == 0;
        session->parameters[i].magnitudes = i % 3 == 0;
        strcpy(session->parameters[i].note, "acts as 0.33");
    }
    strcpy(session->model, "liquid");
    session->tools = TARN_TOOL_BIT(PUSH) | TARN_TOOL_BIT(ERASE);
    session->channel_count = TARN_CHANNELS_MAX;
    for (int i = 0; i < TARN_CHANNELS_MAX; i++) {
        snprintf(session->channels[i].name, sizeof session->channels[i].name, "channel_%d", i);
        snprintf(session->channels[i].label, sizeof session->channels[i].label, "Channel %d", i);
        strcpy(session->channels[i].unit, "m");
    }
    session->field_count = 1;
    strcpy(session->fields[0].name, "cells");
    strcpy(session->fields[0].kinds, "air,liquid");
    session->remark_count = TARN_REMARKS_MAX;
    for (uint32_t i = 0; i < TARN_REMARKS_MAX; i++) {
        memset(session->remarks[i], 'a' + (int)i, TARN_REMARK_BYTES_MAX);
    }
    session->added_count = TARN_ADDED_MAX;
    for (uint32_t i = 0; i < TARN_ADDED_MAX; i++) {
        session->added[i] = (tarn_added_info){.number = 64 + i,
                                              .shape = (tarn_added_shape)(i % TARN_ADDED_SHAPE_COUNT),
                                              .like = i % 64,
                                              .half_m = {1, 2, (float)i},
                                              .position_m = {-1, 0, (float)i},
                                              .rotation = {0, 0, 0, 1},
                                              .colour = i << 8};
    }
    return message;
}

static void fill_probes(tarn_ipc_probes *probes)
{
    *probes = (tarn_ipc_probes){.revision = 5, .count = TARN_LIVE_PROBES_MAX};
    for (uint32_t i = 0; i < TARN_LIVE_PROBES_MAX; i++) {
        probes->probes[i] = (tarn_ipc_probe){
            .id = i + 1, .shows = i % TARN_SHOWS_COUNT, .at_m = {1, 2, (float)i}, .to_m = {(float)i, 4, 5}};
        snprintf(probes->probes[i].label, sizeof probes->probes[i].label, "probe %u", i);
    }
}

static tarn_ipc_message sample_probed(void)
{
    tarn_ipc_message message = sample_of(TARN_IPC_PROBED);
    message.probed.revision = 9;
    message.probed.count = TARN_LIVE_PROBES_MAX;
    for (uint32_t i = 0; i < TARN_LIVE_PROBES_MAX; i++) {
        message.probed.of[i].column_count = i % (TARN_PROBE_VALUES_MAX + 1);
        for (uint32_t k = 0; k < message.probed.of[i].column_count; k++) {
            memset(message.probed.of[i].columns[k], 'c', TARN_NAME_BYTES_MAX);
        }
        memset(message.probed.of[i].why, 'w', TARN_IPC_PROBE_WHY_BYTES - 1);
    }
    return message;
}

/// One message of every kind but frames, with every field set. @return how many
static int all_samples(tarn_ipc_message *samples)
{
    int n = 0;
    samples[n] = sample_of(TARN_IPC_GATEWAY_HELLO);
    samples[n].gateway_hello.version = 3;
    strcpy(samples[n++].gateway_hello.program, "tarnd 9");
    samples[n] = sample_of(TARN_IPC_LOAD);
    samples[n].load = (tarn_ipc_load){.epoch = 5, .viewer_id = 6, .sequence = 7, .paused = 1, .resumes = 1, .box = 1};
    memset(samples[n++].load.scene, 's', TARN_IPC_SCENE_BYTES_MAX);
    samples[n] = sample_of(TARN_IPC_RESET);
    samples[n++].reset = (tarn_ipc_reset){1, 2, 3};
    samples[n] = sample_of(TARN_IPC_CONTROL);
    samples[n++].control = (tarn_ipc_control){1, 2, TARN_CONTROL_STEP, 0};
    samples[n] = sample_of(TARN_IPC_CONTROL);
    samples[n++].control = (tarn_ipc_control){1, 2, TARN_CONTROL_SPEED, 0.25f};
    samples[n] = sample_of(TARN_IPC_AUDIENCE);
    samples[n].audience.viewer_count = 44;
    samples[n].audience.readings = 1;
    strcpy(samples[n].audience.field, "cells");
    strcpy(samples[n++].audience.channel, "pressure");
    samples[n] = sample_of(TARN_IPC_INPUT);
    samples[n++].input = (tarn_ipc_input){8, sizeof input_bytes, input_bytes};
    samples[n] = sample_of(TARN_IPC_VIEWER_GONE);
    samples[n++].viewer_gone = (tarn_ipc_viewer_gone){12, 34};
    samples[n] = sample_of(TARN_IPC_PRESENT);
    samples[n++].present = (tarn_ipc_present){2, {12, 13}};
    samples[n] = sample_of(TARN_IPC_PING);
    samples[n++].ping.id = 77;
    samples[n] = sample_of(TARN_IPC_PONG);
    samples[n++].ping.id = 78;
    samples[n++] = sample_of(TARN_IPC_SHUTDOWN);
    samples[n++] = sample_of(TARN_IPC_KEY_WANTED);
    samples[n++] = sample_of(TARN_IPC_UNLOAD);
    samples[n++] = sample_of(TARN_IPC_GO_ON);
    samples[n] = sample_of(TARN_IPC_RESTORE);
    samples[n].restore.save = 3;
    samples[n].restore.box = 1;
    memset(samples[n++].restore.scene, 's', TARN_IPC_SCENE_BYTES_MAX);
    samples[n] = sample_of(TARN_IPC_SAVE);
    samples[n++].save.save = 4;
    samples[n] = sample_of(TARN_IPC_MADE);
    samples[n++].save.save = 5;
    samples[n] = sample_of(TARN_IPC_STATE_WANTED);
    samples[n++].state_wanted.until = 1ull << 33;
    samples[n] = sample_of(TARN_IPC_STATE_HEAD);
    samples[n++].state_head =
        (tarn_ipc_state_head){6, 7, 1ull << 40, 8, TARN_IPC_STATE_BYTES_MAX, TARN_IPC_PRESSES_BYTES_MAX, 1ull << 41};
    samples[n] = sample_of(TARN_IPC_REPLAY);
    samples[n++].replay = (tarn_ipc_replay){{7, 1ull << 40, 3}, TARN_IPC_REPLAY_BYTES_MAX, 1, 1};
    samples[n] = sample_of(TARN_IPC_SCENE_WANTED);
    samples[n++].scene_wanted = (tarn_ipc_scene_wanted){7, 1};
    samples[n] = sample_of(TARN_IPC_SCENE_TOLD);
    samples[n].scene_told = (tarn_ipc_scene_told){7, TARN_IPC_SCENE_LACKS_ROOM, TARN_IPC_SCENE_TOLD_BYTES_MAX, ""};
    memset(samples[n++].scene_told.why, 'w', TARN_TEXT_BYTES_MAX);
    samples[n] = sample_of(TARN_IPC_REPLAY_WANTED);
    samples[n++].replay_wanted = (tarn_ipc_replay_wanted){7, 1ull << 40, 3};
    samples[n] = sample_of(TARN_IPC_STATE_CHUNK);
    samples[n++].state_chunk = (tarn_ipc_state_chunk){1ull << 30, TARN_IPC_CHUNK_BYTES_MAX, chunk_bytes};
    samples[n++] = sample_hello();
    samples[n++] = sample_state();
    samples[n] = sample_of(TARN_IPC_REFUSED);
    samples[n].refused.viewer_id = 4;
    samples[n].refused.code = 7;
    strcpy(samples[n++].refused.text, "no");
    samples[n] = sample_of(TARN_IPC_REPORT);
    samples[n++].report =
        (tarn_ipc_report){1ull << 40, 2.5, 0.5f, 0.25f, 0.125f, 100000, 1ull << 33, 3, 1ull << 34, 0.0625f};
    samples[n] = sample_of(TARN_IPC_STAMPS);
    samples[n++].stamps = (tarn_ipc_stamps){1ull << 50, (1ull << 50) + 1, (1ull << 50) + 2};
    samples[n] = sample_of(TARN_IPC_SCENES);
    samples[n].scenes.count = 2;
    strcpy(samples[n].scenes.names[0], "a");
    strcpy(samples[n++].scenes.names[1], "b");
    samples[n] = sample_of(TARN_IPC_PROBES);
    fill_probes(&samples[n++].probes);
    samples[n] = sample_of(TARN_IPC_SCENE_PROBES);
    strcpy(samples[n].scene_probes.scene, "pool");
    fill_probes(&samples[n++].scene_probes.of);
    samples[n++] = sample_probed();
    samples[n] = sample_of(TARN_IPC_READINGS);
    samples[n++].readings = (tarn_ipc_readings){1, 2, 1ull << 40, 0.5f, 4, TARN_READINGS_BYTES_MAX, reading_bytes};
    samples[n] = sample_of(TARN_IPC_SCENE_FAULTS);
    samples[n].scene_faults.count = TARN_SCENES_MAX;
    memset(samples[n].scene_faults.newest, 'c', TARN_NAME_BYTES_MAX);
    memset(samples[n++].scene_faults.why, 'w', TARN_TEXT_BYTES_MAX);
    samples[n] = sample_of(TARN_IPC_FAULT);
    memset(samples[n++].fault.text, 'x', TARN_TEXT_BYTES_MAX);
    return n;
}

static void test_every_kind_comes_back_as_it_was(void **state)
{
    (void)state;
    static tarn_ipc_message samples[SAMPLES_MAX];
    static uint8_t bytes[65536], again[65536];
    int count = all_samples(samples);
    for (int i = 0; i < count; i++) {
        tarn_ipc_message read;
        size_t n, m;
        assert_int_equal(tarn_ipc_write(&samples[i], bytes, sizeof bytes, &n), TARN_OK);
        assert_int_equal(tarn_ipc_read(samples[i].kind, samples[i].tank, bytes + TARN_IPC_HEADER_BYTES,
                                       n - TARN_IPC_HEADER_BYTES, &read),
                         TARN_OK);
        assert_int_equal(tarn_ipc_write(&read, again, sizeof again, &m), TARN_OK);
        assert_int_equal(n, m);
        assert_memory_equal(bytes, again, n);
        if (samples[i].kind == TARN_IPC_INPUT) {
            assert_memory_equal(read.input.bytes, input_bytes, sizeof input_bytes);
        } else if (samples[i].kind == TARN_IPC_STATE_CHUNK) {
            assert_int_equal(n, TARN_IPC_CHUNK_MESSAGE_BYTES_MAX);
            assert_memory_equal(read.state_chunk.bytes, chunk_bytes, sizeof chunk_bytes);
        } else if (samples[i].kind == TARN_IPC_READINGS) {
            assert_memory_equal(read.readings.values, reading_bytes, sizeof reading_bytes);
        } else {
            assert_memory_equal(&read, &samples[i], sizeof read);
        }
    }
}

static void test_every_truncation_is_refused(void **state)
{
    (void)state;
    static tarn_ipc_message samples[SAMPLES_MAX];
    static uint8_t bytes[65536];
    int count = all_samples(samples);
    for (int i = 0; i < count; i++) {
        size_t n;
        tarn_ipc_message read;
        assert_int_equal(tarn_ipc_write(&samples[i], bytes, sizeof bytes, &n), TARN_OK);
        for (size_t cut = 0; cut + TARN_IPC_HEADER_BYTES < n; cut++) {
            // A copy of exactly that size lets the sanitizer see a read behind its end.
            uint8_t *exact = malloc(cut + 1);
            memcpy(exact, bytes + TARN_IPC_HEADER_BYTES, cut);
            assert_int_equal(tarn_ipc_read(samples[i].kind, 1, exact, cut, &read), TARN_E_TRUNCATED);
            free(exact);
        }
        for (size_t room = 0; room < n; room++) {
            assert_int_equal(tarn_ipc_write(&samples[i], bytes, room, &n), TARN_E_SPACE);
        }
    }
}

static void test_bytes_behind_the_end_are_refused(void **state)
{
    (void)state;
    uint8_t payload[8] = {0};
    tarn_ipc_message read;
    assert_int_equal(tarn_ipc_read(TARN_IPC_PING, 0, payload, 4, &read), TARN_OK);
    assert_int_equal(tarn_ipc_read(TARN_IPC_PING, 0, payload, 5, &read), TARN_E_MALFORMED);
}

static void test_unknown_kinds_are_refused(void **state)
{
    (void)state;
    tarn_ipc_message read;
    assert_int_equal(tarn_ipc_read(0, 0, NULL, 0, &read), TARN_E_UNKNOWN_KIND);
    assert_int_equal(tarn_ipc_read(77, 0, NULL, 0, &read), TARN_E_UNKNOWN_KIND);
    assert_int_equal(tarn_ipc_read(TARN_IPC_FRAME, 0, NULL, 0, &read), TARN_E_UNKNOWN_KIND);
}

static void test_numbers_that_are_not_finite_are_refused(void **state)
{
    (void)state;
    uint8_t bytes[256];
    size_t n;
    tarn_ipc_message message = sample_of(TARN_IPC_REPORT), read;
    message.report.sim_time_s = NAN;
    assert_int_equal(tarn_ipc_write(&message, bytes, sizeof bytes, &n), TARN_E_ARGUMENT);
    message.report.sim_time_s = 1;
    assert_int_equal(tarn_ipc_write(&message, bytes, sizeof bytes, &n), TARN_OK);
    memset(bytes + TARN_IPC_HEADER_BYTES + 8, 0xff, 8);
    assert_int_equal(tarn_ipc_read(TARN_IPC_REPORT, 0, bytes + TARN_IPC_HEADER_BYTES, n - TARN_IPC_HEADER_BYTES, &read),
                     TARN_E_MALFORMED);
}

static void test_numbers_that_no_viewer_can_be_told_are_refused(void **state)
{
    (void)state;
    uint8_t bytes[256];
    size_t n;
    const tarn_ipc_message sample = sample_of(TARN_IPC_REPORT);
    tarn_ipc_message message = sample;
    message.report.step = message.report.encoder_bytes = message.report.unconverged = TARN_FRAME_INTEGER_MAX;
    message.report.particle_count = TARN_FRAME_PARTICLES_MAX;
    assert_int_equal(tarn_ipc_write(&message, bytes, sizeof bytes, &n), TARN_OK);
    message.report.unconverged++;
    assert_int_equal(tarn_ipc_write(&message, bytes, sizeof bytes, &n), TARN_E_ARGUMENT);
    message = sample;
    message.report.step = UINT64_MAX;
    assert_int_equal(tarn_ipc_write(&message, bytes, sizeof bytes, &n), TARN_E_ARGUMENT);
    message = sample;
    message.report.encoder_bytes = UINT64_MAX;
    assert_int_equal(tarn_ipc_write(&message, bytes, sizeof bytes, &n), TARN_E_ARGUMENT);
    message = sample;
    message.report.particle_count = UINT32_MAX;
    assert_int_equal(tarn_ipc_write(&message, bytes, sizeof bytes, &n), TARN_E_ARGUMENT);
}

static void test_counts_and_texts_beyond_their_limit_are_refused(void **state)
{
    (void)state;
    uint8_t bytes[4096];
    size_t n;
    tarn_ipc_message message = sample_of(TARN_IPC_INPUT), read;
    message.input = (tarn_ipc_input){1, TARN_IPC_INPUT_BYTES_MAX + 1, bytes};
    assert_int_equal(tarn_ipc_write(&message, bytes, sizeof bytes, &n), TARN_E_ARGUMENT);
    // A text that claims 64 bytes where 63 are allowed, and has them.
    memset(bytes, 'a', sizeof bytes);
    memcpy(bytes, (uint8_t[]){1, 0, 0, 0, 64, 0}, 6);
    assert_int_equal(tarn_ipc_read(TARN_IPC_GATEWAY_HELLO, 0, bytes, 6 + 64, &read), TARN_E_MALFORMED);
    // A NUL inside a text.
    memcpy(bytes, (uint8_t[]){1, 0, 0, 0, 2, 0, 'a', 0}, 8);
    assert_int_equal(tarn_ipc_read(TARN_IPC_GATEWAY_HELLO, 0, bytes, 8, &read), TARN_E_MALFORMED);
    // A state of nothing, and one that no tank has.
    message = sample_of(TARN_IPC_STATE_HEAD);
    assert_int_equal(tarn_ipc_write(&message, bytes, sizeof bytes, &n), TARN_E_ARGUMENT);
    message.state_head.state_bytes = TARN_IPC_STATE_BYTES_MAX + 1ull;
    assert_int_equal(tarn_ipc_write(&message, bytes, sizeof bytes, &n), TARN_E_ARGUMENT);
    message.state_head.state_bytes = 1;
    message.state_head.presses_bytes = TARN_IPC_PRESSES_BYTES_MAX + 1;
    assert_int_equal(tarn_ipc_write(&message, bytes, sizeof bytes, &n), TARN_E_ARGUMENT);
    message = sample_of(TARN_IPC_REPLAY);
    message.replay.byte_count = TARN_IPC_REPLAY_BYTES_MAX + 1;
    assert_int_equal(tarn_ipc_write(&message, bytes, sizeof bytes, &n), TARN_E_ARGUMENT);
    // Readings that are no whole rows, too many, or no numbers.
    static float values[TARN_READINGS_BYTES_MAX / 4 + 1];
    message = sample_of(TARN_IPC_READINGS);
    message.readings = (tarn_ipc_readings){.row_count = 2, .byte_count = 12, .values = (const uint8_t *)values};
    assert_int_equal(tarn_ipc_write(&message, bytes, sizeof bytes, &n), TARN_E_ARGUMENT);
    message.readings.byte_count = 16;
    assert_int_equal(tarn_ipc_write(&message, bytes, sizeof bytes, &n), TARN_OK);
    values[3] = INFINITY;
    assert_int_equal(tarn_ipc_write(&message, bytes, sizeof bytes, &n), TARN_E_ARGUMENT);
    message.readings.row_count = 1;
    message.readings.byte_count = sizeof values;
    assert_int_equal(tarn_ipc_write(&message, bytes, sizeof bytes, &n), TARN_E_ARGUMENT);
    // An action that the worker does not know.
    memset(bytes, 0, 13);
    for (int action = 0; action <= TARN_CONTROL_COUNT; action++) {
        const bool is_known =
            action == TARN_CONTROL_PAUSE || action == TARN_CONTROL_RESUME || action == TARN_CONTROL_STEP;
        bytes[8] = (uint8_t)action;
        assert_int_equal(tarn_ipc_read(TARN_IPC_CONTROL, 0, bytes, 13, &read), is_known ? TARN_OK : TARN_E_MALFORMED);
    }
    // A speed out of range, and one that belongs to another action.
    message = (tarn_ipc_message){.kind = TARN_IPC_CONTROL, .control = {1, 2, TARN_CONTROL_SPEED, 0.04f}};
    assert_int_equal(tarn_ipc_write(&message, bytes, sizeof bytes, &n), TARN_E_ARGUMENT);
    message.control.speed = TARN_SPEED_MIN;
    assert_int_equal(tarn_ipc_write(&message, bytes, sizeof bytes, &n), TARN_OK);
    message.control.action = TARN_CONTROL_PAUSE;
    assert_int_equal(tarn_ipc_write(&message, bytes, sizeof bytes, &n), TARN_E_ARGUMENT);
}

typedef struct collected {
    int messages, frames;
    uint32_t last_ping, frame_bytes;
    uint8_t *space;
    size_t space_bytes;
} collected;

static tarn_status collect_message(void *user, const tarn_ipc_message *message)
{
    collected *all = user;
    all->messages++;
    all->last_ping = message->ping.id;
    return TARN_OK;
}

static uint8_t *collect_space(void *user, uint32_t tank, uint32_t frame_bytes)
{
    collected *all = user;
    assert_int_equal(tank, 5);
    return frame_bytes <= all->space_bytes ? all->space : NULL;
}

static tarn_status collect_frame(void *user, uint32_t tank, uint32_t frame_bytes)
{
    collected *all = user;
    assert_int_equal(tank, 5);
    all->frames++;
    all->frame_bytes = frame_bytes;
    return TARN_OK;
}

static void feed(tarn_ipc_reader *reader, const uint8_t *bytes, size_t count, size_t piece)
{
    while (count > 0) {
        size_t room;
        uint8_t *space = tarn_ipc_reader_space(reader, &room);
        size_t now = count < piece ? count : piece;
        assert_true(room > 0);
        if (now > room) {
            now = room;
        }
        memcpy(space, bytes, now);
        assert_int_equal(tarn_ipc_reader_commit(reader, now), TARN_OK);
        bytes += now;
        count -= now;
    }
}

/// ping 1, a frame of `frame_bytes`, ping 2
static size_t make_stream(uint8_t *stream, size_t stream_bytes, uint32_t frame_bytes)
{
    tarn_ipc_message ping = {.kind = TARN_IPC_PING, .ping.id = 1};
    size_t n, used = 0;
    assert_int_equal(tarn_ipc_write(&ping, stream, stream_bytes, &n), TARN_OK);
    used += n;
    tarn_ipc_frame_header(5, frame_bytes, stream + used);
    used += TARN_IPC_HEADER_BYTES;
    for (uint32_t i = 0; i < frame_bytes; i++) {
        stream[used++] = (uint8_t)(i * 31);
    }
    ping.ping.id = 2;
    assert_int_equal(tarn_ipc_write(&ping, stream + used, stream_bytes - used, &n), TARN_OK);
    return used + n;
}

static void test_a_stream_reads_the_same_in_pieces_of_any_size(void **state)
{
    (void)state;
    static uint8_t stream[300000], space[250000];
    static tarn_ipc_reader reader;
    static const uint32_t frame_sizes[] = {1, 1000, TARN_IPC_STAGING_BYTES, 250000};
    static const size_t pieces[] = {1, 7, 4096, 300000};
    for (int f = 0; f < 4; f++) {
        for (int p = 0; p < 4; p++) {
            collected all = {.space = space, .space_bytes = sizeof space};
            tarn_ipc_sink sink = {&all, collect_message, collect_space, collect_frame};
            size_t count = make_stream(stream, sizeof stream, frame_sizes[f]);
            tarn_ipc_reader_init(&reader, &sink);
            feed(&reader, stream, count, pieces[p]);
            assert_int_equal(all.messages, 2);
            assert_int_equal(all.last_ping, 2);
            assert_int_equal(all.frames, 1);
            assert_int_equal(all.frame_bytes, frame_sizes[f]);
            for (uint32_t i = 0; i < frame_sizes[f]; i++) {
                assert_int_equal(space[i], (uint8_t)(i * 31));
            }
        }
    }
}

static tarn_status commit_header(uint32_t magic, uint32_t kind, uint32_t bytes, bool takes_frames)
{
    static tarn_ipc_reader reader;
    static uint8_t space[16];
    collected all = {.space = space, .space_bytes = sizeof space};
    tarn_ipc_sink sink = {&all, collect_message, takes_frames ? collect_space : NULL, collect_frame};
    uint32_t words[4] = {magic, kind, 5, bytes};
    size_t room;
    tarn_ipc_reader_init(&reader, &sink);
    memcpy(tarn_ipc_reader_space(&reader, &room), words, sizeof words);
    return tarn_ipc_reader_commit(&reader, sizeof words);
}

static void test_headers_that_lie_end_the_stream(void **state)
{
    (void)state;
    assert_int_equal(commit_header(1, TARN_IPC_PING, 4, true), TARN_E_MALFORMED);
    assert_int_equal(commit_header(TARN_IPC_MAGIC, TARN_IPC_PING, TARN_IPC_PAYLOAD_BYTES_MAX + 1, true), TARN_E_LIMIT);
    assert_int_equal(commit_header(TARN_IPC_MAGIC, TARN_IPC_PING, 0, true), TARN_E_TRUNCATED);
    assert_int_equal(commit_header(TARN_IPC_MAGIC, TARN_IPC_FRAME, TARN_IPC_FRAME_BYTES_MAX + 1, true), TARN_E_LIMIT);
    assert_int_equal(commit_header(TARN_IPC_MAGIC, TARN_IPC_FRAME, 0, true), TARN_E_LIMIT);
    assert_int_equal(commit_header(TARN_IPC_MAGIC, TARN_IPC_FRAME, 17, true), TARN_E_LIMIT);
    assert_int_equal(commit_header(TARN_IPC_MAGIC, TARN_IPC_FRAME, 8, false), TARN_E_LIMIT);
    assert_int_equal(commit_header(TARN_IPC_MAGIC, TARN_IPC_FRAME, 8, true), TARN_OK);
}

static void test_random_bytes_never_harm_the_reader(void **state)
{
    (void)state;
    static tarn_ipc_message samples[SAMPLES_MAX];
    static uint8_t bytes[65536];
    int count = all_samples(samples);
    srand(20);
    for (int round = 0; round < 20000; round++) {
        size_t n;
        tarn_ipc_message read;
        const tarn_ipc_message *sample = &samples[rand() % count];
        assert_int_equal(tarn_ipc_write(sample, bytes, sizeof bytes, &n), TARN_OK);
        for (int k = 0; k < 3; k++) {
            bytes[TARN_IPC_HEADER_BYTES + (size_t)rand() % (n - TARN_IPC_HEADER_BYTES + 1)] = (uint8_t)rand();
        }
        tarn_status status =
            tarn_ipc_read((uint32_t)sample->kind, 1, bytes + TARN_IPC_HEADER_BYTES, n - TARN_IPC_HEADER_BYTES, &read);
        assert_true(status == TARN_OK || status == TARN_E_TRUNCATED || status == TARN_E_MALFORMED);
    }
}

static uint8_t *take_space(void *user, uint32_t tank, uint32_t frame_bytes)
{
    assert_int_equal(tank, 7);
    assert_int_equal(frame_bytes, 100);
    return user;
}

static tarn_status take_frame(void *user, uint32_t tank, uint32_t frame_bytes)
{
    (void)user;
    (void)tank;
    (void)frame_bytes;
    return TARN_OK;
}

static void test_the_rest_of_a_frame_can_go_elsewhere(void **state)
{
    (void)state;
    static tarn_ipc_reader reader;
    uint8_t bytes[TARN_IPC_HEADER_BYTES + 100], first[100] = {0}, other[100] = {0};
    const tarn_ipc_sink sink = {.user = first, .frame_space = take_space, .frame = take_frame};
    memset(bytes, 9, sizeof bytes);
    tarn_ipc_frame_header(7, 100, bytes);
    tarn_ipc_reader_init(&reader, &sink);
    for (size_t at = 0; at < sizeof bytes; at++) {
        size_t room;
        *tarn_ipc_reader_space(&reader, &room) = bytes[at];
        assert_int_equal(tarn_ipc_reader_commit(&reader, 1), TARN_OK);
        if (at == TARN_IPC_HEADER_BYTES + 39) {
            tarn_ipc_reader_divert(&reader, 8, NULL); // no frame of that tank is on its way
            tarn_ipc_reader_divert(&reader, 7, other);
        }
    }
    for (int i = 0; i < 100; i++) {
        assert_int_equal(first[i], i < 40 ? 9 : 0);
        assert_int_equal(other[i], i < 40 ? 0 : 9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_comes_back_as_it_was),
        cmocka_unit_test(test_every_truncation_is_refused),
        cmocka_unit_test(test_bytes_behind_the_end_are_refused),
        cmocka_unit_test(test_unknown_kinds_are_refused),
        cmocka_unit_test(test_numbers_that_are_not_finite_are_refused),
        cmocka_unit_test(test_numbers_that_no_viewer_can_be_told_are_refused),
        cmocka_unit_test(test_counts_and_texts_beyond_their_limit_are_refused),
        cmocka_unit_test(test_a_stream_reads_the_same_in_pieces_of_any_size),
        cmocka_unit_test(test_headers_that_lie_end_the_stream),
        cmocka_unit_test(test_random_bytes_never_harm_the_reader),
        cmocka_unit_test(test_the_rest_of_a_frame_can_go_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
