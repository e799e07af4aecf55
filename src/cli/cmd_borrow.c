/* `stave borrow`: another submitter's hyper-parameters as a configuration file. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/command_line.h"
#include "rules/log.h"
#include "workloads/workload.h"

struct borrow_settings {
    char *to;
    long long at_once;
};

/* clang-format off */
#define ROW(...) OPT_ROW(borrow_settings, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("to", OPT_STRING, to, .arg = "FILE", .help = "The configuration file to write, a new one; without it the text is printed"),
    ROW("at-once", OPT_INT, at_once, .dflt = "32", .min = 1, .max = 65536, .arg = "N",
        .help = "Run at most N samples of a batch at once and add the gradients of the parts"),
};
/* clang-format on */

static const struct opt_table options = {"borrow", rows, COUNT_OF(rows)};

static const struct workload *workload_of(const char *benchmark)
{
    for (int i = 0; workloads[i]; i++)
        if (workloads[i]->benchmark && strcmp(workloads[i]->benchmark, benchmark) == 0)
            return workloads[i];
    return NULL;
}

static int write_config(const struct log *l, const char *from, const struct borrow_settings *own)
{
    const struct workload *const w = l->benchmark ? workload_of(l->benchmark) : NULL;
    const struct workload_borrow how = {.from = from, .most_at_once = own->at_once};
    struct str text = STR_INIT;
    int rc;

    if (!l->benchmark)
        return err(E_DATA, "%s names no submission_benchmark, so it is no MLPerf training log",
                   from);
    if (!w || !w->borrow)
        return err(E_DATA, "%s is a log of %s, which this program does not train", from,
                   l->benchmark);
    rc = w->borrow(l, &how, &text);
    if (rc == 0 && own->to)
        rc = file_replace(own->to, text.s, text.len);
    else if (rc == 0)
        fputs(text.s, stdout);
    if (rc == 0 && own->to)
        printf("%s: the hyper-parameters of %s; stave run %s --config %s takes them\n", own->to,
               from, w->name, own->to);
    str_release(&text);
    return rc;
}

static int borrow(const char *from, const struct borrow_settings *own)
{
    struct log l;
    int rc;

    if (own->to && file_exists(own->to))
        return err(E_USAGE, "%s is there already; choose another name", own->to);
    TRY(log_read(&l, from, NULL));
    rc = write_config(&l, from, own);
    log_release(&l);
    return rc;
}

static int work(const struct command_line *line, const void *settings)
{
    const struct borrow_settings *const own = settings;

    return borrow(line->args[0], own);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct borrow_settings own;

    return command_line_run(self, argc, argv, &own, work);
}

static const struct opt_table *const tables[] = {&options, NULL};

const struct command command_borrow = {
    .name = "borrow",
    .args = "LOG",
    .min_args = 1,
    .max_args = 1,
    .summary = "Turn another submitter's log into a configuration for this machine",
    .about =
        "LOG is a result file of any MLPerf Training round. The configuration holds its "
        "hyper-parameters, for `stave run WORKLOAD --config FILE`: optimiser, rates, warm-up, "
        "decay, batch, when it evaluates. Comments say which record each comes from, what is "
        "derived, what the log does not hold, and what differs here: the batch is kept, and "
        "divided into parts that run one after the other. Lengths of the decay that a log gives "
        "in steps become epochs.",
    .tables = tables,
    .run = run,
};
