/* The look at a data set, as text. */
#include <stdio.h>

#include "base/err.h"
#include "base/str.h"
#include "cli/verify.h"

static void print_printable(const char *text)
{
    struct str out = STR_INIT;

    str_add_printable(&out, text);
    fputs(out.s ? out.s : "", stdout);
    str_release(&out);
}

static void print_item(void *context, const struct verify_item *item)
{
    (void)context;
    printf("%s: ", verify_outcome_name(item->outcome));
    print_printable(item->where);
    fputs(item->where[0] ? ": " : "", stdout);
    print_printable(item->what);
    putchar('\n');
}

/* "12.3 MiB" in a buffer of the caller's. */
struct amount {
    char text[32];
};

static struct amount amount(uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    struct amount a;
    double v = (double)bytes;
    size_t i = 0;

    for (; i + 1 < COUNT_OF(units) && v >= 1024; i++)
        v /= 1024;
    snprintf(a.text, sizeof(a.text), i ? "%.1f %s" : "%.0f %s", v, units[i]);
    return a;
}

static void print_classes(const struct verify_split *s)
{
    const struct verify_classes *const c = &s->classes;

    if (c->min_label > c->max_label)
        printf("  labels      none that can be read\n");
    else
        printf("  labels      %lld to %lld as stored\n", (long long)c->min_label,
               (long long)c->max_label);
    if (c->n > 0)
        printf("  classes     %d, %d of them empty; samples of a class: %llu least, %llu median, "
               "%llu most\n",
               c->n, c->n_empty, (unsigned long long)c->least, (unsigned long long)c->median,
               (unsigned long long)c->most);
}

static void print_traits(const struct verify_split *s)
{
    printf("  pictures    %llu decoded", (unsigned long long)s->n_decoded);
    for (int t = 0; t < N_TRAITS; t++)
        if (s->n_trait[t])
            printf(", %llu %s", (unsigned long long)s->n_trait[t], trait_name((enum trait_id)t));
    putchar('\n');
}

static void print_sizes(const struct verify_split *s)
{
    struct verify_row rows[VERIFY_ROWS];

    verify_rows(s, rows);
    printf("  %-10s%12s%12s%12s%12s%12s\n", "", "min", "5 %", "median", "95 %", "max");
    for (int i = 0; i < VERIFY_ROWS; i++) {
        const struct verify_spread *const x = &rows[i].spread;

        printf("  %-10s%12.6g%12.6g%12.6g%12.6g%12.6g\n", rows[i].name, x->min, x->low, x->median,
               x->high, x->max);
    }
}

static void print_largest(const struct verify_split *s)
{
    char where[VERIFY_WHERE];

    source_locate(s->source, s->largest, where, sizeof(where));
    printf("  largest     ");
    print_printable(where);
    printf(": decoding it whole takes up to %s\n", amount(s->decode_bytes).text);
}

static void print_split(const struct verify_split *s)
{
    printf("%s: ", s->name);
    if (!s->source) {
        printf("can not be opened\n");
        return;
    }
    printf("%llu samples, %llu good, %s ", (unsigned long long)s->source->n_samples,
           (unsigned long long)s->n_good, s->source->ops->name);
    print_printable(s->source->path);
    putchar('\n');
    print_classes(s);
    print_traits(s);
    if (s->n_decoded > 0) {
        print_sizes(s);
        print_largest(s);
    }
    printf("  disk        %s read an epoch, %s of files in whole pages\n",
           amount(s->epoch_bytes).text, amount(s->cache_bytes).text);
}

static void print_needs(const struct verify_report *r)
{
    const struct verify_memory need = verify_memory(r->v, r->run);
    const uint64_t wanted = verify_wanted_bytes(r);

    printf("memory: the input of a run takes about %s: %s for %llu batches of %llu pictures of "
           "%llux%llu, %s for %llu threads, each with the largest picture whole\n",
           amount(need.ring + need.threads).text, amount(need.ring).text,
           (unsigned long long)r->run.prefetch, (unsigned long long)r->run.batch,
           (unsigned long long)r->run.image_size, (unsigned long long)r->run.image_size,
           amount(need.threads).text, (unsigned long long)r->run.n_threads);
    printf("page cache: that and all files take %s", amount(wanted).text);
    if (r->memory.limit == 0)
        printf("; no memory limit is known\n");
    else if (wanted <= r->memory.limit)
        printf(" of %s (%s): they fit, and what the model takes comes on top\n",
               amount(r->memory.limit).text, r->memory.how);
    else
        printf(" of %s (%s): they do not fit, so every epoch reads from the disk\n",
               amount(r->memory.limit).text, r->memory.how);
}

/* Words that name a thing and not a state. */
static const char *plural(enum verify_outcome o, uint64_t n)
{
    return n > 1 && (o == VERIFY_LABEL || o == VERIFY_LEAK || o == VERIFY_NOTE) ? "s" : "";
}

static void print_verdict(const struct verify *v)
{
    const uint64_t n = verify_findings(v);
    const char *between = ": ";

    print_printable(v->config.dir);
    if (n == 0)
        printf(": nothing found");
    else
        printf(": %llu finding%s", (unsigned long long)n, n == 1 ? "" : "s");
    for (int o = 0; o < N_VERIFY_OUTCOMES; o++) {
        if (o == N_VERIFY_FINDINGS)
            between = "; besides ";
        if (v->n[o] == 0)
            continue;
        printf("%s%llu %s%s", between, (unsigned long long)v->n[o],
               verify_outcome_name((enum verify_outcome)o),
               plural((enum verify_outcome)o, v->n[o]));
        between = ", ";
    }
    putchar('\n');
}

void verify_print_text(const struct verify_report *r)
{
    verify_each(r->v, print_item, NULL);
    for (int k = 0; k < r->v->n_splits; k++)
        print_split(&r->v->split[k]);
    print_needs(r);
    print_verdict(r->v);
}
