/* Resizing against Pillow; crops, flips and the evaluation window against their definitions. */
#include "test_data_fixture.h"

#include "data/augment.h"
#include "data/resize.h"

static void formula_image(struct image *m, int width, int height)
{
    image_resize(m, width, height);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < 3; c++)
                image_row(m, y)[x * 3 + c] =
                    (uint8_t)((x * 37 + y * 91 + c * 53 + x * y * 7) % 256);
}

static void resize_whole(const struct image *src, int width, int height, uint8_t *dst)
{
    struct resizer r = {0};

    resize(&r, src, (struct axis){.scale = (double)src->width / width, .n = width},
           (struct axis){.scale = (double)src->height / height, .n = height}, dst);
    resizer_release(&r);
}

/* Image.resize(..., BILINEAR) of Pillow 13.0 on the same pixels. Ties of the fixed-point sums may
 * fall either way, hence one level. */
static const uint8_t pillow_23x17_to_5x4[] = {
    123, 135, 135, 128, 130, 132, 126, 137, 125, 128, 133, 126, 136, 117, 108,
    127, 131, 129, 133, 129, 124, 132, 120, 135, 133, 131, 134, 139, 124, 123,
    137, 122, 121, 115, 133, 132, 135, 121, 135, 125, 121, 121, 129, 128, 118,
    122, 128, 124, 109, 149, 107, 134, 132, 123, 128, 124, 121, 137, 136, 134};
static const uint8_t pillow_7x5_to_10x4[] = {
    23,  76,  129, 44,  97,  150, 72,  125, 162, 98,  151, 143, 125, 137, 167, 130, 142, 195,
    116, 169, 212, 143, 196, 105, 170, 137, 84,  191, 52,  105, 129, 182, 128, 155, 149, 154,
    161, 134, 150, 119, 167, 78,  147, 103, 104, 127, 83,  136, 63,  116, 164, 96,  149, 122,
    129, 134, 128, 154, 101, 154, 86,  139, 85,  116, 110, 115, 128, 101, 154, 92,  139, 192,
    125, 178, 134, 163, 164, 120, 194, 106, 153, 129, 144, 117, 130, 135, 129, 160, 107, 160,
    85,  138, 191, 120, 173, 121, 165, 170, 79,  209, 79,  123, 128, 114, 125, 105, 136, 147,
    146, 138, 182, 146, 183, 92,  174, 141, 88,  209, 70,  123};

static void test_resize_agrees_with_pillow(void **state)
{
    struct image src = {0};
    uint8_t got[256];

    (void)state;
    formula_image(&src, 23, 17);
    resize_whole(&src, 5, 4, got);
    for (size_t i = 0; i < sizeof(pillow_23x17_to_5x4); i++)
        assert_true(abs(got[i] - pillow_23x17_to_5x4[i]) <= 1);
    assert_true(mean_difference(got, pillow_23x17_to_5x4, sizeof(pillow_23x17_to_5x4)) < 0.1);
    formula_image(&src, 7, 5);
    resize_whole(&src, 10, 4, got);
    for (size_t i = 0; i < sizeof(pillow_7x5_to_10x4); i++)
        assert_true(abs(got[i] - pillow_7x5_to_10x4[i]) <= 1);
    assert_true(mean_difference(got, pillow_7x5_to_10x4, sizeof(pillow_7x5_to_10x4)) < 0.25);
    image_release(&src);
}

static void test_resize_to_the_same_size_is_the_identity(void **state)
{
    struct image src = {0};
    uint8_t *const got = xmalloc(61 * 47 * 3);

    (void)state;
    formula_image(&src, 61, 47);
    resize_whole(&src, 61, 47, got);
    assert_memory_equal(got, src.px.data, 61 * 47 * 3);
    image_release(&src);
    free(got);
}

static void test_resize_of_a_constant_is_that_constant(void **state)
{
    static const int sizes[][4] = {{1, 1, 224, 224}, {1000, 3, 7, 224}, {224, 224, 1, 1}};
    struct image src = {0};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        const int *const s = sizes[i];
        const size_t n = (size_t)s[2] * (size_t)s[3] * 3;
        uint8_t *const got = xmalloc(n);

        image_resize(&src, s[0], s[1]);
        memset(src.px.data, 255, src.px.n);
        resize_whole(&src, s[2], s[3], got);
        for (size_t k = 0; k < n; k++)
            assert_int_equal(got[k], 255);
        free(got);
    }
    image_release(&src);
}

static struct augment_train checked_train(int size)
{
    struct augment_train a = {.size = size, .flip = 1};

    assert_int_equal(augment_train_check(&a), 0);
    return a;
}

/* Area, aspect, bounds and the share of mirrored ones over many draws. */
static void test_random_crops_keep_to_their_ranges(void **state)
{
    const struct augment_train a = checked_train(224);
    const struct rect whole = {0, 0, 500, 375};
    double area_sum = 0;
    int flips = 0, edge = 0;

    (void)state;
    for (uint64_t i = 0; i < 4000; i++) {
        const struct view v = augment_train_view(&a, whole, 1, 0, i);
        const double area = (double)v.rect.width * v.rect.height / (500.0 * 375.0);
        const double aspect = (double)v.rect.width / v.rect.height;

        assert_true(v.rect.x >= 0 && v.rect.x + v.rect.width <= 500);
        assert_true(v.rect.y >= 0 && v.rect.y + v.rect.height <= 375);
        assert_true(area > 0.078 && area <= 1.0);
        assert_true(aspect > 0.74 && aspect < 1.35);
        area_sum += area;
        flips += v.flip;
        edge += v.rect.x + v.rect.width == 500;
    }
    assert_true(area_sum / 4000 > 0.40 && area_sum / 4000 < 0.56);
    assert_in_range(flips, 1850, 2150);
    assert_true(edge > 10); /* the last column is reachable */
}

static void test_an_impossible_crop_falls_back_to_the_centre(void **state)
{
    const struct augment_train a = checked_train(224);
    struct augment_train full = {.size = 8, .area_min = 1, .area_max = 1};
    struct view v = augment_train_view(&a, (struct rect){0, 0, 1000, 10}, 1, 0, 5);

    (void)state;
    assert_int_equal(v.rect.height, 10);
    assert_in_range(v.rect.width, 3, 13);
    full.aspect_min = full.aspect_max = 1;
    assert_int_equal(augment_train_check(&full), 0);
    v = augment_train_view(&full, (struct rect){0, 0, 300, 100}, 1, 0, 5);
    assert_int_equal(v.rect.x, 100);
    assert_int_equal(v.rect.width, 100);
    assert_int_equal(v.rect.height, 100);
    v = augment_train_view(&a, (struct rect){0, 0, 1, 1}, 1, 0, 5);
    assert_int_equal(v.rect.width * v.rect.height, 1);
}

static int same_view(struct view a, struct view b)
{
    return a.rect.x == b.rect.x && a.rect.y == b.rect.y && a.rect.width == b.rect.width &&
           a.rect.height == b.rect.height && a.flip == b.flip;
}

static void test_augmentation_depends_on_seed_epoch_and_index_only(void **state)
{
    const struct augment_train a = checked_train(224);
    const struct rect whole = {0, 0, 500, 375};
    int same_epoch = 0, same_seed = 0, same_index = 0;

    (void)state;
    for (uint64_t i = 0; i < 100; i++) {
        const struct view v = augment_train_view(&a, whole, 1, 3, i);

        assert_true(same_view(v, augment_train_view(&a, whole, 1, 3, i)));
        same_epoch += same_view(v, augment_train_view(&a, whole, 1, 4, i));
        same_seed += same_view(v, augment_train_view(&a, whole, 2, 3, i));
        same_index += same_view(v, augment_train_view(&a, whole, 1, 3, i + 1));
    }
    assert_int_equal(same_epoch + same_seed + same_index, 0);
}

/* Decoding only what the centre window needs equals resizing the whole picture and cutting. */
static void test_evaluation_window_equals_resize_then_centre_crop(void **state)
{
    static const int shapes[][4] = {{171, 133, 64, 56}, {133, 171, 64, 56}, {40, 60, 64, 56},
                                    {64, 64, 64, 64},   {64, 80, 64, 56},   {400, 301, 33, 32}};
    struct resizer r = {0};
    struct image src = {0}, part = {0};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        const int w = shapes[i][0], h = shapes[i][1], side = shapes[i][2], crop = shapes[i][3];
        const int shorter = w < h ? w : h, rw = w * side / shorter, rh = h * side / shorter;
        struct augment_eval a = {.resize = side, .crop = crop};
        uint8_t *const full = xmalloc((size_t)rw * (size_t)rh * 3);
        uint8_t *const got = xmalloc((size_t)crop * (size_t)crop * 3);
        struct view v;

        assert_int_equal(augment_eval_check(&a), 0);
        formula_image(&src, w, h);
        resize_whole(&src, rw, rh, full);
        v = augment_eval_view(&a, (struct rect){0, 0, w, h});
        image_resize(&part, v.rect.width, v.rect.height);
        for (int y = 0; y < v.rect.height; y++)
            memcpy(image_row(&part, y), image_row(&src, v.rect.y + y) + v.rect.x * 3,
                   (size_t)v.rect.width * 3);
        augment_apply(&v, &part, &r, got);
        for (int y = 0; y < crop; y++)
            for (int x = 0; x < crop * 3; x++) {
                const int at = ((rh - crop) / 2 + y) * rw * 3 + (rw - crop) / 2 * 3 + x;

                assert_true(abs(got[y * crop * 3 + x] - full[at]) <= 1);
            }
        free(full);
        free(got);
    }
    resizer_release(&r);
    image_release(&src);
    image_release(&part);
}

static void test_flip_mirrors_rows(void **state)
{
    struct image src = {0};
    struct resizer r = {0};
    struct view v = {.rect = {0, 0, 5, 4}, .x = {0, 1, 5}, .y = {0, 1, 4}, .flip = 1};
    uint8_t got[5 * 4 * 3];

    (void)state;
    formula_image(&src, 5, 4);
    augment_apply(&v, &src, &r, got);
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 5; x++)
            assert_memory_equal(got + (y * 5 + x) * 3, image_row(&src, y) + (4 - x) * 3, 3);
    image_release(&src);
    resizer_release(&r);
}

static void test_nonsense_settings_are_refused(void **state)
{
    struct augment_train a = {.size = -1};
    struct augment_train b = {.area_min = 0.5, .area_max = 0.1};
    struct augment_train c = {.aspect_min = -1, .aspect_max = 1};
    struct augment_eval d = {.resize = 100, .crop = 101};

    (void)state;
    assert_int_equal(augment_train_check(&a), E_USAGE);
    assert_int_equal(augment_train_check(&b), E_USAGE);
    assert_int_equal(augment_train_check(&c), E_USAGE);
    assert_int_equal(augment_eval_check(&d), E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resize_agrees_with_pillow),
        cmocka_unit_test(test_resize_to_the_same_size_is_the_identity),
        cmocka_unit_test(test_resize_of_a_constant_is_that_constant),
        cmocka_unit_test(test_random_crops_keep_to_their_ranges),
        cmocka_unit_test(test_an_impossible_crop_falls_back_to_the_centre),
        cmocka_unit_test(test_augmentation_depends_on_seed_epoch_and_index_only),
        cmocka_unit_test(test_evaluation_window_equals_resize_then_centre_crop),
        cmocka_unit_test(test_flip_mirrors_rows),
        cmocka_unit_test(test_nonsense_settings_are_refused),
    };

    return cmocka_run_group_tests_name("augmentation", tests, NULL, NULL);
}
