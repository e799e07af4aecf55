/* What this program is made of. */
#ifndef STAVE_CLI_VERSION_H
#define STAVE_CLI_VERSION_H

#include <stdio.h>

/* "stave 0.1.0", then a line for the libraries found at build time. */
void version_print(FILE *out);

/* The program, its libraries, the compiler and the C library; a NULL version: built without it. A
 * NULL name ends them. */
struct version_part {
    const char *name, *version;
};
enum { VERSION_PARTS = 10 };
void version_parts(struct version_part out[VERSION_PARTS]);

#endif
