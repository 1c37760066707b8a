/// Makes archives for tests, right and wrong ones, without what reads them.
#ifndef TARN_TESTS_SERVER_ARCHIVE_MAKER_H
#define TARN_TESTS_SERVER_ARCHIVE_MAKER_H

#include <stddef.h>
#include <stdint.h>

/// Zero at first; archive_free at the end.
typedef struct archive {
    uint8_t *bytes;
    size_t byte_count;
} archive;

/// Appends a head and its content, filled up. @param type  as in the head: '0' is a file
void archive_add(archive *made, const char *name, char type, const void *bytes, size_t byte_count);

/// The same of a text.
void archive_add_text(archive *made, const char *name, const char *text);

/// The same of a file. Asserts that it can be read.
void archive_add_file(archive *made, const char *name, const char *path);

/// Appends the end.
void archive_end(archive *made);

/// Sets the checksum of the head that begins there.
void archive_sum(uint8_t *head);

void archive_free(archive *made);

#endif
