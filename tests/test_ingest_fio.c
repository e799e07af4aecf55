/* The supervisor's part of an ingest with the fio of this machine, and with ones that misbehave.
 * This process stands for the supervisor. */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/guard_int.h"
#include "ingest_fixture.h"
#include "run_fixture.h"
#include "scratch.h"

static const int64_t second_ns = 1000000000;

/* A supervisor of a run in dir/r. */
struct scene {
    struct ingest_settings spec;
    struct supervisor s;
    char *run_dir;
};

static void open_scene(struct scene *c, const char *dir, const char *spec)
{
    *c = (struct scene){.run_dir = file_join(dir, "r:u n")}; /* ':' means something to fio */
    assert_int_equal(file_mkdirs(c->run_dir), 0);
    assert_int_equal(ingest_parse(spec, &c->spec), 0);
    c->s.dir = c->run_dir;
    c->s.plan.ingest = &c->spec;
    c->s.start_ms = clock_wall_ms();
}

static void watch(struct scene *c, double seconds)
{
    const int64_t until = clock_ns() + (int64_t)(seconds * 1e9);

    while (clock_ns() < until) {
        guard_ingest_poll(&c->s);
        clock_sleep_ns(second_ns / 20);
    }
}

static int is_gone(pid_t pid)
{
    return kill(pid, 0) < 0 && errno == ESRCH;
}

/* Whatever happened: no process, no files, nothing noted. */
static void close_scene(struct scene *c)
{
    assert_null(c->s.ingest);
    assert_null(c->s.left.ingest_folder);
    assert_int_equal(c->s.left.fio.pid, 0);
    assert_int_equal(names_in(c->run_dir, "stave-ingest-"), 0);
    assert_int_equal(names_in(c->run_dir, "fio_"), 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    ingest_release(&c->spec);
    free(c->run_dir);
}

/* Bytes that the rows of ingest.csv say, a second each. */
static double bytes_of_rows(const char *run_dir, int *n)
{
    char *const text = read_text(run_dir, "ingest.csv");
    double bytes = 0, elapsed, per_s;

    *n = 0;
    for (const char *line = strchr(text, '\n') + 1; *line; line = strchr(line, '\n') + 1)
        if (sscanf(line, "%*d,%lf,%lf,", &elapsed, &per_s) == 2) {
            assert_true(elapsed > 0 && elapsed < 60);
            bytes += per_s;
            ++*n;
        }
    free(text);
    return bytes;
}

static void fio_writes_until_the_run_ends(void **state)
{
    struct scene c;
    const struct ingest_result *const r = &c.s.report.ingest;
    char *folder;
    double bytes;
    pid_t pid;
    int rows;

    need_fio();
    open_scene(&c, *state, "jobs=2 bs=64k rate=8M size=4M");
    assert_int_equal(guard_ingest_begin(&c.s), 0);
    folder = xstrdup(c.s.left.ingest_folder);
    pid = c.s.left.fio.pid;
    assert_true(pid > 0);
    assert_int_equal(getpgid(pid), pid); /* a signal to the run's group is not fio's */
    watch(&c, 3.4);
    assert_int_equal(names_in(folder, "ingest."), 2);
    guard_ingest_end(&c.s);
    assert_true(is_gone(pid));
    assert_int_equal(r->error, 0);
    assert_string_equal(r->words, "");
    /* fio writes its 8 MiB a second, and the files again when they are full. */
    assert_true(r->seconds > 1.5 && r->seconds < 10);
    assert_true(fabs(r->write_bytes_per_s - (double)r->write_bytes / r->seconds) < 1e5);
    assert_true(r->write_bytes > 8 << 20);
    assert_true(r->write_bytes_per_s < 12 << 20);
    assert_true(r->latency_mean_ns > 0 && r->latency_p50_ns <= r->latency_p99_ns);
    bytes = bytes_of_rows(c.run_dir, &rows);
    assert_true(rows >= 2 && bytes > 0.5 * (double)r->write_bytes &&
                bytes < 1.3 * (double)r->write_bytes);
    free(folder);
    close_scene(&c);
}

/* What another scene's document says has no say in this one. */
static void documents_of_an_earlier_start_are_not_read(void **state)
{
    struct scene c;

    need_fio();
    open_scene(&c, *state, "bs=64k rate=8M size=1M");
    free(scratch_file(c.run_dir, "fio.json", "{\n\"fio version\":\"fio-1\",\"jobs\":[{}]}"));
    assert_int_equal(guard_ingest_begin(&c.s), 0);
    kill(c.s.left.fio.pid, SIGKILL);
    watch(&c, 0.3);
    guard_ingest_end(&c.s);
    assert_int_equal(c.s.report.ingest.error, INGEST_NOT_MEASURED);
    assert_string_equal(c.s.report.ingest.fio_version, "");
    close_scene(&c);
}

/* On a disk that several machines share another run may have this process's number, and what a run
 * can not make it does not remove. */
static void folders_of_others_stay(void **state)
{
    char *const other = xasprintf("%s/other/stave-ingest-%d", (char *)*state, (int)getpid());
    char *const spec = xasprintf("bs=64k rate=8M size=1M dir=%s/other", (char *)*state);
    char *const precious = xasprintf("other/stave-ingest-%d/precious", (int)getpid());
    struct scene c;

    need_fio();
    free(scratch_file(*state, precious, "x"));
    open_scene(&c, *state, spec);
    assert_int_equal(guard_ingest_begin(&c.s), 0);
    assert_string_not_equal(c.s.left.ingest_folder, other);
    watch(&c, 0.2);
    guard_ingest_end(&c.s);
    assert_int_equal(names_in(other, "precious"), 1);
    close_scene(&c);
    free(other);
    free(spec);
    free(precious);
}

/* Its writers go with it, and its files at once. */
static void fio_that_is_killed_is_told(void **state)
{
    struct scene c;

    need_fio();
    open_scene(&c, *state, "jobs=3 bs=64k rate=9M size=3M");
    assert_int_equal(guard_ingest_begin(&c.s), 0);
    for (int i = 0; i < 100 && names_in(c.s.left.ingest_folder, "ingest.") < 3; i++)
        watch(&c, 0.1); /* until its writers are there */
    kill(c.s.left.fio.pid, SIGKILL);
    watch(&c, 0.4);
    assert_int_equal(end_fios_of(c.run_dir), 0);
    assert_int_equal(names_in(c.run_dir, "stave-ingest-"), 0);
    guard_ingest_end(&c.s);
    assert_int_equal(c.s.report.ingest.error, INGEST_NOT_MEASURED);
    assert_says(c.s.report.ingest.words, "signal 9 ended fio");
    assert_says(c.s.report.ingest.words, "s after it began; the document is empty");
    close_scene(&c);
}

/* In a mount namespace of its own: the rest of the machine sees nothing of it. */
static int small_disk(const char *dir)
{
    char *const at = file_join(dir, "disk");
    int rc = file_mkdirs(at);

    if (rc == 0 &&
        (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
         mount("tmpfs", at, "tmpfs", 0, "size=16m") < 0))
        rc = -1;
    free(at);
    return rc;
}

enum { CHILD_DONE = 0, CHILD_SKIPS = 99 };

static void fill_disk(const char *dir)
{
    char *const spec = xasprintf("jobs=2 bs=64k size=10M dir=%s/disk", dir);
    char *const other = file_join(dir, "disk/other");
    struct scene c;
    FILE *f;

    if (small_disk(dir) < 0)
        _exit(CHILD_SKIPS);
    open_scene(&c, dir, spec);
    if (guard_ingest_begin(&c.s) == 0 && (f = fopen(other, "w")) != NULL) {
        for (int i = 0; i < 14 << 10; i++) /* somebody else fills it meanwhile */
            fprintf(f, "%01023d\n", i);
        fclose(f);
        watch(&c, 2.5);
    }
    guard_ingest_end(&c.s);
    assert_int_equal(c.s.report.ingest.error, ENOSPC);
    assert_says(c.s.report.ingest.words, "fio ended by itself with code ");
    assert_says(c.s.report.ingest.words, "s after it began: No space left on device");
    close_scene(&c);
    /* And one that would not fit does not begin. */
    open_scene(&c, dir, spec);
    assert_int_equal(guard_ingest_begin(&c.s), E_IO);
    assert_int_equal(c.s.report.ingest.error, INGEST_NOT_MEASURED);
    assert_says(c.s.report.ingest.words, "would leave less than 5 %");
    close_scene(&c);
    free(other);
    free(spec);
}

static void disk_that_gets_full_is_told(void **state)
{
    pid_t pid;
    int status;

    need_fio();
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        fill_disk(*state);
        _exit(CHILD_DONE);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_SKIPS) {
        print_message("skipped: no mount namespace of one's own here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

/* ---- programs that have fio's name ---- */

static void broken_document_is_told(void **state)
{
    struct scene c;

    use_fio(*state, "trap 'exit 0' INT; echo '{' >\"$out\"; echo '\"fio version\": \"fio-3' "
                    ">>\"$out\"; while :; do sleep 0.05; done");
    open_scene(&c, *state, "size=1M");
    assert_int_equal(guard_ingest_begin(&c.s), 0);
    watch(&c, 0.5);
    guard_ingest_end(&c.s);
    assert_int_equal(c.s.report.ingest.error, INGEST_NOT_MEASURED);
    assert_says(c.s.report.ingest.words, "the document is not whole");
    close_scene(&c);
}

static void fio_that_refuses_is_told(void **state)
{
    struct scene c;

    use_fio(*state, "echo 'fio: engine libx not loadable' >&2; exit 1");
    open_scene(&c, *state, "size=1M");
    assert_int_equal(guard_ingest_begin(&c.s), 0);
    watch(&c, 0.5);
    guard_ingest_end(&c.s);
    assert_int_equal(c.s.report.ingest.error, INGEST_NOT_MEASURED);
    assert_says(c.s.report.ingest.words, "fio ended by itself with code 1");
    assert_says(c.s.report.ingest.words, "it said: fio: engine libx not loadable");
    close_scene(&c);
}

/* SIGINT is not for it; SIGTERM is. */
static void fio_that_goes_on_is_ended(void **state)
{
    const int64_t begun = clock_ns();
    struct scene c;

    use_fio(*state, "trap '' INT; exec sleep 1000");
    open_scene(&c, *state, "size=1M");
    assert_int_equal(guard_ingest_begin(&c.s), 0);
    watch(&c, 0.3);
    guard_ingest_end(&c.s);
    assert_true(clock_ns() - begun > 9 * second_ns);
    assert_says(c.s.report.ingest.words, "signal 15 had to end fio");
    close_scene(&c);
}

static void fio_that_went_away_is_told(void **state)
{
    struct scene c;

    setenv("PATH", *state, 1);
    open_scene(&c, *state, "size=1M");
    assert_int_equal(guard_ingest_begin(&c.s), E_UNSUPPORTED);
    assert_says(c.s.report.ingest.words, "fio is not installed");
    close_scene(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fio_writes_until_the_run_ends, ingest_scratch_open,
                                        ingest_scratch_close),
        cmocka_unit_test_setup_teardown(documents_of_an_earlier_start_are_not_read,
                                        ingest_scratch_open, ingest_scratch_close),
        cmocka_unit_test_setup_teardown(folders_of_others_stay, ingest_scratch_open,
                                        ingest_scratch_close),
        cmocka_unit_test_setup_teardown(fio_that_is_killed_is_told, ingest_scratch_open,
                                        ingest_scratch_close),
        cmocka_unit_test_setup_teardown(disk_that_gets_full_is_told, ingest_scratch_open,
                                        ingest_scratch_close),
        cmocka_unit_test_setup_teardown(broken_document_is_told, ingest_scratch_open,
                                        ingest_scratch_close),
        cmocka_unit_test_setup_teardown(fio_that_refuses_is_told, ingest_scratch_open,
                                        ingest_scratch_close),
        cmocka_unit_test_setup_teardown(fio_that_goes_on_is_ended, ingest_scratch_open,
                                        ingest_scratch_close),
        cmocka_unit_test_setup_teardown(fio_that_went_away_is_told, ingest_scratch_open,
                                        ingest_scratch_close),
    };

    return cmocka_run_group_tests_name("ingest with fio", tests, ingest_room_open, NULL);
}
