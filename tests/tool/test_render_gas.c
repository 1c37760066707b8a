#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "server/tool/film/gas.h"
#include "server/tool/film/render.h"
#include "server/tool/film/water.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 320, HEIGHT = 180, PIXELS = WIDTH * HEIGHT, BYTES = PIXELS * 3, PER_AXIS = 24 };
enum { COUNT_MAX = PER_AXIS * PER_AXIS * PER_AXIS };

static const vec3 size_m = {2, 1, 1};
static const float cell_m = 1.0F / 24;
static const vec3 lamp = {0, 1, 0}; // straight above

static float positions_m[3 * COUNT_MAX], velocities_m_s[3 * COUNT_MAX];
static uint32_t ids[COUNT_MAX];
static uint8_t colours[3 * COUNT_MAX];
static uint8_t rgb[BYTES], other_rgb[BYTES], empty_rgb[BYTES];

static export_info info_of(export_drawing drawing, uint32_t threads)
{
    return (export_info){.scene = "puffs",
                         .size_m = {size_m.x, size_m.y, size_m.z},
                         .cells = {48, 24, 24},
                         .cell_m = cell_m,
                         .spacing_m = 0.5F * cell_m,
                         .frames_per_s = 30,
                         .width = WIDTH,
                         .height = HEIGHT,
                         .threads = threads,
                         .drawing = drawing};
}

static export_frame frame_of(uint32_t count)
{
    return (export_frame){.particle_count = count,
                          .positions_m = positions_m,
                          .velocities_m_s = velocities_m_s,
                          .ids = ids,
                          .pose = {.rotation = {0, 0, 0, 1}}};
}

/// A block of half a metre each way in the tank's middle, with so many particles along each edge.
static export_frame block_of(uint32_t per_axis)
{
    const float gap_m = 0.5F / (float)per_axis;
    const uint32_t count = per_axis * per_axis * per_axis;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t at[3] = {i % per_axis, i / per_axis % per_axis, i / per_axis / per_axis};
        const float from_m[3] = {0.75F, 0.25F, 0.25F};
        for (int axis = 0; axis < 3; axis++) {
            positions_m[3 * i + (uint32_t)axis] = from_m[axis] + ((float)at[axis] + 0.5F) * gap_m;
        }
    }
    return frame_of(count);
}

static void draw(export_drawing drawing, const export_frame *frame, uint32_t threads, uint8_t *to)
{
    const export_info info = info_of(drawing, threads);
    render *r = NULL;
    assert_int_equal(render_create(&info, &r), TARN_OK);
    assert_int_equal(render_draw(r, frame, to), TARN_OK);
    render_destroy(r);
}

static camera front(void)
{
    return camera_fit((box3){{0, 0, 0}, size_m}, false, WIDTH, HEIGHT);
}

/// What is seen through a point of the tank, drawn alone.
static gas_seen seen_at(export_drawing drawing, const export_frame *frame, vec3 point, const float *solid_depth)
{
    const export_info info = info_of(drawing, 2);
    const camera cam = front();
    gas *g = NULL;
    float x, y;
    assert_int_equal(gas_create(&info, WIDTH, HEIGHT, 1, 2, &g), TARN_OK);
    assert_int_equal(gas_draw(g, &cam, frame, lamp, solid_depth), TARN_OK);
    camera_project(&cam, point, &x, &y);
    const gas_seen seen = gas_look(g, (uint32_t)x, (uint32_t)y);
    gas_destroy(g);
    return seen;
}

static int change_at(int i)
{
    int change = 0;
    for (int c = 0; c < 3; c++) {
        const int one = abs(rgb[3 * i + c] - empty_rgb[3 * i + c]);
        change = one > change ? one : change;
    }
    return change;
}

/// The steepest step from a pixel to the next, as a share of the most that any pixel shows of it: 1 is a hard edge.
static double hardness(export_drawing drawing, const export_frame *frame)
{
    const export_frame none = frame_of(0);
    draw(drawing, &none, 2, empty_rgb);
    draw(drawing, frame, 2, rgb);
    int most = 0, step = 0;
    for (int i = 0; i < PIXELS; i++) {
        const int change = change_at(i), next = (i + 1) % WIDTH > 0 ? change_at(i + 1) : change;
        most = change > most ? change : most;
        step = abs(change - next) > step ? abs(change - next) : step;
    }
    assert_true(most > 20);
    return (double)step / most;
}

static void a_puff_is_softer_than_a_drop(void **state)
{
    (void)state;
    // As dense as water is: of lone particles drops are smaller than a pixel.
    export_frame frame = block_of(12);
    for (uint32_t i = 0; i < 3 * frame.particle_count; i++) {
        const float middle_m = i % 3 == 0 ? 1.0F : 0.5F;
        positions_m[i] = middle_m + 0.5F * (positions_m[i] - middle_m);
    }
    const double drop = hardness(EXPORT_WATER, &frame);
    const double smoke = hardness(EXPORT_SMOKE, &frame), dye = hardness(EXPORT_DYE, &frame);
    assert_true(smoke < 0.25 && smoke < 0.6 * drop);
    assert_true(dye < 0.25 && dye < 0.6 * drop);
}

/// Most of a lone puff's disc takes less than three quarters of what its middle takes.
static void a_puff_has_no_rim(void **state)
{
    (void)state;
    const export_info info = info_of(EXPORT_SMOKE, 1);
    const export_frame frame = block_of(1);
    const camera cam = front();
    gas *g = NULL;
    assert_int_equal(gas_create(&info, WIDTH, HEIGHT, 1, 1, &g), TARN_OK);
    assert_int_equal(gas_draw(g, &cam, &frame, lamp, NULL), TARN_OK);
    float most = 0;
    int covered = 0, partly = 0;
    for (uint32_t i = 0; i < PIXELS; i++) {
        most = fmaxf(most, 1 - gas_look(g, i % WIDTH, i / WIDTH).through.y);
    }
    for (uint32_t i = 0; i < PIXELS; i++) {
        const float taken = 1 - gas_look(g, i % WIDTH, i / WIDTH).through.y;
        covered += taken > 0.01F * most;
        partly += taken > 0.01F * most && taken < 0.75F * most;
    }
    gas_destroy(g);
    assert_true(most > 0.001F && covered > 100 && partly > covered / 2);
}

/// And the more there is of it the less of what is behind is seen, and the darker it gets below.
static void denser_is_more_opaque(void **state)
{
    (void)state;
    float before = 1.0F;
    for (uint32_t per_axis = 6; per_axis <= 24; per_axis *= 2) {
        export_frame frame = block_of(per_axis);
        const float through = seen_at(EXPORT_SMOKE, &frame, (vec3){1, 0.5F, 0.5F}, NULL).through.y;
        assert_true(through > 0.0F && through < 0.6F * before);
        before = through;
    }
}

static void smoke_shadows_itself(void **state)
{
    (void)state;
    const export_frame thin = block_of(8);
    const vec3 above = {1, 0.7F, 0.5F}, below = {1, 0.3F, 0.5F};
    const float gap_thin =
        seen_at(EXPORT_SMOKE, &thin, above, NULL).light.y / seen_at(EXPORT_SMOKE, &thin, below, NULL).light.y;
    const export_frame thick = block_of(24);
    const float gap_thick =
        seen_at(EXPORT_SMOKE, &thick, above, NULL).light.y / seen_at(EXPORT_SMOKE, &thick, below, NULL).light.y;
    assert_true(gap_thin > 1.0F && gap_thick > 1.2F * gap_thin);
}

/// Dye takes what its colour leaves over, smoke takes all of it.
static void dye_lets_its_colour_through(void **state)
{
    (void)state;
    export_frame frame = block_of(12);
    for (size_t i = 0; i < frame.particle_count; i++) {
        memcpy(colours + 3 * i, (uint8_t[3]){230, 40, 40}, 3);
    }
    frame.colours = colours;
    const vec3 middle = {1, 0.5F, 0.5F};
    const gas_seen dye = seen_at(EXPORT_DYE, &frame, middle, NULL);
    assert_true(dye.through.x > 4 * dye.through.y && dye.through.x > 4 * dye.through.z);
    const gas_seen smoke = seen_at(EXPORT_SMOKE, &frame, middle, NULL);
    assert_true(smoke.through.x < 1.5F * smoke.through.y && smoke.light.x > 4 * smoke.light.y);
}

/// Near puffs are laid over far ones, whatever their order.
static void what_is_before_hides_what_is_behind(void **state)
{
    (void)state;
    export_frame frame = block_of(24);
    frame.colours = colours;
    const float *toward = (const float[3]){0.25F, 0.25F, 0.5F}; // the camera is at the right, the front and above
    float light[2];
    for (int near_is_red = 0; near_is_red < 2; near_is_red++) {
        for (size_t i = 0; i < frame.particle_count; i++) {
            const float *p = positions_m + 3 * i;
            const float off = (p[0] - 1.0F) * toward[0] + (p[1] - 0.5F) * toward[1] + (p[2] - 0.5F) * toward[2];
            const bool is_red = (off > 0) == (near_is_red == 1);
            memcpy(colours + 3 * i, is_red ? (uint8_t[3]){230, 20, 20} : (uint8_t[3]){20, 20, 230}, 3);
        }
        const gas_seen seen = seen_at(EXPORT_SMOKE, &frame, (vec3){1, 0.5F, 0.5F}, NULL);
        light[near_is_red] = seen.light.x / seen.light.z;
    }
    assert_true(light[1] > 4.0F && light[0] < 0.25F);
}

static void solids_hide_what_is_behind(void **state)
{
    (void)state;
    static float solid_depth[PIXELS];
    const export_frame frame = block_of(12);
    const vec3 middle = {1, 0.5F, 0.5F};
    const camera cam = front();
    const float middle_m = camera_project(&cam, middle, &(float){0}, &(float){0});
    float through[3];
    for (int k = 0; k < 3; k++) { // before it, amid it, behind it
        for (int i = 0; i < PIXELS; i++) {
            solid_depth[i] = middle_m + 0.8F * (float)(k - 1);
        }
        through[k] = seen_at(EXPORT_SMOKE, &frame, middle, solid_depth).through.y;
    }
    const float open = seen_at(EXPORT_SMOKE, &frame, middle, NULL).through.y;
    assert_true(through[0] == 1.0F && fabsf(through[2] - open) < 1e-6F);
    assert_true(through[1] > 1.5F * open && through[1] < 0.9F);
}

static void threads_and_frames_before_make_no_difference(void **state)
{
    (void)state;
    export_frame frame = block_of(16);
    for (size_t i = 0; i < (size_t)3 * frame.particle_count; i++) {
        colours[i] = (uint8_t)(i * 37 % 251);
    }
    frame.colours = colours;
    draw(EXPORT_SMOKE, &frame, 1, rgb);
    for (uint32_t threads = 2; threads <= 4; threads++) {
        draw(EXPORT_SMOKE, &frame, threads, other_rgb);
        assert_memory_equal(rgb, other_rgb, BYTES);
    }
    const export_info info = info_of(EXPORT_SMOKE, 2);
    render *r = NULL;
    assert_int_equal(render_create(&info, &r), TARN_OK);
    export_frame fewer = frame;
    fewer.particle_count = 100;
    assert_int_equal(render_draw(r, &fewer, other_rgb), TARN_OK);
    assert_memory_not_equal(rgb, other_rgb, BYTES);
    assert_int_equal(render_draw(r, &frame, other_rgb), TARN_OK);
    render_destroy(r);
    assert_memory_equal(rgb, other_rgb, BYTES);
}

/// Particles that are nowhere, or out of the tank, are left out.
static void wild_particles_do_no_harm(void **state)
{
    (void)state;
    export_frame frame = block_of(8);
    draw(EXPORT_SMOKE, &frame, 2, rgb);
    const float wild[][3] = {{NAN, 0, 0}, {0, INFINITY, 0}, {-INFINITY, 0, 0}, {1e30F, 1e30F, 1e30F}, {0, 0, 1e6F}};
    memcpy(positions_m + (size_t)3 * frame.particle_count, wild, sizeof wild);
    velocities_m_s[3 * frame.particle_count] = NAN;
    frame.particle_count += sizeof wild / sizeof wild[0];
    draw(EXPORT_SMOKE, &frame, 2, other_rgb);
    velocities_m_s[3 * block_of(8).particle_count] = 0;
    assert_memory_equal(rgb, other_rgb, BYTES);
    // Nor do particles without any inside.
    memcpy(positions_m, wild, sizeof wild);
    frame.particle_count = 5;
    draw(EXPORT_DYE, &frame, 2, rgb);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_puff_is_softer_than_a_drop), cmocka_unit_test(a_puff_has_no_rim),
        cmocka_unit_test(denser_is_more_opaque),        cmocka_unit_test(smoke_shadows_itself),
        cmocka_unit_test(dye_lets_its_colour_through),  cmocka_unit_test(what_is_before_hides_what_is_behind),
        cmocka_unit_test(solids_hide_what_is_behind),   cmocka_unit_test(threads_and_frames_before_make_no_difference),
        cmocka_unit_test(wild_particles_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
