#include "data/resize_kernels.h"

enum { LANES = 16 };

static int everywhere(void)
{
    return 1;
}

static inline uint8_t to_byte(int32_t sum)
{
    const int32_t v = (sum + (1 << (TAP_SHIFT - 1))) >> TAP_SHIFT;

    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

static void plain_row(const struct taps *t, const uint8_t *src, uint8_t *dst)
{
    for (int i = 0; i < t->n; i++, dst += IMAGE_CHANNELS) {
        const int16_t *const weight = t->weight + (size_t)i * (size_t)t->stride;
        const uint8_t *p = src + (size_t)t->start[i] * IMAGE_CHANNELS;
        int32_t red = 0, green = 0, blue = 0;

        for (int k = 0; k < t->count[i]; k++, p += IMAGE_CHANNELS) {
            red += weight[k] * p[0];
            green += weight[k] * p[1];
            blue += weight[k] * p[2];
        }
        dst[0] = to_byte(red);
        dst[1] = to_byte(green);
        dst[2] = to_byte(blue);
    }
}

static void plain_rows(const struct taps *t, const uint8_t *const *src, uint8_t *const *dst)
{
    for (int row = 0; row < ROW_BLOCK; row++)
        plain_row(t, src[row], dst[row]);
}

/* LANES neighbours at once: a constant count lets the compiler use vectors at -O2. */
static inline void column_lanes(const int16_t *weight, int count, const uint8_t *const *row,
                                size_t at, uint8_t *dst)
{
    int32_t sum[LANES] = {0};

    for (int k = 0; k < count; k++)
        for (int x = 0; x < LANES; x++)
            sum[x] += weight[k] * (int16_t)row[k][at + (size_t)x];
    for (int x = 0; x < LANES; x++)
        dst[x] = to_byte(sum[x]);
}

static void plain_column(const int16_t *weight, int count, const uint8_t *const *row, uint8_t *dst,
                         size_t n)
{
    size_t x = 0;

    for (; x + LANES <= n; x += LANES)
        column_lanes(weight, count, row, x, dst + x);
    for (; x < n; x++) {
        int32_t sum = 0;

        for (int k = 0; k < count; k++)
            sum += weight[k] * row[k][x];
        dst[x] = to_byte(sum);
    }
}

const struct resize_kernels resize_plain = {"plain", everywhere, plain_rows, plain_column};
