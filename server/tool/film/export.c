// What all writers of frames share, the writers of PLY, VTK and surfaces, and the list of all formats: a new one is a
// row of `formats`, at the end.
#include "server/tool/film/export.h"
#include "server/tool/film/surface.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are written as they lie in memory");

// ---- what writers share ----

/// The attributes that a frame has: velocity, id, and where present liquid, colour and a channel. @return their number
static uint32_t export_attributes(const export_frame *frame, export_attribute attributes[EXPORT_ATTRIBUTES_MAX])
{
    const export_attribute all[] = {
        {"velocity", EXPORT_FLOAT32, 3, frame->velocities_m_s},
        {"id", EXPORT_UINT32, 1, frame->ids},
        {"liquid", EXPORT_UINT8, 1, frame->liquids},
        {"colour", EXPORT_UINT8, 3, frame->colours},
        {frame->channel_name, EXPORT_FLOAT32, 1, frame->channel},
    };
    _Static_assert(sizeof all / sizeof all[0] == EXPORT_ATTRIBUTES_MAX, "room for all of them");
    uint32_t count = 0;
    for (size_t i = 0; i < EXPORT_ATTRIBUTES_MAX; i++) {
        if (all[i].values != NULL) {
            attributes[count++] = all[i];
        }
    }
    return count;
}

static size_t export_type_bytes(export_type type)
{
    return type == EXPORT_UINT8 ? 1 : 4;
}

const char *export_time_text(double time_s, char text[EXPORT_TIME_BYTES])
{
    snprintf(text, EXPORT_TIME_BYTES, "%.9g", time_s);
    return text;
}

tarn_status export_why_errno(const char *path, char *why)
{
    snprintf(why, EXPORT_WHY_BYTES, "%s: %s", path, strerror(errno));
    return TARN_E_IO;
}

tarn_status export_why_memory(const char *path, char *why)
{
    snprintf(why, EXPORT_WHY_BYTES, "%s: out of memory", path);
    return TARN_E_MEMORY;
}

/// Of a format whose files are whole frame by frame.
static tarn_status close_whole(void *writer, bool keep, char *why)
{
    (void)keep;
    (void)why;
    free(writer);
    return TARN_OK;
}

// ---- files that are there once they are whole ----
// Written beside its target and renamed over it; a stream or device is written as it is.

enum { NAMES_MAX = 100 };

/// Opens a new file beside `path`; what is there under such a name belongs to somebody else, and is no link to follow.
static tarn_status open_part(part_file *file, const char *path, char *why)
{
    for (int i = 0; i < NAMES_MAX; i++) {
        char number[16] = "";
        if (i > 0) {
            snprintf(number, sizeof number, "-%d", i);
        }
        int bytes = snprintf(file->part, sizeof file->part, "%s.%ld%s.part", path, (long)getpid(), number);
        if (bytes < 0 || (size_t)bytes >= sizeof file->part) {
            errno = ENAMETOOLONG;
            break;
        }
        file->file = fopen(file->part, "w+bex");
        if (file->file != NULL) {
            return TARN_OK;
        }
        if (errno != EEXIST) {
            break;
        }
    }
    return export_why_errno(path, why);
}

/// What is there and isn't a file that could be replaced.
static bool is_stream(const char *path)
{
    struct stat found;
    return strcmp(path, "-") == 0 || (stat(path, &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode));
}

bool part_file_make_folder(const char *path, bool is_folder)
{
    char folder[PATH_MAX];
    const char *end = is_folder ? path + strlen(path) : strrchr(path, '/');
    if (end == NULL || end == path) {
        return true;
    }
    if ((size_t)(end - path) >= sizeof folder) {
        errno = ENAMETOOLONG;
        return false;
    }
    snprintf(folder, sizeof folder, "%.*s", (int)(end - path), path);
    return mkdir(folder, 0777) == 0 || errno == EEXIST;
}

tarn_status part_file_open_whole(part_file *file, const char *path, char *why)
{
    if (!is_stream(path)) {
        return part_file_open(file, path, why);
    }
    file->file = NULL;
    snprintf(why, EXPORT_WHY_BYTES, "%s: found a pipe or a device, allowed is a file; .y4m can go through a pipe",
             path);
    return TARN_E_IO;
}

tarn_status part_file_open(part_file *file, const char *path, char *why)
{
    file->file = NULL;
    file->part[0] = '\0';
    int bytes = snprintf(file->path, sizeof file->path, "%s", path);
    if (bytes < 0 || (size_t)bytes >= sizeof file->path) {
        errno = ENAMETOOLONG;
        return export_why_errno(path, why);
    }
    struct stat found;
    if (strcmp(path, "-") == 0) {
        file->file = stdout;
        return TARN_OK;
    }
    if (stat(path, &found) == 0 && !S_ISREG(found.st_mode)) {
        file->file = fopen(path, "wbe");
        return file->file != NULL ? TARN_OK : export_why_errno(path, why);
    }
    return open_part(file, path, why);
}

tarn_status part_file_try(const char *path, char *why)
{
    struct stat found;
    part_file file;
    if (strcmp(path, "-") == 0 || (stat(path, &found) == 0 && S_ISFIFO(found.st_mode))) {
        return TARN_OK;
    }
    const tarn_status status = part_file_open(&file, path, why);
    if (status != TARN_OK) {
        return status;
    }
    // A device gets nothing; one that is full refuses that, too.
    if (write(fileno(file.file), "", file.part[0] != '\0' ? 1 : 0) < 0) {
        return part_file_fail(&file, why);
    }
    part_file_drop(&file);
    return TARN_OK;
}

static int close_stream(part_file *file)
{
    FILE *stream = file->file;
    file->file = NULL;
    return stream == stdout ? fflush(stream) : fclose(stream);
}

tarn_status part_file_close(part_file *file, char *why)
{
    if (ferror(file->file)) {
        errno = errno != 0 ? errno : EIO;
        return part_file_fail(file, why);
    }
    if (close_stream(file) != 0 || (file->part[0] != '\0' && rename(file->part, file->path) != 0)) {
        tarn_status status = export_why_errno(file->path, why);
        if (file->part[0] != '\0') {
            unlink(file->part);
        }
        return status;
    }
    return TARN_OK;
}

void part_file_drop(part_file *file)
{
    if (file->file != NULL) {
        close_stream(file);
        if (file->part[0] != '\0') {
            unlink(file->part);
        }
    }
}

tarn_status part_file_fail(part_file *file, char *why)
{
    tarn_status status = export_why_errno(file->path, why);
    part_file_drop(file);
    return status;
}

// ---- PLY ----
// Particles as PLY files, one for each frame: binary, little endian, float x y z vx vy vz, then where present
// uint8 liquid, uint8 red green blue and a float named as a channel. http://paulbourke.net/dataformats/ply/
// It is `uint8` and not its older name `uchar`: meshio takes that for signed.

typedef struct ply_writer {
    char folder[PATH_MAX];
    const char *scene;
} ply_writer;

/// A name that is too long is refused by part_file_open.
static void frame_path(const ply_writer *ply, uint32_t step, char path[PATH_MAX + 256])
{
    snprintf(path, PATH_MAX + 256, "%s/%s-%06u.ply", ply->folder, ply->scene, step);
}

static tarn_status ply_open(const char *path, const export_info *info, void **writer, char *why)
{
    ply_writer *ply = calloc(1, sizeof *ply);
    if (ply == NULL) {
        return export_why_memory(path, why);
    }
    snprintf(ply->folder, sizeof ply->folder, "%s", path);
    ply->scene = info->scene;
    char frame[PATH_MAX + 256];
    frame_path(ply, 0, frame);
    const tarn_status status = part_file_try(frame, why);
    if (status != TARN_OK) {
        free(ply);
        return status;
    }
    *writer = ply;
    return TARN_OK;
}

static bool write_vertices(FILE *file, const export_frame *frame)
{
    for (size_t i = 0; i < frame->particle_count; i++) {
        uint8_t vertex[7 * sizeof(float) + 4];
        size_t bytes = 6 * sizeof(float);
        memcpy(vertex, frame->positions_m + 3 * i, 3 * sizeof(float));
        memcpy(vertex + 3 * sizeof(float), frame->velocities_m_s + 3 * i, 3 * sizeof(float));
        if (frame->liquids != NULL) {
            vertex[bytes++] = frame->liquids[i];
        }
        if (frame->colours != NULL) {
            memcpy(vertex + bytes, frame->colours + 3 * i, 3);
            bytes += 3;
        }
        if (frame->channel != NULL) {
            memcpy(vertex + bytes, frame->channel + i, sizeof(float));
            bytes += sizeof(float);
        }
        if (fwrite(vertex, bytes, 1, file) != 1) {
            return false;
        }
    }
    return fflush(file) == 0;
}

static tarn_status ply_frame(void *writer, const export_frame *frame, char *why)
{
    const ply_writer *ply = writer;
    char path[PATH_MAX + 256];
    frame_path(ply, frame->step, path);
    part_file out;
    tarn_status status = part_file_open(&out, path, why);
    if (status != TARN_OK) {
        return status;
    }
    fprintf(out.file,
            "ply\nformat binary_little_endian 1.0\ncomment tarn %s, scene %s, step %u\n"
            "comment metres, metres per second, y up\nelement vertex %u\n"
            "property float x\nproperty float y\nproperty float z\n"
            "property float vx\nproperty float vy\nproperty float vz\n%s%s",
            TARN_VERSION, ply->scene, frame->step, frame->particle_count,
            frame->liquids != NULL ? "property uint8 liquid\n" : "",
            frame->colours != NULL ? "property uint8 red\nproperty uint8 green\nproperty uint8 blue\n" : "");
    if (frame->channel != NULL) {
        fprintf(out.file, "property float %s\n", frame->channel_name);
    }
    fprintf(out.file, "end_header\n");
    return write_vertices(out.file, frame) ? part_file_close(&out, why) : part_file_fail(&out, why);
}

const export_format export_ply = {NULL, EXPORT_PARTICLES, false, "PLY files", ply_open, ply_frame, close_whole};

// ---- VTK ----
// For ParaView. Particles: one .vtp (XML PolyData) for each frame and a .pvd that gives each its time. The grid: a .vti
// (XML ImageData) for each frame.
//
//     run.pvd                  written last, so that it never names a file that isn't whole
//     run/run-000000.vtp       positions, velocity, speed, id, where present liquid and colour; one vertex per particle
//     run-000000.vti           pressure, velocity and density of the cells, and which are solid
//     run.vti.pvd              the same of these
//
// The values lie behind the XML as they are ("appended", "raw"): a 64-bit byte count, then the values, array by array.
// Format: "VTK XML Formats", https://docs.vtk.org/en/latest/design_documents/VTKFileFormats.html

enum { CHUNK = 4096 };

// ---- VTK: which file is of which time ----

/// A .pvd in the making.
typedef struct collection {
    FILE *list; // its entries, in memory
    char *text;
    size_t bytes;
} collection;

static bool collection_open(collection *c)
{
    c->list = open_memstream(&c->text, &c->bytes);
    return c->list != NULL;
}

/// A text as the value of an attribute, in which a reader would take white space for spaces.
static void write_attribute(FILE *file, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        fprintf(file, strchr("&<>\"\t\n\r", *c) != NULL ? "&#%d;" : "%c", *c);
    }
}

/// @param folder, name  of the frame's file, as seen from where the .pvd lies: one behind the other
static void collection_add(collection *c, const export_frame *frame, const char *folder, const char *name)
{
    char time[EXPORT_TIME_BYTES];
    fprintf(c->list, "    <DataSet timestep=\"%s\" group=\"\" part=\"0\" file=\"",
            export_time_text(frame->time_s, time));
    write_attribute(c->list, folder);
    write_attribute(c->list, name);
    fprintf(c->list, "\"/>\n");
}

/// Takes what collection_open made. @param keep  writes it
static tarn_status collection_close(collection *c, const char *path, bool keep, char *why)
{
    part_file out;
    tarn_status status = TARN_OK;
    if (fclose(c->list) != 0) {
        status = export_why_memory(path, why);
    } else if (keep && (status = part_file_open(&out, path, why)) == TARN_OK) {
        fprintf(out.file,
                "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"1.0\" "
                "byte_order=\"LittleEndian\">\n  <Collection>\n%s  </Collection>\n</VTKFile>\n",
                c->text);
        status = fflush(out.file) == 0 ? part_file_close(&out, why) : part_file_fail(&out, why);
    }
    free(c->text);
    return status;
}

// ---- VTK: particles ----

typedef struct vtk_writer {
    const char *path; // of the .pvd; lives as long as the writer
    char folder[PATH_MAX];
    const char *base; // the folder's own name, in `folder`
    collection frames;
} vtk_writer;

static tarn_status vtk_open(const char *path, const export_info *info, void **writer, char *why)
{
    (void)info;
    vtk_writer *vtk = calloc(1, sizeof *vtk);
    if (vtk == NULL || !collection_open(&vtk->frames)) {
        free(vtk);
        return export_why_memory(path, why);
    }
    vtk->path = path;
    snprintf(vtk->folder, sizeof vtk->folder, "%.*s", (int)(strlen(path) - strlen(".pvd")), path);
    const char *slash = strrchr(vtk->folder, '/');
    vtk->base = slash != NULL ? slash + 1 : vtk->folder;
    tarn_status status = TARN_OK;
    if (vtk->base[0] == '\0' || (mkdir(vtk->folder, 0777) != 0 && errno != EEXIST)) {
        errno = vtk->base[0] == '\0' ? EINVAL : errno;
        status = export_why_errno(vtk->folder, why);
    } else {
        char frame[2 * PATH_MAX];
        snprintf(frame, sizeof frame, "%s/%s-%06u.vtp", vtk->folder, vtk->base, 0);
        status = part_file_try(frame, why);
    }
    if (status == TARN_OK) {
        status = part_file_try(path, why); // which is written in the end
    }
    if (status != TARN_OK) {
        char unused[EXPORT_WHY_BYTES];
        collection_close(&vtk->frames, path, false, unused);
        free(vtk);
        return status;
    }
    *writer = vtk;
    return TARN_OK;
}

// ---- VTK: the XML part ----

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

static void write_time(FILE *file, const export_frame *frame)
{
    char time[EXPORT_TIME_BYTES];
    fprintf(file,
            "    <FieldData>\n"
            "      <DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" format=\"ascii\">%s"
            "</DataArray>\n"
            "    </FieldData>\n",
            export_time_text(frame->time_s, time));
}

static void write_header(FILE *file, const export_frame *frame, const export_attribute *attributes,
                         uint32_t attribute_count)
{
    uint32_t count = frame->particle_count;
    uint64_t offset_bytes = 0;
    fprintf(file, "<?xml version=\"1.0\"?>\n"
                  "<VTKFile type=\"PolyData\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n"
                  "  <PolyData>\n");
    write_time(file, frame);
    fprintf(file,
            "    <Piece NumberOfPoints=\"%u\" NumberOfVerts=\"%u\" NumberOfLines=\"0\" NumberOfStrips=\"0\" "
            "NumberOfPolys=\"0\">\n"
            "      <PointData Scalars=\"speed\" Vectors=\"velocity\">\n",
            count, count);
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

// ---- VTK: the values, in the order of the tags ----

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

static bool write_end(FILE *file)
{
    return fprintf(file, "\n  </AppendedData>\n</VTKFile>\n") > 0 && fflush(file) == 0;
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
           write_end(file);
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
        collection_add(&vtk->frames, frame, vtk->base, path + strlen(vtk->folder));
    }
    return status;
}

static tarn_status vtk_close(void *writer, bool keep, char *why)
{
    vtk_writer *vtk = writer;
    const tarn_status status = collection_close(&vtk->frames, vtk->path, keep, why);
    free(vtk);
    return status;
}

static const export_format export_vtk = {".pvd", EXPORT_PARTICLES, false, "frames", vtk_open, vtk_frame, vtk_close};

// ---- VTK: the grid ----

/// A cell's velocity is the mean of those of the particles less than a cell from its centre along each axis, weighed by
/// one less the distance: what the liquid's transfer takes to its grid. What particles bring to a cell is their sum by
/// the same weights, mirrored at the tank's walls, over how many fill one: half of the liquid's density is its surface.
typedef struct vti_writer {
    const char *path; // FILE.vti; lives as long as the writer
    uint32_t cells[3];
    double cell_m;
    size_t cell_count;
    float cell_particles;
    float *velocity_m_s, *weight, *amount; // per cell
    collection frames;
} vti_writer;

static void vti_free(vti_writer *vti)
{
    free(vti->velocity_m_s);
    free(vti->weight);
    free(vti->amount);
    free(vti);
}

/// FILE.pvd is that of particles, which a run may write, too.
static void vti_list_path(const vti_writer *vti, char path[PATH_MAX + 8])
{
    snprintf(path, PATH_MAX + 8, "%s.pvd", vti->path);
}

static tarn_status vti_open(const char *path, const export_info *info, void **writer, char *why)
{
    vti_writer *vti = calloc(1, sizeof *vti);
    if (vti != NULL) {
        vti->path = path;
        vti->cell_m = (double)info->cell_m;
        memcpy(vti->cells, info->cells, sizeof vti->cells);
        vti->cell_count = (size_t)info->cells[0] * info->cells[1] * info->cells[2];
        vti->velocity_m_s = malloc(vti->cell_count * 3 * sizeof(float));
        vti->weight = malloc(vti->cell_count * sizeof(float));
        vti->amount = malloc(vti->cell_count * sizeof(float));
        vti->cell_particles = info->cell_particles;
    }
    if (vti == NULL || vti->velocity_m_s == NULL || vti->weight == NULL || vti->amount == NULL ||
        !collection_open(&vti->frames)) {
        if (vti != NULL) {
            vti_free(vti);
        }
        return export_why_memory(path, why);
    }
    char list[PATH_MAX + 8];
    vti_list_path(vti, list);
    const tarn_status status = part_file_try(list, why); // which is written in the end
    if (status != TARN_OK) {
        char unused[EXPORT_WHY_BYTES];
        collection_close(&vti->frames, list, false, unused);
        vti_free(vti);
        return status;
    }
    *writer = vti;
    return TARN_OK;
}

/// Adds a particle to the eight cells whose centres are nearest; beyond a wall there are none, but for its mirror
/// image's part in the cell on this side.
static void add_particle(vti_writer *vti, const float *position_m, const float *velocity_m_s, float amount)
{
    int64_t first[3];
    float past[3];
    for (int a = 0; a < 3; a++) {
        const double at = (double)position_m[a] / vti->cell_m - 0.5;
        first[a] = (int64_t)floor(at);
        past[a] = (float)(at - floor(at));
    }
    for (int corner = 0; corner < 8; corner++) {
        float weight = 1.0F;
        int64_t cell[3];
        bool is_inside = true;
        for (int a = 0; a < 3; a++) {
            const int above = corner >> a & 1;
            const int64_t last = (int64_t)vti->cells[a] - 1, aimed = first[a] + above;
            weight *= above ? past[a] : 1.0F - past[a];
            cell[a] = aimed < 0 ? 0 : aimed > last ? last : aimed;
            is_inside &= cell[a] == aimed;
        }
        const size_t at = ((size_t)cell[2] * vti->cells[1] + (size_t)cell[1]) * vti->cells[0] + (size_t)cell[0];
        vti->amount[at] += weight * amount;
        if (is_inside) {
            vti->weight[at] += weight;
            for (size_t c = 0; c < 3; c++) {
                vti->velocity_m_s[3 * at + c] += weight * velocity_m_s[c];
            }
        }
    }
}

static void find_cells(vti_writer *vti, const export_frame *frame)
{
    memset(vti->velocity_m_s, 0, vti->cell_count * 3 * sizeof(float));
    memset(vti->weight, 0, vti->cell_count * sizeof(float));
    memset(vti->amount, 0, vti->cell_count * sizeof(float));
    for (size_t i = 0; i < frame->particle_count; i++) {
        add_particle(vti, frame->positions_m + 3 * i, frame->velocities_m_s + 3 * i,
                     frame->amounts != NULL ? frame->amounts[i] / vti->cell_particles : 0.0F);
    }
    for (size_t i = 0; i < 3 * vti->cell_count; i++) {
        vti->velocity_m_s[i] /= vti->weight[i / 3] > 0.0F ? vti->weight[i / 3] : 1.0F;
    }
}

static tarn_status vti_frame(void *writer, const export_frame *frame, char *why)
{
    vti_writer *vti = writer;
    const uint64_t bytes = vti->cell_count * sizeof(float);
    char path[2 * PATH_MAX], extent[64]; // a name that is too long is refused by part_file_open
    snprintf(path, sizeof path, "%.*s-%06u.vti", (int)(strlen(vti->path) - strlen(".vti")), vti->path, frame->step);
    snprintf(extent, sizeof extent, "0 %u 0 %u 0 %u", vti->cells[0], vti->cells[1], vti->cells[2]);
    part_file out;
    tarn_status status = part_file_open(&out, path, why);
    if (status != TARN_OK) {
        return status;
    }
    find_cells(vti, frame);
    fprintf(out.file,
            "<?xml version=\"1.0\"?>\n"
            "<VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n"
            "  <ImageData WholeExtent=\"%s\" Origin=\"0 0 0\" Spacing=\"%.9g %.9g %.9g\">\n",
            extent, vti->cell_m, vti->cell_m, vti->cell_m);
    write_time(out.file, frame);
    fprintf(out.file, "    <Piece Extent=\"%s\">\n      <CellData Vectors=\"velocity\">\n", extent);
    uint64_t offset_bytes = 0;
    const uint32_t count = (uint32_t)vti->cell_count;
    if (frame->pressure_pa != NULL) {
        array_tag(out.file, "        ", "pressure", EXPORT_FLOAT32, 1, count, &offset_bytes);
    }
    array_tag(out.file, "        ", "velocity", EXPORT_FLOAT32, 3, count, &offset_bytes);
    if (frame->amounts != NULL) {
        array_tag(out.file, "        ", frame->amount_name, EXPORT_FLOAT32, 1, count, &offset_bytes);
    }
    array_tag(out.file, "        ", "solid", EXPORT_UINT8, 1, count, &offset_bytes);
    fprintf(out.file, "      </CellData>\n    </Piece>\n  </ImageData>\n  <AppendedData encoding=\"raw\">\n_");
    const bool is_written = (frame->pressure_pa == NULL || write_block(out.file, frame->pressure_pa, bytes)) &&
                            write_block(out.file, vti->velocity_m_s, 3 * bytes) &&
                            (frame->amounts == NULL || write_block(out.file, vti->amount, bytes)) &&
                            write_block(out.file, frame->solid_cells, vti->cell_count) && write_end(out.file);
    status = is_written ? part_file_close(&out, why) : part_file_fail(&out, why);
    if (status == TARN_OK) {
        const char *slash = strrchr(path, '/');
        collection_add(&vti->frames, frame, "", slash != NULL ? slash + 1 : path);
    }
    return status;
}

static tarn_status vti_close(void *writer, bool keep, char *why)
{
    vti_writer *vti = writer;
    char path[PATH_MAX + 8];
    vti_list_path(vti, path);
    const tarn_status status = collection_close(&vti->frames, path, keep, why);
    vti_free(vti);
    return status;
}

const export_format export_vti = {".vti", EXPORT_PARTICLES, true, "frames of the grid", vti_open, vti_frame, vti_close};

// ---- surfaces ----
// The liquid's surface, a file for each frame: OBJ as text, PLY as binary, little endian. Both have normals, and
// colours where the particles have them; PLY also velocities, for motion blur, and a channel's values.
// http://paulbourke.net/dataformats/obj/ and .../ply/; colours behind an OBJ's vertices are what MeshLab and Blender
// read.

typedef struct surface_writer {
    const char *path; // lives as long as the writer
    const char *scene;
} surface_writer;

static tarn_status surface_open(const char *path, const export_info *info, void **writer, char *why)
{
    surface_writer *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return export_why_memory(path, why);
    }
    s->path = path;
    s->scene = info->scene;
    *writer = s;
    return TARN_OK;
}

static void write_obj(FILE *file, const surface_writer *s, const export_frame *frame, const mesh *m)
{
    fprintf(file, "# tarn %s, scene %s, step %u; metres, y up\no Liquid\n", TARN_VERSION, s->scene, frame->step);
    for (size_t v = 0; v < m->vertex_count; v++) {
        const float *p = m->positions_m + 3 * v;
        fprintf(file, "v %.7g %.7g %.7g", (double)p[0], (double)p[1], (double)p[2]);
        if (m->colours != NULL) {
            const uint8_t *c = m->colours + 3 * v;
            fprintf(file, " %.4g %.4g %.4g", c[0] / 255.0, c[1] / 255.0, c[2] / 255.0);
        }
        putc('\n', file);
    }
    for (size_t v = 0; v < m->vertex_count; v++) {
        const float *n = m->normals + 3 * v;
        fprintf(file, "vn %.4g %.4g %.4g\n", (double)n[0], (double)n[1], (double)n[2]);
    }
    for (size_t i = 0; i < m->triangle_count; i++) {
        const uint32_t a = m->triangles[3 * i] + 1, b = m->triangles[3 * i + 1] + 1, c = m->triangles[3 * i + 2] + 1;
        fprintf(file, "f %u//%u %u//%u %u//%u\n", a, a, b, b, c, c);
    }
}

static void write_ply_header(FILE *file, const surface_writer *s, const export_frame *frame, const mesh *m)
{
    fprintf(file,
            "ply\nformat binary_little_endian 1.0\ncomment tarn %s, scene %s, step %u\n"
            "comment metres, metres per second, y up\nelement vertex %u\n"
            "property float x\nproperty float y\nproperty float z\n"
            "property float nx\nproperty float ny\nproperty float nz\n"
            "property float vx\nproperty float vy\nproperty float vz\n%s",
            TARN_VERSION, s->scene, frame->step, m->vertex_count,
            m->colours != NULL ? "property uint8 red\nproperty uint8 green\nproperty uint8 blue\n" : "");
    if (m->channel != NULL) {
        fprintf(file, "property float %s\n", frame->channel_name);
    }
    fprintf(file, "element face %u\nproperty list uint8 int vertex_indices\nend_header\n", m->triangle_count);
}

static void write_ply(FILE *file, const surface_writer *s, const export_frame *frame, const mesh *m)
{
    write_ply_header(file, s, frame, m);
    for (size_t v = 0; v < m->vertex_count; v++) {
        uint8_t vertex[10 * sizeof(float) + 3];
        size_t bytes = 9 * sizeof(float);
        memcpy(vertex, m->positions_m + 3 * v, 3 * sizeof(float));
        memcpy(vertex + 3 * sizeof(float), m->normals + 3 * v, 3 * sizeof(float));
        memcpy(vertex + 6 * sizeof(float), m->velocities_m_s + 3 * v, 3 * sizeof(float));
        if (m->colours != NULL) {
            memcpy(vertex + bytes, m->colours + 3 * v, 3);
            bytes += 3;
        }
        if (m->channel != NULL) {
            memcpy(vertex + bytes, m->channel + v, sizeof(float));
            bytes += sizeof(float);
        }
        fwrite(vertex, bytes, 1, file);
    }
    for (size_t i = 0; i < m->triangle_count; i++) {
        uint8_t face[1 + 3 * sizeof(uint32_t)] = {3};
        memcpy(face + 1, m->triangles + 3 * i, 3 * sizeof(uint32_t));
        fwrite(face, sizeof face, 1, file);
    }
}

static tarn_status write_surface(surface_writer *s, const export_frame *frame, const char *ending,
                                 void (*write)(FILE *, const surface_writer *, const export_frame *, const mesh *),
                                 char *why)
{
    char path[PATH_MAX + 32]; // a name that is too long is refused by part_file_open
    snprintf(path, sizeof path, "%.*s-%06u%s", (int)(strlen(s->path) - strlen(ending)), s->path, frame->step, ending);
    part_file out;
    tarn_status status = part_file_open(&out, path, why);
    if (status == TARN_OK) {
        write(out.file, s, frame, frame->surface);
        status = fflush(out.file) == 0 && !ferror(out.file) ? part_file_close(&out, why) : part_file_fail(&out, why);
    }
    return status;
}

static tarn_status obj_frame(void *writer, const export_frame *frame, char *why)
{
    return write_surface(writer, frame, ".obj", write_obj, why);
}

static tarn_status surface_ply_frame(void *writer, const export_frame *frame, char *why)
{
    return write_surface(writer, frame, ".ply", write_ply, why);
}

const export_format export_surface_obj = {".obj",       EXPORT_SURFACE, true,       "OBJ files",
                                          surface_open, obj_frame,      close_whole};
static const export_format export_surface_ply = {".ply",       EXPORT_SURFACE,    true,       "PLY files",
                                                 surface_open, surface_ply_frame, close_whole};

// ---- all formats ----

static const export_format *const formats[] = {
    &export_vtk,          &export_vti,          &export_usda,       &export_usdc,        &export_usd,
    &export_png,          &export_apng,         &export_y4m,        &export_surface_obj, &export_surface_ply,
    &export_surface_usda, &export_surface_usdc, &export_surface_usd};
enum { FORMAT_COUNT = sizeof formats / sizeof formats[0] };

const export_format *export_format_find(const char *path, export_kind kind, char *allowed, size_t allowed_bytes)
{
    size_t length = strlen(path), used = 0;
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        const export_format *format = formats[i];
        if (format->kind != kind) {
            continue;
        }
        size_t ending = strlen(format->ending);
        if (length > ending && strcmp(path + length - ending, format->ending) == 0) {
            return format;
        }
        int bytes = used < allowed_bytes
                        ? snprintf(allowed + used, allowed_bytes - used, "%s%s", used > 0 ? ", " : "", format->ending)
                        : 0;
        used += bytes > 0 ? (size_t)bytes : 0;
    }
    return kind == EXPORT_PICTURE && strcmp(path, "-") == 0 ? &export_y4m : NULL;
}
