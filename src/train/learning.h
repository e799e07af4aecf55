/* Notices a model that does not learn: its mean loss stays where guessing among the classes would
 * put it, ln(classes), which label smoothing does not move. Looks at blocks of steps after a start
 * in which every model is there, and speaks once. */
#ifndef STAVE_TRAIN_LEARNING_H
#define STAVE_TRAIN_LEARNING_H

enum { LEARNING_START = 500, LEARNING_BLOCK = 100 }; /* steps */

struct learning {
    int classes; /* fewer than 2: nothing to notice */
    int told;
    long long n; /* steps seen by this process */
    double sum;  /* of the losses of the block */
};

/* One step's mean loss. Returns 1 the first time that a block's mean is within half a per cent of
 * guessing; sum / LEARNING_BLOCK is then that mean. */
int learning_step(struct learning *l, double loss);

#endif
