// Records of the log are lists of inputs, in what the real tank keeps presses in. Begin at sim_tank_step.
#include "tests/sim/sim_tank.h"
#include "protocol/stream.h"
#include "server/gateway/gateway.h"
#include "server/log/black_box.h"
#include "server/scene/archive.h"
#include "tests/sim/sim_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// A saved state; bytes behind it are padding.
typedef struct saved_state {
    uint64_t step, hash;
    uint32_t life, is_paused, padding, nothing;
} saved_state;

/// In front of inputs that a step took, then what was seen, then what waits.
typedef struct record_head {
    uint32_t taken, seen, pending, is_paused, life, holds;
} record_head;

/// At the end of the first layer of a frame.
typedef struct frame_tag {
    uint32_t life, epoch, number, nothing;
    uint64_t step, hash, content;
} frame_tag;

static int find_seen(const sim_tank *tank, uint32_t viewer_id)
{
    for (uint32_t i = 0; i < tank->seen_count; i++) {
        if (tank->seen[i].viewer_id == viewer_id) {
            return (int)i;
        }
    }
    return -1;
}

bool sim_tank_has_seen(sim_tank *tank, uint32_t viewer_id, uint32_t sequence)
{
    const int at = find_seen(tank, viewer_id);
    if (viewer_id == 0) {
        return false;
    }
    if (at >= 0 && tank->seen[at].sequence >= sequence) {
        return true;
    }
    if (at >= 0) {
        tank->seen[at].sequence = sequence;
    } else {
        SIM_NEED(tank->seen_count < SIM_TANK_SEEN_MAX);
        tank->seen[tank->seen_count++] = (sim_note){viewer_id, sequence};
    }
    return false;
}

void sim_tank_viewer_gone(sim_tank *tank, uint32_t viewer_id)
{
    const int at = find_seen(tank, viewer_id);
    if (at >= 0) {
        tank->seen[at] = tank->seen[--tank->seen_count];
    }
}

// ------------------------------------------------------------------------------------------------------------- records

static uint32_t write_record(const sim_tank *tank, bool holds, bool takes, uint8_t *bytes)
{
    const record_head head = {takes ? tank->pending_count : 0,
                              tank->seen_count,
                              takes ? 0 : tank->pending_count,
                              tank->paused,
                              tank->life->id,
                              holds};
    uint8_t *at = bytes;
    memcpy(at, &head, sizeof head);
    at += sizeof head;
    memcpy(at, tank->pending, head.taken * sizeof tank->pending[0]);
    at += head.taken * sizeof tank->pending[0];
    memcpy(at, tank->seen, head.seen * sizeof tank->seen[0]);
    at += head.seen * sizeof tank->seen[0];
    memcpy(at, tank->pending, head.pending * sizeof tank->pending[0]);
    at += head.pending * sizeof tank->pending[0];
    SIM_NEED(at - bytes <= TARN_IPC_PRESSES_BYTES_MAX);
    return (uint32_t)(at - bytes);
}

/// What was seen and waits, as a record has it.
static void read_record(sim_tank *tank, const uint8_t *bytes)
{
    record_head head;
    memcpy(&head, bytes, sizeof head);
    const uint8_t *at = bytes + sizeof head + head.taken * sizeof tank->pending[0];
    tank->seen_count = head.seen;
    memcpy(tank->seen, at, head.seen * sizeof tank->seen[0]);
    at += head.seen * sizeof tank->seen[0];
    tank->pending_count = head.pending;
    memcpy(tank->pending, at, head.pending * sizeof tank->pending[0]);
}

static uint64_t hash_of(uint64_t hash, const uint8_t *taken, uint32_t count)
{
    hash = sim_hash(hash, "step", 4);
    for (uint32_t i = 0; i < count; i++) {
        sim_pending input;
        memcpy(&input, taken + i * sizeof input, sizeof input);
        const uint32_t words[] = {input.viewer_id, input.sequence, input.mark};
        hash = sim_hash(hash, words, sizeof words);
    }
    return hash;
}

/// What a step comes to, in its input: of the past that is all there is.
typedef struct step_told {
    uint64_t hash;
    uint32_t life;
    bool holds, is_paused;
} step_told;

enum { TOLD_PARTS = 6, PART_BITS = 16 };

static void write_told(const step_told *told, tarn_step_input *input)
{
    input->holds = told->holds;
    input->pause = told->is_paused ? TARN_STEP_PAUSE_BEGINS : TARN_STEP_PAUSE_ENDS;
    input->parameter_count = TOLD_PARTS;
    for (uint32_t i = 0; i < TOLD_PARTS; i++) {
        const uint64_t part = i < 4 ? told->hash >> i * PART_BITS : told->life >> (i - 4) * PART_BITS;
        input->parameters[i] = (tarn_parameter_change){i, (float)(part & 0xffff)};
    }
}

static step_told read_told(const tarn_black_box_record *record)
{
    static tarn_step_input input;
    step_told told = {0};
    SIM_CHECK(RESTORED,
              tarn_step_input_read(record->input, record->input_bytes, &input) == TARN_OK &&
                  input.parameter_count == TOLD_PARTS,
              "a step of the log isn't as it was written");
    told.holds = input.holds;
    told.is_paused = input.pause == TARN_STEP_PAUSE_BEGINS;
    for (uint32_t i = 0; i < TOLD_PARTS; i++) {
        const uint64_t part = (uint64_t)input.parameters[i].value;
        told.hash |= i < 4 ? part << i * PART_BITS : 0;
        told.life |= i < 4 ? 0 : (uint32_t)part << (i - 4) * PART_BITS;
    }
    return told;
}

static void log_record(sim_tank *tank, bool holds, bool takes)
{
    static uint8_t bytes[TARN_IPC_PRESSES_BYTES_MAX];
    static tarn_step_input input;
    const uint64_t hash = takes ? hash_of(tank->hash, (const uint8_t *)tank->pending, tank->pending_count) : tank->hash;
    write_told(&(step_told){hash, tank->life->id, holds, tank->paused}, &input);
    SIM_NEED(tarn_black_box_has_room(&tank->box));
    tarn_black_box_log(&tank->box, &input, bytes, write_record(tank, holds, takes, bytes));
}

static void log_presses(sim_tank *tank)
{
    static uint8_t bytes[TARN_IPC_PRESSES_BYTES_MAX];
    tarn_black_box_log_presses(&tank->box, bytes, write_record(tank, true, false, bytes));
}

static void keep(sim_tank *tank, bool is_anew)
{
    const saved_state state = {tank->step, tank->hash, tank->life->id, tank->paused, sim_below(1500), 0};
    uint8_t *space = tarn_black_box_space(&tank->box);
    memcpy(space, &state, sizeof state);
    memset(space + sizeof state, (int)state.padding, state.padding);
    tarn_black_box_keep(&tank->box, sizeof state + state.padding, tank->step, is_anew);
    tank->kept_step = tank->step;
}

// -------------------------------------------------------------------------------------------------------------- making

/// The scene goes along with what is kept of the tank.
static void keep_scene(sim_tank *tank)
{
    tarn_scene_pack pack = {0};
    char name[TARN_SCENE_PACK_NAME_BYTES_MAX + 1], text[64];
    snprintf(name, sizeof name, "%.63s.json", tank->scene);
    snprintf(text, sizeof text, "{\"life\": %u}", tank->life->id);
    SIM_NEED(tarn_scene_pack_add(&pack, name, text, strlen(text)) == TARN_OK);
    tarn_black_box_put_scene(&tank->box, tank->box_fd, &pack);
    tarn_scene_pack_free(&pack);
}

/// Whether the box has the scene, of this name.
static bool has_scene(const sim_tank *tank)
{
    tarn_scene_pack pack = {0};
    const bool has = tarn_black_box_scene(tank->box_fd, tank->scene, &pack);
    tarn_scene_pack_free(&pack);
    return has;
}

static void begin(sim_tank *tank)
{
    tarn_black_box_set_epoch(&tank->box, tank->epoch);
    tank->is_made = true;
    tarn_black_box_set_busy(&tank->box, true); // all the while: whatever ends the worker finds it at work
    tank->comes_back = false;
    tank->state_changed = tank->frame_wanted = tank->key_wanted = true;
    tank->due_ns = sim_now() + tank->dt_ns;
    tank->latched_count = 0;
    tank->steps_asked = 0;
}

void sim_tank_start_afresh(sim_tank *tank, uint32_t epoch, bool is_paused)
{
    tank->life = sim_ledger_begin(tank->session);
    sim_model_anew(tank->session);
    tank->epoch = epoch > tank->epoch ? epoch : tank->epoch + 1;
    tank->step = 0;
    tank->hash = tank->life->hashes[0];
    tank->paused = is_paused;
    tank->pending_count = 0;
    keep_scene(tank);
    keep(tank, true);
    begin(tank);
    log_presses(tank);
    sim_trace("tank %u of %s starts afresh, life %u, epoch %u", tank->id, tank->session, tank->life->id, tank->epoch);
}

/// Replays what is in the box. Of the past nobody knows who did what. @return false: nothing is
static bool replay(sim_tank *tank)
{
    tarn_black_box_rest rest;
    saved_state state;
    tarn_black_box_record record;
    size_t at = 0;
    uint32_t presses_bytes;
    const bool is_found = tarn_black_box_find(&tank->box, tank->load.scene, &rest);
    SIM_CHECK(RESTORED, !rest.is_log_left_out, "the tank of %s is blamed for what ended its workers", tank->session);
    if (!is_found) {
        return false;
    }
    tarn_black_box_settle(&tank->box, &rest);
    memcpy(&state, rest.state, sizeof state);
    tank->life = sim_ledger_life(state.life);
    tank->step = tank->kept_step = state.step;
    tank->hash = state.hash;
    tank->paused = state.is_paused != 0;
    const uint32_t half = atomic_load(&tank->box.head->counts) & 1;
    const uint8_t *log = (const uint8_t *)tank->box.head + tarn_black_box_log_at(half);
    while (
        tarn_black_box_record_next(log, (size_t)atomic_load(&tank->box.head->halves[half].log_bytes), &at, &record)) {
        if (record.input_bytes == 0) {
            continue;
        }
        const step_told told = read_told(&record);
        SIM_CHECK(RESTORED, told.life == state.life, "the log behind a state of life %u is of life %u", state.life,
                  told.life);
        tank->paused = told.is_paused;
        if (told.holds) {
            continue;
        }
        if (record.presses_bytes > 0) {
            record_head head;
            memcpy(&head, record.presses, sizeof head);
            tank->hash = hash_of(tank->hash, record.presses + sizeof head, head.taken);
            SIM_CHECK(RESTORED, tank->hash == told.hash, "a step of life %u comes to something else", state.life);
        }
        tank->hash = told.hash;
        tank->step++;
    }
    const uint8_t *presses = tarn_black_box_presses(&tank->box, &presses_bytes);
    tank->pending_count = 0;
    if (presses_bytes > 0) {
        read_record(tank, presses);
    }
    tank->epoch = rest.epoch;
    tank->number = rest.number;
    return true;
}

/// Goes on from what is in the box. @return false: nothing is
static bool resume(sim_tank *tank, bool is_whole, uint64_t bound_ns)
{
    tank->seen_count = 0;
    if (!replay(tank)) {
        return false;
    }
    sim_trace("tank %u of %s goes on: life %u, epoch %u, step %llu", tank->id, tank->session,
              tank->life != NULL ? tank->life->id : 0, tank->epoch, (unsigned long long)tank->step);
    sim_ledger_go_on(tank->life, tank->session, tank->step, tank->hash, is_whole, bound_ns);
    begin(tank);
    return true;
}

/// Goes on from what was once in another box, its own session's or another one's. @return false: it is none of these
static bool branch(sim_tank *tank)
{
    const char *other = sim_model_forked_from(tank->session);
    const bool was_made = tank->is_made;
    const bool goes_back = tank->load.resumes == TARN_IPC_GOES_BACK;
    if (!goes_back && other == NULL && sim_model_find(tank->session) != NULL) {
        return false;
    }
    SIM_CHECK(RESTORED, replay(tank), "there is nothing in the box that %s goes on from", tank->session);
    if (!goes_back && tank->life != NULL && strcmp(tank->life->session, tank->session) == 0) {
        return false; // it had begun already
    }
    const sim_life *before = tank->life;
    const char *expected = goes_back ? tank->session : other;
    if (expected == NULL && before != NULL) { // whoever asked for it hasn't got the answer
        expected = before->session;
    }
    tank->life = sim_ledger_branch(before, expected, tank->session, tank->step, tank->hash);
    sim_model_branched(tank->session);
    tank->seen_count = was_made ? tank->seen_count : 0;
    sim_trace("tank %u of %s is life %u from step %llu of life %u on, epoch %u", tank->id, tank->session,
              tank->life->id, (unsigned long long)tank->step, before != NULL ? before->id : 0, tank->epoch);
    begin(tank);
    keep_scene(tank);
    keep(tank, true);
    log_presses(tank);
    if (goes_back && tank->paused != (tank->load.paused != 0)) {
        sim_tank_pause(tank, tank->load.paused != 0);
    }
    return true;
}

void sim_tank_make(sim_tank *tank, bool is_whole, uint64_t bound_ns)
{
    tarn_black_box_close(&tank->box);
    const bool is_filled = tank->load.resumes >= TARN_IPC_RESUMES_BOX && tank->next_box_fd > 0;
    if (is_filled) {
        if (tank->box_fd > 0) {
            close(tank->box_fd);
        }
        tank->box_fd = tank->next_box_fd;
        tank->next_box_fd = 0;
    }
    if (tank->box_fd <= 0) {
        tank->box_fd = tarn_black_box_make();
    }
    SIM_NEED(tarn_black_box_open(&tank->box, tank->box_fd, SIM_TANK_STATE_BYTES_MAX) == TARN_OK);
    tarn_black_box_set_pace(&tank->box, (uint32_t)tank->dt_ns, (uint32_t)SIM_MS);
    memcpy(tank->scene, tank->load.scene, sizeof tank->scene);
    if (tank->is_restored) {
        tarn_black_box_begin(&tank->box, tank->scene);
        tank->handover = SIM_HANDOVER_WAITS;
        tank->head_told = false;
        return;
    }
    tank->handover = SIM_HANDOVER_NONE;
    if (is_filled && branch(tank)) {
        return;
    }
    if (tank->load.resumes != 0 && resume(tank, is_whole, bound_ns)) {
        if (is_filled || !has_scene(tank)) { // what led to it was made elsewhere
            keep_scene(tank);
            keep(tank, true);
        }
        return;
    }
    if (tank->load.resumes != 0 && bound_ns > 0) {
        SIM_CHECK(DURABLE, false, "what was kept of %s is of no use", tank->session);
    }
    tarn_black_box_begin(&tank->box, tank->scene);
    if (tank->load.resumes != 0) {
        tank->seen_count = 0;
    }
    sim_tank_start_afresh(tank, tank->load.epoch, tank->load.paused != 0);
}

void sim_tank_is_idle(sim_tank *tank)
{
    if (tank->box.head != NULL) {
        tarn_black_box_set_busy(&tank->box, false);
    }
}

void sim_tank_free(sim_tank *tank)
{
    tarn_black_box_close(&tank->box);
    if (tank->box_fd > 0) {
        close(tank->box_fd);
    }
    if (tank->next_box_fd > 0) {
        close(tank->next_box_fd);
    }
    free(tank->presses);
    memset(tank, 0, sizeof *tank);
}

// ------------------------------------------------------------------------------------------------------------ stepping

bool sim_tank_is_stepping(const sim_tank *tank)
{
    return tank->is_made && tank->handover == SIM_HANDOVER_NONE &&
           (tank->paused ? tank->steps_asked > 0 : tank->viewers > 0);
}

void sim_tank_pause(sim_tank *tank, bool is_paused)
{
    tank->paused = is_paused;
    tank->steps_asked = 0;
    tank->state_changed = tank->frame_wanted = true;
    log_record(tank, true, false);
    tank->due_ns = sim_now() + tank->dt_ns;
}

void sim_tank_step(sim_tank *tank)
{
    if (tank->step - tank->kept_step >= tank->state_every) {
        keep(tank, false);
    }
    log_record(tank, false, true);
    const uint64_t hash = hash_of(tank->hash, (const uint8_t *)tank->pending, tank->pending_count);
    for (uint32_t i = 0; i < tank->pending_count; i++) {
        const sim_pending *input = &tank->pending[i];
        (void)sim_ledger_take(tank->life, input->viewer_id, input->sequence, input->mark, input->is_parameter != 0, 0);
    }
    tank->pending_count = 0;
    tank->steps_asked -= tank->steps_asked > 0;
    tank->hash = hash;
    sim_ledger_step(tank->life, ++tank->step, hash);
    sim_model_stepped(tank->session);
    tank->latched_count = tank->seen_count;
    memcpy(tank->latched, tank->seen, tank->seen_count * sizeof tank->seen[0]);
    tank->frame_wanted = true;
}

// -------------------------------------------------------------------------------------------------------------- frames

static sim_frame made[1 << 14]; // of all tanks, the newest ones

static uint32_t made_count;

uint32_t sim_tank_frame(sim_tank *tank, uint8_t bytes[SIM_TANK_FRAME_BYTES_MAX])
{
    enum { FLOW_BYTES = 16 };
    const bool is_key = tank->key_wanted || tank->since_key >= 60 || tank->number == 0;
    const tarn_stream_kind kind = is_key                     ? TARN_STREAM_KEY
                                  : tank->since_key % 2 == 1 ? TARN_STREAM_EXTRA
                                                             : TARN_STREAM_BASE;
    const uint32_t content = sizeof(frame_tag) + sim_below(is_key ? 4000 : 600);
    tarn_frame_input inputs[TARN_FRAME_INPUTS_MAX];
    tarn_stream_head head = {.kind = (uint8_t)kind,
                             .layer_count = 2,
                             .epoch = tank->epoch,
                             .step = tank->step,
                             .number = ++tank->number,
                             .server_time_us = sim_now() / 1000,
                             .realtime_factor = 1,
                             .cells = {1, 1, 1},
                             .cell_m = 1,
                             .orientation = {0, 0, 0, 1},
                             .flow_tiles = 1,
                             .flow_tiles_max = 1,
                             .flow_bytes = FLOW_BYTES,
                             .flags = tank->paused ? TARN_FRAME_FLAG_PAUSED : 0};
    head.reference = is_key ? head.number : tank->reference;
    for (uint32_t i = 0; i < tank->latched_count && head.input_count < TARN_FRAME_INPUTS_MAX; i++) {
        inputs[head.input_count++] = (tarn_frame_input){tank->latched[i].viewer_id, tank->latched[i].sequence};
    }
    for (int l = 0; l < 2; l++) {
        head.layers[l] = (tarn_stream_layer){.bytes = content, .slots = 1, .particles = 1, .slots_max = 1};
    }
    const size_t head_bytes = tarn_stream_head_bytes(&head);
    head.frame_bytes = (uint32_t)head_bytes + FLOW_BYTES + 2 * content;
    SIM_NEED(tarn_stream_write_head(&head, inputs, bytes, SIM_TANK_FRAME_BYTES_MAX) == TARN_OK);
    memset(bytes + head_bytes, (int)head.number, FLOW_BYTES + 2 * (size_t)content);
    const frame_tag tag = {tank->life->id, head.epoch, head.number, 0, tank->step, tank->hash, content};
    memcpy(bytes + head_bytes + FLOW_BYTES, &tag, sizeof tag);
    if (kind != TARN_STREAM_EXTRA) {
        tank->reference = head.number;
    }
    tank->since_key = is_key ? 1 : tank->since_key + 1;
    tank->key_wanted = tank->frame_wanted = false;
    tarn_black_box_set_number(&tank->box, tank->number);
    tarn_black_box_passed(&tank->box);
    made[made_count++ % (sizeof made / sizeof made[0])] = (sim_frame){
        tank->life->id, head.epoch, head.number, head.frame_bytes, sim_hash(0, bytes, head.frame_bytes - content)};
    sim_told->frames++;
    return head.frame_bytes;
}

const sim_frame *sim_tank_frame_made(const uint8_t *bytes, size_t byte_count, const char **session, bool *is_intact)
{
    tarn_stream_frame opened;
    frame_tag tag;
    if (tarn_stream_open(bytes, byte_count, &opened) != TARN_OK || opened.layers_present == 0) {
        return NULL;
    }
    memcpy(&tag, opened.layers[0], sizeof tag);
    const sim_life *life = sim_ledger_life(tag.life);
    if (life == NULL) {
        return NULL;
    }
    *session = life->session;
    // A viewer of a gateway that is gone may still be given what its socket held, when a tank of the same life, which
    // came out of its file, has made frames of the same numbers.
    const sim_frame *found = NULL;
    *is_intact = false;
    for (uint32_t i = 1; i <= sizeof made / sizeof made[0] && i <= made_count && !*is_intact; i++) {
        const sim_frame *at = &made[(made_count - i) % (sizeof made / sizeof made[0])];
        if (at->life == tag.life && at->epoch == opened.head.epoch && at->number == opened.head.number) {
            const size_t first = at->byte_count - (size_t)tag.content;
            *is_intact = byte_count >= first && byte_count <= at->byte_count && tag.step == opened.head.step &&
                         sim_hash(0, bytes, first) == at->hash;
            found = at;
        }
    }
    return found;
}

// ------------------------------------------------------------------------------------------------ to another worker

void sim_tank_give(sim_tank *tank)
{
    uint64_t step;
    keep(tank, false);
    tank->handover = SIM_HANDOVER_GIVES;
    tank->head_told = false;
    tank->head =
        (tarn_ipc_state_head){.save = tank->save, .epoch = tank->epoch, .step = tank->step, .number = tank->number};
    (void)tarn_black_box_state(&tank->box, &tank->head.state_bytes, &step);
    free(tank->presses);
    tank->presses = sim_make(TARN_IPC_PRESSES_BYTES_MAX);
    tank->head.presses_bytes = write_record(tank, true, false, tank->presses);
    tank->at = tank->until = 0;
}

bool sim_tank_take_head(sim_tank *tank, const tarn_ipc_state_head *head)
{
    if (tank->handover != SIM_HANDOVER_WAITS || head->save != tank->save) {
        return false;
    }
    tank->handover = SIM_HANDOVER_GETS;
    tank->head = *head;
    tank->at = 0;
    free(tank->presses);
    tank->presses = sim_make(head->presses_bytes + 1);
    return true;
}

/// Whether the gateway still waits for it. One that has given the move up says so behind what was on its way.
static bool is_awaited(const sim_tank *tank)
{
    const tarn_move *move = &sim_gateway()->move;
    return move->phase == TARN_MOVE_PASSES && move->id == tank->id && move->save == tank->save;
}

static void load_state(sim_tank *tank)
{
    saved_state state;
    memcpy(&state, tarn_black_box_space(&tank->box), sizeof state);
    tank->life = sim_ledger_life(state.life);
    tank->step = state.step;
    tank->hash = state.hash;
    tank->paused = state.is_paused != 0;
    tank->number = tank->head.number;
    tank->epoch = tank->head.epoch;
    read_record(tank, tank->presses);
    tarn_black_box_keep(&tank->box, tank->head.state_bytes, tank->step, true);
    tank->kept_step = tank->step;
    tarn_black_box_set_number(&tank->box, tank->number);
    sim_trace("tank %u of %s goes on elsewhere: life %u, step %llu%s", tank->id, tank->session, state.life,
              (unsigned long long)tank->step, is_awaited(tank) ? "" : "; nobody waits for it");
    if (is_awaited(tank)) {
        sim_ledger_go_on(tank->life, tank->session, tank->step, tank->hash, true, 0);
        sim_model_anew(tank->session);
    }
    tank->handover = SIM_HANDOVER_NONE;
    tank->is_restored = false;
    begin(tank);
    log_presses(tank);
}

bool sim_tank_take_chunk(sim_tank *tank, const tarn_ipc_state_chunk *chunk)
{
    const bool is_state = tank->at < tank->head.state_bytes;
    const uint64_t end = is_state ? tank->head.state_bytes : tank->head.state_bytes + tank->head.presses_bytes;
    if (tank->handover != SIM_HANDOVER_GETS || chunk->at != tank->at || chunk->byte_count > end - tank->at) {
        return false;
    }
    uint8_t *to =
        is_state ? tarn_black_box_space(&tank->box) + tank->at : tank->presses + (tank->at - tank->head.state_bytes);
    memcpy(to, chunk->bytes, chunk->byte_count);
    tank->at += chunk->byte_count;
    if (tank->at == tank->head.state_bytes + tank->head.presses_bytes) {
        load_state(tank);
    }
    return true;
}
