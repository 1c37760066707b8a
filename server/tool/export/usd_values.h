/// What both USD layers, text and binary, say of particles: attributes of a Points prim, and values that are computed.
/// Schema: "UsdGeomPoints", https://openusd.org/release/api/class_usd_geom_points.html
#ifndef TARN_SERVER_TOOL_EXPORT_USD_VALUES_H
#define TARN_SERVER_TOOL_EXPORT_USD_VALUES_H

#include "server/tool/export/export.h"

// Attributes with time samples. X(id, type, name, interpolation)
#define USD_SERIES_LIST(X)                                                                                             \
    X(USD_EXTENT, "float3[]", "extent", "")                                                                            \
    X(USD_IDS, "int64[]", "ids", "")                                                                                   \
    X(USD_POINTS, "point3f[]", "points", "")                                                                           \
    X(USD_VELOCITIES, "vector3f[]", "velocities", "")                                                                  \
    X(USD_LIQUIDS, "int[]", "primvars:liquid", "vertex")                                                               \
    X(USD_COLOURS, "color3f[]", "primvars:displayColor", "vertex")                                                     \
    X(USD_CHANNEL, "float[]", "primvars:", "vertex")

enum {
#define USD_SERIES_ENUM(id, type, name, interpolation) id,
    USD_SERIES_LIST(USD_SERIES_ENUM)
#undef USD_SERIES_ENUM
        USD_SERIES_COUNT
};

enum { USD_NAME_BYTES = 64 };

typedef struct usd_series_spec {
    const char *type, *name, *interpolation;
} usd_series_spec;

extern const usd_series_spec usd_series[USD_SERIES_COUNT];

/// Of liquid whose particles have no colours: linear red, green, blue.
extern const float usd_water_colour[3];

/// Whether a frame has values for an attribute.
bool usd_has_series(const export_frame *frame, int id);

/// An attribute's name; that of the channel ends in the channel's. @param channel  as usd_name_channel left it
const char *usd_name(int id, const char *channel);
void usd_name_channel(const export_frame *frame, char channel[USD_NAME_BYTES]);

/// The box around all spheres, lowest and highest corner. Of no particles: an empty box at the origin.
void usd_extent(const export_frame *frame, float radius_m, float box[6]);

/// From a byte of sRGB to linear light, which is what displayColor holds.
void usd_linear(float linear[256]);

/// Time codes per second: frames per second, without what dt_s is off for being a float.
double usd_codes_per_s(const export_info *info);

/// The time code of a moment; a whole number for a frame of its own rate.
double usd_code(const export_info *info, double time_s);

#endif
