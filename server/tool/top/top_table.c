// A line for each tank below two about the server. Columns, with one space between them:
//
//     TANK 14, SCENE 11, W 2, VIEW 4, STEP ms 7, REAL 5, Mbit/s 7, DROP/s 6, P50ms 5, P99ms 5, RST 4
#include "server/tool/top/top_table.h"
#include "protocol/assert.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { HEAD_LINES = 3, NAME_COLUMNS = 14, SCENE_COLUMNS = 11 };

/// The text so far.
typedef struct table {
    char *text;
    size_t used;
} table;

static void put(table *self, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(table *self, const char *format, ...)
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
