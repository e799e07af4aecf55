/* A command of the program: `stave NAME ARGS [OPTION...]`. One file each, cmd_NAME.c, that defines
 * `const struct command command_NAME`, and one line in cli/list.h. From this description come the
 * help, the manual page and the checks of the command line. */
#ifndef STAVE_CLI_COMMAND_H
#define STAVE_CLI_COMMAND_H

#include "base/opt.h"

enum {
    EXIT_REACHED = 0,      /* the target was reached and the log stands; or the task was done */
    EXIT_NOT_REACHED = 1,  /* it was not reached, or the run was interrupted */
    EXIT_USAGE = 2,        /* the command line or the configuration is wrong */
    EXIT_WORLD = 3,        /* I/O or device failed */
    EXIT_UNTRUSTWORTHY = 4 /* the result does not stand; also findings of a check */
};

struct command {
    const char *name; /* as typed: "bench-op" */
    const char *args; /* its arguments as shown: "WORKLOAD", "[COMMAND]"; NULL for none */
    int min_args, max_args;
    const char *summary;                   /* one line, no full stop */
    const char *about;                     /* paragraphs for --help and the manual, or NULL */
    const struct opt_table *const *tables; /* every table it may bind; NULL-terminated, or NULL */
    int hidden;                            /* not in the help */
    /* argv[0] is the command's name. Returns an exit code of the list above, or a negative error
     * with its reason recorded, which main prints and turns into an exit code. Nothing but main
     * ends the program. */
    int (*run)(const struct command *self, int argc, char **argv);
};

/* All of them, in the order of the list; NULL-terminated. */
extern const struct command *const commands[];
const struct command *command_find(const char *name); /* NULL when there is none */
/* Records "no command is called ...; did you mean ...?" and returns E_USAGE. */
int command_unknown(const char *name);
/* The exit code for an error of base/err.h. */
int command_exit_code(int error);

/* Appends a sentence about a row's range, choices and default in brackets, or nothing. */
void command_add_limits(const struct opt_row *row, struct str *out);

#endif
