// A depth camera that the kernel knows, such as a RealSense: V4L2's pixel format Z16, millimetres in 16 bits. Four
// buffers are mapped; `next` takes the newest that is filled and gives the others back, so that a slow reader sees the
// present.
#include "server/base/clock.h"
#include "server/tool/kinect/depth.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BUFFERS = 4 };

static const uint64_t silence_ns_max = 3000000000u;

typedef struct camera {
    int fd;
    bool streams;
    uint32_t width, height, row_bytes;
    uint32_t buffer_count;
    void *mapped[BUFFERS];
    size_t mapped_bytes[BUFFERS];
    uint64_t heard_ns;
    uint16_t *mm;
} camera;

static int control(int fd, unsigned long request, void *argument)
{
    int result;
    do {
        result = ioctl(fd, request, argument);
    } while (result < 0 && errno == EINTR);
    return result;
}

static void close_camera(void *self)
{
    camera *c = self;
    if (c == NULL) {
        return;
    }
    if (c->streams) {
        enum v4l2_buf_type type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
        control(c->fd, VIDIOC_STREAMOFF, &type);
    }
    for (uint32_t i = 0; i < c->buffer_count; i++) {
        if (c->mapped[i] != NULL) {
            munmap(c->mapped[i], c->mapped_bytes[i]);
        }
    }
    if (c->fd >= 0) {
        close(c->fd);
    }
    free(c->mm);
    free(c);
}

/// Asks for depth of the size that the camera proposes. @return whether that is what it will send
static bool set_format(camera *c, char why[DEPTH_WHY_BYTES])
{
    struct v4l2_capability can = {0};
    if (control(c->fd, VIDIOC_QUERYCAP, &can) < 0) {
        snprintf(why, DEPTH_WHY_BYTES, "it isn't a V4L2 device: %s", strerror(errno));
        return false;
    }
    const uint32_t has = can.capabilities & V4L2_CAP_DEVICE_CAPS ? can.device_caps : can.capabilities;
    if ((has & V4L2_CAP_VIDEO_CAPTURE) == 0 || (has & V4L2_CAP_STREAMING) == 0) {
        snprintf(why, DEPTH_WHY_BYTES, "\"%.31s\" doesn't capture; allowed is a camera", (const char *)can.card);
        return false;
    }
    struct v4l2_format format = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE};
    format.fmt.pix.width = 640;
    format.fmt.pix.height = 480;
    format.fmt.pix.pixelformat = V4L2_PIX_FMT_Z16;
    format.fmt.pix.field = V4L2_FIELD_NONE;
    if (control(c->fd, VIDIOC_S_FMT, &format) < 0 || format.fmt.pix.pixelformat != V4L2_PIX_FMT_Z16) {
        snprintf(why, DEPTH_WHY_BYTES, "\"%.31s\" has no pixels of the format Z16; allowed is a depth camera's device",
                 (const char *)can.card);
        return false;
    }
    c->width = format.fmt.pix.width;
    c->height = format.fmt.pix.height;
    c->row_bytes = format.fmt.pix.bytesperline != 0 ? format.fmt.pix.bytesperline : 2 * c->width;
    if (c->width < DEPTH_SIDE_MIN || c->width > DEPTH_WIDTH_MAX || c->height < DEPTH_SIDE_MIN ||
        c->height > DEPTH_HEIGHT_MAX || c->row_bytes < 2 * c->width) {
        snprintf(why, DEPTH_WHY_BYTES, "found %u x %u pixels, allowed are %d x %d to %d x %d", c->width, c->height,
                 DEPTH_SIDE_MIN, DEPTH_SIDE_MIN, DEPTH_WIDTH_MAX, DEPTH_HEIGHT_MAX);
        return false;
    }
    return true;
}

static bool map_buffers(camera *c)
{
    struct v4l2_requestbuffers request = {
        .count = BUFFERS, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP};
    if (control(c->fd, VIDIOC_REQBUFS, &request) < 0 || request.count < 2) {
        return false;
    }
    c->buffer_count = request.count < BUFFERS ? request.count : BUFFERS;
    for (uint32_t i = 0; i < c->buffer_count; i++) {
        struct v4l2_buffer buffer = {.index = i, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP};
        if (control(c->fd, VIDIOC_QUERYBUF, &buffer) < 0 || buffer.length < (size_t)c->row_bytes * c->height) {
            return false;
        }
        void *at = mmap(NULL, buffer.length, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, buffer.m.offset);
        if (at == MAP_FAILED) {
            return false;
        }
        c->mapped[i] = at;
        c->mapped_bytes[i] = buffer.length;
        if (control(c->fd, VIDIOC_QBUF, &buffer) < 0) {
            return false;
        }
    }
    enum v4l2_buf_type type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    c->streams = control(c->fd, VIDIOC_STREAMON, &type) == 0;
    return c->streams;
}

static void *open_camera(const depth_choice *choice, char why[DEPTH_WHY_BYTES])
{
    camera *c = calloc(1, sizeof *c);
    if (c == NULL) {
        snprintf(why, DEPTH_WHY_BYTES, "out of memory");
        return NULL;
    }
    c->fd = open(choice->path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (c->fd < 0) {
        snprintf(why, DEPTH_WHY_BYTES, "%s", strerror(errno));
        goto fail;
    }
    if (!set_format(c, why)) {
        goto fail;
    }
    if (!map_buffers(c)) {
        snprintf(why, DEPTH_WHY_BYTES, "it can't be started: %s", strerror(errno));
        goto fail;
    }
    c->mm = malloc(sizeof *c->mm * c->width * c->height);
    if (c->mm == NULL) {
        snprintf(why, DEPTH_WHY_BYTES, "out of memory");
        goto fail;
    }
    c->heard_ns = tarn_clock_monotonic_ns();
    return c;
fail:
    close_camera(c);
    return NULL;
}

/// Copies the newest buffer that is filled and gives all back. @return how many there were; -1: the camera is gone
static int take_buffers(camera *c, depth_frame *frame)
{
    int taken = 0;
    for (;;) {
        struct v4l2_buffer buffer = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP};
        if (control(c->fd, VIDIOC_DQBUF, &buffer) < 0) {
            return errno == EAGAIN ? taken : -1;
        }
        const bool whole = (buffer.flags & V4L2_BUF_FLAG_ERROR) == 0 && buffer.index < c->buffer_count &&
                           buffer.bytesused >= (c->height - 1) * c->row_bytes + 2 * c->width;
        for (uint32_t y = 0; whole && y < c->height; y++) {
            memcpy(c->mm + (size_t)y * c->width, (const uint8_t *)c->mapped[buffer.index] + (size_t)y * c->row_bytes,
                   2 * (size_t)c->width);
        }
        if (whole) {
            c->heard_ns = tarn_clock_monotonic_ns();
            *frame = (depth_frame){.mm = c->mm,
                                   .width = c->width,
                                   .height = c->height,
                                   .time_s = (double)buffer.timestamp.tv_sec + (double)buffer.timestamp.tv_usec * 1e-6,
                                   .arrived_ns = c->heard_ns};
            taken++;
        }
        if (control(c->fd, VIDIOC_QBUF, &buffer) < 0) {
            return -1;
        }
    }
}

static depth_result next_frame(void *self, int wait_ms, depth_frame *frame, char why[DEPTH_WHY_BYTES])
{
    camera *c = self;
    struct pollfd wait = {.fd = c->fd, .events = POLLIN};
    poll(&wait, 1, wait_ms);
    const int taken = (wait.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0 ? -1 : take_buffers(c, frame);
    if (taken < 0) {
        snprintf(why, DEPTH_WHY_BYTES, "it stopped sending");
        return DEPTH_LOST;
    }
    if (taken == 0 && tarn_clock_monotonic_ns() - c->heard_ns > silence_ns_max) {
        snprintf(why, DEPTH_WHY_BYTES, "it has sent nothing for 3 s");
        return DEPTH_LOST;
    }
    return taken > 0 ? DEPTH_NEXT : DEPTH_NONE;
}

const depth_back_end depth_v4l2 = {open_camera, next_frame, close_camera};
