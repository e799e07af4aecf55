/* From any source to any sink. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/file.h"
#include "data/bytes.h"
#include "data/decode.h"
#include "data/file_set.h"
#include "data/prepare_int.h"
#include "data/source.h"

struct conversion {
    const struct source *s;
    const struct prepare_to *to;
    struct prepare_result *out;
    struct sink *sink;
    char *path;   /* what the result is opened as */
    int was_made; /* by an interrupted run, which may have moved some of it */
};

static uint64_t sample_checksum(uint64_t sum, const struct sample *s)
{
    sum = checksum_add(sum, s->data, s->n);
    return checksum_add(sum, &s->label, sizeof(s->label));
}

static void tell(const struct conversion *c, struct prepare_step step)
{
    step.total = c->s->n_samples;
    if (c->to->progress.tell)
        c->to->progress.tell(c->to->progress.context, &step);
}

/* ---- what is there ---- */

/* Where sample i of a source lies in the folder that was made of it: behind those of the classes
 * before and the earlier ones of its class. Heap: the first free place of each class; NULL: the
 * labels are none of such a folder. */
static uint64_t *folder_places(const struct source *made)
{
    uint64_t *const first = xcalloc((size_t)made->n_classes + 1, sizeof(*first));

    for (uint64_t i = 0; i < made->n_samples; i++) {
        int64_t label = 0;

        if (source_label(made, i, &label) < 0 || label < 0 || label >= made->n_classes) {
            free(first);
            return NULL;
        }
        first[label + 1]++;
    }
    for (int c = 1; c <= made->n_classes; c++)
        first[c] += first[c - 1];
    return first;
}

static int same_sample(const struct source *made, uint64_t i, const struct sample *want,
                       struct sample *got)
{
    return i < made->n_samples && source_read(made, i, got) == 0 && got->label == want->label &&
           got->n == want->n && memcmp(got->data, want->data, got->n) == 0;
}

/* 1 when both hold the same samples in the same order. Sets the checksum. */
static int same_samples(const struct conversion *c, const struct source *made)
{
    const struct source *const s = c->s;
    const int by_class = c->sink->ops->item_name != NULL;
    uint64_t *const places = by_class ? folder_places(made) : NULL;
    struct sample x = {0}, y = {0};
    int same = s->n_samples == made->n_samples && (places || !by_class);
    uint64_t sum = CHECKSUM_INIT, bytes = 0;

    for (uint64_t i = 0; i < s->n_samples && same; i++) {
        same = source_read(s, i, &x) == 0 &&
               (!places || (x.label >= 0 && x.label < made->n_classes)) &&
               same_sample(made, places ? places[x.label]++ : i, &x, &y);
        if (same)
            sum = sample_checksum(sum, &x);
        bytes += x.n;
        tell(c, (struct prepare_step){.what = "compare", .done = i + 1, .bytes = bytes});
    }
    c->out->content_checksum = sum;
    free(places);
    sample_release(&x);
    sample_release(&y);
    return same;
}

static int is_there(const struct conversion *c)
{
    char *const json = xasprintf("%s.json", c->to->prefix);
    char *const other = c->sink->ops->companion ? c->sink->ops->companion(c->path) : NULL;
    struct source *made = NULL;
    const int same = file_exists(json) && (!other || file_exists(other)) &&
                     source_open(c->path, &made) == 0 &&
                     strcmp(made->ops->name, c->sink->ops->name) == 0 && same_samples(c, made);

    source_close(made);
    free(json);
    free(other);
    return same;
}

/* The split in the other place where a run would look for it first, or last, or with which it would
 * be one set: two are never meant. */
static int refuse_others(const struct conversion *c)
{
    const char *const prefix = c->to->prefix, *const slash = strrchr(prefix, '/');
    char *const dir = slash ? xasprintf("%.*s", (int)(slash - prefix), prefix) : xstrdup(".");
    char *const name = xstrdup(slash ? slash + 1 : prefix);
    char *const there = source_split_path(*dir ? dir : "/", name);
    char *const full = slash ? NULL : file_join(dir, c->path);
    struct file_names set;
    int rc = 0;

    file_set_find(prefix, "", &set);
    for (size_t i = 0; i < set.n && rc == 0; i++)
        if (file_set_count(set.all[i], "", NULL) != c->sink->config.n_shards)
            rc = err(E_USAGE,
                     "%s is there already, of another set than was asked for; remove it or choose "
                     "another --to",
                     set.all[i]);
    if (rc == 0 && there && strcmp(there, full ? full : c->path) != 0 &&
        strcmp(there, c->s->path) != 0)
        rc = err(E_USAGE, "%s is there already; remove it or choose another --to", there);
    file_names_release(&set);
    free(dir);
    free(name);
    free(there);
    free(full);
    return rc;
}

/* stat finds the same file under any name and through any link. */
static int is_of_source(const struct source *s, const struct stat *found)
{
    int is = 0;

    for (uint64_t i = 0; i < s->n_files && !is; i++) {
        char *const path = source_file(s, i);
        struct stat st;

        is = stat(path, &st) == 0 && st.st_dev == found->st_dev && st.st_ino == found->st_ino;
        free(path);
    }
    return is;
}

/* Nothing takes the place of what is there, unless it is what an interrupted run had just moved;
 * and never that of what is being read. */
static int refuse_at(const struct conversion *c, const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return 0;
    if (is_of_source(c->s, &st))
        return err(E_USAGE, "%s is there already, a file of --from itself; choose another --to",
                   path);
    if (!c->was_made)
        return err(E_USAGE,
                   "%s is there already and holds something else; remove it or choose "
                   "another --to",
                   path);
    return 0;
}

static int refuse_taken(const struct conversion *c)
{
    const struct sink *const k = c->sink;
    int rc = 0;

    if (k->in_folder)
        return refuse_at(c, k->config.prefix);
    for (uint64_t i = 0; i < k->config.n_shards && rc == 0; i++) {
        char *const path = sink_file_path(k, i);

        rc = refuse_at(c, path);
        free(path);
    }
    return rc;
}

/* ---- making it ---- */

/* What an unfinished conversion must have been made from to be gone on with: the same files, as
 * they were, and the same names. */
static uint64_t origin_of(const struct source *s, const struct file_names *classes)
{
    uint64_t sum = checksum_add(CHECKSUM_INIT, s->ops->name, strlen(s->ops->name));

    for (uint64_t i = 0; i < s->n_files; i++) {
        char *const path = source_file(s, i);
        struct stat st = {0};
        int64_t facts[3];

        stat(path, &st);
        facts[0] = st.st_size;
        facts[1] = st.st_mtim.tv_sec;
        facts[2] = st.st_mtim.tv_nsec;
        sum = checksum_add(sum, path, strlen(path) + 1);
        sum = checksum_add(sum, facts, sizeof(facts));
        free(path);
    }
    for (size_t i = 0; i < classes->n; i++)
        sum = checksum_add(sum, classes->all[i], strlen(classes->all[i]) + 1);
    return sum;
}

/* Pictures are kept as they are, also those that no decoder takes; but they are named now, and not
 * only when they have cost a sample of every epoch. Sets the size. */
static int look_at_picture(const struct conversion *c, struct decoder *d, struct sink_item *item,
                           uint64_t *n_bad)
{
    enum { NAMED = 8 };
    char where[512];
    struct rect whole;
    const int rc = decoder_begin(d, item->data, item->n, &whole);

    if (rc == E_NOMEM)
        return rc; /* that is not the file's fault */
    item->width = rc == 0 ? whole.width : 0;
    item->height = rc == 0 ? whole.height : 0;
    if (rc == 0 || ++*n_bad > NAMED)
        return 0;
    source_locate(c->s, c->sink->next, where, sizeof(where));
    warning("%s: %s; it is kept and will count as a bad sample", where, err_reason());
    return 0;
}

static int read_sample(const struct source *s, uint64_t i, struct sample *out)
{
    char where[512];
    const int rc = source_read(s, i, out);

    if (rc == 0)
        return 0;
    source_locate(s, i, where, sizeof(where));
    return err_prefix(rc, "%s: ", where);
}

static int copy_sample(const struct conversion *c, struct decoder *d, struct sample *sample,
                       uint64_t *n_bad)
{
    struct sink *const k = c->sink;
    struct sink_item item;

    TRY(read_sample(c->s, k->next, sample));
    item = (struct sink_item){.data = sample->data, .n = sample->n, .label = sample->label};
    TRY(look_at_picture(c, d, &item, n_bad));
    k->content = sample_checksum(k->content, sample);
    return sink_add(k, &item);
}

static int copy_samples(const struct conversion *c)
{
    struct decoder *const d = decoder_new(0);
    struct sample sample = {0};
    uint64_t n_bad = 0, bytes = 0;
    int rc = 0;

    while (c->sink->next < c->s->n_samples && rc == 0) {
        rc = copy_sample(c, d, &sample, &n_bad);
        bytes += sample.n;
        tell(c, (struct prepare_step){.what = sink_stem(c->sink),
                                      .done = c->sink->next,
                                      .bytes = bytes,
                                      .found = c->out->n_found});
    }
    if (n_bad)
        warning("%llu of %llu samples in %s can not be read as pictures", (unsigned long long)n_bad,
                (unsigned long long)c->s->n_samples, c->s->path);
    decoder_free(d);
    sample_release(&sample);
    return rc;
}

static int make(const struct conversion *c)
{
    struct sink *const k = c->sink;

    TRY(refuse_taken(c));
    TRY(sink_begin(k));
    c->out->n_found = k->next;
    TRY(copy_samples(c));
    c->out->content_checksum = k->content;
    TRY(sink_commit(k));
    TRY(convert_write_json(k, k->content));
    sink_forget(k);
    return 0;
}

/* It was killed when all had been done but this. */
static int tidy(const struct conversion *c)
{
    if (!file_exists(c->sink->work))
        return 0;
    TRY(sink_begin(c->sink));
    sink_forget(c->sink);
    return 0;
}

static int convert(struct conversion *c, const struct file_names *classes)
{
    const struct prepare_to *const to = c->to;
    int rc;

    TRY(sink_open(
        &(struct sink_config){.prefix = to->prefix,
                              .format = to->format ? to->format : "recordio",
                              .n_samples = c->s->n_samples,
                              .n_shards = to->n_shards,
                              .n_classes = (int)classes->n,
                              .classes = classes->n ? (const char *const *)classes->all : NULL,
                              .origin = origin_of(c->s, classes),
                              .journal_bytes = to->journal_bytes},
        &c->sink));
    c->path = sink_path(c->sink);
    c->was_made = sink_was_made(c->sink);
    rc = refuse_others(c);
    if (rc == 0)
        c->out->already = is_there(c);
    if (rc == 0)
        rc = c->out->already ? tidy(c) : make(c);
    free(c->path);
    sink_close(c->sink);
    return rc;
}

int prepare_convert(const struct source *s, const struct prepare_to *to, struct prepare_result *out)
{
    struct file_names classes;
    int rc;

    *out = (struct prepare_result){.n_train = s->n_samples};
    class_names_load(s, &classes);
    rc = convert(&(struct conversion){.s = s, .to = to, .out = out}, &classes);
    file_names_release(&classes);
    return rc;
}
