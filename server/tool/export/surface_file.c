// The liquid's surface, a file for each frame: OBJ as text, PLY as binary, little endian. Both have normals, and
// colours where the particles have them; PLY also velocities, for motion blur, and a channel's values.
// http://paulbourke.net/dataformats/obj/ and .../ply/; colours behind an OBJ's vertices are what MeshLab and Blender
// read.
#include "server/tool/export/export.h"
#include "server/tool/export/part_file.h"
#include "server/tool/mesh/mesh.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are written as they lie in memory");

typedef struct surface_writer {
    const char *path; // lives as long as the writer
    const char *scene;
} surface_writer;

static tarn_status surface_open(const char *path, const export_info *info, void **writer, char *why)
{
    surface_writer *s = calloc(1, sizeof *s);
    if (s == NULL) {
        snprintf(why, EXPORT_WHY_BYTES, "%s: out of memory", path);
        return TARN_E_MEMORY;
    }
    s->path = path;
    s->scene = info->scene;
    *writer = s;
    return TARN_OK;
}

static void write_obj(FILE *file, const surface_writer *s, const export_frame *frame, const mesh *m)
{
    fprintf(file, "# tarn %s, scene %s, step %u; metres, y up\no Liquid\n", TARN_VERSION, s->scene, frame->step);
    for (size_t v = 0; v < m->vertex_count; v++) {
        const float *p = m->positions_m + 3 * v;
        fprintf(file, "v %.7g %.7g %.7g", (double)p[0], (double)p[1], (double)p[2]);
        if (m->colours != NULL) {
            const uint8_t *c = m->colours + 3 * v;
            fprintf(file, " %.4g %.4g %.4g", c[0] / 255.0, c[1] / 255.0, c[2] / 255.0);
        }
        putc('\n', file);
    }
    for (size_t v = 0; v < m->vertex_count; v++) {
        const float *n = m->normals + 3 * v;
        fprintf(file, "vn %.4g %.4g %.4g\n", (double)n[0], (double)n[1], (double)n[2]);
    }
    for (size_t i = 0; i < m->triangle_count; i++) {
        const uint32_t a = m->triangles[3 * i] + 1, b = m->triangles[3 * i + 1] + 1, c = m->triangles[3 * i + 2] + 1;
        fprintf(file, "f %u//%u %u//%u %u//%u\n", a, a, b, b, c, c);
    }
}

static void write_ply_header(FILE *file, const surface_writer *s, const export_frame *frame, const mesh *m)
{
    fprintf(file,
            "ply\nformat binary_little_endian 1.0\ncomment tarn %s, scene %s, step %u\n"
            "comment metres, metres per second, y up\nelement vertex %u\n"
            "property float x\nproperty float y\nproperty float z\n"
            "property float nx\nproperty float ny\nproperty float nz\n"
            "property float vx\nproperty float vy\nproperty float vz\n%s",
            TARN_VERSION, s->scene, frame->step, m->vertex_count,
            m->colours != NULL ? "property uint8 red\nproperty uint8 green\nproperty uint8 blue\n" : "");
    if (m->channel != NULL) {
        fprintf(file, "property float %s\n", frame->channel_name);
    }
    fprintf(file, "element face %u\nproperty list uint8 int vertex_indices\nend_header\n", m->triangle_count);
}

static void write_ply(FILE *file, const surface_writer *s, const export_frame *frame, const mesh *m)
{
    write_ply_header(file, s, frame, m);
    for (size_t v = 0; v < m->vertex_count; v++) {
        uint8_t vertex[10 * sizeof(float) + 3];
        size_t bytes = 9 * sizeof(float);
        memcpy(vertex, m->positions_m + 3 * v, 3 * sizeof(float));
        memcpy(vertex + 3 * sizeof(float), m->normals + 3 * v, 3 * sizeof(float));
        memcpy(vertex + 6 * sizeof(float), m->velocities_m_s + 3 * v, 3 * sizeof(float));
        if (m->colours != NULL) {
            memcpy(vertex + bytes, m->colours + 3 * v, 3);
            bytes += 3;
        }
        if (m->channel != NULL) {
            memcpy(vertex + bytes, m->channel + v, sizeof(float));
            bytes += sizeof(float);
        }
        fwrite(vertex, bytes, 1, file);
    }
    for (size_t i = 0; i < m->triangle_count; i++) {
        uint8_t face[1 + 3 * sizeof(uint32_t)] = {3};
        memcpy(face + 1, m->triangles + 3 * i, 3 * sizeof(uint32_t));
        fwrite(face, sizeof face, 1, file);
    }
}

static tarn_status write_surface(surface_writer *s, const export_frame *frame, const char *ending,
                                 void (*write)(FILE *, const surface_writer *, const export_frame *, const mesh *),
                                 char *why)
{
    char path[PATH_MAX + 32]; // a name that is too long is refused by part_file_open
    snprintf(path, sizeof path, "%.*s-%06u%s", (int)(strlen(s->path) - strlen(ending)), s->path, frame->step, ending);
    part_file out;
    tarn_status status = part_file_open(&out, path, why);
    if (status == TARN_OK) {
        write(out.file, s, frame, frame->surface);
        status = fflush(out.file) == 0 && !ferror(out.file) ? part_file_close(&out, why) : part_file_fail(&out, why);
    }
    return status;
}

static tarn_status obj_frame(void *writer, const export_frame *frame, char *why)
{
    return write_surface(writer, frame, ".obj", write_obj, why);
}

static tarn_status ply_frame(void *writer, const export_frame *frame, char *why)
{
    return write_surface(writer, frame, ".ply", write_ply, why);
}

static tarn_status surface_close(void *writer, bool keep, char *why)
{
    (void)keep;
    (void)why;
    free(writer);
    return TARN_OK;
}

const export_format export_surface_obj = {".obj",       EXPORT_SURFACE, true,         "OBJ files",
                                          surface_open, obj_frame,      surface_close};
const export_format export_surface_ply = {".ply",       EXPORT_SURFACE, true,         "PLY files",
                                          surface_open, ply_frame,      surface_close};
