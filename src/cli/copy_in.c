#include "cli/copy_in.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/warm.h"
#include "trace/event_read.h"

enum { CHUNK = 1 << 20 };

struct copy_count {
    _Atomic uint64_t bytes, passes;
    _Atomic int64_t began_ns, ended_ns;
    _Atomic int error; /* errno */
    _Atomic int stop;
};

/* ---- the files of a folder ---- */

static void add_files(const char *dir, struct file_names *out)
{
    struct file_names names;

    if (file_list(dir, &names) < 0)
        return;
    for (size_t i = 0; i < names.n; i++) {
        char *const path = file_join(dir, names.all[i]);
        struct stat st;

        if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
            add_files(path, out);
        if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
            file_names_add(out, path);
        else
            free(path);
    }
    file_names_release(&names);
}

static double bytes_of(const struct file_names *files)
{
    double bytes = 0;
    struct stat st;

    for (size_t i = 0; i < files->n; i++)
        bytes += stat(files->all[i], &st) == 0 ? (double)st.st_size : 0;
    return bytes;
}

int copy_in_check(const char *from, const char *dir)
{
    struct file_names files = {0};
    const double free_bytes = (double)file_free_bytes(dir);
    double bytes;

    if (!file_is_folder(from))
        return err(E_USAGE, "--copy-in %s: there is no such folder", from);
    add_files(from, &files);
    bytes = bytes_of(&files);
    file_names_release(&files);
    if (!(bytes > 0))
        return err(E_USAGE, "--copy-in %s: the folder holds no bytes to copy", from);
    if (free_bytes >= 0 && bytes > 0.95 * free_bytes)
        return err(E_IO,
                   "--copy-in %s: %.3g GB to copy and %.3g GB free where %s is, of which a "
                   "twentieth must stay; choose another --out, or a smaller folder",
                   from, bytes / 1e9, free_bytes / 1e9, dir);
    return 0;
}

/* ---- the process ---- */

struct copier {
    struct copy_count *count;
    const char *folder, *events;
    pid_t parent;
    char *buffer;
};

static int is_over(const struct copier *c)
{
    return atomic_load(&c->count->stop) || getppid() != c->parent;
}

static void take_event(void *warm, const struct trace_event *e)
{
    warm_over(warm, e);
}

/* Whether the run's warm-up is over; it may end before. */
static int wait_for_warm(const struct copier *c, double warm_s)
{
    const int64_t a_while = 20000000;
    struct warm warm = {.seconds = warm_s};
    long at = 0;

    while (!warm.over && !is_over(c)) {
        clock_sleep_ns(a_while);
        event_read_file(c->events, &at, take_event, &warm);
    }
    return warm.over;
}

static int copy_bytes(const struct copier *c, int in, int out)
{
    ssize_t n = 1, done;

    while (n > 0 && !is_over(c)) {
        n = read(in, c->buffer, CHUNK);
        for (ssize_t at = 0; n > 0 && at < n; at += done) {
            done = write(out, c->buffer + at, (size_t)(n - at));
            if (done < 0)
                return errno;
            atomic_fetch_add(&c->count->bytes, (uint64_t)done);
        }
    }
    return n < 0 ? errno : 0;
}

static int copy_file(const struct copier *c, const char *from, size_t number)
{
    char *const to = xasprintf("%s/%zu", c->folder, number);
    const int in = open(from, O_RDONLY | O_CLOEXEC);
    const int out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int error = out < 0 ? errno : copy_bytes(c, in, out);

    if (in >= 0)
        close(in);
    if (out >= 0 && close(out) < 0 && !error)
        error = errno;
    free(to);
    return error;
}

static int copy_all(const struct copier *c, const struct file_names *files)
{
    int error = file_mkdirs(c->folder) < 0 ? EIO : 0;

    for (size_t i = 0; i < files->n && !error && !is_over(c); i++)
        error = copy_file(c, files->all[i], i);
    file_remove_tree(c->folder);
    return error;
}

static _Noreturn void copy_until_stopped(struct copier *c, const char *from, double warm_s)
{
    struct file_names files = {0};
    int error = 0;

    c->buffer = xmalloc(CHUNK);
    add_files(from, &files);
    if (wait_for_warm(c, warm_s))
        atomic_store(&c->count->began_ns, clock_ns());
    while (!error && !is_over(c)) {
        error = copy_all(c, &files);
        atomic_fetch_add(&c->count->passes, !error && !is_over(c));
    }
    atomic_store(&c->count->error, error);
    atomic_store(&c->count->ended_ns, clock_ns());
    _exit(0);
}

/* ---- from outside ---- */

int copy_in_start(const char *from, const char *run_dir, double warm_s, struct copy_in *out)
{
    struct copy_count *const count =
        mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const pid_t parent = getpid();
    char *events;

    if (count == MAP_FAILED)
        return err(E_IO, "start the copy of %s: %s", from, strerror(errno));
    *out = (struct copy_in){.from = xstrdup(from),
                            .run_dir = xstrdup(run_dir),
                            .folder = file_join(run_dir, "copy-in"),
                            .count = count};
    events = file_join(run_dir, "events.jsonl");
    out->pid = fork();
    if (out->pid == 0) {
        struct copier c = {
            .count = count, .folder = out->folder, .events = events, .parent = parent};
        copy_until_stopped(&c, from, warm_s);
    }
    free(events);
    return out->pid > 0 ? 0 : err(E_IO, "start the copy of %s: %s", from, strerror(errno));
}

static int write_report(const struct copy_in *c)
{
    const struct copy_count *const n = c->count;
    const double bytes = (double)atomic_load(&n->bytes);
    const int64_t began = atomic_load(&n->began_ns), ended = atomic_load(&n->ended_ns);
    const double seconds = began ? (double)(ended - began) / 1e9 : 0;
    const int error = atomic_load(&n->error);
    char *const path = file_join(c->run_dir, COPY_IN_REPORT);
    struct str out = STR_INIT;
    int rc;

    str_add(&out, "{");
    json_add_text(&out, "from", c->from);
    json_add_real(&out, "copied_bytes", bytes);
    json_add_real(&out, "seconds", seconds);
    json_add_real(&out, "copied_bytes_per_s", seconds > 0 ? bytes / seconds : 0);
    json_add_real(&out, "passes", (double)atomic_load(&n->passes));
    json_add_text(&out, "error", ended == 0 ? "it was ended" : error ? strerror(error) : "");
    str_add(&out, "}\n");
    rc = file_replace(path, out.s, out.len);
    str_release(&out);
    free(path);
    return rc;
}

int copy_in_stop(struct copy_in *c)
{
    int rc = 0;

    if (c->pid > 0) {
        atomic_store(&c->count->stop, 1);
        waitpid(c->pid, NULL, 0);
        file_remove_tree(c->folder); /* of one that was killed */
        if (file_is_folder(c->run_dir))
            rc = write_report(c);
    }
    munmap(c->count, sizeof(*c->count));
    free(c->from);
    free(c->run_dir);
    free(c->folder);
    *c = (struct copy_in){0};
    return rc;
}
