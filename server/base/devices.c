// Words for devices, for the options of tarnd and tarn-worker. Begin at tarn_device_list_read.
#include "server/base/devices.h"

#include <stdio.h>
#include <string.h>

static bool is_word(const char *text, size_t byte_count, const char *word)
{
    return byte_count == strlen(word) && memcmp(text, word, byte_count) == 0;
}

/// "cuda:N", N without leading zeros.
static bool read_gpu(const char *text, size_t byte_count, uint32_t *index)
{
    static const char beginning[] = "cuda:";
    const size_t digits = sizeof beginning - 1;
    uint32_t value = 0;
    if (byte_count <= digits || byte_count > digits + 2 || memcmp(text, beginning, digits) != 0 ||
        (text[digits] == '0' && byte_count > digits + 1)) {
        return false;
    }
    for (size_t i = digits; i < byte_count; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        value = 10 * value + (uint32_t)(text[i] - '0');
    }
    *index = value;
    return value < TARN_DEVICE_GPUS_MAX;
}

bool tarn_device_word_read(const char *text, size_t byte_count, tarn_device_word *word)
{
    tarn_device_word found = {TARN_DEVICE_CHOOSE_CUDA, 0};
    if (is_word(text, byte_count, "auto")) {
        found.choice = TARN_DEVICE_CHOOSE_AUTO;
    } else if (is_word(text, byte_count, "cpu")) {
        found.choice = TARN_DEVICE_CHOOSE_CPU;
    } else if (!is_word(text, byte_count, "cuda") && !read_gpu(text, byte_count, &found.index)) {
        return false;
    }
    *word = found;
    return true;
}

void tarn_device_word_write(const tarn_device_word *word, char text[TARN_DEVICE_WORD_BYTES])
{
    if (word->choice == TARN_DEVICE_CHOOSE_CUDA) {
        snprintf(text, TARN_DEVICE_WORD_BYTES, "cuda:%u", word->index % TARN_DEVICE_GPUS_MAX);
    } else {
        snprintf(text, TARN_DEVICE_WORD_BYTES, "%s", word->choice == TARN_DEVICE_CHOOSE_CPU ? "cpu" : "auto");
    }
}

static bool is_named(const tarn_device_list *list, const tarn_device_word *word)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->devices[i].choice == word->choice && list->devices[i].index == word->index) {
            return true;
        }
    }
    return false;
}

static bool add(tarn_device_list *list, const char *text, size_t byte_count, char *why)
{
    tarn_device_word word;
    const int shown = (int)(byte_count < 64 ? byte_count : 64);
    if (!tarn_device_word_read(text, byte_count, &word)) {
        snprintf(why, TARN_DEVICE_WHY_BYTES, "found \"%.*s\", allowed are cpu, cuda, cuda:0 to cuda:%d and auto", shown,
                 text, TARN_DEVICE_GPUS_MAX - 1);
    } else if (list->count == TARN_DEVICE_LIST_MAX) {
        snprintf(why, TARN_DEVICE_WHY_BYTES, "found more than %d devices", TARN_DEVICE_LIST_MAX);
    } else if (word.choice == TARN_DEVICE_CHOOSE_CUDA && is_named(list, &word)) {
        snprintf(why, TARN_DEVICE_WHY_BYTES, "found \"%.*s\" after the same GPU, allowed is each once", shown, text);
    } else {
        list->devices[list->count++] = word;
        return true;
    }
    return false;
}

bool tarn_device_list_read(const char *text, tarn_device_list *list, char why[TARN_DEVICE_WHY_BYTES])
{
    const tarn_device_word any = {TARN_DEVICE_CHOOSE_AUTO, 0};
    *list = (tarn_device_list){0};
    for (;;) {
        const size_t byte_count = strcspn(text, ",");
        if (!add(list, text, byte_count, why)) {
            return false;
        }
        if (text[byte_count] == '\0') {
            break;
        }
        text += byte_count + 1;
    }
    if (list->count > 1 && is_named(list, &any)) {
        snprintf(why, TARN_DEVICE_WHY_BYTES, "found auto beside others, allowed is auto alone");
        return false;
    }
    return true;
}

uint32_t tarn_device_list_cpus(const tarn_device_list *list)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        count += list->devices[i].choice == TARN_DEVICE_CHOOSE_CPU;
    }
    return count;
}
