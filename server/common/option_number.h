/// What the programs' command lines share.
#ifndef TARN_SERVER_COMMON_OPTION_NUMBER_H
#define TARN_SERVER_COMMON_OPTION_NUMBER_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

enum { TARN_EXIT_USAGE = 2 }; ///< the exit status of a program whose options are wrong

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

#endif
