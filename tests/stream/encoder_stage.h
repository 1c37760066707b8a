/// A tank, its encoder and a decoder that sees all frames: for the encoder's tests.
#ifndef TARN_TESTS_STREAM_ENCODER_STAGE_H
#define TARN_TESTS_STREAM_ENCODER_STAGE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> // needs those above

#include "kernels/stream/encoder.h"
#include "tests/kernels/tank_fixtures.h"

enum { FRAME_BYTES_MAX = 8 << 20 };

/// The liquid's channels as frames number them.
enum { STAGE_PRESSURE = 5, STAGE_DENSITY = 6 };

typedef struct stage {
    tarn_device *device;
    tarn_tank *tank;
    tarn_encoder *encoder;
    uint8_t *bytes;
    tarn_stream_head head;
    void *memory;
    tarn_stream *decoder;
    tarn_stream_particles seen;
    uint32_t epoch;
} stage;

static const tarn_device_desc one_thread = {.kind = TARN_DEVICE_CPU, .threads = 1};

const tank_fixture *fixture_named(const char *name);
/// Whether no particle of it comes or goes.
bool is_closed(const tank_fixture *fixture);

stage open_stage(const tarn_device_desc *on, const tarn_tank_desc *tank, const tarn_encoder_desc *desc);
void close_stage(stage *s);

/// Encodes the next frame. @return its kind
tarn_stream_kind encode(stage *s, tarn_stream_kind kind);

/// The kind of a frame of a usual sequence.
tarn_stream_kind kind_at(uint32_t frame);

/// Shows the frame, cut behind `layers` of its layers, to the decoder; with one more than there are, all of it.
tarn_status show(stage *s, uint32_t layers);

uint32_t particle_count(const stage *s);

/// Which particle of the tank each slot is, or TILE_NONE. The caller frees it.
uint32_t *particles_of_slots(const stage *s);

#endif
