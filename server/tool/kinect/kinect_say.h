/// What the bridge tells people, on standard error: lines that stay, and on a terminal one that is written over. From
/// any thread.
#ifndef TARN_SERVER_TOOL_KINECT_KINECT_SAY_H
#define TARN_SERVER_TOOL_KINECT_KINECT_SAY_H

/// A line that stays; it may hold anything, and is made printable.
void kinect_say(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// The line that is written over; nothing where standard error isn't a terminal.
void kinect_say_status(const char *line);

#endif
