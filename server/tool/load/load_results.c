// What everybody notes and reads of a run: kinds of viewers, failures, whether all went well.
#include "server/tool/load/load.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name; ///< for people
    const char *key;  ///< in JSON
} kinds[LOAD_KIND_COUNT] = {
    [LOAD_STEADY] = {"steady", "steady"},
    [LOAD_PUSHER] = {"pushing", "pushing"},
    [LOAD_SLOW] = {"slow", "slow"},
    [LOAD_STALLED] = {"stalled", "stalled"},
    [LOAD_HALF_OPEN] = {"half-open", "half_open"},
    [LOAD_RECONNECTING] = {"reconnecting", "reconnecting"},
};

const char *load_kind_name(load_kind kind)
{
    return kinds[kind].name;
}

const char *load_kind_key(load_kind kind)
{
    return kinds[kind].key;
}

void load_fail(load_results *results, const char *text)
{
    for (uint32_t i = 0; i < results->failure_count; i++) {
        if (strcmp(results->failures[i].text, text) == 0) {
            results->failures[i].count++;
            return;
        }
    }
    if (results->failure_count == LOAD_FAILURES_MAX) {
        results->failures_untold++;
        return;
    }
    load_failure *failure = &results->failures[results->failure_count++];
    failure->count = 1;
    snprintf(failure->text, sizeof failure->text, "%s", text);
}

bool load_results_good(const load_results *results)
{
    return results->seconds > 0 && results->failure_count == 0 && results->checked_wrong == 0 &&
           results->chains_wrong == 0;
}
