/* `stave study`: workloads under several conditions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/run_folder.h"
#include "cli/study_drive.h"
#include "cli/study_setups.h"

enum { ONE_AT_A_TIME, ALL };
static const char *const combinations[] = {[ONE_AT_A_TIME] = "one-at-a-time", [ALL] = "all", NULL};

struct study_options {
    char *data, *copy_in;
    int combine;
    struct study_settings common;
};

/* clang-format off */
#define ROW(...) OPT_ROW(study_options, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("data", OPT_LIST, data, .arg = "DIR,DIR", .help = "Folders of the data set to compare, on several drives for example; --data-dir by default"),
    ROW("copy-in", OPT_STRING, copy_in, .arg = "DIR",
        .help = "A further condition: the files of this folder are copied into the run folder while training goes on, as the next data set would be"),
    ROW("conditions", OPT_CHOICE, combine, .dflt = "one-at-a-time", .choices = combinations, .arg = "WHICH",
        .help = "one-at-a-time: the first value of every list, and each other value with the rest as there; all: every combination"),
    STUDY_ROWS(study_options),
};
/* clang-format on */

static const struct opt_table options = {"study", rows, COUNT_OF(rows)};

struct asked {
    const struct setup *setup;
    const struct study_options *own;
};

static int plan(void *context, struct study *s)
{
    const struct asked *const p = context;
    const struct conditions_settings *const c = &p->setup->conditions;
    size_t n_said;
    const char **const said = command_line_said(&p->setup->line, "ingest", &n_said);
    const char *const one[] = {c->ingest};
    const int from_file = n_said == 0 && c->ingest;
    const struct study_lists lists = {.memory = c->memory,
                                      .cache = c->cache,
                                      .data = p->own->data,
                                      .copy_in = p->own->copy_in,
                                      .ingest = from_file ? one : said,
                                      .n_ingest = from_file ? 1 : n_said};
    const int rc = study_plan(s, &lists, p->own->combine == ALL);

    free(said);
    return rc;
}

static int study(struct setup *const *setups, size_t n, void *own)
{
    struct study_options *const o = own;
    struct asked context = {.setup = setups[0], .own = o};
    char *const dir = o->common.out ? xstrdup(o->common.out)
                                    : run_folder_default("study-", setups[0]->workload->name);
    const int rc = study_drive(
        setups, n,
        (struct study_request){
            .kind = "study", .dir = dir, .common = &o->common, .plan = plan, .context = &context});

    free(dir);
    return rc;
}

static int run(const struct command *self, int argc, char **argv)
{
    return study_setups_run(self, argc, argv,
                            (struct study_command){.options = &options,
                                                   .options_bytes = sizeof(struct study_options),
                                                   .work = study});
}

static const struct opt_table *const tables[] = {&options, &conditions_options, SETUP_TABLES, NULL};

const struct command command_study = {
    .name = "study",
    .args = "WORKLOAD...",
    .min_args = 1,
    .max_args = STUDY_MAX_WORKLOADS,
    .summary = "Run workloads under several conditions and compare them in one table",
    .about =
        "Values with commas between them in --memory, --cache and --data, and --ingest said "
        "several "
        "times, are what is compared: --memory none,4G --ingest off --ingest \"rate=200M\". The "
        "first of each is the baseline. Each condition is run --repeats times, all of them in "
        "turn, "
        "every other time in reverse, as ordinary runs with one seed and one length: --steps, or "
        "--epochs, or --target, or about 20 s behind the warm-up. The table says how much slower "
        "than the baseline each condition is, with a 95 % interval, and the smallest difference "
        "that "
        "the repeats tell from noise.\n"
        "Writes run-01, run-02 and so on, and study.json after each of them. The first Ctrl-C "
        "stops "
        "the study and keeps what is there; --resume --out DIR goes on, making runs that failed "
        "anew.\n"
        "Exit status: 0 all runs stand, 1 interrupted, 2 usage, 3 files or device failed, 4 a run "
        "failed and does not count.",
    .tables = tables,
    .run = run,
};
