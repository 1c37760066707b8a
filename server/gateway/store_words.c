// Text replaced in sentences, whoever wrote them.
#include "server/gateway/store_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LETTERS = 2 };

void tarn_store_label(const char *name, size_t name_bytes, bool is_listed, uint32_t number, tarn_name label)
{
    if (is_listed) {
        snprintf(label, sizeof(tarn_name), "%.*s", (int)name_bytes, name);
    } else if (number > 0) {
        snprintf(label, sizeof(tarn_name), "unlisted-%u", number);
    } else {
        snprintf(label, sizeof(tarn_name), "%.*s...", name_bytes < LETTERS ? (int)name_bytes : LETTERS, name);
    }
}

void tarn_store_hide(tarn_text sentence, const char *name, size_t name_bytes, const char *label)
{
    tarn_text before;
    tarn_name whole;
    snprintf(before, sizeof before, "%s", sentence);
    snprintf(whole, sizeof whole, "%.*s", (int)name_bytes, name);
    size_t at = 0;
    for (const char *from = before; *from != 0 && at + 1 < sizeof(tarn_text);) {
        const bool is_name = name_bytes > 0 && strncmp(from, whole, name_bytes) == 0 &&
                             strchr(".-", from[name_bytes]) != NULL && (from == before || from[-1] == '/');
        if (is_name) {
            at += (size_t)snprintf(sentence + at, sizeof(tarn_text) - at, "%s", label);
            at = at < sizeof(tarn_text) ? at : sizeof(tarn_text) - 1;
            from += name_bytes;
        } else {
            sentence[at++] = *from++;
        }
    }
    sentence[at] = 0;
}

void tarn_store_log(tarn_log_level level, const char *name, size_t name_bytes, const char *label, const char *format,
                    ...)
{
    tarn_text sentence;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    tarn_store_hide(sentence, name, name_bytes, label);
    tarn_log_of(level, (tarn_log_subject){0}, "%s", sentence);
}
