#!/bin/bash
# Can the tests of rights fail? Breaks the code in one place after another, in a copy, and expects the tests named to fail:
# mutations.sh [PATTERN], those whose line holds the pattern alone. Prints "ok ..." or "not ok ..." for each; takes some
# minutes, and isn't a part of tests/run.
set -u
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
copy=$(mktemp -d -t tarn-mutations-XXXXXX) || exit 1
trap 'rm -rf "$copy"' EXIT
git clone --quiet --shared "$root" "$copy/tree" || exit 1
git -C "$root" diff HEAD | git -C "$copy/tree" apply --allow-empty 2>/dev/null # what isn't committed yet counts, too
cd "$copy/tree" || exit 1
if command -v ccache >/dev/null; then
    export CMAKE_{C,CXX}_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
fi
cmake --preset cpu -DTARN_TESTS=ON >"$copy/log" 2>&1 || { cat "$copy/log"; exit 1; }

# What it breaks | the file | its line becomes (sed) | tests that have to see it
mutations() {
    cat <<'END'
a key's first 8 digits are compared|server/gateway/rights/role.c|s/i <= TARN_KEY_BYTES; i++/i < 8; i++/|secret_test
a key may go on behind its end|server/gateway/rights/role.c|s/i <= TARN_KEY_BYTES; i++/i < TARN_KEY_BYTES; i++/|secret_test
the last key of all opens|server/gateway/rights/role.c|s/if (difference == 0)/if (difference == 0 \x7c\x7c r == TARN_ROLE_OWN)/|secret_test
a key is any other|server/gateway/rights/role.c|s/difference \x7c= /difference \&= /|secret_test
who watches may what players may|server/gateway/rights/role.c|s/return role >= needed\[act\]/return role + 1 >= needed[act]/|server_roles_test together_parts_test
all tanks have one key|server/gateway/rights/role.c|s/memcpy(message, salt, salt_bytes);/memset(message, 0, salt_bytes);/|secret_test
all roles have one key|server/gateway/rights/role.c|s/memcpy(message + salt_bytes, text, text_bytes);.*/memset(message + salt_bytes, 0, text_bytes);/|secret_test
a key has eight bytes twice|server/gateway/rights/role.c|s/"%02x", code\[i\]/"%02x", code[i % 8]/|secret_test
others may read the secret|server/gateway/rights/role.c|s/(S_IRWXG . S_IRWXO)) != 0/0) != 0/|secret_test
the secret may be anybody's|server/gateway/rights/role.c|s/file.st_uid != geteuid()/false/|secret_test
the secret may be longer|server/gateway/rights/role.c|s/got != TARN_SECRET_BYTES/got < TARN_SECRET_BYTES/|secret_test
a token's first 8 bytes of signature count|server/base/token.c|s/CRYPTO_memcmp(found, made, MAC_BYTES)/CRYPTO_memcmp(found, made, 8)/|token_test
a token without a signature is one|server/base/token.c|s/found_bytes != MAC_BYTES .. CRYPTO_memcmp(found, made, MAC_BYTES) != 0/CRYPTO_memcmp(found, made, found_bytes) != 0/|token_test
any alg counts|server/base/token.c|s/!has_word(header, "alg", "HS256")/false/|token_test
an unknown key is the first one|server/base/token.c|s/kid == NULL .. has_word(header, "kid", keys->keys\[i\].name)/true/|token_test
tokens last for ever|server/base/token.c|s/token->until_s != 0 \&\& now_s >= token->until_s/false/|token_test
tokens begin at once|server/base/token.c|s/token->from_s != 0 \&\& now_s < token->from_s/false/|token_test
tokens of tomorrow count|server/base/token.c|s/token->issued_s > now_s + CLOCKS_S/false/|token_test
a claim that nobody knows is passed over|server/base/token.c|s/if (i == sizeof known \/ sizeof known\[0\])/if (false)/|token_test
a token opens every tank|server/gateway/rights/passes.c|s/strcmp(token.session, session->name) != 0/false/|server_rights_test
what is revoked opens all the same|server/gateway/rights/passes.c|s/status == TARN_OK \&\& tarn_tokens_revoked_has(\&passes->revoked, token->id)/false/|server_rights_test
who is in stays in with a revoked token|server/gateway/rights/passes.c|s/if (tarn_tokens_revoked_has(\&passes->revoked, grant->token))/if (false)/|server_rights_test
who is in stays in with an old token|server/gateway/rights/passes.c|s/if (grant->until_s != 0 \&\& time(NULL) >= grant->until_s)/if (false)/|server_rights_test
any name of this machine is taken|server/gateway/reach.c|s/if (!take_host(text, strlen(text), host))/if (true) { return true; } if (!take_host(text, strlen(text), host))/|server_rights_test
an IPv6 address is one by all its bits|server/net/addresses.c|s/is_v4 ? sizeof \*a : NETWORK_BYTES/sizeof *a/|owners_parts_test server_edges_test
all of IPv4 is one address|server/net/addresses.c|s/is_v4 ? sizeof \*a : NETWORK_BYTES/NETWORK_BYTES/|owners_parts_test server_edges_test
whoever was removed comes back at once|server/gateway/rights/barred.c|s/until_ns > now_ns \&\& until_ns - now_ns > longest_ns/false/|owners_parts_test
connections from one address have no limit|server/gateway/listener.c|s/return same < TARN_GATEWAY_CONNECTIONS_PER_IP_MAX .. is_free ? free_place : NULL/return free_place/|owners_parts_test
players may set parameters|server/gateway/rights/role.h|s/X(PARAMETER, OWN)/X(PARAMETER, PLAY)/|server_roles_test
a signature may go on behind its end|server/base/token.c|s/found_bytes != MAC_BYTES/found_bytes < MAC_BYTES/|token_test
a token is written in several ways|server/base/token.c|s/(held \& ((1u << held_bits) - 1)) == 0/true/|token_test
an address has one turn more|server/net/addresses.c|s/(burst - 1) \* every_ns/burst * every_ns/|owners_parts_test
who was removed comes back by another address|server/gateway/rights/barred.c|s/return strcmp(known->token, comer->token) == 0/return false/|owners_parts_test
a whole school is removed with one|server/gateway/rights/barred.c|s/(barred->entries\[i\].all_of_address .. /(true \x7c\x7c /|owners_parts_test
files in use go by age|server/gateway/store/files.c|s/!file->is_used \&\& file->age_s > 0/file->age_s > 0/|store_limit_test
a head has as many fields as it likes|server/net/http_head.c|s/++found->count > TARN_GATEWAY_FIELDS_MAX/++found->count > 10 * TARN_GATEWAY_FIELDS_MAX/|gate_test
a head is as long as it likes|server/net/gate.c|s/gate->byte_count >= TARN_GATEWAY_HEAD_BYTES_MAX/gate->byte_count >= ROOM_BYTES/|gate_test
two servers take one store|server/gateway/store/rounds.c|s/flock(fd, LOCK_EX . LOCK_NB) != 0/false/|server_store_test
files that vanish go unnoticed|server/gateway/store/rounds.c|s/now_ns < store->there_due_ns/true/|server_store_test
END
}

pattern=${1:-}
failed=0
while IFS='|' read -r what file expression tests; do
    [[ -z $pattern || "$what|$file|$tests" == *"$pattern"* ]] || continue
    cp "$file" "$copy/was"
    sed -i "$expression" "$file"
    seen='' ran=''
    if cmp -s "$file" "$copy/was"; then
        echo "not ok $what: $file has no such line any more"
        failed=$((failed + 1))
        continue
    fi
    for test in $tests; do
        # Those with programs find them as CTest's tests do.
        if ! ninja -C build/cpu "$test" tarnd tarn tarn-worker tarn_scenes >"$copy/log" 2>&1; then
            ran="it doesn't compile: $(grep -m 1 error: "$copy/log")"
            break
        fi
        if ! ctest --test-dir build/cpu -R "^server/$test\$" --no-tests=error >"$copy/log" 2>&1; then
            seen=$test
            break
        fi
        ran="$ran $test"
    done
    if [ -n "$seen" ]; then
        echo "ok $what: $seen fails"
    else
        echo "not ok $what: nothing fails ($ran)"
        failed=$((failed + 1))
    fi
    cp "$copy/was" "$file"
done < <(mutations)
[ "$failed" = 0 ]
