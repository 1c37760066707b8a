// Begin at sim_check_queues.
#include "tests/sim/sim_checks.h"
#include "server/gateway/gateway.h"
#include "tests/sim/sim_viewer.h"

#include <string.h>

static uint32_t edges_of(const tarn_worker_queue *queue, uint32_t viewer_id)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < queue->count; i++) {
        const tarn_worker_queue_entry *entry = tarn_worker_queue_at(queue, i);
        count += !entry->is_move && entry->key.viewer_id == viewer_id;
    }
    return count;
}

static void check_queue(const tarn_worker_queue *queue, const char *which)
{
    SIM_CHECK(BOUNDED, queue->count <= TARN_GATEWAY_WORKER_QUEUE_MAX, "%s has %u messages", which, queue->count);
    for (uint32_t i = 0; i < queue->count; i++) {
        const uint32_t viewer_id = tarn_worker_queue_at(queue, i)->key.viewer_id;
        if (viewer_id != 0) {
            const uint32_t count = edges_of(queue, viewer_id);
            SIM_CHECK(BOUNDED, count <= TARN_GATEWAY_WORKER_QUEUE_SHARE, "%s has %u messages of viewer %u", which,
                      count, viewer_id);
        }
    }
}

void sim_check_queues(void)
{
    const tarn_gateway *gateway = sim_gateway();
    if (gateway == NULL) {
        return;
    }
    for (uint32_t i = 0; i < gateway->workers.count; i++) {
        check_queue(&gateway->workers.workers[i].queue, "a worker's queue");
        check_queue(&gateway->workers.workers[i].waiting, "what waits for a worker");
        SIM_CHECK(BOUNDED, gateway->workers.workers[i].chunks.count <= TARN_IPC_CHUNKS_MAX, "too many chunks wait");
    }
    check_queue(&gateway->move.held, "what a move holds back");
    for (const tarn_viewer *viewer = gateway->viewers.first; viewer != NULL; viewer = viewer->next) {
        SIM_CHECK(BOUNDED, viewer->error_count <= TARN_GATEWAY_ERRORS_QUEUED_MAX, "a viewer has %u errors waiting",
                  viewer->error_count);
    }
    for (const sim_viewer *viewer = sim_viewers(); viewer != NULL; viewer = viewer->next) {
        // What is in the kernel, and one message more than it has room for; a refusal beside them.
        SIM_CHECK(BOUNDED, viewer->net.queued <= viewer->net.room + 2 * (size_t)TARN_MESSAGE_SERVER_BYTES_MAX,
                  "%zu bytes wait for viewer %u", viewer->net.queued, viewer->index);
    }
    const sim_held held = sim_system_held();
    SIM_CHECK(RELEASED, held.descriptors <= 16 + 4 * gateway->options.sessions_max + 2 * gateway->workers.count,
              "the gateway holds %u descriptors of files", held.descriptors);
}

// ----------------------------------------------------------------------------------------------------------- at rest

static sim_viewer *callers[SIM_SESSIONS_MAX * TARN_ROLE_COUNT];
static uint32_t caller_count;

void sim_check_call(void)
{
    caller_count = 0;
    for (uint32_t i = 0; i < sim_session_count; i++) {
        for (int role = 0; role < TARN_ROLE_COUNT; role++) {
            sim_viewer *made = sim_viewer_connect(sim_sessions[i].name, (sim_pass)role, false);
            made->net.address = 0x7f000001; // from this machine as many may come as there are places
            made->net.latency_ns = SIM_MS;
            made->net.bytes_per_s = 20000000;
            made->acks = true;
            made->is_slow = false;
            callers[caller_count++] = made;
        }
    }
}

void sim_check_answers(void)
{
    for (uint32_t i = 0; i < caller_count; i++) {
        const sim_viewer *caller = callers[i];
        const sim_session *session = sim_model_find(caller->session);
        const bool is_in = caller->phase == SIM_VIEWER_JOINED && caller->net.is_open;
        if (session->is_there && !session->may_be_gone) {
            SIM_CHECK(REACHABLE, is_in, "%s doesn't open with its key for role %d: error %u, close code %u",
                      session->name, (int)caller->role, caller->error, caller->close_code);
        } else if (!session->is_there && !session->may_be_gone) {
            SIM_CHECK(REACHABLE, !is_in, "%s, which was ended, is still there", session->name);
        }
        if (is_in) {
            SIM_CHECK(SHOWN, caller->frames > 0, "viewer %u of %s gets no frame", caller->index, caller->session);
        }
    }
    for (const sim_viewer *viewer = sim_viewers(); viewer != NULL; viewer = viewer->next) {
        if (viewer->phase != SIM_VIEWER_JOINED || !viewer->net.is_open || viewer->hidden || viewer->is_preview ||
            !viewer->acks || !viewer->person->is_there) {
            continue;
        }
        SIM_CHECK(SHOWN, sim_now() - viewer->frame_ns < 5 * SIM_S, "viewer %u of %s got its last frame %.1f s ago",
                  viewer->index, viewer->session, 1e-9 * (double)(sim_now() - viewer->frame_ns));
    }
}

void sim_check_taken(void)
{
    for (const sim_viewer *viewer = sim_viewers(); viewer != NULL; viewer = viewer->next) {
        const sim_person *person = viewer->person;
        if (viewer->phase != SIM_VIEWER_JOINED || !viewer->net.is_open || !person->is_there) {
            continue;
        }
        for (uint32_t i = 0; i < person->sent_count; i++) {
            const sim_sent *sent = &person->sent[i];
            const bool may = person->role >= TARN_ROLE_PLAY && !person->is_preview;
            if (sent->is_edge && may) {
                SIM_CHECK(TAKEN, sent->life != 0 || sent->is_excused, "input %u of viewer %u of %s was never taken",
                          sent->sequence, viewer->index, viewer->session);
            }
        }
    }
}

void sim_check_released(int status)
{
    const sim_held held = sim_system_held();
    SIM_CHECK(ALIVE, status == 0, "the gateway ended with status %d", status);
    SIM_CHECK(RELEASED,
              held.blocks == 0 && held.maps == 0 && held.descriptors == 0 && held.sockets == 0 &&
                  sim_loop_handles() == 0,
              "at the end %u blocks of memory, %u maps, %u descriptors, %u sockets and %u handles are left",
              held.blocks, held.maps, held.descriptors, held.sockets, sim_loop_handles());
}
