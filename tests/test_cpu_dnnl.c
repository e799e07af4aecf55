/* Convolutions and matrix products of the cpu backend, by every way they can be computed and in
 * both types, against the plainest loop in double. What needs bf16 instructions says so and is
 * skipped without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/conv.h"
#include "backend/cpu/cpu.h"
#include "base/err.h"
#include "conv_case.h"

static const char *const directions[] = {"forward", "backward data", "backward weights"};

static const char *conv_text(const struct cpu_conv_shape *s)
{
    static char text[96];

    snprintf(text, sizeof(text), "%dx%dx%dx%d to %d, %dx%d stride %dx%d", (int)s->n, (int)s->h,
             (int)s->w, (int)s->c, (int)s->out, (int)s->kh, (int)s->kw, (int)s->stride_h,
             (int)s->stride_w);
    return text;
}

static void check_direction(const struct conv_case *k, struct cpu_conv *c)
{
    const struct conv_result r = result_of(k, c->direction);
    void *const dst = guarded(r.n * dtype_size(r.type));
    const struct cpu_conv_args args = {input_of(k, c->direction, 0), input_of(k, c->direction, 1),
                                       dst, guarded(c->scratch_bytes)};

    assert_true(c->impl[0] != 0);
    for (int run = 0; run < 2; run++) { /* the second must not depend on what the first left */
        memset(dst, 0x7f, r.n * dtype_size(r.type));
        assert_int_equal(cpu_conv_run(c, &args), 0);
        assert_result(dst, r.type, r.want, r.n);
    }
    if (k->s.type == DT_BF16 && c->conv.primitive)
        print_message("bf16 %s, %s: %s %s\n", directions[c->direction], conv_text(&k->s), c->impl,
                      c->reorder.impl);
    cpu_conv_release(c);
}

/* All ways: the library's, its forward one turned round, the matrix product, and what is chosen. */
static void check_conv(const struct cpu_dnnl *lib, const struct conv_case *k,
                       enum cpu_conv_direction d)
{
    struct cpu_conv c;

    assert_int_equal(cpu_conv_prepare_direct(&c, lib, &k->s, d), 0);
    check_direction(k, &c);
    if (cpu_conv_turns(&k->s, d)) {
        assert_int_equal(cpu_conv_prepare_turned(&c, lib, &k->s), 0);
        check_direction(k, &c);
    }
    assert_int_equal(cpu_conv_prepare(&c, lib, &k->s, d), 0);
    check_direction(k, &c);
    c = (struct cpu_conv){.lib = lib, .direction = d, .impl = "gemm"};
    assert_int_equal(cpu_conv_gemm_prepare(&c.gemm, lib, &k->s, d), 0);
    c.scratch_bytes = c.gemm.scratch_bytes;
    check_direction(k, &c);
}

static void check_convs(enum dtype type)
{
    struct cpu_dnnl lib;

    for (int threads = 1; threads <= 2; threads++) { /* each with its own place of the buffers */
        guard_place(threads == 1 ? GUARD_START : GUARD_END);
        assert_int_equal(cpu_dnnl_open(&lib, threads), 0);
        for (size_t i = 0; i < COUNT_OF(conv_shapes); i++) {
            struct cpu_conv_shape s = conv_shapes[i];
            struct conv_case k;

            s.type = type;
            k = conv_case(s);
            check_conv(&lib, &k, CPU_CONV_FORWARD);
            check_conv(&lib, &k, CPU_CONV_BACKWARD_DATA);
            check_conv(&lib, &k, CPU_CONV_BACKWARD_WEIGHTS);
            release_buffers(NULL);
        }
        cpu_dnnl_close(&lib);
    }
}

static void test_conv(void **state)
{
    (void)state;
    check_convs(DT_F32);
}

/* Tells what will not run here, and why. */
static void need_bf16(void)
{
    if (cpu_has_bf16() == 0)
        return;
    print_message("skipped: %s\n", err_reason());
    skip();
}

static void test_conv_bf16(void **state)
{
    (void)state;
    need_bf16();
    check_convs(DT_BF16);
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
    const uint16_t *const a = narrowed(random_floats(m * k), m * k), *const b = narrowed(
                                                                         random_floats(k * n),
                                                                         k * n);
    const float *const wide_a = widened(a, m * k), *const wide_b = widened(b, k * n);
    void *const dst = guarded(m * n * dtype_size(s.dst_type));
    double *const want = zeros(m * n);
    struct cpu_matmul mm;

    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t l = 0; l < k; l++)
                want[i * n + j] += (double)wide_a[s.trans_a ? l * m + i : i * k + l] *
                                   (double)wide_b[s.trans_b ? j * k + l : l * n + j];
    assert_int_equal(cpu_matmul_prepare(&mm, lib, &s), 0);
    assert_int_equal(
        cpu_matmul_run(&mm, &(struct cpu_matmul_args){s.type == DT_F32 ? (const void *)wide_a : a,
                                                      s.type == DT_F32 ? (const void *)wide_b : b,
                                                      dst, guarded(mm.scratch_bytes)}),
        0);
    assert_result(dst, s.dst_type, want, m * n);
    if (s.type == DT_BF16)
        print_message("bf16 matmul %zu x %zu x %zu: %s\n", m, n, k, mm.call.impl);
    cpu_matmul_release(&mm);
}

static void check_matmuls(enum dtype type, enum dtype dst_type)
{
    static const int64_t dims[][3] = {{1, 1, 1}, {3, 5, 7}, {64, 10, 33}, {1, 130, 64}};
    struct cpu_dnnl lib;

    assert_int_equal(cpu_dnnl_open(&lib, 2), 0);
    for (size_t i = 0; i < COUNT_OF(dims); i++)
        for (int trans = 0; trans < 4; trans++) {
            check_matmul(&lib, (struct cpu_matmul_shape){.m = dims[i][0],
                                                         .n = dims[i][1],
                                                         .k = dims[i][2],
                                                         .trans_a = trans & 1,
                                                         .trans_b = trans >> 1,
                                                         .type = type,
                                                         .dst_type = dst_type});
            release_buffers(NULL);
        }
    cpu_dnnl_close(&lib);
}

static void test_matmul(void **state)
{
    (void)state;
    check_matmuls(DT_F32, DT_F32);
}

static void test_matmul_bf16(void **state)
{
    (void)state;
    need_bf16();
    check_matmuls(DT_BF16, DT_F32);
    check_matmuls(DT_BF16, DT_BF16);
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
        TEST(test_conv),
        TEST(test_conv_bf16),
        TEST(test_conv_groups),
        TEST(test_conv_refused),
        TEST(test_matmul),
        TEST(test_matmul_bf16),
        TEST(test_team_is_never_smaller),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
