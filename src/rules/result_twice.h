/* One run handed in as several: logs with the same seed, or with the same times and evaluations. */
#ifndef STAVE_RULES_RESULT_TWICE_H
#define STAVE_RULES_RESULT_TWICE_H

struct log;
struct result;
struct result_run;

/* What a run is told by: its seeds and its course. */
void result_marks_take(struct result_run *run, const struct log *l);
void result_marks_release(struct result_run *run);
/* Says of every run that repeats an earlier one so. A repeated course is a problem in all rounds; a
 * repeated seed is one from 1.1 on and in runs of this program, a note in 1.0, whose published logs
 * hold it of runs that differ (RNN-T at 2021), and nothing before. */
void result_find_twice(struct result *r, int round);

#endif
