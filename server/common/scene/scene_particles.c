// The liquid particle by particle, from files.
#include "server/common/mesh_file.h"
#include "server/common/particles_file.h"
#include "server/common/scene/scene_draft.h"

#include <math.h>
#include <stdlib.h>

static bool read_particle_file(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    return scene_read_file_name(r, path, value, into, ".ply");
}

const scene_list scene_particle_file_list = {"files of particles",
                                             1,
                                             TARN_SCENE_PARTICLE_FILES_MAX,
                                             read_particle_file,
                                             offsetof(scene_draft, particle_files),
                                             sizeof(const char *),
                                             offsetof(scene_draft, particle_file_count)};

/// What is wrong with a particle in this tank. @return NULL: nothing
static const char *particle_fault(const tarn_tank_desc *tank, const tarn_seed_particle *particle)
{
    bool is_inside = true, is_slow = true;
    for (int a = 0; a < 3; a++) {
        const float size_m = (float)tank->cells[a] * tank->cell_m;
        is_inside &= particle->position_m[a] >= 0.0f && particle->position_m[a] <= size_m;
        is_slow &= fabsf(particle->velocity_m_s[a]) <= TARN_SCENE_PARTICLE_SPEED_MAX_M_S;
    }
    return !is_inside                               ? "which lies outside the tank; allowed are particles in it"
           : !is_slow                               ? "which is faster than the 1000 m/s that are allowed"
           : particle->liquid >= tank->liquid_count ? "of a liquid that the scene hasn't"
                                                    : NULL;
}

static bool read_particles(scene_reader *r, scene_draft *d, const char *path, const char *name,
                           tarn_particles *particles)
{
    char why[TARN_MESH_FILE_WHY_BYTES] = "", *made;
    const char *bytes;
    size_t byte_count;
    const uint32_t before = particles->count;
    if (!scene_find_bytes(r, path, name, "a PLY file", TARN_SCENE_FILE_BYTES_MAX, &bytes, &byte_count, &made)) {
        return false;
    }
    const tarn_status status = tarn_particles_ply_read(name, bytes, byte_count, particles, why, sizeof why);
    free(made);
    if (status != TARN_OK) {
        return scene_pass_on(r, status, path, why);
    }
    for (uint32_t i = before; i < particles->count; i++) {
        const float *at_m = particles->of[i].position_m;
        const char *fault = particle_fault(&d->scene.tank, &particles->of[i]);
        if (fault != NULL) {
            return scene_refuse(r, TARN_E_LIMIT, path, "%s: found particle %u at %g, %g, %g m, %s", name, i - before,
                                (double)at_m[0], (double)at_m[1], (double)at_m[2], fault);
        }
    }
    return true;
}

/// Whether no cell has more than so many of them: where thousands share one, a single tile takes all of a step.
static bool check_crowds(scene_reader *r, const tarn_tank_desc *tank, const tarn_particles *particles)
{
    const uint32_t n = tank->particles_per_axis, most = TARN_SCENE_CROWD_MAX * n * n * n;
    const size_t width = tank->cells[0], height = tank->cells[1];
    uint16_t *counts = calloc(width * height * tank->cells[2], sizeof *counts);
    if (counts == NULL) {
        return scene_refuse(r, TARN_E_MEMORY, "particles", "out of memory");
    }
    bool is_right = true;
    for (uint32_t i = 0; i < particles->count && is_right; i++) {
        const float *at_m = particles->of[i].position_m;
        size_t cell[3];
        for (int a = 0; a < 3; a++) {
            const size_t below = (size_t)(at_m[a] / tank->cell_m);
            cell[a] = below < tank->cells[a] ? below : tank->cells[a] - 1u;
        }
        is_right =
            ++counts[(cell[2] * height + cell[1]) * width + cell[0]] <= most ||
            scene_refuse(r, TARN_E_LIMIT, "particles",
                         "found more than %u particles in the cell at %g, %g, %g m; allowed are %d times as many "
                         "as it is seeded with",
                         most, (double)at_m[0], (double)at_m[1], (double)at_m[2], TARN_SCENE_CROWD_MAX);
    }
    free(counts);
    return is_right;
}

bool scene_fit_particle_files(scene_reader *r, scene_draft *d)
{
    tarn_tank_desc *tank = &d->scene.tank;
    tarn_particles particles = {0};
    bool is_right =
        d->particle_file_count == 0 || d->block_count + d->fluid_count == 0 ||
        scene_refuse(r, TARN_E_LIMIT, "particles", "found particles, and blocks or fluids; allowed are either");
    for (uint32_t i = 0; i < d->particle_file_count && is_right; i++) {
        char path[SCENE_PATH_BYTES];
        scene_write_path(path, "particles[%u]", i);
        is_right = read_particles(r, d, path, d->particle_files[i], &particles);
    }
    is_right = is_right && (particles.count == 0 || check_crowds(r, tank, &particles));
    tank->particles = particles.of; // the scene's, whatever came of it
    tank->particle_count = particles.count;
    tank->particles_have_colours = particles.have_colours;
    return is_right;
}
