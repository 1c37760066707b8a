// The liquid's surface as a USD layer: a Mesh prim whose topology has a time sample for each frame, too, beside what
// usd_scene.h lists. Velocities are there for motion blur, because no vertex is in two frames.
// Schema: "UsdGeomMesh", https://openusd.org/release/api/class_usd_geom_mesh.html
#include "server/tool/export/usd_scene.h"
#include "server/tool/export/usd_values.h"
#include "server/tool/mesh/mesh.h"

#include <stdlib.h>

typedef struct surface_writer {
    usd_scene scene;
    int liquid, extent, counts, indices, points, normals, velocities, colours, channel; // -1: not there yet
} surface_writer;

static tarn_status surface_open(const char *path, const export_info *info, bool is_text, void **writer, char *why)
{
    surface_writer *w = calloc(1, sizeof *w);
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

static tarn_status usda_open(const char *path, const export_info *info, void **writer, char *why)
{
    return surface_open(path, info, true, writer, why);
}

static tarn_status usdc_open(const char *path, const export_info *info, void **writer, char *why)
{
    return surface_open(path, info, false, writer, why);
}

const export_format export_surface_usda = {".usda",   EXPORT_SURFACE, false,        "surfaces",
                                           usda_open, surface_frame,  surface_close};
const export_format export_surface_usdc = {".usdc",   EXPORT_SURFACE, false,        "surfaces",
                                           usdc_open, surface_frame,  surface_close};
const export_format export_surface_usd = {".usd",    EXPORT_SURFACE, false,        "surfaces",
                                          usdc_open, surface_frame,  surface_close};
