/* The built program driven from outside, on a small data set made here: 3 classes of grey JPEG
 * pictures that differ in brightness, as train.rec and val.rec. And the files of its run folders,
 * read back. Failures end the test. */
#ifndef STAVE_TESTS_RUN_FIXTURE_H
#define STAVE_TESTS_RUN_FIXTURE_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <sys/types.h>

enum { RUN_TRAIN = 24, RUN_VAL = 10, RUN_CLASSES = 3 };

/* What is wrong with one record of a data set. OTHER: the next record's picture under a label that
 * is not its own: one of the two is wrong. */
enum run_damage { DAMAGE_NONE, DAMAGE_CUT, DAMAGE_EMPTY, DAMAGE_LABEL, DAMAGE_LARGE, DAMAGE_OTHER };

/* Writes dir/SPLIT.rec with n pictures; damage[i] for record i, or NULL. */
void run_data(const char *dir, const char *split, int n, const enum run_damage *damage);
/* The same without damage, with comments in the pictures that make each about so many bytes: a data
 * set that is large and yet quick to decode. */
void run_large_data(const char *dir, const char *split, int n, size_t bytes);

/* A program that runs. Its words go to the file `said`. */
struct program {
    pid_t pid;
    char *said;
};
/* Starts the program; the text is its command line, split at spaces. file_bytes: no file may grow
 * beyond that; 0: no limit. stdin_fd: -1 for /dev/null. */
struct program program_start(const char *dir, long file_bytes, int stdin_fd, const char *words);
/* Waits. Returns the exit code, 1000 + the signal that ended it; *text, heap, gets what it said. */
int program_wait(struct program p, char **text);
/* The whole of it. Fails the test unless the exit code is as expected. Returns the text. */
char *program_run(const char *dir, int expected, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Waits until a file holds this text, at most a minute. */
void wait_for_text(const char *path, const char *text);

/* A whole text file, heap. */
char *read_text(const char *dir, const char *name);
/* One JSON file of a folder. */
cJSON *read_json(const char *dir, const char *name);
/* events.jsonl or mlperf.log as an array of objects; every line must parse. */
cJSON *read_lines(const char *dir, const char *name);
/* The lines of a log with this key, counted; *last gets the last one, or NULL. */
int count_key(const cJSON *lines, const char *key, const cJSON **last);
double number_of(const cJSON *object, const char *name); /* NAN when absent */
const char *string_of(const cJSON *object, const char *name);
/* A number of RUN's result.json; NAN when absent. */
double result_of(const char *dir, const char *run, const char *key);
/* Two files of dir hold the same bytes. */
void assert_same_file(const char *dir, const char *a, const char *b);
void assert_says(const char *text, const char *part);

#endif
