// Names and sentences of status codes, in one table.
#include "protocol/status.h"

const char *tarn_status_text(tarn_status status)
{
    switch (status) {
#define TARN_STATUS_TEXT(name, value, text)                                                                            \
    case name:                                                                                                         \
        return text;
        TARN_STATUS_LIST(TARN_STATUS_TEXT)
#undef TARN_STATUS_TEXT
    }
    return "unknown status";
}

const char *tarn_status_name(tarn_status status)
{
    switch (status) {
#define TARN_STATUS_NAME(name, value, text)                                                                            \
    case name:                                                                                                         \
        return #name;
        TARN_STATUS_LIST(TARN_STATUS_NAME)
#undef TARN_STATUS_NAME
    }
    return "unknown";
}
