/* Files, whole: read, replace atomically, make folders. Paths are bytes; nothing is assumed about
 * their encoding. */
#ifndef STAVE_BASE_FILE_H
#define STAVE_BASE_FILE_H

#include <stddef.h>
#include <stdint.h>

/* Opens path to read it: the descriptor, which the caller closes, or an error. What is no regular
 * file is refused; a pipe without waiting for its writer. */
int file_open(const char *path);
/* Reads all of path into a heap buffer with a zero byte after it; the caller frees *bytes. Refuses
 * more than max. */
int file_read(const char *path, size_t max, char **bytes, size_t *n);
/* Writes path.tmp, syncs, renames over path and syncs the folder: a reader sees the old file or the
 * new one. */
int file_replace(const char *path, const void *bytes, size_t n);
/* The same in pieces. On failure of any call the temporary file is removed and path is untouched.
 */
struct file_writer {
    char *path, *tmp;
    int fd;
};
int file_writer_open(struct file_writer *w, const char *path);
int file_writer_add(struct file_writer *w, const void *bytes, size_t n);
int file_writer_commit(struct file_writer *w);
void file_writer_abort(struct file_writer *w); /* harmless after commit */

/* After a rename to path, which must itself reach the disk, or a crash brings the old name back. */
void file_sync_folder_of(const char *path);
void file_remove_tree(const char *path); /* with all that is in it, as far as that goes */
int file_mkdirs(const char *path);       /* like mkdir -p */
int file_exists(const char *path);
int file_is_folder(const char *path);
/* Bytes that may still be written where path is, or will be: its nearest folder that exists is
 * asked. -1 when the file system does not say. */
int64_t file_free_bytes(const char *path);
int file_pread(int fd, void *dst, size_t n, uint64_t offset,
               const char *path); /* all n bytes or an error */
/* What file_pread says of a file that is too short: E_DATA. For readers of their own. */
int file_ends(const char *path, uint64_t at, size_t n_missing);
int file_write_all(int fd, const void *bytes, size_t n, const char *path);
char *file_join(const char *dir, const char *name); /* heap */

/* What a folder holds, hidden names too, in the order of the names: result_2 before result_10. A
 * failure is E_IO and leaves an empty list. */
struct file_names {
    char **all;
    size_t n;
};
int file_list(const char *dir, struct file_names *out);
void file_names_add(struct file_names *v, char *name); /* takes the heap string over */
void file_names_release(struct file_names *v);

#endif
