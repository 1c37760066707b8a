// Whole numbers on command lines: what isn't one, or out of range, is refused with what is allowed.
#include "server/common/option_number.h"

#include <errno.h>
#include <stdlib.h>

long tarn_option_number(struct argp_state *state, const char *option, const char *text, long min, long max)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || value < min || value > max) {
        argp_error(state, "--%s: found \"%s\", allowed is a whole number from %ld to %ld", option, text, min, max);
    }
    return value;
}
