// Compares the CUDA device with the CPU on a bare machine: the dialect's checks, tanks by their hashes and frames, and
// the time that each stage takes. Prints one table for each.
//
// Exit status: 0 when all agree, 1 when something differs, 77 when there is no CUDA device (the CPU is checked all the
// same).
#include "kernels/encoder.h"
#include "tests/kernels/dialect_checks.h"
#include "tests/kernels/tank_acts.h"
#include "tests/kernels/tank_fixtures.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEVICES_MAX = 10, EXIT_SKIPPED = 77, WARM_UP_STEPS = 5, FRAME_BYTES_MAX = 64 << 20 };

typedef struct device_list {
    tarn_device *of[DEVICES_MAX];
    uint32_t count, cuda_count;
} device_list;

static uint32_t failures;

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
    const tarn_status status = list->count < DEVICES_MAX ? tarn_device_create(&desc, &device) : TARN_E_LIMIT;
    if (status == TARN_OK) {
        list->of[list->count++] = device;
        list->cuda_count += desc.kind == TARN_DEVICE_CUDA;
    } else if (desc.kind == TARN_DEVICE_CUDA) {
        failure("GPU %d can't be used: %s", desc.index, tarn_status_text(status));
    }
}

/// The CPU in three ways, then every GPU.
static void open_devices(device_list *list)
{
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
}

static void print_columns(const char *title, const device_list *list)
{
    printf("\n%-40s", title);
    for (uint32_t d = 0; d < list->count; d++) {
        printf("%12c", 'A' + (int)d);
    }
    printf("\n");
}

static void check_dialect(const device_list *list)
{
    print_columns("Kernel dialect", list);
    for (uint32_t i = 0; i < dialect_check_count; i++) {
        char found[DEVICES_MAX][256];
        printf("    %-36s", dialect_checks[i].name);
        for (uint32_t d = 0; d < list->count; d++) {
            const int wrong = dialect_check_run(&dialect_checks[i], list->of[d]);
            snprintf(found[d], sizeof found[d], "%s", wrong ? dialect_check_message() : "");
            printf("%12s", wrong ? "WRONG" : "right");
        }
        printf("\n");
        for (uint32_t d = 0; d < list->count; d++) {
            if (found[d][0] != '\0') {
                failure("%s on %s: %s", dialect_checks[i].name, tarn_device_name(list->of[d]), found[d]);
            }
        }
    }
}

// -------------------------------------------------------------------------------------------------------------------
// tanks

typedef struct outcome {
    bool valid;
    tarn_tank_hash hash;
    tarn_tank_report report;
    uint8_t *frame;
    size_t frame_bytes;
    double step_ms;
} outcome;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static tarn_status step_through(const tank_fixture *fixture, tarn_tank *tank, uint32_t first, uint32_t end)
{
    tarn_status status = TARN_OK;
    for (uint32_t step = first; step < end && status == TARN_OK; step++) {
        tarn_push push;
        tarn_tank_tools tools;
        const uint32_t pushes = tank_fixture_push(fixture, tarn_tank_desc_of(tank), step, &push);
        tank_fixture_tools(fixture, tarn_tank_desc_of(tank), step, &tools);
        status = act_set_tools(tank, &tools);
        if (status == TARN_OK) {
            status = tank_fixture_add(fixture, tank, step);
        }
        if (status == TARN_OK) {
            status = act_step(tank, &push, pushes);
        }
    }
    return status;
}

/// The tank as a key frame.
static tarn_status encode(tarn_tank *tank, outcome *out)
{
    const tarn_tank_frame_info info = {.epoch = 1, .realtime_factor = 1.0f};
    tarn_encoder_desc desc;
    tarn_encoder *encoder;
    tarn_stream_head head;
    tarn_encoder_desc_default(&desc);
    out->frame = malloc(FRAME_BYTES_MAX);
    tarn_status status = out->frame != NULL ? tarn_encoder_create(tank, &desc, &encoder) : TARN_E_MEMORY;
    if (status != TARN_OK) {
        return status;
    }
    status = tarn_encoder_encode(encoder, TARN_STREAM_KEY, &info, out->frame, FRAME_BYTES_MAX, &head);
    tarn_encoder_destroy(encoder);
    out->frame_bytes = status == TARN_OK ? head.frame_bytes : 0;
    return status;
}

static tarn_status play(const tank_fixture *fixture, tarn_tank *tank, outcome *out)
{
    tarn_status status = step_through(fixture, tank, 0, WARM_UP_STEPS);
    const double start_s = now_s();
    if (status == TARN_OK) {
        status = step_through(fixture, tank, WARM_UP_STEPS, fixture->steps);
    }
    if (status == TARN_OK) {
        status = tarn_tank_hash_get(tank, &out->hash);
    }
    out->step_ms = 1e3 * (now_s() - start_s) / (fixture->steps - WARM_UP_STEPS);
    if (status == TARN_OK) {
        status = tarn_tank_report_get(tank, &out->report);
    }
    return status == TARN_OK ? encode(tank, out) : status;
}

static tarn_tank *create_tank(tarn_device *device, const tank_fixture *fixture)
{
    tarn_tank_desc desc;
    fixture->describe(&desc);
    char why[256] = "";
    tarn_tank *tank = NULL;
    const tarn_status status = tarn_tank_create(device, &desc, &tank, why, sizeof why);
    if (status != TARN_OK) {
        failure("%s on %s: %s %s", fixture->name, tarn_device_name(device), tarn_status_text(status), why);
    }
    return status == TARN_OK ? tank : NULL;
}

static outcome play_on(tarn_device *device, const tank_fixture *fixture)
{
    outcome out = {.valid = false};
    tarn_tank *tank = create_tank(device, fixture);
    if (tank == NULL) {
        return out;
    }
    const tarn_status status = play(fixture, tank, &out);
    if (status != TARN_OK) {
        failure("%s on %s: %s %s", fixture->name, tarn_device_name(device), tarn_status_text(status),
                tarn_device_error(device));
    }
    out.valid = status == TARN_OK;
    tarn_tank_destroy(tank);
    return out;
}

static bool same_outcome(const outcome *a, const outcome *b)
{
    return a->hash.lo == b->hash.lo && a->hash.hi == b->hash.hi && a->frame_bytes == b->frame_bytes &&
           memcmp(a->frame, b->frame, a->frame_bytes) == 0;
}

static void check_tanks(const device_list *list)
{
    print_columns("Tanks: ms per step (state and frame)", list);
    for (uint32_t i = 0; i < TANK_FIXTURE_COUNT; i++) {
        outcome out[DEVICES_MAX];
        char label[64];
        for (uint32_t d = 0; d < list->count; d++) {
            out[d] = play_on(list->of[d], &tank_fixtures[i]);
        }
        snprintf(label, sizeof label, "%s, %u particles", tank_fixtures[i].name, out[0].report.particle_count);
        printf("    %-36s", label);
        for (uint32_t d = 0; d < list->count; d++) {
            const bool same = out[0].valid && out[d].valid && same_outcome(&out[0], &out[d]);
            printf("%9.3f %2s", out[d].step_ms, same ? "==" : "!=");
            failures += !same;
        }
        printf("    %016llx%016llx\n", (unsigned long long)out[0].hash.hi, (unsigned long long)out[0].hash.lo);
        for (uint32_t d = 0; d < list->count; d++) {
            free(out[d].frame);
        }
    }
}

/// Time per stage, launched one by one with a wait between: the sum is more than a step takes.
static void print_stages(const device_list *list, const tank_fixture *fixture)
{
    const char *names[TARN_TANK_STAGES_MAX] = {NULL};
    double seconds[DEVICES_MAX][TARN_TANK_STAGES_MAX] = {{0}};
    uint32_t stages = 0;
    for (uint32_t d = 0; d < list->count; d++) {
        tarn_tank *tank = create_tank(list->of[d], fixture);
        if (tank == NULL) {
            continue;
        }
        (void)step_through(fixture, tank, 0, WARM_UP_STEPS);
        tarn_tank_profile(tank, true);
        (void)step_through(fixture, tank, WARM_UP_STEPS, fixture->steps);
        stages = tarn_tank_profile_get(tank, names, seconds[d], true);
        tarn_tank_destroy(tank);
    }
    char title[80];
    snprintf(title, sizeof title, "Stages of \"%s\": ms per step", fixture->name);
    print_columns(title, list);
    for (uint32_t s = 0; s < stages; s++) {
        printf("    %-36s", names[s]);
        for (uint32_t d = 0; d < list->count; d++) {
            printf("%12.3f", 1e3 * seconds[d][s] / (fixture->steps - WARM_UP_STEPS));
        }
        printf("\n");
    }
}

int main(void)
{
    device_list list = {.count = 0};
    setvbuf(stdout, NULL, _IOLBF, 0);
    open_devices(&list);
    check_dialect(&list);
    check_tanks(&list);
    print_stages(&list, &tank_fixtures[TANK_FIXTURE_COUNT - 1]);
    for (uint32_t d = 0; d < list.count; d++) {
        tarn_device_destroy(list.of[d]);
    }
    printf("\n");
    if (failures > 0) {
        printf("failed: %u\n", failures);
        return EXIT_FAILURE;
    }
    if (list.cuda_count == 0) {
        printf("skipped: no CUDA device%s; the CPU agrees with itself\n",
               tarn_device_has_cuda() ? "" : " in this build (no nvcc was found)");
        return EXIT_SKIPPED;
    }
    printf("passed: %u CUDA device%s and the CPU agree\n", list.cuda_count, list.cuda_count == 1 ? "" : "s");
    return EXIT_SUCCESS;
}
