/* A file of lines for the sinks that need one: every line is a single write(2), so that nobody
 * else's text can stand inside it, and a line always starts at column 0, also after a crash cut the
 * previous one. */
#ifndef STAVE_TRACE_LINE_FILE_H
#define STAVE_TRACE_LINE_FILE_H

#include "base/str.h"

struct line_file {
    char *path;
    int fd;
    struct str line; /* scratch for the owner */
};

/* What a crash cut is ended with a newline by APPEND, and taken away by CONTINUE, which is for
 * files that nobody else writes to. */
enum line_file_mode { LINE_FILE_NEW, LINE_FILE_APPEND, LINE_FILE_CONTINUE };
int line_file_open(struct line_file *f, const char *path, enum line_file_mode mode);
/* Writes f->line and a newline. */
int line_file_put(struct line_file *f);
int line_file_close(struct line_file *f);

#endif
