/* Our own kernels of the cpu backend against the plainest loop that computes the same in double, on
 * random data and odd sizes. All must give the same bits with 1, 2 and 3 threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "backend/cpu/native.h"
#include "base/err.h"
#include "guarded.h"

enum { MAX_THREADS = 3 };

static const struct {
    size_t m, c;
} sizes[] = {{1, 1}, {7, 3}, {33, 10}, {64, 64}, {1025, 64}, {5000, 3}, {2049, 17}, {300, 130}};

/* Batch normalisation and column sums. */

/* Where a kernel's outputs of 1, 2 and 3 threads are kept for comparison. */
static void assert_same_bits(float *const got[], size_t n)
{
    for (int t = 2; t <= MAX_THREADS; t++)
        assert_memory_equal(got[t], got[1], n * sizeof(float));
}

static void check_bn_stats(size_t m, size_t c)
{
    const float *const x = random_about(m * c, 300); /* far from zero: cancellation shows */
    double *const mean = zeros(c), *const var = zeros(c);
    float *got_mean[MAX_THREADS + 1], *got_var[MAX_THREADS + 1];

    for (size_t i = 0; i < m * c; i++)
        mean[i % c] += (double)x[i] / (double)m;
    for (size_t i = 0; i < m * c; i++)
        var[i % c] += ((double)x[i] - mean[i % c]) * ((double)x[i] - mean[i % c]) / (double)m;
    for (int t = 1; t <= MAX_THREADS; t++) {
        got_mean[t] = room(c);
        got_var[t] = room(c);
        cpu_bn_stats(t, &(struct cpu_bn_stats){m, c, x, got_mean[t], got_var[t],
                                               guarded(cpu_columns_scratch(m, c)), DT_F32});
    }
    assert_near(got_mean[1], mean, c, 1e-6);
    assert_near(got_var[1], var, c, 1e-5);
    assert_same_bits(got_mean, c);
    assert_same_bits(got_var, c);
}

static void check_bn_apply(size_t m, size_t c, int residual, int relu)
{
    const float *const x = random_floats(m * c), *const mean = random_floats(c);
    const float *const invstd = random_about(c, 2), *const gamma = random_floats(c);
    const float *const beta = random_floats(c), *const r = random_floats(m * c);
    double *const want = zeros(m * c);
    float *got[MAX_THREADS + 1];

    for (size_t i = 0; i < m * c; i++) {
        const size_t j = i % c;

        want[i] = ((double)x[i] - (double)mean[j]) * (double)invstd[j] * (double)gamma[j] +
                  (double)beta[j] + (residual ? (double)r[i] : 0);
        want[i] = relu && want[i] < 0 ? 0 : want[i];
    }
    for (int t = 1; t <= MAX_THREADS; t++) {
        got[t] = t == 2 && residual ? copy_of(r, m * c) : room(m * c); /* in place of r */
        cpu_bn_apply(t, &(struct cpu_bn_apply){m, c, x, mean, invstd, gamma, beta,
                                               residual ? t == 2 ? got[t] : r : NULL, relu, got[t],
                                               room(c), DT_F32});
    }
    assert_near(got[1], want, m * c, 1e-5);
    assert_same_bits(got, m * c);
}

static void check_bn_grad(size_t m, size_t c, int frozen)
{
    const float *const x = random_about(m * c, 3), *const dy = random_floats(m * c);
    const float *const mean = random_about(c, 3), *const invstd = random_about(c, 2);
    const float *const gamma = random_floats(c);
    double *const dgamma = zeros(c), *const dbeta = zeros(c), *const dx = zeros(m * c);
    float *got_g[MAX_THREADS + 1], *got_b[MAX_THREADS + 1], *got_x[MAX_THREADS + 1];

    for (size_t i = 0; i < m * c; i++) {
        dgamma[i % c] +=
            (double)dy[i] * ((double)x[i] - (double)mean[i % c]) * (double)invstd[i % c];
        dbeta[i % c] += (double)dy[i];
    }
    for (size_t i = 0; i < m * c; i++) {
        const double xhat = ((double)x[i] - (double)mean[i % c]) * (double)invstd[i % c];
        const double less = frozen ? 0 : (dbeta[i % c] + xhat * dgamma[i % c]) / (double)m;

        dx[i] = (double)gamma[i % c] * (double)invstd[i % c] * ((double)dy[i] - less);
    }
    for (int t = 1; t <= MAX_THREADS; t++) {
        got_g[t] = room(c);
        got_b[t] = room(c);
        cpu_bn_grad_reduce(t, &(struct cpu_bn_grad_reduce){
                                  m, c, x, dy, mean, invstd, got_g[t], got_b[t],
                                  guarded(cpu_columns_scratch(m, c)), DT_F32, NULL, NULL});
        got_x[t] = copy_of(dy, m * c); /* in place of dy */
        cpu_bn_grad_apply(t, &(struct cpu_bn_grad_apply){m, c, frozen, x, got_x[t], mean, invstd,
                                                         gamma, got_g[t], got_b[t], got_x[t],
                                                         room(3 * c), DT_F32, NULL});
    }
    assert_near(got_g[1], dgamma, c, 1e-4);
    assert_near(got_b[1], dbeta, c, 1e-4);
    assert_near(got_x[1], dx, m * c, 1e-4);
    assert_same_bits(got_g, c);
    assert_same_bits(got_b, c);
    assert_same_bits(got_x, m * c);
}

static void check_columns(size_t m, size_t c)
{
    const float *const x = random_floats(m * c), *const bias = random_floats(c);
    double *const sum = zeros(c), *const biased = zeros(m * c);
    float *got[MAX_THREADS + 1], *got_biased[MAX_THREADS + 1];

    for (size_t i = 0; i < m * c; i++) {
        sum[i % c] += (double)x[i];
        biased[i] = (double)x[i] + (double)bias[i % c];
    }
    for (int t = 1; t <= MAX_THREADS; t++) {
        got[t] = room(c);
        got_biased[t] = room(m * c);
        cpu_column_sum(
            t, &(struct cpu_column_sum){m, c, x, got[t], guarded(cpu_columns_scratch(m, c))});
        cpu_bias_add(t, &(struct cpu_bias_add){m, c, x, bias, got_biased[t]});
    }
    assert_near(got[1], sum, c, 1e-4); /* of ones that cancel */
    assert_near(got_biased[1], biased, m * c, 1e-6);
    assert_same_bits(got, c);
    assert_same_bits(got_biased, m * c);
}

static void test_bn(void **state)
{
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        check_bn_stats(sizes[i].m, sizes[i].c);
        release_buffers(state);
        for (int fused = 0; fused < 4; fused++)
            check_bn_apply(sizes[i].m, sizes[i].c, fused & 1, fused >> 1);
        release_buffers(state);
        check_bn_grad(sizes[i].m, sizes[i].c, 0);
        check_bn_grad(sizes[i].m, sizes[i].c, 1);
        release_buffers(state);
        check_columns(sizes[i].m, sizes[i].c);
        release_buffers(state);
    }
}

/* Elementwise. */

static double want_map(void (*kernel)(int, const struct cpu_map *), double a, double b, double c)
{
    if (kernel == cpu_relu)
        return a > 0 ? a : 0;
    if (kernel == cpu_relu_grad)
        return a > 0 ? b : 0;
    if (kernel == cpu_relu_grad_of_sum)
        return a > 0 ? b + c : 0;
    return a + b;
}

static void test_map(void **state)
{
    static void (*const kernels[])(int, const struct cpu_map *) = {cpu_relu, cpu_relu_grad,
                                                                   cpu_relu_grad_of_sum, cpu_add};
    static const size_t counts[] = {1, 7, 64, 40001};

    for (size_t k = 0; k < COUNT_OF(kernels) * COUNT_OF(counts); k++) {
        void (*const kernel)(int, const struct cpu_map *) = kernels[k / COUNT_OF(counts)];
        const size_t n = counts[k % COUNT_OF(counts)];
        const float *const a = random_floats(n), *const b = random_floats(n);
        const float *const c = random_floats(n);
        double *const want = zeros(n);
        float *got[MAX_THREADS + 1];

        for (size_t i = 0; i < n; i++)
            want[i] = want_map(kernel, (double)a[i], (double)b[i], (double)c[i]);
        for (int t = 1; t <= MAX_THREADS; t++) {
            got[t] = copy_of(a, n); /* in place */
            kernel(t, &(struct cpu_map){n, got[t], b, got[t], DT_F32, c});
        }
        assert_near(got[1], want, n, 1e-6);
        assert_same_bits(got, n);
        release_buffers(state);
    }
}

/* A broken activation must stay visible. */
static void test_nan_goes_through(void **state)
{
    float x[9] = {-1, 2, -3, 4, NAN, 5, 6, 7, 8}, y[9], b[9] = {0};
    uint8_t index[1];

    (void)state;
    cpu_relu(1, &(struct cpu_map){.n = 9, .a = x, .dst = y});
    assert_true(isnan(y[4]) && y[0] == 0 && y[8] == 8);
    cpu_add(1, &(struct cpu_map){.n = 9, .a = x, .b = b, .dst = y});
    assert_true(isnan(y[4]));
    cpu_max_pool(1, &(struct cpu_max_pool){{1, 3, 3, 1, 3, 1, 0}, x, y, index, DT_F32});
    assert_true(isnan(y[0]) && index[0] == 4);
}

static void test_normalise(void **state)
{
    static const size_t channels[] = {1, 3, 4, 10, 33};

    for (size_t k = 0; k < COUNT_OF(channels); k++) {
        const size_t c = channels[k], m = 1001;
        const float *const mean = random_about(c, 120), *const inv = random_floats(c);
        uint8_t *const src = guarded(m * c);
        double *const want = zeros(m * c);
        float *got[MAX_THREADS + 1];

        for (size_t i = 0; i < m * c; i++) {
            src[i] = (uint8_t)(i * 37 % 256);
            want[i] = ((double)src[i] - (double)mean[i % c]) * (double)inv[i % c];
        }
        for (int t = 1; t <= MAX_THREADS; t++) {
            got[t] = room(m * c);
            cpu_normalise(t, &(struct cpu_normalise){m, c, src, mean, inv, got[t], DT_F32});
        }
        assert_near(got[1], want, m * c, 1e-5);
        assert_same_bits(got, m * c);
        release_buffers(state);
    }
}

/* Pooling. */

static const struct cpu_pool_shape pool_shapes[] = {
    {2, 8, 8, 64, 3, 2, 1}, {3, 7, 5, 3, 3, 2, 1}, {1, 4, 6, 10, 2, 2, 0},
    {2, 5, 5, 1, 3, 1, 1},  {1, 1, 1, 7, 3, 2, 1}, {1, 9, 9, 2, 5, 3, 2},
};

/* The first maximum of one window, and where its gradient belongs. */
static size_t naive_window(const struct cpu_pool_shape *s, const float *x, size_t out[4], int *tap)
{
    size_t best = SIZE_MAX;

    for (size_t t = 0; t < s->k * s->k; t++) {
        const ptrdiff_t y = (ptrdiff_t)(out[1] * s->stride + t / s->k) - (ptrdiff_t)s->pad;
        const ptrdiff_t z = (ptrdiff_t)(out[2] * s->stride + t % s->k) - (ptrdiff_t)s->pad;
        const size_t at = ((out[0] * s->h + (size_t)y) * s->w + (size_t)z) * s->c + out[3];

        if (y < 0 || z < 0 || y >= (ptrdiff_t)s->h || z >= (ptrdiff_t)s->w)
            continue;
        if (best == SIZE_MAX || x[at] > x[best]) {
            best = at;
            *tap = (int)t;
        }
    }
    return best;
}

static void check_max_pool(struct cpu_pool_shape s)
{
    const size_t oh = cpu_pool_out(s.h, &s), ow = cpu_pool_out(s.w, &s);
    const size_t nx = s.n * s.h * s.w * s.c, ny = s.n * oh * ow * s.c;
    float *const x = random_floats(nx), *const dy = random_floats(ny);
    double *const want = zeros(ny), *const want_dx = zeros(nx);
    float *y[MAX_THREADS + 1], *dx[MAX_THREADS + 1];
    uint8_t *index = NULL;

    for (size_t i = 0; i < nx; i++)
        x[i] = roundf(4 * x[i]); /* many equal values: the first must win */
    for (int t = 1; t <= MAX_THREADS; t++) {
        y[t] = room(ny);
        dx[t] = room(nx);
        index = guarded(ny);
        cpu_max_pool(t, &(struct cpu_max_pool){s, x, y[t], index, DT_F32});
        cpu_max_pool_grad(t, &(struct cpu_max_pool_grad){s, dy, index, dx[t], DT_F32});
    }
    for (size_t i = 0; i < ny; i++) {
        size_t out[4] = {i / s.c / ow / oh, i / s.c / ow % oh, i / s.c % ow, i % s.c};
        int tap = -1;
        const size_t at = naive_window(&s, x, out, &tap);

        want[i] = (double)x[at];
        want_dx[at] += (double)dy[i];
        assert_int_equal(index[i], tap);
    }
    assert_near(y[1], want, ny, 1e-7);
    assert_near(dx[1], want_dx, nx, 1e-5);
    assert_same_bits(y, ny);
    assert_same_bits(dx, nx);
}

static void check_average(size_t n, size_t pixels, size_t c)
{
    const float *const x = random_floats(n * pixels * c), *const dy = random_floats(n * c);
    double *const want = zeros(n * c), *const want_dx = zeros(n * pixels * c);
    float *y[MAX_THREADS + 1], *dx[MAX_THREADS + 1];

    for (size_t i = 0; i < n * pixels * c; i++) {
        const size_t at = i / (pixels * c) * c + i % c;

        want[at] += (double)x[i] / (double)pixels;
        want_dx[i] = (double)dy[at] / (double)pixels;
    }
    for (int t = 1; t <= MAX_THREADS; t++) {
        y[t] = room(n * c);
        dx[t] = room(n * pixels * c);
        cpu_global_average(t, &(struct cpu_global_pool){n, pixels, c, x, y[t], DT_F32});
        cpu_global_average_grad(t, &(struct cpu_global_pool_grad){n, pixels, c, dy, dx[t], DT_F32});
    }
    assert_near(y[1], want, n * c, 1e-5);
    assert_near(dx[1], want_dx, n * pixels * c, 1e-6);
    assert_same_bits(y, n * c);
    assert_same_bits(dx, n * pixels * c);
}

static void test_pool(void **state)
{
    for (size_t i = 0; i < COUNT_OF(pool_shapes); i++) {
        check_max_pool(pool_shapes[i]);
        release_buffers(state);
    }
    check_average(1, 1, 1);
    check_average(5, 49, 10);
    check_average(3, 16, 2048);
}

/* Loss. */

/* -sum q log p of one row in double, and its gradient. */
static double naive_loss(const float *logits, size_t k, int32_t label, double smooth, double *grad)
{
    double max = -1e30, sum = 0, loss = 0;

    for (size_t j = 0; j < k; j++)
        max = fmax(max, (double)logits[j]);
    for (size_t j = 0; j < k; j++)
        sum += exp((double)logits[j] - max);
    for (size_t j = 0; j < k; j++) {
        const double q = smooth / (double)k + ((int32_t)j == label ? 1 - smooth : 0);
        const double log_p = (double)logits[j] - max - log(sum);

        loss -= q * log_p;
        grad[j] = exp(log_p) - q;
    }
    return loss;
}

static void check_cross_entropy(size_t n, size_t k, double smooth)
{
    float *const logits = random_about(n * k, 50), *const weights = random_about(n, 1);
    int32_t *const labels = guarded(n * sizeof(int32_t));
    double *const want = zeros(n * k), sums[2] = {0};
    float *got[MAX_THREADS + 1], *got_sums[MAX_THREADS + 1];

    for (size_t i = 0; i < n; i++) {
        labels[i] = i % 5 == 3 ? -1 : (int32_t)(i * 7 % k);
        weights[i] = i % 4 == 1 ? 0 : weights[i];
        if (labels[i] < 0 || weights[i] <= 0)
            continue;
        sums[0] +=
            (double)weights[i] * naive_loss(logits + i * k, k, labels[i], smooth, want + i * k);
        sums[1] += (double)weights[i];
        for (size_t j = 0; j < k; j++)
            want[i * k + j] *= 0.5 * (double)weights[i];
    }
    for (int t = 1; t <= MAX_THREADS; t++) {
        got[t] = room(n * k);
        got_sums[t] = room(2);
        cpu_cross_entropy(t, &(struct cpu_cross_entropy){
                                 n, k, logits, labels, weights, (float)smooth, 0.5F, got_sums[t],
                                 got_sums[t] + 1, got[t], guarded(cpu_cross_entropy_scratch(n))});
    }
    assert_near(got[1], want, n * k, 1e-5);
    assert_near(got_sums[1], sums, 2, 1e-5);
    assert_same_bits(got, n * k);
    assert_same_bits(got_sums, 2);
}

static void test_cross_entropy(void **state)
{
    check_cross_entropy(1, 2, 0);
    check_cross_entropy(64, 10, 0);
    check_cross_entropy(64, 10, 0.1);
    check_cross_entropy(7, 1000, 0.1);
    release_buffers(state);
}

/* Ties go to the first; padding and unreadable samples never count. */
static void test_top1(void **state)
{
    const float logits[] = {1, 2, 2, /**/ 3, 3, 1, /**/ 0, 0, 9, /**/ 5, 0, 0, /**/ 0, 7, 0};
    const int32_t labels[] = {1, 1, 2, 0, -1};
    const float weights[] = {1, 1, 2, 0, 1};

    (void)state;
    assert_int_equal(cpu_top1(&(struct cpu_top1){5, 3, logits, labels, weights}), 2);
}

/* Optimisers. */

static double naive_norm(const float *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

static const size_t update_counts[] = {1, 10, 1000, 70001};

static void test_sum_squares(void **state)
{
    static const size_t counts[] = {1, 15, 17, 1024, 3000001};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        const float *const x = random_floats(counts[i]);
        const double one = cpu_sum_squares(1, x, counts[i]), want = naive_norm(x, counts[i]);

        assert_true(fabs(one - want * want) <= 1e-6 * want * want);
        assert_true(one == cpu_sum_squares(2, x, counts[i]));
        assert_true(one == cpu_sum_squares(3, x, counts[i]));
    }
}

static void check_sgd(size_t n, int nesterov)
{
    const float *const w = random_floats(n), *const v = random_floats(n),
                       *const g = random_floats(n);
    double *const want_w = zeros(n), *const want_v = zeros(n);
    float *gw[MAX_THREADS + 1], *gv[MAX_THREADS + 1];

    for (size_t i = 0; i < n; i++) {
        const double d = 0.5 * (double)g[i] + 0.01 * (double)w[i];

        want_v[i] = 0.9 * (double)v[i] + d;
        want_w[i] = (double)w[i] - 0.1 * (nesterov ? d + 0.9 * want_v[i] : want_v[i]);
    }
    for (int t = 1; t <= MAX_THREADS; t++) {
        gw[t] = copy_of(w, n);
        gv[t] = copy_of(v, n);
        cpu_sgd(t, &(struct cpu_sgd){n, gw[t], gv[t], g, 0.5F, 0.1F, 0.9F, 0.01F, nesterov});
    }
    assert_near(gw[1], want_w, n, 1e-5);
    assert_near(gv[1], want_v, n, 1e-5);
    assert_same_bits(gw, n);
    assert_same_bits(gv, n);
}

static void check_lars(size_t n, int inside, int plain)
{
    const float *const w = random_floats(n), *const v = random_floats(n),
                       *const g = random_floats(n);
    const double nw = naive_norm(w, n), ng = 0.5 * naive_norm(g, n);
    const double trust = plain ? 1 : 0.02 * nw / (ng + 0.01 * nw + 1e-9);
    double *const want_w = zeros(n), *const want_v = zeros(n);
    float *gw[MAX_THREADS + 1], *gv[MAX_THREADS + 1];

    for (size_t i = 0; i < n; i++) {
        const double d = 0.5 * (double)g[i] + (plain ? 0 : 0.01 * (double)w[i]);

        want_v[i] = 0.9 * (double)v[i] + (inside ? 3.0 : 1.0) * trust * d;
        want_w[i] = (double)w[i] - (inside ? 1.0 : 3.0) * want_v[i];
    }
    for (int t = 1; t <= MAX_THREADS; t++) {
        gw[t] = copy_of(w, n);
        gv[t] = copy_of(v, n);
        cpu_lars(t, &(struct cpu_lars){n, gw[t], gv[t], g, 0.5F, 3, 0.9F, 0.01F, 0.02F, 1e-9F,
                                       inside, plain});
    }
    assert_near(gw[1], want_w, n, 1e-5);
    assert_near(gv[1], want_v, n, 1e-5);
    assert_same_bits(gw, n);
    assert_same_bits(gv, n);
}

static void check_adamw(size_t n)
{
    const float *const w = random_floats(n), *const m = random_floats(n),
                       *const g = random_floats(n);
    const float *const v = random_about(n, 1.5);
    double *const want = zeros(n);
    float *gw[MAX_THREADS + 1];

    for (size_t i = 0; i < n; i++) {
        const double gi = 0.5 * (double)g[i];
        const double mi = 0.9 * (double)m[i] + 0.1 * gi, vi = 0.99 * (double)v[i] + 0.01 * gi * gi;

        want[i] =
            (double)w[i] - 0.1 * (mi / (1 - pow(0.9, 3)) / (sqrt(vi / (1 - pow(0.99, 3))) + 1e-3) +
                                  0.05 * (double)w[i]);
    }
    for (int t = 1; t <= MAX_THREADS; t++) {
        gw[t] = copy_of(w, n);
        cpu_adamw(t, &(struct cpu_adamw){.n = n,
                                         .w = gw[t],
                                         .m = copy_of(m, n),
                                         .v = copy_of(v, n),
                                         .grad = g,
                                         .scale = 0.5F,
                                         .lr = 0.1F,
                                         .beta1 = 0.9,
                                         .beta2 = 0.99,
                                         .eps = 1e-3F,
                                         .decay = 0.05F,
                                         .step = 3});
    }
    assert_near(gw[1], want, n, 1e-4);
    assert_same_bits(gw, n);
}

static void test_optimisers(void **state)
{
    for (size_t i = 0; i < COUNT_OF(update_counts); i++) {
        check_sgd(update_counts[i], 0);
        check_sgd(update_counts[i], 1);
        release_buffers(state);
        for (int variant = 0; variant < 4; variant++) {
            check_lars(update_counts[i], variant & 1, variant >> 1);
            release_buffers(state);
        }
        check_adamw(update_counts[i]);
        release_buffers(state);
    }
}

static void test_lars_without_norm(void **state)
{
    float w[3] = {0}, v[3] = {0}, g[3] = {1, 2, 3};

    (void)state;
    cpu_lars(1, &(struct cpu_lars){3, w, v, g, 1, 0.5F, 0.9F, 0.01F, 0.001F, 0, 1, 0});
    assert_true(w[0] == -0.5F && w[2] == -1.5F); /* trust is 1 */
}

static void test_broken_scale_writes_nothing(void **state)
{
    float w[2] = {1, 2}, m[2] = {3, 4}, v[2] = {5, 6}, g[2] = {1, 1};

    (void)state;
    cpu_sgd(1, &(struct cpu_sgd){2, w, m, g, NAN, 0.1F, 0.9F, 0, 0});
    cpu_lars(1, &(struct cpu_lars){2, w, m, g, INFINITY, 0.1F, 0.9F, 0, 0.001F, 0, 1, 0});
    cpu_adamw(1, &(struct cpu_adamw){.n = 2,
                                     .w = w,
                                     .m = m,
                                     .v = v,
                                     .grad = g,
                                     .scale = NAN,
                                     .lr = 0.1F,
                                     .beta1 = 0.9,
                                     .beta2 = 0.99,
                                     .step = 1});
    assert_true(w[0] == 1 && w[1] == 2 && m[0] == 3 && m[1] == 4 && v[0] == 5 && v[1] == 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_bn),
        TEST(test_map),
        TEST(test_nan_goes_through),
        TEST(test_normalise),
        TEST(test_pool),
        TEST(test_cross_entropy),
        TEST(test_top1),
        TEST(test_sum_squares),
        TEST(test_optimisers),
        TEST(test_lars_without_norm),
        TEST(test_broken_scale_writes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
