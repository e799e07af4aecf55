/* The options of a set's runs: what starts a run with them, and a set that goes on has those it
 * began with. */
#ifndef STAVE_CLI_SET_OPTIONS_H
#define STAVE_CLI_SET_OPTIONS_H

#include <stdint.h>

#include "cli/command_line.h"

/* What is not the same for all runs, or not of the line's. */
struct set_overrides {
    const char *command;   /* NULL: the line's own */
    const char *leave_out; /* the owner of a table that the command has not; may be NULL */
    const char *out;
    uint64_t seed;     /* 0: none yet */
    int resume;        /* goes on with the run in out */
    const char *clear; /* a value of clear-cache */
    int n_check;       /* not a run: look whether so many of them could start */
};
/* The words that start this program with the options of the line, whatever said them there: an
 * array that ends with NULL, and its words, heap; set_argv_free frees both. */
char **set_argv(const struct command_line *l, const char *workload, struct set_overrides o);
void set_argv_free(char **argv);

/* What a set, or a study, began with. */
struct set_origin {
    const char *options; /* as command_line_add_json writes them */
    const char *dir;     /* where that stands */
    const char *file;    /* its name there: "set.json" */
    const char *what;    /* it is: "set", "study" */
};
/* Gives the line the options that a set began with. E_USAGE when the command line asks for others,
 * E_DATA when they are not this program's. */
int set_options_restore(struct command_line *l, const struct set_origin *from);

#endif
