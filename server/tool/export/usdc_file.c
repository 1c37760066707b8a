// Particles as a USD binary ("crate") layer: what usd_file.c writes as text, in a third of the bytes.
//
//     bootstrap | arrays of frame 0, 1, 2 ... | time samples | tokens, strings, fields, fieldsets, paths, specs |
//     contents
//        '------------------------------------------------------------------------------------------------------^
//
// Arrays are written as frames come; a value is named by 64 bits, its type and where it lies. What names the values
// follows at the end, and the bootstrap is filled in last. Crate's tables are compressed; ours are so small that they
// are stored: as LZ4 blocks that hold literals only, and integers of the widest code.
// Format, version 0.8.0: OpenUSD's own reader and writer, pxr/usd/usd/crateFile.cpp and integerCoding.h.
#include "server/tool/export/export.h"
#include "server/tool/export/part_file.h"
#include "server/tool/export/usd_values.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are written as they lie in memory");

// Types of values, as crate numbers them.
enum {
    CRATE_INT = 3,
    CRATE_INT64 = 5,
    CRATE_FLOAT = 8,
    CRATE_DOUBLE = 9,
    CRATE_STRING = 10,
    CRATE_TOKEN = 11,
    CRATE_VEC3F = 24,
    CRATE_TOKEN_VECTOR = 41,
    CRATE_SPECIFIER = 42,
    CRATE_TIME_SAMPLES = 46,
    CRATE_DOUBLE_VECTOR = 48,
};
enum { CRATE_SPEC_ATTRIBUTE = 1, CRATE_SPEC_PRIM = 6, CRATE_SPEC_PSEUDO_ROOT = 7 };

enum {
    BOOTSTRAP_BYTES = 88,
    BOOTSTRAP_CONTENTS_AT = 16,
    TOKENS_MAX = 64,
    FIELDS_MAX = 64,
    SPECS_MAX = 16,
    SECTIONS = 6,
    CHUNK = 1024,
};

typedef struct usdc_samples {
    bool used; // by at least one frame
    uint64_t *values;
} usdc_samples;

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
    uint32_t spec_count;
    struct {
        char name[16];
        int64_t start, bytes;
    } sections[SECTIONS];
    uint32_t section_count;
} usdc_tables;

typedef struct usdc_writer {
    export_info info;
    part_file out;
    double *codes;
    usdc_samples samples[USD_SERIES_COUNT];
    char channel[USD_NAME_BYTES];
    uint32_t frame_count, frame_capacity;
} usdc_writer;

// ---- values ----

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

static uint64_t put_vectors(FILE *file, const float *values, uint64_t count)
{
    uint64_t name = array(file, CRATE_VEC3F, count);
    put(file, values, count * 3 * sizeof(float));
    return name;
}

static uint64_t put_ids(FILE *file, const export_frame *frame)
{
    uint64_t name = array(file, CRATE_INT64, frame->particle_count);
    int64_t wide[CHUNK];
    for (size_t start = 0; start < frame->particle_count; start += CHUNK) {
        size_t count = frame->particle_count - start < CHUNK ? frame->particle_count - start : CHUNK;
        for (size_t i = 0; i < count; i++) {
            wide[i] = frame->ids[start + i];
        }
        put(file, wide, count * sizeof wide[0]);
    }
    return name;
}

static uint64_t put_liquids(FILE *file, const export_frame *frame)
{
    if (frame->liquids == NULL) {
        return array(file, CRATE_INT, 0);
    }
    uint64_t name = array(file, CRATE_INT, frame->particle_count);
    for (size_t i = 0; i < frame->particle_count; i++) {
        put(file, &(int32_t){frame->liquids[i]}, sizeof(int32_t));
    }
    return name;
}

static uint64_t put_colours(FILE *file, const export_frame *frame)
{
    if (frame->colours == NULL) {
        return array(file, CRATE_VEC3F, 0);
    }
    float linear[256];
    usd_linear(linear);
    uint64_t name = array(file, CRATE_VEC3F, frame->particle_count);
    for (size_t i = 0; i < frame->particle_count; i++) {
        const uint8_t *c = frame->colours + 3 * i;
        put(file, (float[3]){linear[c[0]], linear[c[1]], linear[c[2]]}, 3 * sizeof(float));
    }
    return name;
}

static uint64_t put_channel(FILE *file, const export_frame *frame)
{
    const uint32_t count = frame->channel != NULL ? frame->particle_count : 0;
    uint64_t name = array(file, CRATE_FLOAT, count);
    put(file, frame->channel, count * sizeof(float));
    return name;
}

static uint64_t put_sample(const usdc_writer *usd, int id, const export_frame *frame)
{
    FILE *file = usd->out.file;
    float box[6];
    switch (id) {
    case USD_EXTENT:
        usd_extent(frame, 0.5f * usd->info.spacing_m, box);
        return put_vectors(file, box, 2);
    case USD_IDS:
        return put_ids(file, frame);
    case USD_POINTS:
        return put_vectors(file, frame->positions_m, frame->particle_count);
    case USD_VELOCITIES:
        return put_vectors(file, frame->velocities_m_s, frame->particle_count);
    case USD_LIQUIDS:
        return put_liquids(file, frame);
    case USD_CHANNEL:
        return put_channel(file, frame);
    default:
        return put_colours(file, frame);
    }
}

static uint64_t put_double(FILE *file, double value)
{
    uint64_t at = align(file);
    put(file, &value, sizeof value);
    return (uint64_t)CRATE_DOUBLE << 48 | at;
}

/// Time samples: how far on their times are named, the times' name, how far on the values are named, their names.
static uint64_t put_time_samples(usdc_writer *usd, uint64_t times, const uint64_t *values)
{
    FILE *file = usd->out.file;
    uint64_t at = align(file);
    const uint64_t head[] = {8, times, 8, usd->frame_count};
    put(file, head, sizeof head);
    put(file, values, usd->frame_count * sizeof *values);
    return (uint64_t)CRATE_TIME_SAMPLES << 48 | at;
}

// ---- tables ----

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

static void begin_spec(usdc_tables *t, int kind, int32_t path_token)
{
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
    char text[4096];
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

/// Paths are told in the order in which one walks through them: the root, the two prims, the properties. A jump of -1:
/// a child follows, of 0: a sibling does, of -2: neither.
static void put_paths(usdc_tables *t, FILE *file)
{
    uint32_t indices[SPECS_MAX], tokens[SPECS_MAX], jumps[SPECS_MAX];
    for (uint32_t i = 0; i < t->spec_count; i++) {
        indices[i] = i;
        tokens[i] = (uint32_t)t->path_tokens[i];
        jumps[i] = t->path_tokens[i] >= 0 ? (uint32_t)-1 : i + 1 < t->spec_count ? 0 : (uint32_t)-2;
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

static void put_tables(usdc_tables *t, FILE *file, const char *doc)
{
    uint32_t doc_token = token(t, doc);
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

// ---- the layer ----

static void describe_layer(usdc_writer *usd, usdc_tables *t)
{
    FILE *file = usd->out.file;
    double first = usd->frame_count > 0 ? usd->codes[0] : 0.0;
    double last = usd->frame_count > 0 ? usd->codes[usd->frame_count - 1] : 0.0;
    token(t, ""); // the first one can't name a property: its index has no negative
    begin_spec(t, CRATE_SPEC_PSEUDO_ROOT, 0);
    field(t, "defaultPrim", inlined(CRATE_TOKEN, token(t, "Tank")));
    field(t, "documentation", inlined(CRATE_STRING, 0));
    field(t, "endTimeCode", put_double(file, last));
    field(t, "metersPerUnit", put_double(file, 1.0));
    field(t, "startTimeCode", put_double(file, first));
    field(t, "timeCodesPerSecond", put_double(file, usd_codes_per_s(&usd->info)));
    field(t, "upAxis", inlined(CRATE_TOKEN, token(t, "Y")));
    field(t, "primChildren", put_names(file, t, (const char *[]){"Tank"}, 1));
    end_spec(t);
    begin_spec(t, CRATE_SPEC_PRIM, (int32_t)token(t, "Tank"));
    field(t, "specifier", inlined(CRATE_SPECIFIER, 0)); // "def"
    field(t, "typeName", inlined(CRATE_TOKEN, token(t, "Xform")));
    field(t, "primChildren", put_names(file, t, (const char *[]){"Liquid"}, 1));
    end_spec(t);
}

static void describe_property(usdc_tables *t, const char *type, const char *name, const char *interpolation,
                              const char *value_name, uint64_t value)
{
    begin_spec(t, CRATE_SPEC_ATTRIBUTE, -(int32_t)token(t, name));
    field(t, "typeName", inlined(CRATE_TOKEN, token(t, type)));
    if (interpolation[0] != '\0') {
        field(t, "interpolation", inlined(CRATE_TOKEN, token(t, interpolation)));
    }
    field(t, value_name, value);
    end_spec(t);
}

static void describe_liquid(usdc_writer *usd, usdc_tables *t)
{
    FILE *file = usd->out.file;
    const char *names[USD_SERIES_COUNT + 2];
    uint32_t name_count = 0;
    for (int id = 0; id < USD_SERIES_COUNT; id++) {
        if (usd->samples[id].used || id == USD_COLOURS) {
            names[name_count++] = usd_name(id, usd->channel);
        }
    }
    names[name_count++] = "widths";
    begin_spec(t, CRATE_SPEC_PRIM, (int32_t)token(t, "Liquid"));
    field(t, "specifier", inlined(CRATE_SPECIFIER, 0));
    field(t, "typeName", inlined(CRATE_TOKEN, token(t, "Points")));
    field(t, "properties", put_names(file, t, names, name_count));
    end_spec(t);

    uint64_t times = (uint64_t)CRATE_DOUBLE_VECTOR << 48 | align(file);
    put_u64(file, usd->frame_count);
    put(file, usd->codes, usd->frame_count * sizeof *usd->codes);
    for (int id = 0; id < USD_SERIES_COUNT; id++) {
        if (usd->samples[id].used) {
            describe_property(t, usd_series[id].type, usd_name(id, usd->channel), usd_series[id].interpolation,
                              "timeSamples", put_time_samples(usd, times, usd->samples[id].values));
        }
    }
    if (!usd->samples[USD_COLOURS].used) {
        describe_property(t, usd_series[USD_COLOURS].type, usd_series[USD_COLOURS].name, "constant", "default",
                          put_vectors(file, usd_water_colour, 1));
    }
    uint64_t widths = array(file, CRATE_FLOAT, 1);
    put(file, &usd->info.spacing_m, sizeof(float));
    describe_property(t, "float[]", "widths", "constant", "default", widths);
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

static bool write_end(usdc_writer *usd)
{
    usdc_tables t = {0};
    char doc[256];
    snprintf(doc, sizeof doc, "tarn %s, scene %s", TARN_VERSION, usd->info.scene);
    describe_layer(usd, &t);
    describe_liquid(usd, &t);
    put_tables(&t, usd->out.file, doc);
    return put_contents(&t, usd->out.file);
}

// ---- the writer ----

static void usdc_free(usdc_writer *usd)
{
    for (int id = 0; id < USD_SERIES_COUNT; id++) {
        free(usd->samples[id].values);
    }
    free(usd->codes);
    free(usd);
}

static tarn_status no_memory(const char *path, char *why)
{
    snprintf(why, EXPORT_WHY_BYTES, "%s: out of memory", path);
    return TARN_E_MEMORY;
}

static tarn_status usdc_open(const char *path, const export_info *info, void **writer, char *why)
{
    usdc_writer *usd = calloc(1, sizeof *usd);
    if (usd == NULL) {
        return no_memory(path, why);
    }
    usd->info = *info;
    tarn_status status = part_file_open_whole(&usd->out, path, why); // the bootstrap is written last
    if (status != TARN_OK) {
        usdc_free(usd);
        return status;
    }
    const uint8_t bootstrap[BOOTSTRAP_BYTES] = {'P', 'X', 'R', '-', 'U', 'S', 'D', 'C', 0, 8, 0};
    put(usd->out.file, bootstrap, sizeof bootstrap);
    *writer = usd;
    return TARN_OK;
}

static bool grow(usdc_writer *usd)
{
    if (usd->frame_count < usd->frame_capacity) {
        return true;
    }
    uint32_t capacity = usd->frame_capacity > 0 ? 2 * usd->frame_capacity : 64;
    double *codes = realloc(usd->codes, capacity * sizeof *codes);
    usd->codes = codes != NULL ? codes : usd->codes;
    bool grown = codes != NULL;
    for (int id = 0; id < USD_SERIES_COUNT; id++) {
        uint64_t *values = realloc(usd->samples[id].values, capacity * sizeof *values);
        usd->samples[id].values = values != NULL ? values : usd->samples[id].values;
        grown = grown && values != NULL;
    }
    usd->frame_capacity = grown ? capacity : usd->frame_capacity;
    return grown;
}

static tarn_status usdc_frame(void *writer, const export_frame *frame, char *why)
{
    usdc_writer *usd = writer;
    if (!grow(usd)) {
        return no_memory(usd->out.path, why);
    }
    usd->codes[usd->frame_count] = usd_code(&usd->info, frame->time_s);
    for (int id = 0; id < USD_SERIES_COUNT; id++) {
        usd->samples[id].values[usd->frame_count] = put_sample(usd, id, frame);
        usd->samples[id].used |= usd_has_series(frame, id);
    }
    usd_name_channel(frame, usd->channel);
    usd->frame_count++;
    return fflush(usd->out.file) == 0 && !ferror(usd->out.file) ? TARN_OK : export_why_errno(usd->out.path, why);
}

static tarn_status usdc_close(void *writer, bool keep, char *why)
{
    usdc_writer *usd = writer;
    tarn_status status = TARN_OK;
    if (!keep) {
        part_file_drop(&usd->out);
    } else if (write_end(usd)) {
        status = part_file_close(&usd->out, why);
    } else {
        status = part_file_fail(&usd->out, why);
    }
    usdc_free(usd);
    return status;
}

const export_format export_usdc = {".usdc", EXPORT_PARTICLES, false, "frames", usdc_open, usdc_frame, usdc_close};
const export_format export_usd = {".usd", EXPORT_PARTICLES, false, "frames", usdc_open, usdc_frame, usdc_close};
