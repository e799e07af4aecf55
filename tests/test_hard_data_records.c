/* Hard inputs, record files: for each kind a generator of variants, written by the plain
 * writer of hard_records.h, and a line with the outcome. */
#include "data/recordio_writer.h"
#include "hard_records.h"

/* A JPEG with a comment of n bytes in front, which begins 6 bytes into the file. */
static void jpeg_with_comment(int seed, const uint8_t *comment, size_t n, struct bytes *out)
{
    const uint8_t head[6] = {0xFF, 0xD8, 0xFF, 0xFE, (uint8_t)((n + 2) >> 8), (uint8_t)(n + 2)};
    struct bytes jpeg = {0};

    simple_jpeg(SIZE, SIZE, seed, &jpeg);
    out->n = 0;
    bytes_add(out, head, 6);
    bytes_add(out, comment, n);
    bytes_add(out, jpeg.data + 2, jpeg.n - 2);
    bytes_release(&jpeg);
}

/* Record i of the set: a comment with the magic word in it, several times, aligned or not, and an
 * id that may hold it, too. Returns the id. */
static uint64_t word_inside(int i, uint64_t *seed, struct bytes *payload)
{
    enum { COMMENT = 200 };
    const uint32_t magic = RECORDIO_MAGIC;
    uint8_t comment[COMMENT] = {0};

    for (int k = draw(seed, 5); k > 0; k--) { /* aligned is 2 mod 4: 6 bytes stand before */
        const int at = i % 4 == 3 ? draw(seed, COMMENT - 8) : 2 + 4 * draw(seed, 48);

        memcpy(comment + at, &magic, 4);
        if (k == 4)
            memcpy(comment + at + 4, &magic, 4);
    }
    jpeg_with_comment(i, comment, COMMENT, payload);
    return i % 10 == 0   ? magic
           : i % 10 == 1 ? (uint64_t)magic << 32
           : i % 10 == 2 ? (uint64_t)magic << 16
                         : (uint64_t)i;
}

static void check_joined(const char *dir, int n)
{
    struct source *const s = open_rec(dir);
    struct pass got = pass_over_source(s, (struct pipeline_config){.n_threads = 2});
    uint8_t want[SIZE * SIZE * 3];
    struct bytes jpeg = {0};

    assert_int_equal(s->n_samples, n);
    assert_int_equal(got.n_bad, 0);
    for (int i = 0; i < n; i++) {
        int64_t label;

        simple_jpeg(SIZE, SIZE, i, &jpeg);
        plain_decode(&jpeg, want);
        assert_memory_equal(pass_pixels(&got, i), want, sizeof(want));
        assert_int_equal(source_label(s, (uint64_t)i, &label), 0);
        assert_int_equal(label, i % 3);
    }
    pass_free(&got);
    source_close(s);
    bytes_release(&jpeg);
}

/* One file of records with the magic word at seeded places: aligned, odd, adjacent, at the ends, in
 * the ids. Our reader gives the pictures, and our writer writes the same bytes. */
static void test_c1_parts(void **state)
{
    enum { N = 200 };
    char *const dir = temp_dir(), *const prefix = file_join(dir, "b");
    char *const path = xasprintf("%s.rec", prefix);
    struct bytes file = {0}, record = {0}, payload = {0};
    struct recordio_writer *w;
    uint64_t seed = 1;
    int most = 0, whole = 0;
    char *ours;
    size_t n_ours;

    (void)state;
    assert_int_equal(recordio_writer_open(prefix, &w), 0);
    for (int i = 0; i < N; i++) {
        const float label = (float)(i % 3);
        const uint64_t id = word_inside(i, &seed, &payload);
        const struct recordio_entry entry = {
            .label = label, .id = id, .payload = payload.data, .n = payload.n};
        int parts;

        make_record(&record, 0, label, NULL, 0, id, &payload);
        parts = put_record(&file, &record);
        most = parts > most ? parts : most;
        whole += parts == 1;
        assert_int_equal(recordio_writer_add(w, entry), 0);
    }
    assert_int_equal(recordio_writer_commit(w, NULL), 0);
    assert_int_equal(file_read(path, 1 << 24, &ours, &n_ours), 0);
    assert_int_equal(n_ours, file.n);
    assert_memory_equal(ours, file.data, file.n);
    write_file(dir, "a.rec", file.data, file.n);
    check_joined(dir, N);
    assert_true(most >= 5 && whole >= 20);
    outcome("C1", N,
            "records with the magic word inside, in up to %d parts (%d stay whole): joined, pixels "
            "and labels right; our writer makes the same bytes",
            most, whole);
    free(path);
    free(ours);
    bytes_release(&file);
    bytes_release(&record);
    bytes_release(&payload);
    free(prefix);
    remove_dir(dir);
}

/* Parts that contradict each other, in the middle record of three; found when the file is opened,
 * or, where an index says that all is well, when the record is read. */
static void test_c1_broken_parts(void **state)
{
    static const uint32_t cflags[][3] = {{0, 0, 9}, {1, 1, 9}, {1, 0, 9}, {2, 3, 9}, {3, 9, 9},
                                         {1, 9, 9}, {1, 2, 9}, {4, 9, 9}, {7, 9, 9}, {1, 5, 9},
                                         {1, 2, 2}, {1, 2, 0}, {1, 3, 3}, {0, 3, 9}, {2, 9, 9}};
    struct bytes good = {0}, record = {0}, jpeg = {0};
    int n_read = 0;

    (void)state;
    simple_jpeg(SIZE, SIZE, 1, &jpeg);
    make_record(&record, 0, 1, NULL, 0, 1, &jpeg);
    put_record(&good, &record);
    for (size_t k = 0; k < COUNT_OF(cflags); k++) {
        char *const dir = temp_dir(), *const path = file_join(dir, "a.rec");
        struct bytes file = {0};
        struct source *s;
        char index[128];
        size_t last;

        bytes_add(&file, good.data, good.n);
        for (int i = 0; i < 3 && cflags[k][i] != 9; i++) {
            const uint32_t head[2] = {RECORDIO_MAGIC, cflags[k][i] << 29 | 24};

            bytes_add(&file, head, 8);
            bytes_add(&file, record.data, 24);
        }
        last = file.n;
        bytes_add(&file, good.data, good.n);
        write_file(dir, "a.rec", file.data, file.n);
        if (source_open(path, &s) ==
            0) { /* two whole records without a picture, where flags allow */
            struct pass got = pass_over_source(s, (struct pipeline_config){0});

            assert_int_equal(got.n_bad, s->n_samples - 2);
            pass_free(&got);
            source_close(s);
        } else {
            assert_reason_has("byte offset");
        }
        snprintf(index, sizeof(index), "0\t0\n1\t%zu\n2\t%zu\n", good.n, last);
        write_file(dir, "a.idx", index, strlen(index));
        assert_int_equal(source_open(path, &s), E_DATA);
        assert_reason_has("entries checked");
        bytes_release(&file);
        free(path);
        remove_dir(dir);
        n_read++;
    }
    outcome("C1", n_read, "part flags in an order that can not be: refused with the byte offset");
    bytes_release(&good);
    bytes_release(&record);
    bytes_release(&jpeg);
}

enum { N_INDEXED = 12 };

/* Records of different lengths; offset[i] is where record i starts. */
static void write_records(const char *dir, int n, size_t *offset)
{
    struct bytes file = {0}, record = {0}, jpeg = {0};

    simple_jpeg(SIZE, SIZE, 1, &jpeg);
    for (int i = 0; i < n; i++) {
        offset[i] = file.n;
        make_record(&record, 0, (float)(i % 3), NULL, 0, (uint64_t)i, &jpeg);
        bytes_resize(&record, record.n + (size_t)(i % 7)); /* bytes behind the end are harmless */
        memset(record.data + record.n - i % 7, 0, (size_t)(i % 7));
        put_record(&file, &record);
    }
    offset[n] = file.n;
    write_file(dir, "a.rec", file.data, file.n);
    bytes_release(&file);
    bytes_release(&record);
    bytes_release(&jpeg);
}

/* An index in every spelling that people write, or wrong in every way that was seen: kind k, with
 * entry at chosen by a seed. Returns 1 when it is right. */
static int make_index(int k, const size_t *offset, uint64_t *seed, struct str *out)
{
    static const int n_right = 8;
    const int at = 1 + draw(seed, N_INDEXED - 2), turned = draw(seed, 2);

    for (int j = 0; j < N_INDEXED; j++) {
        const int i = k == 1 || turned ? N_INDEXED - 1 - j : j;
        const char *const end = k == 2 ? "\r\n" : k == 4 && j == N_INDEXED - 1 ? "" : "\n";
        const char *const gap = k == 5 ? " " : k == 6 ? "   \t " : "\t";
        long long value = (long long)offset[i];

        if (k == n_right && i == at)
            continue; /* lacks one */
        if (i == at) {
            value += k == n_right + 1   ? 4
                     : k == n_right + 2 ? -4
                     : k == n_right + 3 ? 1
                     : k == n_right + 4 ? (long long)offset[N_INDEXED]
                                        : 0;
            value = k == n_right + 5 ? -1 : value;
        }
        if (k == n_right + 6 && i == at)
            str_printf(out, "%d%s%s%s", i, gap, "18446744073709551615", end);
        else if (k == n_right + 7 && i == at)
            str_printf(out, "%d%s%s%s", i, gap, "kitten", end);
        else if (k == n_right + 8)
            str_printf(out, "%zu%s%d%s", offset[i], gap, i, end);
        else if (k == n_right + 9)
            str_printf(out, "%zu%s", offset[i], end);
        else if (k == 7)
            str_printf(out, "n%08d_%d.JPEG%s%lld%s", i, i, gap, value, end);
        else
            str_printf(out, "%d%s%lld%s", i, gap, value, end);
        if (k == n_right + 10 && i == at)
            str_printf(out, "%d%s%lld%s", i, gap, value, end);
    }
    if (k == 3)
        str_add(out, "\n\n");
    if (k == n_right + 11)
        str_reset(out);
    if (k == n_right + 12)
        str_printf(out, "%d\t%zu\n", N_INDEXED, offset[N_INDEXED]);
    return k < n_right;
}

static void test_c2_indexes(void **state)
{
    enum { KINDS = 21, EACH = 6 };
    uint64_t seed = 2;
    int n_right = 0;

    (void)state;
    for (int i = 0; i < KINDS * EACH; i++) {
        char *const dir = temp_dir(), *const path = file_join(dir, "a.rec");
        size_t offset[N_INDEXED + 1];
        struct str index = STR_INIT;
        struct recordio_rebuilt r;
        struct source *s;
        int right;

        write_records(dir, N_INDEXED, offset);
        right = make_index(i % KINDS, offset, &seed, &index);
        write_file(dir, "a.idx", index.s, index.len);
        if (!right) {
            assert_int_equal(source_open(path, &s), E_DATA);
            assert_reason_has("a.idx");
            assert_reason_has("stave prepare --index makes it anew");
        }
        assert_int_equal(recordio_index_rebuild(path, &r), 0);
        assert_int_equal(r.n_records, N_INDEXED);
        if (right)
            assert_true(r.had_index && r.n_missing == 0 && r.n_superfluous == 0);
        else
            assert_true(!r.had_index || r.n_missing + r.n_superfluous > 0);
        s = open_source(path);
        assert_int_equal(s->n_samples, N_INDEXED);
        source_close(s);
        n_right += right;
        str_release(&index);
        free(path);
        remove_dir(dir);
    }
    outcome("C2", KINDS * EACH,
            "%d indexes spelt in other ways (order, CRLF, blank lines, spaces, names as keys): "
            "taken; %d wrong ones: refused at start with a count or line; all mended by "
            "`stave prepare W --index`",
            n_right, KINDS * EACH - n_right);
}

/* More entries than are looked at: a lost one is found when the record before it is read. */
static void test_c2_large_index(void **state)
{
    enum { N = 9000, LOST = 4321 };
    char *const dir = temp_dir(), *const path = file_join(dir, "a.rec");
    size_t *const offset = xcalloc(N + 1, sizeof(*offset));
    struct str index = STR_INIT;
    struct bytes file = {0}, record = {0}, payload = {0};
    struct recordio_rebuilt r;
    struct source *s;
    struct sample got = {0};
    int n_refused = 0;

    (void)state;
    bytes_add(&payload, "tiny", 4);
    for (int i = 0; i < N; i++) {
        if (i != LOST)
            str_printf(&index, "%d\t%zu\n", i, file.n);
        make_record(&record, 0, 0, NULL, 0, 0, &payload);
        put_record(&file, &record);
    }
    write_file(dir, "a.rec", file.data, file.n);
    write_file(dir, "a.idx", index.s, index.len);
    s = open_source(path);
    for (uint64_t i = 0; i < s->n_samples; i++)
        if (source_read(s, i, &got) < 0) {
            assert_int_equal(i, LOST - 1);
            assert_reason_has("an entry is missing");
            n_refused++;
        }
    assert_int_equal(n_refused, 1);
    assert_int_equal(recordio_index_rebuild(path, &r), 0);
    assert_int_equal(r.n_missing, 1);
    assert_int_equal(r.n_superfluous, 0);
    outcome("C2", 1,
            "one of %d entries missing where the check at start does not look: a bad sample "
            "at its record; the rebuilt index says that 1 was missing",
            N);
    sample_release(&got);
    source_close(s);
    free(offset);
    str_release(&index);
    bytes_release(&file);
    bytes_release(&record);
    bytes_release(&payload);
    free(path);
    remove_dir(dir);
}

/* Records without a picture among the others, as some builders write for each class: they are in
 * the index, so they are samples, bad ones. */
static void test_c2_class_headers(void **state)
{
    char *const dir = temp_dir();
    struct bytes file = {0}, record = {0}, jpeg = {0}, empty = {0};
    struct source *s;
    struct pass got;

    (void)state;
    simple_jpeg(SIZE, SIZE, 1, &jpeg);
    for (int i = 0; i < 30; i++) {
        const float range[2] = {(float)i, (float)(i + 5)};

        make_record(&record, i % 6 ? 0 : 2, 0, range, i % 6 ? 0 : 2, 0, i % 6 ? &jpeg : &empty);
        put_record(&file, &record);
    }
    write_file(dir, "a.rec", file.data, file.n);
    s = open_rec(dir);
    got = pass_over_source(s, (struct pipeline_config){0});
    assert_int_equal(got.n_bad, 5);
    for (int i = 0; i < 30; i++)
        assert_reason(&got, i, i % 6 ? "" : "the file is empty");
    outcome("C2", 5,
            "records without a picture (\"class headers\") that the index lists: bad "
            "samples, named; the 25 pictures between them are right");
    pass_free(&got);
    source_close(s);
    bytes_release(&file);
    bytes_release(&record);
    bytes_release(&jpeg);
    remove_dir(dir);
}

/* The file is cut at a seeded place while batches are being made, and later grows back: no signal,
 * samples behind the cut are bad and named with their offset, those in front go on. */
static void test_c6_shrinking_file(void **state)
{
    enum { ROUNDS = 30 };
    uint64_t seed = 6, n_named = 0;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        char *const dir = temp_dir(), *const path = file_join(dir, "a.rec");
        size_t offset[N_INDEXED + 1];
        struct pipeline_config f;
        struct pipeline *p;
        struct source *s;
        char *bytes;
        size_t n;

        write_records(dir, N_INDEXED, offset);
        assert_int_equal(file_read(path, 1 << 24, &bytes, &n), 0);
        s = open_source(path);
        f = eval_config(s);
        f.batch_size = 4;
        p = open_pipeline(&f);
        for (int i = 0; i < 30; i++) {
            const struct batch *const b = next(p);

            if (i == 5)
                assert_int_equal(truncate(path, round ? draw(&seed, (int)n) : 0), 0);
            if (i == 18)
                write_file(dir, "a.rec", bytes, n);
            for (const struct bad_sample *bad; (bad = pipeline_bad_next(p)); n_named++) {
                char where[64];

                snprintf(where, sizeof(where), "byte offset %zu", offset[bad->index]);
                assert_non_null(strstr(bad->location, where));
                assert_non_null(strstr(bad->reason, "ends at byte"));
            }
            for (size_t k = 0; i > 23 && k < b->n_real; k++)
                assert_int_not_equal(labels(b)[k], -1); /* mended */
            pipeline_done(p, b);
        }
        assert_true(pipeline_bad_count(p) > 0);
        pipeline_close(p);
        source_close(s);
        free(bytes);
        free(path);
        remove_dir(dir);
    }
    outcome("C6", ROUNDS,
            "a .rec cut while it is read: no signal; %llu samples behind the cut named with their "
            "offset, and read again once the file is whole",
            (unsigned long long)n_named);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_c1_parts),         cmocka_unit_test(test_c1_broken_parts),
        cmocka_unit_test(test_c2_indexes),       cmocka_unit_test(test_c2_large_index),
        cmocka_unit_test(test_c2_class_headers), cmocka_unit_test(test_c6_shrinking_file),
    };

    return cmocka_run_group_tests_name("hard record files", tests, NULL, NULL);
}
