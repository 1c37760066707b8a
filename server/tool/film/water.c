// Discs into a depth picture, smoothed along the surface, and thickness beside it: start at surface_draw.
#include "server/tool/film/water.h"
#include "server/tool/film/render.h"

#include <stdlib.h>
#include <string.h>

enum {
    BAND_ROWS = 48,
    PARTICLE_RANGE = 8192,
    CROWD_CELLS_MAX = 1 << 22,
    BALL_STEPS = 256,
    PAIRS_MAX = 32, // of samples in the filter
};

static const float CROWD_SPACINGS = 2.0f;              // edge of a cell that neighbours are counted in
static const float RADIUS_SPACINGS = 1.05f;            // of a sphere amid others: no gaps between them
static const float DROP_SPACINGS = 0.34f;              // of a lone one
static const float SIGMA_SPACINGS = 1.5f;              // of the filter
static const float RANGE_SPACINGS = 9.0f;              // a sample that far in front or behind is of another surface
static const float BEND_SPACINGS = 2.6f;               // a pair whose mean is that far off is across an edge
static const float NEAREST = 0.05f, FARTHEST = 200.0f; // of drawn particles from the eye, in diagonals of the tank

/// What a pixel of half the resolution sums up.
typedef struct inside_sums {
    float thickness_m, front_m, spray_m;
    float red_m, green_m, blue_m;
} inside_sums;

/// A particle in the picture.
typedef struct ball {
    float x_px, y_px, depth_m, radius_px, radius_m;
    float spray;
    float red, green, blue; // linear
} ball;

struct surface {
    uint32_t width, height, threads;
    vec3 size_m;
    float spacing_m;
    float *depth, *work;
    const float *solid_depth; // during surface_draw
    uint8_t *front_spray;     // of the particle that is in front of all
    inside_sums *inside, *inside_work;
    uint8_t *crowd; // particles in a cell, at most 255
    uint32_t crowd_cells[3];
    float crowd_cell_m;
    ball *balls;
    uint32_t ball_capacity;
    float ball_height[BALL_STEPS + 1]; // of a unit sphere over its disc, by the squared distance from the middle
    float linear[256];                 // from sRGB
    bool has_colour;
};

static void size_crowd(surface *s)
{
    const float size_m[3] = {s->size_m.x, s->size_m.y, s->size_m.z};
    s->crowd_cell_m = CROWD_SPACINGS * s->spacing_m;
    for (;;) {
        double cells = 1.0;
        for (int axis = 0; axis < 3; axis++) {
            s->crowd_cells[axis] = (uint32_t)fminf(1.0f + size_m[axis] / s->crowd_cell_m, 1e6f);
            cells *= s->crowd_cells[axis];
        }
        if (cells <= CROWD_CELLS_MAX) {
            return;
        }
        s->crowd_cell_m *= 1.25f;
    }
}

tarn_status surface_create(uint32_t width, uint32_t height, vec3 size_m, float spacing_m, uint32_t threads,
                           surface **out)
{
    surface *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return TARN_E_MEMORY;
    }
    *s = (surface){.width = width, .height = height, .threads = threads, .size_m = size_m, .spacing_m = spacing_m};
    size_crowd(s);
    size_t pixels = (size_t)width * height;
    s->depth = malloc(pixels * sizeof(float));
    s->work = malloc(pixels * sizeof(float));
    s->front_spray = malloc(pixels);
    s->inside = malloc(pixels / 4 * sizeof(inside_sums));
    s->inside_work = malloc(pixels / 4 * sizeof(inside_sums));
    s->crowd = malloc((size_t)s->crowd_cells[0] * s->crowd_cells[1] * s->crowd_cells[2]);
    if (s->depth == NULL || s->work == NULL || s->front_spray == NULL || s->inside == NULL || s->inside_work == NULL ||
        s->crowd == NULL) {
        surface_destroy(s);
        return TARN_E_MEMORY;
    }
    for (int i = 0; i <= BALL_STEPS; i++) {
        s->ball_height[i] = sqrtf(1.0f - (float)i / BALL_STEPS);
    }
    for (int i = 0; i < 256; i++) {
        s->linear[i] = srgb_linear((uint8_t)i);
    }
    *out = s;
    return TARN_OK;
}

void surface_destroy(surface *s)
{
    if (s != NULL) {
        free(s->depth);
        free(s->work);
        free(s->front_spray);
        free(s->inside);
        free(s->inside_work);
        free(s->crowd);
        free(s->balls);
        free(s);
    }
}

// ---- particles -> balls ----

static bool crowd_cell(const surface *s, const float *p, size_t *index)
{
    uint32_t cell[3];
    for (int axis = 0; axis < 3; axis++) {
        float at = p[axis] / s->crowd_cell_m;
        if (!(at >= 0.0f && at < (float)s->crowd_cells[axis])) {
            return false;
        }
        cell[axis] = (uint32_t)at;
    }
    *index = ((size_t)cell[2] * s->crowd_cells[1] + cell[1]) * s->crowd_cells[0] + cell[0];
    return true;
}

static void count_crowd(surface *s, const export_frame *frame)
{
    memset(s->crowd, 0, (size_t)s->crowd_cells[0] * s->crowd_cells[1] * s->crowd_cells[2]);
    for (size_t i = 0; i < frame->particle_count; i++) {
        size_t cell;
        if (crowd_cell(s, frame->positions_m + 3 * i, &cell) && s->crowd[cell] < UINT8_MAX) {
            s->crowd[cell]++;
        }
    }
}

/// 0: alone, 1: amid liquid. Of the 8 cells whose middles are around the particle.
static float crowding(const surface *s, const float *p)
{
    float sum = 0.0f;
    int low[3];
    float part[3];
    for (int axis = 0; axis < 3; axis++) {
        float at = clampf(p[axis] / s->crowd_cell_m, 0.0f, (float)s->crowd_cells[axis]) - 0.5f;
        low[axis] = (int)floorf(at);
        part[axis] = at - (float)low[axis];
    }
    for (int corner = 0; corner < 8; corner++) {
        size_t index = 0;
        float weight = 1.0f;
        for (int axis = 2; axis >= 0; axis--) {
            int up = corner >> axis & 1;
            int cell = low[axis] + up, last = (int)s->crowd_cells[axis] - 1;
            cell = cell < 0 ? 0 : cell > last ? last : cell; // a wall doesn't thin the liquid out
            weight *= up ? part[axis] : 1.0f - part[axis];
            index = index * s->crowd_cells[axis] + (size_t)cell;
        }
        sum += weight * (float)s->crowd[index];
    }
    float spacings = s->crowd_cell_m / s->spacing_m;
    return sum / (spacings * spacings * spacings);
}

typedef struct project_job {
    surface *s;
    const camera *cam;
    const export_frame *frame;
} project_job;

/// Liquids that have no colours of their own are told apart by these, sRGB; the first is the default's.
static const uint8_t liquid_colours[][3] = {{40, 130, 190}, {222, 170, 60}, {200, 70, 80}, {90, 170, 90}};

static void ball_colour(const surface *s, const export_frame *frame, size_t i, ball *b)
{
    size_t liquid = frame->liquids != NULL ? frame->liquids[i] % (sizeof liquid_colours / 3) : 0;
    const uint8_t *c = frame->scaled != NULL    ? frame->scaled + 3 * i
                       : frame->colours != NULL ? frame->colours + 3 * i
                                                : liquid_colours[liquid];
    b->red = s->linear[c[0]];
    b->green = s->linear[c[1]];
    b->blue = s->linear[c[2]];
}

/// Lone drops that lie somewhere are no spray: they are wet spots. 1 for what moves like liquid that falls.
static float flying(const surface *s, const float *v)
{
    float fall2 = 2.0f * 9.81f * s->size_m.y, speed2 = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    return speed2 < fall2 ? 0.1f + 0.9f * smoothf(0.0f, 0.03f, speed2 / fall2) : 1.0f; // 1 also for what is no number
}

static void project(void *context, uint32_t begin, uint32_t end)
{
    const project_job *job = context;
    const surface *s = job->s;
    float diagonal_m = sqrtf(vec3_dot(s->size_m, s->size_m));
    for (size_t i = begin; i < end; i++) {
        ball *b = &job->s->balls[i];
        const float *p = job->frame->positions_m + 3 * i;
        *b = (ball){.radius_px = 0.0f};
        float depth_m = camera_project(job->cam, (vec3){p[0], p[1], p[2]}, &b->x_px, &b->y_px);
        if (!(depth_m > NEAREST * diagonal_m && depth_m < FARTHEST * diagonal_m && fabsf(b->x_px) < 1e6f &&
              fabsf(b->y_px) < 1e6f)) {
            continue; // behind the eye, nowhere, or not finite
        }
        float crowd = crowding(s, p);
        float amid = smoothf(0.02f, 0.35f, crowd);
        b->depth_m = depth_m;
        b->radius_m = s->spacing_m * (DROP_SPACINGS + (RADIUS_SPACINGS - DROP_SPACINGS) * amid);
        b->radius_px = fmaxf(b->radius_m * job->cam->focal_px / depth_m, 0.75f);
        if (job->frame->scaled == NULL) { // white would hide their colours
            b->spray = (1.0f - smoothf(0.02f, 0.5f, crowd)) * flying(s, job->frame->velocities_m_s + 3 * i);
        }
        ball_colour(s, job->frame, i, b);
    }
}

// ---- balls -> depth and thickness ----

static void draw_depth(const surface *s, const ball *b, uint32_t begin, uint32_t end)
{
    int top = (int)fmaxf(ceilf(b->y_px - b->radius_px - 0.5f), (float)begin);
    int bottom = (int)fminf(floorf(b->y_px + b->radius_px - 0.5f), (float)end - 1.0f);
    int left = (int)fmaxf(ceilf(b->x_px - b->radius_px - 0.5f), 0.0f);
    int right = (int)fminf(floorf(b->x_px + b->radius_px - 0.5f), (float)s->width - 1.0f);
    float per_px = 1.0f / b->radius_px, nearest_m = b->depth_m - b->radius_m;
    for (int y = top; y <= bottom; y++) {
        float *row = s->depth + (size_t)y * s->width;
        uint8_t *spray = s->front_spray + (size_t)y * s->width;
        float dy = ((float)y + 0.5f - b->y_px) * per_px;
        for (int x = left; x <= right; x++) {
            if (row[x] <= nearest_m) {
                continue;
            }
            float dx = ((float)x + 0.5f - b->x_px) * per_px;
            float off = dx * dx + dy * dy;
            if (off < 1.0f) {
                float depth_m = b->depth_m - b->radius_m * s->ball_height[(int)(off * BALL_STEPS)];
                if (depth_m < row[x]) {
                    row[x] = depth_m;
                    spray[x] = (uint8_t)(255.0f * b->spray);
                }
            }
        }
    }
}

/// Spreads the particle's own volume, which is less than the sphere's, over the sphere's disc.
static void draw_inside(const surface *s, const ball *b, uint32_t begin, uint32_t end)
{
    float x_px = 0.5f * b->x_px, y_px = 0.5f * b->y_px, radius_px = fmaxf(0.5f * b->radius_px, 0.75f);
    uint32_t width = s->width / 2;
    int top = (int)fmaxf(ceilf(y_px - radius_px - 0.5f), (float)begin);
    int bottom = (int)fminf(floorf(y_px + radius_px - 0.5f), (float)end - 1.0f);
    int left = (int)fmaxf(ceilf(x_px - radius_px - 0.5f), 0.0f);
    int right = (int)fminf(floorf(x_px + radius_px - 0.5f), (float)width - 1.0f);
    float per_px = 1.0f / radius_px;
    float radius_m = radius_px * b->radius_m / fmaxf(0.5f * b->radius_px, 1e-6f); // that the disc stands for
    // The mean height of a unit half sphere over its disc is 2/3.
    float scale_m = s->spacing_m * s->spacing_m * s->spacing_m / (2.0944f * radius_m * radius_m);
    for (int y = top; y <= bottom; y++) {
        inside_sums *row = s->inside + (size_t)y * width;
        const float *hidden = s->solid_depth != NULL ? s->solid_depth + (size_t)2 * (size_t)y * s->width : NULL;
        float dy = ((float)y + 0.5f - y_px) * per_px;
        for (int x = left; x <= right; x++) {
            float dx = ((float)x + 0.5f - x_px) * per_px;
            float off = dx * dx + dy * dy;
            if (off < 1.0f) {
                float length_m = scale_m * s->ball_height[(int)(off * BALL_STEPS)];
                row[x].thickness_m += length_m;
                row[x].front_m += hidden == NULL || hidden[2 * x] > b->depth_m ? length_m : 0.0f;
                row[x].spray_m += length_m * b->spray;
                if (s->has_colour) {
                    row[x].red_m += length_m * b->red;
                    row[x].green_m += length_m * b->green;
                    row[x].blue_m += length_m * b->blue;
                }
            }
        }
    }
}

typedef struct band_job {
    surface *s;
    const uint32_t ball_count;
} band_job;

/// Rows of half the resolution, and the twice as many of the full one.
static void draw_band(void *context, uint32_t begin, uint32_t end)
{
    const band_job *job = context;
    surface *s = job->s;
    for (size_t i = (size_t)2 * begin * s->width; i < (size_t)2 * end * s->width; i++) {
        s->depth[i] = SURFACE_NO_DEPTH;
    }
    memset(s->inside + (size_t)begin * (s->width / 2), 0, (size_t)(end - begin) * (s->width / 2) * sizeof(inside_sums));
    for (uint32_t i = 0; i < job->ball_count; i++) {
        const ball *b = &s->balls[i];
        float reach_px = b->radius_px + 2.0f;
        if (b->radius_px > 0.0f && b->y_px + reach_px > 2.0f * (float)begin && b->y_px - reach_px < 2.0f * (float)end) {
            draw_depth(s, b, 2 * begin, 2 * end);
            draw_inside(s, b, begin, end);
        }
    }
}

// ---- smoothing ----

typedef struct filter_job {
    surface *s;
    const float *from;
    float *to;
    uint32_t stride;              // between pixels along the filter
    bool across;                  // along rows; else along columns
    float weights[PAIRS_MAX + 1]; // of a pair
    int pairs, gap_px;            // the k-th pair lies k * gap_px to each side
} filter_job;

/// Samples are taken in pairs, one on each side, so that a slope stays one. The farther the mean of a pair is from the
/// middle, the less it counts; one that is too far, or of which one sample is off the surface, ends the sum: beyond an
/// edge begins something else.
static float filter_at(const filter_job *job, const float *at, int room_px)
{
    float middle = *at, sum = middle, weight = 1.0f;
    float range_m = RANGE_SPACINGS * job->s->spacing_m, per_bend = 1.0f / (BEND_SPACINGS * job->s->spacing_m);
    int pairs = room_px / job->gap_px < job->pairs ? room_px / job->gap_px : job->pairs;
    ptrdiff_t gap = (ptrdiff_t)job->gap_px * job->stride;
    for (int k = 1; k <= pairs; k++) {
        float a = at[-k * gap], b = at[k * gap];
        float bend = (0.5f * (a + b) - middle) * per_bend;
        if (fabsf(a - middle) > range_m || fabsf(b - middle) > range_m || bend * bend >= 1.0f) {
            break;
        }
        float trust = 1.0f - bend * bend, share = 2.0f * job->weights[k] * trust * trust; // Tukey's biweight
        sum += share * 0.5f * (a + b);
        weight += share;
    }
    return sum / weight;
}

static void filter_rows(void *context, uint32_t begin, uint32_t end)
{
    const filter_job *job = context;
    uint32_t width = job->s->width, height = job->s->height;
    for (uint32_t y = begin; y < end; y++) {
        uint32_t room_y = y < height - 1 - y ? y : height - 1 - y;
        for (uint32_t x = 0; x < width; x++) {
            const float *at = job->from + (size_t)y * width + x;
            uint32_t room_x = x < width - 1 - x ? x : width - 1 - x;
            job->to[(size_t)y * width + x] =
                *at >= SURFACE_NO_DEPTH ? *at : filter_at(job, at, (int)(job->across ? room_x : room_y));
        }
    }
}

/// Both ways, with a bell curve.
static void filter(surface *s, float sigma_px, int gap_px)
{
    filter_job job = {.s = s, .gap_px = gap_px};
    job.pairs = (int)fminf(ceilf(2.2f * sigma_px / (float)gap_px), (float)PAIRS_MAX);
    for (int k = 0; k <= job.pairs; k++) {
        float off = (float)(k * gap_px) / sigma_px;
        job.weights[k] = expf(-0.5f * off * off);
    }
    job.from = s->depth;
    job.to = s->work;
    job.across = true;
    job.stride = 1;
    render_rows(s->threads, s->height, BAND_ROWS, filter_rows, &job);
    job.from = s->work;
    job.to = s->depth;
    job.across = false;
    job.stride = s->width;
    render_rows(s->threads, s->height, BAND_ROWS, filter_rows, &job);
}

/// Six samples per sigma are enough for spheres as wide as that, however many pixels they have; the last pass, over
/// all the pixels between two samples, takes away the pattern that this leaves.
static void smooth(surface *s, float spacing_px)
{
    float sigma_px = fmaxf(SIGMA_SPACINGS * spacing_px, 0.8f);
    int gap_px = (int)fmaxf(sigma_px / 6.0f, 1.0f);
    filter(s, sigma_px, gap_px);
    filter(s, sigma_px, gap_px);
    filter(s, fmaxf(0.35f * sigma_px, (float)gap_px), 1);
}

typedef struct blur_job {
    surface *s;
    const inside_sums *from;
    inside_sums *to;
    int radius_px;
    bool across; // along rows; else along columns
} blur_job;

/// Mean along one axis of what is inside: single particles, and the rows they were seeded in, must not show in it.
static void blur_rows(void *context, uint32_t begin, uint32_t end)
{
    const blur_job *job = context;
    int width = (int)job->s->width / 2, height = (int)job->s->height / 2, radius = job->radius_px;
    float share = 1.0f / (float)(2 * radius + 1);
    for (int y = (int)begin; y < (int)end; y++) {
        for (int x = 0; x < width; x++) {
            inside_sums sum = {0};
            for (int k = -radius; k <= radius; k++) {
                int xx = job->across ? x + k : x, yy = job->across ? y : y + k;
                xx = xx < 0 ? 0 : xx >= width ? width - 1 : xx;
                yy = yy < 0 ? 0 : yy >= height ? height - 1 : yy;
                const inside_sums *one = &job->from[(size_t)yy * (size_t)width + (size_t)xx];
                sum.thickness_m += one->thickness_m * share;
                sum.front_m += one->front_m * share;
                sum.spray_m += one->spray_m * share;
                if (job->s->has_colour) {
                    sum.red_m += one->red_m * share;
                    sum.green_m += one->green_m * share;
                    sum.blue_m += one->blue_m * share;
                }
            }
            job->to[(size_t)y * (size_t)width + (size_t)x] = sum;
        }
    }
}

static void blur_inside(surface *s, float spacing_px)
{
    int radius_px = (int)clampf(0.4f * spacing_px + 0.5f, 1.0f, 16.0f);
    for (int pass = 0; pass < 2; pass++) {
        blur_job across = {s, s->inside, s->inside_work, radius_px, true};
        render_rows(s->threads, s->height / 2, BAND_ROWS / 2, blur_rows, &across);
        blur_job down = {s, s->inside_work, s->inside, radius_px, false};
        render_rows(s->threads, s->height / 2, BAND_ROWS / 2, blur_rows, &down);
    }
}

// ---- a frame ----

tarn_status surface_draw(surface *s, const camera *cam, const export_frame *frame, const float *solid_depth)
{
    if (frame->particle_count > s->ball_capacity) {
        ball *balls = realloc(s->balls, frame->particle_count * sizeof *balls);
        if (balls == NULL) {
            return TARN_E_MEMORY;
        }
        s->balls = balls;
        s->ball_capacity = frame->particle_count;
    }
    s->has_colour = frame->colours != NULL || frame->liquids != NULL || frame->scaled != NULL;
    s->solid_depth = solid_depth;
    count_crowd(s, frame);
    project_job particles = {s, cam, frame};
    render_rows(s->threads, frame->particle_count, PARTICLE_RANGE, project, &particles);
    band_job bands = {s, frame->particle_count};
    render_rows(s->threads, s->height / 2, BAND_ROWS / 2, draw_band, &bands);
    // In the tank's middle; nearer and farther liquid is filtered as if it were there.
    float distance_m = camera_project(cam, vec3_scale(s->size_m, 0.5f), &(float){0}, &(float){0});
    float spacing_px = s->spacing_m * cam->focal_px / distance_m;
    smooth(s, spacing_px);
    blur_inside(s, spacing_px);
    return TARN_OK;
}

const float *surface_depth(const surface *s)
{
    return s->depth;
}

surface_inside surface_look(const surface *s, uint32_t x, uint32_t y)
{
    const inside_sums *sums = &s->inside[(size_t)(y / 2) * (s->width / 2) + x / 2];
    surface_inside look = {.thickness_m = sums->thickness_m, .front_m = sums->front_m, .has_colour = s->has_colour};
    if (s->depth[(size_t)y * s->width + x] < SURFACE_NO_DEPTH) {
        look.drop = smoothf(0.3f, 0.85f, (float)s->front_spray[(size_t)y * s->width + x] / 255.0f);
    }
    if (sums->thickness_m > 0.0f) {
        float per_m = 1.0f / sums->thickness_m;
        look.spray = sums->spray_m * per_m;
        look.colour = (vec3){sums->red_m * per_m, sums->green_m * per_m, sums->blue_m * per_m};
    }
    return look;
}
