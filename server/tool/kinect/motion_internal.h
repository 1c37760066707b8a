/// What the stages of motion_find share. Fine cells are where silhouettes are found; two by two they are a cell of the
/// result, in which motion is found.
#ifndef TARN_SERVER_TOOL_KINECT_MOTION_INTERNAL_H
#define TARN_SERVER_TOOL_KINECT_MOTION_INTERNAL_H

#include "server/tool/kinect/motion_find.h"

#include <stddef.h>

/// The silhouettes of one frame, per fine cell, and the same per cell of the result.
typedef struct motion_picture {
    float *cover;   ///< how much of the fine cell people cover, 0..1
    float *depth_m; ///< of people; 0: none
    float *cell_cover, *cell_depth_m;
} motion_picture;

/// Rows and columns [from, to) of cells of the result.
typedef struct motion_box {
    uint32_t from_x, from_y, to_x, to_y;
} motion_box;

struct motion_find {
    motion_settings settings;
    uint32_t fine_pixels;             ///< along a fine cell's side
    uint32_t fine_columns, fine_rows; ///< even
    uint32_t columns, rows;           ///< half as many
    float focal_pixels;

    // ground, per pixel
    uint16_t *ground_mm; ///< 0: not known
    uint8_t *seen;    ///< frames that speak for another ground: any, where none is known; in a row, where it is farther
    double watched_s; ///< since the first frame, at most learn_s
    bool learning;
    float measured;

    // per fine cell
    uint16_t *valid, *covered;          ///< pixels that were measured; that somebody covers
    uint32_t *sum_mm;                   ///< of those that somebody covers
    uint16_t *nearest_mm, *farthest_mm; ///< of these
    float *cover, *depth_m;             ///< of what stands before the ground, before it is known who that is
    bool *unknown;
    float *soft;
    uint16_t *part; ///< connected parts, 1...; 0: none
    uint8_t *who;   ///< 0: nobody, i + 1: people[i]
    float *rest_s;  ///< how long a person who doesn't move has been there

    // people
    uint16_t *parents;
    uint32_t part_count;
    uint32_t person_count, next_number;
    motion_person people[MOTION_PEOPLE_MAX];
    bool moves[MOTION_PEOPLE_MAX];

    motion_picture now, before;
    bool has_before;
    double before_s;
    double pace_s;  ///< from one picture to the next, in the mean
    motion_box box; ///< around all people of both frames

    // flow, per cell of the result
    float *flow;    ///< [3]: fine cells right and down, and away in cells' widths, from the frame before to this one
    float *tensor;  ///< [9]: of the constraints
    float *smooth;  ///< the same, summed over neighbours
    float *inverse; ///< [6]
    float *spin;    ///< how fast a cell turns in the picture
    float *bond;    ///< [2]: to the right and down
    float *cost, *best, *sums;
    bool *active;

    // result, per cell
    float *motion, *motion_before; ///< [3]: blurred over time
    float *velocity, *presence, *kept_depth_m;
    uint8_t *person;
    bool *was_active;
    motion_result result;
};

/// Sorts the pixels into ground and people, and counts them by fine cell: `cover`, `depth_m`, holes filled.
void motion_ground_compare(motion_find *find, const uint16_t *mm);

/// Learns where nobody is, as `who` says.
void motion_ground_learn(motion_find *find, const uint16_t *mm, double dt_s);

/// Finds people among what stands before the ground: `who`, `people`, and this frame's picture.
void motion_people_find(motion_find *find);

/// Finds `flow` between the two pictures, inside `box`.
void motion_flow_find(motion_find *find);

#endif
