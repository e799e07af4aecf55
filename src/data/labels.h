/* Whether the labels of a data set are what a model expects: looked at before a run, because a
 * label that is off by one looks like training that does not get better. */
#ifndef STAVE_DATA_LABELS_H
#define STAVE_DATA_LABELS_H

#include "data/source.h"

enum { LABELS_CHECKED = 4096 };

struct label_demand {
    int n_classes; /* labels must be in 0..n_classes-1 */
    int offset;    /* after this is added */
    int strict;    /* one that is not is an error */
};

/* Looks at the labels of up to LABELS_CHECKED samples, evenly spread; in records they stand beside
 * the marks that opening compares with the index. When strict, the first label that can not be read
 * is an error with its own reason. Labels that another offset would make fit, and
 * more than a tenth that are not as demanded, are an error (E_DATA) that says so. Fewer are a
 * warning: such samples count as bad when they are met. */
int source_check_labels(const struct source *s, struct label_demand d);
/* Two folders must have the same class folders, or a class would have two numbers. Sources that
 * keep no names are not compared. */
int source_same_classes(const struct source *a, const struct source *b);

#endif
