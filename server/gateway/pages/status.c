// Gathers what /healthz, /readyz and /metrics tell; the text of /metrics is made in metrics.c.
#include "server/gateway/pages/status.h"
#include "server/base/clock.h"
#include "server/gateway/session/making.h"
#include "server/gateway/session/session.h"
#include "server/gateway/store/store.h"
#include "server/gateway/viewer/viewer.h"

#include <stdio.h>
#include <string.h>

static const char *phase_text(tarn_worker_phase phase)
{
    switch (phase) {
    case TARN_WORKER_READY:
        return "ready";
    case TARN_WORKER_GREETING:
        return "starting";
    case TARN_WORKER_WAITING:
        return "failed, about to be started again";
    case TARN_WORKER_GIVEN_UP:
        return "failed too often";
    case TARN_WORKER_NONE:
    case TARN_WORKER_ENDING:
        break;
    }
    return "ending";
}

/// Adds a line for each tank that is watched and makes no frames. @return how many there are
static uint32_t tell_late(const tarn_sessions *sessions, char *text, size_t text_bytes)
{
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    uint32_t count = 0;
    size_t used = 0;
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        const tarn_session *session = &sessions->sessions[i];
        const uint64_t late_ms = session->id != 0 ? tarn_session_pulse_late_ms(session, now_ns) : 0;
        if (late_ms > TARN_GATEWAY_FRAME_MS_MAX) {
            count++;
            if (used < text_bytes) {
                used +=
                    (size_t)snprintf(text + used, text_bytes - used, "session %s: watched, and no frame for %.1f s\n",
                                     session->label, (double)late_ms * 1e-3);
            }
        }
    }
    return count;
}

unsigned tarn_status_health(const tarn_workers *workers, const tarn_sessions *sessions, bool is_ending, char *text,
                            size_t text_bytes)
{
    static char late[TARN_GATEWAY_SESSIONS_MAX * 160];
    const uint32_t ready = tarn_workers_ready(workers);
    late[0] = 0;
    const uint32_t late_count = tell_late(sessions, late, sizeof late);
    const bool is_well = ready > 0 && late_count == 0 && !is_ending;
    const char *verdict = is_ending                ? "the server is ending"
                          : ready == 0             ? "no worker is ready"
                          : late_count > 0         ? "a tank that is watched makes no frames"
                          : ready < workers->count ? "ok, but not all workers"
                                                   : "ok";
    size_t used = (size_t)snprintf(text, text_bytes, "%s\n%s", verdict, late);
    for (uint32_t i = 0; i < workers->count && used < text_bytes; i++) {
        char device[TARN_DEVICE_WORD_BYTES];
        tarn_device_word_write(&workers->workers[i].config.device, device);
        const uint64_t retry_ms = tarn_worker_process_retry_ms(&workers->workers[i], tarn_clock_monotonic_ns());
        char retry[48] = "";
        if (retry_ms > 0) {
            snprintf(retry, sizeof retry, ", tried again in %.1f s", 1e-3 * (double)retry_ms);
        }
        used += (size_t)snprintf(text + used, text_bytes - used, "worker %u, %s: %s%s\n", i, device,
                                 phase_text(workers->workers[i].phase), retry);
    }
    if (sessions->store != NULL && used < text_bytes) {
        tarn_store_counts kept;
        tarn_store_count(sessions->store, &kept);
        (void)snprintf(text + used, text_bytes - used, "store: %s%s\n",
                       kept.failing > 0    ? "some tanks can't be kept just now"
                       : kept.vanished > 0 ? "ok, but files were removed or moved while they were written"
                                           : "ok",
                       kept.failing > 0 ? "; nothing is served worse for that, but an end would lose them" : "");
    }
    return is_well ? 200 : 503;
}

unsigned tarn_status_ready(const tarn_workers *workers, bool is_leaving, char *text, size_t text_bytes)
{
    const char *why_not = is_leaving                           ? "the server is ending"
                          : tarn_workers_given_up(workers) > 0 ? "a worker failed too often"
                          : tarn_workers_ready(workers) == 0   ? "no worker is ready"
                                                               : NULL;
    snprintf(text, text_bytes, "%s\n", why_not != NULL ? why_not : "ready");
    return why_not == NULL ? 200 : 503;
}

static void tell_worker(const tarn_worker_process *worker, tarn_metrics_worker *told)
{
    told->device = worker->hello.device;
    told->values[TARN_WORKER_METRIC_READY] = tarn_worker_process_is_ready(worker);
    told->values[TARN_WORKER_METRIC_STARTS] = (double)worker->starts_total;
    told->values[TARN_WORKER_METRIC_FAILURES] = (double)worker->failures_total;
    told->values[TARN_WORKER_METRIC_TANKS] = told->values[TARN_WORKER_METRIC_LOAD] = 0;
    told->values[TARN_WORKER_METRIC_RETRY] =
        1e-3 * (double)tarn_worker_process_retry_ms(worker, tarn_clock_monotonic_ns());
    told->values[TARN_WORKER_METRIC_PID] = tarn_worker_process_pid(worker);
    told->values[TARN_WORKER_METRIC_MEMORY] = (double)tarn_process_resident_bytes(tarn_worker_process_pid(worker));
    told->values[TARN_WORKER_METRIC_QUEUE] = worker->queue.count + worker->chunks.count;
    told->values[TARN_WORKER_METRIC_HELD] = worker->waiting.count;
}

/// In its worker's queues, and in its own while it is moved.
static uint32_t inputs_waiting(const tarn_session *session)
{
    uint32_t count = 0;
    if (session->worker != NULL) {
        count += tarn_worker_queue_inputs(&session->worker->queue, session->id);
        count += tarn_worker_queue_inputs(&session->worker->waiting, session->id);
    }
    return count + (session->held != NULL ? tarn_worker_queue_inputs(session->held, session->id) : 0);
}

static uint32_t frames_in_flight(const tarn_session *session)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        count += session->viewers[i]->flight.count;
    }
    return count;
}

static void tell_session(const tarn_session *session, tarn_metrics_session *told)
{
    const tarn_ipc_report *report = &session->report;
    snprintf(told->label, sizeof told->label, "%s", session->label);
    told->worker = session->worker != NULL ? (int)session->worker->index : -1;
    told->values[TARN_SESSION_METRIC_VIEWERS] = session->viewer_count;
    told->values[TARN_SESSION_METRIC_FRAMES_RECEIVED] = (double)session->counts.frames_received;
    told->values[TARN_SESSION_METRIC_FRAMES_SENT] = (double)session->counts.frames_sent;
    told->values[TARN_SESSION_METRIC_FRAMES_SKIPPED] = (double)session->counts.frames_skipped;
    told->values[TARN_SESSION_METRIC_BYTES_SENT] = (double)session->counts.bytes_sent;
    told->values[TARN_SESSION_METRIC_REALTIME_FACTOR] = (double)report->realtime_factor;
    told->values[TARN_SESSION_METRIC_STEP_S] = (double)report->step_s;
    told->values[TARN_SESSION_METRIC_ENCODE_S] = (double)report->encode_s;
    told->values[TARN_SESSION_METRIC_ENCODER_BYTES] = (double)report->encoder_bytes;
    told->values[TARN_SESSION_METRIC_PARTICLES] = report->particle_count;
    told->values[TARN_SESSION_METRIC_STEPS] = (double)report->step;
    told->values[TARN_SESSION_METRIC_UNCONVERGED] = (double)report->unconverged;
    told->values[TARN_SESSION_METRIC_INPUTS_WAITING] = inputs_waiting(session);
    told->values[TARN_SESSION_METRIC_FRAMES_IN_FLIGHT] = frames_in_flight(session);
    told->values[TARN_SESSION_METRIC_WORKER_LOSSES] = (double)session->counts.worker_losses;
    told->values[TARN_SESSION_METRIC_RESUMES] = (double)session->counts.resumes;
    told->values[TARN_SESSION_METRIC_RESTARTS] = (double)session->counts.restarts;
    told->values[TARN_SESSION_METRIC_SET_BACKS] = (double)session->counts.set_backs;
    told->steps = session->counts.steps;
    told->steps_s = session->counts.steps_s;
    told->latency = &session->counts.latency;
}

size_t tarn_status_metrics(tarn_metrics *metrics, const tarn_workers *workers, const tarn_sessions *sessions,
                           char *text, size_t text_bytes)
{
    const uint64_t begin_ns = tarn_clock_monotonic_ns();
    static tarn_metrics_worker told_workers[TARN_GATEWAY_WORKERS_MAX];
    static tarn_metrics_session told_sessions[TARN_GATEWAY_SESSIONS_MAX];
    tarn_metrics_page page = {
        .metrics = metrics, .workers = told_workers, .worker_count = workers->count, .sessions = told_sessions};
    tarn_store_counts kept;
    tarn_process_usage_read(&page.usage);
    if (sessions->store != NULL) {
        tarn_store_count(sessions->store, &kept);
        page.store = &kept;
    }
    metrics->inputs_coalesced_total = 0;
    for (uint32_t i = 0; i < workers->count; i++) {
        tell_worker(&workers->workers[i], &told_workers[i]);
        metrics->inputs_coalesced_total += workers->workers[i].queue.coalesced;
    }
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        const tarn_session *session = &sessions->sessions[i];
        if (session->id == 0) {
            continue;
        }
        tell_session(session, &told_sessions[page.session_count++]);
        if (session->worker != NULL) {
            told_workers[session->worker->index].values[TARN_WORKER_METRIC_TANKS]++;
            told_workers[session->worker->index].values[TARN_WORKER_METRIC_LOAD] += tarn_session_cost(session);
        }
    }
    const size_t bytes = tarn_metrics_write(&page, text, text_bytes);
    metrics->scrapes++;
    metrics->scrapes_s += 1e-9 * (double)(tarn_clock_monotonic_ns() - begin_ns);
    return bytes;
}
