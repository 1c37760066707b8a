// Writers of pictures: PNG, animated PNG, Y4M. What is drawn is render.h's; here it becomes files.
#include "protocol/assert.h"
#include "protocol/status.h"
#include "server/tool/film/export.h"
#include "server/tool/film/render.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

// ---- PNG, encoded ----
// As far as pictures of a run need it: 8 bits per channel, RGB, with the chunks of animations. Rows are filtered by the
// smallest sum, deflated by zlib, in chunks: start at png_deflate.
//
// Format: "Portable Network Graphics (PNG) Specification (Third Edition)", W3C.

/// A part of a picture, in pixels.
typedef struct png_area {
    uint32_t x, y, width, height;
} png_area;

enum { CHANNELS = 3, LEVEL = 4 }; // of zlib: higher ones gain some per cent and take several times as long

typedef struct png_encoder {
    uint32_t width;
    uint8_t *filtered; // rows, each with its filter's number in front
    uint8_t *packed;
    size_t packed_bytes_max;
    z_stream stream;
} png_encoder;

/// Takes NULL.
static void png_destroy(png_encoder *png)
{
    if (png != NULL) {
        deflateEnd(&png->stream);
        free(png->filtered);
        free(png->packed);
        free(png);
    }
}

/// @return TARN_OK or TARN_E_MEMORY
static tarn_status png_create(uint32_t width, uint32_t height, png_encoder **out)
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

/// Compresses an area of a picture: what IDAT holds.
/// @param rgb  the whole picture
/// @return the bytes, which live until the next call; never fails
static const uint8_t *png_deflate(png_encoder *png, const uint8_t *rgb, png_area area, size_t *byte_count)
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

/// Big endian, as all numbers in a PNG.
static void png_put_u32(uint8_t *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        bytes[i] = (uint8_t)(value >> (24 - 8 * i));
    }
}

/// A chunk whose data are `head` and then `data`. @return whether it was written
static bool png_write_chunk(FILE *file, const char *type, const uint8_t *head, size_t head_bytes, const uint8_t *data,
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

/// Signature and header chunks. @return whether it was written
static bool png_write_start(FILE *file, uint32_t width, uint32_t height)
{
    static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    uint8_t header[13] = {[8] = 8 /* bits */, [9] = 2 /* RGB */}, srgb[1] = {0 /* perceptual */};
    png_put_u32(header, width);
    png_put_u32(header + 4, height);
    return fwrite(signature, sizeof signature, 1, file) == 1 &&
           png_write_chunk(file, "IHDR", header, sizeof header, NULL, 0) &&
           png_write_chunk(file, "sRGB", srgb, sizeof srgb, NULL, 0);
}

// ---- what all three need ----
// Pictures of a run. The renderer draws a frame; here it becomes
//
//     FILE-000010.png ...   one PNG for each frame
//     FILE.apng             one animated PNG, which browsers play
//     FILE.y4m, -           uncompressed video for other programs: YUV 4:2:0, full range, as JPEG has it
//
// A video plays as fast as the water runs, but shows at most FRAMES_PER_S_MAX frames in a second: browsers slow down
// what is faster.

static const double FRAMES_PER_S_MAX = 60.0;

typedef struct picture_writer {
    const char *path; // lives as long as the writer
    uint32_t width, height;
    double frames_per_s; // shown
    render *render;
    png_encoder *png;
    part_file out;               // APNG, Y4M
    uint8_t *rgb, *previous_rgb; // previous: APNG
    uint8_t *planes;             // Y4M
    uint32_t frame_count, chunk_count;
    long control_at; // where an APNG's acTL lies
} picture_writer;

static void picture_free(picture_writer *p)
{
    render_destroy(p->render);
    png_destroy(p->png);
    free(p->rgb);
    free(p->previous_rgb);
    free(p->planes);
    free(p);
}

/// A renderer and room for a picture.
static tarn_status picture_open(const char *path, const export_info *info, picture_writer **out, char *why)
{
    picture_writer *p = calloc(1, sizeof *p);
    if (p == NULL) {
        (void)export_why_memory(path, why);
        return TARN_E_MEMORY;
    }
    p->path = path;
    p->width = info->width;
    p->height = info->height;
    p->frames_per_s = fmin(info->frames_per_s, FRAMES_PER_S_MAX);
    p->rgb = malloc((size_t)p->width * p->height * 3);
    tarn_status status = p->rgb != NULL ? render_create(info, &p->render) : TARN_E_MEMORY;
    if (status != TARN_OK) {
        snprintf(why, EXPORT_WHY_BYTES, "%s: a picture of %u x %u pixels: %s", path, p->width, p->height,
                 tarn_status_text(status));
        picture_free(p);
        return status;
    }
    *out = p;
    return TARN_OK;
}

static tarn_status draw(picture_writer *p, const export_frame *frame, char *why)
{
    return render_draw(p->render, frame, p->rgb) == TARN_OK ? TARN_OK : export_why_memory(p->path, why);
}

/// Closes the one file of a video.
static tarn_status video_close(picture_writer *p, bool keep, char *why)
{
    tarn_status status = TARN_OK;
    if (!keep) {
        part_file_drop(&p->out);
    } else {
        status = part_file_close(&p->out, why);
    }
    picture_free(p);
    return status;
}

// ---- a PNG for each frame ----

static tarn_status png_open(const char *path, const export_info *info, void **writer, char *why)
{
    picture_writer *p = NULL;
    tarn_status status = picture_open(path, info, &p, why);
    if (status != TARN_OK) {
        return status;
    }
    if (png_create(p->width, p->height, &p->png) != TARN_OK) {
        picture_free(p);
        return export_why_memory(path, why);
    }
    *writer = p;
    return TARN_OK;
}

static png_area whole(const picture_writer *p)
{
    return (png_area){0, 0, p->width, p->height};
}

static tarn_status png_frame(void *writer, const export_frame *frame, char *why)
{
    picture_writer *p = writer;
    tarn_status status = draw(p, frame, why);
    if (status != TARN_OK) {
        return status;
    }
    char path[PATH_MAX + 32]; // a name that is too long is refused by part_file_open
    snprintf(path, sizeof path, "%.*s-%06u.png", (int)(strlen(p->path) - strlen(".png")), p->path, frame->step);
    status = part_file_open(&p->out, path, why);
    if (status != TARN_OK) {
        return status;
    }
    size_t bytes = 0;
    const uint8_t *data = png_deflate(p->png, p->rgb, whole(p), &bytes);
    bool written = png_write_start(p->out.file, p->width, p->height) &&
                   png_write_chunk(p->out.file, "IDAT", NULL, 0, data, bytes) &&
                   png_write_chunk(p->out.file, "IEND", NULL, 0, NULL, 0) && fflush(p->out.file) == 0;
    return written ? part_file_close(&p->out, why) : part_file_fail(&p->out, why);
}

static tarn_status png_close(void *writer, bool keep, char *why)
{
    (void)keep;
    (void)why;
    picture_free(writer);
    return TARN_OK;
}

// ---- an animated PNG ----

static tarn_status apng_open(const char *path, const export_info *info, void **writer, char *why)
{
    tarn_status status = png_open(path, info, writer, why);
    if (status != TARN_OK) {
        return status;
    }
    picture_writer *p = *writer;
    p->previous_rgb = malloc((size_t)p->width * p->height * 3);
    // The number of frames stands at the start and is known at the end.
    status = p->previous_rgb != NULL ? part_file_open_whole(&p->out, path, why) : export_why_memory(path, why);
    if (status != TARN_OK) {
        picture_free(p);
    }
    return status;
}

/// The smallest area outside of which nothing differs from the previous frame; one pixel where nothing does.
static png_area changed(const picture_writer *p)
{
    uint32_t left = p->width, right = 0, top = p->height, bottom = 0;
    size_t stride = (size_t)p->width * 3;
    for (uint32_t y = 0; y < p->height; y++) {
        const uint8_t *row = p->rgb + y * stride, *old = p->previous_rgb + y * stride;
        if (memcmp(row, old, stride) == 0) {
            continue;
        }
        uint32_t first = 0, last = p->width - 1;
        while (memcmp(row + (size_t)first * 3, old + (size_t)first * 3, 3) == 0) {
            first++;
        }
        while (memcmp(row + (size_t)last * 3, old + (size_t)last * 3, 3) == 0) {
            last--;
        }
        left = first < left ? first : left;
        right = last > right ? last : right;
        top = y < top ? y : top;
        bottom = y;
    }
    return left > right ? (png_area){0, 0, 1, 1} : (png_area){left, top, right - left + 1, bottom - top + 1};
}

static bool write_animation_control(picture_writer *p)
{
    uint8_t control[8] = {0}; // plays for ever
    png_put_u32(control, p->frame_count);
    return png_write_chunk(p->out.file, "acTL", control, sizeof control, NULL, 0);
}

static bool write_frame_control(picture_writer *p, png_area area)
{
    uint8_t control[26] = {0}; // ends with "leave it" and "replace"
    const uint32_t values[5] = {p->chunk_count++, area.width, area.height, area.x, area.y};
    for (int i = 0; i < 5; i++) {
        png_put_u32(control + 4 * i, values[i]);
    }
    uint32_t per_100_s = (uint32_t)fmax(lround(100.0 * p->frames_per_s), 1);
    control[21] = 100; // a frame lasts 100 / per_100_s seconds
    control[22] = (uint8_t)(per_100_s >> 8);
    control[23] = (uint8_t)per_100_s;
    return png_write_chunk(p->out.file, "fcTL", control, sizeof control, NULL, 0);
}

static tarn_status apng_frame(void *writer, const export_frame *frame, char *why)
{
    picture_writer *p = writer;
    tarn_status status = draw(p, frame, why);
    if (status != TARN_OK) {
        return status;
    }
    bool is_first = p->frame_count == 0;
    png_area area = is_first ? whole(p) : changed(p);
    size_t bytes = 0;
    const uint8_t *data = png_deflate(p->png, p->rgb, area, &bytes);
    bool written = true;
    if (is_first) {
        written = png_write_start(p->out.file, p->width, p->height);
        p->control_at = ftell(p->out.file);
        written = written && p->control_at >= 0 && write_animation_control(p);
    }
    written = written && write_frame_control(p, area);
    if (is_first) {
        written = written && png_write_chunk(p->out.file, "IDAT", NULL, 0, data, bytes);
    } else {
        uint8_t number[4];
        png_put_u32(number, p->chunk_count++);
        written = written && png_write_chunk(p->out.file, "fdAT", number, sizeof number, data, bytes);
    }
    uint8_t *previous = p->previous_rgb;
    p->previous_rgb = p->rgb;
    p->rgb = previous;
    p->frame_count++;
    return written && fflush(p->out.file) == 0 ? TARN_OK : export_why_errno(p->path, why);
}

static tarn_status apng_close(void *writer, bool keep, char *why)
{
    picture_writer *p = writer;
    if (keep && p->frame_count > 0 &&
        !(png_write_chunk(p->out.file, "IEND", NULL, 0, NULL, 0) && fseek(p->out.file, p->control_at, SEEK_SET) == 0 &&
          write_animation_control(p) && fflush(p->out.file) == 0)) {
        tarn_status status = part_file_fail(&p->out, why);
        picture_free(p);
        return status;
    }
    return video_close(p, keep && p->frame_count > 0, why);
}

// ---- Y4M, video ----

static tarn_status y4m_open(const char *path, const export_info *info, void **writer, char *why)
{
    picture_writer *p = NULL;
    tarn_status status = picture_open(path, info, &p, why);
    if (status != TARN_OK) {
        return status;
    }
    size_t half = (size_t)((p->width + 1) / 2) * ((p->height + 1) / 2);
    p->planes = malloc((size_t)p->width * p->height + 2 * half);
    status = p->planes != NULL ? part_file_open(&p->out, path, why) : export_why_memory(path, why);
    if (status != TARN_OK) {
        picture_free(p);
        return status;
    }
    uint32_t per_1000_s = (uint32_t)fmax(lround(1000.0 * p->frames_per_s), 1);
    fprintf(p->out.file, "YUV4MPEG2 W%u H%u F%u:1000 Ip A1:1 C420jpeg XCOLORRANGE=FULL\n", p->width, p->height,
            per_1000_s);
    *writer = p;
    return TARN_OK;
}

static uint8_t to_byte(float value)
{
    return (uint8_t)(value < 0.0f ? 0.0f : value > 255.0f ? 255.0f : value + 0.5f);
}

/// Luma for each pixel, then blue and red difference for each four; JFIF's matrix.
static size_t to_planes(picture_writer *p)
{
    uint32_t w = p->width, h = p->height;
    uint8_t *out = p->planes;
    for (size_t i = 0; i < (size_t)w * h; i++) {
        const uint8_t *c = p->rgb + 3 * i;
        *out++ = to_byte(0.299f * c[0] + 0.587f * c[1] + 0.114f * c[2]);
    }
    for (int plane = 0; plane < 2; plane++) {
        for (uint32_t y = 0; y < h; y += 2) {
            for (uint32_t x = 0; x < w; x += 2) {
                float sum[3] = {0};
                for (uint32_t k = 0; k < 4; k++) {
                    uint32_t xx = x + k % 2 < w ? x + k % 2 : x, yy = y + k / 2 < h ? y + k / 2 : y;
                    for (size_t c = 0; c < 3; c++) {
                        sum[c] += 0.25f * p->rgb[((size_t)yy * w + xx) * 3 + c];
                    }
                }
                *out++ = plane == 0 ? to_byte(128.0f - 0.168736f * sum[0] - 0.331264f * sum[1] + 0.5f * sum[2])
                                    : to_byte(128.0f + 0.5f * sum[0] - 0.418688f * sum[1] - 0.081312f * sum[2]);
            }
        }
    }
    return (size_t)(out - p->planes);
}

static tarn_status y4m_frame(void *writer, const export_frame *frame, char *why)
{
    picture_writer *p = writer;
    tarn_status status = draw(p, frame, why);
    if (status != TARN_OK) {
        return status;
    }
    size_t bytes = to_planes(p);
    bool written =
        fputs("FRAME\n", p->out.file) >= 0 && fwrite(p->planes, bytes, 1, p->out.file) == 1 && fflush(p->out.file) == 0;
    return written ? TARN_OK : export_why_errno(p->path, why);
}

static tarn_status y4m_close(void *writer, bool keep, char *why)
{
    return video_close(writer, keep, why);
}

const export_format export_png = {".png", EXPORT_PICTURE, true, "pictures", png_open, png_frame, png_close};
const export_format export_apng = {".apng", EXPORT_PICTURE, false, "pictures", apng_open, apng_frame, apng_close};
const export_format export_y4m = {".y4m", EXPORT_PICTURE, false, "pictures", y4m_open, y4m_frame, y4m_close};
