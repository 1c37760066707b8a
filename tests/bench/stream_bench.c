#include "tests/bench/stream_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double bench_thread_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool bench_tank_open(bench_tank *bench, const char *scene)
{
    char path[4096], why[TARN_SCENE_WHY_BYTES] = "";
    memset(bench, 0, sizeof *bench);
    if (tarn_scene_resolve(scene, NULL, path, sizeof path, why, sizeof why) != TARN_OK ||
        tarn_scene_read_file(path, &bench->scene, why, sizeof why) != TARN_OK) {
        fprintf(stderr, "%s: %s\n", scene, why);
        return false;
    }
    const tarn_device_desc on = {.kind = TARN_DEVICE_CPU, .threads = 1};
    if (tarn_device_create(&on, &bench->device) == TARN_OK &&
        tarn_tank_create(bench->device, &bench->scene.tank, &bench->tank, why, sizeof why) == TARN_OK) {
        return true;
    }
    fprintf(stderr, "%s: no tank: %s\n", scene, why);
    bench_tank_close(bench);
    return false;
}

void bench_tank_close(bench_tank *bench)
{
    tarn_tank_destroy(bench->tank);
    tarn_device_destroy(bench->device);
    tarn_scene_free(&bench->scene);
}

static void make(bench_decoder *d, const tarn_stream_frame *frame)
{
    tarn_stream_size size = tarn_stream_size_of(frame);
    size.slots += size.slots / 2 + 4096;
    d->memory = aligned_alloc(16, (tarn_stream_bytes(&size) + 15) / 16 * 16);
    d->stream = tarn_stream_make(d->memory, &size);
    d->out.particles_max = size.slots;
    d->out.positions = malloc(8 * (size_t)size.slots);
    d->out.velocities = malloc(4 * (size_t)size.slots);
}

bool bench_decode(bench_decoder *d, const uint8_t *bytes, size_t byte_count, double *seconds)
{
    tarn_stream_frame frame;
    if (tarn_stream_open(bytes, byte_count, &frame) != TARN_OK) {
        return false;
    }
    if (d->stream == NULL) {
        make(d, &frame);
    }
    const double began = bench_thread_s();
    const tarn_status status = tarn_stream_decode(d->stream, &frame, &d->out);
    if (seconds != NULL) {
        *seconds = bench_thread_s() - began;
    }
    if (status != TARN_OK) {
        fprintf(stderr, "frame %u of kind %u: %s\n", frame.head.number, frame.head.kind, tarn_status_text(status));
    }
    return status == TARN_OK;
}

void bench_decoder_free(bench_decoder *d)
{
    free(d->memory);
    free(d->out.positions);
    free(d->out.velocities);
}
