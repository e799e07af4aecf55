/* Our own kernels of the cpu backend in bf16. The same kernel in float32, which test_cpu_kernels
 * compares with double, runs on the widened inputs: what bf16 gives must be that, rounded once, bit
 * for bit, with 1, 2 and 3 threads. On any processor: these kernels need no bf16 instructions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "backend/cpu/native.h"
#include "base/err.h"
#include "guarded.h"
#include "narrowed.h"

enum { MAX_THREADS = 3, HALVES = 65536 };

static const struct {
    size_t m, c;
} sizes[] = {{1, 1}, {7, 3}, {33, 10}, {64, 64}, {1025, 64}, {2049, 17}, {300, 130}};

static void assert_rounded(const uint16_t *got, const float *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (got[i] != nearest(want[i]))
            fail_msg("element %zu of %zu: %04x (%.9g), wanted %.9g rounded: %04x", i, n, got[i],
                     (double)wide(got[i]), (double)want[i], nearest(want[i]));
}

static uint16_t *random_narrow(size_t n, double centre)
{
    return narrowed(random_about(n, centre), n);
}

/* Among random numbers: NaN, infinities, zeros of both signs, the smallest and the largest. */
static uint16_t *random_with_specials(size_t n)
{
    static const uint16_t specials[] = {0x7fc0, 0xffc1, 0x7f81, 0x7f80, 0xff80, 0x0000,
                                        0x8000, 0x0001, 0x8001, 0x007f, 0x7f7f, 0xff7f};
    uint16_t *const x = random_narrow(n, 0);

    for (size_t i = 0; i < n; i += 5)
        x[i] = specials[(i / 5 + n) % COUNT_OF(specials)];
    return x;
}

/* Each upper half of a float32 with the lower halves round a tie. */
static void test_cast(void **state)
{
    static const uint32_t lower[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    const size_t n = HALVES * COUNT_OF(lower);
    float *const x = room(n);

    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = (uint32_t)(i / COUNT_OF(lower)) << 16 | lower[i % COUNT_OF(lower)];

        memcpy(&x[i], &bits, sizeof(bits));
    }
    for (int t = 1; t <= MAX_THREADS; t++) {
        uint16_t *const y = narrow_room(n);

        cpu_cast(t, &(struct cpu_cast){n, x, y, DT_BF16});
        assert_rounded(y, x, n);
    }
    for (size_t odd = 1; odd < 70; odd += 3) {
        uint16_t *const y = narrow_room(odd);

        cpu_cast(1, &(struct cpu_cast){odd, x + 5 * odd, y, DT_BF16});
        assert_rounded(y, x + 5 * odd, odd);
    }
    release_buffers(state);
}

static void test_cast_back(void **state)
{
    uint16_t *const x = narrow_room(HALVES);
    float *const want = room(HALVES);

    (void)state;
    for (size_t i = 0; i < HALVES; i++) {
        x[i] = (uint16_t)i;
        want[i] = wide(x[i]);
    }
    for (int t = 1; t <= MAX_THREADS; t++) {
        float *const y = room(HALVES);

        cpu_cast(t, &(struct cpu_cast){HALVES, x, y, DT_F32});
        assert_memory_equal(y, want, HALVES * sizeof(float));
    }
}

/* dst apart from the sources, over the first and over the second. */
static void check_map(void (*kernel)(int, const struct cpu_map *), size_t n)
{
    const uint16_t *const a = random_with_specials(n), *const b = random_with_specials(n);
    float *const want = room(n);

    kernel(1, &(struct cpu_map){n, widened(a, n), widened(b, n), want, DT_F32, NULL});
    for (int t = 1; t <= MAX_THREADS; t++) {
        uint16_t *const apart = narrow_room(n), *const x = narrow_copy(a, n),
                        *const y = narrow_copy(b, n);

        kernel(t, &(struct cpu_map){n, a, b, apart, DT_BF16, NULL});
        assert_rounded(apart, want, n);
        kernel(t, &(struct cpu_map){n, x, b, x, DT_BF16, NULL});
        assert_rounded(x, want, n);
        kernel(t, &(struct cpu_map){n, a, y, y, DT_BF16, NULL});
        assert_rounded(y, want, n);
    }
}

/* The sum is kept in float32 until it is stored. */
static void check_sum(size_t n)
{
    const uint16_t *const a = random_with_specials(n), *const b = random_with_specials(n),
                          *const c = random_with_specials(n);
    float *const want = room(n);
    uint16_t *const got = narrow_room(n);

    cpu_relu_grad_of_sum(
        1, &(struct cpu_map){n, widened(a, n), widened(b, n), want, DT_F32, widened(c, n)});
    cpu_relu_grad_of_sum(2, &(struct cpu_map){n, a, b, got, DT_BF16, c});
    assert_rounded(got, want, n);
}

static void test_map(void **state)
{
    static const size_t counts[] = {1, 7, 64, 40001};

    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        check_map(cpu_relu, counts[i]);
        release_buffers(state);
        check_map(cpu_relu_grad, counts[i]);
        release_buffers(state);
        check_map(cpu_add, counts[i]);
        release_buffers(state);
        check_sum(counts[i]);
        release_buffers(state);
    }
}

/* A sum that lies between two bf16 numbers: the even one. */
static void test_tie(void **state)
{
    const uint16_t a[] = {0x3f80, 0x3f81}, b[] = {0x3b80, 0x3b80}; /* 1, 1 + 1/128; 1/256 */
    uint16_t y[2];

    (void)state;
    cpu_add(1, &(struct cpu_map){2, a, b, y, DT_BF16, NULL});
    assert_int_equal(y[0], 0x3f80);
    assert_int_equal(y[1], 0x3f82);
}

static void check_bn_stats(size_t m, size_t c, double centre)
{
    const uint16_t *const x = random_narrow(m * c, centre);
    float *const mean = room(c), *const var = room(c);

    cpu_bn_stats(1, &(struct cpu_bn_stats){m, c, widened(x, m * c), mean, var,
                                           guarded(cpu_columns_scratch(m, c)), DT_F32});
    for (int t = 1; t <= MAX_THREADS; t++) {
        float *const got_mean = room(c), *const got_var = room(c);

        cpu_bn_stats(t, &(struct cpu_bn_stats){m, c, x, got_mean, got_var,
                                               guarded(cpu_columns_scratch(m, c)), DT_BF16});
        assert_memory_equal(got_mean, mean, c * sizeof(float));
        assert_memory_equal(got_var, var, c * sizeof(float));
    }
}

static void check_bn_apply(size_t m, size_t c, int residual, int relu)
{
    const uint16_t *const x = random_with_specials(m * c), *const r = random_with_specials(m * c);
    const float *const mean = random_floats(c), *const invstd = random_about(c, 2);
    const float *const gamma = random_floats(c), *const beta = random_floats(c);
    float *const want = room(m * c);

    cpu_bn_apply(1, &(struct cpu_bn_apply){m, c, widened(x, m * c), mean, invstd, gamma, beta,
                                           residual ? widened(r, m * c) : NULL, relu, want, room(c),
                                           DT_F32});
    for (int t = 1; t <= MAX_THREADS; t++) {
        uint16_t *const y = residual && t == 2 ? narrow_copy(r, m * c) : narrow_room(m * c);

        cpu_bn_apply(t, &(struct cpu_bn_apply){m, c, x, mean, invstd, gamma, beta,
                                               residual ? t == 2 ? y : r : NULL, relu, y, room(c),
                                               DT_BF16});
        assert_rounded(y, want, m * c);
    }
}

static void check_bn_grad_reduce(size_t m, size_t c)
{
    const uint16_t *const x = random_narrow(m * c, 3), *const dy = random_narrow(m * c, 0);
    const float *const mean = random_about(c, 3), *const invstd = random_about(c, 2);
    float *const dgamma = room(c), *const dbeta = room(c);

    cpu_bn_grad_reduce(1, &(struct cpu_bn_grad_reduce){
                              m, c, widened(x, m * c), widened(dy, m * c), mean, invstd, dgamma,
                              dbeta, guarded(cpu_columns_scratch(m, c)), DT_F32, NULL, NULL});
    for (int t = 1; t <= MAX_THREADS; t++) {
        float *const got_dgamma = room(c), *const got_dbeta = room(c);

        cpu_bn_grad_reduce(t, &(struct cpu_bn_grad_reduce){
                                  m, c, x, dy, mean, invstd, got_dgamma, got_dbeta,
                                  guarded(cpu_columns_scratch(m, c)), DT_BF16, NULL, NULL});
        assert_memory_equal(got_dgamma, dgamma, c * sizeof(float));
        assert_memory_equal(got_dbeta, dbeta, c * sizeof(float));
    }
}

static void check_bn_grad_apply(size_t m, size_t c, int frozen)
{
    const uint16_t *const x = random_with_specials(m * c), *const dy = random_with_specials(m * c);
    const float *const mean = random_floats(c), *const invstd = random_about(c, 2);
    const float *const gamma = random_floats(c), *const dgamma = random_floats(c),
                       *const dbeta = random_floats(c);
    float *const want = room(m * c);

    cpu_bn_grad_apply(1, &(struct cpu_bn_grad_apply){
                             m, c, frozen, widened(x, m * c), widened(dy, m * c), mean, invstd,
                             gamma, dgamma, dbeta, want, room(3 * c), DT_F32, NULL});
    for (int t = 1; t <= MAX_THREADS; t++) {
        uint16_t *const dx = t == 2 ? narrow_copy(dy, m * c) : narrow_room(m * c);

        cpu_bn_grad_apply(t, &(struct cpu_bn_grad_apply){m, c, frozen, x, t == 2 ? dx : dy, mean,
                                                         invstd, gamma, dgamma, dbeta, dx,
                                                         room(3 * c), DT_BF16, NULL});
        assert_rounded(dx, want, m * c);
    }
}

static void test_bn(void **state)
{
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        const size_t m = sizes[i].m, c = sizes[i].c;

        check_bn_stats(m, c, 300); /* far from zero: few different values */
        check_bn_stats(m, c, 3);   /* many: their sums take more digits than bf16 has */
        check_bn_grad_reduce(m, c);
        release_buffers(state);
        for (int fused = 0; fused < 4; fused++) {
            check_bn_apply(m, c, fused & 1, fused >> 1);
            release_buffers(state);
        }
        check_bn_grad_apply(m, c, 0);
        check_bn_grad_apply(m, c, 1);
        release_buffers(state);
    }
}

static void test_normalise(void **state)
{
    static const size_t channels[] = {1, 3, 4, 10, 33};

    for (size_t k = 0; k < COUNT_OF(channels); k++) {
        const size_t c = channels[k], m = 1001;
        const float *const mean = random_about(c, 120), *const inv = random_floats(c);
        uint8_t *const src = guarded(m * c);
        float *const want = room(m * c);

        for (size_t i = 0; i < m * c; i++)
            src[i] = (uint8_t)(i * 37 % 256);
        cpu_normalise(1, &(struct cpu_normalise){m, c, src, mean, inv, want, DT_F32});
        for (int t = 1; t <= MAX_THREADS; t++) {
            uint16_t *const y = narrow_room(m * c);

            cpu_normalise(t, &(struct cpu_normalise){m, c, src, mean, inv, y, DT_BF16});
            assert_rounded(y, want, m * c);
        }
        release_buffers(state);
    }
}

static const struct cpu_pool_shape pool_shapes[] = {
    {2, 8, 8, 64, 3, 2, 1}, {3, 7, 5, 3, 3, 2, 1}, {1, 4, 6, 10, 2, 2, 0},  {2, 5, 5, 1, 3, 1, 1},
    {1, 1, 1, 7, 3, 2, 1},  {1, 9, 9, 2, 5, 3, 2}, {1, 5, 4, 130, 3, 1, 1},
};

static void check_max_pool(struct cpu_pool_shape s)
{
    const size_t nx = s.n * s.h * s.w * s.c,
                 ny = s.n * cpu_pool_out(s.h, &s) * cpu_pool_out(s.w, &s) * s.c;
    const uint16_t *const x = random_with_specials(nx), *const dy = random_narrow(ny, 0);
    float *const y = room(ny), *const dx = room(nx);
    uint8_t *const index = guarded(ny);

    cpu_max_pool(1, &(struct cpu_max_pool){s, widened(x, nx), y, index, DT_F32});
    cpu_max_pool_grad(1, &(struct cpu_max_pool_grad){s, widened(dy, ny), index, dx, DT_F32});
    for (int t = 1; t <= MAX_THREADS; t++) {
        uint16_t *const got_y = narrow_room(ny), *const got_dx = narrow_room(nx);
        uint8_t *const got_index = guarded(ny);

        cpu_max_pool(t, &(struct cpu_max_pool){s, x, got_y, got_index, DT_BF16});
        cpu_max_pool_grad(t, &(struct cpu_max_pool_grad){s, dy, got_index, got_dx, DT_BF16});
        assert_memory_equal(got_index, index, ny);
        assert_rounded(got_y, y, ny);
        assert_rounded(got_dx, dx, nx);
    }
}

static void check_average(size_t n, size_t pixels, size_t c)
{
    const uint16_t *const x = random_narrow(n * pixels * c, 1);
    const float *const dy = random_floats(n * c);
    float *const y = room(n * c), *const dx = room(n * pixels * c);

    cpu_global_average(
        1, &(struct cpu_global_pool){n, pixels, c, widened(x, n * pixels * c), y, DT_F32});
    cpu_global_average_grad(1, &(struct cpu_global_pool_grad){n, pixels, c, dy, dx, DT_F32});
    for (int t = 1; t <= MAX_THREADS; t++) {
        float *const got_y = room(n * c);
        uint16_t *const got_dx = narrow_room(n * pixels * c);

        cpu_global_average(t, &(struct cpu_global_pool){n, pixels, c, x, got_y, DT_BF16});
        cpu_global_average_grad(t,
                                &(struct cpu_global_pool_grad){n, pixels, c, dy, got_dx, DT_BF16});
        assert_memory_equal(got_y, y, n * c * sizeof(float));
        assert_rounded(got_dx, dx, n * pixels * c);
    }
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_cast), TEST(test_cast_back), TEST(test_map),  TEST(test_tie),
        TEST(test_bn),   TEST(test_normalise), TEST(test_pool),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
