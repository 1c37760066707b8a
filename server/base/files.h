/// Whole files into memory and out of it.
#ifndef TARN_SERVER_BASE_FILES_H
#define TARN_SERVER_BASE_FILES_H

#include "protocol/status.h"

#include <stddef.h>

/// Reads a regular file; a device, a pipe or a directory is refused, and a pipe isn't waited for.
/// @param bytes  made by malloc, the caller frees it; written on success only
/// @param what   what is allowed, for the sentence: "a mesh file"
/// @param why    where not NULL: the file's name, what was found and what is allowed
/// @return TARN_OK, TARN_E_NOT_FOUND, TARN_E_IO, TARN_E_LIMIT (more than bytes_max) or TARN_E_MEMORY
tarn_status tarn_file_bytes_read(const char *path, size_t bytes_max, const char *what, char **bytes, size_t *byte_count,
                                 char *why, size_t why_bytes);

/// Puts a file in the place of what is there, which stays where this fails: the bytes are whole and on the disk under
/// another name (PATH.new) first, which nothing is left of.
/// @return TARN_OK, or TARN_E_IO: errno says why
tarn_status tarn_file_bytes_put(const char *path, unsigned mode, const void *bytes, size_t byte_count);

/// Makes the names in a file's folder last, after it was made, renamed or removed. What fails can't be helped.
void tarn_file_sync_folder(const char *path);

#endif
