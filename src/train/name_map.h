/* How another program names and lays out the weights of a model: what export writes and import
 * reads. A workload has one; it is constant. */
#ifndef STAVE_TRAIN_NAME_MAP_H
#define STAVE_TRAIN_NAME_MAP_H

#include <stddef.h>

struct name_map {
    const char *naming; /* whose: "torchvision" */
    /* The name there of the weight we call ours, into out; 0 when it has none or does not fit. */
    int (*theirs)(const char *ours, char *out, size_t n);
    /* Dimension d of a weight of rank 4 is there our dimension order4[d]; other ranks are the same
     * in both. */
    int order4[4];
    /* They keep a 64-bit count of the batches seen beside every tensor that ends in .beside; it is
     * called the same with this ending. NULL: they do not. */
    const char *counter, *beside;
};

#endif
