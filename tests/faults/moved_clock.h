/// Clocks of programs under test that jump: moved_clock.c is preloaded into them, and reads how far from a file that
/// the test has mapped, too.
#ifndef TARN_TESTS_FAULTS_MOVED_CLOCK_H
#define TARN_TESTS_FAULTS_MOVED_CLOCK_H

#include <stdint.h>

/// Names the file.
#define MOVED_CLOCK_VARIABLE "TARN_TEST_MOVED_CLOCK"

/// What the file holds. Clocks that count from the machine's start never go back.
typedef struct moved_clock {
    int64_t wall_ns, since_start_ns;
} moved_clock;

/// Makes the file, with clocks as they are, and sets the variables for programs that are started from now on; asserts.
moved_clock *moved_clock_begin(void);

/// Programs that are started from now on have the machine's clocks.
void moved_clock_leave(void);

/// Removes the file.
void moved_clock_end(moved_clock *clock);

/// Jumps at once. @param since_start_ns  0 or more
void moved_clock_jump(moved_clock *clock, int64_t wall_ns, int64_t since_start_ns);

#endif
