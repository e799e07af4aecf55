#include "vt.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/str.h"

void vt_open(struct vt *v, int columns, int rows)
{
    assert_true(columns <= VT_MAX_COLUMNS && rows <= VT_MAX_ROWS);
    *v = (struct vt){.columns = columns, .rows = rows};
}

void vt_close(struct vt *v)
{
    free(v->scrolled);
    v->scrolled = NULL;
}

static void add_point(struct str *out, unsigned c)
{
    char utf8[5] = {0};

    if (c < 0x80)
        utf8[0] = (char)(c ? c : ' ');
    else if (c < 0x800) {
        utf8[0] = (char)(0xC0 | c >> 6);
        utf8[1] = (char)(0x80 | (c & 0x3F));
    } else {
        utf8[0] = (char)(0xE0 | c >> 12);
        utf8[1] = (char)(0x80 | (c >> 6 & 0x3F));
        utf8[2] = (char)(0x80 | (c & 0x3F));
    }
    str_add(out, utf8);
}

static void add_row(const struct vt *v, int row, struct str *out)
{
    int n = v->columns;

    while (n > 0 && (!v->cells[row][n - 1] || v->cells[row][n - 1] == ' '))
        n--;
    for (int i = 0; i < n; i++)
        add_point(out, v->cells[row][i]);
    str_add(out, "\n");
}

char *vt_text(const struct vt *v)
{
    struct str out = STR_INIT;

    str_add(&out, v->scrolled ? v->scrolled : "");
    for (int i = 0; i < v->rows; i++)
        add_row(v, i, &out);
    while (out.len > 1 && out.s[out.len - 1] == '\n' && out.s[out.len - 2] == '\n')
        out.s[--out.len] = '\0';
    return str_detach(&out);
}

static void line_feed(struct vt *v)
{
    struct str kept = STR_INIT;

    if (++v->row < v->rows)
        return;
    v->row = v->rows - 1;
    v->n_scrolled++;
    str_add(&kept, v->scrolled ? v->scrolled : "");
    add_row(v, 0, &kept);
    free(v->scrolled);
    v->scrolled = str_detach(&kept);
    memmove(v->cells[0], v->cells[1], (size_t)(v->rows - 1) * sizeof(v->cells[0]));
    memset(v->cells[v->rows - 1], 0, sizeof(v->cells[0]));
}

static void print(struct vt *v, unsigned c)
{
    if (v->column == v->columns) {
        v->n_wrapped++;
        v->column = 0;
        line_feed(v);
    }
    v->cells[v->row][v->column++] = c;
}

static void erase_line(struct vt *v, int row, int from)
{
    for (int i = from; i < v->columns; i++)
        v->cells[row][i] = 0;
}

static void sequence(struct vt *v)
{
    const char last = v->pending[v->n_pending - 1];
    int n = 1;

    sscanf(v->pending + 2, "%d", &n);
    if (last == 'K' || last == 'J')
        erase_line(v, v->row, v->column);
    for (int i = v->row + 1; last == 'J' && i < v->rows; i++)
        erase_line(v, i, 0);
    if (last == 'A') {
        v->row = v->row > n ? v->row - n : 0;
        v->column = v->column < v->columns ? v->column : v->columns - 1;
    }
    if (!strchr("KJAm", last))
        fail_msg("an escape sequence that ends in %c", last);
}

static unsigned point_of(const char *s, size_t n)
{
    unsigned c = (unsigned char)s[0] & (n == 1 ? 0x7Fu : n == 2 ? 0x1Fu : 0x0Fu);

    for (size_t i = 1; i < n; i++)
        c = c << 6 | ((unsigned char)s[i] & 0x3Fu);
    return c;
}

static void byte(struct vt *v, char b)
{
    const unsigned char first = (unsigned char)(v->n_pending ? v->pending[0] : b);
    size_t need;

    v->pending[v->n_pending++] = b;
    assert_true(v->n_pending < sizeof(v->pending));
    if (first == '\033') {
        if (v->n_pending == 2)
            assert_int_equal(b, '[');
        if (v->n_pending < 3 || (b >= '0' && b <= '9') || b == ';')
            return;
        sequence(v);
        v->n_pending = 0;
        return;
    }
    need = first < 0x80 ? 1 : first < 0xE0 ? 2 : 3;
    if (v->n_pending < need)
        return;
    if (b == '\r')
        v->column = 0;
    else if (b == '\n')
        line_feed(v);
    else if (first < 0x20 || first == 0x7F)
        fail_msg("control character 0x%02x", first);
    else
        print(v, point_of(v->pending, need));
    v->n_pending = 0;
}

void vt_feed(struct vt *v, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        byte(v, bytes[i]);
        if (v->n_pending == 0)
            memset(v->pending, 0, sizeof(v->pending));
    }
}

struct pty pty_open(int columns, int rows)
{
    struct pty p = {.master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};
    const struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};

    assert_true(p.master >= 0);
    assert_int_equal(grantpt(p.master), 0);
    assert_int_equal(unlockpt(p.master), 0);
    p.slave = open(ptsname(p.master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(p.slave >= 0);
    assert_int_equal(ioctl(p.slave, TIOCSWINSZ, &size), 0);
    return p;
}

/* A terminal hands over what it likes at a time, then fails with EIO. */
void pty_drain(struct pty *p, struct vt *v)
{
    char bytes[4096];
    ssize_t got;

    close(p->slave);
    while ((got = read(p->master, bytes, sizeof(bytes))) > 0)
        vt_feed(v, bytes, (size_t)got);
    close(p->master);
}

static void feed_from(struct pty *p, struct vt *v)
{
    char bytes[4096];
    const ssize_t got = read(p->master, bytes, sizeof(bytes));

    if (got > 0)
        vt_feed(v, bytes, (size_t)got);
}

void pty_wait(struct pty *p, struct vt *v, const char *part)
{
    struct pollfd more = {.fd = p->master, .events = POLLIN};
    const int64_t end = clock_ns() + (int64_t)60e9;
    char *text = vt_text(v);

    while (!strstr(text, part)) {
        if (poll(&more, 1, 60000) != 1 || clock_ns() > end) {
            close(p->master); /* whoever writes there must not wait for a reader */
            fail_msg("no \"%s\" within a minute in: %s", part, text);
        }
        feed_from(p, v);
        free(text);
        text = vt_text(v);
    }
    free(text);
}

int pty_end(struct pty *p, struct vt *v, pid_t pid)
{
    struct pollfd more = {.fd = p->master, .events = POLLIN};
    int status, has_ended = 0;

    for (;;) {
        if (poll(&more, 1, has_ended ? 0 : 20) == 1 && more.revents & POLLIN)
            feed_from(p, v);
        else if (has_ended)
            return status;
        else
            has_ended = waitpid(pid, &status, WNOHANG) == pid;
    }
}
