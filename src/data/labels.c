#include "data/labels.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

struct label_tally {
    uint64_t n, n_bad; /* outside the classes, or not to be read */
    uint64_t n_unread;
    int64_t min, max; /* of those that can be read */
    uint64_t first;   /* the first bad one */
    char first_reason[256];
};

static void note_bad(struct label_tally *t, uint64_t i, const char *reason)
{
    if (t->n_bad++ > 0)
        return;
    t->first = i;
    snprintf(t->first_reason, sizeof(t->first_reason), "%s", reason);
}

/* A label that can not be read is no matter of classes. */
static int refuse_unread(const struct source *s, uint64_t i)
{
    char where[512], reason[256];

    snprintf(reason, sizeof(reason), "%s", err_reason());
    source_locate(s, i, where, sizeof(where));
    return err(E_DATA, "%s: %s", where, reason);
}

static int tally(const struct source *s, const struct label_demand *d, struct label_tally *out)
{
    struct label_tally t = {.min = INT64_MAX, .max = INT64_MIN};

    t.n = s->n_samples < LABELS_CHECKED ? s->n_samples : LABELS_CHECKED;
    for (uint64_t k = 0; k < t.n; k++) {
        const uint64_t i = t.n == 1 ? 0 : k * (s->n_samples - 1) / (t.n - 1);
        char reason[64];
        int64_t label;

        if (source_label(s, i, &label) < 0) {
            if (d->strict)
                return refuse_unread(s, i);
            t.n_unread++;
            note_bad(&t, i, err_reason());
            continue;
        }
        t.min = label < t.min ? label : t.min;
        t.max = label > t.max ? label : t.max;
        snprintf(reason, sizeof(reason), "label %lld", (long long)label);
        if (label + d->offset < 0 || label + d->offset >= d->n_classes)
            note_bad(&t, i, reason);
    }
    *out = t;
    return 0;
}

/* What is wrong, in words that fit an error and a warning. */
static int describe(const struct source *s, const struct label_demand *d,
                    const struct label_tally *t)
{
    char where[512];

    source_locate(s, t->first, where, sizeof(where));
    if (t->n_unread == t->n_bad)
        return err(E_DATA, "%s: %llu of %llu labels checked can not be read, first %s: %s", s->path,
                   (unsigned long long)t->n_bad, (unsigned long long)t->n, where, t->first_reason);
    return err(E_DATA,
               "%s: %llu of %llu labels checked are not in 0..%d (label offset %d), first %s: %s",
               s->path, (unsigned long long)t->n_bad, (unsigned long long)t->n, d->n_classes - 1,
               d->offset, where, t->first_reason);
}

int source_check_labels(const struct source *s, struct label_demand d)
{
    struct label_tally t;
    char what[1024];

    TRY(tally(s, &d, &t));
    if (t.n_bad == 0)
        return 0;
    describe(s, &d, &t);
    snprintf(what, sizeof(what), "%s", err_reason());
    if (t.min <= t.max && t.max - t.min < d.n_classes &&
        (t.min + d.offset < 0 || t.max + d.offset >= d.n_classes))
        return err(E_DATA,
                   "%s; they run from %lld to %lld, which label-offset %lld would make fit the "
                   "model's %d classes",
                   what, (long long)t.min, (long long)t.max, -(long long)t.min, d.n_classes);
    if (t.n_unread == t.n_bad && t.n_bad > t.n / 10)
        return err(E_DATA, "%s", what);
    if (d.strict || t.n_bad > t.n / 10)
        return err(E_DATA, "%s; the model's number of classes is set by classes", what);
    warning("%s; such samples count as bad", what);
    return 0;
}

/* Names are in order, so where two lists first differ the smaller one is missing in the other. */
static int has_first(const struct source *a, const struct source *b, int c)
{
    if (c == a->n_classes || c == b->n_classes)
        return a->n_classes > b->n_classes;
    return strcmp(source_class_name(a, c), source_class_name(b, c)) < 0;
}

int source_same_classes(const struct source *a, const struct source *b)
{
    const int n = a->n_classes < b->n_classes ? a->n_classes : b->n_classes;
    const struct source *with = b, *without = a;
    int c = 0;

    if (!a->ops->class_name || !b->ops->class_name)
        return 0;
    while (c < n && strcmp(source_class_name(a, c), source_class_name(b, c)) == 0)
        c++;
    if (c == a->n_classes && c == b->n_classes)
        return 0;
    if (has_first(a, b, c)) {
        with = a;
        without = b;
    }
    return err(E_DATA,
               "%s has no class folder %s, which %s has as number %d, so later classes would have "
               "two numbers; make it there (it may stay empty), or remove the other",
               without->path, source_class_name(with, c), with->path, c);
}
