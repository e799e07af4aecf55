/* `stave load`: the ingest of a run without the run, for a study that compares the two: the same
 * supervisor, the same fio, the same meter, in a run folder. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/command_line.h"
#include "cli/guard.h"
#include "cli/page.h"
#include "cli/run_folder.h"
#include "meter/meter.h"
#include "train/stop.h"

struct load_settings {
    char *out, *ingest;
    double seconds, sample_rate;
};

/* clang-format off */
#define ROW(...) OPT_ROW(load_settings, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("out", OPT_STRING, out, .arg = "DIR", .help = "The run folder"),
    ROW("ingest", OPT_STRING, ingest, .arg = "SPEC", .help = "What fio does"),
    ROW("seconds", OPT_REAL, seconds, .dflt = "20", .min = 0.01, .max = 1e6, .arg = "S", .help = "How long"),
    ROW("sample-rate", OPT_REAL, sample_rate, .dflt = "1", .min = 0, .max = 100, .arg = "HZ", .help = "Samples of the machine a second; 0: none"),
};
/* clang-format on */

static const struct opt_table options = {"load", rows, COUNT_OF(rows)};

struct load {
    const struct load_settings *own;
    struct ingest_settings ingest;
    struct guard *guard;
    struct meter *meter;
    int64_t start_ns, start_ms;
    double seconds; /* that it lasted */
};

/* The disk under what is written is that of the data. */
static int open_meter(struct load *l)
{
    char *const path = file_join(l->own->out, "samples.csv");
    const char *const run_dir = l->own->out, *const written =
                                                 l->ingest.dir ? l->ingest.dir : run_dir;
    const struct meter_config config = {.path = path,
                                        .hz = l->own->sample_rate,
                                        .start_ns = l->start_ns,
                                        .start_ms = l->start_ms,
                                        .place = {.root = "",
                                                  .data_files = &written,
                                                  .n_data_files = 1,
                                                  .stores = &run_dir,
                                                  .n_stores = 1}};
    const int rc = config.hz > 0 ? meter_open(&config, &l->meter) : 0;

    free(path);
    return rc;
}

static void mark(const struct load *l, const char *phase)
{
    if (l->meter)
        meter_mark(l->meter, phase, 0);
}

/* The phase is called train, as that of a run in which the ingest is at work. */
static int write_for_a_while(struct load *l)
{
    const int64_t began = clock_ns(), a_while = 20000000;

    guard_warm(l->guard, l->start_ms);
    mark(l, "train");
    while ((double)(clock_ns() - began) < 1e9 * l->own->seconds && !stop_requested())
        clock_sleep_ns(a_while);
    mark(l, "end");
    l->seconds = (double)(clock_ns() - began) / 1e9;
    guard_end(l->guard);
    return 0;
}

static int write_result(const struct load *l, int code)
{
    char *const path = file_join(l->own->out, "result.json");
    struct str out = STR_INIT;
    int rc;

    str_printf(&out, "{\n  \"status\": \"%s\",\n  \"run_ns\": %.0f",
               stop_requested() ? "interrupted" : "ingest done", 1e9 * l->seconds);
    guard_add_json(l->guard, &out);
    str_printf(&out, ",\n  \"exit_code\": %d\n}\n", code);
    rc = file_replace(path, out.s, out.len);
    str_release(&out);
    free(path);
    return rc;
}

static int exit_code(struct load *l)
{
    const struct guard_report *const r = guard_report(l->guard);

    if (stop_requested())
        return EXIT_NOT_REACHED;
    return r->ingest_started && r->ingest.error == 0 && r->ingest.write_bytes > 0
               ? EXIT_REACHED
               : EXIT_UNTRUSTWORTHY;
}

static int measure(struct load *l)
{
    struct meter_use use;
    int code, rc;

    TRY(guard_folder(l->guard, l->own->out));
    TRY(open_meter(l));
    rc = write_for_a_while(l);
    meter_close(l->meter, &use);
    TRY(rc);
    code = exit_code(l);
    TRY(write_result(l, code));
    page_write(l->own->out);
    return code;
}

static int load(struct load *l)
{
    const struct guard_plan plan = {.ingest = &l->ingest};
    char version[64];
    int lock, rc;

    TRY(ingest_check(&l->ingest, l->own->out, version, sizeof(version)));
    TRY(guard_open(&plan, &l->guard)); /* before any thread */
    stop_install();
    l->start_ns = clock_ns();
    l->start_ms = clock_wall_ms();
    rc = file_mkdirs(l->own->out);
    if (rc == 0)
        rc = run_folder_lock(l->own->out, &lock);
    if (rc == 0) {
        rc = measure(l);
        close(lock);
    }
    guard_close(l->guard);
    return rc;
}

static int work(const struct command_line *line, const void *settings)
{
    const struct load_settings *const own = settings;
    struct load l = {.own = own};
    int rc;

    (void)line;
    if (!own->out || !own->ingest)
        return err(E_USAGE, "stave load needs --out and --ingest");
    TRY(ingest_parse(own->ingest, &l.ingest));
    rc = load(&l);
    ingest_release(&l.ingest);
    return rc;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct load_settings own;

    return command_line_run(self, argc, argv, &own, work);
}

static const struct opt_table *const tables[] = {&options, NULL};

const struct command command_load = {
    .name = "load",
    .summary = "Run the ingest of a study without a training beside it",
    .tables = tables,
    .hidden = 1,
    .run = run,
};
