/// The page's files, read into memory once at the start. A request can only ever get one of them: there is no path from
/// a URL to the file system.
///
/// Beside a file NAME there may be compressed forms of it: NAME.HASH.br and NAME.HASH.gz, HASH the first 16 digits of
/// the file's SHA-256 (web-client/build/compress.ts). They aren't files of their own; what belongs to no file that is
/// there is left out.
#ifndef TARN_SERVER_GATEWAY_PAGES_FILES_H
#define TARN_SERVER_GATEWAY_PAGES_FILES_H

#include "protocol/status.h"
#include "server/base/limits.h"
#include "server/net/http_head.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef char tarn_page_etag[24]; ///< with its quotes; of the bytes that are sent

typedef struct tarn_page_form {
    tarn_page_etag etag;
    uint8_t *bytes; ///< NULL: there is no such form
    size_t byte_count;
} tarn_page_form;

typedef struct tarn_page {
    char *path;       ///< as in a URL: "/assets/main.js"
    const char *type; ///< media type
    tarn_page_etag etag;
    bool immutable; ///< its name changes with its content
    uint8_t *bytes;
    size_t byte_count;
    tarn_page_form compressed[TARN_CODING_IDENTITY];
} tarn_page;

typedef struct tarn_pages {
    uint32_t page_count;
    uint32_t stray_count; ///< compressed forms of other files than those that are there
    size_t byte_count;
    tarn_page pages[TARN_GATEWAY_PAGES_MAX];
} tarn_pages;

/// Reads a directory with everything in it, except what begins with a dot and what is no plain file.
/// @param why  on failure a sentence
/// @return TARN_OK, TARN_E_NOT_FOUND, TARN_E_IO, TARN_E_LIMIT or TARN_E_MEMORY; on failure nothing is held
tarn_status tarn_pages_load(tarn_pages *pages, const char *directory, tarn_text why);
void tarn_pages_free(tarn_pages *pages);

/// Reads so many bytes. @return TARN_OK or TARN_E_IO: there are fewer, or they can't be read
tarn_status tarn_page_read(int fd, uint8_t *bytes, size_t count);

/// The etag of bytes.
void tarn_page_tag(const uint8_t *bytes, size_t byte_count, tarn_page_etag etag);

/// The page of a URL's path; "/" stands for "/index.html". NULL where there is none.
const tarn_page *tarn_pages_find(const tarn_pages *pages, const char *path);

#endif
