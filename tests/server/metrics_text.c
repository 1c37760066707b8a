// Line by line, a metric at a time: start at metrics_text_check.
#include "tests/server/metrics_text.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 96, LABELS_BYTES = 1024, SAMPLES_MAX = 4096, SERIES_MAX = 20000 };

typedef struct sample {
    char name[NAME_BYTES];
    char labels[LABELS_BYTES]; // without le, each with a comma behind it
    char le[32];               // empty: it has none
    double value;
} sample;

typedef struct reader {
    char metric[NAME_BYTES], type[16];
    bool has_help, has_type;
    sample *samples; // of the metric
    int count;
    char **seen; // metrics and series, so far
    int seen_count;
    char *why;
    size_t why_bytes;
} reader;

static bool fail(reader *self, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool fail(reader *self, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(self->why, self->why_bytes, format, arguments);
    va_end(arguments);
    return false;
}

/// Notes a text. @return false: it was there
static bool note(reader *self, const char *kind, const char *text)
{
    char all[NAME_BYTES + LABELS_BYTES + 64];
    snprintf(all, sizeof all, "%s %s", kind, text);
    for (int i = 0; i < self->seen_count; i++) {
        if (strcmp(self->seen[i], all) == 0) {
            return false;
        }
    }
    if (self->seen_count < SERIES_MAX) {
        self->seen[self->seen_count++] = strdup(all);
    }
    return true;
}

/// The bytes of a name of a metric or a label; 0: there is none.
static size_t name_bytes(const char *text, bool is_label)
{
    size_t bytes = 0;
    while (isalnum((unsigned char)text[bytes]) || text[bytes] == '_' || (text[bytes] == ':' && !is_label)) {
        bytes++;
    }
    return bytes > 0 && bytes < NAME_BYTES && !isdigit((unsigned char)text[0]) ? bytes : 0;
}

static bool ends_in(const char *text, const char *end)
{
    const size_t bytes = strlen(text), end_bytes = strlen(end);
    return bytes >= end_bytes && strcmp(text + bytes - end_bytes, end) == 0;
}

static bool check_name(reader *self)
{
    static const char *const units[] = {"_ms",        "_milliseconds", "_us",      "_kb",
                                        "_kilobytes", "_mb",           "_percent", "_minutes"};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (ends_in(self->metric, units[i])) {
            return fail(self, "%s isn't in a base unit", self->metric);
        }
    }
    if ((strcmp(self->type, "counter") == 0) != ends_in(self->metric, "_total")) {
        return fail(self, "%s is a %s: counters, and only those, end in _total", self->metric, self->type);
    }
    if (ends_in(self->metric, "_count") || ends_in(self->metric, "_sum") || ends_in(self->metric, "_bucket")) {
        return fail(self, "%s ends in what a histogram's samples end in", self->metric);
    }
    return true;
}

static const sample *find_sample(const reader *self, const char *suffix, const char *labels)
{
    char name[NAME_BYTES + 16];
    snprintf(name, sizeof name, "%s%s", self->metric, suffix);
    for (int i = 0; i < self->count; i++) {
        if (strcmp(self->samples[i].name, name) == 0 && strcmp(self->samples[i].labels, labels) == 0) {
            return &self->samples[i];
        }
    }
    return NULL;
}

/// One histogram: its buckets stand together, rise, and end in +Inf.
static bool check_buckets(reader *self, int first, int *next)
{
    const char *labels = self->samples[first].labels;
    double bound = -INFINITY, below = 0;
    int at = first;
    for (; at < self->count && self->samples[at].le[0] != '\0' && strcmp(self->samples[at].labels, labels) == 0; at++) {
        const double le = strcmp(self->samples[at].le, "+Inf") == 0 ? INFINITY : strtod(self->samples[at].le, NULL);
        if (!(le > bound) || self->samples[at].value < below) {
            return fail(self, "%s{%s}: the bucket of %s doesn't follow", self->metric, labels, self->samples[at].le);
        }
        bound = le;
        below = self->samples[at].value;
    }
    const sample *sum = find_sample(self, "_sum", labels), *count = find_sample(self, "_count", labels);
    if (bound != INFINITY || sum == NULL || count == NULL || count->value != below) {
        return fail(self, "%s{%s}: +Inf, _sum or _count is missing, or they differ", self->metric, labels);
    }
    *next = at;
    return true;
}

/// All samples of the metric that ends here.
static bool check_metric(reader *self)
{
    if (self->metric[0] == '\0') {
        return true;
    }
    if (!self->has_type) {
        return fail(self, "%s has no TYPE", self->metric);
    }
    const bool is_histogram = strcmp(self->type, "histogram") == 0, is_summary = strcmp(self->type, "summary") == 0;
    for (int i = 0; i < self->count; i++) {
        const sample *of = &self->samples[i];
        const char *suffix = of->name + strlen(self->metric);
        const bool is_part = strcmp(suffix, "_sum") == 0 || strcmp(suffix, "_count") == 0;
        const bool is_bucket = strcmp(suffix, "_bucket") == 0;
        if (strncmp(of->name, self->metric, strlen(self->metric)) != 0 ||
            !(is_histogram ? is_part || is_bucket
              : is_summary ? is_part
                           : suffix[0] == '\0') ||
            is_bucket != (of->le[0] != '\0')) {
            return fail(self, "%s stands below %s, a %s", of->name, self->metric, self->type);
        }
        if (!isfinite(of->value) || (strcmp(self->type, "gauge") != 0 && of->value < 0)) {
            return fail(self, "%s is %g", of->name, of->value);
        }
        if (is_part &&
            (find_sample(self, "_sum", of->labels) == NULL || find_sample(self, "_count", of->labels) == NULL ||
             (is_histogram && find_sample(self, "_bucket", of->labels) == NULL))) {
            return fail(self, "%s{%s} has not all its parts", self->metric, of->labels);
        }
    }
    for (int i = 0; i < self->count;) {
        if (self->samples[i].le[0] == '\0') {
            i++;
        } else if (!check_buckets(self, i, &i)) {
            return false;
        }
    }
    return true;
}

static bool read_comment(reader *self, const char *line)
{
    const bool is_help = strncmp(line, "# HELP ", 7) == 0;
    const char *name = line + 7;
    const size_t bytes = name_bytes(name, false);
    if ((!is_help && strncmp(line, "# TYPE ", 7) != 0) || bytes == 0 || name[bytes] != ' ' || name[bytes + 1] == '\0') {
        return fail(self, "neither HELP nor TYPE: %s", line);
    }
    const char *rest = name + bytes + 1;
    if (is_help) {
        if (!check_metric(self)) {
            return false;
        }
        snprintf(self->metric, sizeof self->metric, "%.*s", (int)bytes, name);
        self->has_help = true;
        self->has_type = false;
        self->count = 0;
        for (const char *c = rest; *c != '\0'; c++) {
            if (*c == '\\' && *++c != '\\' && *c != 'n') {
                return fail(self, "a wrong escape: %s", line);
            }
        }
        return note(self, "metric", self->metric) || fail(self, "%s comes twice", self->metric);
    }
    if (strlen(self->metric) != bytes || strncmp(self->metric, name, bytes) != 0 || self->has_type) {
        return fail(self, "no HELP right before: %s", line);
    }
    if (strcmp(rest, "counter") && strcmp(rest, "gauge") && strcmp(rest, "histogram") && strcmp(rest, "summary")) {
        return fail(self, "no type: %s", line);
    }
    snprintf(self->type, sizeof self->type, "%s", rest);
    self->has_type = true;
    return check_name(self);
}

/// The labels between the braces. @return behind the '}'; NULL: they are wrong
static const char *read_labels(sample *of, const char *at)
{
    size_t used = 0;
    for (;;) {
        const size_t bytes = name_bytes(at, true);
        const char *name = at, *value = at + bytes + 2;
        if (bytes == 0 || at[bytes] != '=' || at[bytes + 1] != '"') {
            return NULL;
        }
        const char *end = value;
        for (; *end != '"'; end++) {
            if (*end == '\0' || (*end == '\\' && *++end != '\\' && *end != '"' && *end != 'n')) {
                return NULL;
            }
        }
        if (bytes == 2 && strncmp(name, "le", 2) == 0) {
            snprintf(of->le, sizeof of->le, "%.*s", (int)(end - value), value);
        } else {
            const int written = snprintf(of->labels + used, LABELS_BYTES - used, "%.*s,", (int)(end + 1 - name), name);
            used += (size_t)written;
            if (used >= LABELS_BYTES) {
                return NULL;
            }
        }
        at = end + 1;
        if (*at == '}') {
            return at + 1;
        }
        if (*at++ != ',') {
            return NULL;
        }
    }
}

static bool read_sample(reader *self, const char *line)
{
    const size_t bytes = name_bytes(line, false);
    char series[NAME_BYTES + LABELS_BYTES + 40], *end;
    if (bytes == 0 || !self->has_type || self->count == SAMPLES_MAX) {
        return fail(self, "no sample, or too many: %s", line);
    }
    sample *of = &self->samples[self->count++];
    *of = (sample){0};
    snprintf(of->name, sizeof of->name, "%.*s", (int)bytes, line);
    const char *at = line + bytes;
    if (*at == '{') {
        at = read_labels(of, at + 1);
    }
    if (at == NULL || at[0] != ' ' || isspace((unsigned char)at[1]) || at[1] == '\0') {
        return fail(self, "wrong labels or no value: %s", line);
    }
    of->value = strtod(at + 1, &end);
    snprintf(series, sizeof series, "%s{%s}%s", of->name, of->labels, of->le);
    if (*end != '\0') {
        return fail(self, "no number, or something behind it: %s", line);
    }
    return note(self, "series", series) || fail(self, "%s comes twice", series);
}

bool metrics_text_check(const char *text, char *why, size_t why_bytes)
{
    reader self = {.why = why, .why_bytes = why_bytes};
    self.samples = calloc(SAMPLES_MAX, sizeof *self.samples);
    self.seen = calloc(SERIES_MAX, sizeof *self.seen);
    char *copy = strdup(text), *rest = copy, *line;
    bool good = self.samples != NULL && self.seen != NULL && copy != NULL;
    const size_t bytes = strlen(text);
    if (bytes == 0 || text[bytes - 1] != '\n') {
        good = fail(&self, "the last line doesn't end");
    }
    while (good && (line = strsep(&rest, "\n")) != NULL && rest != NULL) {
        good = line[0] == '\0'  ? fail(&self, "an empty line")
               : line[0] == '#' ? read_comment(&self, line)
                                : read_sample(&self, line);
    }
    good = good && check_metric(&self);
    for (int i = 0; i < self.seen_count; i++) {
        free(self.seen[i]);
    }
    free(self.seen);
    free(self.samples);
    free(copy);
    return good;
}

bool metrics_text_has(const char *text, const char *name)
{
    const size_t bytes = strlen(name);
    for (const char *at = text; (at = strstr(at, name)) != NULL; at += bytes) {
        if ((at == text || at[-1] == '\n') && (at[bytes] == '{' || at[bytes] == ' ')) {
            return true;
        }
    }
    return false;
}
