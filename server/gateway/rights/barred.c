// A list, looked through when somebody joins.
#include "server/gateway/rights/barred.h"
#include "protocol/assert.h"
#include "server/net/addresses.h"

#include <string.h>

static bool is_meant(const tarn_barred *barred, uint32_t i, const tarn_comer *comer)
{
    const tarn_comer *known = &barred->entries[i].comer;
    if (comer->token[0] != 0) {
        return strcmp(known->token, comer->token) == 0;
    }
    // One without a token may be who has left it away.
    return tarn_client_is_one(&known->address, &comer->address) &&
           (barred->entries[i].all_of_address || strcmp(known->browser, comer->browser) == 0);
}

static void forget(tarn_barred *barred, uint32_t i)
{
    barred->count--;
    memmove(&barred->entries[i], &barred->entries[i + 1], (barred->count - i) * sizeof barred->entries[0]);
}

void tarn_barred_add(tarn_barred *barred, const tarn_comer *comer, bool is_alone, uint64_t until_ns)
{
    if (barred->count == TARN_GATEWAY_BARRED_MAX) {
        forget(barred, 0);
    }
    TARN_ASSERT(barred->count < TARN_GATEWAY_BARRED_MAX);
    barred->entries[barred->count].comer = *comer;
    barred->entries[barred->count].all_of_address = is_alone;
    barred->entries[barred->count++].until_ns = until_ns;
}

void tarn_barred_unmute(tarn_barred *barred, const tarn_comer *comer)
{
    for (uint32_t i = barred->count; i-- > 0;) {
        if (barred->entries[i].until_ns == 0 && is_meant(barred, i, comer)) {
            forget(barred, i);
        }
    }
}

uint64_t tarn_barred_look(const tarn_barred *barred, const tarn_comer *comer, uint64_t now_ns, bool *is_muted)
{
    uint64_t longest_ns = 0;
    *is_muted = false;
    for (uint32_t i = 0; i < barred->count; i++) {
        const uint64_t until_ns = barred->entries[i].until_ns;
        if (!is_meant(barred, i, comer)) {
            continue;
        }
        *is_muted |= until_ns == 0;
        if (until_ns > now_ns && until_ns - now_ns > longest_ns) {
            longest_ns = until_ns - now_ns;
        }
    }
    return longest_ns;
}
