/// What USD layers hold beside the liquid, whatever that is shown as:
///
///     Tank       Xform         where it is in the room: only of one that is turned or shaken
///       Box      BasisCurves   its edges
///       Solid_0  Cube, Sphere, Capsule, Cylinder or Mesh: as the scene numbers its solids; bodies have time samples
///       Liquid   of the caller
///
/// Schemas: UsdGeom, https://openusd.org/release/api/usd_geom_page_front.html
#ifndef TARN_SERVER_TOOL_EXPORT_USD_SCENE_H
#define TARN_SERVER_TOOL_EXPORT_USD_SCENE_H

#include "server/tool/export/usd_layer.h"

typedef struct usd_scene {
    usd_layer *layer;
    int tank; ///< the prim that the liquid belongs below
    int tank_translate, tank_orient;
    bool has_moved;
    double last_code;
    struct {
        int translate, orient; ///< attributes
        uint32_t solid;
    } bodies[TARN_TANK_SOLIDS_MAX];
    uint32_t body_count;
} usd_scene;

/// @return TARN_OK, or what usd_layer_open does; then there is nothing to close
tarn_status usd_scene_open(usd_scene *scene, const char *path, const export_info *info, bool is_text, char *why);

/// Begins a frame, with the poses of what moves in it. The caller adds its own samples and calls usd_layer_end.
void usd_scene_begin(usd_scene *scene, const export_frame *frame);

/// Closes the layer.
tarn_status usd_scene_close(usd_scene *scene, bool keep, char *why);

#endif
