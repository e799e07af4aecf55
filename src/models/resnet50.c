#include "models/resnet50.h"

static struct tensor *conv_bn(struct graph *g, struct tensor *x, const char *name, struct conv c)
{
    return batchnorm(g, conv2d(g, x, name, c), name, (struct norm){0});
}

static struct tensor *bottleneck(struct graph *g, struct tensor *x, int width, int stride)
{
    const int wide = 4 * width;
    struct tensor *y, *skip = x;

    y = relu(g, conv_bn(g, x, "conv1", (struct conv){.out = width, .k = 1}));
    y = relu(
        g, conv_bn(g, y, "conv2", (struct conv){.out = width, .k = 3, .pad = 1, .stride = stride}));
    y = conv_bn(g, y, "conv3", (struct conv){.out = wide, .k = 1});
    if (channels(x) != wide) /* a stage's first block widens the shortcut */
        skip = conv_bn(g, x, "downsample", (struct conv){.out = wide, .k = 1, .stride = stride});
    return relu(g, add(g, y, skip));
}

struct tensor *resnet50(struct graph *g, struct tensor *x, int classes)
{
    static const int depth[] = {3, 4, 6, 3};

    x = relu(g, conv_bn(g, x, "conv1", (struct conv){.out = 64, .k = 7, .pad = 3, .stride = 2}));
    x = maxpool(g, x, (struct pool){.k = 3, .pad = 1, .stride = 2});
    for (int stage = 0; stage < 4; stage++)
        for (int block = 0; block < depth[stage]; block++) {
            scope_begin(g, "layer%d.%d", stage + 1, block);
            x = bottleneck(g, x, 64 << stage, stage && !block ? 2 : 1);
            scope_end(g);
        }
    return linear(g, avgpool_all(g, x), "fc", classes, 0.01);
}
