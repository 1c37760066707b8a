/// Shapes of solids as signed distances: negative inside, positive outside, in metres. A shape lies in a frame of its
/// own, centred on the origin with y as its axis; a pose puts it somewhere. Everything here is computed in doubles with
/// no operation of libm but the square root, so that a sampled shape has the same bits on every machine.
///
/// All functions may run on any thread and change nothing; none but tarn_distance_field_free touches memory that isn't
/// the caller's.
#ifndef TARN_KERNELS_SHAPES_SHAPE_H
#define TARN_KERNELS_SHAPES_SHAPE_H

#include "protocol/status.h"

#include <stddef.h>
#include <stdint.h>

#define TARN_SHAPE_SIZE_M_MIN 1e-4f ///< of a half extent, a radius, a half height; also the least scale of a field
#define TARN_SHAPE_SIZE_M_MAX 1e4f

enum {
    TARN_FIELD_NODES_MIN = 2,   ///< per axis
    TARN_FIELD_NODES_MAX = 256, ///< per axis
    TARN_FIELD_BYTES_MAX = TARN_FIELD_NODES_MAX * TARN_FIELD_NODES_MAX * TARN_FIELD_NODES_MAX * 4,
};

typedef enum tarn_shape_kind {
    TARN_SHAPE_BOX,
    TARN_SHAPE_SPHERE,
    TARN_SHAPE_CAPSULE,
    TARN_SHAPE_CYLINDER,
    TARN_SHAPE_FIELD,
    TARN_SHAPE_COUNT
} tarn_shape_kind;

typedef struct tarn_shape {
    tarn_shape_kind kind;
    float half_m[3];   ///< box: half extents; sphere: {radius}; capsule, cylinder: {radius, half height of the
                       ///< cylindrical part}; field: {scale, without unit}
    uint32_t field;    ///< index into the caller's array of fields; read for TARN_SHAPE_FIELD only
    uint32_t inverted; ///< 1: a container, solid outside; 0: solid inside
} tarn_shape;

/// From a shape's frame to the caller's: turned first, then moved.
typedef struct tarn_pose {
    float position_m[3];
    float rotation[4]; ///< quaternion x, y, z, w; scaled to unit length where it is used, all zero: not turned
} tarn_pose;

/// A sampled signed distance: node (x, y, z) lies at min + spacing * (x, y, z) and has the index (z * ny + y) * nx + x.
/// Trilinear between nodes; outside the grid: the distance at the nearest point of the grid plus the distance to it.
typedef struct tarn_distance_field {
    uint32_t nodes[3]; ///< TARN_FIELD_NODES_MIN..TARN_FIELD_NODES_MAX
    float spacing_m;
    float min_m[3];
    float *distance_m; ///< made by malloc; whoever has the field frees it
    float thin_m;      ///< of a mesh: so thick at most is a tenth of its surface; 0: not known
} tarn_distance_field;

/// What a floating body needs to know, for density 1.
typedef struct tarn_shape_mass {
    double volume_m3;
    double center_m[3];      ///< centre of mass in the shape's frame
    double inertia_m5[3][3]; ///< about the centre of mass, along the shape's axes; symmetric
} tarn_shape_mass;

#ifdef __cplusplus
extern "C" {
#endif

/// Whether the shape's numbers are ones that the functions below take.
/// @param fields  what shape->field counts into; NULL where there are none
/// @param why     where not NULL: which number was wrong, what was found and what is allowed
/// @return TARN_OK or TARN_E_ARGUMENT
tarn_status tarn_shape_check(const tarn_shape *shape, const tarn_distance_field *fields, uint32_t field_count,
                             char *why, size_t why_bytes);

/// A point between the caller's frame and the shape's. The arrays may be the same one.
void tarn_pose_to_shape(const tarn_pose *pose, const double point_m[3], double local_m[3]);
void tarn_pose_from_shape(const tarn_pose *pose, const double local_m[3], double point_m[3]);

/// The rotation of a pose as a matrix: turned[row] = sum over column of matrix[row][column] * local[column].
void tarn_pose_matrix(const tarn_pose *pose, double matrix[3][3]);

/// Signed distance of a field's surface at a point in the field's frame.
double tarn_distance_field_at_m(const tarn_distance_field *field, const double point_m[3]);

/// The most by which a field's distance changes per metre, anywhere: at least 1, about 1.7 for true distances. Looks at
/// every node.
double tarn_distance_field_slope(const tarn_distance_field *field);

/// Takes NULL and a field that holds nothing. Leaves one that holds nothing.
void tarn_distance_field_free(tarn_distance_field *field);

/// Signed distance at a point of the shape's frame. Exact for the four primitives, inside and outside.
double tarn_shape_distance_m(const tarn_shape *shape, const tarn_distance_field *fields, const double local_m[3]);

/// Signed distance at a point of the caller's frame to the union of shapes: the least of theirs, which is exact outside
/// all of them and never too deep inside.
/// @param nearest  where not NULL: the index of the shape that the distance is to; the first of equals
/// @return +infinity for no shapes
double tarn_shapes_distance_m(const tarn_shape *shapes, const tarn_pose *poses, uint32_t shape_count,
                              const tarn_distance_field *fields, const double point_m[3], uint32_t *nearest);

/// Smallest axis-aligned box in the caller's frame around the shape's surface; for a field up to a cell larger, and
/// turned as a box. Of an inverted shape too it is the box around the surface: beyond it all is solid. A field without
/// a negative node has the box of its grid. Looks at every node of a field.
void tarn_shape_bounds_m(const tarn_shape *shape, const tarn_pose *pose, const tarn_distance_field *fields,
                         double min_m[3], double max_m[3]);

/// A sphere around the shape's surface; the smallest for the primitives.
void tarn_shape_bounding_sphere_m(const tarn_shape *shape, const tarn_pose *pose, const tarn_distance_field *fields,
                                  double center_m[3], double *radius_m);

/// Volume, centre of mass and inertia. Analytic for the primitives; a field is summed over its cells, those that the
/// surface cuts over 4 samples per axis: the error of the volume is of second order in the spacing.
/// @return TARN_OK, or TARN_E_ARGUMENT: the shape is inverted, or a field that is solid at its border or nowhere
tarn_status tarn_shape_mass_get(const tarn_shape *shape, const tarn_distance_field *fields, tarn_shape_mass *mass);

#ifdef __cplusplus
}
#endif

#endif
