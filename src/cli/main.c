/* The program: picks the command, prints the reason of a failure, and is the only place that
 * decides the exit code. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/debug.h"
#include "base/err.h"
#include "cli/command.h"
#include "cli/version.h"

static int is_any(const char *word, const char *a, const char *b)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

static int run(int argc, char **argv)
{
    const struct command *c;

    if (argc < 2)
        return err(E_USAGE, "name a command; stave help lists them");
    if (is_any(argv[1], "--version", "-V")) {
        version_print(stdout);
        return EXIT_REACHED;
    }
    c = command_find(is_any(argv[1], "--help", "-h") ? "help" : argv[1]);
    if (!c)
        return command_unknown(argv[1]);
    return c->run(c, argc - 1, argv + 1);
}

/* The reader of a pipe went away (| head): it has seen what it wanted. */
static int reader_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

/* Results that did not reach stdout are no success. */
static int flush_results(int code)
{
    errno = 0;
    if ((fflush(stdout) == 0 && !ferror(stdout)) || reader_gone())
        return code;
    fprintf(stderr, "stave: write to standard output: %s\n", errno ? strerror(errno) : "failed");
    return code == EXIT_REACHED ? EXIT_WORLD : code;
}

/* Compute threads that spin while they wait starve loader threads, and each other as soon as
 * anything else wants a processor: eight times slower was measured. The OpenMP library reads its
 * policy before main, so the program starts itself once more with the policy set, unless somebody
 * chose one. */
static void prefer_sleeping_threads(char **argv)
{
    if (getenv("OMP_WAIT_POLICY") || setenv("OMP_WAIT_POLICY", "passive", 0) < 0)
        return;
    execv("/proc/self/exe", argv); /* when that can not be done, it runs all the same */
}

int main(int argc, char **argv)
{
    int rc;

    prefer_sleeping_threads(argv);

    signal(SIGPIPE, SIG_IGN); /* a closed pipe and a full quota arrive as failed writes */
    signal(SIGXFSZ, SIG_IGN);
    rc = debug_read();
    if (rc == 0)
        rc = run(argc, argv);
    if (rc < 0) {
        fflush(stdout);
        err_print("", err_reason());
        rc = command_exit_code(rc);
    }
    return flush_results(rc);
}
