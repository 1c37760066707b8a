// Distances by Damerau and Levenshtein, where swapped neighbours count once: start at tarn_nearest_name.
#include "server/common/near_name.h"

#include <stdbool.h>
#include <string.h>

enum { WORD_BYTES = 32, DISTANCE_MAX = 2 };

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t distance(const char *from, const char *to)
{
    uint32_t rows[3][WORD_BYTES + 1] = {{0}};
    const size_t from_bytes = strlen(from), to_bytes = strlen(to);
    if (from_bytes > WORD_BYTES || to_bytes > WORD_BYTES) {
        return WORD_BYTES;
    }
    for (size_t f = 0; f <= from_bytes; f++) {
        uint32_t *row = rows[f % 3];
        const uint32_t *above = rows[(f + 2) % 3], *before = rows[(f + 1) % 3];
        for (size_t t = 0; t <= to_bytes; t++) {
            if (f == 0 || t == 0) {
                row[t] = (uint32_t)(f + t);
                continue;
            }
            row[t] = least(least(above[t], row[t - 1]) + 1, above[t - 1] + (from[f - 1] != to[t - 1]));
            if (f > 1 && t > 1 && from[f - 1] == to[t - 2] && from[f - 2] == to[t - 1]) {
                row[t] = least(row[t], before[t - 2] + 1);
            }
        }
    }
    return rows[from_bytes % 3][to_bytes];
}

/// How many letters two words have in common at both ends.
static size_t common(const char *a, const char *b)
{
    const size_t a_bytes = strlen(a), b_bytes = strlen(b), shorter = a_bytes < b_bytes ? a_bytes : b_bytes;
    size_t first = 0, last = 0;
    while (first < shorter && a[first] == b[first]) {
        first++;
    }
    while (first + last < shorter && a[a_bytes - 1 - last] == b[b_bytes - 1 - last]) {
        last++;
    }
    return first + last;
}

/// The nearer of two names. @param near  so far; NULL: none
static const char *nearer(const char *word, const char *near, const char *name)
{
    const size_t word_bytes = strlen(word), name_bytes = strlen(name);
    const uint32_t found = distance(word, name);
    if (found > DISTANCE_MAX || found > (word_bytes > name_bytes ? word_bytes : name_bytes) / 3) {
        return near;
    }
    const uint32_t best = near != NULL ? distance(word, near) : WORD_BYTES;
    return found < best || (found == best && common(word, name) > common(word, near)) ? name : near;
}

const char *tarn_near_name(const char *word, const char *names, uint32_t count, size_t name_bytes)
{
    const char *near = NULL;
    for (uint32_t i = 0; i < count; i++) {
        near = nearer(word, near, names + i * name_bytes);
    }
    return near;
}

const char *tarn_nearest_name(const char *word, const char *const *names, uint32_t count)
{
    const char *near = NULL;
    for (uint32_t i = 0; i < count; i++) {
        near = nearer(word, near, names[i]);
    }
    return near;
}
