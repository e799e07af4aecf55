"""One PyTorch process of tools/compare-pytorch: trains ResNet-50 on one fixed batch of noise and prints a
JSON document: the time of every step, versions, peak memory. The model is v1.5 (stride on the 3x3) and
written out here, because torchvision may be missing. Not meant to be started by hand."""
import argparse
import json
import platform
import resource
import sys
import time

import torch
from torch import nn
from torch.nn import functional


def conv_bn(inputs, outputs, kernel, stride=1):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs))


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        wide = 4 * width
        self.conv1 = conv_bn(inputs, width, 1)
        self.conv2 = conv_bn(width, width, 3, stride)
        self.conv3 = conv_bn(width, wide, 1)
        self.skip = conv_bn(inputs, wide, 1, stride) if inputs != wide else None
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.relu(self.conv1(x))
        y = self.relu(self.conv2(y))
        y = self.conv3(y)
        return self.relu(y + (x if self.skip is None else self.skip(x)))


def resnet50(classes):
    layers = [conv_bn(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            layers.append(Bottleneck(inputs, width, stride if block == 0 else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))


def optimiser(model, decay):
    """SGD with momentum, decay on matrices only; in one fused kernel where this version has it for processors."""
    params = list(model.parameters())
    groups = [{"params": [p for p in params if p.dim() > 1], "weight_decay": decay},
              {"params": [p for p in params if p.dim() <= 1], "weight_decay": 0.0}]
    try:
        return torch.optim.SGD(groups, lr=0.1, momentum=0.9, fused=True), True
    except (TypeError, RuntimeError):
        return torch.optim.SGD(groups, lr=0.1, momentum=0.9), False


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--batch-size", type=int, required=True)
    p.add_argument("--image-size", type=int, required=True)
    p.add_argument("--steps", type=int, required=True)
    p.add_argument("--threads", type=int, required=True)
    p.add_argument("--layout", choices=("contiguous", "channels_last"), required=True)
    p.add_argument("--mode", choices=("eager", "compile"), required=True)
    p.add_argument("--precision", choices=("f32", "bf16"), required=True)
    a = p.parse_args()

    torch.manual_seed(1)
    torch.set_num_threads(a.threads)
    layout = torch.channels_last if a.layout == "channels_last" else torch.contiguous_format
    model = resnet50(1000).to(memory_format=layout).train()
    step_rule, fused = optimiser(model, 5e-5)
    run = torch.compile(model) if a.mode == "compile" else model
    images = torch.randn(a.batch_size, 3, a.image_size, a.image_size).contiguous(memory_format=layout)
    labels = torch.randint(0, 1000, (a.batch_size,))

    times, losses = [], []
    for _ in range(a.steps):
        start = time.perf_counter()
        step_rule.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=a.precision == "bf16"):
            loss = functional.cross_entropy(run(images).float(), labels, label_smoothing=0.1)
        loss.backward()
        step_rule.step()
        losses.append(loss.item())
        times.append(time.perf_counter() - start)
    json.dump({"torch": torch.__version__, "python": platform.python_version(), "fused_sgd": fused,
               "onednn": torch.backends.mkldnn.is_available(), "step_s": times, "loss": losses,
               "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}, sys.stdout)


main()
