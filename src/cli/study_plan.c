/* Which conditions a study has, and which runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/study.h"

const char *const study_alone_names[] = {
    [ALONE_TRAINING] = "training", [ALONE_INGEST] = "ingest", [ALONE_BOTH] = "both", NULL};

static char *copy_of(const char *text)
{
    return text ? xstrdup(text) : NULL;
}

struct study_condition study_copy_condition(const struct study_condition *c)
{
    return (struct study_condition){.name = copy_of(c->name),
                                    .memory = copy_of(c->memory),
                                    .cache = copy_of(c->cache),
                                    .data = copy_of(c->data),
                                    .ingest = copy_of(c->ingest),
                                    .copy_in = copy_of(c->copy_in),
                                    .alone = c->alone};
}

void study_add_condition(struct study *s, struct study_condition c)
{
    s->conditions = xrealloc(s->conditions, (s->n_conditions + 1) * sizeof(*s->conditions));
    s->conditions[s->n_conditions++] = c;
}

/* ---- lists of values ---- */

/* What can be varied, in the order of the names of conditions. NULL among its values: as the
 * workload has it, or none. */
enum { DIM_MEMORY, DIM_CACHE, DIM_DATA, DIM_INGEST, DIM_COPY, N_DIMS };
static const char *const dim_names[N_DIMS] = {"memory", "cache", "data", "ingest", "copy-in"};

static void add_value(struct study_values *v, char *value)
{
    v->all = xrealloc(v->all, (v->n + 1) * sizeof(*v->all));
    v->all[v->n++] = value;
}

void study_split(struct study_values *v, const char *list)
{
    for (const char *p = list; p; p = *p ? p + 1 : NULL) {
        const size_t n = strcspn(p, ",");
        add_value(v, xasprintf("%.*s", (int)n, p));
        p += n;
    }
}

void study_values_release(struct study_values *v)
{
    for (size_t i = 0; i < v->n; i++)
        free(v->all[i]);
    free(v->all);
    *v = (struct study_values){0};
}

static void take_lists(struct study_values dims[N_DIMS], const struct study_lists *l)
{
    study_split(&dims[DIM_MEMORY], l->memory ? l->memory : "none");
    study_split(&dims[DIM_CACHE], l->cache ? l->cache : "none");
    if (l->data)
        study_split(&dims[DIM_DATA], l->data);
    else
        add_value(&dims[DIM_DATA], NULL);
    for (size_t i = 0; i < l->n_ingest; i++)
        add_value(&dims[DIM_INGEST], xstrdup(l->ingest[i]));
    if (l->n_ingest == 0)
        add_value(&dims[DIM_INGEST], xstrdup("off"));
    add_value(&dims[DIM_COPY], NULL);
    if (l->copy_in)
        add_value(&dims[DIM_COPY], xstrdup(l->copy_in));
}

static void release_dims(struct study_values dims[N_DIMS])
{
    for (int d = 0; d < N_DIMS; d++)
        study_values_release(&dims[d]);
}

static int check_lists(const struct study_values dims[N_DIMS])
{
    for (int d = 0; d < N_DIMS; d++)
        for (size_t i = 0; i < dims[d].n; i++) {
            const char *const v = dims[d].all[i];
            if (v && !*v)
                return err(E_USAGE, "--%s: an empty value in the list; write none or off",
                           dim_names[d]);
            for (size_t k = 0; v && k < i; k++)
                if (dims[d].all[k] && strcmp(dims[d].all[k], v) == 0)
                    return err(E_USAGE, "--%s: %s is there twice", dim_names[d], v);
        }
    return 0;
}

/* ---- conditions ---- */

static const char *value_of(const struct study_values *d, size_t at)
{
    return d->all[at] ? d->all[at] : "off";
}

/* Of what differs between conditions. */
static char *name_of(const struct study_values dims[N_DIMS], const size_t at[N_DIMS])
{
    struct str name = STR_INIT;

    for (int d = 0; d < N_DIMS; d++)
        if (dims[d].n > 1)
            str_printf(&name, "%s%s %s", name.len ? ", " : "", dim_names[d],
                       value_of(&dims[d], at[d]));
    return name.len ? str_detach(&name) : xstrdup("as it is");
}

static int is_writing(const char *ingest, const char *copy_in)
{
    return strcmp(ingest, "off") != 0 || copy_in;
}

static void add_combination(struct study *s, const struct study_values dims[N_DIMS],
                            const size_t at[N_DIMS])
{
    const char *const ingest = dims[DIM_INGEST].all[at[DIM_INGEST]];
    const char *const copy_in = dims[DIM_COPY].all[at[DIM_COPY]];

    study_add_condition(s, (struct study_condition){
                               .name = name_of(dims, at),
                               .memory = copy_of(dims[DIM_MEMORY].all[at[DIM_MEMORY]]),
                               .cache = copy_of(dims[DIM_CACHE].all[at[DIM_CACHE]]),
                               .data = copy_of(dims[DIM_DATA].all[at[DIM_DATA]]),
                               .ingest = copy_of(ingest),
                               .copy_in = copy_of(copy_in),
                               .alone = is_writing(ingest, copy_in) ? ALONE_BOTH : ALONE_TRAINING,
                           });
}

/* All combinations, the last list turning fastest. */
static int add_product(struct study *s, const struct study_values dims[N_DIMS])
{
    size_t at[N_DIMS] = {0};
    int d;

    do {
        if (s->n_conditions == STUDY_MAX_CONDITIONS)
            return err(E_USAGE, "these lists make more than %d conditions; shorten them",
                       STUDY_MAX_CONDITIONS);
        add_combination(s, dims, at);
        for (d = N_DIMS - 1; d >= 0 && ++at[d] == dims[d].n; d--)
            at[d] = 0;
    } while (d >= 0);
    return 0;
}

static int add_each_alone(struct study *s, const struct study_values dims[N_DIMS])
{
    size_t at[N_DIMS] = {0};

    add_combination(s, dims, at);
    for (int d = 0; d < N_DIMS; d++) {
        for (at[d] = 1; at[d] < dims[d].n; at[d]++) {
            if (s->n_conditions == STUDY_MAX_CONDITIONS)
                return err(E_USAGE, "these lists make more than %d conditions; shorten them",
                           STUDY_MAX_CONDITIONS);
            add_combination(s, dims, at);
        }
        at[d] = 0;
    }
    return 0;
}

int study_plan(struct study *s, const struct study_lists *lists, int product)
{
    struct study_values dims[N_DIMS] = {{NULL, 0}};
    int rc;

    take_lists(dims, lists);
    rc = check_lists(dims);
    if (rc == 0)
        rc = product ? add_product(s, dims) : add_each_alone(s, dims);
    release_dims(dims);
    return rc;
}

/* ---- runs ---- */

static struct study_run waiting(size_t workload, size_t condition, size_t repeat)
{
    struct study_run r = {.workload = workload, .condition = condition, .repeat = repeat};

    for (int f = 0; f < N_FIGURES; f++)
        r.figures[f] = NAN;
    return r;
}

void study_set_repeats(struct study *s, size_t n)
{
    const size_t nc = s->n_conditions;
    size_t at = s->n_runs;

    ASSERT(n >= s->n_repeats);
    s->n_runs = n * s->n_workloads * nc;
    s->runs = xrealloc(s->runs, (s->n_runs + 1) * sizeof(*s->runs));
    for (size_t r = s->n_repeats + 1; r <= n; r++)
        for (size_t w = 0; w < s->n_workloads; w++)
            for (size_t c = 0; c < nc; c++)
                s->runs[at++] = waiting(w, r % 2 ? c : nc - 1 - c, r);
    s->n_repeats = n;
}

char *study_run_folder(const struct study *s, size_t at)
{
    return xasprintf("%s/run-%02zu", s->dir, at + 1);
}

static void release_condition(struct study_condition *c)
{
    free(c->name);
    free(c->memory);
    free(c->cache);
    free(c->data);
    free(c->ingest);
    free(c->copy_in);
}

void study_release(struct study *s)
{
    for (size_t i = 0; i < s->n_conditions; i++)
        release_condition(&s->conditions[i]);
    for (size_t i = 0; i < s->n_workloads; i++) {
        free(s->workloads[i].name);
        free(s->workloads[i].unit);
        free(s->workloads[i].options);
    }
    free(s->conditions);
    free(s->workloads);
    free(s->runs);
    free(s->dir);
    free(s->stave_version);
    free(s->started);
    *s = (struct study){0};
}
