// Made depth as it goes, for whoever has no camera: somebody walks before a wall and swings both arms (depth_actor.h).
// A frame is made when it is asked for, as the room is at that moment: a busy machine sees fewer, and nobody slower.
#include "server/common/clock.h"
#include "server/tool/kinect/depth_actor.h"
#include "server/tool/kinect/depth_raw.h"
#include "server/tool/kinect/depth_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const actor_scene scene = {.act = ACTOR_WALK, .seed = 1, .depth_m = 2.4f, .speed = 1, .noise = 1};

/// The empty room, which is looked at first, comes once; then so many seconds again and again, which are whole periods
/// of what the actor does.
enum { ROUND_S = 200, ROUND_FRAMES = ROUND_S * ACTOR_RATE, ROUND_FROM = 2 * ACTOR_RATE };

typedef struct demo {
    uint64_t began_ns;
    uint64_t next; ///< number of the frame that is due next, from the beginning
    uint16_t mm_of_raw[DEPTH_RAW_VALUES];
    uint16_t mm[ACTOR_PIXELS];
    actor_frame made;
} demo;

static void *open_demo(const depth_choice *choice, char why[DEPTH_WHY_BYTES])
{
    demo *d = calloc(1, sizeof *d);
    (void)choice;
    if (d == NULL) {
        snprintf(why, DEPTH_WHY_BYTES, "out of memory");
        return NULL;
    }
    depth_raw_table(d->mm_of_raw);
    d->began_ns = tarn_clock_monotonic_ns();
    return d;
}

static depth_result next_frame(void *self, int wait_ms, depth_frame *frame, char why[DEPTH_WHY_BYTES])
{
    demo *d = self;
    (void)why;
    const uint64_t now_ns = tarn_clock_monotonic_ns(), due_ns = d->began_ns + d->next * 1000000000u / ACTOR_RATE;
    if (now_ns < due_ns) {
        const uint64_t wait_ns = (uint64_t)wait_ms * 1000000u, left_ns = due_ns - now_ns,
                       sleep_ns = left_ns < wait_ns ? left_ns : wait_ns;
        nanosleep(&(struct timespec){(time_t)(sleep_ns / 1000000000u), (long)(sleep_ns % 1000000000u)}, NULL);
        if (left_ns > wait_ns) {
            return DEPTH_NONE;
        }
    }
    const uint64_t at_ns = tarn_clock_monotonic_ns(), number = (at_ns - d->began_ns) * ACTOR_RATE / 1000000000u;
    const uint64_t n = number < ROUND_FROM + ROUND_FRAMES ? number : ROUND_FROM + (number - ROUND_FROM) % ROUND_FRAMES;
    actor_render(&scene, (uint32_t)n, &d->made);
    memcpy(d->mm, d->made.raw, sizeof d->mm);
    depth_raw_convert(d->mm_of_raw, d->mm, ACTOR_PIXELS);
    d->next = number + 1;
    *frame = (depth_frame){.mm = d->mm,
                           .width = ACTOR_WIDTH,
                           .height = ACTOR_HEIGHT,
                           .time_s = (double)number / ACTOR_RATE,
                           .arrived_ns = tarn_clock_monotonic_ns()};
    return DEPTH_NEXT;
}

static void close_demo(void *self)
{
    free(self);
}

const depth_back_end depth_demo = {open_demo, next_frame, close_demo};
