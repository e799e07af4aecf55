/* `stave prepare`: other people's data sets to records. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "cli/setup.h"
#include "cli/verify.h"
#include "data/likeness.h"
#include "data/recordio.h"

struct prepare_settings {
    char *from, *to, *index, *like, *photos;
    int sample;
    long long samples, seed;
};

/* clang-format off */
#define ROW(...) OPT_ROW(prepare_settings, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("from", OPT_STRING, from, .arg = "DIR", .help = "What to convert: a folder with train/CLASS/IMAGE and val/CLASS/IMAGE"),
    ROW("to", OPT_STRING, to, .arg = "DIR", .help = "Where the records go"),
    ROW("index", OPT_STRING, index, .arg = "FILE.rec",
        .help = "Only make FILE.idx anew from FILE.rec and say how the old one differed"),
    ROW("sample", OPT_BOOL, sample, .dflt = "no", .help = "Make the workload's small sample set instead"),
    ROW("like", OPT_STRING, like, .arg = "NAME", .help = "Instead of converting, make a set in the likeness of this one (imagenet): for benchmarks, not for learning"),
    ROW("samples", OPT_SIZE, samples, .dflt = "10000", .min = 1, .max = 1e8, .arg = "N", .help = "How many training samples --like makes; validation gets N / 25.6, as in ImageNet"),
    ROW("photos", OPT_STRING, photos, .arg = "DIR", .help = "Where --like finds photographs (JPEG) to cut from, default the system's wallpapers"),
    ROW("seed", OPT_INT, seed, .dflt = "1", .min = 0, .max = 9007199254740992.0, .arg = "N", .help = "Another seed gives --like other samples"),
};
/* clang-format on */

static const struct opt_table options = {"prepare", rows, COUNT_OF(rows)};

/* What is being told, and since when. */
struct telling {
    char what[32];
    int64_t since;
    uint64_t first; /* how many were done then */
};

static void tell(void *context, const char *what, uint64_t done, uint64_t total)
{
    struct telling *const t = context;
    double seconds, rate;

    if (!isatty(2))
        return;
    if (strncmp(t->what, what, sizeof(t->what) - 1) != 0 || done <= t->first) {
        snprintf(t->what, sizeof(t->what), "%s", what);
        t->since = clock_ns();
        t->first = done;
    }
    seconds = (double)(clock_ns() - t->since) / 1e9;
    rate = seconds > 0.0 ? (double)(done - t->first) / seconds : 0.0;
    fprintf(stderr, "\r%s: %llu of %llu", what, (unsigned long long)done,
            (unsigned long long)total);
    if (rate > 0.0)
        fprintf(stderr, ", %.0f a second, %.0f s left  ", rate, (double)(total - done) / rate);
    if (done == total)
        fputc('\n', stderr);
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

static int print_likeness(const char *dir)
{
    struct str text = STR_INIT;
    const int rc = likeness_of(dir, &text);

    if (rc == 0)
        fputs(text.s, stdout);
    str_release(&text);
    return rc;
}

static int prepare(const char *name, const struct prepare_settings *s)
{
    const struct workload *const w = workload_find(name);
    struct telling telling = {0};
    const struct prepare_progress progress = {tell, &telling};
    struct prepare_result result = {0};

    if (!w)
        return err(E_USAGE, "no workload is called %s; stave list shows them", name);
    if (s->index && (s->from || s->to || s->sample))
        return err(E_USAGE, "--index converts nothing; leave --from, --to and --sample out");
    if (s->index)
        return rebuild_index(s->index);
    if (!s->to)
        return err(E_USAGE, "say where the records go: --to DIR");
    if (!s->sample && !s->from && !s->like)
        return err(E_USAGE, "say what to convert, --from DIR, or --sample for the small set");
    if (s->like && (s->sample || s->from))
        return err(E_USAGE, "--like converts nothing; leave --from and --sample out");
    TRY(w->prepare(&(struct workload_prepare){.from = s->from,
                                              .to = s->to,
                                              .sample = s->sample,
                                              .like = {.name = s->like,
                                                       .to = s->to,
                                                       .photos = s->photos,
                                                       .n_train = (uint64_t)s->samples,
                                                       .seed = (uint64_t)s->seed,
                                                       .progress = progress},
                                              .progress = progress},
                   &result));
    printf("%s: %llu training and %llu validation samples in %s, content checksum %016llx%s\n",
           w->name, (unsigned long long)result.n_train, (unsigned long long)result.n_val, s->to,
           (unsigned long long)result.content_checksum,
           result.already ? " (already there, verified)" : "");
    return s->like ? print_likeness(s->to) : 0;
}

static int verify(const char *name, const struct prepare_settings *own,
                  const struct verify_settings *s)
{
    const struct workload *const w = workload_find(name);

    if (!w)
        return err(E_USAGE, "no workload is called %s; stave list shows them", name);
    if (own->index || own->from || own->to || own->sample || own->like)
        return err(E_USAGE, "--verify changes nothing; leave --from, --to, --index, --sample and "
                            "--like out");
    return verify_data(w, s);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct prepare_settings own;
    struct verify_settings look;
    struct command_line line;
    int rc;

    command_line_init(&line, self, argc, argv);
    command_line_bind(&line, &options, &own);
    command_line_bind(&line, &verify_options, &look);
    rc = command_line_parse(&line);
    if (rc == 0)
        rc = look.dir ? verify(line.args[0], &own, &look) : prepare(line.args[0], &own);
    else if (rc > 0)
        rc = EXIT_REACHED;
    command_line_release(&line);
    return rc;
}

static const struct opt_table *const tables[] = {&options, &verify_options, NULL};

const struct command command_prepare = {
    .name = "prepare",
    .args = "WORKLOAD",
    .min_args = 1,
    .max_args = 1,
    .summary = "Convert a data set to records, or make the sample one",
    .about = "Writes RecordIO files (.rec and .idx) that MXNet and DALI read, too. Safe to run "
             "again: what is there and matches is left alone. --verify reads and decodes every "
             "sample of a data set instead and names what is broken, odd, labelled as no class, or "
             "in both splits; exit status 4 when a run would suffer from it.",
    .tables = tables,
    .run = run,
};
