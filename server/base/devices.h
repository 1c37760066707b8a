/// Words for devices on command lines: `cpu`, `cuda` (the first GPU), `cuda:1`, `auto`, and lists of them.
#ifndef TARN_SERVER_BASE_DEVICES_H
#define TARN_SERVER_BASE_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TARN_DEVICE_LIST_MAX = 16,
    TARN_DEVICE_GPUS_MAX = 64, ///< that can be named
    TARN_DEVICE_WORD_BYTES = 16,
    TARN_DEVICE_WHY_BYTES = 256,
};

typedef enum tarn_device_choice {
    TARN_DEVICE_CHOOSE_AUTO, ///< the first GPU where there is one that can be used, else the CPU
    TARN_DEVICE_CHOOSE_CPU,
    TARN_DEVICE_CHOOSE_CUDA
} tarn_device_choice;

typedef struct tarn_device_word {
    tarn_device_choice choice;
    uint32_t index; ///< of a GPU, 0..TARN_DEVICE_GPUS_MAX-1
} tarn_device_word;

typedef struct tarn_device_list {
    uint32_t count; ///< 1..TARN_DEVICE_LIST_MAX
    tarn_device_word devices[TARN_DEVICE_LIST_MAX];
} tarn_device_list;

/// Reads one of so many bytes. @return false: it is none, and *word is as it was
bool tarn_device_word_read(const char *text, size_t byte_count, tarn_device_word *word);

/// Writes what tarn_device_word_read reads.
void tarn_device_word_write(const tarn_device_word *word, char text[TARN_DEVICE_WORD_BYTES]);

/// Reads words with commas between them. The CPU may be named several times, a GPU once; `auto` stands alone.
/// @param why  on failure what was found and what is allowed  @return false: *list isn't to be used
bool tarn_device_list_read(const char *text, tarn_device_list *list, char why[TARN_DEVICE_WHY_BYTES]);

/// How many of them are CPUs, which share one machine's processors.
uint32_t tarn_device_list_cpus(const tarn_device_list *list);

#endif
