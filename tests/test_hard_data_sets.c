/* Hard inputs, whole data sets through the program as people call it: names, class folders, labels,
 * sizes, files that change. Each line of the table says how the command ended. The device computes
 * nothing, so only the data counts. */
#include "data/recordio_writer.h"
#include "hard_data.h"
#include "run_fixture.h"

/* Each whole run writes a checkpoint of 100 MB; what is found before the first step needs none. */
#define NULL_RUN "run resnet50 -p sample --device null --threads 1 --seed 5 "
#define LOOK NULL_RUN "--dry-run "

/* DIR/SPLIT/CLASS/NAME. */
static void put_picture(const char *dir, const char *split, const char *class, const char *name,
                        const struct bytes *b)
{
    char *const folder = xasprintf("%s/%s", split, class);
    char *const path = xasprintf("%s/%s", folder, name);

    make_dir(dir, folder);
    write_file(dir, path, b->data, b->n);
    free(folder);
    free(path);
}

/* A picture in each class of a split. */
static void put_classes(const char *dir, const char *split, const char *const *classes, int n)
{
    struct bytes jpeg = {0};

    for (int i = 0; i < n; i++) {
        simple_jpeg(SIZE, SIZE, i, &jpeg);
        put_picture(dir, split, classes[i], "1.jpg", &jpeg);
    }
    bytes_release(&jpeg);
}

static int n_lines(const char *text, const char *start)
{
    int n = 0;

    for (const char *p = text; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
        n += strncmp(p, start, strlen(start)) == 0;
    return n;
}

static double picture_count(const char *dir, const char *run, const char *trait)
{
    char *const folder = file_join(dir, run);
    cJSON *const doc = read_json(folder, "result.json");
    const double n = number_of(cJSON_GetObjectItemCaseSensitive(doc, "pictures"), trait);

    cJSON_Delete(doc);
    free(folder);
    return n;
}

static const char *const odd_names[] = {"-rf",
                                        "a b",
                                        "b\nnew line",
                                        "c\ttab",
                                        "d\"quote'\\back",
                                        "e\x1b[31mred",
                                        "f%s%n%d",
                                        "g\xFF\xFE",
                                        "h \xC3(",
                                        "i*?[x]",
                                        "j$(id);&|",
                                        "k\r\rreturn",
                                        "l\x7F"
                                        "del",
                                        "n00000001",
                                        "日本",
                                        "ﬁne\xE2\x80\xAE"};
enum { N_ODD = COUNT_OF(odd_names) };

/* Kind i of the pictures that the result counts. */
static void make_odd(int i, struct bytes *out)
{
    static const struct jpeg_kind kinds[] = {{.components = 4}, {.components = 1}};
    uint8_t *const px = smooth_picture(SIZE, SIZE, 1);
    uint8_t *const rows = xcalloc(SIZE * SIZE, 8);

    if (i < 2)
        make_jpeg(&kinds[i], px, SIZE, SIZE, out);
    else if (i < 4)
        make_png(SIZE, SIZE, i == 2 ? PNG_COLOR_TYPE_RGB_ALPHA : PNG_COLOR_TYPE_RGB,
                 i == 2 ? 8 : 16, 0, rows, out);
    else
        make_jpeg(&plain_jpeg, px, SIZE, SIZE, out);
    free(px);
    free(rows);
}

/* A class folder for each name, with one whole picture and one that is cut. */
static void put_odd_names(const char *dir)
{
    struct bytes b = {0}, cut = {0};

    simple_jpeg(3 * SIZE, 3 * SIZE, 1, &cut);
    cut.n /= 2;
    for (int i = 0; i < N_ODD; i++) {
        make_odd(i % 5, &b);
        put_picture(dir, "train", odd_names[i], odd_names[(i + 3) % N_ODD], &b);
        put_picture(dir, "val", odd_names[i], odd_names[i], &b);
        put_picture(dir, "train", odd_names[i], "z\n\x1B\xFF.jpg", &cut);
    }
    bytes_release(&b);
    bytes_release(&cut);
}

static void check_odd_run(const char *dir)
{
    static const char *const traits[] = {"cmyk", "grey", "alpha", "deep"};
    char *const said = program_run(dir, 0, NULL_RUN "-d %s -b %d --steps 1 --classes %d --out %s/r",
                                   dir, 2 * N_ODD, N_ODD, dir);
    cJSON *const events = read_lines(dir, "r/events.jsonl");

    assert_clean(said);
    assert_int_equal(n_lines(said, "stave: warning: bad sample: "), 8); /* the rest in events */
    assert_says(said, "the JPEG is truncated");
    assert_int_equal(count_key(events, "bad_sample", NULL), N_ODD);
    assert_true(result_of(dir, "r", "bad_samples") == N_ODD);
    assert_true(result_of(dir, "r", "replaced_samples") == N_ODD);
    assert_true(result_of(dir, "r", "samples_trained") == 2 * N_ODD);
    for (size_t i = 0; i < COUNT_OF(traits); i++) /* and once more for each that stands in */
        assert_true(picture_count(dir, "r", traits[i]) >= N_ODD / 5);
    assert_true(picture_count(dir, "r", "exif") == 0);
    outcome("A1", N_ODD,
            "(A2, A5, A8 too) `run` on a folder of odd and cut pictures: exit 0; in the result: %g "
            "bad, %g replaced; %g cmyk, %g grey, %g alpha, %g deep, %g png used",
            result_of(dir, "r", "bad_samples"), result_of(dir, "r", "replaced_samples"),
            picture_count(dir, "r", "cmyk"), picture_count(dir, "r", "grey"),
            picture_count(dir, "r", "alpha"), picture_count(dir, "r", "deep"),
            picture_count(dir, "r", "png"));
    cJSON_Delete(events);
    free(said);
}

static void test_b1_odd_names_and_pictures(void **state)
{
    char *const dir = temp_dir();
    cJSON *json;
    char *said;

    (void)state;
    put_odd_names(dir);
    check_odd_run(dir);
    said =
        program_run(dir, 3, NULL_RUN "-d %s -b 8 --steps 8 --classes %d --on-bad fail --out %s/f",
                    dir, N_ODD, dir);
    assert_clean(said);
    assert_says(said, "the JPEG is truncated");
    free(said);
    outcome("A5", 1, "`run --on-bad fail` on cut pictures: exit 3, file and reason named");
    said = program_run(dir, 0, "prepare resnet50 --from %s --to %s/p", dir, dir);
    assert_clean(said);
    assert_says(said, "16 of 32 samples in");
    free(said);
    json = read_json(dir, "p/train.json");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(json, "classes")), N_ODD);
    cJSON_Delete(json);
    free(program_run(dir, 0, LOOK "-d %s/p -b 8 --classes %d --out %s/q", dir, N_ODD, dir));
    outcome("B1", N_ODD,
            "names with spaces, newlines, control characters, other encodings, leading dash: `run` "
            "and `prepare` exit 0; events and train.json parse; messages stay one line each");
    remove_dir(dir);
}

/* The only list of ours is the index of a .rec file. */
static void test_b2_a_name_where_a_number_belongs(void **state)
{
    static const char *const wrong[] = {"kitten", "-1", "1.5", "0x10", "", "12kitten", "nan"};
    char *const dir = temp_dir();
    char *said;

    (void)state;
    run_data(dir, "train", RUN_TRAIN, NULL);
    run_data(dir, "val", RUN_VAL, NULL);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        char *const text = xasprintf("0\t0\ncat_9.jpg\t%s\n", wrong[i]);

        write_file(dir, "train.idx", text, strlen(text));
        said = program_run(dir, 3, NULL_RUN "-d %s -b 6 --steps 1 --out %s/r", dir, dir);
        assert_says(said, "train.idx line 2 is not \"key TAB byte offset\"");
        free(said);
        free(text);
    }
    said = program_run(dir, 0, "prepare resnet50 --index %s/train.rec", dir);
    assert_says(said, "has 24 records now; there was none that could be read");
    free(said);
    write_file(dir, "train.idx", "0\t0\n1\t4\n", 8);
    said = program_run(dir, 0, "prepare resnet50 --index %s/train.rec", dir);
    assert_says(said, "1 entries at which no record starts and lacked 23 records");
    free(said);
    said = program_run(dir, 0, "prepare resnet50 --index %s/train.rec", dir);
    assert_says(said, "the old one was right");
    free(said);
    free(program_run(dir, 0, LOOK "-d %s -b 6 --out %s/r", dir, dir));
    free(program_run(dir, 3, "prepare resnet50 --index %s/none.rec", dir));
    free(program_run(dir, 2, "prepare resnet50 --index %s/train.rec --sample", dir));
    outcome(
        "B2", (int)COUNT_OF(wrong),
        "a class name in a list: class folders are the only list of labels, and names are what "
        "they hold; in an .idx: exit 3 with file and line, `prepare --index` mends it (exit 0)");
    remove_dir(dir);
}

static void test_b3_class_folders(void **state)
{
    static const char *const classes[] = {"c0", "c1", "c2", "c3", "c4"};
    static const char *const without[] = {"c0", "c1", "c3", "c4"};
    char *const dir = temp_dir();
    cJSON *json;
    char *said;

    (void)state;
    put_classes(dir, "train", classes, 5);
    put_classes(dir, "val", without, 4);
    for (int i = 0; i < 2; i++) {
        said = i ? program_run(dir, 3, "prepare resnet50 --from %s --to %s/p", dir, dir)
                 : program_run(dir, 3, NULL_RUN "-d %s -b 5 --steps 1 --out %s/r", dir, dir);
        assert_says(said, "val has no class folder c2, which");
        assert_says(said, "has as number 2");
        free(said);
    }
    make_dir(dir, "val/c2"); /* empty, as the message says */
    said = program_run(dir, 0, LOOK "-d %s -b 5 --out %s/r", dir, dir);
    assert_says(said, "val/c2 is empty; it keeps its class number 2");
    free(said);
    free(program_run(dir, 0, "prepare resnet50 --from %s --to %s/p", dir, dir));
    json = read_json(dir, "p/val.json");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(json, "classes")), 5);
    cJSON_Delete(json);
    make_dir(dir, "val/c9");
    said = program_run(dir, 3, NULL_RUN "-d %s -b 5 --steps 1 --out %s/s", dir, dir);
    assert_says(said, "train has no class folder c9");
    free(said);
    make_dir(dir, "train/c9");
    said = program_run(dir, 3, NULL_RUN "-d %s -b 5 --steps 1 --classes 5 --out %s/s", dir, dir);
    assert_says(said, "has 6 classes");
    free(said);
    outcome("B3", 6,
            "an empty class folder keeps its number, with a warning (exit 0); one missing "
            "in train or val, or one more than the model has: exit 3, folder named");
    remove_dir(dir);
}

static void write_labels(const char *dir, const char *split, int first, int n)
{
    char *const prefix = file_join(dir, split);
    struct recordio_writer *w;
    struct bytes jpeg = {0};

    simple_jpeg(SIZE, SIZE, 1, &jpeg);
    assert_int_equal(recordio_writer_open(prefix, &w), 0);
    for (int i = 0; i < n; i++)
        assert_int_equal(recordio_writer_add(w, (struct recordio_entry){.label = (float)(first + i),
                                                                        .payload = jpeg.data,
                                                                        .n = jpeg.n}),
                         0);
    assert_int_equal(recordio_writer_commit(w, NULL), 0);
    bytes_release(&jpeg);
    free(prefix);
}

/* 20 classes. {first label and number of labels in train, in val, offset, exit code, words} */
static void test_b6_labels_of_a_run(void **state)
{
    static const struct {
        int first, n, first_val, n_val, classes, offset, code;
        const char *says;
    } cases[] = {
        {0, 20, 0, 20, 20, 0, 0, ""},
        {1, 20, 1, 20, 20, 0, 3, "run from 1 to 20, which label-offset -1 would make fit"},
        {1, 20, 1, 20, 20, -1, 0, ""},
        {1, 20, 1, 20, 21, 0, 0, ""}, /* 0 is the background */
        {0, 20, 1, 20, 20, 0, 3, "val.rec"},
        {0, 21, 0, 20, 20, 0, 0, "label 20; such samples count as bad"},
        {0, 30, 0, 20, 20, 0, 3, "10 of 30 labels checked are not in 0..19"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *const dir = temp_dir();
        char *said;

        write_labels(dir, "train", cases[i].first, cases[i].n);
        write_labels(dir, "val", cases[i].first_val, cases[i].n_val);
        said = program_run(dir, cases[i].code,
                           LOOK "-d %s -b 4 --classes %d --label-offset %d --out %s/r", dir,
                           cases[i].classes, cases[i].offset, dir);
        assert_says(said, cases[i].says);
        free(said);
        remove_dir(dir);
    }
    outcome(
        "B6", (int)COUNT_OF(cases),
        "`run` on labels from 1: exit 3 and the offset to give, exit 0 with it or with one class "
        "more; one label too large: a warning and a bad sample, exit 0; many: exit 3");
}

/* The file loses its second half, then everything, during a run. */
static void test_c6_cut_during_a_run(void **state)
{
    char *const dir = temp_dir(), *const rec = file_join(dir, "train.rec");
    char *const events = file_join(dir, "r/events.jsonl");
    char *const words = xasprintf(NULL_RUN "-d %s -b 4 --steps 100000000 --out %s/r", dir, dir);
    struct program p;
    struct stat st;
    cJSON *lines;
    char *said;

    (void)state;
    run_data(dir, "train", RUN_TRAIN, NULL);
    run_data(dir, "val", RUN_VAL, NULL);
    p = program_start(dir, 0, -1, words);
    wait_for_text(events, "\"step\"");
    assert_int_equal(stat(rec, &st), 0);
    assert_int_equal(truncate(rec, st.st_size / 2), 0);
    wait_for_text(events, "ends at byte");
    assert_int_equal(truncate(rec, 0), 0);
    assert_int_equal(program_wait(p, &said), 3);
    assert_says(said, "samples in a row could not be used");
    assert_says(said, "train.rec");
    lines = read_lines(dir, "r/events.jsonl");
    assert_true(count_key(lines, "bad_sample", NULL) >= 1);
    cJSON_Delete(lines);
    outcome("C6", 1,
            "`run` whose .rec is cut in half: goes on, bad samples named with their offset; "
            "cut to nothing: exit 3, file named; no signal");
    free(said);
    free(words);
    free(events);
    free(rec);
    remove_dir(dir);
}

/* Stderr goes nowhere for a while: hundreds of equal warnings. Returns what quiet_end wants. */
static int quiet_begin(void)
{
    const int saved = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);

    fflush(stderr);
    dup2(null, STDERR_FILENO);
    close(null);
    return saved;
}

static void quiet_end(int saved)
{
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
}

/* Every small size of data set and batch, with every depth of prefetch and number of threads. */
static void test_d7_little_data(void **state)
{
    const int saved = quiet_begin();
    int n_variants = 0;

    (void)state;
    for (int n = 1; n <= 5; n++) {
        struct variants v = variants_new();
        struct bytes jpeg = {0};
        struct source *s;

        for (int i = 0; i < n; i++) {
            simple_jpeg(SIZE, SIZE, i, &jpeg);
            variants_add(&v, jpeg.data, jpeg.n);
        }
        bytes_release(&jpeg);
        s = open_source(v.dir);
        for (int i = 0; i < 8 * 4 * 2 * 2; i++, n_variants++) {
            struct pipeline_config f = i & 1 ? eval_config(s) : train_config(s);
            const size_t batch = (size_t)(1 + i / 2 % 8);
            const size_t steps = i & 1               ? ((size_t)n + batch - 1) / batch
                                 : (size_t)n > batch ? (size_t)n / batch
                                                     : 1;
            struct pipeline *p;
            size_t total = 0;

            f.batch_size = batch;
            f.prefetch = 1 + i / 16 % 4;
            f.n_threads = 1 + i / 64 * 3;
            assert_int_equal(pipeline_steps_per_epoch(&f), steps);
            p = open_pipeline(&f);
            for (size_t k = 0; k < 3 * steps; k++) {
                const struct batch *const b = next(p);

                for (size_t at = 0; at < batch; at++)
                    assert_true(weights(b)[at] == (at < b->n_real ? 1.0f : 0.0f));
                total += b->n_real;
                pipeline_done(p, b);
            }
            assert_int_equal(total, 3 * (i & 1               ? (size_t)n
                                         : (size_t)n > batch ? steps * batch
                                                             : (size_t)n));
            pipeline_close(p);
        }
        source_close(s);
        remove_dir(v.dir);
    }
    quiet_end(saved);
    outcome("D7", n_variants,
            "1 to 5 pictures in batches of 1 to 8, any prefetch and threads: no "
            "wait, every picture once, the rest of a batch has no weight");
}

static void test_d7_one_picture(void **state)
{
    static const char *const classes[] = {"a"};
    char *const dir = temp_dir();
    char *said;

    (void)state;
    put_classes(dir, "train", classes, 1);
    put_classes(dir, "val", classes, 1);
    said = program_run(dir, 0, NULL_RUN "-d %s -b 32 -j 4 --steps 5 --out %s/r", dir, dir);
    assert_says(said, "holds 1 samples, fewer than the batch of 32");
    free(said);
    assert_true(result_of(dir, "r", "samples_trained") == 5);
    outcome("D7", 1,
            "`run` on one picture with a batch of 32: a warning that "
            "says what is trained on, exit 0");
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_b1_odd_names_and_pictures),
        cmocka_unit_test(test_b2_a_name_where_a_number_belongs),
        cmocka_unit_test(test_b3_class_folders),
        cmocka_unit_test(test_b6_labels_of_a_run),
        cmocka_unit_test(test_c6_cut_during_a_run),
        cmocka_unit_test(test_d7_little_data),
        cmocka_unit_test(test_d7_one_picture),
    };

    return cmocka_run_group_tests_name("hard data sets", tests, NULL, NULL);
}
