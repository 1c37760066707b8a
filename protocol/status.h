/// The status codes that every Tarn library returns. Zero is success, failures are negative.
/// One list gives the enumeration, the names and the texts, so that they cannot drift apart.
#ifndef TARN_PROTOCOL_STATUS_H
#define TARN_PROTOCOL_STATUS_H

// X(name, value, text)
#define TARN_STATUS_LIST(X)                                                                                            \
    X(TARN_OK, 0, "success")                                                                                           \
    X(TARN_E_ARGUMENT, -1, "an argument is outside its documented range")                                              \
    X(TARN_E_MEMORY, -2, "out of memory")                                                                              \
    X(TARN_E_DEVICE, -3, "the device failed; only destruction is legal after this")                                    \
    X(TARN_E_UNAVAILABLE, -4, "not available in this build or on this machine")                                        \
    X(TARN_E_SPACE, -5, "the destination buffer is too small")                                                         \
    X(TARN_E_TRUNCATED, -6, "the data ends before it is complete")                                                     \
    X(TARN_E_MALFORMED, -7, "the data does not follow the format")                                                     \
    X(TARN_E_VERSION, -8, "the version is not supported")                                                              \
    X(TARN_E_LIMIT, -9, "a limit would be exceeded")                                                                   \
    X(TARN_E_IO, -10, "input or output failed")                                                                        \
    X(TARN_E_NOT_FOUND, -11, "not found")                                                                              \
    X(TARN_E_STATE, -12, "not allowed in the present state")                                                           \
    X(TARN_E_UNKNOWN_KIND, -13, "a well-formed message of an unknown kind; ignore it")                                 \
    X(TARN_E_UNSTABLE, -14, "the simulation left its bounds; load an earlier state")

typedef enum tarn_status {
#define TARN_STATUS_ENUM(name, value, text) name = value,
    TARN_STATUS_LIST(TARN_STATUS_ENUM)
#undef TARN_STATUS_ENUM
} tarn_status;

#ifdef __cplusplus
extern "C" {
#endif

/// The sentence for a status; never NULL, static storage.
const char *tarn_status_text(tarn_status status);

/// The identifier of a status ("TARN_E_LIMIT"); never NULL, static storage.
const char *tarn_status_name(tarn_status status);

#ifdef __cplusplus
}
#endif
#endif
