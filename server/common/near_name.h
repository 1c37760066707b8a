/// What somebody may have meant by a word that isn't there: one way for options, variables, fields and scenes.
#ifndef TARN_SERVER_COMMON_NEAR_NAME_H
#define TARN_SERVER_COMMON_NEAR_NAME_H

#include <stddef.h>
#include <stdint.h>

/// The name that a word comes nearest to, by letters put in, taken out, changed or swapped with their neighbour: two at
/// most, and no more than a third of the longer of both. Of several the one that begins and ends most like it.
/// @param names  so many of them, each `name_bytes` behind the one before; terminated  @return NULL: none is near
const char *tarn_near_name(const char *word, const char *names, uint32_t count, size_t name_bytes);

/// The same of names that lie anywhere.
const char *tarn_nearest_name(const char *word, const char *const *names, uint32_t count);

#endif
