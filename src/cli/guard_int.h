/* Inside the supervisor: guard_supervisor.c, and guard_ingest.c, which starts, watches and ends
 * fio. All of it runs in the supervisor's process, which has one thread, no terminal and a session
 * of its own, ignores SIGINT, SIGTERM, SIGHUP and SIGPIPE, and prints nothing. */
#ifndef STAVE_CLI_GUARD_INT_H
#define STAVE_CLI_GUARD_INT_H

#include "cli/guard.h"
#include "cli/leftovers.h"
#include "meter/ceiling.h"

/* Between the two processes: one datagram each way. A question has its answer, with the report as
 * it is then; that to GUARD_WARM may come when the run does something else. */
enum guard_question { GUARD_OPEN, GUARD_PLACE, GUARD_WARM, GUARD_END };

struct guard_message {
    enum guard_question question;
    int rc;           /* of the answer */
    int64_t start_ms; /* GUARD_WARM */
    char text[4096];  /* GUARD_PLACE: the folder; of an answer with rc < 0: the reason */
    struct guard_report report;
};

struct guard_report guard_report_none(void);

/* The supervisor's life; fd is its end of the messages, run the process it serves. */
_Noreturn void supervise(const struct guard_plan *plan, int fd, pid_t run);

struct guard_ingest; /* guard_ingest.c's */

struct supervisor {
    struct guard_plan plan;
    int fd;    /* of messages; the run's end is its end */
    char *dir; /* the run folder; NULL before guard_folder */
    pid_t run;
    int64_t start_ms; /* of the event stream; set at the end of warm-up */
    struct ceiling ceiling;
    struct leftovers left;       /* what is to be mended; supervisor_note after each change */
    struct guard_report report;  /* what the run is told */
    struct guard_ingest *ingest; /* NULL: none at work */
};

/* Writes leftovers.json anew: before what is noted exists, where that can be. */
int supervisor_note(struct supervisor *s);

/* Every descriptor but the first three and this one. */
void supervisor_close_all_but(int fd);

/* The result of an ingest that has not begun. */
void guard_ingest_expect(struct guard_report *r);
/* When warm-up is over. Makes the folder, notes it, starts fio (PDEATHSIG SIGKILL, no descriptor
 * of ours, its words into dir/fio.txt), notes its pid. A failure is what report.ingest.words says;
 * the run goes on. */
int guard_ingest_begin(struct supervisor *s);
/* Called some five times a second while s->ingest is set. fio that has ended by itself is noticed
 * here. */
void guard_ingest_poll(struct supervisor *s);
/* Ends fio (SIGINT, wait, SIGKILL), removes its files and notes that they are gone, makes
 * ingest.csv, fills report.ingest, and sets s->ingest to NULL. Also when the run was killed. */
void guard_ingest_end(struct supervisor *s);
#endif
