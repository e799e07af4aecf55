#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/command.h"
#include "train/stop.h"

void children_begin(struct children *c)
{
    *c = (struct children){0};
    sigemptyset(&c->answered);
    stop_add_signals(&c->answered);
    sigaddset(&c->answered, SIGCHLD);
    sigprocmask(SIG_BLOCK, &c->answered, &c->before);
}

/* What is left in the queue was answered. */
void children_end(struct children *c)
{
    children_stop(c);
    sigprocmask(SIG_SETMASK, &c->before, NULL);
}

int children_stop(struct children *c)
{
    const struct timespec at_once = {0};
    int sig;

    while ((sig = sigtimedwait(&c->answered, NULL, &at_once)) > 0)
        if (sig != SIGCHLD && !c->stop)
            c->stop = sig;
    return c->stop;
}

/* In the new process. said: the file that takes its words, or -1 for stderr. */
static _Noreturn void become(const struct children *c, char *const *argv, int said, pid_t parent)
{
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
        _exit(EXIT_NOT_REACHED);
    dup2(nowhere, STDIN_FILENO);
    if (said >= 0)
        dup2(said, STDERR_FILENO);
    dup2(said >= 0 ? nowhere : STDERR_FILENO, STDOUT_FILENO);
    sigprocmask(SIG_SETMASK, &c->before, NULL);
    execv("/proc/self/exe", argv);
    dprintf(STDERR_FILENO, "stave: start /proc/self/exe: %s\n", strerror(errno));
    _exit(EXIT_WORLD);
}

static void pass_on(struct children *c, pid_t pid, int sig)
{
    if (c->stop)
        kill(pid, SIGKILL);
    else
        sigqueue(pid, sig, (union sigval){0});
    c->stop = c->stop ? c->stop : sig;
}

static int wait_for(struct children *c, pid_t pid)
{
    int status;

    while (waitpid(pid, &status, WNOHANG) == 0) {
        const int sig = sigwaitinfo(&c->answered, NULL);
        if (sig > 0 && sig != SIGCHLD)
            pass_on(c, pid, sig);
    }
    return status;
}

static void show(int said)
{
    char bytes[4096];
    ssize_t n;

    lseek(said, 0, SEEK_SET);
    while ((n = read(said, bytes, sizeof(bytes))) > 0)
        if (write(STDERR_FILENO, bytes, (size_t)n) < 0)
            return;
}

int children_run(struct children *c, char *const *argv, enum child_words words,
                 struct child_end *end)
{
    const int said = words == CHILD_REPORTS ? memfd_create("said", MFD_CLOEXEC) : -1;
    const pid_t parent = getpid();
    pid_t pid;
    int status;

    fflush(NULL);
    pid = fork();
    if (pid == 0)
        become(c, argv, said, parent);
    if (pid < 0) {
        const int rc = err(E_IO, "start a process: %s", strerror(errno));
        if (said >= 0)
            close(said);
        return rc;
    }
    status = wait_for(c, pid);
    end->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    end->code = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_WORLD;
    if (said >= 0 && end->code)
        show(said);
    if (said >= 0)
        close(said);
    return 0;
}
