/* The text files that the program carries with it: src/rules/data/ and the page of reports
 * (tools/page), put into the binary as they are by tools/embed when it is built. Constant; any
 * thread. */
#ifndef STAVE_BASE_EMBEDDED_H
#define STAVE_BASE_EMBEDDED_H

#include <stddef.h>

struct embedded {
    const char *name; /* without its folder: "4.0.0.rules" */
    const char *text; /* of n bytes; a zero byte follows */
    size_t n;
};

/* By name; a NULL name ends them. */
extern const struct embedded embedded_files[];
/* NULL: there is none. */
const struct embedded *embedded_find(const char *name);

#endif
