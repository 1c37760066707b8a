// Records a scene's frames as a stream, for tests that play them: a file of frames, each behind its size as a u32,
// little-endian. The same options give the same bytes on every machine.
#include "kernels/encoder.h"
#include "kernels/step_input.h"
#include "server/scene/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_BYTES_MAX = 64 << 20 };

typedef struct record_options {
    const char *scene, *output;
    uint32_t frames, first, every, key, base, bits, layers, reset;
} record_options;

static const char usage[] =
    "usage: record_stream SCENE.json OUTPUT.bin [--frames N] [--first STEPS] [--every STEPS] [--key FRAMES]\n"
    "           [--base FRAMES] [--bits B] [--layers N] [--reset FRAME]\n"
    "  OUTPUT \"-\" is standard output; every so many frames is a key or a base frame, the others are extra frames;\n"
    "  before frame --reset (0: never) the tank starts afresh\n";

static tarn_stream_kind kind_of(const record_options *o, uint32_t frame)
{
    return frame % o->key == 0 ? TARN_STREAM_KEY : frame % o->base == 0 ? TARN_STREAM_BASE : TARN_STREAM_EXTRA;
}

static bool write_frame(FILE *file, const uint8_t *bytes, uint32_t byte_count)
{
    const uint8_t size[4] = {(uint8_t)byte_count, (uint8_t)(byte_count >> 8), (uint8_t)(byte_count >> 16),
                             (uint8_t)(byte_count >> 24)};
    return fwrite(size, sizeof size, 1, file) == 1 && fwrite(bytes, byte_count, 1, file) == 1;
}

static tarn_status advance(tarn_tank *tank, uint32_t steps)
{
    tarn_status status = TARN_OK;
    for (uint32_t i = 0; status == TARN_OK && i < steps; i++) {
        status = tarn_tank_step(tank, NULL);
    }
    return status;
}

static tarn_status record(tarn_tank *tank, const record_options *o, FILE *file)
{
    tarn_encoder_desc desc;
    tarn_encoder *encoder;
    tarn_encoder_desc_default(&desc);
    desc.place_bits = o->bits;
    desc.layers = o->layers;
    tarn_status status = tarn_encoder_create(tank, &desc, &encoder);
    if (status != TARN_OK) {
        return status;
    }
    uint8_t *bytes = malloc(FRAME_BYTES_MAX);
    uint32_t epoch = 1;
    status = bytes != NULL ? advance(tank, o->first) : TARN_E_MEMORY;
    for (uint32_t i = 0; status == TARN_OK && i < o->frames; i++) {
        if (o->reset > 0 && i == o->reset) {
            status = tarn_tank_reset(tank);
            epoch++;
        }
        const uint64_t time_us = UINT64_C(1767225600000000) + i * (uint64_t)o->every * 16667;
        const tarn_tank_frame_info info = {.epoch = epoch, .realtime_factor = 1.0f, .server_time_us = time_us};
        tarn_stream_head head;
        if (status == TARN_OK) {
            status = tarn_encoder_encode(encoder, kind_of(o, i), &info, bytes, FRAME_BYTES_MAX, &head);
        }
        if (status == TARN_OK && !write_frame(file, bytes, head.frame_bytes)) {
            status = TARN_E_IO;
        }
        if (status == TARN_OK) {
            status = advance(tank, o->every);
        }
    }
    free(bytes);
    tarn_encoder_destroy(encoder);
    return status;
}

static bool record_scene(const record_options *o, FILE *file)
{
    const tarn_device_desc on = {.kind = TARN_DEVICE_CPU, .threads = 1};
    char why[TARN_SCENE_WHY_BYTES] = "";
    tarn_scene scene;
    tarn_device *device = NULL;
    tarn_tank *tank = NULL;
    tarn_status status = tarn_scene_read_file(o->scene, &scene, why, sizeof why);
    if (status != TARN_OK) {
        fprintf(stderr, "record_stream: %s\n", why);
        return false;
    }
    status = tarn_device_create(&on, &device);
    if (status == TARN_OK) {
        status = tarn_tank_create(device, &scene.tank, &tank, why, sizeof why);
    }
    if (status == TARN_OK) {
        status = record(tank, o, file);
    }
    if (status != TARN_OK) {
        fprintf(stderr, "record_stream: %s: %s %s\n", o->scene, tarn_status_text(status), why);
    }
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
    tarn_scene_free(&scene);
    return status == TARN_OK;
}

/// @return false where an option is none or its value isn't one
static bool read_options(int argc, char **argv, record_options *o)
{
    const struct {
        const char *name;
        uint32_t *value, min;
    } options[] = {{"--frames", &o->frames, 1}, {"--first", &o->first, 0}, {"--every", &o->every, 1},
                   {"--key", &o->key, 1},       {"--base", &o->base, 1},   {"--bits", &o->bits, 0},
                   {"--layers", &o->layers, 1}, {"--reset", &o->reset, 0}};
    for (int i = 3; i < argc; i += 2) {
        char *end = NULL;
        const unsigned long value = i + 1 < argc ? strtoul(argv[i + 1], &end, 10) : 0;
        bool is_known = false;
        for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
            if (strcmp(argv[i], options[k].name) != 0 || value < options[k].min || value > 1000000) {
                continue;
            }
            *options[k].value = (uint32_t)value;
            is_known = true;
        }
        if (!is_known || end == NULL || end == argv[i + 1] || *end != '\0') {
            return false;
        }
    }
    o->scene = argc > 2 ? argv[1] : NULL;
    o->output = argc > 2 ? argv[2] : NULL;
    return argc > 2;
}

int main(int argc, char **argv)
{
    record_options o = {.frames = 30, .every = 2, .key = 15, .base = 2, .bits = 4, .layers = 4};
    if (!read_options(argc, argv, &o)) {
        fputs(usage, stderr);
        return 2;
    }
    FILE *file = strcmp(o.output, "-") == 0 ? stdout : fopen(o.output, "wb");
    if (file == NULL) {
        fprintf(stderr, "record_stream: %s can't be written\n", o.output);
        return 1;
    }
    const bool is_recorded = record_scene(&o, file);
    return fclose(file) == 0 && is_recorded ? 0 : 1;
}
