// Particles for ParaView: one .vtp (XML PolyData) for each frame and a .pvd that gives each its time.
//
//     run.pvd                  written last, so that it never names a file that isn't whole
//     run/run-000000.vtp       positions, velocity, speed, id, where present liquid and colour; one vertex per particle
//
// The values lie behind the XML as they are ("appended", "raw"): a 64-bit byte count, then the values, array by array.
// Format: "VTK XML Formats", https://docs.vtk.org/en/latest/design_documents/VTKFileFormats.html
#include "server/tool/export/export.h"
#include "server/tool/export/part_file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are written as they lie in memory");

enum { CHUNK = 4096 };

typedef struct vtk_writer {
    const char *path; // of the .pvd; lives as long as the writer
    char folder[PATH_MAX];
    const char *base; // the folder's own name, in `folder`
    FILE *list;       // the .pvd's entries, in memory
    char *list_text;
    size_t list_bytes;
} vtk_writer;

static tarn_status vtk_open(const char *path, const export_info *info, void **writer, char *why)
{
    (void)info;
    vtk_writer *vtk = calloc(1, sizeof *vtk);
    if (vtk == NULL || (vtk->list = open_memstream(&vtk->list_text, &vtk->list_bytes)) == NULL) {
        snprintf(why, EXPORT_WHY_BYTES, "%s: out of memory", path);
        free(vtk);
        return TARN_E_MEMORY;
    }
    vtk->path = path;
    snprintf(vtk->folder, sizeof vtk->folder, "%.*s", (int)(strlen(path) - strlen(".pvd")), path);
    const char *slash = strrchr(vtk->folder, '/');
    vtk->base = slash != NULL ? slash + 1 : vtk->folder;
    if (vtk->base[0] == '\0' || (mkdir(vtk->folder, 0777) != 0 && errno != EEXIST)) {
        errno = vtk->base[0] == '\0' ? EINVAL : errno;
        tarn_status status = export_why_errno(vtk->folder, why);
        fclose(vtk->list);
        free(vtk->list_text);
        free(vtk);
        return status;
    }
    *writer = vtk;
    return TARN_OK;
}

// ---- the XML part ----

static void array_tag(FILE *file, const char *indent, const char *name, export_type type, uint32_t components,
                      uint32_t count, uint64_t *offset_bytes)
{
    static const char *const names[] = {
        [EXPORT_FLOAT32] = "Float32", [EXPORT_UINT32] = "UInt32", [EXPORT_INT32] = "Int32", [EXPORT_UINT8] = "UInt8"};
    fprintf(file,
            "%s<DataArray type=\"%s\" Name=\"%s\" NumberOfComponents=\"%u\" format=\"appended\" offset=\"%" PRIu64
            "\"/>\n",
            indent, names[type], name, components, *offset_bytes);
    *offset_bytes += sizeof(uint64_t) + (uint64_t)count * components * export_type_bytes(type);
}

static void write_header(FILE *file, const export_frame *frame, const export_attribute *attributes,
                         uint32_t attribute_count)
{
    uint32_t count = frame->particle_count;
    uint64_t offset_bytes = 0;
    fprintf(file,
            "<?xml version=\"1.0\"?>\n"
            "<VTKFile type=\"PolyData\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n"
            "  <PolyData>\n"
            "    <FieldData>\n"
            "      <DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" format=\"ascii\">%.17g"
            "</DataArray>\n"
            "    </FieldData>\n"
            "    <Piece NumberOfPoints=\"%u\" NumberOfVerts=\"%u\" NumberOfLines=\"0\" NumberOfStrips=\"0\" "
            "NumberOfPolys=\"0\">\n"
            "      <PointData Scalars=\"speed\" Vectors=\"velocity\">\n",
            frame->time_s, count, count);
    for (uint32_t i = 0; i < attribute_count; i++) {
        array_tag(file, "        ", attributes[i].name, attributes[i].type, attributes[i].components, count,
                  &offset_bytes);
    }
    array_tag(file, "        ", "speed", EXPORT_FLOAT32, 1, count, &offset_bytes);
    fprintf(file, "      </PointData>\n      <Points>\n");
    array_tag(file, "        ", "position", EXPORT_FLOAT32, 3, count, &offset_bytes);
    fprintf(file, "      </Points>\n      <Verts>\n");
    array_tag(file, "        ", "connectivity", EXPORT_INT32, 1, count, &offset_bytes);
    array_tag(file, "        ", "offsets", EXPORT_INT32, 1, count, &offset_bytes);
    fprintf(file, "      </Verts>\n    </Piece>\n  </PolyData>\n  <AppendedData encoding=\"raw\">\n_");
}

// ---- the values, in the order of the tags ----

static bool write_block(FILE *file, const void *values, uint64_t bytes)
{
    return fwrite(&bytes, sizeof bytes, 1, file) == 1 && (bytes == 0 || fwrite(values, bytes, 1, file) == 1);
}

static bool write_speeds(FILE *file, const export_frame *frame)
{
    float speeds_m_s[CHUNK];
    uint64_t bytes = frame->particle_count * sizeof(float);
    if (fwrite(&bytes, sizeof bytes, 1, file) != 1) {
        return false;
    }
    for (size_t start = 0; start < frame->particle_count; start += CHUNK) {
        size_t count = frame->particle_count - start < CHUNK ? frame->particle_count - start : CHUNK;
        for (size_t i = 0; i < count; i++) {
            const float *v = frame->velocities_m_s + 3 * (start + i);
            speeds_m_s[i] = sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        }
        if (fwrite(speeds_m_s, sizeof(float), count, file) != count) {
            return false;
        }
    }
    return true;
}

/// first, first + 1, ...
static bool write_count(FILE *file, uint32_t first, uint32_t count)
{
    uint32_t numbers[CHUNK];
    uint64_t bytes = count * sizeof(uint32_t);
    if (fwrite(&bytes, sizeof bytes, 1, file) != 1) {
        return false;
    }
    for (size_t start = 0; start < count; start += CHUNK) {
        size_t some = count - start < CHUNK ? count - start : CHUNK;
        for (size_t i = 0; i < some; i++) {
            numbers[i] = first + (uint32_t)(start + i);
        }
        if (fwrite(numbers, sizeof(uint32_t), some, file) != some) {
            return false;
        }
    }
    return true;
}

static bool write_values(FILE *file, const export_frame *frame, const export_attribute *attributes,
                         uint32_t attribute_count)
{
    uint64_t count = frame->particle_count;
    for (uint32_t i = 0; i < attribute_count; i++) {
        uint64_t bytes = count * attributes[i].components * export_type_bytes(attributes[i].type);
        if (!write_block(file, attributes[i].values, bytes)) {
            return false;
        }
    }
    return write_speeds(file, frame) && write_block(file, frame->positions_m, count * 3 * sizeof(float)) &&
           write_count(file, 0, frame->particle_count) && write_count(file, 1, frame->particle_count) &&
           fprintf(file, "\n  </AppendedData>\n</VTKFile>\n") > 0 && fflush(file) == 0;
}

static tarn_status vtk_frame(void *writer, const export_frame *frame, char *why)
{
    vtk_writer *vtk = writer;
    char path[2 * PATH_MAX]; // a name that is too long is refused by part_file_open
    snprintf(path, sizeof path, "%s/%s-%06u.vtp", vtk->folder, vtk->base, frame->step);
    part_file out;
    tarn_status status = part_file_open(&out, path, why);
    if (status != TARN_OK) {
        return status;
    }
    export_attribute attributes[EXPORT_ATTRIBUTES_MAX];
    uint32_t attribute_count = export_attributes(frame, attributes);
    write_header(out.file, frame, attributes, attribute_count);
    status = write_values(out.file, frame, attributes, attribute_count) ? part_file_close(&out, why)
                                                                        : part_file_fail(&out, why);
    if (status == TARN_OK) {
        fprintf(vtk->list, "    <DataSet timestep=\"%.9g\" group=\"\" part=\"0\" file=\"", frame->time_s);
        for (const char *c = vtk->base; *c != '\0'; c++) {
            fprintf(vtk->list, strchr("&<>\"", *c) != NULL ? "&#%d;" : "%c", *c);
        }
        fprintf(vtk->list, "%s\"/>\n", path + strlen(vtk->folder));
    }
    return status;
}

static tarn_status write_collection(const vtk_writer *vtk, char *why)
{
    part_file out;
    tarn_status status = part_file_open(&out, vtk->path, why);
    if (status != TARN_OK) {
        return status;
    }
    fprintf(out.file,
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"1.0\" byte_order=\"LittleEndian\">\n"
            "  <Collection>\n%s  </Collection>\n</VTKFile>\n",
            vtk->list_text);
    return fflush(out.file) == 0 ? part_file_close(&out, why) : part_file_fail(&out, why);
}

static tarn_status vtk_close(void *writer, bool keep, char *why)
{
    vtk_writer *vtk = writer;
    tarn_status status = TARN_OK;
    if (fclose(vtk->list) != 0) {
        snprintf(why, EXPORT_WHY_BYTES, "%s: out of memory", vtk->path);
        status = TARN_E_MEMORY;
    } else if (keep) {
        status = write_collection(vtk, why);
    }
    free(vtk->list_text);
    free(vtk);
    return status;
}

const export_format export_vtk = {".pvd", "frames", false, vtk_open, vtk_frame, vtk_close};
