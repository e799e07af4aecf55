#include "fuzz.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"

static char dir[64];
static const char *seeds;
static FILE *dict;
static int n_seeds;

static int drop(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void remove_dir(void)
{
    nftw(dir, drop, 16, FTW_DEPTH | FTW_PHYS);
}

static void make_dir(void)
{
    const char *const base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

    snprintf(dir, sizeof(dir), "%s/stave-fuzz-XXXXXX", base);
    if (!mkdtemp(dir))
        BUG("no folder %s", dir);
    atexit(remove_dir);
}

const char *fuzz_dir(void)
{
    return dir;
}

static const char *path_of(const char *name)
{
    static char paths[2][256];
    static int turn;

    turn = !turn;
    snprintf(paths[turn], sizeof(paths[turn]), "%s/%s", dir, name);
    return paths[turn];
}

static void put(const char *path, const void *bytes, size_t n)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    if (fd < 0 || file_write_all(fd, bytes, n, path) < 0)
        BUG("write %s", path);
    close(fd);
}

const char *fuzz_put(const char *name, const void *bytes, size_t n)
{
    const char *const path = path_of(name);

    put(path, bytes, n);
    return path;
}

void fuzz_remove(const char *name)
{
    unlink(path_of(name));
}

void fuzz_seed(const void *bytes, size_t n)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/seeds/%03d", seeds, n_seeds++);
    put(path, bytes, n);
}

void fuzz_seed_file(const char *name)
{
    char *bytes;
    size_t n;

    if (file_read(path_of(name), 1 << 24, &bytes, &n) < 0)
        BUG("%s", err_reason());
    fuzz_seed(bytes, n);
    free(bytes);
}

void fuzz_word(const void *bytes, size_t n)
{
    const unsigned char *const p = bytes;

    fputc('"', dict);
    for (size_t i = 0; i < n; i++)
        fprintf(dict, "\\x%02X", p[i]);
    fputs("\"\n", dict);
}

void fuzz_refused(int code)
{
    if (code != E_DATA && code != E_USAGE)
        BUG("refused with code %d: %s", code, err_reason());
    ASSERT(err_reason()[0]);
}

void fuzz_touch(const void *bytes, size_t n)
{
    const volatile unsigned char *const p = bytes;

    for (size_t i = 0; i < n; i++)
        (void)p[i];
}

static void write_seeds(void)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/seeds", seeds);
    if (file_mkdirs(path) < 0)
        BUG("%s", err_reason());
    snprintf(path, sizeof(path), "%s/dict", seeds);
    dict = fopen(path, "w");
    if (!dict)
        BUG("write %s", path);
    for (size_t i = 0; fuzz_words[i]; i++)
        fuzz_word(fuzz_words[i], strlen(fuzz_words[i]));
    fuzz_seeds();
    fclose(dict);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    make_dir();
    seeds = getenv("FUZZ_SEEDS");
    if (seeds) {
        write_seeds();
        exit(0);
    }
    if (!freopen("/dev/null", "w", stdout)) /* libFuzzer talks on stderr */
        BUG("/dev/null does not open");
    return 0;
}
