// A camera that OpenNI 2 has a driver for, such as an Asus Xtion or a PrimeSense Carmine, or a recording of its own
// (.oni); by its C interface. Depth is asked for in millimetres, in the mode nearest to 640 x 480 at 30 a second.
//
// The library is started with the first source and never ended: that would unload drivers, of which some have threads
// that still run. Frames are stamped as they arrive: what drivers put into theirs differs.
#include "server/base/clock.h"
#include "server/tool/kinect/depth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The library's headers name their handles as C++ does.
typedef struct _OniDevice _OniDevice;
typedef struct _OniStream _OniStream;
typedef struct _OniRecorder _OniRecorder;
#include <OniCAPI.h>
#include <OniCProperties.h>

/// A camera that is plugged in sends 30 frames a second.
static const uint64_t silence_ns_max = 3000000000u;

typedef struct camera {
    bool started;
    bool is_recording;
    bool is_mirrored; ///< rows come turned round, and the camera takes no other way
    int frames_max;   ///< of a recording, by the index of its last frame; 0: unknown
    bool is_through;
    OniDeviceHandle device;
    OniStreamHandle stream;
    uint64_t heard_ns;
    uint16_t *mm;
} camera;

static void close_openni(void *self)
{
    camera *c = self;
    if (c == NULL) {
        return;
    }
    if (c->started) {
        oniStreamStop(c->stream);
    }
    if (c->stream != NULL) {
        oniStreamDestroy(c->stream);
    }
    if (c->device != NULL) {
        oniDeviceClose(c->device);
    }
    free(c->mm);
    free(c);
}

/// Finds the name that the library has for what was chosen: a number of a camera, or a recording's path as it is.
static bool find_device(const depth_choice *choice, char uri[ONI_MAX_STR], char why[DEPTH_WHY_BYTES])
{
    if (choice->path != NULL) {
        if ((size_t)snprintf(uri, ONI_MAX_STR, "%s", choice->path) >= ONI_MAX_STR) {
            snprintf(why, DEPTH_WHY_BYTES, "found a name of %zu bytes, allowed are %d", strlen(choice->path),
                     ONI_MAX_STR - 1);
            return false;
        }
        return true;
    }
    OniDeviceInfo *devices = NULL;
    int there = 0;
    if (oniGetDeviceList(&devices, &there) != ONI_STATUS_OK) {
        there = 0;
    }
    const bool found = (int)choice->index < there;
    if (found) {
        snprintf(uri, ONI_MAX_STR, "%s", devices[choice->index].uri);
    } else if (there == 0) {
        snprintf(
            why, DEPTH_WHY_BYTES,
            "found no camera; is it plugged in, and is its driver among OpenNI2/Drivers as lib*.so.0, which Debian's "
            "OpenNI 2 asks for?");
    } else {
        snprintf(why, DEPTH_WHY_BYTES, "found %d of them, allowed are numbers from 0 to %d", there, there - 1);
    }
    oniReleaseDeviceList(devices);
    return found;
}

/// How far a mode is from what is wanted; negative: it can't be used.
static int cost_of(const OniVideoMode *mode)
{
    if (mode->pixelFormat != ONI_PIXEL_FORMAT_DEPTH_1_MM || mode->resolutionX < DEPTH_SIDE_MIN ||
        mode->resolutionX > DEPTH_WIDTH_MAX || mode->resolutionY < DEPTH_SIDE_MIN ||
        mode->resolutionY > DEPTH_HEIGHT_MAX) {
        return -1;
    }
    return 10 * abs(mode->resolutionX - 640) + abs(mode->fps - 30);
}

static bool set_mode(camera *c, char why[DEPTH_WHY_BYTES])
{
    const OniSensorInfo *sensor = oniStreamGetSensorInfo(c->stream);
    const OniVideoMode *best = NULL;
    for (int i = 0; sensor != NULL && i < sensor->numSupportedVideoModes; i++) {
        const OniVideoMode *mode = &sensor->pSupportedVideoModes[i];
        if (cost_of(mode) >= 0 && (best == NULL || cost_of(mode) < cost_of(best))) {
            best = mode;
        }
    }
    if (best == NULL) {
        snprintf(why, DEPTH_WHY_BYTES, "it has no depth in millimetres, allowed are %d x %d to %d x %d pixels of it",
                 DEPTH_SIDE_MIN, DEPTH_SIDE_MIN, DEPTH_WIDTH_MAX, DEPTH_HEIGHT_MAX);
        return false;
    }
    // A recording has one mode and takes none; its frames are checked as they come.
    oniStreamSetProperty(c->stream, ONI_STREAM_PROPERTY_VIDEO_MODE, best, sizeof *best);
    OniBool mirrors = 0;
    int bytes = sizeof mirrors;
    oniStreamSetProperty(c->stream, ONI_STREAM_PROPERTY_MIRRORING, &mirrors, sizeof mirrors);
    // Nor does it take another mirroring: its rows are as they were recorded.
    c->is_mirrored =
        oniStreamGetProperty(c->stream, ONI_STREAM_PROPERTY_MIRRORING, &mirrors, &bytes) == ONI_STATUS_OK &&
        bytes == sizeof mirrors && mirrors != 0;
    return true;
}

/// A recording begins again by itself unless it is told not to.
static void set_round(camera *c, bool loop)
{
    const OniBool repeats = loop;
    int frames = 0, bytes = sizeof frames;
    c->is_recording = oniDeviceSetProperty(c->device, ONI_DEVICE_PROPERTY_PLAYBACK_REPEAT_ENABLED, &repeats,
                                           sizeof repeats) == ONI_STATUS_OK;
    if (c->is_recording && !loop &&
        oniStreamGetProperty(c->stream, ONI_STREAM_PROPERTY_NUMBER_OF_FRAMES, &frames, &bytes) == ONI_STATUS_OK &&
        bytes == sizeof frames) {
        c->frames_max = frames;
    }
}

static bool start(camera *c, const depth_choice *choice, char why[DEPTH_WHY_BYTES])
{
    static bool initialized; // one thread opens sources
    char uri[ONI_MAX_STR];
    initialized = initialized || oniInitialize(ONI_API_VERSION) == ONI_STATUS_OK;
    if (!initialized) {
        snprintf(why, DEPTH_WHY_BYTES, "OpenNI 2 can't be used: %.300s", oniGetExtendedError());
        return false;
    }
    if (!find_device(choice, uri, why)) {
        return false;
    }
    if (oniDeviceOpen(uri, &c->device) != ONI_STATUS_OK) {
        c->device = NULL;
        snprintf(why, DEPTH_WHY_BYTES, "it can't be opened: %.300s", oniGetExtendedError());
        return false;
    }
    if (oniDeviceCreateStream(c->device, ONI_SENSOR_DEPTH, &c->stream) != ONI_STATUS_OK) {
        c->stream = NULL;
        snprintf(why, DEPTH_WHY_BYTES, "it has no depth: %.300s", oniGetExtendedError());
        return false;
    }
    if (!set_mode(c, why)) {
        return false;
    }
    set_round(c, choice->loop);
    c->mm = malloc(sizeof *c->mm * DEPTH_WIDTH_MAX * DEPTH_HEIGHT_MAX);
    if (c->mm == NULL) {
        snprintf(why, DEPTH_WHY_BYTES, "out of memory");
        return false;
    }
    c->started = oniStreamStart(c->stream) == ONI_STATUS_OK;
    if (!c->started) {
        snprintf(why, DEPTH_WHY_BYTES, "its depth can't be started: %.300s", oniGetExtendedError());
        return false;
    }
    c->heard_ns = tarn_clock_monotonic_ns();
    return true;
}

static void *open_openni(const depth_choice *choice, char why[DEPTH_WHY_BYTES])
{
    camera *c = calloc(1, sizeof *c);
    if (c == NULL) {
        snprintf(why, DEPTH_WHY_BYTES, "out of memory");
        return NULL;
    }
    if (!start(c, choice, why)) {
        close_openni(c);
        return NULL;
    }
    return c;
}

/// Copies a frame. @return DEPTH_NEXT, DEPTH_BAD
static depth_result take(camera *c, const OniFrame *from, depth_frame *frame, char why[DEPTH_WHY_BYTES])
{
    const int width = from->width, height = from->height;
    if (from->videoMode.pixelFormat != ONI_PIXEL_FORMAT_DEPTH_1_MM || width < DEPTH_SIDE_MIN ||
        width > DEPTH_WIDTH_MAX || height < DEPTH_SIDE_MIN || height > DEPTH_HEIGHT_MAX) {
        snprintf(why, DEPTH_WHY_BYTES,
                 "OpenNI 2: found a frame of %d x %d pixels in format %d, allowed are millimetres (%d), %d x %d to "
                 "%d x %d",
                 width, height, (int)from->videoMode.pixelFormat, (int)ONI_PIXEL_FORMAT_DEPTH_1_MM, DEPTH_SIDE_MIN,
                 DEPTH_SIDE_MIN, DEPTH_WIDTH_MAX, DEPTH_HEIGHT_MAX);
        return DEPTH_BAD;
    }
    if (!depth_rows_fit(width, height, from->stride, from->dataSize)) {
        snprintf(why, DEPTH_WHY_BYTES,
                 "OpenNI 2: found a frame of %d bytes with %d from row to row, which %d rows of %d pixels don't fit",
                 from->dataSize, from->stride, height, width);
        return DEPTH_BAD;
    }
    for (int y = 0; y < height; y++) {
        uint16_t *row = c->mm + (size_t)y * (size_t)width;
        memcpy(row, (const uint8_t *)from->data + (size_t)y * (size_t)from->stride, 2 * (size_t)width);
        for (int x = 0; x < width / 2 && c->is_mirrored; x++) {
            const uint16_t left = row[x];
            row[x] = row[width - 1 - x];
            row[width - 1 - x] = left;
        }
    }
    c->is_through = c->frames_max > 0 && from->frameIndex >= c->frames_max;
    c->heard_ns = tarn_clock_monotonic_ns();
    *frame = (depth_frame){.mm = c->mm,
                           .width = (uint32_t)width,
                           .height = (uint32_t)height,
                           .time_s = (double)c->heard_ns * 1e-9,
                           .arrived_ns = c->heard_ns};
    return DEPTH_NEXT;
}

static depth_result next_frame(void *self, int wait_ms, depth_frame *frame, char why[DEPTH_WHY_BYTES])
{
    camera *c = self;
    int which;
    OniFrame *from = NULL;
    if (c->is_through) {
        return DEPTH_END;
    }
    const OniStatus status = oniWaitForAnyStream(&c->stream, 1, &which, wait_ms);
    if (status == ONI_STATUS_OK && oniStreamReadFrame(c->stream, &from) == ONI_STATUS_OK && from != NULL) {
        const depth_result result = take(c, from, frame, why);
        oniFrameRelease(from);
        return result;
    }
    if (status != ONI_STATUS_TIME_OUT) {
        snprintf(why, DEPTH_WHY_BYTES, "it stopped sending: %.300s", oniGetExtendedError());
        return DEPTH_LOST;
    }
    if (tarn_clock_monotonic_ns() - c->heard_ns > silence_ns_max) {
        if (c->is_recording) {
            return DEPTH_END;
        }
        snprintf(why, DEPTH_WHY_BYTES, "it has sent nothing for 3 s");
        return DEPTH_LOST;
    }
    return DEPTH_NONE;
}

const depth_back_end depth_openni = {open_openni, next_frame, close_openni};
