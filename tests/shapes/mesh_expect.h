/// What tests expect of the readers of meshes: a mesh, or a sentence.
#ifndef TARN_TESTS_SHAPES_MESH_EXPECT_H
#define TARN_TESTS_SHAPES_MESH_EXPECT_H

#include "server/scene/mesh.h"

/// Asserts that it is read.
tarn_mesh mesh_expect_read(tarn_mesh_format format, const void *bytes, size_t byte_count);

/// Asserts that nothing is written on failure, and that the sentence begins with the file's name and has `part` in it.
/// The bytes are copied to memory of their very size, for the sanitizers.
void mesh_expect_refusal(tarn_mesh_format format, const void *bytes, size_t byte_count, tarn_status status,
                         const char *part);

/// Asserts that it is the square from 0, 0, 0 to 1, 1, 0 in two triangles from its first corner, and frees it.
void mesh_expect_square(tarn_mesh *mesh);

#endif
