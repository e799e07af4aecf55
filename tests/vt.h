/* A terminal in memory: what a program wrote, as a person would see it. Knows printable UTF-8 of
 * one column a character, CR, LF, and the sequences CSI K, J, nA, and m, which it takes for
 * nothing; anything else fails the test. Long lines wrap as on a VT100: at the next character. */
#ifndef STAVE_TESTS_VT_H
#define STAVE_TESTS_VT_H

#include <stddef.h>
#include <sys/types.h>

enum { VT_MAX_ROWS = 100, VT_MAX_COLUMNS = 240 };

struct vt {
    int rows, columns;
    int row, column;
    unsigned cells[VT_MAX_ROWS][VT_MAX_COLUMNS]; /* code points, 0: empty */
    int n_wrapped;                               /* lines that were too long */
    int n_scrolled;
    char pending[16]; /* a sequence that is not whole yet */
    size_t n_pending;
    char *scrolled; /* lines that left the screen at the top, heap */
};

void vt_open(struct vt *v, int columns, int rows);
void vt_close(struct vt *v);
void vt_feed(struct vt *v, const char *bytes, size_t n);
/* Everything that was kept and what stands on the screen, heap: a line for each row without the
 * blanks at its end, none for the empty rows at the end. */
char *vt_text(const struct vt *v);

/* A pseudo terminal; its end for a program is slave. */
struct pty {
    int master, slave;
};
struct pty pty_open(int columns, int rows);
/* Feeds what arrives until a text stands on the screen, or in what has left it; a minute without
 * news fails the test. */
void pty_wait(struct pty *p, struct vt *v, const char *part);
/* Feeds what arrives until the program has ended, and what it left; returns its status as waitpid
 * does. */
int pty_end(struct pty *p, struct vt *v, pid_t pid);
/* Feeds what arrives to v until the other end is closed everywhere; closes both. */
void pty_drain(struct pty *p, struct vt *v);

#endif
