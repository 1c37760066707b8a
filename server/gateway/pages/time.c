// JSON in, the time machine, JSON out. Begin at tarn_time_page_answer.
#include "server/gateway/pages/time.h"
#include "protocol/message_text.h"
#include "server/base/log.h"
#include "server/gateway/pages/session_json.h"
#include "server/gateway/session/post.h"
#include "server/gateway/session/time_machine.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const verbs[] = {[TARN_TIME_PAGE_HISTORY] = "/history",
                                    [TARN_TIME_PAGE_REWIND] = "/rewind",
                                    [TARN_TIME_PAGE_FORK] = "/fork",
                                    [TARN_TIME_PAGE_MARKS] = "/marks",
                                    [TARN_TIME_PAGE_SPEED] = "/speed"};

tarn_time_page tarn_time_page_find(const char *verb)
{
    for (int page = TARN_TIME_PAGE_HISTORY; verb != NULL && page <= TARN_TIME_PAGE_SPEED; page++) {
        if (strcmp(verb, verbs[page]) == 0) {
            return (tarn_time_page)page;
        }
    }
    return TARN_TIME_PAGE_NONE;
}

const char *tarn_time_page_methods(tarn_time_page page)
{
    return page == TARN_TIME_PAGE_HISTORY ? "GET, HEAD" : "POST";
}

/// What a body may have; a number that it doesn't is NAN.
typedef struct time_request {
    double t_s, speed, remove;
    bool listed, replays, has_name;
    char name[TARN_NAME_BYTES_MAX + 1];
} time_request;

static const char *type_word(const json_t *value)
{
    return json_is_string(value)   ? "a string"
           : json_is_number(value) ? "a number"
           : json_is_null(value)   ? "null"
           : json_is_array(value)  ? "an array"
           : json_is_object(value) ? "an object"
                                   : "a truth value";
}

/// @param name_bytes_max  at most TARN_NAME_BYTES_MAX
static bool read_name(const json_t *value, size_t name_bytes_max, time_request *request, tarn_text why)
{
    const size_t length = json_string_length(value);
    if (!json_is_string(value)) {
        snprintf(why, sizeof(tarn_text), "name: found %s, allowed is a string of up to %zu bytes", type_word(value),
                 name_bytes_max);
        return false;
    }
    if (length > name_bytes_max) {
        snprintf(why, sizeof(tarn_text), "name: found %zu bytes, allowed is a string of up to %zu", length,
                 name_bytes_max);
        return false;
    }
    const char *fault = tarn_text_fault((const uint8_t *)json_string_value(value), length);
    if (fault != NULL) {
        snprintf(why, sizeof(tarn_text), "name: %s", fault);
        return false;
    }
    memcpy(request->name, json_string_value(value), length);
    request->name[length] = 0;
    request->has_name = length > 0;
    return true;
}

/// What each page takes.
typedef struct time_fields {
    bool t, replay, name, listed, remove, speed;
    size_t name_bytes_max;
    const char *words;
} time_fields;

static const time_fields fields_of[] = {
    [TARN_TIME_PAGE_REWIND] = {.t = true, .replay = true, .words = "t and replay"},
    [TARN_TIME_PAGE_FORK] =
        {.t = true, .name = true, .listed = true, .name_bytes_max = TARN_NAME_BYTES_MAX, .words = "t, name and listed"},
    [TARN_TIME_PAGE_MARKS] = {.t = true,
                              .name = true,
                              .remove = true,
                              .name_bytes_max = TARN_SESSION_MARK_BYTES_MAX,
                              .words = "t and name, or remove"},
    [TARN_TIME_PAGE_SPEED] = {.speed = true, .words = "speed"},
};

static bool read_field(const char *key, const json_t *value, const time_fields *fields, time_request *request,
                       tarn_text why)
{
    if (fields->name && strcmp(key, "name") == 0) {
        return read_name(value, fields->name_bytes_max, request, why);
    }
    if (fields->listed && strcmp(key, "listed") == 0) {
        snprintf(why, sizeof(tarn_text), "listed: found %s, allowed are true and false", type_word(value));
        request->listed = json_is_true(value);
        return json_is_boolean(value);
    }
    if (fields->replay && strcmp(key, "replay") == 0) {
        snprintf(why, sizeof(tarn_text), "replay: found %s, allowed are true and false", type_word(value));
        request->replays = json_is_true(value);
        return json_is_boolean(value);
    }
    double *const number = fields->t && strcmp(key, "t") == 0             ? &request->t_s
                           : fields->remove && strcmp(key, "remove") == 0 ? &request->remove
                           : fields->speed && strcmp(key, "speed") == 0   ? &request->speed
                                                                          : NULL;
    if (number == NULL) {
        char allowed[64];
        snprintf(allowed, sizeof allowed, "%s %s", fields->speed ? "is" : "are", fields->words);
        (void)tarn_session_field_refuse(key, allowed, why);
        return false;
    }
    if (!json_is_number(value)) {
        snprintf(why, sizeof(tarn_text), "%s: found %s, allowed is a number", key, type_word(value));
        return false;
    }
    *number = json_number_value(value);
    return true;
}

static bool read_request(tarn_time_page page, const char *body, size_t body_bytes, time_request *request, tarn_text why)
{
    const char *key;
    json_t *value;
    bool is_read = true;
    *request = (time_request){.t_s = (double)NAN, .speed = (double)NAN, .remove = (double)NAN};
    char allowed[64];
    snprintf(allowed, sizeof allowed, "one with %s", fields_of[page].words);
    json_t *object = tarn_session_body_load(body, body_bytes, allowed, why);
    if (object == NULL) {
        return false;
    }
    json_object_foreach(object, key, value)
    {
        is_read = is_read && read_field(key, value, &fields_of[page], request, why);
    }
    json_decref(object);
    return is_read;
}

/// Whether a number is there, finite. @return false: that is the answer
static bool needs(double value, const char *field, tarn_session_answer *answer)
{
    tarn_text why;
    if (isfinite(value)) {
        return true;
    }
    snprintf(why, sizeof why, "%s: found none, allowed is a number", field);
    tarn_session_pages_refuse(answer, 400, why);
    return false;
}

static void answer_status(tarn_status status, const char *why, tarn_session_answer *answer)
{
    if (status != TARN_OK) {
        tarn_session_pages_refuse(answer, status == TARN_E_ARGUMENT ? 400 : 409, why);
        return;
    }
    answer->status = 202;
    answer->byte_count = (size_t)snprintf(answer->text, sizeof answer->text, "{}");
}

static void history(const tarn_session *session, tarn_session_answer *answer)
{
    tarn_session_span span;
    tarn_text why;
    if (!tarn_time_machine_look(session, &span, why)) {
        tarn_session_pages_refuse(answer, 409, why);
        return;
    }
    json_t *marks = json_array();
    for (uint32_t i = 0; i < span.mark_count; i++) {
        const tarn_session_mark *mark = &span.marks[i];
        json_array_append_new(marks, json_pack("{s:i, s:f, s:s}", "id", (int)mark->id, "t", 1e-9 * (double)mark->at_ns,
                                               "name", mark->name));
    }
    const float speed = session->past.speed;
    json_t *object = json_pack("{s:f, s:f, s:f, s:f, s:o, s:i}", "from", 1e-9 * (double)span.from_ns, "until",
                               1e-9 * (double)span.until_ns, "step_s", (double)session->state.dt_s, "speed",
                               speed > 0.0f ? (double)speed : 1.0, "marks", marks, "minutes",
                               (int)session->all->options->history_minutes);
    const size_t count =
        object != NULL ? json_dumpb(object, answer->text, sizeof answer->text, JSON_COMPACT | JSON_REAL_PRECISION(12))
                       : 0;
    json_decref(object);
    if (count == 0 || count > sizeof answer->text) {
        tarn_session_pages_refuse(answer, 503, "there is no memory for the answer");
        return;
    }
    answer->status = 200;
    answer->byte_count = count;
}

static void fork_session(tarn_session *session, tarn_client_turns *makers, const time_request *request,
                         const char *pass, const struct in6_addr *address, tarn_session_answer *answer)
{
    tarn_session *fork;
    tarn_text why;
    if (!tarn_session_pages_may_make(session->all, makers, pass, address, answer)) {
        return;
    }
    const tarn_session_plan plan = {.title = request->has_name ? request->name : session->title,
                                    .scene = session->scene,
                                    .guests = session->guests,
                                    .maker = *address,
                                    .is_listed = request->listed};
    if (tarn_session_open(session->all, &plan, &fork) != TARN_OK) {
        tarn_session_pages_refuse(answer, 503, "the tank could not be made");
        return;
    }
    const tarn_status status = tarn_time_machine_fork(session, request->t_s, fork, why);
    if (status != TARN_OK) {
        tarn_session_end(fork, "it was never made");
        answer_status(status, why, answer);
        return;
    }
    tarn_log_of(TARN_LOG_INFO, (tarn_log_subject){.session = fork->label, .tank = fork->id},
                "the session \"%s\" goes on from one of \"%s\"", fork->label, session->label);
    answer->status = 201;
    answer->byte_count = tarn_session_made_write(fork->name, &fork->keys, answer->text, sizeof answer->text);
}

static void mark(tarn_session *session, const time_request *request, tarn_session_answer *answer)
{
    tarn_text why = "";
    if (isfinite(request->remove) && !isfinite(request->t_s) && !request->has_name) {
        const double id = request->remove;
        const bool is_id = id >= 1.0 && id <= (double)UINT32_MAX && id == floor(id);
        snprintf(why, sizeof why, "remove: found %g, allowed is the id of a mark", id);
        answer_status(is_id ? tarn_time_machine_unmark(session, (uint32_t)id, why) : TARN_E_ARGUMENT, why, answer);
    } else if (isfinite(request->remove) || !request->has_name) {
        tarn_session_pages_refuse(answer, 400, "allowed are t and name, of 1 to 40 bytes, or remove");
    } else if (needs(request->t_s, "t", answer)) {
        answer_status(tarn_time_machine_mark(session, request->t_s, request->name, why), why, answer);
    }
}

_Static_assert(TARN_SESSION_MARK_BYTES_MAX == 40, "a sentence states this limit");

static void speed(tarn_session *session, const time_request *request, tarn_session_answer *answer)
{
    tarn_text why;
    if (!needs(request->speed, "speed", answer)) {
        return;
    }
    if (request->speed < (double)TARN_SPEED_MIN - 1e-9 || request->speed > (double)TARN_SPEED_MAX) {
        snprintf(why, sizeof why, "speed: found %g, allowed are %g to %g", request->speed, (double)TARN_SPEED_MIN,
                 (double)TARN_SPEED_MAX);
        tarn_session_pages_refuse(answer, 400, why);
        return;
    }
    tarn_session_keep_speed(session, fmaxf((float)request->speed, TARN_SPEED_MIN));
    answer_status(TARN_OK, "", answer);
}

void tarn_time_page_answer(tarn_sessions *all, tarn_client_turns *makers, tarn_time_page page, const char *name,
                           const char *pass, const char *body, size_t body_bytes, const struct in6_addr *address,
                           tarn_session_answer *answer)
{
    static const tarn_act acts[] = {[TARN_TIME_PAGE_HISTORY] = TARN_ACT_HTTP_HISTORY,
                                    [TARN_TIME_PAGE_REWIND] = TARN_ACT_HTTP_REWIND,
                                    [TARN_TIME_PAGE_FORK] = TARN_ACT_HTTP_FORK,
                                    [TARN_TIME_PAGE_MARKS] = TARN_ACT_HTTP_MARKS,
                                    [TARN_TIME_PAGE_SPEED] = TARN_ACT_HTTP_SPEED};
    time_request request;
    tarn_text why;
    tarn_session *session = tarn_session_pages_open_to(all, name, pass, acts[page], answer);
    if (session == NULL) {
        return;
    }
    if (page == TARN_TIME_PAGE_HISTORY) {
        history(session, answer);
    } else if (!read_request(page, body, body_bytes, &request, why)) {
        tarn_session_pages_refuse(answer, 400, why);
    } else if (page == TARN_TIME_PAGE_MARKS) {
        mark(session, &request, answer);
    } else if (page == TARN_TIME_PAGE_SPEED) {
        speed(session, &request, answer);
    } else if (needs(request.t_s, "t", answer) && page == TARN_TIME_PAGE_FORK) {
        fork_session(session, makers, &request, pass, address, answer);
    } else if (isfinite(request.t_s)) {
        answer_status(tarn_time_machine_go_back(session, request.t_s, request.replays, why), why, answer);
    }
}
