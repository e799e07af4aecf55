/* Our own kernels: plain functions over arrays, for what oneDNN does not have or does not do
 * better. Matrices are row-major; an activation NHWC is a matrix of m = n*h*w rows and c columns.
 *
 * Arrays given as void are of the structure's type, DT_F32 (when not named) or DT_BF16; all others
 * are float32. Arithmetic is that of float32 and double for both: bf16 is widened when it is loaded
 * and rounded to nearest, ties to even, when it is stored, once for each element.
 *
 * The result of each is bitwise the same for any number of threads and on any x86-64 (no fused
 * multiply-add, no reassociation by the compiler): sums run over blocks whose size depends on the
 * problem only and are combined in order, in double. NaN goes through relu and max pooling.
 * Elementwise kernels may work in place (dst equal to a source), never with partial overlap.
 * Scratch is the caller's, 64-byte aligned, of the size the function beside it says. Nothing is
 * allocated. threads is the team's size, see parallel.h. */
#ifndef STAVE_BACKEND_CPU_NATIVE_H
#define STAVE_BACKEND_CPU_NATIVE_H

#include <stddef.h>
#include <stdint.h>

#include "graph/tensor.h"

/* Batch normalisation over rows. var is biased (divided by m). invstd = 1 / sqrt(var + eps) is the
 * caller's. */
struct cpu_bn_stats {
    size_t m, c;
    const void *x;
    float *mean, *var;
    void *scratch; /* cpu_columns_scratch(m, c) */
    enum dtype type;
};
void cpu_bn_stats(int threads, const struct cpu_bn_stats *a);

/* y = gamma (x - mean) invstd + beta, then + residual (NULL: none), then relu. */
struct cpu_bn_apply {
    size_t m, c;
    const void *x;
    const float *mean, *invstd, *gamma, *beta;
    const void *residual;
    int relu;
    void *y;
    float *scratch; /* c numbers */
    enum dtype type;
};
void cpu_bn_apply(int threads, const struct cpu_bn_apply *a);

/* dgamma = sum dy (x - mean) invstd; dbeta = sum dy. With beta, here and below, dy is that of a
 * ReLU: it counts only where gamma (x - mean) invstd + beta, computed as cpu_bn_apply does, is
 * above 0. */
struct cpu_bn_grad_reduce {
    size_t m, c;
    const void *x, *dy;
    const float *mean, *invstd;
    float *dgamma, *dbeta;
    void *scratch; /* cpu_columns_scratch(m, c) */
    enum dtype type;
    const float *gamma, *beta; /* NULL: no ReLU */
};
void cpu_bn_grad_reduce(int threads, const struct cpu_bn_grad_reduce *a);

/* dx = gamma invstd (dy - dbeta/m - xhat dgamma/m), xhat = (x - mean) invstd; frozen statistics:
 * dx = gamma invstd dy. */
struct cpu_bn_grad_apply {
    size_t m, c;
    int frozen;
    const void *x, *dy;
    const float *mean, *invstd, *gamma, *dgamma, *dbeta;
    void *dx;
    float *scratch; /* 3 c numbers */
    enum dtype type;
    const float *beta; /* NULL: no ReLU */
};
void cpu_bn_grad_apply(int threads, const struct cpu_bn_grad_apply *a);

/* dst[j] = sum over rows of src[i][j]: the gradient of a bias. */
struct cpu_column_sum {
    size_t m, c;
    const float *src;
    float *dst;
    void *scratch; /* cpu_columns_scratch(m, c) */
};
void cpu_column_sum(int threads, const struct cpu_column_sum *a);

size_t cpu_columns_scratch(size_t m, size_t c);

/* Elementwise over n. a, b, c: sources; what each does with them stands beside the function. */
struct cpu_map {
    size_t n;
    const void *a, *b;
    void *dst;
    enum dtype type;
    const void *c;
};
void cpu_relu(int threads, const struct cpu_map *m);      /* dst = a < 0 ? 0 : a */
void cpu_relu_grad(int threads, const struct cpu_map *m); /* a = y, b = dy: dst = y > 0 ? dy : 0 */
/* The gradient of a ReLU whose output went two ways: dst = a > 0 ? b + c : 0 */
void cpu_relu_grad_of_sum(int threads, const struct cpu_map *m);
void cpu_add(int threads, const struct cpu_map *m); /* dst = a + b */

/* The other type: src float32 and dst bf16 when type, which is dst's, is DT_BF16; else the reverse.
 */
struct cpu_cast {
    size_t n;
    const void *src;
    void *dst;
    enum dtype type;
};
void cpu_cast(int threads, const struct cpu_cast *a);

/* dst[i][j] = src[i][j] + bias[j]. */
struct cpu_bias_add {
    size_t m, c;
    const float *src, *bias;
    float *dst;
};
void cpu_bias_add(int threads, const struct cpu_bias_add *a);

/* Pixels to input: dst[i][j] = (src[i][j] - mean[j]) * inv_std[j]. */
struct cpu_normalise {
    size_t m, c;
    const uint8_t *src;
    const float *mean, *inv_std;
    void *dst;
    enum dtype type;
};
void cpu_normalise(int threads, const struct cpu_normalise *a);

/* Square windows over [n][h][w][c], out = (in + 2 pad - k) / stride + 1. Padding never wins a
 * maximum; pad < k <= 16. index holds the winning tap of each output, y-major, the first of
 * equals. */
struct cpu_pool_shape {
    size_t n, h, w, c, k, stride, pad;
};
size_t cpu_pool_out(size_t in, const struct cpu_pool_shape *s);

struct cpu_max_pool {
    struct cpu_pool_shape shape;
    const void *x;
    void *y;
    uint8_t *index;
    enum dtype type;
};
void cpu_max_pool(int threads, const struct cpu_max_pool *a);

struct cpu_max_pool_grad {
    struct cpu_pool_shape shape;
    const void *dy;
    const uint8_t *index;
    void *dx;
    enum dtype type;
};
void cpu_max_pool_grad(int threads, const struct cpu_max_pool_grad *a);

/* Mean over the pixels of each image: [n][pixels][c] -> [n][c], and its gradient back. */
struct cpu_global_pool {
    size_t n, pixels, c;
    const void *src;
    float *dst;
    enum dtype type;
};
void cpu_global_average(int threads, const struct cpu_global_pool *a);

struct cpu_global_pool_grad {
    size_t n, pixels, c;
    const float *src;
    void *dst;
    enum dtype type;
};
void cpu_global_average_grad(int threads, const struct cpu_global_pool_grad *a);

/* Softmax cross-entropy with smoothing s over k classes: for a row with label t and weight w
 *   loss = -w sum_j q_j log p_j,  q_j = s/k + (1 - s) [j = t],  p = softmax(logits).
 * sum is the sum of losses, weight of weights; a negative label or a weight
 * that is not above 0 adds nothing to either and has gradient 0. Labels are below classes. dlogits
 * = scale w (p - q), the gradient of scale * sum. */
struct cpu_cross_entropy {
    size_t n, classes;
    const float *logits;
    const int32_t *labels;
    const float *weights; /* NULL: all 1 */
    float smoothing, scale;
    float *sum, *weight; /* NULL: not wanted */
    float *dlogits;      /* NULL: not wanted; may be logits */
    void *scratch;       /* cpu_cross_entropy_scratch(n) */
};
size_t cpu_cross_entropy_scratch(size_t n);
void cpu_cross_entropy(int threads, const struct cpu_cross_entropy *a);

/* How many rows with weight above 0 have their label at the first largest logit; a negative label
 * is wrong. */
struct cpu_top1 {
    size_t n, classes;
    const float *logits;
    const int32_t *labels;
    const float *weights;
};
size_t cpu_top1(const struct cpu_top1 *a);

/* The sum of squares, in double. */
double cpu_sum_squares(int threads, const float *x, size_t n);

/* Optimisers, in place on n weights and their state. g = scale * grad; nothing is written when
 * scale is not finite. */

/* d = g + decay w; v = momentum v + d; w -= lr (nesterov ? d + momentum v : v). */
struct cpu_sgd {
    size_t n;
    float *w, *v;
    const float *grad;
    float scale, lr, momentum, decay;
    int nesterov;
};
void cpu_sgd(int threads, const struct cpu_sgd *a);

/* trust = eta |w| / (|g| + decay |w| + eps), 1 when a norm is 0; d = trust (g + decay w).
 * Rate inside:  v = momentum v + lr d; w -= v.   Outside: v = momentum v + d; w -= lr v.
 * plain: trust = 1 and no decay. */
struct cpu_lars {
    size_t n;
    float *w, *v;
    const float *grad;
    float scale, lr, momentum, decay, eta, eps;
    int lr_inside, plain;
};
void cpu_lars(int threads, const struct cpu_lars *a);

/* m = b1 m + (1-b1) g; v = b2 v + (1-b2) g g; w -= lr (mhat / (sqrt(vhat) + eps) + decay w), with
 * mhat = m / (1 - b1^step), vhat = v / (1 - b2^step); step counts from 1. */
struct cpu_adamw {
    size_t n;
    float *w, *m, *v;
    const float *grad;
    float scale, lr, eps, decay, step;
    double beta1, beta2; /* in double: 1 - b2^step begins near 0 */
};
void cpu_adamw(int threads, const struct cpu_adamw *a);

#endif
