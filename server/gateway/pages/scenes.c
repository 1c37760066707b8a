// Files below the scenes' directory, opened component by component without following links, kept while they are sent:
// begin at tarn_scene_page_open.
#include "server/gateway/pages/scenes.h"
#include "protocol/assert.h"
#include "server/log/follow.h"
#include "server/scene/archive.h"
#include "server/scene/scene.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

static const struct {
    const char *ending, *type;
} types[] = {
    {".json", "application/json"},        {".obj", "text/plain; charset=utf-8"}, {".stl", "application/octet-stream"},
    {".ply", "application/octet-stream"}, {".glb", "model/gltf-binary"},         {".pgm", "application/octet-stream"},
};

/// NULL for what isn't served.
static const char *type_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot != NULL && i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(dot, types[i].ending) == 0) {
            return types[i].type;
        }
    }
    return NULL;
}

/// The number of bytes of the path's first name, or 0 where it isn't one.
static size_t name_bytes(const char *path)
{
    const size_t bytes = strspn(path, NAME_BYTES);
    return path[0] == '.' || (path[bytes] != '/' && path[bytes] != 0) ? 0 : bytes;
}

/// Opens a file, folder by folder. @return a descriptor or -1
static int open_below(const char *directory, const char *path)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t bytes; fd >= 0; path += bytes + 1) {
        char name[TARN_SCENE_PAGES_PATH_BYTES_MAX + 1];
        bytes = name_bytes(path);
        memcpy(name, path, bytes);
        name[bytes] = 0;
        const bool is_last = path[bytes] == 0;
        int next = -1;
        if (bytes > 0) {
            next = openat(fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | (is_last ? O_NONBLOCK : O_DIRECTORY));
        }
        close(fd);
        fd = next;
        if (is_last) {
            return fd;
        }
    }
    return fd;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/// The page in use that holds this state of a file, with the type that a path gives it; or NULL.
static tarn_scene_page *find_used(const tarn_scene_pages *pages, const struct stat *found, const char *type)
{
    for (tarn_scene_page *page = pages->first; page != NULL; page = page->next) {
        const struct stat *held = &page->found;
        if (held->st_dev == found->st_dev && held->st_ino == found->st_ino && held->st_size == found->st_size &&
            is_same_time(&held->st_mtim, &found->st_mtim) && is_same_time(&held->st_ctim, &found->st_ctim) &&
            page->page.type == type) {
            return page;
        }
    }
    return NULL;
}

/// Takes over a share of what is in use, or reads the file.
static tarn_status open_file(tarn_scene_pages *pages, int fd, const char *type, tarn_scene_page **taken)
{
    struct stat found;
    if (fstat(fd, &found) != 0 || !S_ISREG(found.st_mode)) {
        return TARN_E_NOT_FOUND;
    }
    if (found.st_size > TARN_GATEWAY_PAGE_BYTES_MAX) {
        return TARN_E_LIMIT;
    }
    tarn_scene_page *page = find_used(pages, &found, type);
    if (page == NULL) {
        page = calloc(1, sizeof *page);
        uint8_t *bytes = page != NULL ? malloc(found.st_size > 0 ? (size_t)found.st_size : 1) : NULL;
        const tarn_status status = bytes != NULL ? tarn_page_read(fd, bytes, (size_t)found.st_size) : TARN_E_MEMORY;
        if (status != TARN_OK) { // it may have become shorter
            free(bytes);
            free(page);
            return status;
        }
        page->page.bytes = bytes;
        page->page.byte_count = (size_t)found.st_size;
        page->page.type = type;
        tarn_page_tag(page->page.bytes, page->page.byte_count, page->page.etag);
        page->found = found;
        page->pages = pages;
        page->next = pages->first;
        pages->first = page;
    }
    page->user_count++;
    *taken = page;
    return TARN_OK;
}

tarn_status tarn_scene_page_open(tarn_scene_pages *pages, const char *directory, const char *path,
                                 tarn_scene_page **page)
{
    *page = NULL;
    const size_t prefix = strlen(TARN_SCENE_PAGES_PREFIX);
    if (strncmp(path, TARN_SCENE_PAGES_PREFIX, prefix) != 0 ||
        strlen(path + prefix) > TARN_SCENE_PAGES_PATH_BYTES_MAX) {
        return TARN_E_NOT_FOUND;
    }
    const char *type = type_of(path + prefix);
    if (type == NULL) {
        return TARN_E_NOT_FOUND;
    }
    int fd = open_below(directory, path + prefix);
    if (fd < 0) {
        return TARN_E_NOT_FOUND;
    }
    tarn_status status = open_file(pages, fd, type, page);
    close(fd);
    return status;
}

tarn_status tarn_scene_page_open_own(tarn_scene_pages *pages, const char *scene_file, const char *path,
                                     tarn_scene_page **page)
{
    *page = NULL;
    const char *slash = strrchr(scene_file, '/'), *ending = strrchr(path, '.');
    const char *name = slash != NULL ? slash + 1 : scene_file;
    const size_t prefix = strlen(TARN_SCENE_PAGES_PREFIX);
    if (strncmp(path, TARN_SCENE_PAGES_PREFIX, prefix) != 0 || access(scene_file, F_OK) != 0) {
        return TARN_E_NOT_FOUND;
    }
    if (ending != NULL && strcmp(ending, ".json") == 0 && strcmp(path + prefix, name) != 0) {
        return TARN_E_NOT_FOUND;
    }
    char directory[PATH_MAX + 2];
    if (snprintf(directory, sizeof directory, "%.*s.", (int)(name - scene_file), scene_file) >= (int)sizeof directory) {
        return TARN_E_NOT_FOUND;
    }
    return tarn_scene_page_open(pages, directory, path, page);
}

/// Who sends the same bytes shares them.
static tarn_scene_page *find_same(const tarn_scene_pages *pages, const tarn_page *made)
{
    for (tarn_scene_page *page = pages->first; page != NULL; page = page->next) {
        if (!page->is_gone && page->page.byte_count == made->byte_count && page->page.type == made->type &&
            strcmp(page->page.etag, made->etag) == 0 &&
            (made->byte_count == 0 || memcmp(page->page.bytes, made->bytes, made->byte_count) == 0)) {
            return page;
        }
    }
    return NULL;
}

/// Lets go of the bytes, whoever is sending them.
static void give_up_bytes(tarn_scene_page *page)
{
    page->pages->told_bytes -= page->told_ns != 0 ? page->page.byte_count : 0;
    free(page->page.bytes);
    page->page.bytes = NULL;
    page->page.byte_count = 0;
    page->is_gone = true;
}

/// @return false: there is no room for one more tank as it stands
static bool make_room(tarn_scene_pages *pages, size_t byte_count, uint64_t now_ns)
{
    while (byte_count > TARN_GATEWAY_TOLD_BYTES_MAX - pages->told_bytes) {
        tarn_scene_page *oldest = NULL;
        for (tarn_scene_page *page = pages->first; page != NULL; page = page->next) {
            if (page->told_ns != 0 && !page->is_gone && (oldest == NULL || page->told_ns < oldest->told_ns)) {
                oldest = page;
            }
        }
        if (oldest == NULL || now_ns - oldest->told_ns <= TARN_GATEWAY_TOLD_MS_MIN * UINT64_C(1000000)) {
            return false;
        }
        give_up_bytes(oldest);
    }
    return true;
}

/// Takes over what was made, or shares the same. @param told_ns  0: of a file
static tarn_status share_made(tarn_scene_pages *pages, tarn_page *made, uint64_t told_ns, tarn_scene_page **page)
{
    tarn_page_tag(made->bytes, made->byte_count, made->etag);
    tarn_scene_page *found = find_same(pages, made);
    if (found != NULL) {
        free(made->bytes);
        found->told_ns = found->told_ns != 0 && told_ns != 0 ? told_ns : found->told_ns;
    } else if (told_ns != 0 && !make_room(pages, made->byte_count, told_ns)) {
        free(made->bytes);
        return TARN_E_LIMIT;
    } else if ((found = calloc(1, sizeof *found)) == NULL) {
        free(made->bytes);
        return TARN_E_MEMORY;
    } else {
        *found = (tarn_scene_page){.page = *made, .pages = pages, .next = pages->first, .told_ns = told_ns};
        pages->first = found;
        pages->told_bytes += told_ns != 0 ? made->byte_count : 0;
    }
    found->user_count++;
    *page = found;
    return TARN_OK;
}

tarn_status tarn_scene_page_open_kept(tarn_scene_pages *pages, int box_fd, const char *name, tarn_scene_page **page)
{
    tarn_box_bytes content = {0};
    tarn_page made = {.type = type_of(name)};
    *page = NULL;
    tarn_status status = made.type != NULL && tarn_scene_file_name_valid(name)
                             ? tarn_box_scene_file(box_fd, name, &content)
                             : TARN_E_NOT_FOUND;
    if (status != TARN_OK) {
        tarn_box_bytes_free(&content);
        return status;
    }
    made.bytes = content.bytes;
    made.byte_count = content.count;
    return share_made(pages, &made, 0, page);
}

tarn_status tarn_scene_page_open_archive(tarn_scene_pages *pages, int box_fd, tarn_scene_page **page)
{
    tarn_box_bytes pack = {0};
    tarn_page made = {.type = "application/x-tar"};
    *page = NULL;
    tarn_status status = tarn_box_scene(box_fd, &pack);
    if (status == TARN_OK) {
        status = tarn_scene_archive_write(pack.bytes, pack.count, TARN_GATEWAY_PAGE_BYTES_MAX, &made.bytes,
                                          &made.byte_count);
    }
    tarn_box_bytes_free(&pack);
    return status == TARN_OK ? share_made(pages, &made, 0, page) : status;
}

tarn_status tarn_scene_page_take(tarn_scene_pages *pages, uint8_t *bytes, size_t byte_count, uint64_t now_ns,
                                 tarn_scene_page **page)
{
    tarn_page made = {.type = "application/x-tar", .bytes = bytes, .byte_count = byte_count};
    *page = NULL;
    TARN_ASSERT(now_ns > 0);
    return share_made(pages, &made, now_ns, page);
}

void tarn_scene_page_close(tarn_scene_page *page)
{
    if (page == NULL || --page->user_count > 0) {
        return;
    }
    for (tarn_scene_page **link = &page->pages->first; *link != NULL; link = &(*link)->next) {
        if (*link != page) {
            continue;
        }
        *link = page->next;
        break;
    }
    give_up_bytes(page);
    free(page);
}

// ---- the scene that the server was started with ----
// One given by its file is found under the file's name, beside the scenes of the directory.

/// The name of a file's scene. @return false: `scene` is no file's, or of one that can't be a scene
static bool name_of(const char *scene, tarn_name name)
{
    const char *slash = strrchr(scene, '/'), *file = slash != NULL ? slash + 1 : scene, *ending = strrchr(file, '.');
    if (ending == NULL || strcmp(ending, ".json") != 0 || ending - file > TARN_NAME_BYTES_MAX) {
        return false;
    }
    snprintf(name, sizeof(tarn_name), "%.*s", (int)(ending - file), file);
    return tarn_scene_name_valid(name);
}

void tarn_own_scene_list(const char *scene, tarn_ipc_scenes *scenes)
{
    tarn_name name;
    uint32_t place = 0;
    if (!name_of(scene, name)) {
        return;
    }
    while (place < scenes->count && strcmp(scenes->names[place], name) < 0) {
        place++;
    }
    if (place < scenes->count && strcmp(scenes->names[place], name) == 0) {
        return;
    }
    if (scenes->count < TARN_SCENES_MAX) {
        scenes->count++;
    }
    if (place == scenes->count) {
        place--;
    }
    memmove(scenes->names[place + 1], scenes->names[place], (scenes->count - 1 - place) * sizeof(tarn_name));
    memcpy(scenes->names[place], name, sizeof(tarn_name));
}

bool tarn_own_scene_is_listed(const tarn_ipc_scenes *scenes, const char *name)
{
    for (uint32_t i = 0; i < scenes->count; i++) {
        if (strcmp(scenes->names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

const char *tarn_own_scene_find(const char *scene, const char *name)
{
    tarn_name own;
    return name_of(scene, own) && strcmp(own, name) == 0 ? scene : name;
}
