/* The supervisor's ingest: fio is started when warm-up is over, watched, and ended with the run. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/guard_int.h"
#include "meter/ingest_fio.h"

enum { CANNOT_START = 127, MOST_SAID = 1 << 16 };
static const size_t largest_document = (size_t)64 << 20;

struct guard_ingest {
    pid_t pid;
    int64_t begun_ns, lasted_ns;
    int ended;     /* waited for: status holds */
    int by_itself; /* before anybody asked it to */
    int status;
};

void guard_ingest_expect(struct guard_report *r)
{
    ingest_clear(&r->ingest);
    ingest_fail(&r->ingest, "it never began: the run ended before its warm-up did (--warm)");
}

static void remove_from(const char *dir, const char *name)
{
    char *const path = file_join(dir, name);

    unlink(path);
    free(path);
}

/* Of an earlier start of the same run. */
static void remove_documents(const char *dir)
{
    static const char *const names[] = {"fio.json", "fio.txt", "ingest.csv"};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        remove_from(dir, names[i]);
}

static void remove_files(struct supervisor *s)
{
    if (!s->left.ingest_folder)
        return;
    file_remove_tree(s->left.ingest_folder);
    if (file_exists(s->left.ingest_folder))
        return; /* stays noted, for stave clean */
    free(s->left.ingest_folder);
    s->left.ingest_folder = NULL;
}

/* ---- begin ---- */

/* Nothing of the supervisor's goes along: neither its descriptors nor the signals it ignores. */
static _Noreturn void become_fio(char *const *argv, int said, pid_t parent)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    const int nowhere = open("/dev/null", O_RDONLY | O_CLOEXEC);
    sigset_t none;

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(CANNOT_START);
    setpgid(0, 0);
    for (size_t i = 0; i < COUNT_OF(ignored); i++)
        signal(ignored[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(nowhere, STDIN_FILENO);
    dup2(said, STDOUT_FILENO);
    dup2(said, STDERR_FILENO);
    supervisor_close_all_but(-1);
    execvp(argv[0], argv);
    dprintf(STDERR_FILENO, "fio can not be started: %s\n", strerror(errno));
    _exit(CANNOT_START);
}

static int start_fio(struct supervisor *s, char *const *argv)
{
    char *const path = file_join(s->dir, "fio.txt");
    const int said = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const pid_t parent = getpid();
    int rc = 0;
    pid_t pid;

    if (said < 0)
        rc = err(E_IO, "create %s: %s", path, strerror(errno));
    free(path);
    TRY(rc);
    pid = fork();
    if (pid == 0)
        become_fio(argv, said, parent);
    if (pid < 0)
        rc = err(E_IO, "start fio: %s", strerror(errno));
    close(said);
    TRY(rc);
    setpgid(pid, pid); /* whichever of the two comes first */
    s->ingest = xcalloc(1, sizeof(*s->ingest));
    s->ingest->pid = pid;
    s->ingest->begun_ns = clock_ns();
    s->left.fio = process_of(pid);
    return supervisor_note(s);
}

/* A name that nobody else takes: on a shared disk the number of a process is not enough. */
static char *draw_name(const struct supervisor *s)
{
    char *const start = ingest_folder(s->plan.ingest, s->dir), *name;
    uint32_t draw;

    if (getrandom(&draw, sizeof(draw), 0) != (ssize_t)sizeof(draw))
        draw = (uint32_t)clock_ns();
    name = xasprintf("%s-%08x", start, draw);
    free(start);
    return name;
}

/* Noted before it is there. What could not be made is not ours to remove. */
static int make_folder(struct supervisor *s)
{
    int rc;

    s->left.ingest_folder = draw_name(s);
    rc = supervisor_note(s);
    if (rc == 0 && mkdir(s->left.ingest_folder, 0700) < 0)
        rc = err(E_IO, "make %s: %s", s->left.ingest_folder, strerror(errno));
    if (rc < 0) {
        free(s->left.ingest_folder);
        s->left.ingest_folder = NULL;
    }
    return rc;
}

/* The disk is looked at again: the run's first minutes may have filled it. */
static int begin(struct supervisor *s)
{
    char version[64], **argv;
    int rc;

    TRY(ingest_check(s->plan.ingest, s->dir, version, sizeof(version)));
    remove_documents(s->dir);
    TRY(make_folder(s));
    argv =
        ingest_argv(s->plan.ingest, &(struct ingest_job){s->dir, s->left.ingest_folder, version});
    rc = start_fio(s, argv);
    ingest_argv_free(argv);
    return rc;
}

int guard_ingest_begin(struct supervisor *s)
{
    const int rc = begin(s);
    char *const why = rc < 0 ? xstrdup(err_reason()) : NULL;

    s->report.ingest_started = 1;
    if (rc == 0) {
        ingest_fail(&s->report.ingest,
                    "fio is at work; what it wrote is known when the run has ended");
        return 0;
    }
    guard_ingest_end(s);
    remove_files(s);
    supervisor_note(s);
    ingest_fail(&s->report.ingest, why);
    free(why);
    return rc;
}

/* ---- watch and end ---- */

static int has_ended(struct guard_ingest *g)
{
    pid_t pid;

    if (g->ended)
        return 1;
    pid = waitpid(g->pid, &g->status, WNOHANG);
    if (pid == 0 || (pid < 0 && errno == EINTR))
        return 0;
    g->ended = 1;
    g->lasted_ns = clock_ns() - g->begun_ns;
    return 1;
}

void guard_ingest_poll(struct supervisor *s)
{
    struct guard_ingest *const g = s->ingest;

    if (g->ended || !has_ended(g))
        return;
    g->by_itself = 1;
    s->left.fio = (struct process){0};
    remove_files(s);
    supervisor_note(s);
}

static int ends_within(struct guard_ingest *g, int64_t seconds)
{
    const int64_t until = clock_ns() + seconds * 1000000000;

    while (!has_ended(g) && clock_ns() < until)
        clock_sleep_ns(10000000);
    return g->ended;
}

/* fio writes its document when it is interrupted; what it wrote may take a while to reach a slow
 * disk. */
static void end_fio(struct guard_ingest *g)
{
    static const struct {
        int signal;
        int64_t seconds;
    } steps[] = {{SIGINT, 10}, {SIGTERM, 3}, {SIGKILL, 10}};

    for (size_t i = 0; i < COUNT_OF(steps) && !g->ended; i++) {
        kill(g->pid, steps[i].signal);
        ends_within(g, steps[i].seconds);
    }
}

/* The first line that fio wrote beside its document; heap, NULL: none. */
static char *words_of_fio(const char *dir)
{
    char *const path = file_join(dir, "fio.txt");
    char *text = NULL;
    size_t n;

    if (file_read(path, MOST_SAID, &text, &n) == 0)
        text[strcspn(text, "\r\n")] = '\0';
    if (text && !*text) {
        free(text);
        text = NULL;
    }
    free(path);
    return text;
}

static void read_document(struct supervisor *s)
{
    char *const path = file_join(s->dir, "fio.json");
    struct ingest_result *const r = &s->report.ingest;
    char *text;
    size_t n;

    ingest_clear(r);
    if (!file_exists(path)) {
        ingest_fail(&s->report.ingest, "fio left no document");
    } else if (file_read(path, largest_document, &text, &n) < 0) {
        ingest_fail(&s->report.ingest, err_reason());
    } else {
        (void)ingest_read(text, n, r); /* what is wrong with it is in its words */
        free(text);
    }
    if (r->error == 0 && r->write_bytes == 0)
        ingest_fail(&s->report.ingest, "fio wrote nothing");
    free(path);
}

/* What fio told, in its document or beside it, behind how it ended. */
static void tell_end(struct supervisor *s)
{
    const struct guard_ingest *const g = s->ingest;
    struct ingest_result *const r = &s->report.ingest;
    char *const beside = words_of_fio(s->dir);
    struct str words = STR_INIT;
    const int error = r->error;

    if (!g->ended)
        str_add(&words, "fio does not end");
    else if (!g->by_itself && WTERMSIG(g->status) == SIGINT)
        str_add(&words, "the run ended before fio was ready to write");
    else if (!g->by_itself)
        str_printf(&words, "signal %d had to end fio", WTERMSIG(g->status));
    else if (WIFSIGNALED(g->status))
        str_printf(&words, "signal %d ended fio", WTERMSIG(g->status));
    else
        str_printf(&words, "fio ended by itself with code %d", WEXITSTATUS(g->status));
    if (g->by_itself)
        str_printf(&words, " %.1f s after it began", (double)g->lasted_ns / 1e9);
    if (error > 0)
        str_printf(&words, ": %s", strerror(error));
    if (beside)
        str_printf(&words, "; it said: %s", beside);
    else if (r->words[0])
        str_printf(&words, "; %s", r->words);
    ingest_fail(&s->report.ingest, words.s);
    if (error > 0)
        r->error = error;
    str_release(&words);
    free(beside);
}

void guard_ingest_end(struct supervisor *s)
{
    struct guard_ingest *const g = s->ingest;

    if (!g)
        return;
    guard_ingest_poll(s);
    end_fio(g);
    read_document(s);
    if (g->by_itself || !g->ended || (WIFSIGNALED(g->status) && s->report.ingest.error))
        tell_end(s);
    if (ingest_write_csv(s->dir, s->start_ms) < 0 && !s->report.ingest.words[0])
        ingest_fail(&s->report.ingest, err_reason());
    if (g->ended)
        s->left.fio = (struct process){0};
    remove_files(s);
    supervisor_note(s);
    free(g);
    s->ingest = NULL;
}
