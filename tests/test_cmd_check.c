/* `stave check` as a person calls it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "run_fixture.h"
#include "scratch.h"

enum { RECORDS = 10, SHOWN = 3 };

/* Records whose event types are odd, which is a note each; all the rest is missing. */
static void odd_log(const char *dir)
{
    struct str log = STR_INIT;

    for (int i = 0; i < RECORDS; i++)
        str_printf(&log,
                   ":::MLLOG {\"namespace\": \"\", \"time_ms\": %d, \"event_type\": "
                   "\"POINT_IN_TIME\", \"key\": \"epoch_stop\", \"value\": null, \"metadata\": "
                   "{\"file\": \"a.c\", \"lineno\": 1, \"epoch_num\": %d}}\n",
                   1000 + i, i + 1);
    free(scratch_file(dir, "odd.log", log.s));
    str_release(&log);
}

static int count(const char *text, const char *what)
{
    int n = 0;

    for (const char *p = text; (p = strstr(p, what)); p += strlen(what))
        n++;
    return n;
}

static void findings_of_one_kind_are_counted(void **state)
{
    const char *const dir = *state;
    char *said;

    odd_log(dir);
    said = program_run(dir, 4, "check %s/odd.log", dir);
    assert_int_equal(count(said, "[event-type; "), SHOWN);
    assert_non_null(strstr(said, "note: 7 more of event-type; --all prints them\n"));
    assert_non_null(strstr(said, "10 notes"));
    free(said);
    said = program_run(dir, 4, "check --all %s/odd.log", dir);
    assert_int_equal(count(said, "[event-type; "), RECORDS);
    assert_null(strstr(said, "more of"));
    free(said);
    said = program_run(dir, 4, "check --quiet %s/odd.log", dir);
    assert_null(strstr(said, "event-type"));
    free(said);
}

static void json_counts_them_too(void **state)
{
    const char *const dir = *state;
    const cJSON *log, *left_out;
    cJSON *doc;
    char *said;

    odd_log(dir);
    said = program_run(dir, 4, "check --json %s/odd.log", dir);
    doc = cJSON_ParseWithOpts(said, NULL, 1);
    assert_non_null(doc);
    log = cJSON_GetArrayItem(doc, 0);
    left_out = cJSON_GetObjectItemCaseSensitive(log, "left_out");
    assert_true(cJSON_GetObjectItemCaseSensitive(left_out, "event-type")->valuedouble ==
                RECORDS - SHOWN);
    assert_int_equal(count(said, "\"event-type\", \"line\""), SHOWN);
    cJSON_Delete(doc);
    free(said);
}

static void an_unreadable_file_does_not_hide_the_others(void **state)
{
    const char *const dir = *state;
    cJSON *doc;
    char *said;

    odd_log(dir);
    said = program_run(dir, 3, "check %s/none.log %s/odd.log", dir, dir);
    assert_non_null(strstr(said, "none.log: No such file"));
    assert_non_null(strstr(said, "odd.log: does not stand"));
    free(said);
    said = program_run(dir, 3, "check --json %s/none.log %s/odd.log", dir, dir);
    doc = cJSON_ParseWithOpts(said, NULL, 1);
    assert_int_equal(cJSON_GetArraySize(doc), 2);
    assert_non_null(cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(doc, 0), "error"));
    cJSON_Delete(doc);
    free(said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(findings_of_one_kind_are_counted, scratch_open,
                                        scratch_close),
        cmocka_unit_test_setup_teardown(json_counts_them_too, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(an_unreadable_file_does_not_hide_the_others, scratch_open,
                                        scratch_close),
    };

    return cmocka_run_group_tests_name("cmd_check", tests, NULL, NULL);
}
