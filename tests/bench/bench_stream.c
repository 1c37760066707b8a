// What frames cost: bits per particle and nanoseconds, for shipped scenes under way, beside what a set of particles is
// worth. README.md says how the figures are meant.
#include "kernels/step_input.h"
#include "tests/bench/stream_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct bench_options {
    const char *scenes[32], *dump, *field; ///< field: by name; NULL: none
    uint32_t scene_count, bits[8], bits_count, layers, steps, key_every, base_every, steps_per_frame;
} bench_options;

/// Sums over frames of a kind.
typedef struct bench_sum {
    double head, flow, places, particles, encode_s, decode_s;
    double blocks, details, cells; ///< of the field: bits, and cells of its tiles
    double bound, bound_each;      ///< of all layers together, and the sum of each layer's own
    uint32_t frames;
} bench_sum;

static double log2_choose(double n, double k)
{
    return (lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0)) / log(2.0);
}

/// What the places of some layers together are worth: which of the cells of occupied tiles hold particles, and where in
/// these the particles are.
static double bound_of(const tarn_stream_particles *p, const tarn_stream_head *head, uint32_t layer_first,
                       uint32_t layer_last)
{
    const uint32_t shift = p->unit_bits;
    const size_t nx = head->cells[0], ny = head->cells[1], nz = head->cells[2];
    const size_t tx = (nx + 7) / 8, ty = (ny + 7) / 8, tz = (nz + 7) / 8;
    uint8_t *cell = calloc(nx * ny, nz), *tile = calloc(tx * ty, tz);
    double cells = 0.0, tiles = 0.0, particles = 0.0;
    for (uint32_t i = 0; i < p->count; i++) {
        const uint16_t *at = p->positions + 4 * (size_t)i;
        const uint32_t layer = (uint32_t)p->velocities[4 * (size_t)i + 3];
        const size_t x = at[0] >> shift, y = at[1] >> shift, z = at[2] >> shift;
        if (layer < layer_first || layer > layer_last) {
            continue;
        }
        particles++;
        cells += cell[(z * ny + y) * nx + x] == 0;
        tiles += tile[(z / 8 * ty + y / 8) * tx + x / 8] == 0;
        cell[(z * ny + y) * nx + x] = tile[(z / 8 * ty + y / 8) * tx + x / 8] = 1;
    }
    free(cell);
    free(tile);
    return log2_choose(512.0 * tiles, cells) + log2_choose(ldexp(cells, 3 * head->place_bits), particles);
}

static void add_frame(bench_sum *sum, const tarn_stream_head *head, const tarn_stream_particles *p, double encode_s,
                      double decode_s)
{
    double layers = 0.0;
    for (uint32_t l = 0; l < head->layer_count; l++) {
        layers += head->layers[l].bytes;
    }
    sum->head += 8.0 * (double)tarn_stream_head_bytes(head);
    sum->flow += 8.0 * head->flow_bytes;
    sum->places += 8.0 * layers;
    sum->particles += p->count;
    sum->blocks += 8.0 * head->field.coarse_bytes;
    sum->details += 8.0 * head->field.fine_bytes;
    sum->cells += (double)head->field.tiles * tarn_field_tile_levels(head->cells[2], TARN_FIELD_FINE);
    sum->encode_s += encode_s;
    sum->decode_s += decode_s;
    for (uint32_t l = 0; head->kind == TARN_STREAM_KEY && l < head->layer_count; l++) {
        sum->bound_each += bound_of(p, head, l, l);
    }
    if (head->kind == TARN_STREAM_KEY) {
        sum->bound += bound_of(p, head, 0, head->layer_count - 1);
    }
    sum->frames++;
}

static void print_sum(const char *name, const bench_sum *sum, double all)
{
    if (sum->frames == 0) {
        return;
    }
    printf("  %-6s %4u frames  flow %6.3f  places %7.3f  all %7.3f bits  encode %5.1f  decode %5.1f ns", name,
           sum->frames, sum->flow / sum->particles, sum->places / sum->particles,
           (sum->head + sum->flow + sum->places) / sum->particles, 1e9 * sum->encode_s / sum->particles,
           1e9 * sum->decode_s / sum->particles);
    if (sum->bound > 0.0) {
        printf("  %.4f of the bound, %.4f of the layers' own", sum->places / sum->bound, sum->places / sum->bound_each);
    }
    if (all > 0.0) {
        printf("  %.2f Mbit/s", all);
    }
    printf("\n");
    if (sum->cells > 0.0) {
        printf("         field, bits a cell: blocks %.3f, details %.3f, all %.3f; a particle: %.3f\n",
               sum->blocks / sum->cells, sum->details / sum->cells, (sum->blocks + sum->details) / sum->cells,
               (sum->blocks + sum->details) / sum->particles);
    }
}

/// A key frame's places for other codecs: as a PLY of whole numbers, and packed with as many bits as they have. Two
/// corners make sure that a codec which quantizes by the points' extent keeps the numbers as they are.
static bool dump_places(const char *folder, const char *scene, const tarn_stream_head *head,
                        const tarn_stream_particles *p)
{
    char path[4096];
    uint32_t bits = 0;
    for (int a = 0; a < 3; a++) {
        while (((uint32_t)head->cells[a] << head->place_bits) > 1u << bits) {
            bits++;
        }
    }
    snprintf(path, sizeof path, "%s/%s.%u.%llu.%u.ply", folder, scene, head->place_bits, (unsigned long long)head->step,
             bits);
    FILE *ply = fopen(path, "wb");
    snprintf(path, sizeof path, "%s/%s.%u.%llu.%u.bin", folder, scene, head->place_bits, (unsigned long long)head->step,
             bits);
    FILE *packed = fopen(path, "wb");
    if (ply == NULL || packed == NULL) {
        return false;
    }
    fprintf(ply,
            "ply\nformat binary_little_endian 1.0\nelement vertex %u\nproperty float x\nproperty float y\n"
            "property float z\nend_header\n",
            p->count + 2);
    const float corners[2][3] = {{0.0f, 0.0f, 0.0f},
                                 {(float)((1u << bits) - 1), (float)((1u << bits) - 1), (float)((1u << bits) - 1)}};
    fwrite(corners, sizeof corners, 1, ply);
    uint64_t rest = 0;
    uint32_t rest_bits = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        for (size_t a = 0; a < 3; a++) {
            const uint32_t at = (uint32_t)p->positions[4 * (size_t)i + a] >> (p->unit_bits - head->place_bits);
            const float place = (float)at;
            fwrite(&place, sizeof place, 1, ply);
            rest |= (uint64_t)at << rest_bits;
            for (rest_bits += bits; rest_bits >= 8; rest_bits -= 8, rest >>= 8) {
                fputc((int)(rest & 0xff), packed);
            }
        }
    }
    fputc((int)rest, packed);
    const bool failed = fclose(ply) != 0;
    return fclose(packed) == 0 && !failed;
}

static tarn_stream_kind kind_of(const bench_options *o, uint32_t frame)
{
    return frame % o->key_every == 0    ? TARN_STREAM_KEY
           : frame % o->base_every == 0 ? TARN_STREAM_BASE
                                        : TARN_STREAM_EXTRA;
}

static bool stream_tank(tarn_tank *tank, const bench_options *o, const char *name, uint32_t bits)
{
    tarn_encoder_desc desc;
    tarn_encoder *encoder;
    tarn_encoder_desc_default(&desc);
    desc.place_bits = bits;
    desc.layers = o->layers;
    if (tarn_encoder_create(tank, &desc, &encoder) != TARN_OK) {
        return false;
    }
    const int field = o->field != NULL ? tarn_model_field_find(tarn_tank_model(tank), o->field) : -1;
    if (o->field != NULL && (field < 0 || tarn_encoder_carry_field(encoder, (uint32_t)field + 1) != TARN_OK)) {
        fprintf(stderr, "bench_stream: found --field %s, which the tank doesn't have\n", o->field);
        tarn_encoder_destroy(encoder);
        return false;
    }
    uint8_t *bytes = malloc(BENCH_FRAME_BYTES_MAX);
    bench_decoder decoder = {0};
    bench_sum sums[4] = {0};
    bool is_well = true;
    for (uint32_t step = 0; is_well && step < o->steps; step++) {
        is_well = tarn_tank_step(tank, NULL) == TARN_OK;
        if (step < BENCH_STEPS_FIRST || (step - BENCH_STEPS_FIRST) % o->steps_per_frame != 0) {
            continue;
        }
        const tarn_stream_kind kind = kind_of(o, (step - BENCH_STEPS_FIRST) / o->steps_per_frame);
        const tarn_tank_frame_info info = {.epoch = 1, .realtime_factor = 1.0f};
        tarn_stream_head head;
        double decode_s = 0.0;
        const double began = bench_thread_s();
        const tarn_status status = tarn_encoder_encode(encoder, kind, &info, bytes, BENCH_FRAME_BYTES_MAX, &head);
        const double encode_s = bench_thread_s() - began;
        if (status != TARN_OK) {
            fprintf(stderr, "step %u: %s\n", step, tarn_status_text(status));
        }
        is_well = is_well && status == TARN_OK && bench_decode(&decoder, bytes, head.frame_bytes, &decode_s);
        if (is_well && o->dump != NULL && head.kind == TARN_STREAM_KEY) {
            is_well = dump_places(o->dump, name, &head, &decoder.out);
        }
        if (!is_well) {
            break;
        }
        add_frame(&sums[head.kind], &head, &decoder.out, encode_s, decode_s);
        add_frame(&sums[3], &head, &decoder.out, encode_s, decode_s);
    }
    const char *names[4] = {"key", "base", "extra", "stream"};
    sums[3].bound = 0.0;
    const double hz = 1.0 / ((double)tarn_tank_desc_of(tank)->dt_s * o->steps_per_frame);
    for (int k = 0; k < 4; k++) {
        print_sum(names[k], &sums[k],
                  k == 3 ? (sums[k].head + sums[k].flow + sums[k].places) / sums[k].frames * hz * 1e-6 : 0.0);
    }
    bench_decoder_free(&decoder);
    free(bytes);
    tarn_encoder_destroy(encoder);
    return is_well;
}

static bool stream_scene(const char *name, const bench_options *o)
{
    bench_tank bench;
    bool is_well = bench_tank_open(&bench, name);
    if (!is_well) {
        return false;
    }
    for (uint32_t i = 0; is_well && i < o->bits_count; i++) {
        printf("%s, quanta of 1/%u cell, %u layers\n", name, 1u << o->bits[i], o->layers);
        is_well = tarn_tank_reset(bench.tank) == TARN_OK && stream_tank(bench.tank, o, name, o->bits[i]);
        fflush(stdout);
    }
    if (!is_well) {
        fprintf(stderr, "bench_stream: %s failed\n", name);
    }
    bench_tank_close(&bench);
    return is_well;
}

int main(int argc, char **argv)
{
    bench_options o = {.layers = 4, .steps = 270, .key_every = 30, .base_every = 2, .steps_per_frame = 2};
    for (int i = 1; i < argc; i++) {
        uint32_t *number = strcmp(argv[i], "--layers") == 0  ? &o.layers
                           : strcmp(argv[i], "--steps") == 0 ? &o.steps
                           : strcmp(argv[i], "--key") == 0   ? &o.key_every
                           : strcmp(argv[i], "--base") == 0  ? &o.base_every
                           : strcmp(argv[i], "--every") == 0 ? &o.steps_per_frame
                           : strcmp(argv[i], "--bits") == 0  ? &o.bits[o.bits_count < 7 ? o.bits_count++ : 7]
                                                             : NULL;
        if (number == NULL && argv[i][0] != '-' && o.scene_count < 32) {
            o.scenes[o.scene_count++] = argv[i];
        } else if (strcmp(argv[i], "--dump") == 0 && i + 1 < argc) {
            o.dump = argv[++i];
        } else if (strcmp(argv[i], "--field") == 0 && i + 1 < argc) {
            o.field = argv[++i];
        } else if (number == NULL || i + 1 == argc || sscanf(argv[++i], "%u", number) != 1 ||
                   (*number == 0 && number != &o.bits[o.bits_count - 1])) {
            fprintf(stderr,
                    "usage: bench_stream [--bits B]... [--layers N] [--steps N] [--every STEPS] [--base FRAMES]\n"
                    "           [--key FRAMES] [--dump FOLDER] [--field NAME] [SCENE...]\n");
            return 2;
        }
    }
    for (uint32_t i = 0; i < o.bits_count; i++) {
        if (o.bits[i] > TARN_SET_BITS_MAX) {
            fprintf(stderr, "bench_stream: found --bits %u, allowed are 0 to %d, of a cell's edge\n", o.bits[i],
                    TARN_SET_BITS_MAX);
            return 2;
        }
    }
    if (o.layers == 0 || o.layers > TARN_STREAM_LAYERS_MAX) {
        fprintf(stderr, "bench_stream: found --layers %u, allowed are 1 to %d\n", o.layers, TARN_STREAM_LAYERS_MAX);
        return 2;
    }
    if (o.bits_count == 0) {
        o.bits[o.bits_count++] = 4;
    }
    if (o.scene_count == 0) {
        o.scenes[o.scene_count++] = "dam-break";
    }
    bool is_well = true;
    for (uint32_t i = 0; i < o.scene_count; i++) {
        is_well &= stream_scene(o.scenes[i], &o);
    }
    return is_well ? 0 : 1;
}
