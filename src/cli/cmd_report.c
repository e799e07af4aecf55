/* `stave report`: the page of a run. */
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "cli/command_line.h"
#include "report/report.h"

static int work(const struct command_line *line, const void *settings)
{
    (void)settings;
    for (int i = 0; i < line->n_args; i++) {
        char *path;

        TRY(report_write(line->args[i], &path));
        puts(path);
        free(path);
    }
    return EXIT_REACHED;
}

static int run(const struct command *self, int argc, char **argv)
{
    return command_line_run(self, argc, argv, NULL, work);
}

const struct command command_report = {
    .name = "report",
    .args = "DIR...",
    .min_args = 1,
    .max_args = 1000000,
    .summary = "Write the page of a run: report.html in its folder",
    .about =
        "DIR is the folder of a run, also of one that was killed or is still at work, of a set of "
        "runs, of a study or of a profile. The page is one file that loads nothing: it can be "
        "copied, mailed, printed and read without a network. It is made from the folder alone, so "
        "that another machine's will do. A file of the folder that is missing, cut or damaged is "
        "named on the page. stave run writes the page at its end.",
    .run = run,
};
