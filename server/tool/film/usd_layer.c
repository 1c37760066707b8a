// USD layers as text and in the binary form; what both have in common comes last: begin at usd_layer_open.
#include "server/tool/film/usd_layer.h"
#include "protocol/assert.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// Time codes per second: frames per second, without what dt_s is off for being a float.
static double codes_per_s(const export_info *info)
{
    double rounded = round(info->frames_per_s * 1000.0) / 1000.0;
    return fabs(rounded - info->frames_per_s) < 1e-5 * rounded ? rounded : info->frames_per_s;
}

/// The time code of a moment; a whole number for a frame of its own rate.
static double code_of(const export_info *info, double time_s)
{
    double code = time_s * info->frames_per_s, whole = round(code);
    return fabs(code - whole) < 1e-3 ? whole : code;
}

// ---- as text ----
// "usda".
//
// USD lists all samples of an attribute before the next attribute, and a run delivers all attributes of a frame before
// the next frame. So each attribute is collected on its own, the large ones in files that have no name, and these are
// put together at the end:
//
//     frame 0, 1, 2 ... -> extent | ids | points | velocities | ... -> header + all of them -> run.usda

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

/// A value into the layer; a default's code is NULL.
static void usda_put(usd_layer *layer, usd_attribute *a, const double *code, const void *values, uint64_t count)
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

// ---- as text: put together ----

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

static bool usda_finish(usd_layer *layer)
{
    FILE *file = layer->out.file;
    fprintf(file,
            "#usda 1.0\n(\n    defaultPrim = \"%s\"\n    doc = \"tarn %s, scene %s\"\n    endTimeCode = %.12g\n"
            "    metersPerUnit = 1\n    startTimeCode = %.12g\n    timeCodesPerSecond = %.12g\n    upAxis = \"Y\"\n)\n",
            layer->prims[0].name, TARN_VERSION, layer->info->scene, layer->code, layer->first_code,
            codes_per_s(layer->info));
    return write_prims(layer, -1, 0) && fflush(file) == 0 && !ferror(file);
}

// ---- in the binary form ----
// "usdc", of OpenUSD's "crate": the same in a third of the bytes.
//
//     bootstrap | arrays of frame 0, 1, 2 ... | time samples | tokens, strings, fields, fieldsets, paths, specs |
//     contents
//        '------------------------------------------------------------------------------------------------------^
//
// Arrays are written as frames come; a value is named by 64 bits, its type and where it lies. What names the values
// follows at the end, and the bootstrap is filled in last. Crate's tables are compressed; ours are so small that they
// are stored: as LZ4 blocks that hold literals only, and integers of the widest code.
//
// Format, version 0.8.0: OpenUSD's own reader and writer, pxr/usd/usd/crateFile.cpp and integerCoding.h.

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are written as they lie in memory");

// Types of values, as crate numbers them.
enum {
    CRATE_INT = 3,
    CRATE_INT64 = 5,
    CRATE_FLOAT = 8,
    CRATE_DOUBLE = 9,
    CRATE_STRING = 10,
    CRATE_TOKEN = 11,
    CRATE_QUATF = 17,
    CRATE_VEC3D = 23,
    CRATE_VEC3F = 24,
    CRATE_TOKEN_VECTOR = 41,
    CRATE_SPECIFIER = 42,
    CRATE_VARIABILITY = 44,
    CRATE_TIME_SAMPLES = 46,
    CRATE_DOUBLE_VECTOR = 48,
};
enum { CRATE_SPEC_ATTRIBUTE = 1, CRATE_SPEC_PRIM = 6, CRATE_SPEC_PSEUDO_ROOT = 7 };

enum {
    BOOTSTRAP_BYTES = 88,
    BOOTSTRAP_CONTENTS_AT = 16,
    SPECS_MAX = 1 + USD_PRIMS_MAX + USD_ATTRIBUTES_MAX,
    FIELDS_MAX = 8 + 4 * SPECS_MAX,
    TOKENS_MAX = 64 + SPECS_MAX,
    SECTIONS = 6,
};

/// The tables, in the order in which they are filled at the end.
typedef struct usdc_tables {
    const char *tokens[TOKENS_MAX];
    uint32_t token_count;
    uint32_t field_names[FIELDS_MAX];
    uint64_t field_values[FIELDS_MAX];
    uint32_t field_count;
    uint32_t sets[FIELDS_MAX + SPECS_MAX]; // fields of each spec, each list ended by ~0
    uint32_t set_entries;
    uint32_t spec_sets[SPECS_MAX], spec_kinds[SPECS_MAX]; // spec i is of path i
    int32_t path_tokens[SPECS_MAX];                       // negative: of a property
    uint8_t path_depths[SPECS_MAX];                       // of the root 0
    uint32_t spec_count;
    struct {
        char name[16];
        int64_t start, bytes;
    } sections[SECTIONS];
    uint32_t section_count;
} usdc_tables;

// ---- in the binary form: values ----

static uint64_t inlined(int type, uint32_t value)
{
    return 1ULL << 62 | (uint64_t)type << 48 | value;
}

/// Where the next value will lie. Values begin at multiples of eight.
static uint64_t align(FILE *file)
{
    off_t at = ftello(file);
    for (; at >= 0 && at % 8 != 0; at++) {
        putc(0, file);
    }
    return (uint64_t)at;
}

static void put(FILE *file, const void *values, size_t bytes)
{
    if (bytes > 0) {
        fwrite(values, bytes, 1, file);
    }
}

static void put_u64(FILE *file, uint64_t value)
{
    put(file, &value, sizeof value);
}

/// Starts an array. @return its name; an empty one lies nowhere
static uint64_t array(FILE *file, int type, uint64_t count)
{
    uint64_t name = 1ULL << 63 | (uint64_t)type << 48;
    if (count > 0) {
        name |= align(file);
        put_u64(file, count);
    }
    return name;
}

static const struct {
    int type;
    size_t bytes;
} forms[] = {
    [USD_INT] = {CRATE_INT, 4},       [USD_INT64] = {CRATE_INT64, 8},  [USD_FLOAT] = {CRATE_FLOAT, 4},
    [USD_DOUBLE] = {CRATE_DOUBLE, 8}, [USD_TOKEN] = {CRATE_TOKEN, 4},  [USD_VEC3F] = {CRATE_VEC3F, 12},
    [USD_VEC3D] = {CRATE_VEC3D, 24},  [USD_QUATF] = {CRATE_QUATF, 16},
};

static uint64_t put_double(FILE *file, double value)
{
    uint64_t at = align(file);
    put(file, &value, sizeof value);
    return (uint64_t)CRATE_DOUBLE << 48 | at;
}

// ---- in the binary form: tables ----

static uint32_t token(usdc_tables *t, const char *text)
{
    for (uint32_t i = 0; i < t->token_count; i++) {
        if (strcmp(t->tokens[i], text) == 0) {
            return i;
        }
    }
    t->tokens[t->token_count] = text;
    return t->token_count++;
}

static void field(usdc_tables *t, const char *name, uint64_t value)
{
    t->field_names[t->field_count] = token(t, name);
    t->field_values[t->field_count] = value;
    t->sets[t->set_entries++] = t->field_count++;
}

static void begin_spec(usdc_tables *t, int kind, int depth, int32_t path_token)
{
    t->path_depths[t->spec_count] = (uint8_t)depth;
    t->spec_kinds[t->spec_count] = (uint32_t)kind;
    t->spec_sets[t->spec_count] = t->set_entries;
    t->path_tokens[t->spec_count++] = path_token;
}

static void end_spec(usdc_tables *t)
{
    t->sets[t->set_entries++] = ~0U;
}

static uint64_t put_names(FILE *file, usdc_tables *t, const char *const *names, uint32_t count)
{
    uint64_t at = align(file);
    put_u64(file, count);
    for (uint32_t i = 0; i < count; i++) {
        put(file, &(uint32_t){token(t, names[i])}, sizeof(uint32_t));
    }
    return (uint64_t)CRATE_TOKEN_VECTOR << 48 | at;
}

/// "Compressed": how many bytes follow, then 0 for "one piece", then an LZ4 block of literals.
static void put_stored(FILE *file, const void *bytes, size_t count)
{
    size_t more = count >= 15 ? (count - 15) / 255 + 1 : 0;
    put_u64(file, 2 + more + count);
    putc(0, file);
    putc(count >= 15 ? 0xf0 : (int)(count << 4), file);
    if (more > 0) {
        for (size_t i = 0; i + 1 < more; i++) {
            putc(255, file);
        }
        putc((int)((count - 15) % 255), file);
    }
    put(file, bytes, count);
}

/// Integers as crate codes them: the most frequent difference to the integer before, two bits for each that say how
/// wide its difference is, the differences. Here all of them are four bytes wide.
static void put_integers(FILE *file, const uint32_t *values, uint32_t count)
{
    uint8_t coded[4 + (FIELDS_MAX + SPECS_MAX + 3) / 4 + 4 * (FIELDS_MAX + SPECS_MAX)] = {0};
    size_t bytes = 4;
    memset(coded + bytes, 0xff, (count + 3) / 4);
    bytes += (count + 3) / 4;
    for (uint32_t i = 0; i < count; i++, bytes += 4) {
        uint32_t difference = values[i] - (i > 0 ? values[i - 1] : 0);
        memcpy(coded + bytes, &difference, 4);
    }
    put_stored(file, coded, bytes);
}

static void begin_section(usdc_tables *t, FILE *file, const char *name)
{
    snprintf(t->sections[t->section_count].name, sizeof t->sections[0].name, "%s", name);
    t->sections[t->section_count++].start = (int64_t)align(file);
}

static void end_section(usdc_tables *t, FILE *file)
{
    t->sections[t->section_count - 1].bytes = ftello(file) - t->sections[t->section_count - 1].start;
}

static void put_tokens(usdc_tables *t, FILE *file)
{
    char text[TOKENS_MAX * 32];
    size_t bytes = 0;
    for (uint32_t i = 0; i < t->token_count; i++) {
        size_t length = strlen(t->tokens[i]) + 1;
        if (length <= sizeof text - bytes) {
            memcpy(text + bytes, t->tokens[i], length);
            bytes += length;
        }
    }
    begin_section(t, file, "TOKENS");
    put_u64(file, t->token_count);
    put_u64(file, bytes);
    put_stored(file, text, bytes);
    end_section(t, file);
}

/// Where from a path the next one lies that isn't below it and has the same parent; 0: there is none.
static uint32_t sibling_of(const usdc_tables *t, uint32_t i)
{
    for (uint32_t to = i + 1; to < t->spec_count && t->path_depths[to] >= t->path_depths[i]; to++) {
        if (t->path_depths[to] == t->path_depths[i]) {
            return to - i;
        }
    }
    return 0;
}

/// Paths are told in the order in which one walks through them: a prim, its properties, the prims below it. A jump of
/// -1: a child follows, of 0: a sibling does, of -2: neither; of more: a child, and that far on a sibling.
static void put_paths(usdc_tables *t, FILE *file)
{
    uint32_t indices[SPECS_MAX], tokens[SPECS_MAX], jumps[SPECS_MAX];
    for (uint32_t i = 0; i < t->spec_count; i++) {
        const bool has_child = i + 1 < t->spec_count && t->path_depths[i + 1] > t->path_depths[i];
        const uint32_t sibling = sibling_of(t, i);
        indices[i] = i;
        tokens[i] = (uint32_t)t->path_tokens[i];
        jumps[i] = has_child ? (sibling > 0 ? sibling : (uint32_t)-1) : (sibling > 0 ? 0 : (uint32_t)-2);
    }
    begin_section(t, file, "PATHS");
    put_u64(file, t->spec_count);
    put_u64(file, t->spec_count);
    put_integers(file, indices, t->spec_count);
    put_integers(file, tokens, t->spec_count);
    put_integers(file, jumps, t->spec_count);
    end_section(t, file);
}

static void put_specs(usdc_tables *t, FILE *file)
{
    uint32_t paths[SPECS_MAX];
    for (uint32_t i = 0; i < t->spec_count; i++) {
        paths[i] = i;
    }
    begin_section(t, file, "SPECS");
    put_u64(file, t->spec_count);
    put_integers(file, paths, t->spec_count);
    put_integers(file, t->spec_sets, t->spec_count);
    put_integers(file, t->spec_kinds, t->spec_count);
    end_section(t, file);
}

static void put_tables(usdc_tables *t, FILE *file, uint32_t doc_token)
{
    put_tokens(t, file);
    begin_section(t, file, "STRINGS");
    put_u64(file, 1);
    put(file, &doc_token, sizeof doc_token);
    end_section(t, file);
    begin_section(t, file, "FIELDS");
    put_u64(file, t->field_count);
    put_integers(file, t->field_names, t->field_count);
    put_stored(file, t->field_values, t->field_count * sizeof t->field_values[0]);
    end_section(t, file);
    begin_section(t, file, "FIELDSETS");
    put_u64(file, t->set_entries);
    put_integers(file, t->sets, t->set_entries);
    end_section(t, file);
    put_paths(t, file);
    put_specs(t, file);
}

// ---- in the binary form: values of attributes ----

/// A value into the file. @return its name
static uint64_t put_value(usd_layer *layer, const usd_type *type, const void *values, uint64_t count)
{
    FILE *file = layer->out.file;
    if (type->form == USD_TOKEN) {
        const char *const *tokens = values;
        if (!type->is_array) {
            return inlined(CRATE_TOKEN, token(layer->tables, tokens[0]));
        }
        const uint64_t name = array(file, CRATE_TOKEN, count);
        for (uint64_t i = 0; i < count; i++) {
            put(file, &(uint32_t){token(layer->tables, tokens[i])}, sizeof(uint32_t));
        }
        return name;
    }
    uint64_t name;
    if (type->is_array) {
        name = array(file, forms[type->form].type, count);
    } else {
        name = (uint64_t)forms[type->form].type << 48;
        name |= align(file);
    }
    put(file, values, count * forms[type->form].bytes);
    return name;
}

static void usdc_put(usd_layer *layer, usd_attribute *a, const double *code, const void *values, uint64_t count)
{
    a->values[code != NULL ? a->sample_count : 0] = put_value(layer, a->type, values, count);
}

static uint64_t put_times(usd_layer *layer, const usd_attribute *a)
{
    FILE *file = layer->out.file;
    const uint64_t times = (uint64_t)CRATE_DOUBLE_VECTOR << 48 | align(file);
    put_u64(file, a->sample_count);
    put(file, a->codes, a->sample_count * sizeof *a->codes);
    return times;
}

/// Time samples: how far on their times are named, the times' name, how far on the values are named, their names.
static uint64_t put_time_samples(usd_layer *layer, const usd_attribute *a, uint64_t times)
{
    FILE *file = layer->out.file;
    const uint64_t at = align(file);
    const uint64_t head[] = {8, times, 8, a->sample_count};
    put(file, head, sizeof head);
    put(file, a->values, a->sample_count * sizeof *a->values);
    return (uint64_t)CRATE_TIME_SAMPLES << 48 | at;
}

// ---- in the binary form: the layer ----

/// Names of the prims below one, or of its attributes that have values, as a field.
static void field_of_children(usd_layer *layer, int parent)
{
    const char *names[USD_PRIMS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < layer->prim_count; i++) {
        if (layer->prims[i].parent == parent) {
            names[count++] = layer->prims[i].name;
        }
    }
    if (count > 0) {
        field(layer->tables, "primChildren", put_names(layer->out.file, layer->tables, names, count));
    }
}

static bool is_used(const usd_attribute *a)
{
    return a->has_default || a->sample_count > 0;
}

static void field_of_properties(usd_layer *layer, int prim)
{
    const char *names[USD_ATTRIBUTES_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < layer->attribute_count; i++) {
        if (layer->attributes[i].prim == prim && is_used(&layer->attributes[i])) {
            names[count++] = layer->attributes[i].name;
        }
    }
    if (count > 0) {
        field(layer->tables, "properties", put_names(layer->out.file, layer->tables, names, count));
    }
}

static void describe_attribute(usd_layer *layer, const usd_attribute *a, int depth, uint64_t all_times)
{
    usdc_tables *t = layer->tables;
    begin_spec(t, CRATE_SPEC_ATTRIBUTE, depth, -(int32_t)token(t, a->name));
    field(t, "typeName", inlined(CRATE_TOKEN, token(t, a->type->name)));
    if (a->is_uniform) {
        field(t, "variability", inlined(CRATE_VARIABILITY, 1));
    }
    if (a->interpolation[0] != '\0') {
        field(t, "interpolation", inlined(CRATE_TOKEN, token(t, a->interpolation)));
    }
    if (a->has_default) {
        field(t, "default", a->values[0]);
    } else {
        const uint64_t times = a->sample_count == layer->frame_count ? all_times : put_times(layer, a);
        field(t, "timeSamples", put_time_samples(layer, a, times));
    }
    end_spec(t);
}

static void describe_prims(usd_layer *layer, int parent, int depth, uint64_t all_times)
{
    usdc_tables *t = layer->tables;
    for (int prim = 0; prim < (int)layer->prim_count; prim++) {
        const usd_prim *p = &layer->prims[prim];
        if (p->parent != parent) {
            continue;
        }
        begin_spec(t, CRATE_SPEC_PRIM, depth, (int32_t)token(t, p->name));
        field(t, "specifier", inlined(CRATE_SPECIFIER, 0)); // "def"
        field(t, "typeName", inlined(CRATE_TOKEN, token(t, p->type)));
        field_of_properties(layer, prim);
        field_of_children(layer, prim);
        end_spec(t);
        for (uint32_t i = 0; i < layer->attribute_count; i++) {
            if (layer->attributes[i].prim == prim && is_used(&layer->attributes[i])) {
                describe_attribute(layer, &layer->attributes[i], depth + 1, all_times);
            }
        }
        describe_prims(layer, prim, depth + 1, all_times); // two levels at most
    }
}

/// The times of all frames, which most attributes share.
static uint64_t put_all_times(usd_layer *layer)
{
    for (uint32_t i = 0; i < layer->attribute_count; i++) {
        if (layer->frame_count > 0 && layer->attributes[i].sample_count == layer->frame_count) {
            return put_times(layer, &layer->attributes[i]);
        }
    }
    return 0;
}

static void describe_layer(usd_layer *layer)
{
    FILE *file = layer->out.file;
    usdc_tables *t = layer->tables;
    begin_spec(t, CRATE_SPEC_PSEUDO_ROOT, 0, 0);
    field(t, "defaultPrim", inlined(CRATE_TOKEN, token(t, layer->prims[0].name)));
    field(t, "documentation", inlined(CRATE_STRING, 0));
    field(t, "endTimeCode", put_double(file, layer->code));
    field(t, "metersPerUnit", put_double(file, 1.0));
    field(t, "startTimeCode", put_double(file, layer->first_code));
    field(t, "timeCodesPerSecond", put_double(file, codes_per_s(layer->info)));
    field(t, "upAxis", inlined(CRATE_TOKEN, token(t, "Y")));
    field_of_children(layer, -1);
    end_spec(t);
    describe_prims(layer, -1, 1, put_all_times(layer));
}

static bool put_contents(const usdc_tables *t, FILE *file)
{
    uint64_t at = align(file);
    put_u64(file, t->section_count);
    put(file, t->sections, sizeof t->sections);
    if (ferror(file) || fseeko(file, BOOTSTRAP_CONTENTS_AT, SEEK_SET) != 0) {
        return false;
    }
    put_u64(file, at);
    return fflush(file) == 0 && !ferror(file);
}

/// Begins a file. @return false: out of memory
static bool usdc_begin(usd_layer *layer)
{
    layer->tables = calloc(1, sizeof *layer->tables);
    if (layer->tables == NULL) {
        return false;
    }
    token(layer->tables, ""); // the first one can't name a property: its index has no negative
    const uint8_t bootstrap[BOOTSTRAP_BYTES] = {'P', 'X', 'R', '-', 'U', 'S', 'D', 'C', 0, 8, 0};
    put(layer->out.file, bootstrap, sizeof bootstrap);
    return true;
}

/// Ends it. @return false: that could not be written
static bool usdc_finish(usd_layer *layer)
{
    char doc[256];
    snprintf(doc, sizeof doc, "tarn %s, scene %s", TARN_VERSION, layer->info->scene);
    describe_layer(layer);
    put_tables(layer->tables, layer->out.file, token(layer->tables, doc));
    return put_contents(layer->tables, layer->out.file);
}

// ---- whichever form ----

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

tarn_status usd_layer_open(usd_layer **out, const char *path, const export_info *info, bool is_text, char *why)
{
    usd_layer *layer = calloc(1, sizeof *layer);
    if (layer == NULL) {
        return export_why_memory(path, why);
    }
    layer->prims = calloc(USD_PRIMS_MAX, sizeof *layer->prims);
    layer->attributes = calloc(USD_ATTRIBUTES_MAX, sizeof *layer->attributes);
    if (layer->prims == NULL || layer->attributes == NULL) {
        free_layer(layer);
        return export_why_memory(path, why);
    }
    layer->is_text = is_text;
    layer->info_copy = *info;
    layer->info = &layer->info_copy;
    // Text is collected beside its file, and what a crate begins with is written last.
    tarn_status status = part_file_open_whole(&layer->out, path, why);
    if (status == TARN_OK && !is_text && !usdc_begin(layer)) {
        part_file_drop(&layer->out);
        status = export_why_memory(path, why);
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

static void put_by_form(usd_layer *layer, usd_attribute *a, const double *code, const void *values, uint64_t count)
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
        put_by_form(layer, a, NULL, values, count);
    }
}

void usd_layer_sample(usd_layer *layer, int attribute, const void *values, uint64_t count)
{
    usd_attribute *a = &layer->attributes[attribute];
    if (grow(layer, a)) {
        put_by_form(layer, a, &layer->code, values, count);
        a->codes[a->sample_count++] = layer->code;
    }
}

void usd_layer_begin(usd_layer *layer, double time_s)
{
    layer->code = code_of(layer->info, time_s);
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
        return export_why_memory(layer->out.path, why);
    }
    return is_written ? TARN_OK : export_why_errno(layer->out.path, why);
}

tarn_status usd_layer_close(usd_layer *layer, bool keep, char *why)
{
    tarn_status status = TARN_OK;
    if (keep && layer->is_out_of_memory) {
        status = export_why_memory(layer->out.path, why);
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
