/// PNG as far as pictures of a run need it: 8 bits per channel, RGB, with the chunks of animations. Deflate is zlib's.
/// Format: "Portable Network Graphics (PNG) Specification (Third Edition)", W3C.
#ifndef TARN_SERVER_TOOL_EXPORT_PNG_ENCODE_H
#define TARN_SERVER_TOOL_EXPORT_PNG_ENCODE_H

#include "protocol/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct png_encoder png_encoder;

/// A part of a picture, in pixels.
typedef struct png_area {
    uint32_t x, y, width, height;
} png_area;

/// @return TARN_OK or TARN_E_MEMORY
tarn_status png_create(uint32_t width, uint32_t height, png_encoder **out);

/// Takes NULL.
void png_destroy(png_encoder *png);

/// Compresses an area of a picture: what IDAT holds.
/// @param rgb  the whole picture
/// @return the bytes, which live until the next call; never fails
const uint8_t *png_deflate(png_encoder *png, const uint8_t *rgb, png_area area, size_t *byte_count);

/// Signature and header chunks. @return whether it was written
bool png_write_start(FILE *file, uint32_t width, uint32_t height);

/// A chunk whose data are `head` and then `data`. @return whether it was written
bool png_write_chunk(FILE *file, const char *type, const uint8_t *head, size_t head_bytes, const uint8_t *data,
                     size_t data_bytes);

/// Big endian, as all numbers in a PNG.
void png_put_u32(uint8_t *bytes, uint32_t value);

#endif
