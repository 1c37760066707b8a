// The wall's unit square -> mirrored, turned -> the camera's picture, by a homography where corners are given: P.
// Heckbert, "Fundamentals of texture mapping and image warping", 1989, section 2.2.3. Its derivative at each cell tells
// what a velocity in the picture is on the wall.
#include "server/tool/kinect/motion_wall.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    VELOCITY_STEP = 4,   ///< of 127: runs of equal bytes code well, and nobody sees a 32nd of the fastest
    VELOCITY_STEPS = 31, ///< to the largest byte
    OUTLIERS_OF = 50,    ///< one cell in so many may be faster than the largest byte says
    PRESENCE_STEP = 32,  ///< of 255
};

static const float speed_least_m_s = 0.5f; ///< for 127, so that noise isn't spread over all steps
static const float speed_most_m_s = 100;

typedef struct wall_cell {
    float x, y;      ///< in the picture, pixels; negative: outside
    float matrix[4]; ///< pixels a second right and down -> m/s along across and up
    float scale;     ///< the same of what has no direction, always positive
    float away_sign; ///< of what goes away from the camera, across the wall
} wall_cell;

struct motion_wall {
    motion_wall_settings settings;
    wall_cell cells[];
};

/// Of the unit square, with v down, onto four corners.
typedef struct homography {
    float a, b, c, d, e, f, g, h;
} homography;

static float turn_of(const float p[2], const float q[2], const float r[2])
{
    return (q[0] - p[0]) * (r[1] - q[1]) - (q[1] - p[1]) * (r[0] - q[0]);
}

bool motion_wall_corners_fit(const float *corners)
{
    int rights = 0, lefts = 0;
    for (int i = 0; i < 4; i++) {
        const float turn = turn_of(corners + 2 * i, corners + 2 * ((i + 1) % 4), corners + 2 * ((i + 2) % 4));
        rights += turn > 1;
        lefts += turn < -1;
    }
    return rights == 4 || lefts == 4;
}

static homography square_to(const float *corners)
{
    const float *p0 = corners, *p1 = corners + 2, *p2 = corners + 4, *p3 = corners + 6;
    const float dx1 = p1[0] - p2[0], dx2 = p3[0] - p2[0], sx = p0[0] - p1[0] + p2[0] - p3[0];
    const float dy1 = p1[1] - p2[1], dy2 = p3[1] - p2[1], sy = p0[1] - p1[1] + p2[1] - p3[1];
    const float area = dx1 * dy2 - dx2 * dy1;
    homography m;
    m.g = (sx * dy2 - dx2 * sy) / area;
    m.h = (dx1 * sy - sx * dy1) / area;
    m.a = p1[0] - p0[0] + m.g * p1[0];
    m.b = p3[0] - p0[0] + m.h * p3[0];
    m.c = p0[0];
    m.d = p1[1] - p0[1] + m.g * p1[1];
    m.e = p3[1] - p0[1] + m.h * p3[1];
    m.f = p0[1];
    return m;
}

/// A place on the wall, s to the right and t up, 0..1, in the picture.
static void to_picture(const motion_wall_settings *settings, const homography *m, float s, float t, float at[2])
{
    float u = settings->mirror ? 1 - s : s, v = 1 - t;
    for (uint32_t i = 0; i < settings->turns; i++) { // back, a quarter at a time
        const float before = u;
        u = v;
        v = 1 - before;
    }
    const float w = m->g * u + m->h * v + 1;
    at[0] = (m->a * u + m->b * v + m->c) / w;
    at[1] = (m->d * u + m->e * v + m->f) / w;
}

static void place_cell(const motion_wall_settings *settings, const homography *m, float s, float t, wall_cell *cell)
{
    const float small = 1e-3f;
    float left[2], right[2], below[2], above[2], here[2];
    to_picture(settings, m, s, t, here);
    to_picture(settings, m, s - small, t, left);
    to_picture(settings, m, s + small, t, right);
    to_picture(settings, m, s, t - small, below);
    to_picture(settings, m, s, t + small, above);
    // Pixels right and down for a step along across and along up.
    const float xs = (right[0] - left[0]) / (2 * small), ys = (right[1] - left[1]) / (2 * small);
    const float xt = (above[0] - below[0]) / (2 * small), yt = (above[1] - below[1]) / (2 * small);
    const float area = xs * yt - xt * ys;
    const bool inside = here[0] >= 0 && here[1] >= 0 && here[0] <= (float)settings->width &&
                        here[1] <= (float)settings->height && fabsf(area) > 1e-3f;
    cell->x = inside ? here[0] : -1;
    cell->y = here[1];
    if (!inside) {
        return;
    }
    cell->matrix[0] = settings->across_m * yt / area;
    cell->matrix[1] = -settings->across_m * xt / area;
    cell->matrix[2] = -settings->up_m * ys / area;
    cell->matrix[3] = settings->up_m * xs / area;
    cell->scale = sqrtf(settings->across_m * settings->up_m / fabsf(area));
    // In a picture that isn't mirrored, down is against up: the area is negative, and what goes away from the camera
    // goes into the tank. Mirrored, the camera looks out of it.
    cell->away_sign = area < 0 ? -1 : 1;
}

motion_wall *motion_wall_make(const motion_wall_settings *settings)
{
    const float width = (float)settings->width, height = (float)settings->height;
    const float all[8] = {0, 0, width, 0, width, height, 0, height};
    if (settings->has_corners && !motion_wall_corners_fit(&settings->corners[0][0])) {
        return NULL;
    }
    const homography m = square_to(settings->has_corners ? &settings->corners[0][0] : all);
    motion_wall *wall = calloc(1, sizeof *wall + (size_t)settings->columns * settings->rows * sizeof *wall->cells);
    if (wall == NULL) {
        return NULL;
    }
    wall->settings = *settings;
    for (uint32_t y = 0; y < settings->rows; y++) {
        for (uint32_t x = 0; x < settings->columns; x++) {
            place_cell(settings, &m, ((float)x + 0.5f) / (float)settings->columns,
                       ((float)y + 0.5f) / (float)settings->rows, &wall->cells[(size_t)y * settings->columns + x]);
        }
    }
    return wall;
}

void motion_wall_free(motion_wall *wall)
{
    free(wall);
}

/// What is at a place of the picture: presence, and m/s on the wall along its edges and across it.
static void sample(const wall_cell *cell, const motion_result *result, float value[4])
{
    const float x = cell->x / result->cell_pixels - 0.5f, y = cell->y / result->cell_pixels - 0.5f;
    const float left = floorf(x), top = floorf(y);
    float presence = 0, motion[3] = {0}, depth_m = 0;
    memset(value, 0, 4 * sizeof *value);
    for (int i = 0; i < 4; i++) {
        const float cx = left + (float)(i % 2), cy = top + (float)(i / 2);
        if (cx < 0 || cy < 0 || cx >= (float)result->columns || cy >= (float)result->rows) {
            continue;
        }
        const size_t at = (size_t)cy * result->columns + (size_t)cx;
        const float weight = (1 - fabsf(x - cx)) * (1 - fabsf(y - cy)) * result->presence[at];
        presence += weight;
        depth_m += weight * result->depth_m[at];
        for (int k = 0; k < 3; k++) {
            motion[k] += weight * result->velocity[3 * at + (size_t)k];
        }
    }
    if (presence < 0.02f || depth_m <= 0) {
        return;
    }
    // A metre a second there is so many pixels a second; the sums' weights cancel.
    const float pixels = result->focal_pixels / depth_m;
    const float right = motion[0] * pixels, down = -motion[1] * pixels;
    value[0] = presence;
    value[1] = cell->matrix[0] * right + cell->matrix[1] * down;
    value[2] = cell->matrix[2] * right + cell->matrix[3] * down;
    value[3] = cell->away_sign * cell->scale * motion[2] * pixels;
}

/// Of a cell that holds nobody nothing is said.
static bool cell_value(const motion_wall *wall, const motion_result *result, size_t i, float value[4])
{
    if (wall->cells[i].x < 0) {
        return false;
    }
    sample(&wall->cells[i], result, value);
    return lroundf(value[0] * 255 / PRESENCE_STEP) > 0;
}

static float speed_of(const float value[4])
{
    return fmaxf(fabsf(value[1]), fmaxf(fabsf(value[2]), fabsf(value[3])));
}

/// The speed that the largest byte stands for: that of the fastest cells but for a few, which a noisy camera makes much
/// faster than all others, who would then seem to rest.
static float speed_for(const motion_wall *wall, const motion_result *result, size_t count)
{
    enum { CLASSES = 128 };
    uint32_t of_class[CLASSES] = {0}, moving = 0, faster = 0;
    float fastest = 0, value[4];
    for (size_t i = 0; i < count; i++) {
        fastest = cell_value(wall, result, i, value) ? fmaxf(fastest, speed_of(value)) : fastest;
    }
    for (size_t i = 0; i < count && fastest > speed_least_m_s; i++) {
        if (cell_value(wall, result, i, value)) {
            const uint32_t class = (uint32_t)(speed_of(value) / fastest * (CLASSES - 1));
            of_class[class]++;
            moving += speed_of(value) > 0;
        }
    }
    uint32_t top = CLASSES;
    while (top > 1 && faster + of_class[top - 1] <= moving / OUTLIERS_OF) {
        faster += of_class[--top];
    }
    return fminf(fmaxf(fastest * (float)top / CLASSES, speed_least_m_s), speed_most_m_s);
}

static uint8_t step_of(float value, float fastest_m_s)
{
    const float steps = roundf(value / fastest_m_s * VELOCITY_STEPS);
    return (uint8_t)(int8_t)(VELOCITY_STEP * (int)fminf(fmaxf(steps, -VELOCITY_STEPS), VELOCITY_STEPS));
}

size_t motion_wall_planes(const motion_wall *wall, const motion_result *result, uint8_t *planes, float *speed_m_s)
{
    const size_t count = (size_t)wall->settings.columns * wall->settings.rows;
    const float fastest_m_s = speed_for(wall, result, count);
    size_t moving = 0;
    float value[4];
    memset(planes, 0, 4 * count);
    *speed_m_s = fastest_m_s * 127 / (VELOCITY_STEPS * VELOCITY_STEP);
    for (size_t i = 0; i < count; i++) {
        if (!cell_value(wall, result, i, value)) {
            continue;
        }
        const int presence = PRESENCE_STEP * (int)lroundf(value[0] * 255 / PRESENCE_STEP);
        planes[i] = (uint8_t)(presence < 255 ? presence : 255);
        for (size_t k = 1; k < 4; k++) {
            planes[k * count + i] = step_of(value[k], fastest_m_s);
        }
        moving += (planes[count + i] | planes[2 * count + i] | planes[3 * count + i]) != 0;
    }
    return moving;
}
