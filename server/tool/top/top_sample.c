// Lines of Prometheus' format, by the names that the table needs: start at top_sample_read_metrics.
#include "server/tool/top/top_sample.h"
#include "server/common/printable.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

const top_tank *top_sample_find(const top_sample *sample, const char *name)
{
    for (uint32_t i = 0; i < sample->tank_count; i++) {
        if (strcmp(sample->tanks[i].name, name) == 0) {
            return &sample->tanks[i];
        }
    }
    return NULL;
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
