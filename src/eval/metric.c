#include "eval/metric.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "eval/metrics.h"

static const struct metric_ops *const metrics[] = {
#define METRIC(name) &metric_##name,
#include "eval/list.h"
#undef METRIC
};

const struct metric_ops *metric_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(metrics); i++)
        if (strcmp(metrics[i]->name, name) == 0)
            return metrics[i];
    return NULL;
}

struct metric *metric_new(const struct metric_ops *ops)
{
    struct metric *m = xmalloc(sizeof(*m));

    *m = (struct metric){.ops = ops, .state = xcalloc(1, ops->state_bytes)};
    return m;
}

void metric_free(struct metric *m)
{
    if (!m)
        return;
    free(m->state);
    free(m);
}

void metric_reset(struct metric *m)
{
    memset(m->state, 0, m->ops->state_bytes);
}

int metric_add(struct metric *m, const struct metric_array *arrays, size_t n)
{
    return m->ops->add(m->state, arrays, n);
}

void metric_save(const struct metric *m, struct str *out)
{
    m->ops->save(m->state, out);
}

int metric_merge(struct metric *m, const void *bytes, size_t n)
{
    return m->ops->merge(m->state, bytes, n);
}

size_t metric_values(const struct metric *m, struct metric_value *out)
{
    return m->ops->values(m->state, out);
}

double metric_value(const struct metric *m)
{
    struct metric_value values[METRIC_MAX_VALUES];

    return metric_values(m, values) > 0 ? values[0].value : NAN;
}

int metric_reached(const struct metric_ops *ops, double value, double target)
{
    return ops->direction == METRIC_HIGHER_IS_BETTER ? value >= target : value <= target;
}

const struct metric_array *metric_array(const struct metric_array *arrays, size_t n,
                                        struct metric_array wanted)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(arrays[i].name, wanted.name) != 0)
            continue;
        if (arrays[i].type != wanted.type || (wanted.width && arrays[i].width != wanted.width) ||
            arrays[i].rows != arrays[0].rows)
            BUG("metric array %s has the wrong type or shape (%zu rows of %zu)", wanted.name,
                arrays[i].rows, arrays[i].width);
        return &arrays[i];
    }
    BUG("a metric needs an array %s and was not given it", wanted.name);
}
