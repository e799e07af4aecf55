/* The command line: options of bound tables, files, precedence, messages, exit codes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/err.h"
#include "cli/command_line.h"
#include "scratch.h"

struct loader {
    long long batch_size;
    int synthetic, verbose;
    char *out;
};

struct recipe {
    double base_lr;
    int optimizer;
};

static const struct opt_row loader_rows[] = {
    {"batch-size", OPT_INT, offsetof(struct loader, batch_size), "64", 1, 4096, NULL, "N",
     "Samples per step", 'b', NULL},
    {"synthetic", OPT_BOOL, offsetof(struct loader, synthetic), NULL, 0, 0, NULL, NULL,
     "Invent the data", 0, NULL},
    {"verbose", OPT_BOOL, offsetof(struct loader, verbose), NULL, 0, 0, NULL, NULL, "Say more", 'v',
     NULL},
    {"out", OPT_STRING, offsetof(struct loader, out), NULL, 0, 0, NULL, "DIR", "Run folder", 0,
     NULL},
};
static const char *const optimizers[] = {"sgd", "lars", NULL};
static const struct opt_row recipe_rows[] = {
    {"base-lr", OPT_REAL, offsetof(struct recipe, base_lr), "0.1", 0, 100, NULL, "RATE",
     "Peak learning rate", 0, NULL},
    {"optimizer", OPT_CHOICE, offsetof(struct recipe, optimizer), "sgd", 0, 0, optimizers, "NAME",
     "Update rule", 0, NULL},
};
static const struct opt_table loader_table = {"Loader", loader_rows, COUNT_OF(loader_rows)};
static const struct opt_table recipe_table = {"Recipe", recipe_rows, COUNT_OF(recipe_rows)};

static const struct command fake = {
    .name = "fake", .args = "WORKLOAD", .min_args = 1, .max_args = 2, .summary = "Pretend"};

enum { WORDS = 16 };

struct typed {
    struct command_line line;
    struct loader loader;
    struct recipe recipe;
    char *words[WORDS];
    int rc;
};

/* Reads words, a NULL-terminated list, as the command line after "stave". */
static void type(struct typed *t, const char *const *words)
{
    int n = 0;

    for (; words[n]; n++)
        t->words[n] = xstrdup(words[n]);
    t->words[n] = NULL;
    command_line_init(&t->line, &fake, n, t->words);
    command_line_bind(&t->line, &loader_table, &t->loader);
    command_line_bind(&t->line, &recipe_table, &t->recipe);
    t->rc = command_line_parse(&t->line);
}

static void done(struct typed *t)
{
    command_line_release(&t->line);
    for (int i = 0; t->words[i]; i++)
        free(t->words[i]);
}

#define TYPE(t, ...) type(&(t), (const char *const[]){"fake", __VA_ARGS__, NULL})

static void assert_refused(const char *const *words, const char *reason)
{
    struct typed t;

    type(&t, words);
    assert_int_equal(t.rc, E_USAGE);
    assert_string_equal(err_reason(), reason);
    done(&t);
}

#define REFUSED(reason, ...)                                                                       \
    assert_refused((const char *const[]){"fake", __VA_ARGS__, NULL}, reason)

static void every_way_to_give_a_value(void **state)
{
    static const char *const ways[][4] = {{"--batch-size", "32", "w", NULL},
                                          {"--batch-size=32", "w", NULL},
                                          {"w", "--batch_size=32", NULL},
                                          {"-b", "32", "w", NULL},
                                          {"-b32", "w", NULL},
                                          {"--batch", "32", "w", NULL},
                                          {"w", "-o", "batch-size=32", NULL},
                                          {"w", "-obatch_size=32", NULL}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        const char *words[6] = {"fake"};
        struct typed t;
        for (size_t k = 0; k < 4 && ways[i][k]; k++)
            words[k + 1] = ways[i][k];
        type(&t, words);
        assert_int_equal(t.rc, 0);
        assert_int_equal(t.loader.batch_size, 32);
        assert_int_equal(t.line.n_args, 1);
        assert_string_equal(t.line.args[0], "w");
        done(&t);
    }
}

static void bare_flags_mean_yes(void **state)
{
    struct typed t;

    (void)state;
    TYPE(t, "--synthetic", "w", "-v");
    assert_int_equal(t.rc, 0);
    assert_int_equal(t.loader.synthetic, 1);
    assert_int_equal(t.loader.verbose, 1);
    done(&t);
    TYPE(t, "--synthetic", "--synthetic=no", "w");
    assert_int_equal(t.loader.synthetic, 0);
    done(&t);
}

static void later_wins(void **state)
{
    struct typed t;

    (void)state;
    TYPE(t, "w", "-b", "1", "-o", "batch-size=2", "--batch-size=3", "--out", "a", "--out", "b");
    assert_int_equal(t.loader.batch_size, 3);
    assert_string_equal(t.loader.out, "b");
    done(&t);
}

static void arguments_keep_their_order(void **state)
{
    struct typed t;

    (void)state;
    TYPE(t, "one", "--base-lr", "3", "--", "--two");
    assert_int_equal(t.rc, 0);
    assert_int_equal(t.line.n_args, 2);
    assert_string_equal(t.line.args[1], "--two");
    assert_true(t.recipe.base_lr == 3);
    done(&t);
}

static void files_stand_below_options(void **state)
{
    char *one = scratch_file(*state, "1.yaml", "batch_size: 8\nbase-lr: 0.5\noptimizer: lars\n");
    char *two = scratch_file(*state, "2.yaml", "base-lr: 0.25\n");
    struct typed t;

    TYPE(t, "--batch-size", "16", "--config", one, "--config", two, "w");
    assert_int_equal(t.rc, 0);
    assert_int_equal(t.loader.batch_size, 16);
    assert_true(t.recipe.base_lr == 0.25);
    assert_int_equal(t.recipe.optimizer, 1);
    done(&t);
    free(one);
    free(two);
}

static void refuses_file(const char *dir, const char *text, const char *ending)
{
    char *path = scratch_file(dir, "c.yaml", text);
    char *reason = xasprintf("%s%s", path, ending);

    REFUSED(reason, "w", "--config", path);
    free(reason);
    free(path);
}

static void file_errors_name_file_and_line(void **state)
{
    refuses_file(*state, "batch-size: 1\nbase-rl: 1\n",
                 ":2: no option is called base-rl; did you mean base-lr?");
    refuses_file(*state, "\nbatch-size: 0\n",
                 ":2: batch-size: \"0\" does not fit; expected a whole number from 1 to 4096");
}

static void refusals(void **state)
{
    (void)state;
    REFUSED("fake: no option is called bach-size; did you mean batch-size?", "w", "--bach-size=3");
    REFUSED("fake: no option is called optimiser; did you mean optimizer?", "--optimiser", "x",
            "w");
    REFUSED("fake: no option is called qqqqq; stave fake --help lists them", "w", "--qqqqq");
    REFUSED("fake: no option is called hlp; did you mean help?", "w", "--hlp");
    REFUSED("no option is called -q; stave fake --help lists them", "w", "-q");
    REFUSED("--verbose: \"q\" does not fit; expected yes or no", "w", "-vq");
    REFUSED("no option is called -q; stave fake --help lists them", "w", "-qv");
    REFUSED("--batch-size needs a value", "w", "--batch-size");
    REFUSED("-b needs a value", "w", "-b");
    REFUSED("--config needs a value", "w", "--config");
    REFUSED("--help takes no value", "w", "--help=3");
    REFUSED("-o: \"batch\" does not fit; expected key=value", "w", "-o", "batch");
    REFUSED("-o: no option is called bas-lr; did you mean base-lr?", "w", "-o", "bas-lr=1");
    REFUSED("-o base_lr: \"x\" does not fit; expected a number from 0 to 100", "w", "-o",
            "base_lr=x");
    REFUSED("--optimizer: \"adam\" does not fit; expected one of sgd, lars", "w", "--optimizer",
            "adam");
    REFUSED("stave fake needs WORKLOAD; stave fake --help says more", "-v");
    REFUSED("stave fake does not take \"c\"; stave fake --help says more", "a", "b", "c");
}

static void missing_file_is_an_io_error(void **state)
{
    struct typed t;

    (void)state;
    TYPE(t, "w", "--config", "/nonexistent.yaml");
    assert_int_equal(t.rc, E_IO);
    done(&t);
}

static void first_argument_before_its_table_is_bound(void **state)
{
    static const struct {
        const char *words[6], *first;
    } cases[] = {{{"fake", "w", "--x", "y"}, "w"},
                 {{"fake", "--batch-size", "3", "w"}, "w"},
                 {{"fake", "--batch-size=3", "w"}, "w"},
                 {{"fake", "-v", "w"}, "w"},
                 {{"fake", "--synthetic", "w"}, "w"},
                 {{"fake", "--warmup", "5", "w"}, "w"},
                 {{"fake", "-o", "a=b", "w"}, "w"},
                 {{"fake", "-oa=b", "w"}, "w"},
                 {{"fake", "--", "-w"}, "-w"},
                 {{"fake", "--help"}, NULL},
                 {{"fake"}, NULL},
                 {{"fake", "--batch-size"}, NULL}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *words[6];
        int n = 0;
        struct command_line line;
        struct loader loader;
        const char *first;
        for (; cases[i].words[n]; n++)
            words[n] = xstrdup(cases[i].words[n]);
        command_line_init(&line, &fake, n, words);
        command_line_bind(&line, &loader_table, &loader);
        first = command_line_first_arg(&line);
        if (cases[i].first)
            assert_string_equal(first, cases[i].first);
        else
            assert_null(first);
        command_line_release(&line);
        while (n--)
            free(words[n]);
    }
}

static void echo_holds_every_row(void **state)
{
    struct typed t;
    struct str out = STR_INIT;

    (void)state;
    TYPE(t, "w", "--out", "runs/1", "-b7");
    command_line_add_json(&t.line, &out);
    assert_string_equal(out.s, "{\"Loader\": {\"batch-size\": 7, \"synthetic\": false, "
                               "\"verbose\": false, \"out\": \"runs/1\"}, "
                               "\"Recipe\": {\"base-lr\": 0.1, \"optimizer\": \"sgd\"}}");
    str_release(&out);
    done(&t);
}

/* Runs the built program with fixed words; returns its exit code and what it wrote. */
static int run(const char *words, char *out, size_t size)
{
    char *line = xasprintf("%s/stave 2>&1 %s", STAVE_BUILD, words);
    FILE *p = popen(line, "r");
    size_t n;

    free(line);
    assert_non_null(p);
    n = fread(out, 1, size - 1, p);
    out[n] = '\0';
    return WEXITSTATUS(pclose(p));
}

static void program_exit_codes(void **state)
{
    static const struct {
        const char *words;
        int code;
        const char *says;
    } cases[] = {
        {"", 2, "stave: name a command"},
        {"help", 0, "Commands:"},
        {"--help", 0, "Commands:"},
        {"--version", 0, "stave " STAVE_VERSION},
        {"help help", 0, "Usage: stave help"},
        {"help --help", 0, "Usage: stave help"},
        {"hlep", 2, "stave: no command is called hlep; did you mean help?"},
        {"help nothing-like-it", 2, "stave: no command is called nothing-like-it; stave help"},
        {"help >/dev/full", 3, "stave: write to standard output: No space left on device"},
        {"man", 0, ".TH STAVE 1"},
    };
    char out[65536];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const int code = run(cases[i].words, out, sizeof(out));
        if (code != cases[i].code || !strstr(out, cases[i].says))
            fail_msg("stave %s ends with %d and says: %s", cases[i].words, code, out);
    }
}

static void every_command_is_complete(void **state)
{
    (void)state;
    for (size_t i = 0; commands[i]; i++) {
        const struct command *c = commands[i];
        const size_t n = strlen(c->summary);
        assert_ptr_equal(command_find(c->name), c);
        assert_true(n > 0 && c->summary[n - 1] != '.');
        assert_non_null(c->run);
        assert_true(c->min_args <= c->max_args);
        for (size_t t = 0; c->tables && c->tables[t]; t++)
            for (size_t r = 0; r < c->tables[t]->n_rows; r++) {
                const struct opt_row *row = &c->tables[t]->rows[r];
                if (!row->help || !*row->help || row->help[strlen(row->help) - 1] == '.')
                    fail_msg("%s --%s: help must be a sentence without its full stop", c->name,
                             row->name);
                assert_true(row->letter != 'h' && row->letter != 'o');
            }
    }
}

#define S(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_to_give_a_value),
        cmocka_unit_test(bare_flags_mean_yes),
        cmocka_unit_test(later_wins),
        cmocka_unit_test(arguments_keep_their_order),
        S(files_stand_below_options),
        S(file_errors_name_file_and_line),
        cmocka_unit_test(refusals),
        cmocka_unit_test(missing_file_is_an_io_error),
        cmocka_unit_test(first_argument_before_its_table_is_bound),
        cmocka_unit_test(echo_holds_every_row),
        cmocka_unit_test(program_exit_codes),
        cmocka_unit_test(every_command_is_complete),
    };

    return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
