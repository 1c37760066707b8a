// What a viewer is due is marked here; libwebsockets calls back when the socket takes it, and send.c writes it. Begin
// at tarn_viewer_tell and tarn_viewer_next_frame.
#include "server/gateway/viewer/viewer.h"
#include "protocol/assert.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/text.h"
#include "server/gateway/session/session.h"
#include "server/net/addresses.h"

#include <libwebsockets.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    CLOSE_ERROR_BASE = 4000,
    PING_SENT_S = TARN_GATEWAY_VALID_PING_S + 1, ///< after a sign of life, when the ping has been sent for certain
};

void tarn_viewer_open(tarn_viewer_list *all, tarn_viewer *viewer, struct lws *wsi)
{
    memset(viewer, 0, sizeof *viewer);
    viewer->all = all;
    viewer->wsi = wsi;
    if (++all->id_last == 0) {
        all->id_last = 1;
    }
    viewer->id = all->id_last;
    viewer->since_ns = viewer->spoke_ns = viewer->valid_ns = viewer->tokens_ns = tarn_clock_monotonic_ns();
    tarn_viewer_rate_init(&viewer->rate);
    viewer->tokens = TARN_GATEWAY_MESSAGES_BURST_MAX;
    TARN_ASSERT(all->first != viewer);
    viewer->next = all->first;
    all->first = viewer;
    if (all->is_ending) {
        tarn_viewer_fail(viewer, TARN_ERROR_SHUTDOWN, "the server is ending");
    }
}

void tarn_viewer_presence_ready(tarn_viewer *viewer)
{
    if (viewer->phase == TARN_VIEWER_CLOSING) {
        return;
    }
    viewer->presence_due = true;
    lws_callback_on_writable(viewer->wsi);
}

void tarn_viewer_readings_ready(tarn_viewer *viewer)
{
    if (viewer->phase == TARN_VIEWER_JOINED) {
        viewer->readings_due = true;
        lws_callback_on_writable(viewer->wsi);
    }
}

void tarn_viewer_tell(tarn_viewer *viewer, uint32_t what)
{
    if (viewer->phase == TARN_VIEWER_CLOSING) {
        return; // nothing may follow a close
    }
    viewer->to_tell |= what;
    lws_callback_on_writable(viewer->wsi);
}

static void log_closed(tarn_viewer *viewer, int close_code, const char *reason)
{
    tarn_viewer_log *log = &viewer->all->closed_log;
    if (!tarn_turn_allow(&log->due_ns, 1000 / TARN_GATEWAY_LOG_LINES_PER_S, TARN_GATEWAY_LOG_LINES_BURST)) {
        log->left_out++;
    } else {
        tarn_log_of(TARN_LOG_INFO, (tarn_log_subject){.viewer = viewer->id}, "viewer %u: closed with %d: %s",
                    viewer->id, close_code, reason);
    }
}

static void close_with(tarn_viewer *viewer, uint16_t close_code, const char *reason)
{
    viewer->phase = TARN_VIEWER_CLOSING;
    TARN_ASSERT(close_code >= 1000 && close_code < 5000); // that a peer may be told
    viewer->close_code = close_code;
    viewer->close_reason = reason;
    viewer->closing_since_ns = tarn_clock_monotonic_ns();
    viewer->to_tell = 0;
    viewer->presence_due = viewer->readings_due = false;
    lws_callback_on_writable(viewer->wsi);
}

void tarn_viewer_close(tarn_viewer *viewer, uint16_t close_code, const char *reason)
{
    if (viewer->phase == TARN_VIEWER_CLOSING) {
        return;
    }
    log_closed(viewer, close_code, reason);
    viewer->error_count = viewer->errors_left_out = 0;
    close_with(viewer, close_code, reason);
}

static void queue_error(tarn_viewer *viewer, tarn_error_code code, const char *sentence)
{
    TARN_ASSERT(viewer->error_count < TARN_GATEWAY_ERRORS_QUEUED_MAX);
    uint32_t place = (viewer->error_first + viewer->error_count) % TARN_GATEWAY_ERRORS_QUEUED_MAX;
    viewer->errors[place].code = code;
    snprintf(viewer->errors[place].text, sizeof viewer->errors[place].text, "%s", sentence);
    tarn_make_printable(viewer->errors[place].text); // it may be a worker's, or be cut amid a character
    viewer->error_count++;
    lws_callback_on_writable(viewer->wsi);
}

void tarn_viewer_error(tarn_viewer *viewer, tarn_error_code code, const char *sentence)
{
    if (viewer->phase == TARN_VIEWER_CLOSING) {
        return;
    }
    if (viewer->error_count < TARN_GATEWAY_ERRORS_QUEUED_MAX && viewer->errors_left_out == 0) {
        queue_error(viewer, code, sentence);
    } else {
        viewer->errors_left_out++;
        viewer->left_out_code = code;
    }
}

void tarn_viewer_error_taken(tarn_viewer *viewer)
{
    tarn_text sentence;
    TARN_ASSERT(viewer->error_count > 0);
    viewer->error_first = (viewer->error_first + 1) % TARN_GATEWAY_ERRORS_QUEUED_MAX;
    viewer->error_count--;
    if (viewer->errors_left_out == 0) {
        return;
    }
    snprintf(sentence, sizeof sentence, "%u more errors came faster than they could be told", viewer->errors_left_out);
    viewer->errors_left_out = 0;
    queue_error(viewer, viewer->left_out_code, sentence);
}

void tarn_viewer_fail(tarn_viewer *viewer, tarn_error_code code, const char *sentence)
{
    if (viewer->phase == TARN_VIEWER_CLOSING) {
        return;
    }
    log_closed(viewer, CLOSE_ERROR_BASE + (int)code, sentence);
    viewer->error_count = viewer->errors_left_out = 0; // only the last word counts
    close_with(viewer, (uint16_t)(CLOSE_ERROR_BASE + code), NULL);
    queue_error(viewer, code, sentence);
}

void tarn_viewer_bound(tarn_viewer *viewer, const tarn_stream_traffic *traffic, uint64_t now_ns)
{
    const tarn_stream_share share = tarn_stream_traffic_share(traffic, &viewer->view, now_ns);
    tarn_viewer_rate_bound(&viewer->rate, &share);
}

/// Whether it had this very frame a moment ago: it can't need it again and again.
static bool had_key(const tarn_viewer *viewer, const tarn_fanout_frame *frame)
{
    return frame->serial == viewer->key_serial &&
           tarn_clock_monotonic_ns() - viewer->key_sent_ns < TARN_GATEWAY_KEY_AGE_MS_MIN * (uint64_t)1000000;
}

const tarn_fanout_frame *tarn_viewer_next_frame(const tarn_viewer *viewer)
{
    if (viewer->phase != TARN_VIEWER_JOINED || viewer->peer_closes || viewer->view.hidden ||
        viewer->flight.count >= tarn_viewer_rate_in_flight_max(&viewer->rate)) {
        return NULL;
    }
    TARN_ASSERT(viewer->fanout != NULL); // while joined
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    const tarn_fanout_frame *frame = tarn_fanout_next(viewer->fanout, viewer->reference, viewer->frame_serial,
                                                      !tarn_viewer_rate_takes_extra(&viewer->rate, now_ns));
    if (frame == NULL && viewer->frame_serial == 0) {
        frame = tarn_fanout_still(viewer->fanout);
    }
    if (frame != NULL && (frame->kind == TARN_STREAM_KEY ? had_key(viewer, frame) : viewer->rate.keys_only)) {
        return NULL;
    }
    if (frame != NULL && frame->kind == TARN_STREAM_EXTRA && viewer->flight.count >= TARN_FRAMES_UNACKNOWLEDGED_MAX) {
        return NULL;
    }
    return frame;
}

bool tarn_viewer_frame_is_due(const tarn_viewer *viewer)
{
    return tarn_viewer_next_frame(viewer) != NULL;
}

void tarn_viewer_frame_ready(tarn_viewer *viewer)
{
    if (tarn_viewer_frame_is_due(viewer)) {
        lws_callback_on_writable(viewer->wsi);
    }
}

void tarn_viewer_check_chain(tarn_viewer *viewer, uint64_t now_ns)
{
    TARN_ASSERT(viewer->fanout != NULL);
    // Who gets key frames alone is off the chain all the time, and no slower for that once it wants more.
    const bool is_lost =
        viewer->rate.keys_only ||
        (viewer->reference > 0 && tarn_fanout_is_lost(viewer->fanout, viewer->reference, viewer->frame_serial));
    if (is_lost && !viewer->is_lost && !viewer->rate.keys_only) {
        tarn_viewer_rate_lost(&viewer->rate, now_ns);
    }
    viewer->is_lost = is_lost;
}

/// The answer to a ping that was sent before may lie in the socket. One that wasn't sent yet is not to come later:
/// where the gateway stands for a moment every few seconds there would be none, and proxies end what is silent.
static void give_time_for_pong(tarn_viewer *viewer, const tarn_standstill *stood)
{
    const uint64_t sent_ns = viewer->valid_ns + PING_SENT_S * (uint64_t)1000000000;
    if (stood->now_ns > sent_ns + stood->ns || stood->ns > TARN_GATEWAY_VALID_PING_S * (uint64_t)1000000000) {
        tarn_viewer_is_valid(viewer, stood->now_ns);
        lws_validity_confirmed(viewer->wsi);
    }
}

void tarn_viewer_is_valid(tarn_viewer *viewer, uint64_t now_ns)
{
    viewer->valid_ns = now_ns;
}

void tarn_viewer_stood(tarn_viewer_list *all, const tarn_standstill *stood)
{
    for (tarn_viewer *viewer = all->first; viewer != NULL; viewer = viewer->next) {
        tarn_standstill_move(stood, &viewer->since_ns);
        tarn_standstill_move(stood, &viewer->closing_since_ns);
        give_time_for_pong(viewer, stood);
    }
}

void tarn_viewer_tick(tarn_viewer_list *all, uint64_t now_ns)
{
    const uint64_t handshake_ns = TARN_GATEWAY_HANDSHAKE_MS_MAX * (uint64_t)1000000;
    tarn_text why;
    const uint64_t close_ns = TARN_GATEWAY_CLOSE_MS_MAX * (uint64_t)1000000;
    tarn_viewer_log *log = &all->closed_log;
    if (log->left_out > 0 && now_ns - log->told_ns >= 1000000000) {
        tarn_log_info("%u more viewers were closed; they are not listed one by one", log->left_out);
        log->told_ns = now_ns;
        log->left_out = 0;
    }
    for (tarn_viewer *viewer = all->first; viewer != NULL; viewer = viewer->next) {
        if (viewer->phase == TARN_VIEWER_CLOSING) {
            if (now_ns > viewer->closing_since_ns && now_ns - viewer->closing_since_ns > close_ns) {
                lws_set_timeout(viewer->wsi, PENDING_TIMEOUT_CLOSE_SEND, LWS_TO_KILL_ASYNC);
                lws_cancel_service(lws_get_context(viewer->wsi)); // or it looks at its timeouts when a socket moves
            }
        } else if (viewer->phase == TARN_VIEWER_JOINED) {
            if (tarn_passes_is_over(all->sessions->passes, &viewer->grant, why)) {
                tarn_viewer_fail(viewer, TARN_ERROR_KEY, why);
            }
        } else if (now_ns - viewer->since_ns > handshake_ns) {
            tarn_viewer_fail(viewer, TARN_ERROR_ORDER, "hello and join did not come in time");
        }
    }
}

// ---- names and colours ----
// Names and colours that a session's viewers don't share: start at tarn_viewer_profile_join.

// Told apart on dark water and on a light page, also by those who see red and green alike (after Okabe and Ito's set).
static const uint32_t palette[] = {0xe69f00, 0x56b4e9, 0x00b386, 0xf0e442, 0x4d8fe0,
                                   0xe8743b, 0xd98cb3, 0x9ad14b, 0xb39ddb, 0xf28e9a};
enum { PALETTE_COUNT = sizeof palette / sizeof palette[0] };

static uint32_t pick_colour(const tarn_session *session, uint32_t viewer_id)
{
    for (uint32_t i = 0; i < PALETTE_COUNT; i++) {
        bool is_taken = false;
        for (uint32_t v = 0; v < session->viewer_count; v++) {
            is_taken |= session->viewers[v]->colour == palette[i];
        }
        if (!is_taken) {
            return palette[i];
        }
    }
    return palette[viewer_id % PALETTE_COUNT];
}

/// A name without spaces at its ends. @return false where nothing is left
static bool trim(const char *text, tarn_name name)
{
    const char *begin = text + strspn(text, " ");
    size_t length = strlen(begin);
    while (length > 0 && begin[length - 1] == ' ') {
        length--;
    }
    if (length == 0) {
        return false;
    }
    snprintf(name, sizeof(tarn_name), "%.*s", (int)length, begin);
    return true;
}

// Friendly, short, and nobody's given name; in English, as all that the server says.
static const char *const adjectives[] = {
    "amber", "brave", "breezy", "bright",   "brisk", "calm",   "clear",  "clever", "cosy",   "curious", "dapper",
    "eager", "early", "fair",   "fleet",    "fond",  "frank",  "gentle", "glad",   "golden", "happy",   "hardy",
    "jolly", "keen",  "kind",   "lively",   "lucky", "merry",  "mild",   "misty",  "nimble", "noble",   "patient",
    "quick", "quiet", "rapid",  "ready",    "rosy",  "rustic", "shiny",  "silver", "smooth", "snowy",   "steady",
    "sunny", "swift", "tidy",   "tranquil", "true",  "velvet", "warm",   "windy",  "wise",   "witty",   "zesty",
};
static const char *const animals[] = {
    "auk",    "badger", "bass",  "beaver", "bittern", "bream",  "carp",    "cod",     "coot",  "cormorant", "crab",
    "crane",  "curlew", "dace",  "dipper", "dolphin", "duck",   "eel",     "egret",   "eider", "frog",      "gannet",
    "goby",   "goose",  "grebe", "gull",   "heron",   "ibis",   "limpet",  "lobster", "loon",  "manatee",   "merlin",
    "minnow", "mussel", "newt",  "osprey", "otter",   "oyster", "pelican", "penguin", "perch", "petrel",    "pike",
    "plover", "puffin", "ray",   "roach",  "salmon",  "seal",   "shrimp",  "snail",   "snipe", "sprat",     "squid",
    "stork",  "swan",   "teal",  "tern",   "toad",    "trout",  "turtle",  "walrus",  "whale",
};
enum {
    ADJECTIVE_COUNT = sizeof adjectives / sizeof adjectives[0],
    ANIMAL_COUNT = sizeof animals / sizeof animals[0],
    PAIR_COUNT = ADJECTIVE_COUNT * ANIMAL_COUNT
};
_Static_assert((int)PAIR_COUNT > (int)TARN_VIEWERS_MAX, "one is free for whoever comes");

static bool is_taken(const tarn_session *session, const tarn_viewer *viewer)
{
    for (uint32_t v = 0; v < session->viewer_count; v++) {
        const tarn_viewer *other = session->viewers[v];
        if (other != viewer && strcasecmp(other->name, viewer->name) == 0) {
            return true;
        }
    }
    return false;
}

/// A name for somebody who has none, like nobody's in the tank: the same again for whoever comes back with a browser
/// that says who it is, else by the connection.
static void pick_name(const tarn_session *session, tarn_viewer *viewer, const tarn_join *join)
{
    uint32_t hash = 0x811c9dc5u; // FNV-1a
    const char *seed = join->browser;
    char id[16];
    if (seed[0] == '\0') {
        snprintf(id, sizeof id, "%u", viewer->id);
        seed = id;
    }
    for (const char *at = seed; *at != '\0'; at++) {
        hash = (hash ^ (uint8_t)*at) * 0x01000193u;
    }
    hash ^= hash >> 15;
    for (uint32_t i = 0; i < PAIR_COUNT; i++) {
        const uint32_t pair = (hash + i) % PAIR_COUNT;
        snprintf(viewer->name, sizeof viewer->name, "%s %s", adjectives[pair % ADJECTIVE_COUNT],
                 animals[pair / ADJECTIVE_COUNT]);
        if (!is_taken(session, viewer)) {
            return;
        }
    }
}

void tarn_viewer_profile_join(const tarn_session *session, tarn_viewer *viewer, const tarn_join *join)
{
    if (!trim(join->viewer, viewer->name)) {
        pick_name(session, viewer, join);
    }
    viewer->colour = join->colour ? join->colour : pick_colour(session, viewer->id);
}

void tarn_viewer_profile_set(tarn_session *session, tarn_viewer *viewer, const tarn_profile *profile)
{
    if (!tarn_turn_allow(&viewer->profile_due_ns, TARN_GATEWAY_PROFILE_MS, TARN_GATEWAY_PROFILE_BURST)) {
        tarn_viewer_error(viewer, TARN_ERROR_INPUT, "the name or colour changed too often; try again in a moment");
        return;
    }
    trim(profile->name, viewer->name);
    if (profile->colour) {
        viewer->colour = profile->colour;
    }
    session->viewers_changed = true;
}

// ---- what it is told of workers ----
// Greetings, and whether messages can be written with what a worker said.

static bool can_be_written(const tarn_message *message)
{
    static uint8_t scratch[TARN_MESSAGE_SERVER_BYTES_MAX];
    size_t bytes;
    return tarn_message_write(message, scratch, sizeof scratch, &bytes) == TARN_OK;
}

void tarn_welcome_fill(const tarn_ipc_worker_hello *told, tarn_welcome *welcome)
{
    welcome->version = TARN_PROTOCOL_VERSION;
    snprintf(welcome->server, sizeof welcome->server, "tarnd %s", TARN_VERSION);
    memcpy(welcome->device, told->device, sizeof welcome->device);
    welcome->scene_count = told->scenes.count;
    memcpy(welcome->scenes, told->scenes.names, sizeof welcome->scenes);
}

bool tarn_welcome_can_tell_hello(const tarn_ipc_worker_hello *told)
{
    static tarn_message message;
    message.kind = TARN_MESSAGE_WELCOME;
    tarn_welcome_fill(told, &message.welcome);
    return can_be_written(&message);
}

bool tarn_welcome_can_tell_state(const tarn_session_state *state)
{
    static tarn_message message;
    message.kind = TARN_MESSAGE_STATE;
    message.state = *state;
    return can_be_written(&message);
}

// ---- scenes that can't be read ----
// One sentence for all of them: the newest, and how many others there are.

static void say(const tarn_ipc_scene_faults *faults, tarn_viewer *viewer)
{
    tarn_text sentence;
    char others[48] = "";
    if (faults->count > 1) {
        snprintf(others, sizeof others, " (the log has %u other%s)", faults->count - 1, faults->count > 2 ? "s" : "");
    }
    snprintf(sentence, sizeof sentence, "the scene \"%s\" isn't offered%s: %.360s", faults->newest, others,
             faults->why);
    tarn_viewer_error(viewer, TARN_ERROR_SCENE, sentence);
}

void tarn_scene_faults_tell(const tarn_workers *workers, const tarn_session *first, tarn_viewer *viewer)
{
    if (workers->faults.count > 0 && viewer->session == first && viewer->role == TARN_ROLE_OWN && !viewer->is_preview) {
        say(&workers->faults, viewer);
    }
}

void tarn_scene_faults_take(tarn_workers *workers, tarn_session *first, const tarn_ipc_scene_faults *faults)
{
    const bool is_new =
                   strcmp(faults->newest, workers->faults.newest) != 0 || strcmp(faults->why, workers->faults.why) != 0,
               is_mended = faults->count < workers->faults.count; // and another's fault is the newest again
    workers->faults = *faults;
    for (uint32_t v = 0; is_new && !is_mended && first != NULL && v < first->viewer_count; v++) {
        tarn_scene_faults_tell(workers, first, first->viewers[v]);
    }
}
