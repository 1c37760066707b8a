/// Command lines as argp parses them, but for options that aren't there: what may have been meant is named.
#ifndef TARN_SERVER_COMMON_OPTION_NAMES_H
#define TARN_SERVER_COMMON_OPTION_NAMES_H

#include <argp.h>

/// Ends the program for a long option that neither these options nor any child's begin with.
/// @param program  whose command line it is  @param beside  what it takes besides, NULL at their end
void tarn_options_check(const struct argp *argp, int argc, char **argv, unsigned flags, const char *program,
                        const char *const *beside);

/// The same, and argp_parse.
void tarn_options_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);

#endif
