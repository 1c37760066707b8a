/// The core of the reader of scenes: sentences, tables of fields, and values. Private to the reader.
///
/// A table names the fields of an object. Each field has a function that checks a value and writes it to a place in the
/// draft, and a rule for that function: a range, names to choose from, what a list holds. What a function refuses here
/// is what the schema refuses: TARN_E_MALFORMED.
#ifndef TARN_SERVER_COMMON_SCENE_READER_H
#define TARN_SERVER_COMMON_SCENE_READER_H

#include "server/common/scene.h"
#include "server/common/scene_pack.h"

#include <jansson.h>

enum {
    SCENE_PATH_BYTES = 112,    ///< of a field's path in a sentence
    SCENE_ALLOWED_BYTES = 400, ///< of a list of names
};

typedef struct scene_reader {
    const char *origin;                  ///< the file's name in sentences
    const tarn_model *model;             ///< that the scene chose
    const char *folder;                  ///< where the files lie that a scene names; NULL: nowhere, or in `pack`
    tarn_scene_pack *pack;               ///< receives them; without a folder: has them; NULL: neither
    const tarn_scene_settings *settings; ///< NULL: none
    char *why;
    size_t why_bytes;
    tarn_status status;
    uint64_t fingerprint; ///< of what was read so far
} scene_reader;

/// Checks a value and writes it. @return false: refused
typedef bool scene_read(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule);

typedef struct scene_field {
    const char *name;
    bool required;
    scene_read *read;
    size_t offset; ///< of what is read in what the object is read into
    const void *rule;
} scene_field;

typedef struct scene_range {
    double min, max;
    const char *unit; ///< NULL: none
    bool above_min;   ///< the minimum itself is refused
    bool whole;
} scene_range;

/// Names that stand for 0, 1, 2 ...
typedef struct scene_choice {
    const char *const *names;
    uint32_t name_count;
} scene_choice;

/// An array that fills an array of the draft and its count.
typedef struct scene_list {
    const char *what; ///< what it holds, for sentences
    uint32_t min, max;
    scene_read *item;
    size_t items_offset, item_bytes, count_offset; ///< the count is a uint32_t
} scene_list;

/// Adds bytes to the fingerprint.
void scene_fingerprint(scene_reader *r, const void *bytes, size_t byte_count);

// ---- sentences ----

/// Says what is wrong where and sets the status. @return false
__attribute__((format(printf, 4, 5))) bool scene_refuse(scene_reader *r, tarn_status status, const char *path,
                                                        const char *format, ...);

/// "found ..., allowed is ...". @return false
bool scene_refuse_value(scene_reader *r, const char *path, const json_t *value, const char *allowed);

/// Writes a field's path; paths are short, and a longer one is cut.
__attribute__((format(printf, 2, 3))) void scene_write_path(char path[SCENE_PATH_BYTES], const char *format, ...);

/// Sets fields of a scene as r->settings say. @return false: one of them was refused
bool scene_apply_settings(scene_reader *r, json_t *scene);

// ---- objects and arrays ----

/// @param given  where not NULL: bit i is set where the table's field i was there; at most 32 fields
bool scene_read_object(scene_reader *r, const char *path, const json_t *value, void *into, const scene_field *fields,
                       size_t field_count, uint32_t *given);

#define SCENE_READ_OBJECT(r, path, value, into, fields, given)                                                         \
    scene_read_object(r, path, value, into, fields, sizeof(fields) / sizeof((fields)[0]), given)

/// Rule: scene_list; `into` is what the list's offsets count from.
scene_read scene_read_list;

// ---- values; the comment names the rule and what is written ----

scene_read scene_read_double;       ///< scene_range; double
scene_read scene_read_float;        ///< scene_range; float
scene_read scene_read_whole;        ///< scene_range; uint32_t
scene_read scene_read_vector;       ///< scene_range of each; double[3]
scene_read scene_read_vector_float; ///< scene_range of each; float[3]
scene_read scene_read_flag;         ///< NULL; uint32_t, 0 or 1
scene_read scene_read_choice;       ///< scene_choice; uint32_t
scene_read scene_read_colour;       ///< NULL; uint8_t[4], the fourth 255
scene_read scene_read_remark;       ///< NULL; nothing
scene_read scene_read_identifier;   ///< NULL; const char *, borrowed from the JSON

/// The characters of a text in UTF-8.
size_t scene_characters(const char *text);

#endif
