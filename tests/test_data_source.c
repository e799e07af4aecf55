/* Sources and the record writer: every record reads back byte for byte, and a file that lies is
 * refused with a reason. */
#include "test_data_fixture.h"

#include <math.h>

#include "data/recordio.h"
#include "data/recordio_writer.h"
#include "data/source.h"

/* Writes one part by hand: what a hostile or foreign writer could leave. */
static void put_part(struct bytes *b, uint32_t cflag, const void *data, size_t n)
{
    const uint32_t head[2] = {RECORDIO_MAGIC, cflag << 29 | (uint32_t)n};

    bytes_add(b, head, sizeof(head));
    bytes_add(b, data, n);
    bytes_add(b, "\0\0\0", recordio_padded(n) - n);
}

static void put_record(struct bytes *b, uint32_t flag, float label, const char *payload)
{
    struct bytes r = {0};
    const uint64_t ids[2] = {0, 0};

    bytes_add(&r, &flag, 4);
    bytes_add(&r, &label, 4);
    bytes_add(&r, ids, 16);
    bytes_add(&r, payload, strlen(payload));
    put_part(b, PART_WHOLE, r.data, r.n);
    bytes_release(&r);
}

static int open_in(const char *dir, const char *name, struct source **s)
{
    char *const path = file_join(dir, name);
    const int rc = source_open(path, s);

    free(path);
    return rc;
}

static int rec_parts(const char *dir)
{
    char *const path = file_join(dir, "a.rec");
    char *bytes;
    size_t n;
    int parts = 0;

    assert_int_equal(file_read(path, 1 << 20, &bytes, &n), 0);
    for (size_t at = 0; at < n; parts++) {
        uint32_t word[2];

        memcpy(word, bytes + at, 8);
        assert_int_equal(word[0], RECORDIO_MAGIC);
        at += 8 + recordio_padded(word[1] & 0x1FFFFFFF);
    }
    free(bytes);
    free(path);
    return parts;
}

/* Writes one record holding the magic word at the given payload offsets, reads it back, and returns
 * the number of parts in the file. */
static int round_trip_with_magic(const size_t *at, size_t n_at, uint64_t id)
{
    const uint32_t magic = RECORDIO_MAGIC;
    uint8_t payload[64];
    char *const dir = temp_dir(), *const prefix = file_join(dir, "a");
    struct recordio_writer *w;
    struct source *s;
    struct sample got = {0};
    int parts;

    for (size_t i = 0; i < sizeof(payload); i++)
        payload[i] = (uint8_t)(i + 1);
    for (size_t i = 0; i < n_at; i++)
        memcpy(payload + at[i], &magic, 4);
    assert_int_equal(recordio_writer_open(prefix, &w), 0);
    assert_int_equal(
        recordio_writer_add(
            w, (struct recordio_entry){.label = 3, .id = id, .payload = payload, .n = 61}),
        0);
    assert_int_equal(recordio_writer_commit(w, NULL), 0);
    parts = rec_parts(dir);
    assert_int_equal(open_in(dir, "a.rec", &s), 0);
    assert_int_equal(s->n_samples, 1);
    assert_int_equal(source_read(s, 0, &got), 0);
    assert_int_equal(got.n, 61);
    assert_int_equal(got.label, 3);
    assert_memory_equal(got.data, payload, 61);
    sample_release(&got);
    source_close(s);
    free(prefix);
    remove_dir(dir);
    return parts;
}

static void test_records_with_the_magic_word_are_split_and_joined(void **state)
{
    (void)state;
    assert_int_equal(round_trip_with_magic(NULL, 0, 1), 1);
    assert_int_equal(round_trip_with_magic((size_t[]){16}, 1, 1), 2);
    assert_int_equal(round_trip_with_magic((size_t[]){16, 24}, 2, 1), 3);
    assert_int_equal(round_trip_with_magic((size_t[]){16, 20}, 2, 1), 3);
    assert_int_equal(round_trip_with_magic((size_t[]){0, 56}, 2, 1), 3);
    assert_int_equal(round_trip_with_magic((size_t[]){17}, 1, 1), 1);
    assert_int_equal(round_trip_with_magic(NULL, 0, RECORDIO_MAGIC), 2); /* in the header */
    assert_int_equal(round_trip_with_magic((size_t[]){16}, 1, RECORDIO_MAGIC), 3);
}

/* What the writer makes is pinned, so that a change which MXNet or DALI could not read shows. */
static void test_the_bytes_of_a_record_are_these(void **state)
{
    static const uint8_t want[] = {0x0A, 0x23, 0xD7, 0xCE, 27, 0, 0, 0, 0,   0,   0,   0,
                                   0,    0,    0x40, 0x40, 9,  0, 0, 0, 0,   0,   0,   0,
                                   0,    0,    0,    0,    0,  0, 0, 0, 'a', 'b', 'c', 0};
    char *const dir = temp_dir(), *const prefix = file_join(dir, "a"), *path;
    struct recordio_writer *w;
    struct recordio_totals totals;
    char *bytes;
    size_t n;

    (void)state;
    assert_int_equal(recordio_writer_open(prefix, &w), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            recordio_writer_add(
                w, (struct recordio_entry){.label = 3, .id = 9, .payload = "abc", .n = 3}),
            0);
    assert_int_equal(recordio_writer_commit(w, &totals), 0);
    path = file_join(dir, "a.rec");
    assert_int_equal(file_read(path, 1000, &bytes, &n), 0);
    assert_int_equal(n, 2 * sizeof(want));
    assert_memory_equal(bytes, want, sizeof(want));
    assert_int_equal(totals.n_records, 2);
    assert_int_equal(totals.rec_bytes, n);
    assert_int_equal(totals.rec_checksum, checksum_add(CHECKSUM_INIT, bytes, n));
    free(bytes);
    free(path);
    path = file_join(dir, "a.idx");
    assert_int_equal(file_read(path, 1000, &bytes, &n), 0);
    assert_string_equal(bytes, "0\t0\n1\t36\n");
    free(bytes);
    free(path);
    free(prefix);
    remove_dir(dir);
}

static void test_an_aborted_writer_leaves_nothing(void **state)
{
    char *const dir = temp_dir(), *const prefix = file_join(dir, "a");
    char *const rec = file_join(dir, "a.rec"), *const tmp = file_join(dir, "a.rec.tmp");
    struct recordio_writer *w;

    (void)state;
    assert_int_equal(recordio_writer_open(prefix, &w), 0);
    assert_int_equal(recordio_writer_add(w, (struct recordio_entry){.payload = "x", .n = 1}), 0);
    assert_true(file_exists(tmp));
    recordio_writer_abort(w);
    assert_false(file_exists(rec));
    assert_false(file_exists(tmp));
    free(tmp);
    free(rec);
    free(prefix);
    remove_dir(dir);
}

static void test_several_labels_follow_the_header(void **state)
{
    char *const dir = temp_dir(), *const prefix = file_join(dir, "a");
    const float labels[2] = {5.0f, 0.5f};
    struct recordio_writer *w;
    struct source *s;
    struct sample got = {0};
    int64_t label;

    (void)state;
    assert_int_equal(recordio_writer_open(prefix, &w), 0);
    assert_int_equal(
        recordio_writer_add(
            w, (struct recordio_entry){.labels = labels, .n_labels = 2, .payload = "pix", .n = 3}),
        0);
    assert_int_equal(
        recordio_writer_add(w, (struct recordio_entry){.label = 2, .payload = "", .n = 0}), 0);
    assert_int_equal(recordio_writer_commit(w, NULL), 0);
    assert_int_equal(open_in(dir, "a.rec", &s), 0);
    assert_int_equal(source_read(s, 0, &got), 0);
    assert_int_equal(got.label, 5);
    assert_int_equal(got.n, 3);
    assert_memory_equal(got.data, "pix", 3);
    assert_int_equal(source_read(s, 1, &got), 0);
    assert_int_equal(got.n, 0);
    assert_int_equal(source_label(s, 0, &label), 0);
    assert_int_equal(label, 5);
    assert_int_equal(source_label(s, 1, &label), 0);
    assert_int_equal(label, 2);
    sample_release(&got);
    source_close(s);
    free(prefix);
    remove_dir(dir);
}

/* A record with these header words is refused, and its neighbour still reads. */
static void check_refused(uint32_t flag, float label, const char *reason)
{
    char *const dir = temp_dir();
    struct bytes b = {0};
    struct source *s;
    struct sample got = {0};
    char where[256];

    put_record(&b, flag, label, "12345678");
    put_record(&b, 0, 1.0f, "fine");
    write_file(dir, "a.rec", b.data, b.n);
    assert_int_equal(open_in(dir, "a.rec", &s), 0);
    assert_int_equal(source_read(s, 0, &got), E_DATA);
    assert_reason_has(reason);
    assert_int_equal(source_read(s, 1, &got), 0);
    assert_memory_equal(got.data, "fine", 4);
    source_locate(s, 1, where, sizeof(where));
    assert_non_null(strstr(where, "record 1, byte offset 40"));
    sample_release(&got);
    source_close(s);
    bytes_release(&b);
    remove_dir(dir);
}

static void test_lying_headers_are_refused(void **state)
{
    (void)state;
    check_refused(UINT32_MAX, 0.0f, "claims 4294967295 labels");
    check_refused(3, 0.0f, "claims 3 labels in 8 bytes");
    check_refused(0, NAN, "expected a whole number");
    check_refused(0, 1.5f, "expected a whole number");
    check_refused(0, 1e30f, "expected a whole number");
}

static void check_scan_fails(const struct bytes *b, const char *reason)
{
    char *const dir = temp_dir();
    struct source *s;

    write_file(dir, "a.rec", b->data, b->n);
    assert_int_equal(open_in(dir, "a.rec", &s), E_DATA);
    assert_null(s);
    assert_reason_has(reason);
    remove_dir(dir);
}

static void test_broken_record_files_are_refused(void **state)
{
    struct bytes b = {0};

    (void)state;
    check_scan_fails(&b, "no samples");
    put_record(&b, 0, 0, "abcd");
    b.n -= 2;
    check_scan_fails(&b, "ends inside the record at byte offset 0");
    b.n = 5;
    check_scan_fails(&b, "byte 5");
    b.n = 0;
    put_part(&b, PART_MIDDLE, "abcd", 4);
    check_scan_fails(&b, "inside a record");
    b.n = 0;
    put_part(&b, PART_FIRST, "abcd", 4);
    put_part(&b, PART_WHOLE, "abcd", 4);
    check_scan_fails(&b, "unfinished");
    b.n = 0;
    bytes_add(&b, "hello world, this is text", 24);
    check_scan_fails(&b, "magic word");
    bytes_release(&b);
}

/* Parts that contradict the index only when read: the index was checked, the file changed after. */
static void test_a_record_changed_after_opening_is_refused(void **state)
{
    static const uint32_t words[][2] = {{0x12345678, 32},
                                        {RECORDIO_MAGIC, 0x1FFFFFFF},
                                        {RECORDIO_MAGIC, 1u << 29 | 32},
                                        {RECORDIO_MAGIC, 3u << 29 | 32},
                                        {RECORDIO_MAGIC, 5u << 29 | 32},
                                        {RECORDIO_MAGIC, 4}};
    char *const dir = temp_dir(), *const path = file_join(dir, "a.rec");
    struct bytes b = {0};
    struct source *s;
    struct sample got = {0};
    int fd;

    (void)state;
    put_record(&b, 0, 1, "12345678");
    put_record(&b, 0, 2, "fine");
    write_file(dir, "a.rec", b.data, b.n);
    assert_int_equal(source_open(path, &s), 0);
    fd = open(path, O_WRONLY);
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        assert_int_equal(pwrite(fd, words[i], 8, 0), 8);
        assert_int_equal(source_read(s, 0, &got), E_DATA);
        assert_int_equal(source_read(s, 1, &got), 0);
    }
    /* shrunk: an error, where a memory map would end the process */
    assert_int_equal(ftruncate(fd, 60), 0);
    assert_int_equal(source_read(s, 1, &got), E_DATA);
    assert_reason_has("ends at byte 60");
    close(fd);
    sample_release(&got);
    source_close(s);
    bytes_release(&b);
    free(path);
    remove_dir(dir);
}

/* Any bytes at all in place of the file: an answer or E_DATA, never more. */
static void test_random_damage_is_survived(void **state)
{
    char *const dir = temp_dir();
    struct bytes good = {0}, bad = {0};
    unsigned seed = 5;

    (void)state;
    for (int i = 0; i < 6; i++)
        put_record(&good, (uint32_t)(i % 3), 1, "some payload bytes");
    for (int round = 0; round < 500; round++) {
        struct source *s;
        struct sample got = {0};

        bad.n = 0;
        bytes_add(&bad, good.data, good.n);
        for (int i = 0; i < 3; i++) {
            seed = seed * 1664525u + 1013904223u;
            bad.data[(seed >> 8) % bad.n] = (uint8_t)(seed >> 24);
        }
        write_file(dir, "a.rec", bad.data, bad.n);
        if (open_in(dir, "a.rec", &s) < 0)
            continue;
        for (uint64_t i = 0; i < s->n_samples; i++) {
            const int rc = source_read(s, i, &got);

            assert_true(rc == 0 || rc == E_DATA);
            assert_true(rc < 0 || got.n <= good.n);
        }
        sample_release(&got);
        source_close(s);
    }
    bytes_release(&good);
    bytes_release(&bad);
    remove_dir(dir);
}

/* Three records at 0, 36 and 76 with the given index (NULL: none); the source has them in file
 * order. */
static int open_with_index(const char *index, int *code)
{
    char *const dir = temp_dir();
    struct bytes b = {0};
    struct source *s;
    struct sample got = {0};
    int n = 0;

    put_record(&b, 0, 0, "abc");
    put_record(&b, 0, 1, "defgh");
    put_record(&b, 0, 2, "i");
    write_file(dir, "a.rec", b.data, b.n);
    if (index)
        write_file(dir, "a.idx", index, strlen(index));
    *code = open_in(dir, "a.rec", &s);
    if (*code == 0) {
        n = (int)s->n_samples;
        for (int i = 0; i < n; i++) {
            assert_int_equal(source_read(s, (uint64_t)i, &got), 0);
            assert_int_equal(got.label, i);
        }
    }
    sample_release(&got);
    source_close(s);
    bytes_release(&b);
    remove_dir(dir);
    return n;
}

static void test_index_variants(void **state)
{
    static const char *const good[] = {NULL,
                                       "0\t0\n1\t36\n2\t76\n",
                                       "2\t76\n0\t0\n1\t36\n",
                                       "0\t0\r\n1\t36\r\n2\t76\r\n",
                                       "0\t0\n1\t36\n2\t76\n\n",
                                       "0\t0\n1\t36\n2\t76",
                                       "0 0\n1 36\n2 76\n"};
    static const char *const bad[] = {
        "",
        "0\t0\n1\t18446744073709551615\n",
        "0\t0\n1\t99999999999999999999999\n",
        "0\t0\n1\t40\n2\t80\n",
        "0\t0\n1\t36\n",
        "0\t36\n1\t76\n",
        "0\t0\n1\t36\n2\t76\n3\t112\n",
        "0\t0\n0\t0\n1\t36\n2\t76\n",
        "0\t-1\n1\t36\n2\t76\n",
        "0\t0\n1\tabc\n",
        "0\n36\n76\n",
        "cat\tdog\n",
    };
    int code;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        assert_int_equal(open_with_index(good[i], &code), 3);
        assert_int_equal(code, 0);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        open_with_index(bad[i], &code);
        if (code != E_DATA)
            fail_msg("index %zu was taken", i);
        assert_reason_has("stave prepare --index makes it anew");
    }
    open_with_index("0\t0\n1\t40\n2\t80\n", &code);
    assert_reason_has("of 3 entries checked");
}

static void test_the_index_can_be_rebuilt(void **state)
{
    char *const dir = temp_dir(), *const rec = file_join(dir, "a.rec");
    char *const idx = file_join(dir, "a.idx");
    struct bytes b = {0};
    struct recordio_rebuilt r;
    char *text;
    size_t n;

    (void)state;
    put_record(&b, 0, 0, "abc");
    put_record(&b, 0, 1, "defgh");
    write_file(dir, "a.rec", b.data, b.n);
    write_file(dir, "a.idx", "junk", 4);
    assert_int_equal(recordio_index_rebuild(rec, &r), 0);
    assert_int_equal(r.n_records, 2);
    assert_int_equal(r.had_index, 0);
    assert_int_equal(file_read(idx, 1000, &text, &n), 0);
    assert_string_equal(text, "0\t0\n1\t36\n");
    free(text);
    bytes_release(&b);
    free(idx);
    free(rec);
    remove_dir(dir);
}

static const char *const odd_names[] = {"a b/x y.JPEG", "a b/new\nline.jpg", "a b/\xFF\xFE.jpg",
                                        "日本/猫.jpg",  "a b/-rf.jpg",       "-x/no ending"};

static void test_folder_takes_any_name_in_byte_order(void **state)
{
    static const char *const want[] = {"-x/no ending", "a b/-rf.jpg",      "a b/new\nline.jpg",
                                       "a b/x y.JPEG", "a b/\xFF\xFE.jpg", "日本/猫.jpg"};
    static const int label[] = {0, 1, 1, 1, 1, 3};
    char *const dir = temp_dir();
    struct source *s;
    struct sample got = {0};

    (void)state;
    make_dir(dir, "-x");
    make_dir(dir, "a b/not a file");
    make_dir(dir, "empty"); /* keeps index 2 */
    make_dir(dir, "日本");
    make_dir(dir, ".git");
    write_file(dir, "README", "x", 1);
    write_file(dir, "a b/.DS_Store", "x", 1);
    for (size_t i = 0; i < COUNT_OF(odd_names); i++)
        write_file(dir, odd_names[i], odd_names[i], strlen(odd_names[i]));
    assert_int_equal(source_open(dir, &s), 0);
    assert_int_equal(s->n_classes, 4);
    assert_string_equal(source_class_name(s, 2), "empty");
    assert_int_equal(s->n_samples, COUNT_OF(want));
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        char where[512];

        assert_int_equal(source_read(s, i, &got), 0);
        assert_int_equal(got.n, strlen(want[i]));
        assert_memory_equal(got.data, want[i], got.n);
        assert_int_equal(got.label, label[i]);
        source_locate(s, i, where, sizeof(where));
        assert_non_null(strstr(where, want[i]));
    }
    sample_release(&got);
    source_close(s);
    remove_dir(dir);
}

static void test_folder_failures_are_named(void **state)
{
    char *const dir = temp_dir(), *const gone = file_join(dir, "a/1");
    struct source *s;
    struct sample got = {0};

    (void)state;
    assert_int_equal(source_open("/nonexistent/place", &s), E_IO);
    assert_reason_has("/nonexistent/place");
    assert_int_equal(source_open(dir, &s), E_DATA);
    assert_reason_has("no class folders");
    make_dir(dir, "a");
    assert_int_equal(source_open(dir, &s), E_DATA);
    assert_reason_has("no samples");
    write_file(dir, "a/1", "x", 1);
    write_file(dir, "a/2", "y", 1);
    assert_int_equal(open_in(dir, "a/1", &s), E_USAGE);
    assert_int_equal(source_open(dir, &s), 0);
    unlink(gone);
    assert_int_equal(mkfifo(gone, 0600), 0);
    assert_int_equal(source_read(s, 0, &got), E_DATA); /* does not hang */
    unlink(gone);
    assert_int_equal(source_read(s, 0, &got), E_IO);
    assert_reason_has("a/1");
    assert_int_equal(source_read(s, 1, &got), 0);
    sample_release(&got);
    source_close(s);
    free(gone);
    remove_dir(dir);
}

/* A pipe in the place of a record file, or of its index: refused without waiting for a writer. */
static void test_a_pipe_is_no_record_file(void **state)
{
    char *const dir = temp_dir(), *const rec = file_join(dir, "p.rec");
    char *const idx = file_join(dir, "a.idx");
    struct recordio_rebuilt made;
    struct source *s;

    (void)state;
    assert_int_equal(mkfifo(rec, 0600), 0);
    assert_int_equal(source_open(rec, &s), E_DATA);
    assert_reason_has("p.rec is not a regular file");
    assert_int_equal(recordio_index_rebuild(rec, &made), E_DATA);
    assert_reason_has("p.rec is not a regular file");
    write_file(dir, "a.rec", "x", 1);
    assert_int_equal(mkfifo(idx, 0600), 0);
    assert_int_equal(open_in(dir, "a.rec", &s), E_DATA);
    assert_reason_has("a.idx is not a regular file");
    free(rec);
    free(idx);
    remove_dir(dir);
}

static void test_split_is_found_as_records_or_folder(void **state)
{
    char *const dir = temp_dir();
    struct bytes b = {0};
    struct source *s;

    (void)state;
    make_dir(dir, "train/a");
    write_file(dir, "train/a/1", "x", 1);
    assert_int_equal(source_open_split(dir, "train", &s), 0);
    assert_string_equal(s->ops->name, "folder");
    source_close(s);
    put_record(&b, 0, 0, "abc");
    write_file(dir, "train.rec", b.data, b.n);
    assert_int_equal(source_open_split(dir, "train", &s), 0);
    assert_string_equal(s->ops->name, "recordio");
    source_close(s);
    assert_int_equal(source_open_split(dir, "val", &s), E_DATA);
    assert_reason_has("val.rec");
    bytes_release(&b);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_with_the_magic_word_are_split_and_joined),
        cmocka_unit_test(test_the_bytes_of_a_record_are_these),
        cmocka_unit_test(test_an_aborted_writer_leaves_nothing),
        cmocka_unit_test(test_several_labels_follow_the_header),
        cmocka_unit_test(test_lying_headers_are_refused),
        cmocka_unit_test(test_broken_record_files_are_refused),
        cmocka_unit_test(test_a_record_changed_after_opening_is_refused),
        cmocka_unit_test(test_random_damage_is_survived),
        cmocka_unit_test(test_index_variants),
        cmocka_unit_test(test_the_index_can_be_rebuilt),
        cmocka_unit_test(test_folder_takes_any_name_in_byte_order),
        cmocka_unit_test(test_folder_failures_are_named),
        cmocka_unit_test(test_a_pipe_is_no_record_file),
        cmocka_unit_test(test_split_is_found_as_records_or_folder),
    };

    return cmocka_run_group_tests_name("data sources", tests, NULL, NULL);
}
