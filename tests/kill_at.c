#include "kill_at.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"

enum { LAST_STD_FD = 2 };

enum call_kind { CHANGES, WRITES, CREATES }; /* always; to a file; with O_CREAT in its flags */

static const struct {
    int number;
    enum call_kind kind;
    int flags_at; /* of CREATES: which argument holds the flags */
    const char *name;
} calls[] = {
    {SYS_write, WRITES, 0, "write"},          {SYS_pwrite64, WRITES, 0, "pwrite"},
    {SYS_writev, WRITES, 0, "writev"},        {SYS_openat, CREATES, 2, "open"},
    {SYS_renameat2, CHANGES, 0, "rename"},    {SYS_linkat, CHANGES, 0, "link"},
    {SYS_unlinkat, CHANGES, 0, "unlink"},     {SYS_mkdirat, CHANGES, 0, "mkdir"},
    {SYS_ftruncate, CHANGES, 0, "ftruncate"}, {SYS_fsync, CHANGES, 0, "fsync"},
    {SYS_fdatasync, CHANGES, 0, "fdatasync"},
#ifdef SYS_renameat
    {SYS_renameat, CHANGES, 0, "rename"},
#endif
#ifdef SYS_rename /* the older calls, which newer machines do without */
    {SYS_open, CREATES, 1, "open"},           {SYS_rename, CHANGES, 0, "rename"},
    {SYS_link, CHANGES, 0, "link"},           {SYS_unlink, CHANGES, 0, "unlink"},
    {SYS_mkdir, CHANGES, 0, "mkdir"},
#endif
};

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(field))
/* The low half of an argument on a little-endian machine. */
#define ARGUMENT(i) (offsetof(struct seccomp_data, args) + (size_t)(i)*8)
#define SKIP_UNLESS(op, value, n)                                                                  \
    (struct sock_filter) BPF_JUMP(BPF_JMP | (op) | BPF_K, (uint32_t)(value), 0, n)
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)

/* Per call: is it this one, does it count, stop. */
static void install_filter(void)
{
    enum { PER_CALL = 5 };
    struct sock_filter code[COUNT_OF(calls) * PER_CALL + 1];
    struct sock_fprog program = {.filter = code};

    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        const struct sock_filter stop[] = {
            LOAD(offsetof(struct seccomp_data, nr)),
            SKIP_UNLESS(BPF_JEQ, calls[i].number, 3),
            LOAD(ARGUMENT(calls[i].flags_at)),
            calls[i].kind == WRITES    ? SKIP_UNLESS(BPF_JGT, LAST_STD_FD, 1)
            : calls[i].kind == CREATES ? SKIP_UNLESS(BPF_JSET, O_CREAT, 1)
                                       : SKIP_UNLESS(BPF_JGE, 0, 1),
            RETURN(SECCOMP_RET_TRACE),
        };
        memcpy(code + program.len, stop, sizeof(stop));
        program.len += PER_CALL;
    }
    code[program.len++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        BUG("seccomp is refused");
}

static const char *name_of_call(pid_t pid)
{
    struct __ptrace_syscall_info info;

    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) > 0)
        for (size_t i = 0; i < COUNT_OF(calls); i++)
            if ((uint64_t)calls[i].number == info.seccomp.nr)
                return calls[i].name;
    return "?";
}

static pid_t start(int (*process)(void *context), void *context)
{
    const long options = PTRACE_O_EXITKILL | PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE |
                         PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
            BUG("ptrace is refused");
        raise(SIGSTOP);
        install_filter();
        _exit(process(context));
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(ptrace(PTRACE_SETOPTIONS, pid, NULL, options), 0);
    ptrace(PTRACE_CONT, pid, NULL, 0L);
    return pid;
}

/* The signal to go on with: that of the stop, unless ptrace made it. */
static long signal_of(int status)
{
    const int sig = WSTOPSIG(status);

    return status >> 16 || sig == SIGSTOP || sig == SIGTRAP ? 0 : sig;
}

struct kill_report kill_at(struct kill_moment m, int (*process)(void *context), void *context)
{
    struct kill_report r = {.call = ""};
    const pid_t pid = start(process, context);
    pid_t thread;
    int status;

    while ((thread = waitpid(-1, &status, __WALL)) > 0) {
        if (thread == pid && !WIFSTOPPED(status))
            r.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
        if (!WIFSTOPPED(status))
            continue;
        if (status >> 8 == (SIGTRAP | PTRACE_EVENT_SECCOMP << 8) && ++r.changes == m.k) {
            r.call = name_of_call(thread);
            kill(m.who == KILL_FIRST ? pid : thread, m.signal ? m.signal : SIGKILL);
        }
        ptrace(PTRACE_CONT, thread, NULL, signal_of(status));
    }
    return r;
}
