#!/bin/sh
# Holds the tree to its structure. Takes the top folder; prints one line for each check: "ok ...", "not ok ..." or
# "skipped ...". The rules are those that a reader relies on: who may include whom, what a file opens with, and that
# nothing in the tree knows the machine it was written on.
set -u
cd "${1:-.}" || exit 1
export LC_ALL=C

files() {
    find . \( -path ./build -o -path './build-*' -o -name .git -o -name node_modules -o -path ./web-client/dist \) \
        -prune -o -type f ! -name '*.wasm' ! -name '*.log' -print | sed 's|^\./||' | sort
}

# verdict NAME: the lines on standard input are what is wrong.
verdict() {
    wrong=$(cat)
    if [ -z "$wrong" ]; then
        echo "ok $1"
    else
        printf '%s\n' "$wrong" | sed "s|^|not ok $1: |"
    fi
}

sources=$(files | grep -E '\.(c|h|cu|cuh|inc)$')
all=$(files)

# ---- includes ----

# "file included" for every quoted include.
includes() {
    # shellcheck disable=SC2086 # one word per file
    [ -z "$sources" ] || grep -HoE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"[^"]+"' $sources |
        sed -E 's/^([^:]+):.*"([^"]+)"$/\1 \2/'
}
includes=$(includes)

includes_exist() {
    printf '%s\n' "$includes" | while read -r file included; do
        [ -z "$file" ] || [ -f "$included" ] ||
            echo "$file includes \"$included\", allowed are paths from the top folder"
    done
}

directions() {
    printf '%s\n' "$includes" | awk '
        function top(path) { sub("/.*", "", path); return path }
        function part(path) { split(path, names, "/"); return names[1] "/" names[2] }
        NF < 2 { next }
        {
            from = top($1); to = top($2); why = ""
            if (from == "protocol" && to != "protocol") why = "protocol depends on nothing of ours"
            if (from == "kernels" && to != "kernels" && to != "protocol") why = "kernels depends on protocol only"
            if (to == "server" && from != "server" && from != "tests") why = "nothing depends on server"
            if (to == "tests" && from != "tests") why = "nothing depends on tests"
            if (from == "server" && to == "server") {
                a = part($1); b = part($2)
                allowed = a ~ /base$/ ? "" : a ~ /(net|scene)$/ ? " server/base " : a ~ /log$/ ? " server/base server/scene " : \
                    a ~ /worker$/ ? " server/base server/scene server/log " : " server/base server/scene server/log server/net "
                if (a != b && !index(allowed, " " b " "))
                    why = a " may include" (allowed == "" ? " its own folder" : allowed) "only"
            }
            if (from == "kernels" && to == "kernels" && split($1, who, "/") > 2 && split($2, what, "/") > 2 && who[2] != what[2]) {
                # A model knows the tank and what that stands on; the encoder knows views.
                allowed = who[2] == "device" || who[2] == "shapes" ? "" : who[2] == "grid" ? " device shapes " : \
                    who[2] == "tank" ? " device shapes grid " : who[2] == "stream" ? " device grid tank " : \
                    " device shapes grid tank "
                if (!index(allowed, " " what[2] " "))
                    why = "kernels/" who[2] " may include" (allowed == "" ? " its own folder" : allowed) "only"
                if (who[2] == "stream" && (what[2] == "tank" && what[3] != "view.h" || what[2] == "grid" && what[3] != "grid.h"))
                    why = "kernels/stream reads kernels/tank/view.h and nothing behind it"
            }
            if (part($1) == "server/gateway" && $2 ~ /^kernels\// && $2 != "kernels/tank.h")
                why = "the gateway runs no kernels; it knows kernels/tank.h for scenes"
            if (why != "") print $1 " includes \"" $2 "\": " why
        }'
}

# ---- folders ----

readmes() {
    printf '%s\n' "$all" | awk -F/ '
        NF > 1 && $1 !~ /^\./ { print $1 }
        NF > 2 && $1 ~ /^(kernels|protocol|server|tests)$/ { print $1 "/" $2 }' | sort -u | while read -r folder; do
        [ -f "$folder/README.md" ] || echo "$folder has no README.md"
    done
}

# ---- words ----

# This script names what it looks for, so its patterns are put together from pieces.
words() {
    pattern=$1
    why=$2
    # shellcheck disable=SC2086 # one word per file
    grep -HInE "$pattern" $(printf '%s\n' "$all" | grep -vE '^(LICENSE|tests/build/|web-client/package-lock\.json)') /dev/null |
        cut -c 1-160 | sed "s|\$| ($why)|"
}

machine_paths() {
    words '(^|[^A-Za-z0-9_.$}/-])/tmp/' 'a folder that not every machine has; ask for a temporary one' |
        grep -v '^tests/'
    words '(^|[^A-Za-z0-9_.$}/-])/(work|root|home|var/tmp)/' 'a path of one machine'
    words 'deb\.debian\.org|registry\.npmjs\.org|snapshot\.debian\.org|pypi\.org' 'a host that packages come from'
}

unfinished() {
    words '\b(TODO|FIXME|XXX|HACK)\b' 'unfinished'
}

# ---- what is linked ----

gateway_without_cuda() {
    program=build/release/bin/tarnd
    if readelf -d "$program" 2>/dev/null | grep -iE 'NEEDED.*(cuda|nvidia|cublas)'; then
        echo "$program is linked to CUDA, allowed is that the worker is"
    fi
    nm "$program" 2>/dev/null | awk '$NF ~ /^_*(cuda[A-Z]|cu[A-Z]|nv[A-Z]|tarn_device_create$|tarn_tank_step$)/ {
        print "'"$program"' holds the symbol " $NF ", allowed is that the worker does"; if (++n == 5) exit }'
}

# What cmake/options.cmake asks the compiler and the linker for, as the programs have it.
hardened() {
    for program in tarnd tarn-worker tarn; do
        file=build/release/bin/$program
        found=$(readelf -W -h -l -d --dyn-syms "$file")
        lacks() {
            printf '%s\n' "$found" | grep -qE "$1" || echo "$program lacks $2"
        }
        lacks 'Type: +DYN' 'a place that changes (PIE)'
        lacks 'GNU_STACK .* RW ' 'a stack that is no code'
        lacks 'GNU_RELRO' 'RELRO'
        lacks 'FLAGS\) +BIND_NOW' 'BIND_NOW, which makes RELRO full'
        lacks '__stack_chk_fail@' 'stack protectors'
        lacks '__(snprintf|memcpy|vsnprintf)_chk@' '_FORTIFY_SOURCE'
        # Debian's start files aren't made for CET, so that no program says it is: what is ours is looked at.
        [ "$(uname -m)" != x86_64 ] || objdump -d --disassemble=main --no-show-raw-insn "$file" |
            grep -A 1 '<main>:' | grep -q endbr64 || echo "$program lacks CET"
    done
}

# Files that call each other, however indirectly, by their objects' symbols: whoever uses nothing that is left goes.
gateway_circles() {
    find build/release/server/gateway/CMakeFiles -name '*.c.o' | while read -r object; do
        file=server/gateway/${object#*.dir/}
        file=${file%.o}
        [ ! -f "$file" ] || nm "$object" | awk -v file="$file" 'NF > 1 { print file, $(NF - 1), $NF }'
    done | awk '
        $2 ~ /^[TDBR]$/ { home[$3] = $1; left[$1] = 1 }
        $2 == "U" { uses[$1 " " $3] = 1 }
        END {
            do {
                gone = 0
                for (use in uses) {
                    split(use, names, " "); to = home[names[2]]
                    if (names[1] in left && to != names[1] && to in left) busy[names[1]] = to
                }
                for (file in left) if (!(file in busy)) { delete left[file]; gone = 1 }
                delete busy
            } while (gone)
            for (file in left) print file " is in a circle of calls, or calls into one"
        }' | sort
}

# Of what a folder's files export, how much one other file calls: a static that lost its home, or a door of a room to the
# one above it. The shares are bounds that fall, never rise.
exports() {
    find build/release/server build/release/kernels -name '*.c.o' -o -name '*.cu.o' | while read -r object; do
        file=${object#build/release/}
        file=$(printf '%s' "${file%%/CMakeFiles/*}/${file#*.dir/}" | sed 's|/__/|/../|g; s|\.o$||')
        [ ! -f "$file" ] || # an earlier tree's, or one that is made
            nm "$object" 2>/dev/null | awk -v file="$file" 'NF > 1 { print file, $(NF - 1), $NF }'
    done | awk '
        { split($1, path, "/"); folder = path[1] == "kernels" ? "kernels" : path[2] }
        $2 == "T" && $3 ~ /^[a-z_]+$/ { home[$3] = folder }
        $2 == "U" && !seen[$1, $3]++ { callers[$3]++ }
        END {
            for (name in home) { all[home[name]]++; if (callers[name] == 1) one[home[name]]++ }
            for (folder in all) print folder, all[folder], int(100 * one[folder] / all[folder] + 0.5)
        }' | sort
}

few_doors() {
    printf '%s\n' "$exported" | while read -r folder count share; do
        case $folder in
            gateway) most=81 ;;
            kernels) most=68 ;;
            log) most=72 ;;
            net) most=77 ;;
            tool) most=67 ;;
            worker) most=89 ;;
            *) most=40 ;;
        esac
        [ "$share" -le "$most" ] ||
            echo "$folder exports $count functions, of which one file calls $share %, allowed are $most %"
    done
}

# A reader who opens a file is told what it is and where to start.
openings() {
    printf '%s\n' "$all" | grep -E '^(kernels|protocol|server)/.*\.(c|cu)$' | while read -r file; do
        head -n 1 "$file" | grep -q '^// .' || echo "$file opens without a comment that says what it is"
    done
}

# What differs between devices has a form of its own for each (TILE_FORM), or is a helper in kernels/device.
one_source() {
    printf '%s\n' "$sources" | grep '^kernels/' | grep -v '^kernels/device/' | while read -r file; do
        ! grep -q '__CUDACC__' "$file" || echo "$file asks what it is compiled for, allowed is TILE_FORM"
    done
}

[ -n "$all" ] || { echo "not ok structure: no files found"; exit 1; }
includes_exist | verdict "includes are paths from the top folder"
directions | verdict "dependencies point from server to kernels to protocol"
openings | verdict "files open with what they are"
one_source | verdict "kernels are one source"
readmes | verdict "folders have a README"
machine_paths | verdict "no paths or hosts of a machine"
unfinished | verdict "nothing is marked as unfinished"
if [ -x build/release/bin/tarnd ]; then
    hardened | verdict "programs are hardened by each flag that cmake/options.cmake names"
    gateway_without_cuda | verdict "the gateway links no CUDA"
    gateway_circles | verdict "the gateway's files call each other in no circle"
    exported=$(exports)
    few_doors | verdict "exported functions that one file calls, in percent:$(printf '%s\n' "$exported" |
        awk '{ printf " %s %d of %d;", $1, $3, $2 }')"
else
    echo "skipped the gateway links no CUDA: build/release/bin/tarnd isn't built"
fi
