/* Checkpoints against crashes, damage and full disks; stopping by signal. */
#include <fcntl.h>
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
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "train/checkpoint.h"
#include "train/stop.h"

static char *dir;

static char *in_dir(const char *name)
{
    return file_join(dir, name);
}

static int make_dir(void **state)
{
    char pattern[] = "/tmp/stave-test-XXXXXX";

    (void)state;
    dir = xstrdup(mkdtemp(pattern));
    return 0;
}

static int remove_dir(void **state)
{
    static const char *const names[] = {
        CHECKPOINT_NAME,        CHECKPOINT_PREVIOUS,        CHECKPOINT_NEXT,
        CHECKPOINT_NEXT ".tmp", CHECKPOINT_PREVIOUS ".tmp", "x.safetensors"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char *path = in_dir(names[i]);
        remove(path);
        free(path);
    }
    assert_int_equal(rmdir(dir), 0); /* nothing else was left behind */
    free(dir);
    return 0;
}

enum { N_WEIGHTS = 50000 };

/* Every weight of a checkpoint is its step, so a mixture shows. */
static int save(long long step)
{
    float *w = xmalloc(N_WEIGHTS * sizeof(*w));
    struct safetensors_tensor t = {.name = "w",
                                   .dtype = SAFETENSORS_F32,
                                   .rank = 1,
                                   .dims = {N_WEIGHTS},
                                   .data = w,
                                   .bytes = N_WEIGHTS * sizeof(*w)};
    const struct safetensors_meta extra = {"best", "0.5"};
    int rc;

    for (size_t i = 0; i < N_WEIGHTS; i++)
        w[i] = (float)step;
    rc = checkpoint_save(dir, &t, 1,
                         (struct checkpoint_info){.step = step,
                                                  .epoch = step / 10,
                                                  .seed = UINT64_MAX,
                                                  .options_digest = "d1",
                                                  .extra = &extra,
                                                  .n_extra = 1});
    free(w);
    return rc;
}

/* The step of the checkpoint that would be resumed; negative when there is none. */
static long long saved_step(void)
{
    const struct safetensors_tensor wanted = {
        .name = "w", .dtype = SAFETENSORS_F32, .rank = 1, .dims = {N_WEIGHTS}};
    float *w = xmalloc(N_WEIGHTS * sizeof(*w));
    struct checkpoint c;
    long long step = checkpoint_open(&c, dir);

    if (step == 0) {
        step = c.info.step;
        assert_int_equal(c.info.epoch, step / 10);
        assert_true(c.info.seed == UINT64_MAX);
        assert_string_equal(c.info.options_digest, "d1");
        assert_string_equal(safetensors_meta(c.file, "best"), "0.5");
        assert_int_equal(checkpoint_read(&c, &wanted, w), 0);
        for (size_t i = 0; i < N_WEIGHTS; i++)
            assert_true(w[i] == (float)step);
        checkpoint_close(&c);
    }
    free(w);
    return step;
}

static long long step_of(const char *name)
{
    char *path = in_dir(name);
    struct checkpoint c;
    long long step = checkpoint_open_file(&c, path);

    if (step == 0) {
        step = c.info.step;
        checkpoint_close(&c);
    }
    free(path);
    return step;
}

static void move(const char *from, const char *to)
{
    char *a = in_dir(from), *b = in_dir(to);

    assert_int_equal(rename(a, b), 0);
    free(a);
    free(b);
}

static void damage(const char *name, off_t at)
{
    char *path = in_dir(name);
    const int fd = open(path, O_RDWR);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "\x55", 1, at), 1);
    close(fd);
    free(path);
}

static void cut(const char *name, off_t bytes)
{
    char *path = in_dir(name);

    assert_int_equal(truncate(path, bytes), 0);
    free(path);
}

/* Expected complaints would clutter the test's output; they are caught and returned. */
static char *quietly(long long (*what)(void), long long *result)
{
    char *path = in_dir("x.safetensors"), *text;
    const int saved = dup(2), fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    size_t n;

    assert_true(saved >= 0 && fd >= 0);
    fflush(stderr);
    dup2(fd, 2);
    *result = what();
    fflush(stderr);
    dup2(saved, 2);
    close(saved);
    close(fd);
    assert_int_equal(file_read(path, 1 << 16, &text, &n), 0);
    free(path);
    return text;
}

static void test_rotation(void **state)
{
    (void)state;
    assert_false(checkpoint_exists(dir));
    assert_int_equal(saved_step(), E_IO);
    assert_int_equal(save(1), 0);
    assert_int_equal(saved_step(), 1);
    assert_int_equal(step_of(CHECKPOINT_PREVIOUS), E_IO);
    assert_int_equal(save(2), 0);
    assert_int_equal(save(3), 0);
    assert_int_equal(step_of(CHECKPOINT_NAME), 3);
    assert_int_equal(step_of(CHECKPOINT_PREVIOUS), 2);
    assert_int_equal(step_of(CHECKPOINT_NEXT), E_IO);
    assert_int_equal(saved_step(), 3);
    assert_true(checkpoint_exists(dir));
}

/* The states a kill between the steps of a save leaves, made by hand. */
static void test_killed_between_steps(void **state)
{
    (void)state;
    assert_int_equal(save(1), 0);
    assert_int_equal(save(2), 0);
    /* next is complete, nothing renamed yet: 3 next, 2 newest, 1 previous */
    assert_int_equal(save(3), 0);
    move(CHECKPOINT_NAME, CHECKPOINT_NEXT);
    move(CHECKPOINT_PREVIOUS, CHECKPOINT_NAME);
    assert_int_equal(saved_step(), 3);
    /* the newest became the previous one, next not renamed yet */
    move(CHECKPOINT_NAME, CHECKPOINT_PREVIOUS);
    assert_int_equal(saved_step(), 3);
    /* and saving goes on from there */
    assert_int_equal(save(4), 0);
    assert_int_equal(saved_step(), 4);
    assert_int_equal(step_of(CHECKPOINT_NEXT), E_IO);
}

/* After the hard link and before the last rename both names are one file. */
static void test_killed_after_the_link(void **state)
{
    char *newest = in_dir(CHECKPOINT_NAME), *previous = in_dir(CHECKPOINT_PREVIOUS);

    (void)state;
    assert_int_equal(save(1), 0);
    assert_int_equal(link(newest, previous), 0);
    assert_int_equal(saved_step(), 1);
    assert_int_equal(save(2), 0);
    assert_int_equal(step_of(CHECKPOINT_NAME), 2);
    assert_int_equal(step_of(CHECKPOINT_PREVIOUS), 1);
    free(newest);
    free(previous);
}

static void test_damaged_newest_falls_back(void **state)
{
    long long step;
    char *said;

    (void)state;
    assert_int_equal(save(1), 0);
    assert_int_equal(save(2), 0);
    damage(CHECKPOINT_NAME, N_WEIGHTS * 2); /* right size, one byte wrong */
    said = quietly(saved_step, &step);
    assert_int_equal(step, 1);
    assert_non_null(strstr(said, "warning"));
    assert_non_null(strstr(said, "checksum"));
    free(said);
    cut(CHECKPOINT_NAME, 1000);
    free(quietly(saved_step, &step));
    assert_int_equal(step, 1);
    cut(CHECKPOINT_PREVIOUS, 0);
    free(quietly(saved_step, &step));
    assert_int_equal(step, E_DATA);
    assert_non_null(strstr(err_reason(), "no checkpoint in"));
}

/* A small checkpoint whose every byte is worth a try: header and data about as long. */
static void save_small(long long step)
{
    float w[200];
    struct safetensors_tensor t = {.name = "w",
                                   .dtype = SAFETENSORS_F32,
                                   .rank = 2,
                                   .dims = {20, 10},
                                   .data = w,
                                   .bytes = sizeof(w)};

    for (size_t i = 0; i < COUNT_OF(w); i++)
        w[i] = (float)step;
    assert_int_equal(
        checkpoint_save(dir, &t, 1,
                        (struct checkpoint_info){
                            .step = step, .seed = 7, .options_digest = "d1", .init = "somebody's"}),
        0);
}

/* What a reader takes from the folder: the step, 0 when it takes nothing or something wrong. */
static long long small_step(void)
{
    const struct safetensors_tensor wanted = {
        .name = "w", .dtype = SAFETENSORS_F32, .rank = 2, .dims = {20, 10}};
    struct checkpoint c;
    float w[200];
    long long step = 0;

    if (checkpoint_open(&c, dir) < 0)
        return 0;
    if (checkpoint_read(&c, &wanted, w) == 0 && w[0] == (float)c.info.step &&
        memcmp(w, w + 1, sizeof(w) - sizeof(*w)) == 0 && c.info.seed == 7 && c.info.epoch == 0 &&
        strcmp(c.info.options_digest, "d1") == 0 && c.info.init &&
        strcmp(c.info.init, "somebody's") == 0)
        step = c.info.step;
    checkpoint_close(&c);
    return step;
}

/* Without the syncs of file_replace, which thousands of times would take minutes. */
static void replace_quickly(const char *path, const char *bytes, size_t n)
{
    const int fd = open(path, O_WRONLY | O_TRUNC);

    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, bytes, n, path), 0);
    close(fd);
}

/* Every byte with a bit flipped, then the file cut before it: the one before is taken, unless what
 * was flipped says nothing (a space, an escape). Never is something else taken for right. */
static void test_any_damage_is_seen(void **state)
{
    char *path = in_dir(CHECKPOINT_NAME), *bytes;
    size_t n, harmless = 0;
    long long step;

    (void)state;
    save_small(1);
    save_small(2);
    assert_int_equal(file_read(path, 1 << 16, &bytes, &n), 0);
    for (size_t i = 0; i < 2 * n; i++) {
        const size_t at = i / 2;
        const char was = bytes[at];
        bytes[at] = (char)(was ^ 1 << at % 8);
        replace_quickly(path, bytes, i % 2 ? at : n);
        bytes[at] = was;
        free(quietly(small_step, &step));
        if (step != 1 && step != 2)
            fail_msg("byte %zu %s: step %lld", at, i % 2 ? "cut" : "flipped", step);
        harmless += step == 2;
    }
    assert_true(harmless < 16);
    print_message(
        "# G10 newest checkpoint damaged: %zu bytes flipped and cut, each: the one before is "
        "taken; %zu flips changed nothing that is said\n",
        n, harmless);
    free(bytes);
    free(path);
}

/* Going on from a checkpoint makes it the newest one and takes away what is left beside it. */
static long long settle(void)
{
    struct checkpoint c;
    int rc = checkpoint_open(&c, dir);

    if (rc == 0) {
        rc = checkpoint_settle(&c, dir);
        checkpoint_close(&c);
    }
    return rc;
}

static void test_settling(void **state)
{
    char *left = in_dir(CHECKPOINT_NEXT ".tmp");
    long long rc;

    (void)state;
    /* killed before the last renames: the next one becomes the newest */
    assert_int_equal(save(1), 0);
    assert_int_equal(save(2), 0);
    move(CHECKPOINT_NAME, CHECKPOINT_NEXT);
    move(CHECKPOINT_PREVIOUS, CHECKPOINT_NAME);
    assert_int_equal(file_replace(left, "half", 4), 0);
    assert_int_equal(settle(), 0);
    assert_int_equal(step_of(CHECKPOINT_NAME), 2);
    assert_int_equal(step_of(CHECKPOINT_PREVIOUS), 1);
    assert_int_equal(step_of(CHECKPOINT_NEXT), E_IO);
    assert_false(file_exists(left));
    assert_int_equal(settle(), 0); /* nothing to do */
    assert_int_equal(step_of(CHECKPOINT_NAME), 2);
    /* the newest is damaged: the next save must not put it in the place of the good one */
    damage(CHECKPOINT_NAME, N_WEIGHTS * 2);
    free(quietly(settle, &rc));
    assert_int_equal(rc, 0);
    assert_int_equal(step_of(CHECKPOINT_NAME), 1);
    assert_int_equal(save(3), 0);
    assert_int_equal(step_of(CHECKPOINT_PREVIOUS), 1);
    free(left);
}

static void test_failed_rename_keeps_all(void **state)
{
    char *obstacle = in_dir(CHECKPOINT_PREVIOUS), *inside = in_dir(CHECKPOINT_PREVIOUS "/x");

    (void)state;
    assert_int_equal(save(1), 0);
    assert_int_equal(mkdir(obstacle, 0700), 0); /* stands where the previous one should go */
    assert_int_equal(mkdir(inside, 0700), 0);
    assert_int_equal(save(2), E_IO);
    assert_int_equal(step_of(CHECKPOINT_NAME), 1);
    assert_int_equal(saved_step(), 2); /* complete, only not renamed */
    rmdir(inside);
    rmdir(obstacle);
    assert_int_equal(save(3), 0);
    assert_int_equal(saved_step(), 3);
    free(obstacle);
    free(inside);
}

static void test_full_disk_keeps_the_old_one(void **state)
{
    struct rlimit old, small;

    (void)state;
    assert_int_equal(save(1), 0);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    for (rlim_t bytes = 0; bytes < 200000; bytes += 50000) {
        small = (struct rlimit){.rlim_cur = bytes, .rlim_max = old.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        const int rc = save(2);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_int_equal(rc, E_IO);
        assert_int_equal(saved_step(), 1);
    }
    assert_int_equal(save(2), 0);
    assert_int_equal(saved_step(), 2);
}

/* Kills a process that saves without pause, at moments spread over a save. */
static void test_killed_at_any_moment(void **state)
{
    long long last = 1;

    (void)state;
    assert_int_equal(save(1), 0);
    for (int round = 0; round < 25; round++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            for (long long step = last + 1; save(step) == 0; step++)
                ;
            _exit(1);
        }
        clock_sleep_ns(3000000 + round * 700000);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        const long long step = saved_step();
        if (step < last)
            fail_msg("round %d: step %lld after %lld was saved", round, step, last);
        last = step;
    }
    assert_true(last > 1);
}

static void test_wrong_model_is_refused(void **state)
{
    const struct safetensors_tensor other[] = {
        {.name = "v", .dtype = SAFETENSORS_F32, .rank = 1, .dims = {N_WEIGHTS}},
        {.name = "w", .dtype = SAFETENSORS_I32, .rank = 1, .dims = {N_WEIGHTS}},
        {.name = "w", .dtype = SAFETENSORS_F32, .rank = 1, .dims = {N_WEIGHTS + 1}},
        {.name = "w", .dtype = SAFETENSORS_F32, .rank = 2, .dims = {N_WEIGHTS, 1}},
    };
    struct checkpoint c;
    float nothing[1];

    (void)state;
    assert_int_equal(save(1), 0);
    assert_int_equal(checkpoint_open(&c, dir), 0);
    for (size_t i = 0; i < COUNT_OF(other); i++)
        assert_int_equal(checkpoint_read(&c, &other[i], nothing), E_DATA);
    checkpoint_close(&c);
}

static void test_stop_signals(void **state)
{
    (void)state;
    stop_install();
    assert_false(stop_requested());
    assert_string_equal(stop_signal_name(), "");
    raise(SIGTERM);
    assert_true(stop_requested());
    assert_string_equal(stop_signal_name(), "SIGTERM");
    raise(SIGPIPE); /* ignored */
    stop_reset();
    assert_false(stop_requested());
}

/* The exit status of a child that gets two signals; before them it does what prepare says. */
static int status_after(int first, int second, void (*prepare)(void))
{
    const pid_t child = fork();
    int status = 0;

    if (child == 0) {
        if (prepare)
            prepare();
        stop_install();
        raise(first);
        raise(second);
        _exit(stop_requested() ? 42 : 43);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void ignore_hangup(void)
{
    signal(SIGHUP, SIG_IGN);
}

static void test_second_signal_ends_at_once(void **state)
{
    (void)state;
    assert_int_equal(status_after(SIGINT, SIGINT, NULL), 1);
    assert_int_equal(status_after(SIGHUP, SIGTERM, NULL), 1);
    assert_int_equal(status_after(SIGINT, SIGPIPE, NULL), 42);
    assert_int_equal(status_after(SIGHUP, SIGHUP, ignore_hangup), 43);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(test_rotation),
        IN_DIR(test_killed_between_steps),
        IN_DIR(test_killed_after_the_link),
        IN_DIR(test_damaged_newest_falls_back),
        IN_DIR(test_any_damage_is_seen),
        IN_DIR(test_settling),
        IN_DIR(test_failed_rename_keeps_all),
        IN_DIR(test_full_disk_keeps_the_old_one),
        IN_DIR(test_killed_at_any_moment),
        IN_DIR(test_wrong_model_is_refused),
        cmocka_unit_test(test_stop_signals),
        cmocka_unit_test(test_second_signal_ends_at_once),
    };

    return cmocka_run_group_tests_name("checkpoint", tests, NULL, NULL);
}
