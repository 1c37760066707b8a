// Volume, centre of mass and inertia of shapes.
#include "kernels/shapes/shape.h"

#include <math.h>
#include <stdbool.h>

#define PI 3.14159265358979323846

enum {
    SAMPLES = 4, // per axis of a cell that the surface cuts
};

// ---- primitives ----

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

// ---- fields ----

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
