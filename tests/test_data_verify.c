/* The look at a data set, from inside: figures against counts made here, twins, classes. */
#include "verify_fixture.h"

#include <math.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/random.h"

/* ---- figures ---- */

/* The smallest value that at least this share of all do not exceed. */
static double ranked(const int *values, int n, double share)
{
    double best = INFINITY;

    for (int i = 0; i < n; i++) {
        int below = 0;

        for (int k = 0; k < n; k++)
            below += values[k] <= values[i];
        if (below >= share * n && values[i] < best)
            best = values[i];
    }
    return best;
}

static void check_spread(struct verify_spread s, const int *values, int n)
{
    assert_true(s.min == ranked(values, n, 0));
    assert_true(s.low == ranked(values, n, 0.05));
    assert_true(s.median == ranked(values, n, 0.5));
    assert_true(s.high == ranked(values, n, 0.95));
    assert_true(s.max == ranked(values, n, 1));
}

static void test_figures(void **state)
{
    enum { N = 61, CLASSES = 5 };
    static const int of_class[CLASSES] = {20, 0, 30, 1, 10};
    char *const dir = temp_dir();
    int width[N], height[N], size[N], n = 0, largest = 0, sum = 0, pages = 0;
    struct str said = STR_INIT;
    struct verify v;

    (void)state;
    for (int c = 0; c < CLASSES; c++) {
        char name[32];

        snprintf(name, sizeof(name), "c%d", c);
        make_dir(dir, name);
        for (int i = 0; i < of_class[c]; i++, n++) {
            struct bytes b = {0};

            width[n] = 20 + (int)(random_mix((uint64_t)n) % 50);
            height[n] = 20 + (int)(random_mix((uint64_t)n + 1000) % 30);
            simple_jpeg(width[n], height[n], n, &b);
            snprintf(name, sizeof(name), "c%d/%03d.jpg", c, i);
            write_file(dir, name, b.data, b.n);
            size[n] = (int)b.n;
            sum += size[n];
            pages += (size[n] + 4095) / 4096;
            if (width[n] * height[n] * 3 + size[n] >
                width[largest] * height[largest] * 3 + size[largest])
                largest = n;
            bytes_release(&b);
        }
    }
    v = look(dir, 1000, &said);
    assert_int_equal(v.n_splits, 1);
    assert_int_equal(v.split[0].n_good, N);
    check_spread(v.split[0].width, width, N);
    check_spread(v.split[0].height, height, N);
    check_spread(v.split[0].bytes, size, N);
    for (int i = 0; i < N; i++) {
        width[i] *= height[i]; /* from here on: pixels */
    }
    assert_true(v.split[0].megapixels.median == ranked(width, N, 0.5) / 1e6);
    assert_int_equal(v.split[0].largest, largest);
    assert_int_equal(v.split[0].decode_bytes, width[largest] * 3 + size[largest]);
    assert_int_equal(v.split[0].epoch_bytes, sum);
    assert_int_equal(v.split[0].cache_bytes, pages * 4096);
    assert_int_equal(v.split[0].classes.n, CLASSES);
    assert_int_equal(v.split[0].classes.n_empty, 1);
    assert_int_equal(v.split[0].classes.least, 0);
    assert_int_equal(v.split[0].classes.median, 10);
    assert_int_equal(v.split[0].classes.most, 30);
    for (int c = 0; c < CLASSES; c++)
        assert_int_equal(v.split[0].classes.samples[c], of_class[c]);
    assert_int_equal(v.n[VERIFY_NOTE], 1); /* the empty class */
    assert_int_equal(verify_findings(&v), 0);
    verify_release(&v);
    str_release(&said);
    remove_dir(dir);
}

static void test_memory_of_a_run(void **state)
{
    char *const dir = temp_dir();
    struct str said = STR_INIT;
    struct verify v;
    struct verify_memory m;

    (void)state;
    put_jpeg(dir, "a", "1.jpg", 100, 1);
    v = look(dir, 0, &said);
    m = verify_memory(&v, (struct verify_run_shape){
                              .batch = 32, .prefetch = 3, .image_size = 224, .n_threads = 5});
    assert_int_equal(m.ring, 3 * 32 * 224 * 224 * 3);
    assert_int_equal(m.threads, 5 * v.split[0].decode_bytes);
    verify_release(&v);
    str_release(&said);
    remove_dir(dir);
}

#ifdef __SANITIZE_THREAD__
enum { SHADOWED = 1 }; /* each byte has four more: growth says nothing */
#else
enum { SHADOWED = 0 };
#endif

/* How much the process grew at its most by a look at one picture; in a process of its own. */
static double growth(const char *dir)
{
    int pipes[2], status;
    double kib = 0;
    pid_t child;

    assert_int_equal(pipe(pipes), 0);
    child = fork();
    if (child == 0) {
        struct rusage before, after;
        struct verify v;

        getrusage(RUSAGE_SELF, &before);
        if (verify_run(&(struct verify_config){.dir = dir}, &v) < 0)
            _exit(1);
        getrusage(RUSAGE_SELF, &after);
        kib = (double)(after.ru_maxrss - before.ru_maxrss);
        _exit(write(pipes[1], &kib, sizeof(kib)) != sizeof(kib));
    }
    close(pipes[1]);
    assert_int_equal(read(pipes[0], &kib, sizeof(kib)), sizeof(kib));
    close(pipes[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    return kib * 1024;
}

/* The bound is near what decoding really takes: the coefficients of a progressive picture count. */
static void test_the_memory_of_the_largest_picture(void **state)
{
    enum { W = 2400, H = 2000 };
    static const struct jpeg_kind kinds[] = {{.components = 3, .h = 1, .v = 1},
                                             {.components = 3, .h = 1, .v = 1, .progressive = 1},
                                             {.components = 4, .h = 1, .v = 1, .progressive = 1}};
    char *dir;
    uint8_t *px;

    (void)state;
    if (SHADOWED)
        skip();
    dir = temp_dir();
    px = picture_new(W, H, 1);
    make_dir(dir, "a");
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct str said = STR_INIT;
        struct bytes b = {0};
        struct verify v;
        double grown, bound;

        make_jpeg(&kinds[i], px, W, H, &b);
        write_file(dir, "a/1.jpg", b.data, b.n);
        bytes_release(&b);
        grown = growth(dir);
        v = look(dir, 0, &said);
        bound = (double)v.split[0].decode_bytes;
        if (grown > 1.25 * bound + 4e6 || grown < 0.6 * bound)
            fail_msg("kind %zu: it grew by %.0f bytes, the bound says %.0f", i, grown, bound);
        verify_release(&v);
        str_release(&said);
    }
    free(px);
    remove_dir(dir);
}

/* Damage that a crop at the top does not meet: the lower half of the data is gone, the end mark is
 * there. */
static void test_every_row_is_decoded(void **state)
{
    char *const dir = temp_dir();
    struct str said = STR_INIT;
    struct bytes b = {0};
    struct decoder *const d = decoder_new(0);
    struct image m = {0};
    struct rect whole;
    struct verify v;

    (void)state;
    make_dir(dir, "a");
    simple_jpeg(400, 400, 1, &b);
    b.n = b.n * 3 / 4;
    memcpy(b.data + b.n - 2, "\xFF\xD9", 2);
    write_file(dir, "a/1.jpg", b.data, b.n);
    assert_int_equal(decoder_begin(d, b.data, b.n, &whole), 0);
    assert_int_equal(decoder_crop(d, (struct rect){0, 0, 400, 100}, &m), 0);
    v = look(dir, 0, &said);
    assert_int_equal(v.n[VERIFY_BROKEN], 1);
    assert_says(said.s, "the JPEG is damaged near byte ");
    verify_release(&v);
    decoder_free(d);
    image_release(&m);
    bytes_release(&b);
    str_release(&said);
    remove_dir(dir);
}

/* What most pictures are is told once. */
static void test_what_is_usual_is_not_odd(void **state)
{
    static const struct jpeg_kind grey = {.components = 1}, four = {.components = 4};
    char *const dir = temp_dir();
    struct str said = STR_INIT;
    struct verify v;

    (void)state;
    make_dir(dir, "a");
    for (int i = 0; i < VERIFY_USUAL; i++) {
        uint8_t *const px = picture_new(16 + i, 16, i);
        struct bytes b = {0};
        char name[32];

        snprintf(name, sizeof(name), "a/%03d.jpg", i);
        make_jpeg(i == 0 ? &four : i <= 51 ? &grey : &plain_jpeg, px, 16 + i, 16, &b);
        write_file(dir, name, b.data, b.n);
        bytes_release(&b);
        free(px);
    }
    v = look(dir, 0, &said);
    assert_int_equal(v.n[VERIFY_ODD], 1);
    assert_int_equal(v.n[VERIFY_NOTE], 1);
    assert_says(said.s, "51 of 100 pictures of data: grey made RGB; that is the rule here");
    assert_says(said.s, "a/000.jpg|cmyk made RGB\n");
    verify_release(&v);
    put_jpeg(dir, "a", "more1.jpg", 20, 200);
    put_jpeg(dir, "a", "more2.jpg", 21, 201);
    v = look(dir, 0, &said); /* 51 of 102 are not more than half */
    assert_int_equal(v.n[VERIFY_ODD], 52);
    assert_int_equal(v.n[VERIFY_NOTE], 0);
    verify_release(&v);
    str_release(&said);
    remove_dir(dir);
}

/* ---- twins and classes ---- */

static void test_the_same_file_twice(void **state)
{
    char *const dir = temp_dir();
    struct str said = STR_INIT;
    struct verify v;

    (void)state;
    for (int i = 0; i < 6; i++) {
        char name[32];

        snprintf(name, sizeof(name), "%d.jpg", i);
        put_jpeg(dir, "train/a", name, 40, i);
        put_jpeg(dir, "val/a", name, 40, i + 10);
        put_jpeg(dir, "train/b", name, 40, i + 20);
        put_jpeg(dir, "val/b", name, 40, i + 30);
    }
    v = look(dir, 10, &said);
    assert_string_equal(said.s, "");
    verify_release(&v);
    put_jpeg(dir, "val/b", "leak.jpg", 40, 22);   /* train/b/2.jpg */
    put_jpeg(dir, "val/a", "moved.jpg", 40, 23);  /* train/b/3.jpg, another class */
    put_jpeg(dir, "train/b", "twice.jpg", 40, 0); /* train/a/0.jpg */
    put_jpeg(dir, "val/b", "vtwice.jpg", 40, 31); /* val/b/1.jpg */
    v = look(dir, 10, &said);
    assert_int_equal(v.n[VERIFY_LEAK], 2);
    assert_int_equal(v.n[VERIFY_TWICE], 2);
    assert_int_equal(verify_findings(&v), 2);
    assert_says(said.s, "val/b/leak.jpg|the same picture as file ");
    assert_says(said.s, "train/b/2.jpg, of the split train\n");
    assert_says(said.s, "train/b/3.jpg, of the split train; under another label, 0 and not 1\n");
    assert_says(said.s, "twice|");
    assert_says(said.s, "train/a/0.jpg; under another label, 1 and not 0\n");
    assert_says(said.s, "val/b/1.jpg\n");
    verify_release(&v);
    str_release(&said);
    remove_dir(dir);
}

static void test_class_folders_that_differ(void **state)
{
    static const char *const folders[] = {"train/a", "train/b", "train/d", "train/x",
                                          "val/b",   "val/c",   "val/d",   "val/z"};
    char *const dir = temp_dir();
    struct str said = STR_INIT;
    struct verify v;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        put_jpeg(dir, folders[i], "1.jpg", 20 + (int)i, (int)i);
    v = look(dir, 10, &said);
    assert_int_equal(v.n[VERIFY_CLASSES], 4);
    assert_int_equal(verify_findings(&v), 4);
    assert_says(said.s, "/val has no class folder a, which ");
    assert_says(said.s, "/train has as number 0");
    assert_says(said.s, "/train has no class folder c, which ");
    assert_says(said.s, "/val has no class folder x, which ");
    assert_says(said.s, "/train has no class folder z, which ");
    verify_release(&v);
    str_release(&said);
    remove_dir(dir);
}

/* The first name of them stands in the note, whatever order the listing has. */
static void test_what_is_no_file_is_named(void **state)
{
    static const char *const dangling[] = {"train/a/7", "train/a/3 of 4", "train/a/9"};
    char *const dir = temp_dir();
    struct str said = STR_INIT;
    struct verify v;

    (void)state;
    put_jpeg(dir, "train/a", "1.jpg", 20, 1);
    put_jpeg(dir, "val/a", "1.jpg", 20, 2);
    make_dir(dir, "train/a/5");
    for (size_t i = 0; i < COUNT_OF(dangling); i++) {
        char *const path = file_join(dir, dangling[i]);

        assert_int_equal(symlink("nowhere", path), 0);
        free(path);
    }
    v = look(dir, 10, &said);
    assert_int_equal(v.n[VERIFY_NOTE], 1);
    assert_int_equal(verify_findings(&v), 0);
    assert_says(said.s,
                "/train/a holds 4 entries that are no files, the first 3 of 4; they are left out");
    verify_release(&v);
    str_release(&said);
    remove_dir(dir);
}

static void test_a_split_that_is_missing(void **state)
{
    char *const dir = temp_dir(), *const nowhere = file_join(dir, "nowhere");
    struct str said = STR_INIT;
    struct verify v;

    (void)state;
    assert_int_equal(verify_run(&(struct verify_config){.dir = nowhere}, &v), E_IO);
    assert_int_equal(verify_run(&(struct verify_config){.dir = dir}, &v), E_DATA);
    put_jpeg(dir, "val/a", "1.jpg", 20, 1);
    v = look(dir, 10, &said);
    assert_int_equal(v.n[VERIFY_MISSING], 1);
    assert_int_equal(v.n_splits, 1);
    assert_int_equal(v.split[0].n_good, 1);
    assert_says(said.s, "holds no train split, which a run needs\n");
    verify_release(&v);
    make_dir(dir, "train/a");
    v = look(dir, 10, &said); /* there, but nothing in it */
    assert_int_equal(v.n[VERIFY_DAMAGED], 1);
    assert_int_equal(v.split[1].n_good, 1);
    assert_says(said.s, "/train holds no samples\n");
    verify_release(&v);
    free(nowhere);
    str_release(&said);
    remove_dir(dir);
}

/* ---- the command ---- */

static void test_the_document(void **state)
{
    char *const dir = temp_dir();
    const cJSON *split, *items, *first;
    char *said;
    cJSON *doc;

    (void)state;
    put_jpeg(dir, "train/a", "1.jpg", 40, 1);
    put_jpeg(dir, "val/a", "1.jpg", 50, 2);
    said = program_run(dir, 0, "prepare resnet50 --verify %s --json", dir);
    doc = cJSON_Parse(said);
    assert_true(number_of(doc, "findings") == 0);
    cJSON_Delete(doc);
    free(said);
    write_file(dir, "train/a/2 \xFF\".jpg", "GIF89a", 6);
    said = program_run(dir, 4, "prepare resnet50 --verify %s --json", dir);
    doc = cJSON_Parse(said);
    assert_true(number_of(doc, "findings") == 1);
    assert_true(number_of(cJSON_GetObjectItemCaseSensitive(doc, "counts"), "broken") == 1);
    split = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(doc, "splits"), 0);
    assert_string_equal(string_of(split, "name"), "train");
    assert_true(number_of(split, "samples") == 2 && number_of(split, "good") == 1);
    assert_true(number_of(cJSON_GetObjectItemCaseSensitive(split, "width"), "median") == 40);
    items = cJSON_GetObjectItemCaseSensitive(doc, "items");
    assert_int_equal(cJSON_GetArraySize(items), 1);
    first = cJSON_GetArrayItem(items, 0);
    assert_string_equal(string_of(first, "outcome"), "broken");
    assert_true(number_of(first, "index") == 1);
    assert_says(string_of(first, "where"), "/train/a/2 \xC3\xBF\".jpg");
    cJSON_Delete(doc);
    free(said);
    remove_dir(dir);
}

/* What belongs to another option is refused without it, not passed over. */
static void test_options_that_would_do_nothing(void **state)
{
    static const char *const of_verify[] = {"--json",          "-p quick",
                                            "--classes 3",     "--label-offset 1",
                                            "--num-threads 2", "--max-pixels 9"};
    static const char *const of_like[] = {"--samples 3", "--photos x", "--seed 3"};
    char *const dir = temp_dir(), *said;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(of_verify); i++) {
        said =
            program_run(dir, 2, "prepare resnet50 --from %s --to %s/x %s", dir, dir, of_verify[i]);
        assert_says(said, " belongs to --verify DIR; say that, too, or leave it out");
        free(said);
    }
    for (size_t i = 0; i < COUNT_OF(of_like); i++) {
        said = program_run(dir, 2, "prepare resnet50 --sample --to %s/x %s", dir, of_like[i]);
        assert_says(said, " belongs to --like NAME; say that, too, or leave it out");
        free(said);
    }
    free(program_run(dir, 2, "prepare resnet50 --verify %s --format tfrecord", dir));
    free(program_run(dir, 2, "prepare resnet50 --verify %s --shards 2", dir));
    remove_dir(dir);
}

static void test_wrong_calls(void **state)
{
    char *const dir = temp_dir();

    (void)state;
    put_jpeg(dir, "train/a", "1.jpg", 40, 1);
    free(program_run(dir, 2, "prepare resnet50 --verify %s --to %s/x", dir, dir));
    free(program_run(dir, 2, "prepare resnet51 --verify %s", dir));
    free(program_run(dir, 2, "prepare resnet50 --verify %s -p none", dir));
    free(program_run(dir, 2, "prepare resnet50 --verify %s/train/a/1.jpg", dir));
    free(program_run(dir, 3, "prepare resnet50 --verify %s/nowhere", dir));
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_memory_of_a_run),
        cmocka_unit_test(test_the_memory_of_the_largest_picture),
        cmocka_unit_test(test_every_row_is_decoded),
        cmocka_unit_test(test_what_is_usual_is_not_odd),
        cmocka_unit_test(test_the_same_file_twice),
        cmocka_unit_test(test_class_folders_that_differ),
        cmocka_unit_test(test_what_is_no_file_is_named),
        cmocka_unit_test(test_a_split_that_is_missing),
        cmocka_unit_test(test_the_document),
        cmocka_unit_test(test_options_that_would_do_nothing),
        cmocka_unit_test(test_wrong_calls),
    };

    return cmocka_run_group_tests_name("data verified", tests, NULL, NULL);
}
