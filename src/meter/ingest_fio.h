/* The fio that is installed. Within the ingest. */
#ifndef STAVE_METER_INGEST_FIO_H
#define STAVE_METER_INGEST_FIO_H

#include <stddef.h>

/* Releases as one number, major times 1000 plus minor: 3033 for "fio-3.33"; -1 for what is none. */
enum { INGEST_FIO_OLDEST = 3001, INGEST_FIO_TELLS_MAX = 3037 };
int ingest_fio_release(const char *version);
/* Asks the fio in PATH for its version, at most ten seconds. E_UNSUPPORTED: none, too old, or
 * something else that has its name. */
int ingest_find_fio(char *version, size_t n);

#endif
