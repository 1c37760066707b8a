/// What the programs' command lines and environments share: numbers and amounts, options and variables that aren't
/// there, and what was meant.
#ifndef TARN_SERVER_BASE_OPTIONS_H
#define TARN_SERVER_BASE_OPTIONS_H

#include <argp.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

enum { TARN_EXIT_USAGE = 2 }; ///< the exit status of a program whose options are wrong

// ---- numbers and amounts ----

/// A whole number from min to max, 0 <= min, in digits; else ends the program with a sentence that names the option,
/// what was found and what is allowed.
long tarn_option_number(struct argp_state *state, const char *option, const char *text, long min, long max);

/// The same for an amount of bytes, as 500M, or an age in seconds, as 30d: a whole number from 1 to 1000000 in digits
/// and a unit of k, M, G or none, or of s, m, h, d.
uint64_t tarn_option_bytes(struct argp_state *state, const char *option, const char *text);
uint64_t tarn_option_age_s(struct argp_state *state, const char *option, const char *text);

/// The same without a command line. @return false or 0: the text is none
bool tarn_number_read(const char *text, uint64_t min, uint64_t max, uint64_t *number);
uint64_t tarn_number_bytes(const char *text);
uint64_t tarn_number_age_s(const char *text);

// ---- options that aren't there ----
// Command lines as argp parses them, but what may have been meant is named.

/// Ends the program for a long option that neither these options nor any child's begin with.
/// @param program  whose command line it is  @param beside  what it takes besides, NULL at their end
void tarn_options_check(const struct argp *argp, int argc, char **argv, unsigned flags, const char *program,
                        const char *const *beside);

/// The same, and argp_parse.
void tarn_options_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);

// ---- variables that aren't there ----
// The programs read TARN_NAME for each of tarnd's options, and all of them TARN_SCENES. A name that none of them knows
// would act on nothing without a word. tarnd and tarn look when they start; tarn-worker has tarnd's environment.

/// Calls for each variable TARN_... that no program knows, a few at most, with a sentence that names it and the one
/// that was perhaps meant. Those that begin with TARN_TEST_ are the tests' own.
void tarn_environment_check(void (*say)(const char *sentence));

// ---- standard files ----

/// Opens those of the descriptors 0 to 2 that are closed, since a program may be started without them, on /dev/null and
/// for reading, so that writing still fails. To be called before anything else is opened: a loop, a socket or a file
/// would take their numbers, and get what is meant for the log.
static inline void tarn_standard_files_open(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDONLY);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) {
        close(fd);
    }
}

#endif
