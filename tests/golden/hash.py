#!/usr/bin/env python3
"""The counter-based random numbers of src/base/random.h, in numpy.

Every value is a function of (seed, purpose, epoch, index), so a fixture needs no stored weights: C and
Python compute the same ones. Integers are equal bit for bit. uniform is equal bit for bit. normal goes
through log and cos, where numpy's vector code may differ from the C library's by a few units in the last
place of a double: after rounding to float32 about one value in ten million differs, by one unit.

Usage: hash.py --selftest   prints lines "what arguments value" that tests/test_parity_fixture.c also
                            computes (they are the u64 and value lines of section "hash" in
                            resnet50.txt)
Needs numpy.
"""
import sys

import numpy as np

INIT, SHUFFLE, AUGMENT, REPLACE, TEST, RUN_SEED, SYNTHETIC = range(1, 8)  # enum random_purpose

MASK = (1 << 64) - 1


def mix(x):
    """SplitMix64 of x: an array of uint64, or an int."""
    if isinstance(x, int):
        x = (x + 0x9E3779B97F4A7C15) & MASK
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
        return x ^ (x >> 31)
    u = np.uint64
    x = x + u(0x9E3779B97F4A7C15)
    x = (x ^ (x >> u(30))) * u(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> u(27))) * u(0x94D049BB133111EB)
    return x ^ (x >> u(31))


def key_hash(key):
    seed, purpose, epoch = key
    return mix(mix(mix(seed) ^ purpose) ^ epoch)


def hash_(key, index):
    """random_hash; index: an array of integers, or an int."""
    if isinstance(index, int):
        return mix(key_hash(key) ^ index)
    return mix(np.uint64(key_hash(key)) ^ np.asarray(index, dtype=np.uint64))


def name(text):
    """random_name: FNV-1a, 64 bits."""
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = ((h ^ byte) * 0x100000001B3) & MASK
    return h


def uniform(key, index):
    """random_uniform: float64 in [0, 1)."""
    return (hash_(key, np.asarray(index)) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def normal(key, index):
    """random_normal: Box-Muller, cosine branch."""
    index = np.asarray(index, dtype=np.uint64)
    u = 1.0 - uniform(key, np.uint64(2) * index)
    v = uniform(key, np.uint64(2) * index + np.uint64(1))
    return np.sqrt(-2.0 * np.log(u)) * np.cos(2.0 * np.pi * v)


def permute(key, n, i):
    """random_permute: the place of i among 0..n-1."""
    base, half = key_hash(key), 1
    assert 0 <= i < n
    while half < 32 and (1 << (2 * half)) < n:
        half += 1
    mask = (1 << half) - 1
    while True:
        left, right = i >> half, i & mask
        for r in range(1, 5):
            left, right = right, left ^ (mix(base ^ (r << 56) ^ right) & mask)
        i = left << half | right
        if i < n:
            return i


def samples():
    """(kind, name, value) of a few raw values, for a comparison with C."""
    key = (7, TEST, name("conv1.weight"))
    big = (MASK, TEST, 12345678901234567890)
    return (
        [("u64", f"mix.{x}", mix(x)) for x in (0, 1, MASK)]
        + [("u64", f"name.{t}", name(t)) for t in ("a", "conv1.weight", "layer4.2.bn3.running_var")]
        + [("u64", f"hash.{i}", hash_(key, i)) for i in (0, 1, 9407, 1 << 40)]
        + [("u64", f"bighash.{i}", int(hash_(big, np.array([i]))[0])) for i in (0, 1, 1 << 63)]
        + [("value", f"uniform.{i}", float(uniform(key, [i])[0])) for i in (0, 1, 9407)]
        + [("value", f"normal.{i}", float(normal(key, [i])[0])) for i in (0, 1, 2, 9407, 2359295)]
        + [("u64", f"permute.{n}.{i}", permute(key, n, i))
           for n, i in ((1, 0), (2, 1), (10, 3), (60000, 0), (60000, 59999), (1281167, 777777))]
    )


def selftest():
    key = (7, TEST, 99)
    assert sorted(permute(key, 1000, i) for i in range(1000)) == list(range(1000))
    x = np.arange(200000)
    assert [int(v) for v in hash_(key, x[:50])] == [hash_(key, i) for i in range(50)]
    z = normal(key, x)
    assert abs(z.mean()) < 0.01 and abs(z.std() - 1) < 0.01
    for kind, what, value in samples():
        print(kind, what, value if kind == "u64" else "%.17g" % value)


if __name__ == "__main__":
    if sys.argv[1:] != ["--selftest"]:
        sys.exit(__doc__)
    selftest()
