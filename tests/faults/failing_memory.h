/// Memory of programs under test that can't be had: failing_memory.c is preloaded into them. It counts what they ask
/// for, and fails the Nth call; a test says which, in a file that both have mapped.
#ifndef TARN_TESTS_FAULTS_FAILING_MEMORY_H
#define TARN_TESTS_FAULTS_FAILING_MEMORY_H

#include <stdatomic.h>
#include <stdint.h>

/// Names the file.
#define FAILING_MEMORY_VARIABLE "TARN_TEST_FAILING_MEMORY"

typedef enum failing_program { FAILING_GATEWAY, FAILING_WORKER, FAILING_PROGRAMS } failing_program;

/// Whose calls count.
typedef enum failing_threads { FAILING_ALL, FAILING_FIRST, FAILING_OTHERS } failing_threads;

enum { FAILING_WHERE_BYTES = 4096 };

typedef struct failing_memory {
    _Atomic uint32_t is_armed;     ///< calls count
    _Atomic uint32_t arms_on_tank; ///< it arms when the gateway's first thread opens a session's file
    failing_program program;
    failing_threads threads;
    uint64_t fails_at;                      ///< 1, 2 ...; 0: none fails
    _Atomic uint64_t calls;                 ///< since it was armed
    _Atomic uint64_t failed;                ///< the same
    _Atomic int64_t live[FAILING_PROGRAMS]; ///< pieces that each has
    char where[FAILING_WHERE_BYTES];        ///< who called what failed, innermost first
} failing_memory;

/// Makes the file and sets the variables for programs that are started from now on; asserts.
failing_memory *failing_memory_begin(void);

/// Programs that are started from now on have all the machine's memory.
void failing_memory_leave(void);

/// Removes the file.
void failing_memory_end(failing_memory *memory);

/// Calls count from now on. @param fails_at  0: none fails
void failing_memory_arm(failing_memory *memory, failing_program program, failing_threads threads, uint64_t fails_at);

/// No call fails any more. @return whether one has
int failing_memory_disarm(failing_memory *memory);

#endif
