/* The columns that a probe names, for tests that call it without the meter. */
#ifndef STAVE_TESTS_METER_COLUMNS_H
#define STAVE_TESTS_METER_COLUMNS_H

#include "meter/meter.h"

enum { COLUMNS_MAX = 256 };

/* A probe at work. */
struct probed {
    const struct probe_ops *ops;
    void *state;
    struct meter_columns columns;
    double values[COLUMNS_MAX];
    int is_mark; /* rows are those of marks */
};

static inline void probed_open(struct probed *p, const struct probe_ops *ops,
                               const struct meter_place *place)
{
    *p = (struct probed){.ops = ops};
    assert_int_equal(ops->open(&p->state, place, &p->columns), 0);
}

static inline void probed_sample(struct probed *p, double seconds)
{
    for (size_t i = 0; i < p->columns.n; i++)
        p->values[i] = -1; /* the probe must set all */
    if (p->columns.n)
        p->ops->sample(p->state, seconds, p->values);
    if (p->columns.n && p->ops->wait && !p->is_mark)
        p->ops->wait(p->state, p->values);
}

static inline void probed_close(struct probed *p)
{
    p->ops->close(p->state);
    meter_columns_release(&p->columns);
}

/* The number of a column; COLUMNS_MAX when there is none. */
static inline size_t probed_find(const struct probed *p, const char *name)
{
    for (size_t i = 0; i < p->columns.n; i++)
        if (strcmp(p->columns.all[i].name, name) == 0)
            return i;
    return COLUMNS_MAX;
}

static inline double probed_value(const struct probed *p, const char *name)
{
    const size_t i = probed_find(p, name);

    if (i == COLUMNS_MAX)
        fail_msg("no column %s", name);
    return p->values[i];
}

/* NAN: the cell must be empty. */
static inline void probed_check(const struct probed *p, const char *name, double expected)
{
    const double v = probed_value(p, name);

    if (isnan(expected) ? !isnan(v) : !(fabs(v - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%s is %g, expected %g", name, v, expected);
}

#endif
