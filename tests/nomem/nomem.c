/* Out of memory at every allocation in turn: nomem [STRIDE [JOB...]]. Each job of jobs.c is done in
 * a process of its own with its n-th allocation failing, n = 1, 1 + STRIDE, ... until it no longer
 * has that many; then once more with that one and all later ones failing. Right is: exit code 3
 * with one sentence that speaks of memory, or success with the same result as without a failure. A
 * crash, another code, a second sentence, a hang, a torn file or another result is a failure. One
 * line a job; ends in "N passed, N failed", a job and a kind of failing being one. */
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/command.h"
#include "fail_alloc.h"
#include "jobs.h"

enum { PATIENCE_S = 60, MAX_TOLD = 10 };

/* What a child tells its parent. */
struct told {
    uint64_t made;
    long count;
};

static struct told *told; /* shared */
static char *top;

static int drop(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static char *fresh_dir(void)
{
    char *const dir = file_join(top, "run");

    nftw(dir, drop, 16, FTW_DEPTH | FTW_PHYS);
    if (file_mkdirs(dir) < 0)
        BUG("%s", err_reason());
    return dir;
}

static _Noreturn void child(const struct job *job, const char *dir, long at, int onwards)
{
    char *const said = file_join(top, "said");
    int rc;

    if (!freopen(said, "w", stderr))
        _exit(126);
    setvbuf(stderr, NULL, _IONBF, 0);
    alarm(PATIENCE_S);
    told->made = 0;
    fail_alloc_arm(at, onwards);
    rc = job->run(dir, &told->made);
    told->count = fail_alloc_count();
    fail_alloc_disarm();
    if (rc < 0)
        fprintf(stderr, "stave: %s\n", err_reason());
    exit(rc < 0 ? command_exit_code(rc) : 0);
}

static int run(const struct job *job, const char *dir, long at, int onwards)
{
    pid_t pid;
    int status;

    fflush(NULL); /* or a child writes it again */
    pid = fork();
    if (pid == 0)
        child(job, dir, at, onwards);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        BUG("no child process");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int sentences(const char *text)
{
    int n = 0;

    for (const char *p = text; *p; p++)
        n += (p == text || p[-1] == '\n') && strncmp(p, "stave: warning: ", 16) != 0;
    return n;
}

/* NULL when the end is one of the right ones, else what is wrong with it. */
static const char *judge(int code, const char *said, uint64_t want, const char *dir)
{
    if (jobs_check(dir) < 0)
        return "a torn file";
    if (code == 0)
        return told->made == want ? NULL : "success with another result";
    if (code == 1000 + SIGALRM)
        return "it hangs";
    if (code != EXIT_WORLD)
        return "the wrong end";
    if (sentences(said) != 1)
        return "not one sentence";
    return strstr(said, "memory") ? NULL : "the wrong reason";
}

static char *words(void)
{
    char *const path = file_join(top, "said"), *text;
    size_t n;

    if (file_read(path, 1 << 20, &text, &n) < 0)
        BUG("%s", err_reason());
    free(path);
    return text;
}

/* How many of the failing allocations of one job end wrongly. */
static long try_job(const struct job *job, long stride, int onwards)
{
    char *dir = fresh_dir();
    const int code = run(job, dir, 0, 0);
    const uint64_t want = told->made;
    const long count = told->count;
    long bad = 0, tried = 0, absorbed = 0;

    if (code != 0 || count <= 0) {
        char *const said = words();

        printf("FAIL nomem %s: with memory it ends with %d: %s", job->name, code, said);
        free(said);
        free(dir);
        return 1;
    }
    for (long at = 1; at <= count; at += stride, tried++) {
        const char *wrong;
        char *said;
        int end;

        free(dir);
        dir = fresh_dir();
        end = run(job, dir, at, onwards);
        said = words();
        wrong = judge(end, said, want, dir);
        absorbed += end == 0;
        if (wrong && bad++ < MAX_TOLD)
            printf("FAIL nomem %s, allocation %ld%s: %s (code %d): %s", job->name, at,
                   onwards ? " and later" : "", wrong, end, said);
        free(said);
    }
    printf("nomem %s: %ld allocations, %ld of them failed%s: %ld wrong ends, %ld done without\n",
           job->name, count, tried, onwards ? " with all later ones" : "", bad, absorbed);
    fflush(stdout);
    free(dir);
    return bad;
}

static int chosen(const char *name, int argc, char **argv)
{
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return 1;
    return argc <= 2;
}

int main(int argc, char **argv)
{
    const long stride = argc > 1 ? atol(argv[1]) : 1;
    char path[] = "/tmp/stave-nomem-XXXXXX";
    int passed = 0, failed = 0;
    char *data;

    if (stride < 1) {
        fputs("usage: nomem [STRIDE [JOB...]]\n", stderr);
        return 2;
    }
    told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    top = mkdtemp(path);
    if (told == MAP_FAILED || !top)
        BUG("no memory or folder to share");
    data = file_join(top, "data");
    if (file_mkdirs(data) < 0)
        BUG("%s", err_reason());
    jobs_prepare(data);
    free(data);
    for (const struct job *j = jobs; j->name; j++)
        for (int onwards = 0; onwards < 2 && chosen(j->name, argc, argv); onwards++) {
            const int bad = try_job(j, stride, onwards) > 0;

            failed += bad;
            passed += !bad;
        }
    nftw(top, drop, 16, FTW_DEPTH | FTW_PHYS);
    printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed;
}
