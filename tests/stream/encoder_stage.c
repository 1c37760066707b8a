#include "tests/stream/encoder_stage.h"

#include <stdlib.h>
#include <string.h>

const tank_fixture *fixture_named(const char *name)
{
    int f = 0;
    while (strcmp(tank_fixtures[f].name, name) != 0) {
        assert_true(++f < TANK_FIXTURE_COUNT);
    }
    return &tank_fixtures[f];
}

stage open_stage(const tarn_device_desc *on, const tarn_tank_desc *tank, const tarn_encoder_desc *desc)
{
    stage s = {.epoch = 1, .bytes = malloc(FRAME_BYTES_MAX)};
    char why[256] = "";
    assert_int_equal(tarn_device_create(on, &s.device), TARN_OK);
    if (tarn_tank_create(s.device, tank, &s.tank, why, sizeof why) != TARN_OK) {
        fail_msg("%s", why);
    }
    assert_int_equal(tarn_encoder_create(s.tank, desc, &s.encoder), TARN_OK);
    return s;
}

void close_stage(stage *s)
{
    tarn_encoder_destroy(s->encoder);
    tarn_tank_destroy(s->tank);
    tarn_device_destroy(s->device);
    free(s->memory);
    free(s->seen.positions);
    free(s->seen.velocities);
    free(s->bytes);
}

tarn_stream_kind encode(stage *s, tarn_stream_kind kind)
{
    const tarn_tank_frame_info info = {.epoch = s->epoch, .realtime_factor = 1.0f};
    const tarn_status status = tarn_encoder_encode(s->encoder, kind, &info, s->bytes, FRAME_BYTES_MAX, &s->head);
    if (status != TARN_OK) {
        fail_msg("%s", tarn_status_text(status));
    }
    return (tarn_stream_kind)s->head.kind;
}

tarn_status show(stage *s, uint32_t layers)
{
    tarn_stream_frame frame;
    assert_int_equal(tarn_stream_open(s->bytes, tarn_stream_cut_bytes(&s->head, layers), &frame), TARN_OK);
    assert_int_equal(frame.layers_present, layers < frame.head.layer_count ? layers : frame.head.layer_count);
    if (s->decoder == NULL) {
        tarn_stream_size size = tarn_stream_size_of(&frame);
        size.slots = s->encoder->room.slots;
        size.field_tiles = s->encoder->view.field_tiles_max; // of those to come
        size.field_levels = (TILE_CELLS + TILE_CELLS / 8) * size.field_tiles;
        s->memory = aligned_alloc(16, (tarn_stream_bytes(&size) + 15) / 16 * 16);
        s->decoder = tarn_stream_make(s->memory, &size);
        s->seen.particles_max = size.slots;
        s->seen.positions = malloc(8 * (size_t)size.slots);
        s->seen.velocities = malloc(4 * (size_t)size.slots);
    }
    return tarn_stream_decode(s->decoder, &frame, &s->seen);
}

uint32_t particle_count(const stage *s)
{
    tarn_tank_report report;
    tarn_tank_report_light(s->tank, &report);
    return report.particle_count;
}

uint32_t *particles_of_slots(const stage *s)
{
    const tarn_encoder *e = s->encoder;
    uint32_t *particle = malloc(e->room.slots * sizeof *particle);
    memset(particle, 0xff, e->room.slots * sizeof *particle);
    for (uint32_t i = 0; i < particle_count(s); i++) {
        if (e->args.seat[i] != TILE_NONE) {
            particle[e->args.w.place_slot[e->args.seat[i]]] = i;
        }
    }
    return particle;
}

tarn_stream_kind kind_at(uint32_t frame)
{
    return frame % 12 == 0 ? TARN_STREAM_KEY : frame % 2 == 0 ? TARN_STREAM_BASE : TARN_STREAM_EXTRA;
}

bool is_closed(const tank_fixture *fixture)
{
    tarn_tank_desc desc;
    fixture->describe(&desc);
    return desc.emitter_count == 0 && desc.drain_count == 0 && !desc.reseed;
}
