// Solids, and how they and the tank itself move along key frames.
#include "server/common/scene/scene_draft.h"
#include "server/common/turn.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    SOLID_SHAPE = POSE_FIELDS,
    SOLID_MOTION,
    SOLID_DENSITY,
    SOLID_VELOCITY,
    SOLID_SPIN,
    SOLID_FRICTION,
    SOLID_KEYFRAMES,
    SOLID_LOOP,
    SOLID_COLOUR
};
enum { FRAME_TIME = POSE_FIELDS };

#define SOLID_DENSITY_KG_M3 500.0f ///< of a free one that doesn't say: wood

static const scene_range spins = {-TARN_SCENE_SPIN_MAX_RAD_S, TARN_SCENE_SPIN_MAX_RAD_S, "rad/s", false, false};
static const scene_range times = {0, TARN_SCENE_TIME_S_MAX, "s", false, false};

// ---- reading ----

static bool read_keyframe(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_field fields[] = {
        SCENE_POSE_FIELDS(keyframe_draft, pose, true),
        [FRAME_TIME] = {"time_s", true, scene_read_double, offsetof(keyframe_draft, time_s), &times},
    };
    keyframe_draft *keyframe = into;
    uint32_t given = 0;
    return SCENE_READ_OBJECT(r, path, value, into, fields, &given) && scene_note_pose(r, path, given, &keyframe->pose);
}

/// The tank's key frames have angles only, which say how often it turns; and it may stay where it is.
static bool read_tank_keyframe(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_field fields[] = {
        {"time_s", true, scene_read_double, offsetof(keyframe_draft, time_s), &times},
        {"position_m", false, scene_read_vector, offsetof(keyframe_draft, pose.position_m), &scene_places},
        {"rotation_deg", false, scene_read_vector, offsetof(keyframe_draft, pose.degrees), &scene_angles},
    };
    return SCENE_READ_OBJECT(r, path, value, into, fields, NULL);
}

#define KEYFRAME_LIST(read)                                                                                            \
    {                                                                                                                  \
        "key frames", 1, TARN_TANK_KEYFRAMES_MAX, read, offsetof(motion_draft, keyframes), sizeof(keyframe_draft),     \
            offsetof(motion_draft, keyframe_count)                                                                     \
    }

bool scene_read_tank_motion(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_list list = KEYFRAME_LIST(read_tank_keyframe);
    static const scene_field fields[] = {
        {"keyframes", true, scene_read_list, 0, &list},
        {"loop", false, scene_read_flag, offsetof(motion_draft, is_loop), NULL},
    };
    return SCENE_READ_OBJECT(r, path, value, into, fields, NULL);
}

static bool read_solid(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const char *const motions[TARN_MOTION_COUNT] = {"static", "keyframes", "free"};
    static const scene_choice motion = {motions, TARN_MOTION_COUNT};
    static const scene_range densities = {1, 20000, "kg/m3", false, false}, shares = {0, 1, NULL, false, false};
    static const scene_list list = KEYFRAME_LIST(read_keyframe);
    static const scene_field fields[] = {
        SCENE_POSE_FIELDS(solid_draft, pose, false),
        [SOLID_SHAPE] = {"shape", true, scene_read_shape, offsetof(solid_draft, shape), NULL},
        [SOLID_MOTION] = {"motion", false, scene_read_choice, offsetof(solid_draft, motion), &motion},
        [SOLID_DENSITY] = {"density_kg_m3", false, scene_read_float, offsetof(solid_draft, density_kg_m3), &densities},
        [SOLID_VELOCITY] = {"velocity_m_s", false, scene_read_vector_float, offsetof(solid_draft, velocity_m_s),
                            &scene_speeds},
        [SOLID_SPIN] = {"angular_velocity_rad_s", false, scene_read_vector_float,
                        offsetof(solid_draft, angular_velocity_rad_s), &spins},
        [SOLID_FRICTION] = {"friction", false, scene_read_float, offsetof(solid_draft, friction), &shares},
        [SOLID_KEYFRAMES] = {"keyframes", false, scene_read_list, offsetof(solid_draft, path), &list},
        [SOLID_LOOP] = {"loop", false, scene_read_flag, offsetof(solid_draft, path.is_loop), NULL},
        [SOLID_COLOUR] = {"colour", false, scene_read_colour, offsetof(solid_draft, colour), NULL},
    };
    solid_draft *solid = into;
    uint32_t given = 0;
    if (!SCENE_READ_OBJECT(r, path, value, into, fields, &given)) {
        return false;
    }
    solid->has_density = (given & 1u << SOLID_DENSITY) != 0;
    solid->has_velocity = (given & 1u << SOLID_VELOCITY) != 0;
    solid->has_spin = (given & 1u << SOLID_SPIN) != 0;
    solid->has_friction = (given & 1u << SOLID_FRICTION) != 0;
    solid->has_keyframes = (given & 1u << SOLID_KEYFRAMES) != 0;
    solid->has_loop = (given & 1u << SOLID_LOOP) != 0;
    return scene_note_pose(r, path, given, &solid->pose);
}

const scene_list scene_solid_list = {"solids",
                                     1,
                                     TARN_TANK_SOLIDS_MAX,
                                     read_solid,
                                     offsetof(scene_draft, solids),
                                     sizeof(solid_draft),
                                     offsetof(scene_draft, solid_count)};

// ---- key frames together ----

static bool check_times(scene_reader *r, const char *path, const motion_draft *motion)
{
    for (uint32_t i = 1; i < motion->keyframe_count; i++) {
        double before = motion->keyframes[i - 1].time_s, time = motion->keyframes[i].time_s;
        if ((float)time <= (float)before) {
            char inner[SCENE_PATH_BYTES];
            scene_write_path(inner, "%s.keyframes[%u].time_s", path, i);
            return scene_refuse(r, TARN_E_LIMIT, inner, "found %.9g s, allowed is more than the one before, %.9g s",
                                time, before);
        }
    }
    return true;
}

/// What goes round must end where it began: otherwise it would jump, and take the liquid along.
static bool check_loop(scene_reader *r, const char *path, const motion_draft *motion)
{
    if (!motion->is_loop) {
        return true;
    }
    char inner[SCENE_PATH_BYTES];
    scene_write_path(inner, "%s.loop", path);
    if (motion->keyframe_count < 2 || motion->keyframes[0].time_s != 0) {
        return scene_refuse(r, TARN_E_LIMIT, inner,
                            "found true with %u key frame%s, the first at %.9g s; allowed are two or more, the first "
                            "at 0 s",
                            motion->keyframe_count, motion->keyframe_count == 1 ? "" : "s",
                            motion->keyframes[0].time_s);
    }
    const keyframe_draft *last = &motion->keyframes[motion->keyframe_count - 1];
    tarn_pose a = {0}, b = {0};
    if (!scene_fit_pose(r, path, &motion->keyframes[0].pose, &a) || !scene_fit_pose(r, path, &last->pose, &b)) {
        return false;
    }
    double apart_m = 0, alike = 0;
    for (int i = 0; i < 3; i++) {
        apart_m = fmax(apart_m, fabs((double)a.position_m[i] - (double)b.position_m[i]));
    }
    for (int i = 0; i < 4; i++) {
        alike += (double)a.rotation[i] * (double)b.rotation[i];
    }
    if (apart_m > 1e-4 || fabs(alike) < 1 - 1e-6) {
        return scene_refuse(r, TARN_E_LIMIT, inner,
                            "the last key frame isn't where the first is, allowed is the same place and rotation, so "
                            "that nothing jumps");
    }
    return true;
}

/// Between two key frames in degrees: how many pieces of at most TARN_SCENE_KEYFRAME_TURN_DEG. Rotations as quaternions
/// go the shortest way, in which no turn can get lost.
static uint32_t piece_count(const keyframe_draft *a, const keyframe_draft *b)
{
    double turn_deg = 0;
    for (int axis = 0; axis < 3; axis++) {
        turn_deg = fmax(turn_deg, fabs(b->pose.degrees[axis] - a->pose.degrees[axis]));
    }
    if (a->pose.has_rotation || b->pose.has_rotation) {
        return 1;
    }
    return (uint32_t)fmax(1, ceil(turn_deg / TARN_SCENE_KEYFRAME_TURN_DEG));
}

static bool put_keyframe(scene_reader *r, scene_draft *d, const char *path, const keyframe_draft *keyframe)
{
    tarn_tank_desc *tank = &d->scene.tank;
    if (tank->keyframe_count == TARN_TANK_KEYFRAMES_MAX) {
        return scene_refuse(r, TARN_E_LIMIT, path,
                            "the solids need more than %d key frames, where one is added for every %g degrees of a "
                            "turn; allowed are fewer",
                            TARN_TANK_KEYFRAMES_MAX, TARN_SCENE_KEYFRAME_TURN_DEG);
    }
    tarn_keyframe *fitted = &tank->keyframes[tank->keyframe_count++];
    fitted->time_s = (float)keyframe->time_s;
    return scene_fit_pose(r, path, &keyframe->pose, &fitted->pose);
}

/// The key frame that lies `share` of the way between two.
static keyframe_draft keyframe_between(const keyframe_draft *first, const keyframe_draft *second, double share)
{
    keyframe_draft between = {.pose.has_degrees = true};
    const pose_draft *a = &first->pose, *b = &second->pose;
    between.time_s = first->time_s + share * (second->time_s - first->time_s);
    for (int axis = 0; axis < 3; axis++) {
        between.pose.position_m[axis] = a->position_m[axis] + share * (b->position_m[axis] - a->position_m[axis]);
        between.pose.degrees[axis] = a->degrees[axis] + share * (b->degrees[axis] - a->degrees[axis]);
    }
    return between;
}

/// Puts in what a turn needs between two key frames, at times that the tank can tell apart.
static bool put_between(scene_reader *r, scene_draft *d, const char *path, uint32_t index,
                        const keyframe_draft *keyframe)
{
    char inner[SCENE_PATH_BYTES];
    const uint32_t pieces = piece_count(keyframe, keyframe + 1);
    float last_s = (float)keyframe->time_s;
    for (uint32_t piece = 1; piece <= pieces; piece++) {
        const keyframe_draft between = keyframe_between(keyframe, keyframe + 1, (double)piece / pieces);
        if ((float)between.time_s <= last_s) {
            scene_write_path(inner, "%s.keyframes[%u].time_s", path, index + 1);
            return scene_refuse(r, TARN_E_LIMIT, inner,
                                "found %.9g s, %.3g s after the one before, which is too short a time for the turn "
                                "between them, in %u pieces; allowed is a later time",
                                keyframe[1].time_s, keyframe[1].time_s - keyframe->time_s, pieces);
        }
        last_s = (float)between.time_s;
        scene_write_path(inner, "%s.keyframes[%u]", path, index);
        if (piece < pieces && !put_keyframe(r, d, inner, &between)) {
            return false;
        }
    }
    return true;
}

static bool fit_keyframes(scene_reader *r, scene_draft *d, const char *path, const motion_draft *motion)
{
    for (uint32_t i = 0; i < motion->keyframe_count; i++) {
        const keyframe_draft *keyframe = &motion->keyframes[i];
        char inner[SCENE_PATH_BYTES];
        scene_write_path(inner, "%s.keyframes[%u]", path, i);
        if (!put_keyframe(r, d, inner, keyframe)) {
            return false;
        }
        if (i + 1 < motion->keyframe_count && !put_between(r, d, path, i, keyframe)) {
            return false;
        }
    }
    return true;
}

// ---- solids together ----

/// Fields that have no effect with a solid's motion are refused: somebody meant something by them.
static bool check_motion(scene_reader *r, const scene_draft *d, const char *path, const solid_draft *solid)
{
    const bool is_free = solid->motion == TARN_MOTION_FREE, has_path = solid->motion == TARN_MOTION_KEYFRAMES;
    const struct {
        const char *name;
        bool is_wrong;
        const char *sentence;
    } rules[] = {
        {"density_kg_m3", solid->has_density && !is_free, "the field has an effect only with \"motion\": \"free\""},
        {"velocity_m_s", solid->has_velocity && !is_free, "the field has an effect only with \"motion\": \"free\""},
        {"angular_velocity_rad_s", solid->has_spin && !is_free,
         "the field has an effect only with \"motion\": \"free\""},
        {"friction", solid->has_friction && is_free, "the field has no effect with \"motion\": \"free\""},
        {"friction", solid->has_friction && (r->model->can & TARN_MODEL_RUBS) == 0,
         "the field has no effect with this model"},
        {"keyframes", solid->has_keyframes && !has_path, "the field has an effect only with \"motion\": \"keyframes\""},
        {"loop", solid->has_loop && !has_path, "the field has an effect only with \"motion\": \"keyframes\""},
        {"keyframes", has_path && !solid->has_keyframes, "the field is missing; \"motion\": \"keyframes\" needs it"},
        {"position_m", has_path && solid->pose.has_position, "the key frames say where the solid is; leave it out"},
        {"rotation_deg", has_path && solid->pose.has_degrees,
         "the key frames say how the solid is turned; leave it out"},
        {"rotation", has_path && solid->pose.has_rotation, "the key frames say how the solid is turned; leave it out"},
        {"position_m", !has_path && !solid->pose.has_position, "the field is missing, and it has no default"},
        {"shape.inverted", is_free && solid->shape.inverted, "found true, allowed is false with \"motion\": \"free\""},
        {"motion", is_free && d->solver != TARN_SOLVER_MULTIGRID,
         "found \"free\", allowed only with the solver's kind \"multigrid\""},
        {"motion", is_free && d->scene.tank.cells[2] == 1, "found \"free\", not allowed in a tank one cell deep"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (rules[i].is_wrong) {
            char inner[SCENE_PATH_BYTES];
            scene_write_path(inner, "%s.%s", path, rules[i].name);
            return scene_refuse(r, TARN_E_LIMIT, inner, "%s", rules[i].sentence);
        }
    }
    return true;
}

static bool fit_solid(scene_reader *r, scene_draft *d, uint32_t index)
{
    static const uint8_t grey[3] = {158, 162, 168};
    const solid_draft *solid = &d->solids[index];
    tarn_tank_desc *tank = &d->scene.tank;
    tarn_solid *fitted = &tank->solids[index];
    char path[SCENE_PATH_BYTES], shape[SCENE_PATH_BYTES];
    scene_write_path(path, "solids[%u]", index);
    scene_write_path(shape, "solids[%u].shape", index);
    if (!check_motion(r, d, path, solid) || !check_times(r, path, &solid->path)) {
        return false;
    }
    fitted->motion = (tarn_motion)solid->motion;
    fitted->density_kg_m3 = solid->has_density ? solid->density_kg_m3 : SOLID_DENSITY_KG_M3;
    fitted->friction = solid->friction;
    memcpy(fitted->velocity_m_s, solid->velocity_m_s, sizeof fitted->velocity_m_s);
    memcpy(fitted->angular_velocity_rad_s, solid->angular_velocity_rad_s, sizeof fitted->angular_velocity_rad_s);
    memcpy(fitted->colour, solid->colour[3] != 0 ? solid->colour : grey, sizeof fitted->colour);
    fitted->keyframes_loop = solid->path.is_loop;
    fitted->keyframe_first = tank->keyframe_count;
    if (!scene_fit_pose(r, path, &solid->pose, &fitted->pose) || !fit_keyframes(r, d, path, &solid->path) ||
        !check_loop(r, path, &solid->path)) {
        return false;
    }
    fitted->keyframe_count = tank->keyframe_count - fitted->keyframe_first;
    if (fitted->keyframe_count > 0) {
        fitted->pose = tank->keyframes[fitted->keyframe_first].pose;
    }
    return scene_fit_shape(r, d, shape, &solid->shape, &fitted->shape);
}

bool scene_fit_solids(scene_reader *r, scene_draft *d)
{
    uint32_t body_count = 0;
    for (uint32_t i = 0; i < d->solid_count; i++) {
        body_count += d->solids[i].motion != TARN_MOTION_STATIC;
        if (body_count > TARN_TANK_BODIES_MAX) {
            char path[SCENE_PATH_BYTES];
            scene_write_path(path, "solids[%u].motion", i);
            return scene_refuse(r, TARN_E_LIMIT, path, "found one more solid that moves, allowed are %d",
                                TARN_TANK_BODIES_MAX);
        }
        if (!fit_solid(r, d, i)) {
            return false;
        }
    }
    d->scene.tank.solid_count = d->solid_count;
    return true;
}

/// The angle between two rotations.
static double angle_between(const double from_deg[3], const double to_deg[3])
{
    double from[4], to[4], cosine = 0.0;
    tarn_turn_quaternion(from_deg, from);
    tarn_turn_quaternion(to_deg, to);
    for (int i = 0; i < 4; i++) {
        cosine += from[i] * to[i];
    }
    return 2.0 * acos(fmin(fabs(cosine), 1.0));
}

/// The fastest that the tank's key frames ask it to turn and to move.
static void find_fastest(const tarn_scene_motion *motion, tarn_tank_desc *tank)
{
    for (uint32_t i = 0; i + 1 < motion->keyframe_count; i++) {
        const tarn_scene_keyframe *from = &motion->keyframes[i], *to = from + 1;
        const double way_s = to->time_s - from->time_s;
        double way_m = 0.0, turned_deg = 0.0, before[3];
        memcpy(before, from->rotation_deg, sizeof before);
        for (int axis = 0; axis < 3; axis++) {
            way_m = hypot(way_m, to->position_m[axis] - from->position_m[axis]);
            turned_deg = fmax(turned_deg, fabs(to->rotation_deg[axis] - from->rotation_deg[axis]));
        }
        const int parts = 1 + (int)(turned_deg / 15.0); // none of which is half a turn
        for (int part = 1; part <= parts; part++) {
            double now[3];
            for (int axis = 0; axis < 3; axis++) {
                now[axis] =
                    from->rotation_deg[axis] + (to->rotation_deg[axis] - from->rotation_deg[axis]) * part / parts;
            }
            tank->led_turn_rad_s = fmaxf(tank->led_turn_rad_s, (float)(angle_between(before, now) * parts / way_s));
            memcpy(before, now, sizeof before);
        }
        tank->led_speed_m_s = fmaxf(tank->led_speed_m_s, (float)(way_m / way_s));
    }
}

/// The velocities with which the key frames lead the tank through the step that begins at a time.
static void find_velocities(const tarn_scene *scene, double from_s, double velocity_m_s[3], double spin_rad_s[3])
{
    const double dt_s = (double)scene->tank.dt_s;
    tarn_pose from, to;
    tarn_scene_tank_pose(scene, from_s, &from);
    tarn_scene_tank_pose(scene, from_s + dt_s, &to);
    const float *p = from.rotation, *q = to.rotation;
    const double w = (double)(q[3] * p[3] + q[0] * p[0] + q[1] * p[1] + q[2] * p[2]), sign = w < 0.0 ? -1.0 : 1.0;
    double turn[3], sine = 0.0;
    for (int a = 0; a < 3; a++) {
        const int n = (a + 1) % 3, l = (a + 2) % 3;
        turn[a] =
            sign * ((double)(q[a] * p[3]) - (double)(q[3] * p[a]) - (double)(q[n] * p[l]) + (double)(q[l] * p[n]));
        sine = hypot(sine, turn[a]);
        velocity_m_s[a] = ((double)to.position_m[a] - (double)from.position_m[a]) / dt_s;
    }
    for (int a = 0; a < 3; a++) {
        spin_rad_s[a] = sine > 0.0 ? turn[a] / sine * 2.0 * atan2(sine, sign * w) / dt_s : 0.0;
    }
}

static float distance_between(const double one[3], const double other[3])
{
    return (float)sqrt(pow(one[0] - other[0], 2) + pow(one[1] - other[1], 2) + pow(one[2] - other[2], 2));
}

/// By how much the tank is to change how it turns and moves where its key frames meet. It begins at rest, but for a
/// spin.
static void find_jumps(const tarn_scene *scene, tarn_tank_desc *tank)
{
    const tarn_scene_motion *motion = &scene->tank_motion;
    for (uint32_t i = 0; i < motion->keyframe_count; i++) {
        const double at_s = fmax(motion->keyframes[i].time_s, 0.0);
        double velocity_before[3] = {0.0}, velocity[3], spin[3],
               spin_before[3] = {(double)tank->spin_rad_s[0], (double)tank->spin_rad_s[1], (double)tank->spin_rad_s[2]};
        if (at_s > 0.0) {
            find_velocities(scene, fmax(at_s - (double)tank->dt_s, 0.0), velocity_before, spin_before);
        }
        find_velocities(scene, at_s, velocity, spin);
        tank->led_turn_jump_rad_s = fmaxf(tank->led_turn_jump_rad_s, distance_between(spin, spin_before));
        tank->led_speed_jump_m_s = fmaxf(tank->led_speed_jump_m_s, distance_between(velocity, velocity_before));
    }
}

bool scene_fit_tank_motion(scene_reader *r, scene_draft *d)
{
    motion_draft *motion = &d->tank_motion;
    tarn_scene_motion *fitted = &d->scene.tank_motion;
    for (uint32_t i = 0; i < motion->keyframe_count; i++) {
        const keyframe_draft *keyframe = &motion->keyframes[i];
        motion->keyframes[i].pose.has_degrees = true;
        fitted->keyframes[i].time_s = keyframe->time_s;
        memcpy(fitted->keyframes[i].position_m, keyframe->pose.position_m, sizeof keyframe->pose.position_m);
        memcpy(fitted->keyframes[i].rotation_deg, keyframe->pose.degrees, sizeof keyframe->pose.degrees);
    }
    fitted->keyframe_count = motion->keyframe_count;
    fitted->is_loop = motion->is_loop != 0;
    if (!check_times(r, "tank_motion", motion) || !check_loop(r, "tank_motion", motion)) {
        return false;
    }
    if (fitted->keyframe_count > 0 && fitted->keyframes[0].time_s <= 0) { // it needn't get there first
        tarn_scene_tank_pose(&d->scene, 0, &d->scene.tank.start_pose);
    }
    find_fastest(fitted, &d->scene.tank);
    find_jumps(&d->scene, &d->scene.tank);
    return true;
}
