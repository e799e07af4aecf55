#!/usr/bin/env python3
"""Single ops as PyTorch computes them in float64, on small shapes, as text for Stave's tests.

Usage: ops.py [--out ops.txt]     needs torch and numpy; takes a second

Inputs are not stored: element i of array NAME of case CASE is scale * random_normal({7, 5,
random_name("CASE.NAME")}, i), rounded to float32 first. Images are NHWC, convolution weights OHWI, all
contiguous. The gradient that enters the backward pass is the array "dy", scale 1. Shapes and options
of a case are the value lines "CASE NAME". Stored: the outputs and gradients, by name.

conv*     y = conv2d(x, w), no bias; dx, dw. x scale 1, w scale 0.2. Values n h w c out kh kw stride pad
linear    y = x w^T + b; dx, dw, db; all scales 1. x [n][in], w [out][in]
bn*       training mode, eps 1e-5, over (n, h, w): y; dx, dgamma, dbeta; running_mean and running_var
          after one step from 0 and 1 with momentum 0.1 (running_var takes the unbiased variance).
          x = 2 + 3 * normal (rounded after that), gamma = 1 + 0.5 * normal, beta scale 1.
          "biased_var" is the variance that y was normalised with
maxpool*  3x3, stride 2, pad 1; padding never wins (it is -inf: x is -5 + normal, so a zero would); dx
avgpool   mean over h and w; dx
xent*     logits scale 3; labels random_hash({7, 5, random_name("CASE.label")}, i) % c; loss = mean over n of
          -sum_c t log softmax, t = (1 - s) onehot + s / c; dlogits
"""
import argparse
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import hash as rnd

LINES = []


def values(case, **kw):
    for name, v in kw.items():
        LINES.append("value %s %s %.17g" % (case, name, v))


def out(case, name, t):
    """Stores an array; 4 axes are NCHW or OIHW here and NHWC or OHWI in the file."""
    t = t.detach()
    x = (t.permute(0, 2, 3, 1) if t.dim() == 4 else t).contiguous().numpy().ravel()
    LINES.append("array %s %s %d %s" % (case, name, x.size, " ".join("%.12g" % v for v in x)))


def make(case, name, shape, scale=1.0, shift=0.0):
    """shape in Stave's order; returns a leaf in torch's."""
    n = int(np.prod(shape))
    x = shift + scale * rnd.normal((7, rnd.TEST, rnd.name(f"{case}.{name}")), np.arange(n))
    t = torch.from_numpy(x.astype(np.float32).astype(np.float64)).reshape(shape)
    if len(shape) == 4:
        t = t.permute(0, 3, 1, 2).contiguous()
    return t.requires_grad_(True)


def backward(case, y):
    shape = (y.permute(0, 2, 3, 1) if y.dim() == 4 else y).shape
    y.backward(make(case, "dy", tuple(shape)).detach())


def conv(case, n, h, w, c, o, kh, kw, stride, pad):
    values(case, n=n, h=h, w=w, c=c, out=o, kh=kh, kw=kw, stride=stride, pad=pad)
    x, k = make(case, "x", (n, h, w, c)), make(case, "w", (o, kh, kw, c), 0.2)
    y = F.conv2d(x, k, stride=stride, padding=pad)
    backward(case, y)
    for name, t in (("y", y), ("dx", x.grad), ("dw", k.grad)):
        out(case, name, t)


def linear(case, n, i, o):
    values(case, n=n, out=o, **{"in": i})
    x, w, b = make(case, "x", (n, i)), make(case, "w", (o, i)), make(case, "b", (o,))
    y = F.linear(x, w, b)
    backward(case, y)
    for name, t in (("y", y), ("dx", x.grad), ("dw", w.grad), ("db", b.grad)):
        out(case, name, t)


def batchnorm(case, n, h, w, c):
    values(case, n=n, h=h, w=w, c=c, eps=1e-5, momentum=0.1)
    x = make(case, "x", (n, h, w, c), 3.0, 2.0)
    gamma, beta = make(case, "gamma", (c,), 0.5, 1.0), make(case, "beta", (c,))
    mean, var = torch.zeros(c, dtype=torch.float64), torch.ones(c, dtype=torch.float64)
    y = F.batch_norm(x, mean, var, gamma, beta, training=True, momentum=0.1, eps=1e-5)
    backward(case, y)
    for name, t in (("y", y), ("dx", x.grad), ("dgamma", gamma.grad), ("dbeta", beta.grad),
                    ("running_mean", mean), ("running_var", var),
                    ("biased_var", x.var(dim=(0, 2, 3), unbiased=False))):
        out(case, name, t)


def pool(case, n, h, w, c):
    values(case, n=n, h=h, w=w, c=c)
    x = make(case, "x", (n, h, w, c), 1.0, -5.0 if case.startswith("max") else 0.0)
    y = F.max_pool2d(x, 3, stride=2, padding=1) if case.startswith("max") else x.mean(dim=(2, 3))
    backward(case, y)
    out(case, "y", y)
    out(case, "dx", x.grad)


def xent(case, n, c, smoothing):
    values(case, n=n, c=c, smoothing=smoothing)
    x = make(case, "logits", (n, c), 3.0)
    labels = rnd.hash_((7, rnd.TEST, rnd.name(f"{case}.label")), np.arange(n)) % np.uint64(c)
    loss = F.cross_entropy(x, torch.from_numpy(labels.astype(np.int64)), label_smoothing=smoothing)
    loss.backward()
    values(case, loss=loss.item())
    out(case, "label", torch.from_numpy(labels.astype(np.float64)))
    out(case, "dlogits", x.grad)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "ops.txt"))
    path = p.parse_args().out
    conv("conv3x3", 2, 5, 6, 3, 4, 3, 3, 1, 1)
    conv("conv3x3_s2", 2, 7, 6, 3, 4, 3, 3, 2, 1)
    conv("conv1x1", 2, 4, 3, 5, 6, 1, 1, 1, 0)
    conv("conv1x1_s2", 2, 5, 4, 5, 3, 1, 1, 2, 0)
    conv("conv7x7_s2", 1, 11, 12, 3, 2, 7, 7, 2, 3)
    conv("conv3x1", 1, 5, 4, 2, 3, 3, 1, 1, 0)
    linear("linear", 3, 5, 4)
    batchnorm("bn", 3, 4, 3, 5)
    batchnorm("bn_few", 5, 1, 1, 3)
    pool("maxpool_even", 2, 6, 8, 3)
    pool("maxpool_odd", 1, 7, 5, 3)
    pool("avgpool", 2, 3, 4, 5)
    xent("xent", 4, 10, 0.0)
    xent("xent_smooth", 4, 10, 0.1)
    xent("xent_two", 3, 2, 0.1)
    with open(path, "w") as f:
        f.write("# Written by tests/golden/ops.py, which says what every number means. Do not edit.\n"
                "# value CASE NAME VALUE | array CASE NAME N VALUE...   (the format of resnet50.txt)\n"
                "# torch %s\n" % torch.__version__ + "\n".join(LINES) + "\n")
    print(path, os.path.getsize(path), "bytes")


if __name__ == "__main__":
    main()
