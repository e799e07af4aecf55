#include "data/idx.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "base/err.h"
#include "base/file.h"
#include "base/hostile.h"

static const size_t max_bytes = (size_t)2 << 30;

/* Exactly n bytes (n below 2^31), or an error that says where the file ends. */
static int read_exactly(gzFile f, const char *path, void *dst, size_t n)
{
    const int got = gzread(f, dst, (unsigned)n);
    int code;
    const char *const why = gzerror(f, &code);

    if (got >= 0 && (size_t)got == n)
        return 0;
    if (code == Z_MEM_ERROR)
        return err(E_NOMEM, "read %s: out of memory", path);
    if (got < 0)
        return err(E_DATA, "%s is damaged: %s", path, why);
    return err(E_DATA, "%s ends %zu bytes short of what its header says", path, n - (size_t)got);
}

static int read_header(gzFile f, const char *path, int n_dims, size_t dims[IDX_MAX_DIMS])
{
    uint8_t word[4];
    size_t total = 1;

    TRY(read_exactly(f, path, word, sizeof(word)));
    if (word[0] || word[1] || word[2] != 8 || word[3] != n_dims)
        return err(E_DATA,
                   "%s is no IDX file of %d dimensions: it starts with %02x%02x%02x%02x, "
                   "expected 000008%02x",
                   path, n_dims, word[0], word[1], word[2], word[3], (unsigned)n_dims);
    for (int d = 0; d < IDX_MAX_DIMS; d++) {
        dims[d] = 1;
        if (d >= n_dims)
            continue;
        TRY(read_exactly(f, path, word, sizeof(word)));
        dims[d] = (size_t)word[0] << 24 | (size_t)word[1] << 16 | (size_t)word[2] << 8 | word[3];
        if (dims[d] == 0 || dims[d] > max_bytes / total)
            return err(E_DATA, "%s claims the size %zu in dimension %d", path, dims[d], d + 1);
        total *= dims[d];
    }
    return 0;
}

static int read_body(gzFile f, const char *path, struct idx *out)
{
    enum { PIECE = HOSTILE ? 4093 : 1 << 20 };
    const size_t n = out->dims[0] * out->dims[1] * out->dims[2];
    size_t done = 0, cap = 0;
    char extra;

    while (done < n) { /* memory follows what the file really holds, not what it claims */
        const size_t piece = n - done < PIECE ? n - done : PIECE;

        if (done + piece > cap) {
            cap = 2 * cap > done + piece ? 2 * cap : done + piece;
            out->bytes = xrealloc(out->bytes, cap);
        }
        TRY(read_exactly(f, path, out->bytes + done, piece));
        done += piece;
    }
    if (gzread(f, &extra, 1) != 0)
        return err(E_DATA,
                   "%s goes on behind the %zu bytes its header says, or its checksum is wrong",
                   path, n);
    return 0;
}

/* Reads plain files, too. */
static int open_packed(const char *path, gzFile *f)
{
    const int fd = file_open(path);

    TRY(fd);
    *f = gzdopen(fd, "rb");
    if (*f)
        return 0;
    close(fd);
    return err(E_NOMEM, "open %s: no memory to unpack it", path);
}

int idx_load(const char *path, int n_dims, struct idx *out)
{
    gzFile f;
    int rc;

    *out = (struct idx){0};
    TRY(open_packed(path, &f));
    rc = read_header(f, path, n_dims, out->dims);
    if (rc == 0)
        rc = read_body(f, path, out);
    if (gzclose_r(f) == Z_BUF_ERROR && rc == 0)
        rc = err(E_DATA, "%s is cut short: its gzip checksum is missing", path);
    if (rc < 0)
        idx_release(out);
    return rc;
}

void idx_release(struct idx *x)
{
    free(x->bytes);
    *x = (struct idx){0};
}

static int write_head(int fd, const size_t dims[IDX_MAX_DIMS], int n_dims)
{
    uint8_t head[4 * (1 + IDX_MAX_DIMS)] = {0, 0, 8, (uint8_t)n_dims};

    for (int d = 0; d < n_dims; d++)
        for (int k = 0; k < 4; k++)
            head[4 * (1 + d) + k] = (uint8_t)(dims[d] >> (24 - 8 * k));
    return file_write_all(fd, head, 4 * (1 + (size_t)n_dims), "memory");
}

static int unpack(const char *path, int n_dims, struct idx_file *out)
{
    struct idx x;
    int rc;

    TRY(idx_load(path, n_dims, &x));
    out->in_memory = 1;
    out->fd = memfd_create("idx", MFD_CLOEXEC);
    rc = out->fd < 0 ? err(E_NOMEM, "unpack %s: %s", path, strerror(errno)) : 0;
    if (rc == 0)
        rc = write_head(out->fd, x.dims, n_dims);
    if (rc == 0)
        rc = file_write_all(out->fd, x.bytes, x.dims[0] * x.dims[1] * x.dims[2], "memory");
    idx_release(&x);
    return rc;
}

/* The header alone; *plain: it is not gzipped. */
static int look(const char *path, int n_dims, size_t dims[IDX_MAX_DIMS], int *plain)
{
    gzFile f;
    int rc;

    TRY(open_packed(path, &f));
    rc = read_header(f, path, n_dims, dims);
    *plain = gzdirect(f);
    gzclose_r(f);
    return rc;
}

static int open_plain(const char *path, struct idx_file *out)
{
    const size_t n = out->head_bytes + out->dims[0] * out->dims[1] * out->dims[2];
    struct stat st;

    out->fd = file_open(path);
    TRY(out->fd);
    if (fstat(out->fd, &st) < 0)
        return err(E_IO, "stat %s: %s", path, strerror(errno));
    if ((uint64_t)st.st_size != n)
        return err(E_DATA, "%s has %lld bytes, but its header says %zu", path,
                   (long long)st.st_size, n);
    return 0;
}

int idx_open(const char *path, int n_dims, struct idx_file *out)
{
    int plain = 0, rc;

    *out = (struct idx_file){.fd = -1, .head_bytes = 4 * (1 + (size_t)n_dims)};
    TRY(look(path, n_dims, out->dims, &plain));
    rc = plain ? open_plain(path, out) : unpack(path, n_dims, out);
    if (rc < 0 && out->fd >= 0) {
        close(out->fd);
        out->fd = -1;
    }
    return rc;
}
