// A frame is written in the order in which a decoder reads it:
//
//     slots (key frame: sorted anew; otherwise: births added) -> samples -> grid -> layers -> head
//
// The slots' places are those that a decoder has, so that what is coded corrects what was coded before it, too.
#include "tests/protocol/model_levels.h"
#include "tests/protocol/stream_model_memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    SCRATCH_BYTES = 4 << 20, ///< for one stream, largest a set of 2^16 particles
    SIXTEENTHS = 16,
    STEPS_PER_SECOND = 60,
};

static int32_t clamp(int32_t value, int32_t low, int32_t high)
{
    return value < low ? low : value > high ? high : value;
}

// --------------------------------------------------------------------------------------------------------------- setup

stream_model *stream_model_make(const stream_model_setup *setup)
{
    stream_model *m = model_need(calloc(1, sizeof *m));
    const tarn_stream_head *head = &setup->head;
    m->setup = *setup;
    m->head = m->from = *head;
    tarn_code_tables_make(&m->tables);
    m->quantum = 1 << (TARN_PLACE_BITS - head->place_bits);
    m->tile_count = 1;
    uint32_t slots = 0;
    for (int a = 0; a < 3; a++) {
        m->tiles[a] = ((uint32_t)head->cells[a] + 7) / 8;
        m->tile_count *= m->tiles[a];
        m->end[a] = (head->cells[a] << TARN_PLACE_BITS) - 1;
    }
    for (uint32_t l = 0; l < head->layer_count; l++) {
        const uint32_t slots_max = head->layers[l].slots_max;
        m->layers[l].slots = model_need(calloc(slots_max + 1, sizeof *m->layers[l].slots));
        slots += slots_max;
    }
    for (int i = 0; i < 2; i++) {
        m->grids[i].index = model_need(calloc(m->tile_count, sizeof *m->grids[i].index));
        m->grids[i].tile = model_need(calloc(head->flow_tiles_max + 1, sizeof *m->grids[i].tile));
        m->grids[i].nodes =
            model_need(calloc((size_t)TARN_FLOW_BLOCK * head->flow_tiles_max + 1, sizeof *m->grids[i].nodes));
    }
    model_field_make(&m->field, head);
    m->shown = model_need(calloc(slots + 1, sizeof *m->shown));
    m->scratch = model_need(malloc(SCRATCH_BYTES));
    return m;
}

void stream_model_destroy(stream_model *m)
{
    if (m == NULL) {
        return;
    }
    for (int l = 0; l < TARN_STREAM_LAYERS_MAX; l++) {
        free(m->layers[l].slots);
    }
    for (int i = 0; i < 2; i++) {
        free(m->grids[i].index);
        free(m->grids[i].tile);
        free(m->grids[i].nodes);
    }
    model_field_free(&m->field);
    free(m->before);
    free(m->was_alive);
    free(m->has_slot);
    free(m->shown);
    free(m->scratch);
    free(m);
}

/// Room for what is known of so many particles.
static void know_particles(stream_model *m, uint32_t count)
{
    if (count <= m->known) {
        return;
    }
    m->before = model_need(realloc(m->before, count * sizeof *m->before));
    m->was_alive = model_need(realloc(m->was_alive, count));
    m->has_slot = model_need(realloc(m->has_slot, count));
    memset(m->was_alive + m->known, 0, count - m->known);
    memset(m->has_slot + m->known, 0, count - m->known);
    m->known = count;
}

// ------------------------------------------------------------------------------------------------------------- streams

static tarn_ans_writer begin_stream(stream_model *m)
{
    tarn_ans_writer writer;
    tarn_ans_begin(&writer, m->scratch + SCRATCH_BYTES);
    return writer;
}

static void end_stream(stream_model *m, tarn_ans_writer *writer, model_bytes *bytes)
{
    const uint8_t *first = tarn_ans_end(writer);
    model_append(bytes, first, (size_t)(m->scratch + SCRATCH_BYTES - first));
}

// -------------------------------------------------------------------------------------------------------------- places

static uint32_t tile_of(const stream_model *m, const int32_t place[3])
{
    const int shift = TARN_PLACE_BITS + 3;
    return (((uint32_t)place[2] >> shift) * m->tiles[1] + ((uint32_t)place[1] >> shift)) * m->tiles[0] +
           ((uint32_t)place[0] >> shift);
}

static void tile_at(const stream_model *m, uint32_t tile, uint32_t at[3])
{
    at[0] = tile % m->tiles[0];
    at[1] = tile / m->tiles[0] % m->tiles[1];
    at[2] = tile / m->tiles[0] / m->tiles[1];
}

/// The middle of the quantum at a place.
static void quantise(const stream_model *m, const int32_t place[3], int32_t middle[3])
{
    for (int a = 0; a < 3; a++) {
        middle[a] = place[a] / m->quantum * m->quantum + m->quantum / 2;
    }
}

/// A difference in 1/1024 cell as steps; 0 in the dead zone.
static int32_t to_steps(const stream_model *m, int64_t difference, int64_t step)
{
    const int64_t size = difference < 0 ? -difference : difference;
    if (SIXTEENTHS * size <= m->setup.dead_zone * step) {
        return 0;
    }
    const int64_t rounded = (2 * size + step) / (2 * step);
    const int32_t steps = (int32_t)(rounded < TARN_RESIDUAL_MAX ? rounded : TARN_RESIDUAL_MAX);
    return difference < 0 ? -steps : steps;
}

// ---------------------------------------------------------------------------------------------------------------- grid

/// The block and the node that are at node x, y, z, each 0..8, of a tile: its own, the next tiles' or, without these,
/// the nearest of its own. @return block * TARN_FLOW_BLOCK + node
static size_t node_of(const stream_model *m, const model_grid *grid, uint32_t tile, const uint32_t node[3])
{
    uint32_t at[3], far[3], near[3];
    bool is_inside = true;
    tile_at(m, tile, at);
    for (int a = 0; a < 3; a++) {
        at[a] += node[a] / 8;
        far[a] = node[a] % 8;
        near[a] = node[a] < 8 ? node[a] : 7;
        is_inside = is_inside && at[a] < m->tiles[a];
    }
    const uint32_t other = is_inside ? grid->index[(at[2] * m->tiles[1] + at[1]) * m->tiles[0] + at[0]] : 0;
    if (other > 0) {
        return (size_t)(other - 1) * TARN_FLOW_BLOCK + tarn_flow_node_at(far[0], far[1], far[2]);
    }
    return (size_t)(grid->index[tile] - 1) * TARN_FLOW_BLOCK + tarn_flow_node_at(near[0], near[1], near[2]);
}

/// Chooses the grid's tiles.
static void choose_tiles(const stream_model *m, model_grid *grid, const model_sample *samples, uint32_t count)
{
    for (uint32_t i = 0; i < grid->count; i++) {
        grid->index[grid->tile[i]] = 0;
    }
    grid->count = 0;
    if (m->setup.flow == MODEL_FLOW_NONE) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        grid->index[tile_of(m, samples[i].place)] = 1;
    }
    for (uint32_t t = 0; t < m->tile_count; t++) {
        const bool is_wanted = grid->index[t] != 0 || m->setup.flow == MODEL_FLOW_ALL;
        const bool has_room = grid->count < m->setup.head.flow_tiles_max;
        grid->index[t] = is_wanted && has_room ? grid->count + 1 : 0;
        if (is_wanted && has_room) {
            grid->tile[grid->count++] = t;
        }
    }
}

/// A sum of displacements, in 1/1024 cell, and of their weights.
typedef struct model_mean {
    int64_t sum[3], weight;
} model_mean;

/// Adds up, per node, how far the samples around it have gone.
static void gather(const stream_model *m, const model_grid *grid, const model_sample *samples, uint32_t count,
                   model_mean *means)
{
    for (uint32_t i = 0; i < count; i++) {
        const model_sample *s = &samples[i];
        const uint32_t tile = tile_of(m, s->place);
        if (!s->has_moved || grid->index[tile] == 0) {
            continue;
        }
        for (int corner = 0; corner < 8; corner++) {
            uint32_t node[3];
            int64_t weight = 1;
            for (int a = 0; a < 3; a++) {
                const int is_upper = corner >> a & 1, in_cell = s->place[a] & ((1 << TARN_PLACE_BITS) - 1);
                node[a] = ((uint32_t)s->place[a] >> TARN_PLACE_BITS & 7) + (uint32_t)is_upper;
                weight *= is_upper ? in_cell : (1 << TARN_PLACE_BITS) - in_cell;
            }
            model_mean *mean = &means[node_of(m, grid, tile, node)];
            for (int a = 0; a < 3; a++) {
                mean->sum[a] += (weight >> TARN_PLACE_BITS) * s->moved[a];
            }
            mean->weight += weight >> TARN_PLACE_BITS;
        }
    }
}

/// What is left to a node's mean from what is expected. Notes what became of the node.
static uint32_t code_node(stream_model *m, const tarn_flow *reference, const tarn_flow_node *before, uint32_t ratio,
                          const uint32_t tile[3], uint32_t n, const model_mean *mean, int32_t residual[3])
{
    const uint32_t in_tile[3] = {n & 7, n >> 3 & 7, n >> 6};
    int32_t node[4] = {0}, value[4];
    for (int a = 0; a < 3; a++) {
        node[a] = (int32_t)(8 * tile[a] + in_tile[a]) << TARN_PLACE_BITS;
    }
    const uint32_t at = tarn_flow_node_at(in_tile[0], in_tile[1], in_tile[2]);
    const tarn_four first = tarn_flow_expect(reference, before, tarn_four_load(node), at, m->end, ratio);
    const int32_t step = tarn_stream_flow_step(&m->head);
    tarn_four expected = first;
    const uint32_t context = tarn_flow_correct(&m->work, &m->tables.residual, n, &expected);
    tarn_four_store(value, expected);
    for (int a = 0; a < 3; a++) {
        const int64_t wanted = mean->sum[a] / mean->weight;
        residual[a] = to_steps(m, wanted - (int64_t)value[a] * m->quantum, (int64_t)step * m->quantum);
        value[a] += step * residual[a];
    }
    tarn_flow_note(&m->work, n, tarn_four_clamp_i16(tarn_four_load(value)), first, tarn_residual_sum(residual));
    return context;
}

/// Codes a tile: which nodes something has gone past, and what is missing from what is expected to the means there.
static void write_nodes(stream_model *m, const tarn_flow *reference, uint32_t ratio, const model_grid *grid,
                        uint32_t block, const model_mean *means, model_bytes *bytes)
{
    int32_t residual[TARN_FLOW_NODES][3];
    uint32_t context[TARN_FLOW_NODES], tile[3];
    tile_at(m, grid->tile[block], tile);
    tarn_flow_node *nodes = grid->nodes + (size_t)block * TARN_FLOW_BLOCK;
    const int32_t corner[3] = {(int32_t)tile[0] * TARN_PLACE_TILE, (int32_t)tile[1] * TARN_PLACE_TILE,
                               (int32_t)tile[2] * TARN_PLACE_TILE};
    const tarn_flow_node *before = ratio > 0 ? tarn_flow_block(reference, corner) : NULL;
    tarn_flow_mask mask = {{0}}, was;
    tarn_flow_mask_of(before, TARN_FLOW_ROWS, &was);
    for (uint32_t i = 0; i < TARN_FLOW_PADDED; i++) {
        tarn_flow_forget(&m->work, i);
    }
    for (uint32_t n = 0; n < TARN_FLOW_NODES; n++) {
        const uint32_t at = tarn_flow_node_at(n & 7, n >> 3 & 7, n >> 6);
        const model_mean *mean = &means[(size_t)block * TARN_FLOW_BLOCK + at];
        if (mean->weight == 0) {
            continue;
        }
        mask.row[n >> 3] = (uint8_t)(mask.row[n >> 3] | 1u << (n & 7));
        context[n] = code_node(m, reference, before, ratio, tile, n, mean, residual[n]);
    }
    tarn_ans_writer writer = begin_stream(m);
    for (uint32_t n = TARN_FLOW_NODES; n-- > 0;) {
        if ((mask.row[n >> 3] >> (n & 7) & 1) != 0) {
            tarn_residual_write(&writer, &m->tables.residual, context[n], residual[n]);
        }
    }
    tarn_flow_put_mask(&writer, &m->tables, &was, before != NULL, &mask);
    end_stream(m, &writer, bytes);
    tarn_flow_fill(&m->work, &mask, TARN_FLOW_ROWS);
    for (uint32_t r = 0; r < TARN_FLOW_ROWS; r++) {
        tarn_flow_finish(&m->work, &mask, r, nodes);
    }
}

static tarn_flow view(const stream_model *m, const model_grid *grid)
{
    const tarn_flow flow = {
        grid->index, grid->nodes, {m->tiles[0], m->tiles[1], m->tiles[2]}, m->setup.head.place_bits};
    return flow;
}

/// Fits a frame's grid to the samples and writes it.
static void write_flow(stream_model *m, model_grid *grid, const model_sample *samples, uint32_t count,
                       model_bytes *bytes)
{
    const model_grid *before = &m->grids[m->reference];
    const tarn_flow reference = view(m, before);
    const uint32_t ratio = m->head.kind == TARN_STREAM_KEY ? 0 : tarn_flow_ratio(m->head.interval_steps, before->steps);
    choose_tiles(m, grid, samples, count);
    tarn_ans_writer writer = begin_stream(m);
    for (uint32_t i = grid->count; i-- > 0;) {
        const uint32_t gap = i > 0 ? grid->tile[i] - grid->tile[i - 1] - 1 : grid->tile[0];
        tarn_code_put_number(&writer, &m->tables, TARN_NUMBER_GAP, gap);
    }
    end_stream(m, &writer, bytes);
    model_mean *means = model_need(calloc((size_t)grid->count * TARN_FLOW_BLOCK + 1, sizeof *means));
    gather(m, grid, samples, count, means);
    for (uint32_t i = 0; i < grid->count; i++) {
        write_nodes(m, &reference, ratio, grid, i, means, bytes);
    }
    free(means);
    for (uint32_t i = 0; i < grid->count; i++) {
        for (uint32_t n = 0; n < TARN_FLOW_BLOCK; n++) {
            const uint32_t node[3] = {n % 9, n / 9 % 9, n / 81};
            grid->nodes[(size_t)i * TARN_FLOW_BLOCK + n] = grid->nodes[node_of(m, grid, grid->tile[i], node)];
        }
    }
    grid->steps = m->head.interval_steps;
    m->head.flow_tiles = grid->count;
    m->head.flow_bytes = (uint32_t)bytes->count;
}

static void flow_at(const stream_model *m, const model_grid *grid, const int32_t place[3], int32_t sum[4])
{
    const tarn_flow flow = view(m, grid);
    const tarn_flow_node *block = tarn_flow_block(&flow, place);
    tarn_four_store(sum, block != NULL ? tarn_flow_sum(block, tarn_four_of(place[0], place[1], place[2], 0))
                                       : tarn_four_all(0));
}

static void show(stream_model *m, uint32_t layer, const model_slot *slot, const int32_t place[3], const int32_t sum[3])
{
    model_shown *shown = &m->shown[m->shown_count++];
    shown->particle = slot->particle;
    shown->layer = (uint8_t)layer;
    shown->level = 0;
    shown->colour = (m->head.flags & TARN_FRAME_FLAG_COLOURS) != 0 ? slot->colour : 0;
    memcpy(shown->place, place, sizeof shown->place);
    memcpy(shown->flow, sum, sizeof shown->flow);
}

// ---------------------------------------------------------------------------------------------------------- key frames

typedef struct sort_entry {
    uint32_t tile, key, particle;
} sort_entry;

static int by_tile_and_key(const void *a, const void *b)
{
    const sort_entry *x = a, *y = b;
    if (x->tile != y->tile) {
        return x->tile < y->tile ? -1 : 1;
    }
    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    return x->particle < y->particle ? -1 : x->particle > y->particle;
}

static sort_entry entry_of(const stream_model *m, const int32_t place[3], uint32_t particle)
{
    uint32_t in_tile[3];
    for (int a = 0; a < 3; a++) {
        in_tile[a] = (uint32_t)(place[a] % TARN_PLACE_TILE / m->quantum);
    }
    const sort_entry entry = {tile_of(m, place), tarn_set_key(in_tile, m->setup.head.place_bits), particle};
    return entry;
}

/// Gives each particle of a layer a slot, in the order of a key frame. @return false where there are too few
static bool fill_slots(stream_model *m, uint32_t l, const model_particle *particles, uint32_t count)
{
    model_layer *layer = &m->layers[l];
    sort_entry *entries = model_need(malloc((count + 1) * sizeof *entries));
    uint32_t alive = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (particles[i].is_alive && particles[i].layer == l) {
            entries[alive++] = entry_of(m, particles[i].place, i);
        }
    }
    qsort(entries, alive, sizeof *entries, by_tile_and_key);
    const bool has_room = alive <= m->setup.head.layers[l].slots_max;
    layer->count = has_room ? alive : 0;
    for (uint32_t i = 0; i < layer->count; i++) {
        const uint32_t particle = entries[i].particle;
        layer->slots[i] = (model_slot){.particle = particle, .colour = particles[particle].colour, .level = -1};
        quantise(m, particles[particle].place, layer->slots[i].place);
        m->has_slot[particle] = 1;
    }
    free(entries);
    return has_room;
}

static void write_set(stream_model *m, const sort_entry *entries, uint32_t count, model_bytes *bytes)
{
    const uint32_t bits = m->setup.head.place_bits;
    uint32_t cells[TARN_SET_CELLS] = {0}, *keys = model_need(malloc((count + 1) * sizeof *keys));
    for (uint32_t i = 0; i < count; i++) {
        keys[i] = entries[i].key;
        cells[keys[i] >> 3 * bits]++;
    }
    tarn_ans_writer writer = begin_stream(m);
    tarn_set_write(&writer, &m->tables.set, keys, count, bits, cells);
    end_stream(m, &writer, bytes);
    free(keys);
}

static void write_colours(stream_model *m, const model_slot *slots, uint32_t count, model_bytes *bytes)
{
    uint8_t *colours = model_need(malloc(count + 1));
    for (uint32_t i = 0; i < count; i++) {
        colours[i] = slots[i].colour;
    }
    tarn_ans_writer writer = begin_stream(m);
    tarn_code_put_colours(&writer, &m->tables, count, colours);
    end_stream(m, &writer, bytes);
    free(colours);
}

/// A layer of a key frame: the list of its tiles, their sets, their colours.
static void write_key_layer(stream_model *m, uint32_t l, const model_grid *grid, model_bytes *bytes)
{
    const model_layer *layer = &m->layers[l];
    sort_entry *entries = model_need(malloc((layer->count + 1) * sizeof *entries));
    uint32_t *first = model_need(malloc((layer->count + 1) * sizeof *first)), tiles = 0; // a tile's first slot
    for (uint32_t i = 0; i < layer->count; i++) {
        const model_slot *slot = &layer->slots[i];
        int32_t sum[4];
        entries[i] = entry_of(m, slot->place, slot->particle);
        if (i == 0 || entries[i].tile != entries[i - 1].tile) {
            first[tiles++] = i;
        }
        flow_at(m, grid, slot->place, sum);
        show(m, l, slot, slot->place, sum);
    }
    first[tiles] = layer->count;
    tarn_ans_writer writer = begin_stream(m);
    for (uint32_t t = tiles; t-- > 0;) {
        const uint32_t tile = entries[first[t]].tile;
        tarn_code_put_number(&writer, &m->tables, TARN_NUMBER_COUNT, first[t + 1] - first[t]);
        tarn_code_put_number(&writer, &m->tables, TARN_NUMBER_GAP,
                             t > 0 ? tile - entries[first[t - 1]].tile - 1 : tile);
    }
    tarn_code_put_number(&writer, &m->tables, TARN_NUMBER_COUNT, tiles);
    end_stream(m, &writer, bytes);
    for (uint32_t t = 0; t < tiles; t++) {
        write_set(m, entries + first[t], first[t + 1] - first[t], bytes);
    }
    for (uint32_t t = 0; t < tiles && (m->head.flags & TARN_FRAME_FLAG_COLOURS) != 0; t++) {
        write_colours(m, layer->slots + first[t], first[t + 1] - first[t], bytes);
    }
    free(entries);
    free(first);
}

// ----------------------------------------------------------------------------------------------- base and extra frames

/// A group of slots as it is coded.
typedef struct model_group {
    int32_t residual[TARN_STREAM_GROUP][3];
    uint32_t context[TARN_STREAM_GROUP];
    uint32_t died[TARN_STREAM_GROUP];
    uint32_t died_count;
    bool is_coded; ///< a particle has died, or a residual isn't 0
} model_group;

/// What is left of a group's motion. Moves and shows its particles.
static void move_group(stream_model *m, uint32_t l, const model_grid *grid, const model_particle *particles,
                       model_slot *slots, uint32_t count, model_group *group)
{
    const bool is_base = m->head.kind == TARN_STREAM_BASE;
    const int32_t step = tarn_stream_residual_step(&m->head);
    uint32_t activity = 0;
    group->died_count = 0;
    group->is_coded = false;
    for (uint32_t i = 0; i < count; i++) {
        model_slot *slot = &slots[i];
        const model_particle *truth = &particles[slot->particle];
        int32_t sum[4], way[4], place[3], *residual = group->residual[i];
        if (!slot->is_dead && !truth->is_alive && is_base) {
            group->died[group->died_count++] = i;
            slot->is_dead = 1;
            m->has_slot[slot->particle] = 0;
            group->is_coded = true;
        }
        if (slot->is_dead) {
            continue;
        }
        flow_at(m, grid, slot->place, sum);
        tarn_four_store(way, tarn_flow_distance(tarn_four_load(sum), m->setup.head.place_bits));
        for (int a = 0; a < 3; a++) {
            place[a] = slot->place[a] + way[a];
            residual[a] = truth->is_alive ? to_steps(m, truth->place[a] - place[a], step) : 0;
            place[a] = clamp(place[a] + residual[a] * step, 0, m->end[a]);
            group->is_coded |= residual[a] != 0;
        }
        group->context[i] = tarn_residual_context(activity);
        activity = tarn_residual_follow(activity, tarn_residual_sum(residual));
        show(m, l, slot, place, sum);
        if (is_base) {
            memcpy(slot->place, place, sizeof place);
        }
    }
}

static void write_group(stream_model *m, const model_slot *slots, uint32_t count, const model_group *group,
                        model_bytes *bytes)
{
    tarn_ans_writer writer = begin_stream(m);
    for (uint32_t i = count; i-- > 0;) {
        if (!slots[i].is_dead) {
            tarn_residual_write(&writer, &m->tables.residual, group->context[i], group->residual[i]);
        }
    }
    for (uint32_t i = group->died_count; i-- > 0;) {
        tarn_ans_put_bits(&writer, group->died[i], 10);
    }
    tarn_code_put_number(&writer, &m->tables, TARN_NUMBER_DEATHS, group->died_count);
    end_stream(m, &writer, bytes);
}

/// Particles of a layer that have come into being, as far as there are slots for them. @return how many
static uint32_t add_births(stream_model *m, uint32_t l, const model_particle *particles, uint32_t count)
{
    model_layer *layer = &m->layers[l];
    const uint32_t before = layer->count;
    for (uint32_t i = 0; i < count && layer->count < m->setup.head.layers[l].slots_max; i++) {
        if (!particles[i].is_alive || particles[i].layer != l || m->has_slot[i]) {
            continue;
        }
        model_slot *slot = &layer->slots[layer->count++];
        *slot = (model_slot){.particle = i, .colour = particles[i].colour, .is_new = true, .level = -1};
        quantise(m, particles[i].place, slot->place);
        m->has_slot[i] = 1;
    }
    return layer->count - before;
}

static void write_births(stream_model *m, uint32_t l, const model_grid *grid, const model_slot *slots, uint32_t count,
                         model_bytes *bytes)
{
    tarn_ans_writer writer = begin_stream(m);
    for (uint32_t i = count; i-- > 0;) {
        if ((m->head.flags & TARN_FRAME_FLAG_COLOURS) != 0) {
            tarn_ans_put_bits(&writer, slots[i].colour, TARN_COLOUR_BITS);
        }
        for (int a = 3; a-- > 0;) {
            tarn_code_put_bits(&writer, (uint32_t)(slots[i].place[a] / m->quantum),
                               tarn_bits_of((uint32_t)(m->end[a] / m->quantum)));
        }
    }
    end_stream(m, &writer, bytes);
    for (uint32_t i = 0; i < count; i++) {
        int32_t sum[4];
        flow_at(m, grid, slots[i].place, sum);
        show(m, l, &slots[i], slots[i].place, sum);
    }
}

/// A layer of a base or extra frame: which groups are coded, these, and the births: the last ones of the slots.
static void write_moved_layer(stream_model *m, uint32_t l, const model_grid *grid, const model_particle *particles,
                              uint32_t births, model_bytes *bytes)
{
    model_layer *layer = &m->layers[l];
    const uint32_t old = layer->count - births, groups = (old + TARN_STREAM_GROUP - 1) / TARN_STREAM_GROUP;
    model_group *coded = model_need(malloc((groups + 1) * sizeof *coded));
    for (uint32_t g = 0; g < groups; g++) {
        const uint32_t first = g * TARN_STREAM_GROUP, left = old - first;
        const uint32_t count = left < TARN_STREAM_GROUP ? left : TARN_STREAM_GROUP;
        move_group(m, l, grid, particles, layer->slots + first, count, &coded[g]);
    }
    tarn_ans_writer writer = begin_stream(m);
    for (uint32_t g = groups; g-- > 0;) {
        tarn_ans_put_bits(&writer, (uint32_t)coded[g].is_coded, 1);
    }
    end_stream(m, &writer, bytes);
    for (uint32_t g = 0; g < groups; g++) {
        const uint32_t first = g * TARN_STREAM_GROUP, left = old - first;
        if (coded[g].is_coded) {
            write_group(m, layer->slots + first, left < TARN_STREAM_GROUP ? left : TARN_STREAM_GROUP, &coded[g], bytes);
        }
    }
    for (uint32_t first = 0; first < births; first += TARN_STREAM_GROUP) {
        const uint32_t left = births - first;
        write_births(m, l, grid, layer->slots + old + first, left < TARN_STREAM_GROUP ? left : TARN_STREAM_GROUP,
                     bytes);
    }
    free(coded);
}

// -------------------------------------------------------------------------------------------------------------- frames

/// What the grid is fitted to: a key frame's particles have come from where they were at the frame before, the others
/// go from where the decoder has them.
static uint32_t take_samples(stream_model *m, const model_particle *particles, model_sample *samples)
{
    uint32_t count = 0;
    for (uint32_t l = 0; l < m->setup.head.layer_count; l++) {
        for (uint32_t i = 0; i < m->layers[l].count; i++) {
            model_slot *slot = &m->layers[l].slots[i];
            const model_particle *truth = &particles[slot->particle];
            const bool is_key = m->head.kind == TARN_STREAM_KEY;
            if (slot->is_dead) {
                continue;
            }
            model_sample *s = &samples[count++];
            s->has_moved = truth->is_alive && (is_key ? m->was_alive[slot->particle] : !slot->is_new);
            slot->is_new = false;
            for (int a = 0; a < 3; a++) {
                s->place[a] = slot->place[a];
                s->moved[a] =
                    !s->has_moved ? 0 : truth->place[a] - (is_key ? m->before[slot->particle][a] : s->place[a]);
            }
        }
    }
    return count;
}

static void begin_head(stream_model *m, tarn_stream_kind kind, uint32_t interval_steps)
{
    tarn_stream_head *head = &m->head;
    const float interval_s = (float)interval_steps / STEPS_PER_SECOND;
    head->kind = (uint8_t)kind;
    head->number++;
    head->reference = kind == TARN_STREAM_KEY ? head->number : m->from.number;
    head->interval_steps = interval_steps;
    head->interval_s = interval_s;
    head->step = m->from.step + interval_steps;
    head->sim_time_s = m->from.sim_time_s + (double)interval_s;
    head->server_time_us = m->from.server_time_us + (uint64_t)interval_steps * 1000000 / STEPS_PER_SECOND;
    head->flow_bytes = 0;
}

/// Puts the head before the sections.
static size_t finish(stream_model *m, const model_bytes *sections, uint8_t **bytes)
{
    const size_t head_bytes = tarn_stream_head_bytes(&m->head);
    m->head.frame_bytes = (uint32_t)(head_bytes + sections->count);
    *bytes = model_need(malloc(m->head.frame_bytes));
    if (tarn_stream_write_head(&m->head, m->setup.inputs, *bytes, head_bytes) != TARN_OK) {
        abort();
    }
    memcpy(*bytes + head_bytes, sections->at, sections->count);
    return m->head.frame_bytes;
}

/// Sorts the slots anew or adds births to them. @return false where a key frame has too few
static bool prepare_slots(stream_model *m, const model_particle *particles, uint32_t count, uint32_t *births)
{
    if (m->head.kind == TARN_STREAM_KEY && m->known > 0) {
        memset(m->has_slot, 0, m->known);
    }
    for (uint32_t l = 0; l < m->setup.head.layer_count; l++) {
        births[l] = 0;
        if (m->head.kind == TARN_STREAM_KEY && !fill_slots(m, l, particles, count)) {
            return false;
        }
        if (m->head.kind == TARN_STREAM_BASE) {
            births[l] = add_births(m, l, particles, count);
        }
    }
    return true;
}

/// A group's levels. @param shown  its particles as they are handed out @return how many of these there are
static uint32_t write_levels(stream_model *m, const model_particle *particles, model_slot *slots, uint32_t count,
                             model_shown *shown, model_bytes *bytes)
{
    const bool has_past = m->head.kind != TARN_STREAM_KEY && m->head.channel == m->from.channel;
    model_levels group = {.form = 1 + m->head.number % 4};
    for (uint32_t i = 0; i < count; i++) {
        group.truth[group.count] = particles[slots[i].particle].level;
        group.last[group.count] = has_past ? slots[i].level : -1;
        group.count += !slots[i].is_dead;
    }
    model_levels_write(&group, &m->tables, bytes);
    for (uint32_t i = 0, k = 0; i < count; k += !slots[i++].is_dead) {
        if (!slots[i].is_dead) {
            shown[k].level = group.levels[k];
            slots[i].level = m->head.kind == TARN_STREAM_EXTRA ? slots[i].level : group.levels[k];
        }
    }
    return group.count;
}

static void write_layer(stream_model *m, uint32_t l, const model_grid *grid, const model_particle *particles,
                        uint32_t births, model_bytes *bytes)
{
    const size_t before = bytes->count;
    const uint32_t shown = m->shown_count;
    if (m->head.kind == TARN_STREAM_KEY) {
        write_key_layer(m, l, grid, bytes);
    } else {
        write_moved_layer(m, l, grid, particles, births, bytes);
    }
    for (uint32_t at = 0, to = shown; at < m->layers[l].count && m->head.channel != 0; at += TARN_STREAM_GROUP) {
        const uint32_t left = m->layers[l].count - at, count = left < TARN_STREAM_GROUP ? left : TARN_STREAM_GROUP;
        to += write_levels(m, particles, m->layers[l].slots + at, count, m->shown + to, bytes);
    }
    tarn_stream_layer *entry = &m->head.layers[l];
    entry->bytes = (uint32_t)(bytes->count - before);
    entry->slots = m->layers[l].count;
    entry->particles = m->shown_count - shown;
}

size_t stream_model_write(stream_model *m, tarn_stream_kind kind, const model_particle *particles, uint32_t count,
                          uint32_t interval_steps, uint8_t **bytes)
{
    uint32_t births[TARN_STREAM_LAYERS_MAX], slots = 0;
    model_bytes sections = {NULL, 0, 0};
    model_grid *grid = &m->grids[!m->reference];
    know_particles(m, count);
    begin_head(m, kind, interval_steps);
    if (!prepare_slots(m, particles, count, births)) {
        return 0;
    }
    for (uint32_t l = 0; l < m->setup.head.layer_count; l++) {
        slots += m->layers[l].count;
    }
    model_sample *samples = model_need(malloc((slots + 1) * sizeof *samples));
    write_flow(m, grid, samples, take_samples(m, particles, samples), &sections);
    free(samples);
    const tarn_flow flow = view(m, grid);
    model_field_begin(&m->field, &m->head, m->field_number, m->field_is_kinds);
    model_field_write(&m->field, &m->head, &m->tables, &flow, TARN_FIELD_COARSE, &sections);
    m->shown_count = 0;
    for (uint32_t l = 0; l < m->setup.head.layer_count; l++) {
        write_layer(m, l, grid, particles, births[l], &sections);
    }
    model_field_write(&m->field, &m->head, &m->tables, &flow, TARN_FIELD_FINE, &sections);
    model_field_end(&m->field, &m->head);
    if (kind != TARN_STREAM_EXTRA) {
        m->reference = !m->reference;
        m->from = m->head;
    }
    for (uint32_t i = 0; i < count; i++) {
        memcpy(m->before[i], particles[i].place, sizeof m->before[i]);
        m->was_alive[i] = particles[i].is_alive;
    }
    const size_t byte_count = finish(m, &sections, bytes);
    free(sections.at);
    return byte_count;
}

void stream_model_carry(stream_model *m, uint8_t channel)
{
    m->head.channel = channel;
    m->head.channel_low = channel != 0 ? -12.5f : 0.0f;
    m->head.channel_high = channel != 0 ? 1e5f : 0.0f;
}

void stream_model_carry_field(stream_model *m, uint8_t number, bool is_kinds)
{
    m->field_number = number;
    m->field_is_kinds = is_kinds;
}

void stream_model_field_plane(const stream_model *m, uint32_t z, uint8_t *levels)
{
    model_field_plane(&m->field, &m->head, z, levels);
}

const model_shown *stream_model_shown(const stream_model *m, uint32_t *count)
{
    *count = m->shown_count;
    return m->shown;
}

const tarn_stream_head *stream_model_last(const stream_model *m)
{
    return &m->head;
}
