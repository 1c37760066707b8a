#include "tests/shapes/mesh_expect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka.h needs the four headers above it.
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

tarn_mesh mesh_expect_read(tarn_mesh_format format, const void *bytes, size_t byte_count)
{
    tarn_mesh mesh = {.vertex_count = 0};
    char why[TARN_MESH_FILE_WHY_BYTES] = "";
    if (tarn_mesh_bytes_read("a.file", format, bytes, byte_count, &mesh, why, sizeof why) != TARN_OK) {
        fail_msg("%s", why);
    }
    return mesh;
}

void mesh_expect_refusal(tarn_mesh_format format, const void *bytes, size_t byte_count, tarn_status status,
                         const char *part)
{
    tarn_mesh mesh = {7, 7, NULL, NULL};
    char why[TARN_MESH_FILE_WHY_BYTES] = "", *copy = malloc(byte_count + (byte_count == 0));
    assert_non_null(copy);
    memcpy(copy, bytes, byte_count);
    const tarn_status found = tarn_mesh_bytes_read("a.file", format, copy, byte_count, &mesh, why, sizeof why);
    if (found != status || strstr(why, part) == NULL || strncmp(why, "a.file: ", 8) != 0) {
        fail_msg("%.60s\nwas answered with %s: %s\nwanted %s: %s", (const char *)bytes, tarn_status_name(found), why,
                 tarn_status_name(status), part);
    }
    assert_int_equal(tarn_mesh_bytes_read("a.file", format, copy, byte_count, &mesh, NULL, 0), status);
    assert_true(mesh.vertex_count == 7 && mesh.triangle_count == 7 && mesh.vertices_m == NULL);
    free(copy);
}

void mesh_expect_square(tarn_mesh *mesh)
{
    static const float corners[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0};
    static const uint32_t triangles[] = {0, 1, 2, 0, 2, 3};
    assert_int_equal(mesh->vertex_count, 4);
    assert_int_equal(mesh->triangle_count, 2);
    assert_memory_equal(mesh->vertices_m, corners, sizeof corners);
    assert_memory_equal(mesh->triangles, triangles, sizeof triangles);
    tarn_mesh_free(mesh);
}
