// Any bytes as a session's file, or as what lies in one, in the way it is read: the first byte says what they are taken
// for. What a frame's reader takes is the same when it is written again; a box that is filled with what was taken is
// read by the worker's reader to the end of its log. Begin at LLVMFuzzerTestOneInput.
//
// With TARN_FUZZ_SEEDS=FOLDER frames to begin with are written there.
#include "server/log/black_box.h"
#include "server/log/session_file.h"
#include "server/log/session_frame.h"
#include "server/log/session_scene.h"
#include "server/scene/archive.h"
#include "tests/fuzz/tiny_tank.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count);

enum { ABOUT, STATE, BATCH, PACKED, LOG, PACK, IMAGE, KINDS };
enum { SPEED_BYTES = 4, LOCKS_BYTES = 5, PROBES_BYTES = 8, SOLID_BYTES = 4 };
enum { ROW = 3, SEED_BYTES = 1 << 15, UNPACKED_BYTES_MAX = 1 << 16, STATE_BYTES_MAX = 4096 };

static int memory; // of a box

static void must(bool holds, const char *what)
{
    tiny_tank_must(holds, what, TARN_E_MALFORMED);
}

// ------------------------------------------------------------------------------------------- memory of the system's
// SQLite

// It isn't checked, so that the sanitizer's allocator would find nothing in it and take four fifths of the time. What
// is given back waits for the next of its size, a power of two.
enum { POOL_HEAD = 16, POOL_SIZES = 40 };

typedef struct pool_head {
    struct pool_head *next; // while nobody has it
    int size;               // its power
} pool_head;
_Static_assert(sizeof(pool_head) <= POOL_HEAD, "in front of what is given out");

static pool_head *pools[POOL_SIZES];

static void *pool_malloc(int byte_count)
{
    int size = 5;
    while ((1ll << size) < byte_count) {
        size++;
    }
    pool_head *head = pools[size];
    if (head != NULL) {
        pools[size] = head->next;
    } else if ((head = malloc(POOL_HEAD + ((size_t)1 << size))) == NULL) {
        return NULL;
    }
    head->size = size;
    return (uint8_t *)head + POOL_HEAD;
}

static pool_head *pool_head_of(void *memory_of_pool)
{
    return (pool_head *)((uint8_t *)memory_of_pool - POOL_HEAD);
}

static void pool_free(void *freed)
{
    pool_head *head = pool_head_of(freed);
    head->next = pools[head->size];
    pools[head->size] = head;
}

static int pool_size(void *sized)
{
    return sized == NULL ? 0 : 1 << pool_head_of(sized)->size;
}

static void *pool_realloc(void *old, int byte_count)
{
    if (byte_count <= pool_size(old)) {
        return old;
    }
    void *larger = pool_malloc(byte_count);
    if (larger != NULL) {
        memcpy(larger, old, (size_t)pool_size(old));
        pool_free(old);
    }
    return larger;
}

static int pool_round_up(int byte_count)
{
    return (byte_count + 7) & ~7;
}

static int pool_begin(void *user)
{
    (void)user;
    return SQLITE_OK;
}

static void pool_end(void *user)
{
    (void)user;
}

static void give_pool(void)
{
    static const sqlite3_mem_methods methods = {pool_malloc,   pool_free,  pool_realloc, pool_size,
                                                pool_round_up, pool_begin, pool_end,     NULL};
    must(sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK &&
             sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) == SQLITE_OK,
         "SQLite's memory");
}

// --------------------------------------------------------------------------------------------------------------- seeds

static void write_seed(const char *name, uint8_t kind, const uint8_t *bytes, size_t byte_count)
{
    static uint8_t seed[SEED_BYTES];
    must(byte_count < sizeof seed, name);
    seed[0] = kind;
    memcpy(seed + 1, bytes, byte_count);
    tiny_tank_write_seed(name, seed, byte_count + 1);
}

/// A log with an input that has a value, presses alone, both, and a hash.
static size_t make_log(uint8_t *log)
{
    static const uint8_t presses[5] = {1, 2, 3, 4, 5};
    static tarn_step_input input = {.parameter_count = 1, .parameters = {{3, 0.5f}}};
    tarn_box_follower follower = {.fd = tarn_black_box_make()};
    tarn_box_news news = {0};
    tarn_black_box box = {0};
    must(tarn_black_box_open(&box, follower.fd, STATE_BYTES_MAX) == TARN_OK, "a box");
    tarn_black_box_begin(&box, "tiny");
    memset(tarn_black_box_space(&box), 1, 100);
    tarn_black_box_keep(&box, 100, 0, true);
    tarn_black_box_log_presses(&box, presses, sizeof presses);
    tarn_black_box_log(&box, &input, NULL, 0);
    tarn_black_box_log(&box, &input, presses, sizeof presses);
    tarn_black_box_log_hash(&box, 2, &(tarn_tank_hash){.lo = 3, .hi = 4});
    must(tarn_box_follow(&follower, true, &news) == TARN_OK, "following");
    const size_t byte_count = news.log.count;
    must(byte_count > 0 && byte_count < SEED_BYTES / 2, "a log");
    memcpy(log, news.log.bytes, byte_count);
    tarn_box_news_free(&news);
    tarn_black_box_close(&box);
    close(follower.fd);
    return byte_count;
}

static void write_seeds(void)
{
    static const tarn_session_about about = {
        .name = "main", .title = "A title", .begun_as = "tiny", .salt = {1, 2}, .guests = 1, .is_kept = true};
    static const tarn_session_about with_probes = {
        .name = "main",
        .begun_as = "tiny",
        .probes_scene = "tiny",
        .probe_count = 2,
        .probes = {{.shows = TARN_SHOWS_GAUGE, .is_scenes = 1, .to_m = {0, 1, 0}, .label = "weir"},
                   {.shows = TARN_SHOWS_FORCE, .solid = 2, .at_m = {0.5f, 0.25f, 0.125f}}}};
    static const tarn_session_head state = {
        .state = ROW, .epoch = 5, .number = 7, .step = 9, .state_bytes_max = STATE_BYTES_MAX, .scene = "tiny"};
    static uint8_t plain[SEED_BYTES], packed[SEED_BYTES];
    size_t byte_count = tarn_session_about_write(&about, plain);
    write_seed("about", ABOUT, plain, byte_count);
    write_seed("about_before_probes", ABOUT, plain, byte_count - PROBES_BYTES);
    write_seed("about_before_speeds", ABOUT, plain, byte_count - PROBES_BYTES - SPEED_BYTES);
    write_seed("about_before_locks", ABOUT, plain, byte_count - PROBES_BYTES - SPEED_BYTES - LOCKS_BYTES);
    byte_count = tarn_session_about_write(&with_probes, plain);
    write_seed("about_with_probes", ABOUT, plain, byte_count);
    write_seed("about_before_solids", ABOUT, plain, byte_count - SOLID_BYTES * with_probes.probe_count);
    byte_count = tarn_session_head_write(&state, true, plain);
    memset(plain + byte_count, 7, 200);
    byte_count += 200;
    write_seed("kept_state", STATE, plain, byte_count);
    const size_t packed_bytes = ZSTD_compress(packed, sizeof packed, plain, byte_count, 1);
    write_seed("packed", PACKED, packed, packed_bytes);
    tarn_box_bytes sorted = {0}, behind = {plain + byte_count - 200, 200, 200};
    ZSTD_CCtx *compressor = ZSTD_createCCtx();
    must(compressor != NULL &&
             tarn_session_pack_sorted(compressor, plain, byte_count - 200, &behind, &sorted) == TARN_OK,
         "a state");
    write_seed("sorted", PACKED, sorted.bytes, sorted.count);
    tarn_box_bytes_free(&sorted);
    ZSTD_freeCCtx(compressor);
    byte_count = tarn_session_head_write(&state, false, plain);
    byte_count += make_log(plain + byte_count);
    write_seed("batch", BATCH, plain, byte_count);
    write_seed("log", LOG, plain, make_log(plain));
}

/// A file with a state, its log, its scene and a state that was set aside, of the smallest pages that SQLite has.
static void write_image(void)
{
    static const tarn_session_about about = {.name = "main", .title = "A title", .begun_as = "tiny"};
    static uint8_t bytes[SEED_BYTES], log[SEED_BYTES];
    char path[] = "/tmp/tarn-fuzz-XXXXXX", beside[64];
    tarn_scene_pack pack = {0};
    tarn_session_file *file;
    tarn_text why;
    uint64_t state_bytes;
    sqlite3 *db;
    must(close(mkstemp(path)) == 0, "a file's name");
    must(tarn_scene_pack_add(&pack, "tiny.json", "{}", 2) == TARN_OK, "a scene");
    must(tarn_scene_pack_add(&pack, "a.obj", "v 0 0 0", 7) == TARN_OK, "a mesh");
    tarn_box_news news = {.is_anew = true, .has_state = true, .epoch = 5, .number = 6};
    news.state = (tarn_box_state){.scene = "tiny", .state_bytes_max = STATE_BYTES_MAX, .step = 4};
    news.state.bytes = (tarn_box_bytes){bytes, 100, sizeof bytes};
    news.state.pack = (tarn_box_bytes){pack.bytes, pack.byte_count, pack.byte_count};
    news.log = (tarn_box_bytes){log, make_log(log), sizeof log};
    must(tarn_session_file_open(path, &file, why) == TARN_OK, why);
    must(tarn_session_file_put_about(file, &about, why) == TARN_OK, why);
    for (int i = 0; i < 3; i++) {
        must(tarn_session_file_put(file, &news, &state_bytes, why) == TARN_OK, why);
    }
    must(tarn_session_aside_put(file, 3, "it ended its worker", why) == TARN_OK, why);
    tarn_session_file_close(file);
    must(sqlite3_open(path, &db) == SQLITE_OK &&
             sqlite3_exec(db, "PRAGMA journal_mode = DELETE; PRAGMA page_size = 512; VACUUM", NULL, NULL, NULL) ==
                 SQLITE_OK &&
             sqlite3_close(db) == SQLITE_OK,
         "small pages");
    const int fd = open(path, O_RDONLY);
    const ssize_t count = read(fd, bytes, sizeof bytes);
    must(count > 0 && count < (ssize_t)sizeof bytes, "a small file");
    must(tarn_session_file_open_image(bytes, (size_t)count, &file, why) == TARN_OK, why);
    tarn_session_file_close(file);
    write_seed("image", IMAGE, bytes, (size_t)count);
    write_seed("pack", PACK, pack.bytes, pack.byte_count);
    tarn_scene_pack_free(&pack);
    close(fd);
    unlink(path);
    snprintf(beside, sizeof beside, "%s-wal", path);
    unlink(beside);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    give_pool();
    memory = tarn_black_box_make();
    must(memory >= 0, "a file");
    write_seeds();
    write_image();
    return 0;
}

// ------------------------------------------------------------------------------------------------------------- reading

/// Goes through a box as a worker does that goes on from it.
static void read_box(uint64_t state_bytes_max, const char *scene, uint64_t step)
{
    static tarn_step_input input; // large
    tarn_black_box box = {0};
    tarn_black_box_rest rest;
    uint32_t presses_bytes;
    size_t at = 0, last = 0;
    tarn_status status;
    must(tarn_black_box_open(&box, memory, state_bytes_max) == TARN_OK, "opening the box");
    must(tarn_black_box_find(&box, scene, &rest), "what was put into a box isn't found");
    must(rest.step == step && rest.state_bytes <= state_bytes_max && rest.state[rest.state_bytes - 1] != 255,
         "another state");
    tarn_black_box_settle(&box, &rest);
    const uint8_t *presses = tarn_black_box_presses(&box, &presses_bytes);
    static volatile uint8_t sum;
    for (uint32_t i = 0; i < presses_bytes; i++) {
        sum = (uint8_t)(sum + presses[i]);
    }
    while ((status = tarn_black_box_read(&box, &at, &input)) == TARN_OK) {
        must(at > last, "a record that takes nothing");
        last = at;
    }
    must(status == TARN_E_NOT_FOUND || status == TARN_E_MALFORMED || status == TARN_E_VERSION, "reading the log");
    tarn_black_box_close(&box);
}

static void fill_box(const char *scene, uint64_t step, const uint8_t *log, size_t log_bytes)
{
    static uint8_t state[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    tarn_box_state kept = {
        .state_bytes_max = STATE_BYTES_MAX, .step = step, .bytes = {state, sizeof state, sizeof state}};
    snprintf(kept.scene, sizeof kept.scene, "%s", scene);
    must(tarn_box_fill(memory, &kept, 5, 6, log, log_bytes, true) == TARN_OK, "filling the box");
    read_box(STATE_BYTES_MAX, kept.scene, step);
}

static void read_about(const uint8_t *bytes, size_t byte_count)
{
    static uint8_t again[TARN_SESSION_ABOUT_BYTES_MAX];
    tarn_session_about about;
    if (tarn_session_about_read(bytes, byte_count, &about) == TARN_OK) {
        // One of a server before there were locks has none, one before the speed was kept no speed, and so on.
        enum { BEFORE_LOCKS = PROBES_BYTES + SPEED_BYTES + LOCKS_BYTES };
        static const uint8_t missing[BEFORE_LOCKS + SOLID_BYTES * TARN_LIVE_PROBES_MAX];
        const size_t added = tarn_session_about_write(&about, again) - byte_count;
        must((added == 0 || (about.probe_count > 0 ? added == SOLID_BYTES * about.probe_count
                                                   : added == PROBES_BYTES || added == PROBES_BYTES + SPEED_BYTES ||
                                                         added == BEFORE_LOCKS)) &&
                 memcmp(again + byte_count, missing, added) == 0 && memcmp(bytes, again, byte_count) == 0,
             "another session");
    }
}

static void read_state(const uint8_t *bytes, size_t byte_count)
{
    static uint8_t again[TARN_SESSION_HEAD_BYTES_MAX];
    tarn_session_head head;
    const uint8_t *content;
    size_t content_bytes;
    if (tarn_session_state_read(bytes, byte_count, ROW, &head, &content, &content_bytes) == TARN_OK) {
        must(content + content_bytes == bytes + byte_count && content_bytes > 0, "a state beyond the end");
        const size_t head_bytes = tarn_session_head_write(&head, true, again);
        must(head.scene[0] != 0, "a state of no scene");
        if (strlen(head.scene) + 36 == (size_t)(content - bytes)) { // no zero amid its scene
            const size_t version_bytes = sizeof(uint32_t);          // an earlier one is read, too
            must(head_bytes == (size_t)(content - bytes) &&
                     memcmp(bytes + version_bytes, again + version_bytes, head_bytes - version_bytes) == 0,
                 "another state");
        }
        fill_box(head.scene, head.step, NULL, 0);
    }
}

static void read_batch(const uint8_t *bytes, size_t byte_count)
{
    tarn_session_head head;
    const uint8_t *content;
    size_t content_bytes;
    if (tarn_session_batch_read(bytes, byte_count, ROW, &head, &content, &content_bytes) == TARN_OK) {
        must(content + content_bytes == bytes + byte_count, "a log beyond the end");
        fill_box("tiny", 4, content, content_bytes);
    }
}

static void read_packed(const uint8_t *bytes, size_t byte_count)
{
    static tarn_box_bytes plain;
    uint8_t mark[TARN_SESSION_SORTED_BYTES];
    tarn_session_mark_sorted(mark);
    const size_t before = byte_count > sizeof mark && memcmp(bytes, mark, sizeof mark) == 0 ? sizeof mark : 0;
    const unsigned long long unpacked = ZSTD_getFrameContentSize(bytes + before, byte_count - before);
    if (unpacked > UNPACKED_BYTES_MAX && unpacked < ZSTD_CONTENTSIZE_ERROR - 1) {
        return; // which is allowed, and takes memory
    }
    if (tarn_session_unpack(bytes, byte_count, &plain) == TARN_OK) {
        must(plain.count == unpacked, "of another size");
        read_about(plain.bytes, plain.count);
        read_state(plain.bytes, plain.count);
        read_batch(plain.bytes, plain.count);
    }
}

static void read_pack(const uint8_t *bytes, size_t byte_count)
{
    tarn_scene_pack again = {0};
    tarn_scene_entry entry;
    size_t at = 0;
    const bool is_sound = tarn_scene_pack_sound(bytes, byte_count);
    while (tarn_scene_pack_next(bytes, byte_count, &at, &entry)) {
        must(entry.bytes + entry.byte_count == bytes + at, "an entry beyond the end");
        must(!is_sound || tarn_scene_pack_add(&again, entry.name, entry.bytes, entry.byte_count) == TARN_OK,
             "an entry");
    }
    must(!is_sound || (again.byte_count == byte_count && memcmp(again.bytes, bytes, byte_count) == 0), "another scene");
    tarn_scene_pack_free(&again);
}

/// As a server and the tools read a file that somebody has given them.
static void read_image(const uint8_t *bytes, size_t byte_count)
{
    static tarn_session_rest rest; // large
    static tarn_session_row row;
    static tarn_session_about about;
    tarn_session_file *file;
    tarn_session_aside aside = {0};
    tarn_box_bytes pack = {0};
    tarn_text why;
    if (tarn_session_file_open_image(bytes, byte_count, &file, why) != TARN_OK) {
        return;
    }
    (void)tarn_session_file_about(file, &about, why);
    if (tarn_session_file_rest(file, &rest, why) == TARN_OK) {
        must(rest.state.bytes.count <= rest.state.state_bytes_max, "a state larger than any");
        must(rest.state.pack.count == 0 || tarn_scene_pack_sound(rest.state.pack.bytes, rest.state.pack.count),
             "a scene that is none");
        must(tarn_box_log_whole(rest.log.bytes, rest.log.count) == rest.log.count, "a log that is cut");
        tarn_session_rest_free(&rest);
    }
    row = (tarn_session_row){0};
    while (tarn_session_file_next_state(file, &row, why) == TARN_OK) {
        (void)tarn_session_scene_read(file, row.id, &pack, why);
    }
    row = (tarn_session_row){0};
    while (tarn_session_file_next_batch(file, &row, why) == TARN_OK) {
    }
    while (tarn_session_aside_next(file, &aside, why) == TARN_OK) {
    }
    tarn_box_bytes_free(&pack);
    tarn_session_file_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count)
{
    if (byte_count == 0) {
        return 0;
    }
    const uint8_t kind = bytes[0] % KINDS;
    bytes++;
    byte_count--;
    if (kind == ABOUT) {
        read_about(bytes, byte_count);
    } else if (kind == STATE) {
        read_state(bytes, byte_count);
    } else if (kind == BATCH) {
        read_batch(bytes, byte_count);
    } else if (kind == PACKED) {
        read_packed(bytes, byte_count);
    } else if (kind == PACK) {
        read_pack(bytes, byte_count);
    } else if (kind == IMAGE) {
        read_image(bytes, byte_count);
    } else {
        const size_t whole = tarn_box_log_whole(bytes, byte_count);
        must(whole <= byte_count && tarn_box_log_whole(bytes, whole) == whole, "how much is whole");
        fill_box("tiny", 1, bytes, whole);
    }
    return 0;
}
