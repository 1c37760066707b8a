/// What USD layers of tanks hold: particles, surfaces, and the values that both have.
///
/// Values that several USD layers have: boxes, linear colours, time codes.
#ifndef TARN_SERVER_TOOL_FILM_USD_H
#define TARN_SERVER_TOOL_FILM_USD_H

#include "server/tool/film/export.h"
#include "server/tool/film/usd_layer.h"

/// Time codes per second: frames per second, without what dt_s is off for being a float.
double usd_codes_per_s(const export_info *info);

/// The time code of a moment; a whole number for a frame of its own rate.
double usd_code(const export_info *info, double time_s);

#endif
