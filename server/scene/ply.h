/// Particles of liquid in PLY files, as `tarn run --ply` writes them too and as a scene may begin with them.
///
/// Of the element `vertex` the properties x, y, z (metres), and where they are there vx, vy, vz (metres per second),
/// liquid (its place in the scene's list, from 0) and red, green, blue, also as r, g, b and diffuse_red ...; other
/// properties and elements are passed over. As text, little-endian and big-endian. Colours are sRGB: 0 to 1 as float or
/// double, 0 to 65535 as ushort, 0 to 255 of any other type.
#ifndef TARN_SERVER_SCENE_PLY_H
#define TARN_SERVER_SCENE_PLY_H

#include "kernels/tank.h"
#include "protocol/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Zero at first.
typedef struct tarn_particles {
    tarn_seed_particle *of; ///< made by malloc, the caller's
    uint32_t count;
    bool have_colours;
} tarn_particles;

/// Appends the particles of a file. What isn't a number, or too large, is refused; where they are in a tank isn't
/// looked at. @param origin  the file's name in sentences
/// @return TARN_OK, TARN_E_MALFORMED, TARN_E_LIMIT or TARN_E_MEMORY, with a sentence; `of` is to be freed then, too
tarn_status tarn_particles_ply_read(const char *origin, const void *bytes, size_t byte_count, tarn_particles *particles,
                                    char *why, size_t why_bytes);

enum { TARN_PARTICLES_PLY_HEAD_MAX = 400 };

/// Bytes that tarn_particles_ply_write makes of so many.
size_t tarn_particles_ply_bytes(uint32_t count, bool have_colours);

/// Writes a file: binary, little-endian. @param bytes  of tarn_particles_ply_bytes  @return bytes
size_t tarn_particles_ply_write(const tarn_seed_particle *particles, uint32_t count, bool have_colours, uint8_t *bytes);

#endif
