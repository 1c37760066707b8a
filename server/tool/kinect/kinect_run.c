// Two threads:
//
//     camera: open -> next frame -> motion_find -> mailbox, newest wins -> wakes the loop
//               ^---- lost: once a second, said once ----
//     loop:   mailbox -> motion_wall -> code -> link;   a tick: interrupts, status line
//
// The mailbox is the only thing that both touch, under its lock.
#include "server/tool/kinect/kinect_run.h"
#include "protocol/motion_code.h"
#include "server/common/clock.h"
#include "server/tool/kinect/kinect_link.h"
#include "server/tool/kinect/kinect_say.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    TICK_MS = 50,
    STATUS_TICKS = 20,
    WAIT_MS = 100, ///< for a frame, so that an end is heard
    REOPEN_MS = 1000,
    GOODBYE_TICKS = 10, ///< for the last message to be taken
    CELLS_MAX = TARN_MOTION_COLUMNS_MAX * TARN_MOTION_ROWS_MAX,
    BAD_KINDS_MAX = 8, ///< of wrong frames that are named
    COARSER_MAX = 4,   ///< halvings of a grid whose code is too long
};

/// A copy of a motion_result.
typedef struct mail {
    motion_result result;
    uint64_t arrived_ns;
    float *presence, *velocity, *depth_m;
    size_t cells;
} mail;

/// What the camera's thread counts, since the last status line.
typedef struct tally {
    uint32_t frames, bad;
    uint64_t find_ns;
} tally;

typedef struct bridge {
    const kinect_options *options;
    char source_name[DEPTH_WHY_BYTES];
    pthread_t thread;
    atomic_bool ending;

    pthread_mutex_t lock;
    mail box;               ///< under the lock
    bool full;              ///< under the lock
    uint32_t width, height; ///< of frames; under the lock
    tally counted;          ///< under the lock
    bool through, failed;   ///< the camera's thread has ended: a recording is through; it can't go on. Under the lock

    // the loop's
    uv_loop_t loop;
    uv_async_t wake;
    uv_timer_t tick;
    kinect_link link;
    mail taken;
    motion_wall *walls[COARSER_MAX];
    motion_wall_settings wall_settings[COARSER_MAX];
    float wall_size_m[2];
    uint32_t wall_width, wall_height;
    double allowance_bits;
    uint64_t allowance_ns, next_ns;
    uint32_t ticks, goodbye;
    uint32_t sent, sent_moving, people;
    uint64_t bytes_before;
    tally all; ///< of the whole run, as the status lines have counted
    uint64_t all_sent, all_latency_ns, all_latency_max_ns, all_latency_count, began_ns;
    bool empty_sent; ///< the server knows that nobody is there
    int status;
} bridge;

// ---- the camera's thread ----

/// Wrong frames are named once each kind: by their sentence behind the file's name.
typedef struct bad_kinds {
    char names[BAD_KINDS_MAX][DEPTH_WHY_BYTES];
    uint32_t count;
} bad_kinds;

static void name_bad(bridge *b, bad_kinds *kinds, const char *why)
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
        kinect_say(b->options->command, "left out a frame: %s; others like it are left out without a word", why);
    }
}

static void free_mail(mail *m)
{
    free(m->presence);
    free(m->velocity);
    free(m->depth_m);
}

static bool room_for(mail *m, size_t cells)
{
    if (m->cells >= cells) {
        return true;
    }
    free_mail(m);
    m->presence = malloc(cells * sizeof(float));
    m->velocity = malloc(3 * cells * sizeof(float));
    m->depth_m = malloc(cells * sizeof(float));
    const bool has_room = m->presence != NULL && m->velocity != NULL && m->depth_m != NULL;
    m->cells = has_room ? cells : 0;
    return has_room;
}

static void post(bridge *b, const motion_result *result, const depth_frame *frame, uint64_t find_ns)
{
    const size_t cells = (size_t)result->columns * result->rows;
    pthread_mutex_lock(&b->lock);
    b->full = room_for(&b->box, cells);
    if (b->full) {
        memcpy(b->box.presence, result->presence, cells * sizeof(float));
        memcpy(b->box.velocity, result->velocity, 3 * cells * sizeof(float));
        memcpy(b->box.depth_m, result->depth_m, cells * sizeof(float));
        b->box.result = *result;
        b->box.arrived_ns = frame->arrived_ns;
    }
    b->width = frame->width;
    b->height = frame->height;
    b->counted.frames++;
    b->counted.find_ns += find_ns;
    pthread_mutex_unlock(&b->lock);
    uv_async_send(&b->wake);
}

static void rest_ms(const bridge *b, int ms)
{
    for (; ms > 0 && !atomic_load(&b->ending); ms -= TICK_MS) {
        nanosleep(&(struct timespec){0, TICK_MS * 1000000L}, NULL);
    }
}

/// Opens the source, however long that takes. The first time it must work. @return NULL: it couldn't, or the end
static depth_source *open_source(bridge *b, bool first)
{
    char why[DEPTH_WHY_BYTES];
    for (bool again = false; !atomic_load(&b->ending); again = true) {
        depth_source *source = depth_source_open(&b->options->source, why);
        if (source != NULL) {
            return source;
        }
        if (first && !again && b->options->source.kind == DEPTH_FOLDER) {
            kinect_say(b->options->command, "%s can't be played: %s", b->source_name, why);
            return NULL;
        }
        if (first && !again) {
            kinect_say(b->options->command, "%s: %s; trying again", b->source_name, why);
        }
        rest_ms(b, REOPEN_MS);
    }
    return NULL;
}

/// What a frame's pixels are worth is said once, and once that it is over.
static void watch_blindness(bridge *b, const motion_result *result, bool *blind)
{
    const float little = 0.01f;
    if (result->measured < little && !*blind) {
        kinect_say(b->options->command, "%s measures nothing: all of its pixels are empty; is something before it?",
                   b->source_name);
        *blind = true;
    } else if (result->measured > 10 * little && *blind) {
        kinect_say(b->options->command, "%s measures again", b->source_name);
        *blind = false;
    }
}

static bool fit_finder(bridge *b, motion_find **find, motion_settings *settings, const depth_frame *frame)
{
    if (*find != NULL && settings->width == frame->width && settings->height == frame->height) {
        return true;
    }
    motion_find_free(*find);
    settings->width = frame->width;
    settings->height = frame->height;
    *find = motion_find_make(settings);
    if (*find == NULL) {
        kinect_say(b->options->command, "out of memory for frames of %u x %u pixels", frame->width, frame->height);
    }
    return *find != NULL;
}

static void *watch_camera(void *user)
{
    bridge *b = user;
    motion_settings settings = b->options->motion;
    motion_find *find = NULL;
    bad_kinds *kinds = calloc(1, sizeof *kinds);
    char why[DEPTH_WHY_BYTES];
    bool blind = false, through = false, lost = false;
    depth_source *source = kinds != NULL ? open_source(b, true) : NULL;
    while (source != NULL && !atomic_load(&b->ending) && !through) {
        depth_frame frame;
        switch (depth_source_next(source, WAIT_MS, &frame, why)) {
        case DEPTH_NEXT: {
            if (lost) { // it counts as back when it sends, as some can be opened and are silent
                kinect_say(b->options->command, "%s is back", b->source_name);
                lost = false;
            }
            if (!fit_finder(b, &find, &settings, &frame)) {
                depth_source_close(source);
                source = NULL;
                break;
            }
            const uint64_t from_ns = tarn_clock_monotonic_ns();
            const motion_result *result = motion_find_frame(find, frame.mm, frame.time_s);
            post(b, result, &frame, tarn_clock_monotonic_ns() - from_ns);
            watch_blindness(b, result, &blind);
            break;
        }
        case DEPTH_NONE:
            break;
        case DEPTH_BAD:
            name_bad(b, kinds, why);
            pthread_mutex_lock(&b->lock);
            b->counted.bad++;
            pthread_mutex_unlock(&b->lock);
            break;
        case DEPTH_END:
            through = true;
            break;
        case DEPTH_LOST:
            if (!lost) {
                kinect_say(b->options->command, "%s is lost: %s; waiting until it is back", b->source_name, why);
                lost = true;
            }
            depth_source_close(source);
            rest_ms(b, REOPEN_MS);
            source = open_source(b, false);
            break;
        }
    }
    const bool failed = source == NULL && !atomic_load(&b->ending);
    depth_source_close(source);
    motion_find_free(find);
    free(kinds);
    pthread_mutex_lock(&b->lock);
    b->through = through;
    b->failed = failed;
    pthread_mutex_unlock(&b->lock);
    uv_async_send(&b->wake);
    return NULL;
}

// ---- the loop ----

/// The rectangle in the tank.
static void find_region(const bridge *b, tarn_input_motion *motion)
{
    const kinect_options *o = b->options;
    const float *size_m = b->link.size_m;
    const float z_m = o->has_place ? o->place_m : size_m[2];
    motion->corner_m[0] = o->has_region ? o->region_m[0] : 0;
    motion->corner_m[1] = o->has_region ? o->region_m[1] : 0;
    motion->corner_m[2] = z_m;
    motion->across_m[0] = o->has_region ? o->region_m[2] : size_m[0];
    motion->up_m[1] = o->has_region ? o->region_m[3] : size_m[1];
}

/// The walls of this region and picture, each half as fine as the one before.
static bool fit_walls(bridge *b, float across_m, float up_m, uint32_t width, uint32_t height)
{
    if (b->walls[0] != NULL && b->wall_size_m[0] == across_m && b->wall_size_m[1] == up_m && b->wall_width == width &&
        b->wall_height == height) {
        return true;
    }
    b->wall_size_m[0] = across_m;
    b->wall_size_m[1] = up_m;
    b->wall_width = width;
    b->wall_height = height;
    motion_wall_settings settings = b->options->wall;
    settings.width = width;
    settings.height = height;
    settings.across_m = across_m;
    settings.up_m = up_m;
    bool whole = true;
    for (int i = 0; i < COARSER_MAX; i++) {
        motion_wall_free(b->walls[i]);
        b->wall_settings[i] = settings;
        b->walls[i] = motion_wall_make(&settings);
        whole &= b->walls[i] != NULL;
        settings.columns = (settings.columns + 1) / 2;
        settings.rows = (settings.rows + 1) / 2;
    }
    return whole;
}

/// As fine as its code has room. @return how many cells move or hold somebody
static size_t code_cells(bridge *b, const motion_result *result, tarn_input_motion *motion, uint8_t *code)
{
    static uint8_t planes[TARN_MOTION_PLANES * CELLS_MAX];
    for (int i = 0; i < COARSER_MAX; i++) {
        const motion_wall_settings *settings = &b->wall_settings[i];
        const size_t count = (size_t)settings->columns * settings->rows;
        const size_t moving = motion_wall_planes(b->walls[i], result, planes, &motion->speed_m_s);
        const size_t bytes = tarn_motion_encode(planes, TARN_MOTION_PLANES * count, code, TARN_MOTION_CODE_BYTES_MAX);
        if (bytes > 0) {
            motion->columns = settings->columns;
            motion->rows = settings->rows;
            motion->cells = code;
            motion->cell_bytes = (uint32_t)bytes;
            return moving > 0 ? moving : tarn_motion_has(code, bytes, 0);
        }
    }
    return 0;
}

/// Whether so many bytes may be sent now; the allowance of a second gathers at most.
static bool allowed(bridge *b, size_t bytes, uint64_t now_ns)
{
    const double most = KINECT_MBIT_S * 1e6;
    b->allowance_bits = fmin(most, b->allowance_bits + most * (double)(now_ns - b->allowance_ns) * 1e-9);
    b->allowance_ns = now_ns;
    const double bits = 8.0 * (double)(bytes + KINECT_MESSAGE_BYTES);
    if (b->allowance_bits < bits) {
        return false;
    }
    b->allowance_bits -= bits;
    return true;
}

static void begin_motion(const bridge *b, tarn_input_motion *motion)
{
    *motion = (tarn_input_motion){.source = b->options->number,
                                  .columns = 1,
                                  .rows = 1,
                                  .depth_m = b->options->depth_m,
                                  .speed_m_s = 1,
                                  .strength = b->options->strength,
                                  .solid = b->options->solid};
    find_region(b, motion);
}

static void send_motion(bridge *b, uint32_t width, uint32_t height)
{
    static uint8_t code[TARN_MOTION_CODE_BYTES_MAX];
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    tarn_input_motion motion;
    b->people = b->taken.result.person_count;
    // Frames come a little early or late; over time there are no more than the rate.
    const uint64_t period_ns = 1000000000u / b->options->rate;
    if (!kinect_link_ready(&b->link) || now_ns + period_ns / 2 < b->next_ns) {
        return;
    }
    begin_motion(b, &motion);
    if (!fit_walls(b, motion.across_m[0], motion.up_m[1], width, height)) {
        kinect_say(b->options->command, "the wall's corners don't fit a picture of %u x %u pixels, or memory is out",
                   width, height);
        b->status = EXIT_FAILURE;
        b->goodbye = 1;
        return;
    }
    const size_t busy = code_cells(b, &b->taken.result, &motion, code);
    if (busy == 0) {
        motion.cell_bytes = 0; // nobody: said once, and then nothing until somebody comes
        if (b->empty_sent) {
            return;
        }
    }
    if (!allowed(b, motion.cell_bytes, now_ns) || !kinect_link_send(&b->link, &motion, b->taken.arrived_ns)) {
        return;
    }
    b->empty_sent = busy == 0;
    b->sent++;
    b->sent_moving = (uint32_t)busy;
    b->next_ns = (b->next_ns + period_ns > now_ns ? b->next_ns : now_ns - period_ns) + period_ns;
}

static void on_wake(uv_async_t *wake)
{
    bridge *b = wake->data;
    pthread_mutex_lock(&b->lock);
    const bool full = b->full, ended = b->through || b->failed, failed = b->failed;
    const uint32_t width = b->width, height = b->height;
    if (full) {
        const mail spare = b->taken;
        b->taken = b->box;
        b->box = spare;
        b->full = false;
    }
    pthread_mutex_unlock(&b->lock);
    if (full && b->goodbye == 0) {
        b->taken.result.presence = b->taken.presence;
        b->taken.result.velocity = b->taken.velocity;
        b->taken.result.depth_m = b->taken.depth_m;
        send_motion(b, width, height);
    }
    if (ended && b->goodbye == 0) {
        b->status = failed ? EXIT_FAILURE : b->status;
        b->goodbye = 1;
    }
}

/// Takes what was counted since the last time over into that of the whole run.
static tally take_tally(bridge *b)
{
    kinect_link *link = &b->link;
    pthread_mutex_lock(&b->lock);
    const tally t = b->counted;
    b->counted = (tally){0};
    pthread_mutex_unlock(&b->lock);
    b->all.frames += t.frames;
    b->all.bad += t.bad;
    b->all.find_ns += t.find_ns;
    b->all_sent += b->sent;
    b->all_latency_ns += link->latency_ns;
    b->all_latency_count += link->latency_count;
    b->all_latency_max_ns = link->latency_max_ns > b->all_latency_max_ns ? link->latency_max_ns : b->all_latency_max_ns;
    return t;
}

static void forget_tally(bridge *b)
{
    b->sent = 0;
    b->bytes_before = b->link.bytes_sent;
    b->link.latency_ns = b->link.latency_max_ns = 0;
    b->link.latency_count = 0;
}

/// What the run was, on standard output.
static void print_summary(bridge *b)
{
    take_tally(b);
    const double seconds = (double)(tarn_clock_monotonic_ns() - b->began_ns) * 1e-9;
    printf("%u frames in %.1f s, %u wrong, %.2f ms each; %llu messages, %.3f Mbit/s", b->all.frames, seconds,
           b->all.bad, b->all.frames > 0 ? (double)b->all.find_ns / b->all.frames * 1e-6 : 0,
           (unsigned long long)b->all_sent, (double)b->link.bytes_sent * 8e-6 / seconds);
    if (b->all_latency_count > 0) {
        printf("; in a frame after %.1f ms, at most %.1f",
               (double)b->all_latency_ns / (double)b->all_latency_count * 1e-6, (double)b->all_latency_max_ns * 1e-6);
    }
    printf("\n");
}

static void show_status(bridge *b)
{
    char line[512], late[64] = "";
    kinect_link *link = &b->link;
    const tally t = take_tally(b);
    const double seconds = STATUS_TICKS * TICK_MS * 1e-3;
    if (link->latency_count > 0) {
        snprintf(late, sizeof late, ", in a frame after %.0f ms (most %.0f)",
                 (double)link->latency_ns / link->latency_count * 1e-6, (double)link->latency_max_ns * 1e-6);
    }
    snprintf(line, sizeof line, "%.0f frames/s, %.1f ms each%s; %u there, %u cells; %u sent/s, %.2f Mbit/s%s%s",
             t.frames / seconds, t.frames > 0 ? (double)t.find_ns / t.frames * 1e-6 : 0,
             t.bad > 0 ? ", some wrong" : "", b->people, b->sent_moving, (uint32_t)(b->sent / seconds),
             (double)(link->bytes_sent - b->bytes_before) * 8e-6 / seconds, late,
             link->phase == KINECT_LINK_JOINED ? "" : "; no connection");
    if (!b->options->quiet) {
        kinect_say_status(line);
    }
    forget_tally(b);
}

/// Says that the source is gone, then ends the connection, then the loop.
static void say_goodbye(bridge *b)
{
    if (b->goodbye == 1) {
        atomic_store(&b->ending, true);
        if (kinect_link_ready(&b->link)) {
            tarn_input_motion motion;
            begin_motion(b, &motion);
            kinect_link_send(&b->link, &motion, tarn_clock_monotonic_ns());
        }
    }
    const bool waits = b->link.phase == KINECT_LINK_JOINED && load_socket_wants_write(&b->link.socket);
    if (b->goodbye++ > 1 && (!waits || b->goodbye > GOODBYE_TICKS)) {
        kinect_link_end(&b->link);
        uv_close((uv_handle_t *)&b->tick, NULL);
        uv_close((uv_handle_t *)&b->wake, NULL);
    }
}

static void on_tick(uv_timer_t *tick)
{
    bridge *b = tick->data;
    if (b->goodbye == 0 && b->options->interrupted()) {
        b->goodbye = 1;
    }
    if (b->goodbye == 0 && b->link.phase == KINECT_LINK_REFUSED) {
        b->status = EXIT_FAILURE;
        b->goodbye = 1;
    }
    if (b->goodbye > 0) {
        say_goodbye(b);
    } else if (++b->ticks % STATUS_TICKS == 0) {
        show_status(b);
    }
}

int kinect_run(const kinect_options *options)
{
    bridge *b = calloc(1, sizeof *b);
    if (b == NULL || uv_loop_init(&b->loop) != 0) {
        kinect_say(options->command, "out of memory");
        free(b);
        return EXIT_FAILURE;
    }
    b->options = options;
    b->allowance_ns = b->began_ns = tarn_clock_monotonic_ns();
    depth_choice_name(&options->source, b->source_name);
    pthread_mutex_init(&b->lock, NULL);
    uv_async_init(&b->loop, &b->wake, on_wake);
    uv_timer_init(&b->loop, &b->tick);
    b->wake.data = b->tick.data = b;
    uv_timer_start(&b->tick, on_tick, TICK_MS, TICK_MS);

    kinect_link *link = &b->link;
    link->command = options->command;
    link->target = options->target;
    memcpy(link->session, options->session, sizeof link->session);
    memcpy(link->key, options->key, sizeof link->key);
    snprintf(link->viewer, sizeof link->viewer, "depth camera");
    kinect_link_start(link, &b->loop);
    const bool watches = pthread_create(&b->thread, NULL, watch_camera, b) == 0;
    if (!watches) {
        kinect_say(options->command, "no thread for the camera");
        b->status = EXIT_FAILURE;
        b->goodbye = 1;
    }
    uv_run(&b->loop, UV_RUN_DEFAULT);
    kinect_say_status("");
    if (watches) {
        pthread_join(b->thread, NULL);
    }
    uv_loop_close(&b->loop);
    print_summary(b);
    const int status = b->status;
    for (int i = 0; i < COARSER_MAX; i++) {
        motion_wall_free(b->walls[i]);
    }
    free_mail(&b->box);
    free_mail(&b->taken);
    pthread_mutex_destroy(&b->lock);
    free(b);
    return status;
}
