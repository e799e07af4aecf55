#include <math.h>
#include <string.h>

#include "backend/ref/ref.h"
#include "base/err.h"

static int64_t row_width(const struct tensor *table)
{
    return tensor_count(table) / table->shape.dim[0];
}

static int gather_run(struct device *d, const struct step *s)
{
    const int64_t n = tensor_count(s->node->in[1]), rows = s->node->in[0]->shape.dim[0];
    const size_t width = (size_t)row_width(s->node->in[0]);
    const float *const table = s->in[0];
    const int *const index = s->in[1];
    float *y = s->out[0];

    (void)d;
    for (int64_t i = 0; i < n; i++, y += width) {
        if (index[i] >= rows)
            return err(E_DATA, "%s: index %d at element %lld, but the table has %lld rows",
                       s->node->scope, index[i], (long long)i, (long long)rows);
        if (index[i] < 0)
            memset(y, 0, width * sizeof(*y));
        else
            memcpy(y, table + (size_t)index[i] * width, width * sizeof(*y));
    }
    return 0;
}

struct lookup {
    int index, at;
};

static int gather_grad_prepare(struct device *d, struct step *s)
{
    (void)d;
    s->scratch_bytes = 2 * (size_t)tensor_count(s->node->in[0]) * sizeof(struct lookup);
    return 0;
}

/* Merges the sorted runs a[0..mid) and a[mid..n) through tmp; of equals the earlier stays first. */
static void merge(struct lookup *a, int64_t mid, int64_t n, struct lookup *tmp)
{
    int64_t left = 0, right = mid;

    for (int64_t i = 0; i < n; i++) {
        const int take_left = right >= n || (left < mid && a[left].index <= a[right].index);
        tmp[i] = take_left ? a[left++] : a[right++];
    }
    memcpy(a, tmp, (size_t)n * sizeof(*a));
}

/* The lookups that count, by index, then in the order of the lookups: sums do not depend on how it
 * sorts. Not qsort(), which may allocate. out holds twice n. */
static int64_t sorted_lookups(const int *index, int64_t n, struct lookup *out)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < n; i++)
        if (index[i] >= 0)
            out[kept++] = (struct lookup){index[i], (int)i};
    for (int64_t run = 1; run < kept; run *= 2)
        for (int64_t at = 0; at + run < kept; at += 2 * run)
            merge(out + at, run, kept - at < 2 * run ? kept - at : 2 * run, out + n);
    return kept;
}

static int gather_grad_run(struct device *d, const struct step *s)
{
    const int64_t most = s->node->out[0]->shape.dim[0], width = row_width(s->node->in[2]);
    struct lookup *const looked = s->scratch;
    const int64_t n = sorted_lookups(s->in[0], tensor_count(s->node->in[0]), looked);
    const float *const dy = s->in[1];
    int *const indices = s->out[0], *const count = s->out[2];
    float *const rows = s->out[1];
    int at = -1;

    (void)d;
    memset(rows, 0, tensor_bytes(s->node->out[1]));
    for (int64_t i = 0; i < most; i++)
        indices[i] = -1;
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || looked[i].index != looked[i - 1].index)
            indices[++at] = looked[i].index;
        for (int64_t c = 0; c < width; c++)
            rows[at * width + c] += dy[looked[i].at * width + c];
    }
    *count = at + 1;
    return 0;
}

static int to_dense_run(struct device *d, const struct step *s)
{
    const size_t width = (size_t)row_width(s->node->out[0]);
    const int *const indices = s->in[0], *const count = s->in[2];
    const float *const rows = s->in[1];
    float *const y = s->out[0];

    (void)d;
    memset(y, 0, tensor_bytes(s->node->out[0]));
    for (int i = 0; i < *count; i++)
        memcpy(y + (size_t)indices[i] * width, rows + (size_t)i * width, width * sizeof(*y));
    return 0;
}

static int sparse_sgd_run(struct device *d, const struct step *s)
{
    const int64_t width = row_width(s->node->in[0]);
    const int *const indices = s->in[1], *const count = s->in[3];
    const double scale = *(const float *)s->in[5];
    const double rate = *(const float *)s->in[4] * s->node->attr.update.lr_mult * scale;
    const float *const rows = s->in[2];
    float *const w = s->in[0];

    (void)d;
    for (int64_t i = 0; i < *count && isfinite(scale); i++)
        for (int64_t c = 0; c < width; c++) {
            float *const one = &w[indices[i] * width + c];
            *one = (float)(*one - rate * rows[i * width + c]);
        }
    return 0;
}

REF_KERNEL(gather, gather_run);
const struct kernel ref_gather_grad = {
    .name = "ref", .prepare = gather_grad_prepare, .run = gather_grad_run};
REF_KERNEL(sparse_to_dense, to_dense_run);
REF_KERNEL(sparse_sgd, sparse_sgd_run);
