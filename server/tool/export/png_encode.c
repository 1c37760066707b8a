// Rows filtered by the smallest sum, deflated by zlib, in chunks: start at png_deflate.
#include "server/tool/export/png_encode.h"
#include "protocol/assert.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { CHANNELS = 3, LEVEL = 4 }; // of zlib: higher ones gain some per cent and take several times as long

struct png_encoder {
    uint32_t width;
    uint8_t *filtered; // rows, each with its filter's number in front
    uint8_t *packed;
    size_t packed_bytes_max;
    z_stream stream;
};

tarn_status png_create(uint32_t width, uint32_t height, png_encoder **out)
{
    png_encoder *png = calloc(1, sizeof *png);
    if (png == NULL) {
        return TARN_E_MEMORY;
    }
    png->width = width;
    size_t bytes = ((size_t)width * CHANNELS + 1) * height;
    if (deflateInit(&png->stream, LEVEL) != Z_OK) {
        free(png);
        return TARN_E_MEMORY;
    }
    png->packed_bytes_max = deflateBound(&png->stream, bytes);
    png->filtered = malloc(bytes);
    png->packed = malloc(png->packed_bytes_max);
    if (png->filtered == NULL || png->packed == NULL) {
        png_destroy(png);
        return TARN_E_MEMORY;
    }
    *out = png;
    return TARN_OK;
}

void png_destroy(png_encoder *png)
{
    if (png != NULL) {
        deflateEnd(&png->stream);
        free(png->filtered);
        free(png->packed);
        free(png);
    }
}

static uint8_t predict_paeth(int left, int up, int corner)
{
    int guess = left + up - corner;
    int to_left = abs(guess - left), to_up = abs(guess - up), to_corner = abs(guess - corner);
    return (uint8_t)(to_left <= to_up && to_left <= to_corner ? left : to_up <= to_corner ? up : corner);
}

enum { FILTER_UP = 2, FILTER_PAETH = 4 };

/// Writes a row with its differences to the row above or to Paeth's guess. @return how large they are
static uint64_t filter_row(const uint8_t *row, const uint8_t *above, size_t row_bytes, int filter, uint8_t *out)
{
    uint64_t sum = 0;
    *out++ = (uint8_t)filter;
    for (size_t i = 0; i < row_bytes; i++) {
        int up = above != NULL ? above[i] : 0;
        int left = i >= CHANNELS ? row[i - CHANNELS] : 0;
        int corner = above != NULL && i >= CHANNELS ? above[i - CHANNELS] : 0;
        int guess = filter == FILTER_UP ? up : predict_paeth(left, up, corner);
        out[i] = (uint8_t)(row[i] - guess);
        sum += (uint64_t)abs((int8_t)out[i]);
    }
    return sum;
}

const uint8_t *png_deflate(png_encoder *png, const uint8_t *rgb, png_area area, size_t *byte_count)
{
    size_t stride = (size_t)png->width * CHANNELS, row_bytes = (size_t)area.width * CHANNELS;
    uint8_t *out = png->filtered;
    for (uint32_t y = 0; y < area.height; y++) {
        const uint8_t *row = rgb + (area.y + y) * stride + (size_t)area.x * CHANNELS;
        const uint8_t *above = y > 0 ? row - stride : NULL;
        // The filter whose differences are smaller, by the heuristic of the PNG specification.
        uint64_t up = filter_row(row, above, row_bytes, FILTER_UP, out);
        if (up > 0 && filter_row(row, above, row_bytes, FILTER_PAETH, out) > up) {
            filter_row(row, above, row_bytes, FILTER_UP, out);
        }
        out += row_bytes + 1;
    }
    deflateReset(&png->stream);
    png->stream.next_in = png->filtered;
    png->stream.avail_in = (uInt)(out - png->filtered);
    png->stream.next_out = png->packed;
    png->stream.avail_out = (uInt)png->packed_bytes_max;
    int ended = deflate(&png->stream, Z_FINISH);
    TARN_ASSERT(ended == Z_STREAM_END); // deflateBound's room is enough
    (void)ended;
    *byte_count = png->packed_bytes_max - png->stream.avail_out;
    return png->packed;
}

void png_put_u32(uint8_t *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        bytes[i] = (uint8_t)(value >> (24 - 8 * i));
    }
}

bool png_write_chunk(FILE *file, const char *type, const uint8_t *head, size_t head_bytes, const uint8_t *data,
                     size_t data_bytes)
{
    uint8_t start[8], end[4];
    png_put_u32(start, (uint32_t)(head_bytes + data_bytes));
    memcpy(start + 4, type, 4);
    uLong sum = crc32(0, start + 4, 4);
    // zlib takes NULL as a question for the first value.
    sum = head_bytes > 0 ? crc32(sum, head, (uInt)head_bytes) : sum;
    sum = data_bytes > 0 ? crc32(sum, data, (uInt)data_bytes) : sum;
    png_put_u32(end, (uint32_t)sum);
    return fwrite(start, 8, 1, file) == 1 && (head_bytes == 0 || fwrite(head, head_bytes, 1, file) == 1) &&
           (data_bytes == 0 || fwrite(data, data_bytes, 1, file) == 1) && fwrite(end, 4, 1, file) == 1;
}

bool png_write_start(FILE *file, uint32_t width, uint32_t height)
{
    static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    uint8_t header[13] = {[8] = 8 /* bits */, [9] = 2 /* RGB */}, srgb[1] = {0 /* perceptual */};
    png_put_u32(header, width);
    png_put_u32(header + 4, height);
    return fwrite(signature, sizeof signature, 1, file) == 1 &&
           png_write_chunk(file, "IHDR", header, sizeof header, NULL, 0) &&
           png_write_chunk(file, "sRGB", srgb, sizeof srgb, NULL, 0);
}
