// Between sessions and the store. Start at tarn_session_open_all.
#include "server/gateway/session/kept.h"
#include "protocol/assert.h"
#include "server/base/log.h"
#include "server/gateway/options.h"
#include "server/gateway/session/box.h"
#include "server/gateway/session/making.h"
#include "server/gateway/session/post.h"
#include "server/gateway/session/session.h"
#include "server/gateway/store/files.h"
#include "server/gateway/store/store.h"
#include "server/gateway/viewer/viewer.h"
#include "server/scene/archive.h"
#include "server/scene/scene.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

// ---- what a kept tank was made from ----
// Scenes are compared as bytes: workers alone read them.

/// Whether a tank may be made from what its file says: its own scene, one by its name, or the file that the server was
/// started with. Another file's path isn't followed: the session's file may come from elsewhere.
static bool is_scene_allowed(const tarn_gateway_options *options, const tarn_store_found *found)
{
    return found->pack.count > 0 || tarn_scene_name_valid(found->scene) || strcmp(found->scene, options->scene) == 0;
}

/// Says in the log where the folder's is another one by now, or none, and that the tank keeps its own.
/// @param label  of the session
static void compare_scene(const tarn_gateway_options *options, const tarn_store_found *found, const char *label)
{
    char path[PATH_MAX];
    tarn_text why;
    const bool is_path = !tarn_scene_name_valid(found->scene);
    if (found->pack.count == 0 || (is_path && strcmp(found->scene, options->scene) != 0)) {
        return;
    }
    const char *what = tarn_scene_resolve(found->scene, options->scenes, path, sizeof path, why, sizeof why) != TARN_OK
                           ? "it is there no more"
                           : tarn_scene_pack_difference(found->pack.bytes, found->pack.count, path);
    if (what != NULL) {
        tarn_log_info("the session \"%s\" was made from the scene \"%s\", which isn't what lies in the scenes' folder "
                      "now (%s); the tank keeps its own",
                      label, found->scene, what);
    }
}

// ---- opened again ----

/// Whoever comes to a tank of an earlier start may do no more than this start allows.
static tarn_role guests_of(const tarn_gateway_options *options, const tarn_session_about *about)
{
    return (tarn_role)about->guests < options->guests_max ? (tarn_role)about->guests : options->guests_max;
}

/// Opens a session as it was found. @param plan  what is said elsewhere than in the store; NULL: nothing
static tarn_status open_found(tarn_sessions *all, const tarn_store_found *found, const tarn_session_plan *plan)
{
    tarn_session *session;
    const tarn_session_about *about = &found->about;
    const tarn_session_plan own = {.name = about->name,
                                   .title = about->title,
                                   .scene = found->scene,
                                   .begun_as = about->begun_as,
                                   .salt = about->salt,
                                   .guests = plan != NULL ? plan->guests : guests_of(all->options, about),
                                   .is_kept = about->is_kept,
                                   .is_listed = about->is_listed};
    int box_fd = found->box_fd;
    tarn_box_bytes pack = found->pack;
    const tarn_status status = tarn_session_open(all, &own, &session);
    if (status == TARN_OK) {
        compare_scene(all->options, found, session->label);
    }
    tarn_box_bytes_free(&pack);
    if (status != TARN_OK) {
        tarn_session_box_close(&box_fd);
        return status;
    }
    session->box_fd = box_fd;
    session->was_made = session->past.is_filled = box_fd > 0;
    session->state.lock =
        (tarn_lock){.locked = about->locked & TARN_LOCKS_ALL, .open_parameters = about->open_parameters};
    session->past.speed = about->speed;
    tarn_session_probes_back(session, about);
    session->epoch_served = found->epoch;
    tarn_log_info("the session \"%s\" is back", session->label);
    return TARN_OK;
}

/// Lets go of what was found. @return that it can't be gone on from, with a sentence
static tarn_status refuse_scene(const tarn_store_found *found, tarn_text why)
{
    int box_fd = found->box_fd;
    tarn_session_box_close(&box_fd);
    snprintf(why, sizeof(tarn_text),
             "the session's file has no scene in it and names one by its path, %.300s, which is followed with --scene "
             "alone",
             found->scene);
    return TARN_E_MALFORMED;
}

static void on_found(void *user, const tarn_store_found *found)
{
    const tarn_sessions *all = user;
    tarn_text why;
    if (!is_scene_allowed(all->options, found)) {
        (void)refuse_scene(found, why);
        tarn_log_error("%s; it is left out", why);
        return;
    }
    if (open_found(user, found, NULL) != TARN_OK) {
        tarn_name label;
        tarn_store_label(found->about.name, strlen(found->about.name), found->about.is_listed, 0, label);
        tarn_log_warn("the session \"%s\" finds no place", label);
    }
}

static tarn_status open_first(tarn_sessions *all, const tarn_session_plan *first, tarn_text why)
{
    static tarn_store_found found; // large
    tarn_session *session;
    tarn_session_plan plan = *first;
    const tarn_status status =
        all->store != NULL ? tarn_store_find_first(all->store, first->name, &found, why) : TARN_E_NOT_FOUND;
    if (status == TARN_OK && strcmp(found.about.begun_as, first->scene) == 0) {
        if (!is_scene_allowed(all->options, &found)) {
            return refuse_scene(&found, why);
        }
        return open_found(all, &found, first);
    }
    if (status == TARN_OK) {
        tarn_log_info("the session \"%s\" was begun with the scene %s: it starts afresh with %s", first->name,
                      found.about.begun_as, first->scene);
        tarn_session_box_close(&found.box_fd);
        tarn_box_bytes_free(&found.pack);
        plan.salt = found.about.salt; // its links last
    } else if (status != TARN_E_NOT_FOUND) {
        return status; // nothing is to be put over it
    }
    return tarn_session_open(all, &plan, &session);
}

tarn_status tarn_session_open_all(tarn_sessions *all, const tarn_session_plan *first, tarn_text why)
{
    const tarn_status status = open_first(all, first, why);
    if (status == TARN_OK && all->store != NULL) {
        tarn_store_find(all->store, first->name, all->options->sessions_max - 1, on_found, all);
    }
    return status;
}

bool tarn_session_begin_anew(tarn_sessions *all)
{
    tarn_session *first = tarn_session_find(all, "");
    if (!first->was_made || first->box_fd <= 0 || strcmp(first->scene, all->options->scene) == 0) {
        return false; // the same scene would be refused again, and may be back at the next start
    }
    tarn_log_error(
        "the session \"%s\" can't go on from what was kept of it, which is set aside; it starts afresh with %s",
        first->name, all->options->scene);
    tarn_store_set_aside(all->store, tarn_session_place_of(first), first->name);
    tarn_session_box_close(&first->box_fd);
    first->kept_fd = 0;
    first->id = ++all->generation << TARN_SESSION_PLACE_BITS | (first->id & TARN_SESSION_PLACE_MASK); // another tank
    first->was_made = first->resumes = first->pending = first->past.is_filled = false;
    snprintf(first->scene, sizeof first->scene, "%s", all->options->scene);
    snprintf(first->begun_as, sizeof first->begun_as, "%s", all->options->scene);
    tarn_session_make_tank(first);
    return true;
}

bool tarn_session_begins_again(const tarn_sessions *all)
{
    const tarn_session *first = tarn_session_find((tarn_sessions *)all, ""); // which only looks
    return first != NULL && first->was_made && first->worker != NULL && (first->resumes || first->awaits_older);
}

// ---- what becomes of keeping ----

/// Tanks that waited for an older state are made.
static void take_older(tarn_sessions *all)
{
    for (uint32_t place = 0; place < TARN_GATEWAY_SESSIONS_MAX; place++) {
        tarn_session *session = &all->sessions[place];
        if (session->id == 0) {
            continue;
        }
        if (tarn_session_take_older(session) && tarn_worker_process_is_ready(session->worker)) {
            tarn_session_make_tank(session);
        }
        tarn_session_tell_older(session);
    }
}

static void tell_held_back(tarn_session *session, uint32_t place)
{
    tarn_text sentence;
    double left_s;
    const bool is_held = tarn_store_holds_back(session->all->store, place, &left_s);
    if (is_held == session->is_held_back) {
        return;
    }
    session->is_held_back = is_held;
    snprintf(sentence, sizeof sentence,
             is_held
                 ? "this tank began anew too often just now: what happens in it is not kept for another %.0f s, and "
                   "is lost if the server ends without warning; what was kept stays"
                 : "this tank is kept again",
             left_s + 0.5);
    tarn_viewer_tell_owners(session, TARN_ERROR_WORKER, sentence);
}

void tarn_session_store_tick(tarn_sessions *all, uint64_t now_ns)
{
    if (all->store != NULL) {
        take_older(all);
    }
    if (all->store == NULL || now_ns < all->store_due_ns) {
        return;
    }
    all->store_due_ns = now_ns + TARN_GATEWAY_STORE_LOOK_MS * (uint64_t)1000000;
    for (uint32_t place = 0; place < TARN_GATEWAY_SESSIONS_MAX; place++) {
        tarn_session *session = &all->sessions[place];
        if (session->id == 0) {
            continue;
        }
        tarn_session_keep(session); // for which there may have been no descriptor
        const bool is_failing = tarn_store_fails(all->store, place) ||
                                (session->was_made && session->kept_fd != session->box_fd && !session->past.is_filled);
        tell_held_back(session, place);
        if (tarn_store_take_vanished(all->store, place)) {
            tarn_viewer_tell_owners(session, TARN_ERROR_WORKER,
                                    "this tank's file was removed from the server's disk, or moved, while the server "
                                    "runs: it is written anew where that can be, without what was before this moment");
        }
        if (is_failing != session->is_failing) {
            session->is_failing = is_failing;
            tarn_viewer_tell_owners(
                session, TARN_ERROR_WORKER,
                is_failing ? "this tank is not kept just now: the server's disk or memory fails or hangs, or "
                             "its folder was removed; what is "
                             "in it goes on, and is lost if the server ends"
                           : "the server's disk works again: this tank is kept");
        }
    }
}

// ---- tried again ----
// When it is time is noted where a worker's refusal is read (post.c).

static void retry(tarn_session *session, uint64_t now_ns)
{
    if (session->state.worker_ready) {
        session->try_ns = session->tries = 0;
    } else if (session->try_ns != 0 && now_ns >= session->try_ns && !session->pending && session->worker != NULL &&
               tarn_worker_process_is_ready(session->worker)) {
        session->try_ns = 0;
        tarn_session_make_tank(session);
    }
}

void tarn_session_retry_tick(tarn_sessions *all, uint64_t now_ns)
{
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        if (all->sessions[i].id != 0) {
            retry(&all->sessions[i], now_ns);
        }
    }
}
