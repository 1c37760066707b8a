// One write for each line, so that those of two threads don't mix.
#include "server/tool/kinect/kinect_say.h"
#include "server/common/printable.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { LINE_BYTES = 1024 };

void kinect_say(const char *command, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    tarn_make_printable(line);
    fprintf(stderr, "%s%s: %s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "", command, line);
}

void kinect_say_status(const char *line)
{
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r\033[K%s", line);
    }
}
