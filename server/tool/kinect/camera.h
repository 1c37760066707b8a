/// The bridge's camera: how it is set up, its thread, what it sees on the wall, and pictures of that for the page.
#ifndef TARN_SERVER_TOOL_KINECT_CAMERA_H
#define TARN_SERVER_TOOL_KINECT_CAMERA_H

#include "protocol/status.h"
#include "server/tool/kinect/depth.h"
#include "server/tool/kinect/motion.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

// ---- calibration ----
// How a camera is set up: where the wall is in its picture, and which depth and which motion count. A command line, a
// small file and the page of --show say so; all end in the same checks.
//
// The file is a JSON object; what it leaves out stays as it is:
//
//     { "corners_px": [[x, y], [x, y], [x, y], [x, y]],    the wall's; null: the picture's own
//       "near_m": 0.5, "far_m": 4, "dead_zone_m_s": 0.1, "mirror": false, "rotate_deg": 0 }

enum {
    KINECT_CALIBRATION_WHY_BYTES = 512,
    KINECT_CALIBRATION_TEXT_BYTES = 512, ///< of a calibration as text, at most
};

typedef struct kinect_calibration {
    bool has_corners;    ///< else they are the picture's
    float corners[4][2]; ///< pixels: top left, top right, bottom right, bottom left, before mirroring and turning
    float near_m, far_m;
    float dead_zone_m_s;
    bool mirror;
    uint32_t turns; ///< quarter turns clockwise, 0..3
} kinect_calibration;

/// The fields of a calibration, as bits.
enum {
    KINECT_FIELD_CORNERS = 1,
    KINECT_FIELD_NEAR = 2,
    KINECT_FIELD_FAR = 4,
    KINECT_FIELD_DEAD_ZONE = 8,
    KINECT_FIELD_MIRROR = 16,
    KINECT_FIELD_ROTATE = 32,
};

/// Reads the wall's corners, top left, top right, bottom right, bottom left, in pixels: eight numbers with commas
/// between them, or the name of a JSON file that has "corners_px".
/// @param why  receives a sentence where the result is false
bool kinect_calibration_read(const char *text, float corners[4][2], char why[KINECT_CALIBRATION_WHY_BYTES]);

struct json_t;

/// Takes over what an object says; all of it, or on failure nothing.
/// @param keep  fields that stay as they are, whatever it says
/// @param why   receives a sentence where the result is false
bool kinect_calibration_change(kinect_calibration *calibration, const struct json_t *object, uint32_t keep,
                               char why[KINECT_CALIBRATION_WHY_BYTES]);

/// The same of a file. @return TARN_OK, TARN_E_NOT_FOUND: there is none, TARN_E_IO, TARN_E_MALFORMED; then `why` is a
/// sentence
tarn_status kinect_calibration_load(kinect_calibration *calibration, const char *path, uint32_t keep,
                                    char why[KINECT_CALIBRATION_WHY_BYTES]);

/// Writes a calibration as the object above. @return its bytes
size_t kinect_calibration_print(const kinect_calibration *calibration, char text[KINECT_CALIBRATION_TEXT_BYTES]);

/// Puts it into a file, which is whole at any time: the old one or the new one.
/// @param why  receives a sentence where the result isn't TARN_OK
tarn_status kinect_calibration_save(const kinect_calibration *calibration, const char *path,
                                    char why[KINECT_CALIBRATION_WHY_BYTES]);

// ---- planes for the page ----
// A camera's depth made small for the page of --show: planes of a byte a cell, of depth and of what differs from the
// frame before. Pure; one thread at a time.

enum {
    SHOW_COLUMNS_MAX = 160,
    SHOW_ROWS_MAX = 120,
    SHOW_CELLS_MAX = SHOW_COLUMNS_MAX * SHOW_ROWS_MAX,
    SHOW_DEPTH_STEP_MM = 40,     ///< that one of a byte stands for
    SHOW_DIFFERENCE_STEP_MM = 2, ///< the same of differences
};

typedef struct show_planes {
    uint32_t width, height;             ///< of the camera's frames; 0: none yet
    uint32_t columns, rows;             ///< of the planes, from the picture's top left
    uint8_t depth[SHOW_CELLS_MAX];      ///< 0: nothing was measured
    uint8_t difference[SHOW_CELLS_MAX]; ///< 0 where one of both frames has nothing
    uint16_t before_mm[SHOW_CELLS_MAX]; ///< of the newest frame
} show_planes;

/// Takes a frame in. @param mm  width x height millimetres, 0: nothing was measured
void show_planes_add(show_planes *planes, const uint16_t *mm, uint32_t width, uint32_t height);

// ---- the camera ----
// On a thread of its own: it opens the source, finds motion in its frames, and puts the newest into a mailbox. A source
// that is lost is opened again, once a second; that is said once, and once that it is back.
//
//     camera's thread: open -> next frame -> motion_find_frame -> mailbox, newest wins -> wakes the loop
//                        ^---- lost ----
//
// The functions here are the loop's.

/// What is in a frame: a copy of a motion_result, and while somebody looks at the page the planes for it.
typedef struct kinect_mail {
    motion_result result;   ///< points into this mail
    uint32_t width, height; ///< of the frame
    uint64_t arrived_ns;
    show_planes *planes; ///< NULL: there was no memory for them yet
    bool has_planes;     ///< they are of this frame
    float *presence, *velocity, *depth_m;
    size_t cells;
} kinect_mail;

typedef struct kinect_tally {
    uint32_t frames, bad;
    uint64_t find_ns;
} kinect_tally;

typedef enum kinect_camera_state {
    KINECT_CAMERA_OPENING = 0, ///< for the first time
    KINECT_CAMERA_OPEN = 1,
    KINECT_CAMERA_LOST = 2,
    KINECT_CAMERA_THROUGH = 3, ///< a recording is at its end
    KINECT_CAMERA_FAILED = 4,  ///< it can't go on, which was said
} kinect_camera_state;

typedef struct kinect_camera {
    // set by the owner before it starts
    const char *command; ///< begins what is said
    depth_choice source;
    motion_settings motion; ///< width and height are the camera's
    bool shows;             ///< there is a page that may want planes
    uv_async_t *wake;       ///< is sent for each frame and at the end

    pthread_t thread;
    bool started;
    atomic_bool ending;
    atomic_bool looks; ///< somebody looks at the page
    char source_name[DEPTH_WHY_BYTES];

    pthread_mutex_t lock; ///< of what follows
    kinect_mail box;
    bool full;
    kinect_tally counted; ///< since it was asked for
    kinect_camera_state state;
    char state_why[DEPTH_WHY_BYTES]; ///< of a source that doesn't open
    float near_m, far_m, dead_zone_m_s;
} kinect_camera;

/// @return false: there is no thread for it, which was said; kinect_camera_end is fine all the same
bool kinect_camera_start(kinect_camera *camera);

/// Asks it to end, soon; kinect_camera_end waits until it has. What it has counted is there until it is freed.
void kinect_camera_stop(kinect_camera *camera);
void kinect_camera_end(kinect_camera *camera);
void kinect_camera_free(kinect_camera *camera);

/// Swaps the newest frame for the one that the caller has. @return whether there is a newer one
bool kinect_camera_take(kinect_camera *camera, kinect_mail *mail);
void kinect_mail_free(kinect_mail *mail);

kinect_camera_state kinect_camera_is(kinect_camera *camera);

/// What it does, as a sentence. @param newest  frame
void kinect_camera_describe(kinect_camera *camera, const kinect_mail *newest, char sentence[2 * DEPTH_WHY_BYTES]);

/// What it has counted since it was asked the last time.
kinect_tally kinect_camera_count(kinect_camera *camera);

/// Limits that count from the next frame on.
void kinect_camera_limit(kinect_camera *camera, const kinect_calibration *calibration);

// ---- the wall ----
// From what the camera sees to a grid on the wall: which place of the picture lies at which place of the wall, and
// what motion there means on it. Pure; made once for a size of frames and a rectangle.
//
// A silhouette and the water that it moves belong together, so that velocities become those of the picture on the
// wall: a hand that crosses the picture in a second moves water that would cross the wall in one. What goes towards or
// away from the camera is scaled as what goes along.

typedef struct motion_wall_settings {
    uint32_t width, height; ///< of the camera's picture, pixels
    uint32_t columns, rows; ///< of the grid, as protocol/motion_code.h allows
    float across_m, up_m;   ///< of the rectangle in the tank
    bool has_corners;       ///< the wall's corners in the picture are known
    float corners[4][2];    ///< pixels: the wall's top left, top right, bottom right, bottom left
    bool mirror;            ///< the camera is at the wall and looks at those who face it
    uint32_t turns;         ///< quarter turns of the picture clockwise, 0..3
} motion_wall_settings;

typedef struct motion_wall motion_wall;

/// @return NULL: out of memory, or corners of which three lie on a line or which cross over (see
/// motion_wall_corners_fit)
motion_wall *motion_wall_make(const motion_wall_settings *settings);
void motion_wall_free(motion_wall *wall);

/// Whether four corners go around a convex area, one way or the other.
/// @param corners  as in the settings, x and y of each in turn
bool motion_wall_corners_fit(const float *corners);

/// Fills the planes of a motion message, columns x rows x 4 bytes, with steps so coarse that they code well.
/// @param speed_m_s  receives what 127 stands for
/// @return how many cells move
size_t motion_wall_planes(const motion_wall *wall, const motion_result *result, uint8_t *planes, float *speed_m_s);

#endif
