// HTTP as far as it takes to read a page of tarnd's: start at top_fetch. Nothing blocks for longer than a tenth of a
// second.
#include "server/tool/top/top_fetch.h"
#include "server/common/clock.h"
#include "server/common/printable.h"
#include "server/tool/load/load_channel.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SLICE_MS = 100 };

/// A fetch in progress.
typedef struct fetch {
    int fd;
    load_channel channel; ///< zeros until there is a connection
    uint64_t until_ns;
    bool (*stops)(void);
    char *why;
} fetch;

static bool fail(const fetch *self, const char *sentence)
{
    snprintf(self->why, TOP_WHY_BYTES, "%s", sentence);
    return false;
}

/// Waits until the socket can be read or written.
static bool await(const fetch *self, short events)
{
    struct pollfd pollfd = {.fd = self->fd, .events = events};
    while (tarn_clock_monotonic_ns() < self->until_ns) {
        if (self->stops()) {
            return fail(self, "interrupted");
        }
        if (poll(&pollfd, 1, SLICE_MS) > 0) {
            return true;
        }
    }
    return fail(self, "no answer in time");
}

static bool open_connection(fetch *self, const load_target *target)
{
    int error = 0;
    socklen_t error_bytes = sizeof error;
    self->fd = socket(target->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (self->fd < 0) {
        return fail(self, strerror(errno));
    }
    if (connect(self->fd, (const struct sockaddr *)&target->address, target->address_bytes) == 0) {
        return true;
    }
    if (errno != EINPROGRESS) {
        return fail(self, strerror(errno));
    }
    if (!await(self, POLLOUT)) {
        return false;
    }
    getsockopt(self->fd, SOL_SOCKET, SO_ERROR, &error, &error_bytes);
    return error == 0 || fail(self, strerror(error));
}

/// Why the channel took or gave nothing.
static bool fail_channel(const fetch *self)
{
    char sentence[LOAD_CHANNEL_WHY_BYTES];
    load_channel_why(&self->channel, sentence);
    return fail(self, sentence);
}

static bool send_request(fetch *self, const load_target *target, const char *path, const char *key)
{
    char request[512 + TOP_KEY_BYTES_MAX];
    const int bytes =
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%s%s%s\r\n", path,
                 target->authority, key[0] != 0 ? "Authorization: Bearer " : "", key, key[0] != 0 ? "\r\n" : "");
    if (load_channel_open(&self->channel, self->fd, target) != TARN_OK) {
        return fail(self, "there is no memory");
    }
    ssize_t sent;
    do { // by TLS hands are shaken first
        if (!await(self, self->channel.waits_for_peer ? POLLIN : POLLOUT)) {
            return false;
        }
        sent = load_channel_send(&self->channel, request, (size_t)bytes);
    } while (sent < 0 && (errno == EAGAIN || errno == EINTR));
    // So few bytes find room in a new connection, or it isn't one.
    return sent == bytes || fail_channel(self);
}

/// What begins a line of the head: a header's value. NULL: it isn't there.
static const char *find_header(const char *head, const char *name)
{
    for (const char *line = strstr(head, "\r\n"); line != NULL; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, strlen(name)) == 0) {
            const char *value = line + 2 + strlen(name);
            return value + strspn(value, " ");
        }
    }
    return NULL;
}

/// The bytes that the body will have; -1: up to the connection's end. False where it can't be read.
static bool read_head(const fetch *self, const char *head, long *expected)
{
    char sentence[TOP_WHY_BYTES];
    int status;
    if (sscanf(head, "HTTP/1.%*1d %3d", &status) != 1) {
        return fail(self, "what answers isn't HTTP");
    }
    if (status == 308) {
        return fail(self, "it answers by TLS alone, allowed is https:// before its name");
    }
    if (status == 403) {
        return fail(self,
                    "it tells owners alone, or its own machine (tarnd --metrics); --key KEY says that one owns a tank");
    }
    if (status != 200) {
        snprintf(sentence, sizeof sentence, "the answer was %d", status);
        return fail(self, sentence);
    }
    if (find_header(head, "transfer-encoding:") != NULL) {
        return fail(self, "the answer comes in chunks, which a proxy may make of it");
    }
    const char *length = find_header(head, "content-length:");
    *expected = length != NULL ? strtol(length, NULL, 10) : -1;
    return *expected <= TOP_PAGE_BYTES_MAX || fail(self, "the answer is too large");
}

static bool receive(fetch *self, top_page *page)
{
    size_t have = 0;
    long expected = -1;
    page->body = NULL;
    for (;;) {
        if (!load_channel_has_more(&self->channel) && !await(self, POLLIN)) {
            return false;
        }
        const ssize_t got = load_channel_receive(&self->channel, page->bytes + have, TOP_PAGE_BYTES_MAX - have);
        if (got < 0 && errno != EAGAIN && errno != EINTR) {
            return fail_channel(self);
        }
        have += got > 0 ? (size_t)got : 0;
        page->bytes[have] = '\0';
        char *end = page->body == NULL ? strstr(page->bytes, "\r\n\r\n") : NULL;
        if (end != NULL) {
            *end = '\0';
            page->body = end + 4;
            if (!read_head(self, page->bytes, &expected)) {
                return false;
            }
        }
        page->body_bytes = page->body != NULL ? (size_t)(page->bytes + have - page->body) : 0;
        if (page->body != NULL && expected >= 0 && page->body_bytes >= (size_t)expected) {
            page->body_bytes = (size_t)expected;
            page->body[expected] = '\0';
            return true;
        }
        if (got == 0) {
            return (page->body != NULL && expected < 0) || fail(self, "the connection ended before the answer did");
        }
        if (have == TOP_PAGE_BYTES_MAX) {
            return fail(self, "the answer is too large");
        }
    }
}

bool top_fetch(const load_target *target, const char *path, const char *key, bool (*stops)(void), top_page *page,
               char why[TOP_WHY_BYTES])
{
    fetch self = {.fd = -1,
                  .until_ns = tarn_clock_monotonic_ns() + TOP_FETCH_MS_MAX * (uint64_t)1000000,
                  .stops = stops,
                  .why = why};
    const bool good = open_connection(&self, target) && send_request(&self, target, path, key) && receive(&self, page);
    load_channel_close(&self.channel);
    if (self.fd >= 0) {
        close(self.fd);
    }
    tarn_make_printable(why);
    return good;
}
