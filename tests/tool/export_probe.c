// Writes frames that no tank makes yet, in every format: export_probe FOLDER. test_export.mjs knows the same formulas.
#include "server/tool/film/export.h"

#include <stdio.h>

enum { PARTICLES_MAX = 7 };

static const uint32_t counts[] = {5, 0, 7};

typedef struct probe_frame {
    float positions_m[3 * PARTICLES_MAX], velocities_m_s[3 * PARTICLES_MAX];
    uint32_t ids[PARTICLES_MAX];
    uint8_t liquids[PARTICLES_MAX], colours[3 * PARTICLES_MAX];
} probe_frame;

static void fill(probe_frame *f, uint32_t number)
{
    for (uint32_t i = 0; i < counts[number]; i++) {
        f->ids[i] = 10 * i + 3 + number + (i == counts[number] - 1 ? 4000000000U : 0);
        f->liquids[i] = (uint8_t)(i % 3);
        for (uint32_t axis = 0; axis < 3; axis++) {
            f->positions_m[3 * i + axis] = 0.1F * (float)(i + 1) + 0.01F * (float)axis + 0.001F * (float)number;
            f->velocities_m_s[3 * i + axis] = (float)i - 2.5F * (float)axis;
            f->colours[3 * i + axis] = (uint8_t)(30 * i + 20 * axis + number);
        }
    }
}

static int write_all(const export_format *format, const char *path)
{
    const export_info info = {
        .scene = "probe", .size_m = {1, 1, 1}, .spacing_m = 0.05F, .frames_per_s = 20, .width = 64, .height = 48};
    char why[EXPORT_WHY_BYTES] = "";
    void *writer = NULL;
    if (format->open(path, &info, &writer, why) != TARN_OK) {
        fprintf(stderr, "export_probe: %s\n", why);
        return 1;
    }
    for (uint32_t number = 0; number < sizeof counts / sizeof counts[0]; number++) {
        probe_frame f;
        fill(&f, number);
        const export_frame frame = {.step = 3 * number,
                                    .time_s = 0.05 * number,
                                    .particle_count = counts[number],
                                    .positions_m = f.positions_m,
                                    .velocities_m_s = f.velocities_m_s,
                                    .ids = f.ids,
                                    .liquids = f.liquids,
                                    .colours = f.colours};
        if (format->frame(writer, &frame, why) != TARN_OK) {
            fprintf(stderr, "export_probe: frame %u: %s\n", number, why);
            format->close(writer, false, why);
            return 1;
        }
    }
    if (format->close(writer, true, why) != TARN_OK) {
        fprintf(stderr, "export_probe: %s\n", why);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"probe.pvd", "probe.usda", "probe.usdc",
                                        "probe.png", "probe.apng", "probe.y4m"};
    if (argc != 2) {
        fprintf(stderr, "usage: export_probe FOLDER\n");
        return 2;
    }
    int failures = write_all(&export_ply, argv[1]);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[PATH_MAX], allowed[128];
        snprintf(path, sizeof path, "%s/%s", argv[1], names[i]);
        failures += write_all(
            export_format_find(path, i >= 3 ? EXPORT_PICTURE : EXPORT_PARTICLES, allowed, sizeof allowed), path);
    }
    return failures != 0;
}
