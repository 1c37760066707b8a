// Files that are sent: the page's, from memory; scenes and what they name, from their folder; tanks as they stand.
#include "server/gateway/pages/files.h"
#include "server/gateway/pages/scenes.h"
#include "tests/server/test_cmocka.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/tarn-pages-XXXXXX";

static void put_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int make_folder(void **state)
{
    char path[256];
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(path, sizeof path, "%s/assets", folder);
    return mkdir(path, 0700);
}

static int remove_folder(void **state)
{
    char command[256];
    (void)state;
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command) == 0 ? 0 : -1;
}

static tarn_scene_pages scene_pages;

static void expect_scene_page(const char *path, const char *type, const char *text)
{
    tarn_scene_page *page;
    tarn_status status = tarn_scene_page_open(&scene_pages, folder, path, &page);
    if (text == NULL) {
        if (status != TARN_E_NOT_FOUND || page != NULL) {
            fail_msg("%s: %s instead of TARN_E_NOT_FOUND", path, tarn_status_name(status));
        }
        return;
    }
    if (status != TARN_OK) {
        fail_msg("%s: %s", path, tarn_status_name(status));
    }
    assert_string_equal(page->page.type, type);
    assert_int_equal(page->page.byte_count, strlen(text));
    assert_memory_equal(page->page.bytes, text, strlen(text));
    assert_int_equal(page->page.etag[0], '"');
    assert_false(page->page.immutable);
    tarn_scene_page_close(page);
    assert_null(scene_pages.first);
}

static void test_scenes_are_read_from_their_folder_and_nothing_else_is(void **state)
{
    (void)state;
    char path[512], long_path[600] = "/scenes/";
    put_file("pool.json", "{}");
    put_file("empty.json", "");
    put_file("notes.txt", "no");
    put_file("no-ending", "no");
    put_file(".hidden.json", "no");
    put_file("assets/duck.obj", "v 0 0 0");
    put_file("assets/fish.glb", "glTF");
    put_file("assets/.json", "no");
    const char *const links[][2] = {{"/etc/passwd", "out.json"}, {"pool.json", "in.json"}, {"/", "root"}};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, links[i][1]);
        assert_int_equal(symlink(links[i][0], path), 0);
    }
    snprintf(path, sizeof path, "%s/pipe.json", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    snprintf(path, sizeof path, "%s/folder.json", folder);
    assert_int_equal(mkdir(path, 0700), 0);

    expect_scene_page("/scenes/pool.json", "application/json", "{}");
    expect_scene_page("/scenes/empty.json", "application/json", "");
    expect_scene_page("/scenes/assets/duck.obj", "text/plain; charset=utf-8", "v 0 0 0");
    expect_scene_page("/scenes/assets/fish.glb", "model/gltf-binary", "glTF");
    put_file("pool.json", "{ }"); // as it is now, not as it was
    expect_scene_page("/scenes/pool.json", "application/json", "{ }");
    snprintf(path, sizeof path, "/scenes/../%s/pool.json", strrchr(folder, '/') + 1);
    expect_scene_page(path, NULL, NULL);
    snprintf(path, sizeof path, "/scenes//%s/pool.json", folder);
    expect_scene_page(path, NULL, NULL);
    memset(long_path + 8, 'a', 580);
    memcpy(long_path + 588, ".json", 6);
    static const char *const others[] = {
        "/scenes/",
        "/scenes/missing.json",
        "/scenes/notes.txt",
        "/scenes/no-ending",
        "/scenes/.hidden.json",
        "/scenes/assets/.json",
        "/scenes/.json",
        "/scenes/assets",
        "/scenes/assets/",
        "/scenes//pool.json",
        "/scenes/./pool.json",
        "/scenes/assets/../pool.json",
        "/scenes/assets//duck.obj",
        "/scenes/pool.json/",
        "/scenes/pool.json/pool.json",
        "/scenes/pool.json.",
        "/scenes/po ol.json",
        "/scenes/po\\ol.json",
        "/scenes/out.json",
        "/scenes/in.json",
        "/scenes/home/etc/x.json",
        "/scenes/pipe.json",
        "/scenes/folder.json",
        "/pool.json",
        "pool.json",
        "",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        expect_scene_page(others[i], NULL, NULL);
    }
    expect_scene_page(long_path, NULL, NULL);

    tarn_scene_page *page;
    snprintf(path, sizeof path, "%s/large.obj", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), TARN_GATEWAY_PAGE_BYTES_MAX + 1), 0);
    fclose(file);
    assert_int_equal(tarn_scene_page_open(&scene_pages, folder, "/scenes/large.obj", &page), TARN_E_LIMIT);
    assert_int_equal(tarn_scene_page_open(&scene_pages, "/no/such/folder", "/scenes/pool.json", &page),
                     TARN_E_NOT_FOUND);
}

static tarn_status take(int fill, uint64_t now_ms, tarn_scene_page **page)
{
    uint8_t *bytes = malloc(TARN_GATEWAY_PAGE_BYTES_MAX);
    assert_non_null(bytes);
    memset(bytes, fill, TARN_GATEWAY_PAGE_BYTES_MAX);
    return tarn_scene_page_take(&scene_pages, bytes, TARN_GATEWAY_PAGE_BYTES_MAX, now_ms * 1000000, page);
}

/// Whoever asks for a moving tank again and again and reads slowly holds no more than that.
static void test_tanks_as_they_stand_are_held_up_to_a_limit(void **state)
{
    (void)state;
    enum { ROOM = TARN_GATEWAY_TOLD_BYTES_MAX / TARN_GATEWAY_PAGE_BYTES_MAX, BEGIN_MS = 5000 };
    tarn_scene_page *pages[ROOM], *shared, *newer;
    for (int i = 0; i < ROOM; i++) {
        assert_int_equal(take(i, BEGIN_MS + (uint64_t)i, &pages[i]), TARN_OK);
    }
    assert_int_equal(take(ROOM, BEGIN_MS + TARN_GATEWAY_TOLD_MS_MIN, &newer), TARN_E_LIMIT);
    assert_null(newer);
    // A tank that stands still takes no more room, and its readers have their time again.
    assert_int_equal(take(0, BEGIN_MS + TARN_GATEWAY_TOLD_MS_MIN, &shared), TARN_OK);
    assert_ptr_equal(shared, pages[0]);
    assert_int_equal(take(ROOM, BEGIN_MS + TARN_GATEWAY_TOLD_MS_MIN + 1, &newer), TARN_E_LIMIT);
    assert_int_equal(take(ROOM, BEGIN_MS + TARN_GATEWAY_TOLD_MS_MIN + 2, &newer), TARN_OK);
    for (int i = 0; i < ROOM; i++) {
        assert_int_equal(pages[i]->is_gone, i == 1);
        assert_int_equal(pages[i]->page.bytes == NULL, i == 1);
    }
    assert_int_equal(scene_pages.told_bytes, TARN_GATEWAY_TOLD_BYTES_MAX);
    tarn_scene_page_close(pages[2]);
    assert_int_equal(take(ROOM + 1, BEGIN_MS + TARN_GATEWAY_TOLD_MS_MIN + 3, &pages[2]), TARN_OK);
    for (int i = 0; i < ROOM; i++) {
        tarn_scene_page_close(pages[i]);
    }
    tarn_scene_page_close(shared);
    tarn_scene_page_close(newer);
    assert_null(scene_pages.first);
    assert_int_equal(scene_pages.told_bytes, 0);
}

/// What slow readers hold doesn't grow with how many they are, and nobody gets what isn't there any more.
static void test_responses_share_a_scenes_file(void **state)
{
    (void)state;
    tarn_scene_page *first, *second, *newer, *other;
    put_file("pool.json", "{}");
    put_file("twin.json", "{}");
    assert_int_equal(tarn_scene_page_open(&scene_pages, folder, "/scenes/pool.json", &first), TARN_OK);
    assert_int_equal(tarn_scene_page_open(&scene_pages, folder, "/scenes/pool.json", &second), TARN_OK);
    assert_ptr_equal(first, second);
    assert_int_equal(tarn_scene_page_open(&scene_pages, folder, "/scenes/twin.json", &other), TARN_OK);
    assert_ptr_not_equal(other, first);
    put_file("pool.json", "{ }");
    assert_int_equal(tarn_scene_page_open(&scene_pages, folder, "/scenes/pool.json", &newer), TARN_OK);
    assert_ptr_not_equal(newer, first);
    assert_int_equal(newer->page.byte_count, 3);
    tarn_scene_page_close(first);
    assert_int_equal(second->page.byte_count, 2);
    assert_memory_equal(second->page.bytes, "{}", 2);
    tarn_scene_page_close(newer);
    tarn_scene_page_close(second);
    tarn_scene_page_close(other);
    assert_null(scene_pages.first);
}

static void test_beside_a_named_scene_other_json_is_not_given_out(void **state)
{
    (void)state;
    char file[512];
    put_file("own.json", "{}");
    put_file("secrets.json", "no");
    put_file("assets/hill.pgm", "P2");
    put_file("assets/own.json", "no");
    static const struct {
        const char *path;
        tarn_status status;
    } cases[] = {
        {"/scenes/own.json", TARN_OK},
        {"/scenes/assets/hill.pgm", TARN_OK},
        {"/scenes/secrets.json", TARN_E_NOT_FOUND},
        {"/scenes/assets/own.json", TARN_E_NOT_FOUND},
        {"/scenes/../own.json", TARN_E_NOT_FOUND},
        {"/scenes/", TARN_E_NOT_FOUND},
        {"own.json", TARN_E_NOT_FOUND},
    };
    snprintf(file, sizeof file, "%s/own.json", folder);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tarn_scene_page *page;
        tarn_status status = tarn_scene_page_open_own(&scene_pages, file, cases[i].path, &page);
        if (status != cases[i].status) {
            fail_msg("%s: %s instead of %s", cases[i].path, tarn_status_name(status),
                     tarn_status_name(cases[i].status));
        }
        tarn_scene_page_close(page);
    }
    tarn_scene_page *page;
    snprintf(file, sizeof file, "%s/no-such.json", folder);
    assert_int_equal(tarn_scene_page_open_own(&scene_pages, file, "/scenes/assets/hill.pgm", &page), TARN_E_NOT_FOUND);
}

static void test_pages_are_found_by_their_path_and_nothing_else_is(void **state)
{
    (void)state;
    static tarn_pages pages;
    tarn_text why;
    char link_path[256];
    assert_int_equal(tarn_pages_load(&pages, folder, why), TARN_E_NOT_FOUND);
    assert_non_null(strstr(why, "index.html"));
    put_file("index.html", "<html>");
    put_file("assets/codec.wasm", "wasm");
    put_file(".secret", "no");
    snprintf(link_path, sizeof link_path, "%s/link.html", folder);
    assert_int_equal(symlink("/etc/passwd", link_path), 0);
    assert_int_equal(tarn_pages_load(&pages, folder, why), TARN_OK);
    assert_int_equal(pages.page_count, 2);
    const tarn_page *page = tarn_pages_find(&pages, "/");
    assert_non_null(page);
    assert_string_equal(page->type, "text/html; charset=utf-8");
    assert_int_equal(page->byte_count, 6);
    assert_false(page->immutable);
    page = tarn_pages_find(&pages, "/assets/codec.wasm");
    assert_non_null(page);
    assert_string_equal(page->type, "application/wasm");
    assert_true(page->immutable);
    assert_null(tarn_pages_find(&pages, "/.secret"));
    assert_null(tarn_pages_find(&pages, "/link.html"));
    assert_null(tarn_pages_find(&pages, "/assets"));
    assert_null(tarn_pages_find(&pages, "/assets/../index.html"));
    assert_null(tarn_pages_find(&pages, ""));
    tarn_pages_free(&pages);
    assert_int_equal(tarn_pages_load(&pages, "/no/such/folder", why), TARN_E_NOT_FOUND);
    assert_non_null(strstr(why, "/no/such/folder"));
}

static void test_an_etag_changes_with_the_content(void **state)
{
    (void)state;
    static tarn_pages pages;
    tarn_text why;
    char first[20];
    put_file("index.html", "one");
    assert_int_equal(tarn_pages_load(&pages, folder, why), TARN_OK);
    memcpy(first, tarn_pages_find(&pages, "/")->etag, sizeof first);
    tarn_pages_free(&pages);
    put_file("index.html", "two");
    assert_int_equal(tarn_pages_load(&pages, folder, why), TARN_OK);
    assert_string_not_equal(first, tarn_pages_find(&pages, "/")->etag);
    tarn_pages_free(&pages);
}

/// What is compressed counts for the very file that it was made from.
static void test_compressed_forms_belong_to_the_file_beside_them(void **state)
{
    (void)state;
    static tarn_pages pages;
    tarn_text why;
    // SHA-256 of "hash me" begins with eb201af5aaf0d606.
    put_file("form.js", "hash me");
    put_file("form.js.eb201af5aaf0d606.br", "brotli");
    put_file("form.js.eb201af5aaf0d606.gz", "zip");
    put_file("form.js.eb201af5aaf0d60.gz", "fifteen digits are a file");
    put_file("form.js.EB201AF5AAF0D606.gz", "so are capitals");
    put_file("other.js", "hash me, too");
    put_file("other.js.eb201af5aaf0d606.br", "of what was there before");
    put_file("gone.js.eb201af5aaf0d606.gz", "of what is gone");
    assert_int_equal(tarn_pages_load(&pages, folder, why), TARN_OK);
    assert_int_equal(pages.stray_count, 2);
    const tarn_page *page = tarn_pages_find(&pages, "/form.js"), *other = tarn_pages_find(&pages, "/other.js");
    assert_non_null(page);
    assert_non_null(other);
    const tarn_page_form *brotli = &page->compressed[TARN_CODING_BROTLI], *gzip = &page->compressed[TARN_CODING_GZIP];
    assert_int_equal(page->byte_count, 7);
    assert_int_equal(brotli->byte_count, 6);
    assert_memory_equal(brotli->bytes, "brotli", 6);
    assert_int_equal(gzip->byte_count, 3);
    assert_memory_equal(gzip->bytes, "zip", 3);
    assert_string_not_equal(page->etag, brotli->etag);
    assert_string_not_equal(page->etag, gzip->etag);
    assert_string_not_equal(gzip->etag, brotli->etag);
    assert_null(other->compressed[TARN_CODING_BROTLI].bytes);
    assert_null(other->compressed[TARN_CODING_GZIP].bytes);
    assert_non_null(tarn_pages_find(&pages, "/form.js.eb201af5aaf0d60.gz"));
    assert_non_null(tarn_pages_find(&pages, "/form.js.EB201AF5AAF0D606.gz"));
    static const char *const no_files[] = {"/form.js.eb201af5aaf0d606.br", "/form.js.eb201af5aaf0d606.gz",
                                           "/other.js.eb201af5aaf0d606.br", "/gone.js.eb201af5aaf0d606.gz"};
    for (size_t i = 0; i < sizeof no_files / sizeof no_files[0]; i++) {
        assert_null(tarn_pages_find(&pages, no_files[i]));
    }
    tarn_pages_free(&pages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_are_found_by_their_path_and_nothing_else_is),
        cmocka_unit_test(test_an_etag_changes_with_the_content),
        cmocka_unit_test(test_compressed_forms_belong_to_the_file_beside_them),
        cmocka_unit_test(test_scenes_are_read_from_their_folder_and_nothing_else_is),
        cmocka_unit_test(test_responses_share_a_scenes_file),
        cmocka_unit_test(test_tanks_as_they_stand_are_held_up_to_a_limit),
        cmocka_unit_test(test_beside_a_named_scene_other_json_is_not_given_out),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
