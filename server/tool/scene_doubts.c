// Begin at scene_doubts_tell.
#include "server/tool/scene_doubts.h"
#include "server/common/mesh_file.h"
#include "server/common/mesh_surface.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 24 };             ///< of liquid, along each axis
static const double LARGE = 20.0;  ///< times as large as a tank no mesh is meant to be
static const double MOSTLY = 0.75; ///< so much of a block is expected to be there: less is a shore

typedef struct doubts {
    FILE *file;
    const char *before;
    const tarn_tank_desc *tank;
    double size_m[3];
} doubts;

// ---------------------------------------------------------------------------------------------------------- solids

/// Files tell no units. The field of a mesh is too coarse, too, to be told apart in a tank that is so much smaller.
static void doubt_units(const doubts *d, uint32_t number)
{
    const tarn_solid *solid = &d->tank->solids[number];
    double low[3], high[3], mesh_m = 0.0, tank_m = 0.0;
    tarn_shape_bounds_m(&solid->shape, &solid->pose, d->tank->fields, low, high);
    for (int a = 0; a < 3; a++) {
        mesh_m = fmax(mesh_m, high[a] - low[a]);
        tank_m = fmax(tank_m, d->size_m[a]);
    }
    if (solid->shape.kind == TARN_SHAPE_FIELD && mesh_m > LARGE * tank_m) {
        fprintf(d->file, "%ssolids[%u] is %.4g m large, and the tank %.4g m: is 1 in its file 1 m or 1 mm?\n",
                d->before, number, mesh_m, tank_m);
    }
}

// ---------------------------------------------------------------------------------------------------------- meshes

/// What was turned round in a mesh, and what is guessed of it since it has no inside.
static void doubt_mesh(const doubts *d, const char *name, tarn_mesh *mesh)
{
    tarn_mesh_surface surface;
    char amiss[TARN_MESH_FILE_WHY_BYTES];
    if (tarn_mesh_face_one_way(mesh, &surface) != TARN_OK) {
        return;
    }
    if (surface.turned > 0) {
        fprintf(d->file, "%s%s: %u of its %u triangles face against the others; they are turned round\n", d->before,
                name, surface.turned, mesh->triangle_count);
    }
    const bool has_inside = surface.one_sided + surface.open_edges + surface.uneven_edges == 0;
    if (!has_inside && tarn_mesh_surface_tell(&surface, amiss, sizeof amiss)) {
        fprintf(d->file, "%s%s %s; what is inside is guessed\n", d->before, name, amiss);
    }
}

static void doubt_meshes(const doubts *d, const tarn_scene_pack *pack)
{
    tarn_scene_entry entry;
    for (size_t at = 0; tarn_scene_pack_next(pack->bytes, pack->byte_count, &at, &entry);) {
        tarn_mesh_format format;
        tarn_mesh mesh = {0};
        char why[TARN_MESH_FILE_WHY_BYTES];
        if (tarn_mesh_format_of(entry.name, &format) &&
            tarn_mesh_bytes_read(entry.name, format, entry.bytes, entry.byte_count, &mesh, why, sizeof why) ==
                TARN_OK) {
            doubt_mesh(d, entry.name, &mesh);
            tarn_mesh_free(&mesh);
        }
    }
}

// ---------------------------------------------------------------------------------------------------------- liquid

typedef struct solid_shapes {
    uint32_t count;
    tarn_shape shapes[TARN_TANK_SOLIDS_MAX];
    tarn_pose poses[TARN_TANK_SOLIDS_MAX];
} solid_shapes;

/// Which share of a box lies in solids, of what `within` (NULL: all of it) holds.
static double share_in_solids(const doubts *d, const solid_shapes *solids, const double low[3], const double high[3],
                              const tarn_shape *within, const tarn_pose *pose)
{
    uint32_t all = 0, in_solids = 0;
    for (uint32_t i = 0; i < SAMPLES * SAMPLES * SAMPLES; i++) {
        const uint32_t at[3] = {i % SAMPLES, i / SAMPLES % SAMPLES, i / (SAMPLES * SAMPLES)};
        double point_m[3];
        for (int a = 0; a < 3; a++) {
            point_m[a] = low[a] + (high[a] - low[a]) * (at[a] + 0.5) / SAMPLES;
        }
        if (within != NULL && tarn_shapes_distance_m(within, pose, 1, d->tank->fields, point_m, NULL) > 0) {
            continue;
        }
        all++;
        in_solids +=
            tarn_shapes_distance_m(solids->shapes, solids->poses, solids->count, d->tank->fields, point_m, NULL) < 0.0;
    }
    return all > 0 ? (double)in_solids / all : 0.0;
}

static void say_in_solids(const doubts *d, const char *list, uint32_t number, double share)
{
    if (share > MOSTLY) {
        fprintf(d->file, "%s%s[%u]: %.0f %% of it lie in solids, where nothing is\n", d->before, list, number,
                100.0 * share);
    }
}

/// Of what a shape holds, the part in the tank.
static void doubt_region(const doubts *d, const solid_shapes *solids, const char *list, uint32_t number,
                         const tarn_shape *shape, const tarn_pose *pose)
{
    double low[3], high[3];
    tarn_shape_bounds_m(shape, pose, d->tank->fields, low, high);
    for (int a = 0; a < 3; a++) {
        low[a] = fmax(low[a], 0.0);
        high[a] = fmin(high[a], d->size_m[a]);
    }
    say_in_solids(d, list, number, share_in_solids(d, solids, low, high, shape, pose));
}

static void doubt_liquids(const doubts *d)
{
    static solid_shapes solids;
    const tarn_tank_desc *tank = d->tank;
    solids.count = tank->solid_count;
    if (solids.count == 0) {
        return;
    }
    for (uint32_t i = 0; i < solids.count; i++) {
        solids.shapes[i] = tank->solids[i].shape;
        solids.poses[i] = tank->solids[i].pose;
    }
    for (uint32_t i = 0; i < tank->block_count; i++) {
        const tarn_fluid_block *block = &tank->blocks[i];
        const double low[3] = {block->min_m[0], block->min_m[1], block->min_m[2]},
                     high[3] = {block->max_m[0], block->max_m[1], block->max_m[2]};
        say_in_solids(d, "blocks", i, share_in_solids(d, &solids, low, high, NULL, NULL));
    }
    for (uint32_t i = 0; i < tank->fluid_count; i++) {
        doubt_region(d, &solids, "fluids", i, &tank->fluids[i].shape, &tank->fluids[i].pose);
    }
    for (uint32_t i = 0; i < tank->emitter_count; i++) {
        doubt_region(d, &solids, "emitters", i, &tank->emitters[i].shape, &tank->emitters[i].pose);
    }
    for (uint32_t i = 0; i < tank->drain_count; i++) {
        doubt_region(d, &solids, "drains", i, &tank->drains[i].shape, &tank->drains[i].pose);
    }
}

// ---------------------------------------------------------------------------------------------------------- motion

/// Whether a block is a layer from wall to wall, at rest.
static bool is_still_layer(const doubts *d, const tarn_fluid_block *block)
{
    bool is_still = true;
    for (int a = 0; a < 3; a++) {
        const double slack_m = 0.5 * (double)d->tank->cell_m;
        is_still &= block->velocity_m_s[a] == 0.0F;
        is_still &= a == 1 || ((double)block->min_m[a] < slack_m && (double)block->max_m[a] > d->size_m[a] - slack_m);
    }
    return is_still;
}

/// Nothing but what flows could move.
static bool holds_still(const tarn_scene *scene)
{
    const tarn_tank_desc *tank = &scene->tank;
    const float *spin = tank->spin_rad_s;
    bool is_still = !tarn_scene_moves_tank(scene) && spin[0] == 0.0F && spin[1] == 0.0F && spin[2] == 0.0F;
    for (uint32_t i = 0; i < tank->solid_count; i++) {
        is_still &= tank->solids[i].motion == TARN_MOTION_STATIC;
    }
    return is_still;
}

/// Liquid that lies on the floor from wall to wall, and nothing that disturbs it.
static void doubt_liquid_motion(const doubts *d)
{
    const tarn_tank_desc *tank = d->tank;
    const float *down = tank->gravity_direction;
    bool is_still = tank->fluid_count == 0 && tank->emitter_count == 0 && tank->drain_count == 0 && down[0] == 0.0F &&
                    down[2] == 0.0F && down[1] < 0.0F;
    double low_m = d->size_m[1], high_m = 0.0;
    for (uint32_t i = 0; i < tank->block_count; i++) {
        is_still &= is_still_layer(d, &tank->blocks[i]) && tank->blocks[i].liquid == tank->blocks[0].liquid;
        low_m = fmin(low_m, (double)tank->blocks[i].min_m[1]);
        high_m = fmax(high_m, (double)tank->blocks[i].max_m[1]);
    }
    if (is_still && low_m < 0.5 * (double)tank->cell_m) {
        fprintf(d->file,
                "%snothing moves by itself: the liquid lies %g m deep from wall to wall, and no tap, drain or solid "
                "disturbs it\n",
                d->before, high_m);
    }
}

/// Whether what is put into a filled tank neither comes with a velocity nor, where there is gravity, with anything that
/// makes it lighter or heavier.
static bool is_inert(const doubts *d, const float velocity_m_s[3], const float carried[TARN_MODEL_CARRIED_MAX])
{
    const tarn_model *model = tarn_model_at(d->tank->model);
    const int gravity = tarn_model_parameter_find(model, "gravity_m_s2");
    bool is_inert = velocity_m_s[0] == 0.0F && velocity_m_s[1] == 0.0F && velocity_m_s[2] == 0.0F;
    for (uint32_t k = 0; k < model->carried_count && gravity >= 0 && d->tank->parameters[gravity] != 0.0F; k++) {
        is_inert &= carried[k] == 0.0F;
    }
    return is_inert;
}

/// Smoke or dye that nothing carries along.
static void doubt_filled_motion(const doubts *d)
{
    const tarn_tank_desc *tank = d->tank;
    bool is_still = true;
    for (uint32_t i = 0; i < tank->block_count; i++) {
        is_still &= is_inert(d, tank->blocks[i].velocity_m_s, tank->blocks[i].carried);
    }
    for (uint32_t i = 0; i < tank->fluid_count; i++) {
        is_still &= is_inert(d, tank->fluids[i].velocity_m_s, tank->fluids[i].carried);
    }
    for (uint32_t i = 0; i < tank->emitter_count; i++) {
        is_still &= is_inert(d, tank->emitters[i].velocity_m_s, tank->emitters[i].carried);
    }
    if (is_still) {
        fprintf(d->file,
                "%snothing moves by itself: no fluid has a velocity or a weight of its own, and no solid moves\n",
                d->before);
    }
}

void scene_doubts_tell(FILE *file, const char *before, const tarn_scene *scene, const tarn_scene_pack *pack)
{
    doubts d = {.file = file, .before = before, .tank = &scene->tank};
    for (int a = 0; a < 3; a++) {
        d.size_m[a] = (double)scene->tank.cells[a] * (double)scene->tank.cell_m;
    }
    for (uint32_t i = 0; i < scene->tank.solid_count; i++) {
        doubt_units(&d, i);
    }
    doubt_meshes(&d, pack);
    doubt_liquids(&d);
    if (holds_still(scene)) {
        (tarn_model_at(scene->tank.model)->can & TARN_MODEL_LIQUIDS) != 0 ? doubt_liquid_motion(&d)
                                                                          : doubt_filled_motion(&d);
    }
}
