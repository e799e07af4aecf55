/* `stave compare`: several runs on one page. */
#include <stdio.h>

#include "base/err.h"
#include "cli/command_line.h"
#include "report/report.h"

struct compare_settings {
    char *out;
};

/* clang-format off */
#define ROW(...) OPT_ROW(compare_settings, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("out", OPT_STRING, out, .dflt = "compare.html", .arg = "FILE", .help = "The page to write"),
};
/* clang-format on */

static const struct opt_table options = {"compare", rows, COUNT_OF(rows)};

static int work(const struct command_line *line, const void *settings)
{
    const struct compare_settings *const own = settings;

    if (!own->out)
        return err(E_USAGE, "--out names no file; leave it out to write compare.html");
    TRY(report_compare(line->args, (size_t)line->n_args, own->out));
    puts(own->out);
    return EXIT_REACHED;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct compare_settings own;

    return command_line_run(self, argc, argv, &own, work);
}

static const struct opt_table *const tables[] = {&options, NULL};

const struct command command_compare = {
    .name = "compare",
    .args = "DIR DIR...",
    .min_args = 2,
    .max_args = REPORT_MAX_RUNS,
    .summary = "Write one page of several runs: what differs, curves on one axis",
    .about = "Each DIR is a run's folder. The page is like that of stave report, with a line for "
             "each run in every chart, and tables of figures, machines and options that differ.",
    .tables = tables,
    .run = run,
};
