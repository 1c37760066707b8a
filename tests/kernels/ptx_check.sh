#!/bin/sh
# Holds what nvcc makes of the kernels to the dialect's promise of the same bits as the CPU's:
#
#     sh tests/kernels/ptx_check.sh ROOT NVCC [PTX...]
#
# All kernels are to be in the PTX, once for each architecture.
#
# Instructions on floats are those that round as IEEE says and that nobody has contracted or approximated; a minimum or
# maximum has a constant that isn't zero, or is a maximum with a zero that the source has second; nothing is called.
# What the assembler then keeps in local memory stays within limits, and the ten kernels with most of it are printed.
# Status 77: there is no PTX, because no nvcc was found. First it is tried on instructions that are known to be wrong.
set -u
export LC_ALL=C

stack_bytes_max=1024 # of a kernel: arrays that are indexed
spill_bytes_max=160  # of a kernel: stores of what its registers don't hold

# judge < PTX: prints what is wrong; with $1 = counts how many there are of what looks right.
judge() {
    awk -v wanted="${1:-}" '
        function is_zero(x) { return x ~ /^0f[08]0000000$/ || x ~ /^0d[08]000000000000000$/ }
        function is_constant(x) { return x ~ /^0[fd]/ }
        function refuse(why) { printf "%s: %s %s\n", kernel, text, why }
        /^[ \t]*(\.visible )?\.entry / {
            kernel = $0
            sub(/^.*\.entry /, "", kernel); sub(/\(.*/, "", kernel)
            if (match(kernel, /tarn_cuda_[a-z]/)) {
                kernel = substr(kernel, RSTART + 10, substr(kernel, 3) - 10)
            }
            kernels++
            next
        }
        /^[ \t]*(\.|\/\/|[{}]|$)/ { next }
        {
            text = $0
            sub(/^[ \t]+/, "", text); sub(/^@!?%p[0-9]+[ \t]+/, "", text); gsub(/[ \t]+/, " ", text)
            split(text, word, /[ ;]/)
            op = word[1]
            if (op ~ /^call/) { refuse("a function of somebody else'\''s"); next }
            if (op ~ /\.(approx|ftz|sat|full)(\.|$)/) { refuse("not what IEEE says"); next }
            if (op !~ /\.(b?f16|tf32|e[0-9]m[0-9]|f32|f64)/) next
            seen[op]++
            if (op ~ /^(fma|mad)\./) { refuse("contracted: one rounding for two operations"); next }
            if (op ~ /^(min|max)\.f(32|64)$/) {
                operands = text
                sub(/^[^ ]+ /, "", operands); sub(/;.*/, "", operands); gsub(/ /, "", operands)
                split(operands, of, ",")
                a = of[2]; b = of[3]
                if (is_constant(a) && !is_zero(a) || is_constant(b) && !is_zero(b)) next
                if (op ~ /^max/ && b ~ /^0(f|d)0+$/) next
                refuse("the sign of a zero is left to the device")
                next
            }
            if (op ~ /^(ld|st)\.[a-z0-9.]*f(32|64)$/ || op ~ /^(mov|selp|neg)\.f(32|64)$/) next
            if (op ~ /^setp\.(eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan)(\.(and|or|xor))?\.f(32|64)$/) next
            if (op ~ /^(add|sub|mul|div|rcp|sqrt)\.rn\.f(32|64)$/) next
            if (op ~ /^cvt\.rn\.f(32|64)\.[su](8|16|32|64)$/ || op ~ /^cvt\.(f64\.f32|rn\.f32\.f64)$/) next
            if (op ~ /^cvt\.r[nzmp]i\.([su](8|16|32|64)|f32)\.f(32|64)$/) next
            refuse("not among the instructions that give the same bits everywhere")
        }
        END {
            if (wanted == "counts") {
                for (op in seen) if (op !~ /^(ld|st|mov|selp|neg|setp)/) printf "%7d %s\n", seen[op], op | "sort -rn"
            }
            if (wanted == "kernels") print kernels + 0
        }'
}

# Each of these has to be found, and none of those.
try_judge() {
    while read -r line; do
        [ -n "$(printf '%s\n' "$line" | judge)" ] || echo "the check lets pass: $line"
    done <<END
fma.rn.f32 %f1, %f2, %f3, %f4;
@%p1 fma.rn.f32 %f1, %f2, %f3, %f4;
mad.rn.f32 %f1, %f2, %f3, %f4;
mul.f32 %f1, %f2, %f3;
add.f32 %f1, %f2, %f3;
add.rz.f32 %f1, %f2, %f3;
add.rn.ftz.f32 %f1, %f2, %f3;
setp.lt.ftz.f32 %p1, %f2, %f3;
div.full.f32 %f1, %f2, %f3;
div.approx.f32 %f1, %f2, %f3;
sqrt.approx.f32 %f1, %f2;
rsqrt.approx.f32 %f1, %f2;
ex2.approx.f32 %f1, %f2;
fma.rn.f64 %fd1, %fd2, %fd3, %fd4;
rcp.approx.ftz.f64 %fd1, %fd2;
atom.global.add.f32 %f1, [%rd1], %f2;
abs.f32 %f1, %f2;
add.rn.f16 %h1, %h2, %h3;
cvt.rn.bf16.f32 %h1, %f1;
min.f32 %f1, %f2, 0f00000000;
min.f32 %f1, %f2, 0f80000000;
min.f32 %f1, %f2, %f3;
max.f32 %f1, %f2, %f3;
max.f32 %f1, %f2, 0f80000000;
max.f32 %f1, 0f00000000, %f2;
max.f64 %fd1, %fd2, %fd3;
call.uni (retval0), sinf, (param0);
END
    while read -r line; do
        [ -z "$(printf '%s\n' "$line" | judge)" ] || echo "the check refuses: $line"
    done <<END
mul.rn.f32 %f1, %f2, 0f3F000000;
@!%p12 ld.global.v2.f32 {%f1, %f2}, [%rd1];
setp.leu.f32 %p1, %f2, %f3;
max.f32 %f1, %f2, 0f00000000;
min.f32 %f1, %f2, 0f3F800000;
max.f64 %fd1, %fd2, 0d3FF0000000000000;
cvt.rni.s32.f32 %r1, %f1;
cvt.rmi.f32.f32 %f1, %f2;
mad.lo.s32 %r1, %r2, %r3, %r4;
END
}

# A zero that comes first is another one, which PTX can't show.
zeros_first() {
    grep -nE '(tile_max2_f32|pack_max_f32|row_max_f32)\((pack_all_f32\(|row_all_f32\()?-?0(\.0?f?)?[,)]|< -?0(\.0?f)? \? -?0(\.0?f)? :' "$@" |
        sed 's/$/ (of a maximum with zero the zero comes second: tile.h)/'
}

# local_memory PTX: "stack spill-stores spill-loads kernel" for each kernel.
local_memory() {
    arch=$(sed -n 's/^\.target \(sm_[0-9a-z]*\).*/\1/p' "$1")
    "$assembler" "-arch=$arch" -v "$1" -o /dev/null 2>&1 | awk -v arch="$arch" '
        /Function properties for/ {
            kernel = $NF
            if (match(kernel, /tarn_cuda_[a-z]/)) kernel = substr(kernel, RSTART + 10, substr(kernel, 3) - 10)
        }
        /bytes stack frame/ { print $1, $5, $9, arch, kernel }'
}

root=$1 nvcc=${2:-}
[ $# -ge 2 ] && shift 2
wrong=$(try_judge)
sources=$(find "$root/kernels" -name '*.[ch]' | sort)
# shellcheck disable=SC2086 # one word per file
wrong=$wrong$(zeros_first $sources)
if [ $# = 0 ]; then
    [ -z "$wrong" ] || { printf '%s\n' "$wrong"; exit 1; }
    echo "skipped: no PTX to look at, because no nvcc was found when this was configured"
    exit 77
fi
assembler=$(dirname "$nvcc")/ptxas
[ -x "$assembler" ] || assembler=ptxas
expected=$(cat "$root"/kernels/*/*.tile.c | grep -cE '^TILE_(KERNEL|CHAIN)\(')
table=$(mktemp) || exit 1
trap 'rm -f "$table"' EXIT
found=0
for ptx in "$@"; do
    wrong="$wrong$(judge <"$ptx")"
    found=$((found + $(judge kernels <"$ptx" | tail -n 1)))
    local_memory "$ptx" >>"$table"
done
in_all=$((expected * $(sed -n 's/^\.target \(sm_[0-9a-z]*\).*/\1/p' "$@" | sort -u | wc -l)))
[ "$found" = "$in_all" ] && [ "$found" -gt 0 ] || wrong="$wrong
the PTX holds $found kernels, and the sources $expected for each architecture, $in_all in all"
echo "Instructions on floats, of $expected kernels:"
cat "$@" | judge counts | grep -E '^ +[0-9]+ '
echo
echo "Local memory, the ten largest: stack, spilled stores and loads in bytes"
sort -k1,1nr -k2,2nr "$table" | head -n 10 | awk '{ printf "%6d %6d %6d  %s %s\n", $1, $2, $3, $4, $5 }'
[ "$(wc -l <"$table")" = "$in_all" ] || wrong="$wrong
$assembler said what $(wc -l <"$table") kernels need, and there are $in_all"
wrong=$wrong$(awk -v stack="$stack_bytes_max" -v spill="$spill_bytes_max" '
    $1 > stack { printf "\n%s: %d bytes of stack on %s, allowed are %d", $5, $1, $4, stack }
    $2 > spill { printf "\n%s: %d bytes spilled on %s, allowed are %d", $5, $2, $4, spill }' "$table")
[ -z "$wrong" ] || { printf '\n%s\n' "$wrong"; exit 1; }
