/* Data sets in the likeness of ImageNet: what is drawn against the published figures, files that
 * are looked at here, the same bytes whatever the threads, runs again and after a cut, and what is
 * refused. */
#include "generate_fixture.h"

#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "data/decode.h"
#include "data/generate.h"
#include "data/generate_int.h"
#include "data/source.h"
#include "hard_outcome.h"
#include "run_fixture.h"

static char *photos;

static int make_photos(void **state)
{
    (void)state;
    photos = photo_dir();
    return 0;
}

static int remove_photos(void **state)
{
    (void)state;
    remove_dir(photos);
    return 0;
}

static struct prepare_like like(const char *to, uint64_t n)
{
    return (struct prepare_like){
        .name = "imagenet", .to = to, .photos = photos, .n_train = n, .seed = 1, .n_threads = 2};
}

static void assert_same_sets(const char *a, const char *b)
{
    static const char *const names[] = {"train.rec", "train.idx", "val.rec", "val.idx",
                                        "dataset.json"};

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char *const pa = file_join(a, names[i]), *const pb = file_join(b, names[i]);

        assert_same_file("/", pa, pb);
        free(pa);
        free(pb);
    }
}

static struct stat stat_of(const char *dir, const char *name)
{
    char *const path = file_join(dir, name);
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    free(path);
    return st;
}

/* Sums over draws of one split. */
struct draws {
    double width, height, pixels, bytes;
    double n_500x375, n_375x500, n_500_long, n_longer, n_grey, n_444;
};

static struct draws draw_many(enum generated_split split, int n)
{
    struct draws d = {0};

    for (int i = 0; i < n; i++) {
        struct random_stream s =
            random_stream((struct random_key){7, RANDOM_TEST, (uint64_t)split}, (uint64_t)i);
        const struct recipe r = recipe_draw(split, &s);
        const int longer = r.width > r.height ? r.width : r.height;

        assert_in_range(r.width, 4, 5005);
        assert_in_range(r.height, 4, 5005);
        assert_true(r.bytes > 0.0 && r.bytes < 11.0 * r.width * r.height / 8.0 + 1.0);
        d.width += (double)r.width / n;
        d.height += (double)r.height / n;
        d.pixels += (double)r.width * r.height / n;
        d.bytes += r.bytes / n;
        d.n_500x375 += (r.width == 500 && r.height == 375) * 100.0 / n;
        d.n_375x500 += (r.width == 375 && r.height == 500) * 100.0 / n;
        d.n_500_long += (longer == 500) * 100.0 / n;
        d.n_longer += (longer > 500) * 100.0 / n;
        d.n_grey += r.grey * 100.0 / n;
        d.n_444 += (r.sampling == JPEG_444) * 100.0 / n;
    }
    return d;
}

static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%g, expected %g within %g", got, want, tolerance);
}

/* The figures are ImageNet's own, from the sources that generate.h names; bytes may be 2 % above
 * since some pictures can not reach theirs. The tolerances are four standard errors or 2 %. */
static void test_drawn_as_published(void **state)
{
    const struct draws val = draw_many(GENERATED_VAL, 200000);
    const struct draws train = draw_many(GENERATED_TRAIN, 200000);

    (void)state;
    assert_near(val.width, 490.4, 5.0);
    assert_near(val.height, 430.3, 5.0);
    assert_near(val.pixels, 231326, 6000);
    assert_near(val.bytes, 134130 * 1.01, 4000);
    assert_near(val.n_500x375, 30.97, 0.5);
    assert_near(val.n_375x500, 9.55, 0.3);
    assert_near(val.n_500_long, 84.7, 0.5);
    assert_near(val.n_longer, 8.84, 0.3);
    assert_near(train.width, 469, 5.0);
    assert_near(train.bytes, 114660 * 1.01, 2500);
    assert_near(train.n_grey, 1.82, 0.13);
    assert_true(train.n_444 > 75.0);
}

/* What the test itself reads of a JPEG file: its first frame header. */
static void read_frame(const uint8_t *b, size_t n, int *width, int *height, int *components)
{
    size_t at = 2;

    while (b[at + 1] != 0xC0) {
        assert_int_equal(b[at], 0xFF);
        at += 2 + (size_t)(b[at + 2] << 8 | b[at + 3]);
        assert_true(at + 10 < n);
    }
    *height = b[at + 5] << 8 | b[at + 6];
    *width = b[at + 7] << 8 | b[at + 8];
    *components = b[at + 9];
}

/* Sample by sample: the size drawn, about the bytes drawn, a picture that decodes, and labels all
 * over the classes. Returns the sum of |log(bytes / drawn)|. */
static double check_samples(const char *dir, uint64_t n)
{
    struct decoder *const d = decoder_new(0);
    struct source *s;
    struct sample sample = {0};
    struct image px = {0};
    double off = 0.0;

    assert_int_equal(source_open_split(dir, "train", &s), 0);
    assert_int_equal(s->n_samples, n);
    for (uint64_t i = 0; i < n; i++) {
        struct random_stream draw = random_stream((struct random_key){1, RANDOM_GENERATE, 0}, i);
        const struct recipe r = recipe_draw(GENERATED_TRAIN, &draw);
        int width, height, components;
        struct rect whole;

        assert_int_equal(source_read(s, i, &sample), 0);
        read_frame(sample.data, sample.n, &width, &height, &components);
        assert_int_equal(width, r.width);
        assert_int_equal(height, r.height);
        assert_int_equal(components, r.grey ? 1 : 3);
        assert_in_range(sample.label, 0, 999);
        off += fabs(log((double)sample.n / r.bytes));
        assert_int_equal(decoder_begin(d, sample.data, sample.n, &whole), 0);
        assert_int_equal(decoder_crop(d, whole, &px), 0);
    }
    source_close(s);
    decoder_free(d);
    sample_release(&sample);
    image_release(&px);
    return off;
}

static void test_files_are_as_drawn(void **state)
{
    enum { N = 150 };
    char *const to = temp_dir();
    struct prepare_result r;

    (void)state;
    assert_int_equal(prepare_like(like(to, N), &r), 0);
    assert_int_equal(r.n_train, N);
    assert_int_equal(r.n_val, 6); /* 150 x 50,000 / 1,281,167, rounded up */
    assert_true(check_samples(to, N) / N < 0.08);
    remove_dir(to);
}

static void test_labels_cover_the_classes(void **state)
{
    uint8_t seen[1000] = {0};
    int n_seen = 0;

    (void)state;
    for (uint64_t i = 0; i < 10000; i++) {
        const int64_t label = generated_label((struct sample_key){1, GENERATED_TRAIN, i});

        assert_in_range(label, 0, 999);
        n_seen += !seen[label];
        seen[label] = 1;
    }
    assert_int_equal(n_seen, 1000);
}

static void test_threads_change_nothing(void **state)
{
    char *const one = temp_dir(), *const three = temp_dir(), *const other = temp_dir();
    struct prepare_like p = like(one, 40);
    struct prepare_result r;
    struct stat a, b;

    (void)state;
    p.n_threads = 1;
    assert_int_equal(prepare_like(p, &r), 0);
    p.n_threads = 3;
    p.to = three;
    assert_int_equal(prepare_like(p, &r), 0);
    assert_same_sets(one, three);
    p.to = other;
    p.seed = 2;
    assert_int_equal(prepare_like(p, &r), 0);
    a = stat_of(one, "train.rec");
    b = stat_of(other, "train.rec");
    assert_int_not_equal(a.st_size, b.st_size);
    remove_dir(one);
    remove_dir(three);
    remove_dir(other);
}

static void test_a_second_run_changes_nothing(void **state)
{
    char *const to = temp_dir();
    struct prepare_result first, again;
    struct stat before, after;

    (void)state;
    assert_int_equal(prepare_like(like(to, 20), &first), 0);
    assert_int_equal(first.already, 0);
    before = stat_of(to, "train.rec");
    assert_int_equal(prepare_like(like(to, 20), &again), 0);
    assert_int_equal(again.already, 1);
    assert_int_equal(again.content_checksum, first.content_checksum);
    after = stat_of(to, "train.rec");
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(prepare_like(like(to, 21), &again), 0); /* another set of ours */
    assert_int_equal(again.already, 0);
    assert_true(check_samples(to, 21) / 21 < 0.1);
    remove_dir(to);
}

/* Damage in a split is noticed and only that split made again. */
static void test_what_is_whole_is_left_alone(void **state)
{
    char *const to = temp_dir(), *const whole = temp_dir();
    char *const val = file_join(to, "val.rec");
    struct prepare_result r;
    struct stat before, after;
    int fd;

    (void)state;
    assert_int_equal(prepare_like(like(to, 30), &r), 0);
    assert_int_equal(prepare_like(like(whole, 30), &r), 0);
    before = stat_of(to, "train.rec");
    fd = open(val, O_WRONLY);
    assert_int_equal(pwrite(fd, "x", 1, 5000), 1);
    close(fd);
    assert_int_equal(prepare_like(like(to, 30), &r), 0);
    assert_int_equal(r.already, 0);
    after = stat_of(to, "train.rec");
    assert_int_equal(before.st_ino, after.st_ino);
    assert_same_sets(to, whole);
    free(val);
    remove_dir(to);
    remove_dir(whole);
}

/* Killed while the training split is written. */
static void test_a_killed_run_is_harmless(void **state)
{
    char *const to = temp_dir(), *const whole = temp_dir();
    char *const part = file_join(to, "train.rec.tmp");
    struct prepare_result r;
    int status;
    const pid_t child = fork();

    (void)state;
    if (child == 0)
        _exit(prepare_like(like(to, 5000), &r) < 0);
    for (int i = 0; i < 6000 && !file_exists(part); i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_true(file_exists(part));
    assert_int_equal(prepare_like(like(to, 12), &r), 0);
    assert_int_equal(r.already, 0);
    assert_int_equal(prepare_like(like(whole, 12), &r), 0);
    assert_same_sets(to, whole);
    assert_false(file_exists(part));
    free(part);
    remove_dir(to);
    remove_dir(whole);
}

static void test_other_data_without_a_description_is_seen(void **state)
{
    static const char *const names[] = {
        "train-00000-of-00002",    "validation-00000-of-00128", "val.rec",  "val.idx",
        "train-images-idx3-ubyte", "t10k-images-idx3-ubyte.gz", "val.json", "val.tfrecord"};
    struct prepare_result r;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char *const to = temp_dir(), *const made = file_join(to, "dataset.json");

        write_file(to, names[i], "somebody's", 10);
        if (prepare_like(like(to, 4), &r) != E_USAGE)
            fail_msg("%s was not seen", names[i]);
        assert_reason_has("holds another data set");
        assert_false(file_exists(made));
        free(made);
        remove_dir(to);
    }
}

static void test_other_data_is_not_touched(void **state)
{
    static const char other[] = "{\"name\": \"fashion-mnist\"}";
    char *const to = temp_dir(), *const json = file_join(to, "dataset.json");
    struct prepare_result r;
    char *text;
    size_t n;

    (void)state;
    write_file(to, "train.rec", "somebody's", 10);
    assert_int_equal(prepare_like(like(to, 4), &r), E_USAGE);
    assert_reason_has("holds another data set");
    write_file(to, "dataset.json", other, sizeof(other) - 1);
    assert_int_equal(prepare_like(like(to, 4), &r), E_USAGE);
    assert_int_equal(stat_of(to, "train.rec").st_size, 10);
    assert_int_equal(file_read(json, 1000, &text, &n), 0);
    assert_string_equal(text, other);
    free(text);
    free(json);
    remove_dir(to);
}

static void test_photographs_that_are_none(void **state)
{
    char *const to = temp_dir(), *const from = temp_dir();
    struct prepare_like p = like(to, 3);
    struct prepare_result r;

    (void)state;
    p.photos = from;
    write_file(from, "notes.txt", "no picture", 10);
    assert_int_equal(prepare_like(p, &r), E_DATA);
    assert_reason_has("hold no JPEG file");
    p.photos = "/nonexistent/photos";
    assert_int_equal(prepare_like(p, &r), E_IO);
    assert_reason_has("/nonexistent/photos");
    remove_dir(from);
    remove_dir(to);
}

/* Broken and tiny pictures are named and left out; when nothing else is there it is an error. */
static void test_photographs_that_can_not_be_read(void **state)
{
    char *const to = temp_dir(), *const from = temp_dir(), *const ear = temp_dir();
    struct prepare_like p = like(to, 3);
    struct prepare_result r;
    char *said;
    int saved;

    (void)state;
    p.photos = from;
    write_file(from, "broken.jpg", "\xFF\xD8\xFF\xE0 and no more", 16);
    write_photo(from, "small.jpg", 40, 90, 4);
    saved = hear(ear);
    assert_int_equal(prepare_like(p, &r), E_DATA);
    said = heard(ear, saved);
    assert_reason_has("no photograph could be decoded of the 2 tried");
    assert_non_null(strstr(said, "broken.jpg: "));
    assert_non_null(strstr(said, "small.jpg: the picture has 40 x 90 pixels"));
    free(said);
    write_photo(from, "good.jpg", 300, 200, 5);
    saved = hear(ear);
    assert_int_equal(prepare_like(p, &r), 0);
    free(heard(ear, saved));
    assert_true(check_samples(to, 3) < 1.0);
    remove_dir(from);
    remove_dir(to);
    remove_dir(ear);
}

static void test_names_and_counts_that_are_refused(void **state)
{
    struct prepare_like p = like("/nonexistent/to", 0);
    struct prepare_result r;

    (void)state;
    assert_int_equal(prepare_like(p, &r), E_USAGE);
    assert_reason_has("expected 1 to 100000000");
    p.n_train = 5;
    p.name = "coco";
    assert_int_equal(prepare_like(p, &r), E_USAGE);
    assert_reason_has("coco");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drawn_as_published),
        cmocka_unit_test(test_files_are_as_drawn),
        cmocka_unit_test(test_labels_cover_the_classes),
        cmocka_unit_test(test_threads_change_nothing),
        cmocka_unit_test(test_a_second_run_changes_nothing),
        cmocka_unit_test(test_what_is_whole_is_left_alone),
        cmocka_unit_test(test_a_killed_run_is_harmless),
        cmocka_unit_test(test_other_data_without_a_description_is_seen),
        cmocka_unit_test(test_other_data_is_not_touched),
        cmocka_unit_test(test_photographs_that_are_none),
        cmocka_unit_test(test_photographs_that_can_not_be_read),
        cmocka_unit_test(test_names_and_counts_that_are_refused),
    };

    return cmocka_run_group_tests(tests, make_photos, remove_photos);
}
