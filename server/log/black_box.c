// A tank's black box, as the worker writes and finds it. Two halves and one number that says which of them counts:
// start at tarn_black_box_keep, then tarn_black_box_find.
#include "server/log/black_box.h"
#include "protocol/assert.h"
#include "server/scene/archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef tarn_black_box_head box_head;
typedef tarn_black_box_half box_half;
typedef tarn_black_box_record_head record_head;

// ---- made and begun ----

int tarn_black_box_make(void)
{
    return memfd_create("tarn-tank", MFD_CLOEXEC);
}

static uint8_t *log_of(const tarn_black_box *box, uint32_t half)
{
    TARN_ASSERT(half < 2);
    return (uint8_t *)box->head + tarn_black_box_log_at(half);
}

static uint8_t *state_of(const tarn_black_box *box, uint32_t half)
{
    TARN_ASSERT(half < 2);
    return (uint8_t *)box->head + tarn_black_box_state_at(half, box->state_bytes_max);
}

tarn_status tarn_black_box_open(tarn_black_box *box, int fd, uint64_t state_bytes_max)
{
    const uint64_t bytes = tarn_black_box_bytes(state_bytes_max);
    struct stat file;
    TARN_ASSERT(box->head == NULL && state_bytes_max > 0 && state_bytes_max <= TARN_IPC_STATE_BYTES_MAX);
    if (fstat(fd, &file) != 0 || ((uint64_t)file.st_size < bytes && ftruncate(fd, (off_t)bytes) != 0)) {
        return TARN_E_MEMORY;
    }
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (memory == MAP_FAILED) {
        return TARN_E_MEMORY;
    }
    *box = (tarn_black_box){.head = memory, .bytes = bytes, .state_bytes_max = state_bytes_max};
    return TARN_OK;
}

void tarn_black_box_close(tarn_black_box *box)
{
    if (box->head != NULL) {
        munmap(box->head, box->bytes);
    }
    *box = (tarn_black_box){0};
}

void tarn_black_box_begin(tarn_black_box *box, const char *scene)
{
    box_head *head = box->head;
    TARN_ASSERT(strlen(scene) < sizeof head->scene);
    tarn_black_box_let_go(box);
    atomic_store(&head->counts, 0);
    head->magic = TARN_BLACK_BOX_MAGIC;
    head->version = TARN_BLACK_BOX_VERSION;
    head->state_bytes_max = box->state_bytes_max;
    head->scene_bytes = head->filled_bytes = 0;
    snprintf(head->scene, sizeof head->scene, "%s", scene);
    atomic_store(&head->number, 0);
    tarn_black_box_passed(box);
    atomic_store(&head->place, 0);
    atomic_store(&head->replay_until, 0);
    head->halves[0].state_bytes = head->halves[1].state_bytes = 0;
}

void tarn_black_box_put_scene(tarn_black_box *box, int fd, const tarn_scene_pack *pack)
{
    size_t at = 0;
    TARN_ASSERT(pack->byte_count <= TARN_SCENE_PACK_BYTES_MAX);
    box->head->scene_bytes = 0;
    while (at < pack->byte_count) {
        const ssize_t put = pwrite(fd, pack->bytes + at, pack->byte_count - at, (off_t)(TARN_BLACK_BOX_SCENE_AT + at));
        if (put <= 0) {
            return;
        }
        at += (size_t)put;
    }
    box->head->scene_bytes = pack->byte_count;
}

bool tarn_black_box_scene(int fd, const char *scene, tarn_scene_pack *pack)
{
    box_head head;
    size_t at = 0;
    if (fd <= 0 || pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head || head.magic != TARN_BLACK_BOX_MAGIC ||
        head.version != TARN_BLACK_BOX_VERSION || head.scene_bytes == 0 ||
        head.scene_bytes > TARN_SCENE_PACK_BYTES_MAX || memchr(head.scene, 0, sizeof head.scene) == NULL ||
        strcmp(head.scene, scene) != 0) {
        return false;
    }
    const size_t byte_count = (size_t)head.scene_bytes;
    uint8_t *bytes = malloc(byte_count);
    while (bytes != NULL && at < byte_count) {
        const ssize_t got = pread(fd, bytes + at, byte_count - at, (off_t)(TARN_BLACK_BOX_SCENE_AT + at));
        if (got <= 0) {
            break;
        }
        at += (size_t)got;
    }
    if (bytes == NULL || at < byte_count || !tarn_scene_pack_sound(bytes, byte_count)) {
        free(bytes);
        return false;
    }
    *pack = (tarn_scene_pack){bytes, byte_count};
    return true;
}

// ---- a state and the log behind it ----

/// The half that doesn't count.
static uint32_t other_half(const tarn_black_box *box)
{
    const uint32_t counts = atomic_load(&box->head->counts);
    return counts == 0 ? 0 : (counts & 1) ^ 1;
}

/// A half counts from now on. @param turns  since the last one
static void count(tarn_black_box *box, uint32_t half, uint32_t turns)
{
    box_head *head = box->head;
    TARN_ASSERT(half < 2);
    head->turn = (head->turn + turns) & (UINT32_MAX >> 1);
    head->turn += head->turn == 0; // or it looks as if nothing counted
    atomic_store(&head->counts, head->turn << 1 | half);
}

/// Puts a record together, which doesn't count yet. @param input  NULL: none @return where the next one begins
static uint64_t put_record(tarn_black_box *box, uint32_t half, uint64_t at, const tarn_step_input *input,
                           const uint8_t *presses, uint32_t presses_bytes)
{
    uint8_t *record = log_of(box, half) + at, *content = record + sizeof(record_head);
    record_head head = {.presses_bytes = presses_bytes};
    if (input != NULL) {
        head.input_bytes = (uint32_t)tarn_step_input_write(input, content, TARN_STEP_INPUT_BYTES_MAX);
        TARN_ASSERT(head.input_bytes > 0);
    }
    if (presses_bytes > 0) {
        memcpy(content + head.input_bytes, presses, presses_bytes);
    }
    memcpy(record, &head, sizeof head);
    box->presses_at = (size_t)(content + head.input_bytes - (uint8_t *)box->head);
    box->presses_bytes = presses_bytes;
    return tarn_black_box_record_end(at, &head);
}

/// A state counts from now on, with what viewers hold.
static void let_count(tarn_black_box *box, uint32_t half, uint64_t state_bytes, uint64_t step, uint32_t turns)
{
    box_half *of = &box->head->halves[half];
    const uint8_t *presses = (const uint8_t *)box->head + box->presses_at;
    (void)atomic_exchange(&of->log_bytes, 0); // whoever still reads it sees that before it is written anew
    of->state_bytes = state_bytes;
    of->step = step;
    atomic_store(&of->log_bytes,
                 box->presses_bytes > 0 ? put_record(box, half, 0, NULL, presses, box->presses_bytes) : 0);
    count(box, half, turns);
}

const char *tarn_black_box_scene_name(const tarn_black_box *box)
{
    return box->head->scene;
}

uint8_t *tarn_black_box_space(const tarn_black_box *box)
{
    return state_of(box, other_half(box));
}

void tarn_black_box_keep(tarn_black_box *box, uint64_t state_bytes, uint64_t step, bool is_anew)
{
    TARN_ASSERT(state_bytes > 0 && state_bytes <= box->state_bytes_max);
    let_count(box, other_half(box), state_bytes, step, 1 + is_anew);
    tarn_black_box_passed(box);
    atomic_store(&box->head->place, 0);
}

/// The half that counts; something must.
static uint32_t half_that_counts(const tarn_black_box *box)
{
    const uint32_t counts = atomic_load(&box->head->counts);
    TARN_ASSERT(counts != 0);
    return counts & 1;
}

const uint8_t *tarn_black_box_state(const tarn_black_box *box, uint64_t *state_bytes, uint64_t *step)
{
    *state_bytes = *step = 0;
    if (box->head == NULL || atomic_load(&box->head->counts) == 0) {
        return NULL;
    }
    const uint32_t half = half_that_counts(box);
    *state_bytes = box->head->halves[half].state_bytes;
    *step = box->head->halves[half].step;
    return state_of(box, half);
}

void tarn_black_box_back(tarn_black_box *box)
{
    const uint32_t half = half_that_counts(box);
    tarn_black_box_let_go(box);
    atomic_store(&box->head->halves[half].log_bytes, 0);
    count(box, half, 2);
}

bool tarn_black_box_has_room(const tarn_black_box *box)
{
    const box_half *half = &box->head->halves[half_that_counts(box)];
    const record_head largest = {TARN_STEP_INPUT_BYTES_MAX, TARN_IPC_PRESSES_BYTES_MAX};
    return tarn_black_box_record_end(atomic_load(&half->log_bytes), &largest) <= TARN_BLACK_BOX_LOG_BYTES;
}

static void append(tarn_black_box *box, const tarn_step_input *input, const uint8_t *presses, uint32_t presses_bytes)
{
    const uint32_t index = half_that_counts(box);
    box_half *half = &box->head->halves[index];
    TARN_ASSERT(tarn_black_box_has_room(box) && presses_bytes <= TARN_IPC_PRESSES_BYTES_MAX);
    const uint64_t end = put_record(box, index, atomic_load(&half->log_bytes), input, presses, presses_bytes);
    atomic_store(&half->log_bytes, end);
    atomic_store(&box->head->place, tarn_black_box_place(end, false));
}

void tarn_black_box_log(tarn_black_box *box, const tarn_step_input *input, const uint8_t *presses,
                        uint32_t presses_bytes)
{
    TARN_ASSERT(input != NULL);
    append(box, input, presses, presses_bytes);
}

void tarn_black_box_log_presses(tarn_black_box *box, const uint8_t *presses, uint32_t presses_bytes)
{
    append(box, NULL, presses, presses_bytes);
}

bool tarn_black_box_hash_due(uint64_t step)
{
    return step % TARN_BLACK_BOX_HASH_STEPS == 0;
}

void tarn_black_box_log_hash(tarn_black_box *box, uint64_t step, const tarn_tank_hash *hash)
{
    const uint32_t index = half_that_counts(box);
    box_half *half = &box->head->halves[index];
    const uint64_t at = atomic_load(&half->log_bytes);
    const record_head head = {.presses_bytes = TARN_BLACK_BOX_IS_HASH};
    const tarn_black_box_hash content = {.step = step, .lo = hash->lo, .hi = hash->hi};
    TARN_ASSERT(tarn_black_box_has_room(box));
    memcpy(log_of(box, index) + at, &head, sizeof head);
    memcpy(log_of(box, index) + at + sizeof head, &content, sizeof content);
    atomic_store(&half->log_bytes, tarn_black_box_record_end(at, &head));
}

// ---- what else is noted of the tank ----

void tarn_black_box_set_epoch(tarn_black_box *box, uint32_t epoch)
{
    atomic_store(&box->head->epoch, epoch);
}

void tarn_black_box_set_number(tarn_black_box *box, uint32_t number)
{
    atomic_store(&box->head->number, number);
}

void tarn_black_box_set_pace(tarn_black_box *box, uint32_t dt_ns, uint32_t step_ns)
{
    atomic_store(&box->head->dt_ns, dt_ns);
    atomic_store(&box->head->step_ns, step_ns);
}

void tarn_black_box_set_replay(tarn_black_box *box, uint64_t until)
{
    atomic_store(&box->head->replay_until, until);
}

uint64_t tarn_black_box_replay(const tarn_black_box *box)
{
    return atomic_load(&box->head->replay_until);
}

void tarn_black_box_set_busy(tarn_black_box *box, bool is_busy)
{
    box->is_busy = is_busy;
    atomic_store(&box->head->is_busy, is_busy);
}

void tarn_black_box_stand(tarn_black_box *box, bool stands)
{
    if (box->is_busy) { // else what a dead worker left may not have been looked at yet
        atomic_store(&box->head->is_busy, !stands);
    }
}

void tarn_black_box_set_replayed(tarn_black_box *box, size_t log_at)
{
    atomic_store(&box->head->place, tarn_black_box_place(log_at, false));
}

void tarn_black_box_set_showing(tarn_black_box *box)
{
    atomic_fetch_or(&box->head->place, 1);
}

void tarn_black_box_passed(tarn_black_box *box)
{
    atomic_store(&box->head->deaths, 0);
    atomic_store(&box->head->tries, 0);
    atomic_store(&box->head->died_at, 0);
    atomic_store(&box->head->kills, 0);
    atomic_store(&box->head->killed_at, 0);
}

// ---- after a process' end ----

static bool is_half_sound(const tarn_black_box *box, uint32_t half)
{
    const box_half *of = &box->head->halves[half];
    return of->state_bytes > 0 && of->state_bytes <= box->state_bytes_max &&
           atomic_load(&of->log_bytes) <= TARN_BLACK_BOX_LOG_BYTES;
}

static bool is_sound(const tarn_black_box *box, const char *scene)
{
    const box_head *head = box->head;
    const uint32_t counts = atomic_load(&head->counts);
    return head->magic == TARN_BLACK_BOX_MAGIC && head->version == TARN_BLACK_BOX_VERSION &&
           head->state_bytes_max == box->state_bytes_max && memchr(head->scene, 0, sizeof head->scene) != NULL &&
           strcmp(head->scene, scene) == 0 && counts != 0 && is_half_sound(box, counts & 1);
}

bool tarn_black_box_find(tarn_black_box *box, const char *scene, tarn_black_box_rest *rest)
{
    *rest = (tarn_black_box_rest){0};
    if (!is_sound(box, scene)) {
        return false;
    }
    box_head *head = box->head;
    const tarn_black_box_blame blame = tarn_black_box_blame_of(head);
    const uint32_t deaths = blame.deaths;
    atomic_store(&head->deaths, blame.deaths);
    atomic_store(&head->tries, blame.tries);
    atomic_store(&head->died_at, blame.died_at);
    atomic_store(&head->is_busy, 0);
    atomic_store(&head->place, 0);
    uint32_t half = half_that_counts(box);
    rest->is_log_left_out = deaths > TARN_BLACK_BOX_DEATHS_FULL;
    rest->is_old = deaths > TARN_BLACK_BOX_DEATHS_OLD;
    if (rest->is_old) {
        half = other_half(box);
        if (!is_half_sound(box, half)) {
            return false;
        }
    }
    rest->state_bytes = head->halves[half].state_bytes;
    rest->state = state_of(box, half);
    rest->step = head->halves[half].step;
    rest->epoch = atomic_load(&head->epoch);
    rest->number = atomic_load(&head->number);
    return deaths <= TARN_BLACK_BOX_DEATHS_MAX;
}

void tarn_black_box_settle(tarn_black_box *box, const tarn_black_box_rest *rest)
{
    if (rest->is_old) { // with an empty log, and the deaths that were counted
        let_count(box, other_half(box), rest->state_bytes, rest->step, 2);
    } else if (rest->is_log_left_out) {
        tarn_black_box_back(box);
    }
}

/// @param at  goes on @return TARN_OK, TARN_E_NOT_FOUND or TARN_E_MALFORMED
static tarn_status next_record(const tarn_black_box *box, size_t *at, tarn_black_box_record *record)
{
    const uint32_t index = half_that_counts(box);
    const uint64_t end = atomic_load(&box->head->halves[index].log_bytes);
    if (*at == end) {
        return TARN_E_NOT_FOUND;
    }
    return tarn_black_box_record_next(log_of(box, index), (size_t)end, at, record) ? TARN_OK : TARN_E_MALFORMED;
}

const uint8_t *tarn_black_box_presses(tarn_black_box *box, uint32_t *byte_count)
{
    size_t at = 0;
    tarn_black_box_record record;
    tarn_black_box_let_go(box);
    while (next_record(box, &at, &record) == TARN_OK) {
        if (record.is_hash) {
            continue;
        }
        box->presses_at = (size_t)(record.presses - (const uint8_t *)box->head);
        box->presses_bytes = record.presses_bytes;
    }
    *byte_count = box->presses_bytes;
    return (const uint8_t *)box->head + box->presses_at;
}

void tarn_black_box_let_go(tarn_black_box *box)
{
    box->presses_at = box->presses_bytes = 0;
}

tarn_status tarn_black_box_read(const tarn_black_box *box, size_t *at, tarn_step_input *input)
{
    tarn_black_box_record record;
    tarn_status status;
    do {
        status = next_record(box, at, &record);
    } while (status == TARN_OK && record.input_bytes == 0); // of presses alone, or a hash
    return status == TARN_OK ? tarn_step_input_read(record.input, record.input_bytes, input) : status;
}
