/* Checkpoints of a run folder. The newest is checkpoint.safetensors, the one before it
 * checkpoint.prev.safetensors. Saving goes through checkpoint.next.safetensors: write that one
 * completely, make the old newest the previous one, rename. At every moment at least one complete
 * checkpoint exists, and where the file system has hard links checkpoint.safetensors itself always
 * does. Checksums over all data and over what the header says are kept in the metadata, so damage
 * is noticed, not only truncation.
 *
 * Tensors are (name, dtype, shape, bytes); what they mean is the caller's business.
 * Ownership: a checkpoint that was opened is closed by checkpoint_close. Threads: one.
 * Errors: E_IO, E_DATA; an older checkpoint taken in place of a damaged one is a warning. */
#ifndef STAVE_TRAIN_CHECKPOINT_H
#define STAVE_TRAIN_CHECKPOINT_H

#include "train/safetensors.h"

#define CHECKPOINT_NAME "checkpoint.safetensors"
#define CHECKPOINT_PREVIOUS "checkpoint.prev.safetensors"
#define CHECKPOINT_NEXT "checkpoint.next.safetensors"

/* Where the run stood, kept as strings in the metadata. */
struct checkpoint_info {
    long long step, epoch; /* steps done in all; epochs finished */
    uint64_t seed;
    const char *options_digest; /* of what may not change on resume; not NULL */
    const struct safetensors_meta *extra;
    size_t n_extra;
    const char *init; /* the file whose weights the run began with; NULL: random ones */
};

/* Sorts tensors in place. On failure the checkpoints that were there still are. */
int checkpoint_save(const char *dir, struct safetensors_tensor *tensors, size_t n,
                    struct checkpoint_info info);

struct checkpoint {
    struct safetensors *file;
    const char *name;            /* in its folder; NULL when opened by its path */
    struct checkpoint_info info; /* strings live as long as file */
};
/* Opens the newest checkpoint of dir whose every byte is right. E_IO when there is none. */
int checkpoint_open(struct checkpoint *c, const char *dir);
/* Finishes what an interrupted save left, before the next one: the checkpoint that was opened in
 * dir gets the newest one's name, and what is half written or damaged beside it goes. E_IO when
 * that can not be done; nothing is lost then. */
int checkpoint_settle(const struct checkpoint *c, const char *dir);
/* Opens one file; the same checks. */
int checkpoint_open_file(struct checkpoint *c, const char *path);
void checkpoint_close(struct checkpoint *c);
/* E_DATA unless header and data are as the checksums in the metadata say. */
int checkpoint_check_sums(const struct safetensors *f);
/* What header_crc32 of the metadata holds, as 8 hexadecimal digits. */
uint32_t checkpoint_header_sum(const struct safetensors_tensor *tensors, size_t n,
                               const struct safetensors_meta *meta, size_t n_meta);
/* E_DATA unless the file has a tensor of wanted's name, dtype and shape. Reads no data. */
int checkpoint_check(const struct checkpoint *c, const struct safetensors_tensor *wanted);
/* Copies the tensor called wanted->name into dst, after checkpoint_check. */
int checkpoint_read(const struct checkpoint *c, const struct safetensors_tensor *wanted, void *dst);
/* How many of the CHECKPOINT_FILES files that can exist at once do. */
enum { CHECKPOINT_FILES = 3, CHECKPOINT_KEPT = 2 }; /* at once; when a run has ended */
int checkpoint_count(const char *dir);
int checkpoint_exists(const char *dir); /* any of them */

#endif
