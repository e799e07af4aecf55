/* Conversion between formats: the same samples in the same order from any of them, names of classes
 * kept, what is there never mixed or overwritten by something else; and independent readers in
 * Python agree about every record. */
#include "hand_tfrecord.h"
#include "test_data_pipeline.h"

#include "data/sink.h"

static const struct {
    const char *format;
    uint64_t n_shards;
    const char *opens; /* what the result is, below the folder it went to */
} forms[] = {
    {"recordio", 1, "train.rec"},   {"tfrecord", 1, "train.tfrecord"}, {"tfrecord", 3, "train"},
    {"webdataset", 1, "train.tar"}, {"webdataset", 4, "train"},        {"folder", 1, "train"},
};

/* Writes DIR/train in a form; returns what prepare_convert does. */
static int convert_form(const struct source *s, const char *dir, size_t form,
                        struct prepare_result *out)
{
    char *const prefix = file_join(dir, "train");
    const int rc = prepare_convert(s,
                                   &(struct prepare_to){.prefix = prefix,
                                                        .format = forms[form].format,
                                                        .n_shards = forms[form].n_shards},
                                   out);

    free(prefix);
    return rc;
}

/* One in each form, in a folder each; dirs is heap. */
static char **all_forms(const struct source *s)
{
    char **const dirs = xcalloc(COUNT_OF(forms), sizeof(*dirs));

    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        struct prepare_result made;

        dirs[i] = temp_dir();
        if (convert_form(s, dirs[i], i, &made) < 0)
            fail_msg("%s", err_reason());
        assert_int_equal(made.already, 0);
        assert_int_equal(made.n_train, s->n_samples);
    }
    return dirs;
}

static void remove_forms(char **dirs)
{
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        remove_dir(dirs[i]);
    free(dirs);
}

static struct source *open_form(const char *dir, size_t form)
{
    char *const path = file_join(dir, forms[form].opens);
    struct source *const s = open_source(path), *split;

    assert_int_equal(source_open_split(dir, "train", &split), 0); /* as a run finds it */
    assert_string_equal(split->path, path);
    source_close(split);
    free(path);
    return s;
}

static void assert_same_samples(const struct source *a, const struct source *b)
{
    struct sample x = {0}, y = {0};

    assert_int_equal(a->n_samples, b->n_samples);
    for (uint64_t i = 0; i < a->n_samples; i++) {
        int64_t label;

        assert_int_equal(source_read(a, i, &x), 0);
        assert_int_equal(source_read(b, i, &y), 0);
        assert_int_equal(x.label, y.label);
        assert_int_equal(source_label(b, i, &label), 0);
        assert_int_equal(label, x.label);
        assert_int_equal(x.n, y.n);
        assert_memory_equal(x.data, y.data, x.n);
    }
    sample_release(&x);
    sample_release(&y);
}

/* From each form into each other one, and again: nothing to do. */
static void test_every_form_into_every_form(void **state)
{
    char *const dir = mixed_folder(N_BAD);
    struct source *const origin = open_source(dir);
    char **const dirs = all_forms(origin);
    uint64_t sum = 0;

    (void)state;
    for (size_t from = 0; from < COUNT_OF(forms); from++) {
        struct source *const s = open_form(dirs[from], from);
        char **const again = all_forms(s);

        assert_same_samples(origin, s);
        for (size_t to = 0; to < COUNT_OF(forms); to++) {
            struct source *const made = open_form(again[to], to);
            struct prepare_result r;

            assert_same_samples(origin, made);
            assert_int_equal(convert_form(s, again[to], to, &r), 0);
            assert_int_equal(r.already, 1);
            assert_true(sum == 0 || r.content_checksum == sum);
            sum = r.content_checksum;
            source_close(made);
        }
        remove_forms(again);
        source_close(s);
    }
    remove_forms(dirs);
    source_close(origin);
    remove_dir(dir);
}

/* Bad samples too; their names differ from format to format, so only their number counts. */
static uint64_t batches(const struct pipeline_config *f, uint64_t n, uint64_t *n_bad)
{
    struct pipeline *const p = open_pipeline(f);
    uint64_t sum = CHECKSUM_INIT;

    for (uint64_t i = 0; i < n; i++) {
        const struct batch *const b = next(p);

        sum = batch_checksum(sum, b);
        pipeline_done(p, b);
    }
    *n_bad = pipeline_bad_count(p);
    pipeline_close(p);
    return sum;
}

static void check_streams(const struct source *a, const struct source *b)
{
    static const int threads[] = {1, 3}, ranks[] = {1, 2};

    for (int mode = 0; mode < 2; mode++)
        for (size_t t = 0; t < COUNT_OF(threads); t++)
            for (size_t r = 0; r < COUNT_OF(ranks); r++)
                for (uint64_t step = 0; step < 3; step += 2) {
                    struct pipeline_config f = mode ? eval_config(a) : train_config(a);
                    uint64_t bad[2], n;

                    f.n_threads = threads[t];
                    f.n_ranks = ranks[r];
                    f.rank = ranks[r] - 1;
                    f.first_step = step;
                    f.first_epoch = step ? 1 : 0; /* begins in the middle of the second */
                    n = mode ? pipeline_steps_per_epoch(&f) - step : 7;
                    {
                        const uint64_t want = batches(&f, n, &bad[0]);

                        f.source = b;
                        f.n_threads = 4 - threads[t];
                        assert_int_equal(batches(&f, n, &bad[1]), want);
                        assert_int_equal(bad[0], bad[1]);
                    }
                }
}

static void test_every_form_gives_the_same_batches(void **state)
{
    char *const dir = mixed_folder(N_BAD);
    struct source *const origin = open_source(dir);
    char **const dirs = all_forms(origin);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        struct source *const s = open_form(dirs[i], i);

        check_streams(origin, s);
        source_close(s);
    }
    remove_forms(dirs);
    source_close(origin);
    remove_dir(dir);
}

/* ---- names ---- */

/* Through a format that has no place for them. */
static void test_names_of_classes_are_kept(void **state)
{
    char *const dir = temp_dir(), *const in = file_join(dir, "in"), *const mid = temp_dir();
    char *const back = temp_dir(), *text, *json;
    struct source *s, *t, *u;
    struct prepare_result r;
    size_t n;

    (void)state;
    make_dir(dir, "in/a b");
    make_dir(dir, "in/empty");
    make_dir(dir, "in/\xC3\xA4");
    write_file(dir, "in/a b/0", "\xFF\xD8 jpeg", 7);
    write_file(dir, "in/\xC3\xA4/1", "\x89PNG", 4);
    write_file(dir, "in/\xC3\xA4/2", "P6", 2);
    write_file(dir, "in/\xC3\xA4/3", "", 0);
    s = open_source(in);
    for (size_t form = 0; form < 5; form++) {
        assert_int_equal(convert_form(s, mid, form, &r), 0);
        json = file_join(mid, "train.json");
        assert_int_equal(file_read(json, 1 << 20, &text, &n), 0);
        assert_non_null(strstr(text, "\"classes\": [\"a b\", \"empty\", \"\xC3\xA4\"], "
                                     "\"n_classes\": 3"));
        free(text);
        free(json);
        t = open_form(mid, form);
        assert_int_equal(convert_form(t, back, 5, &r), 0);
        source_close(t);
        u = open_form(back, 5);
        assert_int_equal(u->n_classes, 3);
        assert_string_equal(source_class_name(u, 1), "empty");
        assert_string_equal(source_class_name(u, 2), "\xC3\xA4");
        assert_same_samples(s, u);
        source_close(u);
        {
            char *const sweep = xasprintf("rm -r '%s'/* '%s'/*", mid, back);

            assert_int_equal(system(sweep), 0);
            free(sweep);
        }
    }
    source_close(s);
    free(in);
    remove_dir(dir);
    remove_dir(mid);
    remove_dir(back);
}

/* Without names a class is called by its label, and order stays order with ten and more of them.
 */
static void test_labels_without_names(void **state)
{
    static const int64_t labels[] = {11, 2, 0, 11, 10};
    static const char *const pictures[] = {"P5 1 1 255\n1", "two", "\x89PNG", "P6 ...", "ten"};
    static const char *const want[] = {"00000/00000002.png", "00002/00000001.jpg",
                                       "00010/00000004.jpg", "00011/00000000.pgm",
                                       "00011/00000003.ppm"};
    char *const dir = temp_dir();
    struct bytes file = {0};
    struct source *s, *made;
    struct prepare_result r;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(labels); i++)
        hand_sample(&file, pictures[i], labels[i]);
    write_file(dir, "a.tfrecord", file.data, file.n);
    {
        char *const path = file_join(dir, "a.tfrecord");
        s = open_source(path);
        free(path);
    }
    assert_int_equal(convert_form(s, dir, 5, &r), 0);
    made = open_form(dir, 5);
    assert_int_equal(made->n_classes, 12);
    for (uint64_t i = 0; i < COUNT_OF(want); i++) {
        char *const path = source_file(made, i);

        assert_string_equal(path + strlen(path) - strlen(want[i]), want[i]);
        free(path);
    }
    assert_int_equal(convert_form(s, dir, 5, &r), 0);
    assert_int_equal(r.already, 1);
    source_close(made);
    source_close(s);

    hand_sample(&file, "negative", -1);
    write_file(dir, "a.tfrecord", file.data, file.n);
    {
        char *const path = file_join(dir, "a.tfrecord"), *const to = file_join(dir, "new");

        s = open_source(path);
        assert_int_equal(prepare_convert(s, &(struct prepare_to){to, .format = "folder"}, &r),
                         E_DATA);
        assert_reason_has("the label -1 has no class folder");
        free(path);
        free(to);
    }
    source_close(s);
    bytes_release(&file);
    remove_dir(dir);
}

/* ---- what is there ---- */

static void test_what_is_there_is_not_mixed(void **state)
{
    char *const dir = mixed_folder(0), *const to = temp_dir();
    struct source *const s = open_source(dir);
    struct prepare_result r;

    (void)state;
    assert_int_equal(convert_form(s, to, 2, &r), 0); /* three files of TFRecord */
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        if (i == 2)
            continue;
        assert_int_equal(convert_form(s, to, i, &r), E_USAGE);
        assert_reason_has("is there already");
        assert_reason_has("choose another --to");
    }
    assert_int_equal(convert_form(s, to, 2, &r), 0);
    assert_int_equal(r.already, 1);
    {
        char *const sweep = xasprintf("rm -r '%s'/*", to);
        assert_int_equal(system(sweep), 0);
        free(sweep);
    }
    make_dir(to, "train/mine");
    write_file(to, "train/mine/file", "x", 1);
    assert_int_equal(convert_form(s, to, 5, &r), E_USAGE);
    assert_reason_has("/train is there already and holds something else");
    {
        char *const path = file_join(to, "train/mine/file"), *const work =
                                                                 file_join(to, "train.partial");
        assert_true(file_exists(path));
        assert_false(file_exists(work));
        free(path);
        free(work);
    }
    source_close(s);
    remove_dir(to);
    remove_dir(dir);
}

/* Of the same samples in another format, a folder in the place of a folder; and the other way. */
static void test_a_folder_of_shards_is_no_class_folder(void **state)
{
    static const size_t order[][2] = {{4, 5}, {5, 4}};
    char *const dir = mixed_folder(0);
    struct source *const s = open_source(dir);
    struct prepare_result r;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        char *const to = temp_dir();

        assert_int_equal(convert_form(s, to, order[i][0], &r), 0);
        assert_int_equal(convert_form(s, to, order[i][1], &r), E_USAGE);
        assert_reason_has("/train is there already and holds something else");
        assert_int_equal(convert_form(s, to, order[i][0], &r), 0);
        assert_int_equal(r.already, 1);
        remove_dir(to);
    }
    source_close(s);
    remove_dir(dir);
}

static void check_untouched(const struct source *s, const char *to, size_t form, const char *reason)
{
    char *const path = file_join(to, forms[form].opens), *const work =
                                                             file_join(to, "train.partial");
    const int worked = file_exists(work);
    struct prepare_result r;
    char *before, *after;
    size_t n_before, n_after;

    assert_int_equal(file_read(path, 1 << 24, &before, &n_before), 0);
    assert_int_equal(convert_form(s, to, form, &r), E_USAGE);
    assert_reason_has(forms[form].opens);
    assert_reason_has(reason);
    assert_int_equal(file_exists(work), worked);
    assert_int_equal(file_read(path, 1 << 24, &after, &n_after), 0);
    assert_int_equal(n_after, n_before);
    assert_memory_equal(after, before, n_before);
    free(before);
    free(after);
    free(path);
    free(work);
}

/* A file of another data set, and the source's own, under its name and through a link. */
static void test_files_are_not_replaced(void **state)
{
    static const size_t files[] = {0, 1, 3};
    char *const dir = mixed_folder(0), *const more = mixed_folder(N_BAD);
    struct source *const s = open_source(dir), *const other = open_source(more);
    struct prepare_result r;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        char *const to = temp_dir(), *const linked = temp_dir();
        char *const path = file_join(to, forms[files[i]].opens);
        char *const link_path = file_join(linked, forms[files[i]].opens);
        char *const json = file_join(to, "train.json");
        struct source *own;

        assert_int_equal(convert_form(other, to, files[i], &r), 0);
        check_untouched(s, to, files[i], "is there already and holds something else");
        make_dir(to, "train.partial"); /* of nobody knows what */
        check_untouched(s, to, files[i], "is there already and holds something else");
        own = open_source(path);
        assert_int_equal(unlink(json), 0); /* what a stranger's file lacks */
        check_untouched(own, to, files[i], "a file of --from itself");
        assert_int_equal(link(path, link_path), 0);
        check_untouched(own, linked, files[i], "a file of --from itself");
        make_dir(linked, "train.partial"); /* an interrupted run changes nothing about that */
        check_untouched(own, linked, files[i], "a file of --from itself");
        source_close(own);
        free(json);
        free(path);
        free(link_path);
        remove_dir(to);
        remove_dir(linked);
    }
    source_close(s);
    source_close(other);
    remove_dir(dir);
    remove_dir(more);
}

static void test_what_can_not_be_asked_for(void **state)
{
    char *const dir = mixed_folder(0), *const prefix = file_join(dir, "out");
    struct source *const s = open_source(dir);
    struct prepare_result r;
    const struct {
        const char *format;
        uint64_t n_shards;
        const char *reason;
    } cases[] = {{"zip", 1, "no format is called zip"},
                 {"recordio", 2, "recordio does not come in shards"},
                 {"folder", 2, "folder does not come in shards"},
                 {"tfrecord", N_GOOD + 1, "24 shards are more than the 23 samples"}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(prepare_convert(s,
                                         &(struct prepare_to){.prefix = prefix,
                                                              .format = cases[i].format,
                                                              .n_shards = cases[i].n_shards},
                                         &r),
                         E_USAGE);
        assert_reason_has(cases[i].reason);
    }
    source_close(s);
    free(prefix);
    remove_dir(dir);
}

/* ---- other readers ---- */

static char *said_by(const char *command)
{
    FILE *const f = popen(command, "r");
    struct str all = STR_INIT;
    char piece[4096];
    size_t n;

    assert_non_null(f);
    while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
        str_add_bytes(&all, piece, n);
    if (pclose(f) != 0)
        fail_msg("%s failed", command);
    return all.s;
}

/* The columns of what a reader says of record i, of which label and hash are compared with the
 * folder: the hash as sha256sum gives it, the label as the place of the class. */
static void compare_with_folder(const char *dir, const char *said, size_t label_column,
                                size_t hash_column)
{
    char *const command = xasprintf("LC_ALL=C sha256sum '%s'/*/*", dir);
    char *const sums = said_by(command), *save_line = NULL, *save_sum = NULL;
    char *const copy = xstrdup(said);
    char *line = strtok_r(copy, "\n", &save_line), *sum = strtok_r(sums, "\n", &save_sum);
    int n = 0;

    for (; line && sum; n++) {
        char columns[8][80] = {""};

        sscanf(line, "%79s %79s %79s %79s %79s %79s", columns[0], columns[1], columns[2],
               columns[3], columns[4], columns[5]);
        assert_memory_equal(columns[hash_column], sum, 64);
        assert_int_equal(columns[label_column][0], sum[66 + strlen(dir) + 2]); /* hash, c0/ */
        line = strtok_r(NULL, "\n", &save_line);
        sum = strtok_r(NULL, "\n", &save_sum);
    }
    assert_null(line);
    assert_null(sum);
    assert_int_equal(n, N_FILES);
    free(copy);
    free(sums);
    free(command);
}

static void test_other_readers_agree(void **state)
{
    static const uint32_t magic = 0xCED7230A;
    char *const dir = mixed_folder(N_BAD), *command, *said;
    char *const c0 = file_join(dir, "c0/000.jpg");
    struct source *s;
    char **dirs;

    (void)state;
    if (system("python3 -c '' 2>/dev/null") != 0)
        skip();
    { /* a picture that RecordIO has to cut */
        uint32_t words[64] = {magic, 1, magic, magic, 5};
        write_file(dir, "c0/000.jpg", words, sizeof(words) - 3);
    }
    s = open_source(dir);
    dirs = all_forms(s);
    command = xasprintf("python3 tests/golden/read_recordio.py '%s/train.rec'", dirs[0]);
    said = said_by(command);
    compare_with_folder(dir, said, 2, 3);
    free(said);
    free(command);
    for (size_t i = 1; i < 3; i++) {
        command = xasprintf("python3 tests/golden/read_tfrecord.py '%s'/train%s", dirs[i],
                            i == 1 ? ".tfrecord" : "-*");
        said = said_by(command);
        compare_with_folder(dir, said, 1, 5);
        assert_non_null(strstr(said, " JPEG 47 58 ")); /* 58 wide, 47 high: see mixed_folder */
        free(said);
        free(command);
    }
    command = xasprintf("tar -xOf '%s/train.tar' 00000000.jpg | cmp - '%s' && "
                        "tar -tf '%s/train.tar' | wc -l",
                        dirs[3], c0, dirs[3]);
    said = said_by(command);
    assert_int_equal(atoi(said), 2 * N_FILES);
    free(said);
    free(command);
    remove_forms(dirs);
    source_close(s);
    free(c0);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_form_into_every_form),
        cmocka_unit_test(test_every_form_gives_the_same_batches),
        cmocka_unit_test(test_names_of_classes_are_kept),
        cmocka_unit_test(test_labels_without_names),
        cmocka_unit_test(test_what_is_there_is_not_mixed),
        cmocka_unit_test(test_a_folder_of_shards_is_no_class_folder),
        cmocka_unit_test(test_files_are_not_replaced),
        cmocka_unit_test(test_what_can_not_be_asked_for),
        cmocka_unit_test(test_other_readers_agree),
    };

    return cmocka_run_group_tests_name("convert", tests, NULL, NULL);
}
