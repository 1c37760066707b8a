#include "server/tool/load/load_check.h"

#include <stdlib.h>

void load_checks_init(load_checks *checks, uv_loop_t *loop, void (*done)(void *user, tarn_status status), void *user)
{
    *checks = (load_checks){.loop = loop, .done = done, .user = user};
    for (int i = 0; i < LOAD_CHECKS_AT_ONCE; i++) {
        checks->checks[i].checks = checks;
        checks->checks[i].work.data = &checks->checks[i];
    }
}

void load_checks_free(load_checks *checks)
{
    for (int i = 0; i < LOAD_CHECKS_AT_ONCE; i++) {
        free(checks->checks[i].bytes);
        load_frame_room_free(&checks->checks[i].room);
    }
}

static load_check *find_idle(load_checks *checks)
{
    for (int i = 0; i < LOAD_CHECKS_AT_ONCE; i++) {
        if (!checks->checks[i].used) {
            return &checks->checks[i];
        }
    }
    return NULL;
}

load_check *load_check_take(load_checks *checks, size_t byte_count)
{
    load_check *check = find_idle(checks);
    if (check == NULL) {
        return NULL;
    }
    if (check->room_bytes < byte_count) {
        free(check->bytes);
        check->bytes = malloc(byte_count);
        check->room_bytes = check->bytes != NULL ? byte_count : 0;
    }
    if (check->bytes == NULL) {
        return NULL;
    }
    check->byte_count = byte_count;
    check->used = true;
    return check;
}

static void work(uv_work_t *request)
{
    load_check *check = request->data;
    check->status = load_frame_check(check->bytes, check->byte_count, &check->room);
}

static void after_work(uv_work_t *request, int status)
{
    load_check *check = request->data;
    check->used = false;
    if (status == 0) {
        check->checks->done(check->checks->user, check->status);
    }
}

void load_check_run(load_check *check)
{
    if (uv_queue_work(check->checks->loop, &check->work, work, after_work) != 0) {
        load_check_drop(check);
    }
}

void load_check_drop(load_check *check)
{
    check->used = false;
}
