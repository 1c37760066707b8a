// Values of the Points prim that don't depend on the layer's form: extents, linear colours, time codes.
#include "server/tool/export/usd_values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const usd_series_spec usd_series[USD_SERIES_COUNT] = {
#define USD_SERIES_SPEC(id, type, name, interpolation) {type, name, interpolation},
    USD_SERIES_LIST(USD_SERIES_SPEC)
#undef USD_SERIES_SPEC
};

const float usd_water_colour[3] = {0.04f, 0.26f, 0.5f};

bool usd_has_series(const export_frame *frame, int id)
{
    return (id != USD_LIQUIDS || frame->liquids != NULL) && (id != USD_COLOURS || frame->colours != NULL) &&
           (id != USD_CHANNEL || frame->channel != NULL);
}

const char *usd_name(int id, const char *channel)
{
    return id == USD_CHANNEL ? channel : usd_series[id].name;
}

void usd_name_channel(const export_frame *frame, char channel[USD_NAME_BYTES])
{
    if (frame->channel != NULL) {
        snprintf(channel, USD_NAME_BYTES, "%s%s", usd_series[USD_CHANNEL].name, frame->channel_name);
    }
}

void usd_extent(const export_frame *frame, float radius_m, float box[6])
{
    memset(box, 0, 6 * sizeof(float));
    for (size_t i = 0; i < frame->particle_count; i++) {
        for (int axis = 0; axis < 3; axis++) {
            float value = frame->positions_m[3 * i + (size_t)axis];
            box[axis] = i == 0 || value - radius_m < box[axis] ? value - radius_m : box[axis];
            box[3 + axis] = i == 0 || value + radius_m > box[3 + axis] ? value + radius_m : box[3 + axis];
        }
    }
}

void usd_linear(float linear[256])
{
    for (int i = 0; i < 256; i++) {
        double c = i / 255.0;
        linear[i] = (float)(c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
}

double usd_codes_per_s(const export_info *info)
{
    double rounded = round(info->frames_per_s * 1000.0) / 1000.0;
    return fabs(rounded - info->frames_per_s) < 1e-5 * rounded ? rounded : info->frames_per_s;
}

double usd_code(const export_info *info, double time_s)
{
    double code = time_s * info->frames_per_s, whole = round(code);
    return fabs(code - whole) < 1e-3 ? whole : code;
}
