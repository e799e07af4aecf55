/* `stave run`: trains a workload to its target. */
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/only.h"
#include "cli/origins.h"
#include "cli/page.h"
#include "cli/run.h"
#include "cli/run_folder.h"
#include "cli/run_set.h"
#include "cli/seed.h"
#include "cli/set_drive.h"
#include "cli/setup.h"
#include "train/loop.h"
#include "train/stop.h"

static const char *const only_names[] = {"all", "evaluate", "data",
#define STAGE(name) #name,
#include "data/list.h"
                                         NULL};
static const char *const clear_names[] = {"auto", "no", "yes", "files", NULL};

/* clang-format off */
#define ROW(...) OPT_ROW(run_settings, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("out", OPT_STRING, out, .arg = "DIR", .help = "The run folder; runs/WORKLOAD-DATE by default"),
    ROW("resume", OPT_BOOL, resume, .dflt = "no", .help = "Go on from the newest checkpoint in the run folder"),
    ROW("init", OPT_STRING, init, .arg = "FILE",
        .help = "Start from these weights: a checkpoint, a run folder, or a safetensors file with the names of torchvision"),
    ROW("export", OPT_STRING, export, .arg = "FILE",
        .help = "Write the final weights to this safetensors file too, under the names of torchvision"),
    ROW("only", OPT_CHOICE, only, .dflt = "all", .choices = only_names, .arg = "STAGE",
        .help = "Make one part of the run. evaluate: measure the weights of --init. data: the whole input pipeline into nothing; read, decode, "
                "augment: this stage of it alone, the ones before it serving from memory; for --steps batches or an epoch, without a run folder; "
                "data with --out: for --epochs, with one"),
    ROW("ruleset", OPT_STRING, ruleset, .arg = "ROUND",
        .help = "The MLPerf round whose rules hold; the workload's own by default"),
    ROW("clear-cache", OPT_CHOICE, clear_cache, .dflt = "auto", .choices = clear_names, .arg = "WHAT",
        .help = "Clear the page cache before the clock starts and log whether the data set was out of memory then. yes: the "
                "machine's, where that is allowed (root), else the data set's files; files: these; auto: no, and yes in a set of runs"),
    ROW("runs", OPT_INT, runs, .dflt = "1", .min = 0, .max = SET_MAX_RUNS, .zero = "rules", .arg = "N",
        .help = "Make N runs one after the other, each with a seed of its own, in one folder; rules or 0: as many as the ruleset asks"),
    ROW("until-sure", OPT_REAL, until_sure, .dflt = "0", .min = 0, .max = 100, .arg = "PERCENT",
        .help = "Stop a set of runs before its last one when the score is known to within so many per cent: half of its 95 % "
                "interval; 0: make them all"),
    ROW("keep-going", OPT_BOOL, keep_going, .dflt = "no",
        .help = "Make all runs of a set even when too many have failed for a result"),
    ROW("dry-run", OPT_BOOL, dry_run, .dflt = "no", .help = "Print the settings and what the run needs, and stop"),
    ROW("json", OPT_BOOL, json, .dflt = "no", .help = "Print the result as one JSON document"),
};
/* clang-format on */

static const struct opt_table options = {"run", rows, COUNT_OF(rows)};

static int choose_seed(struct run *r)
{
    const long long asked = r->setup.settings.train.seed;

    if (asked > 0)
        r->seed = (uint64_t)asked;
    if (asked > 0)
        return 0;
    return r->own.resume ? run_folder_read_seed(r->dir, &r->seed) : seed_draw(&r->seed);
}

static int check_folder(struct run *r)
{
    const int used = run_folder_holds_run(r->dir);

    if (used && !r->own.resume)
        return err(E_USAGE,
                   "%s holds a run already; choose another --out, or add --resume to go on with it",
                   r->dir);
    if (!used && r->own.resume)
        return err(E_USAGE, "there is no run in %s to resume; leave out --resume to start one",
                   r->dir);
    r->goes_on = r->own.resume && checkpoint_exists(r->dir);
    return 0;
}

/* What was seen of the folder before the lock may not be true any more. */
static int take_folder(struct run *r)
{
    if (r->lock < 0)
        TRY(run_folder_lock(r->dir, &r->lock));
    return check_folder(r);
}

/* A run that was killed before its first checkpoint starts again, the same run: with its seed, and
 * with the weights that it was given. */
static int start_again(struct run *r)
{
    TRY(run_folder_read_init(r->dir, &r->own.init));
    warning("%s holds no checkpoint yet: the run starts again from its beginning, with seed %llu",
            r->dir, (unsigned long long)r->seed);
    return 0;
}

/* Before anything is written: threads and memory against what the machine gives. */
static int check_machine(struct run *r, const struct train_needs *n)
{
    struct data_settings *const d = &r->setup.settings.data;
    const struct machine_threads t = {.compute = r->setup.own.threads,
                                      .loaders = d->synthetic ? 0 : d->num_threads};

    machine_check_threads(&r->setup.machine, t);
    return machine_fit(&r->setup.machine, n, &d->prefetch);
}

static int exit_code(const struct train_result *t)
{
    if (t->checkpoint_failed)
        return EXIT_WORLD;
    if (t->status == TRAIN_REACHED && t->resumed)
        return EXIT_UNTRUSTWORTHY;
    return t->status == TRAIN_REACHED || t->status == TRAIN_STEPS_DONE ? EXIT_REACHED
                                                                       : EXIT_NOT_REACHED;
}

/* The newest checkpoint has the final weights, unless it could not be written or they are not
 * finite. Returns the run's exit code, or that of a failure to write in place of less. */
static int write_export(const struct run *r, int code)
{
    struct checkpoint c;
    int rc;

    if (!r->own.export || r->result.status == TRAIN_FAILED || r->result.checkpoint_failed)
        return code;
    rc = checkpoint_open(&c, r->dir);
    if (rc == 0) {
        rc = weights_export(&c, r->setup.workload->names, r->own.export);
        checkpoint_close(&c);
    }
    if (rc == 0)
        return code;
    fprintf(stderr, "stave: the weights are not exported: %s; stave export %s --to FILE does it\n",
            err_reason(), r->dir);
    return code > EXIT_WORLD ? code : EXIT_WORLD;
}

static void add_origins(struct run *r)
{
    struct origins o;

    if (r->metered.use.n_samples == 0 || !r->task.sources[0])
        return;
    if (origins_read(r->dir, origins_medium(r->task.sources[0]), &o) < 0)
        return; /* the meter's own reading has told of it */
    origins_add_json(&o, &r->more);
    origins_add_text(&o, &r->origins_text);
    origins_release(&o);
}

static void add_metered(struct run *r)
{
    char *const path = file_join(r->dir, "samples.csv");

    meter_report_read(&r->metered, path, &r->more, &r->metered_line);
    add_origins(r);
    r->result.more = r->more.s;
    free(path);
}

static int finish(struct run *r, int rc)
{
    int closed, code;

    if (rc < 0)
        err_print("", err_reason());
    closed = trace_close(&r->trace);
    machine_take_changes(&r->setup.machine); /* while the run is in the group that it was in */
    guard_end(r->setup.guard);
    if (closed < 0)
        err_print("the log does not stand: ", err_reason());
    if (rc == 0 && closed < 0 && !r->result.checkpoint_failed)
        code = EXIT_UNTRUSTWORTHY;
    else
        code = rc < 0 ? command_exit_code(rc) : exit_code(&r->result);
    code = guard_demand_judge(&r->demand, r->setup.guard, code);
    r->result.exit_code = code;
    machine_warn_changes(&r->setup.machine); /* before the result, which has the warnings */
    add_metered(r);
    if (run_folder_write_result(r->dir, &r->setup, &r->task, &r->result) < 0) {
        err_print("", err_reason());
        code = rc == 0 && code != EXIT_UNTRUSTWORTHY ? EXIT_WORLD : code;
    }
    page_write(r->dir);
    run_print_result(r);
    return write_export(r, code);
}

/* Page cache that is there already is charged to somebody else: a ceiling would not hold it, and
 * reads around the cache would be served from it. */
static int what_to_clear(const struct run *r)
{
    const struct guard_plan *const p = &r->demand.plan;
    const int is_limited = p->memory_bytes > 0 || p->limits_cache || p->instead;

    if (is_limited && r->own.clear_cache == CLEAR_NO)
        warning(
            "--clear-cache no: what is in memory of the data set already is outside the ceiling, "
            "and reading it costs nothing");
    return r->own.clear_cache == CLEAR_AUTO && is_limited ? CLEAR_FILES : r->own.clear_cache;
}

/* The last thing before the log, and what the log says of it. */
static void clear_caches(struct run *r, struct train_run *run)
{
    const int what = what_to_clear(r);

    if (what != CLEAR_YES && what != CLEAR_FILES)
        return;
    cache_clear(r->task.sources, COUNT_OF(r->task.sources),
                what == CLEAR_YES ? CACHE_CLEAR_ALL : CACHE_CLEAR_FILES, &r->cache);
    if (!r->cache.done)
        warning("the page cache is not clear, and the log says so: %s", r->cache.why);
    run->cache = &r->cache;
}

/* So that a run that is killed leaves what it had reached. */
static void write_progress(void *context, const struct train_result *so_far)
{
    const struct run *const r = context;

    if (run_folder_write_result(r->dir, &r->setup, &r->task, so_far) < 0)
        warning("%s; training goes on", err_reason());
}

static int write_and_train(struct run *r, struct train_run *run)
{
    struct str rules = STR_INIT;

    TRY(file_mkdirs(r->dir));
    TRY(take_folder(r));
    TRY(guard_folder(r->setup.guard, r->dir));
    if (r->goes_on)
        run_folder_warn_of_changes(r->dir, &r->setup, &r->engine);
    TRY(run_folder_write_run(r->dir, &r->setup, &r->task, &r->engine, run));
    r->division = r->setup.workload->rules(&r->setup.settings, &r->task, &rules);
    str_release(&rules);
    stop_install();
    clear_caches(r, run);
    TRY(run_open_trace(r));
    return finish(r, train_run(run, &r->result));
}

static enum train_part part_of(const struct run *r)
{
    return r->own.only == ONLY_EVALUATE ? TRAIN_ONLY_EVALUATE
           : r->own.only == ONLY_DATA   ? TRAIN_ONLY_DATA
                                        : TRAIN_WHOLE;
}

/* Everything after the device is open. */
static int train(struct run *r)
{
    struct train_run run = {.task = &r->task,
                            .settings = &r->setup.settings.train,
                            .engine = &r->engine,
                            .trace = &r->trace,
                            .names = r->setup.workload->names,
                            .part = part_of(r),
                            .progress = write_progress,
                            .progress_context = r};
    int rc;

    TRY(check_folder(r));
    if (r->own.export)
        TRY(run_folder_check_target(r->own.export, r->dir));
    if (r->own.resume && !r->own.dry_run)
        TRY(take_folder(r));
    TRY(choose_seed(r));
    if (r->own.resume && !r->goes_on)
        TRY(start_again(r));
    r->setup.workload->close(&r->task); /* opened without the seed, to check settings and data */
    TRY(r->setup.workload->open(&r->setup.settings, r->seed, &r->task));
    run.n_later = run_later(r);
    run.dir = r->dir;
    run.seed = r->seed;
    run.init = r->own.init;
    run.resume = r->goes_on;
    TRY(train_open(&run));
    r->setup.settings.from_weights = (run.resume ? run.from.info.init : run.init) != NULL;
    rc = workload_check_start(r->setup.workload,
                              workload_benchmark(r->setup.workload, &r->setup.settings),
                              &r->setup.settings, &r->task);
    if (rc == 0 && r->own.dry_run) {
        run_print_needs(r, &run.needs);
        guard_demand_print(&r->demand);
    }
    if (rc == 0)
        rc = check_machine(r, &run.needs);
    if (rc == 0)
        rc = r->own.dry_run ? EXIT_REACHED : write_and_train(r, &run);
    train_close(&run);
    return rc;
}

static int check_device(const struct run *r)
{
    if (r->engine.backend->computes || r->own.only == ONLY_DATA ||
        (r->own.dry_run && r->own.runs == 1) || r->setup.settings.train.steps > 0)
        return 0;
    return err(E_USAGE, "device %s computes nothing, so no target can be reached; give --steps N",
               r->engine.backend->name);
}

/* Known before the training rather than after it. */
static int check_folder_of(const char *path)
{
    char *const copy = xstrdup(path);
    const char *const folder = dirname(copy);
    const int ok = access(folder, W_OK) == 0 && !file_is_folder(path);

    if (!ok)
        err(E_USAGE, "--export %s: no file can be made there", path);
    free(copy);
    return ok ? 0 : E_USAGE;
}

static int check_options(const struct run_settings *own)
{
    if (own->resume && own->init)
        return err(E_USAGE, "--resume goes on with the weights of the run folder and --init brings "
                            "others; give one of them");
    if (own->only == ONLY_EVALUATE && !own->init)
        return err(E_USAGE, "--only evaluate measures given weights; give --init FILE");
    if (own->only == ONLY_EVALUATE && own->export)
        return err(E_USAGE, "--only evaluate trains nothing to export; stave export FILE --to FILE "
                            "gives weights other names");
    return own->export ? check_folder_of(own->export) : 0;
}

/* ---- a set of runs ---- */

static int is_set(const struct run_settings *own)
{
    return own->runs != 1 || own->until_sure > 0 ||
           (own->resume && own->out && run_set_exists(own->out));
}

static int check_set_options(const struct run_settings *own)
{
    if (own->runs == 1 && !own->resume)
        return err(E_USAGE, "--until-sure needs --runs N, the most runs to make");
    if (own->only != ONLY_ALL)
        return err(E_USAGE, "--runs makes runs to the target; --only evaluate is one look at given "
                            "weights");
    if (own->export)
        return err(E_USAGE,
                   "every run of a set would write %s; leave out --export, and stave "
                   "export DIR/run-1 --to FILE writes the weights of one",
                   own->export);
    return 0;
}

static int run_several(struct run *r)
{
    const struct run_settings *const own = &r->own;
    char *const dir =
        own->out ? xstrdup(own->out) : run_folder_default("", r->setup.workload->name);
    int rc = check_options(own);

    if (rc == 0)
        rc = check_set_options(own);
    if (rc == 0 && own->resume && !run_set_exists(dir))
        rc = err(E_USAGE,
                 "there is no set of runs in %s to resume; leave out --resume to start one", dir);
    if (rc == 0)
        rc = set_size(&r->setup, own->runs);
    if (rc >= 0)
        rc = set_drive(&r->setup,
                       (struct set_request){.dir = dir,
                                            .runs = own->runs,
                                            .until_sure = own->until_sure,
                                            .resume = own->resume,
                                            .keep_going = own->keep_going,
                                            .json = own->json,
                                            .clear = own->clear_cache == CLEAR_AUTO
                                                         ? clear_names[CLEAR_YES]
                                                         : clear_names[own->clear_cache]});
    free(dir);
    return rc;
}

/* Before any thread exists, and before there is memory that a ceiling should count. */
static int open_guard(struct run *r)
{
    TRY(guard_demand_make(&r->demand, &r->setup.conditions, &r->task, r->dir));
    if (r->own.dry_run || guard_demand_is_none(&r->demand))
        return 0;
    return guard_demand_open(&r->demand, &r->setup.settings.data, &r->task, &r->setup.guard);
}

static int run_task(struct run *r)
{
    int rc;

    TRY(check_options(&r->own));
    r->setup.settings.only_evaluate = r->own.only == ONLY_EVALUATE;
    if (r->own.only == ONLY_DATA)
        r->setup.settings.train.target = 0;
    TRY(train_settings_check(&r->setup.settings.train));
    TRY(r->setup.workload->open(&r->setup.settings, 1, &r->task));
    r->dir = r->own.out ? xstrdup(r->own.out) : run_folder_default("", r->setup.workload->name);
    rc = open_guard(r);
    if (rc == 0)
        rc = setup_engine(&r->setup, &r->engine);
    if (rc == 0) {
        rc = check_device(r);
        if (rc == 0)
            rc = train(r);
        engine_close(&r->engine);
    }
    guard_close(r->setup.guard);
    guard_demand_release(&r->demand);
    r->setup.workload->close(&r->task);
    if (r->lock >= 0)
        close(r->lock);
    str_release(&r->more);
    str_release(&r->origins_text);
    str_release(&r->metered_line);
    free(r->dir);
    return rc;
}

/* Of the input pipeline: in epochs with a run folder when one is asked for, else for a window of
 * time. */
static int run_part(struct run *r)
{
    const struct run_settings *const own = &r->own;

    if (is_set(own) || own->resume || own->init || own->export)
        return err(E_USAGE,
                   "--only %s trains nothing; leave out --runs, --resume, --init and --export",
                   only_names[own->only]);
    if (own->only == ONLY_DATA && own->out)
        return run_task(r);
    if (own->out || own->dry_run)
        return err(E_USAGE, "--only %s leaves no run folder%s; leave out %s", only_names[own->only],
                   own->only == ONLY_DATA ? " without --out" : "",
                   own->out ? "--out" : "--dry-run");
    return run_only(&r->setup,
                    (struct only_part){.alone = own->only - ONLY_DATA, .json = own->json});
}

static int take_ruleset(struct run *r)
{
    r->setup.settings.ruleset = r->own.ruleset;
    return workload_check_ruleset(r->setup.workload, &r->setup.settings);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct run r = {.lock = -1};
    int rc = setup_parse(&r.setup, self, argc, argv, &options, &r.own);

    if (rc == 0)
        rc = take_ruleset(&r);
    if (rc == 0)
        rc = r.own.only >= ONLY_DATA            ? run_part(&r)
             : is_set(&r.own) && !r.own.dry_run ? run_several(&r)
                                                : run_task(&r);
    else if (rc > 0)
        rc = EXIT_REACHED;
    setup_release(&r.setup);
    return rc;
}

static const struct opt_table *const tables[] = {&options, &conditions_options, SETUP_TABLES, NULL};

const struct command command_run = {
    .name = "run",
    .args = "WORKLOAD",
    .min_args = 1,
    .max_args = 1,
    .summary = "Train a workload to its target and say how long that took",
    .about =
        "Writes a run folder: run.json (versions, machine, settings, seed), mlperf.log, "
        "events.jsonl, samples.csv (what the machine did meanwhile, --sample-rate), stages.csv, "
        "result.json, report.html and checkpoints (--only evaluate: no checkpoints). "
        "result.json and stages.csv "
        "are also written after each evaluation and checkpoint. --resume goes on from the newest "
        "checkpoint whose every byte is right; a run that was killed before its first one starts "
        "again with the same seed. A resumed run starts a new mlperf.log and keeps the earlier "
        "one as mlperf.1.log, mlperf.2.log and so on; its log covers the last start only, so it "
        "is no timed result. The first Ctrl-C saves a checkpoint and stops; the "
        "second stops at once.\n"
        "--runs N makes a set: run-1, run-2 and so on in one folder, each an ordinary run in a "
        "process "
        "of its own, with a seed of its own from the system's entropy; set.json holds what belongs "
        "to "
        "all of them. Before each run the page cache is cleared and looked at (--clear-cache), and "
        "the "
        "log tells whether any of the data set was left in memory. A run that misses the target "
        "does "
        "not count; when more of them have missed it than a result may hold, the set stops. "
        "--resume "
        "--out DIR goes on with a set, with the options it began with: what has finished stays, "
        "and a "
        "run that was interrupted starts anew with another seed, its folder kept as "
        "run-3.interrupted-1.\n"
        "Exit "
        "status: 0 the target was reached or the steps asked for were made, 1 it was not "
        "reached, the run was interrupted, or the loss or the gradients were not finite, 2 usage, "
        "3 files or device failed or the last checkpoint could not be "
        "written, 4 the result does not stand, also when a resumed run reached the target or "
        "something else wrote into mlperf.log.",
    .tables = tables,
    .run = run,
};
