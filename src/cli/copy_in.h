/* The next data set is copied in while the present one trains: a process beside a run that reads
 * all files of a folder and writes them into another, as `cp -r` does, removes what it wrote and
 * begins again, until it is stopped. It starts when the run's warm-up is over (warm.h). Should the
 * process that started it die, it removes its copies and ends.
 *
 * What it says of itself is in the run's folder, as copy_in.json: {"from":..,"copied_bytes":..,
 * "seconds":..,"copied_bytes_per_s":..,"passes":..,"error":".."}: bytes given to the file system,
 * of which some may be on their way to the disk still. */
#ifndef STAVE_CLI_COPY_IN_H
#define STAVE_CLI_COPY_IN_H

#include <sys/types.h>

#define COPY_IN_REPORT "copy_in.json"

struct copy_in {
    char *from, *run_dir, *folder; /* folder, in run_dir, gets the copies */
    pid_t pid;
    struct copy_count *count; /* shared with the process */
};

/* Before any run: there are files, and room for them in dir with a twentieth of what is free to
 * spare. E_USAGE, E_IO. */
int copy_in_check(const char *from, const char *dir);
int copy_in_start(const char *from, const char *run_dir, double warm_s, struct copy_in *out);
/* Ends it, waits until its copies are gone and writes its report. */
int copy_in_stop(struct copy_in *c);

#endif
