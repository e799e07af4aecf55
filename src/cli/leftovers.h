/* leftovers.json of a run folder: what a supervisor (cli/guard.h) would leave behind if it were
 * killed. The ingest's folder and fio are noted before they exist; groups exist
 * from guard_open on and are noted once the folder is locked: until then the supervisor alone knows
 * of them. The file is gone when nothing is left to mend.
 *
 * Whoever reads it believes little: a process is ended only when it started when the file says, in
 * this boot of the machine, and is called fio; a group or folder is removed only when its name is
 * one that a supervisor gives (stave-...), and a group only inside a control group file system. */
#ifndef STAVE_CLI_LEFTOVERS_H
#define STAVE_CLI_LEFTOVERS_H

#include <stddef.h>
#include <sys/types.h>

#include "base/str.h"
#include "meter/ceiling.h"

/* A process as the kernel tells it from another one with the same number. */
struct process {
    pid_t pid;                /* 0: none */
    unsigned long long start; /* field 22 of /proc/PID/stat, in ticks since the boot */
};

struct process process_of(pid_t pid); /* {0} when there is none */
int process_lives(struct process p);  /* a zombie does not */

struct leftovers {
    char boot[64]; /* boot_id of the kernel */
    struct process supervisor, run, fio;
    struct ceiling_group groups[CEILING_MAX_GROUPS]; /* absolute paths, heap */
    size_t n_groups;
    char *ingest_folder; /* absolute, heap; NULL: none */
};

void leftovers_release(struct leftovers *l);
void leftovers_add_json(const struct leftovers *l, struct str *out);
/* text has a zero byte behind its n bytes. E_DATA for what is not such a file; then *out is empty.
 */
int leftovers_parse(const char *text, size_t n, struct leftovers *out);
int leftovers_write(const char *dir, const struct leftovers *l);
/* 1: read; 0: there is none; E_IO, E_DATA. */
int leftovers_read(const char *dir, struct leftovers *out);

struct mended {
    int processes, groups, folders; /* ended, removed, removed */
};
/* Ends fio, removes its folder and the groups, whose processes move back, and then the file. by:
 * the process that mends, which may be the run itself. E_USAGE while the supervisor, or a run that
 * is not `by`, is at work; E_IO when something is left, which the file then still names. */
int leftovers_mend(const char *dir, pid_t by, struct mended *out);

#endif
