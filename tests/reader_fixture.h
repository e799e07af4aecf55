/* Samples whose every byte the test knows, in a data set of each layout, and shorthands for
 * readers. */
#ifndef STAVE_TESTS_READER_FIXTURE_H
#define STAVE_TESTS_READER_FIXTURE_H

#include "base/random.h"
#include "data/reader.h"
#include "data/recordio_writer.h"
#include "test_data_pipeline.h"

enum { N_RECORDS = 40, LARGEST = 300000 };

/* Record i: sizes at, before and behind the ends of blocks, an empty one, and large ones. */
UNUSED_FUNCTION size_t size_of(uint64_t i)
{
    static const size_t odd[] = {0, 1, 511, 512, 513, 4095, 4096, 4097, LARGEST};

    return i < COUNT_OF(odd) ? odd[i] : (size_t)(random_mix(i) % 20000);
}

static struct bytes written[N_RECORDS];

UNUSED_FUNCTION const struct bytes *payload(uint64_t i)
{
    struct bytes *const b = &written[i];

    if (b->n == size_of(i))
        return b;
    bytes_resize(b, size_of(i));
    for (size_t k = 0; k < b->n; k++)
        b->data[k] = (uint8_t)random_mix(i << 32 | k);
    return b;
}

UNUSED_FUNCTION char *make_records(const char *dir)
{
    char *const prefix = file_join(dir, "a"), *const path = file_join(dir, "a.rec");
    struct recordio_writer *w;
    struct recordio_totals totals;

    assert_int_equal(recordio_writer_open(prefix, &w), 0);
    for (uint64_t i = 0; i < N_RECORDS; i++) {
        const struct recordio_entry e = {
            .label = (float)i, .payload = payload(i)->data, .n = size_of(i)};

        assert_int_equal(recordio_writer_add(w, e), 0);
    }
    assert_int_equal(recordio_writer_commit(w, &totals), 0);
    free(prefix);
    return path;
}

UNUSED_FUNCTION void make_folder(const char *dir)
{
    char name[64];

    make_dir(dir, "c");
    for (uint64_t i = 0; i < N_RECORDS; i++) {
        snprintf(name, sizeof(name), "c/%03d", (int)i);
        write_file(dir, name, payload(i)->data, size_of(i));
    }
}

/* In the format of POSIX. */
UNUSED_FUNCTION void add_member(struct bytes *tar, const char *name, struct raw content)
{
    char head[512] = "";
    unsigned sum = 0;

    snprintf(head, 100, "%s", name);
    snprintf(head + 100, 8, "0000644");
    snprintf(head + 124, 12, "%011o", (unsigned)content.n);
    snprintf(head + 136, 12, "00000000000");
    memset(head + 148, ' ', 8);
    head[156] = '0';
    memcpy(head + 257, "ustar\00000", 8);
    for (int k = 0; k < 512; k++)
        sum += (unsigned char)head[k];
    snprintf(head + 148, 8, "%06o", sum);
    bytes_add(tar, head, sizeof(head));
    bytes_add(tar, content.data, content.n);
    while (tar->n % 512)
        bytes_add(tar, "", 1);
}

/* Two records an archive, so that there are more archives than a reader keeps open. */
UNUSED_FUNCTION void make_archives(const char *dir)
{
    struct bytes tar = {0};
    char name[64];

    for (uint64_t i = 0; i < N_RECORDS; i++) {
        snprintf(name, sizeof(name), "%d", (int)i);
        add_member(&tar, i % 2 ? "y.cls" : "x.cls", (struct raw){(uint8_t *)name, strlen(name)});
        add_member(&tar, i % 2 ? "y.jpg" : "x.jpg", (struct raw){payload(i)->data, size_of(i)});
        snprintf(name, sizeof(name), "%d.tar", (int)i / 2);
        if (i % 2 == 0)
            continue;
        write_file(dir, name, tar.data, tar.n);
        tar.n = 0;
    }
    bytes_release(&tar);
}

enum layout { RECORDS, FOLDER, ARCHIVES, N_LAYOUTS };

UNUSED_FUNCTION struct source *make_source(const char *dir, enum layout layout)
{
    char *path = NULL;
    struct source *s;

    if (layout == RECORDS)
        path = make_records(dir);
    else if (layout == FOLDER)
        make_folder(dir);
    else
        make_archives(dir);
    s = open_source(path ? path : dir);
    free(path);
    assert_int_equal(s->n_samples, N_RECORDS);
    return s;
}

UNUSED_FUNCTION struct reader *open_reader(const struct reader_config *c, const struct source *s)
{
    struct reader *r;

    if (reader_check(c, s) < 0 || reader_open(c, s, &r) < 0)
        fail_msg("%s", err_reason());
    return r;
}

/* The readers, each with looks ahead of several depths: config k, or 0 behind the last. */
UNUSED_FUNCTION int config_at(size_t k, struct reader_config *c)
{
    static const int depths[] = {1, 3, 64};

    *c = (struct reader_config){.id = (enum reader_id)(k / 6),
                                .depth = depths[k % 3],
                                .readahead = k / 3 % 2 ? READAHEAD_SAMPLES : READAHEAD_NONE};
    return k / 6 < N_READERS;
}

UNUSED_FUNCTION void assert_sample(struct reader *r, uint64_t i, enum layout layout)
{
    const uint64_t before = reader_asked_bytes();
    struct sample got = {0};

    if (reader_read(r, i, &got) < 0)
        fail_msg("%s", err_reason());
    /* Around a picture stand at most the words of its record or archive. */
    assert_in_range(reader_asked_bytes() - before, size_of(i),
                    size_of(i) + (layout == FOLDER ? 0 : 512));
    assert_int_equal(got.n, size_of(i));
    assert_int_equal(got.label, layout == FOLDER ? 0 : (int64_t)i);
    if (got.n)
        assert_memory_equal(got.data, payload(i)->data, got.n);
}

/* A pass: told in chunks, read in order, with strangers in between and one twice. */
UNUSED_FUNCTION void read_pass(struct reader *r, enum layout layout, uint64_t seed)
{
    const struct random_key key = {seed, RANDOM_SHUFFLE, 0};
    uint64_t order[N_RECORDS];

    for (uint64_t i = 0; i < N_RECORDS; i++)
        order[i] = random_permute(key, N_RECORDS, i);
    for (size_t i = 0; i < N_RECORDS; i++) {
        if (i % 8 == 0)
            reader_expect(r, order + i, N_RECORDS - i < 8 ? N_RECORDS - i : 8);
        assert_sample(r, order[i], layout);
        if (i % 5 == 0)
            assert_sample(r, order[(i + 3) % N_RECORDS], layout);
    }
}

UNUSED_FUNCTION int release_written(void **state)
{
    (void)state;
    for (int i = 0; i < N_RECORDS; i++)
        bytes_release(&written[i]);
    return 0;
}

#endif
