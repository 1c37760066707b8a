/// What the programs' command lines share.
#ifndef TARN_SERVER_COMMON_OPTION_NUMBER_H
#define TARN_SERVER_COMMON_OPTION_NUMBER_H

#include <argp.h>

enum { TARN_EXIT_USAGE = 2 }; ///< the exit status of a program whose options are wrong

/// A whole number from min to max, 0 <= min, in digits; else ends the program with a sentence that names the option,
/// what was found and what is allowed.
long tarn_option_number(struct argp_state *state, const char *option, const char *text, long min, long max);

#endif
