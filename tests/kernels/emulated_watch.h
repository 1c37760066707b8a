/// What the emulated device tells whoever watches its kernels: races.cpp. Without one linked in, nobody.
#ifndef TARN_TESTS_EMULATED_WATCH_H
#define TARN_TESTS_EMULATED_WATCH_H

#include <stddef.h>
#include <stdint.h>

/// Whether every tile is to be a block of its own.
bool watch_is_on();
void watch_launch(const char *kernel);
void watch_block(unsigned char *shared, size_t bytes);
/// All lanes have come to it. @param file  lives on
void watch_block_barrier(const char *file, int line);
void watch_warp_barrier(uint32_t warp);

/// All other tiles of the launch have come before this one.
void watch_last_tile();

/// Memory of the device, zeroed, aligned to 256. NULL: there is none left
void *watch_take(size_t bytes);
void watch_give(void *memory);
/// Nobody has to do with these of its bytes.
void watch_bar(void *memory, size_t bytes);

#endif
