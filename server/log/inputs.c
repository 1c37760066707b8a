// Logs of step inputs: writing, and replaying into a tank. The file's layout is in the header. A replay reads the end's
// record first, which is the last of the file and has a known size; so it knows how long it will take, and that the
// file is whole. The rest is read as it comes, one record ahead of the tank:
//
//     replay_step: due record ─ reset or input that holds: do it, next record ─ ... ─ the step, with its input or none
#include "server/log/inputs.h"
#include "protocol/assert.h"
#include "protocol/bytes.h"
#include "server/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAGIC = 0x494e5254,
    VERSION = 1,
    HEAD_BYTES = 4 + 2 + 6 + 8 + 16 + 1, ///< without the name
    RECORD_HEAD_BYTES = TARN_INPUT_LOG_RECORD_HEAD_BYTES,
    END_BYTES = 24,
    NOTHING_BYTES = 4, ///< of an input that does nothing
};
typedef enum record_kind { RECORD_INPUT, RECORD_RESET, RECORD_END, RECORD_COUNT } record_kind;

tarn_status tarn_input_log_head_of(tarn_tank *tank, const tarn_tank_desc *desc, const char *scene,
                                   tarn_input_log_head *head)
{
    memset(head, 0, sizeof *head);
    strncpy(head->scene, scene, sizeof head->scene - 1);
    memcpy(head->cells, desc->cells, sizeof head->cells);
    head->cell_m = desc->cell_m;
    head->dt_s = desc->dt_s;
    return tarn_tank_hash_get(tank, &head->start);
}

// ---- writing ----

static tarn_status put(tarn_input_log *log, const uint8_t *bytes, size_t count)
{
    if (log->status == TARN_OK && log->at.bytes + (int64_t)count > TARN_INPUT_LOG_BYTES_MAX) {
        log->status = TARN_E_LIMIT;
    }
    if (log->status == TARN_OK && fwrite(bytes, 1, count, log->file) != count) {
        log->status = TARN_E_IO;
    }
    log->at.bytes += log->status == TARN_OK ? (int64_t)count : 0;
    return log->status;
}

/// A record whose content is in log->record already, behind the room for its head.
static tarn_status put_record(tarn_input_log *log, record_kind kind, size_t content)
{
    TARN_ASSERT(content <= TARN_STEP_INPUT_BYTES_MAX);
    put_u32(log->record, kind);
    put_u32(log->record + 4, (uint32_t)content);
    put_u64(log->record + 8, log->at.step);
    return put(log, log->record, RECORD_HEAD_BYTES + content);
}

tarn_status tarn_input_log_begin(tarn_input_log *log, FILE *file, const tarn_input_log_head *head)
{
    uint8_t bytes[HEAD_BYTES + TARN_NAME_BYTES_MAX];
    const size_t name_bytes = strlen(head->scene);
    TARN_ASSERT(name_bytes <= TARN_NAME_BYTES_MAX);
    log->file = file;
    log->at = (tarn_input_log_mark){0};
    log->status = TARN_OK;
    put_u32(bytes, MAGIC);
    put_u16(bytes + 4, VERSION);
    for (int a = 0; a < 3; a++) {
        put_u16(bytes + 6 + 2 * a, head->cells[a]);
    }
    put_f32(bytes + 12, head->cell_m);
    put_f32(bytes + 16, head->dt_s);
    put_u64(bytes + 20, head->start.lo);
    put_u64(bytes + 28, head->start.hi);
    bytes[36] = (uint8_t)name_bytes;
    memcpy(bytes + HEAD_BYTES, head->scene, name_bytes);
    return put(log, bytes, HEAD_BYTES + name_bytes);
}

tarn_status tarn_input_log_step(tarn_input_log *log, const tarn_step_input *input)
{
    const size_t count = tarn_step_input_write(input, log->record + RECORD_HEAD_BYTES, TARN_STEP_INPUT_BYTES_MAX);
    if (log->status == TARN_OK && (count == 0 || (!input->holds && log->at.steps == TARN_INPUT_LOG_STEPS_MAX))) {
        log->status = TARN_E_LIMIT;
    }
    if (count > NOTHING_BYTES || input->pause != TARN_STEP_PAUSE_KEEPS) {
        put_record(log, RECORD_INPUT, count);
    }
    log->at.step += !input->holds;
    log->at.steps += !input->holds;
    return log->status;
}

tarn_status tarn_input_log_reset(tarn_input_log *log)
{
    put_record(log, RECORD_RESET, 0);
    log->at.step = 0;
    return log->status;
}

tarn_status tarn_input_log_back(tarn_input_log *log, const tarn_input_log_mark *mark)
{
    TARN_ASSERT(mark->bytes <= log->at.bytes && mark->steps <= log->at.steps);
    if (log->status == TARN_OK && (fflush(log->file) != 0 || ftruncate(fileno(log->file), mark->bytes) != 0 ||
                                   fseeko(log->file, mark->bytes, SEEK_SET) != 0)) {
        log->status = TARN_E_IO;
    }
    log->at = *mark;
    return log->status;
}

tarn_status tarn_input_log_end(tarn_input_log *log, const tarn_tank_hash *hash)
{
    uint8_t *content = log->record + RECORD_HEAD_BYTES;
    put_u64(content, log->at.steps);
    put_u64(content + 8, hash != NULL ? hash->lo : 0);
    put_u64(content + 16, hash != NULL ? hash->hi : 0);
    if (put_record(log, RECORD_END, END_BYTES) == TARN_OK && fflush(log->file) != 0) {
        log->status = TARN_E_IO;
    }
    return log->status;
}

// ---- reading ----

#define REFUSE(replay, status, ...)                                                                                    \
    tarn_text_refuse(                                                                                                  \
        &(tarn_text_cursor){.origin = (replay)->path, .why = (replay)->why, .why_bytes = sizeof(replay)->why}, status, \
        __VA_ARGS__)

/// The next bytes of the file.
static tarn_status get(tarn_input_replay *replay, uint8_t *bytes, size_t count)
{
    if (fread(bytes, 1, count, replay->file) == count) {
        replay->at.bytes += (int64_t)count;
        return TARN_OK;
    }
    if (ferror(replay->file)) {
        return REFUSE(replay, TARN_E_IO, "%s", strerror(errno));
    }
    return REFUSE(replay, TARN_E_MALFORMED,
                  "found the end behind byte %" PRId64 ", allowed is a whole log of inputs, as tarn writes it",
                  replay->at.bytes);
}

static tarn_status seek(tarn_input_replay *replay, int64_t to)
{
    replay->at.bytes = to;
    return fseeko(replay->file, to, SEEK_SET) == 0 ? TARN_OK : REFUSE(replay, TARN_E_IO, "%s", strerror(errno));
}

static tarn_status read_head(tarn_input_replay *replay)
{
    uint8_t bytes[HEAD_BYTES];
    tarn_input_log_head *head = &replay->head;
    tarn_status status = get(replay, bytes, sizeof bytes);
    if (status != TARN_OK) {
        return status;
    }
    if (get_u32(bytes) != MAGIC) {
        return REFUSE(replay, TARN_E_MALFORMED, "found something else, allowed is a log of inputs that tarn wrote");
    }
    if (get_u16(bytes + 4) != VERSION) {
        return REFUSE(replay, TARN_E_VERSION, "found version %u of a log of inputs, allowed is %d", get_u16(bytes + 4),
                      VERSION);
    }
    for (int a = 0; a < 3; a++) {
        head->cells[a] = get_u16(bytes + 6 + 2 * a);
    }
    head->cell_m = get_f32(bytes + 12);
    head->dt_s = get_f32(bytes + 16);
    head->start = (tarn_tank_hash){.lo = get_u64(bytes + 20), .hi = get_u64(bytes + 28)};
    if (bytes[36] > TARN_NAME_BYTES_MAX) {
        return REFUSE(replay, TARN_E_MALFORMED, "the scene's name at byte 36: found %u bytes, allowed are at most %d",
                      bytes[36], (int)TARN_NAME_BYTES_MAX);
    }
    return get(replay, (uint8_t *)head->scene, bytes[36]);
}

/// Reads a record's head, whose content is due then.
static tarn_status read_record_head(tarn_input_replay *replay)
{
    const int64_t at = replay->at.bytes;
    uint8_t bytes[RECORD_HEAD_BYTES];
    const tarn_status status = get(replay, bytes, sizeof bytes);
    if (status != TARN_OK) {
        return status;
    }
    replay->kind = get_u32(bytes);
    replay->record_bytes = get_u32(bytes + 4);
    replay->due_step = get_u64(bytes + 8);
    const uint32_t least[RECORD_COUNT] = {1, 0, END_BYTES};
    const uint32_t most[RECORD_COUNT] = {TARN_STEP_INPUT_BYTES_MAX, 0, END_BYTES};
    if (replay->kind >= RECORD_COUNT) {
        return REFUSE(replay, TARN_E_MALFORMED, "the record at byte %" PRId64 ": found kind %u, allowed are 0 to %d",
                      at, replay->kind, RECORD_COUNT - 1);
    }
    if (replay->record_bytes < least[replay->kind] || replay->record_bytes > most[replay->kind]) {
        return REFUSE(replay, TARN_E_MALFORMED, "the record at byte %" PRId64 ": found %u bytes, allowed are %u to %u",
                      at, replay->record_bytes, least[replay->kind], most[replay->kind]);
    }
    return TARN_OK;
}

static tarn_status read_end(tarn_input_replay *replay)
{
    uint8_t bytes[END_BYTES];
    const int64_t at = replay->at.bytes;
    tarn_status status = read_record_head(replay);
    if (status == TARN_E_MALFORMED || (status == TARN_OK && replay->kind != RECORD_END)) {
        status = REFUSE(replay, TARN_E_MALFORMED,
                        "found no record of the end at byte %" PRId64
                        ", the last of the file: it was cut off, or something was added",
                        at);
    }
    if (status == TARN_OK) {
        status = get(replay, bytes, sizeof bytes);
    }
    if (status != TARN_OK) {
        return status;
    }
    replay->steps = get_u64(bytes);
    replay->end = (tarn_tank_hash){.lo = get_u64(bytes + 8), .hi = get_u64(bytes + 16)};
    if (replay->steps > TARN_INPUT_LOG_STEPS_MAX) {
        return REFUSE(replay, TARN_E_LIMIT, "found %" PRIu64 " steps, allowed are at most %d", replay->steps,
                      (int)TARN_INPUT_LOG_STEPS_MAX);
    }
    return TARN_OK;
}

static tarn_status open_file(tarn_input_replay *replay)
{
    struct stat about;
    if (replay->file == NULL) {
        const int file = open(replay->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); // waits for no pipe
        replay->file = file >= 0 ? fdopen(file, "rb") : NULL;
        if (replay->file == NULL) {
            return REFUSE(replay, errno == ENOENT ? TARN_E_NOT_FOUND : TARN_E_IO, "%s", strerror(errno));
        }
    }
    if (fstat(fileno(replay->file), &about) != 0) {
        return REFUSE(replay, TARN_E_IO, "%s", strerror(errno));
    }
    if (!S_ISREG(about.st_mode)) {
        return REFUSE(replay, TARN_E_IO, "found something that isn't a file, allowed is a log of inputs");
    }
    replay->bytes = about.st_size;
    if (replay->bytes > TARN_INPUT_LOG_BYTES_MAX) {
        return REFUSE(replay, TARN_E_LIMIT, "found %" PRId64 " bytes, allowed are at most %" PRId64, replay->bytes,
                      TARN_INPUT_LOG_BYTES_MAX);
    }
    return seek(replay, 0);
}

tarn_status tarn_input_replay_open(tarn_input_replay *replay, const char *path, FILE *file)
{
    memset(replay, 0, sizeof *replay);
    replay->path = path;
    replay->file = file;
    tarn_status status = open_file(replay);
    if (status == TARN_OK) {
        status = read_head(replay);
    }
    const int64_t first = replay->at.bytes, last = replay->bytes - RECORD_HEAD_BYTES - END_BYTES;
    if (status == TARN_OK && last < first) {
        status = REFUSE(replay, TARN_E_MALFORMED, "found %" PRId64 " bytes, allowed is a whole log of inputs",
                        replay->bytes);
    }
    if (status == TARN_OK && (status = seek(replay, last)) == TARN_OK && (status = read_end(replay)) == TARN_OK &&
        (status = seek(replay, first)) == TARN_OK) {
        status = read_record_head(replay);
    }
    if (status != TARN_OK) {
        tarn_input_replay_close(replay);
    }
    return status;
}

tarn_status tarn_input_replay_fits(tarn_input_replay *replay, const tarn_input_log_head *tank)
{
    const tarn_input_log_head *head = &replay->head;
    if (memcmp(head->cells, tank->cells, sizeof head->cells) != 0 || head->cell_m != tank->cell_m ||
        head->dt_s != tank->dt_s) {
        return REFUSE(
            replay, TARN_E_ARGUMENT,
            "found inputs of \"%s\" with %u x %u x %u cells of %g m and steps of %g s, allowed is what \"%s\" has, "
            "%u x %u x %u cells of %g m and steps of %g s",
            head->scene, head->cells[0], head->cells[1], head->cells[2], (double)head->cell_m, (double)head->dt_s,
            tank->scene, tank->cells[0], tank->cells[1], tank->cells[2], (double)tank->cell_m, (double)tank->dt_s);
    }
    if (head->start.lo != tank->start.lo || head->start.hi != tank->start.hi) {
        return REFUSE(
            replay, TARN_E_ARGUMENT,
            "found inputs of \"%s\" that begin in another state than \"%s\" does, allowed is the scene as it was "
            "when they were recorded",
            head->scene, tank->scene);
    }
    return TARN_OK;
}

// ---- replaying ----

/// Does an input to the tank; all of it or nothing. Without a tank, nothing.
static tarn_status do_input(tarn_input_replay *replay, tarn_tank *tank)
{
    if (tank == NULL) {
        return TARN_OK;
    }
    tarn_step_refusals refusals;
    const unsigned long long step = replay->at.step;
    tarn_status status = tarn_tank_admit(tank, &replay->input, &refusals);
    if (status == TARN_OK && refusals.count > 0) {
        return REFUSE(replay, TARN_E_LIMIT, "step %llu: %s", step, refusals.of[0].why);
    }
    if (status == TARN_OK) {
        status = tarn_tank_step(tank, &replay->input);
    }
    if (status == TARN_E_ARGUMENT) {
        return REFUSE(replay, status, "step %llu: %s", step, refusals.why);
    }
    return status == TARN_OK ? status : REFUSE(replay, status, "step %llu: %s", step, tarn_status_text(status));
}

static tarn_status read_input(tarn_input_replay *replay)
{
    const int64_t at = replay->at.bytes;
    TARN_ASSERT(replay->record_bytes <= sizeof replay->record);
    tarn_status status = get(replay, replay->record, replay->record_bytes);
    if (status == TARN_OK) {
        status = tarn_step_input_read(replay->record, replay->record_bytes, &replay->input);
        if (status != TARN_OK) {
            (void)REFUSE(replay, status, "the input at byte %" PRId64 ": %s", at, tarn_status_text(status));
        }
    }
    return status;
}

/// Whether the record that is due comes in the order of steps, and the end's after as many as there are.
static tarn_status look_at_order(tarn_input_replay *replay)
{
    const uint64_t left = replay->steps - replay->at.steps, ahead = replay->due_step - replay->at.step;
    if (replay->due_step >= replay->at.step && (replay->kind == RECORD_END ? ahead == left : ahead <= left)) {
        return TARN_OK;
    }
    return REFUSE(replay, TARN_E_MALFORMED,
                  "the record at byte %" PRId64 ": found step %" PRIu64 " after step %" PRIu64 ", with %" PRIu64
                  " steps left, allowed is one in between, and the end after the last",
                  replay->at.bytes - RECORD_HEAD_BYTES, replay->due_step, replay->at.step, left);
}

/// Reads the input that is due, and does it where it holds.
static tarn_status do_due_input(tarn_input_replay *replay, tarn_tank *tank)
{
    const tarn_status status = read_input(replay);
    if (status == TARN_OK && !replay->input.holds && replay->at.steps == replay->steps) {
        return REFUSE(replay, TARN_E_MALFORMED, "found an input before byte %" PRId64 ", allowed are %" PRIu64 " steps",
                      replay->at.bytes, replay->steps);
    }
    return status == TARN_OK && replay->input.holds ? do_input(replay, tank) : status;
}

static tarn_status do_reset(tarn_input_replay *replay, tarn_tank *tank)
{
    if (tank == NULL) {
        return REFUSE(replay, TARN_E_LIMIT,
                      "found a reset behind step %" PRIu64 ", allowed is none in the steps that are passed over",
                      replay->at.step);
    }
    const tarn_status status = tarn_tank_reset(tank);
    replay->at.step = 0;
    return status == TARN_OK ? status : REFUSE(replay, status, "the reset: %s", tarn_status_text(status));
}

/// Does all that is due before the next step. replay->input is that step's then.
static tarn_status do_due(tarn_input_replay *replay, tarn_tank *tank)
{
    bool is_whole = false; // the next step's input is there
    memset(&replay->input, 0, sizeof replay->input);
    tarn_status status = look_at_order(replay);
    while (status == TARN_OK && !is_whole && replay->due_step == replay->at.step && replay->kind != RECORD_END) {
        const bool is_input = replay->kind == RECORD_INPUT;
        status = is_input ? do_due_input(replay, tank) : do_reset(replay, tank);
        is_whole = is_input && !replay->input.holds;
        if (status == TARN_OK) {
            status = read_record_head(replay);
        }
        if (status == TARN_OK && !is_whole) {
            memset(&replay->input, 0, sizeof replay->input);
            status = look_at_order(replay);
        }
    }
    return status;
}

static tarn_status replay_step(tarn_input_replay *replay, tarn_tank *tank)
{
    TARN_ASSERT(replay->at.steps < replay->steps);
    tarn_status status = do_due(replay, tank);
    if (status == TARN_OK) {
        status = do_input(replay, tank);
    }
    replay->at.step += status == TARN_OK;
    replay->at.steps += status == TARN_OK;
    return status;
}

tarn_status tarn_input_replay_step(tarn_input_replay *replay, tarn_tank *tank)
{
    TARN_ASSERT(tank != NULL);
    return replay_step(replay, tank);
}

tarn_status tarn_input_replay_skip(tarn_input_replay *replay, uint64_t steps)
{
    TARN_ASSERT(steps <= replay->steps - replay->at.steps);
    tarn_status status = TARN_OK;
    for (uint64_t i = 0; i < steps && status == TARN_OK; i++) {
        status = replay_step(replay, NULL);
    }
    return status;
}

tarn_status tarn_input_replay_finish(tarn_input_replay *replay, tarn_tank *tank)
{
    TARN_ASSERT(replay->at.steps == replay->steps);
    const tarn_status status = do_due(replay, tank);
    if (status == TARN_OK && replay->at.bytes != replay->bytes - END_BYTES) {
        return REFUSE(replay, TARN_E_MALFORMED,
                      "found the end at byte %" PRId64 ", allowed is one in front of byte %" PRId64,
                      replay->at.bytes - RECORD_HEAD_BYTES, replay->bytes);
    }
    return status;
}

void tarn_input_replay_close(tarn_input_replay *replay)
{
    if (replay->file != NULL) {
        fclose(replay->file);
        replay->file = NULL;
    }
}
