/* The supervisor of a run: a small process of its own that owns what outlives a process that is
 * killed: the run's control group, fio and its files. `stave run` forks it before any thread
 * exists; it puts the run into a group (meter/ceiling.h), sets the limits, starts and ends the
 * ingest, and mends everything when the run ends, however it ends. What it owns stands in
 * DIR/leftovers.json (cli/leftovers.h) while it is at work, so that `stave clean` can mend what the
 * supervisor's own death leaves.
 *
 * guard_open: forked; the run is in its group, what can not be had is refused.
 *
 * guard_folder: the run folder is there and locked.
 *
 * guard_warm: warm-up is over, the ceiling of --cache and the ingest begin. It waits until they
 * have, so that what is read afterwards is read under them, but no more than 5 s.
 *
 * guard_end: the ingest is ended, the run is back where it was, the group is gone. What could not
 * be mended is a warning.
 *
 * A supervisor that dies costs the run nothing but a warning: the calls then return 0, guard_end
 * mends what it can, and the report says it.
 *
 * One thread, the run's first; guard_warm may be another's while no other call is under way. */
#ifndef STAVE_CLI_GUARD_H
#define STAVE_CLI_GUARD_H

#include <stdint.h>

#include "meter/ingest.h"

/* What is to be in force. Zero is nothing. What it points at is borrowed until
 * guard_close. */
struct guard_plan {
    long long memory_bytes; /* most memory from the start; 0: no ceiling */
    int limits_cache;       /* cache_bytes holds, which may be 0 */
    long long cache_bytes;  /* most memory beyond that held at the end of warm-up */
    long long disk_bytes_per_s;
    const char *const *disk_paths; /* what lies on the disks that the limit is for */
    size_t n_disk_paths;
    const struct ingest_settings *ingest; /* NULL: none */
    const char *instead; /* what does a ceiling's work without a group, in words; NULL: nothing */
};

/* What came of it. A number that is not known, or of what was not asked for, is -1. */
struct guard_report {
    char how[160]; /* "cgroup v2", "cgroup v1", or instead; "" when there is no ceiling */
    long long memory_limit_bytes, cache_bytes, anon_at_warmup_bytes, disk_limit_bytes_per_s;
    long long oom_kills;
    char words[400];    /* one sentence on what went wrong; "" */
    int cache_began;    /* the ceiling of --cache was set, or a lower one holds */
    int ingest_started; /* ingest holds: of fio.json and what the supervisor saw */
    struct ingest_result ingest;
};

struct guard;

/* E_UNSUPPORTED when no group can be had for what is asked, E_IO. Afterwards the process is in its
 * group, so memory and limits of the machine are to be looked at from here on. */
int guard_open(const struct guard_plan *plan, struct guard **out);
/* Absolute or relative; the supervisor writes leftovers.json and fio's documents there. */
int guard_folder(struct guard *g, const char *dir);
/* start_ms: the wall clock when the event stream was opened. */
void guard_warm(struct guard *g, int64_t start_ms);
/* What is in force now, or was. */
const struct guard_report *guard_report(struct guard *g);
/* Ends it all. The report is complete then; a second call does nothing. */
void guard_end(struct guard *g);
void guard_close(struct guard *g); /* ends and frees; NULL is fine */

/* The members "ceiling" and "ingest" of result.json, each with a comma in front; g may be NULL. */
void guard_add_json(struct guard *g, struct str *out);
/* The same of a report, for the supervisor. */
void guard_report_add_json(const struct guard_report *r, const struct guard_plan *plan,
                           struct str *out);

#endif
