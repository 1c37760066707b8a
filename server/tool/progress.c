// A line that is drawn over itself on a terminal, and one now and then elsewhere.
#include "server/tool/progress.h"

#include "server/tool/tool.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BAR_COLUMNS_MAX = 40, TEXT_COLUMNS = 54 };
static const double BAR_INTERVAL_S = 0.1;

void progress_start(progress *p, uint32_t first, uint32_t steps, double dt_s, bool quiet)
{
    double now_s = tool_now_s();
    *p = (progress){.first = first,
                    .steps = steps,
                    .dt_s = dt_s,
                    .start_s = now_s,
                    .shown_tenth = steps > 0 ? (uint32_t)(10.0 * first / steps) : 0,
                    .quiet = quiet,
                    .terminal = isatty(STDERR_FILENO)};
}

static double realtime_factor(const progress *p, uint32_t step, double now_s)
{
    const double spent_s = now_s - p->start_s - p->aside_s;
    return spent_s > 0 ? (step - p->first) * p->dt_s / spent_s : 0;
}

static void draw_bar(progress *p, uint32_t step, double now_s)
{
    struct winsize size;
    int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
    int bar = columns - TEXT_COLUMNS;
    bar = bar > BAR_COLUMNS_MAX ? BAR_COLUMNS_MAX : bar < 0 ? 0 : bar;
    int full = (int)((double)bar * step / p->steps);
    char done[BAR_COLUMNS_MAX + 1], rest[BAR_COLUMNS_MAX + 1];
    memset(done, '#', sizeof done);
    memset(rest, '.', sizeof rest);
    double left_s = step > p->first ? (now_s - p->start_s) / (step - p->first) * (p->steps - step) : 0;
    // Cut to the terminal: a bar that wraps would scroll.
    char line[160];
    snprintf(line, sizeof line, "[%.*s%.*s] %3d %%  step %u/%u  %.2f x real time  %.0f s left", full, done, bar - full,
             rest, (int)(100.0 * step / p->steps), step, p->steps, realtime_factor(p, step, now_s), left_s);
    fprintf(stderr, "\r%.*s\033[K", columns - 1, line);
    fflush(stderr);
    p->shown_s = now_s;
}

void progress_show(progress *p, uint32_t step)
{
    if (p->quiet) {
        return;
    }
    double now_s = tool_now_s();
    if (p->terminal) {
        if (now_s - p->shown_s >= BAR_INTERVAL_S || step == p->steps) {
            draw_bar(p, step, now_s);
        }
        return;
    }
    uint32_t tenth = (uint32_t)(10.0 * step / p->steps);
    if (tenth > p->shown_tenth) {
        p->shown_tenth = tenth;
        fprintf(stderr, "step %u of %u, %.2f s simulated, %.2f x real time\n", step, p->steps, step * p->dt_s,
                realtime_factor(p, step, now_s));
    }
}

void progress_end(progress *p)
{
    if (!p->quiet && p->terminal) {
        fprintf(stderr, "\r\033[K");
    }
}
