/// A page of a server, fetched by a connection of its own.
#ifndef TARN_SERVER_TOOL_TOP_FETCH_H
#define TARN_SERVER_TOOL_TOP_FETCH_H

#include "server/tool/load/load_target.h"

#include <stdbool.h>
#include <stddef.h>

enum { TOP_PAGE_BYTES_MAX = 2 << 20, TOP_FETCH_MS_MAX = 3000, TOP_WHY_BYTES = 256, TOP_KEY_BYTES_MAX = 512 };

typedef struct top_page {
    char bytes[TOP_PAGE_BYTES_MAX + 1];
    char *body; ///< in bytes, ended by a NUL
    size_t body_bytes;
} top_page;

/// Asks for a page and waits for all of it, TOP_FETCH_MS_MAX at most.
/// @param key  of an owner, or a token; "": none
/// @param stops  asked ten times a second whether nobody wants it any more
/// @param why    on failure what went wrong, without a full stop; for people, and printable
bool top_fetch(const load_target *target, const char *path, const char *key, bool (*stops)(void), top_page *page,
               char why[TOP_WHY_BYTES]);

#endif
