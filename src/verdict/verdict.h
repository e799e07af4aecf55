/* Which stave of the barrel is the shortest: from what each stage of training can do alone to the
 * level that they hold together, the stage that sets it, and what would raise it. Pure functions of
 * measured numbers; who measured them, and on which machine, is not known here.
 *
 * The model. Loader threads take a sample through read, decode and augment, so the loader's level
 * is one figure, measured with all of them at work and nothing behind; the device takes batches
 * (copy, then compute), so its level is measured with nothing in front. Both draw on the same
 * processors: no level is above processors / (processor seconds that a sample takes in all).
 *     level = min(loader, device, processors)
 * A stage alone is not a level of the run, but says how far that stage reaches: it is what remains
 * when the others cost nothing. The smaller of two levels is called the shortest only when it is
 * more than the tolerance below the other; else they are balanced. */
#ifndef STAVE_VERDICT_VERDICT_H
#define STAVE_VERDICT_VERDICT_H

#include "base/str.h"

/* read, decode and augment in the loader; copy and compute on the device; cores: processors that
 * the stages want and do not get. */
enum stave {
    STAVE_READ,
    STAVE_DECODE,
    STAVE_AUGMENT,
    STAVE_COPY,
    STAVE_COMPUTE,
    STAVE_CORES,
    N_LOADER_STAVES = STAVE_COPY,
    N_STAGE_STAVES = STAVE_CORES
};

/* Rates in samples per second, 0 for not measured; times in seconds a sample. */
struct staves {
    const char *unit; /* of samples: "images" */
    int threads;      /* of the loader */
    double cpus;      /* processors that this process may use */
    double alone[N_STAGE_STAVES];
    double loader, device, run; /* loader into nothing; device on a batch that is there; together */
    double busy_s[N_LOADER_STAVES];    /* thread time of each stage in the loader */
    double loader_cpu_s, device_cpu_s; /* processor time, all threads */
    /* Share of its time that each side lost because its threads waited for a processor. */
    double read_starved, loader_starved, device_starved, run_starved;
    double read_more; /* rate of reading alone with more threads, and how many: does it scale? */
    int more_threads;
    double sample_bytes; /* as stored */
};

/* Of a level, relative. */
#define VERDICT_TOLERANCE 0.1
/* Who loses more than this share of its time waiting for a processor is held up by that. */
#define VERDICT_STARVED 0.2

struct verdict {
    enum stave shortest;
    int balanced; /* loader and device are level; shortest is the lower one's stage */
    int others;   /* cores: other processes have them; 0: this run's own threads want more */
    double level; /* predicted for the run */
    double next;  /* level once the shortest stave is no more in the way */
    double more_threads, more_cpus; /* that would take the loader to next; 0: not in its way */
};

struct verdict verdict_find(const struct staves *s);
const char *stave_name(enum stave s);
/* Appends the verdict in words, one sentence a line: which, by how much, what would raise it to
 * what, and how the prediction compares with the run. */
void verdict_add_words(const struct staves *s, const struct verdict *v, struct str *out);

#endif
