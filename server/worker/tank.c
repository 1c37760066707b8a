// What messages do to a tank, and what its jobs do: it is made, set back to its start, stepped and shown. Begin at
// tarn_worker_tank_run, and for how it is made at tarn_worker_tank_load.
#include "server/worker/tank.h"
#include "kernels/encoder.h"
#include "server/base/clock.h"
#include "server/base/ipc.h"
#include "server/base/log.h"
#include "server/log/black_box.h"
#include "server/scene/archive.h"
#include "server/scene/scene.h"
#include "server/scene/tell.h"
#include "server/worker/frame.h"
#include "server/worker/input/bodies.h"
#include "server/worker/input/tools.h"
#include "server/worker/presses.h"
#include "server/worker/resume.h"
#include "server/worker/snapshot.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- what it is made of ----
// Before it takes the place of what was there. Begin at tank_parts_make.

typedef struct tarn_tank_parts {
    tarn_scene *scene;
    tarn_tank *tank;
    tarn_tile_map map;
    tarn_snapshot snapshot;
    tarn_encoder *encoder;
} tarn_tank_parts;

/// Frees them and their scene, what there is of them.
static void tank_parts_free(tarn_tank_parts *parts)
{
    tarn_encoder_destroy(parts->encoder);
    tarn_snapshot_free(&parts->snapshot);
    tarn_tank_destroy(parts->tank);
    if (parts->scene != NULL) {
        tarn_scene_free(parts->scene);
    }
    tarn_tile_map_free(&parts->map);
    free(parts->scene);
}

/// Makes them from a scene; the parts' own scene is the caller's affair.
/// @param box_fd  of the tank's black box; 0: receives one
/// @param why     on failure a sentence
/// @return TARN_OK, TARN_E_MEMORY, TARN_E_DEVICE, or what is wrong with the scene; tank_parts_free follows
static tarn_status tank_parts_make(tarn_tank_parts *parts, tarn_device *device, const tarn_scene *scene, int *box_fd,
                                   tarn_text why)
{
    tarn_encoder_desc encoder_desc;
    char found[TARN_SCENE_WHY_BYTES] = "";
    tarn_status status = tarn_tank_create(device, &scene->tank, &parts->tank, found, sizeof found);
    if (status != TARN_OK) {
        snprintf(why, sizeof(tarn_text), "scene \"%s\": %.400s", scene->name,
                 found[0] ? found : tarn_status_text(status));
        return status;
    }
    if (*box_fd <= 0) {
        *box_fd = tarn_black_box_make();
    }
    status = tarn_tile_map_init(&parts->map, scene->tank.cells, scene->tank.cell_m);
    if (status == TARN_OK) {
        status = tarn_snapshot_init(&parts->snapshot, *box_fd, parts->tank, scene->tank.dt_s);
    }
    tarn_encoder_desc_default(&encoder_desc);
    if (status == TARN_OK) {
        status = tarn_encoder_create(parts->tank, &encoder_desc, &parts->encoder);
    }
    if (status != TARN_OK) {
        snprintf(why, sizeof(tarn_text),
                 "scene \"%s\": its tank has room, but not its frames and what is kept of it: %s", scene->name,
                 tarn_status_text(status));
    }
    return status;
}

// ---- its scene ----
// Whoever loads a scene means the one in the folder; a tank that goes on, or begins again, has its own.

/// @param box_fd  of the tank's black box, which may have the scene itself; 0: there is none
/// @param pack    zero; receives the scene itself, which the caller frees on failure too
/// @param is_own  receives whether it came out of the box
/// @param why     on failure a sentence
/// @return TARN_OK: give the scene to tarn_scene_free; what tarn_scene_read_file and tarn_scene_resolve return
static tarn_status worker_scene_read(const char *scenes_dir, const tarn_ipc_load *load, int box_fd, tarn_scene *scene,
                                     tarn_scene_pack *pack, bool *is_own, tarn_text why)
{
    char path[4096];
    *is_own = false;
    if ((load->viewer_id == 0 || load->resumes >= TARN_IPC_RESUMES_BOX) &&
        tarn_black_box_scene(box_fd, load->scene, pack)) {
        if (tarn_scene_read_kept(pack, scene, why, sizeof(tarn_text)) == TARN_OK) {
            *is_own = true;
            return TARN_OK;
        }
        tarn_scene_pack_free(pack); // another build's, or a worker's that had gone wild
    }
    if (tarn_scene_pack_is_file(load->scene)) { // one that an owner uploaded, which the gateway alone names so
        const tarn_status found = tarn_scene_pack_read_file(load->scene, pack);
        if (found == TARN_OK) {
            return tarn_scene_read_kept(pack, scene, why, sizeof(tarn_text));
        }
        snprintf(why, sizeof(tarn_text), "the scene that was uploaded cannot be read: %s", tarn_status_text(found));
        return found;
    }
    const tarn_status status = tarn_scene_resolve(load->scene, scenes_dir, path, sizeof path, why, sizeof(tarn_text));
    return status == TARN_OK ? tarn_scene_read_file_to_keep(path, scene, pack, why, sizeof(tarn_text)) : status;
}

// ---- what starts and steps have in common ----

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

/// Takes what viewers' inputs meet until the next job ends: where up is, the tools, the bodies, which tiles hold
/// liquid. @return TARN_OK or TARN_E_DEVICE
static tarn_status worker_tank_look(tarn_worker_tank *tank)
{
    tarn_pose pose;
    tarn_body_state bodies[TARN_TANK_BODIES_MAX];
    tarn_tank_pose(tank->tank, &pose);
    tarn_input_state_turn(&tank->inputs, pose.rotation, tank->scene.tank.gravity_direction);
    tank->inputs.tools = tarn_tank_model(tank->tank)->tools;
    if (tank->bodies.count > 0) {
        tarn_body_map_update(&tank->bodies, bodies, tarn_tank_bodies(tank->tank, bodies));
    }
    tank->added_count = tarn_tank_added(tank->tank, tank->added);
    return tarn_tank_tiles(tank->tank, tank->map.bits, tank->map.bits_bytes);
}

static float clock_speed(const tarn_worker_tank *tank)
{
    return tank->speed > 0.0f ? tank->speed : 1.0f;
}

static void start_pace(tarn_worker_tank *tank, uint64_t now_ns)
{
    tarn_pace_start(&tank->pace, tank->scene.tank.dt_s, clock_speed(tank), now_ns);
}

/// Begins at a step: a frame at once, a key frame.
static void worker_tank_begin(tarn_worker_tank *tank, uint32_t epoch, uint64_t step, uint64_t now_ns)
{
    tarn_encoder_drop(tank->encoder);
    // A tank that was set back has gone on to an epoch that the gateway didn't know when it chose this one.
    tank->epoch = epoch > tank->epoch ? epoch : tank->epoch + 1;
    tarn_black_box_set_epoch(&tank->snapshot.box, tank->epoch);
    tank->step = step;
    tank->state_changed = true;
    tank->frame_wanted = true;
    tarn_frame_plan_start(&tank->plan, &tank->rates, now_ns);
    tank->too_large_told = false;
    tank->added_changed = false;
    tank->probes.is_due = true;
    list_bodies(tank);
    start_pace(tank, now_ns);
}

/// Forgets the presses and the motion of what was there before.
static void worker_tank_let_go(tarn_worker_tank *tank)
{
    tarn_input_state_release(&tank->inputs);
    tarn_input_motion_release(&tank->motion);
    tarn_input_state_latch_notes(&tank->inputs);
}

void tarn_worker_tank_log_presses(tarn_worker_tank *tank)
{
    static uint8_t presses[TARN_IPC_PRESSES_BYTES_MAX];
    tarn_black_box_log_presses(&tank->snapshot.box, presses, tarn_tank_presses_write(tank, presses));
}

/// Says what a step, or the state behind it, came to where it is sound at the second try.
static tarn_status try_again(tarn_worker_tank *tank, tarn_status status)
{
    if (status != TARN_E_UNSTABLE) {
        return status;
    }
    const tarn_status again = tarn_worker_redo(tank);
    if (again == TARN_OK) {
        tarn_log_of(TARN_LOG_WARN, (tarn_log_subject){.tank = tank->id},
                    "tank %u, step %llu: it became unstable, and was sound when it was made again: a fault of the "
                    "memory or of the device",
                    tank->id, (unsigned long long)tank->step + 1);
    }
    return again == TARN_OK || again == TARN_E_DEVICE ? again : status;
}

/// Takes an input, which goes into the black box first, with what viewers hold from then on.
static tarn_status take(tarn_worker_tank *tank, const tarn_step_input *input)
{
    static uint8_t presses[TARN_IPC_PRESSES_BYTES_MAX]; // large, and nobody gives way meanwhile
    tarn_status status = tarn_snapshot_make_room(&tank->snapshot, tank->tank, tank->step);
    if (status != TARN_OK) {
        return status;
    }
    const uint32_t presses_bytes = tarn_tank_presses_write(tank, presses);
    tarn_black_box_log(&tank->snapshot.box, input, presses, presses_bytes);
    tarn_job_part();
    status = tarn_tank_step(tank->tank, input);
    tarn_job_rejoin();
    return try_again(tank, status);
}

/// Whether a step's input has anything in it, which so far is what people do.
static bool is_acted_on(const tarn_step_input *input)
{
    return input->push_count > 0 || input->grab_count > 0 || input->parameter_count > 0 ||
           input->tools.pour_count > 0 || input->tools.sink_count > 0 || input->tools.dye_count > 0 ||
           input->throw_count > 0 || input->wall_count > 0 || input->erase_count > 0 ||
           input->poser == TARN_STEP_POSER_HAND;
}

/// Lets what acts at once come to pass now, while the clock stands.
static tarn_status hold(tarn_worker_tank *tank)
{
    tank->latched = tank->next;
    tank->latched.holds = true;
    memset(&tank->next, 0, sizeof tank->next);
    if (is_acted_on(&tank->latched)) {
        tarn_worker_replay_end(tank, NULL);
    }
    const tarn_status status = take(tank, &tank->latched);
    tank->paused = tarn_tank_paused(tank->tank);
    tank->state_changed = true;
    return status;
}

/// What the tank is made of is no more: it has no simulation.
static void worker_tank_unmake(tarn_worker_tank *tank)
{
    tarn_worker_replay_drop(tank);
    tarn_worker_probes_unmake(tank);
    tarn_encoder_destroy(tank->encoder);
    tarn_tank_destroy(tank->tank);
    tarn_tile_map_free(&tank->map);
    tarn_scene_free(&tank->scene);
    tarn_snapshot_free(&tank->snapshot);
    tank->encoder = NULL;
    tank->tank = NULL;
}

void tarn_worker_tank_free(tarn_worker_tank *tank)
{
    worker_tank_unmake(tank);
    tarn_worker_telling_end(tank);
    free(tank->handover.presses);
    if (tank->box_fd > 0) {
        close(tank->box_fd);
    }
    if (tank->next_box_fd > 0) {
        close(tank->next_box_fd);
    }
    memset(tank, 0, sizeof *tank);
}

tarn_status tarn_worker_tank_reset(tarn_worker_tank *tank, const tarn_ipc_reset *reset)
{
    tarn_status status = tarn_tank_reset(tank->tank);
    if (status != TARN_OK) {
        return status;
    }
    tarn_worker_replay_end(tank, NULL);
    tarn_input_state_latch_note(&tank->inputs, reset->viewer_id, reset->sequence);
    worker_tank_begin(tank, reset->epoch, 0,
                      tarn_clock_monotonic_ns()); // a newer epoch first: what is shown of it is never older
    status = tarn_snapshot_start(&tank->snapshot, tank->tank);
    if (status != TARN_OK) {
        return TARN_E_DEVICE;
    }
    status = worker_tank_look(tank);
    tarn_input_state_press_again(&tank->inputs, &tank->map, &tank->bodies);
    tarn_worker_tank_log_presses(tank);
    return status;
}

tarn_status tarn_worker_tank_go_on(tarn_worker_tank *tank, uint32_t epoch, uint64_t step, uint32_t number)
{
    tarn_encoder_drop(tank->encoder);
    tarn_encoder_go_on(tank->encoder, number);
    tarn_black_box_set_number(&tank->snapshot.box, number);
    tank->epoch = 0;
    tank->paused = tarn_tank_paused(tank->tank);
    worker_tank_begin(tank, epoch, step, tarn_clock_monotonic_ns());
    tarn_worker_replay_go_on(tank);
    return worker_tank_look(tank);
}

// ---- what messages ask for ----

/// A single step, which contains the control that asks for it.
static tarn_status ask_for_step(tarn_worker_tank *tank, tarn_text why)
{
    const bool is_paused =
        tank->pause_asked == TARN_STEP_PAUSE_KEEPS ? tank->paused : tank->pause_asked == TARN_STEP_PAUSE_BEGINS;
    if (!is_paused) {
        snprintf(why, sizeof(tarn_text),
                 "control.action: a single step is made while the tank is paused, and it isn't");
        return TARN_E_STATE;
    }
    if (tank->steps_asked >= TARN_WORKER_STEPS_QUEUED_MAX) {
        snprintf(why, sizeof(tarn_text),
                 "control.action: %d single steps wait to be made, which is all that may; this one isn't made",
                 TARN_WORKER_STEPS_QUEUED_MAX);
        return TARN_E_LIMIT;
    }
    tank->steps_asked++;
    return TARN_OK;
}

tarn_status tarn_worker_tank_control(tarn_worker_tank *tank, const tarn_ipc_control *control, uint64_t now_ns,
                                     tarn_text why)
{
    tarn_input_state_note(&tank->inputs, control->viewer_id, control->sequence);
    if (control->action == TARN_CONTROL_SPEED) {
        tarn_worker_tank_set_speed(tank, control->speed, now_ns);
        return TARN_OK;
    }
    if (control->action == TARN_CONTROL_STEP) {
        return ask_for_step(tank, why);
    }
    tank->pause_asked = control->action == TARN_CONTROL_PAUSE ? TARN_STEP_PAUSE_BEGINS : TARN_STEP_PAUSE_ENDS;
    tank->steps_asked = 0;
    return TARN_OK;
}

void tarn_worker_tank_settle(tarn_worker_tank *tank, uint64_t now_ns)
{
    if (tarn_worker_replay_settle(tank, now_ns)) {
        start_pace(tank, now_ns);
    }
    if (tank->pause_asked == TARN_STEP_PAUSE_KEEPS) {
        if (tank->paused && tank->next.parameter_count > 0) {
            (void)hold(tank);
        }
        return;
    }
    const bool was_paused = tank->paused;
    tarn_input_state_latch_notes(&tank->inputs);
    tank->next.pause = tank->pause_asked;
    tank->pause_asked = TARN_STEP_PAUSE_KEEPS;
    (void)hold(tank);
    tank->state_changed = true;
    tank->frame_wanted = true;
    if (tank->paused && !was_paused) {
        tarn_frame_plan_ask(&tank->plan); // whoever comes needs no other until it goes on
    }
    start_pace(tank, now_ns);
}

void tarn_worker_tank_set_speed(tarn_worker_tank *tank, float speed, uint64_t now_ns)
{
    const float before = tank->speed;
    tank->speed = speed == 1.0f ? 0.0f : speed;
    if (tank->tank != NULL && tank->speed != before) { // or it begins with it
        tarn_pace_set_speed(&tank->pace, clock_speed(tank), now_ns);
        tank->state_changed = true;
    }
}

void tarn_worker_tank_audience(tarn_worker_tank *tank, const tarn_ipc_audience *audience, uint64_t now_ns)
{
    if (strcmp(tank->channel, audience->channel) != 0 || strcmp(tank->field, audience->field) != 0) {
        memcpy(tank->channel, audience->channel, sizeof tank->channel);
        memcpy(tank->field, audience->field, sizeof tank->field);
        tarn_frame_plan_ask(&tank->plan); // a paused tank has no other frame to come
    }
    if (tank->viewer_count == 0 && audience->viewer_count > 0 && tank->tank != NULL) { // or it begins with all this
        start_pace(tank, now_ns);
        tank->frame_wanted = true;
        tarn_frame_plan_hurry(&tank->plan, now_ns);
        tarn_frame_plan_ask(&tank->plan);
    }
    tank->viewer_count = audience->viewer_count;
    tarn_worker_probes_watch(tank, audience->readings != 0);
}

/// Keeps a change of a parameter for the next step; while there is none, it comes as soon as the tank settles.
static void parameter_keep(tarn_worker_tank *tank, uint32_t id, float value)
{
    tarn_step_input *next = &tank->next;
    uint32_t at = 0;
    while (at < next->parameter_count && next->parameters[at].id != id) {
        at++;
    }
    next->parameters[at] = (tarn_parameter_change){id, value};
    next->parameter_count += at == next->parameter_count;
    _Static_assert((int)TARN_MODEL_PARAMETERS_MAX <= (int)TARN_STEP_PARAMETERS_MAX, "each changes once in a step");
}

static tarn_status put_parameter(tarn_worker_tank *tank, const tarn_input_parameter *parameter, tarn_text why)
{
    const tarn_model *model = tarn_tank_model(tank->tank);
    const int id = tarn_model_parameter_find(model, parameter->name);
    if (id < 0) {
        snprintf(why, sizeof(tarn_text), "input.name: this tank has no parameter \"%s\"", parameter->name);
        return TARN_E_NOT_FOUND;
    }
    const tarn_parameter_spec *spec = tarn_model_parameter(model, (uint32_t)id);
    if (!(parameter->value >= spec->min && parameter->value <= spec->max)) {
        snprintf(why, sizeof(tarn_text), "input.value: found %g, allowed for \"%s\" is %g to %g",
                 (double)parameter->value, spec->name, (double)spec->min, (double)spec->max);
        return TARN_E_ARGUMENT;
    }
    parameter_keep(tank, (uint32_t)id, parameter->value);
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
    const bool full = count >= TARN_TANK_WALLS_MAX && added[count - TARN_TANK_WALLS_MAX].number == 0;
    return full ? "as many walls stand in this tank as fit; erase some" : NULL;
}

tarn_status tarn_worker_tank_input(tarn_worker_tank *tank, uint32_t viewer_id, const tarn_input *input, tarn_text why)
{
    tarn_input_state_note(&tank->inputs, viewer_id, input->sequence);
    if (input->kind == TARN_INPUT_PARAMETER) {
        return put_parameter(tank, &input->parameter, why);
    }
    if (input->kind == TARN_INPUT_MOTION) {
        return tarn_input_motion_put(&tank->motion, tarn_clock_monotonic_ns(), viewer_id, &input->motion, why);
    }
    if (input->kind == TARN_INPUT_ORIENTATION) {
        tank->next.poser = TARN_STEP_POSER_HAND;
        tank->next.pose = (tarn_pose){0};
        memcpy(tank->next.pose.rotation, input->orientation.orientation, sizeof tank->next.pose.rotation);
        return TARN_OK;
    }
    if (input->kind == TARN_INPUT_POINTER && input->pointer.phase == TARN_PHASE_DOWN &&
        (tank->inputs.tools >> input->pointer.tool & 1) != 0) {
        const char *refusal = added_refusal(tank, input->pointer.tool);
        if (refusal != NULL) {
            snprintf(why, sizeof(tarn_text), "input.tool: %s", refusal);
            return TARN_E_LIMIT;
        }
    }
    return tarn_input_state_put(&tank->inputs, viewer_id, input, &tank->map, &tank->bodies, why);
}

bool tarn_worker_tank_size_remark(tarn_worker_tank *tank, uint32_t viewer_id, const tarn_input *input, tarn_text why)
{
    const tarn_input_pointer *pointer = &input->pointer;
    const tarn_input_controller *controller = &input->controller;
    const tarn_input_hand *hand = &input->hand;
    const bool is_pointer = input->kind == TARN_INPUT_POINTER, is_hand = input->kind == TARN_INPUT_HAND;
    const bool is_pressed = is_pointer                             ? pointer->phase == TARN_PHASE_DOWN
                            : input->kind == TARN_INPUT_CONTROLLER ? controller->trigger > 0.0f
                                                                   : is_hand && hand->pinch > 0.0f;
    if (!is_pressed || tank->tank == NULL) {
        return false;
    }
    const tarn_tool tool = is_pointer ? pointer->tool : is_hand ? hand->tool : controller->tool;
    const float asked_m = is_pointer ? pointer->radius_m : is_hand ? hand->radius_m : controller->radius_m;
    const float acts_m = tarn_tool_radius_m(&tank->scene.tank, tool, asked_m);
    const bool is_other = fabsf(acts_m - asked_m) > 0.005f * asked_m; // less nobody notices
    if (!tarn_input_state_is_news(&tank->inputs, viewer_id, tool, is_other)) {
        return false;
    }
    snprintf(why, sizeof(tarn_text),
             "input.radius_m: asked for is %.3g m, but \"%s\" acts as if it were %.3g m in this tank, whose cells are "
             "%.3g m",
             (double)asked_m, tarn_tool_name(tool), (double)acts_m, (double)tank->scene.tank.cell_m);
    return true;
}

// ---- when something is due ----

static bool is_stepping(const tarn_worker_tank *tank)
{
    return (tank->paused ? tank->steps_asked > 0 : tank->viewer_count > 0) && !tarn_worker_replay_waits(tank);
}

/// When the next step is due: single ones don't wait for a slow clock.
static uint64_t step_due_ns(const tarn_worker_tank *tank)
{
    const uint64_t single_ns = tank->pace.stepped_ns + tank->pace.dt_ns;
    return tank->paused && single_ns < tank->pace.due_ns ? single_ns : tank->pace.due_ns;
}

uint64_t tarn_worker_tank_due_ns(const tarn_worker_tank *tank)
{
    uint64_t due = UINT64_MAX;
    if (tank->tank == NULL || tank->handover.phase != TARN_HANDOVER_NONE) {
        return due;
    }
    if (is_stepping(tank)) {
        due = step_due_ns(tank);
    }
    const uint64_t probes_ns = tarn_worker_probes_due_ns(tank, is_stepping(tank));
    if (probes_ns < due) {
        return probes_ns;
    }
    if (tarn_encoder_is_begun(tank->encoder)) {
        return is_stepping(tank) ? due : 0;
    }
    if (tank->viewer_count == 0 || is_stepping(tank)) {
        return due;
    }
    return tarn_frame_plan_due_ns(&tank->plan, tank->step, tank->frame_wanted);
}

uint64_t tarn_worker_tank_late_ns(const tarn_worker_tank *tank)
{
    const bool makes_steps = tank->tank != NULL && tank->handover.phase == TARN_HANDOVER_NONE && is_stepping(tank);
    return makes_steps ? step_due_ns(tank) + tank->pace.period_ns : UINT64_MAX;
}

// ---- a step ----

/// The solids that tools put in or take away.
static void fill_solids(const tarn_tank_desc *desc, const tarn_step_tools *tools, tarn_step_input *input)
{
    input->throw_count = tools->throw_count;
    for (uint32_t i = 0; i < tools->throw_count; i++) {
        tarn_thrown_solid(desc, &tools->throws[i], &input->throws[i]);
    }
    input->wall_count = tools->wall_count;
    for (uint32_t i = 0; i < tools->wall_count; i++) {
        tarn_wall_solid(desc, &tools->walls[i], &input->walls[i]);
    }
    input->erase_count = tools->erase_count;
    memcpy(input->erases, tools->erases, tools->erase_count * sizeof *tools->erases);
}

/// Tells a viewer, or all, why one of its tools does nothing; where there is no room, as soon as there is some.
static void refuse_tool(tarn_worker_tank *tank, tarn_worker_link *link, uint32_t viewer_id, const char *why)
{
    if (tarn_worker_link_refuse(link, tank->id, viewer_id, 0, TARN_ERROR_INPUT, why) != TARN_OK) {
        tank->untold.viewer_id = tank->untold.count > 0 && tank->untold.viewer_id != viewer_id ? 0 : viewer_id;
        tank->untold.count++;
        snprintf(tank->untold.why, sizeof tank->untold.why, "%s", why);
    }
}

static void tell_untold(tarn_worker_tank *tank, tarn_worker_link *link)
{
    tarn_text why;
    if (tank->untold.count == 0) {
        return;
    }
    snprintf(why, sizeof why, "%.440s%s", tank->untold.why,
             tank->untold.count > 1 ? "; others before it were refused, too" : "");
    if (tarn_worker_link_refuse(link, tank->id, tank->untold.viewer_id, 0, TARN_ERROR_INPUT, why) == TARN_OK) {
        tank->untold.count = 0;
    }
}

/// Tells the viewers whose tools these were that they can't do what they want.
static void tell_refused(tarn_worker_tank *tank, tarn_worker_link *link, const tarn_step_tools *tools,
                         const tarn_step_refusals *refusals)
{
    for (uint32_t i = 0; i < refusals->count; i++) {
        const tarn_step_refusal *refusal = &refusals->of[i];
        const uint32_t viewer_id =
            refusal->is_wall ? tools->walls[refusal->index].viewer_id : tools->throws[refusal->index].viewer_id;
        tarn_text why;
        snprintf(why, sizeof why, "input.tool: %s", refusal->why);
        refuse_tool(tank, link, viewer_id, why);
    }
}

/// Everything that is done to the tank in this step, which the viewers' inputs end with. What comes from now on is for
/// the next one.
static void latch(tarn_worker_tank *tank, tarn_step_tools *tools)
{
    tarn_step_input *input = &tank->latched;
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    const float factor = tank->paused ? 1.0f : tarn_pace_factor(&tank->pace, now_ns);
    const float hand_s = tank->scene.tank.dt_s / fminf(factor, 1.0f);
    bool is_heard = tarn_input_state_is_heard(&tank->inputs);
    *input = tank->next;
    memset(&tank->next, 0, sizeof tank->next);
    input->grab_count = tarn_input_state_grabs(&tank->inputs, input->grabs);
    tarn_input_state_latch(&tank->inputs, tank->map.size_m, hand_s, tools);
    is_heard |= tarn_input_motion_latch(&tank->motion, now_ns, input);
    input->push_count = tools->push_count;
    memcpy(input->pushes, tools->pushes, tools->push_count * sizeof *tools->pushes);
    input->tools = tools->tank;
    fill_solids(&tank->scene.tank, tools, input);
    if (is_heard || is_acted_on(input)) {
        tarn_frame_plan_acted(&tank->plan, now_ns);
    }
    tarn_scene_drive(&tank->scene, tank->step, input);
}

/// Where one is due the tank's hash goes into the box, behind the `step`th step. @return TARN_OK or TARN_E_DEVICE
static tarn_status log_hash(tarn_worker_tank *tank, uint64_t step)
{
    tarn_tank_hash hash;
    if (!tarn_black_box_hash_due(step) || !tarn_black_box_has_room(&tank->snapshot.box)) {
        return TARN_OK;
    }
    tarn_job_part();
    const tarn_status status = tarn_tank_hash_get(tank->tank, &hash);
    tarn_job_rejoin();
    if (status == TARN_OK) {
        tarn_black_box_log_hash(&tank->snapshot.box, step, &hash);
    }
    return status == TARN_E_DEVICE ? status : TARN_OK; // another one comes
}

/// Puts what was done in this step once in the place of what viewers do, who do nothing; if they do anything, or there
/// is no more of it, the tank is live. Job. @return TARN_OK or what a step came to
static tarn_status play_back(tarn_worker_tank *tank)
{
    tarn_step_input *input = &tank->latched;
    tarn_status status = TARN_OK;
    if (is_acted_on(input) || input->motion_field_count > 0) {
        tarn_worker_replay_end(tank, NULL);
        return TARN_OK;
    }
    while (status == TARN_OK && (status = tarn_worker_replay_next(tank, input)) == TARN_OK && input->holds) {
        tank->state_changed |= input->parameter_count > 0;
        status = take(tank, input);
    }
    if (status == TARN_E_NOT_FOUND) {
        memset(input, 0, sizeof *input);
        tarn_scene_drive(&tank->scene, tank->step, input);
    }
    return status == TARN_E_NOT_FOUND ? TARN_OK : status;
}

/// Steps the simulation with what the viewers do.
static tarn_status simulate(tarn_worker_tank *tank, tarn_worker_link *link)
{
    tarn_step_tools tools;
    tarn_step_refusals refusals;
    tarn_step_input *input = &tank->latched;
    const uint32_t changes = tarn_tank_added_changes(tank->tank);
    latch(tank, &tools);
    tarn_status status = tarn_worker_replay_is_on(tank) ? play_back(tank) : TARN_OK;
    if (status == TARN_OK) {
        status = tarn_tank_admit(tank->tank, input, &refusals);
    }
    if (status == TARN_E_ARGUMENT && tarn_worker_replay_is_on(tank)) {
        tarn_worker_replay_end(tank, "what was done then can't be done in this tank");
    }
    if (status == TARN_E_ARGUMENT) { // what was read from the network was checked there: this is a fault of ours
        tarn_log_of(TARN_LOG_WARN, (tarn_log_subject){.tank = tank->id},
                    "tank %u, step %llu: its input is left out: %s", tank->id, (unsigned long long)tank->step + 1,
                    refusals.why);
        memset(input, 0, sizeof *input);
        status = TARN_OK;
    }
    if (status == TARN_OK && !tarn_worker_replay_is_on(tank)) {
        tell_refused(tank, link, &tools, &refusals);
    }
    if (status == TARN_OK) {
        tarn_input_state_throws(&tank->inputs, tools.throws, tools.throw_count);
        status = take(tank, input);
    }
    uint32_t thrown[TARN_STEP_THROWS_MAX];
    const uint32_t thrown_count = status == TARN_OK ? tarn_tank_thrown(tank->tank, thrown) : 0;
    if (tarn_input_state_thrown(&tank->inputs, thrown, thrown_count) && status == TARN_OK) {
        status = tarn_snapshot_make_room(&tank->snapshot, tank->tank, tank->step + 1);
        if (status == TARN_OK) {
            tarn_worker_tank_log_presses(tank); // what was written with the step couldn't know the bodies' numbers
        }
    }
    tank->added_changed |= tarn_tank_added_changes(tank->tank) != changes;
    tank->state_changed |= input->parameter_count > 0;
    if (thrown_count > 0) {
        list_bodies(tank);
    }
    if (status == TARN_OK) {
        status = log_hash(tank, tank->step + 1);
    }
    if (status != TARN_OK) {
        return status;
    }
    tarn_job_part();
    status = tarn_snapshot_stepped(&tank->snapshot, tank->tank, tank->step + 1);
    tarn_job_rejoin();
    return try_again(tank, status);
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
    const tarn_status status = tarn_snapshot_restore(&tank->snapshot, tank->tank, &step);
    const bool is_kept = status == TARN_OK;
    if (is_kept) {
        snprintf(tank->notice, sizeof tank->notice, "the simulation of \"%s\" %s; the tank was set back by %.2f s",
                 tank->scene.name, plain_cause(failure), (double)(failed - step) * dt_s);
    } else {
        if (status == TARN_E_DEVICE || tarn_tank_reset(tank->tank) != TARN_OK) {
            return TARN_E_DEVICE;
        }
        snprintf(tank->notice, sizeof tank->notice, "the simulation of \"%s\" %s after %.2f s; the tank starts afresh",
                 tank->scene.name, plain_cause(failure), (double)failed * dt_s);
        step = 0;
    }
    tarn_log_of(TARN_LOG_WARN, (tarn_log_subject){.tank = tank->id}, "tank %u, step %llu: %s: %s", tank->id,
                (unsigned long long)failed, tarn_status_name(failure), tank->notice);
    tarn_worker_replay_end(tank, NULL);
    tank->paused = tarn_tank_paused(tank->tank);
    worker_tank_let_go(tank);
    tank->steps_asked = 0;
    worker_tank_begin(tank, tank->epoch + 1, step, now_ns); // the newer epoch first
    if (is_kept) {
        tarn_black_box_back(&tank->snapshot.box);
    } else if (tarn_snapshot_start(&tank->snapshot, tank->tank) != TARN_OK) {
        return TARN_E_DEVICE;
    }
    tarn_worker_tank_log_presses(tank);
    return TARN_OK;
}

static tarn_status step(tarn_worker_tank *tank, tarn_worker_link *link, const tarn_jobs *jobs, uint64_t now_ns)
{
    const uint64_t used_ns = tarn_jobs_used_ns(jobs);
    if (tank->paused) {
        tank->steps_asked--;
        tank->frame_wanted = true;
    }
    tarn_status status = simulate(tank, link);
    if (status != TARN_OK) {
        return status == TARN_E_DEVICE ? status : recover(tank, status, now_ns);
    }
    uint64_t done_ns = tarn_clock_monotonic_ns();
    tank->step_ns += tarn_jobs_used_ns(jobs) - used_ns;
    tank->stamps.latched_ns = now_ns;
    tank->stamps.stepped_ns = done_ns;
    tank->step_count++;
    tank->step++;
    tarn_worker_replay_stepped(tank);
    tarn_pace_stepped(&tank->pace, done_ns);
    return TARN_OK;
}

// ---- what the gateway is told and shown ----

_Static_assert((int)TARN_REMARK_BYTES == (int)TARN_REMARK_BYTES_MAX + 1, "a remark fits as it is");

/// Looks what acts otherwise than asked for; of more than viewers are told of, how many more. @return whether it is
/// something else than they were told
static bool look_for_remarks(tarn_worker_tank *tank)
{
    tarn_remark found[TARN_REMARKS_MAX] = {{0}};
    const uint32_t count = tarn_tank_remarks(tank->tank, found, TARN_REMARKS_MAX);
    if (count > TARN_REMARKS_MAX) {
        snprintf(found[TARN_REMARKS_MAX - 1], sizeof found[0], "and %u more, which tarn check names",
                 count - (TARN_REMARKS_MAX - 1));
    }
    if (memcmp(found, tank->remarks, sizeof found) == 0) {
        return false;
    }
    memcpy(tank->remarks, found, sizeof found);
    return true;
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
    session->speed = tank->speed;
    session->replay_until = tank->replay.feed.until;
    for (int axis = 0; axis < 3; axis++) {
        session->size_m[axis] = desc->cell_m * (float)desc->cells[axis];
    }
    tarn_model_describe(tarn_tank_model(tank->tank), session);
    for (uint32_t id = 0; id < session->parameter_count; id++) {
        tarn_parameter_info *info = &session->parameters[id];
        const float used = tarn_tank_parameter_used(tank->tank, id);
        info->value = tarn_tank_parameter(tank->tank, id);
        if (used < info->value - 0.005f * fabsf(info->value)) { // half a percent nobody notices
            snprintf(info->note, sizeof info->note, "acts as %.4g", (double)used);
        }
    }
    session->added_count = tarn_added_infos(desc, tank->added, tank->added_count, session->added);
    memcpy(session->remarks, tank->remarks, sizeof session->remarks);
    for (session->remark_count = 0; session->remark_count < TARN_REMARKS_MAX; session->remark_count++) {
        if (tank->remarks[session->remark_count][0] == 0) {
            break;
        }
    }
}

/// @return whether the gateway is told the newest state
static bool tell_state(tarn_worker_tank *tank, tarn_worker_link *link)
{
    if (tank->state_changed) {
        tarn_ipc_message message = {.kind = TARN_IPC_STATE, .tank = tank->id};
        (void)look_for_remarks(tank);
        fill_state(tank, &message.state);
        tank->state_changed = tarn_worker_link_put(link, &message) != TARN_OK;
    }
    return !tank->state_changed;
}

/// Makes a frame if one is due.
static tarn_status show(tarn_worker_tank *tank, tarn_worker_link *link, const tarn_jobs *jobs, bool stepped,
                        uint64_t now_ns)
{
    const tarn_frame_moment moment = {
        .now_ns = now_ns,
        .step = tank->step,
        .has_stepped = stepped,
        .is_wanted = tank->frame_wanted,
        .room_ns = !tank->is_crowded && step_due_ns(tank) > now_ns ? step_due_ns(tank) - now_ns : 0,
        .is_paused = tank->paused,
        .awaits = !stepped && is_stepping(tank),
    };
    tarn_stream_kind kind;
    if (!tarn_frame_plan_next(&tank->plan, &moment, &kind)) {
        return TARN_OK;
    }
    // A frame of an epoch that the gateway doesn't know is left out there, and what refers to it.
    if (tarn_worker_link_frame_waits(link, tank->slot) || !tell_state(tank, link)) {
        tarn_frame_plan_hold(&tank->plan, now_ns + TARN_WORKER_ROOM_MS * (uint64_t)1000000);
        return TARN_OK;
    }
    if (!stepped) {
        tank->stamps.latched_ns = tank->stamps.stepped_ns = now_ns;
    }
    tank->frame_wanted = false;
    return tarn_worker_frame_begin(tank, link, jobs, kind, now_ns);
}

tarn_status tarn_worker_tank_run(tarn_worker_tank *tank, tarn_worker_link *link, const tarn_jobs *jobs)
{
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    const bool is_step = is_stepping(tank) && step_due_ns(tank) <= now_ns;
    const uint32_t frames = tank->encode_count;
    tarn_black_box_set_busy(&tank->snapshot.box, true);
    tarn_status status = tarn_worker_probes_make(tank, link);
    status = status == TARN_OK && is_step ? step(tank, link, jobs, now_ns) : status;
    tarn_black_box_set_showing(&tank->snapshot.box);
    if (status == TARN_OK) {
        status = tarn_worker_frame_finish(tank, link, jobs); // that was coded beside the step
    }
    if (status == TARN_OK) {
        status = tarn_worker_probes_measure(tank, link, is_step);
    }
    if (status == TARN_OK && tank->viewer_count > 0) {
        status = show(tank, link, jobs, is_step, tarn_clock_monotonic_ns());
    }
    status = status == TARN_OK && is_step ? worker_tank_look(tank) : status;
    if (status == TARN_OK) {
        status = tarn_worker_frame_await(tank, link, jobs, is_stepping(tank) ? step_due_ns(tank) : UINT64_MAX);
    }
    tarn_black_box_set_busy(&tank->snapshot.box, false);
    if (status == TARN_OK && (tank->encode_count != frames || (is_step && tank->viewer_count == 0))) {
        tarn_black_box_passed(&tank->snapshot.box);
    }
    return status;
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
    report->unconverged = simulated.unconverged;
    tank->cost_s = tank->step_count ? (float)((double)tank->cost_ns * 1e-9 / tank->step_count) : tank->cost_s;
    report->cost_s = tank->cost_s;
    if (tank->step_count > 0) {
        tarn_snapshot_set_pace(&tank->snapshot, tank->scene.tank.dt_s, report->step_s);
    }
    tank->step_ns = tank->encode_ns = tank->cost_ns = 0;
    tank->step_count = tank->encode_count = 0;
}

uint64_t tarn_worker_tank_tell_ns(const tarn_worker_tank *tank)
{
    if (tank->tank == NULL) {
        return UINT64_MAX;
    }
    if (tank->pause_asked != TARN_STEP_PAUSE_KEEPS || (tank->paused && tank->next.parameter_count > 0) ||
        tank->state_changed || tank->notice[0] || tank->untold.count > 0 || tank->telling.is_told ||
        tank->handover.phase != TARN_HANDOVER_NONE) {
        return 0;
    }
    const uint64_t probes_ns = tarn_worker_probes_tell_ns(tank), replay_ns = tarn_worker_replay_tell_ns(tank);
    uint64_t first_ns = probes_ns < tank->report_due_ns ? probes_ns : tank->report_due_ns;
    first_ns = replay_ns < first_ns ? replay_ns : first_ns;
    return tank->added_changed && tank->added_due_ns < first_ns ? tank->added_due_ns : first_ns;
}

void tarn_worker_tank_tell(tarn_worker_tank *tank, tarn_worker_link *link, uint64_t now_ns)
{
    tarn_ipc_message message;
    if (tank->added_changed && now_ns >= tank->added_due_ns) {
        tank->added_changed = false;
        tank->state_changed = true;
        tank->added_due_ns = now_ns + TARN_WORKER_ADDED_MS * (uint64_t)1000000;
    }
    if (now_ns >= tank->report_due_ns) { // taps and bodies do what they do by themselves
        tank->state_changed |= look_for_remarks(tank);
    }
    tell_state(tank, link);
    tell_untold(tank, link);
    tarn_worker_replay_ask(tank, link, now_ns);
    tarn_worker_probes_tell(tank, link, now_ns);
    tarn_worker_telling_tell(tank, link);
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

// ---- how it is made ----
// A tank is made beside what was there, and takes its place when it is whole. Begin at tarn_worker_tank_load.

/// They become the tank's, and what it had is no more.
static void parts_take(tarn_worker_tank *tank, tarn_tank_parts *parts)
{
    worker_tank_unmake(tank);
    tank->tank = parts->tank;
    tank->encoder = parts->encoder;
    tank->map = parts->map;
    tank->snapshot = parts->snapshot;
    tank->scene = *parts->scene;
    free(parts->scene);
    tank->probes.scene_is_due = true;
}

/// Begins with the tank as its scene has it.
static tarn_status start(tarn_worker_tank *tank, const tarn_ipc_load *load, const tarn_scene_pack *pack)
{
    const tarn_step_input first = {.holds = true,
                                   .pause = load->paused ? TARN_STEP_PAUSE_BEGINS : TARN_STEP_PAUSE_KEEPS};
    memset(&tank->next, 0, sizeof tank->next);
    tarn_black_box_begin(&tank->snapshot.box, load->scene);
    tarn_black_box_put_scene(&tank->snapshot.box, tank->box_fd, pack);
    tarn_status status = tarn_tank_step(tank->tank, &first);
    if (status == TARN_OK) {
        status = tarn_snapshot_start(&tank->snapshot, tank->tank);
    }
    if (status != TARN_OK) {
        return status;
    }
    tank->paused = load->paused;
    tank->steps_asked = 0;
    worker_tank_begin(tank, load->epoch, 0, tarn_clock_monotonic_ns());
    tarn_worker_tank_log_presses(tank);
    return worker_tank_look(tank);
}

/// What was kept is of no use, as viewers are told: the tank is to start afresh. @return TARN_OK or TARN_E_DEVICE
static tarn_status give_up_kept(tarn_worker_tank *tank, tarn_status failure)
{
    snprintf(tank->notice, sizeof tank->notice, "what was kept of \"%s\" is of no use (%s); the tank starts afresh",
             tank->scene.name, tarn_status_text(failure));
    tarn_log_of(TARN_LOG_WARN, (tarn_log_subject){.tank = tank->id}, "tank %u: %s", tank->id, tank->notice);
    worker_tank_let_go(tank);
    return tarn_tank_reset(tank->tank) == TARN_OK ? TARN_OK : TARN_E_DEVICE;
}

/// A tank that was made can't be: it is no more. @param why  receives a sentence  @return failure
static tarn_status refuse(tarn_worker_tank *tank, tarn_status failure, tarn_text why)
{
    snprintf(why, sizeof(tarn_text), "scene \"%s\": it can't go on or begin: %s", tank->scene.name,
             tarn_status_text(failure));
    worker_tank_unmake(tank);
    return failure;
}

/// Goes on from what a worker that is no more has left, where that can be.
/// @return TARN_E_NOT_FOUND: the tank is to start afresh
static tarn_status resume(tarn_worker_tank *tank, const tarn_ipc_load *load)
{
    tarn_black_box_rest rest;
    if (!load->resumes) {
        return TARN_E_NOT_FOUND;
    }
    tarn_status status = TARN_E_NOT_FOUND;
    if (tarn_black_box_find(&tank->snapshot.box, load->scene, &rest)) {
        status = tarn_worker_resume(tank, &rest);
    }
    if (status == TARN_OK || status == TARN_E_DEVICE || status == TARN_E_MEMORY) { // there may be some later
        return status;
    }
    return give_up_kept(tank, status) == TARN_OK ? TARN_E_NOT_FOUND : TARN_E_DEVICE;
}

/// The scene that a tank is made from, itself.
typedef struct made_from {
    tarn_scene_pack pack;
    bool is_own; ///< which the black box has
} made_from;

/// @param box_fd  the tank's black box; 0: receives one
/// @param from    receives what it was made from; to be freed on success
static tarn_status make(tarn_worker_tank *tank, tarn_device *device, const char *scenes_dir,
                        const tarn_worker_options *options, const tarn_ipc_load *load, tarn_jobs *jobs, int *box_fd,
                        made_from *from, tarn_text why)
{
    *from = (made_from){0};
    tarn_tank_parts parts = {.scene = calloc(1, sizeof *parts.scene)};
    snprintf(why, sizeof(tarn_text), "out of memory");
    tarn_status status = TARN_E_MEMORY;
    if (parts.scene != NULL) {
        tarn_job *job = jobs->running;
        tarn_jobs_leave(jobs);
        status = worker_scene_read(scenes_dir, load, *box_fd, parts.scene, &from->pack, &from->is_own, why);
        tarn_jobs_return(job);
    }
    if (status == TARN_OK) {
        status = tank_parts_make(&parts, device, parts.scene, box_fd, why);
    }
    if (status != TARN_OK) {
        tank_parts_free(&parts);
        tarn_scene_pack_free(&from->pack);
        return status;
    }
    parts_take(tank, &parts);
    tank->pause_asked = TARN_STEP_PAUSE_KEEPS;
    tank->rates.period_ns = 1000000000u / (options->fps != 0 ? options->fps : TARN_WORKER_FPS);
    tank->rates.step_ns = (uint64_t)((double)tank->scene.tank.dt_s * 1e9);
    tank->rates.keeps_rate = options->fps != 0;
    tarn_input_state_note(&tank->inputs, load->viewer_id, load->sequence);
    worker_tank_let_go(tank);
    return TARN_OK;
}

/// The tank stands still, or goes on, as whoever asked for it wants: before anything of it is kept.
static tarn_status pause_as_asked(tarn_worker_tank *tank, bool is_paused)
{
    const tarn_step_input input = {.holds = true, .pause = is_paused ? TARN_STEP_PAUSE_BEGINS : TARN_STEP_PAUSE_ENDS};
    const tarn_status status = tarn_tank_step(tank->tank, &input);
    tank->paused = tarn_tank_paused(tank->tank);
    return status;
}

/// Goes on from its box, which was filled elsewhere. The first that is kept there is the tank as it then is: what led
/// to it was made before.
static tarn_status go_on_elsewhere(tarn_worker_tank *tank, const tarn_ipc_load *load, const tarn_scene_pack *pack)
{
    tarn_black_box_rest rest;
    tarn_status status = tarn_black_box_find(&tank->snapshot.box, load->scene, &rest) ? tarn_worker_resume(tank, &rest)
                                                                                      : TARN_E_NOT_FOUND;
    if (status == TARN_OK && load->resumes == TARN_IPC_GOES_BACK) {
        status = pause_as_asked(tank, load->paused);
    }
    if (status == TARN_OK) {
        tarn_snapshot_adopt(&tank->snapshot, tank->tank, tank->step, tank->box_fd, pack);
        if (load->resumes == TARN_IPC_GOES_BACK) {
            tarn_worker_tank_log_presses(tank); // the box of the past doesn't know what has been done since
        }
    }
    return status;
}

/// What is to become of a tank that couldn't go on, where there was none before. It is no more if the gateway has
/// something to try again: the same when there is more memory, or the tank as it was before it was to go back.
static tarn_status begin_instead(tarn_worker_tank *tank, const tarn_ipc_load *load, const tarn_scene_pack *pack,
                                 tarn_status failure, tarn_text why)
{
    if (failure == TARN_E_MEMORY || load->resumes == TARN_IPC_GOES_BACK) {
        return refuse(tank, failure, why);
    }
    tarn_status status = give_up_kept(tank, failure);
    if (status == TARN_OK) {
        status = start(tank, load, pack);
    }
    return status == TARN_OK || status == TARN_E_DEVICE ? status : refuse(tank, status, why);
}

/// Goes on from the box that came along. A tank that is there stays what it is where that can't be.
/// @return as tarn_worker_tank_load
static tarn_status load_box(tarn_worker_tank *tank, tarn_device *device, const char *scenes_dir,
                            const tarn_worker_options *options, const tarn_ipc_load *load, tarn_jobs *jobs,
                            tarn_text why)
{
    tarn_black_box_rest rest;
    made_from from;
    const int old_fd = tank->box_fd;
    const bool was_there = tank->tank != NULL;
    int box_fd = tank->next_box_fd;
    char scene[TARN_IPC_SCENE_BYTES_MAX + 1] = "";
    if (was_there) {
        snprintf(scene, sizeof scene, "%s", tarn_black_box_scene_name(&tank->snapshot.box));
    }
    tank->next_box_fd = 0;
    tarn_status status = make(tank, device, scenes_dir, options, load, jobs, &box_fd, &from, why);
    if (status != TARN_OK) {
        close(box_fd);
        return status;
    }
    tank->box_fd = box_fd;
    status = go_on_elsewhere(tank, load, &from.pack);
    if (status != TARN_OK && status != TARN_E_DEVICE && !was_there) {
        status = begin_instead(tank, load, &from.pack, status, why);
    }
    tarn_scene_pack_free(&from.pack);
    if (status == TARN_OK || status == TARN_E_DEVICE || !was_there) {
        if (old_fd > 0) {
            close(old_fd);
        }
        return status;
    }
    tarn_ipc_load back = {.epoch = load->epoch, .paused = load->paused, .resumes = TARN_IPC_RESUMES};
    snprintf(back.scene, sizeof back.scene, "%s", scene);
    snprintf(why, sizeof(tarn_text), "the tank can't be what it was then (%s): its scene may have changed since",
             tarn_status_text(status));
    tank->box_fd = old_fd;
    tarn_text ignored;
    const tarn_status returned = make(tank, device, scenes_dir, options, &back, jobs, &tank->box_fd, &from, ignored);
    close(box_fd);
    if (returned == TARN_OK) {
        tarn_scene_pack_free(&from.pack);
    }
    if (returned == TARN_OK && tarn_black_box_find(&tank->snapshot.box, scene, &rest)) {
        rest.epoch = load->epoch;
        return tarn_worker_resume(tank, &rest) == TARN_E_DEVICE ? TARN_E_DEVICE : status;
    }
    return TARN_E_DEVICE; // the next worker makes it again
}

tarn_status tarn_worker_tank_load(tarn_worker_tank *tank, tarn_device *device, const char *scenes_dir,
                                  const tarn_worker_options *options, const tarn_ipc_load *load, tarn_jobs *jobs,
                                  tarn_text why)
{
    if (load->resumes >= TARN_IPC_RESUMES_BOX && tank->next_box_fd > 0) {
        return load_box(tank, device, scenes_dir, options, load, jobs, why);
    }
    made_from from;
    tarn_status status = make(tank, device, scenes_dir, options, load, jobs, &tank->box_fd, &from, why);
    if (status != TARN_OK) {
        return status;
    }
    status = resume(tank, load);
    if (status == TARN_E_NOT_FOUND) {
        status = start(tank, load, &from.pack);
    } else if (status == TARN_OK && !from.is_own) {
        tarn_snapshot_adopt(&tank->snapshot, tank->tank, tank->step, tank->box_fd, &from.pack);
    }
    tarn_scene_pack_free(&from.pack);
    return status == TARN_OK ? TARN_OK : refuse(tank, status, why);
}
