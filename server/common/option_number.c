// Whole numbers on command lines: what isn't one, or out of range, is refused with what is allowed.
#include "server/common/option_number.h"

#include <errno.h>
#include <stdlib.h>

typedef struct unit {
    char letter; // 0: none
    uint64_t times;
} unit;

bool tarn_number_read(const char *text, uint64_t min, uint64_t max, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoul(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == 0 && errno == 0 && *number >= min && *number <= max;
}

long tarn_option_number(struct argp_state *state, const char *option, const char *text, long min, long max)
{
    uint64_t value;
    if (!tarn_number_read(text, (uint64_t)min, (uint64_t)max, &value)) {
        argp_error(state, "--%s: found \"%s\", allowed is a whole number from %ld to %ld", option, text, min, max);
    }
    return (long)value;
}

/// @return 0: it is none
static uint64_t amount(const char *text, const unit *units, int unit_count)
{
    char *end;
    errno = 0;
    const unsigned long value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || errno != 0 || value < 1 || value > 1000000) {
        return 0;
    }
    for (int i = 0; i < unit_count; i++) {
        if (*end == units[i].letter && (*end == 0 || end[1] == 0)) {
            return value * units[i].times;
        }
    }
    return 0;
}

uint64_t tarn_number_bytes(const char *text)
{
    static const unit units[] = {{0, 1}, {'k', 1000}, {'M', 1000000}, {'G', 1000000000}};
    return amount(text, units, 4);
}

uint64_t tarn_number_age_s(const char *text)
{
    static const unit units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    return amount(text, units, 4);
}

uint64_t tarn_option_bytes(struct argp_state *state, const char *option, const char *text)
{
    const uint64_t bytes = tarn_number_bytes(text);
    if (bytes == 0) {
        argp_error(state, "--%s: found \"%s\", allowed is a whole number from 1 to 1000000 and nothing, k, M or G",
                   option, text);
    }
    return bytes;
}

uint64_t tarn_option_age_s(struct argp_state *state, const char *option, const char *text)
{
    const uint64_t age_s = tarn_number_age_s(text);
    if (age_s == 0) {
        argp_error(state, "--%s: found \"%s\", allowed is a whole number from 1 to 1000000 and s, m, h or d", option,
                   text);
    }
    return age_s;
}
