// Which device a word opens, and what is said of GPUs that aren't used: on machines that are made up.
#include "server/base/device.h"
#include "tests/server/test_cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GPUS_MAX = 3, PATH_BYTES = 512 };

/// What CUDA would say. A GPU without a problem opens as a CPU with as many threads as its number and two.
static struct {
    int count;
    const char *problem[GPUS_MAX];
} machine;

int __wrap_tarn_device_count(tarn_device_kind kind);
void __wrap_tarn_device_cuda_problem(int index, char why[TARN_DEVICE_ERROR_BYTES]);
tarn_status __real_tarn_device_create(const tarn_device_desc *desc, tarn_device **device);
tarn_status __wrap_tarn_device_create(const tarn_device_desc *desc, tarn_device **device);

int __wrap_tarn_device_count(tarn_device_kind kind)
{
    return kind == TARN_DEVICE_CUDA ? machine.count : 1;
}

void __wrap_tarn_device_cuda_problem(int index, char why[TARN_DEVICE_ERROR_BYTES])
{
    const char *problem = index < GPUS_MAX ? machine.problem[index] : "there are fewer";
    snprintf(why, TARN_DEVICE_ERROR_BYTES, "%s", problem != NULL ? problem : "");
}

tarn_status __wrap_tarn_device_create(const tarn_device_desc *desc, tarn_device **device)
{
    if (desc->kind == TARN_DEVICE_CPU) {
        return __real_tarn_device_create(desc, device);
    }
    *device = NULL;
    if (desc->index >= machine.count || machine.problem[desc->index] != NULL) {
        return TARN_E_UNAVAILABLE;
    }
    const tarn_device_desc stand_in = {.kind = TARN_DEVICE_CPU, .threads = (uint32_t)desc->index + 2};
    return __real_tarn_device_create(&stand_in, device);
}

static void write_file(const char *root, const char *path, const char *text)
{
    char all[PATH_BYTES];
    snprintf(all, sizeof all, "%s/%s", root, path);
    for (char *at = all + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(all, 0755);
        *at = '/';
    }
    FILE *file = fopen(all, "w");
    assert_non_null(file);
    assert_int_not_equal(fputs(text, file), EOF);
    fclose(file);
}

static void make_root(char root[PATH_BYTES])
{
    const char *parent = getenv("TMPDIR");
    snprintf(root, PATH_BYTES, "%s/tarn-device-XXXXXX", parent != NULL ? parent : "/tmp");
    assert_non_null(mkdtemp(root));
}

static void remove_root(const char *root)
{
    char command[PATH_BYTES + 16];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    assert_int_equal(system(command), 0);
}

/// Opens a word on a machine with one thread for the CPU. @return the device's name, or "" where there is none
static const char *opened(const char *text, const char *root, char why[TARN_DEVICE_WHY_BYTES])
{
    static char name[TARN_DEVICE_NAME_BYTES];
    const tarn_device_desc cpu = {.kind = TARN_DEVICE_CPU, .threads = 1};
    tarn_device_word word;
    tarn_device *device;
    assert_true(tarn_device_word_read(text, strlen(text), &word));
    const tarn_status status = tarn_device_open(&word, &cpu, root, &device, why);
    assert_int_equal(status == TARN_OK, device != NULL);
    snprintf(name, sizeof name, "%s", device != NULL ? tarn_device_name(device) : "");
    tarn_device_destroy(device);
    return name;
}

static void expect(const char *text, const char *root, const char *name, const char *said)
{
    char why[TARN_DEVICE_WHY_BYTES];
    const char *found = opened(text, root, why);
    if (strncmp(found, name, strlen(name)) != 0 || (name[0] == '\0') != (found[0] == '\0')) {
        fail_msg("%s opens \"%s\", not \"%s\"", text, found, name);
    }
    if (said[0] == '\0' ? why[0] != '\0' : strstr(why, said) == NULL) {
        fail_msg("%s: \"%s\" does not say \"%s\"", text, why, said);
    }
}

static void test_a_gpu_is_seen_by_its_file_or_on_the_bus(void **state)
{
    (void)state;
    char root[PATH_BYTES], what[TARN_GPU_SEEN_BYTES];
    make_root(root);
    assert_false(tarn_gpu_seen(root, what));
    write_file(root, "sys/bus/pci/devices/0000:00:02.0/vendor", "0x8086\n"); // another maker's
    write_file(root, "sys/bus/pci/devices/0000:00:02.0/class", "0x030000\n");
    write_file(root, "sys/bus/pci/devices/0000:01:00.1/vendor", "0x10de\n"); // sound
    write_file(root, "sys/bus/pci/devices/0000:01:00.1/class", "0x040300\n");
    write_file(root, "dev/nvidiactl", "");
    assert_false(tarn_gpu_seen(root, what));
    write_file(root, "sys/bus/pci/devices/0000:41:00.0/vendor", "0x10de\n");
    write_file(root, "sys/bus/pci/devices/0000:41:00.0/class", "0x030200\n");
    assert_true(tarn_gpu_seen(root, what));
    assert_string_equal(what, "PCI device 0000:41:00.0");
    write_file(root, "dev/nvidia5", "");
    assert_true(tarn_gpu_seen(root, what));
    assert_string_equal(what, "/dev/nvidia5");
    remove_root(root);
}

static void test_auto_takes_the_first_gpu_that_can_be_used(void **state)
{
    (void)state;
    machine.count = 2;
    machine.problem[0] = NULL;
    expect("auto", "", "CPU, 2 threads", "");
    machine.problem[0] = "it is too old";
    expect("auto", "", "CPU, 3 threads", "cuda:1 is used, and cuda:0 isn't: it is too old");
    expect("cuda:1", "", "CPU, 3 threads", "");
}

static void test_auto_says_why_it_takes_the_cpu_where_a_gpu_is(void **state)
{
    (void)state;
    char root[PATH_BYTES];
    make_root(root);
    machine.count = 1;
    machine.problem[0] = "it is too old";
    expect("auto", root, "CPU, 1 thread", "(cuda:0), which isn't used: it is too old");
    machine.count = 0;
    machine.problem[0] = "no driver";
    expect("auto", root, "CPU, 1 thread", "");
    write_file(root, "dev/nvidia0", "");
    expect("auto", root, "CPU, 1 thread", "(/dev/nvidia0), which isn't used: no driver");
    expect("cpu", root, "CPU, 1 thread", "");
    setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
    expect("auto", root, "CPU, 1 thread", "no driver; CUDA_VISIBLE_DEVICES is \"-1\"");
    expect("cuda", root, "", "no driver; CUDA_VISIBLE_DEVICES is \"-1\"");
    unsetenv("CUDA_VISIBLE_DEVICES");
    remove_root(root);
}

static void test_a_gpu_that_was_asked_for_is_refused_with_the_reason(void **state)
{
    (void)state;
    char root[PATH_BYTES];
    make_root(root);
    machine.count = 1;
    machine.problem[0] = "it is too old";
    expect("cuda", root, "", "--device cuda:0: it is too old; allowed is cpu");
    expect("cuda:7", root, "", "--device cuda:7: there are fewer; allowed is cpu");
    machine.count = 0;
    machine.problem[0] = "no driver";
    expect("cuda", root, "", "no driver");
    write_file(root, "dev/nvidia0", "");
    expect("cuda", root, "", "--device cuda:0: no driver; allowed is cpu");
    remove_root(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_gpu_is_seen_by_its_file_or_on_the_bus),
        cmocka_unit_test(test_auto_takes_the_first_gpu_that_can_be_used),
        cmocka_unit_test(test_auto_says_why_it_takes_the_cpu_where_a_gpu_is),
        cmocka_unit_test(test_a_gpu_that_was_asked_for_is_refused_with_the_reason),
    };
    return cmocka_run_group_tests_name("opening a device", tests, NULL, NULL);
}
