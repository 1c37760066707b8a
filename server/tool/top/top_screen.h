/// The terminal that a table is renewed on, by plain ANSI sequences: its other screen, without echo and cursor while
/// it is open, and as it was afterwards, whatever signal ends the program. Without a terminal texts follow each other.
#ifndef TARN_SERVER_TOOL_TOP_SCREEN_H
#define TARN_SERVER_TOOL_TOP_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

typedef enum top_screen_event {
    TOP_SCREEN_TIME,        ///< nothing came in time
    TOP_SCREEN_QUIT,        ///< somebody pressed q
    TOP_SCREEN_INTERRUPTED, ///< by a signal, such as Ctrl-C
} top_screen_event;

/// Catches signals; and where the output is a terminal, takes that over. Once in a program.
void top_screen_open(void);
void top_screen_close(void);

/// Whether a signal came that ends the program.
bool top_screen_is_interrupted(void);

/// Whether the output is a terminal.
bool top_screen_is_terminal(void);

/// Lines that there is room for; 0: as many as come.
uint32_t top_screen_rows(void);

/// Shows a text in place of the one before. Its lines end with '\n' and are cut at the terminal's width.
void top_screen_show(const char *text);

/// Waits for a key or a signal.
top_screen_event top_screen_wait(uint32_t wait_ms);

#endif
