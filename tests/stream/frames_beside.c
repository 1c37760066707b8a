// A fixture's frames, each made between two steps or finished behind the next one.
#include "tests/stream/frames_beside.h"
#include "kernels/encoder.h"
#include "tests/stream/late_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 4 << 20, FRAMES_MAX = 16 };

/// When frames are finished.
typedef enum when { AT_ONCE, BEHIND_STEP, HELD_BEHIND_STEP } when;

typedef struct played {
    tarn_device *device;
    tarn_tank *tank;
    tarn_encoder *encoder;
    uint8_t *bytes;
    uint64_t digest[FRAMES_MAX];
} played;

static bool fail(char why[256], const char *what, uint32_t frame, tarn_status status)
{
    if (status != TARN_OK && why[0] == '\0') {
        snprintf(why, 256, "%s, frame %u: %s", what, frame, tarn_status_text(status));
    }
    return status != TARN_OK;
}

static bool open_played(played *p, const tarn_device_desc *on, const tank_fixture *fixture, when finished,
                        char why[256])
{
    tarn_tank_desc desc;
    tarn_encoder_desc how;
    char tank_why[200] = "";
    *p = (played){.bytes = malloc(BYTES_MAX)};
    fixture->describe(&desc);
    tarn_encoder_desc_default(&how);
    if (fail(why, "device", 0, tarn_device_create(on, &p->device)) ||
        fail(why, "tank", 0, tarn_tank_create(p->device, &desc, &p->tank, tank_why, sizeof tank_why))) {
        return false;
    }
    if (finished == HELD_BEHIND_STEP) {
        late_queue_next(p->device);
    }
    return !fail(why, "encoder", 0, tarn_encoder_create(p->tank, &how, &p->encoder));
}

static void close_played(played *p, when finished)
{
    tarn_encoder_destroy(p->encoder);
    if (finished == HELD_BEHIND_STEP) {
        late_queue_end(p->device);
    }
    tarn_tank_destroy(p->tank);
    tarn_device_destroy(p->device);
    free(p->bytes);
}

static tarn_status step(played *p, const tank_fixture *fixture, uint32_t index)
{
    static tarn_step_input input;
    static tarn_step_refusals refusals;
    tank_fixture_input(fixture, tarn_tank_desc_of(p->tank), index, &input);
    const tarn_status status = tarn_tank_admit(p->tank, &input, &refusals);
    return status == TARN_OK ? tarn_tank_step(p->tank, &input) : status;
}

static tarn_status begin(played *p, uint32_t frame)
{
    const tarn_frame_input inputs[2] = {{1, 2}, {3, frame}};
    const tarn_tank_frame_info info = {.epoch = 1, .realtime_factor = 1.0f, .input_count = frame % 3, .inputs = inputs};
    const tarn_stream_kind kind = frame % 9 == 0   ? TARN_STREAM_KEY
                                  : frame % 3 == 1 ? TARN_STREAM_EXTRA
                                                   : TARN_STREAM_BASE;
    const tarn_model *model = tarn_tank_model(p->tank);
    tarn_status status =
        tarn_encoder_carry(p->encoder, frame % 3 == 0 ? 0 : 5 + frame % 3 % (model->channel_count - 4));
    if (status == TARN_OK) {
        status = tarn_encoder_carry_field(p->encoder, model->field_count > 0 ? 1 + frame / 6 % model->field_count : 0);
    }
    return status == TARN_OK ? tarn_encoder_begin(p->encoder, kind, &info) : status;
}

static tarn_status finish(played *p, uint32_t frame)
{
    tarn_stream_head head;
    const tarn_status status = tarn_encoder_finish(p->encoder, p->bytes, BYTES_MAX, &head);
    uint64_t digest = 0xcbf29ce484222325ull;
    for (uint32_t i = 0; status == TARN_OK && i < head.frame_bytes; i++) {
        digest = (digest ^ p->bytes[i]) * 0x100000001b3ull; // FNV-1a
    }
    p->digest[frame] = digest;
    return status;
}

static bool play(played *p, const tank_fixture *fixture, uint32_t frames, when finished, char why[256])
{
    bool is_well = !fail(why, "step", 0, step(p, fixture, 0));
    for (uint32_t i = 0; i < frames && is_well; i++) {
        is_well = !fail(why, "begin", i, begin(p, i));
        if (is_well && finished == AT_ONCE) {
            is_well = !fail(why, "finish", i, finish(p, i));
        } else if (is_well && finished == HELD_BEHIND_STEP &&
                   (late_queue_waiting() == 0 || tarn_encoder_is_done(p->encoder))) {
            snprintf(why, 256, "frame %u has nothing to do beside the step", i);
            return false;
        }
        is_well = is_well && !fail(why, "step", i, step(p, fixture, i + 1));
        if (is_well && finished != AT_ONCE) {
            is_well = !fail(why, "finish", i, finish(p, i));
        }
    }
    return is_well;
}

bool frames_beside_same(const tarn_device_desc *on, const tank_fixture *fixture, uint32_t frames, bool is_held,
                        char why[256])
{
    const when finished = is_held ? HELD_BEHIND_STEP : BEHIND_STEP;
    played between, beside;
    why[0] = '\0';
    bool is_well = frames <= FRAMES_MAX && open_played(&between, on, fixture, AT_ONCE, why) &&
                   play(&between, fixture, frames, AT_ONCE, why);
    close_played(&between, AT_ONCE);
    is_well =
        is_well && open_played(&beside, on, fixture, finished, why) && play(&beside, fixture, frames, finished, why);
    close_played(&beside, finished);
    for (uint32_t i = 0; i < frames && is_well; i++) {
        if (between.digest[i] != beside.digest[i]) {
            snprintf(why, 256, "frame %u is another one when the tank steps on while it is coded", i);
            return false;
        }
    }
    return is_well;
}
