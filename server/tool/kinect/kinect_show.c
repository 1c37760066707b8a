// Between the bridge and its page: a picture at most every PERIOD_NS, and commands that change a calibration of our own
// first, so that one that is refused changes nothing.
#include "server/tool/kinect/kinect_show.h"
#include "server/tool/kinect/kinect_say.h"
#include "server/tool/kinect/show_server.h"

#include <stdlib.h>

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
