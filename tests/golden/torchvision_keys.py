#!/usr/bin/env python3
"""The keys of torchvision's resnet50, one a line: NAME DTYPE SHAPE, in the order of its state_dict.

Usage: torchvision_keys.py > torchvision_keys.txt
Needs torch and torchvision. A shape is the sizes with commas between them, - for a scalar; 1000 classes.
"""
import torch
import torchvision

TYPES = {torch.float32: "F32", torch.int64: "I64"}

print("# Written by tests/golden/torchvision_keys.py; torch %s, torchvision %s. Do not edit." % (
    torch.__version__, torchvision.__version__))
for name, t in torchvision.models.resnet50().state_dict().items():
    print(name, TYPES[t.dtype], ",".join(map(str, t.shape)) or "-")
