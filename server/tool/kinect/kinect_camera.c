// The camera's thread, and the mailbox through which the loop has its frames: the only thing that both touch, under its
// lock. Start at watch_camera.
#include "server/tool/kinect/kinect_camera.h"
#include "server/common/clock.h"
#include "server/tool/kinect/kinect_say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    WAIT_MS = 100, ///< for a frame, so that an end is heard
    REST_MS = 50,
    REOPEN_MS = 1000,
    BAD_KINDS_MAX = 8, ///< of wrong frames that are named
};

/// Wrong frames are named once each kind: by their sentence behind the file's name.
typedef struct bad_kinds {
    char names[BAD_KINDS_MAX][DEPTH_WHY_BYTES];
    uint32_t count;
} bad_kinds;

static void name_bad(kinect_camera *c, bad_kinds *kinds, const char *why)
{
    const char *behind = strstr(why, ": ");
    behind = behind != NULL ? behind : why;
    for (uint32_t i = 0; i < kinds->count; i++) {
        if (strcmp(kinds->names[i], behind) == 0) {
            return;
        }
    }
    if (kinds->count < BAD_KINDS_MAX) {
        snprintf(kinds->names[kinds->count++], DEPTH_WHY_BYTES, "%s", behind);
        kinect_say(c->command, "left out a frame: %s; others like it are left out without a word", why);
    }
}

static void free_cells(kinect_mail *m)
{
    free(m->presence);
    free(m->velocity);
    free(m->depth_m);
}

/// Takes the frame's planes over, for the page. Under the lock.
static void post_planes(kinect_mail *m, const show_planes *planes)
{
    m->has_planes = planes != NULL;
    if (planes != NULL && m->planes == NULL) {
        m->planes = malloc(sizeof *m->planes);
    }
    m->has_planes &= m->planes != NULL;
    if (m->has_planes) {
        *m->planes = *planes;
    }
}

static bool room_for(kinect_mail *m, size_t cells)
{
    if (m->cells >= cells) {
        return true;
    }
    free_cells(m);
    m->presence = malloc(cells * sizeof(float));
    m->velocity = malloc(3 * cells * sizeof(float));
    m->depth_m = malloc(cells * sizeof(float));
    const bool has_room = m->presence != NULL && m->velocity != NULL && m->depth_m != NULL;
    m->cells = has_room ? cells : 0;
    return has_room;
}

/// @param planes  NULL: nobody looks
static void post(kinect_camera *c, const motion_result *result, const depth_frame *frame, const show_planes *planes,
                 uint64_t find_ns)
{
    const size_t cells = (size_t)result->columns * result->rows;
    pthread_mutex_lock(&c->lock);
    c->full = room_for(&c->box, cells);
    if (c->full) {
        memcpy(c->box.presence, result->presence, cells * sizeof(float));
        memcpy(c->box.velocity, result->velocity, 3 * cells * sizeof(float));
        memcpy(c->box.depth_m, result->depth_m, cells * sizeof(float));
        c->box.result = *result;
        c->box.result.person = NULL; // the finder's, which goes on
        c->box.width = frame->width;
        c->box.height = frame->height;
        c->box.arrived_ns = frame->arrived_ns;
        post_planes(&c->box, planes);
    }
    c->counted.frames++;
    c->counted.find_ns += find_ns;
    pthread_mutex_unlock(&c->lock);
    uv_async_send(c->wake);
}

static void rest_ms(const kinect_camera *c, int ms)
{
    for (; ms > 0 && !atomic_load(&c->ending); ms -= REST_MS) {
        nanosleep(&(struct timespec){0, REST_MS * 1000000L}, NULL);
    }
}

/// @param why  NULL: nothing is wrong
static void set_state(kinect_camera *c, kinect_camera_state state, const char *why)
{
    pthread_mutex_lock(&c->lock);
    c->state = state;
    snprintf(c->state_why, sizeof c->state_why, "%s", why != NULL ? why : "");
    pthread_mutex_unlock(&c->lock);
}

/// Opens the source, however long that takes. The first time it must work. @return NULL: it couldn't, or the end
static depth_source *open_source(kinect_camera *c, bool first)
{
    char why[DEPTH_WHY_BYTES];
    for (bool again = false; !atomic_load(&c->ending); again = true) {
        depth_source *source = depth_source_open(&c->source, why);
        if (source != NULL) {
            return source;
        }
        if (first && !again && c->source.kind == DEPTH_FOLDER) {
            kinect_say(c->command, "%s can't be played: %s", c->source_name, why);
            return NULL;
        }
        if (first && !again) {
            kinect_say(c->command, "%s: %s; trying again", c->source_name, why);
        }
        set_state(c, first ? KINECT_CAMERA_OPENING : KINECT_CAMERA_LOST, why);
        rest_ms(c, REOPEN_MS);
    }
    return NULL;
}

/// What a frame's pixels are worth is said once, and once that it is over.
static void watch_blindness(kinect_camera *c, const motion_result *result, bool *blind)
{
    const float little = 0.01f;
    if (result->measured < little && !*blind) {
        kinect_say(c->command, "%s measures nothing: all of its pixels are empty; is something before it?",
                   c->source_name);
        *blind = true;
    } else if (result->measured > 10 * little && *blind) {
        kinect_say(c->command, "%s measures again", c->source_name);
        *blind = false;
    }
}

static bool fit_finder(kinect_camera *c, motion_find **find, motion_settings *settings, const depth_frame *frame)
{
    if (*find != NULL && settings->width == frame->width && settings->height == frame->height) {
        return true;
    }
    motion_find_free(*find);
    settings->width = frame->width;
    settings->height = frame->height;
    *find = motion_find_make(settings);
    if (*find == NULL) {
        kinect_say(c->command, "out of memory for frames of %u x %u pixels", frame->width, frame->height);
    }
    return *find != NULL;
}

/// Takes over what the page has changed.
static void fit_limits(kinect_camera *c, motion_find *find, motion_settings *settings)
{
    pthread_mutex_lock(&c->lock);
    settings->near_m = c->near_m;
    settings->far_m = c->far_m;
    settings->dead_zone_m_s = c->dead_zone_m_s;
    pthread_mutex_unlock(&c->lock);
    if (find != NULL) {
        motion_find_limit(find, settings->near_m, settings->far_m, settings->dead_zone_m_s);
    }
}

/// One frame on its way into the mailbox. @return the motion in it; NULL: out of memory
static const motion_result *take_frame(kinect_camera *c, const depth_frame *frame, motion_find **find,
                                       motion_settings *settings, show_planes *planes)
{
    fit_limits(c, *find, settings);
    if (!fit_finder(c, find, settings, frame)) {
        return NULL;
    }
    const uint64_t from_ns = tarn_clock_monotonic_ns();
    const motion_result *result = motion_find_frame(*find, frame->mm, frame->time_s);
    const uint64_t find_ns = tarn_clock_monotonic_ns() - from_ns;
    const bool looks = planes != NULL && atomic_load(&c->looks);
    if (looks) {
        show_planes_add(planes, frame->mm, frame->width, frame->height);
    } else if (planes != NULL) {
        planes->width = 0; // what is shown next differs from nothing
    }
    post(c, result, frame, looks ? planes : NULL, find_ns);
    return result;
}

static void *watch_camera(void *user)
{
    kinect_camera *c = user;
    motion_settings settings = c->motion;
    show_planes *planes = c->shows ? calloc(1, sizeof *planes) : NULL;
    motion_find *find = NULL;
    bad_kinds *kinds = calloc(1, sizeof *kinds);
    char why[DEPTH_WHY_BYTES];
    bool blind = false, through = false, lost = false, has_seen = false;
    depth_source *source = kinds != NULL ? open_source(c, true) : NULL;
    while (source != NULL && !atomic_load(&c->ending) && !through) {
        depth_frame frame;
        switch (depth_source_next(source, WAIT_MS, &frame, why)) {
        case DEPTH_NEXT: {
            if (lost) { // it counts as back when it sends, as some can be opened and are silent
                kinect_say(c->command, "%s is back", c->source_name);
                lost = false;
            }
            const motion_result *result = take_frame(c, &frame, &find, &settings, planes);
            if (result == NULL) {
                depth_source_close(source);
                source = NULL;
                break;
            }
            set_state(c, KINECT_CAMERA_OPEN, NULL);
            watch_blindness(c, result, &blind);
            has_seen = true;
            break;
        }
        case DEPTH_NONE:
            break;
        case DEPTH_BAD:
            name_bad(c, kinds, why);
            pthread_mutex_lock(&c->lock);
            c->counted.bad++;
            pthread_mutex_unlock(&c->lock);
            break;
        case DEPTH_END:
            through = true;
            if (has_seen) {
                kinect_say(c->command, "%s is at its end", c->source_name);
            } else {
                kinect_say(c->command, "%s has no frame that can be used", c->source_name);
            }
            break;
        case DEPTH_NOTE:
            kinect_say(c->command, "%s", why);
            break;
        case DEPTH_LOST:
            if (!lost) {
                kinect_say(c->command, "%s is lost: %s; waiting until it is back", c->source_name, why);
                lost = true;
            }
            set_state(c, KINECT_CAMERA_LOST, why);
            depth_source_close(source);
            rest_ms(c, REOPEN_MS);
            source = open_source(c, false);
            break;
        }
    }
    const bool failed = (source == NULL && !atomic_load(&c->ending)) || (through && !has_seen);
    depth_source_close(source);
    motion_find_free(find);
    free(planes);
    free(kinds);
    if (through || failed) {
        set_state(c, failed ? KINECT_CAMERA_FAILED : KINECT_CAMERA_THROUGH, NULL);
    }
    uv_async_send(c->wake);
    return NULL;
}

// ---- for the loop ----

bool kinect_camera_start(kinect_camera *c)
{
    depth_choice_name(&c->source, c->source_name);
    pthread_mutex_init(&c->lock, NULL);
    c->near_m = c->motion.near_m;
    c->far_m = c->motion.far_m;
    c->dead_zone_m_s = c->motion.dead_zone_m_s;
    c->started = pthread_create(&c->thread, NULL, watch_camera, c) == 0;
    if (!c->started) {
        kinect_say(c->command, "no thread for the camera");
    }
    return c->started;
}

void kinect_camera_stop(kinect_camera *c)
{
    atomic_store(&c->ending, true);
}

void kinect_camera_end(kinect_camera *c)
{
    kinect_camera_stop(c);
    if (c->started) {
        pthread_join(c->thread, NULL);
    }
}

void kinect_camera_free(kinect_camera *c)
{
    kinect_mail_free(&c->box);
    pthread_mutex_destroy(&c->lock);
}

void kinect_mail_free(kinect_mail *m)
{
    free_cells(m);
    free(m->planes);
}

bool kinect_camera_take(kinect_camera *c, kinect_mail *mail)
{
    pthread_mutex_lock(&c->lock);
    const bool full = c->full;
    if (full) {
        const kinect_mail spare = *mail;
        *mail = c->box;
        c->box = spare;
        c->full = false;
    }
    pthread_mutex_unlock(&c->lock);
    mail->result.presence = mail->presence;
    mail->result.velocity = mail->velocity;
    mail->result.depth_m = mail->depth_m;
    return full;
}

kinect_camera_state kinect_camera_is(kinect_camera *c)
{
    pthread_mutex_lock(&c->lock);
    const kinect_camera_state state = c->state;
    pthread_mutex_unlock(&c->lock);
    return state;
}

void kinect_camera_describe(kinect_camera *c, const kinect_mail *newest, char sentence[2 * DEPTH_WHY_BYTES])
{
    char why[DEPTH_WHY_BYTES];
    pthread_mutex_lock(&c->lock);
    const kinect_camera_state state = c->state;
    memcpy(why, c->state_why, sizeof why);
    pthread_mutex_unlock(&c->lock);
    if (state == KINECT_CAMERA_OPEN) {
        snprintf(sentence, 2 * DEPTH_WHY_BYTES, "%.450s sends %u x %u pixels and measures %.0f %% of them%s",
                 c->source_name, newest->width, newest->height, 100 * (double)newest->result.measured,
                 newest->result.learning ? "; it looks at the empty scene" : "");
    } else {
        snprintf(sentence, 2 * DEPTH_WHY_BYTES, "%.450s %s%s%.450s", c->source_name,
                 state == KINECT_CAMERA_LOST      ? "is lost; waiting until it is back"
                 : state == KINECT_CAMERA_OPENING ? "isn't open yet"
                 : state == KINECT_CAMERA_FAILED  ? "can't go on"
                                                  : "is through",
                 why[0] != '\0' ? ": " : "", why);
    }
}

kinect_tally kinect_camera_count(kinect_camera *c)
{
    pthread_mutex_lock(&c->lock);
    const kinect_tally counted = c->counted;
    c->counted = (kinect_tally){0};
    pthread_mutex_unlock(&c->lock);
    return counted;
}

void kinect_camera_limit(kinect_camera *c, const kinect_calibration *calibration)
{
    pthread_mutex_lock(&c->lock);
    c->near_m = calibration->near_m;
    c->far_m = calibration->far_m;
    c->dead_zone_m_s = calibration->dead_zone_m_s;
    pthread_mutex_unlock(&c->lock);
}
