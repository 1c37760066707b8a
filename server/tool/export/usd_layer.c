// What text and binary layers have in common: the lists of prims and attributes, and when what is written.
#include "server/tool/export/usd_layer.h"

#include "protocol/assert.h"
#include "server/tool/export/usd_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const usd_type types[] = {
    {"int[]", USD_INT, true},        {"int64[]", USD_INT64, true},   {"float[]", USD_FLOAT, true},
    {"double", USD_DOUBLE, false},   {"token", USD_TOKEN, false},    {"token[]", USD_TOKEN, true},
    {"float3[]", USD_VEC3F, true},   {"point3f[]", USD_VEC3F, true}, {"vector3f[]", USD_VEC3F, true},
    {"normal3f[]", USD_VEC3F, true}, {"color3f[]", USD_VEC3F, true}, {"float3", USD_VEC3F, false},
    {"double3", USD_VEC3D, false},   {"quatf", USD_QUATF, false},
};

static void free_layer(usd_layer *layer)
{
    for (uint32_t i = 0; i < layer->attribute_count; i++) {
        usd_attribute *a = &layer->attributes[i];
        if (a->text != NULL) {
            fclose(a->text);
        }
        free(a->text_chars);
        free(a->codes);
        free(a->values);
    }
    free(layer->attributes);
    free(layer->prims);
    free(layer->tables);
    free(layer);
}

static tarn_status no_memory(const char *path, char *why)
{
    snprintf(why, EXPORT_WHY_BYTES, "%s: out of memory", path);
    return TARN_E_MEMORY;
}

tarn_status usd_layer_open(usd_layer **out, const char *path, const export_info *info, bool is_text, char *why)
{
    usd_layer *layer = calloc(1, sizeof *layer);
    if (layer == NULL) {
        return no_memory(path, why);
    }
    layer->prims = calloc(USD_PRIMS_MAX, sizeof *layer->prims);
    layer->attributes = calloc(USD_ATTRIBUTES_MAX, sizeof *layer->attributes);
    if (layer->prims == NULL || layer->attributes == NULL) {
        free_layer(layer);
        return no_memory(path, why);
    }
    layer->is_text = is_text;
    layer->info_copy = *info;
    layer->info = &layer->info_copy;
    // Text is collected beside its file, and what a crate begins with is written last.
    tarn_status status = part_file_open_whole(&layer->out, path, why);
    if (status == TARN_OK && !is_text && !usdc_begin(layer)) {
        part_file_drop(&layer->out);
        status = no_memory(path, why);
    }
    if (status != TARN_OK) {
        free_layer(layer);
        return status;
    }
    *out = layer;
    return TARN_OK;
}

int usd_layer_prim(usd_layer *layer, const char *type, const char *name, int parent)
{
    TARN_ASSERT(layer->prim_count < USD_PRIMS_MAX);
    usd_prim *prim = &layer->prims[layer->prim_count];
    prim->type = type;
    prim->parent = parent;
    snprintf(prim->name, sizeof prim->name, "%s", name);
    return (int)layer->prim_count++;
}

int usd_layer_attribute(usd_layer *layer, int prim, const char *type, const char *name, const char *interpolation)
{
    TARN_ASSERT(layer->attribute_count < USD_ATTRIBUTES_MAX);
    usd_attribute *a = &layer->attributes[layer->attribute_count];
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        a->type = strcmp(types[i].name, type) == 0 ? &types[i] : a->type;
    }
    TARN_ASSERT(a->type != NULL);
    a->prim = prim;
    a->interpolation = interpolation;
    snprintf(a->name, sizeof a->name, "%s", name);
    return (int)layer->attribute_count++;
}

void usd_layer_uniform(usd_layer *layer, int prim, const char *type, const char *name, const void *values,
                       uint64_t count)
{
    const int attribute = usd_layer_attribute(layer, prim, type, name, "");
    layer->attributes[attribute].is_uniform = true;
    usd_layer_default(layer, attribute, values, count);
}

/// Room for one more sample.
static bool grow(usd_layer *layer, usd_attribute *a)
{
    if (a->sample_count < a->sample_capacity) {
        return true;
    }
    const uint32_t capacity = a->sample_capacity > 0 ? 2 * a->sample_capacity : 16;
    double *codes = realloc(a->codes, capacity * sizeof *codes);
    a->codes = codes != NULL ? codes : a->codes;
    uint64_t *values = realloc(a->values, capacity * sizeof *values);
    a->values = values != NULL ? values : a->values;
    if (codes == NULL || values == NULL) {
        layer->is_out_of_memory = true;
        return false;
    }
    a->sample_capacity = capacity;
    return true;
}

static void put(usd_layer *layer, usd_attribute *a, const double *code, const void *values, uint64_t count)
{
    if (layer->is_text) {
        usda_put(layer, a, code, values, count);
    } else {
        usdc_put(layer, a, code, values, count);
    }
}

void usd_layer_default(usd_layer *layer, int attribute, const void *values, uint64_t count)
{
    usd_attribute *a = &layer->attributes[attribute];
    if (grow(layer, a)) {
        a->has_default = true;
        put(layer, a, NULL, values, count);
    }
}

void usd_layer_sample(usd_layer *layer, int attribute, const void *values, uint64_t count)
{
    usd_attribute *a = &layer->attributes[attribute];
    if (grow(layer, a)) {
        put(layer, a, &layer->code, values, count);
        a->codes[a->sample_count++] = layer->code;
    }
}

void usd_layer_begin(usd_layer *layer, double time_s)
{
    layer->code = usd_code(layer->info, time_s);
    layer->first_code = layer->frame_count > 0 ? layer->first_code : layer->code;
    layer->frame_count++;
}

tarn_status usd_layer_end(usd_layer *layer, char *why)
{
    bool is_written = fflush(layer->out.file) == 0 && !ferror(layer->out.file);
    for (uint32_t i = 0; i < layer->attribute_count && is_written; i++) {
        FILE *text = layer->attributes[i].text;
        is_written = text == NULL || (fflush(text) == 0 && !ferror(text));
    }
    if (layer->is_out_of_memory) {
        return no_memory(layer->out.path, why);
    }
    return is_written ? TARN_OK : export_why_errno(layer->out.path, why);
}

tarn_status usd_layer_close(usd_layer *layer, bool keep, char *why)
{
    tarn_status status = TARN_OK;
    if (keep && layer->is_out_of_memory) {
        status = no_memory(layer->out.path, why);
    }
    if (!keep || status != TARN_OK) {
        part_file_drop(&layer->out);
    } else if (layer->is_text ? usda_finish(layer) : usdc_finish(layer)) {
        status = part_file_close(&layer->out, why);
    } else {
        status = part_file_fail(&layer->out, why);
    }
    free_layer(layer);
    return status;
}
