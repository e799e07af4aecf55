/* The reader of MLPerf logs: what it takes, what it complains about, and where. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/random.h"
#include "base/str.h"
#include "scratch.h"
#include "trace/mllog_read.h"

/* A record whose value is v, without a newline. */
#define R(key, v)                                                                                  \
    ":::MLLOG {\"namespace\": \"\", \"time_ms\": 7, \"event_type\": \"POINT_IN_TIME\", "           \
    "\"key\": \"" key "\", \"value\": " v ", \"metadata\": {\"file\": \"a.c\", \"lineno\": 3}}"

static const char *const kinds[] = {
    [MLLOG_FOREIGN] = "foreign", [MLLOG_PREFIX] = "prefix",
    [MLLOG_RETURN] = "return",   [MLLOG_NO_NEWLINE] = "no-newline",
    [MLLOG_GLUED] = "glued",     [MLLOG_TRAILING] = "trailing",
    [MLLOG_CUT] = "cut",         [MLLOG_FIELD] = "field",
    [MLLOG_TYPE] = "type",       [MLLOG_UNSPACED] = "unspaced",
    [MLLOG_DEEP] = "deep",       [MLLOG_LONG] = "long",
};

/* "key=value@line:column " for a record, "!kind@line:column " for a trouble. */
static int write_record(void *context, const struct mllog_record *r)
{
    const double number = cJSON_IsNumber(r->value) ? r->value->valuedouble : 0;
    char *const value = isfinite(number) ? cJSON_PrintUnformatted(r->value) : NULL;

    assert_memory_equal(r->text, ":::ML", 5);
    if (value)
        str_printf(context, "%s=%s@%zu:%zu ", r->key, value, r->line, r->column);
    else
        str_printf(context, "%s=%g@%zu:%zu ", r->key, number, r->line, r->column);
    cJSON_free(value);
    return 0;
}

static int write_trouble(void *context, const struct mllog_trouble *t)
{
    assert_true(*t->about);
    str_printf(context, "!%s@%zu:%zu ", kinds[t->kind], t->line, t->column);
    return 0;
}

static char *read_bytes(const char *bytes, size_t n)
{
    struct str said = STR_INIT;
    const struct mllog_visitor v = {write_record, write_trouble, &said};

    str_add(&said, "");
    assert_int_equal(mllog_read_memory(bytes, n, &v), 0);
    return str_detach(&said);
}

struct read_case {
    const char *log, *said;
};

static const struct read_case common[] = {
    {"", ""},
    {R("a", "1") "\n" R("b", "null") "\n", "a=1@1:1 b=null@2:1 "},
    {"0: " R("a", "1") "\n", "!prefix@1:1 a=1@1:4 "},
    {"\x1b[A\x1b[A" R("a", "1") "\n", "!prefix@1:1 a=1@1:7 "},
    {"starting\n\n" R("a", "1") "\n", "!foreign@1:1 !foreign@2:1 a=1@3:1 "},
    {R("a", "1") "\r\n" R("b", "2") "\r\n", "a=1@1:1 !return@1:138 b=2@2:1 !return@2:138 "},
    {"9 %\r10 %\r" R("a", "1") "\n", "!foreign@1:1 !return@1:4 !foreign@1:5 !return@1:9 a=1@1:10 "},
    {R("a", "1") R("b", "2") "\n", "a=1@1:1 !glued@1:138 b=2@1:138 "},
    {R("a", "1") " [1,12]<stderr>\n", "!trailing@1:139 a=1@1:1 "},
    {R("a", "1") "\x1b[0m\n", "!trailing@1:138 a=1@1:1 "},
    {":::MLLOG {\"key\": \"a\", storage.cc:12 \"value\": 1}\n", "!cut@1:23 "},
    {":::MLLOG {\"key\": \"a\"\n" R("b", "2") "\n", "!cut@1:21 b=2@2:1 "},
    {":::MLLOG {\"key\":::MLLOG {}\n", "!cut@1:16 !glued@1:16 !field@1:16 "},
    {":::MLLOG\n", "!unspaced@1:9 "},
    {":::MLLOG{}\n", "!unspaced@1:9 "},
    {":::MLLOG \n", "!cut@1:10 "},
    {":::MLLOG []\n", "!cut@1:10 "},
    {R("a", "1"), "!no-newline@1:138 a=1@1:1 "},
    {":::MLLOG {\"time_ms\": 1, \"key\": \"a\", \"value\": 1}\n", "!field@1:1 "},
    {":::MLLOG {\"time_ms\": 1, \"key\": \"a\", \"value\": 1, \"metadata\": 3}\n", "!type@1:1 "},
    {":::MLLOG {\"time_ms\": 1, \"key\": \"a\", \"metadata\": {}}\n", "!field@1:1 "},
    {":::MLLOG {\"key\": \"a\", \"value\": 1, \"metadata\": {}}\n", "!field@1:1 "},
    {":::MLLOG {\"time_ms\": 1, \"key\": 5, \"value\": 1, \"metadata\": {}}\n", "!type@1:1 "},
    {":::MLLOG {\"time_ms\": \"1.5\", \"key\": \"a\", \"value\": 1, \"metadata\": {}}\n",
     "a=1@1:1 "},
    {R("a", "NaN") "\n" R("b", "-Infinity") "\n" R("c", "[Infinity]") "\n",
     "a=nan@1:1 b=-inf@2:1 c=[null]@3:1 "},
    {R("a", "nan") "\n", "!cut@1:94 "},
    {R("a", "NaN, x") "\n", "!cut@1:99 "},
    {R("a", "\"NaN \\\"} :::ML\"") "\n", "a=\"NaN \\\"} :::ML\"@1:1 "},
    {R("a", "\"\x01\"") "\n", "!cut@1:95 "},
    {R("a", "\"\xff\xfe\"") "\n", "a=\"\xff\xfe\"@1:1 "},
};

static const struct read_case special[] = {
    /* Python's grammar, not the JSON parser's. */
    {R("a", "01") "\n", "!cut@1:94 "},
    {R("a", "1.") "\n", "!cut@1:94 "},
    {R("a", "\"\\ud800\"") "\n", "a=\"\xef\xbf\xbd\"@1:1 "},
    {R("a", "\"\\u00zz\"") "\n", "!cut@1:95 "},
    {R("a", "1, \"value\": 2") "\n", "a=2@1:1 "},
    {R("a", "1") "\x0c\xa0\n", "a=1@1:1 "},
    {":::MLLOG {\"time_ms\": \"1x\", \"key\": \"a\", \"value\": 1, \"metadata\": {}}\n",
     "!field@1:1 "},
    /* Older rounds. */
    {":::MLL 1.5 a: {\"value\": 3, \"metadata\": {}}\n", "a=3@1:1 "},
    {"0: :::MLL 1.5 a : {\"value\": 3}\n", "!prefix@1:1 a=3@1:4 "},
    {":::MLL 1.2.3 a: {\"value\": 3}\n", "!cut@1:13 "},
    {":::MLL 1.5 a: 5\n", "!type@1:1 "},
    {":::MLL 1.5 a: {\"value\": 3\n", "!cut@1:26 "},
    {":::MLPv0.5.0 ncf 1.5 (<string>:1) run_start\n", "run_start=null@1:1 "},
    {":::MLPv0.5.0 ncf 1.5 (a.py:12) eval_size: {\"epoch\": 0}\n", "eval_size={\"epoch\":0}@1:1 "},
    {":::MLPv0.5.0 ncf 1.5 (a.py) run_start\n", "!cut@1:28 "},
};

static void check_cases(const struct read_case *table, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *const said = read_bytes(table[i].log, strlen(table[i].log));
        if (strcmp(said, table[i].said) != 0)
            fail_msg("case %zu: %s\nexpected %s\ngot      %s", i, table[i].log, table[i].said,
                     said);
        free(said);
    }
}

static void cases(void **state)
{
    (void)state;
    check_cases(common, COUNT_OF(common));
}

static void grammar_and_old_rounds(void **state)
{
    (void)state;
    check_cases(special, COUNT_OF(special));
}

static void zero_bytes(void **state)
{
    static const char log[] = "\0\0\n" R("a", "1\0") "\n" R("b", "2") "\n";
    char *const said = read_bytes(log, sizeof(log) - 1);

    (void)state;
    assert_string_equal(said, "!foreign@1:1 !cut@2:95 b=2@3:1 ");
    free(said);
}

/* n times the text. */
static void repeat(struct str *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        str_add(out, text);
}

static void depth_and_length_are_limited(void **state)
{
    struct str log = STR_INIT;
    char *said;

    (void)state;
    repeat(&log, ":::MLLOG {\"key\": ", 1);
    repeat(&log, "[", 200000);
    repeat(&log, "\n" R("a", "1") "\nx", 1);
    repeat(&log, "y", 3 * MLLOG_MAX_LINE);
    repeat(&log, "\r" R("b", "2") "\n" R("c", "3") "\n", 1);
    said = read_bytes(log.s, log.len);
    assert_string_equal(said,
                        "!deep@1:49 a=1@2:1 !foreign@3:1 !return@3:786434 b=2@3:786435 c=3@4:1 ");
    free(said);
    str_release(&log);
}

/* Pieces that a generator strings together, and what is said of each at the start of a line. */
static const struct {
    const char *text, *said;
} pieces[] = {
    {R("a", "1") "\n", "a=1@%zu:1 "},
    {R("b", "\"x y\"") "\n", "b=\"x y\"@%zu:1 "},
    {"noise\n", "!foreign@%zu:1 "},
    {"\n", "!foreign@%zu:1 "},
    {"3: " R("c", "true") "\n", "!prefix@%zu:1 c=true@%zu:4 "},
    {":::MLLOG {\"ke\n", "!cut@%zu:14 "},
    {R("d", "[]") R("e", "{}") "\n", "d=[]@%zu:1 !glued@%zu:139 e={}@%zu:139 "},
    {"\r" R("f", "NaN") "\n", "!return@%zu:1 f=nan@%zu:2 "},
};

static void random_log(uint64_t seed, struct str *log, struct str *said)
{
    struct random_stream s = random_stream((struct random_key){seed, RANDOM_TEST, 0}, 0);
    const size_t n = random_next(&s) % 400;

    for (size_t line = 1; line <= n; line++) {
        const size_t i = random_next(&s) % COUNT_OF(pieces);
        char expected[256] = "";

        str_add(log, pieces[i].text);
        for (const char *p = pieces[i].said, *hole; *p; p = hole) { /* %zu is the line */
            hole = strstr(p, "%zu");
            str_add_bytes(said, p, hole ? (size_t)(hole - p) : strlen(p));
            snprintf(expected, sizeof(expected), "%zu", line);
            if (hole)
                str_add(said, expected);
            hole = hole ? hole + 3 : p + strlen(p);
        }
    }
}

/* A file, read in pieces that end anywhere, and memory say the same, and what was put in. */
static void files_and_memory_agree(void **state)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct str log = STR_INIT, expected = STR_INIT, said = STR_INIT;
        const struct mllog_visitor v = {write_record, write_trouble, &said};
        char *path, *memory;

        str_add(&log, "");
        str_add(&expected, "");
        str_add(&said, "");
        random_log(seed, &log, &expected);
        path = scratch_bytes(*state, "log", log.s, log.len);
        assert_int_equal(mllog_read_file(path, &v), 0);
        memory = read_bytes(log.s, log.len);
        assert_string_equal(memory, expected.s);
        assert_string_equal(said.s, expected.s);
        free(memory);
        free(path);
        str_release(&log);
        str_release(&expected);
        str_release(&said);
    }
}

/* Whatever the bytes: it ends, and places never go back. */
static int places_grow(void *context, const struct mllog_trouble *t)
{
    size_t *const line = context;

    assert_true(t->line >= *line && t->column >= 1);
    *line = t->line;
    return 0;
}

static void damaged_logs_end(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct random_stream s = random_stream((struct random_key){seed, RANDOM_TEST, 1}, 0);
        struct str log = STR_INIT, said = STR_INIT;
        size_t line = 1;
        const struct mllog_visitor v = {.trouble = places_grow, .context = &line};

        random_log(seed, &log, &said);
        for (size_t i = 0; log.len > 0 && i < 1 + log.len / 50; i++)
            log.s[random_next(&s) % log.len] = (char)random_next(&s);
        assert_int_equal(mllog_read_memory(log.s ? log.s : "", log.len, &v), 0);
        str_release(&log);
        str_release(&said);
    }
}

static int stop_here(void *context, const struct mllog_record *r)
{
    (void)r;
    return ++*(int *)context == 2 ? 55 : 0;
}

static void visitor_ends_the_reading(void **state)
{
    static const char log[] = R("a", "1") "\n" R("b", "2") "\n" R("c", "3") "\n";
    int n = 0;
    const struct mllog_visitor v = {.record = stop_here, .context = &n};

    (void)state;
    assert_int_equal(mllog_read_memory(log, sizeof(log) - 1, &v), 55);
    assert_int_equal(n, 2);
    assert_int_equal(mllog_read_file("/nonexistent/log", &v), E_IO);
    assert_non_null(strstr(err_reason(), "/nonexistent/log"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases),
        cmocka_unit_test(grammar_and_old_rounds),
        cmocka_unit_test(zero_bytes),
        cmocka_unit_test(depth_and_length_are_limited),
        cmocka_unit_test_setup_teardown(files_and_memory_agree, scratch_open, scratch_close),
        cmocka_unit_test(damaged_logs_end),
        cmocka_unit_test(visitor_ends_the_reading),
    };

    return cmocka_run_group_tests_name("mllog_read", tests, NULL, NULL);
}
