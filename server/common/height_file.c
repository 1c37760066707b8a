// Heights from PGM pictures.
#include "server/common/mesh_file.h"

#include "server/common/file_bytes.h"
#include "server/common/text_cursor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHADES_MAX = 65535 };

typedef struct picture {
    bool binary;
    uint32_t columns, rows, shade_max;
} picture;

static tarn_status read_header_number(tarn_text_cursor *cursor, const char *what, uint32_t min, uint32_t max,
                                      uint32_t *number)
{
    const tarn_text_word word = tarn_text_next_of_all(cursor);
    tarn_text_word rest;
    int64_t value;
    if (!tarn_text_integer(word, &value, &rest) || rest.bytes > 0 || value < min || value > max) {
        return tarn_text_refuse(cursor, TARN_E_MALFORMED, "found %s for %s, allowed is a whole number from %u to %u",
                                word.bytes > 0 ? tarn_text_show(word).text : "the end of the file", what, min, max);
    }
    *number = (uint32_t)value;
    return TARN_OK;
}

static tarn_status read_header(tarn_text_cursor *cursor, picture *p)
{
    tarn_status status = tarn_text_begin(cursor);
    if (status != TARN_OK) {
        return status;
    }
    const tarn_text_word magic = tarn_text_next_of_all(cursor);
    if (!tarn_text_is(magic, "P2") && !tarn_text_is(magic, "P5")) {
        return tarn_text_refuse(cursor, TARN_E_MALFORMED, "found %s, allowed are \"P2\" and \"P5\"",
                                tarn_text_show(magic).text);
    }
    p->binary = magic.text[1] == '5';
    const uint32_t min = TARN_HEIGHTS_PER_SIDE_MIN, max = TARN_HEIGHTS_PER_SIDE_MAX;
    status = read_header_number(cursor, "the width", min, max, &p->columns);
    if (status == TARN_OK) {
        status = read_header_number(cursor, "the height", min, max, &p->rows);
    }
    if (status == TARN_OK) {
        status = read_header_number(cursor, "the brightest shade", 1, SHADES_MAX, &p->shade_max);
    }
    return status;
}

/// One byte after the header, then one or two for each pixel, the high one first.
static tarn_status read_binary(tarn_text_cursor *cursor, const picture *p, float white_m, float *heights_m)
{
    const size_t count = (size_t)p->columns * p->rows, pixel_bytes = p->shade_max > 255 ? 2 : 1;
    cursor->line = 0;
    const size_t left = (size_t)(cursor->end - cursor->at);
    if (left < 1 || (left - 1) / pixel_bytes < count) {
        return tarn_text_refuse(cursor, TARN_E_MALFORMED,
                                "found %zu bytes after the header, allowed are %zu for %u x %u pixels",
                                left < 1 ? 0 : left - 1, count * pixel_bytes, p->columns, p->rows);
    }
    const unsigned char *pixel = (const unsigned char *)cursor->at + 1;
    for (size_t i = 0; i < count; i++, pixel += pixel_bytes) {
        const uint32_t shade = pixel_bytes == 2 ? (uint32_t)pixel[0] << 8 | pixel[1] : pixel[0];
        if (shade > p->shade_max) {
            return tarn_text_refuse(cursor, TARN_E_MALFORMED, "pixel %zu: found the shade %u, allowed are 0 to %u", i,
                                    shade, p->shade_max);
        }
        heights_m[i] = (float)((double)shade / p->shade_max * (double)white_m);
    }
    return TARN_OK;
}

static tarn_status read_text(tarn_text_cursor *cursor, const picture *p, float white_m, float *heights_m)
{
    for (size_t i = 0; i < (size_t)p->columns * p->rows; i++) {
        uint32_t shade = 0;
        const tarn_status status = read_header_number(cursor, "a pixel", 0, p->shade_max, &shade);
        if (status != TARN_OK) {
            return status;
        }
        heights_m[i] = (float)((double)shade / p->shade_max * (double)white_m);
    }
    return TARN_OK;
}

tarn_status tarn_height_bytes_read(const char *origin, float spacing_m, float white_m, const void *bytes,
                                   size_t byte_count, tarn_height_map *map, char *why, size_t why_bytes)
{
    tarn_text_cursor cursor = {.origin = origin, .comment = '#', .why = why, .why_bytes = why_bytes};
    picture p = {.binary = false};
    if (!(fabsf(white_m) <= TARN_MESH_COORDINATE_M_MAX)) {
        return tarn_text_refuse(&cursor, TARN_E_MALFORMED, "found %g m for white, allowed are -%g to %g m",
                                (double)white_m, (double)TARN_MESH_COORDINATE_M_MAX,
                                (double)TARN_MESH_COORDINATE_M_MAX);
    }
    cursor.at = bytes;
    cursor.end = cursor.at + byte_count;
    cursor.line = 1;
    tarn_status status = read_header(&cursor, &p);
    if (status != TARN_OK) {
        return status;
    }
    float *heights_m = malloc((size_t)p.columns * p.rows * sizeof *heights_m);
    if (heights_m == NULL) {
        return tarn_text_refuse(&cursor, TARN_E_MEMORY, "out of memory for %u x %u heights", p.columns, p.rows);
    }
    status = p.binary ? read_binary(&cursor, &p, white_m, heights_m) : read_text(&cursor, &p, white_m, heights_m);
    if (status == TARN_OK) {
        *map = (tarn_height_map){p.columns, p.rows, spacing_m, heights_m};
    } else {
        free(heights_m);
    }
    return status;
}

tarn_status tarn_height_file_read(const char *path, float spacing_m, float white_m, tarn_height_map *map, char *why,
                                  size_t why_bytes)
{
    char *bytes = NULL;
    size_t byte_count;
    tarn_status status =
        tarn_file_bytes_read(path, TARN_HEIGHT_FILE_BYTES_MAX, "a PGM picture", &bytes, &byte_count, why, why_bytes);
    if (status != TARN_OK) {
        return status;
    }
    status = tarn_height_bytes_read(path, spacing_m, white_m, bytes, byte_count, map, why, why_bytes);
    free(bytes);
    return status;
}

void tarn_height_map_free(tarn_height_map *map)
{
    free(map->heights_m);
    *map = (tarn_height_map){.heights_m = NULL};
}
