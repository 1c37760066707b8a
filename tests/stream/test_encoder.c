// A tank's frames: what a decoder has is what the encoder knows that it has, bit for bit, and near where the particles
// are; whoever comes and goes; the same bytes whatever encodes them.
#include "tests/kernels/tank_acts.h"
#include "tests/stream/encoder_stage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int32_t size_of(int32_t x)
{
    return x < 0 ? -x : x;
}

/// Compares what the decoder has handed out of the first layers with what the encoder says it has, and with the truth.
static void expect_seen(const stage *s, tarn_stream_kind kind, uint32_t layers)
{
    const tarn_encoder *e = s->encoder;
    const float slack = kind == TARN_STREAM_KEY    ? 0.5f
                        : kind == TARN_STREAM_BASE ? e->desc.base_slack
                                                   : e->desc.extra_slack;
    const int32_t most = (int32_t)(slack * (float)(1 << (TARN_PLACE_BITS - e->desc.place_bits))) + 1;
    const uint32_t shift = TARN_PLACE_BITS - s->seen.unit_bits;
    uint32_t *particle = particles_of_slots(s), at = 0;
    for (uint32_t l = 0; l < layers; l++) {
        uint32_t in_layer = 0;
        for (uint32_t slot = e->layers[l].first; slot < e->layers[l].first + e->layers[l].slots; slot++) {
            if (particle[slot] == TILE_NONE) {
                continue; // dead, or in an extra frame not yet known to be
            }
            const uint32_t i = particle[slot];
            int32_t kept[4], truth[4];
            assert_true(at < s->seen.count);
            tarn_four_store(kept, stream_unpack_place(e->args.w.pair[e->args.seat[i]].kept));
            tarn_four_store(truth, stream_place_of(&e->args, i));
            for (int a = 0; a < 3; a++) {
                const uint16_t seen = s->seen.positions[4 * (size_t)at + (size_t)a];
                if (kind != TARN_STREAM_EXTRA) {
                    assert_int_equal(seen, (uint32_t)kept[a] >> shift);
                }
                if (size_of((int32_t)(seen << shift) - truth[a]) > most + (1 << shift)) {
                    fail_msg("slot %u, axis %d: seen at %d, is at %d of 1/1024 cell", slot, a, seen << shift, truth[a]);
                }
            }
            assert_int_equal(s->seen.velocities[4 * (size_t)at + 3], l);
            if (e->args.has_colours && kind == TARN_STREAM_KEY) {
                assert_int_equal(s->seen.positions[4 * (size_t)at + 3], stream_colour_of(&e->args, i));
            }
            at++;
            in_layer++;
        }
        assert_int_equal(in_layer, s->head.layers[l].particles);
    }
    assert_int_equal(at, s->seen.count);
    free(particle);
}

/// A tank that was saved and is loaded elsewhere is shown there as if nothing had happened: a key frame comes early.
static void a_stream_goes_on_in_another_tank(void **state)
{
    (void)state;
    tarn_tank_desc desc;
    tarn_encoder_desc how;
    fixture_named("dam break 32")->describe(&desc);
    tarn_encoder_desc_default(&how);
    stage here = open_stage(&one_thread, &desc, &how), there = open_stage(&one_thread, &desc, &how);
    assert_int_equal(tarn_encoder_number(here.encoder), 0);
    for (uint32_t frame = 0; frame < 5; frame++) {
        assert_int_equal(act_step(here.tank, NULL, 0), TARN_OK);
        encode(&here, frame == 0 ? TARN_STREAM_KEY : TARN_STREAM_BASE);
        assert_int_equal(show(&here, how.layers), TARN_OK);
    }
    size_t bytes;
    const size_t bytes_max = tarn_tank_save_bytes_max(here.tank);
    uint8_t *saved = malloc(bytes_max);
    assert_int_equal(tarn_tank_save(here.tank, saved, bytes_max, &bytes), TARN_OK);
    assert_int_equal(tarn_tank_load(there.tank, saved, bytes), TARN_OK);
    free(saved);
    tarn_encoder_go_on(there.encoder, tarn_encoder_number(here.encoder));
    const uint32_t number = here.head.number;
    const uint64_t step = here.head.step;
    for (uint32_t frame = 1; frame <= 3; frame++) {
        assert_int_equal(act_step(there.tank, NULL, 0), TARN_OK);
        assert_int_equal(encode(&there, TARN_STREAM_BASE), frame == 1 ? TARN_STREAM_KEY : TARN_STREAM_BASE);
        assert_int_equal(there.head.number, number + frame);
        assert_int_equal(there.head.step, step + frame);
        // What decoded the one decodes the other.
        tarn_stream_frame opened;
        assert_int_equal(tarn_stream_open(there.bytes, there.head.frame_bytes, &opened), TARN_OK);
        assert_int_equal(tarn_stream_decode(here.decoder, &opened, &here.seen), TARN_OK);
    }
    close_stage(&here);
    close_stage(&there);
}

/// Every fixture's frames, with quanta and layers of all sizes. Extra frames can't know of deaths: those of tanks that
/// lose particles are decoded and not compared.
static void what_is_seen_is_what_is_known(void **state)
{
    (void)state;
    for (int f = 0; f < TANK_FIXTURE_TINY; f++) {
        for (uint32_t bits = 0; bits <= TARN_SET_BITS_MAX; bits += f == 0 ? 1 : 5) {
            tarn_tank_desc desc;
            tarn_encoder_desc how;
            tank_fixtures[f].describe(&desc);
            tarn_encoder_desc_default(&how);
            how.place_bits = bits;
            how.layers = 1 + bits % TARN_STREAM_LAYERS_MAX;
            stage s = open_stage(&one_thread, &desc, &how);
            for (uint32_t frame = 0; frame < 16; frame++) {
                tarn_push push;
                const uint32_t pushes = tank_fixture_push(&tank_fixtures[f], &desc, frame, &push);
                assert_int_equal(act_step(s.tank, &push, pushes), TARN_OK);
                const tarn_stream_kind kind = encode(&s, kind_at(frame));
                assert_int_equal(kind, kind_at(frame));
                assert_int_equal(show(&s, how.layers), TARN_OK);
                if (kind != TARN_STREAM_EXTRA || is_closed(&tank_fixtures[f])) {
                    expect_seen(&s, kind, how.layers);
                }
            }
            close_stage(&s);
        }
    }
}

static void expect_steps(stage *s, tarn_stream_kind kind, uint32_t residual_step, uint32_t flow_step)
{
    assert_int_equal(act_step(s->tank, NULL, 0), TARN_OK);
    assert_int_equal(encode(s, kind), kind);
    assert_int_equal(s->head.residual_step, residual_step);
    assert_int_equal(s->head.flow_step, flow_step);
}

/// Steps become coarse where a particle takes much, and fine again where it takes much less, or in a new chain.
static void steps_are_as_coarse_as_the_water_is_wild(void **state)
{
    (void)state;
    static const struct {
        float bits;
        uint32_t quarters; ///< of a quantum
    } bases[] = {{3.0f, 4}, {4.0f, 6}, {3.0f, 6}, {1.0f, 4}, {3.0f, 4}};
    tarn_tank_desc desc;
    tarn_encoder_desc how;
    fixture_named("dam break 32")->describe(&desc);
    tarn_encoder_desc_default(&how);
    const uint32_t quantum = 1u << (TARN_PLACE_BITS - how.place_bits);
    stage s = open_stage(&one_thread, &desc, &how);
    expect_steps(&s, TARN_STREAM_KEY, quantum, 1);
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        s.encoder->base_bits = bases[i].bits;
        expect_steps(&s, TARN_STREAM_BASE, bases[i].quarters * quantum / 4, 1);
    }
    s.encoder->base_bits = 9.0f;
    expect_steps(&s, TARN_STREAM_BASE, 6 * quantum / 4, 4);
    s.encoder->base_bits = 9.0f;
    expect_steps(&s, TARN_STREAM_KEY, quantum, 1);
    expect_steps(&s, TARN_STREAM_BASE, quantum, 1);
    close_stage(&s);
}

/// Bytes of the flow and residuals of an extra frame of what the tank has now, after a base frame of so many bits.
static double moved_bytes(stage *s, float base_bits)
{
    s->encoder->base_bits = base_bits;
    assert_int_equal(encode(s, TARN_STREAM_EXTRA), TARN_STREAM_EXTRA);
    double bytes = s->head.flow_bytes;
    for (uint32_t l = 0; l < s->head.layer_count; l++) {
        bytes += s->head.layers[l].bytes;
    }
    return bytes;
}

/// Where the water isn't calm the grid is fitted twice, which leaves less to say; in calm water it doesn't take that
/// time.
static void a_second_fit_leaves_less_to_say(void **state)
{
    (void)state;
    tarn_tank_desc desc;
    tarn_encoder_desc how;
    fixture_named("dam break 32")->describe(&desc);
    tarn_encoder_desc_default(&how);
    stage s = open_stage(&one_thread, &desc, &how);
    for (uint32_t step = 0; step < 44; step++) {
        assert_int_equal(tarn_tank_step(s.tank, NULL), TARN_OK);
        if (step == 39) {
            encode(&s, TARN_STREAM_KEY);
        }
    }
    const double once = moved_bytes(&s, 0.5f), unknown = moved_bytes(&s, 0.0f), twice = moved_bytes(&s, 2.0f);
    print_message("bytes of a moved frame, fitted once %.0f, twice %.0f\n", once, twice);
    assert_true(once > 1000.0);
    assert_true(twice < 0.96 * once);
    assert_true(unknown == twice);
    close_stage(&s);
}

static uint64_t mix(uint64_t hash, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ bytes[i]) * 0x100000001b3ull; // FNV-1a
    }
    return hash;
}

/// With the pressure in the later ones.
static uint64_t hash_of_frames(const tarn_device_desc *on, const tank_fixture *fixture)
{
    tarn_tank_desc desc;
    tarn_encoder_desc how;
    uint64_t hash = 0xcbf29ce484222325ull;
    fixture->describe(&desc);
    tarn_encoder_desc_default(&how);
    stage s = open_stage(on, &desc, &how);
    for (uint32_t frame = 0; frame < 6; frame++) {
        assert_int_equal(tarn_tank_step(s.tank, NULL), TARN_OK);
        assert_int_equal(tarn_encoder_carry(s.encoder, frame > 2 ? STAGE_PRESSURE : 0), TARN_OK);
        encode(&s, kind_at(frame));
        hash = mix(hash, s.bytes, s.head.frame_bytes);
    }
    close_stage(&s);
    return hash;
}

static void the_same_bytes_from_all_threads_and_instructions(void **state)
{
    (void)state;
    for (int f = 0; f < TANK_FIXTURE_TINY; f++) {
        const uint64_t hash = hash_of_frames(&one_thread, &tank_fixtures[f]);
        const tarn_device_desc others[] = {
            {.kind = TARN_DEVICE_CPU, .threads = 3},
            {.kind = TARN_DEVICE_CPU, .threads = 1, .isa = "v2"},
        };
        for (int i = 0; i < 2; i++) {
            assert_int_equal(hash_of_frames(&others[i], &tank_fixtures[f]), hash);
        }
    }
}

static stage open_tiny(uint32_t layers)
{
    tarn_tank_desc desc;
    tarn_encoder_desc how;
    tank_fixtures[0].describe(&desc);
    tarn_encoder_desc_default(&how);
    how.layers = layers;
    return open_stage(&one_thread, &desc, &how);
}

static void step(stage *s)
{
    assert_int_equal(act_step(s->tank, NULL, 0), TARN_OK);
}

/// Where there is nothing to refer to, a key frame comes whatever was asked for.
static void what_replaces_the_particles_asks_for_a_key_frame(void **state)
{
    (void)state;
    stage s = open_tiny(2);
    assert_int_equal(encode(&s, TARN_STREAM_EXTRA), TARN_STREAM_KEY);
    step(&s);
    assert_int_equal(encode(&s, TARN_STREAM_EXTRA), TARN_STREAM_EXTRA);
    const size_t saved_max = tarn_tank_save_bytes_max(s.tank);
    uint8_t *saved = malloc(saved_max);
    size_t saved_bytes;
    assert_int_equal(tarn_tank_save(s.tank, saved, saved_max, &saved_bytes), TARN_OK);
    assert_int_equal(encode(&s, TARN_STREAM_BASE), TARN_STREAM_BASE);
    assert_int_equal(tarn_tank_load(s.tank, saved, saved_bytes), TARN_OK);
    assert_int_equal(encode(&s, TARN_STREAM_BASE), TARN_STREAM_KEY);
    assert_int_equal(tarn_tank_reset(s.tank), TARN_OK);
    assert_int_equal(encode(&s, TARN_STREAM_EXTRA), TARN_STREAM_KEY);
    s.epoch++;
    assert_int_equal(encode(&s, TARN_STREAM_BASE), TARN_STREAM_KEY);
    // A frame that found no room has made nobody's reference.
    const tarn_tank_frame_info info = {.epoch = s.epoch, .realtime_factor = 1.0f};
    assert_int_equal(tarn_encoder_encode(s.encoder, TARN_STREAM_BASE, &info, s.bytes, 200, &s.head), TARN_E_SPACE);
    assert_int_equal(encode(&s, TARN_STREAM_BASE), TARN_STREAM_KEY);
    assert_int_equal(show(&s, 2), TARN_OK);
    expect_seen(&s, TARN_STREAM_KEY, 2);
    free(saved);
    close_stage(&s);
}

/// The first dye, the first births where there were none, and the end of both make key frames; what comes between them
/// goes on as ever.
static void tools_ask_for_a_key_frame_where_frames_change(void **state)
{
    (void)state;
    stage s = open_tiny(3);
    const tarn_tank_tools dye = {
        .dye_count = 1,
        .dyes = {{.center_m = {0.2f, 0.15f, 0.2f}, .radius_m = 0.12f, .colour = {255, 0, 0}, .share = 1.0f}}};
    const tarn_tank_tools pour = {
        .pour_count = 1,
        .pours = {{.center_m = {0.4f, 0.3f, 0.2f}, .radius_m = 0.06f, .velocity_m_s = {0.0f, -2.0f, 0.0f}}}};
    const struct {
        const tarn_tank_tools *tools;
        tarn_stream_kind wanted;
    } frames[] = {{NULL, TARN_STREAM_KEY},  {NULL, TARN_STREAM_BASE},  {&dye, TARN_STREAM_KEY},
                  {&dye, TARN_STREAM_BASE}, {&pour, TARN_STREAM_KEY},  {&pour, TARN_STREAM_BASE},
                  {&dye, TARN_STREAM_BASE}, {&pour, TARN_STREAM_BASE}, {NULL, TARN_STREAM_BASE}};
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        const uint32_t before = particle_count(&s);
        for (int again = 0; again < 3; again++) { // a pour's first births may wait for a step
            if (frames[i].tools != NULL) {
                assert_int_equal(act_set_tools(s.tank, frames[i].tools), TARN_OK);
            }
            step(&s);
        }
        assert_int_equal(particle_count(&s) > before, frames[i].tools == &pour);
        assert_int_equal(encode(&s, TARN_STREAM_BASE), frames[i].wanted);
        assert_int_equal((s.head.flags & TARN_FRAME_FLAG_COLOURS) != 0, i >= 2);
        assert_int_equal(show(&s, 3), TARN_OK);
        expect_seen(&s, frames[i].wanted, 3);
    }
    assert_int_equal(tarn_tank_reset(s.tank), TARN_OK);
    assert_int_equal(encode(&s, TARN_STREAM_BASE), TARN_STREAM_KEY);
    assert_int_equal(s.head.flags & TARN_FRAME_FLAG_COLOURS, 0);
    close_stage(&s);
}

/// Frames that are cut give their layers; a layer that missed a base frame comes back with the next key frame.
static void cut_frames_give_their_layers(void **state)
{
    (void)state;
    stage s = open_tiny(4);
    const uint32_t layers[] = {4, 4, 2, 4, 4, 1, 3, 4}; // frame 0: key, then base and extra in turns
    const uint32_t whole[] = {4, 4, 2, 2, 2, 1, 2, 2};
    for (uint32_t frame = 0; frame < 8; frame++) {
        step(&s);
        const tarn_stream_kind kind = encode(&s, kind_at(frame));
        assert_int_equal(show(&s, layers[frame]), TARN_OK);
        expect_seen(&s, kind, whole[frame]);
    }
    encode(&s, TARN_STREAM_KEY);
    assert_int_equal(show(&s, 4), TARN_OK);
    expect_seen(&s, TARN_STREAM_KEY, 4);
    close_stage(&s);
}

/// Of a pool that fills a tank up to half its height: whether the particle's cell is one of the outermost, at a wall or
/// at the surface. Nobody looks through the floor.
static bool is_outermost(const tarn_tank_desc *desc, const stream_args *args, uint32_t particle)
{
    int32_t place[4];
    tarn_four_store(place, stream_place_of(args, particle));
    const int32_t x = place[0] >> TARN_PLACE_BITS, y = place[1] >> TARN_PLACE_BITS, z = place[2] >> TARN_PLACE_BITS;
    return x == 0 || x == desc->cells[0] - 1 || z == 0 || z == desc->cells[2] - 1 || y == desc->cells[1] / 2 - 1;
}

/// Whether a share is what it should be of so many, as chance has it.
static void expect_share(uint32_t part, uint32_t all, double share)
{
    const double found = (double)part / (double)all, most = 5.0 * sqrt(share * (1.0 - share) / (double)all);
    if (fabs(found - share) > most) {
        fail_msg("%u of %u are a share of %.4f, not %.4f", part, all, found, share);
    }
}

/// The first layer is a fair sample of all particles; then what is seen comes before what is hidden.
static void what_is_seen_comes_first(void **state)
{
    (void)state;
    for (uint32_t layers = 1; layers <= TARN_STREAM_LAYERS_MAX; layers++) {
        tarn_tank_desc desc;
        tarn_encoder_desc how;
        uint32_t count[2][TARN_STREAM_LAYERS_MAX] = {{0}}, all[2] = {0};
        fixture_named("still pool")->describe(&desc);
        tarn_encoder_desc_default(&how);
        how.layers = layers;
        stage s = open_stage(&one_thread, &desc, &how);
        encode(&s, TARN_STREAM_KEY);
        for (uint32_t i = 0; i < particle_count(&s); i++) {
            const int is_seen = is_outermost(&desc, &s.encoder->args, i);
            count[is_seen][s.encoder->args.w.layer[i]]++;
            all[is_seen]++;
        }
        assert_true(all[0] > 10000 && all[1] > 10000);
        uint32_t sum = 0;
        for (uint32_t l = 0; l < layers; l++) {
            assert_int_equal(s.head.layers[l].particles, count[0][l] + count[1][l]);
            sum += s.head.layers[l].particles;
        }
        assert_int_equal(sum, particle_count(&s));
        for (int is_seen = 0; layers > 1 && is_seen < 2; is_seen++) {
            expect_share(count[is_seen][0], all[is_seen], 2.0 / 16.0);
        }
        if (layers > 2) {
            assert_int_equal(count[0][1], 0);
            expect_share(count[1][0] + count[1][1], all[1], 11.0 / 16.0);
            assert_int_equal(count[1][0] + count[1][1] + count[1][2], all[1]);
        }
        if (layers > 3) {
            expect_share(count[0][layers - 1], all[0], 8.0 / 16.0);
        }
        close_stage(&s);
    }
}

static void a_frame_left_out_is_noticed(void **state)
{
    (void)state;
    stage s = open_tiny(1);
    encode(&s, TARN_STREAM_KEY);
    assert_int_equal(show(&s, 1), TARN_OK);
    step(&s);
    encode(&s, TARN_STREAM_EXTRA); // not shown: nothing refers to it
    step(&s);
    encode(&s, TARN_STREAM_EXTRA);
    assert_int_equal(show(&s, 1), TARN_OK);
    expect_seen(&s, TARN_STREAM_EXTRA, 1);
    encode(&s, TARN_STREAM_BASE); // not shown
    step(&s);
    encode(&s, TARN_STREAM_EXTRA);
    assert_int_equal(show(&s, 1), TARN_E_STATE);
    encode(&s, TARN_STREAM_KEY);
    assert_int_equal(show(&s, 1), TARN_OK);
    close_stage(&s);
}

static tarn_tank_desc block_of(uint16_t nx, uint16_t ny, uint16_t nz, float share)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = nx;
    desc.cells[1] = ny;
    desc.cells[2] = nz;
    desc.block_count = share > 0.0f;
    for (int a = 0; a < 3; a++) {
        desc.blocks[0].max_m[a] = (float)desc.cells[a] * desc.cell_m * (a == 0 ? share : 1.0f);
    }
    return desc;
}

static stage open_block(const tarn_tank_desc *desc)
{
    tarn_encoder_desc how;
    tarn_encoder_desc_default(&how);
    return open_stage(&one_thread, desc, &how);
}

static int compare_u64(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/// A particle's quanta along x, y and z in one number.
static uint64_t quanta_of(const double quanta[3])
{
    return (uint64_t)quanta[0] << 32 | (uint64_t)quanta[1] << 16 | (uint64_t)quanta[2];
}

/// Every particle that an export has is in the frame, in its quantum, and the velocities' mean is theirs.
static void a_key_frame_shows_what_exports_have(void **state)
{
    (void)state;
    const tarn_tank_desc desc = block_of(30, 20, 12, 0.5f);
    stage s = open_block(&desc);
    for (int i = 0; i < 20; i++) {
        step(&s);
    }
    encode(&s, TARN_STREAM_KEY);
    assert_int_equal(show(&s, s.head.layer_count), TARN_OK);
    const uint32_t n = particle_count(&s), to_quanta = s.seen.unit_bits - s.head.place_bits;
    assert_int_equal(s.seen.count, n);
    float *positions = malloc((size_t)n * 3 * sizeof *positions),
          *velocities = malloc((size_t)n * 3 * sizeof *positions);
    uint64_t *found = malloc((size_t)n * sizeof *found), *wanted = malloc((size_t)n * sizeof *wanted);
    uint32_t count, different = 0;
    double mean_seen = 0.0, mean_exact = 0.0;
    assert_int_equal(tarn_tank_particles(s.tank, positions, velocities, NULL, n, &count), TARN_OK);
    for (size_t i = 0; i < n; i++) {
        double seen[3], exact[3];
        for (size_t a = 0; a < 3; a++) {
            seen[a] = s.seen.positions[4 * i + a] >> to_quanta;
            exact[a] = (double)positions[3 * i + a] / (double)desc.cell_m * (1 << s.head.place_bits);
        }
        found[i] = quanta_of(seen);
        wanted[i] = quanta_of(exact);
        mean_seen += s.seen.velocities[4 * i] * (double)s.seen.velocity_scale_m_s / n;
        mean_exact += (double)velocities[3 * i] / n;
    }
    qsort(found, n, sizeof *found, compare_u64);
    qsort(wanted, n, sizeof *wanted, compare_u64);
    for (uint32_t i = 0; i < n; i++) {
        different += found[i] != wanted[i];
    }
    // Copies are rounded to floats, which may move a particle across the border of a quantum, here and there.
    assert_true(different * 100 < n);
    assert_true(mean_exact > 0.1);
    if (fabs(mean_seen - mean_exact) > 0.05 * mean_exact) {
        fail_msg("the mean velocity is %g m/s, seen at %g m/s", mean_exact, mean_seen);
    }
    free(positions);
    free(velocities);
    free(found);
    free(wanted);
    close_stage(&s);
}

/// Red on the left, green with some blue on the right: every particle has its side's colour.
static void frames_carry_the_dye(void **state)
{
    (void)state;
    tarn_tank_desc desc = block_of(20, 12, 12, 0.5f);
    const float middle_m = desc.blocks[0].max_m[0];
    desc.block_count = 2;
    desc.blocks[1] = desc.blocks[0];
    desc.blocks[1].min_m[0] = middle_m;
    desc.blocks[1].max_m[0] = 2.0f * middle_m;
    memcpy(desc.blocks[0].colour, (uint8_t[4]){255, 0, 0, 255}, 4);
    memcpy(desc.blocks[1].colour, (uint8_t[4]){18, 240, 128, 255}, 4);
    stage s = open_block(&desc);
    encode(&s, TARN_STREAM_KEY);
    assert_int_equal(show(&s, s.head.layer_count), TARN_OK);
    assert_int_equal(s.head.flags, TARN_FRAME_FLAG_COLOURS);
    assert_int_equal(s.head.body_count, 0);
    uint32_t left = 0;
    for (size_t i = 0; i < s.seen.count; i++) {
        const bool is_left = s.seen.positions[4 * i] < 10 << s.seen.unit_bits;
        left += (uint32_t)is_left;
        // 18 / 255 of 7 is nearest to 0, 240 / 255 of 7 to 7, 128 / 255 of 3 to 2
        assert_int_equal(s.seen.positions[4 * i + 3], is_left ? 7 << 5 : 7 << 2 | 2);
    }
    assert_true(left > s.seen.count / 3 && left < 2 * s.seen.count / 3);
    close_stage(&s);
}

static void a_frame_says_what_it_was_told(void **state)
{
    (void)state;
    const tarn_tank_desc desc = block_of(8, 8, 8, 0.5f);
    const tarn_frame_input input = {7, 42};
    const tarn_tank_frame_info info = {.epoch = 3,
                                       .flags = TARN_FRAME_FLAG_PAUSED,
                                       .server_time_us = 99,
                                       .realtime_factor = 0.5f,
                                       .input_count = 1,
                                       .inputs = &input};
    tarn_stream_frame frame;
    stage s = open_block(&desc);
    step(&s);
    assert_int_equal(tarn_encoder_encode(s.encoder, TARN_STREAM_KEY, &info, s.bytes, 100, &s.head), TARN_E_SPACE);
    assert_int_equal(tarn_encoder_encode(s.encoder, TARN_STREAM_BASE, &info, s.bytes, FRAME_BYTES_MAX, &s.head),
                     TARN_OK);
    assert_int_equal(tarn_stream_open(s.bytes, s.head.frame_bytes, &frame), TARN_OK);
    assert_int_equal(frame.head.kind, TARN_STREAM_KEY); // since there was no room for the one before
    assert_int_equal(frame.head.step, 1);
    assert_int_equal(frame.head.epoch, 3);
    assert_int_equal(frame.head.flags, TARN_FRAME_FLAG_PAUSED);
    assert_int_equal(frame.head.server_time_us, 99);
    assert_true(frame.head.realtime_factor == 0.5f);
    assert_int_equal(frame.head.input_count, 1);
    assert_int_equal(tarn_stream_input_at(&frame, 0).viewer_id, 7);
    assert_int_equal(tarn_stream_input_at(&frame, 0).sequence, 42);
    close_stage(&s);
}

static void full_and_empty_tanks_have_frames(void **state)
{
    (void)state;
    for (int full = 0; full < 2; full++) {
        const tarn_tank_desc desc = block_of(12, 12, 12, (float)full);
        stage s = open_block(&desc);
        for (uint32_t frame = 0; frame < 6; frame++) {
            step(&s);
            encode(&s, kind_at(frame));
            assert_int_equal(show(&s, s.head.layer_count), TARN_OK);
            assert_int_equal(s.seen.count, particle_count(&s));
            assert_int_equal(s.seen.count > 0, full);
        }
        close_stage(&s);
    }
}

/// A frame that receivers would refuse isn't made; once there are fewer particles in a place, frames go on.
static void too_many_particles_in_a_tile_give_no_frame(void **state)
{
    (void)state;
    const tarn_tank_frame_info info = {.epoch = 1, .realtime_factor = 1.0f};
    stage s = open_tiny(1);
    step(&s);
    s.encoder->points_max = 7;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tarn_encoder_encode(s.encoder, TARN_STREAM_KEY, &info, s.bytes, FRAME_BYTES_MAX, &s.head),
                         TARN_E_SPACE);
    }
    s.encoder->points_max = TARN_SET_POINTS_MAX;
    assert_int_equal(encode(&s, TARN_STREAM_BASE), TARN_STREAM_KEY);
    assert_int_equal(show(&s, 1), TARN_OK);
    expect_seen(&s, TARN_STREAM_KEY, 1);
    close_stage(&s);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    tarn_encoder_desc how;
    tarn_encoder *other = NULL;
    stage s = open_tiny(1);
    tarn_encoder_desc_default(&how);
    assert_int_equal(tarn_encoder_create(s.tank, &how, &other), TARN_E_STATE);
    how.layers = TARN_STREAM_LAYERS_MAX + 1;
    assert_int_equal(tarn_encoder_create(s.tank, &how, &other), TARN_E_ARGUMENT);
    how.layers = 1;
    how.place_bits = TARN_SET_BITS_MAX + 1;
    assert_int_equal(tarn_encoder_create(s.tank, &how, &other), TARN_E_ARGUMENT);
    how.place_bits = 4;
    how.base_slack = 0.25f;
    assert_int_equal(tarn_encoder_create(s.tank, &how, &other), TARN_E_ARGUMENT);
    assert_null(other);
    assert_int_equal(tarn_encoder_carry(s.encoder, 2), TARN_E_ARGUMENT); // viewers have the speed
    assert_int_equal(tarn_encoder_carry(s.encoder, 7), TARN_E_ARGUMENT);
    close_stage(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_seen_is_what_is_known),
        cmocka_unit_test(steps_are_as_coarse_as_the_water_is_wild),
        cmocka_unit_test(a_second_fit_leaves_less_to_say),
        cmocka_unit_test(a_stream_goes_on_in_another_tank),
        cmocka_unit_test(the_same_bytes_from_all_threads_and_instructions),
        cmocka_unit_test(what_replaces_the_particles_asks_for_a_key_frame),
        cmocka_unit_test(tools_ask_for_a_key_frame_where_frames_change),
        cmocka_unit_test(cut_frames_give_their_layers),
        cmocka_unit_test(what_is_seen_comes_first),
        cmocka_unit_test(a_frame_left_out_is_noticed),
        cmocka_unit_test(a_key_frame_shows_what_exports_have),
        cmocka_unit_test(frames_carry_the_dye),
        cmocka_unit_test(a_frame_says_what_it_was_told),
        cmocka_unit_test(full_and_empty_tanks_have_frames),
        cmocka_unit_test(too_many_particles_in_a_tile_give_no_frame),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests_name("encoder", tests, NULL, NULL);
}
