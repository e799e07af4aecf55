#include <math.h>

#include "backend/cpu/native.h"
#include "backend/cpu/native_int.h"
#include "backend/cpu/parallel.h"
#include "base/err.h"

size_t cpu_cross_entropy_scratch(size_t n)
{
    return (n * sizeof(double) + 63) / 64 * 64;
}

static float row_weight(const struct cpu_cross_entropy *a, size_t i)
{
    const float weight = a->weights ? a->weights[i] : 1;

    return a->labels[i] >= 0 && weight > 0 ? weight : 0;
}

/* What one row's softmax needs: its largest logit and the log of the sum of exponentials above
 * it. */
struct softmax {
    float max;
    double log_sum;
};

static struct softmax softmax_of(const float *logits, size_t classes)
{
    struct softmax s = {logits[0], 0};
    double sum = 0;

    for (size_t j = 1; j < classes; j++)
        s.max = logits[j] > s.max ? logits[j] : s.max;
    for (size_t j = 0; j < classes; j++)
        sum += (double)expf(logits[j] - s.max);
    s.log_sum = log(sum);
    return s;
}

/* -sum q log p = log_sum + max - sum q logit, written about max to keep digits. */
static double row_loss(const struct cpu_cross_entropy *a, struct softmax s, size_t i)
{
    const float *logits = a->logits + i * a->classes;
    const double smooth = (double)a->smoothing;
    double mean = 0;

    for (size_t j = 0; smooth > 0 && j < a->classes; j++)
        mean += (double)(logits[j] - s.max);
    mean /= (double)a->classes;
    return s.log_sum - smooth * mean - (1 - smooth) * (double)(logits[a->labels[i]] - s.max);
}

static void row_grad(const struct cpu_cross_entropy *a, struct softmax s, size_t i)
{
    const float *logits = a->logits + i * a->classes;
    const float factor = a->scale * row_weight(a, i), log_sum = (float)s.log_sum;
    const float even = a->smoothing / (float)a->classes;
    float *dst = a->dlogits + i * a->classes;

    for (size_t j = 0; j < a->classes; j++)
        dst[j] = factor * (expf(logits[j] - s.max - log_sum) - even);
    dst[a->labels[i]] -= factor * (1 - a->smoothing);
}

static void ignored_row(const struct cpu_cross_entropy *a, size_t i)
{
    ((double *)a->scratch)[i] = 0;
    for (size_t j = 0; a->dlogits && j < a->classes; j++)
        a->dlogits[i * a->classes + j] = 0;
}

static void loss_rows(void *arg, size_t begin, size_t end)
{
    const struct cpu_cross_entropy *a = arg;

    for (size_t i = begin; i < end; i++) {
        struct softmax s;

        if (row_weight(a, i) <= 0) {
            ignored_row(a, i);
            continue;
        }
        ASSERT((size_t)a->labels[i] < a->classes);
        s = softmax_of(a->logits + i * a->classes, a->classes);
        ((double *)a->scratch)[i] = (double)row_weight(a, i) * row_loss(a, s, i);
        if (a->dlogits)
            row_grad(a, s, i);
    }
}

void cpu_cross_entropy(int threads, const struct cpu_cross_entropy *a)
{
    const double *losses = a->scratch;
    double loss = 0, weight = 0;

    ASSERT(a->classes >= 1);
    cpu_parallel((struct cpu_split){threads, a->n, row_grain(16 * a->classes)}, loss_rows,
                 (void *)a);
    for (size_t i = 0; i < a->n; i++) {
        loss += losses[i];
        weight += (double)row_weight(a, i);
    }
    if (a->sum)
        *a->sum = (float)loss;
    if (a->weight)
        *a->weight = (float)weight;
}

size_t cpu_top1(const struct cpu_top1 *a)
{
    size_t correct = 0;

    for (size_t i = 0; i < a->n; i++) {
        const float *const logits = a->logits + i * a->classes;
        size_t best = 0;

        for (size_t j = 1; j < a->classes; j++)
            best = logits[j] > logits[best] ? j : best;
        correct += a->weights[i] > 0 && a->labels[i] >= 0 && (size_t)a->labels[i] == best;
    }
    return correct;
}
