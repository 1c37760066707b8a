/// Takes kept sessions away, or writes their files anew, of a folder that no tarnd uses.
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
    bool shrinks;                   ///< none goes: those that an earlier version made are written anew
} kept_prune_plan;

/// Says what goes on standard output. @return false: a sentence went to stderr
bool kept_prune(const char *command, const kept_prune_plan *plan);

#endif
