// Tanks by their state after every step and by every frame: begin at gpu_check_tanks.
#include "tests/gpu/gpu_tanks.h"

#include "tests/gpu/gpu_large.h"
#include "tests/gpu/gpu_play.h"
#include "tests/gpu/gpu_watch.h"
#include "tests/stream/frames_beside.h"

#include <stdio.h>
#include <string.h>

enum {
    QUICK_FIXTURES = 2,
    QUICK_STEPS = 4,
    CROWD = 64,
    CROWD_QUICK = 4,
    CROWD_STEPS = 12,
    BUILDERS = 8, // that live on, beside as many that are made anew
    BUILDERS_QUICK = 2,
    ANEW = 6,
    ANEW_QUICK = 1,
};

static bool is_quick;
static gpu_outcome expected[TANK_FIXTURE_COUNT]; // of the first device; not valid: it has not been played yet
static gpu_outcome found[GPU_TOGETHER_MAX];
static char reasons[GPU_TOGETHER_MAX][2 * GPU_WHY_BYTES];
static uint32_t reason_count;

void gpu_tanks_quick(bool value)
{
    is_quick = value;
}

bool gpu_tanks_are_quick(void)
{
    return is_quick;
}

static uint32_t steps_of(const tank_fixture *fixture)
{
    return is_quick && fixture->steps > QUICK_STEPS ? QUICK_STEPS : fixture->steps;
}

/// Compares, and keeps why they differ for the row's end. @return the sign of it
static const char *compare(const gpu_outcome *as, const gpu_outcome *outcome, const char *name, const char *where)
{
    char why[GPU_WHY_BYTES];
    if (gpu_outcomes_same(as, outcome, why)) {
        return "==";
    }
    if (reason_count < GPU_TOGETHER_MAX) {
        snprintf(reasons[reason_count++], sizeof reasons[0], "%s, %s: %s", name, where, why);
    }
    return "!=";
}

static void end_row(void)
{
    printf("\n");
    for (uint32_t i = 0; i < reason_count; i++) {
        gpu_failure("%s", reasons[i]);
    }
    reason_count = 0;
}

/// A row: the fixture on every device.
static void check_tank(const gpu_devices *list, const tank_fixture *fixture, uint32_t steps, bool is_slow,
                       gpu_outcome *first)
{
    gpu_play play = {.fixture = fixture, .steps = steps, .first = list->of[0]};
    char label[64];
    char steps_of_each[GPU_DEVICES_MAX][32];
    gpu_play_run(&play, first);
    snprintf(label, sizeof label, "%s, %u particles", fixture->name, first->particles);
    printf("    %-36s", label);
    for (uint32_t d = 0; d < list->count; d++) {
        const gpu_outcome *outcome = first;
        if (d > 0 && is_slow && !list->is_cuda[d]) {
            printf("%22s", "-"); // that would take minutes, and says nothing new
            snprintf(steps_of_each[d], sizeof steps_of_each[d], "-");
            continue;
        }
        if (d > 0) {
            play.first = list->of[d];
            gpu_play_run(&play, &found[0]);
            outcome = &found[0];
        }
        printf("%9.3f +%8.3f %2s", outcome->step_ms, outcome->encode_ms,
               compare(first, outcome, fixture->name, tarn_device_name(list->of[d])));
        snprintf(steps_of_each[d], sizeof steps_of_each[d], "%.3f, %u", outcome->step_median_ms, outcome->recorded);
    }
    const tarn_tank_hash *last = &first->hashes[first->steps > 0 ? first->steps - 1 : 0];
    printf("    %016llx%016llx", (unsigned long long)last->hi, (unsigned long long)last->lo);
    printf("\n    %-36s", "    median of a step; recordings");
    for (uint32_t d = 0; d < list->count; d++) {
        printf("%22s", steps_of_each[d]);
    }
    end_row();
}

void gpu_check_tanks(const gpu_devices *list)
{
    gpu_print_columns("Tanks: ms a step + a frame", list);
    for (uint32_t i = 0; i < (is_quick ? QUICK_FIXTURES : TANK_FIXTURE_COUNT); i++) {
        const tank_fixture *fixture = &tank_fixtures[i];
        if (gpu_watch_has_time(fixture->name)) {
            check_tank(list, fixture, steps_of(fixture), i >= TANK_FIXTURE_HUGE, &expected[i]);
        }
    }
}

void gpu_check_large(const gpu_devices *list)
{
    static gpu_outcome first;
    gpu_print_columns("Large tanks: ms a step + a frame", list);
    for (uint32_t i = is_quick ? GPU_LARGE_QUICK : 0; i < (is_quick ? GPU_LARGE_QUICK + 1 : GPU_LARGE_COUNT); i++) {
        if (gpu_watch_has_time(gpu_large[i].name)) {
            check_tank(list, &gpu_large[i], steps_of(&gpu_large[i]), true, &first);
        }
    }
}

void gpu_check_moves(const gpu_devices *list)
{
    gpu_print_columns("Tanks that move to A, and from it", list);
    for (uint32_t i = 0; i < (is_quick ? 1 : TANK_FIXTURE_HUGE); i++) {
        const tank_fixture *fixture = &tank_fixtures[i];
        if (!gpu_watch_has_time(fixture->name)) {
            continue;
        }
        static gpu_outcome stays;
        gpu_play_run(&(gpu_play){.fixture = fixture, .steps = steps_of(fixture), .first = list->of[0]}, &stays);
        printf("    %-36s%22s", fixture->name, "");
        for (uint32_t d = 1; d < list->count; d++) {
            gpu_play to = {.fixture = fixture, .steps = steps_of(fixture), .first = list->of[d], .then = list->of[0]};
            gpu_play from = {.fixture = fixture, .steps = steps_of(fixture), .first = list->of[0], .then = list->of[d]};
            gpu_play_run(&to, &found[0]);
            gpu_play_run(&from, &found[1]);
            printf("%18s  %2s", compare(&stays, &found[0], fixture->name, "moved to the first device"),
                   compare(&stays, &found[1], fixture->name, "moved from the first device"));
        }
        end_row();
    }
}

/// What small tanks are after so many steps, one at a time on the first device.
static void expect(const gpu_devices *list, uint32_t count, uint32_t steps)
{
    for (uint32_t i = 0; i < count; i++) {
        const gpu_play play = {.fixture = &tank_fixtures[i], .steps = steps, .first = list->of[0]};
        gpu_play_run(&play, &expected[i]);
    }
}

/// Small tanks of all kinds on a device, every second of which ends and is made anew `again` times.
static bool take_turns(const gpu_devices *list, uint32_t d, uint32_t count, uint32_t kinds, uint32_t steps,
                       uint32_t again)
{
    gpu_play plays[GPU_TOGETHER_MAX];
    uint32_t same = 0;
    for (uint32_t k = 0; k < count; k++) {
        plays[k] = (gpu_play){.fixture = &tank_fixtures[k % kinds], .steps = steps, .first = list->of[d]};
        plays[k].again = k % 2 == 1 ? again : 0;
    }
    if (!gpu_play_together(plays, found, count)) {
        gpu_failure("no threads");
        return false;
    }
    for (uint32_t k = 0; k < count; k++) {
        const char *sign = compare(&expected[k % kinds], &found[k], plays[k].fixture->name, "beside others");
        same += strcmp(sign, "==") == 0;
    }
    printf("%19u ==", same);
    return true;
}

static void check_many(const gpu_devices *list, const char *title, uint32_t count, uint32_t again)
{
    const uint32_t kinds = is_quick ? QUICK_FIXTURES : TANK_FIXTURE_TINY, steps = is_quick ? QUICK_STEPS : CROWD_STEPS;
    gpu_print_columns(title, list);
    expect(list, kinds, steps);
    printf("    %2u on each device%19s", count, "");
    for (uint32_t d = 0; d < list->count; d++) {
        if (gpu_watch_has_time(title) && !take_turns(list, d, count, kinds, steps, again)) {
            return;
        }
    }
    end_row();
}

void gpu_check_beside(const gpu_devices *list)
{
    const uint32_t frames = is_quick ? 3 : 12;
    gpu_print_columns("Frames coded while the tank steps on", list);
    for (uint32_t i = 0; i < (is_quick ? QUICK_FIXTURES : TANK_FIXTURE_TINY); i++) {
        const tank_fixture *fixture = &tank_fixtures[i];
        if (!gpu_watch_has_time(fixture->name)) {
            continue;
        }
        printf("    %-36s", fixture->name);
        for (uint32_t d = 0; d < list->count; d++) {
            char why[256];
            const bool is_same = frames_beside_same(&list->desc[d], fixture, frames, false, why);
            printf("%22s", is_same ? "==" : "!=");
            if (!is_same && reason_count < GPU_TOGETHER_MAX) {
                snprintf(reasons[reason_count++], sizeof reasons[0], "%s on %s: %s", fixture->name,
                         tarn_device_name(list->of[d]), why);
            }
        }
        end_row();
    }
}

void gpu_check_crowd(const gpu_devices *list)
{
    check_many(list, "Tanks that take turns", is_quick ? CROWD_QUICK : CROWD, 0);
}

void gpu_check_rebuilds(const gpu_devices *list)
{
    check_many(list, "Every second one is made anew", 2 * (is_quick ? BUILDERS_QUICK : BUILDERS),
               is_quick ? ANEW_QUICK : ANEW);
}

/// So many tanks of a fixture at once, each with a frame after every step: how fast they all go.
static void print_crowd_of(const gpu_devices *list, const tank_fixture *fixture, uint32_t count, uint32_t steps)
{
    gpu_play plays[GPU_TOGETHER_MAX];
    char label[64];
    snprintf(label, sizeof label, "%u of \"%s\"", count, fixture->name);
    printf("    %-36s", label);
    for (uint32_t d = 0; d < list->count; d++) {
        if (!list->is_cuda[d] && !is_quick) {
            printf("%28s", "-"); // minutes
            continue;
        }
        for (uint32_t k = 0; k < count; k++) {
            plays[k] = (gpu_play){.fixture = fixture, .steps = steps, .first = list->of[d]};
        }
        if (!gpu_play_together(plays, found, count)) {
            gpu_failure("no threads");
            return;
        }
        uint64_t begin_ns = UINT64_MAX, end_ns = 0;
        double median_ms = 0.0;
        uint32_t recorded = 0;
        for (uint32_t k = 0; k < count; k++) {
            begin_ns = found[k].begin_ns < begin_ns ? found[k].begin_ns : begin_ns;
            end_ns = found[k].end_ns > end_ns ? found[k].end_ns : end_ns;
            median_ms += found[k].step_median_ms / count;
            recorded += found[k].recorded;
            if (!found[k].valid) {
                gpu_failure("%s beside others, %s: %s", fixture->name, tarn_device_name(list->of[d]), found[k].why);
                return;
            }
        }
        const double each_s = 1e-9 * (double)(end_ns - begin_ns) / gpu_play_timed(steps);
        printf("%10.1f %17.4g; %.3f ms, %u", 1.0 / each_s, count * (double)found[0].particles / each_s, median_ms,
               recorded);
    }
    printf("\n");
}

void gpu_print_many(const gpu_devices *list)
{
    static const uint32_t counts[] = {1, 4, 16, 64};
    const tank_fixture *fixture = is_quick ? &gpu_large[GPU_LARGE_QUICK] : &gpu_large[0];
    gpu_print_columns("Many tanks: steps/s of each, particle steps/s of all; a step's median, recordings", list);
    for (uint32_t i = 0; i < (is_quick ? 2 : sizeof counts / sizeof counts[0]); i++) {
        if (gpu_watch_has_time("many tanks")) {
            print_crowd_of(list, fixture, counts[i], is_quick ? QUICK_STEPS + 2 : fixture->steps);
        }
    }
}

static void print_stages_of(const gpu_devices *list, const tank_fixture *fixture)
{
    const char *names[TARN_TANK_STAGES_MAX] = {NULL};
    static double seconds[GPU_DEVICES_MAX][TARN_TANK_STAGES_MAX];
    uint32_t stages = 0;
    char title[80];
    for (uint32_t d = 0; d < list->count; d++) {
        const gpu_play play = {.fixture = fixture, .steps = fixture->steps, .first = list->of[d]};
        stages = gpu_play_stages(&play, TARN_PROFILE_WAITS, names, seconds[d]);
        if (stages == 0) {
            gpu_failure("%s on %s: %s", fixture->name, tarn_device_name(list->of[d]), tarn_device_error(list->of[d]));
            return;
        }
    }
    snprintf(title, sizeof title, "Stages of \"%s\": ms", fixture->name);
    gpu_print_columns(title, list);
    for (uint32_t s = 0; s < stages; s++) {
        printf("    %-36s", names[s]);
        for (uint32_t d = 0; d < list->count; d++) {
            printf("%22.3f", 1e3 * seconds[d][s]);
        }
        printf("\n");
    }
}

void gpu_print_stages(const gpu_devices *list)
{
    print_stages_of(list, is_quick ? &gpu_large[GPU_LARGE_QUICK] : &gpu_large[0]);
}
