// One table for the words of roles.
#include "server/common/role_word.h"
#include "protocol/assert.h"

#include <string.h>

static const char *const words[TARN_ROLE_COUNT] = {"watch", "play", "own"};

const char *tarn_role_word(tarn_role role)
{
    TARN_ASSERT(role < TARN_ROLE_COUNT);
    return words[role];
}

int tarn_role_find(const char *word)
{
    for (int role = 0; role < TARN_ROLE_COUNT; role++) {
        if (strcmp(words[role], word) == 0) {
            return role;
        }
    }
    return -1;
}
