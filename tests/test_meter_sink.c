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
#include "disk_tree.h"
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

/* What the program counts itself stands behind what probes say. */
static void counters_are_totals(const char *path)
{
    struct samples s;

    assert_int_equal(samples_read(path, NULL, &s), 0);
    assert_string_equal(s.names[s.n_columns - 1], "loader_asked_bytes");
    assert_true(samples_is_total(s.names[s.n_columns - 1]));
    samples_release(&s);
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
    counters_are_totals(path);
    free(path);
}

/* Disks of their own under the data set and under what is written, and /proc/self/io. */
static void put_tree(const char *root)
{
    static const char *const disks[] = {"vda", "vdb"}, *const numbers[] = {"254:0", "254:16"};

    for (int i = 0; i < 2; i++) {
        tree_disk(root, disks[i], numbers[i]);
        tree_put(root, disks[i], "stat", "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
    }
    tree_mounts(root, "22 1 254:0 / / rw - ext4 /dev/vda rw\n"
                      "23 22 254:16 / /store rw - ext4 /dev/vdb rw\n");
    meter_put(root, "proc/self/io", "rchar: 1\nread_bytes: 1\nwrite_bytes: 1\n");
}

static int n_totals(const char *root)
{
    const char *const files[] = {*root ? "/data/train" : "tests/run"}, *const stores[] = {"/store"};
    int n = 0;

    for (size_t i = 0; meter_probes[i]; i++) {
        const struct meter_place place = {root, files, 1, stores, 1};
        struct meter_columns c = {0};
        void *probe;
        assert_int_equal(meter_probes[i]->open(&probe, &place, &c), 0);
        for (size_t k = 0; k < c.n; k++) {
            n += c.all[k].kind == METER_TOTAL;
            if (samples_is_total(c.all[k].name) != (c.all[k].kind == METER_TOTAL))
                fail_msg("%s", c.all[k].name);
        }
        meter_probes[i]->close(probe);
        meter_columns_release(&c);
    }
    return n;
}

/* Readers know from the name which columns are totals; probes say it of their own, on this machine
 * and on one where all can be known. */
static void readers_know_totals(void **state)
{
    put_tree(*state);
    n_totals("");
    assert_int_equal(n_totals(*state), 3 + 2 + 2);
}

/* Only devices that this process may use have columns. */
static void accelerators_with_gaps(void **state)
{
    static const char text[] =
        "time_ms,elapsed_s,phase,epoch,gpu1_sm_percent,gpu1_memory_used_bytes,gpu3_sm_percent,"
        "gpu3_memory_used_bytes,gpu3_mig1_sm_percent,gpu5_memory_used_bytes\n"
        "0,0.000,init,,0,0,0,0,0,0\n"
        "1000,1.000,train,1,20,1073741824,60,2147483648,100,4294967296\n";
    const struct meter_report report = {.use = {.n_samples = 2}, .hz = 1};
    char *const path = file_join(*state, "samples.csv");
    struct str json = STR_INIT, line = STR_INIT;

    assert_int_equal(file_replace(path, text, strlen(text)), 0);
    meter_report_read(&report, path, &json, &line);
    if (!strstr(line.s, "; 2 accelerators 40 % busy, 3.00 GiB in use"))
        fail_msg("%s", line.s);
    str_release(&json);
    str_release(&line);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(phases_of_a_run, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(readers_know_totals, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(accelerators_with_gaps, scratch_open, scratch_close),
        cmocka_unit_test(warm_by_time),
        cmocka_unit_test(warm_by_epoch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
