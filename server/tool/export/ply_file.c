// Particles as PLY files, one for each frame: binary, little endian, float x y z vx vy vz, then where present
// uint8 liquid, uint8 red green blue and a float named as a channel. http://paulbourke.net/dataformats/ply/
// It is `uint8` and not its older name `uchar`: meshio takes that for signed.
#include "server/tool/export/export.h"
#include "server/tool/export/part_file.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are written as they lie in memory");

typedef struct ply_writer {
    char folder[PATH_MAX];
    const char *scene;
} ply_writer;

/// A name that is too long is refused by part_file_open.
static void frame_path(const ply_writer *ply, uint32_t step, char path[PATH_MAX + 256])
{
    snprintf(path, PATH_MAX + 256, "%s/%s-%06u.ply", ply->folder, ply->scene, step);
}

static tarn_status ply_open(const char *path, const export_info *info, void **writer, char *why)
{
    ply_writer *ply = calloc(1, sizeof *ply);
    if (ply == NULL) {
        snprintf(why, EXPORT_WHY_BYTES, "%s: out of memory", path);
        return TARN_E_MEMORY;
    }
    snprintf(ply->folder, sizeof ply->folder, "%s", path);
    ply->scene = info->scene;
    char frame[PATH_MAX + 256];
    frame_path(ply, 0, frame);
    const tarn_status status = part_file_try(frame, why);
    if (status != TARN_OK) {
        free(ply);
        return status;
    }
    *writer = ply;
    return TARN_OK;
}

static bool write_vertices(FILE *file, const export_frame *frame)
{
    for (size_t i = 0; i < frame->particle_count; i++) {
        uint8_t vertex[7 * sizeof(float) + 4];
        size_t bytes = 6 * sizeof(float);
        memcpy(vertex, frame->positions_m + 3 * i, 3 * sizeof(float));
        memcpy(vertex + 3 * sizeof(float), frame->velocities_m_s + 3 * i, 3 * sizeof(float));
        if (frame->liquids != NULL) {
            vertex[bytes++] = frame->liquids[i];
        }
        if (frame->colours != NULL) {
            memcpy(vertex + bytes, frame->colours + 3 * i, 3);
            bytes += 3;
        }
        if (frame->channel != NULL) {
            memcpy(vertex + bytes, frame->channel + i, sizeof(float));
            bytes += sizeof(float);
        }
        if (fwrite(vertex, bytes, 1, file) != 1) {
            return false;
        }
    }
    return fflush(file) == 0;
}

static tarn_status ply_frame(void *writer, const export_frame *frame, char *why)
{
    const ply_writer *ply = writer;
    char path[PATH_MAX + 256];
    frame_path(ply, frame->step, path);
    part_file out;
    tarn_status status = part_file_open(&out, path, why);
    if (status != TARN_OK) {
        return status;
    }
    fprintf(out.file,
            "ply\nformat binary_little_endian 1.0\ncomment tarn %s, scene %s, step %u\n"
            "comment metres, metres per second, y up\nelement vertex %u\n"
            "property float x\nproperty float y\nproperty float z\n"
            "property float vx\nproperty float vy\nproperty float vz\n%s%s",
            TARN_VERSION, ply->scene, frame->step, frame->particle_count,
            frame->liquids != NULL ? "property uint8 liquid\n" : "",
            frame->colours != NULL ? "property uint8 red\nproperty uint8 green\nproperty uint8 blue\n" : "");
    if (frame->channel != NULL) {
        fprintf(out.file, "property float %s\n", frame->channel_name);
    }
    fprintf(out.file, "end_header\n");
    return write_vertices(out.file, frame) ? part_file_close(&out, why) : part_file_fail(&out, why);
}

static tarn_status ply_close(void *writer, bool keep, char *why)
{
    (void)keep;
    (void)why;
    free(writer);
    return TARN_OK;
}

const export_format export_ply = {NULL, EXPORT_PARTICLES, false, "PLY files", ply_open, ply_frame, ply_close};
