/// Whom a session's owners removed or muted, for when they come again. Nobody can be known for sure: keys are passed
/// on, and many may share an address. Of who comes by a token that token is kept out; of who comes without, the browser
/// at its address, or all of the address where nobody else had joined from there. Pure.
#ifndef TARN_SERVER_GATEWAY_RIGHTS_BARRED_H
#define TARN_SERVER_GATEWAY_RIGHTS_BARRED_H

#include "server/base/limits.h"
#include "server/base/token.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/// What is known of somebody who comes.
typedef struct tarn_comer {
    struct in6_addr address;                  ///< IPv4 mapped
    char browser[TARN_BROWSER_BYTES_MAX + 1]; ///< empty: not said, as that of all who don't say it
    tarn_token_id token;                      ///< empty: none
} tarn_comer;

typedef struct tarn_barred {
    uint32_t count;
    struct {
        tarn_comer comer;
        bool all_of_address;
        uint64_t until_ns;              ///< removed until then; 0: muted, until that is taken back
    } entries[TARN_GATEWAY_BARRED_MAX]; ///< the oldest first
} tarn_barred;

/// Notes somebody; where all places are taken the oldest is forgotten.
/// @param is_alone  nobody else has joined from the address
/// @param until_ns  0: muted
void tarn_barred_add(tarn_barred *barred, const tarn_comer *comer, bool is_alone, uint64_t until_ns);

/// Takes muting back.
void tarn_barred_unmute(tarn_barred *barred, const tarn_comer *comer);

/// @param is_muted  whether it is to be muted  @return for how long it is kept out, ns; 0: it may come
uint64_t tarn_barred_look(const tarn_barred *barred, const tarn_comer *comer, uint64_t now_ns, bool *is_muted);

#endif
