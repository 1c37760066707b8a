// A heap of events by time, and numbers drawn from the seed. Begin at sim_run.
#include "tests/sim/sim.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct event {
    uint64_t when_ns, order;
    void (*what)(void *of, uint64_t number);
    void *of;
    uint64_t number;
} event;

static struct {
    uint64_t now_ns, order, state;
    event *events;
    size_t count, room;
} world = {.now_ns = 1000 * SIM_S};

sim_result *sim_told;
bool sim_traces;

uint64_t sim_now(void)
{
    return world.now_ns;
}

static bool is_before(const event *a, const event *b)
{
    return a->when_ns != b->when_ns ? a->when_ns < b->when_ns : a->order < b->order;
}

void sim_at(uint64_t when_ns, void (*what)(void *of, uint64_t number), void *of, uint64_t number)
{
    if (world.count == world.room) {
        world.room = world.room * 2 + 256;
        world.events = realloc(world.events, world.room * sizeof *world.events);
        SIM_NEED(world.events != NULL);
    }
    const event made = {when_ns > world.now_ns ? when_ns : world.now_ns, world.order++, what, of, number};
    size_t at = world.count++;
    while (at > 0 && is_before(&made, &world.events[(at - 1) / 2])) {
        world.events[at] = world.events[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    world.events[at] = made;
}

static event take_first(void)
{
    const event first = world.events[0], last = world.events[--world.count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= world.count) {
            break;
        }
        if (child + 1 < world.count && is_before(&world.events[child + 1], &world.events[child])) {
            child++;
        }
        if (!is_before(&world.events[child], &last)) {
            break;
        }
        world.events[at] = world.events[child];
        at = child;
    }
    world.events[at] = last;
    return first;
}

void sim_run(bool (*is_over)(void), uint64_t until_ns)
{
    while (world.count > 0 && !is_over()) {
        if (world.events[0].when_ns > until_ns) {
            break;
        }
        const event due = take_first();
        world.now_ns = due.when_ns;
        SIM_CHECK(ALIVE, ++sim_told->events < 20000000, "events come without end");
        due.what(due.of, due.number);
    }
}

void sim_seed(uint64_t seed)
{
    world.state = seed * 0x9e3779b97f4a7c15 + 0x1234567;
}

/// splitmix64
uint64_t sim_random(void)
{
    uint64_t z = world.state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

uint32_t sim_below(uint32_t limit)
{
    SIM_NEED(limit > 0);
    return (uint32_t)((sim_random() >> 32) * limit >> 32);
}

uint64_t sim_between(uint64_t low, uint64_t high)
{
    return low + sim_random() % (high - low + 1);
}

bool sim_chance(uint32_t percent)
{
    return sim_below(100) < percent;
}

void *sim_make(size_t byte_count)
{
    void *made = calloc(1, byte_count);
    SIM_NEED(made != NULL);
    return made;
}

uint64_t sim_hash(uint64_t before, const void *bytes, size_t byte_count)
{
    const uint8_t *at = bytes;
    uint64_t hash = before ^ 0xcbf29ce484222325;
    for (; byte_count >= 8; byte_count -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = (hash ^ word) * 0x9fb21c651e98df25;
        hash ^= hash >> 32;
    }
    for (; byte_count > 0; byte_count--) {
        hash = (hash ^ *at++) * 0x100000001b3;
    }
    return hash ^ hash >> 29;
}

void sim_trace(const char *format, ...)
{
    if (!sim_traces) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    printf("%9.3f ms  ", 1e-6 * (double)(world.now_ns - 1000 * SIM_S));
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
}

void sim_fail(sim_check check, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sim_told->sentence, sizeof sim_told->sentence, format, arguments);
    va_end(arguments);
    sim_told->failed = (int)check;
    sim_told->simulated_ms = (world.now_ns - 1000 * SIM_S) / SIM_MS;
    sim_trace("FAILED: %s", sim_told->sentence);
    fflush(NULL);
    _exit(3);
}

void sim_broken(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: the simulation itself is wrong: %s\n", file, line, condition);
    fflush(NULL);
    abort();
}
