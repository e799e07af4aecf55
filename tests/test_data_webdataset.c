/* Tar shards: archives that the system's own tar packs, in each of its formats, read back byte for
 * byte; damage is refused with the archive and the place. */
#include "test_data_fixture.h"

#include <sys/wait.h>

#include "data/source.h"
#include "data/tar.h"

/* Packs the members, in this order, with names as below dir. */
static void pack(const char *dir, const char *archive, const char *format,
                 const char *const *members, size_t n)
{
    char *const to = file_join(dir, archive), *const option = xasprintf("--format=%s", format);
    const char **const argv = xcalloc(n + 7, sizeof(*argv));
    const char *const head[] = {"tar", option, "-C", dir, "-cf", to};
    pid_t child;
    int status;

    memcpy(argv, head, sizeof(head));
    memcpy(argv + COUNT_OF(head), members, n * sizeof(*members));
    child = fork();
    if (child == 0) {
        execvp("tar", (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    free(argv);
    free(option);
    free(to);
}

static int open_in(const char *dir, const char *name, struct source **s)
{
    char *const path = file_join(dir, name);
    const int rc = source_open(path, s);

    free(path);
    return rc;
}

static void put(const char *dir, const char *name, const char *text)
{
    write_file(dir, name, text, strlen(text));
}

static void test_every_format_of_tar(void **state)
{
    static const char *const formats[] = {"ustar", "gnu", "oldgnu", "pax", "v7"};
    char deep[80], jpg[200], cls[200];

    (void)state;
    for (size_t f = 0; f < COUNT_OF(formats); f++) {
        const int is_v7 = strcmp(formats[f], "v7") == 0; /* names up to 99 bytes only */
        char *const dir = temp_dir();
        struct source *s;

        snprintf(deep, sizeof(deep), "%0*d", is_v7 ? 40 : 60, 1);
        make_dir(dir, deep);
        snprintf(jpg, sizeof(jpg), "%s/%s.JPEG", deep, deep);
        snprintf(cls, sizeof(cls), "%s/%s.cls", deep, deep);
        put(dir, jpg, "picture one");
        put(dir, cls, "7\n");
        put(dir, "b.x.png", "not the ending png");
        put(dir, "b.png", "two");
        put(dir, "b.cls", "0");
        put(dir, "c.cls", "-1");
        put(dir, "c.jpg", "three");
        put(dir, "c.json", "{}");
        pack(dir, "s.tar", formats[f],
             (const char *const[]){deep, "b.x.png", "b.png", "b.cls", "c.cls", "c.jpg", "c.json"},
             7);
        assert_int_equal(open_in(dir, "s.tar", &s), 0);
        assert_string_equal(s->ops->name, "webdataset");
        assert_int_equal(s->n_samples, 3);
        assert_int_equal(s->n_files, 1);
        check_sample(s, 0, "picture one", 7);
        check_sample(s, 1, "two", 0);
        check_sample(s, 2, "three", -1);
        source_close(s);
        remove_dir(dir);
    }
}

static void test_shards_of_a_folder_count_in_order(void **state)
{
    static const char *const pair[] = {"a.jpg", "a.cls"};
    char *const dir = temp_dir();
    struct source *s;
    char where[256], *file;

    (void)state;
    make_dir(dir, "train");
    put(dir, "a.jpg", "first");
    put(dir, "a.cls", "1");
    pack(dir, "train/t-2.tar", "ustar", pair, 2);
    put(dir, "a.jpg", "");
    put(dir, "a.cls", "2");
    pack(dir, "train/t-10.tar", "ustar", pair, 2);
    put(dir, "train/.hidden.tar", "not a shard");
    put(dir, "train/README", "not a shard");
    assert_int_equal(source_open_split(dir, "train", &s), 0);
    assert_string_equal(s->ops->name, "webdataset");
    assert_int_equal(s->n_samples, 2);
    assert_int_equal(s->n_files, 2);
    check_sample(s, 0, "first", 1);
    check_sample(s, 1, "", 2); /* no picture, which the decoder will say */
    source_locate(s, 1, where, sizeof(where));
    assert_non_null(strstr(where, "train/t-10.tar, byte offset 512"));
    file = source_file(s, 0);
    assert_non_null(strstr(file, "train/t-2.tar"));
    free(file);
    source_close(s);

    make_dir(dir, "train/class"); /* archives of classes beside the classes */
    put(dir, "train/class/a.jpg", "x");
    assert_int_equal(open_in(dir, "train", &s), 0);
    assert_string_equal(s->ops->name, "folder");
    source_close(s);

    pack(dir, "train.tar", "ustar", pair, 2);
    assert_int_equal(source_open_split(dir, "train", &s), 0);
    assert_string_equal(s->ops->name, "webdataset");
    source_close(s);
    remove_dir(dir);
}

static void test_labels_that_are_none(void **state)
{
    static const struct {
        const char *cls, *reason;
    } cases[] = {
        {NULL, "no .cls of the same name"}, {"cat", "no whole number"}, {"", "no whole number"},
        {"1.5", "no whole number"},         {"1 2", "no whole number"}, {"9999999999", "no whole"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *const dir = temp_dir();
        struct sample got = {0};
        struct source *s;
        int64_t label;

        put(dir, "a.jpg", "x");
        put(dir, "a.cls", cases[i].cls ? cases[i].cls : "");
        put(dir, "b.jpg", "y");
        put(dir, "b.cls", "3");
        if (cases[i].cls)
            pack(dir, "s.tar", "ustar", (const char *const[]){"a.jpg", "a.cls", "b.jpg", "b.cls"},
                 4);
        else
            pack(dir, "s.tar", "ustar", (const char *const[]){"a.jpg", "b.jpg", "b.cls"}, 3);
        assert_int_equal(open_in(dir, "s.tar", &s), 0);
        assert_int_equal(s->n_samples, 2);
        assert_int_equal(source_label(s, 0, &label), E_DATA);
        assert_reason_has(cases[i].reason);
        assert_int_equal(source_read(s, 0, &got), E_DATA);
        check_sample(s, 1, "y", 3);
        sample_release(&got);
        source_close(s);
        remove_dir(dir);
    }
}

static void test_damage_is_named(void **state)
{
    char *const dir = temp_dir(), *bytes, *path = file_join(dir, "s.tar");
    struct source *s;
    size_t n;

    (void)state;
    put(dir, "a.jpg", "some bytes of a picture");
    put(dir, "a.cls", "3");
    pack(dir, "s.tar", "gnu", (const char *const[]){"a.jpg", "a.cls"}, 2);
    assert_int_equal(file_read(path, 1 << 20, &bytes, &n), 0);

    /* Two members of two blocks each; two blocks of zeros are the end, and so is the file's. */
    for (size_t cut = 0; cut < 3200; cut++) {
        const int opens = cut == 1024 || cut == 2048 || cut == 2560 || cut >= 3072;

        write_file(dir, "cut.tar", bytes, cut);
        assert_int_equal(open_in(dir, "cut.tar", &s), opens ? 0 : E_DATA);
        if (opens) {
            assert_int_equal(s->n_samples, 1);
            source_close(s);
        } else {
            assert_reason_has(cut ? "cut.tar, byte offset " : "holds no samples");
        }
    }
    bytes[TAR_BLOCK * 2 + 3] ^= 1;
    write_file(dir, "sum.tar", bytes, n);
    assert_int_equal(open_in(dir, "sum.tar", &s), E_DATA);
    assert_reason_has("sum.tar, byte offset 1024: no tar header is here");
    bytes[TAR_BLOCK * 2 + 3] ^= 1;
    put(dir, "text.tar", "this is no archive");
    assert_int_equal(open_in(dir, "text.tar", &s), E_DATA);
    free(bytes);
    free(path);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_format_of_tar),
        cmocka_unit_test(test_shards_of_a_folder_count_in_order),
        cmocka_unit_test(test_labels_that_are_none),
        cmocka_unit_test(test_damage_is_named),
    };

    return cmocka_run_group_tests_name("webdataset", tests, NULL, NULL);
}
