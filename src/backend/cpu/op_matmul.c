#include <stdio.h>
#include <stdlib.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/matmul.h"
#include "base/err.h"

static int matmul_prepare(struct device *d, struct step *s)
{
    const struct matmul *const a = &s->node->attr.matmul;
    const int64_t *const out = s->node->out[0]->shape.dim;
    const struct cpu_matmul_shape shape = {.m = out[0],
                                           .n = out[1],
                                           .k = s->node->in[0]->shape.dim[!a->transpose_a],
                                           .trans_a = a->transpose_a,
                                           .trans_b = a->transpose_b,
                                           .type = s->node->in[0]->dtype,
                                           .dst_type = s->node->out[0]->dtype};
    struct cpu_matmul *m;

    TRY(cpu_wide_or_narrow(d, s));
    m = xcalloc(1, sizeof(*m));
    s->state = m;
    TRY(cpu_matmul_prepare(m, &d->lib, &shape));
    s->scratch_bytes = m->scratch_bytes;
    snprintf(s->impl, sizeof(s->impl), "%s", m->call.impl);
    return 0;
}

static int matmul_run(struct device *d, const struct step *s)
{
    const struct cpu_matmul_args args = {s->in[0], s->in[1], s->out[0], s->scratch};

    (void)d;
    return cpu_matmul_run(s->state, &args);
}

static void matmul_release(struct device *d, struct step *s)
{
    (void)d;
    if (s->state)
        cpu_matmul_release(s->state);
    free(s->state);
}

const struct kernel cpu_kernel_matmul = {
    .name = "oneDNN", .prepare = matmul_prepare, .run = matmul_run, .release = matmul_release};
