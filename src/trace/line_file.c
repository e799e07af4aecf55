#include "trace/line_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"

/* Cuts the file behind its last newline. */
static int drop_last_line(int fd, off_t size, const char *path)
{
    char piece[4096];
    off_t keep = 0;

    while (size > 0 && keep == 0) {
        const size_t n = size < (off_t)sizeof(piece) ? (size_t)size : sizeof(piece);
        const char *newline;
        size -= (off_t)n;
        TRY(file_pread(fd, piece, n, (uint64_t)size, path));
        newline = memrchr(piece, '\n', n);
        keep = newline ? size + (newline - piece) + 1 : 0;
    }
    return ftruncate(fd, keep) < 0 ? err(E_IO, "shorten %s: %s", path, strerror(errno)) : 0;
}

/* A crash or a full disk may have left half a line. */
static int finish_last_line(int fd, const char *path, enum line_file_mode mode)
{
    struct stat st;
    char last;

    if (fstat(fd, &st) < 0)
        return err(E_IO, "stat %s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode) || st.st_size == 0)
        return 0;
    TRY(file_pread(fd, &last, 1, (uint64_t)st.st_size - 1, path));
    if (last == '\n')
        return 0;
    return mode == LINE_FILE_CONTINUE ? drop_last_line(fd, st.st_size, path)
                                      : file_write_all(fd, "\n", 1, path);
}

int line_file_open(struct line_file *f, const char *path, enum line_file_mode mode)
{
    const int how = mode == LINE_FILE_NEW ? O_TRUNC : 0;
    const int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | how, 0666);

    if (fd < 0)
        return err(E_IO, "open %s for writing: %s", path, strerror(errno));
    const int rc = finish_last_line(fd, path, mode);
    if (rc < 0) {
        close(fd);
        return rc;
    }
    *f = (struct line_file){.path = xstrdup(path), .fd = fd};
    return 0;
}

int line_file_put(struct line_file *f)
{
    str_add(&f->line, "\n");
    return file_write_all(f->fd, f->line.s, f->line.len, f->path);
}

int line_file_close(struct line_file *f)
{
    const int rc = close(f->fd) < 0 ? err(E_IO, "close %s: %s", f->path, strerror(errno)) : 0;

    str_release(&f->line);
    free(f->path);
    return rc;
}
