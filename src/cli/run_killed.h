/* The result of a run that was killed: result.json still says that it runs. */
#ifndef STAVE_CLI_RUN_KILLED_H
#define STAVE_CLI_RUN_KILLED_H

/* Makes its status "killed" and gives it further members, in place of those of the same name;
 * members is "" or text such as `, "ceiling": {...}`. Whatever is no result of a run that was
 * killed, or belongs to one that is at work, stays as it is. E_IO when it can not be written. */
int run_mark_killed(const char *dir, const char *members);

#endif
