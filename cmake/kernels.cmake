# tarn_add_kernels(<target> <file.tile.c>...): adds kernel sources to a library in all their compiled forms: one for every
# instruction set of the CPU, and one for CUDA where that is compiled.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(TARN_ISAS v2 v3 v4)
else()
    set(TARN_ISAS v2)
endif()

# Kernels are the same source for each: where it is the source that is looked at, one will do for what takes long to
# compile.
set(TARN_ONE_ISA "" CACHE STRING "Instruction set that the liquid's kernels are compiled for: v2, v3, v4; empty: all")
if(NOT TARN_ONE_ISA STREQUAL "" AND NOT TARN_ONE_ISA MATCHES "^v[234]$")
    message(FATAL_ERROR "TARN_ONE_ISA: found \"${TARN_ONE_ISA}\", allowed are v2, v3, v4 and nothing")
endif()

function(tarn_add_kernels target)
    set(isas ${TARN_ISAS})
    if(TARN_ONE_ISA IN_LIST TARN_ISAS)
        set(isas ${TARN_ONE_ISA})
        target_compile_definitions(${target} PRIVATE TARN_ONE_ISA=${TARN_ONE_ISA})
    endif()
    set_property(TARGET ${target} PROPERTY TARN_KERNEL_ISAS ${isas}) # for tests/kernels
    set(sources "")
    foreach(source IN LISTS ARGN)
        cmake_path(ABSOLUTE_PATH source NORMALIZE)
        list(APPEND sources ${source})
    endforeach()
    set_property(TARGET ${target} PROPERTY TARN_KERNEL_SOURCES ${sources}) # for tests/kernels
    foreach(isa IN LISTS isas)
        set(object ${target}_${isa})
        add_library(${object} OBJECT ${ARGN})
        target_link_libraries(${object} PRIVATE tarn_options)
        target_compile_definitions(${object} PRIVATE TARN_TILE_ISA=${isa})
        # Unvectorised kernels are too slow to debug with. Sanitizers look at each access of the source, and would take
        # seven times as long to compile.
        if(NOT TARN_SANITIZE)
            target_compile_options(${object} PRIVATE -O3)
        elseif(CMAKE_C_COMPILER_ID STREQUAL "GNU")
            target_compile_options(${object} PRIVATE -fira-region=one) # or registers take three quarters of that time
        endif()
        # Rows of eight cross no calls, so that their ABI doesn't matter.
        target_compile_options(${object} PRIVATE -fno-trapping-math -Wno-unknown-pragmas -Wno-missing-prototypes
                               -Wno-psabi)
        if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
            target_compile_options(${object} PRIVATE -march=x86-64-${isa})
        endif()
        target_sources(${target} PRIVATE $<TARGET_OBJECTS:${object}>)
    endforeach()
    if(TARN_HAVE_CUDA)
        # A unit for each folder: they compile beside each other, and a chain needs its kernels in its own one.
        set(folders "")
        foreach(source IN LISTS sources)
            cmake_path(GET source PARENT_PATH folder)
            cmake_path(GET folder FILENAME folder)
            list(APPEND folders ${folder})
            # A name that is the same in every checkout lets ccache know the unit again.
            cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${TARN_ROOT})
            string(APPEND text_${folder} "#include \"${source}\"\n")
        endforeach()
        list(REMOVE_DUPLICATES folders)
        foreach(folder IN LISTS folders)
            set(unit ${CMAKE_CURRENT_BINARY_DIR}/${target}_${folder}.cu)
            file(CONFIGURE OUTPUT ${unit} CONTENT "${text_${folder}}")
            target_sources(${target} PRIVATE ${unit})
        endforeach()
    endif()
endfunction()
