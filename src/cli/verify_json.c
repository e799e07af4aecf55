/* The look at a data set, as one JSON document, written as it is made: the list may be long. */
#include <stdio.h>

#include "base/json.h"
#include "base/str.h"
#include "cli/verify.h"

static void put(struct str *out)
{
    fputs(out->s, stdout);
    str_reset(out);
}

static void add_count(struct str *out, const char *key, uint64_t n)
{
    json_add_key(out, key);
    str_printf(out, "%llu", (unsigned long long)n);
}

struct list {
    const struct verify *v;
    uint64_t n;
    struct str text;
};

static void add_item(void *context, const struct verify_item *item)
{
    struct list *const l = context;

    str_printf(&l->text, "%s\n    {\"outcome\": \"%s\", \"finding\": %s", l->n++ ? "," : "",
               verify_outcome_name(item->outcome),
               item->outcome < N_VERIFY_FINDINGS ? "true" : "false");
    if (item->split >= 0)
        json_add_text(&l->text, "split", l->v->split[item->split].name);
    if (item->index >= 0)
        add_count(&l->text, "index", (uint64_t)item->index);
    json_add_text(&l->text, "where", item->where);
    json_add_text(&l->text, "what", item->what);
    str_add(&l->text, "}");
    put(&l->text);
}

static void add_classes(const struct verify_classes *c, struct str *out)
{
    if (c->min_label <= c->max_label)
        str_printf(out, ", \"min_label\": %lld, \"max_label\": %lld", (long long)c->min_label,
                   (long long)c->max_label);
    if (c->n == 0)
        return;
    str_printf(out, ", \"classes\": %d, \"empty_classes\": %d", c->n, c->n_empty);
    add_count(out, "least_of_a_class", c->least);
    add_count(out, "median_of_a_class", c->median);
    add_count(out, "most_of_a_class", c->most);
    str_add(out, ",\n     \"samples_of_class\": [");
    for (int i = 0; i < c->n; i++)
        str_printf(out, "%s%llu", i ? ", " : "", (unsigned long long)c->samples[i]);
    str_add(out, "]");
}

static void add_sizes(const struct verify_split *s, struct str *out)
{
    struct verify_row rows[VERIFY_ROWS];
    char where[VERIFY_WHERE];

    verify_rows(s, rows);
    for (int i = 0; i < VERIFY_ROWS; i++) {
        const struct verify_spread *const x = &rows[i].spread;

        str_printf(out, ",\n     \"%s\": {\"min\": ", rows[i].name);
        str_add_real(out, x->min);
        json_add_real(out, "p5", x->low);
        json_add_real(out, "median", x->median);
        json_add_real(out, "p95", x->high);
        json_add_real(out, "max", x->max);
        str_add(out, "}");
    }
    source_locate(s->source, s->largest, where, sizeof(where));
    str_add(out, ",\n     \"largest\": {\"where\": ");
    str_add_json(out, where);
    add_count(out, "index", s->largest);
    add_count(out, "decode_bytes", s->decode_bytes);
    str_add(out, "}");
}

static void add_split(const struct verify_split *s, struct str *out)
{
    str_printf(out, "    {\"name\": \"%s\", \"opened\": %s", s->name, s->source ? "true" : "false");
    if (s->source) {
        json_add_text(out, "format", s->source->ops->name);
        json_add_text(out, "path", s->source->path);
        add_count(out, "samples", s->source->n_samples);
        add_count(out, "good", s->n_good);
        add_count(out, "decoded", s->n_decoded);
        str_add(out, ", \"traits\": {");
        for (int t = 0; t < N_TRAITS; t++)
            str_printf(out, "%s\"%s\": %llu", t ? ", " : "", trait_name((enum trait_id)t),
                       (unsigned long long)s->n_trait[t]);
        str_add(out, "}");
        add_classes(&s->classes, out);
        if (s->n_decoded > 0)
            add_sizes(s, out);
        add_count(out, "epoch_bytes", s->epoch_bytes);
        add_count(out, "file_bytes", s->cache_bytes);
    }
    str_add(out, "}");
}

static void add_needs(const struct verify_report *r, struct str *out)
{
    const struct verify_memory need = verify_memory(r->v, r->run);

    str_printf(out, "\n  ],\n  \"memory\": {\"ring_bytes\": %llu", (unsigned long long)need.ring);
    add_count(out, "thread_bytes", need.threads);
    add_count(out, "batch", r->run.batch);
    add_count(out, "prefetch", r->run.prefetch);
    add_count(out, "image_size", r->run.image_size);
    add_count(out, "threads", r->run.n_threads);
    add_count(out, "with_files_bytes", verify_wanted_bytes(r));
    if (r->memory.limit > 0) {
        add_count(out, "limit_bytes", r->memory.limit);
        json_add_flag(out, "files_fit", verify_wanted_bytes(r) <= r->memory.limit);
    }
    str_add(out, "},\n  \"counts\": {");
    for (int o = 0; o < N_VERIFY_OUTCOMES; o++)
        str_printf(out, "%s\"%s\": %llu", o ? ", " : "",
                   verify_outcome_name((enum verify_outcome)o), (unsigned long long)r->v->n[o]);
    str_add(out, "}");
    add_count(out, "findings", verify_findings(r->v));
    str_add(out, "\n}\n");
}

void verify_print_json(const struct verify_report *r)
{
    struct list list = {.v = r->v};
    struct str *const out = &list.text;

    str_add(out, "{\n  \"dir\": ");
    str_add_json(out, r->v->config.dir);
    add_count(out, "workload_classes", (uint64_t)r->v->config.n_classes);
    str_printf(out, ", \"label_offset\": %d,\n  \"items\": [", r->v->config.label_offset);
    put(out);
    verify_each(r->v, add_item, &list);
    str_add(out, "\n  ],\n  \"splits\": [\n");
    for (int k = 0; k < r->v->n_splits; k++) {
        str_add(out, k ? ",\n" : "");
        add_split(&r->v->split[k], out);
    }
    add_needs(r, out);
    put(out);
    str_release(out);
}
