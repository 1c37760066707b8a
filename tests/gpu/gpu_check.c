// Compares the CUDA device with the CPU on a bare machine, as kernels, as tanks with their frames, as tanks that move
// from one to the other and as tanks that take turns; prints one table for each, with times. Begin at `main`.
//
// Exit status: 0 when all agree; 1 when something differs, or a GPU is there and can't be used; 77 when there is no GPU
// (the CPU is compared with itself all the same). `gpu_check quick` plays the first steps of the smallest tanks.
#include "server/common/device_open.h"
#include "tests/gpu/gpu_costs.h"
#include "tests/gpu/gpu_play.h"
#include "tests/kernels/dialect_checks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES_MAX = 10, EXIT_SKIPPED = 77, QUICK_FIXTURES = 2, QUICK_STEPS = 4, STAGES_OF = 18 };

typedef struct device_list {
    tarn_device *of[DEVICES_MAX];
    bool is_cuda[DEVICES_MAX];
    uint32_t count, cuda_count;
} device_list;

static uint32_t failures;
static bool is_quick;
static gpu_outcome expected[TANK_FIXTURE_COUNT]; // of the first device
static gpu_outcome found[GPU_TOGETHER_MAX];

__attribute__((format(printf, 1, 2))) static void failure(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("    FAILED: ");
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    failures++;
}

static void add_device(device_list *list, tarn_device_desc desc)
{
    tarn_device *device = NULL;
    const bool is_cuda = desc.kind == TARN_DEVICE_CUDA;
    const tarn_status status = list->count < DEVICES_MAX ? tarn_device_create(&desc, &device) : TARN_E_LIMIT;
    if (status == TARN_OK) {
        list->is_cuda[list->count] = is_cuda;
        list->of[list->count++] = device;
        list->cuda_count += is_cuda;
    } else if (is_cuda) {
        char problem[TARN_DEVICE_ERROR_BYTES];
        tarn_device_cuda_problem(desc.index, problem);
        failure("GPU %d can't be used: %s: %s", desc.index, tarn_status_text(status), problem);
    }
}

/// The CPU in three ways, then every GPU.
static void open_devices(device_list *list)
{
    char seen[TARN_GPU_SEEN_BYTES], problem[TARN_DEVICE_ERROR_BYTES];
    add_device(list, (tarn_device_desc){.kind = TARN_DEVICE_CPU});
    add_device(list, (tarn_device_desc){.kind = TARN_DEVICE_CPU, .threads = 1});
    add_device(list, (tarn_device_desc){.kind = TARN_DEVICE_CPU, .threads = 2, .isa = "v2"});
    const int gpus = tarn_device_count(TARN_DEVICE_CUDA);
    for (int i = 0; i < gpus && list->count < DEVICES_MAX; i++) {
        add_device(list, (tarn_device_desc){.kind = TARN_DEVICE_CUDA, .index = i});
    }
    printf("Devices\n");
    for (uint32_t d = 0; d < list->count; d++) {
        printf("    %c  %s\n", 'A' + (int)d, tarn_device_name(list->of[d]));
    }
    if (gpus <= 0 && tarn_gpu_seen("", seen)) {
        tarn_device_cuda_problem(0, problem);
        failure("there is a GPU (%s), and it can't be used: %s", seen, problem);
    }
}

static void print_columns(const char *title, const device_list *list)
{
    printf("\n%-40s", title);
    for (uint32_t d = 0; d < list->count; d++) {
        printf("%22c", 'A' + (int)d);
    }
    printf("\n");
}

static void check_dialect(const device_list *list)
{
    print_columns("Kernel dialect", list);
    for (uint32_t i = 0; i < dialect_check_count; i++) {
        char wrong[DEVICES_MAX][256];
        printf("    %-36s", dialect_checks[i].name);
        for (uint32_t d = 0; d < list->count; d++) {
            const int is_wrong = dialect_check_run(&dialect_checks[i], list->of[d]);
            snprintf(wrong[d], sizeof wrong[d], "%s", is_wrong ? dialect_check_message() : "");
            printf("%22s", is_wrong ? "WRONG" : "right");
        }
        printf("\n");
        for (uint32_t d = 0; d < list->count; d++) {
            if (wrong[d][0] != '\0') {
                failure("%s on %s: %s", dialect_checks[i].name, tarn_device_name(list->of[d]), wrong[d]);
            }
        }
    }
}

static uint32_t steps_of(const tank_fixture *fixture)
{
    return is_quick ? QUICK_STEPS : fixture->steps;
}

static uint32_t fixture_count(void)
{
    return is_quick ? QUICK_FIXTURES : TANK_FIXTURE_COUNT;
}

/// Compares with the first device's. @return the sign of it
static const char *compare(uint32_t fixture, const gpu_outcome *outcome, const char *where)
{
    static char reasons[DEVICES_MAX][2 * GPU_WHY_BYTES];
    static uint32_t reason_count;
    char why[GPU_WHY_BYTES];
    if (outcome == NULL) { // the row is at its end: says what was wrong in it
        for (uint32_t i = 0; i < reason_count; i++) {
            failure("%s", reasons[i]);
        }
        reason_count = 0;
        return "";
    }
    if (gpu_outcomes_same(&expected[fixture], outcome, why)) {
        return "==";
    }
    if (reason_count < DEVICES_MAX) {
        snprintf(reasons[reason_count++], sizeof reasons[0], "%s, %s: %s", tank_fixtures[fixture].name, where, why);
    }
    return "!=";
}

static void check_tanks(const device_list *list)
{
    print_columns("Tanks: ms a step + a frame", list);
    for (uint32_t i = 0; i < fixture_count(); i++) {
        const tank_fixture *fixture = &tank_fixtures[i];
        gpu_play play = {.fixture = fixture, .steps = steps_of(fixture), .first = list->of[0]};
        char label[64];
        gpu_play_run(&play, &expected[i]);
        snprintf(label, sizeof label, "%s, %u particles", fixture->name, expected[i].particles);
        printf("    %-36s", label);
        for (uint32_t d = 0; d < list->count; d++) {
            const gpu_outcome *outcome = &expected[i];
            if (d > 0 && i >= TANK_FIXTURE_HUGE && !list->is_cuda[d]) {
                printf("%22s", "-"); // that would take minutes, and says nothing new
                continue;
            }
            if (d > 0) {
                play.first = list->of[d];
                gpu_play_run(&play, &found[0]);
                outcome = &found[0];
            }
            printf("%9.3f +%8.3f %2s", outcome->step_ms, outcome->encode_ms,
                   compare(i, outcome, tarn_device_name(list->of[d])));
        }
        const tarn_tank_hash *last = &expected[i].hashes[expected[i].steps > 0 ? expected[i].steps - 1 : 0];
        printf("    %016llx%016llx\n", (unsigned long long)last->hi, (unsigned long long)last->lo);
        compare(i, NULL, NULL);
    }
}

/// Half of the steps on one device, the others on the other, both ways.
static void check_moves(const device_list *list)
{
    print_columns("Tanks that move to A, and from it", list);
    for (uint32_t i = 0; i < (is_quick ? 1 : TANK_FIXTURE_HUGE); i++) {
        const tank_fixture *fixture = &tank_fixtures[i];
        printf("    %-36s%22s", fixture->name, "");
        for (uint32_t d = 1; d < list->count; d++) {
            gpu_play to = {fixture, steps_of(fixture), list->of[d], list->of[0]};
            gpu_play from = {fixture, steps_of(fixture), list->of[0], list->of[d]};
            gpu_play_run(&to, &found[0]);
            gpu_play_run(&from, &found[1]);
            printf("%18s  %2s", compare(i, &found[0], "moved to the first device"),
                   compare(i, &found[1], "moved from the first device"));
        }
        printf("\n");
        compare(i, NULL, NULL);
    }
}

/// Tanks of one device that take turns, as those of a worker do.
static void check_together(const device_list *list)
{
    static const uint32_t together[GPU_TOGETHER_MAX] = {0, 10, 14, STAGES_OF}; // taps, tools, the largest but the huge
    const uint32_t count = is_quick ? 2 : GPU_TOGETHER_MAX;
    print_columns("Tanks that take turns", list);
    printf("    %u on each device%20s", count, "");
    for (uint32_t d = 0; d < list->count; d++) {
        gpu_play plays[GPU_TOGETHER_MAX];
        char signs[16] = "";
        for (uint32_t k = 0; k < count; k++) {
            const tank_fixture *fixture = &tank_fixtures[is_quick ? k : together[k]];
            plays[k] = (gpu_play){.fixture = fixture, .steps = steps_of(fixture), .first = list->of[d]};
        }
        if (!gpu_play_together(plays, found, count)) {
            failure("no threads");
            return;
        }
        for (uint32_t k = 0; k < count; k++) {
            strcat(signs, " ");
            strcat(signs, compare(is_quick ? k : together[k], &found[k], "beside others"));
        }
        printf("%22s", signs);
    }
    printf("\n");
    compare(0, NULL, NULL);
}

/// What launches cost that wait for each other: kernels/README.md reckons with it.
static void print_costs(const device_list *list)
{
    double us[DEVICES_MAX][GPU_COSTS];
    print_columns("Launches that wait: us each", list);
    for (uint32_t d = 0; d < list->count; d++) {
        if (!gpu_costs(list->of[d], us[d])) {
            failure("%s: %s", tarn_device_name(list->of[d]), tarn_device_error(list->of[d]));
            return;
        }
    }
    for (uint32_t i = 0; i < GPU_COSTS; i++) {
        printf("    %-36s", gpu_cost_names[i]);
        for (uint32_t d = 0; d < list->count; d++) {
            printf("%22.3f", us[d][i]);
        }
        printf("\n");
    }
}

static void print_stages(const device_list *list, const tank_fixture *fixture)
{
    const char *names[TARN_TANK_STAGES_MAX] = {NULL};
    static double seconds[DEVICES_MAX][TARN_TANK_STAGES_MAX];
    uint32_t stages = 0;
    char title[80];
    for (uint32_t d = 0; d < list->count; d++) {
        const gpu_play play = {.fixture = fixture, .steps = fixture->steps, .first = list->of[d]};
        stages = gpu_play_stages(&play, names, seconds[d]);
    }
    snprintf(title, sizeof title, "Stages of \"%s\": ms", fixture->name);
    print_columns(title, list);
    for (uint32_t s = 0; s < stages; s++) {
        printf("    %-36s", names[s]);
        for (uint32_t d = 0; d < list->count; d++) {
            printf("%22.3f", 1e3 * seconds[d][s]);
        }
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    device_list list = {.count = 0};
    is_quick = argc == 2 && strcmp(argv[1], "quick") == 0;
    if (argc > 1 && !is_quick) {
        fprintf(stderr, "gpu_check: found \"%s\", allowed is quick or nothing\n", argv[1]);
        return EXIT_FAILURE;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    open_devices(&list);
    check_dialect(&list);
    if (!is_quick) {
        print_costs(&list);
    }
    check_tanks(&list);
    check_moves(&list);
    check_together(&list);
    if (!is_quick) {
        print_stages(&list, &tank_fixtures[STAGES_OF]);
    }
    for (uint32_t d = 0; d < list.count; d++) {
        tarn_device_destroy(list.of[d]);
    }
    printf("\n");
    if (failures > 0) {
        printf("failed: %u\n", failures);
        return EXIT_FAILURE;
    }
    if (list.cuda_count == 0) {
        printf("skipped: no GPU%s; the CPU agrees with itself\n",
               tarn_device_has_cuda() ? "" : ", and no CUDA in this build (no nvcc was found)");
        return EXIT_SKIPPED;
    }
    printf("passed: %u CUDA device%s and the CPU agree\n", list.cuda_count, list.cuda_count == 1 ? "" : "s");
    return EXIT_SUCCESS;
}
