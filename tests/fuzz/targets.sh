# What `run` and `long` share: sourced by both. Which targets there are, how they are built, and what each is started with.
#
#   names          of the targets, without fuzz_
#   fuzz_build     builds them in build/fuzz; exits with 77 where clang is missing
#   fuzz_start     NAME OPTION...: one of them, until an option ends it; its log goes to standard output and error
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/tests/fuzz
build=$root/build/fuzz
names='stream stream_lenient message token config ipc http post viewer mesh archive scene input input_log state session'

fuzz_build() {
    compiler=
    for candidate in ${TARN_FUZZ_CC:-clang-19 clang-16 clang-14 clang}; do
        if command -v "$candidate" >/dev/null 2>&1; then
            compiler=$candidate
            break
        fi
    done
    if [ -z "$compiler" ]; then
        echo "skipped: no clang (apt-get install clang-16)"
        exit 77
    fi
    mkdir -p "$build/findings"
    cd "$root"
    cmake --preset fuzz -DCMAKE_C_COMPILER="$compiler" >"$build/configure.log" 2>&1 || {
        cat "$build/configure.log" >&2
        exit 1
    }
    # shellcheck disable=SC2046,SC2086 # one word per target
    cmake --build "$build" --target $(printf 'fuzz_%s ' $names)
    # The names of fields and choices, which no fuzzer finds by chance.
    grep -oE '"[a-z0-9_#$-]+"' "$root/server/scenes/scene.schema.json" | sort -u | sed 's/.*/"\\&/; s/"$/\\""/' \
        >"$build/scene.dict"
    grep -oE '"[a-z0-9_$-]+"' "$root/deploy/tarnd.schema.json" | sort -u | sed 's/.*/"\\&/; s/"$/\\""/' >"$build/config.dict"
    printf '"%s"\n' 'element vertex' 'element face' 'property list ' 'property float ' vertex_index binary_big_endian \
        '\"nodes\":[' '\"children\":[' '\"matrix\":[' '\"rotation\":[' '\"byteStride\":' '\"byteOffset\":' '\"sparse\":' \
        EXT_mesh_gpu_instancing '\"TRANSLATION\":' '\"normalized\":true' '\"mode\":5' 'f 1 2 3 4 5 6' 'SOLID ' '\xef\xbb\xbf' \
        '\"scenes\":[' '\"skin\":' '\"targets\":' '\"uri\":' '\"extensionsRequired\":[' >"$build/mesh.dict"
    printf '"%s"\n' scene name listed worker true false null '{' '}' '\"' ':' ',' '\\u0000' '\\ud83d' >"$build/post.dict"
}

fuzz_start() {
    name=$1
    shift
    # New inputs go to the build tree; what is worth keeping is copied to corpus/ by hand.
    mkdir -p "$build/corpus/$name"
    set -- "$@" "$build/corpus/$name"
    [ ! -d "$here/corpus/$name" ] || set -- "$@" "$here/corpus/$name"
    case $name in
        state) set -- "$@" "$root/tests/tank/golden" ;;
        scene) set -- "$@" -max_len=8000 "$root/server/scenes" "-dict=$build/scene.dict" ;;
        config) set -- "$@" "-dict=$build/config.dict" ;;
        post) set -- "$@" "-dict=$build/post.dict" ;;
        # Some thirty acts. Neither these, nor requests, meshes or logs begin as the bytes of messages and frames do.
        viewer) set -- "$@" -max_len=80 ;;
        http) set -- "$@" -max_len=20000 ;; # beyond the largest head
        archive) set -- "$@" -max_len=6000 ;;
        mesh) set -- "$@" -max_len=2000 "-dict=$build/mesh.dict" ;;
        input_log) set -- "$@" -max_len=2000 ;;
        *) set -- "$@" "$root/tests/protocol/golden" ;;
    esac
    # What is freed is used again soon: touching fresh memory costs more than a run. Where memory was taken is kept by two
    # callers, since whole stacks cost half of taking it; a finding run again by itself shows them.
    # Those that have a tank write its seeds. A timeout is of the clock's time, of which a run gets little on a busy machine.
    TARN_FUZZ_SEEDS="$build/corpus/$name" ASAN_OPTIONS=quarantine_size_mb=8:malloc_context_size=2 "$build/tests/fuzz/fuzz_$name" \
        -timeout=30 -rss_limit_mb=1024 -print_final_stats=1 -max_len=40000 -artifact_prefix="$build/findings/$name-" "$@"
}
