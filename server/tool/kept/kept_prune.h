/// Takes kept sessions away, of a folder that no tarnd uses.
#ifndef TARN_SERVER_TOOL_KEPT_PRUNE_H
#define TARN_SERVER_TOOL_KEPT_PRUNE_H

#include <stdbool.h>
#include <stdint.h>

/// Which go: those for which all that is given holds.
typedef struct kept_prune_plan {
    const char *dir;
    char **names; ///< of sessions, or of files; none: any
    int name_count;
    uint64_t older_s, larger_bytes; ///< 0: not given
    bool is_dry;                    ///< only said
} kept_prune_plan;

/// "90d": a whole number, 1 to 1000000, and a letter of s, m, h, d. @return 0: it is none
uint64_t kept_age_read(const char *text);

/// "20M": a whole number, 1 to 1000000, and nothing or a letter of k, M, G. @return 0: it is none
uint64_t kept_size_read(const char *text);

/// Says what goes on standard output. @return false: a sentence went to stderr
bool kept_prune(const char *command, const kept_prune_plan *plan);

#endif
