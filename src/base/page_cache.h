/* The system's cache of file contents: emptying it, and seeing what is left of a file. A process
 * without the right to empty the whole may still ask for single files; what is mapped, locked or in
 * use elsewhere then stays, and a file system in memory (tmpfs) has nowhere else to keep it. So
 * whoever says that it is empty measures.
 *
 * Linux. Any thread. */
#ifndef STAVE_BASE_PAGE_CACHE_H
#define STAVE_BASE_PAGE_CACHE_H

#include <stdint.h>

/* Writes what is dirty and drops all clean pages, names and inodes, of every file of the machine.
 * E_UNSUPPORTED where this process may not (it takes root, and /proc/sys to be writable). */
int page_cache_drop_all(void);

/* Bytes that this process has had read from storage so far, because they were not in memory
 * (read_bytes of /proc/self/io); -1 when the system does not say. */
int64_t page_cache_missed_bytes(void);

/* The two below take an open file and its path for messages; E_IO when the system refuses. */

/* Writes the file's dirty pages and asks the system to forget its pages. */
int page_cache_forget(int fd, const char *path);

/* Whether the system tells this process which pages of an open file are in memory: it calls all of
 * them resident to whoever is neither the owner nor root and may not write the file. */
int page_cache_may_see(int fd);

struct page_cache_share {
    uint64_t bytes;    /* of the files looked at */
    uint64_t resident; /* of these, in memory; whole pages, the last one cut at the file's end */
};
/* Adds the file to *s. E_UNSUPPORTED when its pages are not this process's to see: the system tells
 * the owner, root, and whoever may write the file. */
int page_cache_measure(int fd, const char *path, struct page_cache_share *s);

#endif
