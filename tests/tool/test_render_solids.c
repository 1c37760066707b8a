#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "server/tool/film/render.h"
#include <cmocka.h> // needs those above

#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 256,
    HEIGHT = 144,
    BYTES = WIDTH * HEIGHT * 3,
    PER_AXIS = 24,
    PARTICLES = PER_AXIS * PER_AXIS * PER_AXIS,
    NODES = 25,
};

static const float spacing_m = 1.0F / 48;
static const vec3 size_m = {2, 1, 1};
static const tarn_pose still = {.rotation = {0, 0, 0, 1}};

static uint8_t rgb[BYTES], other_rgb[BYTES];
static float positions_m[3 * PARTICLES], velocities_m_s[3 * PARTICLES];
static uint32_t ids[PARTICLES];

/// A ball of radius 0.2 m as a sampled distance; main fills it.
static float ball_m[NODES * NODES * NODES];
static const tarn_distance_field ball_field = {{NODES, NODES, NODES}, 0.02F, {-0.24F, -0.24F, -0.24F}, ball_m, 0.0F};

static void fill_ball(void)
{
    for (int i = 0; i < NODES * NODES * NODES; i++) {
        const vec3 p = {0.02F * (float)(i % NODES) - 0.24F, 0.02F * (float)(i / NODES % NODES) - 0.24F,
                        0.02F * (float)(i / NODES / NODES) - 0.24F};
        ball_m[i] = sqrtf(vec3_dot(p, p)) - 0.2F;
    }
}

static export_info info_of(const tarn_solid *solids, uint32_t solid_count, uint32_t threads)
{
    return (export_info){.scene = "solids",
                         .size_m = {size_m.x, size_m.y, size_m.z},
                         .spacing_m = spacing_m,
                         .frames_per_s = 30,
                         .width = WIDTH,
                         .height = HEIGHT,
                         .threads = threads,
                         .solid_count = solid_count,
                         .solids = solids,
                         .fields = &ball_field};
}

static const export_frame empty = {
    .positions_m = positions_m, .velocities_m_s = velocities_m_s, .ids = ids, .pose = {.rotation = {0, 0, 0, 1}}};

static export_frame water_at(vec3 corner_m)
{
    for (size_t i = 0; i < PARTICLES; i++) {
        positions_m[3 * i] = corner_m.x + ((float)(i % PER_AXIS) + 0.5F) * spacing_m;
        positions_m[3 * i + 1] = corner_m.y + ((float)(i / PER_AXIS % PER_AXIS) + 0.5F) * spacing_m;
        positions_m[3 * i + 2] = corner_m.z + ((float)(i / PER_AXIS / PER_AXIS) + 0.5F) * spacing_m;
    }
    export_frame frame = empty;
    frame.particle_count = PARTICLES;
    return frame;
}

static void draw(const export_info *info, const export_frame *frame, uint8_t *to)
{
    render *r = NULL;
    assert_int_equal(render_create(info, &r), TARN_OK);
    assert_int_equal(render_draw(r, frame, to), TARN_OK);
    render_destroy(r);
}

static camera room_camera(void)
{
    return camera_fit((box3){{0, 0, 0}, size_m}, false, WIDTH, HEIGHT);
}

static const uint8_t *pixel_at(const uint8_t *picture, vec3 point_m)
{
    const camera cam = room_camera();
    float x, y;
    assert_true(camera_project(&cam, point_m, &x, &y) > 0 && x >= 0 && y >= 0 && x < WIDTH && y < HEIGHT);
    return picture + 3 * ((size_t)y * WIDTH + (size_t)x);
}

static bool is_red(const uint8_t *c)
{
    return c[0] > c[2] + 30 && c[0] > c[1] + 30;
}

static bool is_blue(const uint8_t *c)
{
    return c[2] > c[0] + 25;
}

static int count_red(const uint8_t *picture)
{
    int count = 0;
    for (size_t i = 0; i < (size_t)WIDTH * HEIGHT; i++) {
        count += is_red(picture + 3 * i);
    }
    return count;
}

static tarn_solid red_ball(vec3 middle_m, float radius_m)
{
    return (tarn_solid){.shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {radius_m}},
                        .pose = {.position_m = {middle_m.x, middle_m.y, middle_m.z}, .rotation = {0, 0, 0, 1}},
                        .colour = {210, 30, 30}};
}

/// What a pixel's ray comes closest to on its way through the tank.
static float least_distance_m(const tarn_solid *solid, const camera *cam, int x, int y)
{
    const vec3 ray = vec3_normal(camera_ray(cam, (float)x + 0.5F, (float)y + 0.5F));
    const box3 tank = {{0, 0, 0}, size_m};
    double least_m = 1e9;
    float way_m, out_m;
    if (!box3_cut(&tank, cam->eye, ray, &way_m, &out_m)) {
        return 1e9F;
    }
    while (way_m < out_m) {
        const vec3 p = vec3_along(cam->eye, ray, way_m);
        const double here_m =
            tarn_shapes_distance_m(&solid->shape, &solid->pose, 1, &ball_field, (double[3]){p.x, p.y, p.z}, NULL);
        least_m = fmin(least_m, here_m);
        way_m += fmaxf(0.003F, 0.3F * (float)here_m); // slow on purpose: nothing between two steps is missed
    }
    return (float)least_m;
}

/// Every kind, turned, is red where rays meet it and nowhere else; also where it sticks out of the tank.
static void solids_are_where_their_distances_say(void **state)
{
    (void)state;
    const tarn_shape shapes[] = {
        {.kind = TARN_SHAPE_BOX, .half_m = {0.3F, 0.1F, 0.2F}},
        {.kind = TARN_SHAPE_SPHERE, .half_m = {0.25F}},
        {.kind = TARN_SHAPE_CAPSULE, .half_m = {0.1F, 0.25F}},
        {.kind = TARN_SHAPE_CYLINDER, .half_m = {0.2F, 0.15F}},
        {.kind = TARN_SHAPE_FIELD, .half_m = {1.5F}, .field = 0},
    };
    tarn_solid all = red_ball((vec3){1, 0.5F, 0.5F}, 1);
    all.shape = (tarn_shape){.kind = TARN_SHAPE_BOX, .half_m = {1, 0.5F, 0.5F}};
    const export_info full = info_of(&all, 1, 2);
    draw(&full, &empty, other_rgb); // not red in it: beside the tank, or one of its edges
    const vec3 places_m[] = {{1, 0.5F, 0.5F}, {0.4F, 0.3F, 0.7F}, {1.9F, 0.9F, 0.9F}};
    const camera cam = room_camera();
    const float pixel_m = vec3_dot(vec3_sub(cam.eye, (vec3){1, 0.5F, 0.5F}), cam.back) / cam.focal_px;
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        for (size_t i = 0; i < 3; i++) {
            tarn_solid solid = red_ball(places_m[i], 1);
            solid.shape = shapes[k];
            memcpy(solid.pose.rotation, (float[4]){0.3F, -0.4F, 0.2F, 0.8F}, sizeof solid.pose.rotation);
            const export_info info = info_of(&solid, 1, 2);
            draw(&info, &empty, rgb);
            int met = 0, missed = 0;
            for (int y = 0; y < HEIGHT; y += 3) {
                for (int x = 0; x < WIDTH; x += 3) {
                    const size_t at = 3 * ((size_t)y * WIDTH + (size_t)x);
                    const float least_m = least_distance_m(&solid, &cam, x, y);
                    const bool is_clear = fabsf(least_m) > pixel_m && (least_m > 0 || is_red(other_rgb + at));
                    met += is_clear && least_m < 0;
                    missed += is_clear && least_m > 0;
                    assert_true(!is_clear || is_red(rgb + at) == (least_m < 0));
                }
            }
            assert_true(met > 20 && missed > 1500);
        }
    }
}

static void a_solid_without_a_colour_is_grey(void **state)
{
    (void)state;
    tarn_solid solid = red_ball((vec3){1, 0.5F, 0.5F}, 0.3F);
    memset(solid.colour, 0, sizeof solid.colour);
    const export_info info = info_of(&solid, 1, 2);
    draw(&info, &empty, rgb);
    const uint8_t *c = pixel_at(rgb, (vec3){1, 0.5F, 0.5F});
    assert_true(abs(c[0] - c[2]) < 25 && c[0] > 40 && c[0] < 230);
}

/// Water before a solid tints it, water behind it is hidden.
static void solids_and_water_hide_each_other(void **state)
{
    (void)state;
    const tarn_solid behind = red_ball((vec3){1, 0.2F, 0.2F}, 0.15F), before = red_ball((vec3){1, 0.2F, 0.9F}, 0.15F);
    export_info info = info_of(&before, 1, 2);
    export_frame frame = water_at((vec3){0.75F, 0, 0.1F});
    draw(&info, &frame, rgb);
    assert_true(is_red(pixel_at(rgb, (vec3){1, 0.2F, 0.9F})));
    info = info_of(&behind, 1, 2);
    draw(&info, &empty, other_rgb);
    const int dry = count_red(other_rgb);
    assert_true(is_red(pixel_at(other_rgb, (vec3){1, 0.2F, 0.2F})));
    frame = water_at((vec3){0.75F, 0, 0.45F});
    draw(&info, &frame, rgb);
    assert_true(dry > 200 && count_red(rgb) < dry / 2);
}

/// Through thin clear water a solid is still seen.
static void solids_are_seen_through_water(void **state)
{
    (void)state;
    static uint8_t colours[3 * PARTICLES];
    memset(colours, 235, sizeof colours);
    const tarn_solid ball = red_ball((vec3){1, 0.1F, 0.2F}, 0.15F);
    const export_info info = info_of(&ball, 1, 2);
    export_frame frame = water_at((vec3){0.75F, 0, 0.45F});
    frame.colours = colours;
    draw(&info, &frame, rgb);
    frame.particle_count = 0;
    draw(&info, &frame, other_rgb);
    assert_memory_not_equal(rgb, other_rgb, BYTES);
    assert_true(count_red(rgb) > count_red(other_rgb) / 2);
}

static void bodies_are_where_the_frame_has_them(void **state)
{
    (void)state;
    const vec3 from = {0.4F, 0.5F, 0.5F}, to = {1.6F, 0.4F, 0.6F};
    tarn_solid solids[2] = {red_ball((vec3){0.2F, 0.2F, 0.2F}, 0.05F), red_ball(from, 0.2F)};
    solids[1].motion = TARN_MOTION_FREE;
    const tarn_solid moved = red_ball(to, 0.2F);
    const tarn_body_state body = {.solid = 1, .pose = moved.pose};
    export_frame frame = empty;
    const export_info info = info_of(solids, 2, 2);
    render *r = NULL;
    assert_int_equal(render_create(&info, &r), TARN_OK);
    assert_int_equal(render_draw(r, &frame, rgb), TARN_OK);
    frame.body_count = 1;
    frame.bodies = &body;
    assert_int_equal(render_draw(r, &frame, other_rgb), TARN_OK);
    assert_true(is_red(pixel_at(rgb, from)) && !is_red(pixel_at(rgb, to)));
    assert_true(!is_red(pixel_at(other_rgb, from)) && is_red(pixel_at(other_rgb, to)));
    frame.body_count = 0; // what stands still is where it was
    assert_int_equal(render_draw(r, &frame, other_rgb), TARN_OK);
    assert_memory_equal(rgb, other_rgb, BYTES);
    render_destroy(r);
}

static void a_solid_casts_a_shadow(void **state)
{
    (void)state;
    const tarn_solid ball = red_ball((vec3){1, 0.5F, 0.5F}, 0.25F);
    const export_info none = info_of(NULL, 0, 2), one = info_of(&ball, 1, 2);
    draw(&none, &empty, rgb);
    draw(&one, &empty, other_rgb);
    int darker = 0;
    for (size_t i = 0; i < BYTES; i += 3) {
        darker += !is_red(other_rgb + i) && other_rgb[i] + 15 < rgb[i];
    }
    assert_true(darker > 100);
}

/// Half a turn about y brings what is in one corner to the one across; the camera stays.
static void a_turned_tank_takes_all_along(void **state)
{
    (void)state;
    const vec3 here = {0.3F, 0.3F, 0.25F}, there = {1.7F, 0.3F, 0.75F};
    const tarn_solid ball = red_ball(here, 0.15F);
    export_info info = info_of(&ball, 1, 2);
    export_frame frame = water_at((vec3){1.5F, 0, 0});
    draw(&info, &frame, rgb);
    assert_true(is_red(pixel_at(rgb, here)) && is_blue(pixel_at(rgb, (vec3){1.75F, 0.25F, 0.25F})));
    frame.pose = (tarn_pose){.rotation = {0, 1, 0, 0}};
    draw(&info, &frame, rgb);
    assert_true(is_red(pixel_at(rgb, there)) && is_blue(pixel_at(rgb, (vec3){0.25F, 0.25F, 0.75F})));
    assert_false(is_red(pixel_at(rgb, here)));
    // Moved by 20 cm, in a picture that is large enough for that.
    frame.pose = (tarn_pose){.position_m = {0.2F, 0, 0}, .rotation = {0, 0, 0, 1}};
    draw(&info, &frame, rgb);
    assert_true(is_red(pixel_at(rgb, (vec3){here.x + 0.2F, here.y, here.z})));
    // Tilted: the whole tank is in the picture where its reach is known.
    frame.pose = (tarn_pose){.rotation = {0, 0, sinf(0.3F), cosf(0.3F)}};
    memcpy(info.reach_min_m, (float[3]){-0.2F, -0.6F, 0}, sizeof info.reach_min_m);
    memcpy(info.reach_max_m, (float[3]){2.2F, 1.6F, 1}, sizeof info.reach_max_m);
    draw(&info, &frame, other_rgb);
    assert_true(count_red(other_rgb) > 50);
    assert_memory_not_equal(rgb, other_rgb, BYTES);
}

/// One cell deep: seen from the front, so that a ball is a disc as wide as it is high, and the tank fills the picture.
static void a_flat_tank_is_seen_from_the_front(void **state)
{
    (void)state;
    const float cell_m = 2 * spacing_m;
    const tarn_solid ball = red_ball((vec3){1, 0.5F, 0.5F * cell_m}, 0.25F);
    export_info info = info_of(&ball, 1, 2);
    info.size_m[2] = cell_m;
    info.is_flat = true;
    draw(&info, &empty, rgb);
    int left = WIDTH, right = 0, top = HEIGHT, bottom = 0;
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        if (is_red(rgb + 3 * (size_t)i)) {
            left = i % WIDTH < left ? i % WIDTH : left;
            right = i % WIDTH > right ? i % WIDTH : right;
            top = i / WIDTH < top ? i / WIDTH : top;
            bottom = i / WIDTH;
        }
    }
    assert_true(abs((right - left) - (bottom - top)) <= 1);
    assert_true(abs(left + right - WIDTH) <= 2 && abs(top + bottom - HEIGHT) <= 2);
    assert_true(right - left > WIDTH * 9 / 10 / 4 - 2); // a quarter of the tank's width, which nearly is the picture's
}

/// The hollow of a container is drawn as glass: its outline shows, and the water in it does.
static void a_container_shows_its_content(void **state)
{
    (void)state;
    tarn_solid jar = red_ball((vec3){1, 0.5F, 0.5F}, 0.45F);
    jar.shape.inverted = 1;
    const export_info info = info_of(&jar, 1, 2), none = info_of(NULL, 0, 2);
    draw(&info, &empty, rgb);
    draw(&none, &empty, other_rgb);
    assert_memory_not_equal(rgb, other_rgb, BYTES);
    assert_memory_equal(pixel_at(rgb, (vec3){0.2F, 0.5F, 0.5F}), pixel_at(other_rgb, (vec3){0.2F, 0.5F, 0.5F}), 3);
    const export_frame frame = water_at((vec3){0.75F, 0.25F, 0.25F});
    draw(&info, &frame, rgb);
    assert_true(is_blue(pixel_at(rgb, (vec3){1, 0.5F, 0.5F})));
}

static void threads_make_no_difference(void **state)
{
    (void)state;
    tarn_solid solids[5];
    for (int i = 0; i < 5; i++) {
        solids[i] = red_ball((vec3){0.3F + 0.35F * (float)i, 0.3F, 0.4F + 0.1F * (float)i}, 0.16F);
    }
    solids[1].shape = (tarn_shape){.kind = TARN_SHAPE_FIELD, .half_m = {0.8F}};
    solids[2].shape.inverted = 1;
    export_frame frame = water_at((vec3){0.5F, 0, 0.2F});
    frame.pose = (tarn_pose){.rotation = {0.1F, 0.3F, 0, 0.9F}};
    export_info info = info_of(solids, 5, 1);
    draw(&info, &frame, rgb);
    for (info.threads = 2; info.threads <= 5; info.threads++) {
        draw(&info, &frame, other_rgb);
        assert_memory_equal(rgb, other_rgb, BYTES);
    }
}

/// A ray that turns back, solids that are nowhere, a tank upside down: pictures nobody would ask for, but no harm.
static void wild_poses_do_no_harm(void **state)
{
    (void)state;
    tarn_solid ball = red_ball((vec3){1, 0.5F, 0.5F}, 0.2F);
    ball.motion = TARN_MOTION_FREE;
    const export_info info = info_of(&ball, 1, 2);
    const tarn_pose wild[] = {{.position_m = {NAN, 0, 0}},
                              {.position_m = {INFINITY, 0, 0}, .rotation = {NAN, 0, 0, 1}},
                              {.position_m = {1e30F, -1e30F, 0}}};
    export_frame frame = water_at((vec3){0.5F, 0, 0.2F});
    frame.body_count = 1;
    for (size_t i = 0; i < sizeof wild / sizeof wild[0]; i++) {
        const tarn_body_state body = {.pose = wild[i]};
        frame.bodies = &body;
        frame.pose = still;
        draw(&info, &frame, rgb);
        assert_true(is_blue(pixel_at(rgb, (vec3){0.75F, 0.25F, 0.45F})));
        assert_int_equal(count_red(rgb), 0);
    }
    frame.body_count = 0;
    frame.pose = (tarn_pose){.rotation = {1, 0, 0, 0}};
    draw(&info, &frame, rgb);
    assert_true(count_red(rgb) > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solids_are_where_their_distances_say),
        cmocka_unit_test(a_solid_without_a_colour_is_grey),
        cmocka_unit_test(solids_and_water_hide_each_other),
        cmocka_unit_test(solids_are_seen_through_water),
        cmocka_unit_test(bodies_are_where_the_frame_has_them),
        cmocka_unit_test(a_solid_casts_a_shadow),
        cmocka_unit_test(a_turned_tank_takes_all_along),
        cmocka_unit_test(a_flat_tank_is_seen_from_the_front),
        cmocka_unit_test(a_container_shows_its_content),
        cmocka_unit_test(threads_make_no_difference),
        cmocka_unit_test(wild_poses_do_no_harm),
    };
    fill_ball();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
