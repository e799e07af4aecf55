#include "cli/set_drive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/page.h"
#include "cli/run_folder.h"
#include "cli/set_options.h"
#include "cli/set_report.h"
#include "cli/set_result.h"

/* Each run is a process of its own, started by executing this program again. Then its
 * initialisation is a whole one (kernels compiled, memory fresh, no cache of the one before), which
 * the rules let a run do off the clock but once; nothing grows from run to run; a device context,
 * which no process may hand on to a fork, is never this process's; and a run that crashes costs
 * itself alone. */
struct drive {
    struct setup *setup;
    struct set_request q;
    struct run_set set;
    struct set_judge judge;
    struct children children;
    int lock; /* -1: none */
};

/* ---- the set ---- */

static struct score_rule rule_of(const struct setup *s)
{
    const struct workload *const w = s->workload;

    return w->benchmark ? score_rule(workload_ruleset(w, &s->settings), w->benchmark)
                        : (struct score_rule){.n_drop = 1};
}

int set_size(const struct setup *s, long long runs)
{
    const int n = rule_of(s).n_runs;

    if (runs > 0)
        return (int)runs;
    if (n > 0)
        return n;
    return err(E_USAGE, "ruleset %s names no number of runs for %s; give it with --runs N",
               workload_ruleset(s->workload, &s->settings), s->workload->name);
}

static char *utc_now(void)
{
    const time_t now = (time_t)(clock_wall_ms() / 1000);
    char text[32];
    struct tm tm;

    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
    return xstrdup(text);
}

static int start_child(struct drive *d, struct set_overrides o, enum child_words words,
                       struct child_end *end)
{
    char **const argv = set_argv(&d->setup->line, d->setup->workload->name, o);
    const int rc = children_run(&d->children, argv, words, end);

    set_argv_free(argv);
    return rc;
}

/* Settings, data and room for all of it are looked at before anything is written. Returns an exit
 * code. */
static int check(struct drive *d)
{
    struct child_end end;

    TRY(start_child(
        d, (struct set_overrides){.out = d->q.dir, .clear = d->q.clear, .n_check = (int)d->set.n},
        CHILD_REPORTS, &end));
    return d->children.stop ? EXIT_NOT_REACHED : end.code;
}

static int check_new(const struct drive *d)
{
    if (d->setup->settings.train.seed > 0)
        return err(E_USAGE, "--seed gives every run of a set the same random numbers, and the "
                            "rules want another seed of the system's for each; leave it out "
                            "(set.json keeps those that are drawn)");
    if (run_folder_holds_run(d->q.dir))
        return err(E_USAGE,
                   "%s holds a run already; choose another --out, or add --resume to go on with a "
                   "set of runs",
                   d->q.dir);
    return 0;
}

/* Returns an exit code. */
static int open_new(struct drive *d)
{
    struct run_set *const s = &d->set;
    struct str options = STR_INIT;
    int code;

    TRY(check_new(d));
    command_line_add_json(&d->setup->line, &options);
    s->options = str_detach(&options);
    s->stave_version = xstrdup(STAVE_VERSION);
    s->workload = xstrdup(d->setup->workload->name);
    s->ruleset = xstrdup(workload_ruleset(d->setup->workload, &d->setup->settings));
    s->started = utc_now();
    s->until_sure = d->q.until_sure;
    TRY(run_set_draw(s, (size_t)set_size(d->setup, d->q.runs)));
    code = check(d);
    if (code)
        return code;
    TRY(file_mkdirs(s->dir));
    TRY(run_folder_lock(s->dir, &d->lock));
    TRY(check_new(d)); /* what was seen before the lock may not be true any more */
    return run_set_write(s);
}

static int check_same(const struct drive *d)
{
    const struct run_set *const s = &d->set;
    const struct command_line *const l = &d->setup->line;

    if (strcmp(s->workload, d->setup->workload->name) != 0)
        return err(E_USAGE, "the runs in %s are of %s, not of %s", s->dir, s->workload,
                   d->setup->workload->name);
    if (strcmp(s->stave_version, STAVE_VERSION) != 0)
        return err(E_USAGE,
                   "the runs in %s are made by stave %s and this is %s; the runs of a set are made "
                   "by one program",
                   s->dir, s->stave_version, STAVE_VERSION);
    if (command_line_says(l, "runs") && (size_t)set_size(d->setup, d->q.runs) != s->n)
        return err(E_USAGE, "the set in %s is one of %zu runs; leave out --runs, or start another",
                   s->dir, s->n);
    if (command_line_says(l, "until-sure") && d->q.until_sure != s->until_sure)
        return err(E_USAGE, "the set in %s has --until-sure %g; leave it out", s->dir,
                   s->until_sure);
    if (command_line_says(l, "seed"))
        return err(E_USAGE, "the seeds of the set in %s are drawn; leave out --seed", s->dir);
    return 0;
}

/* What a set that was killed left running has ended, or another process is still at it: then its
 * folder is locked. */
static int settle_running(struct drive *d, size_t at)
{
    char *const folder = run_set_folder(&d->set, at);
    int fd = -1, rc = 0;

    if (file_exists(folder))
        rc = run_folder_lock(folder, &fd);
    if (rc == 0)
        set_result_look(&d->set, at, -1);
    if (fd >= 0)
        close(fd);
    free(folder);
    return rc;
}

/* A finished run is looked at again: what it left may have been changed since. One that is gone is
 * not made anew, since a result may not choose among its runs. */
static int settle_finished(struct drive *d, size_t at)
{
    struct set_run *const r = &d->set.runs[at];
    const struct set_result was = r->result;
    char *const folder = run_set_folder(&d->set, at);
    const int there = file_exists(folder);
    int same;

    free(folder);
    if (!there)
        return err(E_IO,
                   "run-%zu of the set in %s is gone, and a set without one of its runs is no "
                   "result; put it back, or start another set",
                   at + 1, d->set.dir);
    set_result_look(&d->set, at, was.code);
    same = r->state == SET_FINISHED && r->result.code == was.code;
    if (!same)
        warning("run-%zu of the set in %s is not what it was when it finished", at + 1, d->set.dir);
    r->state = SET_FINISHED;
    r->result = was;
    if (!same) {
        r->result.code = EXIT_UNTRUSTWORTHY;
        snprintf(r->result.why, sizeof(r->result.why), "it was changed after its end");
    }
    return 0;
}

static int settle(struct drive *d)
{
    for (size_t i = 0; i < d->set.n; i++) {
        struct set_run *const r = &d->set.runs[i];

        if (r->state == SET_FINISHED)
            TRY(settle_finished(d, i));
        if (r->state == SET_RUNNING)
            TRY(settle_running(d, i));
        if (r->state == SET_INTERRUPTED || r->state == SET_FAILED) {
            TRY(run_set_start_again(&d->set, i));
            TRY(run_set_write(&d->set));
        }
    }
    return run_set_write(&d->set);
}

static int open_again(struct drive *d)
{
    struct set_origin from = {.dir = d->set.dir, .file = "set.json", .what = "set"};

    TRY(run_folder_lock(d->set.dir, &d->lock));
    TRY(run_set_read(&d->set));
    TRY(check_same(d));
    from.options = d->set.options;
    TRY(set_options_restore(&d->setup->line, &from));
    return settle(d);
}

/* ---- the runs ---- */

static void say_end(const struct drive *d, size_t at, const struct child_end *end)
{
    if (d->set.runs[at].state != SET_FAILED)
        return;
    if (end->signal)
        fprintf(stderr, "stave: run %zu was ended by signal %d (%s)\n", at + 1, end->signal,
                strsignal(end->signal));
    else
        fprintf(stderr, "stave: run %zu ended with code %d\n", at + 1, end->code);
    fprintf(stderr, "stave: the set stops; --resume --out %s makes this run anew and the rest\n",
            d->set.dir);
}

/* Its state tells how it went; *code is its exit code. */
static int make_run(struct drive *d, size_t at, int *code)
{
    struct set_run *const r = &d->set.runs[at];
    char *const folder = run_set_folder(&d->set, at);
    struct child_end end;
    int rc;

    fprintf(stderr, "run %zu of %zu: seed %llu, %s\n", at + 1, d->set.n,
            (unsigned long long)r->seed, folder);
    r->state = SET_RUNNING;
    rc = run_set_write(&d->set);
    if (rc == 0)
        rc = start_child(
            d, (struct set_overrides){.out = folder, .seed = r->seed, .clear = d->q.clear},
            CHILD_SPEAKS, &end);
    free(folder);
    TRY(rc);
    set_result_look(&d->set, at, end.code);
    if (r->state == SET_FAILED && d->children.stop)
        r->state = SET_INTERRUPTED;
    say_end(d, at, &end);
    *code = end.code;
    return run_set_write(&d->set);
}

/* Whether the runs so far make a result impossible. */
static int is_void(const struct drive *d, const struct set_count *c)
{
    const size_t failed = c->missed + c->untrusted;

    if (!d->judge.timed || failed <= (size_t)d->judge.rule.n_drop || d->q.keep_going)
        return 0;
    fprintf(stderr,
            "stave: the set stops: %zu runs do not count, and a result under ruleset %s holds at "
            "most %d of these; --resume --keep-going --out %s makes the rest all the same\n",
            failed, d->set.ruleset, d->judge.rule.n_drop, d->set.dir);
    return 1;
}

enum { FEWEST_FOR_CERTAINTY = 3 };

static int is_sure(const struct drive *d, const struct set_count *c)
{
    struct str words = STR_INIT;
    int sure;

    if (d->set.until_sure <= 0 || c->finished < FEWEST_FOR_CERTAINTY)
        return 0;
    sure = d->judge.timed && set_is_sure(&d->set, d->judge.rule.n_drop);
    set_add_certainty(&d->set, &d->judge, &words);
    fprintf(stderr, "%s%s\n", words.s, sure ? ": sure enough" : "");
    str_release(&words);
    return sure;
}

/* Returns the exit code of the set. */
static int make_runs(struct drive *d)
{
    struct set_count count = set_count(&d->set);
    int code;

    for (size_t i = 0; i < d->set.n; i++) {
        if (d->set.runs[i].state == SET_FINISHED)
            continue;
        if (is_void(d, &count) || is_sure(d, &count))
            break;
        if (children_stop(&d->children))
            return EXIT_NOT_REACHED;
        TRY(make_run(d, i, &code));
        if (d->set.runs[i].state == SET_FAILED)
            return code;
        if (d->set.runs[i].state == SET_INTERRUPTED)
            return EXIT_NOT_REACHED;
        count = set_count(&d->set);
    }
    return set_code(&count);
}

static void report(const struct drive *d, int code)
{
    if (d->q.json)
        set_print_json(&d->set, &d->judge, code);
    else if (set_count(&d->set).finished)
        set_print(&d->set, &d->judge);
}

static const char *metric_of(const struct setup *s)
{
    const struct rule_benchmark *const b = workload_benchmark(s->workload, &s->settings);

    return b ? b->metric : "quality";
}

static struct set_judge judge_of(const struct setup *s)
{
    return (struct set_judge){
        .rule = rule_of(s),
        .timed = s->settings.train.target > 0 && s->settings.train.steps == 0,
        .metric = metric_of(s),
    };
}

static int drive(struct drive *d)
{
    int code = d->q.resume ? open_again(d) : open_new(d);

    if (code)
        return code;
    d->judge = judge_of(d->setup);
    code = make_runs(d);
    if (code < 0) {
        err_print("", err_reason());
        code = command_exit_code(code);
    }
    page_write(d->set.dir);
    report(d, code);
    return code;
}

int set_drive(struct setup *s, struct set_request q)
{
    struct drive d = {.setup = s, .q = q, .lock = -1};
    int rc;

    d.set.dir = xstrdup(q.dir);
    children_begin(&d.children);
    rc = drive(&d);
    children_end(&d.children);
    if (d.lock >= 0)
        close(d.lock);
    run_set_release(&d.set);
    return rc;
}
