/* Clearing the cache of file contents, and the truth about it. Files of the test's own are cleared
 * one by one; the machine's whole cache is left alone. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "base/page_cache.h"
#include "data/cache_clear.h"
#include "run_fixture.h"
#include "scratch.h"

enum { PAGES = 64, TMPFS = 0x01021994 };

static int is_in_memory(const char *dir)
{
    struct statfs fs;

    return statfs(dir, &fs) == 0 && fs.f_type == TMPFS;
}

/* A file of PAGES pages and a bit, on the disk and in memory. */
static char *make_file(const char *dir, size_t *n)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *const bytes = xcalloc(PAGES, page), *path;

    *n = (PAGES - 1) * page + 100;
    path = scratch_bytes(dir, "bytes", bytes, *n);
    free(bytes);
    return path;
}

static struct page_cache_share share_of(int fd, const char *path)
{
    struct page_cache_share s = {0};

    assert_int_equal(page_cache_measure(fd, path, &s), 0);
    return s;
}

static void written_forgotten_and_read_again(void **state)
{
    size_t n;
    char *const path = make_file(*state, &n), byte;
    const int fd = open(path, O_RDONLY);
    struct page_cache_share s = share_of(fd, path);

    if (is_in_memory(*state))
        skip();
    assert_int_equal(s.bytes, n);
    assert_int_equal(s.resident, n);
    assert_int_equal(page_cache_forget(fd, path), 0); /* not yet on the disk: it is written first */
    s = share_of(fd, path);
    assert_int_equal(s.bytes, n);
    assert_int_equal(s.resident, 0);
    assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), 0); /* no reading ahead */
    assert_int_equal(pread(fd, &byte, 1, 5 * sysconf(_SC_PAGESIZE)), 1);
    s = share_of(fd, path);
    assert_int_equal(s.resident, sysconf(_SC_PAGESIZE));
    assert_int_equal(pread(fd, &byte, 1, (off_t)n - 1), 1); /* the last page counts to the end */
    s = share_of(fd, path);
    assert_int_equal(s.resident, sysconf(_SC_PAGESIZE) + 100);
    close(fd);
    free(path);
}

/* What stays: pages that are mapped and locked elsewhere. */
static void held_pages_are_seen(void **state)
{
    size_t n;
    char *const path = make_file(*state, &n);
    const int fd = open(path, O_RDONLY);
    void *const map = mmap(NULL, n, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);

    assert_true(map != MAP_FAILED);
    assert_int_equal(page_cache_forget(fd, path), 0);
    assert_int_equal(share_of(fd, path).resident, n);
    munmap(map, n);
    close(fd);
    free(path);
}

/* Another user's file that this one may only read: the system would call all of it resident. */
static void not_ours_to_see(void **state)
{
    size_t n;
    char *const path = make_file(*state, &n);
    int status;
    pid_t pid;

    if (getuid() != 0)
        skip();
    assert_int_equal(chmod(*state, 0755), 0);
    assert_int_equal(chmod(path, 0644), 0);
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        struct page_cache_share s = {0};
        const int fd = setgid(65534) == 0 && setuid(65534) == 0 ? open(path, O_RDONLY) : -1;
        _exit(fd >= 0 && page_cache_measure(fd, path, &s) == E_UNSUPPORTED && s.bytes == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    free(path);
}

/* ---- a data set ---- */

static struct source *open_records(const char *dir)
{
    struct source *s;

    run_data(dir, "train", RUN_TRAIN, NULL);
    assert_int_equal(source_open_split(dir, "train", &s), 0);
    return s;
}

static void data_set_is_cleared(void **state)
{
    struct source *const s = open_records(*state);
    const struct source *const both[] = {NULL, s};
    struct cache_clear c;

    if (is_in_memory(*state))
        skip();
    cache_clear(both, COUNT_OF(both), CACHE_CLEAR_FILES, &c);
    assert_true(c.done);
    assert_string_equal(c.how, "posix_fadvise");
    assert_int_equal(c.n_measured, 1);
    assert_true(c.share.bytes > 0);
    assert_int_equal(c.share.resident, 0);
    assert_string_equal(c.why, "");
    source_close(s);
}

/* Somebody else keeps the data set in memory: not done, and how much is left. */
static void held_data_set_is_not_done(void **state)
{
    struct source *const s = open_records(*state);
    const struct source *const one[] = {s};
    char *const path = source_file(s, 0);
    const int fd = open(path, O_RDONLY);
    const off_t n = lseek(fd, 0, SEEK_END);
    void *const map = mmap(NULL, (size_t)n, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
    struct cache_clear c;

    assert_true(map != MAP_FAILED);
    cache_clear(one, 1, CACHE_CLEAR_FILES, &c);
    assert_false(c.done);
    assert_int_equal(c.share.resident, n);
    assert_says(c.why, "(100.0 %) are still in memory after posix_fadvise");
    munmap(map, (size_t)n);
    close(fd);
    free(path);
    source_close(s);
}

/* The data set of root, read by somebody else: asked for file by file, since the machine's cache is
 * not his, and nothing is claimed. */
static void data_set_of_another_user(void **state)
{
    struct source *s;
    int status;
    pid_t pid;

    if (getuid() != 0)
        skip();
    assert_int_equal(chmod(*state, 0755), 0);
    s = open_records(*state);
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        const struct source *const one[] = {s};
        struct cache_clear c = {0};
        if (setgid(65534) == 0 && setuid(65534) == 0)
            cache_clear(one, 1, CACHE_CLEAR_ALL, &c);
        _exit(c.how && strcmp(c.how, "posix_fadvise") == 0 && !c.done && c.n_measured == 0 &&
                      strstr(c.why, "the system does not tell this user")
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    source_close(s);
}

/* Nothing to clear is not cleared. */
static void no_data_set(void **state)
{
    const struct source *const none[] = {NULL, NULL};
    struct cache_clear c;

    (void)state;
    cache_clear(none, COUNT_OF(none), CACHE_CLEAR_FILES, &c);
    assert_false(c.done);
    assert_null(c.how);
    assert_int_equal(c.n_measured, 0);
    assert_says(c.why, "reads no data set");
}

/* A folder's files, each. */
static void folder_of_files(void **state)
{
    const char *const dir = *state;
    const struct source *one[1];
    struct source *s;
    struct cache_clear c;
    char *const root = file_join(dir, "train");

    free(scratch_file(dir, "train/a/x", "1234"));
    free(scratch_file(dir, "train/b/y", "56789"));
    assert_int_equal(source_open(root, &s), 0);
    assert_int_equal(s->n_files, 2);
    one[0] = s;
    cache_clear(one, 1, CACHE_CLEAR_FILES, &c);
    assert_int_equal(c.n_files, 2);
    assert_int_equal(c.n_measured, 2);
    assert_int_equal(c.share.bytes, 9);
    assert_true(c.done || is_in_memory(dir));
    source_close(s);
    free(root);
}

#define S(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        S(written_forgotten_and_read_again),
        S(held_pages_are_seen),
        S(not_ours_to_see),
        S(data_set_is_cleared),
        S(held_data_set_is_not_done),
        S(data_set_of_another_user),
        cmocka_unit_test(no_data_set),
        S(folder_of_files),
    };

    return cmocka_run_group_tests_name("page_cache", tests, NULL, NULL);
}
