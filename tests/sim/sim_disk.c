// A disk under SQLite: an SQLite VFS over files of the real one, which lie in memory. What is written is held back
// until it is synced: when the gateway is killed all of it reaches the file, as the system would see to it; when the
// power goes, some of it does, in pieces of 512 bytes. It may be slow, full, or fail. Names last at once.
#include "tests/sim/sim.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum { SECTOR_BYTES = 512, PIECE_BYTES = 1 << 16, FILES_MAX = 256, SHARED_MAX = 64 };

/// A file as programs see it, and which of its sectors the disk hasn't got.
typedef struct disk_file {
    sqlite3_file base;
    sqlite3_file *under; // in the memory behind this
    uint8_t *seen, *is_held;
    sqlite3_int64 seen_bytes, room, held_room;
    void *shared[SHARED_MAX]; // the index of its write-ahead log, which no power cut outlives
} disk_file;

static struct {
    sqlite3_vfs vfs, *under;
    disk_file *files[FILES_MAX];
    bool is_failing, is_full;
    uint64_t sync_ns, bad_ns;
} disk = {.sync_ns = SIM_MS};

static sqlite3_int64 sectors(sqlite3_int64 bytes)
{
    return (bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;
}

static void make_room(disk_file *file, sqlite3_int64 bytes)
{
    if (bytes <= file->room) {
        return;
    }
    const sqlite3_int64 room = bytes * 2;
    file->seen = realloc(file->seen, (size_t)room);
    file->is_held = realloc(file->is_held, (size_t)sectors(room));
    SIM_NEED(file->seen != NULL && file->is_held != NULL);
    memset(file->seen + file->room, 0, (size_t)(room - file->room));
    memset(file->is_held + file->held_room, 0, (size_t)(sectors(room) - file->held_room));
    file->room = room;
    file->held_room = sectors(room);
}

static void put_under(const disk_file *file, sqlite3_int64 at, sqlite3_int64 until)
{
    while (at < until) { // of 128 KiB SQLite's own writes nothing, and says that the disk is full
        const sqlite3_int64 bytes = until - at < PIECE_BYTES ? until - at : PIECE_BYTES;
        SIM_NEED(file->under->pMethods->xWrite(file->under, file->seen + at, (int)bytes, at) == SQLITE_OK);
        at += bytes;
    }
}

/// Everything that is held goes its way, or a part of it; neighbours in one write.
static void release(disk_file *file, bool is_whole)
{
    const sqlite3_int64 count = sectors(file->seen_bytes);
    for (sqlite3_int64 i = 0; i < count; i++) {
        sqlite3_int64 end = i;
        while (end < count && file->is_held[end] && (is_whole || sim_chance(50))) {
            file->is_held[end++] = 0;
        }
        if (end > i) {
            const sqlite3_int64 until = end * SECTOR_BYTES;
            put_under(file, i * SECTOR_BYTES, until < file->seen_bytes ? until : file->seen_bytes);
            i = end - 1;
        }
    }
}

static void drop(disk_file *file)
{
    for (int i = 0; i < FILES_MAX; i++) {
        disk.files[i] = disk.files[i] == file ? NULL : disk.files[i];
    }
    for (int i = 0; i < SHARED_MAX; i++) {
        free(file->shared[i]);
        file->shared[i] = NULL;
    }
    free(file->seen);
    free(file->is_held);
    file->under->pMethods->xClose(file->under);
}

static int disk_write(sqlite3_file *base, const void *bytes, int count, sqlite3_int64 at)
{
    disk_file *file = (disk_file *)base;
    if (disk.is_failing || disk.is_full) {
        return disk.is_full ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    }
    make_room(file, at + count);
    memcpy(file->seen + at, bytes, (size_t)count);
    file->seen_bytes = at + count > file->seen_bytes ? at + count : file->seen_bytes;
    memset(file->is_held + at / SECTOR_BYTES, 1, (size_t)(sectors(at + count) - at / SECTOR_BYTES));
    return SQLITE_OK;
}

static int disk_read(sqlite3_file *base, void *bytes, int count, sqlite3_int64 at)
{
    const disk_file *file = (disk_file *)base;
    sqlite3_int64 there = file->seen_bytes - at;
    there = there < 0 ? 0 : there > count ? count : there;
    if (there > 0) {
        memcpy(bytes, file->seen + at, (size_t)there);
    }
    memset((uint8_t *)bytes + there, 0, (size_t)(count - there));
    return there == count ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int disk_truncate(sqlite3_file *base, sqlite3_int64 bytes)
{
    disk_file *file = (disk_file *)base;
    if (bytes < file->seen_bytes) {
        memset(file->seen + bytes, 0, (size_t)(file->seen_bytes - bytes));
        file->seen_bytes = bytes;
    }
    return file->under->pMethods->xTruncate(file->under, bytes);
}

static int disk_sync(sqlite3_file *base, int flags)
{
    disk_file *file = (disk_file *)base;
    (void)flags;
    if (sim_thread_is_inside()) {
        sim_thread_pause(disk.sync_ns / 2 + sim_between(0, disk.sync_ns));
    }
    if (disk.is_failing) {
        return SQLITE_IOERR_FSYNC;
    }
    release(file, true);
    return SQLITE_OK;
}

static int disk_size(sqlite3_file *base, sqlite3_int64 *bytes)
{
    *bytes = ((disk_file *)base)->seen_bytes;
    return SQLITE_OK;
}

static int disk_close(sqlite3_file *base)
{
    disk_file *file = (disk_file *)base;
    release(file, true); // the system would, in time
    drop(file);
    return SQLITE_OK;
}

// One program opens each file once.

static int disk_lock(sqlite3_file *base, int level)
{
    (void)base;
    (void)level;
    return SQLITE_OK;
}

static int disk_reserved(sqlite3_file *base, int *is_locked)
{
    (void)base;
    *is_locked = 0;
    return SQLITE_OK;
}

static int disk_control(sqlite3_file *base, int op, void *argument)
{
    (void)base;
    (void)op;
    (void)argument;
    return SQLITE_NOTFOUND;
}

static int disk_sector(sqlite3_file *base)
{
    (void)base;
    return SECTOR_BYTES;
}

/// As SQLite takes real disks to be: what lies beside the bytes that are written is as before, whatever happens.
static int disk_traits(sqlite3_file *base)
{
    (void)base;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static int disk_shm_map(sqlite3_file *base, int page, int bytes, int extend, void volatile **memory)
{
    disk_file *file = (disk_file *)base;
    SIM_NEED(page < SHARED_MAX);
    if (file->shared[page] == NULL && extend) {
        file->shared[page] = sim_make((size_t)bytes);
    }
    *memory = file->shared[page];
    return SQLITE_OK;
}

static int disk_shm_lock(sqlite3_file *base, int offset, int count, int flags)
{
    (void)base;
    (void)offset;
    (void)count;
    (void)flags;
    return SQLITE_OK;
}

static void disk_shm_barrier(sqlite3_file *base)
{
    (void)base;
}

static int disk_shm_unmap(sqlite3_file *base, int is_deleted)
{
    (void)base;
    (void)is_deleted;
    return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = disk_close,
    .xRead = disk_read,
    .xWrite = disk_write,
    .xTruncate = disk_truncate,
    .xSync = disk_sync,
    .xFileSize = disk_size,
    .xLock = disk_lock,
    .xUnlock = disk_lock,
    .xCheckReservedLock = disk_reserved,
    .xFileControl = disk_control,
    .xSectorSize = disk_sector,
    .xDeviceCharacteristics = disk_traits,
    .xShmMap = disk_shm_map,
    .xShmLock = disk_shm_lock,
    .xShmBarrier = disk_shm_barrier,
    .xShmUnmap = disk_shm_unmap,
};

static int disk_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags, int *out_flags)
{
    disk_file *file = (disk_file *)base;
    sqlite3_int64 bytes = 0;
    (void)vfs;
    memset(file, 0, sizeof *file);
    file->under = (sqlite3_file *)(file + 1);
    const int code = disk.under->xOpen(disk.under, name, file->under, flags, out_flags);
    if (code != SQLITE_OK) {
        return code;
    }
    SIM_NEED(file->under->pMethods->xFileSize(file->under, &bytes) == SQLITE_OK);
    make_room(file, bytes + SECTOR_BYTES);
    SIM_NEED(bytes == 0 || file->under->pMethods->xRead(file->under, file->seen, (int)bytes, 0) == SQLITE_OK);
    file->seen_bytes = bytes;
    base->pMethods = &methods;
    for (int i = 0; i < FILES_MAX; i++) {
        if (disk.files[i] == NULL) {
            disk.files[i] = file;
            return SQLITE_OK;
        }
    }
    SIM_NEED(false);
    return SQLITE_CANTOPEN;
}

static int disk_random(sqlite3_vfs *vfs, int count, char *bytes)
{
    (void)vfs;
    for (int i = 0; i < count; i++) {
        bytes[i] = (char)sim_random();
    }
    return count;
}

static int disk_sleep(sqlite3_vfs *vfs, int us)
{
    (void)vfs;
    if (sim_thread_is_inside()) {
        sim_thread_pause((uint64_t)us * 1000);
    }
    return us;
}

static int disk_time(sqlite3_vfs *vfs, sqlite3_int64 *ms)
{
    (void)vfs;
    *ms = 210866760000000 + (sqlite3_int64)(sim_now() / SIM_MS);
    return SQLITE_OK;
}

void sim_disk_begin(const char *dir)
{
    (void)dir;
    sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    disk.under = sqlite3_vfs_find(NULL);
    SIM_NEED(disk.under != NULL);
    disk.vfs = *disk.under;
    disk.vfs.zName = "simulated";
    disk.vfs.pNext = NULL;
    disk.vfs.szOsFile = (int)sizeof(disk_file) + disk.under->szOsFile;
    disk.vfs.xOpen = disk_open;
    disk.vfs.xRandomness = disk_random;
    disk.vfs.xSleep = disk_sleep;
    disk.vfs.xCurrentTimeInt64 = disk_time;
    SIM_NEED(sqlite3_vfs_register(&disk.vfs, 1) == SQLITE_OK);
}

/// Nobody has a file open any more. What pointed to one is never looked at again.
static void let_go(bool is_whole)
{
    for (int i = 0; i < FILES_MAX; i++) {
        disk_file *file = disk.files[i];
        if (file != NULL) {
            release(file, is_whole);
            drop(file);
        }
    }
    disk.is_failing = disk.is_full = false;
    disk.sync_ns = SIM_MS;
}

void sim_disk_kill(void)
{
    let_go(true);
}

void sim_disk_cut(void)
{
    let_go(false);
}

static void note_bad(bool is_bad)
{
    if (is_bad || disk.is_failing || disk.is_full || disk.sync_ns > 2 * SIM_MS) {
        disk.bad_ns = sim_now();
    }
}

void sim_disk_fail(bool is_failing)
{
    note_bad(is_failing);
    disk.is_failing = is_failing;
}

void sim_disk_full(bool is_full)
{
    note_bad(is_full);
    disk.is_full = is_full;
}

void sim_disk_slow(uint64_t sync_ns)
{
    note_bad(sync_ns > 2 * SIM_MS);
    disk.sync_ns = sync_ns;
}

uint64_t sim_disk_bad_ns(void)
{
    note_bad(sim_system_lacks_descriptors());
    return disk.bad_ns;
}
