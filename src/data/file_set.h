/* Data sets in several files that are numbered by name: STEM-00000-of-00128 and so on, then an
 * ending, which may be empty. How TensorFlow names shards. */
#ifndef STAVE_DATA_FILE_SET_H
#define STAVE_DATA_FILE_SET_H

#include "base/file.h"

/* The number of shards, when path is STEM-NNNNN-of-MMMMM and then ending (the numbers have five
 * digits or more); otherwise 0. *stem, when wanted, gets the stem's length within path. */
unsigned long long file_set_count(const char *path, const char *ending, size_t *stem);
/* The path of shard k of n, heap. */
char *file_set_name(const char *stem, unsigned long long k, unsigned long long n,
                    const char *ending);
/* The paths of all files that are shards of STEM, in order. */
void file_set_find(const char *stem, const char *ending, struct file_names *out);
/* Of files in order, E_DATA when one is a shard and they are not just its whole set. */
int file_set_complete(const struct file_names *files, const char *ending);

#endif
