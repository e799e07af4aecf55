/* What there is to say of a data set, in words. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/str.h"
#include "data/verify_int.h"

const char *verify_outcome_name(enum verify_outcome o)
{
    static const char *const names[N_VERIFY_OUTCOMES] = {
        [VERIFY_BROKEN] = "broken",   [VERIFY_LABEL] = "label",     [VERIFY_LEAK] = "leak",
        [VERIFY_DAMAGED] = "damaged", [VERIFY_CLASSES] = "classes", [VERIFY_MISSING] = "missing",
        [VERIFY_TWICE] = "twice",     [VERIFY_ODD] = "odd",         [VERIFY_NOTE] = "note",
    };

    return names[o];
}

static const char *trait_words(enum trait_id t)
{
    static const char *const words[N_TRAITS] = {
        [TRAIT_grey] = "grey made RGB",
        [TRAIT_cmyk] = "cmyk made RGB",
        [TRAIT_alpha] = "alpha flattened on white",
        [TRAIT_deep] = "16 bits made 8",
        [TRAIT_png] = "a PNG",
        [TRAIT_exif] = "EXIF orientation, ignored unless a run is told to apply it",
        [TRAIT_progressive] = "progressive",
        [TRAIT_arithmetic] = "arithmetic coding",
    };

    return words[t];
}

int verify_is_usual(const struct verify_split *s, enum trait_id trait)
{
    return s->n_decoded >= VERIFY_USUAL && 2 * s->n_trait[trait] > s->n_decoded;
}

/* What is being put together: the first outcome added stands, the words join. */
struct words {
    struct str text;
    enum verify_outcome outcome;
};

__attribute__((format(printf, 3, 4))) static void add(struct words *w, enum verify_outcome outcome,
                                                      const char *fmt, ...)
{
    va_list ap;

    if (w->text.len == 0)
        w->outcome = outcome;
    else
        str_add(&w->text, "; ");
    va_start(ap, fmt);
    str_vprintf(&w->text, fmt, ap);
    va_end(ap);
}

/* ---- names ---- */

/* Text with control characters as blanks: what is then not printable is no UTF-8. */
static int is_utf8(const char *name)
{
    struct str plain = STR_INIT, printed = STR_INIT;
    int same;

    for (const char *p = name; *p; p++)
        str_add_bytes(&plain, (unsigned char)*p < 0x20 || *p == 0x7F ? " " : p, 1);
    if (plain.len)
        str_add_printable(&printed, plain.s);
    same = plain.len == printed.len;
    str_release(&plain);
    str_release(&printed);
    return same;
}

static int has_control(const char *name)
{
    for (const unsigned char *p = (const unsigned char *)name; *p; p++)
        if ((*p < 0x20 && *p != '\n') || *p == 0x7F)
            return 1;
    return 0;
}

/* Names that lists and shell commands of others stumble over. */
static void add_name(struct words *w, const char *what, const char *name)
{
    if (name[0] == '-')
        add(w, VERIFY_ODD, "%s starts with a dash", what);
    if (strchr(name, ' '))
        add(w, VERIFY_ODD, "%s holds a blank", what);
    if (strchr(name, '\n'))
        add(w, VERIFY_ODD, "%s holds a line's end", what);
    if (has_control(name))
        add(w, VERIFY_ODD, "%s holds a control character", what);
    if (!is_utf8(name))
        add(w, VERIFY_ODD, "%s is not UTF-8", what);
}

/* The name of the file that sample i is all of; NULL when it shares one with others. */
static const char *own_name(const struct source *s, uint64_t i)
{
    struct extent x;
    const char *slash;

    if (source_extent(s, i, &x) < 0 || x.n != EXTENT_WHOLE)
        return NULL;
    slash = strrchr(x.path, '/');
    return slash ? slash + 1 : x.path;
}

static int ends_in(const char *name, const char *ending)
{
    const size_t n = strlen(name), k = strlen(ending);

    return n > k && strcasecmp(name + n - k, ending) == 0;
}

/* ---- one sample ---- */

static void add_label(const struct verify *v, const struct verify_sample *x, struct words *w)
{
    if (x->state == SAMPLE_LABEL_UNREAD)
        add(w, VERIFY_LABEL, "%s", x->reason);
    else if (x->has_label && !verify_label_fits(&v->config, x))
        add(w, VERIFY_LABEL, "label %lld is outside 0..%d, with the label offset %d added",
            (long long)x->label, v->config.n_classes - 1, v->config.label_offset);
}

static void add_twin(const struct verify *v, int split, const struct verify_sample *x,
                     struct words *w)
{
    const struct verify_split *const s = &v->split[x->twin_split];
    char where[VERIFY_WHERE];

    if (x->twin == 0)
        return;
    source_locate(s->source, x->twin - 1, where, sizeof(where));
    add(w, x->twin_split == split ? VERIFY_TWICE : VERIFY_LEAK, "the same picture as %s%s%s", where,
        x->twin_split == split ? "" : ", of the split ", x->twin_split == split ? "" : s->name);
    if (s->samples[x->twin - 1].has_label && x->has_label &&
        s->samples[x->twin - 1].label != x->label)
        add(w, VERIFY_TWICE, "under another label, %lld and not %lld", (long long)x->label,
            (long long)s->samples[x->twin - 1].label);
}

/* A PNG is odd under another name only; in an archive or among records none tells. */
static void add_traits(const struct verify_split *s, const struct verify_sample *x,
                       const char *name, struct words *w)
{
    for (int t = 0; t < N_TRAITS; t++) {
        if ((x->traits >> t & 1) == 0)
            continue;
        if (t == TRAIT_png && name && (ends_in(name, ".jpg") || ends_in(name, ".jpeg")))
            add(w, VERIFY_ODD, "a PNG under the name of a JPEG");
        else if (t == TRAIT_png && (!name || ends_in(name, ".png")))
            continue;
        else if (!verify_is_usual(s, (enum trait_id)t))
            add(w, VERIFY_ODD, "%s", trait_words((enum trait_id)t));
    }
}

/* To whom, and of which split. */
struct teller {
    const struct verify *v;
    verify_tell *tell;
    void *context;
    int split; /* -1: of none */
};

static void tell_sample(const struct teller *t, uint64_t i)
{
    const struct verify_split *const s = &t->v->split[t->split];
    const struct verify_sample *const x = &s->samples[i];
    const char *const name = own_name(s->source, i);
    struct words w = {0};
    char where[VERIFY_WHERE];

    if (x->state == SAMPLE_BROKEN)
        add(&w, VERIFY_BROKEN, "%s", x->reason);
    add_label(t->v, x, &w);
    add_twin(t->v, t->split, x, &w);
    add_traits(s, x, name, &w);
    if (name)
        add_name(&w, "the name", name);
    if (w.text.len) {
        source_locate(s->source, i, where, sizeof(where));
        t->tell(t->context,
                &(struct verify_item){w.outcome, t->split, (int64_t)i, where, w.text.s});
    }
    str_release(&w.text);
}

/* ---- a split ---- */

__attribute__((format(printf, 4, 5))) static void
say(const struct teller *t, enum verify_outcome outcome, const char *where, const char *fmt, ...)
{
    struct str what = STR_INIT;
    va_list ap;

    va_start(ap, fmt);
    str_vprintf(&what, fmt, ap);
    va_end(ap);
    t->tell(t->context, &(struct verify_item){outcome, t->split, -1, where, what.s});
    str_release(&what);
}

static void tell_class_names(const struct teller *t, const struct source *s)
{
    for (int c = 0; c < s->n_classes && source_class_name(s, c); c++) {
        struct words w = {0};
        char *const where = xasprintf("class folder %s/%s", s->path, source_class_name(s, c));

        add_name(&w, "the name", source_class_name(s, c));
        if (w.text.len)
            say(t, w.outcome, where, "%s", w.text.s);
        str_release(&w.text);
        free(where);
    }
}

/* Labels that no class has, though another offset would make them fit; and such as leave the first
 * class empty, because a builder of records kept 0 for the background. */
static void tell_labels(const struct teller *t, const struct verify_split *s)
{
    const struct verify_config *const c = &t->v->config;
    const long long low = s->classes.min_label, high = s->classes.max_label;
    const int outside = low + c->label_offset < 0 || high + c->label_offset >= c->n_classes;

    if (low > high || c->n_classes == 0)
        return;
    if (outside && high - low < c->n_classes)
        say(t, VERIFY_NOTE, "",
            "the labels of %s run from %lld to %lld, which --label-offset %lld would make fit the "
            "workload's %d classes",
            s->name, low, high, -low, c->n_classes);
    else if (outside)
        say(t, VERIFY_NOTE, "",
            "the labels of %s run from %lld to %lld, which are more than the workload's %d classes",
            s->name, low, high, c->n_classes);
    else if (low + c->label_offset == 1 && !source_class_name(s->source, 0))
        say(t, VERIFY_NOTE, "",
            "no label of %s stands for class 0, they run from %lld to %lld; if they are counted "
            "from %lld, say --label-offset %lld",
            s->name, low, high, low, -low);
}

static void tell_usual(const struct teller *t, const struct verify_split *s)
{
    for (int k = 0; k < N_TRAITS; k++)
        if (verify_is_usual(s, (enum trait_id)k))
            say(t, VERIFY_NOTE, "",
                "%llu of %llu pictures of %s: %s; that is the rule here and not told of each",
                (unsigned long long)s->n_trait[k], (unsigned long long)s->n_decoded, s->name,
                trait_words((enum trait_id)k));
}

static void tell_split(struct teller *t, int k)
{
    const struct verify_split *const s = &t->v->split[k];

    t->split = k;
    for (size_t i = 0; i < s->n_remarks; i++)
        say(t, s->remarks[i].outcome, "", "%s", s->remarks[i].text);
    if (!s->source)
        return;
    tell_class_names(t, s->source);
    tell_labels(t, s);
    tell_usual(t, s);
    for (uint64_t i = 0; i < s->source->n_samples; i++)
        tell_sample(t, i);
}

/* ---- between the splits ---- */

static void tell_missing_class(const struct teller *t, const struct source *with, int c,
                               const struct source *without)
{
    say(t, VERIFY_CLASSES, "",
        "%s has no class folder %s, which %s has as number %d, so later classes would have two "
        "numbers; make it there (it may stay empty), or remove the other",
        without->path, source_class_name(with, c), with->path, c);
}

/* Both lists are in the order of their names. */
static void tell_classes(const struct teller *t, const struct source *a, const struct source *b)
{
    int i = 0, k = 0;

    while (i < a->n_classes || k < b->n_classes) {
        const int order = i == a->n_classes ? 1
                          : k == b->n_classes
                              ? -1
                              : strcmp(source_class_name(a, i), source_class_name(b, k));

        if (order < 0)
            tell_missing_class(t, a, i, b);
        else if (order > 0)
            tell_missing_class(t, b, k, a);
        i += order <= 0;
        k += order >= 0;
    }
}

void verify_each(const struct verify *v, verify_tell *tell, void *context)
{
    struct teller t = {.v = v, .tell = tell, .context = context};
    const struct source *const a = v->split[0].source, *const b = v->split[1].source;

    for (int k = 0; k < v->n_splits; k++)
        tell_split(&t, k);
    t.split = -1;
    if (a && b && source_class_name(a, 0) && source_class_name(b, 0))
        tell_classes(&t, a, b);
}
