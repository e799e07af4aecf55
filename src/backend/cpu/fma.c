#include "backend/cpu/fma.h"

#include <stddef.h>

/* Enough chains to hide the latency of two units, few enough to stay in registers. */
enum { CHAINS = 12 };

/* Results that nobody reads would be left out with the work that made them. */
#define USE(x) __asm__ volatile("" : : "m"(x))

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FMA_LOOP(name, isa, vector, broadcast, fma)                                                \
    __attribute__((target(isa))) static void name(int64_t rounds)                                  \
    {                                                                                              \
        const vector x = broadcast(0.999F), y = broadcast(0.001F);                                 \
        vector a[CHAINS];                                                                          \
                                                                                                   \
        for (int i = 0; i < CHAINS; i++)                                                           \
            a[i] = broadcast((float)i);                                                            \
        for (int64_t r = 0; r < rounds; r++)                                                       \
            _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) a[i] = fma(a[i], x, y);      \
        USE(a);                                                                                    \
    }

FMA_LOOP(fma_avx512, "avx512f", __m512, _mm512_set1_ps, _mm512_fmadd_ps)
FMA_LOOP(fma_avx2, "avx2,fma", __m256, _mm256_set1_ps, _mm256_fmadd_ps)

/* 32 products into 16 sums. */
__attribute__((target("avx512f,avx512bf16"))) static void dot_avx512(int64_t rounds)
{
    const __m512bh x = _mm512_cvtne2ps_pbh(_mm512_set1_ps(0.5F), _mm512_set1_ps(0.5F));
    __m512 a[CHAINS];

    for (int i = 0; i < CHAINS; i++)
        a[i] = _mm512_set1_ps((float)i);
    for (int64_t r = 0; r < rounds; r++)
        _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) a[i] =
            _mm512_dpbf16_ps(a[i], x, x);
    USE(a);
}

/* Of LDTILECFG: eight tiles of 16 rows of 64 bytes. */
struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

/* Four accumulating tiles, two of each operand: each product is 16 x 16 x 32. */
__attribute__((target("amx-tile,amx-bf16"))) static void dot_amx(int64_t rounds)
{
    static const struct tile_config config = {
        .palette = 1,
        .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
        .rows = {16, 16, 16, 16, 16, 16, 16, 16},
    };

    _tile_loadconfig(&config);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_zero(4);
    _tile_zero(5);
    _tile_zero(6);
    _tile_zero(7);
    for (int64_t r = 0; r < rounds; r++) {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_release();
}

/* Tiles are off until the kernel is asked for them. */
static int may_use_tiles(void)
{
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    const unsigned amx_bf16 = 1u << 22, amx_tile = 1u << 24; /* of leaf 7, edx */
    unsigned a, b, c, d;

    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && d & amx_bf16 && d & amx_tile &&
           syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

struct cpu_fma cpu_fma_f32(void)
{
    if (__builtin_cpu_supports("avx512f"))
        return (struct cpu_fma){fma_avx512, 2.0 * CHAINS * 16};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return (struct cpu_fma){fma_avx2, 2.0 * CHAINS * 8};
    return (struct cpu_fma){0};
}

struct cpu_fma cpu_fma_bf16(void)
{
    if (may_use_tiles())
        return (struct cpu_fma){dot_amx, 4 * 2.0 * 16 * 16 * 32};
    if (__builtin_cpu_supports("avx512bf16"))
        return (struct cpu_fma){dot_avx512, 2.0 * CHAINS * 32};
    return (struct cpu_fma){0};
}

#else

enum { LANES = 4 };

/* The compiler's own vectors. */
static void fma_plain(int64_t rounds)
{
    float a[CHAINS * LANES];

    for (int i = 0; i < CHAINS * LANES; i++)
        a[i] = (float)i;
    for (int64_t r = 0; r < rounds; r++)
        for (int i = 0; i < CHAINS * LANES; i++)
            a[i] = __builtin_fmaf(a[i], 0.999F, 0.001F);
    USE(a);
}

struct cpu_fma cpu_fma_f32(void)
{
    return (struct cpu_fma){fma_plain, 2.0 * CHAINS * LANES};
}

struct cpu_fma cpu_fma_bf16(void)
{
    return (struct cpu_fma){0};
}

#endif
