// A cell's depth is the mean of what was measured in it, if that is a quarter of its pixels at least: so the sensor's
// noise hardly shows, and what the difference shows moves.
#include "server/tool/kinect/show_planes.h"

#include <stdlib.h>
#include <string.h>

/// The mean depth of a cell of `side` pixels a side; 0: too little was measured.
static uint32_t mean_mm(const show_planes *planes, const uint16_t *mm, uint32_t column, uint32_t row, uint32_t side)
{
    const uint32_t from_x = column * side, from_y = row * side;
    const uint32_t to_x = from_x + side < planes->width ? from_x + side : planes->width;
    const uint32_t to_y = from_y + side < planes->height ? from_y + side : planes->height;
    uint32_t sum_mm = 0, count = 0;
    for (uint32_t y = from_y; y < to_y; y++) {
        for (uint32_t x = from_x; x < to_x; x++) {
            const uint32_t z = mm[(size_t)y * planes->width + x];
            sum_mm += z;
            count += z != 0;
        }
    }
    return count > 0 && 4 * count >= (to_x - from_x) * (to_y - from_y) ? sum_mm / count : 0;
}

static uint8_t byte_of(uint32_t mm, uint32_t step_mm)
{
    const uint32_t steps = (mm + step_mm / 2) / step_mm;
    return (uint8_t)(steps < UINT8_MAX ? steps : UINT8_MAX);
}

void show_planes_add(show_planes *planes, const uint16_t *mm, uint32_t width, uint32_t height)
{
    const uint32_t across = (width + SHOW_COLUMNS_MAX - 1) / SHOW_COLUMNS_MAX;
    const uint32_t down = (height + SHOW_ROWS_MAX - 1) / SHOW_ROWS_MAX, side = across > down ? across : down;
    if (planes->width != width || planes->height != height) {
        memset(planes, 0, sizeof *planes);
        planes->width = width;
        planes->height = height;
        planes->columns = (width + side - 1) / side;
        planes->rows = (height + side - 1) / side;
    }
    for (uint32_t y = 0; y < planes->rows; y++) {
        for (uint32_t x = 0; x < planes->columns; x++) {
            const size_t at = (size_t)y * planes->columns + x;
            const uint32_t now = mean_mm(planes, mm, x, y, side), before = planes->before_mm[at];
            const uint32_t difference = now == 0 || before == 0 ? 0 : now > before ? now - before : before - now;
            const uint8_t depth = byte_of(now, SHOW_DEPTH_STEP_MM);
            planes->depth[at] = (uint8_t)(now != 0 && depth == 0 ? 1 : depth);
            planes->difference[at] = byte_of(difference, SHOW_DIFFERENCE_STEP_MM);
            planes->before_mm[at] = (uint16_t)now;
        }
    }
}
