// What messages do to a tank, and what its jobs do: it is made, set back to its start, stepped and shown.
#include "server/worker/worker_tank.h"
#include "server/common/clock.h"
#include "server/common/log.h"
#include "server/worker/input_solids.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tarn_status scene_read(const char *scenes_dir, const char *scene, tarn_scene *read, tarn_text why)
{
    char path[4096];
    tarn_status status = tarn_scene_resolve(scene, scenes_dir, path, sizeof path, why, sizeof(tarn_text));
    return status == TARN_OK ? tarn_scene_read_file(path, read, why, sizeof(tarn_text)) : status;
}

/// Takes which bodies there are: the scene's, and what was thrown in.
static void list_bodies(tarn_worker_tank *tank)
{
    tarn_body_state bodies[TARN_TANK_BODIES_MAX];
    tarn_added_solid added[TARN_TANK_ADDED_MAX];
    const uint32_t body_count = tarn_tank_bodies(tank->tank, bodies), count = tarn_tank_added(tank->tank, added);
    tarn_body_map_init(&tank->bodies, &tank->scene.tank);
    tarn_body_map_add(&tank->bodies, &tank->scene.tank, bodies, body_count, added, count);
    tarn_body_map_update(&tank->bodies, bodies, body_count);
}

/// Takes what viewers' inputs meet until the next job ends: where up is, the bodies, which tiles hold liquid.
static tarn_status look(tarn_worker_tank *tank)
{
    tarn_pose pose;
    tarn_body_state bodies[TARN_TANK_BODIES_MAX];
    tarn_tank_pose(tank->tank, &pose);
    tarn_input_state_turn(&tank->inputs, pose.rotation);
    if (tank->bodies.count > 0) {
        tarn_body_map_update(&tank->bodies, bodies, tarn_tank_bodies(tank->tank, bodies));
    }
    tank->added_count = tarn_tank_added(tank->tank, tank->added);
    return tarn_tank_tiles(tank->tank, tank->map.bits, tank->map.bits_bytes);
}

/// What every fresh start has in common: no presses, step 0, a frame at once.
static void begin(tarn_worker_tank *tank, uint32_t epoch, uint64_t now_ns)
{
    // A tank that was set back has gone on to an epoch that the gateway didn't know when it chose this one.
    tank->epoch = epoch > tank->epoch ? epoch : tank->epoch + 1;
    tank->step = 0;
    tank->steps_asked = 0;
    tank->state_changed = 1;
    tank->frame_wanted = 1;
    tank->frame_due_ns = now_ns;
    tarn_frame_plan_start(&tank->plan, tank->frame_period_ns);
    tank->too_large_told = 0;
    tank->turned_by_hand = 0;
    tank->added_changed = 0;
    list_bodies(tank);
    tarn_input_state_release(&tank->inputs);
    tarn_input_state_latch_notes(&tank->inputs);
    tarn_pace_start(&tank->pace, tank->scene.tank.dt_s, now_ns);
}

tarn_status tarn_worker_tank_load(tarn_worker_tank *tank, tarn_device *device, const char *scenes_dir,
                                  const tarn_worker_options *options, const tarn_ipc_load *load, tarn_text why)
{
    tarn_tank *made = NULL;
    tarn_tile_map map = {0};
    tarn_snapshot snapshot = {0};
    tarn_encoder *encoder = NULL;
    tarn_encoder_desc encoder_desc;
    tarn_scene *scene = calloc(1, sizeof *scene);
    snprintf(why, sizeof(tarn_text), "out of memory");
    tarn_status status = scene ? scene_read(scenes_dir, load->scene, scene, why) : TARN_E_MEMORY;
    if (status != TARN_OK) {
        goto fail;
    }
    char found[TARN_SCENE_WHY_BYTES] = "";
    status = tarn_tank_create(device, &scene->tank, &made, found, sizeof found);
    if (status != TARN_OK) {
        snprintf(why, sizeof(tarn_text), "scene \"%s\": %.400s", scene->name,
                 found[0] ? found : tarn_status_text(status));
        goto fail;
    }
    status = tarn_tile_map_init(&map, scene->tank.cells, scene->tank.cell_m);
    if (status == TARN_OK) {
        status = tarn_snapshot_init(&snapshot, made, scene->tank.dt_s);
    }
    tarn_encoder_desc_default(&encoder_desc);
    if (status == TARN_OK) {
        status = tarn_encoder_create(made, &encoder_desc, &encoder);
    }
    if (status != TARN_OK) {
        goto fail;
    }

    tarn_encoder_destroy(tank->encoder);
    tarn_tank_destroy(tank->tank);
    tarn_tile_map_free(&tank->map);
    tarn_scene_free(&tank->scene);
    tarn_snapshot_free(&tank->snapshot);
    tank->tank = made;
    tank->encoder = encoder;
    tank->map = map;
    tank->snapshot = snapshot;
    tank->scene = *scene;
    tank->paused = load->paused;
    tank->pause_asked = TARN_PAUSE_KEEPS;
    tank->parameters_asked = 0;
    tank->frame_period_ns = 1000000000u / options->fps;
    tarn_input_state_note(&tank->inputs, load->viewer_id, load->sequence);
    begin(tank, load->epoch, tarn_clock_monotonic_ns());
    free(scene);
    return look(tank);
fail:
    tarn_snapshot_free(&snapshot);
    tarn_tank_destroy(made);
    tarn_scene_free(scene);
    tarn_tile_map_free(&map);
    free(scene);
    return status;
}

void tarn_worker_tank_free(tarn_worker_tank *tank)
{
    tarn_encoder_destroy(tank->encoder);
    tarn_tank_destroy(tank->tank);
    tarn_tile_map_free(&tank->map);
    tarn_scene_free(&tank->scene);
    tarn_snapshot_free(&tank->snapshot);
    memset(tank, 0, sizeof *tank);
}

tarn_status tarn_worker_tank_reset(tarn_worker_tank *tank, const tarn_ipc_reset *reset)
{
    tarn_status status = tarn_tank_reset(tank->tank);
    if (status != TARN_OK) {
        return status;
    }
    tarn_input_state_note(&tank->inputs, reset->viewer_id, reset->sequence);
    tarn_snapshot_forget(&tank->snapshot);
    begin(tank, reset->epoch, tarn_clock_monotonic_ns());
    return look(tank);
}

void tarn_worker_tank_control(tarn_worker_tank *tank, const tarn_ipc_control *control)
{
    tarn_input_state_note(&tank->inputs, control->viewer_id, control->sequence);
    if (control->action == TARN_CONTROL_STEP) {
        const bool is_paused =
            tank->pause_asked == TARN_PAUSE_KEEPS ? tank->paused : tank->pause_asked == TARN_PAUSE_BEGINS;
        if (is_paused && tank->steps_asked < TARN_WORKER_STEPS_QUEUED_MAX) {
            tank->steps_asked++;
        }
        return; // the step that it asks for contains it
    }
    tank->pause_asked = control->action == TARN_CONTROL_PAUSE ? TARN_PAUSE_BEGINS : TARN_PAUSE_ENDS;
    tank->steps_asked = 0;
}

/// Lets parameters that were asked for come to pass.
static void set_parameters(tarn_worker_tank *tank)
{
    for (int id = 0; id < TARN_PARAMETER_COUNT; id++) {
        if (tank->parameters_asked >> id & 1) {
            (void)tarn_tank_set_parameter(tank->tank, (tarn_parameter)id, tank->parameters[id]); // it is in its range
        }
    }
    tank->state_changed |= tank->parameters_asked != 0;
    tank->parameters_asked = 0;
}

void tarn_worker_tank_settle(tarn_worker_tank *tank, uint64_t now_ns)
{
    if (tank->parameters_asked) {
        set_parameters(tank);
    }
    if (tank->pause_asked == TARN_PAUSE_KEEPS) {
        return;
    }
    const int was_paused = tank->paused;
    tarn_input_state_latch_notes(&tank->inputs);
    tank->paused = tank->pause_asked == TARN_PAUSE_BEGINS;
    tank->pause_asked = TARN_PAUSE_KEEPS;
    tank->state_changed = 1;
    tank->frame_wanted = 1;
    if (tank->paused && !was_paused) {
        tarn_frame_plan_ask(&tank->plan); // whoever comes needs no other until it goes on
    }
    tarn_pace_start(&tank->pace, tank->scene.tank.dt_s, now_ns);
}

void tarn_worker_tank_audience(tarn_worker_tank *tank, uint32_t viewer_count, uint64_t now_ns)
{
    if (tank->viewer_count == 0 && viewer_count > 0) {
        tarn_pace_start(&tank->pace, tank->scene.tank.dt_s, now_ns);
        tank->frame_wanted = 1;
        tank->frame_due_ns = now_ns;
        tarn_frame_plan_ask(&tank->plan);
    }
    tank->viewer_count = viewer_count;
}

static tarn_status parameter_take(tarn_worker_tank *tank, const tarn_input_parameter *parameter, tarn_text why)
{
    int id = tarn_tank_parameter_find(parameter->name);
    if (id < 0) {
        snprintf(why, sizeof(tarn_text), "input.name: this tank has no parameter \"%s\"", parameter->name);
        return TARN_E_NOT_FOUND;
    }
    const tarn_parameter_spec *spec = tarn_tank_parameter_spec((tarn_parameter)id);
    if (!(parameter->value >= spec->min && parameter->value <= spec->max)) {
        snprintf(why, sizeof(tarn_text), "input.value: found %g, allowed for \"%s\" is %g to %g",
                 (double)parameter->value, spec->name, (double)spec->min, (double)spec->max);
        return TARN_E_ARGUMENT;
    }
    tank->parameters[id] = parameter->value;
    tank->parameters_asked |= 1u << id;
    return TARN_OK;
}

/// Why a press of a tool that adds something can't. @return NULL: it can
static const char *added_refusal(const tarn_worker_tank *tank, tarn_tool tool)
{
    const tarn_added_solid *added = tank->added;
    const uint32_t count = tank->added_count;
    if (tool == TARN_TOOL_THROW) {
        return tarn_throw_refusal(&tank->scene.tank);
    }
    if (tool != TARN_TOOL_WALL) {
        return NULL;
    }
    const int full = count >= TARN_TANK_WALLS_MAX && added[count - TARN_TANK_WALLS_MAX].number == 0;
    return full ? "as many walls stand in this tank as fit; erase some" : NULL;
}

tarn_status tarn_worker_tank_input(tarn_worker_tank *tank, uint32_t viewer_id, const tarn_input *input, tarn_text why)
{
    tarn_input_state_note(&tank->inputs, viewer_id, input->sequence);
    if (input->kind == TARN_INPUT_PARAMETER) {
        return parameter_take(tank, &input->parameter, why);
    }
    if (input->kind == TARN_INPUT_ORIENTATION) {
        tarn_pose pose = {0};
        memcpy(pose.rotation, input->orientation.orientation, sizeof pose.rotation);
        tank->turned_by_hand = 1;
        return tarn_tank_set_pose(tank->tank, &pose);
    }
    if (input->kind == TARN_INPUT_POINTER && input->pointer.phase == TARN_PHASE_DOWN) {
        const char *refusal = added_refusal(tank, input->pointer.tool);
        if (refusal) {
            snprintf(why, sizeof(tarn_text), "input.tool: %s", refusal);
            return TARN_E_LIMIT;
        }
    }
    return tarn_input_state_take(&tank->inputs, viewer_id, input, &tank->map, &tank->bodies, why);
}

static int is_stepping(const tarn_worker_tank *tank)
{
    return tank->paused ? tank->steps_asked > 0 : tank->viewer_count > 0;
}

uint64_t tarn_worker_tank_due_ns(const tarn_worker_tank *tank)
{
    uint64_t due = UINT64_MAX;
    if (!tank->tank) {
        return due;
    }
    if (is_stepping(tank)) {
        due = tank->pace.due_ns;
    }
    if (tank->viewer_count == 0 || is_stepping(tank)) {
        return due;
    }
    return tarn_frame_plan_due_ns(&tank->plan, tank->step, tank->frame_wanted ? tank->frame_due_ns : UINT64_MAX);
}

/// What came to nothing for want of room is left out; the next press is told. @return whether the tank goes on
static int goes_on(tarn_status status)
{
    return status != TARN_E_DEVICE;
}

/// Throws bodies in, and lets walls grow and go. @return TARN_OK or TARN_E_DEVICE
static tarn_status add_solids(tarn_worker_tank *tank, const tarn_step_tools *tools)
{
    const tarn_tank_desc *desc = &tank->scene.tank;
    tarn_status status = TARN_OK;
    tarn_solid solid;
    uint32_t body, gone;
    for (uint32_t i = 0; i < tools->throw_count && goes_on(status); i++) {
        tarn_thrown_solid(desc, &tools->throws[i], &solid);
        status = tarn_tank_throw(tank->tank, &solid, &body, NULL, 0);
        if (status == TARN_OK) {
            tarn_input_state_thrown(&tank->inputs, tools->throws[i].source, body);
        }
        tank->added_changed |= status == TARN_OK;
    }
    for (uint32_t i = 0; i < tools->wall_count && goes_on(status); i++) {
        tarn_wall_solid(desc, &tools->walls[i], &solid);
        status = tarn_tank_add_wall(tank->tank, &solid, NULL, 0);
        tank->added_changed |= status == TARN_OK;
    }
    for (uint32_t i = 0; i < tools->erase_count && goes_on(status); i++) {
        status = tarn_tank_erase_walls(tank->tank, tools->erases[i].center_m, tools->erases[i].radius_m, &gone);
        tank->added_changed |= gone > 0;
    }
    if (tools->throw_count > 0) {
        list_bodies(tank);
    }
    return goes_on(status) ? TARN_OK : status;
}

/// Steps the simulation with what the viewers do.
static tarn_status simulate(tarn_worker_tank *tank)
{
    tarn_step_tools tools;
    tarn_grab grabs[TARN_TANK_GRABS_MAX];
    uint32_t grab_count = tarn_input_state_grabs(&tank->inputs, grabs);
    tarn_input_state_latch(&tank->inputs, tank->map.size_m, tank->scene.tank.dt_s, &tools);
    tarn_status status = tank->turned_by_hand ? TARN_OK : tarn_scene_drive(&tank->scene, tank->tank, tank->step);
    if (status == TARN_OK) {
        status = tarn_tank_set_grabs(tank->tank, grabs, grab_count);
    }
    if (status == TARN_OK) {
        status = add_solids(tank, &tools);
    }
    if (status == TARN_OK) {
        status = tarn_tank_set_tools(tank->tank, &tools.tank);
    }
    if (status == TARN_OK) {
        status = tarn_tank_step(tank->tank, tools.pushes, tools.push_count);
    }
    return status == TARN_OK ? tarn_snapshot_stepped(&tank->snapshot, tank->tank, tank->step + 1) : status;
}

/// Why a step failed, for people.
static const char *plain_cause(tarn_status failure)
{
    return failure == TARN_E_MEMORY ? "needed more memory than there is" : "became unstable";
}

/// Goes on from the last good state, or afresh where there is none or the tank has just been set back to it.
/// @return TARN_OK or TARN_E_DEVICE
static tarn_status recover(tarn_worker_tank *tank, tarn_status failure, uint64_t now_ns)
{
    const double dt_s = (double)tank->scene.tank.dt_s;
    const uint64_t failed = tank->step + 1;
    uint64_t step = 0;
    tarn_status status = tarn_snapshot_restore(&tank->snapshot, tank->tank);
    if (status == TARN_OK) {
        step = tank->snapshot.step;
        snprintf(tank->notice, sizeof tank->notice, "the simulation of \"%s\" %s; the tank was set back by %.2f s",
                 tank->scene.name, plain_cause(failure), (double)(failed - step) * dt_s);
    } else {
        if (status == TARN_E_DEVICE || tarn_tank_reset(tank->tank) != TARN_OK) {
            return TARN_E_DEVICE;
        }
        snprintf(tank->notice, sizeof tank->notice, "the simulation of \"%s\" %s after %.2f s; the tank starts afresh",
                 tank->scene.name, plain_cause(failure), (double)failed * dt_s);
        tarn_snapshot_forget(&tank->snapshot);
    }
    tarn_log_warn("tank %u, step %llu: %s: %s", tank->id, (unsigned long long)failed, tarn_status_name(failure),
                  tank->notice);
    begin(tank, tank->epoch + 1, now_ns);
    tank->step = step;
    return TARN_OK;
}

static tarn_status step(tarn_worker_tank *tank, const tarn_jobs *jobs, uint64_t now_ns)
{
    const uint64_t used_ns = tarn_jobs_used_ns(jobs);
    if (tank->paused) {
        tank->steps_asked--;
        tank->frame_wanted = 1;
    }
    tarn_status status = simulate(tank);
    if (status != TARN_OK) {
        return status == TARN_E_DEVICE ? status : recover(tank, status, now_ns);
    }
    uint64_t done_ns = tarn_clock_monotonic_ns();
    tank->step_ns += tarn_jobs_used_ns(jobs) - used_ns;
    tank->stamps.latched_ns = now_ns;
    tank->stamps.stepped_ns = done_ns;
    tank->step_count++;
    tank->step++;
    tarn_pace_stepped(&tank->pace, done_ns);
    return TARN_OK;
}

static tarn_status encode(tarn_worker_tank *tank, tarn_worker_link *link, const tarn_jobs *jobs, tarn_stream_kind kind,
                          uint64_t now_ns)
{
    const uint64_t used_ns = tarn_jobs_used_ns(jobs);
    uint8_t *space = tarn_worker_link_frame_space(link, tank->slot);
    if (!space) {
        return TARN_E_MEMORY;
    }
    tarn_frame_input inputs[TARN_FRAME_INPUTS_MAX];
    tarn_tank_frame_info info = {
        .epoch = tank->epoch,
        .flags = tank->paused ? TARN_FRAME_FLAG_PAUSED : 0,
        .server_time_us = tarn_clock_unix_us(),
        .realtime_factor = tank->paused ? 0.0f : tarn_pace_factor(&tank->pace, now_ns),
        .input_count = tarn_input_state_contained(&tank->inputs, inputs),
        .inputs = inputs,
    };
    tarn_stream_head head;
    const tarn_status status = tarn_encoder_encode(tank->encoder, kind, &info, space, TARN_IPC_FRAME_BYTES_MAX, &head);
    if (status != TARN_OK) {
        return status;
    }
    tarn_frame_plan_made(&tank->plan, (tarn_stream_kind)head.kind, tank->step, now_ns);
    if (tank->paused && head.kind == TARN_STREAM_BASE) {
        tarn_frame_plan_ask(&tank->plan); // what stays in view is to be complete by itself
    }
    tank->stamps.encoded_ns = tarn_clock_monotonic_ns();
    tarn_worker_link_frame_put(link, tank->slot, tank->id, head.frame_bytes, &tank->stamps,
                               head.kind != TARN_STREAM_EXTRA);
    tank->encode_ns += tarn_jobs_used_ns(jobs) - used_ns;
    tank->encode_count++;
    return TARN_OK;
}

/// Says once that frames do not fit, instead of with every frame.
static void tell_too_large(tarn_worker_tank *tank, tarn_worker_link *link)
{
    if (tank->too_large_told) {
        return;
    }
    tarn_ipc_message message = {.kind = TARN_IPC_REFUSED, .tank = tank->id};
    message.refused.code = TARN_ERROR_SCENE;
    snprintf(
        message.refused.text, sizeof message.refused.text,
        "scene \"%s\": a frame of it takes more than the %d MiB that are allowed, or too many particles are in one "
        "place; frames come again once there are fewer",
        tank->scene.name, TARN_IPC_FRAME_BYTES_MAX >> 20);
    tank->too_large_told = tarn_worker_link_put(link, &message) == TARN_OK;
}

/// Makes a frame if one is due.
static tarn_status show(tarn_worker_tank *tank, tarn_worker_link *link, const tarn_jobs *jobs, int stepped,
                        uint64_t now_ns)
{
    // Half a step early counts as due: the frame belongs to the step that is nearest to its time.
    const int due = tank->frame_due_ns <= now_ns + (stepped ? tank->pace.dt_ns / 2 : 0);
    const tarn_frame_moment moment = {
        .now_ns = now_ns,
        .step = tank->step,
        .is_due = due && (stepped || tank->frame_wanted),
        .is_paused = tank->paused,
        .awaits = !stepped && is_stepping(tank),
    };
    tarn_stream_kind kind;
    if (!tarn_frame_plan_next(&tank->plan, &moment, &kind)) {
        return TARN_OK;
    }
    if (tarn_worker_link_frame_waits(link, tank->slot)) {
        tarn_frame_plan_hold(&tank->plan, now_ns + TARN_WORKER_ROOM_MS * (uint64_t)1000000);
        return TARN_OK;
    }
    if (!stepped) {
        tank->stamps.latched_ns = tank->stamps.stepped_ns = now_ns;
    }
    tank->frame_wanted = 0;
    tank->frame_due_ns += tank->frame_period_ns;
    if (tank->frame_due_ns < now_ns) {
        tank->frame_due_ns = now_ns + tank->frame_period_ns / 2;
    }
    tarn_status status = encode(tank, link, jobs, kind, now_ns);
    if (status == TARN_E_SPACE || status == TARN_E_MEMORY) {
        tell_too_large(tank, link);
        tarn_frame_plan_hold(&tank->plan, now_ns + TARN_WORKER_KEY_MS * (uint64_t)1000000);
        return TARN_OK;
    }
    return status;
}

tarn_status tarn_worker_tank_run(tarn_worker_tank *tank, tarn_worker_link *link, const tarn_jobs *jobs)
{
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    const int is_step = is_stepping(tank) && tank->pace.due_ns <= now_ns;
    tarn_status status = is_step ? step(tank, jobs, now_ns) : TARN_OK;
    if (status == TARN_OK && tank->viewer_count > 0) {
        status = show(tank, link, jobs, is_step, tarn_clock_monotonic_ns());
    }
    return status == TARN_OK && is_step ? look(tank) : status;
}

static void fill_state(const tarn_worker_tank *tank, tarn_ipc_state *state)
{
    const tarn_tank_desc *desc = &tank->scene.tank;
    tarn_session_state *session = &state->session;
    state->epoch = tank->epoch;
    memcpy(session->scene, tank->scene.name, sizeof session->scene);
    session->paused = tank->paused;
    session->worker_ready = 1;
    session->cell_m = desc->cell_m;
    session->dt_s = desc->dt_s;
    for (int axis = 0; axis < 3; axis++) {
        session->size_m[axis] = desc->cell_m * (float)desc->cells[axis];
    }
    _Static_assert((int)TARN_PARAMETER_COUNT <= (int)TARN_PARAMETERS_MAX, "a state message holds all parameters");
    session->parameter_count = TARN_PARAMETER_COUNT;
    for (int id = 0; id < TARN_PARAMETER_COUNT; id++) {
        const tarn_parameter_spec *spec = tarn_tank_parameter_spec((tarn_parameter)id);
        tarn_parameter_info *info = &session->parameters[id];
        snprintf(info->name, sizeof info->name, "%s", spec->name);
        info->value = tarn_tank_parameter(tank->tank, (tarn_parameter)id);
        info->min = spec->min;
        info->max = spec->max;
    }
    session->added_count = tarn_added_infos(desc, tank->added, tank->added_count, session->added);
}

static void fill_report(tarn_worker_tank *tank, const tarn_worker_link *link, uint64_t now_ns, tarn_ipc_report *report)
{
    tarn_tank_report simulated;
    tarn_tank_report_light(tank->tank, &simulated);
    report->step = tank->step;
    report->sim_time_s = (double)tank->step * (double)tank->scene.tank.dt_s;
    report->realtime_factor = is_stepping(tank) && !tank->paused ? tarn_pace_factor(&tank->pace, now_ns) : 0.0f;
    report->step_s = tank->step_count ? (float)((double)tank->step_ns * 1e-9 / tank->step_count) : 0.0f;
    report->encode_s = tank->encode_count ? (float)((double)tank->encode_ns * 1e-9 / tank->encode_count) : 0.0f;
    report->particle_count = simulated.particle_count;
    report->encoder_bytes = tarn_encoder_bytes(tank->encoder);
    report->frames_replaced = link->slots[tank->slot].replaced;
    tank->step_ns = tank->encode_ns = 0;
    tank->step_count = tank->encode_count = 0;
}

void tarn_worker_tank_tell(tarn_worker_tank *tank, tarn_worker_link *link, uint64_t now_ns)
{
    tarn_ipc_message message;
    if (tank->added_changed && now_ns >= tank->added_due_ns) {
        tank->added_changed = 0;
        tank->state_changed = 1;
        tank->added_due_ns = now_ns + TARN_WORKER_ADDED_MS * (uint64_t)1000000;
    }
    if (tank->state_changed) {
        memset(&message, 0, sizeof message);
        message.kind = TARN_IPC_STATE;
        message.tank = tank->id;
        fill_state(tank, &message.state);
        tank->state_changed = tarn_worker_link_put(link, &message) != TARN_OK;
    }
    // After the state, whose epoch it belongs to.
    if (tank->notice[0] && !tank->state_changed) {
        memset(&message, 0, sizeof message);
        message.kind = TARN_IPC_REFUSED;
        message.tank = tank->id;
        message.refused.code = TARN_ERROR_WORKER;
        memcpy(message.refused.text, tank->notice, sizeof message.refused.text);
        if (tarn_worker_link_put(link, &message) == TARN_OK) {
            tank->notice[0] = 0;
        }
    }
    if (now_ns >= tank->report_due_ns) {
        memset(&message, 0, sizeof message);
        message.kind = TARN_IPC_REPORT;
        message.tank = tank->id;
        fill_report(tank, link, now_ns, &message.report);
        tarn_worker_link_put(link, &message);
        tank->report_due_ns = now_ns + TARN_WORKER_REPORT_MS * (uint64_t)1000000;
    }
}
