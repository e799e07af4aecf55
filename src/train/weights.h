/* Weights that come from somebody or go to somebody: a file under our names or under those of the
 * model people already have (name_map.h), as opposed to a checkpoint to go on from. Only parameters
 * and running statistics; the state of an optimiser is neither read nor written.
 *
 * Ownership: weights_open's file is closed by weights_close. Threads: one. Errors: E_IO, E_DATA in
 * a sentence that names file and tensor. */
#ifndef STAVE_TRAIN_WEIGHTS_H
#define STAVE_TRAIN_WEIGHTS_H

#include "train/checkpoint.h"
#include "train/name_map.h"

struct weights {
    struct safetensors *file;
    const struct name_map *map; /* NULL: our own names; weights_match sets it */
};

/* A safetensors file, or a run folder, of which it takes the newest checkpoint. Names that it is a
 * pickle when it is one. A checkpoint's checksums are checked. */
int weights_open(struct weights *w, const char *path);
void weights_close(struct weights *w); /* harmless when nothing is open */
/* Finds out whose names the file has and checks it against the model's weights, F32 and in our
 * order of dimensions. Under our own names all must be there with their shape. Under map's the file
 * must also hold nothing else but their counts, which may be absent. Types may be F16, BF16, F32,
 * F64. Reads no data. */
int weights_match(struct weights *w, const struct name_map *map,
                  const struct safetensors_tensor *wanted, size_t n);
/* One of the weights matched, as float32 in our order; E_DATA when an element is not finite. */
int weights_read(const struct weights *w, const struct safetensors_tensor *wanted, float *dst);

/* Writes the weights of a checkpoint under map's names, atomically. What the checkpoint's metadata
 * says of the model's use goes along. */
int weights_export(const struct checkpoint *c, const struct name_map *map, const char *path);

/* For both directions, and tests: what one of our weights is called there (into name) and how it is
 * shaped; 0 when it has no name there. map NULL: as it is. */
enum { WEIGHTS_NAME_BYTES = 512 };
int weights_theirs(const struct name_map *map, const struct safetensors_tensor *ours,
                   char name[WEIGHTS_NAME_BYTES], struct safetensors_tensor *theirs);
/* The name of the count beside the tensor called theirs; 0 when there is none. */
int weights_counter(const struct name_map *map, const char *theirs, char name[WEIGHTS_NAME_BYTES]);
/* The weight to which an optimiser's state belongs that has this name, WEIGHT.momentum; whether
 * there is such a weight is to be looked up. 0: the name is none of a state. */
int weights_owner(const char *name, char owner[WEIGHTS_NAME_BYTES]);
/* Elements between our order of dimensions and theirs. ours: shape of our weight. */
enum weights_way { WEIGHTS_TO_THEM, WEIGHTS_TO_US };
void weights_reorder(const struct name_map *map, const struct safetensors_tensor *ours,
                     enum weights_way way, const float *src, float *dst);

#endif
