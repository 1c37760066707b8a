/// A channel's values of the particles that a run writes or draws: those that frames carry come from the tank, the
/// others from where particles are and how they move, as viewers have them.
#ifndef TARN_SERVER_TOOL_RUN_CHANNEL_H
#define TARN_SERVER_TOOL_RUN_CHANNEL_H

#include "kernels/model.h"
#include "kernels/tank.h"
#include "server/tool/tool.h"

typedef struct tool_channel {
    const char *name, *unit; ///< of static storage; unit: NULL: none
    float *values;           ///< [particles_max] as the last read left them; NULL: no channel was asked for
    float low, high;         ///< what colours range over: fixed by the tank, so that values may lie beyond
    uint32_t number;         ///< among the model's channels
    float *flow;             ///< of vorticity: per cell the velocities' sum, then their number
} tool_channel;

/// @param command  for what is said where the tank's model has no such channel, or no memory is left
/// @return false: it was said; tool_channel_close is due all the same
bool tool_channel_open(tool_channel *channel, const char *command, const char *name, const tool_tank *tank);
void tool_channel_close(tool_channel *channel);

/// @param positions_m, velocities_m_s  of tarn_tank_particles, at most particles_max
tarn_status tool_channel_read(tool_channel *channel, const tool_tank *tank, const float *positions_m,
                              const float *velocities_m_s, uint32_t count);

/// The colours of the values as the page has them, from low to high: 3 bytes per particle, sRGB.
void tool_channel_colours(const tool_channel *channel, uint32_t count, uint8_t *colours);

#endif
