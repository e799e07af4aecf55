/* A set of runs as data: set.json both ways, damaged in every way, seeds, and when a score is known
 * well enough, on times that are drawn here. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "base/random.h"
#include "cli/command.h"
#include "cli/run_set.h"
#include "cli/set_result.h"
#include "run_fixture.h"
#include "scratch.h"

static void fill(struct run_set *s, const char *dir, size_t n)
{
    *s = (struct run_set){.dir = xstrdup(dir),
                          .stave_version = xstrdup("0.1.0"),
                          .workload = xstrdup("resnet50"),
                          .ruleset = xstrdup("4.0.0"),
                          .started = xstrdup("2026-01-01T00:00:00Z"),
                          .options = xstrdup("{\"training\": {\"lr\": 0.12345678901234568, "
                                             "\"seed\": 0, \"decay-at\": null, \"flip\": true, "
                                             "\"dir\": \"a \\\"b\\\"\"}}")};
    assert_int_equal(run_set_draw(s, n), 0);
}

static void finish(struct set_run *r, int code, double minutes)
{
    r->state = SET_FINISHED;
    r->result = (struct set_result){.code = code,
                                    .status = "target reached",
                                    .quality = 0.875,
                                    .epochs = 4,
                                    .minutes = minutes,
                                    .cache_cleared = 1};
}

static char *text_of(const struct run_set *s)
{
    struct str out = STR_INIT;

    run_set_add_json(s, &out);
    return str_detach(&out);
}

static void seeds_are_drawn_and_differ(void **state)
{
    struct run_set s, other;

    (void)state;
    fill(&s, "d", 200);
    fill(&other, "d", 200);
    for (size_t i = 0; i < s.n; i++) {
        assert_true(s.runs[i].seed > 0 && s.runs[i].seed < UINT64_C(1) << 53);
        assert_int_equal(s.runs[i].state, SET_WAITING);
        assert_true(s.runs[i].seed != other.runs[i].seed);
        for (size_t k = 0; k < i; k++)
            assert_true(s.runs[i].seed != s.runs[k].seed);
    }
    run_set_release(&s);
    run_set_release(&other);
}

static void written_and_read_it_is_the_same(void **state)
{
    const char *const dir = *state;
    struct run_set s, back = {.dir = xstrdup(dir)};
    char *a, *b;

    fill(&s, dir, 4);
    finish(&s.runs[0], EXIT_REACHED, 3.9631666666666665);
    finish(&s.runs[1], EXIT_NOT_REACHED, NAN);
    snprintf(s.runs[1].result.why, sizeof(s.runs[1].result.why), "target \"not\" reached");
    s.runs[2].state = SET_RUNNING;
    s.until_sure = 2.5;
    assert_false(run_set_exists(dir));
    assert_int_equal(run_set_write(&s), 0);
    assert_true(run_set_exists(dir));
    assert_int_equal(run_set_read(&back), 0);
    a = text_of(&s);
    b = text_of(&back);
    assert_string_equal(a, b);
    assert_true(back.runs[0].result.minutes == 3.9631666666666665);
    free(a);
    free(b);
    run_set_release(&s);
    run_set_release(&back);
}

/* Every attempt keeps its folder and its seed. */
static void attempts_are_kept(void **state)
{
    const char *const dir = *state;
    struct run_set s, back = {.dir = xstrdup(dir)};
    uint64_t seed;

    fill(&s, dir, 2);
    seed = s.runs[1].seed;
    s.runs[1].state = SET_INTERRUPTED;
    assert_int_equal(run_set_start_again(&s, 1), 0); /* it left nothing: the seed is unused */
    assert_int_equal(s.runs[1].n_earlier, 0);
    assert_true(s.runs[1].seed == seed);
    free(scratch_file(dir, "run-2.interrupted-1/x", "")); /* of somebody else */
    for (int i = 0; i < 2; i++) {
        free(scratch_file(dir, "run-2/mlperf.log", "log"));
        s.runs[1].state = i ? SET_FAILED : SET_RUNNING;
        assert_int_equal(run_set_start_again(&s, 1), 0);
        assert_int_equal(s.runs[1].state, SET_WAITING);
    }
    assert_int_equal(s.runs[1].n_earlier, 2);
    assert_string_equal(s.runs[1].earlier[0].folder, "run-2.interrupted-2");
    assert_string_equal(s.runs[1].earlier[1].folder, "run-2.failed-1");
    assert_true(s.runs[1].earlier[0].seed == seed);
    assert_true(s.runs[1].seed != seed);
    free(read_text(dir, "run-2.interrupted-2/mlperf.log"));
    free(read_text(dir, "run-2.failed-1/mlperf.log"));
    assert_int_equal(run_set_write(&s), 0);
    assert_int_equal(run_set_read(&back), 0);
    assert_int_equal(back.runs[1].n_earlier, 2);
    run_set_release(&s);
    run_set_release(&back);
}

/* One edit at a time makes it none of ours: what stands there, what instead, what is said. */
static void damaged_is_refused(void **state)
{
    static const char *const edits[][3] = {
        {"\"seed\": 11", "\"seed\": 12", "runs 1 and 2 have one seed"},
        {"\"seed\": 11", "\"seed\": 0", "no seed"},
        {"\"seed\": 11", "\"seed\": 1.5", "no seed"},
        {"\"seed\": 11", "\"seed\": \"11\"", "no seed"},
        {"\"waiting\"", "\"dreaming\"", "no state"},
        {"\"waiting\"", "\"finished\"", "without an exit code"},
        {"\"waiting\"", "\"finished\", \"exit_code\": 0, \"why\": \"\\n\"", "not in plain letters"},
        {"\"waiting\"",
         "\"finished\", \"exit_code\": 0, \"status\": \"a status of far too many words\"",
         "too long"},
        {"\"options\": {", "\"options\": 5, \"o\": {", "no options"},
        {"\"workload\"", "\"work\"", "no text workload"},
        {"\"ruleset\": \"4.0.0\"", "\"ruleset\": 4", "no text ruleset"},
        {"\"until_sure_percent\": 0", "\"until_sure_percent\": -1", "until_sure_percent"},
        {"\"runs\"", "\"walks\"", "no list of 2 to 1000 runs"},
    };
    struct run_set s;
    char *good;

    (void)state;
    fill(&s, "d", 2);
    s.runs[0].seed = 11;
    s.runs[1].seed = 12;
    good = text_of(&s);
    for (size_t i = 0; i < COUNT_OF(edits); i++) {
        const char *const at = strstr(good, edits[i][0]);
        struct run_set back = {0};
        char *bad;
        assert_non_null(at);
        bad = xasprintf("%.*s%s%s", (int)(at - good), good, edits[i][1], at + strlen(edits[i][0]));
        assert_int_equal(run_set_parse(&back, bad, strlen(bad)), E_DATA);
        assert_says(err_reason(), edits[i][2]);
        run_set_release(&back);
        free(bad);
    }
    for (size_t n = 0; n + 3 < strlen(good); n++) { /* cut anywhere */
        struct run_set back = {0};
        assert_int_equal(run_set_parse(&back, good, n), E_DATA);
        run_set_release(&back);
    }
    free(good);
    run_set_release(&s);
}

/* ---- what the runs are worth together ---- */

static void counted_as_the_rules_do(void **state)
{
    struct run_set s;
    struct set_count c;

    (void)state;
    fill(&s, "d", 6);
    for (size_t i = 0; i < 5; i++)
        finish(&s.runs[i], EXIT_REACHED, 10 + (double)i);
    c = set_count(&s);
    assert_int_equal(c.finished, 5);
    assert_int_equal(set_code(&c), EXIT_REACHED);
    assert_true(set_estimate(&s, 1).mean == 12);
    s.runs[0].result.code = EXIT_NOT_REACHED; /* 10 minutes to nowhere are the slowest */
    c = set_count(&s);
    assert_int_equal(set_code(&c), EXIT_NOT_REACHED);
    assert_true(set_estimate(&s, 1).mean == 13);
    s.runs[4].result.code = EXIT_UNTRUSTWORTHY;
    c = set_count(&s);
    assert_int_equal(set_code(&c), EXIT_UNTRUSTWORTHY);
    assert_true(isnan(set_estimate(&s, 1).mean));
    run_set_release(&s);
}

/* One simulated set of runs around 100 minutes: how many were made until it was sure, and whether
 * the interval then held the truth. */
struct simulated {
    size_t made;
    int sure, holds;
};

static struct simulated simulate(uint64_t seed, double deviation, double until_sure, size_t most)
{
    const struct random_key key = {seed, RANDOM_TEST, 7};
    struct simulated r = {0};
    struct score_estimate e;
    struct run_set s;

    fill(&s, "d", most);
    s.until_sure = until_sure;
    while (r.made < most && !r.sure) {
        finish(&s.runs[r.made], EXIT_REACHED, 100 + deviation * random_normal(key, r.made));
        r.made++;
        r.sure = r.made >= 3 && set_is_sure(&s, 1);
    }
    e = set_estimate(&s, 1);
    r.holds = e.low <= 100 && 100 <= e.high;
    run_set_release(&s);
    return r;
}

enum { N_SIMULATED = 1000, MOST = 40 };

struct simulation {
    double made, sure, holds;
};

static struct simulation simulate_many(double deviation, double until_sure)
{
    struct simulation all = {0};

    for (uint64_t i = 0; i < N_SIMULATED; i++) {
        const struct simulated r = simulate(i, deviation, until_sure, MOST);
        all.made += (double)r.made / N_SIMULATED;
        all.sure += (double)r.sure / N_SIMULATED;
        all.holds += (double)r.holds / N_SIMULATED;
    }
    return all;
}

/* More spread takes more runs, and what was promised is nearly held. */
static void sure_when_it_should_be(void **state)
{
    const struct simulation narrow = simulate_many(1, 2), wide = simulate_many(4, 2),
                            hopeless = simulate_many(30, 2);

    (void)state;
    print_message("# until sure to 2 %%, %d sets of at most %d runs: spread 1 %%: %.1f runs, holds "
                  "%.3f; 4 %%: %.1f runs, holds %.3f; 30 %%: sure in %.3f\n",
                  N_SIMULATED, MOST, narrow.made, narrow.holds, wide.made, wide.holds,
                  hopeless.sure);
    assert_true(narrow.made < 5 && narrow.sure > 0.999);
    assert_true(wide.made > 8 && wide.made < 25);
    assert_true(narrow.holds > 0.88 && wide.holds > 0.88);
    assert_true(hopeless.sure < 0.02);
}

#define S(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeds_are_drawn_and_differ),
        S(written_and_read_it_is_the_same),
        S(attempts_are_kept),
        cmocka_unit_test(damaged_is_refused),
        cmocka_unit_test(counted_as_the_rules_do),
        cmocka_unit_test(sure_when_it_should_be),
    };

    return cmocka_run_group_tests_name("set_result", tests, NULL, NULL);
}
