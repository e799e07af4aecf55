#include "cli/study_grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "meter/ingest.h"

enum { BS, RATE, JOBS, ENGINE, N_AXES, MAX_VALUES = 64 };
static const char *const axes[N_AXES] = {"bs", "rate", "jobs", "engine"};

static int check_values(const char *name, const struct study_values *a)
{
    if (a->n > MAX_VALUES)
        return err(E_USAGE, "--%s: more than %d values", name, MAX_VALUES);
    for (size_t i = 0; i < a->n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(a->all[k], a->all[i]) == 0)
                return err(E_USAGE, "--%s: %s is there twice", name, a->all[k]);
    return 0;
}

static void release(struct study_values grid[N_AXES])
{
    for (int a = 0; a < N_AXES; a++)
        study_values_release(&grid[a]);
}

static int read_lists(const struct grid_lists *l, struct study_values grid[N_AXES])
{
    const char *const lists[N_AXES] = {l->bs, l->rate, l->jobs, l->engine};

    for (int a = 0; a < N_AXES; a++) {
        study_split(&grid[a], lists[a]);
        TRY(check_values(axes[a], &grid[a]));
    }
    if ((l->memory && strchr(l->memory, ',')) || (l->cache && strchr(l->cache, ',')))
        return err(E_USAGE, "stave ingest takes one --memory and one --cache; stave study compares "
                            "several");
    return 0;
}

static int read_base(const char *base, struct ingest_settings *out)
{
    return ingest_parse(base && strcmp(base, "off") != 0 ? base : "", out);
}

static int varies(const struct study_values grid[N_AXES], int a)
{
    int others = 0;

    for (int k = 0; k < N_AXES; k++)
        others |= grid[k].n > 1;
    return grid[a].n > 1 || !others;
}

/* The setting at this place of the grid: its specification, and its name, of what the grid varies.
 */
static int set_point(const struct study_values grid[N_AXES], const size_t at[N_AXES],
                     struct ingest_settings *s, struct str *name)
{
    for (int a = 0; a < N_AXES; a++) {
        const char *const value = grid[a].n ? grid[a].all[at[a]] : NULL;
        char *where;
        int rc;

        if (!value)
            continue;
        where = xasprintf("--%s", axes[a]);
        rc = opt_set(opt_find(&ingest_options, axes[a]), s, value, where);
        free(where);
        TRY(rc);
        if (varies(grid, a))
            str_printf(name, "%s%s %s", name->len ? ", " : "", axes[a],
                       a == RATE && s->rate == 0 ? "unlimited" : value);
    }
    return 0;
}

static void add(struct study *s, const struct grid_lists *l, enum study_alone alone,
                struct study_condition c)
{
    c.memory = xstrdup(l->memory ? l->memory : "none");
    c.cache = xstrdup(l->cache ? l->cache : "none");
    c.alone = alone;
    study_add_condition(s, c);
}

static int add_point(struct study *s, const struct grid_lists *l,
                     const struct study_values grid[N_AXES], const size_t at[N_AXES])
{
    struct ingest_settings settings;
    struct str name = STR_INIT, spec = STR_INIT;
    int rc;

    if (s->n_conditions + 2 > STUDY_MAX_CONDITIONS)
        return err(E_USAGE, "these lists make more than %d conditions; shorten them",
                   STUDY_MAX_CONDITIONS);
    TRY(read_base(l->base, &settings));
    rc = set_point(grid, at, &settings, &name);
    if (rc == 0) {
        ingest_add_spec(&settings, &spec);
        if (s->n_conditions == 1)
            add(s, l, ALONE_INGEST,
                (struct study_condition){.name = xasprintf("ingest alone: %s", name.s),
                                         .ingest = xstrdup(spec.s)});
        add(s, l, ALONE_BOTH,
            (struct study_condition){.name = xasprintf("together: %s", name.s),
                                     .ingest = xstrdup(spec.s)});
    }
    ingest_release(&settings);
    str_release(&name);
    str_release(&spec);
    return rc;
}

static int add_points(struct study *s, const struct grid_lists *l,
                      const struct study_values grid[N_AXES])
{
    size_t at[N_AXES] = {0};
    int a;

    do {
        TRY(add_point(s, l, grid, at));
        for (a = N_AXES - 1; a >= 0 && ++at[a] >= grid[a].n; a--)
            at[a] = 0;
    } while (a >= 0);
    return 0;
}

int study_plan_grid(struct study *s, const struct grid_lists *lists)
{
    struct study_values grid[N_AXES] = {{NULL, 0}};
    int rc = read_lists(lists, grid);

    if (rc == 0) {
        add(s, lists, ALONE_TRAINING,
            (struct study_condition){.name = xstrdup("training alone"), .ingest = xstrdup("off")});
        rc = add_points(s, lists, grid);
    }
    release(grid);
    return rc;
}
