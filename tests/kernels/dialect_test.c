// The kernel dialect on every instruction set that this processor has, with 1, 2 and 8 threads, and on CUDA.
#include "tests/kernels/dialect_checks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// Running out of memory is a case that is tested: the sanitizers' allocators are to return NULL as well. They look the
// functions up by name.
__attribute__((visibility("default"))) const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__tsan_default_options(void);

const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}

typedef struct dialect_case {
    const dialect_check *check;
    tarn_device_desc desc;
    char name[128];
} dialect_case;

enum { CASES_MAX = 1024, TEXT_BYTES_MAX = 65536 };

static void run_case(void **state)
{
    const dialect_case *c = *state;
    tarn_device *device;
    assert_int_equal(tarn_device_create(&c->desc, &device), TARN_OK);
    const int result = dialect_check_run(c->check, device);
    tarn_device_destroy(device);
    if (result != 0) {
        fail_msg("%s", dialect_check_message());
    }
}

static void run_without_cuda(void **state)
{
    (void)state;
    print_message("skipped: %s\n", tarn_device_has_cuda() ? "no CUDA device" : "built without CUDA");
    skip();
}

/// What graphs and chains of some GPUs can't do.
static const char *const without[] = {"", ", unrolled", ", no chains", ", unrolled, no chains"};
enum { WITHOUT_COUNT = sizeof without / sizeof without[0] };
_Static_assert((TARN_DEVICE_WITHOUT_LOOPS | TARN_DEVICE_WITHOUT_CHAINS) + 1 == WITHOUT_COUNT, "by their bits");

static uint32_t add_cases(dialect_case *cases, uint32_t count, tarn_device_desc desc)
{
    tarn_device *device;
    if (tarn_device_create(&desc, &device) != TARN_OK) { // an instruction set that this processor doesn't have
        return count;
    }
    for (uint32_t i = 0; i < dialect_check_count && count < CASES_MAX; i++) {
        dialect_case *c = &cases[count++];
        *c = (dialect_case){.check = &dialect_checks[i], .desc = desc};
        snprintf(c->name, sizeof c->name, "%.60s%s: %s", tarn_device_name(device), without[desc.without],
                 dialect_checks[i].name);
    }
    tarn_device_destroy(device);
    return count;
}

/// The comment's example and the tested one are the same, line by line.
static void example_in_the_manual_is_the_tested_one(void **state)
{
    (void)state;
    static char manual[TEXT_BYTES_MAX], tested[TEXT_BYTES_MAX];
    const char *const paths[] = {TARN_TEST_SOURCES "/kernels/device/tile.h", TARN_TEST_SOURCES "/tests/kernels/saxpy.h",
                                 TARN_TEST_SOURCES "/tests/kernels/saxpy.tile.c"};
    size_t used = 0;
    for (int i = 0; i < 3; i++) {
        FILE *file = fopen(paths[i], "r");
        assert_non_null(file);
        if (i == 0) {
            (void)!fread(manual, 1, sizeof manual - 1, file);
        } else {
            used += fread(tested + used, 1, sizeof tested - 1 - used, file);
        }
        fclose(file);
    }
    const char *at = strstr(manual, "///     struct saxpy_args {"), *found = tested;
    const char *end = strstr(manual, "/// The host launches it");
    assert_non_null(at);
    assert_non_null(end);
    while (at < end) {
        const char *line_end = strchr(at, '\n');
        char line[256];
        if (line_end - at > 8) { // more than the comment's own "///     "
            snprintf(line, sizeof line, "%.*s\n", (int)(line_end - at - 8), at + 8);
            found = strstr(found, line);
            if (found == NULL) {
                fail_msg("tests/kernels/saxpy doesn't have this line of tile.h: %s", line);
            }
            found += strlen(line);
        }
        at = line_end + 1;
    }
}

int main(void)
{
    static dialect_case cases[CASES_MAX];
    static struct CMUnitTest tests[CASES_MAX + 2];
    static const char *const isas[] = {"v2", "v3", "v4"};
    static const uint32_t threads[] = {1, 2, 8};
    uint32_t count = 0;
    for (int isa = 0; isa < 3; isa++) {
        for (int t = 0; t < 3; t++) {
            count = add_cases(cases, count,
                              (tarn_device_desc){.kind = TARN_DEVICE_CPU, .isa = isas[isa], .threads = threads[t]});
        }
    }
    for (int gpu = 0; gpu < tarn_device_count(TARN_DEVICE_CUDA); gpu++) {
        count = add_cases(cases, count, (tarn_device_desc){.kind = TARN_DEVICE_CUDA, .index = gpu});
    }
    for (uint32_t bits = 1; bits < WITHOUT_COUNT && tarn_device_count(TARN_DEVICE_CUDA) > 0; bits++) {
        count = add_cases(cases, count, (tarn_device_desc){.kind = TARN_DEVICE_CUDA, .without = bits});
    }
    for (uint32_t i = 0; i < count; i++) {
        tests[i] = (struct CMUnitTest){cases[i].name, run_case, NULL, NULL, &cases[i]};
    }
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(example_in_the_manual_is_the_tested_one);
    if (tarn_device_count(TARN_DEVICE_CUDA) == 0) {
        tests[count++] = (struct CMUnitTest){"dialect on CUDA", run_without_cuda, NULL, NULL, NULL};
    }
    return _cmocka_run_group_tests("dialect", tests, count, NULL, NULL);
}
