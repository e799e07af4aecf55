/* A log read once, for what it says and for whether the round's checks accept it. */
#ifndef STAVE_RULES_RESULT_READ_H
#define STAVE_RULES_RESULT_READ_H

#include "rules/log.h"

struct result_log {
    struct log log;
    char *refused; /* why MLPerf's own checker refuses it: the first error; NULL: it accepts */
    char *strict;  /* the same of what only this program refuses */
    const char *ruleset; /* that its run folder names, set by the caller; NULL: none */
};

/* version NULL: by the lines' format. E_IO, then nothing is to be released. */
int result_log_read(struct result_log *l, const char *path, const char *version);
void result_log_release(struct result_log *l);

#endif
