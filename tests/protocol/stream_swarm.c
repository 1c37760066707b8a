#include "tests/protocol/stream_swarm.h"

#include <stdlib.h>

tarn_stream_head stream_model_head(uint16_t x, uint16_t y, uint16_t z, uint8_t place_bits, uint8_t layer_count,
                                   uint32_t slots_max, uint32_t flow_tiles_max)
{
    tarn_stream_head head = {
        .place_bits = place_bits,
        .layer_count = layer_count,
        .epoch = 7,
        .step = 123456789012,
        .sim_time_s = 2057613150.25,
        .server_time_us = 1767225600123456,
        .realtime_factor = 0.875f,
        .cells = {x, y, z},
        .cell_m = 0.03125f,
        .orientation = {0.5f, -0.5f, 0.5f, 0.5f},
        .gravity_m_s2 = {0.0f, -9.81f, 0.25f},
        .flow_tiles_max = flow_tiles_max,
    };
    for (uint32_t l = 0; l < layer_count; l++) {
        head.layers[l].slots_max = slots_max;
    }
    return head;
}

/// splitmix64: small, seeded, the same everywhere.
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint32_t any_below(stream_swarm *s, uint32_t end)
{
    return (uint32_t)(next_random(&s->seed) >> 32) % end;
}

static int32_t end_of(const stream_swarm *s, int axis)
{
    return (s->cells[axis] << TARN_PLACE_BITS) - 1;
}

static void scatter(stream_swarm *s, model_particle *particle)
{
    for (int a = 0; a < 3; a++) {
        particle->place[a] = (int32_t)any_below(s, (uint32_t)end_of(s, a) + 1);
    }
    particle->is_alive = true;
}

void stream_swarm_make(stream_swarm *s, const tarn_stream_head *head, uint32_t count, uint64_t seed)
{
    *s = (stream_swarm){.cells = {head->cells[0], head->cells[1], head->cells[2]}, .count = count, .seed = seed};
    s->noise = 40;
    s->particles = calloc(count + 1, sizeof *s->particles);
    if (s->particles == NULL) {
        abort();
    }
    for (uint32_t i = 0; i < count; i++) {
        scatter(s, &s->particles[i]);
        s->particles[i].layer = (uint8_t)any_below(s, head->layer_count);
        s->particles[i].colour = (uint8_t)(any_below(s, 4) == 0 ? any_below(s, 256) : 224);
    }
}

void stream_swarm_free(stream_swarm *s)
{
    free(s->particles);
    *s = (stream_swarm){0};
}

static void step_once(stream_swarm *s, model_particle *particle)
{
    const int32_t *p = particle->place;
    const int32_t from_middle[3] = {p[0] - end_of(s, 0) / 2, p[1] - end_of(s, 1) / 2, p[2] - end_of(s, 2) / 2};
    const int32_t move[3] = {from_middle[1] / 16 - 90, -from_middle[0] / 16, from_middle[0] / 64 + 30};
    for (int a = 0; a < 3; a++) {
        const int32_t noise = (int32_t)any_below(s, 2 * (uint32_t)s->noise + 1) - s->noise;
        const int32_t place = p[a] + (move[a] < -2000 ? -2000 : move[a] > 2000 ? 2000 : move[a]) + noise;
        particle->place[a] = place < 0 ? 0 : place > end_of(s, a) ? end_of(s, a) : place;
    }
}

void stream_swarm_step(stream_swarm *s, uint32_t steps)
{
    for (uint32_t step = 0; step < steps; step++) {
        for (uint32_t i = 0; i < s->count; i++) {
            if (s->particles[i].is_alive) {
                step_once(s, &s->particles[i]);
            }
        }
    }
}

void stream_swarm_renew(stream_swarm *s, uint32_t count)
{
    for (uint32_t i = 0; i < 2 * count && s->count > 0; i++) {
        model_particle *particle = &s->particles[any_below(s, s->count)];
        if (particle->is_alive) {
            particle->is_alive = false;
        } else {
            scatter(s, particle);
            particle->colour = (uint8_t)(particle->colour + any_below(s, 2));
        }
    }
}

void stream_swarm_level(stream_swarm *s, bool wild)
{
    for (uint32_t i = 0; i < s->count; i++) {
        model_particle *particle = &s->particles[i];
        const uint32_t at = (uint32_t)particle->place[1];
        particle->level = (uint8_t)(wild ? (at + i) * 2654435761u >> 24 : at * 255u / (uint32_t)(end_of(s, 1) + 1));
    }
}
