/* `stave tune`: finds settings by measuring. */
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/run_folder.h"
#include "cli/tune.h"
#include "train/stop.h"

static const char *const searches[] = {
    [TUNE_LOADER] = "loader", [TUNE_RATE] = "rate", [TUNE_BOTH] = "both", NULL};
static const char *const goals[] = {[TUNE_RUN] = "run", [TUNE_DATA] = "data", NULL};

/* clang-format off */
#define ROW(...) OPT_ROW(tune_settings, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("search", OPT_CHOICE, search, .dflt = "loader", .choices = searches, .arg = "WHAT",
        .help = "loader: --num-threads and --prefetch, which takes a minute or so; rate: --lr and --batch-size, by trials; both: one after the other"),
    ROW("goal", OPT_CHOICE, goal, .dflt = "run", .choices = goals, .arg = "WHAT",
        .help = "What the loader's settings are to make fast: the run with its model, or the data alone, for a device that is not here"),
    ROW("seconds", OPT_REAL, seconds, .dflt = "2", .min = 0.01, .max = 3600, .arg = "S",
        .help = "How long each setting of the loader is measured at least; whole batches"),
    ROW("max-threads", OPT_INT, max_threads, .dflt = "0", .min = 0, .max = 1024, .arg = "N",
        .help = "Most loader threads to try; 0: twice as many as there are processors"),
    ROW("max-prefetch", OPT_INT, max_prefetch, .dflt = "16", .min = 1, .max = 1024, .arg = "N",
        .help = "Most batches ahead to try"),
    ROW("probes", OPT_INT, probes, .dflt = "0", .min = 0, .max = 128, .arg = "N",
        .help = "Most measurements of the loader; 0: a tenth of all settings, from 16 to 64"),
    ROW("grid", OPT_BOOL, grid, .dflt = "no",
        .help = "Then measure every setting in powers of two as well, and the choice beside them"),
    ROW("trial-epochs", OPT_REAL, trial_epochs, .dflt = "0.25", .min = 1e-6, .max = 1000, .arg = "E",
        .help = "Epochs of the shortest trial of a learning rate; the best ones get three times as many, and so on"),
    ROW("rungs", OPT_INT, rungs, .dflt = "3", .min = 1, .max = 6, .arg = "N",
        .help = "How often the best trials are continued with three times as many epochs, and one"),
    ROW("max-batch", OPT_INT, max_batch, .dflt = "0", .min = 0, .max = 1 << 20, .arg = "N",
        .help = "Largest batch to try; 0: the batch stays"),
    ROW("out", OPT_STRING, out, .arg = "DIR", .help = "Folder for config.yaml and the trials; runs/tune-WORKLOAD-DATE by default"),
};
/* clang-format on */

static const struct opt_table options = {"tune", rows, COUNT_OF(rows)};

static int check_options(const struct setup *s, const struct tune *t)
{
    if (s->settings.data.synthetic && t->own->search != TUNE_RATE)
        return err(E_USAGE,
                   "synthetic data takes no loader, so there is nothing to tune; leave out "
                   "--synthetic");
    if (file_exists(t->dir))
        return err(E_USAGE, "%s is there already; choose another --out", t->dir);
    return 0;
}

static int tune(struct tune *t)
{
    TRY(check_options(t->setup, t));
    stop_install();
    TRY(file_mkdirs(t->dir));
    if (t->own->search != TUNE_RATE)
        TRY(tune_loader(t));
    if (t->own->search != TUNE_LOADER)
        TRY(tune_rate(t));
    TRY(tune_write_config(t));
    printf("written; stave run %s --config %s/config.yaml takes it\n", t->setup->workload->name,
           t->dir);
    return EXIT_REACHED;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct tune_settings own;
    struct setup setup;
    int rc = setup_parse(&setup, self, argc, argv, &options, &own);

    if (rc == 0) {
        char *const dir =
            own.out ? xstrdup(own.out) : run_folder_default("tune-", setup.workload->name);

        rc = tune(&(struct tune){.setup = &setup, .own = &own, .dir = dir});
        free(dir);
    }
    setup_release(&setup);
    return rc < 0 ? rc : EXIT_REACHED;
}

static const struct opt_table *const tables[] = {&options, SETUP_TABLES, NULL};

const struct command command_tune = {
    .name = "tune",
    .args = "WORKLOAD",
    .min_args = 1,
    .max_args = 1,
    .summary = "Find loader settings, learning rate and batch by measuring",
    .about =
        "The loader's search starts at --num-threads and --prefetch, says before each measurement "
        "why it is made, and ends when no further one is likely to gain more than the noise. The "
        "search of the learning rate tries powers of ten around --lr, then smaller steps down to "
        "10 %, and doubles the batch up to --max-batch while that pays; candidates are trained for "
        "--trial-epochs and the best of them go on. A trial is an ordinary run in a folder of its "
        "own; one that diverges or does not fit in memory is noted. What counts is the mean loss "
        "of the second half of a trial's steps. The settings found and all others are written to "
        "config.yaml.",
    .tables = tables,
    .run = run,
};
