// `tarn kinect`: its command line. The work is done in run.c.
#include "protocol/motion_code.h"
#include "server/base/options.h"
#include "server/base/text.h"
#include "server/tool/kinect/camera.h"
#include "server/tool/kinect/run.h"
#include "server/tool/tool.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_FRAMES = 256,
    OPTION_FREENECT,
    OPTION_V4L2,
    OPTION_OPENNI,
    OPTION_DEMO,
    OPTION_PIXELS,
    OPTION_LOOP,
    OPTION_FAST,
    OPTION_SESSION,
    OPTION_KEY,
    OPTION_NUMBER,
    OPTION_REGION,
    OPTION_PLACE,
    OPTION_DEPTH,
    OPTION_STRENGTH,
    OPTION_SOLID,
    OPTION_MIRROR,
    OPTION_ROTATE,
    OPTION_CORNERS,
    OPTION_GRID,
    OPTION_VIEW,
    OPTION_NEAR,
    OPTION_FAR,
    OPTION_DEAD_ZONE,
    OPTION_HALF_LIFE,
    OPTION_LEARN,
    OPTION_REST,
    OPTION_RATE,
    OPTION_SHOW,
    OPTION_CALIBRATION,
};

enum { SHOW_PORT = 8090 };

typedef struct kinect_arguments {
    kinect_options options;
    uint32_t sources; ///< that were named
    uint32_t given;   ///< fields of a calibration that have an option here, KINECT_FIELD_*
    const char *url;
} kinect_arguments;

static const struct argp_option option_list[] = {
    {"frames", OPTION_FRAMES, "FOLDER", 0, "A recording, as fakenect-record writes it", 0},
    {"freenect", OPTION_FREENECT, "N", 0, "The Kinect v1 number N, 0 to 15, through libfreenect", 0},
    {"v4l2", OPTION_V4L2, "DEVICE", 0, "A depth camera with the pixel format Z16, such as /dev/video2", 0},
    {"openni", OPTION_OPENNI, "N", 0, "The OpenNI 2 camera number N, 0 to 15, or a recording FILE.oni", 0},
    {"demo", OPTION_DEMO, NULL, 0, "No camera: somebody who is made up walks before the wall and swings both arms", 0},
    {"pixels", OPTION_PIXELS, "KIND", 0,
     "What the 16 bits of a recording's pixels hold: raw (a Kinect's 11 bits, as fakenect-record writes them; default) "
     "or "
     "mm, raw-be or mm-be where the high byte comes first",
     0},
    {"loop", OPTION_LOOP, NULL, 0, "Begin the recording again at its end", 0},
    {"fast", OPTION_FAST, NULL, 0, "Play the recording as fast as it goes", 0},
    {"url", 'u', "URL", 0,
     "The server: HOST, HOST:PORT, ws://HOST:PORT/ws or wss://HOST:PORT/ws (default 127.0.0.1:8080)", 1},
    {"session", OPTION_SESSION, "NAME", 0, "The session to join (default: the server's default session)", 1},
    {"key", OPTION_KEY, "KEY", 0, "The key of a link for playing, or a token; without it a guest's role counts", 1},
    {"camera", OPTION_NUMBER, "N", 0, "Number of this camera where one viewer has several, 0 to 3 (default 0)", 1},
    {"region", OPTION_REGION, "X,Y,W,H", 0,
     "The rectangle that the picture fills: left, bottom, width and height in metres (default: all of the tank's "
     "front)",
     2},
    {"place", OPTION_PLACE, "Z", 0, "Metres of that rectangle from the tank's back (default: its front)", 2},
    {"depth", OPTION_DEPTH, "M", 0, "It acts so far to either side of it, 0 (all of the tank) to 1000 m (default 0)",
     2},
    {"strength", OPTION_STRENGTH, "S", 0, "How firmly the fluid goes along, 0 to 1 (default 0.5)", 2},
    {"solid", OPTION_SOLID, NULL, 0, "Who stands still is in the way, too: the fluid rests where they are", 2},
    {"mirror", OPTION_MIRROR, NULL, 0, "The camera is at the wall and looks at those who face it", 3},
    {"rotate", OPTION_ROTATE, "DEG", 0, "Turn the picture clockwise by 0, 90, 180 or 270 degrees (default 0)", 3},
    {"corners", OPTION_CORNERS, "X,Y,...", 0,
     "The wall's corners in the picture, in pixels: top left, top right, bottom right, bottom left; or a JSON file "
     "with "
     "\"corners_px\" (default: the picture's corners)",
     3},
    {"grid", OPTION_GRID, "CxR", 0, "Columns and rows to send, at most 160x120 (default 80x60)", 3},
    {"view", OPTION_VIEW, "DEG", 0, "The camera's horizontal angle of view, 10 to 120 (default 57, a Kinect v1's)", 4},
    {"near", OPTION_NEAR, "M", 0, "What is nearer is nobody, 0.2 to 10 m (default 0.5)", 4},
    {"far", OPTION_FAR, "M", 0, "What is farther is nobody, 0.2 to 10 m (default 4)", 4},
    {"dead-zone", OPTION_DEAD_ZONE, "M/S", 0, "Slower motion is none, 0 to 2 m/s (default 0.1)", 4},
    {"half-life", OPTION_HALF_LIFE, "S", 0, "Of the blur over time, 0 (none) to 5 s (default 0.02)", 4},
    {"learn", OPTION_LEARN, "S", 0, "How long the empty scene is looked at first, 0 to 60 s (default 1)", 4},
    {"rest", OPTION_REST, "S", 0, "What hasn't moved for so long is furniture, 5 to 3600 s (default 60)", 4},
    {"rate", OPTION_RATE, "N", 0, "Messages a second at most, 4 to 60 (default 30)", 5},
    {"show", OPTION_SHOW, "PORT", OPTION_ARG_OPTIONAL,
     "A page for setting the camera up, for browsers on this machine: what it sees, what is sent, where the wall is; "
     "PORT is 0 (any) to 65535 (default 8090)",
     5},
    {"calibration", OPTION_CALIBRATION, "FILE", 0,
     "Corners, limits, mirror and rotation as the page of --show saves them; options here come before the file", 5},
    {"quiet", 'q', NULL, 0, "No status line", 5},
    {0},
};

static float number(struct argp_state *state, const char *option, const char *text, double min, double max)
{
    char *end;
    errno = 0;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || errno != 0 || !(value >= min && value <= max)) {
        argp_error(state, "--%s: found \"%s\", allowed is a number from %g to %g", option, text, min, max);
    }
    return (float)value;
}

static void name_source(kinect_arguments *arguments, depth_kind kind, const char *path, uint32_t index)
{
    arguments->options.source.kind = kind;
    arguments->options.source.path = path;
    arguments->options.source.index = index;
    arguments->sources++;
}

static void read_region(struct argp_state *state, const char *text, kinect_options *options)
{
    float *r = options->region_m;
    int end = 0;
    if (sscanf(text, "%f,%f,%f,%f%n", &r[0], &r[1], &r[2], &r[3], &end) != 4 || text[end] != '\0' ||
        !(fabsf(r[0]) <= 1000) || !(fabsf(r[1]) <= 1000) || !(r[2] >= 0.01f && r[2] <= 1000) ||
        !(r[3] >= 0.01f && r[3] <= 1000)) {
        argp_error(
            state,
            "--region: found \"%s\", allowed are X,Y,W,H: two numbers from -1000 to 1000 and two from 0.01 to 1000",
            text);
    }
    options->has_region = true;
}

static void read_grid(struct argp_state *state, const char *text, motion_wall_settings *wall)
{
    unsigned columns = 0, rows = 0;
    int end = 0;
    if (sscanf(text, "%9ux%9u%n", &columns, &rows, &end) != 2 || text[end] != '\0' || columns < 1 ||
        columns > TARN_MOTION_COLUMNS_MAX || rows < 1 || rows > TARN_MOTION_ROWS_MAX) {
        argp_error(state, "--grid: found \"%s\", allowed are 1x1 to %dx%d", text, TARN_MOTION_COLUMNS_MAX,
                   TARN_MOTION_ROWS_MAX);
    }
    wall->columns = columns;
    wall->rows = rows;
}

static void read_word(struct argp_state *state, const char *option, const char *text, char *to, size_t bytes)
{
    if (!tarn_is_printable(text)) {
        argp_error(state, "--%s: found a character that isn't for reading, allowed are those that are", option);
    }
    if (text[0] == '\0' || strlen(text) >= bytes) {
        argp_error(state, "--%s: found \"%s\", allowed are 1 to %zu bytes", option, text, bytes - 1);
    }
    snprintf(to, bytes, "%s", text);
}

static void read_corners(struct argp_state *state, const char *text, motion_wall_settings *wall)
{
    char why[KINECT_CALIBRATION_WHY_BYTES];
    if (!kinect_calibration_read(text, wall->corners, why)) {
        argp_error(state, "--corners: %s", why);
    }
    wall->has_corners = true;
}

static void read_pixels(struct argp_state *state, const char *text, depth_choice *source)
{
    for (int kind = 0; kind < DEPTH_PIXELS_COUNT; kind++) {
        if (strcmp(text, depth_pixels_names[kind]) == 0) {
            source->pixels = (depth_pixels)kind;
            return;
        }
    }
    argp_error(state, "--pixels: found \"%s\", allowed are raw, raw-be, mm and mm-be", text);
}

/// Options that say where the picture goes. @return whether it was one
static bool parse_wall(int key, char *text, struct argp_state *state, kinect_arguments *arguments)
{
    kinect_options *options = &arguments->options;
    switch (key) {
    case OPTION_REGION:
        read_region(state, text, options);
        return true;
    case OPTION_PLACE:
        options->place_m = number(state, "place", text, -1000, 1000);
        options->has_place = true;
        return true;
    case OPTION_DEPTH:
        options->depth_m = number(state, "depth", text, 0, 1000);
        return true;
    case OPTION_STRENGTH:
        options->strength = number(state, "strength", text, 0, 1);
        return true;
    case OPTION_SOLID:
        options->solid = true;
        return true;
    case OPTION_MIRROR:
        options->wall.mirror = true;
        arguments->given |= KINECT_FIELD_MIRROR;
        return true;
    case OPTION_ROTATE: {
        const long degrees = tarn_option_number(state, "rotate", text, 0, 270);
        if (degrees % 90 != 0) {
            argp_error(state, "--rotate: found %ld, allowed are 0, 90, 180 and 270", degrees);
        }
        options->wall.turns = (uint32_t)(degrees / 90);
        arguments->given |= KINECT_FIELD_ROTATE;
        return true;
    }
    case OPTION_CORNERS:
        read_corners(state, text, &options->wall);
        arguments->given |= KINECT_FIELD_CORNERS;
        return true;
    case OPTION_GRID:
        read_grid(state, text, &options->wall);
        return true;
    default:
        return false;
    }
}

/// Options that say what motion is. @return whether it was one
static bool parse_motion(int key, char *text, struct argp_state *state, kinect_arguments *arguments)
{
    motion_settings *motion = &arguments->options.motion;
    switch (key) {
    case OPTION_VIEW:
        motion->view_deg = number(state, "view", text, 10, 120);
        return true;
    case OPTION_NEAR:
        motion->near_m = number(state, "near", text, 0.2, 10);
        arguments->given |= KINECT_FIELD_NEAR;
        return true;
    case OPTION_FAR:
        motion->far_m = number(state, "far", text, 0.2, 10);
        arguments->given |= KINECT_FIELD_FAR;
        return true;
    case OPTION_DEAD_ZONE:
        motion->dead_zone_m_s = number(state, "dead-zone", text, 0, 2);
        arguments->given |= KINECT_FIELD_DEAD_ZONE;
        return true;
    case OPTION_HALF_LIFE:
        motion->half_life_s = number(state, "half-life", text, 0, 5);
        return true;
    case OPTION_LEARN:
        motion->learn_s = number(state, "learn", text, 0, 60);
        return true;
    case OPTION_REST:
        motion->rest_s = number(state, "rest", text, 5, 3600);
        return true;
    default:
        return false;
    }
}

/// What the file says and no option does. A file that isn't there is one that the page may make.
static void take_calibration(struct argp_state *state, kinect_arguments *arguments)
{
    kinect_options *o = &arguments->options;
    char why[KINECT_CALIBRATION_WHY_BYTES];
    kinect_calibration calibration = {.has_corners = o->wall.has_corners,
                                      .near_m = o->motion.near_m,
                                      .far_m = o->motion.far_m,
                                      .dead_zone_m_s = o->motion.dead_zone_m_s,
                                      .mirror = o->wall.mirror,
                                      .turns = o->wall.turns};
    memcpy(calibration.corners, o->wall.corners, sizeof calibration.corners);
    const tarn_status status = kinect_calibration_load(&calibration, o->calibration, arguments->given, why);
    if (status != TARN_OK && !(status == TARN_E_NOT_FOUND && o->show)) {
        argp_error(state, "--calibration: %s", why);
    }
    o->wall.has_corners = calibration.has_corners;
    memcpy(o->wall.corners, calibration.corners, sizeof o->wall.corners);
    o->motion.near_m = calibration.near_m;
    o->motion.far_m = calibration.far_m;
    o->motion.dead_zone_m_s = calibration.dead_zone_m_s;
    o->wall.mirror = calibration.mirror;
    o->wall.turns = calibration.turns;
}

static void check(struct argp_state *state, kinect_arguments *arguments)
{
    kinect_options *options = &arguments->options;
    char why[LOAD_TARGET_WHY_BYTES];
    if (arguments->sources != 1) {
        argp_error(state,
                   "found %u sources of depth, allowed is one of --frames, --freenect, --v4l2, --openni and "
                   "--demo",
                   arguments->sources);
    }
    if (depth_kind_missing(options->source.kind) != NULL) {
        argp_error(state, "--%s: %s", options->source.kind == DEPTH_OPENNI ? "openni" : "freenect",
                   depth_kind_missing(options->source.kind));
    }
    const bool is_folder = options->source.kind == DEPTH_FOLDER;
    if (options->source.loop && !is_folder && !(options->source.kind == DEPTH_OPENNI && options->source.path != NULL)) {
        argp_error(state, "found --loop, allowed with --frames and with a recording of --openni only");
    }
    if ((options->source.fast || options->source.pixels != DEPTH_PIXELS_RAW) && !is_folder) {
        argp_error(state, "found --%s, allowed with --frames only", options->source.fast ? "fast" : "pixels");
    }
    if (options->calibration != NULL) {
        take_calibration(state, arguments);
    }
    if (options->motion.near_m >= options->motion.far_m) {
        argp_error(state, "found --near %g and --far %g, allowed is a near limit below the far one",
                   (double)options->motion.near_m, (double)options->motion.far_m);
    }
    if (!load_target_find(arguments->url, &options->target, why)) {
        argp_error(state, "--url: %s", why);
    }
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    kinect_arguments *arguments = state->input;
    kinect_options *options = &arguments->options;
    if (parse_wall(key, text, state, arguments) || parse_motion(key, text, state, arguments)) {
        return 0;
    }
    switch (key) {
    case OPTION_FRAMES:
        name_source(arguments, DEPTH_FOLDER, text, 0);
        return 0;
    case OPTION_FREENECT:
        name_source(arguments, DEPTH_FREENECT, NULL,
                    (uint32_t)tarn_option_number(state, "freenect", text, 0, DEPTH_DEVICES_MAX - 1));
        return 0;
    case OPTION_V4L2:
        name_source(arguments, DEPTH_V4L2, text, 0);
        return 0;
    case OPTION_OPENNI: {
        const bool is_file = strchr(text, '.') != NULL || strchr(text, '/') != NULL;
        name_source(arguments, DEPTH_OPENNI, is_file ? text : NULL,
                    is_file ? 0 : (uint32_t)tarn_option_number(state, "openni", text, 0, DEPTH_DEVICES_MAX - 1));
        return 0;
    }
    case OPTION_DEMO:
        name_source(arguments, DEPTH_DEMO, NULL, 0);
        return 0;
    case OPTION_PIXELS:
        read_pixels(state, text, &options->source);
        return 0;
    case OPTION_LOOP:
        options->source.loop = true;
        return 0;
    case OPTION_FAST:
        options->source.fast = true;
        return 0;
    case 'u':
        arguments->url = text;
        return 0;
    case OPTION_SESSION:
        read_word(state, "session", text, options->session, sizeof options->session);
        return 0;
    case OPTION_KEY:
        read_word(state, "key", text, options->key, sizeof options->key);
        return 0;
    case OPTION_NUMBER:
        options->number = (uint32_t)tarn_option_number(state, "camera", text, 0, TARN_MOTION_SOURCES_MAX - 1);
        return 0;
    case OPTION_RATE:
        options->rate = (uint32_t)tarn_option_number(state, "rate", text, 4, 60);
        return 0;
    case OPTION_SHOW:
        options->show = true;
        options->show_port = (uint16_t)(text != NULL ? tarn_option_number(state, "show", text, 0, 65535) : SHOW_PORT);
        return 0;
    case OPTION_CALIBRATION:
        options->calibration = text;
        return 0;
    case 'q':
        options->quiet = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "found \"%s\", allowed are options only", text);
        return 0;
    case ARGP_KEY_END:
        check(state, arguments);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int tool_kinect(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_list,
        .parser = parse,
        .doc =
            "Lets people before a depth camera move a tank's fluid.\v"
            "It looks at the empty scene for a second, then finds who is there and how they move, and sends that to a "
            "session as a viewer who plays. The camera's picture fills --region; --corners says where in the picture "
            "the wall is, and --show has a page for finding that out. Where the server goes away, or the camera, it "
            "waits until they are back; a recording's end is the end. A status line on a "
            "terminal says how many frames come, what is sent and after how long a frame of the server has it. An "
            "interrupt ends it, with status 0; the status is 1 where it couldn't go on, and 2 for wrong options.",
    };
    kinect_arguments arguments = {
        .options = {.command = argv[0],
                    .strength = 0.5f,
                    .rate = 30,
                    .motion = motion_settings_usual,
                    .wall = {.columns = 80, .rows = 60},
                    .interrupted = tool_interrupted},
        .url = "127.0.0.1:8080",
    };
    tarn_options_parse(&argp, argc, argv, 0, &arguments);
    tool_catch_interrupts();
    signal(SIGPIPE, SIG_IGN);
    return kinect_run(&arguments.options);
}
