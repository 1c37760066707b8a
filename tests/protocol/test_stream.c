// Streams of frames: what the model encoder writes is decoded to what it has, bit for bit, for as long as the chain
// goes on; layers, cuts, missing frames and too little room do what stream.h says.
#include "tests/protocol/stream_receiver.h"
#include "tests/protocol/stream_swarm.h"
#include "tests/protocol/stream_text.h"
#include "tests/protocol/test_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLOURS = TARN_FRAME_FLAG_COLOURS };

static const tarn_stream_kind KEY = TARN_STREAM_KEY, BASE = TARN_STREAM_BASE, EXTRA = TARN_STREAM_EXTRA;

/// A tank, its particles and both ends of the stream.
typedef struct chain {
    stream_swarm swarm;
    stream_model *model;
    stream_receiver receiver;
    uint8_t *bytes; ///< the last frame
    size_t byte_count;
} chain;

typedef struct chain_setup {
    uint16_t cells[3];
    uint8_t place_bits, layer_count;
    uint32_t flags, particles, dead_zone;
    model_flow_tiles flow;
    uint32_t flow_tiles_max; ///< 0: all of the tank's
} chain_setup;

static uint32_t tiles_of(const uint16_t cells[3])
{
    return ((cells[0] + 7u) / 8) * ((cells[1] + 7u) / 8) * ((cells[2] + 7u) / 8);
}

static void chain_begin(chain *c, const chain_setup *s, uint64_t seed)
{
    const uint32_t tiles = s->flow_tiles_max > 0 ? s->flow_tiles_max : tiles_of(s->cells);
    const stream_model_setup setup = {
        .head = stream_model_head(s->cells[0], s->cells[1], s->cells[2], s->place_bits, s->layer_count,
                                  s->particles + 100, tiles),
        .flow = s->flow,
        .dead_zone = s->dead_zone > 0 ? s->dead_zone : 8,
    };
    stream_model_setup with_flags = setup;
    with_flags.head.flags = s->flags;
    *c = (chain){.model = stream_model_make(&with_flags)};
    stream_swarm_make(&c->swarm, &with_flags.head, s->particles, seed);
}

static void chain_end(chain *c)
{
    stream_model_destroy(c->model);
    stream_swarm_free(&c->swarm);
    if (c->receiver.memory != NULL) {
        stream_receiver_free(&c->receiver);
    }
    free(c->bytes);
}

/// Writes the next frame into c->bytes.
static void chain_write(chain *c, tarn_stream_kind kind, uint32_t steps)
{
    free(c->bytes);
    c->byte_count = stream_model_write(c->model, kind, c->swarm.particles, c->swarm.count, steps, &c->bytes);
    assert_true(c->byte_count > 0);
}

static tarn_status chain_take(chain *c)
{
    if (c->receiver.memory == NULL) {
        assert_true(stream_receiver_make_for(&c->receiver, c->bytes, c->byte_count));
    }
    return stream_receiver_take(&c->receiver, c->bytes, c->byte_count);
}

static uint32_t bits_of(uint32_t value)
{
    uint32_t bits = 0;
    for (; value > 0; value /= 2) {
        bits++;
    }
    return bits;
}

/// What is shown of the frame's grid: the unit of the velocities as a power of two of 2^-15 quanta.
static uint32_t velocity_shift(const stream_receiver *r, const tarn_stream_head *head)
{
    const int32_t end_z = (head->cells[2] << TARN_PLACE_BITS) - 1;
    tarn_flow flow;
    uint32_t most = 0;
    tarn_stream_flow(r->stream, &flow);
    for (uint32_t tile = 0; tile < flow.tiles[0] * flow.tiles[1] * flow.tiles[2]; tile++) {
        const uint32_t planes = tarn_flow_planes(end_z, tile / flow.tiles[0] / flow.tiles[1]);
        for (uint32_t n = 0; flow.index[tile] > 0 && n < planes * TARN_FLOW_EDGE * TARN_FLOW_EDGE; n++) {
            const int16_t *d = flow.nodes[(size_t)(flow.index[tile] - 1) * TARN_FLOW_BLOCK + n].d;
            for (int a = 0; a < 3; a++) {
                most = (uint32_t)abs(d[a]) > most ? (uint32_t)abs(d[a]) : most;
            }
        }
    }
    return bits_of(most) > 7 ? 15 + bits_of(most) - 7 : 15;
}

/// Compares what was handed out with what the model has of the layers from `first` to before `end`.
static void expect_shown(const chain *c, uint32_t first, uint32_t end)
{
    const tarn_stream_particles *out = &c->receiver.particles;
    uint32_t count, at = 0;
    const model_shown *shown = stream_model_shown(c->model, &count);
    const tarn_stream_head *head = stream_model_last(c->model);
    const uint32_t shift = velocity_shift(&c->receiver, head);
    for (uint32_t i = 0; i < count; i++) {
        if (shown[i].layer < first || shown[i].layer >= end) {
            continue;
        }
        assert_true(at < out->count);
        for (int a = 0; a < 3; a++) {
            // Rounded to the nearest, halves up, and no further than a byte goes.
            const int64_t twice = 2 * (int64_t)shown[i].flow[a] + (1 << shift), unit = 2ll << shift;
            int64_t velocity = twice >= 0 ? twice / unit : -((-twice + unit - 1) / unit);
            velocity = velocity > 127 ? 127 : velocity < -127 ? -127 : velocity;
            assert_int_equal(out->positions[4 * at + (uint32_t)a], shown[i].place[a] >> (10 - out->unit_bits));
            assert_int_equal(out->velocities[4 * at + (uint32_t)a], velocity);
        }
        assert_int_equal(out->positions[4 * at + 3], shown[i].colour | shown[i].level << 8);
        assert_int_equal(out->velocities[4 * at + 3], shown[i].layer);
        at++;
    }
    assert_int_equal(at, out->count);
    const float scale = (float)(1u << (shift - 15)) / (float)(1u << head->place_bits) * head->cell_m;
    assert_true(out->velocity_scale_m_s == (head->interval_s > 0 ? scale / head->interval_s : 0.0f));
}

/// Writes, takes and compares a frame.
static void chain_go(chain *c, tarn_stream_kind kind, uint32_t steps)
{
    chain_write(c, kind, steps);
    assert_int_equal(chain_take(c), TARN_OK);
    expect_shown(c, 0, TARN_STREAM_LAYERS_MAX);
}

// ---------------------------------------------------------------------------------------------------------------- curl

/// How an axis of the flow changes along another one across a cell, in quanta: from its one side to the other.
static double slope_at(const tarn_flow_node *block, const int32_t cell[3], int along, int of)
{
    int32_t at[4] = {cell[0] * 1024 + 512, cell[1] * 1024 + 512, cell[2] * 1024 + 512, 0}, sum[2][4];
    for (int side = 0; side < 2; side++) {
        at[along] = cell[along] * 1024 + side * 1023;
        tarn_four_store(sum[side], tarn_flow_sum(block, tarn_four_load(at)));
    }
    return (sum[1][of] - sum[0][of]) / 32768.0;
}

static void the_flows_curl_is_shown_beside_the_colours(void **context)
{
    (void)context;
    const chain_setup setup = {{24, 17, 33}, 5, 2, COLOURS, 2000, 10, MODEL_FLOW_PARTICLES, 0};
    const float levels = 90.0f;
    uint32_t shown = 0;
    chain c;
    chain_begin(&c, &setup, 77);
    chain_go(&c, KEY, 1);
    stream_swarm_step(&c.swarm, 1);
    chain_go(&c, BASE, 1);
    tarn_stream_particles *out = &c.receiver.particles;
    tarn_flow flow;
    tarn_stream_flow(c.receiver.stream, &flow);
    tarn_stream_show_curl(c.receiver.stream, levels, out);
    for (uint32_t i = 0; i < out->count; i++) {
        uint16_t *at = &out->positions[4 * (size_t)i];
        int32_t place[3], cell[3];
        for (int a = 0; a < 3; a++) {
            place[a] = at[a] << (10 - out->unit_bits);
            cell[a] = place[a] >> 10;
        }
        const tarn_flow_node *block = tarn_flow_block(&flow, place);
        assert_non_null(block);
        double square = 0;
        for (int a = 0; a < 3; a++) {
            const int b = (a + 1) % 3, d = (a + 2) % 3;
            const double turn = slope_at(block, cell, b, d) - slope_at(block, cell, d, b);
            square += turn * turn;
        }
        const double level = levels * sqrt(square) / 32, found = at[3] >> 8;
        assert_true(fabs(found - fmin(255, level)) <= 1.0);
        shown += found > 2;
        at[3] &= 0xff;
    }
    assert_true(shown > out->count / 4);
    expect_shown(&c, 0, TARN_STREAM_LAYERS_MAX); // all else is as it was
    chain_end(&c);
}

// --------------------------------------------------------------------------------------------------------- round trips

/// Frames as a sender would send them: a key frame each 60, between two base frames an extra one, births and deaths.
static void run_chain(const chain_setup *setup, uint32_t frames, uint64_t seed)
{
    chain c;
    chain_begin(&c, setup, seed);
    for (uint32_t f = 0; f < frames; f++) {
        stream_swarm_step(&c.swarm, 1);
        if (f % 2 == 0) {
            stream_swarm_renew(&c.swarm, c.swarm.count / 50);
        }
        chain_go(&c, f % 60 == 0 ? KEY : f % 2 == 0 ? BASE : EXTRA, f % 2 == 0 ? 2 : 1);
    }
    chain_end(&c);
}

static void decoded_places_are_the_encoders_over_hundreds_of_frames(void **context)
{
    (void)context;
    const chain_setup setups[] = {
        {{24, 17, 33}, 5, 3, COLOURS, 3000, 10, MODEL_FLOW_PARTICLES, 0},
        {{16, 16, 16}, 7, 1, 0, 1500, 24, MODEL_FLOW_PARTICLES, 0},
        {{70, 9, 1}, 3, 8, COLOURS, 700, 8, MODEL_FLOW_PARTICLES, 0},
    };
    for (size_t i = 0; i < sizeof setups / sizeof *setups; i++) {
        run_chain(&setups[i], 241, 100 + i);
    }
}

static void levels_come_back_whenever_frames_carry_them(void **context)
{
    (void)context;
    const chain_setup setup = {{24, 17, 33}, 5, 3, COLOURS, 4000, 10, MODEL_FLOW_PARTICLES, 0};
    // A channel comes and goes, gives way to another one, and comes back while extra frames go without.
    static const uint8_t channels[] = {0, 3, 3, 3, 0, 3, 3, 8, 8, 0, 0, 3, 1, 1, 1, 1, 0};
    chain c;
    chain_begin(&c, &setup, 500);
    for (uint32_t f = 0; f < 170; f++) {
        stream_swarm_step(&c.swarm, 1);
        stream_swarm_renew(&c.swarm, f % 2 == 0 ? c.swarm.count / 50 : 0);
        stream_swarm_level(&c.swarm, f % 40 > 30);
        stream_model_carry(c.model, channels[f % sizeof channels]);
        chain_go(&c, f % 60 == 0 ? KEY : f % 2 == 0 ? BASE : EXTRA, f % 2 == 0 ? 2 : 1);
    }
    chain_end(&c);
}

/// Bytes of a frame's layers.
static uint32_t layer_bytes(const chain *c)
{
    const tarn_stream_head *head = stream_model_last(c->model);
    uint32_t bytes = 0;
    for (uint32_t l = 0; l < head->layer_count; l++) {
        bytes += head->layers[l].bytes;
    }
    return bytes;
}

static void levels_cost_no_more_than_promised(void **context)
{
    (void)context;
    for (int wild = 0; wild < 2; wild++) {
        const chain_setup setup = {{16, 16, 16}, 5, 1, 0, 5000, 10, MODEL_FLOW_NONE, 0};
        uint32_t bytes[2];
        for (uint8_t channel = 0; channel < 2; channel++) {
            chain c;
            chain_begin(&c, &setup, 9);
            stream_swarm_level(&c.swarm, wild != 0);
            stream_model_carry(c.model, channel);
            chain_go(&c, KEY, 1);
            bytes[channel] = layer_bytes(&c);
            chain_go(&c, BASE, 1); // nothing moves
            assert_true(!channel || layer_bytes(&c) <= 5 * 12 + 16);
            chain_end(&c);
        }
        const uint32_t cost = bytes[1] - bytes[0];
        assert_true(wild ? cost <= 5000 + 5 * 7 && cost > 4900 : cost < 3500);
    }
}

static void every_quantum_tank_and_grid_comes_back(void **context)
{
    (void)context;
    for (int place_bits = 0; place_bits <= TARN_SET_BITS_MAX; place_bits++) {
        const uint8_t bits = (uint8_t)place_bits;
        const chain_setup setups[] = {
            {{8, 8, 8}, bits, 1, 0, 200, 0, MODEL_FLOW_PARTICLES, 0},
            {{1, 1, 1}, bits, 2, COLOURS, 40, 0, MODEL_FLOW_ALL, 0},
            {{9, 31, 10}, bits, 2, 0, 300, 20, MODEL_FLOW_NONE, 0},
            {{40, 8, 23}, bits, 1, COLOURS, 400, 0, MODEL_FLOW_PARTICLES, 3},
            {{2048, 1, 1}, bits, 8, 0, 300, 0, MODEL_FLOW_ALL, 0},
            {{3, 2048, 9}, bits, 1, 0, 300, 0, MODEL_FLOW_PARTICLES, 0},
            {{64, 65, 2041}, bits, 3, COLOURS, 100, 0, MODEL_FLOW_PARTICLES, 100},
        };
        for (size_t i = 0; i < sizeof setups / sizeof *setups; i++) {
            run_chain(&setups[i], 7, 200 + bits);
        }
    }
}

static void the_largest_tank_comes_back(void **context)
{
    (void)context;
    const chain_setup setup = {{2048, 2048, 2048}, 7, 1, 0, 60, 0, MODEL_FLOW_PARTICLES, 60};
    chain c;
    chain_begin(&c, &setup, 9);
    c.swarm.particles[0] = (model_particle){{(2048 << 10) - 1, (2048 << 10) - 1, (2048 << 10) - 1}, 0, 0, true, 0};
    c.swarm.particles[1] = (model_particle){{0, 0, 0}, 0, 0, true, 0};
    for (int f = 0; f < 4; f++) {
        stream_swarm_step(&c.swarm, f < 2 ? 0 : 1);
        chain_go(&c, f == 0 ? KEY : f == 3 ? EXTRA : BASE, 1);
        assert_int_equal(c.receiver.particles.unit_bits, 5);
    }
    chain_end(&c);
}

static void few_particles_and_none_come_back(void **context)
{
    (void)context;
    for (uint32_t count = 0; count < 3; count++) {
        const chain_setup setup = {{20, 17, 33}, 5, 2, COLOURS, count, 0, MODEL_FLOW_PARTICLES, 0};
        run_chain(&setup, 9, count);
    }
    // A tank that runs empty, and fills again.
    const chain_setup setup = {{20, 17, 33}, 5, 2, COLOURS, 50, 0, MODEL_FLOW_PARTICLES, 0};
    chain c;
    chain_begin(&c, &setup, 4);
    chain_go(&c, KEY, 1);
    for (int f = 0; f < 4; f++) {
        for (uint32_t i = 0; i < c.swarm.count; i++) {
            c.swarm.particles[i].is_alive = f == 2;
        }
        chain_go(&c, BASE, 1);
        assert_int_equal(c.receiver.particles.count, f == 2 ? 50 : 0);
        chain_go(&c, EXTRA, 1);
    }
    chain_go(&c, KEY, 1);
    chain_end(&c);
}

static void a_crowded_tile_comes_back(void **context)
{
    (void)context;
    const chain_setup setup = {{8, 8, 8}, 4, 1, COLOURS, TARN_SET_POINTS_MAX, 0, MODEL_FLOW_PARTICLES, 0};
    run_chain(&setup, 3, 11);
}

/// The stream keeps following the particles: errors don't add up.
static void what_is_shown_stays_within_the_dead_zone(void **context)
{
    (void)context;
    const chain_setup setup = {{24, 24, 24}, 5, 1, 0, 500, 16, MODEL_FLOW_PARTICLES, 0};
    chain c;
    chain_begin(&c, &setup, 5);
    for (uint32_t f = 0; f < 200; f++) {
        uint32_t count;
        stream_swarm_step(&c.swarm, 1);
        chain_go(&c, f == 0 ? KEY : BASE, 1);
        const model_shown *shown = stream_model_shown(c.model, &count);
        for (uint32_t i = 0; i < count; i++) {
            for (int a = 0; a < 3; a++) {
                assert_true(abs(shown[i].place[a] - c.swarm.particles[shown[i].particle].place[a]) <= 1024 / 32);
            }
        }
    }
    chain_end(&c);
}

static void still_water_costs_next_to_nothing(void **context)
{
    (void)context;
    const chain_setup setup = {{16, 16, 16}, 5, 1, 0, 4096, 0, MODEL_FLOW_PARTICLES, 0};
    chain c;
    chain_begin(&c, &setup, 6);
    chain_go(&c, KEY, 1);
    chain_go(&c, BASE, 1); // says which nodes it knows
    chain_go(&c, BASE, 1);
    const tarn_stream_head *head = stream_model_last(c.model);
    assert_int_equal(head->layers[0].bytes, 4); // a flag for each of four groups, none of them coded
    assert_true(head->flow_bytes <= 4 + 8 * 40);
    // One particle jumps: its group is coded, the other three aren't.
    c.swarm.particles[77].place[1] ^= 4096;
    chain_go(&c, BASE, 1);
    assert_int_equal(c.receiver.particles.count, 4096);
    chain_end(&c);
}

/// Base frames come out the same, whether the extra ones between them were decoded or not.
static void extra_frames_can_be_left_out(void **context)
{
    (void)context;
    const chain_setup setup = {{24, 17, 33}, 5, 2, COLOURS, 800, 0, MODEL_FLOW_PARTICLES, 0};
    chain c;
    stream_receiver other;
    chain_begin(&c, &setup, 7);
    chain_go(&c, KEY, 1);
    assert_true(stream_receiver_make_for(&other, c.bytes, c.byte_count));
    assert_int_equal(stream_receiver_take(&other, c.bytes, c.byte_count), TARN_OK);
    for (int f = 1; f < 30; f++) {
        stream_swarm_step(&c.swarm, 1);
        const bool is_base = f % 3 == 0;
        chain_go(&c, is_base ? BASE : EXTRA, (uint32_t)(is_base ? 3 : f % 3));
        if (!is_base) {
            continue;
        }
        assert_int_equal(stream_receiver_take(&other, c.bytes, c.byte_count), TARN_OK);
        assert_true(stream_receiver_hash(&other) == stream_receiver_hash(&c.receiver));
    }
    stream_receiver_free(&other);
    chain_end(&c);
}

// -------------------------------------------------------------------------------------------------------------- fields

/// Sums up how far the field that was decoded is from the model's. @return the largest difference
static int field_off(const chain *c, double *sum)
{
    const tarn_stream_head *head = stream_model_last(c->model);
    const size_t count = (size_t)head->cells[0] * head->cells[1];
    uint8_t *seen = malloc(count), *truth = malloc(count);
    int most = 0;
    for (uint32_t z = 0; z < head->cells[2]; z++) {
        tarn_stream_field_plane(c->receiver.stream, z, seen);
        stream_model_field_plane(c->model, z, truth);
        for (size_t i = 0; i < count; i++) {
            const int off = abs((int)seen[i] - (int)truth[i]);
            most = off > most ? off : most;
            *sum += off / (double)count / head->cells[2];
        }
    }
    free(seen);
    free(truth);
    return most;
}

static void fields_come_back(void **context)
{
    (void)context;
    static const chain_setup tanks[] = {
        {{24, 17, 33}, 5, 2, COLOURS, 300, 0, MODEL_FLOW_PARTICLES, 0},
        {{200, 130, 1}, 5, 1, 0, 200, 0, MODEL_FLOW_ALL, 0},
        {{9, 1, 2}, 5, 1, 0, 20, 0, MODEL_FLOW_PARTICLES, 0},
        {{1, 1, 1}, 5, 1, 0, 1, 0, MODEL_FLOW_NONE, 0},
    };
    for (size_t t = 0; t < 2 * sizeof tanks / sizeof *tanks; t++) {
        chain c;
        chain_begin(&c, &tanks[t / 2], 8);
        for (int f = 0; f < 20; f++) {
            double sum = 0;
            const bool is_key = f % 7 == 0;
            stream_swarm_step(&c.swarm, 1);
            stream_model_carry(c.model, f % 5 == 0 ? 3 : 0);
            stream_model_carry_field(c.model, (uint8_t)(f < 14 ? 1 + f / 7 : 0), t % 2 == 1);
            chain_write(&c, is_key ? KEY : f % 2 ? EXTRA : BASE, 1);
            assert_int_equal(chain_take(&c), TARN_OK);
            assert_int_equal(field_off(&c, &sum), 0);
            expect_shown(&c, 0, TARN_STREAM_LAYERS_MAX);
        }
        chain_end(&c);
    }
}

/// What is cut off of a base frame's details is away until the next key frame; blocks go on.
static void fields_without_details_are_coarse(void **context)
{
    (void)context;
    const chain_setup setup = {{24, 17, 33}, 5, 3, 0, 300, 0, MODEL_FLOW_PARTICLES, 0};
    chain c;
    chain_begin(&c, &setup, 8);
    stream_model_carry_field(c.model, 2, false);
    for (uint32_t f = 0; f < 24; f++) {
        double sum = 0;
        const bool is_cut = f % 12 == 5 || f % 12 == 8; // an extra frame, then a base frame
        stream_swarm_step(&c.swarm, 1);
        chain_write(&c, f % 12 == 0 ? KEY : f % 2 ? EXTRA : BASE, 1);
        c.byte_count = tarn_stream_cut_bytes(stream_model_last(c.model), is_cut ? f % 4 : 4);
        assert_int_equal(chain_take(&c), TARN_OK);
        assert_int_equal(c.receiver.frame.fine == NULL, is_cut);
        const int off = field_off(&c, &sum);
        assert_true(f % 12 == 5 || f % 12 >= 8 ? off > 0 && sum < 40 : off == 0);
    }
    chain_end(&c);
}

/// Fields come and go with key frames.
static void another_field_needs_a_key_frame(void **context)
{
    (void)context;
    const chain_setup setup = {{24, 17, 33}, 5, 3, 0, 300, 0, MODEL_FLOW_PARTICLES, 0};
    chain c;
    chain_begin(&c, &setup, 8);
    for (uint8_t from = 0; from < 2; from++) {
        stream_model_carry_field(c.model, 1, false);
        chain_write(&c, KEY, 1);
        assert_int_equal(chain_take(&c), TARN_OK);
        stream_model_carry_field(c.model, from, false);
        chain_write(&c, KEY, 1);
        assert_int_equal(chain_take(&c), TARN_OK);
        stream_model_carry_field(c.model, 2, false);
        chain_write(&c, EXTRA, 1);
        assert_int_equal(chain_take(&c), TARN_E_STATE);
        stream_model_carry_field(c.model, from, false);
        chain_write(&c, EXTRA, 1);
        assert_int_equal(chain_take(&c), TARN_OK);
    }
    chain_end(&c);
}

// -------------------------------------------------------------------------------------------------------------- layers

static void a_cut_frame_gives_the_layers_that_are_there(void **context)
{
    (void)context;
    const chain_setup setup = {{24, 17, 33}, 5, TARN_STREAM_LAYERS_MAX, COLOURS, 900, 0, MODEL_FLOW_PARTICLES, 0};
    for (uint32_t layers = 0; layers <= TARN_STREAM_LAYERS_MAX; layers++) {
        chain c;
        chain_begin(&c, &setup, 8);
        for (int f = 0; f < 5; f++) {
            stream_swarm_step(&c.swarm, 1);
            stream_swarm_renew(&c.swarm, 10);
            chain_write(&c, f == 0 ? KEY : f % 2 ? EXTRA : BASE, 1);
            c.byte_count = tarn_stream_cut_bytes(stream_model_last(c.model), layers);
            assert_int_equal(chain_take(&c), TARN_OK);
            assert_int_equal(c.receiver.frame.layers_present, layers);
            expect_shown(&c, 0, layers);
        }
        chain_end(&c);
    }
}

/// A frame cut behind `layers`, and how many are shown then.
typedef struct cut_frame {
    tarn_stream_kind kind;
    uint32_t layers, shown;
} cut_frame;

static void a_layer_that_missed_a_base_frame_stays_away_until_the_next_key_frame(void **context)
{
    (void)context;
    static const cut_frame frames[] = {
        {TARN_STREAM_KEY, 3, 3},   {TARN_STREAM_EXTRA, 1, 1}, {TARN_STREAM_EXTRA, 3, 3}, {TARN_STREAM_BASE, 3, 3},
        {TARN_STREAM_BASE, 2, 2},  {TARN_STREAM_BASE, 3, 2},  {TARN_STREAM_EXTRA, 3, 2}, {TARN_STREAM_BASE, 1, 1},
        {TARN_STREAM_EXTRA, 3, 1}, {TARN_STREAM_BASE, 3, 1},  {TARN_STREAM_KEY, 2, 2},   {TARN_STREAM_BASE, 4, 2},
        {TARN_STREAM_KEY, 4, 4},   {TARN_STREAM_BASE, 4, 4},  {TARN_STREAM_BASE, 0, 0},  {TARN_STREAM_BASE, 4, 0},
        {TARN_STREAM_KEY, 4, 4},
    };
    const chain_setup setup = {{24, 17, 33}, 5, 4, 0, 900, 0, MODEL_FLOW_PARTICLES, 0};
    chain c;
    chain_begin(&c, &setup, 8);
    for (size_t f = 0; f < sizeof frames / sizeof *frames; f++) {
        stream_swarm_step(&c.swarm, 1);
        stream_swarm_renew(&c.swarm, 10);
        chain_write(&c, frames[f].kind, 1);
        c.byte_count = tarn_stream_cut_bytes(stream_model_last(c.model), frames[f].layers);
        assert_int_equal(chain_take(&c), TARN_OK);
        expect_shown(&c, 0, frames[f].shown);
    }
    chain_end(&c);
}

// --------------------------------------------------------------------------------------------------------------- state

/// Takes a copy of the frame with a changed byte.
static tarn_status take_changed(chain *c, size_t at, uint8_t value)
{
    const uint8_t good = c->bytes[at];
    c->bytes[at] = value;
    const tarn_status status = chain_take(c);
    c->bytes[at] = good;
    return status;
}

static void a_frame_without_its_reference_is_refused(void **context)
{
    (void)context;
    const chain_setup setup = {{24, 17, 33}, 5, 2, 0, 300, 0, MODEL_FLOW_PARTICLES, 0};
    chain c;
    chain_begin(&c, &setup, 8);
    chain_write(&c, KEY, 1);
    assert_true(stream_receiver_make_for(&c.receiver, c.bytes, c.byte_count));
    chain_write(&c, BASE, 1);
    assert_int_equal(chain_take(&c), TARN_E_STATE); // the key frame never came
    chain_go(&c, KEY, 1);
    chain_write(&c, EXTRA, 1); // left out
    chain_go(&c, BASE, 2);
    chain_write(&c, BASE, 1); // lost
    for (int f = 0; f < 3; f++) {
        chain_write(&c, f == 1 ? EXTRA : BASE, 1);
        assert_int_equal(chain_take(&c), TARN_E_STATE);
    }
    chain_go(&c, KEY, 1);
    chain_go(&c, BASE, 1);
    chain_write(&c, BASE, 1);
    assert_int_equal(take_changed(&c, 20, 8), TARN_E_STATE);       // epoch
    assert_int_equal(take_changed(&c, 13, 4), TARN_E_STATE);       // place_bits
    assert_int_equal(take_changed(&c, 16, COLOURS), TARN_E_STATE); // flags
    assert_int_equal(take_changed(&c, 64, 23), TARN_E_STATE);      // cells
    assert_int_equal(take_changed(&c, 68, 34), TARN_E_STATE);
    assert_int_equal(take_changed(&c, 56, (uint8_t)(c.bytes[56] + 100)), TARN_E_STATE); // reference
    assert_int_equal(take_changed(&c, 16, TARN_FRAME_FLAG_PAUSED), TARN_OK); // nothing of the above harmed it
    expect_shown(&c, 0, 2);
    chain_end(&c);
}

static void too_little_room_changes_nothing(void **context)
{
    (void)context;
    const chain_setup setup = {{24, 17, 33}, 5, 2, COLOURS, 300, 0, MODEL_FLOW_PARTICLES, 0};
    chain c;
    chain_begin(&c, &setup, 8);
    chain_go(&c, KEY, 1);
    tarn_stream_particles *out = &c.receiver.particles;
    for (int f = 0; f < 3; f++) {
        const uint64_t before = stream_receiver_hash(&c.receiver);
        const uint32_t count = out->count, most = out->particles_max;
        stream_swarm_step(&c.swarm, 1);
        chain_write(&c, f == 1 ? EXTRA : BASE, 1);
        const tarn_stream_head *head = stream_model_last(c.model);
        out->particles_max = head->layers[0].slots + head->layers[1].slots - 1;
        assert_int_equal(chain_take(&c), TARN_E_SPACE);
        assert_int_equal(out->count, count);
        assert_true(stream_receiver_hash(&c.receiver) == before);
        out->particles_max++;
        assert_int_equal(chain_take(&c), TARN_OK);
        expect_shown(&c, 0, 2);
        out->particles_max = most;
    }
    // A key frame of a larger tank, of more slots, of a larger grid: the chain goes on as if they hadn't come.
    const chain_setup larger[] = {
        {{24, 17, 41}, 5, 2, COLOURS, 300, 0, MODEL_FLOW_PARTICLES, 12},
        {{24, 17, 33}, 5, 2, COLOURS, 301, 0, MODEL_FLOW_PARTICLES, 0},
        {{24, 17, 33}, 5, 2, COLOURS, 300, 0, MODEL_FLOW_PARTICLES, 46},
    };
    for (size_t i = 0; i < sizeof larger / sizeof *larger; i++) {
        chain other;
        chain_begin(&other, &larger[i], 8);
        chain_write(&other, KEY, 1);
        assert_int_equal(stream_receiver_take(&c.receiver, other.bytes, other.byte_count), TARN_E_SPACE);
        chain_end(&other);
        chain_go(&c, BASE, 1);
    }
    chain_end(&c);
}

/// One decoder for tanks of different sizes, one after another, each with the grid of the one before to forget.
static void a_decoder_goes_on_with_another_tank(void **context)
{
    (void)context;
    const chain_setup tanks[] = {
        {{24, 17, 33}, 5, 2, COLOURS, 300, 0, MODEL_FLOW_PARTICLES, 0},
        {{33, 24, 17}, 2, 1, 0, 200, 0, MODEL_FLOW_ALL, 0},
        {{8, 8, 8}, 7, 4, COLOURS, 90, 0, MODEL_FLOW_PARTICLES, 0},
        {{17, 33, 24}, 0, 2, 0, 300, 0, MODEL_FLOW_PARTICLES, 20},
    };
    const tarn_stream_size size = {.slots = 800, .tiles = 45, .flow_tiles = 45};
    stream_receiver receiver;
    stream_receiver_make(&receiver, &size);
    for (int i = 0; i < 12; i++) {
        chain c;
        chain_begin(&c, &tanks[i % 4], 8);
        c.receiver = receiver;
        chain_go(&c, KEY, 1);
        stream_swarm_step(&c.swarm, 1);
        chain_go(&c, BASE, 1);
        chain_go(&c, EXTRA, 1);
        receiver = c.receiver;
        c.receiver.memory = NULL;
        chain_end(&c);
    }
    stream_receiver_free(&receiver);
}

/// More tiles than its key frame promised are refused, whatever the decoder has room for.
static void promises_of_a_key_frame_bind(void **context)
{
    (void)context;
    const chain_setup setup = {{12, 8, 8}, 5, 1, 0, 2, 0, MODEL_FLOW_PARTICLES, 0};
    for (uint8_t promised = 1; promised <= 2; promised++) {
        chain c;
        chain_begin(&c, &setup, 8);
        c.swarm.particles[0] = (model_particle){{100, 100, 100}, 0, 0, true, 0};
        c.swarm.particles[1] = (model_particle){{11 << 10, 100, 100}, 0, 0, false, 0};
        chain_write(&c, KEY, 1);
        assert_true(stream_receiver_make_for(&c.receiver, c.bytes, c.byte_count));
        c.bytes[116] = promised;
        assert_int_equal(chain_take(&c), TARN_OK);
        c.swarm.particles[1].is_alive = true;
        chain_write(&c, BASE, 1);
        assert_int_equal(stream_model_last(c.model)->flow_tiles, 2);
        assert_int_equal(chain_take(&c), promised == 2 ? TARN_OK : TARN_E_MALFORMED);
        chain_end(&c);
    }
}

/// What a key frame may ask for at most is counted without wrapping around.
static void sizes_do_not_wrap_around(void **context)
{
    (void)context;
    const tarn_stream_size none = {0}, most = {TARN_FRAME_PARTICLES_MAX, 1 << 24, TARN_FRAME_TILES_MAX,
                                               TARN_FRAME_FIELD_TILES_MAX, 576 * TARN_FRAME_FIELD_TILES_MAX};
    const uint64_t nodes = 2ull * TARN_FRAME_TILES_MAX * TARN_FLOW_BLOCK * sizeof(tarn_flow_node);
    assert_true(tarn_stream_bytes(&none) > sizeof(tarn_code_tables));
    assert_true(tarn_stream_bytes(&most) > (nodes < SIZE_MAX ? nodes : SIZE_MAX - 1));
}

// --------------------------------------------------------------------------------------------------------------- heads

static void a_head_comes_back(void **context)
{
    (void)context;
    const tarn_frame_input inputs[2] = {{1000, 5}, {UINT32_MAX, 0}};
    stream_model_setup setup = {.head = stream_model_head(24, 17, 33, 5, 3, 10, 4), .inputs = inputs};
    setup.head.input_count = 2;
    setup.head.body_count = 2;
    setup.head.flags = TARN_FRAME_FLAG_PAUSED;
    setup.head.bodies[0] = (tarn_frame_body){3, {-0.25f, 1e3f, 0.0f}, {0, 0, 0, TARN_FRAME_ROTATION_ONE}};
    setup.head.bodies[1] = (tarn_frame_body){UINT16_MAX, {1.0f, 2.0f, 3.0f}, {-TARN_FRAME_ROTATION_ONE, 0, 0, 0}};
    stream_model *model = stream_model_make(&setup);
    uint8_t *bytes;
    const size_t byte_count = stream_model_write(model, KEY, NULL, 0, 3, &bytes);
    const tarn_stream_head *said = stream_model_last(model);
    tarn_stream_frame frame;
    assert_int_equal(tarn_stream_open(bytes, byte_count, &frame), TARN_OK);
    const tarn_stream_head *read = &frame.head;
    assert_int_equal(tarn_stream_head_bytes(read), 136 + 2 * 24 + 2 * 8 + 3 * 16);
    assert_int_equal(read->frame_bytes, byte_count);
    assert_int_equal(read->step, said->step);
    assert_int_equal(read->server_time_us, said->server_time_us);
    assert_true(read->sim_time_s == said->sim_time_s && read->interval_s == 0.05f);
    assert_int_equal(read->number, 1);
    assert_int_equal(read->reference, 1);
    assert_int_equal(read->interval_steps, 3);
    assert_memory_equal(read->cells, said->cells, sizeof read->cells);
    assert_memory_equal(read->orientation, said->orientation, sizeof read->orientation);
    assert_memory_equal(read->gravity_m_s2, said->gravity_m_s2, sizeof read->gravity_m_s2);
    assert_memory_equal(read->layers, said->layers, sizeof read->layers);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(tarn_stream_input_at(&frame, i).viewer_id, inputs[i].viewer_id);
        assert_int_equal(tarn_stream_input_at(&frame, i).sequence, inputs[i].sequence);
        assert_int_equal(read->bodies[i].solid, said->bodies[i].solid);
        assert_memory_equal(read->bodies[i].position_m, said->bodies[i].position_m, 12);
        assert_memory_equal(read->bodies[i].rotation, said->bodies[i].rotation, 8);
    }
    for (uint32_t l = 0; l <= 3; l++) {
        assert_int_equal(tarn_stream_cut_bytes(read, l), byte_count - (l < 3 ? said->layers[2].bytes : 0) -
                                                             (l < 2 ? said->layers[1].bytes : 0) -
                                                             (l < 1 ? said->layers[0].bytes : 0));
    }
    free(bytes);
    stream_model_destroy(model);
}

/// Where what happened between two steps of the simulation took no time, nothing has a velocity.
static void velocities_have_no_unit_without_an_interval(void **context)
{
    (void)context;
    const chain_setup setup = {{24, 17, 33}, 5, 2, 0, 300, 0, MODEL_FLOW_PARTICLES, 0};
    chain c;
    chain_begin(&c, &setup, 8);
    chain_go(&c, KEY, 0);
    assert_true(c.receiver.particles.velocity_scale_m_s == 0.0f);
    stream_swarm_step(&c.swarm, 1);
    chain_go(&c, BASE, 0);
    chain_write(&c, BASE, 1);
    memcpy(c.bytes + 104, "\1\0\0\0", 4); // the least float: the scale would be infinite
    assert_int_equal(chain_take(&c), TARN_OK);
    assert_true(c.receiver.particles.velocity_scale_m_s == 0.0f);
    chain_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_flows_curl_is_shown_beside_the_colours),
        cmocka_unit_test(decoded_places_are_the_encoders_over_hundreds_of_frames),
        cmocka_unit_test(levels_come_back_whenever_frames_carry_them),
        cmocka_unit_test(levels_cost_no_more_than_promised),
        cmocka_unit_test(every_quantum_tank_and_grid_comes_back),
        cmocka_unit_test(the_largest_tank_comes_back),
        cmocka_unit_test(few_particles_and_none_come_back),
        cmocka_unit_test(a_crowded_tile_comes_back),
        cmocka_unit_test(what_is_shown_stays_within_the_dead_zone),
        cmocka_unit_test(still_water_costs_next_to_nothing),
        cmocka_unit_test(extra_frames_can_be_left_out),
        cmocka_unit_test(fields_come_back),
        cmocka_unit_test(fields_without_details_are_coarse),
        cmocka_unit_test(another_field_needs_a_key_frame),
        cmocka_unit_test(a_cut_frame_gives_the_layers_that_are_there),
        cmocka_unit_test(a_layer_that_missed_a_base_frame_stays_away_until_the_next_key_frame),
        cmocka_unit_test(a_frame_without_its_reference_is_refused),
        cmocka_unit_test(too_little_room_changes_nothing),
        cmocka_unit_test(a_decoder_goes_on_with_another_tank),
        cmocka_unit_test(promises_of_a_key_frame_bind),
        cmocka_unit_test(sizes_do_not_wrap_around),
        cmocka_unit_test(a_head_comes_back),
        cmocka_unit_test(velocities_have_no_unit_without_an_interval),
    };
    return cmocka_run_group_tests_name("protocol streams", tests, NULL, NULL);
}
