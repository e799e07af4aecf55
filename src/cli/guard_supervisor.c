/* The supervisor's process. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/guard_int.h"
#include "cli/page.h"
#include "cli/run_killed.h"
#include "meter/disk_path.h"

enum { POLL_MS = 200 };

/* ---- what is noted ---- */

int supervisor_note(struct supervisor *s)
{
    return s->dir ? leftovers_write(s->dir, &s->left) : 0;
}

static void note_groups(struct supervisor *s)
{
    for (size_t i = 0; i < s->ceiling.n_groups; i++) {
        const struct ceiling_group *const g = &s->ceiling.groups[i];
        s->left.groups[s->left.n_groups++] = (struct ceiling_group){
            xstrdup(g->path), xstrdup(g->back), g->off ? xstrdup(g->off) : NULL};
    }
}

/* ---- limits ---- */

/* A btrfs on several devices is no device itself: each of them has the limit. */
static int limit_devices(struct supervisor *s, const struct disk_path *d)
{
    const long long most = s->plan.disk_bytes_per_s;

    if (d->n_leaves < 2 || strcmp(d->type, "btrfs") != 0)
        return ceiling_limit_disk(&s->ceiling, d->whole.major, d->whole.minor, most);
    for (size_t i = 0; i < d->n_leaves; i++)
        TRY(ceiling_limit_disk(&s->ceiling, d->leaves[i].device.major, d->leaves[i].device.minor,
                               most));
    return 0;
}

static int limit_disk(struct supervisor *s, const char *path)
{
    struct disk_path d;
    int rc;

    TRY(disk_path_find("", path, &d));
    rc = d.kind == DISK_BLOCK
             ? limit_devices(s, &d)
             : err(E_UNSUPPORTED, "--disk-limit: %s is on no disk of this machine (%s)", path,
                   d.words);
    disk_path_release(&d);
    return rc;
}

static int limit_memory(struct supervisor *s, long long bytes)
{
    TRY(ceiling_limit_memory(&s->ceiling, bytes));
    s->report.memory_limit_bytes = bytes;
    return 0;
}

static int set_limits(struct supervisor *s)
{
    if (s->plan.memory_bytes > 0)
        TRY(limit_memory(s, s->plan.memory_bytes));
    for (size_t i = 0; i < s->plan.n_disk_paths && s->plan.disk_bytes_per_s > 0; i++)
        TRY(limit_disk(s, s->plan.disk_paths[i]));
    if (s->plan.disk_bytes_per_s > 0)
        s->report.disk_limit_bytes_per_s = s->plan.disk_bytes_per_s;
    return ceiling_join(&s->ceiling, s->run);
}

static int same_program(pid_t a, pid_t b)
{
    char names[2][4096];
    ssize_t n[2];

    for (int i = 0; i < 2; i++) {
        char *const path = xasprintf("/proc/%d/exe", (int)(i ? b : a));
        n[i] = readlink(path, names[i], sizeof(names[i]));
        free(path);
    }
    return n[0] > 0 && n[0] == n[1] && memcmp(names[0], names[1], (size_t)n[0]) == 0;
}

/* The set or study that makes the run; 0: none. */
static pid_t maker_of(pid_t run)
{
    char *const path = xasprintf("/proc/%d/status", (int)run);
    char *const text = cgroup_slurp("", path);
    long long parent = 0;

    if (!cgroup_field(text, "PPid:", &parent) || !same_program((pid_t)parent, run))
        parent = 0;
    free(text);
    free(path);
    return (pid_t)parent;
}

/* Processes that nobody but the run and its supervisor are: the run's own group may be given over
 * to them alone. */
static int make_ceiling(struct supervisor *s)
{
    const struct ceiling_wish wish = {.root = "",
                                      .memory = s->plan.memory_bytes > 0 || s->plan.limits_cache,
                                      .disk = s->plan.disk_bytes_per_s > 0,
                                      .run = s->run,
                                      .others = {getpid(), maker_of(s->run)}};
    snprintf(s->report.how, sizeof(s->report.how), "%s", s->plan.instead ? s->plan.instead : "");
    if (!wish.memory && !wish.disk)
        return 0;
    TRY(ceiling_find(&s->ceiling, &wish));
    TRY(ceiling_make(&s->ceiling));
    note_groups(s);
    snprintf(s->report.how, sizeof(s->report.how), "%s%s%s", s->ceiling.how,
             s->plan.instead ? ", " : "", s->plan.instead ? s->plan.instead : "");
    return set_limits(s);
}

/* Beyond what is held now. A ceiling of --memory that is lower stays. */
static int limit_cache(struct supervisor *s)
{
    struct ceiling_use use;
    long long bytes;

    ceiling_read(&s->ceiling, &use);
    if (use.held < 0)
        return err(E_IO,
                   "the control group does not say what it holds, so --cache is not in force");
    s->report.anon_at_warmup_bytes = use.anon;
    bytes = use.held + s->plan.cache_bytes;
    if (s->plan.memory_bytes <= 0 || s->plan.memory_bytes >= bytes) {
        TRY(limit_memory(s, bytes));
        s->report.cache_bytes = s->plan.cache_bytes;
    }
    s->report.cache_began = 1;
    return 0;
}

/* ---- the end ---- */

static void say(struct supervisor *s, const char *words)
{
    if (!s->report.words[0])
        snprintf(s->report.words, sizeof(s->report.words), "%s", words);
}

static void forget_leftovers(struct supervisor *s)
{
    char *const path = s->dir ? file_join(s->dir, "leftovers.json") : NULL;

    if (path)
        unlink(path);
    free(path);
}

static void read_kills(struct supervisor *s)
{
    struct ceiling_use use;

    ceiling_read(&s->ceiling, &use);
    s->report.oom_kills = use.oom_kills;
}

/* Ingest, group, and what is noted of them. */
static void mend(struct supervisor *s)
{
    int rc = 0;

    if (s->ingest)
        guard_ingest_end(s);
    if (s->ceiling.n_groups) {
        read_kills(s);
        rc = ceiling_remove("", s->ceiling.groups, s->ceiling.n_groups);
    }
    if (rc < 0)
        say(s, err_reason());
    else if (!s->left.ingest_folder)
        forget_leftovers(s);
    if (s->left.ingest_folder)
        say(s, "the folder of the ingest's files can not be removed");
}

/* ---- a run that ended without a word ---- */

static void say_killed(struct supervisor *s)
{
    if (s->report.oom_kills <= 0)
        return;
    snprintf(s->report.words, sizeof(s->report.words),
             "the run was killed by its ceiling of %.0f MiB: its own memory does not fit; raise %s",
             (double)s->report.memory_limit_bytes / 0x1p20,
             s->report.cache_bytes >= 0 ? "--cache" : "--memory");
    err_print("", s->report.words);
}

static void finish_result(const struct supervisor *s)
{
    struct str members = STR_INIT;

    if (!s->dir)
        return;
    str_add(&members, "");
    guard_report_add_json(&s->report, &s->plan, &members);
    if (run_mark_killed(s->dir, members.s) < 0)
        err_print("", err_reason());
    else
        page_write(s->dir);
    str_release(&members);
}

/* ---- messages ---- */

static void answer(const struct supervisor *s, enum guard_question question, int rc)
{
    struct guard_message m = {.question = question, .rc = rc, .report = s->report};

    snprintf(m.text, sizeof(m.text), "%s", rc < 0 ? err_reason() : "");
    send(s->fd, &m, sizeof(m), MSG_NOSIGNAL);
}

static int place(struct supervisor *s, const char *dir)
{
    s->dir = xstrdup(dir);
    s->left.supervisor = process_of(getpid());
    s->left.run = process_of(s->run);
    return s->left.n_groups || s->plan.ingest ? supervisor_note(s) : 0;
}

static int warm(struct supervisor *s, int64_t start_ms)
{
    int rc = 0;

    s->start_ms = start_ms;
    if (s->plan.limits_cache)
        rc = limit_cache(s);
    if (rc < 0)
        say(s, err_reason());
    if (s->plan.ingest && !s->ingest)
        guard_ingest_begin(s);
    return rc;
}

/* Returns 0 when it was the last one. */
static int hear(struct supervisor *s, const struct guard_message *m)
{
    int rc = 0;

    if (m->question == GUARD_PLACE)
        rc = place(s, m->text);
    else if (m->question == GUARD_WARM)
        rc = warm(s, m->start_ms);
    else
        mend(s);
    answer(s, m->question, rc);
    return m->question != GUARD_END;
}

static void serve(struct supervisor *s)
{
    struct pollfd p = {.fd = s->fd, .events = POLLIN};
    struct guard_message m;

    for (;;) {
        const int n = poll(&p, 1, s->ingest ? POLL_MS : -1);
        if (s->ingest)
            guard_ingest_poll(s);
        if (n <= 0)
            continue;
        if (recv(s->fd, &m, sizeof(m), 0) != (ssize_t)sizeof(m))
            break;
        m.text[sizeof(m.text) - 1] = '\0';
        if (!hear(s, &m))
            return;
    }
    mend(s);
    say_killed(s);
    finish_result(s);
}

/* Where close_range is missing or forbidden: what the process itself is told of its descriptors. */
static void close_listed_but(int fd)
{
    DIR *const list = opendir("/proc/self/fd");
    const struct dirent *e;

    while (list && (e = readdir(list))) {
        const int n = atoi(e->d_name);
        if (n > STDERR_FILENO && n != fd && n != dirfd(list))
            close(n);
    }
    if (list)
        closedir(list);
}

void supervisor_close_all_but(int fd)
{
    const unsigned first = STDERR_FILENO + 1;
    int rc = 0;

    if (fd > (int)first)
        rc = close_range(first, (unsigned)fd - 1, 0);
    if (rc == 0)
        rc = close_range(fd >= (int)first ? (unsigned)fd + 1 : first, ~0U, 0);
    if (rc < 0)
        close_listed_but(fd);
}

/* No terminal, no descriptor of the run's: neither its locks nor its pipes live on. */
static void part_from_run(int fd)
{
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);

    setsid();
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    if (nowhere >= 0) {
        dup2(nowhere, STDIN_FILENO);
        dup2(nowhere, STDOUT_FILENO);
    }
    supervisor_close_all_but(fd);
}

/* Of groups that were made; the reason stays what it is. */
static void undo(struct supervisor *s, int rc)
{
    char *const reason = xstrdup(err_reason());

    if (s->left.n_groups)
        ceiling_remove("", s->left.groups, s->left.n_groups);
    err(rc, "%s", reason);
    free(reason);
}

_Noreturn void supervise(const struct guard_plan *plan, int fd, pid_t run)
{
    struct supervisor s = {.plan = *plan, .fd = fd, .run = run, .report = guard_report_none()};
    int rc;

    part_from_run(fd);
    rc = make_ceiling(&s);
    if (rc < 0)
        undo(&s, rc);
    answer(&s, GUARD_OPEN, rc);
    if (rc == 0)
        serve(&s);
    _exit(0);
}
