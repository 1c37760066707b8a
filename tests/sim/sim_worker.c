// Worker processes: what they say and do over their socket, and how they end. Begin at turn.
#include "server/gateway/gateway.h"
#include "tests/sim/sim_model.h"
#include "tests/sim/sim_tank.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

enum { WORKERS_MAX = 64, TANKS_MAX = 4, TANK_PLACES = 8, OUT_BYTES = 1 << 20, FRAMES_BYTES = 65536 };

struct sim_worker {
    struct uv_process_s *process; ///< NULL: ended, as the loop knows
    uint32_t index;
    sim_socket *socket;
    bool is_alive, is_greeted, is_hung, is_wild, is_due, is_ending;
    uint64_t slow_until_ns, due_ns;
    uint64_t generation; ///< of the turn that is due
    uint64_t of_run;
    tarn_ipc_reader reader;
    sim_tank tanks[TANK_PLACES];
    uint8_t *out;
    size_t out_count;
};

static sim_worker *workers[WORKERS_MAX]; // alive ones
static uint32_t pid_last = 1 << 24;      // the system has none of these
static bool is_quiet;
static uint64_t run_now;

static void schedule(sim_worker *worker, uint64_t when_ns);

// --------------------------------------------------------------------------------------------------------- its end

static void report_end(void *of, uint64_t how)
{
    sim_worker *worker = of;
    if (worker->of_run == run_now && worker->process != NULL && sim_loop_stands_until() > sim_now()) {
        sim_at(sim_loop_stands_until(), report_end, worker, how);
        return;
    }
    if (worker->of_run == run_now && worker->process != NULL) {
        sim_loop_process_ended(worker->process, (int)(how & 0xff), (int)(how >> 8));
    }
    worker->process = NULL;
}

/// @param is_outside  somebody ends it, who is none of the gateway's: it was at work on its tanks
static void die(sim_worker *worker, int status, int number, bool is_outside)
{
    if (!worker->is_alive) {
        return;
    }
    sim_trace("worker %u ends: status %d, signal %d", worker->index, status, number);
    worker->is_alive = false;
    worker->generation++;
    sim_told->deaths++;
    if (!is_outside) {
        sim_ledger_worker_died();
    }
    for (int i = 0; i < TANK_PLACES; i++) {
        if (worker->tanks[i].id != 0 && !is_outside) {
            sim_tank_is_idle(&worker->tanks[i]);
        }
        if (worker->tanks[i].id != 0) {
            sim_ledger_tank_died(worker->tanks[i].session);
            sim_tank_free(&worker->tanks[i]);
        }
    }
    for (int i = 0; i < WORKERS_MAX; i++) {
        workers[i] = workers[i] == worker ? NULL : workers[i];
    }
    if (worker->socket != NULL) {
        worker->socket->changed = NULL;
        sim_socket_let_go(worker->socket);
        worker->socket = NULL;
    }
    free(worker->out);
    worker->out = NULL;
    sim_at(sim_now() + sim_between(10000, 2 * SIM_MS), report_end, worker, (uint64_t)(status | number << 8));
}

void sim_workers_drop(void)
{
    run_now++;
    for (int i = 0; i < WORKERS_MAX; i++) {
        if (workers[i] != NULL) {
            workers[i]->process = NULL;
            die(workers[i], 0, SIGKILL, true);
        }
    }
}

void sim_worker_signal(const struct uv_process_s *process, int number)
{
    for (int i = 0; i < WORKERS_MAX; i++) {
        if (workers[i] != NULL && workers[i]->process == process) {
            const bool is_well = workers[i]->is_greeted && !workers[i]->is_hung && !workers[i]->is_wild &&
                                 workers[i]->slow_until_ns == 0;
            SIM_CHECK(ALIVE, !is_well || !sim_loop_has_stood(200 * SIM_MS),
                      "worker %u, which answers, is killed just after the gateway stood", workers[i]->index);
            die(workers[i], 0, number, false);
            return;
        }
    }
}

// ------------------------------------------------------------------------------------------------------ what it says

static void flush(sim_worker *worker)
{
    if (worker->socket == NULL) {
        return;
    }
    sim_socket *to = worker->socket->peer;
    const size_t room = to->in_count < to->in_max ? to->in_max - to->in_count : 0;
    const size_t now = worker->out_count < room ? worker->out_count : room;
    if (now > 0 && to->references > 0) {
        sim_socket_put(to, worker->out, now);
        memmove(worker->out, worker->out + now, worker->out_count - now);
        worker->out_count -= now;
    }
}

static void put_bytes(sim_worker *worker, const void *bytes, size_t byte_count)
{
    SIM_NEED(worker->out_count + byte_count <= OUT_BYTES);
    memcpy(worker->out + worker->out_count, bytes, byte_count);
    worker->out_count += byte_count;
}

static void put(sim_worker *worker, const tarn_ipc_message *message)
{
    static uint8_t bytes[TARN_IPC_HEADER_BYTES + TARN_IPC_PAYLOAD_BYTES_MAX];
    size_t byte_count;
    SIM_NEED(tarn_ipc_write(message, bytes, sizeof bytes, &byte_count) == TARN_OK);
    put_bytes(worker, bytes, byte_count);
}

static void greet(sim_worker *worker)
{
    tarn_ipc_message message = {.kind = TARN_IPC_WORKER_HELLO};
    tarn_ipc_worker_hello *hello = &message.worker_hello;
    hello->version = TARN_IPC_VERSION;
    hello->tanks_max = TANKS_MAX;
    hello->scenes.count = SIM_SCENES;
    snprintf(hello->program, sizeof hello->program, "simulated");
    snprintf(hello->device, sizeof hello->device, "CPU");
    for (int i = 0; i < SIM_SCENES; i++) {
        snprintf(hello->scenes.names[i], sizeof hello->scenes.names[i], "%s", sim_scenes[i]);
    }
    put(worker, &message);
}

static void refuse(sim_worker *worker, uint32_t tank, uint32_t viewer_id, uint32_t sequence, tarn_error_code code,
                   const char *why)
{
    tarn_ipc_message message = {.kind = TARN_IPC_REFUSED, .tank = tank};
    message.refused.viewer_id = viewer_id;
    message.refused.sequence = sequence;
    message.refused.code = code;
    snprintf(message.refused.text, sizeof message.refused.text, "%s", why);
    put(worker, &message);
}

static void tell_state(sim_worker *worker, sim_tank *tank)
{
    tarn_ipc_message message = {.kind = TARN_IPC_STATE, .tank = tank->id};
    tarn_session_state *state = &message.state.session;
    message.state.epoch = tank->epoch;
    snprintf(state->scene, sizeof state->scene, "%.63s", tank->scene);
    state->paused = tank->paused;
    state->speed = tank->speed;
    state->cell_m = 1;
    state->dt_s = (float)(1e-9 * (double)tank->dt_ns);
    state->size_m[0] = state->size_m[1] = state->size_m[2] = 1;
    snprintf(state->model, sizeof state->model, "%s", tank->session); // so that whose it is can be seen
    put(worker, &message);
    tank->state_changed = false;
}

static void tell_report(sim_worker *worker, sim_tank *tank)
{
    tarn_ipc_message message = {.kind = TARN_IPC_REPORT, .tank = tank->id};
    message.report.step = tank->step;
    message.report.realtime_factor = 1;
    message.report.step_s = 0.001f;
    message.report.particle_count = 1000;
    put(worker, &message);
    tank->report_ns = sim_now();
}

static void tell_frame(sim_worker *worker, sim_tank *tank)
{
    static uint8_t bytes[TARN_IPC_HEADER_BYTES + SIM_TANK_FRAME_BYTES_MAX];
    tarn_ipc_message stamps = {.kind = TARN_IPC_STAMPS, .tank = tank->id};
    stamps.stamps = (tarn_ipc_stamps){sim_now(), sim_now(), sim_now()};
    put(worker, &stamps);
    const uint32_t byte_count = sim_tank_frame(tank, bytes + TARN_IPC_HEADER_BYTES);
    tarn_ipc_frame_header(tank->id, byte_count, bytes);
    put_bytes(worker, bytes, TARN_IPC_HEADER_BYTES + byte_count);
}

static void tell_pieces(sim_worker *worker, sim_tank *tank)
{
    tarn_ipc_message message = {.kind = TARN_IPC_STATE_HEAD, .tank = tank->id, .state_head = tank->head};
    if (tank->handover == SIM_HANDOVER_WAITS && !tank->head_told) {
        message.kind = TARN_IPC_MADE;
        message.save.save = tank->save;
        put(worker, &message);
        tank->head_told = true;
    }
    if (tank->handover != SIM_HANDOVER_GIVES) {
        return;
    }
    if (!tank->head_told) {
        put(worker, &message);
        tank->head_told = true;
    }
    const uint64_t all = tank->head.state_bytes + tank->head.presses_bytes;
    const uint64_t until = tank->until < all ? tank->until : all;
    while (tank->at < until) {
        uint64_t state_bytes, step;
        const uint8_t *state = tarn_black_box_state(&tank->box, &state_bytes, &step);
        const bool is_state = tank->at < state_bytes;
        const uint64_t end = is_state && state_bytes < until ? state_bytes : until, left = end - tank->at;
        message = (tarn_ipc_message){.kind = TARN_IPC_STATE_CHUNK, .tank = tank->id};
        message.state_chunk.at = tank->at;
        message.state_chunk.byte_count = (uint32_t)(left < TARN_IPC_CHUNK_BYTES_MAX ? left : TARN_IPC_CHUNK_BYTES_MAX);
        message.state_chunk.bytes = is_state ? state + tank->at : tank->presses + (tank->at - state_bytes);
        put(worker, &message);
        tank->at += message.state_chunk.byte_count;
    }
}

// ----------------------------------------------------------------------------------------------------- what it is told

static sim_tank *find(sim_worker *worker, uint32_t id)
{
    for (int i = 0; i < TANK_PLACES && id != 0; i++) {
        if (worker->tanks[i].id == id) {
            return &worker->tanks[i];
        }
    }
    return NULL;
}

static sim_tank *open_tank(sim_worker *worker, uint32_t id, uint32_t viewer_id, uint32_t sequence)
{
    uint32_t count = 0;
    sim_tank *found = NULL;
    for (int i = TANK_PLACES - 1; i >= 0; i--) {
        count += worker->tanks[i].id != 0;
        found = worker->tanks[i].id == 0 ? &worker->tanks[i] : found;
    }
    if (count >= TANKS_MAX || found == NULL) {
        refuse(worker, id, viewer_id, sequence, TARN_ERROR_SCENE, "as many tanks are here as fit");
        return NULL;
    }
    // One that has ended meanwhile is unloaded by what comes next.
    const tarn_session *session = &sim_gateway()->sessions.sessions[id & 0xff];
    found->id = id;
    snprintf(found->session, sizeof found->session, "%s", session->id == id ? session->name : "(ended)");
    found->dt_ns = 40 * SIM_MS;
    found->state_every = 25;
    return found;
}

/// @param is_next  the tank goes on from this one, whatever it has
static void take_box(sim_worker *worker, sim_tank *tank, int box, bool is_next)
{
    sim_socket *socket = worker->socket;
    if (box <= 0) {
        return;
    }
    SIM_NEED(socket->right_count > 0);
    const int fd = socket->rights[0].fd;
    memmove(socket->rights, socket->rights + 1, --socket->right_count * sizeof socket->rights[0]);
    if (tank != NULL && is_next) {
        tank->next_box_fd = fd;
    } else if (tank != NULL && tank->box_fd <= 0) {
        tank->box_fd = fd;
    } else {
        close(fd);
    }
}

static void on_load(sim_worker *worker, uint32_t id, const tarn_ipc_load *load)
{
    sim_tank *tank = find(worker, id);
    if (tank == NULL) {
        tank = open_tank(worker, id, load->viewer_id, load->sequence);
    }
    if (tank != NULL && tank->next_box_fd > 0) {
        close(tank->next_box_fd);
        tank->next_box_fd = 0;
    }
    take_box(worker, tank, load->box, load->resumes >= TARN_IPC_RESUMES_BOX);
    if (tank == NULL) {
        return;
    }
    tank->load = *load;
    tank->load_asked = true;
    tank->comes_back = load->resumes != 0;
    tank->reset_asked = tank->is_restored = false;
    tank->load_due_ns =
        sim_now() + (is_quiet || sim_chance(90) ? sim_between(SIM_MS, 20 * SIM_MS) : sim_between(0, 3 * SIM_S));
}

static void on_restore(sim_worker *worker, uint32_t id, const tarn_ipc_restore *restore)
{
    if (find(worker, id) != NULL) {
        take_box(worker, NULL, restore->box, false);
        refuse(worker, id, 0, 0, TARN_ERROR_SCENE, "the tank is here already");
        return;
    }
    sim_tank *tank = open_tank(worker, id, 0, 0);
    take_box(worker, tank, restore->box, false);
    if (tank != NULL) {
        memcpy(tank->load.scene, restore->scene, sizeof tank->load.scene);
        tank->load_asked = tank->is_restored = true;
        tank->save = restore->save;
        tank->load_due_ns = sim_now() + sim_between(SIM_MS, 50 * SIM_MS);
    }
}

static void on_input(sim_worker *worker, sim_tank *tank, const tarn_ipc_input *input)
{
    tarn_message message;
    tarn_text why;
    SIM_CHECK(ALIVE,
              tarn_message_read(input->bytes, input->byte_count, &message, &why) == TARN_OK &&
                  message.kind == TARN_MESSAGE_INPUT,
              "the gateway passes something on that is no input");
    if (sim_tank_has_seen(tank, input->viewer_id, message.input.sequence)) {
        sim_trace("worker %u has input %u of viewer %u already", worker->index, message.input.sequence,
                  input->viewer_id);
        return;
    }
    sim_trace("worker %u gets input %u of viewer %u", worker->index, message.input.sequence, input->viewer_id);
    if (!tank->is_made) {
        if (!tank->comes_back) {
            sim_ledger_excuse(tank->session);
            refuse(worker, tank->id, input->viewer_id, message.input.sequence, TARN_ERROR_INPUT,
                   "nothing is there yet");
        }
        return;
    }
    SIM_NEED(tank->pending_count < SIM_TANK_PENDING_MAX);
    const bool is_parameter = message.input.kind == TARN_INPUT_PARAMETER;
    tank->pending[tank->pending_count++] =
        (sim_pending){input->viewer_id, message.input.sequence, sim_model_mark(&message.input), is_parameter};
}

static void set_speed(sim_tank *tank, float speed)
{
    tank->speed = speed == 1 ? 0 : speed;
    tank->state_changed = true;
}

static void on_control(sim_tank *tank, const tarn_ipc_control *control)
{
    const sim_person *person = sim_ledger_person(control->viewer_id);
    SIM_CHECK(ROLE, person != NULL && person->role_most == TARN_ROLE_OWN && strcmp(person->session, tank->session) == 0,
              "viewer %u, who doesn't own %s, controls it", control->viewer_id, tank->session);
    if (sim_tank_has_seen(tank, control->viewer_id, control->sequence)) {
        return;
    }
    if (control->action == TARN_CONTROL_SPEED) {
        set_speed(tank, control->speed);
        return;
    }
    if (control->action != TARN_CONTROL_STEP) {
        tank->load.paused = control->action == TARN_CONTROL_PAUSE;
    }
    if (tank->is_made && control->action == TARN_CONTROL_STEP) {
        tank->steps_asked += tank->paused && tank->steps_asked < 8;
    } else if (tank->is_made) {
        sim_tank_pause(tank, control->action == TARN_CONTROL_PAUSE);
    }
}

static void on_reset(sim_tank *tank, const tarn_ipc_reset *reset)
{
    const sim_person *person = sim_ledger_person(reset->viewer_id);
    SIM_CHECK(ROLE, person != NULL && person->role_most == TARN_ROLE_OWN && strcmp(person->session, tank->session) == 0,
              "viewer %u, who doesn't own %s, resets it", reset->viewer_id, tank->session);
    if (!sim_tank_has_seen(tank, reset->viewer_id, reset->sequence)) {
        tank->reset = *reset;
        tank->reset_asked = true;
    }
}

static void on_present(sim_tank *tank, const tarn_ipc_present *present)
{
    for (uint32_t i = 0; i < tank->seen_count; i++) {
        bool is_there = false;
        for (uint32_t v = 0; v < present->viewer_count; v++) {
            is_there |= present->viewer_ids[v] == tank->seen[i].viewer_id;
        }
        if (!is_there) {
            sim_tank_viewer_gone(tank, tank->seen[i--].viewer_id);
        }
    }
}

static void on_audience(sim_tank *tank, const tarn_ipc_audience *audience)
{
    if (tank->viewers == 0 && audience->viewer_count > 0) {
        tank->due_ns = sim_now() + (tank->speed > 0 ? (uint64_t)((float)tank->dt_ns / tank->speed) : tank->dt_ns);
        tank->frame_wanted = tank->key_wanted = true;
    }
    tank->viewers = audience->viewer_count;
}

static void on_tank_message(sim_worker *worker, sim_tank *tank, const tarn_ipc_message *message)
{
    switch (message->kind) {
    case TARN_IPC_INPUT:
        on_input(worker, tank, &message->input);
        break;
    case TARN_IPC_CONTROL:
        on_control(tank, &message->control);
        break;
    case TARN_IPC_RESET:
        on_reset(tank, &message->reset);
        break;
    case TARN_IPC_AUDIENCE:
        on_audience(tank, &message->audience);
        break;
    case TARN_IPC_VIEWER_GONE:
        if (message->viewer_gone.sequence == 0) { // else it just holds nothing more
            sim_tank_viewer_gone(tank, message->viewer_gone.viewer_id);
        }
        break;
    case TARN_IPC_PRESENT:
        on_present(tank, &message->present);
        break;
    case TARN_IPC_KEY_WANTED:
        tank->key_wanted = tank->frame_wanted = true;
        break;
    case TARN_IPC_UNLOAD:
        sim_trace("tank %u of %s is unloaded", tank->id, tank->session);
        sim_tank_free(tank);
        break;
    case TARN_IPC_SPEED:
        set_speed(tank, message->speed.speed);
        break;
    case TARN_IPC_SAVE:
        tank->save = message->save.save;
        tank->save_asked = true;
        break;
    case TARN_IPC_STATE_WANTED:
        tank->until = message->state_wanted.until;
        break;
    case TARN_IPC_GO_ON:
        tank->save_asked = false;
        tank->handover = tank->handover == SIM_HANDOVER_GIVES ? SIM_HANDOVER_NONE : tank->handover;
        break;
    case TARN_IPC_STATE_HEAD:
    case TARN_IPC_STATE_CHUNK:
        if (message->kind == TARN_IPC_STATE_HEAD ? !sim_tank_take_head(tank, &message->state_head)
                                                 : !sim_tank_take_chunk(tank, &message->state_chunk)) {
            refuse(worker, tank->id, 0, 0, TARN_ERROR_SCENE, "the tank waits for no state");
            sim_tank_free(tank);
        }
        break;
    default:
        SIM_CHECK(ALIVE, false, "the gateway sends a worker a message of kind %d", (int)message->kind);
    }
}

static tarn_status on_message(void *user, const tarn_ipc_message *message)
{
    sim_worker *worker = user;
    sim_tank *tank = find(worker, message->tank);
    if (message->kind == TARN_IPC_PING) {
        const tarn_ipc_message pong = {.kind = TARN_IPC_PONG, .ping = message->ping};
        put(worker, &pong);
    } else if (message->kind == TARN_IPC_SHUTDOWN) {
        worker->is_ending = true;
    } else if (message->kind == TARN_IPC_LOAD) {
        on_load(worker, message->tank, &message->load);
    } else if (message->kind == TARN_IPC_RESTORE) {
        on_restore(worker, message->tank, &message->restore);
    } else if (message->kind != TARN_IPC_GATEWAY_HELLO && tank != NULL) {
        on_tank_message(worker, tank, message);
    }
    return TARN_OK;
}

// -------------------------------------------------------------------------------------------------------- what it does

static void make(sim_worker *worker, sim_tank *tank)
{
    tank->load_asked = false;
    if (strcmp(tank->load.scene, SIM_SCENE_BROKEN) == 0) {
        refuse(worker, tank->id, tank->load.viewer_id, tank->load.sequence, TARN_ERROR_SCENE, "the scene is wrong");
        sim_ledger_excuse(tank->session); // of what was on its way to a fresh start nobody knows
        if (!tank->is_made) {
            sim_tank_free(tank);
        }
        return;
    }
    (void)sim_tank_has_seen(tank, tank->load.viewer_id, tank->load.sequence);
    const bool is_first = sim_model_is_first_load(tank->session);
    sim_tank_make(tank, !is_first, is_first ? sim_model_bound_ns(tank->session) : 0);
}

static void work(sim_worker *worker, sim_tank *tank)
{
    if (tank->load_asked && sim_now() >= tank->load_due_ns) {
        make(worker, tank);
    } else if (tank->reset_asked && tank->is_made && tank->handover == SIM_HANDOVER_NONE) {
        tank->reset_asked = false;
        sim_tank_start_afresh(tank, tank->reset.epoch, tank->paused);
    } else if (tank->save_asked && tank->is_made && !tank->load_asked) {
        tank->save_asked = false;
        tank->until = 0;
        sim_tank_give(tank);
    } else if (!tank->load_asked && sim_tank_is_stepping(tank) && sim_now() >= tank->due_ns) {
        sim_tank_step(tank);
        tank->due_ns = sim_now() + tank->dt_ns;
    }
    if (tank->id == 0 || (!tank->is_made && tank->handover == SIM_HANDOVER_NONE)) {
        return;
    }
    if (tank->is_made && tank->state_changed) {
        tell_state(worker, tank);
    }
    if (tank->is_made && tank->handover == SIM_HANDOVER_NONE) {
        if (tank->frame_wanted && tank->viewers > 0 && worker->out_count < FRAMES_BYTES) {
            tell_frame(worker, tank);
        }
        if (sim_now() - tank->report_ns >= SIM_S) {
            tell_report(worker, tank);
        }
    }
    tell_pieces(worker, tank);
}

static uint64_t due_ns(const sim_tank *tank)
{
    if (tank->id == 0) {
        return UINT64_MAX;
    }
    if (tank->load_asked) {
        return tank->load_due_ns;
    }
    if (tank->is_made && (tank->reset_asked || tank->save_asked)) {
        return sim_now() + SIM_MS;
    }
    return sim_tank_is_stepping(tank) ? tank->due_ns : UINT64_MAX;
}

static void turn(void *of, uint64_t generation)
{
    sim_worker *worker = of;
    if (!worker->is_alive || worker->is_hung || worker->generation != generation) {
        return;
    }
    worker->is_due = false;
    if (!worker->is_greeted) {
        worker->is_greeted = true;
        greet(worker);
    }
    if (worker->socket != NULL) {
        while (worker->socket->in_count > 0) {
            size_t room;
            uint8_t *space = tarn_ipc_reader_space(&worker->reader, &room);
            const size_t got = sim_socket_take(worker->socket, space, room);
            SIM_CHECK(ALIVE, tarn_ipc_reader_commit(&worker->reader, got) == TARN_OK,
                      "the gateway's messages can't be read");
        }
        if (worker->socket->has_ended || worker->is_ending) {
            die(worker, 0, 0, false);
            return;
        }
    }
    uint64_t next_ns = UINT64_MAX;
    for (int i = 0; i < TANK_PLACES; i++) {
        if (worker->tanks[i].id != 0) {
            work(worker, &worker->tanks[i]);
        }
        const uint64_t due = due_ns(&worker->tanks[i]);
        next_ns = due < next_ns ? due : next_ns;
    }
    flush(worker);
    if (next_ns != UINT64_MAX) {
        schedule(worker, next_ns);
    }
}

static void schedule(sim_worker *worker, uint64_t when_ns)
{
    const uint64_t soonest_ns = sim_now() + 100000 + (worker->slow_until_ns > sim_now() ? 200 * SIM_MS : 0);
    const uint64_t due = when_ns > soonest_ns ? when_ns : soonest_ns;
    if (worker->is_due && due >= worker->due_ns) {
        return;
    }
    worker->is_due = true;
    worker->due_ns = due;
    sim_at(due, turn, worker, ++worker->generation);
}

static void on_socket(void *of)
{
    sim_worker *worker = of;
    const bool has_work = worker->out_count > 0 || worker->socket->in_count > 0 || worker->socket->has_ended;
    if (worker->is_alive && worker->is_greeted && !worker->is_hung && has_work) {
        schedule(worker, sim_now());
    }
}

int sim_worker_spawn(struct uv_process_s *process, int fd)
{
    const tarn_workers *known = &sim_gateway()->workers;
    if (!is_quiet && sim_gateway()->serving && sim_chance(3)) { // before, it ends the program
        return UV_EAGAIN;
    }
    sim_worker *made = sim_make(sizeof *made);
    for (uint32_t i = 0; i < TARN_GATEWAY_WORKERS_MAX; i++) {
        made->index = &known->workers[i].process == process ? i : made->index;
    }
    if (known->workers[made->index].was_given_up) {
        sim_ledger_excuse(NULL); // it had been given up, and is tried once more
    }
    made->process = process;
    made->of_run = run_now;
    made->is_alive = true;
    made->out = malloc(OUT_BYTES);
    made->socket = sim_socket_of(fd);
    SIM_NEED(made->out != NULL && made->socket != NULL);
    made->socket->references++;
    made->socket->changed = on_socket;
    made->socket->changed_of = made;
    const tarn_ipc_sink sink = {made, on_message, NULL, NULL};
    tarn_ipc_reader_init(&made->reader, &sink);
    ((uv_process_t *)process)->pid = (int)++pid_last;
    int place = 0;
    while (workers[place] != NULL) {
        place++;
    }
    SIM_NEED(place < WORKERS_MAX);
    workers[place] = made;
    sim_trace("worker %u starts", made->index);
    schedule(made, sim_now() +
                       (is_quiet || sim_chance(95) ? sim_between(2 * SIM_MS, 60 * SIM_MS) : sim_between(0, 4 * SIM_S)));
    return 0;
}

// ------------------------------------------------------------------------------------------------------ what befalls
// it

uint32_t sim_workers_count(void)
{
    return sim_gateway() != NULL ? sim_gateway()->workers.count : 0;
}

void sim_workers_quiet(void)
{
    is_quiet = true;
    for (int i = 0; i < WORKERS_MAX; i++) {
        if (workers[i] != NULL && (workers[i]->is_hung || !workers[i]->is_greeted)) {
            die(workers[i], 0, SIGKILL, true); // amid a load that would take a minute
        }
    }
}

void sim_worker_do(uint32_t index, sim_worker_fault fault)
{
    sim_worker *worker = NULL;
    for (int i = 0; i < WORKERS_MAX; i++) {
        worker = workers[i] != NULL && workers[i]->index == index ? workers[i] : worker;
    }
    if (worker == NULL) {
        return;
    }
    sim_trace("worker %u: fault %d", index, (int)fault);
    uint8_t garbage[40];
    switch (fault) {
    case SIM_WORKER_KILL:
        die(worker, 0, SIGKILL, true);
        break;
    case SIM_WORKER_HANG:
        worker->is_hung = true;
        break;
    case SIM_WORKER_SLOW:
        worker->slow_until_ns = sim_now() + sim_between(0, 5 * SIM_S);
        break;
    case SIM_WORKER_GARBAGE:
        worker->is_wild = true;
        for (size_t i = 0; i < sizeof garbage; i++) {
            garbage[i] = (uint8_t)sim_random();
        }
        put_bytes(worker, garbage, sizeof garbage);
        flush(worker);
        break;
    case SIM_WORKER_FAULT: {
        tarn_ipc_message message = {.kind = TARN_IPC_FAULT};
        snprintf(message.fault.text, sizeof message.fault.text, "a kernel failed");
        put(worker, &message);
        flush(worker);
        die(worker, 1, 0, false);
        break;
    }
    case SIM_WORKER_CLOSE:
        worker->is_hung = true;
        if (worker->socket != NULL) {
            worker->socket->changed = NULL;
            sim_socket_let_go(worker->socket);
            worker->socket = NULL;
        }
        break;
    case SIM_WORKER_FAULT_COUNT:
        break;
    }
}
