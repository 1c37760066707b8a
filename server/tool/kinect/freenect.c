// A Kinect v1 through libfreenect. The raw 11 bits are asked for, which every version of the library can give and the
// stand-in fakenect too; millimetres are made here.
//
// libfreenect calls back from within its event loop, which is turned by `next`: all is one thread. The library's own
// time stamps wrap around every 72 seconds and restart with the camera, so that frames are stamped as they arrive.
#include "server/base/clock.h"
#include "server/tool/kinect/depth.h"

#include <dlfcn.h>
#include <libfreenect.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

/// A camera that is plugged in sends 30 frames a second. Where none comes for so long, it is gone, even if the library
/// goes on trying.
static const uint64_t silence_ns_max = 3000000000u;

typedef struct kinect {
    freenect_context *context;
    freenect_device *device;
    bool started, fresh;
    uint32_t width, height;
    uint64_t heard_ns;
    uint16_t mm_of_raw[DEPTH_RAW_VALUES];
    uint16_t *raw, *mm;
} kinect;

static void on_depth(freenect_device *device, void *depth, uint32_t timestamp)
{
    kinect *k = freenect_get_user(device);
    (void)depth;
    (void)timestamp;
    if (k == NULL) {
        return;
    }
    const size_t count = (size_t)k->width * k->height;
    for (size_t i = 0; i < count; i++) {
        k->mm[i] = k->raw[i];
    }
    depth_raw_convert(k->mm_of_raw, k->mm, count);
    k->heard_ns = tarn_clock_monotonic_ns();
    k->fresh = true;
}

static void say_nothing(freenect_context *context, freenect_loglevel level, const char *text)
{
    (void)context;
    (void)level;
    (void)text;
}

static void close_kinect(void *self)
{
    kinect *k = self;
    if (k == NULL) {
        return;
    }
    if (k->started) {
        freenect_stop_depth(k->device);
    }
    if (k->device != NULL) {
        freenect_close_device(k->device);
    }
    if (k->context != NULL) {
        freenect_shutdown(k->context);
    }
    free(k->raw);
    free(k->mm);
    free(k);
}

static bool start(kinect *k, const depth_choice *choice, char why[DEPTH_WHY_BYTES])
{
    if (freenect_init(&k->context, NULL) < 0) {
        k->context = NULL;
        snprintf(why, DEPTH_WHY_BYTES, "libfreenect can't use USB on this machine");
        return false;
    }
    freenect_set_log_callback(k->context, say_nothing);
    freenect_select_subdevices(k->context, FREENECT_DEVICE_CAMERA);
    const int there = freenect_num_devices(k->context);
    if (there <= 0) {
        snprintf(why, DEPTH_WHY_BYTES, "found no Kinect; is it plugged in and powered?");
        return false;
    }
    if (there <= (int)choice->index) {
        snprintf(why, DEPTH_WHY_BYTES, "found %d of them, allowed are numbers from 0 to %d", there, there - 1);
        return false;
    }
    if (freenect_open_device(k->context, &k->device, (int)choice->index) < 0) {
        k->device = NULL;
        snprintf(why, DEPTH_WHY_BYTES, "it can't be opened; another program may have it, or this user may not use USB");
        return false;
    }
    const freenect_frame_mode mode = freenect_find_depth_mode(FREENECT_RESOLUTION_MEDIUM, FREENECT_DEPTH_11BIT);
    if (!mode.is_valid || freenect_set_depth_mode(k->device, mode) < 0) {
        snprintf(why, DEPTH_WHY_BYTES, "it has no raw depth of 11 bits");
        return false;
    }
    k->width = (uint32_t)mode.width;
    k->height = (uint32_t)mode.height;
    k->raw = malloc((size_t)mode.bytes);
    k->mm = malloc((size_t)mode.bytes);
    if (k->raw == NULL || k->mm == NULL) {
        snprintf(why, DEPTH_WHY_BYTES, "out of memory");
        return false;
    }
    freenect_set_user(k->device, k);
    freenect_set_depth_buffer(k->device, k->raw);
    freenect_set_depth_callback(k->device, on_depth);
    if (freenect_start_depth(k->device) < 0) {
        snprintf(why, DEPTH_WHY_BYTES, "its depth can't be started");
        return false;
    }
    k->started = true;
    k->heard_ns = tarn_clock_monotonic_ns();
    return true;
}

static void *open_kinect(const depth_choice *choice, char why[DEPTH_WHY_BYTES])
{
    kinect *k = calloc(1, sizeof *k);
    if (k == NULL) {
        snprintf(why, DEPTH_WHY_BYTES, "out of memory");
        return NULL;
    }
    depth_raw_table(k->mm_of_raw);
    if (!start(k, choice, why)) {
        close_kinect(k);
        return NULL;
    }
    return k;
}

/// Whether the library is fakenect, which plays a recording and at its end says what a camera does that is unplugged.
static bool is_played(void)
{
    Dl_info about;
    void *there = dlsym(RTLD_DEFAULT, "freenect_init");
    return there != NULL && dladdr(there, &about) != 0 && strstr(about.dli_fname, "fakenect") != NULL;
}

static depth_result next_frame(void *self, int wait_ms, depth_frame *frame, char why[DEPTH_WHY_BYTES])
{
    kinect *k = self;
    const uint64_t until_ns = tarn_clock_monotonic_ns() + (uint64_t)wait_ms * 1000000u;
    k->fresh = false;
    do {
        struct timeval wait = {.tv_usec = 10000};
        if (freenect_process_events_timeout(k->context, &wait) < 0) {
            if (is_played()) {
                return DEPTH_END;
            }
            snprintf(why, DEPTH_WHY_BYTES, "it stopped sending");
            return DEPTH_LOST;
        }
    } while (!k->fresh && tarn_clock_monotonic_ns() < until_ns);
    if (k->fresh) {
        *frame = (depth_frame){.mm = k->mm,
                               .width = k->width,
                               .height = k->height,
                               .time_s = (double)k->heard_ns * 1e-9,
                               .arrived_ns = k->heard_ns};
        return DEPTH_NEXT;
    }
    if (tarn_clock_monotonic_ns() - k->heard_ns > silence_ns_max) {
        snprintf(why, DEPTH_WHY_BYTES, "it has sent nothing for 3 s");
        return DEPTH_LOST;
    }
    return DEPTH_NONE;
}

const depth_back_end depth_freenect = {open_kinect, next_frame, close_kinect};
