// Shadow memory of device and shared memory, and what the compiler calls at every access. Begin at `access`.
//
// Blocks run one after the other, and each of its lanes until its next barrier, so that one number orders all of it:
// the epoch, which begins anew with every launch, block and barrier of a block. For each word, the last epoch of its
// writes, reads and atomics is kept, and which lanes those were.
#include "tests/kernels/races.h"

#include "tests/kernels/cuda_on_cpu.h"
#include "tests/kernels/emulated_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

extern "C" const char __executable_start[];

namespace {

// Address space alone: pages that nobody touches take no memory.
constexpr size_t ARENA_BYTES = size_t{4} << 30, GRANULE_BYTES = 256, SHARED_BYTES_MAX = 4 << 20;
constexpr size_t WORD_BYTES = 4;
constexpr uint16_t MANY = 0xffff, MANY_OF_WARP = 0x8000; // ... plus the warp's number; below them one lane
constexpr uint32_t WARPS_MAX = 32;

enum class act : uint8_t { read, write, load, atomic }; // load: an atomic read; atomic: one that writes

/// Accesses of one kind in the same epoch.
struct record {
    uint32_t epoch;
    uint32_t place; // in the program, of the last of them
    uint16_t lanes;
    uint16_t warp_epoch; // of the last of them
};

/// Of those that went before it behind a barrier: only to tell whether that is needed.
struct older {
    uint32_t epoch;
    uint16_t lanes;
};

struct cell {
    record write, read, load, atomic;
    older older_read, older_load, older_atomic;
    uint32_t other_read, other_load, other_atomic; // epochs of the last ones by another tile
    bool is_split;                                 // of a word's first byte: the others have cells of their own
};

struct barrier_less {
    bool operator()(const race_barrier *a, const race_barrier *b) const
    {
        const int order = a->file == b->file ? 0 : std::string(a->file).compare(b->file);
        return order != 0 ? order < 0 : a->line < b->line;
    }
};

struct finding {
    race_kind kind;
    act before, now;
    uint32_t place_before, place_now;
    std::string kernel;
    uint32_t lane;
};

/// Bytes of device memory.
struct traffic {
    uint64_t read, written;
};

uint8_t *reserve(size_t bytes)
{
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        perror("address space of the races' shadow");
        abort();
    }
    return static_cast<uint8_t *>(memory);
}

/// A range of memory that is looked at, its words' cells, and those of their other bytes.
struct watched {
    uintptr_t begin, end;
    cell *words, *bytes;
};

watched watch_range(uintptr_t begin, size_t bytes)
{
    const size_t words = bytes / WORD_BYTES + 1;
    return {begin, begin + bytes, reinterpret_cast<cell *>(reserve(words * sizeof(cell))),
            reinterpret_cast<cell *>(reserve(words * 3 * sizeof(cell)))};
}

watched device, shared;
uint16_t *granule_bytes; // how many of each granule's first bytes are taken
size_t arena_used;
std::map<uintptr_t, size_t> taken; // granules of what isn't freed, by where it begins

std::string kernel_name;
uint32_t epoch = 1, launch_epoch = 1, block_epoch = 1;
uint32_t warp_epochs[WARPS_MAX];
race_barrier *last_barrier; // that ended the epoch before this one
uint32_t alone_since;       // the first epoch that nothing but this barrier, perhaps several times, parts from this one
race_barrier barriers[RACES_BARRIERS_MAX];
uint32_t barrier_count;
std::map<std::pair<const char *, int>, race_barrier *> barrier_at;
std::map<std::string, traffic> traffic_of;
traffic *traffic_now;
std::vector<finding> findings;
std::map<std::pair<uint64_t, int>, bool> found;

void report(race_kind kind, act before, uint32_t place_before, act now, uint32_t place_now)
{
    const uint64_t places = (uint64_t)place_before << 32 | place_now;
    if (findings.size() < RACES_KINDS_MAX && !found[{places, kind}]) {
        found[{places, kind}] = true;
        findings.push_back({kind, before, now, place_before, place_now, kernel_name, threadIdx.x});
    }
}

/// Whether lanes of a record of this epoch may run at the same time as this one.
bool is_unordered(const record &r, uint32_t self)
{
    const uint32_t warp = self / 32;
    if (r.lanes == self || r.lanes == MANY) {
        return r.lanes == MANY;
    }
    const bool is_of_warp = (r.lanes & MANY_OF_WARP) != 0 ? (r.lanes & ~MANY_OF_WARP) == warp : r.lanes / 32u == warp;
    return !is_of_warp || r.warp_epoch == warp_epochs[warp];
}

/// An access against those of another kind that went before.
void compare(const record &before, act what, act now, uint32_t place, bool is_shared)
{
    if (before.epoch < launch_epoch || (is_shared && before.epoch < block_epoch)) {
        return;
    }
    if (before.epoch < block_epoch) {
        report(RACE_TILES, what, before.place, now, place);
    } else if (before.epoch == epoch) {
        if (is_unordered(before, threadIdx.x)) {
            report(RACE_LANES, what, before.place, now, place);
        }
    } else if (before.epoch >= alone_since && before.lanes != threadIdx.x) {
        last_barrier->is_needed = true;
    }
}

void compare_older(const older &before, uint32_t other, act what, act now, uint32_t place, bool is_shared)
{
    if (before.epoch >= block_epoch && before.epoch >= alone_since && before.epoch < epoch &&
        before.lanes != threadIdx.x) {
        last_barrier->is_needed = true;
    }
    if (!is_shared && other >= launch_epoch && other < block_epoch) {
        report(RACE_TILES, what, 0, now, place);
    }
}

void add(record &r, older *before, uint32_t *other, uint32_t place)
{
    const uint16_t self = (uint16_t)threadIdx.x, warp = self / 32;
    if (r.epoch != epoch) {
        if (other != nullptr && r.epoch >= launch_epoch && r.epoch < block_epoch) {
            *other = r.epoch;
        }
        if (before != nullptr && r.epoch >= block_epoch) {
            *before = {r.epoch, r.lanes};
        }
        r.lanes = self;
    } else if (r.lanes != self) {
        const bool is_of_warp = r.lanes != MANY && ((r.lanes & MANY_OF_WARP) != 0 ? (r.lanes & ~MANY_OF_WARP) == warp
                                                                                  : r.lanes / 32 == warp);
        // What the warp's barrier has ordered need not be known any longer.
        r.lanes = !is_of_warp ? MANY : r.warp_epoch < warp_epochs[warp] ? self : (uint16_t)(MANY_OF_WARP | warp);
    }
    r.epoch = epoch;
    r.place = place;
    r.warp_epoch = (uint16_t)warp_epochs[warp];
}

void count_bytes(const cell &c, act now, uint32_t bytes)
{
    const bool is_written = c.write.epoch >= launch_epoch || c.atomic.epoch >= launch_epoch;
    const bool is_read = c.read.epoch >= launch_epoch || c.load.epoch >= launch_epoch;
    traffic_now->read += now != act::write && !is_written && !is_read ? bytes : 0;
    traffic_now->written += (now == act::write || now == act::atomic) && !is_written ? bytes : 0;
}

void access_cell(cell &c, act now, uint32_t place, bool is_shared)
{
    if (is_shared && now != act::write && c.write.epoch < block_epoch && c.atomic.epoch < block_epoch) {
        report(RACE_UNWRITTEN, now, 0, now, place);
    }
    compare(c.write, act::write, now, place, is_shared);
    if (now == act::write || now == act::atomic) {
        compare(c.read, act::read, now, place, is_shared);
        compare_older(c.older_read, c.other_read, act::read, now, place, is_shared);
    }
    if (now == act::write || now == act::read) {
        compare(c.atomic, act::atomic, now, place, is_shared);
        compare_older(c.older_atomic, c.other_atomic, act::atomic, now, place, is_shared);
    }
    if (now == act::write) {
        compare(c.load, act::load, now, place, is_shared);
        compare_older(c.older_load, c.other_load, act::load, now, place, is_shared);
        add(c.write, nullptr, nullptr, place);
    } else if (now == act::read) {
        add(c.read, &c.older_read, &c.other_read, place);
    } else if (now == act::load) {
        add(c.load, &c.older_load, &c.other_load, place);
    } else {
        add(c.atomic, &c.older_atomic, &c.other_atomic, place);
    }
}

void access_watched(const watched &w, uintptr_t at, size_t bytes, act now, uint32_t place)
{
    const bool is_shared = &w == &shared;
    const uintptr_t end = at + bytes;
    while (at < end) {
        const size_t word = (at - w.begin) / WORD_BYTES, byte = (at - w.begin) % WORD_BYTES;
        const size_t count = std::min<size_t>(WORD_BYTES - byte, end - at);
        cell &first = w.words[word], *others = w.bytes + 3 * word;
        if (count < WORD_BYTES && !first.is_split) {
            std::fill(others, others + 3, first);
            first.is_split = true;
        }
        if (!first.is_split) {
            if (!is_shared) {
                count_bytes(first, now, WORD_BYTES);
            }
            access_cell(first, now, place, is_shared);
        }
        for (size_t i = byte; first.is_split && i < byte + count; i++) {
            cell &c = i == 0 ? first : others[i - 1];
            if (!is_shared) {
                count_bytes(c, now, 1);
            }
            access_cell(c, now, place, is_shared);
        }
        at += count;
    }
}

bool is_taken(uintptr_t at, size_t bytes)
{
    const size_t last = at + bytes - 1 - device.begin;
    return granule_bytes[last / GRANULE_BYTES] > last % GRANULE_BYTES &&
           granule_bytes[(at - device.begin) / GRANULE_BYTES] > (at - device.begin) % GRANULE_BYTES;
}

void access(const void *memory, size_t bytes, act now, const void *from)
{
    const uintptr_t at = reinterpret_cast<uintptr_t>(memory);
    const uint32_t place = (uint32_t)(static_cast<const char *>(from) - __executable_start);
    if (bytes == 0) {
        return;
    }
    if (at >= device.begin && at < device.end) {
        if (is_taken(at, bytes)) {
            access_watched(device, at, bytes, now, place);
        } else {
            report(RACE_BOUNDS, now, 0, now, place);
        }
    } else if (at >= shared.begin && at < shared.end) {
        access_watched(shared, at, bytes, now, place);
    }
}

race_barrier *barrier_of(const char *file, int line)
{
    race_barrier *&barrier = barrier_at[{file, line}];
    if (barrier == nullptr) {
        if (barrier_count == RACES_BARRIERS_MAX) {
            fprintf(stderr, "more than %d barriers\n", RACES_BARRIERS_MAX);
            abort();
        }
        barrier = &barriers[barrier_count++];
        *barrier = {file, line, 0, false};
    }
    return barrier;
}

void begin_epoch()
{
    if (++epoch == 0) {
        fprintf(stderr, "more barriers than a run of the races has numbers for\n");
        abort();
    }
    std::fill(warp_epochs, warp_epochs + WARPS_MAX, 0u);
}

/// Which line of the source a place in the program is, and what it was inlined into.
std::string line_of(uint32_t place)
{
    char command[256], line[512];
    std::string text;
    if (place == 0) {
        return "an earlier tile";
    }
    // The call's own line: the place is where it returns to.
    snprintf(command, sizeof command, "addr2line -i -s -e /proc/%ld/exe 0x%x", (long)getpid(), place - 1);
    FILE *lines = popen(command, "r");
    while (lines != nullptr && fgets(line, sizeof line, lines) != nullptr) {
        line[strcspn(line, " \n")] = '\0';
        text += text.empty() ? line : std::string(" < ") + line;
    }
    if (lines != nullptr) {
        pclose(lines);
    }
    return text;
}

} // namespace

// ------------------------------------------------------------------------------------------------- the emulated device

bool watch_is_on()
{
    return true;
}

void watch_launch(const char *kernel)
{
    kernel_name = kernel;
    traffic_now = &traffic_of[kernel];
    begin_epoch();
    launch_epoch = epoch;
}

void watch_block(unsigned char *memory, size_t bytes)
{
    if (shared.begin == 0) {
        shared = watch_range(reinterpret_cast<uintptr_t>(memory), bytes);
    }
    begin_epoch();
    block_epoch = alone_since = epoch;
    last_barrier = nullptr;
}

void watch_block_barrier(const char *file, int line)
{
    race_barrier *barrier = barrier_of(file, line);
    if (barrier != last_barrier) {
        alone_since = epoch;
        last_barrier = barrier;
    }
    barrier->crossed++;
    begin_epoch();
}

void watch_warp_barrier(uint32_t warp)
{
    if (++warp_epochs[warp] > UINT16_MAX) {
        fprintf(stderr, "more barriers of a warp than there are numbers for\n");
        abort();
    }
}

void watch_last_tile()
{
    launch_epoch = block_epoch;
}

void *watch_take(size_t bytes)
{
    if (device.begin == 0) {
        device = watch_range(reinterpret_cast<uintptr_t>(reserve(ARENA_BYTES)), ARENA_BYTES);
        granule_bytes = reinterpret_cast<uint16_t *>(reserve(ARENA_BYTES / GRANULE_BYTES * sizeof *granule_bytes));
    }
    const size_t granules = bytes / GRANULE_BYTES + 2; // the last one belongs to nobody
    if (granules > (ARENA_BYTES - arena_used) / GRANULE_BYTES) {
        return nullptr;
    }
    const size_t first = arena_used / GRANULE_BYTES;
    for (size_t i = 0; i < granules; i++) {
        const size_t before = i * GRANULE_BYTES;
        granule_bytes[first + i] = (uint16_t)(before < bytes ? std::min(bytes - before, GRANULE_BYTES) : 0);
    }
    arena_used += granules * GRANULE_BYTES;
    const uintptr_t at = device.begin + first * GRANULE_BYTES;
    taken[at] = granules;
    return reinterpret_cast<void *>(at);
}

/// As far as it ends with a granule: one keeps its first bytes alone.
void watch_bar(void *memory, size_t bytes)
{
    const size_t begin = reinterpret_cast<uintptr_t>(memory) - device.begin, end = begin + bytes;
    for (size_t granule = begin / GRANULE_BYTES; granule < end / GRANULE_BYTES; granule++) {
        const size_t kept = granule * GRANULE_BYTES < begin ? begin % GRANULE_BYTES : 0;
        granule_bytes[granule] = (uint16_t)std::min<size_t>(granule_bytes[granule], kept);
    }
}

// Freed memory isn't given out again before all of it is free.
void watch_give(void *memory)
{
    const auto found = taken.find(reinterpret_cast<uintptr_t>(memory));
    if (found == taken.end()) {
        return;
    }
    std::fill_n(granule_bytes + (found->first - device.begin) / GRANULE_BYTES, found->second, uint16_t{0});
    taken.erase(found);
    if (taken.empty()) {
        const size_t words = arena_used / WORD_BYTES;
        madvise(reinterpret_cast<void *>(device.begin), arena_used, MADV_DONTNEED);
        madvise(device.words, words * sizeof(cell), MADV_DONTNEED);
        madvise(device.bytes, 3 * words * sizeof(cell), MADV_DONTNEED);
        arena_used = 0;
    }
}

// --------------------------------------------------------------------------------------------------------- the
// compiler

#define FROM __builtin_return_address(0)
#define ACCESSES(size)                                                                                                 \
    void __tsan_read##size(void *at)                                                                                   \
    {                                                                                                                  \
        access(at, size, act::read, FROM);                                                                             \
    }                                                                                                                  \
    void __tsan_write##size(void *at)                                                                                  \
    {                                                                                                                  \
        access(at, size, act::write, FROM);                                                                            \
    }                                                                                                                  \
    void __tsan_unaligned_read##size(void *at)                                                                         \
    {                                                                                                                  \
        access(at, size, act::read, FROM);                                                                             \
    }                                                                                                                  \
    void __tsan_unaligned_write##size(void *at)                                                                        \
    {                                                                                                                  \
        access(at, size, act::write, FROM);                                                                            \
    }                                                                                                                  \
    void __tsan_volatile_read##size(void *at) /* global_load_u32 */                                                    \
    {                                                                                                                  \
        access(at, size, act::load, FROM);                                                                             \
    }                                                                                                                  \
    void __tsan_volatile_write##size(void *at) /* global_store_u32 */                                                  \
    {                                                                                                                  \
        access(at, size, act::atomic, FROM);                                                                           \
    }
#define ATOMICS(bits)                                                                                                  \
    uint##bits##_t __tsan_atomic##bits##_load(uint##bits##_t *at, int)                                                 \
    {                                                                                                                  \
        access(at, sizeof *at, act::load, FROM);                                                                       \
        return *at;                                                                                                    \
    }                                                                                                                  \
    void __tsan_atomic##bits##_store(uint##bits##_t *at, uint##bits##_t value, int)                                    \
    {                                                                                                                  \
        access(at, sizeof *at, act::atomic, FROM);                                                                     \
        *at = value;                                                                                                   \
    }                                                                                                                  \
    uint##bits##_t __tsan_atomic##bits##_fetch_add(uint##bits##_t *at, uint##bits##_t value, int)                      \
    {                                                                                                                  \
        access(at, sizeof *at, act::atomic, FROM);                                                                     \
        const uint##bits##_t before = *at;                                                                             \
        *at = before + value;                                                                                          \
        return before;                                                                                                 \
    }                                                                                                                  \
    uint##bits##_t __tsan_atomic##bits##_fetch_or(uint##bits##_t *at, uint##bits##_t value, int)                       \
    {                                                                                                                  \
        access(at, sizeof *at, act::atomic, FROM);                                                                     \
        const uint##bits##_t before = *at;                                                                             \
        *at = before | value;                                                                                          \
        return before;                                                                                                 \
    }

extern "C" {
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)
ATOMICS(32)
ATOMICS(64)

void __tsan_init()
{
}

// What memcpy and memset of the kernels are called or renamed to.
void *__tsan_memcpy(void *to, const void *from, size_t bytes)
{
    access(from, bytes, act::read, FROM);
    access(to, bytes, act::write, FROM);
    return memcpy(to, from, bytes);
}

void *__tsan_memset(void *to, int value, size_t bytes)
{
    access(to, bytes, act::write, FROM);
    return memset(to, value, bytes);
}

// ------------------------------------------------------------------------------------------------------------- results

uint32_t races_count(void)
{
    return (uint32_t)findings.size();
}

race_kind races_kind(uint32_t i)
{
    return findings.at(i).kind;
}

void races_text(uint32_t i, char text[RACES_TEXT_BYTES])
{
    static const char *const acts[] = {"read", "write", "atomic read", "atomic"};
    const finding &f = findings.at(i);
    const std::string now = line_of(f.place_now), before = line_of(f.place_before);
    const char *const what = acts[(int)f.now], *const what_before = acts[(int)f.before];
    switch (f.kind) {
    case RACE_UNWRITTEN:
        snprintf(text, RACES_TEXT_BYTES, "%s: %s of shared memory that isn't written: %s", f.kernel.c_str(), what,
                 now.c_str());
        break;
    case RACE_BOUNDS:
        snprintf(text, RACES_TEXT_BYTES, "%s: %s outside device memory: %s", f.kernel.c_str(), what, now.c_str());
        break;
    default:
        snprintf(text, RACES_TEXT_BYTES, "%s: two %s, %s and %s: %s | %s", f.kernel.c_str(),
                 f.kind == RACE_TILES ? "tiles" : "lanes", what_before, what, before.c_str(), now.c_str());
    }
}

void races_forget(void)
{
    findings.clear();
    found.clear();
}

void races_bytes(const char *kernel, uint64_t *read, uint64_t *written)
{
    *read = traffic_of[kernel].read;
    *written = traffic_of[kernel].written;
}

void races_count_bytes_anew(void)
{
    traffic_of.clear();
}

uint32_t races_barrier_count(void)
{
    return barrier_count;
}

const race_barrier *races_barrier(uint32_t i)
{
    return &barriers[i];
}
}
