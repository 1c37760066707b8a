// Pieces of tiles, as devices with many blocks work on them, here on the CPU device: every particle is in one, and they
// leave no trace in the bits.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> // needs those above

#include "kernels/tank/tank_internal.h"
#include "tests/tank/busy_tank.h"
#include "tests/tank/plain_tank.h"

/// Every particle is in one piece, and pieces and tiles come in the same order.
static void check_pieces(const tarn_tank *tank)
{
    const tank_args *args = tank->args;
    const tank_counters *counters = args->store.counters;
    const uint32_t most = 1u << counters->piece_bits;
    uint32_t particle = 0, tile = 0;
    assert_true(counters->pieces >= 1);
    assert_int_equal(counters->p2g_parts, counters->grid.occupied * (args->cuts ? P2G_PARTS : 1));
    for (uint32_t i = 0; i < counters->pieces; i++) {
        const store_piece piece = piece_of(args, i);
        if (piece.tile == TILE_NONE) {
            assert_int_equal(counters->particles, 0);
            continue;
        }
        assert_int_equal(piece.first, particle);
        assert_true(piece.end >= piece.first && piece.end - piece.first <= most);
        assert_true(piece.tile == tile || piece.tile == tile + 1);
        assert_true(piece.first == piece.tile_first || piece.first == piece.end || piece.first % PIECE_ALIGNMENT == 0);
        assert_int_equal(piece.dense, args->grid.m.level[0].tile[piece.tile]);
        particle = piece.end;
        tile = piece.tile;
    }
    assert_int_equal(particle, counters->particles);
    assert_true(counters->grid.occupied == 0 || tile == counters->grid.occupied - 1);
}

/// Largest number of pieces that a tile has.
static uint32_t most_pieces(const tarn_tank *tank)
{
    const tank_counters *counters = tank->args->store.counters;
    uint32_t most = 0, own = 0;
    for (uint32_t i = 0; i < counters->pieces; i++) {
        const store_piece piece = piece_of(tank->args, i);
        own = piece.first == piece.tile_first ? 1 : own + (piece.first < piece.end);
        most = own > most ? own : most;
    }
    return most;
}

static tarn_tank *open_cut(tarn_device *device, const tarn_tank_desc *desc, bool cuts)
{
    tarn_tank *tank = plain_tank_open(device, desc);
    tank->args->cuts = cuts;
    return tank;
}

/// Steps a tank that is cut beside one that isn't. @param pieces  that some tile has at the end
static void compare(const tarn_tank_desc *desc, int steps, uint32_t pieces)
{
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *whole = open_cut(device, desc, false), *cut = open_cut(device, desc, true);
    for (int step = 0; step < steps; step++) {
        busy_tank_steps(whole, 1);
        busy_tank_steps(cut, 1);
        check_pieces(whole);
        check_pieces(cut);
        const tarn_tank_hash a = plain_tank_hash(whole), b = plain_tank_hash(cut);
        assert_memory_equal(&a, &b, sizeof a);
    }
    assert_true(most_pieces(whole) <= 1);
    assert_true(most_pieces(cut) >= pieces);
    tarn_tank_destroy(whole);
    tarn_tank_destroy(cut);
    tarn_device_destroy(device);
}

static void pieces_leave_no_trace(void **state)
{
    tarn_tank_desc desc;
    (void)state;
    busy_tank_desc(&desc);
    compare(&desc, 24, 4);
}

/// Affine particles of splines have kernels of their own.
static void nor_do_pieces_of_affine_particles(void **state)
{
    tarn_tank_desc desc;
    (void)state;
    tarn_tank_desc_default(&desc);
    for (int a = 0; a < 3; a++) {
        desc.cells[a] = 20;
        desc.blocks[0].max_m[a] = 16.0f * desc.cell_m;
    }
    desc.block_count = 1;
    desc.transfer = TARN_TRANSFER_APIC;
    desc.g2p_weights = desc.p2g_weights = TARN_WEIGHTS_QUADRATIC;
    compare(&desc, 8, 8);
}

/// Many particles are cut into larger pieces.
static void pieces_grow_with_their_number(void **state)
{
    static tank_args args;
    (void)state;
    args.cuts = 1;
    assert_int_equal(piece_bits_for(&args, 0), PIECE_BITS_MIN);
    for (uint32_t bits = PIECE_BITS_MIN; bits < PIECE_BITS_MAX; bits++) {
        assert_int_equal(piece_bits_for(&args, (PIECES_WANTED << bits) - 1), bits);
        assert_int_equal(piece_bits_for(&args, PIECES_WANTED << bits), bits + 1);
    }
    assert_int_equal(piece_bits_for(&args, TARN_TANK_PARTICLES_MAX), PIECE_BITS_MAX);
    args.cuts = 0;
    assert_int_equal(piece_bits_for(&args, 0), PIECE_BITS_TILE);
    assert_int_equal(piece_bits_for(&args, TARN_TANK_PARTICLES_MAX), PIECE_BITS_TILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_leave_no_trace),
        cmocka_unit_test(nor_do_pieces_of_affine_particles),
        cmocka_unit_test(pieces_grow_with_their_number),
    };
    return cmocka_run_group_tests_name("pieces", tests, NULL, NULL);
}
