// The sequence of a frame; stream_memory.h shows it.
#include "kernels/stream/encoder_internal.h"
#include "protocol/assert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void tarn_encoder_desc_default(tarn_encoder_desc *desc)
{
    *desc = (tarn_encoder_desc){.place_bits = 4, .layers = 4, .base_slack = 0.75f, .extra_slack = 1.5f};
}

static bool is_slack(float quanta)
{
    return quanta >= 0.5f && quanta <= 8.0f;
}

/// Particles get colours with their first dye, and lose them when the tank starts afresh. @return whether that happened
static bool fill_colours(tarn_encoder *e)
{
    const bool changed = e->args.attribute != e->now.attribute;
    e->args.attribute = e->now.attribute;
    e->args.has_colours = e->args.attribute != NULL;
    return changed;
}

/// What never changes of the kernels' arguments, and colours.
static void fill_args(tarn_encoder *e)
{
    TARN_ASSERT(e->desc.layers >= 1 && e->desc.layers <= TARN_STREAM_LAYERS_MAX);
    const tank_view *view = &e->view;
    stream_args *args = &e->args;
    for (int a = 0; a < 3; a++) {
        args->position[a] = view->position[a];
        args->velocity[a] = view->velocity[a];
        args->tiles[a] = view->tiles[a];
        args->end[a] = ((int32_t)view->cells[a] << TARN_PLACE_BITS) - 1;
    }
    args->end[3] = INT32_MAX;
    args->id = view->id;
    args->tank_tile = view->tile;
    args->tank_index = view->tile_index;
    args->tile_first = view->tile_first;
    args->tile_count = view->tile_count;
    args->bits = e->desc.place_bits;
    args->layers = e->desc.layers;
    fill_colours(e);
}

tarn_status tarn_encoder_create(tarn_tank *tank, const tarn_encoder_desc *desc, tarn_encoder **encoder)
{
    if (desc->place_bits > TARN_SET_BITS_MAX || desc->layers == 0 || desc->layers > TARN_STREAM_LAYERS_MAX ||
        !is_slack(desc->base_slack) || !is_slack(desc->extra_slack)) {
        return TARN_E_ARGUMENT;
    }
    tarn_encoder *e = calloc(1, sizeof *e);
    if (e == NULL) {
        return TARN_E_MEMORY;
    }
    e->tank = tank;
    e->desc = *desc;
    e->points_max = TARN_SET_POINTS_MAX;
    tank_view_open(tank, &e->view);
    tank_view_now(tank, &e->now);
    fill_args(e);
    tarn_code_tables_make(&e->tables);
    tarn_status status = encoder_carve_memory(e);
    if (status == TARN_OK) {
        status = tarn_queue_upload(e->view.queue, e->args.w.tables, &e->tables, sizeof e->tables);
    }
    if (status == TARN_OK) {
        status = tank_view_seat(tank, e->args.seat, e->moved_seat);
        e->is_seated = status == TARN_OK;
    }
    if (status != TARN_OK) {
        tarn_encoder_destroy(e);
        return status;
    }
    *encoder = e;
    return TARN_OK;
}

void tarn_encoder_destroy(tarn_encoder *encoder)
{
    if (encoder == NULL) {
        return;
    }
    if (encoder->is_seated) {
        (void)tank_view_seat(encoder->tank, NULL, NULL);
    }
    encoder_give_memory(encoder);
    free(encoder);
}

uint64_t tarn_encoder_bytes(const tarn_encoder *encoder)
{
    return encoder->bytes_taken;
}

uint32_t tarn_encoder_number(const tarn_encoder *encoder)
{
    return encoder->number;
}

void tarn_encoder_go_on(tarn_encoder *encoder, uint32_t number)
{
    TARN_ASSERT(!encoder->has_reference);
    encoder->number = number;
}

// ---------------------------------------------------------------------------------------------------------- key frames

/// Counts each layer's particles per tile into e->counts.
static tarn_status count_layers(tarn_encoder *e, stream_kernel_id kernel)
{
    const uint32_t occupied = e->now.occupied;
    TARN_ASSERT(occupied <= e->room.occupied);
    encoder_launch(e, kernel, occupied);
    return tarn_queue_download(e->view.queue, e->counts, e->args.w.layer_count,
                               (size_t)occupied * e->desc.layers * sizeof *e->counts);
}

/// Whether no tile has more particles in a layer than receivers take.
static bool sets_are_small(const tarn_encoder *e)
{
    for (uint32_t i = 0; i < e->now.occupied * e->desc.layers; i++) {
        if (e->counts[i] > e->points_max) {
            return false;
        }
    }
    return true;
}

/// Slots for all layers: with room for births where there are any.
static void lay_out_layers(tarn_encoder *e)
{
    const uint32_t occupied = e->now.occupied, layers = e->desc.layers;
    uint32_t first = 0;
    for (uint32_t l = 0; l < layers; l++) {
        uint32_t count = 0;
        for (uint32_t t = 0; t < occupied; t++) {
            count += e->counts[t * layers + l];
        }
        const uint32_t births = e->now.had_births ? count / 4 + 1024 : 0;
        e->layers[l] = (encoder_layer){first, count, count + births, count, 0};
        first += e->layers[l].slots_max;
    }
    TARN_ASSERT(first <= e->room.slots);
}

/// Where each tile's part of each layer goes.
static void lay_out_parts(tarn_encoder *e)
{
    const uint32_t occupied = e->now.occupied, layers = e->desc.layers;
    uint32_t next[TARN_STREAM_LAYERS_MAX];
    uint64_t at = e->args.groups_at;
    for (uint32_t l = 0; l < layers; l++) {
        next[l] = e->layers[l].first;
    }
    for (uint32_t t = 0; t < occupied; t++) {
        for (uint32_t l = 0; l < layers; l++) {
            stream_part *part = &e->parts[t * layers + l];
            part->slot = next[l];
            part->count = e->counts[t * layers + l];
            next[l] += part->count;
            at += tarn_set_bytes_max(e->desc.place_bits, part->count);
            part->set_end = at;
            at += e->args.has_colours ? TARN_ANS_STATE_BYTES + 2 + (uint64_t)part->count * STREAM_COLOUR_BYTES : 0;
            part->colour_end = at;
        }
    }
    for (uint32_t l = 0; l < layers; l++) {
        TARN_ASSERT(next[l] == e->layers[l].first + e->layers[l].slots); // the tiles' parts fill each layer
    }
    TARN_ASSERT(at <= e->room.coded);
}

static tarn_status upload_parts(tarn_encoder *e)
{
    return tarn_queue_upload(e->view.queue, e->args.w.part, e->parts,
                             (size_t)e->now.occupied * e->desc.layers * sizeof *e->parts);
}

static tarn_status zero_farthest(tarn_encoder *e)
{
    return tarn_queue_zero(e->view.queue, e->args.w.farthest, sizeof *e->args.w.farthest);
}

/// What residuals are counted in.
/// @param slack  quanta that may be left unsaid
static void choose_steps(tarn_encoder *e, float slack, float residual_quanta, int32_t flow_shift)
{
    const float quantum = (float)(1 << (TARN_PLACE_BITS - e->desc.place_bits));
    const uint32_t step = (uint32_t)(residual_quanta * quantum);
    TARN_ASSERT(step > 0 && step <= TARN_STREAM_STEP_MAX);
    e->args.dead_zone = (int32_t)(slack * quantum);
    e->args.residual_step = step;
    e->args.residual_inverse = ((UINT32_C(1) << 31) + step - 1) / step;
    e->args.flow_shift = flow_shift;
}

/// A key frame's streams; the reference becomes what viewers have after it. Its flow is as fine as can be: it moves no
/// particle, but viewers have their velocities from it. What follows is taken for calm until a base frame says.
static tarn_status code_key(tarn_encoder *e)
{
    tarn_queue *queue = e->view.queue;
    const uint32_t occupied = e->now.occupied, parts = occupied * e->desc.layers;
    e->args.is_key = e->args.is_base = 1;
    e->args.ratio = 0;
    e->args.steps = (float)ENCODER_FLOW_STEPS;
    e->base_bits = 0.0f;
    choose_steps(e, 0.5f, 1.0f, 0);
    encoder_launch(e, stream_see_id, occupied);
    tarn_status status = count_layers(e, stream_layers_id);
    if (status != TARN_OK) {
        return status;
    }
    if (!sets_are_small(e)) {
        return TARN_E_SPACE;
    }
    lay_out_layers(e);
    lay_out_parts(e);
    status = upload_parts(e);
    if (status == TARN_OK) {
        status = zero_farthest(e);
    }
    encoder_index(e, &e->args.w.tile->dense, sizeof(stream_tile) / 4, e->reference_tiles, e->args.w.tile_index, false);
    encoder_launch(e, stream_sets_id, occupied);
    encoder_index(e, &e->args.w.tile->dense, sizeof(stream_tile) / 4, occupied, e->args.w.tile_index, true);
    if (status == TARN_OK) {
        status = tarn_queue_download(queue, e->bytes, e->args.w.bytes, 2 * (size_t)parts * sizeof *e->bytes);
    }
    if (status == TARN_OK) {
        status = encoder_list_flow(e, occupied);
    }
    return status == TARN_OK ? encoder_code_flow(e) : status;
}

// ------------------------------------------------------------------------------------------------ base and extra
// frames

/// Gives the newborn their slots. @return TARN_E_LIMIT where there are more than the key frame promised
static tarn_status place_births(tarn_encoder *e, uint32_t births[TARN_STREAM_LAYERS_MAX])
{
    const uint32_t occupied = e->now.occupied, layers = e->desc.layers;
    uint32_t all = 0;
    for (uint32_t t = 0; t < occupied; t++) {
        for (uint32_t l = 0; l < layers; l++) {
            stream_part *part = &e->parts[t * layers + l];
            part->slot = e->layers[l].first + e->layers[l].slots + births[l];
            part->count = e->counts[t * layers + l];
            births[l] += part->count;
            all += part->count;
        }
    }
    for (uint32_t l = 0; l < layers; l++) {
        if (births[l] > e->layers[l].slots_max - e->layers[l].slots) {
            return TARN_E_LIMIT;
        }
    }
    if (all == 0) {
        return TARN_OK;
    }
    const tarn_status status = upload_parts(e);
    encoder_launch(e, stream_births_id, occupied);
    return status;
}

static void add_groups(tarn_encoder *e, uint32_t first, uint32_t count, uint32_t is_born)
{
    for (uint32_t at = 0; at < count; at += TARN_STREAM_GROUP) {
        TARN_ASSERT(e->group_count < e->room.groups);
        e->groups[e->group_count++] = (stream_group){first + at, tile_min_u32(count - at, TARN_STREAM_GROUP), is_born};
    }
}

/// Codes what is left of the particles' places, and who came and went.
static tarn_status code_groups(tarn_encoder *e, const uint32_t births[TARN_STREAM_LAYERS_MAX])
{
    e->group_count = 0;
    for (uint32_t l = 0; l < e->desc.layers; l++) {
        add_groups(e, e->layers[l].first, e->layers[l].slots, 0);
        add_groups(e, e->layers[l].first + e->layers[l].slots, births[l], 1);
    }
    TARN_ASSERT(e->reference_tiles <= e->room.occupied);
    tarn_queue *queue = e->view.queue;
    tarn_status status = tarn_queue_upload(queue, e->args.w.group, e->groups, e->group_count * sizeof *e->groups);
    encoder_launch(e, stream_move_id, e->reference_tiles);
    encoder_launch(e, stream_groups_id, e->group_count);
    if (status == TARN_OK) {
        status = tarn_queue_download(queue, e->bytes, e->args.w.bytes, e->group_count * sizeof *e->bytes);
    }
    return status;
}

/// The layers as they are after the frame.
static void count_particles(tarn_encoder *e, const uint32_t births[TARN_STREAM_LAYERS_MAX])
{
    for (uint32_t l = 0; l < e->desc.layers; l++) {
        encoder_layer *layer = &e->layers[l];
        for (uint32_t g = 0; g < e->group_count; g++) {
            if (e->groups[g].slot >= layer->first && e->groups[g].slot < layer->first + layer->slots_max) {
                TARN_ASSERT(e->bytes[g] >> 16 <= layer->particles);
                TARN_ASSERT(e->bytes[g] >> 16 <= e->groups[g].count);
                layer->particles -= e->bytes[g] >> 16;
            }
        }
        layer->born = births[l];
        layer->slots += births[l];
        layer->particles += births[l];
    }
}

/// Where residuals are large anyway coarser steps cost less than they leave; in calm water what is left over would ask
/// for a correction again in the next base frame. Coarser steps take fewer bits themselves: what is wild is calm again
/// only well below. Nothing builds upon an extra frame.
static void choose_moved_steps(tarn_encoder *e, bool is_base)
{
    const float bits = e->base_bits;
    const int32_t flow_shift = bits < 6.0f ? 0 : bits < 8.5f ? 1 : 2;
    e->is_wild = bits > (e->is_wild ? 2.0f : 3.5f);
    if (is_base) {
        choose_steps(e, e->desc.base_slack, e->is_wild ? 2.0f * e->desc.base_slack : 1.0f, flow_shift);
    } else {
        choose_steps(e, e->desc.extra_slack, 2.0f * e->desc.extra_slack, tile_clamp_i32(flow_shift, 1, 2));
    }
}

/// @return TARN_E_LIMIT where only a key frame will do
static tarn_status code_moved(tarn_encoder *e, bool is_base)
{
    uint32_t births[TARN_STREAM_LAYERS_MAX] = {0};
    TARN_ASSERT(e->now.step >= e->reference_step); // can_refer
    const uint64_t steps = e->now.step - e->reference_step;
    e->args.is_key = 0;
    e->args.is_base = (uint32_t)is_base;
    e->args.ratio = tarn_flow_ratio(steps, e->reference_flow_steps);
    choose_moved_steps(e, is_base);
    tarn_status status = zero_farthest(e);
    if (status == TARN_OK && is_base && e->now.had_births) {
        status = count_layers(e, stream_arrive_id);
        if (status == TARN_OK) {
            status = place_births(e, births);
        }
    } else {
        encoder_launch(e, stream_arrive_id, e->now.occupied);
    }
    if (status == TARN_OK) {
        status = encoder_code_flow(e);
    }
    if (status == TARN_OK) {
        status = code_groups(e, births);
    }
    if (status == TARN_OK) {
        count_particles(e, births);
    }
    return status;
}

static void swap_places(stream_memory *w)
{
    stream_pair *const pair = w->pair;
    uint32_t *const place_slot = w->place_slot;
    stream_tile *const tile = w->tile;
    w->pair = w->pair_next;
    w->place_slot = w->place_slot_next;
    w->tile = w->tile_next;
    w->pair_next = pair;
    w->place_slot_next = place_slot;
    w->tile_next = tile;
}

/// After a base frame: the tank's present order becomes that of the reference.
static tarn_status reseat(tarn_encoder *e)
{
    const uint32_t occupied = e->now.occupied, stride = sizeof(stream_tile) / 4;
    encoder_launch(e, stream_reseat_id, occupied);
    encoder_index(e, &e->args.w.tile->dense, stride, e->reference_tiles, e->args.w.tile_index, false);
    swap_places(&e->args.w);
    encoder_index(e, &e->args.w.tile->dense, stride, occupied, e->args.w.tile_index, true);
    return encoder_list_flow(e, occupied);
}

// ---------------------------------------------------------------------------------------------------------------
// frames

static void fill_head(const tarn_encoder *e, tarn_stream_kind kind, const tarn_tank_frame_info *info,
                      tarn_stream_head *head)
{
    const tank_moment *now = &e->now;
    const uint64_t steps = kind == TARN_STREAM_KEY ? ENCODER_FLOW_STEPS : now->step - e->reference_step;
    memset(head, 0, sizeof *head);
    head->kind = (uint8_t)kind;
    head->place_bits = (uint8_t)e->desc.place_bits;
    head->layer_count = (uint8_t)e->desc.layers;
    if (e->channel > 0) {
        head->channel = (uint8_t)e->channel;
        head->channel_low = e->channel_low;
        head->channel_high = e->channel_high;
    }
    head->field = e->field;
    head->flags = info->flags | (e->args.has_colours ? TARN_FRAME_FLAG_COLOURS : 0);
    head->epoch = info->epoch;
    head->step = now->step;
    head->sim_time_s = now->sim_time_s;
    head->server_time_us = info->server_time_us;
    head->realtime_factor = info->realtime_factor;
    head->number = e->number;
    head->reference = kind == TARN_STREAM_KEY ? e->number : e->reference;
    head->interval_steps = (uint32_t)(steps < UINT32_MAX ? steps : UINT32_MAX);
    head->interval_s = (float)steps * e->view.dt_s;
    head->input_count = (uint16_t)info->input_count;
    head->cell_m = e->view.cell_m;
    head->flow_tiles_max = e->room.flow;
    for (int a = 0; a < 3; a++) {
        head->cells[a] = e->view.cells[a];
        head->gravity_m_s2[a] = now->gravity_m_s2[a];
    }
    for (int i = 0; i < 4; i++) {
        head->orientation[i] = now->orientation[i];
    }
    head->body_count = now->body_count;
    head->residual_step = (uint16_t)e->args.residual_step;
    head->flow_step = (uint8_t)(1 << e->args.flow_shift);
    TARN_ASSERT(now->body_count <= TARN_FRAME_BODIES_MAX);
    memcpy(head->bodies, now->bodies, now->body_count * sizeof *now->bodies);
    for (uint32_t l = 0; l < e->desc.layers; l++) {
        TARN_ASSERT(e->layers[l].particles <= e->layers[l].slots);
        TARN_ASSERT(e->layers[l].slots <= e->layers[l].slots_max);
        head->layers[l].slots = e->layers[l].slots;
        head->layers[l].particles = e->layers[l].particles;
        head->layers[l].slots_max = e->layers[l].slots_max;
    }
}

static bool can_refer(const tarn_encoder *e, const tarn_tank_frame_info *info)
{
    return e->has_reference && e->generation == e->now.generation && e->epoch == info->epoch &&
           e->now.step >= e->reference_step && e->now.step - e->reference_step < UINT32_MAX;
}

/// What a particle takes in a frame, the flow and levels apart.
static float bits_of(const tarn_encoder *e, const tarn_stream_head *head)
{
    float bytes = -(float)e->levels_bytes, particles = 1.0f;
    for (uint32_t l = 0; l < head->layer_count; l++) {
        bytes += (float)head->layers[l].bytes;
        particles += (float)head->layers[l].particles;
    }
    return 8.0f * bytes / particles;
}

/// The streams of a frame. @param kind  what was asked for; then what it is
static tarn_status code(tarn_encoder *e, tarn_stream_kind *kind)
{
    tarn_status status = TARN_E_LIMIT;
    if (*kind != TARN_STREAM_KEY) {
        status = code_moved(e, *kind == TARN_STREAM_BASE);
    }
    if (status == TARN_E_LIMIT) {
        *kind = TARN_STREAM_KEY;
        status = code_key(e);
    }
    if (status == TARN_OK) {
        status = encoder_code_levels(e);
    }
    return status == TARN_OK ? encoder_code_field(e) : status;
}

tarn_status tarn_encoder_encode(tarn_encoder *e, tarn_stream_kind kind, const tarn_tank_frame_info *info,
                                uint8_t *bytes, size_t bytes_max, tarn_stream_head *head)
{
    if (info->input_count > TARN_FRAME_INPUTS_MAX || kind > TARN_STREAM_EXTRA) {
        return TARN_E_ARGUMENT;
    }
    tank_view_encode_begins(e->tank);
    tank_view_now(e->tank, &e->now);
    if (fill_colours(e) || !can_refer(e, info) || encoder_has_other_field(e)) {
        kind = TARN_STREAM_KEY;
    } else if (TARN_VALIDATE) {
        encoder_validate(e); // as the steps since the last frame have left the seats
    }
    e->number++;
    const bool was_whole = e->has_reference;
    e->has_reference = false; // until all of it has gone well
    encoder_begin_levels(e);
    tarn_status status = code(e, &kind);
    if (status != TARN_OK) {
        return status;
    }
    fill_head(e, kind, info, head);
    status = encoder_assemble(e, head, info->inputs, bytes, bytes_max);
    if (status != TARN_OK) {
        return status;
    }
    if (kind != TARN_STREAM_EXTRA) {
        e->reference = e->number;
        e->reference_step = e->now.step;
        e->reference_flow_steps = head->interval_steps;
        e->epoch = info->epoch;
        e->generation = e->now.generation;
        e->reference_channel = e->channel;
        encoder_keep_field(e);
        e->args.flow_now = !e->args.flow_now;
        e->flow_is_indexed = false;
    }
    if (kind == TARN_STREAM_BASE) {
        e->base_bits = bits_of(e, head);
        status = reseat(e);
    }
    e->has_reference = status == TARN_OK && (kind == TARN_STREAM_KEY || was_whole);
    if (TARN_VALIDATE && e->has_reference) {
        encoder_validate(e);
    }
    tank_view_encode_ends(e->tank);
    return status;
}
