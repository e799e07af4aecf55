/* `stave check`: MLPerf logs against a ruleset. Several files are checked at once, each into a text
 * of its own; the texts are printed in the order of the command line. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "base/err.h"
#include "base/json.h"
#include "cli/command_line.h"
#include "rules/check.h"
#include "rules/ruleset.h"

struct check_settings {
    char *ruleset;
    int json, quiet, all;
};

/* clang-format off */
#define ROW(...) OPT_ROW(check_settings, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("ruleset", OPT_STRING, ruleset, .arg = "ROUND",
        .help = "The round whose rules hold; else 0.5.0 or 0.6.0 where the lines have its format, and " RULESET_PINNED " otherwise"),
    ROW("quiet", OPT_BOOL, quiet, .dflt = "no", .help = "Print no warnings and notes"),
    ROW("all", OPT_BOOL, all, .dflt = "no", .help = "Print every finding, also of a kind that comes again and again"),
    ROW("json", OPT_BOOL, json, .dflt = "no", .help = "Print one JSON document"),
};
/* clang-format on */

static const struct opt_table options = {"check", rows, COUNT_OF(rows)};

/* Findings of one kind that are printed: a log of a gigabyte may hold millions. */
static const size_t most_printed[N_RULE_SEVERITIES] = {100, 100, 3, 3};

/* Findings of one name. */
struct kind {
    char *name;
    enum rule_severity severity;
    size_t n;
};

/* One file being checked. */
struct report {
    const struct check_settings *own;
    const char *path;
    struct str *out;
    struct str json; /* of its findings */
    size_t n;
    struct kind *kinds;
    size_t n_kinds;
};

static struct kind *kind_of(struct report *r, const struct rule_finding *f)
{
    for (size_t i = 0; i < r->n_kinds; i++)
        if (r->kinds[i].severity == f->severity && strcmp(r->kinds[i].name, f->name) == 0)
            return &r->kinds[i];
    r->kinds = xrealloc(r->kinds, (r->n_kinds + 1) * sizeof(*r->kinds));
    r->kinds[r->n_kinds] = (struct kind){.name = xstrdup(f->name), .severity = f->severity};
    return &r->kinds[r->n_kinds++];
}

/* How many of a kind were not printed. */
static size_t left_out(const struct report *r, const struct kind *k)
{
    const size_t most = most_printed[k->severity];

    return r->own->all || k->n <= most ? 0 : k->n - most;
}

static void report_release(struct report *r)
{
    for (size_t i = 0; i < r->n_kinds; i++)
        free(r->kinds[i].name);
    free(r->kinds);
    str_release(&r->json);
}

/* ---- text ---- */

static void print_finding(const struct report *r, const struct rule_finding *f)
{
    str_add_printable(r->out, r->path);
    if (f->line)
        str_printf(r->out, ":%zu:%zu", f->line, f->column);
    str_printf(r->out, ": %s: ", rule_severity_name(f->severity));
    if (f->key[0]) {
        str_add_printable(r->out, f->key);
        str_printf(r->out, ": ");
    }
    str_add_printable(r->out, f->found);
    if (f->expected[0]) {
        str_printf(r->out, "; expected ");
        str_add_printable(r->out, f->expected);
    }
    str_printf(r->out, " [%s; %s]\n", f->name, f->rule);
}

static void print_left_out(const struct report *r)
{
    for (size_t i = 0; i < r->n_kinds; i++) {
        const struct kind *const k = &r->kinds[i];
        const size_t n = left_out(r, k);

        if (n == 0)
            continue;
        str_add_printable(r->out, r->path);
        str_printf(r->out, ": %s: %zu more of %s; --all prints them\n",
                   rule_severity_name(k->severity), n, k->name);
    }
}

static void print_verdict(const struct report *r, const struct rule_verdict *v)
{
    const char *const how = !v->guessed ? "" : ", by the format of its lines";

    print_left_out(r);
    str_add_printable(r->out, r->path);
    str_printf(r->out, ": %s under ruleset %s%s", v->stands ? "stands" : "does not stand",
               v->version, how);
    if (v->benchmark[0])
        str_printf(r->out, "; %s%s%s", v->division, v->division[0] ? " " : "", v->benchmark);
    str_printf(r->out, "; %zu records", v->n_records);
    for (enum rule_severity s = 0; s < N_RULE_SEVERITIES; s++)
        if (v->n[s])
            str_printf(r->out, ", %zu %s%s", v->n[s], rule_severity_name(s),
                       v->n[s] > 1 && s != RULE_STRICT ? "s" : "");
    if (v->official_accepts && !v->stands)
        str_printf(r->out, "; the official checker accepts it");
    str_printf(r->out, "\n");
}

/* ---- JSON ---- */

static void add_finding(struct report *r, const struct rule_finding *f)
{
    struct str *const out = &r->json;

    str_printf(out, "%s\n    {\"severity\": \"%s\"", r->n++ ? "," : "",
               rule_severity_name(f->severity));
    json_add_text(out, "name", f->name);
    if (f->line)
        str_printf(out, ", \"line\": %zu, \"column\": %zu", f->line, f->column);
    json_add_text(out, "key", f->key);
    json_add_text(out, "found", f->found);
    json_add_text(out, "expected", f->expected);
    json_add_text(out, "rule", f->rule);
    str_add(out, "}");
}

static void print_json(const struct report *r, const struct rule_verdict *v)
{
    struct str out = STR_INIT;

    str_add(&out, "  {\"file\": ");
    str_add_json(&out, r->path);
    str_printf(&out, ", \"stands\": %s, \"official_accepts\": %s, \"ruleset\": \"%s\"",
               v->stands ? "true" : "false", v->official_accepts ? "true" : "false", v->version);
    str_printf(&out, ", \"guessed\": %s", v->guessed ? "true" : "false");
    json_add_text(&out, "division", v->division);
    json_add_text(&out, "benchmark", v->benchmark);
    str_printf(&out, ", \"records\": %zu", v->n_records);
    for (enum rule_severity s = 0; s < N_RULE_SEVERITIES; s++)
        str_printf(&out, ", \"%s\": %zu", rule_severity_name(s), v->n[s]);
    str_printf(&out, ", \"findings\": [%s], \"left_out\": {", r->json.len ? r->json.s : "");
    for (size_t i = 0, n = 0; i < r->n_kinds; i++)
        if (left_out(r, &r->kinds[i])) {
            str_add(&out, n++ ? ", " : "");
            str_add_json(&out, r->kinds[i].name);
            str_printf(&out, ": %zu", left_out(r, &r->kinds[i]));
        }
    str_printf(r->out, "%s}}", out.s);
    str_release(&out);
}

/* ---- files ---- */

static int on_finding(void *context, const struct rule_finding *f)
{
    struct report *const r = context;
    struct kind *kind;

    if (r->own->quiet && f->severity > RULE_STRICT)
        return 0;
    kind = kind_of(r, f);
    kind->n++;
    if (left_out(r, kind))
        return 0;
    if (r->own->json)
        add_finding(r, f);
    else
        print_finding(r, f);
    return 0;
}

/* ---- one file ---- */

struct job {
    struct str text; /* for stdout */
    char *reason;    /* why the file can not be read; heap, or NULL */
    int code;        /* the exit code for this file */
    int done;
};

static void add_unreadable(const struct report *r)
{
    struct str out = STR_INIT;

    str_add(&out, "  {\"file\": ");
    str_add_json(&out, r->path);
    json_add_text(&out, "error", err_reason());
    str_printf(r->out, "%s}", out.s);
    str_release(&out);
}

static void check_file(const struct check_settings *own, const struct ruleset *ruleset,
                       const char *path, struct job *job)
{
    struct report r = {.own = own, .path = path, .out = &job->text};
    struct rule_verdict verdict;
    const int rc =
        rules_check_file(path, ruleset, &(struct rule_visitor){on_finding, &r}, &verdict);

    if (rc < 0)
        job->reason = xstrdup(err_reason());
    if (rc < 0 && own->json)
        add_unreadable(&r);
    else if (rc == 0 && own->json)
        print_json(&r, &verdict);
    else if (rc == 0)
        print_verdict(&r, &verdict);
    job->code = rc < 0 ? EXIT_WORLD : verdict.stands ? EXIT_REACHED : EXIT_UNTRUSTWORTHY;
    report_release(&r);
}

/* ---- all files ---- */

/* Threads take the next file each, but none that is AHEAD of what has been printed. */
enum { AHEAD = 64, MOST_THREADS = 16 };

struct queue {
    const struct check_settings *own;
    const struct ruleset *ruleset;
    const char *const *paths;
    struct job *jobs;
    int n, next, printed;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

static void *take_files(void *arg)
{
    struct queue *const q = arg;

    pthread_mutex_lock(&q->lock);
    while (q->next < q->n) {
        const int i = q->next;

        if (i >= q->printed + AHEAD) {
            pthread_cond_wait(&q->changed, &q->lock);
            continue;
        }
        q->next++;
        pthread_mutex_unlock(&q->lock);
        check_file(q->own, q->ruleset, q->paths[i], &q->jobs[i]);
        pthread_mutex_lock(&q->lock);
        q->jobs[i].done = 1;
        pthread_cond_broadcast(&q->changed);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

static void print_job(const struct queue *q, int i)
{
    struct job *const job = &q->jobs[i];

    if (job->text.len)
        fwrite(job->text.s, 1, job->text.len, stdout);
    if (q->own->json)
        printf("%s\n", i + 1 < q->n ? "," : "");
    else if (job->reason)
        err_print("", job->reason);
    str_release(&job->text);
    free(job->reason);
}

/* Prints them in order as they are done; returns the exit code. */
static int print_all(struct queue *q)
{
    int worst = EXIT_REACHED;

    for (int i = 0; i < q->n; i++) {
        pthread_mutex_lock(&q->lock);
        while (!q->jobs[i].done)
            pthread_cond_wait(&q->changed, &q->lock);
        q->printed = i + 1;
        pthread_cond_broadcast(&q->changed);
        pthread_mutex_unlock(&q->lock);
        if (q->jobs[i].code == EXIT_WORLD || worst == EXIT_REACHED)
            worst = q->jobs[i].code;
        print_job(q, i);
    }
    return worst;
}

static int thread_count(int n_files)
{
    struct cpus cpus;
    int n = cpus_find("", &cpus) == 0 ? cpus.count : 1;

    if (n > MOST_THREADS)
        n = MOST_THREADS;
    return n < n_files ? n : n_files;
}

static int check_all(struct queue *q)
{
    pthread_t threads[MOST_THREADS];
    const int wanted = thread_count(q->n);
    int n = 0, code;

    while (n < wanted && pthread_create(&threads[n], NULL, take_files, q) == 0)
        n++;
    if (n == 0)
        return err(E_NOMEM, "the system starts no thread");
    code = print_all(q);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    return code;
}

static int check_files(const struct check_settings *own, const struct command_line *line)
{
    struct queue q = {.own = own,
                      .ruleset = own->ruleset ? ruleset_find(own->ruleset) : NULL,
                      .paths = line->args,
                      .n = line->n_args,
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .changed = PTHREAD_COND_INITIALIZER};
    int code;

    if (own->ruleset && !q.ruleset)
        return ruleset_unknown(own->ruleset);
    q.jobs = xcalloc((size_t)q.n, sizeof(*q.jobs)); /* a zeroed str is an empty one */
    if (own->json)
        printf("[\n");
    code = check_all(&q);
    if (own->json)
        printf("]\n");
    free(q.jobs);
    return code;
}

static int work(const struct command_line *line, const void *settings)
{
    const struct check_settings *const own = settings;

    return check_files(own, line);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct check_settings own;

    return command_line_run(self, argc, argv, &own, work);
}

static const struct opt_table *const tables[] = {&options, NULL};

const struct command command_check = {
    .name = "check",
    .args = "FILE...",
    .min_args = 1,
    .max_args = 1 << 20,
    .summary = "Hold MLPerf logs against the rules of a round",
    .about =
        "Says of each log whether it stands, and of each finding where it is, what was expected "
        "and which rule asks for it. An error is what the official compliance checker refuses, "
        "too; strict is what it accepts and we do not, each kind with a name (docs/rules.md says "
        "why); warnings and notes leave a log standing. Lines of the rounds 0.5 (:::MLPv0.5.0), "
        "0.6 (:::MLL) and later (:::MLLOG) are read. The exit status is 0 when all logs stand, 4 "
        "when one does not, 3 when one can not be read.",
    .tables = tables,
    .run = run,
};
