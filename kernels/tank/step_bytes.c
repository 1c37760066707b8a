// A step's input as bytes:
//
//     u8 version = 1 ─ u8 flags ─ u16 parts ─ the parts that are there, in this order
//
// flags: bit 0 holds, bits 1-2 pause, bits 3-4 poser, others zero. A part is a bit of `parts` and, but for the pose, a
// u8 count that isn't zero, then so many of:
//
//     0 pose        f32 position[3], rotation[4]
//     1 parameters  u16 id, f32 value
//     2 pushes      f32 center[3], radius, velocity[3], strength, inward, spin[3]
//     3 grabs       u16 body, f32 point[3], target[3], strength
//     4 pours       f32 center[3], radius, velocity[3], u8 liquid, colour[4]
//     5 sinks       f32 center[3], radius
//     6 dyes        f32 center[3], radius, u8 colour[3], f32 share
//     7 throws      solid: u8 kind, motion, inverted, colour[3], u16 field, f32 half[3], position[3], rotation[4],
//                   density, velocity[3]
//     8 walls       solid
//     9 erasures    as sinks
//    10 motion fields  f32 corner[3], across[3], up[3], depth, speed, strength, u8 solid, columns, rows, u16 bytes of
//                   cells, cells
#include "kernels/step_input.h"
#include "kernels/tank/byte_walk.h"
#include "protocol/motion_code.h"

#include <string.h>

enum { VERSION = 1, FLAG_HOLDS = 1, PAUSE_SHIFT = 1, POSER_SHIFT = 3, FLAGS_ALL = 31, PARTS = 11 };

static void visit_sink(byte_walk *w, tarn_sink *sink)
{
    visit_floats(w, sink->center_m, 3);
    visit_floats(w, &sink->radius_m, 1);
}

/// A part's count. @return whether the part is there
static bool visit_count(byte_walk *w, uint32_t parts, int part, uint32_t *count, uint32_t most)
{
    if ((parts >> part & 1) == 0) {
        return false;
    }
    *count = visit_word(w, *count, most + 1);
    w->failed = w->failed || *count == 0;
    *count = w->failed ? 0 : *count;
    return !w->failed;
}

static void visit_tools(byte_walk *w, uint32_t parts, tarn_tank_tools *tools)
{
    if (visit_count(w, parts, 4, &tools->pour_count, TARN_TANK_POURS_MAX)) {
        for (uint32_t i = 0; i < tools->pour_count; i++) {
            tarn_pour *pour = &tools->pours[i];
            visit_floats(w, pour->center_m, 3);
            visit_floats(w, &pour->radius_m, 1);
            visit_floats(w, pour->velocity_m_s, 3);
            pour->liquid = visit_word(w, pour->liquid, 256);
            visit_colour(w, pour->colour, 4);
        }
    }
    if (visit_count(w, parts, 5, &tools->sink_count, TARN_TANK_SINKS_MAX)) {
        for (uint32_t i = 0; i < tools->sink_count; i++) {
            visit_sink(w, &tools->sinks[i]);
        }
    }
    if (visit_count(w, parts, 6, &tools->dye_count, TARN_TANK_DYES_MAX)) {
        for (uint32_t i = 0; i < tools->dye_count; i++) {
            tarn_dye *dye = &tools->dyes[i];
            visit_floats(w, dye->center_m, 3);
            visit_floats(w, &dye->radius_m, 1);
            visit_colour(w, dye->colour, 3);
            visit_floats(w, &dye->share, 1);
        }
    }
}

static void visit_hands(byte_walk *w, uint32_t parts, tarn_step_input *input)
{
    if (visit_count(w, parts, 1, &input->parameter_count, TARN_STEP_PARAMETERS_MAX)) {
        for (uint32_t i = 0; i < input->parameter_count; i++) {
            visit_u16(w, &input->parameters[i].id);
            visit_floats(w, &input->parameters[i].value, 1);
        }
    }
    if (visit_count(w, parts, 2, &input->push_count, TARN_TANK_PUSHES_MAX)) {
        for (uint32_t i = 0; i < input->push_count; i++) {
            tarn_push *push = &input->pushes[i];
            visit_floats(w, push->center_m, 3);
            visit_floats(w, &push->radius_m, 1);
            visit_floats(w, push->velocity_m_s, 3);
            visit_floats(w, &push->strength, 1);
            visit_floats(w, &push->inward_m_s, 1);
            visit_floats(w, push->spin_rad_s, 3);
        }
    }
    if (visit_count(w, parts, 3, &input->grab_count, TARN_TANK_GRABS_MAX)) {
        for (uint32_t i = 0; i < input->grab_count; i++) {
            tarn_grab *grab = &input->grabs[i];
            visit_u16(w, &grab->body);
            visit_floats(w, grab->point_m, 3);
            visit_floats(w, grab->target_m, 3);
            visit_floats(w, &grab->strength, 1);
        }
    }
}

static void visit_solids(byte_walk *w, uint32_t parts, tarn_step_input *input)
{
    if (visit_count(w, parts, 7, &input->throw_count, TARN_STEP_THROWS_MAX)) {
        for (uint32_t i = 0; i < input->throw_count; i++) {
            visit_solid(w, &input->throws[i]);
        }
    }
    if (visit_count(w, parts, 8, &input->wall_count, TARN_STEP_WALLS_MAX)) {
        for (uint32_t i = 0; i < input->wall_count; i++) {
            visit_solid(w, &input->walls[i]);
        }
    }
    if (visit_count(w, parts, 9, &input->erase_count, TARN_STEP_ERASES_MAX)) {
        for (uint32_t i = 0; i < input->erase_count; i++) {
            visit_sink(w, &input->erases[i]);
        }
    }
}

static void visit_motion_field(byte_walk *w, tarn_motion_field *field)
{
    visit_floats(w, field->corner_m, 3);
    visit_floats(w, field->across_m, 3);
    visit_floats(w, field->up_m, 3);
    visit_floats(w, &field->depth_m, 1);
    visit_floats(w, &field->speed_m_s, 1);
    visit_floats(w, &field->strength, 1);
    visit_bool(w, &field->solid);
    field->columns = visit_word(w, field->columns, TARN_MOTION_COLUMNS_MAX + 1);
    field->rows = visit_word(w, field->rows, TARN_MOTION_ROWS_MAX + 1);
    visit_u16(w, &field->cell_bytes);
    visit_borrowed(w, &field->cells, field->cell_bytes);
}

static void visit_motion_fields(byte_walk *w, uint32_t parts, tarn_step_input *input)
{
    if (visit_count(w, parts, 10, &input->motion_field_count, TARN_STEP_MOTION_FIELDS_MAX)) {
        for (uint32_t i = 0; i < input->motion_field_count; i++) {
            visit_motion_field(w, &input->motion_fields[i]);
        }
    }
}

static void visit_parts(byte_walk *w, uint32_t parts, tarn_step_input *input)
{
    if (parts & 1) {
        visit_pose(w, &input->pose);
    }
    visit_hands(w, parts, input);
    visit_tools(w, parts, &input->tools);
    visit_solids(w, parts, input);
    visit_motion_fields(w, parts, input);
}

static uint32_t parts_of(const tarn_step_input *input)
{
    const tarn_tank_tools *tools = &input->tools;
    const bool there[PARTS] = {input->poser != TARN_STEP_POSER_NOBODY,
                               input->parameter_count > 0,
                               input->push_count > 0,
                               input->grab_count > 0,
                               tools->pour_count > 0,
                               tools->sink_count > 0,
                               tools->dye_count > 0,
                               input->throw_count > 0,
                               input->wall_count > 0,
                               input->erase_count > 0,
                               input->motion_field_count > 0};
    uint32_t parts = 0;
    for (int part = 0; part < PARTS; part++) {
        parts |= (uint32_t)there[part] << part;
    }
    return parts;
}

size_t tarn_step_input_write(const tarn_step_input *input, uint8_t *bytes, size_t bytes_max)
{
    byte_walk w = {.to = bytes, .end = bytes_max};
    uint8_t version = VERSION, flags = (uint8_t)((input->holds ? FLAG_HOLDS : 0) | (int)input->pause << PAUSE_SHIFT |
                                                 (int)input->poser << POSER_SHIFT);
    uint32_t parts = parts_of(input);
    visit_u8(&w, &version);
    visit_u8(&w, &flags);
    visit_u16(&w, &parts);
    visit_parts(&w, parts, (tarn_step_input *)input); // writing changes nothing
    return w.failed ? 0 : w.at;
}

tarn_status tarn_step_input_read(const uint8_t *bytes, size_t byte_count, tarn_step_input *input)
{
    byte_walk w = {.from = bytes, .end = byte_count};
    uint8_t version = 0, flags = 0;
    uint32_t parts = 0;
    memset(input, 0, sizeof *input);
    visit_u8(&w, &version);
    if (!w.failed && version != VERSION) {
        return TARN_E_VERSION;
    }
    visit_u8(&w, &flags);
    visit_u16(&w, &parts);
    const uint32_t pause = flags >> PAUSE_SHIFT & 3, poser = flags >> POSER_SHIFT & 3;
    w.failed = w.failed || flags > FLAGS_ALL || parts >> PARTS != 0 || pause >= TARN_STEP_PAUSE_COUNT ||
               poser >= TARN_STEP_POSER_COUNT || (poser != TARN_STEP_POSER_NOBODY) != (parts & 1);
    if (!w.failed) {
        input->holds = (flags & FLAG_HOLDS) != 0;
        input->pause = (tarn_step_pause)pause;
        input->poser = (tarn_step_poser)poser;
        visit_parts(&w, parts, input);
    }
    if (w.failed || w.at != w.end) {
        memset(input, 0, sizeof *input);
        return TARN_E_MALFORMED;
    }
    return TARN_OK;
}
