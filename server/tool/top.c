// `tarn top`: pages of a server fetched and read, the screen, the table, and the command: start at run_on.
#include "server/tool/top.h"
#include "protocol/assert.h"
#include "server/base/clock.h"
#include "server/base/options.h"
#include "server/base/text.h"
#include "server/tool/load/socket.h"
#include "server/tool/tool.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

// ---- a page of the server ----
// Fetched by a connection of its own: HTTP as far as it takes to read a page of tarnd's. Start at top_fetch. Nothing
// blocks for longer than a tenth of a second.

enum { TOP_PAGE_BYTES_MAX = 2 << 20, TOP_FETCH_MS_MAX = 3000, TOP_WHY_BYTES = 256, TOP_KEY_BYTES_MAX = 512 };

typedef struct top_page {
    char bytes[TOP_PAGE_BYTES_MAX + 1];
    char *body; ///< in bytes, ended by a NUL
    size_t body_bytes;
} top_page;

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

/// Asks for a page and waits for all of it, TOP_FETCH_MS_MAX at most.
/// @param key  of an owner, or a token; "": none
/// @param stops  asked ten times a second whether nobody wants it any more
/// @param why    on failure what went wrong, without a full stop; for people, and printable
static bool top_fetch(const load_target *target, const char *path, const char *key, bool (*stops)(void), top_page *page,
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

// ---- pages, read ----
// Lines of Prometheus' format, by the names that the table needs: start at top_sample_read_metrics.

/// A line taken apart.
typedef struct series {
    const char *name;
    char session[TOP_NAME_BYTES], worker[16], le[32], version[64];
    double value;
} series;

/// Reads up to the closing quote, which escapes don't end. @return behind it; NULL: there is none
static const char *read_value(const char *at, char *value, size_t value_bytes)
{
    size_t used = 0;
    for (; *at != '"'; at++) {
        char c = *at;
        if (c == '\\') {
            c = *++at == 'n' ? '\n' : *at;
        }
        if (*at == '\0') {
            return NULL;
        }
        if (used + 1 < value_bytes) {
            value[used++] = c;
        }
    }
    value[used] = '\0';
    return at + 1;
}

/// @return behind the '}'; NULL: it is none
static const char *read_labels(const char *at, series *read)
{
    static char other[8];
    while (*at != '}') {
        const size_t bytes = strcspn(at, "=");
        char *value = other;
        size_t value_bytes = sizeof other;
        if (at[bytes] != '=' || at[bytes + 1] != '"') {
            return NULL;
        }
        if (bytes == 7 && strncmp(at, "session", bytes) == 0) {
            value = read->session;
            value_bytes = sizeof read->session;
        } else if (bytes == 6 && strncmp(at, "worker", bytes) == 0) {
            value = read->worker;
            value_bytes = sizeof read->worker;
        } else if (bytes == 2 && strncmp(at, "le", bytes) == 0) {
            value = read->le;
            value_bytes = sizeof read->le;
        } else if (bytes == 7 && strncmp(at, "version", bytes) == 0) {
            value = read->version;
            value_bytes = sizeof read->version;
        }
        at = read_value(at + bytes + 2, value, value_bytes);
        if (at == NULL) {
            return NULL;
        }
        at += *at == ',';
    }
    return at + 1;
}

static bool read_series(char *line, series *read)
{
    const size_t bytes = strcspn(line, "{ ");
    const char *rest = line + bytes;
    char *end;
    *read = (series){.name = line};
    if (line[0] == '#' || *rest == '\0') {
        return false;
    }
    if (*rest == '{') {
        rest = read_labels(rest + 1, read);
    }
    if (rest == NULL || *rest != ' ') {
        return false;
    }
    read->value = strtod(rest + 1, &end);
    line[bytes] = '\0';
    return end != rest + 1 && !isnan(read->value);
}

/// The tank of this name; NULL: there is none.
static const top_tank *top_sample_find(const top_sample *sample, const char *name)
{
    for (uint32_t i = 0; i < sample->tank_count; i++) {
        if (strcmp(sample->tanks[i].name, name) == 0) {
            return &sample->tanks[i];
        }
    }
    return NULL;
}

/// The tank of a label, made where it is new; NULL: there is no place for it.
static top_tank *tank_of(top_sample *sample, const series *read)
{
    top_tank *tank = (top_tank *)top_sample_find(sample, read->session);
    if (tank == NULL && sample->tank_count < TOP_TANKS_MAX) {
        tank = &sample->tanks[sample->tank_count++];
        *tank = (top_tank){.worker = -1};
        memcpy(tank->name, read->session, sizeof tank->name);
    }
    if (tank != NULL && read->worker[0] >= '0' && read->worker[0] <= '9') {
        tank->worker = (int)strtol(read->worker, NULL, 10);
    }
    return tank;
}

static void add_bucket(top_latency *latency, const series *read)
{
    const uint32_t count = latency->bucket_count;
    const double bound_s = strcmp(read->le, "+Inf") == 0 ? INFINITY : strtod(read->le, NULL);
    if (count < TOP_BUCKETS_MAX && (count == 0 || bound_s > latency->bound_s[count - 1])) {
        latency->bound_s[count] = bound_s;
        latency->below[count] = read->value;
        latency->bucket_count++;
    }
}

static void take_tank(top_sample *sample, const series *read, const char *what)
{
    top_tank *tank = tank_of(sample, read);
    if (tank == NULL) {
        sample->tanks_left_out += strcmp(what, "viewers") == 0;
        return;
    }
    const struct {
        const char *name;
        double *place;
    } all[] = {
        {"viewers", &tank->viewers},
        {"step_seconds", &tank->step_s},
        {"realtime_factor", &tank->realtime_factor},
        {"bytes_sent_total", &tank->bytes_sent},
        {"frames_skipped_total", &tank->frames_skipped},
        {"worker_losses_total", &tank->worker_losses},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(what, all[i].name) == 0) {
            *all[i].place = read->value;
            return;
        }
    }
    if (strcmp(what, "input_to_frame_seconds_bucket") == 0) {
        add_bucket(&tank->latency, read);
    }
}

static void take_server(top_sample *sample, const series *read)
{
    const struct {
        const char *name;
        double *place;
    } all[] = {
        {"tarn_viewers", &sample->viewers},
        {"tarn_bytes_sent_total", &sample->bytes_sent},
        {"process_open_fds", &sample->open_fds},
        {"process_max_fds", &sample->max_fds},
        {"process_resident_memory_bytes", &sample->resident_bytes},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(read->name, all[i].name) == 0) {
            *all[i].place = read->value;
            return;
        }
    }
    if (strcmp(read->name, "tarn_worker_ready") == 0) {
        sample->workers++;
        sample->workers_ready += read->value > 0;
    } else if (strcmp(read->name, "tarn_build_info") == 0) {
        memcpy(sample->version, read->version, sizeof sample->version);
    }
}

bool top_sample_read_metrics(top_sample *sample, char *text)
{
    static const char tank_prefix[] = "tarn_session_";
    bool is_tarnd = false;
    series read;
    *sample = (top_sample){.when_ns = sample->when_ns};
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (!read_series(line, &read)) {
            continue;
        }
        is_tarnd = is_tarnd || strcmp(read.name, "tarn_viewers") == 0;
        tarn_make_printable(read.version);
        if (strncmp(read.name, tank_prefix, sizeof tank_prefix - 1) == 0) {
            take_tank(sample, &read, read.name + sizeof tank_prefix - 1);
        } else {
            take_server(sample, &read);
        }
    }
    return is_tarnd;
}

void top_sample_read_sessions(top_sample *sample, const char *text, size_t text_bytes)
{
    json_t *read = json_loadb(text, text_bytes, 0, NULL), *sessions = json_object_get(read, "sessions"), *session;
    size_t index;
    json_array_foreach(sessions, index, session)
    {
        const char *name = json_string_value(json_object_get(session, "session"));
        const char *scene = json_string_value(json_object_get(session, "scene"));
        top_tank *tank = name != NULL ? (top_tank *)top_sample_find(sample, name) : NULL;
        if (tank != NULL && scene != NULL) {
            snprintf(tank->scene, sizeof tank->scene, "%s", scene);
        }
    }
    json_decref(read);
    // Only now: until here names are compared.
    for (uint32_t i = 0; i < sample->tank_count; i++) {
        tarn_make_printable(sample->tanks[i].name);
        tarn_make_printable(sample->tanks[i].scene);
    }
}

/// Of a bucket, those between two moments.
static double between(const top_latency *before, const top_latency *now, uint32_t i)
{
    const bool has_before = before != NULL && before->bucket_count == now->bucket_count;
    return now->below[i] - (has_before ? before->below[i] : 0);
}

double top_latency_quantile(const top_latency *before, const top_latency *now, double share)
{
    const uint32_t count = now->bucket_count;
    double bound_s = 0, below = 0;
    const double all = count > 0 ? between(before, now, count - 1) : 0;
    if (!(all > 0)) {
        return -1;
    }
    for (uint32_t i = 0; i < count; i++) {
        const double up_to = between(before, now, i);
        if (up_to >= share * all) {
            const double part = up_to > below ? (share * all - below) / (up_to - below) : 1;
            return isinf(now->bound_s[i]) ? INFINITY : bound_s + part * (now->bound_s[i] - bound_s);
        }
        bound_s = now->bound_s[i];
        below = up_to;
    }
    return INFINITY;
}

// ---- the screen ----
// The terminal that a table is renewed on, by plain ANSI sequences: its other screen, without echo and cursor while it
// is open, and as it was afterwards, whatever signal ends the program. Without a terminal texts follow each other.
// Start at take and give_back. Signals only set flags; the wait, which they interrupt, acts on them.

#define OTHER_SCREEN "\033[?1049h"
#define FIRST_SCREEN "\033[?1049l"
#define HIDE_CURSOR "\033[?25l"
#define SHOW_CURSOR "\033[?25h"
#define HOME "\033[H"
#define CLEAR_LINE "\033[K"
#define CLEAR_REST "\033[J"

static volatile sig_atomic_t interrupted, stopped;
static bool is_terminal, has_keys;
static struct termios keys_before;

static void on_signal(int number)
{
    if (number == SIGTSTP) {
        stopped = 1;
    } else {
        interrupted = 1;
    }
}

static void take(void)
{
    if (has_keys) {
        struct termios keys = keys_before;
        keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        keys.c_cc[VMIN] = 1;
        keys.c_cc[VTIME] = 0;
        tcsetattr(STDIN_FILENO, TCSANOW, &keys);
    }
    if (is_terminal) {
        fputs(OTHER_SCREEN HIDE_CURSOR HOME CLEAR_REST, stdout);
        fflush(stdout);
    }
}

static void give_back(void)
{
    if (is_terminal) {
        fputs(SHOW_CURSOR FIRST_SCREEN, stdout);
        fflush(stdout);
    }
    if (has_keys) {
        tcsetattr(STDIN_FILENO, TCSANOW, &keys_before);
    }
}

/// Catches signals; and where the output is a terminal, takes that over. Once in a program.
static void top_screen_open(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
    struct sigaction action = {.sa_handler = on_signal};
    is_terminal = isatty(STDOUT_FILENO);
    has_keys = is_terminal && isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &keys_before) == 0;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        sigaction(numbers[i], &action, NULL);
    }
    take();
}

/// The terminal is as it was.
static void top_screen_close(void)
{
    give_back();
    is_terminal = has_keys = false;
}

/// Whether a signal came that ends the program.
static bool top_screen_is_interrupted(void)
{
    return interrupted != 0;
}

static struct winsize window(void)
{
    struct winsize size = {0};
    if (is_terminal) {
        ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    }
    return size;
}

/// Lines that there is room for; 0: as many as come.
static uint32_t top_screen_rows(void)
{
    return window().ws_row;
}

/// The bytes of so many characters of a line, at most.
static size_t bytes_of(const char *line, size_t bytes, unsigned columns)
{
    size_t at = 0;
    for (unsigned count = 0; at < bytes && count < columns; count++) {
        do {
            at++;
        } while (at < bytes && ((unsigned char)line[at] & 0xc0) == 0x80);
    }
    return at;
}

/// Shows a text in place of the one before. Its lines end with '\n' and are cut at the terminal's width.
static void top_screen_show(const char *text)
{
    const unsigned columns = window().ws_col;
    if (!is_terminal) {
        fputs(text, stdout);
        fflush(stdout);
        return;
    }
    fputs(HOME, stdout);
    while (*text != '\0') {
        const size_t bytes = strcspn(text, "\n");
        fwrite(text, 1, columns > 0 ? bytes_of(text, bytes, columns) : bytes, stdout);
        fputs(CLEAR_LINE "\r\n", stdout);
        text += bytes + (text[bytes] == '\n');
    }
    fputs(CLEAR_REST, stdout);
    fflush(stdout);
}

/// Ctrl-Z: the shell gets its terminal as it was, and the table comes back with the program.
static void stop_for_a_while(void)
{
    stopped = 0;
    give_back();
    raise(SIGSTOP);
    take();
}

/// @return whether somebody pressed q
static bool read_keys(void)
{
    char keys[64];
    const ssize_t got = read(STDIN_FILENO, keys, sizeof keys);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) {
        has_keys = false; // nobody is there any more
    }
    return got > 0 && (memchr(keys, 'q', (size_t)got) != NULL || memchr(keys, 'Q', (size_t)got) != NULL);
}

typedef enum top_screen_event {
    TOP_SCREEN_TIME,        ///< nothing came in time
    TOP_SCREEN_QUIT,        ///< somebody pressed q
    TOP_SCREEN_INTERRUPTED, ///< by a signal, such as Ctrl-C
} top_screen_event;

/// Waits for a key or a signal.
static top_screen_event top_screen_wait(uint32_t wait_ms)
{
    const uint64_t until_ms = tarn_clock_monotonic_ns() / 1000000 + wait_ms;
    for (;;) {
        const uint64_t now_ms = tarn_clock_monotonic_ns() / 1000000;
        struct pollfd pollfd = {.fd = STDIN_FILENO, .events = POLLIN};
        if (interrupted) {
            return TOP_SCREEN_INTERRUPTED;
        }
        if (stopped) {
            stop_for_a_while();
        }
        if (now_ms >= until_ms) {
            return TOP_SCREEN_TIME;
        }
        const int slice_ms = until_ms - now_ms < 100 ? (int)(until_ms - now_ms) : 100; // a signal may come just before
        if (poll(&pollfd, has_keys ? 1 : 0, slice_ms) > 0 && read_keys()) {
            return TOP_SCREEN_QUIT;
        }
    }
}

// ---- the table ----
// A line for each tank below two about the server. Columns, with one space between them:
//
//     TANK 14, SCENE 11, W 2, VIEW 4, STEP ms 7, REAL 5, Mbit/s 7, DROP/s 6, P50ms 5, P99ms 5, RST 4

enum { HEAD_LINES = 3, NAME_COLUMNS = 14, SCENE_COLUMNS = 11 };

/// The text so far.
typedef struct table {
    char *text;
    size_t used;
} table;

__attribute__((format(printf, 2, 3))) static void put(table *self, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int bytes = vsnprintf(self->text + self->used, TOP_TABLE_BYTES - self->used, format, arguments);
    va_end(arguments);
    TARN_ASSERT(bytes >= 0 && self->used + (size_t)bytes < TOP_TABLE_BYTES);
    self->used += (size_t)bytes;
}

/// Puts so many characters of a text, whose last one is '~' where some are missing, and a space behind each.
static void put_text(table *self, const char *text, int columns)
{
    const char *at = text, *last = text; // where the last column's character begins
    int count = 0;
    while (*at != '\0' && count < columns) {
        last = at;
        do {
            at++;
        } while (((unsigned char)*at & 0xc0) == 0x80);
        count++;
    }
    if (*at != '\0') {
        put(self, "%.*s~ ", (int)(last - text), text);
    } else {
        put(self, "%s%*s ", text, columns - count, "");
    }
}

/// Puts a number in so many columns, with fewer decimals where it is large; '-' where there is none, '#' where it
/// doesn't fit.
static void put_number(table *self, double value, int columns, int decimals, char behind)
{
    char text[64];
    if (isnan(value) || value < 0) {
        put(self, "%*s%c", columns, "-", behind);
        return;
    }
    do {
        snprintf(text, sizeof text, "%.*f", decimals, value < 1e12 ? value : 1e12);
    } while ((int)strlen(text) > columns && decimals-- > 0);
    if ((int)strlen(text) > columns) {
        snprintf(text, sizeof text, "%.*s", columns, "########");
    }
    put(self, "%*s%c", columns, text, behind);
}

static void put_latency(table *self, const top_latency *before, const top_latency *now, double share)
{
    const double seconds = top_latency_quantile(before, now, share);
    if (isinf(seconds) && now->bucket_count > 1) {
        char text[32];
        snprintf(text, sizeof text, ">%.0f", 1e3 * now->bound_s[now->bucket_count - 2]);
        put(self, "%5s ", text);
        return;
    }
    put_number(self, seconds < 0 ? -1 : 1e3 * seconds, 5, 0, ' ');
}

/// What a counter rose by in a second; NAN: it isn't known.
static double rate(double before, double now, double seconds)
{
    return seconds > 0 && now >= before ? (now - before) / seconds : NAN;
}

static double seconds_between(const top_sample *before, const top_sample *now)
{
    return before != NULL ? 1e-9 * (double)(now->when_ns - before->when_ns) : 0;
}

static void put_tank(table *self, const top_sample *before, const top_sample *long_ago, const top_sample *now,
                     const top_tank *tank)
{
    const top_tank *was = before != NULL ? top_sample_find(before, tank->name) : NULL;
    const top_tank *was_long_ago = long_ago != NULL ? top_sample_find(long_ago, tank->name) : NULL;
    const double seconds = was != NULL ? seconds_between(before, now) : 0;
    put_text(self, tank->name, NAME_COLUMNS);
    put_text(self, tank->scene, SCENE_COLUMNS);
    put_number(self, tank->worker, 2, 0, ' ');
    put_number(self, tank->viewers, 4, 0, ' ');
    put_number(self, 1e3 * tank->step_s, 7, 2, ' ');
    put_number(self, tank->realtime_factor, 5, 2, ' ');
    put_number(self, 8e-6 * rate(was != NULL ? was->bytes_sent : 0, tank->bytes_sent, seconds), 7, 2, ' ');
    put_number(self, rate(was != NULL ? was->frames_skipped : 0, tank->frames_skipped, seconds), 6, 1, ' ');
    put_latency(self, was_long_ago != NULL ? &was_long_ago->latency : NULL, &tank->latency, 0.5);
    put_latency(self, was_long_ago != NULL ? &was_long_ago->latency : NULL, &tank->latency, 0.99);
    put_number(self, tank->worker_losses, 4, 0, '\n');
}

/// A line about the server, cut where it gets too long.
static void put_line(table *self, const char *line)
{
    put(self, "%.*s\n", TOP_COLUMNS, line);
}

void top_table_write(const char *authority, const top_sample *before, const top_sample *long_ago, const top_sample *now,
                     uint32_t rows, char text[TOP_TABLE_BYTES])
{
    table self = {.text = text};
    char line[512];
    TARN_ASSERT(rows >= HEAD_LINES + 3);
    const double mbit_s =
        8e-6 * rate(before != NULL ? before->bytes_sent : 0, now->bytes_sent, seconds_between(before, now));
    snprintf(line, sizeof line, "tarnd %.20s at %.60s", now->version[0] != '\0' ? now->version : "(old)", authority);
    put_line(&self, line);
    snprintf(line, sizeof line, "%u of %u workers ready, %u tanks, %.0f viewers, %.2f Mbit/s, %.0f/%.0f fds, %.0f MB",
             now->workers_ready, now->workers, now->tank_count + now->tanks_left_out, now->viewers,
             isnan(mbit_s) ? 0 : mbit_s, now->open_fds, now->max_fds, 1e-6 * now->resident_bytes);
    put_line(&self, line);
    put_line(&self, "TANK           SCENE        W VIEW STEP ms  REAL  Mbit/s DROP/s P50ms P99ms  RST");
    const uint32_t room = rows - HEAD_LINES;
    const uint32_t all = now->tank_count + now->tanks_left_out;
    const uint32_t shown = all <= room ? now->tank_count : room - 1 < now->tank_count ? room - 1 : now->tank_count;
    for (uint32_t i = 0; i < shown; i++) {
        put_tank(&self, before, long_ago, now, &now->tanks[i]);
    }
    if (shown < all) {
        put(&self, "and %u more\n", all - shown);
    }
}

// ---- the command ----

enum {
    OPTION_ONCE = 256,
    OPTION_KEY,
    INTERVAL_MS = 1000,
    SAMPLES_KEPT = 11, ///< the newest, and ten seconds before it
    ROWS_MIN = 6,
};

typedef struct top_arguments {
    load_target target;
    const char *command, *server, *key;
    bool once;
} top_arguments;

static top_sample samples[SAMPLES_KEPT]; // a ring
static uint32_t sample_next, sample_count;
static top_page page;

static error_t parse(int key, char *text, struct argp_state *state)
{
    top_arguments *arguments = state->input;
    char why[LOAD_TARGET_WHY_BYTES];
    switch (key) {
    case OPTION_ONCE:
        arguments->once = true;
        return 0;
    case OPTION_KEY:
        if (strlen(text) > TOP_KEY_BYTES_MAX || text[strcspn(text, " \t\r\n")] != 0) {
            argp_error(state, "--key: allowed are at most %d characters without blanks", TOP_KEY_BYTES_MAX);
        }
        arguments->key = text;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0) {
            argp_error(state, "found a second server, \"%s\", allowed is one", text);
        }
        arguments->server = text;
        return 0;
    case ARGP_KEY_END:
        if (!load_target_find(arguments->server, &arguments->target, why)) {
            tarn_make_printable(why);
            argp_error(state, "%s", why);
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const top_sample *sample_ago(uint32_t ago)
{
    return ago < sample_count ? &samples[(sample_next + SAMPLES_KEPT - 1 - ago) % SAMPLES_KEPT] : NULL;
}

/// Asks the server how it is. @return false: it can't be reached, or is no tarnd
static bool take_sample(const top_arguments *arguments, char why[TOP_WHY_BYTES])
{
    top_sample *sample = &samples[sample_next];
    if (!top_fetch(&arguments->target, "/metrics", arguments->key, top_screen_is_interrupted, &page, why)) {
        return false;
    }
    sample->when_ns = tarn_clock_monotonic_ns();
    if (!top_sample_read_metrics(sample, page.body)) {
        snprintf(why, TOP_WHY_BYTES, "what answers isn't tarnd");
        return false;
    }
    // Without it there are no scenes to show, but all the rest.
    const bool has_sessions =
        top_fetch(&arguments->target, "/sessions", arguments->key, top_screen_is_interrupted, &page, why);
    top_sample_read_sessions(sample, has_sessions ? page.body : "", has_sessions ? page.body_bytes : 0);
    const top_sample *before = sample_ago(0);
    if (before != NULL && sample->bytes_sent < before->bytes_sent) {
        sample_count = 0; // another server, or the same one after a new start
    }
    sample_next = (sample_next + 1) % SAMPLES_KEPT;
    sample_count = sample_count < SAMPLES_KEPT ? sample_count + 1 : SAMPLES_KEPT;
    return true;
}

static void show(const top_arguments *arguments)
{
    static char text[TOP_TABLE_BYTES];
    const uint32_t found = top_screen_rows(), rows = found > 1 ? found - 1 : UINT32_MAX;
    const top_sample *long_ago = arguments->once ? NULL : sample_ago(sample_count - 1);
    const bool has_before = sample_count > 1;
    top_table_write(arguments->target.authority, sample_ago(1), has_before ? long_ago : NULL, sample_ago(0),
                    rows < ROWS_MIN ? ROWS_MIN : rows, text);
    top_screen_show(text);
}

static void say_unreachable(const top_arguments *arguments, const char *why, uint64_t since_ns)
{
    char text[2 * TOP_WHY_BYTES + 200];
    const unsigned long long seconds = (tarn_clock_monotonic_ns() - since_ns) / 1000000000;
    snprintf(text, sizeof text, "%.100s can't be reached: %.200s\n%s (for %llu s)\n", arguments->target.authority, why,
             "Trying again each second; q or Ctrl-C ends this.", seconds);
    if (is_terminal) {
        top_screen_show(text);
    } else if (seconds == 0) {
        fprintf(stderr, "%s: %s can't be reached: %s; trying again each second\n", arguments->command,
                arguments->target.authority, why);
    }
}

/// Signals end it as they end any program.
static int run_once(const top_arguments *arguments)
{
    char why[TOP_WHY_BYTES];
    for (int i = 0; i < 2; i++) {
        if (i > 0) {
            (void)top_screen_wait(INTERVAL_MS);
        }
        if (!take_sample(arguments, why)) {
            fprintf(stderr, "%s: %s can't be reached: %s\n", arguments->command, arguments->target.authority, why);
            return EXIT_FAILURE;
        }
    }
    show(arguments);
    return EXIT_SUCCESS;
}

static int run_on(const top_arguments *arguments)
{
    char why[TOP_WHY_BYTES];
    uint64_t lost_ns = 0;
    top_screen_event event = TOP_SCREEN_TIME;
    while (event == TOP_SCREEN_TIME) {
        const uint64_t begin_ns = tarn_clock_monotonic_ns();
        if (take_sample(arguments, why)) {
            lost_ns = 0;
            show(arguments);
        } else if (!top_screen_is_interrupted()) {
            lost_ns = lost_ns != 0 ? lost_ns : tarn_clock_monotonic_ns();
            sample_count = 0;
            say_unreachable(arguments, why, lost_ns);
        }
        const uint64_t took_ms = (tarn_clock_monotonic_ns() - begin_ns) / 1000000;
        event = top_screen_wait(took_ms < INTERVAL_MS ? INTERVAL_MS - (uint32_t)took_ms : 1);
    }
    return event == TOP_SCREEN_QUIT ? EXIT_SUCCESS : TOOL_EXIT_INTERRUPTED;
}

int tool_top(int argc, char **argv)
{
    static const struct argp_option option_list[] = {
        {"once", OPTION_ONCE, NULL, 0, "Print one table and end", 0},
        {"key", OPTION_KEY, "KEY", 0, "The key of an owners' link, or a token: for a tarnd with --metrics owners", 0},
        {0},
    };
    static const struct argp argp = {
        .options = option_list,
        .parser = parse,
        .args_doc = "[SERVER]",
        .doc =
            "Shows the tanks of a running server, anew each second, until q or Ctrl-C.\v"
            "SERVER is HOST, HOST:PORT, http://HOST:PORT/ or https://HOST:PORT/; the default is 127.0.0.1:8080. "
            "Columns: the worker (W), "
            "viewers, the mean time of a step over the last second, simulated seconds per second, what is sent to "
            "viewers, frames that they were not sent, the time from an input to its frame in the last ten seconds, by "
            "which half of them and 99 % had come (with --once, of all since the tank began), and how often the "
            "worker ended with the tank (RST). --once takes a second, which rates are counted in. Names come from the "
            "server; what could steer a terminal in them is shown as '?'. Exit status: 0, 1 where --once can't reach "
            "the server, 2 for wrong options, 130 after an interrupt.",
    };
    top_arguments arguments = {.command = argv[0], .server = "127.0.0.1", .key = ""};
    tarn_options_parse(&argp, argc, argv, 0, &arguments);
    signal(SIGPIPE, SIG_IGN); // of connections by TLS
    if (arguments.once) {
        return run_once(&arguments);
    }
    top_screen_open();
    const int status = run_on(&arguments);
    top_screen_close();
    return status;
}
