#include "meter/ingest_fio.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"

extern char **environ;

int ingest_fio_release(const char *version)
{
    int major, minor;

    if (sscanf(version, "fio-%3d.%3d", &major, &minor) != 2 || major < 0 || minor < 0)
        return -1;
    return major * 1000 + minor;
}

static int spawn_asking(pid_t *pid, int says)
{
    char *const argv[] = {(char[]){"fio"}, (char[]){"--version"}, NULL};
    posix_spawn_file_actions_t actions;
    int rc;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, says, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    rc = posix_spawnp(pid, "fio", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (rc == ENOENT)
        return err(E_UNSUPPORTED,
                   "ingest: fio is not installed (there is none in PATH); apt-get install fio");
    return rc ? err(E_UNSUPPORTED, "ingest: fio can not be started: %s", strerror(rc)) : 0;
}

/* The first line, without its end. */
static void read_line(int fd, char *line, size_t n)
{
    const int64_t until = clock_ns() + 10000000000;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    size_t at = 0;
    ssize_t got = 1;

    while (at + 1 < n && got > 0 && poll(&p, 1, 100) >= 0 && clock_ns() < until)
        if (p.revents) {
            got = read(fd, line + at, n - 1 - at);
            at += got > 0 ? (size_t)got : 0;
        }
    line[at] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
}

static int check_release(const char *version)
{
    const int release = ingest_fio_release(version);

    if (release < 0)
        return err(E_UNSUPPORTED,
                   "ingest: the fio in PATH says \"%.60s\" when asked for its version; expected "
                   "fio-3.1 or newer",
                   version);
    if (release < INGEST_FIO_OLDEST)
        return err(E_UNSUPPORTED, "ingest: %s is too old; expected fio-3.1 or newer", version);
    return 0;
}

int ingest_find_fio(char *version, size_t n)
{
    int ends[2], rc;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err(E_IO, "make a pipe: %s", strerror(errno));
    rc = spawn_asking(&pid, ends[1]);
    close(ends[1]);
    if (rc == 0) {
        read_line(ends[0], version, n);
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
        rc = check_release(version);
    }
    close(ends[0]);
    return rc;
}
