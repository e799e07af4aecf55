/* Option rows: every type, ranges, suggestions, the way through text and back. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/opt.h"

struct owner {
    int nesterov, optimizer;
    long long batch_size, memory;
    double lr;
    char *out;
};

static const char *const optimizers[] = {"sgd", "lars", "adam-w", NULL};

static const struct opt_row rows[] = {
    {.name = "nesterov",
     .type = OPT_BOOL,
     .offset = offsetof(struct owner, nesterov),
     .dflt = "no"},
    {.name = "optimizer",
     .type = OPT_CHOICE,
     .offset = offsetof(struct owner, optimizer),
     .dflt = "lars",
     .choices = optimizers},
    {.name = "batch-size",
     .type = OPT_INT,
     .offset = offsetof(struct owner, batch_size),
     .dflt = "64",
     .min = 1,
     .max = 65536},
    {.name = "memory",
     .type = OPT_SIZE,
     .offset = offsetof(struct owner, memory),
     .dflt = "1G",
     .min = 1024,
     .max = -1},
    {.name = "lr",
     .type = OPT_REAL,
     .offset = offsetof(struct owner, lr),
     .dflt = "0.1",
     .max = 10},
    {.name = "out", .type = OPT_STRING, .offset = offsetof(struct owner, out)},
};
static const struct opt_table table = {.owner = "test", .rows = rows, .n_rows = COUNT_OF(rows)};

static int setup(void **state)
{
    struct owner *o = malloc(sizeof(*o));

    memset(o, 0x5A, sizeof(*o));
    opt_defaults(&table, o);
    *state = o;
    return 0;
}

static int teardown(void **state)
{
    opt_release(&table, *state);
    free(*state);
    return 0;
}

static int set(struct owner *o, const char *name, const char *value)
{
    const struct opt_row *row = opt_find(&table, name);

    assert_non_null(row);
    return opt_set(row, o, value, name);
}

static void refuses(struct owner *o, const char *name, const char *value, const char *reason)
{
    assert_int_equal(set(o, name, value), E_USAGE);
    assert_string_equal(err_reason(), reason);
}

static void defaults_fill_every_row(void **state)
{
    const struct owner *o = *state;

    assert_int_equal(o->nesterov, 0);
    assert_int_equal(o->optimizer, 1);
    assert_int_equal(o->batch_size, 64);
    assert_int_equal(o->memory, 1LL << 30);
    assert_true(o->lr == 0.1);
    assert_null(o->out);
}

static void bool_words(void **state)
{
    static const char *const yes[] = {"yes", "true", "on", "1"};
    static const char *const no[] = {"no", "false", "off", "0"};
    struct owner *o = *state;

    for (size_t i = 0; i < COUNT_OF(yes); i++) {
        assert_int_equal(set(o, "nesterov", yes[i]), 0);
        assert_int_equal(o->nesterov, 1);
        assert_int_equal(set(o, "nesterov", no[i]), 0);
        assert_int_equal(o->nesterov, 0);
    }
    refuses(o, "nesterov", "maybe", "nesterov: \"maybe\" does not fit; expected yes or no");
    refuses(o, "nesterov", "", "nesterov: \"\" does not fit; expected yes or no");
}

static void whole_numbers_and_their_range(void **state)
{
    static const char *const bad[] = {"",    "0",    "65537", "-1", "1.5",
                                      "64K", "0x10", " 7",    "7 ", "99999999999999999999"};
    struct owner *o = *state;

    assert_int_equal(set(o, "batch-size", "1"), 0);
    assert_int_equal(set(o, "batch-size", "65536"), 0);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(set(o, "batch-size", bad[i]), E_USAGE);
    assert_int_equal(o->batch_size, 65536);
    refuses(o, "batch-size", "0",
            "batch-size: \"0\" does not fit; expected a whole number from 1 to 65536");
}

static void sizes_take_units(void **state)
{
    static const struct {
        const char *text;
        long long bytes;
    } good[] = {
        {"1024", 1024}, {"1K", 1024}, {"3m", 3LL << 20}, {"2G", 2LL << 30}, {"1T", 1LL << 40}};
    static const char *const bad[] = {"1023", "K", "1KK", "1.5G", "1P", "9000000000T", "1 K"};
    struct owner *o = *state;

    for (size_t i = 0; i < COUNT_OF(good); i++) {
        assert_int_equal(set(o, "memory", good[i].text), 0);
        assert_int_equal(o->memory, good[i].bytes);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(set(o, "memory", bad[i]), E_USAGE);
    refuses(o, "memory", "1023",
            "memory: \"1023\" does not fit; expected a whole number (K, M, G, T may follow) of at "
            "least 1024");
}

static void reals(void **state)
{
    static const char *const bad[] = {"",     "nan",  "inf",  "1e999", "1,5",
                                      "0.1x", "-0.1", "10.5", " 1"};
    struct owner *o = *state;

    assert_int_equal(set(o, "lr", ".5"), 0);
    assert_true(o->lr == 0.5);
    assert_int_equal(set(o, "lr", "1e-3"), 0);
    assert_true(o->lr == 1e-3);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(set(o, "lr", bad[i]), E_USAGE);
    assert_true(o->lr == 1e-3);
}

static void choices(void **state)
{
    struct owner *o = *state;

    assert_int_equal(set(o, "optimizer", "adam_w"), 0);
    assert_int_equal(o->optimizer, 2);
    refuses(o, "optimizer", "adagrad",
            "optimizer: \"adagrad\" does not fit; expected one of sgd, lars, adam-w");
    assert_int_equal(o->optimizer, 2);
}

static void strings_are_owned_and_can_be_unset(void **state)
{
    struct owner *o = *state;
    char text[] = "here";

    assert_int_equal(set(o, "out", text), 0);
    text[0] = 'H';
    assert_string_equal(o->out, "here");
    assert_int_equal(set(o, "out", ""), 0);
    assert_null(o->out);
}

static void dashes_are_underscores(void **state)
{
    (void)state;
    assert_ptr_equal(opt_find(&table, "batch_size"), &rows[2]);
    assert_null(opt_find(&table, "batch"));
    assert_null(opt_find(&table, "batch-size-"));
    assert_true(opt_same_name("a-b_c", "a_b-c"));
    assert_false(opt_same_name("a", "ab"));
}

static void misspelt_names_find_their_row(void **state)
{
    static const struct {
        const char *typed, *meant;
    } cases[] = {{"bach-size", "batch-size"},
                 {"batchsize", "batch-size"},
                 {"bat", "batch-size"},
                 {"optimiser", "optimizer"},
                 {"nestrov", "nesterov"},
                 {"ou", "out"},
                 {"xyzzy", NULL},
                 {"", NULL}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct opt_row *row = opt_nearest(&table, cases[i].typed);
        if (cases[i].meant)
            assert_non_null(row);
        else
            assert_null(row);
        if (row)
            assert_string_equal(row->name, cases[i].meant);
    }
}

static void overlong_names_are_far(void **state)
{
    char name[200];

    (void)state;
    memset(name, 'b', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_null(opt_nearest(&table, name));
}

static void nearest_candidate_wins(void **state)
{
    int best = INT_MAX;

    (void)state;
    assert_true(opt_nearer("epochz", "epochsx", &best));
    assert_true(opt_nearer("epochz", "epochs", &best));
    assert_false(opt_nearer("epochz", "epochy", &best));
}

static void text_and_back(void **state)
{
    static const char *const values[][2] = {{"nesterov", "yes"},
                                            {"optimizer", "adam-w"},
                                            {"batch-size", "4096"},
                                            {"memory", "1536M"},
                                            {"memory", "1025"},
                                            {"lr", "0.1"},
                                            {"lr", "0.30000000000000004"},
                                            {"lr", "1e-05"},
                                            {"out", "a b"},
                                            {"out", ""}};
    struct owner *o = *state;

    for (size_t i = 0; i < COUNT_OF(values); i++) {
        struct str text = STR_INIT;
        assert_int_equal(set(o, values[i][0], values[i][1]), 0);
        opt_add_text(opt_find(&table, values[i][0]), o, &text);
        assert_string_equal(text.s, values[i][1]);
        str_release(&text);
    }
}

static void json_has_types(void **state)
{
    struct owner *o = *state;
    struct str out = STR_INIT;

    set(o, "out", "a\"b");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        opt_add_json(&rows[i], o, &out);
        str_add(&out, " ");
    }
    set(o, "out", "");
    opt_add_json(opt_find(&table, "out"), o, &out);
    assert_string_equal(out.s, "false \"lars\" 64 1073741824 0.1 \"a\\\"b\" null");
    str_release(&out);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* A word that stands for zero. */
static void a_word_for_zero(void **state)
{
    static const struct opt_row row = {.name = "runs",
                                       .type = OPT_INT,
                                       .offset = offsetof(struct owner, batch_size),
                                       .min = 0,
                                       .max = 9,
                                       .zero = "rules"};
    struct owner *const o = *state;
    struct str domain = STR_INIT;

    assert_int_equal(opt_set(&row, o, "5", "--runs"), 0);
    assert_int_equal(opt_set(&row, o, "rules", "--runs"), 0);
    assert_int_equal(o->batch_size, 0);
    assert_int_equal(opt_set(&row, o, "rule", "--runs"), E_USAGE);
    assert_non_null(strstr(err_reason(), "expected rules, or a whole number from 0 to 9"));
    opt_add_domain(&row, &domain);
    assert_string_equal(domain.s, "rules, or a whole number from 0 to 9");
    str_release(&domain);
}

/* Whatever the setting is now. */
static void default_as_json(void **state)
{
    static const char *const expected[] = {"false", "\"lars\"", "64", "1073741824", "0.1", "null"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct str out = STR_INIT;

        opt_add_default_json(&rows[i], &out);
        assert_string_equal(out.s, expected[i]);
        str_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(defaults_fill_every_row),
        T(bool_words),
        T(whole_numbers_and_their_range),
        T(sizes_take_units),
        T(reals),
        T(choices),
        T(strings_are_owned_and_can_be_unset),
        T(dashes_are_underscores),
        T(misspelt_names_find_their_row),
        T(overlong_names_are_far),
        T(nearest_candidate_wins),
        T(text_and_back),
        T(a_word_for_zero),
        T(json_has_types),
        T(default_as_json),
    };

    return cmocka_run_group_tests_name("opt", tests, NULL, NULL);
}
