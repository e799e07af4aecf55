/* The log that checks itself while it is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "cli/rule_sink.h"

static void open_sink_for(struct trace *t, int only_part)
{
    trace_open(t);
    assert_int_equal(
        trace_add(t, &rule_sink,
                  &(struct rule_sink_options){ruleset_find(RULESET_PINNED), only_part}),
        0);
}

static void open_sink(struct trace *t)
{
    open_sink_for(t, 0);
}

static void begin(struct trace *t, const char *org)
{
    TRACE_POINT(t, submission_benchmark, trace_string("resnet"));
    TRACE_POINT(t, submission_division, trace_string("open"));
    TRACE_POINT(t, submission_org, trace_string(org));
    TRACE_POINT(t, submission_platform, trace_string("box"));
    TRACE_POINT(t, submission_status, trace_string("onprem"));
    TRACE_POINT(t, cache_clear, trace_bool(1));
    TRACE_START(t, init_start, trace_none());
    TRACE_END(t, init_stop, trace_none());
    TRACE_START(t, run_start, trace_none());
}

static void train(struct trace *t)
{
    TRACE_POINT(t, train_samples, trace_int(100));
    TRACE_POINT(t, eval_samples, trace_int(10));
    TRACE_START(t, block_start, trace_none(), {"first_epoch_num", trace_int(1)},
                {"epoch_count", trace_int(1)});
    TRACE_START(t, eval_start, trace_none(), {"epoch_num", trace_int(1)});
    TRACE_POINT(t, eval_accuracy, trace_real(0.5), {"epoch_num", trace_int(1)});
    TRACE_END(t, eval_stop, trace_none(), {"epoch_num", trace_int(1)});
    TRACE_END(t, block_stop, trace_none(), {"first_epoch_num", trace_int(1)});
}

static void stop(struct trace *t, const char *status)
{
    TRACE_END(t, run_stop, trace_none(), {"status", trace_string(status)});
}

static void a_whole_run_stands(void **state)
{
    struct trace t;

    (void)state;
    open_sink(&t);
    begin(&t, "org");
    train(&t);
    stop(&t, "success");
    assert_int_equal(trace_close(&t), 0);
}

static void a_violation_fails_the_log(void **state)
{
    struct trace t;

    (void)state;
    open_sink(&t);
    begin(&t, ""); /* an empty name */
    stop(&t, "aborted");
    assert_int_equal(trace_close(&t), E_DATA);
    assert_string_equal(err_reason(), "1 finding against ruleset 4.0.0, the first: "
                                      "submission_org: value is \"\"");
}

/* A run that ended without a result need not be whole; one that claims one must. */
static void what_is_missing_counts_for_results_only(void **state)
{
    struct trace t;

    (void)state;
    open_sink(&t);
    begin(&t, "org");
    stop(&t, "aborted");
    assert_int_equal(trace_close(&t), 0);
    open_sink_for(&t, 1);
    begin(&t, "org");
    stop(&t, "success");
    assert_int_equal(trace_close(&t), 0);
    open_sink(&t);
    begin(&t, "org");
    stop(&t, "success");
    assert_int_equal(trace_close(&t), E_DATA);
    assert_non_null(strstr(err_reason(), "block_start: it is not there"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_run_stands),
        cmocka_unit_test(a_violation_fails_the_log),
        cmocka_unit_test(what_is_missing_counts_for_results_only),
    };

    return cmocka_run_group_tests_name("rule_sink", tests, NULL, NULL);
}
