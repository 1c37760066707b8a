#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "server/tool/film/render.h"
#include "server/tool/film/water.h"
#include <cmocka.h> // needs those above

#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 320,
    HEIGHT = 180,
    PER_AXIS = 24,
    COUNT_MAX = PER_AXIS * PER_AXIS * PER_AXIS,
    WILD_MAX = 8,
    BYTES = WIDTH * HEIGHT * 3
};

static const float spacing_m = 1.0F / 48;
static const vec3 size_m = {2, 1, 1};

static float positions_m[3 * COUNT_MAX], velocities_m_s[3 * (COUNT_MAX + WILD_MAX)];
static uint32_t ids[COUNT_MAX];
static uint8_t colours[3 * COUNT_MAX], liquids[COUNT_MAX];
static uint8_t rgb[BYTES], other_rgb[BYTES];

static export_info info_of(uint32_t threads)
{
    return (export_info){.scene = "block",
                         .size_m = {size_m.x, size_m.y, size_m.z},
                         .spacing_m = spacing_m,
                         .frames_per_s = 30,
                         .width = WIDTH,
                         .height = HEIGHT,
                         .threads = threads};
}

/// A block of half a metre each way, at a corner.
static export_frame block_at(float x_m)
{
    for (size_t i = 0; i < COUNT_MAX; i++) {
        positions_m[3 * i] = x_m + ((float)(i % PER_AXIS) + 0.5F) * spacing_m;
        positions_m[3 * i + 1] = ((float)(i / PER_AXIS % PER_AXIS) + 0.5F) * spacing_m;
        positions_m[3 * i + 2] = ((float)(i / PER_AXIS / PER_AXIS) + 0.5F) * spacing_m;
        ids[i] = (uint32_t)(3 * i);
    }
    return (export_frame){
        .particle_count = COUNT_MAX, .positions_m = positions_m, .velocities_m_s = velocities_m_s, .ids = ids};
}

static void draw(const export_frame *frame, uint32_t threads, uint8_t *to)
{
    const export_info info = info_of(threads);
    render *r = NULL;
    assert_int_equal(render_create(&info, &r), TARN_OK);
    assert_int_equal(render_draw(r, frame, to), TARN_OK);
    render_destroy(r);
}

static int blueness(const uint8_t *picture, int x, int y)
{
    const uint8_t *c = picture + 3 * (y * WIDTH + x);
    return c[2] - c[0];
}

/// How near a pixel is to a projected particle: 2 at one, 1 in the neighbourhood, 0 far from all.
static void mark(const export_frame *frame, uint8_t *marks)
{
    enum { NEAR_PX = 12 };
    const camera cam = camera_fit((box3){{0, 0, 0}, size_m}, false, WIDTH, HEIGHT);
    memset(marks, 0, WIDTH * HEIGHT);
    for (size_t i = 0; i < frame->particle_count; i++) {
        const float *p = frame->positions_m + 3 * i;
        float x, y;
        assert_true(camera_project(&cam, (vec3){p[0], p[1], p[2]}, &x, &y) > 0);
        for (int dy = -NEAR_PX; dy <= NEAR_PX; dy++) {
            for (int dx = -NEAR_PX; dx <= NEAR_PX; dx++) {
                const int xx = (int)x + dx, yy = (int)y + dy;
                if (xx >= 0 && yy >= 0 && xx < WIDTH && yy < HEIGHT) {
                    uint8_t *m = &marks[yy * WIDTH + xx];
                    *m = dx == 0 && dy == 0 ? 2 : *m == 0 ? 1 : *m;
                }
            }
        }
    }
}

static void water_is_where_particles_are(void **state)
{
    (void)state;
    static uint8_t marks[WIDTH * HEIGHT];
    const float places_m[] = {0.0F, 0.75F, 1.5F};
    for (size_t k = 0; k < 3; k++) {
        const export_frame frame = block_at(places_m[k]);
        draw(&frame, 2, rgb);
        mark(&frame, marks);
        int there = 0, blue_there = 0, far = 0, blue_far = 0;
        for (int i = 0; i < WIDTH * HEIGHT; i++) {
            const bool blue = blueness(rgb, i % WIDTH, i / WIDTH) > 25;
            there += marks[i] == 2;
            blue_there += marks[i] == 2 && blue;
            far += marks[i] == 0;
            blue_far += marks[i] == 0 && blue;
        }
        assert_true(there > 1000 && far > 20000);
        // Glints may be white, and a shadow is tinted.
        assert_true(blue_there > there * 95 / 100);
        assert_true(blue_far < far / 50);
    }
}

static void the_whole_tank_is_in_the_picture(void **state)
{
    (void)state;
    const float shapes[][3] = {{1, 1, 1}, {10, 1, 1}, {1, 10, 1}, {0.01F, 0.02F, 0.5F}, {200, 3, 100}};
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        const vec3 size = {shapes[k][0], shapes[k][1], shapes[k][2]};
        const camera cam = camera_fit((box3){{0, 0, 0}, size}, k % 2 == 0, WIDTH, HEIGHT);
        float min_x = 1e9F, max_x = -1e9F, min_y = 1e9F, max_y = -1e9F;
        for (int corner = 0; corner < 8; corner++) {
            const vec3 point = {corner & 1 ? size.x : 0, corner & 2 ? size.y : 0, corner & 4 ? size.z : 0};
            float x, y;
            assert_true(camera_project(&cam, point, &x, &y) > 0);
            min_x = fminf(min_x, x);
            max_x = fmaxf(max_x, x);
            min_y = fminf(min_y, y);
            max_y = fmaxf(max_y, y);
        }
        assert_true(min_x > 0 && max_x < WIDTH && min_y > 0 && max_y < HEIGHT);
        assert_true(max_x - min_x > 0.8F * WIDTH || max_y - min_y > 0.8F * HEIGHT);
    }
}

/// Rays are the inverse of the projection.
static void a_ray_leads_back_to_its_point(void **state)
{
    (void)state;
    const camera cam = camera_fit((box3){{0, 0, 0}, size_m}, false, WIDTH, HEIGHT);
    for (int i = 0; i < 100; i++) {
        const vec3 point = {0.02F * (float)i, 0.01F * (float)(i * 7 % 100), 0.01F * (float)(i * 13 % 100)};
        float x, y;
        const float depth_m = camera_project(&cam, point, &x, &y);
        const vec3 back = vec3_along(cam.eye, camera_ray(&cam, x, y), depth_m);
        const vec3 off = vec3_sub(back, point);
        assert_true(vec3_dot(off, off) < 1e-9F);
    }
}

/// The block's top and its front, as flat as it is, where it is; nothing beside it. Twice: the second frame is drawn
/// over the first.
static void the_surface_lies_on_the_particles(void **state)
{
    (void)state;
    surface *s = NULL;
    assert_int_equal(surface_create(WIDTH, HEIGHT, size_m, spacing_m, 2, &s), TARN_OK);
    const camera cam = camera_fit((box3){{0, 0, 0}, size_m}, false, WIDTH, HEIGHT);
    for (int k = 0; k < 2; k++) {
        const float x_m = 1.0F - (float)k;
        const export_frame frame = block_at(x_m);
        assert_int_equal(surface_draw(s, &cam, &frame, NULL), TARN_OK);
        const vec3 on_it[] = {{x_m + 0.25F, 0.5F, 0.25F}, {x_m + 0.25F, 0.25F, 0.5F}, {x_m + 0.1F, 0.5F, 0.3F}};
        for (size_t i = 0; i < 3; i++) {
            float x, y;
            const float depth_m = camera_project(&cam, on_it[i], &x, &y);
            const float found_m = surface_depth(s)[(int)y * WIDTH + (int)x];
            assert_true(fabsf(found_m - depth_m) < 2.5F * spacing_m);
        }
        float x, y;
        camera_project(&cam, (vec3){1.25F - x_m, 0.25F, 0.25F}, &x, &y);
        assert_true(surface_depth(s)[(int)y * WIDTH + (int)x] >= SURFACE_NO_DEPTH);
        // Straight through the middle of the block, from the front to the back.
        const float depth_m = camera_project(&cam, (vec3){x_m + 0.25F, 0.25F, 0.25F}, &x, &y);
        const vec3 view = vec3_normal(camera_ray(&cam, x, y));
        const float through_m = 0.5F / fmaxf(fabsf(view.y), fmaxf(fabsf(view.x), fabsf(view.z)));
        const float thickness_m = surface_look(s, (uint32_t)x, (uint32_t)y).thickness_m;
        assert_true(depth_m > 0 && fabsf(thickness_m / through_m - 1) < 0.15F);
    }
    surface_destroy(s);
}

static void pictures_differ_when_particles_do(void **state)
{
    (void)state;
    export_frame frame = block_at(0);
    draw(&frame, 2, rgb);
    frame = block_at(0.1F);
    draw(&frame, 2, other_rgb);
    assert_memory_not_equal(rgb, other_rgb, BYTES);
    frame.particle_count = 0;
    draw(&frame, 2, other_rgb);
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        assert_true(blueness(other_rgb, i % WIDTH, i / WIDTH) < 25);
    }
}

static void threads_make_no_difference(void **state)
{
    (void)state;
    const export_frame frame = block_at(0.3F);
    draw(&frame, 1, rgb);
    for (uint32_t threads = 2; threads <= 5; threads++) {
        draw(&frame, threads, other_rgb);
        assert_memory_equal(rgb, other_rgb, BYTES);
    }
}

/// One renderer draws frames of changing size as fresh ones do.
static void a_frame_leaves_no_trace(void **state)
{
    (void)state;
    const export_info info = info_of(2);
    render *r = NULL;
    assert_int_equal(render_create(&info, &r), TARN_OK);
    export_frame frame = block_at(0.5F);
    frame.particle_count = 1000;
    assert_int_equal(render_draw(r, &frame, other_rgb), TARN_OK);
    frame.particle_count = COUNT_MAX;
    assert_int_equal(render_draw(r, &frame, other_rgb), TARN_OK);
    frame.particle_count = 3000;
    assert_int_equal(render_draw(r, &frame, other_rgb), TARN_OK);
    render_destroy(r);
    draw(&frame, 2, rgb);
    assert_memory_equal(rgb, other_rgb, BYTES);
}

static void colours_and_liquids_tint(void **state)
{
    (void)state;
    export_frame frame = block_at(0.75F);
    for (size_t i = 0; i < COUNT_MAX; i++) {
        memcpy(colours + 3 * i, (uint8_t[3]){220, 40, 40}, 3);
        liquids[i] = 1;
    }
    const camera cam = camera_fit((box3){{0, 0, 0}, size_m}, false, WIDTH, HEIGHT);
    float x, y;
    camera_project(&cam, (vec3){1, 0.25F, 0.25F}, &x, &y);
    draw(&frame, 2, rgb);
    assert_true(blueness(rgb, (int)x, (int)y) > 40);
    frame.colours = colours;
    draw(&frame, 2, rgb);
    assert_true(blueness(rgb, (int)x, (int)y) < -40);
    frame.colours = NULL;
    frame.liquids = liquids;
    draw(&frame, 2, rgb);
    assert_true(blueness(rgb, (int)x, (int)y) < -20);
}

/// Particles that are nowhere, or far out of the picture, are left out.
static void wild_particles_do_no_harm(void **state)
{
    (void)state;
    export_frame frame = block_at(0.5F);
    draw(&frame, 2, rgb);
    const float wild[][3] = {{NAN, 0, 0},           {0, INFINITY, 0}, {-INFINITY, 0, 0},
                             {1e30F, 1e30F, 1e30F}, {0, 0, 1e6F},     {0, 1e4F, 0}};
    enum { WILD = sizeof wild / sizeof wild[0] };
    static float with_m[3 * (COUNT_MAX + WILD)];
    memcpy(with_m, positions_m, sizeof positions_m);
    memcpy(with_m + 3 * (size_t)COUNT_MAX, wild, sizeof wild);
    frame.positions_m = with_m;
    for (size_t i = 0; i < 3; i++) {
        velocities_m_s[3 * COUNT_MAX + i] = NAN;
    }
    frame.particle_count = COUNT_MAX + WILD;
    draw(&frame, 2, other_rgb);
    assert_memory_equal(rgb, other_rgb, BYTES);
}

static void sizes_are_checked(void **state)
{
    (void)state;
    const uint32_t wrong[] = {0, 15, 4097};
    for (size_t i = 0; i < 3; i++) {
        export_info info = info_of(1);
        info.width = wrong[i];
        render *r = NULL;
        assert_int_equal(render_create(&info, &r), TARN_E_ARGUMENT);
        info = info_of(1);
        info.height = wrong[i];
        assert_int_equal(render_create(&info, &r), TARN_E_ARGUMENT);
        assert_null(r);
    }
    render_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(water_is_where_particles_are),      cmocka_unit_test(the_whole_tank_is_in_the_picture),
        cmocka_unit_test(a_ray_leads_back_to_its_point),     cmocka_unit_test(the_surface_lies_on_the_particles),
        cmocka_unit_test(pictures_differ_when_particles_do), cmocka_unit_test(threads_make_no_difference),
        cmocka_unit_test(a_frame_leaves_no_trace),           cmocka_unit_test(colours_and_liquids_tint),
        cmocka_unit_test(wild_particles_do_no_harm),         cmocka_unit_test(sizes_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
