// Copies first and looks then whether what was copied still counts. Begin at tarn_box_follow; for what is put into a
// box at tarn_box_fill.
#include "server/log/follow.h"
#include "protocol/assert.h"
#include "server/log/black_box.h"
#include "server/scene/archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- bytes, got and given back ----

void tarn_box_follower_forget(tarn_box_follower *follower)
{
    follower->counts = 0;
    follower->log_bytes = 0;
}

void tarn_box_bytes_free(tarn_box_bytes *bytes)
{
    free(bytes->bytes);
    *bytes = (tarn_box_bytes){0};
}

void tarn_box_news_free(tarn_box_news *news)
{
    tarn_box_bytes_free(&news->before);
    tarn_box_bytes_free(&news->state.bytes);
    tarn_box_bytes_free(&news->state.pack);
    tarn_box_bytes_free(&news->log);
}

tarn_status tarn_box_bytes_make_room(tarn_box_bytes *bytes, size_t room)
{
    if (room <= bytes->room) {
        return TARN_OK;
    }
    uint8_t *larger = realloc(bytes->bytes, room);
    if (larger == NULL) {
        return TARN_E_MEMORY;
    }
    bytes->bytes = larger;
    bytes->room = room;
    return TARN_OK;
}

// ---- what a worker writes, copied ----

static tarn_status read_at(int fd, uint64_t at, void *to, size_t byte_count)
{
    uint8_t *bytes = to;
    while (byte_count > 0) {
        const ssize_t got = pread(fd, bytes, byte_count, (off_t)at);
        if (got <= 0) {
            return got == 0 ? TARN_E_MALFORMED : TARN_E_IO; // it is shorter than its head says
        }
        bytes += got;
        at += (uint64_t)got;
        byte_count -= (size_t)got;
    }
    return TARN_OK;
}

static tarn_status append(int fd, uint64_t at, uint64_t byte_count, tarn_box_bytes *to)
{
    tarn_status status = tarn_box_bytes_make_room(to, to->count + byte_count);
    if (status == TARN_OK && byte_count > 0) {
        status = read_at(fd, at, to->bytes + to->count, byte_count);
    }
    to->count += status == TARN_OK ? byte_count : 0;
    return status;
}

static tarn_status look(int fd, tarn_black_box_head *head)
{
    const tarn_status status = read_at(fd, 0, head, sizeof *head);
    if (status != TARN_OK || head->counts == 0) {
        return status == TARN_OK || status == TARN_E_MALFORMED ? TARN_E_NOT_FOUND : status; // it isn't laid out yet
    }
    const tarn_black_box_half *half = &head->halves[head->counts & 1];
    const bool is_sound =
        head->magic == TARN_BLACK_BOX_MAGIC && head->version == TARN_BLACK_BOX_VERSION &&
        head->state_bytes_max <= TARN_IPC_STATE_BYTES_MAX && head->scene_bytes <= TARN_SCENE_PACK_BYTES_MAX &&
        half->state_bytes > 0 && half->state_bytes <= head->state_bytes_max &&
        head->halves[0].log_bytes <= TARN_BLACK_BOX_LOG_BYTES &&
        head->halves[1].log_bytes <= TARN_BLACK_BOX_LOG_BYTES && memchr(head->scene, 0, sizeof head->scene) != NULL;
    return is_sound ? TARN_OK : TARN_E_MALFORMED;
}

/// Whether a turn is what the one before leads to.
static bool is_next(uint32_t before, uint32_t now)
{
    return before != 0 && now >> 1 == (before >> 1) + 1 && (now & 1) != (before & 1);
}

static tarn_status copy_state(int fd, const tarn_black_box_head *head, tarn_box_news *news)
{
    const uint32_t half = head->counts & 1;
    news->has_state = true;
    news->state.bytes.count = 0;
    news->state.step = head->halves[half].step;
    news->state.state_bytes_max = head->state_bytes_max;
    memcpy(news->state.scene, head->scene, sizeof head->scene);
    return append(fd, tarn_black_box_state_at(half, head->state_bytes_max), head->halves[half].state_bytes,
                  &news->state.bytes);
}

/// One that is no whole scene is left out.
static tarn_status copy_scene(int fd, const tarn_black_box_head *head, tarn_box_bytes *pack)
{
    pack->count = 0;
    const tarn_status status = append(fd, TARN_BLACK_BOX_SCENE_AT, head->scene_bytes, pack);
    if (status != TARN_OK || (pack->count > 0 && !tarn_scene_pack_sound(pack->bytes, pack->count))) {
        pack->count = 0;
    }
    return status == TARN_E_MALFORMED ? TARN_OK : status;
}

/// What the half before had that wasn't read yet.
static tarn_status copy_before(const tarn_box_follower *follower, const tarn_black_box_head *head, tarn_box_news *news)
{
    const uint32_t half = follower->counts & 1;
    const uint64_t log_bytes = head->halves[half].log_bytes;
    return log_bytes < follower->log_bytes ? TARN_E_STATE // it is being written anew
                                           : append(follower->fd, tarn_black_box_log_at(half) + follower->log_bytes,
                                                    log_bytes - follower->log_bytes, &news->before);
}

/// @param head  as it was found
static tarn_status copy(const tarn_box_follower *follower, const tarn_black_box_head *head, bool wants_state,
                        tarn_box_news *news)
{
    const uint32_t half = head->counts & 1;
    const bool goes_on = head->counts == follower->counts, follows = is_next(follower->counts, head->counts);
    const uint64_t from = goes_on ? follower->log_bytes : 0, until = head->halves[half].log_bytes;
    tarn_status status = TARN_OK;
    news->is_anew = !goes_on && !follows;
    if (follows) {
        status = copy_before(follower, head, news);
    }
    if (status == TARN_OK && (news->is_anew || (follows && wants_state))) {
        status = copy_state(follower->fd, head, news);
    }
    if (status == TARN_OK && news->is_anew) {
        status = copy_scene(follower->fd, head, &news->state.pack);
    }
    if (status == TARN_OK && from > until) {
        return TARN_E_STATE;
    }
    return status == TARN_OK ? append(follower->fd, tarn_black_box_log_at(half) + from, until - from, &news->log)
                             : status;
}

/// Whether what was copied counted all the while.
static bool still_counts(const tarn_box_follower *follower, const tarn_black_box_head *head)
{
    tarn_black_box_head now;
    if (look(follower->fd, &now) != TARN_OK || now.counts != head->counts) {
        return false;
    }
    const uint32_t other = (head->counts & 1) ^ 1; // whose log the next state begins to write
    return !is_next(follower->counts, head->counts) || now.halves[other].log_bytes == head->halves[other].log_bytes;
}

bool tarn_box_follower_go_on(tarn_box_follower *follower, uint32_t *epoch, uint32_t *number)
{
    tarn_black_box_head head;
    if (look(follower->fd, &head) != TARN_OK || head.filled_bytes == 0 ||
        head.filled_bytes - 1 > TARN_BLACK_BOX_LOG_BYTES) {
        return false;
    }
    follower->counts = TARN_BLACK_BOX_FILLED_TURN << 1;
    follower->log_bytes = head.filled_bytes - 1;
    *epoch = head.epoch;
    *number = head.number;
    return true;
}

bool tarn_box_is_anew(const tarn_box_follower *follower)
{
    tarn_black_box_head head;
    return look(follower->fd, &head) == TARN_OK && head.counts != follower->counts &&
           !is_next(follower->counts, head.counts);
}

bool tarn_box_is_unproven(int fd)
{
    tarn_black_box_head head;
    return look(fd, &head) == TARN_OK && head.tries > 0 && head.is_busy != 0;
}

bool tarn_box_is_suspect(int fd)
{
    tarn_black_box_head head;
    return look(fd, &head) != TARN_OK || tarn_black_box_blame_of(&head).deaths >= TARN_BLACK_BOX_DEATHS_FULL;
}

tarn_status tarn_box_follow(tarn_box_follower *follower, bool wants_state, tarn_box_news *news)
{
    tarn_black_box_head head;
    news->is_anew = news->has_state = false;
    news->before.count = news->log.count = 0;
    tarn_status status = look(follower->fd, &head);
    if (status != TARN_OK) {
        tarn_box_follower_forget(follower);
        return status;
    }
    status = copy(follower, &head, wants_state, news);
    if (status != TARN_OK) {
        tarn_box_follower_forget(follower);
        return status;
    }
    if (!still_counts(follower, &head)) {
        return TARN_E_STATE;
    }
    if (tarn_box_log_whole(news->before.bytes, news->before.count) != news->before.count ||
        tarn_box_log_whole(news->log.bytes, news->log.count) != news->log.count) {
        tarn_box_follower_forget(follower);
        return TARN_E_MALFORMED;
    }
    follower->counts = head.counts;
    follower->log_bytes = head.halves[head.counts & 1].log_bytes;
    news->epoch = head.epoch;
    news->number = head.number;
    news->dt_ns = head.dt_ns;
    news->step_ns = head.step_ns;
    return news->has_state || news->before.count > 0 || news->log.count > 0 ? TARN_OK : TARN_E_NOT_FOUND;
}

// ---- logs, in memory ----

size_t tarn_box_log_whole(const uint8_t *log, size_t byte_count)
{
    size_t at = 0;
    tarn_black_box_record record;
    while (tarn_black_box_record_next(log, byte_count, &at, &record)) {
    }
    return at;
}

size_t tarn_box_log_up_to(const uint8_t *log, size_t byte_count, uint64_t *steps)
{
    const uint64_t wanted = *steps;
    size_t at = 0;
    tarn_black_box_record record;
    *steps = 0;
    while (*steps < wanted && tarn_black_box_record_next(log, byte_count, &at, &record)) {
        *steps += tarn_black_box_record_steps(&record);
    }
    return at;
}

uint64_t tarn_box_log_steps(const uint8_t *log, size_t byte_count)
{
    uint64_t steps = UINT64_MAX;
    (void)tarn_box_log_up_to(log, byte_count, &steps);
    return steps;
}

size_t tarn_box_log_let_go(uint8_t *log, size_t byte_count)
{
    size_t at = 0, kept = 0;
    tarn_black_box_record record;
    while (tarn_black_box_record_next(log, byte_count, &at, &record)) {
        const tarn_black_box_record_head head = {.input_bytes = record.input_bytes};
        if (record.input_bytes == 0) {
            continue;
        }
        memmove(log + kept + sizeof head, record.input, record.input_bytes); // shorter than it was, so never ahead
        memcpy(log + kept, &head, sizeof head);
        kept = (size_t)tarn_black_box_record_end(kept, &head);
    }
    return kept;
}

// ---- a box, looked at and filled ----

static tarn_status write_at(int fd, uint64_t at, const void *from, size_t byte_count)
{
    const uint8_t *bytes = from;
    while (byte_count > 0) {
        const ssize_t put = pwrite(fd, bytes, byte_count, (off_t)at);
        if (put <= 0) {
            return TARN_E_IO;
        }
        bytes += put;
        at += (uint64_t)put;
        byte_count -= (size_t)put;
    }
    return TARN_OK;
}

bool tarn_box_is_spent(int fd, tarn_text reason)
{
    tarn_black_box_head head;
    if (look(fd, &head) != TARN_OK) {
        return false;
    }
    const uint32_t deaths = tarn_black_box_blame_of(&head).deaths;
    const bool is_filled = head.counts >> 1 == TARN_BLACK_BOX_FILLED_TURN,
               has_older = head.halves[(head.counts & 1) ^ 1].state_bytes > 0;
    snprintf(reason, sizeof(tarn_text), "the worker ended %u times in a row on the way from it", deaths);
    return deaths >= (is_filled   ? TARN_BLACK_BOX_DEATHS_FULL
                      : has_older ? TARN_BLACK_BOX_DEATHS_MAX + 1
                                  : TARN_BLACK_BOX_DEATHS_OLD + 1);
}

tarn_status tarn_box_scene_file(int fd, const char *name, tarn_box_bytes *content)
{
    tarn_black_box_head head;
    uint64_t at = 0;
    content->count = 0;
    if (fd <= 0 || look(fd, &head) != TARN_OK) {
        return TARN_E_NOT_FOUND;
    }
    for (int i = 0; i < TARN_SCENE_PACK_ENTRIES_MAX; i++) { // the names alone, until it is found
        uint32_t bytes[2];                                  // of the name, of the content
        char found[TARN_SCENE_PACK_NAME_BYTES_MAX + 1] = "";
        if (head.scene_bytes - at < sizeof bytes ||
            read_at(fd, TARN_BLACK_BOX_SCENE_AT + at, bytes, sizeof bytes) != TARN_OK) {
            return TARN_E_NOT_FOUND;
        }
        at += sizeof bytes;
        if (bytes[0] >= sizeof found || bytes[1] > TARN_SCENE_PACK_ENTRY_BYTES_MAX ||
            head.scene_bytes - at < (uint64_t)bytes[0] + bytes[1] ||
            read_at(fd, TARN_BLACK_BOX_SCENE_AT + at, found, bytes[0]) != TARN_OK) {
            return TARN_E_NOT_FOUND;
        }
        at += bytes[0];
        if (strcmp(found, name) == 0) {
            return append(fd, TARN_BLACK_BOX_SCENE_AT + at, bytes[1], content);
        }
        at += bytes[1];
    }
    return TARN_E_NOT_FOUND;
}

tarn_status tarn_box_scene(int fd, tarn_box_bytes *pack)
{
    tarn_black_box_head head;
    pack->count = 0;
    if (fd <= 0 || look(fd, &head) != TARN_OK || head.scene_bytes > TARN_SCENE_PACK_BYTES_MAX) {
        return TARN_E_NOT_FOUND;
    }
    const tarn_status status = copy_scene(fd, &head, pack);
    return status == TARN_OK && pack->count == 0 ? TARN_E_NOT_FOUND : status;
}

void tarn_box_copy_scene(int from_fd, int to_fd)
{
    tarn_black_box_head head, copy = {.magic = TARN_BLACK_BOX_MAGIC, .version = TARN_BLACK_BOX_VERSION};
    tarn_box_bytes pack = {0};
    if (read_at(from_fd, 0, &head, sizeof head) == TARN_OK && head.magic == TARN_BLACK_BOX_MAGIC &&
        head.version == TARN_BLACK_BOX_VERSION && head.scene_bytes <= TARN_SCENE_PACK_BYTES_MAX &&
        copy_scene(from_fd, &head, &pack) == TARN_OK && pack.count > 0 &&
        write_at(to_fd, TARN_BLACK_BOX_SCENE_AT, pack.bytes, pack.count) == TARN_OK) {
        memcpy(copy.scene, head.scene, sizeof copy.scene);
        copy.scene_bytes = pack.count;
        (void)write_at(to_fd, 0, &copy, sizeof copy);
    }
    tarn_box_bytes_free(&pack);
}

tarn_status tarn_box_fill(int fd, const tarn_box_state *state, uint32_t epoch, uint32_t number, const uint8_t *log,
                          size_t log_bytes, bool is_newest)
{
    tarn_black_box_head head = {.magic = TARN_BLACK_BOX_MAGIC,
                                .version = TARN_BLACK_BOX_VERSION,
                                .state_bytes_max = state->state_bytes_max,
                                .scene_bytes = state->pack.count,
                                .filled_bytes = is_newest ? log_bytes + 1 : 0,
                                .turn = TARN_BLACK_BOX_FILLED_TURN,
                                .counts = TARN_BLACK_BOX_FILLED_TURN << 1,
                                .epoch = epoch,
                                .number = number};
    TARN_ASSERT(log_bytes <= TARN_BLACK_BOX_LOG_BYTES && state->bytes.count <= state->state_bytes_max);
    memcpy(head.scene, state->scene, sizeof head.scene);
    head.halves[0].step = state->step;
    head.halves[0].state_bytes = state->bytes.count;
    head.halves[0].log_bytes = log_bytes;
    tarn_status status = ftruncate(fd, (off_t)tarn_black_box_bytes(state->state_bytes_max)) == 0 ? TARN_OK : TARN_E_IO;
    if (status == TARN_OK) {
        status = write_at(fd, tarn_black_box_log_at(0), log, log_bytes);
    }
    if (status == TARN_OK) {
        status =
            write_at(fd, tarn_black_box_state_at(0, state->state_bytes_max), state->bytes.bytes, state->bytes.count);
    }
    if (status == TARN_OK) {
        status = write_at(fd, TARN_BLACK_BOX_SCENE_AT, state->pack.bytes, state->pack.count);
    }
    return status == TARN_OK ? write_at(fd, 0, &head, sizeof head) : status;
}

static tarn_status put_number(int fd, size_t at, uint32_t number)
{
    const atomic_uint put = number;
    return write_at(fd, at, &put, sizeof put);
}

static tarn_status put_place(int fd, size_t at, uint64_t place)
{
    const atomic_uint_fast64_t put = place;
    return write_at(fd, at, &put, sizeof put);
}

void tarn_box_excuse(int fd)
{
    (void)put_number(fd, offsetof(tarn_black_box_head, is_busy), 0);
}

void tarn_box_killed(int fd, uint32_t weight)
{
    tarn_black_box_head head;
    // Where a state is loaded, at place 0, any tank spends much of its time, and takes no memory but its own.
    if (look(fd, &head) != TARN_OK || head.is_busy == 0 || head.place == 0) {
        tarn_box_excuse(fd);
        return;
    }
    const uint32_t kills = (head.place == head.killed_at ? head.kills : 0) + weight;
    (void)put_number(fd, offsetof(tarn_black_box_head, kills), kills);
    (void)put_place(fd, offsetof(tarn_black_box_head, killed_at), head.place);
    if (kills < TARN_BLACK_BOX_KILLS_MAX) {
        tarn_box_excuse(fd);
        return;
    }
    (void)put_place(fd, offsetof(tarn_black_box_head, died_at), head.place);
    if (head.deaths < TARN_BLACK_BOX_DEATHS_FULL) { // this one comes on top
        (void)put_number(fd, offsetof(tarn_black_box_head, deaths), TARN_BLACK_BOX_DEATHS_FULL);
    }
}

tarn_status tarn_box_set_epoch(int fd, uint32_t epoch)
{
    return write_at(fd, offsetof(tarn_black_box_head, epoch), &epoch, sizeof epoch);
}

tarn_status tarn_box_set_replay(int fd, uint64_t until)
{
    return write_at(fd, offsetof(tarn_black_box_head, replay_until), &until, sizeof until);
}
