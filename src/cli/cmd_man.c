/* `stave man`: the manual page, written from the same tables that parse the command line. */
#include <stdio.h>

#include "cli/command.h"
#include "cli/command_line.h"

/* Text for roff: a backslash, a leading dot or quote and a hyphen mean something there. */
static void put_text(const char *s)
{
    int line_start = 1;

    for (; *s; s++) {
        if (line_start && (*s == '.' || *s == '\''))
            fputs("\\&", stdout);
        if (*s == '\\')
            fputs("\\e", stdout);
        else if (*s == '-')
            fputs("\\-", stdout);
        else
            putchar(*s);
        line_start = *s == '\n';
    }
}

static void put_row(const struct opt_row *row)
{
    struct str limits = STR_INIT;

    fputs(".TP\n\\fB", stdout);
    if (row->letter)
        printf("\\-%c, ", row->letter);
    fputs("\\-\\-", stdout);
    put_text(row->name);
    fputs("\\fR", stdout);
    if (row->type == OPT_BOOL) {
        puts("[=\\fIyes|no\\fR]");
    } else {
        fputs(" \\fI", stdout);
        put_text(row->arg ? row->arg : "VALUE");
        puts("\\fR");
    }
    command_add_limits(row, &limits);
    put_text(row->help);
    put_text(limits.s ? limits.s : "");
    puts(".");
    str_release(&limits);
}

static void put_command(const struct command *c)
{
    fputs(".SS \"stave ", stdout);
    put_text(c->name);
    if (c->args) {
        putchar(' ');
        put_text(c->args);
    }
    fputs("\"\n", stdout);
    put_text(c->summary);
    puts(".");
    if (c->about) {
        puts(".PP");
        put_text(c->about);
        putchar('\n');
    }
    for (size_t t = 0; c->tables && c->tables[t]; t++) {
        puts(".PP");
        put_text(c->tables[t]->owner);
        puts(":");
        for (size_t r = 0; r < c->tables[t]->n_rows; r++)
            put_row(&c->tables[t]->rows[r]);
    }
}

static void put_page(void)
{
    puts(".TH STAVE 1 \"\" \"stave " STAVE_VERSION "\" \"User commands\"\n"
         ".SH NAME\nstave \\- train models to a target quality and find the limiting stage\n"
         ".SH SYNOPSIS\n.B stave\n.I command\n[\\fIargument\\fR ...] [\\fIoption\\fR ...]\n"
         ".SH DESCRIPTION\n"
         "Stave trains real models to a target quality, measures how long that took, and says\n"
         "which stage of the machine was the limit.\n"
         "Results go to standard output, progress to standard error.\n"
         ".SH COMMANDS");
    for (size_t i = 0; commands[i]; i++)
        if (!commands[i]->hidden)
            put_command(commands[i]);
    puts(".SH \"COMMON OPTIONS\"\n"
         ".TP\n.BI \"\\-\\-config \" FILE\n"
         "Read settings from a YAML file of lines\n.IR \"name: value\" ;\noptions win over it.\n"
         ".TP\n.BI \"\\-o \" KEY = VALUE\nSet any option by name.\n"
         ".TP\n.B \\-h, \\-\\-help\nPrint the options of a command.\n"
         ".SH ENVIRONMENT\n"
         ".TP\n.B DEBUG\nWhat to tell on standard error of the computation. 1: devices and plans; "
         "2: also the\n"
         "time of every step, as a line that\n.B stave bench-op\ntakes; 3: also results' shapes "
         "and the\n"
         "implementation chosen; 4: also statistics of every result. 0 or unset: nothing.\n"
         ".TP\n.B OMP_WAIT_POLICY\nHow compute threads wait; passive unless it is set.\n"
         ".SH \"EXIT STATUS\"\n"
         ".TP\n.B 0\nThe target was reached and the log stands, or the task asked for was done.\n"
         ".TP\n.B 1\nThe target was not reached, or the run was interrupted.\n"
         ".TP\n.B 2\nThe command line or the configuration is wrong.\n"
         ".TP\n.B 3\nA file, disk or device failed.\n"
         ".TP\n.B 4\nThe result is not trustworthy, or a check found something.");
}

static int work(const struct command_line *line, const void *settings)
{
    (void)settings;
    (void)line;
    put_page();
    return EXIT_REACHED;
}

static int run(const struct command *self, int argc, char **argv)
{
    return command_line_run(self, argc, argv, NULL, work);
}

const struct command command_man = {
    .name = "man",
    .summary = "Write the manual page in roff",
    .hidden = 1,
    .run = run,
};
