// Roles and muting are the viewer's and seen in `viewers`; locks are the session's and seen in its state. What somebody
// holds when it may no more is let go by saying that the viewer is gone: the next tick tells the worker.
#include "server/gateway/rights/moderation.h"
#include "protocol/assert.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/gateway/listener.h"
#include "server/gateway/rights/role.h"
#include "server/gateway/session/post.h"
#include "server/gateway/session/session.h"
#include "server/gateway/viewer/viewer.h"
#include "server/net/addresses.h"

#include <inttypes.h>
#include <libwebsockets.h>
#include <stdio.h>
#include <string.h>

static const char MUTED[] = "an owner has muted you: what you do here has no effect until it is taken back";
static const char LOCKED[] = "the owners have locked this for now";

static struct in6_addr address_of(const tarn_viewer *viewer)
{
    return ((const tarn_connection *)lws_get_opaque_user_data(viewer->wsi))->client;
}

static tarn_comer comer_of(const tarn_viewer *viewer)
{
    tarn_comer comer = {.address = address_of(viewer)};
    memcpy(comer.browser, viewer->browser, sizeof comer.browser);
    memcpy(comer.token, viewer->grant.token, sizeof comer.token);
    return comer;
}

/// Whether nobody else has joined the session from where a viewer comes.
static bool is_alone(const tarn_session *session, const tarn_viewer *viewer)
{
    const struct in6_addr own = address_of(viewer);
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        const struct in6_addr other = address_of(session->viewers[i]);
        if (session->viewers[i] != viewer && tarn_client_is_one(&own, &other)) {
            return false;
        }
    }
    return true;
}

tarn_status tarn_moderation_admit(tarn_session *session, tarn_viewer *viewer, const tarn_join *join, tarn_text why)
{
    memcpy(viewer->browser, join->browser, sizeof viewer->browser);
    viewer->is_guest = join->key[0] == 0;
    if (viewer->role == TARN_ROLE_OWN) {
        return TARN_OK;
    }
    const tarn_comer comer = comer_of(viewer);
    const uint64_t out_ns = tarn_barred_look(&session->barred, &comer, tarn_clock_monotonic_ns(), &viewer->is_muted);
    if (out_ns == 0) {
        return TARN_OK;
    }
    const uint64_t minutes = out_ns / 60000000000 + 1;
    snprintf(why, sizeof(tarn_text), "an owner has removed you from this tank; come again in %" PRIu64 " minutes",
             minutes);
    return TARN_E_STATE;
}

/// Lets go of what somebody holds. Where there is no room to say it the viewer has just come and holds nothing.
static void let_go(tarn_session *session, tarn_viewer *viewer)
{
    if (viewer->used != 0 && session->gone_count < TARN_VIEWERS_MAX) {
        session->gone[session->gone_count++] = viewer->id;
        viewer->used = 0;
    }
}

/// What of tarn_lock an input needs, and whether it ends something.
static uint32_t use_of(const tarn_input *input, bool *is_end)
{
    *is_end = false;
    switch (input->kind) {
    case TARN_INPUT_POINTER:
        *is_end = input->pointer.phase == TARN_PHASE_UP;
        return 1u << input->pointer.tool;
    case TARN_INPUT_CONTROLLER:
        *is_end = !input->controller.tracked;
        return 1u << input->controller.tool;
    case TARN_INPUT_HAND:
        *is_end = !input->hand.tracked;
        return 1u << input->hand.tool;
    case TARN_INPUT_ORIENTATION:
        return TARN_LOCK_TILT;
    case TARN_INPUT_MOTION:
        *is_end = input->motion.cell_bytes == 0;
        return TARN_LOCK_CAMERA;
    default:
        return 0; // parameters
    }
}

static uint32_t use_of_probe(const tarn_probe_wish *wish, bool *is_end)
{
    *is_end = wish->action == TARN_PROBE_ACT_REMOVE;
    return TARN_LOCK_PROBE;
}

/// @return NULL where the role may, or why not
static const char *fault_of_role(const tarn_viewer *viewer, const tarn_message *message)
{
    const tarn_act act = tarn_act_of(message);
    const bool is_open = act == TARN_ACT_PARAMETER && viewer->session->state.lock.open_parameters;
    return tarn_role_may(viewer->role, act) || (is_open && viewer->role >= TARN_ROLE_PLAY) ? NULL
                                                                                           : tarn_role_refusal(act);
}

bool tarn_moderation_allows(tarn_viewer *viewer, const tarn_message *message)
{
    tarn_session *session = viewer->session;
    const char *fault = fault_of_role(viewer, message);
    bool is_end = false;
    TARN_ASSERT(session != NULL);
    if (fault != NULL) {
        tarn_viewer_error(viewer, TARN_ERROR_ROLE, fault);
        return false;
    }
    if (message->kind != TARN_MESSAGE_INPUT && message->kind != TARN_MESSAGE_PROBE) {
        return true;
    }
    const uint32_t use =
        message->kind == TARN_MESSAGE_PROBE ? use_of_probe(&message->probe, &is_end) : use_of(&message->input, &is_end);
    const bool is_locked = viewer->role < TARN_ROLE_OWN && (use & session->state.lock.locked) != 0 && !is_end;
    if (!viewer->is_muted && !is_locked) {
        viewer->used |= use & ~(uint32_t)TARN_LOCK_PROBE; // which nobody holds
        return true;
    }
    let_go(session, viewer); // it may hold something by what it used before
    if (tarn_turn_allow(&viewer->refused_due_ns, TARN_GATEWAY_REFUSED_MS, 1)) {
        tarn_viewer_error(viewer, TARN_ERROR_ROLE, viewer->is_muted ? MUTED : LOCKED);
    }
    return false;
}

static void give_role(tarn_session *session, tarn_viewer *viewer, tarn_role role)
{
    viewer->role = role;
    session->viewers_changed = true;
    if (role < TARN_ROLE_PLAY) {
        let_go(session, viewer);
    }
}

static void set_muted(tarn_session *session, tarn_viewer *viewer, bool is_muted)
{
    const tarn_comer comer = comer_of(viewer);
    tarn_barred_unmute(&session->barred, &comer); // or it would be there twice
    if (is_muted) {
        tarn_barred_add(&session->barred, &comer, is_alone(session, viewer), 0);
        let_go(session, viewer);
    }
    viewer->is_muted = is_muted;
    session->viewers_changed = true;
}

static void remove_viewer(tarn_session *session, tarn_viewer *viewer)
{
    const tarn_comer comer = comer_of(viewer);
    tarn_barred_add(&session->barred, &comer, is_alone(session, viewer),
                    tarn_clock_monotonic_ns() + TARN_GATEWAY_REMOVED_S * (uint64_t)1000000000);
    tarn_session_leave(session, viewer);
    tarn_viewer_fail(viewer, TARN_ERROR_REMOVED, "an owner has removed you from this tank");
}

static tarn_viewer *find_viewer(const tarn_session *session, uint32_t viewer_id)
{
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        if (session->viewers[i]->id == viewer_id && !session->viewers[i]->is_preview) {
            return session->viewers[i];
        }
    }
    return NULL;
}

static bool is_last_owner(const tarn_session *session, const tarn_viewer *owner)
{
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        if (session->viewers[i] != owner && session->viewers[i]->role == TARN_ROLE_OWN) {
            return false;
        }
    }
    return true;
}

/// What an owner does is told to all.
static bool is_in_time(tarn_viewer *owner)
{
    if (tarn_turn_allow(&owner->moderate_due_ns, TARN_GATEWAY_MODERATE_MS, TARN_GATEWAY_MODERATE_BURST)) {
        return true;
    }
    tarn_viewer_error(owner, TARN_ERROR_INPUT, "too much at once about the others; try again in a moment");
    return false;
}

/// @param about  NULL: there is no such viewer  @return NULL where the owner may do this about it, or why not
static const char *fault_of(const tarn_viewer *owner, const tarn_viewer *about, tarn_moderation action)
{
    if (about == NULL) {
        return "moderate.viewer_id: nobody here has this number; allowed are those that viewers lists";
    }
    if (about == owner && action != TARN_MODERATE_PLAY && action != TARN_MODERATE_WATCH) {
        return "moderate.action: about oneself allowed are play and watch, to step back";
    }
    if (about == owner) {
        return is_last_owner(owner->session, owner)
                   ? "you are the only owner here; let somebody else own this tank before you step back"
                   : NULL;
    }
    if (about->role == TARN_ROLE_OWN && !about->is_given) {
        return "who owns this tank by a key, or as everybody here does, is out of the other owners' reach";
    }
    return NULL;
}

void tarn_moderation_act(tarn_viewer *owner, const tarn_moderate *moderate)
{
    tarn_session *session = owner->session;
    static const char *const did[TARN_MODERATE_COUNT] = {"muted",         "unmuted",       "removed",
                                                         "made an owner", "made a player", "made a watcher"};
    tarn_viewer *about = find_viewer(session, moderate->viewer_id);
    const char *fault = fault_of(owner, about, moderate->action);
    if (fault == NULL && !is_in_time(owner)) {
        return;
    }
    if (fault != NULL) {
        tarn_viewer_error(owner, TARN_ERROR_INPUT, fault);
        return;
    }
    tarn_log_of(TARN_LOG_INFO, (tarn_log_subject){.session = session->label, .tank = session->id, .viewer = about->id},
                "viewer %u of the session \"%s\" was %s by viewer %u", about->id, session->label, did[moderate->action],
                owner->id);
    switch (moderate->action) {
    case TARN_MODERATE_MUTE:
    case TARN_MODERATE_UNMUTE:
        set_muted(session, about, moderate->action == TARN_MODERATE_MUTE);
        return;
    case TARN_MODERATE_REMOVE:
        remove_viewer(session, about);
        return;
    default:
        about->is_given = true;
        give_role(session, about, (tarn_role)(TARN_MODERATE_WATCH - moderate->action));
        if (about->role == TARN_ROLE_OWN && about->is_muted) {
            set_muted(session, about, false);
        }
        return;
    }
}

_Static_assert((int)TARN_MODERATE_WATCH - (int)TARN_MODERATE_OWN == (int)TARN_ROLE_OWN &&
                   (int)TARN_MODERATE_WATCH - (int)TARN_MODERATE_PLAY == (int)TARN_ROLE_PLAY,
               "actions are roles, backwards");

void tarn_moderation_lock(tarn_viewer *owner, const tarn_lock *lock)
{
    tarn_session *session = owner->session;
    if (!is_in_time(owner)) {
        return;
    }
    const uint32_t more = lock->locked & ~session->state.lock.locked;
    session->state.lock = *lock;
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        tarn_viewer *viewer = session->viewers[i];
        if (viewer->role < TARN_ROLE_OWN && (viewer->used & more) != 0) {
            let_go(session, viewer);
        }
        tarn_viewer_tell(viewer, TARN_VIEWER_TELL_STATE);
    }
    tarn_session_keep_anew(session);
}

void tarn_moderation_guests(tarn_session *session, tarn_role guests)
{
    session->guests = guests;
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        tarn_viewer *viewer = session->viewers[i];
        if (viewer->is_guest && !viewer->is_given && !viewer->is_preview && viewer->role != guests) {
            give_role(session, viewer, guests);
        }
    }
}
