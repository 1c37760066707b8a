#include "tests/kernels/tank_fixtures.h"
#include "kernels/liquid_parameters.h"
#include "kernels/smoke_parameters.h"

#include <string.h>

static void set_cells(tarn_tank_desc *desc, uint16_t x, uint16_t y, uint16_t z, float width_m)
{
    tarn_tank_desc_default(desc);
    desc->cells[0] = x;
    desc->cells[1] = y;
    desc->cells[2] = z;
    desc->cell_m = width_m / (float)x;
}

/// A block given in shares of the tank.
static void add_block(tarn_tank_desc *desc, const float min[3], const float max[3], float speed_m_s)
{
    tarn_fluid_block *block = &desc->blocks[desc->block_count++];
    memset(block, 0, sizeof *block);
    for (int a = 0; a < 3; a++) {
        const float size_m = (float)desc->cells[a] * desc->cell_m;
        block->min_m[a] = min[a] * size_m;
        block->max_m[a] = max[a] * size_m;
    }
    block->velocity_m_s[0] = speed_m_s;
}

static void describe_tiny(tarn_tank_desc *desc)
{
    set_cells(desc, 13, 11, 9, 0.5f); // no multiple of a tile's edge
    add_block(desc, (const float[3]){0.1f, 0.0f, 0.2f}, (const float[3]){0.6f, 0.8f, 0.9f}, 0.0f);
    add_block(desc, (const float[3]){0.7f, 0.5f, 0.1f}, (const float[3]){0.9f, 0.9f, 0.4f}, -2.0f);
}

/// Particles with slopes and quadratic splines; thick, so that viscosity is in it, and with surface tension.
static void describe_affine(tarn_tank_desc *desc)
{
    describe_tiny(desc);
    desc->transfer = TARN_TRANSFER_APIC;
    desc->p2g_weights = desc->g2p_weights = TARN_WEIGHTS_QUADRATIC;
    desc->liquids[0].viscosity_m2_s = 0.02f;
    desc->parameters[TARN_PARAMETER_SURFACE_TENSION] = 5.0f;
}

static void describe_two_liquids(tarn_tank_desc *desc)
{
    describe_tiny(desc);
    desc->p2g_weights = desc->g2p_weights = TARN_WEIGHTS_QUADRATIC;
    desc->liquid_count = 2;
    desc->liquids[1] = (tarn_liquid){.density_kg_m3 = 100.0f, .viscosity_m2_s = 0.01f, .colour = {200, 60, 20}};
    desc->blocks[1].liquid = 1;
    desc->parameters[TARN_PARAMETER_DYE_MIXING] = 0.3f;
    desc->parameters[TARN_PARAMETER_SURFACE_TENSION] = 5.0f;
    add_block(desc, (const float[3]){0.1f, 0.8f, 0.2f}, (const float[3]){0.6f, 1.0f, 0.9f}, 0.0f);
    desc->blocks[2].liquid = 1;
    desc->blocks[2].colour[3] = 255;
}

/// Two liquids in a tank that is long enough for five levels, on which high contrast takes many sweeps.
static void describe_contrast(tarn_tank_desc *desc)
{
    set_cells(desc, 70, 7, 6, 2.0f);
    desc->liquid_count = 2;
    desc->liquids[1] = (tarn_liquid){.density_kg_m3 = 1.0f, .colour = {200, 60, 20}};
    add_block(desc, (const float[3]){0.3f, 0.0f, 0.0f}, (const float[3]){0.4f, 0.8f, 1.0f}, 0.0f);
    add_block(desc, (const float[3]){0.4f, 0.0f, 0.0f}, (const float[3]){0.5f, 0.8f, 1.0f}, 0.0f);
    desc->blocks[1].liquid = 1;
}

/// Particles with slopes and cubic splines.
static void describe_cubic(tarn_tank_desc *desc)
{
    describe_tiny(desc);
    desc->transfer = TARN_TRANSFER_APIC;
    desc->p2g_weights = desc->g2p_weights = TARN_WEIGHTS_CUBIC;
}

/// Particles with slopes and linear weights, under red-black over-relaxation.
static void describe_relaxed(tarn_tank_desc *desc)
{
    describe_tiny(desc);
    desc->transfer = TARN_TRANSFER_APIC;
    desc->solver = TARN_SOLVER_GAUSS_SEIDEL;
    desc->parameters[TARN_PARAMETER_RELAXATION] = 1.6f;
}

/// Two liquids with linear weights, taps of both and a drain in a tank that turns; thinned-out cells are filled up.
static void describe_taps(tarn_tank_desc *desc)
{
    describe_tiny(desc);
    desc->solver = TARN_SOLVER_JACOBI;
    desc->liquid_count = 2;
    desc->liquids[1] = (tarn_liquid){.density_kg_m3 = 700.0f, .viscosity_m2_s = 0.002f, .colour = {30, 160, 90}};
    desc->blocks[1].liquid = 1;
    desc->reseed = 1;
    desc->spin_rad_s[1] = 2.0f;
    desc->spin_rad_s[2] = 0.5f;
    desc->emitter_count = 2;
    for (uint32_t e = 0; e < 2; e++) {
        tarn_emitter *tap = &desc->emitters[e];
        tap->shape =
            (tarn_shape){.kind = e == 0 ? TARN_SHAPE_CYLINDER : TARN_SHAPE_BOX, .half_m = {0.06f, 0.05f, 0.06f}};
        tap->pose = (tarn_pose){.position_m = {0.15f + 0.2f * (float)e, 0.35f, 0.15f}, .rotation = {0, 0, 0, 1}};
        tap->velocity_m_s[1] = -1.5f;
        tap->liquid = e;
    }
    desc->drain_count = 1;
    desc->drains[0].shape = (tarn_shape){.kind = TARN_SHAPE_SPHERE, .half_m = {0.08f}};
    desc->drains[0].pose = (tarn_pose){.position_m = {0.25f, 0.0f, 0.2f}, .rotation = {0, 0, 0, 1}};
}

/// A light and a heavy drop of dye, one of them moving, and a tap in a filled tank that turns.
static void describe_vortons(tarn_tank_desc *desc)
{
    describe_tiny(desc);
    const tarn_model *model = tarn_model_find("vortons");
    desc->model = model->number;
    for (uint32_t i = 0; i < model->parameter_count; i++) {
        desc->parameters[i] = model->parameters[i].initial;
    }
    desc->parameters[tarn_model_parameter_find(model, "viscosity_m2_s")] = 1e-3f;
    desc->spin_rad_s[2] = 0.5f;
    desc->blocks[0].carried[3] = 0.1f;
    desc->blocks[1].carried[3] = -0.2f;
    desc->blocks[1].carried[1] = 30.0f;
    desc->emitter_count = 1;
    desc->emitters[0].shape = (tarn_shape){.kind = TARN_SHAPE_SPHERE, .half_m = {0.06f}};
    desc->emitters[0].pose = (tarn_pose){.position_m = {0.2f, 0.3f, 0.2f}, .rotation = {0, 0, 0, 1}};
    desc->emitters[0].velocity_m_s[1] = -0.5f;
    desc->emitters[0].carried[3] = 0.05f;
}

static void describe_dam_break(tarn_tank_desc *desc)
{
    set_cells(desc, 32, 32, 32, 1.0f);
    add_block(desc, (const float[3]){0.0f, 0.0f, 0.0f}, (const float[3]){0.4f, 0.8f, 1.0f}, 0.0f);
}

static void describe_still_pool(tarn_tank_desc *desc)
{
    set_cells(desc, 40, 24, 24, 1.0f);
    add_block(desc, (const float[3]){0.0f, 0.0f, 0.0f}, (const float[3]){1.0f, 0.5f, 1.0f}, 0.0f);
}

static void describe_drop(tarn_tank_desc *desc)
{
    set_cells(desc, 48, 48, 48, 1.0f);
    add_block(desc, (const float[3]){0.0f, 0.0f, 0.0f}, (const float[3]){1.0f, 0.25f, 1.0f}, 0.0f);
    add_block(desc, (const float[3]){0.4f, 0.6f, 0.4f}, (const float[3]){0.6f, 0.8f, 0.6f}, 0.0f);
}

static void describe_large(tarn_tank_desc *desc)
{
    set_cells(desc, 64, 64, 64, 1.0f);
    add_block(desc, (const float[3]){0.0f, 0.0f, 0.0f}, (const float[3]){0.3f, 0.7f, 1.0f}, 0.0f);
    add_block(desc, (const float[3]){0.8f, 0.0f, 0.0f}, (const float[3]){1.0f, 0.5f, 1.0f}, 0.0f);
}

static tarn_solid *add_solid(tarn_tank_desc *desc, tarn_shape_kind kind, tarn_motion motion, const float half_m[3],
                             const float at_m[3])
{
    tarn_solid *solid = &desc->solids[desc->solid_count++];
    memset(solid, 0, sizeof *solid);
    solid->shape.kind = kind;
    solid->motion = motion;
    solid->density_kg_m3 = 300.0f;
    solid->pose.rotation[2] = 0.6f;
    solid->pose.rotation[3] = 0.8f;
    memcpy(solid->shape.half_m, half_m, sizeof solid->shape.half_m);
    memcpy(solid->pose.position_m, at_m, sizeof solid->pose.position_m);
    return solid;
}

/// A leaning plate, a paddle that sweeps, a box that floats and a ball that falls on it.
static void describe_solids(tarn_tank_desc *desc)
{
    set_cells(desc, 17, 15, 13, 0.5f);
    add_block(desc, (const float[3]){0.0f, 0.0f, 0.0f}, (const float[3]){0.8f, 0.5f, 1.0f}, 0.5f);
    const float thin[3] = {0.15f, 0.03f, 0.3f}, small[3] = {0.05f, 0.04f, 0.06f};
    add_solid(desc, TARN_SHAPE_BOX, TARN_MOTION_STATIC, thin, (const float[3]){0.4f, 0.1f, 0.2f});
    tarn_solid *paddle =
        add_solid(desc, TARN_SHAPE_CAPSULE, TARN_MOTION_KEYFRAMES, small, (const float[3]){0.1f, 0.2f, 0.1f});
    paddle->keyframe_count = desc->keyframe_count = 2;
    for (uint32_t k = 0; k < 2; k++) {
        desc->keyframes[k].time_s = 0.2f * (float)k;
        desc->keyframes[k].pose = paddle->pose;
        desc->keyframes[k].pose.position_m[0] += 0.2f * (float)k;
    }
    add_solid(desc, TARN_SHAPE_BOX, TARN_MOTION_FREE, small, (const float[3]){0.2f, 0.25f, 0.25f});
    add_solid(desc, TARN_SHAPE_SPHERE, TARN_MOTION_FREE, small, (const float[3]){0.22f, 0.36f, 0.26f});
}

/// Solids that drag thick liquid and are dragged by it.
static void describe_thick_solids(tarn_tank_desc *desc)
{
    describe_solids(desc);
    desc->liquids[0].viscosity_m2_s = 0.01f;
}

/// Walls and solids that rub; cubic splines.
static void describe_rough_solids(tarn_tank_desc *desc)
{
    describe_solids(desc);
    desc->p2g_weights = desc->g2p_weights = TARN_WEIGHTS_CUBIC;
    desc->wall_friction = 0.25f;
    desc->solids[0].friction = 1.0f;
    desc->solids[1].friction = 0.5f;
}

static void describe_thick_liquids_and_solids(tarn_tank_desc *desc)
{
    describe_thick_solids(desc);
    desc->liquid_count = 2;
    desc->liquids[1] = (tarn_liquid){.density_kg_m3 = 400.0f, .viscosity_m2_s = 0.03f, .colour = {200, 60, 20}};
    add_block(desc, (const float[3]){0.0f, 0.5f, 0.0f}, (const float[3]){0.8f, 0.8f, 1.0f}, 0.0f);
    desc->blocks[1].liquid = 1;
}

/// Plates across the tank: two chambers full of liquid, one of which a piston presses, and one with air and a ball.
static void describe_chambers(tarn_tank_desc *desc)
{
    set_cells(desc, 27, 9, 10, 0.81f); // cells of 3 cm
    add_block(desc, (const float[3]){0.0f, 0.0f, 0.0f}, (const float[3]){0.7f, 1.0f, 1.0f}, 0.0f);
    add_block(desc, (const float[3]){0.7f, 0.0f, 0.0f}, (const float[3]){1.0f, 0.5f, 1.0f}, 0.0f);
    const float plate[3] = {0.045f, 0.3f, 0.3f}, small[3] = {0.06f, 0.06f, 0.06f};
    add_solid(desc, TARN_SHAPE_BOX, TARN_MOTION_STATIC, plate, (const float[3]){0.255f, 0.13f, 0.15f});
    add_solid(desc, TARN_SHAPE_BOX, TARN_MOTION_STATIC, plate, (const float[3]){0.555f, 0.13f, 0.15f});
    for (uint32_t i = 0; i < 2; i++) {
        desc->solids[i].pose.rotation[2] = 0.0f;
        desc->solids[i].pose.rotation[3] = 1.0f;
    }
    tarn_solid *piston =
        add_solid(desc, TARN_SHAPE_BOX, TARN_MOTION_KEYFRAMES, small, (const float[3]){-0.02f, 0.13f, 0.15f});
    piston->keyframe_count = desc->keyframe_count = 2;
    for (uint32_t k = 0; k < 2; k++) {
        desc->keyframes[k].time_s = 1.0f * (float)k;
        desc->keyframes[k].pose = piston->pose;
        desc->keyframes[k].pose.position_m[0] += 0.1f * (float)k;
    }
    add_solid(desc, TARN_SHAPE_SPHERE, TARN_MOTION_FREE, small, (const float[3]){0.7f, 0.13f, 0.15f});
}

/// Much more grid than liquid, at 128 and 256 cells along each edge.
static void describe_128(tarn_tank_desc *desc)
{
    set_cells(desc, 128, 128, 128, 2.0f);
    add_block(desc, (const float[3]){0.0f, 0.0f, 0.0f}, (const float[3]){0.15f, 0.5f, 0.5f}, 0.0f);
    add_block(desc, (const float[3]){0.8f, 0.7f, 0.8f}, (const float[3]){0.9f, 0.8f, 0.9f}, -3.0f);
}

static void describe_256(tarn_tank_desc *desc)
{
    set_cells(desc, 256, 256, 256, 4.0f);
    add_block(desc, (const float[3]){0.0f, 0.0f, 0.0f}, (const float[3]){0.1f, 0.25f, 0.4f}, 0.0f);
    add_block(desc, (const float[3]){0.9f, 0.9f, 0.9f}, (const float[3]){0.95f, 0.95f, 0.95f}, -3.0f);
}

static void describe_smoke(tarn_tank_desc *desc)
{
    describe_tiny(desc);
    const float c = desc->cell_m;
    desc->model = tarn_model_find("smoke")->number;
    for (uint32_t id = 0; id < TARN_SMOKE_PARAMETER_COUNT; id++) {
        desc->parameters[id] = tarn_smoke_parameters[id].initial;
    }
    desc->parameters[TARN_SMOKE_OPEN] = 1.0f;
    desc->parameters[TARN_SMOKE_CONFINEMENT] = 0.5f;
    desc->parameters[TARN_SMOKE_VISCOSITY] = 0.2f * c * c / desc->dt_s;
    desc->parameters[TARN_SMOKE_WALL_GRIP] = 0.5f;
    desc->parameters[TARN_SMOKE_SLEEP_SPEED] = 0.5f;
    for (uint32_t i = 0; i < desc->block_count; i++) {
        desc->blocks[i].carried[TARN_SMOKE_HEAT] = 300.0f - 400.0f * (float)i;
        desc->blocks[i].carried[TARN_SMOKE_SMOKE] = 1.0f;
    }
    desc->particles_max = 4000;
    desc->solid_count = 1;
    desc->solids[0] = (tarn_solid){
        .shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {2.3f * c}}, .motion = TARN_MOTION_FREE, .density_kg_m3 = 2.0f};
    desc->solids[0].pose = (tarn_pose){.position_m = {8 * c, 5 * c, 5 * c}, .rotation = {0, 0, 0, 1}};
    desc->emitter_count = 1;
    desc->emitters[0].shape = (tarn_shape){.kind = TARN_SHAPE_BOX, .half_m = {c, c, c}};
    desc->emitters[0].pose = (tarn_pose){.position_m = {10 * c, 2 * c, 3 * c}, .rotation = {0, 0, 0, 1}};
    desc->emitters[0].velocity_m_s[1] = 2.0f;
    desc->emitters[0].carried[TARN_SMOKE_HEAT] = 100.0f;
}

static void describe_flat_smoke(tarn_tank_desc *desc)
{
    describe_smoke(desc);
    desc->cells[0] = 29;
    desc->cells[1] = 23;
    desc->cells[2] = 1;
    desc->solid_count = 0;
    desc->parameters[TARN_SMOKE_OPEN] = 0.0f;
    desc->emitters[0].pose.position_m[2] = 0.0f;
    for (uint32_t i = 0; i < desc->block_count; i++) {
        desc->blocks[i].min_m[2] = 0.0f;
        desc->blocks[i].max_m[2] = desc->cell_m;
    }
}

const tank_fixture tank_fixtures[TANK_FIXTURE_COUNT] = {
    {"tiny", describe_tiny, 40, 0.5f, 0},
    {"tiny, affine", describe_affine, 30, 0.5f, 0},
    {"tiny, two liquids", describe_two_liquids, 30, 0.5f, 0},
    {"tiny, solids", describe_solids, 40, 0.5f, TANK_FIXTURE_GRABS},
    {"tiny, rough solids", describe_rough_solids, 20, 0.5f, 0},
    {"tiny, cubic", describe_cubic, 20, 0.5f, 0},
    {"tiny, solids in thick liquid", describe_thick_solids, 12, 0.5f, 0},
    {"tiny, solids in thick liquids", describe_thick_liquids_and_solids, 12, 0.5f, 0},
    {"tiny, chambers", describe_chambers, 20, 0.0f, 0},
    {"tiny, relaxed", describe_relaxed, 30, 0.5f, 0},
    {"tiny, taps", describe_taps, 40, 0.5f, 0},
    {"tiny, smoke", describe_smoke, 30, 0.5f, TANK_FIXTURE_TOOLS},
    {"tiny, flat smoke", describe_flat_smoke, 30, 0.5f, TANK_FIXTURE_TOOLS},
    {"tiny, vortons", describe_vortons, 30, 0.5f, TANK_FIXTURE_TOOLS},
    {"tiny, high contrast", describe_contrast, 10, 0.5f, 0},
    {"tiny, tools", describe_tiny, 30, 0.5f, TANK_FIXTURE_TOOLS},
    {"dam break 32", describe_dam_break, 60, 0.0f, 0},
    {"still pool", describe_still_pool, 60, 1.0f, TANK_FIXTURE_TOOLS},
    {"drop into a pool", describe_drop, 30, 0.0f, 0},
    {"double dam break 64", describe_large, 20, 0.8f, 0},
    {"tall and far 128", describe_128, 8, 0.8f, TANK_FIXTURE_TOOLS},
    {"tall and far 256", describe_256, 6, 0.0f, 0},
};

uint32_t tank_fixture_push(const tank_fixture *fixture, const tarn_tank_desc *desc, uint32_t step, tarn_push *push)
{
    if (fixture->push_strength <= 0.0f) {
        return 0;
    }
    const float turn[4][2] = {{1.0f, 0.0f}, {0.0f, 1.0f}, {-1.0f, 0.0f}, {0.0f, -1.0f}};
    const float *direction = turn[step / 5 % 4];
    *push = (tarn_push){0};
    for (int a = 0; a < 3; a++) {
        push->center_m[a] = 0.5f * (float)desc->cells[a] * desc->cell_m;
    }
    push->center_m[1] *= 0.5f;
    push->radius_m = 0.2f * (float)desc->cells[1] * desc->cell_m;
    push->velocity_m_s[0] = 1.5f * direction[0];
    push->velocity_m_s[1] = 0.3f;
    push->velocity_m_s[2] = 1.5f * direction[1];
    push->strength = fixture->push_strength;
    if (fixture->does & TANK_FIXTURE_TOOLS) {
        push->inward_m_s = 1.0f;
        push->spin_rad_s[1] = step % 2 == 0 ? 6.0f : 0.0f;
    }
    return 1;
}

/// Pours, sinks and dyes, which the push then turns and draws in.
static void add_tools(const tarn_tank_desc *desc, uint32_t step, tarn_tank_tools *tools)
{
    const float across_m = (float)desc->cells[0] * desc->cell_m, up_m = (float)desc->cells[1] * desc->cell_m;
    tools->pour_count = step % 4 < 2;
    tools->pours[0] = (tarn_pour){.center_m = {0.8f * across_m, 0.6f * up_m, 0.3f * up_m},
                                  .radius_m = 1.5f * desc->cell_m,
                                  .velocity_m_s = {0.2f, -1.5f, 0.1f}};
    tools->sink_count = step % 5 == 3;
    tools->sinks[0] = (tarn_sink){.center_m = {0.3f * across_m, 0.2f * up_m, 0.4f * up_m}, .radius_m = 0.1f};
    tools->dye_count = step % 3 == 2;
    tools->dyes[0] = (tarn_dye){.center_m = {0.4f * across_m, 0.3f * up_m, 0.4f * up_m},
                                .radius_m = 0.15f,
                                .colour = {200, 20, 90},
                                .share = 0.6f};
}

/// What is thrown in, walled up and erased.
static void add_solids(const tarn_tank_desc *desc, uint32_t step, tarn_step_input *input)
{
    const float c = desc->cell_m, across_m = (float)desc->cells[0] * c;
    const tarn_solid solid = {
        .pose = {.position_m = {0.5f * across_m, 4.0f * c, 4.0f * c}, .rotation = {0.0f, 0.6f, 0.0f, 0.8f}}};
    if (step % 10 == 1) {
        input->wall_count = 1;
        input->walls[0] = solid;
        input->walls[0].shape = (tarn_shape){.kind = TARN_SHAPE_BOX, .half_m = {3.0f * c, 4.0f * c, 1.2f * c}};
    } else if (step % 10 == 2 && desc->cells[2] > 1) { // nothing floats in a tank one cell deep
        input->throw_count = 1;
        input->throws[0] = solid;
        input->throws[0].shape = (tarn_shape){.kind = TARN_SHAPE_CAPSULE, .half_m = {2.0f * c, 1.5f * c}};
        input->throws[0].motion = TARN_MOTION_FREE;
        input->throws[0].density_kg_m3 = 400.0f;
        input->throws[0].velocity_m_s[1] = -1.0f;
    } else if (step % 10 == 3) {
        input->erase_count = 1;
        memcpy(input->erases[0].center_m, solid.pose.position_m, sizeof solid.pose.position_m);
        input->erases[0].radius_m = c;
    }
}

/// Somebody who goes to the right and up before the tank's front, and somebody who stands in a slanted rectangle.
static void add_motion(const tarn_tank_desc *desc, uint32_t step, tarn_step_input *input)
{
    static const uint8_t walks[] = {253, 0, 1, 200, 100, 253, 0, 0, 127, 252, 0, 0, 64, 252, 0, 1, 129, 0};
    static const uint8_t stands[] = {255, 255, 251, 0};
    const float across_m = (float)desc->cells[0] * desc->cell_m, up_m = (float)desc->cells[1] * desc->cell_m,
                deep_m = (float)desc->cells[2] * desc->cell_m;
    input->motion_field_count = step % 3;
    input->motion_fields[0] = (tarn_motion_field){.corner_m = {0.0f, 0.0f, deep_m},
                                                  .across_m = {across_m, 0.0f, 0.0f},
                                                  .up_m = {0.0f, up_m, 0.0f},
                                                  .speed_m_s = 1.5f,
                                                  .strength = 0.6f,
                                                  .columns = 3,
                                                  .rows = 2,
                                                  .cell_bytes = sizeof walks,
                                                  .cells = walks};
    input->motion_fields[1] = (tarn_motion_field){.corner_m = {0.1f * across_m, 0.0f, 0.5f * deep_m},
                                                  .across_m = {0.3f * across_m, 0.2f * up_m, 0.1f * deep_m},
                                                  .up_m = {-0.1f * across_m, 0.6f * up_m, 0.0f},
                                                  .depth_m = 3.0f * desc->cell_m,
                                                  .speed_m_s = 1.0f,
                                                  .strength = 1.0f,
                                                  .solid = true,
                                                  .columns = 2,
                                                  .rows = 1,
                                                  .cell_bytes = sizeof stands,
                                                  .cells = stands};
}

void tank_fixture_input(const tank_fixture *fixture, const tarn_tank_desc *desc, uint32_t step, tarn_step_input *input)
{
    memset(input, 0, sizeof *input);
    input->push_count = tank_fixture_push(fixture, desc, step, &input->pushes[0]);
    if (fixture->does & TANK_FIXTURE_TOOLS) {
        add_tools(desc, step, &input->tools);
        add_solids(desc, step, input);
        add_motion(desc, step, input);
    }
    if ((fixture->does & TANK_FIXTURE_GRABS) && step % 20 > 1) {
        input->grab_count = 1;
        input->grabs[0] = (tarn_grab){.body = 1, // the keyframed one is the first
                                      .point_m = {0.01f, 0.0f, 0.02f},
                                      .target_m = {0.25f, 0.2f + 0.005f * (float)(step % 20), 0.2f},
                                      .strength = 0.3f};
    }
}
