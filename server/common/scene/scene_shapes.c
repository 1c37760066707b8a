// Shapes and poses: what a shape is, where it is and how it is turned.
#include "server/common/scene/scene_draft.h"
#include "server/common/turn.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const scene_range scene_places = {-TARN_SCENE_SIZE_M_MAX, TARN_SCENE_SIZE_M_MAX, "m", false, false};
const scene_range scene_speeds = {-TARN_SCENE_SPEED_MAX_M_S, TARN_SCENE_SPEED_MAX_M_S, "m/s", false, false};
const scene_range scene_angles = {-TARN_TURN_DEG_MAX, TARN_TURN_DEG_MAX, "degrees", false, false};

static const scene_range lengths = {TARN_SCENE_LENGTH_M_MIN, TARN_SCENE_LENGTH_M_MAX, "m", false, false};

static const char *const kind_names[SHAPE_KINDS] = {"box", "sphere", "capsule", "cylinder", "mesh", "heightfield"};

// ---- one function for each kind of shape ----

static bool read_box(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_field fields[] = {
        {"size_m", true, scene_read_vector, offsetof(shape_draft, size_m), &lengths},
    };
    return SCENE_READ_OBJECT(r, path, value, into, fields, NULL);
}

static bool read_sphere(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_field fields[] = {
        {"radius_m", true, scene_read_double, offsetof(shape_draft, radius_m), &lengths},
    };
    return SCENE_READ_OBJECT(r, path, value, into, fields, NULL);
}

static bool read_capsule(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_field fields[] = {
        {"radius_m", true, scene_read_double, offsetof(shape_draft, radius_m), &lengths},
        {"length_m", true, scene_read_double, offsetof(shape_draft, length_m), &lengths},
    };
    return SCENE_READ_OBJECT(r, path, value, into, fields, NULL);
}

static bool read_cylinder(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_field fields[] = {
        {"radius_m", true, scene_read_double, offsetof(shape_draft, radius_m), &lengths},
        {"height_m", true, scene_read_double, offsetof(shape_draft, length_m), &lengths},
    };
    return SCENE_READ_OBJECT(r, path, value, into, fields, NULL);
}

static bool read_mesh(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_range scales = {TARN_SCENE_SCALE_MIN, TARN_SCENE_SCALE_MAX, NULL, false, false};
    static const scene_field fields[] = {
        {"file", true, scene_read_file_name, offsetof(shape_draft, file), NULL},
        {"scale", false, scene_read_double, offsetof(shape_draft, scale), &scales},
    };
    ((shape_draft *)into)->scale = 1;
    return SCENE_READ_OBJECT(r, path, value, into, fields, NULL);
}

/// Checks rows of numbers, and keeps them in the JSON until the field is made.
static bool read_heights(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    size_t rows = json_array_size(value);
    if (!json_is_array(value) || rows < 2 || rows > TARN_SCENE_HEIGHTS_MAX) {
        char allowed[SCENE_ALLOWED_BYTES];
        snprintf(allowed, sizeof allowed, "an array of 2 to %d rows of heights", TARN_SCENE_HEIGHTS_MAX);
        return scene_refuse_value(r, path, value, allowed);
    }
    for (size_t row = 0; row < rows; row++) {
        char element[SCENE_PATH_BYTES];
        scene_write_path(element, "%s[%zu]", path, row);
        const json_t *heights = json_array_get(value, row);
        size_t columns = json_array_size(heights);
        if (!json_is_array(heights) || columns < 2 || columns > TARN_SCENE_HEIGHTS_MAX) {
            char allowed[SCENE_ALLOWED_BYTES];
            snprintf(allowed, sizeof allowed, "an array of 2 to %d heights", TARN_SCENE_HEIGHTS_MAX);
            return scene_refuse_value(r, element, heights, allowed);
        }
        for (size_t column = 0; column < columns; column++) {
            double height = 0;
            scene_write_path(element, "%s[%zu][%zu]", path, row, column);
            if (!scene_read_double(r, element, json_array_get(heights, column), &height, &scene_places)) {
                return false;
            }
        }
    }
    *(const json_t **)into = value;
    return true;
}

static bool read_heightfield(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    enum { SPACING, HEIGHT, FILE_NAME, HEIGHTS };
    static const scene_field fields[] = {
        [SPACING] = {"spacing_m", true, scene_read_double, offsetof(shape_draft, spacing_m), &lengths},
        [HEIGHT] = {"height_m", false, scene_read_double, offsetof(shape_draft, height_m), &lengths},
        [FILE_NAME] = {"file", false, scene_read_file_name, offsetof(shape_draft, file), ".pgm"},
        [HEIGHTS] = {"heights_m", false, read_heights, offsetof(shape_draft, heights), NULL},
    };
    uint32_t given = 0;
    if (!SCENE_READ_OBJECT(r, path, value, into, fields, &given)) {
        return false;
    }
    ((shape_draft *)into)->has_height = (given & 1u << HEIGHT) != 0;
    bool has_file = (given & 1u << FILE_NAME) != 0, has_heights = (given & 1u << HEIGHTS) != 0;
    return has_file != has_heights ||
           scene_refuse(r, TARN_E_MALFORMED, path, "found %s of file and heights_m, allowed is exactly one",
                        has_file ? "both" : "none");
}

bool scene_read_shape(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_field fields[] = {
        [SHAPE_BOX] = {"box", false, read_box, 0, NULL},
        [SHAPE_SPHERE] = {"sphere", false, read_sphere, 0, NULL},
        [SHAPE_CAPSULE] = {"capsule", false, read_capsule, 0, NULL},
        [SHAPE_CYLINDER] = {"cylinder", false, read_cylinder, 0, NULL},
        [SHAPE_MESH] = {"mesh", false, read_mesh, 0, NULL},
        [SHAPE_HEIGHTFIELD] = {"heightfield", false, read_heightfield, 0, NULL},
        [SHAPE_KINDS] = {"inverted", false, scene_read_flag, offsetof(shape_draft, inverted), NULL},
    };
    uint32_t given = 0;
    if (!SCENE_READ_OBJECT(r, path, value, into, fields, &given)) {
        return false;
    }
    char found[SCENE_ALLOWED_BYTES] = "none";
    uint32_t count = 0;
    for (int kind = 0; kind < SHAPE_KINDS; kind++) {
        if (given & 1u << kind) {
            size_t used = count == 0 ? 0 : strlen(found);
            snprintf(found + used, sizeof found - used, "%s%s", count == 0 ? "" : " and ", kind_names[kind]);
            ((shape_draft *)into)->kind = (shape_kind)kind;
            count++;
        }
    }
    return count == 1 || scene_refuse(r, TARN_E_MALFORMED, path,
                                      "found %s, allowed is exactly one of box, sphere, capsule, cylinder, mesh and "
                                      "heightfield",
                                      found);
}

bool scene_read_rotation(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_range parts = {-1, 1, NULL, false, false};
    if (!json_is_array(value) || json_array_size(value) != 4) {
        return scene_refuse_value(r, path, value, "an array of 4 numbers: a unit quaternion x, y, z, w");
    }
    for (size_t i = 0; i < 4; i++) {
        char element[SCENE_PATH_BYTES];
        scene_write_path(element, "%s[%zu]", path, i);
        if (!scene_read_double(r, element, json_array_get(value, i), (double *)into + i, &parts)) {
            return false;
        }
    }
    return true;
}

bool scene_note_pose(scene_reader *r, const char *path, uint32_t given, pose_draft *pose)
{
    pose->has_position = (given & 1u << POSE_POSITION) != 0;
    pose->has_degrees = (given & 1u << POSE_DEGREES) != 0;
    pose->has_rotation = (given & 1u << POSE_ROTATION) != 0;
    return !(pose->has_degrees && pose->has_rotation) ||
           scene_refuse(r, TARN_E_MALFORMED, path,
                        "found both rotation_deg and rotation, allowed is at most one of them");
}

// ---- fitting ----

bool scene_fit_pose(scene_reader *r, const char *path, const pose_draft *pose, tarn_pose *fitted)
{
    double rotation[4] = {0, 0, 0, 1};
    if (pose->has_degrees) {
        tarn_turn_quaternion(pose->degrees, rotation);
    } else if (pose->has_rotation) {
        const double *q = pose->rotation;
        double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
        if (fabs(length - 1) > 0.01) {
            return scene_refuse(r, TARN_E_LIMIT, path,
                                "rotation: found a quaternion of length %.4g, allowed is length 1 (to 1 %%)", length);
        }
        for (int i = 0; i < 4; i++) {
            rotation[i] = q[i] / length;
        }
    }
    for (int axis = 0; axis < 3; axis++) {
        fitted->position_m[axis] = (float)pose->position_m[axis];
    }
    for (int i = 0; i < 4; i++) {
        fitted->rotation[i] = (float)rotation[i];
    }
    return true;
}

static bool is_same_field(const shape_draft *a, const shape_draft *b)
{
    if (a->kind != b->kind || (a->file == NULL) != (b->file == NULL)) {
        return false;
    }
    bool same_source = a->file != NULL ? strcmp(a->file, b->file) == 0 : json_equal(a->heights, b->heights);
    return same_source && a->scale == b->scale && a->spacing_m == b->spacing_m && a->height_m == b->height_m;
}

/// The description's field for a mesh or heightfield: one that is there already, or a new one.
static bool fit_field(scene_reader *r, scene_draft *d, const char *path, const shape_draft *shape, tarn_shape *fitted)
{
    tarn_tank_desc *tank = &d->scene.tank;
    fitted->kind = TARN_SHAPE_FIELD;
    fitted->half_m[0] = 1.0f; // the scale is in the field
    for (uint32_t i = 0; i < tank->field_count; i++) {
        if (is_same_field(d->field_shapes[i], shape)) {
            fitted->field = i;
            return true;
        }
    }
    if (tank->field_count == TARN_TANK_FIELDS_MAX) {
        return scene_refuse(r, TARN_E_LIMIT, path, "found one more different mesh or heightfield, allowed are %d",
                            TARN_TANK_FIELDS_MAX);
    }
    char inner[SCENE_PATH_BYTES];
    scene_write_path(inner, "%s.%s", path, kind_names[shape->kind]);
    if (!scene_make_field(r, inner, shape, d->cell_m, &tank->fields[tank->field_count])) {
        return false;
    }
    d->field_shapes[tank->field_count] = shape;
    fitted->field = tank->field_count++;
    return true;
}

bool scene_fit_shape(scene_reader *r, scene_draft *d, const char *path, const shape_draft *shape, tarn_shape *fitted)
{
    fitted->inverted = shape->inverted;
    switch (shape->kind) {
    case SHAPE_BOX:
        fitted->kind = TARN_SHAPE_BOX;
        for (int axis = 0; axis < 3; axis++) {
            fitted->half_m[axis] = (float)(0.5 * shape->size_m[axis]);
        }
        return true;
    case SHAPE_SPHERE:
        fitted->kind = TARN_SHAPE_SPHERE;
        fitted->half_m[0] = (float)shape->radius_m;
        return true;
    case SHAPE_CAPSULE:
    case SHAPE_CYLINDER:
        fitted->kind = shape->kind == SHAPE_CAPSULE ? TARN_SHAPE_CAPSULE : TARN_SHAPE_CYLINDER;
        fitted->half_m[0] = (float)shape->radius_m;
        fitted->half_m[1] = (float)(0.5 * shape->length_m);
        return true;
    default:
        return fit_field(r, d, path, shape, fitted);
    }
}
