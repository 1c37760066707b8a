// A file's rows become a box. Begin at fill_box.
#include "server/gateway/store_read.h"
#include "server/common/log.h"
#include "server/common/session_aside.h"
#include "server/gateway/store_words.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/// @return a descriptor of a box that a worker goes on from; 0: there is no memory
static int fill_box(const tarn_session_rest *rest, uint32_t epoch, bool is_newest)
{
    const int fd = memfd_create("tarn-tank", MFD_CLOEXEC);
    if (fd > 0 &&
        tarn_box_fill(fd, &rest->state, epoch, rest->number, rest->log.bytes, rest->log.count, is_newest) == TARN_OK) {
        return fd;
    }
    if (fd > 0) {
        close(fd);
    }
    return 0;
}

static void say_damage(const tarn_session_rest *rest, const char *label)
{
    if (rest->damaged > 0) {
        tarn_log_error("the file of \"%s\": %u part%s of it %s damaged; the tank is as it was before", label,
                       rest->damaged, rest->damaged == 1 ? "" : "s", rest->damaged == 1 ? "is" : "are");
    }
    if (rest->is_scene_damaged) {
        tarn_log_error("the file of \"%s\": its scene is damaged; the one of that name in the scenes' folder is taken",
                       label);
    }
}

tarn_status tarn_store_read(tarn_session_file *file, const char *name, size_t name_bytes, bool is_first,
                            tarn_store_found *found, tarn_text why)
{
    tarn_name label;
    static tarn_session_rest rest; // large, and one at a time
    tarn_status status = tarn_session_file_about(file, &found->about, why);
    if (status == TARN_OK &&
        (strlen(found->about.name) != name_bytes || memcmp(found->about.name, name, name_bytes) != 0)) {
        snprintf(why, sizeof(tarn_text), "%.80s: the session in it is another one by its name", name);
        return TARN_E_MALFORMED;
    }
    tarn_session_row first = {0};
    if (status == TARN_OK &&
        tarn_session_file_next_state(file, &first, why) == TARN_E_NOT_FOUND) { // it ended before its tank was made
        memcpy(found->scene, found->about.begun_as, sizeof found->scene);
        return TARN_OK;
    }
    if (status == TARN_OK) {
        status = tarn_session_file_rest(file, &rest, why);
    }
    if (status != TARN_OK) {
        return status == TARN_E_NOT_FOUND ? TARN_E_MALFORMED : status;
    }
    tarn_store_label(name, name_bytes, is_first || found->about.is_listed, 0, label);
    say_damage(&rest, label);
    found->epoch = rest.epoch + 1; // what viewers saw last may be lost
    memcpy(found->scene, rest.state.scene, sizeof found->scene);
    found->box_fd = fill_box(&rest, found->epoch, rest.damaged == 0);
    if (found->box_fd > 0) {
        found->pack = rest.state.pack;
        rest.state.pack = (tarn_box_bytes){0};
    } else {
        snprintf(why, sizeof(tarn_text), "%.80s: there is no memory for its tank", name);
        status = TARN_E_MEMORY;
    }
    tarn_session_rest_free(&rest);
    return status;
}

void tarn_store_read_older(tarn_session_file *file, const char *label, const char *reason, uint32_t epoch_min,
                           tarn_store_older *older)
{
    tarn_session_rest newest, rest;
    memset(older, 0, sizeof *older);
    if (tarn_session_file_rest(file, &newest, older->why) != TARN_OK) {
        return;
    }
    older->aside_step = newest.state.step;
    const tarn_status status = tarn_session_aside_put(file, newest.id, reason, older->why);
    tarn_session_rest_free(&newest);
    older->is_aside = status == TARN_OK;
    if (status != TARN_OK || tarn_session_file_rest(file, &rest, older->why) != TARN_OK) {
        return;
    }
    say_damage(&rest, label);
    older->epoch = rest.epoch + 1 > epoch_min ? rest.epoch + 1 : epoch_min;
    older->step = rest.state.step;
    memcpy(older->scene, rest.state.scene, sizeof older->scene);
    older->box_fd = fill_box(&rest, older->epoch, false);
    tarn_session_rest_free(&rest);
}
