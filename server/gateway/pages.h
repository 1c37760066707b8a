/// The page's files, read into memory once at the start. A request can only ever get one of them: there is no path from
/// a URL to the file system.
#ifndef TARN_SERVER_GATEWAY_PAGES_H
#define TARN_SERVER_GATEWAY_PAGES_H

#include "protocol/status.h"
#include "server/gateway/gateway_limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tarn_page {
    char *path;       ///< as in a URL: "/assets/main.js"
    const char *type; ///< media type
    char etag[20];    ///< with its quotes; of the content
    bool immutable;   ///< its name changes with its content
    uint8_t *bytes;
    size_t byte_count;
} tarn_page;

typedef struct tarn_pages {
    uint32_t page_count;
    size_t byte_count;
    tarn_page pages[TARN_GATEWAY_PAGES_MAX];
} tarn_pages;

/// Reads a directory with everything in it, except what begins with a dot and what is no plain file.
/// @param why  on failure a sentence
/// @return TARN_OK, TARN_E_NOT_FOUND, TARN_E_IO, TARN_E_LIMIT or TARN_E_MEMORY; on failure nothing is held
tarn_status tarn_pages_load(tarn_pages *pages, const char *directory, tarn_text why);
void tarn_pages_free(tarn_pages *pages);

/// Fills a page's etag from its bytes.
void tarn_page_tag(tarn_page *page);

/// The page of a URL's path; "/" stands for "/index.html". NULL where there is none.
const tarn_page *tarn_pages_find(const tarn_pages *pages, const char *path);

#endif
