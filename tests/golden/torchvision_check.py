#!/usr/bin/env python3
"""Shows that weights go from Stave to torchvision and back: same images, same answers.

Usage: torchvision_check.py DATA RUN [STAVE]
DATA is the sample set (stave prepare resnet50 --sample --to DATA), RUN the run folder of a run on it, STAVE the
program (build/stave). Needs torch, torchvision, PIL, numpy; a few minutes, most of them four times the 10,000
test images. Exit 1 when the two disagree.

there   `stave export RUN`; torchvision.models.resnet50 takes the file with strict=True and classifies the test
        images, read from DATA/val.rec, decoded by PIL, resized by the rule below with the sizes, mean and
        deviation in the file's metadata. Stave classifies them with `run --only evaluate --init RUN`.
back    torchvision's own seeded start weights, 30 steps of SGD in torch, as many passes without updates so that
        the running statistics are those of these weights; saved under torchvision's names; Stave evaluates that file.

Equal means: as many correct, or no more apart than there are images whose two best logits are within 1e-3 of
each other, which are named; and a mean loss, which every logit enters, within 1e-4 of it.
"""
import io
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

import numpy as np
import PIL.Image
import torch
import torchvision

TYPES = {"F32": np.dtype("<f4"), "I64": np.dtype("<i8")}


# safetensors: length, JSON header, data

def read_safetensors(path):
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    meta = header.pop("__metadata__", {})
    return meta, {name: torch.from_numpy(np.frombuffer(
        data[t["data_offsets"][0]:t["data_offsets"][1]], TYPES[t["dtype"]]).reshape(t["shape"]).copy())
        for name, t in header.items()}


def write_safetensors(path, state):
    header, data = {}, b""
    for name, t in sorted(state.items(), key=lambda kv: (-kv[1].element_size(), kv[0])):
        raw = t.detach().contiguous().numpy().tobytes()
        header[name] = {"dtype": "I64" if t.dtype == torch.int64 else "F32", "shape": list(t.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


# images: RecordIO, JPEG, the resize of src/data/resize.h

def records(path):
    """(label, JPEG bytes) of every record."""
    raw, at, whole = open(path, "rb").read(), 0, b""
    while at < len(raw):
        magic, word = struct.unpack_from("<II", raw, at)
        assert magic == 0xCED7230A
        flag, n = word >> 29, word & (1 << 29) - 1
        whole += (struct.pack("<I", magic) if flag in (2, 3) else b"") + raw[at + 8:at + 8 + n]
        at += 8 + (n + 3) // 4 * 4
        if flag in (0, 3):
            extra, label = struct.unpack_from("<If", whole)
            if extra:
                label = struct.unpack_from("<f", whole, 24)[0]
            yield int(label), whole[24 + 4 * extra:]
            whole = b""


def taps(n_src, n_resized, n_out):
    """Weights in 1/2^14 by which n_out output pixels, the centre of n_resized, look at n_src source pixels."""
    scale = n_src / n_resized
    reach, first = max(scale, 1.0), (n_resized - n_out) // 2 * scale
    t = np.zeros((n_out, n_src), np.int64)
    for i in range(n_out):
        centre = first + (i + 0.5) * scale
        begin = min(max(int(np.floor(centre - reach + 0.5)), 0), n_src - 1)
        end = max(min(max(int(np.floor(centre + reach + 0.5)), 0), n_src), begin + 1)
        w = np.maximum(1 - np.abs((np.arange(begin, end) + 0.5 - centre) / reach), 0)
        q = np.floor(w / w.sum() * 2 ** 14 + 0.5).astype(np.int64)
        q[np.argmax(q)] += 2 ** 14 - q.sum()
        t[i, begin:end] = q
    return t


def to_byte(x):
    return np.minimum(x + 2 ** 13 >> 14, 255)


def picture(jpeg, resize, size):
    px = np.asarray(PIL.Image.open(io.BytesIO(jpeg)).convert("RGB")).astype(np.int64)
    height, width = px.shape[:2]
    shorter = min(height, width)
    rows = to_byte(np.einsum("xs,hsc->hxc", taps(width, width * resize // shorter, size), px))
    return to_byte(np.einsum("ys,sxc->yxc", taps(height, height * resize // shorter, size), rows)).astype(np.uint8)


def images(path, meta, count=None):
    labels, pixels = [], []
    for label, jpeg in records(path):
        labels.append(label)
        pixels.append(picture(jpeg, int(meta["eval_resize"]), int(meta["image_size"])))
        if len(labels) == count:
            break
    return torch.tensor(labels), torch.from_numpy(np.stack(pixels))


def normalised(pixels, meta):
    mean, std = ([float(x) for x in meta[k].split(",")] for k in ("pixel_mean", "pixel_std"))
    return ((pixels.float() - torch.tensor(mean)) / torch.tensor(std)).permute(0, 3, 1, 2).contiguous()


# the two programs

def by_torch(model, labels, pixels, meta):
    """Correct, mean loss, and the images whose two best logits are close."""
    model.eval()
    with torch.no_grad():
        logits = torch.cat([model(normalised(p, meta)) for p in pixels.split(250)])
    best = logits.topk(2).values
    close = (best[:, 0] - best[:, 1] < 1e-3).nonzero().flatten().tolist()
    loss = torch.nn.functional.cross_entropy(logits.double(), labels).item()
    return (logits.argmax(1) == labels).sum().item(), loss, close


def by_stave(stave, data, weights, meta, folder):
    words = [stave, "run", "resnet50", "-p", "sample", "-d", data, "--only", "evaluate", "--target", "0",
             "--init", weights, "--out", folder]
    for name in ("classes", "image_size", "eval_resize", "pixel_mean", "pixel_std"):
        words += ["-o", f"{name}={meta[name]}"]
    said = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
    print(re.sub("evaluated.*\n", "", said), end="", flush=True)
    with open(os.path.join(folder, "result.json")) as f:
        r = json.load(f)
    return r["eval_correct"], r["eval_loss"], r["eval_samples"]


def compare(what, torch_says, stave_says):
    (tc, tl, close), (sc, sl, total) = torch_says, stave_says
    same = abs(tc - sc) <= len(close) and abs(tl - sl) <= 1e-4 * tl
    print(f"{what}: torchvision {tc}/{total} correct, loss {tl:.6f}; stave {sc}/{total} correct, loss {sl:.6f}; "
          f"{'the same' if tc == sc and same else 'within the near ties' if same else 'DIFFERENT'}"
          f"; near ties: {' '.join(map(str, close)) or 'none'}", flush=True)
    return same


def trained_by_torch(data, meta, steps=30, batch=64):
    torch.manual_seed(1)
    model = torchvision.models.resnet50(num_classes=int(meta["classes"]))
    labels, pixels = images(os.path.join(data, "train.rec"), meta, steps * batch)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    model.train()
    for y, p in zip(labels.split(batch), pixels.split(batch)):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(normalised(p, meta)), y).backward()
        optimiser.step()
    with torch.no_grad():
        for p in pixels.split(batch):
            model(normalised(p, meta))
    return model


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    data, run = sys.argv[1:3]
    stave = sys.argv[3] if len(sys.argv) == 4 else "build/stave"
    print(f"torch {torch.__version__}, torchvision {torchvision.__version__}", flush=True)
    with tempfile.TemporaryDirectory() as tmp:
        exported, saved = os.path.join(tmp, "exported.safetensors"), os.path.join(tmp, "torch.safetensors")
        subprocess.run([stave, "export", run, "--to", exported], check=True, stdout=subprocess.DEVNULL)
        meta, state = read_safetensors(exported)
        model = torchvision.models.resnet50(num_classes=int(meta["classes"]))
        print("load_state_dict(strict=True):", model.load_state_dict(state, strict=True), flush=True)
        labels, pixels = images(os.path.join(data, "val.rec"), meta)
        there = compare("there", by_torch(model, labels, pixels, meta),
                        by_stave(stave, data, run, meta, os.path.join(tmp, "there")))
        model = trained_by_torch(data, meta)
        write_safetensors(saved, model.state_dict())
        back = compare("back", by_torch(model, labels, pixels, meta),
                       by_stave(stave, data, saved, meta, os.path.join(tmp, "back")))
    sys.exit(0 if there and back else 1)


if __name__ == "__main__":
    main()
