/// What lies in a session's file (session_file.h): zstd frames, each with a checksum, of what the session is, of a
/// state of its tank, or of a batch of the log behind one. A state's is sorted by significance first, with a mark in
/// front of it: particles that lie beside each other have like floats, whose higher bytes then compress. Works on
/// memory alone, and trusts nothing that it reads.
#ifndef TARN_SERVER_LOG_SESSION_FRAME_H
#define TARN_SERVER_LOG_SESSION_FRAME_H

#include "protocol/message.h"
#include "server/log/follow.h"

#include <stdbool.h>

struct ZSTD_CCtx_s;

enum {
    TARN_SESSION_SALT_BYTES = 16,
    TARN_SESSION_HEAD_BYTES_MAX = 2048,
    TARN_SESSION_ABOUT_BYTES_MAX = 4096,
    TARN_SESSION_SORTED_BYTES = 4, ///< of the mark in front of a frame whose bytes are sorted
    TARN_SESSION_FRAME_BYTES_MAX = TARN_SESSION_HEAD_BYTES_MAX + TARN_IPC_STATE_BYTES_MAX, ///< unpacked
};

/// One of what is measured in its tank.
typedef struct tarn_session_probe {
    uint32_t shows;    ///< tarn_probe_shows
    uint8_t is_scenes; ///< the scene has it
    float at_m[3], to_m[3];
    uint32_t solid;  ///< a force's, by its number in the scene
    tarn_name label; ///< for people; empty: none
} tarn_session_probe;

/// What outlives its tank.
typedef struct tarn_session_about {
    tarn_name name;
    tarn_name title;                             ///< for people; empty: none
    char begun_as[TARN_IPC_SCENE_BYTES_MAX + 1]; ///< the scene that it was opened with
    uint8_t salt[TARN_SESSION_SALT_BYTES];       ///< of its keys
    uint32_t guests;                             ///< tarn_role
    bool is_kept, is_listed;
    uint32_t locked; ///< of tarn_lock
    bool open_parameters;
    float speed;            ///< TARN_SPEED_MIN..TARN_SPEED_MAX, that owners want of its tank's clock; 0: 1
    tarn_name probes_scene; ///< whose own ones are among the probes; empty: there never were any
    uint32_t probe_count;
    tarn_session_probe probes[TARN_LIVE_PROBES_MAX];
} tarn_session_about;

/// What stands in front of a state or a batch.
typedef struct tarn_session_head {
    int64_t state;                            ///< the row that it is of
    uint32_t epoch, number;                   ///< of the tank and of its newest frame
    uint64_t step, state_bytes_max;           ///< a state's
    char scene[TARN_IPC_SCENE_BYTES_MAX + 1]; ///< a state's
} tarn_session_head;

/// @param bytes  room for TARN_SESSION_ABOUT_BYTES_MAX  @return how many were written
size_t tarn_session_about_write(const tarn_session_about *about, uint8_t *bytes);

/// @return TARN_OK, or TARN_E_MALFORMED or TARN_E_TRUNCATED
tarn_status tarn_session_about_read(const uint8_t *bytes, size_t byte_count, tarn_session_about *about);

/// @param bytes  room for TARN_SESSION_HEAD_BYTES_MAX  @return how many were written
size_t tarn_session_head_write(const tarn_session_head *head, bool is_state, uint8_t *bytes);

/// Reads the head of a state or a batch and checks what is behind it: a state of a size that its tank may have, whole
/// records of a log.
/// @param row      that it must be of, or be behind
/// @param content  receives where in `bytes` the state or the log begins
/// @return TARN_OK or TARN_E_MALFORMED
tarn_status tarn_session_state_read(const uint8_t *bytes, size_t byte_count, int64_t row, tarn_session_head *head,
                                    const uint8_t **content, size_t *content_bytes);
tarn_status tarn_session_batch_read(const uint8_t *bytes, size_t byte_count, int64_t row, tarn_session_head *head,
                                    const uint8_t **content, size_t *content_bytes);

/// Packs a state's head and what is behind it, sorted by significance in 32-bit words, each of which is told from the
/// one before by exclusive or; with the mark in front. Of a large state no other copy is made.
/// @param compressor  as its frames are to be  @param packed  is overwritten  @return TARN_OK or TARN_E_MEMORY
tarn_status tarn_session_pack_sorted(struct ZSTD_CCtx_s *compressor, const uint8_t *head, size_t head_bytes,
                                     const tarn_box_bytes *behind, tarn_box_bytes *packed);

/// Writes the mark of a frame whose bytes are sorted.
void tarn_session_mark_sorted(uint8_t mark[TARN_SESSION_SORTED_BYTES]);

/// Unpacks a frame. @param plain  is overwritten
/// @return TARN_OK, TARN_E_MALFORMED: it is damaged, or TARN_E_MEMORY
tarn_status tarn_session_unpack(const void *packed, size_t packed_bytes, tarn_box_bytes *plain);

#endif
