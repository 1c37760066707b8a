/// The readers of single formats; mesh_file.c chooses among them.
#ifndef TARN_SERVER_COMMON_MESH_FORMATS_H
#define TARN_SERVER_COMMON_MESH_FORMATS_H

#include "server/common/mesh_builder.h"

/// Each reads what lies between its cursor's ends into an empty builder.
/// @return TARN_OK, also where there are no triangles; or why not, with the sentence
tarn_status tarn_mesh_obj_read(tarn_mesh_builder *builder);
tarn_status tarn_mesh_stl_read(tarn_mesh_builder *builder);
tarn_status tarn_mesh_ply_read(tarn_mesh_builder *builder);
tarn_status tarn_mesh_glb_read(tarn_mesh_builder *builder);

#endif
