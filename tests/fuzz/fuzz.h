/* What the fuzz targets share. A target is one file fuzz_NAME.c: it hands bytes to a reader of the
 * program as a file from outside would, and besides not crashing it demands that a refusal is a
 * proper one and that what was accepted is consistent. With FUZZ_SEEDS=DIR in the environment the
 * target writes its first inputs into DIR/seeds and its dictionary to DIR/dict, and ends.
 *
 * A demand that is not met is ASSERT of base/err.h: it aborts, which libFuzzer reports with the
 * input. One process, one thread. */
#ifndef STAVE_TESTS_FUZZ_H
#define STAVE_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* The entry points of libFuzzer. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* A target defines these two. */
void fuzz_seeds(void);                 /* calls fuzz_seed and fuzz_word */
extern const char *const fuzz_words[]; /* words of the format, ends with NULL */

void fuzz_seed(const void *bytes, size_t n);
void fuzz_word(const void *bytes, size_t n); /* one more entry of the dictionary */

/* A folder in memory, removed at the end. */
const char *fuzz_dir(void);
/* Writes a file there and returns its path, which holds until the second next call. */
const char *fuzz_put(const char *name, const void *bytes, size_t n);
void fuzz_remove(const char *name);
/* What is in a file of that folder, as a seed. */
void fuzz_seed_file(const char *name);

/* Of a negative code: bytes from outside may only be E_DATA or E_USAGE, with a reason. */
void fuzz_refused(int code);
/* Reads every byte, so that the sanitizers see a range that is not there. */
void fuzz_touch(const void *bytes, size_t n);

#endif
