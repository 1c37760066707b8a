// What USD layers of tanks hold: the tank, its solids and bodies as prims, start at usd_scene_open; beside them
// particles or a surface. How it gets into a file is usd_layer.h's.
#include "server/tool/film/export.h"
#include "server/tool/film/render.h"
#include "server/tool/film/surface.h"
#include "server/tool/film/usd_layer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- values ----
// Values that don't depend on the layer's form, nor on what the liquid is shown as.

/// Linear red, green, blue.
static const float usd_water_colour[3] = {0.04f, 0.26f, 0.5f};

/// The box around spheres at all points, lowest and highest corner. Of no points: an empty box at the origin.
static void usd_extent(const float *points_m, uint64_t count, float radius_m, float box[6])
{
    memset(box, 0, 6 * sizeof(float));
    for (uint64_t i = 0; i < count; i++) {
        for (size_t axis = 0; axis < 3; axis++) {
            const float value = points_m[3 * i + axis];
            box[axis] = i == 0 || value - radius_m < box[axis] ? value - radius_m : box[axis];
            box[3 + axis] = i == 0 || value + radius_m > box[3 + axis] ? value + radius_m : box[3 + axis];
        }
    }
}

/// From a byte of sRGB to linear light, which is what displayColor holds.
static void usd_linear(float linear[256])
{
    for (int i = 0; i < 256; i++) {
        double c = i / 255.0;
        linear[i] = (float)(c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
}

/// Samples a colour for each point.
/// @param attribute  -1: isn't there yet, and is added to the prim
/// @param linear     room for 3 * count values; NULL: nothing is sampled
/// @return the attribute
static int usd_sample_colours(usd_layer *layer, int prim, int attribute, const uint8_t *colours, uint64_t count,
                              float *linear)
{
    float all[256];
    usd_linear(all);
    if (attribute < 0) {
        attribute = usd_layer_attribute(layer, prim, "color3f[]", "primvars:displayColor", "vertex");
    }
    for (uint64_t i = 0; i < 3 * count && linear != NULL; i++) {
        linear[i] = all[colours[i]];
    }
    if (linear != NULL) {
        usd_layer_sample(layer, attribute, linear, count);
    }
    return attribute;
}

/// Samples a channel's value for each point. @return as above
static int usd_sample_channel(usd_layer *layer, int prim, int attribute, const char *name, const float *values,
                              uint64_t count)
{
    if (attribute < 0) {
        char channel[USD_NAME_BYTES];
        snprintf(channel, sizeof channel, "primvars:%s", name);
        attribute = usd_layer_attribute(layer, prim, "float[]", channel, "vertex");
    }
    usd_layer_sample(layer, attribute, values, count);
    return attribute;
}

/// Gives a prim without colours that of water.
static void usd_default_colour(usd_layer *layer, int prim)
{
    usd_layer_default(layer, usd_layer_attribute(layer, prim, "color3f[]", "primvars:displayColor", "constant"),
                      usd_water_colour, 1);
}

// ---- the scene ----
// What USD layers hold beside the liquid, whatever that is shown as:
//
//     Tank       Xform         where it is in the room: only of one that is turned or shaken
//       Box      BasisCurves   its edges
//       Solid_0  Cube, Sphere, Capsule, Cylinder or Mesh: as the scene numbers its solids; bodies have time samples
//       Liquid   of the caller
//
// Schemas: UsdGeom, https://openusd.org/release/api/usd_geom_page_front.html

typedef struct usd_scene {
    usd_layer *layer;
    int tank; ///< the prim that the liquid belongs below
    int tank_translate, tank_orient;
    bool has_moved;
    double last_code;
    struct {
        int translate, orient; ///< attributes
        uint32_t solid;
    } bodies[TARN_TANK_SOLIDS_MAX];
    uint32_t body_count;
} usd_scene;

// ---- the scene's poses ----

static const float STONE[3] = {0.36f, 0.36f, 0.37f}; // of solids without a colour, as pictures have them
static const float GLASS = 0.25f;                    // opacity of containers

/// A unit quaternion of a pose; USD takes no other.
static void rotation_of(const tarn_pose *pose, float rotation[4])
{
    double length = 0.0;
    for (int i = 0; i < 4; i++) {
        length += (double)pose->rotation[i] * (double)pose->rotation[i];
    }
    length = sqrt(length);
    for (int i = 0; i < 4; i++) {
        rotation[i] = length > 0.0 ? (float)(pose->rotation[i] / length) : (i == 3 ? 1.0f : 0.0f);
    }
}

/// The tank turns about its middle, its prim about the corner at its origin.
static void tank_place(const export_info *info, const tarn_pose *pose, double position_m[3], float rotation[4])
{
    double turn[3][3];
    tarn_pose_matrix(pose, turn);
    rotation_of(pose, rotation);
    for (int axis = 0; axis < 3; axis++) {
        position_m[axis] = (double)pose->position_m[axis] + 0.5 * (double)info->size_m[axis];
        for (int k = 0; k < 3; k++) {
            position_m[axis] -= turn[axis][k] * 0.5 * (double)info->size_m[k];
        }
    }
}

static bool is_still(const tarn_pose *pose)
{
    return pose->position_m[0] == 0.0f && pose->position_m[1] == 0.0f && pose->position_m[2] == 0.0f &&
           pose->rotation[0] == 0.0f && pose->rotation[1] == 0.0f && pose->rotation[2] == 0.0f;
}

static void sample_tank(usd_scene *scene, const tarn_pose *pose)
{
    double position_m[3];
    float rotation[4];
    tank_place(scene->layer->info, pose, position_m, rotation);
    usd_layer_sample(scene->layer, scene->tank_translate, position_m, 1);
    usd_layer_sample(scene->layer, scene->tank_orient, rotation, 1);
}

/// From when it moves for the first time on: before a first sample its value holds.
static void move_tank(usd_scene *scene, const tarn_pose *pose)
{
    usd_layer *layer = scene->layer;
    if (!scene->has_moved && is_still(pose)) {
        return;
    }
    if (!scene->has_moved && layer->frame_count > 1) {
        const double code = layer->code;
        layer->code = scene->last_code;
        sample_tank(scene, &(tarn_pose){.rotation = {0, 0, 0, 1}});
        layer->code = code;
    }
    scene->has_moved = true;
    sample_tank(scene, pose);
}

// ---- the scene's prims ----

static void add_tank(usd_scene *scene)
{
    usd_layer *layer = scene->layer;
    scene->tank = usd_layer_prim(layer, "Xform", "Tank", -1);
    scene->tank_translate = usd_layer_attribute(layer, scene->tank, "double3", "xformOp:translate", "");
    scene->tank_orient = usd_layer_attribute(layer, scene->tank, "quatf", "xformOp:orient", "");
}

/// Two loops and what joins them.
static void add_box(usd_scene *scene)
{
    static const uint8_t corners[] = {0, 1, 5, 4, 0, 2, 3, 7, 6, 2, 0, 2, 1, 3, 5, 7, 4, 6}; // x + 2 y + 4 z
    enum { COUNT = sizeof corners / sizeof corners[0] };
    static const int32_t curves[] = {5, 5, 2, 2, 2, 2};
    static const float grey[] = {0.5f, 0.5f, 0.5f};
    usd_layer *layer = scene->layer;
    const float *size_m = layer->info->size_m;
    const float extent[6] = {0, 0, 0, size_m[0], size_m[1], size_m[2]};
    const float width_m = 0.1f * layer->info->cell_m;
    float points[3 * COUNT];
    for (int i = 0; i < COUNT; i++) {
        for (int axis = 0; axis < 3; axis++) {
            points[3 * i + axis] = (corners[i] >> axis & 1) != 0 ? size_m[axis] : 0.0f;
        }
    }
    const int box = usd_layer_prim(layer, "BasisCurves", "Box", scene->tank);
    usd_layer_uniform(layer, box, "token", "type", &(const char *){"linear"}, 1);
    usd_layer_default(layer, usd_layer_attribute(layer, box, "int[]", "curveVertexCounts", ""), curves, 6);
    usd_layer_default(layer, usd_layer_attribute(layer, box, "point3f[]", "points", ""), points, COUNT);
    usd_layer_default(layer, usd_layer_attribute(layer, box, "float[]", "widths", "constant"), &width_m, 1);
    usd_layer_default(layer, usd_layer_attribute(layer, box, "color3f[]", "primvars:displayColor", "constant"), grey,
                      1);
    usd_layer_default(layer, usd_layer_attribute(layer, box, "float3[]", "extent", ""), extent, 2);
}

/// The zero surface of a field, in the field's frame. A margin of nodes around it is outside.
static bool mesh_of_field(const tarn_distance_field *field, mesh *out)
{
    mesh_grid g = {.spacing_m = field->spacing_m, .tile_nodes = MESH_TILE_NODES_MAX};
    const uint32_t n = g.tile_nodes;
    for (int axis = 0; axis < 3; axis++) {
        g.origin_m[axis] = field->min_m[axis] - field->spacing_m;
        g.tiles[axis] = (field->nodes[axis] + 2 + n - 1) / n;
    }
    g.slot_count = g.tiles[0] * g.tiles[1] * g.tiles[2];
    g.slots = malloc(g.slot_count * sizeof *g.slots);
    g.tile_of = malloc(g.slot_count * sizeof *g.tile_of);
    g.values = malloc((size_t)g.slot_count * n * n * n * sizeof *g.values);
    bool is_made = g.slots != NULL && g.tile_of != NULL && g.values != NULL;
    for (uint32_t tile = 0; tile < g.slot_count && is_made; tile++) {
        g.slots[tile] = (int32_t)tile;
        g.tile_of[tile] = tile;
        const uint32_t first[3] = {tile % g.tiles[0] * n, tile / g.tiles[0] % g.tiles[1] * n,
                                   tile / g.tiles[0] / g.tiles[1] * n};
        for (uint32_t i = 0; i < n * n * n; i++) {
            // From one on; what wraps around is in the margin.
            const uint32_t x = first[0] + i % n - 1, y = first[1] + i / n % n - 1, z = first[2] + i / n / n - 1;
            const bool is_in = x < field->nodes[0] && y < field->nodes[1] && z < field->nodes[2];
            g.values[(size_t)tile * n * n * n + i] =
                is_in ? field->distance_m[((size_t)z * field->nodes[1] + y) * field->nodes[0] + x] : g.spacing_m;
        }
    }
    is_made = is_made && mesh_extract(&g, render_rows_threads(), out) == TARN_OK;
    free(g.slots);
    free(g.tile_of);
    free(g.values);
    return is_made;
}

static void add_field(usd_layer *layer, int prim, const tarn_distance_field *field)
{
    mesh m = {.vertex_count = 0};
    int32_t *counts = NULL;
    if (mesh_of_field(field, &m) && (counts = malloc((size_t)m.triangle_count * sizeof *counts + 1)) != NULL) {
        for (uint32_t i = 0; i < m.triangle_count; i++) {
            counts[i] = 3;
        }
        usd_layer_uniform(layer, prim, "token", "subdivisionScheme", &(const char *){"none"}, 1);
        usd_layer_default(layer, usd_layer_attribute(layer, prim, "int[]", "faceVertexCounts", ""), counts,
                          m.triangle_count);
        usd_layer_default(layer, usd_layer_attribute(layer, prim, "int[]", "faceVertexIndices", ""), m.triangles,
                          (uint64_t)3 * m.triangle_count);
        usd_layer_default(layer, usd_layer_attribute(layer, prim, "point3f[]", "points", ""), m.positions_m,
                          m.vertex_count);
    } else {
        layer->is_out_of_memory = true;
    }
    free(counts);
    mesh_free(&m);
}

static void add_double(usd_layer *layer, int prim, const char *name, double value)
{
    usd_layer_default(layer, usd_layer_attribute(layer, prim, "double", name, ""), &value, 1);
}

/// The shape's own numbers. @return how it is scaled along its axes, in `scale`
static void add_shape(usd_layer *layer, int prim, const tarn_shape *shape, float scale[3])
{
    const float *half_m = shape->half_m;
    for (int axis = 0; axis < 3; axis++) {
        scale[axis] =
            shape->kind == TARN_SHAPE_BOX ? 2.0f * half_m[axis] : (shape->kind == TARN_SHAPE_FIELD ? half_m[0] : 1.0f);
    }
    switch (shape->kind) {
    case TARN_SHAPE_BOX:
        add_double(layer, prim, "size", 1.0);
        break;
    case TARN_SHAPE_SPHERE:
        add_double(layer, prim, "radius", (double)half_m[0]);
        break;
    case TARN_SHAPE_CAPSULE:
    case TARN_SHAPE_CYLINDER:
        usd_layer_uniform(layer, prim, "token", "axis", &(const char *){"Y"}, 1);
        add_double(layer, prim, "radius", (double)half_m[0]);
        add_double(layer, prim, "height", 2.0 * (double)half_m[1]);
        break;
    default:
        add_field(layer, prim, &layer->info->fields[shape->field]);
        break;
    }
}

static void add_colour(usd_layer *layer, int prim, const tarn_solid *solid)
{
    const uint8_t *c = solid->colour;
    float all[256], colour[3];
    usd_linear(all);
    for (int i = 0; i < 3; i++) {
        colour[i] = c[0] == 0 && c[1] == 0 && c[2] == 0 ? STONE[i] : all[c[i]];
    }
    usd_layer_default(layer, usd_layer_attribute(layer, prim, "color3f[]", "primvars:displayColor", "constant"), colour,
                      1);
    if (solid->shape.inverted != 0) {
        usd_layer_default(layer, usd_layer_attribute(layer, prim, "float[]", "primvars:displayOpacity", "constant"),
                          &GLASS, 1);
    }
}

static void put_pose(usd_layer *layer, int translate, int orient, const tarn_pose *pose,
                     void (*put)(usd_layer *, int, const void *, uint64_t))
{
    const double position_m[3] = {(double)pose->position_m[0], (double)pose->position_m[1],
                                  (double)pose->position_m[2]};
    float rotation[4];
    rotation_of(pose, rotation);
    put(layer, translate, position_m, 1);
    put(layer, orient, rotation, 1);
}

static void add_solid(usd_scene *scene, uint32_t number)
{
    static const char *const prims[TARN_SHAPE_COUNT] = {
        [TARN_SHAPE_BOX] = "Cube",          [TARN_SHAPE_SPHERE] = "Sphere", [TARN_SHAPE_CAPSULE] = "Capsule",
        [TARN_SHAPE_CYLINDER] = "Cylinder", [TARN_SHAPE_FIELD] = "Mesh",
    };
    static const char *const order[] = {"xformOp:translate", "xformOp:orient", "xformOp:scale"};
    usd_layer *layer = scene->layer;
    const tarn_solid *solid = &layer->info->solids[number];
    char name[USD_NAME_BYTES];
    float scale[3];
    snprintf(name, sizeof name, "Solid_%u", number);
    const int prim = usd_layer_prim(layer, prims[solid->shape.kind], name, scene->tank);
    add_shape(layer, prim, &solid->shape, scale);
    add_colour(layer, prim, solid);
    const int translate = usd_layer_attribute(layer, prim, "double3", order[0], "");
    const int orient = usd_layer_attribute(layer, prim, "quatf", order[1], "");
    usd_layer_default(layer, usd_layer_attribute(layer, prim, "float3", order[2], ""), scale, 1);
    usd_layer_uniform(layer, prim, "token[]", "xformOpOrder", order, 3);
    if (solid->motion == TARN_MOTION_STATIC) {
        put_pose(layer, translate, orient, &solid->pose, usd_layer_default);
    } else {
        scene->bodies[scene->body_count].translate = translate;
        scene->bodies[scene->body_count].orient = orient;
        scene->bodies[scene->body_count++].solid = number;
    }
}

/// @return TARN_OK, or what usd_layer_open does; then there is nothing to close
static tarn_status usd_scene_open(usd_scene *scene, const char *path, const export_info *info, bool is_text, char *why)
{
    *scene = (usd_scene){.layer = NULL};
    tarn_status status = usd_layer_open(&scene->layer, path, info, is_text, why);
    if (status != TARN_OK) {
        return status;
    }
    add_tank(scene);
    add_box(scene);
    for (uint32_t i = 0; i < info->solid_count && i < TARN_TANK_SOLIDS_MAX; i++) {
        add_solid(scene, i);
    }
    return TARN_OK;
}

// ---- the scene's frames ----

/// Begins a frame, with the poses of what moves in it. The caller adds its own samples and calls usd_layer_end.
static void usd_scene_begin(usd_scene *scene, const export_frame *frame)
{
    usd_layer *layer = scene->layer;
    scene->last_code = layer->code;
    usd_layer_begin(layer, frame->time_s);
    move_tank(scene, &frame->pose);
    for (uint32_t i = 0; i < scene->body_count; i++) {
        const tarn_pose *pose = &layer->info->solids[scene->bodies[i].solid].pose;
        for (uint32_t b = 0; b < frame->body_count; b++) {
            pose = frame->bodies[b].solid == scene->bodies[i].solid ? &frame->bodies[b].pose : pose;
        }
        put_pose(layer, scene->bodies[i].translate, scene->bodies[i].orient, pose, usd_layer_sample);
    }
}

/// Closes the layer.
static tarn_status usd_scene_close(usd_scene *scene, bool keep, char *why)
{
    static const char *const order[] = {"xformOp:translate", "xformOp:orient"};
    if (scene->has_moved) {
        usd_layer_uniform(scene->layer, scene->tank, "token[]", "xformOpOrder", order, 2);
    }
    return usd_layer_close(scene->layer, keep, why);
}

// ---- particles ----
// Particles as a USD layer: a Points prim whose attributes have a time sample for each frame, beside the scene's.
// Schema: "UsdGeomPoints", https://openusd.org/release/api/class_usd_geom_points.html

/// Attributes of the liquid; -1: not there yet, because no frame had any.
typedef struct points_writer {
    usd_scene scene;
    int liquid, extent, ids, points, velocities, liquids, colours, channel;
    void *scratch; // for values that USD has in another form
    size_t scratch_bytes;
} points_writer;

static tarn_status points_open(const char *path, const export_info *info, bool is_text, void **writer, char *why)
{
    points_writer *w = calloc(1, sizeof *w);
    if (w == NULL) {
        return export_why_memory(path, why);
    }
    tarn_status status = usd_scene_open(&w->scene, path, info, is_text, why);
    if (status != TARN_OK) {
        free(w);
        return status;
    }
    usd_layer *layer = w->scene.layer;
    w->liquid = usd_layer_prim(layer, "Points", "Liquid", w->scene.tank);
    w->extent = usd_layer_attribute(layer, w->liquid, "float3[]", "extent", "");
    w->ids = usd_layer_attribute(layer, w->liquid, "int64[]", "ids", "");
    w->points = usd_layer_attribute(layer, w->liquid, "point3f[]", "points", "");
    w->velocities = usd_layer_attribute(layer, w->liquid, "vector3f[]", "velocities", "");
    w->liquids = w->colours = w->channel = -1;
    usd_layer_default(layer, usd_layer_attribute(layer, w->liquid, "float[]", "widths", "constant"), &info->spacing_m,
                      1);
    *writer = w;
    return TARN_OK;
}

static void *scratch(points_writer *w, size_t bytes)
{
    if (bytes > w->scratch_bytes) {
        free(w->scratch);
        w->scratch = malloc(bytes);
        w->scratch_bytes = w->scratch != NULL ? bytes : 0;
    }
    w->scene.layer->is_out_of_memory |= bytes > w->scratch_bytes;
    return bytes > w->scratch_bytes ? NULL : w->scratch;
}

static void sample_ids(points_writer *w, const export_frame *frame)
{
    int64_t *wide = scratch(w, (size_t)frame->particle_count * sizeof *wide);
    for (size_t i = 0; i < frame->particle_count && wide != NULL; i++) {
        wide[i] = frame->ids[i];
    }
    usd_layer_sample(w->scene.layer, w->ids, wide, wide != NULL ? frame->particle_count : 0);
}

static void sample_liquids(points_writer *w, const export_frame *frame)
{
    int32_t *wide = scratch(w, (size_t)frame->particle_count * sizeof *wide);
    for (size_t i = 0; i < frame->particle_count && wide != NULL; i++) {
        wide[i] = frame->liquids[i];
    }
    if (w->liquids < 0) {
        w->liquids = usd_layer_attribute(w->scene.layer, w->liquid, "int[]", "primvars:liquid", "vertex");
    }
    usd_layer_sample(w->scene.layer, w->liquids, wide, wide != NULL ? frame->particle_count : 0);
}

static tarn_status points_frame(void *writer, const export_frame *frame, char *why)
{
    points_writer *w = writer;
    usd_layer *layer = w->scene.layer;
    const uint64_t count = frame->particle_count;
    float box[6];
    usd_scene_begin(&w->scene, frame);
    usd_extent(frame->positions_m, count, 0.5f * layer->info->spacing_m, box);
    usd_layer_sample(layer, w->extent, box, 2);
    sample_ids(w, frame);
    usd_layer_sample(layer, w->points, frame->positions_m, count);
    usd_layer_sample(layer, w->velocities, frame->velocities_m_s, count);
    if (frame->liquids != NULL) {
        sample_liquids(w, frame);
    }
    if (frame->colours != NULL) {
        float *linear = scratch(w, (size_t)count * 3 * sizeof *linear);
        w->colours = usd_sample_colours(layer, w->liquid, w->colours, frame->colours, count, linear);
    }
    if (frame->channel != NULL) {
        w->channel = usd_sample_channel(layer, w->liquid, w->channel, frame->channel_name, frame->channel, count);
    }
    return usd_layer_end(layer, why);
}

static tarn_status points_close(void *writer, bool keep, char *why)
{
    points_writer *w = writer;
    if (w->colours < 0) {
        usd_default_colour(w->scene.layer, w->liquid);
    }
    tarn_status status = usd_scene_close(&w->scene, keep, why);
    free(w->scratch);
    free(w);
    return status;
}

static tarn_status usda_open(const char *path, const export_info *info, void **writer, char *why)
{
    return points_open(path, info, true, writer, why);
}

static tarn_status usdc_open(const char *path, const export_info *info, void **writer, char *why)
{
    return points_open(path, info, false, writer, why);
}

const export_format export_usda = {".usda", EXPORT_PARTICLES, false, "frames", usda_open, points_frame, points_close};
const export_format export_usdc = {".usdc", EXPORT_PARTICLES, false, "frames", usdc_open, points_frame, points_close};
const export_format export_usd = {".usd", EXPORT_PARTICLES, false, "frames", usdc_open, points_frame, points_close};

// ---- surfaces ----
// The liquid's surface as a USD layer: a Mesh prim whose topology has a time sample for each frame, too, beside the
// scene's. Velocities are there for motion blur, because no vertex is in two frames. Schema: "UsdGeomMesh",
// https://openusd.org/release/api/class_usd_geom_mesh.html

typedef struct surface_writer {
    usd_scene scene;
    int liquid, extent, counts, indices, points, normals, velocities, colours, channel; // -1: not there yet
} surface_writer;

static tarn_status surface_open(const char *path, const export_info *info, bool is_text, void **writer, char *why)
{
    surface_writer *w = calloc(1, sizeof *w);
    if (w == NULL) {
        return export_why_memory(path, why);
    }
    tarn_status status = usd_scene_open(&w->scene, path, info, is_text, why);
    if (status != TARN_OK) {
        free(w);
        return status;
    }
    usd_layer *layer = w->scene.layer;
    w->liquid = usd_layer_prim(layer, "Mesh", "Liquid", w->scene.tank);
    usd_layer_uniform(layer, w->liquid, "token", "subdivisionScheme", &(const char *){"none"}, 1);
    w->extent = usd_layer_attribute(layer, w->liquid, "float3[]", "extent", "");
    w->counts = usd_layer_attribute(layer, w->liquid, "int[]", "faceVertexCounts", "");
    w->indices = usd_layer_attribute(layer, w->liquid, "int[]", "faceVertexIndices", "");
    w->points = usd_layer_attribute(layer, w->liquid, "point3f[]", "points", "");
    w->normals = usd_layer_attribute(layer, w->liquid, "normal3f[]", "normals", "vertex");
    w->velocities = usd_layer_attribute(layer, w->liquid, "vector3f[]", "velocities", "");
    w->colours = w->channel = -1;
    *writer = w;
    return TARN_OK;
}

static void sample_mesh(surface_writer *w, const export_frame *frame, const mesh *m, int32_t *counts, float *linear)
{
    usd_layer *layer = w->scene.layer;
    float box[6];
    usd_extent(m->positions_m, m->vertex_count, 0.0f, box);
    for (uint32_t i = 0; i < m->triangle_count; i++) {
        counts[i] = 3;
    }
    usd_layer_sample(layer, w->extent, box, 2);
    usd_layer_sample(layer, w->counts, counts, m->triangle_count);
    usd_layer_sample(layer, w->indices, m->triangles, (uint64_t)3 * m->triangle_count);
    usd_layer_sample(layer, w->points, m->positions_m, m->vertex_count);
    usd_layer_sample(layer, w->normals, m->normals, m->vertex_count);
    usd_layer_sample(layer, w->velocities, m->velocities_m_s, m->vertex_count);
    if (m->colours != NULL) {
        w->colours = usd_sample_colours(layer, w->liquid, w->colours, m->colours, m->vertex_count, linear);
    }
    if (m->channel != NULL) {
        w->channel = usd_sample_channel(layer, w->liquid, w->channel, frame->channel_name, m->channel, m->vertex_count);
    }
}

static tarn_status surface_frame(void *writer, const export_frame *frame, char *why)
{
    surface_writer *w = writer;
    const mesh *m = frame->surface;
    int32_t *counts = malloc((size_t)m->triangle_count * sizeof *counts + 1);
    float *linear = m->colours != NULL ? malloc((size_t)m->vertex_count * 3 * sizeof *linear + 1) : NULL;
    usd_scene_begin(&w->scene, frame);
    if (counts != NULL && (linear != NULL) == (m->colours != NULL)) {
        sample_mesh(w, frame, m, counts, linear);
    } else {
        w->scene.layer->is_out_of_memory = true;
    }
    free(counts);
    free(linear);
    return usd_layer_end(w->scene.layer, why);
}

static tarn_status surface_close(void *writer, bool keep, char *why)
{
    surface_writer *w = writer;
    if (w->colours < 0) {
        usd_default_colour(w->scene.layer, w->liquid);
    }
    tarn_status status = usd_scene_close(&w->scene, keep, why);
    free(w);
    return status;
}

static tarn_status surface_usda_open(const char *path, const export_info *info, void **writer, char *why)
{
    return surface_open(path, info, true, writer, why);
}

static tarn_status surface_usdc_open(const char *path, const export_info *info, void **writer, char *why)
{
    return surface_open(path, info, false, writer, why);
}

const export_format export_surface_usda = {".usda",           EXPORT_SURFACE, false,        "surfaces",
                                           surface_usda_open, surface_frame,  surface_close};
const export_format export_surface_usdc = {".usdc",           EXPORT_SURFACE, false,        "surfaces",
                                           surface_usdc_open, surface_frame,  surface_close};
const export_format export_surface_usd = {".usd",        EXPORT_SURFACE, false, "surfaces", surface_usdc_open,
                                          surface_frame, surface_close};
