/* Hard inputs, `prepare --verify` on all of them: one line for each, with the right outcome, and
 * the exit code. With --make DIR the program only makes the two data sets, DIR/folder and
 * DIR/records; tests/hard_inputs is the command for it. */
#include "hard_files.h"
#include "run_fixture.h"

/* The only line of text that names the file (or record), or NULL. The caller frees it. */
static char *line_of(const char *text, const char *where)
{
    struct str printed = STR_INIT;
    char *line = NULL;

    str_add_printable(&printed, where);
    str_add(&printed, ": ");
    for (const char *p = text; *p;) {
        const size_t n = strcspn(p, "\n");
        const char *const found = strstr(p, printed.s);
        const char *const colon = strchr(p, ':');

        /* right behind the outcome: lines about others may name it, too */
        if (found && found == colon + 2 && found < p + n) {
            if (line)
                fail_msg("%s is named in two lines", printed.s);
            line = strndup(p, n);
        }
        p += n + (p[n] == '\n');
    }
    str_release(&printed);
    return line;
}

static void assert_line(const char *text, const char *where, const char *outcome, const char *what)
{
    char *const line = line_of(text, where);
    char *start;

    if (!outcome) {
        if (line)
            fail_msg("nothing is wrong with it: %s", line);
        return;
    }
    if (!line)
        fail_msg("no line for %s in\n%s", where, text);
    start = xasprintf("%s: %s", outcome, "file ");
    if (strncmp(line, start, strlen(start)) != 0 || !strstr(line, what))
        fail_msg("\"%s\" is not %s: %s", line, outcome, what);
    free(start);
    free(line);
}

static int count_lines(const char *text, const char *start)
{
    int n = 0;

    for (const char *p = text; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
        n += strncmp(p, start, strlen(start)) == 0;
    return n;
}

static int count_outcome(const char *outcome)
{
    int n = 0;

    for (size_t i = 0; i < COUNT_OF(hard_files); i++)
        n += hard_files[i].outcome && strcmp(hard_files[i].outcome, outcome) == 0;
    return n;
}

static void test_every_hard_file_has_its_line(void **state)
{
    char *const dir = temp_dir();
    char *said, *part;

    (void)state;
    hard_folder(dir);
    said = program_run(dir, 4, "prepare resnet50 --verify %s", dir);
    assert_clean(said);
    for (size_t i = 0; i < COUNT_OF(hard_files); i++) {
        const struct hard_file *const f = &hard_files[i];
        char *const where = xasprintf("file %s/train/%s/%s", dir, f->class, f->name);

        assert_line(said, where, f->outcome, f->what);
        free(where);
    }
    assert_int_equal(count_lines(said, "broken: "), count_outcome("broken"));
    assert_int_equal(count_lines(said, "odd: file "), count_outcome("odd"));
    assert_int_equal(count_lines(said, "odd: class folder "), 4); /* two names, two splits */
    assert_says(said, "/train/B3 is empty; it keeps its class number ");
    assert_says(said, "/val/B3 is empty; it keeps its class number ");
    part = xasprintf("%s: %d findings: %d broken; besides %d odd, 2 notes\n", dir,
                     count_outcome("broken"), count_outcome("broken"), count_outcome("odd") + 4);
    assert_says(said, part);
    outcome("A1", (int)COUNT_OF(hard_files),
            "(A2, A4-A8, A10, B1 too) `prepare --verify` on a folder with every hard picture and "
            "name: exit 4, one line for each: %d broken with reason and byte, %d odd with what "
            "becomes of them, nothing of the others",
            count_outcome("broken"), count_outcome("odd"));
    outcome("B3", 2, "`prepare --verify`: empty class folders are noted and no finding");
    free(part);
    free(said);
    remove_dir(dir);
}

static void test_every_hard_label_has_its_line(void **state)
{
    char *const dir = temp_dir();
    char *said;
    int n = 0;

    (void)state;
    hard_records(dir);
    said = program_run(dir, 4, "prepare resnet50 --verify %s", dir);
    for (size_t i = 0; i < COUNT_OF(hard_labels); i++) {
        char *const where = xasprintf("file %s/train.rec, record %zu, byte offset ", dir, i);
        char *const at = strstr(said, where);
        char *const whole =
            at ? strndup(at, strcspn(at + strlen(where), ":") + strlen(where)) : xstrdup(where);

        assert_line(said, whole, hard_labels[i].what ? "label" : NULL, hard_labels[i].what);
        n += hard_labels[i].what != NULL;
        free(whole);
        free(where);
    }
    assert_int_equal(count_lines(said, "label: "), n);
    assert_says(said, "the labels of train run from -1 to 1001, which are more than the workload's "
                      "1000 classes");
    assert_says(said, "no label of val stands for class 0, they run from 1 to 3");
    free(said);
    said = program_run(dir, 4, "prepare resnet50 --verify %s/val.rec --classes 3", dir);
    assert_int_equal(count_lines(said, "label: "), 1);
    assert_says(said, "label 3 is outside 0..2");
    assert_says(said, "which --label-offset -1 would make fit the workload's 3 classes");
    free(said);
    said = program_run(dir, 0, "prepare resnet50 --verify %s/val.rec --classes 3 --label-offset -1",
                       dir);
    assert_says(said, "val.rec: nothing found\n");
    free(said);
    outcome("B6", (int)COUNT_OF(hard_labels) + 3,
            "`prepare --verify` on records with labels 1000, 1001, -1, NaN, infinite, 0.5: exit 4, "
            "a line for each with record and byte; labels from 1: the --label-offset that fits");
    outcome("B2", 0, "no list of class names exists here: folders and numbers name the classes");
    remove_dir(dir);
}

/* The same words for any number of threads, as text and as JSON. */
static void test_threads_change_nothing(void **state)
{
    char *const dir = temp_dir();

    (void)state;
    hard_folder(dir);
    for (int json = 0; json < 2; json++) {
        char *first = NULL;

        for (int threads = 1; threads <= 7; threads += 3) {
            char *const said =
                program_run(dir, 4, "prepare resnet50 --verify %s --num-threads %d%s", dir, threads,
                            json ? " --json" : "");

            if (first)
                assert_string_equal(said, first);
            else
                first = xstrdup(said);
            free(said);
        }
        free(first);
    }
    remove_dir(dir);
}

static int make(const char *dir)
{
    char *const folder = file_join(dir, "folder"), *const records = file_join(dir, "records");

    make_dir(dir, "folder");
    make_dir(dir, "records");
    hard_folder(folder);
    hard_records(records);
    free(folder);
    free(records);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_hard_file_has_its_line),
        cmocka_unit_test(test_every_hard_label_has_its_line),
        cmocka_unit_test(test_threads_change_nothing),
    };

    if (argc == 3 && strcmp(argv[1], "--make") == 0)
        return make(argv[2]);
    return cmocka_run_group_tests_name("hard inputs verified", tests, NULL, NULL);
}
