/// Where depth frames come from: a folder of recorded frames, a Kinect v1 through libfreenect, a V4L2 camera with the
/// pixel format Z16, a camera that OpenNI 2 knows, or frames that are made as they are asked for. One thread opens,
/// reads and closes a source; reading waits for the next frame, but not for longer than it is told to.
///
/// A source that is lost (unplugged, stopped) says so with DEPTH_LOST, and then only depth_source_close is legal;
/// whoever wants it back opens it again. Errors are sentences: what, where, what is allowed. Nothing here prints.
#ifndef TARN_SERVER_TOOL_KINECT_DEPTH_H
#define TARN_SERVER_TOOL_KINECT_DEPTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- pixels ----
// What 16 bits of a pixel hold: a Kinect's raw 11 bits of disparity, or millimetres, in either order of bytes.

enum {
    DEPTH_RAW_VALUES = 2048,
    DEPTH_RAW_NOTHING = 2047, ///< the camera saw nothing that it could measure
    DEPTH_RAW_MM_MAX = 10000, ///< beyond, a step of disparity is half a metre
};

typedef enum depth_pixels {
    DEPTH_PIXELS_RAW = 0, ///< the low byte first, as all but those of "BE"
    DEPTH_PIXELS_RAW_BE = 1,
    DEPTH_PIXELS_MM = 2,
    DEPTH_PIXELS_MM_BE = 3,
    DEPTH_PIXELS_COUNT
} depth_pixels;

/// As options name them.
extern const char *const depth_pixels_names[DEPTH_PIXELS_COUNT];

/// Whether so many bytes hold rows of two bytes a pixel, each `stride` bytes behind the one before, whatever a driver
/// says of them. @param width, height  at least 1
bool depth_rows_fit(int width, int height, int stride, int bytes);

/// Fills a table with millimetres; 0 where nothing was measured, or farther than DEPTH_RAW_MM_MAX.
void depth_raw_table(uint16_t mm[DEPTH_RAW_VALUES]);

/// Puts millimetres in place of raw values; those beyond 11 bits are nothing.
void depth_raw_convert(const uint16_t mm[DEPTH_RAW_VALUES], uint16_t *pixels, size_t count);

// ---- sources ----

enum {
    DEPTH_WHY_BYTES = 512,
    DEPTH_SIDE_MIN = 64,    ///< pixels of a frame, either way
    DEPTH_WIDTH_MAX = 1280, ///< the largest of the cameras that exist
    DEPTH_HEIGHT_MAX = 1024,
    DEPTH_DEVICES_MAX = 16,
};

typedef enum depth_kind {
    DEPTH_FOLDER = 0,
    DEPTH_FREENECT = 1,
    DEPTH_V4L2 = 2,
    DEPTH_OPENNI = 3,
    DEPTH_DEMO = 4, ///< made up
    DEPTH_KIND_COUNT
} depth_kind;

typedef struct depth_choice {
    depth_kind kind;
    const char *path;    ///< of a folder, a device file or an OpenNI recording; NULL: the index says which
    uint32_t index;      ///< of a Kinect or an OpenNI camera among those that are plugged in
    bool loop;           ///< a recording begins again at its end
    bool fast;           ///< a folder doesn't wait until a frame is due
    depth_pixels pixels; ///< what a folder's frames hold
} depth_choice;

/// A frame, in millimetres; 0: nothing was measured there. The pixels are the source's, until its next call.
typedef struct depth_frame {
    const uint16_t *mm;
    uint32_t width, height;
    double time_s;       ///< rises from frame to frame, by what passed between them; from anywhere
    uint64_t arrived_ns; ///< of the monotonic clock
} depth_frame;

typedef enum depth_result {
    DEPTH_NEXT = 0, ///< there is a frame
    DEPTH_NONE = 1, ///< not yet
    DEPTH_BAD = 2,  ///< there was one that can't be used; the next may be whole
    DEPTH_END = 3,  ///< a recording is through
    DEPTH_LOST = 4,
    DEPTH_NOTE = 5, ///< nothing is wrong, and people should know of something
} depth_result;

typedef struct depth_source depth_source;

/// What a back end is; `self` is what its open made. Private to the back ends.
typedef struct depth_back_end {
    void *(*open)(const depth_choice *choice, char why[DEPTH_WHY_BYTES]);
    depth_result (*next)(void *self, int wait_ms, depth_frame *frame, char why[DEPTH_WHY_BYTES]);
    void (*close)(void *self);
} depth_back_end;

extern const depth_back_end depth_freenect, depth_v4l2, depth_openni;

/// @param why  receives a sentence where the result is NULL
depth_source *depth_source_open(const depth_choice *choice, char why[DEPTH_WHY_BYTES]);

/// @param wait_ms  how long to wait at most, roughly
/// @param why      receives a sentence with DEPTH_BAD, DEPTH_LOST and DEPTH_NOTE
depth_result depth_source_next(depth_source *source, int wait_ms, depth_frame *frame, char why[DEPTH_WHY_BYTES]);

/// NULL is fine.
void depth_source_close(depth_source *source);

/// What is missing where the program was built without this back end, as a sentence. @return NULL: it has it
const char *depth_kind_missing(depth_kind kind);

/// What people call the source, such as `the recording "walk"`.
void depth_choice_name(const depth_choice *choice, char name[DEPTH_WHY_BYTES]);

#endif
