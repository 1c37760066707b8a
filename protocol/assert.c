// Where failed assertions end.
#include "protocol/assert.h"

#include <stdio.h>
#include <stdlib.h>

void tarn_assert_failed(const char *file, int line, const char *condition)
{
    (void)fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}
