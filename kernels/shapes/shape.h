/// Solid shapes: what stands in a tank, floats in it, or marks where liquid enters and leaves.
#ifndef TARN_KERNELS_SHAPES_SHAPE_H
#define TARN_KERNELS_SHAPES_SHAPE_H

#include <stdint.h>

typedef enum tarn_shape_kind {
    TARN_SHAPE_BOX,
    TARN_SHAPE_SPHERE,
    TARN_SHAPE_CAPSULE,
    TARN_SHAPE_CYLINDER,
    TARN_SHAPE_FIELD, ///< a sampled signed distance: a mesh, a heightfield
    TARN_SHAPE_COUNT
} tarn_shape_kind;

/// A shape in its own frame: centred on the origin, y is the axis.
typedef struct tarn_shape {
    tarn_shape_kind kind;
    float half_m[3];   ///< box: half extents; sphere: radius; capsule, cylinder: radius, half height; field: scale
    uint32_t field;    ///< of a field: its index
    uint32_t inverted; ///< 1: the solid is what lies outside (a container)
} tarn_shape;

typedef struct tarn_pose {
    float position_m[3];
    float rotation[4]; ///< unit quaternion x, y, z, w
} tarn_pose;

/// Signed distance at nodes, negative inside. Node (x, y, z) lies at min_m + spacing_m * (x, y, z) and has the index
/// (z * nodes[1] + y) * nodes[0] + x. Outside the grid: the value at the nearest point of it, plus the distance to
/// that.
typedef struct tarn_distance_field {
    uint32_t nodes[3];
    float spacing_m;
    float min_m[3];
    float *distance_m;
} tarn_distance_field;

#endif
