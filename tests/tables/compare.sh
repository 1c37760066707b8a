#!/bin/sh
# Compares what other languages have of the C tables with what tables_print makes of them; --write renews the files.
# Usage: compare.sh [--write] PATH-TO-TABLES_PRINT
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
write=
if [ "${1:-}" = --write ]; then
    write=yes
    shift
fi
if [ $# -ne 1 ] || [ ! -x "$1" ]; then
    echo "compare.sh: found \"${1:-}\", allowed is the path of the program tables_print" >&2
    exit 2
fi
program=$1
made=$(mktemp) || exit 2
trap 'rm -f "$made"' EXIT
failed=0

# compare FILE ARGUMENT...: the file against what the program prints.
compare() {
    file=$1
    shift
    if ! "$program" "$@" >"$made"; then
        echo "not ok $file: it can't be made"
        failed=1
    elif [ -n "$write" ]; then
        cmp -s "$made" "$top/$file" || cat "$made" >"$top/$file"
    elif (cd "$top" && diff -u --label "$file" --label "the C tables" "$file" "$made"); then
        echo "ok $file"
    else
        echo "not ok $file: it isn't what the C tables say. Renew it by: tests/tables/compare.sh --write $program"
        failed=1
    fi
}

compare web-client/src/tables/protocol-tables.ts typescript
compare server/scenes/scene.schema.json schema "$top/server/scenes/scene.schema.json"
exit $failed
