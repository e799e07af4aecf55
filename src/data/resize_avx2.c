/* Pairs of 16-bit products are summed by one instruction, so taps go in pairs: two pixels side by
 * side in the row pass, two rows in the column pass. */
#include "data/resize_kernels.h"

#ifdef __x86_64__

#include <immintrin.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2")))

static int has_avx2(void)
{
    return __builtin_cpu_supports("avx2") != 0;
}

/* The weights of two taps for every sum. */
AVX2 static inline __m256i pair(const int16_t *weight)
{
    int32_t both;

    memcpy(&both, weight, sizeof(both));
    return _mm256_set1_epi32(both);
}

AVX2 static inline __m256i two_rows(const uint8_t *a, const uint8_t *b)
{
    const __m128i low = _mm_loadu_si128((const __m128i *)(const void *)a);
    const __m128i high = _mm_loadu_si128((const __m128i *)(const void *)b);

    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

/* Of the pixels in 16 bytes, the first two or the next two: red beside red, green beside green. */
AVX2 static inline __m256i first_two(__m256i px)
{
    return _mm256_shuffle_epi8(px, _mm256_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1,
                                                    -1, -1, -1, 0, -1, 3, -1, 1, -1, 4, -1, 2, -1,
                                                    5, -1, -1, -1, -1, -1));
}

AVX2 static inline __m256i next_two(__m256i px)
{
    return _mm256_shuffle_epi8(px, _mm256_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1,
                                                    -1, -1, -1, 6, -1, 9, -1, 7, -1, 10, -1, 8, -1,
                                                    11, -1, -1, -1, -1, -1));
}

AVX2 static inline __m256i add_group(__m256i sum, __m256i px, __m256i w0, __m256i w1)
{
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(first_two(px), w0));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(next_two(px), w1));
}

/* One output pixel of four rows, 16 bits each: the first and the third row in the lower half. */
AVX2 static inline __m256i four_rows(const struct taps *t, const uint8_t *const *src, int i,
                                     int n_taps)
{
    const int16_t *const weight = t->weight + (size_t)i * (size_t)t->stride;
    const size_t from = (size_t)t->start[i] * IMAGE_CHANNELS;
    __m256i ab = _mm256_set1_epi32(1 << (TAP_SHIFT - 1)), cd = ab;

    for (int k = 0; k < n_taps; k += TAP_GROUP) {
        const __m256i w0 = pair(weight + k), w1 = pair(weight + k + 2);
        const size_t at = from + (size_t)k * IMAGE_CHANNELS;

        ab = add_group(ab, two_rows(src[0] + at, src[1] + at), w0, w1);
        cd = add_group(cd, two_rows(src[2] + at, src[3] + at), w0, w1);
    }
    return _mm256_packs_epi32(_mm256_srai_epi32(ab, TAP_SHIFT), _mm256_srai_epi32(cd, TAP_SHIFT));
}

/* Two pixels of four rows, written as 8 bytes a row: the two too many are the next pixel's, or
 * slack. */
AVX2 static inline void store_two(uint8_t *const *dst, size_t at, __m256i first, __m256i second)
{
    const __m256i order = _mm256_setr_epi8(0, 1, 2, 8, 9, 10, -1, -1, 4, 5, 6, 12, 13, 14, -1, -1,
                                           0, 1, 2, 8, 9, 10, -1, -1, 4, 5, 6, 12, 13, 14, -1, -1);
    const __m256i bytes = _mm256_shuffle_epi8(_mm256_packus_epi16(first, second), order);
    const __m128i low = _mm256_castsi256_si128(bytes), high = _mm256_extracti128_si256(bytes, 1);

    _mm_storel_epi64((__m128i *)(void *)(dst[0] + at), low);
    _mm_storel_epi64((__m128i *)(void *)(dst[1] + at), high);
    _mm_storel_epi64((__m128i *)(void *)(dst[2] + at), _mm_unpackhi_epi64(low, low));
    _mm_storel_epi64((__m128i *)(void *)(dst[3] + at), _mm_unpackhi_epi64(high, high));
}

AVX2 static inline __attribute__((always_inline)) void
rows_of(const struct taps *t, const uint8_t *const *src, uint8_t *const *dst, int n_taps)
{
    for (int i = 0; i < t->n; i += 2) {
        const int last = i + 1 < t->n ? i + 1 : i;

        store_two(dst, (size_t)i * IMAGE_CHANNELS, four_rows(t, src, i, n_taps),
                  four_rows(t, src, last, n_taps));
    }
}

/* The numbers of taps up to a scale of about four are constants, which saves the inner loop. */
AVX2 static void avx2_rows(const struct taps *t, const uint8_t *const *src, uint8_t *const *dst)
{
    if (t->n_even == TAP_GROUP)
        rows_of(t, src, dst, TAP_GROUP);
    else if (t->n_even == 2 * TAP_GROUP)
        rows_of(t, src, dst, 2 * TAP_GROUP);
    else
        rows_of(t, src, dst, t->n_even);
}

AVX2 static inline __m256i load(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

/* 32 bytes of an output row. Unpacking and packing keep to halves of a vector, so the bytes are in
 * order again at the end. */
AVX2 static inline __m256i column_32(const int16_t *weight, int count, const uint8_t *const *row,
                                     size_t at)
{
    const __m256i zero = _mm256_setzero_si256(), half = _mm256_set1_epi32(1 << (TAP_SHIFT - 1));
    __m256i s0 = half, s1 = half, s2 = half, s3 = half;

    for (int k = 0; k < count; k += 2) {
        const __m256i a = load(row[k] + at), b = load(row[k + 1] + at), w = pair(weight + k);
        const __m256i low = _mm256_unpacklo_epi8(a, b), high = _mm256_unpackhi_epi8(a, b);

        s0 = _mm256_add_epi32(s0, _mm256_madd_epi16(_mm256_unpacklo_epi8(low, zero), w));
        s1 = _mm256_add_epi32(s1, _mm256_madd_epi16(_mm256_unpackhi_epi8(low, zero), w));
        s2 = _mm256_add_epi32(s2, _mm256_madd_epi16(_mm256_unpacklo_epi8(high, zero), w));
        s3 = _mm256_add_epi32(s3, _mm256_madd_epi16(_mm256_unpackhi_epi8(high, zero), w));
    }
    s0 = _mm256_packs_epi32(_mm256_srai_epi32(s0, TAP_SHIFT), _mm256_srai_epi32(s1, TAP_SHIFT));
    s2 = _mm256_packs_epi32(_mm256_srai_epi32(s2, TAP_SHIFT), _mm256_srai_epi32(s3, TAP_SHIFT));
    return _mm256_packus_epi16(s0, s2);
}

AVX2 static void avx2_column(const int16_t *weight, int count, const uint8_t *const *row,
                             uint8_t *dst, size_t n)
{
    enum { WIDTH = 32 };

    if (n < WIDTH) {
        resize_plain.column(weight, count, row, dst, n);
        return;
    }
    for (size_t x = 0; x < n; x += WIDTH) {
        const size_t at = x + WIDTH <= n ? x : n - WIDTH; /* some twice, none outside */

        _mm256_storeu_si256((__m256i *)(void *)(dst + at), column_32(weight, count, row, at));
    }
}

const struct resize_kernels resize_avx2 = {"AVX2", has_avx2, avx2_rows, avx2_column};

#else

typedef int resize_has_no_avx2; /* a file must hold something */

#endif
