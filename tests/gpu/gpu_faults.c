// Four tanks are stepped by turns; something happens to the first of them, or to one that is being made, and the others
// go on as if nothing had.
#include "kernels/device/device_internal.h"
#include "kernels/encoder.h"
#include "kernels/tank/tank_internal.h"
#include "tests/gpu/gpu_tanks.h"
#include "tests/gpu/gpu_watch.h"
#include "tests/kernels/dialect_kernels.h"
#include "tests/kernels/tank_fixtures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TANKS = 4, STEPS = 12, STEPS_QUICK = 3, AT = 1 };

static const uint32_t which[TANKS] = {0, 0, 1, 3}; // plain, affine, with solids

typedef enum fault { FAULT_NONE, FAULT_NAN, FAULT_TRANSFER, FAULT_MEMORY, FAULT_COUNT } fault;
static const char *const fault_names[FAULT_COUNT] = {"nothing", "a velocity that is no number", "a transfer that fails",
                                                     "no memory for a tank"};

// What the device does is its own, but for one queue's downloads and one allocation.
static const tarn_device_ops *real;
static const tarn_queue *fails_of;
static uint32_t allocations_left; // 0: as many as there are

static tarn_status download(tarn_queue *queue, void *to, const void *from, size_t bytes)
{
    return queue == fails_of ? TARN_E_DEVICE : real->download(queue, to, from, bytes);
}

static void *alloc(tarn_device *device, size_t bytes)
{
    if (allocations_left > 0 && --allocations_left == 0) {
        return NULL;
    }
    return real->alloc(device, bytes);
}

typedef struct played {
    tarn_tank *tank[TANKS];
    tarn_tank_hash hash[TANKS];
    tarn_status status[TANKS]; ///< of the first step that failed
    tarn_status made;          ///< of a tank that was asked for at the fault
} played;

static bool open_tanks(tarn_device *device, played *p)
{
    char why[200] = "";
    *p = (played){.made = TARN_OK};
    for (uint32_t t = 0; t < TANKS; t++) {
        tarn_tank_desc desc;
        tank_fixtures[which[t]].describe(&desc);
        const tarn_status status = tarn_tank_create(device, &desc, &p->tank[t], why, sizeof why);
        if (status != TARN_OK) {
            gpu_failure("%s: %s %s", tank_fixtures[which[t]].name, tarn_status_text(status), why);
            return false;
        }
    }
    return true;
}

static void close_tanks(played *p)
{
    for (uint32_t t = 0; t < TANKS; t++) {
        tarn_tank_destroy(p->tank[t]);
    }
}

/// Makes a tank and its encoder where the n-th allocation fails, the tank's or the encoder's, and where none does.
static tarn_status make_without_memory(tarn_device *device)
{
    static const uint32_t failing[] = {1, 2, 0};
    tarn_status status = TARN_OK;
    for (size_t i = 0; i < sizeof failing / sizeof failing[0]; i++) {
        const tarn_status wanted = failing[i] > 0 ? TARN_E_MEMORY : TARN_OK;
        tarn_tank *tank = NULL;
        tarn_encoder *encoder = NULL;
        tarn_tank_desc desc;
        tarn_encoder_desc how;
        tank_fixtures[0].describe(&desc);
        tarn_encoder_desc_default(&how);
        allocations_left = failing[i];
        tarn_status made = tarn_tank_create(device, &desc, &tank, NULL, 0);
        if (made == TARN_OK) {
            made = tarn_encoder_create(tank, &how, &encoder);
        }
        allocations_left = 0;
        tarn_encoder_destroy(encoder);
        tarn_tank_destroy(tank);
        status = made == wanted ? status : made == TARN_OK ? TARN_E_STATE : made;
    }
    return status;
}

static void befall(tarn_device *device, played *p, fault what)
{
    const float none = NAN;
    tarn_tank *first = p->tank[0];
    if (what == FAULT_NAN) {
        (void)tarn_queue_upload(first->grid.queue, first->args->store.velocity[0], &none, sizeof none);
    } else if (what == FAULT_TRANSFER) {
        fails_of = first->grid.queue;
    } else if (what == FAULT_MEMORY) {
        p->made = make_without_memory(device);
    }
}

static void play_through(tarn_device *device, played *p, fault what)
{
    for (uint32_t step = 0; step < (gpu_tanks_are_quick() ? STEPS_QUICK : STEPS); step++) {
        if (step == AT) {
            befall(device, p, what);
        }
        for (uint32_t t = 0; t < TANKS; t++) {
            tarn_step_input input;
            gpu_watch_note("%s, step %u of tank %u", fault_names[what], step + 1, t);
            tank_fixture_input(&tank_fixtures[which[t]], tarn_tank_desc_of(p->tank[t]), step, &input);
            const tarn_status status = p->status[t] == TARN_OK ? tarn_tank_step(p->tank[t], &input) : p->status[t];
            p->status[t] = p->status[t] == TARN_OK ? status : p->status[t];
        }
    }
    fails_of = NULL;
    for (uint32_t t = 0; t < TANKS; t++) {
        if (p->status[t] == TARN_OK) {
            p->status[t] = tarn_tank_hash_get(p->tank[t], &p->hash[t]);
        }
    }
}

/// What the first tank has to say of it.
static tarn_status status_of(fault what)
{
    return what == FAULT_NAN ? TARN_E_UNSTABLE : what == FAULT_TRANSFER ? TARN_E_DEVICE : TARN_OK;
}

static bool check(const played *p, const played *as, fault what, const char *device)
{
    bool is_well = true;
    for (uint32_t t = 0; t < TANKS; t++) {
        const tarn_status wanted = t == 0 ? status_of(what) : TARN_OK;
        if (p->status[t] != wanted) {
            gpu_failure("%s on %s: tank %u says \"%s\"", fault_names[what], device, t, tarn_status_text(p->status[t]));
            is_well = false;
        } else if (wanted == TARN_OK && memcmp(&p->hash[t], &as->hash[t], sizeof p->hash[t]) != 0) {
            gpu_failure("%s on %s: tank %u is another", fault_names[what], device, t);
            is_well = false;
        }
    }
    if (p->made != TARN_OK) {
        gpu_failure("%s on %s: one that is made says \"%s\"", fault_names[what], device, tarn_status_text(p->made));
    }
    return is_well && p->made == TARN_OK;
}

/// A tank that went wrong is as good as new once it is reset.
static bool is_new(tarn_tank *tank, const char *device)
{
    const tarn_status reset = tarn_tank_reset(tank);
    const tarn_status status = reset == TARN_OK ? tarn_tank_step(tank, NULL) : reset;
    if (status != TARN_OK) {
        gpu_failure("a tank that was reset after it had gone wrong, on %s: %s", device, tarn_status_text(status));
    }
    return status == TARN_OK;
}

static bool check_fault(tarn_device *device, fault what, const played *as, played *p)
{
    const char *name = tarn_device_name(device);
    bool is_well = open_tanks(device, p);
    if (is_well) {
        tarn_device_ops failing = *device->ops;
        real = device->ops;
        failing.download = download;
        failing.alloc = alloc;
        device->ops = &failing;
        play_through(device, p, what);
        device->ops = real;
        is_well = check(p, what == FAULT_NONE ? p : as, what, name);
        is_well = is_well && (what != FAULT_NAN || is_new(p->tank[0], name));
    }
    close_tanks(p);
    return is_well;
}

void gpu_check_faults(const gpu_devices *list)
{
    static played as[GPU_DEVICES_MAX], p;
    printf("\nFaults of one tank beside others\n");
    for (int what = 0; what < FAULT_COUNT && gpu_watch_has_time(fault_names[what]); what++) {
        for (uint32_t d = 0; d < list->count; d++) {
            const char *name = tarn_device_name(list->of[d]);
            bool is_well = check_fault(list->of[d], (fault)what, &as[0], what == FAULT_NONE ? &as[d] : &p);
            if (what == FAULT_NONE && memcmp(as[d].hash, as[0].hash, sizeof as[0].hash) != 0) {
                gpu_failure("four tanks by turns are others on %s", name);
                is_well = false;
            }
            printf("    %-36s%-6s%s\n", fault_names[what], is_well ? "right" : "WRONG", name);
        }
    }
}

// ------------------------------------------------------------------------------------------- a device that is done for

static void poison(tarn_queue *queue)
{
    uint32_t *const nowhere = (uint32_t *)(uintptr_t)0x7000; // no device has that
    const dialect_args args = {.key = nowhere, .u = nowhere, .n = DIALECT_LANES};
    tarn_queue_launch(queue, &kernel_dialect_mix, &args, NULL, 1);
}

static const char *poison_device(tarn_device *device)
{
    tarn_queue *queue = NULL, *other = NULL;
    uint32_t *word = tarn_device_alloc(device, sizeof *word), value = 0;
    const char *wrong = NULL;
    if (word == NULL || tarn_queue_create(device, &queue) != TARN_OK || tarn_queue_create(device, &other) != TARN_OK) {
        wrong = "it gives no memory or no queues";
    } else {
        poison(queue);
        wrong = tarn_queue_wait(queue) != TARN_E_DEVICE ? "the wait behind it is as if nothing had been"
                : tarn_device_error(device)[0] == '\0'  ? "it has no sentence for that"
                : tarn_queue_download(other, &value, word, 4) == TARN_OK ? "another queue goes on"
                : tarn_device_alloc(device, 64) != NULL                  ? "it still gives memory"
                                                                         : NULL;
    }
    tarn_queue_destroy(queue);
    tarn_queue_destroy(other);
    tarn_device_free(device, word);
    return wrong;
}

void gpu_check_poison(const gpu_devices *list)
{
    printf("\nA place that no device has\n");
    for (uint32_t d = 0; d < list->count; d++) {
        const char *name = tarn_device_name(list->of[d]);
        if (!list->is_cuda[d] || strstr(name, "emulated") != NULL) {
            printf("    %-36sskipped: its kernels are this process's\n", name);
            continue;
        }
        gpu_watch_note("a place that %s doesn't have", name);
        const char *wrong = poison_device(list->of[d]);
        printf("    %-36s%s: %s\n", name, wrong == NULL ? "right" : "WRONG", tarn_device_error(list->of[d]));
        if (wrong != NULL) {
            gpu_failure("%s: %s", name, wrong);
        }
        return; // the process's other GPUs are done for as well
    }
}
