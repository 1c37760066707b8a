/// The bridge's side of its page for setting a camera up: what is shown and when, and what the page may change. On the
/// loop's thread.
#ifndef TARN_SERVER_TOOL_KINECT_SHOW_H
#define TARN_SERVER_TOOL_KINECT_SHOW_H

#include "protocol/motion_code.h"
#include "server/tool/kinect/camera.h"
#include "server/tool/kinect/motion.h"

#include <uv.h>

// ---- what the bridge and its page say to each other ----
// Over one WebSocket of subprotocol SHOW_SUBPROTOCOL. Pure.
//
// The page sends texts, JSON of at most SHOW_COMMAND_BYTES_MAX bytes:
//
//     { "do": "look" }                         somebody sees what was drawn: the next picture
//
//     { "do": "apply", "setup": CALIBRATION }  as in camera.h; takes effect at once
//
//     { "do": "save", "setup": CALIBRATION }   the same, and then into the file of --calibration
//
// The bridge sends texts, JSON with the key "is": "setup" (show_message_setup), "figures" (show_message_figures),
// "answer" to apply and save, whose "error" is null or a sentence; and binary pictures, numbers with the low byte
// first:
//
//     0   u8       1, the version
//     1   u8       1: the empty scene is still looked at; 2: the grid goes to a server
//     2   u8       how many people are there
//     3   u8       0
//     4   u16 [2]  width and height of the camera's frame, pixels
//     8   u16 [2]  columns and rows of depth and difference
//     12  u16 [2]  the same of motion
//     16  u16 [2]  the same of the grid
//     20  f32      m/s that 127 in the motion stands for
//     24  f32      the same of the grid
//     28  u32      number of the picture
//     32           depth, difference; motion: presence, right, up, away; grid: presence, along, up, across
//
// Planes are bytes, row by row: those of the camera from the top, the grid's from the bottom, as it is sent. Units of
// depth and difference: camera.h.

#define SHOW_SUBPROTOCOL "tarn.camera.v1"

enum {
    SHOW_COMMAND_BYTES_MAX = 1024,
    SHOW_TEXT_BYTES_MAX = 6144, ///< of a text that the bridge sends
    SHOW_HEAD_BYTES = 32,
    SHOW_MOTION_CELLS_MAX = MOTION_FINE_ACROSS / 2 * 512, ///< of a frame of 160 x 1024
    SHOW_PICTURE_BYTES_MAX = SHOW_HEAD_BYTES + 2 * SHOW_CELLS_MAX + 4 * SHOW_MOTION_CELLS_MAX + TARN_MOTION_BYTES_MAX,
};

/// What is sent to the server, or would be.
typedef struct show_grid {
    uint32_t columns, rows; ///< 0: there is none
    float speed_m_s;
    const uint8_t *planes;
    bool goes_out;
} show_grid;

/// Of the second that has passed.
typedef struct show_figures {
    double frames_s, find_ms;
    uint32_t wrong, people, cells;
    double sent_s, bits_s;
    double latency_ms;         ///< negative: not known
    const char *camera, *link; ///< sentences
} show_figures;

typedef enum show_do { SHOW_LOOK = 0, SHOW_APPLY = 1, SHOW_SAVE = 2 } show_do;

/// Write texts. @return their bytes
size_t show_message_figures(const show_figures *figures, char text[SHOW_TEXT_BYTES_MAX]);
/// @param file  that "save" writes; NULL: none was named
size_t show_message_setup(const kinect_calibration *calibration, const char *file, char text[SHOW_TEXT_BYTES_MAX]);

/// Reads what the page sent; a setup changes the calibration, all of it or nothing.
/// @param why  receives a sentence where the result is false
bool show_message_read(const char *text, size_t bytes, kinect_calibration *calibration, show_do *what,
                       char why[KINECT_CALIBRATION_WHY_BYTES]);

// ---- the bridge's side ----

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
