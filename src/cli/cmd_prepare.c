/* `stave prepare`: other people's data sets to records. */
#include <stdio.h>

#include "base/err.h"
#include "cli/progress.h"
#include "cli/setup.h"
#include "cli/verify.h"
#include "data/likeness.h"
#include "data/recordio.h"
#include "data/sink.h"

struct prepare_settings {
    char *from, *to, *index, *like, *photos;
    int sample, format;
    long long samples, seed, shards;
};

/* clang-format off */
#define ROW(...) OPT_ROW(prepare_settings, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("from", OPT_STRING, from, .arg = "DIR",
        .help = "What to convert: a folder with train and val in any format that run reads, or one data set"),
    ROW("to", OPT_STRING, to, .arg = "DIR", .help = "Where the result goes"),
    ROW("format", OPT_CHOICE, format, .dflt = "recordio", .choices = sink_formats, .arg = "FORMAT",
        .help = "What to write"),
    ROW("shards", OPT_INT, shards, .dflt = "1", .min = 1, .max = 99999, .arg = "N",
        .help = "Into so many files, for tfrecord and webdataset"),
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

static void print_result(const struct workload *w, const char *to, const struct prepare_result *r)
{
    printf("%s: %llu training and %llu validation samples in %s, content checksum %016llx", w->name,
           (unsigned long long)r->n_train, (unsigned long long)r->n_val, to,
           (unsigned long long)r->content_checksum);
    if (r->n_found)
        printf(" (%llu were there from an interrupted run)", (unsigned long long)r->n_found);
    printf("%s\n", r->already ? " (already there, verified)" : "");
}

static int make(const struct workload *w, const struct prepare_settings *s)
{
    struct progress progress = {0};
    const struct prepare_progress told = {progress_tell, &progress};
    struct prepare_result result = {0};

    TRY(w->prepare(&(struct workload_prepare){.from = s->from,
                                              .to = s->to,
                                              .sample = s->sample,
                                              .like = {.name = s->like,
                                                       .to = s->to,
                                                       .photos = s->photos,
                                                       .n_train = (uint64_t)s->samples,
                                                       .seed = (uint64_t)s->seed,
                                                       .progress = told},
                                              .format = sink_formats[s->format],
                                              .n_shards = (uint64_t)s->shards,
                                              .progress = told},
                   &result));
    print_result(w, s->to, &result);
    return s->like ? print_likeness(s->to) : 0;
}

static int prepare(const char *name, const struct prepare_settings *s)
{
    const struct workload *const w = workload_find(name);

    if (!w)
        return err(E_USAGE, "no workload is called %s; stave list shows them", name);
    if (s->index && (s->from || s->to || s->sample || s->like))
        return err(E_USAGE,
                   "--index converts nothing; leave --from, --to, --sample and --like out");
    if (s->index)
        return rebuild_index(s->index);
    if (!s->to)
        return err(E_USAGE, "say where the result goes: --to DIR");
    if (!s->sample && !s->from && !s->like)
        return err(E_USAGE, "say what to convert, --from DIR, or --sample for the small set");
    if (s->like && (s->sample || s->from))
        return err(E_USAGE, "--like converts nothing; leave --from and --sample out");
    if ((s->sample || s->like) && (s->format || s->shards > 1))
        return err(E_USAGE, "%s makes RecordIO; leave --format and --shards out",
                   s->sample ? "--sample" : "--like");
    return make(w, s);
}

static int verify(const char *name, const struct prepare_settings *own,
                  const struct verify_settings *s)
{
    const struct workload *const w = workload_find(name);

    if (!w)
        return err(E_USAGE, "no workload is called %s; stave list shows them", name);
    if (own->index || own->from || own->to || own->sample || own->like || own->format ||
        own->shards > 1)
        return err(E_USAGE, "--verify changes nothing; leave --from, --to, --format, --shards, "
                            "--index, --sample and --like out");
    return verify_data(w, s);
}

/* An option that would do nothing, since the one that it belongs to is not there. */
static int refuse_idle(const struct command_line *l, const char *name, const char *owner)
{
    if (!command_line_says(l, name))
        return 0;
    return err(E_USAGE, "--%s belongs to %s; say that, too, or leave it out", name, owner);
}

static int work(const struct command_line *l, const struct prepare_settings *own,
                const struct verify_settings *look)
{
    static const char *const of_like[] = {"samples", "photos", "seed"};

    for (size_t i = 0; !own->like && i < COUNT_OF(of_like); i++)
        TRY(refuse_idle(l, of_like[i], "--like NAME"));
    for (size_t i = 0; !look->dir && i < verify_options.n_rows; i++)
        TRY(refuse_idle(l, verify_options.rows[i].name, "--verify DIR"));
    return look->dir ? verify(l->args[0], own, look) : prepare(l->args[0], own);
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
        rc = work(&line, &own, &look);
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
    .summary = "Convert a data set from one format to another, or make the sample one",
    .about = "Reads what run reads and writes RecordIO (.rec and .idx, which MXNet and DALI read, "
             "too), TFRecord (tf.Example with ImageNet's keys), tar shards (WebDataset) or class "
             "folders; the pictures' bytes stay as they are. Safe to run again: what is there and "
             "matches is left alone, and what an interrupted run began is gone on with. --verify "
             "reads and decodes every sample of a data set instead and names what is broken, odd, "
             "labelled as no class, or in both splits; exit status 4 when a run would suffer from "
             "it.",
    .tables = tables,
    .run = run,
};
