/* Files that are there twice. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "data/verify_int.h"

struct twin {
    uint64_t checksum, index;
    uint32_t n_bytes;
    int split;
};

/* Of equal ones the first of the first split comes first. */
static int by_content(const void *a, const void *b)
{
    const struct twin *const x = a, *const y = b;

    if (x->checksum != y->checksum)
        return x->checksum < y->checksum ? -1 : 1;
    if (x->n_bytes != y->n_bytes)
        return x->n_bytes < y->n_bytes ? -1 : 1;
    if (x->split != y->split)
        return x->split < y->split ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static struct twin *list_all(const struct verify *v, size_t *n)
{
    uint64_t most = 0;
    struct twin *all;

    for (int k = 0; k < v->n_splits; k++)
        most += v->split[k].source ? v->split[k].source->n_samples : 0;
    all = xmalloc((most + 1) * sizeof(*all));
    *n = 0;
    for (int k = 0; k < v->n_splits; k++)
        for (uint64_t i = 0; v->split[k].source && i < v->split[k].source->n_samples; i++) {
            const struct verify_sample *const x = &v->split[k].samples[i];

            if (x->width)
                all[(*n)++] = (struct twin){x->checksum, i, x->n_bytes, k};
        }
    return all;
}

struct pair {
    struct sample first, other;
};

static int same_bytes(const struct verify *v, const struct twin *a, const struct twin *b,
                      struct pair *p)
{
    p->first.data = p->other.data = NULL;
    source_read(v->split[a->split].source, a->index, &p->first);
    source_read(v->split[b->split].source, b->index, &p->other);
    return p->first.data && p->other.data && p->first.n == p->other.n &&
           memcmp(p->first.data, p->other.data, p->first.n) == 0;
}

void verify_find_twins(struct verify *v)
{
    struct pair pair = {0};
    size_t n, first = 0;
    struct twin *const all = list_all(v, &n);

    if (n)
        qsort(all, n, sizeof(*all), by_content);
    for (size_t i = 1; i < n; i++) {
        struct verify_sample *const x = &v->split[all[i].split].samples[all[i].index];

        if (all[i].checksum != all[first].checksum || all[i].n_bytes != all[first].n_bytes) {
            first = i;
        } else if (same_bytes(v, &all[first], &all[i], &pair)) {
            x->twin = all[first].index + 1;
            x->twin_split = (uint8_t)all[first].split;
        }
    }
    sample_release(&pair.first);
    sample_release(&pair.other);
    free(all);
}
