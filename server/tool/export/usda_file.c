// Particles as a USD text layer: one Points prim whose attributes have a time sample for each frame.
//
// USD lists all samples of an attribute before the next attribute, and a run delivers all attributes of a frame before
// the next frame. So each attribute is collected in a file of its own, which has no name, and these are put together
// at the end:
//
//     frame 0, 1, 2 ... -> extent | ids | points | velocities | ... -> header + all of them -> run.usda
#include "server/tool/export/export.h"
#include "server/tool/export/part_file.h"
#include "server/tool/export/usd_values.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct usd_writer {
    export_info info;
    part_file out;
    FILE *series[USD_SERIES_COUNT];
    bool used[USD_SERIES_COUNT]; // by at least one frame
    char channel[USD_NAME_BYTES];
    bool has_frames;
    double first_code, last_code;
} usd_writer;

/// A file that is gone when it is closed, beside the one that it becomes a part of: there is room where that fits.
static FILE *open_nameless(const char *part, int number)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s.%d", part, number);
    FILE *file = fopen(path, "w+be");
    if (file != NULL) {
        unlink(path);
    }
    return file;
}

static void close_series(usd_writer *usd)
{
    for (int i = 0; i < USD_SERIES_COUNT; i++) {
        if (usd->series[i] != NULL) {
            fclose(usd->series[i]);
        }
    }
}

static tarn_status usd_open(const char *path, const export_info *info, void **writer, char *why)
{
    usd_writer *usd = calloc(1, sizeof *usd);
    if (usd == NULL) {
        snprintf(why, EXPORT_WHY_BYTES, "%s: out of memory", path);
        return TARN_E_MEMORY;
    }
    tarn_status status = part_file_open_whole(&usd->out, path, why); // its parts are collected beside it
    for (int i = 0; status == TARN_OK && i < USD_SERIES_COUNT; i++) {
        usd->series[i] = open_nameless(usd->out.part, i);
        if (usd->series[i] == NULL) {
            status = part_file_fail(&usd->out, why);
        }
    }
    if (status != TARN_OK) {
        close_series(usd);
        free(usd);
        return status;
    }
    usd->info = *info;
    *writer = usd;
    return TARN_OK;
}

// ---- samples ----

/// "[(x, y, z), ...]" with as many digits as a float has.
static void write_vectors(FILE *file, const float *values, size_t count)
{
    putc('[', file);
    for (size_t i = 0; i < count; i++) {
        const float *v = values + 3 * i;
        fprintf(file, "%s(%.9g, %.9g, %.9g)", i > 0 ? ", " : "", (double)v[0], (double)v[1], (double)v[2]);
    }
    putc(']', file);
}

static void write_ids(FILE *file, const export_frame *frame)
{
    putc('[', file);
    for (size_t i = 0; i < frame->particle_count; i++) {
        fprintf(file, "%s%" PRIu32, i > 0 ? ", " : "", frame->ids[i]);
    }
    putc(']', file);
}

static void write_liquids(FILE *file, const export_frame *frame)
{
    putc('[', file);
    for (size_t i = 0; i < frame->particle_count; i++) {
        fprintf(file, "%s%u", i > 0 ? ", " : "", frame->liquids[i]);
    }
    putc(']', file);
}

static void write_colours(FILE *file, const export_frame *frame)
{
    float linear[256];
    usd_linear(linear);
    putc('[', file);
    for (size_t i = 0; i < frame->particle_count; i++) {
        const uint8_t *c = frame->colours + 3 * i;
        fprintf(file, "%s(%.6g, %.6g, %.6g)", i > 0 ? ", " : "", (double)linear[c[0]], (double)linear[c[1]],
                (double)linear[c[2]]);
    }
    putc(']', file);
}

static void write_channel(FILE *file, const export_frame *frame)
{
    putc('[', file);
    for (size_t i = 0; i < frame->particle_count; i++) {
        fprintf(file, "%s%.9g", i > 0 ? ", " : "", (double)frame->channel[i]);
    }
    putc(']', file);
}

static void write_sample(usd_writer *usd, int id, const export_frame *frame)
{
    FILE *file = usd->series[id];
    float box[6];
    switch (id) {
    case USD_EXTENT:
        usd_extent(frame, 0.5f * usd->info.spacing_m, box);
        write_vectors(file, box, 2);
        break;
    case USD_IDS:
        write_ids(file, frame);
        break;
    case USD_POINTS:
        write_vectors(file, frame->positions_m, frame->particle_count);
        break;
    case USD_VELOCITIES:
        write_vectors(file, frame->velocities_m_s, frame->particle_count);
        break;
    case USD_LIQUIDS:
        write_liquids(file, frame);
        break;
    case USD_COLOURS:
        write_colours(file, frame);
        break;
    case USD_CHANNEL:
        write_channel(file, frame);
        break;
    default:
        break;
    }
}

static tarn_status usd_frame(void *writer, const export_frame *frame, char *why)
{
    usd_writer *usd = writer;
    double code = usd_code(&usd->info, frame->time_s);
    for (int id = 0; id < USD_SERIES_COUNT; id++) {
        if (!usd_has_series(frame, id)) {
            continue;
        }
        fprintf(usd->series[id], "            %.12g: ", code);
        write_sample(usd, id, frame);
        fprintf(usd->series[id], ",\n");
        if (fflush(usd->series[id]) != 0 || ferror(usd->series[id])) {
            return export_why_errno(usd->out.path, why);
        }
        usd->used[id] = true;
    }
    usd_name_channel(frame, usd->channel);
    usd->first_code = usd->has_frames ? usd->first_code : code;
    usd->last_code = code;
    usd->has_frames = true;
    return TARN_OK;
}

// ---- putting together ----

static bool append(FILE *to, FILE *from)
{
    char bytes[1 << 16];
    rewind(from);
    for (size_t count; (count = fread(bytes, 1, sizeof bytes, from)) > 0;) {
        if (fwrite(bytes, 1, count, to) != count) {
            return false;
        }
    }
    return !ferror(from);
}

static bool write_layer(usd_writer *usd)
{
    FILE *file = usd->out.file;
    fprintf(
        file,
        "#usda 1.0\n(\n    defaultPrim = \"Tank\"\n    doc = \"tarn %s, scene %s\"\n    endTimeCode = %.12g\n"
        "    metersPerUnit = 1\n    startTimeCode = %.12g\n    timeCodesPerSecond = %.12g\n    upAxis = \"Y\"\n)\n\n"
        "def Xform \"Tank\"\n{\n    def Points \"Liquid\"\n    {\n",
        TARN_VERSION, usd->info.scene, usd->last_code, usd->first_code, usd_codes_per_s(&usd->info));
    for (int id = 0; id < USD_SERIES_COUNT; id++) {
        if (!usd->used[id]) {
            continue;
        }
        const usd_series_spec *spec = &usd_series[id];
        const char *name = usd_name(id, usd->channel);
        if (spec->interpolation[0] != '\0') {
            fprintf(file, "        %s %s (\n            interpolation = \"%s\"\n        )\n", spec->type, name,
                    spec->interpolation);
        }
        fprintf(file, "        %s %s.timeSamples = {\n", spec->type, name);
        if (!append(file, usd->series[id])) {
            return false;
        }
        fprintf(file, "        }\n");
    }
    if (!usd->used[USD_COLOURS]) {
        fprintf(file, "        %s %s = [(%g, %g, %g)] (\n            interpolation = \"constant\"\n        )\n",
                usd_series[USD_COLOURS].type, usd_series[USD_COLOURS].name, (double)usd_water_colour[0],
                (double)usd_water_colour[1], (double)usd_water_colour[2]);
    }
    fprintf(file, "        float[] widths = [%.9g] (\n            interpolation = \"constant\"\n        )\n    }\n}\n",
            (double)usd->info.spacing_m);
    return fflush(file) == 0;
}

static tarn_status usd_close(void *writer, bool keep, char *why)
{
    usd_writer *usd = writer;
    tarn_status status = TARN_OK;
    if (!keep) {
        part_file_drop(&usd->out);
    } else if (write_layer(usd)) {
        status = part_file_close(&usd->out, why);
    } else {
        status = part_file_fail(&usd->out, why);
    }
    close_series(usd);
    free(usd);
    return status;
}

const export_format export_usda = {".usda", EXPORT_PARTICLES, false, "frames", usd_open, usd_frame, usd_close};
