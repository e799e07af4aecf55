/* Damaged record files and archives, opened as far as they go: what is lost and what is not. */
#include "data/recordio.h"
#include "data/recordio_writer.h"
#include "verify_fixture.h"

enum { RECORDS = 12 };

/* DIR/NAME.rec and .idx; offset[i] is where record i starts, offset[RECORDS] the end. Behind every
 * third picture, where it does no harm, stands the magic word: such a record has two parts. */
static void put_records(const char *dir, const char *name, int seed, uint64_t *offset)
{
    char *const prefix = file_join(dir, name);
    const uint32_t magic = RECORDIO_MAGIC;
    struct recordio_writer *w;
    struct bytes b = {0};
    uint64_t at = 0;

    assert_int_equal(recordio_writer_open(prefix, &w), 0);
    for (int i = 0; i < RECORDS; i++) {
        simple_jpeg(30 + i, 30, seed + i, &b);
        while (i % 3 == 0 && b.n % 4)
            bytes_add(&b, "", 1);
        if (i % 3 == 0)
            bytes_add(&b, &magic, 4);
        assert_int_equal(recordio_writer_add(w, (struct recordio_entry){.label = (float)(i % 3),
                                                                        .id = (uint64_t)i,
                                                                        .payload = b.data,
                                                                        .n = b.n}),
                         0);
        offset[i] = at;
        at += RECORDIO_PART_BYTES + recordio_padded(RECORDIO_HEADER_BYTES + b.n);
        at += i % 3 == 0 ? RECORDIO_PART_BYTES - sizeof(magic) : 0;
    }
    offset[RECORDS] = at;
    assert_int_equal(recordio_writer_commit(w, NULL), 0);
    bytes_release(&b);
    free(prefix);
}

static void overwrite(const char *path, uint64_t at, const void *bytes, size_t n)
{
    const int fd = open(path, O_WRONLY);

    assert_true(fd >= 0 && pwrite(fd, bytes, n, (off_t)at) == (ssize_t)n);
    close(fd);
}

/* Opening is one finding, n_broken samples are others; every other record is as it was. */
static void check_records(const char *rec, uint64_t n_samples, uint64_t n_broken, const char *what)
{
    struct str said = STR_INIT;
    struct verify v = look(rec, 3, &said);

    if (v.n[VERIFY_DAMAGED] != 1 || v.split[0].source->n_samples != n_samples ||
        v.n[VERIFY_BROKEN] != n_broken || v.split[0].n_good != n_samples - n_broken)
        fail_msg("%s: %llu samples, %llu good\n%s", what,
                 (unsigned long long)v.split[0].source->n_samples,
                 (unsigned long long)v.split[0].n_good, said.s);
    assert_says(said.s, what);
    verify_release(&v);
    str_release(&said);
}

static void test_an_index_that_does_not_match(void **state)
{
    char *const dir = temp_dir(), *const rec = file_join(dir, "a.rec");
    uint64_t offset[RECORDS + 1];

    (void)state;
    put_records(dir, "a", 0, offset);
    write_file(dir, "a.idx", "0\t0\n1\t18446744073709551615\n", 27);
    check_records(rec, RECORDS, 0, "a.idx does not match ");
    write_file(dir, "a.idx", "0\t0\nkitten\tcat\n", 15);
    check_records(rec, RECORDS, 0, "a.idx line 2 is not ");
    write_file(dir, "a.idx", "", 0);
    check_records(rec, RECORDS, 0, "it has no entry for the record at byte 0");
    free(rec);
    remove_dir(dir);
}

/* Each kind of damage at each record costs that record and no other. What a length that is too
 * small leaves over is an entry of its own. */
static void test_damaged_records_cost_themselves(void **state)
{
    char *const dir = temp_dir(), *const rec = file_join(dir, "a.rec");
    const uint32_t short_part = 400, middle = 2u << 29 | 40;
    uint64_t offset[RECORDS + 1];

    (void)state;
    for (int i = 0; i < RECORDS; i++) {
        put_records(dir, "a", 0, offset);
        overwrite(rec, offset[i], "junk", 4);
        check_records(rec, RECORDS, 1, "does not match ");
        put_records(dir, "a", 0, offset);
        overwrite(rec, offset[i] + 4, &short_part, 4);
        check_records(rec, RECORDS + 1, 2, "does not match ");
        put_records(dir, "a", 0, offset);
        overwrite(rec, offset[i] + 4, &middle, 4);
        check_records(rec, RECORDS, 1, "does not match ");
        put_records(dir, "a", 0, offset);
        for (uint32_t k = 200; k < 1000000; k *= 50) {
            const uint32_t too_long = (uint32_t)(offset[i + 1] - offset[i]) + k;

            overwrite(rec, offset[i] + 4, &too_long, 4);
            check_records(rec, RECORDS, 1, "does not match ");
        }
    }
    put_records(dir, "a", 0, offset);
    assert_int_equal(truncate(rec, (off_t)offset[RECORDS] - 8), 0);
    check_records(rec, RECORDS, 1, "does not match ");
    assert_int_equal(truncate(rec, (off_t)offset[RECORDS - 1] + 4), 0);
    check_records(rec, RECORDS, 1, "does not match ");
    write_file(dir, "a.rec", "hello world, this is text", 25);
    check_records(rec, 1, 1, "does not match ");
    free(rec);
    remove_dir(dir);
}

static void test_an_archive_that_is_cut(void **state)
{
    char *const dir = temp_dir(), *const tar = file_join(dir, "a.tar");
    char *const pack =
        xasprintf("cd '%s' && tar -cf a.tar 0.jpg 0.cls 1.jpg 1.cls 2.jpg 2.cls", dir);
    struct str said = STR_INIT;
    struct stat st;
    struct verify v;

    (void)state;
    for (int i = 0; i < 3; i++) {
        char name[16];

        snprintf(name, sizeof(name), "%d.jpg", i);
        put_jpeg(dir, ".", name, 40, i);
        snprintf(name, sizeof(name), "%d.cls", i);
        write_file(dir, name, i == 1 ? "cat" : "1", i == 1 ? 3 : 1);
    }
    assert_int_equal(system(pack), 0);
    v = look(tar, 10, &said);
    assert_int_equal(v.n[VERIFY_LABEL], 1);
    assert_int_equal(v.split[0].n_decoded, 3);
    assert_says(said.s, "the label in its .cls is no whole number");
    verify_release(&v);
    assert_int_equal(stat(tar, &st), 0);
    assert_int_equal(truncate(tar, 3 * (512 + 2048)), 0); /* inside the third picture or before */
    v = look(tar, 10, &said);
    assert_int_equal(v.n[VERIFY_DAMAGED], 1);
    assert_true(v.split[0].n_good >= 1);
    assert_says(said.s, "a.tar, byte offset ");
    verify_release(&v);
    free(pack);
    free(tar);
    str_release(&said);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_index_that_does_not_match),
        cmocka_unit_test(test_damaged_records_cost_themselves),
        cmocka_unit_test(test_an_archive_that_is_cut),
    };

    return cmocka_run_group_tests_name("damaged sources opened", tests, NULL, NULL);
}
