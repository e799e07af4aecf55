/* `stave submit` from outside: what it writes, what it refuses and then does not write, and that a
 * submission of its own stands when it is looked at again. */
#include <dirent.h>
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
#include "run_fixture.h"
#include "scratch.h"
#include "submission_fixture.h"

#define SUBMIT "submit %s/runs --to %s/sub --org tiny --system %s/box.json "

static void make_input(const char *dir, struct made_run r)
{
    char *const runs = file_join(dir, "runs");

    make_runs(runs, r);
    make_description(dir, "box.json", r.division);
    free(runs);
}

static int is_there(const char *dir, const char *name)
{
    char *const path = file_join(dir, name);
    const int there = file_exists(path);

    free(path);
    return there;
}

static void nothing_written(const char *dir)
{
    struct dirent **names;
    const int n = scandir(dir, &names, NULL, NULL);

    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        if (strncmp(names[i]->d_name, "sub", 3) == 0)
            fail_msg("%s was written", names[i]->d_name);
        free(names[i]);
    }
    free(names);
}

static void nothing_left(const char *dir)
{
    struct dirent **names;
    const int n = scandir(dir, &names, NULL, NULL);

    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        if (strstr(names[i]->d_name, ".partial"))
            fail_msg("%s is left", names[i]->d_name);
        free(names[i]);
    }
    free(names);
}

static void the_layout(void **state)
{
    static const char *const files[] = {
        "sub/tiny/systems/box.json",
        "sub/tiny/results/box/resnet/result_0.txt",
        "sub/tiny/results/box/resnet/result_4.txt",
        "sub/tiny/benchmarks/resnet/implementations/stave/README.md",
        "sub/tiny/benchmarks/resnet/implementations/stave/setup.sh",
        "sub/tiny/benchmarks/resnet/implementations/stave/init_datasets.sh",
        "sub/tiny/benchmarks/resnet/implementations/stave/run_and_time.sh",
        "sub/tiny/benchmarks/resnet/implementations/stave/config.yaml",
        "sub/tiny/benchmarks/resnet/box/README.md",
        "sub/tiny/benchmarks/resnet/box/setup.sh",
        "sub/tiny/benchmarks/resnet/box/init_datasets.sh",
        "sub/tiny/benchmarks/resnet/box/run_and_time.sh",
        "sub/tiny/benchmarks/resnet/box/box_stave.json",
    };
    const char *const dir = *state;
    char *said;
    cJSON *details;

    make_input(dir, (struct made_run){0});
    said = program_run(dir, 0, SUBMIT, dir, dir, dir);
    assert_says(said,
                "1 result of 5 logs under ruleset 4.0.0: the official checkers accept it, and "
                "it stands");
    free(said);
    for (size_t i = 0; i < COUNT_OF(files); i++)
        if (!is_there(dir, files[i]))
            fail_msg("%s is missing", files[i]);
    assert_false(is_there(dir, "sub/tiny/results/box/resnet/result_5.txt"));
    assert_false(is_there(dir, "sub/tiny/results/box/resnet/scaling.json"));
    assert_same_file(dir, "runs/run-1/mlperf.log", files[1]);
    assert_same_file(dir, "runs/run-5/mlperf.log", files[2]);
    assert_same_file(dir, "box.json", files[0]);
    details = read_json(dir, "sub/tiny/benchmarks/resnet/box/box_stave.json");
    assert_string_equal(string_of(details, "preset"), "sample");
    cJSON_Delete(details);
    said = program_run(dir, 0, "submit --verify %s/sub/tiny", dir);
    assert_says(said, "it stands");
    free(said);
}

static void a_slash_behind(void **state)
{
    const char *const dir = *state;

    make_input(dir, (struct made_run){0});
    free(program_run(dir, 0, "submit %s/runs --to %s/new// --org tiny --system %s/box.json", dir,
                     dir, dir));
    assert_true(is_there(dir, "new/tiny/systems/box.json"));
    nothing_left(dir);
    free(program_run(dir, 3, "submit %s/runs --to %s/box.json/ --org tiny --system %s/box.json",
                     dir, dir, dir));
    assert_true(is_there(dir, "box.json"));
    nothing_left(dir);
}

/* What belongs to one run or to somebody's disk stays out; what a script runs is the run. */
static void the_scripts(void **state)
{
    const char *const dir = *state;
    const char *const folder = "sub/tiny/benchmarks/resnet/implementations/stave";
    char *const path = xasprintf("%s/%s", dir, folder);
    char *text, *said;
    struct stat st;

    make_input(dir, (struct made_run){0});
    free(program_run(dir, 0, SUBMIT, dir, dir, dir));
    text = read_text(path, "config.yaml");
    assert_null(strstr(text, "secret"));
    assert_null(strstr(text, "seed:"));
    assert_says(text, "\nlr: 1.5\n");
    assert_says(text, "\npixel-mean: \"73,73,73\"\n");
    free(text);
    text = read_text(dir, "sub/tiny/benchmarks/resnet/box/box_stave.json");
    assert_null(strstr(text, "secret"));
    free(text);
    text = read_text(path, "run_and_time.sh");
    assert_says(text, "exec stave run resnet50 --preset sample --config \"$here/config.yaml\"");
    assert_null(strstr(text, "--ruleset"));
    free(text);
    text = read_text(path, "init_datasets.sh");
    assert_says(text, "exec stave prepare resnet50 --sample --to \"$data\"");
    free(text);
    free(path);
    said = program_run(dir, 0,
                       "run resnet50 -p sample --config %s/%s/config.yaml --dry-run --device null "
                       "--synthetic",
                       dir, folder);
    assert_says(said, "\"lr\": 1.5");
    free(said);
    text = xasprintf("%s/sub/tiny/benchmarks/resnet/box/run_and_time.sh", dir);
    assert_int_equal(stat(text, &st), 0);
    assert_true(st.st_mode & S_IXUSR);
    free(text);
}

/* What reproduces the runs of another round asks for that round. */
static void another_round(void **state)
{
    const char *const dir = *state;
    char *text;

    make_input(dir, (struct made_run){0});
    for (int i = 1; i <= 5; i++) {
        char name[32];

        snprintf(name, sizeof(name), "runs/run-%d/run.json", i);
        edit_file(dir, name, "\"ruleset\": \"4.0.0\"", "\"ruleset\": \"3.1.0\"");
    }
    edit_file(dir, "box.json", "Research, Development, or Internal (RDI)", "research");
    free(program_run(dir, 0, SUBMIT "--ruleset 3.1.0", dir, dir, dir));
    text = read_text(dir, "sub/tiny/benchmarks/resnet/implementations/stave/run_and_time.sh");
    assert_says(text, "--out \"$run\" --ruleset 3.1.0\n");
    free(text);
}

static void closed_is_scaled(void **state)
{
    const char *const dir = *state;
    char *said, *text;

    make_input(dir, (struct made_run){.division = "closed", .epochs = 35});
    said = program_run(dir, 0, SUBMIT, dir, dir, dir);
    assert_says(said, "faster than its mean, and allowed");
    free(said);
    text = read_text(dir, "sub/tiny/results/box/resnet/scaling.json");
    assert_says(text, "{\"scaling_factor\": 1.004");
    free(text);
}

/* ---- refusals ---- */

struct refusal {
    const char *file, *find, *with; /* file NULL: the flags alone */
    const char *flags;
    const char *reason;
};

static const struct refusal open_refusals[] = {
    {"box.json", "\"cooling\": \"x\"", "\"cooling\": \"FILL IN: air or liquid\"", "",
     "box.json: cooling is not filled in yet: air or liquid"},
    {"box.json", "\"cooling\"", "\"cool\"", "", "the field cooling is missing"},
    {"box.json", "\"submitter\": \"tiny\"", "\"submitter\": \"other\"", "",
     "submitter is \"other\"; --org says \"tiny\""},
    {"box.json", "\"open\"", "\"closed\"", "", "submission_division is \"open\"; "},
    {"box.json", "\"open\"", "\"Open\"", "", "division is \"Open\"; it is closed or open"},
    {"box.json", "Research, Development, or Internal (RDI)", "Preview", "",
     "submission_status is \"research\"; "},
    {"box.json", "\"testbox\"", "\"otherbox\"", "", "submission_platform is \"testbox\"; "},
    {"box.json", "\"number_of_nodes\": \"x\"", "\"number_of_nodes\": 1", "",
     "number_of_nodes is not a string"},
    {NULL, NULL, NULL, "--division closed", "division is \"open\"; --division says \"closed\""},
    {"runs/run-2/mlperf.log", "\"value\": \"tiny\"", "\"value\": \"else\"", "",
     "submission_org is \"else\"; "},
    {"runs/run-2/mlperf.log", "\"value\": \"tiny\"", "\"value\": \"t\\u001b[2J\\nerror\"", "",
     "submission_org is \"t\\x1b[2J\\x0aerror\"; "},
    {"runs/run-2/mlperf.log", "\"value\": 1002", "\"value\": 1001", "",
     "two runs log the same seed: they are one run twice"},
    {"runs/run-3/run.json", "\"lr\": 1.5", "\"lr\": 1.6", "",
     "its run had another lr than that of "},
    {"runs/run-3/run.json", "{\"stave", "{{\"stave", "", "it holds no run.json of this program"},
    {"runs/run-3/run.json", "\"workload\": \"resnet50\"", "\"workload\": \"a b; rm\"", "",
     "it holds no run.json of this program"},
    {"runs/run-3/run.json", "\"options\": {", "\"options\": [1], \"o\": {", "",
     "it holds no run.json of this program"},
    {"runs/run-3/run.json", "\"training\": {", "\"training\": [1], \"t\": {", "",
     "it holds no run.json of this program"},
    {"runs/run-3/run.json", "\"ruleset\": \"4.0.0\"", "\"ruleset\": \"3.1.0\"", "",
     "its run was made under another ruleset than 4.0.0"},
    {NULL, NULL, NULL, "--implementation .hidden", "begins with a dot"},
};

static void refused(const char *dir, const struct refusal *r)
{
    char *said;

    if (r->file)
        edit_file(dir, r->file, r->find, r->with);
    said = program_run(dir, 4, SUBMIT "%s", dir, dir, dir, r->flags);
    assert_says(said, r->reason);
    nothing_written(dir);
    free(said);
    if (r->file)
        edit_file(dir, r->file, r->with, r->find);
}

static void what_is_refused(void **state)
{
    make_input(*state, (struct made_run){0});
    for (size_t i = 0; i < COUNT_OF(open_refusals); i++)
        refused(*state, &open_refusals[i]);
}

static void remove_run(const char *runs, const char *name)
{
    char *const log = xasprintf("%s/%s/mlperf.log", runs, name);

    assert_int_equal(remove(log), 0);
    free(log);
}

static void runs_that_do_not_fit(void **state)
{
    const char *const dir = *state;
    char *const runs = file_join(dir, "runs");
    char *said;

    make_input(dir, (struct made_run){0});
    make_run(runs, "run-5.failed-1", (struct made_run){.seed = 1006});
    free(program_run(dir, 0, SUBMIT "--lint", dir, dir, dir));
    make_run(runs, "run-5.failed-old", (struct made_run){.seed = 1007}); /* no such name */
    said = program_run(dir, 4, SUBMIT, dir, dir, dir);
    assert_says(said, "there are 6 logs; a result of resnet is made of 5");
    free(said);
    remove_run(runs, "run-5.failed-old");
    make_run(runs, "run-6", (struct made_run){.seed = 1006});
    said = program_run(dir, 4, SUBMIT, dir, dir, dir);
    assert_says(said, "there are 6 logs; a result of resnet is made of 5");
    free(said);
    free(scratch_file(dir, "runs/run-6/result.json", "{\"resumed\": true}"));
    said = program_run(dir, 4, SUBMIT "--lint", dir, dir, dir);
    assert_says(said, "its run was resumed");
    free(said);
    make_run(runs, "run-6", (struct made_run){.seed = 1006, .benchmark = "other"});
    said = program_run(dir, 4, SUBMIT, dir, dir, dir);
    assert_says(said, "ruleset 4.0.0 has no benchmark other");
    free(said);
    free(scratch_file(dir, "runs/run-6/mlperf.log", "nothing\n"));
    said = program_run(dir, 3, SUBMIT, dir, dir, dir);
    assert_says(said, "names no submission_benchmark, so it belongs to no result");
    free(said);
    nothing_written(dir);
    free(runs);
}

/* Closed: seeds and convergence. */
static void closed_refusals(void **state)
{
    const char *const dir = *state;
    char *const runs = file_join(dir, "runs");
    char *said;

    make_input(dir, (struct made_run){.division = "closed"});
    make_run(runs, "run-5", (struct made_run){.division = "closed", .seed = 1002});
    said = program_run(dir, 4, SUBMIT, dir, dir, dir);
    assert_says(said, "seed 1002 at ");
    assert_says(said, "every run needs its own");
    free(said);
    make_run(runs, "run-5", (struct made_run){.division = "closed", .seed = 1005, .batch = 3200});
    said = program_run(dir, 4, SUBMIT, dir, dir, dir);
    assert_says(said, "global_batch_size is 3200, in the logs before it 3264");
    free(said);
    make_runs(runs, (struct made_run){.division = "closed", .epochs = 15});
    said = program_run(dir, 4, SUBMIT, dir, dir, dir);
    assert_says(said, "faster than allowed");
    free(said);
    free(program_run(dir, 0, SUBMIT "--rcp-bypass --lint", dir, dir, dir));
    nothing_written(dir);
    free(runs);
}

static void usage(void **state)
{
    static const char *const of_making[] = {"--to x", "--org tiny", "--lint"};
    const char *const dir = *state;
    char *said;

    make_input(dir, (struct made_run){0});
    said = program_run(dir, 2, "submit %s/runs --org tiny --to %s/sub", dir, dir);
    assert_says(said, "give --system FILE.json");
    free(said);
    said = program_run(dir, 2, "submit %s/runs --system %s/box.json --to %s/sub", dir, dir, dir);
    assert_says(said, "give --org NAME");
    free(said);
    said = program_run(dir, 2, "submit %s/runs --system %s/box.json --org tiny", dir, dir);
    assert_says(said, "give --to DIR");
    free(said);
    said = program_run(dir, 2, "submit %s/runs --system %s/box.json --org a/b --lint", dir, dir);
    assert_says(said, "hold no slash");
    free(said);
    said = program_run(dir, 2, SUBMIT "--ruleset 9.9.9", dir, dir, dir);
    assert_says(said, "there is no ruleset \"9.9.9\"; there are 0.5.0, 0.6.0, ");
    free(said);
    said = program_run(dir, 2, SUBMIT "--ruleset 0.5.0", dir, dir, dir);
    assert_says(said, "submissions are judged for rounds 0.6.0 to 4.0.0");
    free(said);
    said = program_run(dir, 2, "submit --verify --ruleset 0.5.0 %s/runs", dir);
    assert_says(said, "submissions are judged for rounds 0.6.0 to 4.0.0");
    free(said);
    for (size_t i = 0; i < COUNT_OF(of_making); i++) {
        said = program_run(dir, 2, "submit --verify %s %s/runs", of_making[i], dir);
        assert_says(said, "--verify judges a submission that is there");
        free(said);
    }
    said = program_run(dir, 2, "submit %s --system %s/box.json --org tiny --lint", dir, dir);
    assert_says(said, "no folder in ");
    free(said);
    free(scratch_file(dir, "sub/precious", "x"));
    said = program_run(dir, 2, SUBMIT, dir, dir, dir);
    assert_says(said, "is there already; a submission is written to a new folder");
    free(said);
    assert_true(is_there(dir, "sub/precious"));
    assert_false(is_there(dir, "sub/tiny"));
}

static void one_finding_a_field(void **state)
{
    static const char *const fields[][2] = {
        {"submitter", "tiny"},
        {"division", "open"},
        {"system_name", "testbox"},
        {"status", "Research, Development, or Internal (RDI)"},
    };
    const char *const dir = *state;
    char *said;
    cJSON *doc;

    make_input(dir, (struct made_run){0});
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        char *const find = xasprintf("\"%s\": \"%s\"", fields[i][0], fields[i][1]);
        char *const with = xasprintf("\"%s\": \"FILL IN: a\"", fields[i][0]);

        edit_file(dir, "box.json", find, with);
        free(find);
        free(with);
    }
    said = program_run(dir, 4, SUBMIT "--json --division open", dir, dir, dir);
    doc = cJSON_Parse(said);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(doc, "findings")), COUNT_OF(fields));
    /* The official checker refuses such a status. */
    assert_true(cJSON_IsFalse(cJSON_GetObjectItem(doc, "official_accepts")));
    cJSON_Delete(doc);
    free(said);
}

/* stdout is one document. */
static void as_json(void **state)
{
    const char *const dir = *state;
    char *said;
    cJSON *doc;

    make_input(dir, (struct made_run){0});
    edit_file(dir, "box.json", "\"cooling\": \"x\"", "\"cooling\": \"FILL IN: \\\"a\\\"\"");
    said = program_run(dir, 4, SUBMIT "--json", dir, dir, dir);
    doc = cJSON_Parse(said);
    assert_non_null(doc);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(doc, "official_accepts")));
    assert_true(cJSON_IsFalse(cJSON_GetObjectItem(doc, "stands")));
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(doc, "findings")), 1);
    cJSON_Delete(doc);
    free(said);
}

/* The description that `stave system` writes is refused until somebody fills it in. */
static void from_the_machine(void **state)
{
    const char *const dir = *state;
    char *said, *text;

    make_input(dir, (struct made_run){0});
    free(program_run(dir, 0, "system --to %s/m.json", dir));
    said = program_run(dir, 4, "submit %s/runs --lint --org tiny --system %s/m.json", dir, dir);
    assert_says(said, "cooling is not filled in yet: air or liquid");
    assert_says(said, "refuse it (1 error, ");
    free(said);
    said = program_run(dir, 2, "system --to %s/m.json", dir);
    assert_says(said, "is there already");
    free(said);
    edit_file(dir, "m.json", "FILL IN: air or liquid", "liquid");
    free(program_run(dir, 0, "system --to %s/m.json --from %s/m.json", dir, dir));
    text = read_text(dir, "m.json");
    assert_says(text, "\"cooling\": \"liquid\"");
    free(text);
    said = program_run(dir, 0, "system --json");
    assert_says(said, "\"fill_in\": [");
    free(said);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_layout),           TEST(a_slash_behind),   TEST(the_scripts),
        TEST(another_round),        TEST(closed_is_scaled), TEST(what_is_refused),
        TEST(runs_that_do_not_fit), TEST(closed_refusals),  TEST(usage),
        TEST(one_finding_a_field),  TEST(as_json),          TEST(from_the_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
