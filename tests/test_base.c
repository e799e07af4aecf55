/* Arena, strings, files, random numbers, configuration files. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/config.h"
#include "base/err.h"
#include "base/file.h"
#include "base/random.h"
#include "base/str.h"
#include "scratch.h"

static void reasons_are_kept_and_prefixed(void **state)
{
    (void)state;
    assert_int_equal(err(E_DATA, "byte %d", 7), E_DATA);
    assert_string_equal(err_reason(), "byte 7");
    assert_int_equal(err_prefix(E_IO, "file %s: ", "x"), E_IO);
    assert_string_equal(err_reason(), "file x: byte 7");
}

static void arena_aligns_zeroes_and_grows(void **state)
{
    struct arena a;

    (void)state;
    arena_init(&a);
    for (size_t n = 1; n < 200000; n = n * 3 + 1) {
        unsigned char *p = arena_alloc(&a, n);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xFF, n);
    }
    assert_string_equal(arena_printf(&a, "%s.%d", "conv", 3), "conv.3");
    assert_string_equal(arena_strdup(&a, ""), "");
    arena_release(&a);
    assert_null(a.head);
}

static void arena_pieces_do_not_overlap(void **state)
{
    struct arena a;
    char *first, *second;

    (void)state;
    arena_init(&a);
    first = arena_alloc(&a, 24);
    second = arena_alloc(&a, 24);
    memset(first, 'x', 24);
    assert_int_equal(second[0], 0);
    arena_release(&a);
}

static void strings_grow(void **state)
{
    struct str b = STR_INIT;
    char *s;

    (void)state;
    for (int i = 0; i < 1000; i++)
        str_printf(&b, "%d,", i);
    assert_int_equal(b.len, 10 * 2 + 90 * 3 + 900 * 4);
    assert_int_equal(b.s[b.len], 0);
    assert_memory_equal(b.s + b.len - 8, "998,999,", 8);
    str_reset(&b);
    str_add_bytes(&b, "a\0b", 3);
    assert_int_equal(b.len, 3);
    s = str_detach(&b);
    assert_memory_equal(s, "a\0b", 4);
    free(s);
    s = str_detach(&b);
    assert_string_equal(s, "");
    free(s);
}

static void json_escapes(void **state)
{
    static const char *const cases[][2] = {
        {"plain", "\"plain\""},
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"\n\t\x01\x7F", "\"\\n\\u0009\\u0001\\u007f\""},
        {"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80", "\"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\""},
        {"\xE9", "\"\\u00e9\""},                                  /* Latin-1 */
        {"\xC3", "\"\\u00c3\""},                                  /* cut off at the end */
        {"\xC3(", "\"\\u00c3(\""},                                /* no continuation */
        {"\xC0\xAF", "\"\\u00c0\\u00af\""},                       /* overlong */
        {"\xE0\x80\xAF", "\"\\u00e0\\u0080\\u00af\""},            /* overlong */
        {"\xED\xA0\x80", "\"\\u00ed\\u00a0\\u0080\""},            /* surrogate */
        {"\xF4\x90\x80\x80", "\"\\u00f4\\u0090\\u0080\\u0080\""}, /* above U+10FFFF */
        {"a\302\205b\342\200\250c\342\200\251", "\"a\\u0085b\\u2028c\\u2029\""}, /* ends of lines */
        {"\302\240\342\200\252", "\"\302\240\342\200\252\""},
        {"", "\"\""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct str b = STR_INIT;
        str_add_json(&b, cases[i][0]);
        assert_string_equal(b.s, cases[i][1]);
        str_release(&b);
    }
}

static void printable_text_moves_no_cursor(void **state)
{
    static const char *const cases[][2] = {
        {"plain \"text\"\\", "plain \"text\"\\"}, {"a\033[2J\n\177", "a\\x1b[2J\\x0a\\x7f"},
        {"\302\23331m", "\\xc2\\x9b31m"},         {"\342\200\250", "\\xe2\\x80\\xa8"},
        {"\302\240\303\251", "\302\240\303\251"}, {"\233\377", "\\x9b\\xff"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct str b = STR_INIT;
        str_add_printable(&b, cases[i][0]);
        assert_string_equal(b.s, cases[i][1]);
        str_release(&b);
    }
}

static void reads_refuse_what_is_too_large_or_no_file(void **state)
{
    char *path = scratch_file(*state, "ten", "0123456789");
    char *bytes;
    size_t n;

    assert_int_equal(file_read(path, 10, &bytes, &n), 0);
    assert_int_equal(n, 10);
    assert_string_equal(bytes, "0123456789");
    free(bytes);
    assert_int_equal(file_read(path, 9, &bytes, &n), E_DATA);
    assert_null(bytes);
    assert_int_equal(file_read(*state, 10, &bytes, &n), E_DATA);
    assert_int_equal(file_read("/nonexistent/x", 10, &bytes, &n), E_IO);
    assert_string_equal(err_reason(), "open /nonexistent/x: No such file or directory");
    free(path);
}

static void assert_holds(const char *path, const char *text)
{
    char *bytes;
    size_t n;

    assert_int_equal(file_read(path, 1 << 20, &bytes, &n), 0);
    assert_string_equal(bytes, text);
    free(bytes);
}

static void replace_puts_the_new_text(void **state)
{
    char *path = scratch_file(*state, "a/b/c", "old");
    char *tmp = xasprintf("%s.tmp", path);

    assert_int_equal(file_replace(path, "new text", 8), 0);
    assert_holds(path, "new text");
    assert_false(file_exists(tmp));
    free(tmp);
    free(path);
}

/* A disk that fills up in the middle, by way of a limit on the size of files. */
static void failed_replace_leaves_the_old_text(void **state)
{
    char *path = scratch_file(*state, "kept", "old");
    char *tmp = xasprintf("%s.tmp", path);
    struct rlimit before, small;
    char big[8192] = {0};
    int rc;

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small = (struct rlimit){.rlim_cur = 4096, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    rc = file_replace(path, big, sizeof(big));
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(rc, E_IO);
    assert_holds(path, "old");
    assert_false(file_exists(tmp));
    free(tmp);
    free(path);
}

static void replace_in_a_missing_folder_is_an_error(void **state)
{
    char *path = file_join(*state, "no/such/file");

    assert_int_equal(file_replace(path, "x", 1), E_IO);
    free(path);
}

static void aborted_writer_leaves_nothing(void **state)
{
    char *path = scratch_file(*state, "kept", "old");
    struct file_writer w;

    assert_int_equal(file_writer_open(&w, path), 0);
    assert_int_equal(file_writer_add(&w, "half", 4), 0);
    file_writer_abort(&w);
    file_writer_abort(&w);
    assert_holds(path, "old");
    free(path);
}

static void pread_says_where_the_file_ends(void **state)
{
    char *path = scratch_file(*state, "short", "abc");
    const int fd = open(path, O_RDONLY);
    char buf[8];

    assert_int_equal(file_pread(fd, buf, 2, 1, path), 0);
    assert_memory_equal(buf, "bc", 2);
    assert_int_equal(file_pread(fd, buf, 8, 1, path), E_DATA);
    assert_non_null(strstr(err_reason(), "ends at byte 3, 6 bytes short"));
    close(fd);
    free(path);
}

static void paths_join(void **state)
{
    static const char *const cases[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"", "b", "b"}, {"/", "b", "/b"}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *s = file_join(cases[i][0], cases[i][1]);
        assert_string_equal(s, cases[i][2]);
        free(s);
    }
}

static void mkdirs_twice_and_through_a_file(void **state)
{
    char *deep = file_join(*state, "x/y/z"), *file = scratch_file(*state, "f", "");
    char *below = file_join(file, "g");
    struct stat st;

    assert_int_equal(file_mkdirs(deep), 0);
    assert_int_equal(file_mkdirs(deep), 0);
    assert_int_equal(stat(deep, &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_int_equal(file_mkdirs(below), E_IO);
    free(deep);
    free(file);
    free(below);
}

/* Golden values were computed by a program of its own from the definition in random.h. */
static void hash_values(void **state)
{
    static const struct {
        struct random_key key;
        uint64_t index, hash;
        double uniform, normal;
    } cases[] = {
        {{0, RANDOM_INIT, 0}, 0, 0xd1c0270687984b37u, 0.8193382636014529, 1.5330570445044884},
        {{1, RANDOM_SHUFFLE, 3}, 4, 0xd55ccd4aeb3ccafbu, 0.8334472949893438, -0.6664482429341797},
        {{UINT64_MAX, RANDOM_SYNTHETIC, UINT64_MAX},
         UINT64_MAX,
         0xf460c50346f85e75u,
         0.9546015866280596,
         1.0656703547545914},
        {{42, RANDOM_TEST, UINT64_C(1) << 40},
         123456789,
         0xb136314404f3e09u,
         0.04326457256712224,
         0.18417820053385986},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(random_hash(cases[i].key, cases[i].index), cases[i].hash);
        assert_true(random_uniform(cases[i].key, cases[i].index) == cases[i].uniform);
        /* the logarithm and the cosine may differ in the last place between libraries */
        assert_true(fabs(random_normal(cases[i].key, cases[i].index) - cases[i].normal) < 1e-14);
    }
    assert_int_equal(random_name(""), 0xcbf29ce484222325u);
    assert_int_equal(random_name("stage3.block2.conv2.weight"), 0xe2a9feb734e8959bu);
}

static void stream_values(void **state)
{
    static const uint64_t golden[] = {0xa2364e11eed0e5bbu, 0xfc2427b9b1532ccfu,
                                      0xbf05162f80ae994bu};
    struct random_stream s = random_stream((struct random_key){7, RANDOM_AUGMENT, 2}, 100);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(golden); i++)
        assert_int_equal(random_next(&s), golden[i]);
}

static void permutation_values(void **state)
{
    static const uint64_t golden[2][10] = {{9, 7, 0, 8, 3, 5, 4, 6, 2, 1},
                                           {6, 9, 3, 7, 1, 8, 4, 5, 2, 0}};

    (void)state;
    for (uint64_t epoch = 0; epoch < 2; epoch++)
        for (uint64_t i = 0; i < 10; i++)
            assert_int_equal(random_permute((struct random_key){42, RANDOM_SHUFFLE, epoch}, 10, i),
                             golden[epoch][i]);
}

static void permutations_hit_every_place_once(void **state)
{
    static const uint64_t sizes[] = {1, 2, 3, 4, 5, 16, 17, 1000, 65537};

    (void)state;
    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        unsigned char *hit = xcalloc(sizes[s], 1);
        for (uint64_t i = 0; i < sizes[s]; i++) {
            const uint64_t place =
                random_permute((struct random_key){1, RANDOM_SHUFFLE, s}, sizes[s], i);
            assert_true(place < sizes[s]);
            assert_int_equal(hit[place]++, 0);
        }
        free(hit);
    }
}

static int note(void *context, const char *key, const char *value, const char *where)
{
    const char *slash = strrchr(where, '/');

    str_printf(context, "%s|%s=%s\n", slash ? slash + 1 : where, key, value);
    return strcmp(key, "stop-here") == 0 ? err(E_USAGE, "told to stop") : 0;
}

static int load(const char *dir, const char *text, size_t n, struct str *out)
{
    char *path = scratch_bytes(dir, "c.yaml", text, n);
    const int rc = config_load(path, note, out);

    free(path);
    return rc;
}

static void config_lines_arrive_in_order(void **state)
{
    static const char text[] =
        "# a run\n---\nbatch-size: 64\nlr: 1e-3   # peak\n\nout: \"a b: c\"\n"
        "empty: ''\nflag: yes\n";
    struct str out = STR_INIT;

    assert_int_equal(load(*state, text, strlen(text), &out), 0);
    assert_string_equal(out.s, "c.yaml:3|batch-size=64\nc.yaml:4|lr=1e-3\nc.yaml:6|out=a b: c\n"
                               "c.yaml:7|empty=\nc.yaml:8|flag=yes\n");
    str_release(&out);
}

static void config_may_be_empty(void **state)
{
    static const char *const texts[] = {"",      "\n\n", "# only words\n",
                                        "---\n", "{}\n", "---\n...\n"};

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct str out = STR_INIT;
        assert_int_equal(load(*state, texts[i], strlen(texts[i]), &out), 0);
        assert_null(out.s);
        str_release(&out);
    }
}

static void config_refusals_name_the_line(void **state)
{
    static const char *const cases[][2] = {
        {"a: 1\nopt:\n  lr: 2\n", "c.yaml:3: a section inside another is not taken here"},
        {"a: 1\nb: [1, 2]\n", "c.yaml:2: a list is not taken here"},
        {"- a\n", "c.yaml:1: this is no setting"},
        {"just words\n", "c.yaml:1: this is no setting"},
        {"a: &x 1\nb: *x\n", "c.yaml:1: an anchor (&name) is not taken here"},
        {"a: 1\n? [b]\n: 2\n", "c.yaml:2: a list is not taken here"},
        {"a: !!int 3\n", "c.yaml:1: a tag (!name) is not taken here"},
        {"a: 1\n---\nb: 2\n", "c.yaml:2: a second document is not taken here"},
        {"a:\n", "c.yaml:1: a has no value"},
        {"a: ~\n", "c.yaml:1: a has no value"},
        {"a: 1\nb: 2\na: 3\n", "c.yaml:3: a is already set in line 1"},
        {"a-b: 1\na_b: 2\n", "c.yaml:2: a_b is already set in line 1"},
        {"a: \"x\\0y\"\n", "c.yaml:1: a zero byte is not taken here"},
        {"a: 1\n\tb: 2\n", "c.yaml:2: this is no YAML"},
        {"a: \"open\n", "c.yaml:2: this is no YAML"},
        {"a: *x\n", "c.yaml:1: an alias (*name) is not taken here"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct str out = STR_INIT;
        assert_int_equal(load(*state, cases[i][0], strlen(cases[i][0]), &out), E_USAGE);
        if (!strstr(err_reason(), cases[i][1]))
            fail_msg("case %zu says: %s", i, err_reason());
        str_release(&out);
    }
}

static void config_ends_at_a_refused_setting(void **state)
{
    static const char text[] = "a: 1\nstop-here: 2\nb: 3\n";
    struct str out = STR_INIT;

    assert_int_equal(load(*state, text, strlen(text), &out), E_USAGE);
    assert_string_equal(err_reason(), "told to stop");
    assert_string_equal(out.s, "c.yaml:1|a=1\nc.yaml:2|stop-here=2\n");
    str_release(&out);
}

static void config_size_is_limited(void **state)
{
    char *text = xmalloc(CONFIG_MAX_BYTES + 1);
    struct str out = STR_INIT;

    memset(text, '#', CONFIG_MAX_BYTES + 1);
    assert_int_equal(load(*state, text, CONFIG_MAX_BYTES, &out), 0);
    assert_int_equal(load(*state, text, CONFIG_MAX_BYTES + 1, &out), E_DATA);
    free(text);
    str_release(&out);
}

/* Bytes of every kind, and a good file with one byte changed: refused or read, never a crash. */
static void config_survives_garbage(void **state)
{
    static const char good[] = "a: 1\nb: \"x\\ty\"\n# c\nd: 'e'\nf: g\n";
    const struct random_key key = {1, RANDOM_TEST, 9};
    int refused = 0;

    for (uint64_t round = 0; round < 600; round++) {
        struct random_stream s = random_stream(key, round);
        char text[256];
        size_t n = sizeof(good) - 1;
        struct str out = STR_INIT;

        memcpy(text, good, n);
        if (round % 2) {
            n = random_next(&s) % sizeof(text);
            for (size_t i = 0; i < n; i++)
                text[i] = (char)random_next(&s);
        } else {
            text[random_next(&s) % n] = (char)random_next(&s);
        }
        refused += load(*state, text, n, &out) < 0;
        str_release(&out);
    }
    assert_in_range(refused, 400, 599);
}

struct heard {
    size_t n;
    char last[64];
};

static void hear(void *context, const char *text)
{
    struct heard *const h = context;

    h->n++;
    snprintf(h->last, sizeof(h->last), "%s", text);
}

/* The first of them, whole and in order; how many there were is known beyond. */
static void warnings_are_kept(void **state)
{
    struct heard h = {0};

    (void)state;
    warnings_forget();
    for (int i = 1; i <= WARNINGS_KEPT + 3; i++)
        warning("number \"%d\"", i);
    assert_int_equal(warnings_visit(hear, &h), WARNINGS_KEPT + 3);
    assert_int_equal(h.n, WARNINGS_KEPT);
    assert_string_equal(h.last, "number \"64\"");
    warnings_forget();
    assert_int_equal(warnings_visit(hear, &h), 0);
    assert_int_equal(h.n, WARNINGS_KEPT);
}

#define S(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasons_are_kept_and_prefixed),
        cmocka_unit_test(warnings_are_kept),
        cmocka_unit_test(arena_aligns_zeroes_and_grows),
        cmocka_unit_test(arena_pieces_do_not_overlap),
        cmocka_unit_test(strings_grow),
        cmocka_unit_test(json_escapes),
        S(printable_text_moves_no_cursor),
        S(reads_refuse_what_is_too_large_or_no_file),
        S(replace_puts_the_new_text),
        S(failed_replace_leaves_the_old_text),
        S(replace_in_a_missing_folder_is_an_error),
        S(aborted_writer_leaves_nothing),
        S(pread_says_where_the_file_ends),
        cmocka_unit_test(paths_join),
        S(mkdirs_twice_and_through_a_file),
        cmocka_unit_test(hash_values),
        cmocka_unit_test(stream_values),
        cmocka_unit_test(permutation_values),
        cmocka_unit_test(permutations_hit_every_place_once),
        S(config_lines_arrive_in_order),
        S(config_may_be_empty),
        S(config_refusals_name_the_line),
        S(config_ends_at_a_refused_setting),
        S(config_size_is_limited),
        S(config_survives_garbage),
    };

    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
