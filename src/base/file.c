#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/err.h"

int file_ends(const char *path, uint64_t at, size_t n_missing)
{
    return err(E_DATA, "%s ends at byte %llu, %zu bytes short of what was expected there", path,
               (unsigned long long)at, n_missing);
}

int file_pread(int fd, void *dst, size_t n, uint64_t offset, const char *path)
{
    size_t done = 0;

    while (done < n) {
        const ssize_t got = pread(fd, (char *)dst + done, n - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err(E_IO, "read %s at byte %llu: %s", path, (unsigned long long)(offset + done),
                       strerror(errno));
        if (got == 0)
            return file_ends(path, offset + done, n - done);
        done += (size_t)got;
    }
    return 0;
}

int file_write_all(int fd, const void *bytes, size_t n, const char *path)
{
    size_t done = 0;

    while (done < n) {
        const ssize_t put = write(fd, (const char *)bytes + done, n - done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return err(E_IO, "write %s: %s", path, strerror(errno));
        done += (size_t)put;
    }
    return 0;
}

int file_open(const char *path)
{
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* no wait for a pipe's writer */
    struct stat st;
    int rc = fd;

    if (fd < 0)
        return err(E_IO, "open %s: %s", path, strerror(errno));
    if (fstat(fd, &st) < 0)
        rc = err(E_IO, "stat %s: %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        rc = err(E_DATA, "%s is not a regular file", path);
    if (rc < 0)
        close(fd);
    else
        fcntl(fd, F_SETFL, 0); /* or some file systems would not wait in a ring of reads */
    return rc;
}

static int read_open(int fd, const char *path, size_t max, char **bytes, size_t *n)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err(E_IO, "stat %s: %s", path, strerror(errno));
    if ((uint64_t)st.st_size > max)
        return err(E_DATA, "%s has %lld bytes, more than the %zu allowed", path,
                   (long long)st.st_size, max);
    *n = (size_t)st.st_size;
    *bytes = xmalloc(*n + 1);
    (*bytes)[*n] = '\0';
    const int rc = file_pread(fd, *bytes, *n, 0, path);
    if (rc < 0) {
        free(*bytes);
        *bytes = NULL;
    }
    return rc;
}

int file_read(const char *path, size_t max, char **bytes, size_t *n)
{
    const int fd = file_open(path);
    int rc;

    *bytes = NULL;
    *n = 0;
    TRY(fd);
    rc = read_open(fd, path, max, bytes, n);
    close(fd);
    return rc;
}

int file_writer_open(struct file_writer *w, const char *path)
{
    w->path = xstrdup(path);
    w->tmp = xasprintf("%s.tmp", path);
    /* Of a writer that was killed, or a link or pipe that is no place to write to. */
    unlink(w->tmp);
    w->fd = open(w->tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (w->fd < 0) {
        const int rc = err(E_IO, "create %s: %s", w->tmp, strerror(errno));
        file_writer_abort(w);
        return rc;
    }
    return 0;
}

void file_writer_abort(struct file_writer *w)
{
    if (w->fd >= 0) {
        close(w->fd);
        unlink(w->tmp);
    }
    free(w->path);
    free(w->tmp);
    *w = (struct file_writer){.fd = -1};
}

int file_writer_add(struct file_writer *w, const void *bytes, size_t n)
{
    const int rc = file_write_all(w->fd, bytes, n, w->tmp);

    if (rc < 0)
        file_writer_abort(w);
    return rc;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)st;
    (void)type;
    (void)walk;
    return remove(path);
}

void file_remove_tree(const char *path)
{
    enum { FOLDERS_OPEN = 16 };

    nftw(path, remove_one, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS);
}

void file_sync_folder_of(const char *path)
{
    char *dir = xstrdup(path);
    char *slash = strrchr(dir, '/');
    int fd;

    if (slash)
        slash[slash == dir] = '\0';
    fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(dir);
}

int file_writer_commit(struct file_writer *w)
{
    int rc = 0;

    if (fsync(w->fd) < 0 || rename(w->tmp, w->path) < 0)
        rc = err(E_IO, "write %s: %s", w->path, strerror(errno));
    if (rc == 0) {
        file_sync_folder_of(w->path);
        close(w->fd);
        w->fd = -1;
    }
    file_writer_abort(w);
    return rc;
}

int file_replace(const char *path, const void *bytes, size_t n)
{
    struct file_writer w;

    TRY(file_writer_open(&w, path));
    TRY(file_writer_add(&w, bytes, n));
    return file_writer_commit(&w);
}

int file_mkdirs(const char *path)
{
    char *part = xstrdup(path);
    int rc = 0;

    for (char *p = part + 1; rc == 0; p++) {
        const char saved = *p;
        if (saved != '/' && saved != '\0')
            continue;
        *p = '\0';
        if (mkdir(part, 0777) < 0 && errno != EEXIST)
            rc = err(E_IO, "make folder %s: %s", part, strerror(errno));
        *p = saved;
        if (saved == '\0')
            break;
    }
    free(part);
    return rc;
}

int64_t file_free_bytes(const char *path)
{
    char *const part = xstrdup(path);
    const char *at = part;
    struct statvfs fs;
    int rc;

    while ((rc = statvfs(at, &fs)) < 0 && errno == ENOENT && strcmp(at, ".") != 0) {
        char *const slash = strrchr(part, '/');
        if (slash)
            slash[slash == part] = '\0';
        else
            at = ".";
    }
    free(part);
    if (rc < 0 || fs.f_blocks == 0 || fs.f_bavail > INT64_MAX / fs.f_frsize)
        return -1;
    return (int64_t)(fs.f_bavail * fs.f_frsize);
}

int file_exists(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0;
}

int file_is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

char *file_join(const char *dir, const char *name)
{
    const size_t n = strlen(dir);

    return xasprintf("%s%s%s", dir, n && dir[n - 1] != '/' ? "/" : "", name);
}

static int is_real(const struct dirent *e)
{
    return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

int file_list(const char *dir, struct file_names *out)
{
    struct dirent **entries;
    const int n = scandir(dir, &entries, is_real, versionsort);

    *out = (struct file_names){0};
    if (n < 0)
        return err(E_IO, "read folder %s: %s", dir, strerror(errno));
    out->all = xcalloc((size_t)n + 1, sizeof(*out->all));
    for (int i = 0; i < n; i++) {
        out->all[out->n++] = xstrdup(entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return 0;
}

void file_names_add(struct file_names *v, char *name)
{
    v->all = xrealloc(v->all, (v->n + 1) * sizeof(*v->all));
    v->all[v->n++] = name;
}

void file_names_release(struct file_names *v)
{
    for (size_t i = 0; i < v->n; i++)
        free(v->all[i]);
    free(v->all);
    *v = (struct file_names){0};
}
