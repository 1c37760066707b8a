// The tank that inputs of steps, logs of them and saved states are fuzzed with. Begin at tiny_tank.
#include "tests/fuzz/tiny_tank.h"

#include <stdlib.h>
#include <string.h>

void tiny_tank_must(bool holds, const char *what, tarn_status status)
{
    if (!holds) {
        fprintf(stderr, "%s: %s\n", what, tarn_status_text(status));
        abort();
    }
}

tarn_tank *tiny_tank(tarn_tank_desc *made_from)
{
    const tarn_device_desc on = {.kind = TARN_DEVICE_CPU, .threads = 1};
    tarn_tank_desc desc;
    tarn_device *device = NULL;
    tarn_tank *tank = NULL;
    char why[256] = "";
    tarn_tank_desc_default(&desc);
    desc.cells[0] = 9; // two tiles
    desc.cells[1] = desc.cells[2] = 4;
    desc.cell_m = 0.1f;
    desc.particles_per_axis = 1;
    desc.particles_max = 200;
    desc.reseed = 1;
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {0.9f, 0.1f, 0.4f}};
    desc.solid_count = 1;
    desc.solids[0] = (tarn_solid){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {0.08f, 0.08f, 0.08f}},
                                  .pose = {{0.3f, 0.3f, 0.2f}, {0, 0, 0, 1}},
                                  .motion = TARN_MOTION_FREE,
                                  .density_kg_m3 = 300.0f};
    desc.emitter_count = 1;
    desc.emitters[0] = (tarn_emitter){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {0.1f, 0.05f, 0.1f}},
                                      .pose = {{0.6f, 0.3f, 0.2f}, {0, 0, 0, 1}},
                                      .velocity_m_s = {0.0f, -1.0f, 0.0f}};
    desc.drain_count = 1;
    desc.drains[0] = (tarn_drain){.shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {0.1f}},
                                  .pose = {{0.1f, 0.1f, 0.1f}, {0, 0, 0, 1}}};
    if (tarn_device_create(&on, &device) != TARN_OK ||
        tarn_tank_create(device, &desc, &tank, why, sizeof why) != TARN_OK) {
        fprintf(stderr, "the tank: %s\n", why);
        abort();
    }
    if (made_from != NULL) {
        *made_from = desc;
    }
    return tank;
}

void tiny_tank_input(tarn_tank *tank, tarn_step_input *input)
{
    static tarn_step_refusals refusals;
    tarn_tank_tools *tools = &input->tools;
    memset(input, 0, sizeof *input);
    input->pause = TARN_STEP_PAUSE_ENDS;
    input->poser = TARN_STEP_POSER_HAND;
    input->pose = (tarn_pose){{0.1f, 0, 0}, {0, 0, 0, 1}};
    input->parameter_count = input->push_count = input->grab_count = 1;
    tools->pour_count = tools->sink_count = tools->dye_count = 1;
    input->throw_count = input->wall_count = input->erase_count = 1;
    input->parameters[0] = (tarn_parameter_change){0, tarn_tank_parameter(tank, 0)};
    input->pushes[0] =
        (tarn_push){.center_m = {0.2f, 0.1f, 0.2f}, .radius_m = 0.2f, .velocity_m_s = {0.5f, 0, 0}, .strength = 0.5f};
    input->grabs[0] = (tarn_grab){.body = 0, .target_m = {0.3f, 0.4f, 0.2f}, .strength = 0.1f};
    tools->pours[0] = (tarn_pour){{0.3f, 0.3f, 0.2f}, 0.1f, {0, -1.0f, 0}, 0, {9, 8, 7, 255}};
    tools->sinks[0] = (tarn_sink){{0.5f, 0, 0}, 0.1f};
    tools->dyes[0] = (tarn_dye){.radius_m = 1.0f, .colour = {1, 2, 3}, .share = 1.0f};
    input->throws[0] = (tarn_solid){.shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {0.1f}},
                                    .pose = {{0.2f, 0.3f, 0.2f}, {0, 0, 0, 1}},
                                    .motion = TARN_MOTION_FREE,
                                    .density_kg_m3 = 500.0f};
    input->walls[0] = (tarn_solid){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {0.05f, 0.2f, 0.1f}},
                                   .pose = {{0.65f, 0.2f, 0.2f}, {0, 0, 0, 1}}};
    static const uint8_t cells[] = {1, 255, 90, 255, 60, 255, 20, 255, 250};
    input->motion_field_count = 1;
    input->motion_fields[0] = (tarn_motion_field){.corner_m = {0, 0, 0.4f},
                                                  .across_m = {0.7f, 0, 0},
                                                  .up_m = {0, 0.4f, 0},
                                                  .speed_m_s = 0.5f,
                                                  .strength = 0.4f,
                                                  .columns = 2,
                                                  .rows = 1,
                                                  .cell_bytes = sizeof cells,
                                                  .cells = cells};
    input->erases[0] = (tarn_sink){{0.1f, 0.35f, 0.1f}, 0.05f};
    const tarn_status status = tarn_tank_admit(tank, input, &refusals);
    tiny_tank_must(status == TARN_OK && refusals.count == 0, refusals.why, status);
}

FILE *tiny_tank_open_seed(const char *name)
{
    const char *folder = getenv("TARN_FUZZ_SEEDS");
    char path[512];
    if (folder == NULL) {
        return NULL;
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w+b");
    if (file == NULL) {
        perror(path);
        abort();
    }
    return file;
}

void tiny_tank_write_seed(const char *name, const uint8_t *bytes, size_t byte_count)
{
    FILE *file = tiny_tank_open_seed(name);
    if (file != NULL) {
        tiny_tank_must(fwrite(bytes, 1, byte_count, file) == byte_count && fclose(file) == 0, name, TARN_E_IO);
    }
}
