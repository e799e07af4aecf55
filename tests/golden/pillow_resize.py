#!/usr/bin/env python3
"""What Pillow makes of pictures from a formula: pillow_resize.py > pillow_resize.txt. Needs Pillow.

One case a line: width and height of the picture, the crop's x, y, width and height, those of the output, then the
output's bytes (RGB, row by row) in hex: picture.crop(...).resize(..., BILINEAR), which is antialiased. The pixel
(x, y) of channel c is (x * 37 + y * 91 + c * 53 + x * y * 7) % 256 in the first half of the cases (rough), and
(x + y * (c + 1)) // 2 % 256 in the second (smooth)."""
import PIL
from PIL import Image

SHAPES = [(300, 200, 17, 9, 250, 180, 20, 12), (64, 48, 0, 0, 64, 48, 17, 13), (28, 28, 3, 2, 19, 23, 16, 16),
          (61, 47, 5, 6, 50, 38, 21, 20), (9, 7, 0, 0, 9, 7, 16, 12), (3, 200, 0, 0, 3, 200, 10, 8),
          (375, 11, 1, 0, 371, 11, 224, 2), (40, 30, 0, 0, 40, 30, 40, 9)]


def rough(x, y, c):
    return (x * 37 + y * 91 + c * 53 + x * y * 7) % 256


def smooth(x, y, c):
    return (x + y * (c + 1)) // 2 % 256


print("# Pillow", PIL.__version__)
for formula in rough, smooth:
    for w, h, x, y, cw, ch, ow, oh in SHAPES:
        picture = Image.frombytes("RGB", (w, h), bytes(formula(i, j, c) for j in range(h) for i in range(w)
                                                       for c in range(3)))
        out = picture.crop((x, y, x + cw, y + ch)).resize((ow, oh), Image.BILINEAR)
        print(w, h, x, y, cw, ch, ow, oh, out.tobytes().hex())
