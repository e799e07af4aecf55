/* Readers: the same samples and the same refusals from every one of them, whatever was said of the
 * samples to come. The bytes are compared with those the test wrote, the refusals with those of
 * source_read. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "alloc_count.h"
#include "base/page_cache.h"
#include "base/random.h"
#include "data/reader.h"
#include "data/recordio_writer.h"
#include "test_data_pipeline.h"

enum { N_RECORDS = 40, LARGEST = 300000 };

/* Record i: sizes at, before and behind the ends of blocks, an empty one, and large ones. */
static size_t size_of(uint64_t i)
{
    static const size_t odd[] = {0, 1, 511, 512, 513, 4095, 4096, 4097, LARGEST};

    return i < COUNT_OF(odd) ? odd[i] : (size_t)(random_mix(i) % 20000);
}

static struct bytes written[N_RECORDS];

static const struct bytes *payload(uint64_t i)
{
    struct bytes *const b = &written[i];

    if (b->n == size_of(i))
        return b;
    bytes_resize(b, size_of(i));
    for (size_t k = 0; k < b->n; k++)
        b->data[k] = (uint8_t)random_mix(i << 32 | k);
    return b;
}

static char *make_records(const char *dir)
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

static void make_folder(const char *dir)
{
    char name[64];

    make_dir(dir, "c");
    for (uint64_t i = 0; i < N_RECORDS; i++) {
        snprintf(name, sizeof(name), "c/%03d", (int)i);
        write_file(dir, name, payload(i)->data, size_of(i));
    }
}

/* In the format of POSIX. */
static void add_member(struct bytes *tar, const char *name, struct raw content)
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

/* One archive a record, so that there are more than a reader keeps open. */
static void make_archives(const char *dir)
{
    struct bytes tar = {0};
    char name[64];

    for (uint64_t i = 0; i < N_RECORDS; i++) {
        tar.n = 0;
        snprintf(name, sizeof(name), "%d", (int)i);
        add_member(&tar, "x.cls", (struct raw){(uint8_t *)name, strlen(name)});
        add_member(&tar, "x.jpg", (struct raw){payload(i)->data, size_of(i)});
        snprintf(name, sizeof(name), "%d.tar", (int)i);
        write_file(dir, name, tar.data, tar.n);
    }
    bytes_release(&tar);
}

enum layout { RECORDS, FOLDER, ARCHIVES, N_LAYOUTS };

static struct source *make_source(const char *dir, enum layout layout)
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

static struct reader *open_reader(const struct reader_config *c, const struct source *s)
{
    struct reader *r;

    if (reader_check(c, s) < 0 || reader_open(c, s, &r) < 0)
        fail_msg("%s", err_reason());
    return r;
}

/* The readers, each with looks ahead of several depths: config k, or 0 behind the last. */
static int config_at(size_t k, struct reader_config *c)
{
    static const int depths[] = {1, 3, 64};

    *c = (struct reader_config){.id = (enum reader_id)(k / 6),
                                .depth = depths[k % 3],
                                .readahead = (enum readahead)(k / 3 % 2)};
    return k / 6 < N_READERS;
}

static void assert_sample(struct reader *r, uint64_t i, enum layout layout)
{
    struct sample got = {0};

    if (reader_read(r, i, &got) < 0)
        fail_msg("%s", err_reason());
    assert_int_equal(got.n, size_of(i));
    assert_int_equal(got.label, layout == FOLDER ? 0 : (int64_t)i);
    if (got.n)
        assert_memory_equal(got.data, payload(i)->data, got.n);
}

/* A pass: told in chunks, read in order, with strangers in between and one twice. */
static void read_pass(struct reader *r, enum layout layout, uint64_t seed)
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

static void test_every_reader_gives_the_bytes_that_were_written(void **state)
{
    (void)state;
    for (enum layout layout = 0; layout < N_LAYOUTS; layout++) {
        char *const dir = temp_dir();
        struct source *const s = make_source(dir, layout);
        struct reader_config c;

        for (size_t k = 0; config_at(k, &c); k++) {
            struct reader *const r = open_reader(&c, s);

            for (uint64_t pass = 0; pass < 2; pass++)
                read_pass(r, layout, pass);
            reader_close(r);
        }
        source_close(s);
        remove_dir(dir);
    }
}

static void test_every_reader_gives_the_same_batches_and_bad_samples(void **state)
{
    char *const dir = mixed_folder(N_BAD);
    struct source *const s = open_source(dir);

    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        struct pipeline_config f = mode ? eval_config(s) : train_config(s);
        const uint64_t n = 2 * pipeline_steps_per_epoch(&f), want = stream_checksum(&f, n);
        struct reader_config c;

        for (size_t k = 0; config_at(k, &c); k++) {
            f.reader = c;
            f.n_threads = 1 + (int)(k % 3);
            f.prefetch = 1 + (int)(k % 4);
            assert_int_equal(stream_checksum(&f, n), want);
        }
    }
    source_close(s);
    remove_dir(dir);
}

/* A file that shrinks: the records that lie whole in what is left are read, the others are refused
 * in the words of source_read. Cut within a block and at its end. */
static void test_a_file_that_shrank_is_refused_alike(void **state)
{
    static const int cuts[] = {100000, 131072, 131073, 330240, 3, 0};
    char *const dir = temp_dir();
    struct source *const s = make_source(dir, RECORDS);
    char *const path = source_file(s, 0);
    struct reader_config c;

    (void)state;
    for (size_t cut = 0; cut < COUNT_OF(cuts); cut++) {
        int n_bad = 0;

        assert_int_equal(truncate(path, cuts[cut]), 0);
        for (size_t k = 0; config_at(k, &c); k++) {
            struct reader *const r = open_reader(&c, s);

            for (uint64_t i = 0; i < N_RECORDS; i++) {
                const uint64_t next[2] = {i, (i + 1) % N_RECORDS};
                struct sample want = {0}, got = {0};
                const int rc = source_read(s, i, &want);
                char *const reason = xstrdup(err_reason());

                n_bad += rc < 0;
                reader_expect(r, next, 2);
                assert_int_equal(reader_read(r, i, &got), rc);
                if (rc < 0)
                    assert_string_equal(err_reason(), reason);
                else
                    assert_memory_equal(got.data, want.data, want.n);
                free(reason);
                sample_release(&want);
            }
            reader_close(r);
        }
        assert_true(n_bad > 0);
    }
    free(path);
    source_close(s);
    remove_dir(dir);
}

/* What stands in a file's place since the listing: nothing, a folder, a pipe, too much. */
static void test_bad_files_concern_one_sample_and_are_refused_alike(void **state)
{
    char *const dir = temp_dir();
    struct source *const s = make_source(dir, FOLDER);
    char *path[4];
    struct reader_config c;

    (void)state;
    for (int i = 0; i < 4; i++) {
        path[i] = source_file(s, (uint64_t)(20 + 2 * i));
        assert_int_equal(unlink(path[i]), 0);
    }
    assert_int_equal(mkdir(path[1], 0777), 0);
    assert_int_equal(mkfifo(path[2], 0666), 0);
    write_file(dir, "c/026", "", 0);
    assert_int_equal(truncate(path[3], (off_t)SOURCE_MAX_SAMPLE_BYTES + 1), 0);
    for (size_t k = 0; config_at(k, &c); k++) {
        struct reader *const r = open_reader(&c, s);
        const uint64_t all[8] = {20, 21, 22, 23, 24, 25, 26, 27};

        reader_expect(r, all, 8);
        for (uint64_t i = 20; i < 28; i++) {
            struct sample want = {0}, got = {0};

            if (i % 2) {
                assert_sample(r, i, FOLDER);
                continue;
            }
            const int rc = source_read(s, i, &want);
            char *const reason = xstrdup(err_reason());

            assert_true(rc < 0);
            assert_true(reader_read(r, i, &got) < 0);
            assert_string_equal(err_reason(), reason);
            free(reason);
            sample_release(&want);
        }
        reader_close(r);
    }
    for (int i = 0; i < 4; i++)
        free(path[i]);
    source_close(s);
    remove_dir(dir);
}

static int n_open_files(void)
{
    int n = 0;

    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void test_open_files_stay_within_their_share(void **state)
{
    char *const dir = temp_dir();
    struct source *const archives = make_source(dir, ARCHIVES);
    struct reader_config c;
    struct rlimit saved, tight;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &saved), 0);
    for (int limit = 64; limit <= 1024; limit += 960)
        for (size_t k = 0; config_at(k, &c); k++) {
            const int before = n_open_files();
            struct reader *r;

            tight = (struct rlimit){(rlim_t)limit, saved.rlim_max};
            assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
            r = open_reader(&c, archives);
            for (uint64_t i = 0; i < N_RECORDS; i++) {
                reader_expect(r, &i, 1);
                assert_sample(r, i, ARCHIVES);
                assert_in_range(n_open_files() - before, 0, limit / 4 + 1); /* and the ring */
            }
            reader_close(r);
            assert_int_equal(n_open_files(), before);
            assert_int_equal(setrlimit(RLIMIT_NOFILE, &saved), 0);
        }
    source_close(archives);
    remove_dir(dir);
}

static void test_nothing_is_allocated_once_warm(void **state)
{
    (void)state;
    for (enum layout layout = 0; layout < N_LAYOUTS; layout++) {
        char *const dir = temp_dir();
        struct source *const s = make_source(dir, layout);
        struct reader_config c;

        for (size_t k = 0; config_at(k, &c); k++) {
            struct reader *const r = open_reader(&c, s);
            uint64_t every[64];
            long before;

            for (int i = 0; i < 64; i++)
                every[i] = 8; /* the largest, into every place */
            reader_expect(r, every, 64);
            for (int i = 0; i < 130; i++)
                assert_sample(r, 8, layout);
            before = alloc_count;
            read_pass(r, layout, 1);
            assert_int_equal(alloc_count - before, 0);
            reader_close(r);
        }
        source_close(s);
        remove_dir(dir);
    }
}

/* Too large to be read ahead by any number of places: one piece of memory serves them all. */
static void test_large_samples_come_one_at_a_time(void **state)
{
    enum { N = READER_AHEAD_BYTES + 5 };
    uint8_t *const bytes = xcalloc(1, N);
    char *const dir = temp_dir();
    const uint64_t both[4] = {0, 1, 0, 1};
    struct source *s;
    struct reader_config c;

    (void)state;
    make_dir(dir, "c");
    write_file(dir, "c/0", bytes, N);
    bytes[N - 1] = 7;
    write_file(dir, "c/1", bytes, N);
    s = open_source(dir);
    for (size_t k = 0; config_at(k, &c); k++) {
        struct reader *const r = open_reader(&c, s);
        long before = 0;

        for (int round = 0; round < 3; round++) {
            if (round == 1)
                before = alloc_count;
            reader_expect(r, both, 4);
            for (int i = 0; i < 4; i++) {
                struct sample got = {0};

                assert_int_equal(reader_read(r, both[i], &got), 0);
                assert_int_equal(got.n, N);
                assert_int_equal(got.data[N - 1], both[i] ? 7 : 0);
            }
        }
        assert_int_equal(alloc_count - before, 0);
        reader_close(r);
    }
    source_close(s);
    remove_dir(dir);
    free(bytes);
}

/* What was told and never read: closing waits for it. */
static void test_closing_with_reads_under_way(void **state)
{
    char *const dir = temp_dir();
    struct source *const s = make_source(dir, FOLDER);
    struct reader_config c;
    uint64_t all[N_RECORDS];

    (void)state;
    for (uint64_t i = 0; i < N_RECORDS; i++)
        all[i] = i;
    for (size_t k = 0; config_at(k, &c); k++) {
        const int before = n_open_files();
        struct reader *r = open_reader(&c, s);

        reader_expect(r, all, N_RECORDS);
        reader_expect(r, all, N_RECORDS); /* more than it remembers */
        reader_close(r);
        r = open_reader(&c, s);
        reader_expect(r, all, N_RECORDS);
        assert_sample(r, 39, FOLDER);
        reader_close(r);
        assert_int_equal(n_open_files(), before);
    }
    reader_close(NULL);
    source_close(s);
    remove_dir(dir);
}

/* proc has no O_DIRECT. */
static int proc_extent(const struct source *s, uint64_t i, struct extent *out)
{
    (void)s;
    (void)i;
    out->path = "/proc/version";
    out->n = 4;
    return 0;
}

static void test_a_file_system_without_o_direct_is_named(void **state)
{
    static const struct source_ops ops = {.extent = proc_extent};
    char path[] = "proc";
    const struct source s = {.ops = &ops, .path = path, .n_samples = 1, .n_files = 1};
    struct reader_config c = {.id = READER_direct};

    (void)state;
    assert_int_equal(reader_check(&c, &s), E_UNSUPPORTED);
    assert_string_equal(err_reason(),
                        "/proc/version lies on a file system that can not be read past the page "
                        "cache (O_DIRECT); take the reader pread or uring");
    c.id = READER_uring_direct;
    assert_int_equal(reader_check(&c, &s), E_UNSUPPORTED);
    c.id = READER_pread;
    assert_int_equal(reader_check(&c, &s), 0);
}

/* As a container does it: the system call comes back with EPERM. */
static void refuse_io_uring(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {COUNT_OF(code), code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        _exit(10);
}

static int exit_without_io_uring(const struct pipeline_config *f)
{
    static const char want[] =
        "io_uring can not be used here (Operation not permitted): the kernel, "
        "its setting kernel.io_uring_disabled or the container does not allow "
        "it; take another reader, such as pread or direct";
    struct pipeline_config other = *f;
    struct pipeline *p = NULL;

    refuse_io_uring();
    if (pipeline_open(f, &p) != E_UNSUPPORTED || p)
        return 1;
    if (strcmp(err_reason(), want) != 0)
        return 2;
    other.reader.id = READER_direct;
    if (pipeline_open(&other, &p) < 0)
        return 3;
    pipeline_close(p);
    return 0;
}

static void test_a_container_without_io_uring_is_named_at_the_start(void **state)
{
    char *const dir = mixed_folder(0);
    struct source *const s = open_source(dir);
    struct pipeline_config f = train_config(s);
    int status;
    pid_t child;

    (void)state;
    f.reader.id = READER_uring;
    child = fork();
    if (child == 0)
        _exit(exit_without_io_uring(&f));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    source_close(s);
    remove_dir(dir);
}

/* The page cache tells: of an empty one, what was asked for and nothing else comes back. */
static uint64_t resident(const char *path)
{
    struct page_cache_share share = {0};
    const int fd = file_open(path);

    assert_true(fd >= 0);
    assert_int_equal(page_cache_measure(fd, path, &share), 0);
    close(fd);
    return share.resident;
}

static void forget(const char *path)
{
    const int fd = file_open(path);

    assert_true(fd >= 0);
    assert_int_equal(page_cache_forget(fd, path), 0);
    close(fd);
}

static void test_direct_readers_leave_the_page_cache_empty(void **state)
{
    char *const dir = temp_dir(); /* on a disk, or there is nothing to see */
    struct source *const s = make_source(dir, RECORDS);
    char *const path = source_file(s, 0);

    (void)state;
    forget(path);
    if (resident(path) == 0)
        for (enum reader_id id = 0; id < N_READERS; id++) {
            const struct reader_config c = {.id = id};
            struct reader *const r = open_reader(&c, s);
            const int direct = id == READER_direct || id == READER_uring_direct;

            forget(path);
            read_pass(r, RECORDS, 1);
            assert_true((resident(path) == 0) == direct);
            reader_close(r);
        }
    free(path);
    source_close(s);
    remove_dir(dir);
}

/* Told and never read, samples come into the page cache all the same. */
static void test_told_samples_are_read_ahead(void **state)
{
    char *const dir = temp_dir();
    struct source *const s = make_source(dir, RECORDS);
    char *const path = source_file(s, 0);
    const uint64_t largest = 8;

    (void)state;
    forget(path);
    if (resident(path) == 0)
        for (int told = 0; told < 3; told++) {
            const struct reader_config c = {.id = told == 2 ? READER_uring : READER_pread,
                                            .readahead = (enum readahead)(told == 1)};
            struct reader *const r = open_reader(&c, s);

            forget(path);
            reader_expect(r, &largest, 1);
            for (int i = 0; i < 1000 && told && resident(path) < LARGEST; i++)
                usleep(1000);
            if (told)
                assert_true(resident(path) >= LARGEST);
            else
                assert_int_equal(resident(path), 0);
            reader_close(r);
        }
    free(path);
    source_close(s);
    remove_dir(dir);
}

static int release_written(void **state)
{
    (void)state;
    for (int i = 0; i < N_RECORDS; i++)
        bytes_release(&written[i]);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_reader_gives_the_bytes_that_were_written),
        cmocka_unit_test(test_every_reader_gives_the_same_batches_and_bad_samples),
        cmocka_unit_test(test_a_file_that_shrank_is_refused_alike),
        cmocka_unit_test(test_bad_files_concern_one_sample_and_are_refused_alike),
        cmocka_unit_test(test_open_files_stay_within_their_share),
        cmocka_unit_test(test_nothing_is_allocated_once_warm),
        cmocka_unit_test(test_large_samples_come_one_at_a_time),
        cmocka_unit_test(test_closing_with_reads_under_way),
        cmocka_unit_test(test_a_file_system_without_o_direct_is_named),
        cmocka_unit_test(test_a_container_without_io_uring_is_named_at_the_start),
        cmocka_unit_test(test_direct_readers_leave_the_page_cache_empty),
        cmocka_unit_test(test_told_samples_are_read_ahead),
    };

    alloc_count_begin();
    return cmocka_run_group_tests(tests, NULL, release_written);
}
