// Writes made depth as fakenect-record writes a camera's: make_depth FOLDER ACT FRAMES SEED [DEPTH_M [NOISE]]. The
// folder is made; beside the frames lies made.txt, which says what they were made of.
#include "server/tool/kinect/actor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static actor_frame frame;

static bool write_frame(const char *folder, FILE *index, uint32_t n)
{
    char path[4096];
    // A time as the recorder's, of the clock; the camera's stamps count at 60 MHz.
    const double time_s = 1000.0 + (double)n / ACTOR_RATE;
    char name[64];
    snprintf(name, sizeof name, "d-%f-%u.pgm", time_s, 2000000u * n);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    if (file == NULL) {
        return false;
    }
    fprintf(file, "P5 %d %d 65535\n", ACTOR_WIDTH, ACTOR_HEIGHT);
    fwrite(frame.raw, sizeof frame.raw[0], ACTOR_PIXELS, file);
    fprintf(index, "%s\n", name);
    return fclose(file) == 0;
}

static FILE *create(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return fopen(path, "we");
}

int main(int argc, char **argv)
{
    actor_scene scene = {.depth_m = 2.4f, .speed = 1, .people = 3, .noise = 1};
    int act = 0;
    while (argc >= 5 && actor_act_name((actor_act)act) != NULL &&
           strcmp(argv[2], actor_act_name((actor_act)act)) != 0) {
        act++;
    }
    if (argc < 5 || actor_act_name((actor_act)act) == NULL) {
        fprintf(stderr,
                "usage: make_depth FOLDER still|wave|side|bow|approach|walk|crowd FRAMES SEED [DEPTH_M [NOISE]]\n");
        return 2;
    }
    const uint32_t frames = (uint32_t)strtoul(argv[3], NULL, 10);
    scene.act = (actor_act)act;
    scene.seed = (uint32_t)strtoul(argv[4], NULL, 10);
    scene.depth_m = argc > 5 ? strtof(argv[5], NULL) : scene.depth_m;
    scene.noise = argc > 6 ? strtof(argv[6], NULL) : scene.noise;
    if (mkdir(argv[1], 0777) != 0 && errno != EEXIST) {
        perror(argv[1]);
        return 1;
    }
    FILE *index = create(argv[1], "INDEX.txt"), *made = create(argv[1], "made.txt");
    if (index == NULL || made == NULL) {
        perror(argv[1]);
        return 1;
    }
    fprintf(made, "act %s, frames %u, seed %u, depth_m %g, noise %g, speed %g, people %u\n", argv[2], frames,
            scene.seed, (double)scene.depth_m, (double)scene.noise, (double)scene.speed, scene.people);
    for (uint32_t n = 0; n < frames; n++) {
        actor_render(&scene, n, &frame);
        if (!write_frame(argv[1], index, n)) {
            perror(argv[1]);
            return 1;
        }
    }
    return fclose(index) == 0 && fclose(made) == 0 ? 0 : 1;
}
