/// The bridge's camera, on a thread of its own: it opens the source, finds motion in its frames, and puts the newest
/// into a mailbox. A source that is lost is opened again, once a second; that is said once, and once that it is back.
///
///     camera's thread: open -> next frame -> motion_find -> mailbox, newest wins -> wakes the loop
///                        ^---- lost ----
///
/// The functions here are the loop's.
#ifndef TARN_SERVER_TOOL_KINECT_KINECT_CAMERA_H
#define TARN_SERVER_TOOL_KINECT_KINECT_CAMERA_H

#include "server/tool/kinect/depth_source.h"
#include "server/tool/kinect/kinect_calibration.h"
#include "server/tool/kinect/motion_find.h"
#include "server/tool/kinect/show_planes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <uv.h>

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

#endif
