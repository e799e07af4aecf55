#include "workloads/workload.h"

#include <string.h>

#include "base/err.h"
#include "rules/ruleset.h"

/* clang-format off */
#define WORKLOAD(name) extern const struct workload workload_##name;
#include "workloads/list.h"
#undef WORKLOAD

const struct workload *const workloads[] = {
#define WORKLOAD(name) &workload_##name,
#include "workloads/list.h"
#undef WORKLOAD
    NULL,
};
/* clang-format on */

const struct workload *workload_find(const char *name)
{
    for (int i = 0; workloads[i]; i++)
        if (strcmp(workloads[i]->name, name) == 0)
            return workloads[i];
    return NULL;
}

const struct preset *preset_find(const struct workload *w, const char *name)
{
    for (const struct preset *p = w->presets; p->name; p++)
        if (!name || strcmp(p->name, name) == 0)
            return p;
    return NULL;
}

/* values: "a|b" */
static int is_one_of(const char *values, const char *value)
{
    const size_t n = strlen(value);

    for (const char *p = values; p; p = strchr(p, '|')) {
        p += *p == '|';
        if (strncmp(p, value, n) == 0 && (p[n] == '\0' || p[n] == '|'))
            return 1;
    }
    return 0;
}

static void add_values(const char *values, struct str *out)
{
    for (const char *p = values; *p; p++)
        if (*p == '|')
            str_add(out, " or ");
        else
            str_printf(out, "%c", *p);
}

static const struct closed_option *closed_find(const struct workload *w, const char *name)
{
    const struct closed_option *c = w->closed;

    while (c->name && !opt_same_name(c->name, name))
        c++;
    return c->name ? c : NULL;
}

static size_t option_deviates(const struct workload *w, const struct opt_row *row,
                              const void *values, int optimizer, struct str *out)
{
    const struct closed_option *const c = closed_find(w, row->name);
    struct str value = STR_INIT;
    size_t deviates = 0;

    opt_add_text(row, values, &value);
    if (!c) {
        str_printf(out, "%s is not among the options the rules are known for\n", row->name);
        deviates = 1;
    } else if (c->values && (!c->optimizers || c->optimizers >> optimizer & 1) &&
               !is_one_of(c->values, value.s ? value.s : "")) {
        str_printf(out, "%s is %s; the closed division wants ", row->name, value.s);
        add_values(c->values, out);
        str_printf(out, ": %s\n", c->why);
        deviates = 1;
    }
    str_release(&value);
    return deviates;
}

size_t workload_closed_deviations(const struct workload *w, const struct workload_settings *s,
                                  struct str *out)
{
    const struct {
        const struct opt_table *table;
        const void *values;
    } all[] = {{&train_options, &s->train}, {&data_options, &s->data}, {w->options, s->own}};
    size_t n = 0;

    for (size_t t = 0; t < COUNT_OF(all); t++)
        for (size_t i = 0; i < all[t].table->n_rows; i++)
            n += option_deviates(w, &all[t].table->rows[i], all[t].values, s->train.optimizer, out);
    return n;
}

const char *workload_ruleset(const struct workload *w, const struct workload_settings *s)
{
    return s->ruleset ? s->ruleset : w->ruleset;
}

int workload_check_ruleset(const struct workload *w, const struct workload_settings *s)
{
    const char *const version = workload_ruleset(w, s);
    const struct ruleset *const r = ruleset_find(version);

    if (!r)
        return ruleset_unknown(version);
    if (r->format != MLLOG_FORMAT_JSON)
        return err(E_USAGE, "a run writes the log of the rounds from 0.7.0 on, not that of %s",
                   version);
    if (w->benchmark && !ruleset_benchmark(r, w->benchmark))
        return err(E_USAGE, "round %s is without the benchmark %s", version, w->benchmark);
    return 0;
}

/* ---- the weights at the start ---- */

const struct rule_benchmark *workload_benchmark(const struct workload *w,
                                                const struct workload_settings *s)
{
    const struct ruleset *const r = ruleset_find(workload_ruleset(w, s));

    return r && w->benchmark ? ruleset_benchmark(r, w->benchmark) : NULL;
}

size_t workload_start_deviations(const struct rule_benchmark *b, const struct workload_settings *s,
                                 struct str *out)
{
    if (!s->from_weights == !b->published_weights)
        return 0;
    if (s->from_weights)
        str_add(out, "the run starts from given weights; the closed division wants random ones\n");
    else
        str_add(out, "the run starts from random weights; the closed division wants the published "
                     "ones\n");
    return 1;
}

int workload_check_start(const struct workload *w, const struct rule_benchmark *b,
                         const struct workload_settings *s, const struct task *t)
{
    struct workload_settings given = *s;
    struct str words = STR_INIT;
    int closed;

    if (!b || !b->published_weights || s->from_weights)
        return 0;
    given.from_weights = 1;
    closed = strcmp(w->rules(&given, t, &words), rules_division(0)) == 0;
    str_release(&words);
    if (!closed)
        return 0;
    return err(E_USAGE,
               "in the closed division of ruleset %s %s starts from published weights, and this "
               "run would start from random ones; give the published ones with --init FILE",
               workload_ruleset(w, s), b->name);
}
