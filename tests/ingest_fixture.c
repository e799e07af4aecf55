#include "ingest_fixture.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "meter/ingest_fio.h"
#include "scratch.h"

static char *path_before;

static int has_room(const char *dir)
{
    struct statvfs fs;

    return statvfs(dir, &fs) == 0 && fs.f_bavail > fs.f_blocks / 18 &&
           fs.f_bavail * fs.f_frsize > 1 << 30;
}

int ingest_room_open(void **state)
{
    const char *const tmp = getenv("TMPDIR");

    (void)state;
    if (!has_room(tmp ? tmp : "/tmp") && has_room("/dev/shm"))
        setenv("TMPDIR", "/dev/shm", 1);
    return 0;
}

int ingest_scratch_open(void **state)
{
    path_before = xstrdup(getenv("PATH"));
    return scratch_open(state);
}

int ingest_scratch_close(void **state)
{
    setenv("PATH", path_before, 1);
    free(path_before);
    return scratch_close(state);
}

void need_fio(void)
{
    char version[64];

    if (ingest_find_fio(version, sizeof(version)) < 0) {
        print_message("skipped: %s\n", err_reason());
        skip();
    }
}

void use_fio(const char *dir, const char *script)
{
    char *const text =
        xasprintf("#!/bin/sh\nif [ \"$1\" = --version ]; then echo fio-3.33; exit; fi\n"
                  "for w; do case $w in --output=*) out=${w#--output=};; esac; done\n%s\n",
                  script);
    char *const path = scratch_file(dir, "bin/fio", text);
    char *const all = xasprintf("%s/bin:%s", dir, path_before);

    assert_int_equal(chmod(path, 0755), 0);
    setenv("PATH", all, 1);
    free(text);
    free(path);
    free(all);
}

int names_in(const char *dir, const char *start)
{
    struct file_names names;
    int n = 0;

    assert_int_equal(file_list(dir, &names), 0);
    for (size_t i = 0; i < names.n; i++)
        n += strncmp(names.all[i], start, strlen(start)) == 0;
    file_names_release(&names);
    return n;
}

/* The words of a command line, a blank behind each. */
static size_t command_line_of(const char *pid, char *line, size_t n)
{
    char path[64];
    FILE *f;
    size_t got;

    snprintf(path, sizeof(path), "/proc/%.20s/cmdline", pid);
    f = fopen(path, "r");
    got = f ? fread(line, 1, n - 1, f) : 0;
    if (f)
        fclose(f);
    line[got] = '\0';
    for (size_t i = 0; i < got; i++)
        if (!line[i])
            line[i] = ' ';
    return got;
}

static int signal_fios_of(const char *dir, int signal)
{
    struct file_names names;
    char line[8192];
    int n = 0;

    assert_int_equal(file_list("/proc", &names), 0);
    for (size_t i = 0; i < names.n; i++)
        if (names.all[i][0] >= '1' && names.all[i][0] <= '9' &&
            command_line_of(names.all[i], line, sizeof(line)) && strncmp(line, "fio ", 4) == 0 &&
            strstr(line, dir) && kill((pid_t)strtol(names.all[i], NULL, 10), signal) == 0)
            n++;
    file_names_release(&names);
    return n;
}

int fios_of(const char *dir)
{
    return signal_fios_of(dir, 0);
}

int end_fios_of(const char *dir)
{
    return signal_fios_of(dir, SIGKILL);
}
