/// `tarn kinect` at work: a camera's thread that finds motion, and the loop that sends it.
#ifndef TARN_SERVER_TOOL_KINECT_RUN_H
#define TARN_SERVER_TOOL_KINECT_RUN_H

#include "protocol/message.h"
#include "server/tool/kinect/camera.h"
#include "server/tool/kinect/depth.h"
#include "server/tool/kinect/motion.h"
#include "server/tool/load/socket.h"

/// Bits a second that are sent at most; what would be more waits for the next frame.
#define KINECT_MBIT_S 1.0

typedef struct kinect_options {
    const char *command; ///< for messages
    depth_choice source;
    load_target target;
    tarn_name session;
    tarn_pass key;
    uint32_t number; ///< of this camera among the viewer's, `source` of the message
    bool has_region;
    float region_m[4]; ///< left, bottom, width, height in the tank's front
    bool has_place;
    float place_m; ///< of the rectangle from the tank's back; without: its front
    float depth_m;
    float strength;
    bool solid;
    uint32_t rate;             ///< messages a second at most
    motion_settings motion;    ///< width and height are the camera's
    motion_wall_settings wall; ///< the same, and across_m and up_m are the region's
    bool show;                 ///< a page for setting the camera up
    uint16_t show_port;        ///< 0: any that is free
    const char *calibration;   ///< the file that the page may write; NULL: none
    bool quiet;
    bool (*interrupted)(void);
} kinect_options;

/// @return the exit status: 0 where it was interrupted or a recording is through, 1 where it couldn't go on
int kinect_run(const kinect_options *options);

/// Tells people on standard error, from any thread: a line that stays, beside which on a terminal one is written over.
/// It may hold anything, and is made printable.
void kinect_say(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
