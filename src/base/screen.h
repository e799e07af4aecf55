/* A view drawn in place: the last lines of a terminal, which whatever else is written there must
 * neither tear nor lose. There is one in a process at most.
 *
 * While a view is shown the cursor rests on an empty line above it, in column 0. So a view is taken
 * away by the same few bytes whatever it shows and however the window changed meanwhile, also by a
 * handler of signals; what somebody unknown writes (another process, a key that is echoed) lands on
 * a line of its own; and nothing has to be put back when the process dies.
 *
 * Threads: any. Writing waits while the terminal is stopped (Ctrl-S). */
#ifndef STAVE_BASE_SCREEN_H
#define STAVE_BASE_SCREEN_H

struct screen_size {
    int columns, rows; /* 80 x 24 where the terminal does not say */
};

/* Whether a view can be drawn there: fd is a terminal, and TERM says one that obeys. */
int screen_can_draw(int fd);
struct screen_size screen_size_of(int fd);

/* From here on fd may show a view. */
void screen_open(int fd);
/* Draws lines, each ended by a newline, in place of what was drawn before, in a single write; they
 * must be narrower than the window, and fewer than its rows by one. Does nothing when they stand
 * there already, when the process is in the background, and without screen_open. E_IO. */
int screen_draw(const char *lines);
/* Takes the view away for good. */
void screen_close(void);

/* Around each line that is written to the terminal: the view is taken away, and nobody draws until
 * the end. The next screen_draw brings it back. Not nested. */
void screen_line_begin(void);
void screen_line_end(void);

/* Takes the view away before the process ends at once; safe in a handler of signals. */
void screen_abandon(void);

#endif
