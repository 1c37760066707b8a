// The readers of meshes and heights on any bytes; the first one says which. What they take must be sound, its triangles
// are made to face one way, and a small mesh of it is sampled: its field must be sound too.
#include "server/scene/mesh.h"
#include "server/scene/ply.h"
#include "tests/fuzz/fuzz_parts.h"

#include <math.h>
#include <stdlib.h>

enum { TRIANGLES_SAMPLED = 12, NODES = 5, MARGIN = 2 };

static void check_field(tarn_distance_field *field)
{
    for (size_t i = 0; i < (size_t)field->nodes[0] * field->nodes[1] * field->nodes[2]; i++) {
        require(isfinite(field->distance_m[i]));
    }
    tarn_distance_field_free(field);
}

static void read_mesh(tarn_mesh_format format, const uint8_t *bytes, size_t byte_count)
{
    char why[TARN_MESH_FILE_WHY_BYTES] = "";
    tarn_mesh mesh;
    tarn_distance_field field;
    if (tarn_mesh_bytes_read("fuzz", format, bytes, byte_count, &mesh, why, sizeof why) != TARN_OK) {
        require(why[0] != '\0');
        return;
    }
    require(mesh.triangle_count > 0);
    for (size_t i = 0; i < 3 * (size_t)mesh.triangle_count; i++) {
        require(mesh.triangles[i] < mesh.vertex_count);
    }
    for (size_t i = 0; i < 3 * (size_t)mesh.vertex_count; i++) {
        require(fabsf(mesh.vertices_m[i]) <= TARN_MESH_COORDINATE_M_MAX);
    }
    tarn_mesh_surface surface;
    require(tarn_mesh_face_one_way(&mesh, &surface) == TARN_OK);
    require(surface.turned <= mesh.triangle_count && surface.pieces <= mesh.triangle_count);
    const bool is_sound = !tarn_mesh_surface_tell(&surface, why, sizeof why);
    require(tarn_mesh_face_one_way(&mesh, &surface) == TARN_OK); // what faces one way stays as it is
    require(surface.turned == 0 || !is_sound);
    if (mesh.triangle_count <= TRIANGLES_SAMPLED &&
        tarn_voxelize_mesh(&mesh, tarn_voxelize_spacing_m(&mesh, NODES, MARGIN), MARGIN, &field, why, sizeof why) ==
            TARN_OK) {
        check_field(&field);
    }
    tarn_mesh_free(&mesh);
}

static void read_heights(const uint8_t *bytes, size_t byte_count)
{
    char why[TARN_MESH_FILE_WHY_BYTES] = "";
    tarn_height_map map;
    tarn_distance_field field;
    if (tarn_height_bytes_read("fuzz", 1.0f, 1.0f, bytes, byte_count, &map, why, sizeof why) != TARN_OK) {
        require(why[0] != '\0');
        return;
    }
    for (size_t i = 0; i < (size_t)map.columns * map.rows; i++) {
        require(map.heights_m[i] >= 0.0f && map.heights_m[i] <= 1.0f);
    }
    if (map.columns < NODES && map.rows < NODES &&
        tarn_voxelize_heights(&map, -1.0f, 0.7f, MARGIN, &field, why, sizeof why) == TARN_OK) {
        check_field(&field);
    }
    tarn_height_map_free(&map);
}

/// The same bytes as particles, behind some that are there: what comes must be numbers, and no more than the file has.
static void read_particles(const uint8_t *bytes, size_t byte_count)
{
    char why[TARN_MESH_FILE_WHY_BYTES] = "";
    tarn_particles particles = {0};
    for (uint32_t before = 0, round = 0; round < 2; round++, before = particles.count) {
        if (tarn_particles_ply_read("fuzz", bytes, byte_count, &particles, why, sizeof why) != TARN_OK) {
            require(why[0] != '\0');
            break;
        }
        require(particles.count - before <= byte_count / 3);
        for (uint32_t i = before; i < particles.count; i++) {
            require(particles.of[i].liquid < TARN_TANK_LIQUIDS_MAX);
            for (int a = 0; a < 3; a++) {
                require(isfinite(particles.of[i].position_m[a]) && isfinite(particles.of[i].velocity_m_s[a]));
            }
        }
    }
    free(particles.of);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count)
{
    if (byte_count == 0) {
        return 0;
    }
    static const int which_of[] = {TARN_MESH_FORMAT_OBJ, TARN_MESH_FORMAT_STL, TARN_MESH_FORMAT_COUNT,
                                   TARN_MESH_FORMAT_PLY, TARN_MESH_FORMAT_GLB};
    const int which = which_of[bytes[0] % (sizeof which_of / sizeof which_of[0])];
    if (which == TARN_MESH_FORMAT_COUNT) {
        read_heights(bytes + 1, byte_count - 1);
    } else {
        read_mesh((tarn_mesh_format)which, bytes + 1, byte_count - 1);
    }
    if (which == TARN_MESH_FORMAT_PLY) {
        read_particles(bytes + 1, byte_count - 1);
    }
    return 0;
}
