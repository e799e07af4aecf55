/* ResNet-50 (He et al. 2016), the form called v1.5: in a stage's first block the stride sits on the
 * 3x3 convolution. */
#ifndef STAVE_MODELS_RESNET50_H
#define STAVE_MODELS_RESNET50_H

#include "ops/ops.h"

/* Images [N,H,W,3], normalised -> logits [N,classes]. 25,557,032 parameters with 1000 classes. */
struct tensor *resnet50(struct graph *g, struct tensor *images, int classes);

#endif
