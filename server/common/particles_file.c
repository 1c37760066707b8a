// Writes particles as PLY; mesh_ply.c reads them.
#include "server/common/particles_file.h"

#include <stdio.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are written as they lie in memory");
_Static_assert(offsetof(tarn_seed_particle, velocity_m_s) == 12 && offsetof(tarn_seed_particle, liquid) == 24 &&
                   offsetof(tarn_seed_particle, colour) == 25 && sizeof(tarn_seed_particle) == 28,
               "a particle is written as it lies in memory, or its beginning");

static size_t particle_bytes(bool have_colours)
{
    return have_colours ? sizeof(tarn_seed_particle) : offsetof(tarn_seed_particle, colour);
}

static int write_head(uint32_t count, bool have_colours, char head[TARN_PARTICLES_PLY_HEAD_MAX])
{
    return snprintf(head, TARN_PARTICLES_PLY_HEAD_MAX,
                    "ply\nformat binary_little_endian 1.0\ncomment metres, metres per second, y up\n"
                    "element vertex %u\nproperty float x\nproperty float y\nproperty float z\n"
                    "property float vx\nproperty float vy\nproperty float vz\nproperty uint8 liquid\n%send_header\n",
                    count, have_colours ? "property uint8 red\nproperty uint8 green\nproperty uint8 blue\n" : "");
}

size_t tarn_particles_ply_bytes(uint32_t count, bool have_colours)
{
    char head[TARN_PARTICLES_PLY_HEAD_MAX];
    return (size_t)write_head(count, have_colours, head) + count * particle_bytes(have_colours);
}

size_t tarn_particles_ply_write(const tarn_seed_particle *particles, uint32_t count, bool have_colours, uint8_t *bytes)
{
    char head[TARN_PARTICLES_PLY_HEAD_MAX];
    const size_t each = particle_bytes(have_colours);
    size_t used = (size_t)write_head(count, have_colours, head);
    memcpy(bytes, head, used);
    for (uint32_t i = 0; i < count; i++, used += each) {
        memcpy(bytes + used, &particles[i], each);
    }
    return used;
}
