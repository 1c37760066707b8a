/// Meshes with a known signed distance, for tests. Each grows the mesh by one closed part; corners run counterclockwise
/// seen from outside.
#ifndef TARN_TESTS_SHAPES_SHAPE_MESHES_H
#define TARN_TESTS_SHAPES_SHAPE_MESHES_H

#include "kernels/shapes/voxelize.h"

void add_vertex(tarn_mesh *mesh, double x, double y, double z);
void add_triangle(tarn_mesh *mesh, uint32_t a, uint32_t b, uint32_t c);

/// Twelve triangles, turned and moved by the pose.
void add_box(tarn_mesh *mesh, const float half_m[3], const tarn_pose *pose);

/// A ball with 2 * rings segments around.
void add_ball(tarn_mesh *mesh, const double center_m[3], double radius_m, uint32_t rings);

/// Around the y axis.
void add_torus(tarn_mesh *mesh, double ring_m, double tube_m, uint32_t segments);

/// Exchanges two corners of triangles first..end-1: their outside becomes their inside.
void flip_triangles(tarn_mesh *mesh, uint32_t first, uint32_t end);

/// Volume and centre by the divergence theorem.
double mesh_volume_m3(const tarn_mesh *mesh, double center_m[3]);

void free_mesh(tarn_mesh *mesh);

#endif
