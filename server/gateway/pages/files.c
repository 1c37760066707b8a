// Reads the page's folder once, refusing links and what leads out of it; then gives compressed forms to the files that
// they were made from: start at tarn_pages_load.
#include "server/gateway/pages/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HASH_LETTERS = 16 }; // of a compressed form's name

static const struct {
    const char *ending, *type;
} types[] = {
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".mjs", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".wasm", "application/wasm"},
    {".json", "application/json"},
    {".map", "application/json"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".jpg", "image/jpeg"},
    {".ico", "image/x-icon"},
    {".webp", "image/webp"},
    {".glb", "model/gltf-binary"},
    {".woff2", "font/woff2"},
    {".txt", "text/plain; charset=utf-8"},
    {".webmanifest", "application/manifest+json"},
};

static const char *type_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot != NULL && i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(dot, types[i].ending) == 0) {
            return types[i].type;
        }
    }
    return "application/octet-stream";
}

/// FNV-1a's step on words of 8 bytes, each followed by a shift that brings high bits down: tells versions of a file
/// apart, promises nothing more. By bytes it would hold the loop up for 10 ms by a file of 8 MiB.
static uint64_t hash_of(const uint8_t *bytes, size_t count)
{
    uint64_t hash = 0xcbf29ce484222325u ^ count, word = 0;
    for (size_t at = 0; at < count; at += sizeof word) {
        word = 0;
        memcpy(&word, bytes + at, count - at < sizeof word ? count - at : sizeof word);
        hash = (hash ^ word) * 0x100000001b3u;
        hash ^= hash >> 29;
    }
    return hash;
}

void tarn_page_tag(const uint8_t *bytes, size_t byte_count, tarn_page_etag etag)
{
    snprintf(etag, sizeof(tarn_page_etag), "\"%016" PRIx64 "\"", hash_of(bytes, byte_count));
}

tarn_status tarn_page_read(int fd, uint8_t *bytes, size_t count)
{
    for (size_t have = 0; have < count;) {
        ssize_t got = read(fd, bytes + have, count - have);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return TARN_E_IO;
        }
        have += (size_t)got;
    }
    return TARN_OK;
}

static tarn_status refuse(tarn_text why, tarn_status status, const char *path, const char *sentence)
{
    snprintf(why, sizeof(tarn_text), "client file %.300s: %s", path, sentence);
    return status;
}

static tarn_status add_file(tarn_pages *pages, int fd, const char *path, size_t size, tarn_text why)
{
    if (pages->page_count == TARN_GATEWAY_PAGES_MAX) {
        return refuse(why, TARN_E_LIMIT, path, "there are too many files");
    }
    if (size > TARN_GATEWAY_PAGE_BYTES_MAX || size > TARN_GATEWAY_PAGES_BYTES_MAX - pages->byte_count) {
        return refuse(why, TARN_E_LIMIT, path, "it is too large");
    }
    tarn_page *page = &pages->pages[pages->page_count];
    *page = (tarn_page){0};
    page->bytes = malloc(size ? size : 1);
    page->path = strdup(path);
    tarn_status status =
        page->bytes != NULL && page->path != NULL ? tarn_page_read(fd, page->bytes, size) : TARN_E_MEMORY;
    if (status != TARN_OK) {
        free(page->bytes);
        free(page->path);
        return refuse(why, status, path, tarn_status_text(status));
    }
    page->byte_count = size;
    page->type = type_of(path);
    page->immutable = strncmp(path, "/assets/", 8) == 0;
    tarn_page_tag(page->bytes, size, page->etag);
    pages->page_count++;
    pages->byte_count += size;
    return TARN_OK;
}

static tarn_status add_directory(tarn_pages *pages, int fd, const char *path, int depth, tarn_text why);

static tarn_status add_entry(tarn_pages *pages, int directory_fd, const char *path, const char *name, int depth,
                             tarn_text why)
{
    char entry_path[1024];
    if ((size_t)snprintf(entry_path, sizeof entry_path, "%s/%s", path, name) >= sizeof entry_path) {
        return refuse(why, TARN_E_LIMIT, name, "its path is too long");
    }
    int fd = openat(directory_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return errno == ELOOP ? TARN_OK : refuse(why, TARN_E_IO, entry_path, strerror(errno));
    }
    struct stat found;
    tarn_status status = fstat(fd, &found) == 0 ? TARN_OK : TARN_E_IO;
    if (status == TARN_OK && S_ISDIR(found.st_mode)) {
        return add_directory(pages, fd, entry_path, depth + 1, why);
    }
    if (status == TARN_OK && S_ISREG(found.st_mode)) {
        status = add_file(pages, fd, entry_path, (size_t)found.st_size, why);
    }
    close(fd);
    return status;
}

/// Takes over the descriptor.
static tarn_status add_directory(tarn_pages *pages, int fd, const char *path, int depth, tarn_text why)
{
    DIR *directory = fdopendir(fd);
    if (directory == NULL || depth > TARN_GATEWAY_PAGES_DEPTH_MAX) {
        if (directory != NULL) {
            closedir(directory);
        } else {
            close(fd);
        }
        return refuse(why, TARN_E_LIMIT, path, "the directory cannot be read, or lies too deep");
    }
    tarn_status status = TARN_OK;
    struct dirent *entry;
    while (status == TARN_OK && (entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] != '.') {
            status = add_entry(pages, fd, path, entry->d_name, depth, why);
        }
    }
    closedir(directory);
    return status;
}

static void free_page(tarn_page *page)
{
    for (int i = 0; i < TARN_CODING_IDENTITY; i++) {
        free(page->compressed[i].bytes);
    }
    free(page->bytes);
    free(page->path);
}

/// Whether a path ends in .HASH and what says a coding. @param base_bytes  of the path in front of that
static bool is_form(const char *path, tarn_coding *coding, size_t *base_bytes)
{
    const size_t bytes = strlen(path), ending_bytes = 1 + HASH_LETTERS + 3;
    *base_bytes = bytes - ending_bytes;
    if (bytes <= ending_bytes || path[*base_bytes] != '.' ||
        strspn(path + *base_bytes + 1, "0123456789abcdef") != HASH_LETTERS) {
        return false;
    }
    *coding = strcmp(path + bytes - 3, ".br") == 0   ? TARN_CODING_BROTLI
              : strcmp(path + bytes - 3, ".gz") == 0 ? TARN_CODING_GZIP
                                                     : TARN_CODING_IDENTITY;
    return *coding != TARN_CODING_IDENTITY;
}

static bool has_hash(const tarn_page *page, const char *hash)
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    char text[HASH_LETTERS + 1];
    unsigned digest_bytes = 0;
    if (EVP_Digest(page->bytes, page->byte_count, digest, &digest_bytes, EVP_sha256(), NULL) != 1) {
        return false;
    }
    for (size_t i = 0; i < HASH_LETTERS / 2; i++) {
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    }
    return memcmp(text, hash, HASH_LETTERS) == 0;
}

/// The file that a compressed form was made from; NULL: it isn't there, or is another one by now.
static tarn_page *base_of(tarn_pages *pages, const char *path, size_t base_bytes)
{
    for (uint32_t i = 0; i < pages->page_count; i++) {
        tarn_page *page = &pages->pages[i];
        if (strlen(page->path) == base_bytes && memcmp(page->path, path, base_bytes) == 0) {
            return has_hash(page, path + base_bytes + 1) ? page : NULL;
        }
    }
    return NULL;
}

/// Gives the forms to their files, of which there are fewer then.
static void join_forms(tarn_pages *pages)
{
    for (uint32_t i = pages->page_count; i-- > 0;) {
        tarn_page *form = &pages->pages[i];
        tarn_coding coding;
        size_t base_bytes;
        if (!is_form(form->path, &coding, &base_bytes)) {
            continue;
        }
        tarn_page *base = base_of(pages, form->path, base_bytes);
        if (base != NULL) {
            tarn_page_form *place = &base->compressed[coding];
            free(place->bytes);
            *place = (tarn_page_form){.bytes = form->bytes, .byte_count = form->byte_count};
            memcpy(place->etag, form->etag, sizeof place->etag);
            form->bytes = NULL;
        } else {
            pages->stray_count++;
        }
        free_page(form);
        *form = pages->pages[--pages->page_count];
    }
}

tarn_status tarn_pages_load(tarn_pages *pages, const char *directory, tarn_text why)
{
    memset(pages, 0, sizeof *pages);
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        snprintf(why, sizeof(tarn_text), "client directory %.300s: %s", directory, strerror(errno));
        return TARN_E_NOT_FOUND;
    }
    tarn_status status = add_directory(pages, fd, "", 0, why);
    if (status == TARN_OK) {
        join_forms(pages);
    }
    if (status == TARN_OK && tarn_pages_find(pages, "/") == NULL) {
        snprintf(why, sizeof(tarn_text), "client directory %.300s: it has no index.html", directory);
        status = TARN_E_NOT_FOUND;
    }
    if (status != TARN_OK) {
        tarn_pages_free(pages);
    }
    return status;
}

void tarn_pages_free(tarn_pages *pages)
{
    for (uint32_t i = 0; i < pages->page_count; i++) {
        free_page(&pages->pages[i]);
    }
    memset(pages, 0, sizeof *pages);
}

const tarn_page *tarn_pages_find(const tarn_pages *pages, const char *path)
{
    if (strcmp(path, "/") == 0) {
        path = "/index.html";
    }
    for (uint32_t i = 0; i < pages->page_count; i++) {
        if (strcmp(pages->pages[i].path, path) == 0) {
            return &pages->pages[i];
        }
    }
    return NULL;
}
