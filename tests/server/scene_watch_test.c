// Files come, change and go in a folder of scenes; what is offered follows.
#include "server/worker/scenes.h"
#include "tests/server/test_cmocka.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { NEWS_MS_MAX = 20000 };

static const char right[] = "{\"size_m\": [1, 1, 1], \"cell_m\": 0.25, \"blocks\": [{\"min_m\": [0, 0, 0], "
                            "\"max_m\": [0.5, 0.5, 0.5]}]}",
                  wrong[] = "{\"size_m\": [1, 1, 1], \"cell_m\": -1, \"blocks\": []}",
                  without_mesh[] =
                      "{\"size_m\": [1, 1, 1], \"cell_m\": 0.25, \"blocks\": [{\"min_m\": [0, 0, 0], \"max_m\": "
                      "[0.5, 0.5, 0.5]}], \"solids\": [{\"shape\": {\"mesh\": {\"file\": \"box.obj\"}}, "
                      "\"position_m\": [0.5, 0.5, 0.5]}]}",
                  box[] = "v 0 0 0\nv .3 0 0\nv .3 0 .3\nv 0 0 .3\nv 0 .3 0\nv .3 .3 0\nv .3 .3 .3\nv 0 .3 .3\n"
                          "f 1 2 3 4\nf 1 5 6 2\nf 2 6 7 3\nf 3 7 8 4\nf 4 8 5 1\nf 5 8 7 6\n";
static char folder[] = "/tmp/tarn-watch-XXXXXX";

static void path_of(const char *file, char path[128])
{
    snprintf(path, 128, "%s/%s", folder, file);
}

/// @param age_s  that the file has from the start
static void put(const char *file, const char *text, int age_s)
{
    char path[128];
    path_of(file, path);
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    fputs(text, stream);
    fclose(stream);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const struct timespec times[2] = {{now.tv_sec - age_s, 0}, {now.tv_sec - age_s, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void drop(const char *file)
{
    char path[128];
    path_of(file, path);
    assert_int_equal(unlink(path), 0);
}

/// Waits for news, which are these names. @param writing  a file that somebody goes on writing until they come; or NULL
static void expect_beside(tarn_scene_watch *watch, const char *const *names, const char *writing)
{
    tarn_ipc_scenes scenes;
    int ms = 0;
    while (!tarn_scene_watch_news(watch, &scenes)) {
        assert_true(ms < NEWS_MS_MAX);
        if (writing != NULL) {
            put(writing, right, 0);
        }
        usleep(50000);
        ms += 50;
    }
    uint32_t count = 0;
    for (; names[count] != NULL; count++) {
        assert_true(count < scenes.count);
        assert_string_equal(scenes.names[count], names[count]);
    }
    assert_int_equal(scenes.count, count);
    assert_false(tarn_scene_watch_news(watch, &scenes));
}

static void expect(tarn_scene_watch *watch, const char *const *names)
{
    expect_beside(watch, names, NULL);
}

/// Whether the gateway is told of so many faults, the newest of them this scene's, without its folder's path.
static void expect_faults(tarn_scene_watch *watch, uint32_t count, const char *newest, const char *why)
{
    tarn_ipc_scene_faults faults;
    assert_true(tarn_scene_watch_faults(watch, &faults));
    assert_int_equal(faults.count, count);
    assert_string_equal(faults.newest, newest);
    assert_int_equal(strncmp(faults.why, why, strlen(why)), 0);
    assert_false(tarn_scene_watch_faults(watch, &faults));
}

static void test_what_is_offered_follows_the_folder(void **state)
{
    (void)state;
    tarn_scene_watch *watch;
    const tarn_ipc_scenes first = {2, {"bad", "good"}};
    assert_non_null(mkdtemp(folder));
    put("good.json", right, 9);
    put("bad.json", wrong, 9);
    assert_int_equal(tarn_scene_watch_open(folder, &first, 0, true, &watch), TARN_OK);
    expect(watch, (const char *[]){"good", NULL});
    expect_faults(watch, 1, "bad", "cell_m: found -1");
    put("new.json", right, 9);
    put("notes.txt", wrong, 9);
    expect_beside(watch, (const char *[]){"good", "new", NULL}, "later.json");
    expect(watch, (const char *[]){"good", "later", "new", NULL});
    put("good.json", wrong, 8);
    put("bad.json", right, 8);
    expect(watch, (const char *[]){"bad", "later", "new", NULL});
    expect_faults(watch, 1, "good", "cell_m: found -1");
    put("late-mesh.json", without_mesh, 9);
    drop("new.json");
    expect(watch, (const char *[]){"bad", "later", NULL});
    expect_faults(watch, 2, "late-mesh", "solids[0].shape.mesh.file: found \"box.obj\"");
    put("box.obj", box, 9); // which it lacked
    expect(watch, (const char *[]){"bad", "late-mesh", "later", NULL});
    expect_faults(watch, 1, "good", "cell_m: found -1");
    tarn_scene_watch_close(watch);
    static const char *const files[] = {"good.json", "bad.json",       "later.json",
                                        "notes.txt", "late-mesh.json", "box.obj"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        drop(files[i]);
    }
    assert_int_equal(rmdir(folder), 0);
}

static void test_it_ends_before_its_first_look(void **state)
{
    (void)state;
    tarn_scene_watch *watch;
    tarn_ipc_scenes scenes;
    const tarn_ipc_scenes first = {0};
    assert_int_equal(tarn_scene_watch_open("/no/such/folder", &first, 60000, false, &watch), TARN_OK);
    assert_false(tarn_scene_watch_news(watch, &scenes));
    tarn_scene_watch_close(watch);
    tarn_scene_watch_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_offered_follows_the_folder),
        cmocka_unit_test(test_it_ends_before_its_first_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
