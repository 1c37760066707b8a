// The gateway's parts that need no loop: the queue to the worker, the metrics.
#include "server/base/limits.h"
#include "server/gateway/metrics.h"
#include "server/gateway/pages/scenes.h"
#include "server/gateway/reach.h"
#include "server/gateway/worker/queue.h"
#include "tests/server/test_cmocka.h"

#include <stdio.h>
#include <string.h>

static tarn_worker_queue queue;

static tarn_status push(uint32_t id, uint32_t viewer, uint16_t index, bool is_move)
{
    tarn_ipc_message message = {.kind = TARN_IPC_PING, .ping.id = id};
    return tarn_worker_queue_push(&queue, &message, (tarn_worker_queue_key){viewer, 1, index}, is_move);
}

/// Takes the first message out. @return its id, or 0 when nothing waits
static uint32_t pop(void)
{
    size_t bytes;
    const uint8_t *head = tarn_worker_queue_head(&queue, &bytes);
    if (head == NULL) {
        return 0;
    }
    uint32_t id;
    memcpy(&id, head + TARN_IPC_HEADER_BYTES, sizeof id);
    tarn_worker_queue_sent(&queue, bytes);
    return id;
}

/// A motion of so many bytes, all of them `mark`.
static tarn_status push_large(uint32_t viewer, uint32_t byte_count, uint8_t mark)
{
    static uint8_t bytes[TARN_IPC_INPUT_BYTES_MAX];
    memset(bytes, mark, byte_count);
    const tarn_ipc_message message = {.kind = TARN_IPC_INPUT, .tank = 1, .input = {viewer, byte_count, bytes}};
    return tarn_worker_queue_push(&queue, &message, (tarn_worker_queue_key){viewer, 6, 0}, true);
}

/// Takes the first message out, in pieces. @return the last byte of it, after all of that were found the same
static uint8_t pop_large(uint32_t byte_count)
{
    size_t bytes;
    uint32_t left = byte_count;
    const uint8_t *head = tarn_worker_queue_head(&queue, &bytes);
    assert_non_null(head);
    const uint8_t mark = head[bytes - 1];
    assert_true(bytes > byte_count);
    tarn_worker_queue_sent(&queue, bytes - byte_count); // the header and what comes before the input's own
    while (left > 0) {
        head = tarn_worker_queue_head(&queue, &bytes);
        assert_int_equal(bytes, left);
        const uint32_t sent = left < 5000 ? left : 5000;
        for (uint32_t i = 0; i < sent; i++) {
            assert_int_equal(head[i], mark);
        }
        tarn_worker_queue_sent(&queue, sent);
        left -= sent;
    }
    return mark;
}

/// Large ones have as many places as there are; beyond that the oldest makes way, and small ones never do for them.
static void test_large_moves_have_places_of_their_own(void **state)
{
    enum { LARGE = TARN_IPC_INPUT_BYTES_MAX, MORE = 3 };
    (void)state;
    tarn_worker_queue_clear(&queue);
    assert_int_equal(push(77, 1, 0, true), TARN_OK);
    for (uint32_t i = 1; i <= TARN_GATEWAY_WORKER_QUEUE_LARGE + MORE; i++) {
        assert_int_equal(push_large(i, LARGE, (uint8_t)i), TARN_OK);
    }
    assert_int_equal(push_large(MORE + 1, LARGE, 200), TARN_OK); // the newest of a source counts, and comes last
    assert_int_equal(push_large(9, 40, 201), TARN_OK);           // and a small one takes a large one's turn
    assert_int_equal(pop(), 77);
    for (uint32_t i = MORE + 2; i <= TARN_GATEWAY_WORKER_QUEUE_LARGE + MORE; i++) {
        if (i != 9) {
            assert_int_equal(pop_large(LARGE), i);
        }
    }
    assert_int_equal(pop_large(LARGE), 200);
    assert_int_equal(pop_large(40), 201);
    assert_int_equal(pop(), 0);
    for (uint32_t round = 0; round < 100; round++) { // places come free again
        assert_int_equal(push_large(1, LARGE, (uint8_t)round), TARN_OK);
        assert_int_equal(pop_large(LARGE), (uint8_t)round);
    }
}

/// Of a large one that was begun the rest follows, whatever comes; and what was held goes on whole.
static void test_a_large_move_that_was_begun_is_finished(void **state)
{
    enum { LARGE = TARN_IPC_INPUT_BYTES_MAX };
    static tarn_worker_queue held;
    size_t bytes;
    (void)state;
    tarn_worker_queue_clear(&queue);
    assert_int_equal(push_large(1, LARGE, 11), TARN_OK);
    assert_non_null(tarn_worker_queue_head(&queue, &bytes));
    tarn_worker_queue_sent(&queue, bytes - LARGE);
    for (uint32_t i = 1; i <= 2 * TARN_GATEWAY_WORKER_QUEUE_LARGE; i++) {
        assert_int_equal(push_large(i, LARGE, (uint8_t)(100 + i)), TARN_OK);
    }
    const uint8_t *head = tarn_worker_queue_head(&queue, &bytes);
    assert_int_equal(bytes, LARGE);
    assert_int_equal(head[LARGE - 1], 11);
    tarn_worker_queue_sent(&queue, LARGE);
    tarn_worker_queue_clear(&held);
    const uint32_t waiting = queue.count;
    assert_int_equal(waiting, TARN_GATEWAY_WORKER_QUEUE_LARGE - 1);
    assert_true(tarn_worker_queue_append(&held, &queue, 0));
    assert_int_equal(queue.count, 0);
    assert_true(tarn_worker_queue_append(&queue, &held, 0));
    for (uint32_t i = 2 * TARN_GATEWAY_WORKER_QUEUE_LARGE - waiting + 1; i <= 2 * TARN_GATEWAY_WORKER_QUEUE_LARGE;
         i++) {
        assert_int_equal(pop_large(LARGE), 100 + i);
    }
}

static void test_messages_leave_in_order(void **state)
{
    (void)state;
    tarn_worker_queue_clear(&queue);
    for (uint32_t i = 1; i <= 2000; i++) {
        assert_int_equal(push(i, 0, 0, false), TARN_OK);
        if (i % 3 == 0) {
            for (uint32_t k = i - 2; k <= i; k++) {
                assert_int_equal(pop(), k);
            }
        }
    }
    assert_int_equal(pop(), 1999);
    assert_int_equal(pop(), 2000);
    assert_int_equal(pop(), 0);
}

static void test_moves_of_one_pointer_coalesce_between_edges(void **state)
{
    (void)state;
    tarn_worker_queue_clear(&queue);
    push(1, 7, 0, false); // down
    push(2, 7, 0, true);
    push(3, 7, 1, true);  // another finger
    push(4, 8, 0, true);  // another viewer
    push(5, 7, 0, true);  // replaces 2
    push(6, 7, 0, false); // up
    push(7, 7, 0, true);  // does not replace 5: an edge lies between
    push(8, 7, 0, true);  // replaces 7
    static const uint32_t expected[] = {1, 3, 4, 5, 6, 8, 0};
    for (int i = 0; i < 7; i++) {
        assert_int_equal(pop(), expected[i]);
    }
}

static void test_a_full_queue_lets_go_of_moves_and_never_of_edges(void **state)
{
    (void)state;
    tarn_worker_queue_clear(&queue);
    for (uint32_t i = 1; i <= TARN_GATEWAY_WORKER_QUEUE_MAX; i++) {
        assert_int_equal(push(i, i <= 2 ? i : 0, i == 3, i <= 3), TARN_OK); // the first are moves, the third our own
    }
    assert_int_equal(push(1001, 0, 0, false), TARN_OK);   // takes the place of 1
    assert_int_equal(push(1002, 1002, 0, true), TARN_OK); // takes the place of 2
    assert_int_equal(push(1003, 0, 0, false), TARN_OK);   // takes the place of 1002
    assert_int_equal(push(1004, 0, 0, false), TARN_E_LIMIT);
    assert_int_equal(push(1005, 1005, 0, true), TARN_OK);   // a move with no place is let go
    assert_int_equal(push(1006, 0, 2, true), TARN_E_LIMIT); // and our own is said to be: it comes once
    for (uint32_t i = 3; i <= TARN_GATEWAY_WORKER_QUEUE_MAX; i++) {
        assert_int_equal(pop(), i);
    }
    assert_int_equal(pop(), 1001);
    assert_int_equal(pop(), 1003);
    assert_int_equal(pop(), 0);
}

static void test_no_message_is_moved_when_another_makes_way(void **state)
{
    enum { TIMES = 3 * TARN_GATEWAY_WORKER_QUEUE_MAX };
    (void)state;
    tarn_worker_queue_clear(&queue);
    assert_int_equal(push(1, 1, 0, false), TARN_OK);
    assert_int_equal(push(2, 2, 0, true), TARN_OK);
    assert_int_equal(push(3, 3, 0, false), TARN_OK);
    const tarn_worker_queue_entry *last = tarn_worker_queue_at(&queue, 2);
    for (uint32_t i = 0; i < TIMES; i++) {
        assert_int_equal(push(4 + i, 2, 0, true), TARN_OK); // replaces the one before
    }
    assert_int_equal(queue.count, 3);
    assert_ptr_equal(tarn_worker_queue_at(&queue, 1), last);
    assert_int_equal(pop(), 1);
    assert_ptr_equal(tarn_worker_queue_first(&queue), last);
    assert_int_equal(pop(), 3);
    assert_int_equal(pop(), 3 + TIMES);
    assert_int_equal(pop(), 0);
}

/// As a simple list would have it.
static void test_order_is_kept_whatever_makes_way(void **state)
{
    static uint32_t list[TARN_GATEWAY_WORKER_QUEUE_MAX], viewers[TARN_GATEWAY_WORKER_QUEUE_MAX];
    uint32_t count = 0, random = 1;
    (void)state;
    tarn_worker_queue_clear(&queue);
    for (uint32_t id = 1; id < 20000; id++) {
        random = random * 1664525u + 1013904223u;
        if (random >> 30 == 0) {
            assert_int_equal(pop(), count > 0 ? list[0] : 0);
            count -= count > 0;
            memmove(list, list + 1, count * sizeof list[0]);
            memmove(viewers, viewers + 1, count * sizeof viewers[0]);
            continue;
        }
        const uint32_t viewer = 1 + (random >> 8) % 700;
        uint32_t gone = count < TARN_GATEWAY_WORKER_QUEUE_MAX ? count : 0; // the oldest
        for (uint32_t i = 0; i < count; i++) {
            gone = viewers[i] == viewer ? i : gone;
        }
        if (gone < count) {
            count--;
            memmove(list + gone, list + gone + 1, (count - gone) * sizeof list[0]);
            memmove(viewers + gone, viewers + gone + 1, (count - gone) * sizeof viewers[0]);
        }
        list[count] = id;
        viewers[count++] = viewer;
        assert_int_equal(push(id, viewer, 0, true), TARN_OK);
        assert_int_equal(queue.count, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(pop(), list[i]);
    }
}

static void test_one_viewer_cannot_take_all_places(void **state)
{
    (void)state;
    tarn_worker_queue_clear(&queue);
    for (uint32_t i = 1; i <= TARN_GATEWAY_WORKER_QUEUE_SHARE; i++) {
        assert_int_equal(push(i, 7, 0, false), TARN_OK);
    }
    assert_int_equal(push(1000, 7, 0, false), TARN_E_LIMIT);
    assert_int_equal(push(1001, 7, 0, true), TARN_OK);
    assert_int_equal(push(1002, 8, 0, false), TARN_OK);
}

static void test_viewers_leave_places_for_the_gateway(void **state)
{
    (void)state;
    uint32_t viewer = 1;
    tarn_worker_queue_clear(&queue);
    while (push(viewer, viewer, 0, false) == TARN_OK) {
        viewer++;
    }
    assert_int_equal(viewer - 1, TARN_GATEWAY_WORKER_QUEUE_MAX - TARN_GATEWAY_WORKER_QUEUE_OWN);
    for (int i = 0; i < TARN_GATEWAY_WORKER_QUEUE_OWN; i++) {
        assert_int_equal(push(1, 0, 0, false), TARN_OK);
    }
    assert_int_equal(push(1, 0, 0, false), TARN_E_LIMIT);
}

static void test_what_was_held_is_taken_over_in_order_and_edges_wait(void **state)
{
    (void)state;
    static tarn_worker_queue held;
    const tarn_ipc_message message = {.kind = TARN_IPC_PING, .ping.id = 900};
    tarn_worker_queue_clear(&queue);
    push(1, 7, 0, false);
    push(2, 7, 0, true);
    push(3, 7, 0, false);
    held = queue;
    tarn_worker_queue_clear(&queue);
    for (int i = 0; i < TARN_GATEWAY_WORKER_QUEUE_MAX - 2; i++) {
        assert_int_equal(tarn_worker_queue_push(&queue, &message, (tarn_worker_queue_key){0}, false), TARN_OK);
    }
    push(901, 8, 0, true);
    // The viewers' places are taken by the gateway's own: an edge and all behind it wait.
    assert_false(tarn_worker_queue_append(&queue, &held, 0));
    assert_int_equal(held.count, 3);
    for (int i = 0; i < TARN_GATEWAY_WORKER_QUEUE_MAX - 2; i++) {
        assert_int_equal(pop(), 900);
    }
    assert_true(tarn_worker_queue_append(&queue, &held, 0));
    assert_int_equal(held.count, 0);
    static const uint32_t expected[] = {901, 1, 2, 3, 0};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(pop(), expected[i]);
    }
}

static void test_a_message_that_was_begun_is_finished(void **state)
{
    (void)state;
    size_t bytes;
    tarn_worker_queue_clear(&queue);
    push(1, 7, 0, true);
    assert_non_null(tarn_worker_queue_head(&queue, &bytes));
    tarn_worker_queue_sent(&queue, 3);
    push(2, 7, 0, true); // may not replace what is half sent
    assert_non_null(tarn_worker_queue_head(&queue, &bytes));
    assert_int_equal(bytes, TARN_IPC_HEADER_BYTES + 4 - 3);
    tarn_worker_queue_sent(&queue, bytes);
    assert_int_equal(pop(), 2);
}

static tarn_worker_sent sent;

/// Pushes a message of what a viewer does, and notes it as sent.
static void send_one(uint32_t tank, uint32_t number, uint32_t byte_count)
{
    uint8_t bytes[1024];
    memset(bytes, (int)number, sizeof bytes);
    const tarn_ipc_message message = {.kind = TARN_IPC_INPUT, .tank = tank, .input = {number, byte_count, bytes}};
    const tarn_worker_queue_key key = {.viewer_id = number, .kind = 1};
    assert_int_equal(tarn_worker_queue_push(&queue, &message, key, false), TARN_OK);
    const tarn_worker_queue_entry *entry = tarn_worker_queue_first(&queue);
    tarn_worker_sent_note(&sent, entry);
    tarn_worker_queue_sent(&queue, entry->byte_count);
}

/// Takes out what is found for a tank. @return the first and the last of their numbers, and how many
static uint32_t take_sent(uint32_t tank, uint32_t *first, uint32_t *last)
{
    static tarn_worker_queue_entry entry;
    uint64_t at = 0;
    uint32_t count = 0;
    for (; tarn_worker_sent_next(&sent, &at, sent.end, tank, &entry); count++) {
        const uint32_t number = entry.key.viewer_id, byte_count = 1 + number * 7 % 1024;
        assert_true(count == 0 || number == *last + 3); // in order, without gaps
        assert_true(entry.tank == tank && entry.kind == TARN_IPC_INPUT && entry.times == 1 && !entry.is_move);
        assert_true(entry.byte_count > byte_count);
        for (uint32_t i = 1; i <= byte_count; i++) {
            assert_int_equal(entry.bytes[entry.byte_count - i], (uint8_t)number);
        }
        *first = count == 0 ? number : *first;
        *last = number;
        tarn_worker_sent_drop(&sent, at);
    }
    return count;
}

/// The newest of what was sent are found, tank by tank, in order and whole, wherever they lie in the ring.
static void test_what_was_sent_lately_is_found_once(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    uint32_t first = 0, last = 0;
    memset(&sent, 0, sizeof sent);
    tarn_worker_queue_clear(&queue);
    for (uint32_t i = 1; i <= COUNT; i++) {
        send_one(1 + i % 3, i, 1 + i * 7 % 1024);
    }
    tarn_worker_sent_forget(&sent, 3);
    for (uint32_t tank = 1; tank <= 2; tank++) {
        const uint32_t count = take_sent(tank, &first, &last);
        assert_int_equal(last, COUNT - (COUNT + 1 - tank) % 3);
        assert_true(count > 250 && first > 1000); // half a megabyte of some 550 bytes each; the oldest gave way
        assert_int_equal(take_sent(tank, &first, &last), 0);
    }
    assert_int_equal(take_sent(3, &first, &last), 0);
    assert_int_equal(take_sent(4, &first, &last), 0);
    send_one(3, COUNT + 2, 1 + (COUNT + 2) * 7 % 1024);
    assert_int_equal(take_sent(3, &first, &last), 1);
    tarn_worker_sent_forget(&sent, 0);
    assert_int_equal(take_sent(3, &first, &last), 0);
}

/// What a worker had that was ended from outside counts as if it had never been sent: it may be sent as often as ever.
static void test_what_was_sent_is_excused_with_its_worker(void **state)
{
    (void)state;
    static tarn_worker_queue_entry entry;
    memset(&sent, 0, sizeof sent);
    tarn_worker_queue_clear(&queue);
    for (uint32_t i = 1; i <= 3; i++) {
        send_one(i, i, 100);
    }
    for (int kills = 0; kills < 5; kills++) {
        tarn_worker_sent_excuse(&sent);
    }
    for (uint32_t tank = 1; tank <= 3; tank++) {
        uint64_t at = 0;
        assert_true(tarn_worker_sent_next(&sent, &at, sent.end, tank, &entry));
        assert_int_equal(entry.times, 0);
        assert_int_equal(entry.key.viewer_id, tank);
    }
}

static void test_metrics_are_whole_lines_however_little_room_there_is(void **state)
{
    (void)state;
    static char text[16384];
    tarn_metrics metrics = {.viewers = 3};
    tarn_latency_note(&metrics.latency, 0.004);
    tarn_latency_note(&metrics.latency, 0.04);
    tarn_latency_note(&metrics.latency, 4);
    static const tarn_metrics_worker workers[] = {{.device = "a \"b\"\\"}};
    static const tarn_metrics_session sessions[] = {{.label = "main", .values[TARN_SESSION_METRIC_PARTICLES] = 7},
                                                    {.label = "unlisted-2", .worker = -1}};
    static const tarn_store_counts kept = {.commits = 5, .failing = 2, .late = 4, .unkept_s = 0.25};
    const tarn_metrics_page page = {&metrics, {0}, workers, 1, sessions, 2, &kept};
    size_t whole = tarn_metrics_write(&page, text, sizeof text);
    assert_non_null(strstr(text, "\ntarn_viewers 3\n"));
    assert_non_null(strstr(text, "\ntarn_store_commits_total 5\n"));
    assert_non_null(strstr(text, "\ntarn_store_failing 2\n"));
    assert_non_null(strstr(text, "\ntarn_store_late_total 4\n"));
    assert_non_null(strstr(text, "\ntarn_store_unkept_seconds 0.25\n"));
    assert_non_null(strstr(text, "_bucket{le=\"0.005\"} 1\n"));
    assert_non_null(strstr(text, "_bucket{le=\"0.05\"} 2\n"));
    assert_non_null(strstr(text, "_bucket{le=\"1\"} 2\n"));
    assert_non_null(strstr(text, "_bucket{le=\"+Inf\"} 3\n"));
    assert_non_null(strstr(text, "\ntarn_worker_info{worker=\"0\",device=\"a \\\"b\\\"\\\\\"} 1\n"));
    assert_non_null(strstr(text, "\ntarn_session_particles{session=\"main\",worker=\"0\"} 7\n"
                                 "tarn_session_particles{session=\"unlisted-2\",worker=\"none\"} 0\n"));
    for (size_t room = 1; room < whole; room += 13) {
        size_t length = tarn_metrics_write(&page, text, room);
        assert_true(length < room);
        assert_int_equal(strlen(text), length);
        assert_true(length == 0 || text[length - 1] == '\n');
    }
}

/// The name of a line's metric: up to its labels, or its value.
static void metric_of(const char *line, char *name, size_t name_bytes)
{
    snprintf(name, name_bytes, "%.*s", (int)strcspn(line, "{ "), line);
}

static void test_samples_of_a_metric_stand_together_and_fit(void **state)
{
    (void)state;
    static char text[TARN_GATEWAY_HTTP_TEXT_BYTES_MAX];
    static const tarn_metrics metrics;
    static tarn_metrics_worker workers[TARN_GATEWAY_WORKERS_MAX];
    static tarn_metrics_session sessions[TARN_GATEWAY_SESSIONS_MAX];
    static tarn_name longest;
    static const tarn_latency latency = {.count = UINT64_MAX, .sum_s = 1e20 / 3, .buckets[0] = UINT64_MAX};
    memset(longest, '"', TARN_NAME_BYTES_MAX);
    for (int i = 0; i < TARN_GATEWAY_WORKERS_MAX; i++) {
        workers[i].device = longest;
    }
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        memcpy(sessions[i].label, longest, sizeof longest);
        sessions[i].worker = TARN_GATEWAY_WORKERS_MAX - 1;
        sessions[i].latency = &latency;
        sessions[i].steps = UINT64_MAX;
        for (int v = 0; v < TARN_SESSION_METRIC_COUNT; v++) {
            sessions[i].values[v] = 1e20 / 3;
        }
    }
    const tarn_metrics_page page = {
        &metrics, {0}, workers, TARN_GATEWAY_WORKERS_MAX, sessions, TARN_GATEWAY_SESSIONS_MAX, NULL};
    const size_t bytes = tarn_metrics_write(&page, text, sizeof text);
    assert_true(bytes < sizeof text - 1000);
    char metric[64] = "", name[64], type[64], again[80];
    int samples = 0;
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL && rest != NULL;) {
        if (sscanf(line, "# HELP %63s", name) == 1) {
            snprintf(again, sizeof again, "# HELP %s ", name);
            assert_null(strstr(rest, again)); // a metric begins once
            snprintf(metric, sizeof metric, "%s", name);
            assert_int_equal(sscanf(strsep(&rest, "\n"), "# TYPE %63s %63s", name, type), 2);
            assert_string_equal(name, metric);
            continue;
        }
        metric_of(line, name, sizeof name);
        const bool is_part = strncmp(name, metric, strlen(metric)) == 0;
        const char *suffix = name + strlen(metric);
        if (!is_part || (suffix[0] != '\0' && strcmp(type, "gauge") == 0)) {
            fail_msg("\"%s\" stands below %s", line, metric);
        }
        samples++;
    }
    assert_true(samples > TARN_GATEWAY_SESSIONS_MAX * TARN_SESSION_METRIC_COUNT);
}

static void test_an_own_scene_has_its_place_in_the_list(void **state)
{
    (void)state;
    static tarn_ipc_scenes scenes;
    static const char *const none[] = {"mine", "/a/b.c/mine", "Mine.json", "/a/.json", "a b.json", "/a.json/x", ""};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        tarn_own_scene_list(none[i], &scenes);
    }
    assert_int_equal(scenes.count, 0);
    static const char *const files[] = {"mine.json", "/a/b.json", "./z.json", "../c.json", "b.json"};
    static const char *const names[] = {"b", "c", "mine", "z"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        tarn_own_scene_list(files[i], &scenes);
    }
    assert_int_equal(scenes.count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(scenes.names[i], names[i]);
    }
    assert_true(tarn_own_scene_is_listed(&scenes, "z") && tarn_own_scene_is_listed(&scenes, "b"));
    assert_false(tarn_own_scene_is_listed(&scenes, "") || tarn_own_scene_is_listed(&scenes, "mine.json"));
    // Of a full list the last one makes room, or is replaced.
    for (uint32_t i = 0; i < TARN_SCENES_MAX; i++) {
        snprintf(scenes.names[i], sizeof scenes.names[i], "m%03u", i);
    }
    scenes.count = TARN_SCENES_MAX;
    tarn_own_scene_list("/a/b.json", &scenes);
    assert_string_equal(scenes.names[0], "b");
    assert_string_equal(scenes.names[1], "m000");
    tarn_own_scene_list("/a/z.json", &scenes);
    assert_int_equal(scenes.count, TARN_SCENES_MAX);
    assert_string_equal(scenes.names[TARN_SCENES_MAX - 1], "z");
    assert_string_equal(tarn_own_scene_find("/a/b.json", "b"), "/a/b.json");
    assert_string_equal(tarn_own_scene_find("/a/b.json", "c"), "c");
    assert_string_equal(tarn_own_scene_find("b", "b"), "b");
}

static void test_an_origin_is_told_once_a_minute(void **state)
{
    (void)state;
    static tarn_refused_origins origins;
    const uint64_t second_ns = 1000000000, begin_ns = 5 * second_ns;
    char name[32];
    assert_true(tarn_refused_origins_tell(&origins, "http://a", begin_ns));
    assert_true(tarn_refused_origins_tell(&origins, "http://ab", begin_ns));
    assert_false(tarn_refused_origins_tell(&origins, "http://a", begin_ns));
    assert_false(tarn_refused_origins_tell(&origins, "http://a", begin_ns + 59 * second_ns));
    assert_true(tarn_refused_origins_tell(&origins, "http://a", begin_ns + 60 * second_ns));
    assert_false(tarn_refused_origins_tell(&origins, "http://a", begin_ns + 61 * second_ns));
    // However many come, so many are told in a minute.
    int told = 0;
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "http://%d", i);
        told += tarn_refused_origins_tell(&origins, name, begin_ns + 70 * second_ns);
    }
    assert_int_equal(told, TARN_REFUSED_ORIGINS_MAX - 1);
    assert_false(tarn_refused_origins_tell(&origins, "http://a", begin_ns + 100 * second_ns));
    assert_true(tarn_refused_origins_tell(&origins, "http://999", begin_ns + 130 * second_ns));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_leave_in_order),
        cmocka_unit_test(test_large_moves_have_places_of_their_own),
        cmocka_unit_test(test_a_large_move_that_was_begun_is_finished),
        cmocka_unit_test(test_moves_of_one_pointer_coalesce_between_edges),
        cmocka_unit_test(test_a_full_queue_lets_go_of_moves_and_never_of_edges),
        cmocka_unit_test(test_no_message_is_moved_when_another_makes_way),
        cmocka_unit_test(test_order_is_kept_whatever_makes_way),
        cmocka_unit_test(test_one_viewer_cannot_take_all_places),
        cmocka_unit_test(test_viewers_leave_places_for_the_gateway),
        cmocka_unit_test(test_a_message_that_was_begun_is_finished),
        cmocka_unit_test(test_what_was_held_is_taken_over_in_order_and_edges_wait),
        cmocka_unit_test(test_what_was_sent_lately_is_found_once),
        cmocka_unit_test(test_what_was_sent_is_excused_with_its_worker),
        cmocka_unit_test(test_an_own_scene_has_its_place_in_the_list),
        cmocka_unit_test(test_an_origin_is_told_once_a_minute),
        cmocka_unit_test(test_metrics_are_whole_lines_however_little_room_there_is),
        cmocka_unit_test(test_samples_of_a_metric_stand_together_and_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
