// What is there without people, pixel by pixel: a running median, which moves by a millimetre a frame towards what is
// measured, and which noise and single wrong values don't pull away. Three exceptions:
//
//     farther than the ground   for some frames in a row: what stood there has left, and the ground goes there quickly
//     nearer                    somebody, or something new: the ground stays, until it has been at rest for long; where
//                               it is too small for somebody the ground was wrong, and comes slowly
//     no ground known           dark or far surfaces: it is learnt after some time without people
//
// A Kinect measures disparity, so that noise and steps grow with the square of depth, and so does what counts as
// nearer.
#include "server/tool/kinect/motion_internal.h"

#include <math.h>
#include <string.h>

enum {
    TOLERANCE_MM = 45,    ///< that a pixel must be before the ground, and its square's share:
    TOLERANCE_SHIFT = 16, ///< + z^2 / 65536 mm, 137 mm at 3 m
    EDGE_MM = 250,        ///< of depth within a fine cell that are two bodies
    SEEN_MIN = 60,        ///< frames in which something was measured until it is a ground
    FAR_MIN = 3,          ///< frames in a row in which it is farther until the ground goes there,
    LEAVE_SHIFT = 3,      ///< by an eighth of what is missing a frame
    HEAL_SHIFT = 7,       ///< and nearer, where nobody is, by so much less
    HOLE_REACH = 6,       ///< fine cells in which a hole's edge is looked for
    HOLE_SIDES = 3,       ///< of four on which people must be, for a hole to be in one
};

/// Depths around a hole in one body; what differs by more is the gap between two.
static const float body_m = 0.25f;
/// Cells of which fewer pixels were measured than this share are holes.
static const float valid_min = 0.25f;

static uint32_t tolerance_mm(uint32_t mm)
{
    return TOLERANCE_MM + (mm * mm >> TOLERANCE_SHIFT);
}

/// One row of pixels into its row of fine cells.
static void compare_row(const motion_find *find, const uint16_t *mm, const uint16_t *ground, uint32_t fine_row)
{
    const uint32_t near_mm = (uint32_t)(find->settings.near_m * 1000), far_mm = (uint32_t)(find->settings.far_m * 1000);
    const uint32_t unknown_mm = find->learning ? 0 : UINT16_MAX;
    const size_t row = (size_t)fine_row * find->fine_columns;
    for (uint32_t cell = 0, x = 0; x < find->settings.width; cell++) {
        const uint32_t end =
            x + find->fine_pixels < find->settings.width ? x + find->fine_pixels : find->settings.width;
        uint32_t valid = 0, covered = 0, sum_mm = 0, nearest = UINT16_MAX, farthest = 0;
        for (; x < end; x++) {
            const uint32_t z = mm[x], behind = ground[x] != 0 ? ground[x] : unknown_mm;
            const uint32_t is_somebody = z >= near_mm && z <= far_mm && z + tolerance_mm(z) < behind;
            valid += z != 0;
            covered += is_somebody;
            sum_mm += is_somebody ? z : 0;
            nearest = is_somebody && z < nearest ? z : nearest;
            farthest = is_somebody && z > farthest ? z : farthest;
        }
        find->valid[row + cell] = (uint16_t)(find->valid[row + cell] + valid);
        find->covered[row + cell] = (uint16_t)(find->covered[row + cell] + covered);
        find->sum_mm[row + cell] += sum_mm;
        find->nearest_mm[row + cell] =
            (uint16_t)(nearest < find->nearest_mm[row + cell] ? nearest : find->nearest_mm[row + cell]);
        find->farthest_mm[row + cell] =
            (uint16_t)(farthest > find->farthest_mm[row + cell] ? farthest : find->farthest_mm[row + cell]);
    }
}

/// From a hole in one direction: the index of the first cell that isn't one, where people cover it; -1: none.
static long look(const motion_find *find, uint32_t x, uint32_t y, int dx, int dy)
{
    long at_x = x, at_y = y;
    for (int i = 0; i < HOLE_REACH; i++) {
        at_x += dx;
        at_y += dy;
        if (at_x < 0 || at_y < 0 || at_x >= (long)find->fine_columns || at_y >= (long)find->fine_rows) {
            return -1;
        }
        const long at = at_y * (long)find->fine_columns + at_x;
        if (!find->unknown[at]) {
            return find->cover[at] >= 0.5f ? at : -1;
        }
    }
    return -1;
}

/// A hole that people surround is part of one. One beside them is the shadow that they throw in the projector's light:
/// it shows the ground, and has them on one side only.
static void fill_holes(motion_find *find)
{
    static const int sides[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
    for (uint32_t y = 0; y < find->fine_rows; y++) {
        for (uint32_t x = 0; x < find->fine_columns; x++) {
            const size_t at = (size_t)y * find->fine_columns + x;
            if (!find->unknown[at]) {
                continue;
            }
            float depth_m = 0, nearest_m = INFINITY, farthest_m = 0;
            int count = 0;
            for (int i = 0; i < 4; i++) {
                const long found = look(find, x, y, sides[i][0], sides[i][1]);
                if (found >= 0) {
                    depth_m += find->depth_m[found];
                    nearest_m = fminf(nearest_m, find->depth_m[found]);
                    farthest_m = fmaxf(farthest_m, find->depth_m[found]);
                    count++;
                }
            }
            // What is filled stays unknown until all are done, so that it doesn't depend on their order.
            const bool inside = count >= HOLE_SIDES && farthest_m - nearest_m < body_m;
            find->cover[at] = inside ? 1 : 0;
            find->depth_m[at] = inside ? depth_m / (float)count : 0;
        }
    }
}

void motion_ground_compare(motion_find *find, const uint16_t *mm)
{
    const size_t fine_count = (size_t)find->fine_columns * find->fine_rows;
    uint64_t measured = 0;
    memset(find->valid, 0, fine_count * sizeof *find->valid);
    memset(find->covered, 0, fine_count * sizeof *find->covered);
    memset(find->sum_mm, 0, fine_count * sizeof *find->sum_mm);
    memset(find->nearest_mm, 0xff, fine_count * sizeof *find->nearest_mm);
    memset(find->farthest_mm, 0, fine_count * sizeof *find->farthest_mm);
    for (uint32_t y = 0; y < find->settings.height; y++) {
        const size_t row = (size_t)y * find->settings.width;
        compare_row(find, mm + row, find->ground_mm + row, y / find->fine_pixels);
    }
    for (size_t i = 0; i < fine_count; i++) {
        const uint32_t valid = find->valid[i], covered = find->covered[i];
        measured += valid;
        find->unknown[i] = (float)valid < valid_min * (float)(find->fine_pixels * find->fine_pixels);
        find->cover[i] = find->unknown[i] ? 0 : (float)covered / (float)valid;
        // A mean of two bodies would be a bridge between them: what is in front counts.
        const bool is_edge = find->farthest_mm[i] > find->nearest_mm[i] + EDGE_MM;
        const float mean_m = covered > 0 ? (float)find->sum_mm[i] * 0.001f / (float)covered : 0;
        find->depth_m[i] = is_edge ? (float)find->nearest_mm[i] * 0.001f : mean_m;
    }
    find->measured = (float)measured / ((float)find->settings.width * (float)find->settings.height);
    fill_holes(find);
}

void motion_ground_learn(motion_find *find, const uint16_t *mm, double dt_s)
{
    const bool learning = find->learning;
    for (uint32_t y = 0; y < find->settings.height; y++) {
        const size_t row = (size_t)y * find->settings.width;
        const size_t cells = (size_t)(y / find->fine_pixels) * find->fine_columns;
        for (uint32_t x = 0, cell = 0; x < find->settings.width; cell++) {
            const uint32_t end =
                x + find->fine_pixels < find->settings.width ? x + find->fine_pixels : find->settings.width;
            const bool is_somebody = find->who[cells + cell] != 0;
            const bool is_furniture = is_somebody && find->rest_s[cells + cell] > find->settings.rest_s;
            for (; x < end; x++) {
                const uint32_t z = mm[row + x], ground = find->ground_mm[row + x];
                uint32_t next = ground;
                if (z == 0) {
                    continue;
                }
                uint8_t *seen = &find->seen[row + x];
                const bool is_far = ground != 0 && z > ground + tolerance_mm(ground);
                if (ground == 0) {
                    *seen = (uint8_t)(is_somebody && !is_furniture ? 0 : *seen < SEEN_MIN ? *seen + 1 : SEEN_MIN);
                    next = learning || *seen == SEEN_MIN ? z : 0;
                } else if (is_far && *seen + 1 >= FAR_MIN) {
                    next = ground + ((z - ground) >> LEAVE_SHIFT);
                } else if (is_far) {
                    *seen = (uint8_t)(*seen + 1);
                } else if (z + tolerance_mm(z) >= ground) {
                    next = ground + (z > ground) - (z < ground);
                } else if (is_furniture) {
                    next = z;
                } else if (!is_somebody) {
                    next = ground - ((ground - z) >> HEAL_SHIFT) - 1;
                }
                if (next != 0 && !is_far) {
                    *seen = 0;
                }
                find->ground_mm[row + x] = (uint16_t)next;
            }
        }
    }
    find->watched_s += dt_s;
    find->learning = find->watched_s < find->settings.learn_s;
}
