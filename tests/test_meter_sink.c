/* What the meter hears of a run's events: the end of the warm-up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/warm.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warm_by_time),
        cmocka_unit_test(warm_by_epoch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
