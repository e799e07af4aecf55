/* What stands round the matrix product when it computes a convolution, patches and cropped weights,
 * in both types, on any processor: the product itself is a plain loop of this program, in place of
 * the library's, which has bf16 only where the processor has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend/cpu/conv.h"
#include "backend/cpu/cpu.h"
#include "base/err.h"
#include "conv_case.h"

static struct cpu_matmul_shape product; /* as prepared for the first block; others add to it */

int cpu_matmul_prepare(struct cpu_matmul *m, const struct cpu_dnnl *lib,
                       const struct cpu_matmul_shape *shape)
{
    /* whether this one adds stands where the library's scratch does: it needs none here */
    *m = (struct cpu_matmul){.lib = lib, .scratch_bytes = (size_t)shape->accumulate};
    product = *shape;
    return 0;
}

static double at(const void *x, enum dtype type, int64_t i)
{
    return (double)(type == DT_BF16 ? wide(((const uint16_t *)x)[i]) : ((const float *)x)[i]);
}

int cpu_matmul_run(const struct cpu_matmul *m, const struct cpu_matmul_args *args)
{
    const struct cpu_matmul_shape *const p = &product;

    for (int64_t i = 0; i < p->m * p->n; i++) {
        const int64_t row = i / p->n, column = i % p->n;
        double sum = m->scratch_bytes ? at(args->dst, p->dst_type, i) : 0;

        for (int64_t l = 0; l < p->k; l++)
            sum += at(args->a, p->type, p->trans_a ? l * p->m + row : row * p->k + l) *
                   at(args->b, p->type, p->trans_b ? column * p->k + l : l * p->n + column);
        if (p->dst_type == DT_BF16)
            ((uint16_t *)args->dst)[i] = nearest((float)sum);
        else
            ((float *)args->dst)[i] = (float)sum;
    }
    return 0;
}

void cpu_matmul_release(struct cpu_matmul *m)
{
    *m = (struct cpu_matmul){0};
}

static void check_direction(const struct conv_case *k, const struct cpu_dnnl *lib,
                            enum cpu_conv_direction d)
{
    const struct conv_result r = result_of(k, d);
    void *const dst = guarded(r.n * dtype_size(r.type));
    struct cpu_conv_gemm g;

    assert_int_equal(cpu_conv_gemm_prepare(&g, lib, &k->s, d), 0);
    for (int run = 0; run < 2; run++) {
        const struct cpu_conv_args args = {input_of(k, d, 0), input_of(k, d, 1), dst,
                                           guarded(g.scratch_bytes)};

        assert_int_equal(cpu_conv_gemm_run(&g, &args), 0);
        assert_result(dst, r.type, r.want, r.n);
    }
    cpu_conv_gemm_release(&g);
}

static void check_shapes(enum dtype type)
{
    for (int threads = 1; threads <= 2; threads++)
        for (size_t i = 0; i < COUNT_OF(conv_shapes); i++) {
            const struct cpu_dnnl lib = {.threads = threads};
            struct cpu_conv_shape s = conv_shapes[i];
            struct conv_case k;

            s.type = type;
            k = conv_case(s);
            check_direction(&k, &lib, CPU_CONV_FORWARD);
            check_direction(&k, &lib, CPU_CONV_BACKWARD_DATA);
            check_direction(&k, &lib, CPU_CONV_BACKWARD_WEIGHTS);
            release_buffers(NULL);
        }
}

static void test_f32(void **state)
{
    (void)state;
    check_shapes(DT_F32);
}

static void test_bf16(void **state)
{
    (void)state;
    check_shapes(DT_BF16);
}

/* The sum of several taps is rounded once: no error may be larger than half a step, and a little
 * where it stops beside a tie. */
static void test_dx_is_rounded_once(void **state)
{
    const struct cpu_conv_shape s = {.n = 1,
                                     .h = 6,
                                     .w = 6,
                                     .c = 1100,
                                     .out = 2,
                                     .kh = 3,
                                     .kw = 3,
                                     .pad_h = 1,
                                     .pad_w = 1,
                                     .type = DT_BF16};
    const struct conv_case k = conv_case(s);
    const struct cpu_dnnl lib = {.threads = 2};
    uint16_t *const dx = narrow_room(k.nx);
    struct cpu_conv_gemm g;

    (void)state;
    assert_int_equal(cpu_conv_gemm_prepare(&g, &lib, &s, CPU_CONV_BACKWARD_DATA), 0);
    assert_int_equal(
        cpu_conv_gemm_run(&g, &(struct cpu_conv_args){input_of(&k, CPU_CONV_BACKWARD_DATA, 0),
                                                      input_of(&k, CPU_CONV_BACKWARD_DATA, 1), dx,
                                                      guarded(g.scratch_bytes)}),
        0);
    for (size_t i = 0; i < k.nx; i++) {
        int exponent;

        frexp(k.dx[i], &exponent);
        assert_true(fabs((double)wide(dx[i]) - k.dx[i]) <= ldexp(1.02, exponent - 9) + 1e-6);
    }
    cpu_conv_gemm_release(&g);
}

/* Any processor as one of AVX2: this program has not used the library yet, which alone allows it.
 */
static void test_avx2_has_no_bf16(void **state)
{
    (void)state;
    assert_int_equal(dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2), dnnl_success);
    assert_int_equal(cpu_has_bf16(), E_UNSUPPORTED);
    assert_non_null(strstr(err_reason(), "this processor has no bfloat16 arithmetic ("));
    assert_null(strstr(err_reason(), "cpu_isa_"));
}

/* A way and its reason, as of a processor of AVX2: no sentence of another kernel or direction. */
static void test_each_way_has_its_own_reason(void **state)
{
    static const struct {
        int size, channels, k, stride, pad;
        enum cpu_conv_direction direction;
        const char *why;
    } cases[] = {
        {56, 64, 3, 1, 1, CPU_CONV_FORWARD, "product: the library's larger kernels are slower"},
        {14, 256, 3, 1, 1, CPU_CONV_BACKWARD_DATA,
         "product: the library's kernel is slower on many"},
        {56, 64, 3, 1, 1, CPU_CONV_BACKWARD_DATA, "direct: the library's own"},
        {7, 64, 1, 1, 0, CPU_CONV_FORWARD, "product: the library's 1x1 kernel is slower on images"},
        {7, 64, 1, 2, 0, CPU_CONV_FORWARD, "product: the library's 1x1 kernel declines"},
        {56, 64, 1, 1, 0, CPU_CONV_FORWARD, "direct: the library's own"},
        {1, 64, 3, 1, 1, CPU_CONV_FORWARD, "product: taps that see only padding"},
        {1, 64, 1, 1, 0, CPU_CONV_FORWARD, "product: the library's kernels are slower under 4"},
        {224, 3, 7, 2, 3, CPU_CONV_FORWARD, "direct: few channels"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct cpu_conv_shape s = {.n = 32,
                                         .h = cases[i].size,
                                         .w = cases[i].size,
                                         .c = cases[i].channels,
                                         .out = cases[i].channels,
                                         .kh = cases[i].k,
                                         .kw = cases[i].k,
                                         .stride_h = cases[i].stride,
                                         .stride_w = cases[i].stride,
                                         .pad_h = cases[i].pad,
                                         .pad_w = cases[i].pad};
        const char *why;
        const int wins = cpu_conv_gemm_wins(&s, cases[i].direction, &why);

        if (strncmp(why, cases[i].why, strlen(cases[i].why)) != 0)
            fail_msg("%s: case %zu has the reason \"%s\"", cases[i].why, i, why);
        assert_int_equal(wins, why[0] == 'p');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_f32),
        TEST(test_bf16),
        TEST(test_dx_is_rounded_once),
        TEST(test_avx2_has_no_bf16),
        TEST(test_each_way_has_its_own_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
