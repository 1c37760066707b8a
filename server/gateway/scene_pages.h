/// Scenes and the files that they name, for the page: what lies in the scenes' directory or below it, read anew for
/// each request, so that a scene that was edited and loaded again looks as it does in the simulation.
///
/// A path from a URL reaches the file system only after its spelling was checked, and is followed from the directory
/// downwards name by name, through no link.
#ifndef TARN_SERVER_GATEWAY_SCENE_PAGES_H
#define TARN_SERVER_GATEWAY_SCENE_PAGES_H

#include "server/gateway/pages.h"

#define TARN_SCENE_PAGES_PREFIX "/scenes/"

/// Reads one file.
/// @param directory  of the scenes
/// @param path       as in a URL: "/scenes/dam-break.json". The rest consists of names of letters, digits, '.', '-' and
/// '_'
///                   with slashes between them, none of which begins with a dot; it ends in .json, .obj, .stl or .pgm
/// @param page       filled on success: bytes and byte_count by malloc, for the caller to free; path NULL
/// @return TARN_OK, TARN_E_NOT_FOUND (also of anything that isn't such a path), TARN_E_LIMIT (more than
///         TARN_GATEWAY_PAGE_BYTES_MAX), TARN_E_IO or TARN_E_MEMORY
tarn_status tarn_scene_page_read(const char *directory, const char *path, tarn_page *page);

/// The same for a scene that somebody named by its file: of what lies beside it only the meshes and heights can be had,
/// and no other .json, which may be anything.
/// @param scene_file  as it was named
tarn_status tarn_scene_page_read_own(const char *scene_file, const char *path, tarn_page *page);

#endif
