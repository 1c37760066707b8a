/// A `tarn kinect` for tests: started with options, its words kept in a file, ended by its pid.
#ifndef TARN_TESTS_KINECT_BRIDGE_PROCESS_H
#define TARN_TESTS_KINECT_BRIDGE_PROCESS_H

#include <sys/types.h>

enum { BRIDGE_TEXT_BYTES = 8192, BRIDGE_WAIT_S = 60 };

typedef struct bridge_process {
    pid_t pid;
    char log[96];
    char text[BRIDGE_TEXT_BYTES]; ///< what it has said, as of the newest call
} bridge_process;

enum { BRIDGE_FRAMES = 110 };

/// The tests' folder, and in it a recording of somebody who goes from side to side: as group fixtures, which also start
/// and stop the pool's server.
extern char bridge_folder[64], bridge_recording[96];
int bridge_record(void **state);
int bridge_forget(void **state);

/// Starts it with these options, which blanks part.
/// @param folder           for what it says
/// @param library_folder   where libfreenect is looked for first, which plays `recording`; NULL: as everywhere
void bridge_start(bridge_process *b, const char *folder, const char *options, const char *library_folder,
                  const char *recording);

/// What it has said so far, and how often it has said this; bridge_wait_said asserts that it does within some time.
const char *bridge_said(bridge_process *b);
int bridge_count_said(bridge_process *b, const char *what);
void bridge_wait_said(bridge_process *b, const char *what);

/// @param signal_number  to end it by; 0: it ends by itself. @return its exit status, -1: a signal's
int bridge_finish(bridge_process *b, int signal_number);

/// The number in front of some words in the summary; -1: it isn't there.
double bridge_summary(bridge_process *b, const char *words);

#endif
