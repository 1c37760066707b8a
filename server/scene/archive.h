/// A scene in one piece, with its meshes: as a pack, which Tarn keeps, and as an archive, which people send and get.
#ifndef TARN_SERVER_SCENE_ARCHIVE_H
#define TARN_SERVER_SCENE_ARCHIVE_H

#include "protocol/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// ---- packs ----
// A scene's JSON and each file that it names, as they were when a tank was made from them. What a tank is made from
// again where the scene's folder is another one by now.
//
//     entry = bytes of the name u32 | bytes of the content u32 | name | content     the JSON first, NAME.json

enum {
    TARN_SCENE_PACK_ENTRIES_MAX = 21,               ///< the JSON, a file for each of a tank's fields, 4 of particles
    TARN_SCENE_PACK_NAME_BYTES_MAX = 127,           ///< of an entry
    TARN_SCENE_PACK_ENTRY_BYTES_MAX = 8 << 20,      ///< of its content
    TARN_SCENE_PACK_BYTES_MAX = (8 * 21 + 1) << 20, ///< of all
};

/// Zero at first.
typedef struct tarn_scene_pack {
    uint8_t *bytes; ///< owned
    size_t byte_count;
} tarn_scene_pack;

typedef struct tarn_scene_entry {
    char name[TARN_SCENE_PACK_NAME_BYTES_MAX + 1];
    const uint8_t *bytes; ///< in the pack
    size_t byte_count;
} tarn_scene_entry;

/// Appends a file; one that is there already stays as it is. @return TARN_OK, TARN_E_LIMIT or TARN_E_MEMORY: it stays
/// as it was
tarn_status tarn_scene_pack_add(tarn_scene_pack *pack, const char *name, const void *bytes, size_t byte_count);

/// Reads the next entry. @param at  0 at first; goes on  @return false: there is none
bool tarn_scene_pack_next(const uint8_t *bytes, size_t byte_count, size_t *at, tarn_scene_entry *entry);

/// How many files are in it.
uint32_t tarn_scene_pack_count(const tarn_scene_pack *pack);

/// @return false: no file of that name is in it
bool tarn_scene_pack_find(const tarn_scene_pack *pack, const char *name, tarn_scene_entry *entry);

/// Whether the scene's text has a file's name in quotes, wherever that is. @param scene  the JSON
bool tarn_scene_pack_names(const tarn_scene_entry *scene, const char *name);

/// Whether bytes are whole entries within the limits, of names that a scene may give files, none of them twice, a JSON
/// first.
bool tarn_scene_pack_sound(const uint8_t *bytes, size_t byte_count);

/// Whether a name is one that a scene may give a file: parts of letters, digits, '.', '_' and '-' that don't begin with
/// a '.', with a '/' between them.
bool tarn_scene_file_name_valid(const char *name);

/// What the name of a file ends in that is a pack.
#define TARN_SCENE_PACK_ENDING ".scene-pack"

/// Whether a path leads to one, by its name.
bool tarn_scene_pack_is_file(const char *path);

/// Reads such a file. @param pack  zero; on failure too the caller frees it
/// @return TARN_OK, TARN_E_NOT_FOUND, TARN_E_IO, TARN_E_MEMORY or TARN_E_MALFORMED: it isn't a sound one
tarn_status tarn_scene_pack_read_file(const char *path, tarn_scene_pack *pack);

/// Compares with the scene's files as they are now. @param path  of its JSON; the others lie in its folder
/// @return NULL: they are the same; else what is different, for a sentence: "it is there no more", "it has changed"
const char *tarn_scene_pack_difference(const uint8_t *bytes, size_t byte_count, const char *path);

/// Takes one that is zero.
void tarn_scene_pack_free(tarn_scene_pack *pack);

// ---- archives ----
// As `tar` writes them, uncompressed. Of POSIX's ustar format (IEEE Std 1003.1-2017, "pax") the regular files and
// folders, as GNU's and BSD's tar write them too.
//
//     tar cf pool.tar pool.json duck.obj
//
// Exactly one file ends in .json, which is the scene; what it names lies beside it or below, and may be .obj, .stl,
// .ply, .glb or .pgm. Other files are passed over (an exporter's .mtl, a readme), as are those whose names begin with a
// dot, or lie in a folder whose name does. Where the scene lies in a folder, what lies in the same folder counts.

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
