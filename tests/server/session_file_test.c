// What a store reads out of a box and puts into a file, and what is left of both when bits or writes are lost.
#include "server/log/black_box.h"
#include "server/log/session_file.h"
#include "server/log/session_history.h"
#include "server/scene/archive.h"
#include "tests/server/lossy_disk.h"
#include "tests/server/test_cmocka.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum { STATE_BYTES_MAX = 20000, FLIPS = 1000, CUTS = 60 };

static const char scene[] = "some-scene";

/// A tank whose state says of which step it is, and whose inputs say which step they lead to.
typedef struct toy_tank {
    int fd;
    tarn_black_box box;
    uint64_t step;
    uint32_t epoch; // grows when it is made anew
    uint32_t made_in;
    unsigned seed;
} toy_tank;

/// The scene of an epoch: every third tank is made from another JSON, all with the same mesh.
static tarn_scene_pack pack_of(uint32_t epoch)
{
    static uint8_t mesh[3000];
    char text[40];
    unsigned seed = 1;
    tarn_scene_pack pack = {0};
    for (size_t i = 0; i < sizeof mesh; i++) {
        mesh[i] = (uint8_t)rand_r(&seed);
    }
    snprintf(text, sizeof text, "{\"scene\": %u}", epoch / 3);
    assert_int_equal(tarn_scene_pack_add(&pack, "some-scene.json", text, strlen(text)), TARN_OK);
    assert_int_equal(tarn_scene_pack_add(&pack, "below/a.obj", mesh, sizeof mesh), TARN_OK);
    return pack;
}

/// The state of a step, which says of which.
static void write_state(uint8_t *bytes, uint32_t epoch, uint64_t step, size_t byte_count)
{
    unsigned seed = (unsigned)(step * 31 + epoch);
    for (size_t i = 0; i < byte_count; i++) {
        bytes[i] = (uint8_t)(rand_r(&seed) >> 8);
    }
    memcpy(bytes, &epoch, sizeof epoch);
    memcpy(bytes + sizeof epoch, &step, sizeof step);
}

static size_t bytes_of_state(uint64_t step)
{
    return STATE_BYTES_MAX / 2 + step % 100;
}

static void toy_keep(toy_tank *tank, bool is_anew)
{
    const size_t byte_count = bytes_of_state(tank->step);
    write_state(tarn_black_box_space(&tank->box), tank->made_in, tank->step, byte_count);
    tarn_black_box_keep(&tank->box, byte_count, tank->step, is_anew);
}

static void toy_begin(toy_tank *tank)
{
    tank->epoch++;
    tank->step = 0;
    tarn_scene_pack pack = pack_of(tank->epoch);
    tarn_black_box_begin(&tank->box, scene);
    tarn_black_box_put_scene(&tank->box, tank->fd, &pack);
    tarn_scene_pack_free(&pack);
    tank->made_in = tank->epoch;
    tarn_black_box_set_epoch(&tank->box, tank->epoch);
    toy_keep(tank, true);
}

static void toy_step(toy_tank *tank)
{
    tarn_step_input input = {.parameter_count = 1};
    tank->step++;
    input.parameters[0].id = 3;
    input.parameters[0].value = (float)tank->step;
    tarn_black_box_log(&tank->box, &input, (const uint8_t *)&tank->epoch, sizeof tank->epoch);
    if (tank->step % 20 == 0) {
        toy_keep(tank, false);
    }
}

static void toy_open(toy_tank *tank, unsigned seed)
{
    memset(tank, 0, sizeof *tank);
    tank->fd = tarn_black_box_make();
    tank->seed = seed;
    tank->epoch = 10;
    assert_true(tank->fd > 0);
    assert_int_equal(tarn_black_box_open(&tank->box, tank->fd, STATE_BYTES_MAX), TARN_OK);
    toy_begin(tank);
}

static void toy_close(toy_tank *tank)
{
    tarn_black_box_close(&tank->box);
    close(tank->fd);
}

/// Some steps; now and then it is set back or made anew.
static void toy_live(toy_tank *tank)
{
    for (int steps = rand_r(&tank->seed) % 30; steps > 0; steps--) {
        toy_step(tank);
    }
    if (rand_r(&tank->seed) % 12 == 0) {
        toy_begin(tank);
    } else if (rand_r(&tank->seed) % 12 == 0) {
        uint64_t state_bytes;
        (void)tarn_black_box_state(&tank->box, &state_bytes, &tank->step);
        tank->epoch++;
        tarn_black_box_back(&tank->box);
        tarn_black_box_set_epoch(&tank->box, tank->epoch);
    }
}

/// Checks a state and the log from it: each step follows from the one before. @return the step that they lead to
static uint64_t check_rest(const tarn_session_rest *rest, uint32_t *epoch)
{
    static uint8_t expected[STATE_BYTES_MAX];
    static tarn_step_input input;
    uint64_t step;
    uint32_t state_epoch;
    memcpy(&state_epoch, rest->state.bytes.bytes, sizeof state_epoch);
    memcpy(&step, rest->state.bytes.bytes + sizeof state_epoch, sizeof step);
    assert_int_equal(step, rest->state.step);
    assert_int_equal(rest->state.bytes.count, bytes_of_state(step));
    write_state(expected, state_epoch, step, rest->state.bytes.count);
    assert_memory_equal(rest->state.bytes.bytes, expected, rest->state.bytes.count);
    assert_string_equal(rest->state.scene, scene);
    if (!rest->is_scene_damaged) {
        tarn_scene_pack pack = pack_of(state_epoch);
        assert_int_equal(rest->state.pack.count, pack.byte_count);
        assert_memory_equal(rest->state.pack.bytes, pack.bytes, pack.byte_count);
        tarn_scene_pack_free(&pack);
    }
    assert_int_equal(rest->state.state_bytes_max, STATE_BYTES_MAX);
    // As a worker reads it: out of a box.
    tarn_black_box box = {0};
    tarn_black_box_rest left;
    size_t at = 0;
    const int fd = tarn_black_box_make();
    assert_int_equal(tarn_box_fill(fd, &rest->state, rest->epoch, rest->number, rest->log.bytes, rest->log.count, true),
                     TARN_OK);
    assert_int_equal(tarn_black_box_open(&box, fd, STATE_BYTES_MAX), TARN_OK);
    assert_true(tarn_black_box_find(&box, scene, &left));
    assert_int_equal(left.step, step);
    assert_int_equal(left.epoch, rest->epoch);
    while (tarn_black_box_read(&box, &at, &input) == TARN_OK) {
        step++;
        assert_true(input.parameters[0].value == (float)step);
    }
    *epoch = rest->epoch;
    tarn_black_box_close(&box);
    close(fd);
    return step;
}

static char *path_in(const char *dir, const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static const tarn_session_about about_toy = {
    .name = "toy", .title = "A toy", .begun_as = "some-scene", .salt = {1, 2, 3}, .guests = 1, .is_listed = true};

static int make_dir(void **state)
{
    char *dir = strdup("/tmp/tarn-session-XXXXXX");
    assert_non_null(mkdtemp(dir));
    *state = dir;
    return 0;
}

static int remove_dir(void **state)
{
    static const char *const names[] = {"toy.tank",  "toy.tank-wal",  "toy.tank-shm", "toy.tank-journal",
                                        "copy.tank", "copy.tank-wal", "copy.tank-shm"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        unlink(path_in(*state, names[i]));
    }
    rmdir(*state);
    free(*state);
    return 0;
}

/// Follows a tank for a while. @param until  as the file has it in the end
static void keep_a_while(tarn_session_file *file, toy_tank *tank, int rounds)
{
    tarn_box_follower follower = {.fd = tank->fd};
    tarn_box_news news = {0};
    tarn_text why;
    uint64_t state_bytes;
    for (int i = 0; i < rounds; i++) {
        toy_live(tank);
        const tarn_status status = tarn_box_follow(&follower, rand_r(&tank->seed) % 3 == 0, &news);
        assert_true(status == TARN_OK || status == TARN_E_NOT_FOUND);
        if (status == TARN_OK && tarn_session_file_put(file, &news, &state_bytes, why) != TARN_OK) {
            fail_msg("%s", why);
        }
    }
    tarn_box_news_free(&news);
}

static void test_what_was_kept_leads_to_the_very_step(void **state)
{
    tarn_session_file *file;
    tarn_session_about about;
    tarn_session_rest rest;
    tarn_text why;
    uint32_t epoch;
    for (unsigned seed = 1; seed <= 40; seed++) {
        toy_tank tank;
        toy_open(&tank, seed);
        assert_int_equal(tarn_session_file_open(path_in(*state, "toy.tank"), &file, why), TARN_OK);
        assert_int_equal(tarn_session_file_put_about(file, &about_toy, why), TARN_OK);
        keep_a_while(file, &tank, 1 + (int)seed);
        tarn_session_file_close(file);
        assert_int_equal(tarn_session_file_open(path_in(*state, "toy.tank"), &file, why), TARN_OK);
        assert_int_equal(tarn_session_file_about(file, &about, why), TARN_OK);
        assert_memory_equal(&about, &about_toy, sizeof about);
        assert_int_equal(tarn_session_file_rest(file, &rest, why), TARN_OK);
        assert_int_equal(rest.damaged, 0);
        assert_int_equal(check_rest(&rest, &epoch), tank.step);
        assert_int_equal(epoch, tank.epoch);
        tarn_session_rest_free(&rest);
        tarn_session_file_close(file);
        toy_close(&tank);
        unlink(path_in(*state, "toy.tank"));
    }
}

/// As the format has them: all first bytes of words, each told from the one before, then all second ones, and so on.
static void sort_simply(const uint8_t *plain, size_t byte_count, uint8_t *sorted)
{
    const size_t words = byte_count / 4;
    memcpy(sorted + 4 * words, plain + 4 * words, byte_count % 4);
    for (size_t i = 0; i < 4 * words; i++) {
        const size_t word = i % words, k = i / words;
        sorted[i] = plain[4 * word + k] ^ (word > 0 ? plain[4 * (word - 1) + k] : 0);
    }
}

/// Of any size, also where a word is in both of its parts.
static void test_a_state_is_packed_in_the_order_of_its_significance(void **state)
{
    (void)state;
    enum { PIECE = 1 << 16, ROOM = 3 * 4 * PIECE, HEAD_MAX = 6 };
    static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 100, 4 * PIECE - 2, 4 * PIECE, 4 * PIECE + 1, 9 * PIECE + 3};
    uint8_t *plain = malloc(ROOM), *sorted = malloc(ROOM), *unpacked = malloc(ROOM);
    ZSTD_CCtx *compressor = ZSTD_createCCtx();
    tarn_box_bytes packed = {0}, back = {0};
    unsigned seed = 7;
    assert_true(plain != NULL && sorted != NULL && unpacked != NULL && compressor != NULL);
    for (size_t i = 0; i < ROOM; i++) {
        plain[i] = (uint8_t)(rand_r(&seed) >> 4);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (size_t head_bytes = 0; head_bytes <= HEAD_MAX; head_bytes++) {
            const size_t byte_count = head_bytes + sizes[i];
            const tarn_box_bytes behind = {sizes[i] > 0 ? plain + head_bytes : NULL, sizes[i], sizes[i]};
            assert_int_equal(tarn_session_pack_sorted(compressor, plain, head_bytes, &behind, &packed), TARN_OK);
            sort_simply(plain, byte_count, sorted);
            const size_t got = ZSTD_decompress(unpacked, ROOM, packed.bytes + TARN_SESSION_SORTED_BYTES,
                                               packed.count - TARN_SESSION_SORTED_BYTES);
            assert_int_equal(got, byte_count);
            assert_memory_equal(unpacked, sorted, byte_count);
            assert_int_equal(tarn_session_unpack(packed.bytes, packed.count, &back), TARN_OK);
            assert_int_equal(back.count, byte_count);
            assert_memory_equal(back.bytes, plain, byte_count);
            // What is cut off, or lies behind it, is damage.
            assert_int_equal(tarn_session_unpack(packed.bytes, packed.count - 1, &back), TARN_E_MALFORMED);
            assert_int_equal(tarn_box_bytes_make_room(&packed, packed.count + 1), TARN_OK);
            packed.bytes[packed.count] = 0;
            assert_int_equal(tarn_session_unpack(packed.bytes, packed.count + 1, &back), TARN_E_MALFORMED);
        }
    }
    tarn_box_bytes_free(&packed);
    tarn_box_bytes_free(&back);
    ZSTD_freeCCtx(compressor);
    free(plain);
    free(sorted);
    free(unpacked);
}

static void test_the_file_stays_small(void **state)
{
    tarn_session_file *file;
    tarn_text why;
    toy_tank tank;
    struct stat found;
    toy_open(&tank, 3);
    assert_int_equal(tarn_session_file_open(path_in(*state, "toy.tank"), &file, why), TARN_OK);
    keep_a_while(file, &tank, 2000);
    tarn_session_file_close(file);
    assert_int_equal(stat(path_in(*state, "toy.tank"), &found), 0);
    assert_true(found.st_size < 40 * STATE_BYTES_MAX);
    toy_close(&tank);
}

static int64_t pages_of(const char *path);

/// What isn't kept any more goes a part at a time, and what it took goes back to the disk.
static void test_a_file_shrinks_when_less_is_kept(void **state)
{
    enum { STATES = 60, STATE_BYTES = 200000, PART_PAGES = 512 };
    tarn_session_file *file;
    tarn_session_rest rest;
    tarn_text why = "";
    uint64_t state_bytes;
    const char *path = path_in(*state, "toy.tank");
    tarn_box_news news = {.is_anew = true, .has_state = true, .state = {.state_bytes_max = STATE_BYTES}};
    snprintf(news.state.scene, sizeof news.state.scene, "%s", scene);
    assert_int_equal(tarn_box_bytes_make_room(&news.state.bytes, STATE_BYTES), TARN_OK);
    news.state.bytes.count = STATE_BYTES;
    assert_int_equal(tarn_session_file_open(path, &file, why), TARN_OK);
    tarn_session_file_keep_from(file, 1);
    for (uint64_t step = 1; step <= STATES; step++) {
        write_state(news.state.bytes.bytes, 1, step, STATE_BYTES);
        news.state.step = step;
        news.at_ns += 1000000;
        assert_int_equal(tarn_session_file_put(file, &news, &state_bytes, why), TARN_OK);
        news.is_anew = false;
    }
    int64_t pages = pages_of(path);
    assert_true(pages > (int64_t)STATES * STATE_BYTES / 4096);
    tarn_session_file_keep_from(file, STATES);
    bool is_done = false;
    int parts = 0;
    for (; !is_done && parts < 100; parts++) {
        const int64_t before = pages;
        assert_int_equal(tarn_session_file_trim(file, &is_done, why), TARN_OK);
        pages = pages_of(path);
        assert_in_range(before - pages, 0, PART_PAGES + 2); // with those that say what the others are
    }
    assert_in_range(parts, 8, 99);
    assert_in_range(pages, 0, 800); // four states, a quarter, and a little
    news.state.step++;
    write_state(news.state.bytes.bytes, 1, news.state.step, STATE_BYTES);
    assert_int_equal(tarn_session_file_put(file, &news, &state_bytes, why), TARN_OK);
    assert_int_equal(tarn_session_file_rest(file, &rest, why), TARN_OK);
    assert_int_equal(rest.state.step, STATES + 1);
    assert_memory_equal(rest.state.bytes.bytes, news.state.bytes.bytes, STATE_BYTES);
    tarn_session_rest_free(&rest);
    tarn_session_file_close(file);
    struct stat found;
    assert_int_equal(stat(path, &found), 0);
    assert_true(found.st_size < 800 * 4096);
    tarn_box_news_free(&news);
}

static uint8_t *read_all(const char *path, size_t *byte_count)
{
    struct stat found;
    const int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && fstat(fd, &found) == 0);
    uint8_t *bytes = malloc((size_t)found.st_size);
    assert_int_equal(read(fd, bytes, (size_t)found.st_size), found.st_size);
    close(fd);
    *byte_count = (size_t)found.st_size;
    return bytes;
}

static void write_all(const char *path, const uint8_t *bytes, size_t byte_count)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, bytes, byte_count), (ssize_t)byte_count);
    close(fd);
}

/// Walks through all rows of a file that may be damaged. @return how many are
static uint32_t walk(tarn_session_file *file)
{
    tarn_text why;
    tarn_session_row row = {0};
    uint32_t damaged = 0;
    tarn_status status;
    while ((status = tarn_session_file_next_state(file, &row, why)) == TARN_OK) {
        damaged += !row.is_whole;
        assert_true(!row.is_whole || (row.content_bytes > 0 && row.content_bytes <= row.head.state_bytes_max));
    }
    damaged += status != TARN_E_NOT_FOUND;
    row = (tarn_session_row){0};
    while ((status = tarn_session_file_next_batch(file, &row, why)) == TARN_OK) {
        damaged += !row.is_whole;
        assert_true(!row.is_whole || tarn_box_log_whole(row.content, row.content_bytes) == row.content_bytes);
    }
    return damaged + (status != TARN_E_NOT_FOUND);
}

/// Reads a file that may be damaged without writing it. @return the step that it leads to; -1: nothing can be read
static long long only_read(const char *path, uint32_t *damaged, uint32_t *epoch)
{
    tarn_session_file *file;
    tarn_session_rest rest;
    tarn_text why;
    long long step = -1;
    *damaged = 0;
    if (tarn_session_file_open_to_read(path, &file, why) != TARN_OK) {
        return -1;
    }
    *damaged = walk(file);
    if (tarn_session_file_rest(file, &rest, why) == TARN_OK) {
        step = (long long)check_rest(&rest, epoch);
        tarn_session_rest_free(&rest);
    }
    tarn_session_file_close(file);
    return step;
}

/// Reads a file that may be damaged. @return the step that it leads to; -1: nothing can be read
static long long read_damaged(const char *path, uint32_t *damaged, uint32_t *epoch)
{
    tarn_session_file *file;
    tarn_session_about about;
    tarn_session_rest rest;
    tarn_text why;
    long long step = -1;
    *damaged = 0;
    if (tarn_session_file_open(path, &file, why) != TARN_OK) {
        return -1;
    }
    if (tarn_session_file_about(file, &about, why) == TARN_OK) {
        assert_memory_equal(&about, &about_toy, sizeof about); // else it isn't believed
    }
    if (tarn_session_file_rest(file, &rest, why) == TARN_OK) {
        step = (long long)check_rest(&rest, epoch);
        *damaged = rest.damaged + rest.is_scene_damaged;
        tarn_session_rest_free(&rest);
    }
    tarn_session_file_close(file);
    return step;
}

static void test_a_bit_that_flips_is_noticed(void **state)
{
    tarn_session_file *file;
    tarn_text why;
    toy_tank tank;
    size_t byte_count;
    uint32_t damaged, epoch = 0, older = 0, lost = 0;
    unsigned seed = 5;
    toy_open(&tank, 11);
    assert_int_equal(tarn_session_file_open(path_in(*state, "toy.tank"), &file, why), TARN_OK);
    assert_int_equal(tarn_session_file_put_about(file, &about_toy, why), TARN_OK);
    keep_a_while(file, &tank, 150);
    tarn_session_file_close(file);
    uint8_t *bytes = read_all(path_in(*state, "toy.tank"), &byte_count);
    for (int i = 0; i < FLIPS; i++) {
        const size_t at = ((size_t)rand_r(&seed) << 16 ^ (size_t)rand_r(&seed)) % byte_count;
        const uint8_t bit = (uint8_t)(1 << rand_r(&seed) % 8);
        bytes[at] ^= bit;
        write_all(path_in(*state, "copy.tank"), bytes, byte_count);
        bytes[at] ^= bit;
        const long long read = only_read(path_in(*state, "copy.tank"), &damaged, &epoch);
        assert_int_equal(access(path_in(*state, "copy.tank-wal"), F_OK), -1);
        const long long step = read_damaged(path_in(*state, "copy.tank"), &damaged, &epoch);
        assert_int_equal(read, step);
        older += step >= 0 && ((uint64_t)step != tank.step || epoch != tank.epoch);
        lost += step < 0;
        unlink(path_in(*state, "copy.tank-wal"));
        unlink(path_in(*state, "copy.tank-shm"));
    }
    print_message("%d flips: %u times an older step, %u times nothing\n", FLIPS, older, lost);
    assert_true(lost < FLIPS / 10);
    for (size_t cut = 0; cut < 40; cut++) {
        write_all(path_in(*state, "copy.tank"), bytes, byte_count * cut / 40);
        (void)read_damaged(path_in(*state, "copy.tank"), &damaged, &epoch);
    }
    free(bytes);
    toy_close(&tank);
}

/// The power goes at some write: of what wasn't synced any part may be on the disk.
static void test_a_power_cut_costs_what_was_not_committed(void **state)
{
    uint32_t epoch = 0, damaged;
    for (unsigned seed = 1; seed <= CUTS; seed++) {
        tarn_session_file *file;
        tarn_text why;
        toy_tank tank;
        uint64_t committed = 0, state_bytes;
        uint32_t committed_epoch = 0;
        bool has_about = false;
        lossy_disk_begin(seed, 20 + seed * 7);
        toy_open(&tank, seed);
        tarn_box_follower follower = {.fd = tank.fd};
        tarn_box_news news = {0};
        if (tarn_session_file_open(path_in(*state, "toy.tank"), &file, why) == TARN_OK) {
            has_about = tarn_session_file_put_about(file, &about_toy, why) == TARN_OK;
            for (int i = 0; i < 300 && !lossy_disk_is_cut(); i++) {
                toy_live(&tank);
                if (tarn_box_follow(&follower, i % 7 == 0, &news) == TARN_OK &&
                    tarn_session_file_put(file, &news, &state_bytes, why) == TARN_OK) {
                    committed = tank.step;
                    committed_epoch = tank.epoch;
                }
            }
            tarn_session_file_close(file);
        }
        assert_true(lossy_disk_is_cut());
        lossy_disk_end();
        const long long step = read_damaged(path_in(*state, "toy.tank"), &damaged, &epoch);
        assert_int_equal(damaged, 0);
        if (committed_epoch != 0) {
            assert_true(has_about && step >= 0);
            // The transaction amid which it went may be whole.
            assert_true(epoch > committed_epoch || (epoch == committed_epoch && (uint64_t)step >= committed));
        }
        tarn_box_news_free(&news);
        toy_close(&tank);
        unlink(path_in(*state, "toy.tank"));
        unlink(path_in(*state, "toy.tank-wal"));
        unlink(path_in(*state, "toy.tank-shm"));
    }
}

static void test_a_reader_sees_one_moment_while_a_writer_goes_on(void **state)
{
    tarn_session_file *file, *reader;
    tarn_session_rest rest;
    tarn_text why;
    uint32_t damaged, epoch;
    for (unsigned seed = 1; seed <= 20; seed++) {
        toy_tank tank;
        toy_open(&tank, seed);
        assert_int_equal(tarn_session_file_open(path_in(*state, "toy.tank"), &file, why), TARN_OK);
        assert_int_equal(tarn_session_file_put_about(file, &about_toy, why), TARN_OK);
        keep_a_while(file, &tank, 1 + (int)seed);
        const uint64_t step = tank.step;
        const uint32_t of_epoch = tank.epoch;
        assert_int_equal(tarn_session_file_open_to_read(path_in(*state, "toy.tank"), &reader, why), TARN_OK);
        keep_a_while(file, &tank, 10);
        assert_int_equal(walk(reader), 0);
        assert_int_equal(tarn_session_file_rest(reader, &rest, why), TARN_OK);
        assert_int_equal(check_rest(&rest, &epoch), step);
        assert_int_equal(epoch, of_epoch);
        tarn_session_rest_free(&rest);
        assert_int_not_equal(tarn_session_file_put_about(reader, &about_toy, why), TARN_OK); // it only reads
        tarn_session_file_close(reader);
        tarn_session_file_close(file);
        // As it is when nobody has it: nothing is made beside it.
        assert_int_equal(access(path_in(*state, "toy.tank-wal"), F_OK), -1);
        assert_int_equal(only_read(path_in(*state, "toy.tank"), &damaged, &epoch), tank.step);
        assert_int_equal(damaged, 0);
        assert_int_equal(access(path_in(*state, "toy.tank-wal"), F_OK), -1);
        assert_int_equal(access(path_in(*state, "toy.tank-shm"), F_OK), -1);
        toy_close(&tank);
        unlink(path_in(*state, "toy.tank"));
    }
    assert_int_equal(tarn_session_file_open_to_read(path_in(*state, "toy.tank"), &file, why), TARN_E_IO);
    assert_int_equal(access(path_in(*state, "toy.tank"), F_OK), -1);
    // Letters that a URI means something by.
    assert_int_equal(tarn_session_file_open(path_in(*state, "a?b#c%41 d.tank"), &file, why), TARN_OK);
    assert_int_equal(tarn_session_file_put_about(file, &about_toy, why), TARN_OK);
    tarn_session_file_close(file);
    assert_int_equal(tarn_session_file_open_to_read(path_in(*state, "a?b#c%41 d.tank"), &file, why), TARN_OK);
    tarn_session_file_close(file);
    assert_int_equal(unlink(path_in(*state, "a?b#c%41 d.tank")), 0);
}

static int64_t ask(const char *path, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *row;
    int64_t number = -1;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    const char *rest = sql;
    while (*rest != 0) {
        assert_int_equal(sqlite3_prepare_v2(db, rest, -1, &row, &rest), SQLITE_OK);
        number = sqlite3_step(row) == SQLITE_ROW ? sqlite3_column_int64(row, 0) : number;
        sqlite3_finalize(row);
    }
    sqlite3_close(db);
    return number;
}

static int64_t pages_of(const char *path)
{
    return ask(path, "PRAGMA page_count");
}

/// Each content is in the file once, and goes with the last state that was made from it.
static void test_a_scene_is_kept_once(void **state)
{
    tarn_session_file *file;
    tarn_text why;
    toy_tank tank;
    uint32_t damaged, epoch;
    toy_open(&tank, 5);
    assert_int_equal(tarn_session_file_open(path_in(*state, "toy.tank"), &file, why), TARN_OK);
    assert_int_equal(tarn_session_file_put_about(file, &about_toy, why), TARN_OK);
    keep_a_while(file, &tank, 600);
    tarn_session_file_close(file);
    assert_true(tank.epoch > 60);
    const char *path = path_in(*state, "toy.tank");
    const int64_t scenes = ask(path, "SELECT count(*) FROM scenes");
    assert_true(scenes >= 1 && scenes <= TARN_SESSION_FILE_STATES);
    assert_int_equal(ask(path, "SELECT count(*) FROM files"), scenes + 1); // the mesh
    assert_int_equal(ask(path, "SELECT count(*) FROM files WHERE length(frame) > 2900"), 1);
    // Damage of the mesh alone: the tank is there, its scene isn't.
    assert_int_equal(read_damaged(path, &damaged, &epoch), tank.step);
    assert_int_equal(damaged, 0);
    (void)ask(path, "UPDATE files SET frame = (SELECT frame FROM about) WHERE length(frame) > 2900");
    assert_int_equal(read_damaged(path_in(*state, "toy.tank"), &damaged, &epoch), tank.step);
    assert_int_equal(damaged, 1);
    toy_close(&tank);
}

/// A file of the version before, which had no scenes: it is read as it is, and becomes one of this version.
static void test_an_older_file_goes_on(void **state)
{
    tarn_session_file *file;
    tarn_session_rest rest;
    tarn_text why;
    toy_tank tank;
    toy_open(&tank, 9);
    assert_int_equal(tarn_session_file_open(path_in(*state, "toy.tank"), &file, why), TARN_OK);
    assert_int_equal(tarn_session_file_put_about(file, &about_toy, why), TARN_OK);
    keep_a_while(file, &tank, 40);
    tarn_session_file_close(file);
    (void)ask(path_in(*state, "toy.tank"),
              "DROP TABLE scenes; DROP TABLE files; DROP TABLE aside; DROP TABLE moments; DROP TABLE marks; "
              "PRAGMA user_version = 1");
    assert_int_equal(tarn_session_file_open_to_read(path_in(*state, "toy.tank"), &file, why), TARN_OK);
    assert_int_equal(tarn_session_file_rest(file, &rest, why), TARN_OK);
    assert_int_equal(rest.state.pack.count, 0);
    tarn_session_rest_free(&rest);
    tarn_session_file_close(file);
    assert_int_equal(ask(path_in(*state, "toy.tank"), "PRAGMA user_version"), 1);
    for (int round = 0; round < 2; round++) {
        uint32_t epoch;
        assert_int_equal(tarn_session_file_open(path_in(*state, "toy.tank"), &file, why), TARN_OK);
        assert_int_equal(tarn_session_file_rest(file, &rest, why), TARN_OK);
        if (round == 0) {
            assert_int_equal(rest.state.pack.count, 0);
            tarn_session_rest_free(&rest);
            keep_a_while(file, &tank, 40);
        } else {
            assert_int_equal(check_rest(&rest, &epoch), tank.step);
            tarn_session_rest_free(&rest);
        }
        tarn_session_file_close(file);
        assert_int_equal(ask(path_in(*state, "toy.tank"), "PRAGMA user_version"), 2);
    }
    // One of a version to come stays as it is.
    (void)ask(path_in(*state, "toy.tank"), "PRAGMA user_version = 3");
    assert_int_equal(tarn_session_file_open(path_in(*state, "toy.tank"), &file, why), TARN_E_VERSION);
    assert_non_null(strstr(why, "found version 3"));
    toy_close(&tank);
}

static void test_a_past_of_impossible_sizes_is_looked_at(void **state)
{
    static tarn_session_span span;
    tarn_session_file *file;
    tarn_text why;
    toy_tank tank;
    toy_open(&tank, 9);
    assert_int_equal(tarn_session_file_open(path_in(*state, "toy.tank"), &file, why), TARN_OK);
    keep_a_while(file, &tank, 40);
    tarn_session_file_close(file);
    (void)ask(path_in(*state, "toy.tank"), "DELETE FROM moments; INSERT INTO moments VALUES(1, 0, 1, "
                                           "9223372036854775807), (2, 1, 1, 9223372036854775807)");
    assert_int_equal(tarn_session_file_open(path_in(*state, "toy.tank"), &file, why), TARN_OK);
    assert_int_equal(tarn_session_history_span(file, &span, why), TARN_OK);
    assert_int_equal(span.state_count, 2);
    tarn_session_file_close(file);
    toy_close(&tank);
}

static void test_moments_of_states_that_are_not_there_date_nothing(void **state)
{
    static tarn_session_span before, span;
    tarn_session_file *file;
    tarn_text why;
    toy_tank tank;
    toy_open(&tank, 9);
    assert_int_equal(tarn_session_file_open(path_in(*state, "toy.tank"), &file, why), TARN_OK);
    keep_a_while(file, &tank, 40);
    assert_int_equal(tarn_session_history_span(file, &before, why), TARN_OK);
    tarn_session_file_close(file);
    (void)ask(path_in(*state, "toy.tank"), "INSERT INTO moments VALUES(999999, 5, 16666668, 100)");
    assert_int_equal(tarn_session_file_open(path_in(*state, "toy.tank"), &file, why), TARN_OK);
    assert_int_equal(tarn_session_history_span(file, &span, why), TARN_OK);
    assert_true(before.until_ns > 1000 && span.until_ns == before.until_ns);
    tarn_session_file_close(file);
    toy_close(&tank);
}

static void test_what_is_no_sessions_file_is_named(void **state)
{
    tarn_session_file *file;
    tarn_text why;
    write_all(path_in(*state, "toy.tank"), (const uint8_t *)"no database at all, but long enough to be one of them",
              50);
    assert_int_equal(tarn_session_file_open(path_in(*state, "toy.tank"), &file, why), TARN_E_MALFORMED);
    assert_non_null(strstr(why, "toy.tank"));
    unlink(path_in(*state, "toy.tank"));
    assert_int_equal(mkdir(path_in(*state, "toy.tank"), 0700), 0);
    assert_int_equal(tarn_session_file_open(path_in(*state, "toy.tank"), &file, why), TARN_E_IO);
    assert_int_equal(rmdir(path_in(*state, "toy.tank")), 0);
    assert_int_equal(mkfifo(path_in(*state, "toy.tank"), 0600), 0);
    assert_int_equal(tarn_session_file_open(path_in(*state, "toy.tank"), &file, why), TARN_E_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_was_kept_leads_to_the_very_step, make_dir, remove_dir),
        cmocka_unit_test(test_a_state_is_packed_in_the_order_of_its_significance),
        cmocka_unit_test_setup_teardown(test_the_file_stays_small, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_file_shrinks_when_less_is_kept, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_scene_is_kept_once, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_an_older_file_goes_on, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_bit_that_flips_is_noticed, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_past_of_impossible_sizes_is_looked_at, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_moments_of_states_that_are_not_there_date_nothing, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_reader_sees_one_moment_while_a_writer_goes_on, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_power_cut_costs_what_was_not_committed, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_what_is_no_sessions_file_is_named, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
