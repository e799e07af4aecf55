/* Resizing: every kernel against Pillow's pixels (tests/golden/pillow_resize.py), against each
 * other bit by bit, and against the edges of memory. */
#include "test_data_fixture.h"

#include "base/random.h"
#include "data/resize.h"
#include "data/resize_kernels.h"
#include "guarded.h"

struct shape {
    int width, height, x, y, crop_width, crop_height, out_width, out_height;
};

static int rough(int x, int y, int c)
{
    return (x * 37 + y * 91 + c * 53 + x * y * 7) % 256;
}

static int smooth(int x, int y, int c)
{
    return (x + y * (c + 1)) / 2 % 256;
}

/* The crop of a picture, in pages that end where a resize may read no further. */
static struct image guarded_crop(const struct shape *s, int (*formula)(int x, int y, int c))
{
    const size_t stride = (size_t)s->width * 3;
    const size_t n = stride * (size_t)(s->y + s->crop_height - 1) +
                     (size_t)(s->x + s->crop_width) * 3 + IMAGE_SLACK;
    struct image m = {.width = s->crop_width, .height = s->crop_height, .stride = stride};

    m.px.data = guarded(n);
    for (size_t i = 0; i < n - IMAGE_SLACK; i++)
        m.px.data[i] =
            (uint8_t)formula((int)(i % stride / 3), (int)(i / stride), (int)(i % stride % 3));
    m.first = stride * (size_t)s->y + (size_t)s->x * 3;
    return m;
}

static void resize_with(const struct resize_kernels *k, const struct image *src,
                        const struct shape *s, int mirrored, uint8_t *dst)
{
    struct resizer r = {.kernels = k};

    resize(&r, src,
           (struct axis){
               .scale = (double)src->width / s->out_width, .n = s->out_width, .mirrored = mirrored},
           (struct axis){.scale = (double)src->height / s->out_height, .n = s->out_height}, dst);
    resizer_release(&r);
}

static void read_hex(FILE *f, uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned byte;

        assert_int_equal(fscanf(f, "%2x", &byte), 1);
        bytes[i] = (uint8_t)byte;
    }
}

/* Within a level everywhere: weights have 14 bits here and 22 there. On average 0.002 to 0.006
 * where sums seldom fall on a half, 0.21 at a scale of 19/16, where they often do. */
static void check_close(const char *name, const struct shape *s, const uint8_t *got,
                        const uint8_t *want)
{
    const size_t n = (size_t)s->out_width * (size_t)s->out_height * 3;
    const double off = mean_difference(got, want, n);

    for (size_t i = 0; i < n; i++)
        if (abs(got[i] - want[i]) > 1)
            fail_msg("%s, %dx%d to %dx%d, byte %zu: %d, Pillow says %d", name, s->crop_width,
                     s->crop_height, s->out_width, s->out_height, i, got[i], want[i]);
    if (off > 0.25)
        fail_msg("%s, %dx%d to %dx%d: off by %.3f levels on average", name, s->crop_width,
                 s->crop_height, s->out_width, s->out_height, off);
}

static void test_every_kernel_agrees_with_pillow(void **state)
{
    FILE *const f = fopen("tests/golden/pillow_resize.txt", "r");
    struct shape s;
    int n_cases = 0;

    assert_non_null(f);
    assert_int_equal(fscanf(f, "# Pillow %*s"), 0);
    while (fscanf(f, "%d %d %d %d %d %d %d %d", &s.width, &s.height, &s.x, &s.y, &s.crop_width,
                  &s.crop_height, &s.out_width, &s.out_height) == 8) {
        const size_t n = (size_t)s.out_width * (size_t)s.out_height * 3;
        uint8_t *const want = guarded(n), *const got = guarded(n);
        const struct image src = guarded_crop(&s, n_cases < 8 ? rough : smooth);

        read_hex(f, want, n);
        for (int k = 0; resize_kernels[k]; k++)
            if (resize_kernels[k]->usable()) {
                resize_with(resize_kernels[k], &src, &s, 0, got);
                check_close(resize_kernels[k]->name, &s, got, want);
            }
        release_buffers(state);
        n_cases++;
    }
    fclose(f);
    assert_int_equal(n_cases, 16);
}

static struct shape draw_shape(struct random_stream *s)
{
    struct shape a;

    a.crop_width = 1 + (int)(random_next(s) % 90);
    a.crop_height = 1 + (int)(random_next(s) % 60);
    a.x = (int)(random_next(s) % 20);
    a.y = (int)(random_next(s) % 3);
    a.width = a.x + a.crop_width + (int)(random_next(s) % 20);
    a.height = a.y + a.crop_height;
    a.out_width = 1 + (int)(random_next(s) % 50);
    a.out_height = 1 + (int)(random_next(s) % 50);
    return a;
}

/* One shape with every kernel: the bits of the plain one; mirrored: the same from right to left. */
static void check_kernels(const struct shape *s)
{
    const size_t n = (size_t)s->out_width * (size_t)s->out_height * 3;
    const struct image src = guarded_crop(s, rough);
    uint8_t *const want = guarded(n), *const got = guarded(n);

    for (int mirrored = 0; mirrored < 2; mirrored++) {
        resize_with(&resize_plain, &src, s, mirrored, mirrored ? got : want);
        for (int y = 0; mirrored && y < s->out_height; y++)
            for (int x = 0; x < s->out_width; x++)
                assert_memory_equal(got + (y * s->out_width + x) * 3,
                                    want + (y * s->out_width + s->out_width - 1 - x) * 3, 3);
        if (mirrored)
            memcpy(want, got, n);
        for (int k = 0; resize_kernels[k]; k++)
            if (resize_kernels[k]->usable()) {
                memset(got, 0, n);
                resize_with(resize_kernels[k], &src, s, mirrored, got);
                assert_memory_equal(got, want, n);
            }
    }
}

static void test_all_kernels_give_the_same_bits(void **state)
{
    static const enum guard_place places[] = {GUARD_EXACT, GUARD_START};
    struct random_stream s =
        random_stream((struct random_key){.seed = 5, .purpose = RANDOM_TEST}, 0);

    for (int i = 0; i < 1500; i++) {
        const struct shape shape = draw_shape(&s);

        guard_place(places[i % 2]);
        check_kernels(&shape);
        release_buffers(state);
    }
    check_kernels(&(struct shape){500, 375, 31, 12, 411, 320, 224, 224});
    release_buffers(state);
    guard_place(GUARD_END);
}

/* Of 20,000 taps each is rounded to one; what that is too much is taken from one of them, which is
 * then far below zero. A sum of such weights may leave the range of a byte. */
static void test_extremes_stay_in_range(void **state)
{
    const struct shape s = {20000, 1, 0, 0, 20000, 1, 1, 1};
    struct image src = guarded_crop(&s, rough);
    uint8_t got[3];

    for (int inverted = 0; inverted < 2; inverted++) {
        memset(src.px.data, inverted ? 255 : 0, src.stride);
        memset(src.px.data, inverted ? 0 : 255, 3); /* that one: all are alike, it is the first */
        for (int k = 0; resize_kernels[k]; k++)
            if (resize_kernels[k]->usable()) {
                resize_with(resize_kernels[k], &src, &s, 0, got);
                for (int c = 0; c < 3; c++)
                    assert_int_equal(got[c], inverted ? 255 : 0);
            }
    }
    release_buffers(state);
}

/* A resizer that has served a large picture serves a small one, and the other way round. */
static void test_a_resizer_serves_pictures_of_any_size(void **state)
{
    static const struct shape shapes[] = {{90, 70, 0, 0, 90, 70, 20, 30},
                                          {4, 3, 0, 0, 4, 3, 7, 50},
                                          {500, 9, 3, 0, 480, 9, 11, 2},
                                          {20, 20, 1, 1, 18, 19, 50, 3}};
    struct resizer r = {0};

    for (size_t i = 0; i < 3 * COUNT_OF(shapes); i++) {
        const struct shape *const s = &shapes[i * 3 % COUNT_OF(shapes)];
        const size_t n = (size_t)s->out_width * (size_t)s->out_height * 3;
        const struct image src = guarded_crop(s, smooth);
        uint8_t *const want = guarded(n), *const got = guarded(n);

        resize_with(NULL, &src, s, 0, want);
        resize(&r, &src,
               (struct axis){.scale = (double)src.width / s->out_width, .n = s->out_width},
               (struct axis){.scale = (double)src.height / s->out_height, .n = s->out_height}, got);
        assert_memory_equal(got, want, n);
        release_buffers(state);
    }
    resizer_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_every_kernel_agrees_with_pillow),
        TEST(test_all_kernels_give_the_same_bits),
        TEST(test_extremes_stay_in_range),
        TEST(test_a_resizer_serves_pictures_of_any_size),
    };

    return cmocka_run_group_tests_name("resizing", tests, NULL, NULL);
}
