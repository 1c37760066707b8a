// Where a scene puts its tank at a time: between key frames the position and the angles change evenly.
#include "server/common/scene.h"
#include "server/common/turn.h"

#include <math.h>

bool tarn_scene_moves_tank(const tarn_scene *scene)
{
    return scene->tank_motion.keyframe_count > 0;
}

/// The time within the key frames; after the last one that of the last, or of a later round. A loop begins at 0.
static double time_on_path(const tarn_scene_motion *motion, double time_s)
{
    const double first_s = motion->keyframes[0].time_s, last_s = motion->keyframes[motion->keyframe_count - 1].time_s;
    if (!(time_s > first_s)) {
        return first_s;
    }
    if (time_s <= last_s || !motion->is_loop) {
        return fmin(time_s, last_s);
    }
    const double rest_s = time_s - floor(time_s / last_s) * last_s;
    return fmin(fmax(rest_s, 0), last_s);
}

void tarn_scene_drive(const tarn_scene *scene, uint64_t step, tarn_step_input *input)
{
    if (tarn_scene_moves_tank(scene) && input->poser == TARN_STEP_POSER_NOBODY) {
        input->poser = TARN_STEP_POSER_SCENE;
        tarn_scene_tank_pose(scene, (double)(step + 1) * (double)scene->tank.dt_s, &input->pose);
    }
}

void tarn_scene_tank_pose(const tarn_scene *scene, double time_s, tarn_pose *pose)
{
    const tarn_scene_motion *motion = &scene->tank_motion;
    *pose = (tarn_pose){.rotation = {0, 0, 0, 1}};
    if (motion->keyframe_count == 0) {
        return;
    }
    const double at_s = time_on_path(motion, time_s);
    uint32_t next = 1;
    while (next < motion->keyframe_count && motion->keyframes[next].time_s < at_s) {
        next++;
    }
    const tarn_scene_keyframe *a = &motion->keyframes[next - 1], *b = a;
    double share = 0;
    if (next < motion->keyframe_count) {
        b = &motion->keyframes[next];
        share = (at_s - a->time_s) / (b->time_s - a->time_s);
    }
    double degrees[3], rotation[4];
    for (int axis = 0; axis < 3; axis++) {
        pose->position_m[axis] = (float)(a->position_m[axis] + share * (b->position_m[axis] - a->position_m[axis]));
        degrees[axis] = a->rotation_deg[axis] + share * (b->rotation_deg[axis] - a->rotation_deg[axis]);
    }
    tarn_turn_quaternion(degrees, rotation);
    for (int i = 0; i < 4; i++) {
        pose->rotation[i] = (float)rotation[i];
    }
}
