// Particles as a USD layer: a Points prim whose attributes have a time sample for each frame, beside what usd_scene.h
// lists. Schema: "UsdGeomPoints", https://openusd.org/release/api/class_usd_geom_points.html
#include "server/tool/export/usd_scene.h"
#include "server/tool/export/usd_values.h"

#include <stdlib.h>

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
        snprintf(why, EXPORT_WHY_BYTES, "%s: out of memory", path);
        return TARN_E_MEMORY;
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
