/// The words for roles, on command lines and in tokens.
#ifndef TARN_SERVER_COMMON_ROLE_WORD_H
#define TARN_SERVER_COMMON_ROLE_WORD_H

#include "protocol/message.h"

/// "watch", "play" or "own".
const char *tarn_role_word(tarn_role role);

/// The role of a word. @return -1 for a word that is none
int tarn_role_find(const char *word);

#endif
