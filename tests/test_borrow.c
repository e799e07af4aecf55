/* Configurations from logs that are made here: what each round's keys become, which unit the length
 * of a decay has, what is missing; and that `stave run` takes what `stave borrow` writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/config.h"
#include "base/err.h"
#include "base/file.h"
#include "rules/log.h"
#include "run_fixture.h"
#include "scratch.h"
#include "workloads/borrow.h"

/* A log of these records, "key value" each, and evaluations after first, first + every, ... */
struct made {
    const char *records; /* "opt_name \"lars\"; lars_epsilon 0" */
    int first, every, last;
};

static void add_record(struct str *out, const char *key, const char *value, int epoch)
{
    str_printf(out,
               ":::MLLOG {\"namespace\": \"\", \"time_ms\": 1, \"event_type\": \"POINT_IN_TIME\", "
               "\"key\": \"%s\", \"value\": %s, \"metadata\": {\"file\": \"a.c\", \"lineno\": 1",
               key, value);
    if (epoch >= 0)
        str_printf(out, ", \"epoch_num\": %d", epoch);
    str_add(out, "}}\n");
}

static char *make_log(struct made m)
{
    struct str out = STR_INIT;
    char *const copy = xstrdup(m.records), *save = NULL;

    for (char *r = strtok_r(copy, ";", &save); r; r = strtok_r(NULL, ";", &save)) {
        char key[80], value[80];

        if (r[strspn(r, " ")] == '\0')
            continue;
        assert_int_equal(sscanf(r, " %79s %79[^;]", key, value), 2);
        add_record(&out, key, value, -1);
    }
    for (int e = m.first; m.every > 0 && e <= m.last; e += m.every)
        add_record(&out, "eval_accuracy", "0.7", e);
    free(copy);
    return str_detach(&out);
}

/* ---- the configuration, read back ---- */

struct pairs {
    struct {
        char key[40], value[60];
    } all[64];
    int n;
};

static int add_pair(void *context, const char *key, const char *value, const char *where)
{
    struct pairs *const p = context;

    (void)where;
    assert_in_range(p->n, 0, 63);
    snprintf(p->all[p->n].key, sizeof(p->all[0].key), "%s", key);
    snprintf(p->all[p->n++].value, sizeof(p->all[0].value), "%s", value);
    return 0;
}

static const char *value_of(const struct pairs *p, const char *key)
{
    for (int i = 0; i < p->n; i++)
        if (strcmp(p->all[i].key, key) == 0)
            return p->all[i].value;
    return "(none)";
}

static void check_value(const struct pairs *p, const char *key, const char *value)
{
    if (strcmp(value_of(p, key), value) != 0)
        fail_msg("%s is %s, expected %s", key, value_of(p, key), value);
}

static int borrow_text(struct made m, long long at_once, struct str *out)
{
    char *const text = make_log(m);
    const struct workload_borrow how = {.from = "log", .most_at_once = at_once};
    struct log l;
    int rc;

    assert_int_equal(log_read_memory(&l, text, strlen(text)), 0);
    rc = borrow_resnet50(&l, &how, out);
    log_release(&l);
    free(text);
    return rc;
}

/* The settings of the configuration, and, when wanted, its text. */
static struct pairs borrow(const char *dir, struct made m, struct str *text)
{
    struct str out = STR_INIT;
    struct pairs p = {.n = 0};
    char *path;

    if (borrow_text(m, 32, &out) < 0)
        fail_msg("%s", err_reason());
    path = scratch_file(dir, "c.yaml", out.s);
    if (config_load(path, add_pair, &p) < 0)
        fail_msg("%s", err_reason());
    free(path);
    if (text)
        str_add(text, out.s);
    str_release(&out);
    return p;
}

/* ---- tests ---- */

#define LARS                                                                                       \
    "opt_name \"lars\"; lars_opt_base_learning_rate 10.5; lars_opt_end_learning_rate 0.0001; "     \
    "lars_opt_learning_rate_decay_poly_power 2; lars_epsilon 0; lars_opt_momentum 0.95; "          \
    "lars_opt_weight_decay 5e-05; train_samples 1281167; "
#define BATCH(n, warmup)                                                                           \
    "global_batch_size " #n "; lars_opt_learning_rate_warmup_epochs " #warmup "; "
#define DECAY(n) "lars_opt_learning_rate_decay_steps " #n

static void lars(void **state)
{
    const struct pairs p = borrow(
        *state, (struct made){LARS BATCH(3264, 2) DECAY(37) "; label_smoothing 0.15", 3, 4, 35},
        NULL);

    check_value(&p, "batch-size", "3264");
    check_value(&p, "accumulate", "102");
    check_value(&p, "optimizer", "lars");
    check_value(&p, "lr", "10.5");
    check_value(&p, "end-lr", "0.0001");
    check_value(&p, "decay-power", "2");
    check_value(&p, "schedule", "polynomial");
    check_value(&p, "warmup-epochs", "2");
    check_value(&p, "decay-epochs", "37");
    check_value(&p, "epochs", "37");
    check_value(&p, "momentum", "0.95");
    check_value(&p, "weight-decay", "5e-05");
    check_value(&p, "epsilon", "0");
    check_value(&p, "label-smoothing", "0.15");
    check_value(&p, "eval-every", "4");
    check_value(&p, "eval-offset", "3");
}

/* Of sgd, whose keys have other names; those of lars that stand beside them are not taken. */
static void sgd(void **state)
{
    const struct pairs p =
        borrow(*state,
               (struct made){
                   LARS "opt_name \"sgd\"; global_batch_size 1664; sgd_opt_base_learning_rate 3.0; "
                        "sgd_opt_end_learning_rate 0.001; sgd_opt_weight_decay 2.5e-05; "
                        "sgd_opt_learning_rate_decay_poly_power 3; sgd_opt_momentum 0.8; "
                        "opt_learning_rate_warmup_epochs 3; "
                        "sgd_opt_learning_rate_decay_steps 42",
                   4, 4, 40},
               NULL);

    check_value(&p, "optimizer", "sgd");
    check_value(&p, "lr", "3");
    check_value(&p, "end-lr", "0.001");
    check_value(&p, "decay-power", "3");
    check_value(&p, "momentum", "0.8");
    check_value(&p, "weight-decay", "2.5e-05");
    check_value(&p, "warmup-epochs", "3");
    check_value(&p, "decay-epochs", "42");
    check_value(&p, "epsilon", "(none)");
}

/* The forms that published logs of rounds 0.7 to 4.0 have; the figures are theirs. */
static void units_of_the_decay(void **state)
{
    static const struct {
        struct made m;
        const char *decay, *epochs;
        const char *how;
    } cases[] = {
        {{LARS BATCH(3264, 2) DECAY(37), 3, 4, 35}, "37", "37", "read as epochs"},
        {{LARS BATCH(57344, 32) DECAY(78), 1, 4, 77}, "78", "78", "read as epochs"},
        /* 35 x 393 + 1 */
        {{LARS BATCH(3264, 2) DECAY(13756), 3, 4, 35}, "37", "37", "and one more"},
        /* 33 x 625 + 1 */
        {{LARS BATCH(2048, 3) DECAY(20626), 3, 4, 35}, "36", "36", "and one more"},
        /* 37 x 3141 */
        {{LARS BATCH(408, 2) DECAY(116217), 3, 4, 35}, "37", "37", "read as steps, warm-up"},
        {{LARS BATCH(8192, 5) DECAY(6095), 2, 4, 42},
         "44",
         "44",
         "read as steps after the warm-up ("},
        {{LARS BATCH(32768, 7.6) DECAY(639.6), 4, 4, 24}, "24", "24", "steps after the warm-up"},
        /* The run went on after its schedule. */
        {{LARS BATCH(3264, 2) DECAY(35), 3, 4, 39}, "35", "39", "read as epochs"},
        {{LARS BATCH(3264, 2) DECAY(37), 0, 0, 0}, "37", "37", "read as epochs"},
        {{LARS BATCH(3264, 2) DECAY(1e25), 3, 4, 35}, "(none)", "35", "out of all proportion"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct str text = STR_INIT;
        const struct pairs p = borrow(*state, cases[i].m, &text);

        if (strcmp(value_of(&p, "decay-epochs"), cases[i].decay) != 0 ||
            strcmp(value_of(&p, "epochs"), cases[i].epochs) != 0 || !strstr(text.s, cases[i].how))
            fail_msg("case %zu: decay-epochs %s, epochs %s in\n%s", i, value_of(&p, "decay-epochs"),
                     value_of(&p, "epochs"), text.s);
        str_release(&text);
    }
}

static void what_is_missing_is_said(void **state)
{
    struct str text = STR_INIT;
    const struct pairs p = borrow(
        *state,
        (struct made){"opt_name \"lars\"; global_batch_size 64; train_samples 1000", 0, 0, 0},
        &text);

    check_value(&p, "momentum", "(none)");
    check_value(&p, "lr", "(none)");
    check_value(&p, "epochs", "(none)");
    check_value(&p, "eval-every", "(none)");
    check_value(&p, "accumulate", "2");
    assert_says(text.s, "# momentum: not in the log; ");
    assert_says(text.s, "# label-smoothing: not in the log; ");
    assert_says(text.s, "# lars-eta: no log holds it; ");
    assert_says(text.s, "# eval-every, eval-offset: too few evaluations in the log");
    assert_says(text.s, "the log has no model_bn_span");
    assert_says(text.s, "trained on 1000 images, ImageNet-1k has 1281167");
    str_release(&text);
}

static void what_differs_is_said(void **state)
{
    struct str text = STR_INIT;
    struct pairs p =
        borrow(*state, (struct made){LARS BATCH(3264, 2) DECAY(37) "; model_bn_span 408", 0, 4, 36},
               &text);

    assert_says(text.s,
                "# batch norm differs: statistics over 32 images here, over 408 in the log");
    assert_says(text.s, "lars_opt_base_learning_rate, line 2");
    check_value(&p, "eval-offset", "4"); /* after epoch 0 nothing is evaluated here */
    str_reset(&text);
    p = borrow(*state, (struct made){LARS BATCH(3264, 2) DECAY(37) "; model_bn_span 32", 3, 4, 35},
               &text);
    assert_says(text.s, "# batch norm: statistics over 32 images, as in the log");
    str_release(&text);
}

static void an_odd_first_evaluation(void **state)
{
    struct str out = STR_INIT, log = STR_INIT;
    struct log l;
    const int epochs[] = {3, 6, 10, 14, 18};

    add_record(&log, "opt_name", "\"lars\"", -1);
    add_record(&log, "global_batch_size", "4096", -1);
    for (size_t i = 0; i < COUNT_OF(epochs); i++)
        add_record(&log, "eval_accuracy", "0.5", epochs[i]);
    (void)state;
    assert_int_equal(log_read_memory(&l, log.s, log.len), 0);
    assert_int_equal(borrow_resnet50(&l, &(struct workload_borrow){"log", 32}, &out), 0);
    assert_says(out.s, "eval-offset: 2 ");
    assert_says(out.s, "# the log's first evaluation differs: it came after epoch 3\n");
    log_release(&l);
    str_release(&out);
    str_release(&log);
}

static void the_batch_in_parts(void **state)
{
    static const struct {
        const char *records;
        long long at_once;
        const char *accumulate;
    } cases[] = {
        {LARS BATCH(3264, 2), 408, "accumulate: 8 "},
        {LARS BATCH(3264, 2), 4000, "accumulate: 1 "},
        {LARS BATCH(3264, 2), 33, "accumulate: 102 "}, /* 99 parts would not be equal */
        {LARS BATCH(131, 2), 32, "accumulate: 131 "},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct str out = STR_INIT;

        assert_int_equal(
            borrow_text((struct made){cases[i].records, 3, 4, 35}, cases[i].at_once, &out), 0);
        assert_says(out.s, cases[i].accumulate);
        str_release(&out);
    }
}

static void refusals(void **state)
{
    static const struct {
        const char *records, *reason;
    } cases[] = {
        {"opt_name \"lars\"",
         "log names no global_batch_size that is a whole number up to 1048576"},
        {"opt_name \"lars\"; global_batch_size 0.5",
         "log names no global_batch_size that is a whole number up to 1048576"},
        {"opt_name \"lars\"; global_batch_size 1e9",
         "log names no global_batch_size that is a whole number up to 1048576"},
        {"opt_name \"lars\"; global_batch_size 8209",
         "the log's batch of 8209 divides into no parts of at most 32 images, 4096 parts at most; "
         "allow more at once with --at-once"},
        {"opt_name \"lamb\"; global_batch_size 32",
         "log names lamb as opt_name; the hyper-parameters of lars and sgd can be borrowed"},
        {"opt_name 3; global_batch_size 32",
         "log names nothing as opt_name; the hyper-parameters of lars and sgd can be borrowed"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct str out = STR_INIT;

        assert_int_equal(borrow_text((struct made){cases[i].records, 3, 4, 35}, 32, &out), E_DATA);
        assert_string_equal(err_reason(), cases[i].reason);
        str_release(&out);
    }
}

/* ---- the command ---- */

static void the_program(void **state)
{
    const char *const dir = *state;
    char *const log =
        make_log((struct made){"submission_benchmark \"resnet\"; submission_org \"a # "
                               "b\xE2\x80\xA8lr: 9\xC2\x85lr: 9\"; " LARS BATCH(1600, 2) DECAY(37),
                               3, 4, 35});
    char *const other = make_log((struct made){"submission_benchmark \"bert\"", 0, 0, 0});
    char *said;

    free(scratch_file(dir, "log", log));
    free(scratch_file(dir, "bert", other));
    free(scratch_file(dir, "text", "nothing\n"));
    free(program_run(dir, 0, "borrow %s/log --to %s/c.yaml", dir, dir));
    said = program_run(dir, 0,
                       "run resnet50 --config %s/c.yaml --dry-run --device null --synthetic", dir);
    assert_says(said, "\"batch-size\": 1600");
    assert_says(said, "\"accumulate\": 50");
    assert_says(said, "\"lr\": 10.5");
    assert_says(said, "\"eval-offset\": 3");
    free(said);
    said = program_run(dir, 2, "borrow %s/log --to %s/c.yaml", dir, dir);
    assert_says(said, "c.yaml is there already; choose another name");
    free(said);
    said = program_run(dir, 3, "borrow %s/bert", dir);
    assert_says(said, "is a log of bert, which this program does not train");
    free(said);
    said = program_run(dir, 3, "borrow %s/text", dir);
    assert_says(said, "names no submission_benchmark, so it is no MLPerf training log");
    free(said);
    free(program_run(dir, 3, "borrow %s/none", dir));
    free(log);
    free(other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lars),
        TEST(sgd),
        TEST(units_of_the_decay),
        TEST(what_is_missing_is_said),
        TEST(what_differs_is_said),
        TEST(an_odd_first_evaluation),
        TEST(the_batch_in_parts),
        TEST(refusals),
        TEST(the_program),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
