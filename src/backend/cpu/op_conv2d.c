#include <stdio.h>
#include <stdlib.h>

#include "backend/cpu/conv.h"
#include "backend/cpu/cpu.h"
#include "base/err.h"

static struct cpu_conv_shape shape_of_conv(const struct node *n, const struct tensor *x)
{
    const struct conv *const c = &n->attr.conv;
    const int64_t *const dim = x->shape.dim;

    return (struct cpu_conv_shape){.n = dim[0],
                                   .h = dim[1],
                                   .w = dim[2],
                                   .c = dim[3],
                                   .out = c->out,
                                   .kh = c->k,
                                   .kw = c->k,
                                   .stride_h = c->stride,
                                   .stride_w = c->stride,
                                   .pad_h = c->pad,
                                   .pad_w = c->pad,
                                   .type = x->dtype};
}

static int prepare(struct device *d, struct step *s, const struct tensor *x,
                   enum cpu_conv_direction direction)
{
    const struct cpu_conv_shape shape = shape_of_conv(s->node, x);
    struct cpu_conv *c;

    TRY(cpu_wide_or_narrow(d, s));
    c = xcalloc(1, sizeof(*c));
    s->state = c;
    TRY(cpu_conv_prepare(c, &d->lib, &shape, direction));
    s->scratch_bytes = c->scratch_bytes;
    snprintf(s->impl, sizeof(s->impl), "%s", c->impl);
    s->why = c->why;
    return 0;
}

static int conv2d_prepare(struct device *d, struct step *s)
{
    return prepare(d, s, s->node->in[0], CPU_CONV_FORWARD);
}

static int grad_x_prepare(struct device *d, struct step *s)
{
    return prepare(d, s, s->node->out[0], CPU_CONV_BACKWARD_DATA);
}

static int grad_w_prepare(struct device *d, struct step *s)
{
    return prepare(d, s, s->node->in[0], CPU_CONV_BACKWARD_WEIGHTS);
}

/* All three ops have cpu_conv_args' order of operands. */
static int run(struct device *d, const struct step *s)
{
    const struct cpu_conv_args args = {s->in[0], s->in[1], s->out[0], s->scratch};

    (void)d;
    return cpu_conv_run(s->state, &args);
}

static void release(struct device *d, struct step *s)
{
    (void)d;
    if (s->state)
        cpu_conv_release(s->state);
    free(s->state);
}

#define CONV_KERNEL(op, prepare_)                                                                  \
    const struct kernel cpu_kernel_##op = {                                                        \
        .name = "oneDNN", .prepare = prepare_, .run = run, .release = release}

CONV_KERNEL(conv2d, conv2d_prepare);
CONV_KERNEL(conv2d_grad_x, grad_x_prepare);
CONV_KERNEL(conv2d_grad_w, grad_w_prepare);
