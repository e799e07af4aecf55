/* Convolutions and matrix products of the cpu backend, by every way they can be computed, against
 * the plainest loop in double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <omp.h>
#include <string.h>

#include "backend/cpu/conv.h"
#include "base/err.h"
#include "guarded.h"

static const struct cpu_conv_shape conv_shapes[] = {
    {.n = 2,
     .h = 11,
     .w = 9,
     .c = 3,
     .out = 16,
     .kh = 7,
     .kw = 7,
     .stride_h = 2,
     .stride_w = 2,
     .pad_h = 3,
     .pad_w = 3},
    {.n = 1, .h = 1, .w = 1, .c = 64, .out = 32, .kh = 3, .kw = 3, .pad_h = 1, .pad_w = 1},
    {.n = 3,
     .h = 2,
     .w = 2,
     .c = 48,
     .out = 24,
     .kh = 3,
     .kw = 3,
     .stride_h = 2,
     .stride_w = 2,
     .pad_h = 1,
     .pad_w = 1},
    {.n = 2, .h = 5, .w = 6, .c = 10, .out = 3, .kh = 1, .kw = 1},
    {.n = 2, .h = 7, .w = 5, .c = 40, .out = 9, .kh = 1, .kw = 1, .stride_h = 2, .stride_w = 2},
    {.n = 2, .h = 4, .w = 4, .c = 128, .out = 8, .kh = 3, .kw = 3, .pad_h = 1, .pad_w = 1},
    {.n = 2,
     .h = 6,
     .w = 3,
     .c = 1,
     .out = 1,
     .kh = 3,
     .kw = 2,
     .stride_h = 1,
     .stride_w = 2,
     .pad_h = 2,
     .pad_w = 0},
    {.n = 1, .h = 4, .w = 4, .c = 32, .out = 64, .kh = 3, .kw = 3, .pad_h = 1, .pad_w = 1},
};

struct conv_case {
    struct cpu_conv_shape s;
    size_t nx, nw, ny;
    float *x, *w, *dy;
    double *y, *dx, *dw;
};

static void conv_tap(struct conv_case *k, size_t ix, size_t iw, size_t iy)
{
    k->y[iy] += (double)k->x[ix] * (double)k->w[iw];
    k->dx[ix] += (double)k->dy[iy] * (double)k->w[iw];
    k->dw[iw] += (double)k->dy[iy] * (double)k->x[ix];
}

/* All (ky, kx) of one (image, oy, ox, out, in). */
static void conv_taps(struct conv_case *k, int64_t at[5])
{
    const struct cpu_conv_shape *s = &k->s;
    const int64_t oh = cpu_conv_out_h(s), ow = cpu_conv_out_w(s);

    for (int64_t ky = 0; ky < s->kh; ky++)
        for (int64_t kx = 0; kx < s->kw; kx++) {
            const int64_t iy = at[1] * s->stride_h + ky - s->pad_h;
            const int64_t ix = at[2] * s->stride_w + kx - s->pad_w;

            if (iy >= 0 && iy < s->h && ix >= 0 && ix < s->w)
                conv_tap(k, (size_t)(((at[0] * s->h + iy) * s->w + ix) * s->c + at[4]),
                         (size_t)(((at[3] * s->kh + ky) * s->kw + kx) * s->c + at[4]),
                         (size_t)(((at[0] * oh + at[1]) * ow + at[2]) * s->out + at[3]));
        }
}

static struct conv_case conv_case(struct cpu_conv_shape s)
{
    struct conv_case k;
    int64_t at[5];

    s.stride_h = s.stride_h ? s.stride_h : 1;
    s.stride_w = s.stride_w ? s.stride_w : 1;
    k.s = s;
    k.nx = (size_t)(s.n * s.h * s.w * s.c);
    k.nw = (size_t)(s.out * s.kh * s.kw * s.c);
    k.ny = (size_t)(s.n * cpu_conv_out_h(&s) * cpu_conv_out_w(&s) * s.out);
    k.x = random_floats(k.nx);
    k.w = random_floats(k.nw);
    k.dy = random_floats(k.ny);
    k.y = zeros(k.ny);
    k.dx = zeros(k.nx);
    k.dw = zeros(k.nw);
    for (at[0] = 0; at[0] < s.n; at[0]++)
        for (at[1] = 0; at[1] < cpu_conv_out_h(&s); at[1]++)
            for (at[2] = 0; at[2] < cpu_conv_out_w(&s); at[2]++)
                for (at[3] = 0; at[3] < s.out; at[3]++)
                    for (at[4] = 0; at[4] < s.c; at[4]++)
                        conv_taps(&k, at);
    return k;
}

static const float *input_of(const struct conv_case *k, enum cpu_conv_direction d, int which)
{
    if (d == CPU_CONV_FORWARD)
        return which ? k->w : k->x;
    if (d == CPU_CONV_BACKWARD_DATA)
        return which ? k->w : k->dy;
    return which ? k->dy : k->x;
}

static void check_direction(const struct conv_case *k, struct cpu_conv *c)
{
    const enum cpu_conv_direction d = c->direction;
    const size_t n = d == CPU_CONV_FORWARD ? k->ny : d == CPU_CONV_BACKWARD_DATA ? k->nx : k->nw;
    const double *want = d == CPU_CONV_FORWARD ? k->y : d == CPU_CONV_BACKWARD_DATA ? k->dx : k->dw;
    float *const dst = room(n);
    const struct cpu_conv_args args = {input_of(k, d, 0), input_of(k, d, 1), dst,
                                       guarded(c->scratch_bytes)};

    assert_true(c->impl[0] != 0);
    for (int run = 0; run < 2; run++) { /* the second must not depend on what the first left */
        memset(dst, 0x7f, n * sizeof(float));
        assert_int_equal(cpu_conv_run(c, &args), 0);
        assert_near(dst, want, n, 1e-4);
    }
    cpu_conv_release(c);
}

/* The three ways: the library's, the matrix product, and whichever is chosen. */
static void check_conv(const struct cpu_dnnl *lib, const struct conv_case *k,
                       enum cpu_conv_direction d)
{
    struct cpu_conv c;

    assert_int_equal(cpu_conv_prepare_direct(&c, lib, &k->s, d), 0);
    check_direction(k, &c);
    assert_int_equal(cpu_conv_prepare(&c, lib, &k->s, d), 0);
    check_direction(k, &c);
    c = (struct cpu_conv){.lib = lib, .direction = d, .impl = "gemm"};
    assert_int_equal(cpu_conv_gemm_prepare(&c.gemm, lib, &k->s, d), 0);
    c.scratch_bytes = c.gemm.scratch_bytes;
    check_direction(k, &c);
}

static void test_conv(void **state)
{
    struct cpu_dnnl lib;

    for (int threads = 1; threads <= 2; threads++) { /* each with its own place of the buffers */
        guard_place(threads == 1 ? GUARD_START : GUARD_END);
        assert_int_equal(cpu_dnnl_open(&lib, threads), 0);
        for (size_t i = 0; i < COUNT_OF(conv_shapes); i++) {
            const struct conv_case k = conv_case(conv_shapes[i]);

            check_conv(&lib, &k, CPU_CONV_FORWARD);
            check_conv(&lib, &k, CPU_CONV_BACKWARD_DATA);
            check_conv(&lib, &k, CPU_CONV_BACKWARD_WEIGHTS);
            release_buffers(state);
        }
        cpu_dnnl_close(&lib);
    }
}

static void test_conv_groups(void **state)
{
    const struct cpu_conv_shape s = {
        .n = 2, .h = 3, .w = 3, .c = 4, .out = 6, .kh = 1, .kw = 1, .groups = 2};
    const float *const x = random_floats(2 * 9 * 4), *const w = random_floats(6 * 2);
    double *const want = zeros(2 * 9 * 6);
    float *const y = room(2 * 9 * 6);
    struct cpu_dnnl lib;
    struct cpu_conv c;

    (void)state;
    for (size_t p = 0; p < 18; p++)
        for (size_t o = 0; o < 6; o++)
            for (size_t i = 0; i < 2; i++)
                want[p * 6 + o] += (double)x[p * 4 + o / 3 * 2 + i] * (double)w[o * 2 + i];
    assert_int_equal(cpu_dnnl_open(&lib, 1), 0);
    assert_int_equal(cpu_conv_prepare(&c, &lib, &s, CPU_CONV_FORWARD), 0);
    assert_int_equal(cpu_conv_run(&c, &(struct cpu_conv_args){x, w, y, guarded(c.scratch_bytes)}),
                     0);
    assert_near(y, want, 2 * 9 * 6, 1e-5);
    cpu_conv_release(&c);
    cpu_dnnl_close(&lib);
}

static void test_conv_refused(void **state)
{
    const struct cpu_conv_shape s = {.n = 1, .h = 2, .w = 2, .c = 3, .out = 4, .kh = 7, .kw = 7};
    struct cpu_dnnl lib;
    struct cpu_conv c;

    (void)state;
    assert_int_equal(cpu_dnnl_open(&lib, 1), 0);
    assert_int_equal(cpu_conv_prepare(&c, &lib, &s, CPU_CONV_FORWARD), E_UNSUPPORTED);
    assert_non_null(strstr(err_reason(), "oneDNN"));
    cpu_dnnl_close(&lib);
}

static void check_matmul(const struct cpu_dnnl *lib, struct cpu_matmul_shape s)
{
    const size_t m = (size_t)s.m, n = (size_t)s.n, k = (size_t)s.k;
    const float *const a = random_floats(m * k), *const b = random_floats(k * n);
    float *const dst = room(m * n);
    double *const want = zeros(m * n);
    struct cpu_matmul mm;

    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t l = 0; l < k; l++)
                want[i * n + j] += (double)a[s.trans_a ? l * m + i : i * k + l] *
                                   (double)b[s.trans_b ? j * k + l : l * n + j];
    assert_int_equal(cpu_matmul_prepare(&mm, lib, &s), 0);
    assert_int_equal(
        cpu_matmul_run(&mm, &(struct cpu_matmul_args){a, b, dst, guarded(mm.scratch_bytes)}), 0);
    assert_near(dst, want, m * n, 1e-4);
    cpu_matmul_release(&mm);
}

static void test_matmul(void **state)
{
    static const int64_t dims[][3] = {{1, 1, 1}, {3, 5, 7}, {64, 10, 33}, {1, 130, 64}};
    struct cpu_dnnl lib;

    assert_int_equal(cpu_dnnl_open(&lib, 2), 0);
    for (size_t i = 0; i < COUNT_OF(dims); i++)
        for (int trans = 0; trans < 4; trans++) {
            check_matmul(&lib, (struct cpu_matmul_shape){dims[i][0], dims[i][1], dims[i][2],
                                                         trans & 1, trans >> 1});
            release_buffers(state);
        }
    cpu_dnnl_close(&lib);
}

/* With fewer threads than it was prepared for, oneDNN's results would be wrong. */
static void test_team_is_never_smaller(void **state)
{
    struct cpu_dnnl lib;

    (void)state;
    omp_set_dynamic(1);
    assert_int_equal(cpu_dnnl_open(&lib, 2), 0);
    assert_false(omp_get_dynamic());
    assert_int_equal(omp_get_max_threads(), lib.threads);
    assert_true(lib.threads <= omp_get_thread_limit());
    cpu_dnnl_close(&lib);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_conv),   TEST(test_conv_groups),           TEST(test_conv_refused),
        TEST(test_matmul), TEST(test_team_is_never_smaller),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
