/* `stave prepare`: other people's data sets to records. */
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/setup.h"
#include "data/recordio.h"

struct prepare_settings {
    char *from, *to, *index;
    int sample;
};

/* clang-format off */
#define ROW(...) OPT_ROW(prepare_settings, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("from", OPT_STRING, from, .arg = "DIR", .help = "What to convert: a folder with train/CLASS/IMAGE and val/CLASS/IMAGE"),
    ROW("to", OPT_STRING, to, .arg = "DIR", .help = "Where the records go"),
    ROW("index", OPT_STRING, index, .arg = "FILE.rec",
        .help = "Only make FILE.idx anew from FILE.rec and say how the old one differed"),
    ROW("sample", OPT_BOOL, sample, .dflt = "no", .help = "Make the workload's small sample set instead"),
};
/* clang-format on */

static const struct opt_table options = {"prepare", rows, COUNT_OF(rows)};

static void tell(void *context, const char *what, uint64_t done, uint64_t total)
{
    (void)context;
    if (isatty(2))
        fprintf(stderr, "\r%s: %llu of %llu%s", what, (unsigned long long)done,
                (unsigned long long)total, done == total ? "\n" : "");
}

static int rebuild_index(const char *path)
{
    struct recordio_rebuilt r;

    TRY(recordio_index_rebuild(path, &r));
    printf("%s: the index has %llu records now; ", path, (unsigned long long)r.n_records);
    if (!r.had_index)
        printf("there was none that could be read\n");
    else if (r.n_superfluous + r.n_missing == 0)
        printf("the old one was right\n");
    else
        printf("the old one had %llu entries at which no record starts and lacked %llu records\n",
               (unsigned long long)r.n_superfluous, (unsigned long long)r.n_missing);
    return 0;
}

static int prepare(const char *name, const struct prepare_settings *s)
{
    const struct workload *const w = workload_find(name);
    struct prepare_result result = {0};

    if (!w)
        return err(E_USAGE, "no workload is called %s; stave list shows them", name);
    if (s->index && (s->from || s->to || s->sample))
        return err(E_USAGE, "--index converts nothing; leave --from, --to and --sample out");
    if (s->index)
        return rebuild_index(s->index);
    if (!s->to)
        return err(E_USAGE, "say where the records go: --to DIR");
    if (!s->sample && !s->from)
        return err(E_USAGE, "say what to convert, --from DIR, or --sample for the small set");
    TRY(w->prepare(&(struct workload_prepare){s->from, s->to, s->sample, {tell, NULL}}, &result));
    printf("%s: %llu training and %llu validation samples in %s, content checksum %016llx%s\n",
           w->name, (unsigned long long)result.n_train, (unsigned long long)result.n_val, s->to,
           (unsigned long long)result.content_checksum,
           result.already ? " (already there, verified)" : "");
    return 0;
}

static int work(const struct command_line *line, const void *settings)
{
    const struct prepare_settings *const own = settings;

    return prepare(line->args[0], own);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct prepare_settings own;

    return command_line_run(self, argc, argv, &own, work);
}

static const struct opt_table *const tables[] = {&options, NULL};

const struct command command_prepare = {
    .name = "prepare",
    .args = "WORKLOAD",
    .min_args = 1,
    .max_args = 1,
    .summary = "Convert a data set to records, or make the sample one",
    .about = "Writes RecordIO files (.rec and .idx) that MXNet and DALI read, too. Safe to run "
             "again: what is there and "
             "matches is left alone.",
    .tables = tables,
    .run = run,
};
