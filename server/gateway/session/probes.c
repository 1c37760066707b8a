// The list of a session's probes, from viewers' wishes to the worker and back to viewers. Start at
// tarn_session_probes_wish and tarn_session_probes_answered.
#include "server/gateway/session/probes.h"
#include "protocol/assert.h"
#include "server/base/clock.h"
#include "server/gateway/session/post.h"
#include "server/gateway/session/session.h"
#include "server/gateway/viewer/viewer.h"
#include "server/net/addresses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tarn_probe_wanted *find(tarn_probes_wanted *list, uint32_t id)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->of[i].id == id) {
            return &list->of[i];
        }
    }
    return NULL;
}

static void take_out(tarn_probes_wanted *list, uint32_t id)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->of[i].id != id) {
            list->of[kept++] = list->of[i];
        }
    }
    list->count = kept;
}

uint32_t tarn_session_probes_told(const tarn_session *session)
{
    return session->probes.shown != NULL ? session->probes.shown->told.probe_count : 0;
}

void tarn_session_probes_begin(tarn_session *session, tarn_probes_shown *shown)
{
    session->probes.shown = shown;
    if (shown != NULL) {
        memset(shown, 0, offsetof(tarn_probes_shown, bytes));
    }
}

/// Whether there is memory for what viewers get of them.
static bool has_memory(tarn_session_probes *probes)
{
    if (probes->shown == NULL) {
        probes->shown = calloc(1, sizeof *probes->shown);
    }
    return probes->shown != NULL;
}

static void changed(tarn_session *session)
{
    session->probes.is_changed = true;
    tarn_session_probes_send(session);
}

// ---- wishes ----

/// Makes room for one more by taking away the oldest that is nobody's. @return false: there is none
static bool make_room(tarn_probes_wanted *list)
{
    const tarn_probe_wanted *oldest = NULL;
    for (uint32_t i = 0; i < list->count; i++) {
        const tarn_probe_wanted *probe = &list->of[i];
        if (probe->viewer_id == 0 && !probe->is_scenes && (oldest == NULL || probe->id < oldest->id)) {
            oldest = probe;
        }
    }
    if (oldest != NULL) {
        take_out(list, oldest->id);
    }
    return oldest != NULL;
}

static uint32_t count_of(const tarn_probes_wanted *list, uint32_t viewer_id)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        count += list->of[i].viewer_id == viewer_id;
    }
    return count;
}

static tarn_probe_wanted *add(tarn_session_probes *probes)
{
    TARN_ASSERT(probes->wanted.count < TARN_LIVE_PROBES_MAX);
    tarn_probe_wanted *probe = &probes->wanted.of[probes->wanted.count++];
    memset(probe, 0, sizeof *probe);
    probes->id_last = probes->id_last == UINT32_MAX ? 1 : probes->id_last + 1;
    probe->id = probes->id_last;
    return probe;
}

static void put_place(tarn_probe_wanted *probe, const float at_m[3], const float to_m[3])
{
    const bool has_to = tarn_probe_shows_has_to(probe->shows);
    memcpy(probe->at_m, at_m, sizeof probe->at_m);
    memcpy(probe->to_m, has_to ? to_m : at_m, sizeof probe->to_m);
}

static void place(tarn_session *session, tarn_viewer *viewer, const tarn_probe_wish *wish)
{
    tarn_session_probes *probes = &session->probes;
    tarn_text why;
    if (viewer->role < TARN_ROLE_OWN && count_of(&probes->wanted, viewer->id) >= TARN_GATEWAY_PROBES_VIEWER_MAX) {
        snprintf(why, sizeof why, "probe: you have placed %d, which is all that a viewer may; remove one first",
                 TARN_GATEWAY_PROBES_VIEWER_MAX);
        tarn_viewer_error(viewer, TARN_ERROR_INPUT, why);
        return;
    }
    if (probes->wanted.count == TARN_LIVE_PROBES_MAX && !make_room(&probes->wanted)) {
        snprintf(why, sizeof why, "probe: this tank has %d, which is all that it may have; remove one first",
                 TARN_LIVE_PROBES_MAX);
        tarn_viewer_error(viewer, TARN_ERROR_INPUT, why);
        return;
    }
    if (!has_memory(probes)) {
        tarn_viewer_error(viewer, TARN_ERROR_INPUT, "probe: there is no memory for it; try again in a moment");
        return;
    }
    tarn_probe_wanted *probe = add(probes);
    probe->viewer_id = probe->asker_id = viewer->id;
    probe->shows = wish->shows;
    probe->solid = wish->solid;
    memcpy(probe->label, wish->label, sizeof probe->label);
    put_place(probe, wish->at_m, wish->to_m);
    changed(session);
}

/// The probe that a wish is about. @return NULL: there is none that this viewer may move or remove, as it is told
static tarn_probe_wanted *own(tarn_session *session, tarn_viewer *viewer, const tarn_probe_wish *wish)
{
    tarn_probe_wanted *probe = find(&session->probes.wanted, wish->id);
    const bool may = probe != NULL && (viewer->role == TARN_ROLE_OWN || probe->viewer_id == viewer->id ||
                                       (probe->viewer_id == 0 && !probe->is_scenes));
    if (may) {
        return probe;
    }
    tarn_text why;
    if (probe == NULL) {
        snprintf(why, sizeof why, "probe.id: found %u, allowed are those that probes lists", wish->id);
    } else {
        snprintf(why, sizeof why, "probe.id: probe %u is %s; allowed are your own, owners may use all", wish->id,
                 probe->is_scenes ? "the scene's" : "somebody else's");
    }
    tarn_viewer_error(viewer, TARN_ERROR_INPUT, why);
    return NULL;
}

void tarn_session_probes_wish(tarn_session *session, tarn_viewer *viewer, const tarn_probe_wish *wish)
{
    if (!tarn_turn_allow(&viewer->probe_due_ns, TARN_GATEWAY_PROBE_MS, TARN_GATEWAY_PROBE_BURST)) {
        tarn_viewer_error(viewer, TARN_ERROR_INPUT, "probe: too many changes at once; try again in a moment");
        return;
    }
    if (wish->action == TARN_PROBE_ACT_PLACE) {
        place(session, viewer, wish);
        return;
    }
    tarn_probe_wanted *probe = own(session, viewer, wish);
    if (probe == NULL) {
        return;
    }
    if (wish->action == TARN_PROBE_ACT_MOVE) {
        put_place(probe, wish->at_m, wish->to_m);
        probe->asker_id = viewer->id;
    } else {
        take_out(&session->probes.wanted, wish->id);
    }
    changed(session);
}

// ---- what viewers know ----

static void tell(tarn_session *session)
{
    session->probes.shown->told.list++;
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        session->viewers[i]->readings_due = false; // of another list
        if (!session->viewers[i]->is_preview) {
            tarn_viewer_tell(session->viewers[i], TARN_VIEWER_TELL_PROBES);
        }
    }
}

void tarn_session_probes_left(tarn_session *session, uint32_t viewer_id)
{
    tarn_session_probes *probes = &session->probes;
    bool is_told = false;
    for (uint32_t i = 0; i < probes->wanted.count; i++) {
        if (probes->wanted.of[i].viewer_id == viewer_id) {
            probes->wanted.of[i].viewer_id = 0;
        }
    }
    for (uint32_t i = 0; i < tarn_session_probes_told(session); i++) {
        if (probes->shown->told.probes[i].viewer_id == viewer_id) {
            probes->shown->told.probes[i].viewer_id = 0;
            is_told = true;
        }
    }
    if (is_told) {
        tell(session);
    }
}

bool tarn_session_probes_are_watched(const tarn_session *session)
{
    for (uint32_t i = 0; i < session->viewer_count && tarn_session_probes_told(session) > 0; i++) {
        const tarn_viewer *viewer = session->viewers[i];
        if (viewer->view.probes && !viewer->view.hidden && !viewer->is_preview) {
            return true;
        }
    }
    return false;
}

// ---- the worker ----

void tarn_session_probes_send(tarn_session *session)
{
    tarn_session_probes *probes = &session->probes;
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    if (!probes->is_changed || probes->awaits || now_ns < probes->send_due_ns) {
        return; // the next tick tries again
    }
    tarn_ipc_message message = {.kind = TARN_IPC_PROBES, .tank = session->id};
    message.probes = (tarn_ipc_probes){.revision = probes->revision + 1, .count = probes->wanted.count};
    for (uint32_t i = 0; i < probes->wanted.count; i++) {
        const tarn_probe_wanted *wanted = &probes->wanted.of[i];
        tarn_ipc_probe *probe = &message.probes.probes[i];
        probe->id = wanted->id;
        probe->shows = (uint32_t)wanted->shows;
        memcpy(probe->at_m, wanted->at_m, sizeof probe->at_m);
        memcpy(probe->to_m, wanted->to_m, sizeof probe->to_m);
        probe->solid = wanted->solid;
    }
    const tarn_worker_queue_key key = {.kind = TARN_IPC_PROBES, .index = session->id & TARN_SESSION_PLACE_MASK};
    if (tarn_session_post(session, &message, key, false) == TARN_OK) {
        probes->send_due_ns = now_ns + TARN_GATEWAY_PROBES_SEND_MS * (uint64_t)1000000;
        probes->revision++;
        probes->sent = probes->wanted;
        probes->awaits = true;
        probes->is_changed = false;
    }
}

void tarn_session_probes_again(tarn_session *session)
{
    session->probes.awaits = false;
    session->probes.send_due_ns = 0;
    session->probes.is_changed = session->probes.wanted.count > 0 || tarn_session_probes_told(session) > 0;
    tarn_session_probes_send(session);
}

void tarn_session_probes_of_scene(tarn_session *session, const tarn_ipc_scene_probes *scene)
{
    tarn_session_probes *probes = &session->probes;
    if (!probes->is_scene_due && strcmp(probes->scene, scene->scene) == 0) {
        return; // the same tank goes on
    }
    probes->is_scene_due = false;
    memcpy(probes->scene, scene->scene, sizeof probes->scene);
    const tarn_probes_wanted before = probes->wanted;
    probes->wanted.count = 0;
    for (uint32_t i = 0; i < scene->of.count && has_memory(probes); i++) {
        const tarn_ipc_probe *from = &scene->of.probes[i];
        tarn_probe_wanted *probe = add(probes);
        probe->is_scenes = true;
        probe->shows = (tarn_probe_shows)from->shows;
        probe->solid = from->solid;
        memcpy(probe->label, from->label, sizeof probe->label);
        put_place(probe, from->at_m, from->to_m);
    }
    for (uint32_t i = 0; i < before.count && probes->wanted.count < TARN_LIVE_PROBES_MAX; i++) {
        if (!before.of[i].is_scenes) {
            probes->wanted.of[probes->wanted.count++] = before.of[i];
        }
    }
    if (probes->wanted.count > 0 || before.count > 0) {
        probes->send_due_ns = 0; // what the new tank says of the old list isn't to be told
        changed(session);
    }
}

static const tarn_probe_info *find_told(const tarn_probe_list *told, uint32_t id)
{
    for (uint32_t i = 0; i < told->probe_count; i++) {
        if (told->probes[i].id == id) {
            return &told->probes[i];
        }
    }
    return NULL;
}

static bool is_there(const tarn_probe_wanted *probe, const tarn_probe_info *told)
{
    return memcmp(probe->at_m, told->at_m, sizeof told->at_m) == 0 &&
           memcmp(probe->to_m, told->to_m, sizeof told->to_m) == 0;
}

/// Whether a probe that was sent measured there before.
static bool was_there(const tarn_session_probes *probes, uint32_t index)
{
    const tarn_probe_wanted *sent = &probes->sent.of[index];
    const tarn_probe_info *told = find_told(&probes->shown->told, sent->id);
    return told != NULL && is_there(sent, told);
}

/// One that can't be where it is wanted goes back to where it was, if it was somewhere else; else it goes.
static void refuse(tarn_session *session, const tarn_probe_wanted *sent, const char *why)
{
    tarn_session_probes *probes = &session->probes;
    const tarn_probe_info *told = find_told(&probes->shown->told, sent->id);
    tarn_probe_wanted *wanted = find(&probes->wanted, sent->id);
    if (wanted != NULL && told != NULL && !is_there(sent, told)) {
        memcpy(wanted->at_m, told->at_m, sizeof wanted->at_m);
        memcpy(wanted->to_m, told->to_m, sizeof wanted->to_m);
    } else {
        take_out(&probes->wanted, sent->id);
    }
    probes->is_changed = true; // another tank might have room for what was sent
    tarn_text text;
    snprintf(text, sizeof text, "probe: %.*s", TARN_IPC_PROBE_WHY_BYTES, why);
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        if (session->viewers[i]->id == sent->asker_id) {
            tarn_viewer_error(session->viewers[i], TARN_ERROR_INPUT, text);
        }
    }
}

static void fill_info(tarn_session_probes *probes, uint32_t index, const tarn_ipc_probed *answer, tarn_probe_info *info)
{
    const tarn_probe_wanted *sent = &probes->sent.of[index];
    const tarn_probe_wanted *now = find(&probes->wanted, sent->id);
    memset(info, 0, sizeof *info);
    info->id = sent->id;
    info->viewer_id = now != NULL ? now->viewer_id : 0; // who left meanwhile has none
    info->scene = sent->is_scenes;
    info->shows = sent->shows;
    info->solid = sent->solid;
    memcpy(info->at_m, sent->at_m, sizeof info->at_m);
    memcpy(info->to_m, sent->to_m, sizeof info->to_m);
    memcpy(info->label, sent->label, sizeof info->label);
    info->column_count = answer->of[index].column_count;
    memcpy(info->columns, answer->of[index].columns, sizeof info->columns);
}

/// Why one isn't measured. @return "": it is
static const char *why_not(const tarn_session_probes *probes, const tarn_ipc_probed *answer, uint32_t index)
{
    const tarn_probe_wanted *sent = &probes->sent.of[index];
    bool is_told = true; // what a viewer is told of a place is 0 m and more
    for (int axis = 0; axis < 3; axis++) {
        is_told = is_told && sent->at_m[axis] >= 0 && sent->to_m[axis] >= 0;
    }
    return is_told || answer->of[index].why[0] != 0 ? answer->of[index].why : "it is outside the tank";
}

/// Whether it can be told, whatever a worker said.
static bool can_be_told(const tarn_probe_list *list)
{
    static tarn_message message; // large
    static uint8_t bytes[TARN_MESSAGE_SERVER_BYTES_MAX];
    size_t byte_count;
    message.kind = TARN_MESSAGE_PROBES;
    message.probes = *list;
    return tarn_message_write(&message, bytes, sizeof bytes, &byte_count) == TARN_OK;
}

tarn_status tarn_session_probes_answered(tarn_session *session, const tarn_ipc_probed *answer)
{
    static tarn_probe_list list; // large
    tarn_session_probes *probes = &session->probes;
    if (answer->revision != probes->revision) {
        return TARN_OK; // of a tank that was there before
    }
    if (answer->count != probes->sent.count) {
        return TARN_E_MALFORMED;
    }
    if (probes->shown == NULL) { // there never was one
        probes->awaits = false;
        return TARN_OK;
    }
    memset(&list, 0, sizeof list);
    list.list = probes->shown->told.list;
    for (uint32_t i = 0; i < answer->count; i++) {
        if (why_not(probes, answer, i)[0] == 0) {
            fill_info(probes, i, answer, &list.probes[list.probe_count++]);
        }
    }
    if (!can_be_told(&list)) {
        return TARN_E_MALFORMED;
    }
    probes->awaits = false;
    bool is_news = false, is_old = false; // what is refused
    for (uint32_t i = 0; i < answer->count; i++) {
        const bool is_refused = why_not(probes, answer, i)[0] != 0;
        is_news |= is_refused && !was_there(probes, i);
        is_old |= is_refused && was_there(probes, i);
    }
    for (uint32_t i = 0; i < answer->count; i++) {
        const char *why = why_not(probes, answer, i);
        if (why[0] != 0 && !(is_news && was_there(probes, i))) {
            refuse(session, &probes->sent.of[i], why);
        }
    }
    if (is_news && is_old) { // perhaps for want of room: without the news those before may go on as they were told
        probes->revision++;  // what the worker measures meanwhile isn't all that viewers were told of
        tarn_session_probes_send(session);
        return TARN_OK;
    }
    if (memcmp(&probes->shown->told, &list, sizeof list) != 0) {
        probes->shown->told = list;
        tell(session);
        tarn_session_keep_anew(session);
    }
    tarn_session_probes_send(session);
    return TARN_OK;
}

tarn_status tarn_session_probes_read(tarn_session *session, const tarn_ipc_readings *readings)
{
    tarn_session_probes *probes = &session->probes;
    uint32_t columns = 0;
    for (uint32_t i = 0; i < tarn_session_probes_told(session); i++) {
        columns += probes->shown->told.probes[i].column_count;
    }
    if (probes->shown == NULL || readings->revision != probes->revision || probes->awaits ||
        readings->epoch != session->epoch_served) {
        return TARN_OK; // of what was measured before
    }
    if (readings->byte_count != readings->row_count * columns * sizeof(float)) {
        return TARN_E_MALFORMED;
    }
    static tarn_message message; // large
    message.kind = TARN_MESSAGE_READINGS;
    message.readings = (tarn_readings){.list = probes->shown->told.list,
                                       .epoch = readings->epoch,
                                       .step = readings->step,
                                       .dt_s = readings->dt_s,
                                       .row_count = readings->row_count,
                                       .byte_count = readings->byte_count,
                                       .values = readings->values};
    if (tarn_message_write(&message, probes->shown->bytes + LWS_PRE, TARN_MESSAGE_SERVER_BYTES_MAX,
                           &probes->shown->byte_count)) {
        return TARN_E_MALFORMED;
    }
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        tarn_viewer *viewer = session->viewers[i];
        if (viewer->view.probes && !viewer->view.hidden && !viewer->is_preview) {
            tarn_viewer_readings_ready(viewer);
        }
    }
    return TARN_OK;
}

// ---- from the store ----

void tarn_session_probes_back(tarn_session *session, const tarn_session_about *about)
{
    tarn_session_probes *probes = &session->probes;
    memcpy(probes->scene, about->probes_scene, sizeof probes->scene);
    for (uint32_t i = 0; i < about->probe_count && has_memory(probes); i++) {
        const tarn_session_probe *from = &about->probes[i];
        tarn_probe_wanted *probe = add(probes);
        probe->shows = (tarn_probe_shows)from->shows;
        probe->is_scenes = from->is_scenes != 0;
        probe->solid = from->solid;
        memcpy(probe->label, from->label, sizeof probe->label);
        put_place(probe, from->at_m, from->to_m);
    }
}
