/* Real control groups: whether the machine lets this process make them, and which ones of a run are
 * there. Include it in one file of a test program. */
#ifndef STAVE_TESTS_CEILING_FIXTURE_H
#define STAVE_TESTS_CEILING_FIXTURE_H

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "meter/ceiling.h"

#define UNUSED_FUNCTION __attribute__((unused)) static

/* Skips the test where there are no groups for it, with the reason. */
UNUSED_FUNCTION void need_groups(int memory, int disk)
{
    const struct ceiling_wish w = {.root = "", .memory = memory, .disk = disk, .run = getpid()};
    struct ceiling c;
    const int rc = ceiling_find(&c, &w);

    ceiling_release(&c);
    if (rc == 0)
        return;
    printf("[  SKIPPED ] %s\n", err_reason());
    skip();
}

static char group_name[64];
static int n_groups_found;

static int note_group_folder(const char *path, const struct stat *st, int type, struct FTW *place)
{
    (void)st;
    if (type == FTW_D && strncmp(path + place->base, group_name, strlen(group_name)) == 0)
        n_groups_found++;
    return 0;
}

/* Folders stave-RUN and stave-RUN-rest below /sys/fs/cgroup. */
UNUSED_FUNCTION int n_groups_of(pid_t run)
{
    snprintf(group_name, sizeof(group_name), "stave-%d", (int)run);
    n_groups_found = 0;
    nftw("/sys/fs/cgroup", note_group_folder, 16, FTW_PHYS);
    return n_groups_found;
}

/* The group that is removed when its process is gone: at most ten seconds. */
UNUSED_FUNCTION void expect_no_groups(pid_t run)
{
    for (int i = 0; i < 500 && n_groups_of(run); i++)
        clock_sleep_ns(20000000);
    assert_int_equal(n_groups_of(run), 0);
}

/* A file of n bytes that are on the disk and not in memory. */
UNUSED_FUNCTION char *cold_file(const char *dir, const char *name, size_t n)
{
    char *const path = file_join(dir, name);
    char block[65536];
    FILE *const f = fopen(path, "w");

    memset(block, 5, sizeof(block));
    assert_non_null(f);
    for (size_t at = 0; at < n; at += sizeof(block))
        assert_int_equal(fwrite(block, 1, sizeof(block), f), sizeof(block));
    fflush(f);
    fsync(fileno(f));
    posix_fadvise(fileno(f), 0, 0, POSIX_FADV_DONTNEED);
    fclose(f);
    return path;
}

#endif
