// Results as JSON, group by group of viewers, and what the server said of itself: start at load_report_json.
#include "server/tool/load/load.h"

#include <jansson.h>
#include <stdio.h>

static double ms_at(const load_histogram *histogram, double share)
{
    return 1e-6 * (double)load_histogram_at(histogram, share);
}

static uint32_t connections(const load_options *options)
{
    uint32_t count = 0;
    for (int kind = 0; kind < LOAD_KIND_COUNT; kind++) {
        count += options->counts[kind];
    }
    return count;
}

static double mbit_s(const load_results *results)
{
    uint64_t bytes = 0;
    for (int kind = 0; kind < LOAD_KIND_COUNT; kind++) {
        bytes += results->groups[kind].bytes;
    }
    return 8e-6 * (double)bytes / results->seconds;
}

/// Per second, between two looks at the metrics page.
static double metric_rate(const load_results *results, double before, double after)
{
    return (after - before) / (1e-9 * (double)(results->metrics[1].at_ns - results->metrics[0].at_ns));
}

/// Of one core, in percent.
static double cpu_percent(const load_process process[2])
{
    return 100 * (process[1].cpu_s - process[0].cpu_s) / (1e-9 * (double)(process[1].at_ns - process[0].at_ns));
}

static bool process_seen(const load_process process[2])
{
    return process[0].at_ns != 0 && process[1].at_ns != 0 && process[0].pid == process[1].pid;
}

/// What a connection adds to the gateway's own memory.
static double bytes_per_viewer(const load_options *options, const load_results *results)
{
    return ((double)results->gateway[1].rss_bytes - (double)results->gateway_alone.rss_bytes) / connections(options);
}

static bool metrics_seen(const load_results *results)
{
    const load_metrics *m = results->metrics;
    return m[0].at_ns != 0 && m[1].at_ns != 0 && m[0].has_session && m[1].has_session;
}

static uint64_t frames_of(const load_group *group)
{
    uint64_t count = 0;
    for (int kind = 0; kind < LOAD_FRAME_KINDS; kind++) {
        count += group->frames[kind];
    }
    return count;
}

static double mean(uint64_t sum, uint64_t count)
{
    return count > 0 ? (double)sum / (double)count : 0;
}

// ---- for people ----

static void print_group(const load_options *options, const load_results *results, load_kind kind)
{
    const load_group *group = &results->groups[kind];
    uint32_t count = options->counts[kind];
    if (count == 0) {
        return;
    }
    printf("%-13s %5u %9.1f %8.2f %7.2f %7.2f", load_kind_name(kind), count,
           (double)frames_of(group) / results->seconds / count, 8e-6 * (double)group->bytes / results->seconds / count,
           group->mbit_s_min, group->mbit_s_max);
    if (group->interval.count > 0) {
        printf(" %7.1f %7.1f %7.1f", ms_at(&group->interval, 0.5), ms_at(&group->interval, 0.99),
               ms_at(&group->interval, 0.999));
    } else {
        printf(" %7s %7s %7s", "-", "-", "-");
    }
    printf(" %8llu %5llu %7.0f %7.0f\n", (unsigned long long)group->dropped, (unsigned long long)group->lost,
           ms_at(&group->first_frame, 0.5), ms_at(&group->first_frame, 0.99));
}

/// Which frames those were.
static void print_frames(const load_options *options, const load_results *results, load_kind kind)
{
    const load_group *group = &results->groups[kind];
    uint32_t count = options->counts[kind];
    if (count == 0) {
        return;
    }
    printf("%-13s %5s", load_kind_name(kind), "");
    for (int frame = 0; frame < LOAD_FRAME_KINDS; frame++) {
        printf(" %7.1f", (double)group->frames[frame] / results->seconds / count);
    }
    printf("  ");
    for (int frame = 0; frame < LOAD_FRAME_KINDS; frame++) {
        printf(" %7.1f", 1e-3 * mean(group->frame_bytes[frame], group->frames[frame]));
    }
    printf(" %9.2f\n", mean(group->layers, frames_of(group)));
}

static void print_delays(const char *what, const load_histogram *histogram)
{
    if (histogram->count == 0) {
        printf("%-46s %7s %7s %7s\n", what, "-", "-", "-");
        return;
    }
    printf("%-46s %7.1f %7.1f %7.1f\n", what, ms_at(histogram, 0.5), ms_at(histogram, 0.99),
           1e-6 * (double)histogram->max_ns);
}

static void print_inputs(const load_options *options, const load_results *results)
{
    if (options->counts[LOAD_PUSHER] == 0) {
        return;
    }
    printf("\n%-46s %7s %7s %7s\n", "input to frame, ms", "p50", "p99", "max");
    print_delays("  until the first bytes of a frame that has it", &results->input_to_head);
    print_delays("  until that frame is there as a whole", &results->input_to_frame);
    printf("  %llu inputs sent, %llu in no frame after a second, %llu refused\n",
           (unsigned long long)results->inputs_sent, (unsigned long long)results->inputs_unseen,
           (unsigned long long)results->inputs_refused);
}

static void print_process(const char *name, const load_process process[2])
{
    if (process_seen(process)) {
        printf("  %-8s %6.1f %% of a core, %.1f MB of memory\n", name, cpu_percent(process),
               1e-6 * (double)process[1].rss_bytes);
    }
}

static void print_server(const load_options *options, const load_results *results)
{
    const load_metrics *m = results->metrics;
    printf("\nserver, tank \"%s\"\n", results->session);
    if (m[0].at_ns == 0 || m[1].at_ns == 0) {
        printf("  it shows no page /metrics%s\n",
               options->key[0] != 0 ? "" : "; one that is kept to owners needs --key");
    } else if (!metrics_seen(results)) {
        printf("  its page /metrics tells nothing of this tank by name: it isn't listed\n");
    } else {
        printf("  frames a second: %.1f made, %.1f sent, %.1f skipped; %.0f viewers at the end\n",
               metric_rate(results, m[0].frames_received_total, m[1].frames_received_total),
               metric_rate(results, m[0].frames_sent_total, m[1].frames_sent_total),
               metric_rate(results, m[0].frames_skipped_total, m[1].frames_skipped_total), m[1].viewers);
        printf("  %.0f particles, %.2f times real time, %.2f ms a step, %.2f ms to encode a frame\n", m[1].particles,
               m[1].realtime_factor, 1e3 * m[1].step_seconds, 1e3 * m[1].encode_seconds);
    }
    print_process("gateway", results->gateway);
    print_process("worker", results->worker);
    if (process_seen(results->gateway) && results->gateway_alone.at_ns != 0) {
        printf("  memory of the gateway per connection: %.1f kB\n", 1e-3 * bytes_per_viewer(options, results));
    } else {
        printf("  --server-pid would show processor time and memory%s\n",
               options->server_pid > 0 ? ", but that process isn't there" : "");
    }
}

void load_report_text(const load_options *options, const load_results *results)
{
    printf("%u connections to %s, %.1f s%s: %.1f Mbit/s, %.1f frames a second that reached anybody\n\n",
           connections(options), options->target.authority, results->seconds,
           results->interrupted ? " (interrupted)" : "", mbit_s(results), (double)results->frames / results->seconds);
    printf("%-13s %5s %9s %24s %23s %8s %5s %15s\n", "", "", "frames/s", "Mbit/s of each        ",
           "interval, ms       ", "frames", "", "first frame, ms");
    printf("%-13s %5s %9s %8s %7s %7s %7s %7s %7s %8s %5s %7s %7s\n", "viewers", "count", "of each", "mean", "min",
           "max", "p50", "p99", "p99.9", "dropped", "lost", "p50", "p99");
    for (int kind = 0; kind < LOAD_KIND_COUNT; kind++) {
        print_group(options, results, (load_kind)kind);
    }
    printf("\n%-13s %5s %23s   %23s\n", "", "", "frames/s of each     ", "kB of a frame      ");
    printf("%-13s %5s %7s %7s %7s   %7s %7s %7s %9s\n", "frames", "", "key", "base", "extra", "key", "base", "extra",
           "layers");
    for (int kind = 0; kind < LOAD_KIND_COUNT; kind++) {
        print_frames(options, results, (load_kind)kind);
    }
    print_inputs(options, results);
    print_server(options, results);
    printf("\n%llu frames decoded, %llu wrong, %llu left out because the decoder was busy; %llu out of their order\n",
           (unsigned long long)results->checked, (unsigned long long)results->checked_wrong,
           (unsigned long long)results->checks_left_out, (unsigned long long)results->chains_wrong);
    printf("this program: %.1f %% of a core, its clock late by %.1f ms (p99)\n",
           100 * results->own_cpu_s / results->seconds, ms_at(&results->own_delay, 0.99));
}

// ---- for programs ----

static json_t *times(const load_histogram *histogram)
{
    if (histogram->count == 0) {
        return json_null();
    }
    return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f}", "count", (json_int_t)histogram->count, "mean_ms",
                     1e-6 * (double)histogram->sum_ns / (double)histogram->count, "p50_ms", ms_at(histogram, 0.5),
                     "p99_ms", ms_at(histogram, 0.99), "p999_ms", ms_at(histogram, 0.999), "max_ms",
                     1e-6 * (double)histogram->max_ns);
}

static json_t *frames_json(const load_group *group)
{
    static const char *const names[LOAD_FRAME_KINDS] = {"key", "base", "extra"};
    json_t *frames = json_object();
    for (int kind = 0; kind < LOAD_FRAME_KINDS; kind++) {
        json_object_set_new(frames, names[kind],
                            json_pack("{s:I, s:I}", "frames", (json_int_t)group->frames[kind], "bytes",
                                      (json_int_t)group->frame_bytes[kind]));
    }
    return frames;
}

static json_t *group_json(const load_options *options, const load_results *results, load_kind kind)
{
    const load_group *group = &results->groups[kind];
    double count = options->counts[kind], seconds = results->seconds;
    return json_pack("{s:i, s:I, s:I, s:I, s:o, s:f, s:I, s:f, s:f, s:f, s:f, s:o, s:o}", "viewers",
                     (int)options->counts[kind], "connections", (json_int_t)group->connections, "lost",
                     (json_int_t)group->lost, "frames", (json_int_t)frames_of(group), "frames_by_kind",
                     frames_json(group), "layers", mean(group->layers, frames_of(group)), "frames_dropped",
                     (json_int_t)group->dropped, "frames_per_s_each", (double)frames_of(group) / seconds / count,
                     "mbit_s_each", 8e-6 * (double)group->bytes / seconds / count, "mbit_s_min", group->mbit_s_min,
                     "mbit_s_max", group->mbit_s_max, "interval", times(&group->interval), "first_frame",
                     times(&group->first_frame));
}

static json_t *groups_json(const load_options *options, const load_results *results)
{
    json_t *groups = json_object();
    for (int kind = 0; kind < LOAD_KIND_COUNT; kind++) {
        if (options->counts[kind] > 0) {
            json_object_set_new(groups, load_kind_key(kind), group_json(options, results, (load_kind)kind));
        }
    }
    return groups;
}

static json_t *metrics_json(const load_results *results)
{
    const load_metrics *m = results->metrics;
    if (!metrics_seen(results)) {
        return json_null();
    }
    return json_pack("{s:s, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "session", results->session, "worker",
                     m[1].worker, "viewers", m[1].viewers, "frames_made_per_s",
                     metric_rate(results, m[0].frames_received_total, m[1].frames_received_total), "frames_sent_per_s",
                     metric_rate(results, m[0].frames_sent_total, m[1].frames_sent_total), "frames_skipped_per_s",
                     metric_rate(results, m[0].frames_skipped_total, m[1].frames_skipped_total), "bytes_sent_per_s",
                     metric_rate(results, m[0].bytes_sent_total, m[1].bytes_sent_total), "realtime_factor",
                     m[1].realtime_factor, "step_s", m[1].step_seconds, "encode_s", m[1].encode_seconds, "particles",
                     m[1].particles);
}

static json_t *process_json(const load_process process[2])
{
    if (!process_seen(process)) {
        return json_null();
    }
    return json_pack("{s:i, s:f, s:f, s:I}", "pid", (int)process[1].pid, "cpu_s", process[1].cpu_s - process[0].cpu_s,
                     "cpu_share", 0.01 * cpu_percent(process), "rss_bytes", (json_int_t)process[1].rss_bytes);
}

static json_t *server_json(const load_options *options, const load_results *results)
{
    bool memory = process_seen(results->gateway) && results->gateway_alone.at_ns != 0;
    return json_pack("{s:o, s:o, s:o, s:o}", "metrics", metrics_json(results), "gateway",
                     process_json(results->gateway), "worker", process_json(results->worker),
                     "gateway_bytes_per_connection",
                     memory ? json_real(bytes_per_viewer(options, results)) : json_null());
}

static json_t *failures_json(const load_results *results)
{
    json_t *failures = json_array();
    for (uint32_t i = 0; i < results->failure_count; i++) {
        json_array_append_new(failures, json_pack("{s:s, s:I}", "text", results->failures[i].text, "count",
                                                  (json_int_t)results->failures[i].count));
    }
    return failures;
}

bool load_report_json(const load_options *options, const load_results *results)
{
    json_t *report = json_pack("{s:s, s:f, s:b, s:b, s:o}", "server_address", options->target.authority, "seconds",
                               results->seconds, "interrupted", results->interrupted, "good",
                               load_results_good(results), "failures", failures_json(results));
    if (report != NULL && results->seconds > 0) {
        json_t *measured = json_pack(
            "{s:f, s:I, s:o, s:{s:I, s:I, s:I, s:o, s:o}, s:o, s:{s:I, s:I, s:I, s:I}, s:{s:f, s:o}}", "mbit_s",
            mbit_s(results), "frames", (json_int_t)results->frames, "viewers", groups_json(options, results), "inputs",
            "sent", (json_int_t)results->inputs_sent, "unseen", (json_int_t)results->inputs_unseen, "refused",
            (json_int_t)results->inputs_refused, "to_first_bytes", times(&results->input_to_head), "to_frame",
            times(&results->input_to_frame), "server", server_json(options, results), "checks", "decoded",
            (json_int_t)results->checked, "wrong", (json_int_t)results->checked_wrong, "left_out",
            (json_int_t)results->checks_left_out, "out_of_order", (json_int_t)results->chains_wrong, "this_program",
            "cpu_share", results->own_cpu_s / results->seconds, "delay", times(&results->own_delay));
        json_object_update(report, measured);
        json_decref(measured);
    }
    int error = report != NULL ? json_dumpf(report, stdout, JSON_INDENT(2)) : -1;
    json_decref(report);
    putchar('\n');
    return error == 0;
}
