# Flags of every target of ours: link tarn_options.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
# Names and lines, for who looks at a crash. Where variables lie would take half as long again to compile, of the same code;
# the presets to debug with have it.
set(CMAKE_C_FLAGS_RELEASE "-O3 -g1")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g3")

cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH TARN_ROOT) # also when another project includes this: tests/gpu
add_library(tarn_options INTERFACE)
target_include_directories(tarn_options INTERFACE ${TARN_ROOT})
# A compiler newer than ours warns of more: that ends the tests' build, never a user's.
set(TARN_WARNINGS_FAIL OFF CACHE BOOL "Warnings are errors")
target_compile_options(tarn_options INTERFACE
    $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla>
    $<$<AND:$<COMPILE_LANGUAGE:C>,$<BOOL:${TARN_WARNINGS_FAIL}>>:-Werror>
    # The same bits everywhere: no contraction into fused multiply-add that nobody wrote.
    $<$<COMPILE_LANGUAGE:C>:-ffp-contract=off -fno-math-errno -fvisibility=hidden>)
target_compile_definitions(tarn_options INTERFACE _GNU_SOURCE TARN_VERSION="${PROJECT_VERSION}")
if(TARN_SANITIZE)
    # Places and names are all that a report says; where variables lie takes longer to compute than the code.
    target_compile_options(tarn_options INTERFACE -g1)
    target_compile_options(tarn_options INTERFACE -fsanitize=${TARN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(tarn_options INTERFACE -fsanitize=${TARN_SANITIZE})
endif()

# For what reads other people's bytes: all of server/ and protocol/, and the kernels' host code. Kernels themselves read
# and write arrays whose sizes they are given, and every microsecond of a step is theirs. Sanitizers have checks of their
# own, and refuse to go with some of these.
add_library(tarn_hardened INTERFACE)
if(NOT TARN_SANITIZE)
    include(CheckCCompilerFlag)
    include(CheckCSourceCompiles)
    check_c_source_compiles("#if !__has_builtin(__builtin_dynamic_object_size)\n#error\n#endif\nint main(void) { return 0; }"
        TARN_HAS_FORTIFY_3)
    check_c_compiler_flag(-fcf-protection=full TARN_HAS_CF_PROTECTION) # of x86: CET
    check_c_compiler_flag(-fstack-clash-protection TARN_HAS_STACK_CLASH)
    set(fortify 2)
    if(TARN_HAS_FORTIFY_3)
        set(fortify 3)
    endif()
    target_compile_options(tarn_hardened INTERFACE
        $<$<COMPILE_LANGUAGE:C>:-fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${fortify}>
        $<$<AND:$<COMPILE_LANGUAGE:C>,$<BOOL:${TARN_HAS_CF_PROTECTION}>>:-fcf-protection=full>
        $<$<AND:$<COMPILE_LANGUAGE:C>,$<BOOL:${TARN_HAS_STACK_CLASH}>>:-fstack-clash-protection>)
endif()
# Programs lie anywhere (PIE), and nothing that is written to when they start stays writable: full RELRO takes BIND_NOW. No
# stack is code.
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
target_link_options(tarn_options INTERFACE LINKER:-z,relro,-z,now,-z,noexecstack)
