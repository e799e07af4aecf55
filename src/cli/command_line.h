/* What was typed after `stave NAME`, read against the option tables of whoever owns settings:
 *
 *     command_line_init(&line, self, argc, argv);
 *     command_line_bind(&line, &run_options, &run);            defaults
 *     name = command_line_first_arg(&line);                    when an argument brings a table
 *     command_line_bind(&line, workload->options, &settings);
 *     rc = command_line_parse(&line);                          1: --help was answered
 *     ...
 *     command_line_release(&line);
 *
 * Precedence: defaults, then every --config file in order, then options and -o key=value in order.
 * Keys of a file and of -o may belong to any bound table; a name that two tables have goes to the
 * one bound first. The line borrows argv and the settings, and release frees the settings'
 * strings. One thread. */
#ifndef STAVE_CLI_COMMAND_LINE_H
#define STAVE_CLI_COMMAND_LINE_H

#include "cli/command.h"

enum { COMMAND_LINE_TABLES = 8 };

struct command_setting; /* one --name value as typed */

struct command_line {
    const struct command *command;
    int argc;
    char **argv;
    struct command_binding {
        const struct opt_table *table;
        void *settings;
    } bound[COMMAND_LINE_TABLES];
    int n_bound;
    const char **args; /* what is not an option, in order; valid after parse */
    int n_args;
    const char **configs; /* the --config files, in order */
    int n_configs;
    struct command_setting *settings;
    int n_settings;
    int error; /* the first failure inside the parser */
};

void command_line_init(struct command_line *l, const struct command *c, int argc, char **argv);
/* Sets the defaults in settings; at most COMMAND_LINE_TABLES tables. */
void command_line_bind(struct command_line *l, const struct opt_table *table, void *settings);
/* The first argument that is no option and no option's value, or NULL. An option of a table not
 * bound yet is taken to have a value. */
const char *command_line_first_arg(const struct command_line *l);
/* 0: settings and args are filled. 1: --help or --version was answered on stdout, the command ends
 * with success. Negative: E_USAGE, or E_IO for a configuration file. */
int command_line_parse(struct command_line *l);
void command_line_release(struct command_line *l);

/* All of the above for a command with one table or none, in settings (NULL for none): parses, calls
 * work, releases. Returns what work does, an exit code or a negative error; --help is a success. */
typedef int command_work(const struct command_line *l, const void *settings);
int command_line_run(const struct command *c, int argc, char **argv, void *settings,
                     command_work *work);

/* Sets one value by name in the bound tables; where starts the message, as in opt_set. */
int command_line_set(struct command_line *l, const char *name, const char *value,
                     const char *where);
/* Whether an option or -o says it on the command line, whatever files and presets do. */
int command_line_says(const struct command_line *l, const char *name);
/* All that it says of it there, in order: an array of n texts, heap, its texts the line's. */
const char **command_line_said(const struct command_line *l, const char *name, size_t *n);
/* Appends {"owner": {"name": value, ...}, ...} of all bound tables: the echo for run.json. */
void command_line_add_json(const struct command_line *l, struct str *out);
/* Appends the defaults of those options alone that have another value, in the same form. */
void command_line_add_defaults(const struct command_line *l, struct str *out);

#endif
