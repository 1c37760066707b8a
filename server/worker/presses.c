// What viewers hold of a tank, between the tank and bytes that go along with it, both ways.
#include "server/worker/presses.h"
#include "server/base/bytes.h"
#include "server/worker/limits.h"

#include <math.h>
#include <string.h>

// ---- as bytes ----
// Start at `walk`, which lists everything and serves both directions.

_Static_assert(TARN_INPUT_SOURCES_MAX * 256 + TARN_INPUT_VIEWERS_MAX * 64 + 1024 <= TARN_IPC_PRESSES_BYTES_MAX,
               "all sources and viewers fit");
_Static_assert((int)TARN_MODEL_PARAMETERS_MAX <= 32, "a bit for each parameter");

/// A number of an enumeration.
static uint32_t word(byte_codec *codec, uint32_t value, uint32_t limit)
{
    uint8_t byte = (uint8_t)value;
    u8_up_to(codec, &byte, (uint8_t)(limit - 1));
    return byte < limit ? byte : 0;
}

static void flag(byte_codec *codec, bool *value)
{
    *value = word(codec, *value, 2) != 0;
}

static void values(byte_codec *codec, float *of, int count)
{
    for (int i = 0; i < count; i++) {
        f32(codec, &of[i]);
        refuse_when(codec, !(fabsf(of[i]) <= TARN_PRESS_VALUE_MAX));
    }
}

static void value_within(byte_codec *codec, float *value, float min, float max)
{
    f32(codec, value);
    refuse_when(codec, !(*value >= min && *value <= max));
}

static void source(byte_codec *codec, tarn_input_source *of)
{
    u32(codec, &of->viewer_id);
    refuse_when(codec, of->viewer_id == 0);
    of->kind = (tarn_input_kind)word(codec, (uint32_t)of->kind, TARN_INPUT_HAND + 1);
    u32(codec, &of->index);
    of->tool = (tarn_tool)word(codec, (uint32_t)of->tool, TARN_TOOL_COUNT);
    flag(codec, &of->released);
    flag(codec, &of->closed);
    flag(codec, &of->holds);
    u32(codec, &of->body);
    values(codec, of->point_m, 3);
    u32(codec, &of->silent_steps);
    values(codec, of->hold_m, 3);
    values(codec, of->normal, 3);
    values(codec, of->lift, 3);
    values(codec, of->axis, 3);
    values(codec, of->target_m, 3);
    values(codec, of->center_m, 3);
    values(codec, of->velocity_m_s, 3);
    value_within(codec, &of->radius_m, 0.0009f, 10.0f); // a viewer's is 0.001 at least, which no float is
    value_within(codec, &of->strength, 0.0f, 1.0f);
    u32(codec, &of->colour);
    of->throws = word(codec, of->throws, TARN_STEP_THROWS_MAX + 1);
    flag(codec, &of->stands);
    flag(codec, &of->trail.begun);
    values(codec, of->trail.anchor_m, 3);
    flag(codec, &of->trail.drawn);
}

static void viewer(byte_codec *codec, tarn_input_viewer *of)
{
    u32(codec, &of->viewer_id);
    refuse_when(codec, of->viewer_id == 0);
    u32(codec, &of->received);
    u32(codec, &of->latched);
    u64(codec, &of->latched_order);
    u32(codec, &of->tools_told);
    u32(codec, &of->open_hands);
}

/// Only who is there, in order; what was read stands without gaps.
static void people(byte_codec *codec, tarn_input_state *inputs)
{
    uint32_t source_count = 0, viewer_count = 0;
    for (int i = 0; i < TARN_INPUT_SOURCES_MAX; i++) {
        source_count += inputs->sources[i].viewer_id != 0;
    }
    for (int i = 0; i < TARN_INPUT_VIEWERS_MAX; i++) {
        viewer_count += inputs->viewers[i].viewer_id != 0;
    }
    u64(codec, &inputs->order);
    count_up_to(codec, &source_count, TARN_INPUT_SOURCES_MAX);
    for (uint32_t i = 0, n = 0; codec->status == TARN_OK && n < source_count; i++) {
        if (!codec->writing || inputs->sources[i].viewer_id != 0) {
            source(codec, &inputs->sources[i]);
            n++;
        }
    }
    count_up_to(codec, &viewer_count, TARN_INPUT_VIEWERS_MAX);
    for (uint32_t i = 0, n = 0; codec->status == TARN_OK && n < viewer_count; i++) {
        if (!codec->writing || inputs->viewers[i].viewer_id != 0) {
            viewer(codec, &inputs->viewers[i]);
            n++;
        }
    }
}

/// What the next step has been told; each parameter changes once.
static void told(byte_codec *codec, tarn_step_input *next)
{
    uint32_t seen = 0;
    next->poser = (tarn_step_poser)word(codec, (uint32_t)next->poser, TARN_STEP_POSER_COUNT);
    values(codec, next->pose.position_m, 3);
    values(codec, next->pose.rotation, 4);
    count_up_to(codec, &next->parameter_count, TARN_MODEL_PARAMETERS_MAX);
    for (uint32_t i = 0; codec->status == TARN_OK && i < next->parameter_count; i++) {
        tarn_parameter_change *change = &next->parameters[i];
        count_up_to(codec, &change->id, TARN_MODEL_PARAMETERS_MAX - 1);
        f32(codec, &change->value);
        const uint32_t bit = 1u << (change->id % 32);
        refuse_when(codec, (seen & bit) != 0);
        seen |= bit;
    }
}

static void walk(byte_codec *codec, tarn_presses *presses)
{
    uint32_t version = TARN_PRESS_VERSION;
    u32(codec, &version);
    if (codec->status == TARN_OK && version != TARN_PRESS_VERSION) {
        codec->status = TARN_E_VERSION;
    }
    count_up_to(codec, &presses->steps_asked, TARN_WORKER_STEPS_QUEUED_MAX);
    told(codec, &presses->next);
    people(codec, &presses->inputs);
}

uint32_t tarn_presses_write(tarn_presses *presses, uint8_t *bytes, uint32_t bytes_max)
{
    byte_codec codec = {.at = bytes, .end = bytes + bytes_max, .writing = true};
    walk(&codec, presses);
    return codec.status == TARN_OK ? (uint32_t)(codec.at - bytes) : 0;
}

tarn_status tarn_presses_read(const uint8_t *bytes, uint32_t byte_count, tarn_presses *presses)
{
    byte_codec codec = {.at = (uint8_t *)bytes, .end = (uint8_t *)bytes + byte_count}; // which are only read
    memset(presses, 0, sizeof *presses);
    tarn_input_state_init(&presses->inputs);
    walk(&codec, presses);
    return codec.status == TARN_OK && codec.at != codec.end ? TARN_E_MALFORMED : codec.status;
}

// ---- of a tank ----

/// Large, and used by one thread at a time: exactly one of a worker's runs, and none gives way here.
static tarn_presses presses;

uint32_t tarn_tank_presses_write(const tarn_worker_tank *tank, uint8_t bytes[TARN_IPC_PRESSES_BYTES_MAX])
{
    presses = (tarn_presses){.inputs = tank->inputs, .next = tank->next, .steps_asked = tank->steps_asked};
    return tarn_presses_write(&presses, bytes, TARN_IPC_PRESSES_BYTES_MAX);
}

tarn_status tarn_tank_presses_read(tarn_worker_tank *tank, const uint8_t *bytes, uint32_t byte_count)
{
    const tarn_status status = tarn_presses_read(bytes, byte_count, &presses);
    if (status == TARN_OK) {
        tank->inputs = presses.inputs;
        tank->next = presses.next;
        tank->steps_asked = presses.steps_asked;
    }
    return status;
}
