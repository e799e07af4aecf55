/* The memory of a weight store on one device. A bank holds one or several named sets of parameters
 * and state (live, a snapshot, a moving average, an opponent's) and one block of carry; a plan runs
 * on any of its sets. Set 0 is "live". The store must be sealed. The bank owns its memory and
 * borrows store and engine. */
#ifndef STAVE_PLAN_BANK_H
#define STAVE_PLAN_BANK_H

#include "graph/store.h"
#include "plan/engine.h"

enum { MAX_SETS = 8 };

struct weight_set {
    const char *name;
    void *block[N_WEIGHT_BLOCKS]; /* the carry block is the same in every set */
};

struct bank {
    const struct engine *engine;
    const struct store *store;
    struct weight_set set[MAX_SETS];
    int n_sets;
};

int bank_init(struct bank *b, const struct engine *e, const struct store *s);
void bank_release(struct bank *b);
/* A new set, a copy of set `from`; returns its number or an error. name is borrowed. */
int bank_add_set(struct bank *b, const char *name, int from);
int bank_copy_set(struct bank *b, int to, int from);
/* Initial values of every weight of a set; the carry block becomes zero. A pure function of seed
 * and names. */
int bank_fill(struct bank *b, int set, uint64_t seed);
/* One weight, whole, to and from host memory. */
int bank_write(struct bank *b, int set, const struct weight *w, const void *src);
int bank_read(struct bank *b, int set, const struct weight *w, void *dst);
void *bank_address(const struct bank *b, int set, const struct weight *w);
size_t bank_bytes(const struct bank *b);
/* The initial values of one float32 weight, on the host. */
void weight_initial(const struct weight *w, uint64_t seed, float *dst);

#endif
