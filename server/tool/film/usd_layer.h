/// A USD layer as it grows: prims, their attributes, and values of these, once or for each frame. As text ("usda") or
/// in the binary form ("crate", "usdc"); who fills it need not know which.
#ifndef TARN_SERVER_TOOL_FILM_USD_LAYER_H
#define TARN_SERVER_TOOL_FILM_USD_LAYER_H

#include "server/tool/film/export.h"

enum {
    USD_NAME_BYTES = 64,
    USD_PRIMS_MAX = 4 + TARN_TANK_SOLIDS_MAX,
    USD_ATTRIBUTES_MAX = 32 + 12 * TARN_TANK_SOLIDS_MAX,
    USD_VALUE_FLOATS_MAX = 4,
};

/// How one element of a value lies in memory, for the functions below and in a crate.
typedef enum usd_form {
    USD_INT,    ///< int32_t
    USD_INT64,  ///< int64_t
    USD_FLOAT,  ///< float
    USD_DOUBLE, ///< double
    USD_TOKEN,  ///< const char *, which lives as long as the layer
    USD_VEC3F,  ///< float[3]
    USD_VEC3D,  ///< double[3]
    USD_QUATF,  ///< float[4]: x, y, z, w
} usd_form;

typedef struct usd_type {
    const char *name; ///< "point3f[]"
    usd_form form;
    bool is_array;
} usd_type;

typedef struct usd_prim {
    const char *type;
    char name[USD_NAME_BYTES];
    int parent; ///< -1: it is at the root
} usd_prim;

/// One with neither a default nor samples is left out of the layer.
typedef struct usd_attribute {
    const usd_type *type;
    char name[USD_NAME_BYTES];
    const char *interpolation; ///< "": it has none
    int prim;
    bool is_uniform, has_default;
    uint32_t sample_count, sample_capacity;
    double *codes; ///< of the samples
    FILE *text;    ///< usda: what was written of it so far; in memory, but for arrays with samples in a file
    char *text_chars;
    size_t text_bytes;
    uint64_t *values; ///< usdc: the names of the samples' values; of a default just one
} usd_attribute;

typedef struct usd_layer {
    const export_info *info; ///< the layer's own copy
    part_file out;
    bool is_text;
    usd_prim *prims;
    uint32_t prim_count;
    usd_attribute *attributes;
    uint32_t attribute_count;
    double code, first_code; ///< of the frame that is being written, and of the first one
    uint32_t frame_count;
    bool is_out_of_memory;
    export_info info_copy;
    struct usdc_tables *tables; ///< usdc: what names the values
} usd_layer;

/// @return TARN_OK, or TARN_E_IO or TARN_E_MEMORY and a sentence in `why`; then there is nothing to close
tarn_status usd_layer_open(usd_layer **layer, const char *path, const export_info *info, bool is_text, char *why);

/// Adds a prim below another one, or with -1 at the root, whose first prim is the layer's default.
/// @return its number
int usd_layer_prim(usd_layer *layer, const char *type, const char *name, int parent);

/// Adds an attribute to a prim. @param type  such as "point3f[]". @return its number
int usd_layer_attribute(usd_layer *layer, int prim, const char *type, const char *name, const char *interpolation);

/// The same of one that can't change, with its only value.
void usd_layer_uniform(usd_layer *layer, int prim, const char *type, const char *name, const void *values,
                       uint64_t count);

/// An attribute's value at all times, or at the time of the frame. Of what is no array: one element.
void usd_layer_default(usd_layer *layer, int attribute, const void *values, uint64_t count);
void usd_layer_sample(usd_layer *layer, int attribute, const void *values, uint64_t count);

/// Begins a frame, and ends one: whether all of it could be written.
void usd_layer_begin(usd_layer *layer, double time_s);
tarn_status usd_layer_end(usd_layer *layer, char *why);

/// `keep`: makes the file whole; else removes it. Frees the layer in any case.
tarn_status usd_layer_close(usd_layer *layer, bool keep, char *why);

#endif
