#include "cli/study_drive.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/copy_in.h"
#include "cli/page.h"
#include "cli/run_folder.h"
#include "cli/seed.h"
#include "cli/set_options.h"
#include "cli/study_length.h"
#include "rules/attempt.h"

const char *const study_clear_names[] = {"files", "yes", "no", NULL};

struct drive {
    struct setup *const *setups;
    struct study_request q;
    struct study study;
    struct children children;
    int lock; /* -1: none */
};

/* ---- starting runs ---- */

static void set_text(char **where, const char *text)
{
    char *const copy = text ? xstrdup(text) : NULL;

    free(*where);
    *where = copy;
}

/* Makes the workload's settings those of a run under this condition. */
static void set_condition(struct setup *s, const struct study_condition *c)
{
    set_text(&s->conditions.memory, c->memory);
    set_text(&s->conditions.cache, c->cache);
    set_text(&s->conditions.ingest, c->ingest);
    if (c->data)
        set_text(&s->settings.data.data_dir, c->data);
}

/* A run in out; with n_check only a look whether it could start. */
static int start(struct drive *d, struct setup *s, const char *out, struct child_end *end,
                 int n_check)
{
    char **const argv =
        set_argv(&s->line, s->workload->name,
                 (struct set_overrides){.command = "run",
                                        .leave_out = d->q.kind,
                                        .out = out,
                                        .seed = d->study.seed,
                                        .clear = study_clear_names[d->q.common->clear_cache],
                                        .n_check = n_check});
    const int rc = children_run(&d->children, argv, CHILD_REPORTS, end);

    set_argv_free(argv);
    return rc;
}

/* As long as the training alone takes, of the runs so far. */
static double seconds_alone(const struct study *s, size_t workload)
{
    double *const seconds = xcalloc(s->n_runs, sizeof(*seconds)), mean;
    size_t n = 0;

    for (size_t i = 0; i < s->n_runs; i++)
        if (s->runs[i].workload == workload && s->runs[i].condition == 0 && s->runs[i].stands)
            seconds[n++] = s->runs[i].figures[FIGURE_run_s];
    mean = effect_spread(seconds, n).mean;
    free(seconds);
    return isfinite(mean) ? mean : STUDY_SECONDS;
}

/* The ingest of the condition without a training: cmd_load.c. */
static int start_load(struct drive *d, size_t at, struct child_end *end)
{
    const struct study_run *const r = &d->study.runs[at];
    char *const folder = study_run_folder(&d->study, at);
    char *const pairs[] = {
        xasprintf("ingest=%s", d->study.conditions[r->condition].ingest),
        xasprintf("out=%s", folder),
        xasprintf("seconds=%.17g", seconds_alone(&d->study, r->workload)),
        xasprintf("sample-rate=%.17g", d->setups[r->workload]->conditions.sample_rate)};
    char *const argv[] = {"stave", "load",   "-o", pairs[0], "-o", pairs[1],
                          "-o",    pairs[2], "-o", pairs[3], NULL};
    const int rc = children_run(&d->children, argv, CHILD_REPORTS, end);

    for (size_t i = 0; i < COUNT_OF(pairs); i++)
        free(pairs[i]);
    free(folder);
    return rc;
}

static int start_training(struct drive *d, size_t at, struct child_end *end)
{
    const struct study_run *const r = &d->study.runs[at];
    const struct study_condition *const c = &d->study.conditions[r->condition];
    struct setup *const s = d->setups[r->workload];
    char *const folder = study_run_folder(&d->study, at);
    struct copy_in copy = {0};
    int rc = 0, stopped = 0;

    set_condition(s, c);
    if (c->copy_in)
        rc = copy_in_start(c->copy_in, folder, d->study.warm_s, &copy);
    if (rc == 0)
        rc = start(d, s, folder, end, 0);
    if (copy.count)
        stopped = copy_in_stop(&copy);
    free(folder);
    return rc < 0 ? rc : stopped;
}

static int start_run(struct drive *d, size_t at, struct child_end *end)
{
    const size_t condition = d->study.runs[at].condition;

    if (d->study.conditions[condition].alone == ALONE_INGEST)
        return start_load(d, at, end);
    return start_training(d, at, end);
}

/* ---- a new study ---- */

static int check_free(const char *dir)
{
    if (study_exists(dir))
        return err(E_USAGE,
                   "%s holds a study already; choose another --out, or add --resume to go on with "
                   "it",
                   dir);
    if (run_folder_holds_run(dir))
        return err(E_USAGE, "%s holds a run already; choose another --out", dir);
    return 0;
}

/* Its name, the options as the line says them, and the unit of its samples. */
static int add_workload(struct study *s, struct setup *setup)
{
    struct study_workload *const w = &s->workloads[s->n_workloads++];
    struct str options = STR_INIT;
    struct task task;
    int rc;

    command_line_add_json(&setup->line, &options);
    w->name = xstrdup(setup->workload->name);
    w->options = str_detach(&options);
    set_condition(setup, &s->conditions[0]);
    rc = setup->workload->open(&setup->settings, 1, &task);
    w->unit = xstrdup(rc == 0 && task.unit ? task.unit : "samples");
    setup->workload->close(&task);
    return rc;
}

static int describe(struct drive *d, size_t n)
{
    struct study *const s = &d->study;
    const long long seed = d->setups[0]->settings.train.seed;

    s->kind = d->q.kind;
    s->stave_version = xstrdup(STAVE_VERSION);
    s->started = run_folder_utc();
    s->warm_s = d->setups[0]->conditions.warm;
    s->seed = (uint64_t)seed;
    if (seed == 0)
        TRY(seed_draw(&s->seed));
    TRY(d->q.plan(d->q.context, s));
    s->workloads = xcalloc(n, sizeof(*s->workloads));
    for (size_t i = 0; i < n; i++)
        TRY(add_workload(s, d->setups[i]));
    study_set_repeats(s, (size_t)d->q.common->repeats);
    return 0;
}

/* Whether a run could start under every condition. Returns an exit code. */
static int check_conditions(struct drive *d)
{
    for (size_t w = 0; w < d->study.n_workloads; w++)
        for (size_t c = 0; c < d->study.n_conditions; c++) {
            const struct study_condition *const k = &d->study.conditions[c];
            struct child_end end;

            if (k->alone == ALONE_INGEST)
                continue; /* the same ingest is looked at beside the training */
            if (k->copy_in)
                TRY(copy_in_check(k->copy_in, d->study.dir));
            set_condition(d->setups[w], k);
            TRY(start(d, d->setups[w], d->study.dir, &end, 1));
            if (end.code || d->children.stop) {
                fprintf(stderr, "stave: no run of %s can start under the condition \"%s\"\n",
                        d->study.workloads[w].name, k->name);
                return end.code ? end.code : EXIT_NOT_REACHED;
            }
        }
    return 0;
}

/* One run that is thrown away. */
static int try_length(void *context, size_t workload, const char *folder, struct child_end *end)
{
    struct drive *const d = context;

    set_condition(d->setups[workload], &d->study.conditions[0]);
    TRY(start(d, d->setups[workload], folder, end, 0));
    return d->children.stop ? err(E_STOPPED, "stopped before the first run of the study") : 0;
}

/* Returns an exit code. */
static int open_new(struct drive *d, size_t n)
{
    struct study *const s = &d->study;
    int code;

    TRY(check_free(s->dir));
    TRY(describe(d, n));
    code = check_conditions(d);
    if (code)
        return code;
    TRY(file_mkdirs(s->dir));
    TRY(run_folder_lock(s->dir, &d->lock));
    TRY(check_free(s->dir)); /* what was seen before the lock may not be true any more */
    for (size_t i = 0; i < n; i++)
        TRY(study_length(s, i, d->setups[i],
                         (struct length_trial){.run = try_length, .context = d}));
    return study_write(s);
}

/* ---- an earlier one ---- */

static int check_same(const struct drive *d, size_t n)
{
    const struct study *const s = &d->study;
    int same = n == s->n_workloads;

    for (size_t i = 0; same && i < n; i++)
        same = strcmp(s->workloads[i].name, d->setups[i]->workload->name) == 0;
    if (!same || strcmp(s->kind, d->q.kind) != 0)
        return err(E_USAGE, "%s holds another study: stave %s %s%s", s->dir, s->kind,
                   s->workloads[0].name, s->n_workloads > 1 ? " ..." : "");
    if (strcmp(s->stave_version, STAVE_VERSION) != 0)
        return err(E_USAGE,
                   "the runs in %s are made by stave %s and this is %s; the runs of a study are "
                   "made by one program",
                   s->dir, s->stave_version, STAVE_VERSION);
    if (command_line_says(&d->setups[0]->line, "seed") &&
        (uint64_t)d->setups[0]->settings.train.seed != s->seed)
        return err(E_USAGE,
                   "the runs in %s have seed %llu, and the runs of a study are alike; leave out "
                   "--seed or start another study",
                   s->dir, (unsigned long long)s->seed);
    if (command_line_says(&d->setups[0]->line, "repeats") &&
        (size_t)d->q.common->repeats < s->n_repeats)
        return err(E_USAGE, "the study in %s has %zu repeats; leave out --repeats, or give more",
                   s->dir, s->n_repeats);
    return 0;
}

/* What a run left that is made again gets the next free name that says what it is. */
static int set_aside(const struct study *s, size_t at, enum attempt what)
{
    char *const folder = study_run_folder(s, at), *to = NULL;
    int rc = 0, k = 0;

    if (file_exists(folder)) {
        do {
            free(to);
            to = attempt_name(folder, what, ++k);
        } while (file_exists(to));
        if (rename(folder, to) < 0)
            rc = err(E_IO, "rename %s to %s: %s", folder, to, strerror(errno));
    }
    free(folder);
    free(to);
    return rc;
}

/* Runs that stand stay; the others are made again. */
static int settle(struct drive *d)
{
    struct study *const s = &d->study;

    for (size_t i = 0; i < s->n_runs; i++) {
        struct study_run *const r = &s->runs[i];

        if (r->state == STUDY_DONE)
            study_look(s, i, r->exit_code, r);
        if (r->state == STUDY_DONE && r->stands)
            continue;
        TRY(set_aside(s, i, r->state == STUDY_DONE ? ATTEMPT_FAILED : ATTEMPT_INTERRUPTED));
        r->state = STUDY_WAITING;
    }
    return 0;
}

static int open_again(struct drive *d, size_t n)
{
    struct study *const s = &d->study;

    if (!study_exists(s->dir))
        return err(E_USAGE, "there is no study in %s to resume; leave out --resume to start one",
                   s->dir);
    TRY(run_folder_lock(s->dir, &d->lock));
    TRY(study_read(s));
    TRY(check_same(d, n));
    for (size_t i = 0; i < n; i++) {
        const struct set_origin from = {.options = s->workloads[i].options,
                                        .dir = s->dir,
                                        .file = "study.json",
                                        .what = "study"};
        TRY(set_options_restore(&d->setups[i]->line, &from));
        study_apply_length(s, i, d->setups[i]);
    }
    if (command_line_says(&d->setups[0]->line, "repeats"))
        study_set_repeats(s, (size_t)d->q.common->repeats);
    TRY(settle(d));
    return study_write(s);
}

/* ---- the runs ---- */

static void say_run(const struct study *s, size_t at)
{
    const struct study_run *const r = &s->runs[at];

    fprintf(stderr, "run %zu of %zu: %s, %s, repeat %zu\n", at + 1, s->n_runs,
            s->workloads[r->workload].name, s->conditions[r->condition].name, r->repeat);
}

static void say_end(const struct study *s, size_t at, const struct child_end *end)
{
    const struct study_run *const r = &s->runs[at];
    const double rate = r->figures[FIGURE_train_samples_per_s],
                 ingest = r->figures[FIGURE_ingest_bytes_per_s];

    if (end->signal)
        fprintf(stderr, "  it was ended by signal %d (%s)\n", end->signal, strsignal(end->signal));
    if (!r->stands)
        fprintf(stderr, "  it does not count: %s\n", r->why);
    else if (isfinite(rate))
        fprintf(stderr, "  %.4g %s/s, %.3g s\n", rate, s->workloads[r->workload].unit,
                r->figures[FIGURE_run_s]);
    else if (isfinite(ingest))
        fprintf(stderr, "  %.3g MB/s written\n", ingest / 1e6);
}

/* Nobody looks at the weights of a study's runs, and they are large. */
static void remove_checkpoints(const struct study *s, size_t at)
{
    char *const folder = study_run_folder(s, at);
    struct file_names names;

    if (file_list(folder, &names) == 0)
        for (size_t i = 0; i < names.n; i++)
            if (fnmatch("checkpoint*.safetensors", names.all[i], 0) == 0) {
                char *const path = file_join(folder, names.all[i]);
                unlink(path);
                free(path);
            }
    file_names_release(&names);
    free(folder);
}

/* A run that was asked to stop stays one that waits. */
static int make_run(struct drive *d, size_t at)
{
    struct study *const s = &d->study;
    struct child_end end;

    say_run(s, at);
    TRY(start_run(d, at, &end));
    if (d->children.stop)
        return 0;
    study_look(s, at, end.code, &s->runs[at]);
    say_end(s, at, &end);
    if (s->runs[at].stands)
        remove_checkpoints(s, at);
    return study_write(s);
}

/* Returns the exit code of the study. */
static int make_runs(struct drive *d)
{
    const struct study *const s = &d->study;
    int code = EXIT_REACHED;

    for (size_t i = 0; i < s->n_runs; i++) {
        if (s->runs[i].state == STUDY_WAITING && !children_stop(&d->children))
            TRY(make_run(d, i));
        if (d->children.stop)
            return EXIT_NOT_REACHED;
        if (!s->runs[i].stands)
            code = EXIT_UNTRUSTWORTHY;
    }
    return code;
}

static void report(const struct drive *d)
{
    const struct study *const s = &d->study;
    struct study_result r;
    struct str out = STR_INIT;

    study_judge(s, &r);
    if (d->q.common->json) {
        study_add_json(s, &r, &out);
        fputs(out.s, stdout);
        str_release(&out);
    } else {
        study_print(s, &r);
    }
    study_result_release(&r);
}

static int drive(struct drive *d, size_t n)
{
    int code = d->q.common->resume ? open_again(d, n) : open_new(d, n);

    if (code)
        return code;
    code = make_runs(d);
    if (code < 0)
        return code;
    page_write(d->study.dir);
    report(d);
    if (code == EXIT_NOT_REACHED)
        fprintf(stderr, "stave: the study was stopped; --resume --out %s goes on with it\n",
                d->study.dir);
    return code;
}

int study_drive(struct setup *const *setups, size_t n, struct study_request q)
{
    struct drive d = {.setups = setups, .q = q, .lock = -1};
    int rc;

    d.study.dir = xstrdup(q.dir);
    children_begin(&d.children);
    rc = drive(&d, n);
    children_end(&d.children);
    if (d.lock >= 0)
        close(d.lock);
    study_release(&d.study);
    return rc;
}
