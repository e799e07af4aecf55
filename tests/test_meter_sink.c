/* What the meter hears of a run's events: the end of the warm-up, phases and epochs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/meter_sink.h"
#include "cli/warm.h"
#include "meter_fixture.h"
#include "scratch.h"
#include "trace/samples.h"

static int hear(struct warm *w, enum trace_key key, double at_s)
{
    return warm_over(w, &(struct trace_event){.key = key, .elapsed_ns = (int64_t)(at_s * 1e9)});
}

static void warm_by_time(void **state)
{
    struct warm w = {.seconds = 2};

    (void)state;
    assert_int_equal(hear(&w, KEY_step, 5), 0); /* of nothing that runs */
    assert_int_equal(hear(&w, KEY_run_start, 10), 0);
    assert_int_equal(hear(&w, KEY_epoch_start, 10), 0);
    assert_int_equal(hear(&w, KEY_step, 11.9), 0);
    assert_int_equal(hear(&w, KEY_checkpoint_saved, 12.5), 0);
    assert_false(w.over);
    assert_int_equal(hear(&w, KEY_step, 12.5), 1);
    assert_true(w.over);
    assert_int_equal(hear(&w, KEY_step, 13), 0); /* told once */
    assert_int_equal(hear(&w, KEY_epoch_stop, 14), 0);
}

static void warm_by_epoch(void **state)
{
    struct warm w = {.seconds = 3600}, none = {0};

    (void)state;
    assert_int_equal(hear(&w, KEY_run_start, 1), 0);
    assert_int_equal(hear(&w, KEY_step, 2), 0);
    assert_int_equal(hear(&w, KEY_epoch_stop, 3), 1);
    assert_int_equal(hear(&w, KEY_epoch_stop, 4), 0);
    assert_int_equal(hear(&none, KEY_run_start, 1), 0);
    assert_int_equal(hear(&none, KEY_step, 1), 1);
}

/* A run of three epochs of which the second is warm-up's end by time, with two evaluations. */
static void phases_of_a_run(void **state)
{
    static const struct {
        const char *phase, *epoch;
    } rows[] = {{"init", ""},  {"init", ""},   {"warmup", ""}, {"warmup", "1"},
                {"train", ""}, {"train", "2"}, {"train", ""},  {"evaluate", ""},
                {"train", ""}, {"train", "3"}, {"end", ""}};
    char *const path = file_join(*state, "samples.csv");
    struct meter_report report;
    const struct meter_sink_options options = {
        .path = path, .hz = 0.001, .warm = 3600, .run_dir = *state, .report = &report};
    struct trace t;

    trace_open(&t);
    assert_int_equal(trace_add(&t, &meter_sink, &options), 0);
    assert_non_null(report.meter);
    TRACE_START(&t, init_start, trace_none());
    TRACE_END(&t, init_stop, trace_none());
    TRACE_START(&t, run_start, trace_none());
    TRACE_START(&t, epoch_start, trace_none(), {"epoch_num", trace_int(1)});
    TRACE_STEP(&t, {.epoch = 1, .step = 1});
    TRACE_END(&t, epoch_stop, trace_none(), {"epoch_num", trace_int(1)});
    TRACE_START(&t, epoch_start, trace_none(), {"epoch_num", trace_int(2)});
    TRACE_END(&t, epoch_stop, trace_none(), {"epoch_num", trace_int(2)});
    TRACE_START(&t, eval_start, trace_none(), {"epoch_num", trace_int(2)});
    TRACE_END(&t, eval_stop, trace_none(), {"epoch_num", trace_int(2)});
    TRACE_START(&t, epoch_start, trace_none(), {"epoch_num", trace_int(3)});
    TRACE_END(&t, run_stop, trace_none(), {"epoch_num", trace_int(2)}); /* cut short */
    assert_int_equal(trace_close(&t), 0);
    assert_null(report.meter);
    assert_int_equal(report.use.n_samples, COUNT_OF(rows));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_string_equal(csv_text(*state, (int)i + 1, "phase"), rows[i].phase);
        assert_string_equal(csv_text(*state, (int)i + 1, "epoch"), rows[i].epoch);
    }
    free(path);
}

/* Readers know from the name which columns are totals; probes say it of their own. */
static void readers_know_totals(void **state)
{
    const char *const files[] = {"tests/run"};

    (void)state;
    for (size_t i = 0; meter_probes[i]; i++) {
        const struct meter_place place = {
            .root = "", .data_files = files, .n_data_files = 1, .store = "/tmp"};
        struct meter_columns c = {0};
        void *probe;
        assert_int_equal(meter_probes[i]->open(&probe, &place, &c), 0);
        for (size_t k = 0; k < c.n; k++)
            if (samples_is_total(c.all[k].name) != (c.all[k].kind == METER_TOTAL))
                fail_msg("%s", c.all[k].name);
        meter_probes[i]->close(probe);
        meter_columns_release(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(phases_of_a_run, scratch_open, scratch_close),
        cmocka_unit_test(readers_know_totals),
        cmocka_unit_test(warm_by_time),
        cmocka_unit_test(warm_by_epoch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
