/// The fields of every message as tables: one description that the reader, the writer and the test of SPEC.md share.
/// Private to tarn_message and its tests.
#ifndef TARN_PROTOCOL_MESSAGE_FIELDS_H
#define TARN_PROTOCOL_MESSAGE_FIELDS_H

#include "protocol/message.h"

typedef enum tarn_field_type {
    TARN_FIELD_U32,        ///< uint32_t
    TARN_FIELD_COLOUR,     ///< uint32_t with TARN_COLOUR_GIVEN, or 0: absent
    TARN_FIELD_U64,        ///< uint64_t
    TARN_FIELD_F32,        ///< float
    TARN_FIELD_F64,        ///< double
    TARN_FIELD_BOOL,       ///< uint8_t
    TARN_FIELD_WORD,       ///< an enumeration (int), on the wire one of `words`
    TARN_FIELD_STRING,     ///< NUL-terminated; min and max are bytes without the NUL
    TARN_FIELD_VECTOR,     ///< float[count]
    TARN_FIELD_DIRECTION,  ///< float[3], made unit length
    TARN_FIELD_QUATERNION, ///< float[4], made unit length
    // The rest have an array or a map of their own; the offset is that of the struct that holds it.
    TARN_FIELD_VERSIONS,   ///< tarn_hello
    TARN_FIELD_SCENES,     ///< tarn_welcome
    TARN_FIELD_JOINTS,     ///< tarn_input_hand
    TARN_FIELD_CELLS,      ///< tarn_input_motion, behind its columns and rows
    TARN_FIELD_PARAMETERS, ///< tarn_session_state
    TARN_FIELD_TOOLS,      ///< tarn_session_state; there where the model is
    TARN_FIELD_CHANNELS,   ///< tarn_session_state
    TARN_FIELD_FIELDS,     ///< tarn_session_state
    TARN_FIELD_ADDED,      ///< tarn_session_state
    TARN_FIELD_REMARKS,    ///< tarn_session_state
    TARN_FIELD_LOCKED,     ///< uint32_t, the bits of tarn_lock; on the wire the words of those that are set
    TARN_FIELD_VIEWERS,    ///< tarn_viewers
    TARN_FIELD_STATE,      ///< tarn_session_state
    TARN_FIELD_POINTS,     ///< tarn_presence
    TARN_FIELD_PRESENCES,  ///< tarn_presences
    TARN_FIELD_PROBES,     ///< tarn_probe_list
    TARN_FIELD_COLUMNS,    ///< tarn_probe_info
    TARN_FIELD_VALUES,     ///< tarn_readings, behind its rows
} tarn_field_type;

typedef enum tarn_field_need {
    TARN_FIELD_REQUIRED, ///< readers refuse a map without it
    TARN_FIELD_OPTIONAL, ///< readers do without it, the writer always writes it
    TARN_FIELD_SPARSE,   ///< the same, and the writer leaves out what says nothing
} tarn_field_need;

typedef struct tarn_field {
    const char *key;
    tarn_field_type type;
    tarn_field_need need;
    uint32_t count;           ///< of a vector
    uint32_t offset;          ///< in the struct that the shape describes
    double min, max;          ///< inclusive, each component's
    const char *const *words; ///< of a word; ends with NULL; the index is the value
} tarn_field;

enum { TARN_SHAPE_FIELDS_MAX = 24 };

/// A map's fields, at most TARN_SHAPE_FIELDS_MAX, no two of one key.
typedef struct tarn_shape {
    const char *word; ///< value of "t" or "k"
    int value;        ///< tarn_message_kind or tarn_input_kind
    uint32_t field_count;
    const tarn_field *fields;
} tarn_shape;

/// Offsets in these are those in tarn_message.
extern const tarn_shape tarn_message_shapes[];
extern const uint32_t tarn_message_shape_count;
extern const tarn_shape tarn_input_shapes[TARN_INPUT_COUNT];

/// Offsets in these are those in tarn_session_state, tarn_parameter_info, tarn_channel_info, tarn_viewer_info,
/// tarn_presence_point and tarn_probe_info.
extern const tarn_shape tarn_state_shape;
extern const tarn_shape tarn_parameter_shape;
extern const tarn_shape tarn_channel_shape;
extern const tarn_shape tarn_viewer_shape;
extern const tarn_shape tarn_point_shape;    ///< as a viewer says it
extern const tarn_shape tarn_presence_shape; ///< as the server says whose it is
extern const tarn_shape tarn_probe_shape;

/// The word of something that may be locked. @param bit  0..TARN_LOCK_BITS - 1  @return NULL: nothing has this bit
const char *tarn_lock_word(int bit);

/// Absolute bound of coordinates in metres, and of speeds.
#define TARN_MESSAGE_COORDINATE_M_MAX 1000.0
#define TARN_MESSAGE_SPEED_MAX 100.0

#endif
