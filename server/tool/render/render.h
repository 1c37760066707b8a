/// Pictures of a tank: particles drawn as a lit, refracting surface, or as smoke or dye, with the tank's solids, in a
/// room. Software, no GPU. The same frame gives the same picture for any number of threads.
#ifndef TARN_SERVER_TOOL_RENDER_RENDER_H
#define TARN_SERVER_TOOL_RENDER_RENDER_H

#include "protocol/status.h"
#include "server/tool/export/export.h"

enum { RENDER_PIXELS_MIN = 16, RENDER_PIXELS_MAX = 4096 }; ///< of a picture, per axis

typedef struct render render;

/// Uses what `info` says of the tank, its solids and the pictures. It is not kept, but solids and fields are.
/// @return TARN_OK, TARN_E_ARGUMENT (a size out of its range) or TARN_E_MEMORY
tarn_status render_create(const export_info *info, render **out);

/// Takes NULL.
void render_destroy(render *r);

/// Draws a frame. `scaled` of the frame cover the liquid; else `colours` tint it, or `liquids` do. Of smoke and dye
/// `scaled` are the colours.
/// @param rgb  3 bytes per pixel, sRGB, from the upper left, width * height * 3 in all
/// @return TARN_OK or TARN_E_MEMORY
tarn_status render_draw(render *r, const export_frame *frame, uint8_t *rgb);

#endif
