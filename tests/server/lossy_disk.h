/// A disk under SQLite that loses power: an SQLite VFS over the system's. What is written is held back until it is
/// synced; at a drawn operation the power goes: of what is held back some reaches the disk, in pieces of 512 bytes, and
/// nothing after that does.
#ifndef TARN_TESTS_SERVER_LOSSY_DISK_H
#define TARN_TESTS_SERVER_LOSSY_DISK_H

#include <stdbool.h>

/// All databases that are opened from now on lie on it.
/// @param operations  writes and syncs until the power goes
void lossy_disk_begin(unsigned seed, unsigned operations);

bool lossy_disk_is_cut(void);

/// Databases lie on the system's disk again. All must be closed.
void lossy_disk_end(void);

#endif
