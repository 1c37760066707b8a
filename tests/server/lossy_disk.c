// Each open file keeps the content that a reader sees; the system's file has what was synced. Begin at lossy_write.
#include "tests/server/lossy_disk.h"
#include "tests/server/test_cmocka.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum { SECTOR_BYTES = 512, FILES_MAX = 16 };

/// A file as programs see it, and which of its sectors the disk hasn't got.
typedef struct lossy_file {
    sqlite3_file base;
    sqlite3_file *under; // the system's, in the memory behind this
    uint8_t *seen;
    sqlite3_int64 seen_bytes, room;
    uint8_t *is_held; // by sector
    sqlite3_int64 held_room;
    bool is_lossy; // else the system's alone
} lossy_file;

static struct {
    sqlite3_vfs vfs, *under;
    unsigned seed, operations;
    bool is_cut, is_registered;
    lossy_file *files[FILES_MAX];
} disk;

static sqlite3_int64 sectors(sqlite3_int64 bytes)
{
    return (bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;
}

static void make_room(lossy_file *file, sqlite3_int64 bytes)
{
    if (bytes > file->room) {
        const sqlite3_int64 room = bytes * 2;
        file->seen = realloc(file->seen, (size_t)room);
        assert_non_null(file->seen);
        memset(file->seen + file->room, 0, (size_t)(room - file->room));
        file->room = room;
        file->is_held = realloc(file->is_held, (size_t)sectors(room));
        assert_non_null(file->is_held);
        memset(file->is_held + file->held_room, 0, (size_t)(sectors(room) - file->held_room));
        file->held_room = sectors(room);
    }
}

static void let_through(lossy_file *file, sqlite3_int64 sector)
{
    sqlite3_int64 at = sector * SECTOR_BYTES, count = file->seen_bytes - at;
    count = count > SECTOR_BYTES ? SECTOR_BYTES : count;
    if (count > 0) {
        assert_int_equal(file->under->pMethods->xWrite(file->under, file->seen + at, (int)count, at), SQLITE_OK);
    }
    file->is_held[sector] = 0;
}

/// Everything that is held goes its way, or a part of it.
static void release(lossy_file *file, bool is_whole)
{
    for (sqlite3_int64 i = 0; i < sectors(file->seen_bytes); i++) {
        if (file->is_held[i] && (is_whole || rand_r(&disk.seed) % 2 == 0)) {
            let_through(file, i);
        }
    }
}

/// @return false: the power is gone
static bool operate(void)
{
    if (!disk.is_cut && disk.operations-- == 0) {
        disk.is_cut = true;
        for (int i = 0; i < FILES_MAX; i++) {
            if (disk.files[i] != NULL && disk.files[i]->is_lossy) {
                release(disk.files[i], false);
            }
        }
    }
    return !disk.is_cut;
}

static int lossy_write(sqlite3_file *base, const void *bytes, int count, sqlite3_int64 at)
{
    lossy_file *file = (lossy_file *)base;
    if (!operate()) {
        return SQLITE_IOERR_WRITE;
    }
    make_room(file, at + count);
    memcpy(file->seen + at, bytes, (size_t)count);
    file->seen_bytes = at + count > file->seen_bytes ? at + count : file->seen_bytes;
    for (sqlite3_int64 i = at / SECTOR_BYTES; i < sectors(at + count); i++) {
        file->is_held[i] = 1;
    }
    return SQLITE_OK;
}

static int lossy_read(sqlite3_file *base, void *bytes, int count, sqlite3_int64 at)
{
    const lossy_file *file = (lossy_file *)base;
    sqlite3_int64 there = file->seen_bytes - at;
    there = there < 0 ? 0 : there > count ? count : there;
    memcpy(bytes, file->seen + at, (size_t)there);
    memset((uint8_t *)bytes + there, 0, (size_t)(count - there));
    return there == count ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int lossy_truncate(sqlite3_file *base, sqlite3_int64 bytes)
{
    lossy_file *file = (lossy_file *)base;
    if (!operate()) {
        return SQLITE_IOERR_TRUNCATE;
    }
    if (bytes < file->seen_bytes) {
        memset(file->seen + bytes, 0, (size_t)(file->seen_bytes - bytes));
        file->seen_bytes = bytes;
    }
    return file->under->pMethods->xTruncate(file->under, bytes);
}

static int lossy_sync(sqlite3_file *base, int flags)
{
    lossy_file *file = (lossy_file *)base;
    if (!operate()) {
        return SQLITE_IOERR_FSYNC;
    }
    (void)flags;
    release(file, true);
    return SQLITE_OK;
}

static int lossy_size(sqlite3_file *base, sqlite3_int64 *bytes)
{
    *bytes = ((lossy_file *)base)->seen_bytes;
    return SQLITE_OK;
}

static int lossy_close(sqlite3_file *base)
{
    lossy_file *file = (lossy_file *)base;
    if (!disk.is_cut) {
        release(file, true); // the system would, in time
    }
    for (int i = 0; i < FILES_MAX; i++) {
        disk.files[i] = disk.files[i] == file ? NULL : disk.files[i];
    }
    free(file->seen);
    free(file->is_held);
    return file->under->pMethods->xClose(file->under);
}

static int lossy_lock(sqlite3_file *base, int level)
{
    sqlite3_file *under = ((lossy_file *)base)->under;
    return under->pMethods->xLock(under, level);
}

static int lossy_unlock(sqlite3_file *base, int level)
{
    sqlite3_file *under = ((lossy_file *)base)->under;
    return under->pMethods->xUnlock(under, level);
}

static int lossy_reserved(sqlite3_file *base, int *is_locked)
{
    sqlite3_file *under = ((lossy_file *)base)->under;
    return under->pMethods->xCheckReservedLock(under, is_locked);
}

static int lossy_control(sqlite3_file *base, int op, void *argument)
{
    (void)base;
    (void)op;
    (void)argument;
    return SQLITE_NOTFOUND;
}

static int lossy_sector(sqlite3_file *base)
{
    (void)base;
    return SECTOR_BYTES;
}

static int lossy_traits(sqlite3_file *base)
{
    (void)base;
    return 0;
}

// The index of a write-ahead log is no file that outlives the power.

static int lossy_shm_map(sqlite3_file *base, int page, int bytes, int extend, void volatile **memory)
{
    sqlite3_file *under = ((lossy_file *)base)->under;
    return under->pMethods->xShmMap(under, page, bytes, extend, memory);
}

static int lossy_shm_lock(sqlite3_file *base, int offset, int count, int flags)
{
    sqlite3_file *under = ((lossy_file *)base)->under;
    return under->pMethods->xShmLock(under, offset, count, flags);
}

static void lossy_shm_barrier(sqlite3_file *base)
{
    sqlite3_file *under = ((lossy_file *)base)->under;
    under->pMethods->xShmBarrier(under);
}

static int lossy_shm_unmap(sqlite3_file *base, int flag)
{
    sqlite3_file *under = ((lossy_file *)base)->under;
    return under->pMethods->xShmUnmap(under, flag);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = lossy_close,
    .xRead = lossy_read,
    .xWrite = lossy_write,
    .xTruncate = lossy_truncate,
    .xSync = lossy_sync,
    .xFileSize = lossy_size,
    .xLock = lossy_lock,
    .xUnlock = lossy_unlock,
    .xCheckReservedLock = lossy_reserved,
    .xFileControl = lossy_control,
    .xSectorSize = lossy_sector,
    .xDeviceCharacteristics = lossy_traits,
    .xShmMap = lossy_shm_map,
    .xShmLock = lossy_shm_lock,
    .xShmBarrier = lossy_shm_barrier,
    .xShmUnmap = lossy_shm_unmap,
};

static int lossy_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags, int *out_flags)
{
    (void)vfs;
    lossy_file *file = (lossy_file *)base;
    memset(file, 0, sizeof *file);
    file->under = (sqlite3_file *)(file + 1);
    const int code = disk.under->xOpen(disk.under, name, file->under, flags, out_flags);
    if (code != SQLITE_OK) {
        return code;
    }
    sqlite3_int64 bytes = 0;
    assert_int_equal(file->under->pMethods->xFileSize(file->under, &bytes), SQLITE_OK);
    make_room(file, bytes + SECTOR_BYTES);
    if (bytes > 0) {
        assert_int_equal(file->under->pMethods->xRead(file->under, file->seen, (int)bytes, 0), SQLITE_OK);
    }
    file->seen_bytes = bytes;
    file->is_lossy = true;
    base->pMethods = &methods;
    for (int i = 0; i < FILES_MAX; i++) {
        if (disk.files[i] == NULL) {
            disk.files[i] = file;
            return SQLITE_OK;
        }
    }
    return SQLITE_CANTOPEN;
}

static int lossy_delete(sqlite3_vfs *vfs, const char *name, int sync_dir)
{
    (void)vfs;
    return operate() ? disk.under->xDelete(disk.under, name, sync_dir) : SQLITE_IOERR_DELETE;
}

void lossy_disk_begin(unsigned seed, unsigned operations)
{
    disk.under = sqlite3_vfs_find(NULL);
    assert_non_null(disk.under);
    disk.seed = seed;
    disk.operations = operations;
    disk.is_cut = false;
    disk.vfs = *disk.under;
    disk.vfs.zName = "lossy";
    disk.vfs.pNext = NULL;
    disk.vfs.szOsFile = (int)sizeof(lossy_file) + disk.under->szOsFile;
    disk.vfs.xOpen = lossy_open;
    disk.vfs.xDelete = lossy_delete;
    assert_int_equal(sqlite3_vfs_register(&disk.vfs, 1), SQLITE_OK);
}

bool lossy_disk_is_cut(void)
{
    return disk.is_cut;
}

void lossy_disk_end(void)
{
    sqlite3_vfs_unregister(&disk.vfs);
    sqlite3_vfs_register(disk.under, 1);
}
