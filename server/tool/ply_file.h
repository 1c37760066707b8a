/// Particles as a PLY file: binary, little endian, float x y z vx vy vz per vertex.
#ifndef TARN_SERVER_TOOL_PLY_FILE_H
#define TARN_SERVER_TOOL_PLY_FILE_H

#include "protocol/status.h"

#include <stddef.h>
#include <stdint.h>

/// Writes under a name of its own and renames: a file with the given name is complete.
/// @param comment  one line about where the particles come from
/// @param why      on failure: the file's name and what went wrong
/// @return TARN_OK or TARN_E_IO
tarn_status ply_file_write(const char *path, const char *comment, const float *positions_m, const float *velocities_m_s,
                           uint32_t particle_count, char *why, size_t why_bytes);

#endif
