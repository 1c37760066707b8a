/// The bridge's side of its page for setting a camera up: what is shown and when, and what the page may change. On the
/// loop's thread.
#ifndef TARN_SERVER_TOOL_KINECT_KINECT_SHOW_H
#define TARN_SERVER_TOOL_KINECT_KINECT_SHOW_H

#include "server/tool/kinect/kinect_calibration.h"
#include "server/tool/kinect/motion_find.h"
#include "server/tool/kinect/show_message.h"
#include "server/tool/kinect/show_planes.h"

#include <uv.h>

typedef struct kinect_show kinect_show;

typedef struct kinect_show_choice {
    const char *command; ///< begins what is said
    uint16_t port;       ///< 0: any that is free
    const char *file;    ///< that "save" writes; NULL: none
    void *user;
    void (*changed)(void *user, const kinect_calibration *calibration); ///< by the page; takes effect at once
} kinect_show_choice;

/// Says the page's address. Before the loop has any other handles. @return NULL: it couldn't, which was said
kinect_show *kinect_show_open(uv_loop_t *loop, const kinect_show_choice *choice, const kinect_calibration *calibration);

/// Whether somebody looks: waits for a picture or got one a moment ago. NULL: nobody does.
bool kinect_show_looks(const kinect_show *show, uint64_t now_ns);
/// Whether a picture is wanted and it is time for one.
bool kinect_show_due(const kinect_show *show, uint64_t now_ns);

void kinect_show_picture(kinect_show *show, const show_planes *planes, const motion_result *result,
                         const show_grid *grid, uint64_t now_ns);

/// The figures of the second that has passed. NULL is fine, as below.
void kinect_show_figures(kinect_show *show, const show_figures *figures);

/// Closes the page; the loop then lets go of it.
void kinect_show_close(kinect_show *show);
/// Once the loop has ended.
void kinect_show_free(kinect_show *show);

#endif
