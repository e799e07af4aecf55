#!/usr/bin/env python3
"""What PyTorch computes on ResNet-50, as a small text file that Stave's tests compare with.

Usage: parity.py [--out resnet50.txt] [--only init,grad,sgd,...]
Needs torch, torchvision, numpy. About ten minutes; no network, no stored weights. OMP_NUM_THREADS=1 is faster on a busy machine.

Everything below is part of the fixture's meaning: C (tests/parity_fixture.c) does the same.

Random numbers: hash.py; key(NAME) = {seed 7, purpose RANDOM_TEST = 5, epoch random_name(NAME)}.
Order of elements: convolution weights [O][KH][KW][I], fc.weight [out][in], images NHWC, all contiguous.
Names are torchvision's ("layer1.0.downsample.1.weight").

Model: torchvision.models.resnet50, v1.5 (stride on the 3x3), 1000 classes, batch-norm eps 1e-5.
  element i of NAME, rounded to float32, with z = random_normal(key(NAME), i):
  convolution        0.15 sqrt(2 / (KH KW I)) z   fc.weight     0.02 z      fc.bias  0.1 z
  batch-norm weight  t u (1 + 0.1 z)              batch-norm bias   t (shift + 0.1 z)
  running_mean       0.1 z                        running_var   1 + 0.1 random_uniform(key(NAME), i)
  t = 0.03 for layer4.*.bn3 and layer4.0.downsample.1, else 1;  u = 0.3 for *.bn3, else 1
  shift = -0.5 for bn1 (the stem), 3 for *.bn1, 2.5 for *.bn2, 0 for *.bn3, 3.5 for *.downsample.1

  Why not He initialisation and gamma 1: a comparison over five steps must measure the program, not
  chaos. An activation within rounding of a ReLU's kink takes another side in float32 than in float64 and
  its gradient jumps by its own size; with plain weights that puts float32 PyTorch 2 % off its own
  float64 gradient, and 100 % off after five steps. The shifts keep most units away from the kink (every
  ReLU still cuts 0.1 to 1 %, which a missing ReLU shows), u calms the residual branches, small
  convolutions let SGD move them by a per cent (batch norm makes g grow as 1 / |w|) while t and the
  size of fc.weight keep the logits from running away.

Batch k (0..4): 8 images of 64x64x3; pixel i = random_normal(key("image<k>"), i), rounded to float32;
  label i = random_hash(key("label<k>"), i) % 1000. Loss: the mean over the batch of softmax cross
  entropy with label smoothing 0.1, that is against 0.9 onehot + 0.1 / 1000.

Running statistics: running = 0.9 old + 0.1 batch. PyTorch puts the UNBIASED variance (n / (n - 1))
  into running_var, while it normalises with the biased one. Section "running" has PyTorch's; section
  "running_biased" has what the biased variance would give, to recognise that mistake.

Optimisers, g = gradient of the loss at step k on batch k, w = weight, "decayed" = convolutions and
fc.weight, "plain" = batch-norm parameters and every bias; buffers start at zero; lr(k) is the first
rate for k = 0, 1, 2 and the second for k = 3, 4 (values in section "option"):
  sgd        g += wd w (decayed only); b = m b + g; w -= lr b
  nesterov   as sgd, but w -= lr (g + m b)
  lars_in    the rate inside the buffer (MLPerf's reference): decayed: t = 0.001 |w| / (|g| + wd |w|),
             1 if |w| or |g| is 0; g += wd w; b = m b - lr t g; w += b.  plain: t = 1, wd = 0
  lars_out   the rate outside: b = m b + t g; w -= lr b.  They differ because the rate changes at step 3
  adamw      w -= lr wd w (decayed only); p = b1 p + (1-b1) g; q = b2 q + (1-b2) g^2;
             w -= lr (p / (1-b1^n)) / (sqrt(q / (1-b2^n)) + eps), n = 1..5
Each starts from the same weights and runs in training mode. The CHANGE w5 - w0 is recorded.

Truth is the float64 run of PyTorch. err32 and est32 say how far float32 PyTorch was from it. With SGD the
batch-norm parameters move by 1e-5 to 1e-6 of their size, so the rounding of the float32 weight alone is
1e-3 (weights) and 2e-2 (biases) of their change: judge such a tensor by twice err32, not by 1e-3.
After the first step conv1 and bn1 may be off by a few 1e-3 when one of 131,072 max-pool windows has
another winner in float32; which run that befalls depends on the order of its sums.
"""
import argparse
import os
import sys

import numpy as np
import torch
import torchvision

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import hash as rnd

SEED, CLASSES, BATCH, SIZE, STEPS, SMOOTHING = 7, 1000, 8, 64, 5, 0.1
DECAY = 5e-5
OPTIONS = {
    "sgd": dict(lr=(0.1, 0.05), momentum=0.9, wd=DECAY),
    "nesterov": dict(lr=(0.1, 0.05), momentum=0.9, wd=DECAY),
    "lars_in": dict(lr=(2.0, 1.0), momentum=0.9, wd=DECAY, trust=0.001, eps=0.0),
    "lars_out": dict(lr=(2.0, 1.0), momentum=0.9, wd=DECAY, trust=0.001, eps=0.0),
    "adamw": dict(lr=(5e-5, 2.5e-5), beta1=0.9, beta2=0.999, eps=1e-5, wd=1.0),
}
# Sections recorded for these parameters only, to keep the file small.
FEW = ["conv1.weight", "bn1.weight", "bn1.bias", "layer1.0.conv1.weight", "layer1.0.downsample.0.weight",
       "layer2.0.conv2.weight", "layer3.5.bn3.weight", "layer4.2.conv3.weight", "layer4.2.bn3.bias",
       "fc.weight", "fc.bias"]
HEADER = """\
# Written by tests/golden/parity.py, which says what every number means. Do not edit.
# One record a line, fields separated by one space; names hold no spaces:
#   u64     SECTION NAME VALUE          a 64-bit unsigned integer
#   value   SECTION NAME VALUE          a double
#   array   SECTION NAME N VALUE...     N doubles
#   summary SECTION NAME N NORM PROJECTION ERR32 EST32 COUNT VALUE...
# A summary stands for an array x of N elements, from a float64 run of PyTorch: its L2 norm; its
# projection sum x_i random_normal(key(NAME#proj), i); its elements at the indices
# random_hash(key(NAME#idx), j) % N for j < COUNT. ERR32: |x32 - x| / |x| of float32 PyTorch. EST32: the same
# estimated from these numbers alone, the largest of the relative error of the norm, the error of the projection
# over NORM, and sqrt(N / COUNT) times the norm of the errors of the elements, over NORM.
"""


def key(name):
    return (SEED, rnd.TEST, rnd.name(name))


def to_stave(tensor):
    """A tensor of torch's as a flat float64 array in Stave's order of elements."""
    t = tensor.detach()
    return (t.permute(0, 2, 3, 1) if t.dim() == 4 else t).contiguous().to(torch.float64).numpy().ravel()


def norm_shift(name):
    """What the bias of a batch norm is centred on."""
    if name == "bn1.bias":
        return -0.5
    for part, shift in ((".bn1.", 3.0), (".bn2.", 2.5), (".downsample.", 3.5)):
        if part in name:
            return shift
    return 0.0


def initial(name, tensor):
    """The start value of a weight or running statistic: float32, in torch's order."""
    shape, index = list(tensor.shape), np.arange(tensor.numel())
    z = rnd.normal(key(name), index)
    t = 0.03 if name.startswith("layer4") and (".bn3." in name or ".downsample." in name) else 1.0
    u = 0.3 if ".bn3." in name else 1.0
    if len(shape) == 4:
        x = 0.15 * np.sqrt(2.0 / (shape[1] * shape[2] * shape[3])) * z
    elif name == "fc.weight":
        x = 0.02 * z
    elif name == "fc.bias" or name.endswith("running_mean"):
        x = 0.1 * z
    elif name.endswith("running_var"):
        x = 1 + 0.1 * rnd.uniform(key(name), index)
    elif name.endswith("bias"):
        x = t * (norm_shift(name) + 0.1 * z)
    else:
        x = t * u * (1 + 0.1 * z)
    w = torch.from_numpy(x.astype(np.float32))
    if len(shape) == 4:
        o, i, h, w_ = shape
        return w.reshape(o, h, w_, i).permute(0, 3, 1, 2).contiguous()
    return w.reshape(shape)


def model_new(weights, dtype):
    model = torchvision.models.resnet50().to(dtype)
    with torch.no_grad():
        for name, t in model.state_dict().items():
            if name in weights:
                t.copy_(weights[name])
    return model


def batch(step, dtype):
    n = BATCH * SIZE * SIZE * 3
    x = rnd.normal(key(f"image{step}"), np.arange(n)).astype(np.float32).reshape(BATCH, SIZE, SIZE, 3)
    labels = rnd.hash_(key(f"label{step}"), np.arange(BATCH)) % np.uint64(CLASSES)
    return (torch.from_numpy(x).permute(0, 3, 1, 2).contiguous().to(dtype),
            torch.from_numpy(labels.astype(np.int64)))


def forward_backward(model, step):
    x, labels = batch(step, next(model.parameters()).dtype)
    model.train()
    model.zero_grad(set_to_none=True)
    logits = model(x)
    loss = torch.nn.functional.cross_entropy(logits, labels, label_smoothing=SMOOTHING)
    loss.backward()
    return logits.detach(), loss.item()


def decayed(name, w):
    return w.dim() == 4 or name == "fc.weight"


class Lars:
    """Both variants, written out, because torch has none."""

    def __init__(self, model, inside, lr, momentum, wd, trust, eps):
        self.model, self.inside, self.momentum = model, inside, momentum
        self.wd, self.trust, self.eps = wd, trust, eps
        self.buffers = {n: torch.zeros_like(w) for n, w in model.named_parameters()}

    def step(self, lr):
        for name, w in self.model.named_parameters():
            g, t, b = w.grad, 1.0, self.buffers[name]
            if decayed(name, w):
                wn, gn = w.norm().item(), g.norm().item()
                if wn > 0 and gn > 0:
                    t = self.trust * wn / (gn + self.wd * wn + self.eps)
                g = g + self.wd * w
            if self.inside:
                b.mul_(self.momentum).sub_(lr * t * g)
                w.add_(b)
            else:
                b.mul_(self.momentum).add_(t * g)
                w.sub_(lr * b)


class Torch:
    """torch's own optimisers."""

    def __init__(self, model, kind, lr, wd, momentum=None, beta1=None, beta2=None, eps=None):
        named = list(model.named_parameters())
        groups = [{"params": [w for n, w in named if decayed(n, w)], "weight_decay": wd},
                  {"params": [w for n, w in named if not decayed(n, w)], "weight_decay": 0.0}]
        if kind == "adamw":
            self.inner = torch.optim.AdamW(groups, lr=lr[0], betas=(beta1, beta2), eps=eps)
        else:
            self.inner = torch.optim.SGD(groups, lr=lr[0], momentum=momentum, nesterov=kind == "nesterov")

    def step(self, lr):
        for group in self.inner.param_groups:
            group["lr"] = lr
        self.inner.step()


def train(weights, kind, dtype):
    """(change of every parameter after five steps, the five losses)."""
    model, options = model_new(weights, dtype), OPTIONS[kind]
    start = {n: w.detach().clone() for n, w in model.named_parameters()}
    optimiser = (Lars(model, kind == "lars_in", **options) if kind.startswith("lars")
                 else Torch(model, kind, **options))
    losses = []
    for k in range(STEPS):
        losses.append(forward_backward(model, k)[1])
        with torch.no_grad():
            optimiser.step(options["lr"][0 if k < 3 else 1])
    return {n: to_stave(w) - to_stave(start[n]) for n, w in model.named_parameters()}, losses


class Fixture:
    def __init__(self):
        self.lines = []
        self.worst = {}

    def value(self, section, name, x):
        self.lines.append("value %s %s %.17g" % (section, name, x))

    def array(self, section, name, x):
        self.lines.append("array %s %s %d %s" % (section, name, len(x), " ".join("%.17g" % v for v in x)))

    def summary(self, section, name, x64, x32, count=64):
        """x32 None: the array is exact, there is no error to speak of."""
        n = x64.size
        r = rnd.normal(key(name + "#proj"), np.arange(n))
        index = (rnd.hash_(key(name + "#idx"), np.arange(count)) % np.uint64(n)).astype(np.int64)
        norm = np.linalg.norm(x64)
        err = est = 0.0
        if x32 is not None:
            d = x32 - x64
            err = np.linalg.norm(d) / norm
            est = max(abs(np.linalg.norm(x32) - norm), abs(d @ r),
                      np.sqrt(n / count) * np.linalg.norm(d[index])) / norm
            self.worst.setdefault(section, []).append((err, est, name))
        self.lines.append("summary %s %s %d %.17g %.17g %.3g %.3g %d %s" % (
            section, name, n, norm, x64 @ r, err, est, count, " ".join("%.10g" % v for v in x64[index])))

    def report(self, section):
        rows = sorted(self.worst[section])
        for what, keep in (("decayed", lambda n: "conv" in n or n in ("fc.weight",) or "downsample.0" in n),
                           ("bn weight", lambda n: n.endswith(("bn1.weight", "bn2.weight", "bn3.weight", "downsample.1.weight"))),
                           ("bias", lambda n: n.endswith("bias"))):
            some = [r for r in rows if keep(r[2])]
            if some:
                print("%-14s %-9s %d: median %.2g, worst %.2g (%s), %d above 1e-3" % (
                    section, what, len(some), some[len(some) // 2][0], some[-1][0], some[-1][2],
                    sum(r[0] > 1e-3 for r in some)))
        print("%-14s float32 error: median %.2g, worst %.2g (%s); estimate/error median %.2f, largest estimate %.2g" % (
            section, rows[len(rows) // 2][0], rows[-1][0], rows[-1][2],
            np.median([e / max(t, 1e-300) for t, e, _ in rows]), max(r[1] for r in rows)), flush=True)


def statistics(model):
    return {n: to_stave(t) for n, t in model.state_dict().items() if "running" in n}


def biased(name, after, before, unbias):
    """running_var as it would be with the batch's biased variance."""
    return 0.9 * before + (after - 0.9 * before) / unbias


def unbias_factors():
    """n / (n - 1) of every batch norm, n = batch * height * width of its input."""
    model, factors = torchvision.models.resnet50(), {}

    def hook(name):
        def see(_, inputs, __):
            n = inputs[0].numel() / inputs[0].shape[1]
            factors[name] = n / (n - 1)
        return see
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.register_forward_hook(hook(name))
    with torch.no_grad():
        model(batch(0, torch.float32)[0])
    return factors


def record_forward(f, weights):
    runs = {}
    for dtype in (torch.float64, torch.float32):
        model = model_new(weights, dtype).eval()
        with torch.no_grad():
            evaluated = model(batch(0, dtype)[0])
        logits, loss = forward_backward(model, 0)
        runs[dtype] = (to_stave(evaluated), to_stave(logits), loss, statistics(model),
                       {n: to_stave(w.grad) for n, w in model.named_parameters()})
    a, b = runs[torch.float64], runs[torch.float32]
    f.summary("logits", "eval", a[0], b[0])
    f.summary("logits", "train", a[1], b[1])
    f.value("loss", "f64", a[2])
    f.value("loss", "f32", b[2])
    factors = unbias_factors()
    for name, x in a[3].items():
        f.summary("running", name, x, b[3][name], 16)
        if name.endswith("running_var"):
            unbias = factors[name[:-len(".running_var")]]
            f.summary("running_biased", name, biased(name, x, to_stave(weights[name]), unbias), None, 4)
    for name, x in a[4].items():
        f.summary("grad", name, x, b[4][name])
    for section in ("logits", "running", "grad"):
        f.report(section)


def record_training(f, weights, kind):
    change64, loss64 = train(weights, kind, torch.float64)
    change32, loss32 = train(weights, kind, torch.float32)
    f.array(kind + ".loss", "f64", loss64)
    f.array(kind + ".loss", "f32", loss32)
    few = kind in ("nesterov", "adamw")
    moves = []
    for name, x in change64.items():
        w = to_stave(weights[name])
        if decayed(name, weights[name]):
            moves.append((np.linalg.norm(x) / np.linalg.norm(w), name))
        if not few or name in FEW:
            f.summary(kind + ".change", name, x, change32[name])
    f.report(kind + ".change")
    moves.sort()
    f.value(kind + ".move", "median", moves[len(moves) // 2][0])
    f.value(kind + ".move", "least", moves[0][0])
    print("%-14s |w5 - w0| / |w0|: median %.3g, least %.3g (%s), most %.3g (%s); losses %s; float32 %s" % (
        kind, moves[len(moves) // 2][0], *moves[0], *moves[-1], " ".join("%.7g" % v for v in loss64),
        " ".join("%.7g" % v for v in loss32)), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = os.path.dirname(os.path.abspath(__file__))
    p.add_argument("--out", default=os.path.join(here, "resnet50.txt"))
    p.add_argument("--only", default="hash,init,forward," + ",".join(OPTIONS))
    args = p.parse_args()
    only = args.only.split(",")
    f = Fixture()

    model = torchvision.models.resnet50()
    weights = {n: initial(n, t) for n, t in model.state_dict().items() if "num_batches" not in n}
    if "hash" in only:
        f.lines += ["%s hash %s %s" % (k, n, v if k == "u64" else "%.17g" % v) for k, n, v in rnd.samples()]
    if "init" in only:
        for name, w in weights.items():
            f.summary("init", name, to_stave(w), None, 4)
        for k in range(STEPS):
            x, labels = batch(k, torch.float64)
            f.summary("batch", f"image{k}", to_stave(x.permute(0, 2, 3, 1).reshape(-1)), None, 8)
            f.array("batch", f"label{k}", labels.tolist())
    if "forward" in only:
        record_forward(f, weights)
    for kind, options in OPTIONS.items():
        if kind in only:
            for option, x in options.items():
                for i, v in enumerate(x if isinstance(x, tuple) else (x,)):
                    f.value("option", f"{kind}.{option}" + (f"{i}" if isinstance(x, tuple) else ""), v)
            record_training(f, weights, kind)
    with open(args.out, "w") as out:
        out.write(HEADER + "# torch %s, torchvision %s, numpy %s\n" % (
            torch.__version__, torchvision.__version__, np.__version__) + "\n".join(f.lines) + "\n")
    print(args.out, os.path.getsize(args.out), "bytes")


if __name__ == "__main__":
    main()
