// The list of formats, and what all of them share. A new format is a row of `formats`.
#include "server/tool/export/export.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const export_format *const formats[] = {
    &export_vtk,          &export_vti,          &export_usda,       &export_usdc,        &export_usd,
    &export_png,          &export_apng,         &export_y4m,        &export_surface_obj, &export_surface_ply,
    &export_surface_usda, &export_surface_usdc, &export_surface_usd};
enum { FORMAT_COUNT = sizeof formats / sizeof formats[0] };

uint32_t export_attributes(const export_frame *frame, export_attribute attributes[EXPORT_ATTRIBUTES_MAX])
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

size_t export_type_bytes(export_type type)
{
    return type == EXPORT_UINT8 ? 1 : 4;
}

const char *export_time_text(double time_s, char text[EXPORT_TIME_BYTES])
{
    snprintf(text, EXPORT_TIME_BYTES, "%.9g", time_s);
    return text;
}

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

tarn_status export_why_errno(const char *path, char *why)
{
    snprintf(why, EXPORT_WHY_BYTES, "%s: %s", path, strerror(errno));
    return TARN_E_IO;
}
