// Between the bridge and its page for setting a camera up: what they say to each other, and the bridge's side of it.
#include "server/tool/kinect/show.h"
#include "server/base/text.h"
#include "server/tool/kinect/run.h"
#include "server/tool/kinect/show_server.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- what the bridge and its page say to each other ----
// Pictures byte by byte, texts by jansson; strings that come from outside are made printable first, which makes them
// UTF-8.

enum { VERSION = 1, FLAG_LEARNING = 1, FLAG_GOES_OUT = 2, WORD_BYTES = 1024 };

static const float speed_least_m_s = 0.5f; ///< for 127, so that noise stays dark

static const char *const names[] = {[SHOW_LOOK] = "look", [SHOW_APPLY] = "apply", [SHOW_SAVE] = "save"};

static uint8_t *put_16(uint8_t *to, uint32_t value)
{
    to[0] = (uint8_t)value;
    to[1] = (uint8_t)(value >> 8);
    return to + 2;
}

static uint8_t *put_32(uint8_t *to, uint32_t value)
{
    return put_16(put_16(to, value & 0xffff), value >> 16);
}

static uint8_t *put_float(uint8_t *to, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return put_32(to, bits);
}

static uint8_t *put_plane(uint8_t *to, const uint8_t *plane, size_t count)
{
    if (count > 0) {
        memcpy(to, plane, count);
    }
    return to + count;
}

static float fastest_of(const motion_result *result, size_t count)
{
    float fastest = speed_least_m_s;
    for (size_t i = 0; i < 3 * count; i++) {
        fastest = fmaxf(fastest, fabsf(result->velocity[i]));
    }
    return fastest;
}

/// Writes a picture. @return its bytes; 0: the motion has more cells than any camera's
static size_t show_message_picture(const show_planes *planes, const motion_result *result, const show_grid *grid,
                                   uint32_t number, uint8_t bytes[SHOW_PICTURE_BYTES_MAX])
{
    const size_t depth_count = (size_t)planes->columns * planes->rows;
    const size_t motion_count = (size_t)result->columns * result->rows;
    const size_t grid_count = (size_t)grid->columns * grid->rows;
    if (motion_count > SHOW_MOTION_CELLS_MAX) {
        return 0;
    }
    const float fastest = fastest_of(result, motion_count);
    uint8_t *at = bytes;
    *at++ = VERSION;
    *at++ = (uint8_t)((result->learning ? FLAG_LEARNING : 0) | (grid->goes_out ? FLAG_GOES_OUT : 0));
    *at++ = (uint8_t)result->person_count;
    *at++ = 0;
    at = put_16(put_16(at, planes->width), planes->height);
    at = put_16(put_16(at, planes->columns), planes->rows);
    at = put_16(put_16(at, result->columns), result->rows);
    at = put_16(put_16(at, grid->columns), grid->rows);
    at = put_float(put_float(at, fastest), grid->speed_m_s);
    at = put_32(at, number);
    at = put_plane(at, planes->depth, depth_count);
    at = put_plane(at, planes->difference, depth_count);
    for (size_t i = 0; i < motion_count; i++) {
        *at++ = (uint8_t)lroundf(255 * fminf(fmaxf(result->presence[i], 0), 1));
    }
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < motion_count; i++) {
            *at++ = (uint8_t)(int8_t)lroundf(127 * result->velocity[3 * i + k] / fastest);
        }
    }
    at = put_plane(at, grid->planes, TARN_MOTION_PLANES * grid_count);
    return (size_t)(at - bytes);
}

/// Takes the object over. @return its bytes; 0: out of memory
static size_t print(json_t *object, char text[SHOW_TEXT_BYTES_MAX])
{
    const size_t bytes = object != NULL ? json_dumpb(object, text, SHOW_TEXT_BYTES_MAX, JSON_COMPACT) : 0;
    json_decref(object);
    return bytes <= SHOW_TEXT_BYTES_MAX ? bytes : 0;
}

static const char *printable(const char *from, char to[WORD_BYTES])
{
    snprintf(to, WORD_BYTES, "%s", from);
    tarn_make_printable(to);
    return to;
}

size_t show_message_figures(const show_figures *f, char text[SHOW_TEXT_BYTES_MAX])
{
    char camera[WORD_BYTES], link[WORD_BYTES];
    json_t *latency = f->latency_ms >= 0 ? json_real(f->latency_ms) : json_null();
    return print(json_pack("{s:s, s:f, s:f, s:i, s:i, s:i, s:f, s:f, s:o, s:s, s:s}", "is", "figures", "frames_s",
                           f->frames_s, "find_ms", f->find_ms, "wrong", (int)f->wrong, "people", (int)f->people,
                           "cells", (int)f->cells, "sent_s", f->sent_s, "bits_s", f->bits_s, "latency_ms", latency,
                           "camera", printable(f->camera, camera), "link", printable(f->link, link)),
                 text);
}

size_t show_message_setup(const kinect_calibration *calibration, const char *file, char text[SHOW_TEXT_BYTES_MAX])
{
    char own[KINECT_CALIBRATION_TEXT_BYTES], word[WORD_BYTES];
    const size_t bytes = kinect_calibration_print(calibration, own);
    json_t *setup = json_loadb(own, bytes, 0, NULL);
    return print(json_pack("{s:s, s:o, s:s?}", "is", "setup", "setup", setup, "file",
                           file != NULL ? printable(file, word) : NULL),
                 text);
}

/// @param why  a sentence; NULL: it was done
static size_t show_message_answer(show_do what, const char *why, char text[SHOW_TEXT_BYTES_MAX])
{
    char word[WORD_BYTES];
    return print(json_pack("{s:s, s:s, s:s?}", "is", "answer", "to", names[what], "error",
                           why != NULL ? printable(why, word) : NULL),
                 text);
}

/// @return whether "do" names something that there is
static bool read_do(const json_t *root, show_do *what)
{
    const char *name = json_string_value(json_object_get(root, "do"));
    for (size_t i = 0; name != NULL && i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0) {
            *what = (show_do)i;
            return true;
        }
    }
    return false;
}

bool show_message_read(const char *text, size_t bytes, kinect_calibration *calibration, show_do *what,
                       char why[KINECT_CALIBRATION_WHY_BYTES])
{
    char found[KINECT_CALIBRATION_WHY_BYTES];
    json_error_t error;
    *what = SHOW_APPLY;
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL) {
        snprintf(why, KINECT_CALIBRATION_WHY_BYTES, "the message isn't JSON: %.200s", error.text);
        return false;
    }
    bool right = read_do(root, what);
    if (!right) {
        snprintf(why, KINECT_CALIBRATION_WHY_BYTES, "do: found something else, allowed are look, apply and save");
    } else if (*what != SHOW_LOOK) {
        right = kinect_calibration_change(calibration, json_object_get(root, "setup"), 0, found);
        if (!right) {
            snprintf(why, KINECT_CALIBRATION_WHY_BYTES, "setup: %.400s", found);
        }
    }
    json_decref(root);
    return right;
}

// ---- the bridge's side ----
// A picture at most every period_ns, and commands that change a calibration of our own first, so that one that is
// refused changes nothing.

static const uint64_t period_ns = 100000000;
static const uint64_t moment_ns = 1000000000; ///< after the last picture

struct kinect_show {
    kinect_show_choice choice;
    kinect_calibration calibration;
    show_server *server;
    uint64_t next_ns; ///< no picture goes before
    uint32_t pictures;
};

static void tell_setup(kinect_show *show)
{
    char text[SHOW_TEXT_BYTES_MAX];
    const size_t bytes = show_message_setup(&show->calibration, show->choice.file, text);
    show_server_setup(show->server, text, bytes);
}

static const char *save(kinect_show *show, char why[KINECT_CALIBRATION_WHY_BYTES])
{
    if (show->choice.file == NULL) {
        return "found no file to save to; --calibration FILE names one when the program starts";
    }
    return kinect_calibration_save(&show->calibration, show->choice.file, why) == TARN_OK ? NULL : why;
}

static size_t on_command(void *user, const char *text, size_t bytes, char answer[SHOW_TEXT_BYTES_MAX], bool *looks)
{
    kinect_show *show = user;
    kinect_calibration changed = show->calibration;
    char why[KINECT_CALIBRATION_WHY_BYTES];
    show_do what;
    if (!show_message_read(text, bytes, &changed, &what, why)) {
        return show_message_answer(what, why, answer);
    }
    if (what == SHOW_LOOK) {
        *looks = true;
        return 0;
    }
    show->calibration = changed;
    show->choice.changed(show->choice.user, &changed);
    tell_setup(show);
    return show_message_answer(what, what == SHOW_SAVE ? save(show, why) : NULL, answer);
}

kinect_show *kinect_show_open(uv_loop_t *loop, const kinect_show_choice *choice, const kinect_calibration *calibration)
{
    char why[KINECT_CALIBRATION_WHY_BYTES] = "out of memory";
    kinect_show *show = calloc(1, sizeof *show);
    if (show != NULL) {
        show->choice = *choice;
        show->calibration = *calibration;
        show->server = show_server_open(loop, choice->port, &(show_owner){show, on_command}, why);
    }
    if (show == NULL || show->server == NULL) {
        kinect_say(choice->command, "--show: %s", why);
        free(show);
        return NULL;
    }
    tell_setup(show);
    kinect_say(choice->command, "the page for setting the camera up is http://127.0.0.1:%u/",
               show_server_port(show->server));
    return show;
}

bool kinect_show_looks(const kinect_show *show, uint64_t now_ns)
{
    return show != NULL &&
           (show_server_waits(show->server) || (show->pictures > 0 && now_ns < show->next_ns + moment_ns));
}

bool kinect_show_due(const kinect_show *show, uint64_t now_ns)
{
    return show != NULL && show_server_waits(show->server) && now_ns >= show->next_ns;
}

void kinect_show_picture(kinect_show *show, const show_planes *planes, const motion_result *result,
                         const show_grid *grid, uint64_t now_ns)
{
    const size_t bytes = show_message_picture(planes, result, grid, ++show->pictures, show_server_room(show->server));
    if (bytes > 0) {
        show_server_picture(show->server, bytes);
    }
    show->next_ns = (show->next_ns + period_ns > now_ns ? show->next_ns : now_ns - period_ns) + period_ns;
}

void kinect_show_figures(kinect_show *show, const show_figures *figures)
{
    char text[SHOW_TEXT_BYTES_MAX];
    if (show != NULL) {
        const size_t bytes = show_message_figures(figures, text);
        show_server_figures(show->server, text, bytes);
    }
}

void kinect_show_close(kinect_show *show)
{
    if (show != NULL) {
        show_server_close(show->server);
    }
}

void kinect_show_free(kinect_show *show)
{
    if (show != NULL) {
        show_server_free(show->server);
        free(show);
    }
}
