/* `stave ingest` from outside, with fio where there is one: training alone, ingest alone, both. */
#define SMALL_COMMAND "ingest"
#include "small_run.h"

#include <math.h>

#include "scratch.h"

#define GRID                                                                                       \
    "-b 6 --steps 20000 --lr 0.05 --warm 0 --bs 64k --rate 4M --ingest size=8M --repeats 1 "       \
    "--sample-rate 20"

static const cJSON *at(const cJSON *object, const char *list, int i)
{
    const cJSON *const item = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(object, list), i);

    assert_non_null(item);
    return item;
}

/* fio's own document, of one job group; it says what ended it before. */
static double fio_rate(const char *folder)
{
    char *const text = read_text(folder, "fio.json");
    cJSON *const fio = cJSON_Parse(strchr(text, '{'));
    const cJSON *const write = cJSON_GetObjectItemCaseSensitive(at(fio, "jobs", 0), "write");
    const double rate = number_of(write, "io_bytes") / number_of(write, "runtime") * 1000;

    cJSON_Delete(fio);
    free(text);
    return rate;
}

/* The ingest alone has a page, too, which knows that it ended. */
static void check_page(const char *folder)
{
    char *const path = file_join(folder, "report.html"), *text;
    size_t n;

    assert_int_equal(file_read(path, 1 << 24, &text, &n), 0);
    assert_says(text, "<h1>Made the ingest alone, without a training beside it, in ");
    free(text);
    free(path);
}

/* Each run with ingest reached what fio says, and its folder keeps no files of fio's. */
static void check_run(const char *out, const cJSON *run, const cJSON *condition)
{
    char *const folder = file_join(out, string_of(run, "dir"));
    const double rate = number_of(run, "ingest_bytes_per_s");

    assert_true(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(run, "stands")));
    if (strcmp(string_of(condition, "alone"), "training") == 0)
        assert_true(isnan(rate));
    else
        assert_true(fabs(rate / fio_rate(folder) - 1) < 0.01);
    if (strcmp(string_of(condition, "alone"), "ingest") == 0) {
        assert_true(isnan(number_of(run, "train_samples_per_s")));
        check_page(folder);
    } else
        assert_true(number_of(run, "train_samples_per_s") > 0);
    free(folder);
}

static void an_ingest_study_is_made(void **state)
{
    const char *const dir = *state;
    char *const out = file_join(dir, "s"), *said;
    const cJSON *choice;
    cJSON *study;

    if (system("fio --version >/dev/null 2>&1") != 0) {
        print_message("# fio is not installed\n");
        skip();
    }
    small_data(dir);
    if (run_words(dir, NULL, &said, GRID " -d %s --out %s", dir, out) != 0)
        fail_msg("%s", said);
    assert_says(said, "ingest alone: bs 64k, rate 4M");
    assert_says(said, "together: bs 64k, rate 4M");
    assert_says(said, " ingest ");
    free(said);
    study = read_json(out, "study.json");
    assert_string_equal(string_of(study, "kind"), "ingest");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(study, "runs")), 3);
    for (int i = 0; i < 3; i++) {
        const cJSON *const run = at(study, "runs", i);
        check_run(out, run, at(study, "conditions", (int)number_of(run, "condition")));
    }
    choice = cJSON_GetObjectItemCaseSensitive(study, "choice");
    assert_true(strlen(string_of(choice, "words")) > 0);
    cJSON_Delete(study);
    free(out);
}

#define S(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {S(an_ingest_study_is_made)};

    small_is_started(argc, argv);
    return cmocka_run_group_tests_name("study_ingest", tests, NULL, NULL);
}
