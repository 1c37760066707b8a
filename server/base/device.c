// From a word for a device to the device. Begin at tarn_device_open.
//
// CUDA counts no GPU whether there is none, no driver, or one that is too old. Where it can't say that a GPU is there,
// the driver's file or the PCI bus does: who bought one wants to know why it isn't used.
#include "server/base/device.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// Whether a file of the PCI bus begins with a text.
static bool pci_says(const char *root, const char *device, const char *file, const char *beginning)
{
    char path[PATH_MAX], found[16] = "";
    snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%.64s/%s", root, device, file);
    FILE *stream = fopen(path, "r");
    if (stream == NULL) {
        return false;
    }
    const bool is_read = fgets(found, sizeof found, stream) != NULL;
    fclose(stream);
    return is_read && strncmp(found, beginning, strlen(beginning)) == 0;
}

static bool seen_on_pci(const char *root, char what[TARN_GPU_SEEN_BYTES])
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/sys/bus/pci/devices", root);
    DIR *folder = opendir(path);
    bool is_seen = false;
    for (const struct dirent *entry; !is_seen && folder != NULL && (entry = readdir(folder)) != NULL;) {
        // NVIDIA's; a display controller of any kind.
        if (pci_says(root, entry->d_name, "vendor", "0x10de") && pci_says(root, entry->d_name, "class", "0x03")) {
            snprintf(what, TARN_GPU_SEEN_BYTES, "PCI device %.32s", entry->d_name);
            is_seen = true;
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return is_seen;
}

bool tarn_gpu_seen(const char *root, char what[TARN_GPU_SEEN_BYTES])
{
    for (int i = 0; i < TARN_DEVICE_GPUS_MAX; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/dev/nvidia%d", root, i);
        if (access(path, F_OK) == 0) {
            snprintf(what, TARN_GPU_SEEN_BYTES, "/dev/nvidia%d", i);
            return true;
        }
    }
    return seen_on_pci(root, what);
}

/// Why CUDA doesn't use a GPU, and what hides it from CUDA where that finds none.
static void say_problem(int index, int count, char problem[TARN_DEVICE_ERROR_BYTES])
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    tarn_device_cuda_problem(index, problem);
    const size_t used = strlen(problem);
    if (count == 0 && visible != NULL) {
        snprintf(problem + used, TARN_DEVICE_ERROR_BYTES - used, "; CUDA_VISIBLE_DEVICES is \"%.16s\"", visible);
    }
}

/// The first GPU that can be used. Where there is none, *device is NULL, and `why` says so if one is there; else `why`
/// says why the first one isn't used, if it isn't.
static void open_any_gpu(const char *root, tarn_device **device, char why[TARN_DEVICE_WHY_BYTES])
{
    char seen[TARN_GPU_SEEN_BYTES], problem[TARN_DEVICE_ERROR_BYTES];
    const int count = tarn_device_count(TARN_DEVICE_CUDA);
    int tried = 0;
    *device = NULL;
    for (; tried < count && *device == NULL; tried++) {
        const tarn_device_desc gpu = {.kind = TARN_DEVICE_CUDA, .index = tried};
        (void)tarn_device_create(&gpu, device);
    }
    why[0] = '\0';
    if (*device != NULL && tried > 1) {
        say_problem(0, count, problem);
        snprintf(why, TARN_DEVICE_WHY_BYTES, "cuda:%d is used, and cuda:0 isn't: %.180s", tried - 1, problem);
    } else if (*device == NULL && (tarn_gpu_seen(root, seen) || count > 0)) {
        say_problem(0, count, problem);
        snprintf(why, TARN_DEVICE_WHY_BYTES, "there is a GPU (%s), which isn't used: %.150s",
                 count > 0 ? "cuda:0" : seen, problem);
    }
}

static void say_no_gpu(const tarn_device_word *word, const char *root, char why[TARN_DEVICE_WHY_BYTES])
{
    char name[TARN_DEVICE_WORD_BYTES], seen[TARN_GPU_SEEN_BYTES], problem[TARN_DEVICE_ERROR_BYTES];
    tarn_device_word_write(word, name);
    const int count = tarn_device_count(TARN_DEVICE_CUDA);
    say_problem((int)word->index, count, problem);
    if (count > 0 || !tarn_device_has_cuda() || tarn_gpu_seen(root, seen)) {
        snprintf(why, TARN_DEVICE_WHY_BYTES, "--device %s: %.180s; allowed is cpu", name, problem);
    } else {
        snprintf(why, TARN_DEVICE_WHY_BYTES, "--device %s: this machine has no GPU (%.150s); allowed is cpu", name,
                 problem);
    }
}

tarn_status tarn_device_open(const tarn_device_word *word, const tarn_device_desc *cpu, const char *root,
                             tarn_device **device, char why[TARN_DEVICE_WHY_BYTES])
{
    tarn_device_desc desc = *cpu;
    why[0] = '\0';
    if (word->choice == TARN_DEVICE_CHOOSE_CUDA) {
        desc = (tarn_device_desc){.kind = TARN_DEVICE_CUDA, .index = (int)word->index};
    } else if (word->choice == TARN_DEVICE_CHOOSE_AUTO) {
        open_any_gpu(root, device, why);
        if (*device != NULL) {
            return TARN_OK;
        }
    }
    const tarn_status status = tarn_device_create(&desc, device);
    if (status != TARN_OK && desc.kind == TARN_DEVICE_CUDA) {
        say_no_gpu(word, root, why);
    } else if (status == TARN_E_UNAVAILABLE && desc.isa != NULL) {
        snprintf(why, TARN_DEVICE_WHY_BYTES,
                 "--isa %.16s: not available in this build or on this processor, allowed is a lower level", desc.isa);
    } else if (status != TARN_OK) {
        snprintf(why, TARN_DEVICE_WHY_BYTES, "the CPU device cannot be opened: %s", tarn_status_text(status));
    }
    return status;
}
