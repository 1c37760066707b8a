/// From depth frames to what people do in front of the camera: where somebody is, and how what is there moves.
///
///     millimetres -> ground: what is there without people, learnt -> cells: how much of each somebody covers
///       -> holes filled -> people: connected silhouettes -> flow: what moved since the frame before -> blur, dead zone
///
/// Pure: no files, no clock, no threads; after motion_find_make nothing is allocated. The same frames give the same
/// result. One thread at a time.
///
/// Axes are the picture's: x to the right, y up, z away from the camera. Velocities are metres a second of the body, by
/// its depth and the camera's field of view.
#ifndef TARN_SERVER_TOOL_KINECT_MOTION_H
#define TARN_SERVER_TOOL_KINECT_MOTION_H

#include <stdbool.h>
#include <stdint.h>

enum {
    MOTION_PEOPLE_MAX = 6,
    MOTION_FINE_ACROSS = 160, ///< cells of a row that silhouettes are found in; the result has half as many
};

typedef struct motion_settings {
    uint32_t width, height; ///< pixels of a frame
    float view_deg;         ///< horizontal angle of view, 10..120
    float near_m, far_m;    ///< what is outside is nobody; 0.2 <= near_m < far_m <= 10
    float dead_zone_m_s;    ///< slower motion is none, 0..2
    float half_life_s;      ///< of motion that has ended, 0..5; 0: no blur over time
    float learn_s;          ///< how long the empty scene is looked at first, 0..60
    float rest_s;           ///< what hasn't moved for so long is furniture, 5..3600
} motion_settings;

/// One of those who are there. Numbers go on from frame to frame.
typedef struct motion_person {
    uint32_t number;          ///< 1, 2, 3...
    float middle_x, middle_y; ///< of the silhouette, in the result's cells, rows from the top
    float depth_m;
    float area_m2;
} motion_person;

/// Cells row by row from the picture's top left. Valid until the next frame.
typedef struct motion_result {
    uint32_t columns, rows;
    float cell_pixels; ///< pixels of the frame along a cell's side
    float focal_pixels;
    const float *presence; ///< 0: nobody, 1: all of the cell
    const float *velocity; ///< [3] of each cell
    const float *depth_m;  ///< of who is or was there; 0: nobody yet
    const uint8_t *person; ///< 0: nobody, i + 1: people[i]
    uint32_t person_count;
    motion_person people[MOTION_PEOPLE_MAX];
    bool learning;  ///< the scene is still looked at; there is nobody
    float measured; ///< share of the pixels that the camera measured anything at
} motion_result;

typedef struct motion_find motion_find;

/// For settings that somebody may use.
extern const motion_settings motion_settings_usual;

/// @return NULL: out of memory. Asserts that the settings are in range.
motion_find *motion_find_make(const motion_settings *settings);
void motion_find_free(motion_find *find);

/// Changes what counts as somebody and as motion, in the ranges of the settings; from the next frame on.
void motion_find_limit(motion_find *find, float near_m, float far_m, float dead_zone_m_s);

/// @param mm      width x height, 0: nothing was measured
/// @param time_s  of the frame; a gap of more than a second, or time that goes back, begins a new motion
const motion_result *motion_find_frame(motion_find *find, const uint16_t *mm, double time_s);

/// The size of the result for frames of this size.
void motion_find_size(uint32_t width, uint32_t height, uint32_t *columns, uint32_t *rows);

#endif
