/* What readers take and leave: open files, memory, the page cache, and what a machine may refuse.
 */
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
#include "reader_fixture.h"

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
    uint64_t all[N_RECORDS];

    (void)state;
    for (uint64_t i = 0; i < N_RECORDS; i++)
        all[i] = i * 2 % N_RECORDS + (i >= N_RECORDS / 2); /* one of each archive, then the other */
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &saved), 0);
    for (int limit = 64; limit <= 1024; limit += 960)
        for (size_t k = 0; config_at(k, &c); k++) {
            const int before = n_open_files();
            struct reader *r;

            tight = (struct rlimit){(rlim_t)limit, saved.rlim_max};
            assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
            r = open_reader(&c, archives);
            reader_expect(r, all, N_RECORDS);
            for (uint64_t i = 0; i < N_RECORDS; i++) {
                assert_sample(r, all[i], ARCHIVES);
                assert_in_range(n_open_files() - before, 0, limit / 4 + 1); /* and the ring */
            }
            reader_close(r);
            assert_int_equal(n_open_files(), before);
            assert_int_equal(setrlimit(RLIMIT_NOFILE, &saved), 0);
        }
    source_close(archives);
    remove_dir(dir);
}

static void test_reading_without_a_reader_leaves_no_file_open(void **state)
{
    (void)state;
    for (enum layout layout = 0; layout < N_LAYOUTS; layout++) {
        char *const dir = temp_dir();
        struct source *const s = make_source(dir, layout);
        const int before = n_open_files();
        struct sample got = {0};

        for (uint64_t i = 0; i < N_RECORDS; i++)
            assert_int_equal(source_read(s, i, &got), 0);
        assert_int_equal(n_open_files(), before);
        sample_release(&got);
        source_close(s);
        remove_dir(dir);
    }
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

/* Pictures that no library decodes (those allocate), of several shapes and one size. */
static char *plain_pictures(void)
{
    static const int shapes[5][2] = {{48, 36}, {36, 48}, {64, 27}, {27, 64}, {72, 24}};
    char *const dir = temp_dir();
    struct bytes b = {0};

    make_dir(dir, "c");
    for (int i = 0; i < N_GOOD; i++) {
        const int *const side = shapes[i % 5];
        char text[64];

        snprintf(text, sizeof(text), "P6 %d %d 255\n", side[0], side[1]);
        b.n = 0;
        bytes_add(&b, text, strlen(text));
        bytes_resize(&b, b.n + (size_t)(side[0] * side[1] * 3));
        memset(b.data + strlen(text), i, b.n - strlen(text));
        snprintf(text, sizeof(text), "c/%02d.ppm", i);
        write_file(dir, text, b.data, b.n);
    }
    bytes_release(&b);
    return dir;
}

/* Allocations of a loader thread and the reader of its batches, in two epochs behind twenty. */
static long allocations_once_warm(const struct pipeline_config *f)
{
    const uint64_t epoch = pipeline_steps_per_epoch(f);
    struct pipeline *const p = open_pipeline(f);
    long before = 0, n;

    for (uint64_t i = 0; i < 22 * epoch; i++) {
        if (i == 20 * epoch)
            before = alloc_count;
        pipeline_done(p, next(p));
    }
    n = alloc_count - before;
    pipeline_close(p);
    return n;
}

static void test_a_pipeline_allocates_nothing_once_warm(void **state)
{
    char *const dir = plain_pictures();
    struct source *const s = open_source(dir);
    struct reader_config c;

    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        struct pipeline_config f = mode ? eval_config(s) : train_config(s);

        f.n_threads = 1;
        f.train.area_min = f.train.area_max = 1.0; /* the largest crop comes early */
        for (size_t k = 0; config_at(k, &c); k++) {
            f.reader = c;
            assert_int_equal(allocations_once_warm(&f), 0);
        }
    }
    source_close(s);
    remove_dir(dir);
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

static void test_readers_past_the_page_cache_leave_it_empty(void **state)
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
            const int leaves = id == READER_pread || id == READER_uring;

            forget(path);
            read_pass(r, RECORDS, 1);
            assert_true((resident(path) > 0) == leaves);
            reader_close(r);
        }
    free(path);
    source_close(s);
    remove_dir(dir);
}

/* Whether a sample that is told and never read comes into the page cache all the same. */
static int reads_ahead(const struct reader_config *c, const struct source *s, const char *path)
{
    struct reader *const r = open_reader(c, s);
    const uint64_t largest = 8;
    int ahead;

    forget(path);
    reader_expect(r, &largest, 1);
    ahead = reader_looks_ahead(r);
    for (int i = 0; i < 1000 && ahead && resident(path) < LARGEST; i++)
        usleep(1000);
    assert_true(ahead ? resident(path) >= LARGEST : resident(path) == 0);
    reader_close(r);
    return ahead;
}

/* Left to itself, pread reads ahead what the system can not foresee. */
static void test_told_samples_are_read_ahead(void **state)
{
    char *const dir = temp_dir(), *const other = temp_dir(); /* on a disk, or there is nothing to
                                                                see */
    struct source *const records = make_source(dir, RECORDS);
    struct source *const folder = make_source(other, FOLDER);
    char *const path = source_file(records, 0), *const file = source_file(folder, 8);
    struct reader_config c = {0};

    (void)state;
    forget(path);
    if (resident(path) == 0) {
        assert_true(reads_ahead(&c, records, path));
        assert_true(reads_ahead(&c, folder, file));
        c.in_order = 1;
        assert_false(reads_ahead(&c, records, path));
        assert_true(reads_ahead(&c, folder, file));
        c.readahead = READAHEAD_SAMPLES;
        assert_true(reads_ahead(&c, records, path));
        c = (struct reader_config){.readahead = READAHEAD_NONE};
        assert_false(reads_ahead(&c, records, path));
        c.id = READER_uring;
        assert_true(reads_ahead(&c, records, path));
    }
    free(path);
    free(file);
    source_close(records);
    source_close(folder);
    remove_dir(dir);
    remove_dir(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_files_stay_within_their_share),
        cmocka_unit_test(test_reading_without_a_reader_leaves_no_file_open),
        cmocka_unit_test(test_nothing_is_allocated_once_warm),
        cmocka_unit_test(test_a_pipeline_allocates_nothing_once_warm),
        cmocka_unit_test(test_large_samples_come_one_at_a_time),
        cmocka_unit_test(test_closing_with_reads_under_way),
        cmocka_unit_test(test_a_file_system_without_o_direct_is_named),
        cmocka_unit_test(test_a_container_without_io_uring_is_named_at_the_start),
        cmocka_unit_test(test_readers_past_the_page_cache_leave_it_empty),
        cmocka_unit_test(test_told_samples_are_read_ahead),
    };

    alloc_count_begin();
    return cmocka_run_group_tests(tests, NULL, release_written);
}
