// Values of channels: the tank's, or as the page derives them (web-client/src/state/colour-by.ts).
#include "server/tool/run/channel.h"
#include "protocol/channel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const float FALL_SHARE = 0.85f, TURN_CELLS = 8.0f; // as in web-client/src/codec/frame-info.ts
enum { FLOW_VALUES = 4 };

static const char *const SPEED = "speed", *const HEIGHT = "height", *const VORTICITY = "vorticity";

static bool is_named(const tool_channel *channel, const char *name)
{
    return strcmp(channel->name, name) == 0;
}

/// Whether values can be had of what the model lists: all but the particles' own colours, which files have anyway.
static bool has_values(const char *name)
{
    return tarn_channel_is_carried(name) || strcmp(name, SPEED) == 0 || strcmp(name, HEIGHT) == 0 ||
           strcmp(name, VORTICITY) == 0;
}

static size_t cell_count(const tarn_tank_desc *desc)
{
    return (size_t)desc->cells[0] * desc->cells[1] * desc->cells[2];
}

/// The range of those that the page has from every frame.
static void find_range(tool_channel *channel, const tarn_tank_desc *desc, const tarn_model *model)
{
    float gravity = 0.0f;
    for (uint32_t id = 0; id < model->parameter_count; id++) {
        gravity = model->parameters[id].role == TARN_PLAYS_GRAVITY ? desc->parameters[id] : gravity;
    }
    const float height_m = (float)desc->cells[1] * desc->cell_m;
    const float speed = sqrtf(2.0f * fmaxf(gravity, 1.0f) * height_m * FALL_SHARE);
    channel->high = is_named(channel, HEIGHT)      ? height_m
                    : is_named(channel, VORTICITY) ? speed / (TURN_CELLS * desc->cell_m)
                                                   : speed;
}

bool tool_channel_open(tool_channel *channel, const char *command, const char *name, const tool_tank *tank)
{
    const tarn_tank_desc *desc = &tank->scene.tank;
    const tarn_model *model = tarn_tank_model(tank->tank);
    *channel = (tool_channel){.name = name};
    for (uint32_t i = 0; i < model->channel_count; i++) {
        if (strcmp(model->channels[i].name, name) == 0 && has_values(name)) {
            channel->number = i;
            channel->name = model->channels[i].name;
            channel->unit = model->channels[i].unit;
            find_range(channel, desc, model);
            channel->values = malloc(((size_t)tarn_tank_particles_max(tank->tank) + 1) * sizeof(float));
            const bool turns = is_named(channel, VORTICITY);
            channel->flow = turns ? malloc(cell_count(desc) * FLOW_VALUES * sizeof(float)) : NULL;
            if (channel->values == NULL || (turns && channel->flow == NULL)) {
                fprintf(stderr, "%s: out of memory for the %s of particles\n", command, name);
                return false;
            }
            return true;
        }
    }
    fprintf(stderr, "%s: --channel: found \"%s\", allowed of a tank of %s:", command, name, model->name);
    for (uint32_t i = 0; i < model->channel_count; i++) {
        if (has_values(model->channels[i].name)) {
            fprintf(stderr, " %s", model->channels[i].name);
        }
    }
    fprintf(stderr, "\n");
    return false;
}

void tool_channel_close(tool_channel *channel)
{
    free(channel->values);
    free(channel->flow);
}

/// -1: outside.
static ptrdiff_t cell_at(const tarn_tank_desc *desc, const int at[3])
{
    for (int a = 0; a < 3; a++) {
        if (at[a] < 0 || at[a] >= desc->cells[a]) {
            return -1;
        }
    }
    return ((ptrdiff_t)at[2] * desc->cells[1] + at[1]) * desc->cells[0] + at[0];
}

static void find_cell(const tarn_tank_desc *desc, const float *position_m, int at[3])
{
    for (int a = 0; a < 3; a++) {
        const int cell = (int)floorf(position_m[a] / desc->cell_m);
        at[a] = cell < 0 ? 0 : cell < desc->cells[a] ? cell : desc->cells[a] - 1;
    }
}

/// Change of velocity `c` per metre along an axis, from the cells on both sides, or from one where only that has
/// particles.
static float change(const tool_channel *channel, const tarn_tank_desc *desc, const int at[3], int axis, int c)
{
    float velocity[2], gap_m = 0.0f;
    for (int side = 0; side < 2; side++) {
        int beside[3] = {at[0], at[1], at[2]};
        beside[axis] += 2 * side - 1;
        ptrdiff_t cell = cell_at(desc, beside);
        if (cell < 0 || channel->flow[FLOW_VALUES * cell + 3] == 0.0f) {
            cell = cell_at(desc, at);
        } else {
            gap_m += desc->cell_m;
        }
        velocity[side] = channel->flow[FLOW_VALUES * cell + c] / channel->flow[FLOW_VALUES * cell + 3];
    }
    return gap_m > 0.0f ? (velocity[1] - velocity[0]) / gap_m : 0.0f;
}

/// The curl of the particles' mean velocities, in the cell that each is in.
static void find_vorticity(tool_channel *channel, const tarn_tank_desc *desc, const float *positions_m,
                           const float *velocities_m_s, uint32_t count)
{
    memset(channel->flow, 0, cell_count(desc) * FLOW_VALUES * sizeof(float));
    int at[3];
    for (size_t i = 0; i < count; i++) {
        find_cell(desc, positions_m + 3 * i, at);
        float *flow = channel->flow + FLOW_VALUES * cell_at(desc, at);
        for (int c = 0; c < 3; c++) {
            flow[c] += velocities_m_s[3 * i + (size_t)c];
        }
        flow[3] += 1.0f;
    }
    for (size_t i = 0; i < count; i++) {
        find_cell(desc, positions_m + 3 * i, at);
        float squares = 0.0f;
        for (int c = 0; c < 3; c++) {
            const int b = (c + 1) % 3, d = (c + 2) % 3;
            const float curl = change(channel, desc, at, b, d) - change(channel, desc, at, d, b);
            squares += curl * curl;
        }
        channel->values[i] = sqrtf(squares);
    }
}

tarn_status tool_channel_read(tool_channel *channel, const tool_tank *tank, const float *positions_m,
                              const float *velocities_m_s, uint32_t count)
{
    if (tarn_channel_is_carried(channel->name)) {
        float range[2] = {channel->low, channel->high};
        const tarn_status status =
            tarn_tank_channel(tank->tank, channel->number, channel->values, count, &count, range);
        channel->low = range[0];
        channel->high = range[1];
        return status;
    }
    if (channel->flow != NULL) {
        find_vorticity(channel, &tank->scene.tank, positions_m, velocities_m_s, count);
        return TARN_OK;
    }
    for (size_t i = 0; i < count; i++) {
        const float *v = velocities_m_s + 3 * i;
        channel->values[i] =
            is_named(channel, HEIGHT) ? positions_m[3 * i + 1] : sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    }
    return TARN_OK;
}

/// Viridis without its darkest eighth: STOPS of web-client/src/shader/stops.ts.
static const uint8_t stops[][3] = {{0x47, 0x2d, 0x7b}, {0x3b, 0x52, 0x8b}, {0x2c, 0x72, 0x8e}, {0x21, 0x91, 0x8c},
                                   {0x28, 0xae, 0x80}, {0x5e, 0xc9, 0x62}, {0xad, 0xdc, 0x30}, {0xfd, 0xe7, 0x25}};

void tool_channel_colours(const tool_channel *channel, uint32_t count, uint8_t *colours)
{
    enum { LAST = sizeof stops / sizeof stops[0] - 1 };
    const float range = channel->high - channel->low;
    for (size_t i = 0; i < count; i++) {
        const float share = range > 0.0f ? (channel->values[i] - channel->low) / range : 0.0f;
        const float at = LAST * (share > 0.0f ? fminf(share, 1.0f) : 0.0f); // also where it is no number
        const int below = at < LAST ? (int)at : LAST - 1;
        for (int k = 0; k < 3; k++) {
            const float from = stops[below][k], to = stops[below + 1][k];
            colours[3 * i + (size_t)k] = (uint8_t)(from + (at - (float)below) * (to - from) + 0.5f);
        }
    }
}
