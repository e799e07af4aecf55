#include "base/screen.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/str.h"

/* Back to column 0, and the rest of the screen is empty. */
static const char take_away[] = "\r\033[J";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int screen_fd = -1, is_shown, is_drawing;
static struct str drawn; /* the lines that are shown */
static struct screen_size drawn_in;

int screen_can_draw(int fd)
{
    const char *const term = getenv("TERM");

    return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

struct screen_size screen_size_of(int fd)
{
    struct winsize w = {0};

    if (ioctl(fd, TIOCGWINSZ, &w) < 0 || w.ws_col == 0 || w.ws_row == 0)
        return (struct screen_size){80, 24};
    return (struct screen_size){w.ws_col, w.ws_row};
}

void screen_open(int fd)
{
    pthread_mutex_lock(&lock);
    atomic_store(&screen_fd, fd);
    pthread_mutex_unlock(&lock);
}

/* The shell has the terminal, and its prompt stands there. Terminals that do not tell are ours. */
static int in_background(int fd)
{
    const pid_t owner = tcgetpgrp(fd);

    return owner > 0 && owner != getpgrp();
}

static int stands_there(const char *lines, struct screen_size size)
{
    return atomic_load(&is_shown) && size.columns == drawn_in.columns &&
           size.rows == drawn_in.rows && strcmp(drawn.s, lines) == 0;
}

/* Each line takes the place of the old one, so that nothing is empty in between. */
static void compose(const char *lines, struct str *out)
{
    int n = 0;

    str_add(out, "\r\033[K");
    for (const char *p = lines, *end; *p && (end = strchr(p, '\n')); p = end + 1, n++) {
        str_add(out, "\n");
        str_add_bytes(out, p, (size_t)(end - p));
        str_add(out, "\033[K");
    }
    str_add(out, "\033[J");
    if (n)
        str_printf(out, "\033[%dA", n);
    str_add(out, "\r");
}

static int draw(int fd, const char *lines)
{
    const struct screen_size size = screen_size_of(fd);
    struct str out = STR_INIT;
    int rc;

    if (stands_there(lines, size))
        return 0;
    compose(lines, &out);
    atomic_store(&is_shown, 1);
    rc = file_write_all(fd, out.s, out.len, "the terminal");
    str_release(&out);
    str_reset(&drawn);
    str_add(&drawn, lines);
    drawn_in = size;
    return rc;
}

int screen_draw(const char *lines)
{
    int fd, rc = 0;

    pthread_mutex_lock(&lock);
    atomic_store(&is_drawing, 1);
    fd = atomic_load(&screen_fd);
    if (fd >= 0 && in_background(fd))
        atomic_store(&is_shown, 0);
    else if (fd >= 0)
        rc = draw(fd, lines);
    atomic_store(&is_drawing, 0);
    pthread_mutex_unlock(&lock);
    return rc;
}

static void clear(int fd)
{
    ssize_t put = 0;

    if (atomic_exchange(&is_shown, 0) && fd >= 0 && !in_background(fd))
        put = write(fd, take_away, sizeof(take_away) - 1);
    (void)put; /* nothing can be done about a terminal that does not take it */
}

void screen_close(void)
{
    pthread_mutex_lock(&lock);
    clear(atomic_exchange(&screen_fd, -1));
    str_release(&drawn);
    pthread_mutex_unlock(&lock);
}

void screen_line_begin(void)
{
    pthread_mutex_lock(&lock);
    clear(atomic_load(&screen_fd));
}

void screen_line_end(void)
{
    pthread_mutex_unlock(&lock);
}

/* Whoever is drawing finishes first, or the view would stand there again behind the clearing. It
 * may be the thread that was interrupted: then nobody finishes, and the wait ends all the same. At
 * Ctrl-C the kernel sends the signal and then throws away what the terminal has not taken yet: the
 * first pause is for that. */
void screen_abandon(void)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    const int fd = atomic_exchange(&screen_fd, -1);

    nanosleep(&pause, NULL);
    for (int i = 0; i < 50 && atomic_load(&is_drawing); i++)
        nanosleep(&pause, NULL);
    clear(fd);
}
