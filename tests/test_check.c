/* The log checker: what it says of logs that are spoilt in one way each. tests/agreement holds its
 * verdicts against the official checker's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/str.h"
#include "rules/check.h"
#include "rules/ruleset.h"

/* ---- a log of a closed ResNet run that stands ---- */

struct line {
    const char *key, *value, *meta; /* meta: further members, with a comma in front */
};

static const struct line resnet[] = {
    {"cache_clear", "true", ""},
    {"init_start", "null", ""},
    {"submission_benchmark", "\"resnet\"", ""},
    {"submission_division", "\"closed\"", ""},
    {"submission_org", "\"org\"", ""},
    {"submission_platform", "\"box\"", ""},
    {"submission_status", "\"onprem\"", ""},
    {"seed", "7", ""},
    {"global_batch_size", "3264", ""},
    {"gradient_accumulation_steps", "1", ""},
    {"opt_name", "\"lars\"", ""},
    {"lars_opt_base_learning_rate", "10.5", ""},
    {"lars_opt_end_learning_rate", "0.0001", ""},
    {"lars_opt_learning_rate_decay_poly_power", "2", ""},
    {"lars_opt_learning_rate_decay_steps", "37", ""},
    {"lars_epsilon", "0.0", ""},
    {"lars_opt_learning_rate_warmup_epochs", "2", ""},
    {"lars_opt_momentum", "0.9", ""},
    {"lars_opt_weight_decay", "5e-05", ""},
    {"init_stop", "null", ""},
    {"run_start", "null", ""},
    {"train_samples", "1281167", ""},
    {"eval_samples", "50000", ""},
    {"block_start", "null", ", \"first_epoch_num\": 1, \"epoch_count\": 4"},
    {"eval_start", "null", ", \"epoch_num\": 4"},
    {"eval_accuracy", "0.7601", ", \"epoch_num\": 4"},
    {"eval_stop", "null", ", \"epoch_num\": 4"},
    {"block_stop", "null", ", \"first_epoch_num\": 1"},
    {"run_stop", "null", ", \"status\": \"success\""},
};

enum { N = COUNT_OF(resnet) };

/* Lines of text, one a record. */
struct log {
    char *line[N + 4];
    size_t n;
};

static char *record(const struct line *l, long long ms)
{
    return xasprintf(":::MLLOG {\"namespace\": \"\", \"time_ms\": %lld, \"event_type\": "
                     "\"%s\", \"key\": \"%s\", \"value\": %s, \"metadata\": {\"file\": "
                     "\"a.c\", \"lineno\": 3%s}}",
                     ms,
                     strstr(l->key, "_start")  ? "INTERVAL_START"
                     : strstr(l->key, "_stop") ? "INTERVAL_END"
                                               : "POINT_IN_TIME",
                     l->key, l->value, l->meta);
}

static void make(struct log *log)
{
    log->n = N;
    for (size_t i = 0; i < N; i++)
        log->line[i] = record(&resnet[i], 1700000000000 + 1000 * (long long)i);
}

static void release(struct log *log)
{
    for (size_t i = 0; i < log->n; i++)
        free(log->line[i]);
}

static size_t line_of(const char *key)
{
    for (size_t i = 0; i < N; i++)
        if (strcmp(resnet[i].key, key) == 0)
            return i;
    fail_msg("no line with %s", key);
    return 0;
}

static void put(struct log *log, size_t i, char *line)
{
    free(log->line[i]);
    log->line[i] = line;
}

/* ---- what is said of it ---- */

/* "severity name key line" of each error and strict finding, and of warnings. */
static int write_finding(void *context, const struct rule_finding *f)
{
    assert_true(f->found[0] && f->rule[0] && f->name[0]);
    if (f->severity != RULE_NOTE)
        str_printf(context, "%s %s %s %zu; ", rule_severity_name(f->severity), f->name, f->key,
                   f->line);
    return 0;
}

static char *findings(const char *text, const char *round)
{
    struct str said = STR_INIT;
    struct rule_verdict v;
    const struct ruleset *const r = round ? ruleset_find(round) : NULL;

    str_add(&said, "");
    assert_int_equal(
        rules_check_memory(text, strlen(text), r, &(struct rule_visitor){write_finding, &said}, &v),
        0);
    assert_int_equal(v.stands, v.n[RULE_ERROR] + v.n[RULE_STRICT] == 0);
    assert_int_equal(v.official_accepts, v.n[RULE_ERROR] == 0);
    return str_detach(&said);
}

static char *findings_of(const struct log *log)
{
    struct str text = STR_INIT;
    char *said;

    for (size_t i = 0; i < log->n; i++)
        str_printf(&text, "%s\n", log->line[i]);
    said = findings(text.s, "4.0.0");
    str_release(&text);
    return said;
}

static void expect(struct log *log, const char *expected)
{
    char *const said = findings_of(log);

    if (strcmp(said, expected) != 0)
        fail_msg("expected %s\ngot      %s", expected, said);
    free(said);
    release(log);
}

/* ---- the variants ---- */

static void a_log_that_stands(void **state)
{
    struct log log;

    (void)state;
    make(&log);
    expect(&log, "");
}

/* Text that other processes and terminals leave does not matter. */
static void noise_passes(void **state)
{
    struct log log;

    (void)state;
    make(&log);
    put(&log, 3, xasprintf("0: %s", log.line[3]));
    put(&log, 4, xasprintf("\x1b[A%s\r", log.line[4]));
    put(&log, 5, xasprintf("%s\nstep 3", log.line[5]));
    expect(&log, "");
}

static void with_value(const char *key, const char *value, const char *expected)
{
    const size_t i = line_of(key);
    struct line l = resnet[i];
    struct log log;

    make(&log);
    l.value = value;
    put(&log, i, record(&l, 1700000000000 + 1000 * (long long)i));
    expect(&log, expected);
}

static void values(void **state)
{
    (void)state;
    with_value("lars_opt_end_learning_rate", "9.999999747378752e-05",
               "error value lars_opt_end_learning_rate 13; ");
    with_value("lars_opt_weight_decay", "4.999999873689376e-05", "");
    with_value("lars_opt_weight_decay", "0", "error value lars_opt_weight_decay 19; ");
    with_value("lars_epsilon", "1e-07", "error value lars_epsilon 16; ");
    with_value("lars_epsilon", "false", "");
    with_value("lars_opt_momentum", "0.95", "warning rules-text lars_opt_momentum 18; ");
    with_value("eval_accuracy", "76.01",
               "warning per-cent eval_accuracy 26; error target-missed eval_accuracy 0; ");
    with_value("eval_accuracy", "NaN", "error target-missed eval_accuracy 0; ");
    with_value("eval_accuracy", "nan", "error cut  26; error missing eval_accuracy 0; ");
    with_value("eval_accuracy", "\"0.76\"",
               "error not-comparable eval_accuracy 26; error target-missed eval_accuracy 0; ");
    with_value("submission_status", "\"cloudy\"", "error value submission_status 7; ");
    with_value("opt_name", "\"adam\"", "error value opt_name 11; ");
    with_value("submission_benchmark", "\"maskrcnn\"",
               "error no-such-sheet submission_benchmark 3; ");
    with_value("submission_org", "\"\"", "error value submission_org 5; ");
}

/* All that an optimiser's sheet asks for is missing with the other optimiser. */
static void the_optimiser_chooses_a_sheet(void **state)
{
    struct log log;
    char *said;

    (void)state;
    make(&log);
    put(&log, 10, record(&(struct line){"opt_name", "\"sgd\"", ""}, 1700000010000));
    said = findings_of(&log);
    assert_non_null(strstr(said, "error missing model_bn_span 0; "));
    assert_non_null(strstr(said, "error missing sgd_opt_momentum 0; "));
    assert_null(strstr(said, "lars"));
    free(said);
    release(&log);
}

static void without(const char *key, const char *expected)
{
    const size_t i = line_of(key);
    struct log log;

    make(&log);
    free(log.line[i]);
    memmove(log.line + i, log.line + i + 1, (N - i - 1) * sizeof(*log.line));
    log.n--;
    expect(&log, expected);
}

static void missing_records(void **state)
{
    (void)state;
    without("gradient_accumulation_steps", "error missing gradient_accumulation_steps 0; ");
    without("cache_clear", "error missing cache_clear 0; ");
    without("run_stop", "error missing run_stop 0; ");
    without("block_start", "error missing block_start 0; ");
    without("eval_accuracy", "error missing eval_accuracy 0; ");
    without("seed", "warning no-seed  0; ");
    without("init_start", "error order init_stop 19; error missing init_start 0; ");
}

static void copies(void **state)
{
    struct log log;

    (void)state;
    make(&log);
    log.line[log.n++] = xstrdup(log.line[8]);
    expect(&log,
           "warning time-backwards global_batch_size 30; warning copies global_batch_size 0; ");
    make(&log);
    log.line[log.n++] = record(&(struct line){"global_batch_size", "32", ""}, 1700000060000);
    expect(&log, "error contradiction global_batch_size 30; ");
}

static void at_time(const char *key, long long ms, const char *expected)
{
    const size_t i = line_of(key);
    struct log log;

    make(&log);
    put(&log, i, record(&resnet[i], ms));
    expect(&log, expected);
}

static void times(void **state)
{
    (void)state;
    at_time("run_stop", 1700000015000,
            "warning time-backwards run_stop 29; strict stop-before-start run_stop 29; ");
    at_time("init_stop", 1700000001000 + 30 * 60000,
            "error init-time init_stop 20; warning time-backwards run_start 21; "
            "warning time-backwards  0; ");
    at_time("init_stop", 1700000001000 + 30 * 60000 - 1,
            "warning time-backwards run_start 21; warning time-backwards  0; ");
}

static void lines_in_pieces(void **state)
{
    struct log log;

    (void)state;
    make(&log);
    put(&log, 8, xasprintf("%s%s", log.line[8], log.line[9]));
    put(&log, 9, xstrdup("noise"));
    expect(&log, "strict glued  9; error missing global_batch_size 0; ");
    make(&log);
    memcpy(log.line[8] + 40, "[rank3] ok ", 11);
    expect(&log, "error cut  9; error missing global_batch_size 0; ");
    make(&log);
    *strstr(log.line[8], ", \"metadata\"") = '\0';
    put(&log, 8, xasprintf("%s}", log.line[8]));
    expect(&log, "error field  9; error missing global_batch_size 0; ");
    make(&log);
    put(&log, 8, xasprintf("%s 12:21]", log.line[8]));
    expect(&log, "error trailing-text  9; ");
    make(&log);
    memmove(log.line[7] + 8, log.line[7] + 9, strlen(log.line[7] + 8));
    expect(&log, "strict no-blank  8; warning no-seed  0; ");
}

/* Stable Diffusion's two halves of an evaluation are one. */
static void halves_are_gathered(void **state)
{
    static const char text[] =
        ":::MLLOG {\"time_ms\": 1, \"key\": \"submission_division\", \"value\": \"open\", "
        "\"metadata\": {}}\n:::MLLOG {\"time_ms\": 1, \"key\": \"submission_benchmark\", "
        "\"value\": \"stable_diffusion\", \"metadata\": {}}\n"
        ":::MLLOG {\"time_ms\": 1, \"key\": \"eval_accuracy\", \"value\": 50, \"metadata\": "
        "{\"metric\": \"FID\", \"samples_count\": %d}}\n"
        ":::MLLOG {\"time_ms\": 1, \"key\": \"eval_accuracy\", \"value\": 0.2, \"metadata\": "
        "{\"metric\": \"CLIP\", \"samples_count\": 7}}\n";
    char log[2048], *said;

    (void)state;
    snprintf(log, sizeof(log), text, 7);
    said = findings(log, "4.0.0");
    assert_non_null(strstr(said, "error missing aggregated_eval_accuracy 0; ")); /* two are asked */
    assert_null(strstr(said, "value aggregated"));
    free(said);
    snprintf(log, sizeof(log), text, 8);
    said = findings(log, "4.0.0");
    assert_null(strstr(said, "missing aggregated_eval_accuracy"));
    assert_non_null(strstr(said, "error value aggregated_eval_accuracy 3; "));
    free(said);
}

static void tensors_are_named_once(void **state)
{
    static const char head[] =
        ":::MLLOG {\"time_ms\": 1, \"key\": \"submission_division\", \"value\": \"closed\", "
        "\"metadata\": {}}\n:::MLLOG {\"time_ms\": 1, \"key\": \"submission_benchmark\", "
        "\"value\": \"dlrm\", \"metadata\": {}}\n";
    const struct rule_tensors *const list = ruleset_tensors(ruleset_find("1.1.0"), "dlrm");
    struct str log = STR_INIT;
    char *said;

    (void)state;
    str_add(&log, head);
    for (size_t i = 0; i < list->n; i++)
        str_printf(&log,
                   ":::MLLOG {\"time_ms\": 1, \"key\": \"weights_initialization\", \"value\": "
                   "null, \"metadata\": {\"tensor\": \"%s\"}}\n",
                   list->names[i]);
    said = findings(log.s, "1.1.0");
    assert_null(strstr(said, "tensors"));
    free(said);
    str_add(&log, ":::MLLOG {\"time_ms\": 1, \"key\": \"weights_initialization\", \"value\": null, "
                  "\"metadata\": {\"tensor\": \"embeddings\"}}\n");
    said = findings(log.s, "1.1.0");
    assert_non_null(strstr(said, "error tensors weights_initialization 0; "));
    free(said);
    str_release(&log);
}

static void old_rounds_are_known_by_their_lines(void **state)
{
    char *said;

    (void)state;
    said = findings(":::MLPv0.5.0 resnet 1.0 (a.py:1) run_start\n"
                    ":::MLPv0.5.0 resnet 2.0 (a.py:2) eval_start\n"
                    ":::MLPv0.5.0 resnet 2.5 (a.py:3) eval_accuracy: {\"epoch\": 4, \"value\": "
                    "0.75}\n"
                    "0: :::MLPv0.5.0 resnet 2.5 (a.py:3) eval_accuracy: {\"epoch\": 4, \"value\": "
                    "0.75}\n"
                    ":::MLPv0.5.0 resnet 3.0 (a.py:4) run_stop\n"
                    ":::MLPv0.5.0 resnet 4.0 (a.py:5) run_final\n",
                    NULL);
    assert_null(strstr(said, "error"));
    assert_non_null(strstr(said, "warning missing model_hp_block_type 0; "));
    free(said);
    said = findings(":::MLPv0.5.0 ncf 5.0 (a.py:1) run_start\n"
                    ":::MLPv0.5.0 ncf 3.0 (a.py:4) run_stop\n",
                    NULL);
    assert_non_null(strstr(said, "error run-time  0; "));
    free(said);
    said = findings(":::MLL 1.0 epoch_start: {\"value\": null, \"metadata\": {\"epoch_num\": 1}}\n",
                    NULL);
    assert_non_null(strstr(said, "error order epoch_start 1; "));
    free(said);
}

/* What may yet be taken back is held for each key a few times at most. */
static void memory_does_not_grow_with_the_log(void **state)
{
    const struct rule_visitor nobody = {NULL, NULL};
    struct str text = STR_INIT;
    struct rule_verdict v;

    (void)state;
    for (int i = 0; i < 20000; i++)
        str_add(&text, ":::MLLOG {\"time_ms\": 1, \"key\": \"eval_accuracy\", \"value\": \"x\", "
                       "\"metadata\": {}}\n");
    assert_int_equal(rules_check_memory(text.s, text.len, NULL, &nobody, &v), 0);
    assert_int_equal(v.n_records, 20000);
    assert_false(v.stands);
    assert_in_range(v.n[RULE_ERROR], 1, 100);
    str_release(&text);
}

/* A visitor may stop the check. */
static int stop(void *context, const struct rule_finding *f)
{
    (void)context;
    (void)f;
    return -77;
}

static void a_visitor_stops_the_check(void **state)
{
    struct rule_verdict v;

    (void)state;
    assert_int_equal(rules_check_memory("x", 1, NULL, &(struct rule_visitor){stop, NULL}, &v), -77);
    assert_int_equal(
        rules_check_file("/nonexistent/log", NULL, &(struct rule_visitor){stop, NULL}, &v), E_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_that_stands),
        cmocka_unit_test(noise_passes),
        cmocka_unit_test(values),
        cmocka_unit_test(the_optimiser_chooses_a_sheet),
        cmocka_unit_test(missing_records),
        cmocka_unit_test(copies),
        cmocka_unit_test(times),
        cmocka_unit_test(lines_in_pieces),
        cmocka_unit_test(halves_are_gathered),
        cmocka_unit_test(tensors_are_named_once),
        cmocka_unit_test(old_rounds_are_known_by_their_lines),
        cmocka_unit_test(memory_does_not_grow_with_the_log),
        cmocka_unit_test(a_visitor_stops_the_check),
    };

    return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
