#include <math.h>

#include "backend/cpu/native.h"
#include "backend/cpu/native_int.h"
#include "backend/cpu/parallel.h"

/* Sums of squares: LANES float sums over BLOCK elements, then double. Pieces depend on n only. */
enum { LANES = 16, BLOCK = 1024, MAX_PIECES = 128 };

struct squares {
    const float *x;
    size_t n, per_piece;
    double sum[MAX_PIECES];
};

INLINE double block_squares(const float *x, size_t n)
{
    float lane[LANES] = {0};
    double sum = 0;
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            lane[j] += x[i + j] * x[i + j];
    for (; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    for (size_t j = 0; j < LANES; j++)
        sum += (double)lane[j];
    return sum;
}

VECTORISED
static void squares_pieces(void *arg, size_t begin, size_t end)
{
    struct squares *s = arg;

    for (size_t p = begin; p < end; p++) {
        const size_t first = p * s->per_piece;
        const size_t last = s->n - first < s->per_piece ? s->n : first + s->per_piece;

        s->sum[p] = 0;
        for (size_t i = first; i < last; i += BLOCK)
            s->sum[p] += block_squares(s->x + i, last - i < BLOCK ? last - i : BLOCK);
    }
}

double cpu_sum_squares(int threads, const float *x, size_t n)
{
    struct squares s = {.x = x, .n = n, .per_piece = (n + MAX_PIECES - 1) / MAX_PIECES};
    double sum = 0;
    size_t pieces;

    if (s.per_piece < MAP_GRAIN)
        s.per_piece = MAP_GRAIN;
    pieces = (n + s.per_piece - 1) / s.per_piece;
    cpu_parallel((struct cpu_split){threads, pieces, 1}, squares_pieces, &s);
    for (size_t p = 0; p < pieces; p++)
        sum += s.sum[p];
    return sum;
}

VECTORISED
static void sgd_range(void *arg, size_t begin, size_t end)
{
    const struct cpu_sgd *a = arg;
    float *restrict w = a->w, *restrict v = a->v;
    const float *restrict grad = a->grad;
    const float scale = a->scale, lr = a->lr, momentum = a->momentum, decay = a->decay;
    const float ahead = a->nesterov ? momentum : 1, fresh = a->nesterov ? 1 : 0;

    for (size_t i = begin; i < end; i++) {
        const float d = scale * grad[i] + decay * w[i];

        v[i] = momentum * v[i] + d;
        w[i] -= lr * (fresh * d + ahead * v[i]);
    }
}

void cpu_sgd(int threads, const struct cpu_sgd *a)
{
    if (isfinite(a->scale))
        cpu_parallel((struct cpu_split){threads, a->n, MAP_GRAIN}, sgd_range, (void *)a);
}

struct lars_step {
    const struct cpu_lars *a;
    float decay;
    float inner, outer; /* factors of d on its way into v, and of v on its way into w */
};

VECTORISED
static void lars_range(void *arg, size_t begin, size_t end)
{
    const struct lars_step *s = arg;
    float *restrict w = s->a->w, *restrict v = s->a->v;
    const float *restrict grad = s->a->grad;
    const float inner = s->inner, outer = s->outer;
    const float scale = s->a->scale, momentum = s->a->momentum, decay = s->decay;

    for (size_t i = begin; i < end; i++) {
        v[i] = momentum * v[i] + inner * (scale * grad[i] + decay * w[i]);
        w[i] -= outer * v[i];
    }
}

static double lars_trust(int threads, const struct cpu_lars *a)
{
    const double w = sqrt(cpu_sum_squares(threads, a->w, a->n));
    const double g = fabs((double)a->scale) * sqrt(cpu_sum_squares(threads, a->grad, a->n));

    if (w == 0 || g == 0)
        return 1;
    return (double)a->eta * w / (g + (double)a->decay * w + (double)a->eps);
}

void cpu_lars(int threads, const struct cpu_lars *a)
{
    const double trust = a->plain || !isfinite(a->scale) ? 1 : lars_trust(threads, a);
    struct lars_step s = {a, a->plain ? 0 : a->decay, (float)trust, a->lr};

    if (a->lr_inside) {
        s.inner = (float)(trust * (double)a->lr);
        s.outer = 1;
    }
    if (isfinite(a->scale))
        cpu_parallel((struct cpu_split){threads, a->n, MAP_GRAIN}, lars_range, &s);
}

struct adam_step {
    const struct cpu_adamw *a;
    float m_scale, v_scale; /* of the running means, against their start at zero */
};

VECTORISED
static void adamw_range(void *arg, size_t begin, size_t end)
{
    const struct adam_step *s = arg;
    float *restrict w = s->a->w, *restrict m = s->a->m, *restrict v = s->a->v;
    const float *restrict grad = s->a->grad;
    const float scale = s->a->scale;
    const float b1 = (float)s->a->beta1, b2 = (float)s->a->beta2, eps = s->a->eps;
    const float c1 = (float)(1 - s->a->beta1), c2 = (float)(1 - s->a->beta2);
    const float lr = s->a->lr, decay = s->a->decay;
    const float m_scale = s->m_scale, v_scale = s->v_scale;

    for (size_t i = begin; i < end; i++) {
        const float g = scale * grad[i];

        m[i] = b1 * m[i] + c1 * g;
        v[i] = b2 * v[i] + c2 * (g * g);
        w[i] -= lr * (m_scale * m[i] / (sqrtf(v_scale * v[i]) + eps) + decay * w[i]);
    }
}

void cpu_adamw(int threads, const struct cpu_adamw *a)
{
    struct adam_step s = {a, (float)(1 / (1 - pow(a->beta1, (double)a->step))),
                          (float)(1 / (1 - pow(a->beta2, (double)a->step)))};

    if (isfinite(a->scale))
        cpu_parallel((struct cpu_split){threads, a->n, MAP_GRAIN}, adamw_range, &s);
}
