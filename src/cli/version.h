/* What this program is made of. */
#ifndef STAVE_CLI_VERSION_H
#define STAVE_CLI_VERSION_H

#include <stdio.h>

/* "stave 0.1.0", then a line for the libraries found at build time. */
void version_print(FILE *out);

#endif
