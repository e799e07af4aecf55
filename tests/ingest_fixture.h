/* For tests of the ingest: the machine's fio, programs that have its name, and a place for files.
 */
#ifndef STAVE_TESTS_INGEST_FIXTURE_H
#define STAVE_TESTS_INGEST_FIXTURE_H

/* cmocka fixtures. Of a group: an ingest leaves a twentieth of the disk free, so where /tmp has no
 * such room, folders are made in memory. */
int ingest_room_open(void **state);
/* Of a test: a scratch folder, and PATH as it was afterwards. */
int ingest_scratch_open(void **state);
int ingest_scratch_close(void **state);

/* Skips the test where there is none. */
void need_fio(void);
/* Puts a fio into PATH, before the machine's, that says it is fio-3.33 and else does what a shell
 * script says; $out is where its document goes. */
void use_fio(const char *dir, const char *script);
/* The names in a folder that start so. */
int names_in(const char *dir, const char *start);
/* Processes named fio that are at work in a folder, by their command lines. */
int fios_of(const char *dir);
/* Kills them, or they would write for ever. Returns how many there were. */
int end_fios_of(const char *dir);

#endif
