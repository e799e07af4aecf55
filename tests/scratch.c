#include "scratch.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"

int scratch_open(void **state)
{
    const char *tmp = getenv("TMPDIR");
    char *dir = xasprintf("%s/stave-test-XXXXXX", tmp ? tmp : "/tmp");

    *state = dir;
    return mkdtemp(dir) ? 0 : -1;
}

static int drop(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

int scratch_close(void **state)
{
    const int rc = nftw(*state, drop, 16, FTW_DEPTH | FTW_PHYS);

    free(*state);
    return rc;
}

char *scratch_bytes(const char *dir, const char *name, const void *bytes, size_t n)
{
    char *path = file_join(dir, name);
    char *slash = strrchr(path, '/');
    FILE *f;

    *slash = '\0';
    if (file_mkdirs(path) < 0)
        BUG("%s", err_reason());
    *slash = '/';
    f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
        BUG("write %s", path);
    return path;
}

char *scratch_file(const char *dir, const char *name, const char *text)
{
    return scratch_bytes(dir, name, text, strlen(text));
}
