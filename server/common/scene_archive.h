/// A scene and its meshes as one file that people send and get: an archive as `tar` writes it, uncompressed. Of POSIX's
/// ustar format (IEEE Std 1003.1-2017, "pax") the regular files and folders, as GNU's and BSD's tar write them too.
///
///     tar cf pool.tar pool.json duck.obj
///
/// Exactly one file ends in .json, which is the scene; what it names lies beside it or below, and may be .obj, .stl,
/// .ply, .glb or .pgm. Other files are passed over (an exporter's .mtl, a readme), as are those whose names begin with
/// a dot, or lie in a folder whose name does. Where the scene lies in a folder, what lies in the same folder counts.
#ifndef TARN_SERVER_COMMON_SCENE_ARCHIVE_H
#define TARN_SERVER_COMMON_SCENE_ARCHIVE_H

#include "server/common/scene_pack.h"

#include <sys/types.h>

enum {
    TARN_SCENE_ARCHIVE_BYTES_MAX = 32 << 20, ///< of an archive
    TARN_SCENE_ARCHIVE_HEADS_MAX = 1000,     ///< in one: files that count, others, folders, notes
    TARN_SCENE_ARCHIVE_BLOCK_BYTES = 512,
    TARN_SCENE_ARCHIVE_WHY_BYTES = 400, ///< enough for every sentence of this module
};

/// Gives the next bytes. @return bytes, at most byte_count; 0 at the end; -1 it failed
typedef ssize_t (*tarn_scene_archive_source)(void *from, void *bytes, size_t byte_count);

/// Reads an archive to its end. Names and contents are only what the archive says: whether it is a scene is
/// tarn_scene_read_kept's to say.
/// @param pack  zero; receives the files, the scene's JSON first, under names without the scene's folder. On failure
///              too the caller frees it
/// @param why   on failure a sentence: which file, what was found, what is allowed
/// @return TARN_OK, TARN_E_MALFORMED, TARN_E_LIMIT, TARN_E_IO (the source failed) or TARN_E_MEMORY
tarn_status tarn_scene_archive_read(tarn_scene_archive_source source, void *from, tarn_scene_pack *pack, char *why,
                                    size_t why_bytes);

/// Makes an archive of a pack, in ustar: anybody may read its files, it has no date and no owner, so that the same
/// scene is the same bytes.
/// @param pack, pack_bytes  sound (tarn_scene_pack_sound)
/// @param bytes  on success the caller frees them
/// @return TARN_OK; TARN_E_LIMIT: it would have more than bytes_max, or a name is longer than ustar takes, which is
///         100 bytes behind a folder's; or TARN_E_MEMORY
tarn_status tarn_scene_archive_write(const uint8_t *pack, size_t pack_bytes, size_t bytes_max, uint8_t **bytes,
                                     size_t *byte_count);

#endif
