// A tank's life on one device or two: begin at gpu_play_run.
#include "tests/gpu/gpu_play.h"
#include "kernels/encoder.h"
#include "kernels/probe.h"
#include "kernels/tank/tank_internal.h"
#include "server/base/clock.h"
#include "tests/gpu/gpu_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP_STEPS = 3, KEY_EVERY = 7, FRAME_BYTES_MAX = 96 << 20 };

/// What is open while a fixture is played.
typedef struct stage {
    tarn_device *device;
    tarn_tank *tank;
    tarn_encoder *encoder;
    uint8_t *frame;
    double step_ms[GPU_STEPS_MAX]; ///< of those that are timed
    uint32_t timed, recorded;      ///< recorded: by the queue of the tank that is here, before these
} stage;

static bool note(gpu_outcome *out, const stage *s, const char *what, tarn_status status)
{
    if (status != TARN_OK && out->why[0] == '\0') {
        snprintf(out->why, sizeof out->why, "%s: %s %.200s", what, tarn_status_text(status),
                 tarn_device_error(s->device));
    }
    return status == TARN_OK;
}

static bool open_stage(stage *s, tarn_device *device, const tank_fixture *fixture, bool with_frames, gpu_outcome *out)
{
    tarn_tank_desc desc;
    tarn_encoder_desc how;
    char why[200] = "";
    *s = (stage){.device = device};
    fixture->describe(&desc);
    tarn_status status = tarn_tank_create(device, &desc, &s->tank, why, sizeof why);
    if (!note(out, s, why[0] != '\0' ? why : "making the tank", status) || !with_frames) {
        return status == TARN_OK;
    }
    tarn_encoder_desc_default(&how);
    s->frame = malloc(FRAME_BYTES_MAX);
    status = s->frame != NULL ? tarn_encoder_create(s->tank, &how, &s->encoder) : TARN_E_MEMORY;
    return note(out, s, "making the encoder", status);
}

static void close_stage(stage *s)
{
    tarn_encoder_destroy(s->encoder);
    tarn_tank_destroy(s->tank);
    free(s->frame);
    *s = (stage){.device = s->device};
}

static double ms_since(uint64_t start_ns)
{
    return 1e-6 * (double)(tarn_clock_monotonic_ns() - start_ns);
}

static bool step(stage *s, const tank_fixture *fixture, uint32_t index, gpu_outcome *out)
{
    tarn_step_input input;
    tarn_step_refusals refusals;
    gpu_watch_note("%s, step %u on %s", fixture->name, index + 1, tarn_device_name(s->device));
    tank_fixture_input(fixture, tarn_tank_desc_of(s->tank), index, &input);
    const uint64_t start_ns = tarn_clock_monotonic_ns();
    if (!note(out, s, "admitting an input", tarn_tank_admit(s->tank, &input, &refusals)) ||
        !note(out, s, "a step", tarn_tank_step(s->tank, &input))) {
        return false;
    }
    if (index >= WARM_UP_STEPS) {
        s->step_ms[s->timed++] = ms_since(start_ns);
    } else {
        s->recorded = tarn_queue_recorded(s->tank->grid.queue);
    }
    out->steps = index + 1;
    return note(out, s, "the hash", tarn_tank_hash_get(s->tank, &out->hashes[index]));
}

/// FNV-1a, by words of 8 bytes.
static uint64_t digest(const uint8_t *bytes, size_t count)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < count; i += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + i, count - i < 8 ? count - i : 8);
        hash = (hash ^ word) * 0x100000001b3u;
        hash ^= hash >> 32;
    }
    return hash;
}

static bool encode(stage *s, uint32_t index, gpu_outcome *out)
{
    const tarn_tank_frame_info info = {.epoch = 1, .realtime_factor = 1.0f};
    const tarn_stream_kind kind = index % KEY_EVERY == 0 ? TARN_STREAM_KEY
                                  : index % 2 == 1       ? TARN_STREAM_EXTRA
                                                         : TARN_STREAM_BASE;
    tarn_stream_head head;
    const uint32_t channel = index < WARM_UP_STEPS && index % 3 != 0 ? 4 + index % 3 : 0; // the pressure, the density
    if (!note(out, s, "a channel", tarn_encoder_carry(s->encoder, channel))) {
        return false;
    }
    const uint64_t start_ns = tarn_clock_monotonic_ns();
    if (!note(out, s, "a frame", tarn_encoder_encode(s->encoder, kind, &info, s->frame, FRAME_BYTES_MAX, &head))) {
        return false;
    }
    if (index >= WARM_UP_STEPS) {
        out->encode_ms += ms_since(start_ns);
    }
    out->frame[out->frames++] =
        (gpu_frame){.kind = head.kind, .bytes = head.frame_bytes, .digest = digest(s->frame, head.frame_bytes)};
    return true;
}

static void add_probe(const tarn_tank_desc *desc, const tarn_probe *wanted, tarn_probe probe[TARN_PROBES_MAX],
                      uint32_t *count)
{
    if (*count < TARN_PROBES_MAX && tarn_probe_check(desc, wanted, NULL, 0) == TARN_OK) {
        probe[(*count)++] = *wanted;
    }
}

/// Probes of all kinds that the tank may have: from corner to corner, on the wall in the plane x = 0, on all solids.
static uint32_t choose_probes(const tarn_tank_desc *desc, tarn_probe *probe)
{
    enum { EACH = 8, SPREAD = 3 };
    uint32_t count = 0;
    float size_m[3];
    for (int a = 0; a < 3; a++) {
        size_m[a] = (float)desc->cells[a] * desc->cell_m;
    }
    for (uint32_t i = 0; i < EACH; i++) {
        const float t = (float)i / (EACH - 1), x = t * size_m[0], z = (1.0f - t) * size_m[2];
        const tarn_probe kinds[SPREAD] = {
            {.kind = TARN_PROBE_POINT, .points_m = {{x, 0.5f * t * size_m[1], z}}},
            {.kind = TARN_PROBE_GAUGE, .points_m = {{x, 0.0f, z}, {(1.0f - t) * size_m[0], size_m[1], z}}},
            {.kind = TARN_PROBE_FLUX, .points_m = {{x, 0.0f, 0.0f}, {x, size_m[1], 0.0f}, {x, 0.0f, size_m[2]}}}};
        for (int kind = 0; kind < SPREAD; kind++) {
            add_probe(desc, &kinds[kind], probe, &count);
        }
    }
    const tarn_probe wall = {.kind = TARN_PROBE_WALL,
                             .points_m = {{0}, {0.0f, size_m[1], 0.0f}, {0.0f, 0.0f, size_m[2]}}};
    add_probe(desc, &wall, probe, &count);
    for (uint32_t i = 0; i < desc->solid_count; i++) {
        add_probe(desc, &(tarn_probe){.kind = TARN_PROBE_FORCE, .solid = i}, probe, &count);
    }
    return count;
}

static bool measure(stage *s, gpu_outcome *out)
{
    tarn_probe probe[TARN_PROBES_MAX];
    tarn_probe_reading reading[TARN_PROBES_MAX];
    tarn_probes *probes = NULL;
    const uint32_t count = choose_probes(tarn_tank_desc_of(s->tank), probe);
    const bool is_well = note(out, s, "making probes", tarn_probes_create(s->tank, probe, count, &probes)) &&
                         note(out, s, "the probes", tarn_probes_read(probes, reading));
    out->measured = is_well ? digest((const uint8_t *)reading, count * sizeof *reading) : 0;
    tarn_probes_destroy(probes);
    return is_well;
}

/// Saves the tank and goes on with its state on another device.
static bool move(stage *s, const gpu_play *play, gpu_outcome *out)
{
    const size_t bytes_max = tarn_tank_save_bytes_max(s->tank);
    uint8_t *bytes = malloc(bytes_max);
    size_t count = 0;
    bool is_well =
        note(out, s, "saving", bytes != NULL ? tarn_tank_save(s->tank, bytes, bytes_max, &count) : TARN_E_MEMORY);
    close_stage(s);
    is_well = is_well && open_stage(s, play->then, play->fixture, false, out) &&
              note(out, s, "loading", tarn_tank_load(s->tank, bytes, count));
    free(bytes);
    return is_well;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sum_up_steps(stage *s, gpu_outcome *out)
{
    for (uint32_t i = 0; i < s->timed; i++) {
        out->step_ms += s->step_ms[i] / s->timed;
    }
    qsort(s->step_ms, s->timed, sizeof s->step_ms[0], by_size);
    out->step_median_ms = s->timed > 0 ? s->step_ms[s->timed / 2] : 0.0;
    out->recorded = tarn_queue_recorded(s->tank->grid.queue) - s->recorded;
}

uint32_t gpu_play_timed(uint32_t steps)
{
    return steps > WARM_UP_STEPS ? steps - WARM_UP_STEPS : 1;
}

void gpu_play_run(const gpu_play *play, gpu_outcome *out)
{
    stage s;
    tarn_tank_report report = {.particle_count = 0};
    memset(out, 0, sizeof *out);
    bool is_well = open_stage(&s, play->first, play->fixture, play->then == NULL, out);
    for (uint32_t i = 0; i < play->steps && is_well; i++) {
        out->begin_ns = i == WARM_UP_STEPS ? tarn_clock_monotonic_ns() : out->begin_ns;
        is_well = step(&s, play->fixture, i, out) && (s.encoder == NULL || encode(&s, i, out));
        out->end_ns = tarn_clock_monotonic_ns();
        if (is_well && play->then != NULL && i + 1 == play->steps / 2) {
            is_well = move(&s, play, out);
        }
    }
    if (is_well) {
        is_well = note(out, &s, "the report", tarn_tank_report_get(s.tank, &report)) && measure(&s, out);
        sum_up_steps(&s, out);
    }
    out->encode_ms /= gpu_play_timed(play->steps);
    out->particles = report.particle_count;
    out->valid = is_well;
    close_stage(&s);
}

bool gpu_outcomes_same(const gpu_outcome *a, const gpu_outcome *b, char why[GPU_WHY_BYTES])
{
    static const char *const kinds[] = {"key", "base", "extra"};
    if (!a->valid || !b->valid) {
        snprintf(why, GPU_WHY_BYTES, "%s", a->valid ? b->why : a->why);
        return false;
    }
    for (uint32_t i = 0; i < a->steps; i++) {
        if (a->steps != b->steps || a->hashes[i].lo != b->hashes[i].lo || a->hashes[i].hi != b->hashes[i].hi) {
            snprintf(why, GPU_WHY_BYTES, "the state differs after step %u", i + 1);
            return false;
        }
    }
    if (a->measured != b->measured) {
        snprintf(why, GPU_WHY_BYTES, "what probes say differs");
        return false;
    }
    const uint32_t frames = a->frames < b->frames ? a->frames : b->frames; // one that moves has none
    for (uint32_t i = 0; i < frames; i++) {
        const gpu_frame *f = &a->frame[i], *g = &b->frame[i];
        if (f->kind != g->kind || f->bytes != g->bytes || f->digest != g->digest) {
            snprintf(why, GPU_WHY_BYTES, "frame %u differs: %s of %u bytes, %s of %u bytes", i, kinds[f->kind],
                     f->bytes, kinds[g->kind], g->bytes);
            return false;
        }
    }
    return true;
}

uint32_t gpu_play_stages(const gpu_play *play, tarn_tank_profiling how, const char *names[TARN_TANK_STAGES_MAX],
                         double seconds[TARN_TANK_STAGES_MAX])
{
    static gpu_outcome out;
    stage s;
    uint32_t stages = 0;
    memset(&out, 0, sizeof out);
    if (open_stage(&s, play->first, play->fixture, false, &out)) {
        bool is_well = true;
        for (uint32_t i = 0; i < play->steps && is_well; i++) {
            if (i == WARM_UP_STEPS) {
                tarn_tank_profile(s.tank, how);
            }
            is_well = step(&s, play->fixture, i, &out);
        }
        stages = is_well ? tarn_tank_profile_get(s.tank, names, seconds, true) : 0;
    }
    for (uint32_t i = 0; i < stages; i++) {
        seconds[i] /= play->steps - WARM_UP_STEPS;
    }
    close_stage(&s);
    return stages;
}
