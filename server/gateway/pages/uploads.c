// Who may, and what they are told. What is done is session/uploads.c's.
#include "server/gateway/pages/uploads.h"
#include "server/base/log.h"
#include "server/gateway/rights/passes.h"
#include "server/net/addresses.h"
#include "server/scene/archive.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

_Static_assert((int)TARN_GATEWAY_UPLOAD_BYTES_MAX == (int)TARN_SCENE_ARCHIVE_BYTES_MAX, "what may come may be read");

/// The session whose scenes somebody may change. @return NULL: not, which is the answer
static tarn_session *open_to(tarn_sessions *all, const char *name, const char *pass, tarn_session_answer *answer)
{
    tarn_session *session = tarn_session_pages_open_to(all, name, pass, TARN_ACT_HTTP_SCENES, answer);
    if (session != NULL && !tarn_uploads_are_taken(all->uploads)) {
        tarn_session_pages_refuse(answer, 409, "this server takes no scenes; it was started without --uploads");
        return NULL;
    }
    return session;
}

static void write_answer(json_t *value, unsigned status, tarn_session_answer *answer)
{
    const size_t count = value != NULL ? json_dumpb(value, answer->text, sizeof answer->text, JSON_COMPACT) : 0;
    json_decref(value);
    if (count == 0 || count > sizeof answer->text) {
        tarn_session_pages_refuse(answer, 503, "the server has no memory for the answer");
        return;
    }
    answer->status = status;
    answer->byte_count = count;
}

void tarn_upload_pages_list(tarn_sessions *all, const char *name, const char *pass, tarn_session_answer *answer)
{
    const tarn_session *session = tarn_session_pages_open_to(all, name, pass, TARN_ACT_HTTP_SCENES, answer);
    if (session == NULL) {
        return;
    }
    const tarn_uploads *uploads = all->uploads;
    const bool are_taken = tarn_uploads_are_taken(uploads);
    json_t *list = json_array();
    for (uint32_t i = 0; are_taken && i < uploads->count; i++) {
        const tarn_uploads_scene *scene = &uploads->scenes[i];
        if (strcmp(scene->session, session->name) == 0) {
            json_array_append_new(list, json_pack("{s:s, s:s, s:I}", "scene", scene->id, "name", scene->name, "bytes",
                                                  (json_int_t)scene->bytes));
        }
    }
    write_answer(json_pack("{s:o, s:I, s:i}", "scenes", list, "upload_bytes_max",
                           (json_int_t)(are_taken ? TARN_GATEWAY_UPLOAD_BYTES_MAX : 0), "scenes_max",
                           are_taken ? TARN_GATEWAY_UPLOADS_OWN_MAX : 0),
                 200, answer);
}

void tarn_upload_pages_remove(tarn_sessions *all, const char *name, const char *id, const char *pass,
                              tarn_session_answer *answer)
{
    const tarn_session *session = open_to(all, name, pass, answer);
    if (session == NULL) {
        return;
    }
    if (!tarn_uploads_remove(all->uploads, session->name, id)) {
        tarn_session_pages_refuse(answer, 404, "this session has no such scene");
        return;
    }
    write_answer(json_object(), 200, answer);
}

/// The token that somebody comes by; empty: by a key, or as a guest.
static void find_by(const tarn_session *session, const char *pass, tarn_token_id by)
{
    tarn_grant grant = {0};
    tarn_text why;
    by[0] = 0;
    if (tarn_pass_is_token(pass) && tarn_passes_admit(session->all->passes, session, pass, &grant, why) == TARN_OK) {
        memcpy(by, grant.token, sizeof(tarn_token_id));
    }
}

tarn_upload *tarn_upload_pages_begin(tarn_sessions *all, const char *name, const char *pass, tarn_upload_plan *plan,
                                     tarn_session_answer *answer)
{
    tarn_text why;
    tarn_token_id by;
    tarn_session *session = open_to(all, name, pass, answer);
    if (session == NULL) {
        return NULL;
    }
    find_by(session, pass, by);
    if (tarn_uploads_have_room(all->uploads, session->name, by, plan->byte_count, why) != TARN_OK) {
        tarn_session_pages_refuse(answer, 409, why);
        return NULL;
    }
    if (!tarn_turn_allow(&session->upload_due_ns, 60000 / TARN_GATEWAY_UPLOADS_PER_MINUTE,
                         TARN_GATEWAY_UPLOADS_PER_MINUTE)) {
        snprintf(why, sizeof why, "too many scenes were uploaded here just now; allowed are %d a minute",
                 TARN_GATEWAY_UPLOADS_PER_MINUTE);
        tarn_session_pages_refuse(answer, 429, why);
        return NULL;
    }
    tarn_upload *upload;
    plan->session = session->name;
    plan->by = by;
    if (tarn_upload_begin(all->uploads, plan, &upload, why) != TARN_OK) {
        tarn_session_pages_refuse(answer, 503, why);
        return NULL;
    }
    return upload;
}

void tarn_upload_pages_tick(tarn_sessions *all)
{
    tarn_uploads *uploads = all->uploads;
    const int64_t now_s = (int64_t)time(NULL);
    tarn_upload_tick(uploads);
    if (now_s - uploads->look_s < TARN_GATEWAY_UPLOADS_LOOK_S && now_s >= uploads->look_s) {
        return;
    }
    uploads->look_s = now_s;
    for (uint32_t i = uploads->count; i-- > 0;) {
        const tarn_uploads_scene scene = uploads->scenes[i];
        if (tarn_session_find(all, scene.session) == NULL &&
            now_s - scene.at_s > (int64_t)all->options->store_limit.age_max_s) {
            (void)tarn_uploads_remove(uploads, scene.session, scene.id);
        }
    }
}

void tarn_upload_pages_answer(const tarn_upload_result *result, tarn_session_answer *answer)
{
    if (result->status != 201) {
        tarn_session_pages_refuse(answer, result->status, result->why);
        return;
    }
    tarn_log_info("a scene was uploaded: %llu bytes in %llu files", (unsigned long long)result->scene.bytes,
                  (unsigned long long)result->files);
    json_t *remarks = json_array();
    for (uint32_t i = 0; i < result->remark_count; i++) {
        json_array_append_new(remarks, json_string(result->remarks[i]));
    }
    write_answer(json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:o}", "scene", result->scene.id, "name", result->scene.name,
                           "title", result->title, "bytes", (json_int_t)result->scene.bytes, "files",
                           (json_int_t)result->files, "particles", (json_int_t)result->particles, "remarks", remarks),
                 201, answer);
}
