// Shapes as signed distances: checks, poses, distances, bounds; volume and inertia.
#include "kernels/shapes/shape.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

// ---- checks ----

/// How many of half_m a kind reads, and what they are called.
static const struct {
    const char *name;
    int size_count;
    const char *sizes[3];
} kinds[TARN_SHAPE_COUNT] = {
    [TARN_SHAPE_BOX] = {"box", 3, {"half extent x", "half extent y", "half extent z"}},
    [TARN_SHAPE_SPHERE] = {"sphere", 1, {"radius"}},
    [TARN_SHAPE_CAPSULE] = {"capsule", 2, {"radius", "half height"}},
    [TARN_SHAPE_CYLINDER] = {"cylinder", 2, {"radius", "half height"}},
    [TARN_SHAPE_FIELD] = {"field", 1, {"scale"}},
};

static bool field_is_sound(const tarn_distance_field *field)
{
    bool sound = field->distance_m != NULL && isfinite(field->spacing_m) && field->spacing_m > 0.0f;
    for (int a = 0; a < 3; a++) {
        sound = sound && field->nodes[a] >= TARN_FIELD_NODES_MIN && field->nodes[a] <= TARN_FIELD_NODES_MAX &&
                isfinite(field->min_m[a]);
    }
    return sound;
}

tarn_status tarn_shape_check(const tarn_shape *shape, const tarn_distance_field *fields, uint32_t field_count,
                             char *why, size_t why_bytes)
{
    char unused[1];
    if (why == NULL) {
        why = unused;
        why_bytes = sizeof unused;
    }
    if ((unsigned)shape->kind >= TARN_SHAPE_COUNT) {
        snprintf(why, why_bytes, "kind: found %d, allowed are 0 to %d", (int)shape->kind, TARN_SHAPE_COUNT - 1);
        return TARN_E_ARGUMENT;
    }
    for (int i = 0; i < kinds[shape->kind].size_count; i++) {
        const float size = shape->half_m[i];
        if (!(size >= TARN_SHAPE_SIZE_M_MIN && size <= TARN_SHAPE_SIZE_M_MAX)) {
            snprintf(why, why_bytes, "%s of a %s: found %g, allowed are %g to %g", kinds[shape->kind].sizes[i],
                     kinds[shape->kind].name, (double)size, (double)TARN_SHAPE_SIZE_M_MIN,
                     (double)TARN_SHAPE_SIZE_M_MAX);
            return TARN_E_ARGUMENT;
        }
    }
    if (shape->inverted > 1) {
        snprintf(why, why_bytes, "inverted: found %u, allowed are 0 and 1", shape->inverted);
        return TARN_E_ARGUMENT;
    }
    if (shape->kind == TARN_SHAPE_FIELD && shape->field >= field_count) {
        snprintf(why, why_bytes, "field: found %u, allowed is less than %u, the number of fields", shape->field,
                 field_count);
        return TARN_E_ARGUMENT;
    }
    if (shape->kind == TARN_SHAPE_FIELD && !field_is_sound(&fields[shape->field])) {
        snprintf(why, why_bytes, "field %u: found no distances, or a grid that isn't %d to %d nodes per axis",
                 shape->field, TARN_FIELD_NODES_MIN, TARN_FIELD_NODES_MAX);
        return TARN_E_ARGUMENT;
    }
    return TARN_OK;
}

// ---- poses ----

void tarn_pose_matrix(const tarn_pose *pose, double matrix[3][3])
{
    const double x = pose->rotation[0], y = pose->rotation[1], z = pose->rotation[2], w = pose->rotation[3];
    const double square = x * x + y * y + z * z + w * w;
    const double s = square > 0.0 ? 2.0 / square : 0.0; // the division makes a unit quaternion of any
    matrix[0][0] = 1.0 - s * (y * y + z * z);
    matrix[0][1] = s * (x * y - z * w);
    matrix[0][2] = s * (x * z + y * w);
    matrix[1][0] = s * (x * y + z * w);
    matrix[1][1] = 1.0 - s * (x * x + z * z);
    matrix[1][2] = s * (y * z - x * w);
    matrix[2][0] = s * (x * z - y * w);
    matrix[2][1] = s * (y * z + x * w);
    matrix[2][2] = 1.0 - s * (x * x + y * y);
}

void tarn_pose_to_shape(const tarn_pose *pose, const double point_m[3], double local_m[3])
{
    double m[3][3], from[3];
    tarn_pose_matrix(pose, m);
    for (int a = 0; a < 3; a++) {
        from[a] = point_m[a] - (double)pose->position_m[a];
    }
    for (int a = 0; a < 3; a++) {
        local_m[a] = m[0][a] * from[0] + m[1][a] * from[1] + m[2][a] * from[2];
    }
}

void tarn_pose_from_shape(const tarn_pose *pose, const double local_m[3], double point_m[3])
{
    double m[3][3];
    const double at[3] = {local_m[0], local_m[1], local_m[2]};
    tarn_pose_matrix(pose, m);
    for (int a = 0; a < 3; a++) {
        point_m[a] = m[a][0] * at[0] + m[a][1] * at[1] + m[a][2] * at[2] + (double)pose->position_m[a];
    }
}

// ---- distances ----

static double box_distance_m(const float half_m[3], const double p[3])
{
    double square = 0.0, inside = -INFINITY;
    for (int a = 0; a < 3; a++) {
        const double beyond = fabs(p[a]) - (double)half_m[a];
        square += beyond > 0.0 ? beyond * beyond : 0.0;
        inside = beyond > inside ? beyond : inside;
    }
    return inside > 0.0 ? sqrt(square) : inside;
}

static double cylinder_distance_m(double radius_m, double half_height_m, const double p[3])
{
    const double side = sqrt(p[0] * p[0] + p[2] * p[2]) - radius_m, end = fabs(p[1]) - half_height_m;
    if (side > 0.0 && end > 0.0) {
        return sqrt(side * side + end * end);
    }
    return side > end ? side : end;
}

static double capsule_distance_m(double radius_m, double half_height_m, const double p[3])
{
    const double beyond = fabs(p[1]) - half_height_m, y = beyond > 0.0 ? beyond : 0.0;
    return sqrt(p[0] * p[0] + y * y + p[2] * p[2]) - radius_m;
}

double tarn_distance_field_at_m(const tarn_distance_field *field, const double point_m[3])
{
    size_t at = 0;
    const size_t stride[3] = {1, field->nodes[0], (size_t)field->nodes[0] * field->nodes[1]};
    double share[3], outside = 0.0;
    for (int a = 0; a < 3; a++) {
        const double spacing = field->spacing_m, last = field->nodes[a] - 1.0;
        const double wanted = (point_m[a] - (double)field->min_m[a]) / spacing;
        const double inside = wanted > 0.0 ? wanted < last ? wanted : last : 0.0; // also of what is no number
        outside += (wanted - inside) * (wanted - inside) * spacing * spacing;
        const uint32_t node = inside < last ? (uint32_t)inside : field->nodes[a] - 2;
        share[a] = inside - node;
        at += node * stride[a];
    }
    double sum = 0.0;
    for (int corner = 0; corner < 8; corner++) {
        double weight = 1.0;
        size_t index = at;
        for (int a = 0; a < 3; a++) {
            weight *= corner >> a & 1 ? share[a] : 1.0 - share[a];
            index += corner >> a & 1 ? stride[a] : 0;
        }
        sum += weight * (double)field->distance_m[index];
    }
    return outside > 0.0 ? sum + sqrt(outside) : sum;
}

/// The largest difference between two nodes that follow each other along a row of them, `stride` apart.
static float row_change(const float *distance_m, uint32_t count, size_t stride)
{
    float most = 0.0f;
    for (uint32_t i = 0; i < count; i++) {
        const float change = fabsf(distance_m[i + stride] - distance_m[i]);
        most = change > most ? change : most;
    }
    return most;
}

double tarn_distance_field_slope(const tarn_distance_field *field)
{
    const uint32_t nx = field->nodes[0], ny = field->nodes[1], nz = field->nodes[2];
    float most[3] = {field->spacing_m, field->spacing_m, field->spacing_m}; // what it is outside the grid
    const float *row = field->distance_m;
    for (uint32_t z = 0; z < nz; z++) {
        for (uint32_t y = 0; y < ny; y++, row += nx) {
            most[0] = fmaxf(most[0], row_change(row, nx - 1, 1));
            if (y + 1 < ny) {
                most[1] = fmaxf(most[1], row_change(row, nx, nx));
            }
            if (z + 1 < nz) {
                most[2] = fmaxf(most[2], row_change(row, nx, (size_t)nx * ny));
            }
        }
    }
    // Between nodes the change along an axis is a mean of those along four edges.
    double square = 0.0;
    for (int a = 0; a < 3; a++) {
        square += (double)most[a] * (double)most[a];
    }
    return 1.000001 * sqrt(square) / (double)field->spacing_m; // the differences are rounded
}

void tarn_distance_field_free(tarn_distance_field *field)
{
    if (field == NULL) {
        return;
    }
    free(field->distance_m);
    *field = (tarn_distance_field){.distance_m = NULL};
}

double tarn_shape_distance_m(const tarn_shape *shape, const tarn_distance_field *fields, const double local_m[3])
{
    const double size = shape->half_m[0], half_height = shape->half_m[1];
    double distance = 0.0;
    switch (shape->kind) {
    case TARN_SHAPE_BOX:
        distance = box_distance_m(shape->half_m, local_m);
        break;
    case TARN_SHAPE_SPHERE:
        distance = capsule_distance_m(size, 0.0, local_m);
        break;
    case TARN_SHAPE_CAPSULE:
        distance = capsule_distance_m(size, half_height, local_m);
        break;
    case TARN_SHAPE_CYLINDER:
        distance = cylinder_distance_m(size, half_height, local_m);
        break;
    case TARN_SHAPE_FIELD: {
        const double unscaled[3] = {local_m[0] / size, local_m[1] / size, local_m[2] / size};
        distance = size * tarn_distance_field_at_m(&fields[shape->field], unscaled);
        break;
    }
    case TARN_SHAPE_COUNT:
        break;
    }
    return shape->inverted ? -distance : distance;
}

double tarn_shapes_distance_m(const tarn_shape *shapes, const tarn_pose *poses, uint32_t shape_count,
                              const tarn_distance_field *fields, const double point_m[3], uint32_t *nearest)
{
    double least = INFINITY;
    for (uint32_t i = 0; i < shape_count; i++) {
        double local_m[3];
        tarn_pose_to_shape(&poses[i], point_m, local_m);
        const double distance = tarn_shape_distance_m(&shapes[i], fields, local_m);
        if (distance < least) {
            least = distance;
            if (nearest != NULL) {
                *nearest = i;
            }
        }
    }
    return least;
}

// ---- bounds ----

/// The box around what is solid in a field. A negative node is the centre of a solid ball as large as its distance, and
/// the surface lies less than a cell away from the outermost of them.
static void field_bounds(const tarn_distance_field *field, double min_m[3], double max_m[3])
{
    const double spacing = field->spacing_m;
    bool any = false;
    for (int a = 0; a < 3; a++) {
        min_m[a] = INFINITY;
        max_m[a] = -INFINITY;
    }
    const float *distance = field->distance_m;
    for (uint32_t z = 0; z < field->nodes[2]; z++) {
        for (uint32_t y = 0; y < field->nodes[1]; y++) {
            for (uint32_t x = 0; x < field->nodes[0]; x++, distance++) {
                if (!(*distance < 0.0f)) {
                    continue;
                }
                const double reach = -(double)*distance > spacing ? -(double)*distance : spacing;
                const uint32_t node[3] = {x, y, z};
                any = true;
                for (int a = 0; a < 3; a++) {
                    const double at = (double)field->min_m[a] + spacing * node[a];
                    min_m[a] = at - reach < min_m[a] ? at - reach : min_m[a];
                    max_m[a] = at + reach > max_m[a] ? at + reach : max_m[a];
                }
            }
        }
    }
    for (int a = 0; a < 3 && !any; a++) {
        min_m[a] = field->min_m[a];
        max_m[a] = (double)field->min_m[a] + spacing * (field->nodes[a] - 1.0);
    }
}

/// Half extents of the box that a box or a field has in its own frame, 0 for round shapes; and the shape's centre,
/// which is the origin but for fields.
static void local_box(const tarn_shape *shape, const tarn_distance_field *fields, double center_m[3], double half_m[3])
{
    const double scale = shape->half_m[0];
    for (int a = 0; a < 3; a++) {
        center_m[a] = 0.0;
        half_m[a] = 0.0;
    }
    if (shape->kind == TARN_SHAPE_BOX) {
        for (int a = 0; a < 3; a++) {
            half_m[a] = shape->half_m[a];
        }
    } else if (shape->kind == TARN_SHAPE_FIELD) {
        double min_m[3], max_m[3];
        field_bounds(&fields[shape->field], min_m, max_m);
        for (int a = 0; a < 3; a++) {
            center_m[a] = 0.5 * (min_m[a] + max_m[a]) * scale;
            half_m[a] = 0.5 * (max_m[a] - min_m[a]) * scale;
        }
    }
}

/// How far the shape reaches from its box's centre along an axis of the caller, whose direction in the shape's frame
/// is `way`.
static double reach_m(const tarn_shape *shape, const double half_m[3], const double way[3])
{
    const double radius = shape->half_m[0], along = fabs(way[1]) * (double)shape->half_m[1];
    const double across = 1.0 - way[1] * way[1];
    switch (shape->kind) {
    case TARN_SHAPE_SPHERE:
        return radius;
    case TARN_SHAPE_CAPSULE:
        return radius + along;
    case TARN_SHAPE_CYLINDER:
        return radius * sqrt(across > 0.0 ? across : 0.0) + along;
    default:
        return fabs(way[0]) * half_m[0] + fabs(way[1]) * half_m[1] + fabs(way[2]) * half_m[2];
    }
}

void tarn_shape_bounds_m(const tarn_shape *shape, const tarn_pose *pose, const tarn_distance_field *fields,
                         double min_m[3], double max_m[3])
{
    double m[3][3], center[3], half[3];
    tarn_pose_matrix(pose, m);
    local_box(shape, fields, center, half);
    tarn_pose_from_shape(pose, center, center);
    for (int a = 0; a < 3; a++) {
        const double reach = reach_m(shape, half, m[a]);
        min_m[a] = center[a] - reach;
        max_m[a] = center[a] + reach;
    }
}

void tarn_shape_bounding_sphere_m(const tarn_shape *shape, const tarn_pose *pose, const tarn_distance_field *fields,
                                  double center_m[3], double *radius_m)
{
    const double radius = shape->half_m[0], half_height = shape->half_m[1];
    double half[3];
    local_box(shape, fields, center_m, half);
    tarn_pose_from_shape(pose, center_m, center_m);
    if (shape->kind == TARN_SHAPE_SPHERE) {
        *radius_m = radius;
    } else if (shape->kind == TARN_SHAPE_CAPSULE) {
        *radius_m = radius + half_height;
    } else if (shape->kind == TARN_SHAPE_CYLINDER) {
        *radius_m = sqrt(radius * radius + half_height * half_height);
    } else {
        *radius_m = sqrt(half[0] * half[0] + half[1] * half[1] + half[2] * half[2]);
    }
}

// ---- masses ----
// Volume, centre of mass and inertia.

#define PI 3.14159265358979323846

enum {
    SAMPLES = 4, // per axis of a cell that the surface cuts
};

// ---- masses: primitives ----

static void box_mass(const float half_m[3], tarn_shape_mass *mass)
{
    const double x = half_m[0], y = half_m[1], z = half_m[2];
    mass->volume_m3 = 8.0 * x * y * z;
    mass->inertia_m5[0][0] = mass->volume_m3 * (y * y + z * z) / 3.0;
    mass->inertia_m5[1][1] = mass->volume_m3 * (x * x + z * z) / 3.0;
    mass->inertia_m5[2][2] = mass->volume_m3 * (x * x + y * y) / 3.0;
}

/// A cylinder of radius r from -h to h on the y axis, and the two halves of a ball at its ends where `ends` is 1.
static void round_mass(double r, double h, double ends, tarn_shape_mass *mass)
{
    const double trunk = 2.0 * PI * r * r * h, ball = ends * 4.0 / 3.0 * PI * r * r * r;
    mass->volume_m3 = trunk + ball;
    mass->inertia_m5[1][1] = trunk * r * r / 2.0 + ball * r * r * 0.4;
    // The centre of half a ball lies 3/8 r off its flat side, which gives the term with h * r.
    mass->inertia_m5[0][0] = trunk * (r * r / 4.0 + h * h / 3.0) + ball * (0.4 * r * r + h * h + 0.75 * h * r);
    mass->inertia_m5[2][2] = mass->inertia_m5[0][0];
}

// ---- masses: fields ----

/// Integrals over the solid of 1, of x_a and of x_a x_b.
typedef struct moments {
    double one, first[3], second[3][3];
} moments;

/// Adds a box with equal edges, of which `share` is solid.
static void add_cube(moments *sum, const double center[3], double edge, double share)
{
    const double volume = share * edge * edge * edge;
    sum->one += volume;
    for (int a = 0; a < 3; a++) {
        sum->first[a] += volume * center[a];
        for (int b = 0; b <= a; b++) {
            sum->second[a][b] += volume * (center[a] * center[b] + (a == b ? edge * edge / 12.0 : 0.0));
        }
    }
}

/// Samples a cell that the surface cuts. A sample's cube is solid by the share that a plane at its distance leaves.
static void add_cut_cell(moments *sum, const tarn_distance_field *field, const double min[3])
{
    const double edge = (double)field->spacing_m / SAMPLES;
    for (int i = 0; i < SAMPLES * SAMPLES * SAMPLES; i++) {
        const int at[3] = {i % SAMPLES, i / SAMPLES % SAMPLES, i / (SAMPLES * SAMPLES)};
        double center[3];
        for (int a = 0; a < 3; a++) {
            center[a] = min[a] + (at[a] + 0.5) * edge;
        }
        const double share = 0.5 - tarn_distance_field_at_m(field, center) / edge;
        if (share > 0.0) {
            add_cube(sum, center, edge, share < 1.0 ? share : 1.0);
        }
    }
}

static void add_cell(moments *sum, const tarn_distance_field *field, const uint32_t node[3])
{
    const size_t nx = field->nodes[0], nxy = nx * field->nodes[1];
    const float *corner = field->distance_m + node[0] + node[1] * nx + node[2] * nxy;
    const float edge = field->spacing_m / SAMPLES;
    bool full = true, empty = true;
    for (int c = 0; c < 8; c++) {
        const float distance = corner[(c & 1 ? 1 : 0) + (c & 2 ? nx : 0) + (c & 4 ? nxy : 0)];
        full = full && distance <= -edge;
        empty = empty && distance >= edge;
    }
    if (empty) {
        return;
    }
    double min[3], center[3];
    for (int a = 0; a < 3; a++) {
        min[a] = (double)field->min_m[a] + (double)field->spacing_m * node[a];
        center[a] = min[a] + 0.5 * (double)field->spacing_m;
    }
    if (full) {
        add_cube(sum, center, field->spacing_m, 1.0);
    } else {
        add_cut_cell(sum, field, min);
    }
}

static bool solid_at_border(const tarn_distance_field *field)
{
    const float *distance = field->distance_m;
    for (uint32_t z = 0; z < field->nodes[2]; z++) {
        for (uint32_t y = 0; y < field->nodes[1]; y++) {
            for (uint32_t x = 0; x < field->nodes[0]; x++, distance++) {
                const bool border = x == 0 || y == 0 || z == 0 || x == field->nodes[0] - 1 ||
                                    y == field->nodes[1] - 1 || z == field->nodes[2] - 1;
                if (border && *distance < 0.0f) {
                    return true;
                }
            }
        }
    }
    return false;
}

/// @return whether there is a solid, all of it in the grid
static bool field_mass(const tarn_distance_field *field, double scale, tarn_shape_mass *mass)
{
    moments sum = {.one = 0.0};
    if (solid_at_border(field)) {
        return false;
    }
    for (uint32_t z = 0; z + 1 < field->nodes[2]; z++) {
        for (uint32_t y = 0; y + 1 < field->nodes[1]; y++) {
            for (uint32_t x = 0; x + 1 < field->nodes[0]; x++) {
                add_cell(&sum, field, (const uint32_t[3]){x, y, z});
            }
        }
    }
    if (!(sum.one > 0.0)) {
        return false;
    }
    const double cube = scale * scale * scale;
    double second[3][3];
    mass->volume_m3 = sum.one * cube;
    for (int a = 0; a < 3; a++) {
        mass->center_m[a] = sum.first[a] / sum.one * scale;
    }
    for (int a = 0; a < 3; a++) {
        for (int b = 0; b < 3; b++) {
            const double about_origin = (b <= a ? sum.second[a][b] : sum.second[b][a]) * cube * scale * scale;
            second[a][b] = about_origin - mass->volume_m3 * mass->center_m[a] * mass->center_m[b];
        }
    }
    const double trace = second[0][0] + second[1][1] + second[2][2];
    for (int a = 0; a < 3; a++) {
        for (int b = 0; b < 3; b++) {
            mass->inertia_m5[a][b] = (a == b ? trace : 0.0) - second[a][b];
        }
    }
    return true;
}

tarn_status tarn_shape_mass_get(const tarn_shape *shape, const tarn_distance_field *fields, tarn_shape_mass *mass)
{
    const double radius = shape->half_m[0];
    tarn_shape_mass found = {.volume_m3 = 0.0};
    if (shape->inverted) {
        return TARN_E_ARGUMENT;
    }
    switch (shape->kind) {
    case TARN_SHAPE_BOX:
        box_mass(shape->half_m, &found);
        break;
    case TARN_SHAPE_SPHERE:
        round_mass(radius, 0.0, 1.0, &found);
        break;
    case TARN_SHAPE_CAPSULE:
        round_mass(radius, shape->half_m[1], 1.0, &found);
        break;
    case TARN_SHAPE_CYLINDER:
        round_mass(radius, shape->half_m[1], 0.0, &found);
        break;
    case TARN_SHAPE_FIELD:
        if (!field_mass(&fields[shape->field], radius, &found)) {
            return TARN_E_ARGUMENT;
        }
        break;
    case TARN_SHAPE_COUNT:
        return TARN_E_ARGUMENT;
    }
    *mass = found;
    return TARN_OK;
}
