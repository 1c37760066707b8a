// Between sessions and the store. Start at tarn_session_open_all.
#include "server/gateway/session_store.h"
#include "protocol/assert.h"
#include "server/common/log.h"
#include "server/gateway/session_box.h"
#include "server/gateway/tank_store.h"
#include "server/gateway/viewer.h"

#include <stdio.h>
#include <string.h>

/// Sessions that were found, until the first one is open.
typedef struct found_sessions {
    uint32_t count;
    struct {
        tarn_session_about about;
        char scene[TARN_IPC_SCENE_BYTES_MAX + 1];
        int box_fd;
    } of[TARN_GATEWAY_SESSIONS_MAX];
} found_sessions;

static void on_found(void *user, const tarn_store_found *found)
{
    found_sessions *all = user;
    TARN_ASSERT(all->count < TARN_GATEWAY_SESSIONS_MAX);
    const uint32_t i = all->count++;
    all->of[i].about = *found->about;
    all->of[i].box_fd = found->box_fd;
    snprintf(all->of[i].scene, sizeof all->of[i].scene, "%s",
             found->box_fd > 0 ? found->scene : found->about->begun_as);
}

/// Whoever comes to a tank of an earlier start may do no more than this start allows.
static tarn_role guests_of(const tarn_gateway_options *options, const tarn_session_about *about)
{
    return (tarn_role)about->guests < options->guests_max ? (tarn_role)about->guests : options->guests_max;
}

/// @param plan  what is said elsewhere than in the store
static tarn_status open_found(tarn_sessions *all, found_sessions *found, uint32_t i, const tarn_session_plan *plan)
{
    tarn_session *session;
    const tarn_session_about *about = &found->of[i].about;
    const tarn_session_plan own = {.name = about->name,
                                   .title = about->title,
                                   .scene = found->of[i].scene,
                                   .begun_as = about->begun_as,
                                   .salt = about->salt,
                                   .guests = plan != NULL ? plan->guests : guests_of(all->options, about),
                                   .is_kept = about->is_kept,
                                   .is_listed = about->is_listed};
    const tarn_status status = tarn_session_open(all, &own, &session);
    if (status != TARN_OK) {
        tarn_session_box_close(&found->of[i].box_fd);
        return status;
    }
    session->box_fd = found->of[i].box_fd;
    session->was_made = session->box_fd > 0;
    tarn_log_info("the session \"%s\" is back", session->label);
    return TARN_OK;
}

tarn_status tarn_session_open_all(tarn_sessions *all, const tarn_session_plan *first)
{
    static found_sessions found;
    tarn_session *session;
    tarn_status status = TARN_E_NOT_FOUND;
    uint32_t first_found = TARN_GATEWAY_SESSIONS_MAX;
    if (all->store != NULL) {
        tarn_store_find(all->store, all->options->sessions_max, on_found, &found);
    }
    for (uint32_t i = 0; i < found.count; i++) {
        if (strcmp(found.of[i].about.name, first->name) == 0) {
            first_found = i;
        }
    }
    if (first_found < found.count && strcmp(found.of[first_found].about.begun_as, first->scene) == 0) {
        status = open_found(all, &found, first_found, first);
    } else if (first_found < found.count) {
        tarn_log_info("the session \"%s\" was begun with the scene %s: it starts afresh with %s", first->name,
                      found.of[first_found].about.begun_as, first->scene);
        tarn_session_plan plan = *first;
        plan.salt = found.of[first_found].about.salt; // its links last
        tarn_session_box_close(&found.of[first_found].box_fd);
        status = tarn_session_open(all, &plan, &session);
    } else {
        status = tarn_session_open(all, first, &session);
    }
    for (uint32_t i = 0; i < found.count && status == TARN_OK; i++) {
        if (i != first_found && open_found(all, &found, i, NULL) != TARN_OK) {
            const tarn_session_about *about = &found.of[i].about;
            tarn_log_warn("the session \"%s\" finds no place", about->is_listed ? about->name : "(not listed)");
        }
    }
    return status;
}

void tarn_session_store_tick(tarn_sessions *all, uint64_t now_ns)
{
    tarn_store_counts counts;
    if (all->store == NULL || now_ns < all->store_due_ns) {
        return;
    }
    all->store_due_ns = now_ns + TARN_GATEWAY_STORE_LOOK_MS * (uint64_t)1000000;
    tarn_store_count(all->store, &counts);
    if ((counts.failing > 0) == all->store_fails) {
        return;
    }
    all->store_fails = counts.failing > 0;
    const char *sentence = all->store_fails ? "this tank is not kept just now: the server's disk fails; what is in it "
                                              "goes on, and is lost if the server ends"
                                            : "the server's disk works again: this tank is kept";
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        const tarn_session *session = &all->sessions[i];
        for (uint32_t v = 0; session->id != 0 && v < session->viewer_count; v++) {
            if (session->viewers[v]->role == TARN_ROLE_OWN) {
                tarn_viewer_error(session->viewers[v], TARN_ERROR_WORKER, sentence);
            }
        }
    }
}
