// Saving a tank's whole state as bytes, and restoring it into a tank that was made from the same description, which is
// no part of it. The particles' arrays are in the order of the device: tiles ascending, and stable within a tile, on
// which the next move depends. Begin at tarn_tank_save and tarn_tank_load, which are at the end. A step's input as
// bytes is here, too: it is made up of the same values.
#include "kernels/tank/state.h"
#include "kernels/grid/solids.h"
#include "kernels/step_input.h"
#include "kernels/tank.h"
#include "protocol/assert.h"
#include "protocol/bytes.h"
#include "protocol/motion_code.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- values as bytes ----
// Values as little-endian bytes, in one walk for both directions: `visit` writes a value, or reads it, or notes that
// there is no room for it. Whoever walks looks at `failed` in the end; what is read after a failure is zero or as it
// was.

typedef struct byte_walk {
    uint8_t *to;         ///< NULL: it reads
    const uint8_t *from; ///< NULL: it writes
    size_t at, end;
    bool failed;
} byte_walk;

/// Whether so many bytes more are there.
static bool room_for(byte_walk *w, size_t bytes)
{
    w->failed = w->failed || bytes > w->end - w->at;
    return !w->failed;
}

static void visit_u8(byte_walk *w, uint8_t *value)
{
    if (room_for(w, 1)) {
        if (w->to != NULL) {
            w->to[w->at] = *value;
        } else if (w->from != NULL) {
            *value = w->from[w->at];
        }
        w->at += 1;
    }
}

/// A number below 2^16.
static void visit_u16(byte_walk *w, uint32_t *value)
{
    if (room_for(w, 2)) {
        if (w->to != NULL) {
            put_u16(w->to + w->at, (uint16_t)*value);
        } else if (w->from != NULL) {
            *value = get_u16(w->from + w->at);
        }
        w->at += 2;
    }
}

static void visit_u32(byte_walk *w, uint32_t *value)
{
    if (room_for(w, 4)) {
        if (w->to != NULL) {
            put_u32(w->to + w->at, *value);
        } else if (w->from != NULL) {
            *value = get_u32(w->from + w->at);
        }
        w->at += 4;
    }
}

static void visit_u64(byte_walk *w, uint64_t *value)
{
    if (room_for(w, 8)) {
        if (w->to != NULL) {
            put_u64(w->to + w->at, *value);
        } else if (w->from != NULL) {
            *value = get_u64(w->from + w->at);
        }
        w->at += 8;
    }
}

/// Bytes that belong to somebody else: written from there, read where they lie.
static void visit_borrowed(byte_walk *w, const uint8_t **bytes, uint32_t count)
{
    if (room_for(w, count)) {
        if (w->to != NULL) {
            memcpy(w->to + w->at, *bytes, count);
        } else if (w->from != NULL) {
            *bytes = w->from + w->at;
        }
        w->at += count;
    }
}

static void visit_floats(byte_walk *w, float *values, int count)
{
    for (int i = 0; i < count && room_for(w, 4); i++, w->at += 4) {
        if (w->to != NULL) {
            put_f32(w->to + w->at, values[i]);
        } else if (w->from != NULL) {
            values[i] = get_f32(w->from + w->at);
        }
    }
}

static void visit_doubles(byte_walk *w, double *values, int count)
{
    for (int i = 0; i < count && room_for(w, 8); i++, w->at += 8) {
        if (w->to != NULL) {
            put_f64(w->to + w->at, values[i]);
        } else if (w->from != NULL) {
            values[i] = get_f64(w->from + w->at);
        }
    }
}

/// A number of an enumeration; one that there isn't is a failure.
static uint32_t visit_word(byte_walk *w, uint32_t value, uint32_t limit)
{
    uint8_t byte = (uint8_t)value;
    visit_u8(w, &byte);
    w->failed = w->failed || byte >= limit;
    return w->failed ? 0 : byte;
}

static void visit_bool(byte_walk *w, bool *value)
{
    *value = visit_word(w, *value, 2) != 0;
}

static void visit_colour(byte_walk *w, uint8_t *colour, int count)
{
    for (int i = 0; i < count; i++) {
        visit_u8(w, &colour[i]);
    }
}

static void visit_pose(byte_walk *w, tarn_pose *pose)
{
    visit_floats(w, pose->position_m, 3);
    visit_floats(w, pose->rotation, 4);
}

static void visit_solid(byte_walk *w, tarn_solid *solid)
{
    solid->shape.kind = (tarn_shape_kind)visit_word(w, (uint32_t)solid->shape.kind, TARN_SHAPE_COUNT);
    solid->motion = (tarn_motion)visit_word(w, (uint32_t)solid->motion, TARN_MOTION_COUNT);
    solid->shape.inverted = visit_word(w, solid->shape.inverted, 2);
    visit_colour(w, solid->colour, 3);
    visit_u16(w, &solid->shape.field);
    visit_floats(w, solid->shape.half_m, 3);
    visit_pose(w, &solid->pose);
    visit_floats(w, &solid->density_kg_m3, 1);
    visit_floats(w, solid->velocity_m_s, 3);
}

// ---- a state as bytes ----
// Little-endian:
//
//     u32 magic "TRNT" ─ u32 format = 1 ─ sections, the particles' last
//     section: 4 bytes tag ─ u16 version ─ u16 flags (bit 0: who doesn't know it may skip it) ─ u64 bytes ─ content
//
// A section grows by a new version of it, or by another section; one that isn't there leaves what it would hold as the
// tank's description has it. So states outlive builds: tests/tank/golden keeps one of each version.
//
//     TANK  model's name[16], u32 cells[3], u64 step, particles seeded and born since, u8 paused, turned by hand
//     PARA  u16 count, so many of u16 id, f32 value
//     MOTN  f64 place in the room[3], rotation[4], target[3], its rotation[4], velocity[3], spin[3]
//     CNTR  u32 next id, births refused, debt of reseeding, largest speed (bits of an f32), liquid cells
//     STEP  u32 substeps of the last step, 0 before the first; u32 the liquid's largest speed, as in CNTR;
//           u32 substeps that did not converge
//     BODY  u16 count, so many of f32 place[3], rotation[4], velocity[3], spin[3], contact[6], in cells and steps
//     BALN  of bodies in a tank with viscosity: u16 count, so many of f32 balance[6], in cells and steps
//     ADDD  u32 thrown since the start, u16 thrown bodies, walls; of each body u32 how many came before; solids
//     FILL  of a tank that is filled: u32 occupied tiles, u32 cells of each whose velocities are kept; of one with
//           friction or viscosity: tiles, cells of each of whose faces it is kept what balanced the forces
//     PART  u32 count, u8 arrays, of each u8 what it holds; then the arrays, u32 or f32; then
//           what FILL announces: u32 of each tile, f32 [3][cells] of each: velocities, cells per step, or cells per
//           step^2

enum { FORMAT = 1, MAGIC = 0x544e5254, SECTION_HEAD_BYTES = 16, FLAG_OPTIONAL = 1, SECTIONS = 10 };

// ---- a state as bytes: its sections ----

static void visit_tank(byte_walk *w, tank_state *s)
{
    for (int i = 0; i < STATE_MODEL_NAME_BYTES; i++) {
        visit_u8(w, (uint8_t *)&s->model[i]);
    }
    for (int a = 0; a < 3; a++) {
        visit_u32(w, &s->cells[a]);
    }
    visit_u64(w, &s->step);
    visit_u64(w, &s->seeded);
    visit_u64(w, &s->born);
    visit_bool(w, &s->paused);
    visit_bool(w, &s->turned_by_hand);
}

static void visit_parameters(byte_walk *w, tank_state *s)
{
    uint32_t count = s->parameter_count;
    visit_u16(w, &count);
    for (uint32_t i = 0; i < count && !w->failed; i++) {
        uint32_t id = i;
        float value = i < s->parameter_count ? s->parameters[i] : 0.0f;
        visit_u16(w, &id);
        visit_floats(w, &value, 1);
        w->failed = w->failed || id >= s->parameter_count;
        if (!w->failed) {
            s->parameters[id] = value;
        }
    }
}

static void visit_motion(byte_walk *w, tank_state *s)
{
    tank_motion *motion = &s->motion;
    visit_doubles(w, motion->position_m, 3);
    visit_doubles(w, motion->rotation, 4);
    visit_doubles(w, motion->target_m, 3);
    visit_doubles(w, motion->target_rotation, 4);
    visit_doubles(w, motion->velocity_m_s, 3);
    visit_doubles(w, motion->spin, 3);
}

static void visit_counters(byte_walk *w, tank_state *s)
{
    visit_u32(w, &s->next_id);
    visit_u32(w, &s->births_refused);
    visit_u32(w, &s->reseed_debt);
    visit_u32(w, &s->speed_max_bits);
    visit_u32(w, &s->liquid_cells);
}

static void visit_step(byte_walk *w, tank_state *s)
{
    visit_u32(w, &s->substeps);
    visit_u32(w, &s->liquid_speed_bits);
    visit_u32(w, &s->unconverged);
}

/// A count of at most `most`.
static uint32_t visit_count(byte_walk *w, uint32_t *count, uint32_t most)
{
    visit_u16(w, count);
    w->failed = w->failed || *count > most;
    *count = w->failed ? 0 : *count;
    return *count;
}

static void visit_bodies(byte_walk *w, tank_state *s)
{
    const uint32_t count = visit_count(w, &s->body_count, BODIES_MAX);
    for (uint32_t b = 0; b < count; b++) {
        grid_body_state *body = &s->bodies[b];
        visit_floats(w, body->position, 3);
        visit_floats(w, body->rotation, 4);
        visit_floats(w, body->velocity, 3);
        visit_floats(w, body->spin, 3);
        visit_floats(w, body->contact, 6);
    }
}

/// What balanced the bodies' forces, whose number BODY says.
static void visit_balance(byte_walk *w, tank_state *s)
{
    uint32_t count = s->body_count;
    visit_count(w, &count, BODIES_MAX);
    w->failed = w->failed || count != s->body_count;
    for (uint32_t b = 0; b < count && !w->failed; b++) {
        visit_floats(w, s->bodies[b].balance, 6);
    }
}

static void visit_added(byte_walk *w, tank_state *s)
{
    grid_added *added = &s->added;
    visit_u32(w, &added->thrown_total);
    visit_count(w, &added->thrown_count, TARN_TANK_THROWN_MAX);
    visit_count(w, &added->wall_count, TARN_TANK_WALLS_MAX);
    for (uint32_t i = 0; i < added->thrown_count; i++) {
        visit_u32(w, &added->thrown_at[i]);
        visit_solid(w, &added->thrown[i]);
    }
    for (uint32_t i = 0; i < added->wall_count; i++) {
        visit_solid(w, &added->walls[i]);
    }
}

static void visit_fill(byte_walk *w, tank_state *s)
{
    visit_u32(w, &s->tile_count);
    visit_u32(w, &s->kept_cells);
    w->failed = w->failed || s->kept_cells > TILE_CELLS;
}

static void visit_particles(byte_walk *w, tank_state *s)
{
    visit_u32(w, &s->particle_count);
    s->array_count = visit_word(w, s->array_count, STATE_ARRAYS_MAX + 1);
    for (uint32_t i = 0; i < s->array_count; i++) {
        s->arrays[i] = (uint8_t)visit_word(w, s->arrays[i], STATE_ARRAY_COUNT);
        w->failed = w->failed || (i > 0 && s->arrays[i] <= s->arrays[i - 1]);
    }
    s->particles_at = w->at;
}

static const struct section {
    char tag[5];
    uint8_t version;
    bool is_needed;
    void (*visit)(byte_walk *w, tank_state *s);
} sections[SECTIONS] = {
    {"TANK", 1, true, visit_tank},      {"PARA", 1, false, visit_parameters}, {"MOTN", 1, true, visit_motion},
    {"CNTR", 1, true, visit_counters},  {"STEP", 1, false, visit_step},       {"BODY", 1, false, visit_bodies},
    {"BALN", 1, false, visit_balance},  {"ADDD", 1, false, visit_added},      {"FILL", 1, false, visit_fill},
    {"PART", 1, true, visit_particles},
};

enum { SECTION_BALANCE = 6, SECTION_FILL = 8 };

static bool is_balanced(const tank_state *s)
{
    bool is = false;
    for (uint32_t b = 0; b < s->body_count; b++) {
        is |= grid_body_is_balanced(&s->bodies[b]);
    }
    return is;
}

static uint64_t arrays_bytes(const tank_state *s)
{
    return (uint64_t)s->particle_count * 4 * s->array_count +
           (uint64_t)s->tile_count * 4 * (1 + 3 * (uint64_t)s->kept_cells);
}

// ---- a state as bytes: written and read ----

size_t tank_state_write(tank_state *state, uint8_t *bytes, size_t bytes_max)
{
    byte_walk w = {.to = bytes, .end = bytes_max};
    uint32_t magic = MAGIC, format = FORMAT;
    visit_u32(&w, &magic);
    visit_u32(&w, &format);
    for (int i = 0; i < SECTIONS; i++) {
        const size_t head = w.at;
        if (!room_for(&w, SECTION_HEAD_BYTES)) {
            return 0;
        }
        w.at += SECTION_HEAD_BYTES;
        if ((i == SECTION_FILL && state->tile_count == 0) || (i == SECTION_BALANCE && !is_balanced(state))) {
            w.at = head;
            continue;
        }
        sections[i].visit(&w, state);
        const uint64_t content = w.at - head - SECTION_HEAD_BYTES;
        memcpy(bytes + head, sections[i].tag, 4);
        put_u16(bytes + head + 4, sections[i].version);
        put_u16(bytes + head + 6, 0);
        put_u64(bytes + head + 8, content + (i == SECTIONS - 1 ? arrays_bytes(state) : 0));
    }
    return w.failed ? 0 : w.at;
}

/// Which section a tag names, or SECTIONS.
static int section_of(const uint8_t *tag)
{
    int i = 0;
    while (i < SECTIONS && memcmp(tag, sections[i].tag, 4) != 0) {
        i++;
    }
    return i;
}

tarn_status tank_state_read(const uint8_t *bytes, size_t byte_count, tank_state *state)
{
    byte_walk w = {.from = bytes, .end = byte_count};
    uint32_t magic = 0, format = 0, seen = 0;
    visit_u32(&w, &magic);
    visit_u32(&w, &format);
    bool sound = !w.failed && magic == MAGIC && format == FORMAT;
    while (sound && w.at < byte_count) {
        if (byte_count - w.at < SECTION_HEAD_BYTES) {
            return TARN_E_MALFORMED;
        }
        const uint8_t *head = bytes + w.at;
        const int i = section_of(head);
        const uint64_t content = get_u64(head + 8);
        const bool is_known = i < SECTIONS && get_u16(head + 4) == sections[i].version;
        w.at += SECTION_HEAD_BYTES;
        if (content > byte_count - w.at || (seen >> (SECTIONS - 1) & 1) != 0 || get_u16(head + 6) > FLAG_OPTIONAL) {
            return TARN_E_MALFORMED;
        }
        const size_t end = w.at + (size_t)content;
        if (is_known) {
            byte_walk inside = {.from = bytes, .at = w.at, .end = end};
            sections[i].visit(&inside, state);
            const uint64_t rest = i == SECTIONS - 1 ? arrays_bytes(state) : 0;
            sound = !inside.failed && (seen >> i & 1) == 0 && end - inside.at == rest;
            seen |= 1u << i;
        } else {
            sound = (get_u16(head + 6) & FLAG_OPTIONAL) != 0;
        }
        w.at = end;
    }
    for (int i = 0; i < SECTIONS && sound; i++) {
        sound = !sections[i].is_needed || (seen >> i & 1) != 0;
    }
    return sound ? TARN_OK : TARN_E_MALFORMED;
}

// ---- a step's input as bytes ----
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

enum { VERSION = 1, FLAG_HOLDS = 1, PAUSE_SHIFT = 1, POSER_SHIFT = 3, FLAGS_ALL = 31, PARTS = 11 };

static void visit_sink(byte_walk *w, tarn_sink *sink)
{
    visit_floats(w, sink->center_m, 3);
    visit_floats(w, &sink->radius_m, 1);
}

/// A part's count. @return whether the part is there
static bool visit_step_count(byte_walk *w, uint32_t parts, int part, uint32_t *count, uint32_t most)
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
    if (visit_step_count(w, parts, 4, &tools->pour_count, TARN_TANK_POURS_MAX)) {
        for (uint32_t i = 0; i < tools->pour_count; i++) {
            tarn_pour *pour = &tools->pours[i];
            visit_floats(w, pour->center_m, 3);
            visit_floats(w, &pour->radius_m, 1);
            visit_floats(w, pour->velocity_m_s, 3);
            pour->liquid = visit_word(w, pour->liquid, 256);
            visit_colour(w, pour->colour, 4);
        }
    }
    if (visit_step_count(w, parts, 5, &tools->sink_count, TARN_TANK_SINKS_MAX)) {
        for (uint32_t i = 0; i < tools->sink_count; i++) {
            visit_sink(w, &tools->sinks[i]);
        }
    }
    if (visit_step_count(w, parts, 6, &tools->dye_count, TARN_TANK_DYES_MAX)) {
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
    if (visit_step_count(w, parts, 1, &input->parameter_count, TARN_STEP_PARAMETERS_MAX)) {
        for (uint32_t i = 0; i < input->parameter_count; i++) {
            visit_u16(w, &input->parameters[i].id);
            visit_floats(w, &input->parameters[i].value, 1);
        }
    }
    if (visit_step_count(w, parts, 2, &input->push_count, TARN_TANK_PUSHES_MAX)) {
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
    if (visit_step_count(w, parts, 3, &input->grab_count, TARN_TANK_GRABS_MAX)) {
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
    if (visit_step_count(w, parts, 7, &input->throw_count, TARN_STEP_THROWS_MAX)) {
        for (uint32_t i = 0; i < input->throw_count; i++) {
            visit_solid(w, &input->throws[i]);
        }
    }
    if (visit_step_count(w, parts, 8, &input->wall_count, TARN_STEP_WALLS_MAX)) {
        for (uint32_t i = 0; i < input->wall_count; i++) {
            visit_solid(w, &input->walls[i]);
        }
    }
    if (visit_step_count(w, parts, 9, &input->erase_count, TARN_STEP_ERASES_MAX)) {
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
    if (visit_step_count(w, parts, 10, &input->motion_field_count, TARN_STEP_MOTION_FIELDS_MAX)) {
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

// ---- a tank's state ----

enum {
    PARTICLES_AT_ONCE = 1 << 16, ///< between two yields
    SLOTS_AT_ONCE = 256,         ///< of tiles, in one transfer: each takes a GPU's queue a while
    SLOTS_SPARE = 8,             ///< between two of a download that aren't wanted
};

// ---- a tank's state: arrays ----

/// Where the particles' arrays lie on the device, by what they hold; NULL: they have no such array.
static void list_device(const tarn_tank *tank, void *list[STATE_ARRAY_COUNT])
{
    const store_memory *m = &tank->args->store;
    for (int a = 0; a < 3; a++) {
        list[STATE_POSITION + a] = m->position[a];
        list[STATE_VELOCITY + a] = m->velocity[a];
    }
    list[STATE_ID] = m->id;
    list[STATE_ATTRIBUTE] = m->attribute;
    for (int i = 0; i < 9; i++) {
        list[STATE_AFFINE + i] = m->affine[i];
    }
    for (int k = 0; k < CARRIED_MAX; k++) {
        list[STATE_CARRIED + k] = m->carried[k];
    }
}

/// The same on the host.
static void list_host(tank_arrays *arrays, void *list[STATE_ARRAY_COUNT])
{
    for (int a = 0; a < 3; a++) {
        list[STATE_POSITION + a] = arrays->position[a];
        list[STATE_VELOCITY + a] = arrays->velocity[a];
    }
    list[STATE_ID] = arrays->id;
    list[STATE_ATTRIBUTE] = arrays->attribute;
    for (int i = 0; i < 9; i++) {
        list[STATE_AFFINE + i] = arrays->affine[i];
    }
    for (int k = 0; k < CARRIED_MAX; k++) {
        list[STATE_CARRIED + k] = arrays->carried[k];
    }
}

// ---- a tank's state: numbers ----

/// The largest magnitude of an array's values; 0: they are no fractions.
static float bound_of(int array)
{
    if (array >= STATE_VELOCITY && array < STATE_VELOCITY + 3) {
        return SPEED_MAX;
    }
    if (array >= STATE_AFFINE && array < STATE_AFFINE + 9) {
        return SLOPE_MAX;
    }
    return array >= STATE_CARRIED && array < STATE_CARRIED + CARRIED_MAX ? CARRIED_LIMIT : 0.0f;
}

/// Whether no value is beyond a magnitude, or no number.
static bool values_fit(const tarn_tank *tank, const void *values, size_t count, float bound)
{
    const uint8_t *bytes = values;
    for (size_t first = 0; first < count; first += PARTICLES_AT_ONCE) {
        const size_t end = count - first < PARTICLES_AT_ONCE ? count : first + PARTICLES_AT_ONCE;
        uint32_t most = 0;
        for (size_t i = first; i < end; i++) { // magnitudes order as integers, what is no number last
            uint32_t bits;
            memcpy(&bits, bytes + i * sizeof bits, sizeof bits);
            most = tile_max_u32(most, bits & 0x7fffffffu);
        }
        if (most > tile_bits_f32(bound)) {
            return false;
        }
        tarn_queue_yield(tank->grid.queue);
    }
    return true;
}

/// Whether positions lie in the tank, and in order, tank_place looks.
static bool particles_fit(const tarn_tank *tank, tank_arrays *arrays)
{
    void *list[STATE_ARRAY_COUNT];
    list_host(arrays, list);
    for (int i = 0; i < STATE_ARRAY_COUNT; i++) {
        if (list[i] != NULL && bound_of(i) > 0.0f && !values_fit(tank, list[i], arrays->count, bound_of(i))) {
            return false;
        }
    }
    for (uint32_t i = 0; arrays->attribute != NULL && i < arrays->count; i++) {
        if ((arrays->attribute[i] & 0xff) >= tank_kinds(tank)) {
            return false;
        }
    }
    return true;
}

#define BODY_VALUE_MAX 1e5f ///< cells, cells per step^2 and the like: more is no state of a body

static bool bodies_fit(const grid_body_state *bodies, uint32_t count)
{
    for (uint32_t b = 0; b < count; b++) {
        const float *values = (const float *)&bodies[b], *q = bodies[b].rotation;
        for (size_t i = 0; i < sizeof bodies[b] / sizeof *values; i++) {
            if (!(fabsf(values[i]) <= BODY_VALUE_MAX)) {
                return false;
            }
        }
        for (int a = 0; a < 3; a++) {
            if (fabsf(bodies[b].velocity[a]) > BODY_SPEED_MAX || fabsf(bodies[b].spin[a]) > BODY_SPIN_MAX) {
                return false;
            }
        }
        if (fabsf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1.0f) > 1e-4f) {
            return false;
        }
    }
    return true;
}

// ---- a tank's state: saving ----

/// Of a tile's cells, the first ones, those that may lie in the tank: a flat tank has one layer of them.
static uint32_t kept_cells(const tarn_tank *tank)
{
    const int layers = tile_min_i32(tank->args->grid.shape.cells[2], TILE_EDGE);
    return tank->args->store.kept[0] != NULL ? (uint32_t)layers * TILE_ROWS : 0;
}

/// Whether a state names tiles: those that are occupied in a tank that is filled, or else those that what is kept may
/// lie in.
static bool names_tiles(const tarn_tank *tank)
{
    return tank->model->fills || tank->args->store.kept[0] != NULL;
}

size_t tarn_tank_save_bytes_max(const tarn_tank *tank)
{
    const size_t tiles = names_tiles(tank) ? tank->args->grid.shape.active_max : 0;
    return STATE_BYTES_MAX + (size_t)tank->args->scale.particles_max * STATE_ARRAYS_MAX * 4 +
           tiles * 4 * (1 + 3 * (size_t)kept_cells(tank));
}

static void fill(const tarn_tank *tank, tank_state *state)
{
    memset(state, 0, sizeof *state);
    memcpy(state->model, tank->model->shown.name, strlen(tank->model->shown.name));
    for (int a = 0; a < 3; a++) {
        state->cells[a] = tank->grid.desc.cells[a];
    }
    state->step = tank->grid.step;
    state->seeded = tank->seeded;
    state->born = tank->born;
    state->paused = tank->paused;
    state->turned_by_hand = tank->turned_by_hand;
    state->parameter_count = tank->model->shown.parameter_count;
    memcpy(state->parameters, tank->parameters, sizeof state->parameters);
    state->motion = tank->motion;
    state->next_id = tank->counters.next_id;
    state->births_refused = tank->counters.births_refused;
    state->reseed_debt = tank->counters.reseed_debt;
    state->speed_max_bits = tank->counters.grid.speed_max_bits;
    state->liquid_cells = tank->counters.grid.liquid_cells_last;
    state->substeps = tank->grid.substeps;
    state->liquid_speed_bits = tank->counters.grid.liquid_speed_bits;
    state->unconverged = tank->counters.grid.unconverged;
    state->body_count = tank->grid.body_count;
    TARN_ASSERT(tank->grid.body_count <= BODIES_MAX);
    memcpy(state->bodies, tank->grid.body_state, sizeof state->bodies);
    state->added = tank->grid.added;
    state->particle_count = tank->particle_count;
    state->tile_count = tank->model->fills  ? tank->counters.grid.occupied
                        : names_tiles(tank) ? tank->counters.grid.active
                                            : 0;
    state->kept_cells = kept_cells(tank);
}

/// Where tiles have what is kept of their faces on the device, and room on the host for some of these.
typedef struct kept_tiles {
    uint32_t *slot;   ///< [count], ascending
    uint32_t *number; ///< [count] in the state's list
    uint32_t count;   ///< of these that are active
    float *piece;     ///< [SLOTS_AT_ONCE][TILE_CELLS]
} kept_tiles;

/// @param tiles  dense numbers, ascending  @param kept  kept_free takes what failed, too
static tarn_status kept_find(const tarn_tank *tank, const uint8_t *tiles, uint32_t count, kept_tiles *kept)
{
    const size_t total = tank->args->grid.shape.tile_total[0], piece_bytes = (size_t)SLOTS_AT_ONCE * TILE_CELLS * 4;
    *kept = (kept_tiles){.slot = malloc(total * sizeof *kept->slot),
                         .number = malloc(total * sizeof *kept->number),
                         .piece = malloc(piece_bytes)};
    if (kept->slot == NULL || kept->number == NULL || kept->piece == NULL) {
        return TARN_E_MEMORY;
    }
    const tarn_status status =
        tarn_queue_download(tank->grid.queue, kept->slot, tank->args->grid.m.slot, total * sizeof *kept->slot);
    for (uint32_t o = 0; o < count && status == TARN_OK; o++) { // a tile's number is never below its place
        uint32_t dense;
        memcpy(&dense, tiles + (size_t)o * 4, sizeof dense);
        TARN_ASSERT(dense >= o && dense < total);
        const uint32_t slot = kept->slot[dense];
        if (slot == TILE_NONE) {
            continue; // air that was active for a pour: nothing was kept there
        }
        TARN_ASSERT(slot < tank->args->grid.shape.active_max);
        TARN_ASSERT(kept->count == 0 || slot > kept->slot[kept->count - 1]);
        kept->slot[kept->count] = slot;
        kept->number[kept->count++] = o;
    }
    return status;
}

static void kept_free(kept_tiles *kept)
{
    free(kept->slot);
    free(kept->number);
    free(kept->piece);
}

/// Which of the tiles from the o-th on lie close enough to go at once. @param spare  slots between two that may be
/// others' @return the first that doesn't
static uint32_t kept_end(const kept_tiles *kept, uint32_t o, uint32_t spare)
{
    const uint32_t first = kept->slot[o];
    uint32_t end = o + 1;
    while (end < kept->count && kept->slot[end] - first < SLOTS_AT_ONCE &&
           kept->slot[end] - kept->slot[end - 1] <= 1 + spare) {
        end++;
    }
    return end;
}

/// The tiles of a state and what is kept of their faces. @param bytes  of both
static tarn_status save_tiles(tarn_tank *tank, const tank_state *state, uint8_t *bytes)
{
    const size_t cells = (size_t)state->kept_cells * 4, tile_bytes = 3 * cells;
    uint8_t *to = bytes + (size_t)state->tile_count * 4;
    kept_tiles kept = {0};
    const grid_memory *grid = &tank->args->grid.m;
    tarn_status status = tarn_queue_download(tank->grid.queue, tank->tiles_host,
                                             tank->model->fills ? grid->level[0].tile : grid->active_tile,
                                             state->tile_count * sizeof *tank->tiles_host);
    memcpy(bytes, tank->tiles_host, (size_t)state->tile_count * 4);
    if (status == TARN_OK && cells > 0) {
        status = kept_find(tank, bytes, state->tile_count, &kept);
    }
    for (int c = 0; c < 3 && cells > 0; c++) {
        for (uint32_t o = 0, end; o < kept.count && status == TARN_OK; o = end) {
            end = kept_end(&kept, o, SLOTS_SPARE);
            const uint32_t first = kept.slot[o];
            const size_t piece_bytes = (size_t)(kept.slot[end - 1] - first + 1) * TILE_CELLS * 4;
            status = tarn_queue_download(tank->grid.queue, kept.piece,
                                         tank->args->store.kept[c] + (size_t)first * TILE_CELLS, piece_bytes);
            for (uint32_t i = o; i < end && status == TARN_OK; i++) {
                memcpy(to + kept.number[i] * tile_bytes + (size_t)c * cells,
                       kept.piece + (size_t)(kept.slot[i] - first) * TILE_CELLS, cells);
            }
            tarn_queue_yield(tank->grid.queue);
        }
    }
    kept_free(&kept);
    return status;
}

tarn_status tarn_tank_save(tarn_tank *tank, uint8_t *bytes, size_t bytes_max, size_t *byte_count)
{
    void *arrays[STATE_ARRAY_COUNT];
    tank_state state;
    *byte_count = 0;
    fill(tank, &state);
    if (!bodies_fit(state.bodies, state.body_count)) {
        return TARN_E_UNSTABLE;
    }
    list_device(tank, arrays);
    for (int i = 0; i < STATE_ARRAY_COUNT; i++) {
        if (arrays[i] != NULL) {
            state.arrays[state.array_count++] = (uint8_t)i;
        }
    }
    const size_t at = tank_state_write(&state, bytes, bytes_max), each = (size_t)tank->particle_count * 4;
    const size_t tiles = (size_t)state.tile_count * 4 * (1 + 3 * (size_t)state.kept_cells);
    TARN_ASSERT(at <= bytes_max);
    if (at == 0 || bytes_max - at < state.array_count * each + tiles) {
        return TARN_E_SPACE;
    }
    tarn_status status = TARN_OK;
    for (uint32_t i = 0; i < state.array_count && status == TARN_OK; i++) {
        uint8_t *to = bytes + at + i * each;
        const float bound = bound_of(state.arrays[i]);
        status = tarn_queue_download(tank->grid.queue, to, arrays[state.arrays[i]], each);
        if (status == TARN_OK && bound > 0.0f && !values_fit(tank, to, tank->particle_count, bound)) {
            status = TARN_E_UNSTABLE;
        }
    }
    if (status == TARN_OK && tiles > 0) {
        status = save_tiles(tank, &state, bytes + at + state.array_count * each);
    }
    if (status == TARN_OK) {
        *byte_count = at + state.array_count * each + tiles;
    }
    return status;
}

// ---- a tank's state: checks ----

static bool within(const double *vector, double longest)
{
    return vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2] <= longest * longest; // not for NaN
}

static bool is_unit(const double *q)
{
    const double norm = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    return norm > 0.99 && norm < 1.01;
}

#define SPIN_MAX_RAD_S (2.0 * (double)TARN_TANK_TURN_MAX_RAD_S) ///< about a slanted axis a tank may start beyond one
#define SPEED_MAX_M_S 10.0
#define PLACE_MAX_M 2e4 ///< poses that are set end at 1e4 per axis

static bool motion_fits(const tank_motion *motion)
{
    return is_unit(motion->rotation) && is_unit(motion->target_rotation) && within(motion->position_m, PLACE_MAX_M) &&
           within(motion->target_m, PLACE_MAX_M) && within(motion->velocity_m_s, SPEED_MAX_M_S) &&
           within(motion->spin, SPIN_MAX_RAD_S);
}

/// Whether the state has the arrays that this tank's particles have; colours may be more.
static bool arrays_fit(const tarn_tank *tank, const tank_state *state)
{
    void *device[STATE_ARRAY_COUNT];
    uint32_t has = 0, wants = 0;
    list_device(tank, device);
    for (int i = 0; i < STATE_ARRAY_COUNT; i++) {
        wants |= (uint32_t)(device[i] != NULL && i != STATE_ATTRIBUTE) << i;
    }
    for (uint32_t i = 0; i < state->array_count; i++) {
        has |= 1u << state->arrays[i];
    }
    const uint32_t colours = 1u << STATE_ATTRIBUTE;
    return (has & ~colours) == wants && ((has & colours) != 0 || !tank_has_attributes(&tank->grid.desc));
}

/// Whether so many tiles may be occupied. Kernels of a tank that stays full find tiles by their dense numbers.
static bool tile_count_fits(const tarn_tank *tank, uint32_t count)
{
    const uint32_t most = names_tiles(tank) ? tank->args->grid.shape.tile_total[0] : 0;
    return tank->model->stays_full ? count == most : count <= most;
}

static bool state_fits(const tarn_tank *tank, const tank_state *state)
{
    char name[STATE_MODEL_NAME_BYTES] = {0};
    memcpy(name, tank->model->shown.name, strlen(tank->model->shown.name));
    bool fits = memcmp(name, state->model, sizeof name) == 0 && motion_fits(&state->motion) && arrays_fit(tank, state);
    fits = fits && state->step <= TARN_FRAME_INTEGER_MAX / 2; // frames have to be able to say it, and those to come
    fits = fits && state->particle_count <= tank->args->scale.particles_max;
    fits = fits && state->substeps <= TARN_TANK_SUBSTEPS_MAX;
    fits = fits && tile_count_fits(tank, state->tile_count);
    fits = fits && (state->tile_count == 0 || state->kept_cells == kept_cells(tank));
    for (int a = 0; a < 3; a++) {
        fits = fits && state->cells[a] == tank->grid.desc.cells[a];
    }
    for (uint32_t i = 0; i < state->parameter_count; i++) {
        const tarn_parameter_spec *spec = &tank->model->shown.parameters[i];
        fits = fits && state->parameters[i] >= spec->min && state->parameters[i] <= spec->max; // not for NaN
    }
    const float speed = tile_f32_bits(state->speed_max_bits), liquid = tile_f32_bits(state->liquid_speed_bits);
    return fits && speed >= 0.0f && speed <= SPEED_MAX && liquid >= 0.0f && liquid <= SPEED_MAX &&
           grid_added_fits(&tank->grid, &state->added) &&
           state->body_count == tank->grid.own_body_count + state->added.thrown_count;
}

// ---- a tank's state: loading ----

static tarn_status apply_bodies(tarn_tank *tank, const grid_body_state *bodies)
{
    if (tank->grid.body_count == 0) {
        return TARN_OK;
    }
    const size_t size = tank->grid.body_count * sizeof *bodies;
    memcpy(tank->grid.body_state, bodies, size);
    for (uint32_t b = 0; b < tank->grid.body_count; b++) {
        set_turn(&tank->grid.body_state[b]); // a matrix that isn't the rotation's would scale the body
    }
    return tarn_queue_upload(tank->grid.queue, tank->args->grid.m.bodies->state, tank->grid.body_state, size);
}

static void apply_state(tarn_tank *tank, const tank_state *state)
{
    tank->motion = state->motion;
    tank->grid.step = state->step;
    tank->sim_time_s = (double)state->step * (double)tank->grid.desc.dt_s;
    tank->seeded = state->seeded;
    tank->born = state->born;
    tank->paused = state->paused;
    tank->turned_by_hand = state->turned_by_hand;
    tank->had_births |= state->born > 0;
    tank_set_parameters(tank, state->parameters);
    tank_motion_weigh(tank);
    tank->counters.grid.speed_max_bits = state->speed_max_bits;
    tank->counters.births_refused = state->births_refused;
    tank->counters.reseed_debt = state->reseed_debt;
    tank->counters.grid.liquid_cells_last = state->liquid_cells;
    tank->grid.substeps = state->substeps;
    tank->counters.grid.liquid_speed_bits = state->liquid_speed_bits;
    tank->counters.grid.unconverged = state->unconverged;
}

/// Copies an array of particles in slices, so that others need not wait for the whole.
static void copy_array(const tarn_tank *tank, void *to, const uint8_t *from, size_t bytes)
{
    enum { SLICE = 4 * PARTICLES_AT_ONCE };
    for (size_t at = 0; at < bytes; at += SLICE) {
        memcpy((uint8_t *)to + at, from + at, bytes - at < SLICE ? bytes - at : SLICE);
        tarn_queue_yield(tank->grid.queue);
    }
}

/// Marks the occupied tiles of a state. @return whether they and what is kept in them are sound
/// @param awake  NULL: other tiles than those that particles lie in are not occupied
static bool tiles_fit(const tarn_tank *tank, const tank_state *state, const uint8_t *tiles, uint8_t *awake)
{
    const size_t values = (size_t)state->tile_count * 3 * state->kept_cells;
    uint32_t last = 0;
    for (uint32_t o = 0; o < state->tile_count; o++) {
        uint32_t dense;
        memcpy(&dense, tiles + (size_t)o * 4, sizeof dense);
        if (dense >= tank->args->grid.shape.tile_total[0] || (o > 0 && dense <= last)) {
            return false;
        }
        if (awake != NULL) {
            awake[dense] = 1;
        }
        last = dense;
    }
    return values_fit(tank, tiles + (size_t)state->tile_count * 4, values, SPEED_MAX);
}

/// Brings what is kept to the tiles, which are listed.
static tarn_status place_kept(tarn_tank *tank, const tank_state *state, const uint8_t *tiles)
{
    const size_t cells = (size_t)state->kept_cells * 4, tile_bytes = 3 * cells;
    const uint8_t *from = tiles + (size_t)state->tile_count * 4;
    kept_tiles kept;
    tarn_status status = kept_find(tank, tiles, state->tile_count, &kept);
    for (int c = 0; c < 3; c++) {
        for (uint32_t o = 0, end; o < kept.count && status == TARN_OK; o = end) {
            end = kept_end(&kept, o, 0);
            const size_t piece_bytes = (size_t)(end - o) * TILE_CELLS * 4;
            memset(kept.piece, 0, piece_bytes); // in a flat tank some of a tile's cells lie beyond it
            for (uint32_t i = o; i < end; i++) {
                memcpy(kept.piece + (size_t)(i - o) * TILE_CELLS,
                       from + kept.number[i] * tile_bytes + (size_t)c * cells, cells);
            }
            status = tarn_queue_upload(tank->grid.queue, tank->args->store.kept[c] + (size_t)kept.slot[o] * TILE_CELLS,
                                       kept.piece, piece_bytes);
            tarn_queue_yield(tank->grid.queue);
        }
    }
    kept_free(&kept);
    return status;
}

/// Puts the particles of a state into the tank.
static tarn_status place(tarn_tank *tank, const tank_state *state, const uint8_t *bytes)
{
    tank_arrays arrays;
    void *list[STATE_ARRAY_COUNT];
    const size_t each = (size_t)state->particle_count * 4;
    tarn_status status = tank_arrays_alloc(tank, state->particle_count, &arrays);
    if (status == TARN_OK) {
        list_host(&arrays, list);
        for (uint32_t i = 0; i < state->array_count; i++) {
            copy_array(tank, list[state->arrays[i]], bytes + state->particles_at + i * each, each);
        }
        const uint8_t *tiles = bytes + state->particles_at + state->array_count * each;
        const bool fits = particles_fit(tank, &arrays) && tiles_fit(tank, state, tiles, arrays.awake);
        status = fits ? tank_place(tank, &arrays, state->next_id) : TARN_E_MALFORMED;
        if (status == TARN_OK && state->tile_count > 0 && state->kept_cells > 0) {
            status = place_kept(tank, state, tiles);
        }
    }
    tank_arrays_free(&arrays);
    return status;
}

tarn_status tarn_tank_load(tarn_tank *tank, const uint8_t *bytes, size_t byte_count)
{
    tank_state state;
    memset(&state, 0, sizeof state);
    state.parameter_count = tank->model->shown.parameter_count;
    memcpy(state.parameters, tank->grid.desc.parameters, sizeof state.parameters);
    state.substeps = 1;
    state.liquid_speed_bits = tile_bits_f32(SPEED_MAX); // which can't be too few substeps
    if (tank_state_read(bytes, byte_count, &state) != TARN_OK || !state_fits(tank, &state) ||
        !bodies_fit(state.bodies, state.body_count)) {
        return TARN_E_MALFORMED;
    }
    const bool was_coloured = tank->args->store.attribute != NULL;
    bool is_coloured = false;
    for (uint32_t i = 0; i < state.array_count; i++) {
        is_coloured |= state.arrays[i] == STATE_ATTRIBUTE;
    }
    tank_set_coloured(tank, is_coloured);
    tarn_status status = place(tank, &state, bytes);
    if (status == TARN_OK) {
        apply_state(tank, &state);
        status =
            tarn_queue_upload(tank->grid.queue, tank->args->store.counters, &tank->counters, sizeof tank->counters);
    }
    if (status == TARN_OK) {
        status = grid_added_apply(&tank->grid, &state.added);
    }
    if (status == TARN_OK) {
        status = apply_bodies(tank, state.bodies);
    }
    if (status == TARN_E_MALFORMED) {
        tank_set_coloured(tank, was_coloured);
    }
    return status;
}
