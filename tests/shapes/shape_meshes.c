#include "tests/shapes/shape_meshes.h"

#include <math.h>
#include <stdlib.h>

void add_vertex(tarn_mesh *mesh, double x, double y, double z)
{
    const size_t count = mesh->vertex_count++;
    mesh->vertices_m = realloc(mesh->vertices_m, 3 * (count + 1) * sizeof(float));
    if (mesh->vertices_m == NULL) {
        abort();
    }
    mesh->vertices_m[3 * count] = (float)x;
    mesh->vertices_m[3 * count + 1] = (float)y;
    mesh->vertices_m[3 * count + 2] = (float)z;
}

void add_triangle(tarn_mesh *mesh, uint32_t a, uint32_t b, uint32_t c)
{
    const size_t count = mesh->triangle_count++;
    mesh->triangles = realloc(mesh->triangles, 3 * (count + 1) * sizeof(uint32_t));
    if (mesh->triangles == NULL) {
        abort();
    }
    mesh->triangles[3 * count] = a;
    mesh->triangles[3 * count + 1] = b;
    mesh->triangles[3 * count + 2] = c;
}

static void add_quad(tarn_mesh *mesh, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    add_triangle(mesh, a, b, c);
    add_triangle(mesh, a, c, d);
}

void add_box(tarn_mesh *mesh, const float half_m[3], const tarn_pose *pose)
{
    const uint32_t o = mesh->vertex_count;
    for (int i = 0; i < 8; i++) {
        double at[3];
        for (int a = 0; a < 3; a++) {
            at[a] = (i >> a & 1 ? 1.0 : -1.0) * (double)half_m[a];
        }
        tarn_pose_from_shape(pose, at, at);
        add_vertex(mesh, at[0], at[1], at[2]);
    }
    add_quad(mesh, o + 0, o + 4, o + 6, o + 2);
    add_quad(mesh, o + 1, o + 3, o + 7, o + 5);
    add_quad(mesh, o + 0, o + 1, o + 5, o + 4);
    add_quad(mesh, o + 2, o + 6, o + 7, o + 3);
    add_quad(mesh, o + 0, o + 2, o + 3, o + 1);
    add_quad(mesh, o + 4, o + 5, o + 7, o + 6);
}

void add_ball(tarn_mesh *mesh, const double center_m[3], double radius_m, uint32_t rings)
{
    const uint32_t o = mesh->vertex_count, around = 2 * rings;
    add_vertex(mesh, center_m[0], center_m[1] + radius_m, center_m[2]);
    for (uint32_t r = 1; r < rings; r++) {
        for (uint32_t s = 0; s < around; s++) {
            const double down = M_PI * r / rings, turn = 2.0 * M_PI * s / around;
            add_vertex(mesh, center_m[0] + radius_m * sin(down) * cos(turn), center_m[1] + radius_m * cos(down),
                       center_m[2] - radius_m * sin(down) * sin(turn));
        }
    }
    add_vertex(mesh, center_m[0], center_m[1] - radius_m, center_m[2]);
    const uint32_t south = mesh->vertex_count - 1;
    for (uint32_t s = 0; s < around; s++) {
        const uint32_t next = (s + 1) % around;
        add_triangle(mesh, o, o + 1 + s, o + 1 + next);
        for (uint32_t r = 0; r + 2 < rings; r++) {
            const uint32_t above = o + 1 + r * around, below = above + around;
            add_quad(mesh, above + s, below + s, below + next, above + next);
        }
        add_triangle(mesh, south, south - around + next, south - around + s);
    }
}

void add_torus(tarn_mesh *mesh, double ring_m, double tube_m, uint32_t segments)
{
    const uint32_t o = mesh->vertex_count, around = 2 * segments;
    for (uint32_t i = 0; i < around; i++) {
        for (uint32_t j = 0; j < segments; j++) {
            const double turn = 2.0 * M_PI * i / around, tube = 2.0 * M_PI * j / segments;
            const double out = ring_m + tube_m * cos(tube);
            add_vertex(mesh, out * cos(turn), tube_m * sin(tube), -out * sin(turn));
        }
    }
    for (uint32_t i = 0; i < around; i++) {
        for (uint32_t j = 0; j < segments; j++) {
            const uint32_t here = o + i * segments, there = o + (i + 1) % around * segments, next = (j + 1) % segments;
            add_quad(mesh, here + j, there + j, there + next, here + next);
        }
    }
}

void flip_triangles(tarn_mesh *mesh, uint32_t first, uint32_t end)
{
    for (uint32_t t = first; t < end; t++) {
        uint32_t *corners = mesh->triangles + 3 * (size_t)t;
        const uint32_t kept = corners[1];
        corners[1] = corners[2];
        corners[2] = kept;
    }
}

double mesh_volume_m3(const tarn_mesh *mesh, double center_m[3])
{
    double volume = 0.0, first[3] = {0.0, 0.0, 0.0};
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        const float *p[3];
        for (int c = 0; c < 3; c++) {
            p[c] = mesh->vertices_m + 3 * (size_t)mesh->triangles[3 * t + (size_t)c];
        }
        double part = 0.0; // of the tetrahedron with the origin
        for (int a = 0; a < 3; a++) {
            const int u = (a + 1) % 3, v = (a + 2) % 3;
            part += (double)p[0][a] * ((double)p[1][u] * p[2][v] - (double)p[1][v] * p[2][u]) / 6.0;
        }
        volume += part;
        for (int a = 0; a < 3; a++) {
            first[a] += part * ((double)p[0][a] + (double)p[1][a] + (double)p[2][a]) / 4.0;
        }
    }
    for (int a = 0; a < 3; a++) {
        center_m[a] = first[a] / volume;
    }
    return volume;
}

void free_mesh(tarn_mesh *mesh)
{
    free(mesh->vertices_m);
    free(mesh->triangles);
    *mesh = (tarn_mesh){.vertex_count = 0};
}
