/* The parts of a study: which conditions and runs it has, the figures of a run's files, how long
 * runs are, the choice of an ingest setting and its words, and study.json both ways. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/study.h"
#include "cli/study_grid.h"
#include "cli/study_length.h"
#include "meter/ingest.h"
#include "run_fixture.h"
#include "scratch.h"

#define NEAR(a, b, within) assert_true(fabs((a) - (b)) <= (within))

/* ---- the plan ---- */

static const char *const ingests[] = {"off", "rate=1M bs=4k, jobs=2"};
static const struct study_lists lists = {.memory = "none,4G",
                                         .cache = "none",
                                         .data = "/a,/b",
                                         .ingest = ingests,
                                         .n_ingest = 2,
                                         .copy_in = NULL};

static void test_one_at_a_time(void **state)
{
    struct study s = {0};

    (void)state;
    assert_int_equal(study_plan(&s, &lists, 0), 0);
    assert_int_equal(s.n_conditions, 4);
    assert_string_equal(s.conditions[0].name, "memory none, data /a, ingest off");
    assert_string_equal(s.conditions[1].name, "memory 4G, data /a, ingest off");
    assert_string_equal(s.conditions[2].data, "/b");
    assert_string_equal(s.conditions[2].memory, "none");
    assert_string_equal(s.conditions[3].ingest, "rate=1M bs=4k, jobs=2");
    assert_int_equal(s.conditions[3].alone, ALONE_BOTH);
    assert_int_equal(s.conditions[2].alone, ALONE_TRAINING);
    study_release(&s);
}

static void test_all_combinations(void **state)
{
    struct study s = {0};

    (void)state;
    assert_int_equal(study_plan(&s, &lists, 1), 0);
    assert_int_equal(s.n_conditions, 8);
    for (size_t i = 0; i < 8; i++) {
        assert_string_equal(s.conditions[i].memory, i & 4 ? "4G" : "none");
        assert_string_equal(s.conditions[i].data, i & 2 ? "/b" : "/a");
        assert_string_equal(s.conditions[i].ingest, ingests[i & 1]);
        assert_string_equal(s.conditions[i].cache, "none");
    }
    study_release(&s);
}

static void test_too_many_conditions(void **state)
{
    struct str sizes = STR_INIT;
    struct study s = {0};

    (void)state;
    for (int i = 1; i <= STUDY_MAX_CONDITIONS; i++)
        str_printf(&sizes, "%s%dM", i > 1 ? "," : "", i);
    assert_int_equal(study_plan(&s, &(struct study_lists){.memory = sizes.s}, 0), 0);
    study_release(&s);
    assert_int_equal(
        study_plan(&s, &(struct study_lists){.memory = sizes.s, .cache = "none,1M"}, 0), E_USAGE);
    study_release(&s);
    assert_int_equal(
        study_plan(&s, &(struct study_lists){.memory = sizes.s, .cache = "none,1M"}, 1), E_USAGE);
    study_release(&s);
    str_release(&sizes);
}

/* ---- the grid of an ingest study ---- */

/* What a specification comes to. */
static void check_spec(const char *spec, long long bs, long long rate)
{
    struct ingest_settings i;

    assert_int_equal(ingest_parse(spec, &i), 0);
    assert_int_equal(i.bs, bs);
    assert_int_equal(i.rate, rate);
    assert_int_equal(i.size, 3 << 20);
    assert_string_equal(i.dir, "/d");
    ingest_release(&i);
}

static void test_grid(void **state)
{
    const struct grid_lists l = {.base = "size=3M dir=/d bs=2k",
                                 .bs = "4k,1M",
                                 .rate = "0,50M",
                                 .jobs = "2",
                                 .engine = "sync",
                                 .memory = "4G"};
    struct study s = {0};

    (void)state;
    assert_int_equal(study_plan_grid(&s, &l), 0);
    assert_int_equal(s.n_conditions, 6);
    assert_string_equal(s.conditions[0].name, "training alone");
    assert_string_equal(s.conditions[0].ingest, "off");
    assert_int_equal(s.conditions[0].alone, ALONE_TRAINING);
    assert_string_equal(s.conditions[1].name, "ingest alone: bs 4k, rate unlimited");
    assert_int_equal(s.conditions[1].alone, ALONE_INGEST);
    assert_string_equal(s.conditions[5].name, "together: bs 1M, rate 50M");
    for (size_t i = 1; i < 6; i++)
        check_spec(s.conditions[i].ingest, i < 4 ? 4096 : 1 << 20, i == 3 || i == 5 ? 50 << 20 : 0);
    for (size_t i = 2; i < 6; i++)
        assert_int_equal(s.conditions[i].alone, ALONE_BOTH);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(s.conditions[i].memory, "4G");
    study_release(&s);
}

static void test_refused_grids(void **state)
{
    static const struct grid_lists wrong[] = {
        {.bs = "4k,4k"},    {.bs = "4k,,8k"},      {.rate = "fast"},  {.jobs = "0"},
        {.engine = "sink"}, {.memory = "none,4G"}, {.base = "bz=4k"}, {.bs = ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct study s = {0};
        assert_int_equal(study_plan_grid(&s, &wrong[i]), E_USAGE);
        study_release(&s);
    }
}

/* A study of two workloads and three conditions, its folder, and no run made yet. */
static struct study small_study(const char *dir, const char *kind, size_t n_repeats)
{
    static const char *const names[] = {"one", "two"};
    struct study s = {.dir = xstrdup(dir),
                      .kind = kind,
                      .stave_version = xstrdup("1"),
                      .started = xstrdup("2026-01-01T00:00:00Z"),
                      .seed = 9007199254740991,
                      .warm_s = 1.5};
    const struct study_lists of = {.memory = "none,1G,2G"};

    assert_int_equal(study_plan(&s, &of, 0), 0);
    s.workloads = xcalloc(2, sizeof(*s.workloads));
    for (; s.n_workloads < 2; s.n_workloads++)
        s.workloads[s.n_workloads] =
            (struct study_workload){.name = xstrdup(names[s.n_workloads]),
                                    .unit = xstrdup("images"),
                                    .options = xstrdup("{\"a\": {\"b\": 0.1234567890123456}}"),
                                    .steps = 7};
    study_set_repeats(&s, n_repeats);
    return s;
}

static void test_runs_alternate(void **state)
{
    static const size_t want[][3] = {{0, 0, 1}, {0, 1, 1}, {0, 2, 1}, {1, 0, 1},
                                     {1, 1, 1}, {1, 2, 1}, {0, 2, 2}, {0, 1, 2},
                                     {0, 0, 2}, {1, 2, 2}, {1, 1, 2}, {1, 0, 2}};
    struct study s = small_study(*state, "study", 1);

    s.runs[0].state = STUDY_DONE;
    study_set_repeats(&s, 2);
    assert_int_equal(s.n_runs, 12);
    assert_int_equal(s.runs[0].state, STUDY_DONE);
    for (size_t i = 0; i < 12; i++) {
        assert_int_equal(s.runs[i].workload, want[i][0]);
        assert_int_equal(s.runs[i].condition, want[i][1]);
        assert_int_equal(s.runs[i].repeat, want[i][2]);
    }
    study_release(&s);
}

/* ---- the figures of a run ---- */

/* Warm-up is over at 3.2 s, the first step event at least 1.5 s behind run_start. Behind it: 10
 * steps at 100/s and 30 at 50/s, of which 20 % and 10 % wait: 40 steps take 0.7 of the units in
 * which one a second takes 1, 0.02 + 0.06 of them waiting. */
static const char events[] =
    "{\"time_ms\": 1, \"type\": \"point\", \"elapsed_ns\": 1000000000, \"key\": \"run_start\"}\n"
    "{\"time_ms\": 1, \"type\": \"point\", \"elapsed_ns\": 2000000000, \"key\": \"step\", "
    "\"step_num\": 5, \"samples_per_s\": 1}\n"
    "{\"time_ms\": 1, \"type\": \"point\", \"elapsed_ns\": 3200000000, \"key\": \"step\", "
    "\"step_num\": 9, \"samples_per_s\": 2}\n"
    "{\"time_ms\": 1, \"type\": \"point\", \"elapsed_ns\": 4000000000, \"key\": \"step\", "
    "\"step_num\": 19, \"samples_per_s\": 100, "
    "\"data_wait_ratio\": 0.2}\n"
    "not JSON\n"
    "{\"time_ms\": 1, \"type\": \"point\", \"elapsed_ns\": 5000000000, \"key\": \"step\", "
    "\"step_num\": 49, \"samples_per_s\": 50, "
    "\"data_wait_ratio\": 0.1}\n"
    "{\"time_ms\": 1, \"type\": \"point\", \"elapsed_ns\": 6000000000, \"key\": \"step\", "
    "\"step_num\": 99, \"samples_per_s\": 1";

static const char result[] =
    "{\"status\": \"steps done\", \"steps\": 49, \"samples_trained\": 490, \"run_ns\": 7500000000, "
    "\"train_ns\": 5000000000, \"data_wait_ns\": 500000000, \"samples_per_s\": 98, "
    "\"origin\": \"disk\", \"data_epochs\": [{\"epoch_num\": 1, \"delivered_ratio\": 0.5}, "
    "{\"epoch_num\": 2, "
    "\"delivered_ratio\": 0.25}], \"ingest\": {\"write_bytes_per_s\": 1e8, \"latency_ns\": "
    "{\"p99\": "
    "2e6}}}";

/* The phase train: 3 s, of which cpu is at 100 for one and at 40 for two; 6 MB read. */
static const char samples[] =
    "time_ms,elapsed_s,phase,epoch,cpu_process_percent,disk_read_bytes,memory_anon_bytes,"
    "gpu0_sm_percent,gpu1_sm_percent,gpu0_memory_used_bytes,gpu1_memory_used_bytes\n"
    "1000,0.000,init,,5,1000000,1,0,0,5,5\n"
    "2000,1.000,warmup,1,900,2000000,1,0,0,5,5\n"
    "3000,2.000,train,1,100,3000000,10,30,50,7,9\n"
    "5000,4.000,train,1,40,8000000,40,60,80,7,9\n"
    "6000,5.000,end,,900,99000000,1,0,0,5,5\n";

static struct study_run look(const char *dir, int code)
{
    struct study s = small_study(dir, "study", 1);
    struct study_run r = s.runs[0];

    study_look(&s, 0, code, &r);
    study_release(&s);
    return r;
}

static void test_figures(void **state)
{
    const char *const dir = *state;
    struct study_run r;

    free(scratch_file(dir, "run-01/events.jsonl", events));
    free(scratch_file(dir, "run-01/result.json", result));
    free(scratch_file(dir, "run-01/samples.csv", samples));
    r = look(dir, 0);
    assert_true(r.stands && !r.whole && r.state == STUDY_DONE);
    NEAR(r.figures[FIGURE_run_s], 7.5, 1e-12);
    NEAR(r.figures[FIGURE_train_samples_per_s], 40 / 0.7, 1e-9);
    NEAR(r.figures[FIGURE_wait_ratio], 0.08 / 0.7, 1e-9);
    NEAR(r.figures[FIGURE_cpu_process_percent], 60, 1e-9);
    NEAR(r.figures[FIGURE_disk_read_bytes_per_s], 2e6, 1e-3);
    NEAR(r.figures[FIGURE_memory_anon_bytes], 30, 1e-9);
    NEAR(r.figures[FIGURE_gpu_sm_percent], 60, 1e-9); /* of 50 and 70 */
    NEAR(r.figures[FIGURE_gpu_memory_used_bytes], 16, 1e-9);
    NEAR(r.figures[FIGURE_delivered_ratio], 0.25, 1e-12);
    NEAR(r.figures[FIGURE_ingest_bytes_per_s], 1e8, 1e-3);
    NEAR(r.figures[FIGURE_ingest_p99_ms], 2, 1e-9);
    assert_true(isnan(r.figures[FIGURE_disk_write_bytes_per_s]));
    assert_true(isnan(r.figures[FIGURE_memory_file_bytes]));
    assert_string_equal(r.origin, "disk");
}

static void test_short_run(void **state)
{
    const char *const dir = *state;
    struct study_run r;

    free(scratch_file(dir, "run-01/result.json", result));
    r = look(dir, 0);
    assert_true(r.stands && r.whole);
    NEAR(r.figures[FIGURE_train_samples_per_s], 98, 1e-12);
    NEAR(r.figures[FIGURE_wait_ratio], 0.1, 1e-12);
    assert_string_equal(r.why, "it ended within its warm-up: figures of all of it");
}

/* A target that is missed is no failure of a study; anything else is. */
static void test_which_runs_stand(void **state)
{
    const char *const dir = *state;

    assert_false(look(dir, 0).stands); /* nothing there */
    free(scratch_file(dir, "run-01/result.json", result));
    assert_true(look(dir, 0).stands);
    assert_false(look(dir, 1).stands);
    assert_false(look(dir, 4).stands);
    assert_string_equal(look(dir, 4).why, "steps done; exit code 4");
    free(scratch_file(
        dir, "run-01/result.json",
        "{\"status\": \"target not reached\", \"run_ns\": 1e9, \"samples_per_s\": 2}"));
    assert_true(look(dir, 1).stands);
}

/* Of a run that ended well under a condition; says: why it does not stand, NULL that it does. */
static void check_under(const char *dir, struct study_condition c, const char *more,
                        const char *says)
{
    struct study s = {.dir = xstrdup(dir), .conditions = &c, .n_conditions = 1, .warm_s = 1.5};
    struct study_run r = {0};
    char *const text = xasprintf("{\"status\": \"steps done\", \"steps\": 49, \"samples_trained\":"
                                 " 490, \"run_ns\": 7e9, \"samples_per_s\": 98%s}",
                                 more);

    free(scratch_file(dir, "run-01/result.json", text));
    study_look(&s, 0, 0, &r);
    assert_int_equal(r.stands, says == NULL);
    if (says)
        assert_string_equal(r.why, says);
    free(s.dir);
    free(text);
}

static void test_conditions_that_failed(void **state)
{
    const struct study_condition ingest = {.ingest = "size=1M"}, memory = {.memory = "1G"},
                                 cache = {.cache = "1G"}, copy = {.copy_in = "/d"},
                                 alone = {
                                     .ingest = "size=1M", .memory = "1G", .alone = ALONE_INGEST};
    static const char limit[] = ", \"ceiling\": {\"how\": \"v2\", \"memory_limit_bytes\": 9}",
                      good[] = ", \"ingest\": {\"error\": 0}",
                      early[] = "it ended within its warm-up, before its condition began";
    const char *const dir = *state;

    check_under(dir, cache, limit, early);
    check_under(dir, ingest, good, early);
    check_under(dir, memory, limit, NULL); /* from the start */
    check_under(dir, alone, good, NULL);
    free(scratch_file(dir, "run-01/copy_in.json", "{\"copied_bytes\": 5}"));
    check_under(dir, copy, "", early);
    free(scratch_file(dir, "run-01/events.jsonl", events));
    check_under(dir, copy, "", NULL);
    check_under(dir, cache, limit, NULL);
    check_under(dir, ingest, good, NULL);
    check_under(dir, ingest, "", "nothing is known of its ingest");
    check_under(dir, ingest, ", \"ingest\": {\"error\": 28, \"words\": \"full\"}",
                "its ingest failed: full");
    check_under(dir, memory, "", "there was no ceiling");
    check_under(dir, memory, ", \"ceiling\": {\"how\": \"v2\"}", "there was no ceiling");
    check_under(dir, cache, ", \"ceiling\": {\"how\": \"uncached reads: x\"}", NULL);
    check_under(dir, memory, ", \"ceiling\": {\"memory_limit_bytes\": 9, \"words\": \"lost\"}",
                "its ceiling: lost");
    free(scratch_file(dir, "run-01/copy_in.json", "{\"copied_bytes\": 0}"));
    check_under(dir, copy, "", "nothing was copied");
}

/* ---- lengths ---- */

struct paced {
    double step_s;
    int n_trials;
    struct setup *setup;
};

static int paced_run(void *context, size_t workload, const char *folder, struct child_end *end)
{
    struct paced *const p = context;
    char *const text =
        xasprintf("{\"train_ns\": %.0f}", 1e9 * p->step_s * (double)p->setup->settings.train.steps);

    assert_int_equal(workload, 0);
    free(scratch_file(folder, "result.json", text));
    free(text);
    p->n_trials++;
    *end = (struct child_end){0};
    return 0;
}

static long long length_at(const char *dir, double step_s, int *n_trials)
{
    struct study s = small_study(dir, "study", 1);
    struct setup setup = {0};
    struct paced p = {.step_s = step_s, .setup = &setup};
    char *const others = file_join(dir, "length");
    struct file_names names;
    long long steps;

    assert_int_equal(file_mkdirs(others), 0); /* somebody else's */
    assert_int_equal(study_length(&s, 0, &setup, (struct length_trial){paced_run, &p}), 0);
    steps = s.workloads[0].steps;
    assert_int_equal(setup.settings.train.steps, steps);
    assert_int_equal(setup.settings.train.checkpoint_every, 0);
    assert_int_equal(file_list(dir, &names), 0); /* its own is thrown away */
    assert_int_equal(names.n, 1);
    assert_string_equal(names.all[0], "length");
    file_names_release(&names);
    *n_trials = p.n_trials;
    study_release(&s);
    free(others);
    return steps;
}

static void test_length(void **state)
{
    int n;

    assert_int_equal(length_at(*state, 0.5, &n), 43); /* (1.5 + 20) / 0.5 */
    assert_int_equal(n, 1);
    assert_int_equal(length_at(*state, 0.001, &n), 21500);
    assert_true(n > 1 && n <= 4);
    assert_int_equal(length_at(*state, 60, &n), 10); /* a few at least */
}

/* ---- what it comes to ---- */

/* One workload; condition c writes so fast and trains so fast, in every repeat with this noise. */
static struct study ingest_study(const char *dir, const double rates[3], const double writes[3])
{
    struct study s = small_study(dir, "ingest", 3);

    free(s.workloads[1].name);
    free(s.workloads[1].unit);
    free(s.workloads[1].options);
    s.n_workloads = 1;
    s.n_repeats = s.n_runs = 0;
    study_set_repeats(&s, 3);
    for (size_t i = 0; i < s.n_runs; i++) {
        struct study_run *const r = &s.runs[i];
        const double noise = 1 + 0.0005 * ((double)((r->repeat * 7 + r->condition * 3) % 5) - 2);

        r->state = STUDY_DONE;
        r->stands = 1;
        r->figures[FIGURE_train_samples_per_s] = rates[r->condition] * noise;
        r->figures[FIGURE_ingest_bytes_per_s] = writes[r->condition];
    }
    s.conditions[1].alone = s.conditions[2].alone = ALONE_BOTH;
    return s;
}

static void test_choice_is_said(void **state)
{
    struct study s = ingest_study(*state, (double[]){100, 99.8, 88}, (double[]){NAN, 50e6, 200e6});
    struct study_result r;

    study_judge(&s, &r);
    assert_true(r.has_choice);
    assert_int_equal(r.choice.certainty, EFFECT_SURE);
    assert_int_equal(r.choice.at, 1);
    NEAR(r.rows[2].slowdown.ratio, 0.12, 0.003);
    assert_true(r.rows[2].slowdown.told_apart);
    assert_says(r.words.s, "Ingest at 200 MB/s slows training by 12 % (12 to 12); up to 50 MB/s no "
                           "slowdown can be told from noise, and the repeats tell differences of ");
    assert_says(
        r.choice_words.s,
        "The most ingest that costs training under 1 %: --ingest \"off\", 50 MB/s, slowdown "
        "0.");
    NEAR(r.ranking.kendall_w, 1, 0.3);
    study_result_release(&r);
    /* a run that does not count is not in the comparison, and two are left */
    s.runs[8].stands = 0;
    study_judge(&s, &r);
    assert_int_equal(r.rows[2].slowdown.n, 2);
    assert_int_equal(r.smallest.n, 2);
    study_result_release(&r);
    /* nor is one of the whole run beside one of what is behind the warm-up */
    s.runs[1].whole = 1;
    study_judge(&s, &r);
    assert_int_equal(r.rows[1].slowdown.n, 2);
    assert_int_equal(r.rows[1].n, 3);
    study_result_release(&r);
    study_release(&s);
}

static void test_no_choice_is_said(void **state)
{
    struct study s = ingest_study(*state, (double[]){100, 90, 70}, (double[]){NAN, 1e6, 2e9});
    struct study_result r;

    study_judge(&s, &r);
    assert_int_equal(r.choice.certainty, EFFECT_NONE);
    assert_string_equal(r.choice_words.s, "No setting costs training under 1 %");
    assert_says(r.words.s, "Ingest at 2 GB/s slows training by 30 %");
    assert_null(strstr(r.words.s, "up to"));
    study_result_release(&r);
    study_release(&s);
}

static const char *words_of(const struct study *s, char *out, size_t n)
{
    struct study_result r;

    study_judge(s, &r);
    snprintf(out, n, "%s", r.words.s);
    study_result_release(&r);
    return out;
}

static void test_nothing_is_compared(void **state)
{
    struct study s = ingest_study(*state, (double[]){100, 99, 88}, (double[]){NAN, NAN, NAN});
    char words[200];

    s.kind = "study";
    for (size_t i = 3; i < s.n_runs; i++)
        s.runs[i].stands = 0;
    assert_says(words_of(&s, words, sizeof(words)), "One repeat does not tell a difference");
    for (size_t i = 0; i < 3; i++)
        s.runs[i].stands = 0;
    assert_says(words_of(&s, words, sizeof(words)),
                "No repeat has both the first condition and another one to compare");
    for (size_t i = 0; i < s.n_runs; i++)
        s.runs[i].state = STUDY_WAITING;
    assert_says(words_of(&s, words, sizeof(words)), "No run has been made yet; so far 0 of 9 runs");
    study_release(&s);
}

/* ---- study.json ---- */

static int parse(const char *text, struct study *s)
{
    *s = (struct study){0};
    return study_parse(s, text, strlen(text));
}

static void test_written_and_read(void **state)
{
    struct study s = ingest_study(*state, (double[]){100, 99, 88}, (double[]){NAN, 5e7, 2e8}),
                 again;
    char *text;

    s.runs[4].state = STUDY_WAITING;
    s.runs[2].exit_code = 4;
    free(s.conditions[1].ingest);
    s.conditions[1].ingest = xstrdup("bs=4k \"x\"");
    s.workloads[0].says_checkpoints = 1;
    assert_int_equal(study_write(&s), 0);
    text = read_text(*state, "study.json");
    if (parse(text, &again) < 0)
        fail_msg("%s", err_reason());
    assert_true(again.seed == s.seed && again.warm_s == s.warm_s);
    assert_int_equal(again.n_runs, 9);
    assert_int_equal(again.runs[4].state, STUDY_WAITING);
    assert_int_equal(again.runs[5].state, STUDY_DONE);
    assert_int_equal(again.runs[2].exit_code, 4);
    assert_string_equal(again.conditions[1].ingest, "bs=4k \"x\"");
    assert_string_equal(again.workloads[0].options, s.workloads[0].options);
    assert_int_equal(again.workloads[0].steps, 7);
    assert_true(again.workloads[0].says_checkpoints && !again.workloads[0].says_evaluations);
    study_release(&again);
    study_release(&s);
    free(text);
}

/* Every document that is cut, or has one number or text of it changed, is taken as a study or
 * refused with a reason. */
static void test_damaged(void **state)
{
    static const char *const marks[] = {"\"seed\"",  "\"repeats\"", "run-01",  "\"condition\"",
                                        "\"alone\"", "\"kind\"",    "\"unit\""};
    struct study s = ingest_study(*state, (double[]){100, 99, 88}, (double[]){NAN, 5e7, 2e8}),
                 again;
    char *text;

    assert_int_equal(study_write(&s), 0);
    text = read_text(*state, "study.json");
    for (size_t i = 0; i < COUNT_OF(marks); i++) {
        char *const at = strstr(text, marks[i]), was = at[1];
        at[1] = 'X';
        assert_int_equal(parse(text, &again), E_DATA);
        study_release(&again);
        at[1] = was;
    }
    for (size_t n = 0; n + 2 < strlen(text); n += 97) {
        char *const cut = xasprintf("%.*s", (int)n, text);
        assert_int_equal(parse(cut, &again), E_DATA);
        study_release(&again);
        free(cut);
    }
    free(text);
    study_release(&s);
}

#define S(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_at_a_time),
        cmocka_unit_test(test_all_combinations),
        cmocka_unit_test(test_too_many_conditions),
        cmocka_unit_test(test_grid),
        cmocka_unit_test(test_refused_grids),
        S(test_runs_alternate),
        S(test_figures),
        S(test_short_run),
        S(test_which_runs_stand),
        S(test_conditions_that_failed),
        S(test_length),
        S(test_choice_is_said),
        S(test_no_choice_is_said),
        S(test_nothing_is_compared),
        S(test_written_and_read),
        S(test_damaged),
    };

    return cmocka_run_group_tests_name("study_parts", tests, NULL, NULL);
}
