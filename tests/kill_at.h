/* Kills a process just before its k-th change of the file system: writes, creations, renames,
 * links, removals and syncs of all its threads, counted from 1; writes to stdin, stdout and stderr
 * do not count. Processes that it starts are followed and count, too, and the report comes when all
 * have ended. It is traced with ptrace, and a seccomp filter stops it at those calls alone, so
 * the program under test needs no hook and loses no time. Linux. */
#ifndef STAVE_TESTS_KILL_AT_H
#define STAVE_TESTS_KILL_AT_H

struct kill_moment {
    long k;     /* 0: never */
    int signal; /* 0: SIGKILL, which the call does not survive; others arrive right after it */
    enum { KILL_FIRST, KILL_CALLER } who; /* the process that was started, or the one that calls */
};
struct kill_report {
    long changes;     /* made, or begun for the last one */
    const char *call; /* the system call of that moment; "" when there was none */
    int code;         /* the exit code of the first process, 1000 + the signal that ended it */
};
/* Runs process(context) in a child process, which exits with what that returns. Fails the test when
 * the system refuses to trace. */
struct kill_report kill_at(struct kill_moment m, int (*process)(void *context), void *context);

#endif
