// A saved state as bytes, little-endian:
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
#include "kernels/tank/byte_walk.h"
#include "kernels/tank/state.h"

#include <string.h>

enum { FORMAT = 1, MAGIC = 0x544e5254, SECTION_HEAD_BYTES = 16, FLAG_OPTIONAL = 1, SECTIONS = 10 };

// ------------------------------------------------------------------------------------------------------------ sections

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

// --------------------------------------------------------------------------------------------------------------- bytes

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
