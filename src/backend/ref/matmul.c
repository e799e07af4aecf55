#include "backend/ref/ref.h"

static int matmul_run(struct device *d, const struct step *s)
{
    const struct node *const n = s->node;
    const int ta = n->attr.matmul.transpose_a, tb = n->attr.matmul.transpose_b;
    const int64_t rows = n->out[0]->shape.dim[0], cols = n->out[0]->shape.dim[1],
                  inner = n->in[0]->shape.dim[!ta];
    const float *const a = s->in[0], *const b = s->in[1];
    float *const y = s->out[0];

    (void)d;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            double sum = 0;
            for (int64_t k = 0; k < inner; k++)
                sum += (double)a[ta ? k * rows + i : i * inner + k] *
                       b[tb ? j * inner + k : k * cols + j];
            y[i * cols + j] = (float)sum;
        }
    return 0;
}

REF_KERNEL(matmul, matmul_run);
