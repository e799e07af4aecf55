/* `stave ingest`: what somebody's writing costs a training run. */
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "cli/run_folder.h"
#include "cli/study_drive.h"
#include "cli/study_grid.h"
#include "cli/study_setups.h"

struct ingest_study {
    char *bs, *rate, *jobs, *engine;
    struct study_settings common;
};

/* clang-format off */
#define ROW(...) OPT_ROW(ingest_study, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("bs", OPT_STRING, bs, .dflt = "128k,1M", .arg = "SIZE,SIZE", .help = "Bytes of one write, to compare"),
    ROW("rate", OPT_STRING, rate, .dflt = "0,200M,50M", .arg = "SIZE,SIZE", .help = "Most bytes a second, to compare; 0: as fast as it goes"),
    ROW("jobs", OPT_STRING, jobs, .dflt = "1", .arg = "N,N", .help = "Writers, to compare"),
    ROW("engine", OPT_STRING, engine, .dflt = "sync", .arg = "NAME,NAME", .help = "How fio writes, to compare: sync, psync, libaio, io_uring"),
    STUDY_ROWS(ingest_study),
};
/* clang-format on */

static const struct opt_table options = {"ingest", rows, COUNT_OF(rows)};

struct asked {
    const struct setup *setup;
    const struct ingest_study *own;
};

static int plan(void *context, struct study *s)
{
    const struct asked *const a = context;
    const struct conditions_settings *const c = &a->setup->conditions;
    const struct grid_lists lists = {.base = c->ingest,
                                     .bs = a->own->bs,
                                     .rate = a->own->rate,
                                     .jobs = a->own->jobs,
                                     .engine = a->own->engine,
                                     .memory = c->memory,
                                     .cache = c->cache};

    return study_plan_grid(s, &lists);
}

static int study(struct setup *const *setups, size_t n, void *own)
{
    struct ingest_study *const o = own;
    struct asked context = {.setup = setups[0], .own = o};
    char *const dir = o->common.out ? xstrdup(o->common.out)
                                    : run_folder_default("ingest-", setups[0]->workload->name);
    const int rc = study_drive(
        setups, n,
        (struct study_request){
            .kind = "ingest", .dir = dir, .common = &o->common, .plan = plan, .context = &context});

    free(dir);
    return rc;
}

static int run(const struct command *self, int argc, char **argv)
{
    return study_setups_run(self, argc, argv,
                            (struct study_command){.options = &options,
                                                   .options_bytes = sizeof(struct ingest_study),
                                                   .work = study});
}

static const struct opt_table *const tables[] = {&options, &conditions_options, SETUP_TABLES, NULL};

const struct command command_ingest = {
    .name = "ingest",
    .args = "WORKLOAD",
    .min_args = 1,
    .max_args = 1,
    .summary = "Measure what ingest (fio writing beside the training) costs a workload",
    .about =
        "Training alone, ingest alone as long as that takes, both together, and then together for "
        "every other combination of --bs, --rate, --jobs and --engine: each --repeats times, all "
        "in "
        "turn, every other time in reverse. What the combinations have in common is said with "
        "--ingest: --ingest \"size=10G dir=/fast direct=yes\". The table says by how much each "
        "slows "
        "training, with a 95 % interval, and the last lines which setting brings most ingest for "
        "less "
        "than 1 % of the training's speed, or that the repeats do not tell.\n"
        "Runs, their length, study.json, --resume and the exit status are as in stave study.",
    .tables = tables,
    .run = run,
};
