// What the terminal is told to do, and undone: start at take and give_back. Signals only set flags; the wait, which
// they interrupt, acts on them.
#include "server/tool/top/top_screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define OTHER_SCREEN "\033[?1049h"
#define FIRST_SCREEN "\033[?1049l"
#define HIDE_CURSOR "\033[?25l"
#define SHOW_CURSOR "\033[?25h"
#define HOME "\033[H"
#define CLEAR_LINE "\033[K"
#define CLEAR_REST "\033[J"

static volatile sig_atomic_t interrupted, stopped;
static bool is_terminal, has_keys;
static struct termios found;

static void on_signal(int number)
{
    if (number == SIGTSTP) {
        stopped = 1;
    } else {
        interrupted = 1;
    }
}

static void take(void)
{
    if (has_keys) {
        struct termios keys = found;
        keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        keys.c_cc[VMIN] = 1;
        keys.c_cc[VTIME] = 0;
        tcsetattr(STDIN_FILENO, TCSANOW, &keys);
    }
    if (is_terminal) {
        fputs(OTHER_SCREEN HIDE_CURSOR HOME CLEAR_REST, stdout);
        fflush(stdout);
    }
}

static void give_back(void)
{
    if (is_terminal) {
        fputs(SHOW_CURSOR FIRST_SCREEN, stdout);
        fflush(stdout);
    }
    if (has_keys) {
        tcsetattr(STDIN_FILENO, TCSANOW, &found);
    }
}

void top_screen_open(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
    struct sigaction action = {.sa_handler = on_signal};
    is_terminal = isatty(STDOUT_FILENO);
    has_keys = is_terminal && isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &found) == 0;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        sigaction(numbers[i], &action, NULL);
    }
    take();
}

void top_screen_close(void)
{
    give_back();
    is_terminal = has_keys = false;
}

bool top_screen_is_interrupted(void)
{
    return interrupted != 0;
}

bool top_screen_is_terminal(void)
{
    return is_terminal;
}

static struct winsize window(void)
{
    struct winsize size = {0};
    if (is_terminal) {
        ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    }
    return size;
}

uint32_t top_screen_rows(void)
{
    return window().ws_row;
}

/// The bytes of so many characters of a line, at most.
static size_t bytes_of(const char *line, size_t bytes, unsigned columns)
{
    size_t at = 0;
    for (unsigned count = 0; at < bytes && count < columns; count++) {
        do {
            at++;
        } while (at < bytes && ((unsigned char)line[at] & 0xc0) == 0x80);
    }
    return at;
}

void top_screen_show(const char *text)
{
    const unsigned columns = window().ws_col;
    if (!is_terminal) {
        fputs(text, stdout);
        fflush(stdout);
        return;
    }
    fputs(HOME, stdout);
    while (*text != '\0') {
        const size_t bytes = strcspn(text, "\n");
        fwrite(text, 1, columns > 0 ? bytes_of(text, bytes, columns) : bytes, stdout);
        fputs(CLEAR_LINE "\r\n", stdout);
        text += bytes + (text[bytes] == '\n');
    }
    fputs(CLEAR_REST, stdout);
    fflush(stdout);
}

/// Ctrl-Z: the shell gets its terminal as it was, and the table comes back with the program.
static void stop_for_a_while(void)
{
    stopped = 0;
    give_back();
    raise(SIGSTOP);
    take();
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/// @return whether somebody pressed q
static bool read_keys(void)
{
    char keys[64];
    const ssize_t got = read(STDIN_FILENO, keys, sizeof keys);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) {
        has_keys = false; // nobody is there any more
    }
    return got > 0 && (memchr(keys, 'q', (size_t)got) != NULL || memchr(keys, 'Q', (size_t)got) != NULL);
}

top_screen_event top_screen_wait(uint32_t wait_ms)
{
    const uint64_t until_ms = now_ms() + wait_ms;
    for (;;) {
        const uint64_t now = now_ms();
        struct pollfd pollfd = {.fd = STDIN_FILENO, .events = POLLIN};
        if (interrupted) {
            return TOP_SCREEN_INTERRUPTED;
        }
        if (stopped) {
            stop_for_a_while();
        }
        if (now >= until_ms) {
            return TOP_SCREEN_TIME;
        }
        const int slice_ms = until_ms - now < 100 ? (int)(until_ms - now) : 100; // a signal may come just before
        if (poll(&pollfd, has_keys ? 1 : 0, slice_ms) > 0 && read_keys()) {
            return TOP_SCREEN_QUIT;
        }
    }
}
