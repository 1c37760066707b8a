// A USD layer as text.
//
// USD lists all samples of an attribute before the next attribute, and a run delivers all attributes of a frame before
// the next frame. So each attribute is collected on its own, the large ones in files that have no name, and these are
// put together at the end:
//
//     frame 0, 1, 2 ... -> extent | ids | points | velocities | ... -> header + all of them -> run.usda
#include "server/tool/export/usd_layer.h"
#include "server/tool/export/usd_values.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/// A file that is gone when it is closed, beside the one that it becomes a part of: there is room where that fits.
static FILE *open_nameless(const char *part, uint32_t number)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s.%u", part, number);
    FILE *file = fopen(path, "w+be");
    if (file != NULL) {
        unlink(path);
    }
    return file;
}

static void write_element(FILE *file, usd_form form, const void *values, uint64_t i)
{
    const float *f = values;
    const double *d = values;
    switch (form) { // as many digits as a float has
    case USD_INT:
        fprintf(file, "%" PRId32, ((const int32_t *)values)[i]);
        break;
    case USD_INT64:
        fprintf(file, "%" PRId64, ((const int64_t *)values)[i]);
        break;
    case USD_FLOAT:
        fprintf(file, "%.9g", (double)f[i]);
        break;
    case USD_DOUBLE:
        fprintf(file, "%.12g", d[i]);
        break;
    case USD_TOKEN:
        fprintf(file, "\"%s\"", ((const char *const *)values)[i]);
        break;
    case USD_VEC3F:
        fprintf(file, "(%.9g, %.9g, %.9g)", (double)f[3 * i], (double)f[3 * i + 1], (double)f[3 * i + 2]);
        break;
    case USD_VEC3D:
        fprintf(file, "(%.12g, %.12g, %.12g)", d[3 * i], d[3 * i + 1], d[3 * i + 2]);
        break;
    case USD_QUATF: // the real part comes first
        fprintf(file, "(%.9g, %.9g, %.9g, %.9g)", (double)f[4 * i + 3], (double)f[4 * i], (double)f[4 * i + 1],
                (double)f[4 * i + 2]);
        break;
    }
}

void usda_put(usd_layer *layer, usd_attribute *a, const double *code, const void *values, uint64_t count)
{
    if (a->text == NULL) {
        a->text = code != NULL && a->type->is_array ? open_nameless(layer->out.part, (uint32_t)(a - layer->attributes))
                                                    : open_memstream(&a->text_chars, &a->text_bytes);
        if (a->text == NULL) {
            layer->is_out_of_memory = true;
            return;
        }
    }
    if (code != NULL) {
        fprintf(a->text, "%.12g: ", *code);
    }
    if (a->type->is_array) {
        putc('[', a->text);
    }
    for (uint64_t i = 0; i < count; i++) {
        if (i > 0) {
            fputs(", ", a->text);
        }
        write_element(a->text, a->type->form, values, i);
    }
    if (a->type->is_array) {
        putc(']', a->text);
    }
    if (code != NULL) {
        fputs(",\n", a->text);
    }
}

// ---- putting together ----

static void indent(FILE *file, int depth)
{
    for (int i = 0; i < depth; i++) {
        fputs("    ", file);
    }
}

/// What was collected of an attribute; samples, one a line, get their indentation here.
static bool append(FILE *to, usd_attribute *a, int depth)
{
    if (fflush(a->text) != 0) {
        return false;
    }
    if (a->text_chars != NULL && a->sample_count == 0) {
        return fwrite(a->text_chars, 1, a->text_bytes, to) == a->text_bytes;
    }
    char bytes[1 << 16];
    bool is_start = true;
    FILE *from = a->text_chars != NULL ? fmemopen(a->text_chars, a->text_bytes, "r") : a->text;
    if (from == NULL) {
        return false;
    }
    rewind(from);
    while (fgets(bytes, sizeof bytes, from) != NULL) {
        if (is_start) {
            indent(to, depth);
        }
        fputs(bytes, to);
        is_start = strchr(bytes, '\n') != NULL;
    }
    const bool is_read = !ferror(from);
    if (from != a->text) {
        fclose(from);
    }
    return is_read;
}

static bool write_default(FILE *file, usd_attribute *a, int depth)
{
    indent(file, depth);
    fprintf(file, "%s%s %s", a->is_uniform ? "uniform " : "", a->type->name, a->name);
    if (a->has_default) {
        fputs(" = ", file);
        if (!append(file, a, 0)) {
            return false;
        }
    }
    if (a->interpolation[0] != '\0') {
        fputs(" (\n", file);
        indent(file, depth + 1);
        fprintf(file, "interpolation = \"%s\"\n", a->interpolation);
        indent(file, depth);
        putc(')', file);
    }
    putc('\n', file);
    return true;
}

static bool write_attribute(FILE *file, usd_attribute *a, int depth)
{
    if ((a->has_default || a->interpolation[0] != '\0') && !write_default(file, a, depth)) {
        return false;
    }
    if (a->sample_count == 0) {
        return true;
    }
    indent(file, depth);
    fprintf(file, "%s %s.timeSamples = {\n", a->type->name, a->name);
    if (!append(file, a, depth + 1)) {
        return false;
    }
    indent(file, depth);
    fputs("}\n", file);
    return true;
}

static bool write_prims(usd_layer *layer, int parent, int depth)
{
    FILE *file = layer->out.file;
    for (uint32_t prim = 0; prim < layer->prim_count; prim++) {
        if (layer->prims[prim].parent != parent) {
            continue;
        }
        putc('\n', file);
        indent(file, depth);
        fprintf(file, "def %s \"%s\"\n", layer->prims[prim].type, layer->prims[prim].name);
        indent(file, depth);
        fputs("{\n", file);
        for (uint32_t i = 0; i < layer->attribute_count; i++) {
            usd_attribute *a = &layer->attributes[i];
            if (a->prim == (int)prim && (a->has_default || a->sample_count > 0) &&
                !write_attribute(file, a, depth + 1)) {
                return false;
            }
        }
        if (!write_prims(layer, (int)prim, depth + 1)) { // two levels at most
            return false;
        }
        indent(file, depth);
        fputs("}\n", file);
    }
    return true;
}

bool usda_finish(usd_layer *layer)
{
    FILE *file = layer->out.file;
    fprintf(file,
            "#usda 1.0\n(\n    defaultPrim = \"%s\"\n    doc = \"tarn %s, scene %s\"\n    endTimeCode = %.12g\n"
            "    metersPerUnit = 1\n    startTimeCode = %.12g\n    timeCodesPerSecond = %.12g\n    upAxis = \"Y\"\n)\n",
            layer->prims[0].name, TARN_VERSION, layer->info->scene, layer->code, layer->first_code,
            usd_codes_per_s(layer->info));
    return write_prims(layer, -1, 0) && fflush(file) == 0 && !ferror(file);
}
