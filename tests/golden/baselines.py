#!/usr/bin/env python3
"""What a model without learnt features reaches on Fashion-MNIST: the bar for the sample target.

Usage: baselines.py FOLDER [linear|frozen]
FOLDER holds train-images-idx3-ubyte.gz and its three companions; Debian's dataset-fashion-mnist puts
them in /usr/share/datasets/fashion-mnist.
Prints what baselines.txt holds. Needs torch, torchvision, numpy; about twenty minutes on one core.

linear     softmax regression on the 28x28 pixels (scaled to mean 0, variance 1 over the training set),
           200 iterations of full-batch L-BFGS with L2 1e-4 on the weights (convex, so one seed is enough),
           and mini-batch SGD (momentum 0.9, batch 256, 30 epochs, rate 0.02 to 0 by cosine),
           whose seeds also choose the order. Trained on all 60,000 images or the first 10,000.
frozen     softmax regression on the 2048 pooled features of torchvision's resnet50 with its own random
           start weights, in evaluation mode, after batch-norm statistics were set from the first 2,000
           training images in batches of 100 (cumulative average); grey 28x28 copied to three channels,
           first 10,000 training images; features scaled to mean 0, variance 1. 100 iterations at several L2;
           the best of them on the test set flatters this baseline. Start weights make the deep features
           nearly chaotic (similar images get unlike features), hence the low figure.
Accuracy is over all 10,000 test images at the end of training, never the best epoch.
"""
import gzip
import os
import sys

import numpy as np
import torch
import torchvision


def idx(folder, name):
    with gzip.open(os.path.join(folder, name)) as f:
        raw = f.read()
    rank = raw[3]
    shape = [int.from_bytes(raw[4 + 4 * i:8 + 4 * i], "big") for i in range(rank)]
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * rank).reshape(shape)


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def lbfgs(x, y, seed, l2=1e-4, rounds=10):
    torch.manual_seed(seed)
    model = torch.nn.Linear(x.shape[1], 10)
    o = torch.optim.LBFGS(model.parameters(), max_iter=20, history_size=10, line_search_fn="strong_wolfe")

    def closure():
        o.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y) + l2 * (model.weight ** 2).sum()
        loss.backward()
        return loss
    for _ in range(rounds):
        o.step(closure)
    return model


def sgd(x, y, seed, epochs=30, batch=256):
    torch.manual_seed(seed)
    model = torch.nn.Linear(x.shape[1], 10)
    o = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    steps = epochs * (len(x) // batch)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(o, steps)
    for _ in range(epochs):
        order = torch.randperm(len(x))
        for i in range(len(x) // batch):
            at = order[i * batch:(i + 1) * batch]
            o.zero_grad()
            torch.nn.functional.cross_entropy(model(x[at]), y[at]).backward()
            o.step()
            schedule.step()
    return model


def show(what, scores):
    print("%-58s mean %.4f  min %.4f  max %.4f  (%d seeds: %s)" % (
        what, np.mean(scores), min(scores), max(scores), len(scores), " ".join("%.4f" % s for s in scores)),
        flush=True)


def linear(x, y, tx, ty):
    for n in (len(x), 10000):
        show(f"linear, pixels, L-BFGS, {n} images",
             [accuracy(lbfgs(x[:n], y[:n], s), tx, ty) for s in range(1)])
        show(f"linear, pixels, SGD 30 epochs, {n} images",
             [accuracy(sgd(x[:n], y[:n], s), tx, ty) for s in range(3)])


def features(model, x):
    with torch.no_grad():
        return torch.cat([model(x[i:i + 500].expand(-1, 3, -1, -1)) for i in range(0, len(x), 500)])


def frozen(x, y, tx, ty, seeds=2):
    scores = {1e-3: [], 1e-2: [], 1e-1: [], 1.0: []}
    for seed in range(seeds):
        torch.manual_seed(seed)
        model = torchvision.models.resnet50()
        model.fc = torch.nn.Identity()
        for m in model.modules():
            if isinstance(m, torch.nn.BatchNorm2d):
                m.momentum = None
        model.train()
        with torch.no_grad():
            for i in range(0, 2000, 100):
                model(x[i:i + 100].expand(-1, 3, -1, -1))
        model.eval()
        a, b = features(model, x), features(model, tx)
        mean, std = a.mean(0), a.std(0) + 1e-6
        for l2, list_ in scores.items():
            list_.append(accuracy(lbfgs((a - mean) / std, y, seed, l2, 5), (b - mean) / std, ty))
    for l2, list_ in scores.items():
        show(f"frozen random resnet50, 28x28, 10000 images, L2 {l2:g}", list_)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder = sys.argv[1]
    x, tx = (torch.from_numpy(idx(folder, f"{s}-images-idx3-ubyte.gz").astype(np.float32)) for s in ("train", "t10k"))
    y, ty = (torch.from_numpy(idx(folder, f"{s}-labels-idx1-ubyte.gz").astype(np.int64)) for s in ("train", "t10k"))
    mean, std = x.mean(), x.std()
    x, tx = (x - mean) / std, (tx - mean) / std
    print("Fashion-MNIST: what models without learnt features reach on the 10,000 test images.")
    print("How: baselines.py in this folder; torch %s, torchvision %s, float32, CPU." % (
        torch.__version__, torchvision.__version__))
    if sys.argv[2:] != ["frozen"]:
        linear(x.reshape(len(x), -1), y, tx.reshape(len(tx), -1), ty)
    if sys.argv[2:] != ["linear"]:
        frozen(x[:10000, None], y[:10000], tx[:, None], ty)


if __name__ == "__main__":
    main()
