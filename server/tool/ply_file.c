#include "server/tool/ply_file.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "floats are written as they lie in memory");

static bool write_particles(FILE *file, const char *comment, const float *positions_m, const float *velocities_m_s,
                            uint32_t particle_count)
{
    fprintf(file,
            "ply\nformat binary_little_endian 1.0\ncomment %s\ncomment metres, metres per second, y up\n"
            "element vertex %u\nproperty float x\nproperty float y\nproperty float z\n"
            "property float vx\nproperty float vy\nproperty float vz\nend_header\n",
            comment, particle_count);
    for (uint32_t i = 0; i < particle_count; i++) {
        float vertex[6];
        memcpy(vertex, positions_m + 3 * (size_t)i, 3 * sizeof(float));
        memcpy(vertex + 3, velocities_m_s + 3 * (size_t)i, 3 * sizeof(float));
        if (fwrite(vertex, sizeof vertex, 1, file) != 1) {
            return false;
        }
    }
    return fflush(file) == 0 && !ferror(file);
}

tarn_status ply_file_write(const char *path, const char *comment, const float *positions_m, const float *velocities_m_s,
                           uint32_t particle_count, char *why, size_t why_bytes)
{
    char part[PATH_MAX];
    FILE *file = NULL;
    int bytes = snprintf(part, sizeof part, "%s.%ld.part", path, (long)getpid());
    if (bytes < 0 || (size_t)bytes >= sizeof part) {
        errno = ENAMETOOLONG;
        goto fail;
    }
    file = fopen(part, "wbe");
    if (file == NULL || !write_particles(file, comment, positions_m, velocities_m_s, particle_count)) {
        goto fail;
    }
    int closed = fclose(file);
    file = NULL;
    if (closed != 0 || rename(part, path) != 0) {
        goto remove;
    }
    return TARN_OK;

fail:
    if (file == NULL) {
        snprintf(why, why_bytes, "%s: %s", path, strerror(errno));
        return TARN_E_IO;
    }
remove:
    snprintf(why, why_bytes, "%s: %s", path, strerror(errno));
    if (file != NULL) {
        fclose(file);
    }
    unlink(part);
    return TARN_E_IO;
}
