// The liquid's surface as a mesh: closed, where the particles end, of their volume, normals outwards.
#include "server/tool/film/liquid.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const float SPACING_M = 0.025f; // two in a cell
enum { PARTICLES_MAX = 1 << 18 };

typedef struct liquid {
    float size_m[3];
    uint32_t count;
    float positions_m[3 * PARTICLES_MAX], velocities_m_s[3 * PARTICLES_MAX];
    uint8_t colours[3 * PARTICLES_MAX];
} liquid;

static liquid water;

static float shake(void)
{
    static uint32_t seed = 7;
    seed = seed * 1664525U + 1013904223U;
    return (float)(seed >> 8) / (float)(1 << 24) - 0.5f;
}

static void add(float x, float y, float z)
{
    assert_true(water.count < PARTICLES_MAX);
    float *p = water.positions_m + 3 * water.count;
    p[0] = x;
    p[1] = y;
    p[2] = z;
    water.count++;
}

static void empty_tank(float x, float y, float z)
{
    memset(&water, 0, sizeof water);
    memcpy(water.size_m, (float[]){x, y, z}, sizeof water.size_m);
}

/// Particles as a scene's block has them, each moved by up to half of `jitter` spacings along each axis.
static void fill(bool (*is_in)(float x, float y, float z), float jitter)
{
    for (float z = 0.5f * SPACING_M; z < water.size_m[2]; z += SPACING_M) {
        for (float y = 0.5f * SPACING_M; y < water.size_m[1]; y += SPACING_M) {
            for (float x = 0.5f * SPACING_M; x < water.size_m[0]; x += SPACING_M) {
                const float off = jitter * SPACING_M;
                if (is_in(x, y, z)) {
                    add(x + off * shake(), y + off * shake(), z + off * shake());
                }
            }
        }
    }
}

static mesh surface_of_water(uint32_t detail, uint32_t threads)
{
    const export_info info = {
        .spacing_m = SPACING_M, .size_m = {water.size_m[0], water.size_m[1], water.size_m[2]}, .threads = threads};
    const export_frame frame = {.particle_count = water.count,
                                .positions_m = water.positions_m,
                                .velocities_m_s = water.velocities_m_s,
                                .colours = water.colours};
    mesh_liquid *l = NULL;
    mesh m;
    assert_int_equal(mesh_liquid_create(&info, detail, &l), TARN_OK);
    assert_int_equal(mesh_liquid_make(l, &frame, &m), TARN_OK);
    mesh_liquid_destroy(l);
    return m;
}

static int compare_u64(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/// Every edge is walked once, and once in the opposite direction.
static void assert_closed(const mesh *m)
{
    const size_t edges = (size_t)3 * m->triangle_count;
    uint64_t *walked = malloc((2 * edges + 1) * sizeof *walked), *back = walked + edges;
    for (size_t i = 0; i < edges; i++) {
        const uint64_t from = m->triangles[i], to = m->triangles[i % 3 == 2 ? i - 2 : i + 1];
        assert_true(from < m->vertex_count && from != to);
        walked[i] = from << 32 | to;
        back[i] = to << 32 | from;
    }
    qsort(walked, edges, sizeof *walked, compare_u64);
    qsort(back, edges, sizeof *back, compare_u64);
    assert_memory_equal(walked, back, edges * sizeof *walked);
    for (size_t i = 1; i < edges; i++) {
        assert_true(walked[i] != walked[i - 1]);
    }
    free(walked);
}

static double volume_m3(const mesh *m)
{
    double sum = 0.0;
    for (size_t i = 0; i < m->triangle_count; i++) {
        const float *a = m->positions_m + (size_t)3 * m->triangles[3 * i];
        const float *b = m->positions_m + (size_t)3 * m->triangles[3 * i + 1];
        const float *c = m->positions_m + (size_t)3 * m->triangles[3 * i + 2];
        sum += (double)a[0] * (b[1] * c[2] - b[2] * c[1]) + (double)a[1] * (b[2] * c[0] - b[0] * c[2]) +
               (double)a[2] * (b[0] * c[1] - b[1] * c[0]);
    }
    return sum / 6.0;
}

static double volume_of_water_m3(void)
{
    return water.count * pow((double)SPACING_M, 3.0);
}

static void assert_volume(const mesh *m, double allowed)
{
    const double off = volume_m3(m) / volume_of_water_m3() - 1.0;
    print_message("volume off by %.2f %%, %u triangles\n", 100.0 * off, m->triangle_count);
    assert_true(fabs(off) < allowed);
}

// ---- shapes of water ----

static bool in_block(float x, float y, float z)
{
    return x > 0.3f && x < 0.8f && y > 0.3f && y < 0.7f && z > 0.25f && z < 0.75f;
}

static bool in_layer(float x, float y, float z)
{
    (void)x;
    (void)z;
    return y < 0.4f;
}

static bool in_ball(float x, float y, float z)
{
    return (x - 0.5f) * (x - 0.5f) + (y - 0.5f) * (y - 0.5f) + (z - 0.5f) * (z - 0.5f) < 0.3f * 0.3f;
}

static bool in_two_sheets(float x, float y, float z)
{
    (void)x;
    (void)z;
    return y < 0.2f || (y > 0.2f + 3.0f * SPACING_M && y < 0.5f);
}

static void test_block(void **state)
{
    (void)state;
    for (uint32_t detail = MESH_DETAIL_MIN; detail <= MESH_DETAIL_MAX; detail++) {
        for (int jittered = 0; jittered < 2; jittered++) {
            empty_tank(1.0f, 1.0f, 1.0f);
            fill(in_block, jittered ? 1.0f : 0.0f);
            mesh m = surface_of_water(detail, 2);
            assert_closed(&m);
            assert_volume(&m, 0.03);
            mesh_free(&m);
        }
    }
}

/// A layer on the floor, from wall to wall: its walls are the tank's, its top is where its particles end.
static void test_layer(void **state)
{
    (void)state;
    for (uint32_t detail = MESH_DETAIL_MIN; detail <= MESH_DETAIL_MAX; detail++) {
        empty_tank(1.0f, 1.0f, 0.75f);
        fill(in_layer, 0.6f);
        mesh m = surface_of_water(detail, 2);
        assert_closed(&m);
        assert_volume(&m, 0.03);
        float most_m = 0.0f;
        double sum2 = 0.0, normals = 0.0;
        size_t tops = 0;
        for (size_t v = 0; v < m.vertex_count; v++) {
            const float *p = m.positions_m + 3 * v, *n = m.normals + 3 * v;
            assert_true(p[0] >= 0.0f && p[0] <= 1.0f && p[1] >= 0.0f && p[2] >= 0.0f && p[2] <= 0.75f);
            const float side_m = fminf(fminf(p[0], 1.0f - p[0]), fminf(p[2], 0.75f - p[2]));
            if (p[1] > 0.2f && side_m > 2.0f * SPACING_M) {
                most_m = fmaxf(most_m, fabsf(p[1] - 0.4f));
                sum2 += (double)(p[1] - 0.4f) * (p[1] - 0.4f);
                normals += (double)n[1];
                tops++;
            } else if (p[1] < 0.2f) {
                assert_true(fminf(side_m, p[1]) < 0.3f * SPACING_M); // nothing within the liquid
            }
        }
        assert_true(most_m < 0.5f * SPACING_M); // a quarter of a cell
        assert_true(normals / (double)tops > 0.97);
        print_message("top off by at most %.3f spacings, rms %.3f, normals' mean %.4f\n", (double)(most_m / SPACING_M),
                      sqrt(sum2 / (double)tops) / (double)SPACING_M, normals / (double)tops);
        mesh_free(&m);
    }
}

static void test_ball(void **state)
{
    (void)state;
    for (uint32_t detail = MESH_DETAIL_MIN; detail <= MESH_DETAIL_MAX; detail++) {
        empty_tank(1.0f, 1.0f, 1.0f);
        fill(in_ball, 0.6f);
        mesh m = surface_of_water(detail, 2);
        assert_closed(&m);
        assert_volume(&m, 0.03);
        float most_m = 0.0f;
        double normals = 0.0;
        uint32_t inwards = 0; // a few, in the folds of a rough surface
        for (size_t v = 0; v < m.vertex_count; v++) {
            const float *p = m.positions_m + 3 * v, *n = m.normals + 3 * v;
            const float r[3] = {p[0] - 0.5f, p[1] - 0.5f, p[2] - 0.5f};
            const float far_m = sqrtf(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]);
            most_m = fmaxf(most_m, fabsf(far_m - 0.3f));
            assert_true(fabsf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2] - 1.0f) < 1e-4f);
            const float outwards = (r[0] * n[0] + r[1] * n[1] + r[2] * n[2]) / far_m;
            normals += (double)outwards;
            inwards += outwards < 0.0f ? 1 : 0;
        }
        print_message("ball off by at most %.3f spacings, normals' mean %.4f\n", (double)(most_m / SPACING_M),
                      normals / m.vertex_count);
        assert_true(normals / m.vertex_count > 0.93);
        assert_true(inwards <= m.vertex_count / 1000);
        assert_true(most_m < SPACING_M); // half a cell
        mesh_free(&m);
    }
}

/// Drops keep their volume wherever they are between the nodes, and both of two sheets near each other are seen.
static void test_few(void **state)
{
    (void)state;
    for (uint32_t detail = 2; detail <= MESH_DETAIL_MAX; detail++) {
        empty_tank(1.0f, 1.0f, 1.0f);
        for (int i = 0; i < 64; i++) {
            const float at[3] = {0.15f + 0.2f * (float)(i % 4), 0.15f + 0.2f * (float)(i / 4 % 4),
                                 0.15f + 0.2f * (float)(i / 16)};
            add(at[0] + SPACING_M * shake(), at[1] + SPACING_M * shake(), at[2] + SPACING_M * shake());
        }
        mesh m = surface_of_water(detail, 1);
        assert_closed(&m);
        assert_int_equal(m.vertex_count - m.triangle_count / 2, 2 * 64); // Euler's number, of 64 spheres
        assert_volume(&m, 0.15);
        mesh_free(&m);
    }
    empty_tank(0.5f, 1.0f, 0.5f);
    fill(in_two_sheets, 0.5f);
    mesh m = surface_of_water(MESH_DETAIL, 2);
    assert_closed(&m);
    assert_int_equal(m.vertex_count - m.triangle_count / 2, 2 * 2);
    assert_volume(&m, 0.03);
    mesh_free(&m);
}

static void test_random(void **state)
{
    (void)state;
    for (uint32_t detail = MESH_DETAIL_MIN; detail <= MESH_DETAIL_MAX; detail++) {
        empty_tank(0.4f, 0.3f, 0.5f);
        for (int i = 0; i < 400; i++) { // where nodes have every sign
            add(0.4f * (shake() + 0.5f), 0.3f * (shake() + 0.5f), 0.5f * (shake() + 0.5f));
        }
        mesh one = surface_of_water(detail, 1), many = surface_of_water(detail, 5);
        assert_closed(&one);
        assert_true(one.triangle_count > 1000);
        for (size_t v = 0; v < one.vertex_count; v++) { // every vertex is near a particle
            float nearest_m = INFINITY;
            for (size_t i = 0; i < water.count; i++) {
                const float *p = one.positions_m + 3 * v, *q = water.positions_m + 3 * i;
                const float x = p[0] - q[0], y = p[1] - q[1], z = p[2] - q[2];
                nearest_m = fminf(nearest_m, x * x + y * y + z * z);
            }
            assert_true(nearest_m < 1.5f * SPACING_M * 1.5f * SPACING_M);
        }
        assert_int_equal(one.vertex_count, many.vertex_count);
        assert_int_equal(one.triangle_count, many.triangle_count);
        assert_memory_equal(one.positions_m, many.positions_m, (size_t)one.vertex_count * 3 * sizeof(float));
        assert_memory_equal(one.normals, many.normals, (size_t)one.vertex_count * 3 * sizeof(float));
        assert_memory_equal(one.triangles, many.triangles, (size_t)one.triangle_count * 3 * sizeof(uint32_t));
        mesh_free(&one);
        mesh_free(&many);
    }
}

static void test_nothing(void **state)
{
    (void)state;
    empty_tank(1.0f, 1.0f, 1.0f);
    mesh m = surface_of_water(MESH_DETAIL, 2);
    assert_int_equal(m.vertex_count + m.triangle_count, 0);
    mesh_free(&m);
}

/// Spray in all of a large tank has tiles everywhere: that is refused before there is memory for them.
static void test_too_much(void **state)
{
    (void)state;
    empty_tank(8.0f, 8.0f, 8.0f);
    for (int i = 0; i < 40 * 40 * 40; i++) {
        add(0.1f + 0.2f * (float)(i % 40), 0.1f + 0.2f * (float)(i / 40 % 40), 0.1f + 0.2f * (float)(i / 1600));
    }
    const export_info info = {.spacing_m = SPACING_M, .size_m = {8.0f, 8.0f, 8.0f}, .threads = 2};
    const export_frame frame = {
        .particle_count = water.count, .positions_m = water.positions_m, .velocities_m_s = water.velocities_m_s};
    mesh_liquid *l = NULL;
    mesh m;
    assert_int_equal(mesh_liquid_create(&info, MESH_DETAIL_MAX, &l), TARN_OK);
    assert_int_equal(mesh_liquid_make(l, &frame, &m), TARN_E_LIMIT);
    assert_null(m.positions_m);
    char why[EXPORT_WHY_BYTES];
    assert_int_equal(mesh_liquid_why(TARN_E_LIMIT, "out/spray.obj", why), TARN_E_LIMIT);
    assert_non_null(strstr(why, "out/spray.obj: "));
    assert_non_null(strstr(why, "a lower --surface-detail"));
    water.count = 10; // the same one goes on with what is possible
    const export_frame few = {
        .particle_count = 10, .positions_m = water.positions_m, .velocities_m_s = water.velocities_m_s};
    assert_int_equal(mesh_liquid_make(l, &few, &m), TARN_OK);
    assert_closed(&m);
    mesh_free(&m);
    mesh_liquid_destroy(l);
}

/// Of what is around, and of nothing else.
static void test_attributes(void **state)
{
    (void)state;
    empty_tank(1.0f, 1.0f, 1.0f);
    fill(in_layer, 1.0f);
    for (size_t i = 0; i < water.count; i++) {
        const bool left = water.positions_m[3 * i] < 0.5f;
        water.velocities_m_s[3 * i + 2] = left ? -1.0f : 3.0f;
        water.colours[3 * i] = left ? 200 : 40;
    }
    mesh m = surface_of_water(MESH_DETAIL, 2);
    for (size_t v = 0; v < m.vertex_count; v++) {
        const float x_m = m.positions_m[3 * v];
        if (fabsf(x_m - 0.5f) > 2.1f * SPACING_M) {
            assert_true(fabsf(m.velocities_m_s[3 * v + 2] - (x_m < 0.5f ? -1.0f : 3.0f)) < 1e-4f);
            assert_int_equal(m.colours[3 * v], x_m < 0.5f ? 200 : 40);
        }
    }
    mesh_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block),      cmocka_unit_test(test_layer),    cmocka_unit_test(test_ball),
        cmocka_unit_test(test_few),        cmocka_unit_test(test_random),   cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_attributes), cmocka_unit_test(test_too_much),
    };
    return cmocka_run_group_tests_name("mesh", tests, NULL, NULL);
}
