// Scenes over HTTP: their files, as one archive, and those that owners upload. Which of these a request is about is
// looked at in tarn_http_respond_session_scenes.
#include "server/common/log.h"
#include "server/common/scene.h"
#include "server/gateway/client_address.h"
#include "server/gateway/http_inside.h"
#include "server/gateway/turn_taking.h"
#include "server/gateway/upload_pages.h"

#include <stdio.h>
#include <string.h>

/// The scene that the server was started with by its file comes before one of the directory that has the same name,
/// and can be had whatever the tanks were made from since: it stays in the list of what may be loaded.
static tarn_status open_scene(tarn_gateway *gateway, const char *path, tarn_scene_page **page)
{
    tarn_status status = TARN_E_NOT_FOUND;
    if (!tarn_scene_name_valid(gateway->options.scene)) {
        status = tarn_scene_page_open_own(&gateway->scene_pages, gateway->options.scene, path, page);
    }
    if (status == TARN_E_NOT_FOUND) {
        status = tarn_scene_page_open(&gateway->scene_pages, gateway->scenes_dir, path, page);
    }
    return status;
}

static const char READS_TOO_MUCH[] = "too much of scenes was read for this address just now; try again in a moment";

/// A file is read whole, by the one thread that there is, before it is known how much of it is sent.
static bool may_read(tarn_gateway *gateway, struct lws *wsi)
{
    const struct in6_addr *client = &tarn_http_connection(wsi)->client;
    return tarn_listener_is_loopback(client) ||
           tarn_client_turn_allow(&gateway->readers, client, TARN_GATEWAY_SCENE_PIECE_MS,
                                  TARN_GATEWAY_SCENE_PIECES_BURST);
}

/// Counts what was read, beyond the piece that may_read has counted.
static void count_read(tarn_gateway *gateway, struct lws *wsi, size_t byte_count)
{
    for (size_t at = TARN_GATEWAY_SCENE_PIECE_BYTES; at < byte_count; at += TARN_GATEWAY_SCENE_PIECE_BYTES) {
        (void)may_read(gateway, wsi);
    }
}

int tarn_http_respond_scene(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi, const char *path)
{
    response->is_scene = true;
    response->shared_with = tarn_http_named_origin(gateway, wsi);
    if (!may_read(gateway, wsi)) {
        return tarn_http_respond_text(response, wsi, 429, READS_TOO_MUCH);
    }
    tarn_scene_page *page = NULL;
    tarn_status status = open_scene(gateway, path, &page);
    if (status != TARN_OK) {
        return tarn_http_respond_text(response, wsi, status == TARN_E_NOT_FOUND ? 404 : 500,
                                      status == TARN_E_NOT_FOUND ? "not found"
                                                                 : "the file cannot be read, or is too large");
    }
    count_read(gateway, wsi, page->page.byte_count);
    response->scene_page = page;
    return tarn_http_respond_page(response, wsi, &page->page);
}

/// There is one, or it is known why there is none.
static void on_told(void *user)
{
    struct lws *wsi = user;
    lws_callback_on_writable(wsi);
    lws_cancel_service(lws_get_context(wsi));
}

int tarn_http_telling_writable(tarn_http_response *response, struct lws *wsi)
{
    tarn_telling_wait *told = &response->telling;
    if (!told->is_told) {
        return told->session != NULL ? 0 : 1; // it waits, or for nothing
    }
    tarn_scene_page *page = told->page;
    told->is_told = false;
    told->page = NULL;
    if (page != NULL && page->is_gone) { // it couldn't be sent for so long
        tarn_scene_page_close(page);
        return -1;
    }
    if (page == NULL) {
        return tarn_http_refuse_json(response, wsi, told->status, told->why);
    }
    response->scene_page = page;
    return tarn_http_respond_page(response, wsi, &page->page);
}

/// The tank as it stands, once its worker has told it.
static int respond_standing(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi, tarn_session *session)
{
    response->is_scene = true;
    response->shared_with = tarn_http_named_origin(gateway, wsi);
    response->telling = (tarn_telling_wait){.is_done = on_told, .user = wsi};
    tarn_session_telling_want(session, &gateway->scene_pages, &response->telling);
    return tarn_http_telling_writable(response, wsi);
}

/// A tank as it stands, or the scene that it was made from: one of its files, or all of them.
/// @param file  NULL: the tank as it stands
static int respond_own_scene(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi, const char *file)
{
    if (!tarn_http_is_get(wsi)) {
        return tarn_http_refuse_method(response, wsi, "GET, HEAD");
    }
    tarn_session *session =
        tarn_session_pages_seen_by(&gateway->sessions, response->moved, response->pass, &tarn_http_answer);
    if (session == NULL) {
        return tarn_http_respond_answer(response, wsi, 0);
    }
    if (file == NULL) {
        return respond_standing(gateway, response, wsi, session);
    }
    const bool is_all = strcmp(file, TARN_UPLOAD_PAGES_MADE) == 0;
    if (is_all && !tarn_turn_allow(&session->made_due_ns, 60000 / TARN_GATEWAY_MADE_PER_MINUTE,
                                   TARN_GATEWAY_MADE_PER_MINUTE)) { // each is put together anew
        return tarn_http_refuse_json(response, wsi, 429,
                                     "this scene was taken too often just now; try again in a moment");
    }
    if (!may_read(gateway, wsi)) {
        return tarn_http_refuse_json(response, wsi, 429, READS_TOO_MUCH);
    }
    tarn_scene_page *page = NULL;
    const tarn_status status = is_all ? tarn_scene_page_open_archive(&gateway->scene_pages, session->box_fd, &page)
                                      : tarn_scene_page_open_kept(&gateway->scene_pages, session->box_fd, file, &page);
    if (status != TARN_OK) {
        return tarn_http_refuse_json(response, wsi, status == TARN_E_NOT_FOUND ? 404 : 503,
                                     status == TARN_E_NOT_FOUND ? "this tank's scene has no such file"
                                     : status == TARN_E_LIMIT   ? "this tank's scene is too large for one archive"
                                                                : "the file cannot be read now");
    }
    count_read(gateway, wsi, page->page.byte_count);
    response->is_scene = true;
    response->shared_with = tarn_http_named_origin(gateway, wsi);
    response->scene_page = page;
    return tarn_http_respond_page(response, wsi, &page->page);
}

/// The upload's socket takes more.
static void on_may_go_on(void *user)
{
    struct lws *wsi = user;
    lws_rx_flow_control(wsi, 1);
    lws_cancel_service(lws_get_context(wsi)); // of what it has decrypted already, no socket tells it
}

static void on_done(void *user)
{
    struct lws *wsi = user;
    lws_rx_flow_control(wsi, 1); // what still comes is thrown away
    lws_callback_on_writable(wsi);
    lws_cancel_service(lws_get_context(wsi));
}

static int begin_upload(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi)
{
    const tarn_http_head *head = &tarn_http_connection(wsi)->gate.head;
    tarn_upload_plan plan = {
        .byte_count = head->body_bytes, .user = wsi, .may_go_on = on_may_go_on, .is_done = on_done};
    if (!head->has_length) {
        return tarn_http_refuse_json(response, wsi, 411, "the body's length is not declared");
    }
    if (!head->is_upload) {
        return tarn_http_refuse_json(response, wsi, 400,
                                     "the body is empty; allowed is a tar archive of a scene and its meshes");
    }
    if (!tarn_http_origin_is_allowed(gateway, wsi)) {
        return tarn_http_refuse_json(response, wsi, 403, "pages of this origin may upload no scenes");
    }
    if (gateway->draining) {
        return tarn_http_refuse_json(response, wsi, 503, "the server is ending; try again in a moment");
    }
    response->upload =
        tarn_upload_pages_begin(&gateway->sessions, response->moved, response->pass, &plan, &tarn_http_answer);
    return response->upload != NULL ? 0 : tarn_http_respond_answer(response, wsi, 1);
}

int tarn_http_upload_body(tarn_http_response *response, struct lws *wsi, const void *bytes, size_t byte_count)
{
    if (!tarn_upload_take(response->upload, bytes, byte_count)) {
        lws_rx_flow_control(wsi, 0);
    }
    return 0;
}

int tarn_http_upload_body_end(tarn_http_response *response, struct lws *wsi)
{
    tarn_upload_end(response->upload);
    response->upload_is_whole = true;
    return tarn_upload_done(response->upload) != NULL ? tarn_http_upload_writable(response, wsi) : 0;
}

int tarn_http_upload_writable(tarn_http_response *response, struct lws *wsi)
{
    const tarn_upload_result *result = response->upload != NULL ? tarn_upload_done(response->upload) : NULL;
    if (result == NULL || !response->upload_is_whole) {
        return 1;
    }
    tarn_upload_pages_answer(result, &tarn_http_answer);
    tarn_upload_close(response->upload);
    response->upload = NULL;
    return tarn_http_respond_answer(response, wsi, 0);
}

static bool is_scenes(const char *verb)
{
    const size_t bytes = sizeof TARN_UPLOAD_PAGES_VERB - 1;
    return strncmp(verb, TARN_UPLOAD_PAGES_VERB, bytes) == 0 && (verb[bytes] == 0 || verb[bytes] == '/');
}

const char *tarn_http_scenes_methods(const char *verb)
{
    if (verb == NULL) {
        return NULL;
    }
    if (is_scenes(verb)) {
        return verb[sizeof TARN_UPLOAD_PAGES_VERB - 1] == 0 ? "GET, HEAD, POST" : "DELETE";
    }
    return strcmp(verb, TARN_UPLOAD_PAGES_SCENE) == 0 ||
                   strncmp(verb, TARN_SESSION_PAGES_SCENE, strlen(TARN_SESSION_PAGES_SCENE)) == 0
               ? "GET, HEAD"
               : NULL;
}

static int respond_uploads(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi, const char *id)
{
    const bool is_list = id[0] == 0;
    if (is_list && lws_hdr_total_length(wsi, WSI_TOKEN_POST_URI) > 0) {
        return begin_upload(gateway, response, wsi);
    }
    if (!is_list && lws_hdr_total_length(wsi, WSI_TOKEN_DELETE_URI) > 0) {
        if (!tarn_http_origin_is_allowed(gateway, wsi)) {
            return tarn_http_refuse_json(response, wsi, 403, "pages of this origin may remove no scenes");
        }
        tarn_upload_pages_remove(&gateway->sessions, response->moved, id + 1, response->pass, &tarn_http_answer);
    } else if (is_list && tarn_http_is_get(wsi)) {
        tarn_upload_pages_list(&gateway->sessions, response->moved, response->pass, &tarn_http_answer);
    } else {
        return tarn_http_refuse_method(response, wsi, is_list ? "GET, HEAD, POST" : "DELETE");
    }
    return tarn_http_respond_answer(response, wsi, 0);
}

int tarn_http_respond_session_scenes(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi,
                                     const char *name, const char *verb)
{
    if (tarn_http_scenes_methods(verb) == NULL) {
        return -2;
    }
    snprintf(response->moved, sizeof response->moved, "%.*s", (int)(verb - name), name);
    tarn_http_read_pass(wsi, response->pass);
    if (is_scenes(verb)) {
        return respond_uploads(gateway, response, wsi, verb + sizeof TARN_UPLOAD_PAGES_VERB - 1);
    }
    return respond_own_scene(gateway, response, wsi,
                             strcmp(verb, TARN_UPLOAD_PAGES_SCENE) == 0 ? NULL
                                                                        : verb + strlen(TARN_SESSION_PAGES_SCENE));
}
