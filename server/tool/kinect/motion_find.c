// The stages in their order, and what of the flow people get to see: velocities in metres a second, blurred over time,
// without what is slower than noise. Start at motion_find_frame.
#include "server/tool/kinect/motion_find.h"
#include "protocol/assert.h"
#include "server/tool/kinect/motion_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MARGIN = 2, ///< cells around people in which motion is looked for
    PARENTS = 4097,
    SOFTENINGS = 3,
    PACE_OF = 8,   ///< pictures that the mean pace is of
    CALM_BLUR = 2, ///< half-lives that what hardly moves is blurred for besides
};

static const double gap_s_max = 1.0;
static const float active_min = 0.1f; ///< presence in a cell in which motion is looked for

static const float shown_min = 0.15f; ///< presence in a cell whose motion is shown: less is mostly background

const motion_settings motion_settings_usual = {
    .width = 640,
    .height = 480,
    .view_deg = 57,
    .near_m = 0.5f,
    .far_m = 4.0f,
    .dead_zone_m_s = 0.1f,
    .half_life_s = 0.02f,
    .learn_s = 1.0f,
    .rest_s = 60,
};

static uint32_t fine_pixels_of(uint32_t width)
{
    const uint32_t pixels = (width + MOTION_FINE_ACROSS - 1) / MOTION_FINE_ACROSS;
    return pixels > 0 ? pixels : 1;
}

void motion_find_size(uint32_t width, uint32_t height, uint32_t *columns, uint32_t *rows)
{
    const uint32_t pixels = 2 * fine_pixels_of(width);
    *columns = (width + pixels - 1) / pixels;
    *rows = (height + pixels - 1) / pixels;
}

static void *zeros(bool *whole, size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);
    *whole &= memory != NULL;
    return memory;
}

static void make_picture(motion_picture *picture, bool *whole, size_t fine_count, size_t count)
{
    picture->cover = zeros(whole, fine_count, sizeof(float));
    picture->depth_m = zeros(whole, fine_count, sizeof(float));
    picture->cell_cover = zeros(whole, count, sizeof(float));
    picture->cell_depth_m = zeros(whole, count, sizeof(float));
}

static void free_picture(motion_picture *picture)
{
    free(picture->cover);
    free(picture->depth_m);
    free(picture->cell_cover);
    free(picture->cell_depth_m);
}

static bool take_memory(motion_find *find)
{
    const size_t pixels = (size_t)find->settings.width * find->settings.height;
    const size_t fine = (size_t)find->fine_columns * find->fine_rows, cells = (size_t)find->columns * find->rows;
    bool whole = true;
    find->ground_mm = zeros(&whole, pixels, sizeof *find->ground_mm);
    find->seen = zeros(&whole, pixels, sizeof *find->seen);
    find->valid = zeros(&whole, fine, sizeof *find->valid);
    find->covered = zeros(&whole, fine, sizeof *find->covered);
    find->sum_mm = zeros(&whole, fine, sizeof *find->sum_mm);
    find->nearest_mm = zeros(&whole, fine, sizeof *find->nearest_mm);
    find->farthest_mm = zeros(&whole, fine, sizeof *find->farthest_mm);
    find->cover = zeros(&whole, fine, sizeof *find->cover);
    find->depth_m = zeros(&whole, fine, sizeof *find->depth_m);
    find->unknown = zeros(&whole, fine, sizeof *find->unknown);
    find->part = zeros(&whole, fine, sizeof *find->part);
    find->soft = zeros(&whole, fine, sizeof(float));
    find->who = zeros(&whole, fine, sizeof *find->who);
    find->rest_s = zeros(&whole, fine, sizeof *find->rest_s);
    find->parents = zeros(&whole, PARENTS, sizeof *find->parents);
    make_picture(&find->now, &whole, fine, cells);
    make_picture(&find->before, &whole, fine, cells);
    find->flow = zeros(&whole, 3 * cells, sizeof(float));
    find->tensor = zeros(&whole, 9 * cells, sizeof(float));
    find->smooth = zeros(&whole, 9 * cells, sizeof(float));
    find->inverse = zeros(&whole, 6 * cells, sizeof(float));
    find->spin = zeros(&whole, cells, sizeof(float));
    find->bond = zeros(&whole, 2 * cells, sizeof(float));
    find->cost = zeros(&whole, cells, sizeof(float));
    find->best = zeros(&whole, cells, sizeof(float));
    find->sums = zeros(&whole, cells, sizeof(float));
    find->active = zeros(&whole, cells, sizeof(bool));
    find->motion = zeros(&whole, 3 * cells, sizeof(float));
    find->motion_before = zeros(&whole, 3 * cells, sizeof(float));
    find->velocity = zeros(&whole, 3 * cells, sizeof(float));
    find->presence = zeros(&whole, cells, sizeof(float));
    find->kept_depth_m = zeros(&whole, cells, sizeof(float));
    find->person = zeros(&whole, cells, sizeof *find->person);
    find->was_active = zeros(&whole, cells, sizeof(bool));
    return whole;
}

motion_find *motion_find_make(const motion_settings *settings)
{
    TARN_ASSERT(settings->width >= 64 && settings->width <= 1280 && settings->height >= 64 && settings->height <= 1024);
    TARN_ASSERT(settings->view_deg >= 10 && settings->view_deg <= 120);
    TARN_ASSERT(settings->near_m >= 0.2f && settings->near_m < settings->far_m && settings->far_m <= 10);
    motion_find *find = calloc(1, sizeof *find);
    if (find == NULL) {
        return NULL;
    }
    find->settings = *settings;
    find->fine_pixels = fine_pixels_of(settings->width);
    motion_find_size(settings->width, settings->height, &find->columns, &find->rows);
    find->fine_columns = 2 * find->columns;
    find->fine_rows = 2 * find->rows;
    find->focal_pixels = 0.5f * (float)settings->width / tanf(settings->view_deg * 0.5f * 0.017453293f);
    find->learning = settings->learn_s > 0;
    if (!take_memory(find)) {
        motion_find_free(find);
        return NULL;
    }
    find->result = (motion_result){.columns = find->columns,
                                   .rows = find->rows,
                                   .cell_pixels = 2 * (float)find->fine_pixels,
                                   .focal_pixels = find->focal_pixels,
                                   .presence = find->presence,
                                   .velocity = find->velocity,
                                   .depth_m = find->kept_depth_m,
                                   .person = find->person};
    return find;
}

void motion_find_limit(motion_find *find, float near_m, float far_m, float dead_zone_m_s)
{
    TARN_ASSERT(near_m >= 0.2f && near_m < far_m && far_m <= 10 && dead_zone_m_s >= 0);
    find->settings.near_m = near_m;
    find->settings.far_m = far_m;
    find->settings.dead_zone_m_s = dead_zone_m_s;
}

void motion_find_free(motion_find *find)
{
    if (find == NULL) {
        return;
    }
    free_picture(&find->now);
    free_picture(&find->before);
    void *const memory[] = {find->ground_mm,  find->seen,          find->valid,    find->covered,  find->sum_mm,
                            find->nearest_mm, find->farthest_mm,   find->cover,    find->depth_m,  find->unknown,
                            find->soft,       find->part,          find->who,      find->rest_s,   find->parents,
                            find->flow,       find->tensor,        find->smooth,   find->inverse,  find->spin,
                            find->bond,       find->cost,          find->best,     find->sums,     find->active,
                            find->motion,     find->motion_before, find->velocity, find->presence, find->kept_depth_m,
                            find->person,     find->was_active};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++) {
        free(memory[i]);
    }
    free(find);
}

/// Two by two fine cells, and where people are in them.
static void draw_cells(motion_find *find)
{
    const size_t fine_columns = find->fine_columns;
    for (uint32_t y = 0; y < find->rows; y++) {
        for (uint32_t x = 0; x < find->columns; x++) {
            const size_t at = (size_t)y * find->columns + x, first = 2 * (y * fine_columns + x);
            const size_t four[4] = {first, first + 1, first + fine_columns, first + fine_columns + 1};
            float cover = 0, depth_m = 0, weight = 0;
            uint8_t person = 0;
            for (int i = 0; i < 4; i++) {
                const float part = find->now.depth_m[four[i]] > 0 ? find->now.cover[four[i]] : 0;
                cover += 0.25f * find->now.cover[four[i]];
                depth_m += part * find->now.depth_m[four[i]];
                weight += part;
                person = find->who[four[i]] != 0 ? find->who[four[i]] : person;
            }
            find->now.cell_cover[at] = cover;
            find->now.cell_depth_m[at] = weight > 0 ? depth_m / weight : 0;
            find->person[at] = person;
            find->active[at] = person != 0 && cover >= active_min && weight > 0;
        }
    }
}

/// One pass of 1 2 1 along rows or columns; `step` is the distance between neighbours.
static void soften_line(float *values, size_t count, size_t step)
{
    float before = values[0];
    for (size_t i = 0; i < count; i++) {
        const float here = values[i * step], after = i + 1 < count ? values[(i + 1) * step] : here;
        values[i * step] = 0.25f * before + 0.5f * here + 0.25f * after;
        before = here;
    }
}

static void soften(float *values, size_t columns, size_t rows)
{
    for (size_t y = 0; y < rows; y++) {
        soften_line(values + y * columns, columns, 1);
    }
    for (size_t x = 0; x < columns; x++) {
        soften_line(values + x, rows, columns);
    }
}

/// Softens the fine picture: edges that tremble by a pixel are then quieter, and slopes that can be followed. Depth is
/// that of people alone, also a little beside them.
static void soften_picture(motion_find *find)
{
    const size_t fine_count = (size_t)find->fine_columns * find->fine_rows;
    float *weight = find->soft, *cover = find->now.cover, *depth_m = find->now.depth_m;
    for (size_t at = 0; at < fine_count; at++) {
        weight[at] = depth_m[at] > 0 ? cover[at] : 0;
        depth_m[at] *= weight[at];
    }
    for (int pass = 0; pass < SOFTENINGS; pass++) {
        soften(cover, find->fine_columns, find->fine_rows);
        soften(weight, find->fine_columns, find->fine_rows);
        soften(depth_m, find->fine_columns, find->fine_rows);
    }
    for (size_t at = 0; at < fine_count; at++) {
        depth_m[at] = weight[at] > 0.2f ? depth_m[at] / weight[at] : 0;
    }
}

/// A box around people of both frames. @return whether there are any
static bool find_box(motion_find *find)
{
    motion_box box = {find->columns, find->rows, 0, 0};
    for (uint32_t y = 0; y < find->rows; y++) {
        for (uint32_t x = 0; x < find->columns; x++) {
            const size_t at = (size_t)y * find->columns + x;
            if (find->active[at] || find->before.cell_cover[at] > 0) {
                box.from_x = x < box.from_x ? x : box.from_x;
                box.from_y = y < box.from_y ? y : box.from_y;
                box.to_x = x >= box.to_x ? x + 1 : box.to_x;
                box.to_y = y >= box.to_y ? y + 1 : box.to_y;
            }
        }
    }
    if (box.to_x == 0) {
        find->box = (motion_box){0};
        return false;
    }
    find->box.from_x = box.from_x > MARGIN ? box.from_x - MARGIN : 0;
    find->box.from_y = box.from_y > MARGIN ? box.from_y - MARGIN : 0;
    find->box.to_x = box.to_x + MARGIN < find->columns ? box.to_x + MARGIN : find->columns;
    find->box.to_y = box.to_y + MARGIN < find->rows ? box.to_y + MARGIN : find->rows;
    return true;
}

/// Motion of the frame before at a place between cells, of cells that had people. @return whether there were any
static bool sample_motion(const motion_find *find, float x, float y, float motion[3])
{
    const float left = floorf(x), top = floorf(y);
    float sum = 0;
    motion[0] = motion[1] = motion[2] = 0;
    for (int i = 0; i < 4; i++) {
        const float cx = left + (float)(i % 2), cy = top + (float)(i / 2);
        const float weight = (1 - fabsf(x - cx)) * (1 - fabsf(y - cy));
        if (cx < 0 || cy < 0 || cx >= (float)find->columns || cy >= (float)find->rows) {
            continue;
        }
        const size_t at = (size_t)cy * find->columns + (size_t)cx;
        if (find->was_active[at]) {
            for (int k = 0; k < 3; k++) {
                motion[k] += weight * find->motion_before[3 * at + (size_t)k];
            }
            sum += weight;
        }
    }
    for (int k = 0; k < 3 && sum > 0; k++) {
        motion[k] /= sum;
    }
    return sum > 0.25f;
}

/// The share of the motion before that stays. What hardly moves is blurred for longer: there noise is most of it, and
/// nobody sees that it comes late.
static float kept(const motion_find *find, double dt_s, const float before[3], const float now[3])
{
    const float b = before[0] * before[0] + before[1] * before[1], n = now[0] * now[0] + now[1] * now[1];
    const float calm_m_s = 1.2f * find->settings.dead_zone_m_s, ratio = fmaxf(b, n) / fmaxf(calm_m_s * calm_m_s, 1e-6f);
    const float half_life_s = find->settings.half_life_s * (1 + CALM_BLUR / (1 + ratio * ratio));
    return half_life_s > 0 ? exp2f(-(float)dt_s / half_life_s) : 0;
}

/// Takes the flow over into velocities. They are blurred over time, along with what moves: an arm's motion is averaged
/// with that of the same arm, where it was before. Where nobody is nothing moves: what was stirred there goes on by
/// itself.
static void blur(motion_find *find, double dt_s, bool flows)
{
    const size_t count = (size_t)find->columns * find->rows;
    memcpy(find->motion_before, find->motion, 3 * count * sizeof *find->motion);
    for (size_t at = 0; at < count; at++) {
        float *motion = find->motion + 3 * at;
        if (flows && find->active[at]) {
            const float fine_m = (float)find->fine_pixels * find->now.cell_depth_m[at] / find->focal_pixels;
            const float scale = fine_m / (float)dt_s, *flow = find->flow + 3 * at;
            const float now[3] = {scale * flow[0], -scale * flow[1], 2 * scale * flow[2]};
            float before[3];
            const float x = (float)(at % find->columns) - 0.5f * flow[0];
            const float y = (float)(at / find->columns) - 0.5f * flow[1];
            const float keep = sample_motion(find, x, y, before) ? kept(find, dt_s, before, now) : 0;
            for (int i = 0; i < 3; i++) {
                motion[i] = keep * before[i] + (1 - keep) * now[i];
            }
        } else {
            motion[0] = motion[1] = motion[2] = 0;
        }
        find->kept_depth_m[at] = find->active[at] ? find->now.cell_depth_m[at] : find->kept_depth_m[at];
    }
    memcpy(find->was_active, find->active, count * sizeof *find->active);
}

/// What is shown of the motion.
static void show(motion_find *find)
{
    const float dead = find->settings.dead_zone_m_s;
    memset(find->moves, 0, sizeof find->moves);
    for (size_t at = 0; at < (size_t)find->columns * find->rows; at++) {
        const float *motion = find->motion + 3 * at;
        float *velocity = find->velocity + 3 * at;
        const float along = sqrtf(motion[0] * motion[0] + motion[1] * motion[1]);
        // A pixel is the longer the farther it is, and a step of depth the deeper.
        const float z = find->kept_depth_m[at], dead_along = dead * fmaxf(1, 0.45f * z);
        const float dead_away = dead * fmaxf(1, 0.5f * z * z);
        const bool shown = find->now.cell_cover[at] >= shown_min;
        const bool moves = shown && along >= dead_along, goes = shown && fabsf(motion[2]) >= dead_away;
        velocity[0] = moves ? motion[0] : 0;
        velocity[1] = moves ? motion[1] : 0;
        velocity[2] = goes ? motion[2] : 0;
        find->presence[at] = find->active[at] ? find->now.cell_cover[at] : 0;
        if (find->active[at] && (moves || goes)) {
            find->moves[find->person[at] - 1] = true;
        }
    }
}

/// How long each fine cell has been somebody's who doesn't move.
static void count_rest(motion_find *find, double dt_s)
{
    for (size_t at = 0; at < (size_t)find->fine_columns * find->fine_rows; at++) {
        const uint8_t who = find->who[at];
        find->rest_s[at] = who != 0 && !find->moves[who - 1] ? find->rest_s[at] + (float)dt_s : 0;
    }
}

const motion_result *motion_find_frame(motion_find *find, const uint16_t *mm, double time_s)
{
    const double passed_s = find->has_before ? time_s - find->before_s : 0;
    const bool follows = passed_s > 0 && passed_s <= gap_s_max;
    // A stamp that came late makes the next way to it short, and would make speeds of it that nobody has.
    const double dt_s = follows ? fmax(passed_s, 0.5 * find->pace_s) : 0;
    find->pace_s += follows ? (passed_s - find->pace_s) / (find->pace_s > 0 ? PACE_OF : 1) : 0;

    motion_ground_compare(find, mm);
    if (find->learning) {
        memset(find->cover, 0, (size_t)find->fine_columns * find->fine_rows * sizeof *find->cover);
    }
    motion_people_find(find);
    draw_cells(find);
    soften_picture(find);
    const bool flows = find_box(find) && follows;
    if (flows) {
        motion_flow_find(find);
    }
    blur(find, follows ? dt_s : 1, flows);
    show(find);
    count_rest(find, dt_s);
    motion_ground_learn(find, mm, dt_s);

    const motion_picture picture = find->before;
    find->before = find->now;
    find->now = picture;
    find->before_s = time_s;
    find->has_before = true;
    find->result.person_count = find->person_count;
    memcpy(find->result.people, find->people, sizeof find->people);
    find->result.learning = find->learning;
    find->result.measured = find->measured;
    return &find->result;
}
