// Values that don't depend on the layer's form, nor on what the liquid is shown as.
#include "server/tool/export/usd_values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/// Linear red, green, blue.
static const float usd_water_colour[3] = {0.04f, 0.26f, 0.5f};

void usd_extent(const float *points_m, uint64_t count, float radius_m, float box[6])
{
    memset(box, 0, 6 * sizeof(float));
    for (uint64_t i = 0; i < count; i++) {
        for (size_t axis = 0; axis < 3; axis++) {
            const float value = points_m[3 * i + axis];
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

int usd_sample_colours(usd_layer *layer, int prim, int attribute, const uint8_t *colours, uint64_t count, float *linear)
{
    float all[256];
    usd_linear(all);
    if (attribute < 0) {
        attribute = usd_layer_attribute(layer, prim, "color3f[]", "primvars:displayColor", "vertex");
    }
    for (uint64_t i = 0; i < 3 * count && linear != NULL; i++) {
        linear[i] = all[colours[i]];
    }
    if (linear != NULL) {
        usd_layer_sample(layer, attribute, linear, count);
    }
    return attribute;
}

int usd_sample_channel(usd_layer *layer, int prim, int attribute, const char *name, const float *values, uint64_t count)
{
    if (attribute < 0) {
        char channel[USD_NAME_BYTES];
        snprintf(channel, sizeof channel, "primvars:%s", name);
        attribute = usd_layer_attribute(layer, prim, "float[]", channel, "vertex");
    }
    usd_layer_sample(layer, attribute, values, count);
    return attribute;
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

void usd_default_colour(usd_layer *layer, int prim)
{
    usd_layer_default(layer, usd_layer_attribute(layer, prim, "color3f[]", "primvars:displayColor", "constant"),
                      usd_water_colour, 1);
}
