/// Values that several USD layers have: boxes, linear colours, time codes.
#ifndef TARN_SERVER_TOOL_EXPORT_USD_VALUES_H
#define TARN_SERVER_TOOL_EXPORT_USD_VALUES_H

#include "server/tool/export/export.h"
#include "server/tool/export/usd_layer.h"

/// The box around spheres at all points, lowest and highest corner. Of no points: an empty box at the origin.
void usd_extent(const float *points_m, uint64_t count, float radius_m, float box[6]);

/// From a byte of sRGB to linear light, which is what displayColor holds.
void usd_linear(float linear[256]);

/// Gives a prim without colours that of water.
void usd_default_colour(usd_layer *layer, int prim);

/// Samples a colour for each point, and a channel's value.
/// @param attribute  -1: isn't there yet, and is added to the prim
/// @param linear     room for 3 * count values; NULL: nothing is sampled
/// @return the attribute
int usd_sample_colours(usd_layer *layer, int prim, int attribute, const uint8_t *colours, uint64_t count,
                       float *linear);
int usd_sample_channel(usd_layer *layer, int prim, int attribute, const char *name, const float *values,
                       uint64_t count);

/// Time codes per second: frames per second, without what dt_s is off for being a float.
double usd_codes_per_s(const export_info *info);

/// The time code of a moment; a whole number for a frame of its own rate.
double usd_code(const export_info *info, double time_s);

#endif
