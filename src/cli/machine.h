/* What this process may use of the machine, seen when a command starts: processors and memory, how
 * that was found, and whether a run asks for more. */
#ifndef STAVE_CLI_MACHINE_H
#define STAVE_CLI_MACHINE_H

#include "base/cpus.h"
#include "base/memlimit.h"
#include "base/str.h"
#include "train/loop.h"

/* Since the machine was looked at; -1: not known. */
struct machine_changes {
    int taken;
    long long throttled, oom_kills;
};

struct machine {
    const char *root; /* see cpus.h; borrowed */
    struct cpus cpus; /* count is 0 when nothing says it */
    struct memlimit memory;
    struct machine_changes at_end; /* once they are taken */
};

void machine_find(const char *root, struct machine *m);
/* Members for run.json, each with a comma in front. */
void machine_add_json(const struct machine *m, struct str *out);
/* Keeps what happened until now for the two calls below: before the process goes to another group,
 * whose counts are others. */
void machine_take_changes(struct machine *m);
/* What happened since machine_find, as members for result.json: periods held up by a quota, and
 * processes that the kernel killed. What no group counts is absent. */
void machine_add_changes(const struct machine *m, struct str *out);
/* The same as warnings, when there was something. */
void machine_warn_changes(const struct machine *m);
/* One line: "memory limit: 62.7 GiB (the machine's memory), 3.1 GiB of it held, ...". */
void machine_print_memory(const struct machine *m);

/* Threads that the settings ask for; compute is 0 when it follows the machine. */
struct machine_threads {
    long long compute, loaders;
};
/* Warns when they are more than the processors allowed, and names these. */
void machine_check_threads(const struct machine *m, struct machine_threads t);
/* Whether the run fits into what is left of the limit. Lowers *prefetch with a warning when that is
 * enough; E_NOMEM when it is not. */
int machine_fit(const struct machine *m, const struct train_needs *n, long long *prefetch);

#endif
