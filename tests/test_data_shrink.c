/* Pictures made smaller while they are decoded: the decoder against libjpeg used in the plainest
 * way, the view against its geometry, the stage against the full decode. */
#include "hard_patch.h"
#include "plain_jpeg.h"

#include <math.h>

#include "data/augment.h"
#include "data/decode.h"
#include "data/stage.h"

enum { WIDTH = 203, HEIGHT = 157 };

static void check_crops(struct decoder *d, const struct jpeg_kind *kind, const struct bytes *jpeg,
                        int by)
{
    struct rect whole, smaller;
    struct image got = {0};
    uint8_t *const full = full_decode(jpeg, by, &whole);
    unsigned seed = (unsigned)by;

    assert_int_equal(whole.width, (WIDTH + by - 1) / by);
    for (int i = 0; i < 60; i++) {
        struct rect r = {.width = 1 + draw_below(&seed, whole.width),
                         .height = 1 + draw_below(&seed, whole.height)};

        r.x = draw_below(&seed, whole.width - r.width + 1);
        r.y = draw_below(&seed, whole.height - r.height + 1);
        assert_int_equal(decoder_begin(d, jpeg->data, jpeg->n, &smaller), 0);
        assert_int_equal(smaller.width, WIDTH); /* whatever the one before was shrunk to */
        assert_int_equal(decoder_shrink(d, by + by / 2, &smaller), by);
        assert_int_equal(smaller.width, whole.width);
        assert_int_equal(smaller.height, whole.height);
        assert_int_equal(decoder_crop(d, r, &got), 0);
        for (int y = 0; y < r.height; y++)
            if (memcmp(image_row(&got, y), full + ((r.y + y) * whole.width + r.x) * 3,
                       (size_t)r.width * 3) != 0)
                fail_msg("%s by %d, crop %d,%d %dx%d: row %d differs", kind->name, by, r.x, r.y,
                         r.width, r.height, y);
    }
    image_release(&got);
    free(full);
}

static void test_a_crop_equals_the_smaller_picture_cropped(void **state)
{
    uint8_t *const px = picture_new(WIDTH, HEIGHT, 1);
    struct decoder *const d = decoder_new(0);
    struct bytes jpeg = {0};

    (void)state;
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        make_jpeg(&kinds[k], px, WIDTH, HEIGHT, &jpeg);
        for (int by = 2; by <= 8; by *= 2)
            check_crops(d, &kinds[k], &jpeg, by);
    }
    bytes_release(&jpeg);
    decoder_free(d);
    free(px);
}

/* PNG can not; a picture to be turned is not; nobody who wants all pixels gets fewer. */
static void test_what_stays_as_large_as_it_is(void **state)
{
    uint8_t *const px = picture_new(64, 48, 1);
    struct decoder *const d = decoder_new(0);
    struct bytes jpeg = {0}, turned = {0}, png = {0};
    struct image got = {0};
    struct rect whole;

    (void)state;
    simple_jpeg(64, 48, 1, &jpeg);
    assert_int_equal(decoder_begin(d, jpeg.data, jpeg.n, &whole), 0);
    assert_int_equal(decoder_shrink(d, 1, &whole), 1);
    assert_int_equal(whole.width, 64);
    make_png(64, 48, PNG_COLOR_TYPE_RGB, 8, 0, px, &png);
    assert_int_equal(decoder_begin(d, png.data, png.n, &whole), 0);
    assert_int_equal(decoder_shrink(d, 8, &whole), 1);
    assert_int_equal(whole.width, 64);
    bytes_add(&turned, jpeg.data, jpeg.n);
    add_orientation(&turned, 0, 6);
    assert_int_equal(decoder_begin(d, turned.data, turned.n, &whole), 0);
    assert_int_equal(decoder_shrink(d, 8, &whole), 8); /* the tag is ignored */
    decoder_set_exif(d, EXIF_APPLY);
    assert_int_equal(decoder_begin(d, turned.data, turned.n, &whole), 0);
    assert_int_equal(decoder_shrink(d, 8, &whole), 1);
    assert_int_equal(whole.width, 48);
    assert_int_equal(decoder_crop(d, whole, &got), 0);
    image_release(&got);
    bytes_release(&jpeg);
    bytes_release(&turned);
    bytes_release(&png);
    decoder_free(d);
    free(px);
}

/* Where output pixel i of an axis looks, in pixels of the picture that was not made smaller. */
static double looks_at(struct axis a, int from, int by, int i)
{
    return by * (from + a.first + (i + 0.5) * a.scale);
}

static void check_geometry(const struct view *v, struct rect whole, int by)
{
    const struct view w = view_of_smaller(v, by);
    int from, end;

    for (int i = 0; i < v->x.n; i += v->x.n - 1) {
        assert_true(fabs(looks_at(v->x, v->rect.x, 1, i) - looks_at(w.x, w.rect.x, by, i)) < 1e-6);
        assert_true(fabs(looks_at(v->y, v->rect.y, 1, i) - looks_at(w.y, w.rect.y, by, i)) < 1e-6);
    }
    assert_int_equal(w.flip, v->flip);
    assert_true(w.rect.x >= 0 && w.rect.x * by <= v->rect.x);
    assert_true((w.rect.x + w.rect.width) * by >= v->rect.x + v->rect.width);
    assert_true(w.rect.x + w.rect.width <= (whole.width + by - 1) / by);
    assert_true(w.rect.y + w.rect.height <= (whole.height + by - 1) / by);
    axis_reach(w.x, w.rect.width, &from, &end);
    assert_true(from >= 0 && end <= w.rect.width);
}

static void test_a_view_of_a_smaller_picture_looks_at_the_same_places(void **state)
{
    struct augment_train a = {.size = 32, .flip = 1};
    struct augment_eval e = {.resize = 40, .crop = 32};
    const struct rect whole = {0, 0, 1003, 781};
    int n_by[9] = {0};

    (void)state;
    assert_int_equal(augment_train_check(&a), 0);
    assert_int_equal(augment_eval_check(&e), 0);
    for (uint64_t i = 0; i < 500; i++) {
        const struct view v =
            i ? augment_train_view(&a, whole, 1, 0, i) : augment_eval_view(&e, whole);
        const double scale = fmin(v.x.scale, v.y.scale);
        const int by = view_shrink(&v);

        assert_true(by == 1 || scale / by >= 2); /* the resize still halves */
        assert_true(by == 8 || scale / by < 4);  /* and no more is left to it than must be */
        n_by[by]++;
        check_geometry(&v, whole, by);
    }
    assert_true(n_by[2] > 10 && n_by[4] > 10 && n_by[8] > 10);
}

static struct work new_work(const struct bytes *jpeg, const struct augment_eval *eval, uint8_t *dst)
{
    struct work w;

    work_init(&w, 0, EXIF_IGNORE);
    w.eval = eval;
    w.sample.data = jpeg->data;
    w.sample.n = jpeg->n;
    w.dst = dst;
    return w;
}

/* What the stages make of a large picture is less than a level from what all its pixels give. */
static void test_the_stages_shrink_a_large_picture_unnoticed(void **state)
{
    enum { SIDE = 56 };
    struct augment_eval eval = {.resize = 64, .crop = SIDE};
    struct bytes jpeg = {0};
    uint8_t got[SIDE * SIDE * 3], want[SIDE * SIDE * 3];
    struct work w;
    struct rect whole;
    struct view v;

    (void)state;
    assert_int_equal(augment_eval_check(&eval), 0);
    simple_jpeg(810, 603, 2, &jpeg);
    w = new_work(&jpeg, &eval, got);
    assert_int_equal(stage_get(STAGE_decode)->run(&w), 0);
    assert_in_range(w.image.height, 603 / 4 - 20, 603 / 4 + 1);
    assert_int_equal(stage_get(STAGE_augment)->run(&w), 0);
    assert_int_equal(decoder_begin(w.decoder, jpeg.data, jpeg.n, &whole), 0);
    v = augment_eval_view(&eval, whole);
    assert_int_equal(decoder_crop(w.decoder, v.rect, &w.image), 0);
    augment_apply(&v, &w.image, &w.resizer, want);
    assert_true(mean_difference(got, want, sizeof(got)) < 1.0);
    work_release(&w);
    bytes_release(&jpeg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_crop_equals_the_smaller_picture_cropped),
        cmocka_unit_test(test_what_stays_as_large_as_it_is),
        cmocka_unit_test(test_a_view_of_a_smaller_picture_looks_at_the_same_places),
        cmocka_unit_test(test_the_stages_shrink_a_large_picture_unnoticed),
    };

    return cmocka_run_group_tests_name("shrinking", tests, NULL, NULL);
}
