// The choice among back ends: a table, and what all of them share.
#include "server/tool/kinect/depth_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct depth_source {
    const depth_back_end *back_end;
    void *self;
};

static const depth_back_end *const back_ends[DEPTH_KIND_COUNT] = {
    [DEPTH_FOLDER] = &depth_folder,
#ifdef TARN_FREENECT
    [DEPTH_FREENECT] = &depth_freenect,
#endif
    [DEPTH_V4L2] = &depth_v4l2,
#ifdef TARN_OPENNI
    [DEPTH_OPENNI] = &depth_openni,
#endif
    [DEPTH_DEMO] = &depth_demo,
};

const char *depth_kind_missing(depth_kind kind)
{
    if (back_ends[kind] != NULL) {
        return NULL;
    }
    return kind == DEPTH_OPENNI ? "this program was built without OpenNI 2; install libopenni2-dev and build again"
                                : "this program was built without libfreenect; install libfreenect-dev and build again";
}

void depth_choice_name(const depth_choice *choice, char name[DEPTH_WHY_BYTES])
{
    switch (choice->kind) {
    case DEPTH_FOLDER:
        snprintf(name, DEPTH_WHY_BYTES, "the recording \"%.400s\"", choice->path);
        return;
    case DEPTH_FREENECT:
        snprintf(name, DEPTH_WHY_BYTES, "the Kinect %u", choice->index);
        return;
    case DEPTH_OPENNI:
        if (choice->path == NULL) {
            snprintf(name, DEPTH_WHY_BYTES, "the OpenNI camera %u", choice->index);
            return;
        }
        snprintf(name, DEPTH_WHY_BYTES, "the OpenNI %s \"%.400s\"",
                 strchr(choice->path, '.') != NULL ? "recording" : "camera", choice->path);
        return;
    case DEPTH_DEMO:
        snprintf(name, DEPTH_WHY_BYTES, "the demonstration");
        return;
    default:
        snprintf(name, DEPTH_WHY_BYTES, "the depth camera \"%.400s\"", choice->path);
        return;
    }
}

depth_source *depth_source_open(const depth_choice *choice, char why[DEPTH_WHY_BYTES])
{
    const depth_back_end *back_end = back_ends[choice->kind];
    if (back_end == NULL) {
        snprintf(why, DEPTH_WHY_BYTES, "%s", depth_kind_missing(choice->kind));
        return NULL;
    }
    depth_source *source = calloc(1, sizeof *source);
    if (source == NULL) {
        snprintf(why, DEPTH_WHY_BYTES, "out of memory");
        return NULL;
    }
    source->back_end = back_end;
    source->self = back_end->open(choice, why);
    if (source->self == NULL) {
        free(source);
        return NULL;
    }
    return source;
}

depth_result depth_source_next(depth_source *source, int wait_ms, depth_frame *frame, char why[DEPTH_WHY_BYTES])
{
    return source->back_end->next(source->self, wait_ms, frame, why);
}

void depth_source_close(depth_source *source)
{
    if (source != NULL) {
        source->back_end->close(source->self);
        free(source);
    }
}
