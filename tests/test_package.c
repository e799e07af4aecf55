/* Submissions put together here, whole and with one thing wrong: what the official package checker
 * refuses is an error, what only ours refuse is stricter. tests/agreement/package_agreement holds
 * the same against the official tool itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "rules/package.h"
#include "rules/package_log.h"
#include "scratch.h"
#include "submission_fixture.h"

#define RESULTS "org/results/box/resnet/"

static void move(const char *dir, const char *from, const char *to)
{
    char *const a = file_join(dir, from), *const b = file_join(dir, to);

    if (rename(a, b) < 0)
        fail_msg("rename %s to %s", a, b);
    free(a);
    free(b);
}

static void drop(const char *dir, const char *name)
{
    char *const path = file_join(dir, name);

    assert_int_equal(remove(path), 0);
    free(path);
}

/* dir/org, of five runs. */
static void make_tree(const char *dir, const char *division, long long epochs)
{
    free(scratch_file(dir, "org/benchmarks/resnet/x/run.sh", "x\n"));
    free(scratch_file(dir, RESULTS "result_0.txt", ""));
    for (int i = 0; i < 5; i++) {
        char name[64];

        snprintf(name, sizeof(name), RESULTS "result_%d.txt", i);
        make_run(dir, "made",
                 (struct made_run){.division = division, .seed = 1001 + i, .epochs = epochs});
        move(dir, "made/mlperf.log", name);
    }
    make_description(dir, "org/systems/box.json", division);
}

static struct findings check(const char *dir, struct package_options o)
{
    struct findings f = {0};
    struct package_count n;
    char *const org = file_join(dir, "org");

    if (!o.ruleset)
        o.ruleset = "4.0.0";
    if (package_check(org, &o, &f, &n) < 0)
        fail_msg("%s", err_reason());
    free(org);
    return f;
}

static void expect(const char *dir, struct package_options o, int errors, int stricter,
                   const char *text)
{
    struct findings f = check(dir, o);
    struct str all = STR_INIT;

    findings_text(&f, &all);
    if ((f.count[FINDING_ERROR] > 0) != errors || (f.count[FINDING_STRICT] > 0) != stricter ||
        (text && (!all.s || !strstr(all.s, text))))
        fail_msg("expected %serror%s, %sstricter finding, \"%s\", got:\n%s", errors ? "an " : "no ",
                 errors ? "" : "s", stricter ? "a " : "no ", text ? text : "", all.s);
    str_release(&all);
    findings_release(&f);
}

#define PLAIN                                                                                      \
    (struct package_options)                                                                       \
    {                                                                                              \
        0                                                                                          \
    }

static void whole_trees(void **state)
{
    make_tree(*state, "open", 39);
    expect(*state, PLAIN, 0, 0, NULL);
    make_tree(*state, "closed", 39);
    expect(*state, PLAIN, 0, 0, "not faster than its mean");
    make_tree(*state, "closed", 15);
    expect(*state, PLAIN, 1, 0, "faster than allowed");
    expect(*state, (struct package_options){.rcp_bypass = 1}, 0, 0, "passed over, as asked for");
}

/* Numbers, names and places of files. */
static void files(void **state)
{
    const char *const dir = *state;

    make_tree(dir, "open", 39);
    move(dir, RESULTS "result_4.txt", RESULTS "run_4.txt");
    expect(dir, PLAIN, 1, 1, "there are 4 logs; a result of resnet is made of 5");
    move(dir, RESULTS "run_4.txt", RESULTS "result_final.txt");
    expect(dir, PLAIN, 0, 0, NULL); /* any text may stand for N */
    free(scratch_file(dir, RESULTS "notes.txt", "x"));
    expect(dir, PLAIN, 0, 1, "notes.txt: it is no log result_N.txt");
    drop(dir, RESULTS "notes.txt");
    move(dir, "org/benchmarks/resnet", "org/benchmarks/other");
    expect(dir, PLAIN, 0, 1, "benchmarks/resnet: there is no such folder");
    move(dir, "org/benchmarks/other", "org/benchmarks/resnet");
    move(dir, "org/results/box/resnet", "org/results/box/ssd");
    expect(dir, PLAIN, 0, 1, "submission_benchmark is \"resnet\"; the folder says \"ssd\"");
    move(dir, "org/results/box/ssd", "org/results/box/resnet50");
    expect(dir, PLAIN, 0, 1, "ruleset 4.0.0 has no benchmark resnet50");
    move(dir, "org/results/box/resnet50", "org/results/box/resnet");
    move(dir, "org/systems/box.json", "org/systems/bax.json");
    expect(dir, PLAIN, 1, 0, "the results folder of this name has no description");
    move(dir, "org/systems/bax.json", "org/systems/box.json");
    free(scratch_file(dir, "org/results/README.md", "x"));
    expect(dir, PLAIN, 0, 1, "README.md: it is no folder of a system");
    drop(dir, "org/results/README.md");
    move(dir, "org/results", "org/res");
    expect(dir, PLAIN, 1, 0, "there is no folder of results");
}

static void names_and_sizes(void **state)
{
    const char *const dir = *state;
    char *large, *link;

    make_tree(dir, "open", 39);
    free(scratch_file(dir, "org/benchmarks/a b", "x"));
    expect(dir, PLAIN, 0, 1, "holds a blank; the official repo_checker refuses it");
    drop(dir, "org/benchmarks/a b");
    free(scratch_file(dir, "org/benchmarks/.a", "x"));
    expect(dir, PLAIN, 0, 1, "begins with a dot");
    drop(dir, "org/benchmarks/.a");
    free(scratch_file(dir, "org/benchmarks/a\nb", "x"));
    expect(dir, PLAIN, 0, 1, "holds a character that is no letter");
    drop(dir, "org/benchmarks/a\nb");
    large = scratch_file(dir, "org/benchmarks/large", "x");
    assert_int_equal(truncate(large, PACKAGE_MAX_FILE), 0);
    expect(dir, PLAIN, 0, 0, NULL);
    assert_int_equal(truncate(large, PACKAGE_MAX_FILE + 1), 0);
    expect(dir, PLAIN, 0, 1, "it has 50.0 MiB");
    drop(dir, "org/benchmarks/large");
    link = file_join(dir, "org/benchmarks/link");
    assert_int_equal(symlink("nowhere", link), 0);
    expect(dir, PLAIN, 0, 1, "it is a link to nothing");
    free(large);
    free(link);
}

/* One run may fail, not two. */
static void logs(void **state)
{
    const char *const dir = *state;

    make_tree(dir, "closed", 39);
    edit_file(dir, RESULTS "result_1.txt", "\"init_stop\"", "\"init_step\"");
    expect(dir, PLAIN, 0, 0, "1 log does not comply, 1 may");
    edit_file(dir, RESULTS "result_2.txt", "\"status\": \"success\"", "\"status\": \"aborted\"");
    expect(dir, PLAIN, 0, 1, "2 runs failed"); /* an aborted run complies, officially */
    edit_file(dir, RESULTS "result_3.txt", "\"init_stop\"", "\"init_step\"");
    expect(dir, PLAIN, 1, 0, "2 logs do not comply, 1 may");
}

static void a_traceback_refuses_all(void **state)
{
    const char *const dir = *state;

    make_tree(dir, "open", 39);
    edit_file(dir, RESULTS "result_1.txt", "\"value\": 1281167, ", "");
    expect(dir, PLAIN, 1, 0, "the official tools end in a traceback over it: line ");
}

static void seeds(void **state)
{
    const char *const dir = *state;

    make_tree(dir, "closed", 39);
    edit_file(dir, RESULTS "result_1.txt", "\"value\": 1002", "\"value\": 1001");
    expect(dir, PLAIN, 1, 0, "every run needs its own");
    expect(dir, (struct package_options){.seed_bypass = 1}, 0, 0, NULL);
    free(scratch_file(dir, RESULTS "package_checker_params", "seed-checker-bypass"));
    expect(dir, PLAIN, 0, 0, NULL);
    free(scratch_file(dir, RESULTS "package_checker_params", "seed-checker-bypass\n"));
    expect(dir, PLAIN, 1, 0, NULL); /* the line has an end, which the official tool compares, too */
    drop(dir, RESULTS "package_checker_params");
    free(scratch_file(dir, "org/results/box/package_checker_params", "seed-checker-bypass"));
    expect(dir, PLAIN, 0, 0, NULL);
    drop(dir, "org/results/box/package_checker_params");
    edit_file(dir, RESULTS "result_1.txt", "\"value\": 1001", "\"value\": \"x\"");
    expect(dir, PLAIN, 1, 0, "the seed \"x\" is no whole number");
    edit_file(dir, RESULTS "result_1.txt", "\"key\": \"seed\"", "\"key\": \"sead\"");
    expect(dir, PLAIN, 1, 0, "it logs no seed");
    make_tree(dir, "open", 39); /* where the official checker does not look */
    edit_file(dir, RESULTS "result_1.txt", "\"value\": 1002", "\"value\": 1001");
    expect(dir, PLAIN, 0, 1, "two runs log the same seed: they are one run twice");
    expect(dir, (struct package_options){.seed_bypass = 1}, 0, 0, NULL);
    edit_file(dir, RESULTS "result_1.txt", "\"value\": 1001", "\"value\": \"x\"");
    expect(dir, PLAIN, 0, 0, NULL);
}

/* Of whatever division and round, and whatever is passed over. */
static void copies(void **state)
{
    static const char *const divisions[] = {"open", "closed"};
    const char *const dir = *state;

    for (size_t i = 0; i < COUNT_OF(divisions); i++) {
        char *const log = file_join(dir, RESULTS "result_0.txt");
        char *bytes;
        size_t n;

        make_tree(dir, divisions[i], 39);
        assert_int_equal(file_read(log, 1 << 20, &bytes, &n), 0);
        free(scratch_bytes(dir, RESULTS "result_3.txt", bytes, n));
        expect(dir, (struct package_options){.seed_bypass = 1}, 0, 1,
               "result_0.txt: they are one run twice");
        expect(dir, PLAIN, i == 1, i == 0, i ? "every run needs its own" : "log the same seed");
        free(scratch_bytes(dir, RESULTS "result_3.txt", bytes, n - 1));
        expect(dir, (struct package_options){.seed_bypass = 1}, 0, 0, NULL);
        free(bytes);
        free(log);
    }
}

static void one_batch(void **state)
{
    const char *const dir = *state;

    make_tree(dir, "closed", 39);
    edit_file(dir, RESULTS "result_4.txt", "\"value\": 3264", "\"value\": 3200");
    expect(dir, PLAIN, 1, 0, "global_batch_size is 3200, in the logs before it 3264");
    make_tree(dir, "closed", 39);
    edit_file(dir, RESULTS "result_4.txt", "\"value\": \"resnet\"", "\"value\": \"bert\"");
    expect(dir, PLAIN, 1, 1, "submission_benchmark is bert, in the logs before it resnet");
}

/* An early round: no description is looked at, no seed, no convergence. */
static void early_rounds(void **state)
{
    const char *const dir = *state;

    make_tree(dir, "closed", 15);
    edit_file(dir, "org/systems/box.json", "\"cooling\"", "\"cool\"");
    edit_file(dir, RESULTS "result_1.txt", "\"value\": 1002", "\"value\": 1001");
    expect(dir, (struct package_options){.ruleset = "0.7.0"}, 0, 0, NULL);
    expect(dir, (struct package_options){.ruleset = "1.0.0"}, 1, 1, "the field cooling is missing");
}

static void unknown_ruleset(void **state)
{
    struct findings f = {0};
    struct package_count n;

    assert_int_equal(package_check(*state, &(struct package_options){.ruleset = "9.9"}, &f, &n),
                     E_USAGE);
    assert_int_equal(
        package_check("/no/such/place", &(struct package_options){.ruleset = "4.0.0"}, &f, &n),
        E_IO);
}

/* As Python's int() reads them. */
static void seed_digits(void **state)
{
    static const char *const cases[][2] = {
        {"12", "12"},
        {"-12", "-12"},
        {"0", "0"},
        {"-0", "0"},
        {"12.9", "12"},
        {"-0.5", "0"},
        {"1e3", "1000"},
        {"true", "1"},
        {"false", "0"},
        {"null", NULL},
        {"[1]", NULL},
        {"\"12\"", "12"},
        {"\" 12 \"", "12"},
        {"\"+012\"", "12"},
        {"\"1.5\"", NULL},
        {"\"\"", NULL},
        {"\"-\"", NULL},
        {"NaN", NULL},
        {"123456789012345678901234567890", "123456789012345678901234567890"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *const digits = package_seed_digits(cases[i][0]);

        if ((digits == NULL) != (cases[i][1] == NULL) ||
            (digits && strcmp(digits, cases[i][1]) != 0))
            fail_msg("%s is %s", cases[i][0], digits ? digits : "nothing");
        free(digits);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(whole_trees),
        TEST(files),
        TEST(names_and_sizes),
        TEST(logs),
        TEST(a_traceback_refuses_all),
        TEST(seeds),
        TEST(copies),
        TEST(one_batch),
        TEST(early_rounds),
        TEST(unknown_ruleset),
        TEST(seed_digits),
    };

    return cmocka_run_group_tests_name("package", tests, NULL, NULL);
}
