/* What a check of a submission found: a list of sentences, each with its place and how much it
 * counts. The list owns its texts until findings_release; a zeroed one is empty. One thread. */
#ifndef STAVE_RULES_FINDINGS_H
#define STAVE_RULES_FINDINGS_H

#include <stddef.h>

#include "base/str.h"

enum finding_level {
    FINDING_NOTE,   /* passed by the official tools and by us */
    FINDING_STRICT, /* passed by the official tools, refused by us */
    FINDING_ERROR,  /* refused by the official tools */
    FINDING_LEVELS
};

struct finding {
    enum finding_level level;
    char *where; /* a path, or "" */
    char *text;  /* a sentence without full stop */
};

struct findings {
    struct finding *all;
    size_t n, room;
    size_t count[FINDING_LEVELS];
};

void finding_add(struct findings *f, enum finding_level level, const char *where, const char *fmt,
                 ...) __attribute__((format(printf, 4, 5)));
/* A line each, "error: where: text", that is safe on a terminal. */
void findings_text(const struct findings *f, struct str *out);
/* An array of objects. */
void findings_json(const struct findings *f, struct str *out);
void findings_release(struct findings *f);

#endif
