// The sequence of a frame; stream_memory.h shows it.
#include "kernels/stream/encoder_internal.h"
#include "protocol/assert.h"

#include <stddef.h>
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
    args->tile_total = view->tile_total;
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
    tarn_status status = tarn_queue_create(e->view.device, &e->queue);
    if (status == TARN_OK) {
        status = encoder_carve_memory(e);
    }
    e->args.flow_room = e->room.flow;
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
    (void)tarn_queue_wait(encoder->view.queue); // steps carry the seats
    tarn_queue_destroy(encoder->queue);         // waits for a frame that nobody has finished
    encoder_give_memory(encoder);
    free(encoder);
}

uint32_t tarn_encoder_number(const tarn_encoder *encoder)
{
    return encoder->number;
}

void tarn_encoder_go_on(tarn_encoder *encoder, uint32_t number)
{
    TARN_ASSERT(!encoder->has_reference && !encoder->is_begun);
    encoder->number = number;
}

// ---------------------------------------------------------------------------------------------------------- key frames

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

/// A key frame's sets, out of the tank's memory; the reference becomes what viewers have after it. Its flow is as fine
/// as can be: it moves no particle, but viewers have their velocities from it. What follows is taken for calm until a
/// base frame says.
static void begin_key(tarn_encoder *e)
{
    stream_memory *w = &e->args.w;
    const uint32_t occupied = e->now.occupied, stride = sizeof(stream_tile) / 4;
    e->args.is_key = e->args.is_base = 1;
    e->args.has_births = 0;
    e->args.ratio = 0;
    e->args.steps = (float)ENCODER_FLOW_STEPS;
    e->args.points_max = e->points_max;
    e->args.tile_now = w->tile;
    e->base_bits = 0.0f;
    choose_steps(e, 0.5f, 1.0f, 0);
    encoder_launch(e, stream_see_id, occupied);
    encoder_launch(e, stream_layers_id, occupied);
    encoder_launch(e, stream_lay_out_id, 1);
    encoder_index(e, &w->tile->dense, stride, e->reference_tiles, w->tile_index, false, NULL);
    encoder_launch_counted(e, stream_sets_id, &w->plan->tiles, occupied);
    encoder_index(e, &w->tile->dense, stride, occupied, w->tile_index, true, NULL);
    e->reference_tiles = occupied;
    encoder_fit_flow(e);
}

/// The rest of it. There is one list of tiles for its grid and for that of the frames that refer to it.
static void code_key(tarn_encoder *e)
{
    encoder_list_flow(e, e->args.w.tile, e->reference_tiles, 3);
    encoder_code_flow(e);
    encoder_launch_counted(e, stream_code_sets_id, &e->args.w.plan->set_streams, 2 * e->now.occupied * e->desc.layers);
    encoder_launch(e, stream_lay_groups_id, 1); // of levels
}

// ------------------------------------------------------------------------------------------------ base and extra
// frames

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

/// Takes what the frame wants of the tank. Where there are births the host has to know whether they fit: nobody but it
/// can make another frame of this one.
/// @return TARN_E_LIMIT where only a key frame will do
static tarn_status begin_moved(tarn_encoder *e, bool is_base)
{
    TARN_ASSERT(e->now.step >= e->reference_step); // can_refer
    TARN_ASSERT(e->reference_tiles <= e->room.occupied);
    const uint64_t steps = e->now.step - e->reference_step;
    stream_plan plan;
    e->args.is_key = 0;
    e->args.is_base = (uint32_t)is_base;
    e->args.has_births = is_base && e->now.had_births;
    e->args.ratio = tarn_flow_ratio(steps, e->reference_flow_steps);
    e->args.tile_now = e->args.w.tile_next;
    memcpy(e->args.layer, e->layers, sizeof e->args.layer);
    choose_moved_steps(e, is_base);
    encoder_launch(e, stream_arrive_id, e->now.occupied);
    if (!e->args.has_births) {
        return TARN_OK;
    }
    encoder_launch(e, stream_lay_births_id, 1);
    const tarn_status status = tarn_queue_download(e->line, &plan, e->args.w.plan, sizeof plan);
    return status == TARN_OK && plan.is_full ? TARN_E_LIMIT : status;
}

/// The rest of it.
static void code_moved(tarn_encoder *e)
{
    if (e->args.has_births) {
        encoder_launch(e, stream_births_id, e->now.occupied);
    }
    encoder_fit_flow(e);
    encoder_code_flow(e);
    encoder_launch(e, stream_lay_groups_id, 1);
    encoder_launch(e, stream_move_id, e->reference_tiles);
    encoder_launch_counted(e, stream_groups_id, &e->args.w.plan->groups, e->room.groups);
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

/// Behind a base frame: the order that the tank had when it began becomes that of the reference.
static void reseat(tarn_encoder *e)
{
    const uint32_t occupied = e->now.occupied, stride = sizeof(stream_tile) / 4;
    encoder_launch(e, stream_reseat_id, occupied);
    encoder_index(e, &e->args.w.tile->dense, stride, e->reference_tiles, e->args.w.tile_index, false, NULL);
    swap_places(&e->args.w);
    encoder_index(e, &e->args.w.tile->dense, stride, occupied, e->args.w.tile_index, true, NULL);
    e->reference_tiles = occupied;
    encoder_list_flow(e, e->args.w.tile, occupied, 2u >> e->args.flow_now); // the grid that isn't the frame's
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
    float bytes = -(float)encoder_plan(e)->levels_bytes, particles = 1.0f;
    for (uint32_t l = 0; l < head->layer_count; l++) {
        bytes += (float)head->layers[l].bytes;
        particles += (float)head->layers[l].particles;
    }
    return 8.0f * bytes / particles;
}

/// Sends to the tank's queue what reads the tank. @param kind  what was asked for; then what it is
static tarn_status begin(tarn_encoder *e, tarn_stream_kind *kind)
{
    e->line = e->view.queue;
    tarn_status status = tarn_queue_zero(e->line, e->args.w.plan, offsetof(stream_plan, tiles));
    encoder_begin_levels(e);
    encoder_begin_field(e);
    if (status == TARN_OK && *kind != TARN_STREAM_KEY) {
        status = begin_moved(e, *kind == TARN_STREAM_BASE);
        if (status == TARN_E_LIMIT) {
            status = tarn_queue_zero(e->line, e->args.w.plan, offsetof(stream_plan, tiles));
            *kind = TARN_STREAM_KEY;
        }
        if (*kind != TARN_STREAM_KEY) {
            return status;
        }
    }
    if (status == TARN_OK) {
        begin_key(e);
    }
    return status;
}

/// Sends to the encoder's own queue what reads its own memory.
static void code(tarn_encoder *e)
{
    tarn_queue_follow(e->queue, e->view.queue);
    e->line = e->queue;
    if (e->kind == TARN_STREAM_KEY) {
        code_key(e);
    } else {
        code_moved(e);
    }
    encoder_code_levels(e);
    encoder_code_field(e);
    encoder_pack(e);
    if (e->kind == TARN_STREAM_BASE) {
        reseat(e);
    }
}

tarn_status tarn_encoder_begin(tarn_encoder *e, tarn_stream_kind kind, const tarn_tank_frame_info *info)
{
    TARN_ASSERT(!e->is_begun);
    if (info->input_count > TARN_FRAME_INPUTS_MAX || kind > TARN_STREAM_EXTRA) {
        return TARN_E_ARGUMENT;
    }
    tank_view_encode_begins(e->tank);
    tank_view_now(e->tank, &e->now);
    TARN_ASSERT(e->now.occupied <= e->room.occupied);
    if (fill_colours(e) || !can_refer(e, info) || encoder_has_other_field(e)) {
        kind = TARN_STREAM_KEY;
    } else if (TARN_VALIDATE) {
        encoder_validate(e); // as the steps since the last frame have left the seats
    }
    e->number++;
    e->was_whole = e->has_reference;
    e->has_reference = false; // until all of it has gone well
    e->info = *info;
    if (info->input_count > 0) {
        memcpy(e->inputs, info->inputs, info->input_count * sizeof *e->inputs);
    }
    e->args.occupied = e->now.occupied;
    e->args.had_births = e->now.had_births;
    const tarn_status status = begin(e, &kind);
    if (status == TARN_OK) {
        e->kind = kind;
        e->is_begun = true;
        code(e);
    }
    tank_view_encode_ends(e->tank);
    return status;
}

bool tarn_encoder_is_done(tarn_encoder *e)
{
    TARN_ASSERT(e->is_begun);
    return tarn_queue_is_done(e->queue);
}

/// The layers as they are after the frame.
static void take_layers(tarn_encoder *e)
{
    const stream_plan *plan = encoder_plan(e);
    for (uint32_t l = 0; l < e->desc.layers; l++) {
        stream_layer *layer = &e->layers[l];
        *layer = plan->layer[l];
        if (e->kind != TARN_STREAM_KEY) {
            TARN_ASSERT(plan->deaths[l] <= layer->particles);
            layer->particles += layer->born - plan->deaths[l];
            layer->slots += layer->born;
        }
    }
    TARN_ASSERT(e->layers[e->desc.layers - 1].first + e->layers[e->desc.layers - 1].slots_max <= e->room.slots);
}

/// The frame becomes the reference, unless nothing may refer to it.
static void keep(tarn_encoder *e, const tarn_stream_head *head)
{
    if (e->kind != TARN_STREAM_EXTRA) {
        e->reference = e->number;
        e->reference_step = e->now.step;
        e->reference_flow_steps = head->interval_steps;
        e->epoch = e->info.epoch;
        e->generation = e->now.generation;
        e->reference_channel = e->channel;
        encoder_keep_field(e);
        e->args.flow_now = !e->args.flow_now;
    }
    if (e->kind == TARN_STREAM_BASE) {
        e->base_bits = bits_of(e, head);
    }
    e->has_reference = e->kind == TARN_STREAM_KEY || e->was_whole;
}

/// Puts the frame together that the device has coded.
static tarn_status put_together(tarn_encoder *e, uint8_t *bytes, size_t bytes_max, tarn_stream_head *head)
{
    const stream_plan *plan = encoder_plan(e);
    if (plan->is_crowded || plan->is_large) {
        return TARN_E_SPACE;
    }
    take_layers(e);
    if (TARN_VALIDATE && e->channel > 0) {
        encoder_validate_levels(e);
    }
    fill_head(e, e->kind, &e->info, head);
    const tarn_status status = encoder_assemble(e, head, e->inputs, bytes, bytes_max);
    if (status == TARN_OK) {
        keep(e, head);
    }
    return status;
}

tarn_status tarn_encoder_finish(tarn_encoder *e, uint8_t *bytes, size_t bytes_max, tarn_stream_head *head)
{
    TARN_ASSERT(e->is_begun);
    tank_view_encode_begins(e->tank);
    tarn_status status = tarn_queue_wait(e->queue);
    e->is_begun = false;
    if (status == TARN_OK) {
        status = put_together(e, bytes, bytes_max, head);
    }
    tank_view_encode_ends(e->tank);
    return status;
}

tarn_status tarn_encoder_encode(tarn_encoder *e, tarn_stream_kind kind, const tarn_tank_frame_info *info,
                                uint8_t *bytes, size_t bytes_max, tarn_stream_head *head)
{
    const tarn_status status = tarn_encoder_begin(e, kind, info);
    return status == TARN_OK ? tarn_encoder_finish(e, bytes, bytes_max, head) : status;
}

bool tarn_encoder_is_begun(const tarn_encoder *e)
{
    return e->is_begun;
}

void tarn_encoder_drop(tarn_encoder *e)
{
    if (e != NULL && e->is_begun) {
        (void)tarn_queue_wait(e->queue);
        e->is_begun = false;
    }
}
