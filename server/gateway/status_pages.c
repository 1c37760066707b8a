// Gathers what /healthz and /metrics tell; the text of the latter is made in metrics.c.
#include "server/gateway/status_pages.h"
#include "server/gateway/session_place.h"

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
        return "failed too often, not started again by itself";
    case TARN_WORKER_NONE:
    case TARN_WORKER_ENDING:
        break;
    }
    return "ending";
}

unsigned tarn_status_health(const tarn_workers *workers, bool is_ending, char *text, size_t text_bytes)
{
    const uint32_t ready = tarn_workers_ready(workers);
    const bool is_well = ready > 0 && !is_ending;
    const char *verdict = !is_well ? "no worker is ready" : ready < workers->count ? "ok, but not all workers" : "ok";
    size_t used = (size_t)snprintf(text, text_bytes, "%s\n", verdict);
    for (uint32_t i = 0; i < workers->count && used < text_bytes; i++) {
        char device[TARN_DEVICE_WORD_BYTES];
        tarn_device_word_write(&workers->workers[i].config.device, device);
        used += (size_t)snprintf(text + used, text_bytes - used, "worker %u, %s: %s\n", i, device,
                                 phase_text(workers->workers[i].phase));
    }
    return is_well ? 200 : 503;
}

static void tell_worker(const tarn_worker_process *worker, tarn_metrics_worker *told)
{
    told->device = worker->hello.device;
    told->values[TARN_WORKER_METRIC_READY] = tarn_worker_process_is_ready(worker);
    told->values[TARN_WORKER_METRIC_STARTS] = (double)worker->starts_total;
    told->values[TARN_WORKER_METRIC_FAILURES] = (double)worker->failures_total;
    told->values[TARN_WORKER_METRIC_TANKS] = 0;
    told->values[TARN_WORKER_METRIC_PID] = tarn_worker_process_pid(worker);
}

static void tell_session(const tarn_session *session, tarn_metrics_session *told)
{
    const tarn_ipc_report *report = &session->report;
    if (session->is_listed) {
        snprintf(told->label, sizeof told->label, "%s", session->name);
    } else {
        snprintf(told->label, sizeof told->label, "unlisted-%u", session->id >> TARN_SESSION_PLACE_BITS);
    }
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
}

size_t tarn_status_metrics(const tarn_metrics *metrics, const tarn_workers *workers, const tarn_sessions *sessions,
                           char *text, size_t text_bytes)
{
    static tarn_metrics_worker told_workers[TARN_GATEWAY_WORKERS_MAX];
    static tarn_metrics_session told_sessions[TARN_GATEWAY_SESSIONS_MAX];
    tarn_metrics_page page = {
        .metrics = metrics, .workers = told_workers, .worker_count = workers->count, .sessions = told_sessions};
    for (uint32_t i = 0; i < workers->count; i++) {
        tell_worker(&workers->workers[i], &told_workers[i]);
    }
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        const tarn_session *session = &sessions->sessions[i];
        if (session->id == 0) {
            continue;
        }
        tell_session(session, &told_sessions[page.session_count++]);
        if (session->worker != NULL) {
            told_workers[session->worker->index].values[TARN_WORKER_METRIC_TANKS]++;
        }
    }
    return tarn_metrics_write(&page, text, text_bytes);
}
