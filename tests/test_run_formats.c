/* The program from one format to the next: `stave prepare` writes each, `stave run` ends with the
 * same bytes from any of them. */
#include "cli/progress.h"
#include "scratch.h"
#include "small_run.h"

enum { N_FORMS = 5 };

static const struct {
    const char *name, *options, *train;
} forms[N_FORMS] = {
    {"tf", "--format tfrecord", "train.tfrecord"},
    {"shards", "--format tfrecord --shards 4", "train-00003-of-00004"},
    {"tar", "--format webdataset", "train.tar"},
    {"tars", "--format webdataset --shards 3", "train/train-00002-of-00003.tar"},
    {"classes", "--format folder", "train/00002"},
};

/* dir/classes, class by class, and dir/rec made of it, so that all have one order. */
static void make_all(const char *dir)
{
    run_data(dir, "train", RUN_TRAIN, NULL);
    run_data(dir, "val", RUN_VAL, NULL);
    free(program_run(dir, 0, "prepare resnet50 --from %s --to %s/classes --format folder", dir,
                     dir));
    free(program_run(dir, 0, "prepare resnet50 --from %s/classes --to %s/rec", dir, dir));
    for (int i = 0; i < N_FORMS; i++) {
        char *const path = xasprintf("%s/%s/%s", dir, forms[i].name, forms[i].train);
        char *const again = program_run(dir, 0, "prepare resnet50 --from %s/rec --to %s/%s %s", dir,
                                        dir, forms[i].name, forms[i].options);

        assert_true(file_exists(path));
        assert_says(again, "24 training and 10 validation samples in");
        assert_true((strstr(again, "(already there, verified)") != NULL) == (i == N_FORMS - 1));
        assert_null(strstr(again, "%")); /* no bar where no terminal is */
        free(again);
        free(path);
    }
}

static void run_on(const char *dir, const char *form, const char *out, const char *options)
{
    char *said;

    if (run_words(dir, NULL, &said, "-b 6 --steps 3 -d %s/%s --out %s/%s %s", dir, form, dir, out,
                  options) != 0)
        fail_msg("%s", said);
    free(said);
}

static int same_checkpoints(const char *dir, const char *a, const char *b)
{
    char *const x = file_join(dir, a), *const y = file_join(dir, b);
    size_t nx, ny;
    char *const p = small_bytes(x, CHECKPOINT_NAME, &nx), *const q =
                                                              small_bytes(y, CHECKPOINT_NAME, &ny);
    const int same = nx == ny && memcmp(p, q, nx) == 0;

    free(p);
    free(q);
    free(x);
    free(y);
    return same;
}

static void any_format_gives_the_same_run(void **state)
{
    const char *const dir = *state;

    make_all(dir);
    run_on(dir, "rec", "run-rec", "--seed 5");
    run_on(dir, "rec", "run-other", "--seed 6");
    assert_false(same_checkpoints(dir, "run-rec", "run-other"));
    run_on(dir, ".", "run-shuffled", "--seed 5"); /* the order before it was class by class */
    assert_false(same_checkpoints(dir, "run-rec", "run-shuffled"));
    for (int i = 0; i < N_FORMS; i++) {
        char *const out = xasprintf("run-%s", forms[i].name);

        run_on(dir, forms[i].name, out, i % 2 ? "--seed 5 -j 3" : "--seed 5");
        if (!same_checkpoints(dir, "run-rec", out))
            fail_msg("from %s other weights come out", forms[i].name);
        free(out);
    }
}

static void prepare_says_what_is_wrong(void **state)
{
    const char *const dir = *state;
    char *said;

    run_data(dir, "train", RUN_TRAIN, NULL);
    said = program_run(dir, 2, "prepare resnet50 --from %s --to %s/out --format zip", dir, dir);
    assert_says(said, "one of recordio, tfrecord, webdataset, folder");
    free(said);
    said = program_run(dir, 2, "prepare resnet50 --sample --to %s/out --format tfrecord", dir);
    assert_says(said, "--sample makes RecordIO");
    free(said);
    said = program_run(dir, 3, "prepare resnet50 --from %s --to %s/out", dir, dir);
    assert_says(said, "holds neither val.rec nor");
    free(said);
    run_data(dir, "val", RUN_VAL, NULL);
    said = program_run(
        dir, 2, "prepare resnet50 --from %s --to %s/many --format tfrecord --shards 11", dir, dir);
    assert_says(said, "11 shards are more than the 10 samples of the validation split");
    free(said);
    {
        char *const many = file_join(dir, "many");

        assert_false(file_exists(many)); /* not even begun */
        free(many);
    }
    said = program_run(dir, 0,
                       "prepare resnet50 --from %s/train.rec --to %s/out --shards 2 "
                       "--format tfrecord",
                       dir, dir); /* a data set without splits */
    assert_says(said, "24 training and 0 validation samples");
    free(said);
    said = program_run(dir, 2,
                       "prepare resnet50 --from %s/train.rec --to %s/out --shards 3 "
                       "--format tfrecord",
                       dir, dir);
    assert_says(said, "train-00000-of-00002 is there already, of another set than was asked for");
    free(said);
}

static void check_line(struct prepare_step step, double seconds, const char *want)
{
    struct str line = STR_INIT;

    progress_line(&step, seconds, &line);
    assert_string_equal(line.s, want);
    str_release(&line);
}

/* Of what was there before neither rate nor time left know anything. */
static void progress_is_told(void **state)
{
    (void)state;
    check_line(
        (struct prepare_step){.what = "train", .done = 250, .total = 1000, .bytes = 50000000}, 2.5,
        "train:  25 %, 250 of 1000, 100 samples/s, 20.0 MB/s, 8 s left");
    check_line((struct prepare_step){"train", 600, 1000, 20000000, 500}, 50,
               "train:  60 %, 600 of 1000, 2 samples/s, 0.4 MB/s, 3 min 20 s left");
    check_line((struct prepare_step){.what = "val", .done = 1, .total = 100001}, 0.1,
               "val:   0 %, 1 of 100001, 10 samples/s, 2 h 46 min left");
    check_line((struct prepare_step){.what = "val", .done = 10, .total = 10}, 5,
               "val: 100 %, 10 of 10, 2 samples/s, took 5 s");
    check_line((struct prepare_step){.what = "val", .done = 0, .total = 10}, 5,
               "val:   0 %, 0 of 10");
}

#define S(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        S(any_format_gives_the_same_run),
        S(prepare_says_what_is_wrong),
        cmocka_unit_test(progress_is_told),
    };

    return cmocka_run_group_tests_name("run_formats", tests, NULL, NULL);
}
