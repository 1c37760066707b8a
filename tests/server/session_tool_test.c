// What people do with kept sessions' files: `tarn session` and `tarn replay` on files of a real tank, whole and
// damaged.
//
//     tank -> black box -> follower -> main.tank -> the tool, as a process
#include "kernels/step_input.h"
#include "server/log/black_box.h"
#include "server/log/session_file.h"
#include "server/log/session_history.h"
#include "server/log/session_scene.h"
#include "server/scene/archive.h"
#include "server/scene/scene.h"
#include "tests/server/test_cmocka.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>
#include <zstd.h>

enum { FROM_BEGIN = 0, STEPS = 34, STEPS_OF_STATE = 10, STEPS_OF_HASH = 4, SAID_BYTES = 65536, PATH_BYTES = 512 };

static char dir[64];
static char said[SAID_BYTES]; // by the tool, on both of its outputs
static uint8_t *end_state;    // of the tank, when the file was closed
static size_t end_state_bytes;
static char end_hash[40];

static char *in_dir(const char *name)
{
    static char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

/// Runs the tool. @return its exit status
static int tool(const char *arguments)
{
    char command[4 * PATH_BYTES];
    snprintf(command, sizeof command, "cd %s && %s %s 2>&1", dir, TARN_TEST_TOOL, arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t count = 0, got;
    while ((got = fread(said + count, 1, sizeof said - 1 - count, pipe)) > 0) {
        count += got;
    }
    said[count] = 0;
    const int status = pclose(pipe);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void expect(const char *arguments, int status, const char *sentence)
{
    const int got = tool(arguments);
    if (got != status || strstr(said, sentence) == NULL) {
        fail_msg("tarn %s: status %d instead of %d, \"%s\" should be in: %s", arguments, got, status, sentence, said);
    }
}

// --------------------------------------------------------------------------------------------------------- the files

static const tarn_session_about about_main = {
    .name = "main", .title = "A title", .begun_as = "small-dam", .salt = {0x5e, 0xc2}, .guests = 1, .is_kept = true};

typedef struct kept_tank {
    tarn_scene scene;
    tarn_device *device;
    tarn_tank *tank;
    tarn_black_box box;
    int fd;
    tarn_box_follower follower;
    tarn_box_news news;
    tarn_session_file *file;
    uint64_t step, steps_before; ///< since the tank was set back, and before
} kept_tank;

static void keep_state(kept_tank *kept, bool is_anew)
{
    size_t byte_count;
    uint8_t *space = tarn_black_box_space(&kept->box);
    assert_int_equal(tarn_tank_save(kept->tank, space, kept->box.state_bytes_max, &byte_count), TARN_OK);
    tarn_black_box_keep(&kept->box, byte_count, kept->step, is_anew);
}

static void commit(kept_tank *kept)
{
    tarn_text why = "";
    uint64_t state_bytes;
    assert_int_equal(tarn_box_follow(&kept->follower, true, &kept->news), TARN_OK);
    kept->news.at_ns = (kept->steps_before + kept->news.state.step) * TARN_SESSION_DT_NS_GUESS;
    if (tarn_session_file_put(kept->file, &kept->news, &state_bytes, why) != TARN_OK) {
        fail_msg("%s", why);
    }
}

/// A push in each step, and now and then an input that holds, as a worker logs them.
static void make_step(kept_tank *kept)
{
    static tarn_step_input input;
    static const uint8_t presses[3] = {1, 2, 3};
    memset(&input, 0, sizeof input);
    if (kept->step % 7 == 3) {
        input.holds = true;
        tarn_black_box_log(&kept->box, &input, NULL, 0);
        assert_int_equal(tarn_tank_step(kept->tank, &input), TARN_OK);
        input.holds = false;
    }
    input.push_count = 1;
    input.pushes[0] = (tarn_push){.center_m = {0.2f + 0.01f * (float)(kept->step % 20), 0.1f, 0.2f},
                                  .radius_m = 0.2f,
                                  .velocity_m_s = {0.5f, 0, 0},
                                  .strength = 0.5f};
    tarn_black_box_log(&kept->box, &input, presses, sizeof presses);
    assert_int_equal(tarn_tank_step(kept->tank, &input), TARN_OK);
    kept->step++;
    if (kept->step % STEPS_OF_HASH == 0) {
        tarn_tank_hash hash;
        assert_int_equal(tarn_tank_hash_get(kept->tank, &hash), TARN_OK);
        tarn_black_box_log_hash(&kept->box, kept->step, &hash);
    }
}

static bool has_scene; // in the files that are made from now on

static ssize_t read_file(char *text, size_t room)
{
    const int fd = open(TARN_TEST_SCENES "/small-dam.json", O_RDONLY);
    const ssize_t got = read(fd, text, room);
    assert_true(got > 0);
    close(fd);
    return got;
}

static void open_tank(kept_tank *kept)
{
    const tarn_device_desc on = {.kind = TARN_DEVICE_CPU, .threads = 1};
    static char small_dam[4096];
    char why[TARN_SCENE_WHY_BYTES];
    tarn_text sentence;
    tarn_scene_pack pack = {0};
    memset(kept, 0, sizeof *kept);
    assert_int_equal(tarn_scene_read_file(TARN_TEST_SCENES "/small-dam.json", &kept->scene, why, sizeof why), TARN_OK);
    assert_int_equal(tarn_device_create(&on, &kept->device), TARN_OK);
    assert_int_equal(tarn_tank_create(kept->device, &kept->scene.tank, &kept->tank, why, sizeof why), TARN_OK);
    kept->fd = tarn_black_box_make();
    assert_int_equal(tarn_black_box_open(&kept->box, kept->fd, tarn_tank_save_bytes_max(kept->tank)), TARN_OK);
    tarn_black_box_begin(&kept->box, "small-dam");
    if (has_scene) {
        assert_int_equal(
            tarn_scene_pack_add(&pack, "small-dam.json", small_dam, (size_t)read_file(small_dam, sizeof small_dam)),
            TARN_OK);
        tarn_black_box_put_scene(&kept->box, kept->fd, &pack);
        tarn_scene_pack_free(&pack);
    }
    tarn_black_box_set_epoch(&kept->box, 7);
    kept->follower = (tarn_box_follower){.fd = kept->fd};
    assert_int_equal(tarn_session_file_open(in_dir("main.tank"), &kept->file, sentence), TARN_OK);
    assert_int_equal(tarn_session_file_put_about(kept->file, &about_main, sentence), TARN_OK);
    keep_state(kept, true);
    tarn_black_box_log_presses(&kept->box, (const uint8_t *)"held", 4);
    commit(kept);
}

static void close_tank(kept_tank *kept)
{
    tarn_session_file_close(kept->file);
    tarn_box_news_free(&kept->news);
    tarn_black_box_close(&kept->box);
    close(kept->fd);
    tarn_tank_destroy(kept->tank);
    tarn_device_destroy(kept->device);
    tarn_scene_free(&kept->scene);
}

/// Four states of steps 0, 10, 20 and 30, and the log until STEPS, in two batches behind each.
static void live(kept_tank *kept)
{
    while (kept->step < STEPS) {
        make_step(kept);
        if (kept->step % STEPS_OF_STATE == 0) {
            keep_state(kept, false);
        }
        if (kept->step % (STEPS_OF_STATE / 2) == 0 || kept->step == STEPS) {
            commit(kept);
        }
    }
}

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/tarn-session-tool-XXXXXX");
    assert_non_null(mkdtemp(dir));
    return 0;
}

static int make_file(void **state)
{
    kept_tank kept;
    tarn_tank_hash hash;
    make_dir(state);
    open_tank(&kept);
    live(&kept);
    const size_t room = tarn_tank_save_bytes_max(kept.tank);
    end_state = malloc(room);
    assert_int_equal(tarn_tank_save(kept.tank, end_state, room, &end_state_bytes), TARN_OK);
    assert_int_equal(tarn_tank_hash_get(kept.tank, &hash), TARN_OK);
    snprintf(end_hash, sizeof end_hash, "%016" PRIx64 "%016" PRIx64, hash.hi, hash.lo);
    close_tank(&kept);
    return 0;
}

static int make_file_with_scene(void **state)
{
    has_scene = true;
    const int made = make_file(state);
    has_scene = false;
    return made;
}

static int remove_dir(void **state)
{
    (void)state;
    char command[PATH_BYTES];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    free(end_state);
    end_state = NULL;
    return system(command);
}

static void run_sql(const char *path, const char *sql)
{
    sqlite3 *db;
    char *why = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) {
        fail_msg("%s: %s", sql, why);
    }
    sqlite3_close(db);
}

/// Flips a bit in what a frame holds and packs it again, so that its checksum is right.
/// @param from_end  which byte; FROM_BEGIN: the first
static void change_frame(const char *select, const char *update, size_t from_end)
{
    sqlite3 *db;
    sqlite3_stmt *row;
    tarn_box_bytes plain = {0};
    assert_int_equal(sqlite3_open(in_dir("main.tank"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, select, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    assert_int_equal(tarn_session_unpack(sqlite3_column_blob(row, 0), (size_t)sqlite3_column_bytes(row, 0), &plain),
                     TARN_OK);
    sqlite3_finalize(row);
    plain.bytes[from_end == FROM_BEGIN ? 0 : plain.count - from_end] ^= 1;
    const size_t room = ZSTD_compressBound(plain.count);
    uint8_t *packed = malloc(room);
    const size_t byte_count = ZSTD_compress(packed, room, plain.bytes, plain.count, 1);
    assert_int_equal(sqlite3_prepare_v2(db, update, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_bind_blob64(row, 1, packed, byte_count, SQLITE_STATIC), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_DONE);
    sqlite3_finalize(row);
    sqlite3_close(db);
    free(packed);
    tarn_box_bytes_free(&plain);
}

/// The names in the folder, in a line.
static void names_in_dir(char names[PATH_BYTES])
{
    struct dirent **entries;
    const int count = scandir(dir, &entries, NULL, alphasort);
    names[0] = 0;
    for (int i = 0; i < count; i++) {
        strncat(names, entries[i]->d_name, PATH_BYTES - 2 - strlen(names));
        strncat(names, " ", PATH_BYTES - 1 - strlen(names));
        free(entries[i]);
    }
    free(entries);
}

// --------------------------------------------------------------------------------------------------------- the tests

#define SCENES " --scenes " TARN_TEST_SCENES " "

static void test_a_whole_file_is_shown_and_replayed(void **state)
{
    (void)state;
    char before[PATH_BYTES], after[PATH_BYTES];
    names_in_dir(before);
    expect("session list" SCENES ".", 0, "main                 A title              small-dam                34");
    assert_non_null(strstr(said, "4     4 steps"));
    assert_non_null(strstr(said, " no\n"));
    expect("session show" SCENES "main.tank", 0, "state 3: step 20, epoch 7");
    assert_non_null(strstr(said, "whoever has no key may play; stays when nobody is in it"));
    assert_non_null(strstr(said, "a server goes on at step 34"));
    assert_null(strstr(said, "5e"));
    assert_null(strchr(said, '\033'));
    expect("session verify main.tank", 0, "main.tank: whole: 4 states");
    expect("session verify .", 0, "until step 34");
    expect("replay --verify" SCENES "main.tank", 0, "state 1 (step 0) to state 2 (step 10): the same");
    assert_non_null(strstr(said, "state 3 (step 20) to state 4 (step 30): the same"));
    assert_non_null(strstr(said, "state 4 (step 30) to step 34: hash"));
    assert_non_null(strstr(said, end_hash));
    assert_non_null(strstr(said, "\n8 hashes in the log compared\n"));
    expect("replay --threads 2 --isa v2" SCENES "main.tank", 0, end_hash);
    names_in_dir(after);
    assert_string_equal(before, after);
}

static void test_an_export_is_the_tank(void **state)
{
    (void)state;
    uint8_t *bytes = malloc(end_state_bytes + 1);
    expect("session export" SCENES "--hash --to out --state state main.tank", 0, end_hash);
    assert_non_null(strstr(said, "step 34, "));
    const char *const files[] = {"state", "out/main.state"};
    for (int i = 0; i < 2; i++) {
        const int fd = open(in_dir(files[i]), O_RDONLY);
        assert_int_equal(read(fd, bytes, end_state_bytes + 1), end_state_bytes);
        assert_memory_equal(bytes, end_state, end_state_bytes);
        close(fd);
    }
    free(bytes);
    assert_int_equal(access(in_dir("out/small-dam-000034.ply"), F_OK), 0);
    expect("session export" SCENES "--quiet --ply film --every 2 main.tank", 0, "");
    assert_int_equal(access(in_dir("film/small-dam-000032.ply"), F_OK), 0);
    assert_int_equal(access(in_dir("film/small-dam-000030.ply"), F_OK), -1);
    // A state that can't be read: from the one before, to the same step.
    run_sql(in_dir("main.tank"), "UPDATE states SET frame = zeroblob(100) WHERE id = 4");
    expect("session export" SCENES "--hash main.tank", 0, end_hash);
    assert_non_null(strstr(said, "from a state of step 20"));
    expect("session export main.tank", 2, "nothing says what to write");
    expect("session export --hash main.tank", 1, "--scenes says where it is");
    expect("session export --state no/such/folder/file" SCENES "main.tank", 1, "no/such/folder/file");
    // What can't be written is found before the steps are made.
    assert_int_equal(mkdir(in_dir("taken"), 0700), 0);
    expect("session export --state taken" SCENES "main.tank", 1, "taken: Is a directory");
    assert_null(strstr(said, "step 34"));
    assert_int_equal(mkdir(in_dir("aside"), 0700), 0);
    assert_int_equal(mkdir(in_dir("aside/main.state"), 0700), 0);
    expect("session export --to aside" SCENES "main.tank", 1, "main.state: Is a directory");
    assert_null(strstr(said, "step 34"));
    expect("session export --surface main.tank/water.obj" SCENES "main.tank", 1, "water-000000.obj: Not a directory");
    assert_null(strstr(said, "step 34"));
}

/// A file that has its scene in it needs no folder.
/// Whether two PLY files have the same particles; their heads have the step.
static void expect_same_files(const char *one, const char *other)
{
    char command[2 * PATH_BYTES];
    snprintf(command, sizeof command,
             "cd %s && export LC_ALL=C && sed 1,/end_header/d %s >one && sed 1,/end_header/d %s >other && "
             "test -s one && cmp one other",
             dir, one, other);
    if (system(command) != 0) {
        fail_msg("%s and %s differ", one, other);
    }
}

static void test_a_replay_writes_what_a_run_does(void **state)
{
    (void)state;
    char before[PATH_BYTES], after[PATH_BYTES];
    names_in_dir(before);
    expect("replay" SCENES "--hash main.tank", 0, end_hash);
    assert_non_null(strstr(said, "small-dam: 34 steps, 0.000 s to 0.567 s of the session's time"));
    names_in_dir(after);
    assert_string_equal(before, after);
    expect("replay" SCENES "--quiet --ply all main.tank", 0, "");
    expect("session export" SCENES "--quiet --ply newest --every 2 main.tank", 0, "");
    expect_same_files("all/small-dam-000032.ply", "newest/small-dam-000032.ply");
    assert_int_equal(access(in_dir("all/small-dam-000000.ply"), F_OK), 0);
    assert_int_equal(access(in_dir("all/small-dam-000034.ply"), F_OK), 0);
    // From amid the log of a state over the next one: from the 12th step to the 24th.
    expect("replay" SCENES "--from 0.2 --to 0.4 --ply some --export some.usda --every 6 main.tank", 0,
           "12 steps, 0.200 s to 0.400 s");
    assert_non_null(strstr(said, "3 PLY files in some"));
    expect_same_files("all/small-dam-000012.ply", "some/small-dam-000000.ply");
    expect_same_files("all/small-dam-000024.ply", "some/small-dam-000012.ply");
    assert_int_equal(access(in_dir("some/small-dam-000018.ply"), F_OK), -1);
    assert_int_equal(access(in_dir("some.usda"), F_OK), 0);
    expect("replay" SCENES "--from 0.3 --to 0.3 --ply single main.tank", 0, "0 steps");
    expect_same_files("all/small-dam-000018.ply", "single/small-dam-000000.ply");
    // What is measured again is what was there, wherever one begins.
    expect("replay" SCENES "--probe point:0.1,0.05,0.1 --probe rod=gauge:0.1,0,0.1 --probes all.csv main.tank", 0,
           "columns of 34 steps in all.csv");
    expect("replay" SCENES "--quiet --from 0.2 --to 0.4 --probe point:0.1,0.05,0.1 --probe rod=gauge:0.1,0,0.1 "
           "--probes some.csv main.tank",
           0, "");
    char command[2 * PATH_BYTES];
    snprintf(command, sizeof command,
             "cd %s && sed -n '1p;14,25p' all.csv | cmp - some.csv && test $(wc -l <all.csv) = 35", dir);
    assert_int_equal(system(command), 0);
    static const struct {
        const char *arguments;
        int status;
        const char *sentence;
    } wrong[] = {
        {"--from 0.7 --hash main.tank", 1, "--from: found 0.7, allowed are 0.000 to 0.567, the seconds that"},
        {"--to 9 --hash main.tank", 1, "--to: found 9, allowed are 0.000 to 0.567"},
        {"--from 0.4 --to 0.2 --hash main.tank", 2, "--to: found 0.2, allowed is nothing before --from, which is 0.4"},
        {"--from -1 --hash main.tank", 2, "--from: found \"-1\", allowed are seconds"},
        {"--to nan --hash main.tank", 2, "--to: found \"nan\", allowed are seconds"},
        {"--from 0.1 main.tank", 2, "--from needs --export, --render, --ply, --probes or --hash"},
        {"--probe gauge:0,0,0 main.tank", 2, "--probe needs --probes FILE.csv"},
        {"--probe gauge:0,9,0 --probes none.csv main.tank", 1, "y is 9 m; allowed is 0 to"},
        {"--verify --ply all main.tank", 2, "found both --verify and something to write"},
        {"--render film.mp4 main.tank", 2, "--render: found \"film.mp4\", allowed is"},
        {"--ply all missing", 1, "missing: No such file or directory"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char arguments[PATH_BYTES];
        snprintf(arguments, sizeof arguments, "replay" SCENES "%s", wrong[i].arguments);
        expect(arguments, wrong[i].status, wrong[i].sentence);
    }
}

/// Time goes on over a tank that is set back, and a damaged way ends what is written.
static void test_a_replay_goes_on_over_what_was_set_back(void **state)
{
    (void)state;
    kept_tank kept;
    open_tank(&kept);
    live(&kept);
    assert_int_equal(tarn_tank_reset(kept.tank), TARN_OK);
    kept.steps_before = STEPS;
    kept.step = 0;
    keep_state(&kept, true);
    commit(&kept);
    while (kept.step < 5) {
        make_step(&kept);
    }
    commit(&kept);
    tarn_tank_hash hash;
    char back_hash[40];
    assert_int_equal(tarn_tank_hash_get(kept.tank, &hash), TARN_OK);
    snprintf(back_hash, sizeof back_hash, "%016" PRIx64 "%016" PRIx64, hash.hi, hash.lo);
    close_tank(&kept);
    // The newest four states are kept: those of the steps 10, 20 and 30, and of the start again.
    expect("replay" SCENES "--hash --ply all main.tank", 0, "29 steps, 0.167 s to 0.650 s");
    assert_non_null(strstr(said, back_hash));
    assert_int_equal(access(in_dir("all/small-dam-000029.ply"), F_OK), 0);
    expect("replay" SCENES "--from 0.6 --ply last main.tank", 0, "3 steps, 0.600 s to 0.650 s");
    expect_same_files("all/small-dam-000026.ply", "last/small-dam-000000.ply");
    run_sql(in_dir("main.tank"), "UPDATE states SET frame = zeroblob(100) WHERE id = 5");
    expect("replay" SCENES "--ply cut main.tank", 1, "state 5, which nothing before it leads to, is damaged");
    assert_int_equal(access(in_dir("cut/small-dam-000024.ply"), F_OK), 0);
    assert_int_equal(access(in_dir("cut/small-dam-000025.ply"), F_OK), -1);
    run_sql(in_dir("main.tank"),
            "DELETE FROM moments; DELETE FROM states WHERE id = 5; DELETE FROM log WHERE state = 5");
    expect("replay" SCENES "--from 0.1 --ply none main.tank", 1, "--from: found 0.1, allowed are ");
    expect("replay" SCENES "--quiet --ply unknown main.tank", 0, "");
    expect_same_files("all/small-dam-000024.ply", "unknown/small-dam-000024.ply");
}

static void test_a_file_has_its_scene_with_it(void **state)
{
    (void)state;
    expect("session show main.tank", 0, "its scene, \"small-dam\", is in it: 1 file, ");
    assert_non_null(strstr(said, "goes on at step 34 (0.57 s)"));
    expect("session export --hash main.tank", 0, end_hash);
    expect("replay --verify main.tank", 0, "the same");
    expect("session verify main.tank", 0, "whole");
    run_sql(in_dir("main.tank"), "UPDATE files SET frame = zeroblob(100)");
    expect("session verify main.tank", 1, "the scene \"small-dam\" is damaged and lost");
    expect("session export --hash main.tank", 1, "--scenes says where it is");
    expect("session export" SCENES "--hash main.tank", 0, end_hash);
}

/// What was set aside is no damage.
static void test_what_was_set_aside_is_shown(void **state)
{
    (void)state;
    tarn_session_file *file;
    tarn_text why;
    assert_int_equal(tarn_session_file_open(in_dir("main.tank"), &file, why), TARN_OK);
    assert_int_equal(tarn_session_aside_put(file, 4, "it ended \033[2Jits worker", why), TARN_OK);
    tarn_session_file_close(file);
    expect("session show main.tank", 0, "state 4 was set aside, with ");
    assert_non_null(strstr(said, "step 30, it ended ?[2Jits worker"));
    assert_non_null(strstr(said, "goes on at step 30 "));
    expect("session verify main.tank", 0, "whole: 3 states");
    // One that is put behind it has the next number.
    run_sql(in_dir("main.tank"), "INSERT INTO states(follows, frame) SELECT 0, frame FROM states WHERE id = 3");
    expect("session verify main.tank", 1, "state 5 "); // which its frame isn't of
    assert_null(strstr(said, "missing"));
}

static void test_damage_is_named_with_what_is_lost(void **state)
{
    (void)state;
    static const struct {
        const char *sql, *sentence, *replayed;
    } cases[] = {
        {"UPDATE states SET frame = zeroblob(100) WHERE id = 2",
         "state 2 (100 bytes) is damaged and lost; nothing else is", "state 1 (step 0) to state 3 (step 20): the same"},
        {"UPDATE states SET frame = substr(frame, 1, length(frame) - 1) WHERE id = 4",
         "the tank goes on from an older one", "state 4 is damaged"},
        {"UPDATE states SET frame = substr(frame, 1, 30) || x'00' || substr(frame, 32) WHERE id < 9",
         "the tank starts afresh", "state 1 is damaged"},
        {"UPDATE log SET frame = zeroblob(9) WHERE id = 3", "log batch 3 (9 bytes), behind state 1, is damaged",
         "the log behind state 1 is damaged behind step 5"},
        {"DELETE FROM log WHERE id = 4", "log batch 4 is missing and lost before one behind state 2; the way",
         "the log behind state 2 is damaged behind step 10"},
        {"UPDATE log SET frame = zeroblob(9) WHERE id = (SELECT max(id) FROM log)",
         "so is what was done to the tank from there on", "state 3 (step 20) to state 4 (step 30): the same"},
        {"DELETE FROM states WHERE id = 3", "state 3 is missing", "state 1 (step 0) to state 2 (step 10): the same"},
        {"UPDATE log SET state = 99 WHERE id = 3", "log batch 3 is behind state 99, which isn't there", NULL},
        {"DELETE FROM about", "its name, its title and its links are lost", NULL},
        {"UPDATE about SET frame = zeroblob(4)", "what the session is can't be read", NULL},
        {"PRAGMA writable_schema = 1; UPDATE sqlite_master SET rootpage = 2 WHERE name = "
         "'log'",
         "SQLite", NULL},
    };
    const size_t count = sizeof cases / sizeof cases[0];
    for (size_t i = 0; i < count; i++) {
        char command[PATH_BYTES];
        snprintf(command, sizeof command, "cp %s/main.tank %s/kept", dir, dir);
        assert_int_equal(system(command), 0);
        run_sql(in_dir("main.tank"), cases[i].sql);
        expect("session verify main.tank", 1, cases[i].sentence);
        if (cases[i].replayed != NULL) {
            expect("replay --verify" SCENES "main.tank", 1, cases[i].replayed);
        }
        snprintf(command, sizeof command, "mv %s/kept %s/main.tank", dir, dir);
        assert_int_equal(system(command), 0);
    }
    expect("session verify main.tank", 0, "whole");
}

static void test_a_replay_that_parts_is_named(void **state)
{
    (void)state;
    change_frame("SELECT frame FROM states WHERE id = 3", "UPDATE states SET frame = ?1 WHERE id = 3", 1);
    expect("session verify main.tank", 0, "whole"); // each part of it is
    expect("replay --verify" SCENES "main.tank", 1, "state 1 (step 0) to state 2 (step 10): the same");
    assert_non_null(strstr(said, "state 2 (step 10) to state 3 (step 20): they part between these steps: byte "));
    change_frame("SELECT frame FROM log WHERE id = 2", "UPDATE log SET frame = ?1 WHERE id = 2", 32); // of a push
    expect("session verify main.tank", 0, "whole");
    expect("replay --verify" SCENES "main.tank", 1, "state 1 (step 0) to state 2 (step 10): they part between");
    assert_non_null(strstr(said, "state 1 (step 0): they part behind step 4, at step 8 at the latest: hash "));
    assert_null(strstr(said, "state 2 (step 10): they part behind"));
}

/// What an earlier Tarn kept is read by this one: the version stands in front of each part, and is one less there.
static void test_the_parts_of_an_earlier_version_are_read(void **state)
{
    (void)state;
    for (int i = 1; i <= 4; i++) {
        char select[PATH_BYTES], update[PATH_BYTES];
        snprintf(select, sizeof select, "SELECT frame FROM states WHERE id = %d", i);
        snprintf(update, sizeof update, "UPDATE states SET frame = ?1 WHERE id = %d", i);
        change_frame(select, update, FROM_BEGIN);
        snprintf(select, sizeof select, "SELECT frame FROM log WHERE id = %d", i);
        snprintf(update, sizeof update, "UPDATE log SET frame = ?1 WHERE id = %d", i);
        change_frame(select, update, FROM_BEGIN);
    }
    expect("session verify main.tank", 0, "whole");
    expect("replay --verify" SCENES "main.tank", 0, "state 3 (step 20) to state 4 (step 30): the same");
    assert_non_null(strstr(said, end_hash));
}

static void test_wrong_files_are_named(void **state)
{
    (void)state;
    char command[PATH_BYTES];
    static const char *const acts[] = {"session verify", "session show", "session export --hash" SCENES,
                                       "replay --verify" SCENES};
    static const struct {
        const char *name, *sentence;
    } cases[] = {
        {"missing", "missing: No such file or directory"},
        {"folder", "folder: it is no regular file"},
        {"fifo", "fifo: it is no regular file"},
        {"text", "text: file is not a database"},
        {"empty", "empty: it is no session's file"},
        {"other", "other: it is no session's file"},
        {"newer", "newer: found version 3 of a session's file, allowed are 1 to 2"},
    };
    snprintf(command, sizeof command,
             "cd %s && mkdir folder && mkfifo fifo && : >empty && cp main.tank newer && "
             "head -c 3000 /dev/zero | tr '\\0' x >text && head -c 40000 main.tank >half",
             dir);
    assert_int_equal(system(command), 0);
    run_sql(in_dir("other"), "CREATE TABLE t(a)");
    run_sql(in_dir("newer"), "PRAGMA user_version = 3");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t k = 0; k < sizeof acts / sizeof acts[0]; k++) {
            if (k == 0 && strcmp(cases[i].name, "folder") == 0) { // its files are looked through
                expect("session verify folder", 0, "no kept session is in folder");
                continue;
            }
            snprintf(command, sizeof command, "%s %s", acts[k], cases[i].name);
            expect(command, 1, cases[i].sentence);
        }
    }
    expect("session verify half", 1, "half: ");
    expect("session list folder", 0, "no kept session is in folder");
    expect("session list missing", 1, "missing: No such file or directory");
    expect("session list main.tank", 1, "main.tank: Not a directory");
    static const struct {
        const char *arguments, *sentence;
    } usages[] = {
        {"session", "allowed are list, show, verify, export, backup and prune"},
        {"session lists .", "found \"lists\""},
        {"session list", "allowed is one folder"},
        {"session show", "is missing"},
        {"session verify", "is missing"},
        {"session export --hash", "is missing"},
        {"session export --hash a b", "found a second file"},
        {"replay", "is missing"},
        {"session backup . main", "allowed are a folder, the name of a session in it and a file"},
        {"session backup . main a b", "allowed are a folder"},
        {"session prune", "the folder is missing"},
        {"session prune .", "nothing says which are to go"},
        {"session prune . --older 3", "--older: found \"3\""},
        {"session prune . --older -3d", "--older: found \"-3d\""},
        {"session prune . --larger 0", "--larger: found \"0\""},
        {"session prune . --larger 3x", "--larger: found \"3x\""},
        {"session prune . --larger 3kk", "--larger: found \"3kk\""},
    };
    for (size_t i = 0; i < sizeof usages / sizeof usages[0]; i++) {
        expect(usages[i].arguments, 2, usages[i].sentence);
    }
}

static void test_files_in_use_are_read_as_they_are(void **state)
{
    (void)state;
    kept_tank kept;
    char before[PATH_BYTES], after[PATH_BYTES], command[PATH_BYTES];
    open_tank(&kept);
    live(&kept);
    names_in_dir(before);
    assert_non_null(strstr(before, "main.tank-wal"));
    expect("session verify .", 0, "until step 34");
    expect("session list" SCENES ".", 0, "main  ");
    expect("replay --verify" SCENES "main.tank", 0, "state 3 (step 20) to state 4 (step 30): the same");
    names_in_dir(after);
    assert_string_equal(before, after);
    make_step(&kept); // the one that writes goes on
    commit(&kept);
    expect("session verify .", 0, "until step 35");
    // As a program that was killed leaves it, and without the part that is only for those that run.
    snprintf(command, sizeof command, "cd %s && mkdir copy && cp main.tank main.tank-wal copy", dir);
    assert_int_equal(system(command), 0);
    close_tank(&kept);
    expect("session verify copy", 0, "until step 35");
    expect("session export" SCENES "--hash copy/main.tank", 0, "step 35, ");
}

static void rename_tank(kept_tank *kept, const char *title)
{
    tarn_session_about about = about_main;
    tarn_text why = "";
    snprintf(about.title, sizeof about.title, "%s", title);
    assert_int_equal(tarn_session_file_put_about(kept->file, &about, why), TARN_OK);
}

/// As on the start page: the tank's own title, or else that of its scene, wherever that is.
static void test_a_list_has_the_titles_that_people_see(void **state)
{
    (void)state;
    kept_tank kept;
    open_tank(&kept);
    expect("session list" SCENES ".", 0, "main                 A title              small-dam ");
    rename_tank(&kept, "");
    expect("session list" SCENES ".", 0, "main                 Small dam            small-dam ");
    expect("session list --scenes /nowhere .", 0, "main                 -                    small-dam ");
    close_tank(&kept);
    assert_int_equal(unlink(in_dir("main.tank")), 0);
    has_scene = true;
    open_tank(&kept);
    has_scene = false;
    rename_tank(&kept, "");
    expect("session list --scenes /nowhere .", 0, "main                 Small dam            small-dam ");
    close_tank(&kept);
}

static void shell(const char *what)
{
    char command[2 * PATH_BYTES];
    snprintf(command, sizeof command, "cd %s && %s", dir, what);
    assert_int_equal(system(command), 0);
}

static void test_a_backup_is_what_the_file_was(void **state)
{
    (void)state;
    kept_tank kept;
    tarn_tank_hash hash;
    struct stat found;
    char before[PATH_BYTES], after[PATH_BYTES];
    open_tank(&kept);
    expect("session verify main.tank", 0, "main.tank: whole: 1 state, 1 log batch, until step 0");
    live(&kept);
    assert_int_equal(tarn_tank_hash_get(kept.tank, &hash), TARN_OK);
    snprintf(end_hash, sizeof end_hash, "%016" PRIx64 "%016" PRIx64, hash.hi, hash.lo);
    names_in_dir(before);
    shell("mkdir copies");
    expect("session backup . main copies/main.tank", 0, "copies/main.tank: 4 states, 11 log batches, until step 34, ");
    make_step(&kept); // the one that writes goes on
    commit(&kept);
    expect("session backup . main.tank copies/later", 0, "copies/later: 4 states, 12 log batches, until step 35, ");
    expect("session verify .", 0, "until step 35");
    close_tank(&kept);
    expect("session backup . main copies/closed", 0, "until step 35");
    shell("rm main.tank"); // a copy stands for itself
    assert_int_equal(stat(in_dir("copies/main.tank"), &found), 0);
    assert_int_equal(found.st_mode & 0777, 0600);
    shell("test \"$(ls copies | tr '\\n' ' ')\" = 'closed later main.tank '");
    expect("session verify copies", 0, "copies/main.tank: whole: 4 states, 11 log batches, until step 34");
    expect("session verify copies/later copies/closed", 0, "until step 35");
    expect("replay --verify" SCENES "copies/main.tank", 0, end_hash);
    // And a server may write it.
    tarn_session_file *file;
    tarn_text why = "";
    assert_int_equal(tarn_session_file_open(in_dir("copies/main.tank"), &file, why), TARN_OK);
    assert_int_equal(tarn_session_file_put_about(file, &about_main, why), TARN_OK);
    tarn_session_file_close(file);
    expect("session verify copies/main.tank", 0, "whole");
    shell("rm -r copies && test -z \"$(ls *.part 2>/dev/null)\"");
    names_in_dir(after);
    assert_non_null(strstr(before, "main.tank"));
    assert_null(strstr(after, "main.tank"));
}

static void test_backups_that_cant_be_made_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *arguments, *sentence;
    } cases[] = {
        {". other copy", ".: no session \"other\" is kept there"},
        {"missing main copy", "missing: no session \"main\" is kept there"},
        {". main main.tank", "main.tank: it is there already, allowed is a name that is free"},
        {". main used", "used: it is there already"},
        {". main logged", "logged-wal: it is there already"}, // it would be taken for the copy's
        {". main missing/copy", "missing/copy.part: No such file or directory"},
        {". main full", "full.part: File exists"},
        {". text copy", "text.tank: file is not a database"},
    };
    shell(": >used && : >logged-wal && : >full.part && echo no database at all, but a text >text.tank");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char arguments[PATH_BYTES];
        snprintf(arguments, sizeof arguments, "session backup %s", cases[i].arguments);
        expect(arguments, 1, cases[i].sentence);
    }
    shell("rm text.tank && test ! -e copy && test ! -s used && test ! -s full.part");
    expect("session verify main.tank", 0, "whole");
    // Of what is damaged there is a copy, and it is said; a copy of another name is one all the same.
    expect("session backup . main monday.tank", 0, "the session in it is \"main\": a server sets the file aside");
    run_sql(in_dir("main.tank"), "DELETE FROM log WHERE id = 3");
    expect("session backup . main damaged-copy", 1, "log batch 3 is missing");
    expect("session verify damaged-copy", 1, "log batch 3 is missing");
}

/// `cp` of a file that is being written is an older file, and nothing in it is damaged.
static void test_a_copy_without_its_log_is_named(void **state)
{
    (void)state;
    kept_tank kept;
    open_tank(&kept);
    live(&kept);
    shell("mkdir copy && cp main.tank copy");
    expect("session verify copy", 1, "all lies in its -wal beside it, and that is missing");
    run_sql(in_dir("main.tank"), "PRAGMA wal_checkpoint(FULL)");
    make_step(&kept);
    commit(&kept);
    shell("cp main.tank copy");
    expect("session verify main.tank", 0, "until step 35");
    expect("session verify copy", 1,
           "no server closed it, and main.tank-wal, which then lies beside it, is missing: all that was done behind "
           "step 34 is lost");
    expect("session list" SCENES "copy", 0, "1 times");
    expect("session backup copy main backup", 1, "all that was done behind step 34 is lost, in the copy too");
    // Where a link leads to, there is the log.
    shell("mkdir links && ln -s ../main.tank links/main.tank");
    expect("session verify links/main.tank", 0, "until step 35");
    expect("session backup links main linked", 0, "until step 35");
    shell("rm -r links backup linked && cp main.tank-wal copy");
    expect("session verify copy", 0, "whole: 4 states, 12 log batches, until step 35");
    close_tank(&kept);
    shell("rm -r copy && mkdir copy && cp main.tank copy");
    expect("session verify copy", 0, "whole: 4 states, 12 log batches, until step 35");
}

static void touch(const char *name, int age_s)
{
    const struct utimbuf when = {.actime = time(NULL) - age_s, .modtime = time(NULL) - age_s};
    assert_int_equal(utime(in_dir(name), &when), 0);
}

static void test_pruning_takes_what_it_is_told_and_never_from_a_server(void **state)
{
    (void)state;
    char command[PATH_BYTES];
    static const struct {
        const char *arguments;
        int status;
        const char *sentence, *left;
    } cases[] = {
        {"--older 1h --dry-run", 0, "old.tank: would go", "bad.damaged lock main.tank old.tank old.tank-wal secret "},
        {"--older 30d", 0, "nothing goes", "bad.damaged lock main.tank old.tank old.tank-wal secret "},
        {"--larger 1G", 0, "nothing goes", "bad.damaged lock main.tank old.tank old.tank-wal secret "},
        {"nobody old", 1, "no session \"nobody\" is kept there",
         "bad.damaged lock main.tank old.tank old.tank-wal secret "},
        {"secret", 1, "no session \"secret\" is kept there",
         "bad.damaged lock main.tank old.tank old.tank-wal secret "},
        {"main --older 1h", 0, "nothing goes", "bad.damaged lock main.tank old.tank old.tank-wal secret "},
        {"--older 1h --larger 1k", 0, "old.tank: gone", "bad.damaged lock main.tank secret "},
        {"bad.damaged", 0, "bad.damaged: gone", "lock main.tank secret "},
        {"main", 0, "main.tank: gone", "lock secret "},
    };
    snprintf(command, sizeof command,
             "cd %s && cp main.tank old.tank && : >old.tank-wal && : >bad.damaged && : >lock && "
             ": >secret",
             dir);
    assert_int_equal(system(command), 0);
    touch("old.tank", 7300);
    touch("old.tank-wal", 7300);
    const int fd = open(in_dir("lock"), O_RDONLY);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    expect("session prune . main", 1, "a tarnd keeps its tanks there");
    close(fd);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char names[PATH_BYTES];
        snprintf(command, sizeof command, "session prune . %s", cases[i].arguments);
        expect(command, cases[i].status, cases[i].sentence);
        names_in_dir(names);
        assert_string_equal(names + strlen(". .. "), cases[i].left);
    }
}

/// A file as an earlier version made it, most of whose pages are free.
static void make_old_file(void)
{
    sqlite3 *db = NULL;
    static const char sql[] = "PRAGMA auto_vacuum = NONE; VACUUM; CREATE TABLE filler(b BLOB);"
                              "INSERT INTO filler VALUES(zeroblob(4000000)); DROP TABLE filler;";
    assert_int_equal(sqlite3_open(in_dir("main.tank"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static off_t bytes_of(const char *name)
{
    struct stat found;
    assert_int_equal(stat(in_dir(name), &found), 0);
    return found.st_size;
}

/// It is said of files that never get smaller, and they are written anew where that is asked for.
static void test_files_of_an_earlier_version_are_shrunk(void **state)
{
    (void)state;
    char before[SAID_BYTES];
    expect("session list .", 0, "main");
    assert_null(strstr(said, "never gets smaller"));
    expect("session prune . --shrink", 0, "nothing need be written anew");
    assert_int_equal(tool("session show main.tank"), 0);
    snprintf(before, sizeof before, "%.*s", (int)(strstr(said, " in all") - 20 - said), said);
    make_old_file();
    assert_true(bytes_of("main.tank") > 4000000);
    expect("session list .", 0,
           "main: an earlier version made it, and it never gets smaller: `tarn session prune DIR "
           "--shrink` writes it anew");
    expect("session verify main.tank", 0, "main.tank: an earlier version made it");
    expect("session prune . --shrink --dry-run", 0, "main.tank: 4");
    assert_non_null(strstr(said, "would be written anew"));
    assert_true(bytes_of("main.tank") > 4000000);
    expect("session prune . --shrink --larger 1G", 0, "nothing need be");
    // Not where a server has it, nor what can't be read.
    const int fd = open(in_dir("lock"), O_RDWR | O_CREAT, 0600);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    expect("session prune . --shrink", 1, "a tarnd keeps its tanks there");
    close(fd);
    assert_true(bytes_of("main.tank") > 4000000);
    const int rubbish = open(in_dir("alien.tank"), O_RDWR | O_CREAT, 0600);
    assert_int_equal(write(rubbish, "rubbish", 7), 7);
    close(rubbish);
    expect("session prune . --shrink", 1, "main.tank: written anew");
    assert_non_null(strstr(said, "alien.tank"));
    assert_true(bytes_of("main.tank") < 1000000);
    assert_int_equal(unlink(in_dir("alien.tank")), 0);
    expect("session verify main.tank", 0, "whole");
    assert_null(strstr(said, "never gets smaller"));
    expect("session prune . --shrink", 0, "nothing need be written anew");
    assert_int_equal(tool("session show main.tank"), 0);
    assert_int_equal(strncmp(said, before, strlen(before)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_whole_file_is_shown_and_replayed, make_file, remove_dir),
        cmocka_unit_test_setup_teardown(test_an_export_is_the_tank, make_file, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_replay_writes_what_a_run_does, make_file, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_replay_goes_on_over_what_was_set_back, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_file_has_its_scene_with_it, make_file_with_scene, remove_dir),
        cmocka_unit_test_setup_teardown(test_what_was_set_aside_is_shown, make_file_with_scene, remove_dir),
        cmocka_unit_test_setup_teardown(test_damage_is_named_with_what_is_lost, make_file, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_replay_that_parts_is_named, make_file, remove_dir),
        cmocka_unit_test_setup_teardown(test_the_parts_of_an_earlier_version_are_read, make_file, remove_dir),
        cmocka_unit_test_setup_teardown(test_wrong_files_are_named, make_file, remove_dir),
        cmocka_unit_test_setup_teardown(test_files_in_use_are_read_as_they_are, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_list_has_the_titles_that_people_see, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_backup_is_what_the_file_was, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_backups_that_cant_be_made_are_refused, make_file, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_copy_without_its_log_is_named, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_files_of_an_earlier_version_are_shrunk, make_file, remove_dir),
        cmocka_unit_test_setup_teardown(test_pruning_takes_what_it_is_told_and_never_from_a_server, make_file,
                                        remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
