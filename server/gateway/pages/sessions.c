// The calls behind /sessions: who may ask, and what the answer is. Start at tarn_session_pages_make.
#include "server/gateway/pages/sessions.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/text.h"
#include "server/gateway/pages/session_json.h"
#include "server/gateway/rights/passes.h"
#include "server/gateway/rights/visits.h"
#include "server/gateway/session/making.h"
#include "server/gateway/session/uploads.h"
#include "server/scene/scene.h"

#include <stdio.h>
#include <string.h>

void tarn_session_pages_refuse(tarn_session_answer *answer, unsigned status, const char *sentence)
{
    answer->status = status;
    answer->byte_count = tarn_session_error_write(sentence, answer->text, sizeof answer->text);
}

/// Whether whoever has a pass may do something to a session over HTTP.
static bool may(const tarn_session *session, const char *pass, tarn_act act)
{
    tarn_grant grant;
    tarn_text why;
    return tarn_passes_admit(session->all->passes, session, pass, &grant, why) == TARN_OK &&
           tarn_role_may(grant.role, act);
}

/// Of a token the signature is looked at once.
bool tarn_session_pages_may_by_some(const tarn_sessions *all, const char *pass, tarn_act act)
{
    tarn_token token = {.role = TARN_ROLE_WATCH};
    tarn_text why;
    const bool is_token = tarn_pass_is_token(pass);
    bool found = false;
    if (is_token && tarn_passes_token(all->passes, pass, &token, why) != TARN_OK) {
        return false;
    }
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        const tarn_session *session = &all->sessions[i];
        if (session->id != 0) {
            found |= is_token ? tarn_role_may(token.role, act) && strcmp(token.session, session->name) == 0
                              : may(session, pass, act);
        }
    }
    return found;
}

static bool is_creator(const tarn_sessions *all, const char *pass)
{
    const tarn_creators creators = all->options->creators;
    return creators == TARN_CREATORS_EVERYONE ||
           (creators == TARN_CREATORS_OWNERS && tarn_session_pages_may_by_some(all, pass, TARN_ACT_HTTP_MAKE));
}

static bool may_create(const tarn_sessions *all, const char *pass)
{
    return is_creator(all, pass) && tarn_session_count(all) < all->options->sessions_max &&
           tarn_session_has_room(all, NULL);
}

static tarn_session_info info_of(const tarn_session *session)
{
    const tarn_ipc_report *report = &session->report;
    const double dt_s = (double)session->state.dt_s;
    // A path is the operator's business.
    const bool is_path = !tarn_scene_name_valid(session->scene);
    return (tarn_session_info){.session = session->name,
                               .title = session->title,
                               .scene = is_path ? session->state.scene : session->scene,
                               .scene_is_own = is_path,
                               .viewers = tarn_session_people(session),
                               .particles = report->particle_count,
                               .realtime_factor = (double)report->realtime_factor,
                               .load = dt_s > 0 ? (double)report->step_s / dt_s : 0,
                               .unconverged = report->unconverged,
                               .worker = session->worker != NULL ? (int)session->worker->index : -1,
                               .device = session->worker != NULL ? session->worker->hello.device : "",
                               .state = &session->state};
}

void tarn_session_pages_list(const tarn_sessions *all, const char *pass, tarn_session_answer *answer)
{
    tarn_session_info infos[TARN_GATEWAY_SESSIONS_MAX];
    uint32_t count = 0;
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        const tarn_session *session = &all->sessions[i];
        if (session->id && session->is_listed) {
            infos[count++] = info_of(session);
        }
    }
    const tarn_ipc_worker_hello *told = &all->workers->told;
    answer->status = 200;
    answer->byte_count = tarn_session_list_write(infos, count, told->scenes.names, told->scenes.count,
                                                 may_create(all, pass), answer->text, sizeof answer->text);
}

static bool has_share(const tarn_sessions *all, const struct in6_addr *address)
{
    uint32_t count = 0;
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        count += all->sessions[i].id != 0 && tarn_client_is_one(&all->sessions[i].maker, address);
    }
    return count < all->per_address_max || tarn_address_is_loopback(address);
}

static const char *choose_scene(const tarn_sessions *all, const char *name)
{
    return tarn_uploads_choose(all->uploads, &all->workers->told.scenes, all->options->scene, name);
}

/// @param scene  that it is to be made from, by its name; NULL: what is there  @return false: it was refused
static bool check_request(tarn_sessions *all, tarn_client_turns *makers, const char *scene, const char *pass,
                          const struct in6_addr *address, tarn_session_answer *answer)
{
    tarn_text why;
    if (all->options->creators == TARN_CREATORS_NOBODY) {
        tarn_session_pages_refuse(answer, 403, "nobody makes tanks on this server; it was started so");
    } else if (!is_creator(all, pass)) {
        tarn_session_pages_refuse(answer, 403, tarn_role_refusal(TARN_ACT_HTTP_MAKE));
    } else if (scene != NULL && choose_scene(all, scene) == NULL) {
        const tarn_ipc_scenes *scenes = &all->workers->told.scenes;
        const char *near = tarn_near_name(scene, scenes->names[0], scenes->count, sizeof scenes->names[0]);
        snprintf(why, sizeof why, "scene: there is no scene \"%s\"%s%s%s", scene,
                 near != NULL ? "; did you mean \"" : "", near != NULL ? near : "", near != NULL ? "\"?" : "");
        tarn_session_pages_refuse(answer, 400, why);
    } else if (tarn_session_count(all) >= all->options->sessions_max) {
        snprintf(why, sizeof why, "there are %u tanks, which is all this server takes; try again when one has ended",
                 all->options->sessions_max);
        tarn_session_pages_refuse(answer, 503, why);
    } else if (tarn_workers_ready(all->workers) == 0) {
        tarn_session_pages_refuse(
            answer, 503,
            tarn_workers_given_up(all->workers) == all->workers->count
                ? "nothing is up to simulate it: it failed too often, and is tried again but once a minute; "
                  "whoever resets a tank or loads a scene has it tried at once"
                : "nothing is up to simulate it; try again in a moment");
    } else if (!tarn_session_has_room(all, why)) {
        tarn_session_pages_refuse(answer, 503, why);
    } else if (!has_share(all, address)) {
        snprintf(why, sizeof why, "%u tanks were made from this address, which is all it may have; end one first",
                 all->per_address_max);
        tarn_session_pages_refuse(answer, 429, why);
    } else if (!tarn_client_turn_allow(makers, address, 60000 / TARN_GATEWAY_CREATE_PER_MINUTE,
                                       TARN_GATEWAY_CREATE_PER_MINUTE)) {
        snprintf(why, sizeof why, "too many tanks were made from here just now; allowed are %d a minute",
                 TARN_GATEWAY_CREATE_PER_MINUTE);
        tarn_session_pages_refuse(answer, 429, why);
    } else {
        return true;
    }
    return false;
}

bool tarn_session_pages_may_make(tarn_sessions *all, tarn_client_turns *makers, const char *pass,
                                 const struct in6_addr *address, tarn_session_answer *answer)
{
    return check_request(all, makers, NULL, pass, address, answer);
}

void tarn_session_pages_make(tarn_sessions *all, tarn_client_turns *makers, const char *body, size_t body_bytes,
                             const char *pass, const struct in6_addr *address, tarn_session_answer *answer)
{
    tarn_session_request request;
    tarn_session *session;
    tarn_text why;
    if (tarn_session_request_read(body, body_bytes, &request, why) != TARN_OK) {
        tarn_session_pages_refuse(answer, 400, why);
        return;
    }
    if (!check_request(all, makers, request.scene, pass, address, answer)) {
        return;
    }
    const tarn_session_plan plan = {.title = request.name,
                                    .scene = choose_scene(all, request.scene),
                                    .guests = all->options->guests,
                                    .maker = *address,
                                    .is_listed = request.listed};
    const tarn_status status = tarn_session_open(all, &plan, &session);
    if (status != TARN_OK || !tarn_session_place(session)) {
        if (status == TARN_OK) {
            tarn_session_end(session, "no worker takes it");
        }
        tarn_session_pages_refuse(answer, 503, "the tank could not be made");
        return;
    }
    answer->byte_count = tarn_session_made_write(session->name, &session->keys, answer->text, sizeof answer->text);
    if (answer->byte_count == 0) { // nobody would have its keys
        tarn_session_end(session, "there is no memory to tell its keys");
        tarn_session_pages_refuse(answer, 503, "the tank could not be made: out of memory");
        return;
    }
    tarn_session_make_tank(session);
    tarn_log_of(TARN_LOG_INFO, (tarn_log_subject){.session = session->label, .tank = session->id},
                "the session \"%s\" begins: %s", session->label,
                tarn_scene_name_valid(session->scene) ? session->scene : "a scene of its owner");
    answer->status = 201;
}

/// The session of this name. @return NULL: there is none, which is the answer
static tarn_session *find(tarn_sessions *all, const char *name, tarn_session_answer *answer)
{
    tarn_session *session = name[0] ? tarn_session_find(all, name) : NULL;
    if (session == NULL) {
        tarn_session_pages_refuse(answer, 404, "there is no such session");
    }
    return session;
}

tarn_session *tarn_session_pages_open_to(tarn_sessions *all, const char *name, const char *pass, tarn_act act,
                                         tarn_session_answer *answer)
{
    tarn_session *session = find(all, name, answer);
    if (session != NULL && !may(session, pass, act) && !tarn_visit_may(session, pass, act)) {
        tarn_session_pages_refuse(answer, 403, tarn_role_refusal(act));
        return NULL;
    }
    return session;
}

/// Whether an owner has removed whoever comes by this token, which is who can be told.
static bool is_removed(const tarn_session *session, const tarn_grant *grant)
{
    bool is_muted;
    tarn_comer comer = {0};
    if (grant->token[0] == 0 || grant->role == TARN_ROLE_OWN) {
        return false;
    }
    memcpy(comer.token, grant->token, sizeof comer.token);
    return tarn_barred_look(&session->barred, &comer, tarn_clock_monotonic_ns(), &is_muted) > 0;
}

tarn_session *tarn_session_pages_seen_by(tarn_sessions *all, const char *name, const char *pass,
                                         tarn_session_answer *answer)
{
    tarn_session *session = find(all, name, answer);
    tarn_grant grant;
    tarn_text why;
    if (session != NULL && pass[0] != 0 && tarn_passes_admit(all->passes, session, pass, &grant, why) != TARN_OK) {
        tarn_session_pages_refuse(answer, 403, why);
        return NULL;
    }
    if (session != NULL && pass[0] != 0 && is_removed(session, &grant)) {
        tarn_session_pages_refuse(answer, 403, "an owner has removed you from this tank");
        return NULL;
    }
    return session;
}

void tarn_session_pages_end(tarn_sessions *all, const char *name, const char *pass, tarn_session_answer *answer)
{
    tarn_session *session = find(all, name, answer);
    if (session == NULL) {
        return;
    }
    if (!may(session, pass, TARN_ACT_HTTP_END)) {
        tarn_session_pages_refuse(answer, 403, tarn_role_refusal(TARN_ACT_HTTP_END));
    } else if (session->is_kept) {
        tarn_session_pages_refuse(answer, 409, "this tank lasts as long as the server");
    } else {
        tarn_session_end(session, "one of its owners ended this tank");
        answer->status = 200;
        answer->byte_count = (size_t)snprintf(answer->text, sizeof answer->text, "{}");
    }
}

void tarn_session_pages_move(tarn_sessions *all, tarn_move *move, const char *name, const char *pass, bool is_operator,
                             const char *body, size_t body_bytes, tarn_session_answer *answer)
{
    int worker;
    tarn_text why;
    tarn_session *session = find(all, name, answer);
    if (session == NULL) {
        return;
    }
    if (!is_operator && !may(session, pass, TARN_ACT_HTTP_MOVE)) {
        tarn_session_pages_refuse(answer, 403, tarn_role_refusal(TARN_ACT_HTTP_MOVE));
    } else if (tarn_session_move_read(body, body_bytes, all->workers->count, &worker, why) != TARN_OK) {
        tarn_session_pages_refuse(answer, 400, why);
    } else if (tarn_move_begin(move, session, worker, why) != TARN_OK) {
        tarn_session_pages_refuse(answer, 409, why);
    } else {
        answer->status = 202;
        answer->byte_count = tarn_session_move_write(session->name, move->to->index, answer->text, sizeof answer->text);
    }
}
