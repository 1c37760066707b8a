/// Scenes and the files that they name, for the page: what lies in the scenes' directory or below it, beside the file
/// that the server was started with, or in a tank's black box. It is read anew for each request, so that a scene that
/// was edited and loaded again looks as it does in the simulation.
///
/// A path from a URL reaches the file system only after its spelling was checked, and is followed from the directory
/// downwards name by name, through no link.
#ifndef TARN_SERVER_GATEWAY_PAGES_SCENES_H
#define TARN_SERVER_GATEWAY_PAGES_SCENES_H

#include "server/base/ipc.h"
#include "server/gateway/pages/files.h"

#include <stdbool.h>
#include <sys/stat.h>

#define TARN_SCENE_PAGES_PREFIX "/scenes/"

/// A file that responses are sent from. Those of the same file that are on their way together share it: what slow
/// readers hold is bounded by the files that there are, not by the connections. Of a tank that moves each archive is
/// another one: these are bounded by their bytes.
typedef struct tarn_scene_page {
    tarn_page page; ///< path NULL
    struct tarn_scene_pages *pages;
    struct tarn_scene_page *next;
    struct stat found; ///< the file when it was read
    uint32_t user_count;
    uint64_t told_ns; ///< of a tank as it stands: when it was taken; 0: of a file
    bool is_gone;     ///< its bytes made room for others; what is on its way ends
} tarn_scene_page;

/// The files that are in use. Starts zeroed.
typedef struct tarn_scene_pages {
    tarn_scene_page *first;
    size_t told_bytes; ///< of tanks as they stand, at most TARN_GATEWAY_TOLD_BYTES_MAX
} tarn_scene_pages;

/// Reads one file, or shares it with who reads the same state of it.
/// @param directory  of the scenes
/// @param path       as in a URL: "/scenes/dam-break.json". The rest consists of names of letters, digits, '.', '-' and
///                   '_' with slashes between them, none of which begins with a dot; it ends in .json, .obj, .stl,
///                   .ply, .glb or .pgm
/// @param page       on success for tarn_scene_page_close, otherwise NULL
/// @return TARN_OK, TARN_E_NOT_FOUND (also of anything that isn't such a path), TARN_E_LIMIT (more than
///         TARN_GATEWAY_PAGE_BYTES_MAX), TARN_E_IO or TARN_E_MEMORY
tarn_status tarn_scene_page_open(tarn_scene_pages *pages, const char *directory, const char *path,
                                 tarn_scene_page **page);

/// The same for a scene that somebody named by its file: of what lies beside it only the meshes and heights can be had,
/// and no other .json, which may be anything.
/// @param scene_file  as it was named
tarn_status tarn_scene_page_open_own(tarn_scene_pages *pages, const char *scene_file, const char *path,
                                     tarn_scene_page **page);

/// The same for a file of the scene that a tank was made from, as its black box has it, whatever the directory has now.
/// @param box_fd  of the box; 0: there is none
/// @param name    in the scene: "dam-break.json"
tarn_status tarn_scene_page_open_kept(tarn_scene_pages *pages, int box_fd, const char *name, tarn_scene_page **page);

/// The same for all of them, as one archive (server/scene/archive.h).
/// @return as the others; TARN_E_LIMIT: it would have more than TARN_GATEWAY_PAGE_BYTES_MAX
tarn_status tarn_scene_page_open_archive(tarn_scene_pages *pages, int box_fd, tarn_scene_page **page);

/// A tank as it stands, as an archive that was made. Where too many are on their way, those make room, the oldest
/// first, that their readers have had for TARN_GATEWAY_TOLD_MS_MIN.
/// @param bytes   of malloc; the page's from now on, or gone on failure
/// @param now_ns  > 0
/// @return TARN_OK, TARN_E_LIMIT (there is no room) or TARN_E_MEMORY
tarn_status tarn_scene_page_take(tarn_scene_pages *pages, uint8_t *bytes, size_t byte_count, uint64_t now_ns,
                                 tarn_scene_page **page);

/// Gives a page back; it is gone with its last user. Takes NULL.
void tarn_scene_page_close(tarn_scene_page *page);

// ---- the scene that the server was started with ----
// Where that was named by its file: it stands in the list of scenes under the file's name, and is
// meant by that name even where the scenes' directory has one of the same name.

/// Puts it into the list, which is sorted; a list that is full loses its last name.
/// @param scene  what the server was started with; a mere name changes nothing
void tarn_own_scene_list(const char *scene, tarn_ipc_scenes *scenes);

/// Whether a name stands in the list.
bool tarn_own_scene_is_listed(const tarn_ipc_scenes *scenes, const char *name);

/// What the worker is told for a name of the list: the file where the name means it, else the name itself.
const char *tarn_own_scene_find(const char *scene, const char *name);

#endif
