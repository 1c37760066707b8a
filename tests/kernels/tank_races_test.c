// Whole tanks on the emulated CUDA device, every access of their kernels looked at (races.h): nothing races, and every
// barrier is there for a reason.
#include "tests/gpu/gpu_play.h"
#include "tests/kernels/races.h"
#include "tests/kernels/tank_outgrow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { STEPS = 4, LARGE_STEPS = 2, SHUFFLED = 2, LINE_BYTES = 256 };

/// Reads of shared memory that nobody has written, and of which nothing comes.
static const struct {
    const char *kernel, *place, *why;
} unwritten[] = {
    {"liquid_viscosity", "viscosity.tile.c", "links of the rim's edges"},
    {"liquid_body_drag", "viscosity.tile.c", "links of the rim's edges"},
    {"tank_advect", "advect.tile.c", "carriers in pairs, of which the second is weighed and left"},
};
enum { UNWRITTEN_COUNT = sizeof unwritten / sizeof unwritten[0] };

/// Barriers that no accesses need here: the code that follows them, and why they stay.
static const struct {
    const char *file, *next, *why;
} needless[] = {
    {"grid/bodies.tile.c", "gather_for_body(", "collectives of sums begin with other lanes' values"},
    {"grid/bodies.tile.c", "tile_sum_f32(", "the same"},
    {"liquid/viscosity.tile.c", "for (int c = 0; c < 3 && meets; c++) {", "the same"},
    {"vortons/generate.tile.c", "tile_max_f32(", "the same"},
    {"vortons/waves.tile.c", "tile_max_f32(", "the same"},
    {"smoke/parcels.tile.c", "if (control->mixing > 0.0f) {", "without mixing nothing else parts what is around it"},
};
enum { NEEDLESS_COUNT = sizeof needless / sizeof needless[0] };

static uint32_t unwritten_seen[UNWRITTEN_COUNT], needless_seen[NEEDLESS_COUNT];

static void play(const tank_fixture *fixture, uint32_t steps)
{
    static gpu_outcome outcome;
    tarn_device *device;
    assert_int_equal(tarn_device_create(&(tarn_device_desc){.kind = TARN_DEVICE_CUDA, .index = SHUFFLED}, &device),
                     TARN_OK);
    gpu_play_run(&(gpu_play){.fixture = fixture, .steps = steps, .first = device}, &outcome);
    tarn_device_destroy(device);
    if (!outcome.valid) {
        fail_msg("%s: %s", fixture->name, outcome.why);
    }
}

static bool is_known(uint32_t i, const char *text)
{
    if (races_kind(i) != RACE_UNWRITTEN) {
        return false;
    }
    for (int k = 0; k < UNWRITTEN_COUNT; k++) {
        if (strncmp(text, unwritten[k].kernel, strlen(unwritten[k].kernel)) == 0 &&
            strstr(text, unwritten[k].place) != NULL) {
            unwritten_seen[k]++;
            return true;
        }
    }
    return false;
}

/// Prints what isn't known of what has been found. @return how much that is
static uint32_t print_unknown(const char *name)
{
    uint32_t unknown = 0;
    for (uint32_t k = 0; k < races_count(); k++) {
        char text[RACES_TEXT_BYTES];
        races_text(k, text);
        if (!is_known(k, text)) {
            print_error("%s: %s\n", name, text);
            unknown++;
        }
    }
    races_forget();
    return unknown;
}

static void nothing_races(void **state)
{
    uint32_t unknown = 0;
    (void)state;
    races_forget();
    for (int i = 0; i <= TANK_FIXTURE_TINY; i++) { // and the next one: its lists of tiles are longer than a word
        play(&tank_fixtures[i], i < TANK_FIXTURE_TINY ? STEPS : LARGE_STEPS);
        unknown += print_unknown(tank_fixtures[i].name);
    }
    assert_int_equal(unknown, 0);
    for (int k = 0; k < UNWRITTEN_COUNT; k++) {
        if (unwritten_seen[k] == 0) {
            fail_msg("%s reads nothing that isn't written any more", unwritten[k].kernel);
        }
    }
}

/// Where tiles run out in a step, other ways are gone.
static void nothing_races_without_tiles(void **state)
{
    (void)state;
    for (int is_active = 0; is_active < 2; is_active++) {
        tank_outgrow((tarn_device_desc){.kind = TARN_DEVICE_CUDA, .index = SHUFFLED}, is_active);
        assert_int_equal(print_unknown("tiles that run out"), 0);
    }
}

/// The code behind a barrier, without what only closes blocks.
static void read_next(const race_barrier *barrier, char next[LINE_BYTES])
{
    char line[LINE_BYTES];
    FILE *file = fopen(barrier->file, "r");
    next[0] = '\0';
    assert_non_null(file);
    for (int i = 1; fgets(line, sizeof line, file) != NULL; i++) {
        const char *code = line + strspn(line, " ");
        if (i > barrier->line && code[0] != '}') {
            snprintf(next, LINE_BYTES, "%s", code);
            break;
        }
    }
    fclose(file);
}

static bool may_stay(const race_barrier *barrier)
{
    char next[LINE_BYTES];
    read_next(barrier, next);
    for (int k = 0; k < NEEDLESS_COUNT; k++) {
        if (strstr(barrier->file, needless[k].file) != NULL &&
            strncmp(next, needless[k].next, strlen(needless[k].next)) == 0) {
            needless_seen[k]++;
            return true;
        }
    }
    return false;
}

/// After the others.
static void every_barrier_is_needed(void **state)
{
    uint32_t needed = 0, idle = 0;
    (void)state;
    for (uint32_t i = 0; i < races_barrier_count(); i++) {
        const race_barrier *barrier = races_barrier(i);
        if (barrier->line == 0) { // that of each tile's end
            continue;
        }
        needed += barrier->is_needed;
        if (!barrier->is_needed && !may_stay(barrier)) {
            print_error("%s:%d: accesses on both sides are in order without it\n", barrier->file, barrier->line);
            idle++;
        }
    }
    print_message("%u barriers, %u of them needed\n", races_barrier_count() - 1, needed);
    assert_int_equal(idle, 0);
    for (int k = 0; k < NEEDLESS_COUNT; k++) {
        if (needless_seen[k] == 0) {
            fail_msg("%s: what stood before \"%s\" is needed now", needless[k].file, needless[k].next);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_races),
        cmocka_unit_test(nothing_races_without_tiles),
        cmocka_unit_test(every_barrier_is_needed),
    };
    return cmocka_run_group_tests_name("races of tanks", tests, NULL, NULL);
}
