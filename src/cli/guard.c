/* The run's side of its supervisor. */
#include "cli/guard.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/guard_int.h"

struct guard {
    struct guard_plan plan;
    int fd;      /* of messages; -1: no supervisor, or not any more */
    pid_t pid;   /* 0: none */
    int waiting; /* answers that are to come */
    int is_lost; /* the supervisor died */
    int is_over;
    char *dir;
    struct guard_report report;
};

struct guard_report guard_report_none(void)
{
    struct guard_report r = {.memory_limit_bytes = -1,
                             .cache_bytes = -1,
                             .anon_at_warmup_bytes = -1,
                             .disk_limit_bytes_per_s = -1,
                             .oom_kills = -1};

    guard_ingest_expect(&r);
    return r;
}

/* ---- talking ---- */

static void wait_for_supervisor(struct guard *g)
{
    if (g->fd >= 0)
        close(g->fd);
    while (g->pid > 0 && waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    g->fd = -1;
    g->pid = 0;
}

/* What it owned is mended at the end. */
static void lost(struct guard *g)
{
    wait_for_supervisor(g);
    g->is_lost = 1;
    ingest_fail(&g->report.ingest, "the run's supervisor died, and fio with it");
    snprintf(g->report.words, sizeof(g->report.words),
             "the run's supervisor died; what was in force then stays so until the run ends, and "
             "nothing new begins");
    warning("%s", g->report.words);
}

/* One answer; flags MSG_DONTWAIT: when it is there. Returns what was asked, whose result is *rc, -1
 * when there is none. */
static int hear(struct guard *g, int flags, int *rc)
{
    struct guard_message m;
    ssize_t n;

    do
        n = recv(g->fd, &m, sizeof(m), flags);
    while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return -1;
    if (n != (ssize_t)sizeof(m)) {
        lost(g);
        return -1;
    }
    g->waiting--;
    g->report = m.report;
    *rc = m.rc;
    if (m.rc < 0)
        err(m.rc, "%s", m.text);
    return (int)m.question;
}

/* What is known by now. A failure at the end of warm-up is one that nobody waited for. */
static void hear_all(struct guard *g, int flags)
{
    while (g->fd >= 0 && g->waiting > 0) {
        int rc = 0;
        if (hear(g, flags, &rc) < 0)
            return;
        if (rc < 0)
            warning("%s", err_reason());
    }
}

static void ask(struct guard *g, enum guard_question question, const char *text, int64_t start_ms)
{
    struct guard_message m = {.question = question, .start_ms = start_ms};

    if (g->fd < 0)
        return;
    snprintf(m.text, sizeof(m.text), "%s", text);
    if (send(g->fd, &m, sizeof(m), MSG_NOSIGNAL) == (ssize_t)sizeof(m))
        g->waiting++;
    else
        lost(g);
}

/* ---- the run's calls ---- */

static int start(struct guard *g)
{
    const pid_t run = getpid();
    int ends[2], rc = 0;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err(E_IO, "a pair of sockets for the supervisor: %s", strerror(errno));
    fflush(NULL);
    g->pid = fork();
    if (g->pid == 0) {
        close(ends[0]); /* or it would never see the run's end */
        supervise(&g->plan, ends[1], run);
    }
    close(ends[1]);
    g->fd = ends[0];
    if (g->pid < 0) {
        g->pid = 0;
        return err(E_IO, "start the supervisor: %s", strerror(errno));
    }
    g->waiting = 1;
    if (hear(g, 0, &rc) < 0)
        return err(E_IO, "the run's supervisor ended before it was asked anything");
    return rc;
}

static int is_needed(const struct guard_plan *p)
{
    return p->memory_bytes > 0 || p->limits_cache || p->disk_bytes_per_s > 0 || p->ingest;
}

int guard_open(const struct guard_plan *plan, struct guard **out)
{
    struct guard *const g = xcalloc(1, sizeof(*g));
    int rc;

    *out = NULL;
    *g = (struct guard){.plan = *plan, .fd = -1, .report = guard_report_none()};
    rc = is_needed(plan) ? start(g) : 0;
    if (rc < 0) {
        wait_for_supervisor(g);
        free(g);
        return rc;
    }
    if (!is_needed(plan) && plan->instead)
        snprintf(g->report.how, sizeof(g->report.how), "%s", plan->instead);
    *out = g;
    return 0;
}

/* Of an earlier run in the folder, whose supervisor may still be at it. */
static int mend_earlier(const char *dir)
{
    enum { ATTEMPTS = 100 };
    struct mended m;
    int rc = 0;

    for (int i = 0; i < ATTEMPTS; i++) {
        rc = leftovers_mend(dir, getpid(), &m);
        if (rc != E_USAGE)
            break;
        clock_sleep_ns(100000000);
    }
    return rc;
}

int guard_folder(struct guard *g, const char *dir)
{
    int rc = 0;

    TRY(mend_earlier(dir));
    if (!g)
        return 0;
    g->dir = realpath(dir, NULL);
    if (!g->dir)
        return err(E_IO, "the path of %s: %s", dir, strerror(errno));
    ask(g, GUARD_PLACE, g->dir, 0);
    if (g->fd >= 0)
        hear(g, 0, &rc);
    return rc;
}

void guard_warm(struct guard *g, int64_t start_ms)
{
    const int64_t until = clock_ns() + 5 * (int64_t)1000000000;
    struct pollfd p = {.events = POLLIN};

    if (!g)
        return;
    ask(g, GUARD_WARM, "", start_ms);
    for (int64_t ms; g->fd >= 0 && g->waiting > 0 && (ms = (until - clock_ns()) / 1000000) > 0;) {
        p.fd = g->fd;
        if (poll(&p, 1, (int)ms) > 0)
            hear_all(g, MSG_DONTWAIT);
    }
}

const struct guard_report *guard_report(struct guard *g)
{
    hear_all(g, MSG_DONTWAIT);
    return &g->report;
}

/* leftovers.json stays where something does. */
static void warn_of_what_is_left(const struct guard *g)
{
    char *const path = g->dir ? file_join(g->dir, "leftovers.json") : NULL;

    if (path && file_exists(path))
        warning("%s; stave clean %s mends it",
                g->report.words[0] ? g->report.words : "something of the run is left", g->dir);
    free(path);
}

void guard_end(struct guard *g)
{
    struct mended m;

    if (!g || g->is_over)
        return;
    g->is_over = 1;
    ask(g, GUARD_END, "", 0);
    hear_all(g, 0);
    wait_for_supervisor(g);
    if (g->is_lost && g->dir && leftovers_mend(g->dir, getpid(), &m) < 0)
        warning("%s; stave clean %s mends it", err_reason(), g->dir);
    else
        warn_of_what_is_left(g);
}

void guard_close(struct guard *g)
{
    if (!g)
        return;
    guard_end(g);
    free(g->dir);
    free(g);
}

/* ---- result.json ---- */

static void add_number(struct str *out, const char *key, long long n)
{
    if (n < 0)
        return;
    json_add_key(out, key);
    str_printf(out, "%lld", n);
}

static void add_ceiling(const struct guard_report *r, struct str *out)
{
    str_add(out, ",\n  \"ceiling\": {");
    json_add_text(out, "how", r->how);
    add_number(out, "memory_limit_bytes", r->memory_limit_bytes);
    add_number(out, "cache_bytes", r->cache_bytes);
    add_number(out, "anon_at_warmup_bytes", r->anon_at_warmup_bytes);
    add_number(out, "disk_limit_bytes_per_s", r->disk_limit_bytes_per_s);
    add_number(out, "oom_kills", r->oom_kills);
    json_add_text(out, "words", r->words);
    str_add(out, "}");
}

static void add_ingest(const struct guard_report *r, const struct ingest_settings *spec,
                       struct str *out)
{
    struct str text = STR_INIT;

    ingest_add_spec(spec, &text);
    str_add(out, ",\n  \"ingest\": {");
    ingest_add_json(text.s, &r->ingest, out);
    str_add(out, "}");
    str_release(&text);
}

void guard_report_add_json(const struct guard_report *r, const struct guard_plan *plan,
                           struct str *out)
{
    if (r->how[0] || r->words[0])
        add_ceiling(r, out);
    if (plan->ingest)
        add_ingest(r, plan->ingest, out);
}

void guard_add_json(struct guard *g, struct str *out)
{
    if (g)
        guard_report_add_json(guard_report(g), &g->plan, out);
}
