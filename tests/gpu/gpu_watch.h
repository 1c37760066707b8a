/// How much time the program has, and the end of what hangs: a device that answers nothing holds whoever waits for it,
/// so a thread of its own looks at the clock.
#ifndef TARN_TESTS_GPU_WATCH_H
#define TARN_TESTS_GPU_WATCH_H

#include <stdbool.h>

enum { GPU_WATCH_HUNG = 3 }; ///< exit status

/// From now on, once. @param seconds  for what is still begun; a quarter more, and 15 s, later the program says what it
/// was doing and ends with GPU_WATCH_HUNG
void gpu_watch_start(double seconds);

/// What is being done now, for people.
__attribute__((format(printf, 1, 2))) void gpu_watch_note(const char *format, ...);

/// Whether there is time to begin something. The first time that there is none it says so.
/// @param what  for people: what is left out
bool gpu_watch_has_time(const char *what);

/// How often it said so.
unsigned gpu_watch_left_out(void);

#endif
