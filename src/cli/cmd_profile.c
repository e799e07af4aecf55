/* `stave profile`: the capacity of every stage, and which is the shortest stave. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/profile.h"
#include "cli/session_rig.h"
#include "cli/version.h"
#include "data/cache_clear.h"
#include "report/report.h"
#include "train/stop.h"

struct profile_settings {
    double seconds, precision;
    long long rounds;
    int clear_cache, json;
    char *out;
};

/* clang-format off */
#define ROW(...) OPT_ROW(profile_settings, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("seconds", OPT_REAL, seconds, .dflt = "1", .min = 0.01, .max = 3600, .arg = "S",
        .help = "How long loader, model and run are measured at least each time, and stages alone a quarter of that; whole batches"),
    ROW("rounds", OPT_INT, rounds, .dflt = "9", .min = 1, .max = PROFILE_MAX_ROUNDS, .arg = "N",
        .help = "Most times that every measurement is made, all of them in turn; the median counts"),
    ROW("precision", OPT_REAL, precision, .dflt = "0.02", .min = 0, .max = 1, .arg = "P",
        .help = "After three rounds, end once loader, model and run are known to this relative standard error"),
    ROW("clear-cache", OPT_BOOL, clear_cache, .dflt = "no",
        .help = "Have the system forget the data set before each measurement that reads, so that bytes come from storage"),
    ROW("out", OPT_STRING, out, .arg = "DIR", .help = "Write profile.json and its page, report.html, into this folder, which may be a run's"),
    ROW("json", OPT_BOOL, json, .dflt = "no", .help = "Print one JSON document"),
};
/* clang-format on */

static const struct opt_table options = {"profile", rows, COUNT_OF(rows)};

static int forget_data(void *context)
{
    const struct session_rig *const r = context;
    struct cache_clear c = {0};

    cache_clear(r->task.sources, COUNT_OF(r->task.sources), CACHE_CLEAR_FILES, &c);
    return 0;
}

static void tell(void *context, int round, enum profile_phase p)
{
    (void)context;
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[Kround %d: %s", round + 1, phase_name(p));
}

/* ---- text ---- */

static void print_row(const struct profile *p, enum profile_phase id)
{
    const struct profile_rate r = profile_rate(p, id);
    const struct rig_reading *const m = r.reading;
    struct str read = STR_INIT;

    printf("%-26s %10.1f %10.1f %10.1f", phase_name(id), r.median, r.least, r.most);
    printf("  %8.3f %6.1f %%", m->samples ? (double)m->cpu_ns / 1e6 / (double)m->samples : 0.0,
           100 * rig_starved(m, phase_threads(p, id)));
    rig_add_read_text(m, &read);
    if (read.len)
        printf("  %s", read.s);
    str_release(&read);
    printf("\n");
}

static void print_text(const struct session_rig *r, const struct profile *p)
{
    const struct staves s = profile_staves(p);
    const struct verdict v = verdict_find(&s);
    struct str words = STR_INIT;

    printf("%s: batch %lld, %d loader thread%s, prefetch %d, %g processors (%s), %d round%s\n",
           r->task.name, r->setup->settings.train.batch_size, p->loader.threads,
           p->loader.threads == 1 ? "" : "s", p->loader.prefetch, p->cpus,
           r->setup->machine.cpus.how, p->rounds, p->rounds == 1 ? "" : "s");
    printf("%-26s %10s %10s %10s  %8s %8s\n", p->unit, "per second", "least", "most", "cpu ms",
           "starved");
    for (enum profile_phase i = 0; i < N_PHASES; i++)
        print_row(p, i);
    verdict_add_words(&s, &v, &words);
    printf("\n%s", words.s);
    str_release(&words);
}

/* ---- JSON ---- */

static void add_phase(const struct profile *p, enum profile_phase id, struct str *out)
{
    const struct profile_rate r = profile_rate(p, id);

    json_add_key(out, phase_key(id));
    str_add(out, "{");
    json_add_real(out, "samples_per_s", r.median);
    json_add_real(out, "least_samples_per_s", r.least);
    json_add_real(out, "most_samples_per_s", r.most);
    rig_add_json(r.reading, out);
    str_add(out, "}");
}

static void add_document(const struct session_rig *r, const struct profile *p, struct str *out)
{
    const struct staves s = profile_staves(p);
    const struct verdict v = verdict_find(&s);
    struct str words = STR_INIT;

    verdict_add_words(&s, &v, &words);
    str_add(out, "{");
    json_add_text(out, "workload", r->task.name);
    json_add_text(out, "unit", p->unit);
    json_add_real(out, "batch_size", (double)r->setup->settings.train.batch_size);
    json_add_real(out, "num_threads", p->loader.threads);
    json_add_real(out, "prefetch", p->loader.prefetch);
    json_add_real(out, "cpus", p->cpus);
    json_add_real(out, "rounds", p->rounds);
    json_add_key(out, "phases");
    str_add(out, "{");
    for (enum profile_phase i = 0; i < N_PHASES; i++)
        add_phase(p, i, out);
    str_add(out, "}");
    json_add_key(out, "verdict");
    str_add(out, "{");
    json_add_text(out, "shortest", stave_name(v.shortest));
    json_add_flag(out, "balanced", v.balanced);
    json_add_real(out, "predicted_samples_per_s", v.level);
    json_add_real(out, "measured_samples_per_s", s.run);
    json_add_real(out, "next_samples_per_s", isfinite(v.next) ? v.next : NAN);
    json_add_text(out, "words", words.s);
    str_add(out, "}}\n");
    str_release(&words);
}

static void print_json(const struct session_rig *r, const struct profile *p)
{
    struct str out = STR_INIT;

    add_document(r, p, &out);
    fputs(out.s, stdout);
    str_release(&out);
}

static int write_folder(const struct session_rig *r, const struct profile *p, const char *dir)
{
    char *const path = file_join(dir, "profile.json"), *page = NULL;
    struct str out = STR_INIT;
    int rc;

    add_document(r, p, &out);
    rc = file_mkdirs(dir);
    if (rc == 0)
        rc = file_replace(path, out.s, out.len);
    if (rc == 0)
        rc = report_write(dir, &page);
    if (rc == 0)
        fprintf(stderr, "written: %s, %s\n", path, page);
    str_release(&out);
    free(path);
    free(page);
    return rc;
}

/* ---- the command ---- */

static int check_options(const struct setup *s)
{
    if (s->settings.data.synthetic)
        return err(E_USAGE,
                   "stave profile measures real data beside synthetic data by itself; leave "
                   "out --synthetic");
    return 0;
}

static int measure(struct session_rig *r, const struct profile_settings *own)
{
    struct profile *const p = xcalloc(1, sizeof(*p));
    const struct cpus *const cpus = &r->setup->machine.cpus;
    int rc;

    *p = (struct profile){.loader = session_rig_loader(r),
                          .cpus = cpus->quota > 0 && cpus->quota < cpus->count ? cpus->quota
                                                                               : cpus->count,
                          .unit = r->task.unit,
                          .min_rounds = own->rounds < 3 ? (int)own->rounds : 3,
                          .max_rounds = (int)own->rounds,
                          .precision = own->precision,
                          .window_ns = (int64_t)(own->seconds * 1e9),
                          .window_batches = 2,
                          .before_read = own->clear_cache ? forget_data : NULL,
                          .tell = tell,
                          .context = r};
    stop_install();
    rc = profile_measure(p, &r->rig);
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
    if (rc == 0 && own->json)
        print_json(r, p);
    else if (rc == 0)
        print_text(r, p);
    if (rc == 0 && own->out)
        rc = write_folder(r, p, own->out);
    free(p);
    return rc;
}

static int profile(struct setup *s, const struct profile_settings *own)
{
    struct session_rig r;
    int rc;

    TRY(check_options(s));
    TRY(session_rig_open(&r, s));
    rc = session_rig_add_model(&r);
    if (rc == 0)
        rc = measure(&r, own);
    session_rig_close(&r);
    return rc;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct profile_settings own;
    struct setup setup;
    int rc = setup_parse(&setup, self, argc, argv, &options, &own);

    if (rc == 0)
        rc = profile(&setup, &own);
    setup_release(&setup);
    return rc < 0 ? rc : EXIT_REACHED;
}

static const struct opt_table *const tables[] = {&options, SETUP_TABLES, NULL};

const struct command command_profile = {
    .name = "profile",
    .args = "WORKLOAD",
    .min_args = 1,
    .max_args = 1,
    .summary = "Measure every stage of training alone and say which is the shortest stave",
    .about =
        "Runs each stage of the input pipeline alone (the ones before it serve from memory), the "
        "whole loader into nothing, the model on a batch that is already there, evaluation, and "
        "then the real run; in rounds, so that a machine whose speed drifts treats all alike. "
        "Prints the capacity of each, the verdict, what would raise the level, and the level "
        "predicted from the parts beside the one measured. \"cpu ms\" is the processor time of a "
        "sample, \"starved\" the share of the time that was lost waiting for a processor. Weights "
        "are random and stay so; nothing is written but what --out asks for.",
    .tables = tables,
    .run = run,
};
