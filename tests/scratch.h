/* A folder for one test, removed with what is in it. */
#ifndef STAVE_TESTS_SCRATCH_H
#define STAVE_TESTS_SCRATCH_H

#include <stddef.h>

/* cmocka fixtures: *state is the folder's path. */
int scratch_open(void **state);
int scratch_close(void **state);
/* Writes dir/name, making the folders on the way; returns the path, which the caller frees. */
char *scratch_file(const char *dir, const char *name, const char *text);
char *scratch_bytes(const char *dir, const char *name, const void *bytes, size_t n);

#endif
