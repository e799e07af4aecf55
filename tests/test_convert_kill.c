/* A conversion that is killed before any of its changes of the file system, wherever that is, and
 * started again: it ends with the bytes of the one that nobody disturbed, has not done all of it
 * twice, and in between nothing stands under a final name that is not whole. */
#include "test_data_pipeline.h"

#include <ftw.h>
#include <signal.h>
#include <sys/file.h>

#include "base/random.h"
#include "kill_at.h"

enum { SEED = 20264, N_TRIED = 9, PICTURES = 40 };

static const struct form {
    const char *format;
    uint64_t n_shards;
} forms[] = {{"recordio", 1},   {"tfrecord", 1},   {"tfrecord", 3},
             {"webdataset", 1}, {"webdataset", 3}, {"folder", 1}};

/* One process that converts. */
struct job {
    const struct form *form;
    const char *from, *dir;
};

static int process(void *context)
{
    const struct job *const j = context;
    char *const prefix = file_join(j->dir, "train");
    struct prepare_result r;
    struct source *s;
    int rc = source_open(j->from, &s);

    if (rc == 0)
        rc = prepare_convert(s,
                             &(struct prepare_to){.prefix = prefix,
                                                  .format = j->form->format,
                                                  .n_shards = j->form->n_shards,
                                                  .journal_bytes = 3000},
                             &r);
    if (rc < 0)
        fprintf(stderr, "%s\n", err_reason());
    source_close(s);
    free(prefix);
    return rc < 0 ? 1 : r.n_found > 0 ? 2 : 0; /* 2: it went on */
}

/* Pictures of some hundred bytes, so that many samples lie between two entries of the journal and
 * many entries in a file; one holds RecordIO's magic word. */
static char *many_pictures(void)
{
    char *const dir = temp_dir();

    for (int k = 0; k < PICTURES; k++) {
        uint32_t words[200];
        char name[64];

        snprintf(name, sizeof(name), "c%d", k % 3);
        make_dir(dir, name);
        snprintf(name, sizeof(name), "c%d/%03d.ppm", k % 3, k);
        for (size_t i = 0; i < COUNT_OF(words); i++)
            words[i] = (uint32_t)(i * 2654435761u + (unsigned)k);
        if (k % 5 == 0)
            words[17] = 0xCED7230A;
        memcpy(words, "P6 9 9 255\n", 11);
        write_file(dir, name, words, (size_t)(400 + k * 7));
    }
    return dir;
}

/* ---- comparing folders ---- */

static uint64_t tree_sum;
static size_t tree_root;

static int add_to_sum(const char *path, const struct stat *st, int type)
{
    char *bytes;
    size_t n;
    uint64_t sum = checksum_add(CHECKSUM_INIT, path + tree_root, strlen(path + tree_root));

    (void)st;
    if (type == FTW_F) {
        assert_int_equal(file_read(path, 1 << 24, &bytes, &n), 0);
        sum = checksum_add(sum, bytes, n);
        free(bytes);
    }
    tree_sum += sum; /* in any order */
    return 0;
}

/* Of all names and files below dir. */
static uint64_t sum_of(const char *dir)
{
    enum { FOLDERS_OPEN = 8 };

    tree_sum = 0;
    tree_root = strlen(dir);
    assert_int_equal(ftw(dir, add_to_sum, FOLDERS_OPEN), 0);
    return tree_sum;
}

/* What stands under the final names is nothing, no data set yet, or all of it. */
static void check_whole_or_nothing(const char *dir, const char *call)
{
    struct source *s;

    if (source_open_split(dir, "train", &s) == 0 && s->n_samples != PICTURES)
        fail_msg("killed at a %s, %s opens with %llu samples", call, s->path,
                 (unsigned long long)s->n_samples);
    source_close(s);
}

/* ---- killing ---- */

static uint64_t n_drawn;

static unsigned random_below(unsigned n)
{
    const struct random_key key = {SEED, RANDOM_TEST, 0};

    return (unsigned)(random_uniform(key, n_drawn++) * n);
}

/* Killed there, sometimes once more, then left alone. Returns 1 when the last process went on. */
static int kill_and_go_on(struct job j, long k, uint64_t want)
{
    char *const dir = temp_dir();
    struct kill_report r, last;

    j.dir = dir;
    r = kill_at((struct kill_moment){.k = k}, process, &j);
    assert_int_equal(r.code, 1000 + SIGKILL);
    check_whole_or_nothing(dir, r.call);
    if (random_below(2)) {
        last = kill_at((struct kill_moment){.k = 1 + random_below(12)}, process, &j);
        check_whole_or_nothing(dir, last.call);
    }
    last = kill_at((struct kill_moment){0}, process, &j);
    if (last.code != 0 && last.code != 2)
        fail_msg("%s killed at change %ld (%s): going on ends with %d", j.form->format, k, r.call,
                 last.code);
    if (sum_of(dir) != want)
        fail_msg("%s killed at change %ld (%s): other bytes in %s", j.form->format, k, r.call, dir);
    remove_dir(dir);
    return last.code == 2;
}

static void check_form(const struct form *form, const char *from)
{
    char *const straight = temp_dir();
    struct job j = {form, from, straight};
    const struct kill_report whole = kill_at((struct kill_moment){0}, process, &j);
    long tried = 0, went_on = 0;
    uint64_t want;

    assert_int_equal(whole.code, 0);
    assert_true(whole.changes > 30);
    want = sum_of(straight);
    for (long k = 1; k <= whole.changes; k++)
        if (getenv("TEST_LONG") || random_below((unsigned)whole.changes) < N_TRIED) {
            went_on += kill_and_go_on(j, k, want);
            tried++;
        }
    assert_true(2 * went_on > tried);
    print_message("# %s in %llu: SIGKILL at %ld of %ld changes: the same bytes, %ld times from "
                  "where it was\n",
                  form->format, (unsigned long long)form->n_shards, tried, whole.changes, went_on);
    remove_dir(straight);
}

static void test_killed_anywhere(void **state)
{
    char *const from = many_pictures();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        check_form(&forms[i], from);
    remove_dir(from);
}

/* ---- what a killed one leaves, changed meanwhile ---- */

enum { LATE = 40 };

static void put_at(const char *dir, const char *name, long at, char byte)
{
    char *const path = file_join(dir, name);
    const int fd = open(path, O_WRONLY);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
    free(path);
}

/* Started again after a change: it does not go on, and ends with the bytes of a new conversion. */
static void check_begins_anew(const char *from, const struct form *form,
                              void (*change)(const char *from, const char *dir))
{
    char *const dir = temp_dir(), *const fresh = temp_dir();
    struct job j = {form, from, dir};

    assert_int_equal(kill_at((struct kill_moment){.k = LATE}, process, &j).code, 1000 + SIGKILL);
    change(from, dir);
    assert_int_equal(kill_at((struct kill_moment){0}, process, &j).code, 0);
    j.dir = fresh;
    assert_int_equal(kill_at((struct kill_moment){0}, process, &j).code, 0);
    assert_int_equal(sum_of(dir), sum_of(fresh));
    remove_dir(dir);
    remove_dir(fresh);
}

static void change_source(const char *from, const char *dir)
{
    (void)dir;
    put_at(from, "c0/000.ppm", 300, 'x');
}

static void change_what_was_made(const char *from, const char *dir)
{
    (void)from;
    put_at(dir, "train.partial/train.rec", 50, 'x');
}

static void cut_what_was_made(const char *from, const char *dir)
{
    char *const path = file_join(dir, "train.partial/train.rec");

    (void)from;
    assert_int_equal(truncate(path, 700), 0);
    free(path);
}

static void remove_first_shard(const char *from, const char *dir)
{
    char *const path = file_join(dir, "train.partial/train-00000-of-00003");

    (void)from;
    assert_int_equal(unlink(path), 0);
    free(path);
}

static void damage_journal(const char *from, const char *dir)
{
    (void)from;
    put_at(dir, "train.partial/journal.json", 100, '"');
}

static void remove_files(const char *from, const char *dir)
{
    char *const command = xasprintf("rm -r '%s'/train.partial/files", dir);

    (void)from;
    assert_int_equal(system(command), 0);
    free(command);
}

static void test_what_changed_is_made_anew(void **state)
{
    char *const from = many_pictures();

    (void)state;
    check_begins_anew(from, &forms[0], change_source);
    check_begins_anew(from, &forms[5], change_source);
    check_begins_anew(from, &forms[0], change_what_was_made);
    check_begins_anew(from, &forms[0], cut_what_was_made);
    check_begins_anew(from, &forms[0], damage_journal);
    check_begins_anew(from, &forms[2], remove_first_shard);
    check_begins_anew(from, &forms[5], remove_files);
    remove_dir(from);
}

static void test_one_at_a_time(void **state)
{
    char *const from = many_pictures(), *const dir = temp_dir();
    char *const work = file_join(dir, "train.partial");
    struct job j = {&forms[0], from, dir};
    int fd;

    (void)state;
    assert_int_equal(file_mkdirs(work), 0);
    fd = open(work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(process(&j), 1);
    assert_reason_has("another stave prepare is at work in");
    close(fd);
    assert_int_equal(process(&j), 0);
    assert_false(file_exists(work));
    free(work);
    remove_dir(dir);
    remove_dir(from);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed_anywhere),
        cmocka_unit_test(test_what_changed_is_made_anew),
        cmocka_unit_test(test_one_at_a_time),
    };

    return cmocka_run_group_tests_name("convert_kill", tests, NULL, NULL);
}
