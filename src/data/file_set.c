#include "data/file_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum { DIGITS = 5, MAX_DIGITS = 9 };

/* Digits that end at the n-th byte: their number, 0 when they are too few or too many. */
static size_t digits_before(const char *path, size_t n)
{
    size_t k = 0;

    while (k < n && path[n - k - 1] >= '0' && path[n - k - 1] <= '9')
        k++;
    return k >= DIGITS && k <= MAX_DIGITS ? k : 0;
}

static int ends_with(const char *path, size_t n, const char *text)
{
    const size_t k = strlen(text);

    return n >= k && memcmp(path + n - k, text, k) == 0;
}

unsigned long long file_set_count(const char *path, const char *ending, size_t *stem)
{
    size_t n = strlen(path), digits, number;

    if (!ends_with(path, n, ending))
        return 0;
    n -= strlen(ending);
    digits = digits_before(path, n);
    number = n - digits;
    if (!digits || !ends_with(path, number, "-of-"))
        return 0;
    n = number - strlen("-of-");
    digits = digits_before(path, n);
    n -= digits;
    if (!digits || n < 2 || path[n - 1] != '-' || path[n - 2] == '/')
        return 0;
    if (stem)
        *stem = n - 1;
    return strtoull(path + number, NULL, 10);
}

char *file_set_name(const char *stem, unsigned long long k, unsigned long long n,
                    const char *ending)
{
    return xasprintf("%s-%0*llu-of-%0*llu%s", stem, DIGITS, k, DIGITS, n, ending);
}

void file_set_find(const char *stem, const char *ending, struct file_names *out)
{
    const char *const slash = strrchr(stem, '/');
    char *const dir = slash ? xasprintf("%.*s", (int)(slash - stem + 1), stem) : xstrdup(".");
    const char *const name = slash ? slash + 1 : stem;
    struct file_names in = {0};

    *out = (struct file_names){0};
    if (file_is_folder(dir) && *name)
        file_list(dir, &in);
    for (size_t i = 0; i < in.n; i++) {
        size_t n;

        if (file_set_count(in.all[i], ending, &n) && n == strlen(name) &&
            memcmp(in.all[i], name, n) == 0)
            file_names_add(out, slash ? file_join(dir, in.all[i]) : xstrdup(in.all[i]));
    }
    file_names_release(&in);
    free(dir);
}

int file_set_complete(const struct file_names *files, const char *ending)
{
    unsigned long long n = 0;
    size_t first = 0, stem = 0;
    int rc = 0;

    while (first < files->n && (n = file_set_count(files->all[first], ending, &stem)) == 0)
        first++;
    for (unsigned long long k = 0; n && (k < n || k < files->n) && rc == 0; k++) {
        const char *const there = k < files->n ? files->all[k] : NULL;
        char *const prefix = xasprintf("%.*s", (int)stem, files->all[first]);
        char *const want = file_set_name(prefix, k, n, ending);

        if (k < n && !(there && strcmp(there, want) == 0) && !file_exists(want))
            rc = err(E_DATA, "%s of a set of %llu files is missing", want, n);
        else if (k >= n || strcmp(there, want) != 0)
            rc = err(E_DATA, "%s is none of the %llu files of the set that it stands beside", there,
                     n);
        free(prefix);
        free(want);
    }
    return rc;
}
