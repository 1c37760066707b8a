/// STL, binary and text; mesh_file.c decides when.
#ifndef TARN_SERVER_COMMON_MESH_STL_H
#define TARN_SERVER_COMMON_MESH_STL_H

#include "server/common/mesh_builder.h"

/// Reads an STL file into an empty builder. @return TARN_OK, or why not, with the sentence
tarn_status tarn_mesh_stl_read(tarn_mesh_builder *builder);

#endif
