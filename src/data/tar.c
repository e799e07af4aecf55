#include "data/tar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/file.h"

/* What a header in front of the member's own said of it. */
struct told {
    int name, size; /* nonzero: w->name, bytes */
    uint64_t bytes;
};

int tar_walk_open(struct tar_walk *w, int fd, const char *path)
{
    struct stat st;

    *w = (struct tar_walk){.fd = fd, .path = path};
    if (fstat(fd, &st) < 0)
        return err(E_IO, "stat %s: %s", path, strerror(errno));
    w->bytes = (uint64_t)st.st_size;
    return 0;
}

void tar_walk_release(struct tar_walk *w)
{
    bytes_release(&w->name);
    bytes_release(&w->extra);
}

static int bad(const struct tar_walk *w, uint64_t at, const char *what)
{
    return err(E_DATA, "%s, byte offset %llu: %s", w->path, (unsigned long long)at, what);
}

/* Octal with blanks around it, or, marked by the first bit, big-endian. 1: a number. */
static int read_number(const char *text, size_t n, uint64_t *out)
{
    const uint8_t *const field = (const uint8_t *)text;
    uint64_t value = 0;
    size_t i = 0;

    if (field[0] & 0x80) {
        for (i = 1; i < n; i++) {
            if (value >> 55)
                return 0;
            value = value << 8 | field[i];
        }
        *out = value;
        return field[0] == 0x80;
    }
    while (i < n && field[i] == ' ')
        i++;
    for (; i < n && field[i] >= '0' && field[i] <= '7'; i++)
        value = value << 3 | (uint64_t)(field[i] - '0'); /* 12 digits at most */
    for (; i < n; i++)
        if (field[i] != ' ' && field[i] != '\0')
            return 0;
    *out = value;
    return 1;
}

/* The sum over a header with its own field as blanks; some writers took bytes as signed. */
static int sum_is_right(const struct tar_header *h)
{
    struct tar_header blank = *h;
    uint64_t told;
    int plain = 0, as_signed = 0;

    memset(blank.sum, ' ', sizeof(blank.sum));
    for (int i = 0; i < TAR_BLOCK; i++) {
        plain += ((const uint8_t *)&blank)[i];
        as_signed += ((const int8_t *)&blank)[i];
    }
    return read_number(h->sum, sizeof(h->sum), &told) &&
           (told == (uint64_t)plain || (as_signed > 0 && told == (uint64_t)as_signed));
}

static void set_name(struct tar_walk *w, const void *name, size_t n)
{
    const char *const end = n ? memchr(name, '\0', n) : NULL;

    w->name.n = 0;
    if (n)
        bytes_add(&w->name, name, end ? (size_t)(end - (const char *)name) : n);
    bytes_add(&w->name, "", 1);
}

static void header_name(struct tar_walk *w, const struct tar_header *h)
{
    const int posix = memcmp(h->magic, "ustar", sizeof(h->magic)) == 0;

    set_name(w, h->name, sizeof(h->name));
    if (posix && h->prefix[0]) {
        char whole[sizeof(h->prefix) + 1 + sizeof(h->name) + 1];
        const size_t n = strnlen(h->prefix, sizeof(h->prefix));

        memcpy(whole, h->prefix, n);
        whole[n] = '/';
        memcpy(whole + n + 1, w->name.data, w->name.n);
        set_name(w, whole, n + 1 + w->name.n);
    }
}

/* One "LENGTH KEY=VALUE\n" of a pax header; the length counts all of it. Returns it, 0: nonsense.
 */
static size_t pax_record(struct tar_walk *w, const char *p, size_t n, struct told *told)
{
    size_t length = 0, i = 0;
    const char *key, *equals;

    for (; i < n && p[i] >= '0' && p[i] <= '9' && length <= n; i++)
        length = 10 * length + (size_t)(p[i] - '0');
    if (i == 0 || i >= n || p[i] != ' ' || length <= i + 2 || length > n || p[length - 1] != '\n')
        return 0;
    key = p + i + 1;
    equals = memchr(key, '=', length - i - 2);
    if (!equals)
        return 0;
    n = (size_t)(p + length - 1 - (equals + 1));
    if (equals - key == 4 && memcmp(key, "path", 4) == 0) {
        set_name(w, equals + 1, n);
        told->name = 1;
    } else if (equals - key == 4 && memcmp(key, "size", 4) == 0) {
        told->bytes = 0;
        for (i = 0; i < n && i < 18 && equals[1 + i] >= '0' && equals[1 + i] <= '9'; i++)
            told->bytes = 10 * told->bytes + (uint64_t)(equals[1 + i] - '0');
        told->size = i > 0 && i == n;
        return told->size ? length : 0;
    }
    return length;
}

/* A member that speaks of the next one: its content into w->extra. */
static int read_extra(struct tar_walk *w, uint64_t at, uint64_t size)
{
    if (size > TAR_MAX_EXTRA)
        return bad(w, at, "the header of a name is larger than 1 MiB");
    bytes_resize(&w->extra, size);
    return size ? file_pread(w->fd, w->extra.data, size, at + TAR_BLOCK, w->path) : 0;
}

static int read_pax(struct tar_walk *w, uint64_t at, struct told *told)
{
    for (size_t i = 0; i < w->extra.n;) {
        const size_t n = pax_record(w, (const char *)w->extra.data + i, w->extra.n - i, told);

        if (n == 0)
            return bad(w, at, "a pax header that can not be read");
        i += n;
    }
    return 0;
}

/* The header at w->at: 1 a regular file, 0 something else that was passed over. */
static int member(struct tar_walk *w, const struct tar_header *h, struct told *told,
                  struct tar_member *m)
{
    const uint64_t at = w->at;
    const char type = h->type;
    const int regular = type == '0' || type == '\0' || type == '7';
    const int of_the_next = type == 'x' || type == 'L' || type == 'g' || type == 'K';
    uint64_t size, blocks;

    if (!sum_is_right(h))
        return bad(w, at, "no tar header is here: its checksum is wrong");
    if (!read_number(h->size, sizeof(h->size), &size))
        return bad(w, at, "the size of a member is no number");
    if (told->size && !of_the_next)
        size = told->bytes;
    blocks = size / TAR_BLOCK + (size % TAR_BLOCK != 0);
    if (blocks > (w->bytes - at - TAR_BLOCK) / TAR_BLOCK)
        return bad(w, at, "the archive ends inside this member");
    w->at = at + TAR_BLOCK + blocks * TAR_BLOCK;
    if (type == 'S')
        return bad(w, at, "sparse members are not read; pack the files again without --sparse");
    if (type == 'x' || type == 'L') {
        TRY(read_extra(w, at, size));
        if (type == 'x')
            return read_pax(w, at, told);
        set_name(w, w->extra.data, w->extra.n);
        told->name = 1;
        return 0;
    }
    if (!told->name)
        header_name(w, h);
    *m = (struct tar_member){(const char *)w->name.data, at + TAR_BLOCK, size};
    if (!of_the_next)
        *told = (struct told){0};
    return regular;
}

int tar_walk_next(struct tar_walk *w, struct tar_member *m)
{
    static const uint8_t zeros[TAR_BLOCK];
    struct told told = {0};

    for (int n_zeros = 0; w->at < w->bytes && n_zeros < 2;) {
        struct tar_header h;
        int rc;

        if (w->bytes - w->at < TAR_BLOCK)
            return bad(w, w->at, "the archive ends inside a header");
        TRY(file_pread(w->fd, &h, sizeof(h), w->at, w->path));
        if (memcmp(&h, zeros, sizeof(h)) == 0) {
            n_zeros++;
            w->at += TAR_BLOCK;
            continue;
        }
        n_zeros = 0;
        rc = member(w, &h, &told, m);
        if (rc != 0)
            return rc;
    }
    w->at = w->bytes;
    return 0;
}
