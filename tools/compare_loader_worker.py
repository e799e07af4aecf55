"""Pictures to training batches by other means, for tools/compare-loader: one process, one kind of pipeline.

compare_loader_worker.py KIND DATA SAMPLES, KIND being pillow, torch-pil or torch-tensor. Prints one line of JSON.
The samples come from the same RecordIO file, in random order, as uint8 of 224 x 224 in batches of 64."""
import io
import json
import math
import os
import random
import struct
import sys
import time

SIZE, BATCH, WARM = 224, 64, 4


class Records:
    """Sample i of DIR/train.rec: a record's head (magic, length), a header of 24 bytes, then the JPEG."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "train.rec")
        with open(os.path.join(folder, "train.idx")) as index:
            self.offsets = [int(line.split()[1]) for line in index]
        self.file = None

    def __len__(self):
        return len(self.offsets)

    def read(self, i):
        if self.file is None:  # after the fork of a loader's worker
            self.file = os.open(self.path, os.O_RDONLY)
        magic, length = struct.unpack("<II", os.pread(self.file, 8, self.offsets[i]))
        if magic != 0xCED7230A or length >> 29:
            raise ValueError("record %d is split or damaged" % i)
        return os.pread(self.file, length - 24, self.offsets[i] + 32)


def order(n_samples, n):
    draws = random.Random(1)
    return [draws.randrange(n_samples) for _ in range(n)]


def cpu_seconds(processes):
    total = 0
    for process in processes:
        with open("/proc/%d/stat" % process) as f:
            fields = f.read().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def children():
    mine = []
    for thread in os.listdir("/proc/self/task"):
        with open("/proc/self/task/%s/children" % thread) as f:
            mine += [int(p) for p in f.read().split()]
    return mine


def measure(batches, n_batches):
    """Runs to the end; what the first batches cost, start-up included, does not count."""
    for n, _ in enumerate(batches, 1):
        if n == WARM:
            processes = [os.getpid()] + children()
            wall, cpu = time.monotonic(), cpu_seconds(processes)
        if n == WARM + n_batches:
            return {"samples": n_batches * BATCH, "wall_s": time.monotonic() - wall,
                    "cpu_s": cpu_seconds(processes) - cpu}
    raise ValueError("too few batches")


def pillow(folder, n):
    import PIL
    from PIL import Image, features

    draws = random.Random(1)

    def crop(width, height):
        for _ in range(10):
            area = width * height * draws.uniform(0.08, 1)
            aspect = math.exp(draws.uniform(math.log(3 / 4), math.log(4 / 3)))
            w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if 0 < w <= width and 0 < h <= height:
                x, y = draws.randint(0, width - w), draws.randint(0, height - h)
                return x, y, x + w, y + h
        side = min(width, height)
        return (width - side) // 2, (height - side) // 2, (width + side) // 2, (height + side) // 2

    def batches():
        data = Records(folder)
        batch = []
        for i in order(len(data), (n + WARM + 1) * BATCH):
            picture = Image.open(io.BytesIO(data.read(i))).convert("RGB")
            picture = picture.resize((SIZE, SIZE), Image.BILINEAR, box=crop(*picture.size))
            if draws.random() < 0.5:
                picture = picture.transpose(Image.FLIP_LEFT_RIGHT)
            batch.append(picture.tobytes())
            if len(batch) == BATCH:
                yield b"".join(batch)
                batch = []

    result = measure(batches(), n)
    result["version"] = "Pillow %s, libjpeg-turbo %s" % (PIL.__version__, features.version("libjpeg_turbo"))
    return result


def torch_loader(folder, n, kind):
    import torch
    import torchvision
    from torchvision.io import ImageReadMode, decode_jpeg
    from torchvision.transforms import v2
    from PIL import Image

    change = v2.Compose([v2.RandomResizedCrop(SIZE, antialias=True), v2.RandomHorizontalFlip()])
    to_tensor = v2.PILToTensor()

    class Data(torch.utils.data.Dataset):
        def __init__(self):
            self.records = Records(folder)

        def __len__(self):
            return len(self.records)

        def __getitem__(self, i):
            data = self.records.read(i)
            if kind == "torch-pil":
                return to_tensor(change(Image.open(io.BytesIO(data)).convert("RGB")))
            return change(decode_jpeg(torch.frombuffer(bytearray(data), dtype=torch.uint8), ImageReadMode.RGB))

    data = Data()
    loader = torch.utils.data.DataLoader(data, batch_size=BATCH, num_workers=1,
                                         sampler=order(len(data), (n + WARM + 4) * BATCH))
    result = measure(loader, n)
    result["version"] = "PyTorch %s, torchvision %s" % (torch.__version__, torchvision.__version__)
    return result


if __name__ == "__main__":
    kind, where, count = sys.argv[1], sys.argv[2], int(sys.argv[3]) // BATCH
    print(json.dumps(pillow(where, count) if kind == "pillow" else torch_loader(where, count, kind)))
