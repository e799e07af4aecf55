#include <string.h>

#include "backend/ref/ref.h"

/* The sizes of a convolution, from its input x, weights w and output y. */
struct sizes {
    int64_t n, h, w, in, p, q, out, k, stride, pad;
};

static struct sizes sizes_of(const struct node *n, const struct tensor *x, const struct tensor *y)
{
    const struct conv *const c = &n->attr.conv;

    return (struct sizes){x->shape.dim[0], x->shape.dim[1], x->shape.dim[2], x->shape.dim[3],
                          y->shape.dim[1], y->shape.dim[2], y->shape.dim[3], c->k,
                          c->stride,       c->pad};
}

/* Calls visit once for each (output pixel, kernel place) whose input pixel lies inside the image,
 * with offsets of the channels of x, y and of w[0,r,s,:]. */
static void each_tap(struct sizes z,
                     void (*visit)(const struct sizes *, int64_t, int64_t, int64_t, void *),
                     void *arg)
{
    for (int64_t n = 0; n < z.n; n++)
        for (int64_t p = 0; p < z.p; p++)
            for (int64_t q = 0; q < z.q; q++)
                for (int64_t r = 0; r < z.k; r++)
                    for (int64_t s = 0; s < z.k; s++) {
                        const int64_t h = p * z.stride + r - z.pad, w = q * z.stride + s - z.pad;
                        if (h >= 0 && h < z.h && w >= 0 && w < z.w)
                            visit(&z, ((n * z.h + h) * z.w + w) * z.in,
                                  ((n * z.p + p) * z.q + q) * z.out, (r * z.k + s) * z.in, arg);
                    }
}

struct conv_arrays {
    const float *x, *w, *y;
    double *sum; /* the operand being computed */
};

static void tap_forward(const struct sizes *z, int64_t x, int64_t y, int64_t w, void *arg)
{
    const struct conv_arrays *const a = arg;

    for (int64_t o = 0; o < z->out; o++)
        for (int64_t i = 0; i < z->in; i++)
            a->sum[y + o] += (double)a->x[x + i] * a->w[o * z->k * z->k * z->in + w + i];
}

static void tap_grad_x(const struct sizes *z, int64_t x, int64_t y, int64_t w, void *arg)
{
    const struct conv_arrays *const a = arg;

    for (int64_t o = 0; o < z->out; o++)
        for (int64_t i = 0; i < z->in; i++)
            a->sum[x + i] += (double)a->y[y + o] * a->w[o * z->k * z->k * z->in + w + i];
}

static void tap_grad_w(const struct sizes *z, int64_t x, int64_t y, int64_t w, void *arg)
{
    const struct conv_arrays *const a = arg;

    for (int64_t o = 0; o < z->out; o++)
        for (int64_t i = 0; i < z->in; i++)
            a->sum[o * z->k * z->k * z->in + w + i] += (double)a->x[x + i] * a->y[y + o];
}

static int sums_prepare(struct device *d, struct step *s)
{
    (void)d;
    s->scratch_bytes = (size_t)tensor_count(s->node->out[0]) * sizeof(double);
    return 0;
}

/* Runs one of the three and rounds its float64 sums into step output 0. */
static int run(const struct step *s, struct sizes z, struct conv_arrays a,
               void (*visit)(const struct sizes *, int64_t, int64_t, int64_t, void *))
{
    const int64_t count = tensor_count(s->node->out[0]);
    float *const out = s->out[0];

    a.sum = s->scratch;
    memset(a.sum, 0, (size_t)count * sizeof(double));
    each_tap(z, visit, &a);
    for (int64_t i = 0; i < count; i++)
        out[i] = (float)a.sum[i];
    return 0;
}

static int conv2d_run(struct device *d, const struct step *s)
{
    (void)d;
    return run(s, sizes_of(s->node, s->node->in[0], s->node->out[0]),
               (struct conv_arrays){.x = s->in[0], .w = s->in[1]}, tap_forward);
}

static int grad_x_run(struct device *d, const struct step *s)
{
    (void)d;
    return run(s, sizes_of(s->node, s->node->out[0], s->node->in[0]),
               (struct conv_arrays){.y = s->in[0], .w = s->in[1]}, tap_grad_x);
}

static int grad_w_run(struct device *d, const struct step *s)
{
    (void)d;
    return run(s, sizes_of(s->node, s->node->in[0], s->node->in[1]),
               (struct conv_arrays){.x = s->in[0], .y = s->in[1]}, tap_grad_w);
}

REF_KERNEL_WITH(conv2d, NULL, sums_prepare, conv2d_run);
REF_KERNEL_WITH(conv2d_grad_x, NULL, sums_prepare, grad_x_run);
REF_KERNEL_WITH(conv2d_grad_w, NULL, sums_prepare, grad_w_run);
