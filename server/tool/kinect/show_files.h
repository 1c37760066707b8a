/// The files of the page for setting a camera up, as cmake/embed.cmake puts them into the program.
#ifndef TARN_SERVER_TOOL_KINECT_SHOW_FILES_H
#define TARN_SERVER_TOOL_KINECT_SHOW_FILES_H

#include <stddef.h>
#include <stdint.h>

enum { SHOW_FILE_COUNT = 4 };

typedef struct show_file {
    const char *path, *type; ///< of the address; with the character set
    const uint8_t *bytes;
    size_t byte_count;
} show_file;

extern const show_file show_files[SHOW_FILE_COUNT];

#endif
