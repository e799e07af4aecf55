#include "trace/tail.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"

/* Of lines at a time; a longer line is none of ours. */
enum { TAIL_MOST = 1 << 18 };

static void forget(struct tail *t)
{
    if (t->fd > 0)
        close(t->fd);
    t->fd = 0;
    t->at = 0;
    t->is_within = 0;
    str_reset(&t->header);
}

void tail_release(struct tail *t)
{
    forget(t);
    str_release(&t->header);
    str_release(&t->lines);
}

/* Whether the path leads to another file than the open one, or that one has lost lines. A file that
 * is away for a moment, being replaced, is none. */
static int is_another(const struct tail *t)
{
    struct stat now, open_one;

    if (stat(t->path, &now) < 0 || fstat(t->fd, &open_one) < 0)
        return 0;
    return now.st_dev != open_one.st_dev || now.st_ino != open_one.st_ino ||
           (uint64_t)open_one.st_size < t->at;
}

/* What stands behind at, at most TAIL_MOST bytes; how many. */
static size_t look(struct tail *t)
{
    struct stat st;
    size_t n;
    ssize_t got;

    str_reset(&t->lines);
    str_add(&t->lines, "");
    if (fstat(t->fd, &st) < 0 || (uint64_t)st.st_size <= t->at)
        return 0;
    n = (uint64_t)st.st_size - t->at < TAIL_MOST ? (size_t)((uint64_t)st.st_size - t->at)
                                                 : TAIL_MOST;
    str_printf(&t->lines, "%*s", (int)n, "");
    got = pread(t->fd, t->lines.s, n, (off_t)t->at);
    t->lines.len = got > 0 ? (size_t)got : 0;
    t->lines.s[t->lines.len] = '\0';
    return t->lines.len;
}

/* Bytes up to the last newline, and that. */
static size_t whole(const struct str *s)
{
    const char *const end = s->len ? memrchr(s->s, '\n', s->len) : NULL;

    return end ? (size_t)(end - s->s) + 1 : 0;
}

static void drop_front(struct str *s, size_t n)
{
    memmove(s->s, s->s + n, s->len - n + 1);
    s->len -= n;
}

/* The first line; then on to the newest ones. */
static int read_header(struct tail *t)
{
    struct stat st;
    char *end;

    if (!look(t) || !(end = memchr(t->lines.s, '\n', t->lines.len)))
        return 0;
    str_add_bytes(&t->header, t->lines.s, (size_t)(end - t->lines.s) + 1);
    t->at = t->header.len;
    if (t->newest && fstat(t->fd, &st) == 0 && (uint64_t)st.st_size > t->at + t->newest) {
        t->at = (uint64_t)st.st_size - t->newest - 1; /* the byte before may end a line */
        t->is_within = 1;
    }
    return 1;
}

/* The rest of a line that is left out goes. */
static void leave_out(struct tail *t)
{
    const char *const end = memchr(t->lines.s, '\n', t->lines.len);
    const size_t n = end ? (size_t)(end - t->lines.s) + 1 : t->lines.len;

    drop_front(&t->lines, n);
    t->at += n;
    t->is_within = !end;
}

static enum tail_news read_lines(struct tail *t)
{
    size_t n;

    if (!look(t))
        return TAIL_NOTHING;
    if (t->is_within)
        leave_out(t);
    n = whole(&t->lines);
    if (n == 0 && t->lines.len == TAIL_MOST) {
        t->is_within = 1;
        t->at += t->lines.len;
    }
    t->at += n;
    t->lines.len = n;
    t->lines.s[n] = '\0';
    return n ? TAIL_LINES : TAIL_NOTHING;
}

enum tail_news tail_read(struct tail *t)
{
    if (t->fd > 0 && is_another(t)) {
        forget(t);
        return TAIL_AGAIN;
    }
    if (t->fd <= 0)
        t->fd = file_open(t->path);
    if (t->fd <= 0 || (t->has_header && !t->header.len && !read_header(t)) ||
        read_lines(t) != TAIL_LINES)
        return TAIL_NOTHING;
    if (t->header.len) {
        struct str all = STR_INIT;

        str_add_bytes(&all, t->header.s, t->header.len);
        str_add_bytes(&all, t->lines.s, t->lines.len);
        str_release(&t->lines);
        t->lines = all;
    }
    return TAIL_LINES;
}
